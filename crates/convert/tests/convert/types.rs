use expect_test::{Expect, expect};
use quayline_project::TargetFormat;

use crate::kit::*;

const ORDERS: &str = "
       01 HEADER-REC.
          05 KIND       PIC X.
          05 RUN-DATE   PIC 9(8).
       01 CUSTOMER-REC.
          05 KIND       PIC X.
          05 CUST-ID    PIC 9(3).
       01 ORDER-REC.
          05 KIND       PIC X.
          05 ORDER-NO   PIC 9(2).
       01 LINE-REC.
          05 KIND       PIC X.
          05 ITEM       PIC X(4).
       01 NOTE-REC.
          05 KIND       PIC X.
          05 NOTE-TEXT  PIC X(9).
";

const NESTED: &str = r#"
exclude = ["KIND"]
[records]
by = "KIND"
[[records.type]]
skip = true
values = ["H", "T"]
[[records.type]]
record = "CUSTOMER-REC"
rename = "customer"
value = "C"
[[records.type]]
record = "ORDER-REC"
rename = "orders"
value = "O"
parent = "customer"
[[records.type]]
record = "LINE-REC"
rename = "lines"
value = "L"
parent = "orders"
[[records.type]]
record = "NOTE-REC"
rename = "notes"
value = "N"
parent = "customer"
"#;

const FLAT: &str = r#"
[records]
by = "KIND"
skip-first = 1
skip-last = 1
otherwise = "skip"
[[records.type]]
record = "CUSTOMER-REC"
value = "C"
[[records.type]]
record = "ORDER-REC"
value = "O"
"#;

fn lines(records: &[&str]) -> Vec<u8> {
    records.iter().flat_map(|record| [ebcdic(record), vec![0x25]].concat()).collect()
}

const FILE: [&str; 12] = [
    "H20240131",
    "C001",
    "O01",
    "LAAAA",
    "LBBBB",
    "Nfirst    ",
    "O02",
    "LCCCC",
    "C002",
    "C003",
    "Nlast     ",
    "T00000012",
];

fn kit(interface: &str, records_of: &[&str]) -> Kit {
    Kit::new(schema(ORDERS, interface), &lines(records_of), records("lines:lf25"), jsonl())
}

fn check(interface: &str, file: &[&str], expected: Expect) {
    let kit = kit(interface, file);
    let report = kit.ok();
    let t = report.tally;
    let counts = format!(
        "in {} out {} rejected {} skipped {}",
        t.records_in, t.records_out, t.records_rejected, t.records_skipped
    );
    let findings: Vec<String> = report.findings.iter().chain(&report.repeated).map(ToString::to_string).collect();
    expected.assert_eq(&format!(
        "{}{counts} documents {}\n{}\n",
        kit.text("out"),
        report.documents,
        findings.join("\n")
    ));
}

