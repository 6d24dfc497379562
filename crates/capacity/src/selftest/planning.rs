//! Figures of the documents for the planning models, printed there or derived from printed ones.

use super::figure::Kind::{Derived, Printed, Published};
use super::figure::{Figure, Kind};
use super::planning_inputs::*;
use crate::fit::{
    ChunkModel, Exhaustion, checkpoint_interval_daly, checkpoint_interval_young, exhaustion, fit_power,
    fit_usl_quadratic,
};
use crate::laws;
use crate::plan::*;
use crate::{Bytes, CapacityUnits as Units, ManyServers, ModelError, PerMonth, PerSecond, Seconds, Share, headroom};

pub(super) const CH2: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 2";
pub(super) const CH3: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 3";
pub(super) const CH4: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 4";
pub(super) const CH5: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 5";
pub(super) const CH6: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 6";
pub(super) const CH8: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 8";
const CH10: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 10";
pub(super) const CH11: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 11";
pub(super) const CH13: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 13";
pub(super) const CH14: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 14";
pub(super) const CH15: &str = "IBM iSeries Performance Capabilities Reference V5R3, ch. 15";
pub(super) const LSPR: &str = "IBM IA13 performance report, p. 8";
pub(super) const RMF: &str = "IBM z/OS Connect performance report, figure 2";
pub(super) const JAIN: &str = "Jain 1991, ch. 33";
const QSP: &str = "Lazowska et al. 1984, ch. 3";
pub(super) const QSP117: &str = "Lazowska et al. 1984, p. 117";
pub(super) const LIBERTY: &str = "IBM WebSphere Liberty batch performance report, item counts";
pub(super) const WDI: &str = "IBM WebSphere Data Interchange performance tables";
const ERLANG: &str = "Erlang C, evaluated with 60 digits";

pub(super) type Answer = Result<f64, ModelError>;

pub(super) const fn figure(
    group: &'static str,
    name: &'static str,
    source: &'static str,
    kind: Kind,
    expected: f64,
    allowed: f64,
    compute: fn() -> Answer,
) -> Figure {
    Figure { group, name, source, kind, expected, allowed, compute }
}

