//! Consecutive HL loops: a ship notice, in which HL03 identifies the level and HL02 its parent.

use expect_test::{Expect, expect};
use quayline_core::Limits;
use quayline_edi::NodeNames;
use quayline_edi::guide::{CompiledGuide, Guide, NoGuides, parse_guide};
use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules, Validator, ValidatorOptions};

use crate::guide_documents::{documents_of, json, write_json};

const GUIDE: &str = r#"guide SHIP "A ship notice"
standard X12
version 004010
transaction 856 group SH

element 1 AN 1..20
element 628 AN 1..12
element 735 ID 1..2 codes L
element 736 ID 1 codes F
codes L
  S O T P I Z
codes F
  0 1
segment BSN
  1 M
segment HL
  628 M
  628 O
  735 M
  736 O
segment LIN
  1 O

structure
  segment BSN M 1
  loop HL M *
    level S top
    level O in S
    level T in S O
    level P in O T
    level I in O T P
    segment HL M 1
    segment LIN O 1
"#;

fn guide(levels: bool) -> Guide {
    let text: String =
        GUIDE.lines().filter(|line| levels || !line.starts_with("    level")).map(|line| format!("{line}\n")).collect();
    parse_guide("t.guide", &text, &NoGuides, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}"))
}

fn interchange(body: &str) -> String {
    let count = body.matches('~').count() + 3;
    format!(
        "ISA*00*          *00*          *ZZ*A              *ZZ*B              *260401*1200*U*00401*000000001*0*P*:~GS*SH*A*B*20260401*1200*1*X*004010~ST*856*0001~BSN*A~{body}SE*{count}*0001~GE*1*1~IEA*1*000000001~"
    )
}

