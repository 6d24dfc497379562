//! Methods, forms, conditions, compression, documents.

use std::io::Write as _;

use crate::world::{Server, read};

const OPEN: &str = "[serve.authentication]\nrequired = false";

#[test]
fn one_connection_answers_many_requests_of_all_kinds() {
    let server = Server::new(OPEN, "");
    let mut stream = server.connect();
    let mut call = |request: &str| {
        stream.write_all(request.as_bytes()).unwrap();
        read(&mut stream)
    };
    let answer = call("GET /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert!(answer.text().starts_with("{\"respCode\":7,\"respText\":\"answer answer"), "{}", answer.text());
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let xml = call("GET /v1/echo/x?fields=respCode HTTP/1.1\r\nhost: x\r\naccept: application/xml\r\n\r\n");
    assert!(
        xml.text().ends_with("<respCode>7</respCode></answer>\n") || xml.text().contains("<respCode>7</respCode>"),
        "{}",
        xml.text()
    );
    let missing = call("GET /v2 HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!((missing.status, missing.header("content-type")), (404, Some("application/problem+json")));
    let method = call("DELETE /v1/echo HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!((method.status, method.header("allow")), (405, Some("POST, OPTIONS")));
    assert_eq!(call("OPTIONS /v1/echo/x HTTP/1.1\r\nhost: x\r\n\r\n").header("allow"), Some("GET, HEAD, OPTIONS"));
    assert_eq!(call("GET /v1/echo/x HTTP/1.1\r\nhost: x\r\naccept: text/html\r\n\r\n").status, 406);
    let bad = call("POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-type: text/plain\r\n\r\nhi");
    assert_eq!(bad.status, 415);
    let bad = call(
        "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 18\r\ncontent-type: application/json\r\n\r\n{\"reqTextt\":\"abc\"}",
    );
    assert!(
        bad.status == 400 && bad.text().contains("did you mean") || bad.text().contains("$.reqTextt"),
        "{}",
        bad.text()
    );
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let server = Server::new(OPEN, "");
    let get = server.get("/v1/echo/x", "");
    let mut stream = server.connect();
    stream.write_all(b"HEAD /v1/echo/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut all = String::new();
    std::io::Read::read_to_string(&mut stream, &mut all).unwrap();
    assert!(all.contains(&format!("content-length: {}", get.body.len())) && all.ends_with("\r\n\r\n"), "{all}");
}

#[test]
fn a_known_answer_is_not_sent_again() {
    let server = Server::new(OPEN, "etag = true");
    let first = server.get("/v1/echo/x", "");
    let tag = first.header("etag").unwrap();
    assert_eq!(server.get("/v1/echo/x", &format!("if-none-match: \"x\", W/{tag}\r\n")).status, 304);
    assert_eq!(server.get("/v1/echo/x", "if-none-match: \"x\"\r\n").status, 200);
    assert_ne!(server.get("/v1/echo/x?fields=respCode", "").header("etag"), Some(tag));
}

/// `If-None-Match: *` on a POST answered 304 after the program had run.
#[test]
fn a_request_whose_condition_is_false_is_not_performed() {
    let server = Server::new(OPEN, "etag = true");
    let post = |headers: &str| server.post("/v1/echo", headers, "{\"reqText\":\"a\"}");
    let refused = post("if-none-match: *\r\n");
    assert_eq!(refused.status, 412);
    assert!(refused.text().contains("\"GTW-129\""), "{}", refused.text());
    assert_eq!(post("if-match: \"x\"\r\n").status, 412);
    for holds in ["if-none-match: \"x\"\r\n", "if-match: *\r\n", "if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"]
    {
        let answer = post(holds);
        assert_eq!((answer.status, answer.header("etag")), (200, None), "{holds}");
    }
    let get = |headers: &str| server.get("/v1/echo/x", headers);
    let tag = get("").header("etag").unwrap().to_owned();
    assert_eq!(get(&format!("if-match: \"x\", {tag}\r\n")).status, 200);
    assert_eq!(get("if-match: *\r\n").status, 200);
    assert_eq!(get("if-match: \"x\"\r\n").status, 412);
    assert_eq!(get(&format!("if-match: W/{tag}\r\n")).status, 412, "If-Match compares strongly");
    assert_eq!(get("if-none-match: *\r\n").status, 304);
}

#[test]
fn compression_is_for_whoever_takes_it_where_the_api_says_so() {
    let always = Server::new(OPEN, "compression = \"always\"");
    let zipped = always.get("/v1/echo/x", "accept-encoding: gzip\r\n");
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&zipped.body[..]), &mut text).unwrap();
    assert_eq!(text, always.get("/v1/echo/x", "").text());
    assert!(zipped.body.len() * 4 < text.len());
    let auto = Server::new(OPEN, "");
    assert_eq!(
        auto.get("/v1/echo/x", "accept-encoding: gzip\r\n").header("content-encoding"),
        None,
        "not on this machine"
    );
}

#[test]
fn documents_are_there_for_public_apis() {
    let server = Server::new("", "public = true");
    let openapi = server.get("/v1/openapi.json", "");
    assert_eq!(openapi.status, 200);
    let json: serde_json::Value = serde_json::from_slice(&openapi.body).unwrap();
    assert_eq!(json["openapi"], "3.1.1");
    assert_eq!(json["paths"]["/v1/echo/{how}"]["get"]["operationId"], "show");
    let docs = server.get("/v1/docs", "");
    assert!(docs.text().contains("docs.js") && docs.header("content-security-policy").is_some());
    assert_eq!(server.get("/v1/docs.js", "").header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(Server::new("", "").get("/v1/docs", "").status, 404);
    assert_eq!(Server::new("public-documents = true", "").get("/v1/docs", "").status, 200);
}

#[test]
fn browsers_of_listed_origins_may_call() {
    let server = Server::new(&format!("{OPEN}\n[serve.cors]\norigins = [\"https://app.example\"]"), "");
    let preflight = |origin: &str| {
        server.call(&format!(
            "OPTIONS /v1/echo HTTP/1.1\r\nhost: x\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\r\n"
        ))
    };
    let good = preflight("https://app.example");
    let headers = good.header("access-control-allow-headers").unwrap();
    assert_eq!(headers, "authorization, content-type, x-api-key, if-match, if-none-match, traceparent");
    let tenant = "[[operation]]\nid = \"tenant\"\nmethod = \"GET\"\npath = \"/tenant\"\nservice = \"echo\"\n[[operation.parameter]]\nname = \"X-Tenant\"\nin = \"header\"\nfield = \"REQ-HOW\"\n";
    let tenants = Server::new(&format!("{OPEN}\n[serve.cors]\norigins = [\"https://app.example\"]"), tenant);
    let asked = tenants.call(
        "OPTIONS /v1/tenant HTTP/1.1\r\nhost: x\r\norigin: https://app.example\r\naccess-control-request-method: GET\r\n\r\n",
    );
    assert!(asked.header("access-control-allow-headers").unwrap().ends_with("traceparent, x-tenant"));
    assert_eq!(good.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(good.header("access-control-allow-methods"), Some("POST, OPTIONS"));
    assert_eq!(preflight("https://evil.example").header("access-control-allow-origin"), None);
    let get = server.get("/v1/echo/x", "origin: https://app.example\r\n");
    assert_eq!(get.header("access-control-allow-origin"), Some("https://app.example"));
}

/// A page of another origin could have operations without a body performed, with the certificate of the browser's user.
#[test]
fn pages_of_other_origins_change_nothing() {
    let api = "[[operation]]\nid = \"run\"\nmethod = \"POST\"\npath = \"/run\"\nservice = \"echo\"\n";
    let server = Server::new(&format!("{OPEN}\n[serve.cors]\norigins = [\"https://app.example\"]"), api);
    let post = |headers: &str| {
        let answer = server.call(&format!("POST /v1/run HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n{headers}\r\n"));
        (answer.status, answer.text().contains("GTW-139"))
    };
    for (headers, status) in [
        ("", 200),
        ("origin: http://x\r\n", 200),
        ("origin: https://app.example\r\n", 200),
        ("origin: https://evil.example\r\n", 403),
        ("origin: null\r\n", 403),
        ("origin: https://evil.example\r\nsec-fetch-site: cross-site\r\n", 403),
        // A proxy may replace the host.
        ("origin: https://public.example\r\nsec-fetch-site: same-origin\r\n", 200),
    ] {
        assert_eq!(post(headers), (status, status == 403), "{headers}");
    }
    assert_eq!(server.get("/v1/echo/x", "origin: https://evil.example\r\n").status, 200, "the page cannot read it");
}

/// Requests whose end two servers may see at different places must not hide a second request.
#[test]
fn ambiguous_requests_smuggle_nothing() {
    let server = Server::new("[serve.authentication]\nrequired = false", "");
    let hidden = "GET /v1/echo/hidden HTTP/1.1\r\nhost: x\r\n\r\n";
    let chunked = format!("0\r\n\r\n{hidden}");
    for framing in [
        "content-length: 0\r\ncontent-length: 60",
        "content-length: 0, 60",
        "content-length: +0",
        "content-length: -1",
        "content-length: 0x10",
        "content-length: 18446744073709551616",
        "transfer-encoding : chunked",
        "transfer-encoding: xchunked",
        "transfer-encoding: chunked, identity",
        "transfer-encoding:\x0bchunked",
        "x: y\r\n transfer-encoding: chunked",
        "content\0-length: 3",
        "content-length: 3\r\n: empty",
    ] {
        let text = format!(
            "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{framing}\r\n\r\n{chunked}"
        );
        let mut stream = server.connect();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
        let _ = stream.write_all(text.as_bytes());
        let mut all = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut all);
        let all: String = all.iter().map(|byte| char::from(*byte)).collect();
        assert!(all.starts_with("HTTP/1.1 400") && all.matches("HTTP/1.1 ").count() == 1, "{framing}: {all}");
    }
    // With both, the chunks count, and the connection ends, as RFC 9112, section 6.1 wants it.
    let both = format!(
        "POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n{chunked}"
    );
    let mut stream = server.connect();
    stream.write_all(both.as_bytes()).unwrap();
    let mut all = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut all);
    let answers = String::from_utf8(all).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
}
