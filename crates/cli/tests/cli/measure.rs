//! `quayline measure`: the files of a study, and the comparison with an earlier one.

use crate::world::World;

const FLOWS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flows");

fn flow(world: &World, more: &str) -> crate::world::Ran {
    world.run(&format!("measure flow {FLOWS} --sample 4 --seconds 0.2 --applications 1 {more}"))
}

#[test]
fn a_study_is_a_report_that_a_later_one_is_compared_with() {
    let world = World::new();
    let ran = flow(&world, "--report first");
    ran.code(0);
    assert!(ran.out().contains("| 4 Update | persistent | 1 |"), "{}", ran.out());
    assert_eq!(world.files(), ["first.csv", "first.html", "first.json"]);
    let csv = String::from_utf8(world.read("first.csv")).expect("UTF-8");
    assert!(
        csv.lines().any(|line| line.contains("4 Update, persistent, 1 application") && line.contains("rate")),
        "{csv}"
    );
    // No machine is a million times slower from one moment to the next.
    flow(&world, "--baseline first.json --tolerance 100000000% --report second").code(0);
    let page = String::from_utf8(world.read("second.html")).expect("UTF-8");
    assert!(page.contains("the same, by more than"), "the page has no comparison");
}

/// Measures the same requests through the listener: each row has the CPU time of the listener's threads.
#[test]
fn a_flow_is_measured_over_amqp_too() {
    let world = World::new();
    let ran = flow(&world, "--amqp --report over-amqp");
    ran.code(0);
    let text = ran.out();
    let listener = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        cells[6].parse::<f64>().unwrap_or_else(|_| panic!("{row}"))
    };
    let (over, within): (Vec<&str>, Vec<&str>) =
        text.lines().filter(|line| line.starts_with("| 4 Update")).partition(|line| line.contains("over AMQP"));
    assert_eq!((over.len(), within.len()), (2, 2), "{text}");
    assert!(over.iter().all(|row| listener(row) > 0.0), "{text}");
    assert!(within.iter().all(|row| listener(row) == 0.0), "{text}");
    assert!(String::from_utf8(world.read("over-amqp.csv")).expect("UTF-8").contains("4 Update, over AMQP"));
}

/// Regression: a baseline that does not exist was reported after the run.
#[test]
fn a_baseline_is_read_before_the_run() {
    let world = World::new();
    for study in ["convert --scratch .", "sweep", "net", "store", "crypto"] {
        let ran = world.run(&format!("measure {study} --baseline nofile.json"));
        let err = ran.code(2).err();
        assert!(err.starts_with("error[CLI-002]") && err.contains("nofile.json"), "{study}: {err}");
    }
    assert!(world.files().is_empty(), "{:?}", world.files());
}

/// Regression: an unknown sample was reported as a flow file that does not exist, and a run of 0 applications measured nothing.
#[test]
fn samples_and_numbers_at_once_are_checked_before_the_run() {
    let world = World::new();
    let cases = [
        ("flow --sample nonsense", "[possible values: 1, 2b, 3, 4, 5, files, open, buffers]"),
        ("flow --sample 1,2", "invalid value '2'"),
        ("flow --applications 0", "expected a number from 1 to 10000"),
        ("flow --applications 1,20000", "expected a number from 1 to 10000"),
        ("gateway --clients 0", "expected a number from 1 to 10000"),
    ];
    for (options, expected) in cases {
        let err = world.run(&format!("measure {options}")).code(2).err();
        assert!(err.contains(expected), "{options}: {err}");
    }
}

/// Regression: with a negative tolerance, an unchanged figure was worse than in the baseline.
#[test]
fn numbers_without_meaning_are_refused() {
    let world = World::new();
    let options = [
        "measure net --baseline a.json --tolerance",
        "predict audit a.json b.toml --throughput-tolerance",
        "predict audit a.json b.toml --response-tolerance",
        "predict a.toml --users 1 --utilization-max",
        "predict a.toml --users 1 --response-max",
        "predict a.toml --users 1 --p95-max",
        "predict work --member api:a --think",
        "predict work --member api:a --faster",
        "measure net --seconds",
        "measure crypto --seconds",
        "measure store --seconds",
        "measure store --p95-max",
        "measure memory --seconds",
        "measure mix a.toml --warm-up",
        "measure gateway --seconds",
        "measure flow --seconds",
        "measure sizing --error-max",
    ];
    for option in options {
        for number in ["-1", "-1ms", "-1%", "nan", "inf", "-inf"] {
            let err = world.run(&format!("{option}={number}")).code(2).err();
            assert!(err.contains("invalid value"), "{option}={number}: {err}");
        }
    }
}

