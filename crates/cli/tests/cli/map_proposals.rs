//! Proposals of `map new` between unrelated shapes: right, wrong or none. The expected assignments were written before the
//! proposals were seen.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::world::World;

const ORDER_JSON: &str = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["orderNumber","orderDate","lines"],"properties":{
"orderNumber":{"type":"string","maxLength":22},"orderDate":{"type":"string","maxLength":10},"currency":{"type":"string","maxLength":3},
"buyer":{"type":"object","properties":{"name":{"type":"string","maxLength":60},"id":{"type":"string","maxLength":80}}},
"shipTo":{"type":"object","properties":{"name":{"type":"string","maxLength":60},"street":{"type":"string","maxLength":55},"city":{"type":"string","maxLength":30},"zip":{"type":"string","maxLength":15}}},
"lines":{"type":"array","items":{"type":"object","properties":{"lineNumber":{"type":"string","maxLength":20},"sku":{"type":"string","maxLength":48},"description":{"type":"string","maxLength":80},"quantity":{"type":"number","multipleOf":0.001,"minimum":0,"maximum":999999},"unit":{"type":"string","maxLength":2},"unitPrice":{"type":"number","multipleOf":0.0001,"minimum":0,"maximum":999999}}}},
"lineCount":{"type":"integer","minimum":0,"maximum":999999},"total":{"type":"number","multipleOf":0.01,"minimum":0,"maximum":9999999}}}"#;

const ORDER_XSD: &str = r#"<?xml version="1.0"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="Order"><xs:complexType><xs:sequence>
<xs:element name="OrderNumber" type="xs:string"/><xs:element name="Date" type="xs:string"/><xs:element name="BuyerId" type="xs:string"/><xs:element name="Currency" type="xs:string" minOccurs="0"/>
<xs:element name="Line" maxOccurs="unbounded"><xs:complexType><xs:sequence>
<xs:element name="LineNumber" type="xs:string"/><xs:element name="Ean" type="xs:string"/><xs:element name="Description" type="xs:string" minOccurs="0"/><xs:element name="Quantity" type="xs:decimal"/><xs:element name="Price" type="xs:decimal" minOccurs="0"/>
</xs:sequence></xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element></xs:schema>"#;

const INVOICE_SHAPE: &str = "in\n  invoiceNo text(20)\n  invoiceDate text(8)\n  poNumber? text(20)\n  currency? text(3)\n  customerName? text(60)\n  lines*\n    lineNo text(6)\n    qty decimal(9,2)\n    unitPrice decimal(11,4)\n    productId? text(40)\n    text? text(80)\n  total? decimal(12,2)\n";

const PAYMENT_SHAPE: &str = "out\n  traceNumber text(30)\n  paymentDate text(8)\n  paymentAmount decimal(15,2)\n  payerName? text(60)\n  payeeName? text(60)\n  claims*\n    claimId text(38)\n    chargedAmount decimal(15,2)\n    paidAmount decimal(15,2)\n    patientLastName? text(60)\n    patientFirstName? text(35)\n";

const INVOICE_ROWS: &str = r#"layout = "csv"
[[field]]
name = "invoice"
[[field]]
name = "invoice_date"
[[field]]
name = "po"
[[field]]
name = "ship_to"
[[field]]
name = "line"
[[field]]
name = "sku"
[[field]]
name = "description"
[[field]]
name = "quantity"
type = "decimal"
digits = 9
decimals = 2
[[field]]
name = "uom"
[[field]]
name = "unit_price"
type = "decimal"
digits = 11
decimals = 4
[[field]]
name = "total"
type = "decimal"
digits = 12
decimals = 2
"#;

const CLAIM_ROWS: &str = r#"layout = "parquet"
[[field]]
name = "claim_id"
[[field]]
name = "patient_last_name"
[[field]]
name = "patient_first_name"
[[field]]
name = "provider_npi"
[[field]]
name = "service_date"
[[field]]
name = "procedure_code"
[[field]]
name = "charge_amount"
type = "decimal"
digits = 12
decimals = 2
[[field]]
name = "units"
type = "decimal"
digits = 8
decimals = 2
"#;

/// Source, target, and each target field with the source fields that may be meant.
type Pair = (&'static str, &'static str, &'static [(&'static str, &'static [&'static str])]);

