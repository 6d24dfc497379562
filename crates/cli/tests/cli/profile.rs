//! `quayline profile`: what a run cost, and the model that it makes.

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
