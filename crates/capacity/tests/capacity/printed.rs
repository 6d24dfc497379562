//! The self-test of the product: every figure that documents print, and those of other solvers that the crate holds.

use quayline_capacity::check::{FaultKind, Printed, Statement, check};
use quayline_capacity::selftest::{self, Kind};

#[test]
fn every_figure_of_the_self_test_is_within_its_tolerance() {
    let outcomes = selftest::run();
    let wrong: Vec<String> = outcomes
        .iter()
        .filter(|outcome| !outcome.passed())
        .map(|of| {
            format!(
                "{} / {}: {:?} instead of {} ± {} {:?}",
                of.group, of.name, of.found, of.expected, of.allowed, of.error
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let of = |kind| outcomes.iter().filter(|outcome| outcome.kind == kind).count();
    assert!(of(Kind::Published) >= 20 && of(Kind::Printed) >= 70 && of(Kind::Derived) >= 70, "{}", outcomes.len());
}

#[test]
fn no_figure_has_the_name_of_another() {
    let outcomes = selftest::run();
    let mut names: Vec<String> = outcomes.iter().map(|of| format!("{} / {}", of.group, of.name)).collect();
    names.sort();
    let twice: Vec<&String> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Calculations of the seed's documents by their numbers (O of its first half, A to E of its second), each with its group and its figures.
#[rustfmt::skip]
const CALCULATIONS: &[(&str, &str, &[&str])] = &[
    ("O1", "knee", &["first example, position", "first example, used %", "first example, left %"]),
    ("O2", "knee", &["240/70 at 77, position", "240/70 at 77, used", "240/70 at 77, left"]),
    ("O3", "knee", &["first example, overhead %"]),
    ("O4", "knee", &["240/70 at the maximum, used", "240/70 at the maximum, left", "240/70 at the maximum, overhead", "240/70 at the maximum, overhead %"]),
    ("O5", "knee", &["second example, position", "second example, used %", "second example, left %"]),
    ("O6", "knee", &["450/50 at 41, position", "450/50 at 41, used", "450/50 at 41, left"]),
    ("O7", "knee", &["knee of 240/70 %", "maximum of 240/70 %", "maximum of 450/50 %"]),
    ("O8", "knee", &["below the knee, left"]),
    ("O9", "migration", &["21 % of 66.7", "smallest machine of the catalogue"]),
    ("O10", "migration", &["custom below 85 %", "custom from 85 % on"]),
    ("O11", "upgrade", &["share before %", "share after %", "the share shrank"]),
    ("O12", "quota", &["one job of 12 processors %"]),
    ("O13", "quota", &["15 % of half a machine, system %", "15 % of half a machine, local %"]),
    ("O14", "regulator", &["band after 0 s", "band after 15 s", "band after 30 s", "band after 45 s", "band after 60 s", "steps, then it stays"]),
    ("O15", "batch", &["90 s CPU and 10 s I/O, four times the CPU"]),
    ("O16", "overhead", &["75.7 over 74.8, relative %", "75.7 over 74.8, points"]),
    ("O17", "access", &["reads of 1 GiB", "reads of 0.1 GiB"]),
    ("O18", "access", &["plan without statistics, reads", "plan with statistics, reads", "statistics turn the plan round"]),
    ("O19", "access", &["a check contradicts the selection"]),
    ("O20", "journal", &["10 changes in one unit of work"]),
    ("O21", "journal", &["10 million changes, commit after 1000"]),
    ("O22", "length", &["20 of 50 with 20 in place, spilled", "21 of 50 with 20 in place, spilled", "35 of 50 with 20 in place, spilled", "51 of 50 is refused"]),
    ("O23", "length", &["25 in a receiver of 40", "blanks among them"]),
    ("O24", "capacity", &["network, 6600 × 20 % × 16.57"]),
    ("O25", "line", &["half duplex %", "full duplex %"]),
    ("O26", "line", &["sends all, receives nothing: mean %", "sends all, receives nothing: most %"]),
    ("O27", "capacity", &["web, 1070 × 1.75", "web, 20 % of the machine"]),
    ("O28", "capacity", &["web, 825 × 0.57"]),
    ("O29", "capacity", &["mix of static, TLS and CGI", "mix, % of 1070", "mix at 70 %, smallest machine"]),
    ("O30", "threads", &["2700 units", "20 % of 1070 units"]),
    ("O31", "size", &["fixed part of static pages", "10 KB predicted from 1 and 100 KB"]),
    ("O32", "fields", &["50 over 350"]),
    ("O33", "fields", &["20 rows of 6 columns", "100 rows of 6 columns"]),
    ("O34", "cache", &["161 hits, 19 misses %"]),
    ("O35", "minimum", &["250 units and 512 MB", "300 units and 512 MB", "300 units and 512 MB with a console"]),
    ("O36", "compression", &["60 KB at 256 kbit/s, seconds on the wire", "at 256 kbit/s it pays", "on a LAN it does not"]),
    ("O37", "report", &["10:56, other %", "10:56, CPU seconds a transaction"]),
    ("O38", "recovery", &["indexes journalled for 50 s", "exposure at 50 s"]),
    ("O39", "target", &["a trend from no to some overhead"]),
    ("O40", "target", &["240/70", "240/70, % of the machine"]),
    ("A1", "capacity", &["network, 11700 × 20 % × 7.5"]),
    ("A2", "capacity", &["800 full handshakes at 0.20 %", "800 full handshakes at 0.20 keep 10 %"]),
    ("A3", "capacity", &["800 full handshakes at 0.74 %", "800 full handshakes at 0.74 keep 10 %"]),
    ("A4", "capacity", &["metric of 100 a second on 10 units", "metric of 100 a second on 13 units"]),
    ("A5", "capacity", &["network, 6600 × 20 % × 16.57", "web, 825 × 0.57", "web, 1070 × 1.75", "web, 20 % of the machine"]),
    ("A6", "capacity", &["relative cost of 12 security policies, worst difference %"]),
    ("B1", "TLS", &["offload does not help resumed handshakes"]),
    ("C1", "users", &["typical users of 4200"]),
    ("C2", "users", &["4200 registered, half active, % CPU"]),
    ("C3", "users", &["2100 registered, all active, % CPU"]),
    ("C4", "users", &["25,900 over 17,400"]),
    ("D1", "transfer", &["DVD, large file, compacted, GB/h"]),
    ("D2", "transfer", &["DVD, large file, GB/h"]),
    ("D3", "transfer", &["SLR100, large file, GB/h"]),
    ("D4", "transfer", &["3590, large file, GB/h"]),
    ("D5", "transfer", &["3590, user mix, GB/h"]),
    ("D6", "transfer", &["3580-002, large file, GB/h"]),
    ("D7", "transfer", &["3580-002, user mix, GB/h"]),
    ("D8", "transfer", &["3580-002, source file, GB/h"]),
    ("E1", "streams", &["1 processor, large files"]),
    ("E2", "streams", &["8 processors, user mix"]),
    ("E3", "streams", &["24 processors, user mix"]),
    ("E4", "streams", &["8 links, large files"]),
];

#[test]
fn every_calculation_of_the_documents_has_its_figures() {
    let of = |letter: char, most: usize| (1..=most).map(move |number| format!("{letter}{number}"));
    let ids = of('O', 40).chain(of('A', 6)).chain(of('B', 1)).chain(of('C', 4)).chain(of('D', 8)).chain(of('E', 4));
    assert!(ids.eq(CALCULATIONS.iter().map(|(id, ..)| (*id).to_owned())), "each number once");
    let outcomes = selftest::run();
    for (id, group, names) in CALCULATIONS {
        for name in *names {
            let found = outcomes.iter().find(|of| of.group == *group && of.name == *name);
            assert!(found.is_some_and(selftest::Outcome::passed), "{id}: {group} / {name}: {found:?}");
        }
    }
}

fn printed(text: &str) -> Printed {
    Printed::parse(text).expect("a number")
}

#[test]
fn rounding_is_no_fault() {
    // 1070 × 1.75 = 1872.5, printed 1872.
    let right = Statement::Product { factors: vec![printed("1070"), printed("1.75")], printed: printed("1872") };
    assert_eq!(check(&right), None);
    let stale = Statement::Product { factors: vec![printed("1070"), printed("1.75")], printed: printed("2054") };
    assert_eq!(check(&stale).map(|fault| fault.kind), Some(FaultKind::ProductMismatch));
}

#[test]
fn a_paced_driver_leaves_no_time_for_a_response() {
    let of = |throughput: &str| Statement::Response {
        users: Printed::exact(100.0),
        think: Printed::exact(0.5),
        throughput: printed(throughput),
        response: None,
    };
    let fault = check(&of("200")).expect("a fault");
    assert_eq!(fault.kind, FaultKind::ImpossibleTriple);
    // 199.5 a second, which is printed as 200 too, would leave 1.25 ms.
    assert!((fault.most - 0.00125).abs() < 1e-5, "{}", fault.most);
    assert_eq!(check(&of("196.3")), None);
}

#[test]
fn a_column_that_is_four_times_another_is_calculated() {
    let column = |values: [f64; 3]| values.map(Printed::exact).to_vec();
    let calculated =
        Statement::Columns { first: column([7743.0, 3387.0, 1844.0]), second: column([30_972.0, 13_548.0, 7376.0]) };
    assert_eq!(check(&calculated).map(|fault| fault.kind), Some(FaultKind::ScaledColumn));
    let measured =
        Statement::Columns { first: column([7743.0, 3387.0, 1844.0]), second: column([30_970.0, 13_548.0, 7376.0]) };
    assert_eq!(check(&measured), None);
}

#[test]
fn printed_numbers_know_their_last_digit() {
    assert_eq!(printed("12,951"), Printed { value: 12_951.0, half: 0.5 });
    assert_eq!(printed("1.470").half, 0.5 * 10_f64.powi(-3));
    assert_eq!(printed("2e3").half, 500.0);
    assert_eq!(Printed::parse("fast"), None);
    assert_eq!(Printed::parse("inf"), None);
}