/// Returns codes, segment, element and message of the findings, with or without levels in the guide.
fn told(levels: bool, body: &str) -> String {
    let compiled = std::sync::Arc::new(CompiledGuide::new(&guide(levels)).expect("a good guide"));
    let text = interchange(body);
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut validator = Validator::new(ValidatorOptions::default());
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    let mut out = String::new();
    loop {
        let event = pass.advance();
        match event {
            Event::TransactionStart => validator.begin(Some(&compiled), &pass),
            Event::Segment if pass.in_transaction() => {
                validator.segment(&pass);
            }
            Event::TransactionEnd(closed) => {
                validator.end(closed, &pass);
            }
            _ => {}
        }
        for fault in pass.take_faults().chain(validator.take_faults()) {
            let codes = fault.error.acknowledgment();
            out += &format!(
                "{} {}.{} {}/{} {}: {}\n",
                fault.error.code(),
                fault.at.segment,
                fault.at.element,
                codes.element.unwrap_or("-"),
                codes.implementation_element.unwrap_or("-"),
                codes.contrl.unwrap_or("-"),
                fault.error
            );
        }
        if event == Event::Done {
            return out;
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(levels: bool, body: &str, expected: Expect) {
    expected.assert_eq(&told(levels, body));
}

const GOOD: &str = "HL*1**S*1~HL*2*1*O*1~HL*3*2*T*1~HL*4*3*I*0~HL*5*3*P*1~HL*6*5*I*0~HL*7*1*O*1~HL*8*7*I~";

#[test]
fn what_is_right() {
    for levels in [false, true] {
        assert_eq!(told(levels, GOOD), "");
        // All orders, then their items: the order of the tree is not required.
        assert_eq!(told(levels, "HL*1**S~HL*2*1*O~HL*3*1*O~HL*4*2*I~HL*5*3*I~"), "");
        // Two shipments.
        assert_eq!(told(levels, "HL*1**S~HL*2*1*O~HL*3**S~HL*4*3*O~"), "");
    }
    // HL01 may be any unique value.
    assert_eq!(told(false, "HL*A**S*1~HL*X7*A*O*1~HL*B*X7*I*0~"), "");
}

#[test]
fn one_fault_is_told_once() {
    let wrong = |from: &str, to: &str, levels| {
        assert!(GOOD.contains(from));
        told(levels, &GOOD.replacen(from, to, 1))
    };
    for levels in [false, true] {
        let cases = [
            ("HL*3*2*", "HL*33*2*"),
            ("HL*6*5*", "HL*A*5*"),
            ("HL*6*5*", "HL*6*55*"),
            ("HL*5*3*", "HL*5*5*"),
            ("HL*2*1*O*1", "HL*2*1*O*0"),
            ("HL*6*5*I*0", "HL*6*5*I*1"),
            // The faulty segment is missing.
            ("HL*3*2*T*1~", ""),
        ];
        for (from, to) in cases {
            let found = wrong(from, to, levels);
            assert_eq!(found.lines().count(), 1, "{from} {to}: {found}");
        }
    }
    check(
        false,
        "HL*1**S*1~HL*33*1*O*1~HL*3*99*I*0~",
        expect![[r#"
            EDI-126 4.1 7/I12 12: HL01 in loop HL is not the next number, expected 2
            EDI-127 5.2 7/I12 12: HL02 in loop HL is not the number of an HL that came before
        "#]],
    );
    check(
        false,
        "HL*A**S~HL*A*A*O~",
        expect![[r#"
            EDI-126 4.1 7/I12 12: HL01 in loop HL is that of an HL before
        "#]],
    );
    check(
        true,
        "HL*1**S*0~HL*2*1*O*1~",
        expect![[r#"
            EDI-128 3.4 7/I12 12: HL04 in loop HL says that no HL of a lower level follows, but one does
        "#]],
    );
    check(
        true,
        "HL*1**S~HL*2*1*O*1~",
        expect![[r#"
            EDI-128 4.4 7/I12 12: HL04 in loop HL says that an HL of a lower level follows, but none does
        "#]],
    );
}

#[test]
fn levels_stand_where_the_guide_allows_them() {
    check(
        true,
        "HL*1**S~HL*2*1*I~HL*3*1*O~HL*4**P~HL*5*1*Z~",
        expect![[r#"
            EDI-129 4.2 7/I12 12: HL02 in loop HL puts it below a level that does not allow it, expected O, T, P
            EDI-129 6.2 7/I12 12: HL02 in loop HL puts it below a level that does not allow it, expected O, T
            EDI-129 7.3 7/I12 12: HL03 in loop HL is not a level of the guide
        "#]],
    );
    assert_eq!(told(false, "HL*1**S~HL*2*1*I~HL*3*1*O~HL*4**P~HL*5*1*Z~"), "");
}

#[test]
fn many_levels_take_bounded_memory_and_are_believed_beyond() {
    let mut body = "HL*1**S*1~HL*2*1*O*1~".to_owned();
    for n in 3..12_000 {
        body += &format!("HL*{n}*2*I*0~");
    }
    assert_eq!(told(true, &body), "");
}

#[test]
fn guides_whose_levels_do_not_fit_together() {
    let findings = |from: &str, to: &str| {
        let text = GUIDE.replacen(from, to, 1);
        let guide = parse_guide("t.guide", &text, &NoGuides, &Limits::default());
        let guide = guide.map_err(|findings| findings.to_string());
        guide.and_then(|guide| {
            CompiledGuide::new(&guide).map(|_| String::new()).map_err(|findings| findings.to_string())
        })
    };
    expect![[r#"
        Err(
            "error[GDE-105]: level O is in X, which is not a level\n  at loop HL",
        )
    "#]]
    .assert_debug_eq(&findings("level O in S", "level O in X"));
    assert!(findings("level O in S", "level S in S").is_err_and(|text| text.contains("said twice")));
    assert!(findings("level O in S", "level O").is_err_and(|text| text.contains("neither `top`")));
    assert!(findings("    segment HL M 1\n", "").is_err_and(|text| text.contains("levels are those of a loop")));
}

#[test]
fn written_without_numbers_each_level_gets_its_own_and_the_one_above() {
    let documents = documents_of(vec![guide(true)], NodeNames::References);
    let text = interchange(GOOD);
    let read = json(&documents, None, text.as_bytes());
    assert_eq!(write_json(&documents, &read).as_deref(), Ok(&*text), "as it was");
    let mut bare = read;
    for n in 1..=8 {
        bare = bare.replacen(&format!("\"HL01\":\"{n}\","), "", 1).replace(&format!("\"HL02\":\"{n}\","), "");
    }
    let bare = bare.replace(",\"HL04\":\"0\"", "").replace(",\"HL04\":\"1\"", "");
    assert!(!bare.contains("HL01") && !bare.contains("HL02") && !bare.contains("HL04"), "{bare}");
    // A parent that is given counts, where the order of the levels means another one.
    let two = interchange("HL*1**S*1~HL*2*1*O*1~HL*3*1*O*0~HL*4*2*I*0~");
    let mut given = json(&documents, None, two.as_bytes());
    for n in 1..=4 {
        given = given.replacen(&format!("\"HL01\":\"{n}\","), "", 1).replace("\"HL02\":\"1\",", "");
    }
    let given = given.replace(",\"HL04\":\"0\"", "").replace(",\"HL04\":\"1\"", "");
    assert!(given.matches("HL02").count() == 1 && !given.contains("HL01") && !given.contains("HL04"), "{given}");
    assert_eq!(write_json(&documents, &given).as_deref(), Ok(&*two));
    // The last level had no HL04.
    let all = interchange(&GOOD.replace("HL*8*7*I~", "HL*8*7*I*0~"));
    assert_eq!(write_json(&documents, &bare).as_deref(), Ok(&*all));
}
