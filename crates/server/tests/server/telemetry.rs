//! Spans and metrics for a collector of OpenTelemetry: a small receiver takes them.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quayline_server::ServeConfig;
use serde_json::Value;

use crate::world::{RECORDS, Server, project, read, wait_for};

/// Path, head and body of each request.
type Taken = Arc<Mutex<Vec<(String, String, Value)>>>;

/// Starts a collector that answers with these statuses in turn, and then always with the last one.
fn collector(statuses: &'static [u16]) -> (SocketAddr, Taken) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, taken) = (listener.local_addr().unwrap(), Taken::default());
    let all = Arc::clone(&taken);
    std::thread::spawn(move || {
        for number in 0.. {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let request = read(&mut stream);
            let path = request.head.split(' ').nth(1).unwrap().to_owned();
            let body = serde_json::from_slice(&request.body).unwrap();
            all.lock().unwrap().push((path, request.head, body));
            let status = statuses[number.min(statuses.len() - 1)];
            let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
        }
    });
    (address, taken)
}

fn served(collector: SocketAddr, more: &str) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let serve = format!(
        "[serve.authentication]\nrequired = false\n[serve.admin]\nlisten = \"{admin}\"\n\
         [serve.otlp]\nurl = \"http://{collector}/\"\n{more}\n"
    );
    project(folder.path(), &serve, RECORDS, "");
    std::fs::write(folder.path().join("admin"), admin.to_string()).unwrap();
    Server::start(folder)
}

fn metric(server: &Server, name: &str) -> u64 {
    let admin: SocketAddr = std::fs::read_to_string(server.folder.path().join("admin")).unwrap().parse().unwrap();
    let mut stream = std::net::TcpStream::connect(admin).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let text = read(&mut stream).text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned));
    line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
}

fn spans(taken: &Taken) -> Vec<Value> {
    let taken = taken.lock().unwrap();
    let bodies = taken.iter().filter(|(path, ..)| path == "/v1/traces").map(|(.., body)| body);
    bodies.flat_map(|body| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()).collect()
}

fn attribute<'v>(of: &'v Value, key: &str) -> &'v Value {
    let all = of["attributes"].as_array().unwrap();
    all.iter().find(|attribute| attribute["key"] == key).map_or(&Value::Null, |found| &found["value"])
}

const PARENT: &str = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";

#[test]
fn requests_are_spans_and_counts_are_metrics() {
    let (address, taken) = collector(&[200]);
    let server = served(
        address,
        "interval-ms = 20\nmetrics-seconds = 1\nheaders = { x-tenant = \"harbour\" }\nservice-name = \"quay\"",
    );
    assert_eq!(server.get("/v1/echo/a", &format!("{PARENT}01\r\n")).status, 200);
    // Its caller does not sample it.
    assert_eq!(server.get("/v1/echo/b", &format!("{PARENT}00\r\n")).status, 200);
    assert_eq!(server.get("/nowhere", "").status, 404);
    wait_for("the spans", || spans(&taken).len() == 2);
    let all = spans(&taken);
    let called = all.iter().find(|span| span["name"] == "GET /v1/echo/{how}").unwrap();
    assert_eq!(
        (&called["traceId"], &called["parentSpanId"]),
        (&"0af7651916cd43dd8448eb211c80319c".into(), &"b7ad6b7169203331".into())
    );
    assert_eq!(
        (called["spanId"].as_str().unwrap().len(), &called["kind"], &called["status"]),
        (16, &2.into(), &Value::Null)
    );
    assert_eq!(attribute(called, "http.route")["stringValue"], "/v1/echo/{how}");
    assert_eq!(attribute(called, "quayline.operation")["stringValue"], "show");
    assert_eq!(attribute(called, "http.response.status_code")["intValue"], "200");
    let time = |name: &str| called[name].as_str().unwrap().parse::<u128>().unwrap();
    let took = time("endTimeUnixNano") - time("startTimeUnixNano");
    assert!((1..10_000_000_000).contains(&took), "{took}");
    let lost = all.iter().find(|span| span["name"] == "GET").unwrap();
    assert_eq!((&lost["parentSpanId"], attribute(lost, "http.route")), (&Value::Null, &Value::Null));
    // Values of parameters are the clients' affair.
    assert!(!all.iter().any(|span| span.to_string().contains("/v1/echo/a")));

    let has_metrics = || taken.lock().unwrap().iter().any(|(path, ..)| path == "/v1/metrics");
    wait_for("the metrics", has_metrics);
    let taken = taken.lock().unwrap();
    let (_, head, body) = taken.iter().find(|(path, ..)| path == "/v1/metrics").unwrap();
    assert!(head.contains("x-tenant: harbour") && head.contains("content-type: application/json"), "{head}");
    let resource = &body["resourceMetrics"][0];
    assert_eq!(attribute(&resource["resource"], "service.name")["stringValue"], "quay");
    let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let named = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    let answers = named("quayline_answers_total");
    assert_eq!((&answers["sum"]["isMonotonic"], &answers["sum"]["aggregationTemporality"]), (&true.into(), &2.into()));
    assert_eq!(answers["sum"]["dataPoints"][0]["asInt"], "2");
    let times = &named("quayline_request_seconds")["histogram"]["dataPoints"];
    let times =
        times.as_array().unwrap().iter().find(|point| attribute(point, "operation")["stringValue"] == "show").unwrap();
    let (bounds, counts) = (times["explicitBounds"].as_array().unwrap(), times["bucketCounts"].as_array().unwrap());
    assert_eq!((counts.len(), &times["count"]), (bounds.len() + 1, &"2".into()));
    let sum: u64 = counts.iter().map(|count| count.as_str().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 2);
    assert_eq!(named("quayline_connections")["gauge"]["dataPoints"].as_array().unwrap().len(), 1);
}

