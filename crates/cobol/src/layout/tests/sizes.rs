//! Sizes and kinds of elementary items.

use super::*;

/// One item a row: bytes and description.
fn sizes(items: &[&str], dialect: &Dialect) -> String {
    let mut out = String::new();
    for item in items {
        let text = format!("01 R. 05 A {item}.");
        match parse_free(&text).map(|c| Layout::build(&c.records[0], dialect)) {
            Ok(Ok(layout)) => {
                let field = &layout.fields[1];
                writeln!(out, "{:<3} {item} -> {}", field.size, kind(&field.kind)).unwrap();
            }
            Ok(Err(findings)) => {
                writeln!(out, "-   {item} -> {} {}", findings.0[0].code, findings.0[0].message).unwrap()
            }
            Err(findings) => writeln!(out, "-   {item} -> {}", findings.lines().next().unwrap()).unwrap(),
        }
    }
    out
}

fn kind(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Group => "group".to_owned(),
        FieldKind::Item(crate::layout::Encoding::Edited(e)) => format!("Edited digits {} scale {}", e.digits, e.scale),
        FieldKind::Item(encoding) => format!("{encoding:?}"),
    }
}

const BINARY: &[&str] = &[
    "PIC 9 COMP",
    "PIC 99 BINARY",
    "PIC S999 COMP-4",
    "PIC S9(4) COMPUTATIONAL",
    "PIC 9(5) USAGE IS COMPUTATIONAL-4",
    "PIC S9(9) COMP",
    "PIC S9(10) COMP",
    "PIC S9(16)V99 BINARY",
    "PIC S9(19) COMP",
    "PIC S9(31) COMP-5",
    "PIC S9(1) COMP-5",
    "PIC S9(4) COMP-5",
    "PIC 9(18) COMP-5",
    "PIC 9(2) COMP-X",
    "PIC 9(5) COMP-X",
    "PIC 9(9) COMP-X",
    "PIC 9(12) COMP-X",
    "PIC S9(3) COMP-X",
    "PIC X(3) COMP-X",
    "PIC X COMP-X",
    "PIC X(17) COMP-X",
    "PIC 9(5) COMP-N",
    "PIC S9P(3) COMP",
    "PIC VP9(4) COMP",
    "BINARY-CHAR",
    "BINARY-SHORT UNSIGNED",
    "BINARY-LONG SIGNED",
    "USAGE BINARY-DOUBLE",
    "INDEX",
    "USAGE IS POINTER",
    "POINTER-32",
    "PROCEDURE-POINTER",
    "FUNCTION-POINTER",
    "COMP-1",
    "COMPUTATIONAL-2",
    "FLOAT-SHORT",
    "FLOAT-LONG",
];

