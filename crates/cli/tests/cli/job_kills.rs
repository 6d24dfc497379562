//! Jobs whose process is killed at random, in a chunk, a split, partitions and while it stops, and that another process continues: rows are
//! exact, files equal those of an undisturbed run, and the metrics of all executions count each item once.
//!
//! `QUAYLINE_KILLS` sets the number of kills; the default is small. `QUAYLINE_KILL_SEED` repeats a run.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use quayline_postgres::Connection;
use quayline_postgres::server::{Durable, OwnServer};
use serde_json::Value;

use crate::world::World;

const KILLS: u32 = 10;
/// Lines of the input: each of the four parts of the job commits a hundred times and more.
const LINES: usize = 1_200;
const STEPS: [&str; 8] = ["load", "copy", "unload", "parts", "spread", "gather", "columns", "rows"];
/// Files that the job writes.
const FILES: [&str; 8] =
    ["copy.txt", "unloaded.txt", "part-0.txt", "part-1.txt", "part-2.txt", "spread.txt", "table.parquet", "rows.json"];
/// Suffixes of their auxiliary files.
const BESIDE: [&str; 5] = ["", ".partial", ".partial.groups", ".partial.rows-0", ".partial.rows-1"];

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }
}

fn artifact(element: &str, name: &str, list: &[(&str, &str)]) -> String {
    let list: String =
        list.iter().map(|(name, value)| format!("<property name=\"{name}\" value=\"{value}\"/>")).collect();
    format!("<{element} ref=\"quayline.{name}\"><properties>{list}</properties></{element}>")
}

