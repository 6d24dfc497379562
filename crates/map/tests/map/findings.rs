//! Findings of the checker: every case of `golden/findings.txt` with its finding as printed.

use expect_test::expect_file;

use quayline_map::{Absent, SourceOrder};

use crate::support::Case;

/// A bit of everything.
pub(crate) const SOURCE: &str = "
claim
  id text(10)
  note? text
  code text(2)
  date text(8)
  short text(6)
  amount decimal(9,2)
  rate? decimal(5,4)
  count unsigned(3)
  ratio float
  flag bool
  blob bytes(4)
  CUST-NAME text(30)
  TOTAL decimal(7)
  RATE decimal(3)
  who?
    first text(20)
    last? text(20)
  N1*0..5
    N101 text(3)
    N102? text(60)
    REF*
      REF02 text(30)
  line*
    qty decimal(7,3)
    price? decimal(9,4)
    sku text(12)
  tag* text(5)
";

/// Target shape with a leaf of each type.
pub(crate) const TARGET: &str = "
out
  id text(10)
  name? text(20)
  amount? decimal(9,2)
  small? unsigned(3)
  ok? bool
  ratio? float
  raw? bytes(2)
  day? text(10)
  who?
    first text(20)
    last? text(20)
  lines*0..3
    sku text(12)
    qty? decimal(7,3)
    notes* text(10)
  need?
    name? text(5)
    rows*1..9
      a text(5)
  tags* text(5)
  few*0..2 text(5)
  extra*
    x? text(5)
";

