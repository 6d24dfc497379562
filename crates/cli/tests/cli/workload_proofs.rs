//! Guarantees of class shares and accurate clocks, shown on a running server. Figures are always printed; the verdict is skipped while other
//! programs use more of the machine than the printed limit.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use quayline_capacity::Seconds;
use quayline_measure::{CpuClock, OutsideLoad};
use quayline_meter::ProcessUse;
use quayline_workload::{Demands, Intervals, Workload};

use crate::world::World;

/// Part of the machine that other programs may use.
const OUTSIDE_MAX: f64 = 0.10;

/// Returns true if the tests give verdicts. They then run alone and for their full time.
fn are_proofs() -> bool {
    std::env::var_os("QUAYLINE_PROOFS").is_some_and(|value| value == "1")
}

/// Returns how long a load runs. A test without a verdict runs a quarter of that time.
fn time(ms: u64) -> Duration {
    Duration::from_millis(if are_proofs() { ms } else { ms / 4 })
}

/// Returns true if a test judges its figures: only if it runs alone, as declared with `QUAYLINE_PROOFS=1` and `--test-threads=1`, on a quiet machine.
#[allow(clippy::print_stdout, reason = "the run counts what is skipped")]
fn judges(test: &str, outside: f64) -> bool {
    let why = if !are_proofs() {
        "it runs beside other tests; QUAYLINE_PROOFS=1 and --test-threads=1 judge".to_owned()
    } else if outside > OUTSIDE_MAX {
        format!("others used {:.0} % of the machine, the limit is {:.0} %", 100.0 * outside, 100.0 * OUTSIDE_MAX)
    } else {
        return true;
    };
    println!("skipped: {test}: no verdict: {why}");
    false
}

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
        let listeners = format!("[serve]\nlisten = \"{api}\"\n[serve.admin]\nlisten = \"{admin}\"\n");
        world.write("quayline.toml", format!("{listeners}[serve.authentication]\nrequired = false\n{settings}"));
        let child =
            world.command(["serve", "."]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
        let server = Server { child, api, admin };
        let end = Instant::now() + Duration::from_secs(60);
        while server.operate("GET", "/health", "").is_none_or(|status| status != 200) {
            assert!(Instant::now() < end, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(self.admin).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        let (length, host) = (body.len(), self.admin);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some((answer.get(9..12)?.parse().ok()?, answer))
    }

    fn operate(&self, method: &str, path: &str, body: &str) -> Option<u16> {
        self.ask(method, path, body).map(|(status, _)| status)
    }

    /// Returns response times in microseconds of one client that thinks for 20 ms.
    fn responses(&self, time: Duration) -> Vec<u64> {
        let mut stream = TcpStream::connect(self.api).expect("a connection");
        stream.set_nodelay(true).expect("a setting");
        let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
        let request = format!("GET /v/x HTTP/1.1\r\nhost: {}\r\n\r\n", self.api);
        let (mut times, end) = (Vec::new(), Instant::now() + time);
        while Instant::now() < end {
            let began = Instant::now();
            stream.write_all(request.as_bytes()).expect("sent");
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).expect("a line") > 2 {
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            times.push(u64::try_from(began.elapsed().as_micros()).expect("a time"));
            std::thread::sleep(Duration::from_millis(20));
        }
        times
    }
}

/// Returns the busy time of the machine in seconds, over all processors. Source: proc(5), /proc/stat in ticks of 10 ms.
fn busy_s() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<f64> = text
        .lines()
        .next()
        .into_iter()
        .flat_map(|line| line.split_ascii_whitespace().skip(1))
        .filter_map(|field| field.parse().ok())
        .collect();
    let of = |at: usize| fields.get(at).copied().unwrap_or(0.0);
    (of(0) + of(1) + of(2) + of(5) + of(6) + of(7)) / 100.0
}

/// Runs a function and returns the share of the machine that other processes used during that time.
fn outside<T>(server: &Server, run: impl FnOnce() -> T) -> (T, f64) {
    let own = || {
        let family = CpuClock::of_family(server.child.id()).read() + ProcessUse::now().cpu;
        family.as_secs_f64()
    };
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let (began, busy, used) = (Instant::now(), busy_s(), own());
    let done = run();
    let (seconds, busy, used) = (began.elapsed().as_secs_f64(), busy_s() - busy, own() - used);
    (done, ((busy - used) / (seconds * cores)).max(0.0))
}