/// Every figure, by group.
#[rustfmt::skip]
pub(super) const FIGURES: &[Figure] = &[
    figure("knee", "first example, position", CH2, Printed, 0.604, 0.001, || Ok(first_knee()?.position)),
    figure("knee", "first example, used %", CH2, Printed, 71.9, 0.1, || Ok(first_knee()?.used.0)),
    figure("knee", "first example, left %", CH2, Printed, 28.1, 0.1, || Ok(first_knee()?.left.0)),
    figure("knee", "first example, overhead %", CH2, Printed, 39.8, 0.1, || Ok(first_knee()?.overhead.0)),
    figure("knee", "first example, used one point lower", CH2, Printed, 57.0, 0.5, || Ok(100.0 - first_knee()?.swing.0.0)),
    figure("knee", "first example, used one point higher", CH2, Printed, 87.0, 0.5, || Ok(100.0 - first_knee()?.swing.1.0)),
    figure("knee", "240/70 at 77, position", CH2, Derived, 0.6, 1e-6, || Ok(published_knee(77.0)?.position)),
    figure("knee", "240/70 at 77, used", CH2, Derived, 172.0, 1e-6, || Ok(published_knee(77.0)?.used.0)),
    figure("knee", "240/70 at 77, left", CH2, Derived, 68.0, 1e-6, || Ok(published_knee(77.0)?.left.0)),
    figure("knee", "240/70 at the maximum, used", CH2, Derived, 240.0, 1e-6, || Ok(published_knee(245.0 / 3.0)?.used.0)),
    figure("knee", "240/70 at the maximum, left", CH2, Printed, 0.0, 1e-6, || Ok(published_knee(245.0 / 3.0)?.left.0)),
    figure("knee", "240/70 at the maximum, overhead", CH2, Derived, 158.3, 0.1, || Ok(published_knee(245.0 / 3.0)?.overhead.0)),
    figure("knee", "240/70 at the maximum, overhead %", CH2, Printed, 66.0, 0.1, || Ok(published_knee(245.0 / 3.0)?.overhead.0 / 2.4)),
    figure("knee", "second example, position", CH2, Printed, 0.71, 0.01, || Ok(second_knee()?.position)),
    figure("knee", "second example, used %", CH2, Printed, 72.0, 1.0, || Ok(second_knee()?.used.0)),
    figure("knee", "second example, left %", CH2, Printed, 28.0, 1.0, || Ok(second_knee()?.left.0)),
    figure("knee", "450/50 at 41, position", CH2, Derived, 0.73, 1e-6, || Ok(third_knee(450.0, 50.0, 41.0)?.position)),
    figure("knee", "450/50 at 41, used", CH2, Derived, 333.0, 1e-6, || Ok(third_knee(450.0, 50.0, 41.0)?.used.0)),
    figure("knee", "450/50 at 41, left", CH2, Derived, 117.0, 1e-6, || Ok(third_knee(450.0, 50.0, 41.0)?.left.0)),
    figure("knee", "knee of 240/70 %", CH2, Printed, 29.2, 0.1, || Ok(published_knee(0.0)?.knee.0 / 2.4)),
    figure("knee", "maximum of 240/70 %", CH2, Printed, 34.0, 0.1, || Ok(published_knee(0.0)?.most.0 / 2.4)),
    figure("knee", "maximum of 450/50 %", CH2, Printed, 11.0, 0.2, || Ok(third_knee(450.0, 50.0, 0.0)?.most.0 / 4.5)),
    figure("knee", "below the knee, left", CH2, Derived, 205.0, 0.0, || Ok(published_knee(35.0)?.left.0)),
    figure("knee", "custom 1000/700 at 650, left", CH2, Derived, 200.0, 1e-6, || Ok(custom_knee()?.left.0)),
    figure("target", "240/70", CH2, Derived, 49.0, 1e-9, || Ok(operating_target(KneeRule::PublishedKnee(Units(70.0)))?.value.0)),
    figure("target", "240/70, % of the machine", CH2, Derived, 20.4, 0.1, || Ok(operating_target(KneeRule::PublishedKnee(Units(70.0)))?.value.0 / 2.4)),
    figure("target", "a trend from no to some overhead", CH2, Printed, 1.0, 0.0, || Ok(yes(trend_needs_upgrade(&[(Share(0.6), Share(0.0)), (Share(0.65), Share(0.02))])?.value))),
    figure("migration", "21 % of 66.7", CH2, Printed, 42.02, 0.1, || Ok(migrate(Share(0.21), Units(66.7), MigrationRule::OneThird)?.value.0)),
    figure("migration", "smallest machine of the catalogue", CH2, Printed, 49.7, 0.0, || Ok(smallest(&[35.8, 49.7, 66.7, 81.6], migrate(Share(0.21), Units(66.7), MigrationRule::OneThird)?.value.0))),
    figure("migration", "custom below 85 %", CH2, Derived, 84.0, 1e-9, || Ok(migrate(Share(0.84), Units(100.0), MigrationRule::Custom)?.value.0)),
    figure("migration", "custom from 85 % on", CH2, Derived, 127.5, 1e-9, || Ok(migrate(Share(0.85), Units(100.0), MigrationRule::Custom)?.value.0)),
    figure("upgrade", "share before %", CH2, Printed, 25.0, 0.0, || Ok(upgrade()?.before.percent())),
    figure("upgrade", "share after %", CH2, Printed, 6.25, 0.0, || Ok(upgrade()?.after.percent())),
    figure("upgrade", "the share shrank", CH2, Printed, 1.0, 0.0, || Ok(yes(upgrade()?.shrank))),
    figure("quota", "one job of 12 processors %", CH2, Printed, 8.3, 0.05, || Ok(one_job_share(12)?.value.percent())),
    figure("quota", "15 % of half a machine, system %", CH2, Printed, 7.5, 1e-9, || Ok(pro_rata(Share(0.15), Share(0.5))?.value.0.percent())),
    figure("quota", "15 % of half a machine, local %", CH2, Printed, 15.0, 1e-9, || Ok(pro_rata(Share(0.15), Share(0.5))?.value.1.percent())),
    figure("regulator", "band after 0 s", CH2, Derived, 2.0, 0.0, || band(20, 2, 0)),
    figure("regulator", "band after 15 s", CH2, Derived, 3.0, 0.0, || band(20, 2, 1)),
    figure("regulator", "band after 30 s", CH2, Derived, 4.0, 0.0, || band(20, 2, 2)),
    figure("regulator", "band after 45 s", CH2, Derived, 5.0, 0.0, || band(20, 2, 3)),
    figure("regulator", "band after 60 s", CH2, Derived, 6.0, 0.0, || band(20, 2, 4)),
    figure("regulator", "steps, then it stays", CH2, Derived, 5.0, 0.0, || steps(20, 2)),
    figure("regulator", "the highest band never moves", CH2, Printed, 1.0, 0.0, || steps(12, 2)),
    figure("regulator", "a single job never moves", CH2, Printed, 1.0, 0.0, || steps(20, 1)),
    figure("batch", "90 s CPU and 10 s I/O, four times the CPU", CH3, Derived, 32.5, 1e-9, || Ok(batch_run_time(Seconds(90.0), Seconds(10.0), Units(1000.0), Units(4000.0))?.value.0)),
    figure("batch", "CPU alone", CH3, Derived, 25.0, 1e-9, || Ok(batch_run_time(Seconds(100.0), Seconds(0.0), Units(1000.0), Units(4000.0))?.value.0)),
    figure("batch", "I/O alone", CH3, Derived, 100.0, 1e-9, || Ok(batch_run_time(Seconds(0.0), Seconds(100.0), Units(1000.0), Units(4000.0))?.value.0)),
    figure("overhead", "75.7 over 74.8, relative %", CH4, Printed, 1.2, 0.05, || Ok(relative_overhead(74.8, 75.7)?.value.relative.percent())),
    figure("overhead", "75.7 over 74.8, points", CH4, Derived, 0.9, 0.05, || Ok(relative_overhead(74.8, 75.7)?.value.absolute)),
    figure("access", "reads of 1 GiB", CH4, Printed, 8192.0, 0.0, || Ok(scan_reads(Bytes(GIB))?.value)),
    figure("access", "reads of 0.1 GiB", CH4, Printed, 819.0, 0.0, || Ok(scan_reads(Bytes(GIB / 10.0))?.value)),
    figure("access", "plan without statistics, reads", CH4, Printed, 11_792.0, 0.0, || plan_reads(Selectivity::Unknown)),
    figure("access", "plan with statistics, reads", CH4, Printed, 830.0, 1.0, || plan_reads(Selectivity::Rows(10.0))),
    figure("access", "a check contradicts the selection", CH4, Printed, 1.0, 0.0, || Ok(yes(pruned_by_check(CheckRange { least: 1.0, most: 100.0 }, 100.0).value))),
    figure("index", "a million rows of 50 states, MB", CH4, Derived, 1.0, 0.0, || Ok(vector_index_bytes(1_000_000, 50)?.value.0 / 1e6)),
    figure("journal", "10 changes in one unit of work", CH4, Printed, 12.0, 0.0, || entries(10, 10)),
    figure("journal", "10 million changes, commit after 1000", CH4, Derived, 10_020_000.0, 0.0, || entries(10_000_000, 1000)),
    figure("journal", "10 million changes, commit after 25", CH4, Derived, 10_800_000.0, 0.0, || entries(10_000_000, 25)),
    figure("journal", "10 million changes, commit after 7000", CH4, Derived, 10_002_858.0, 0.0, || entries(10_000_000, 7000)),
    figure("recovery", "indexes journalled for 50 s", CH4, Derived, 2.0, 0.0, || journalled(50.0)),
    figure("recovery", "exposure at 50 s", CH4, Derived, 45.0, 1e-9, || exposure(RecoveryObjective::Within(Seconds(50.0)))),
    figure("recovery", "all for 0 s", CH4, Derived, 5.0, 0.0, || journalled(0.0)),
    figure("recovery", "none for 225 s", CH4, Derived, 0.0, 0.0, || journalled(225.0)),
    figure("length", "20 of 50 with 20 in place, spilled", CH4, Printed, 0.0, 0.0, || spilled(20)),
    figure("length", "21 of 50 with 20 in place, spilled", CH4, Derived, 21.0, 0.0, || spilled(21)),
    figure("length", "35 of 50 with 20 in place, spilled", CH4, Printed, 35.0, 0.0, || spilled(35)),
    figure("length", "51 of 50 is refused", CH4, Derived, 1.0, 0.0, || Ok(yes(store_variable(50, 20, 51).is_err()))),
    figure("length", "25 in a receiver of 40", CH4, Printed, 40.0, 0.0, || Ok(f64::from(fixed_receiver(40, 25)?.value.0))),
    figure("length", "blanks among them", CH4, Printed, 15.0, 0.0, || Ok(f64::from(fixed_receiver(40, 25)?.value.1))),
    figure("capacity", "network, 6600 × 20 % × 16.57", CH5, Printed, 21_872.0, 0.5, || Ok(capacity_rate(Units(6600.0), Share(0.2), 16.57)?.value.0)),
    figure("line", "half duplex %", CH5, Derived, 50.0, 1e-9, || line(210_000.0, 0.0, 60.0, 56_000.0, Duplex::Half)),
    figure("line", "full duplex %", CH5, Derived, 25.0, 1e-9, || line(210_000.0, 0.0, 60.0, 56_000.0, Duplex::Full)),
    figure("line", "1.2 and 0.3 MB in 60 s at 1 Mbit, half duplex %", CH5, Derived, 20.0, 1e-9, || line(1.2e6, 3e5, 60.0, 1e6, Duplex::Half)),
    figure("line", "sends all, receives nothing: mean %", CH5, Printed, 50.0, 0.0, || Ok(line_load(Share(1.0), Share(0.0)).value.mean.percent())),
    figure("line", "sends all, receives nothing: most %", CH5, Printed, 100.0, 0.0, || Ok(line_load(Share(1.0), Share(0.0)).value.most.percent())),
    figure("line", "new socket pairs at 120 s", CH5, Printed, 500.0, 0.0, || Ok(port_pairs(Seconds(120.0))?.value.0)),
    figure("capacity", "web, 1070 × 1.75", CH6, Printed, 1872.0, 0.5, || Ok(capacity_rate(Units(1070.0), Share(1.0), 1.75)?.value.0)),
    figure("capacity", "web, 20 % of the machine", CH6, Printed, 374.0, 0.5, || Ok(capacity_rate(Units(1070.0), Share(0.2), 1.75)?.value.0)),
    figure("capacity", "web, 825 × 0.57", CH6, Printed, 470.0, 0.5, || Ok(mix_need(&[MixItem { rate: PerSecond(825.0), cost: Units(0.57) }])?.value.0)),
    figure("capacity", "mix of static, TLS and CGI", CH6, Derived, 591.45, 0.005, mix),
    figure("capacity", "mix, % of 1070", CH6, Derived, 55.3, 0.05, || Ok(mix()? / 10.7)),
    figure("capacity", "mix at 70 %, smallest machine", CH6, Derived, 1070.0, 0.0, || Ok(smallest(&[300.0, 1070.0, 1090.0, 2700.0], mix()? / 0.7))),
    figure("threads", "2700 units", CH6, Printed, 135.0, 1e-9, || Ok(worker_threads(Units(2700.0), Share(1.0))?.value)),
    figure("threads", "20 % of 1070 units", CH6, Printed, 10.5, 0.5, || Ok(worker_threads(Units(1070.0), Share(0.2))?.value)),
    figure("size", "fixed part of static pages", CH6, Derived, 0.5595, 0.0005, || Ok(size_fit((1.0, 1.75), (100.0, 0.57))?.value.fixed)),
    figure("size", "10 KB predicted from 1 and 100 KB", CH6, Derived, 1.48, 0.03, || Ok(size_fit((1.0, 1.75), (100.0, 0.57))?.value.metric(10.0)?.value)),
    figure("fields", "50 over 350", CH6, Printed, 0.5, 0.01, || Ok(field_cost_ratio(50.0, 350.0)?.value)),
    figure("fields", "99 over 37", CH6, Derived, 1.22, 0.005, || Ok(field_cost_ratio(99.0, 37.0)?.value)),
    figure("fields", "612 over 37", CH6, Derived, 3.0, 0.005, || Ok(field_cost_ratio(612.0, 37.0)?.value)),
    figure("fields", "20 rows of 6 columns", CH6, Derived, 120.0, 0.0, || Ok(page_fields(20, 6).value as f64)),
    figure("fields", "100 rows of 6 columns", CH6, Derived, 600.0, 0.0, || Ok(page_fields(100, 6).value as f64)),
    figure("cache", "161 hits, 19 misses %", CH6, Printed, 89.4, 0.1, || Ok(definition_cache(19.0, 500.0, 161.0, 19.0)?.value.0.percent())),
    figure("cache", "it is warming up", CH6, Derived, 1.0, 0.0, || Ok(yes(definition_cache(19.0, 500.0, 161.0, 19.0)?.value.1 == CacheVerdict::Warming))),
    figure("minimum", "250 units and 512 MB", CH6, Printed, 0.0, 0.0, || Ok(yes(minimum(250.0, 512.0, &[Minimum::EXPRESS])? == MinimumOutcome::Enough))),
    figure("minimum", "300 units and 512 MB", CH6, Printed, 1.0, 0.0, || Ok(yes(minimum(300.0, 512.0, &[Minimum::EXPRESS])? == MinimumOutcome::Enough))),
    figure("minimum", "300 units and 512 MB with a console", CH6, Printed, 0.0, 0.0, || Ok(yes(minimum(300.0, 512.0, &[Minimum::EXPRESS, Minimum::CONSOLE])? == MinimumOutcome::Enough))),
    figure("compression", "60 KB at 256 kbit/s, seconds on the wire", CH6, Derived, 1.92, 1e-9, || Ok(compression(256e3)?.wire.0)),
    figure("compression", "at 256 kbit/s it pays", CH6, Printed, 1.0, 0.0, || Ok(yes(compression(256e3)?.compress))),
    figure("compression", "on a LAN it does not", CH6, Printed, 0.0, 0.0, || Ok(yes(compression(100e6)?.compress))),
    figure("features", "audit and recovery", CH6, Derived, 1.725, 1e-9, || Ok(feature_cost(1.0, &[Feature::AUDIT, Feature::RECOVERY], Combine::Multiply)?.value)),
    figure("features", "maps generated ahead, 30 %: most saved %", CH6, Printed, 10.0, 1e-9, || Ok(pregeneration_saving(Share(0.3))?.value.1.percent())),
    figure("features", "maps generated ahead, all: least saved %", CH6, Printed, 20.0, 1e-9, || Ok(pregeneration_saving(Share(1.0))?.value.0.percent())),
    figure("report", "helpers are charged to the job", CH2, Derived, 7.0, 1e-12, || Ok(charged_back(Seconds(2.0), &[Seconds(4.0), Seconds(1.0)]).value.1.0)),
    figure("report", "and not to the class", CH2, Derived, 2.0, 1e-12, || Ok(charged_back(Seconds(2.0), &[Seconds(4.0), Seconds(1.0)]).value.0.0)),
    figure("memory", "share of one of four jobs", CH4, Derived, 0.25, 0.0, || Ok(memory_share(Bytes(GIB), 4)?.value.1.0)),
    figure("block", "eight small blocks pay eight times", CH15, Printed, 8.0, 1e-9, || Ok(block_time(Bytes(8.0), Bytes(1.0), Seconds(1.0), PerSecond(1e12))?.value.0)),
    figure("report", "10:56, other %", CH2, Derived, 4.0, 0.001, || Ok(component()?.other.percent())),
    figure("report", "10:56, CPU seconds a transaction", CH2, Derived, 0.131, 0.001, || Ok(component()?.cpu.0)),
    figure("report", "10:56, concurrency", CH2, Derived, 1.01, 0.005, || Ok(component()?.concurrency)),
    figure("capacity", "network, 11700 × 20 % × 7.5", CH8, Printed, 17_550.0, 0.5, || Ok(capacity_rate(Units(11_700.0), Share(0.2), 7.5)?.value.0)),
    figure("capacity", "800 full handshakes at 0.20 %", CH8, Printed, 34.0, 0.5, || Ok(required_utilization(PerSecond(800.0), Units(11_700.0), 0.2)?.value.percent())),
    figure("capacity", "800 full handshakes at 0.74 %", CH8, Printed, 9.0, 0.5, || Ok(required_utilization(PerSecond(800.0), Units(11_700.0), 0.74)?.value.percent())),
    figure("capacity", "metric of 100 a second on 10 units", CH8, Printed, 10.0, 0.0, || Ok(1.0 / required_utilization(PerSecond(1.0), Units(1.0), 100.0 / 10.0)?.value.0)),
    figure("capacity", "metric of 100 a second on 13 units", CH8, Printed, 7.7, 0.05, || Ok(1.0 / required_utilization(PerSecond(1.0), Units(1.0), 100.0 / 13.0)?.value.0)),
    figure("capacity", "relative cost of 12 security policies, worst difference %", CH8, Printed, 0.0, 1.0, relative_costs),
    figure("size", "MD5 of 4096 bytes from 1024 and 2048", CH8, Derived, 8.37, 0.01, || Ok(size_fit((1024.0, 18.40), (2048.0, 13.15))?.value.metric(4096.0)?.value)),
    figure("size", "MD5 of 4096 bytes, Java", CH8, Derived, 4.83, 0.01, || Ok(size_fit((1024.0, 17.28), (2048.0, 9.29))?.value.metric(4096.0)?.value)),
    figure("TLS", "offload does not help resumed handshakes", CH8, Printed, 0.0, 0.0, || Ok(yes(tls(0.0, 265.0, 0.2)?.offload_helps))),
    figure("TLS", "265 resumed, % of 11700", CH8, Derived, 2.04, 0.005, || Ok(tls(0.0, 265.0, 0.2)?.share.percent())),
    figure("TLS", "265 full, % of 11700", CH8, Derived, 11.32, 0.006, || Ok(tls(265.0, 0.0, 0.2)?.share.percent())),
    figure("TLS", "265 full with a device, % of 11700", CH8, Derived, 3.06, 0.005, || Ok(tls(265.0, 0.0, 0.74)?.share.percent())),
    figure("TLS", "devices of 130 for 800", CH8, Derived, 7.0, 0.0, || Ok(tls(800.0, 0.0, 0.2)?.devices as f64)),
    figure("users", "typical users of 4200", CH11, Printed, 2100.0, 0.0, || Ok(user_ratings(4200.0)?.value.typical)),
    figure("users", "4200 registered, half active, % CPU", CH11, Printed, 70.0, 0.5, || Ok(active_utilization(4200.0, Share(0.5), 2.0, Units(4200.0))?.value.percent())),
    figure("users", "2100 registered, all active, % CPU", CH11, Printed, 70.0, 0.5, || Ok(active_utilization(2100.0, Share(1.0), 2.0, Units(4200.0))?.value.percent())),
    figure("users", "25,900 over 17,400", CH11, Printed, 1.489, 0.0005, || Ok(relative_overhead(17_400.0, 25_900.0)?.value.relative.0 + 1.0)),
    figure("laws", "18 tps of 1100 users, a minute", CH11, Printed, 0.98, 0.005, || Ok(point()?.per_user_minute)),
    figure("laws", "18 tps at 70 % of 4, CPU seconds", CH11, Derived, 0.1556, 0.0001, || Ok(point()?.demand.0)),
    figure("laws", "18 tps at 70 %, most", CH11, Derived, 25.7, 0.02, || Ok(point()?.most.0)),
    figure("laws", "1100 users at 18 tps, cycle", CH11, Derived, 61.1, 0.02, || Ok(point()?.cycle.0)),
    figure("servers", "one fast for two at 50 %, gain %", CH11, Derived, 25.0, 1e-9, || Ok(faster_servers_gain(Share(0.5))?.value.percent())),
    figure("servers", "one fast for two at 70 %, gain %", CH11, Derived, 15.0, 1e-9, || Ok(faster_servers_gain(Share(0.7))?.value.percent())),
    figure("servers", "the same by both stations, gain %", CH11, Derived, 15.0, 1e-9, || two_by_one(0.7)),
    figure("disk", "10,000 rpm, 4.7 ms seek, ms", CH14, Derived, 7.7, 1e-9, || Ok(disk_service(&SLOW_DISK)?.value.0 * 1e3)),
    figure("disk", "15,000 rpm, 3.6 ms seek, ms", CH14, Derived, 5.6, 1e-9, || Ok(disk_service(&FAST_DISK)?.value.0 * 1e3)),
    figure("disk", "15,000 rpm at 40 %, a second", CH14, Derived, 71.0, 0.5, || Ok(arm_rate(&FAST_DISK, Share(0.4))?.value.0)),
    figure("disk", "upper bound of the faster disk", CH14, Derived, 1.375, 1e-9, || Ok(disk_service(&SLOW_DISK)?.value / disk_service(&FAST_DISK)?.value)),
    figure("transfer", "DVD, large file, compacted, GB/h", CH15, Printed, 7.0, 0.2, || transfer(0.75, 0.95, 2.8)),
    figure("transfer", "DVD, large file, GB/h", CH15, Printed, 2.5, 0.1, || transfer(0.75, 0.95, 1.0)),
    figure("transfer", "SLR100, large file, GB/h", CH15, Printed, 34.0, 0.3, || transfer(5.0, 0.95, 2.0)),
    figure("transfer", "3590, large file, GB/h", CH15, Printed, 134.0, 0.2, || transfer(14.0, 0.95, 2.8)),
    figure("transfer", "3590, user mix, GB/h", CH15, Printed, 92.0, 0.3, || transfer(14.0, 0.65, 2.8)),
    figure("transfer", "3580-002, large file, GB/h", CH15, Printed, 335.0, 0.2, || transfer(35.0, 0.95, 2.8)),
    figure("transfer", "3580-002, user mix, GB/h", CH15, Printed, 176.0, 0.5, || transfer(35.0, 0.5, 2.8)),
    figure("transfer", "3580-002, source file, GB/h", CH15, Printed, 17.6, 0.05, || transfer(35.0, 0.05, 2.8)),
    figure("streams", "1 processor, large files", CH15, Printed, 2.0, 0.0, || feed(16, 1, None, WorkKind::LargeFiles)),
    figure("streams", "8 processors, user mix", CH15, Printed, 6.0, 0.0, || feed(16, 8, None, WorkKind::UserMix)),
    figure("streams", "24 processors, user mix", CH15, Derived, 18.0, 0.0, || feed(24, 24, None, WorkKind::UserMix)),
    figure("streams", "8 links, large files", CH15, Printed, 16.0, 0.0, || feed(24, 24, Some(8), WorkKind::LargeFiles)),
    figure("scaling", "concurrent save, one stream", CH15, Derived, 366.0, 0.1, || quadratic(CONCURRENT_SAVE, |fit| fit.gamma)),
    figure("scaling", "concurrent save, coherency", CH15, Derived, 0.000364, 5e-7, || quadratic(CONCURRENT_SAVE, |fit| fit.beta)),
    figure("scaling", "concurrent restore, contention", CH15, Derived, 0.0053, 5e-5, || quadratic(CONCURRENT_RESTORE, |fit| fit.alpha)),
    figure("scaling", "concurrent restore, peak", CH15, Derived, 59.4, 0.1, || quadratic(CONCURRENT_RESTORE, |fit| fit.peak_load().unwrap_or(f64::NAN))),
    figure("scaling", "parallel save, contention", CH15, Derived, 0.0239, 5e-5, || quadratic(PARALLEL_SAVE, |fit| fit.alpha)),
    figure("scaling", "user mix save, peak", CH15, Derived, 16.1, 0.05, || quadratic(MIX_SAVE, |fit| fit.peak_load().unwrap_or(f64::NAN))),
    figure("scaling", "concurrent save, saturation", CH15, Printed, 16.0, 0.0, || saturation(CONCURRENT_SAVE)),
    figure("scaling", "user mix save, saturation", CH15, Derived, 10.0, 0.0, || saturation(MIX_SAVE)),
    figure("topology", "25 spokes around a hub", CH11, Printed, 50.0, 0.0, || Ok(connections(25, TopologyKind::HubAndSpoke).value as f64)),
    figure("topology", "25 servers, each to each", CH11, Printed, 600.0, 0.0, || Ok(connections(25, TopologyKind::PeerToPeer).value as f64)),
    figure("partition", "headroom for 4 guest processors", CH13, Printed, 0.4, 1e-12, || Ok(host_headroom(4.0)?.value)),
    figure("partition", "0.29 rounded", CH13, Printed, 0.3, 1e-12, || Ok(share_rounded(0.29)?.value)),
    figure("partition", "0.65 rounded", CH13, Printed, 0.7, 1e-12, || Ok(share_rounded(0.65)?.value)),
    figure("partition", "0.30 stays", CH13, Derived, 0.3, 1e-12, || Ok(share_rounded(0.3)?.value)),
    figure("partition", "frames 9000 and 8996 match", CH13, Printed, 1.0, 0.0, || Ok(yes(mtu_matches(9000, 8996).value))),
    figure("partition", "frames 9000 and 1496 do not", CH13, Derived, 0.0, 0.0, || Ok(yes(mtu_matches(9000, 1496).value))),
    figure("block", "rows of 100 bytes in 32 KiB", CH10, Derived, 327.0, 0.0, || Ok(rows_per_block(32, Bytes(100.0))?.value as f64)),
    figure("block", "rows of 30,128 bytes in 32 KiB", CH10, Derived, 1.0, 0.0, || Ok(rows_per_block(32, Bytes(30_128.0))?.value as f64)),
    figure("block", "rows of 30,128 bytes in 512 KiB", CH10, Derived, 17.0, 0.0, || Ok(rows_per_block(512, Bytes(30_128.0))?.value as f64)),
    figure("control bytes", "63 blanks", CH15, Derived, 1.0, 0.0, || Ok(compressed_length(&[b' '; 63], b' ').value as f64)),
    figure("control bytes", "four equal bytes", CH15, Derived, 2.0, 0.0, || Ok(compressed_length(b"AAAA", b' ').value as f64)),
    figure("control bytes", "three different bytes", CH15, Derived, 4.0, 0.0, || Ok(compressed_length(b"ABC", b' ').value as f64)),
    figure("control bytes", "a record of 10 bytes and 70 blanks", CH15, Derived, 13.0, 0.0, || Ok(compressed_length(&record(), b' ').value as f64)),
    figure("rating", "7750 µs on the target", LSPR, Derived, 14_840.425_531_914_892, 1e-6, || Ok(convert_by_rating(Seconds(7750.0), HostRating { rating: 3.6, engines: 4 }, HostRating { rating: 2.35, engines: 5 })?.value.0)),
    figure("rating", "busy share of an interval %", RMF, Printed, 19.94, 0.005, || Ok(laws::utilization(PerSecond(1.0 / 60.0), Seconds(11.733 + 0.231), 1)?.value.percent())),
    figure("laws", "64 users, 30 s think time, 2 a second: response", QSP, Published, 2.0, 1e-12, || Ok(laws::interactive_response(64.0, PerSecond(2.0), Seconds(30.0))?.value.0)),
    figure("laws", "40 a second of 22.5 ms: utilization", QSP, Published, 0.9, 1e-12, || Ok(laws::utilization(PerSecond(40.0), Seconds(0.0225), 1)?.value.0)),
    figure("laws", "17 terminals, response", JAIN, Published, 68.624_203_821_656_05, 1e-9, || Ok(laws::interactive_response(17.0, PerSecond(0.19625), Seconds(18.0))?.value.0)),
    figure("laws", "17 terminals, CPU utilization", JAIN, Published, 0.98125, 1e-12, || Ok(laws::utilization(PerSecond(0.19625), Seconds(5.0), 1)?.value.0)),
    figure("checkpoints", "container time of one, ms", LIBERTY, Derived, 3.005, 0.001, || Ok(container()?.per_checkpoint.value * 1e3)),
    figure("checkpoints", "eight item counts predicted from three runs, worst %", LIBERTY, Derived, 11.2, 0.05, predicted_item_counts),
    figure("checkpoints", "interval for 3 ms and 1 h (Young)", "Young 1974", Published, 4.647_580_015_448_9, 1e-9, || Ok(checkpoint_interval_young(Seconds(0.003), Seconds(3600.0))?.value.0)),
    figure("checkpoints", "interval for 3 ms and 1 day (Young)", "Young 1974", Published, 22.768_399_153_212_332, 1e-9, || Ok(checkpoint_interval_young(Seconds(0.003), Seconds(86_400.0))?.value.0)),
    figure("checkpoints", "interval for 3 ms and 1 h (Daly)", "Daly 2006", Published, 4.645_580_230_614_642, 1e-9, || Ok(checkpoint_interval_daly(Seconds(0.003), Seconds(3600.0))?.value.0)),
    figure("growth", "35 to 70 % at 3 % a month", "utilization law", Derived, 23.449_772_250_437_736, 1e-9, || months(0.35, 0.7, 0.03)),
    figure("growth", "40 to 80 % at 5 % a month", "utilization law", Derived, 14.206_699_082_890_461, 1e-9, || months(0.4, 0.8, 0.05)),
    figure("size", "exponent without paging", WDI, Derived, 2.699_633_258_269_304_5, 1e-6, || exponent(&[(25.0, 342.59), (75.0, 1125.12), (100.0, 34_191.52)])),
    figure("size", "exponent of claims before", WDI, Derived, 2.291_729_827_197_876_5, 1e-6, || exponent(&[(10_000.0, 260.91), (60_000.0, 15_841.75)])),
    figure("size", "exponent of claims after", WDI, Derived, 1.073_360_081_451_704_1, 1e-6, || exponent(&[(10_000.0, 258.02), (60_000.0, 1765.59)])),
    figure("headroom", "1 server, mean of 2 service times", ERLANG, Derived, 0.5, 0.0005, || Ok(room(1)?.by_mean.0)),
    figure("headroom", "2 servers, mean of 2 service times", ERLANG, Derived, 0.707, 0.0005, || Ok(room(2)?.by_mean.0)),
    figure("headroom", "16 servers, mean of 2 service times", ERLANG, Derived, 0.951, 0.0005, || Ok(room(16)?.by_mean.0)),
    figure("headroom", "1 server, 95 % within 5 service times", ERLANG, Derived, 0.401, 0.0005, || Ok(room(1)?.by_percentile.0)),
    figure("headroom", "8 servers, 95 % within 5 service times", ERLANG, Derived, 0.902, 0.0005, || Ok(room(8)?.by_percentile.0)),
    figure("headroom", "4 servers at 85 %, stretch", ERLANG, Derived, 2.15, 0.005, || Ok(ManyServers::new(4, PerSecond(3.4), Seconds(1.0))?.response().value.0)),
    figure("omission", "p99 of a stalled driver, recorded", "Tene, HdrHistogram", Published, 0.001, 1e-9, || omission(0.99, false)),
    figure("omission", "p99 of a stalled driver, corrected", "Tene, HdrHistogram", Published, 98.0, 0.098, || omission(0.99, true)),
    figure("omission", "p75 of a stalled driver, corrected", "Tene, HdrHistogram", Published, 50.0, 0.05, || omission(0.75, true)),
];

