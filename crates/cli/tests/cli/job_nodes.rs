//! Servers that share a job repository: one is killed, and another takes its jobs over.

use std::time::{Duration, Instant};

use quayline_postgres::server::{Durable, OwnServer};
use serde_json::{Value, json};

use crate::job_api::{Server, id, job, property};
use crate::world::World;

/// Creates a job that runs until a file exists, for at most a minute.
fn world() -> World {
    let command = "for i in $(seq 600); do test -e go &amp;&amp; exit 0; sleep 0.1; done; exit 1";
    let wait = format!(
        "<batchlet ref=\"quayline.commandBatchlet\"><properties>{}</properties></batchlet>",
        property("command", command)
    );
    World::with([("jobs/wait.xml", job("wait", &wait).as_bytes())])
}

fn start(server: &Server, day: &str) -> u64 {
    let body = json!({ "jobXMLName": "wait", "jobParameters": { "day": day } });
    id(&server.json("POST", "/batch/jobinstances", &body, 201))
}

fn kill(mut server: Server) {
    // On Unix, this is SIGKILL.
    server.child.kill().expect("it is killed");
    server.child.wait().expect("it is gone");
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Regression: only the start of a server or a command checked for executions whose process had ended. An execution of a killed server stayed STARTED
/// on all others, and a restart was refused. Now each server checks continuously, a request checks at once, and a project may let servers restart
/// such jobs.
#[test]
fn a_server_takes_over_what_a_killed_one_left() {
    let world = world();
    let database = match OwnServer::start(&world.path("server"), Durable::No) {
        Ok(server) => server,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: a_server_takes_over_what_a_killed_one_left: PostgreSQL is not installed");
            return;
        }
        Err(error) => panic!("the server does not start: {error}"),
    };
    let url = database.url();
    let node = |store: &str| Server::start_with(&world, &["--store", store, "--job-repository", &url]);
    let status = |server: &Server, id: u64| server.get(&format!("/batch/jobexecutions/{id}"))["batchStatus"].clone();

    let (first, second) = (node("data-1"), node("data-2"));
    let (asked, left) = (start(&first, "1"), start(&first, "2"));
    // A start is answered before the job runs, so it may still be STARTING.
    until("both executions run", || [asked, left].iter().all(|id| status(&second, *id) == "STARTED"));
    let refused = second.json("PUT", &format!("/batch/jobexecutions/{asked}?action=restart"), &Value::Null, 409);
    assert_eq!(refused["findings"][0]["code"], "JOB-023", "its process runs");
    // The log is on the other node, which the answer names.
    let refused = second.json("GET", &format!("/batch/jobexecutions/{asked}/joblogs"), &Value::Null, 404);
    let hint = refused["findings"][0]["hint"].as_str().expect("a hint");
    assert!(hint.contains("data-1") && hint.contains("quayline job log"), "{refused}");
    kill(first);
    // The database releases the locks of a killed process a moment after its end.
    let restart = format!("/batch/jobexecutions/{asked}?action=restart");
    let freed = Instant::now() + Duration::from_secs(5);
    let again = loop {
        match second.ask("PUT", &restart, b"").expect("an answer") {
            (200, text) => break serde_json::from_slice::<Value>(&text).expect("JSON"),
            (status, text) => assert!(status == 409 && Instant::now() < freed, "{status} {}", text.escape_ascii()),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(status(&second, asked), "FAILED");
    until("the execution that nobody asked for stays STARTED", || status(&second, left) == "FAILED");
    let shown = second.get(&format!("/batch/jobexecutions/{left}"));
    assert_eq!(shown["cause"], "the process that ran it ended");
    world.write("go", "");
    assert_eq!(second.ended(id(&again))["batchStatus"], "COMPLETED");
    // By default, the other execution is not restarted automatically.
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(second.get("/batch/jobexecutions")["jobExecutions"][0]["jobExecutionId"], id(&again));
    drop(second);

    std::fs::remove_file(world.path("go")).expect("the file is there");
    world.write("jobs/settings.toml", "take-over = \"restart\"\nrestarts-max = 1\n");
    let (first, second) = (node("data-1"), node("data-2"));
    let run = start(&first, "3");
    kill(first);
    let newest = |server: &Server| server.get("/batch/jobexecutions?pageSize=1")["jobExecutions"][0].clone();
    until("nobody restarts the execution", || id(&newest(&second)) > run);
    let next = newest(&second);
    assert_eq!(
        (&next["jobInstanceId"], &next["jobParameters"]["day"]),
        (&second.get(&format!("/batch/jobexecutions/{run}"))["jobInstanceId"], &"3".into())
    );
    assert!(next["node"].as_str().is_some_and(|node| node.ends_with("data-2")), "{next}");
    assert_eq!(status(&second, run), "FAILED");
    // The execution was restarted once, which is the maximum.
    let third = node("data-3");
    kill(second);
    until("the execution stays STARTED", || status(&third, id(&next)) == "FAILED");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(id(&newest(&third)), id(&next), "nobody restarts it again");
    world.write("go", "");
    let last = third.json("PUT", &format!("/batch/jobexecutions/{}?action=restart", id(&next)), &Value::Null, 200);
    assert_eq!(third.ended(id(&last))["batchStatus"], "COMPLETED");
}