/// Regression: these commands ignored the second option.
#[test]
fn options_without_effect_are_refused() {
    let world = World::new();
    for command in [
        "advise --list --class api",
        "advise --list --last 5",
        "advise --list --json",
        "advise a.toml --last 5",
        "predict audit a.json b.toml --last 5",
        "predict work --profile a.json --last 5",
    ] {
        let err = world.run(command).code(2).err();
        assert!(err.contains("cannot be used with"), "{command}: {err}");
    }
}

/// The case study runs for every size of the other inputs, at least with its fewest messages.
#[test]
fn the_study_of_a_translator_has_the_case_study() {
    let world = World::new();
    let ran = world.run("measure translate --megabytes-max 0 --report study");
    let text = ran.out();
    let report: serde_json::Value = serde_json::from_slice(&world.read("study.json")).expect("JSON");
    let sections = report["sections"].as_array().expect("sections");
    assert!(sections.iter().any(|section| section["id"] == "case-study"), "{report}");
    for durability in ["buffered", "sync"] {
        let row =
            text.lines().find(|line| line.trim_start().starts_with(durability)).unwrap_or_else(|| panic!("{text}"));
        let figures: Vec<f64> = row.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        let [messages, rate, floor, by_floor, an_hour, _, peak, ..] = figures[..] else { panic!("{row}") };
        assert!(figures.iter().all(|figure| *figure > 0.0), "{row}");
        // The limit leaves each of the four threads its minimum of 640 messages.
        assert_eq!(messages, 2_560.0, "{row}");
        // Each figure is rounded for people.
        assert!((rate / floor - by_floor).abs() < 0.01 && (an_hour / 3_600.0 - rate).abs() <= 1.0, "{row}");
        // The bound of 64 MB is that of a release: the code of a test's build is larger, and its pages count.
        assert!(peak < 96.0 && (peak < 64.1 || row.contains("MORE THAN 64 MB")), "{row}");
    }
    assert!(text.contains("51,808 an hour") && text.contains("each unit of 64 messages"), "{text}");
}

#[test]
fn other_conditions_are_refused_as_a_baseline() {
    let world = World::new();
    flow(&world, "--report first").code(0);
    let ran = flow(&world, "--instances 1 --baseline first.json");
    ran.code(2);
    assert!(ran.err().contains("additional instances") && ran.err().contains("first.json"), "{}", ran.err());
}

#[test]
fn the_network_is_measured_by_kind_of_traffic_and_protection() {
    let world = World::new();
    let ran = world.run("measure net --seconds 0.05 --clients 2 --report net");
    let out = ran.code(0).out();
    for row in [
        "request and response, 128 and 128 bytes: plain",
        "request and response, 64 and 8192 bytes: TLS",
        "connect, request and response, 64 and 8192 bytes: TLS resumed",
        "connect, request and response, 64 and 8192 bytes: TLS full, both with certificates",
        "stream, blocks of 16384 bytes: TLS",
    ] {
        assert!(out.contains(row), "{row} is not in\n{out}");
    }
    let json: serde_json::Value = serde_json::from_slice(&world.read("net.json")).expect("JSON");
    let rows = json["sections"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 10, "{json}");
    for row in rows {
        assert!(row[1].as_f64() > Some(0.0) && row[2].as_f64() > Some(0.0) && row[4].as_f64() > Some(0.0), "{row}");
    }
    // A full handshake signs and makes keys; nothing on this machine makes that as cheap as no TLS at all.
    let relative = |name: &str| {
        let found = rows.iter().find(|row| row[0].as_str().is_some_and(|known| known.ends_with(name)));
        found.and_then(|row| row[3].as_f64()).unwrap_or_else(|| panic!("no {name}: {json}"))
    };
    assert!(relative("TLS full") > 1.0 && relative("TLS full, both with certificates") > 1.0, "{json}");
    assert_eq!(world.files(), ["net.csv", "net.html", "net.json"]);
    // Another number of clients is another run.
    let ran = world.run("measure net --seconds 0.05 --clients 1 --baseline net.json");
    assert!(ran.code(2).err().contains("clients"), "{}", ran.err());
}

