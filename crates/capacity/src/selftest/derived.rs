//! Figures that follow from series and tables of the documents: scaling, disks, connections, intervals.

use super::figure::Figure;
use super::figure::Kind::{Derived, Printed, Published};
use super::planning::{Answer, CH2, CH3, CH4, CH5, CH6, CH8, CH11, CH13, CH14, CH15, LIBERTY, figure};
use super::planning_inputs::*;
use crate::fit::{
    DrivenPoint, UslFit, capacity_at_objective, checkpoint_interval_daly, checkpoint_interval_young, fit_usl_quadratic,
    linear_range, split_penalty,
};
use crate::plan::*;
use crate::{
    Bytes, CapacityUnits as Units, Class, Interruption, Network, PerSecond, PriorityClass, Seconds, Share, Station,
    priority_responses,
};

/// Every figure, by group.
#[rustfmt::skip]
pub(super) const FIGURES: &[Figure] = &[
    figure("scaling", "concurrent save, peak", CH15, Derived, 52.4, 0.05, || usl(CONCURRENT_SAVE, peak)),
    figure("scaling", "concurrent save, explained", CH15, Derived, 0.9983, 5e-5, || usl(CONCURRENT_SAVE, explained)),
    figure("scaling", "concurrent restore, one stream", CH15, Derived, 340.2, 0.05, || usl(CONCURRENT_RESTORE, first)),
    figure("scaling", "concurrent restore, coherency", CH15, Derived, 0.000_282, 5e-7, || usl(CONCURRENT_RESTORE, |fit| fit.beta)),
    figure("scaling", "parallel save, one stream", CH15, Derived, 343.4, 0.05, || usl(PARALLEL_SAVE, first)),
    figure("scaling", "parallel save has no peak", CH15, Derived, 1.0, 0.0, || usl(PARALLEL_SAVE, |fit| f64::from(u8::from(fit.peak_load().is_none())))),
    figure("scaling", "user mix save, one stream", CH15, Derived, 138.8, 0.05, || usl(MIX_SAVE, first)),
    figure("scaling", "user mix save, contention", CH15, Derived, 0.0117, 5e-5, || usl(MIX_SAVE, |fit| fit.alpha)),
    figure("scaling", "user mix save, coherency", CH15, Derived, 0.003_811, 5e-7, || usl(MIX_SAVE, |fit| fit.beta)),
    figure("scaling", "user mix restore, one stream", CH15, Derived, 62.1, 0.05, || usl(MIX_RESTORE, first)),
    figure("scaling", "user mix restore, contention", CH15, Derived, 0.0954, 5e-5, || usl(MIX_RESTORE, |fit| fit.alpha)),
    figure("scaling", "slower devices, one stream", CH15, Derived, 110.8, 0.05, || usl(SLOW_PARALLEL_SAVE, first)),
    figure("scaling", "slower devices, coherency", CH15, Derived, 0.002_711, 5e-7, || usl(SLOW_PARALLEL_SAVE, |fit| fit.beta)),
    figure("scaling", "slower devices, peak", CH15, Derived, 19.2, 0.05, || usl(SLOW_PARALLEL_SAVE, peak)),
    figure("scaling", "partitions up to 100, one partition", LIBERTY, Derived, 36_434.0, 0.5, || usl(PARTITIONS, first)),
    figure("scaling", "partitions up to 100, contention", LIBERTY, Derived, 0.0142, 5e-5, || usl(PARTITIONS, |fit| fit.alpha)),
    figure("scaling", "partitions up to 100, coherency", LIBERTY, Derived, 0.000_142, 5e-7, || usl(PARTITIONS, |fit| fit.beta)),
    figure("scaling", "partitions up to 100, peak", LIBERTY, Derived, 83.0, 0.5, || usl(PARTITIONS, peak)),
    figure("scaling", "one object split in 16 keeps, save", CH15, Derived, 0.77, 0.006, || Ok(split_penalty(&points(PARALLEL_SAVE), &points(CONCURRENT_SAVE), 16.0)?.value * 363.0 / 365.0)),
    figure("scaling", "one object split in 16 keeps, restore", CH15, Derived, 0.78, 0.005, || Ok(split_penalty(&points(PARALLEL_RESTORE), &points(CONCURRENT_RESTORE), 16.0)?.value)),
    figure("scaling", "disk arms, GB/h of one", CH15, Derived, 6.67, 0.005, || Ok(linear_range(&points(ARMS), 0.01)?.value.slope)),
    figure("scaling", "disk arms, linear up to", CH15, Printed, 90.0, 0.0, || Ok(linear_range(&points(ARMS), 0.01)?.value.most)),
    figure("scaling", "drivers within 1 s, of 10 at 0.4 s, 20 at 0.9 s, 30 at 2 s", CH11, Derived, 20.0, 0.0, || Ok(capacity_at_objective(&DRIVEN, 1.0)?.value.drivers)),
    figure("scaling", "throughput at the peak is another figure", CH11, Derived, 25.0, 0.0, || Ok(capacity_at_objective(&DRIVEN, 1.0)?.value.peak)),
    figure("disk", "8 GB, 10,000 rpm, operations a second", CH14, Derived, 120.0, 0.5, || arm(5.3, 10_000.0, 1.0)),
    figure("disk", "18 GB, 10,000 rpm, operations a second", CH14, Derived, 127.0, 0.5, || arm(4.9, 10_000.0, 1.0)),
    figure("disk", "35 GB, 10,000 rpm, operations a second", CH14, Derived, 130.0, 0.5, || arm(4.7, 10_000.0, 1.0)),
    figure("disk", "15,000 rpm, operations a second", CH14, Derived, 179.0, 0.5, || arm(3.6, 15_000.0, 1.0)),
    figure("disk", "8 GB at 40 %, operations a second", CH14, Derived, 48.0, 0.5, || arm(5.3, 10_000.0, 0.4)),
    figure("disk", "2660 operations a second at 40 %", CH14, Derived, 1064.0, 0.5, || Ok(capacity_rate(Units(2660.0), Share(0.4), 1.0)?.value.0)),
    figure("disk", "2660 operations a second at 42 %", CH14, Derived, 1117.0, 0.5, || Ok(capacity_rate(Units(2660.0), Share(0.42), 1.0)?.value.0)),
    figure("transfer", "3580-002, large file, estimate over measurement %", CH15, Derived, -8.0, 0.5, || Ok(relative_overhead(365.0, rate(0.95)?)?.value.relative.percent())),
    figure("transfer", "3580-002, user mix, estimate over measurement %", CH15, Derived, 26.0, 0.5, || Ok(relative_overhead(140.0, rate(0.5)?)?.value.relative.percent())),
    figure("streams", "ten devices, one switch of 29.2 s each", CH15, Derived, 292.0, 0.5, || Ok(serial_switches(10, Seconds(29.2))?.value.0)),
    figure("TLS", "devices of 1000 for 800", CH8, Printed, 1.0, 0.0, || Ok(tls_plan(PerSecond(800.0), PerSecond(0.0), 0.2, 1.11, Units(11_700.0), PerSecond(1000.0))?.value.devices as f64)),
    figure("TLS", "resumed handshake, units", CH6, Derived, 1.24, 0.005, || Ok(added_cost(0.52, 1.47)?.value.0)),
    figure("TLS", "full handshake, units", CH6, Derived, 32.7, 0.1, || Ok(added_cost(0.03, 1.47)?.value.0)),
    figure("connection", "set-up and close, units", CH5, Derived, 0.169, 0.0005, || Ok(added_cost(3.64, 9.44)?.value.0)),
    figure("connection", "its part of the request %", CH5, Derived, 61.0, 0.5, || Ok(added_cost(3.64, 9.44)?.value.0 * 3.64 * 100.0)),
    figure("connection", "port pairs at a wait of 30 s", CH5, Derived, 2000.0, 0.0, || Ok(port_pairs(Seconds(30.0))?.value.0)),
    figure("line", "interactive at 25 % is good", CH5, Printed, 1.0, 0.0, || line(LineKind::Interactive, 0.25, LineVerdict::Good)),
    figure("line", "interactive at 55 % is overloaded", CH5, Printed, 1.0, 0.0, || line(LineKind::Interactive, 0.55, LineVerdict::Overloaded)),
    figure("line", "shared medium at 30 % is busy", CH5, Printed, 1.0, 0.0, || line(LineKind::SharedMedium, 0.3, LineVerdict::Busy)),
    figure("line", "interface at 65 % is busy", CH5, Printed, 1.0, 0.0, || line(LineKind::InterfaceProcessor, 0.65, LineVerdict::Busy)),
    figure("line", "large transfers may fill it", CH5, Printed, 1.0, 0.0, || line(LineKind::Bulk, 0.95, LineVerdict::Good)),
    figure("quota", "one of 16 processors %", CH13, Printed, 6.25, 0.0, || Ok(one_job_share(16)?.value.percent())),
    figure("migration", "21 % of 66.7, custom", CH2, Derived, 14.0, 0.01, || Ok(migrate(Share(0.21), Units(66.7), MigrationRule::Custom)?.value.0)),
    figure("regulator", "other work at priority 36 is out of reach", CH2, Printed, 0.0, 0.0, || Ok(f64::from(u8::from(regulator_is_effective(36).value)))),
    figure("regulator", "the band returns when the load falls", CH2, Printed, 2.0, 0.0, returned),
    figure("report", "seven rows, other %: largest difference", CH2, Derived, 0.0, 0.05, || components(|row, found| found.other.percent() - row[5])),
    figure("report", "seven rows, CPU a transaction: largest difference", CH2, Derived, 0.0, 0.0006, || components(|row, found| found.cpu.0 - row[6])),
    figure("report", "seven rows, concurrency: largest difference", CH2, Derived, 0.0, 0.006, || components(|row, found| found.concurrency - row[7])),
    figure("report", "interactive part of the CPU, mean %", CH2, Derived, 41.3, 0.05, || Ok(COMPONENTS.iter().map(|row| row[3]).sum::<f64>() / 7.0)),
    figure("batch", "90 s CPU and 10 s I/O in 4 jobs on 4 processors", CH3, Derived, 25.0, 1e-9, || Ok(batch_window(Seconds(90.0), Seconds(10.0), 4, 4)?.value.least.0)),
    figure("batch", "and in 8 jobs: the processors limit", CH3, Derived, 22.5, 1e-9, || Ok(batch_window(Seconds(90.0), Seconds(10.0), 8, 4)?.value.least.0)),
    figure("index", "a million rows of 65,535 keys, MB", CH4, Derived, 2.0, 0.0, || Ok(vector_index_bytes(1_000_000, 65_535)?.value.0 / 1e6)),
    figure("index", "a million rows of 65,536 keys, MB", CH4, Derived, 4.0, 0.0, || Ok(vector_index_bytes(1_000_000, 65_536)?.value.0 / 1e6)),
    figure("size", "pages by connections kept, fixed units", CH6, Derived, PAGE_SIZES[0][3], 0.0006, || page(0, |fit| fit.fixed)),
    figure("size", "pages by connections kept, units a KB", CH6, Derived, PAGE_SIZES[0][4], 5e-6, || page(0, |fit| fit.per_unit)),
    figure("overhead", "76.7 over 74.8, relative %", CH4, Printed, 2.5, 0.05, || Ok(relative_overhead(74.8, 76.7)?.value.relative.percent())),
    figure("block", "a step that reads 1 GB in 64 KB blocks of 1 ms at 100 MB/s", CH15, Derived, 25.26, 0.005, || Ok(block_time(Bytes(1e9), Bytes(65_536.0), Seconds(0.001), PerSecond(1e8))?.value.0)),
    figure("control bytes", "64 blanks, from the left", CH15, Derived, 3.0, 0.0, || Ok(compress_record(&[b' '; 64], b' ').len() as f64)),
    figure("checkpoints", "interval for 3.33 ms and 30 days (Young)", "Young 1974", Published, 131.373_855_212_232, 1e-9, || Ok(checkpoint_interval_young(Seconds(0.003_329_299_736_366_608_7), Seconds(2_592_000.0))?.value.0)),
    figure("checkpoints", "interval for 3.33 ms and 30 days (Daly)", "Daly 2006", Published, 131.371_635_688_449_03, 1e-9, || Ok(checkpoint_interval_daly(Seconds(0.003_329_299_736_366_608_7), Seconds(2_592_000.0))?.value.0)),
    figure("network", "20 terminals, CPU a visit", JAIN_34, Published, 0.373, 0.0005, || terminals(0, 16.0)),
    figure("network", "20 terminals, disk A a visit", JAIN_34, Published, 4.854, 0.0005, || terminals(1, 10.0)),
    figure("network", "20 terminals, disk B a visit", JAIN_34, Published, 0.300, 0.0005, || terminals(2, 5.0)),
    figure("priority", "equal classes are one queue", COBHAM, Derived, 2.0, 1e-9, || mean_of(Interruption::Never)),
    figure("priority", "interruption: the first class is alone", COBHAM, Derived, 1.0 / 0.75, 1e-9, || Ok(two_classes(Interruption::Resumes)?[0].0)),
];

