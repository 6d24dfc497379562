//! A server that proxies and probes of a cluster reach.

use std::io::{Read as _, Write as _};

use crate::world::{Server, wait_for};

const OPEN: &str = "access-log = \"access.log\"\n[serve.authentication]\nrequired = false";

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// One request by another host name, as probes send it. Empty where the connection is closed without an answer.
fn probe(port: u16, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let _ = write!(stream, "{request} HTTP/1.1\r\nhost: quayline.cluster.example\r\nconnection: close\r\n\r\n");
    let mut all = String::new();
    let _ = stream.read_to_string(&mut all);
    all
}

#[test]
fn a_trusted_proxy_names_the_client_for_log_and_limits() {
    let limits = "[serve.limits]\nclient-requests-per-second = 0.01\nclient-burst = 2";
    let server = Server::new(&format!("trusted-proxies = [\"127.0.0.0/8\", \"10.0.0.0/8\"]\n{OPEN}\n{limits}"), "");
    let from = |client: &str| server.get("/v1/echo/x", &format!("x-forwarded-for: {client}\r\n")).status;
    // Each client has a rate of its own, and what it writes before the proxy's entry does not change who it is.
    assert_eq!([from("192.0.2.1"), from("8.8.8.8, 192.0.2.1, 10.1.1.1"), from("192.0.2.1")], [200, 200, 429]);
    assert_eq!(from("192.0.2.2"), 200);
    let log = || std::fs::read_to_string(server.folder.path().join("access.log")).unwrap_or_default();
    wait_for("the lines", || log().lines().count() == 4);
    let clients: Vec<String> = log().lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(clients, ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"]);
}

/// With its own `Forwarded` header, a client counted as the proxy that writes `X-Forwarded-For`, and the log did not report it.
#[test]
fn a_conflict_of_headers_is_logged_now_and_then_and_a_missing_setting_at_the_start() {
    let trusted = "trusted-proxies = [\"127.0.0.0/8\"]";
    let server = Server::new(&format!("{trusted}\n{OPEN}"), "");
    for _ in 0..5 {
        let both = "x-forwarded-for: 192.0.2.1\r\nforwarded: for=192.0.2.9\r\n";
        assert_eq!(server.get("/v1/echo/x", both).status, 200);
    }
    wait_for("the line", || server.log().contains("name different clients"));
    let log = server.log();
    assert_eq!(log.matches("name different clients").count(), 1, "{log}");
    assert_eq!(log.matches("warning[SRV-013]").count(), 1, "{log}");
    assert_eq!(log.matches("name the header that your proxies write in `client-address-header`").count(), 2, "{log}");
    let server = Server::new(&format!("{trusted}\nclient-address-header = \"x-forwarded-for\"\n{OPEN}"), "");
    let both = "x-forwarded-for: 192.0.2.1\r\nforwarded: for=192.0.2.9\r\n";
    assert_eq!(server.get("/v1/echo/x", both).status, 200);
    assert!(!server.log().contains("client-address-header"), "{}", server.log());
}

#[test]
fn nobody_is_believed_without_the_setting() {
    let server = Server::new(OPEN, "");
    assert_eq!(server.get("/v1/echo/x", "x-forwarded-for: 192.0.2.1\r\nforwarded: for=192.0.2.1\r\n").status, 200);
    let log = || std::fs::read_to_string(server.folder.path().join("access.log")).unwrap_or_default();
    wait_for("the line", || log().contains("/v1/echo"));
    assert!(log().contains(" 127.0.0.1 ") && !log().contains("192.0.2.1"), "{}", log());
}

#[test]
fn probes_see_health_and_metrics_and_nothing_else() {
    let port = free_port();
    let server = Server::new(&format!("{OPEN}\n[serve.admin]\nprobes = \"127.0.0.1:{port}\""), "");
    assert_eq!(server.get("/v1/echo/x", "").status, 200);
    assert!(probe(port, "GET /health").starts_with("HTTP/1.1 200"));
    assert!(probe(port, "HEAD /ready").starts_with("HTTP/1.1 200"));
    assert!(probe(port, "HEAD /metrics").starts_with("HTTP/1.1 200"));
    assert!(probe(port, "POST /health").contains("allow: GET, HEAD"));
    assert!(probe(port, "GET /metrics").contains("quayline_connections"));
    for (request, status) in [
        ("GET /definitions", "404"),
        ("POST /reload", "404"),
        ("POST /health", "405"),
        ("DELETE /metrics", "405"),
        ("GET /flows", "404"),
        ("GET /v1/echo/x", "404"),
    ] {
        let answer = probe(port, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
    }
}

/// Reasons contain names of users, files and fields, which must not be public.
#[test]
fn probes_see_names_without_reasons() {
    let port = free_port();
    let settings = format!("reload-seconds = 1\n{OPEN}\n[serve.admin]\nprobes = \"127.0.0.1:{port}\"");
    let server = Server::new(&settings, "");
    std::fs::write(server.folder.path().join("services/echo.toml"), "secret-name = 1\n").unwrap();
    wait_for("the reload", || server.log().contains("the old definitions stay in force"));
    let answer = probe(port, "GET /ready");
    assert!(answer.contains("the last reload failed; the log says why"), "{answer}");
    assert!(!answer.contains("secret-name"), "{answer}");
}

#[test]
fn probes_may_be_limited_to_a_network() {
    let port = free_port();
    let admin = format!("[serve.admin]\nprobes = \"127.0.0.1:{port}\"\nprobes-from = [\"10.0.0.0/8\"]");
    let _server = Server::new(&format!("{OPEN}\n{admin}"), "");
    assert_eq!(probe(port, "GET /health"), "");
}

#[test]
fn a_changed_settings_file_waits_for_a_restart_and_says_so() {
    let server = Server::new(&format!("reload-seconds = 1\n{OPEN}"), "");
    let path = server.folder.path().join("quayline.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}\n[serve.limits]\nconnections = 7\n")).unwrap();
    wait_for("the line", || server.log().contains("restart the server to apply [serve]"));
    std::fs::write(&path, format!("{text}\n[serve.limits]\nconections = 7\n")).unwrap();
    wait_for("the finding", || server.log().contains("a restart would fail") && server.log().contains("conections"));
    assert_eq!(server.get("/v1/echo/x", "").status, 200);
}