pub(super) fn yes(value: bool) -> f64 {
    f64::from(u8::from(value))
}

fn smallest(catalogue: &[f64], need: f64) -> f64 {
    catalogue.iter().copied().find(|rating| *rating >= need).unwrap_or(f64::NAN)
}

fn knee_of(capacity: f64, rule: KneeRule, load: f64) -> Result<KneeState, ModelError> {
    Ok(knee(&Entitlement { capacity: Units(capacity), rule }, Units(load))?.value)
}

fn first_knee() -> Result<KneeState, ModelError> {
    knee_of(100.0, KneeRule::Both { knee: Units(29.2), most: Units(34.0) }, 32.1)
}

pub(super) fn second_knee() -> Result<KneeState, ModelError> {
    knee_of(100.0, KneeRule::Both { knee: Units(4.0), most: Units(11.0) }, 9.0)
}

fn published_knee(load: f64) -> Result<KneeState, ModelError> {
    knee_of(240.0, KneeRule::PublishedKnee(Units(70.0)), load)
}

fn third_knee(capacity: f64, most: f64, load: f64) -> Result<KneeState, ModelError> {
    knee_of(capacity, KneeRule::OneThird(Units(most)), load)
}

fn custom_knee() -> Result<KneeState, ModelError> {
    knee_of(1000.0, KneeRule::SixSevenths(Units(700.0)), 650.0)
}