#[test]
fn cryptography_is_measured_by_length_and_threads() {
    let world = World::new();
    let ran = world.run("measure crypto --seconds 0.01 --threads 2 --report crypto");
    // In parallel with other tests, the threads may wait more than they run.
    assert!(matches!(ran.code, Some(0 | 6)), "{}", ran.err());
    let json: serde_json::Value = serde_json::from_slice(&world.read("crypto.json")).expect("JSON");
    let rows = json["sections"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 27, "{json}");
    let time = |name: &str| {
        let found = rows.iter().find(|row| row[0].as_str() == Some(name));
        found.and_then(|row| row[2].as_f64()).unwrap_or_else(|| panic!("no {name}: {json}"))
    };
    // Sixty times the bytes are more than ten times the work, for ciphers and digests.
    for name in ["encrypt AES-256-GCM", "decrypt AES-256-GCM", "digest SHA256", "digest SHA512"] {
        let (short, long) = (time(&format!("{name}, 1024 bytes")), time(&format!("{name}, 61440 bytes")));
        assert!(long > 10.0 * short, "{name}: {short} and {long} us");
    }
    assert!(time("sign Ed25519, 1024 bytes") > 0.0 && time("verify ECDSA P-256, 1024 bytes") > 0.0);
    // A private exponent of 2,048 bits costs more than a public one of 17 bits, and more than a signature on a curve.
    let sign = time("sign RSA 2048, 1024 bytes");
    assert!(sign > 2.0 * time("verify RSA 2048, 1024 bytes") && sign > 2.0 * time("sign ECDSA P-256, 1024 bytes"));
}

#[test]
fn a_store_is_measured_by_drivers_and_after_kills() {
    let world = World::new();
    let ran =
        world.run("measure store --seconds 0.1 --drivers 1,4 --open 0,20 --p95-max 10s --scratch . --report store");
    let out = ran.code(0).out();
    let json: serde_json::Value = serde_json::from_slice(&world.read("store.json")).expect("JSON");
    let rows = |section: usize| json["sections"][section]["rows"].as_array().expect("rows").clone();
    assert_eq!((rows(0).len(), rows(1).len(), rows(2).len()), (14, 7, 2), "{out}");
    for row in rows(0) {
        assert!(
            row[1].as_f64() > Some(0.0) && row[2].as_f64() > Some(0.0) && row[4].as_f64() >= row[3].as_f64(),
            "{row}"
        );
    }
    // A scan reads 50 times as many records as a browse, and costs more.
    let cpu = |name: &str| {
        let row = rows(0).into_iter().find(|row| row[0].as_str().is_some_and(|found| found.starts_with(name)));
        row.and_then(|row| row[2].as_f64()).expect("CPU time")
    };
    assert!(cpu("the file of 50,000 records") > cpu("1,000 records by key"), "{out}");
    // Ten seconds are kept by all drivers; and nothing is lost or repeated.
    assert!(rows(1).iter().all(|row| row[1].as_f64() == Some(4.0)), "{out}");
    for row in rows(2) {
        assert!(row[1].as_f64() > Some(0.0) && row[2].as_f64() == Some(0.0) && row[3].as_f64() == Some(0.0), "{row}");
    }
    // The save without compression has the bytes of all entries; a restored store has the same entries.
    let saves = rows(3);
    assert_eq!(saves.len(), 3, "{out}");
    for row in &saves {
        assert!(row[1] == saves[0][1] && (1..6).all(|at| row[at].as_f64() > Some(0.0)), "{row}");
    }
    assert!(saves[0][2].as_f64() == Some(100.0) && saves[1][2].as_f64() < Some(100.0), "{saves:?}");
    assert!(out.contains("after 2 kills every message was there once"), "{out}");
    assert!(!world.files().iter().any(|name| name.starts_with("store/")), "{:?}", world.files());
    let refused = world.run("measure store --drivers 0").code(2).err();
    assert!(refused.contains("--drivers"), "{refused}");
}