/// Returns a percentile in milliseconds.
fn percentile(mut times: Vec<u64>, percent: usize) -> f64 {
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).clamp(1, times.len());
    times[at - 1] as f64 / 1e3
}

fn world() -> World {
    let job = |name: &str| {
        format!(
            "<job id=\"{name}\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\"><chunk item-count=\"2000\">\
             <reader ref=\"quayline.accountReader\"><properties><property name=\"FileName\" value=\"in.txt\"/>\
             <property name=\"NumRecords\" value=\"1000000000000\"/></properties></reader><writer ref=\"quayline.accountWriter\"><properties>\
             <property name=\"Deletes\" value=\"none\"/></properties></writer></chunk></step></job>"
        )
    };
    let world = World::new();
    world.write("in.txt", "ab\n".repeat(100_000));
    for name in ["flood1", "flood2", "flood3", "flood4"] {
        world.write(&format!("jobs/{name}.xml"), job(name));
    }
    let copybook =
        "       01 A.\n          05 T OCCURS 2000.\n             10 X PIC X(10).\n             10 N PIC 9(5).\n";
    world.write("a.cpy", copybook);
    world.write("a.dat", "some text 12345".repeat(2_000));
    world.write(
        "services/a.toml",
        "copybook = \"a.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"a.dat\"\n",
    );
    world.write(
        "apis/a.toml",
        "base-path = \"/v\"\n[[operation]]\nid = \"get\"\nmethod = \"GET\"\npath = \"/x\"\nservice = \"a\"\n",
    );
    world
}

/// Returns the 95th percentile in milliseconds while four jobs read continuously, and the number of jobs still running at the end.
fn flooded(server: &Server, time: Duration) -> (f64, usize) {
    for number in 1..=4 {
        let started = server.operate("POST", "/batch/jobinstances", &format!("{{\"jobXMLName\":\"flood{number}\"}}"));
        assert_eq!(started, Some(201));
    }
    std::thread::sleep(Duration::from_millis(500));
    let p95 = percentile(server.responses(time), 95);
    let metrics = server.ask("GET", "/metrics", "").map_or_else(String::new, |(_, text)| text);
    let running = metrics.lines().find_map(|line| line.strip_prefix("quayline_jobs_running "));
    (p95, running.and_then(|running| running.trim().parse().ok()).unwrap_or(0))
}

#[test]
fn an_api_keeps_its_response_time_while_batch_floods_all_cores() {
    let time = time(6_000);
    let world = world();
    let governed = "[[workload.class]]\nname = \"batch\"\nentitlement-percent = 50\n";
    let mut figures = Vec::new();
    let mut worst_outside = 0.0f64;
    for (name, settings) in [("without", "[workload]\ngovern = false\n"), ("with", governed)] {
        let server = Server::start(&world, settings);
        server.responses(Duration::from_millis(500));
        let ((alone, (p95, jobs)), outside) =
            outside(&server, || (percentile(server.responses(time), 95), flooded(&server, time)));
        assert!(jobs >= 2, "{jobs} jobs run at the end: they are too short for a flood");
        println!(
            "{name} shares: p95 alone {alone:.2} ms, with {jobs} jobs {p95:.2} ms, {:.2} times; outside {:.0} %",
            p95 / alone,
            100.0 * outside
        );
        figures.push(p95 / alone);
        worst_outside = worst_outside.max(outside);
    }
    if !judges("an_api_keeps_its_response_time_while_batch_floods_all_cores", worst_outside) {
        return;
    }
    assert!(figures[1] <= 1.5, "{figures:?}");
}

