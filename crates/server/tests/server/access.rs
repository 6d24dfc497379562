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

fn keys(entries: &[(&str, &str)]) -> String {
    let entry = |(key, role): &(&str, &str)| {
        let digest = quayline_server::key_digest(key);
        format!("[[key]]\nid = \"{key}\"\nsha256 = \"{digest}\"\nroles = [\"{role}\"]\nexpires = {}\n", u64::MAX >> 1)
    };
    entries.iter().map(entry).collect()
}

/// The paths of another API may be below those of one.
#[test]
fn documents_are_for_clients_of_their_own_api() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path(), "[serve.authentication]\napi-keys = \"keys.toml\"", RECORDS, "roles = [\"clerk\"]");
    let below = std::fs::read_to_string(folder.path().join("apis/echo.toml")).unwrap();
    let below = below.replace("/v1", "/v1/below").replace("clerk", "guest").replace("id = \"", "id = \"below-");
    std::fs::write(folder.path().join("apis/below.toml"), below).unwrap();
    std::fs::write(folder.path().join("keys.toml"), keys(&[("alpha", "clerk"), ("beta", "guest")])).unwrap();
    let server = Server::start(folder);
    let status = |path: &str, key: &str| server.get(path, &format!("x-api-key: {key}\r\n")).status;
    assert_eq!((status("/v1/openapi.json", "alpha"), status("/v1/openapi.json", "beta")), (200, 404));
    assert_eq!((status("/v1/below/openapi.json", "alpha"), status("/v1/below/openapi.json", "beta")), (404, 200));
}

/// Without authentication, the document of an API whose operations need roles is protected, too.
#[test]
fn documents_of_operations_with_roles_are_for_somebody() {
    let open = "[serve.authentication]\nrequired = false";
    assert_eq!(Server::new(open, "").get("/v1/openapi.json", "").status, 200);
    assert_eq!(Server::new(open, "roles = [\"clerk\"]").get("/v1/openapi.json", "").status, 404);
}

#[test]
fn an_operators_reload_reads_keys_again() {
    let folder = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = format!(
        "reload-seconds = 0\n[serve.admin]\nlisten = \"127.0.0.1:{port}\"\n[serve.authentication]\napi-keys = \"keys.toml\""
    );
    project(folder.path(), &settings, RECORDS, "");
    let path = folder.path().join("keys.toml");
    std::fs::write(&path, keys(&[("alpha", "clerk")])).unwrap();
    let server = Server::start(folder);
    let status = || server.get("/v1/echo/x", "x-api-key: alpha\r\n").status;
    assert_eq!(status(), 200);
    let reload = || {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        std::io::Write::write_all(
            &mut stream,
            b"POST /reload HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n\r\n",
        )
        .unwrap();
        crate::world::read(&mut stream)
    };
    std::fs::write(&path, keys(&[("beta", "clerk")])).unwrap();
    assert_eq!((reload().status, status()), (200, 401));
    std::fs::write(&path, "[[key]]\nid = 1").unwrap();
    let refused = reload();
    assert!(
        refused.status == 422 && refused.text().contains("the old keys and certificates stay in force"),
        "{refused:?}"
    );
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
    // Documents of a guarded API are for whoever may call it.
    for page in ["openapi.json", "docs", "docs.js"] {
        let page = |headers: &str| server.get(&format!("/v1/{page}"), headers).status;
        assert_eq!(page("x-api-key: alpha\r\n"), 200);
        assert_eq!((page("x-api-key: beta\r\n"), page("x-api-key: other\r\n"), page("")), (404, 404, 404));
    }
    assert!(!server.log().contains("alpha") && !server.log().contains("other"), "secrets do not go into logs");
    std::fs::write(&path, keys(&[("b", "beta", "clerk", u64::MAX >> 1)])).unwrap();
    crate::world::wait_for("the new keys", || status("beta") == 200);
    assert_eq!(status("alpha"), 401);
    // A file that is broken leaves the keys as they are.
    std::fs::write(&path, "[[key]]\nid = 1").unwrap();
    crate::world::wait_for("the finding", || server.log().contains("the old keys and certificates stay in force"));
    assert_eq!(status("beta"), 200);
}