/// The file of 30,000 records has more than 2 MB, and less than 16 MB.
#[test]
fn smaller_caches_read_more_pages_for_the_same_load() {
    let world = World::new();
    let command = "measure memory --limits 1,16,2 --records 30000 --drivers 2 --seconds 0.3 --scratch .";
    let out = world.run(&format!("{command} --report memory")).code(0).out();
    let json: serde_json::Value = serde_json::from_slice(&world.read("memory.json")).expect("JSON");
    let rows = json["sections"][0]["rows"].as_array().expect("rows");
    let names: Vec<&str> = rows.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["16 MB", "2 MB", "1 MB"], "{out}");
    for row in rows {
        let number = |at: usize| row[at].as_f64().unwrap_or_else(|| panic!("no number {at}: {row}"));
        assert!(number(1) > 0.0 && number(3) > 0.0 && number(4) <= number(5) && number(5) <= number(6), "{row}");
    }
    // All pages fit 16 MB. With 1 MB, most of the ten reads of a transaction need one.
    let pages = |at: usize| rows[at][7].as_f64().expect("page reads");
    assert!(pages(0) < 1.0 && pages(1) > pages(0) && pages(2) > 3.0 && pages(2) >= pages(1), "{out}");
    assert!(out.contains("of the rate of the largest limit"), "{out}");
    assert!(!world.files().iter().any(|name| name.starts_with("memory/")), "{:?}", world.files());
    let refused = world.run(&format!("{command} --drivers 3 --baseline memory.json")).code(2).err();
    assert!(refused.contains("drivers"), "{refused}");
    assert!(world.run("measure memory --limits 0").code(2).err().contains("--limits"));
}

#[test]
fn a_batch_study_predicts_item_counts_and_is_a_report() {
    let world = World::new();
    let out = world.run("measure batch --in store --records 4000 --report batch").code(0).out();
    let titles = [
        "E1 to E5: item-count",
        "E3 and E4: inserts and deletes",
        "E5: container",
        "predicted from three item-counts",
        "quayline.checkpoints=delta",
        "E7: write object",
        "E8: partitions",
        "E9: events",
        "E10: the listener",
    ];
    for title in titles {
        assert!(out.contains(title), "{title} is not in\n{out}");
    }
    let json: serde_json::Value = serde_json::from_slice(&world.read("batch.json")).expect("JSON");
    let section = |id: &str| {
        let sections = json["sections"].as_array().expect("sections");
        sections.iter().find(|section| section["id"] == id).unwrap_or_else(|| panic!("no {id}: {json}")).clone()
    };
    // The rows of the paper's tables that fit the records of this run.
    assert_eq!(section("item-count")["rows"].as_array().map(Vec::len), Some(8), "{json}");
    // E7 has the parts of a record beside the paper's, and E10 both item-counts of the paper.
    let objects = section("write-object");
    for row in objects["rows"].as_array().expect("rows") {
        assert!((4..12).all(|at| row[at].as_f64() > Some(0.0)), "{row}");
    }
    let process = |at: usize| objects["rows"][at][6].as_f64().expect("µs");
    assert!(process(1) > process(0), "100 kB take longer than 1 kB: {objects}");
    let listener = section("listener");
    let names: Vec<&str> =
        listener["rows"].as_array().expect("rows").iter().filter_map(|row| row[0].as_str()).collect();
    let of = |items: &str| {
        ["without", "times of chunks", "times of chunks and items"].map(|name| format!("{items}, {name}"))
    };
    assert_eq!(names, [of("1000"), of("75")].concat());
    for section in json["sections"].as_array().expect("sections") {
        assert!(section["picture"].is_object() || section["id"] == "account" || section["id"] == "waits", "{section}");
    }
    // The CPU time of the process is accounted by thread, including the cost of accounting.
    let account = section("account");
    let seconds = |at: usize| account["rows"][at][1].as_f64().expect("seconds");
    assert!((seconds(1) - seconds(2) - seconds(3)).abs() < 1e-9 && seconds(1) > 0.0, "{account}");
    assert_eq!(account["rows"][6][0], "cost of this account");
    assert!(seconds(6) > 0.0 && seconds(6) < seconds(1), "{account}");
    // The wall time of its threads is CPU time, waits by reason, and a rest, which is small here.
    let waits = section("waits");
    let seconds = |at: usize| waits["rows"][at][1].as_f64().expect("seconds");
    let parts: f64 = (1..waits["rows"].as_array().expect("rows").len()).map(seconds).sum();
    assert!((seconds(0) - parts).abs() < 1e-6 && seconds(0) > 0.0, "{waits}");
    // Chunks wait for their commits, and the code names that wait.
    assert_eq!(
        (&waits["rows"][6][0], &waits["rows"][14][0]),
        (&"commits of other threads".into(), &"unaccounted".into())
    );
    assert!(seconds(6) > 0.0, "{waits}");
    assert!(seconds(14).abs() < 0.02 * seconds(0) + account["rows"][4][1].as_f64().expect("seconds"), "{waits}");
    for row in section("predicted")["rows"].as_array().expect("rows") {
        assert!(row[2].is_number() && row[3].is_number(), "{row}");
    }
    // Runs of 4,000 records are too short for a verdict; the figure is there.
    let verdict = section("predicted")["notes"][1].as_str().expect("a verdict").to_owned();
    assert!(verdict.starts_with("The largest error of a predicted item-count is "), "{verdict}");
    assert!(verdict.contains("no verdict"), "{verdict}");
}