const PAIRS: [Pair; 6] = [
    (
        "850-005010.guide",
        "order.json",
        &[
            ("orderNumber", &["BEG.BEG03"]),
            ("orderDate", &["BEG.BEG05"]),
            ("currency", &["CUR.CUR02"]),
            ("buyer.name", &["N102"]),
            ("buyer.id", &["N104"]),
            ("shipTo.name", &["N102"]),
            ("shipTo.street", &["N301"]),
            ("shipTo.city", &["N401"]),
            ("shipTo.zip", &["N403"]),
            ("lines", &["PO1"]),
            ("lineNumber", &["PO101"]),
            ("sku", &["PO107", "PO109"]),
            ("description", &["PID05"]),
            ("quantity", &["PO102"]),
            ("unit", &["PO103"]),
            ("unitPrice", &["PO104"]),
            ("lineCount", &["CTT01"]),
            ("total", &["AMT02"]),
        ],
    ),
    (
        "orders.guide",
        "order.xsd",
        &[
            ("OrderNumber", &["BGM02", "BGM.BGM02"]),
            ("Date", &["DTM01-2"]),
            ("BuyerId", &["NAD02-1"]),
            ("Currency", &["CUX01-2"]),
            ("Line", &["SG25"]),
            ("LineNumber", &["LIN01"]),
            ("Ean", &["LIN03-1"]),
            ("Description", &["IMD03-4"]),
            ("Quantity", &["QTY01-2"]),
            ("Price", &["PRI01-2"]),
        ],
    ),
    (
        "invoices.toml",
        "810.guide",
        &[
            ("BIG.BIG01", &["invoice_date"]),
            ("BIG.BIG02", &["invoice"]),
            ("BIG.BIG04", &["po"]),
            ("IT1.IT101", &["line"]),
            ("IT1.IT102", &["quantity"]),
            ("IT1.IT103", &["uom"]),
            ("IT1.IT104", &["unit_price"]),
            ("IT1.IT107", &["sku"]),
            ("TDS.TDS01", &["total"]),
        ],
    ),
    (
        "837p.guide",
        "claims.toml",
        &[
            ("claims", &["2400"]),
            ("claim_id", &["CLM01"]),
            ("patient_last_name", &["2010BA.NM1.NM103", "2010CA.NM1.NM103"]),
            ("patient_first_name", &["2010BA.NM1.NM104", "2010CA.NM1.NM104"]),
            ("provider_npi", &["2010AA.NM1.NM109", "2310B.NM1.NM109", "2420A.NM1.NM109"]),
            ("service_date", &["DTP_472.DTP03"]),
            ("procedure_code", &["SV101-2"]),
            ("charge_amount", &["SV102", "CLM02"]),
            ("units", &["SV104"]),
        ],
    ),
    (
        "invoice.shape",
        "810.guide",
        &[
            ("BIG.BIG01", &["invoiceDate"]),
            ("BIG.BIG02", &["invoiceNo"]),
            ("BIG.BIG04", &["poNumber"]),
            ("CUR.CUR02", &["currency"]),
            ("IT1", &["lines"]),
            ("IT1.IT101", &["lineNo"]),
            ("IT1.IT102", &["qty"]),
            ("IT1.IT104", &["unitPrice"]),
            ("IT1.IT107", &["productId"]),
            ("TDS.TDS01", &["total"]),
        ],
    ),
    (
        "835.guide",
        "payment.shape",
        &[
            ("traceNumber", &["TRN.TRN02"]),
            ("paymentDate", &["BPR.BPR16"]),
            ("paymentAmount", &["BPR.BPR02"]),
            ("payerName", &["1000A.N1.N102"]),
            ("payeeName", &["1000B.N1.N102"]),
            ("claims", &["2100"]),
            ("claimId", &["CLP01"]),
            ("chargedAmount", &["CLP03"]),
            ("paidAmount", &["CLP04"]),
            ("patientLastName", &["NM103"]),
            ("patientFirstName", &["NM104"]),
        ],
    ),
];

