//! `quayline map`, `quayline map test` and `quayline infer`.

use expect_test::expect;

use crate::json_docs::documented;
use crate::world::World;

const SOURCE: &str = "in\n  id text(5)\n  total decimal(7,2)\n  odd? text(3)\n  note? text(5)\n  lines*\n    sku text(9)\n    qty decimal(5)\n";
const TARGET: &str =
    "out\n  id text(5)\n  amount decimal(7,2)\n  colour text(3)\n  items*\n    sku text(9)\n    quantity decimal(5)\n";
const MAP: &str = "source \"in.shape\"\ntarget out \"out.shape\"\n\nid = id\namount = total\ncolour = odd ?? \"red\"\n\
                   if total > 1000 {\n  warning \"much\"\n}\nfor lines make items {\n  sku = sku\n  quantity = qty\n}\n";

fn world() -> World {
    World::with([("maps/in.shape", SOURCE.as_bytes()), ("maps/out.shape", TARGET.as_bytes())])
}

#[test]
fn a_map_is_proposed_and_checked() {
    let world = world();
    world.run("map new --from maps/in.shape --to maps/out.shape -o maps/new.qmap").check(expect![[r#"
        exit 0
        --- stderr
        2 fields set by name, 2 guessed; 2 left open, 2 of them mandatory
    "#]]);
    expect![[r#"
        map "in to out"
        source "in.shape"
        target out "out.shape"

        id = id
        # amount = …  # mandatory, a number of 5 digits and 2 decimals
        # colour = …  # mandatory, text of at most 3 characters
        for lines make items {  # guess
          sku = sku
          quantity = qty  # guess
        }
    "#]]
    .assert_eq(&String::from_utf8(world.read("maps/new.qmap")).expect("UTF-8"));
    world.run("map new --from maps/in.shape --to maps/out.shape -o maps/new.qmap").code(2);
    world.run("map check maps").check(expect![[r#"
        exit 2
        --- stdout
        maps/new.qmap: 1 error; it cannot run
        --- stderr
        error[MAP-056]: mandatory, but never set: amount, colour
          at maps/new.qmap:5:1
          |
        5 | id = id
          | ^^^^^^^

        hint: set them, or write `omit amount, colour` if something else provides them
    "#]]);
}

/// The hint wrote names without their quotes, so that the map with it did not compile.
#[test]
fn the_hint_of_fields_that_are_never_set_compiles() {
    let world = World::new();
    world.write("in.shape", "s\n  id decimal(5,0)\n");
    world.write("o.json", "{\"id\":1,\"ship to\":{\"name\":\"A\",\"city.x\":\"B\"},\"for\":2}\n");
    world.run("infer o.json -o out.shape").code(0);
    let map = "source \"in.shape\"\ntarget t \"out.shape\"\nid = id\n";
    world.write("m.qmap", map);
    let said = world.run("map check m.qmap").code(2).err();
    let omit = said.split('`').find(|part| part.starts_with("omit ")).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(omit, "omit 'ship to'.name, 'ship to'.'city.x', 'for'");
    world.write("m.qmap", format!("{map}{omit}\n"));
    world.run("map check m.qmap").code(0);
    world.write("o.json", "{\"id\":1,\"it's\":2}\n");
    world.run("infer o.json -o quote.shape").code(0);
    world.write("m.qmap", map.replace("out.shape", "quote.shape"));
    let said = world.run("map check m.qmap").code(2).err();
    assert!(said.contains("a map cannot quote the name `it's`: rename the field"), "{said}");
}

#[test]
fn cases_pass_fail_and_are_updated() {
    let world = world();
    world.write("maps/order.qmap", MAP);
    world.run("map test").check(expect![[r#"
        exit 2
        --- stdout
        maps/order.qmap: no cases
        --- stderr
        error[CLI-003]: there is no case to run

        hint: make one: a folder in maps/tests/order with the documents to translate as input.*, then run --update
    "#]]);
    let input = "{\"id\":\"A\",\"total\":12.50,\"lines\":[{\"sku\":\"x\",\"qty\":2}]}\n{\"id\":\"B\",\"total\":1,\"odd\":\"b\",\"note\":\"n\",\"lines\":[]}\n";
    world.write("maps/tests/order/two/input.jsonl", input);
    world.run("map test maps/order.qmap").check(expect![[r#"
        exit 1
        --- stdout
        FAILED maps/order.qmap two
          expected.jsonl
            there is no file expected.jsonl yet

        maps/order.qmap: 1 of 1 case failed; 7 of 8 statements ran, 1 element of the input is not mapped
    "#]]);
    world.run("map test --update").check(expect![[r#"
        exit 0
        --- stdout
        maps/order.qmap: 1 case up to date; 7 of 8 statements ran, 1 element of the input is not mapped
    "#]]);
    expect![[r#"
        {"id":"A","amount":12.50,"colour":"red","items":[{"sku":"x","quantity":2}]}
        {"id":"B","amount":1,"colour":"b","items":[]}
    "#]]
    .assert_eq(&String::from_utf8(world.read("maps/tests/order/two/expected.jsonl")).expect("UTF-8"));
    world.run("map test --coverage").check(expect![[r#"
        exit 0
        --- stdout
        maps/order.qmap: 1 case passed; 7 of 8 statements ran, 1 element of the input is not mapped
          never ran
            maps/order.qmap:8  warning "much"
          came, and was never mapped
            note  once
    "#]]);
    world.write("maps/order.qmap", MAP.replace("amount = total", "amount = abs(total - 1)"));
    world.run("map test").check(expect![[r#"
        exit 1
        --- stdout
        FAILED maps/order.qmap two
          expected.jsonl
            document 1: amount: expected 12.50, found 11.50
            document 2: amount: expected 1, found 0

        maps/order.qmap: 1 of 1 case failed; 7 of 8 statements ran, 1 element of the input is not mapped
    "#]]);
    documented("quayline.test/1", &world.run("map test --json").code(1).stdout, &[]);
    world.write("maps/tests/order/two/case.toml", "noww = \"x\"\n");
    world.run("map test").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-010]: unknown field `noww`, expected one of `now`, `sender`, `receiver`, `control-number`, `envelope`, `lookup`, `function`, `to`, `from`, `numbers`, `level`, `output-level`, `unknown`, `strict`, `from-encoding`, `to-encoding`, `from-framing`, `to-framing`
          at maps/tests/order/two/case.toml:1

        hint: docs/reference/map-tests.md has every key of case.toml
    "#]]);
}

#[test]
fn shapes_are_guessed_from_samples() {
    let world = World::with([
        (
            "a.json",
            b"{\"id\":\"A\",\"n\":1.50,\"l\":[{\"x\":true}],\"d\":\"2026-01-31\"}\n{\"id\":\"BBBB\",\"n\":-20,\"l\":[]}"
                as &[u8],
        ),
        ("b.xml", b"<order id='7'><line>a</line><line>b</line><sum cur='EUR'>1.5</sum></order>"),
        ("c.csv", b"ID;CODE;N\nA;007;1\nB;008;\n\"C;D\";009;30\n"),
    ]);
    world.run("infer a.json --name order").check(expect![[r#"
        exit 0
        --- stdout
        # Guessed from 2 documents; look at each line.
        order
          id text(10)  # always there? few samples, longest 4
          n decimal(6,2)  # always there? few samples
          l*  # up to 1
            x bool  # always there? few samples
          d? text(10)  # a date, CCYY-MM-DD
    "#]]);
    world.run("infer b.xml").check(expect![[r#"
        exit 0
        --- stdout
        # Guessed from 1 document; look at each line.
        order
          @id unsigned(3)  # always there? few samples, a number? written as text
          line* text(3)  # up to 2, longest 1
          sum  # always there? few samples
            @cur text(5)  # always there? few samples, longest 3
            $text unsigned(4,1)  # always there? few samples, a number? written as text
    "#]]);
    world.run("infer c.csv --as layout").check(expect![[r#"
        exit 0
        --- stdout
        # Guessed from 3 documents; look at each field.
        layout = "csv"
        name = "c"
        delimiter = ";"

        [[field]]
        name = "ID"  # longest 3
        length = 5
        required = true

        [[field]]
        name = "CODE"  # always 3
        length = 3
        required = true

        [[field]]
        name = "N"  # a number? written as text
        type = "decimal"
        digits = 4
        decimals = 0
        signed = false
    "#]]);
    world.run("infer a.json -o a.toml").check(expect![[r#"
        exit 2
        --- stderr
        error[INF-002]: l is a group or a list, which rows have none of

        hint: write an outline or a JSON Schema instead
    "#]]);
    world.run("infer a.json -o a.schema.json").code(0);
    world.run("infer a.json -o a.shape").code(0);
    // The inferred shape describes the samples.
    world.write(
        "m.qmap",
        "source \"a.shape\"\ntarget t \"a.schema.json\"\nid = id\nn = n\nd = d\nfor l make l { x = x }\n",
    );
    world.run("translate --map m.qmap a.json").check(expect![[r#"
        exit 0
        --- stdout
        {"id":"A","n":1.50,"l":[{"x":true}],"d":"2026-01-31"}
        {"id":"BBBB","n":-20,"l":[]}
    "#]]);
    world.write("x.edi", "ISA*00");
    world.run("infer x.edi").check(expect![[r#"
        exit 2
        --- stderr
        error[INF-001]: there is no transaction in it
          at x.edi:1, byte 0

        hint: a sample is one or more X12 or EDIFACT interchanges; `quayline inspect` shows what a file is
    "#]]);
}

#[test]
fn what_is_kept_between_runs_changes_nothing_but_time() {
    let world = world();
    world.write("maps/order.qmap", MAP);
    let run = |cache: &str, more: &str| {
        let line = format!(
            "QUAYLINE_CACHE={cache} $Q map check {more} maps; QUAYLINE_CACHE={cache} $Q {more} translate --map maps/order.qmap --explain"
        );
        let ran = world.shell(&line);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        (ran.stdout, ran.stderr)
    };
    let cold = run("off", "");
    assert!(!world.path("kept").exists());
    assert_eq!(run("kept", "--no-cache"), cold);
    assert!(!world.path("kept").exists(), "nothing is kept");
    assert_eq!(run("kept", ""), cold);
    let entries = || {
        let folder = std::fs::read_dir(world.path("kept")).expect("entries are kept");
        folder.map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>()
    };
    assert_eq!(entries().len(), 1, "the map");
    assert_eq!(run("kept", ""), cold);
    std::fs::write(&entries()[0], "something else").expect("a file");
    assert_eq!(run("kept", ""), cold);
    std::fs::remove_dir_all(world.path("kept")).expect("the folder");
    world.write("kept", "a file");
    assert_eq!(run("kept", ""), cold, "a folder that cannot be used is no trouble");
}

#[test]
fn a_guide_is_guessed_of_interchanges_and_maps_go_by_it() {
    let world = world();
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/edi");
    for name in ["850.x12", "orders.edi"] {
        world.write(name, std::fs::read(examples.join(name)).expect("an example"));
    }
    let (sample, several) = ("850.x12", "orders.edi");
    world.run(&format!("infer {sample} -o guessed.guide")).code(0);
    world.run(&format!("validate {sample} --guide guessed.guide")).code(0);
    world.write("order.shape", "order\n  number text(22)\n  lines*\n    quantity? decimal(15,3)\n");
    world.write(
        "order.qmap",
        "source \"guessed.guide\"\ntarget order \"order.shape\"\nnumber = BEG.BEG03\nfor PO1 make lines {\n  quantity = fit(PO1.PO102, 15, 3)\n}\n",
    );
    world.run(&format!("translate --map order.qmap {sample}")).check(expect![[r#"
        exit 0
        --- stdout
        {"number":"PO4711","lines":[{"quantity":12},{"quantity":4},{"quantity":0.75}]}
        {"number":"PO4712","lines":[{"quantity":1}]}
        {"number":"PO4705","lines":[{"quantity":100},{"quantity":2}]}
    "#]]);
    world.run("map new --from guessed.guide --to order.shape -o new.qmap").check(expect![[r#"
        exit 0
        --- stderr
        0 fields set by name, 1 guessed; 1 left open, 0 of them mandatory
    "#]]);
    world.run(&format!("infer {sample} {several}")).check(expect![[r#"
        exit 2
        --- stderr
        error[INF-003]: the samples hold 850 005010, ORDERS D:96A:UN, and a guide is for one of them

        hint: choose one: --only 850
    "#]]);
    world.run(&format!("infer {sample} {several} --only ORDERS -o orders.guide")).code(0);
    world.run(&format!("infer {sample} {several} --only 810")).code(2);
    world.run(&format!("infer {sample} -o order.shape")).check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: samples of EDI are described by a guide

        hint: name a file *.guide, and leave --as out
    "#]]);
    world.run("infer order.shape --only 850").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --only chooses transactions, and the samples hold none

        hint: leave it out
    "#]]);
    world.write("two.json", "{}");
    world.run(&format!("infer two.json {sample}")).check(expect![[r#"
        exit 2
        --- stderr
        error[INF-001]: there is no transaction in it
          at two.json:1, byte 0

        hint: a sample is one or more X12 or EDIFACT interchanges; `quayline inspect` shows what a file is
    "#]]);
    world.run("infer two.json -o two.guide").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: a guide describes EDI, and the samples are not EDI

        hint: name a file *.shape, *.json or *.toml
    "#]]);
}

/// Regression: a document waited for the beginning of the next one, and then got the envelope values of the *previous* source document.
/// So the first of several orders of B went to A, without a finding. Values belong to the documents of the source document that sets them: those
/// set before a document ended take precedence, and later ones fill the rest.
#[test]
fn documents_have_the_envelope_values_of_their_own_source_document() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi/850.guide");
    let order = "make o {\n  omit standard\n  omit PO1\n  make BEG { BEG01 = \"00\" BEG02 = \"SA\" BEG03 = no BEG05 = \"20260101\" }\n}";
    let head = format!("map \"m\"\nsource \"in.shape\"\ntarget o \"{guide}\"\n");
    let world = World::with([
        ("in.shape", b"in\n  to text(15)\n  orders*\n    no text(22)\n    own? text(15)\n" as &[u8]),
        ("in.jsonl", b"{\"to\":\"A\",\"orders\":[{\"no\":\"1\"},{\"no\":\"2\"}]}\n{\"to\":\"B\",\"orders\":[{\"no\":\"3\",\"own\":\"C\"},{\"no\":\"4\"},{\"no\":\"5\"}]}\n"),
        ("before.qmap", format!("{head}envelope.receiver = to\nfor orders {order}\n").as_bytes()),
        ("behind.qmap", format!("{head}for orders {order}\nenvelope.receiver = to\n").as_bytes()),
        (
            "each.qmap",
            format!("{head}for orders {{\n  envelope.receiver = own ?? to\n  {order}\n}}\n").as_bytes(),
        ),
    ]);
    let receivers = |map: &str| {
        let run = world.run(&format!("translate --map {map} in.jsonl --sender ME --output-level none")).code(0).out();
        let mut receiver = String::new();
        let mut found = String::new();
        for segment in run.split('~') {
            let elements: Vec<&str> = segment.trim().split('*').collect();
            match elements[0] {
                "ISA" => receiver = elements[8].trim().to_owned(),
                "BEG" => found.push_str(&format!("{}{receiver} ", elements[3])),
                _ => {}
            }
        }
        found
    };
    assert_eq!(receivers("before.qmap"), "1A 2A 3B 4B 5B ");
    assert_eq!(receivers("behind.qmap"), "1A 2A 3B 4B 5B ");
    assert_eq!(receivers("each.qmap"), "1A 2A 3C 4B 5B ");
}

/// A first map from an 850 to a record and a CSV file: its dates, its fields that stay empty, and a test that people can read.
#[test]
fn dates_and_unset_fields_of_records_and_rows() {
    let copybook = "       01 ORD.\n           05 ORD-NUMBER PIC X(22).\n           05 ORD-DATE   PIC 9(8).\n           05 ORD-TOTAL  PIC S9(7)V99 COMP-3.\n";
    let interface = "[[field]]\nname = \"ORD-DATE\"\ndate = \"yyyyMMdd\"\n";
    let record = "layout = \"record\"\ncopybook = \"order.cpy\"\ninterface = \"names.toml\"\nencoding = \"ascii\"\nframing = \"lines\"\n";
    let rows = "layout = \"csv\"\n[[field]]\nname = \"number\"\n[[field]]\nname = \"day\"\ntype = \"date\"\n[[field]]\nname = \"at\"\ntype = \"timestamp\"\n";
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi/");
    let read = |name: &str| std::fs::read(format!("{folder}{name}")).expect("an example");
    let (guide, trade, sample) = (read("850.guide"), read("x12-trade.guide"), read("850.x12"));
    let world = World::with([
        ("maps/850.guide", guide.as_slice()),
        ("maps/x12-trade.guide", trade.as_slice()),
        ("sample.x12", sample.as_slice()),
        ("maps/tests/order/one/input.x12", sample.as_slice()),
        ("maps/order.cpy", copybook.as_bytes()),
        ("maps/names.toml", interface.as_bytes()),
        ("maps/order.toml", record.as_bytes()),
        ("maps/rows.toml", rows.as_bytes()),
    ]);
    world.run("map new --from maps/850.guide --to maps/rows.toml -o maps/rows.qmap").code(0);
    expect![[r#"
        map "edi to rows"
        source "850.guide"
        target rows "rows.toml"

        number = BEG.BEG03  # guess
        day = date(BEG.BEG05, "CCYYMMDD")  # guess
        # at = …  # optional, a date and time
    "#]]
    .assert_eq(&String::from_utf8(world.read("maps/rows.qmap")).expect("UTF-8"));
    let head = "source \"850.guide\"\ntarget t \"rows.toml\"\nlet day = date(BEG.BEG05, \"CCYYMMDD\")\n";
    let map = format!("{head}number = BEG.BEG03\nday = day\nat = at-time(day, time(\"1230\", \"HHMM\"))\n");
    world.write("maps/rows.qmap", map);
    let head = "source \"850.guide\"\ntarget t \"order.toml\"\n";
    world.write("maps/order.qmap", format!("{head}ORD-NUMBER = BEG.BEG03\nORD-DATE = date(BEG.BEG05, \"CCYYMMDD\")\n"));
    world.run("translate -m maps/rows.qmap sample.x12").check(expect![[r#"
        exit 0
        --- stdout
        number,day,at
        PO4711,2026-03-30,2026-03-30T12:30:00.000000
        PO4712,2026-03-30,2026-03-30T12:30:00.000000
        PO4705,2026-03-31,2026-03-31T12:30:00.000000
    "#]]);
    world.run("map check maps").check(expect![[r#"
        exit 0
        --- stdout
        maps/order.qmap: 1 warning
        maps/rows.qmap: no findings
        --- stderr
        warning[MAP-056]: never set, so written as spaces or zeros: ORD-TOTAL
          at maps/order.qmap:3:1
          |
        3 | ORD-NUMBER = BEG.BEG03
          | ^^^^^^^^^^^^^^^^^^^^^^

        hint: set it, or write `omit ORD-TOTAL` if that is intended
    "#]]);
    // An empty file of JSON gives a test of a record that people can read.
    world.write("maps/tests/order/one/expected.jsonl", "");
    world.run("map test maps/order.qmap --update").check(expect![[r#"
        exit 0
        --- stdout
        maps/order.qmap: 1 case up to date; 2 of 2 statements ran, 63 elements of the input are not mapped
    "#]]);
    expect![[r#"
        {"ORD-NUMBER":"PO4711","ORD-DATE":"2026-03-30","ORD-TOTAL":0.00}
        {"ORD-NUMBER":"PO4712","ORD-DATE":"2026-03-30","ORD-TOTAL":0.00}
        {"ORD-NUMBER":"PO4705","ORD-DATE":"2026-03-31","ORD-TOTAL":0.00}
    "#]]
    .assert_eq(&String::from_utf8(world.read("maps/tests/order/one/expected.jsonl")).expect("UTF-8"));
    world.run("map test maps/order.qmap").check(expect![[r#"
        exit 0
        --- stdout
        maps/order.qmap: 1 case passed; 2 of 2 statements ran, 63 elements of the input are not mapped
    "#]]);
}

/// Quayline refuses a row without a required field. Before, the map wrote its default.
#[test]
fn a_row_without_a_required_field_is_refused() {
    let world = World::new();
    let field = |name: &str, more: &str| format!("[[field]]\nname = \"{name}\"\n{more}");
    world.write(
        "in.toml",
        format!(
            "layout = \"csv\"\n{}{}{}",
            field("id", "required = true\n"),
            field("amount", "type = \"decimal\"\ndigits = 9\nrequired = true\n"),
            field("note", "")
        ),
    );
    world.write("out.shape", "row\n  id text(38)\n  amount decimal(9,0)\n  note? text\n");
    world.write(
        "m.qmap",
        "source \"in.toml\"\ntarget row \"out.shape\"\n\nid = left(id, 38)\namount = amount\nnote = note\n",
    );
    world.write("rows.csv", "id,amount,note\na,1,\n,2,x\nb,,x\nc,3,y\n");
    let ran = world.run("translate rows.csv --map m.qmap --to jsonl -o out.jsonl --rejects rows.rejects");
    assert_eq!(ran.code, Some(1), "{}", ran.err());
    let out = String::from_utf8(world.read("out.jsonl")).unwrap();
    assert_eq!(out.lines().count(), 2, "{out}");
    for (line, column) in [(3, "id"), (4, "amount")] {
        assert!(ran.err().contains("FLAT-029") && ran.err().contains(&format!("rows.csv:{line}")), "{}", ran.err());
        assert!(ran.err().contains(column), "{}", ran.err());
    }
    assert_eq!(world.read("rows.rejects"), b"id,amount,note\n,2,x\nb,,x\n");
}

/// Values that exceed what the layout declares went through the map as they were.
#[test]
fn values_that_exceed_their_field_are_refused_when_a_row_is_read() {
    let world = World::new();
    world.write(
        "in.toml",
        "layout = \"csv\"\n[[field]]\nname = \"id\"\nlength = 3\n[[field]]\nname = \"amount\"\ntype = \"decimal\"\ndigits = 5\n\
         decimals = 2\nsigned = false\n",
    );
    world.write("out.shape", "row\n  id? text(9)\n  amount? decimal(15,4)\n");
    world.write("m.qmap", "source \"in.toml\"\ntarget row \"out.shape\"\n\nid = id\namount = amount\n");
    let good = "äöü,+0123.4500\nabc,-0\n,\n";
    world.write("rows.csv", format!("id,amount\n{good}abcd,1\na,1234.5\na,1.234\na,-1\n"));
    let ran = world.run("translate rows.csv --map m.qmap --to jsonl -o out.jsonl --rejects rows.rejects");
    let err = ran.code(1).err().to_owned();
    assert_eq!(world.read("rows.rejects"), b"id,amount\nabcd,1\na,1234.5\na,1.234\na,-1\n", "{err}");
    for told in [
        "the cell has more characters than the 3 of its field\n  at rows.csv:5",
        "the number has more digits before the point than the 3 of its field\n  at rows.csv:6",
        "the number has more digits after the point than the 2 of its field\n  at rows.csv:7",
        "the number is negative, and its field has no sign\n  at rows.csv:8",
    ] {
        assert!(err.contains(&format!("error[FLAT-030]: {told}")), "{told}: {err}");
    }
    // With more decimals than digits, the first decimals are zeros.
    world.write("in.toml", "layout = \"csv\"\n[[field]]\nname = \"id\"\n[[field]]\nname = \"amount\"\ntype = \"decimal\"\ndigits = 2\ndecimals = 4\n");
    world.write("rows.csv", "id,amount\na,0.0099\na,-0.0010\na,0.01\n");
    let ran = world.run("translate rows.csv --map m.qmap --to jsonl -o out.jsonl --rejects rows.rejects");
    let err = ran.code(1).err().to_owned();
    assert_eq!(world.read("rows.rejects"), b"id,amount\na,0.01\n", "{err}");
    assert!(err.contains("error[FLAT-030]: the number has more digits than the 2 of its field"), "{err}");
}

/// Only layouts with one row for each document checked `required`.
#[test]
fn documents_of_several_rows_have_their_required_fields() {
    let world = World::new();
    let required = "required = true\n";
    let field = |name: &str, more: &str| format!("[[record.field]]\nname = \"{name}\"\n{more}");
    world.write(
        "kinds.toml",
        format!(
            "layout = \"csv\"\n[[record]]\nname = \"head\"\nvalue = \"H\"\n{}{}\
             [[record]]\nname = \"line\"\nvalue = \"L\"\nparent = \"head\"\n{}{}{}",
            field("kind", ""),
            field("order", required),
            field("kind", ""),
            field("item", required),
            field("amount", "type = \"integer\"\ndigits = 3\n"),
        ),
    );
    world.write("out.shape", "row\n  order? text(9)\n");
    world.write("kinds.qmap", "source \"kinds.toml\"\ntarget row \"out.shape\"\n\norder = head.order\n");
    world.write("kinds.csv", "H,1\nL,a,5\nH,\nL,a,\nH,3\nL,,5\nH,4\nL,a,1000\n");
    let ran = world.run("translate kinds.csv --map kinds.qmap --to jsonl -o out.jsonl --rejects kinds.rejects");
    let err = ran.code(1).err().to_owned();
    assert_eq!(world.read("out.jsonl"), b"{\"order\":\"1\"}\n", "{err}");
    for told in ["FLAT-029", "kinds.csv:3", "kinds.csv:6", "FLAT-030", "kinds.csv:8"] {
        assert!(err.contains(told), "{told}: {err}");
    }
}

/// Cases of a map that was renamed stopped running silently, and so did files that are in no case.
#[test]
fn cases_without_a_map_and_files_without_a_case_are_errors() {
    let world = world();
    world.write("maps/order.qmap", MAP);
    let input = "{\"id\":\"A\",\"total\":12.50,\"lines\":[{\"sku\":\"x\",\"qty\":2}]}\n";
    world.write("maps/tests/order/one/input.jsonl", input);
    world.run("map test --update").code(0);
    world.write("maps/tests/order/README.md", "cases").write("maps/tests/order/.hidden", "");
    world.run("map test").code(0);
    world.write("maps/tests/gone/one/input.jsonl", input);
    let ran = world.run("map test");
    let said = "error[CLI-010]: its cases do not run, because maps/gone.qmap does not exist\n  at maps/tests/gone\n";
    assert!(ran.code(2).err().contains(said), "{}", ran.err());
    world.run("map test maps/order.qmap").code(0);
    world.write("maps/tests/order/stray.jsonl", input);
    let ran = world.run("map test maps/order.qmap");
    assert!(ran.code(2).err().contains("error[CLI-010]: stray.jsonl is not in a case"), "{}", ran.err());
}

/// A proposal that cuts values had no mark.
#[test]
fn proposals_that_cut_are_marked() {
    let world = World::with([
        ("a.shape", b"a\n  number text(22)\n  price decimal(9,4)\n  same decimal(9,2)\n".as_slice()),
        ("b.shape", b"b\n  number text(5)\n  price decimal(9,2)\n  same decimal(9,2)\n"),
    ]);
    let ran = world.run("map new --from a.shape --to b.shape");
    assert!(ran.code(0).err().contains("3 fields set by name, 0 guessed; 2 marked `# cuts` may lose"), "{}", ran.err());
    let map = String::from_utf8(ran.stdout.clone()).expect("UTF-8");
    for line in ["number = left(number, 5)  # cuts\n", "price = round(price, 2)  # cuts\n", "same = same\n"] {
        assert!(map.contains(line), "{map}");
    }
}

/// An optional list of a schema with `minItems` was written empty.
#[test]
fn an_optional_list_below_its_minimum_is_absent_or_a_finding() {
    let world = World::new();
    let of = |min: u8| {
        format!(
            r#"{{"type":"object","properties":{{"o":{{"type":"array","minItems":{min},"items":{{"type":"object","properties":{{"a":{{"type":"string"}}}}}}}},
            "t":{{"type":"array","minItems":{min},"items":{{"type":"string"}}}}}}}}"#
        )
    };
    world
        .write("in.json", of(0))
        .write("out.json", of(2))
        .write("m.qmap", "source \"in.json\"\ntarget out \"out.json\"\nfor o make o { a = a }\nfor t make t = it\n");
    let input = "{\"o\":[],\"t\":[]}\n{\"o\":[{\"a\":\"x\"},{\"a\":\"y\"}],\"t\":[\"x\",\"y\"]}\n{\"o\":[{\"a\":\"x\"}],\"t\":[\"x\"]}\n{}\n";
    let ran = world.run_with("translate -m m.qmap - --to jsonl --rejects rejects", input.as_bytes());
    assert_eq!(
        ran.code(1).out(),
        "{}\n{\"o\":[{\"a\":\"x\"},{\"a\":\"y\"}],\"t\":[\"x\",\"y\"]}\n{}\n",
        "{}",
        ran.err()
    );
    assert_eq!(ran.err().matches("error[MAP-212]: 1 occurrence, and the target needs 2").count(), 2, "{}", ran.err());
}

/// An occurrence without a value was dropped, and the following ones moved up.
#[test]
fn an_occurrence_without_a_value_keeps_its_place_or_is_a_finding() {
    let world = World::new();
    let of = |items: &str| {
        format!(
            r#"{{"type":"object","properties":{{"t":{{"type":"array","minItems":2,"items":{{"type":{items}}}}}}}}}"#
        )
    };
    let xsd = |nillable: &str| {
        format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r"><xs:complexType><xs:sequence><xs:element name="t" type="xs:string" minOccurs="0" maxOccurs="3" {nillable}/></xs:sequence></xs:complexType></xs:element></xs:schema>"#
        )
    };
    world
        .write("null.json", of("[\"string\",\"null\"]"))
        .write("text.json", of("\"string\""))
        .write("null.xsd", xsd("nillable=\"true\""))
        .write("one.xsd", xsd("nillable=\" 1 \""))
        .write("text.xsd", xsd(""))
        .write("r.cpy", "       01 R.\n          05 T PIC X OCCURS 3.\n")
        .write("r.toml", "layout = \"record\"\ncopybook = \"r.cpy\"\nencoding = \"ascii\"\nframing = \"lines\"\n");
    let first = "{\"t\":[\"a\",null,\"c\"]}\n";
    let both = format!("{first}{{\"t\":[null,null]}}\n");
    let run = |target: &str, rule: &str, input: &str| {
        world.write("m.qmap", format!("source \"null.json\"\ntarget out \"{target}\"\nfor t {rule}\n"));
        let ran = world.run_with("translate -m m.qmap - --quiet", input.as_bytes());
        (ran.out(), ran.err())
    };
    let written = |target: &str, rule: &str, input: &str, expected: &str| {
        let (out, err) = run(target, rule, input);
        assert!(out.contains(expected) && !err.contains("error["), "{target}, {rule}: {out}{err}");
    };
    written("null.json", "make t = it", &both, "{\"t\":[\"a\",null,\"c\"]}\n{\"t\":[null,null]}\n");
    for schema in ["null.xsd", "one.xsd"] {
        written(schema, "make t = it", first, "<t>a</t><t xsi:nil=\"true\"/><t>c</t>");
    }
    written("r.toml", "make T = it", first, "a c\n");
    for target in ["text.json", "text.xsd"] {
        let (out, err) = run(target, "make t = it", first);
        let message = "error[MAP-226]: occurrence 2 of `t` has no value, and the target cannot have an empty one";
        assert!(!out.contains("<t>") && !out.contains('a') && err.contains(message), "{target}: {out}{err}");
        assert!(err.contains("m.qmap:3") && err.contains("where present(…)"), "{err}");
    }
    written("text.json", "where present(it) make t = it", &both, "{\"t\":[\"a\",\"c\"]}\n{}\n");
    assert!(!run("text.json", "make t = it ?? \"-\"", &both).1.contains("MAP-060"));
    written("text.json", "make t = it ?? \"-\"", &both, "{\"t\":[\"a\",\"-\",\"c\"]}\n{\"t\":[\"-\",\"-\"]}\n");
}

/// An absent value of a list that names its values was dropped, and the following ones moved up.
#[test]
fn an_absent_value_of_a_list_literal_keeps_its_place_or_is_a_finding() {
    let world = World::new();
    let of = |items: &str| {
        format!(r#"{{"type":"object","properties":{{"t":{{"type":"array","items":{{"type":{items}}}}}}}}}"#)
    };
    world
        .write("in.shape", "doc\n  L*0..10\n    v? text(5)\n    w? text(5)\n")
        .write("null.json", of("[\"string\",\"null\"]"))
        .write("text.json", of("\"string\""))
        .write("r.cpy", "       01 R.\n          05 T PIC X OCCURS 4.\n")
        .write("r.toml", "layout = \"record\"\ncopybook = \"r.cpy\"\nencoding = \"ascii\"\nframing = \"lines\"\n")
        .write("o.cpy", "       01 R.\n          05 N PIC 9.\n          05 T PIC X OCCURS 0 TO 5 DEPENDING ON N.\n")
        .write("o.toml", "layout = \"record\"\ncopybook = \"o.cpy\"\nencoding = \"ascii\"\nframing = \"lines\"\n");
    let middle = r#"{"L":[{"v":"a"},{},{"v":"c"}]}"#;
    let run = |target: &str, rules: &str, input: &str| {
        world.write("m.qmap", format!("source \"in.shape\"\ntarget out \"{target}\"\n{rules}\n"));
        let ran = world.run_with("translate -m m.qmap - --from jsonl --quiet", input.as_bytes());
        (ran.out(), ran.err())
    };
    let written = |target: &str, rules: &str, input: &str, expected: &str| {
        let (out, err) = run(target, rules, input);
        assert!(out == expected && !err.contains("error["), "{target}, {rules}: {out:?}{err}");
    };
    let three = "t = [L[0].v, L[1].v, L[2].v]";
    written("null.json", three, middle, "{\"t\":[\"a\",null,\"c\"]}\n");
    written("null.json", three, r#"{"L":[{},{},{"v":"c"}]}"#, "{\"t\":[null,null,\"c\"]}\n");
    // Nothing moves up if nothing follows.
    for target in ["null.json", "text.json"] {
        written(target, three, r#"{"L":[{"v":"a"},{},{}]}"#, "{\"t\":[\"a\"]}\n");
        written(target, three, r#"{"L":[{},{}]}"#, "{}\n");
    }
    written("r.toml", "T = [L[0].v, L[1].v, L[2].v, L[3].v]", middle, "a c \n");
    written("o.toml", "T = [L[0].v, L[1].v, L[2].v]", middle, "3a c\n");
    written("text.json", "t = [L[0].v, L[1].v ?? \"-\", L[2].v]", middle, "{\"t\":[\"a\",\"-\",\"c\"]}\n");
    // An absent value before the occurrences of a later statement is not moved to their end.
    let (out, err) = run("r.toml", "T = [L[0].v, L[1].v]\nfor L make T = v ?? \"-\"", r#"{"L":[{"v":"a"},{}]}"#);
    assert!(out.is_empty() && err.contains("error[MAP-212]: 3 occurrences, and the target needs 4"), "{out}{err}");
    // The values of one occurrence have nothing to do with those of the next.
    let each = "for L {\n  t = [v, w]\n}";
    let rows = r#"{"L":[{"v":"a"},{"v":"b","w":"c"},{"w":"d"}]}"#;
    written("null.json", each, rows, "{\"t\":[\"a\",\"b\",\"c\",null,\"d\"]}\n");
    let (out, err) = run("text.json", three, middle);
    let message = "error[MAP-226]: occurrence 2 of `t` has no value, and the target cannot have an empty one";
    assert!(out.is_empty() && err.contains(message), "{out}{err}");
    // The finding names the field without a value, not the next one that has a value.
    world.write("abc.shape", "doc\n  a? text(5)\n  b? text(5)\n  c? text(5)\n");
    for (input, from) in [(r#"{"b":"B"}"#, &["a"][..]), (r#"{"a":"A","c":"C"}"#, &["b"]), (r#"{"c":"C"}"#, &["a", "b"])]
    {
        for values in ["a, b, c", "upper(a), lower(b), c"] {
            world.write("m.qmap", format!("source \"abc.shape\"\ntarget out \"text.json\"\nt = [{values}]\n"));
            let err = world.run_with("translate -m m.qmap - --from jsonl", input.as_bytes()).err();
            let named: Vec<&str> = err
                .lines()
                .filter_map(|line| line.split_once(", from "))
                .map(|(_, from)| from.trim_end_matches(')'))
                .collect();
            assert_eq!(named, from, "{input} {values}: {err}");
        }
    }
    // A placeholder has an effect; a list of nothing else never gets a value.
    for (values, count) in [("absent, c", 0), ("a, absent, c", 0), ("absent", 1), ("absent, absent", 2)] {
        world.write("m.qmap", format!("source \"abc.shape\"\ntarget out \"null.json\"\nt = [{values}]\n"));
        let checked = world.run("map check m.qmap");
        assert_eq!((checked.out() + &checked.err()).matches("MAP-060").count(), count, "{values}");
    }
    written("null.json", "t = [absent, L[0].v]", middle, "{\"t\":[null,\"a\"]}\n");
}

/// An empty repetition of an element was dropped, and the following ones moved up.
#[test]
fn an_empty_repetition_of_edi_keeps_its_place() {
    let world = World::new();
    world
        .write("r.guide", "guide RR \"rep\"\nstandard X12\nversion 005010\ntransaction 850 group PO\nelement 353 AN 1..10 \"A\"\nelement 92 AN 1..10 \"B\"\nsegment BEG \"b\"\n  353 M\n  92 O\nstructure\n  segment BEG M 1\n    02 repeat 5\n")
        .write("r.json", r#"{"type":"object","properties":{"l":{"type":"array","items":{"type":["string","null"]}}}}"#)
        .write("m.qmap", "source \"r.guide\"\ntarget o \"r.guide\"\nomit standard\nBEG.BEG01 = BEG.BEG01\nfor BEG.BEG02 make BEG.BEG02 = it\n")
        .write("j.qmap", "source \"r.guide\"\ntarget o \"r.json\"\nfor BEG.BEG02 make l = it\n")
        .write("in.x12", "ISA*00*          *00*          *ZZ*A              *ZZ*ME             *260101*1200*^*00501*000000001*0*P*:~GS*PO*A*ME*20260101*1200*1*X*005010~ST*850*0001~BEG*x*A^^B^C~SE*3*0001~GE*1*1~IEA*1*000000001~");
    let ran = world.run("translate in.x12 -m m.qmap --sender ZZ:ME --receiver ZZ:A --quiet");
    assert!(ran.out().contains("BEG*x*A^^B^C~"), "{}{}", ran.out(), ran.err());
    let ran = world.run("translate in.x12 -m j.qmap --to jsonl --quiet");
    assert_eq!(ran.out(), "{\"l\":[\"A\",null,\"B\",\"C\"]}\n", "{}", ran.err());
}

/// `validate` took a built-in guide by name, and a map did not.
#[test]
fn a_built_in_guide_is_a_shape() {
    let world = World::new();
    world.write("no.toml", "layout = \"csv\"\n[[field]]\nname = \"no\"\n");
    world.write("maps/other.txt", "");
    world.run("map new --from builtin:850-005010 --to no.toml -o maps/m.qmap").code(0);
    let map = String::from_utf8(world.read("maps/m.qmap")).unwrap();
    assert!(map.contains("source \"builtin:850-005010\"") && map.contains("no = BEG.BEG03"), "{map}");
    world.run("map check maps/m.qmap").code(0);
    let err = world.run("map new --from builtin:zzz --to no.toml").code(2).err();
    assert!(err.contains("`quayline guide list` shows the guides"), "{err}");
}

/// Mandatory members that may be null were left out, and Quayline refused its own output.
#[test]
fn a_mandatory_member_that_may_be_null_is_null_without_a_value() {
    let world = World::new();
    let members = r#""m":{"type":["string","null"]},"n":{"type":["integer","null"]},"g":{"type":["object","null"],"properties":{"a":{"type":"string"}}},"l":{"type":["array","null"],"minItems":1,"items":{"type":"string"}},"x":{"type":"string"},"o":{"type":["string","null"]}"#;
    let xsd = |body: &str| {
        format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r"><xs:complexType><xs:sequence>{body}</xs:sequence></xs:complexType></xs:element></xs:schema>"#
        )
    };
    world
        .write("in.shape", "doc\n  m? text(5)\n  n? unsigned(3)\n  x? text(5)\n  l*\n    a? text(5)\n")
        .write(
            "out.json",
            format!(
                r#"{{"type":"object","required":["m","n","g","l","x"],"properties":{{{members},"p":{{"type":"array","items":{{"type":"object","required":["m"],"properties":{{{members}}}}}}}}}}}"#
            ),
        )
        .write(
            "out.xsd",
            xsd(r#"<xs:element name="m" type="xs:string" nillable="true"/><xs:element name="x" type="xs:string"/><xs:element name="n" type="xs:int" nillable="true" maxOccurs="3"/><xs:element name="o" type="xs:string" nillable="true" minOccurs="0"/><xs:element name="q" nillable="true"><xs:complexType><xs:sequence><xs:element name="a" type="xs:string"/></xs:sequence></xs:complexType></xs:element>"#),
        )
        .write("json.qmap", "source \"in.shape\"\ntarget out \"out.json\"\nm = m\nn = n\ng.a = x\nif present(m) { l = [m] }\nx = x ?? \"-\"\nfor l make p { x = a }\n")
        .write("back.qmap", "source \"out.json\"\ntarget out \"out.json\"\nm = m\nn = n\ng.a = g.a\nfor l make l = it\nx = x\no = o\nfor p make p { m = m  x = x }\n")
        .write("xml.qmap", "source \"in.shape\"\ntarget out \"out.xsd\"\nm = m\nx = x ?? \"-\"\nif present(n) { n = [n] }\nif present(m) { q.a = m }\n")
        .write("same.qmap", "source \"out.xsd\"\ntarget out \"out.xsd\"\nm = m\nx = x\nfor n make n = it\no = o\nq.a = q.a\n");
    let run = |map: &str, from: &str, input: &str| {
        let ran = world.run_with(&format!("translate -m {map} --from {from} - --quiet"), input.as_bytes());
        assert!(!ran.err().contains("error["), "{map}: {}", ran.err());
        ran.out()
    };
    let json =
        run("json.qmap", "json", "{}\n{\"m\":\"1\",\"n\":2,\"x\":\"3\",\"l\":[{\"a\":\"4\"}]}\n{\"n\":2,\"l\":[{}]}\n");
    expect_test::expect![[r#"
        {"m":null,"n":null,"g":null,"l":null,"x":"-"}
        {"m":"1","n":2,"g":{"a":"3"},"l":["1"],"x":"3","p":[{"m":null,"x":"4"}]}
        {"m":null,"n":2,"g":null,"l":null,"x":"-","p":[{"m":null}]}
    "#]]
    .assert_eq(&json);
    assert_eq!(run("back.qmap", "json", &json), json);
    let xml = run("xml.qmap", "json", "{}\n");
    expect_test::expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><m xsi:nil="true"/><x>-</x><n xsi:nil="true"/><q xsi:nil="true"/></r>
    "#]].assert_eq(&xml);
    assert_eq!(run("same.qmap", "xml", &xml), xml);
    expect_test::expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <r xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><m>1</m><x>3</x><n>2</n><q><a>1</a></q></r>
    "#]]
    .assert_eq(&run("xml.qmap", "json", "{\"m\":\"1\",\"n\":2,\"x\":\"3\"}\n"));
}

/// The text of an element with attributes was empty in place of null, and the element without a mandatory number invalid.
#[test]
fn an_element_with_attributes_and_without_a_text_is_null() {
    let world = World::new();
    let element = |name: &str, base: &str, more: &str| {
        format!(
            r#"<xs:element name="{name}" {more} nillable="true"><xs:complexType><xs:simpleContent><xs:extension base="xs:{base}"><xs:attribute name="a" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>"#
        )
    };
    let (n, p) = (element("n", "string", "maxOccurs=\"3\""), element("p", "decimal", ""));
    world
        .write("r.xsd", format!(r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r"><xs:complexType><xs:sequence>{n}{p}</xs:sequence></xs:complexType></xs:element></xs:schema>"#))
        .write("m.qmap", "source \"r.xsd\"\ntarget out \"r.xsd\"\nfor n make n { '$text' = '$text'  @a = @a }\np.'$text' = p.'$text'\np.@a = p.@a\n");
    let xsi = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
    for body in [
        "<n xsi:nil=\"true\"></n><n a=\"1\" xsi:nil=\"true\"></n><n></n><p a=\"EUR\" xsi:nil=\"true\"></p>",
        "<n a=\"1\">x</n><p a=\"EUR\">1.5</p>",
        "<n>x</n><p xsi:nil=\"true\"/>",
    ] {
        let document = format!("<r {xsi}>{body}</r>");
        let ran = world.run_with("translate -m m.qmap - --from xml --quiet", document.as_bytes());
        assert!(!ran.err().contains("error["), "{}", ran.err());
        let out: String = ran.out().lines().map(str::trim).collect();
        assert!(out.contains(body), "{body}: {out}");
    }
}

/// The checker called defaults of values that can be absent or empty unused, and who removed them lost values.
#[test]
fn a_default_of_a_value_that_may_be_blank_is_used() {
    let world = World::new();
    let fields = ["T PIC X(8)", "N PIC 9(4)", "D PIC 9(8)", "V PIC X(2)"];
    let mut copybook = "       01 R.\n".to_owned();
    fields.iter().for_each(|field| copybook.push_str(&format!("          05 {field}.\n")));
    copybook.push_str("          05 W REDEFINES V PIC 9(2).\n");
    world
        .write("r.cpy", copybook)
        .write("r.iface", "[[field]]\nname = \"D\"\ndate = \"yyyyMMdd\"\nnull = \"zeros\"\n[[choose]]\nstorage = \"V\"\nby = \"T\"\nwhen = { \"A\" = \"V\" }\notherwise = \"W\"\n")
        .write("r.toml", "layout = \"record\"\ncopybook = \"r.cpy\"\ninterface = \"r.iface\"\nencoding = \"ascii\"\nframing = \"lines\"\nblank = \"null\"\n")
        .write("out.json", r#"{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}"#);
    for value in [
        "text(N)",
        "T",
        "D",
        "V",
        "text(W)",
        "text(number(T))",
        "format(date(T, \"CCYYMMDD\"), \"YYYY\")",
        "format(date(D, \"YYYY-MM-DD\"), \"YYYY\")",
        "text(days-between(date(D, \"YYYY-MM-DD\"), 2026-01-31))",
        "upper(T)",
        "left(T, 2)",
    ] {
        world.write("m.qmap", format!("source \"r.toml\"\ntarget out \"out.json\"\nx = {value} ?? \"-\"\n"));
        let checked = world.run("map check m.qmap");
        let said = checked.out() + &checked.err();
        assert!(!said.contains("MAP-060") && !said.contains("error["), "{value}: {said}");
    }
    let ran = world.run_with("translate -m m.qmap - --quiet", b"            00000000  \n");
    assert_eq!(ran.out(), "{\"x\":\"-\"}\n", "{}", ran.err());
    for value in ["text(1 + 2)", "\"a\"", "text(count(L))"] {
        world
            .write("in.shape", "doc\n  L*\n    a? text(5)\n")
            .write("m.qmap", format!("source \"in.shape\"\ntarget out \"out.json\"\nx = {value} ?? \"-\"\n"));
        assert!(world.run("map check m.qmap").err().contains("MAP-060"), "{value}");
    }
}