const CASES: &[(&str, &str)] = &[
    // The text.
    ("a stray character", "id = id ; \n"),
    ("a character without meaning", "id = id ~ code\n"),
    (
        "parentheses go too deep",
        "id = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((id))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))\n",
    ),
    ("a text that is not closed", "id = \"abc\n"),
    ("commas and semicolons", "id = id,\nname = code;  amount = amout;\n"),
    ("a colon", "id: id\nname: code\nok == flag\n"),
    ("a block without make", "id = id\nwho {\n  first = who.frist\n}\n"),
    (
        "a list that is misspelt, and what it holds",
        "id = id\nfor line limit 3 make Line {\n  sku = skuu\n  Qty = qty\n  qty = qty\n}\n",
    ),
    ("a text without quotes", "id = N1[N101 = BY].N102 ?? \"-\"\n"),
    ("a difference of long names", "id = id\namount = TOTAL-CUST-NAME\nname = CUST-NAME-TOTAL\n"),
    ("a path from the root in a loop", "id = id\nfor N1 limit 3 make lines {\n  sku = left(REF02, 12)\n}\n"),
    ("a row of a table with another sign", "table t { \"a\" = \"b\", \"c\": \"d\" }\nid = translate(code, t)\n"),
    ("a file without quotes", "source ex/orders.guide\nid = id\n"),
    ("a statement that is broken is not missing as well", "id = left(code 2)\nname = trim(code\namount = amout\n"),
    ("what other languages call absent", "id = id\nname = null\n"),
    ("the outermost name", "id = claim.id\n"),
    ("a date without zeros", "id = id\nday = 2026-1-31\nif count - 1 = 3-2 { drop }\n"),
    ("texts are added", "id = id + code\n"),
    ("a loop over what is not there", "id = id\nmake need {\n  for LINE make rows {\n    a = left(sku, 5)\n  }\n}\n"),
    (
        "a field of a segment in its loop",
        "id = id\nfor N1 limit 3 make lines {\n  sku = left(REF02, 12)\n  for line where sku = N102 { note \"same\" }\n}\n",
    ),
    ("a value is missing", "id = \nname = code\n"),
    ("a block that is never closed", "id = id\nif flag {\n  name = code\n"),
    ("a brace too many", "id = id\n}\n"),
    ("no statement", "id = id\nfoo bar\n"),
    ("a sign begins no statement", "id = id\n= 5\n"),
    ("a number of 40 digits", "id = id\namount = 1234567890123456789012345678901234567890\n"),
    ("no such day", "id = id\nif date(date, \"CCYYMMDD\") > 2026-02-30 { drop }\n"),
    ("a bad escape", "id = \"a\\qb\"\n"),
    ("a bad character number", "id = \"\\u{d800}\"\n"),
    ("a definition in a block", "id = id\nif flag {\n  table t { \"a\" => \"b\" }\n}\n"),
    ("an include that is not there", "include \"gone.qmap\"\nid = id\n"),
    (
        "definitions of an include that is not there",
        "include \"gone.qmap\"\nuse lines\nid = translate(shout(code), units)\n",
    ),
    ("an include with statements", "include \"body.qmap\"\nid = id\n"),
    ("an include that is broken", "include \"broken.qmap\"\nid = id\n"),
    ("equality is one sign", "id = if code == \"A\" then id else code\n"),
    ("comparisons in a row", "id = if 1 < count < 5 then id else code\n"),
    ("a target is changed", "amount += 5\nid = id\n"),
    ("a target with brackets", "lines[0].sku = code\nid = id\n"),
    ("then is missing", "id = if flag id else code\n"),
    // Definitions.
    ("two functions of one name", "fn f(a) = a\nfn f(a) = a & a\nid = f(code)\n"),
    ("a function of the language", "fn round(a) = a\nid = id\n"),
    ("a parameter twice", "fn f(a, a) = a\nid = f(code, code)\n"),
    ("a parameter that is never read", "fn f(a, b) = a\nid = f(code, code)\n"),
    ("a function that uses itself", "fn f(a) = f(a)\nid = f(code)\n"),
    ("functions in a circle", "fn f(a) = g(a)\nfn g(a) = f(a)\nid = f(code)\n"),
    ("a function sees its parameters only", "fn f(a) = a & code\nid = f(code)\n"),
    ("a part that uses itself", "part p {\n  use p\n}\nuse p\nid = id\n"),
    ("two parts of one name", "part p { name = code }\npart p { name = id }\nuse p\nid = id\n"),
    ("a table without rows", "table t { }\nid = translate(code, t)\n"),
    ("a code twice", "table t { \"A\" => \"1\", \"A\" => \"2\" }\nid = translate(code, t)\n"),
    ("a table with one column", "table t { \"A\" }\nid = translate(code, t)\n"),
    ("a code list with two columns", "codes t { \"A\" => \"1\" }\nid = id\nok = code in t\n"),
    ("a torn table file", "table t from \"torn.csv\"\nid = translate(code, t)\n"),
    ("a table file that is not there", "table t from \"gone.csv\"\nid = translate(code, t)\n"),
    ("a type that does not exist", "var n: number = 0\nset n += 1\nid = text(n)\n"),
    ("more decimals than digits", "var n: decimal(2, 3) = 0\nset n += 1\nid = id\nsmall = n\n"),
    ("a target without shape", "target other \"x.json\"\nid = id\n"),
    ("nothing uses it", "fn f(a) = a\nid = id\n"),
    // Names.
    ("a source field that is nearly right", "id = CUSTNAME\n"),
    ("a source field that does not exist", "id = zzz\n"),
    ("a source field that lies deeper", "id = N102\n"),
    ("a dash without blanks", "id = id\namount = TOTAL-RATE\n"),
    ("a number after a dash without blanks", "id = id\namount = rate-1\n"),
    ("a field of a group that is nearly right", "id = who.frist\n"),
    ("a field of a leaf", "id = code.part\n"),
    ("a target field that is nearly right", "idd = id\n"),
    ("a target field that lies deeper", "id = id\nsku = code\n"),
    ("a function that is nearly right", "id = uper(code)\n"),
    ("a function that does not exist", "id = frobnicate(code)\n"),
    ("a table that does not exist", "id = translate(code, units)\n"),
    ("a part that does not exist", "use address\nid = id\n"),
    ("a variable that does not exist", "set n += 1\nid = id\n"),
    ("what let named does not change", "let n = amount * 2\nset n += 1\nid = text(n)\n"),
    ("a name for two things", "let n = amount * 2\nlet n = amount * 3\nid = text(n)\n"),
    ("a name that hides a field", "let code = upper(id)\nid = code\n"),
    ("a name that is never read", "let n = amount * 2\nid = id\n"),
    ("a variable that is never read", "var n = 0\nset n += 1\nid = id\n"),
    ("skip without a loop", "if flag { skip }\nid = id\n"),
    ("position without a loop", "id = text(position())\n"),
    (
        "a lookup of many keys",
        "lookup c(a: text, b: text, c: text, d: text, e: text, f: text, g: text, h: text, i: text, j: text, k: text, l: text, m: text, n: text, o: text, p: text, q: text) -> (name: text(30))\nid = id\n",
    ),
    ("a lookup without field", "lookup c(id: text) -> (name: text(30), days: decimal(3))\nid = c(id)\n"),
    (
        "a lookup's field that does not exist",
        "lookup c(id: text) -> (name: text(30), days: decimal(3))\nid = c(id).nam\n",
    ),
    ("a function of the user's own with a parameter without type", "fn f(a: text, b) -> text(5)\nid = f(code, id)\n"),
    ("a function of the user's own without result", "fn f(a: text)\nid = f(code)\n"),
    ("a function of the user's own of a type that cannot pass", "fn f(a: bool) -> bytes\nid = f(flag)\n"),
    ("a function of the user's own with too few operands", "fn f(a: text, b: date) -> text(5)\nid = f(code)\n"),
    ("a function of the user's own with another operand", "fn f(a: date) -> text(5)\nid = f(amount)\n"),
    ("a field of a function of the user's own", "fn f(a: text) -> text(5)\nid = f(code).x\n"),
    ("a function of the user's own whose result is too long", "fn f(a: text) -> text(99)\nid = f(code)\n"),
    ("a function of the user's own that is never called", "fn f(a: text) -> text(5)\nid = id\n"),
    ("a function with two definitions", "fn f(a: text) -> text(5)\nfn f(a) = a\nid = f(code)\n"),
    ("a function of the language that is declared", "fn upper(a: text) -> text(5)\nid = upper(code)\n"),
    ("a field of a function", "id = upper(code).x\n"),
    ("a field of a value", "let n = upper(code)\nid = n.x\n"),
    // Lists and groups.
    ("a list without choice", "id = id\nname = N1.N102\n"),
    ("a choice from one", "id = code[0]\n"),
    ("a choice that does not exist", "id = id\nname = left(N1[5].N102, 20)\n"),
    ("a group as a value", "id = id\nname = who\n"),
    ("a fold of one", "id = id\nsmall = count(who)\n"),
    ("a fold without a list", "id = id\namount = sum(amount)\n"),
    ("a choice behind a list", "id = id\nfor N1.REF[0] make extra { x = left(REF02, 5) }\n"),
    ("a target list without make", "id = id\nlines.sku = code\n"),
    ("a list gets one value", "id = id\ntags = code\n"),
    ("a group list gets one value", "id = id\nlines = code\n"),
    ("a group gets a value", "id = id\nwho = code\n"),
    ("make of a leaf", "id = id\nmake name { x = code }\n"),
    ("a leaf has no fields", "id = id\nname.x = code\n"),
    ("one value gets a list", "id = id\nname = [code, id]\n"),
    ("a loop into one group", "id = id\nfor line make who { first = sku }\n"),
    ("a loop into one value", "id = id\nfor tag make name = it\n"),
    ("a loop sets one field", "id = id\nfor line { name = sku }\n"),
    ("a loop into fewer occurrences", "id = id\nfor N1 make lines { sku = N101 }\n"),
    ("a loop without bound", "id = id\nfor line make lines { sku = sku }\n"),
    ("a loop that may be empty", "id = id\nfor line make need.rows { a = left(sku, 5) }\n"),
    (
        "a loop fills two lists",
        "id = id\nfor line {\n  make lines { sku = sku }\n  make extra { x = left(sku, 5) }\n}\n",
    ),
    ("too many constants", "id = id\nfew = [\"a\", 5, code]\n"),
    // Types.
    ("text into a number", "id = id\namount = code\n"),
    ("a number into a truth value", "id = id\nok = count\n"),
    ("text into a truth value", "id = id\nok = code\n"),
    ("a truth value into text", "id = flag\n"),
    ("a date into text", "id = id\nday = date(date, \"CCYYMMDD\")\n"),
    ("a time into text", "id = id\nday = time(short, \"HHMMSS\")\n"),
    ("bytes into text", "id = blob\n"),
    ("a float into a number", "id = id\namount = ratio\n"),
    ("text is compared with a number", "id = if code = 5 then id else code\n"),
    ("a number is compared with text", "id = if amount = \"5\" then id else code\n"),
    ("a date is compared with text", "id = if date(date, \"CCYYMMDD\") > \"20260101\" then id else code\n"),
    ("text is added", "id = id\namount = amount + code\n"),
    ("a truth value is joined", "id = code & flag\n"),
    ("a condition that is text", "id = if code then id else code\n"),
    ("then and else differ", "id = if flag then code else 5\n"),
    ("both sides of ?? differ", "id = note ?? 5\n"),
    ("arms differ", "id = match code { \"A\" => id, else => 5 }\n"),
    ("absent is compared", "id = if note = absent then id else code\n"),
    ("a quotient", "id = id\namount = amount / 3\n"),
    ("a divisor of zero", "id = id\namount = round(amount / 0, 2)\n"),
    ("too few operands", "id = left(code)\n"),
    ("too many operands", "id = upper(code, 1)\n"),
    ("a way of rounding", "id = id\namount = round(rate * 2, 2, half-evn)\n"),
    ("decimals that are computed", "id = id\namount = round(rate, count)\n"),
    ("a count with decimals", "id = left(code, 1.5)\n"),
    ("a format that is computed", "id = id\nday = format(date(date, code), \"CCYY\")\n"),
    ("a format with a strange letter", "id = id\nday = format(date(date, \"CCYYMMDW\"), \"CCYY\")\n"),
    ("a format with a part twice", "id = id\nday = format(date(date, \"CCYYMMDDMM\"), \"CCYY\")\n"),
    ("a format without a day", "id = id\nday = format(date(date, \"CCYYMM\"), \"CCYY\")\n"),
    ("a date has no hours", "id = id\nday = format(date(date, \"CCYYMMDD\"), \"HHMM\")\n"),
    ("a year of two digits", "id = id\nday = format(date(short, \"YYMMDD\"), \"CCYYMMDD\")\n"),
    ("a format longer than its text", "id = id\nday = format(date(short, \"CCYYMMDD\"), \"CCYYMMDD\")\n"),
    ("a picture of a number", "id = format(count, \"9999\")\n"),
    ("a picture that is too small", "id = format(TOTAL, \"000\")\n"),
    ("a picture that cuts decimals", "id = format(amount, \"0000000\")\n"),
    ("a format of text", "id = format(code, \"000\")\n"),
    ("a sum of text", "id = id\namount = sum(sku for line)\n"),
    ("a day of text", "id = text(year(date))\n"),
    ("a code list is translated", "codes t { \"A\" }\nid = translate(code, t)\n"),
    ("a variable of two types", "var n = 0\nset n = code\nid = text(n)\n"),
    ("a variable begins with another type", "var n: decimal(5) = \"x\"\nid = text(n)\n"),
    ("a variable of no type", "var n = absent\nid = n\n"),
    ("nothing is in no list", "id = if code in () then id else code\n"),
    // Possible loss of data.
    ("a constant that is too long", "id = \"much too long for it\"\n"),
    ("a text that may be too long", "id = CUST-NAME\n"),
    ("a text without bound", "id = note ?? code\n"),
    ("a sum of texts that may be too long", "id = code & \"-\" & id\n"),
    ("a number as text that may be too long", "id = amount\n"),
    ("digits that may be lost", "id = id\nsmall = TOTAL\n"),
    ("digits of a constant", "id = id\nsmall = 1000\n"),
    ("decimals that may be lost", "id = id\namount = rate\n"),
    ("decimals of a constant", "id = id\namount = 1.234\n"),
    ("a sign that may be lost", "id = id\nsmall = RATE\n"),
    ("the sign of a constant", "id = id\nsmall = -5\n"),
    ("bytes that may be lost", "id = id\nraw = blob\n"),
    ("digits of a product", "id = id\namount = amount * amount\n"),
    // Missing or duplicate values.
    ("a mandatory target is never set", "name = code\n"),
    ("a mandatory field of a loop is never set", "id = id\nfor line limit 3 make lines { qty = qty }\n"),
    ("a mandatory field of an optional group", "id = id\nwho.last = code\n"),
    ("a mandatory target with a value that may be absent", "id = who.last\n"),
    ("a mandatory target under a condition", "if flag { id = id }\n"),
    ("a mandatory target in some branches", "if flag { id = id } else if count > 5 { id = code }\n"),
    ("a target set twice", "id = id\nid = code\n"),
    ("a target set again under a condition", "id = id\nif flag { id = code }\n"),
    ("a target that never gets a value", "id = id\nname = absent\n"),
    ("a mandatory list is never made", "id = id\nneed.name = code\n"),
    // Statements without effect.
    ("a constant that is longer than what it is compared with", "id = if code = \"ABC\" then id else code\n"),
    ("a number beyond its digits", "id = if count = 1000 then id else code\n"),
    ("a number below zero", "id = if count = -1 then id else code\n"),
    ("two constants are compared", "id = if 1 = 2 then id else code\n"),
    ("a condition that always holds", "id = id\nif true { name = code }\n"),
    ("a branch that asks the same", "if flag { id = id } else if flag { id = code } else { id = \"x\" }\n"),
    ("an arm twice", "id = match code { \"A\" => id, \"A\" => code, else => \"x\" }\n"),
    ("?? behind what is always there", "name = text(count + 1) ?? code\nid = id ?? code\n"),
    ("a statement behind drop", "id = id\nif flag {\n  drop\n  name = code\n}\n"),
    ("the way back is not one to one", "table t { \"A\" => \"1\", \"B\" => \"1\" }\nid = reverse(code, t) ?? \"x\"\n"),
    ("a number is made a number", "id = id\namount = number(amount)\n"),
    ("present of what is always there", "id = id\nok = present(text(count))\n"),
];

