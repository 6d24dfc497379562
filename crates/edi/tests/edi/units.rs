//! What a reply repeats of the data: business units, values of elements, places in trailers.

use quayline_core::Limits;
use quayline_edi::acknowledge::{
    Acknowledger, AcknowledgmentOptions, MemoryOutput, RecordedEvents, ReplayedHeaders, Stamp,
};
use quayline_edi::guide::{CompiledGuide, GuideSet};
use quayline_edi::{
    ContentError, ContentErrorKind, EdiError, EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Standard, Validator,
    ValidatorOptions,
};

use crate::acknowledge::ISA;
use crate::mutants::findings;
use crate::validate::{X12, compiled};

/// Last element of a segment before which a loop is missing.
const MISSING: &[u8] = b"MISSING";

/// Returns the reply to a text whose segments without elements are faults, one segment on each line. Before a segment that ends with [`MISSING`], a
/// loop is missing. The reply is the same live and from recorded events.
fn replied(text: &str, options: &AcknowledgmentOptions) -> String {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let (mut live, mut replay) = (Acknowledger::new(options.clone()), Acknowledger::new(options.clone()));
    let (mut written, mut again) = (MemoryOutput::default(), MemoryOutput::default());
    let mut all: Vec<EdiFault> = Vec::new();
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    let mut recorded = RecordedEvents::new(&pass);
    loop {
        let event = pass.advance();
        if event == Event::Segment {
            let segment = pass.segment();
            if segment.len() == 0 {
                pass.put_segment_fault(EdiError::SegmentTooLong { limit: 9 }, pass.position());
            } else if segment.element(segment.len()).is_some_and(|element| element.raw() == MISSING) {
                let (kind, standard) = (ContentErrorKind::LoopMissing { trigger: "LX".into() }, Standard::X12);
                let error = ContentError { kind, standard, reference: "2400".into(), name: None, loops: "".into() };
                pass.put_segment_fault(EdiError::Content(Box::new(error)), pass.position());
            }
        }
        let mut faults: Vec<EdiFault> = pass.take_faults().collect();
        live.event(event, &pass, &faults, &mut written);
        recorded.event(event, &pass, faults.len());
        all.append(&mut faults);
        if event == Event::Done {
            break;
        }
    }
    ReplayedHeaders::default().replay(&recorded, &all, &mut |step, faults| replay.step(step, faults, &mut again));
    assert_eq!(written.written(), again.written());
    core::str::from_utf8(written.written()).expect("UTF-8").replace('~', "~\n").replace('\'', "'\n")
}

fn options(kind: &str) -> AcknowledgmentOptions {
    let stamp = Stamp::new("20260402", "0830").expect("a date and a time");
    AcknowledgmentOptions::by_name(kind, stamp).expect("a kind")
}

/// Returns the units that the 999 names for the empty segments of a transaction, by the number of the segment.
fn units([kind, group, version]: [&str; 3], body: &str) -> Vec<(String, Option<String>)> {
    let count = body.matches('~').count() + 2;
    let text = format!(
        "{ISA}GS*{group}*S*R*20260401*1200*1*X*{version}~ST*{kind}*0001~{body}SE*{count}*0001~GE*1*1~IEA*1*000000001~"
    );
    let reply = replied(&text, &options("999"));
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    for segment in reply.lines() {
        let elements: Vec<&str> = segment.trim_end_matches('~').split('*').collect();
        match elements[0] {
            "IK3" => found.push((elements[2].to_owned(), None)),
            "CTX" => found.last_mut().expect("IK3 is before CTX").1 = Some(elements[1].to_owned()),
            _ => {}
        }
    }
    found
}

/// Regression: CTX named the last unit before the fault, although the unit had ended: the claim of another subscriber.
#[test]
fn a_unit_ends_with_its_loop() {
    let named = |of: [&str; 3], body: &str| -> String {
        let all = units(of, body);
        all.iter().map(|(at, unit)| format!("{at} {}\n", unit.as_deref().unwrap_or("-"))).collect()
    };
    assert_eq!(
        named(["837", "HC", "005010X222A1"], "HL*1**22*0~NM1~CLM*A*1~HI~CLM*B*1~HI~HL*2**22*0~NM1~CLM*C*1~HI~"),
        "3 -\n5 CLM01:A\n7 CLM01:B\n9 -\n11 CLM01:C\n"
    );
    assert_eq!(
        named(["276", "HR", "005010X212"], "HL*1**22*0~TRN*1*T1~REF~HL*2**22*0~NM1~TRN*1*T2~REF~"),
        "4 TRN02:T1\n6 -\n8 TRN02:T2\n"
    );
    assert_eq!(
        named(["834", "BE", "005010X220A1"], "INS*Y~REF*0F*S1~NM1~INS*Y~DTP~REF*0F*S2~NM1~"),
        "4 SUBSCRIBER NUMBER REF02:S1\n6 -\n8 SUBSCRIBER NUMBER REF02:S2\n"
    );
    // A missing loop has the place of the next segment, and belongs to the unit before it.
    assert_eq!(
        named(
            ["837", "HC", "005010X222A1"],
            "HL*1**22*0~CLM*A*1~REF*G1~CLM*B*MISSING~REF*G1~HL*2**22*MISSING~NM1*X*MISSING~CLM*C*1~"
        ),
        "5 CLM01:A\n7 CLM01:B\n8 -\n"
    );
    // The payment is that of the whole transaction.
    assert_eq!(named(["835", "HP", "005010X221A1"], "TRN*1*P1~LX*1~CLP~"), "4 TRN02:P1\n");
}

