//! Figures that follow from tables of the documents by a ratio or a fit, and choices that follow from figures.

use super::figure::Figure;
use super::figure::Kind::{Derived, Printed};
use super::planning::{Answer, CH4, CH5, CH6, CH8, CH11, CH13, CH14, CH15, LIBERTY, figure};
use super::planning_inputs::*;
use crate::fit::{UslFit, fit_usl_quadratic};
use crate::plan::*;
use crate::{Bytes, CapacityUnits as Units, PerSecond, Seconds, Share};

/// Every figure, by group.
#[rustfmt::skip]
pub(super) const FIGURES: &[Figure] = &[
    figure("scaling", "concurrent save, contention", CH15, Derived, 0.0, 1e-9, || usl(CONCURRENT_SAVE, |fit| fit.alpha)),
    figure("scaling", "concurrent restore, explained", CH15, Derived, 0.9997, 5e-5, || usl(CONCURRENT_RESTORE, explained)),
    figure("scaling", "parallel save, coherency", CH15, Derived, 0.0, 1e-9, || usl(PARALLEL_SAVE, |fit| fit.beta)),
    figure("scaling", "parallel save, explained", CH15, Derived, 0.9952, 5e-5, || usl(PARALLEL_SAVE, explained)),
    figure("scaling", "user mix save, explained", CH15, Derived, 0.9991, 5e-5, || usl(MIX_SAVE, explained)),
    figure("scaling", "user mix restore, coherency", CH15, Derived, 0.0, 1e-9, || usl(MIX_RESTORE, |fit| fit.beta)),
    figure("scaling", "user mix restore, explained", CH15, Derived, 0.9824, 5e-5, || usl(MIX_RESTORE, explained)),
    figure("scaling", "slower devices, contention", CH15, Derived, 0.0, 1e-9, || usl(SLOW_PARALLEL_SAVE, |fit| fit.alpha)),
    figure("scaling", "slower devices, explained", CH15, Derived, 0.9983, 5e-5, || usl(SLOW_PARALLEL_SAVE, explained)),
    figure("scaling", "partitions up to 100, explained", LIBERTY, Derived, 0.9998, 5e-5, || usl(PARTITIONS, explained)),
    figure("capacity", "800 full handshakes at 0.20 keep 10 %", CH8, Printed, 0.0, 0.0, || keeps_ten(0.2)),
    figure("capacity", "800 full handshakes at 0.74 keep 10 %", CH8, Printed, 1.0, 0.0, || keeps_ten(0.74)),
    figure("TLS", "a device saves, 0.20 to 0.74, %", CH8, Derived, 73.0, 0.5, || saved(0.20, 0.74)),
    figure("TLS", "a device saves, 0.26 to 0.65, %", CH8, Derived, 60.0, 0.5, || saved(0.26, 0.65)),
    figure("TLS", "a device saves, 0.26 to 0.74, %", CH8, Derived, 65.0, 0.5, || saved(0.26, 0.74)),
    figure("TLS", "static pages, relative cost", CH6, Derived, 1.19, 0.005, || times(1.47, 1.75)),
    figure("TLS", "cached pages, relative cost", CH6, Derived, 1.25, 0.005, || times(2.23, 2.79)),
    figure("TLS", "user modules, relative cost", CH6, Derived, 1.17, 0.005, || times(2.69, 3.15)),
    figure("TLS", "persistent CGI, relative cost", CH6, Derived, 1.08, 0.005, || times(0.26, 0.28)),
    figure("TLS", "named CGI, relative cost", CH6, Derived, 1.03, 0.005, || times(0.36, 0.37)),
    figure("TLS", "macros, relative cost", CH6, Derived, 1.0, 0.005, || times(0.17, 0.17)),
    figure("network", "virtual over Ethernet, request and response", CH5, Derived, 1.69, 0.005, || times(16.57, 28.07)),
    figure("network", "virtual over Ethernet, long responses", CH5, Derived, 1.93, 0.005, || times(9.44, 18.24)),
    figure("network", "virtual over Ethernet, connections", CH5, Derived, 1.52, 0.005, || times(3.64, 5.54)),
    figure("network", "virtual over Ethernet, stream", CH5, Derived, 2.76, 0.005, || times(7.14, 19.69)),
    figure("network", "large frames, gain %", CH5, Derived, 7.1, 0.05, || Ok(100.0 * (times(7.14, 7.65)? - 1.0))),
    figure("connection", "virtual, set-up and close, units", CH5, Derived, 0.126, 0.0005, || Ok(added_cost(5.54, 18.24)?.value.0)),
    figure("connection", "virtual, its part of the request %", CH5, Derived, 70.0, 0.5, || Ok(added_cost(5.54, 18.24)?.value.0 * 5.54 * 100.0)),
    figure("connection", "pages from files, units", CH6, Derived, 0.235, 0.0005, || Ok(added_cost(1.24, 1.75)?.value.0)),
    figure("connection", "pages from the cache, units", CH6, Derived, 0.223, 0.0005, || Ok(added_cost(1.72, 2.79)?.value.0)),
    figure("connection", "pages from the kernel, units", CH6, Derived, 0.124, 0.0005, || Ok(added_cost(4.97, 13.01)?.value.0)),
    figure("size", "files, connections not kept: 10 KB", CH6, Derived, 1.08, 0.005, || ten_kilobytes(1.24, 0.48)),
    figure("size", "kernel, connections kept: 10 KB", CH6, Derived, 6.32, 0.02, || ten_kilobytes(13.01, 1.03)),
    figure("size", "kernel, connections not kept: 10 KB", CH6, Derived, 3.42, 0.01, || ten_kilobytes(4.97, 0.83)),
    figure("size", "cache, connections kept: 10 KB", CH6, Derived, 2.07, 0.01, || ten_kilobytes(2.79, 0.58)),
    figure("journal", "commit after 25: added %", CH4, Derived, 8.0, 1e-9, || added_entries(25)),
    figure("journal", "commit after 75: added %", CH4, Derived, 2.67, 0.005, || added_entries(75)),
    figure("journal", "commit after 1000: added %", CH4, Derived, 0.2, 1e-9, || added_entries(1_000)),
    figure("length", "11 in a receiver of 40, blanks", CH4, Printed, 29.0, 0.0, || Ok(f64::from(fixed_receiver(40, 11)?.value.1))),
    figure("access", "statistics turn the plan round", CH4, Printed, 1.0, 0.0, || scans_second(Selectivity::Rows(10.0))),
    figure("access", "without them it scans the first file", CH4, Printed, 0.0, 0.0, || scans_second(Selectivity::Unknown)),
    figure("servers", "one fast for two at 90 %, gain %", CH11, Derived, 5.0, 1e-9, || Ok(faster_servers_gain(Share(0.9))?.value.percent())),
    figure("servers", "0.78 s to 0.63 s, gain %", CH11, Printed, 20.0, 1.0, || Ok(-relative_overhead(0.78, 0.63)?.value.relative.percent())),
    figure("disk", "8 GB, 10,000 rpm, ms", CH14, Derived, 8.3, 1e-9, || service(5.3, 10_000.0)),
    figure("disk", "18 GB, 10,000 rpm, ms", CH14, Derived, 7.9, 1e-9, || service(4.9, 10_000.0)),
    figure("disk", "18 GB at 40 %, operations a second", CH14, Derived, 51.0, 0.5, || rate(4.9)),
    figure("disk", "35 GB at 40 %, operations a second", CH14, Derived, 52.0, 0.5, || rate(4.7)),
    figure("partition", "a shared processor leaves", CH13, Printed, 0.92, 1e-9, || Ok(usable_processors(1.0)?.value)),
    figure("partition", "frames 1500 and 1496 match", CH13, Printed, 1.0, 0.0, || Ok(f64::from(u8::from(mtu_matches(1500, 1496).value)))),
];

