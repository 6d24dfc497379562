//! Every limit is crossed.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use crate::world::{RECORDS, Server, is_closed, project, read};

const OPEN: &str = "[serve.authentication]\nrequired = false";

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

/// Regression: the server closed the connection with the body unread, so the client lost the response.
#[test]
fn a_client_that_sends_too_much_gets_its_response() {
    let server = server("body-bytes = 100");
    for head in ["content-length: 4000000", "transfer-encoding: chunked"] {
        let mut stream = server.connect();
        let head = format!("POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{head}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let chunk = [b"3e8\r\n".as_slice(), &[b' '; 1000], b"\r\n"].concat();
        for _ in 0..4000 {
            stream.write_all(if head.contains("chunked") { &chunk } else { &chunk[5..1005] }).unwrap();
        }
        assert_eq!(read(&mut stream).status, 413);
        drop(stream);
    }
    // A client that never ends its body does not hold the connection.
    let mut stream = server.connect();
    stream.write_all(b"POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 4000000\r\n\r\n").unwrap();
    assert_eq!(read(&mut stream).status, 413);
    let began = Instant::now();
    while stream.write_all(b"x").is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20), "the connection is still open");
        std::thread::sleep(Duration::from_millis(50));
    }
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

/// Regression: requests that no operation answers, and refused ones, were not limited. Over its limit, a client got 404 for documents.
#[test]
fn refused_requests_count_against_the_limits() {
    let limits = "client-requests-per-second = 0.01\nclient-burst = 3";
    let nowhere = server(limits);
    assert_eq!([1, 2, 3, 4].map(|_| nowhere.get("/elsewhere", "").status), [404, 404, 404, 429]);
    let no_method = server(limits);
    let delete = "DELETE /v1/echo HTTP/1.1\r\nhost: x\r\n\r\n";
    assert_eq!([1, 2, 3, 4].map(|_| no_method.call(delete).status), [405, 405, 405, 429]);
    let folder = tempfile::tempdir().unwrap();
    let digest = quayline_server::key_digest("alpha");
    std::fs::write(folder.path().join("keys.toml"), format!("[[key]]\nid = \"a\"\nsha256 = \"{digest}\"\n")).unwrap();
    let settings =
        format!("audit = \"audit.jsonl\"\n[serve.limits]\n{limits}\n[serve.authentication]\napi-keys = \"keys.toml\"");
    project(folder.path(), &settings, RECORDS, "");
    let api = folder.path().join("apis/echo.toml");
    let text = std::fs::read_to_string(&api).unwrap().replace("id = \"show\"", "id = \"show\"\nroles = [\"teller\"]");
    std::fs::write(&api, text).unwrap();
    let server = Server::start(folder);
    assert_eq!([1, 2, 3, 4].map(|_| server.get("/v1/echo/x", "").status), [401, 401, 401, 429]);
    let key = "x-api-key: alpha\r\n";
    assert_eq!([1, 2, 3, 4].map(|_| server.get("/v1/echo/x", key).status), [403, 403, 403, 429]);
    let answer = server.get("/v1/openapi.json", key);
    assert!(answer.status == 429 && answer.header("retry-after").is_some(), "{}", answer.text());
    // The audit names the client that has none of the roles.
    let audit = server.folder.path().join("audit.jsonl");
    crate::world::wait_for("the audit", || {
        let text = std::fs::read_to_string(&audit).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"status\":403")).count() == 3
    });
    let text = std::fs::read_to_string(&audit).unwrap();
    let refused: Vec<&str> = text.lines().filter(|line| line.contains("\"status\":403")).collect();
    assert!(refused.iter().all(|line| line.contains("\"client\":\"a\"") && line.contains("\"by\":\"key\"")), "{text}");
}

#[test]
fn a_role_has_limits_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let key = |name: &str, roles: &str| {
        let digest = quayline_server::key_digest(name);
        format!("[[key]]\nid = \"{name}\"\nsha256 = \"{digest}\"\nroles = [{roles}]\n")
    };
    let keys = [key("alpha", ""), key("beta", "\"partner\"")].concat();
    std::fs::write(folder.path().join("keys.toml"), keys).unwrap();
    let settings = "[serve.limits]\nclient-requests-per-second = 0.01\n[serve.limits.roles.partner]\nclient-requests-per-second = 0.02\nclient-burst = 3\n[serve.authentication]\napi-keys = \"keys.toml\"";
    project(folder.path(), settings, RECORDS, "");
    let server = Server::start(folder);
    let statuses = |name: &str| -> Vec<u16> {
        (0..4).map(|_| server.get("/v1/echo/x", &format!("x-api-key: {name}\r\n")).status).collect()
    };
    assert_eq!(statuses("alpha"), [200, 429, 429, 429]);
    assert_eq!(statuses("beta"), [200, 200, 200, 429]);
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

/// Starts a server whose requests wait until the test lets the upstream answer.
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

