//! Reading of acknowledgments: those of other programs, and those written here for any list of faults.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use quayline_core::{Limits, Severity};
use quayline_edi::acknowledge::{
    Acknowledger, AcknowledgmentList, AcknowledgmentOptions, AcknowledgmentReader, GroupReport, MemoryOutput, OnError,
    Outcome, OutcomePolicy, Report, SecurityFailure, Stamp, TransactionReport, When, acknowledgment_guide,
    acknowledgment_guides,
};
use quayline_edi::guide::CompiledGuide;
use quayline_edi::{
    EdiError, EdiFault, EndOfInput, EnvelopeReader, Event, FaultContext, Level, Position, Rules, Standard, Validator,
    ValidatorOptions,
};

use crate::acknowledge::{ISA, acknowledge, shown};
use crate::corpus::corpus;
use crate::laws::soup;

/// Returns the reports of the acknowledgments in a file, the faults by its envelope and the built-in guides, and the number of stray segments.
pub(crate) fn read(text: &[u8]) -> (Vec<Report>, Vec<String>, u64) {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut acknowledgments = AcknowledgmentReader::default();
    let mut validator = Validator::new(ValidatorOptions::default());
    let (mut reports, mut faults) = (Vec::new(), Vec::new());
    let told = |fault: EdiFault| format!("{} at {}: {}", fault.error.code().0, fault.at, fault.error);
    let mut pass = reader.over(text, EndOfInput::Yes);
    loop {
        let event = pass.advance();
        faults.extend(pass.take_faults().map(told));
        match event {
            Event::TransactionStart => {
                let guide = acknowledgment_guide(pass.transaction(), pass.group());
                assert!(guide.is_some(), "there is a guide for {}", shown(text));
                validator.begin(guide, &pass);
            }
            Event::Segment if pass.in_transaction() => {
                validator.segment(&pass);
            }
            Event::TransactionEnd(closed) => {
                validator.end(closed, &pass);
                faults.extend(validator.take_faults().map(told));
            }
            _ => {}
        }
        acknowledgments.event(event, &pass, &mut |report| reports.push(report));
        if event == Event::Done {
            return (reports, faults, acknowledgments.stray());
        }
    }
}