/// Regression: values were cut in the middle of a character.
#[test]
fn a_value_is_cut_between_characters() {
    let guide = compiled(X12);
    let copies = |value: &str| -> Vec<String> {
        let text = format!(
            "{ISA}GS*ZZ*S*R*20260401*1200*1*X*005010~ST*999*0001~AAA*{value}~SE*3*0001~GE*1*1~IEA*1*000000001~"
        );
        let found = findings(text.as_bytes(), &guide, &ValidatorOptions::default());
        let copy = |fault: &EdiFault| fault.context.as_ref().map(|context| context.copy.clone());
        found.iter().filter_map(copy).map(|copy| String::from_utf8(copy).expect("whole characters")).collect()
    };
    assert_eq!(copies(&"É".repeat(70)), ["É".repeat(70)]);
    assert_eq!(copies(&"aÉ".repeat(70)), ["aÉ".repeat(49) + "a"]);
    assert_eq!(copies(&"a".repeat(140)), ["a".repeat(99)]);
    let long = format!("CLM*{}*1~HI~", "É".repeat(40));
    assert_eq!(units(["837", "HC", "005010X222A1"], &long)[0].1, Some(format!("CLM01:{}", "É".repeat(35))));
}

/// Regression: replies repeated the first 24 bytes of a value in place of a qualifier, as if they were the value.
#[test]
fn a_qualifier_is_repeated_whole_or_not_at_all() {
    let guide = compiled(&format!(
        "{}structure\n  segment BBB M 1 where 01 = AB\n",
        X12.split("structure").next().expect("a dictionary")
    ));
    for (value, copy) in
        [("CD", "CD"), ("ABCDEFGHIJKLMNOPQRSTUVWX", "ABCDEFGHIJKLMNOPQRSTUVWX"), ("ABCDEFGHIJKLMNOPQRSTUVWXY", "")]
    {
        let text = format!(
            "{ISA}GS*ZZ*S*R*20260401*1200*1*X*005010~ST*999*0001~BBB*{value}~SE*3*0001~GE*1*1~IEA*1*000000001~"
        );
        let found = findings(text.as_bytes(), &guide, &ValidatorOptions::default());
        let context = found[0].context.as_ref().expect("a context");
        assert_eq!((found[0].error.code().0, &context.copy[..]), ("EDI-110", copy.as_bytes()), "{value}");
    }
}

/// Regression: the finding about a surplus element of a trailer named the level around the one that the trailer ends.
#[test]
fn surplus_elements_of_a_trailer_belong_to_its_level() {
    let x12 =
        format!("{ISA}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*1~SE*3*0001*X~GE*1*1*X~IEA*1*000000001*X~");
    let edifact = "UNB+UNOA:3+A+B+990802:1557+1'UNG+ORDERS+A+B+990802:1557+1+UN+D:96A'UNH+1+ORDERS:D:96A:UN'BGM+1'UNT+3+1+X'UNE+1+1+X'UNZ+1+1+X'";
    for text in [&x12[..], edifact] {
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut validator = Validator::new(ValidatorOptions::default());
        let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
        let (mut all, mut faults) = (Vec::new(), Vec::new());
        loop {
            let event = pass.advance();
            let check = validator.event(event, |_| None::<&GuideSet>, &mut pass, &mut faults);
            all.extend(faults.drain(..).map(|fault| fault.at.to_string()));
            check.end(&mut pass);
            if event == Event::Done {
                break;
            }
        }
        assert_eq!(
            all,
            [
                "interchange 1, group 1, transaction 1, segment 3, element 3",
                "interchange 1, group 1, segment 6, element 3",
                "interchange 1, segment 7, element 3"
            ],
            "{text}"
        );
    }
}

/// Regression: a fault of an earlier segment hid a wrong number of the next HL.
#[test]
fn faults_of_other_segments_hide_no_hl_number() {
    let guide = format!(
        "{}structure\n  segment AAA O 1\n  loop A O *\n    segment HL M 1 where 03 = 20\n    loop B O *\n      segment HL M 1 where 03 = 22\n      segment AAA O 1\n",
        X12.split("structure").next().expect("a dictionary")
    );
    assert!(CompiledGuide::warnings(&compiled(&guide)).is_empty());
    let codes = |body: &str| -> Vec<String> {
        let all = crate::validate::check_with(&guide, body, &ValidatorOptions::default());
        all.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    // AAA01 and HL01, AAA02 and HL02.
    assert_eq!(codes("HL*1**20*1~HL*2*1*22*0~AAA*TOOLONG~HL*7*1*22*0~"), ["EDI-113 4.1", "EDI-126 5.1"]);
    assert_eq!(codes("HL*1**20*1~HL*2*1*22*0~AAA*A*QQ*1~HL*3*2*22*0~"), ["EDI-114 4.2", "EDI-127 5.2"]);
    // A fault of the HL itself is reported once.
    assert_eq!(codes("HL*1**20*1~HL*TOOLONG*1*22*0~"), ["EDI-113 3.1"]);
}