const JAIN_34: &str = "Jain 1991, p. 577";
const COBHAM: &str = "Cobham 1954; Kleinrock 1976, section 3.3";

/// Drivers, transactions a second, seconds.
const DRIVEN: [DrivenPoint; 3] = [
    DrivenPoint { drivers: 10.0, throughput: 12.0, response: 0.4 },
    DrivenPoint { drivers: 20.0, throughput: 22.0, response: 0.9 },
    DrivenPoint { drivers: 30.0, throughput: 25.0, response: 2.0 },
];

fn usl(series: &[(f64, f64)], of: fn(&UslFit) -> f64) -> Answer {
    Ok(of(&fit_usl_quadratic(&points(series))?.value))
}

fn first(fit: &UslFit) -> f64 {
    fit.gamma
}

fn peak(fit: &UslFit) -> f64 {
    fit.peak_load().unwrap_or(f64::NAN)
}

fn explained(fit: &UslFit) -> f64 {
    fit.r_squared
}

fn arm(seek_ms: f64, revolutions: f64, utilization: f64) -> Answer {
    Ok(arm_rate(&Disk { seek: Seconds(seek_ms / 1e3), revolutions }, Share(utilization))?.value.0)
}

fn rate(kept: f64) -> Answer {
    Ok(transfer_rate(35.0, Share(kept), 2.8)?.value.gigabytes_an_hour)
}

