//! Values of every encoding, their policies and their way back.

use expect_test::expect;
use quayline_cobol::{
    Absent, BadValue, FieldRule, Fillers, Interface, KeyStyle, Policies, Preserve, RedefinesChoice, RedefinesPolicy,
    Trim,
};

use crate::{decode, ebcdic, encode, hex, layout, plan, plan_in, to_hex};

/// Decodes `record`, compares the JSON, and encodes it back to the same bytes.
fn check(copybook: &str, record: &[u8], json: expect_test::Expect) {
    let plan = plan(copybook, &Interface::default(), &Policies::default());
    let got = decode(&plan, record).unwrap_or_else(|faults| panic!("{faults}"));
    json.assert_eq(&got);
    assert_eq!(encode(&plan, &got).map(|r| to_hex(&r)), Ok(to_hex(record)), "{got}");
}

fn faults(copybook: &str, record: &[u8], policies: &Policies) -> String {
    decode(&plan(copybook, &Interface::default(), policies), record).unwrap_or_else(|faults| faults)
}

#[test]
fn zoned() {
    check(
        "01 R.\n 05 A PIC S9(3)V99.\n 05 B PIC 9(3).",
        &hex("f1f2f3f4d5 f0f0f7"),
        expect![[r#"{"A":-123.45,"B":7}"#]],
    );
    check("01 R.\n 05 A PIC S9(3).", &hex("f0f0d0"), expect![[r#"{"A":-0}"#]]);
    check("01 R.\n 05 A PIC S9(3) SIGN LEADING.", &hex("d1f2f3"), expect![[r#"{"A":-123}"#]]);
    check("01 R.\n 05 A PIC S9(3) LEADING SEPARATE.", &hex("60f1f2f3"), expect![[r#"{"A":-123}"#]]);
    check("01 R.\n 05 A PIC S9(3)V9 TRAILING SEPARATE.", &hex("f1f2f3f44e"), expect![[r#"{"A":123.4}"#]]);
    check(
        "01 R.\n 05 A PIC S9(20)V9.",
        &hex(&format!("{}d1", "f1".repeat(20))),
        expect![[r#"{"A":-11111111111111111111.1}"#]],
    );
    check(
        "01 R.\n 05 A PIC 9(3)PPP.\n 05 B PIC VPP9(3).",
        &hex("f1f2f3 f1f2f3"),
        expect![[r#"{"A":123000,"B":0.00123}"#]],
    );
    check("01 R.\n 05 A PIC 9(3) BLANK WHEN ZERO.", &hex("404040"), expect![[r#"{"A":0}"#]]);
}

#[test]
fn packed_and_binary() {
    check(
        "01 R.\n 05 A PIC S9(5)V99 COMP-3.\n 05 B PIC S9(4) COMP-3.",
        &hex("1234567d 01234c"),
        expect![[r#"{"A":-12345.67,"B":1234}"#]],
    );
    check(
        "01 R.\n 05 A PIC S9(17)V99 COMP-3.",
        &hex("1234567890123456789d"),
        expect![[r#"{"A":-12345678901234567.89}"#]],
    );
    check(
        "01 R.\n 05 A PIC S9(31) COMP-3.",
        &hex("1234567890123456789012345678901d"),
        expect![[r#"{"A":-1234567890123456789012345678901}"#]],
    );
    check(
        "01 R.\n 05 A PIC 9(5) COMP-3.\n 05 B PIC 9(3) COMP-6.",
        &hex("12345f 0123"),
        expect![[r#"{"A":12345,"B":123}"#]],
    );
    check(
        "01 R.\n 05 A PIC S9(4) COMP.\n 05 B PIC S9(7)V99 COMP.\n 05 C PIC S9(18) COMP.",
        &hex("fffe ffffff9c 0de0b6b3a763ffff"),
        expect![[r#"{"A":-2,"B":-1.00,"C":999999999999999999}"#]],
    );
    check(
        "01 R.\n 05 A PIC 9(18) COMP-5.\n 05 B PIC 9(4) COMP-5.",
        &hex("ffffffffffffffff ffff"),
        expect![[r#"{"A":18446744073709551615,"B":65535}"#]],
    );
    check("01 R.\n 05 I INDEX.\n 05 P POINTER.", &hex("00000007 00010000"), expect![[r#"{"I":7,"P":65536}"#]]);
}

#[test]
fn floats() {
    check(
        "01 R.\n 05 A COMP-1.\n 05 B COMP-2.",
        &hex("c276a000 c276a00000000000"),
        expect![[r#"{"A":-118.625,"B":-118.625}"#]],
    );
    check(
        "01 R.\n 05 A COMP-1.\n 05 B COMP-2.",
        &hex("00000000 4019999999999999"),
        expect![[r#"{"A":0.0,"B":0.09999999999999999}"#]],
    );
}

#[test]
fn text() {
    check(
        "01 R.\n 05 A PIC X(6).\n 05 B PIC X(20).",
        &ebcdic(&format!("{:6}{:20}", "A\"B\\", "long text, blank end")),
        expect![[r#"{"A":"A\"B\\","B":"long text, blank end"}"#]],
    );
    check(
        "01 R.\n 05 A PIC X(4) JUST RIGHT.\n 05 B PIC A(3).",
        &ebcdic("  ABxy "),
        expect![[r#"{"A":"AB","B":"xy"}"#]],
    );
    check(
        "01 R.\n 05 A PIC X(3).\n 05 B PIC X(17).",
        &hex("51c1ff 0040404040404040404040404040404051"),
        expect![[r#"{"A":"éA","B":"\u0000               é"}"#]],
    );
    check("01 R.\n 05 A PIC X(40).", &[0x40; 40], expect![[r#"{"A":""}"#]]);
    check(
        "01 R.\n 05 A PIC N(3).\n 05 G PIC G(2).",
        &hex("00410142 0020 4142 4344"),
        expect![[r#"{"A":"Ał","G":"41424344"}"#]],
    );
    check("01 R.\n 05 A PIC XXBXX/XX.", &ebcdic("AB CD/EF"), expect![[r#"{"A":"AB CD/EF"}"#]]);
}

#[test]
fn edited() {
    check("01 R.\n 05 A PIC ZZ,ZZ9.99-.", &ebcdic(" 1,234.50-"), expect![[r#"{"A":-1234.50}"#]]);
    check("01 R.\n 05 A PIC $$$,$$9.99CR.", &ebcdic("    $12.30CR"), expect![[r#"{"A":-12.30}"#]]);
    check("01 R.\n 05 A PIC +++,++9.9.", &ebcdic("    +12.5"), expect![[r#"{"A":12.5}"#]]);
    check("01 R.\n 05 A PIC **,**9.99DB.", &ebcdic("****12.30DB"), expect![[r#"{"A":-12.30}"#]]);
    check(
        "01 R.\n 05 A PIC 99/99/99.\n 05 B PIC 9(3)0009.",
        &ebcdic("12/31/991230004"),
        expect![[r#"{"A":123199,"B":1234}"#]],
    );
    check("01 R.\n 05 A PIC ZZZ9.99 BLANK WHEN ZERO.", &ebcdic("       "), expect![[r#"{"A":0.00}"#]]);
    check("01 R.\n 05 A PIC ZZZ.ZZ.", &ebcdic("   .05"), expect![[r#"{"A":0.05}"#]]);
}

#[test]
fn every_fault_of_a_record_at_once() {
    let copybook = "01 R.\n 05 A PIC 9(3).\n 05 B PIC S9(3) COMP-3.\n 05 C OCCURS 2 PIC 9(2).\n 05 D PIC 9(2) COMP-3.";
    expect![[r#"
        REC-001 A: digit 2 is 0xc1, expected a digit character
        REC-002 B: sign is 0x0, expected 0xa to 0xf
        REC-004 C[0]: field holds only spaces
        REC-005 C[1]: field holds only low-values (0x00)
        REC-003 D: field is unsigned but holds a minus sign
    "#]]
    .assert_eq(&faults(copybook, &hex("f1c1f3 1230 4040 0000 012d"), &Policies::default()));
    let policies =
        Policies { invalid: BadValue::Raw, blank: BadValue::Null, low_values: BadValue::Null, ..Policies::default() };
    expect![[r#"{"A":"0xf1c1f3","B":"0x1230","C":[null,null],"D":"0x012d"}"#]].assert_eq(&faults(
        copybook,
        &hex("f1c1f3 1230 4040 0000 012d"),
        &policies,
    ));
}

#[test]
fn raw_values_and_blanks_come_back() {
    let copybook = "01 R.\n 05 A PIC 9(3).\n 05 B PIC S9(3) COMP-3.\n 05 C PIC 9(2).";
    let policies = Policies { invalid: BadValue::Raw, blank: BadValue::Null, ..Policies::default() };
    let plan = plan(copybook, &Interface::default(), &policies);
    let record = hex("f1c1f3 1230 4040");
    let json = decode(&plan, &record).expect("decodes");
    assert_eq!(encode(&plan, &json), Ok(record));
}

#[test]
fn non_preferred_signs_read_and_are_normalised() {
    let plan = plan(
        "01 R.\n 05 A PIC S9(3) COMP-3.\n 05 B PIC S9(2).\n 05 C PIC 9(2).",
        &Interface::default(),
        &Policies::default(),
    );
    let json = decode(&plan, &hex("123b f1a2 f1c2")).expect("decodes");
    expect![[r#"{"A":-123,"B":12,"C":12}"#]].assert_eq(&json);
    assert_eq!(to_hex(&encode(&plan, &json).expect("encodes")), "123df1c2f1f2");
}

#[test]
fn preserve_gives_back_what_a_round_trip_would_lose() {
    let copybook = "01 R.\n 05 A PIC S9(3) COMP-3.\n 05 FILLER PIC X(4).\n 05 B PIC X(2).";
    let policies = Policies { preserve: Preserve::Yes, ..Policies::default() };
    let plan = plan(copybook, &Interface::default(), &policies);
    let dirty = hex("123f c1c24000 c3c4");
    let json = decode(&plan, &dirty).expect("decodes");
    expect![[r#"{"A":123,"B":"CD","_preserve":";1:3fc1c2;5:00"}"#]].assert_eq(&json);
    assert_eq!(encode(&plan, &json), Ok(dirty));
    expect![[r#"{"A":123,"B":"CD"}"#]].assert_eq(&decode(&plan, &hex("123c 40404040 c3c4")).expect("decodes"));
}

#[test]
fn views_of_shared_storage() {
    let copybook = "01 R.\n 05 K PIC X.\n 05 D PIC 9(4) COMP-3.\n 05 D-X REDEFINES D PIC X(3).\n 05 D-G REDEFINES D.\n  10 G1 PIC 9.\n  10 G2 PIC XX.";
    let all = plan(copybook, &Interface::default(), &Policies::default());
    let number = [ebcdic("N"), hex("01234f")].concat();
    let text = ebcdic("T1AB");
    let first = decode(&all, &number).expect("decodes");
    expect![[r#"{"K":"N","D":1234,"D-X":"\u0001|"}"#]].assert_eq(&first);
    let second = decode(&all, &text).expect("decodes");
    expect![[r#"{"K":"T","D":null,"D-X":"1AB","D-G":{"G1":1,"G2":"AB"}}"#]].assert_eq(&second);
    assert_eq!((encode(&all, &first), encode(&all, &second)), (Ok(number.clone()), Ok(text.clone())));
    expect![[r#"
        REC-032 $.D-G.G2: value differs from what another view of the same bytes says
    "#]]
    .assert_eq(&encode(&all, r#"{"D-X":"1AB","D-G":{"G1":1,"G2":"AC"}}"#).expect_err("they differ"));
    let original = Interface { redefines: RedefinesPolicy::Original, ..Interface::default() };
    expect![[r#"{"K":"N","D":1234}"#]]
        .assert_eq(&decode(&plan(copybook, &original, &Policies::default()), &number).expect("decodes"));
    let choices = vec![RedefinesChoice {
        storage: "D".into(),
        by: "K".into(),
        cases: vec![(vec!["N".into()], "D".into()), (vec!["T".into()], "D-G".into())],
        otherwise: None,
    }];
    let chosen = plan(copybook, &Interface { choices, ..Interface::default() }, &Policies::default());
    expect![[r#"{"K":"T","D-G":{"G1":1,"G2":"AB"}}"#]].assert_eq(&decode(&chosen, &text).expect("decodes"));
    expect![[r#"{"K":"N","D":1234}"#]].assert_eq(&decode(&chosen, &number).expect("decodes"));
    expect![[r#"
        REC-013 D: no view is chosen for the selector's value
    "#]]
    .assert_eq(&decode(&chosen, &ebcdic("?1AB")).expect_err("no case"));
}

#[test]
fn names_selection_and_defaults() {
    let copybook = "01 CUSTOMER-REC.\n 05 CUST-ID PIC 9(3).\n 05 CUST-NAME.\n  10 FIRST-NAME PIC X(3).\n  10 LAST-NAME PIC X(3).\n 05 FILLER PIC X.\n 05 FILLER.\n  10 INNER PIC X.\n 05 CUST-ID PIC X.";
    let record = ebcdic("007ABCDEF-IX");
    let show =
        |interface: Interface| decode(&plan(copybook, &interface, &Policies::default()), &record).expect("decodes");
    expect![[r#"{"CUST-ID":7,"CUST-NAME":{"FIRST-NAME":"ABC","LAST-NAME":"DEF"},"INNER":"I","CUST-ID_2":"X"}"#]]
        .assert_eq(&show(Interface::default()));
    expect![[r#"{"rec":{"custId":7,"custName":{"firstName":"ABC","lastName":"DEF"},"fill0":"-","fill1":{"inner":"I"},"custId_2":"X"}}"#]]
        .assert_eq(&show(Interface { wrapper: Some("rec".into()), key_style: KeyStyle::Camel, fillers: Fillers::Keep, ..Interface::default() }));
    // The longest beginning counts, and never a whole name.
    let prefixes = [("CUST-", ""), ("CUST-NA", "SUR-NA")].map(|(from, to)| (from.into(), to.into())).to_vec();
    expect![[r#"{"id":7,"surName":{"firstName":"ABC","lastName":"DEF"},"inner":"I","id_2":"X"}"#]]
        .assert_eq(&show(Interface { prefixes, key_style: KeyStyle::Camel, ..Interface::default() }));
    let rule = |field: &str| FieldRule { field: field.into(), ..FieldRule::default() };
    let fields = vec![
        FieldRule { include: Some(false), ..rule("CUST-NAME") },
        FieldRule {
            include: Some(true),
            rename: Some("surname".into()),
            default: Some("NN".into()),
            ..rule("cust_name.last-name")
        },
    ];
    let chosen = Interface { fields, ..Interface::default() };
    expect![[r#"{"CUST-ID":7,"CUST-NAME":{"surname":"DEF"},"INNER":"I","CUST-ID_2":"X"}"#]]
        .assert_eq(&show(chosen.clone()));
    let chosen = plan(copybook, &chosen, &Policies::default());
    assert_eq!(encode(&chosen, r#"{"CUST-ID":5}"#), Ok(ebcdic("005   NN    ")));
}

#[test]
fn interface_mistakes_are_all_told() {
    let rule = |field: &str| FieldRule { field: field.into(), include: Some(true), ..FieldRule::default() };
    let mut fields = vec![rule("CUST-NAM"), rule("ID")];
    fields.push(FieldRule { default: Some("ABCD".into()), ..rule("CUST-NAME") });
    let copybook = "01 R.\n 05 CUST-NAME PIC X(3).\n 05 A.\n  10 ID PIC X.\n 05 B.\n  10 ID PIC X.";
    let charset = quayline_charset::Charset::by_name("cp037").expect("known");
    let findings = quayline_cobol::RecordPlan::new(
        &layout(copybook),
        &Interface { fields, ..Interface::default() },
        &Policies::default(),
        charset,
    );
    expect![[r#"
        error[PLN-001]: interface rule names `CUST-NAM`, which the record R does not have

        hint: did you mean `CUST-NAME`?

        error[PLN-002]: interface rule names `ID`, which means 2 fields

        hint: qualify it: one of A.ID, B.ID

        error[PLN-005]: default of `CUST-NAME` does not fit it: text has 4 characters, field holds 3

        hint: the field is PIC X(3)"#]]
    .assert_eq(&findings.expect_err("three mistakes").to_string());
}

#[test]
fn encode_faults_name_the_json_path() {
    let copybook = "01 R.\n 05 A PIC X(3).\n 05 G OCCURS 2.\n  10 N PIC S9(3)V9 COMP-3.\n  10 U PIC 9(2).\n 05 B PIC S9(4) COMP.\n 05 C PIC X(2).";
    let plan = plan(copybook, &Interface::default(), &Policies::default());
    let json = r#"{"A":"ABCD","G":[{"N":1.25,"U":-1},{"N":12345,"U":"x"}],"B":10000,"C":"ł"}"#;
    expect![[r#"
        REC-021 $.A: text has 4 characters, field holds 3
        REC-024 $.G[0].N: number has more than 1 decimals
        REC-003 $.G[0].U: field is unsigned but holds a minus sign
        REC-023 $.G[1].N: number has 5 digits before the point, field holds 3
        REC-026 $.G[1].U: expected a number
        REC-023 $.B: number has 5 digits before the point, field holds 4
        REC-022 $.C: the character at position 1 is not in IBM037
    "#]]
    .assert_eq(&encode(&plan, json).expect_err("seven faults"));
}

/// For `PIC VPPP9(3)`, the message said that a field without digits before the point holds 0 of 0, and for `PIC 9PPP` that it has -3 decimals.
#[test]
fn faults_of_scaled_fields_name_the_digits_that_fit() {
    let copybook = "01 R.\n 05 A PIC VPPP9(3).\n 05 B PIC VPPP9(3).\n 05 C PIC VPPP9(3).\n 05 D PIC S9(3)PPP COMP-3.\n 05 E PIC V99.";
    let plan = plan(copybook, &Interface::default(), &Policies::default());
    let json = r#"{"A":0.1,"B":0.0010,"C":12,"D":123456,"E":1.5}"#;
    expect![[r#"
        REC-023 $.A: number has digits before decimal 4, the first of the field
        REC-023 $.B: number has digits before decimal 4, the first of the field
        REC-023 $.C: number has digits before decimal 4, the first of the field
        REC-024 $.D: number is not a multiple of 1000
        REC-023 $.E: number has 1 digits before the point, field holds 0
    "#]]
    .assert_eq(&encode(&plan, json).expect_err("five faults"));
}

#[test]
fn numbers_align_by_value() {
    let plan = plan(
        "01 R.\n 05 A PIC S9(3)V99.\n 05 B PIC S9(5)V99 COMP-3.\n 05 C PIC 9(4) COMP.\n 05 D PIC 9PPP.",
        &Interface::default(),
        &Policies::default(),
    );
    for json in [
        r#"{"A":1.5,"B":-12.3,"C":1e3,"D":7000}"#,
        r#"{"A":"1.50","B":"-12.300","C":"1000.0","D":"7e3"}"#,
        r#"{"A":0.15e1,"B":-0012.30e0,"C":1000,"D":7000.00}"#,
    ] {
        let json = json.replace("-0012", "-12");
        assert_eq!(
            encode(&plan, &json).map(|r| to_hex(&r)),
            Ok("f0f0f1f5c0".to_owned() + "0001230d" + "03e8" + "f7"),
            "{json}"
        );
    }
}

#[test]
fn absent_members_by_policy() {
    let copybook = "01 R.\n 05 A PIC X(2) VALUE 'OK'.\n 05 B PIC 9(2) VALUE 7.\n 05 C PIC S9(3) COMP-3.\n 05 FILLER PIC X VALUE '-'.";
    let with = |absent| {
        encode(&plan(copybook, &Interface::default(), &Policies { absent, ..Policies::default() }), "{}")
            .map(|r| to_hex(&r))
    };
    assert_eq!(with(Absent::Value), Ok("d6d2f0f7000c60".to_owned()));
    assert_eq!(with(Absent::Initialize), Ok("4040f0f0000c40".to_owned()));
    assert_eq!(with(Absent::LowValues), Ok("00000000000000".to_owned()));
    expect![[r#"
        REC-033 $.A: member is missing
        REC-033 $.B: member is missing
        REC-033 $.C: member is missing
    "#]]
    .assert_eq(&with(Absent::Error).expect_err("all missing"));
}

#[test]
fn trimming_by_policy() {
    let with = |trim| {
        decode(
            &plan("01 R.\n 05 A PIC X(5).", &Interface::default(), &Policies { trim, ..Policies::default() }),
            &ebcdic(" A B "),
        )
        .expect("decodes")
    };
    assert_eq!(
        [with(Trim::Padding), with(Trim::Both), with(Trim::Keep)],
        [r#"{"A":" A B"}"#, r#"{"A":"A B"}"#, r#"{"A":" A B "}"#]
    );
    // Text of C programs ends with NULs; those inside of it are data.
    let nuls = plan(
        "01 R.\n 05 A PIC X(5).\n 05 B PIC X(3).",
        &Interface::default(),
        &Policies { trim: Trim::Nuls, ..Policies::default() },
    );
    let record = [0xc1, 0, 0xc2, 0, 0x40, 0, 0, 0];
    assert_eq!(decode(&nuls, &record).as_deref(), Ok("{\"A\":\"A\\u0000B\",\"B\":\"\"}"));
    // Text moved to the right has its padding in front. Blanks at its end were cut, and it moved when it was written back.
    let right = plan(
        "01 R.\n 05 A PIC X(6) JUSTIFIED RIGHT.",
        &Interface::default(),
        &Policies { trim: Trim::Nuls, ..Policies::default() },
    );
    for (record, text) in [
        (&[0x40, 0x40, 0xc1, 0xf1, 0x40, 0x40], "A1  "),
        (&[0x40, 0x40, 0xc1, 0xf1, 0, 0], "A1"),
        (&[0, 0, 0, 0, 0, 0], ""),
        (&[0x40, 0x40, 0x40, 0, 0, 0], ""),
    ] {
        assert_eq!(decode(&right, record), Ok(format!("{{\"A\":\"{text}\"}}")));
    }
    let record = [0x40, 0x40, 0xc1, 0xf1, 0x40, 0x40];
    assert_eq!(encode(&right, &decode(&right, &record).unwrap()).as_deref(), Ok(&record[..]));
}

#[test]
fn ascii_data_overpunches_by_dialect() {
    let plan = plan_in(
        &layout("01 R.\n 05 A PIC S9(3).\n 05 B PIC X(3)."),
        "ascii",
        &Interface::default(),
        &Policies::default(),
    );
    let json = decode(&plan, b"12Lab ").expect("decodes");
    expect![[r#"{"A":-123,"B":"ab"}"#]].assert_eq(&json);
    assert_eq!(encode(&plan, &json), Ok(b"12Lab ".to_vec()));
}

#[test]
fn renames_show_and_do_not_write() {
    let plan = plan(
        "01 R.\n 05 A PIC X(2).\n 05 B PIC X(2).\n 66 AB RENAMES A THRU B.",
        &Interface::default(),
        &Policies::default(),
    );
    let json = decode(&plan, &ebcdic("WXYZ")).expect("decodes");
    expect![[r#"{"A":"WX","B":"YZ","AB":"WXYZ"}"#]].assert_eq(&json);
    assert_eq!(encode(&plan, &json), Ok(ebcdic("WXYZ")));
}