fn usl(series: &[(f64, f64)], of: fn(&UslFit) -> f64) -> Answer {
    Ok(of(&fit_usl_quadratic(&points(series))?.value))
}

fn explained(fit: &UslFit) -> f64 {
    fit.r_squared
}

/// Returns the ratio of the second figure to the first.
fn times(base: f64, new: f64) -> Answer {
    Ok(1.0 + relative_overhead(base, new)?.value.relative.0)
}

/// Returns the percentage of CPU time that a better metric saves.
fn saved(before: f64, after: f64) -> Answer {
    Ok(-relative_overhead(1.0 / before, 1.0 / after)?.value.relative.percent())
}

/// Returns 1 if 800 handshakes a second take at most a tenth of the machine.
fn keeps_ten(metric: f64) -> Answer {
    let share = required_utilization(PerSecond(800.0), Units(11_700.0), metric)?.value;
    Ok(f64::from(u8::from(share.0 <= 0.1)))
}

/// Interpolates the metric of pages of 10 KB from those of 1 KB and 100 KB.
fn ten_kilobytes(small: f64, large: f64) -> Answer {
    Ok(size_fit((1.0, small), (100.0, large))?.value.metric(10.0)?.value)
}

/// Returns the percentage of journal entries that commits add to 10 million changes.
fn added_entries(interval: u64) -> Answer {
    Ok(relative_overhead(1e7, journal_entries(10_000_000, interval)?.value as f64)?.value.relative.percent())
}

fn scans_second(selected: Selectivity) -> Answer {
    let plan = access_plan(Bytes(GIB), Bytes(GIB / 10.0), 1e7, 3600.0, selected)?.value;
    Ok(f64::from(u8::from(matches!(plan, AccessPlan::ScanSecond { .. }))))
}

fn service(seek_ms: f64, revolutions: f64) -> Answer {
    Ok(disk_service(&Disk { seek: Seconds(seek_ms / 1e3), revolutions })?.value.0 * 1e3)
}

fn rate(seek_ms: f64) -> Answer {
    Ok(arm_rate(&Disk { seek: Seconds(seek_ms / 1e3), revolutions: 10_000.0 }, Share(0.4))?.value.0)
}