#[test]
fn binary_sizes_follow_the_dialect() {
    expect![[r#"
        2   PIC 9 COMP -> Binary { digits: 1, scale: 0, signed: false, order: Big, full_range: false }
        2   PIC 99 BINARY -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: false }
        2   PIC S999 COMP-4 -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: false }
        2   PIC S9(4) COMPUTATIONAL -> Binary { digits: 4, scale: 0, signed: true, order: Big, full_range: false }
        4   PIC 9(5) USAGE IS COMPUTATIONAL-4 -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: false }
        4   PIC S9(9) COMP -> Binary { digits: 9, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(10) COMP -> Binary { digits: 10, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(16)V99 BINARY -> Binary { digits: 18, scale: 2, signed: true, order: Big, full_range: false }
        -   PIC S9(19) COMP -> COB-043 a binary item has at most 18 digits in this dialect, the picture has 19
        -   PIC S9(31) COMP-5 -> COB-043 a binary item has at most 18 digits in this dialect, the picture has 31
        2   PIC S9(1) COMP-5 -> Binary { digits: 1, scale: 0, signed: true, order: Big, full_range: true }
        2   PIC S9(4) COMP-5 -> Binary { digits: 4, scale: 0, signed: true, order: Big, full_range: true }
        8   PIC 9(18) COMP-5 -> Binary { digits: 18, scale: 0, signed: false, order: Big, full_range: true }
        1   PIC 9(2) COMP-X -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: true }
        3   PIC 9(5) COMP-X -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: true }
        4   PIC 9(9) COMP-X -> Binary { digits: 9, scale: 0, signed: false, order: Big, full_range: true }
        5   PIC 9(12) COMP-X -> Binary { digits: 12, scale: 0, signed: false, order: Big, full_range: true }
        2   PIC S9(3) COMP-X -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: true }
        3   PIC X(3) COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        1   PIC X COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        -   PIC X(17) COMP-X -> COB-050 USAGE COMP-X does not go with PIC X(17)
        3   PIC 9(5) COMP-N -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: true }
        2   PIC S9P(3) COMP -> Binary { digits: 1, scale: -3, signed: true, order: Big, full_range: false }
        2   PIC VP9(4) COMP -> Binary { digits: 4, scale: 5, signed: false, order: Big, full_range: false }
        1   BINARY-CHAR -> Binary { digits: 0, scale: 0, signed: true, order: Big, full_range: true }
        2   BINARY-SHORT UNSIGNED -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        4   BINARY-LONG SIGNED -> Binary { digits: 0, scale: 0, signed: true, order: Big, full_range: true }
        8   USAGE BINARY-DOUBLE -> Binary { digits: 0, scale: 0, signed: true, order: Big, full_range: true }
        4   INDEX -> Binary { digits: 0, scale: 0, signed: true, order: Big, full_range: true }
        4   USAGE IS POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        4   POINTER-32 -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        8   PROCEDURE-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        4   FUNCTION-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        4   COMP-1 -> Float32(Hexadecimal)
        8   COMPUTATIONAL-2 -> Float64(Hexadecimal)
        4   FLOAT-SHORT -> Float32(Hexadecimal)
        8   FLOAT-LONG -> Float64(Hexadecimal)
    "#]].assert_eq(&sizes(BINARY, &Dialect::IBM));
    expect![[r#"
        1   PIC 9 COMP -> Binary { digits: 1, scale: 0, signed: false, order: Big, full_range: false }
        1   PIC 99 BINARY -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: false }
        2   PIC S999 COMP-4 -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: false }
        2   PIC S9(4) COMPUTATIONAL -> Binary { digits: 4, scale: 0, signed: true, order: Big, full_range: false }
        4   PIC 9(5) USAGE IS COMPUTATIONAL-4 -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: false }
        4   PIC S9(9) COMP -> Binary { digits: 9, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(10) COMP -> Binary { digits: 10, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(16)V99 BINARY -> Binary { digits: 18, scale: 2, signed: true, order: Big, full_range: false }
        -   PIC S9(19) COMP -> COB-043 a binary item has at most 18 digits in this dialect, the picture has 19
        -   PIC S9(31) COMP-5 -> COB-043 a binary item has at most 18 digits in this dialect, the picture has 31
        1   PIC S9(1) COMP-5 -> Binary { digits: 1, scale: 0, signed: true, order: Little, full_range: true }
        2   PIC S9(4) COMP-5 -> Binary { digits: 4, scale: 0, signed: true, order: Little, full_range: true }
        8   PIC 9(18) COMP-5 -> Binary { digits: 18, scale: 0, signed: false, order: Little, full_range: true }
        1   PIC 9(2) COMP-X -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: true }
        3   PIC 9(5) COMP-X -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: true }
        4   PIC 9(9) COMP-X -> Binary { digits: 9, scale: 0, signed: false, order: Big, full_range: true }
        5   PIC 9(12) COMP-X -> Binary { digits: 12, scale: 0, signed: false, order: Big, full_range: true }
        2   PIC S9(3) COMP-X -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: true }
        3   PIC X(3) COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        1   PIC X COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        -   PIC X(17) COMP-X -> COB-050 USAGE COMP-X does not go with PIC X(17)
        3   PIC 9(5) COMP-N -> Binary { digits: 5, scale: 0, signed: false, order: Little, full_range: true }
        1   PIC S9P(3) COMP -> Binary { digits: 1, scale: -3, signed: true, order: Big, full_range: false }
        2   PIC VP9(4) COMP -> Binary { digits: 4, scale: 5, signed: false, order: Big, full_range: false }
        1   BINARY-CHAR -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        2   BINARY-SHORT UNSIGNED -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   BINARY-LONG SIGNED -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        8   USAGE BINARY-DOUBLE -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        4   INDEX -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        8   USAGE IS POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   POINTER-32 -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        8   PROCEDURE-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        8   FUNCTION-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   COMP-1 -> Float32(IeeeLittle)
        8   COMPUTATIONAL-2 -> Float64(IeeeLittle)
        4   FLOAT-SHORT -> Float32(IeeeLittle)
        8   FLOAT-LONG -> Float64(IeeeLittle)
    "#]].assert_eq(&sizes(BINARY, &Dialect::GNUCOBOL));
    expect![[r#"
        1   PIC 9 COMP -> Binary { digits: 1, scale: 0, signed: false, order: Big, full_range: false }
        1   PIC 99 BINARY -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: false }
        2   PIC S999 COMP-4 -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: false }
        2   PIC S9(4) COMPUTATIONAL -> Binary { digits: 4, scale: 0, signed: true, order: Big, full_range: false }
        3   PIC 9(5) USAGE IS COMPUTATIONAL-4 -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: false }
        4   PIC S9(9) COMP -> Binary { digits: 9, scale: 0, signed: true, order: Big, full_range: false }
        5   PIC S9(10) COMP -> Binary { digits: 10, scale: 0, signed: true, order: Big, full_range: false }
        8   PIC S9(16)V99 BINARY -> Binary { digits: 18, scale: 2, signed: true, order: Big, full_range: false }
        9   PIC S9(19) COMP -> Binary { digits: 19, scale: 0, signed: true, order: Big, full_range: false }
        13  PIC S9(31) COMP-5 -> Binary { digits: 31, scale: 0, signed: true, order: Little, full_range: true }
        1   PIC S9(1) COMP-5 -> Binary { digits: 1, scale: 0, signed: true, order: Little, full_range: true }
        2   PIC S9(4) COMP-5 -> Binary { digits: 4, scale: 0, signed: true, order: Little, full_range: true }
        8   PIC 9(18) COMP-5 -> Binary { digits: 18, scale: 0, signed: false, order: Little, full_range: true }
        1   PIC 9(2) COMP-X -> Binary { digits: 2, scale: 0, signed: false, order: Big, full_range: true }
        3   PIC 9(5) COMP-X -> Binary { digits: 5, scale: 0, signed: false, order: Big, full_range: true }
        4   PIC 9(9) COMP-X -> Binary { digits: 9, scale: 0, signed: false, order: Big, full_range: true }
        5   PIC 9(12) COMP-X -> Binary { digits: 12, scale: 0, signed: false, order: Big, full_range: true }
        2   PIC S9(3) COMP-X -> Binary { digits: 3, scale: 0, signed: true, order: Big, full_range: true }
        3   PIC X(3) COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        1   PIC X COMP-X -> Binary { digits: 0, scale: 0, signed: false, order: Big, full_range: true }
        -   PIC X(17) COMP-X -> COB-050 USAGE COMP-X does not go with PIC X(17)
        3   PIC 9(5) COMP-N -> Binary { digits: 5, scale: 0, signed: false, order: Little, full_range: true }
        1   PIC S9P(3) COMP -> Binary { digits: 1, scale: -3, signed: true, order: Big, full_range: false }
        2   PIC VP9(4) COMP -> Binary { digits: 4, scale: 5, signed: false, order: Big, full_range: false }
        1   BINARY-CHAR -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        2   BINARY-SHORT UNSIGNED -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   BINARY-LONG SIGNED -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        8   USAGE BINARY-DOUBLE -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        4   INDEX -> Binary { digits: 0, scale: 0, signed: true, order: Little, full_range: true }
        8   USAGE IS POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   POINTER-32 -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        8   PROCEDURE-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        8   FUNCTION-POINTER -> Binary { digits: 0, scale: 0, signed: false, order: Little, full_range: true }
        4   COMP-1 -> Float32(IeeeLittle)
        8   COMPUTATIONAL-2 -> Float64(IeeeLittle)
        4   FLOAT-SHORT -> Float32(IeeeLittle)
        8   FLOAT-LONG -> Float64(IeeeLittle)
    "#]].assert_eq(&sizes(BINARY, &Dialect::MICRO_FOCUS));
}

