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
    for (deep, rule) in [(100, "JSON-011"), (200, "JSON-008"), (200_000, "JSON-008")] {
        let body = format!("{{\"extra\":{}{}}}", "[".repeat(deep), "]".repeat(deep));
        let answer = server.post("/v1/echo", "", &body);
        assert!(answer.status == 400 && answer.text().contains(rule), "{deep}: {}", answer.text());
    }
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

/// A server whose requests wait until the upstream answers, which it does when told.
fn waiting(limits: &str) -> (Server, std::net::TcpListener) {
    let upstream = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = upstream.local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let serve = format!("[serve.authentication]\nrequired = false\n[serve.limits]\n{limits}");
    let provider = format!("kind = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\ntime-limit-ms = 60000\n");
    crate::world::project(folder.path(), &serve, &provider, "");
    (Server::start(folder), upstream)
}

#[test]
fn an_upstream_has_a_time_and_a_size() {
    let upstream = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = upstream.local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let provider = format!("kind = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\ntime-limit-ms = 300\n");
    crate::world::project(folder.path(), "[serve.authentication]\nrequired = false", &provider, "");
    let server = Server::start(folder);
    let record = crate::world::canned();
    let ok = |length: usize, body: &[u8]| {
        [format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").as_bytes(), body].concat()
    };
    let (says, said) = std::sync::mpsc::channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for answer in said {
            let (mut stream, _) = upstream.accept().unwrap();
            read(&mut stream);
            let _ = stream.write_all(&answer);
            // Open until the server gives up or has enough.
            std::thread::spawn(move || std::io::Read::read_to_end(&mut stream, &mut Vec::new()));
        }
    });
    for (what, answer, status, code) in [
        ("silence", Vec::new(), 504, "GTW-122"),
        ("half an answer", ok(3032, b"half"), 504, "GTW-122"),
        ("too long by its head", ok(4000, &[b'x'; 4000]), 502, "GTW-120"),
        (
            "too long by its chunks",
            [&b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1000\r\n"[..], &[b'x'; 0x1000]].concat(),
            502,
            "GTW-120",
        ),
        (
            "its own error",
            b"HTTP/1.1 500 Oops\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec(),
            502,
            "GTW-120",
        ),
        ("a record", ok(record.len(), &record), 200, ""),
    ] {
        says.send(answer).unwrap();
        let found = server.get("/v1/echo/x", "");
        assert!(found.status == status && found.text().contains(code), "{what}: {} {}", found.text(), server.log());
    }
}

const ASK: &[u8] = b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n";

#[test]
fn requests_in_progress_have_a_number_and_places_come_back_when_clients_go() {
    for (limits, status) in [("client-concurrent = 2", 429), ("requests = 2", 503)] {
        let (server, upstream) = waiting(limits);
        let mut held: Vec<_> = (0..2).map(|_| server.connect()).collect();
        let mut calls = Vec::new();
        for stream in &mut held {
            stream.write_all(ASK).unwrap();
            calls.push(upstream.accept().unwrap().0);
        }
        let refused = server.get("/v1/echo/x", "");
        assert_eq!(refused.status, status, "{limits}");
        assert!(refused.header("retry-after").is_some() && refused.text().contains("GTW-112"));
        // One client is answered, one goes away without.
        let first = &mut calls[0];
        read(first);
        let record = crate::world::canned();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", record.len());
        first.write_all(&[head.as_bytes(), &record].concat()).unwrap();
        assert_eq!(read(&mut held[0]).status, 200);
        held.remove(1);
        crate::world::wait_for("two free places", || {
            let mut again: Vec<_> = (0..2).map(|_| server.connect()).collect();
            again.iter_mut().for_each(|stream| stream.write_all(ASK).unwrap());
            again.iter_mut().all(|stream| {
                stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
                // Nothing comes: it waits for the upstream instead of being refused.
                let mut byte = [0];
                std::io::Read::read(stream, &mut byte).is_err()
            })
        });
    }
}

#[test]
fn a_client_that_does_not_read_is_cut_off_and_holds_up_nobody() {
    let server = server("write-seconds = 1");
    let mut deaf = server.connect();
    deaf.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    // Many requests at once, whose answers are more than the system's buffers hold.
    let many = ASK.repeat(20_000);
    let sent = deaf.write_all(&many);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        assert_eq!(server.get("/v1/echo/x", "").status, 200, "others are served");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut bytes = Vec::new();
    let reading = Instant::now();
    let end = std::io::Read::read_to_end(&mut deaf, &mut bytes);
    // One that was not cut off would get the rest now and then be waited for.
    assert!(reading.elapsed() < Duration::from_secs(15), "{end:?}");
    let answers = bytes.windows(12).filter(|window| *window == b"HTTP/1.1 200").count();
    assert!(answers < 20_000, "{answers} answers, sent: {sent:?}, end: {end:?}");
}
