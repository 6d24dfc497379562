//! Figures of other programs and of closed forms: scalability, percentiles, growth, checkpoints, conversions, laws.

use super::figure::Figure;
use super::figure::Kind::{Derived, OtherSolver, Printed, Published};
use super::planning::{
    Answer, CH2, CH5, CH6, CH8, JAIN, LSPR, QSP117, RMF, WDI, exponent, figure, months, omission, second_knee, stalled,
};
use crate::check::{self, Printed as Digits, Statement};
use crate::fit::{checkpoint_interval_daly, checkpoint_interval_young, fit_power};
use crate::plan::*;
use crate::{
    Bytes, CapacityUnits as Units, Class, Network, PerSecond, Seconds, Share, Solution, Station, asymptotic_bounds,
    laws, proportional_bounds,
};

/// Every figure, by group.
#[rustfmt::skip]
pub(super) const FIGURES: &[Figure] = &[
    figure("omission", "p30 of a stalled driver, recorded", TENE, Published, 0.001, 1e-6, || omission(0.3, false)),
    figure("omission", "p50 of a stalled driver, recorded", TENE, OtherSolver, 0.001, 1e-6, || omission(0.5, false)),
    figure("omission", "p75 of a stalled driver, recorded", TENE, OtherSolver, 0.001, 1e-6, || omission(0.75, false)),
    figure("omission", "p90 of a stalled driver, recorded", TENE, OtherSolver, 0.001, 1e-6, || omission(0.9, false)),
    figure("omission", "p99.99 of a stalled driver, recorded", TENE, Published, 0.001, 1e-6, || omission(0.9999, false)),
    figure("omission", "p99.999 of a stalled driver, recorded", TENE, Published, 100.0, 0.1, || omission(0.999_99, false)),
    figure("omission", "largest of a stalled driver, recorded", TENE, OtherSolver, 100.007_935, 0.1, || omission(1.0, false)),
    figure("omission", "p30 of a stalled driver, corrected", TENE, Published, 0.001, 1e-6, || omission(0.3, true)),
    figure("omission", "p50 of a stalled driver, corrected", TENE, Published, 0.001, 1e-6, || omission(0.5, true)),
    figure("omission", "p75 of a stalled driver, corrected, by histogram", TENE, OtherSolver, 50.003_967, 0.05, || omission(0.75, true)),
    figure("omission", "p90 of a stalled driver, corrected", TENE, Published, 80.0, 0.08, || omission(0.9, true)),
    figure("omission", "p90 of a stalled driver, corrected, by histogram", TENE, OtherSolver, 80.019_455, 0.08, || omission(0.9, true)),
    figure("omission", "p99 of a stalled driver, corrected, by histogram", TENE, OtherSolver, 98.041_855, 0.098, || omission(0.99, true)),
    figure("omission", "p99.99 of a stalled driver, corrected", TENE, OtherSolver, 100.007_935, 0.1, || omission(0.9999, true)),
    figure("omission", "p99.999 of a stalled driver, corrected", TENE, OtherSolver, 100.007_935, 0.1, || omission(0.999_99, true)),
    figure("omission", "largest of a stalled driver, corrected", TENE, OtherSolver, 100.007_935, 0.1, || omission(1.0, true)),
    figure("omission", "responses, recorded", TENE, OtherSolver, 10_001.0, 0.0, || Ok(stalled(false)?.count() as f64)),
    figure("omission", "responses, corrected", TENE, OtherSolver, 20_000.0, 0.0, || Ok(stalled(true)?.count() as f64)),
    figure("omission", "mean, recorded", TENE, OtherSolver, 0.010_996_417_158_284_172, 1e-5, || Ok(stalled(false)?.mean().map_or(f64::NAN, |time| time.0))),
    figure("omission", "mean, corrected", TENE, OtherSolver, 25.003_006_699_4, 0.025, || Ok(stalled(true)?.mean().map_or(f64::NAN, |time| time.0))),
    figure("rating", "one engine of the target", LSPR, Printed, 0.47, 1e-12, || engines(1.0, 1, 2.35, 5)),
    figure("rating", "one engine of the base", LSPR, Printed, 0.9, 1e-12, || engines(1.0, 1, 3.6, 4)),
    figure("rating", "target over base, as printed", LSPR, Printed, 0.52, 0.005, || engines(3.6, 4, 2.35, 5)),
    figure("rating", "target over base", LSPR, Derived, 0.522_222_222_222_222_3, 1e-12, || engines(3.6, 4, 2.35, 5)),
    figure("rating", "target over base, with the 1.47 of the first step", LSPR, Derived, 0.326_666_666_666_666_66, 1e-12, || engines(3.6, 4, 1.47, 5)),
    figure("rating", "base machine over target machine", LSPR, Derived, 1.531_914_893_617_021_3, 1e-12, || engines(2.35, 1, 3.6, 1)),
    figure("rating", "7750 µs by the rounded ratio", LSPR, Derived, 14_903.846_153_846_152, 1e-6, || Ok(convert_by_rating(Seconds(7750.0), one(1.0), one(0.52))?.value.0)),
    figure("rating", "busy share of an interval", RMF, Derived, 19.939_999_999_999_998, 1e-9, || Ok(laws::utilization(PerSecond(1.0 / 60.0), Seconds(11.733 + 0.231), 1)?.value.percent())),
    // The report prints the share of eligible time but not the time, so two laws check each other.
    figure("rating", "share that another kind of processor could take %", RMF, Printed, 19.52, 0.005, || eligible(0.1952)),
    figure("rating", "service units a second", RMF, Printed, 14_840.0, 0.5, || Ok(laws::throughput(890_394.0, Seconds(60.0))?.value.0)),
    figure("rating", "service units a second, to the tenth", RMF, Derived, 14_839.9, 0.05, || Ok(laws::throughput(890_394.0, Seconds(60.0))?.value.0)),
    figure("rating", "service units a CPU second", RMF, Derived, 74_421.460_836_955_6, 1e-6, || Ok(laws::throughput(873_187.0, Seconds(11.733))?.value.0)),
    figure("knee", "second example, exact position", CH2, Derived, 0.714_285_714_285_714_3, 1e-9, || Ok(second_knee()?.position)),
    figure("knee", "second example, exact use %", CH2, Derived, 72.571_428_571_428_57, 1e-9, || Ok(second_knee()?.used.0)),
    figure("knee", "second example, exactly left %", CH2, Derived, 27.428_571_428_571_43, 1e-9, || Ok(second_knee()?.left.0)),
    figure("knee", "second example, used one point lower", CH2, Printed, 58.0, 1.0, || Ok(100.0 - second_knee()?.swing.0.0)),
    figure("knee", "second example, used one point higher", CH2, Printed, 86.0, 1.0, || Ok(100.0 - second_knee()?.swing.1.0)),
    figure("knee", "exact maximum of 450/50 %", CH2, Derived, 11.111_111_111_111_11, 1e-9, || Ok(knee(&Entitlement { capacity: Units(450.0), rule: KneeRule::OneThird(Units(50.0)) }, Units(0.0))?.value.most.0 / 4.5)),
    figure("migration", "21 % of 66.7, as printed", CH2, Printed, 42.0, 0.5, || migrated(0.21, MigrationRule::OneThird)),
    figure("migration", "21 % of 66.7, exact", CH2, Derived, 42.021, 1e-9, || migrated(0.21, MigrationRule::OneThird)),
    figure("migration", "21 % of 66.7, custom, exact", CH2, Derived, 14.007, 1e-9, || migrated(0.21, MigrationRule::Custom)),
    figure("migration", "90 % of 66.7, custom", CH2, Derived, 90.045_000_000_000_02, 1e-9, || migrated(0.9, MigrationRule::Custom)),
    figure("capacity", "web, 825 × 0.57, exact", CH6, Derived, 470.249_999_999_999_94, 1e-9, || Ok(mix_need(&[MixItem { rate: PerSecond(825.0), cost: Units(0.57) }])?.value.0)),
    figure("capacity", "800 full handshakes at 0.20, share as printed", CH8, Printed, 0.34, 0.005, || handshakes(0.2)),
    figure("capacity", "800 full handshakes at 0.20, share", CH8, Derived, 0.341_880_341_880_341_9, 1e-9, || handshakes(0.2)),
    figure("capacity", "800 full handshakes at 0.74, share as printed", CH8, Printed, 0.09, 0.005, || handshakes(0.74)),
    figure("capacity", "800 full handshakes at 0.74, share", CH8, Derived, 0.092_400_092_400_092_4, 1e-9, || handshakes(0.74)),
    figure("line", "1.2 and 0.3 MB in 60 s at 1 Mbit, full duplex %", CH5, Derived, 10.0, 1e-9, || Ok(line_utilization(Bytes(1.2e6), Bytes(3e5), Seconds(60.0), PerSecond(1e6), Duplex::Full)?.value.percent())),
    figure("laws", "paced driver, largest response of five loads", RMF, Derived, 0.0, 1e-12, paced),
    figure("laws", "paced driver, response at 199.5 a second", RMF, Derived, 0.001_25, 5e-6, || Ok(laws::interactive_response(100.0, PerSecond(199.5), Seconds(0.5))?.value.0)),
    figure("size", "exponent of a map", WDI, OtherSolver, 0.624_496_956_083_906_9, 1e-6, || exponent(&[(33.0, 0.65), (5120.0, 10.29), (28_672.0, 51.79)])),
    figure("size", "exponent on AIX", WDI, OtherSolver, 1.136_083_557_629_817_4, 1e-6, || exponent(&[(13.0, 4.0 / 3.0), (300.0, 46.0), (2048.0, 420.0)])),
    figure("size", "exponent on Windows", WDI, OtherSolver, 0.949_973_401_544_610_2, 1e-6, || exponent(&[(13.0, 1.0), (300.0, 22.0), (2048.0, 120.0)])),
    figure("size", "exponent between 75 and 100 MB", WDI, OtherSolver, 11.867_572_888_277_154, 1e-6, || cliff(&[(25.0, 342.59), (75.0, 1125.12), (100.0, 34_191.52)])),
    figure("size", "messages of a quarter of an hour", WDI, Derived, 12_974.0, 1.5, || total(&["7743", "3387", "1844"], "12951")),
    figure("size", "messages of an hour", WDI, Derived, 51_896.0, 1.5, || total(&["30972", "13548", "7376"], "51808")),
    figure("size", "hours are four times a quarter", WDI, Derived, 4.0, 0.0, quarters),
    figure("size", "messages a second", WDI, Derived, 14.391_111_111_111_112, 0.001, || Ok(laws::throughput(51_808.0, Seconds(3600.0))?.value.0)),
    figure("checkpoints", "interval for 3 ms and 30 days (Young)", YOUNG, Published, 124.707_658_144_959_17, 1e-9, || young(SMALL, MONTH)),
    figure("checkpoints", "interval for 3.33 ms and 1 h (Young)", YOUNG, Published, 4.896_014_512_012_764, 1e-9, || young(FITTED, 3600.0)),
    figure("checkpoints", "interval for 3.33 ms and 1 day (Young)", YOUNG, Published, 23.985_474_655_385_705, 1e-9, || young(FITTED, DAY)),
    figure("checkpoints", "interval for 3 ms and 1 day (Daly)", DALY, Published, 22.766_399_197_132_852, 1e-9, || daly(SMALL, DAY)),
    figure("checkpoints", "interval for 3 ms and 30 days (Daly)", DALY, Published, 124.705_658_152_977_92, 1e-9, || daly(SMALL, MONTH)),
    figure("checkpoints", "interval for 3.33 ms and 1 h (Daly)", DALY, Published, 4.893_795_230_403_024, 1e-9, || daly(FITTED, 3600.0)),
    figure("checkpoints", "interval for 3.33 ms and 1 day (Daly)", DALY, Published, 23.983_255_173_575_113, 1e-9, || daly(FITTED, DAY)),
    figure("growth", "one server of 0.35 ms at 1000 a second, used", GROWTH, Derived, 0.35, 1e-12, || used(1000.0, 0.000_35, 1)),
    figure("growth", "six servers of 0.35 ms at 1000 a second, used", GROWTH, Derived, 0.058_333_333_333_333_33, 1e-12, || used(1000.0, 0.000_35, 6)),
    figure("growth", "six servers of 0.35 ms at 3 % a month", GROWTH, Derived, 84.066_554_168_270_84, 1e-9, || months(used(1000.0, 0.000_35, 6)?, 0.7, 0.03)),
    figure("growth", "four servers of 8 ms at 200 a second, used", GROWTH, Derived, 0.4, 1e-12, || used(200.0, 0.008, 4)),
    figure("growth", "one server of 1.2 ms at 400 a second, used", GROWTH, Derived, 0.48, 1e-12, || used(400.0, 0.0012, 1)),
    figure("growth", "one server of 1.2 ms at 2 % a month", GROWTH, Derived, 19.052_736_058_626_653, 1e-9, || months(used(400.0, 0.0012, 1)?, 0.7, 0.02)),
    figure("laws", "17 terminals, throughput", JAIN, Published, 0.196_249_999_999_999_98, 1e-12, || Ok(transactions()?.0)),
    figure("laws", "17 terminals, visits to the CPU a second", JAIN, Published, 35.521_249_999_999_995, 1e-9, || visits(181.0)),
    figure("laws", "17 terminals, visits to disk B a second", JAIN, Published, 19.624_999_999_999_996, 1e-9, || visits(100.0)),
    figure("laws", "17 terminals, demand at disk A", JAIN, Published, 4.0, 1e-9, || demand(80.0, 0.05)),
    figure("laws", "17 terminals, demand at disk B", JAIN, Published, 3.0, 1e-9, || demand(100.0, 0.03)),
    figure("laws", "17 terminals, disk A used", JAIN, Published, 0.785, 1e-9, || Ok(laws::utilization(transactions()?, Seconds(4.0), 1)?.value.0)),
    figure("laws", "17 terminals, disk B used", JAIN, Published, 0.588_749_999_999_999_9, 1e-9, || Ok(laws::utilization(transactions()?, Seconds(3.0), 1)?.value.0)),
    figure("bounds", "17 terminals, most throughput", JAIN, Published, 0.2, 1e-12, || Ok(terminals(100)?.throughput_most.0)),
    figure("bounds", "17 terminals, largest demand", JAIN, Published, 5.0, 1e-12, || Ok(1.0 / terminals(100)?.throughput_most.0)),
    figure("bounds", "17 terminals, saturation", JAIN, Published, 6.0, 1e-12, || Ok(terminals(17)?.saturation_population)),
    figure("bounds", "2 customers, proportional, least", HSIEH, Published, 4.3174, 5e-5, || proportional(2, |of| of.throughput_least)),
    figure("bounds", "2 customers, proportional, most", HSIEH, Published, 4.3174, 5e-5, || proportional(2, |of| of.throughput_most)),
    figure("bounds", "10 customers, proportional, least", HSIEH, Published, 8.0219, 5e-5, || proportional(10, |of| of.throughput_least)),
    figure("bounds", "10 customers, proportional, most", HSIEH, Published, 8.27, 5e-5, || proportional(10, |of| of.throughput_most)),
    figure("bounds", "20 customers, proportional, least", HSIEH, Published, 8.8672, 5e-5, || proportional(20, |of| of.throughput_least)),
    figure("bounds", "20 customers, proportional, most", HSIEH, Published, 9.3387, 5e-5, || proportional(20, |of| of.throughput_most)),
    figure("Schweitzer", "three terminals, as printed: throughput", QSP117, Published, 0.151, 5e-5, || schweitzer(|of| of.throughput[0].0)),
    figure("Schweitzer", "three terminals, as printed: response", QSP117, Published, 4.87, 0.005, || schweitzer(|of| of.response(0).0)),
    figure("Schweitzer", "three terminals, as printed: at station 1", QSP117, Published, 0.0973, 5e-5, || schweitzer(|of| of.queue[0][0])),
    figure("Schweitzer", "three terminals, as printed: at station 2", QSP117, Published, 0.4021, 5e-5, || schweitzer(|of| of.queue[1][0])),
    figure("Schweitzer", "three terminals, as printed: at station 3", QSP117, Published, 0.2359, 5e-5, || schweitzer(|of| of.queue[2][0])),
];

