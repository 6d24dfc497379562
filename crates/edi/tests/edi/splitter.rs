//! Vectors of the splitter.

use expect_test::{Expect, expect};
use quayline_core::Limits;
use quayline_edi::Rules;

use crate::trace::trace_all_ways;

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&trace_all_ways(text.as_bytes(), &Limits::default(), Rules::Lenient));
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check_strict(text: &str, expected: Expect) {
    expected.assert_eq(&trace_all_ways(text.as_bytes(), &Limits::default(), Rules::Strict));
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check_limits(text: &str, limits: Limits, expected: Expect) {
    expected.assert_eq(&trace_all_ways(text.as_bytes(), &limits, Rules::Lenient));
}

/// Builds an ISA of this version with `^` as ISA11.
fn isa(version: &str) -> String {
    format!(
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*{version}*000000001*0*T*:~"
    )
}

#[test]
fn x12_with_repetition_and_composite() {
    check(
        &format!("{}GS*HC*S*R~CLM*1*100***11:B:1^12*Y~SE~IEA*1*000000001~", isa("00501")),
        expect![[r#"
            X12 * : ~ repetition ^ release no decimal .
            1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00501 |000000001 |0 |T |:
            2 GS@106 |HC |S |R
            3 CLM@116 |1 |100 | | |11 : B : 1 ^ 12 |Y
            4 SE@140
            5 IEA@143 |1 |000000001
        "#]],
    );
}

#[test]
fn isa11_is_no_separator_before_00402() {
    check(
        &format!("{}REF*A^B~IEA*0*000000001~", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 REF@106 |A^B
        3 IEA@114 |0 |000000001
    "#]],
    );
}

#[test]
fn line_breaks_and_blanks_behind_terminators_are_nothing() {
    check(
        &format!("{}\r\nST*850*1~\n  SE*2*1~\r\n\r\nIEA*0*1~\n \x1a", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 ST@108 |850 |1
        3 SE@120 |2 |1
        4 IEA@131 |0 |1
    "#]],
    );
    check_strict(
        &format!("{}\r\nST*850*1~\nIEA*0*1~", isa("00401")),
        expect![[r#"
        error EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        error EDI-014 at 106 (interchange 1, segment 1): white space follows a segment terminator
        2 ST@108 |850 |1
        3 IEA@118 |0 |1
    "#]],
    );
}

#[test]
fn line_feed_is_the_terminator() {
    check(
        &isa("00401").replace('~', "\n"),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : \n repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
    "#]],
    );
    check(
        &format!("{}ST*850*1\r\nIEA*0*1\r\n", isa("00401").replace('~', "\r\n")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : \r repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 ST@107 |850 |1
        3 IEA@117 |0 |1
    "#]],
    );
}

#[test]
fn a_line_break_inside_a_segment_is_left_out_and_told_once() {
    check(
        &format!("{}N3*1 MAIN\r\n ST~N\n3*2~IEA*0*1~", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        warning EDI-013 at 115 (interchange 1, segment 2): a line break is inside a segment; it is left out, here and later in this interchange
        2 N3@106 |1 MAIN ST
        3 N3@121 |2
        4 IEA@127 |0 |1
    "#]],
    );
    check_strict(
        &format!("{}N3*1 MAIN\r\n ST~IEA*0*1~", isa("00401")),
        expect![[r#"
        error EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        error EDI-013 at 115 (interchange 1, segment 2): a line break is inside a segment; it is left out, here and later in this interchange
        2 N3@106 |1 MAIN ST
        3 IEA@121 |0 |1
    "#]],
    );
}

#[test]
fn an_isa_of_wrong_widths_is_read_by_its_separators() {
    check(
        "ISA*00* *00* *01*054481205 *01*123456789 *070101*1200*U*00200*000000001*0*P*@!\nGS*PO!IEA*0*1!",
        expect![[r#"
        warning EDI-003 at 0 (interchange 1, segment 1): the ISA segment has 78 bytes, expected 106: its elements do not have their fixed widths
        X12 * @ ! repetition no release no decimal .
        1 ISA@0 |00 |  |00 |  |01 |054481205  |01 |123456789  |070101 |1200 |U |00200 |000000001 |0 |P |@
        2 GS@79 |PO
        3 IEA@85 |0 |1
    "#]],
    );
    check(
        "ISA*00* *00* *ZZ*A\n*ZZ*B*080403*1114*U*00400*000000001*0*P*@!\nGS*SS!IEA*1*1!",
        expect![[r#"
        warning EDI-003 at 0 (interchange 1, segment 1): the ISA segment has 61 bytes, expected 106: its elements do not have their fixed widths
        X12 * @ ! repetition no release no decimal .
        warning EDI-013 at 18 (interchange 1, segment 1): a line break is inside a segment; it is left out, here and later in this interchange
        1 ISA@0 |00 |  |00 |  |ZZ |A |ZZ |B |080403 |1114 |U |00400 |000000001 |0 |P |@
        2 GS@62 |SS
        3 IEA@68 |1 |1
    "#]],
    );
}

#[test]
fn an_isa_that_is_none_is_refused_once() {
    check(
        "ISA*00*A~GS*1~ST*850*1~SE*2*1~GE*1*1~IEA*1*1~",
        expect![[r#"
        error EDI-004 at 0 (interchange 1): the interchange header is not readable: ISA has fewer than 16 elements
    "#]],
    );
    check(
        &format!("{}GS~IEA~", isa("00401")).replace('*', "X"),
        expect![[r#"
        error EDI-005 at 0 (interchange 1): the element separator is a letter
    "#]],
    );
    check(
        &format!("{}GS~IEA~", isa("00401")).replace(':', "Z"),
        expect![[r#"
        error EDI-005 at 0 (interchange 1): the component separator is a letter
    "#]],
    );
    check(
        &format!("{}GS~IEA~", isa("00501")).replace('^', "~"),
        expect![[r#"
        error EDI-006 at 0 (interchange 1): the segment terminator and the repetition separator are the same character
    "#]],
    );
    check(
        &format!("{}GS~IEA~", isa("00501")).replace('^', "U"),
        expect![[r#"
        warning EDI-007 at 0 (interchange 1, segment 1): ISA11 is a letter or digit, expected a repetition separator in this version
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |U |00501 |000000001 |0 |T |:
        2 GS@106
        3 IEA@109
    "#]],
    );
}

#[test]
fn isx_gives_a_release_character() {
    check(
        &format!("{}ISX*?~REF*A?*B*??~IEA*0*1~", isa("00703")),
        expect![[r#"
        X12 * : ~ repetition ^ release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00703 |000000001 |0 |T |:
        2 ISX@106 |?
        3 REF@112 |A*B |?
        4 IEA@124 |0 |1
    "#]],
    );
}

#[test]
fn edifact_with_una_and_release() {
    check(
        "UNA:+,? '\nUNB+UNOC:3+S:14+R:14+260401:1200+1'FTX+ZZZ+++GATE 4?: BELL?+WAIT, DON?'T??'UNT+1?'1+1'UNZ+1+1'",
        expect![[r#"
            EDIFACT + : \' repetition no release ? decimal ,
            1 UNB@10 |UNOC : 3 |S : 14 |R : 14 |260401 : 1200 |1
            2 FTX@45 |ZZZ | | |GATE 4: BELL+WAIT, DON\'T?
            3 UNT@85 |1\'1 |1
            4 UNZ@96 |1 |1
        "#]],
    );
}

#[test]
fn edifact_without_una_has_its_defaults() {
    check(
        "UNB+UNOA:1+A+B+990802:1557+1'ALI*+A*B'UNZ+0+1'",
        expect![[r#"
            EDIFACT + : \' repetition no release ? decimal .
            1 UNB@0 |UNOA : 1 |A |B |990802 : 1557 |1
            error EDI-019 at 29 (interchange 1, segment 2): a segment begins with 4 bytes that are not a tag, expected three capital letters or digits
            2 ALI*@29 |A*B
            3 UNZ@38 |0 |1
        "#]],
    );
    check(
        "UNB+UNOC:4+A+B+19990802:1557+1'ALI+A*B:C'UNZ+0+1'",
        expect![[r#"
        EDIFACT + : \' repetition * release ? decimal .
        1 UNB@0 |UNOC : 4 |A |B |19990802 : 1557 |1
        2 ALI@31 |A ^ B : C
        3 UNZ@41 |0 |1
    "#]],
    );
    check(
        "UNB\x1dUNOB\x1f1\x1dA\x1dB\x1d990802\x1f1557\x1d1\x1cUNZ\x1d0\x1d1\x1c",
        expect![[r#"
        EDIFACT \x1d \x1f \x1c repetition no release no decimal .
        1 UNB@0 |UNOB : 1 |A |B |990802 : 1557 |1
        2 UNZ@29 |0 |1
    "#]],
    );
    check(
        "UNA:+.?*'UNB+UNOC:3+A+B+990802:1557+1'ALI+A*B'UNZ+0+1'",
        expect![[r#"
        EDIFACT + : \' repetition no release ? decimal .
        1 UNB@9 |UNOC : 3 |A |B |990802 : 1557 |1
        2 ALI@38 |A*B
        3 UNZ@46 |0 |1
    "#]],
    );
    check(
        "UNA:+.  'UNB+UNOC:3+A+B+990802:1557+1'ALI+A?'UNZ+0+1'",
        expect![[r#"
        EDIFACT + : \' repetition no release no decimal .
        1 UNB@9 |UNOC : 3 |A |B |990802 : 1557 |1
        2 ALI@38 |A?
        3 UNZ@45 |0 |1
    "#]],
    );
}

#[test]
fn edifact_headers_that_cannot_be_used() {
    check(
        "UNA:+.? 'BGM+1'",
        expect![[r#"
        error EDI-004 at 0 (interchange 1): the interchange header is not readable: UNA is not followed by UNB
    "#]],
    );
    check(
        "UNB*UNOA:1*A'UNZ*0*1'",
        expect![[r#"
        error EDI-004 at 0 (interchange 1): the interchange header is not readable: UNB is not followed by +, and no UNA names another separator
    "#]],
    );
    check(
        "UNA:+.?",
        expect![[r#"
        error EDI-004 at 0 (interchange 1): the interchange header is not readable: UNA has fewer than six service characters
    "#]],
    );
    check(
        "UNA::.? 'UNB:UNOA:1:A'UNZ:0:1'",
        expect![[r#"
        error EDI-006 at 0 (interchange 1): the element separator and the component separator are the same character
    "#]],
    );
    check(
        "UNB+UNOZ:9+A+B+990802:1557+1'UNZ+0+1'",
        expect![[r#"
        warning EDI-008 at 0 (interchange 1, segment 1): the syntax identifier of UNB is not one of ISO 9735
        warning EDI-008 at 0 (interchange 1, segment 1): the syntax version of UNB is not one of ISO 9735
        EDIFACT + : \' repetition no release ? decimal .
        1 UNB@0 |UNOZ : 9 |A |B |990802 : 1557 |1
        2 UNZ@29 |0 |1
    "#]],
    );
}

#[test]
fn both_standards_in_one_file_with_noise_between() {
    check(
        &format!(
            "\u{feff}{}IEA*0*1~\n-- mail footer: VISA --\nUNB+UNOA:1+A+B+990802:1557+1'UNZ+0+1'{}IEA|0|1~the end",
            isa("00401"),
            isa("00501").replace('*', "|")
        ),
        expect![[r#"
            warning EDI-009 at 3 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
            X12 * : ~ repetition no release no decimal .
            1 ISA@3 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
            2 IEA@109 |0 |1
            warning EDI-001 at 118 (): 24 bytes here are neither white space nor part of an interchange
            EDIFACT + : \' repetition no release ? decimal .
            1 UNB@142 |UNOA : 1 |A |B |990802 : 1557 |1
            2 UNZ@171 |0 |1
            X12 | : ~ repetition ^ release no decimal .
            1 ISA@179 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00501 |000000001 |0 |T |:
            2 IEA@285 |0 |1
            warning EDI-001 at 293 (): 7 bytes here are neither white space nor part of an interchange
        "#]],
    );
}

#[test]
fn an_interchange_begins_inside_another() {
    check(
        &format!("{}GS*PO~{}IEA*0*1~", isa("00401"), isa("00401").replace('~', "\n")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 GS@106 |PO
        warning EDI-009 at 112 (interchange 2, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : \n repetition no release no decimal .
        1 ISA@112 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 IEA@218 |0 |1~
    "#]],
    );
    check(
        &format!("{}GS*PO~UNB+UNOA:1+A+B+990802:1557+1'UNZ+0+1'", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 GS@106 |PO
        EDIFACT + : \' repetition no release ? decimal .
        1 UNB@112 |UNOA : 1 |A |B |990802 : 1557 |1
        2 UNZ@141 |0 |1
    "#]],
    );
}

#[test]
fn nothing_is_an_interchange() {
    check(
        "",
        expect![[r#"
        error EDI-002 at 0 (): no interchange found: nothing begins with ISA, UNA or UNB
    "#]],
    );
    check(
        " \n",
        expect![[r#"
        error EDI-002 at 0 (): no interchange found: nothing begins with ISA, UNA or UNB
    "#]],
    );
    check(
        "Dear ISA member, UNAvoidable",
        expect![[r#"
        error EDI-002 at 0 (): no interchange found: nothing begins with ISA, UNA or UNB
    "#]],
    );
}

#[test]
fn binary_data_is_counted() {
    check(
        &format!("{}BIN*7*~*:ISA*~BDS*ASC*3*~~~~REF*1~IEA*0*1~", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 BIN@106 |7 |~*:ISA*
        3 BDS@120 |ASC |3 |~~~
        4 REF@134 |1
        5 IEA@140 |0 |1
    "#]],
    );
    check(
        &format!("{}BIN*3~REF*1~IEA*0*1~", isa("00401")),
        expect![[r#"
            warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
            X12 * : ~ repetition no release no decimal .
            1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
            error EDI-018 at 106 (interchange 1, segment 2): the binary data does not end where its length says
            2 BIN@106 |3
            3 REF@112 |1
            4 IEA@118 |0 |1
        "#]],
    );
    check(
        &format!("{}BIN*X*abc~BIN*9*abc~IEA*0*000000001~", isa("00401")),
        expect![[r#"
            warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
            X12 * : ~ repetition no release no decimal .
            1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
            error EDI-015 at 106 (interchange 1, segment 2, element 1): the length of the binary data is not a number
            2 BIN@106 |X |abc
            error EDI-018 at 116 (interchange 1, segment 3): the binary data does not end where its length says
            3 BIN@116 |9 |abc
            4 IEA@126 |0 |000000001
        "#]],
    );
    check(
        &format!("{}BIN*900*abc~IEA*0*1~", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        error EDI-017 at 106 (interchange 1, segment 2): the binary data has 900 bytes by its length, but only 12 are left in the file
    "#]],
    );
    check_limits(
        &format!("{}BIN*12*0~23456789~1~REF*1~BIN*99*~~~", isa("00401")),
        Limits { record_bytes_max: 10, ..Limits::default() },
        expect![[r#"
            warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
            X12 * : ~ repetition no release no decimal .
            1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
            error EDI-016 at 106 (interchange 1, segment 2): the binary data has 12 bytes by its length, more than 10
            3 REF@126 |1
            error EDI-016 at 132 (interchange 1, segment 4): the binary data has 99 bytes by its length, more than 10
        "#]],
    );
}

#[test]
fn a_segment_that_is_too_long_is_passed_over() {
    let limits = Limits { segment_bytes_max: 120, segment_elements_max: 16, ..Limits::default() };
    check_limits(
        &format!("{}N1*{}~REF*1~IEA*0*1~", isa("00401"), "A".repeat(120)),
        limits.clone(),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        error EDI-010 at 106 (interchange 1, segment 2): the segment is longer than 120 bytes
        3 REF@230 |1
        4 IEA@236 |0 |1
    "#]],
    );
    check_limits(
        &format!("{}N1*{}", isa("00401"), "A".repeat(900)),
        limits.clone(),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        error EDI-010 at 106 (interchange 1, segment 2): the segment is longer than 120 bytes
    "#]],
    );
    check_limits(
        &format!("{}N1{}~REF*1~IEA*0*1~", isa("00401"), "*".repeat(17)),
        limits.clone(),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        error EDI-011 at 106 (interchange 1, segment 2): the segment has more than 16 elements
        3 REF@126 |1
        4 IEA@132 |0 |1
    "#]],
    );
    check_limits(
        &format!("UNB+UNOA:1+{}'UNZ+0'", "A".repeat(120)),
        limits,
        expect![[r#"
        EDIFACT + : \' repetition no release ? decimal .
        error EDI-010 at 0 (interchange 1, segment 1): the segment is longer than 120 bytes
    "#]],
    );
}

#[test]
fn the_file_ends_inside_a_segment() {
    check(
        &format!("{}ST*850*0", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        error EDI-012 at 106 (interchange 1, segment 2): the file ends before the segment terminator
        2 ST@106 |850 |0
    "#]],
    );
    check(
        &format!("{}ST*850*1~IEA*0*1", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 ST@106 |850 |1
        3 IEA@115 |0 |1
    "#]],
    );
    check(
        "UNB+UNOA:1+A+B+990802:1557+1'FTX+A?",
        expect![[r#"
        EDIFACT + : \' repetition no release ? decimal .
        1 UNB@0 |UNOA : 1 |A |B |990802 : 1557 |1
        error EDI-012 at 29 (interchange 1, segment 2): the file ends before the segment terminator
    "#]],
    );
}

#[test]
fn empty_segments_and_bad_tags() {
    check(
        &format!("{}ST*850*1~~~*A~TOOLONG*1~\u{e9}X*1~IEA*0*1~", isa("00401")),
        expect![[r#"
        warning EDI-009 at 0 (interchange 1, segment 1): ISA11 is not U, its only value before version 00402; the interchange has no repetition separator
        X12 * : ~ repetition no release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00401 |000000001 |0 |T |:
        2 ST@106 |850 |1
        warning EDI-020 at 115 (interchange 1, segment 3): a segment is empty
        error EDI-019 at 117 (interchange 1, segment 3): a segment begins with 0 bytes that are not a tag, expected two or three capital letters or digits
        3 @117 |A
        error EDI-019 at 120 (interchange 1, segment 4): a segment begins with 7 bytes that are not a tag, expected two or three capital letters or digits
        4 TOOLONG@120 |1
        error EDI-019 at 130 (interchange 1, segment 5): a segment begins with 3 bytes that are not a tag, expected two or three capital letters or digits
        5 \xc3\xa9X@130 |1
        6 IEA@136 |0 |1
    "#]],
    );
}

#[test]
fn explicit_nesting_is_no_part_of_the_tag() {
    check(
        "UNB+UNOA:1+A+B+990802:1557+1'LIN:1:2+5'UNZ+0+1'",
        expect![[r#"
            EDIFACT + : \' repetition no release ? decimal .
            1 UNB@0 |UNOA : 1 |A |B |990802 : 1557 |1
            warning EDI-023 at 29 (interchange 1, segment 2): a tag has explicit nesting (`LIN:1`), which documents do not have; it is left out, here and later in this interchange
            2 LIN@29 |5
            3 UNZ@39 |0 |1
        "#]],
    );
}

#[test]
fn wrapped_lines_may_break_released_pairs() {
    check(
        "UNB+UNOA:1+A+B+990802:1557+1'FTX+DON?\n'T+?\r\n?'UNZ+0+1'",
        expect![[r#"
        EDIFACT + : \' repetition no release ? decimal .
        1 UNB@0 |UNOA : 1 |A |B |990802 : 1557 |1
        warning EDI-013 at 37 (interchange 1, segment 2): a line break is inside a segment; it is left out, here and later in this interchange
        2 FTX@29 |DON\'T |?
        3 UNZ@46 |0 |1
    "#]],
    );
}

/// Regression, found by fuzzing: a pass over an incomplete segment and one over the whole reported different faults. Before the terminator is
/// present, a pass must report a prefix of the later reports. Cases: white space before a header that cuts an interchange off, the limit of
/// elements where that header follows, line breaks that the index finds in binary data, a line feed that is a delimiter, marks before the tag of
/// the last segment, and line breaks in released pairs of extended text. `trace_all_ways` compares each part with the whole.
#[test]
fn an_early_look_says_what_a_late_one_says() {
    let limits = Limits { segment_bytes_max: 400, segment_elements_max: 30, record_bytes_max: 20, ..Limits::default() };
    let plus = "+".repeat(40);
    for text in [
        "UNA:+.? '\nUNB+UN'\nUNB+UNOC:4+S'DTM+A'".to_owned(),
        format!("UNB+UNOC:4+S+R'\nUNB+UNOC:1{plus}'UNT+1"),
        format!("UNB+UNOC:4{plus}'UNT+1'UNB+UNOC:4+S'UNZ+1'"),
        format!("{}BIN*300*A\nB~REF*1~IEA*0*1~", isa("00501")),
        format!("{}BIN*3*A\nB~REF*1~IEA*0*1~", isa("00501")),
        "UNA\n+.? 'UNB+UNOC\n4+S'\nUNB+UNOC:4+S'\n\nDTM".to_owned(),
        "UNB+UNOC:4+S+R' \nUNT+A\n".to_owned(),
        "UNB+UNOC:4+S+R' \nUNT+A\n'UNZ+1".to_owned(),
        "UNB+UNOX:4+S+R'GS*PO~?\r\n'UNT+1'UNZ+1'".to_owned(),
        "UNB+UNOX:4+S+R'FTX+?\n".to_owned(),
    ] {
        trace_all_ways(text.as_bytes(), &limits, Rules::Lenient);
        trace_all_ways(text.as_bytes(), &limits, Rules::Strict);
    }
}

/// Regression: a wrapped file had additional findings for each header, because Quayline compared fields together with their line breaks: the width
/// of ISA, the syntax of UNB. Only the line break is a fault.
#[test]
fn wrapped_headers_have_one_fault() {
    let wrapped = |text: &str, width: usize| {
        text.as_bytes()
            .chunks(width)
            .map(|line| core::str::from_utf8(line).expect("ASCII"))
            .collect::<Vec<_>>()
            .join("\r\n")
    };
    check(
        &wrapped(&format!("{}GS*HC*S*R~IEA*1*000000001~", isa("00501")), 80),
        expect![[r#"
            X12 * : ~ repetition ^ release no decimal .
            warning EDI-013 at 80 (interchange 1, segment 1): a line break is inside a segment; it is left out, here and later in this interchange
            1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00501 |000000001 |0 |T |:
            2 GS@108 |HC |S |R
            3 IEA@118 |1 |000000001
        "#]],
    );
    check(
        &wrapped("UNB+UNOA:2+A+B+990802:1557+1'ALI+A*B'UNZ+0+1'", 6),
        expect![[r#"
        EDIFACT + : \' repetition no release ? decimal .
        warning EDI-013 at 6 (interchange 1, segment 1): a line break is inside a segment; it is left out, here and later in this interchange
        1 UNB@0 |UNOA : 2 |A |B |990802 : 1557 |1
        2 ALI@37 |A*B
        3 UNZ@49 |0 |1
    "#]],
    );
}

/// Regression: Quayline read the first byte of such a character as the delimiter, and each later segment began with the other bytes.
#[test]
fn a_delimiter_of_several_bytes_is_refused() {
    check(
        &format!("{}GS*HC*S*R\u{2026}IEA*1*000000001\u{2026}", isa("00501").replace('~', "\u{2026}")),
        expect![[r#"
        error EDI-005 at 0 (interchange 1): the segment terminator is a character of several bytes (UTF-8)
    "#]],
    );
    check(
        &format!("{}GS*HC*S*R~IEA*1*000000001~", isa("00501").replace(':', "\u{a7}")),
        expect![[r#"
        error EDI-005 at 0 (interchange 1): the component separator is a character of several bytes (UTF-8)
    "#]],
    );
    check(
        &isa("00501").replace('*', "\u{a6}"),
        expect![[r#"
        error EDI-005 at 0 (interchange 1): the element separator is a character of several bytes (UTF-8)
    "#]],
    );
    check(
        "UNA:+.? \u{b6}UNB+UNOC:3+A+B+990802:1557+1\u{b6}UNZ+0+1\u{b6}",
        expect![[r#"
        error EDI-005 at 0 (interchange 1): the segment terminator is a character of several bytes (UTF-8)
        EDIFACT + : \' repetition no release ? decimal .
        error EDI-012 at 10 (interchange 2, segment 1): the file ends before the segment terminator
        1 UNB@10 |UNOC : 3 |A |B |990802 : 1557 |1\xc2\xb6UNZ |0 |1\xc2\xb6
    "#]],
    );
}

/// Regression: binary data with too short a length was also read as text, with findings for its line breaks and for too many elements.
#[test]
fn a_short_length_of_binary_data_is_one_fault() {
    check(
        &format!("{}BIN*3*a*b\r\nc:d~REF*1~IEA*0*000000001~", isa("00501")),
        expect![[r#"
        X12 * : ~ repetition ^ release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00501 |000000001 |0 |T |:
        error EDI-018 at 106 (interchange 1, segment 2): the binary data does not end where its length says
        2 BIN@106 |3 |a*b\r\nc:d
        3 REF@121 |1
        4 IEA@127 |0 |000000001
    "#]],
    );
}

/// Regression: the character was left out without a finding.
#[test]
fn a_release_character_before_a_character_that_needs_none_is_reported_once() {
    let text = "UNB+UNOC:3+A+B+260401:1200+1'FTX+ZZZ+++A?+B'FTX+ZZZ+++C?*D:WHY? NOW'FTX+?X+B??'FTX+A?\n B'UNZ+0+1'";
    check(
        text,
        expect![[r#"
        EDIFACT + : \' repetition no release ? decimal .
        1 UNB@0 |UNOC : 3 |A |B |260401 : 1200 |1
        2 FTX@29 |ZZZ | | |A+B
        warning EDI-028 at 44 (interchange 1, segment 3, element 4): a release character precedes a character that needs none; it is left out, here and later in this interchange
        3 FTX@44 |ZZZ | | |C*D : WHY NOW
        4 FTX@68 |X |B?
        warning EDI-013 at 85 (interchange 1, segment 5): a line break is inside a segment; it is left out, here and later in this interchange
        5 FTX@79 |A B
        6 UNZ@89 |0 |1
    "#]],
    );
    check_strict(
        &text.replace(":WHY? NOW", "").replace("?X", "X").replace("?\n B", ""),
        expect![[r#"
        EDIFACT + : \' repetition no release ? decimal .
        1 UNB@0 |UNOC : 3 |A |B |260401 : 1200 |1
        2 FTX@29 |ZZZ | | |A+B
        3 FTX@44 |ZZZ | | |C*D
        4 FTX@59 |X |B?
        5 FTX@69 |A
        6 UNZ@75 |0 |1
    "#]],
    );
    check(
        &format!("{}ISX*?~REF*A?B~REF*A?*B~IEA*0*1~", isa("00703")),
        expect![[r#"
        X12 * : ~ repetition ^ release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00703 |000000001 |0 |T |:
        2 ISX@106 |?
        warning EDI-028 at 112 (interchange 1, segment 3, element 1): a release character precedes a character that needs none; it is left out, here and later in this interchange
        3 REF@112 |AB
        4 REF@120 |A*B
        5 IEA@129 |0 |1
    "#]],
    );
}

/// Regression: only the first byte of two or three was checked, so that documents held tags that cannot be written.
#[test]
fn each_byte_of_a_tag_is_checked() {
    let segments: String = ["N?", "S+R", "N M", "Nm", "NM\u{e9}", "N1", "NM1", "N12", "1NM"]
        .iter()
        .map(|tag| format!("{tag}*A~"))
        .collect();
    check(
        &format!("{}{segments}IEA*0*000000001~", isa("00501")),
        expect![[r#"
        X12 * : ~ repetition ^ release no decimal .
        1 ISA@0 |00 |           |00 |           |ZZ |SENDER          |ZZ |RECEIVER        |260401 |1200 |^ |00501 |000000001 |0 |T |:
        error EDI-019 at 106 (interchange 1, segment 2): a segment begins with 2 bytes that are not a tag, expected two or three capital letters or digits
        2 N?@106 |A
        error EDI-019 at 111 (interchange 1, segment 3): a segment begins with 3 bytes that are not a tag, expected two or three capital letters or digits
        3 S+R@111 |A
        error EDI-019 at 117 (interchange 1, segment 4): a segment begins with 3 bytes that are not a tag, expected two or three capital letters or digits
        4 N M@117 |A
        error EDI-019 at 123 (interchange 1, segment 5): a segment begins with 2 bytes that are not a tag, expected two or three capital letters or digits
        5 Nm@123 |A
        error EDI-019 at 128 (interchange 1, segment 6): a segment begins with 4 bytes that are not a tag, expected two or three capital letters or digits
        6 NM\xc3\xa9@128 |A
        7 N1@135 |A
        8 NM1@140 |A
        9 N12@146 |A
        error EDI-019 at 152 (interchange 1, segment 10): a segment begins with 3 bytes that are not a tag, expected two or three capital letters or digits
        10 1NM@152 |A
        11 IEA@158 |0 |000000001
    "#]],
    );
    check(
        "UNB+UNOC:3+A+B+260401:1200+1'FTX+A'F_X+A'FT+A'FTx+A'F?TX+A'UNZ+0+1'",
        expect![[r#"
        EDIFACT + : \' repetition no release ? decimal .
        1 UNB@0 |UNOC : 3 |A |B |260401 : 1200 |1
        2 FTX@29 |A
        error EDI-019 at 35 (interchange 1, segment 3): a segment begins with 3 bytes that are not a tag, expected three capital letters or digits
        3 F_X@35 |A
        error EDI-019 at 41 (interchange 1, segment 4): a segment begins with 2 bytes that are not a tag, expected three capital letters or digits
        4 FT@41 |A
        error EDI-019 at 46 (interchange 1, segment 5): a segment begins with 3 bytes that are not a tag, expected three capital letters or digits
        5 FTx@46 |A
        warning EDI-028 at 52 (interchange 1, segment 6): a release character precedes a character that needs none; it is left out, here and later in this interchange
        error EDI-019 at 52 (interchange 1, segment 6): a segment begins with 4 bytes that are not a tag, expected three capital letters or digits
        6 F?TX@52 |A
        7 UNZ@59 |0 |1
    "#]],
    );
}