/// Spans that cannot be sent now are sent later. Spans that a collector rejects are dropped and counted. The rest is sent when the server stops.
#[test]
fn a_collector_that_fails_costs_spans_and_no_request() {
    let (address, taken) = collector(&[503, 400, 200]);
    let server = served(address, "interval-ms = 20\nmetrics-seconds = 0");
    assert_eq!(server.get("/v1/echo/a", "").status, 200);
    wait_for("a second attempt", || taken.lock().unwrap().len() == 2);
    wait_for("the count", || metric(&server, "quayline_otlp_spans_dropped_total") == 1);
    assert_eq!(metric(&server, "quayline_otlp_failures_total"), 2);
    let again = spans(&taken);
    assert_eq!(again[0], again[1], "the same span");
    server.has_logged("does not take telemetry: it answered 503");
    assert_eq!(server.get("/v1/echo/a", "").status, 200);
    wait_for("the next span", || metric(&server, "quayline_otlp_spans_total") == 1);
    server.has_logged("answers again");
}

/// With a collector that accepts connections and never answers, the queue fills to its limit, and requests continue.
#[test]
fn a_collector_that_hangs_holds_no_request_and_no_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut server =
        served(address, "interval-ms = 20\nmetrics-seconds = 0\nqueue = 3\nbatch = 2\ntime-limit-ms = 500");
    let began = Instant::now();
    for _ in 0..50 {
        assert_eq!(server.get("/v1/echo/a", "").status, 200);
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // A batch on its way and three that wait.
    wait_for("the drops", || metric(&server, "quayline_otlp_spans_dropped_total") >= 40);
    assert_eq!(metric(&server, "quayline_otlp_spans_total"), 0);
    let stopped = Instant::now();
    server.signal("-TERM");
    server.process.wait().unwrap();
    assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
    // None of the 50 is missing in the count.
    server.has_logged("50 spans were not sent to");
}

/// Spans that wait for their batch when the server stops.
#[test]
fn what_waits_is_sent_when_the_server_stops() {
    let (address, taken) = collector(&[200]);
    let mut server = served(address, "interval-ms = 3600000\nmetrics-seconds = 3600");
    assert_eq!(server.get("/v1/echo/a", "").status, 200);
    server.signal("-TERM");
    server.process.wait().unwrap();
    assert_eq!(spans(&taken).len(), 1);
    assert!(taken.lock().unwrap().iter().any(|(path, ..)| path == "/v1/metrics"), "the last counts");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (settings, expected) in [
        ("url = \"http://collector.example:4318\"", "SRV-003"),
        ("url = \"ftp://127.0.0.1\"", "this is not a URL of a collector"),
        ("url = \"http://127.0.0.1\"\nsample = 1.5", "write a number from 0 to 1"),
        ("url = \"http://127.0.0.1\"\nqueue = 0", "write 1 to 1000000"),
        ("url = \"http://127.0.0.1\"\nbatch = 10001", "write 1 to 10000"),
        ("url = \"http://127.0.0.1\"\ninterval-ms = 0", "leave the key out"),
        ("url = \"https://127.0.0.1\"\nauthorities = \"absent.pem\"", "SRV-004"),
        (
            "url = \"http://127.0.0.1\"\nheaders = { a = \"${QUAYLINE_TEST_ABSENT}\" }",
            "the environment has no QUAYLINE_TEST_ABSENT",
        ),
        ("url = \"http://127.0.0.1\"\nsampel = 1", "SRV-001"),
    ] {
        std::fs::write(folder.path().join("quayline.toml"), format!("[serve.otlp]\n{settings}\n")).unwrap();
        let Err(findings) = ServeConfig::load(folder.path()) else { panic!("nothing was found: {settings}") };
        let text = findings.to_string();
        assert!(text.contains(expected) && text.contains("hint: "), "{expected} is not in\n{text}");
    }
    let open = "[serve.otlp]\nurl = \"http://collector.example:4318\"\nplain-text = true\nsample = 0.1\n";
    std::fs::write(folder.path().join("quayline.toml"), open).unwrap();
    assert!(ServeConfig::load(folder.path()).is_ok());
}
