//! Hostile requests: framing, headers, paths, negotiation. None stops the server or bypasses a rule.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use crate::world::{Ends, RECORDS, Server, project, read, wait_for};

const OPEN: &str = "[serve.authentication]\nrequired = false";

/// Sends bytes, and returns the response until the server closes the connection or is silent.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = server.connect();
    stream.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    all.into_iter().map(char::from).collect()
}

fn status(server: &Server, request: &str) -> u16 {
    raw(server, request.as_bytes()).get(9..12).and_then(|s| s.parse().ok()).unwrap_or(0)
}

#[test]
fn a_request_says_once_for_whom_it_is() {
    let server = Server::new(OPEN, "");
    assert_eq!(status(&server, "GET /v1/echo/x HTTP/1.1\r\n\r\n"), 400);
    assert_eq!(status(&server, "GET /v1/echo/x HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"), 400);
    assert_eq!(status(&server, "GET /v1/echo/x HTTP/1.0\r\n\r\n"), 200, "HTTP/1.0 had none");
    assert_eq!(status(&server, "GET http://other/v1/echo/x HTTP/1.1\r\nhost: a\r\n\r\n"), 200, "absolute form");
    for host in ["", "a", "a:80", "127.0.0.1:8080", "[::1]:80", "a_b.example.", "a%20b"] {
        assert_eq!(status(&server, &format!("GET /v1/echo/x HTTP/1.1\r\nhost: {host}\r\n\r\n")), 200, "{host}");
    }
    for host in ["a b", "a/b", "a\tb", "user@a", "a?b", "a#b", "<a>", "a\\b", "\u{e9}"] {
        assert_eq!(status(&server, &format!("GET /v1/echo/x HTTP/1.1\r\nhost: {host}\r\n\r\n")), 400, "{host}");
    }
    assert_eq!(status(&server, "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n"), 204);
    for (method, expected) in [("TRACE", 405), ("CONNECT", 405), ("PATCH", 405), ("get", 405), ("BREW", 405)] {
        let found = status(&server, &format!("{method} /v1/echo/x HTTP/1.1\r\nhost: a\r\n\r\n"));
        assert!(found == expected, "{method}: {found}");
    }
    assert_eq!(server.get("/v1/echo/x", "").status, 200);
}

#[test]
fn paths_mean_what_they_say() {
    let server = Server::new(OPEN, "");
    for path in [
        "/v1/../v1/echo/x",
        "/v1/./echo/x",
        "//v1/echo/x",
        "/v1//echo/x",
        "/v1/%65cho/x",
        "/v1/echo/x/",
        "/v1/echo%2Fx",
        "/V1/echo/x",
        "/v1/echo/x;a=b/y",
        "/v1/openapi.json/../docs",
        "/v1/docs%00.js",
        "/../../etc/passwd",
        "/v1/..%2f..%2fetc%2fpasswd",
        "/v1/echo/",
    ] {
        assert_eq!(server.get(path, "").status, 404, "{path}");
    }
    // One level of encoding is undone, once, and what is left is data.
    for path in ["/v1/echo/%2e%2e", "/v1/echo/..", "/v1/echo/a%2Fb", "/v1/echo/%2541", "/v1/echo/%3Cb%3E"] {
        assert_eq!(server.get(path, "").status, 200, "{path}");
    }
    for path in ["/v1/echo/%", "/v1/echo/%zz", "/v1/echo/%ff", "/v1/echo/%C0%AF", "/v1/echo/123456789"] {
        let answer = server.get(path, "");
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.text().contains("\"in\":\"path\""), "{}", answer.text());
    }
    assert_eq!(status(&server, "GET /v1/echo/\u{e9} HTTP/1.1\r\nhost: a\r\n\r\n"), 400, "bytes that are no URL's");
    assert_eq!(status(&server, "GET v1/echo/x HTTP/1.1\r\nhost: a\r\n\r\n"), 400);
}

