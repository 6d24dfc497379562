//! `quayline profile`: cost of a run, and the model derived from it.

use crate::world::{World, ebcdic};

/// A profile of two operations: 10 ms of CPU for each of 100 requests, and a provider that takes 30 ms.
const SERVED: &[u8] = br#"{"schema":"quayline.profile/1","kind":"serve","host":{"processor":"P","threads":4,"system":"linux 6","build":"release"},
"wall_s":10.0,"cpu_s":2.0,"classes":[
{"name":"get","unit":"request","count":100,"bytes_in":0,"bytes_out":1000,"wall_s":4.0,
 "phases":[{"phase":"decode","wall_s":0.5},{"phase":"call","wall_s":3.0}],"times":[[0.03,50],[0.05,50]]},
{"name":"put","unit":"request","count":10,"bytes_in":0,"bytes_out":0,"wall_s":1.0,"phases":[{"phase":"encode","wall_s":0.5}]}]}"#;

#[test]
fn a_run_writes_its_costs_and_they_are_shown() {
    let world = World::new();
    world.write("a.cpy", "       01 A.\n          05 ID PIC 9(4).\n          05 NAME PIC X(6).\n");
    world.write("a.dat", ebcdic(&"0001ALDER ".repeat(500)));
    world.run("convert a.dat -c a.cpy -e cp037 -o a.jsonl --profile a.json").code(0);
    let ran = world.run("profile show a.json --report shown");
    ran.code(0);
    assert!(ran.out().contains("convert: 500 records") && ran.out().contains("decode"), "{}", ran.out());
    let csv = String::from_utf8(world.read("shown.csv")).expect("UTF-8");
    assert!(csv.lines().any(|line| line.contains("CPU time")), "{csv}");
    // The model is one that `predict` takes.
    let model = world.run("profile model a.json");
    model.code(0);
    world.write("model.toml", model.out());
    world.run("predict model.toml --users 1").code(0);
}

#[test]
fn a_model_has_the_demands_of_one_class() {
    let world = World::with([("s.json", SERVED)]);
    let ran = world.run("profile model s.json");
    ran.code(2);
    assert!(ran.err().contains("has 2 classes") && ran.err().contains("get, put"), "{}", ran.err());
    let ran = world.run("profile model s.json --class get");
    ran.code(0);
    // Half of the CPU time, for 100 requests.
    for line in ["demand = \"10000.000us\"", "servers = 4", "demand = \"30000.000us\"", "servers = 0"] {
        assert!(ran.out().lines().any(|found| found == line), "{line} is not in\n{}", ran.out());
    }
    world.write("get.toml", ran.out());
    let predicted = world.run("predict get.toml --users 1 --think 60ms --json");
    predicted.code(0);
    // One user: a transaction takes 10 ms and 30 ms, after 60 ms of thinking.
    assert!(
        predicted.out().contains("\"throughput\": 10.0") || predicted.out().contains("\"throughput\": 9.99"),
        "{}",
        predicted.out()
    );
    let other = world.run("profile model s.json --class del");
    other.code(2);
    assert!(other.err().contains("CAP-015"), "{}", other.err());
}

#[test]
fn a_class_whose_phases_do_not_explain_its_time_is_untrustworthy() {
    let world = World::with([("s.json", SERVED)]);
    // Half a second of four is in no phase of `get`, and half of one in no phase of `put`.
    let ran = world.run("profile show s.json");
    assert!(ran.code(6).err().contains("More than 2 % of the time is in no phase: get, put"), "{}", ran.err());
    assert!(
        ran.out().contains("12.5 % of the time, untrustworthy") && ran.out().contains("50.0 % of the time"),
        "{}",
        ran.out()
    );
    let text = String::from_utf8(SERVED.to_vec()).expect("UTF-8");
    let whole = text.replace("\"wall_s\":4.0", "\"wall_s\":3.55").replace("\"wall_s\":1.0", "\"wall_s\":0.5");
    world.write("w.json", whole);
    let ran = world.run("profile show w.json");
    assert!(ran.code(0).out().contains("1.4 % of the time\n") && !ran.out().contains("untrustworthy"), "{}", ran.out());
}