/// Every table of E1 to E10 also with rows and repository in PostgreSQL, with the floor beside those that have one.
#[test]
fn a_batch_study_in_a_database_has_every_table() {
    let world = World::new();
    let ran = world.run("measure batch --in postgresql --records 2000 --report batch");
    if ran.err().contains("PostgreSQL is not installed") {
        eprintln!("skipped: a_batch_study_in_a_database_has_every_table: PostgreSQL is not installed");
        return;
    }
    let out = ran.code(0).out();
    for title in [
        "E1 to E5: item-count",
        "E5: container and commit of a chunk",
        "E5: parts of a chunk",
        "E3 and E4: inserts and deletes",
        "E6: checkpoint data",
        "E7: write object",
        "E8: partitions",
        "E9: events",
        "E10: the listener",
    ] {
        assert!(out.contains(title), "{title} is not in\n{out}");
    }
    let json: serde_json::Value = serde_json::from_slice(&world.read("batch.json")).expect("JSON");
    let rows = |id: &str| -> Vec<Vec<serde_json::Value>> {
        let sections = json["sections"].as_array().expect("sections");
        let section = sections.iter().find(|section| section["id"] == id).unwrap_or_else(|| panic!("no {id}: {json}"));
        serde_json::from_value(section["rows"].clone()).expect("rows")
    };
    for (id, least, floor) in [
        ("item-count", 6, Some(3)),
        ("container", 6, None),
        ("parts-of-a-chunk", 2, None),
        ("inserts-deletes", 6, None),
        ("checkpoint-data", 8, Some(2)),
        ("write-object", 2, None),
        ("partitions", 5, Some(3)),
        ("events", 4, None),
        ("listener", 4, None),
    ] {
        let rows = rows(id);
        assert!(rows.len() >= least, "{id}: {rows:?}");
        assert!(rows.iter().all(|row| row[1].as_f64() > Some(0.0)), "{id}: {rows:?}");
        assert!(floor.is_none_or(|at| rows[0][at].as_f64() > Some(0.0)), "{id} has no floor: {rows:?}");
    }
    // The paper's way of deleting, and both others.
    let ways = rows("inserts-deletes");
    let names: Vec<&str> = ways.iter().filter_map(|row| row[0].as_str()).collect();
    assert!(
        ["25, one by one", "25, sent together", "25, one statement"].iter().all(|way| names.contains(way)),
        "{names:?}"
    );
}