fn admin_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn metric(port: u16, name: &str) -> u64 {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let line = all.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} is not in\n{all}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn one_address_has_a_limit_of_connections() {
    let port = admin_port();
    let server = Server::new(
        &format!("{OPEN}\n[serve.limits]\nconnections-per-address = 3\n[serve.admin]\nlisten = \"127.0.0.1:{port}\""),
        "",
    );
    let mut kept: Vec<_> = (0..3).map(|_| server.connect()).collect();
    crate::world::wait_for("three connections", || metric(port, "quayline_connections ") == 3);
    let mut refused: Vec<_> = (0..2).map(|_| server.connect()).collect();
    assert!(refused.iter_mut().all(crate::world::is_closed));
    assert_eq!(metric(port, "quayline_connections_refused_total{limit=\"address\"}"), 2);
    server.has_logged("`limits.connections-per-address`");
    kept[0].write_all(b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    assert_eq!(crate::world::read(&mut kept[0]).status, 200);
    drop(kept);
    crate::world::wait_for("a place", || metric(port, "quayline_connections ") == 0);
    assert_eq!(server.get("/v1/echo/x", "").status, 200);
}

/// A server with the default limits wrote a warning about `limits.connections`, which its user had not set, before it listened.
#[test]
fn the_default_of_connections_adapts_to_the_open_files_silently() {
    let folder = tempfile::tempdir().unwrap();
    crate::world::project(folder.path(), OPEN, crate::world::RECORDS, "");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -n 160; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_quayline_serve")]);
    let server = Server::start_by(command, folder);
    assert!(!server.log().contains("limits.connections"), "{}", server.log());
    assert_eq!(server.get("/v1/echo/x", "").status, 200);
}

/// 1,200 connections that send nothing took all APIs away, since no file could be opened any more.
#[test]
fn idle_connections_make_room_where_files_run_out() {
    let folder = tempfile::tempdir().unwrap();
    let port = admin_port();
    crate::world::project(
        folder.path(),
        &format!(
            "reload-seconds = 1\n{OPEN}\n[serve.limits]\nconnections = 20000\nconnections-per-address = 1000\n[serve.admin]\nlisten = \"127.0.0.1:{port}\""
        ),
        crate::world::RECORDS,
        "",
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -S -n 60; ulimit -H -n 160; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_quayline_serve")]);
    let server = Server::start_by(command, folder);
    server.has_logged("the system allows open files for 80 connections");
    let mut busy = server.connect();
    let mut ask = || {
        busy.write_all(b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        assert_eq!(crate::world::read(&mut busy).status, 200);
    };
    let mut idle = Vec::new();
    for round in 0..4 {
        idle.extend((0..60).filter_map(|_| std::net::TcpStream::connect(server.address).ok()));
        for _ in 0..12 {
            ask();
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert!(round == 0 || metric(port, "quayline_connections_refused_total{limit=\"all\"}") > 0);
    }
    assert!(metric(port, "quayline_connections_shed_total") > 0);
    server.has_logged("connections refused since the last such line");
    assert_eq!(metric(port, "quayline_reloads_failed_total"), 0, "{}", server.log());
    crate::world::wait_for("a place for a new client", || {
        let Ok(mut stream) = std::net::TcpStream::connect(server.address) else { return false };
        stream.set_read_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
        let sent = stream.write_all(b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let mut text = Vec::new();
        sent.is_ok() && stream.read_to_end(&mut text).is_ok() && text.starts_with(b"HTTP/1.1 200")
    });
}

/// Failures below HTTP were neither counted nor logged.
#[test]
fn what_fails_below_requests_is_on_record() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = format!(
        "access-log = \"access.log\"\n{OPEN}\n[serve.admin]\nprobes = \"127.0.0.1:{port}\"\n[serve.limits]\nheader-bytes = 8192"
    );
    let server = Server::new(&settings, "");
    assert_eq!(server.call("NOT HTTP AT ALL\r\n\r\n").status, 400);
    assert_eq!(server.get("/v1/echo/x", &format!("x-long: {}\r\n", "z".repeat(20_000))).status, 431);
    let mut leaves = server.connect();
    leaves.write_all(b"POST /v1/echo HTTP/1.1\r\nhost: x").unwrap();
    drop(leaves);
    let metrics = || {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        all
    };
    for fault in ["malformed", "headers-too-large", "left"] {
        let line = format!("quayline_connection_faults_total{{fault=\"{fault}\"}} 1\n");
        crate::world::wait_for(&line, || metrics().contains(&line));
    }
    crate::world::wait_for("the lines of the log", || {
        server.log().contains("(malformed): 1") && server.log().contains("(headers-too-large): 1")
    });
    let log = || std::fs::read_to_string(server.folder.path().join("access.log")).unwrap_or_default();
    crate::world::wait_for("the access log", || log().contains(" 400 0 0us -") && log().contains(" 431 0 0us -"));
}
