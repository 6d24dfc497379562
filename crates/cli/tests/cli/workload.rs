//! Classes of work of a running server: intervals, the component report, advice, alerts, metrics.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;

/// A server with an API, a job and intervals of five seconds.
struct Server {
    child: Child,
    api: SocketAddr,
    admin: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(world: &World, settings: &str) -> Server {
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        let (api, admin) = (free(), free());
        world.write(
            "quayline.toml",
            format!(
                "[serve]\nlisten = \"{api}\"\n[serve.authentication]\nrequired = false\n[serve.admin]\nlisten = \"{admin}\"\n{settings}"
            ),
        );
        let log = std::fs::File::create(world.path("server.log")).expect("a log");
        let child = world.command(["serve", "."]).stdout(Stdio::null()).stderr(log).spawn().expect("a server");
        let server = Server { child, api, admin };
        let end = Instant::now() + Duration::from_secs(60);
        while server.ask(admin, "GET", "/health", "").is_none_or(|(status, _)| status != 200) {
            let log = world.read("server.log").escape_ascii().to_string();
            assert!(Instant::now() < end, "the server does not answer: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn ask(&self, address: SocketAddr, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split_ascii_whitespace().nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// Asks the operation until an interval that has requests and items has ended.
    fn worked(&self) -> Value {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            for _ in 0..50 {
                let (status, body) = self.ask(self.api, "GET", "/v/x", "").expect("an answer");
                assert_eq!(status, 200, "{body}");
            }
            let (status, text) = self.ask(self.admin, "GET", "/intervals?last=5", "").expect("an answer");
            assert_eq!(status, 200, "{text}");
            let all: Value = serde_json::from_str(&text).expect("JSON");
            let found = all["intervals"].as_array().expect("a list").iter().find(|interval| {
                let class = |name: &str| {
                    interval["classes"].as_array().expect("a list").iter().find(|class| class["name"] == name)
                };
                class("api").is_some_and(|api| api["count"].as_u64() > Some(0))
                    && class("nightly").is_some_and(|nightly| nightly["count"].as_u64() > Some(0))
            });
            if let Some(found) = found {
                return found.clone();
            }
            assert!(Instant::now() < end, "{all}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn world() -> World {
    let job = "<job id=\"copy\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><chunk item-count=\"100\">\
        <reader ref=\"quayline.fileReader\"><properties><property name=\"file\" value=\"in.txt\"/></properties></reader>\
        <writer ref=\"quayline.fileWriter\"><properties><property name=\"file\" value=\"out.txt\"/></properties></writer></chunk></step></job>";
    let lines = "a line of a file\n".repeat(20_000);
    World::with([
        ("in.txt", lines.as_bytes()),
        ("jobs/copy.xml", job.as_bytes()),
        ("a.cpy", b"       01 A.\n          05 T PIC X(4).\n"),
        ("a.dat", b"good"),
        (
            "services/a.toml",
            b"copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"a.dat\"\n",
        ),
        (
            "apis/a.toml",
            b"base-path = \"/v\"\n[[operation]]\nid = \"get\"\nmethod = \"GET\"\npath = \"/x\"\nservice = \"a\"\n",
        ),
    ])
}

const SETTINGS: &str = "[workload]\ninterval-seconds = 5\n\
    [[workload.class]]\nname = \"nightly\"\nmembers = [\"job:c*\"]\nentitlement-percent = 60\nthreshold-percent = 0.001\n\
    [[workload.alert]]\nname = \"any-work\"\nclass = \"api\"\nmeasure = \"rate\"\nabove = 0.1\nactions = [\"log\", \"command:alert.sh\"]\n";

fn start_job(server: &Server) {
    let start = json!({ "jobXMLName": "copy" }).to_string();
    let (status, answer) = server.ask(server.admin, "POST", "/batch/jobinstances", &start).expect("an answer");
    assert_eq!(status, 201, "{answer}");
}

#[test]
fn a_server_collects_what_each_class_did_and_reports_it() {
    let world = world();
    world.write("alert.sh", "#!/bin/sh\ncat > alert.json.new && mv alert.json.new alert.json\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let script = world.path("alert.sh");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let mut server = Server::start(&world, SETTINGS);
    start_job(&server);
    let interval = server.worked();
    let class = |name: &str| {
        let classes = interval["classes"].as_array().expect("a list");
        classes.iter().find(|class| class["name"] == name).unwrap_or_else(|| panic!("no {name}: {interval}")).clone()
    };
    let (api, nightly) = (class("api"), class("nightly"));
    assert!(api["wall_s"].as_f64() > Some(0.0) && api["times"]["p95_s"].as_f64() > Some(0.0), "{api}");
    assert_eq!((&api["members"][0]["name"], &nightly["members"][0]["name"]), (&"api:get".into(), &"job:copy".into()));
    assert!(api["cpu_s"].as_f64() > Some(0.0) && nightly["cpu_s"].as_f64() > Some(0.0), "{interval}");
    // Any second of work is above a hundred-thousandth of the processors.
    assert!(nightly["above_s"].as_f64() > Some(0.0) && nightly["commits"].as_u64() > Some(0), "{nightly}");
    let (cpu, rest) = (interval["cpu_s"].as_f64(), interval["unaccounted_cpu_s"].as_f64());
    println!("CPU of the interval {cpu:?} s, in no class {rest:?} s");

    // Inputs of the advice rules: a connection for each request here, two threads or more, the store's counts.
    let (counted, seen) = (&interval["counted"], &interval["seen"]);
    assert!(counted["connections"].as_f64() > Some(0.0) && counted["lookups"].is_number(), "{interval}");
    assert!(seen["memory-free"]["last"].as_f64() > Some(0.0) && seen["operator-listener"]["last"] == 1.0, "{interval}");
    assert!(nightly["members"][0]["checkpoint_s"].as_f64() > Some(0.0), "{nightly}");

    let admin = server.admin.to_string();
    let shown = world.run(&format!("report component --admin {admin} --report work"));
    let out = shown.out();
    assert!(matches!(shown.code, Some(0 | 6)), "{}", shown.err());
    for part in
        ["System", "Component", "Classes by interval", "Operations, flows and jobs", "job:copy", "api:get", "nightly"]
    {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
    let page = String::from_utf8(world.read("work.html")).expect("UTF-8");
    assert!(page.contains("Component report") && page.len() < 300_000);
    assert!(String::from_utf8(world.read("work.csv")).expect("UTF-8").contains("nightly"));
    let kept = world.run(&format!("report component --admin {admin} --json")).out();
    world.write("kept.json", &kept);
    let value: Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(value["schema"], "quayline.intervals/1");

    // The advice for the server, and for its job alone.
    let advice = world.run(&format!("advise --admin {admin}")).code(0).out();
    assert!(advice.contains("run-too-short") && advice.contains("measured-time"), "{advice}");
    // Each request had a separate connection, without TLS.
    assert!(advice.contains("short-connections"), "{advice}");
    let judged = advice.lines().find_map(|line| line.strip_suffix("get theirs")).expect("the rules that had values");
    let judged: usize = judged.split(' ').next().and_then(|count| count.parse().ok()).expect("a number");
    assert!(judged >= 20, "{advice}");
    let advice = world.run("advise --intervals kept.json --class job:copy --json").code(0).out();
    let advice: Value = serde_json::from_str(&advice).expect("JSON");
    assert_eq!(advice["schema"], "quayline.advice/1");
    let predicted =
        world.run("predict work jobs/copy.xml --intervals kept.json --workers 1,2 --items 20000 --json").code(0).out();
    let predicted: Value = serde_json::from_str(&predicted).expect("JSON");
    assert_eq!((&predicted["schema"], &predicted["name"]), (&"quayline.work-prediction/1".into(), &"job:copy".into()));
    let elapsed = |at: usize| predicted["predictions"][at]["elapsed_s"].as_f64().expect("a time");
    assert!(elapsed(0) > elapsed(1) && elapsed(1) > 0.0, "{predicted}");
    let text = world
        .run("predict work --member api:get --intervals kept.json --workers 10 --think 50ms --faster 2")
        .code(0)
        .out();
    assert!(text.contains("processors") && text.contains("Bottleneck: processors"), "{text}");
    // Percentiles ascend from one row to the next, and the objectives have their largest number of workers and the date of exhaustion.
    let asked = "predict work --member api:get --intervals kept.json --think 50ms";
    let answer = world.run(&format!("{asked} --workers 1,10 --growth 10% --from 2026-12-01 --json")).code(0).out();
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    for row in answer["predictions"].as_array().expect("rows") {
        let times = ["p50_s", "p95_s", "p99_s"].map(|name| row[name].as_f64().expect("a time"));
        assert!(times[0] > 0.0 && times[0] < times[1] && times[1] < times[2], "{row}");
    }
    assert!(answer["workers_max"].as_u64().is_some_and(|most| most > 10), "{answer}");
    assert!(answer["exhausted_months"].as_f64().is_some_and(|months| months > 0.0), "{answer}");
    assert!(answer["exhausted"].as_str().is_some_and(|date| date > "2026-12-01"), "{answer}");
    let most = &answer["workers_max"];
    let text = world.run(&format!("{asked} --workers 10 --growth 10% --from 2026-12-01")).code(0).out();
    assert!(text.contains(&format!("Workers within the objectives: {most}\nExhausted: 20")), "{text}");
    assert!(text.contains("p50            p95            p99"), "{text}");
    // Nothing answers within a nanosecond.
    let missed = world.run(&format!("{asked} --workers 10 --p95-max 1ns"));
    assert!(missed.code(1).err().contains("10 workers miss the objectives: 95th percentile "), "{}", missed.err());
    let refused = world.run("predict work jobs/copy.xml --intervals kept.json --growth 10%").code(2).err();
    assert!(refused.contains("objectives and --growth do not apply to the steps of a job"), "{refused}");
    // Regression: `--param` had no effect without the definition of a job.
    for what in ["--member api:get --intervals kept.json", "flows/a.toml --intervals kept.json", "--profile p.json"] {
        let refused = world.run(&format!("predict work {what} --param day=1")).code(2).err();
        assert!(refused.contains("--param applies only to the definition of a job"), "{what}: {refused}");
    }
    let unknown = world.run("predict work --member api:git --intervals kept.json").code(2).err();
    assert!(unknown.contains("CAP-016") && unknown.contains("did you mean `api:get`?"), "{unknown}");
    let unknown = world.run("advise --intervals kept.json --class job:cop").code(2).err();
    assert!(unknown.contains("CAP-001") && unknown.contains("did you mean `job:copy`?"), "{unknown}");

    let (_, metrics) = server.ask(server.admin, "GET", "/metrics", "").expect("metrics");
    for line in [
        "quayline_class_transactions_total{class=\"nightly\"} ",
        "quayline_alert{alert=\"any-work\"} ",
        "quayline_tls_handshakes_total{kind=\"full\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    let end = Instant::now() + Duration::from_secs(20);
    while !world.path("alert.json").exists() {
        assert!(Instant::now() < end, "{}", world.read("server.log").escape_ascii());
        std::thread::sleep(Duration::from_millis(50));
    }
    let message: Value = serde_json::from_slice(&world.read("alert.json")).expect("JSON");
    assert_eq!(
        (&message["alert"], &message["state"], &message["measure"]),
        (&"any-work".into(), &"begins".into(), &"rate".into())
    );
    let log = String::from_utf8(world.read("server.log")).expect("UTF-8");
    assert_eq!(log.matches("alert any-work begins").count(), 1, "{log}");

    // After the end the store has the intervals.
    let terminated = std::process::Command::new("kill").arg(server.child.id().to_string()).status().expect("kill");
    assert!(terminated.success() && server.child.wait().expect("an end").success());
    let stored = world.run("report component --store data --json").out();
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    let begins = |value: &Value| -> Vec<u64> {
        value["intervals"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|interval| interval["begin_ms"].as_u64())
            .collect()
    };
    assert!(begins(&value).iter().all(|begin| begins(&stored).contains(begin)), "{stored}");
    let file = world.run("report component --intervals kept.json").out();
    assert!(file.contains("job:copy"), "{file}");
}

#[test]
fn what_has_no_intervals_says_so_with_a_code() {
    let world = world();
    world.write("other.json", "{\"schema\":\"quayline.intervals/2\",\"intervals\":[]}");
    let err = world.run("report component --intervals other.json").code(2).err();
    assert!(err.contains("CAP-016") && err.contains("expected `quayline.intervals/1`"), "{err}");
    world.write("empty.json", "{\"schema\":\"quayline.intervals/1\",\"intervals\":[]}");
    let ran = world.run("report component --intervals empty.json");
    assert!(ran.err().contains("no interval is collected yet") && ran.code != Some(0), "{}", ran.err());
    world.write("quayline.toml", "[workload]\ninterval-seconds = 1\n[[workload.class]]\nname = \"x\"\n");
    let err = world.run("serve . --check").code(2).err();
    assert!(
        err.contains("SRV-003") && err.contains("workload.interval-seconds") && err.contains("quayline.toml:2"),
        "{err}"
    );
    assert!(err.contains("the class `x` has no members"), "{err}");
}

/// A job without a server: its cost is written to a file, from which each of its steps is predicted.
#[test]
fn a_run_of_a_job_predicts_each_of_its_steps() {
    let chunk = |id: &str, to: &str| {
        format!(
            "<step id=\"{id}\"{to}><chunk item-count=\"100\"><reader ref=\"quayline.fileReader\"><properties><property name=\"file\" value=\"in.txt\"/>\
             </properties></reader><writer ref=\"quayline.fileWriter\"><properties><property name=\"file\" value=\"{id}.txt\"/></properties></writer></chunk></step>"
        )
    };
    let job = |steps: &str| {
        format!("<job id=\"two\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">{steps}</job>")
    };
    let split = format!(
        "<split id=\"p\" next=\"last\"><flow id=\"fa\">{}</flow><flow id=\"fb\">{}</flow></split>",
        chunk("a", ""),
        chunk("b", "")
    );
    let steps = format!("{split}{}", chunk("last", ""));
    let lines = "a line of a file\n".repeat(20_000);
    let world = World::with([("in.txt", lines.as_bytes()), ("jobs/two.xml", job(&steps).as_bytes())]);
    world.run("job start jobs/two.xml --intervals run.json").code(0);
    let predict = |file: &str, more: &str| -> Value {
        let out = world.run(&format!("predict work {file} --intervals run.json --json {more}")).code(0).out();
        serde_json::from_str(&out).expect("JSON")
    };
    let answer = predict("jobs/two.xml", "--items 1000000 --workers 1,8");
    let names: Vec<&str> =
        answer["steps"].as_array().expect("steps").iter().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!((names, &answer["not_measured"]), (vec!["a", "b", "last"], &json!([])), "{answer}");
    for step in answer["steps"].as_array().expect("steps") {
        let demand = |name: &str| step["demands"][name].as_f64().expect("a time");
        assert!(demand("cpu_s") > 0.0 && step["demands"]["transactions"].as_u64() >= Some(20_000), "{step}");
    }
    let row = |at: usize| &answer["predictions"][at];
    let time = |row: &Value, step: usize, name: &str| row["steps"][step][name].as_f64().expect("a time");
    // Both flows of the split begin at once, and the last step when both have ended.
    assert_eq!((time(row(0), 0, "begin_s"), time(row(0), 1, "begin_s")), (0.0, 0.0));
    let split_ends = time(row(0), 0, "end_s").max(time(row(0), 1, "end_s"));
    assert!(
        (time(row(0), 2, "begin_s") - split_ends).abs() < 1e-9 && time(row(0), 2, "end_s") > split_ends,
        "{answer}"
    );
    assert!(row(0)["elapsed_s"].as_f64() > row(1)["elapsed_s"].as_f64(), "{answer}");
    let contended = predict("jobs/two.xml", "--items 1000000 --contended");
    assert!(contended["predictions"][0]["elapsed_s"].as_f64() >= row(0)["elapsed_s"].as_f64(), "{contended}");

    // The prediction is kept, and scored against measurements: half of its throughput is a large error.
    assert_eq!(predict("jobs/two.xml", "--items 1000000 --workers 1,8 --keep kept.json"), answer);
    let measured = |factor: f64| {
        let rate = |at: usize| factor * row(at)["throughput_per_s"].as_f64().expect("a rate");
        format!(
            "[[measured]]\nworkers = 1\nthroughput = {}\n[[measured]]\nworkers = 8\nthroughput = {}\n",
            rate(0),
            rate(1)
        )
    };
    world.write("half.toml", measured(0.5)).write("near.toml", measured(1.02));
    assert!(world.run("predict audit kept.json half.toml").code(5).err().contains("100.0 % off in throughput"));
    let near = world.run("predict audit kept.json near.toml --response-tolerance 100000%").code(0).out();
    assert!(near.contains("Mean absolute error: throughput 2.0 %"), "{near}");

    // A step that did not run is named, and so is a removed one.
    world.write("jobs/other.xml", job(&format!("{}{}", chunk("a", " next=\"new\""), chunk("new", ""))));
    let ran = world.run("predict work jobs/other.xml --intervals run.json --items 1000");
    let err = ran.code(0).err();
    assert!(
        err.contains("step new was not measured") && err.contains("a step last that the job does not have"),
        "{err}"
    );
    assert!(ran.out().contains("a ") && ran.out().contains("Steps as defined"), "{}", ran.out());
    let refused = world.run("predict work jobs/two.xml --intervals run.json --think 1s").code(2).err();
    assert!(refused.contains("--think does not apply to a job"), "{refused}");

    // Its class waited for the disk: files that are read, and output that is made durable.
    let run = String::from_utf8(world.read("run.json")).expect("UTF-8");
    let device_s = |line: &str| -> f64 {
        let interval: Value = serde_json::from_str(line).expect("JSON");
        let classes = interval["classes"].as_array().expect("classes");
        classes.iter().filter_map(|class| class["waits"]["device_s"].as_f64()).sum()
    };
    let device: f64 = run.lines().map(device_s).sum();
    assert!(device > 0.0, "{run}");

    // The file takes more runs, and no other content.
    world.run("job start jobs/two.xml --intervals run.json -p run=2").code(0);
    let twice = predict("jobs/two.xml", "");
    assert!(twice["steps"][2]["demands"]["transactions"].as_u64() >= Some(40_000), "{twice}");
    let refused = world.run("job start jobs/two.xml --intervals in.txt -p run=3").code(2).err();
    assert!(refused.contains("in.txt does not hold intervals"), "{refused}");
    assert!(world.run("report component --intervals run.json").out().contains("job:two"));
}

/// An API file, with its services, decides which station limits; the intervals have only the demands.
#[test]
fn an_api_is_predicted_from_its_operations_and_their_providers() {
    let service = |provider: &str| format!("copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\n{provider}");
    let operation = |id: &str, service: &str| {
        format!("[[operation]]\nid = \"{id}\"\nmethod = \"GET\"\npath = \"/{id}\"\nservice = \"{service}\"\n")
    };
    let canned = service("kind = \"canned\"\nfile = \"a.dat\"\n");
    let base = |connections: u32| {
        service(&format!(
            "kind = \"sql\"\ndatabase = \"d\"\nuser = \"u\"\nquery = \"select 'x' as t\"\nconnections = {connections}\n"
        ))
    };
    let api =
        format!("base-path = \"/v\"\n{}{}{}", operation("get", "a"), operation("ask", "b"), operation("new", "a"));
    let member = |name: &str, count: u64, wall: f64, cpu: f64| json!({ "name": name, "count": count, "failed": 0, "wall_s": wall, "cpu_s": cpu });
    let class = json!({
        "name": "api", "count": 4000, "failed": 0, "commits": 0, "wall_s": 13.0, "cpu_s": 4.0, "helper_cpu_s": 0.0,
        "run_queue_s": 0.0, "held_s": 0.0, "above_s": 0.0, "above_cpu_s": 0.0, "band": 1,
        "members": [member("api:get", 3000, 3.0, 3.0), member("api:ask", 1000, 10.0, 1.0)],
    });
    let interval = json!({
        "begin_ms": 0, "seconds": 60.0, "processors": 4, "cpu_s": 4.0, "helper_cpu_s": 0.0, "other_cpu_s": 0.0,
        "collector_cpu_s": 0.0, "unaccounted_cpu_s": 0.0, "handshakes_full": 0, "handshakes_resumed": 0,
        "definitions_found": 0, "definitions_missed": 0, "classes": [class],
        "seen": { "listener-threads": { "first": 2.0, "last": 2.0, "peak": 2.0 } },
    });
    let intervals = json!({ "schema": "quayline.intervals/1", "intervals": [interval] }).to_string();
    let world = World::with([
        ("a.cpy", b"       01 A.\n          05 T PIC X(4).\n".as_slice()),
        ("a.dat", b"good"),
        ("services/a.toml", canned.as_bytes()),
        ("apis/a.toml", api.as_bytes()),
        ("run.json", intervals.as_bytes()),
    ]);
    let predict = |connections: u32, more: &str| {
        world.write("services/b.toml", base(connections));
        world.run(&format!("predict work apis/a.toml --intervals run.json {more}"))
    };
    let most = |connections: u32| {
        let out = predict(connections, "--users 1,2000 --json").code(0).out();
        let answer: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(
            answer["demands"][1]["response_s"][0].as_f64().map(|s| (s * 1e6).round()),
            Some(10_000.0),
            "{answer}"
        );
        assert_eq!(answer["demands"][1]["share"], json!(0.25), "{answer}");
        (answer["predictions"][1]["throughput_per_s"].as_f64().expect("a rate"), answer["bottleneck"].clone())
    };
    // A request of four asks the database for 9 ms; two threads have `connections` each. Processors bear 4 / 1 ms.
    for (connections, expected, bottleneck) in
        [(1, 4.0 * 2.0 / 0.009, "database b"), (3, 4.0 * 6.0 / 0.009, "database b"), (8, 4_000.0, "processors")]
    {
        let (found, limits) = most(connections);
        assert!((found / expected - 1.0).abs() < 0.01, "{connections}: {found} and not {expected}");
        assert_eq!(limits, bottleneck);
    }
    let run = predict(1, "--users 500 --think 500ms --report kept");
    let (out, err) = (run.code(0).out(), run.err());
    assert!(
        out.contains("database b") && out.contains("mean response by operation") && out.contains("api:ask"),
        "{out}"
    );
    assert!(err.contains("operation api:new was not measured"), "{err}");
    let alone = predict(1, "--member api:get --users 2000").code(0).out();
    assert!(!alone.contains("api:ask") && alone.contains("Bottleneck: processors"), "{alone}");

    let refused = predict(1, "--items 5").code(2).err();
    assert!(refused.contains("--items does not apply to an API"), "{refused}");
    let unknown = predict(1, "--member api:new").code(2).err();
    assert!(unknown.contains("no interval has a transaction of `api:new`"), "{unknown}");
    let refused = world.run("predict work apis/b.toml --intervals run.json").code(2).err();
    assert!(refused.contains("apis/b.toml is not an API file of a project"), "{refused}");
}

/// Answers each request with a record after a delay, which the test can change.
struct SlowService {
    address: SocketAddr,
    delay_ms: Arc<AtomicU64>,
}

impl SlowService {
    fn start() -> SlowService {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let delay_ms = Arc::new(AtomicU64::new(200));
        let delay = Arc::clone(&delay_ms);
        // The threads end with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let delay = Arc::clone(&delay);
                std::thread::spawn(move || SlowService::answer(stream, &delay));
            }
        });
        SlowService { address, delay_ms }
    }

    /// Answers the requests of a connection. Each has a record of four bytes.
    fn answer(mut stream: TcpStream, delay_ms: &AtomicU64) {
        let mut request = Vec::new();
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut bytes) {
            request.extend_from_slice(&bytes[..read]);
            let head = request.windows(4).position(|four| four == b"\r\n\r\n");
            if head.is_some_and(|head| request.len() >= head + 8) {
                request.clear();
                std::thread::sleep(Duration::from_millis(delay_ms.load(Ordering::Relaxed)));
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood";
                if stream.write_all(answer).is_err() {
                    return;
                }
            }
        }
    }
}

/// A prediction for two operations that wait 200 ms for another system is kept. It is compared with the intervals of the running server at other
/// loads, and again after the other system has become slower.
#[test]
fn a_kept_prediction_is_scored_by_the_intervals_that_the_server_collects() {
    let service = SlowService::start();
    let world = world();
    let provider = format!("kind = \"http\"\nurl = \"http://{}/\"\n", service.address);
    world.write("services/b.toml", format!("copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\n{provider}"));
    let operation =
        |id: &str| format!("[[operation]]\nid = \"{id}\"\nmethod = \"GET\"\npath = \"/{id}\"\nservice = \"b\"\n");
    world.write("apis/b.toml", format!("base-path = \"/w\"\n{}{}", operation("ask"), operation("order")));
    let server = Server::start(&world, "[workload]\ninterval-seconds = 5\n");
    let admin = server.admin.to_string();

    // Loads the server with users without think time until an interval begins and ends under the load. Returns the number of intervals.
    let loaded = |users: usize| -> usize {
        let done = AtomicBool::new(false);
        let ended = || {
            let (_, text) = server.ask(server.admin, "GET", "/intervals?last=100", "").expect("an answer");
            let all: Value = serde_json::from_str(&text).expect("JSON");
            all["intervals"].as_array().expect("a list").len()
        };
        std::thread::scope(|scope| {
            for user in 0..users {
                let path = if user % 2 == 0 { "/w/ask" } else { "/w/order" };
                let (server, done) = (&server, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        let (status, body) = server.ask(server.api, "GET", path, "").expect("an answer");
                        assert_eq!(status, 200, "{body}");
                    }
                });
            }
            let (before, end) = (ended(), Instant::now() + Duration::from_secs(60));
            // The interval at the begin of the load is not all under it.
            while ended() < before + 2 && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(100));
            }
            done.store(true, Ordering::Relaxed);
            ended() - before
        })
    };
    assert!(loaded(2) >= 2, "{}", world.read("server.log").escape_ascii());
    world.run(&format!("predict work apis/b.toml --users 1,2,4,8 --admin {admin} --keep kept.json")).code(0);
    let kept: Value = serde_json::from_slice(&world.read("kept.json")).expect("JSON");
    let response = kept["predictions"][0]["response_s"].as_f64().expect("a time");
    assert!(response > 0.15, "the other system alone takes 200 ms: {kept}");

    // Nearly all of the response time is a wait of the class for the other system.
    let (_, text) = server.ask(server.admin, "GET", "/intervals?last=1", "").expect("an answer");
    let interval: Value = serde_json::from_str::<Value>(&text).expect("JSON")["intervals"][0].clone();
    let classes = interval["classes"].as_array().expect("classes");
    let api = classes.iter().find(|class| class["name"] == "api").expect("the class");
    let (external, wall) = (api["waits"]["external_s"].as_f64().unwrap_or(0.0), api["wall_s"].as_f64().unwrap_or(0.0));
    assert!(external > 0.5 * wall && external <= 1.01 * wall && wall > 1.0, "{interval}");
    let metrics = server.ask(server.admin, "GET", "/metrics", "").expect("metrics").1;
    let family = "quayline_class_wait_seconds_total{class=\"api\",reason=\"external\"} ";
    let total = metrics.lines().find_map(|line| line.strip_prefix(family)?.parse::<f64>().ok());
    assert!(total.is_some_and(|total| total >= external), "{metrics}");

    // Six users: between two predictions, and three times the load that was measured.
    assert!(loaded(6) >= 2, "{}", world.read("server.log").escape_ascii());
    let audit = format!("predict audit kept.json --admin {admin} --throughput-tolerance 40% --response-tolerance 40%");
    let good = world.run(&format!("{audit} --json --log audits.jsonl --report audit")).code(0).out();
    let good: Value = serde_json::from_str(&good).expect("JSON");
    let loads: Vec<f64> =
        good["loads"].as_array().expect("loads").iter().filter_map(|load| load["users"].as_f64()).collect();
    assert!(loads.iter().any(|users| *users > 4.5) && loads.iter().all(|users| *users < 6.5), "{good}");
    assert_eq!(good["not_predicted"], json!([]), "{good}");
    assert!(String::from_utf8(world.read("audit.html")).expect("UTF-8").contains("Audit of a prediction"));
    assert!(String::from_utf8(world.read("audits.jsonl")).expect("UTF-8").contains("quayline.audit/1"));

    // The prediction of another machine does not fit: half of the response time at twice the throughput.
    let mut wrong = kept.clone();
    for row in wrong["predictions"].as_array_mut().expect("rows") {
        let scaled = |name: &str, factor: f64| json!(factor * row[name].as_f64().expect("a number"));
        (row["throughput_per_s"], row["response_s"]) = (scaled("throughput_per_s", 2.0), scaled("response_s", 0.5));
    }
    world.write("wrong.json", wrong.to_string());
    let missed = world.run(&audit.replace("kept.json", "wrong.json"));
    assert!(missed.code(5).err().contains("CAP-014"), "{}", missed.err());

    // The other system takes four times as long, so what was predicted does not come.
    service.delay_ms.store(800, Ordering::Relaxed);
    assert!(loaded(2) >= 2, "{}", world.read("server.log").escape_ascii());
    let missed = world.run(&format!("{audit} --last 1"));
    assert!(missed.code(5).err().contains("CAP-014"), "{}", missed.err());
    let error = missed.out();
    assert!(error.contains("Mean absolute error: throughput"), "{error}");

    // A model has no name in intervals.
    world.run("predict --users 1 --cpu 1ms --keep model.json").code(0);
    let refused = world.run(&format!("predict audit model.json --admin {admin}")).code(2).err();
    assert!(refused.contains("name a file of measured loads"), "{refused}");
}

/// Two classes at once: one by weights that add up to 101, one that takes its steps in turn, of which the second fails.
#[test]
fn a_mix_of_virtual_users_shows_each_class_and_step() {
    let world = world();
    let server = Server::start(&world, "");
    let mix = |address: SocketAddr, second: &str| {
        format!(
            "address = \"{address}\"\n[headers]\nX-Test = \"yes\"\n[[class]]\nname = \"readers\"\nusers = 4\nthink = \"1ms\"\n\
             [[class.step]]\nname = \"often\"\nweight = 91\ntarget = \"/v/x\"\n[[class.step]]\nname = \"seldom\"\nweight = 10\ntarget = \"/v/x\"\n\
             [[class]]\nname = \"pairs\"\nusers = 2\nthink = \"1ms\"\nin-turn = true\n[[class.step]]\nname = \"first\"\ntarget = \"/v/x\"\n\
             [[class.step]]\nname = \"second\"\ntarget = \"{second}\"\n"
        )
    };
    world.write("mix.toml", mix(server.api, "/v/x"));
    let process = server.child.id();
    let ran = world.run(&format!("measure mix mix.toml --seconds 2 --warm-up 0.2 --process {process} --report mix"));
    let out = ran.code(0).out();
    assert!(out.contains("6 users, ") && out.contains(" of CPU time for each"), "{out}");
    let json: Value = serde_json::from_slice(&world.read("mix.json")).expect("JSON");
    let rows = |section: usize| json["sections"][section]["rows"].as_array().expect("rows").clone();
    assert_eq!((rows(0).len(), rows(1).len()), (2, 4), "{out}");
    assert!(
        json["sections"][1]["notes"][0].as_str().is_some_and(|note| note.contains("readers add up to 101")),
        "{json}"
    );
    for row in rows(1) {
        let number = |at: usize| row[at].as_f64().unwrap_or_else(|| panic!("no number {at} in {row}"));
        // The requests have the requested shares, up to chance; rates and times are measured.
        assert!((number(1) - number(2)).abs() < 8.0, "{row}");
        assert!(number(3) > 0.0 && number(4) == 0.0 && number(6) >= number(5), "{row}");
        // Users that wait for their answers send a request when it is due.
        assert!((number(8) - number(7)).abs() <= 0.1 * number(7) + 1.0, "{row}");
    }
    assert!(rows(1)[0][1].as_f64().is_some_and(|share| (share - 90.1).abs() < 0.1), "{out}");

    world.write("bad.toml", mix(server.api, "/v/none"));
    let ran = world.run("measure mix bad.toml --seconds 0.3 --warm-up 0.1");
    assert!(ran.code(1).out().contains("pairs: second") && ran.err().contains("failures"), "{}", ran.err());

    // Regression: a server that never answers was Good with 0 failures, and a process that does not exist took 0.0 µs.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    world.write("silent.toml", mix(silent.local_addr().expect("its address"), "/v/x"));
    let ran = world.run("measure mix silent.toml --seconds 0.3 --warm-up 0.3");
    assert!(ran.code(1).out().contains("0.0 answers a second, 6 failures"), "{}", ran.out());
    let ran = world.run("measure mix mix.toml --seconds 0.3 --process 4194305");
    assert!(ran.code(2).err().contains("no process has the number 4194305"), "{}", ran.err());

    let open = |more: &str| {
        format!("address = \"127.0.0.1:1\"\n[[class]]\nname = \"a\"\nusers = 1\n{more}[[class.step]]\ntarget = \"/\"\n")
    };
    let (alone, both, none) = (open("arrivals = \"fixed\"\n"), open("rate = 5\nthink = \"1s\"\n"), open("rate = 0\n"));
    for (text, what) in [
        (&alone[..], "a has `arrivals` without `rate`"),
        (&both, "a has `rate` and `think`"),
        (&none, "the rate of a is 0, expected 0.001 to 1000000"),
        ("address = \"127.0.0.1:1\"\n", "there is no [[class]]"),
        ("address = \"127.0.0.1:1\"\n[[class]]\nname = \"a\"\nusers = 0\n", "there are 0 users, expected 1 to 10000"),
        ("address = \"127.0.0.1:1\"\n[[class]]\nname = \"a\"\nusers = 1\n", "the weights of the steps of a"),
        (
            "address = \"127.0.0.1:1\"\n[headers]\na = \"b\\r\\nc\"\n[[class]]\nname = \"a\"\nusers = 1\n[[class.step]]\ntarget = \"/\"\n",
            "`a` is not a header",
        ),
        (
            "address = \"127.0.0.1:1\"\n[[class]]\nname = \"a\"\nusers = 1\n[[class.step]]\ntarget = \"x y\"\n",
            "`GET x y` is not a method and a path",
        ),
        (
            "address = \"127.0.0.1:1\"\n[[class]]\nname = \"a\"\nusers = 1\n[[class.step]]\ntarget = \"/\"\ncontent-type = \"a\\nb\"\n",
            "the content-type of / has a control character",
        ),
    ] {
        world.write("wrong.toml", text);
        let err = world.run("measure mix wrong.toml").code(2).err();
        assert!(err.contains(what), "{what} is not in {err}");
    }
}

/// Classes with a rate send requests whether or not answers came: at fixed intervals, and at random ones.
#[test]
fn a_mix_has_open_arrivals_with_response_times_from_when_they_were_due() {
    let world = world();
    let server = Server::start(&world, "");
    let class = |name: &str, more: &str| {
        format!("[[class]]\nname = \"{name}\"\nusers = 8\n{more}[[class.step]]\ntarget = \"/v/x\"\n")
    };
    world.write(
        "open.toml",
        format!(
            "address = \"{}\"\n{}{}{}",
            server.api,
            class("even", "rate = 100\narrivals = \"fixed\"\n"),
            class("random", "rate = 100\n"),
            class("closed", "think = \"10ms\"\n"),
        ),
    );
    world.run("measure mix open.toml --seconds 2 --warm-up 0.2 --report open").code(0);
    let json: Value = serde_json::from_slice(&world.read("open.json")).expect("JSON");
    let rows = json["sections"][0]["rows"].as_array().expect("rows").clone();
    let number = |row: usize, at: usize| rows[row][at].as_f64().unwrap_or_else(|| panic!("no number {at} in {rows:?}"));
    // 200 requests are due in the measured time; random intervals give 200 up to four standard deviations.
    assert!((number(0, 3) - 100.0).abs() <= 1.5, "{rows:?}");
    assert!((number(1, 3) - 100.0).abs() <= 4.0 * 200f64.sqrt() / 2.0, "{rows:?}");
    assert!(rows[2][2].is_null() && number(0, 2) == 100.0, "{rows:?}");
    for row in 0..3 {
        // No request is answered sooner after it was due than after it was sent.
        assert!(number(row, 4) == 0.0 && number(row, 7) >= 0.9 * number(row, 8), "{rows:?}");
    }
}
