//! `quayline job --repository`: kill, take over, list and stop from other processes, addresses that are wrong.

use std::process::Stdio;
use std::time::{Duration, Instant};

use quayline_postgres::Connection;
use quayline_postgres::server::{Durable, OwnServer};

use crate::world::World;

// More than a fast machine writes while another command starts.
const ROWS: usize = 100_000;

fn world() -> World {
    let lines: String = (1..=ROWS).map(|n| format!("{n},row {n}\n")).collect();
    let job = "<job id=\"load\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"load\"><chunk item-count=\"20\">\
        <reader ref=\"quayline.fileReader\"><properties><property name=\"file\" value=\"in.csv\"/></properties></reader>\
        <writer ref=\"quayline.sqlWriter\"><properties><property name=\"table\" value=\"load\"/><property name=\"items\" value=\"csv\"/>\
        <property name=\"columns\" value=\"id,name\"/></properties></writer></chunk></step></job>";
    World::with([("in.csv", lines.as_bytes()), ("job.xml", job.as_bytes())])
}

fn number(server: &OwnServer, query: &str) -> i64 {
    let mut connection = Connection::open(&server.endpoint()).expect("the server answers");
    let answers = connection.query(query, &[]).expect("the query is right");
    answers.row(0).and_then(|row| row.int8(0)).expect("a number")
}

