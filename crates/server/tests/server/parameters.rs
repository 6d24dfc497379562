//! Services of several records: programs with several parameters, and answers that have another record than requests.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::world::{RECORDS, Server, project, read};

const OPEN: &str = "[serve.authentication]\nrequired = false\n";

const ORDER: &str = "
       01 ORDER-IN.
          05 ARTICLE PIC X(7).
          05 PIECES  PIC S9(4).
       01 CUSTOMER.
          05 KIND    PIC X.
          05 CEILING PIC S9(9) COMP-5 SYNC.
";
const RESULT: &str = "
       01 RESULT.
          05 CODE-OUT PIC 9(2).
          05 TOTAL    PIC S9(7)V99 COMP-3.
          05 LINES-OF-IT PIC 9.
          05 LINE-OF-IT PIC X(5) OCCURS 1 TO 3 DEPENDING ON LINES-OF-IT.
";
const PROGRAM: &str = "
       IDENTIFICATION DIVISION.
       PROGRAM-ID. PRICES.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01 I PIC S9(9) COMP-5.
       LINKAGE SECTION.
           COPY ORDER.
           COPY RESULT.
       PROCEDURE DIVISION USING ORDER-IN CUSTOMER RESULT.
           IF KIND = 'X'
              MOVE 5000 TO I
              PERFORM 100 TIMES
                 MOVE 'evil!' TO LINE-OF-IT(I)
                 ADD 900 TO I
              END-PERFORM
           END-IF
           COMPUTE TOTAL = PIECES * 1.25
           MOVE 0 TO CODE-OUT
           IF TOTAL > CEILING MOVE 8 TO CODE-OUT END-IF
           MOVE 2 TO LINES-OF-IT
           MOVE ARTICLE(1:5) TO LINE-OF-IT(1)
           MOVE KIND TO LINE-OF-IT(2)
           MOVE 'GONE' TO ARTICLE
           GOBACK.
";
const API: &str = "base-path = \"/v1\"\n[[operation]]\nid = \"price\"\nmethod = \"POST\"\npath = \"/echo\"\nservice = \"echo\"\n[operation.body]\n\
    [[operation.response]]\nstatus = 402\nwhen = [{ field = \"RESULT.CODE-OUT\", equals = 8 }]\nbody = \"problem\"\ndetail = \"too much\"\n[[operation.response]]\nstatus = 200\n";

fn write(root: &Path, service: &str) {
    project(root, OPEN, RECORDS, "");
    std::fs::write(root.join("copybooks/ORDER.cpy"), ORDER).unwrap();
    std::fs::write(root.join("copybooks/RESULT.cpy"), RESULT).unwrap();
    std::fs::write(root.join("prices.cbl"), PROGRAM).unwrap();
    std::fs::write(root.join("services/echo.toml"), service).unwrap();
    std::fs::write(root.join("apis/echo.toml"), API).unwrap();
}

