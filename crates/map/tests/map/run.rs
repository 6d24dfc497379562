//! Output of runs: every case of the golden files.

use expect_test::{expect, expect_file};

use quayline_map::{Absent, SourceOrder};

use crate::findings::{SOURCE, TARGET};
use crate::support::Case;

pub(crate) const ORDER: &str = "
850
  BEG
    BEG03 text(22)
    BEG05? text(8)
  N1*0..10
    N101 text(3)
    N102? text(60)
  PO1*1..1000
    PO101? text(20)
    PO102 decimal(15,3)
    PO104? decimal(17,4)
    PID*
      PID05 text(80)
  CTT?
    CTT01 decimal(6)
";

pub(crate) const JSON: &str = "
order
  number text(22)
  date? text(10)
  buyer?
    name text(60)
  lines*1..1000
    line text(20)
    quantity decimal(15,3)
    price? decimal(17,4)
    amount? decimal(28,2)
    texts* text(80)
  count? decimal(6)
  total? decimal(31,2)
";

pub(crate) const ORDER_DOCUMENT: &str = r#"{"BEG":{"BEG03":"A1","BEG05":"20260131"},"N1":[{"N101":"ST","N102":"Ship"},{"N101":"BY","N102":"Buyer Ltd"}],
"PO1":[{"PO101":"1","PO102":2,"PO104":9.99,"PID":[{"PID05":"bolt"},{"PID05":"M8"}]},{"PO102":1.5}],"CTT":{"CTT01":2}}"#;