/// Returns a job that writes rows to a record file of the store, or to a table of the database.
fn job(is_database: bool) -> String {
    let file = |name: &str| artifact("reader", "fileReader", &[("file", name)]);
    let to = |name: &str| artifact("writer", "fileWriter", &[("file", name)]);
    let rows = |name: &str| {
        if is_database {
            let columns = ("columns", "id,name");
            let query = format!("SELECT id, name FROM {name}");
            (
                artifact("writer", "sqlWriter", &[("table", name), columns, ("items", "csv")]),
                artifact("reader", "sqlReader", &[("query", &query), ("key", "id"), ("items", "csv")]),
            )
        } else {
            let name = name.to_uppercase();
            (
                artifact("writer", "recordFileWriter", &[("file", &name)]),
                artifact("reader", "recordFileReader", &[("file", &name)]),
            )
        }
    };
    let (rows_in, rows_out) = rows("cust");
    let (spread_in, spread_out) = rows("spread");
    let step = |id: &str, next: &str, reader: &str, writer: &str, more: &str| {
        format!("<step id=\"{id}\"{next}><chunk item-count=\"8\">{reader}{writer}</chunk>{more}</step>")
    };
    let mapper = artifact("mapper", "fileMapper", &[("file", "in.txt"), ("partitions", "3"), ("threads", "2")]);
    let range = [("file", "in.txt"), ("from", "#{partitionPlan['from']}"), ("to", "#{partitionPlan['to']}")];
    // Threads without a partition take a part of another's, or processes share them.
    let sharing =
        if is_database { "quayline.partitions\" value=\"shared" } else { "quayline.stragglers\" value=\"split" };
    let steps = [
        step("load", " next=\"both\"", &file("in.txt"), &rows_in, ""),
        format!(
            "<split id=\"both\" next=\"parts\"><flow id=\"f\">{}</flow><flow id=\"g\">{}</flow></split>",
            step("copy", "", &file("in.txt"), &to("copy.txt"), ""),
            step("unload", "", &rows_out, &to("unloaded.txt"), ""),
        ),
        step(
            "parts",
            " next=\"spread\"",
            &artifact("reader", "fileReader", &range),
            &to("part-#{partitionPlan['number']}.txt"),
            &format!("<partition>{mapper}</partition>"),
        ),
        step(
            "spread",
            " next=\"gather\"",
            &artifact("reader", "fileReader", &range),
            &spread_in,
            &format!("<partition>{mapper}</partition>"),
        )
        .replace("<chunk", &format!("<properties><property name=\"{sharing}\"/></properties><chunk")),
        step("gather", " next=\"columns\"", &spread_out, &to("spread.txt"), ""),
        step(
            "columns",
            " next=\"rows\"",
            &file("in.json"),
            &artifact(
                "writer",
                "parquetWriter",
                &[("file", "table.parquet"), ("shape", "row.shape"), ("group-bytes", "600")],
            ),
            "",
        ),
        step("rows", "", &artifact("reader", "parquetReader", &[("file", "table.parquet")]), &to("rows.json"), ""),
    ];
    format!("<job id=\"all\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">{}</job>", steps.concat())
}

/// A place for the job: a folder with a store, or with a database that two nodes share.
struct Place {
    world: World,
    server: Option<OwnServer>,
    /// Instances so far.
    rounds: u32,
}

impl Place {
    fn new(server: Option<OwnServer>, world: World) -> Self {
        let lines: String = (0..LINES).map(|number| format!("{number:05},customer {number:04}\n")).collect();
        let rows: String =
            (0..LINES).map(|number| format!("{{\"id\":{number},\"name\":\"line {number}\"}}\n")).collect();
        world.write("in.json", rows).write("row.shape", "row\n  id decimal(9)\n  name text\n");
        world.write("in.txt", lines).write("job.xml", job(server.is_some()));
        Place { world, server, rounds: 0 }
    }

    /// Resets the folder to the input and the repository.
    fn begin(&mut self) {
        self.rounds += 1;
        for name in FILES {
            for beside in BESIDE {
                let _ = std::fs::remove_file(self.world.path(&format!("{name}{beside}")));
            }
        }
        match &self.server {
            Some(server) => {
                let script = "DROP TABLE IF EXISTS cust, spread; CREATE TABLE cust (id text PRIMARY KEY, name text); \
                     CREATE TABLE spread (LIKE cust INCLUDING ALL)";
                Connection::open(&server.endpoint()).and_then(|mut c| c.script(script)).expect("the table is made");
            }
            None => {
                let _ = std::fs::remove_dir_all(self.world.path("data"));
                self.world.run("file define CUST --record 19 --key 0:5").code(0);
                self.world.run("file define SPREAD --record 19 --key 0:5").code(0);
            }
        }
    }

    /// Returns the words of a command on a node.
    fn words(&self, command: &str, node: u32) -> Vec<String> {
        let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        if let Some(server) = &self.server {
            words.extend(["--repository".to_owned(), server.url(), "--store".to_owned(), format!("node-{node}")]);
        }
        words
    }

    fn spawn(&self, command: &str, node: u32) -> Child {
        let mut command = self.world.command(self.words(command, node));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    }

    fn run(&self, command: &str, node: u32) -> crate::world::Ran {
        let output = self.world.command(self.words(command, node)).output().expect("it runs");
        crate::world::Ran::of(output)
    }

    /// Executions of this round, the oldest first.
    fn executions(&self, node: u32) -> Vec<Value> {
        let listed = self.run("job list -n 1000 --json", node);
        let values = listed.code(0).out();
        let values: Vec<Value> = values.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let newest = values.iter().filter_map(|value| value["jobInstanceId"].as_u64()).max();
        let mut ids: Vec<u64> = values
            .iter()
            .filter(|value| value["jobInstanceId"].as_u64() == newest)
            .filter_map(|value| value["jobExecutionId"].as_u64())
            .collect();
        ids.sort_unstable();
        ids.iter()
            .map(|id| {
                let shown = self.run(&format!("job show {id} --json"), node);
                serde_json::from_str(&shown.code(0).out()).expect("JSON")
            })
            .collect()
    }

    fn left(&self) -> BTreeMap<String, Vec<u8>> {
        let mut left: BTreeMap<String, Vec<u8>> =
            FILES.iter().map(|name| ((*name).to_owned(), self.world.read(name))).collect();
        for name in self.world.files() {
            assert!(!name.contains(".partial"), "{name} is left");
        }
        if let Some(server) = &self.server {
            let mut connection = Connection::open(&server.endpoint()).expect("the server answers");
            let query =
                "SELECT count(*) || ' ' || coalesce(md5(string_agg(id || name, ',' ORDER BY id)), '') FROM cust";
            let answers = connection.query(query, &[]).expect("the query is right");
            let rows = answers.row(0).and_then(|row| row.text(0).map(str::to_owned)).expect("a text");
            left.insert("rows".to_owned(), rows.into_bytes());
        }
        left
    }
}

/// Checks that each item counts once, in the execution in which its chunk committed.
fn counters_are_honest(executions: &[Value]) {
    for step in STEPS {
        for metric in ["READ_COUNT", "WRITE_COUNT"] {
            let of = |execution: &Value| {
                let steps = execution["stepExecutions"].as_array().cloned().unwrap_or_default();
                let own = steps.iter().filter(|found| found["stepName"] == step);
                own.filter_map(|found| found["metrics"][metric].as_u64()).sum::<u64>()
            };
            let counts: Vec<u64> = executions.iter().map(of).collect();
            assert_eq!(counts.iter().sum::<u64>(), LINES as u64, "{metric} of {step} by execution: {counts:?}");
        }
    }
    let mut running = executions.iter().filter(|execution| {
        let status = execution["batchStatus"].as_str().unwrap_or_default();
        !matches!(status, "COMPLETED" | "FAILED" | "STOPPED")
    });
    assert!(running.next().is_none(), "{executions:?}");
}

fn kills_max() -> u32 {
    std::env::var("QUAYLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

/// Kills and continues until the number of kills is reached. With `takes_over`, each process is a different node.
fn killed_at_random(place: &mut Place, takes_over: bool) {
    let seed = std::env::var("QUAYLINE_KILL_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) ^ u64::from(takes_over) << 40);
    eprintln!("QUAYLINE_KILL_SEED={seed}");
    let mut dice = Dice(seed);
    place.begin();
    let begin = Instant::now();
    let mut whole = place.spawn("job start job.xml", 0);
    assert!(whole.wait().expect("it ends").success(), "the job completes undisturbed");
    let took = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    counters_are_honest(&place.executions(0));
    let expected = place.left();
    assert_eq!(expected["copy.txt"], place.world.read("in.txt"));
    assert_eq!(expected["rows.json"], place.world.read("in.json"));

    let (mut kills, mut refused, mut hit) = (0, 0, BTreeSet::new());
    // Another node runs partitions all the time; it is also killed.
    let mut worker = takes_over.then(|| place.spawn("job work --threads 1", 2));
    while kills < kills_max() {
        place.begin();
        let mut command = "job start job.xml".to_owned();
        let mut node = 0;
        loop {
            let mut child = place.spawn(&command, node);
            // The rest of the job gets less time, so that one of several runs completes.
            // Some starts get little: on a busy machine, the first step is over in a small part of the time.
            let is_short = command.starts_with("job start") && dice.below(3) == 0;
            let patience = Duration::from_millis(dice.below(took * if is_short { 1 } else { 4 } / 6 + 1));
            if dice.below(4) == 0 && takes_over && command.starts_with("job restart") {
                // While the first node runs it, the second one must not: the same restart by both is done by one.
                refused += u32::from(matches!(place.run(&command, 1 - node).code, Some(1 | 2)));
            }
            std::thread::sleep(patience);
            if dice.below(4) == 0 {
                // The command is killed while it stops, or just after.
                let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
                std::thread::sleep(Duration::from_millis(dice.below(30)));
                hit.insert("stop".to_owned());
            }
            if let Some(worker) = worker.as_mut().filter(|_| dice.below(2) == 0) {
                worker.kill().and_then(|()| worker.wait()).expect("it is killed");
                *worker = place.spawn("job work --threads 1", 2);
                kills += 1;
                std::thread::sleep(Duration::from_millis(dice.below(300)));
            }
            let is_over = child.try_wait().expect("a child").is_some();
            if !is_over {
                child.kill().expect("it is killed");
                kills += 1;
            }
            child.wait().expect("it ends");
            if takes_over {
                node = 1 - node;
            }
            let executions = place.executions(node);
            let Some(last) = executions.last().filter(|last| belongs(place, last)) else {
                // The command was killed before it created the execution.
                "job start job.xml".clone_into(&mut command);
                continue;
            };
            if last["batchStatus"] == "COMPLETED" {
                break;
            }
            let steps = last["stepExecutions"].as_array().cloned().unwrap_or_default();
            for step in steps.iter().filter(|step| !is_over && step["batchStatus"] != "COMPLETED") {
                hit.insert(step["stepName"].as_str().unwrap_or_default().to_owned());
            }
            command = format!("job restart {}", last["jobExecutionId"]);
        }
        let executions = place.executions(node);
        counters_are_honest(&executions);
        assert_eq!(place.left(), expected, "after {} executions", executions.len());
    }
    if let Some(mut worker) = worker {
        worker.kill().and_then(|()| worker.wait()).expect("it is killed");
    }
    eprintln!("{kills} kills in {} jobs, {refused} restarts refused; hit: {hit:?}", place.rounds - 1);
    if kills >= 100 {
        assert!(STEPS.iter().chain(&["stop"]).all(|part| hit.contains(*part)), "{hit:?}");
    }
}

/// Returns true if an execution belongs to the current round; the repository of a database also has earlier ones.
fn belongs(place: &Place, execution: &Value) -> bool {
    match &place.server {
        Some(_) => execution["jobInstanceId"].as_u64() == Some(u64::from(place.rounds)),
        None => true,
    }
}

#[test]
fn a_restart_continues_what_a_killed_process_left() {
    killed_at_random(&mut Place::new(None, World::new()), false);
}

#[test]
fn another_node_takes_over_what_a_killed_one_left() {
    let world = World::new();
    match OwnServer::start(&world.path("server"), Durable::No) {
        Ok(server) => killed_at_random(&mut Place::new(Some(server), world), true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: another_node_takes_over_what_a_killed_one_left: PostgreSQL is not installed");
        }
        Err(error) => panic!("the server does not start: {error}"),
    }
}

/// A process that is stopped with SIGSTOP keeps its execution as long as its sessions live. When the server has ended them, another node takes the
/// execution over, and the first process continues at the same time: none of its work commits, and rows and files are exact.
#[test]
fn another_node_takes_over_what_a_stopped_one_had() {
    const STOPS: u32 = 4;
    let world = World::new();
    let server = match OwnServer::start(&world.path("server"), Durable::No) {
        Ok(server) => server,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: another_node_takes_over_what_a_stopped_one_had: PostgreSQL is not installed");
            return;
        }
        Err(error) => panic!("the server does not start: {error}"),
    };
    let mut place = Place::new(Some(server), world);
    let mut dice = Dice(u64::from(std::process::id()));
    place.begin();
    let begin = Instant::now();
    assert!(place.spawn("job start job.xml", 0).wait().expect("it ends").success());
    let took = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    let expected = place.left();
    let stops = if kills_max() == KILLS { STOPS } else { kills_max() };
    let (mut taken, mut fenced, mut partial) = (0, 0, 0);
    // A machine may be so quick or slow that a job has not begun, or has ended, when it is stopped.
    for _ in 0..stops * 5 {
        if taken == stops {
            break;
        }
        place.begin();
        let mut first = place.spawn("job start job.xml", 0);
        let signal = |name: &str, child: &Child| {
            let _ = Command::new("kill").args([name, &child.id().to_string()]).status();
        };
        std::thread::sleep(Duration::from_millis(dice.below(took)));
        signal("-STOP", &first);
        let last = place.executions(1).pop().filter(|last| belongs(&place, last));
        let id = match last {
            Some(last) if last["batchStatus"] == "STARTED" => last["jobExecutionId"].as_u64().expect("a number"),
            _ => {
                signal("-CONT", &first);
                first.wait().expect("it ends");
                continue;
            }
        };
        let restart = format!("job restart {id}");
        let refused = place.run(&restart, 1);
        assert!(matches!(refused.code, Some(1 | 2)), "two processes at one execution: {}", refused.out());
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let sessions =
            place.server.as_ref().map(|server| Connection::open(&server.endpoint()).and_then(|mut c| c.script(end)));
        sessions.expect("a server").expect("the sessions end");
        // A session ends soon after the request.
        while place.executions(1).pop().is_some_and(|last| last["batchStatus"] == "STARTED") {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut second = place.spawn(&restart, 1);
        std::thread::sleep(Duration::from_millis(dice.below(took / 4 + 1)));
        signal("-CONT", &first);
        fenced += u32::from(!first.wait().expect("it ends").success());
        second.wait().expect("it ends");
        taken += 1;
        // The second process fails where the first one still had a file. Now nobody has it.
        let mut executions = place.executions(1);
        while executions.last().is_some_and(|last| last["batchStatus"] != "COMPLETED") && executions.len() < 5 {
            let last = executions.pop().and_then(|last| last["jobExecutionId"].as_u64()).expect("a number");
            place.run(&format!("job restart {last}"), 1);
            executions = place.executions(1);
        }
        counters_are_honest(&executions);
        // The first process may have opened the output of a partition after the second one completed it. It left the partial file when its first commit
        // was refused.
        for name in place.world.files().into_iter().filter(|name| name.contains(".partial")) {
            std::fs::remove_file(place.world.path(&name)).expect("a file");
            partial += 1;
        }
        assert_eq!(place.left(), expected, "after {} executions", executions.len());
    }
    eprintln!("{partial} partial files were left; {taken} executions of a stopped process were taken over");
    assert!(taken > 0 && fenced == taken, "{taken} taken over, {fenced} processes failed");
}
