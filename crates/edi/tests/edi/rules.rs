//! Rules between segments: the representation, the loop and the order of their values.

use quayline_core::Limits;
use quayline_edi::ValidatorOptions;
use quayline_edi::guide::{CompiledGuide, MemoryGuides, parse_guide};

use crate::validate::{RULES, check_with};

const VALUES: &str = "guide VALUES
standard X12
version 005010
transaction 999
element 1 AN 1..40
element 2 R 1..18
element 3 N2 1..9
element 5 DT 6..8
element 1250 ID 2..3
element 1251 AN 1..35
composite C901
  1250 M
  1251 M
segment AAA
  2 M
segment BBB
  3 M
segment DTP
  1250 O
  1251 O
  5 O
  C901 O
composite C902
  1251 M
  2 O
segment REP
  1251 O repeat 5
  C902 O repeat 1500
  2 O
segment TOT
  2 M
  2 O
structure
  segment AAA O 1
  segment BBB O 1
  segment DTP O 1
  segment REP O 2
  segment TOT M 1
    02 as N2
rules
";

#[track_caller]
fn holds(rule: &str, body: &str) {
    assert_eq!(
        check_with(&format!("{VALUES}  rule r\n    {rule}\n"), body, &ValidatorOptions::default()),
        "",
        "{rule}"
    );
}

#[track_caller]
fn is_broken(rule: &str, body: &str) {
    let found = check_with(&format!("{VALUES}  rule r\n    {rule}\n"), body, &ValidatorOptions::default());
    assert!(found.starts_with("EDI-130") && found.lines().count() == 1, "{rule}: {found}");
}

/// Regression: the implied decimals of the last path applied to the values of all paths.
#[test]
fn each_path_of_a_sum_has_its_own_decimals() {
    for paths in ["AAA01, BBB01", "BBB01, AAA01"] {
        let body = "AAA*20.5~BBB*1050~TOT*31~";
        holds(&format!("TOT01 = sum({paths})"), body);
        holds(&format!("min({paths}) = 10.5 and max({paths}) = 20.5"), body);
        is_broken(&format!("TOT01 = sum({paths}) + 1"), body);
    }
}

/// Regression: rules looked at the first repetition only.
#[test]
fn each_repetition_of_an_element_counts() {
    let body = "REP*a^^c*x:1^y:2^z:3*2~TOT*6~";
    for rule in [
        "TOT01 = sum(REP02-2)",
        "max(REP02-2) = 3 and min(REP02-2) = 1",
        "count(REP02-1) = 3 and count(REP02) = 3 and count(REP01) = 2 and count(REP) = 1",
        "sum(REP02-2[REP02-1 = \"y\"]) = 2",
        "sum(REP02-2[REP02-1 in { \"x\", \"z\" }]) = 4",
        "REP02-2[REP02-1 = \"z\"] = 3",
        "count(REP[REP02-1 = \"z\"]) = 1 and count(REP[REP02-1 = \"w\"]) = 0",
        "sum(REP02-2 * REP03) = 12",
        "REP02-1 = \"x\"",
        "sum(REP03[REP02-1 = \"y\"]) = 2 and count(REP03[REP02-1 = \"z\"]) = 1 and sum(REP03[REP01 = \"c\"]) = 2",
        "present(REP03[REP02-1 = \"y\"])",
        "count(REP[REP02-1 = \"z\" and REP01 = \"c\"]) = 1 and count(REP[REP02-1 = \"z\" and REP01 = \"a\"]) = 0",
    ] {
        holds(rule, body);
        is_broken(&format!("not ({rule})"), body);
    }
    for (rule, body) in [
        ("present(REP02-2)", "REP**x^y:2~TOT*6~"),
        ("absent(REP02-2)", "REP**x^y~TOT*6~"),
        ("sum(REP02-2) = 5", "REP**x:1^y:2~REP**z:2~TOT*6~"),
    ] {
        holds(rule, body);
    }
    let at = |rule: &str| format!("{VALUES}  rule r at REP\n    {rule}\n");
    let found = check_with(&at("present(REP02-2)"), "REP**x^y:2~TOT*6~", &ValidatorOptions::default());
    assert_eq!(found, "");
    // Beyond a thousand repetitions, no rule is decided.
    let many = |count: usize| format!("REP**{}~TOT*6~", vec!["x:1"; count].join("^"));
    is_broken("sum(REP02-2) = 6", &many(1_000));
    holds("sum(REP02-2) = 6", &many(1_001));
}

/// Regression: rules read a value by the dictionary's type, and not by the type that the guide gives it at its place.
#[test]
fn a_value_has_the_type_of_its_place() {
    holds("TOT01 = TOT02", "TOT*31*3100~");
    is_broken("TOT01 = TOT02", "TOT*31*31~");
    holds("sum(TOT02) = 31 and sum(TOT01 * TOT02) = 961", "TOT*31*3100~");
    holds("TOT01[TOT02 = 31] = 31", "TOT*31*3100~");
}