/// A driver that waits for a response before it sends the next request does not notice a stopped server: of thousands of responses only some are
/// late.
#[test]
fn a_server_that_is_stopped_for_two_seconds_shows_in_intended_times_only() {
    let world = world();
    let server = Server::start(&world, "");
    let process = server.child.id().to_string();
    let seconds = time(20_000).as_secs().to_string();
    let words = [&server.api.to_string(), "/v/x", &process, "--clients", "4", "--rate", "150", "--seconds", &seconds];
    let load = OutsideLoad::of_words(&words.map(str::to_owned)).expect("a load");
    let signal = |name: &str| {
        let done = std::process::Command::new("kill").args([name, &process]).status().expect("kill");
        assert!(done.success(), "{name}");
    };
    let (run, outside) = outside(&server, || {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(time(9_000));
                signal("-STOP");
                std::thread::sleep(Duration::from_secs(2));
                signal("-CONT");
            });
            load.run().expect("a run")
        })
    });
    let (intended, service) = (run.ms(99.0), run.service_ms(99.0));
    println!(
        "stopped for 2 s of {seconds} s: {} answers, {} failures, intended p99 {intended:.0} ms, service p99 {service:.2} ms; outside {:.0} %",
        run.answers,
        run.failures,
        100.0 * outside
    );
    assert_eq!(run.failures, 0);
    // A tenth of the requests or more were due while the server was stopped: no neighbour makes them faster.
    assert!(intended > 1_000.0, "intended p99 {intended} ms");
    if !judges("a_server_that_is_stopped_for_two_seconds_shows_in_intended_times_only", outside) {
        return;
    }
    assert!(service < 50.0, "service p99 {service} ms");
}

/// Exponential times with a mean, in an order without pattern: each block of 50 has the quantiles 1/100, 3/100, … 99/100, so that short runs have the
/// mean of long ones.
struct Exponential {
    mean_s: f64,
    block: Vec<f64>,
    seed: u64,
}

impl Exponential {
    fn new(mean_s: f64, seed: u64) -> Exponential {
        Exponential { mean_s, block: Vec::new(), seed }
    }

    fn next(&mut self) -> Duration {
        if self.block.is_empty() {
            let quantiles = (0..50).map(|at| -(-(f64::from(at) + 0.5) / 50.0).ln_1p());
            self.block = quantiles.collect();
            // The mean of 50 quantiles is a little below that of the distribution.
            let mean = self.block.iter().sum::<f64>() / 50.0;
            self.block.iter_mut().for_each(|value| *value *= self.mean_s / mean);
        }
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = usize::try_from(self.seed >> 33).expect("31 bits") % self.block.len();
        Duration::from_secs_f64(self.block.swap_remove(at))
    }
}

/// Results of a closed loop: transactions per second, mean response and CPU time in seconds, mean think time.
struct Loop {
    throughput: f64,
    response_s: f64,
    cpu_s: f64,
    think_s: f64,
}