/// Costs of light loads predict the processors and the elapsed time of larger ones; the report has both, the error, and the machine.
#[test]
fn sizes_are_shown_beside_what_was_then_measured() {
    let world = World::new();
    // The figures of such short runs are rough, so the tolerance is wide; the command shows them in any case.
    // Other tests share the processors with a run of 60 ms: one of five must be predicted within an order of magnitude.
    let order = |row: &serde_json::Value| row[1].as_f64().zip(row[2].as_f64()).map_or(f64::NAN, |(a, b)| a / b);
    let report = (1..=5).find_map(|run| {
        let ran = world
            .run(&format!("measure sizing {FLOWS} --seconds 0.4 --records 20000 --error-max 1000000 --report sized"));
        ran.code(0);
        assert!(
            ran.out().contains("Together they need ") && ran.out().contains("processors like those"),
            "{}",
            ran.out()
        );
        let report: serde_json::Value = serde_json::from_slice(&world.read("sized.json")).expect("JSON");
        let sections = report["sections"].as_array().expect("sections");
        let beside = sections.iter().find(|section| section["id"] == "beside").expect("the section");
        let is_near = beside["rows"].as_array().expect("rows").iter().all(|row| (0.1..10.0).contains(&order(row)));
        (is_near || run == 5).then_some(report)
    });
    let report = report.expect("the last run counts");
    let rows = |id: &str| -> Vec<Vec<serde_json::Value>> {
        let sections = report["sections"].as_array().expect("sections");
        let section = sections.iter().find(|section| section["id"] == id).expect("the section");
        serde_json::from_value(section["rows"].clone()).expect("rows")
    };
    let beside = rows("beside");
    let names: Vec<&str> = beside.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(
        names,
        [
            "gateway, rate",
            "gateway, processors busy",
            "flow mix, processors busy",
            "overnight batch, elapsed time",
            "overnight batch, CPU time"
        ]
    );
    for row in &beside {
        let number = |at: usize| row[at].as_f64().unwrap_or_else(|| panic!("{row:?}"));
        let (predicted, measured, error) = (number(1), number(2), number(4));
        assert!(predicted > 0.0 && measured > 0.0, "{row:?}");
        assert!((error - 100.0 * (predicted / measured - 1.0)).abs() < 0.01 * error.abs().max(1.0), "{row:?}");
        // Even a short run on a busy machine is not wrong by an order of magnitude.
        assert!((0.1..10.0).contains(&(predicted / measured)), "{row:?}");
    }
    let parts = rows("flow-parts");
    assert_eq!(parts.len(), 4, "{parts:?}");
    let cell = |row: usize, at: usize| parts[row][at].as_f64().unwrap_or_else(|| panic!("{parts:?}"));
    for at in 1..4 {
        assert!((cell(0, at) + cell(1, at) + cell(2, at) - cell(3, at)).abs() < 1e-3 * cell(3, at), "{parts:?}");
    }
    // The prediction is that of as many applications as the mix has.
    for (at, expected) in [(2, &beside[2][1]), (3, &beside[2][2])] {
        let expected = expected.as_f64().expect("a number");
        assert!((cell(3, at) - expected).abs() < 0.01 * expected, "{parts:?} {beside:?}");
    }
    let sized = rows("sized");
    assert_eq!(sized.len(), 4, "{sized:?}");
    for row in &sized {
        let number = |at: usize| row[at].as_f64().unwrap_or_else(|| panic!("{row:?}"));
        // The need is rate times cost.
        assert!((number(1) * number(2) / 1e6 - number(3)).abs() < 0.01 * number(3), "{row:?}");
    }
}