/// Regression: six digits were a day of YYMMDD even if their format is CCYYMM, so that `202512` was 2020-25-12, and `200612` a day of 2020.
#[test]
fn six_digits_are_a_day_only_in_the_format_of_one() {
    let rule = "until(DTP02) < 20200101";
    for body in ["DTP*CM*200612~TOT*1~", "DTP*ZZ*200612~TOT*1~", "DTP*D6*190612~TOT*1~", "DTP*D8*20190612~TOT*1~"] {
        holds(rule, body);
    }
    for body in ["DTP*D6*200612~TOT*1~", "DTP*RD6*190101-200612~TOT*1~", "DTP*RD8*20190101-20200612~TOT*1~"] {
        is_broken(rule, body);
    }
    is_broken("from(DTP03) < 20200101", "DTP***200612~TOT*1~");
    is_broken("from(DTP04-2) < 20200101", "DTP****D6:200612~TOT*1~");
    holds("from(DTP04-2) < 20200101", "DTP****CM:200612~TOT*1~");
}

/// Regression: the sum lost the values of the outer loop when the inner one began.
#[test]
fn paths_of_several_loops_have_one_sum() {
    let inside = |expression: &str, body: &str| {
        let guide = format!("{RULES}  rule r at L\n    {expression}\n");
        check_with(&guide, body, &ValidatorOptions::default())
    };
    let body = "TOT*1~CLM*A*5~LIN*1~QTY*1~LIN*1~QTY*1~CLM*B*5~LIN*1~QTY*1~";
    for expression in [
        "sum(QTY01, CLM02) = 6",
        "sum(CLM02, QTY01) = 6",
        "count(LIN, CLM) = 2",
        "min(QTY01, CLM02) = 1",
        "max(QTY01, CLM02) = 5",
        "max(QTY02, CLM02) = 5",
    ] {
        assert_eq!(inside(expression, body), "", "{expression}");
    }
    assert_eq!(inside("sum(QTY01, CLM02) = 7", body).lines().count(), 3);
}

/// Regression: a rule at a segment did not see later segments, so that it was broken although they came.
#[test]
fn a_rule_at_a_segment_uses_no_later_segment() {
    let compile = |rule: &str| {
        let guide = format!("{RULES}  rule r {rule}\n");
        let parsed = parse_guide("r.guide", &guide, &MemoryGuides::default(), &Limits::default());
        match parsed.and_then(|guide| CompiledGuide::new(&guide)) {
            Ok(_) => String::new(),
            Err(findings) => findings.to_string(),
        }
    };
    let refused = compile("at C/CLM\n    if CLM02 > 1 then present(REF)");
    assert_eq!(
        refused,
        "error[GDE-115]: `REF` may come after CLM, at which Quayline checks the rule\n  at rule r\n\nhint: put the rule at the loop around both, at whose end all values are known, or leave `at` out to check it at the end of the transaction"
    );
    for later in [
        "at C/CLM\n    CLM02 = sum(L/QTY01)",
        "at C/REF\n    count(L) = 0",
        "at TOT\n    TOT01 = sum(C/CLM02)",
        "at L/LIN\n    LIN01 != DTP01",
    ] {
        assert!(compile(later).contains("GDE-115"), "{later}");
    }
    // The same for a loop, which ends before the segment.
    let total_last = RULES.replacen("  segment TOT M 1\n", "", 1).replacen("rules\n", "  segment TOT M 1\nrules\n", 1);
    let at_end = |rule: &str| {
        let guide = format!("{total_last}  rule r {rule}\n");
        let parsed = parse_guide("r.guide", &guide, &MemoryGuides::default(), &Limits::default());
        parsed
            .and_then(|guide| CompiledGuide::new(&guide))
            .map_or_else(|findings| findings.to_string(), |_| String::new())
    };
    for (rule, is_late) in [
        ("at C\n    CLM02 < TOT01", true),
        ("at L\n    count(TOT) = 1", true),
        ("at C\n    CLM02 < sum(L/QTY01)", false),
        ("\n    TOT01 = sum(C/CLM02)", false),
    ] {
        assert_eq!(at_end(rule).contains("`TOT"), is_late, "{rule}: {}", at_end(rule));
        assert_eq!(at_end(rule).is_empty(), !is_late, "{rule}: {}", at_end(rule));
    }
    for good in [
        "at C/REF\n    REF02 != CLM01",
        "at L/DTP\n    DTP01 != LIN01 and sum(QTY01) < 5 and C/CLM02 > 1",
        "at L/QTY\n    count(QTY) < 5 and TOT01 > 1",
        "at C\n    if CLM02 > 1 then present(REF)",
    ] {
        assert_eq!(compile(good), "", "{good}");
    }
}