fn upgrade() -> Result<ShareCheck, ModelError> {
    Ok(share_check((Units(250.0), Units(1000.0)), (Units(250.0), Units(4000.0)))?.value)
}

fn regulated(priority: u8, active: u32) -> Result<Regulated, ModelError> {
    Ok(regulate(Job { priority, active }, Seconds(70.0))?.value)
}

fn band(priority: u8, active: u32, step: usize) -> Answer {
    let steps = regulated(priority, active)?.steps;
    Ok(steps.get(step).map_or(f64::NAN, |(_, band)| f64::from(band.0)))
}

fn steps(priority: u8, active: u32) -> Answer {
    Ok(regulated(priority, active)?.steps.len() as f64)
}

fn plan_reads(selected: Selectivity) -> Answer {
    match access_plan(Bytes(GIB), Bytes(GIB / 10.0), 1e7, 3600.0, selected)?.value {
        AccessPlan::ScanFirst { reads } | AccessPlan::ScanSecond { reads } => Ok(reads),
    }
}

fn entries(changes: u64, interval: u64) -> Answer {
    Ok(journal_entries(changes, interval)?.value as f64)
}

pub(super) fn protection(objective: RecoveryObjective) -> Result<Protection, ModelError> {
    Ok(protect(&[120.0, 60.0, 30.0, 10.0, 5.0].map(Seconds), objective)?.value)
}