#[test]
fn every_finding_of_the_checker() {
    let case = Case::new(SOURCE, TARGET);
    let mut text = String::new();
    for (name, map) in CASES {
        text.push_str(&format!("== {name}\n{}\n\n", case.findings(map)));
    }
    expect_file!["golden/findings.txt"].assert_eq(&text);
}

#[test]
fn the_maps_of_two_targets() {
    let small = "small\n  id text(10)\n";
    let case = Case {
        source: SOURCE,
        targets: vec![("first", small, Absent::Refused), ("second", small, Absent::Refused)],
        order: SourceOrder::AsShape,
    };
    let mut text = String::new();
    for map in [
        "id = id\n",
        "make frist { id = id }\n",
        "first.id = id\nsecond.id = code\nfirst.id = code\n",
        "make first { }\n",
    ] {
        text.push_str(&format!("{}\n\n", case.findings(map)));
    }
    let one = Case::new(SOURCE, small);
    text.push_str(&one.findings("for N1 make out { id = N101 }\nid = id\n"));
    expect_file!["golden/findings-two-targets.txt"].assert_eq(&text);
}

#[test]
fn a_map_without_fault_has_no_finding() {
    let case = Case::new(SOURCE, TARGET);
    let map = "
id = id
name = left(CUST-NAME, 20)
amount = amount
small = count
ok = flag
day = format(date(date, \"CCYYMMDD\"), \"YYYY-MM-DD\")
for who make who { first = first  last = last }
for line limit 3 make lines {
  sku = sku
  qty = qty
}
for tag make tags = it
";
    assert_eq!(case.findings(map), "");
}

/// MAP-057 said that a value was set under a condition only, although the other branch left the document out.
#[test]
fn a_document_that_is_left_out_needs_no_value() {
    let small = "small\n  id text(10)\n";
    let case = Case {
        source: SOURCE,
        targets: vec![("first", small, Absent::Refused), ("second", small, Absent::Refused)],
        order: SourceOrder::AsShape,
    };
    for (map, found) in [
        ("make first { if flag { drop } else { id = id } }\nmake second { id = id }\n", 0),
        (
            "make first { if flag { id = id } else if count > 5 { drop } else { id = code } }\nmake second { id = id }\n",
            0,
        ),
        // The document of the other target is written.
        ("make first { if flag { drop } else { id = id } }\nmake second { if flag { id = id } }\n", 1),
        ("make first { if flag { id = id } else if count > 5 { drop } }\nmake second { id = id }\n", 1),
        // Outside of a document, `drop` leaves out all documents.
        ("if flag { drop } else { first.id = id  second.id = id }\n", 0),
    ] {
        assert_eq!(case.findings(map).matches("MAP-057").count(), found, "{map}{}", case.findings(map));
    }
}

/// Prints the number of findings with `cargo test -p quayline-map snapshots -- --nocapture`.
#[test]
fn snapshots_show_what_can_be_found() {
    let told = |golden: &'static str| {
        let is_head = |line: &&str| ["error[", "warning[", "note["].iter().any(|word| line.starts_with(word));
        golden.lines().filter(is_head).collect::<Vec<_>>()
    };
    let mut checked = told(include_str!("golden/findings.txt"));
    checked.extend(told(include_str!("golden/findings-two-targets.txt")));
    checked.sort_unstable();
    checked.dedup();
    // Findings of runs have codes from 200 on; one code may be shown in several situations.
    let ran = told(include_str!("golden/faults.txt")).iter().filter(|line| line.contains("[MAP-2")).count();
    eprintln!("{} different findings of the checker, {ran} findings of runs", checked.len());
    assert!(checked.len() >= 80 && ran >= 40, "{} and {ran}", checked.len());
}