#[test]
fn jobs_of_a_shared_repository() {
    let world = world();
    let server = match OwnServer::start(&world.path("server"), Durable::No) {
        Ok(server) => server,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: jobs_of_a_shared_repository: PostgreSQL is not installed");
            return;
        }
        Err(error) => panic!("the server does not start: {error}"),
    };
    let script = "CREATE TABLE load (id bigint PRIMARY KEY, name text)";
    Connection::open(&server.endpoint()).and_then(|mut c| c.script(script)).expect("the table is made");
    let url = server.url();
    let job = |words: &[&str]| {
        let mut all = vec!["job"];
        all.extend_from_slice(words);
        all.extend_from_slice(&["--repository", &url]);
        all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    // Killed repeatedly; each restart continues the work of the preceding process.
    let mut words = job(&["start", "job.xml"]);
    let limit: i64 = std::env::var("QUAYLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let step = if limit == 8 { 1_500 } else { ROWS as i64 / (limit + 1) };
    let mut kills = 0;
    loop {
        let before = number(&server, "SELECT count(*) FROM load");
        let mut child = world.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let is_over = loop {
            if child.try_wait().expect("it runs").is_some() {
                break true;
            }
            if kills < limit && number(&server, "SELECT count(*) FROM load") >= before + step {
                break false;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        if is_over {
            break;
        }
        if kills == 0 {
            // While it runs, other processes see it and leave it alone.
            let shown = world.run(&job(&["show", "1"]).join(" "));
            assert!(shown.code(0).out().contains("STARTED"), "{}", shown.out());
        }
        child.kill().expect("it is killed");
        child.wait().expect("it is gone");
        kills += 1;
        // The server frees the lock of a killed process when it has ended that process's last statement.
        let until = Instant::now() + Duration::from_secs(20);
        let listed = loop {
            let listed = world.run(&job(&["list", "-n", "1", "--json"]).join(" "));
            if !listed.out().contains("\"STARTED\"") || Instant::now() > until {
                break listed;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let last = listed.code(0).out();
        let last =
            last.split("\"jobExecutionId\":").nth(1).and_then(|rest| rest.split(',').next()).expect("an execution");
        if listed.out().contains("COMPLETED") {
            // The kill came after the last commit.
            break;
        }
        assert!(listed.out().contains("FAILED"), "{}", listed.out());
        words = job(&["restart", last]);
    }
    assert!(kills > 0, "the job ended before the first kill");
    assert_eq!(number(&server, "SELECT count(*) FROM load"), ROWS as i64);
    assert!(world.run(&job(&["list", "-n", "1"]).join(" ")).out().contains("COMPLETED"));
    stopped_from_elsewhere(&world, &server, &job);
    requests_for_a_store_in_the_same_folder(&world, &job);
    a_full_disk(&world, &url);
    a_database_that_is_restarted(&world, &server, &job);
    let bare = world.run("job list --repository mysql://somewhere");
    assert_eq!(bare.code, Some(2));
    assert!(bare.err().contains("write postgresql://USER@HOST:PORT/DATABASE"), "{}", bare.err());
    let tls = world.run("job list --repository postgresql://u@127.0.0.1/db?sslmode=verify-full&sslrootcert=");
    assert!(tls.err().contains("error[") && tls.err().contains("certificate"), "{}", tls.err());
    let shared = world.run("job list --store postgresql://u@127.0.0.1/db");
    assert!(shared.err().contains("name a database for the jobs with --repository"), "{}", shared.err());
    let closed = world.run("job list --repository postgresql://secretuser:secretword@127.0.0.1:1/db");
    assert!(closed.err().contains("error[JOB-030]") && !closed.err().contains("secretword"), "{}", closed.err());
}

/// `topic` with a repository in a database was refused. A queue of a store, in a folder or in the same database, gets each event once and in order,
/// although processes are killed between the commit of an event and its message.
#[test]
fn events_reach_a_queue_of_any_store() {
    let world = world();
    let server = match OwnServer::start(&world.path("server"), Durable::No) {
        Ok(server) => server,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: events_reach_a_queue_of_any_store: PostgreSQL is not installed");
            return;
        }
        Err(error) => panic!("the server does not start: {error}"),
    };
    let sql = |script: &str| Connection::open(&server.endpoint()).and_then(|mut c| c.script(script)).expect("it runs");
    sql("CREATE TABLE load (id bigint PRIMARY KEY, name text)");
    let url = server.url();
    world.write("jobs/events.toml", "keep = [\"jobs/#\"]\ncheckpoint-sample-ms = 20\ntopic = \"EVENTS\"\n");
    let missing = world.run(&format!("job start job.xml --repository {url}"));
    assert!(missing.code(2).err().contains("data holds no store"), "{}", missing.err());
    for store in ["data", &url] {
        let place = format!("--repository {url} --store {store}");
        world.run(&format!("queue define EVENTS --store {store}")).code(0);
        let said = world.run(&format!("job events --repository {url}")).err();
        let after = said.rsplit("--after ").next().expect("a position").trim().to_owned();
        sql("TRUNCATE load");
        let mut words = format!("job start job.xml {place}");
        for kill in 0..5 {
            let before = number(&server, "SELECT count(*) FROM load");
            let mut child = world.command(words.split(' '));
            let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            while kill < 4
                && child.try_wait().expect("it runs").is_none()
                && number(&server, "SELECT count(*) FROM load") < before + 2_000
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            if kill < 4 {
                // It has ended if the machine is quick.
                let _ = child.kill();
            }
            child.wait().expect("it ends");
            let listed = world.run(&format!("job list -n 1 --json --repository {url}"));
            let last = listed.code(0).out();
            if last.contains("\"COMPLETED\"") {
                break;
            }
            let last = last.split("\"jobExecutionId\":").nth(1).and_then(|rest| rest.split(',').next());
            words = format!("job restart {} {place}", last.expect("an execution"));
        }
        assert_eq!(number(&server, "SELECT count(*) FROM load"), ROWS as i64);
        // An undisturbed job moves the remaining events.
        let batchlet = "<batchlet ref=\"quayline.commandBatchlet\"><properties><property name=\"command\" value=\"true\"/></properties></batchlet>";
        let job = format!(
            "<job id=\"last\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\">{batchlet}</step></job>"
        );
        world.write("last.xml", job);
        world.run(&format!("job start last.xml {place}")).code(0);
        let events = world.run(&format!("job events --json --after {after} --repository {url}")).out();
        let without_position = |line: &str| {
            let mut event: serde_json::Value = serde_json::from_str(line).expect("JSON");
            event.as_object_mut().expect("an event").remove("position");
            event
        };
        let expected: Vec<_> = events.lines().map(without_position).collect();
        let mut got = Vec::new();
        loop {
            let ran = world.run(&format!("queue get EVENTS --store {store}"));
            if ran.code != Some(0) {
                break;
            }
            got.push(without_position(&ran.out()));
        }
        assert!(got.len() > 30, "{}", got.len());
        assert_eq!(got, expected, "{store}");
    }
}

fn stopped_from_elsewhere(world: &World, server: &OwnServer, job: &dyn Fn(&[&str]) -> Vec<String>) {
    let mut connection = Connection::open(&server.endpoint()).expect("the server answers");
    connection.script("TRUNCATE load").expect("the table is there");
    let mut child = world.command(job(&["start", "job.xml"]));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    while number(server, "SELECT count(*) FROM load") == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let last =
        number(server, "SELECT max(get_byte(key, 8)) ::bigint FROM quayline_jobs.record WHERE get_byte(key, 0) = 101")
            .to_string();
    let stopped = world.run(&job(&["stop", &last]).join(" "));
    let status = child.wait().expect("it ends");
    // On a quick machine the job may have completed before it looked.
    if status.code() == Some(3) {
        stopped.code(0);
        let again = world.run(&job(&["restart", &last]).join(" "));
        again.code(0);
    } else {
        assert_eq!(status.code(), Some(0));
    }
    assert_eq!(number(server, "SELECT count(*) FROM load"), ROWS as i64);
}

/// Regression: requests for executions of a store in the same folder stopped those of a database with the same numbers, and were then removed.
fn requests_for_a_store_in_the_same_folder(world: &World, job: &dyn Fn(&[&str]) -> Vec<String>) {
    let batchlet = "<batchlet ref=\"quayline.commandBatchlet\"><properties><property name=\"command\" value=\"sleep 1\"/></properties></batchlet>";
    let text = format!(
        "<job id=\"slow\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\">{batchlet}</step></job>"
    );
    world.write("slow.xml", text);
    for folder in ["both/job-stops", "both/job-asks"] {
        std::fs::create_dir_all(world.path(folder)).expect("a folder");
    }
    let files: Vec<String> =
        (1..100).map(|number| format!("both/job-stops/{number}")).chain(["both/job-asks/9.ask".to_owned()]).collect();
    for file in &files {
        world.write(file, "list\n10\nfalse\n");
    }
    world.run(&job(&["start", "slow.xml", "--store", "both"]).join(" ")).code(0);
    assert!(files.iter().all(|file| world.path(file).exists()), "requests for another process are gone");
    assert!(!world.path("both/job-asks/9.answer").exists(), "a question for another process has an answer");
}

/// The process of an execution is gone, but after a restart of the database it counts as alive for a minute: `stop` said that it stops, and
/// `restart` said to stop it.
fn a_database_that_is_restarted(world: &World, server: &OwnServer, job: &dyn Fn(&[&str]) -> Vec<String>) {
    Connection::open(&server.endpoint()).and_then(|mut c| c.script("TRUNCATE load")).expect("the table is there");
    let mut child = world.command(job(&["start", "job.xml"]));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    while number(server, "SELECT count(*) FROM load") == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let listed = world.run(&job(&["list", "-n", "1", "--json"]).join(" "));
    let last =
        listed.out().split("\"jobExecutionId\":").nth(1).and_then(|rest| rest.split(',').next()).map(str::to_owned);
    let last = last.expect("an execution");
    server.stop();
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    server.run().expect("it starts again");
    let stopped = world.run(&job(&["stop", &last]).join(" "));
    stopped.code(0);
    let said = stopped.err().replace('\n', " ");
    assert!(said.contains("is not connected to the database") && said.contains("60 seconds"), "{said}");
    let restarted = world.run(&job(&["restart", &last]).join(" "));
    let said = restarted.code(2).err().replace('\n', " ");
    assert!(said.contains("JOB-023") && said.contains("free 60 seconds after"), "{said}");
    let script = "UPDATE quayline_jobs.owner SET until = now() - interval '1 second'";
    Connection::open(&server.endpoint()).and_then(|mut c| c.script(script)).expect("the row is there");
    world.run(&job(&["restart", &last]).join(" ")).code(0);
}

/// The disk of a writer is full: the step fails with the file's name, and a restart with free space produces the file of an undisturbed run.
fn a_full_disk(world: &World, url: &str) {
    let property = |name: &str, value: &str| format!("<property name=\"{name}\" value=\"{value}\"/>");
    let artifact = |element: &str, name: &str, file: &str| {
        format!("<{element} ref=\"quayline.{name}\"><properties>{}</properties></{element}>", property("file", file))
    };
    let job = format!(
        "<job id=\"copy\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"copy\"><chunk item-count=\"20\">{}{}</chunk></step></job>",
        artifact("reader", "fileReader", "in.csv"),
        artifact("writer", "fileWriter", "copy.csv")
    );
    world.write("copy.xml", job);
    // A limit of the system simulates a full disk: a write is truncated, and the next one fails.
    let full =
        world.shell(&format!("trap '' XFSZ; ulimit -f 101; exec \"$Q\" job start copy.xml --json --repository {url}"));
    assert_eq!(full.code, Some(1), "{}{}", full.out(), full.err());
    assert!(full.out().contains("copy.csv.partial cannot be written"), "{}", full.out());
    let number =
        full.out().split("\"jobExecutionId\":").nth(1).and_then(|rest| rest.split(',').next()).map(str::to_owned);
    let number = number.expect("an execution");
    world.run(&format!("job restart {number} --repository {url}")).code(0);
    assert_eq!(world.read("copy.csv"), world.read("in.csv"));
}