#[test]
fn an_order_becomes_json() {
    let map = r#"
map "850 to order"
source "850.guide"
target out "order.json"

number = BEG.BEG03
date = format(date(BEG.BEG05, "CCYYMMDD"), "YYYY-MM-DD")
buyer.name = N1[N101 = "BY"].N102 ?? "unknown"
for PO1 make lines {
  line = PO101 ?? text(position())
  quantity = PO102
  price = PO104
  amount = round(PO102 * PO104, 2)
  for PID make texts = upper(PID05)
}
count = CTT.CTT01
total = round(sum(PO102 * PO104 for PO1), 2)
"#;
    let case = Case::new(ORDER, JSON);
    expect![[r#"
        warning[MAP-052]: `total` has 29 digits before the point, and this up to 30
        {"number":"A1","date":"2026-01-31","buyer":{"name":"Buyer Ltd"},"lines":[{"line":"1","quantity":2,"price":9.99,"amount":19.98,"texts":["BOLT","M8"]},{"line":"2","quantity":1.5}],"count":2,"total":19.98}
    "#]]
    .assert_eq(&case.run(map, &[ORDER_DOCUMENT]));
    let compiled = case.compile(map).expect("a sound map");
    assert_eq!(compiled.plan.buffers(), [], "{:?}", compiled.plan.buffers());
}

/// A document of [`SOURCE`].
pub(crate) const DOCUMENT: &str = r#"{"id":"C-1","note":"first","code":"AB","date":"20260131","short":"231405","amount":12.50,"rate":0.1234,"count":7,
"ratio":0.5,"flag":true,"CUST-NAME":"Ann Example","TOTAL":100,"RATE":3,"who":{"first":"Ann","last":"Smith"},
"N1":[{"N101":"ST","N102":"Ship","REF":[{"REF02":"r1"},{"REF02":"r2"}]},{"N101":"BY","N102":"Buy"},{"N101":"ST","N102":"Other"}],
"line":[{"qty":2,"price":1.25,"sku":"a"},{"qty":3,"sku":"b"},{"qty":1.5,"price":4,"sku":"c"}],"tag":["x","y"]}"#;

const RUNS: &[(&str, &str)] = &[
    // Texts.
    ("copies", "id = id\nname = left(CUST-NAME, 20)\namount = amount\nok = flag\nratio = ratio\n"),
    (
        "texts",
        "id = upper(code) & lower(id)\nname = trim(\"  a b  \") & pad-left(code, 4, \"0\") & pad-right(code, 4, \"*\")\nday = substring(date, 5, 2) & right(date, 2)\n",
    ),
    (
        "texts that become others",
        "id = replace(id, \"-\", \"/\")\nname = squeeze(\" a   b \") & digits(id) & letters(id) & split(\"a:b:c\", \":\", 2)\nday = repeat(\"ab\", 3)\nsmall = length(CUST-NAME)\n",
    ),
    (
        "questions",
        "id = id\ntags = [if contains(id, \"-\") then \"y\" else \"n\", if starts-with(id, \"C\") then \"y\" else \"n\", if ends-with(id, \"2\") then \"y\" else \"n\", if like(id, \"?-*\") then \"y\" else \"n\", if code in (\"AB\", \"CD\") then \"y\" else \"n\"]\nok = code not in (\"AB\")\n",
    ),
    ("positions", "id = id\nsmall = position-of(\"-\", id)\n"),
    ("parts that are absent add nothing", "id = code\nname = who.last & envelope.nobody & \"!\"\n"),
    // Numbers.
    (
        "numbers",
        "id = id\namount = round(amount * rate, 2)\nsmall = abs(count - 10)\ntags = [text(round(7 / 3, 2)), text(round(-7 / 2, 0, half-even)), text(max(count, 9)), text(min(count, 9)), text(remainder(count, 4))]\n",
    ),
    (
        "rounding",
        "id = id\ntags = [text(round(2.5, 0)), text(round(2.5, 0, half-even)), text(round(2.5, 0, down)), text(round(2.1, 0, up)), text(round(-2.5, 0, ceiling)), text(round(-2.5, 0, floor)), text(round(-2.5, 0, half-down))]\n",
    ),
    (
        "formats of numbers",
        "id = format(count, \"00000\")\nname = format(amount, \"#0,00\")\nday = format(amount - 20, \"-000.00\")\n",
    ),
    (
        "texts as numbers",
        "id = id\namount = number(\"1.234,50\", \",\") ?? 0\nsmall = if is-number(short) then 1 else 0\n",
    ),
    ("numbers of a comma", "id = id\namount = number(\"1234,50\", \",\")\n"),
    ("implied places", "id = id\namount = scale(count, 2)\nratio = float(\"2.5e3\")\n"),
    ("signs and fits", "id = id\nsmall = sign(amount)\namount = fit(amount * 2, 9, 2)\nratio = round(ratio, 0) + 1\n"),
    // Dates.
    (
        "dates",
        "id = id\nday = format(add-days(date(date, \"CCYYMMDD\"), 30), \"DD.MM.YYYY\")\nsmall = days-between(2026-01-01, date(date, \"CCYYMMDD\"))\n",
    ),
    (
        "months",
        "id = id\nday = format(add-months(date(date, \"CCYYMMDD\"), 1), \"CCYY-MM-DD\")\ntags = [text(year(2026-02-03)), text(month(2026-02-03)), text(day(2026-02-03)), text(weekday(2026-02-03)), format(month-end(2026-02-03), \"MMDD\"), format(2026-02-03, \"DDD\")]\n",
    ),
    (
        "times and centuries",
        "id = id\nday = format(time(short, \"HHMMSS\"), \"HH:MM\")\nname = format(date(\"500101\", \"YYMMDD\", 1950), \"CCYY\") & format(date(\"490101\", \"YYMMDD\", 1950), \"CCYY\")\n",
    ),
    (
        "moments",
        "id = id\nname = format(at-time(date(date, \"CCYYMMDD\"), time(short, \"HHMMSS\")), \"CCYYMMDDTHHMMSS\")\nday = format(date-of(now()), \"CCYYMMDD\")\ntags = [format(time-of(now()), \"HHMM\"), text(seconds-between(now(), add-seconds(now(), 90))), format(today(), \"DDD\")]\n",
    ),
    ("is it a date", "id = id\nok = is-date(short, \"HHMMSS\")\n"),
    // Choices.
    (
        "if and match",
        "id = if count > 5 then \"many\" else \"few\"\nname = match code { \"AA\" | \"AB\" => \"a\", else => \"b\" }\nday = match count { 1 to 5 => \"low\", 6 to 9 => \"high\" }\n",
    ),
    (
        "branches",
        "id = id\nif not flag { name = code } else if count >= 7 { name = \"seven\" } else { name = \"none\" }\nmatch code {\n  \"AB\" => small = 1\n  else => small = 2\n}\n",
    ),
    (
        "what is absent",
        "id = id\nname = note ?? \"none\"\nif not present(rate) { small = 1 } else { small = 2 }\nok = present(who.last) and present(N1) and present(who)\n",
    ),
    ("match of what is absent", "id = id\nname = match who.last { absent => \"nobody\", else => who.last }\n"),
    // Lists.
    ("loops", "id = id\nfor line limit 3 make lines {\n  sku = sku\n  qty = qty\n}\nfor tag make tags = upper(it)\n"),
    ("loops with names", "id = id\nfor l in line where l.qty > 1.5 make extra { x = l.sku & text(position(l)) }\n"),
    ("loops through two lists", "id = id\nfor N1.REF make extra { x = REF02 & N101 }\n"),
    ("a loop around a loop", "id = id\nfor N1 { for REF make extra { x = N101 & REF02 } }\n"),
    ("skip", "id = id\nfor line limit 3 make lines {\n  if not present(price) { skip }\n  sku = sku\n}\n"),
    ("limit", "id = id\nfor line limit 1 make lines { sku = sku }\n"),
    (
        "make",
        "id = id\nmake lines { sku = \"first\" }\nfor line limit 2 make lines { sku = sku }\nmake who { first = code }\n",
    ),
    (
        "make under a condition",
        "id = id\nif flag { make extra { x = \"1\" } }\nif not flag { make extra { x = \"2\" } }\nmake extra { }\n",
    ),
    ("with a group", "id = id\nfor who make who { first = first }\nfor N1[N101 = \"BY\"] { name = left(N102, 20) }\n"),
    (
        "choices",
        "id = id\ntags = [left(N1[0].N102, 5), left(N1[last].N102, 5), left(N1[N101 = \"BY\"].N102, 5), left(N1[first].REF[1].REF02, 5), left(N1[N101 = \"XX\"].N102, 5) ?? \"-\"]\n",
    ),
    ("a choice by a value of the document", "id = id\nname = left(N1[N101 = right(code, 1) & \"Y\"].N102, 20)\n"),
    (
        "folds",
        "id = id\namount = round(sum(qty * price for line), 2)\nsmall = count(line where present(price))\ntags = [text(max(qty for line)), text(min(qty for line)), join(sku for line, \"+\"), if any(qty > 2 for line) then \"any\" else \"-\", if all(qty > 2 for line) then \"all\" else \"-\"]\n",
    ),
    (
        "folds through two lists",
        "id = id\nsmall = count(N1.REF)\nname = join(REF02 & N101 for N1.REF where N101 = \"ST\", \",\")\n",
    ),
    (
        "folds of nothing",
        "id = id\nsmall = count(N1.REF where REF02 = \"none\")\namount = sum(price for line where qty > 99) ?? 5\nname = join(sku for line where qty > 99, \",\") ?? \"nothing\"\n",
    ),
    ("a list inside of itself", "id = id\nfor a in line make extra { x = text(count(line where qty > a.qty)) }\n"),
    // Variables.
    (
        "accumulators",
        "var total: decimal(11, 3) = 0\nvar n = 0\nid = id\nfor line make extra {\n  set n += 1\n  set total += qty\n  x = text(n) & \":\" & text(total)\n}\namount = round(total, 2)\nname = text(n)\n",
    ),
    ("a variable of text", "var all = \"\"\nid = id\nfor line { set all &= sku }\nname = left(all, 20)\n"),
    ("let", "let double = amount * 2\nid = id\namount = fit(double, 9, 2)\n"),
    (
        "a running number",
        "var n = 0\nid = id\nfor line limit 3 make lines {\n  set n += 10\n  sku = sku\n  qty = fit(n, 4, 0)\n}\n",
    ),
    // Definitions.
    (
        "functions",
        "fn money(x, d) = round(x, 1) + d\nfn both(a, b) = a & \"/\" & b\nid = id\namount = money(amount * rate, count)\nname = both(upper(code), both(code, code))\n",
    ),
    ("parts", "part person {\n  first = first\n  last = last\n}\nid = id\nfor who make who { use person }\n"),
    (
        "tables",
        "table t { \"AB\" => \"alpha\", \"CD\" => \"gamma\", else \"other\" }\nid = translate(code, t)\nname = reverse(\"gamma\", t) ?? \"-\"\nday = translate(\"ZZ\", t)\n",
    ),
    (
        "tables in files",
        "table unit from \"units.csv\"\ncodes known { \"AB\" }\nid = translate(\"EA\", unit)\nname = translate(\"a,b\", unit)\nok = code in known\n",
    ),
    ("included maps", "include \"common.qmap\"\nid = id\namount = money(amount * rate)\nok = \"J\" in yes\n"),
    (
        "lookups",
        "lookup customers(id: text) -> (name: text(20), days: decimal(3))\nid = id\nname = customers(\"C1\").name\nsmall = abs(customers(\"C1\").days)\nday = customers(\"C2\").name ?? \"none\"\n",
    ),
    (
        "functions of the user's own",
        "fn again(a: decimal(9, 2), d: date) -> text(30) cached\nfn nothing(a: text) -> text(5)\nfn check-digit(a: text(17)) -> decimal(1)\nid = id\nname = left(again(12.50, 2026-01-31), 20)\nsmall = abs(check-digit(\"37610425002123456\"))\nday = nothing(id) ?? \"none\"\nok = not present(check-digit(absent))\n",
    ),
    (
        "envelopes and ids",
        "id = left(hash(id), 10)\nname = envelope.sender\nenvelope.receiver = code\ntags = [left(sha256(id), 5), left(new-id(), 5), left(new-id(), 5), left(id-of(id), 5)]\n",
    ),
    // Rules.
    (
        "findings of the map",
        "id = id\nif count > 5 { warning \"more than five\" code \"R-1\" hint \"look\" }\nif sum(qty for line) != count { error \"the sum differs\" }\nnote \"seen\"\n",
    ),
    ("drop", "id = id\nif code = \"AB\" { drop }\nname = code\n"),
    ("omit", "omit id\nname = code\n"),
    (
        "order of the target",
        "name = code\nid = id\nfor tag make tags = it\nfor line limit 3 make lines { qty = qty  sku = sku }\nwho.last = code\nwho.first = id\n",
    ),
];

#[test]
fn every_run() {
    let case = Case::new(SOURCE, TARGET);
    let mut text = String::new();
    for (name, map) in RUNS {
        text.push_str(&format!("== {name}\n{}\n", case.run(map, &[DOCUMENT])));
    }
    expect_file!["golden/runs.txt"].assert_eq(&text);
}

/// The same maps with a source in any order give the same output, but keep more.
#[test]
fn every_run_in_any_order() {
    let case = Case::new(SOURCE, TARGET);
    let any = Case { order: SourceOrder::Any, ..Case::new(SOURCE, TARGET) };
    for (name, map) in RUNS {
        assert_eq!(any.run(map, &[DOCUMENT]), case.run(map, &[DOCUMENT]), "{name}");
    }
}

#[test]
fn documents_by_loops() {
    let small = "claim\n  id text(12)\n  line? text(4)\n  sum? decimal(12,3)\n";
    let case = Case { source: SOURCE, targets: vec![("claim", small, Absent::Refused)], order: SourceOrder::AsShape };
    let map = "for line make claim {\n  id = sku\n  line = text(position())\n  if qty > 2.5 { drop }\n  if not present(price) and sku = \"c\" { error \"none\" }\n}\n";
    expect![[r#"
        warning[MAP-051]: `line` has 4 characters, and this up to 9
        dropped 1
        dropped 1
        {"id":"a","line":"1"}
        {"id":"c","line":"3"}
        {"id":"a","line":"1"}
        {"id":"c","line":"3"}
    "#]]
    .assert_eq(&case.run(map, &[DOCUMENT, DOCUMENT]));
    let both = Case {
        source: SOURCE,
        targets: vec![("claim", small, Absent::Refused), ("sum", small, Absent::Refused)],
        order: SourceOrder::AsShape,
    };
    let map = "for line make claim {\n  id = sku\n}\nmake sum {\n  id = id\n  sum = sum(qty for line)\n}\nif flag {\n  make sum { id = \"x\" }\n}\n";
    expect![[r#"
        note[MAP-052]: `sum` has 9 digits before the point, and nothing bounds the number of values in this sum
        claim {"id":"a"}
        claim {"id":"b"}
        claim {"id":"c"}
        sum {"id":"C-1","sum":6.5}
        sum {"id":"x"}
    "#]]
    .assert_eq(&both.run(map, &[DOCUMENT]));
    let compiled = both.compile(map).expect("a sound map");
    assert_eq!(compiled.plan.buffers(), []);
}

#[test]
fn loops_with_numbers_for_names_are_paths() {
    let case = Case::new(
        "s\n  2000*\n    2100*\n      a text(3)\n",
        "t\n  n decimal(3)\n  there bool\n  rows*\n    a text(3)\n",
    );
    let map = "n = count(2000.2100)\nthere = present(2000)\nfor 2000.2100 make rows { a = a }\n";
    let text = case.run(map, &[r#"{"2000":[{"2100":[{"a":"x"},{"a":"y"}]},{"2100":[{"a":"z"}]}]}"#]);
    assert_eq!(text, "{\"n\":3,\"there\":true,\"rows\":[{\"a\":\"x\"},{\"a\":\"y\"},{\"a\":\"z\"}]}\n");
}

#[test]
fn what_is_there_is_joined_and_a_row_may_go_one_way() {
    let case = Case::new(
        "s\n  a? text(3)\n  b? text(3)\n  c? text(3)\n  n? decimal(3)\n",
        "t\n  x? text(15)\n  y? text(1)\n  z? text(2)\n  n? unsigned(3)\n",
    );
    let map = "table t { \"1\" => \"A\" one-way, \"2\" => \"A\", \"3\" => \"B\" }\nx = joined(\" / \", a, b, c)\ny = translate(a, t) ?? \"-\"\n\
               z = reverse(b, t) ?? \"-\"\nn = unsigned(n)\n";
    let text =
        case.run(map, &[r#"{"a":"1","b":"A","c":"3","n":5}"#, r#"{"b":"B","c":""}"#, r#"{"c":"é"}"#, r#"{"n":-5}"#]);
    expect_test::expect![[r#"
        error[MAP-204]: the number is negative, and the target has no sign
          at t.qmap:5:1, n (from n)
          |
        5 | n = unsigned(n)
          | ^^^^^^^^^^^^^^^

        hint: abs(…) takes the sign off
        refused 1
        {"x":"1 / A / 3","y":"A","z":"2","n":5}
        {"x":"B","y":"-","z":"3"}
        {"x":"é","y":"-","z":"-"}
    "#]]
    .assert_eq(&text);
}

/// A sorted list keeps equal keys in their order, and any number of keys gives one order.
#[test]
fn sorted_loops_are_stable_by_every_key() {
    let lines = |keys: &[(&str, &str, &str)]| {
        let parts: Vec<String> = keys
            .iter()
            .map(|(line, quantity, price)| {
                let price = if price.is_empty() { String::new() } else { format!(",\"PO104\":{price}") };
                format!("{{\"PO101\":\"{line}\",\"PO102\":{quantity}{price}}}")
            })
            .collect();
        format!("{{\"BEG\":{{\"BEG03\":\"1\"}},\"PO1\":[{}]}}", parts.join(","))
    };
    let input = lines(&[("a", "10", "2"), ("b", "9", ""), ("c", "10", "1.5"), ("d", "9", "7"), ("e", "10", "2.00")]);
    let ordered = |sort: &str| {
        let map = format!(
            "number = BEG.BEG03\nfor PO1 {sort} make lines {{\n  line = PO101 ?? \"-\"\n  quantity = PO102\n}}\ncount = count(PO1)\n"
        );
        let case = Case { source: ORDER, targets: vec![("out", JSON, Absent::Refused)], order: SourceOrder::AsShape };
        let out = case.run(&map, &[&input]);
        out.split("\"line\":\"").skip(1).map(|part| part[..1].to_owned()).collect::<String>()
    };
    assert_eq!(ordered("sort by PO102"), "bdace");
    assert_eq!(ordered("sort by PO102 desc"), "acebd");
    assert_eq!(ordered("sort by PO104"), "bcaed", "absent keys first, 2 equals 2.00");
    assert_eq!(ordered("sort by PO102 desc, PO104 desc limit 3"), "aec");
    assert_eq!(ordered("where PO102 > 9 sort by upper(PO101 ?? \"\") desc"), "eca");
    assert_eq!(ordered("sort by text(PO102), position() desc"), "ecadb");
}

#[test]
fn what_cannot_be_sorted_is_a_finding() {
    let case = Case { source: ORDER, targets: vec![("out", JSON, Absent::Refused)], order: SourceOrder::AsShape };
    let said = case.findings("number = BEG.BEG03\nfor BEG sort by BEG03 { date = BEG05 }\nomit lines\n");
    assert!(said.contains("MAP-031") && said.contains("nothing to sort"), "{said}");
    let several = "number = BEG.BEG03\nfor PO1.PID sort by PID05 make lines { line = left(PID05, 20) quantity = 1 }\n";
    let said = case.findings(several);
    assert!(said.contains("MAP-036") && said.contains("several"), "{said}");
}

/// A `drop` outside of `for … make` ran after all documents: it left out the one that was written last, or none.
#[test]
fn a_drop_omits_its_own_document() {
    let (source, one) = ("order\n  id text(5)\n  L*\n    q decimal(5)\n", "o\n  id text(10)\n");
    let case = Case {
        source,
        targets: vec![("o", one, Absent::Refused), ("l", one, Absent::Refused)],
        order: SourceOrder::AsShape,
    };
    let documents = [r#"{"id":"A","L":[{"q":1}]}"#, r#"{"id":"D","L":[{"q":7},{"q":8}]}"#];
    let runs = |case: &Case<'_>, map: &str| {
        let plain = case.run(map, &documents);
        let any = Case { targets: case.targets.clone(), order: SourceOrder::Any, ..*case };
        assert_eq!(any.run(map, &documents), plain, "{map}");
        let lines = plain.lines().filter(|line| !line.starts_with("warning[MAP-057]"));
        lines.map(|line| line.replace("{\"id\":", "").replace('}', "")).collect::<Vec<_>>().join(", ")
    };
    let all = "dropped 2, o \"A\", l \"A\"";
    let cases = [
        // In a document: it alone, wherever it is in the map.
        ("make o { if id = \"D\" { drop } id = id }\nmake l { id = id }", "dropped 1, o \"A\", l \"A\", l \"D\""),
        (
            "make l { if source.id = \"D\" { drop } id = id }\nmake o { id = id }",
            "dropped 1, o \"A\", o \"D\", l \"A\"",
        ),
        ("make l { id = id }\nmake o { id = id if id = \"D\" { drop } }", "dropped 1, o \"A\", l \"A\", l \"D\""),
        (
            "make l { if id = \"D\" { drop } id = id }\nfor L make o { id = text(q) }",
            "dropped 1, o \"1\", o \"7\", o \"8\", l \"A\"",
        ),
        (
            "for L make o { id = text(q) }\nmake l { if id = \"D\" { drop } id = id }",
            "dropped 1, o \"1\", o \"7\", o \"8\", l \"A\"",
        ),
        ("make l { for L { if q = 8 { drop } } id = id }\nmake o { id = id }", "dropped 1, o \"A\", o \"D\", l \"A\""),
        (
            "make l { id = id }\nfor L make o { if q = 7 { drop } id = text(q) }",
            "dropped 1, o \"1\", o \"8\", l \"A\", l \"D\"",
        ),
        (
            "for L { make o { if q = 7 { drop } id = text(q) } make l { id = text(q) } }",
            "dropped 1, o \"1\", o \"8\", l \"1\", l \"7\", l \"8\"",
        ),
        (
            "for L make o { if q = 7 { drop } if q = 8 { skip } id = text(q) }\nmake l { id = id }",
            "dropped 1, o \"1\", l \"A\", l \"D\"",
        ),
        (
            "for L make o { if q > 6 { drop } if q = 7 { skip } id = text(q) }\nmake l { id = id }",
            "dropped 1, o \"1\", l \"A\", l \"D\"",
        ),
        // Outside: all of the source's document, before and after it in the map.
        ("if id = \"D\" { drop }\nmake l { id = id }\nmake o { id = id }", all),
        ("make l { id = id }\nmake o { id = id }\nif id = \"D\" { drop }", all),
        ("make l { id = id }\nif id = \"D\" { drop }\nmake o { id = id }", all),
        ("if id = \"D\" { drop }\no.id = id\nl.id = id", all),
        ("for L make o { id = text(q) }\nif id = \"D\" { drop }\nmake l { id = id }", "dropped 3, o \"1\", l \"A\""),
        ("for L { if q = 8 { drop } }\nmake l { id = id }\nmake o { id = id }", all),
        ("var n = 0\nfor L { set n += 1 }\nmake l { id = id }\nif n > 1 { drop }\nmake o { id = id }", all),
        // In a loop that makes documents: those of the occurrence.
        (
            "for L { if q = 7 { drop } make o { id = text(q) } make l { id = text(q) } }",
            "dropped 2, o \"1\", o \"8\", l \"1\", l \"8\"",
        ),
        (
            "for L { make o { id = text(q) } if q = 7 { drop } }\nmake l { id = id }",
            "dropped 1, o \"1\", o \"8\", l \"A\", l \"D\"",
        ),
        (
            "for L { for L[q = 7] { drop } make o { id = text(q) } }\nmake l { id = id }",
            "dropped 2, o \"1\", l \"A\", l \"D\"",
        ),
        (
            "for L sort by q desc { if q = 8 { drop } make o { id = text(q) } }\nmake l { id = id }",
            "dropped 1, o \"1\", o \"7\", l \"A\", l \"D\"",
        ),
    ];
    for (map, expected) in cases {
        assert_eq!(runs(&case, map), expected, "{map}");
    }
    let single = Case { source, targets: vec![("o", one, Absent::Refused)], order: SourceOrder::AsShape };
    assert_eq!(runs(&single, "if id = \"D\" { drop }\nfor L make o { id = text(q) }"), "dropped 2, \"1\"");
    assert_eq!(runs(&single, "for L { if q = 7 { drop } }\nid = id"), "dropped 1, \"A\"");
    // The fields of a document that is left out need no value.
    assert_eq!(runs(&single, "if id = \"D\" { drop } else { id = id }"), "dropped 1, \"A\"");
    // A document that the map must make first cannot be left out after.
    let late = "var n = 0\nfor L make o { id = text(q) set n += 1 }\nif n > 1 { drop }\nmake l { id = id }";
    assert!(case.findings(late).contains("error[MAP-036]"), "{}", case.findings(late));
}

/// The statements after a `drop` ran, which the checker called unreachable.
#[test]
fn a_drop_leaves_its_block() {
    let case = Case::new("s\n  id text(5)\n", "t\n  id text(5)\n");
    let documents = [r#"{"id":"A"}"#, r#"{"id":"D"}"#];
    for after in ["error \"x\"", "warning \"x\"", "id = \"other\""] {
        let map = format!("if id = \"D\" {{\n  drop\n  {after}\n}} else {{ id = id }}");
        let text = case.run(&map, &documents);
        assert!(text.contains("warning[MAP-060]: this never runs: line 2 leaves the block"), "{text}");
        assert!(text.ends_with("dropped 1\n{\"id\":\"A\"}\n") && !text.contains("MAP-2"), "{text}");
    }
    let text = case.run("match id {\n  \"D\" => { drop\n error \"x\" },\n  else => { id = id }\n}", &documents);
    assert!(text.ends_with("dropped 1\n{\"id\":\"A\"}\n") && !text.contains("MAP-2"), "{text}");
}
