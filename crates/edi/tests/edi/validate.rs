//! Vectors of validation: a small guide, a body, and the findings.

use std::sync::Arc;

use expect_test::{Expect, expect};
use quayline_core::{Limits, Severity};
use quayline_edi::guide::{CompiledGuide, MemoryGuides, parse_guide};
use quayline_edi::{ValidationLevel, ValidatorOptions};

use crate::mutants::{findings, guide};

pub(crate) const X12: &str = r#"guide TEST
standard X12
version 005010
transaction 999 group ZZ

element 1 AN 1..5 "Text"
element 2 ID 2..3 "Code" codes C
element 3 R 1..6 "Amount"
element 4 N2 1..4 "Cents"
element 5 DT 6..8 "Day"
element 6 TM 4..8 "Time"
element 7 B 1..4 "Bytes"
element 8 ID 3 "Dated" codes D
element 1250 ID 2..3 "Format"
element 1251 AN 1..35 "Period"
composite C900 "Pair"
  2 M
  1 O
  1 O
  notes P0203
codes C
  AB
  CD
  E
codes D
  NEW from 20260101
  OLD until 20251231
segment AAA
  1 M
  2 O
  3 O
  4 O
  5 O
  6 O
  C900 O repeat 2
  8 O
  1 O
  notes P0203 R0105 E0405 C0609 L090304
segment BBB
  2 M
  1250 O
  1251 O
segment CCC
  1 O
  1 O
segment RRR
  1 M repeat 3
segment HL
  1 M
  1 O
  1 M
  1 O
structure
  segment AAA O *
  segment BBB O *
  segment CCC O 2
    02 N
  segment RRR O *
"#;

pub(crate) fn compiled(text: &str) -> Arc<CompiledGuide> {
    let guide = parse_guide("test.guide", text, &MemoryGuides::default(), &Limits::default())
        .unwrap_or_else(|findings| panic!("{findings}"));
    Arc::new(CompiledGuide::new(&guide).unwrap_or_else(|findings| panic!("{findings}")))
}

