//! Values that a map lost or changed without a word, and statements that it dropped: each has a finding now, or its value.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use quayline_core::{NodeId, Sink, Value};
use quayline_map::{Mapper, One, SourceOrder};

use crate::run::{JSON, ORDER};
use crate::support::{Case, World, shape};

/// Sink that checks whether each value marked as printable ASCII is printable ASCII.
#[derive(Default)]
struct Printable(Vec<(bool, bool)>);

impl Sink for Printable {
    fn enter(&mut self, _: NodeId) {}
    fn leave(&mut self, _: NodeId) {}
    fn open_list(&mut self, _: NodeId) {}
    fn close_list(&mut self, _: NodeId) {}
    fn value(&mut self, _: NodeId, value: Value<'_>) {
        let is_printable = |bytes: &[u8]| bytes.iter().all(|byte| (0x20..0x7f).contains(byte));
        match value {
            Value::Ascii(run) => self.0.push((true, is_printable(run.bytes()))),
            Value::Text(run) => self.0.push((false, is_printable(run.bytes()))),
            _ => {}
        }
    }
    fn discard(&mut self) {}
}

/// Regression: `join` with a line feed as its separator was marked as printable text, so CSV and JSON wrote the line feed unescaped.
#[test]
fn joined_texts_with_control_characters_are_not_called_printable() {
    let case = Case::new("s\n  a text(3)\n  b text(3)\n", "t\n  x text\n  y text\n  z text\n");
    let map = "x = joined(\"\\n\", a, b)\ny = joined(\"\\u{7f}\", a, b)\nz = joined(\" \", a, b)\n";
    let compiled = case.compile(map).unwrap_or_else(|findings| panic!("{findings}"));
    let source = shape(case.source);
    let mut mapper = Mapper::new(&compiled.plan, One(Printable::default()), World::default());
    mapper.enter(NodeId::ROOT);
    for name in ["a", "b"] {
        mapper.value(source.child(NodeId::ROOT, name).expect("a field"), Value::Ascii(b"q"[..].into()));
    }
    mapper.leave(NodeId::ROOT);
    let Printable(sent) = mapper.into_parts().0.0;
    assert_eq!(sent, [(false, false), (false, false), (true, true)]);
}

