//! The audit when the disk is full and when its file is rotated.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::world::{RECORDS, Server, project, read, wait_for};

fn requests(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let id = |line: &str| serde_json::from_str::<serde_json::Value>(line).map(|v| v["request"].to_string());
    text.lines().map(|line| id(line).unwrap_or_else(|_| format!("part of a line: {line}"))).collect()
}

/// Starts a server whose files cannot grow beyond 4 KiB, which has the effect of a full disk.
fn server(settings: &str) -> (Server, u16) {
    let folder = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = format!(
        "audit = \"audit.jsonl\"\n{settings}\n[serve.authentication]\nrequired = false\n[serve.admin]\nlisten = \"127.0.0.1:{port}\""
    );
    project(folder.path(), &settings, RECORDS, "");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$1\"", env!("CARGO_BIN_EXE_quayline_serve")]);
    (Server::start_by(command, folder), port)
}

fn admin(port: u16, path: &str) -> (u16, String) {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let answer = read(&mut stream);
    (answer.status, answer.text())
}

#[test]
fn nothing_happens_off_the_record_when_the_disk_is_full() {
    let (server, port) = server("");
    let mut answered = BTreeSet::new();
    let mut ask = |server: &Server, i: u32| {
        let trace = format!("{:032x}", 0x1000 + i);
        let answer = server.get("/v1/echo/x", &format!("traceparent: 00-{trace}-b7ad6b7169203331-01\r\n"));
        if answer.status == 200 {
            answered.insert(format!("\"{trace}\""));
        } else {
            assert!(answer.status == 503 && answer.text().contains("GTW-116"), "{}", answer.text());
            assert!(answer.header("retry-after").is_some());
        }
        answer.status
    };
    let mut i = 0;
    wait_for("refusals", || {
        i += 1;
        ask(&server, i) == 503
    });
    assert!(i > 10, "{i}");
    let (ready, why) = admin(port, "/ready");
    assert!(ready == 503 && why.contains("audit"), "{why}");
    server.has_logged("requests are refused until it can");
    // The operator moves the file away; the next one has room.
    let (path, old) = (server.folder.path().join("audit.jsonl"), server.folder.path().join("audit.1"));
    std::fs::rename(&path, &old).unwrap();
    wait_for("answers", || {
        i += 1;
        ask(&server, i) == 200
    });
    server.has_logged("can be written again");
    assert_eq!(admin(port, "/ready").0, 200, "{}", server.log());
    let metrics = admin(port, "/metrics").1;
    assert!(metrics.contains("quayline_audit_lines_lost_total 0"), "{metrics}");
    assert!(!metrics.contains("quayline_audit_refused_total 0\n"), "{metrics}");
    drop(server.connect());
    wait_for("every answered request in the audit", || {
        let found: BTreeSet<String> = requests(&old).into_iter().chain(requests(&path)).collect();
        answered.is_subset(&found)
    });
    // Nothing but whole lines, except the one that the disk had no room for, which stands whole in the new file.
    let parts = requests(&old).iter().filter(|id| id.starts_with("part")).count();
    assert!(parts <= 1 && requests(&path).iter().all(|id| !id.starts_with("part")), "{parts}");
}

#[test]
fn requests_go_on_without_the_audit_where_that_is_said() {
    let (server, port) = server("audit-failure = \"continue\"");
    for _ in 0..60 {
        assert_eq!(server.get("/v1/echo/x", "").status, 200);
    }
    wait_for("lost lines", || !admin(port, "/metrics").1.contains("quayline_audit_lines_lost_total 0\n"));
    assert_eq!(admin(port, "/ready").0, 200);
    server.has_logged("lines are lost");
}

#[test]
fn a_clients_name_is_one_word_of_the_access_log() {
    use ring::signature::{Ed25519KeyPair, KeyPair as _};

    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let encoded = |text: &[u8]| quayline_gateway::to_base64url(text);
    let folder = tempfile::tempdir().unwrap();
    let x = encoded(pair.public_key().as_ref());
    std::fs::write(
        folder.path().join("jwks.json"),
        format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#),
    )
    .unwrap();
    let settings = "access-log = \"access.log\"\naudit = \"audit.jsonl\"\n[serve.authentication.jwt]\nissuer = \"i\"\naudience = \"us\"\njwks = \"jwks.json\"\n";
    project(folder.path(), settings, RECORDS, "");
    let server = Server::start(folder);
    let claims = r#"{"iss":"i","aud":"us","exp":4102444800,"sub":"eve 200\n0 127.0.0.1 boss GET /v1/echo\u2028 200"}"#;
    let signed = format!("{}.{}", encoded(br#"{"alg":"EdDSA"}"#), encoded(claims.as_bytes()));
    let token = format!("{signed}.{}", encoded(pair.sign(signed.as_bytes()).as_ref()));
    let answer = server.get("/v1/echo/x", &format!("authorization: Bearer {token}\r\nuser-agent: a\"b\r\n"));
    assert_eq!(answer.status, 200);
    let log = server.folder.path().join("access.log");
    wait_for("a line", || std::fs::read_to_string(&log).unwrap().ends_with('\n'));
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!((text.lines().count(), text.split_ascii_whitespace().count()), (1, 10), "{text}");
    // A fraction of a second, and what the client calls itself in the end.
    let time = text.split_once(' ').unwrap().0;
    assert!(time.len() == 14 && time.as_bytes()[10] == b'.' && text.ends_with(" \"a\\\"b\"\n"), "{text}");
    wait_for("a line", || requests(&server.folder.path().join("audit.jsonl")).len() == 1);
    let audit = std::fs::read_to_string(server.folder.path().join("audit.jsonl")).unwrap();
    let line: serde_json::Value = serde_json::from_str(audit.trim_end()).unwrap();
    assert!(line["client"].as_str().unwrap().contains("boss"), "the audit has it as it is");
    // A client that reports its request id names this line.
    let id = format!("{}-{}", line["request"].as_str().unwrap(), line["span"].as_str().unwrap());
    assert_eq!(answer.header("x-request-id"), Some(id.as_str()));
}