fn line(kind: LineKind, utilization: f64, expected: LineVerdict) -> Answer {
    Ok(f64::from(u8::from(line_verdict(kind, Share(utilization))?.value == expected)))
}

/// Returns the band of a job at priority 20 after two intervals above its share and one below.
fn returned() -> Answer {
    let mut regulator = BandRegulator::new(Band(2), 5);
    for above in [true, true, false] {
        regulator.step(above);
    }
    let band = regulator.step(false);
    Ok(f64::from(band.0))
}

/// Returns the largest difference of a figure over the rows of the component report.
fn components(difference: fn(&[f64; 8], &ComponentFigures) -> f64) -> Answer {
    let mut worst = 0.0_f64;
    for row in &COMPONENTS {
        let share = |at: usize| Share(row[at] / 100.0);
        let component = ComponentRow {
            transactions_an_hour: row[0],
            response: Seconds(row[1]),
            total: share(2),
            interactive: share(3),
            batch: share(4),
        };
        worst = worst.max(difference(row, &component_figures(&component, 1)?.value).abs());
    }
    Ok(worst)
}

fn page(row: usize, of: fn(&SizeFit) -> f64) -> Answer {
    let [small, _, large, ..] = PAGE_SIZES[row];
    Ok(of(&size_fit((1.0, small), (100.0, large))?.value))
}

/// Calculates the response time of one visit at a station of 20 terminals that think for 4 s.
fn terminals(station: usize, visits: f64) -> Answer {
    let stations = vec![
        Station::queue("CPU", 1, &[Seconds(16.0 * 0.125)]),
        Station::queue("disk A", 1, &[Seconds(10.0 * 0.3)]),
        Station::queue("disk B", 1, &[Seconds(5.0 * 0.2)]),
    ];
    let classes = vec![Class::Closed { population: 20, think: Seconds(4.0) }];
    Ok(Network::new(stations, classes)?.solve()?.value.residence[station][0].0 / visits)
}

/// Calculates the response times of two classes with the same service and a quarter of the load each.
fn two_classes(interruption: Interruption) -> Result<Vec<Seconds>, crate::ModelError> {
    let class = PriorityClass { arrivals: PerSecond(0.25), service: Seconds(1.0), squared_variation: 1.0 };
    Ok(priority_responses(&[class, class], interruption)?.value)
}

fn mean_of(interruption: Interruption) -> Answer {
    let responses = two_classes(interruption)?;
    Ok(responses.iter().map(|time| time.0).sum::<f64>() / responses.len() as f64)
}