/// Returns the seconds of rebuilding after a failure; not a number if nobody knows.
pub(super) fn exposure(objective: RecoveryObjective) -> Answer {
    Ok(protection(objective)?.exposure.map_or(f64::NAN, |time| time.0))
}

fn journalled(target: f64) -> Answer {
    Ok(protection(RecoveryObjective::Within(Seconds(target)))?.journalled.len() as f64)
}

fn spilled(length: u32) -> Answer {
    Ok(match store_variable(50, 20, length)?.value {
        StoredVariable::InPlace => 0.0,
        StoredVariable::Spilled { bytes } => f64::from(bytes),
    })
}

fn line(bytes_in: f64, bytes_out: f64, time: f64, bits: f64, duplex: Duplex) -> Answer {
    Ok(line_utilization(Bytes(bytes_in), Bytes(bytes_out), Seconds(time), PerSecond(bits), duplex)?.value.percent())
}

fn mix() -> Answer {
    let item = |rate, cost| MixItem { rate: PerSecond(rate), cost: Units(cost) };
    Ok(mix_need(&[item(825.0, 0.57), item(100.0, 0.67), item(20.0, 2.71)])?.value.0)
}

pub(super) fn minimum(rating: f64, megabytes: f64, needs: &[Minimum]) -> Result<MinimumOutcome, ModelError> {
    let machine = MachineSize { rating: Units(rating), memory: Bytes(megabytes * 1_048_576.0) };
    Ok(minimum_check(&machine, needs)?.value.outcome)
}

