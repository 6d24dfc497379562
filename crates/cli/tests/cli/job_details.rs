//! What belongs to an instance or an execution over HTTP: pages of executions and steps, step executions by number, job logs, times of chunks.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::job_api::{Server, id, job, links, property};
use crate::world::World;

/// Three steps, of which the last one fails without the file `go`.
fn steps() -> String {
    let step = |id: &str, next: &str, command: &str| {
        let properties = property("command", command);
        format!(
            "<step id=\"{id}\"{next}><batchlet ref=\"quayline.commandBatchlet\"><properties>{properties}</properties></batchlet></step>"
        )
    };
    let all =
        [step("a", " next=\"b\"", "true"), step("b", " next=\"c\"", "true"), step("c", "", "test -e go")].concat();
    format!("<job id=\"steps\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\">{all}</job>")
}

fn numbers(list: &Value, member: &str) -> Vec<u64> {
    list.as_array().expect("a list").iter().map(|one| one[member].as_u64().expect("a number")).collect()
}

#[test]
fn sub_lists_have_pages_and_step_executions_have_numbers() {
    let world = World::with([("jobs/steps.xml", steps().as_bytes())]);
    let server = Server::start_with(&world, &[]);
    let mut last = id(&server.json("POST", "/batch/jobinstances", &json!({ "jobXMLName": "steps" }), 201));
    for _ in 0..2 {
        assert_eq!(server.ended(last)["batchStatus"], "FAILED");
        last = id(&server.json("PUT", &format!("/batch/jobexecutions/{last}?action=restart"), &Value::Null, 200));
    }
    server.ended(last);
    assert_eq!(last, 3);

    // Follow the links of all pages.
    let all = |path: &str, list: &str, member: &str| {
        let (mut page, mut found, mut pages) = (server.get(path), Vec::new(), 0);
        loop {
            pages += 1;
            found.extend(numbers(&page[list], member));
            let Some((_, _, next)) = links(&page).into_iter().find(|(rel, ..)| rel == "next") else { break };
            page = server.get(&next);
        }
        (found, pages)
    };
    let executions = all("/batch/jobinstances/1/jobexecutions?pageSize=2", "jobExecutions", "jobExecutionId");
    assert_eq!(executions, (vec![3, 2, 1], 2));
    let steps = all("/batch/jobexecutions/1/stepexecutions?pageSize=1", "stepExecutions", "stepExecutionId");
    assert_eq!(steps, (vec![1_000_001, 1_000_002, 1_000_003], 3));
    let logs = all("/batch/jobinstances/1/joblogs?pageSize=2", "jobLogs", "jobExecutionId");
    assert_eq!(logs, (vec![3, 2, 1], 2));
    for path in ["jobinstances/1/jobexecutions", "jobexecutions/1/stepexecutions", "jobinstances/1/joblogs"] {
        for query in ["page=-1", "pageSize=0", "pageSize=1001", "pages=1"] {
            server.json("GET", &format!("/batch/{path}?{query}"), &Value::Null, 400);
        }
    }

    // A number names one step execution in all the repository.
    let step = server.get("/batch/stepexecutions/2000001");
    assert_eq!(
        (&step["stepName"], &step["jobExecutionId"], &step["batchStatus"]),
        (&"c".into(), &2.into(), &"FAILED".into())
    );
    let followed: Vec<Value> = links(&step).iter().map(|(_, _, href)| server.get(href)).collect();
    assert_eq!(followed[0], step);
    assert_eq!((id(&followed[1]), &followed[2]["instanceId"]), (2, &1.into()));
    for (number, status) in [("2000004", 404), ("9000001", 404), ("7", 404), ("c", 400)] {
        let refused = server.json("GET", &format!("/batch/stepexecutions/{number}"), &Value::Null, status);
        assert!(refused["findings"][0]["hint"].is_string(), "{refused}");
    }

    // The logs of an instance are listed, and joined from the oldest to the newest.
    let listed = server.get("/batch/jobinstances/1/joblogs");
    assert!(numbers(&listed["jobLogs"], "bytes").iter().all(|bytes| *bytes > 0), "{listed}");
    let (status, text) = server.ask("GET", "/batch/jobinstances/1/joblogs?type=text", b"").expect("an answer");
    let text = String::from_utf8(text).expect("UTF-8");
    let restarts: Vec<_> = ["restarts execution 1", "restarts execution 2"].iter().map(|of| text.find(of)).collect();
    assert!(status == 200 && restarts[0].is_some() && restarts[0] < restarts[1], "{text}");
    server.json("GET", "/batch/jobinstances/1/joblogs?type=zip", &Value::Null, 400);
    server.json("GET", "/batch/jobinstances/9/joblogs", &Value::Null, 404);
    server.json("GET", "/batch/jobinstances/9/joblogs?type=text", &Value::Null, 404);
    // A log that is gone is listed without a size.
    std::fs::remove_file(world.path("data/job-logs/2.log")).expect("a log");
    let listed = server.get("/batch/jobinstances/1/joblogs");
    assert_eq!(listed["jobLogs"][1]["bytes"], Value::Null, "{listed}");

    // Changed in the last day, and before.
    for (query, count) in [("%3E1d", 1), ("%3C1d", 0), ("2001-01-01:", 1), (":2001-01-01", 0)] {
        for list in ["jobinstances", "jobexecutions"] {
            let found = server.get(&format!("/batch/{list}?lastUpdatedTime={query}&pageSize=1"));
            let found = found["jobInstances"].as_array().or(found["jobExecutions"].as_array());
            assert_eq!(found.map(Vec::len), Some(count), "{list}, {query}");
        }
    }
    server.json("GET", "/batch/jobinstances?lastUpdatedTime=3d", &Value::Null, 400);
}