#[test]
fn a_record_is_told_by_a_field() {
    check(
        FLAT,
        &FILE,
        expect![[r#"
            {"CUSTOMER-REC":{"KIND":"C","CUST-ID":1}}
            {"ORDER-REC":{"KIND":"O","ORDER-NO":1}}
            {"ORDER-REC":{"KIND":"O","ORDER-NO":2}}
            {"CUSTOMER-REC":{"KIND":"C","CUST-ID":2}}
            {"CUSTOMER-REC":{"KIND":"C","CUST-ID":3}}
            in 12 out 5 rejected 0 skipped 7 documents 5
            note[CNV-039]: 5 records are of no record type, and are skipped; the first is here
              at in.dat, record 4, byte 19

            hint: if such a record is a parent, add a [[records.type]] for it: its children go to the parent before it
        "#]],
    );
}

#[test]
fn children_stand_in_their_parents() {
    check(
        NESTED,
        &FILE,
        expect![[r#"
            {"customer":{"CUST-ID":1,"orders":[{"ORDER-NO":1,"lines":[{"ITEM":"AAAA"},{"ITEM":"BBBB"}]},{"ORDER-NO":2,"lines":[{"ITEM":"CCCC"}]}],"notes":[{"NOTE-TEXT":"first"}]}}
            {"customer":{"CUST-ID":2}}
            {"customer":{"CUST-ID":3,"notes":[{"NOTE-TEXT":"last"}]}}
            in 12 out 10 rejected 0 skipped 2 documents 3
            warning[CNV-032]: 1 document has records of several types in turn, and shows those of each type together
              at in.dat, record 7, byte 42

            hint: `quayline convert --preserve` keeps the order, and writes the records in it again
        "#]],
    );
}

#[test]
fn records_that_belong_nowhere_are_rejected() {
    check(
        NESTED,
        &["O01", "LAAAA", "C001", "LBBBB", "X", "O02", "LCCCC"],
        expect![[r#"
            in 7 out 0 rejected 7 skipped 0 documents 0
            error[CNV-022]: no CUSTOMER-REC precedes this record as its parent
              at in.dat, record 1, byte 0

            hint: the file is not in order, or a record before it, which may be its parent, is of no known type
            error[CNV-022]: no ORDER-REC precedes this record as its parent
              at in.dat, record 2, byte 4

            hint: the file is not in order, or a record before it, which may be its parent, is of no known type
            error[CNV-027]: rejected along with record 4
              at in.dat, record 3, byte 10

            hint: a record and those nested in it are written or rejected together
            error[CNV-022]: no ORDER-REC precedes this record as its parent
              at in.dat, record 4, byte 15

            hint: the file is not in order, or a record before it, which may be its parent, is of no known type
            error[CNV-022]: no CUSTOMER-REC precedes this record as its parent
              at in.dat, record 6, byte 23

            hint: the file is not in order, or a record before it, which may be its parent, is of no known type
            error[CNV-022]: no ORDER-REC precedes this record as its parent
              at in.dat, record 7, byte 27

            hint: the file is not in order, or a record before it, which may be its parent, is of no known type
            error[CNV-026]: 1 record has the value `X` (1 byte from byte 0 on), which no record type has
              at in.dat, record 5, byte 21

            hint: known values are `H`, `T`, `C`, `O`, `L`, `N`; add the value to a [[records.type]], or set otherwise = "skip" in [records]
        "#]],
    );
}

#[test]
fn a_family_is_rejected_as_a_whole() {
    check(
        NESTED,
        &["C001", "O01", "C002", "Oxx", "LAAAA", "C003"],
        expect![[r#"
            {"customer":{"CUST-ID":1,"orders":[{"ORDER-NO":1}]}}
            {"customer":{"CUST-ID":3}}
            in 6 out 3 rejected 3 skipped 0 documents 2
            error[CNV-027]: rejected along with record 4
              at in.dat, record 3, byte 9

            hint: a record and those nested in it are written or rejected together
            error[REC-001]: digit 1 is 0xa7, expected a digit character
              at in.dat, record 4, byte 15, ORDER-NO (offset 1 in the record, 2 bytes, PIC 9(2))

            hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`
            error[CNV-027]: rejected along with record 4
              at in.dat, record 5, byte 18

            hint: a record and those nested in it are written or rejected together
        "#]],
    );
}

/// Families across block boundaries are the same as in one block, for any number of lanes, and are written back as the same records, although
/// the documents do not have the field with the record type.
#[test]
fn families_stay_together_across_blocks() {
    let mut file = vec!["H20240131".to_owned()];
    for customer in 0..9_000 {
        file.push(format!("C{:03}", customer % 1000));
        for order in 0..customer % 4 {
            file.push(format!("O{order:02}"));
            file.extend((0..order).map(|line| format!("L{line:04}")));
        }
        file.extend((customer % 5 == 0).then(|| format!("N{:<9}", "note")));
    }
    let records_of: Vec<&str> = file.iter().map(String::as_str).collect();
    let mut kit = kit(NESTED, &records_of);
    let report = kit.ok();
    assert_eq!((report.documents, report.tally.records_skipped), (9_000, 1));
    assert_eq!(report.tally.records_rejected, 0, "{:?}", report.findings.first());
    let json = kit.bytes("out");
    kit.lanes = 3;
    kit.ok();
    assert!(kit.bytes("out") == json);
    let back = Kit::new(schema(ORDERS, NESTED), &json, JSON, TargetFormat::Records(framing("lines:lf25")));
    let report = back.ok();
    assert_eq!(report.tally.records_rejected, 0, "{:?}", report.findings.first());
    assert!(back.bytes("out") == lines(&records_of[1..]));
}

/// Trailers by count are held back while families are cut, in framings with and without state between records.
#[test]
fn families_and_trailers_stand_in_any_framing() {
    let interface = NESTED.replace("[records]\n", "[records]\nskip-first = 1\nskip-last = 2\n");
    let mut file = vec!["H20240131".to_owned()];
    for customer in 0..12_000 {
        file.push(format!("C{:03}", customer % 1000));
        file.extend((0..customer % 7).map(|order| format!("O{order:02}")));
    }
    file.extend(["C998".to_owned(), "O99".to_owned()]);
    let records_in = file.len() as u64;
    for spec in ["rdw", "vb", "vbs", "mf", "lines:lf25"] {
        let options = Default::default();
        let mut framer = quayline_frame::Framer::new(&framing(spec), options, &Default::default()).expect("a framing");
        let mut data = Vec::new();
        file.iter().for_each(|record| framer.frame(&ebcdic(record), &mut data).expect("fits"));
        framer.finish(&mut data);
        let mut kit = Kit::new(schema(ORDERS, &interface), &data, records(spec), jsonl());
        let report = kit.ok();
        let t = report.tally;
        assert_eq!((t.records_in, t.records_skipped, t.records_rejected), (records_in, 3, 0), "{spec}");
        assert_eq!(report.documents, 12_000, "{spec}");
        let one = kit.bytes("out");
        kit.lanes = 2;
        kit.ok();
        assert!(kit.bytes("out") == one, "{spec}");
        let back = Kit::new(schema(ORDERS, &interface), &one, JSON, TargetFormat::Records(framing("lines:lf25")));
        back.ok();
        let sound: Vec<&str> = file[1..file.len() - 2].iter().map(String::as_str).collect();
        assert!(back.bytes("out") == lines(&sound), "{spec}");
    }
}

/// Regression: a file of a header alone, cut off after it, was converted to nothing without a finding.
#[test]
fn a_file_with_fewer_records_than_headers_and_trailers_has_a_warning() {
    let interface = NESTED.replace("[records]\n", "[records]\nskip-first = 1\nskip-last = 2\n");
    for file in [&["H20240131"][..], &["H20240131", "C001"], &["H20240131", "C001", "O01"], &[]] {
        let report = kit(&interface, file).ok();
        let found: Vec<&str> = report.findings.iter().map(|finding| finding.code.0).collect();
        let expected = match file.len() {
            0 => &["FRM-007"][..],
            1 | 2 => &["CNV-036"],
            _ => &[],
        };
        assert_eq!(found, expected, "{file:?}");
        assert_eq!((report.documents, report.tally.records_skipped), (0, file.len() as u64), "{file:?}");
    }
}

/// A file of one record type with a header needed a field that distinguishes it from nothing.
#[test]
fn one_record_type_needs_no_field_that_identifies_it() {
    let interface = "[records]\nskip-first = 1\nskip-last = 1\n[[records.type]]\nrecord = \"CUSTOMER-REC\"\n";
    let file = ["H20240131", "C001", "X002", "T"];
    let kit = kit(interface, &file);
    let report = kit.ok();
    assert_eq!((report.documents, report.tally.records_skipped), (2, 2));
    let text = String::from_utf8(kit.bytes("out")).expect("UTF-8");
    assert!(text.lines().count() == 2 && text.contains("\"CUST-ID\":2"), "{text}");
    let back = Kit::new(schema(ORDERS, interface), text.as_bytes(), JSON, TargetFormat::Records(framing("lines:lf25")));
    back.ok();
    assert!(back.bytes("out") == lines(&file[1..3]), "headers and trailers are not written");
    // What could distinguish types needs all of it.
    refused(
        &interface.replace("record =", "value = \"C\"\nrecord ="),
        expect![[r#"
        error[PRJ-004]: nothing distinguishes records of this type from others
          at test.toml:4:1
          |
        4 | [[records.type]]
          | ^^^^^^^^^^^^^^^^

        hint: add `by = "FIELD"` to [records] or to the type"#]],
    );
}

#[test]
fn a_family_has_a_limit() {
    let mut file = vec!["C001"];
    file.extend(core::iter::repeat_n("O01", 200_000));
    let kit = kit(NESTED, &file);
    let mut conversion = kit.conversion();
    conversion.limits.record_bytes_max = 500_000;
    let error = checked(conversion.run()).expect_err("800,000 bytes in one family");
    expect![[r#"
        error[CNV-023]: this record and those nested in it take more than 500000 bytes
          at in.dat, record 1

        hint: convert the record types without `parent`, or allow more with `--limit record-bytes=N`"#]]
    .assert_eq(&said(&kit, &error));
    assert_eq!(kit.ok().documents, 1);
}

#[test]
fn documents_of_types_encode_to_their_records() {
    let json = r#"{"CUSTOMER-REC":{"KIND":"C","CUST-ID":7}}{"ORDER-REC":{"KIND":"O","ORDER-NO":12}}{}{"ORDER-REC":{"ORDER-NO":123}}"#;
    let kit = Kit::new(schema(ORDERS, FLAT), json.as_bytes(), JSON, TargetFormat::Records(framing("lines:lf25")));
    let report = kit.ok();
    assert_eq!(kit.bytes("out"), lines(&["C007", "O12"]));
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    expect![[r#"
        error[CNV-028]: the document holds no record
          at in.dat:1, record 3, byte 81

        hint: give it one member, named after a record type and holding its fields
        error[REC-023]: number has 3 digits before the point, field holds 2
          at in.dat:1, record 4, byte 83, ORDER-REC: $.ORDER-NO (2 bytes, PIC 9(2))

        hint: send a number that fits the picture; a binary field (COMP) whose program uses the full range of its bytes takes it with `--set truncate=no`, and what `--preserve` decoded comes back whole"#]]
    .assert_eq(&findings.join("\n"));
}

const VIEWS: &str = "
       01 REC.
          05 KIND  PIC 9(3) COMP-3.
          05 BODY.
             10 A PIC X(4).
          05 BODY-B REDEFINES BODY.
             10 B PIC 9(4).
";

#[test]
fn a_type_may_be_a_view_of_shared_storage_told_by_a_number() {
    let interface = r#"
[records]
by = "KIND"
[[records.type]]
record = "REC"
view = "BODY"
value = 1
[[records.type]]
record = "REC"
view = "BODY-B"
value = 20
"#;
    let mut data = vec![0x00, 0x1c];
    data.extend(ebcdic("text"));
    data.extend([0x02, 0x0f]);
    data.extend(ebcdic("1234"));
    let kit = Kit::new(schema(VIEWS, interface), &data, records("fixed:6"), jsonl());
    kit.ok();
    expect![[r#"
        {"BODY":{"KIND":1,"BODY":{"A":"text"}}}
        {"BODY-B":{"KIND":20,"BODY-B":{"B":1234}}}
    "#]]
    .assert_eq(&kit.text("out"));
}

fn refused(interface: &str, expected: Expect) {
    let findings = try_schema(ORDERS, interface).expect_err("does not fit");
    expected.assert_eq(&findings.to_string());
}

#[test]
fn rules_that_do_not_fit_the_copybook_are_errors() {
    refused(
        "",
        expect![[r#"
        error[CNV-020]: the copybook has 5 record descriptions, expected one

        hint: name one of HEADER-REC, CUSTOMER-REC, ORDER-REC, LINE-REC, NOTE-REC, or tell them apart by [records] in the interface file"#]],
    );
    refused(
        r#"
exclude = ["KIND", "CUST-IDD"]
[records]
by = "KINDD"
[[records.type]]
record = "CUSTOMER-REC"
value = "C"
[[records.type]]
record = "ORDER-RECORD"
value = "O"
"#,
        expect![[r#"
            error[CNV-025]: no record type has a field `CUST-IDD`
              at test.toml:2:20
              |
            2 | exclude = ["KIND", "CUST-IDD"]
              |                    ^^^^^^^^^^

            hint: check its spelling, or add the record that has it to [records]

            error[CNV-024]: `KINDD` is not a field of record CUSTOMER-REC
              at test.toml:4:6
              |
            4 | by = "KINDD"
              |      ^^^^^^^

            hint: give the type a `by` of its own, or bytes: by = { offset = 0, length = 2 }

            error[CNV-020]: the copybook has no record description `ORDER-RECORD`
              at test.toml:9:10
              |
            9 | record = "ORDER-RECORD"
              |          ^^^^^^^^^^^^^^

            hint: it has HEADER-REC, CUSTOMER-REC, ORDER-REC, LINE-REC, NOTE-REC"#]],
    );
    refused(
        r#"
[records]
by = "ORDER-NO"
[[records.type]]
record = "ORDER-REC"
value = "O"
[[records.type]]
record = "CUSTOMER-REC"
value = "C"
view = "CUST-ID"
by = "KIND"
"#,
        expect![[r#"
            error[CNV-024]: `ORDER-NO` cannot hold one of these values
              at test.toml:4:1
              |
            4 | [[records.type]]
              | ^^^^^^^^^^^^^^^^

            hint: number fields need whole numbers of at most their digits, negative ones only with a sign in the picture; text fields need at most their length in characters of the code page, or all their bytes as 0x…

            error[CNV-021]: `CUST-ID` shares its storage with no other field
              at test.toml:10:8
               |
            10 | view = "CUST-ID"
               |        ^^^^^^^^^

            hint: leave `view` out"#]],
    );
    refused(
        r#"
[records]
by = "KIND"
[[records.type]]
record = "CUSTOMER-REC"
value = "C"
rename = "a"
[[records.type]]
record = "ORDER-REC"
value = "O"
rename = "a"
[[records.type]]
record = "LINE-REC"
value = "L"
rename = "CUST-ID"
parent = "CUSTOMER-REC"
"#,
        expect![[r#"
            error[CNV-021]: the key `a` is taken
              at test.toml:8:1
              |
            8 | [[records.type]]
              | ^^^^^^^^^^^^^^^^

            hint: give the type another key: rename = "…"

            error[CNV-021]: the key `CUST-ID` is taken
              at test.toml:12:1
               |
            12 | [[records.type]]
               | ^^^^^^^^^^^^^^^^

            hint: give the type another key: rename = "…""#]],
    );
}

/// Converts records. Returns the documents, and the rejected records.
fn converted(file: &[String]) -> (Vec<String>, Vec<String>) {
    let kit = kit(NESTED, &file.iter().map(String::as_str).collect::<Vec<_>>());
    kit.ok();
    let character = |byte: &u8| (' '..='z').find(|c| ebcdic(&c.to_string()) == [*byte]).expect("a character");
    let rejects = if kit.names().iter().any(|name| name == "rejects") { kit.bytes("rejects") } else { Vec::new() };
    let records = rejects.split(|byte| *byte == 0x25).filter(|record| !record.is_empty());
    let documents = kit.text("out").lines().map(str::to_owned).collect();
    (documents, records.map(|record| record.iter().map(character).collect()).collect())
}

/// Orphans came before the document that they may belong to, or without it, so corrected rejects gave children to the wrong parent.
#[test]
fn corrected_rejects_are_the_documents_of_the_corrected_file() {
    let files: [&[&str]; 4] = [
        &["C001", "Oxx", "C002", "O22", "X023", "O24", "C003"],
        &["C001", "Oxx", "C002", "Oxx", "X023", "O24", "C003", "O33"],
        &["C001", "C002", "O22", "X023", "LAAAA", "C003"],
        &["C001", "O11", "LAAAA", "X022", "LBBBB", "C002", "C003"],
    ];
    for file in files {
        for fixed in ["C0", "O"] {
            let correct = |records: Vec<String>| -> Vec<String> {
                records.iter().map(|record| record.replace("xx", "77").replacen("X0", fixed, 1)).collect()
            };
            let source: Vec<String> = file.iter().map(ToString::to_string).collect();
            let (mut found, rejects) = converted(&source);
            assert!(!rejects.is_empty(), "{file:?}");
            let (more, none) = converted(&correct(rejects));
            found.extend(more);
            let (mut expected, still) = converted(&correct(source));
            found.sort();
            expected.sort();
            assert_eq!((&found, none.len()), (&expected, still.len()), "{file:?} with {fixed}");
        }
    }
}
