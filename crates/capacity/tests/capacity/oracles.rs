//! Results of other solvers and of publications, from `QUAYLINE_CORPUS` (by default `../shared` beside the workspace). The tests are skipped, with a
//! message, if the folder is absent. The figures for the product's self-test are in the crate.

use std::path::PathBuf;

use quayline_capacity::fit::{LoadPoint, fit_power, fit_usl};
use quayline_capacity::{
    BlockingNetwork, Class, ManyServers, Network, Passes, PerSecond, Seconds, Servers, Station, asymptotic_bounds,
    balanced_bounds, erlang_b, erlang_c, limited_queue, proportional_bounds, single_server_general,
};
use serde_json::Value;

fn oracles() -> Option<Value> {
    let corpus = std::env::var_os("QUAYLINE_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let file = corpus.join("reference/harness/capacity/oracles.json");
    let Ok(text) = std::fs::read_to_string(&file) else {
        eprintln!("skipped: {}: {} is absent", std::thread::current().name().unwrap_or("a test"), file.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("the oracles are JSON"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|entry| entry.as_f64().unwrap_or(f64::NAN)).collect()
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().expect("a list").iter().map(numbers).collect()
}

/// A number that the oracles write as a whole one.
fn whole(value: f64) -> u32 {
    format!("{value}").parse().expect("a whole number")
}

#[track_caller]
fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let scale = expected.abs().max(1e-300);
    assert!((found - expected).abs() <= tolerance * scale.max(1e-9), "{what}: {found} instead of {expected}");
}

fn network(inputs: &Value) -> Network {
    let demands = matrix(&inputs["demands_by_station_class"]);
    let servers = numbers(&inputs["servers"]);
    let (think, rates) = (numbers(&inputs["Z"]), numbers(&inputs["lam"]));
    let populations = inputs["N"].as_array().expect("a list");
    let stations = demands.iter().zip(&servers).enumerate().map(|(k, (row, servers))| Station {
        name: format!("station {k}"),
        servers: if *servers == 0.0 { Servers::Delay } else { Servers::Count(whole(*servers)) },
        demands: row.iter().copied().map(Seconds).collect(),
    });
    let classes = populations.iter().enumerate().map(|(c, population)| match population.as_u64() {
        Some(population) => {
            Class::Closed { population: u32::try_from(population).expect("a population"), think: Seconds(think[c]) }
        }
        None => Class::Open { arrivals: PerSecond(rates[c]) },
    });
    Network::new(stations.collect(), classes.collect()).expect("a valid network")
}

#[test]
fn networks_agree_with_the_exact_answers() {
    let Some(oracles) = oracles() else { return };
    let mut compared = 0;
    for case in oracles["networks"].as_array().expect("networks") {
        let id = case["id"].as_str().expect("an id");
        let network = network(&case["inputs"]);
        let solved = network.solve().expect("solvable");
        let servers = numbers(&case["inputs"]["servers"]);
        let tolerance = if servers.iter().any(|servers| *servers > 1.0) { 1e-8 } else { 1e-9 };
        let exact = &case["expected_exact"];
        for (c, expected) in numbers(&exact["X"]).into_iter().enumerate() {
            close(&format!("{id} X[{c}]"), solved.value.throughput[c].0, expected, tolerance);
        }
        for (c, expected) in numbers(&exact["R"]).into_iter().enumerate() {
            close(&format!("{id} R[{c}]"), solved.value.response(c).0, expected, tolerance);
        }
        for (k, row) in matrix(&exact["W"]).into_iter().enumerate() {
            for (c, expected) in row.into_iter().enumerate() {
                close(&format!("{id} W[{k}][{c}]"), solved.value.residence[k][c].0, expected, tolerance);
            }
        }
        for (k, row) in matrix(&exact["Q"]).into_iter().enumerate() {
            for (c, expected) in row.into_iter().enumerate() {
                close(&format!("{id} Q[{k}][{c}]"), solved.value.queue[k][c], expected, tolerance);
            }
        }
        // The other exact method agrees where both apply.
        if case["family"].as_str().is_some_and(|family| !family.starts_with("open")) {
            let twin = network.solve_convolution().expect("small enough");
            for (c, expected) in numbers(&exact["X"]).into_iter().enumerate() {
                close(&format!("{id} convolution X[{c}]"), twin.value.throughput[c].0, expected, 1e-8);
            }
        }
        compared += 1;
    }
    assert!(compared >= 26, "{compared} networks");
}

#[test]
fn approximations_agree_with_their_references() {
    let Some(oracles) = oracles() else { return };
    let (mut schweitzer, mut linearizer) = (0, 0);
    for case in oracles["networks"].as_array().expect("networks") {
        let id = case["id"].as_str().expect("an id");
        let network = network(&case["inputs"]);
        if let Some(expected) = case["solvers"].get("LINE pfqn_bs (Bard-Schweitzer, tol 1e-13)") {
            let solved = network.solve_schweitzer().expect("converges");
            for (c, expected) in numbers(&expected["X"]).into_iter().enumerate() {
                close(&format!("{id} Schweitzer X[{c}]"), solved.value.throughput[c].0, expected, 1e-8);
            }
            schweitzer += 1;
        }
        let Some(reference) = case.get("linearizer_reference_X").and_then(Value::as_object) else { continue };
        for (passes, key) in [
            (Passes::Fixed(2), "2 core passes (= JMT)"),
            (Passes::Fixed(3), "3 core passes (Chandy-Neuse 1982)"),
            (Passes::Converged, "converged"),
        ] {
            let solved = network.solve_linearizer(passes).expect("converges");
            for (c, expected) in numbers(&reference[key]).into_iter().enumerate() {
                close(&format!("{id} Linearizer {key} X[{c}]"), solved.value.throughput[c].0, expected, 1e-8);
            }
        }
        linearizer += 1;
    }
    assert!(schweitzer >= 13 && linearizer >= 13, "{schweitzer} and {linearizer}");
}

#[test]
fn bounds_agree_with_their_references() {
    let Some(oracles) = oracles() else { return };
    let mut compared = 0;
    for case in oracles["networks"].as_array().expect("networks") {
        let id = case["id"].as_str().expect("an id");
        let Some(reference) = case.get("bounds_octave").filter(|reference| !reference.is_null()) else { continue };
        let inputs = &case["inputs"];
        let demands: Vec<Seconds> =
            matrix(&inputs["demands_by_station_class"]).iter().map(|row| Seconds(row[0])).collect();
        let customers = whole(numbers(&inputs["N"])[0]);
        let think = Seconds(numbers(&inputs["Z"])[0]);
        let found = asymptotic_bounds(&demands, &vec![1; demands.len()], customers, think).unwrap().value;
        let wanted = &reference["qncsaba"];
        close(&format!("{id} ABA X low"), found.throughput_least.0, wanted["X_lower"].as_f64().unwrap(), 1e-9);
        close(&format!("{id} ABA X high"), found.throughput_most.0, wanted["X_upper"].as_f64().unwrap(), 1e-9);
        close(&format!("{id} ABA R low"), found.response_least.0, wanted["R_lower"].as_f64().unwrap(), 1e-9);
        close(&format!("{id} ABA R high"), found.response_most.0, wanted["R_upper"].as_f64().unwrap(), 1e-9);
        let found = balanced_bounds(&demands, customers, think).unwrap().value;
        let wanted = &reference["qncsbsb"];
        close(&format!("{id} BSB X low"), found.throughput_least.0, wanted["X_lower"].as_f64().unwrap(), 1e-9);
        close(&format!("{id} BSB X high"), found.throughput_most.0, wanted["X_upper"].as_f64().unwrap(), 1e-9);
        close(&format!("{id} BSB R low"), found.response_least.0, wanted["R_lower"].as_f64().unwrap(), 1e-9);
        close(&format!("{id} BSB R high"), found.response_most.0, wanted["R_upper"].as_f64().unwrap(), 1e-9);
        if think.0 == 0.0 {
            let found = proportional_bounds(&demands, customers).unwrap().value;
            let wanted = &reference["qncspb"];
            close(&format!("{id} PB X low"), found.throughput_least.0, wanted["X_lower"].as_f64().unwrap(), 1e-9);
            close(&format!("{id} PB X high"), found.throughput_most.0, wanted["X_upper"].as_f64().unwrap(), 1e-9);
        }
        compared += 1;
    }
    assert!(compared >= 10, "{compared} bounds");
}

#[test]
fn single_stations_agree_row_by_row() {
    let Some(oracles) = oracles() else { return };
    let tables = &oracles["single_station"];
    let rows = |name: &str| matrix(&tables[name]["rows"]);
    let mut compared = 0;
    for row in rows("erlang") {
        let servers = whole(row[0]);
        let offered = row[1] * row[0];
        close("Erlang B", erlang_b(servers, offered).unwrap().value.0, row[2], 1e-9);
        close("Erlang C", erlang_c(servers, offered).unwrap().value.0, row[3], 1e-9);
        compared += 1;
    }
    for row in rows("mm1") {
        let station = ManyServers::new(1, PerSecond(row[0]), Seconds(1.0)).unwrap();
        close("M/M/1 R", station.response().value.0, row[2], 1e-9);
        close("M/M/1 Q", station.present(), row[3], 1e-9);
        compared += 1;
    }
    for row in rows("mmm") {
        let station = ManyServers::new(whole(row[0]), PerSecond(row[1] * row[0]), Seconds(1.0)).unwrap();
        close("M/M/m U", station.utilization().0, row[2], 1e-9);
        close("M/M/m R", station.response().value.0, row[3], 1e-9);
        close("M/M/m Q", station.present(), row[4], 1e-9);
        close("M/M/m p0", station.empty().0, row[6], 1e-9);
        close("M/M/m pm", station.waiting().0, row[7], 1e-9);
        compared += 1;
    }
    for row in rows("mg1") {
        // The table's p0 is exp(-rho), which is not the probability of an idle server (1 - rho), so it is left out.
        let response = single_server_general(PerSecond(row[0]), Seconds(1.0), row[1]).unwrap().value;
        close("M/G/1 R", response.0, row[3], 1e-9);
        close("M/G/1 Q", response.0 * row[0], row[4], 1e-9);
        compared += 1;
    }
    for row in rows("mm1k") {
        let station = limited_queue(1, whole(row[0]), PerSecond(row[1]), Seconds(1.0)).unwrap().value;
        check_limited(&station, &row[2..]);
        compared += 1;
    }
    for row in rows("mmmk") {
        let station =
            limited_queue(whole(row[0]), whole(row[1]), PerSecond(row[2] * row[0]), Seconds(1.0)).unwrap().value;
        check_limited(&station, &row[3..]);
        compared += 1;
    }
    assert!(compared >= 60, "{compared} rows");
}

fn check_limited(station: &quayline_capacity::LimitedQueue, row: &[f64]) {
    close("M/M/m/K U", station.utilization.0, row[0], 1e-9);
    close("M/M/m/K R", station.response.0, row[1], 1e-9);
    close("M/M/m/K Q", station.present, row[2], 1e-9);
    close("M/M/m/K X", station.throughput.0, row[3], 1e-9);
    close("M/M/m/K p0", station.empty.0, row[4], 1e-9);
    close("M/M/m/K pK", station.full.0, row[5], 1e-9);
}

#[test]
fn blocking_agrees_with_the_published_examples() {
    let Some(oracles) = oracles() else { return };
    for case in oracles["blocking_mvablo"]["cases"].as_array().expect("cases") {
        let network = BlockingNetwork {
            service: numbers(&case["S"]).into_iter().map(Seconds).collect(),
            capacity: numbers(&case["capacity"]).into_iter().map(whole).collect(),
            routing: matrix(&case["P"]),
            customers: whole(case["K"].as_f64().expect("customers")),
        };
        let solved = network.solve().expect("solvable").value;
        for (i, expected) in numbers(&case["published_R"]).into_iter().enumerate() {
            let printed = solved.residence[i].0;
            assert!((printed - expected).abs() < 0.006, "R[{i}] {printed} instead of {expected}");
        }
        for (i, expected) in numbers(&case["computed"]["R"]).into_iter().enumerate() {
            close("blocking R", solved.residence[i].0, expected, 1e-9);
        }
        for (i, expected) in numbers(&case["computed"]["Q"]).into_iter().enumerate() {
            close("blocking Q", solved.queue[i], expected, 1e-9);
        }
    }
}

#[test]
fn scalability_fits_agree() {
    let Some(oracles) = oracles() else { return };
    for (name, case) in oracles["usl"].as_object().expect("fits") {
        let points: Vec<LoadPoint> =
            matrix(&case["data"]).iter().map(|row| LoadPoint { load: row[0], throughput: row[1] }).collect();
        let fit = fit_usl(&points).expect("fits").value;
        let wanted = &case["solvers"]["R 4.2.2 nls(algorithm=port)"];
        close(&format!("{name} gamma"), fit.gamma, wanted["gamma"].as_f64().unwrap(), 1e-5);
        close(&format!("{name} alpha"), fit.alpha, wanted["alpha"].as_f64().unwrap(), 1e-5);
        close(&format!("{name} beta"), fit.beta, wanted["beta"].as_f64().unwrap(), 1e-5);
        let wanted = &case["solvers"]["scipy 1.17.1 least_squares (bounded trf, multi-start)"];
        close(&format!("{name} peak"), fit.peak_load().unwrap(), wanted["n_peak"].as_f64().unwrap(), 1e-5);
        close(&format!("{name} peak X"), fit.peak_throughput().unwrap().0, wanted["x_peak"].as_f64().unwrap(), 1e-5);
        close(&format!("{name} limit"), fit.limit().unwrap().0, wanted["amdahl_limit"].as_f64().unwrap(), 1e-4);
        close(&format!("{name} r2"), fit.r_squared, wanted["r2"].as_f64().unwrap(), 1e-6);
        let [gamma, alpha, beta] = fit.intervals.expect("spare points");
        for (inside, interval) in [(fit.gamma, gamma), (fit.alpha, alpha), (fit.beta, beta)] {
            assert!(interval.low <= inside && inside <= interval.high, "{name}: {inside} in {interval:?}");
            assert!(interval.low < interval.high, "{name}: {interval:?} has no width");
        }
    }
}

#[test]
fn exponents_of_size_agree() {
    let Some(oracles) = oracles() else { return };
    let case = &oracles["conversions_percentiles_growth"]["wdi-seed000"];
    let fit = |sizes: &Value, times: &Value| {
        let points: Vec<(f64, f64)> = numbers(sizes).into_iter().zip(numbers(times)).collect();
        fit_power(&points).expect("fits").value
    };
    let (inputs, wanted) = (&case["inputs"], &case["computed"]);
    let pairs = [
        ("dt_map", "size_kb", "baseline_min", "exponent_dt_baseline"),
        ("aix", "mb", "minutes", "exponent_aix"),
        ("windows", "mb", "minutes", "exponent_windows"),
        ("no_pamm", "mb", "seconds", "exponent_no_pamm"),
        ("claims", "n", "cpu_before_s", "exponent_claims_before"),
        ("claims", "n", "cpu_after_s", "exponent_claims_after"),
    ];
    for (table, size, time, exponent) in pairs {
        let found = fit(&inputs[table][size], &inputs[table][time]);
        close(exponent, found.exponent.value, wanted[exponent].as_f64().expect("an exponent"), 1e-6);
    }
    let no_pamm = fit(&inputs["no_pamm"]["mb"], &inputs["no_pamm"]["seconds"]);
    close("cliff", no_pamm.local[1], wanted["local_exponent_75_to_100MB"].as_f64().unwrap(), 1e-9);
}

/// Numbers of the oracles that are not figures of the self-test, with the reason. The path ends so.
const NOT_FIGURES: &[(&str, &str)] = &[
    ("prose_also_says", "a stale figure that check-report names"),
    ("total15", "a total that differs from its parts, which check-report names"),
    ("total_hour", "a total that differs from its parts, which check-report names"),
    ("x4/", "rows of the column that is four times another"),
    ("rel_tol", "a tolerance"),
    ("abs_tol", "a tolerance"),
    ("se_gamma", "standard errors are those of the local linearization; the crate has profile intervals"),
    ("se_alpha", "standard errors are those of the local linearization; the crate has profile intervals"),
    ("se_beta", "standard errors are those of the local linearization; the crate has profile intervals"),
];

/// Adds the numbers below `value` with their paths.
fn leaves(path: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                leaves(&format!("{path}/{at}"), value, found);
            }
        }
        Value::Object(values) => {
            for (key, value) in values {
                leaves(&format!("{path}/{key}"), value, found);
            }
        }
        other => found.extend(other.as_f64().map(|number| (path.to_owned(), number))),
    }
}

