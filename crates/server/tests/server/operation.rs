//! Reload, drain, metrics, readiness, audit, upstream services.

use std::io::{Read as _, Write as _};

use crate::world::{RECORDS, Server, canned, project, read, wait_for};

const OPEN: &str = "[serve.authentication]\nrequired = false";

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_changed_file_changes_the_api_and_a_broken_one_does_not() {
    let server = Server::new(&format!("reload-seconds = 1\n{OPEN}"), "");
    let mut stream = server.connect();
    let mut get = |target: &str| {
        stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
        read(&mut stream).status
    };
    assert_eq!((get("/v1/echo/x"), get("/v2/echo/x")), (200, 404));
    let path = server.folder.path().join("apis/echo.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("/v1", "/v2")).unwrap();
    wait_for("the new path", || get("/v2/echo/x") == 200);
    assert_eq!(get("/v1/echo/x"), 404);
    std::fs::write(&path, "nonsense = ").unwrap();
    wait_for("the finding", || server.log().contains("the old definitions stay in force"));
    assert_eq!(get("/v2/echo/x"), 200);
    std::fs::write(&path, text).unwrap();
    server.signal("-HUP");
    wait_for("the old path", || get("/v1/echo/x") == 200);
}

#[test]
fn a_request_in_progress_is_answered_when_the_server_stops() {
    let mut server = Server::new(OPEN, "");
    let mut stream = server.connect();
    stream
        .write_all(
            b"POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"req",
        )
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let mut idle = server.connect();
    server.signal("-TERM");
    assert_eq!(idle.read(&mut [0; 1]).unwrap_or(0), 0, "an idle connection is closed");
    stream.write_all(b"Text\":1}").unwrap();
    let answer = read(&mut stream);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(server.process.wait().unwrap().success());
}

#[test]
fn operators_see_health_readiness_and_metrics() {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    project(folder.path(), &format!("{OPEN}\n[serve.admin]\nlisten = \"127.0.0.1:{port}\""), RECORDS, "");
    // The record has 7, which is neither, so the response has null.
    let typed = "[[type]]\nfield = \"RESP-CODE\"\nis = \"boolean\"\ntrue = \"1\"\nfalse = \"2\"\n";
    let service = folder.path().join("services/echo.toml");
    std::fs::write(&service, std::fs::read_to_string(&service).unwrap() + typed).unwrap();
    let server = Server::start(folder);
    let shown = server.get("/v1/echo/x", "");
    assert!(shown.status == 200 && shown.text().contains("\"respCode\":null"), "{}", shown.text());
    assert_eq!(server.get("/nowhere", "").status, 404);
    let admin = |request: &str| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        read(&mut stream)
    };
    let get = |path: &str| admin(&format!("GET {path} HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n"));
    for page in ["host: evil.example", "host: localhost\r\norigin: https://evil.example"] {
        assert_eq!(admin(&format!("GET /definitions HTTP/1.1\r\n{page}\r\n\r\n")).status, 403, "{page}");
    }
    let scraper = "accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n{scraper}\r\n\r\n").as_bytes()).unwrap();
    let native = read(&mut stream);
    assert!(native.header("content-type").is_some_and(|media| media.starts_with("application/vnd.google.protobuf")));
    assert!(native.body.windows(24).any(|window| window == b"quayline_request_seconds"));
    assert_eq!((get("/health").status, get("/ready").status, get("/other").status), (200, 200, 404));
    let metrics = get("/metrics").text();
    for line in [
        "quayline_answers_total{operation=\"show\",status=\"2xx\"} 1",
        "quayline_phase_seconds_count{operation=\"show\",phase=\"call\"} 1",
        "quayline_answer_values_replaced_total{operation=\"show\"} 1",
        "quayline_unrouted_total 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    assert_eq!(admin("POST /reload HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n").status, 200);
    assert_eq!(server.get("/metrics", "").status, 404, "not where clients are");
    std::fs::remove_file(server.folder.path().join("canned.dat")).unwrap();
    std::fs::write(
        server.folder.path().join("services/echo.toml"),
        std::fs::read_to_string(server.folder.path().join("services/echo.toml")).unwrap() + "\n",
    )
    .unwrap();
    admin("POST /reload HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    wait_for("not ready", || get("/ready").status == 503);
}

#[test]
fn every_request_leaves_a_line_without_values() {
    let server = Server::new(&format!("audit = \"logs/audit.jsonl\"\n{OPEN}"), "");
    server.get(
        "/v1/echo/SECRET?fields=respCode",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n",
    );
    server.get("/v1/echo/x?fields=SECRET", "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n");
    let path = server.folder.path().join("logs/audit.jsonl");
    wait_for("two lines", || std::fs::read_to_string(&path).unwrap().lines().count() == 2);
    let text = std::fs::read_to_string(&path).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["operation"], "show");
    assert_eq!(first["status"], 200);
    assert_eq!(first["request"], "0af7651916cd43dd8448eb211c80319c");
    // A client may send one trace many times. Each line has a span that the server chooses.
    let second: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert_eq!(first["request"], second["request"]);
    assert!(first["span"].as_str().is_some_and(|span| span.len() == 16) && first["span"] != second["span"], "{text}");
    assert!(!text.contains("SECRET"), "{text}");
}

