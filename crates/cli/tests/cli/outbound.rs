//! EDI that `translate` and `convert` write: its guide judges it before it is kept.

use expect_test::expect;

use crate::edi::{examples, po};
use crate::world::{Ran, World};

const ROWS: &str = "number,date,kind,name,quantity,lines\n";

const LAYOUT: &str = "layout = \"csv\"
[[field]]
name = \"number\"
length = 14
required = true
[[field]]
name = \"date\"
length = 8
required = true
[[field]]
name = \"kind\"
length = 2
[[field]]
name = \"name\"
length = 30
required = true
[[field]]
name = \"quantity\"
type = \"decimal\"
digits = 9
[[field]]
name = \"lines\"
type = \"decimal\"
digits = 6
required = true
";

const MAP: &str = "map \"rows to 810\"
source \"rows.toml\"
target invoice \"810.guide\"

omit standard
make BIG {
  BIG01 = date
  BIG02 = number
  BIG07 = kind
}
make N1 {
  N1.N101 = \"ST\"
  N1.N102 = name
}
make IT1 {
  IT1.IT102 = quantity ?? 1
  IT1.IT103 = \"EA\"
  IT1.IT104 = 2
}
TDS.TDS01 = 5
CTT.CTT01 = lines
";

/// Rows that become invoices, each a document.
pub(crate) fn invoices(rows: &str) -> World {
    let world = examples();
    world.write("rows.toml", LAYOUT).write("rows.qmap", MAP).write("rows.csv", format!("{ROWS}{rows}"));
    world
}

pub(crate) const TRANSLATE: &str =
    "translate -m rows.qmap rows.csv --sender ZZ:ACME --receiver ZZ:DC7 --now 2026-04-15T12:00:00";

/// Returns the transactions of an output, without their envelopes.
fn transactions(ran: &Ran) -> String {
    let out = String::from_utf8(ran.stdout.clone()).expect("UTF-8");
    out.split_inclusive('~').filter(|segment| !["ISA", "GS*", "GE*", "IEA"].contains(&&segment[..3])).collect()
}

/// Checks that `validate` accepts the output of a run.
fn accepted(world: &World, ran: &Ran) {
    world.write("out.x12", &ran.stdout);
    world.run("validate out.x12 -g 810.guide").code(0);
}