fn compression(bits: f64) -> Result<CompressionAdvice, ModelError> {
    Ok(compression_advice(Bytes(61_440.0), PerSecond(bits), 3.0, Seconds(0.02), Share(0.3))?.value)
}

fn component() -> Result<ComponentFigures, ModelError> {
    let row = ComponentRow {
        transactions_an_hour: 4527.0,
        response: Seconds(0.8),
        total: Share(0.979),
        interactive: Share(0.165),
        batch: Share(0.774),
    };
    Ok(component_figures(&row, 1)?.value)
}

fn relative_costs() -> Answer {
    let mut worst = 0.0_f64;
    for row in POLICIES {
        for (metric, printed) in row.policies {
            worst = worst.max((row.plain / metric / printed - 1.0).abs());
        }
    }
    Ok(worst * 100.0)
}

fn tls(full: f64, resumed: f64, metric: f64) -> Result<TlsPlan, ModelError> {
    let plan = tls_plan(PerSecond(full), PerSecond(resumed), metric, 1.11, Units(11_700.0), PerSecond(130.0));
    Ok(plan?.value)
}

fn point() -> Result<OperatingPoint, ModelError> {
    Ok(operating_point(1100.0, PerSecond(18.0), 4, Share(0.7))?.value)
}

fn two_by_one(load: f64) -> Answer {
    let two = ManyServers::new(2, PerSecond(load * 2.0), Seconds(1.0))?.response().value;
    let one = ManyServers::new(1, PerSecond(load * 2.0), Seconds(0.5))?.response().value;
    Ok(100.0 * (1.0 - one / two))
}

