//! Every limit is crossed.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::world::{Server, is_closed, read};

fn server(limits: &str) -> Server {
    Server::new(&format!("[serve.authentication]\nrequired = false\n[serve.limits]\n{limits}"), "")
}

#[test]
fn bodies_targets_and_headers_have_a_size() {
    let server = server("body-bytes = 100\ntarget-bytes = 200\nheader-bytes = 8192");
    let long = "x".repeat(150);
    assert_eq!(server.post("/v1/echo", "", &format!("{{\"reqText\":\"{long}\"}}")).status, 413);
    // A body that does not say its length.
    let chunked = format!(
        "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n96\r\n{long}\r\n0\r\n\r\n"
    );
    assert_eq!(server.call(&chunked).status, 413);
    assert_eq!(server.get(&format!("/v1/echo/x?{}", "y".repeat(200)), "").status, 414);
    assert_eq!(server.get("/v1/echo/x", &format!("x-long: {}\r\n", "z".repeat(20_000))).status, 431);
}

#[test]
fn depth_is_bounded() {
    let server = server("");
    let deep = format!("{{\"reqText\":{}", "[".repeat(10_000));
    let answer = server.post("/v1/echo", "", &deep);
    assert_eq!(answer.status, 400);
}

#[test]
fn slow_clients_are_cut_off() {
    let server = server("idle-seconds = 1\nbody-seconds = 1");
    let mut idle = server.connect();
    let began = Instant::now();
    assert!(is_closed(&mut idle));
    assert!(began.elapsed() < Duration::from_secs(10));
    let mut slow = server.connect();
    slow.write_all(b"POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{").unwrap();
    assert_eq!(read(&mut slow).status, 408);
}

#[test]
fn a_client_has_a_rate_and_places() {
    let server = server("client-requests-per-second = 0.01\nclient-burst = 3");
    let statuses: Vec<u16> = (0..4).map(|_| server.get("/v1/echo/x", "").status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
    assert!(server.get("/v1/echo/x", "").header("retry-after").is_some());
}

#[test]
fn connections_have_a_number() {
    let server = server("connections = 2");
    let mut first = server.connect();
    let mut second = server.connect();
    for stream in [&mut first, &mut second] {
        stream.write_all(b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        assert_eq!(read(stream).status, 200);
    }
    assert!(is_closed(&mut server.connect()));
    drop(first);
    crate::world::wait_for("a free place", || {
        let mut stream = server.connect();
        let _ = stream.write_all(b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        !is_closed(&mut stream)
    });
}