/// Returns the proposed fields: target and source as written.
fn proposals(map: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in map.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(rest) = line.strip_prefix("for ") {
            let (over, target) = rest.split_once(" make ").expect("a loop makes a list");
            let target = target.split([' ', '{']).next().expect("a name");
            found.push((target.to_owned(), over.to_owned()));
        } else if let Some((target, value)) = line.split_once(" = ") {
            found.push((target.to_owned(), value.split("  #").next().unwrap_or_default().to_owned()));
        }
    }
    found
}

/// Returns true if an expression contains a path, completely or as the end of a longer one.
fn names(value: &str, path: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '[' | ']' | '@');
    value.split(|c| !part(c)).any(|word| word == path || word.ends_with(&format!(".{path}")))
}

#[test]
fn most_proposals_are_right() {
    let world = World::with([
        ("order.json", ORDER_JSON.as_bytes()),
        ("order.xsd", ORDER_XSD.as_bytes()),
        ("invoice.shape", INVOICE_SHAPE.as_bytes()),
        ("payment.shape", PAYMENT_SHAPE.as_bytes()),
        ("invoices.toml", INVOICE_ROWS.as_bytes()),
        ("claims.toml", CLAIM_ROWS.as_bytes()),
    ]);
    for folder in ["../../examples/edi", "../edi/guides/standard"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in folder.read_dir().expect("the folder is there").flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "guide") {
                world.write(&entry.file_name().to_string_lossy(), std::fs::read(entry.path()).expect("readable"));
            }
        }
    }
    let mut report = String::new();
    let mut all = (0, 0, 0);
    for (from, to, truths) in PAIRS {
        let map = world.run(&format!("map new --from {from} --to {to}")).code(0).out();
        let (mut right, mut wrong, mut seen) = (0, Vec::new(), Vec::new());
        for (target, value) in proposals(&map) {
            let truth = truths.iter().find(|(of, _)| *of == target);
            seen.push(target.clone());
            match truth {
                Some((_, paths)) if paths.iter().any(|path| names(&value, path)) => right += 1,
                _ => wrong.push(format!("{target} = {value}")),
            }
        }
        let none = truths.iter().filter(|(of, _)| !seen.iter().any(|target| target == of)).count();
        report.push_str(&format!("{from} to {to}: {right} right, {} wrong, {none} none: {wrong:?}\n", wrong.len()));
        all = (all.0 + right, all.1 + wrong.len(), all.2 + none);
        // No proposal at all is not half right.
        assert!(right > 0 && right >= wrong.len(), "{report}{map}");
    }
    eprintln!("{report}{all:?}");
    assert!(all.0 >= 40 && all.0 >= 6 * all.1, "{report}{all:?}");
}

