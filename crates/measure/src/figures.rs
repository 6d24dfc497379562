//! A study as one self-contained page and as JSON.

use quayline_gateway::Json;

use crate::draw::{Series, bars, escaped, lines, number as short, table};
use crate::load::Run;
use crate::study::{Fit, GatewayStudy, Runs, SCENARIOS};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem;color:#1b2733;background:#fff}\
h1{margin-bottom:.2rem}h2{margin:2.2rem 0 .4rem}figure{margin:1.2rem 0}figcaption{margin-bottom:.3rem}svg{width:100%;height:auto;background:#f6f8fa;border-radius:6px}\
text{font:12px system-ui,sans-serif;fill:#1b2733}.grid{stroke:#d8dee4;fill:none}.axis{stroke:#7d8894;fill:none}.wide{overflow-x:auto}\
table{border-collapse:collapse;font-size:13px;margin:.6rem 0}th,td{padding:.25rem .6rem;border-bottom:1px solid #d8dee4;text-align:right;white-space:nowrap}\
th:first-child,td:first-child{text-align:left}pre{overflow:auto;background:#f6f8fa;padding:1rem;border-radius:6px;font-size:12px}.missed{color:#a3280f}\
@media(prefers-color-scheme:dark){body{background:#12181f;color:#dbe4ec}svg,pre{background:#1b242e}text{fill:#dbe4ec}.grid{stroke:#33404d}th,td{border-color:#33404d}.missed{color:#ff9d85}}";

/// The page: the report's tables and figures, then everything as text.
pub(crate) fn page(study: &GatewayStudy) -> String {
    let missed = study.missed();
    let verdict = if study.short {
        "<p>A short run, to see that every part works: its figures say nothing.</p>".to_owned()
    } else if missed.is_empty() {
        "<p>Every bar holds.</p>".to_owned()
    } else {
        let items: String = missed.iter().map(|text| format!("<li>{}</li>", escaped(text))).collect();
        format!("<p class=missed>Missed bars:</p><ul class=missed>{items}</ul>")
    };
    let mut body = saturated(study);
    if !study.rows.is_empty() {
        body += &of_think_time(study);
    }
    let (before, after) = study.busy;
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>Gateway: the report's measurements</title><style>{STYLE}</style>\
<h1>Gateway: the report's measurements</h1><p>IBM, z/OS Connect EE V3.0, \"Improve performance by reducing your JSON payload size\" (2020), \
repeated over <code>examples/dealership</code>. CPU time is the server's and its program workers', from the kernel's accounting. Load average of the \
machine: {before:.1} at the begin, {after:.1} at the end.</p>{verdict}{body}<h2>Everything as text</h2><pre>{}</pre></html>\n",
        escaped(&study.tables())
    )
}

fn saturated(study: &GatewayStudy) -> String {
    let parts = |name: String, runs: &Runs| {
        (name, vec![runs.median(Run::server_us), runs.median(|run| run.cpu_us() - run.server_us())])
    };
    let twins: Vec<(String, Vec<f64>)> = study
        .twins
        .iter()
        .flat_map(|twin| {
            [
                parts(format!("{}: gateway", twin.title), &twin.gateway),
                parts(format!("{}: static bytes", twin.title), &twin.fixed),
            ]
        })
        .collect();
    let note = study.twins.iter().map(|twin| format!("{}: {:.2} times (bar {})", twin.title, twin.ratio(), twin.bar));
    let note = note.collect::<Vec<_>>().join("; ");
    "<h2>Saturated, server on one core</h2>".to_owned()
        + &bars("CPU time a request.", &note, "µs", &["server", "COBOL program"], &twins)
}

fn of_think_time(study: &GatewayStudy) -> String {
    let mut clients: Vec<usize> = study.control.iter().map(|(clients, _)| *clients).collect();
    clients.dedup();
    let middle = clients.get(clients.len() / 2).copied().unwrap_or(0);
    let at_middle = |of: &dyn Fn(&Run) -> Vec<f64>| -> Vec<(String, Vec<f64>)> {
        let rows = study.rows.iter().filter(|row| row.clients == middle);
        rows.map(|row| (format!("{} ({} B)", row.scenario.title, row.run.body_bytes), of(&row.run))).collect()
    };
    let of_scenario = |title: &str, name: &str, value: &dyn Fn(&Run) -> f64| {
        let rows = study.rows.iter().filter(|row| row.scenario.title == title);
        let points = rows.map(|row| (row.clients as f64, value(&row.run))).collect();
        Series { name: name.to_owned(), points, loose: false }
    };
    let control = |value: &dyn Fn(&Run) -> f64| Series {
        name: "static bytes".to_owned(),
        points: study.control.iter().map(|(clients, run)| (*clients as f64, value(run))).collect(),
        loose: false,
    };
    let mut html = format!("<h2>Think time 500 ms</h2>{}", table_one(study, &clients));
    html += &bars(
        &format!("Figure 9: CPU time a transaction, {middle} clients."),
        "The COBOL program's part apart.",
        "µs",
        &["server", "COBOL program"],
        &at_middle(&|run| vec![run.server_us(), run.cpu_us() - run.server_us()]),
    );
    html += &linearity(study);
    html += &bars(
        &format!("Figure 11: mean response time, {middle} clients."),
        "",
        "ms",
        &["mean"],
        &at_middle(&|run| vec![run.mean_ms()]),
    );
    html += &bars(
        &format!("Figure 12: CPU use, {middle} clients."),
        "In the report how much of it a zIIP may take; here how much is the gateway's and how much the program's, in per cent of one core.",
        "%",
        &["server", "COBOL program"],
        &at_middle(&|run| {
            let program = run.cpu_workers.as_secs_f64() / run.seconds * 100.0;
            vec![run.busy_percent() - program, program]
        }),
    );
    let all: Vec<Series> =
        SCENARIOS.iter().map(|scenario| of_scenario(scenario.title, scenario.title, &Run::cpu_us)).collect();
    html += &lines(
        "Figure 13: CPU time a transaction by clients, Exclude car array.",
        "Beside it static bytes of the baseline under the same load: what of the course is the machine's.",
        ("clients", "µs"),
        &[of_scenario(SCENARIOS[2].title, SCENARIOS[2].title, &Run::cpu_us), control(&Run::cpu_us)],
    );
    html += &lines("The same of all scenarios.", "", ("clients", "µs"), &all);
    if study.rows.iter().all(|row| row.run.kilo_instructions().is_some()) {
        let counted = |run: &Run| run.kilo_instructions().unwrap_or(0.0);
        let mut all: Vec<Series> =
            SCENARIOS[..6].iter().map(|scenario| of_scenario(scenario.title, scenario.title, &counted)).collect();
        all.push(control(&counted));
        html += &lines(
            "Instructions a transaction by clients.",
            "User space and kernel; they hardly depend on what else the machine does.",
            ("clients", "thousands"),
            &all,
        );
    }
    let rename = SCENARIOS[4].title;
    html += &lines(
        "Figure 14: response time by clients, Interface rename.",
        "",
        ("clients", "ms"),
        &[
            of_scenario(rename, "mean", &Run::mean_ms),
            of_scenario(rename, "p50", &|run| run.ms(50.0)),
            of_scenario(rename, "p90", &|run| run.ms(90.0)),
            of_scenario(rename, "p99", &|run| run.ms(99.0)),
        ],
    );
    let busy = of_scenario(SCENARIOS[5].title, "CPU use", &Run::busy_percent);
    html + &lines("Figure 15: CPU use by clients, ODO 50 % cars.", "", ("clients", "% of one core"), &[busy])
        + &table_two(study)
}

/// Sizes of the payloads, and the rates that were kept.
fn table_one(study: &GatewayStudy, clients: &[usize]) -> String {
    let counts: Vec<String> = clients.iter().map(|clients| format!("TPS at {clients}")).collect();
    let mut head = vec!["Table 1: scenario", "printed bytes", "bytes", "of baseline"];
    head.extend(counts.iter().map(String::as_str));
    let of = |title: &str| study.rows.iter().filter(|row| row.scenario.title == title).collect::<Vec<_>>();
    let baseline = of(SCENARIOS[0].title).first().map_or(1, |row| row.run.body_bytes.max(1));
    let rows = SCENARIOS.iter().map(|scenario| {
        let found = of(scenario.title);
        let bytes = found.first().map_or(0, |row| row.run.body_bytes);
        let share = bytes as f64 / baseline as f64 * 100.0;
        let mut cells =
            vec![scenario.title.to_owned(), scenario.printed.to_string(), bytes.to_string(), format!("{share:.0} %")];
        cells.extend(found.iter().map(|row| format!("{:.0}", row.run.tps())));
        cells
    });
    table(&head, &rows.collect::<Vec<_>>())
}

fn linearity(study: &GatewayStudy) -> String {
    let points = |cost: &dyn Fn(&Runs) -> f64| -> Vec<(f64, f64)> {
        study.linear.iter().map(|(_, runs)| (runs.body_bytes() as f64 / 1e3, cost(runs))).collect()
    };
    let straight = |fit: Fit, to: f64| vec![(0.0, fit.rest), (to, fit.rest + fit.slope * to)];
    let drawn = |title: &str, unit: &str, found: Vec<(f64, f64)>, fit: Option<Fit>| {
        let end = found.iter().map(|point| point.0).fold(0.0, f64::max);
        let note = fit.map_or_else(String::new, |fit| {
            format!("{} and {} {unit} a kilobyte, r² {:.4}", short(fit.rest), short(fit.slope), fit.explained)
        });
        let mut all = vec![Series { name: "measured".to_owned(), points: found, loose: true }];
        let line = fit.map(|fit| Series { name: "straight line".to_owned(), points: straight(fit, end), loose: false });
        all.extend(line);
        lines(title, &note, ("kilobytes of JSON, 0 to 100 cars", unit), &all)
    };
    let time = drawn(
        "Figure 10: CPU time a transaction by payload (saturated).",
        "µs",
        points(&Runs::cpu_us),
        study.fit(Runs::cpu_us),
    );
    match study.fit_instructions() {
        None => time,
        fit => {
            let counted = points(&|runs| runs.kilo_instructions().unwrap_or(0.0));
            time + &drawn("The same in instructions.", "thousands", counted, fit)
        }
    }
}

fn table_two(study: &GatewayStudy) -> String {
    let Some((read, not)) = &study.wasted else { return String::new() };
    let row = |name: &str, runs: &Runs, reported: &str| {
        vec![
            name.to_owned(),
            short(runs.cpu_us()),
            short(runs.median(Run::server_us)),
            short(runs.median(|run| run.cpu_us() - run.server_us())),
            runs.kilo_instructions().map_or_else(|| "-".to_owned(), short),
            reported.to_owned(),
        ]
    };
    let head = [
        "Table 2: car array left out of the answer (saturated)",
        "CPU µs/tx",
        "gateway's part",
        "program's part",
        "k instr./tx",
        "the report",
    ];
    table(&head, &[row("maxCars=100: read all the same", read, "0.64 ms"), row("maxCars=0: not read", not, "0.35 ms")])
}

/// Everything as JSON.
pub(crate) fn json(study: &GatewayStudy) -> String {
    let number = |x: f64| Json::Number(if x.is_finite() { format!("{x:.6}") } else { "0".to_owned() });
    let run = |run: &Run| {
        Json::object([
            ("answers", Json::int(run.answers)),
            ("failures", Json::int(run.failures)),
            ("seconds", number(run.seconds)),
            ("tps", number(run.tps())),
            ("cpuMsPerTransaction", number(run.cpu_ms())),
            ("bodyBytes", Json::int(run.body_bytes as u64)),
            ("meanMs", number(run.mean_ms())),
            ("p50Ms", number(run.ms(50.0))),
            ("p90Ms", number(run.ms(90.0))),
            ("p99Ms", number(run.ms(99.0))),
            ("maxMs", number(run.ms(100.0))),
            ("p999Ms", number(run.ms(99.9))),
            ("cpuPercent", number(run.busy_percent())),
            ("gatewayCpuMsPerTransaction", number(run.server_us() / 1e3)),
            ("residentBytes", Json::int(run.resident_bytes)),
        ])
        .with("kiloInstructionsPerTransaction", run.kilo_instructions().map(number))
    };
    let runs = |all: &Runs| Json::List(all.0.iter().map(run).collect());
    let rows = study.rows.iter().map(|row| {
        let mut json = run(&row.run);
        json.put("scenario", Json::text(row.scenario.title));
        json.put("printedBytes", Json::int(row.scenario.printed as u64));
        json.put("clients", Json::int(row.clients as u64));
        json
    });
    let control = study.control.iter().map(|(clients, found)| {
        let mut json = run(found);
        json.put("clients", Json::int(*clients as u64));
        json
    });
    let linear = study.linear.iter().map(|(cars, found)| {
        Json::object([
            ("cars", Json::int(*cars)),
            ("bodyBytes", Json::int(found.body_bytes() as u64)),
            ("cpuUs", number(found.cpu_us())),
            ("runs", runs(found)),
        ])
        .with("kiloInstructions", found.kilo_instructions().map(number))
    });
    let twins = study.twins.iter().map(|twin| {
        Json::object([
            ("payload", Json::text(twin.title)),
            ("bytes", Json::int(twin.gateway.body_bytes() as u64)),
            ("gatewayUs", number(twin.gateway.cpu_us())),
            ("staticUs", number(twin.fixed.cpu_us())),
            ("ratio", number(twin.ratio())),
            ("bar", number(twin.bar)),
            ("gatewayPerSecond", number(twin.gateway.median(Run::tps))),
            ("staticPerSecond", number(twin.fixed.median(Run::tps))),
            ("gatewayRuns", runs(&twin.gateway)),
            ("staticRuns", runs(&twin.fixed)),
        ])
    });
    let whole = Json::object([
        ("saturated", Json::List(twins.collect())),
        ("thinkTime", Json::List(rows.collect())),
        ("staticBytes", Json::List(control.collect())),
        ("linearity", Json::List(linear.collect())),
        ("failures", Json::int(study.failures)),
        ("loadAverage", Json::List(vec![number(study.busy.0), number(study.busy.1)])),
        ("missed", Json::List(study.missed().into_iter().map(Json::text).collect())),
    ]);
    let wasted = study.wasted.as_ref().map(|(read, not)| Json::object([("read", runs(read)), ("notRead", runs(not))]));
    let open = study.open.as_ref().map(|(_, found)| run(found));
    let line = |fit: Fit, at_none, each| {
        Json::object([(at_none, number(fit.rest)), (each, number(fit.slope)), ("rSquared", number(fit.explained))])
    };
    let fit = study.fit(Runs::cpu_us).map(|fit| line(fit, "us", "usPerKilobyte"));
    let counted = study.fit_instructions().map(|fit| line(fit, "kiloInstructions", "kiloInstructionsPerKilobyte"));
    let spreads = study.spreads().into_iter().chain(study.control_spread()).map(|spread| {
        Json::object([("scenario", Json::text(spread.title)), ("largestBySmallest", number(spread.time))])
            .with("instructionsLargestBySmallest", spread.instructions.map(number))
    });
    let spreads = Json::List(spreads.collect());
    let whole =
        whole.with("linearFit", fit).with("linearFitOfInstructions", counted).with("cpuByClients", Some(spreads));
    whole.with("maxCars", wasted).with("openArrivals", open).pretty() + "\n"
}
