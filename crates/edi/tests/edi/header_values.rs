//! Values of headers that only other values make wrong, and characters: each has a finding with the code that acknowledgments give it.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use quayline_charset::Charset;
use quayline_core::{Limits, Severity};
use quayline_edi::{CharacterRules, EndOfInput, EnvelopeReader, Event, Rules, Validator, ValidatorOptions};

const X12: &str = "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~\
     GS*BE*S*R*20260401*1200*1*X*005010X220A1~ST*834*0001*005010X220A1~REF*A~SE*3*0001~GE*1*1~IEA*1*000000001~";

/// Returns the faults of a file, and the codes of TA1, AK9, AK5, IK5 and CONTRL.
fn faults(text: &[u8], rules: Rules, named: Option<Charset>) -> String {
    let mut reader = EnvelopeReader::new(&Limits::default(), rules);
    let characters = CharacterRules::Checked(named);
    let mut validator = Validator::new(ValidatorOptions { characters, ..ValidatorOptions::default() });
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut out = String::new();
    loop {
        let event = pass.advance();
        match event {
            Event::TransactionStart => validator.begin(None, &pass),
            Event::Segment => {
                if let Some((error, at)) = validator.characters(&pass) {
                    pass.put_segment_fault(error, at);
                }
            }
            _ => {}
        }
        for fault in pass.take_faults() {
            let codes = fault.error.acknowledgment();
            let of = |code: Option<&'static str>| code.unwrap_or("-");
            let _ = writeln!(
                out,
                "{}{} {}.{} {}/{}/{}/{}/{}: {}",
                if fault.severity == Severity::Error { "" } else { "warning " },
                fault.error.code(),
                fault.at.segment,
                fault.at.element,
                of(codes.interchange_note),
                of(codes.group),
                of(codes.transaction),
                of(codes.implementation_transaction),
                of(codes.contrl),
                fault.error
            );
        }
        if event == Event::Done {
            return out;
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(changes: &[(&str, &str)], expected: Expect) {
    let mut out = String::new();
    for (from, to) in changes {
        assert!(from.is_empty() || X12.contains(from), "{from}");
        let text = if from.is_empty() { X12.to_owned() } else { X12.replacen(from, to, 1) };
        let _ = write!(out, "{to}\n{}", faults(text.as_bytes(), Rules::Lenient, None));
    }
    expected.assert_eq(&out);
}

/// Regression: only the widths of ISA and GS were checked, so that an undefined qualifier was acknowledged as correct.
#[test]
fn qualifiers_and_versions_of_the_envelope_are_of_their_lists() {
    check(
        &[
            ("", "unchanged"),
            ("ISA*00*", "ISA*99*"),
            ("*00*          *ZZ*", "*77*          *ZZ*"),
            ("*ZZ*SENDER", "*QQ*SENDER"),
            ("*ZZ*SENDER", "*zz*SENDER"),
            ("*ZZ*RECEIVER", "*QQ*RECEIVER"),
            ("*ZZ*RECEIVER", "*14*RECEIVER"),
            ("*00501*", "*99999*"),
            ("*00501*", "*00708*"),
            ("*X*005010X220A1~ST", "*Q*005010X220A1~ST"),
            ("*X*005010X220A1~ST", "*T*005010X220A1~ST"),
        ],
        expect![[r#"
            unchanged
            ISA*99*
            EDI-038 1.1 010/-/-/-/12: ISA01 is not a code of I01: 00 to 06
            *77*          *ZZ*
            EDI-038 1.3 012/-/-/-/12: ISA03 is not a code of I03: 00 or 01
            *QQ*SENDER
            EDI-038 1.5 005/-/-/-/12: ISA05 is not a code of I05, such as 01, 14, 30 or ZZ
            *zz*SENDER
            EDI-038 1.5 005/-/-/-/12: ISA05 is not a code of I05, such as 01, 14, 30 or ZZ
            *QQ*RECEIVER
            EDI-038 1.7 007/-/-/-/12: ISA07 is not a code of I05, such as 01, 14, 30 or ZZ
            *14*RECEIVER
            *99999*
            EDI-038 1.12 017/-/-/-/12: ISA12 is not a version such as 00401 or 00501
            *00708*
            *Q*005010X220A1~ST
            EDI-038 2.7 -/2/-/-/12: GS07 is not T or X
            *T*005010X220A1~ST
        "#]],
    );
}

/// Regression: ST03 overrode GS08 silently, and if no guide had its name, GS08 was used.
#[test]
fn st03_is_of_the_guide_of_its_group() {
    check(
        &[
            ("*0001*005010X220A1~REF", "*0001*005010X999~REF"),
            ("*0001*005010X220A1~REF", "*0001*005010X220~REF"),
            ("*0001*005010X220A1~REF", "*0001~REF"),
            ("*0001*005010X220A1~REF", "*0001*005010~REF"),
            ("*X*005010X220A1~ST", "*X*005010~ST"),
        ],
        expect![[r#"
            *0001*005010X999~REF
            EDI-047 1.3 -/-/1/I6/14: ST03 names another implementation guide than GS08
            *0001*005010X220~REF
            EDI-047 1.3 -/-/1/I6/14: ST03 names another implementation guide than GS08
            *0001~REF
            *0001*005010~REF
            *X*005010~ST
        "#]],
    );
}

/// `validate` did not look at characters at all.
#[test]
fn characters_are_of_the_set_that_the_interchange_names() {
    let edifact = |set: &str, text: &[u8]| {
        let mut out = format!("UNB+{set}:3+A+B+990802:1557+1'UNH+1+ORDERS:D:96A:UN'FTX+AAI+++").into_bytes();
        out.extend_from_slice(text);
        out.extend_from_slice(b"'FTX+AAI+++");
        out.extend_from_slice(text);
        out.extend_from_slice(b"'UNT+4+1'UNZ+1+1'");
        out
    };
    let mut out = String::new();
    let mut show = |what: &str, text: &[u8], rules, named| {
        let _ = write!(out, "{what}\n{}", faults(text, rules, named));
    };
    show("UNOA, capitals", &edifact("UNOA", b"ABC 12.,-()/=!\"%&*;<>"), Rules::Lenient, None);
    show("UNOA, small letters", &edifact("UNOA", b"abc"), Rules::Lenient, None);
    show("UNOA, small letters, strict", &edifact("UNOA", b"abc"), Rules::Strict, None);
    show("UNOA, #", &edifact("UNOA", b"A#"), Rules::Strict, None);
    show("UNOB, small letters", &edifact("UNOB", b"abc"), Rules::Strict, None);
    show("UNOB, @", &edifact("UNOB", b"a@b"), Rules::Strict, None);
    show("UNOA, U with dots", &edifact("UNOA", b"\xdc"), Rules::Strict, None);
    show("UNOC, U with dots", &edifact("UNOC", b"\xdc"), Rules::Strict, None);
    show("UNOA, U with dots as named", &edifact("UNOA", b"\xdc"), Rules::Strict, Charset::by_name("iso-8859-1").ok());
    show("UNOW, not UTF-8", &edifact("UNOW", b"\xdc"), Rules::Lenient, None);
    show("X12, U with dots", &X12.replacen("REF*A", "REF*\u{dc}", 1).into_bytes(), Rules::Lenient, None);
    show(
        "X12, as named",
        &X12.replacen("REF*A", "REF*\u{dc}", 1).into_bytes(),
        Rules::Lenient,
        Charset::by_name("utf-8").ok(),
    );
    expect![[r#"
        UNOA, capitals
        UNOA, small letters
        warning EDI-048 2.4 022/-/5/-/21: the text has characters that UNOA does not have, such as small letters or #; here and further on in this message
        UNOA, small letters, strict
        EDI-048 2.4 022/-/5/-/21: the text has characters that UNOA does not have, such as small letters or #; here and further on in this message
        UNOA, #
        EDI-048 2.4 022/-/5/-/21: the text has characters that UNOA does not have, such as small letters or #; here and further on in this message
        UNOB, small letters
        UNOB, @
        EDI-048 2.4 022/-/5/-/21: the text has characters that UNOB does not have, such as # or @; here and further on in this message
        UNOA, U with dots
        EDI-041 2.4 022/-/5/-/21: the text has bytes that are not in its character set; they are read as ISO-8859-1, here and further on in this interchange
        UNOC, U with dots
        UNOA, U with dots as named
        UNOW, not UTF-8
        EDI-027 2.4 022/-/5/-/21: the text has bytes that are not valid UTF-8
        X12, U with dots
        warning EDI-041 2.1 022/-/5/-/21: the text has bytes that are not in its character set; they are read as ISO-8859-1, here and further on in this interchange
        X12, as named
    "#]].assert_eq(&out);
}

/// Regression: a partner's name with a control character was copied into the reply, which was then unreadable.
#[test]
fn control_characters_in_headers_are_told() {
    check(
        &[("*ZZ*SENDER ", "*ZZ*S\u{1}ENDER"), ("GS*BE*S*", "GS*BE*S\u{7f}*"), ("ST*834*0001*", "ST*834*00\u{2}1*")],
        expect![[r#"
            *ZZ*SENDER
            EDI-038 1.6 006/-/-/-/12: ISA06 is not text without control characters
            GS*BE*S*
            EDI-038 2.2 024/-/-/-/12: GS02 is not text without control characters
            ST*834*001*
            EDI-038 1.2 -/-/7/-/12: ST02 is not text without control characters
            EDI-032 3.2 -/-/3/-/28: ST02 and SE02 differ: the control numbers of a header and its trailer must be equal
        "#]],
    );
    let edifact = "UNB+UNOC:3+A+B+990802:1557+1\u{2}+A\u{3}'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNZ+1+1\u{2}'";
    expect![[r#"
        EDI-038 1.5 022/-/-/-/12: UNB 0020 is not text without control characters
        EDI-038 1.6 022/-/-/-/12: UNB S005 0022 is not text without control characters
    "#]]
    .assert_eq(&faults(edifact.as_bytes(), Rules::Lenient, None));
}

/// GS04 and data element 0017 were dates with six or eight digits in any version.
#[test]
fn dates_have_the_digits_of_their_version() {
    check(
        &[
            ("GS*BE*S*R*20260401", "GS*BE*S*R*260401"),
            ("*20260401*1200*1*X*005010X220A1~", "*20260401*1200*1*X*003060~"),
            ("*20260401*1200*1*X*005010X220A1~", "*260401*1200*1*X*003060~"),
            ("*20260401*1200*1*X*005010X220A1~", "*20260401*1200*1*X*004010~"),
            ("*20260401*1200*1*X*005010X220A1~", "*20260401*12000*1*X*005010X220A1~"),
        ],
        expect![[r#"
            GS*BE*S*R*260401
            warning EDI-024 2.4 024/-/-/-/12: GS04 has 6 digits, expected 8 in this version
            *20260401*1200*1*X*003060~
            warning EDI-024 2.4 024/-/-/-/12: GS04 has 8 digits, expected 6 in this version
            EDI-047 1.3 -/-/1/I6/14: ST03 names another implementation guide than GS08
            *260401*1200*1*X*003060~
            EDI-047 1.3 -/-/1/I6/14: ST03 names another implementation guide than GS08
            *20260401*1200*1*X*004010~
            EDI-047 1.3 -/-/1/I6/14: ST03 names another implementation guide than GS08
            *20260401*12000*1*X*005010X220A1~
            EDI-038 2.5 024/-/-/-/12: GS05 is not a time (HHMM)
        "#]],
    );
    let check = |unb: &str, ung: &str| {
        let text = format!(
            "UNB+{unb}+1'UNG+ORDERS+A+B+{ung}+1+UN+D:96A'UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'UNE+1+1'UNZ+1+1'"
        );
        format!("{unb} {ung}\n{}", faults(text.as_bytes(), Rules::Lenient, None))
    };
    let mut out = String::new();
    for (unb, ung) in [
        ("UNOA:3+A+B+260401:1200", "260401:1200"),
        ("UNOA:3+A+B+20260401:1200", "20260401:1200"),
        ("UNOC:4+A+B+20260401:1200", "20260401:1200"),
        ("UNOC:4+A+B+260401:1200", ""),
        ("UNOC:3+A+B+260401:120000", "260401:120000"),
        ("UNOC:3+A+B+260401:1200", "260431:1260"),
    ] {
        out += &check(unb, ung);
    }
    expect![[r#"
        UNOA:3+A+B+260401:1200 260401:1200
        UNOA:3+A+B+20260401:1200 20260401:1200
        warning EDI-024 1.4 022/-/-/-/12: UNB S004 0017 has 8 digits, expected 6 in this version
        warning EDI-024 2.4 024/-/-/-/12: UNG S004 0017 has 8 digits, expected 6 in this version
        UNOC:4+A+B+20260401:1200 20260401:1200
        UNOC:4+A+B+260401:1200 
        warning EDI-024 1.4 022/-/-/-/12: UNB S004 0017 has 6 digits, expected 8 in this version
        UNOC:3+A+B+260401:120000 260401:120000
        warning EDI-024 1.4 022/-/-/-/12: UNB S004 0019 has 6 digits, expected 4 in this version
        warning EDI-024 2.4 024/-/-/-/12: UNG S004 0019 has 6 digits, expected 4 in this version
        UNOC:3+A+B+260401:1200 260431:1260
        EDI-038 2.4 024/-/-/-/12: UNG S004 0017 is not a date (YYMMDD or CCYYMMDD)
        EDI-038 2.4 024/-/-/-/12: UNG S004 0019 is not a time (HHMM)
    "#]]
    .assert_eq(&out);
}

/// TA102 is ISA09, which has six digits, and TA103 is ISA10.
#[test]
fn date_and_time_of_a_ta1_have_the_digits_of_isa() {
    check(
        &[
            ("GS*BE*S*R*", "TA1*000000001*260401*1200*A*000~GS*BE*S*R*"),
            ("GS*BE*S*R*", "TA1*000000001*20260401*120000*A*000~GS*BE*S*R*"),
        ],
        expect![[r#"
            TA1*000000001*260401*1200*A*000~GS*BE*S*R*
            TA1*000000001*20260401*120000*A*000~GS*BE*S*R*
            warning EDI-024 2.2 022/-/-/-/12: TA102 has 8 digits, expected 6 in this version
            warning EDI-024 2.3 022/-/-/-/12: TA103 has 6 digits, expected 4 in this version
        "#]],
    );
}

/// IEA02 `1` was as good as `000000001`, although the trailer repeats the header's number, and documents do not keep the difference.
#[test]
fn trailers_repeat_the_leading_zeros_of_headers() {
    check(
        &[
            ("IEA*1*000000001~", "IEA*1*1~"),
            ("IEA*1*000000001~", "IEA*1*000000002~"),
            ("GE*1*1~", "GE*1*001~"),
            ("*1200*1*X*", "*1200*001*X*"),
        ],
        expect![[r#"
            IEA*1*1~
            warning EDI-025 7.2 001/-/-/-/28: ISA13 and IEA02 have different leading zeros: the control numbers of a header and its trailer must be identical
            IEA*1*000000002~
            EDI-032 7.2 001/-/-/-/28: ISA13 and IEA02 differ: the control numbers of a header and its trailer must be equal
            GE*1*001~
            warning EDI-025 6.2 -/4/-/-/28: GS06 and GE02 have different leading zeros: the control numbers of a header and its trailer must be identical
            *1200*001*X*
            warning EDI-025 6.2 -/4/-/-/28: GS06 and GE02 have different leading zeros: the control numbers of a header and its trailer must be identical
        "#]],
    );
}

/// The type and version of a message contradicted its group without a finding.
#[test]
fn a_message_is_of_the_type_and_version_of_its_group() {
    let check = |ung: &str| {
        let text = format!(
            "UNB+UNOA:3+A+B+260401:1200+1'UNG+{ung}'UNH+1+ORDERS:D:96A:UN:EAN008'BGM+220'UNT+3+1'UNE+1+1'UNZ+1+1'"
        );
        format!("{ung}\n{}", faults(text.as_bytes(), Rules::Lenient, None))
    };
    let mut out = String::new();
    for ung in [
        "ORDERS+A+B+260401:1200+1+UN+D:96A:EAN008",
        "ORDERS+A+B+260401:1200+1+UN+D:96A",
        "++++1",
        "INVOIC+A+B+260401:1200+1+UN+D:96A",
        "ORDERS+A+B+260401:1200+1+UN+D:01B",
        "ORDERS+A+B+260401:1200+1+UN+S:96A",
        "ORDERS+A+B+260401:1200+1+XX+D:96A",
        "ORDERS+A+B+260401:1200+1+UN+D:96A:OTHER",
    ] {
        out += &check(ung);
    }
    expect![[r#"
        ORDERS+A+B+260401:1200+1+UN+D:96A:EAN008
        ORDERS+A+B+260401:1200+1+UN+D:96A
        ++++1
        EDI-037 2.1 024/-/-/-/13: UNG 0038 is missing
        EDI-037 2.2 024/-/-/-/13: UNG S006 0040 is missing
        EDI-037 2.3 024/-/-/-/13: UNG S007 0044 is missing
        EDI-037 2.4 024/-/-/-/13: UNG S004 0017 is missing
        EDI-037 2.4 024/-/-/-/13: UNG S004 0019 is missing
        EDI-037 2.6 024/-/-/-/13: UNG 0051 is missing
        EDI-037 2.7 024/-/-/-/13: UNG S008 0052 is missing
        EDI-037 2.7 024/-/-/-/13: UNG S008 0054 is missing
        INVOIC+A+B+260401:1200+1+UN+D:96A
        warning EDI-049 1.2 -/-/18/-/14: UNH S009 0065 differs from UNG 0038: all messages of a group are of its type and version
        ORDERS+A+B+260401:1200+1+UN+D:01B
        warning EDI-049 1.2 -/-/18/-/14: UNH S009 0054 differs from UNG S008 0054: all messages of a group are of its type and version
        ORDERS+A+B+260401:1200+1+UN+S:96A
        warning EDI-049 1.2 -/-/18/-/14: UNH S009 0052 differs from UNG S008 0052: all messages of a group are of its type and version
        ORDERS+A+B+260401:1200+1+XX+D:96A
        warning EDI-049 1.2 -/-/18/-/14: UNH S009 0051 differs from UNG 0051: all messages of a group are of its type and version
        ORDERS+A+B+260401:1200+1+UN+D:96A:OTHER
        warning EDI-049 1.2 -/-/18/-/14: UNH S009 0057 differs from UNG S008 0057: all messages of a group are of its type and version
    "#]].assert_eq(&out);
}

/// DEL and the control characters of ISO 8859-1 from 0x80 to 0x9f were in every set, and in X12 so were those of ASCII.
#[test]
fn control_characters_are_of_no_character_set() {
    let mut out = String::new();
    let mut show = |what: &str, text: Vec<u8>, named: Option<&str>| {
        let named = named.map(|name| Charset::by_name(name).expect("a set"));
        let _ = write!(out, "{what}\n{}", faults(&text, Rules::Lenient, named));
    };
    let x12 = |value: &str| X12.replacen("REF*A", &format!("REF*{value}"), 1).into_bytes();
    show("X12, DEL", x12("A\u{7f}"), None);
    show("X12, BEL", x12("A\u{7}"), None);
    show("X12, U+0085 in UTF-8", x12("A\u{85}"), Some("utf-8"));
    show("X12, U+00A0 in UTF-8", x12("A\u{a0}"), Some("utf-8"));
    show(
        "X12, 0x80 in Windows-1252",
        X12.bytes().map(|byte| if byte == b'V' { 0x80 } else { byte }).collect(),
        Some("windows-1252"),
    );
    let controls_as_separators = X12.replace('~', "\u{1c}").replace('*', "\u{1d}").replace(':', "\u{1f}");
    show("X12, control characters as delimiters", controls_as_separators.into_bytes(), None);
    let edifact = |set: &str, value: &[u8]| {
        let head = format!("UNB+{set}:3+A+B+990802:1557+1'UNH+1+ORDERS:D:96A:UN'FTX+AAI+++").into_bytes();
        [&head, value, b"'FTX+AAI+++", value, b"'UNT+4+1'UNZ+1+1'"].concat()
    };
    show("UNOA, DEL", edifact("UNOA", b"A\x7f"), None);
    show("UNOC, DEL", edifact("UNOC", b"A\x7f"), None);
    show("UNOC, 0x85", edifact("UNOC", b"A\x85"), None);
    show("UNOC, 0xa0", edifact("UNOC", b"A\xa0"), None);
    show("UNOW, U+009F", edifact("UNOW", "A\u{9f}".as_bytes()), None);
    expect![[r#"
        X12, DEL
        warning EDI-048 2.1 022/-/5/-/21: the text has control characters, which no character set of the standard has, here and later in this message
        X12, BEL
        warning EDI-048 2.1 022/-/5/-/21: the text has control characters, which no character set of the standard has, here and later in this message
        X12, U+0085 in UTF-8
        warning EDI-048 2.1 022/-/5/-/21: the text has control characters, which no character set of the standard has, here and later in this message
        X12, U+00A0 in UTF-8
        X12, 0x80 in Windows-1252
        X12, control characters as delimiters
        UNOA, DEL
        warning EDI-048 2.4 022/-/5/-/21: the text has characters that UNOA does not have, such as small letters or #; here and further on in this message
        UNOC, DEL
        warning EDI-048 2.4 022/-/5/-/21: the text has control characters, which no character set of the standard has, here and later in this message
        UNOC, 0x85
        warning EDI-048 2.4 022/-/5/-/21: the text has control characters, which no character set of the standard has, here and later in this message
        UNOC, 0xa0
        UNOW, U+009F
        warning EDI-048 2.4 022/-/5/-/21: the text has control characters, which no character set of the standard has, here and later in this message
    "#]].assert_eq(&out);
}

/// A segment without elements was good if no guide was for it.
#[test]
fn a_segment_has_an_element() {
    let mut out = String::new();
    for segment in ["REF~", "REF**~", "REF**A~"] {
        let text = X12.replacen("REF*A~", segment, 1);
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut validator = Validator::new(ValidatorOptions::default());
        let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
        let mut found = Vec::new();
        loop {
            let event = pass.advance();
            let check = validator.event(event, |_| None, &mut pass, &mut found);
            for fault in &found {
                let _ = writeln!(out, "{segment} {} {}: {}", fault.error.code(), fault.at.segment, fault.error);
            }
            check.end(&mut pass);
            if event == Event::Done {
                break;
            }
        }
    }
    expect![[r#"
        REF~ EDI-026 2: the segment has no elements
        REF**~ EDI-026 2: the segment has no elements
    "#]]
    .assert_eq(&out);
}

/// Only the lengths of parties were checked: a message reference of any length, or a version of ten characters, had no finding.
#[test]
fn elements_of_edifact_headers_have_the_lengths_of_their_syntax_version() {
    let check = |syntax: &str, unb: &str, unh: &str| {
        let date = if syntax.ends_with('4') { "20260401" } else { "260401" };
        let text = format!("UNB+{syntax}+A+B+{date}:1200+1{unb}'UNH+{unh}'BGM+220'UNT+3+1'UNZ+1+1'");
        format!("{syntax} {unb} {unh}\n{}", faults(text.as_bytes(), Rules::Lenient, None))
    };
    let mut out = String::new();
    for (syntax, unb, unh) in [
        ("UNOA:3", "+SECRET:AA+REF+A+1+AGREED+1", "1+ORDERS:D:96A:UN:EAN008+CASE+1:C"),
        ("UNOA:3", "+SECRETSECRETSEC:AAA+REFERENCEREFERE+AB+YES+1+TEST", "1+ORDERS:D:96A:UN"),
        ("UNOA:3", "", "1+ORDERSX:D001:96AB:UNX:EAN008A:1234567+CASECASECASECASECASECASECASECASECASE+123:CF"),
        ("UNOC:4", "", "1+ORDERS:D:96A:UNX+++SUBSETSUBSETSUB:1234"),
        ("UNOC:4", "", "1+ORDERS:D:96A:UNXY"),
    ] {
        out += &check(syntax, unb, unh);
    }
    expect![[r#"
        UNOA:3 +SECRET:AA+REF+A+1+AGREED+1 1+ORDERS:D:96A:UN:EAN008+CASE+1:C
        UNOA:3 +SECRETSECRETSEC:AAA+REFERENCEREFERE+AB+YES+1+TEST 1+ORDERS:D:96A:UN
        EDI-038 1.6 022/-/-/-/12: UNB S005 0022 is not at most 14 characters
        EDI-038 1.6 022/-/-/-/12: UNB S005 0025 is not at most 2 characters
        EDI-038 1.7 022/-/-/-/12: UNB 0026 is not at most 14 characters
        EDI-038 1.8 022/-/-/-/12: UNB 0029 is not at most 1 character
        EDI-038 1.9 022/-/-/-/12: UNB 0031 is not one digit
        EDI-038 1.11 022/-/-/-/12: UNB 0035 is not one digit
        UNOA:3  1+ORDERSX:D001:96AB:UNX:EAN008A:1234567+CASECASECASECASECASECASECASECASECASE+123:CF
        EDI-038 1.2 -/-/5/-/12: UNH S009 0065 is not at most 6 characters
        EDI-038 1.2 -/-/5/-/12: UNH S009 0052 is not at most 3 characters
        EDI-038 1.2 -/-/5/-/12: UNH S009 0054 is not at most 3 characters
        EDI-038 1.2 -/-/5/-/12: UNH S009 0051 is not at most 2 characters
        EDI-038 1.2 -/-/5/-/12: UNH S009 0057 is not at most 6 characters
        EDI-038 1.2 -/-/5/-/12: UNH S009 0110 is not at most 6 characters
        EDI-038 1.3 -/-/5/-/12: UNH 0068 is not at most 35 characters
        EDI-038 1.4 -/-/5/-/12: UNH S010 0070 is not at most 2 characters
        EDI-038 1.4 -/-/5/-/12: UNH S010 0073 is not at most 1 character
        UNOC:4  1+ORDERS:D:96A:UNX+++SUBSETSUBSETSUB:1234
        EDI-038 1.5 -/-/5/-/12: UNH S016 0115 is not at most 14 characters
        EDI-038 1.5 -/-/5/-/12: UNH S016 0116 is not at most 3 characters
        UNOC:4  1+ORDERS:D:96A:UNXY
        EDI-038 1.2 -/-/5/-/12: UNH S009 0051 is not at most 3 characters
    "#]]
    .assert_eq(&out);
}

/// UNG was accepted without the elements that it must have before syntax version 4, and with elements of any length.
#[test]
fn a_group_header_is_complete_before_syntax_version_4() {
    let mut out = String::new();
    for (syntax, ung) in [
        ("UNOA:3", "ORDERS+A+B+260401:1200+1+UN+D:96A"),
        ("UNOA:3", "++++1"),
        ("UNOC:4", "++++1"),
        ("UNOA:3", "ORDERSX+A+B+260401:1200+1+UNX+D001:96AB:EAN008A+PASSWORDPASSWORD"),
        ("UNOC:4", "+++:1260+1+UNX"),
    ] {
        let date = if syntax.ends_with('4') { "20260401" } else { "260401" };
        let text = format!("UNB+{syntax}+A+B+{date}:1200+1'UNG+{ung}'UNE+0+1'UNZ+1+1'");
        let _ = write!(out, "{syntax} {ung}\n{}", faults(text.as_bytes(), Rules::Lenient, None));
    }
    expect![[r#"
        UNOA:3 ORDERS+A+B+260401:1200+1+UN+D:96A
        UNOA:3 ++++1
        EDI-037 2.1 024/-/-/-/13: UNG 0038 is missing
        EDI-037 2.2 024/-/-/-/13: UNG S006 0040 is missing
        EDI-037 2.3 024/-/-/-/13: UNG S007 0044 is missing
        EDI-037 2.4 024/-/-/-/13: UNG S004 0017 is missing
        EDI-037 2.4 024/-/-/-/13: UNG S004 0019 is missing
        EDI-037 2.6 024/-/-/-/13: UNG 0051 is missing
        EDI-037 2.7 024/-/-/-/13: UNG S008 0052 is missing
        EDI-037 2.7 024/-/-/-/13: UNG S008 0054 is missing
        UNOC:4 ++++1
        UNOA:3 ORDERSX+A+B+260401:1200+1+UNX+D001:96AB:EAN008A+PASSWORDPASSWORD
        EDI-038 2.1 024/-/-/-/12: UNG 0038 is not at most 6 characters
        EDI-038 2.6 024/-/-/-/12: UNG 0051 is not at most 2 characters
        EDI-038 2.7 024/-/-/-/12: UNG S008 0052 is not at most 3 characters
        EDI-038 2.7 024/-/-/-/12: UNG S008 0054 is not at most 3 characters
        EDI-038 2.7 024/-/-/-/12: UNG S008 0057 is not at most 6 characters
        EDI-038 2.8 024/-/-/-/12: UNG 0058 is not at most 14 characters
        UNOC:4 +++:1260+1+UNX
        EDI-038 2.4 024/-/-/-/12: UNG S004 0019 is not a time (HHMM)
    "#]]
    .assert_eq(&out);
}

/// A test of a kind that later directories define, such as 5, was processed as production data.
#[test]
fn every_code_of_the_test_indicator_is_a_test() {
    let is_test = |indicator: &str| {
        let text = format!("UNB+UNOA:3+A+B+260401:1200+1++++++{indicator}'UNZ+0+1'");
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
        while pass.advance() != Event::InterchangeStart {}
        pass.interchange().is_test()
    };
    assert_eq!(["", "0", "1", "2", "5", "X"].map(is_test), [false, false, true, true, true, false]);
}
