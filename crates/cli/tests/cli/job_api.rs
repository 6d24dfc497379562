//! Jobs over HTTP, on the listener for operators of a running server.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;

pub(crate) struct Server {
    pub(crate) child: Child,
    admin: SocketAddr,
    /// API key of the requests, if there is one.
    key: &'static str,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(world: &World) -> Server {
        Server::start_with(world, &[])
    }

    pub(crate) fn start_with(world: &World, more: &[&str]) -> Server {
        Server::start_as(world, more, ("", ""))
    }

    /// Starts a server with further settings of the listener for operators, and an API key.
    fn start_as(world: &World, more: &[&str], (settings, key): (&str, &'static str)) -> Server {
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        let (api, admin) = (free(), free());
        world.write(
            "quayline.toml",
            format!("[serve]\nlisten = \"{api}\"\n[serve.admin]\nlisten = \"{admin}\"\n{settings}"),
        );
        let child = world.command(["serve", "."]).args(more).stdout(Stdio::null()).spawn().expect("a server");
        let server = Server { child, admin, key };
        let end = Instant::now() + Duration::from_secs(60);
        while server.ask("GET", "/health", b"").is_none_or(|(status, _)| status != 200) {
            assert!(Instant::now() < end, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
        let mut stream = TcpStream::connect(self.admin).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        let key = if self.key.is_empty() { String::new() } else { format!("x-api-key: {}\r\n", self.key) };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{key}content-length: {}\r\n\r\n",
            self.admin,
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
        let status = std::str::from_utf8(&answer[..end]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some((status, answer[end + 4..].to_vec()))
    }

    /// Returns the status and the head of an answer.
    fn head(&self, method: &str, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.admin).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.admin);
        stream.write_all(head.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let head = answer.split("\r\n\r\n").next().unwrap_or_default().replace("\r\n", "\n");
        let status = head.split_ascii_whitespace().nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), head)
    }

    pub(crate) fn json(&self, method: &str, path: &str, body: &Value, status: u16) -> Value {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let (found, text) = self.ask(method, path, &bytes).expect("an answer");
        assert_eq!(found, status, "{method} {path}: {}", text.escape_ascii());
        serde_json::from_slice(&text).expect("JSON")
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.json("GET", path, &Value::Null, 200)
    }

    /// Waits until an execution has ended.
    pub(crate) fn ended(&self, id: u64) -> Value {
        let end = Instant::now() + Duration::from_secs(180);
        loop {
            let shown = self.get(&format!("/batch/jobexecutions/{id}"));
            if !matches!(shown["batchStatus"].as_str(), Some("STARTING" | "STARTED" | "STOPPING")) {
                return shown;
            }
            assert!(Instant::now() < end, "{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub(crate) fn property(name: &str, value: &str) -> String {
    format!("<property name=\"{name}\" value=\"{value}\"/>")
}

pub(crate) fn job(id: &str, inside: &str) -> String {
    format!(
        "<job id=\"{id}\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\">{inside}</step></job>"
    )
}

fn world() -> World {
    let copy = format!(
        "<chunk item-count=\"2\"><reader ref=\"quayline.fileReader\"><properties>{}</properties></reader>\
         <writer ref=\"quayline.fileWriter\"><properties>{}</properties></writer></chunk>",
        property("file", "#{jobParameters['in']}"),
        property("file", "out.txt")
    );
    let wait = format!(
        "<batchlet ref=\"quayline.commandBatchlet\"><properties>{}</properties></batchlet>",
        property("command", "test -e go || exec sleep 600")
    );
    World::with([
        ("in.txt", b"a\nb\nc\n".as_slice()),
        ("jobs/copy.xml", job("copy", &copy).as_bytes()),
        ("jobs/wait.xml", job("wait", &wait).as_bytes()),
        ("jobs/bad.xml", job("bad", "<batchlet ref=\"nobody\"/>").as_bytes()),
    ])
}

pub(crate) fn id(value: &Value) -> u64 {
    value["jobExecutionId"].as_u64().unwrap_or_else(|| panic!("no execution: {value}"))
}

#[test]
fn jobs_are_started_stopped_restarted_listed_and_purged_over_http() {
    let world = world();
    let server = Server::start(&world);
    let jobs = server.get("/batch/jobs");
    let names: Vec<&str> =
        jobs["jobs"].as_array().expect("jobs").iter().filter_map(|job| job["jobXMLName"].as_str()).collect();
    assert_eq!(names, ["bad", "copy", "wait"]);
    assert_eq!(jobs["jobs"][0]["findings"][0]["code"], "JOB-008");

    let start = json!({ "jobXMLName": "copy", "jobParameters": { "in": "in.txt" } });
    let first = id(&server.json("POST", "/batch/jobinstances", &start, 201));
    let shown = server.ended(first);
    assert_eq!(
        (&shown["batchStatus"], &shown["jobParameters"]["in"]),
        (&"COMPLETED".into(), &"in.txt".into()),
        "{shown}"
    );
    assert_eq!(world.read("out.txt"), world.read("in.txt"));
    let steps = server.get(&format!("/batch/jobexecutions/{first}/stepexecutions"));
    assert_eq!(steps["stepExecutions"][0]["metrics"]["READ_COUNT"], 3);
    let (status, log) = server.ask("GET", &format!("/batch/jobexecutions/{first}/joblogs"), b"").expect("a log");
    let log = String::from_utf8(log).expect("UTF-8");
    assert!(status == 200 && log.contains("ends COMPLETED"), "{log}");

    // A long job is stopped by HTTP, and continued by a link of its response.
    let wait = server.json("POST", "/batch/jobinstances", &json!({ "jobXMLName": "wait" }), 201);
    let waiting = id(&wait);
    let stop =
        wait["_links"].as_array().expect("links").iter().find(|link| link["rel"] == "stop").expect("a link").clone();
    server.json("PUT", stop["href"].as_str().expect("a path"), &Value::Null, 200);
    assert_eq!(server.ended(waiting)["batchStatus"], "STOPPED");
    world.write("go", "");
    let again = id(&server.json("PUT", &format!("/batch/jobexecutions/{waiting}?action=restart"), &Value::Null, 200));
    assert_eq!(server.ended(again)["batchStatus"], "COMPLETED");
    let refused = server.json("PUT", &format!("/batch/jobexecutions/{again}?action=restart"), &Value::Null, 409);
    assert_eq!(refused["findings"][0]["code"], "JOB-022");

    // Commands that run beside the server get their answers from the server.
    let listed = world.run("job list");
    assert!(listed.code(0).out().contains("wait") && listed.out().contains("COMPLETED"), "{}", listed.out());
    assert!(world.run(&format!("job show {first}")).code(0).out().contains("execution 1 of job copy"));
    let times = world.run(&format!("job show {first} --times")).code(0).out();
    assert!(
        times.contains("  node: ") && times.contains("seconds: reader 0.") && times.contains(", wait 0."),
        "{times}"
    );
    let ns = &server.get(&format!("/batch/jobexecutions/{first}"))["stepExecutions"][0]["nanoseconds"];
    let of = |name: &str| ns[name].as_u64().unwrap_or_else(|| panic!("no {name}: {ns}"));
    let named: u64 = ["reader", "processor", "writer", "container", "commit", "wait"].into_iter().map(of).sum();
    assert!(named == of("total") && of("checkpoint") <= of("container"), "{ns}");

    let instances = server.get("/batch/jobinstances?jobName=wait");
    assert_eq!(instances["jobInstances"][0]["lastExecutionId"], again);
    let instance = instances["jobInstances"][0]["instanceId"].as_u64().expect("a number");
    assert_eq!(server.get("/batch/jobinstances?pageSize=1&page=1")["jobInstances"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.get("/batch/jobinstances")["jobInstances"].as_array().map(Vec::len), Some(2));
    let removed = server.json("DELETE", &format!("/batch/jobinstances/{instance}"), &Value::Null, 200);
    assert_eq!(removed["executionsRemoved"], 2);
    server.json("GET", &format!("/batch/jobinstances/{instance}"), &Value::Null, 404);

    let (_, metrics) = server.ask("GET", "/metrics", b"").expect("metrics");
    let metrics = String::from_utf8(metrics).expect("UTF-8");
    assert!(metrics.contains("quayline_job_executions_total{status=\"COMPLETED\"} 2"), "{metrics}");
}

/// Returns the relations of links, each with its method and path.
pub(crate) fn links(value: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("GET").to_owned();
    let all = value["_links"].as_array().expect("links").iter();
    all.map(|link| (text(&link["rel"]), text(&link["method"]), text(&link["href"]))).collect()
}

/// Lists have filters and links to other pages; an execution links to each action that its state allows, and every link works.
#[test]
fn lists_have_filters_and_pages_and_links_have_all_actions() {
    let world = world();
    let server = Server::start(&world);
    for day in ["1", "2", "3"] {
        let start = json!({ "jobXMLName": "copy", "jobParameters": { "in": "in.txt", "day": day } });
        server.ended(id(&server.json("POST", "/batch/jobinstances", &start, 201)));
    }
    let start = json!({ "jobXMLName": "copy", "jobParameters": { "in": "nothing.txt", "day": "3" } });
    let failed = server.ended(id(&server.json("POST", "/batch/jobinstances", &start, 201)));
    assert_eq!((id(&failed), &failed["batchStatus"]), (4, &"FAILED".into()));
    let found = |query: &str| -> Vec<u64> {
        let list = server.get(&format!("/batch/jobexecutions?{query}"));
        assert_eq!(list["complete"], true);
        list["jobExecutions"].as_array().expect("executions").iter().map(id).collect()
    };
    assert_eq!(found("batchStatus=FAILED,STOPPED"), [4]);
    assert_eq!(found("jobParameter.day=3"), [4, 3]);
    assert_eq!(found("jobParameter.day=3&batchStatus=COMPLETED&jobName=copy&exitStatus=COMP*"), [3]);
    assert!(found("createTime=2001-01-01:2001-12-31").is_empty());
    assert_eq!(found("createTime=2001-01-01:"), [4, 3, 2, 1]);
    assert!(found("submitter=nobody").is_empty());
    assert_eq!(found("jobInstanceId=2"), [2]);
    assert_eq!(found("jobInstanceId=1,4,9"), [4, 1]);
    assert_eq!(found("jobInstanceId=2:3"), [3, 2]);
    assert_eq!(found("jobInstanceId=%3E2&batchStatus=COMPLETED"), [3]);
    assert_eq!(found("jobInstanceId=%3C2"), [1]);
    assert_eq!(found("sort=createTime"), [1, 2, 3, 4]);
    assert_eq!(found("sort=-batchStatus,-jobInstanceId"), [4, 3, 2, 1]);
    assert_eq!(found("sort=batchStatus,jobInstanceId&pageSize=2"), [1, 2]);
    assert_eq!(found("sort=batchStatus,jobInstanceId&pageSize=2&page=1"), [3, 4]);
    let sorted = server.get("/batch/jobinstances?sort=jobInstanceId&jobInstanceId=2:4");
    let sorted: Vec<_> =
        sorted["jobInstances"].as_array().expect("instances").iter().map(|one| &one["instanceId"]).collect();
    assert_eq!(sorted, [2, 3, 4]);
    let instances = server.get("/batch/jobinstances?batchStatus=FAILED");
    assert_eq!(instances["jobInstances"].as_array().map(Vec::len), Some(1));
    for (query, message) in [
        ("batchStatus=DONE", "is not a batch status"),
        ("createTime=today", "is not a day"),
        ("jobParameter.=3", "unknown parameter"),
        ("jobInstanceId=first", "is not a number or a range"),
        ("sort=age", "cannot be sorted by `age`"),
    ] {
        let refused = server.json("GET", &format!("/batch/jobexecutions?{query}"), &Value::Null, 400);
        assert!(refused["findings"][0]["message"].as_str().is_some_and(|text| text.contains(message)), "{refused}");
    }
    // Follow the links from page to page; they keep the filter.
    let mut page = server.get("/batch/jobexecutions?pageSize=2&jobParameter.in=in.txt");
    let mut seen = Vec::new();
    loop {
        seen.extend(page["jobExecutions"].as_array().expect("executions").iter().map(id));
        let next = links(&page).into_iter().find(|(rel, ..)| rel == "next");
        let Some((_, _, href)) = next else { break };
        page = server.get(&href);
    }
    assert_eq!(seen, [3, 2, 1]);
    let back = links(&page).into_iter().find(|(rel, ..)| rel == "prev").expect("a page before").2;
    assert_eq!(server.get(&back)["jobExecutions"].as_array().map(Vec::len), Some(2));

    let actions = |value: &Value| -> Vec<String> {
        links(value).into_iter().filter(|(_, method, _)| method != "GET").map(|(rel, ..)| rel).collect()
    };
    assert_eq!(actions(&failed), ["restart", "abandon", "purge"]);
    assert_eq!(actions(&server.get("/batch/jobinstances/4")), ["restart", "abandon", "purge"]);
    assert_eq!(actions(&server.get("/batch/jobexecutions/1")), ["purge"]);
    let again = id(&server.json(
        "PUT",
        "/batch/jobexecutions/4?action=restart",
        &json!({ "jobParameters": { "in": "nothing.txt" } }),
        200,
    ));
    let again = server.ended(again);
    assert_eq!(actions(&server.get("/batch/jobexecutions/4")), Vec::<String>::new(), "a later execution continued it");
    for (rel, method, href) in links(&again) {
        if method == "GET" {
            assert_eq!(server.ask("GET", &href, b"").expect("an answer").0, 200, "{rel}");
        }
    }
    let refused = server.json("PUT", "/batch/jobexecutions/4?action=abandon", &Value::Null, 409);
    assert_eq!(refused["findings"][0]["code"], "JOB-033");
    let (_, method, href) = links(&again).into_iter().find(|(rel, ..)| rel == "abandon").expect("a link");
    assert_eq!(server.json(&method, &href, &Value::Null, 200)["batchStatus"], "ABANDONED");
    let (_, method, href) = links(&again).into_iter().find(|(rel, ..)| rel == "purge").expect("a link");
    assert_eq!(server.json(&method, &href, &Value::Null, 200)["executionsRemoved"], 2);
    // A deleted log is not reported as an empty log.
    std::fs::remove_file(world.path("data/job-logs/1.log")).expect("a log");
    let refused = server.json("GET", "/batch/jobexecutions/1/joblogs", &Value::Null, 404);
    let message = refused["findings"][0]["message"].as_str().expect("a message");
    assert!(message.contains("the job log of execution 1 is not in"), "{refused}");
}

/// A partition gives a half away while it runs; the requests of its items go slowly until then.
#[test]
fn a_partition_is_split_over_http() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let is_split = Arc::new(AtomicBool::new(false));
    let fast = Arc::clone(&is_split);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let fast = Arc::clone(&fast);
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                // A request arrives whole: it is short.
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                    if !fast.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_err() {
                        break;
                    }
                }
            });
        }
    });
    let range = property("file", "in.txt")
        + &property("from", "#{partitionPlan['from']}")
        + &property("to", "#{partitionPlan['to']}");
    let list = |text: &str| format!("<properties>{text}</properties>");
    let step = format!(
        "<chunk item-count=\"1\"><reader ref=\"quayline.fileReader\">{}</reader>\
         <processor ref=\"quayline.httpProcessor\">{}</processor><writer ref=\"quayline.fileWriter\">{}</writer></chunk>\
         <partition><mapper ref=\"quayline.fileMapper\">{}</mapper></partition>",
        list(&range),
        list(&(property("url", &format!("http://127.0.0.1:{port}/{{item}}")) + &property("method", "GET"))),
        list(&property("file", "out-#{partitionPlan['number']}.txt")),
        list(&(property("file", "in.txt") + &property("partitions", "1") + &property("threads", "2"))),
    );
    let lines: String = (0..500).map(|number| format!("item{number:04}\n")).collect();
    let world = World::with([("in.txt", lines.as_bytes()), ("jobs/long.xml", job("long", &step).as_bytes())]);
    let server = Server::start(&world);
    let run = id(&server.json("POST", "/batch/jobinstances", &json!({ "jobXMLName": "long" }), 201));
    let begin = Instant::now();
    let link = loop {
        let shown = server.get(&format!("/batch/jobexecutions/{run}"));
        match links(&shown).into_iter().find(|(rel, ..)| rel == "split") {
            Some((_, method, href)) => break (method, href),
            None => assert!(begin.elapsed() < Duration::from_secs(60), "{shown}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(link, ("PUT".to_owned(), format!("/batch/jobexecutions/{run}?action=split&partition={{partition}}")));
    for other in ["partition=99&step=s", "partition=0&step=t"] {
        let path = format!("/batch/jobexecutions/{run}?action=split&{other}");
        let refused = server.json("PUT", &path, &Value::Null, 409);
        assert!(refused["findings"][0]["message"].as_str().is_some_and(|text| text.contains("partition")), "{refused}");
    }
    // The server has the store open and answers the command.
    for (partition, step) in [("99", "s"), ("0", "t")] {
        let refused = world.run(&format!("job split {run} {partition} --step {step} --store data"));
        assert_eq!(refused.code, Some(2));
        assert!(refused.err().contains("error[JOB-024]") && refused.err().contains("partition"), "{}", refused.err());
        assert!(!world.path("data/job-stops").exists(), "no request is left");
    }
    let path = format!("/batch/jobexecutions/{run}?action=split&partition=0&step=s");
    assert_eq!(id(&server.json("PUT", &path, &Value::Null, 200)), run);
    let begin = Instant::now();
    loop {
        let (_, log) = server.ask("GET", &format!("/batch/jobexecutions/{run}/joblogs"), b"").expect("a log");
        let log = String::from_utf8(log).expect("UTF-8");
        if log.contains("partition 0 of step s gives a part to partition 1") {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(120) && !log.contains(" ends "), "{log}");
        std::thread::sleep(Duration::from_millis(50));
    }
    is_split.store(true, Ordering::Relaxed);
    let ended = server.ended(run);
    assert_eq!((&ended["batchStatus"], &ended["stepExecutions"][0]["partitions"]), (&"COMPLETED".into(), &2.into()));
    assert_eq!(ended["stepExecutions"][0]["metrics"]["WRITE_COUNT"], 500);
    let written: usize = ["out-0.txt", "out-1.txt"].iter().map(|name| world.read(name).len()).sum();
    assert_eq!(written, 500 * "ok\n".len());
    let refused = server.json("PUT", &path, &Value::Null, 409);
    assert!(refused["findings"][0]["message"].as_str().is_some_and(|text| text.contains("COMPLETED")), "{refused}");
}

#[test]
fn wrong_requests_for_jobs_say_what_to_send() {
    let world = world();
    let server = Server::start(&world);
    let cases = [
        ("POST", "/batch/jobinstances", "", 400, "the body has no jobXMLName"),
        (
            "POST",
            "/batch/jobinstances",
            "{\"jobXMLName\":\"../../etc/passwd\"}",
            404,
            "the project has no job XML named",
        ),
        ("POST", "/batch/jobinstances", "{\"jobXMLName\":\"bad\"}", 422, "no batchlet is called nobody"),
        ("POST", "/batch/jobinstances", "{\"job\":\"copy\"}", 400, "the member `job` of the body is not known"),
        ("POST", "/batch/jobinstances", "copy", 400, "the body is not JSON"),
        ("GET", "/batch/jobexecutions/99", "", 404, "no job execution has the number 99"),
        ("GET", "/batch/jobexecutions/x", "", 400, "`x` is not the number of a job execution"),
        ("PUT", "/batch/jobexecutions/1?action=fly", "", 400, "the request names no action that can be done"),
        (
            "PUT",
            "/batch/jobexecutions/1?action=restart",
            "{\"jobXMLName\":\"copy\"}",
            400,
            "a restart does not take a jobXMLName",
        ),
        ("PUT", "/batch/jobexecutions/1?action=split", "", 400, "the request names no partition by its number"),
        ("PUT", "/batch/jobexecutions/1?action=split&partition=0", "", 404, "no job execution has the number 1"),
        ("GET", "/batch/jobexecutions?pagesize=3", "", 400, "unknown parameter `pagesize`"),
        ("GET", "/batch/jobexecutions?pageSize=0", "", 400, "`pageSize` is not a number that is allowed"),
    ];
    for (method, path, body, status, message) in cases {
        let (found, text) = server.ask(method, path, body.as_bytes()).expect("an answer");
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(found == status && text.contains(message), "{method} {path}: {found} {text}");
    }
    // The document names each path that answers, and no other.
    let document = server.get("/batch/openapi.json");
    let paths = document["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 15);
    for (path, operations) in paths {
        for method in operations.as_object().expect("operations").keys() {
            let path = path.replace("{instance}", "0").replace("{execution}", "0");
            let (status, text) = server.ask(&method.to_uppercase(), &path, b"").expect("an answer");
            let text = String::from_utf8(text).expect("UTF-8");
            assert!(!text.contains("SRV-014"), "{method} {path}: {status} {text}");
        }
    }
}

/// SIGTERM ends the server; a job that runs stops at its next checkpoint and can be restarted.
#[test]
fn a_server_that_ends_stops_its_jobs() {
    let world = world();
    let mut server = Server::start(&world);
    let waiting = id(&server.json("POST", "/batch/jobinstances", &json!({ "jobXMLName": "wait" }), 201));
    let killed = std::process::Command::new("kill").arg(server.child.id().to_string()).status().expect("kill runs");
    assert!(killed.success());
    assert_eq!(server.child.wait().expect("it ends").code(), Some(0));
    let shown = world.run(&format!("job show {waiting}"));
    assert!(shown.code(0).out().contains("STOPPED"), "{}", shown.out());
    world.write("go", "");
    world.run(&format!("job restart {waiting}")).code(0);
}

/// Events come in order, by page, by stream and on a topic; a stream that continues after a position misses nothing.
#[test]
fn events_are_kept_listed_streamed_and_published() {
    let world = world();
    world.write("jobs/events.toml", "keep = [\"jobs/#\"]\ntopic = \"EVENTS\"\n");
    world.command(["queue", "define", "EVENTS", "--store", "data"]).stdout(Stdio::null()).status().expect("a queue");
    let server = Server::start(&world);
    let start = json!({ "jobXMLName": "copy", "jobParameters": { "in": "in.txt" } });
    let stream = server.stream("/batch/events?topic=jobs/execution/*", "");
    let first = id(&server.json("POST", "/batch/jobinstances", &start, 201));
    server.ended(first);
    let heard = stream.until("batch/jobs/execution/completed");
    let topics: Vec<&str> = heard.iter().map(|(_, topic, _)| topic.as_str()).collect();
    let expected = ["starting", "started", "completed"].map(|what| format!("batch/jobs/execution/{what}"));
    assert_eq!(topics, expected, "{heard:?}");
    assert_eq!(heard[2].2["executionId"], first);

    // All events, a page at a time.
    let mut topics = Vec::new();
    let (mut after, mut positions) = ("0.0".to_owned(), Vec::new());
    loop {
        let page = server.get(&format!("/batch/events?pageSize=3&after={after}"));
        let events = page["events"].as_array().expect("events").clone();
        if events.is_empty() {
            break;
        }
        assert!(events.len() <= 3 && page["removed"] == false);
        after = page["next"].as_str().expect("a position").to_owned();
        for event in events {
            topics.push(event["topic"].as_str().expect("a topic").trim_start_matches("batch/jobs/").to_owned());
            positions.push(event["position"].as_str().expect("a position").to_owned());
        }
    }
    let expected = [
        "instance/submitted",
        "execution/starting",
        "instance/dispatched",
        "execution/started",
        "execution/step/started",
        "execution/step/checkpoint",
        "execution/step/checkpoint",
        "execution/step/completed",
        "execution/completed",
        "instance/completed",
    ];
    assert_eq!(topics, expected);

    // An interrupted stream continues at its position.
    let rest = server.stream("/batch/events", &positions[5]).until("batch/jobs/instance/completed");
    assert_eq!(rest.iter().map(|(id, _, _)| id).collect::<Vec<_>>(), positions[6..].iter().collect::<Vec<_>>());
    let metrics = &rest[0].2["metrics"];
    assert_eq!((&metrics["READ_COUNT"], &metrics["COMMIT_COUNT"]), (&3.into(), &2.into()), "{rest:?}");

    let wrong = server.json("GET", "/batch/events?topic=jobs/nothing", &Value::Null, 400);
    assert!(
        wrong["findings"][0]["hint"].as_str().is_some_and(|hint| hint.contains("jobs/execution/started")),
        "{wrong}"
    );
    assert_eq!(server.ask("GET", "/batch/events?after=yesterday", b"").expect("an answer").0, 400);

    // The command asks the server, which has the store.
    let told =
        world.command(["job", "events", "--store", "data", "--json", "--topic", "jobs/execution/step/#"]).output();
    let told = told.expect("the command").stdout;
    assert_eq!(String::from_utf8(told).expect("UTF-8").lines().count(), 4);
    drop(server);
    let queue =
        |action| world.command(["queue", action, "EVENTS", "--store", "data"]).output().expect("the queue").stdout;
    assert_eq!(queue("browse").split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), 10);
    let message: Value = serde_json::from_slice(&queue("get")).expect("JSON");
    assert_eq!((&message["topic"], &message["executionId"]), (&"batch/jobs/instance/submitted".into(), &first.into()));
}

/// Changes without an engine are events too: a stop in the repository, a killed process, a purge. Quayline also puts them on the topic.
#[test]
fn events_tell_of_stops_kills_and_purges() {
    let world = world();
    world.write("jobs/events.toml", "keep = [\"jobs/instance/#\", \"jobs/execution/failed\"]\ntopic = \"EVENTS\"\n");
    world.command(["queue", "define", "EVENTS", "--store", "data"]).stdout(Stdio::null()).status().expect("a queue");
    let mut server = Server::start(&world);
    let start =
        |server: &Server| id(&server.json("POST", "/batch/jobinstances", &json!({ "jobXMLName": "wait" }), 201));
    let killed = start(&server);
    while server.get(&format!("/batch/jobexecutions/{killed}"))["batchStatus"] != "STARTED" {
        std::thread::sleep(Duration::from_millis(20));
    }
    server.child.kill().expect("it runs");
    server.child.wait().expect("it ends");
    let server = Server::start(&world);
    let stopped = start(&server);
    // A stop before the dispatch is another order of events.
    while server.get(&format!("/batch/jobexecutions/{stopped}"))["batchStatus"] != "STARTED" {
        std::thread::sleep(Duration::from_millis(20));
    }
    server.json("PUT", &format!("/batch/jobexecutions/{stopped}?action=stop"), &Value::Null, 200);
    assert_eq!(server.ended(stopped)["batchStatus"], "STOPPED");
    let last = server.get(&format!("/batch/events?jobExecutionId={stopped}"));
    let instance = last["events"][0]["instanceId"].clone();
    server.json("DELETE", &format!("/batch/jobinstances/{instance}"), &Value::Null, 200);
    let page = server.get("/batch/events?pageSize=100");
    let of = |execution: u64| -> Vec<&str> {
        let events = page["events"].as_array().expect("events").iter();
        let of = events.filter(|event| event["executionId"] == execution);
        of.map(|event| event["topic"].as_str().expect("a topic").trim_start_matches("batch/jobs/")).collect()
    };
    let begun = ["instance/submitted", "instance/dispatched"];
    assert_eq!(of(killed), [begun.as_slice(), &["execution/failed", "instance/failed"]].concat(), "{page}");
    let ended = ["instance/stopping", "instance/stopped", "instance/purged"];
    assert_eq!(of(stopped), [begun.as_slice(), &ended].concat(), "{page}");
    let count = page["events"].as_array().expect("events").len();
    drop(server);
    let on_queue = world.command(["queue", "browse", "EVENTS", "--store", "data"]).output().expect("the queue").stdout;
    assert_eq!(on_queue.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), count);

    // Without the file, no later change is an event.
    std::fs::remove_file(world.path("jobs/events.toml")).expect("the file exists");
    let server = Server::start(&world);
    let purged = start(&server);
    server.json("PUT", &format!("/batch/jobexecutions/{purged}?action=stop"), &Value::Null, 200);
    server.ended(purged);
    let instance = server.get(&format!("/batch/jobexecutions/{purged}/jobinstance"))["instanceId"].clone();
    server.json("DELETE", &format!("/batch/jobinstances/{instance}"), &Value::Null, 200);
    let page = server.get("/batch/events?pageSize=100");
    assert_eq!(page["events"].as_array().map(Vec::len), Some(count), "{page}");
}

/// Submitters start jobs, and see and change only these. Operators see all jobs, and readers change nothing.
#[test]
fn submitters_have_their_own_jobs_only() {
    let world = world();
    let keys: String = [
        ("sue", "key-sue", "clerk"),
        ("tom", "key-tom", "clerk"),
        ("rita", "key-rita", "auditor"),
        ("karl", "key-karl", "operator"),
    ]
    .iter()
    .map(|(name, key, role)| {
        let digest = quayline_server::key_digest(key);
        format!("[[key]]\nid = \"{name}\"\nsha256 = \"{digest}\"\nroles = [\"{role}\"]\n")
    })
    .collect();
    world.write("keys.toml", keys);
    world.write("jobs/events.toml", "keep = [\"jobs/#\"]\n");
    let roles = "read = [\"auditor\"]\noperate = [\"operator\"]\nsubmit = [\"clerk\"]\n[serve.authentication]\napi-keys = \"keys.toml\"\n";
    let mut server = Server::start_as(&world, &[], (roles, "key-sue"));
    let copy = json!({ "jobXMLName": "copy", "jobParameters": { "in": "in.txt" } });
    let of_sue = id(&server.json("POST", "/batch/jobinstances", &copy, 201));
    server.ended(of_sue);
    server.key = "key-tom";
    let of_tom = id(&server.json("POST", "/batch/jobinstances", &json!({ "jobXMLName": "wait" }), 201));
    let instance = server.get(&format!("/batch/jobexecutions/{of_tom}/jobinstance"))["instanceId"].clone();
    let first_step = format!("/batch/stepexecutions/{of_tom}000001");
    let end = Instant::now() + Duration::from_secs(30);
    while server.ask("GET", &first_step, b"").expect("an answer").0 != 200 {
        assert!(Instant::now() < end, "the step of the job does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    // For each submitter: its own jobs, jobs of another submitter, and paths for operators.
    for (key, own, other) in [("key-sue", of_sue, of_tom), ("key-tom", of_tom, of_sue)] {
        server.key = key;
        for list in ["jobexecutions", "jobinstances", "jobexecutions?submitter=sue"] {
            let found = server.get(&format!("/batch/{list}"));
            let (name, id) = match list {
                "jobinstances" => ("jobInstances", "lastExecutionId"),
                _ => ("jobExecutions", "jobExecutionId"),
            };
            let all = found[name].as_array().expect("a list");
            assert_eq!(
                all.iter().map(|one| one[id].clone()).collect::<Vec<_>>(),
                [json!(own)],
                "{key} {list}: {found}"
            );
        }
        for (method, path, status) in [
            ("GET", format!("/batch/jobexecutions/{own}"), 200),
            ("GET", format!("/batch/jobexecutions/{own}/joblogs"), 200),
            ("GET", format!("/batch/jobexecutions/{other}"), 403),
            ("GET", format!("/batch/jobexecutions/{other}/joblogs"), 403),
            ("GET", format!("/batch/jobexecutions/{other}/stepexecutions"), 403),
            ("GET", format!("/batch/stepexecutions/{own}000001"), 200),
            ("GET", format!("/batch/stepexecutions/{other}000001"), 403),
            ("PUT", format!("/batch/jobexecutions/{other}?action=stop"), 403),
            ("GET", "/batch/jobexecutions/999".to_owned(), 404),
            ("GET", "/batch/jobinstances/999".to_owned(), 404),
            ("GET", "/batch/nothing".to_owned(), 404),
            ("GET", "/batch/jobs".to_owned(), 200),
            ("GET", "/batch/events".to_owned(), 403),
            ("GET", "/definitions".to_owned(), 403),
            ("POST", "/reload".to_owned(), 403),
            ("GET", "/store".to_owned(), 403),
        ] {
            let (found, text) = server.ask(method, &path, b"").expect("an answer");
            assert_eq!(found, status, "{key} {method} {path}: {}", text.escape_ascii());
        }
    }
    server.key = "key-rita";
    assert_eq!(server.get("/batch/jobexecutions")["jobExecutions"].as_array().map(Vec::len), Some(2));
    for (method, path) in
        [("POST", "/batch/jobinstances".to_owned()), ("PUT", format!("/batch/jobexecutions/{of_tom}?action=stop"))]
    {
        assert_eq!(server.ask(method, &path, copy.to_string().as_bytes()).expect("an answer").0, 403, "{path}");
    }
    // An operator restarts a job of tom, and the job still belongs to tom.
    server.key = "key-karl";
    let stop = |server: &Server, execution: u64| {
        server.json("PUT", &format!("/batch/jobexecutions/{execution}?action=stop"), &Value::Null, 200);
        assert_eq!(server.ended(execution)["batchStatus"], "STOPPED");
    };
    stop(&server, of_tom);
    let again = id(&server.json("PUT", &format!("/batch/jobexecutions/{of_tom}?action=restart"), &Value::Null, 200));
    server.key = "key-tom";
    stop(&server, again);
    let list = server.get("/batch/jobinstances?submitter=tom");
    assert_eq!(list["jobInstances"][0]["lastExecutionId"], again, "{list}");
    server.json("DELETE", &format!("/batch/jobinstances/{instance}"), &Value::Null, 200);
    server.key = "key-none";
    assert_eq!(server.ask("GET", "/batch/jobs", b"").expect("an answer").0, 401);
}

/// A path that does not exist is a 404 with a finding; another method is a 405 that lists the methods of the path.
#[test]
fn unknown_paths_and_methods_have_findings() {
    let world = world();
    let server = Server::start(&world);
    for path in ["/batch/", "/batch/jobs/copy", "/batch/jobexecutions/1/steps", "/batch/jobinstance"] {
        let found = server.json("GET", path, &Value::Null, 404);
        assert_eq!(found["findings"][0]["code"], "SRV-014", "{found}");
        assert!(found["findings"][0]["hint"].as_str().is_some_and(|hint| hint.contains("/batch/openapi.json")));
    }
    for (method, path, allow) in [
        ("DELETE", "/batch/jobexecutions/1", "GET, PUT, HEAD"),
        ("POST", "/batch/jobs", "GET, HEAD"),
        ("PATCH", "/batch/jobinstances", "GET, POST, HEAD"),
        ("DELETE", "/store", "GET, HEAD"),
    ] {
        let (status, head) = server.head(method, path);
        let line = format!("allow: {allow}");
        assert!(status == 405 && head.lines().any(|found| found == line), "{method} {path}: {head}");
    }
    let first = id(&server.json(
        "POST",
        "/batch/jobinstances",
        &json!({ "jobXMLName": "copy", "jobParameters": { "in": "in.txt" } }),
        201,
    ));
    server.ended(first);
    let instance = server.get(&format!("/batch/jobexecutions/{first}/jobinstance"));
    assert_eq!(instance["lastExecutionId"], first, "{instance}");
    let of = server.get(&format!("/batch/jobinstances/{}/jobexecutions", instance["instanceId"]));
    assert_eq!(of["jobExecutions"].as_array().map(Vec::len), Some(1), "{of}");
    let step = server.get(&format!("/batch/jobexecutions/{first}/stepexecutions/s"));
    assert_eq!(step["stepExecutions"].as_array().map(Vec::len), Some(1), "{step}");
    for (path, status) in [("stepexecutions/none", 404), ("stepexecutions/s?x=1", 400), ("jobinstance?x=1", 400)] {
        server.json("GET", &format!("/batch/jobexecutions/{first}/{path}"), &Value::Null, status);
    }
    server.json("GET", &format!("/batch/jobexecutions/{first}?bogus=1"), &Value::Null, 400);
    let (status, head) = server.head("HEAD", "/batch/jobinstances");
    assert!(status == 200 && head.contains("content-type: application/json"), "{head}");
    // The server has every operation of the document.
    let document = server.get("/batch/openapi.json");
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for method in operations.as_object().expect("operations").keys() {
            let path = path.replace("{instance}", "999").replace("{execution}", "999").replace("{step}", "copy");
            let path = path.replace("{stepExecution}", "999");
            let (_, answer) = server.ask(&method.to_uppercase(), &path, b"").expect("an answer");
            assert!(!answer.windows(7).any(|text| text == b"SRV-014"), "{method} {path}");
        }
    }
}

/// A number is sent as a text, unless it can be written in one way only; a request to stop names an execution that runs.
#[test]
fn parameters_and_stop_requests_mean_what_was_sent() {
    let world = world();
    let server = Server::start(&world);
    let start = |value: &str| {
        let body = format!("{{\"jobXMLName\":\"copy\",\"jobParameters\":{{\"in\":\"in.txt\",\"n\":{value}}}}}");
        server.ask("POST", "/batch/jobinstances", body.as_bytes()).expect("an answer").0
    };
    for value in ["1.10", "1e2", "12345678901234567890123", "-0", "null", "[]"] {
        assert_eq!(start(value), 400, "{value}");
    }
    for value in ["\"1.10\"", "12", "-3", "true"] {
        assert_eq!(start(value), 201, "{value}");
    }
    server.ended(4);
    for (execution, code) in [("999", "JOB-021"), ("4", "JOB-024")] {
        let told = world.command(["job", "stop", execution, "--store", "data"]).output().expect("the command");
        let text = String::from_utf8(told.stderr).expect("UTF-8");
        assert!(!told.status.success() && text.contains(code), "{text}");
    }
    // The number that the request named is the next execution's; it runs to its end.
    world.write("go", b"");
    let next = id(&server.json("POST", "/batch/jobinstances", &json!({ "jobXMLName": "wait" }), 201));
    assert_eq!(server.ended(next)["batchStatus"], "COMPLETED");
}

/// A stream of server-sent events.
struct Stream(std::io::BufReader<TcpStream>);

impl Server {
    fn stream(&self, path: &str, last: &str) -> Stream {
        let mut stream = TcpStream::connect(self.admin).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        let last = if last.is_empty() { String::new() } else { format!("last-event-id: {last}\r\n") };
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\n{last}\r\n", self.admin);
        stream.write_all(head.as_bytes()).expect("a request");
        let mut stream = Stream(std::io::BufReader::new(stream));
        // The first part comes before any event, so that all later events are on the stream.
        while !stream.line().starts_with("retry:") {}
        stream
    }
}

impl Stream {
    fn line(&mut self) -> String {
        let mut line = String::new();
        let count = std::io::BufRead::read_line(&mut self.0, &mut line).expect("a line");
        assert!(count > 0, "the stream ended");
        line
    }

    /// Returns id, topic and data of each event, up to the first with a topic.
    fn until(mut self, topic: &str) -> Vec<(String, String, Value)> {
        let mut heard = Vec::new();
        let (mut id, mut name) = (String::new(), String::new());
        loop {
            let line = self.line();
            if let Some(text) = line.strip_prefix("id: ") {
                text.trim_end().clone_into(&mut id);
            } else if let Some(text) = line.strip_prefix("event: ") {
                text.trim_end().clone_into(&mut name);
            } else if let Some(text) = line.strip_prefix("data: ") {
                heard.push((id.clone(), name.clone(), serde_json::from_str(text).expect("JSON")));
                if name == topic {
                    return heard;
                }
            }
        }
    }
}