/// A record is read in 1 us by one thread at a time, converted in 8 us at once, and written in 2 us in order.
const RUN: &[u8] = br#"{"schema":"quayline.profile/1","kind":"convert","host":{"processor":"P","threads":4,"system":"linux 6","build":"release"},
"wall_s":11.5,"cpu_s":10.0,"classes":[
{"name":"convert","unit":"record","count":1000000,"bytes_in":0,"bytes_out":0,"wall_s":11.5,"phases":[
{"phase":"read","wall_s":1.0,"cpu_s":1.0},{"phase":"decode","wall_s":8.0,"cpu_s":8.0},{"phase":"write","wall_s":2.0,"cpu_s":1.0},
{"phase":"commit","wall_s":0.3,"cpu_s":0.0},{"phase":"other","wall_s":0.2,"cpu_s":0.2}]}]}"#;

#[test]
fn a_run_over_files_is_predicted_by_its_threads() {
    let world = World::with([("run.json", RUN), ("served.json", SERVED)]);
    let predicted = |more: &str| -> serde_json::Value {
        let out = world.run(&format!("predict work --profile run.json --json {more}")).code(0).out();
        serde_json::from_str(&out).expect("JSON")
    };
    let answer = predicted("--workers 1,2,64 --items 2000000");
    let rate =
        |answer: &serde_json::Value, at: usize| answer["predictions"][at]["throughput_per_s"].as_f64().expect("a rate");
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-3, "{found} instead of {expected}");
    // One thread does one phase after another. Four processors do 10 us each of 64 threads: a record in 2.5 us.
    near(rate(&answer, 0), 1e6 / 11.0);
    assert!(rate(&answer, 1) > 1.6 * rate(&answer, 0) && rate(&answer, 1) < 2.0 * rate(&answer, 0), "{answer}");
    near(rate(&answer, 2), 4e5);
    // Opening and making durable is done once.
    near(answer["predictions"][0]["elapsed_s"].as_f64().expect("a time"), 0.5 + 22.0);
    // With enough processors the output is the limit, with 1 us of computation.
    near(rate(&predicted("--workers 64 --processors 64"), 0), 5e5);
    near(rate(&predicted("--workers 64 --processors 64 --faster 4"), 0), 1e6 / 1.25);
    let text = world.run("predict work --profile run.json --workers 64 --processors 64").code(0).out();
    assert!(text.contains("Bottleneck: output"), "{text}");
    let refused = world.run("predict work --profile served.json").code(2).err();
    assert!(
        refused.contains("is not the profile of a run over files") && refused.contains("profile model"),
        "{refused}"
    );

    // The profile of a real run.
    world.write("a.cpy", "       01 A.\n          05 ID PIC 9(4).\n          05 NAME PIC X(6).\n");
    world.write("a.dat", ebcdic(&"0001ALDER ".repeat(5_000)));
    world.run("convert a.dat -c a.cpy -e cp037 -o a.jsonl --profile a.json").code(0);
    let text = world.run("predict work --profile a.json --workers 1,2 --items 1000000").code(0).out();
    assert!(text.contains("from 5000 transactions") && text.contains("elapsed"), "{text}");
}

#[test]
fn what_is_no_profile_is_refused() {
    let world = World::with([("b.json", &b"{\"schema\":\"quayline.profile/9\"}"[..]), ("c.json", b"[")]);
    for (file, found) in [("b.json", "quayline.profile/9"), ("c.json", "not a profile"), ("d.json", "cannot be read")] {
        let ran = world.run(&format!("profile show {file}"));
        ran.code(2);
        assert!(ran.err().contains(found), "{}", ran.err());
    }
    world.write("a.cpy", "       01 A.\n          05 ID PIC 9(4).\n").write("a.dat", "0001").write("b.dat", "0002");
    let ran = world.run("convert a.dat b.dat -c a.cpy -e ascii -o . --profile p.json");
    ran.code(2);
    assert!(ran.err().contains("--profile is for one run"), "{}", ran.err());
}
