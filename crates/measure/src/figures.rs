//! A study as one self-contained page and as JSON.

use quayline_gateway::Json;

use crate::load::Run;
use crate::study::{GatewayStudy, SCENARIOS};

/// The page: the report's figures as inline drawings, then the tables.
pub(crate) fn page(study: &GatewayStudy) -> String {
    let mut body = String::new();
    let middle = study.rows.iter().map(|row| row.clients).nth(study.rows.len() / 14).unwrap_or(0);
    let of_clients = |clients: usize, value: fn(&Run) -> f64| -> Vec<(String, f64)> {
        let rows = study.rows.iter().filter(|row| row.clients == clients);
        rows.map(|row| (format!("{} ({} B)", row.scenario.title, row.run.body_bytes), value(&row.run))).collect()
    };
    let of_scenario = |title: &str, value: fn(&Run) -> f64| -> Vec<(f64, f64)> {
        let rows = study.rows.iter().filter(|row| row.scenario.title == title);
        rows.map(|row| (row.clients as f64, value(&row.run))).collect()
    };
    let busy = |run: &Run| run.cpu.as_secs_f64() / run.seconds * 100.0;
    let twins: Vec<(String, f64)> = study
        .twins
        .iter()
        .flat_map(|twin| {
            [
                (format!("{}: gateway", twin.title), twin.gateway_us),
                (format!("{}: static bytes", twin.title), twin.fixed_us),
            ]
        })
        .collect();
    body.push_str(&bars("Saturated: CPU a request (us)", &twins));
    if !study.rows.is_empty() {
        body.push_str(&bars(
            &format!("Figure 9: CPU a transaction (ms), {middle} clients"),
            &of_clients(middle, Run::cpu_ms),
        ));
        let linear: Vec<(f64, f64)> =
            study.linear.iter().map(|(_, run)| (run.body_bytes as f64, run.cpu_ms())).collect();
        body.push_str(&line("Figure 10: CPU a transaction (ms) by JSON bytes, 20 to 100 cars", &linear));
        body.push_str(&bars(
            &format!("Figure 11: mean response time (ms), {middle} clients"),
            &of_clients(middle, Run::mean_ms),
        ));
        body.push_str(&line(
            "Figure 13: CPU a transaction (ms) by clients, Exclude car array",
            &of_scenario(SCENARIOS[2].title, Run::cpu_ms),
        ));
        body.push_str(&line(
            "Figure 14: mean response time (ms) by clients, Interface rename",
            &of_scenario(SCENARIOS[4].title, Run::mean_ms),
        ));
        body.push_str(&line("Figure 15: CPU (%) by clients, ODO 50 % cars", &of_scenario(SCENARIOS[5].title, busy)));
    }
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Gateway: the report's measurements</title>\
<style>body{{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;color:#1b2733}}svg{{width:100%;height:auto;\
background:#f6f8fa;border-radius:6px}}pre{{overflow:auto;background:#f6f8fa;padding:1rem;border-radius:6px;font-size:12px}}text{{font:12px system-ui}}</style>\
<h1>Gateway: the report's measurements</h1><p>IBM, z/OS Connect EE V3.0, \"Improve performance by reducing your JSON payload size\" (2020), \
repeated over <code>examples/dealership</code>. CPU time is the server's and its program workers', from the kernel's accounting.</p>{body}<h2>Tables</h2><pre>{}</pre></html>\n",
        escaped(&study.tables())
    )
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
            ("residentBytes", Json::int(run.resident_bytes)),
        ])
    };
    let rows = study.rows.iter().map(|row| {
        let mut json = run(&row.run);
        json.put("scenario", Json::text(row.scenario.title));
        json.put("printedBytes", Json::int(row.scenario.printed as u64));
        json.put("clients", Json::int(row.clients as u64));
        json
    });
    let linear = study.linear.iter().map(|(cars, found)| {
        let mut json = run(found);
        json.put("cars", Json::int(*cars));
        json
    });
    let twins = study.twins.iter().map(|twin| {
        Json::object([
            ("payload", Json::text(twin.title)),
            ("bytes", Json::int(twin.bytes as u64)),
            ("gatewayUs", number(twin.gateway_us)),
            ("staticUs", number(twin.fixed_us)),
            ("ratio", number(twin.ratio())),
            ("bar", number(twin.bar)),
            ("gatewayPerSecond", number(twin.gateway_rps)),
            ("staticPerSecond", number(twin.fixed_rps)),
        ])
    });
    let whole = Json::object([
        ("saturated", Json::List(twins.collect())),
        ("thinkTime", Json::List(rows.collect())),
        ("linearity", Json::List(linear.collect())),
    ]);
    let wasted = study.wasted.as_ref().map(|(read, not)| Json::object([("read", run(read)), ("notRead", run(not))]));
    let open = study.open.as_ref().map(|(_, found)| run(found));
    let fit = study.fit().map(|(rest, slope, explained)| {
        Json::object([("us", number(rest)), ("usPerKilobyte", number(slope)), ("rSquared", number(explained))])
    });
    let spreads = study
        .spreads()
        .into_iter()
        .map(|(title, spread)| Json::object([("scenario", Json::text(title)), ("largestBySmallest", number(spread))]));
    let whole = whole.with("linearFit", fit).with("cpuByClients", Some(Json::List(spreads.collect())));
    whole.with("maxCars", wasted).with("openArrivals", open).pretty() + "\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn bars(title: &str, values: &[(String, f64)]) -> String {
    let top = values.iter().map(|(_, value)| *value).fold(0.0, f64::max).max(1e-9);
    let height = 30 * values.len() + 20;
    let mut svg = format!("<h2>{}</h2><svg viewBox='0 0 900 {height}'>", escaped(title));
    for (i, (name, value)) in values.iter().enumerate() {
        let (y, width) = (10 + 30 * i, value / top * 480.0);
        svg.push_str(&format!(
            "<text x='300' y='{}' text-anchor='end'>{}</text><rect x='310' y='{y}' width='{width:.1}' height='22' fill='#2f6fab'/>\
<text x='{:.1}' y='{}'>{value:.4}</text>",
            y + 16,
            escaped(name),
            318.0 + width,
            y + 16
        ));
    }
    svg + "</svg>"
}

fn line(title: &str, points: &[(f64, f64)]) -> String {
    let right = points.iter().map(|(x, _)| *x).fold(0.0, f64::max).max(1e-9);
    let top = points.iter().map(|(_, y)| *y).fold(0.0, f64::max).max(1e-9) * 1.15;
    let place = |(x, y): &(f64, f64)| (70.0 + x / right * 760.0, 220.0 - y / top * 200.0);
    let path: Vec<String> = points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let mut svg = format!(
        "<h2>{}</h2><svg viewBox='0 0 900 260'><path d='M70 10V220H850' fill='none' stroke='#99a'/>\
<polyline points='{}' fill='none' stroke='#2f6fab' stroke-width='2'/>",
        escaped(title),
        path.join(" ")
    );
    for point in points {
        let (x, y) = place(point);
        svg.push_str(&format!(
            "<circle cx='{x:.1}' cy='{y:.1}' r='4' fill='#2f6fab'/><text x='{x:.1}' y='{:.1}' text-anchor='middle'>{:.4}</text>\
<text x='{x:.1}' y='240' text-anchor='middle'>{:.0}</text>",
            y - 9.0,
            point.1,
            point.0
        ));
    }
    svg + "</svg>"
}
