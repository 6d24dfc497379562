//! Queueing models: time to compute a result.

use std::hint::black_box;

use quayline_capacity::simulation::Simulation;
use quayline_capacity::{Class, Network, Passes, Seconds, Station, selftest};
use quayline_report::{Cell, Column, HTML_BYTES_MAX, Picture, Report, Section, Series, SeriesStyle, Table, Verdict};

use super::{Area, Bar, Bench, Measured, Side};
use crate::clock::cpu_of;
use crate::median;

pub(super) const BARS: &[Bar] = &[
    time("convolution, 1,000 customers, servers of 4, 1 and 2", 50.0, |_| {
        let network = many_servers()?;
        milliseconds(9, || network.solve_convolution())
    }),
    time("exact mean values, 173,061 states, 4 stations, 3 classes", 100.0, |_| {
        let network = three_classes()?;
        milliseconds(9, || network.solve_exact_mva())
    }),
    time("Linearizer, the same network", 2.0, |_| {
        let network = three_classes()?;
        milliseconds(31, || network.solve_linearizer(Passes::Converged))
    }),
    time("self-test of all models", 2_000.0, |_| {
        let mut figures = 0;
        let found = milliseconds(3, || {
            let outcomes = selftest::run();
            figures = outcomes.len();
            if outcomes.iter().all(selftest::Outcome::passed) { Ok(()) } else { Err("a figure is wrong") }
        })?;
        Ok(Measured { detail: format!("{figures} figures"), ..found })
    }),
    time("report of 1,200 rows as page, CSV and JSON", 200.0, |_| {
        let report = report();
        let found = milliseconds(9, || Ok::<_, String>((report.html(), report.csv(), report.json())))?;
        let bytes = report.html().len();
        if bytes > HTML_BYTES_MAX { Err(format!("{bytes} bytes")) } else { Ok(found) }
    }),
    time("simulation of 100,000 transactions, 3 stations", 1_000.0, |_| {
        let simulation = Simulation::of(&many_servers()?, 100_000, 1).map_err(|error| error.to_string())?;
        milliseconds(3, || simulation.run())
    }),
];

/// Returns a page of a few hundred rows and points.
fn report() -> Report {
    let points: Vec<(f64, f64)> = (0..300_u32).map(|at| (f64::from(at), f64::from(at).sqrt())).collect();
    let row = |at: &(f64, f64)| vec![Cell::text(format!("{} users", at.0)), Cell::Number(at.1), Cell::Number(at.0)];
    let section = |id: usize| Section {
        id: format!("section-{id}"),
        title: format!("Section {id}"),
        notes: vec!["A note.".to_owned()],
        table: Table {
            columns: vec![Column::new("users", ""), Column::higher("throughput", "tx/s"), Column::new("x", "")],
            rows: points.iter().map(row).collect(),
        },
        picture: Some(Picture::Lines {
            across: "users".to_owned(),
            up: "tx/s".to_owned(),
            series: vec![Series { name: "model".to_owned(), style: SeriesStyle::Line, points: points.clone() }],
        }),
    };
    Report {
        kind: "bench".to_owned(),
        title: "Bench".to_owned(),
        verdict: Verdict::Good,
        summary: "All is well.".to_owned(),
        conditions: Vec::new(),
        sections: (0..4).map(section).collect(),
    }
}

const fn time(name: &'static str, bar: f64, measure: fn(&Bench) -> Result<Measured, String>) -> Bar {
    Bar { area: Area::Capacity, name, bar, side: Side::AtMost, unit: "ms", measure }
}

/// Returns the median CPU time of several runs, all of which must succeed.
fn milliseconds<T, E: ToString>(times: usize, mut work: impl FnMut() -> Result<T, E>) -> Result<Measured, String> {
    let mut runs = Vec::with_capacity(times);
    for _ in 0..times {
        let (done, cpu) = cpu_of(|| black_box(work()));
        done.map_err(|error| error.to_string())?;
        runs.push(cpu.as_secs_f64() * 1e3);
    }
    let value = median(runs.into_iter());
    Ok(Measured { value, detail: format!("median of {times}") })
}

fn many_servers() -> Result<Network, String> {
    let stations = vec![
        Station::queue("cpu", 4, &[Seconds(0.008)]),
        Station::queue("log", 1, &[Seconds(0.001)]),
        Station::queue("disk", 2, &[Seconds(0.003)]),
    ];
    let classes = vec![Class::Closed { population: 1_000, think: Seconds(0.05) }];
    Network::new(stations, classes).map_err(|error| error.to_string())
}

/// Returns a network with 63 × 41 × 67 states.
fn three_classes() -> Result<Network, String> {
    let demands = [[0.004, 0.001, 0.002], [0.001, 0.003, 0.002], [0.002, 0.002, 0.0005], [0.0005, 0.001, 0.003]];
    let stations = ["cpu", "log", "disk", "line"].iter().zip(demands);
    let stations = stations.map(|(name, demands)| Station::queue(name, 1, &demands.map(Seconds)));
    let classes = [62, 40, 66].map(|population| Class::Closed { population, think: Seconds(0.5) });
    Network::new(stations.collect(), classes.to_vec()).map_err(|error| error.to_string())
}