/// The distribution of the times of chunks is there while a step runs, and after it.
#[test]
fn times_of_chunks_are_known_while_a_step_runs() {
    let chunk = format!(
        "<chunk item-count=\"1\"><reader ref=\"quayline.fileReader\"><properties>{}</properties></reader>\
         <processor ref=\"quayline.commandProcessor\"><properties>{}</properties></processor>\
         <writer ref=\"quayline.fileWriter\"><properties>{}</properties></writer></chunk>",
        property("file", "in.txt"),
        property("command", "sleep 0.05; cat"),
        property("file", "out.txt")
    );
    let world =
        World::with([("jobs/slow.xml", job("slow", &chunk).as_bytes()), ("in.txt", "line\n".repeat(500).as_bytes())]);
    let server = Server::start_with(&world, &[]);
    let running = id(&server.json("POST", "/batch/jobinstances", &json!({ "jobXMLName": "slow" }), 201));
    let end = Instant::now() + Duration::from_secs(60);
    let of = loop {
        let step = server.get(&format!("/batch/jobexecutions/{running}/stepexecutions"))["stepExecutions"][0].clone();
        if step["chunkNanoseconds"]["chunks"].as_u64() >= Some(3) {
            break step;
        }
        assert!(Instant::now() < end, "{step}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(of["batchStatus"], "STARTED");
    let process = &of["chunkNanoseconds"]["processor"];
    assert!(
        process["p50"].as_u64() > Some(40_000_000) && process["p50"].as_u64() <= process["max"].as_u64(),
        "{process}"
    );
    server.json("PUT", &format!("/batch/jobexecutions/{running}?action=stop"), &Value::Null, 200);
    let ended = server.ended(running);
    let chunks = &ended["stepExecutions"][0]["chunkNanoseconds"];
    assert_eq!(chunks["chunks"], ended["stepExecutions"][0]["metrics"]["COMMIT_COUNT"], "{ended}");
    let shown = world.run(&format!("job show {running} --times")).code(0).out();
    assert!(shown.contains("microseconds of a chunk, 50 %, 95 %, 99 % and at most, of "), "{shown}");
}