fn check(text: &str, expected: Expect) {
    let (reports, _, _) = read(text.as_bytes());
    let lines: Vec<String> = reports.iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn what_others_wrote_is_read() {
    let mut found = 0;
    for file in corpus("x12") {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        if !name.contains("FA997") && !name.contains("FA999") {
            continue;
        }
        found += 1;
        let text = std::fs::read(&file).expect("readable");
        let (reports, faults, stray) = read(&text);
        assert_eq!(stray, 0, "{name}");
        let by_guide: Vec<&String> = faults.iter().filter(|fault| fault.starts_with("EDI-1")).collect();
        assert!(by_guide.is_empty(), "{name}: {by_guide:?}");
        for report in &reports {
            if let Report::Group(group) = report {
                assert_eq!(group.contradiction(), None, "{name}");
            }
        }
        let lines: Vec<String> = reports.iter().map(ToString::to_string).collect();
        if name.contains("FA999") {
            expect![[r#"
                transaction 837 0001: accepted
                transaction 837 0002: rejected: one or more segments are wrong
                  segment 22 CLM: data elements of the segment are wrong
                    element 2 (data element 782): a required data element is missing
                transaction 837 0003: rejected: one or more segments are wrong
                  segment 57 REF: a required segment is missing
                group HC 17456: partially accepted, 1 of 3 transactions accepted"#]]
            .assert_eq(&lines.join("\n"));
            let Report::Transaction(third) = &reports[2] else { panic!("the third transaction") };
            let note = &third.segments[0];
            assert_eq!(
                note.unit.as_ref().map(|unit| (unit.name.as_str(), unit.value.as_str())),
                Some(("CLM01", "987654321"))
            );
            assert_eq!(
                (note.triggers[0].tag.as_str(), note.triggers[0].position, note.triggers[0].place),
                ("CLM", 43, (5, 3, 0))
            );
        } else {
            expect![[r#"
                transaction 824 0160: accepted
                group AG 160: accepted, 1 of 1 transactions accepted"#]]
            .assert_eq(&lines.join("\n"));
        }
    }
    if found > 0 {
        assert_eq!(found, 2, "the corpus has a 997 and a 999");
    }
}

#[test]
fn ta1_and_contrl_are_read() {
    check(
        &format!("{ISA}TA1*000000905*260401*1200*R*021~IEA*0*000000001~"),
        expect!["interchange 000000905: rejected: the number of groups (IEA01) is wrong"],
    );
    check(
        &format!("{ISA}TA1*000000905*260401*1200*A*000~IEA*0*000000001~"),
        expect!["interchange 000000905: accepted"],
    );
    check(
        "UNB+UNOC:3+B+A+260401:1200+1'UNH+1+CONTRL:D:3:UN'UCI+REF9+A+B+7'UCM+1+ORDERS:D:96A:UN:EAN008+4'UCS+4+13'UCS+7'UCD+12+3:2'UCD+39+5'UCM+2+ORDERS:D:96A:UN+4+29+UNT+2'UNT+8+1'UNZ+1+1'",
        expect![[r#"
            interchange REF9: accepted
            transaction ORDERS 1: rejected
              segment 4: something mandatory is missing
              segment 7
                element 2, component 2: the value is wrong
                element 4: the data element is too long
            transaction ORDERS 2: rejected: the count of the trailer is wrong (in UNT, element 1)"#]],
    );
    check(
        "UNB+UNOC:4+B+A+20260401:1200+1'UNH+1+CONTRL:4:1:UN'UCI+REF9+A+B+7'UCF+1+A+B+7'UCM+2+ORDERS:D:96A:UN+4+28+UNT+3'UCF+2+A+B+4+29+UNE+2'UNT+6+1'UNZ+1+1'",
        expect![[r#"
            interchange REF9: accepted
            group 1: accepted
            transaction ORDERS 2: rejected: the references of header and trailer differ (in UNT, element 2)
            group 2: rejected: the count of the trailer is wrong (in UNE, element 1)"#]],
    );
}

#[test]
fn acknowledgments_out_of_order_are_read() {
    let gs = "GS*FA*S*R*20260401*1200*6*X*003040~ST*997*0001~";
    let text = format!(
        "{ISA}{gs}AK5*A~AK4*1~CTX*A~AK9*A*1*1*1~AK1*PO*5~AK2*850*0001~AK3*N1*7*N1*5*8~AK5*Q*5~AK2*850*0002~AK5*E*5*4~AK9*P*3*2*1~SE*2*0001~GE*1*6~IEA*1*000000001~"
    );
    let (reports, faults, stray) = read(text.as_bytes());
    assert_eq!(stray, 4);
    expect![[r#"
        EDI-024 at interchange 1, group 1, segment 2, element 4: GS04 has 8 digits, expected 6 in this version
        EDI-033 at interchange 1, group 1, transaction 1, segment 13, element 1: SE01 declares 2 segments, counted 13
        EDI-103 at interchange 1, group 1, transaction 1, segment 2: AK5 is not expected here
        EDI-108 at interchange 1, group 1, transaction 1, segment 3: AK3 in loop AK2/AK3 is missing
        EDI-111 at interchange 1, group 1, transaction 1, segment 3, element 3: AK403 (Data element error) in loop AK2/AK3 is missing
        EDI-102 at interchange 1, group 1, transaction 1, segment 4: CTX in loop AK2/AK3 is not part of this transaction
        EDI-104 at interchange 1, group 1, transaction 1, segment 6: AK1 is in the wrong order
        EDI-120 at interchange 1, group 1, transaction 1, segment 8, element 5: AK3 in loop AK2/AK3 has 5 elements, expected at most 4
        EDI-114 at interchange 1, group 1, transaction 1, segment 9, element 1: AK501 (Outcome of the transaction set) in loop AK2 is not in its code list
        EDI-105 at interchange 1, group 1, transaction 1, segment 12: AK9 is here more than 1 time"#]].assert_eq(&faults.join("\n"));
    let Some(Report::Group(group)) = reports.last() else { panic!("a group") };
    assert_eq!(group.contradiction(), Some("the number of transaction sets accepted differs from those reported"));
    check(
        &text,
        expect![[r#"
        transaction 850 0001: answered with a code that the standard does not have: one or more segments are wrong
          segment 7 N1 in loop N1: the segment occurs too often; data elements of the segment are wrong
        transaction 850 0002: accepted, with errors: one or more segments are wrong; the number of segments (SE01) is wrong
        group PO 5: partially accepted, 1 of 2 transactions accepted"#]],
    );
    check(
        &format!("{ISA}{gs}AK1*PO*5~AK2*850*0001~SE*2*0001~GE*1*6~IEA*1*000000001~"),
        expect![[r#"
        transaction 850 0001: not decided: the acknowledgment ends too early
        group PO 5: not decided: the acknowledgment ends too early"#]],
    );
}

#[test]
fn shipped_guides_are_right_and_have_the_lists() {
    let guides = acknowledgment_guides();
    let names: Vec<&str> = guides.iter().map(|guide| guide.name.as_str()).collect();
    assert_eq!(names, ["997", "997-00401", "997-003", "999", "999-X231A1", "CONTRL-3", "CONTRL-4"]);
    for guide in &guides {
        let compiled = CompiledGuide::new(guide).unwrap_or_else(|findings| panic!("{}: {findings}", guide.name));
        assert!(compiled.ambiguities().is_empty(), "{}", guide.name);
        for list in AcknowledgmentList::ALL {
            let Some(codes) = guide.dictionary.codes.get(list.data_element()) else { continue };
            for code in &codes.codes {
                assert_eq!(code.name.as_deref(), list.words(&code.value), "{} {}", guide.name, code.value);
            }
            let whole = ["997", "999"].contains(&guide.name.as_str()) || list == AcknowledgmentList::Action;
            assert!(!whole || codes.codes.len() == list.codes().len(), "{} {list:?}", guide.name);
        }
    }
}

#[test]
fn ta1_is_checked_with_the_envelope() {
    let (_, faults, _) = read(format!("{ISA}TA1*00000905*261301*12*Q*0~IEA*0*000000001~").as_bytes());
    assert_eq!(faults.iter().map(|fault| &fault[..7]).collect::<Vec<_>>(), ["EDI-038"; 5]);
    let (_, faults, _) = read(format!("{ISA}TA1*000000905*260401*1200*R~IEA*0*000000001~").as_bytes());
    assert_eq!(faults.iter().map(|fault| &fault[..7]).collect::<Vec<_>>(), ["EDI-037"]);
}

#[test]
fn security_and_unseen_faults_reject() {
    let told = |input: &[u8], name: &str, failures: [Option<SecurityFailure>; 3]| {
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut acknowledger = Acknowledger::new(options(name));
        let mut output = MemoryOutput::default();
        let mut failures = failures.into_iter();
        let mut pass = reader.over(input, EndOfInput::Yes);
        loop {
            let event = pass.advance();
            let faults: Vec<EdiFault> = pass.take_faults().collect();
            acknowledger.event(event, &pass, &faults, &mut output);
            match event {
                Event::TransactionStart => match failures.next() {
                    Some(Some(failure)) => acknowledger.security(failure),
                    Some(None) => acknowledger.unseen(3),
                    None => {}
                },
                Event::Done => break,
                _ => {}
            }
        }
        let lines: Vec<String> = read(output.written()).0.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    let all = [Some(SecurityFailure::Authentication), Some(SecurityFailure::Decryption), None];
    expect![[r#"
        transaction 837 0001: rejected, its authentication failed: the message authentication code is wrong
        transaction 837 0002: rejected, what was decrypted is not readable: the decrypted text is not correct
        transaction 837 0003: rejected: one or more segments are wrong
        transaction 837 0004: accepted
        group HC 1: partially accepted, 1 of 4 transactions accepted
        transaction 837 0001: accepted
        transaction 837 0002: accepted
        transaction 837 0003: accepted
        transaction 837 0004: accepted
        group HC 2: accepted, 4 of 4 transactions accepted"#]]
    .assert_eq(&told(&x12_input("005010"), "999", all));
    let first = [Some(SecurityFailure::Assurance), None, None];
    expect![[r#"
        interchange R1: accepted
        group 1: accepted
        transaction ORDERS 11: rejected: the security function is not supported
        transaction ORDERS 12: rejected: something is wrong that is not said
        transaction ORDERS 13: rejected: something is wrong that is not said
        group 2: accepted"#]]
    .assert_eq(&told(&edifact_input("4", true), "contrl", first));
}

/// A fault to put into a transaction.
#[derive(Clone, Debug)]
struct Seed {
    transaction: usize,
    error: EdiError,
    severity: Severity,
    segment: u64,
    place: (u32, u32, u32),
    context: Option<FaultContext>,
}

fn seed() -> impl Strategy<Value = Seed> {
    let standard = Standard::X12;
    let errors = vec![
        EdiError::Characters,
        EdiError::SegmentTooLong { limit: 9 },
        EdiError::TooManyElements { limit: 9 },
        EdiError::Tag { standard, bytes: 1 },
        EdiError::Empty,
        EdiError::BinaryLength,
        EdiError::ControlDiffers { standard, level: Level::Transaction },
        EdiError::CountDiffers { standard, level: Level::Transaction, declared: 1, counted: 2 },
        EdiError::ControlTwice { standard, level: Level::Transaction },
        EdiError::ControlTwice { standard, level: Level::Group },
        EdiError::CountDiffers { standard, level: Level::Group, declared: 1, counted: 2 },
        EdiError::FieldFormat { standard, level: Level::Transaction, name: "ST01", expected: "" },
        EdiError::Outside { standard },
    ];
    let context = (
        "[A-Z][A-Z0-9]{0,3}",
        prop::option::of("[0-9A-Z?*]{0,8}"),
        prop::option::of("[0-9A-Z]{0,6}"),
        prop::collection::vec(any::<u8>(), 0..120),
        prop::option::of(("[A-Z]{1,4}", 0u64..50, 0u32..4)),
    )
        .prop_map(|(tag, loop_id, data_element, copy, trigger)| {
            let at = |(tag, segment, element)| (tag, Position { segment, element, ..Position::default() });
            FaultContext { tag, loop_id, data_element, copy, trigger: trigger.map(at) }
        });
    (
        0usize..8,
        prop::sample::select(errors),
        prop::sample::select(vec![Severity::Error, Severity::Error, Severity::Warning]),
        prop_oneof![0u64..9, Just(1_000_000), any::<u64>()],
        (0u32..200, 0u32..200, 0u32..20_000),
        prop::option::of(context),
    )
        .prop_map(|(transaction, error, severity, segment, place, context)| Seed {
            transaction,
            error,
            severity,
            segment,
            place,
            context,
        })
}

/// Acknowledges an input with faults put into its transactions.
fn seeded(input: &[u8], seeds: &[Seed], options: AcknowledgmentOptions) -> Vec<u8> {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut acknowledger = Acknowledger::new(options);
    let mut output = MemoryOutput::default();
    let mut transaction = 0;
    let mut pass = reader.over(input, EndOfInput::Yes);
    loop {
        let event = pass.advance();
        let mut faults: Vec<EdiFault> = pass.take_faults().collect();
        if matches!(event, Event::TransactionEnd(_)) {
            let of_transaction = pass.transaction().position();
            for seed in seeds.iter().filter(|seed| seed.transaction == transaction) {
                let (element, component, repetition) = seed.place;
                let at = Position { segment: seed.segment, element, component, repetition, ..of_transaction };
                let context = seed.context.clone().map(Box::new);
                faults.push(EdiFault { error: seed.error.clone(), at, severity: seed.severity, context });
            }
            transaction += 1;
        }
        acknowledger.event(event, &pass, &faults, &mut output);
        if event == Event::Done {
            return output.written().to_vec();
        }
    }
}

#[test]
fn segments_and_elements_are_told() {
    let context = |tag: &str, number: &str, copy: &str| FaultContext {
        tag: tag.to_owned(),
        loop_id: Some("2010AA".to_owned()),
        data_element: Some(number.to_owned()),
        copy: copy.as_bytes().to_vec(),
        trigger: None,
    };
    let seed = |error, segment, place, context| Seed {
        transaction: 1,
        error,
        severity: Severity::Error,
        segment,
        place,
        context: Some(context),
    };
    let trigger = ("CLM".to_owned(), Position { segment: 2, element: 5, component: 3, ..Position::default() });
    let seeds = [
        seed(EdiError::Characters, 3, (1, 2, 0), context("HI", "1271", "V22*3")),
        seed(EdiError::Characters, 3, (4, 0, 2), context("HI", "C022", "ABC")),
        seed(
            EdiError::SegmentTooLong { limit: 9 },
            3,
            (0, 0, 0),
            FaultContext { trigger: Some(trigger), ..context("HI", "", "") },
        ),
        seed(EdiError::Characters, 2, (2, 0, 0), context("CLM", "0782", "1O0")),
        seed(EdiError::Characters, 1, (3, 0, 0), context("ST", "1705", "")),
        seed(EdiError::Tag { standard: Standard::X12, bytes: 4 }, 3, (0, 0, 0), context("TOOLONG", "", "")),
    ];
    let told =
        |name: &str, input: &[u8], expected: Expect| expected.assert_eq(&shown(&seeded(input, &seeds, options(name))));
    told(
        "999",
        &x12_input("005010X222A1"),
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*005010X231A1~
        ST*999*0001*005010X231A1~
        AK1*HC*1*005010X222A1~
        AK2*837*0001~
        IK5*A~
        AK2*837*0002~
        IK3*ST*1*2010*8~
        IK4*3*1705*6~
        IK3*CLM*2*2010*8~
        CTX*CLM01:CL2~
        IK4*2*782*6*1O0~
        IK3*HI*3*2010*8~
        CTX*CLM01:CL2~
        IK4*1:2*1271*6~
        IK4*4::2**6*ABC~
        IK3*HI*3*2010*8~
        CTX*SITUATIONAL TRIGGER*CLM*2**5:3~
        CTX*CLM01:CL2~
        IK5*R*5~
        AK2*837*0003~
        IK5*A~
        AK2*837*0004~
        IK5*A~
        AK9*P*4*4*3~
        SE*24*0001~
        ST*999*0002*005010X231A1~
        AK1*HC*2*005010X222A1~
        AK2*837*0001~
        IK5*A~
        AK2*837*0002~
        IK5*A~
        AK2*837*0003~
        IK5*A~
        AK2*837*0004~
        IK5*A~
        AK9*A*4*4*4~
        SE*12*0002~
        GE*2*1~
        IEA*1*000000001~
    "#]],
    );
    told(
        "997",
        &x12_input("005010"),
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*005010~
        ST*997*0001~
        AK1*HC*1*005010~
        AK2*837*0001~
        AK5*A~
        AK2*837*0002~
        AK3*ST*1*2010*8~
        AK4*3*1705*6~
        AK3*CLM*2*2010*8~
        AK4*2*782*6*1O0~
        AK3*HI*3*2010*8~
        AK4*1:2*1271*6~
        AK4*4::2**6*ABC~
        AK3*HI*3*2010*8~
        AK5*R*5~
        AK2*837*0003~
        AK5*A~
        AK2*837*0004~
        AK5*A~
        AK9*P*4*4*3~
        SE*20*0001~
        ST*997*0002~
        AK1*HC*2*005010~
        AK2*837*0001~
        AK5*A~
        AK2*837*0002~
        AK5*A~
        AK2*837*0003~
        AK5*A~
        AK2*837*0004~
        AK5*A~
        AK9*A*4*4*4~
        SE*12*0002~
        GE*2*1~
        IEA*1*000000001~
    "#]],
    );
    told(
        "997",
        &x12_input("004010"),
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*004010~
        ST*997*0001~
        AK1*HC*1~
        AK2*837*0001~
        AK5*A~
        AK2*837*0002~
        AK3*ST*1*2010*8~
        AK4*3*1705*6~
        AK3*CLM*2*2010*8~
        AK4*2*782*6*1O0~
        AK3*HI*3*2010*8~
        AK4*1:2*1271*6~
        AK4*4**6*ABC~
        AK3*HI*3*2010*8~
        AK5*R*5~
        AK2*837*0003~
        AK5*A~
        AK2*837*0004~
        AK5*A~
        AK9*P*4*4*3~
        SE*20*0001~
        ST*997*0002~
        AK1*HC*2~
        AK2*837*0001~
        AK5*A~
        AK2*837*0002~
        AK5*A~
        AK2*837*0003~
        AK5*A~
        AK2*837*0004~
        AK5*A~
        AK9*A*4*4*4~
        SE*12*0002~
        GE*2*1~
        IEA*1*000000001~
    "#]],
    );
    told(
        "997",
        &x12_input("003040"),
        expect![[r#"
            ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
            GS*FA*R*S*260402*0830*1*X*003040~
            ST*997*0001~
            AK1*HC*1~
            AK2*837*0001~
            AK5*A~
            AK2*837*0002~
            AK3*ST*1*2010*8~
            AK4*3*1705*6~
            AK3*CLM*2*2010*8~
            AK4*2*782*6*1O0~
            AK3*HI*3*2010*8~
            AK4*1*1271*6~
            AK4*4**6*ABC~
            AK3*HI*3*2010*8~
            AK5*R*5~
            AK2*837*0003~
            AK5*A~
            AK2*837*0004~
            AK5*A~
            AK9*P*4*4*3~
            SE*20*0001~
            ST*997*0002~
            AK1*HC*2~
            AK2*837*0001~
            AK5*A~
            AK2*837*0002~
            AK5*A~
            AK2*837*0003~
            AK5*A~
            AK2*837*0004~
            AK5*A~
            AK9*A*4*4*4~
            SE*12*0002~
            GE*2*1~
            IEA*1*000000001~
        "#]],
    );
    told(
        "contrl",
        &edifact_input("3", false),
        expect![[r#"
        UNB+UNOC:3+B+A?+:14+260402:0830+1'
        UNH+1+CONTRL:D:3:UN'
        UCI+R1+A?+:14+B+7'
        UCM+12+ORDERS:D:96A:UN+4'
        UCS+1'
        UCD+21+4'
        UCS+2'
        UCD+21+3'
        UCS+3+39'
        UCD+21+2:2'
        UCD+21+5'
        UNT+11+1'
        UNZ+1+1'
    "#]],
    );
    told(
        "contrl",
        &edifact_input("4", true),
        expect![[r#"
        UNB+UNOC:4+B+A?+:14+20260402:0830+1'
        UNH+1+CONTRL:4:1:UN'
        UCI+R1+A?+:14+B+7'
        UCF+1+A+B+7'
        UCM+12+ORDERS:D:96A:UN+4'
        UCS+1'
        UCD+21+4'
        UCS+2'
        UCD+21+3'
        UCS+3+39'
        UCD+21+2:2'
        UCD+21+5::2'
        UCF+2+A+B+7'
        UNT+13+1'
        UNZ+1+1'
    "#]],
    );
}

fn x12_input(version: &str) -> Vec<u8> {
    let mut text = ISA.to_owned();
    for group in 1..=2 {
        text += &format!("GS*HC*S*R*20260401*1200*{group}*X*{version}~");
        for set in 1..=4 {
            text += &format!("ST*837*{set:04}~CLM*CL{set}*100~HI*A~SE*4*{set:04}~");
        }
        text += &format!("GE*4*{group}~");
    }
    (text + "IEA*2*000000001~").into_bytes()
}

fn edifact_input(version: &str, groups: bool) -> Vec<u8> {
    let mut text = format!("UNB+UNOC:{version}+A?+:14+B+260401:1200+R1'");
    for group in 1..=2 {
        if groups {
            text += &format!("UNG+ORDERS+A+B+260401:1200+{group}+UN+D:96A'");
        }
        for set in 1..=4 {
            text += &format!("UNH+{group}{set}+ORDERS:D:96A:UN'BGM+220'UNT+3+{group}{set}'");
        }
        if groups {
            text += &format!("UNE+4+{group}'");
        }
    }
    (text + if groups { "UNZ+2+R1'" } else { "UNZ+8+R1'" }).into_bytes()
}

fn options(name: &str) -> AcknowledgmentOptions {
    let stamp = Stamp::new("20260402", "0830").expect("a date and a time");
    AcknowledgmentOptions::by_name(name, stamp).expect("a kind")
}

/// Groups and transactions of a report list.
fn parts(reports: &[Report]) -> (Vec<&GroupReport>, Vec<&TransactionReport>) {
    let groups = reports.iter().filter_map(|report| if let Report::Group(group) = report { Some(group) } else { None });
    let transactions =
        reports.iter().filter_map(|report| if let Report::Transaction(set) = report { Some(set) } else { None });
    (groups.collect(), transactions.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// For any faults, a 997 or 999 is a valid interchange whose counts are consistent, and it rejects a unit with an error.
    #[test]
    fn x12_acknowledgments_add_up(
        seeds in prop::collection::vec(seed(), 0..12),
        version in prop::sample::select(vec!["005010X222A1", "005010", "004010", "003040", "008010"]),
        name in prop::sample::select(vec!["997", "999"]),
        accept in any::<bool>(),
    ) {
        let on_error = if accept { OnError::Accept } else { OnError::Reject };
        let outcomes = OutcomePolicy { transaction: on_error, ..OutcomePolicy::default() };
        let input = x12_input(version);
        let text = seeded(&input, &seeds, AcknowledgmentOptions { outcomes, ..options(name) });
        let (reports, faults, stray) = read(&text);
        prop_assert!(faults.is_empty(), "{faults:?} in {}", shown(&text));
        prop_assert_eq!(stray, 0);
        let (groups, transactions) = parts(&reports);
        let is_of_interchange = |seed: &Seed| matches!(seed.error, EdiError::Outside { .. });
        let is_error = |seed: &&Seed| seed.severity == Severity::Error;
        if seeds.iter().filter(is_error).any(is_of_interchange) {
            prop_assert!(groups.is_empty());
            let is_ta1 = matches!(&reports[..], [Report::Interchange(report)] if report.outcome == Outcome::Rejected);
            prop_assert!(is_ta1, "{}", shown(&text));
            return Ok(());
        }
        prop_assert_eq!(groups.len(), 2);
        for (number, group) in groups.iter().enumerate() {
            prop_assert_eq!(group.contradiction(), None);
            prop_assert_eq!((group.declared, group.received), (Some(4), Some(4)));
            let inside = |seed: &&Seed| seed.transaction / 4 == number;
            let of_group = |seed: &Seed| {
                matches!(seed.error, EdiError::CountDiffers { level: Level::Group, .. } | EdiError::ControlTwice { level: Level::Group, .. })
            };
            let is_rejected = seeds.iter().filter(is_error).filter(inside).any(of_group);
            if is_rejected {
                prop_assert_eq!(group.outcome.clone(), Some(Outcome::Rejected));
                prop_assert_eq!((group.told, group.accepted), (0, Some(0)));
                prop_assert!(!group.codes.is_empty());
            } else {
                prop_assert_eq!(group.told, 4);
            }
        }
        for set in transactions {
            let group = if set.group.as_deref() == Some("1") { 0 } else { 4 };
            let number = group + set.control_number.parse::<usize>().expect("a number") - 1;
            let is_wrong = seeds.iter().filter(is_error).any(|seed| seed.transaction == number);
            let expected = match (is_wrong, accept) {
                (false, _) => Outcome::Accepted,
                (true, false) => Outcome::Rejected,
                (true, true) => Outcome::AcceptedWithErrors,
            };
            prop_assert_eq!(set.outcome.clone(), Some(expected));
            prop_assert_eq!(set.codes.is_empty(), !is_wrong);
            for code in set.codes.iter().chain(set.segments.iter().flat_map(|note| &note.codes)) {
                prop_assert!(code.list.words(&code.code).is_some(), "{code:?}");
            }
            for note in &set.segments {
                let unit = note.unit.as_ref().map(|unit| unit.name.as_str());
                let has_unit = name == "999" && note.position > 1 && version.starts_with("005010X");
                prop_assert!(unit.is_none() || unit == Some("CLM01"));
                prop_assert!(unit.is_some() || !has_unit);
                for element in &note.elements {
                    prop_assert!(element.code.list.words(&element.code.code).is_some(), "{element:?}");
                }
            }
        }
    }

    /// For any faults, a CONTRL is a valid interchange whose counts are consistent.
    #[test]
    fn contrl_adds_up(
        seeds in prop::collection::vec(seed(), 0..12),
        version in prop::sample::select(vec!["2", "3", "4"]),
        groups in any::<bool>(),
    ) {
        let input = edifact_input(version, groups);
        let text = seeded(&input, &seeds, options("contrl"));
        let (reports, faults, stray) = read(&text);
        prop_assert!(faults.is_empty(), "{faults:?} in {}", shown(&text));
        prop_assert_eq!(stray, 0);
        let Report::Interchange(interchange) = &reports[0] else { panic!("UCI comes first") };
        prop_assert_eq!((&interchange.sender[..], &interchange.control_number[..]), ("A+", "R1"));
        prop_assert_eq!(interchange.outcome.clone(), Outcome::Accepted);
        let (ucf, ucm) = parts(&reports);
        prop_assert_eq!(ucf.len(), if groups { 2 } else { 0 });
        let wrong = |number: usize| {
            seeds.iter().any(|seed| seed.transaction == number && seed.severity == Severity::Error)
        };
        let rejected: Vec<usize> = (0..8).filter(|number| wrong(*number)).collect();
        let told: Vec<usize> = ucm
            .iter()
            .map(|set| {
                let number = set.control_number.as_bytes();
                usize::from(number[0] - b'1') * 4 + usize::from(number[1] - b'1')
            })
            .collect();
        prop_assert_eq!(told, rejected);
        for set in ucm {
            prop_assert_eq!(set.outcome.clone(), Some(Outcome::Rejected));
            prop_assert_eq!(set.version.as_deref(), Some("D:96A:UN"));
            for code in set.codes.iter().chain(set.segments.iter().flat_map(|note| &note.codes)) {
                prop_assert!(code.list.words(&code.code).is_some(), "{code:?}");
            }
        }
    }

    /// For any input, the reply does not depend on its chunks, is read without a finding, and gets no reply itself.
    #[test]
    fn any_input_is_answered_well(
        input in soup(),
        chunk in 1usize..40,
        name in prop::sample::select(vec!["997", "999", "ta1", "contrl"]),
    ) {
        let options = options(name);
        let text = acknowledge(&input, input.len().max(1), &options);
        prop_assert_eq!(&text, &acknowledge(&input, chunk, &options));
        let (_, faults, stray) = read(&text);
        // Two interchanges with the same number may be acknowledged to the same partners in one file; the acknowledgments have numbers made by
        // Quayline.
        prop_assert!(text.is_empty() || faults.is_empty(), "{faults:?} in {}", shown_bytes(&text));
        prop_assert_eq!(stray, 0);
        let again = acknowledge(&text, text.len().max(1), &options);
        prop_assert!(again.is_empty(), "{}", shown_bytes(&again));
    }

    /// For any headers, the reply is valid by its guide: values that cannot be repeated are replaced by zeros. AK102 repeats GS06 with its
    /// leading zeros (EDI-132, a warning), by which the partner finds the group.
    #[test]
    fn unfit_headers_are_answered_well(
        group in prop::collection::vec("[A-Z0-9 .:a-zü]{0,16}", 8),
        set in prop::collection::vec("[A-Z0-9 .]{0,12}", 3),
        interchange in prop::collection::vec("[A-Z0-9 .?:a-zü]{0,60}", 6),
        message in prop::collection::vec("[A-Z0-9 .]{0,16}", 8),
        version in prop::sample::select(vec!["3", "4", "9", ""]),
        name in prop::sample::select(vec!["997", "999"]),
        good in prop::sample::select(vec![None, Some("005010X222A1"), Some("004010"), Some("007030")]),
    ) {
        let options = || AcknowledgmentOptions { interchange: When::Never, ..options(name) };
        let gs = good.map_or_else(|| group.join("*"), |version| format!("HC*S*R*20260401*1200*7*X*{version}"));
        let x12 = format!("{ISA}GS*{gs}~ST*{}~CLM*1~SE*3*{}~GE*1*7~IEA*1*000000001~", set.join("*"), set[1]);
        let text = seeded(x12.as_bytes(), &[], options());
        let (_, faults, _) = read(&text);
        let is_of_reply = |fault: &&String| !["group 1: G", "GS0", "leading zeros"].iter().any(|part| fault.contains(part));
        let faults: Vec<&String> = faults.iter().filter(is_of_reply).collect();
        prop_assert!(faults.is_empty(), "{faults:?} in {}", shown_bytes(&text));

        let [a, b, c, d, e, f] = &interchange[..] else { panic!("six") };
        let (unh, unt) = (message[1..6].join(":"), &message[0]);
        let edifact = format!(
            "UNB+UNOC:{version}+{a}:{b}:{c}+{d}:{e}+260401:1200+{f}'UNG+{}+{a}+{d}+260401:1200+{}+UN+D'UNH+{unt}+{unh}'BGM'UNT+3+{unt}X'UNE+1+{}'UNZ+1+{f}'",
            message[6], message[7], message[7]
        );
        let text = seeded(edifact.as_bytes(), &[], options());
        let (_, faults, _) = read(&text);
        // UNB repeats the partner's values; only the message is written here.
        let faults: Vec<&String> = faults.iter().filter(|fault| fault.contains("transaction 1")).collect();
        prop_assert!(faults.is_empty(), "{faults:?} in {}", shown_bytes(&text));
    }
}

fn shown_bytes(text: &[u8]) -> String {
    text.escape_ascii().to_string().replace('~', "~\n").replace("\\'", "'\n")
}