const TENE: &str = "Tene, HdrHistogram; its Python edition 0.10.8";
const YOUNG: &str = "Young 1974";
const DALY: &str = "Daly 2006";
const GROWTH: &str = "utilization law";
const HSIEH: &str = "Hsieh & Lam 1987, table IV";

/// Seconds of a checkpoint: a round figure, and that of a fit.
const SMALL: f64 = 0.003;
const FITTED: f64 = 0.003_329_299_736_366_608_7;
const DAY: f64 = 86_400.0;
const MONTH: f64 = 30.0 * DAY;

fn one(rating: f64) -> HostRating {
    HostRating { rating, engines: 1 }
}

/// Returns the rating of one engine of the second machine over that of the first.
fn engines(base: f64, base_engines: u32, target: f64, target_engines: u32) -> Answer {
    let (base, target) =
        (HostRating { rating: base, engines: base_engines }, HostRating { rating: target, engines: target_engines });
    Ok(1.0 / convert_by_rating(Seconds(1.0), base, target)?.value.0)
}

/// Returns the percentage of a minute that work takes whose time follows from its share.
fn eligible(share: f64) -> Answer {
    let minute = Seconds(60.0);
    let time = laws::service_demand(Share(share), 1, minute, 1.0)?.value;
    Ok(laws::utilization(laws::throughput(1.0, minute)?.value, time, 1)?.value.percent())
}

