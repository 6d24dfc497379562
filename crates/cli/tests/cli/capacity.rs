//! `selftest`, `check-report`, `predict`, `size` and `advise`.

use std::path::Path;

use serde_json::Value;

use crate::world::World;

/// A file of `examples/capacity`.
fn example(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/capacity").join(name);
    std::fs::read(path).expect("the example is there")
}

#[test]
fn the_self_test_passes_and_says_how_much_it_computed() {
    let world = World::new();
    let ran = world.run("selftest capacity");
    let text = ran.code(0).out();
    assert!(text.contains("published answers") && !text.contains("WRONG"), "{text}");
    let json: Value = serde_json::from_str(&world.run("selftest capacity --json").code(0).out()).expect("JSON");
    assert_eq!(json["schema"], "quayline.selftest/1");
    assert_eq!(json["figures"], json["passed"]);
    assert!(json["figures"].as_u64().is_some_and(|figures| figures > 200));
}

/// Four reports contradict themselves in six ways: two ratings, a stale product twice, its share, no time for a response, totals that are no
/// sums, and a column that was never measured. What is right beside them stays unnamed.
#[test]
fn the_faults_of_printed_reports_are_named() {
    let world = World::with([("figures.toml", &example("report-figures.toml")[..])]);
    let ran = world.run("check-report figures.toml");
    let (out, err) = (ran.code(1).out(), ran.err());
    assert_eq!(out, "12 figures checked, 8 faults\n");
    for fault in [
        "rating of the 2064-1C5: one figure has two values: 2.35 and 1.47",
        "example 1, in the text: product contradicts its factors: printed 2054, recomputed",
        "example 1, 20 % in the text: product contradicts its factors: printed 410, recomputed",
        "example 2, in the text: product contradicts its factors: printed 429, recomputed",
        "100 clients: no time for a response",
        "total of 15 minutes: total contradicts its parts: printed 12951, recomputed",
        "total of an hour: total contradicts its parts: printed 51808, recomputed",
        "hourly column: calculated column, not a measurement: each row of the second column is 4 times the first",
    ] {
        assert!(err.contains(fault), "{fault} is missing in\n{err}");
    }
    assert!(!err.contains("in parentheses") && !err.contains("figure 2"), "{err}");
    let json: Value = serde_json::from_str(&world.run("check-report figures.toml --json").code(1).out()).expect("JSON");
    assert_eq!(json["faults"].as_array().map(Vec::len), Some(8));
}

#[test]
fn a_figure_without_its_numbers_is_refused_at_its_line() {
    let world = World::with([("figures.toml", &b"[[figure]]\nlaw = \"product\"\nfactors = [2, 3]\n"[..])]);
    let ran = world.run("check-report figures.toml");
    let err = ran.code(2).err();
    assert!(err.contains("CAP-001") && err.contains("`printed` is missing") && err.contains("figures.toml:1"), "{err}");
    let world = World::with([("figures.toml", &b"[[figure]]\nlaw = \"guess\"\n"[..])]);
    assert!(world.run("check-report figures.toml").code(2).err().contains("CAP-001"));
}

#[test]
fn a_prediction_names_bottleneck_limit_and_date() {
    let world = World::with([("gateway.toml", &example("gateway.toml")[..])]);
    let ran = world.run("predict gateway.toml --users 1,200,400 --growth 3% --from 2026-01-31 --json");
    let json: Value = serde_json::from_str(&ran.code(0).out()).expect("JSON");
    assert_eq!(json["bottleneck"], "store");
    assert_eq!(json["basis"]["method"], "log-domain convolution");
    assert_eq!(json["basis"]["origin"], "assumed");
    // One user waits for nobody.
    let first = json["predictions"][0]["response_s"].as_f64().expect("a number");
    assert!((first - 0.0332).abs() < 1e-9, "{first}");
    // Throughput never exceeds the slowest station.
    assert!(json["predictions"][2]["throughput"].as_f64().is_some_and(|rate| rate < 1.0 / 0.0012));
    let most = json["users_max"].as_u64().expect("a number");
    assert!((200..400).contains(&most), "{most}");
    // 400 users are above it already.
    assert_eq!(json["exhausted_months"], 0.0);
    let text = world.run("predict gateway.toml --users 200 --growth 3% --from 2026-01-31").code(0).out();
    assert!(text.contains("Bottleneck: store") && text.contains("Exhausted: 202"), "{text}");
}

#[test]
fn a_prediction_needs_no_file() {
    let world = World::new();
    let text = world.run("predict --users 100 --think 500ms --cpu 2ms --cores 4").code(0).out();
    assert!(text.contains("199.2") && text.contains("Bottleneck: cpu, from 1004 users"), "{text}");
    assert!(world.run("predict --users 100").code(2).err().contains("--cpu"));
    assert!(world.run("predict --users 0 --cpu 2ms").code(2).err().contains("--users"));
    assert!(world.run("predict --users 5 --cpu 2").code(2).err().contains("500ms"));
}

#[test]
fn sizing_names_the_smallest_machine_that_fits() {
    let world = World::with([("web.toml", &example("web.toml")[..])]);
    let text = world.run("size web.toml").code(0).out();
    assert!(text.contains("270-2432") && text.contains("Rating needed: 844.9"), "{text}");
    assert!(
        text.contains("lacks rating") && text.contains("larger than needed") && text.contains("55.3 % now"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&world.run("size web.toml --json").code(0).out()).expect("JSON");
    assert_eq!(json["machine"], "270-2432");
    assert_eq!(json["workloads"][0]["source"], "iSeries, table 6.1");
}

#[test]
fn a_mix_that_fits_no_machine_is_rejected() {
    let text =
        String::from_utf8(example("web.toml")).expect("text").replace("horizon-months = 0", "horizon-months = 240");
    let grown = text.replace("cost = 2.71", "cost = 27.1");
    let world = World::with([("web.toml", grown.as_bytes())]);
    let ran = world.run("size web.toml");
    assert!(ran.code(1).err().contains("CAP-006"), "{}", ran.err());
}

#[test]
fn advice_names_its_evidence() {
    let world = World::with([("m.toml", &b"[measured]\njournal-writes = 4000\ncommit-interval = 25\ncpu = 0.3\n"[..])]);
    let text = world.run("advise m.toml").code(0).out();
    assert!(
        text.contains("commit-interval\n") && text.contains("because journal-writes is 4000, above 1000"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&world.run("advise m.toml --json").code(0).out()).expect("JSON");
    assert_eq!(json["advice"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["advice"][0]["evidence"][1]["measured"], 25.0);
    assert!(world.run("advise --list").code(0).out().lines().count() > 200);
    let world = World::with([("m.toml", &b"[measured]\njournal-write = 4000\n"[..])]);
    let err = world.run("advise m.toml").code(2).err();
    assert!(err.contains("CAP-001") && err.contains("did you mean `journal-writes`?"), "{err}");
}
