//! Findings of running maps, their memory use, and the events of observers.

use std::fmt::Write as _;

use expect_test::{expect, expect_file};

use quayline_core::{Limits, NodeId, Sink, Value};
use quayline_map::{
    Absent, Coverage, Ends, Mapper, NoRules, Observer, One, SourceOrder, StatementId, StillHost, propose,
};

use crate::findings::{SOURCE, TARGET};
use crate::run::{DOCUMENT, JSON, ORDER, ORDER_DOCUMENT};
use crate::support::{Case, Json, Writer, shape};

/// Cases: title, map, and the text in [`DOCUMENT`] to replace with its replacement.
const CASES: &[(&str, &str, &str, &str)] = &[
    ("a text is too long", "id = id\nname = CUST-NAME\n", "Ann Example", "A much longer name of 34 characters"),
    ("a text of other characters is too long", "id = note ?? id\n", "\"first\"", "\"äöüäöüäöüäöü\""),
    ("a text of other characters fits", "id = note ?? id\n", "\"first\"", "\"äöüäöüäöüä\""),
    ("an element of a list is too long", "id = id\ntags = [code, note]\n", "\"first\"", "\"too long\""),
    ("an element of a loop is too long", "id = id\nfor tag make few = it\n", "\"y\"", "\"too long\""),
    (
        "a field of an occurrence is too long",
        "id = id\nfor line limit 3 make lines { sku = sku  notes = [sku] }\n",
        "\"sku\":\"b\"",
        "\"sku\":\"bcdefghijklm\"",
    ),
    ("a number in text is too long", "id = amount\n", "12.50", "1234567890.12"),
    ("digits before the point", "id = id\nsmall = TOTAL\n", "\"TOTAL\":100", "\"TOTAL\":1000"),
    ("digits of a product", "id = id\namount = round(amount * amount, 2)\n", "12.50", "9999999.99"),
    ("decimals", "id = id\namount = rate\n", "0.5", "0.5"),
    ("decimals that are zero", "id = id\namount = rate\n", "0.1234", "0.1200"),
    ("a negative number", "id = id\nsmall = RATE\n", "\"RATE\":3", "\"RATE\":-3"),
    ("a negative zero", "id = id\nsmall = RATE\n", "\"RATE\":3", "\"RATE\":-0"),
    ("fit", "id = id\namount = fit(TOTAL * 1000, 5, 0)\n", "\"TOTAL\":100", "\"TOTAL\":100"),
    ("fit with decimals", "id = id\namount = fit(rate, 5, 2)\n", "0.1234", "0.1234"),
    ("no number in a field of numbers", "id = id\namount = amount\n", "12.50", "\"12,50\""),
    ("no number in a field of numbers that is computed with", "id = id\namount = amount + 1\n", "12.50", "\"n/a\""),
    ("no number in a text", "id = id\namount = number(CUST-NAME)\n", "0.5", "0.5"),
    ("no number in a comparison", "id = if amount > 5 then id else code\n", "12.50", "\"x\""),
    ("no number in a sum", "id = id\namount = round(sum(qty for line), 2)\n", "\"qty\":3", "\"qty\":\"three\""),
    ("no float", "id = id\nratio = float(CUST-NAME)\n", "0.5", "0.5"),
    ("no date", "id = id\nday = format(date(date, \"CCYYMMDD\"), \"CCYY\")\n", "20260131", "20260231"),
    ("no time", "id = id\nday = format(time(short, \"HHMMSS\"), \"HH\")\n", "231405", "241405"),
    ("a date of another length", "id = id\nday = format(date(date, \"CCYYMMDD\"), \"CCYY\")\n", "20260131", "260131"),
    (
        "a date beyond the calendar",
        "id = id\nday = format(add-days(date(date, \"CCYYMMDD\"), 9000000), \"CCYY\")\n",
        "0.5",
        "0.5",
    ),
    (
        "months beyond the calendar",
        "id = id\nday = format(add-months(date(date, \"CCYYMMDD\"), -90000), \"CCYY\")\n",
        "0.5",
        "0.5",
    ),
    (
        "seconds beyond the calendar",
        "id = id\nday = format(add-seconds(now(), 999999999999), \"CCYY\")\n",
        "0.5",
        "0.5",
    ),
    ("more than 38 digits", "id = id\namount = amount * 99999999999999999999999999999999999999\n", "0.5", "0.5"),
    (
        "more than 38 digits in the source",
        "id = id\namount = amount + 1\n",
        "12.50",
        "123456789012345678901234567890123456789012",
    ),
    ("a divisor of zero", "id = id\namount = round(amount / count, 2)\n", "\"count\":7", "\"count\":0"),
    ("a remainder of zero", "id = id\namount = remainder(amount, count)\n", "\"count\":7", "\"count\":0"),
    ("a code that is not in its table", "table t { \"XX\" => \"1\" }\nid = translate(code, t)\n", "0.5", "0.5"),
    ("a value that is not in its table", "table t { \"XX\" => \"1\" }\nid = reverse(code, t)\n", "0.5", "0.5"),
    ("a code that is asked for", "table t { \"XX\" => \"1\" }\nid = translate(code, t) ?? \"-\"\n", "0.5", "0.5"),
    ("a mandatory field is absent", "id = who.last\n", ",\"last\":\"Smith\"", ""),
    (
        "a mandatory field of an occurrence is absent",
        "id = id\nfor N1 limit 3 make lines { sku = left(N102, 12) }\n",
        ",\"N102\":\"Buy\"",
        "",
    ),
    (
        "a mandatory field of an optional group is absent",
        "id = id\nwho.first = who.last\nwho.last = code\n",
        ",\"last\":\"Smith\"",
        "",
    ),
    (
        "an optional group that is absent",
        "id = id\nwho.first = who.last\nwho.last = who.last\n",
        ",\"last\":\"Smith\"",
        "",
    ),
    (
        "too many occurrences",
        "id = id\nfor line make lines { sku = sku }\n",
        "\"line\":[",
        "\"line\":[{\"qty\":1,\"sku\":\"z\"},",
    ),
    ("too many values", "id = id\nfor tag make few = it\n", "\"tag\":[", "\"tag\":[\"v\",\"w\","),
    ("too few occurrences", "id = id\nfor line where qty > 99 limit 3 make need.rows { a = \"x\" }\n", "0.5", "0.5"),
    ("a picture without place for the sign", "id = format(RATE, \"000\")\n", "\"RATE\":3", "\"RATE\":-3"),
    ("a picture without place for the digits", "id = format(TOTAL, \"000\")\n", "\"TOTAL\":100", "\"TOTAL\":1000"),
    ("a count below zero", "id = left(CUST-NAME, RATE)\n", "\"RATE\":3", "\"RATE\":-3"),
    ("a count that is too large", "id = left(repeat(CUST-NAME, TOTAL), 5)\n", "\"TOTAL\":100", "\"TOTAL\":9999999"),
    ("a declared variable", "var n: decimal(2) = 0\nset n = TOTAL\nid = text(n)\n", "0.5", "0.5"),
    ("a declared text", "var n: text(3) = \"\"\nset n &= CUST-NAME\nid = left(n, 3)\n", "0.5", "0.5"),
    ("a float that is none", "id = id\namount = round(float(\"1e999\"), 2)\n", "0.5", "0.5"),
    ("a float that is too large", "id = id\namount = round(float(\"1e99\"), 2)\n", "0.5", "0.5"),
    (
        "a lookup that is not connected",
        "lookup stock(id: text) -> (qty: decimal(5))\nid = id\nsmall = abs(stock(id).qty)\n",
        "0.5",
        "0.5",
    ),
    (
        "a function that is not connected",
        "fn rate(id: text) -> decimal(5)\nid = id\nsmall = abs(rate(id))\n",
        "0.5",
        "0.5",
    ),
    (
        "an argument that is too long",
        "fn again(a: text(2)) -> text(9)\nid = id\nname = again(CUST-NAME)\n",
        "0.5",
        "0.5",
    ),
    (
        "an argument of too many digits",
        "fn again(a: decimal(2)) -> text(9)\nid = id\nname = again(TOTAL)\n",
        "0.5",
        "0.5",
    ),
    ("a result that is too long", "fn again(a: text) -> text(2)\nid = id\nname = again(\"abc\")\n", "0.5", "0.5"),
    (
        "a result that is not a number",
        "fn again(a: text) -> decimal(2)\nid = id\nsmall = abs(again(\"abc\"))\n",
        "0.5",
        "0.5",
    ),
    (
        "a result of too many decimals",
        "fn again(a: text) -> decimal(2)\nid = id\nsmall = abs(again(\"1.5\"))\n",
        "0.5",
        "0.5",
    ),
    (
        "a result that is not a date",
        "fn again(a: text) -> date\nid = id\nname = format(again(\"2026-02-30\"), \"DD\")\n",
        "0.5",
        "0.5",
    ),
    (
        "an error of the map in an occurrence",
        "id = id\nfor line limit 3 make lines {\n  sku = sku\n  if qty > 2 { error \"too many\" }\n}\n",
        "0.5",
        "0.5",
    ),
    (
        "too few occurrences",
        "id = id\nmake need {\n  name = code\n  for tag where it = \"z\" limit 9 make rows { a = it }\n}\n",
        "0.5",
        "0.5",
    ),
    (
        "several findings at once",
        "id = note ?? id\nname = CUST-NAME\nsmall = TOTAL\namount = number(code)\n",
        "\"first\"",
        "\"this is too long\"",
    ),
    ("another kind of value than the shape says", "id = id\nok = flag\n", "true", "\"yes\""),
    ("text where bytes are", "id = id\nraw = blob\n", "\"flag\":true", "\"flag\":true,\"blob\":\"text\""),
    (
        "the source is not in order",
        "for line limit 3 make lines { sku = sku }\nid = id\nname = code\n",
        "\"tag\":[\"x\",\"y\"]",
        "\"tag\":[\"x\",\"y\"],\"code\":\"XX\"",
    ),
];