#[test]
fn an_upstream_answers_with_a_record() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let upstream = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut requests = Vec::new();
        // Two calls over one connection: a record, then something that is none.
        for body in [canned(), b"no record".to_vec()] {
            let request = read(&mut stream);
            requests.push((request.head, request.body));
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        }
        requests
    });
    let folder = tempfile::tempdir().unwrap();
    let provider =
        format!("kind = \"http\"\nurl = \"http://127.0.0.1:{port}/records\"\nheaders = {{ x-secret = \"s3\" }}\n");
    project(folder.path(), OPEN, &provider, "");
    let server = Server::start(folder);
    let good = server.post(
        "/v1/echo",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n",
        r#"{"reqText":"hi"}"#,
    );
    assert!(good.status == 200 && good.text().contains("\"respCode\":7"), "{}", good.text());
    let bad = server.post("/v1/echo", "", "{}");
    assert!(bad.status == 502 && bad.text().contains("GTW-120"), "{}", bad.text());
    let requests = upstream.join().unwrap();
    assert!(
        requests[0].0.starts_with("POST /records HTTP/1.1") && requests[0].0.contains("x-secret: s3"),
        "{}",
        requests[0].0
    );
    assert!(requests[0].0.contains("traceparent: 00-0af7651916cd43dd8448eb211c80319c-"));
    assert_eq!(requests[0].1.len(), 3032);
    assert!(requests[0].1.starts_with(b"hi  "));
    assert_eq!(server.post("/v1/echo", "", "{}").status, 503, "nobody listens any more");
}

/// If an upstream closed a kept connection at the moment of its next use, the client got a 503 for a request that the upstream had not received. Such
/// a request now goes over a new connection. A request that was sent is not sent twice.
#[test]
fn a_kept_connection_that_the_upstream_closes_costs_no_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // A request that is sent before the connection is closed may have been received, so it is a 503 with good reason: the next one waits for the close.
    let (closed, wait) = std::sync::mpsc::channel();
    let upstream = std::thread::spawn(move || {
        let mut served = 0;
        for _ in 0..20 {
            let (mut stream, _) = listener.accept().unwrap();
            // It says keep-alive, answers once, and closes.
            read(&mut stream);
            let record = canned();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", record.len());
            stream.write_all(&[head.as_bytes(), &record].concat()).unwrap();
            served += 1;
            drop(stream);
            closed.send(()).unwrap();
        }
        served
    });
    let folder = tempfile::tempdir().unwrap();
    project(folder.path(), OPEN, &format!("kind = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\n"), "");
    let server = Server::start(folder);
    for _ in 0..20 {
        assert_eq!(server.post("/v1/echo", "", "{}").status, 200, "{}", server.log());
        wait.recv().unwrap();
    }
    assert_eq!(upstream.join().unwrap(), 20);
}

/// A service that lets Quayline round numbers of requests says how many it rounded.
#[test]
fn rounded_numbers_of_requests_are_counted() {
    let port = free_port();
    for (option, status, count) in [("error", 400, 0), ("round", 200, 1)] {
        let folder = tempfile::tempdir().unwrap();
        project(
            folder.path(),
            &format!("{OPEN}\n[serve.admin]\nlisten = \"127.0.0.1:{port}\""),
            "kind = \"canned\"\nfile = \"canned.dat\"",
            "",
        );
        std::fs::write(folder.path().join("copybooks/f.cpy"), "       01 F.\n          05 WEIGHT COMP-1.\n").unwrap();
        std::fs::write(folder.path().join("canned.dat"), [0; 4]).unwrap();
        let service = format!(
            "copybook = \"f.cpy\"\nencoding = \"ascii\"\ndialect = \"gnucobol\"\n[provider]\nkind = \"canned\"\nfile = \"canned.dat\"\n[options]\ninexact-floats = \"{option}\"\n"
        );
        std::fs::write(folder.path().join("services/echo.toml"), service).unwrap();
        let api = "base-path = \"/v1\"\n[[operation]]\nid = \"echo\"\nmethod = \"POST\"\npath = \"/echo\"\nservice = \"echo\"\n[operation.body]\n";
        std::fs::write(folder.path().join("apis/echo.toml"), api).unwrap();
        let server = Server::start(folder);
        let answer = server.post("/v1/echo", "", "{\"WEIGHT\":16777217}");
        assert_eq!(answer.status, status, "{}", answer.text());
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n").unwrap();
        let metrics = read(&mut stream).text();
        let line = format!("quayline_request_values_rounded_total{{operation=\"echo\"}} {count}");
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
}