fn migrated(share: f64, rule: MigrationRule) -> Answer {
    Ok(migrate(Share(share), Units(66.7), rule)?.value.0)
}

fn handshakes(metric: f64) -> Answer {
    Ok(required_utilization(PerSecond(800.0), Units(11_700.0), metric)?.value.0)
}

/// Returns the largest response time that the law leaves for 100 to 500 users of 500 ms at twice as many transactions a second.
fn paced() -> Answer {
    let mut most = f64::NEG_INFINITY;
    for users in [100.0, 200.0, 300.0, 400.0, 500.0] {
        most = most.max(laws::interactive_response(users, PerSecond(2.0 * users), Seconds(0.5))?.value.0);
    }
    Ok(most)
}

fn cliff(points: &[(f64, f64)]) -> Answer {
    Ok(fit_power(points)?.value.local.last().copied().unwrap_or(f64::NAN))
}

fn digits(text: &str) -> Digits {
    Digits::parse(text).unwrap_or(Digits::exact(f64::NAN))
}

/// Returns the middle of the sums that the parts allow, if the printed total is not one of them.
fn total(terms: &[&str], printed: &str) -> Answer {
    let statement = Statement::Sum { terms: terms.iter().map(|term| digits(term)).collect(), printed: digits(printed) };
    Ok(check::check(&statement).map_or(f64::NAN, |fault| (fault.least + fault.most) / 2.0))
}

