//! Authentication and roles.

use crate::world::{RECORDS, Server, project};

#[test]
fn authentication_is_required_unless_it_is_turned_off() {
    let server = Server::new("", "");
    let refused = server.get("/v1/echo/x", "");
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").is_some());
    assert_eq!(Server::new("", "public = true").get("/v1/echo/x", "").status, 200);
    assert_eq!(Server::new("[serve.authentication]\nrequired = false", "").get("/v1/echo/x", "").status, 200);
}

#[test]
fn a_key_opens_what_its_roles_open_and_changes_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    project(
        folder.path(),
        "reload-seconds = 1\n[serve.authentication]\napi-keys = \"keys.toml\"",
        RECORDS,
        "roles = [\"clerk\"]",
    );
    let keys = |entries: &[(&str, &str, &str, u64)]| {
        let entry = |(id, key, role, expires): &(&str, &str, &str, u64)| {
            let digest = quayline_server::key_digest(key);
            format!("[[key]]\nid = \"{id}\"\nsha256 = \"{digest}\"\nroles = [\"{role}\"]\nexpires = {expires}\n")
        };
        entries.iter().map(entry).collect::<String>()
    };
    let path = folder.path().join("keys.toml");
    std::fs::write(
        &path,
        keys(&[
            ("a", "alpha", "clerk", u64::MAX >> 1),
            ("b", "beta", "guest", u64::MAX >> 1),
            ("c", "gamma", "clerk", 1),
        ]),
    )
    .unwrap();
    let server = Server::start(folder);
    let status = |key: &str| server.get("/v1/echo/x", &format!("x-api-key: {key}\r\n")).status;
    assert_eq!((status("alpha"), status("beta"), status("gamma"), status("other")), (200, 403, 401, 401));
    assert!(!server.log().contains("alpha") && !server.log().contains("other"), "secrets do not go into logs");
    std::fs::write(&path, keys(&[("b", "beta", "clerk", u64::MAX >> 1)])).unwrap();
    crate::world::wait_for("the new keys", || status("beta") == 200);
    assert_eq!(status("alpha"), 401);
    // A file that is broken leaves the keys as they are.
    std::fs::write(&path, "[[key]]\nid = 1").unwrap();
    crate::world::wait_for("the finding", || server.log().contains("the old keys and certificates stay in force"));
    assert_eq!(status("beta"), 200);
}
