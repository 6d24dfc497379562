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
