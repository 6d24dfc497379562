//! Bounds of maps: conditions that are not truth values, truncated fractions, growing texts.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use quayline_core::{Limits, NodeId, Sink, Value};
use quayline_map::{Mapper, One, StillHost, Unwatched};

use crate::support::{Case, Writer, shape};

const SOURCE: &str = "
doc
  a? bool
  b? text
  n? decimal(18,7)
  tag* text(8)
";
const TARGET: &str = "
out
  r? text
  s? text(40)
  ok? bool
";

/// Runs one document of named values. Returns the first lines of the findings with the refusals, the output and the duration.
fn run(map: &str, limits: &Limits, values: &[(&str, Value<'_>)], tags: usize) -> (Vec<String>, String, Duration) {
    let case = Case::new(SOURCE, TARGET);
    let compiled = case.compile(map).unwrap_or_else(|findings| panic!("{findings}"));
    let plan = &compiled.plan;
    let node = |name: &str| plan.source().child(NodeId::ROOT, name).expect("a field");
    let mut mapper = Mapper::watched(plan, One(Writer::new(&shape(TARGET))), StillHost::default(), Unwatched, limits);
    let start = Instant::now();
    mapper.enter(NodeId::ROOT);
    for (name, value) in values {
        mapper.value(node(name), *value);
    }
    mapper.open_list(node("tag"));
    for _ in 0..tags {
        mapper.value(node("tag"), Value::Ascii(b"abcdefgh"[..].into()));
    }
    mapper.close_list(node("tag"));
    mapper.leave(NodeId::ROOT);
    let took = start.elapsed();
    let outcome = mapper.outcome();
    let findings = outcome.findings.iter().map(|found| found.to_string().lines().next().unwrap_or("").to_owned());
    let findings = findings.collect();
    (findings, mapper.into_parts().0.0.text().to_owned(), took)
}

fn text(text: &str) -> Value<'_> {
    Value::Text(text.as_bytes().into())
}

/// A source that sent a truth value as text made every condition on it false, without a word.
#[test]
fn a_condition_on_what_is_no_truth_value_is_a_finding() {
    for map in [
        "if a { r = \"x\" }\n",
        "if not a { drop }\n",
        "r = if a = true then \"x\" else \"y\"\n",
        "r = if true = a then \"x\" else \"y\"\n",
        "r = if a and b = \"q\" then \"x\" else \"y\"\n",
    ] {
        let (findings, written, _) = run(map, &Limits::default(), &[("a", text("true")), ("b", text("q"))], 0);
        assert!(findings.first().is_some_and(|found| found.starts_with("error[MAP-214]")), "{map}: {findings:?}");
        assert_eq!(written, "", "{map}");
        let (findings, _, _) = run(map, &Limits::default(), &[("a", Value::Bool(true)), ("b", text("q"))], 0);
        assert_eq!(findings, Vec::<String>::new(), "{map}");
    }
}

/// `add-seconds(…, 60.5)` lost half a second, and `add-days(…, 1.5)` half a day; `substring(…, 0, n)` began at 1.
#[test]
fn fractions_and_positions_are_never_cut() {
    let at = "datetime(\"20260131235959\", \"CCYYMMDDHHMMSS\")";
    let day = "date(\"20260131\", \"CCYYMMDD\")";
    let seconds = format!("r = format(add-seconds({at}, n), \"CCYYMMDDHHMMSSffffff\")\n");
    let days = format!("r = format(add-days({day}, n), \"CCYYMMDD\")\n");
    let months = format!("r = format(add-months({day}, n), \"CCYYMMDD\")\n");
    let substring = "r = substring(\"abc\", n, 2)\n".to_owned();
    let split = "r = split(\"a-b\", \"-\", n)\n".to_owned();
    for (map, n, expected) in [
        (&seconds, Value::Int(5, 1), "20260131235959500000"),
        (&seconds, Value::Int(-1, 6), "20260131235958999999"),
        (&seconds, Value::Int(15_000_000, 7), "20260201000000500000"),
        (&seconds, Value::Int(1, 7), "MAP-203"),
        (&days, Value::Int(150, 2), "MAP-220"),
        (&days, Value::Int(200, 2), "20260202"),
        (&days, Value::Decimal(quayline_core::Decimal { unscaled: i128::MAX, scale: 0 }), "MAP-218"),
        (&months, Value::Int(-15, 1), "MAP-220"),
        (&months, Value::Int(1, 0), "20260228"),
        (&substring, Value::Int(0, 0), "MAP-220"),
        (&substring, Value::Int(1, 0), "\"ab\""),
        (&split, Value::Int(0, 0), "MAP-220"),
        (&split, Value::Int(2, 0), "\"b\""),
    ] {
        let (findings, written, _) = run(map, &Limits::default(), &[("n", n)], 0);
        let said = format!("{findings:?} {written}");
        assert!(said.contains(expected), "{map} {n:?}: {said}");
        assert_eq!(findings.is_empty(), !written.is_empty(), "{map} {n:?}: {said}");
    }
}

/// 39 lines that double a text, and one `replace`, took all memory and ended the process.
#[test]
fn a_text_that_a_map_makes_is_bounded() {
    let doubling = (1..40).fold("let a0 = b\n".to_owned(), |mut map, i| {
        writeln!(map, "let a{i} = a{0} & a{0}", i - 1).expect("writes");
        map
    }) + "r = left(a39, 3)\n";
    let replaced = "r = left(replace(repeat(b, 1000), \"a\", repeat(b, 1000)), 3)\n".to_owned();
    let hexed = (0..20).fold("b".to_owned(), |inner, _| format!("hex({inner})"));
    let appended = "var s = b\nfor tag { set s &= it }\nr = left(s, 3)\n".to_owned();
    let joined = "r = left(join(it for tag), 3)\n".to_owned();
    for map in [doubling, replaced, format!("r = left({hexed}, 3)\n"), appended, joined] {
        let limits = Limits { map_text_bytes_max: 64_000, ..Limits::default() };
        let (findings, written, _) = run(&map, &limits, &[("b", text("a"))], 9_000);
        assert!(findings.iter().any(|found| found.starts_with("error[MAP-223]")), "{map}: {findings:?}");
        assert_eq!(written, "", "{map}");
    }
}

/// Regression: appending to a text copied the text, so 400,000 words took 71 seconds.
#[test]
fn appending_costs_what_is_appended() {
    let map = "var s: text(3000000) = \"\"\nfor tag { set s &= it }\nr = left(s, 10)\n";
    let (findings, written, few) = run(map, &Limits::default(), &[], 40_000);
    assert_eq!((findings.len(), written.contains("abcdefghab")), (0, true), "{written}");
    let (.., many) = run(map, &Limits::default(), &[], 320_000);
    assert!(many < few * 24 + Duration::from_millis(200), "8 times the words: {few:?}, then {many:?}");
}

/// The parts may hold the variable itself, and be absent.
#[test]
fn what_is_appended_may_hold_the_variable() {
    for (map, expected) in [
        ("var s = \"ab\"\nset s &= s\nset s &= s\nr = s\n", "\"abababab\""),
        ("var s = \"ab\"\nset s = s & \"-\" & s & b\nr = s\n", "\"ab-ab\""),
        ("var s = \"ab\"\nset s &= b\nset s &= \"é\"\nset s &= \"c\"\nr = s\n", "\"abéc\""),
        ("var s: text(3) = \"ab\"\nset s &= \"é\"\nr = s\n", "\"abé\""),
    ] {
        let (findings, written, _) = run(map, &Limits::default(), &[], 0);
        assert!(findings.is_empty() && written.contains(expected), "{map}: {findings:?} {written}");
    }
}

/// Each finding was compared with all before it: a map of 80,000 wrong lines took half a minute, and one of 4 MB never ended.
#[test]
fn a_map_of_many_findings_is_checked_in_linear_time() {
    let case = Case::new(SOURCE, TARGET);
    // The shortest of three: other work on the machine makes runs longer, never shorter.
    let took = |lines: usize| {
        let map = "nothing = 1\n".repeat(lines);
        let once = || {
            let start = Instant::now();
            let compiled = case.compile(&map);
            let took = start.elapsed();
            let told = compiled.map_or_else(|findings| findings, |_| String::new());
            assert_eq!(told.matches("error[MAP-021]").count(), lines);
            took
        };
        [once(), once(), once()].into_iter().min().unwrap_or_default()
    };
    let (few, many) = (took(10_000), took(80_000));
    assert!(many < few * 24, "8 times the lines took {few:?} and {many:?}");
}
