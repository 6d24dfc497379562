//! Any segments by guides: the same findings however the bytes are cut, places inside the input, no level finds less than the one before it, and
//! recorded events give the same acknowledgments.

use std::sync::{Arc, OnceLock};

use quayline_core::Limits;
use quayline_edi::acknowledge::{
    Acknowledger, AcknowledgmentOptions, MemoryOutput, RecordedEvents, ReplayedHeaders, Stamp,
};
use quayline_edi::guide::{CompiledGuide, MemoryGuides, parse_guide};
use quayline_edi::{EdiFault, EndOfInput, EnvelopeReader, Event, Rules, ValidationLevel, Validator, ValidatorOptions};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, cut, body @ ..] = data else { return };
    let guide = &guides()[if choice & 16 == 0 { usize::from(choice & 3) } else { 4 }];
    // As it is, or as the body of a transaction.
    let text = match choice & 12 {
        0 => body.to_vec(),
        4 => [
            b"ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~GS*HC*S*R*20260401*1200*1*X*005010~ST*837*0001~",
            body,
            b"~SE*1*0001~GE*1*1~IEA*1*000000001~",
        ]
        .concat(),
        _ => [b"UNB+UNOC:3+S+R+260401:1200+1'UNH+1+ORDERS:D:96A:UN'", body, b"'UNT+1+1'UNZ+1+1'"].concat(),
    };
    let cut = usize::from(*cut) * text.len() / 255;
    let whole = findings(&text, &[], guide, ValidationLevel::Rules);
    assert_eq!(whole, findings(&text, &[cut], guide, ValidationLevel::Rules), "cut at {cut}");
    for fault in &whole {
        assert!(fault.at.byte.0 <= text.len() as u64);
        assert!(!fault.finding(None).to_string().is_empty());
        let _ = fault.error.acknowledgment();
    }
    acknowledge(&text, cut);
    let mut before = 0;
    for level in [ValidationLevel::Envelope, ValidationLevel::Guide, ValidationLevel::Notes, ValidationLevel::Rules] {
        let count = findings(&text, &[], guide, level).len();
        assert!(before <= count, "{level:?} finds less than the level before it");
        before = count;
    }
}

/// Acknowledges while the bytes are read, and from recordings of the bytes before `cut` and after it.
fn acknowledge(text: &[u8], cut: usize) {
    let stamp = Stamp::new("20260402", "0830").expect("a date and a time");
    let options = AcknowledgmentOptions::by_name("auto", stamp).expect("a kind");
    let mut reader = EnvelopeReader::new(&Limits { findings_max: usize::MAX, ..Limits::default() }, Rules::Lenient);
    let (mut live, mut live_output) = (Acknowledger::new(options.clone()), MemoryOutput::default());
    let (mut later, mut later_output) = (Acknowledger::new(options), MemoryOutput::default());
    let (mut headers, mut from) = (ReplayedHeaders::default(), 0);
    for (known, end) in [(cut, EndOfInput::No), (text.len(), EndOfInput::Yes)] {
        let mut pass = reader.over(&text[from..known], end);
        let (mut recorded, mut all) = (RecordedEvents::new(&pass), Vec::new());
        loop {
            let event = pass.advance();
            let faults: Vec<EdiFault> = pass.take_faults().collect();
            live.event(event, &pass, &faults, &mut live_output);
            recorded.event(event, &pass, faults.len());
            all.extend(faults);
            if matches!(event, Event::NeedMore | Event::Done) {
                break;
            }
        }
        from += pass.finish();
        headers.replay(&recorded, &all, &mut |step, faults| later.step(step, faults, &mut later_output));
    }
    assert_eq!(live_output.written(), later_output.written(), "recorded events are acknowledged differently");
}

/// HL loops that follow each other.
const SHIP_NOTICE: &str = "guide SHIP\nstandard X12\nversion 004010\ntransaction 856 group SH\nelement 1 AN 1..20\nelement 628 AN 1..12
element 735 ID 1..2\nelement 736 ID 1\nsegment BSN\n  1 M\nsegment HL\n  628 M\n  628 O\n  735 M\n  736 O\nsegment LIN\n  1 O
structure\n  segment BSN M 1\n  loop HL M *\n    level S top\n    level O in S\n    level P in O P\n    level I in O P
    segment HL M 1\n    segment LIN O 1\n";

fn guides() -> &'static [Arc<CompiledGuide>; 5] {
    static GUIDES: OnceLock<[Arc<CompiledGuide>; 5]> = OnceLock::new();
    GUIDES.get_or_init(|| {
        let claims = include_str!("../../examples/edi/x12-claims.guide").to_owned();
        let files = MemoryGuides([("x12-claims.guide".to_owned(), claims)].into());
        let make = |text: &str| {
            let guide = parse_guide("a.guide", text, &files, &Limits::default()).unwrap_or_else(|e| panic!("{e}"));
            Arc::new(CompiledGuide::new(&guide).unwrap_or_else(|e| panic!("{e}")))
        };
        [
            make(include_str!("../../examples/edi/837p.guide")),
            make(include_str!("../../examples/edi/orders.guide")),
            make(include_str!("../../crates/edi/tests/guides/835.guide")),
            make(include_str!("../../crates/edi/tests/guides/invoic.guide")),
            make(SHIP_NOTICE),
        ]
    })
}

/// Findings when the bytes are known up to each of `ends` in turn.
fn findings(text: &[u8], ends: &[usize], guide: &Arc<CompiledGuide>, level: ValidationLevel) -> Vec<EdiFault> {
    let limits = Limits { findings_max: 1 << 20, ..Limits::default() };
    let mut reader = EnvelopeReader::new(&limits, Rules::Lenient);
    let mut validator =
        Validator::new(ValidatorOptions { level, findings_max: 1 << 20, ..ValidatorOptions::default() });
    let (mut found, mut from) = (Vec::new(), 0);
    for known in ends.iter().copied().chain([text.len()]) {
        let end = if known == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..known], end);
        loop {
            let event = pass.advance();
            match event {
                Event::TransactionStart => validator.begin(Some(guide), &pass),
                Event::Segment if pass.in_transaction() => {
                    validator.segment(&pass);
                }
                Event::TransactionEnd(closed) => {
                    validator.end(closed, &pass);
                }
                _ => {}
            }
            // In the order in which `convert` tells them.
            found.extend(pass.take_faults());
            found.extend(validator.take_faults());
            if matches!(event, Event::NeedMore | Event::Done) {
                break;
            }
        }
        from += pass.finish();
        if end == EndOfInput::Yes {
            break;
        }
    }
    found
}