/// Clients that think for 40 ms and one worker that computes for 2 ms, both exponential. A client ends after `most` transactions: whole blocks have
/// the mean of the distribution.
fn closed_loop(clients: usize, time: Duration, most: u32) -> Loop {
    use std::sync::mpsc::{Sender, channel};
    let (submit, jobs) = channel::<Sender<()>>();
    let end = Instant::now() + time;
    let worker = std::thread::spawn(move || {
        let mut demands = Exponential::new(0.002, 7);
        let (began, mut count) = (Workload::thread_cpu(), 0u32);
        while let Ok(done) = jobs.recv() {
            let until = Workload::thread_cpu() + demands.next();
            while Workload::thread_cpu() < until {}
            count += 1;
            // A client that has ended takes no answer.
            let _ = done.send(());
        }
        (Workload::thread_cpu() - began).as_secs_f64() / f64::from(count)
    });
    let client = |number: usize, submit: Sender<Sender<()>>| {
        let mut thinks = Exponential::new(0.040, 1_000 + number as u64);
        let (answer, answered) = channel();
        let (mut count, mut responses, mut thought) = (0u32, 0.0, 0.0);
        while Instant::now() < end && count < most {
            let began = Instant::now();
            std::thread::sleep(thinks.next());
            let sent = Instant::now();
            submit.send(answer.clone()).expect("a worker");
            answered.recv().expect("an answer");
            count += 1;
            responses += sent.elapsed().as_secs_f64();
            thought += (sent - began).as_secs_f64();
        }
        (count, responses, thought)
    };
    let began = Instant::now();
    let ended: Vec<(u32, f64, f64)> = std::thread::scope(|scope| {
        let client = &client;
        let handles: Vec<_> = (0..clients)
            .map(|number| {
                let submit = submit.clone();
                scope.spawn(move || client(number, submit))
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().expect("a client")).collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    drop(submit);
    let cpu_s = worker.join().expect("a worker");
    let count: f64 = ended.iter().map(|(count, ..)| f64::from(*count)).sum();
    let sum = |of: fn(&(u32, f64, f64)) -> f64| ended.iter().map(of).sum::<f64>() / count;
    Loop { throughput: count / seconds, response_s: sum(|ended| ended.1), cpu_s, think_s: sum(|ended| ended.2) }
}

/// Runs a function and returns the share of the machine that other processes used, if only this process is measured.
fn beside_this<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let (began, busy, used) = (Instant::now(), busy_s(), ProcessUse::now().cpu);
    let done = run();
    let used = (ProcessUse::now().cpu - used).as_secs_f64();
    (done, ((busy_s() - busy - used) / (began.elapsed().as_secs_f64() * cores)).max(0.0))
}

/// Measurements of one client predict the behavior with forty: one client never waits for another.
#[test]
fn demands_of_one_client_predict_a_closed_loop_of_forty() {
    let ((alone, rows), outside) = beside_this(|| {
        let alone = closed_loop(1, time(30_000), 150);
        let rows: Vec<(u32, Loop)> =
            [5u32, 10, 20, 40].map(|clients| (clients, closed_loop(clients as usize, time(4_000), u32::MAX))).into();
        (alone, rows)
    });
    let demands = Demands {
        cpu_s: alone.cpu_s,
        programs_cpu_s: 0.0,
        helper_cpu_s: 0.0,
        other_s: (alone.response_s - alone.cpu_s).max(0.0),
        run_queue_s: 0.0,
        transactions: 1,
    };
    println!(
        "one client: CPU {:.3} ms, response {:.3} ms, think {:.2} ms",
        1e3 * alone.cpu_s,
        1e3 * alone.response_s,
        1e3 * alone.think_s
    );
    let mut worst = (0.0f64, 0.0f64);
    for (clients, measured) in &rows {
        let network = demands.network(1, 1.0, Seconds(alone.think_s));
        let predicted = network.predict(*clients).expect("a prediction").value;
        let x = predicted.throughput.0 / measured.throughput - 1.0;
        let r = predicted.response.0 / measured.response_s - 1.0;
        println!(
            "{clients} clients: X {:.1} predicted, {:.1} measured, {:+.1} %; R {:.2} ms predicted, {:.2} ms measured, {:+.1} %",
            predicted.throughput.0,
            measured.throughput,
            100.0 * x,
            1e3 * predicted.response.0,
            1e3 * measured.response_s,
            100.0 * r
        );
        worst = (worst.0.max(x.abs()), worst.1.max(r.abs()));
    }
    if !judges("demands_of_one_client_predict_a_closed_loop_of_forty", outside) {
        return;
    }
    assert!(worst.0 <= 0.05 && worst.1 <= 0.10, "X {:.3}, R {:.3}", worst.0, worst.1);
}

/// Intervals of a server give the demands of an operation, and these its throughput at other loads.
#[test]
fn intervals_of_a_server_predict_the_throughput_of_other_loads() {
    let world = world();
    let server = Server::start(&world, "[workload]\ninterval-seconds = 5\n");
    let think = Duration::from_millis(20);
    let loaded = |clients: usize, time: Duration| -> f64 {
        let began = Instant::now();
        let count: usize = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..clients).map(|_| scope.spawn(|| server.responses(time).len())).collect();
            handles.into_iter().map(|handle| handle.join().expect("a client")).sum()
        });
        count as f64 / began.elapsed().as_secs_f64()
    };
    let ((intervals, rows), outside) = outside(&server, || {
        loaded(4, Duration::from_millis(11_000));
        let text = server.ask("GET", "/intervals?last=2", "").expect("an answer").1;
        let body = text.split_once("\r\n\r\n").expect("a body").1;
        let intervals = serde_json::from_str::<Intervals>(body).expect("intervals").intervals;
        let rows: Vec<(u32, f64)> =
            [2u32, 8, 24].map(|clients| (clients, loaded(clients as usize, time(3_000)))).into();
        (intervals, rows)
    });
    let demands = Demands::of(&intervals, "api:get").expect("the operation has worked");
    println!("{demands:?}");
    let processors = intervals.last().expect("an interval").processors;
    let mut worst = 0.0f64;
    for (clients, measured) in rows {
        let network = demands.network(processors, 1.0, Seconds(think.as_secs_f64()));
        let predicted = network.predict(clients).expect("a prediction").value.throughput.0;
        let error = predicted / measured - 1.0;
        println!(
            "{clients} clients: {predicted:.1} a second predicted, {measured:.1} measured, {:+.1} %",
            100.0 * error
        );
        worst = worst.max(error.abs());
    }
    if !judges("intervals_of_a_server_predict_the_throughput_of_other_loads", outside) {
        return;
    }
    assert!(worst <= 0.10, "{worst:.3}");
}