pub(crate) fn check_with(guide: &str, body: &str, options: &ValidatorOptions) -> String {
    let guide = compiled(guide);
    let count = body.matches('~').count() + 2;
    let text = format!(
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~GS*ZZ*S*R*20260401*1200*1*X*005010~ST*999*0001~{body}SE*{count}*0001~GE*1*1~IEA*1*000000001~"
    );
    let mut out = String::new();
    for fault in findings(text.as_bytes(), &guide, options) {
        let codes = fault.error.acknowledgment();
        let show = |code: Option<&'static str>| code.unwrap_or("-");
        let word = if fault.severity == Severity::Error { "" } else { "warning " };
        let at = fault.at;
        let place = [(at.element, "."), (at.repetition, "^"), (at.component, "-")];
        let place: String = place.iter().filter(|(n, _)| *n > 0).map(|(n, sign)| format!("{sign}{n}")).collect();
        out.push_str(&format!(
            "{word}{} {}{place} {}/{} {}: {}\n",
            fault.error.code(),
            at.segment,
            show(codes.segment),
            show(codes.implementation_element.or(codes.element)),
            show(codes.contrl),
            fault.error
        ));
    }
    out
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(body: &str, expected: Expect) {
    expected.assert_eq(&check_with(X12, body, &ValidatorOptions::default()));
}

/// A mandatory text of blanks was as good as any other.
#[test]
fn a_mandatory_text_holds_more_than_blanks() {
    check(
        "AAA*  ~AAA* A~AAA*A*AB***20240229****  ~",
        expect![[r#"
        EDI-131 2.1 8/1 13: AAA01 (Text) holds blanks only
        EDI-124 4.3 8/2 13: AAA03 (Amount) is missing by the note P0203
    "#]],
    );
}

#[test]
fn good_elements() {
    check(
        "AAA*A*AB*-1.5*-1234~AAA*A*AB*1**20240229*1200***X~AAA*ABCDE*E *123456***235959*AB^CD:X:Y*NEW*A~BBB*AB*RD8*20260101-20260131~BBB*CD*ZZZ*ANY~",
        expect![[""]],
    );
}

/// A separator of repetitions after the last value was no trailing separator, and separators alone were a value.
#[test]
fn separators_of_repetitions_at_the_end() {
    check(
        "AAA*A******AB:X:Y^~AAA*A******AB:X:Y^^~AAA*A********^~RRR*^~RRR*A^~RRR*A^^B~RRR*A^B^~RRR*A^B^C^~",
        expect![[r#"
            warning EDI-123 2.7 -/- 45: AAA07 (Pair) has separators after its last value
            warning EDI-123 3.7 -/- 45: AAA07 (Pair) has separators after its last value
            EDI-124 4.3 8/2 13: AAA03 (Amount) is missing by the note L090304
            EDI-122 4.9 8/12 35: AAA09 (Text) is repeated 2 times, expected at most 1
            warning EDI-123 5.1 -/- 45: RRR01 (Text) has separators after its last value
            EDI-111 5.1 8/1 13: RRR01 (Text) is missing
            warning EDI-123 6.1 -/- 45: RRR01 (Text) has separators after its last value
            warning EDI-123 8.1 -/- 45: RRR01 (Text) has separators after its last value
            warning EDI-123 9.1 -/- 45: RRR01 (Text) has separators after its last value
        "#]],
    );
}

/// The form of a number was lost without a finding: documents have its value.
#[test]
fn numbers_with_an_exponent_or_leading_zeros() {
    check(
        "AAA*A*AB*1E1~AAA*A*AB*-1E-1~AAA*A*AB*007~AAA*A*AB*-01.5~AAA*A*AB*0.5~AAA*A*AB*0~AAA*A*AB*00~AAA*A***07~AAA*A***0~",
        expect![[r#"
            warning EDI-132 2.3 -/- 12: AAA03 (Amount) is a number with an exponent
            warning EDI-132 3.3 -/- 12: AAA03 (Amount) is a number with an exponent
            warning EDI-132 4.3 -/- 12: AAA03 (Amount) has more leading zeros than its minimum length needs
            warning EDI-132 5.3 -/- 12: AAA03 (Amount) has more leading zeros than its minimum length needs
            warning EDI-132 8.3 -/- 12: AAA03 (Amount) has more leading zeros than its minimum length needs
            warning EDI-132 9.4 -/- 12: AAA04 (Cents) has more leading zeros than its minimum length needs
        "#]],
    );
    let long = X12.replace("3 R 1..6", "3 R 3..6").replace("4 N2 1..4", "4 N2 2..4");
    expect![[r#"
        warning EDI-132 3.3 -/- 12: AAA03 (Amount) has more leading zeros than its minimum length needs
        warning EDI-132 5.4 -/- 12: AAA04 (Cents) has more leading zeros than its minimum length needs
    "#]]
    .assert_eq(&check_with(&long, "AAA*A*AB*007~AAA*A*AB*0007~AAA*A***07~AAA*A***007~", &ValidatorOptions::default()));
}

/// Segments whose elements are all optional were good without any.
#[test]
fn a_segment_without_elements() {
    check(
        "CCC~CCC**~",
        expect![[r#"
        EDI-111 2.1 8/1 13: CCC01 (Text) is missing, and so is every other element of the segment
        warning EDI-123 3 -/- 45: CCC has separators after its last value
        EDI-111 3.1 8/1 13: CCC01 (Text) is missing, and so is every other element of the segment
    "#]],
    );
}

/// DEL was printable.
#[test]
fn del_is_no_printable_character() {
    check(
        "AAA*A\u{7f}~BBB*AB*ZZZ*X\u{1}~",
        expect![[r#"
        EDI-116 2.1 8/6 37: AAA01 (Text) has invalid characters, expected printable characters
        EDI-116 3.3 8/6 37: BBB03 (Period) has invalid characters, expected printable characters
    "#]],
    );
}

#[test]
fn lengths_count_digits_and_characters() {
    check(
        "AAA*ABCDEF~AAA*A*A*1~AAA*A*AB*1234567~AAA*A*AB*-123.456~AAA*ÄÖÜÄÖ~AAA*A***12345~AAA*A**** ~",
        expect![[r#"
        EDI-113 2.1 8/5 39: AAA01 (Text) has 6 characters, expected at most 5
        EDI-112 3.2 8/4 40: AAA02 (Code) has 1 characters, expected at least 2
        EDI-113 4.3 8/5 39: AAA03 (Amount) has 7 characters, expected at most 6
        EDI-113 7.4 8/5 39: AAA04 (Cents) has 5 characters, expected at most 4
        EDI-112 8.5 8/4 40: AAA05 (Day) has 1 characters, expected at least 6
    "#]],
    );
}

#[test]
fn characters_of_types() {
    check(
        "AAA*A*AB*1,5~AAA*A*AB*1.2.3~AAA*A***1.5~AAA*A*AB*-~AAA*A\u{1}~AAA*A*AB*1E2~",
        expect![[r#"
            EDI-116 2.3 8/6 37: AAA03 (Amount) has invalid characters, expected a number: digits, a decimal mark, a minus sign before them
            EDI-116 3.3 8/6 37: AAA03 (Amount) has invalid characters, expected a number: digits, a decimal mark, a minus sign before them
            EDI-116 4.4 8/6 37: AAA04 (Cents) has invalid characters, expected digits, and a minus sign before them where it is negative
            EDI-116 5.3 8/6 37: AAA03 (Amount) has invalid characters, expected a number: digits, a decimal mark, a minus sign before them
            EDI-116 6.1 8/6 37: AAA01 (Text) has invalid characters, expected printable characters
            warning EDI-132 7.3 -/- 12: AAA03 (Amount) is a number with an exponent
        "#]],
    );
}

#[test]
fn dates_and_times() {
    check(
        "AAA*A****20240230~AAA*A****2024022~AAA*A****240229~AAA*A****20241301~AAA*A****240231~AAA*A*****2460***X~AAA*A*****12345***X~BBB*AB*D8*20261301~BBB*AB*D8*20260231~BBB*AB*RD8*20260101-20260230~BBB*AB*RD8*20260101~BBB*AB*TM*2400~",
        expect![[r#"
            EDI-117 2.5 8/8 12: AAA05 (Day) is not a date: the day does not exist
            EDI-117 3.5 8/8 12: AAA05 (Day) is not a date, expected CCYYMMDD or YYMMDD
            EDI-117 5.5 8/8 12: AAA05 (Day) is not a date, expected CCYYMMDD
            EDI-117 6.5 8/8 12: AAA05 (Day) is not a date: the day does not exist
            EDI-124 7.3 8/2 13: AAA03 (Amount) is missing by the note L090304
            EDI-118 7.6 8/9 12: AAA06 (Time) is not a time, expected HHMM, HHMMSS or HHMMSSdd
            EDI-124 8.3 8/2 13: AAA03 (Amount) is missing by the note L090304
            EDI-118 8.6 8/9 12: AAA06 (Time) is not a time, expected HHMM, HHMMSS or HHMMSSdd
            EDI-117 9.3 8/8 12: BBB03 (Period) is not a date, expected CCYYMMDD
            EDI-117 10.3 8/8 12: BBB03 (Period) is not a date: the day does not exist
            EDI-117 11.3 8/8 12: BBB03 (Period) is not a date: the day does not exist
            EDI-117 12.3 8/8 12: BBB03 (Period) is not a date, expected CCYYMMDD-CCYYMMDD
            EDI-117 13.3 8/8 12: BBB03 (Period) is not a date, expected HHMM
        "#]],
    );
}

#[test]
fn codes_and_their_days() {
    check(
        "AAA*A*XX*1~AAA*A*******OLD~BBB*ab~",
        expect![[r#"
        EDI-114 2.2 8/7 12: AAA02 (Code) is not in its code list
        EDI-115 3.8 8/7 12: AAA08 (Dated) is a code that is not valid on 20260401
        EDI-114 4.1 8/7 12: BBB01 (Code) is not in its code list
    "#]],
    );
    let day = ValidatorOptions { day: Some(20_251_231), ..ValidatorOptions::default() };
    expect![[r#"
        EDI-115 3.8 8/7 12: AAA08 (Dated) is a code that is not valid on 20251231
    "#]]
    .assert_eq(&check_with(X12, "AAA*A*******OLD~AAA*A*******NEW~", &day));
}

#[test]
fn components_and_repetitions() {
    check(
        "AAA*A******AB:X:Y:Z~AAA*A******:X:Y~AAA*A******AB:X~AAA*A******AB^CD^E~AAA*A******AB^XX~AAA*A:B~AAA*A^B~AAA*A******AB::~",
        expect![[r#"
            EDI-121 2.7-4 8/13 16: AAA07-4 (Pair) has 4 components, expected at most 3
            EDI-111 3.7-1 8/1 13: AAA07-1 (Code) is missing
            EDI-124 4.7-3 8/2 13: AAA07-3 (Text) is missing by the note P0203
            EDI-122 5.7 8/12 35: AAA07 (Pair) is repeated 3 times, expected at most 2
            EDI-114 6.7^2-1 8/7 12: AAA07-1 (Code) is not in its code list
            EDI-121 7.1-2 8/13 16: AAA01-2 (Text) has 2 components, but is not a composite
            EDI-122 8.1 8/12 35: AAA01 (Text) is repeated 2 times, expected at most 1
            warning EDI-123 9.7 -/- 45: AAA07 (Pair) has separators after its last value
        "#]],
    );
}

/// Regression: a valid segment with a repetition and an element that ends with a tag was reported as two segments without a terminator.
#[test]
fn a_valid_segment_is_not_two() {
    const NAMES: &str = "guide TEST\nstandard X12\nversion 005010\ntransaction 999 group ZZ\nelement 1 AN 1..5\nelement 2 AN 1..3\ncomposite C900\n  2 M\n  2 O\nsegment N1\n  1 M repeat 2\n  2 O repeat 3\n  C900 O\nstructure\n  segment N1 O *\n";
    let options = ValidatorOptions::default();
    for body in ["N1*AN1*AA^0~", "N1*AN1*AA~", "N1*AN1**A:N1~", "N1*A*AA^N1*0:0~", "N1*AN1*A^N1*0:N1~N1*N1~"] {
        assert_eq!(check_with(NAMES, body, &options), "", "{body}");
    }
    let found = check_with(NAMES, "N1*AN1*AA^0N1*AAAAA~", &options);
    assert!(found.starts_with("EDI-022 2.2 "), "{found}");
    // The guide accepts the whole as one segment too, but values have no line breaks.
    let found = check_with(NAMES, "N1*A*AA\nN1*0~", &options);
    assert!(found.starts_with("EDI-022 2.2 "), "{found}");
}

#[test]
fn elements_missing_superfluous_and_not_used() {
    check(
        "AAA**AB*1~CCC*A*B~CCC*A*B*C~AAA*A*AB*1*~AAA*A*AB*1****~AAA~",
        expect![[r#"
            EDI-111 2.1 8/1 13: AAA01 (Text) is missing
            EDI-119 3.2 8/I10 15: CCC02 (Text) is present, but not used by the guide
            EDI-119 4.2 8/I10 15: CCC02 (Text) is present, but not used by the guide
            EDI-120 4.3 8/3 16: CCC has 3 elements, expected at most 2
            warning EDI-123 5 -/- 45: AAA has separators after its last value
            EDI-104 5 7/- 15: AAA is in the wrong order
            warning EDI-123 6 -/- 45: AAA has separators after its last value
            EDI-111 7.1 8/1 13: AAA01 (Text) is missing, and so is every other element of the segment
        "#]],
    );
}

#[test]
fn syntax_notes() {
    check(
        "AAA*A*AB~AAA*A**1~AAA*A***1*20240101~AAA*A*****1200~AAA*A********X~AAA*A**********~",
        expect![[r#"
            EDI-124 2.3 8/2 13: AAA03 (Amount) is missing by the note P0203
            EDI-124 3.2 8/2 13: AAA02 (Code) is missing by the note P0203
            EDI-125 4.5 8/10 15: AAA05 (Day) must not be present with the others by the note E0405
            EDI-124 5.9 8/2 13: AAA09 (Text) is missing by the note C0609
            EDI-124 6.3 8/2 13: AAA03 (Amount) is missing by the note L090304
            warning EDI-123 7 -/- 45: AAA has separators after its last value
        "#]],
    );
    let guide = ValidatorOptions { level: ValidationLevel::Guide, ..ValidatorOptions::default() };
    expect![[r#""#]].assert_eq(&check_with(X12, "AAA*A*AB~AAA*A******AB:X~", &guide));
}

/// A claim with lines and a level above, with rules.
pub(crate) const RULES: &str = r#"guide RULES
standard X12
version 005010
transaction 999

element 1 AN 1..30
element 3 R 1..18
element 4 N2 1..9
element 5 DT 8..8
composite C900
  1 M
  3 O
segment TOT
  3 O
  4 O
  1 O
segment CLM
  1 M
  3 M
  1 O
  5 O
segment REF
  1 M
  1 O
segment LIN
  1 M
segment QTY
  3 M
  3 O
  C900 O
segment DTP
  1 M
  1 M
structure
  segment TOT M 1
  loop C O *
    segment CLM M 1
    segment DTP O *
    segment REF O * where 01 = D9
    segment REF O * where 01 = G1
    loop L O *
      segment LIN M 1
      segment QTY O 5
      segment DTP O 1
rules
"#;

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check_rule(rule: &str, body: &str, expected: Expect) {
    let guide = format!("{RULES}  {rule}\n");
    expected.assert_eq(&check_with(&guide, body, &ValidatorOptions::default()));
}

#[test]
fn sums_are_exact_and_by_loop() {
    let balance = "rule balance at C \"the claim is not the sum of its lines\"\n    CLM02 = sum(L/QTY01)";
    let line = |amount: &str| format!("LIN*1~QTY*{amount}~");
    let good =
        format!("TOT*1~CLM*A*0.3~{}{}CLM*B*0~CLM*C*-5~{}{}", line("0.1"), line("0.2"), line("-7.5"), line("2.50"));
    check_rule(balance, &good, expect![[""]]);
    // X12 numbers may have exponents (X12.6): regression, a sum of them was not compared.
    check_rule(
        balance,
        &format!("TOT*1~CLM*A*5.1E2~{}{}", line("5E2"), line("100E-1")),
        expect![[r#"
            warning EDI-132 3.2 -/- 12: CLM02 in loop C is a number with an exponent
            warning EDI-132 5.1 -/- 12: QTY01 in loop C/L is a number with an exponent
            warning EDI-132 7.1 -/- 12: QTY01 in loop C/L is a number with an exponent
        "#]],
    );
    check_rule(
        balance,
        &format!("TOT*1~CLM*A*5~{}", line("5E1")),
        expect![[r#"
            warning EDI-132 5.1 -/- 12: QTY01 in loop C/L is a number with an exponent
            EDI-130 3.2 8/I12 12: the claim is not the sum of its lines (balance) in loop C
        "#]],
    );
    let wrong = format!("TOT*1~CLM*A*0.3~{}{}CLM*B*1~{}CLM*C*2~{}", line("0.1"), line("0.21"), line("1"), line("3"));
    check_rule(
        balance,
        &wrong,
        expect![[r#"
        EDI-130 3.2 8/I12 12: the claim is not the sum of its lines (balance) in loop C
        EDI-130 11.2 8/I12 12: the claim is not the sum of its lines (balance) in loop C
    "#]],
    );
}

#[test]
fn totals_of_a_transaction() {
    check_rule(
        "rule total\n    TOT01 = sum(C/CLM02) - sum(L/QTY02, **/QTY03-2)",
        "TOT*5~CLM*A*10~LIN*1~QTY*1*2*X:3~CLM*B*0~",
        expect![[""]],
    );
    check_rule(
        "rule total\n    TOT01 = sum(CLM02)",
        "TOT*5~CLM*A*10~",
        expect![[r#"
        EDI-130 2.1 8/I12 12: the rule is broken: TOT01 = sum(CLM02) (total)
    "#]],
    );
    check_rule("rule cents\n    TOT02 = sum(CLM02)", "TOT**1050~CLM*A*10~CLM*B*.5~", expect![[""]]);
    check_rule(
        "rule lines\n    TOT01 = count(L) and TOT02 = count(LIN)",
        "TOT*2*200~CLM*A*1~LIN*1~LIN*2~",
        expect![[""]],
    );
    check_rule("rule product\n    TOT01 = sum(QTY01 * QTY02)", "TOT*7~CLM*A*1~LIN*1~QTY*2*3~QTY*1*1~", expect![[""]]);
    check_rule(
        "rule product\n    TOT01 = sum(QTY01 * QTY02)",
        "TOT*8~CLM*A*1~LIN*1~QTY*2*3~",
        expect![[r#"
        EDI-130 2.1 8/I12 12: the rule is broken: TOT01 = sum(QTY01 * QTY02) (product)
    "#]],
    );
    check_rule("rule range\n    min(CLM02) >= 1 and max(CLM02) <= 9", "TOT*8~CLM*A*1~CLM*B*9~", expect![[""]]);
    check_rule(
        "rule range\n    min(CLM02) >= 1 and max(CLM02) <= 9",
        "TOT*8~CLM*A*0.99~",
        expect![[r#"
        EDI-130 1 8/I12 12: the rule is broken: min(CLM02) >= 1 and max(CLM02) <= 9 (range)
    "#]],
    );
    check_rule("rule near\n    abs(TOT01 - sum(CLM02)) <= 0.01", "TOT*8~CLM*A*8.01~", expect![[""]]);
    check_rule("rule rounded\n    TOT01 = round(sum(CLM02), 1)", "TOT*8.1~CLM*A*8.05~", expect![[""]]);
}

#[test]
fn presence() {
    let rule =
        "rule auth at C \"a claim over 100 needs a G1 number\"\n    if CLM02 > 100 then present(REF[REF01 = \"G1\"])";
    check_rule(rule, "TOT*1~CLM*A*100~CLM*B*101~REF*G1*X~", expect![[""]]);
    check_rule(
        rule,
        "TOT*1~CLM*A*101~REF*D9*X~LIN*1~CLM*B*99~",
        expect![[r#"
        EDI-130 3 3/- 13: a claim over 100 needs a G1 number (auth) in loop C
    "#]],
    );
    let element = "rule kind at C\n    if CLM02 = 0 then present(CLM03) else absent(CLM03)";
    check_rule(element, "TOT*1~CLM*A*0*X~CLM*B*1~", expect![[""]]);
    check_rule(
        element,
        "TOT*1~CLM*A*0~CLM*B*1*X~",
        expect![[r#"
        EDI-130 3.2 8/I12 12: the rule is broken: if CLM02 = 0 then present(CLM03) else absent(CLM03) (kind) in loop C
        EDI-130 4.2 8/I12 12: the rule is broken: if CLM02 = 0 then present(CLM03) else absent(CLM03) (kind) in loop C
    "#]],
    );
    check_rule(
        "rule none at C\n    present(CLM03) implies absent(L)",
        "TOT*1~CLM*A*0*X~LIN*1~",
        expect![[r#"
        EDI-130 3 2/- 15: the rule is broken: present(CLM03) implies absent(L) (none) in loop C
    "#]],
    );
}

#[test]
fn sets_texts_and_dates() {
    let set = "rule set at C warning\n    CLM03 in { \"A\", \"B\" }";
    check_rule(
        set,
        "TOT*1~CLM*A*0*A~CLM*B*0*C~CLM*C*0~",
        expect![[r#"
        warning EDI-130 4.3 8/I12 12: the rule is broken: CLM03 in { "A", "B" } (set) in loop C
    "#]],
    );
    let dates = "rule dates at L \"the service lies after the claim\"\n    from(DTP02) <= C/CLM04 and CLM04 <= day";
    check_rule(dates, "TOT*1~CLM*A*1**20260301~LIN*1~DTP*472*20260201-20260228~", expect![[""]]);
    check_rule(
        dates,
        "TOT*1~CLM*A*1**20260301~LIN*1~DTP*472*20260401~",
        expect![[r#"
        EDI-130 5.2 8/I12 12: the service lies after the claim (dates) in loop C/L
    "#]],
    );
    check_rule(
        "rule long at C\n    length(CLM01) <= 2",
        "TOT*1~CLM*ABC*1~",
        expect![[r#"
        EDI-130 3.1 8/I12 12: the rule is broken: length(CLM01) <= 2 (long) in loop C
    "#]],
    );
    check_rule(
        "rule each at C/REF \"a number twice\"\n    REF02 != CLM01",
        "TOT*1~CLM*A*1~REF*D9*B~REF*D9*A~",
        expect![[r#"
        EDI-130 5.2 8/I12 12: a number twice (each) in loop C
    "#]],
    );
    check_rule("rule kind at C\n    default(CLM03, \"N\") != \"N\"", "TOT*1~CLM*A*5*X~", expect![[""]]);
    check_rule("rule kind at C\n    default(CLM03, \"N\") = \"N\"", "TOT*1~CLM*A*5~", expect![[""]]);
    check_rule("rule absent at C\n    CLM02 = default(TOT02, 5)", "TOT*1~CLM*A*5~", expect![[""]]);
}

#[test]
fn a_rule_says_nothing_of_what_is_wrong_already() {
    let balance = "rule balance at C\n    CLM02 = sum(L/QTY01)";
    check_rule(
        balance,
        "TOT*1~CLM*A*1~LIN*1~QTY*1A~",
        expect![[r#"
        EDI-116 5.1 8/6 37: QTY01 in loop C/L has invalid characters, expected a number: digits, a decimal mark, a minus sign before them
    "#]],
    );
    check_rule(
        balance,
        "TOT*1~CLM*A*1~QTY*2~LIN*1~",
        expect![[r#"
        EDI-104 5 7/- 15: LIN in loop C/L is in the wrong order
    "#]],
    );
}

#[test]
fn rules_that_do_not_compile() {
    let compile = |rule: &str| {
        let guide = format!("{RULES}  rule r {rule}\n");
        let parsed = parse_guide("r.guide", &guide, &MemoryGuides::default(), &Limits::default());
        match parsed.and_then(|guide| CompiledGuide::new(&guide)) {
            Ok(_) => "it compiles".to_owned(),
            Err(findings) => {
                findings.0.iter().map(|finding| format!("{}: {}\n", finding.code, finding.message)).collect()
            }
        }
    };
    let rules = [
        "\n    CLM02 =",
        "\n    CLM02 = sum(",
        "\n    sum(1) = 1",
        "\n    CLM02 = NOPE01",
        "at C\n    CLM09 = 1",
        "at NOPE\n    1 = 1",
        "at C\n    CLM = 1",
        "at C\n    sum(CLM02 * QTY01) = 1",
        "at C\n    round(CLM02, CLM02) = 1",
        "at C\n    CLM02 = \"A",
        "at L\n    ./CLM02 = 1",
        "at C\n    CLM01 ? 1",
    ];
    let all: String =
        rules.iter().map(|rule| format!("{} => {}", rule.replace("\n    ", ": "), compile(rule))).collect();
    expect![[r#"
        : CLM02 = => GDE-114: the expression is not understood at character 8, expected a path, a number, a text in quotes or a function
        : CLM02 = sum( => GDE-114: the expression is not understood at character 13, expected a path, a number, a text in quotes or a function
        : sum(1) = 1 => GDE-115: the function needs at least one path
        : CLM02 = NOPE01 => GDE-115: `NOPE01` is not a loop, segment or element of the guide's structure
        at C: CLM09 = 1 => GDE-115: CLM has no element 09
        at NOPE: 1 = 1 => GDE-007: loop NOPE is not in the structure
        at C: CLM = 1 => GDE-115: `CLM` is not an element
        at C: sum(CLM02 * QTY01) = 1 => GDE-115: what is computed for each must be of one segment
        at C: round(CLM02, CLM02) = 1 => GDE-115: `round` takes a number of places as it is written
        at C: CLM02 = "A => GDE-114: the expression is not understood at character 9, expected a closing quote
        at L: ./CLM02 = 1 => GDE-115: `CLM02` names nothing in, inside or around the place of the rule
        at C: CLM01 ? 1 => GDE-114: the expression is not understood at character 7, expected a path, a value or an operator
    "#]].assert_eq(&all);
}

#[test]
fn hl_segments() {
    let guide = format!(
        "{}structure\n  loop A O *\n    segment HL M 1 where 03 = 20\n    loop B O *\n      segment HL M 1 where 03 = 22\n      segment CCC O 1\n",
        X12.split("structure").next().expect("a dictionary")
    );
    let told = |body: &str| check_with(&guide, body, &ValidatorOptions::default());
    assert_eq!(told("HL*1**20*1~HL*2*1*22*0~HL*3*1*22~HL*4**20*0~"), "");
    expect![[r#"
        EDI-126 3.1 8/I12 12: HL01 in loop A/B is not the next number, expected 2
        EDI-127 5.2 8/I12 12: HL02 in loop A/B is not the number of the HL above, expected 1
    "#]]
    .assert_eq(&told("HL*1**20*1~HL*5*1*22*0~HL*3*1*22~HL*4*3*22*0~"));
    expect![[r#"
        EDI-128 2.4 8/I12 12: HL04 in loop A says that an HL of a lower level follows, but none does
        EDI-128 3.4 8/I12 12: HL04 in loop A says that no HL of a lower level follows, but one does
        EDI-128 4.4 8/I12 12: HL04 in loop A/B says that an HL of a lower level follows, but none does
    "#]]
    .assert_eq(&told("HL*1**20*1~HL*2**20*0~HL*3*2*22*1~"));
    expect![[r#"
        EDI-127 2.2 8/I12 12: HL02 in loop A names an HL above, but there is no such HL
        EDI-126 3.1 8/I12 12: HL01 in loop A/B is not the next number, expected 2
    "#]]
    .assert_eq(&told("HL*1*7*20*1~HL*A*1*22*0~"));
}

#[test]
fn a_file_that_is_cut_off_anywhere_has_one_finding() {
    for (name, text) in [
        ("837p.guide", include_str!("../mutants/837p.x12")),
        ("835.guide", include_str!("../mutants/835.x12")),
        ("orders.guide", include_str!("../mutants/orders.edi")),
    ] {
        let guide = Arc::new(CompiledGuide::new(&guide(name)).unwrap_or_else(|findings| panic!("{findings}")));
        let text = text.trim_end();
        let terminator = text.as_bytes()[text.len() - 1];
        assert_eq!(findings(text.as_bytes(), &guide, &ValidatorOptions::default()), [], "{name}");
        // The header of the interchange determines the other delimiters.
        let header = text.find(char::from(terminator)).expect("a terminator");
        let header = if text.starts_with("UNA") { text.find("UNB").expect("a header") + 40 } else { header + 1 };
        let mut inside = true;
        for cut in header..text.len() {
            let found = findings(&text.as_bytes()[..cut], &guide, &ValidatorOptions::default());
            let codes: Vec<&str> = found.iter().map(|fault| fault.error.code().0).collect();
            inside = match text.as_bytes()[cut - 1] {
                byte if byte == terminator => text[..cut - 1].ends_with('?'),
                b'\r' | b'\n' => inside,
                _ => true,
            };
            let whole = cut + 1 == text.len();
            let told = match codes[..] {
                [] => whole,
                ["EDI-012"] => inside && !whole,
                // Between two segments, the open level lacks its trailer.
                [_] => !inside,
                _ => false,
            };
            assert!(told, "{name}, cut at byte {cut}, behind {:?}: {codes:?}", &text[cut.saturating_sub(40)..cut]);
        }
    }
}
