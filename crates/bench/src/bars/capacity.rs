//! Queueing models: time to compute a result.

use std::hint::black_box;

use quayline_capacity::simulation::Simulation;
use quayline_capacity::{Class, Network, Passes, Seconds, Station, selftest};
use quayline_meter::{Meter, Phase, Totals, document, step};
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
    Bar {
        area: Area::Capacity,
        name: "metering of each step of a record of about 376 ns",
        bar: 2.0,
        side: Side::AtMost,
        unit: "%",
        measure: metering,
    },
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

/// Records of a batch, and batches of a round.
const RECORDS: usize = 1_000;
const BATCHES: usize = 20;
const ROUNDS: usize = 81;

/// Returns the CPU time that phases and steps add to a record of 20 numbers between asterisks: cut, summed and written again.
fn metering(_: &Bench) -> Result<Measured, String> {
    let number = |record: usize, field: usize| (record * 7_919 + field * 104_729) % 1_000_003;
    let record =
        |at: usize| (0..20).map(|field| number(at, field).to_string()).collect::<Vec<_>>().join("*").into_bytes();
    let meter = Meter::start();
    let (mut plain, mut metered, mut totals) = (Vec::new(), Vec::new(), Totals::default());
    let mut places = Vec::new();
    for round in 0..ROUNDS {
        // At other addresses each time: where records, results and the stack are makes a difference of some percent.
        places.push(vec![0u8; 64 * (round + 1)]);
        let records: Vec<Vec<u8>> = (0..RECORDS).map(record).collect();
        let mut work = Work::default();
        let mut both = || {
            let (_, cpu) = cpu_of(|| (0..BATCHES).for_each(|_| records.iter().for_each(|record| work.plain(record))));
            plain.push(cpu.as_secs_f64());
            let (lane, cpu) = cpu_of(|| {
                let mut lane = meter.lane();
                for _ in 0..BATCHES {
                    lane.enter(Phase::Decode);
                    records.iter().for_each(|record| work.metered(record));
                    lane.enter(Phase::Write);
                }
                lane.finish()
            });
            metered.push(cpu.as_secs_f64());
            totals.merge(&lane);
        };
        deeper(round % 20, &mut both);
    }
    // The median of the ratios of two rounds in a row: the machine is slower at some times than at others.
    let ratio = crate::median(metered.iter().zip(&plain).map(|(metered, plain)| metered / plain));
    // Other work only makes a round longer, so a low percentile is that of the record alone.
    let low = |mut rounds: Vec<f64>| {
        rounds.sort_by(f64::total_cmp);
        rounds[ROUNDS / 10] / (RECORDS * BATCHES) as f64 * 1e9
    };
    let (plain, metered) = (low(plain), low(metered));
    let report = meter.report(&totals);
    let detail = format!(
        "{metered:.0} against {plain:.0} ns CPU, by {}; steps of {:.1} % of the records, own estimate {:.2} %",
        report.method.name(),
        100.0 * totals.steps as f64 / (4 * RECORDS * BATCHES * ROUNDS) as f64,
        100.0 * report.measuring_share()
    );
    Ok(Measured { value: 100.0 * (ratio - 1.0), detail })
}

/// Does something deeper in the stack, by some 200 bytes for each level.
#[inline(never)]
fn deeper(levels: usize, work: &mut dyn FnMut()) {
    let room = std::hint::black_box([0u8; 208]);
    match levels {
        0 => work(),
        _ => deeper(levels - 1, work),
    }
    std::hint::black_box(&room);
}

/// The pipeline of the bar on metering, with its memory.
#[derive(Default)]
struct Work {
    fields: Vec<(usize, usize)>,
    sums: [i64; 24],
    out: Vec<u8>,
}

impl Work {
    fn plain(&mut self, record: &[u8]) {
        self.cut(record);
        black_box(self.sum(record));
        self.write();
        black_box(&self.out);
    }

    fn metered(&mut self, record: &[u8]) {
        let is_measured = document();
        self.cut(record);
        let decode = if is_measured { step(Phase::Map) } else { Phase::Decode };
        black_box(self.sum(record));
        if is_measured {
            step(Phase::Encode);
        }
        self.write();
        if is_measured {
            step(decode);
        }
        black_box(&self.out);
    }

    #[inline(never)]
    fn cut(&mut self, record: &[u8]) {
        self.fields.clear();
        let mut from = 0;
        for at in record.iter().enumerate().filter(|(_, byte)| **byte == b'*').map(|(at, _)| at) {
            self.fields.push((from, at));
            from = at + 1;
        }
        self.fields.push((from, record.len()));
    }

    #[inline(never)]
    fn sum(&mut self, record: &[u8]) -> i64 {
        let mut all = 0;
        for (sum, (from, to)) in self.sums.iter_mut().zip(&self.fields) {
            *sum = record[*from..*to].iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
            all += *sum & 0xff;
        }
        all
    }

    #[inline(never)]
    fn write(&mut self) {
        self.out.clear();
        self.out.push(b'{');
        for sum in self.sums {
            let (mut rest, mut digits, mut at) = (sum.unsigned_abs(), [0u8; 20], 20);
            loop {
                at -= 1;
                digits[at] = b'0' + (rest % 10).to_le_bytes()[0];
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            self.out.extend_from_slice(&digits[at..]);
            self.out.push(b',');
        }
        self.out.push(b'}');
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