/// Every number that the oracles expect is a figure of the self-test, which needs no corpus.
#[test]
fn the_self_test_holds_every_oracle() {
    let Some(oracles) = oracles() else { return };
    let mut wanted = Vec::new();
    for case in oracles["networks"].as_array().expect("networks") {
        let id = case["id"].as_str().expect("an id");
        for key in ["expected_exact", "linearizer_reference_X", "published"] {
            leaves(&format!("{id}/{key}"), &case[key], &mut wanted);
        }
        for solver in ["LINE pfqn_bs (Bard-Schweitzer, tol 1e-13)", "LINE pfqn_linearizer (Chandy-Neuse, tol 1e-13)"] {
            leaves(&format!("{id}/{solver}"), &case["solvers"][solver]["X"], &mut wanted);
        }
        let without_think = case["inputs"]["Z"][0] == 0.0;
        for bound in ["qncsaba", "qncsbsb"] {
            leaves(&format!("{id}/{bound}"), &case["bounds_octave"][bound], &mut wanted);
        }
        if without_think {
            for side in ["X_lower", "X_upper"] {
                leaves(&format!("{id}/{side}"), &case["bounds_octave"]["qncspb"][side], &mut wanted);
            }
        }
    }
    for (table, rows) in oracles["single_station"].as_object().expect("tables") {
        let rows = rows["rows"].as_array().map_or(&[][..], Vec::as_slice);
        for row in rows {
            let (name, expected) = if table == "mg1" { (2, 2..6) } else { (2, 2..numbers(row).len()) };
            let inputs = format!("{:?}", &numbers(row)[..name]);
            for column in expected {
                leaves(&format!("{table}{inputs}/{column}"), &row[column], &mut wanted);
            }
        }
    }
    for case in oracles["blocking_mvablo"]["cases"].as_array().expect("cases") {
        leaves("blocking/published_R", &case["published_R"], &mut wanted);
        for key in ["R", "Q", "X"] {
            leaves(&format!("blocking/{key}"), &case["computed"][key], &mut wanted);
        }
    }
    for (name, case) in oracles["usl"].as_object().expect("fits") {
        leaves(name, &case["solvers"]["R 4.2.2 nls(algorithm=port)"], &mut wanted);
        let second = &case["solvers"]["scipy 1.17.1 least_squares (bounded trf, multi-start)"];
        for key in ["n_peak", "x_peak", "amdahl_limit", "r2"] {
            leaves(&format!("{name}/{key}"), &second[key], &mut wanted);
        }
    }
    for (name, case) in oracles["conversions_percentiles_growth"].as_object().expect("conversions") {
        for key in ["published", "computed", "solvers"] {
            leaves(&format!("{name}/{key}"), &case[key], &mut wanted);
        }
    }
    for (end, reason) in NOT_FIGURES {
        assert!(wanted.iter().any(|(path, _)| path.contains(end)), "no number is {reason}: {end}");
    }
    wanted.retain(|(path, _)| !NOT_FIGURES.iter().any(|(end, _)| path.contains(end)));

    let outcomes = quayline_capacity::selftest::run();
    let held: Vec<f64> = outcomes.iter().flat_map(|outcome| outcome.compared.iter().copied()).collect();
    // A share may be a figure in percent, a time in microseconds one in seconds.
    let is_held = |number: f64| {
        [1.0, 100.0, 1e-6].iter().any(|unit| held.iter().any(|held| (held - number * unit).abs() <= 1e-9 * held.abs()))
    };
    assert!(!is_held(0.123_456_789), "a number that no oracle has");
    let missing: Vec<&(String, f64)> = wanted.iter().filter(|(_, number)| !is_held(*number)).collect();
    assert!(missing.is_empty(), "{} of {} are missing: {missing:#?}", missing.len(), wanted.len());
    assert!(wanted.len() >= 800, "{} numbers", wanted.len());
}