/// Regressions: names that differ only in separators or case were set from each other without a mark, a name of digits became a number, and a name
/// with a quote made a map that does not parse.
#[test]
fn names_that_are_hard_to_tell_apart_or_to_write() {
    let world = World::new();
    let texts = |names: &[&str]| {
        let fields: Vec<String> = names.iter().map(|name| format!("{name:?}:{{\"type\":\"string\"}}")).collect();
        let list = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}";
        let others = format!("\"2024\":{{\"type\":\"number\"}},\"a'b\":{list},\"ab\":{list}");
        format!("{{\"type\":\"object\",\"properties\":{{{},{others}}}}}", fields.join(","))
    };
    world.write("same.json", texts(&["order_id", "order-id", "it's", "PRICE", "Price"]).as_bytes());
    world.write("other.json", texts(&["orderId", "price"]).as_bytes());
    let run = world.run("map new --from same.json --to same.json -o same.qmap");
    assert_eq!(run.code, Some(0), "{}", run.err());
    let map = String::from_utf8(world.read("same.qmap")).expect("UTF-8");
    for line in
        ["order_id = order_id\n", "order-id = order-id\n", "PRICE = PRICE\n", "Price = Price\n", "2024 = '2024'\n"]
    {
        assert!(map.contains(line), "{line}{map}");
    }
    assert!(map.contains("maps cannot quote its name") && !map.contains("it's"), "{map}");
    assert!(map.contains("for ab make ab = it") && !map.contains("a'b"), "{map}");
    world.write("in.json", br#"{"2024":5,"order_id":"A","order-id":"B"}"#);
    let run = world.run("translate --map same.qmap in.json");
    assert_eq!(run.out().trim(), r#"{"order_id":"A","order-id":"B","2024":5}"#, "{}", run.err());
    let map = world.run("map new --from other.json --to same.json").out();
    for field in ["order_id = orderId", "order-id", "PRICE = price", "Price"] {
        let line = map.lines().find(|line| line.starts_with(field) || line.starts_with(&format!("# {field}")));
        assert!(line.is_some_and(|line| line.contains("# guess") || line.starts_with('#')), "{field}: {map}");
    }
}

/// The proposal compared each pair of fields, and wrote the path of each source field for each target field: 2,000 by 2,000 fields took ten seconds.
/// It still compares each pair, but for a few nanoseconds.
#[test]
fn large_shapes_are_compared_in_seconds() {
    const WORDS: [&str; 12] =
        ["CUST", "ORDER", "PRICE", "STREET", "BALANCE", "TAX", "SHIP", "UNIT", "QTY", "LIMIT", "RATE", "FLAG"];
    let copybook = |record: &str, step: usize, count: usize| {
        let field = |n: usize| {
            let words = [n, n / 12, n / 144].map(|at| WORDS[at * step % 12]);
            format!("           05 {}-{n} PIC X({}).\n", words.join("-"), n % 9 + 1)
        };
        format!("       01 {record}.\n{}", (0..count).map(field).collect::<String>())
    };
    let count = 3_000;
    let (from, to) = (copybook("SRC", 1, count), copybook("DST", 5, count));
    let world = World::with([("src.cpy", from.as_bytes()), ("dst.cpy", to.as_bytes())]);
    let started = Instant::now();
    let map = world.run("map new --from src.cpy --to dst.cpy").code(0).out();
    let took = started.elapsed();
    assert!(map.contains("# guess") && map.lines().count() > count, "{}", &map[..1_000.min(map.len())]);
    // A second where nothing is optimized. The 2,000 fields took ten where everything is.
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// Regression: fields of branches with equal fields were set from the first of the branches, without a mark: only the name of the group around a field counted.
#[test]
fn a_shape_is_proposed_onto_itself() {
    let outline = "order\n  buyer\n    address\n      city text(9)\n      geo?\n        x text(9)\n  seller\n    address\n      city text(9)\n      geo?\n        x text(9)\n  \
        b?\n    a* text(9)\n    b?\n      a* text(9)\n      b?\n        a* text(9)\n  first?\n    rows*\n      at\n        x text(9)\n  second?\n    rows*\n      at\n        x text(9)\n";
    let party = "<xs:complexType name=\"Party\"><xs:sequence><xs:element name=\"id\" type=\"xs:string\"/><xs:element name=\"address\"><xs:complexType><xs:sequence>\
        <xs:element name=\"city\" type=\"xs:string\"/><xs:element name=\"line\" type=\"xs:string\" minOccurs=\"0\" maxOccurs=\"9\"/></xs:sequence></xs:complexType></xs:element></xs:sequence></xs:complexType>";
    let of_party = |name: &str| format!("<xs:element name=\"{name}\" type=\"Party\"/>");
    let ends = format!("{}{}{}", of_party("buyer"), of_party("seller"), of_party("carrier"));
    let schema = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{party}<xs:element name=\"order\"><xs:complexType><xs:sequence>{ends}\
         <xs:element name=\"item\" maxOccurs=\"9\"><xs:complexType><xs:sequence>{ends}</xs:sequence></xs:complexType></xs:element>\
         </xs:sequence></xs:complexType></xs:element></xs:schema>"
    );
    let address = |party: &str| {
        format!(
            "          05 {party}.\n             10 ADDR.\n                15 GEO.\n                   20 CITY PIC X(9).\n                15 TEL PIC 9(5) OCCURS 3 TIMES.\n"
        )
    };
    let copybook = format!("       01 REC.\n{}{}", address("BUYER"), address("SELLER"));
    let world =
        World::with([("o.shape", outline.as_bytes()), ("o.xsd", schema.as_bytes()), ("o.cpy", copybook.as_bytes())]);
    for (file, count) in [("o.shape", 11), ("o.xsd", 19), ("o.cpy", 4)] {
        let map = world.run(&format!("map new --from {file} --to {file}")).code(0).out();
        let found = proposals(&map);
        assert!(found.iter().all(|(target, value)| value == target || value == "it"), "{map}");
        assert!(found.len() == count && !map.contains('#'), "{file}: {} of {count}\n{map}", found.len());
    }
}

/// A field that several source fields resemble equally, or whose own path means another field, is a guess.
#[test]
fn a_choice_between_equal_fields_is_a_guess() {
    let world = World::with([
        ("two.shape", b"o\n  x\n    buyer\n      name text(9)\n  y\n    buyer\n      name text(9)\n".as_slice()),
        ("one.shape", b"o\n  buyer\n    name text(9)\n".as_slice()),
        ("lists.shape", b"o\n  x\n    rows* text(9)\n  y\n    rows* text(9)\n".as_slice()),
        ("list.shape", b"o\n  z\n    rows* text(9)\n".as_slice()),
    ]);
    for (from, to, line) in [
        ("two.shape", "one.shape", "buyer.name = x.buyer.name  # guess"),
        ("lists.shape", "list.shape", "for x.rows make z.rows = it  # guess"),
    ] {
        let map = world.run(&format!("map new --from {from} --to {to}")).code(0).out();
        assert!(map.lines().any(|found| found == line), "{line}: {map}");
    }
    let map = world.run("map new --from one.shape --to two.shape").code(0).out();
    assert!(!map.contains("# guess"), "{map}");
}

/// Regression: a map to a guide got loops over plain segments, which have no effect, and fields of the envelope counted as mandatory.
#[test]
fn a_guide_takes_no_plain_segments() {
    let ran = World::new().run("map new --from builtin:850-005010 --to builtin:810-005010");
    let map = ran.code(0).out();
    assert!(!map.contains("make segments") && !map.contains("segments"), "{map}");
    for field in ["standard", "delimiters.element", "delimiters.terminator"] {
        assert!(!map.contains(&format!("# {field}: mandatory")), "{map}");
    }
    assert!(map.contains("BIG.BIG01"), "{map}");
}

/// Regression: a list with the name of the target could not be made, because `make` with this name makes a document.
#[test]
fn a_list_with_the_name_of_the_target_is_set() {
    let world = World::new();
    world.write("o.shape", "doc\n  id text(5)\n  o*\n    id text(3)\n");
    world.run("map new --from o.shape --to o.shape -o x.qmap").code(0);
    let ran = world.write("in.jsonl", "{\"id\":\"a\",\"o\":[{\"id\":\"b\"}]}\n").run("translate -m x.qmap in.jsonl");
    assert_eq!(ran.code(0).out(), "{\"id\":\"a\",\"o\":[{\"id\":\"b\"}]}\n");
}

/// Regression: a member that was a number in one document and empty in another became a number, and the sample was refused.
#[test]
fn empty_texts_keep_a_member_a_text() {
    let world = World::new();
    let sample = "{\"a\":\"\",\"b\":\"true\",\"c\":[\"\"]}\n{\"a\":\"1\",\"b\":\"\",\"c\":[\"1\"]}\n";
    world.write("a.jsonl", sample).run("infer a.jsonl -o a.shape").code(0);
    world.run("map new --from a.shape --to a.shape -o a.qmap").code(0);
    assert_eq!(world.run("translate -q -m a.qmap a.jsonl").code(0).out(), sample);
}

#[test]
fn hints_give_names_that_the_map_can_use() {
    let world = World::new();
    world
        .write("s.shape", "s\n  T?\n    T\n      n text(3)\n")
        .write("o.shape", "doc\n  id text(5)\n  o*\n    id text(3)\n");
    let head = |source: &str| format!("map \"m\"\nsource \"{source}\"\ntarget o \"o.shape\"\n");
    // Regression: the path began inside the first group.
    world.write("path.qmap", head("s.shape") + "id = T.n\n");
    let err = world.run("map check path.qmap").code(2).err();
    assert!(err.contains("MAP-020") && err.contains("hint: it is at T.T.n"), "{err}");
    world.write("name.qmap", head("o.shape") + "id = id\nfor o make o { id = id }\n");
    let err = world.run("map check name.qmap").code(2).err();
    assert!(
        err.contains("MAP-029") && err.contains("to set `o` of the document, give the target another name"),
        "{err}"
    );
}