fn transfer(device: f64, kept: f64, compaction: f64) -> Answer {
    Ok(transfer_rate(device, Share(kept), compaction)?.value.gigabytes_an_hour)
}

fn feed(devices: u32, processors: u32, links: Option<u32>, kind: WorkKind) -> Answer {
    Ok(f64::from(streams(&StreamLimits { devices, processors, links, disks: None }, kind)?.value))
}

fn quadratic(series: &[(f64, f64)], of: fn(&crate::fit::UslFit) -> f64) -> Answer {
    Ok(of(&fit_usl_quadratic(&points(series))?.value))
}

fn saturation(series: &[(f64, f64)]) -> Answer {
    Ok(crate::fit::analyse_scaling(&points(series))?.value.saturation.unwrap_or(f64::NAN))
}

fn record() -> Vec<u8> {
    let mut record = b"ABCDEFGHIJ".to_vec();
    record.resize(80, b' ');
    record
}

fn container() -> Result<ChunkModel, ModelError> {
    let runs: Vec<(u64, Seconds)> = ITEM_COUNTS.iter().map(|(items, _, time)| (*items, Seconds(time / 1e3))).collect();
    Ok(ChunkModel::fit(STEP_RECORDS, &runs)?.value)
}

fn predicted_item_counts() -> Answer {
    let fitted = |items: u64| matches!(items, 250 | 1000 | 4000);
    let runs: Vec<(u64, Seconds)> =
        ITEM_COUNTS.iter().filter(|row| fitted(row.0)).map(|row| (row.0, Seconds(row.1 / 1e3))).collect();
    let model = ChunkModel::fit(STEP_RECORDS, &runs)?.value;
    let mut worst = 0.0_f64;
    for (items, elapsed, _) in ITEM_COUNTS.iter().filter(|row| !fitted(row.0)) {
        worst = worst.max((model.elapsed(*items)?.value.0 / (elapsed / 1e3) - 1.0).abs());
    }
    Ok(worst * 100.0)
}

pub(super) fn months(now: f64, target: f64, growth: f64) -> Answer {
    Ok(match exhaustion(Share(now), Share(target), PerMonth(growth))?.value {
        Exhaustion::After { months } => months,
        Exhaustion::Now | Exhaustion::Never => f64::NAN,
    })
}

pub(super) fn exponent(points: &[(f64, f64)]) -> Answer {
    Ok(fit_power(points)?.value.exponent.value)
}

fn room(servers: u32) -> Result<crate::Headroom, ModelError> {
    Ok(headroom(servers, 2.0, Share(0.95), 5.0)?.value)
}

/// Returns the recording of a driver that waited 100 s for one of its answers.
pub(super) fn stalled(corrected: bool) -> Result<crate::Recording, ModelError> {
    let recording = crate::Recording::new(&[(Seconds(0.001), 10_000), (Seconds(100.0), 1)])?;
    Ok(if corrected { recording.corrected(Seconds(0.01))?.value } else { recording })
}

pub(super) fn omission(share: f64, corrected: bool) -> Answer {
    Ok(stalled(corrected)?.percentile(Share(share)).map_or(f64::NAN, |time| time.0))
}