/// A program with three parameters from two copybooks, one of which is aligned differently.
#[test]
fn a_program_with_several_parameters_is_served() {
    if Command::new("cobc").arg("--version").output().is_err() {
        eprintln!("skipped: a_program_with_several_parameters_is_served: GnuCOBOL (cobc) is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let service = "copybook = \"ORDER.cpy\"\nencoding = \"ascii\"\n\
        [[parameter]]\nrecord = \"ORDER-IN\"\n[[parameter]]\nrecord = \"CUSTOMER\"\n[[parameter]]\ncopybook = \"RESULT.cpy\"\n\
        [provider]\nkind = \"program\"\nprogram = \"PRICES\"\nsource = \"prices.cbl\"\n\
        [request]\nkey-style = \"camel\"\nexclude = [\"RESULT\"]\n[response]\nkey-style = \"camel\"\nexclude = [\"CUSTOMER\"]\n\
        [options]\ninitialize = \"initial\"\n";
    write(folder.path(), service);
    let server = Server::start(folder);
    let post = |pieces: i64, kind: &str, limit: i64| {
        let body = format!(
            r#"{{"orderIn":{{"article":"screw","pieces":{pieces}}},"customer":{{"kind":"{kind}","ceiling":{limit}}}}}"#
        );
        let answer = server.post("/v1/echo", "", &body);
        format!("{} {}", answer.status, answer.text())
    };
    let expected = |total: &str, kind: &str| {
        format!(
            r#"200 {{"orderIn":{{"article":"GONE","pieces":{}}},"result":{{"codeOut":0,"total":{total},"linesOfIt":2,"lineOfIt":["screw","{kind}"]}}}}"#,
            if total.starts_with('-') { "-3" } else { "4" }
        )
    };
    assert_eq!(post(4, "A", 5), expected("5.00", "A"));
    assert_eq!(post(-3, "B", -2), expected("-3.75", "B"));
    let refused = post(5000, "A", 70_000);
    assert!(refused.starts_with("200 "), "{refused}");
    let refused = post(5000, "A", 6249);
    assert!(refused.starts_with("402 ") && refused.contains("too much"), "{refused}");
    // An overrun of a table ends its own call, and nothing of it is in the next.
    let ended = post(4, "X", 5);
    assert!(ended.starts_with("502 "), "{ended}");
    assert_eq!(post(4, "A", 5), expected("5.00", "A"));
    let document = server.get("/v1/openapi.json", "").text();
    assert!(document.contains("\"orderIn\"") && document.contains("\"lineOfIt\""), "{document}");
}

/// An upstream that answers each request with the next of these responses, and a server that calls it. With an empty response, the
/// connection ends after the request.
fn over_upstream(responses: Vec<Vec<u8>>, provider: &str) -> Server {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the test's process.
    std::thread::spawn(move || {
        for response in responses {
            let (mut stream, _) = listener.accept().unwrap();
            read(&mut stream);
            if response == b"wait" {
                // Open until the server gives up.
                std::thread::spawn(move || std::io::Read::read_to_end(&mut stream, &mut Vec::new()));
            } else {
                stream.write_all(&response).unwrap();
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let service = format!(
        "copybook = \"ORDER.cpy\"\nrecord = \"ORDER-IN\"\nresponse-copybook = \"RESULT.cpy\"\nencoding = \"ascii\"\ndialect = \"ibm\"\n\
         [provider]\nkind = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\n{provider}\
         [request]\nkey-style = \"camel\"\n[response]\nkey-style = \"camel\"\n[options]\ninitialize = \"initial\"\n"
    );
    write(folder.path(), &service);
    Server::start(folder)
}

fn response(head: &str, code: &str, lines: &str) -> Vec<u8> {
    let body = [code.as_bytes(), &[0, 0, 0x12, 0x34, 0x5c], lines.as_bytes()].concat();
    let head = format!("HTTP/1.1 {head}connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), &body].concat()
}

/// Bytes after the last occurrence, a part of an answer and a compressed answer were taken for the record.
#[test]
fn an_answer_with_other_bytes_than_the_record_is_a_502() {
    let ok = "200 OK\r\n";
    let cases = [
        (response(ok, "00", "1one  "), "200"),
        (response(ok, "00", "1one            "), "200"),
        (response(ok, "00", "1one  \0\0\0\0\0\0\0\0\0\0"), "200"),
        (response(ok, "00", "1one  two  three"), "REC-015"),
        (response(ok, "00", "1one  t"), "REC-012 record has 14 bytes, its layout 13"),
        (response(ok, "00", "1on"), "REC-011 record ends before the field: it has 10 bytes, 13 are needed"),
        (response("206 Partial Content\r\ncontent-range: bytes 0-12/13\r\n", "00", "1one  "), "GTW-120"),
        (response("200 OK\r\ncontent-encoding: gzip\r\n", "00", "1one  "), "GTW-120"),
        (response("200 OK\r\ncontent-encoding: identity\r\n", "00", "1one  "), "200"),
    ];
    let server = over_upstream(cases.iter().map(|case| case.0.clone()).collect(), "");
    for (sent, expected) in cases {
        let answer = server.post("/v1/echo", "", r#"{"orderIn":{"article":"screw","pieces":4}}"#);
        let text = answer.text().replace("\",\"detail\":\"", " ");
        let shown = format!("{} {text}", answer.status);
        assert!(shown.contains(expected), "{shown} for {}", sent.escape_ascii());
        assert_eq!(answer.status, if expected == "200" { 200 } else { 502 }, "{shown}");
    }
}

/// An upstream that received a request and ended the connection was one that cannot be reached, with the advice to repeat the request.
#[test]
fn an_upstream_that_has_the_request_may_have_performed_it() {
    let whole = response("200 OK\r\n", "00", "1one  ");
    let cases = [
        (Vec::new(), "GTW-134"),
        (b"HTTP/1.1 200 OK\r\ncontent-le".to_vec(), "GTW-134"),
        (whole[..whole.len() - 2].to_vec(), "GTW-134"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n00".to_vec(), "GTW-134"),
        (b"wait".to_vec(), "GTW-122"),
        (whole, "\"codeOut\":0"),
    ];
    let server = over_upstream(cases.iter().map(|case| case.0.clone()).collect(), "time-limit-ms = 500\n");
    let post = || server.post("/v1/echo", "", r#"{"orderIn":{"article":"screw","pieces":4}}"#);
    for (sent, expected) in cases {
        let answer = post();
        let shown = format!("{} {}", answer.status, answer.text());
        assert!(shown.contains(expected), "{shown} for {}", sent.escape_ascii());
        assert!(answer.status == 200 || shown.starts_with("504 ") && shown.contains("may have performed"), "{shown}");
        assert_eq!(answer.header("retry-after"), None, "{shown}");
    }
    // The listener has ended: the request was not sent.
    let answer = post();
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{}", answer.text());
}

/// The request goes out as its own record, and the answer is the other one.
#[test]
fn an_upstream_answers_with_another_record() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let upstream = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut requests = Vec::new();
        let total = |code: &str, lines: &str| [code.as_bytes(), &[0, 0, 0x12, 0x34, 0x5c], lines.as_bytes()].concat();
        for body in
            [total("00", "2one  two  "), total("08", "1one  "), total("00", "9"), total("00", "3one  two  threeX")]
        {
            requests.push(read(&mut stream).body);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        }
        requests
    });
    let folder = tempfile::tempdir().unwrap();
    let service = format!(
        "copybook = \"ORDER.cpy\"\nrecord = \"ORDER-IN\"\nresponse-copybook = \"RESULT.cpy\"\nencoding = \"ascii\"\n\
         [provider]\nkind = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\n\
         [request]\nkey-style = \"camel\"\n[response]\nkey-style = \"camel\"\n[options]\ninitialize = \"initial\"\n"
    );
    write(folder.path(), &service);
    let server = Server::start(folder);
    let post = || {
        let answer = server.post("/v1/echo", "", r#"{"orderIn":{"article":"screw","pieces":4}}"#);
        format!("{} {}", answer.status, answer.text())
    };
    assert_eq!(post(), r#"200 {"result":{"codeOut":0,"total":123.45,"linesOfIt":2,"lineOfIt":["one","two"]}}"#);
    assert!(post().starts_with("402 "), "the rule looks at the answer");
    // Cut off, and too long.
    for _ in 0..2 {
        let answer = post();
        assert!(answer.starts_with("502 ") && answer.contains("GTW-120"), "{answer}");
    }
    assert_eq!(
        upstream.join().unwrap(),
        [b"screw  000D".to_vec(), b"screw  000D".to_vec(), b"screw  000D".to_vec(), b"screw  000D".to_vec()]
    );
}