/// Returns the factor between the columns of a quarter of an hour and of an hour.
fn quarters() -> Answer {
    let column = |values: [&str; 3]| values.map(digits).to_vec();
    let (first, second) = (column(["7743", "3387", "1844"]), column(["30972", "13548", "7376"]));
    Ok(check::check(&Statement::Columns { first, second }).map_or(f64::NAN, |fault| fault.least))
}

fn young(cost: f64, failures: f64) -> Answer {
    Ok(checkpoint_interval_young(Seconds(cost), Seconds(failures))?.value.0)
}

fn daly(cost: f64, failures: f64) -> Answer {
    Ok(checkpoint_interval_daly(Seconds(cost), Seconds(failures))?.value.0)
}

fn used(rate: f64, demand: f64, servers: u32) -> Answer {
    Ok(laws::utilization(PerSecond(rate), Seconds(demand), servers)?.value.0)
}

/// Returns the transactions a second of 17 terminals with 15.7 visits a second at disk A, 80 by transaction.
fn transactions() -> Result<PerSecond, crate::ModelError> {
    Ok(laws::forced_flow(PerSecond(15.7), 1.0 / 80.0)?.value)
}

fn visits(number: f64) -> Answer {
    Ok(laws::forced_flow(transactions()?, number)?.value.0)
}