#[test]
fn queries_are_read_once_and_have_an_end() {
    let server = Server::new(OPEN, "");
    for query in [
        "fields=respCode&fields=respText",
        "FIELDS=respCode",
        "fields=",
        "fields=nope",
        "fields=respCode(",
        "fields=respCode%00",
        "fields=%zz",
        "a=1",
        "=1",
        "&&&=&",
        "fields[]=respCode",
    ] {
        let answer = server.get(&format!("/v1/echo/x?{query}"), "");
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
    let many = (0..300).map(|i| format!("p{i}=")).collect::<Vec<_>>().join("&");
    let answer = server.get(&format!("/v1/echo/x?{many}"), "");
    assert!(answer.status == 400 && answer.text().contains("more than 100 parameters"), "{}", answer.text());
    assert_eq!(server.get("/v1/echo/x?&fields=respCode&", "").status, 200);
    let deep = format!("fields={}", "respCode(".repeat(300));
    assert_eq!(server.get(&format!("/v1/echo/x?{deep}"), "").status, 400);
}

#[test]
fn bodies_are_json_as_it_stands() {
    let server = Server::new(OPEN, "");
    let post = |head: &str, body: &str| {
        let length = body.len();
        status(
            &server,
            &format!(
                "POST /v1/echo HTTP/1.1\r\nhost: x\r\n{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            ),
        )
    };
    const JSON: &str = "content-type: application/json\r\n";
    for (head, body, expected) in [
        (JSON, "{}", 200),
        ("content-type: Application/JSON; charset=utf-8\r\n", "{}", 200),
        ("content-type: application/vnd.shop+json\r\n", "{}", 200),
        ("content-type: application/json; charset=iso-8859-1\r\n", "{}", 415),
        ("content-type: application/merge-patch+json\r\n", "{}", 415),
        ("content-type: application/json-patch+json\r\n", "{}", 415),
        ("", "{}", 415),
        ("content-type: \r\n", "{}", 415),
        ("content-type: text/json\r\n", "{}", 415),
        ("content-type: application/x-www-form-urlencoded\r\n", "reqText=a", 415),
        ("content-type: application/json\r\ncontent-type: application/json\r\n", "{}", 400),
        ("content-type: application/json\r\ncontent-encoding: gzip\r\n", "{}", 415),
        ("content-type: application/json\r\ncontent-encoding: identity\r\n", "{}", 200),
        (JSON, "{} {}", 400),
        (JSON, "[]", 400),
        (JSON, "null", 400),
        (JSON, "\"x\"", 400),
        (JSON, "{\"reqText\":\"a\",\"reqText\":\"b\"}", 400),
        (JSON, "{\"reqText\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}", 400),
        (JSON, "{\"reqText\":{\"a\":1}}", 400),
        (JSON, "{\"reqText\":[\"a\"]}", 400),
        (JSON, "{\"respCode\":1}", 400),
        (JSON, "{\"__proto__\":{}}", 400),
        (JSON, "{\"reqText\":\"\\ud800\"}", 400),
        (JSON, "{'reqText':'a'}", 400),
        (JSON, "{\"reqText\":\"a\"", 400),
        (JSON, "\u{feff}{}", 400),
        (JSON, "", 200),
    ] {
        let found = post(head, body);
        assert!(found == expected || body.starts_with('\u{feff}') && found == 200, "{head}{body}: {found}");
    }
    assert_eq!(server.call("GET /v1/echo/x HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}").status, 400);
}

#[test]
fn broken_framing_is_refused_and_ends_the_connection() {
    let server = Server::new(OPEN, "");
    for chunks in ["zz\r\n{}\r\n0\r\n\r\n", "-1\r\n{}\r\n0\r\n\r\n", "2\r\n{}xx0\r\n\r\n", "ffffffffffffffffff\r\n{}"] {
        let answer = raw(
            &server,
            format!(
                "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"
            )
            .as_bytes(),
        );
        assert!(answer.starts_with("HTTP/1.1 400"), "{chunks}: {answer}");
        assert!(!answer.contains("GTW-114"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    }
    assert_eq!(server.get("/v1/echo/x", "").status, 200);
}

#[test]
fn codings_that_nobody_undoes_are_refused() {
    let server = Server::new(OPEN, "");
    for (coding, expected) in
        [("chunked", 200), ("Chunked", 200), ("gzip, chunked", 501), ("chunked, chunked", 501), ("gzip", 400)]
    {
        let request = format!(
            "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: {coding}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
        );
        assert_eq!(status(&server, &request), expected, "{coding}");
    }
}

#[test]
fn a_body_is_asked_for_only_when_it_is_wanted() {
    let server = Server::new("", "");
    let head = "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\n";
    // Nobody is let in: nothing is asked for.
    assert!(raw(&server, format!("{head}\r\n").as_bytes()).starts_with("HTTP/1.1 401"));
    let open = Server::new(OPEN, "");
    let mut stream = open.connect();
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    let mut first = [0; 25];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}").unwrap();
    assert_eq!(read(&mut stream).status, 200);
}

#[test]
fn headers_have_a_number_and_credentials_stand_once() {
    let folder = tempfile::tempdir().unwrap();
    let digest = quayline_server::key_digest("alpha");
    std::fs::write(
        folder.path().join("keys.toml"),
        format!("[[key]]\nid = \"a\"\nsha256 = \"{digest}\"\nroles = [\"reader\"]\n"),
    )
    .unwrap();
    project(folder.path(), "[serve.authentication]\napi-keys = \"keys.toml\"", RECORDS, "roles = [\"clerk\"]");
    let server = Server::start(folder);
    let many: String = (0..150).map(|i| format!("x-{i}: y\r\n")).collect();
    assert_eq!(server.get("/v1/echo/x", &many).status, 431);
    for (headers, expected) in [
        ("x-api-key: alpha\r\n", 403),
        ("x-api-key: alpha\r\nx-api-key: beta\r\n", 400),
        ("authorization: Bearer a\r\nauthorization: Bearer b\r\n", 400),
        ("x-api-key: \r\n", 401),
        ("x-api-key: ALPHA\r\n", 401),
        ("x-api-key: alpha,alpha\r\n", 401),
        (
            "X-API-Key: alpha\r\nx-http-method-override: POST\r\nx-original-url: /v1/docs\r\nx-forwarded-for: 127.0.0.1\r\n",
            403,
        ),
        ("authorization: Basic YWxwaGE6\r\n", 401),
        ("authorization: Bearer\r\n", 401),
        ("authorization: Bearer  \r\n", 401),
        ("authorization: \r\n", 401),
        ("cookie: x-api-key=alpha\r\n", 401),
        ("x-role: clerk\r\n", 401),
    ] {
        assert_eq!(server.get("/v1/echo/x", headers).status, expected, "{headers}");
    }
    for target in ["/v1/echo/x?x-api-key=alpha", "/v1/echo/x?roles=clerk", "/v1/echo/x?access_token=a"] {
        assert_eq!(server.get(target, "").status, 401, "{target}");
    }
    for request in ["HEAD /v1/echo/x HTTP/1.1\r\nhost: a\r\n\r\n", "GET http://a/v1/echo/x HTTP/1.1\r\nhost: a\r\n\r\n"]
    {
        assert_eq!(status(&server, request), 401, "{request}");
    }
    // Preflights and documents tell nothing to who is not let in.
    assert_eq!((server.get("/v1/docs", "").status, server.get("/v1/openapi.json", "").status), (404, 404));
}

#[test]
fn what_a_client_takes_is_followed() {
    let server = Server::new(OPEN, "etag = true\ncompression = \"auto\"");
    let get = |headers: &str| server.get("/v1/echo/x", headers);
    for (headers, expected, media) in [
        ("accept: application/json;q=0.1, application/xml;q=0.2\r\n", 200, "application/xml"),
        ("accept: application/json;q=0.1\r\naccept: application/xml;q=0.2\r\n", 200, "application/xml"),
        ("accept: */*;q=0.5, application/json;q=0\r\n", 200, "application/xml"),
        ("accept: APPLICATION/*\r\n", 200, "application/json"),
        ("accept: application/json;q=0\r\n", 406, "application/problem+json"),
        ("accept: ;;;,,,\r\n", 406, "application/problem+json"),
        ("accept-encoding: gzip\r\n", 200, "application/json"),
        ("accept-encoding: identity;q=0\r\n", 406, "application/problem+json"),
        ("accept-encoding: *;q=0\r\n", 406, "application/problem+json"),
    ] {
        let answer = get(headers);
        assert_eq!((answer.status, answer.header("content-type")), (expected, Some(media)), "{headers}");
        assert_eq!(answer.header("content-encoding"), None, "{headers}");
    }
    // Also where it would not pay: the client refuses the rest.
    assert_eq!(get("accept-encoding: gzip, identity;q=0\r\n").header("content-encoding"), Some("gzip"));
    let tag = get("").header("etag").unwrap().to_owned();
    for (header, expected) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"a\",{tag} , \"b\""), 304),
        (format!("\"a\"\r\nif-none-match: {tag}"), 304),
        ("*".to_owned(), 304),
        (format!("WW/{tag}"), 200),
        (tag.trim_matches('"').to_owned(), 200),
        (format!("\"{tag}\""), 200),
        (String::new(), 200),
    ] {
        assert_eq!(get(&format!("if-none-match: {header}\r\n")).status, expected, "{header}");
    }
    let mut stream = server.connect();
    write!(stream, "HEAD /v1/echo/x HTTP/1.1\r\nhost: a\r\nif-none-match: {tag}\r\nconnection: close\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.starts_with("HTTP/1.1 304") && !all.to_lowercase().contains("content-length"), "{all}");
}

#[test]
fn caches_keep_origins_apart() {
    let server = Server::new(&format!("{OPEN}\n[serve.cors]\norigins = [\"https://app.example\"]"), "");
    for origin in ["", "origin: https://evil.example\r\n", "origin: https://app.example\r\n", "origin: null\r\n"] {
        let answer = server.get("/v1/echo/x", origin);
        let varies: Vec<&str> = answer.head.lines().filter(|line| line.to_lowercase().starts_with("vary:")).collect();
        assert!(varies.iter().any(|line| line.contains("origin")), "{origin}: {varies:?}");
        let allowed = answer.header("access-control-allow-origin");
        assert_eq!(allowed, origin.contains("app").then_some("https://app.example"), "{origin}");
    }
}

#[test]
fn who_guesses_keys_is_slowed_down() {
    let folder = tempfile::tempdir().unwrap();
    let digest = quayline_server::key_digest("alpha");
    std::fs::write(folder.path().join("keys.toml"), format!("[[key]]\nid = \"a\"\nsha256 = \"{digest}\"\n")).unwrap();
    let settings = "[serve.limits]\nclient-requests-per-second = 0.01\nclient-burst = 3\n[serve.authentication]\napi-keys = \"keys.toml\"";
    project(folder.path(), settings, RECORDS, "");
    let server = Server::start(folder);
    let statuses: Vec<u16> =
        (0..5).map(|i| server.get("/v1/echo/x", &format!("x-api-key: guess{i}\r\n")).status).collect();
    assert_eq!(statuses, [401, 401, 401, 429, 429]);
    assert_eq!(server.get("/v1/echo/x", "x-api-key: alpha\r\n").status, 200, "who has a key has a bucket of his own");
}

#[test]
fn broken_definitions_under_load_cost_no_request() {
    let server = Server::new(&format!("reload-seconds = 1\n{OPEN}"), "");
    let path = server.folder.path().join("apis/echo.toml");
    let good = std::fs::read_to_string(&path).unwrap();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also where the test fails: its clients would never end.
        let _ends = Ends(&over);
        let clients: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = server.connect();
                    let mut answers = 0;
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        stream.write_all(b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
                        assert_eq!(read(&mut stream).status, 200);
                        answers += 1;
                    }
                    answers
                })
            })
            .collect();
        for (i, bad) in ["nonsense = ", "", "base-path = 7", "base-path = \"/v1\"\n"].iter().enumerate() {
            std::fs::write(&path, bad).unwrap();
            wait_for("the finding", || server.log().matches("the old definitions stay in force").count() > i);
            std::fs::write(&path, &good).unwrap();
            server.signal("-HUP");
            wait_for("the good file", || server.log().matches("definitions were read again").count() > i);
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        for client in clients {
            assert!(client.join().unwrap() > 50);
        }
    });
}

#[test]
fn a_stop_waits_for_slow_clients_as_long_as_it_says() {
    let mut server = Server::new(&format!("drain-seconds = 2\n{OPEN}"), "");
    let mut slow = server.connect();
    slow.write_all(b"POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{").unwrap();
    // One that never reads its many answers.
    let mut deaf = server.connect();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let _ = deaf.write_all(&b"GET /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n".repeat(20_000));
    std::thread::sleep(Duration::from_millis(200));
    let began = std::time::Instant::now();
    server.signal("-TERM");
    assert!(server.process.wait().unwrap().success());
    let took = began.elapsed();
    assert!(took > Duration::from_millis(1500) && took < Duration::from_secs(6), "{took:?}");
    server.has_logged("requests in progress were cut off");
}