#[test]
fn every_finding_of_runs() {
    let case = Case::new(SOURCE, TARGET);
    let mut text = String::new();
    for (name, map, what, by) in CASES {
        assert!(DOCUMENT.contains(what), "{name}: {what}");
        let document = DOCUMENT.replacen(what, by, 1);
        let shown = case.run(map, &[&document]);
        writeln!(text, "== {name}\n{shown}").expect("writes");
    }
    expect_file!["golden/faults.txt"].assert_eq(&text);
}

#[test]
fn raw_bytes_are_a_finding_where_they_are_used() {
    let case = Case::new(SOURCE, TARGET);
    let compiled = case.compile("id = code\nname = upper(note)\n").expect("a sound map");
    let plan = &compiled.plan;
    let node = |name: &str| plan.source().child(NodeId::ROOT, name).expect("a field");
    let mut mapper = Mapper::new(plan, One(Writer::new(&shape(TARGET))), StillHost::default());
    mapper.enter(NodeId::ROOT);
    mapper.value(node("note"), Value::Raw(b"\x00\x01"));
    mapper.value(node("code"), Value::Raw(b"\xff"));
    mapper.leave(NodeId::ROOT);
    let findings: Vec<String> = mapper
        .outcome()
        .findings
        .iter()
        .map(|finding| finding.to_string().lines().next().unwrap_or("").to_owned())
        .collect();
    expect![[r#"
        error[MAP-213]: the source's bytes are not a value of its type
        error[MAP-213]: the source's bytes are not a value of its type"#]]
    .assert_eq(&findings.join("\n"));
    assert_eq!(mapper.into_parts().0.0.text(), "");
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let case = Case::new(SOURCE, TARGET);
    let compiled = case.compile("id = id\nfor tag { error \"no\" }\n").expect("a sound map");
    let limits = Limits { findings_max: 1, ..Limits::default() };
    let writer = One(Writer::new(&shape(TARGET)));
    let mut mapper = Mapper::watched(&compiled.plan, writer, StillHost::default(), quayline_map::Unwatched, &limits);
    Json::parse(DOCUMENT).drive(compiled.plan.source(), &mut mapper);
    let outcome = mapper.outcome();
    assert_eq!((outcome.findings.len(), outcome.findings_not_kept, outcome.refused), (1, 1, 1));
}

/// An error after the last warning that is kept was only counted, and the document was accepted.
#[test]
fn an_error_beyond_the_limit_of_findings_refuses_the_document() {
    let case = Case::new(SOURCE, TARGET);
    let map = "for tag { warning \"odd\" }\nmake lines { sku = \"a\" error \"no\" }\nid = id\n";
    for findings_max in [0, 1, 9] {
        for map in
            [map.to_owned(), format!("{map}drop\n"), "for tag { warning \"odd\" }\nid = id\nerror \"no\"\n".to_owned()]
        {
            let compiled = case.compile(&map).unwrap_or_else(|findings| panic!("{findings}"));
            let limits = Limits { findings_max, ..Limits::default() };
            let writer = One(Writer::new(&shape(TARGET)));
            let mut mapper =
                Mapper::watched(&compiled.plan, writer, StillHost::default(), quayline_map::Unwatched, &limits);
            Json::parse(DOCUMENT).drive(compiled.plan.source(), &mut mapper);
            assert!(!mapper.is_clean());
            let outcome = mapper.outcome();
            assert!(outcome.has_errors && !outcome.is_good(), "{map}");
            let kept = outcome.findings.iter().any(|finding| finding.message == "no");
            assert!(kept || findings_max == 0, "{:?}", outcome.findings);
            // The next document starts anew.
            assert!(mapper.is_clean() && mapper.outcome().is_good());
        }
    }
}

/// A fault in the condition of a loop or choice named the statement that ran before.
#[test]
fn faults_in_conditions_name_their_statement() {
    let case = Case::new(
        "s\n  n text(3)\n  line*\n    q decimal(5)\n    z? decimal(5)\n",
        "t\n  id? text(3)\n  rows*\n    q decimal(5)\n  z? decimal(5)\n",
    );
    for order in [SourceOrder::AsShape, SourceOrder::Any] {
        let case = Case { order, targets: case.targets.clone(), source: case.source };
        for map in ["id = n\nfor line where q > 1 make rows { q = 1 }\n", "id = n\nz = line[q > 1].z\n"] {
            let said = case.run(map, &[r#"{"n":"a","line":[{"q":"x"}]}"#]);
            assert!(said.contains("error[MAP-205]") && said.contains("at t.qmap:2:1"), "{order:?} {map}: {said}");
        }
    }
}

const CLAIMS: &str = "
837
  BHT
    BHT03 text(30)
  2000A*
    NM103 text(60)
    2300*
      CLM01 text(38)
      CLM02 decimal(18,2)
      REF*
        REF01 text(3)
        REF02 text(50)
      2400*
        SV101 text(48)
        SV102 decimal(18,2)
  SE01 decimal(10)
";

const CLAIM: &str = "
claims
  batch text(30)
  claims*
    provider text(60)
    id text(38)
    reference? text(50)
    amount decimal(18,2)
    sum? decimal(30,2)
    lines*
      code text(48)
      amount decimal(18,2)
  segments? decimal(10)
";

const CLAIM_MAP: &str = "
batch = BHT.BHT03
for 2000A {
  for 2300 make claims {
    provider = NM103
    id = CLM01
    reference = REF[REF01 = \"D9\"].REF02
    amount = CLM02
    sum = fit(sum(SV102 for 2400), 30, 2)
    for 2400 make lines {
      code = SV101
      amount = SV102
    }
  }
}
segments = SE01
";

/// Drives a mapper with claims as a reader of EDI would.
fn claims(plan: &quayline_map::MapPlan, mapper: &mut impl Sink, count: usize) {
    let shape = plan.source();
    let child = |node: NodeId, name: &str| shape.child(node, name).expect("a node");
    let bht = child(NodeId::ROOT, "BHT");
    let provider = child(NodeId::ROOT, "2000A");
    let claim = child(provider, "2300");
    let (reference, line) = (child(claim, "REF"), child(claim, "2400"));
    let text = |text: &'static str| Value::Ascii(text.as_bytes().into());
    mapper.enter(NodeId::ROOT);
    mapper.enter(bht);
    mapper.value(child(bht, "BHT03"), text("B1"));
    mapper.leave(bht);
    mapper.open_list(provider);
    for _ in 0..2 {
        mapper.enter(provider);
        mapper.value(child(provider, "NM103"), text("Clinic"));
        mapper.open_list(claim);
        for n in 0..count {
            mapper.enter(claim);
            mapper.value(child(claim, "CLM01"), text("A-1"));
            mapper.value(child(claim, "CLM02"), Value::Int(12_50, 2));
            mapper.open_list(reference);
            for code in ["F8", "D9"] {
                mapper.enter(reference);
                mapper.value(child(reference, "REF01"), text(code));
                mapper.value(child(reference, "REF02"), text("17312345600006351"));
                mapper.leave(reference);
            }
            mapper.close_list(reference);
            mapper.open_list(line);
            for _ in 0..n % 4 {
                mapper.enter(line);
                mapper.value(child(line, "SV101"), text("HC:99213"));
                mapper.value(child(line, "SV102"), Value::Int(4_00, 2));
                mapper.leave(line);
            }
            mapper.close_list(line);
            mapper.leave(claim);
        }
        mapper.close_list(claim);
        mapper.leave(provider);
    }
    mapper.close_list(provider);
    mapper.value(child(NodeId::ROOT, "SE01"), Value::Int(99, 0));
    mapper.leave(NodeId::ROOT);
}

#[test]
fn a_transaction_of_any_size_takes_the_memory_of_one_claim() {
    let case = Case { source: CLAIMS, targets: vec![("out", CLAIM, Absent::Refused)], order: SourceOrder::AsShape };
    // The sum precedes the lines in the target, so the lines of one claim must be kept.
    let compiled = case.compile(CLAIM_MAP).expect("a sound map");
    expect![[r#"
        source 837: the map reads 9 of 9 fields
          list 2000A: mapped while read, 2 values kept
          list 2000A.2300: mapped while read, 6 values kept
          list 2000A.2300.REF: read for its values, 2 values kept; 1 choice
          list 2000A.2300.2400: kept, 2 values kept; 1 fold
        memory: kept until the occurrence around it ends
          2000A.2300.2400: any number of occurrences of 96 bytes and their values; line 9: line 9 precedes it in the target and needs 2000A.2300.2400.SV102, which comes after it in the source
        steps
          document out
            after BHT
            line 2: copy batch from BHT.BHT03
            list claims
              line 3: each 2000A, while it is read
                after 2000A.NM103
                line 4: each 2000A.2300, while it is read
                  one claims
                    line 5: copy claims.provider from 2000A.NM103
                    after 2000A.2300.CLM01
                    line 6: copy claims.id from 2000A.2300.CLM01
                    after 2000A.2300.REF
                    line 7: set claims.reference from 2000A.2300.REF.REF01, 2000A.2300.REF.REF02
                    line 8: copy claims.amount from 2000A.2300.CLM02
                    after 2000A.2300.2400
                    line 9: set claims.sum from 2000A.2300.2400.SV102
                    list lines
                      line 10: each 2000A.2300.2400, as kept
                        one lines
                          after 2000A.2300.2400.SV101
                          line 11: copy claims.lines.code from 2000A.2300.2400.SV101
                          after 2000A.2300.2400.SV102
                          line 12: copy claims.lines.amount from 2000A.2300.2400.SV102
            after the whole document
            line 16: copy segments from SE01
    "#]].assert_eq(&compiled.plan.explain());
    let kept = |count| {
        let mut mapper = Mapper::new(&compiled.plan, One(Writer::new(&shape(CLAIM))), StillHost::default());
        claims(&compiled.plan, &mut mapper, count);
        let outcome = mapper.outcome();
        assert!(outcome.is_good(), "{:?}", outcome.findings);
        outcome.bytes_kept
    };
    let (small, large) = (kept(8), kept(2000));
    assert_eq!(small, large);
    assert!(large < 3000, "{large} bytes");
    let mut mapper = Mapper::new(&compiled.plan, One(Writer::new(&shape(CLAIM))), StillHost::default());
    claims(&compiled.plan, &mut mapper, 2);
    expect![[r#"
        {"batch":"B1","claims":[{"provider":"Clinic","id":"A-1","reference":"17312345600006351","amount":12.50,"sum":0,"lines":[]},{"provider":"Clinic","id":"A-1","reference":"17312345600006351","amount":12.50,"sum":4,"lines":[{"code":"HC:99213","amount":4.00}]},{"provider":"Clinic","id":"A-1","reference":"17312345600006351","amount":12.50,"sum":0,"lines":[]},{"provider":"Clinic","id":"A-1","reference":"17312345600006351","amount":12.50,"sum":4,"lines":[{"code":"HC:99213","amount":4.00}]}],"segments":99}
    "#]].assert_eq(&mapper.into_parts().0.0.text());
}

/// Records each written value with its statement and sources.
#[derive(Default)]
struct Recorder {
    position: u64,
    lines: Vec<String>,
}

impl Observer for Recorder {
    const WATCHES: bool = true;

    fn source_position(&mut self) -> u64 {
        self.position += 1;
        self.position
    }
    fn wrote(&mut self, statement: StatementId, output: usize, target: NodeId, sources: &[(NodeId, u64)]) {
        let sources: Vec<String> = sources
            .iter()
            .map(|(node, at)| if *at == u64::MAX { format!("{}@*", node.0) } else { format!("{}@{at}", node.0) })
            .collect();
        self.lines.push(format!("{} {output} {} <- {}", statement.0, target.0, sources.join(" ")));
    }
}

#[test]
fn observers_see_what_is_written_from_what() {
    let case = Case::new(ORDER, JSON);
    let map = "number = BEG.BEG03\nbuyer.name = N1[N101 = \"BY\"].N102 ?? \"-\"\nfor PO1 make lines {\n  line = PO101 ?? \"-\"\n  quantity = PO102\n  for PID make texts = PID05\n}\ntotal = round(sum(PO102 for PO1), 2)\n";
    let compiled = case.compile(map).expect("a sound map");
    let plan = &compiled.plan;
    let mut mapper = Mapper::watched(
        plan,
        One(Writer::new(&shape(JSON))),
        StillHost::default(),
        Recorder::default(),
        &Limits::default(),
    );
    Json::parse(ORDER_DOCUMENT).drive(plan.source(), &mut mapper);
    expect![[r#"
        0 0 1 <- 2@1
        1 0 4 <- 6@5
        3 0 6 <- 8@6
        4 0 7 <- 9@7
        5 0 10 <- 12@8
        5 0 10 <- 12@9
        3 0 6 <- 
        4 0 7 <- 9@10
        6 0 12 <- 9@*"#]]
    .assert_eq(&mapper.observer().lines.join("\n"));

    let mut mapper = Mapper::watched(
        plan,
        One(Writer::new(&shape(JSON))),
        StillHost::default(),
        Coverage::default(),
        &Limits::default(),
    );
    Json::parse(ORDER_DOCUMENT).drive(plan.source(), &mut mapper);
    let coverage = mapper.into_parts().2;
    let mut text = String::new();
    for (id, count) in coverage.statements(plan) {
        let view = plan.statement(id).expect("a statement");
        writeln!(text, "{count} {}: {}", view.line, view.words).expect("writes");
    }
    writeln!(text, "never mapped: {:?}\nnever read: {:?}", coverage.never_mapped(plan), plan.never_read())
        .expect("writes");
    expect![[r#"
        1 1: number = BEG.BEG03
        1 2: buyer.name = N1[N101 = "BY"].N102 ?? "-"
        1 3: for PO1 make lines
        2 4: line = PO101 ?? "-"
        2 5: quantity = PO102
        3 6: for PID make texts
        1 8: total = round(sum(PO102 for PO1), 2)
        never mapped: [("BEG.BEG05", 1), ("PO1.PO104", 1), ("CTT.CTT01", 1)]
        never read: ["BEG.BEG05", "PO1.PO104", "CTT.CTT01"]
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_proposed_map_compiles_when_it_is_filled_in() {
    let (source, target) = (
        shape(SOURCE),
        shape(
            "
order
  id text(10)
  customer-name? text(20)
  amt? decimal(9,2)
  flag? bool
  total? decimal(5)
  who?
    last? text(20)
    firstName? text(20)
  lines*
    sku text(12)
    quantity? decimal(7,1)
    colour text(3)
  tags* text(5)
  unlike? text(5)
",
        ),
    );
    let ends = Ends {
        source_file: "a.cpy",
        source: &source,
        source_words: None,
        source_meanings: &[],
        target_meanings: &[],
        source_aside: &[],
        target_name: "out",
        target_file: "b.json",
        target: &target,
        target_words: None,
        target_aside: &[],
        rules: &NoRules,
    };
    let proposal = propose(&ends).text;
    expect![[r#"
        map "claim to order"
        source "a.cpy"
        target out "b.json"

        id = id
        customer-name = left(CUST-NAME, 20)  # guess
        amt = amount  # guess
        flag = flag
        total = TOTAL
        who.last = who.last
        who.firstName = who.first  # guess
        for line make lines {  # guess
          sku = sku
          quantity = round(qty, 1)  # guess
          # colour = …  # mandatory, text of at most 3 characters
        }
        # for … make tags { … }  # a list, nothing alike
        # unlike = …  # optional, text of at most 5 characters
    "#]]
    .assert_eq(&proposal);
    assert_eq!(quayline_map::format_map("p.qmap", &proposal).as_deref(), Ok(proposal.as_str()));
}

#[test]
fn an_inverse_map_gives_the_document_back() {
    let other = "o\n  name text(10)\n  rows*\n    q decimal(7,3)\n    s text(12)\n    day text(10)\n  unit text(3)\n";
    let source =
        "s\n  id text(10)\n  code text(2)\n  line*\n    qty decimal(7,3)\n    sku text(12)\n    date text(8)\n";
    let table = "table u { \"AA\" => \"one\", \"BB\" => \"two\" }\n";
    let there = format!(
        "{table}name = id\nunit = translate(code, u)\nfor line make rows {{\n  q = qty\n  s = sku\n  day = format(date(date, \"CCYYMMDD\"), \"YYYY-MM-DD\")\n}}\n"
    );
    let back = format!(
        "{table}id = name\ncode = reverse(unit, u)\nfor rows make line {{\n  qty = q\n  sku = s\n  date = format(date(day, \"YYYY-MM-DD\"), \"CCYYMMDD\")\n}}\n"
    );
    let document = "{\"id\":\"x\",\"code\":\"BB\",\"line\":[{\"qty\":1.5,\"sku\":\"a\",\"date\":\"20260131\"},{\"qty\":2,\"sku\":\"b\",\"date\":\"19991231\"}]}";
    let between = Case::new(source, other).run(&there, &[document]);
    assert_eq!(Case::new(other, source).run(&back, &[&between]).trim_end(), document, "{between}");
}