#[test]
fn other_usages_have_one_size_everywhere() {
    let items = [
        "PIC X(10)",
        "PIC A(3)",
        "PIC XA9",
        "PIC X(3) JUST",
        "PIC X(3) JUSTIFIED RIGHT",
        "PIC XXBXX/0",
        "PIC A(3)BA",
        "PIC 9(5)",
        "PIC S9(5)V99",
        "PIC SV9(4)",
        "PIC S9(3)PPP",
        "PIC PPP9(3)",
        "PIC VPPP9(3)",
        "PIC 9(3)P(2)V",
        "PIC S9(5) SIGN LEADING",
        "PIC S9(5) LEADING SEPARATE",
        "PIC S9(5) SIGN IS TRAILING SEPARATE CHARACTER",
        "PIC 9(5) BLANK WHEN ZERO",
        "PIC 9(5) BLANK ZEROES",
        "PIC S9(5) COMP-3",
        "PIC 9(4) PACKED-DECIMAL",
        "PIC S9(31) COMP-3",
        "PIC S9(38) COMP-3",
        "PIC 9PP COMP-3",
        "PIC 9(5) COMP-6",
        "PIC 9(4) COMP-6",
        "PIC N(5)",
        "PIC N(5) USAGE NATIONAL",
        "PIC NBN",
        "PIC N(3) JUST",
        "PIC G(4) DISPLAY-1",
        "PIC G(2)BG",
        "PIC N(2) DISPLAY-1",
        "PIC U(5)",
        "PIC U(5) USAGE UTF-8",
        "PIC U(5) BYTE-LENGTH 10",
        "PIC 1",
        "PIC 1(8)",
        "PIC ZZ,ZZ9.99-",
        "PIC $$$,$$9.99CR",
        "PIC +++,++9.9",
        "PIC **,**9.99DB",
        "PIC 99/99/99",
        "PIC 99B99",
        "PIC 9(3)0009",
        "PIC ZZZ9.99 BLANK WHEN ZERO",
        "PIC $9(5).99",
        "PIC -9(5)",
        "PIC 9(5)+",
        "PIC ZZZPP",
        "PIC ZZ9V99",
        "PIC 9(3),9(3)",
        "PIC +$9(3)",
        "PIC $+++9",
        "PIC Z(5)",
        "PIC .99",
        "PIC -(5)9.9(2)",
        "PIC $(4).$$",
        "PIC ****.**",
        "PIC VPP99-",
        "PIC 9,",
        "PIC x(3)",
        "picture is s9(3)v9 usage display",
        "PIC 9(09)",
    ];
    expect![[r#"
        10  PIC X(10) -> Text { justified: false, alphabetic: false }
        3   PIC A(3) -> Text { justified: false, alphabetic: true }
        3   PIC XA9 -> Text { justified: false, alphabetic: false }
        3   PIC X(3) JUST -> Text { justified: true, alphabetic: false }
        3   PIC X(3) JUSTIFIED RIGHT -> Text { justified: true, alphabetic: false }
        7   PIC XXBXX/0 -> TextEdited { mask: [None, None, Some(' '), None, None, Some('/'), Some('0')] }
        5   PIC A(3)BA -> TextEdited { mask: [None, None, None, Some(' '), None] }
        5   PIC 9(5) -> Zoned { digits: 5, scale: 0, sign: Unsigned, blank_when_zero: false }
        7   PIC S9(5)V99 -> Zoned { digits: 7, scale: 2, sign: TrailingOverpunch, blank_when_zero: false }
        4   PIC SV9(4) -> Zoned { digits: 4, scale: 4, sign: TrailingOverpunch, blank_when_zero: false }
        3   PIC S9(3)PPP -> Zoned { digits: 3, scale: -3, sign: TrailingOverpunch, blank_when_zero: false }
        3   PIC PPP9(3) -> Zoned { digits: 3, scale: 6, sign: Unsigned, blank_when_zero: false }
        3   PIC VPPP9(3) -> Zoned { digits: 3, scale: 6, sign: Unsigned, blank_when_zero: false }
        3   PIC 9(3)P(2)V -> Zoned { digits: 3, scale: -2, sign: Unsigned, blank_when_zero: false }
        5   PIC S9(5) SIGN LEADING -> Zoned { digits: 5, scale: 0, sign: LeadingOverpunch, blank_when_zero: false }
        6   PIC S9(5) LEADING SEPARATE -> Zoned { digits: 5, scale: 0, sign: LeadingSeparate, blank_when_zero: false }
        6   PIC S9(5) SIGN IS TRAILING SEPARATE CHARACTER -> Zoned { digits: 5, scale: 0, sign: TrailingSeparate, blank_when_zero: false }
        5   PIC 9(5) BLANK WHEN ZERO -> Zoned { digits: 5, scale: 0, sign: Unsigned, blank_when_zero: true }
        5   PIC 9(5) BLANK ZEROES -> Zoned { digits: 5, scale: 0, sign: Unsigned, blank_when_zero: true }
        3   PIC S9(5) COMP-3 -> Packed { digits: 5, scale: 0, signed: true }
        3   PIC 9(4) PACKED-DECIMAL -> Packed { digits: 4, scale: 0, signed: false }
        16  PIC S9(31) COMP-3 -> Packed { digits: 31, scale: 0, signed: true }
        20  PIC S9(38) COMP-3 -> Packed { digits: 38, scale: 0, signed: true }
        1   PIC 9PP COMP-3 -> Packed { digits: 1, scale: -2, signed: false }
        3   PIC 9(5) COMP-6 -> PackedUnsigned { digits: 5, scale: 0 }
        2   PIC 9(4) COMP-6 -> PackedUnsigned { digits: 4, scale: 0 }
        10  PIC N(5) -> National { justified: false }
        10  PIC N(5) USAGE NATIONAL -> National { justified: false }
        6   PIC NBN -> National { justified: false }
        6   PIC N(3) JUST -> National { justified: true }
        8   PIC G(4) DISPLAY-1 -> Dbcs
        8   PIC G(2)BG -> Dbcs
        4   PIC N(2) DISPLAY-1 -> Dbcs
        20  PIC U(5) -> Utf8
        20  PIC U(5) USAGE UTF-8 -> Utf8
        10  PIC U(5) BYTE-LENGTH 10 -> Utf8
        1   PIC 1 -> Boolean
        8   PIC 1(8) -> Boolean
        10  PIC ZZ,ZZ9.99- -> Edited digits 7 scale 2
        12  PIC $$$,$$9.99CR -> Edited digits 7 scale 2
        9   PIC +++,++9.9 -> Edited digits 6 scale 1
        11  PIC **,**9.99DB -> Edited digits 7 scale 2
        8   PIC 99/99/99 -> Edited digits 6 scale 0
        5   PIC 99B99 -> Edited digits 4 scale 0
        7   PIC 9(3)0009 -> Edited digits 4 scale 0
        7   PIC ZZZ9.99 BLANK WHEN ZERO -> Edited digits 6 scale 2
        9   PIC $9(5).99 -> Edited digits 7 scale 2
        6   PIC -9(5) -> Edited digits 5 scale 0
        6   PIC 9(5)+ -> Edited digits 5 scale 0
        3   PIC ZZZPP -> Edited digits 3 scale -2
        5   PIC ZZ9V99 -> Edited digits 5 scale 2
        7   PIC 9(3),9(3) -> Edited digits 6 scale 0
        5   PIC +$9(3) -> Edited digits 3 scale 0
        5   PIC $+++9 -> Edited digits 3 scale 0
        5   PIC Z(5) -> Edited digits 5 scale 0
        3   PIC .99 -> Edited digits 2 scale 2
        9   PIC -(5)9.9(2) -> Edited digits 7 scale 2
        7   PIC $(4).$$ -> Edited digits 5 scale 2
        7   PIC ****.** -> Edited digits 6 scale 2
        3   PIC VPP99- -> Edited digits 2 scale 4
        2   PIC 9, -> Edited digits 1 scale 0
        3   PIC x(3) -> Text { justified: false, alphabetic: false }
        4   picture is s9(3)v9 usage display -> Zoned { digits: 4, scale: 1, sign: TrailingOverpunch, blank_when_zero: false }
        9   PIC 9(09) -> Zoned { digits: 9, scale: 0, sign: Unsigned, blank_when_zero: false }
    "#]].assert_eq(&sizes(&items, &Dialect::IBM));
}

#[test]
fn pictures_are_refused_with_the_rule() {
    let items = [
        "PIC 9S",
        "PIC SS9",
        "PIC 9V9V9",
        "PIC 9.9.9",
        "PIC 9V9.9",
        "PIC VV9",
        "PIC 9PP9",
        "PIC P9P",
        "PIC 9VP9",
        "PIC PV9",
        "PIC V",
        "PIC S",
        "PIC P",
        "PIC X9S",
        "PIC XZ",
        "PIC NX",
        "PIC UB",
        "PIC 1B",
        "PIC GN",
        "PIC 9(0)",
        "PIC 9()",
        "PIC 9(A)",
        "PIC 9(99999999999)",
        "PIC X(99999999)",
        "PIC 9(39)",
        "PIC Z(39)",
        "PIC Z9Z",
        "PIC 9Z",
        "PIC Z*",
        "PIC $$++9",
        "PIC Z+++",
        "PIC +9+",
        "PIC 9(15)+-",
        "PIC 9CRDB",
        "PIC CR9",
        "PIC -9CR",
        "PIC $9$",
        "PIC 9$",
        "PIC 9+9",
        "PIC $$9$",
        "PIC Z.Z9",
        "PIC +",
        "PIC $",
        "PIC .",
        "PIC B",
        "PIC Q",
        "PIC C9",
        "PIC +9.99E+99",
        "PIC S9.9",
        "PIC 9)9",
        "PIC Z(40000)",
        "PIC X(40000)B",
        "PIC",
        "PIC (3)",
        "PIC 9 (3)",
        "PIC £9",
    ];
    expect![[r#"
        -   PIC 9S -> error[COB-041]: write S once, before everything else
        -   PIC SS9 -> error[COB-041]: write S once, before everything else
        -   PIC 9V9V9 -> error[COB-041]: the picture has a second decimal point
        -   PIC 9.9.9 -> error[COB-041]: the picture has a second decimal point
        -   PIC 9V9.9 -> error[COB-041]: the picture has a second decimal point
        -   PIC VV9 -> error[COB-041]: the picture has a second decimal point
        -   PIC 9PP9 -> error[COB-041]: put P left or right of all digit positions; only V may be outside it
        -   PIC P9P -> error[COB-041]: put P left or right of all digit positions; only V may be outside it
        -   PIC 9VP9 -> error[COB-041]: put P left or right of all digit positions; only V may be outside it
        -   PIC PV9 -> error[COB-041]: put P left or right of all digit positions; only V may be outside it
        -   PIC V -> error[COB-041]: the picture has no digit position
        -   PIC S -> error[COB-041]: the picture has no digit position
        -   PIC P -> error[COB-041]: the picture has no digit position
        -   PIC X9S -> error[COB-041]: this symbol does not belong to the others: combine X and A only with X, A, 9, B, 0 and /
        -   PIC XZ -> error[COB-041]: this symbol does not belong to the others: combine X and A only with X, A, 9, B, 0 and /
        -   PIC NX -> error[COB-041]: this symbol does not belong to the others: it allows only itself and insertion symbols next to it
        -   PIC UB -> error[COB-041]: this symbol does not belong to the others: it allows only itself and insertion symbols next to it
        -   PIC 1B -> error[COB-041]: this symbol does not belong to the others: it allows only itself and insertion symbols next to it
        -   PIC GN -> error[COB-041]: this symbol does not belong to the others: it allows only itself and insertion symbols next to it
        -   PIC 9(0) -> error[COB-042]: the repeat count is zero
        -   PIC 9() -> error[COB-042]: the repeat count is not a whole number
        -   PIC 9(A) -> error[COB-042]: the repeat count is not a whole number
        -   PIC 9(99999999999) -> error[COB-042]: the picture has more than 16777216 character positions
        -   PIC X(99999999) -> error[COB-042]: the picture has more than 16777216 character positions
        -   PIC 9(39) -> error[COB-043]: the picture has 39 digit positions, at most 38 are supported
        -   PIC Z(39) -> error[COB-043]: the picture has 39 digit positions, at most 38 are supported
        -   PIC Z9Z -> error[COB-041]: zeros are suppressed to the right of a 9
        -   PIC 9Z -> error[COB-041]: zeros are suppressed to the right of a 9
        -   PIC Z* -> error[COB-041]: two ways to suppress zeros in one picture
        -   PIC $$++9 -> error[COB-041]: two symbols float in one picture
        -   PIC Z+++ -> error[COB-041]: two ways to suppress zeros in one picture
        -   PIC +9+ -> error[COB-041]: this symbol breaks a floating string
        -   PIC 9(15)+- -> error[COB-041]: the sign is inside the picture
        -   PIC 9CRDB -> error[COB-041]: the sign is inside the picture
        -   PIC CR9 -> error[COB-041]: the sign is inside the picture
        -   PIC -9CR -> error[COB-041]: the picture has a second sign
        -   PIC $9$ -> error[COB-041]: this symbol breaks a floating string
        -   PIC 9$ -> error[COB-041]: the currency symbol is inside the picture
        -   PIC 9+9 -> error[COB-041]: the sign is inside the picture
        -   PIC $$9$ -> error[COB-041]: this symbol breaks a floating string
        -   PIC Z.Z9 -> error[COB-041]: some digits after the point are suppressed, others not
        -   PIC + -> error[COB-041]: the picture has no digit position
        -   PIC $ -> error[COB-041]: the picture has no digit position
        -   PIC . -> error[COB-041]: the picture has no digit position
        -   PIC B -> error[COB-041]: the picture has no digit position
        -   PIC Q -> error[COB-040]: `Q` is not a picture symbol
        -   PIC C9 -> error[COB-040]: `C` is not a picture symbol
        -   PIC +9.99E+99 -> error[COB-044]: external floating-point items (`E`) are not supported
        -   PIC S9.9 -> error[COB-041]: S does not belong to an edited picture
        -   PIC 9)9 -> error[COB-040]: `)` is not a picture symbol
        -   PIC Z(40000) -> error[COB-042]: an edited picture of 40000 positions, more than 32760
        -   PIC X(40000)B -> error[COB-042]: an edited picture of 40001 positions, more than 32760
        -   PIC -> error[COB-040]: PICTURE is followed by a period, expected a character-string
        -   PIC (3) -> error[COB-040]: `(` is not a picture symbol
        -   PIC 9 (3) -> error[COB-041]: the picture contains a blank
        -   PIC £9 -> error[COB-040]: `£` is not a picture symbol
    "#]].assert_eq(&sizes(&items, &Dialect::IBM));
}

#[test]
fn clauses_are_refused_where_they_mean_nothing() {
    let items = [
        "PIC X COMP",
        "PIC X COMP-3",
        "PIC 9 COMP-1",
        "PIC 9 INDEX",
        "PIC X NATIONAL",
        "PIC 9 NATIONAL",
        "PIC ZZ9 COMP-3",
        "PIC N COMP",
        "PIC X SIGN LEADING",
        "PIC 9 SIGN LEADING",
        "PIC S9 COMP-3 SIGN LEADING",
        "PIC 9 JUST",
        "PIC XBX JUST",
        "PIC S9 BLANK ZERO",
        "PIC **9 BLANK ZERO",
        "PIC X BLANK ZERO",
        "PIC S9 COMP-6",
        "PIC X BYTE-LENGTH 3",
        "OBJECT REFERENCE FOO",
        "PIC X COMP-7",
        "PIC X PIC X",
        "PIC X USAGE DISPLAY USAGE DISPLAY",
        "PIC X DYNAMIC LENGTH",
        "TYPE FOO",
        "PIC 9 UNSIGNED",
        "PIC X GROUP-USAGE NATIONAL",
        "PIC 1 BIT",
        "FLOAT-DECIMAL-16",
        "PIC X ANY LENGTH",
        "CONSTANT 5",
        "RENAMES B",
    ];
    expect![[r#"
        -   PIC X COMP -> COB-050 USAGE COMP does not go with PIC X
        -   PIC X COMP-3 -> COB-050 USAGE COMP-3 does not go with PIC X
        -   PIC 9 COMP-1 -> COB-050 USAGE COMP-1 does not go with PIC 9
        -   PIC 9 INDEX -> COB-050 USAGE INDEX does not go with PIC 9
        -   PIC X NATIONAL -> COB-050 USAGE NATIONAL does not go with PIC X
        -   PIC 9 NATIONAL -> COB-031 numbers in national characters are not supported
        -   PIC ZZ9 COMP-3 -> COB-050 USAGE COMP-3 does not go with PIC ZZ9
        -   PIC N COMP -> COB-050 USAGE COMP does not go with PIC N
        -   PIC X SIGN LEADING -> COB-051 SIGN does not go with A (PIC X)
        -   PIC 9 SIGN LEADING -> COB-051 SIGN does not go with A (PIC 9)
        -   PIC S9 COMP-3 SIGN LEADING -> COB-051 SIGN does not go with A (PIC S9)
        -   PIC 9 JUST -> COB-051 JUSTIFIED does not go with A (PIC 9)
        -   PIC XBX JUST -> COB-051 JUSTIFIED does not go with A (PIC XBX)
        -   PIC S9 BLANK ZERO -> COB-051 BLANK WHEN ZERO does not go with A (PIC S9)
        -   PIC **9 BLANK ZERO -> COB-051 BLANK WHEN ZERO does not go with A (PIC **9)
        -   PIC X BLANK ZERO -> COB-051 BLANK WHEN ZERO does not go with A (PIC X)
        -   PIC S9 COMP-6 -> COB-051 COMP-6 has no sign, but the picture has an S
        -   PIC X BYTE-LENGTH 3 -> COB-051 BYTE-LENGTH belongs to `PIC U` only
        -   OBJECT REFERENCE FOO -> error[COB-031]: USAGE OBJECT REFERENCE is not supported
        -   PIC X COMP-7 -> error[COB-031]: USAGE COMP-7 is not supported
        -   PIC X PIC X -> error[COB-028]: the entry has a second PICTURE clause
        -   PIC X USAGE DISPLAY USAGE DISPLAY -> error[COB-028]: the entry has a second USAGE clause
        -   PIC X DYNAMIC LENGTH -> error[COB-031]: DYNAMIC LENGTH is not supported
        -   TYPE FOO -> error[COB-031]: the TYPE clause is not supported
        -   PIC 9 UNSIGNED -> error[COB-021]: UNSIGNED is alone
        -   PIC X GROUP-USAGE NATIONAL -> COB-051 GROUP-USAGE is on an elementary item
        -   PIC 1 BIT -> error[COB-031]: USAGE BIT is not supported
        -   FLOAT-DECIMAL-16 -> error[COB-031]: USAGE FLOAT-DECIMAL-16 is not supported
        -   PIC X ANY LENGTH -> error[COB-031]: ANY LENGTH is not supported
        -   CONSTANT 5 -> error[COB-031]: constants are not supported
        -   RENAMES B -> error[COB-029]: RENAMES belongs to level 66
    "#]]
    .assert_eq(&sizes(&items, &Dialect::IBM));
}