/// Returns the demand of a transaction at a disk: its utilization in a second, by the transactions of that second.
fn demand(visits: f64, service: f64) -> Answer {
    let rate = transactions()?;
    let busy = laws::utilization(laws::forced_flow(rate, visits)?.value, Seconds(service), 1)?.value;
    Ok(laws::service_demand(busy, 1, Seconds(1.0), rate.0)?.value.0)
}

fn terminals(customers: u32) -> Result<crate::Bounds, crate::ModelError> {
    let demands = [5.0, 4.0, 3.0].map(Seconds);
    Ok(asymptotic_bounds(&demands, &[1, 1, 1], customers, Seconds(18.0))?.value)
}

fn proportional(customers: u32, of: fn(&crate::Bounds) -> PerSecond) -> Answer {
    Ok(of(&proportional_bounds(&[0.1, 0.1, 0.09, 0.08].map(Seconds), customers)?.value).0)
}

fn schweitzer(of: fn(&Solution) -> f64) -> Answer {
    let stations = [("CPU", 0.605), ("disk 1", 2.1), ("disk 2", 1.35)];
    let stations = stations.map(|(name, demand)| Station::queue(name, 1, &[Seconds(demand)])).to_vec();
    let network = Network::new(stations, vec![Class::Closed { population: 3, think: Seconds(15.0) }])?;
    Ok(of(&network.solve_schweitzer()?.value))
}