/// Puts a message by HTTP again and again, and thinks for 20 ms after each answer. Returns the number of answers.
fn puts(address: SocketAddr, time: Duration) -> usize {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("a setting");
    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
    let body = "a record of some bytes ".repeat(40);
    let request = format!("POST /put HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let (mut count, end) = (0, Instant::now() + time);
    while Instant::now() < end {
        stream.write_all(request.as_bytes()).expect("sent");
        let (mut length, mut line) = (0, String::new());
        let mut status = String::new();
        while reader.read_line(&mut line).expect("a line") > 2 {
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().expect("a length");
                }
                Some(_) => {}
                None => status.push_str(&line),
            }
            line.clear();
        }
        assert!(status.contains(" 201"), "{status}");
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        count += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    count
}

/// Writes the ended intervals of a server to a file.
fn intervals_of(server: &Server, world: &World, last: u32, name: &str) {
    let text = server.ask("GET", &format!("/intervals?last={last}"), "").expect("an answer").1;
    world.write(name, text.split_once("\r\n\r\n").expect("a body").1);
}

/// Predictions of a command, by workers: throughput, and elapsed seconds if there are items.
fn predictions(world: &World, command: &str) -> Vec<(f64, Option<f64>)> {
    let out = world.run(&format!("predict work {command} --json")).code(0).out();
    let answer: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let rows = answer["predictions"].as_array().expect("a list").iter();
    rows.map(|row| (row["throughput_per_s"].as_f64().expect("a rate"), row["elapsed_s"].as_f64())).collect()
}

/// A flow that is measured at one load sees others: an HTTP input, a durable put and a reply.
#[test]
fn intervals_of_a_flow_predict_the_throughput_of_other_loads() {
    let world = world();
    let flow: SocketAddr =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    world.write(
        "flows/put.toml",
        format!(
            "[node.in]\ntype = \"http_input\"\nlisten = \"{flow}\"\npath = \"/put\"\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"Q\"\nout = \"answer\"\n[node.answer]\ntype = \"reply\"\nstatus = 201\n"
        ),
    );
    world.run("queue define Q --depth-max 1000000").code(0);
    let server = Server::start(&world, "[workload]\ninterval-seconds = 5\n");
    let loaded = |clients: usize, time: Duration| -> f64 {
        let began = Instant::now();
        let count: usize = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..clients).map(|_| scope.spawn(|| puts(flow, time))).collect();
            handles.into_iter().map(|handle| handle.join().expect("a client")).sum()
        });
        count as f64 / began.elapsed().as_secs_f64()
    };
    let (rows, outside) = outside(&server, || {
        loaded(2, Duration::from_millis(11_000));
        intervals_of(&server, &world, 2, "flow.json");
        [1usize, 8, 24].map(|clients| (clients, loaded(clients, time(3_000))))
    });
    // Units of work take at least as long as they compute, and a durable one also waits for its commit.
    let text = String::from_utf8(world.read("flow.json")).expect("UTF-8");
    let intervals = serde_json::from_str::<Intervals>(&text).expect("intervals").intervals;
    let demands = Demands::of(&intervals, "flow:put").expect("the flow has worked");
    println!("{demands:?}");
    assert!(demands.cpu_s > 0.0 && demands.other_s > 0.0, "{demands:?}");
    // No thread waits for these commits, and they are in the waits of the class.
    let of_flows = intervals.iter().flat_map(|interval| &interval.classes).filter(|class| class.name == "flow");
    let (commit, wall) = of_flows.fold((0.0, 0.0), |sum, class| (sum.0 + class.waits.commit_s, sum.1 + class.wall_s));
    assert!(commit > 0.0 && commit <= wall, "{commit} s of {wall} s: {text}");
    let command = "flows/put.toml --intervals flow.json --think 20ms --contended --workers 1,8,24";
    let predicted = predictions(&world, command);
    let mut worst = 0.0f64;
    for ((clients, measured), (predicted, _)) in rows.iter().zip(predicted) {
        let error = predicted / measured - 1.0;
        println!(
            "flow, {clients} clients: {predicted:.1} a second predicted, {measured:.1} measured, {:+.1} %",
            100.0 * error
        );
        worst = worst.max(error.abs());
    }
    if !judges("intervals_of_a_flow_predict_the_throughput_of_other_loads", outside) {
        return;
    }
    assert!(worst <= 0.10, "{worst:.3}");
}