/// A fold of numbers kept the place of a text instead of its value: the next field of the document became the greatest price.
#[test]
fn folds_of_numbers_keep_no_text() {
    let map = "number = \"1\"\nmake lines { line = \"1\" quantity = 1 }\ncount = CTT.CTT01\ntotal = round(max(PO104 for PO1), 2)\n";
    let document = r#"{"BEG":{"BEG03":"1"},"PO1":[{"PO102":1,"PO104":"1x"}],"CTT":{"CTT01":17}}"#;
    for order in [SourceOrder::AsShape, SourceOrder::Any] {
        let case = Case { order, ..Case::new(ORDER, JSON) };
        let said = case.run(map, &[document]);
        assert!(
            said.contains("error[MAP-205]: the text is not a number") && !said.contains("17.00"),
            "{order:?}: {said}"
        );
        // A text that is a number counts as one.
        let other = document.replace("1x", " 2").replace("\" 2\"", "\"0002.50\"");
        let said = case.run(map, &[&other]);
        assert!(said.contains("\"total\":2.50"), "{order:?}: {said}");
    }
    let floats = Case::new("s\n  n*\n    x float\n  last text(9)\n", "t\n  last text(9)\n  y? float\n");
    let said = floats.run("last = last\ny = min(x for n)\n", &[r#"{"n":[{"x":"1x"}],"last":"123456789"}"#]);
    assert!(said.contains("error[MAP-205]") && !said.contains("\"y\""), "{said}");
}

const TYPED: &str =
    "lookup typed(n: decimal(5, 2)) -> (day: date, hour: time, at: datetime, is: bool, n: decimal(5, 2), raw: bytes)\n";

/// A look-up is text in its table: dates, times and truth values were absent in every document.
#[test]
fn look_ups_have_the_types_that_they_declare() {
    let case = Case::new(
        "s\n  n decimal(5,3)\n",
        "t\n  day? text(10)\n  hour? text(8)\n  at? text(19)\n  is? text(3)\n  n? decimal(6,3)\n  raw? bytes(4)\n",
    );
    let map = format!(
        "{TYPED}day = format(typed(n).day, \"DD.MM.CCYY\")\nhour = format(typed(n).hour, \"HHMMSSff\")\n\
         at = format(typed(n).at, \"CCYYMMDDHHMMSS\")\nis = if typed(n).is then \"yes\" else \"no\"\nn = typed(n).n * 2\nraw = typed(n).raw\n"
    );
    let said = case.run(&map, &[r#"{"n":1.500}"#, r#"{"n":001.5}"#, r#"{"n":9}"#, r#"{"n":2}"#]);
    expect_test::expect![[r#"
        warning[MAP-052]: `n` has 3 digits before the point, and this up to 4
        error[MAP-215]: the field `day` of `typed` is not what the map declares: a date such as 2026-01-31 is needed
          at t.qmap:2:1
          |
        2 | day = format(typed(n).day, "DD.MM.CCYY")
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        hint: correct the cell in the table, or declare the field as text
        error[MAP-215]: the field `hour` of `typed` is not what the map declares: a time such as 12:30:45 is needed
          at t.qmap:3:1
          |
        3 | hour = format(typed(n).hour, "HHMMSSff")
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        hint: correct the cell in the table, or declare the field as text
        error[MAP-215]: the field `at` of `typed` is not what the map declares: a date and time such as 2026-01-31T12:30:45 is needed
          at t.qmap:4:1
          |
        4 | at = format(typed(n).at, "CCYYMMDDHHMMSS")
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        hint: correct the cell in the table, or declare the field as text
        error[MAP-215]: the field `is` of `typed` is not what the map declares: true or false is needed
          at t.qmap:5:1
          |
        5 | is = if typed(n).is then "yes" else "no"
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        hint: correct the cell in the table, or declare the field as text
        error[MAP-215]: the field `n` of `typed` is not what the map declares: a number such as -12.50 is needed
          at t.qmap:6:1
          |
        6 | n = typed(n).n * 2
          | ^^^^^^^^^^^^^^^^^^

        hint: correct the cell in the table, or declare the field as text
        error[MAP-215]: the field `raw` of `typed` is not what the map declares: an even number of hexadecimal digits is needed
          at t.qmap:7:1
          |
        7 | raw = typed(n).raw
          | ^^^^^^^^^^^^^^^^^^

        hint: correct the cell in the table, or declare the field as text
        refused 1
        {"day":"31.01.2026","hour":"12304550","at":"20260131123045","is":"yes","n":3.00,"raw":[0, 255]}
        {"day":"31.01.2026","hour":"12304550","at":"20260131123045","is":"yes","n":3.00,"raw":[0, 255]}
        {"is":"no"}
    "#]].assert_eq(&said);
    let float = Case::new("s\n  x float\n", "t\n  n? decimal(6,3)\n");
    let said = float.findings(&format!("{TYPED}n = typed(x).n\n"));
    assert!(
        said.contains("error[MAP-040]") && said.contains("an exact number is needed here; this is a float"),
        "{said}"
    );
}

/// `scale` and `fit` of a float, and `round` of nothing, had no type and no finding: the statement was not there.
#[test]
fn no_statement_is_dropped_without_an_error() {
    let case = Case::new("s\n  x float\n  n decimal(5,2)\n  day text(8)\n", "t\n  n? decimal(9,2)\n  d? text(8)\n");
    for value in [
        "scale(x, 2)",
        "fit(x, 5, 2)",
        "remainder(x, 2)",
        "remainder(n, x)",
        "round(absent, 2)",
        "round(absent / 2, 2)",
        "scale(absent, 2)",
        "fit(absent, 5, 2)",
        "round(n / absent, 2)",
    ] {
        let said = case.findings(&format!("n = {value}\n"));
        assert!(said.contains("error[MAP-040]"), "{value}: {said}");
    }
    for value in ["add-days(date(day, \"CCYYMMDD\"), x)", "add-months(date(day, \"CCYYMMDD\"), x)"] {
        let said = case.findings(&format!("d = format({value}, \"CCYYMMDD\")\n"));
        assert!(said.contains("error[MAP-040]"), "{value}: {said}");
    }
    let said = case.findings("d = left(day, x)\n");
    assert!(said.contains("error[MAP-040]"), "{said}");
}

/// Functions of numbers took floats in the checker and refused every document.
#[test]
fn floats_and_numbers_mix_where_the_checker_takes_them() {
    let case =
        Case::new("s\n  x float\n  n decimal(5,2)\n", "t\n  a float\n  b float\n  c float\n  d bool\n  e float\n");
    let map = "var t = float(\"0\")\na = min(x, n)\nb = max(n, x, 3)\nset t += x\nset t -= float(\"0.25\")\nc = t\nd = is-number(x)\ne = max(x, 2)\n";
    assert_eq!(
        case.run(map, &[r#"{"x":2.5,"n":1.25}"#, r#"{"x":0.5,"n":4}"#]),
        "{\"a\":1.25,\"b\":3,\"c\":2.25,\"d\":true,\"e\":2.5}\n{\"a\":0.5,\"b\":4,\"c\":0.25,\"d\":true,\"e\":2}\n"
    );
}

/// Fractions of seven digits and more read the seventh as a second fraction that overwrote the first.
#[test]
fn fractions_of_any_width_and_texts_that_end_early() {
    let case = Case::new("s\n  a text\n", "t\n  x? text(40)\n");
    let read = |format: &str, text: &str| {
        let map = format!("x = format(datetime(a, \"{format}\"), \"CCYYMMDDHHMMSSffffff\")\n");
        let said = case.run(&map, &[&format!("{{\"a\":\"{text}\"}}")]);
        match said.lines().last().and_then(|line| line.strip_prefix("{\"x\":\"")) {
            Some(rest) => rest.trim_end_matches("\"}").to_owned(),
            None => said.lines().next().unwrap_or_default().chars().take(14).collect(),
        }
    };
    let refused = "error[MAP-206]";
    for (format, text, expected) in [
        ("CCYYMMDDHHMMSSfffffff", "202601311230451234560", "20260131123045123456"),
        ("CCYYMMDDHHMMSSffffffffff", "202601311230451234560000", "20260131123045123456"),
        ("CCYYMMDDHHMMSSfffffff", "20260131123045123", "20260131123045123000"),
        // A fraction finer than a microsecond is not truncated.
        ("CCYYMMDDHHMMSSfffffff", "202601311230451234567", refused),
        ("CCYYMMDDHHMMSSfffffff", "20260131123045123456x", refused),
        // X12 omits seconds and fractions with their separators; nothing else is omitted.
        ("CCYY-MM-DDTHH:MM:SS", "2026-01-31T12:30", "20260131123000000000"),
        ("CCYY-MM-DDTHH:MM:SS.fff", "2026-01-31T12:30:45", "20260131123045000000"),
        ("CCYY-MM-DDTHH:MM:SS,fff", "2026-01-31T12:30:45", "20260131123045000000"),
        ("CCYY-MM-DDTHH:MM:SS", "2026-01-31T12:30:", refused),
        ("CCYY-MM-DDTHH:MM:SS.fff", "2026-01-31T12:30:45.", refused),
        ("CCYY-MM-DDTHH:MM:SSZ", "2026-01-31T12:30:45", refused),
        ("CCYY-MM-DDTHH:MM:SSZ", "2026-01-31T12:30", refused),
        ("CCYY-MM-DDTHH:MM:SSZ", "2026-01-31T12:30:45Z", "20260131123045000000"),
    ] {
        assert_eq!(read(format, text), expected, "{format} of {text}");
    }
    let said =
        case.run("x = format(datetime(a, \"CCYYMMDDHHMM\"), \"HHMM.ffffffffff\")\n", &[r#"{"a":"202601311230"}"#]);
    assert!(said.ends_with("{\"x\":\"1230.0000000000\"}\n"), "{said}");
    for twice in ["HHMMff.fff", "YYCCYY", "HHHH"] {
        let said = case.findings(&format!("x = format(now(), \"{twice}\")\n"));
        assert!(said.contains("a part occurs twice"), "{twice}: {said}");
    }
}

/// Equal numbers have one digest, however many decimals their source writes.
#[test]
fn equal_numbers_have_equal_digests() {
    let case =
        Case::new("s\n  a decimal(9,4)\n  b decimal(9,4)\n", "t\n  same bool\n  id bool\n  sha bool\n  texts bool\n");
    let map = "same = hash(a) = hash(b)\nid = id-of(a) = id-of(b)\nsha = sha256(a) = sha256(b)\ntexts = hash(text(a)) = hash(text(b))\n";
    let said = case.run(map, &[r#"{"a":1.5,"b":001.500}"#, r#"{"a":-0,"b":0.00}"#, r#"{"a":1.5,"b":1.51}"#]);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(
        lines,
        [
            "{\"same\":true,\"id\":true,\"sha\":true,\"texts\":false}",
            "{\"same\":true,\"id\":true,\"sha\":true,\"texts\":false}",
            "{\"same\":false,\"id\":false,\"sha\":false,\"texts\":false}"
        ]
    );
}

/// Each row of a table was compared with all before it, each arm of a match too; the arms also used the stack.
#[test]
fn large_tables_matches_and_lists_compile_and_run_in_linear_time() {
    let case = Case::new("s\n  a text\n", "t\n  x? text\n  y? bool\n  z? text\n");
    let took = |count: usize| {
        let mut rows = String::new();
        let (mut arms, mut values) = (String::new(), String::new());
        for n in 0..count {
            write!(rows, "\"k{n}\" => \"v{}\"{}, ", n % 100, if n % 100 < 90 { " one-way" } else { "" })
                .expect("writes");
            if n < count / 5 {
                write!(arms, "\"k{n}\" => \"{n}\", ").expect("writes");
                write!(values, "\"k{n}\", ").expect("writes");
            }
        }
        let map = format!(
            "table t {{ {rows} \"end\" => \"e\" }}\nx = translate(a, t) ?? \"-\"\ny = a in ({values}\"end\")\nz = match a {{ {arms} else => \"-\" }}\n"
        );
        let started = Instant::now();
        let last = format!("k{}", count / 5 - 1);
        let said = case.run(&map, &[&format!("{{\"a\":\"{last}\"}}"), "{\"a\":\"end\"}"]);
        let tail: String = said.chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
        assert!(
            said.contains(&format!("\"z\":\"{}\"", count / 5 - 1)) && said.contains("\"y\":true,\"z\":\"-\""),
            "{tail}"
        );
        started.elapsed()
    };
    took(1_000);
    let (few, many) = (took(10_000), took(100_000));
    // Ten times the rows: quadratic time would be a hundred times as long.
    assert!(many < few * 35 + Duration::from_millis(500), "{few:?} and {many:?}");
}

/// The check of a sum knew how many values it has only for lists with a maximum: without one, the wider sum had no finding.
#[test]
fn sums_over_lists_without_a_maximum_may_be_too_large() {
    for (list, value, expected) in [
        (
            "*1..50",
            "9,2",
            expect_test::expect![[r#"
            Warning MAP-052: `n` has 9 digits before the point, and this up to 10
              declare that it fits: fit(…, 11, 2); a larger number is then a finding of the run
        "#]],
        ),
        (
            "*",
            "9,2",
            expect_test::expect![[r#"
                Note MAP-052: `n` has 9 digits before the point, and nothing bounds the number of values in this sum
                  declare that it fits: fit(…, 11, 2); as it is, a larger number is a finding of the run
            "#]],
        ),
        (
            "*",
            "15,2",
            expect_test::expect![[r#"
                Warning MAP-052: `n` has 9 digits before the point, and each value of this sum up to 13
                  declare that it fits: fit(…, 11, 2); as it is, a larger number is a finding of the run
            "#]],
        ),
    ] {
        let source = format!("s\n  a{list}\n    n decimal({value})\n");
        let case = Case::new(&source, "t\n  n decimal(11,2)\n");
        let findings = |map: &str| {
            let found = case.compile(map).unwrap_or_else(|findings| panic!("{findings}")).findings;
            let line = |found: &quayline_core::Finding| {
                let hint = found.hint.as_deref().unwrap_or_default();
                format!("{:?} {}: {}\n  {hint}\n", found.severity, found.code.0, found.message)
            };
            found.iter().map(line).collect::<String>()
        };
        expected.assert_eq(&findings("n = round(sum(n for a), 2) + 1\n"));
        assert_eq!(findings("n = fit(sum(n for a), 11, 2)\n"), "");
    }
}

/// An exact number became the nearest float silently.
#[test]
fn exact_numbers_that_a_float_changes_are_a_finding() {
    let case = Case::new("s\n  e decimal(20,5)\n  d decimal(6,2)\n  x float\n", "t\n  f? float\n  g? float32\n");
    let compiled = case.compile("f = e\ng = d\n").expect("it compiles");
    let said: Vec<String> = compiled.findings.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains("`f` is a float, which keeps 15 digits"), "{said:?}");
    for (map, document, result) in [
        ("f = e", r#"{"e":999999999.12345}"#, Ok(r#"{"f":999999999.12345}"#)),
        ("f = e", r#"{"e":999999999999999.12345}"#, Err("MAP-225")),
        ("f = e", r#"{"e":100000000000000}"#, Ok(r#"{"f":100000000000000"#)),
        ("f = e", r#"{"e":-0.00001}"#, Ok(r#"{"f":-0.00001}"#)),
        ("f = float(text(e))", r#"{"e":999999999999999.12345}"#, Ok(r#"{"f":999999999999999.1}"#)),
        ("g = d", r#"{"d":9999.99}"#, Ok(r#"{"g":9999.99"#)),
        ("g = e", r#"{"e":16777217}"#, Err("MAP-225")),
        ("g = e", r#"{"e":16777216}"#, Ok(r#"{"g":16777216"#)),
        ("g = x", r#"{"x":0.1}"#, Ok(r#"{"g":0.1"#)),
    ] {
        let said = case.run(map, &[document]);
        match result {
            Ok(text) => assert!(said.contains(text) && !said.contains("error"), "{map} {document}: {said}"),
            Err(code) => assert!(said.contains(&format!("error[{code}]")), "{map} {document}: {said}"),
        }
    }
}

/// An empty code, such as blanks of a record, was absent without a finding, whatever its table said about it.
#[test]
fn an_empty_text_is_a_code_of_a_table_that_has_it() {
    let case = Case::new("s\n  a? text(2)\n", "t\n  x? text(9)\n  y? text(9)\n  z? text(9)\n");
    for (tables, map, document, expected) in [
        ("\"A\" => \"1\", \"\" => \"none\", else \"2\"", "x = translate(a, t)", r#"{"a":""}"#, r#"{"x":"none"}"#),
        ("\"A\" => \"1\", else \"2\"", "x = translate(a, t)", r#"{"a":""}"#, r#"{"x":"2"}"#),
        ("\"A\" => \"1\", else \"2\"", "x = translate(a, t) ?? \"3\"", r#"{"a":""}"#, r#"{"x":"2"}"#),
        ("\"A\" => \"1\"", "x = translate(a, t) ?? \"3\"", r#"{"a":""}"#, r#"{"x":"3"}"#),
        // Without a row for it, an empty text is no code, and an absent value never is one.
        ("\"A\" => \"1\"", "x = translate(a, t)", r#"{"a":""}"#, "{}"),
        ("\"\" => \"none\", else \"2\"", "x = translate(a, t)", "{}", "{}"),
        ("\"A\" => \"\", \"B\" => \"2\"", "x = reverse(a, t)", r#"{"a":""}"#, r#"{"x":"A"}"#),
        ("\"A\" => \"\"", "x = translate(a, t)", r#"{"a":"A"}"#, r#"{"x":""}"#),
        // In conditions, the first arm that fits decides.
        (
            "\"A\" => \"1\"",
            "x = translate(a, t)\ny = match a { \"\" => \"e\", absent => \"n\" }",
            r#"{"a":""}"#,
            r#"{"y":"e"}"#,
        ),
        (
            "\"A\" => \"1\"",
            "x = translate(a, t)\ny = match a { absent => \"n\", \"\" => \"e\" }",
            r#"{"a":""}"#,
            r#"{"y":"n"}"#,
        ),
    ] {
        let said = case.run(&format!("table t {{ {tables} }}\n{map}\n"), &[document]);
        let last = said.lines().last().unwrap_or_default();
        assert!(last == expected && !said.contains("error"), "{tables} {map} {document}: {said}");
    }
    let map = "table t from \"blank.csv\"\ncodes c from \"blank.csv\"\nx = translate(a, t)\ny = if a in c then \"in\" else \"out\"\n";
    assert_eq!(case.run(map, &[r#"{"a":""}"#]), "{\"x\":\"NONE\",\"y\":\"in\"}\n");
    let lookup = "lookup customers(id: text) -> (name: text(9), days: decimal(3))\nx = customers(a).name ?? \"-\"\n";
    assert_eq!(case.run(lookup, &[r#"{"a":""}"#, "{}"]), "{\"x\":\"nobody\"}\n{\"x\":\"-\"}\n");
}

/// A sum forgot its floats at the first exact number, and a comparison with a text that is not a number was false.
#[test]
fn floats_and_texts_of_numbers_are_counted_or_reported() {
    let case = Case::new(
        "s\n  items*\n    rate float\n  r? float\n",
        "t\n  total? float\n  flag? text(4)\n  least? float\n  small? float32\n",
    );
    let items = r#"{"items":[{"rate":1.5},{"rate":-1},{"rate":2.5}],"r":0.25}"#;
    let said = case.run("total = sum(max(rate, 0) for items)\n", &[items]);
    assert_eq!(said, "{\"total\":4}\n");
    let text = r#"{"items":[],"r":"abc"}"#;
    for map in [
        "flag = if r > 10 then \"high\" else \"low\"",
        "flag = if r != 10 then \"high\" else \"low\"",
        "least = min(r, float(\"1\"))",
        "total = sum(max(r, float(\"1\")) for items)\nleast = max(float(\"1\"), r)",
    ] {
        let said = case.run(map, &[text]);
        assert!(said.contains("error[MAP-205]"), "{map}: {said}");
    }
    // The nearest float of both is zero, or none.
    for (map, number) in [
        ("total = r", "1e-400"),
        ("total = r + 1", "1e-400"),
        ("total = r", "1e400"),
        ("flag = if r > 1 then \"high\" else \"low\"", "1e400"),
    ] {
        let said = case.run(map, &[&format!(r#"{{"items":[],"r":"{number}"}}"#)]);
        assert!(said.contains("error[MAP-222]"), "{map} {number}: {said}");
    }
    let said = case.run("small = r", &[r#"{"items":[],"r":1e-60}"#]);
    assert!(said.contains("error[MAP-222]"), "{said}");
}

/// A list of one arm was left out without a finding if a field of another arm precedes it and needs a value after the list.
#[test]
fn lists_of_one_arm_do_not_wait_for_values_of_another() {
    let map = "match BEG.BEG03 { \"A\" => { number = BEG.BEG03  for PO1 make lines { line = text(PO102) quantity = PO102 } } else => { number = text(CTT.CTT01)  make lines { line = \"0\" quantity = 1 } } }
count = CTT.CTT01\ntotal = 1\n";
    for order in [SourceOrder::AsShape, SourceOrder::Any] {
        let case = Case { order, ..Case::new(ORDER, JSON) };
        let document = |kind: &str| {
            format!(r#"{{"BEG":{{"BEG03":"{kind}"}},"PO1":[{{"PO102":1}},{{"PO102":2}}],"CTT":{{"CTT01":17}}}}"#)
        };
        let said = case.run(map, &[&document("A")]);
        assert_eq!(said.matches("\"line\"").count(), 2, "{order:?}: {said}");
        let said = case.run(map, &[&document("B")]);
        assert!(said.contains("\"number\":\"17\"") && said.contains("\"line\":\"0\""), "{order:?}: {said}");
    }
}

/// `count` and `present` of a group or field of a list counted the occurrences that lack it.
#[test]
fn folds_count_only_occurrences_with_the_end_of_their_path() {
    let source = "s\n  item*\n    price?\n      n decimal(5)\n    code? text(3)\n";
    let target = "t\n  a? decimal(9)\n  b? decimal(9)\n  c? text(3)\n  d? text(3)\n  e? text(3)\n  f? text(3)\n  g? decimal(9)\n";
    let map = "a = count(item.price)\nb = count(item.code)\nc = if present(item.price) then \"yes\" else \"no\"
d = if present(item.code) then \"yes\" else \"no\"\ne = if all(n > 1 for item.price) then \"yes\" else \"no\"
f = if any(absent = absent for item.price) then \"yes\" else \"no\"\ng = count(item.price where n > 1)\n";
    let map = map.replace("absent = absent", "not present(n) or n > 1");
    for order in [SourceOrder::AsShape, SourceOrder::Any] {
        let case = Case { order, ..Case::new(source, target) };
        for (items, expected) in [
            (
                r#"[{"price":{"n":2}},{"code":"x"},{"code":""},{}]"#,
                r#"{"a":1,"b":1,"c":"yes","d":"yes","e":"yes","f":"yes","g":1}"#,
            ),
            (r#"[{"code":""},{}]"#, r#"{"a":0,"b":0,"c":"no","d":"no","e":"yes","f":"no","g":0}"#),
            (
                r#"[{"price":{"n":1}},{"price":{"n":3}}]"#,
                r#"{"a":2,"b":0,"c":"yes","d":"no","e":"no","f":"yes","g":1}"#,
            ),
        ] {
            let said = case.run(&map, &[&format!(r#"{{"item":{items}}}"#)]);
            assert_eq!(said.lines().last(), Some(expected), "{order:?}: {said}");
        }
    }
}

/// The exact value of a 32-bit float was that of the 64-bit float with the same value, which has more digits.
#[test]
fn a_32_bit_float_has_the_digits_of_its_shortest_text() {
    let case = Case::new("s\n  x float32\n", "t\n  n? decimal(9,2)\n  r? text(40)\n");
    let said = case.run("n = round(x, 2)\nr = text(round(x, 1))\n", &[r#"{"x":0.15}"#, r#"{"x":1.005}"#]);
    assert!(said.ends_with("{\"n\":0.15,\"r\":\"0.2\"}\n{\"n\":1.01,\"r\":\"1.0\"}\n"), "{said}");
}

/// `code = …` or `hint = …` after a statement `error` was an error of the map: the words belong to `error` only before a text.
#[test]
fn words_of_the_language_may_begin_an_assignment() {
    let case = Case::new("s\n  a text(3)\n", "t\n  code? text(3)\n  hint? text(3)\n  or? text(3)\n  in? text(3)\n");
    let map = "warning \"w\"\ncode = a\nnote \"n\" code \"X1\"\nhint = a\nor = a\nin = a\n";
    let said = case.run(map, &[r#"{"a":"q"}"#]);
    assert!(said.ends_with("{\"code\":\"q\",\"hint\":\"q\",\"or\":\"q\",\"in\":\"q\"}\n"), "{said}");
    let said = case.findings("error \"e\" code 5\n");
    assert!(said.contains("a code of your own, in double quotes"), "{said}");
}

/// Regression: an empty list was lost if it came before the first value of its optional group, although the group appeared.
#[test]
fn an_empty_list_appears_with_its_group() {
    const SHAPE: &str = "s\n  c?\n    a*\n      x text(3)\n    t* text(3)\n    d?\n      e* text(3)\n      f? text(3)\n    b? text(3)\n    z* text(3)\n";
    let map = "for c.a make c.a { x = x }\nfor c.t make c.t = it\nfor c.d.e make c.d.e = it\nc.d.f = c.d.f\nc.b = c.b\nfor c.z make c.z = it\n";
    for order in [SourceOrder::AsShape, SourceOrder::Any] {
        let case = Case { order, ..Case::new(SHAPE, SHAPE) };
        for (document, expected) in [
            (r#"{"c":{"a":[],"t":[],"b":"x"}}"#, r#"{"c":{"a":[],"t":[],"b":"x"}}"#),
            (r#"{"c":{"a":[],"t":["1"]}}"#, r#"{"c":{"a":[],"t":["1"]}}"#),
            (r#"{"c":{"b":"x","z":[]}}"#, r#"{"c":{"b":"x","z":[]}}"#),
            (r#"{"c":{"a":[],"d":{"e":[],"f":"y"},"z":[]}}"#, r#"{"c":{"a":[],"d":{"e":[],"f":"y"},"z":[]}}"#),
            // An empty list makes no group appear.
            (r#"{"c":{"a":[],"d":{"e":[]},"z":[]}}"#, "{}"),
            (r#"{"c":{"t":[],"d":{"e":[]},"b":"x"}}"#, r#"{"c":{"t":[],"b":"x"}}"#),
            (r#"{"c":{"b":"x"}}"#, r#"{"c":{"b":"x"}}"#),
        ] {
            assert_eq!(case.run(map, &[document]).trim_end(), expected, "{order:?}: {document}");
        }
        let both = case.run(map, &[r#"{"c":{"a":[]}}"#, r#"{"c":{"b":"x"}}"#]);
        assert_eq!(both.trim_end(), "{}\n{\"c\":{\"b\":\"x\"}}", "{order:?}");
    }
}

/// Regression: MAP-203 said that 0 decimals do not fit in 0 decimals, and the advice of MAP-052 refused numbers that fit.
#[test]
fn advice_for_a_negative_scale_works() {
    let mut builder = quayline_core::Shape::builder("t");
    let scalar = quayline_core::Scalar::Decimal { digits: 3, scale: -2, signed: true };
    let n = builder.scalar("n", scalar, quayline_core::Occurs::Once);
    let target = builder.finish();
    let source = shape("s\n  n decimal(9)\n");
    let run = |map: &str, value: i64| {
        let spec = quayline_map::MapSpec::parse("t.qmap", map);
        let output = quayline_map::Output { name: "out", shape: &target, absent: quayline_map::Absent::Refused };
        let options = quayline_map::Options { order: SourceOrder::AsShape };
        let compiled = quayline_map::compile(&spec, &source, &[output], options, &crate::support::files())
            .unwrap_or_else(|findings| panic!("{findings}"));
        let mut mapper = Mapper::new(&compiled.plan, One(crate::support::Writer::new(&target)), World::default());
        mapper.enter(NodeId::ROOT);
        mapper.value(n, Value::Int(value, 0));
        mapper.leave(NodeId::ROOT);
        let outcome = mapper.outcome();
        let found = compiled.findings.iter().chain(&outcome.findings).map(ToString::to_string);
        let found = found.collect::<Vec<_>>().join("\n");
        (found, mapper.into_parts().0.0.text())
    };
    let (found, _) = run("n = n\n", 150);
    for part in [
        "declare that it fits: fit(…, 5, 0)",
        "error[MAP-203]: the number is not a multiple of 100, and the target holds only such numbers",
        "write round(… / 100, 0) * 100",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert_eq!(run("n = fit(n, 5, 0)\n", 99_900), (String::new(), "{\"n\":99900}\n".to_owned()));
    let (found, written) = run("n = round(n / 100, 0) * 100\n", 150);
    assert!(!found.contains("error") && written == "{\"n\":200}\n", "{found}{written}");
    assert_eq!(run("n = 99900\n", 1), (String::new(), "{\"n\":99900}\n".to_owned()));
}