#[test]
fn documents_that_break_the_guide_are_rejected_with_both_places() {
    // Right, a code, a date, a count, right.
    let world = invoices(
        "A1,20260415,DI,ACME,1,1\nA2,20260415,ZZ,ACME,1,1\nA3,04152026,DI,ACME,1,1\nA4,20260415,DI,ACME,1,7\nA5,20260415,DI,ACME,1,1\n",
    );
    let ran = world.run(&format!("{TRANSLATE} --rejects bad.csv"));
    ran.code(1);
    expect![[r#"
        error[EDI-114]: BIG07 (Kind of transaction) is not in its code list
          at rows.csv, record 2, byte 61, output interchange 1, group 1, transaction 2, segment 2, element 7 (X12.3, code sources)

        hint: write one of the codes that the guide lists for BIG07

        error[EDI-117]: BIG01 (Date) is not a date, expected CCYYMMDD
          at rows.csv, record 3, byte 85, output interchange 1, group 1, transaction 2, segment 2, element 1 (X12.6, data element types and lengths)

        hint: write CCYYMMDD

        error[EDI-130]: the number of lines differs (lines)
          at rows.csv, record 4, byte 109, output interchange 1, group 1, transaction 2, segment 6, element 1 (the implementation guide)

        hint: the rule is in the guide's `rules`

        3 of 5 documents rejected, checked by guide 810: bad.csv contains the rejected ones, bad.csv.findings.jsonl the reasons
    "#]]
    .assert_eq(&ran.err());
    expect!["ST*810*0001~BIG*20260415*A1*****DI~N1*ST*ACME~IT1**1*EA*2~TDS*500~CTT*1~SE*7*0001~ST*810*0002~BIG*20260415*A5*****DI~N1*ST*ACME~IT1**1*EA*2~TDS*500~CTT*1~SE*7*0002~"].assert_eq(&transactions(&ran));
    expect![[r#"
        number,date,kind,name,quantity,lines
        A2,20260415,ZZ,ACME,1,1
        A3,04152026,DI,ACME,1,1
        A4,20260415,DI,ACME,1,7
    "#]]
    .assert_eq(&String::from_utf8(world.read("bad.csv")).expect("text"));
    accepted(&world, &ran);
    // Without a file for rejects, the first rejected document ends the run.
    world.run(TRANSLATE).code(1);
    // Written all the same, on demand.
    let ran = world.run(&format!("{TRANSLATE} --output-level none"));
    assert_eq!(ran.code(0).stdout.split(|byte| *byte == b'~').filter(|segment| segment.starts_with(b"BIG")).count(), 5);
}

#[test]
fn a_line_break_in_a_value_is_refused_at_every_level() {
    let world = invoices("A1,20260415,DI,\"ACME\nDC 7\",1,1\n");
    for level in ["none", "rules"] {
        let ran = world.run(&format!("{TRANSLATE} --output-level {level}"));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        expect![[r#"
            error[EDI-063]: the text has a line break, which readers of interchanges leave out
              at rows.csv, record 1, byte 37

            hint: replace line breaks with spaces, for example in the map, or write a segment for each line
        "#]]
        .assert_eq(&ran.err());
    }
}

#[test]
fn control_numbers_that_are_none_or_repeat_are_refused() {
    let world = invoices("A1,20260415,DI,ACME,1,1\nA2,20260415,DI,ACME,1,1\n");
    let map = MAP.replace("omit standard\n", "omit standard\ninterchange.control_number = number\n");
    world.write("rows.qmap", map);
    world.run(TRANSLATE).check(expect![[r#"
        exit 1
        --- stderr
        warning[MAP-066]: ISA13 is one to nine digits, and this text may hold other characters
          at rows.qmap:6:30
          |
        6 | interchange.control_number = number
          |                              ^^^^^^

        hint: leave it out, so that numbers count, or write a number in a format: format(…, "000000000")

        error[EDI-038]: ISA13 is not nine digits
          at rows.csv, record 1, byte 37, output interchange 1, segment 1, element 13 (X12.5 and X12.6, control segments)

        hint: correct the envelope value, in the document, the map or the arguments
    "#]]);
    world.write("rows.qmap", MAP.replace("omit standard\n", "omit standard\ntransaction.control_number = \"9001\"\n"));
    let ran = world.run(&format!("{TRANSLATE} --rejects bad.csv"));
    ran.code(1);
    expect![[r#"
        error[EDI-039]: ST02 stood before in this group
          at rows.csv, record 2, byte 61, output interchange 1, group 1, transaction 2, segment 1, element 2 (X12.5 and X12.6, control segments)

        hint: leave control numbers out, so that they count, or give each its own

        1 of 2 documents rejected, checked by guide 810: bad.csv contains the rejected ones, bad.csv.findings.jsonl the reasons
    "#]].assert_eq(&ran.err());
    accepted(&world, &ran);
}

#[test]
fn strict_rules_hold_for_what_is_written() {
    let world = invoices("A1,20260415,DI,ACME,1,1\n");
    let ran = world.run(&format!("{TRANSLATE} --strict"));
    ran.code(0);
    world.write("out.x12", &ran.stdout);
    world.run("validate out.x12 -g 810.guide --strict").code(0);
}

const DOCUMENT: &str = r#"{"standard":"X12","interchange":{"sender_qualifier":"ZZ","sender":"A","receiver_qualifier":"ZZ","receiver":"B","date":"260415","time":"1200","version":"00501"},"group":{"sender":"A","receiver":"B","date":"20260415","time":"1200"},"transaction":{},"BIG":{"BIG01":"20260415","BIG02":"INV-1"},"IT1":[{"IT1":{"IT102":1,"IT103":"EA","IT104":2}}],"TDS":{"TDS01":5}}"#;

#[test]
fn json_without_what_is_mandatory_is_refused() {
    let world = examples();
    let without = DOCUMENT.replace("\"BIG01\":\"20260415\",", "").replace(",\"TDS\":{\"TDS01\":5}", "");
    world.write("d.jsonl", format!("{DOCUMENT}\n{without}\n{DOCUMENT}\n"));
    let ran = world.run("convert d.jsonl -g 810.guide --to edi --rejects bad.jsonl");
    ran.code(1);
    expect![[r#"
        error[EDI-111]: BIG01 (Date) is missing
          at d.jsonl:2:1, record 2, byte 360, output interchange 1, group 1, transaction 2, segment 2, element 1 (X12.6, data segment structure)

        hint: write BIG01

        error[EDI-108]: TDS is missing
          at d.jsonl:2:1, record 2, byte 360, output interchange 1, group 1, transaction 2, segment 4 (X12.6, transaction set structure)

        hint: write TDS before this segment

        1 of 3 records rejected, checked by guide 810: bad.jsonl contains the rejected ones, bad.jsonl.findings.jsonl the reasons
    "#]].assert_eq(&ran.err());
    assert_eq!(world.read("bad.jsonl"), format!("{without}\n").as_bytes());
    accepted(&world, &ran);
    // The last document, for which it is unknown whether a page of its transaction follows.
    world.write("d.jsonl", format!("{DOCUMENT}\n{without}\n"));
    let ran = world.run("convert d.jsonl -g 810.guide --to edi --rejects bad.jsonl");
    ran.code(1);
    assert_eq!(world.read("bad.jsonl"), format!("{without}\n").as_bytes());
    accepted(&world, &ran);
    world.run("convert d.jsonl -g 810.guide --to edi").code(1);
    world.run("convert d.jsonl -g 810.guide --to edi --output-level none").code(0);
    world.run("convert d.jsonl -g 810.guide --to edi --output-level envelope").code(0);
}

#[test]
fn pages_of_a_transaction_are_checked_as_one() {
    let world = examples();
    world.run("convert claims.x12 -g x12-claims.guide --to jsonl -o whole.jsonl").code(2);
    let guide = "-g 837p-acme.guide";
    world.run(&format!("convert claims.x12 {guide} --page 1 -o pages.jsonl")).code(0);
    assert!(world.read("pages.jsonl").iter().filter(|byte| **byte == b'\n').count() > 1, "several pages");
    world.run(&format!("convert pages.jsonl {guide} -o back.x12")).code(0);
    assert_eq!(world.read("back.x12"), world.read("claims.x12"));
    world.run(&format!("convert claims.x12 {guide} --page 1 --to edi -o back.x12")).code(0);
    assert_eq!(world.read("back.x12"), world.read("claims.x12"));
}

/// Given control numbers are initial values, also for alternating receivers.
#[test]
fn control_numbers_never_repeat_in_a_run() {
    let world =
        invoices("A1,20260415,DI,P7,1,1\nA2,20260415,DI,P8,1,1\nA3,20260415,DI,P7,1,1\nA4,20260415,DI,P7,1,1\n");
    world.write("rows.qmap", MAP.replace("omit standard\n", "omit standard\ninterchange.receiver = left(name, 15)\n"));
    for (options, expected) in [
        ("", ["*000000001*", "*000000002*", "*000000003*", "~GE*2*3~IEA*1*000000003~"]),
        ("--control-number 500", ["*000000500*", "*000000501*", "*000000502*", "~GE*2*3~IEA*1*000000502~"]),
        (
            "--envelope transaction.control_number=9001 --envelope group.control_number=77",
            ["~SE*7*9001~GE*1*77~", "~SE*7*9002~GE*1*78~", "~ST*810*9004~", "~GE*2*79~IEA*1*000000003~"],
        ),
    ] {
        let ran = world.run(&format!("{TRANSLATE} {options}"));
        ran.code(0);
        let out = String::from_utf8(ran.stdout.clone()).expect("UTF-8");
        for part in expected {
            assert!(out.contains(part), "{options}: {part} is not in {out}");
        }
        accepted(&world, &ran);
        let folder = world.path("split");
        let _ = std::fs::create_dir(&folder);
        world.run(&format!("{TRANSLATE} {options} --split split")).code(0);
    }
}

/// Interchange references of EDIFACT have up to 14 digits. A number of more than nine was written into each interchange.
#[test]
fn control_numbers_of_edifact_have_14_digits() {
    let world = examples();
    world.write("edi/orders.guide", include_str!("../../../../examples/edi/orders.guide"));
    world.write("s.shape", "d\n  no text(10)\n  part text(10)\n").write(
        "m.qmap",
        "map \"x\"\nsource \"s.shape\"\ntarget order \"edi/orders.guide\"\nomit standard\ninterchange.receiver = part\n\
         make BGM {\n  BGM01.BGM01-1 = \"220\"\n  BGM02 = no\n}\n\
         make DTM {\n  DTM01.DTM01-1 = \"137\"\n  DTM01.DTM01-2 = \"20260401\"\n  DTM01.DTM01-3 = \"102\"\n}\nmake UNS {\n  UNS01 = \"S\"\n}\n",
    );
    world.write("d.jsonl", "{\"no\":\"1\",\"part\":\"A\"}\n{\"no\":\"2\",\"part\":\"B\"}\n");
    let run = |first: &str, expected: [&str; 2]| {
        let ran = world.run(&format!(
            "translate -m m.qmap d.jsonl --sender 14:US --receiver 14:THEM --control-number {first} --output-level envelope"
        ));
        ran.code(0);
        let out = ran.out();
        let numbers: Vec<&str> = out.split("UNZ+1+").skip(1).filter_map(|rest| rest.split('\'').next()).collect();
        assert_eq!(numbers, expected, "{out}");
    };
    run("99999999999998", ["99999999999998", "99999999999999"]);
    run("99999999999999", ["99999999999999", "1"]);
}

/// Regression: GS07 stayed X, and ISA11 stayed the repetition separator, without a finding.
#[test]
fn envelope_values_of_agency_and_standards_take_effect_or_are_refused() {
    let world = invoices("A1,20260415,DI,ACME,1,1\n");
    for (options, agency) in [("", "*1*X*00"), ("--envelope group.agency=T", "*1*T*00")] {
        let ran = world.run(&format!("{TRANSLATE} {options}"));
        ran.code(0);
        let out = String::from_utf8(ran.stdout.clone()).expect("UTF-8");
        assert!(out.contains(agency), "{options}: {out}");
    }
    let ran =
        world.run(&format!("{TRANSLATE} --envelope interchange.standards_id=X --envelope interchange.version=00501"));
    ran.code(2);
    let err = ran.err();
    assert!(
        err.contains("the value of --envelope interchange.standards_id has no effect: from version 00402"),
        "{err}"
    );
    world
        .run(&format!("{TRANSLATE} --envelope interchange.standards_id=U --envelope interchange.version=00401"))
        .code(0);
}

#[test]
fn envelope_values_that_nobody_takes_or_that_are_wrong_are_refused() {
    let world = invoices("A1,20260415,DI,ACME,1,1\n");
    let mut said = String::new();
    for options in [
        "--envelope interchange.usage=T",
        "--envelope group.vershun=1",
        "--envelope foo.bar=1",
        "--envelope interchange.test=X",
        "--control-number INV1",
        "--envelope group.control_number=007",
        "--envelope transaction.control_number=00402",
        "--receiver ZZ:A-NAME-OF-17-CHARS",
    ] {
        let ran = world.run(
            &format!("{TRANSLATE} {options}")
                .replace(" --receiver ZZ:DC7", if options.contains("receiver") { "" } else { " --receiver ZZ:DC7" }),
        );
        ran.code(2);
        said.push_str(&ran.err());
    }
    expect![[r#"
        error[CLI-003]: no output has a header field `interchange.usage`, and the map does not read `envelope.interchange.usage`

        hint: is `interchange.test` meant? fields of `interchange`: acknowledgment_requested, authorization, authorization_qualifier, control_number, date, receiver, receiver_qualifier, security, security_qualifier, sender, sender_qualifier, standards_id, test, time, version
        error[CLI-003]: no output has a header field `group.vershun`, and the map does not read `envelope.group.vershun`

        hint: is `group.version` meant? fields of `group`: agency, control_number, date, functional_id, receiver, sender, time, version
        error[CLI-003]: no output has a header field `foo.bar`, and the map does not read `envelope.foo.bar`

        hint: fields of `interchange`: acknowledgment_requested, authorization, authorization_qualifier, control_number, date, receiver, receiver_qualifier, security, security_qualifier, sender, sender_qualifier, standards_id, test, time, version
        error[CLI-003]: the value of --envelope interchange.test does not fit ISA15: it is not P, T or I

        hint: correct the value
        error[CLI-003]: the value of --control-number does not fit ISA13: it is not one to nine digits

        hint: correct the value
        error[CLI-003]: the value of --envelope group.control_number does not fit GS06: it is not a number without leading zeros, from which Quayline counts

        hint: correct the value
        error[CLI-003]: the value of --envelope transaction.control_number does not fit ST02: it is not a number without leading zeros, from which Quayline counts

        hint: correct the value
        error[CLI-003]: the value of --receiver does not fit ISA08: it is not at most 15 characters

        hint: correct the value
    "#]].assert_eq(&said);
    for options in ["interchange.test=T", "transaction.control_number=0402", "control_number=000000007"] {
        world.run(&format!("{TRANSLATE} --envelope {options}")).code(0);
    }
}

#[test]
fn what_a_guide_never_allows_is_a_finding_of_the_map() {
    let world = invoices("A1,20260415,DI,ACME,1,1\n");
    let map = MAP
        .replace("omit standard\n", "omit standard\ninterchange.control_number = number\nenvelope.reciever = \"X\"\n")
        .replace("BIG01 = date\n", "BIG01 = format(date(date, \"CCYYMMDD\"), \"MMDDCCYY\")\n")
        .replace("BIG07 = kind", "BIG07 = \"ZZ\"");
    world.write("rows.qmap", map);
    world.run("map check rows.qmap").check(expect![[r#"
        exit 2
        --- stdout
        rows.qmap: 1 error, 3 warnings; it cannot run
        --- stderr
        warning[MAP-066]: ISA13 is one to nine digits, and this text may hold other characters
          at rows.qmap:6:30
          |
        6 | interchange.control_number = number
          |                              ^^^^^^

        hint: leave it out, so that numbers count, or write a number in a format: format(…, "000000000")

        warning[MAP-066]: `BIG.BIG01` does not allow dates and times in this format: BIG01 (Date) is not a date, expected CCYYMMDD
          at rows.qmap:9:11
          |
        9 |   BIG01 = format(date(date, "CCYYMMDD"), "MMDDCCYY")
          |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        hint: choose the format of the leaf: format(…, "CCYYMMDD")

        warning[MAP-066]: `BIG.BIG07` does not allow this text: BIG07 (Kind of transaction) is not in its code list
          at rows.qmap:11:11
           |
        11 |   BIG07 = "ZZ"
           |           ^^^^

        hint: correct the text: documents with it are rejected when they are written

        error[MAP-067]: no header of an output has a field `reciever`
          at rows.qmap:7:10
          |
        7 | envelope.reciever = "X"
          |          ^^^^^^^^

        hint: did you mean receiver?
    "#]]);
    world.write("back.json", "{\"type\": \"object\", \"properties\": {\"kind\": {\"type\": \"string\"}}}");
    world.write(
        "back.qmap",
        "source \"810.guide\"\ntarget back \"back.json\"\n\nkind = if CUR.CUR01 = \"ZZ\" then \"a\" else \"b\"\n",
    );
    world.run("map check back.qmap").check(expect![[r#"
        exit 0
        --- stdout
        back.qmap: 1 warning
        --- stderr
        warning[MAP-060]: this never holds: CUR01 (Part that a party plays) is not in its code list
          at back.qmap:4:11
          |
        4 | kind = if CUR.CUR01 = "ZZ" then "a" else "b"
          |           ^^^^^^^^^^^^^^^^

        hint: correct the constant
    "#]]);
}

/// Regression: a letter beyond ASCII was written silently into X12, which names no character set, while `validate` reported it.
#[test]
fn letters_beyond_the_set_of_the_interchange_are_told() {
    let world = invoices("A1,20260415,DI,\u{c4}CME,1,1\nA2,20260415,DI,ACME,1,1\n");
    let ran = world.run(TRANSLATE);
    ran.code(0);
    expect![[r#"
        warning[EDI-041]: the text has bytes that are not in its character set; they are read as ISO-8859-1, here and further on in this interchange
          at rows.csv, record 1, byte 37, output interchange 1, group 1, transaction 1, segment 3, element 2 (X12.6, character set, and ISO 9735-1, character repertoires)

        hint: agree on a character set with the partner and name it, such as utf-8; EDIFACT names it in UNB
    "#]].assert_eq(&ran.err());
    world.write("po.edi", po().replacen("P1**", "P\u{dc}**", 1));
    let ran = world.run("convert po.edi --encoding utf-8 -o po.jsonl --rejects bad.edi");
    assert!(!ran.err().contains("EDI-041"), "{}", ran.err());
    let ran = world.run("convert po.jsonl --to edi -o told.edi");
    assert!(ran.code(0).err().contains("warning[EDI-041]"), "{}", ran.err());
    let ran = world.run("convert po.jsonl --to edi --encoding utf-8 -o named.edi");
    assert!(!ran.code(0).err().contains("EDI-041"), "{}", ran.err());
}