#[test]
fn tokens_follow_the_issuers_keys_without_a_restart() {
    use ring::signature::{Ed25519KeyPair, KeyPair as _};

    let make = || {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
        Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap()
    };
    let (old, new) = (make(), make());
    let set = |id: &str, pair: &Ed25519KeyPair, use_: &str| {
        let x = quayline_gateway::to_base64url(pair.public_key().as_ref());
        format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"{id}","use":"{use_}","x":"{x}"}}]}}"#)
    };
    let token = |id: &str, pair: &Ed25519KeyPair| {
        let part = |text: String| quayline_gateway::to_base64url(text.as_bytes());
        let signed = format!(
            "{}.{}",
            part(format!(r#"{{"alg":"EdDSA","kid":"{id}"}}"#)),
            part(r#"{"iss":"https://issuer","aud":"us","sub":"ann","exp":4102444800,"roles":["reader"]}"#.to_owned())
        );
        format!("{signed}.{}", quayline_gateway::to_base64url(pair.sign(signed.as_bytes()).as_ref()))
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jwks.json"), set("a", &old, "sig")).unwrap();
    let settings = "reload-seconds = 1\n[serve.authentication.jwt]\nissuer = \"https://issuer\"\naudience = \"us\"\njwks = \"jwks.json\"\n";
    crate::world::project(folder.path(), settings, crate::world::RECORDS, "roles = [\"reader\"]");
    let server = Server::start(folder);
    let status = |token: &str| server.get("/v1/echo/x", &format!("authorization: Bearer {token}\r\n")).status;
    let (first, second) = (token("a", &old), token("b", &new));
    assert_eq!((status(&first), status(&second), status("x.y.z")), (200, 401, 401));
    let jwks = server.folder.path().join("jwks.json");
    std::fs::write(&jwks, set("b", &new, "sig")).unwrap();
    crate::world::wait_for("the new key", || status(&second) == 200);
    assert_eq!(status(&first), 401, "what was believed before is looked at again");
    // What is no set of keys, or none for signatures, leaves those that there are.
    for bad in ["{", &set("a", &old, "enc")] {
        std::fs::write(&jwks, bad).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        assert_eq!((status(&first), status(&second)), (401, 200));
    }
    server.has_logged("the old keys and certificates stay in force");
}

#[test]
fn roles_need_somebody_also_where_authentication_is_off() {
    let server = Server::new("[serve.authentication]\nrequired = false", "roles = [\"reader\"]");
    assert_eq!(server.get("/v1/echo/x", "").status, 401);
}

#[test]
fn an_operation_has_roles_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [("a", "alpha", "clerk"), ("b", "beta", "boss")].map(|(id, key, role)| {
        format!("[[key]]\nid = \"{id}\"\nsha256 = \"{}\"\nroles = [\"{role}\"]\n", quayline_server::key_digest(key))
    });
    std::fs::write(folder.path().join("keys.toml"), keys.concat()).unwrap();
    project(folder.path(), "[serve.authentication]\napi-keys = \"keys.toml\"", RECORDS, "roles = [\"clerk\"]");
    let path = folder.path().join("apis/echo.toml");
    let api = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, api.replace("id = \"echo\"", "id = \"echo\"\nroles = [\"boss\", \"owner\"]")).unwrap();
    let server = Server::start(folder);
    let get = |key: &str| server.get("/v1/echo/x", &format!("x-api-key: {key}\r\n")).status;
    let post = |key: &str| server.post("/v1/echo", &format!("x-api-key: {key}\r\n"), "{}").status;
    assert_eq!((get("alpha"), post("alpha")), (200, 403), "one of the API's roles");
    assert_eq!((get("beta"), post("beta")), (403, 200), "one of the operation's, which stand instead of them");
}