/// Returns the elapsed seconds of a job, from its execution.
fn elapsed_of(ran: &str) -> f64 {
    let execution: serde_json::Value = serde_json::from_str(ran).expect("JSON");
    let seconds = |name: &str| {
        let text = execution[name].as_str().unwrap_or_else(|| panic!("no {name} in {execution}"));
        let clock = text.split_once('T').expect("a time").1.trim_end_matches('Z');
        clock.split(':').fold(0.0, |sum, part| 60.0 * sum + part.parse::<f64>().expect("a number"))
    };
    // A run over midnight.
    (seconds("endTime") - seconds("startTime")).rem_euclid(86_400.0)
}

/// One run of a job with one partition gives the elapsed time of other numbers of partitions and records.
#[test]
fn one_run_of_a_job_predicts_other_partitions_and_sizes() {
    let world = World::new();
    world.write("in.txt", "ab\n".repeat(1_000));
    let step = |id: &str, next: &str, partition: &str| {
        format!(
            "<step id=\"{id}\"{next}><chunk item-count=\"20000\"><reader ref=\"quayline.accountReader\"><properties>\
             <property name=\"FileName\" value=\"in.txt\"/><property name=\"NumRecords\" value=\"#{{jobParameters['records']}}\"/>\
             </properties></reader><writer ref=\"quayline.accountWriter\"><properties><property name=\"Deletes\" value=\"none\"/>\
             </properties></writer></chunk>{partition}</step>"
        )
    };
    let plan = "<partition><plan partitions=\"#{jobParameters['partitions']}\"/></partition>";
    world.write(
        "jobs/count.xml",
        format!(
            "<job id=\"count\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">{}{}</job>",
            step("many", " next=\"one\"", plan),
            step("one", "", "")
        ),
    );
    let run = |partitions: u32, records: u64, more: &str| {
        let out = world
            .run(&format!("job start jobs/count.xml -p partitions={partitions} -p records={records} --json {more}"))
            .code(0)
            .out();
        elapsed_of(&out)
    };
    let base = if are_proofs() { 4_000_000 } else { 1_000_000 };
    let ((measured, rows), outside) = beside_this(|| {
        let measured = run(1, base, "--intervals run.json");
        (measured, [(1u32, 2 * base), (2, base), (4, base / 2)].map(|(n, records)| (n, records, run(n, records, ""))))
    });
    println!("measured with one partition of {base} records: {measured:.2} s");
    let mut worst = 0.0f64;
    for (partitions, records, took) in rows {
        // The step that has partitions has the most items, so `--items` are those of all its partitions together.
        let items = u64::from(partitions) * records;
        let command = format!(
            "jobs/count.xml -p partitions=1 -p records=1 --intervals run.json --contended --workers {partitions} --items {items}"
        );
        let answer = world.run(&format!("predict work {command} --json")).code(0).out();
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        let steps = answer["predictions"][0]["steps"].as_array().expect("steps");
        // The step without partitions does not grow with their number.
        let time =
            |at: usize| steps[at]["end_s"].as_f64().expect("a time") - steps[at]["begin_s"].as_f64().expect("a time");
        let predicted = time(0) + time(1) / f64::from(partitions);
        let error = predicted / took - 1.0;
        println!(
            "job, {partitions} partitions of {records} records: {predicted:.2} s predicted, {took:.2} s measured, {:+.1} %",
            100.0 * error
        );
        worst = worst.max(error.abs());
    }
    if !judges("one_run_of_a_job_predicts_other_partitions_and_sizes", outside) {
        return;
    }
    assert!(worst <= 0.10, "{worst:.3}");
}