/// Records become JSON, CSV and Parquet and come back as the same bytes, at two sizes. Each row has its figures, and each conversion its exponent.
#[test]
fn record_files_are_converted_by_format_and_size_and_back() {
    let world = World::new();
    let ran = world.run("measure convert --megabytes-max 10 --report convert --json");
    let printed: serde_json::Value = serde_json::from_str(&ran.out()).expect("JSON on standard output");
    let report: serde_json::Value = serde_json::from_slice(&world.read("convert.json")).expect("JSON");
    assert_eq!(printed["sections"], report["sections"]);
    let rows = |id: &str| -> Vec<Vec<serde_json::Value>> {
        let sections = report["sections"].as_array().expect("sections");
        let section = sections.iter().find(|section| section["id"] == id).expect("the section");
        serde_json::from_value(section["rows"].clone()).expect("rows")
    };
    let runs = rows("runs");
    let names: Vec<&str> = runs.iter().filter_map(|row| row[0].as_str()).collect();
    let ways = [
        "records to JSON",
        "JSON to records",
        "records to CSV",
        "CSV to records",
        "records to Parquet",
        "Parquet to records",
    ];
    let expected: Vec<String> =
        ["1 MB", "10 MB"].iter().flat_map(|size| ways.map(|way| format!("{way}, {size}"))).collect();
    assert_eq!(names, expected);
    for row in &runs {
        let number = |at: usize| row[at].as_f64().unwrap_or_else(|| panic!("{row:?}"));
        assert!((1..row.len()).all(|at| number(at) > 0.0), "{row:?}");
        // CPU time of a record is that of the run over its records.
        assert!((number(2) * number(1) / 1e6 - number(3)).abs() < 0.01 * number(3), "{row:?}");
    }
    assert_eq!((runs[0][1].as_f64(), runs[6][1].as_f64()), (Some(10_000.0), Some(100_000.0)));
    let growth = rows("growth");
    assert_eq!(growth.iter().filter_map(|row| row[0].as_str()).collect::<Vec<_>>(), ways);
    let variants = rows("variants");
    let names: Vec<&str> = variants.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["compression: none", "compression: gzip", "compression: zstd", "code page: ASCII"]);
    let size = |row: usize| variants[row][4].as_f64().expect("a size");
    // Compressed JSON is smaller, and ASCII records become the same JSON.
    assert!(size(1) < 0.9 && size(2) < 0.9 && (size(0), size(3)) == (1.0, 1.0), "{variants:?}");
    // Another program on the machine can make a run longer, never a file different.
    let summary = report["summary"].as_str().expect("a summary");
    assert!(!summary.contains("other bytes"), "{summary}");
    assert!(!summary.contains("more than 64 MiB"), "{summary}");
    let page = String::from_utf8(world.read("convert.html")).expect("text");
    assert!(page.contains("Conversion of record files by format and size"), "{page}");
}

/// One map over one file, 96 files and 500 files, split and separate: each row has a rate, and the workers have their efficiency.
#[test]
fn a_translation_is_swept_by_kind_of_data_and_workers() {
    let world = World::new();
    let ran = world.run("measure sweep --megabytes 1 --workers 1,2 --report sweep");
    ran.code(0);
    let report: serde_json::Value = serde_json::from_slice(&world.read("sweep.json")).expect("JSON");
    let rows = |id: &str| -> Vec<Vec<serde_json::Value>> {
        let sections = report["sections"].as_array().expect("sections");
        let section = sections.iter().find(|section| section["id"] == id).expect("the section");
        serde_json::from_value(section["rows"].clone()).expect("rows")
    };
    let kinds = rows("kinds");
    let names: Vec<&str> = kinds.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["one file", "96 files", "500 files"]);
    for row in &kinds {
        assert!(row[1..].iter().all(|cell| cell.as_f64().is_some_and(|number| number > 0.0)), "{row:?}");
    }
    // A file costs something in addition to its bytes.
    let rate = |row: usize| kinds[row][1].as_f64().expect("a rate");
    assert!(rate(0) > rate(2), "{kinds:?}");
    let scaling = rows("scaling");
    let workers: Vec<&str> = scaling.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(workers, ["one file, split, 1", "one file, split, 2", "96 files at once, 1", "96 files at once, 2"]);
    for series in scaling.chunks(2) {
        let number = |row: usize, at: usize| series[row][at].as_f64().expect("a number");
        // Efficiency is the rate over that of as many single workers.
        assert!((number(0, 2) - 100.0).abs() < 0.1, "{series:?}");
        assert!((number(1, 2) - 50.0 * number(1, 1) / number(0, 1)).abs() < 0.1, "{series:?}");
    }
    assert_eq!(rows("starts").len(), 2);
    let notes = report["sections"][1]["notes"].to_string();
    assert!(notes.contains("With 2 workers, a split file has "), "{notes}");
}
