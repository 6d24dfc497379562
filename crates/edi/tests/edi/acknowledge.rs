//! Acknowledgments of complete interchanges: input and expected reply.

use expect_test::{Expect, expect};
use quayline_core::Limits;
use quayline_edi::acknowledge::{
    Acknowledger, AcknowledgmentOptions, MemoryOutput, OnError, RecordedEvents, ReplayedHeaders, Stamp, When,
};
use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules};

pub(crate) const ISA: &str =
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*P*:~";

fn stamp() -> Stamp {
    Stamp::new("20260402", "0830").expect("a date and a time")
}

fn options(name: &str) -> AcknowledgmentOptions {
    AcknowledgmentOptions::by_name(name, stamp()).expect("a kind")
}

/// Returns the acknowledgment of an input that arrives in chunks of this many bytes. Recordings of the chunks give the same.
pub(crate) fn acknowledge(input: &[u8], chunk: usize, options: &AcknowledgmentOptions) -> Vec<u8> {
    let limits = Limits { findings_max: usize::MAX, ..Limits::default() };
    let mut reader = EnvelopeReader::new(&limits, Rules::Lenient);
    let mut acknowledger = Acknowledger::new(options.clone());
    let mut output = MemoryOutput::default();
    let (mut replaying, mut headers) = (Acknowledger::new(options.clone()), ReplayedHeaders::default());
    let mut replayed = MemoryOutput::default();
    let (mut from, mut to) = (0, 0);
    loop {
        to = (to + chunk).min(input.len());
        let end = if to == input.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&input[from..to], end);
        let (mut recorded, mut all) = (RecordedEvents::new(&pass), Vec::new());
        let done = loop {
            let event = pass.advance();
            let faults: Vec<_> = pass.take_faults().collect();
            acknowledger.event(event, &pass, &faults, &mut output);
            recorded.event(event, &pass, faults.len());
            all.extend(faults);
            if matches!(event, Event::NeedMore | Event::Done) {
                break event == Event::Done;
            }
        };
        from += pass.finish();
        headers.replay(&recorded, &all, &mut |step, faults| replaying.step(step, faults, &mut replayed));
        if done {
            let (live, replayed) = (output.written(), replayed.written());
            assert_eq!(shown(live), shown(replayed), "recorded");
            assert_eq!(output.held(), 0, "nothing is held behind the end");
            return output.written().to_vec();
        }
    }
}

/// Acknowledges in one chunk and byte by byte; shows one segment a line.
fn check(options: &AcknowledgmentOptions, input: &str, expected: Expect) {
    let whole = acknowledge(input.as_bytes(), input.len(), options);
    assert_eq!(whole, acknowledge(input.as_bytes(), 1, options), "chunks make no difference");
    expected.assert_eq(&shown(&whole));
}

pub(crate) fn shown(text: &[u8]) -> String {
    let text: String = text.iter().map(|byte| char::from(*byte)).collect();
    text.replace('~', "~\n").replace('\'', "'\n")
}

fn check_x12(name: &str, rest: &str, expected: Expect) {
    check(&options(name), &format!("{ISA}{rest}"), expected);
}

#[test]
fn groups_are_accepted() {
    let two = "GS*HC*S*R*20260401*1200*7*X*005010X222A1~ST*837*0001*005010X222A1~BHT~SE*3*0001~ST*837*0002*005010X222A1~BHT~SE*3*0002~GE*2*7~IEA*1*000000001~";
    check_x12(
        "999",
        two,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*005010X231A1~
        ST*999*0001*005010X231A1~
        AK1*HC*7*005010X222A1~
        AK2*837*0001*005010X222A1~
        IK5*A~
        AK2*837*0002*005010X222A1~
        IK5*A~
        AK9*A*2*2*2~
        SE*8*0001~
        GE*1*1~
        IEA*1*000000001~
    "#]],
    );
    check_x12(
        "997",
        two,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*005010~
        ST*997*0001~
        AK1*HC*7*005010X222A1~
        AK2*837*0001*005010X222A1~
        AK5*A~
        AK2*837*0002*005010X222A1~
        AK5*A~
        AK9*A*2*2*2~
        SE*8*0001~
        GE*1*1~
        IEA*1*000000001~
    "#]],
    );
    check_x12(
        "ta1",
        two,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260401*1200*A*000~
        IEA*0*000000001~
    "#]],
    );
    check_x12("contrl", two, expect![[""]]);
}

#[test]
fn transactions_are_rejected() {
    let three = "GS*PO*S*R*20260401*1200*7*X*004010~ST*850*0001~BEG~SE*3*0001~ST*850*0002~BEG~SE*4*0003~ST*850*0001~BEG~GE*3*7~IEA*1*000000001~";
    check_x12(
        "999",
        three,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*004010~
        ST*997*0001~
        AK1*PO*7~
        AK2*850*0001~
        AK5*A~
        AK2*850*0002~
        AK5*R*4*3~
        AK2*850*0001~
        AK5*R*2*23~
        AK9*P*3*3*1~
        SE*10*0001~
        GE*1*1~
        IEA*1*000000001~
    "#]],
    );
    let all = "GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~SE*4*0001~GE*1*7~IEA*1*000000001~";
    check_x12(
        "999",
        all,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*005010~
        ST*999*0001~
        AK1*PO*7*005010~
        AK2*850*0001~
        IK5*R*4~
        AK9*R*1*1*0~
        SE*6*0001~
        GE*1*1~
        IEA*1*000000001~
    "#]],
    );
}

#[test]
fn a_rejected_group_takes_back_its_transactions() {
    let count = "GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~SE*3*0001~GE*2*7~GS*PO*S*R*20260401*1200*8*X*005010~ST*850*0001~BEG~SE*3*0001~GE*1*8~IEA*2*000000001~";
    check_x12(
        "997",
        count,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*005010~
        ST*997*0001~
        AK1*PO*7*005010~
        AK9*R*2*1*0*5~
        SE*4*0001~
        ST*997*0002~
        AK1*PO*8*005010~
        AK2*850*0001~
        AK5*A~
        AK9*A*1*1*1~
        SE*6*0002~
        GE*2*1~
        IEA*1*000000001~
    "#]],
    );
}

#[test]
fn a_rejected_interchange_takes_back_its_groups() {
    let trailer = "GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~SE*3*0001~GE*1*7~IEA*2*000000001~";
    check_x12(
        "999",
        trailer,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260401*1200*R*021~
        IEA*0*000000001~
    "#]],
    );
    let cut = "GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~SE*3*0001~ST*850*0002~BE";
    check_x12(
        "999",
        cut,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260401*1200*R*023~
        IEA*0*000000001~
    "#]],
    );
    let never = AcknowledgmentOptions { interchange: When::Never, ..options("999") };
    check(
        &never,
        &format!("{ISA}{cut}"),
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*005010~
        ST*999*0001~
        AK1*PO*7*005010~
        AK9*R*2*2*0*3~
        SE*4*0001~
        GE*1*1~
        IEA*1*000000001~
    "#]],
    );
}

#[test]
fn headers_are_wrong() {
    let bad = "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *261301*1200*^*00501*000000001*0*P*:~GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~SE*3*0001~GE*1*7~IEA*1*000000001~";
    check(
        &options("999"),
        bad,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260402*1200*R*014~
        IEA*0*000000001~
    "#]],
    );
    check_x12(
        "999",
        "GS*PO*S*R*20260401*1200*AB*X*005010~ST*8501*1~BEG~SE*3*1~GE*1*AB~IEA*1*000000001~",
        expect![[r#"
            ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
            GS*FA*R*S*20260402*0830*1*X*005010~
            ST*999*0001~
            AK1*PO*0*005010~
            AK9*R*1*1*0*6~
            SE*4*0001~
            GE*1*1~
            IEA*1*000000001~
        "#]],
    );
    check_x12(
        "999",
        "ST*850*0001~BEG~SE*3*0001~IEA*0*000000001~",
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260401*1200*R*024~
        IEA*0*000000001~
    "#]],
    );
}

/// A GS07 that is not a code made our own group wrong: `validate` refused the answer.
#[test]
fn the_agency_of_an_answer_is_a_code() {
    for (received, answered) in [("X", "X"), ("T", "T"), ("ZZ", "X"), ("x", "X"), ("", "X")] {
        let input = format!(
            "{ISA}GS*PO*S*R*20260401*1200*7*{received}*004010~ST*850*0001~BEG~SE*3*0001~GE*1*7~IEA*1*000000001~"
        );
        let answer = acknowledge(input.as_bytes(), input.len(), &options("997"));
        let answer = shown(&answer);
        assert!(answer.contains(&format!("\nGS*FA*R*S*20260402*0830*1*{answered}*004010~")), "{received}: {answer}");
    }
}

#[test]
fn acknowledgments_are_not_acknowledged() {
    let mixed = "GS*FA*S*R*20260401*1200*6*X*005010~ST*997*0001~AK1*PO*1~AK9*A*1*1*1~SE*4*0001~GE*1*6~GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~SE*3*0001~GE*1*7~IEA*2*000000001~";
    check_x12(
        "997",
        mixed,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*005010~
        ST*997*0001~
        AK1*PO*7*005010~
        AK2*850*0001~
        AK5*A~
        AK9*A*1*1*1~
        SE*6*0001~
        GE*1*1~
        IEA*1*000000001~
    "#]],
    );
    let alone = "GS*FA*S*R*20260401*1200*6*X*005010~ST*997*0001~AK1*PO*1~AK9*A*1*1*1~SE*4*0001~GE*1*6~IEA*1*000000001~";
    check_x12("997", alone, expect![[""]]);
    check_x12("ta1", alone, expect![[""]]);
    check_x12("ta1", "TA1*000000001*260401*1200*A*000~IEA*0*000000001~", expect![[""]]);
    check(
        &options("contrl"),
        "UNB+UNOC:3+A+B+260401:1200+9'UNH+1+CONTRL:D:3:UN'UCI+1+B+A+7'UNT+3+1'UNZ+1+9'",
        expect![[""]],
    );
}

#[test]
fn partners_and_versions_make_groups() {
    let groups = "GS*PO*S*R*20260401*1200*7*X*004010~ST*850*0001~BEG~SE*3*0001~GE*1*7~GS*IN*S*R*20260401*1200*8*X*004010~ST*810*0001~BIG~SE*3*0001~GE*1*8~GS*HC*S2*R2*20260401*1200*9*X*005010X223A2~ST*837*0001*005010X223A2~BHT~SE*3*0001~GE*1*9~IEA*3*000000001~";
    check_x12(
        "999",
        groups,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        GS*FA*R*S*20260402*0830*1*X*004010~
        ST*997*0001~
        AK1*PO*7~
        AK2*850*0001~
        AK5*A~
        AK9*A*1*1*1~
        SE*6*0001~
        ST*997*0002~
        AK1*IN*8~
        AK2*810*0001~
        AK5*A~
        AK9*A*1*1*1~
        SE*6*0002~
        GE*2*1~
        GS*FA*R2*S2*20260402*0830*2*X*005010X231A1~
        ST*999*0001*005010X231A1~
        AK1*HC*9*005010X223A2~
        AK2*837*0001*005010X223A2~
        IK5*A~
        AK9*A*1*1*1~
        SE*6*0001~
        GE*1*2~
        IEA*2*000000001~
    "#]],
    );
}

#[test]
fn several_interchanges_have_several_acknowledgments() {
    let one = format!("{ISA}GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~SE*3*0001~GE*1*7~IEA*1*000000001~");
    let both = format!(
        "{}UNB+UNOC:3+A+B+260401:1200+9'UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'UNZ+1+9'",
        one.replace("*0*P*", "*1*T*")
    );
    check(
        &options("997"),
        &both,
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*T*:~
        TA1*000000001*260401*1200*A*000~
        GS*FA*R*S*20260402*0830*1*X*005010~
        ST*997*0001~
        AK1*PO*7*005010~
        AK2*850*0001~
        AK5*A~
        AK9*A*1*1*1~
        SE*6*0001~
        GE*1*1~
        IEA*1*000000001~
        UNB+UNOC:3+B+A+260402:0830+2'
        UNH+1+CONTRL:D:3:UN'
        UCI+9+A+B+7'
        UNT+3+1'
        UNZ+1+2'
    "#]],
    );
}

#[test]
fn contrl_acknowledges_and_rejects() {
    let unb = "UNB+UNOC:3+A:14:x+B:14+260401:1200+REF9++APP+++1+1'";
    let contrl = options("contrl");
    let edifact = |rest: &str, expected| check(&contrl, &format!("{unb}{rest}"), expected);
    edifact(
        "UNH+1+ORDERS:D:96A:UN:EAN008'BGM+220'UNT+3+1'UNZ+1+REF9'",
        expect![[r#"
        UNB+UNOC:3+B:14+A:14:x+260402:0830+1++++++1'
        UNH+1+CONTRL:D:3:UN'
        UCI+REF9+A:14:x+B:14+7'
        UNT+3+1'
        UNZ+1+1'
    "#]],
    );
    edifact(
        "UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'UNH+2+ORDERS:D:96A:UN'BGM+220'UNT+3+9'UNZ+2+REF9'",
        expect![[r#"
        UNB+UNOC:3+B:14+A:14:x+260402:0830+1++++++1'
        UNH+1+CONTRL:D:3:UN'
        UCI+REF9+A:14:x+B:14+7'
        UCM+2+ORDERS:D:96A:UN+4+28+UNT+3'
        UNT+4+1'
        UNZ+1+1'
    "#]],
    );
    edifact(
        "UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'UNZ+2+REF9'",
        expect![[r#"
        UNB+UNOC:3+B:14+A:14:x+260402:0830+1++++++1'
        UNH+1+CONTRL:D:3:UN'
        UCI+REF9+A:14:x+B:14+4+29+UNZ+2'
        UNT+3+1'
        UNZ+1+1'
    "#]],
    );
    edifact(
        "UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'",
        expect![[r#"
        UNB+UNOC:3+B:14+A:14:x+260402:0830+1++++++1'
        UNH+1+CONTRL:D:3:UN'
        UCI+REF9+A:14:x+B:14+4+13+UNZ'
        UNT+3+1'
        UNZ+1+1'
    "#]],
    );
    edifact(
        "UNH+1+ORDERS:D:96A:UN'BGM+22",
        expect![[r#"
        UNB+UNOC:3+B:14+A:14:x+260402:0830+1++++++1'
        UNH+1+CONTRL:D:3:UN'
        UCI+REF9+A:14:x+B:14+4+13+UNZ'
        UNT+3+1'
        UNZ+1+1'
    "#]],
    );
    edifact(
        "UNH++ORDERS:D:96A:UN'BGM+220'UNT+3+'UNH+2+ORDERS'UNT+2+2'UNZ+2+REF9'",
        expect![[r#"
            UNB+UNOC:3+B:14+A:14:x+260402:0830+1++++++1'
            UNH+1+CONTRL:D:3:UN'
            UCI+REF9+A:14:x+B:14+7'
            UCM+0+ORDERS:D:96A:UN+4+13+UNH+2:1'
            UCM+2+ORDERS:0:0:0+4+13+UNH+3:2'
            UNT+5+1'
            UNZ+1+1'
        "#]],
    );
}

#[test]
fn an_answer_looks_like_what_it_answers() {
    // The second begins before the first has ended, with other delimiters and without line breaks.
    let cut = "UNA:+.? '\nUNB+UNOC:3+A+B+260401:1200+1'\nUNH+1+ORDERS:D:96A:UN'\nUNT+9+1'\n";
    let next = format!("{}IEA*0*000000001~", ISA);
    let text = acknowledge(format!("{cut}{next}").as_bytes(), 7, &options("999"));
    let expected =
        "UNA:+.? '\nUNB+UNOC:3+B+A+260402:0830+1'\nUNH+1+CONTRL:D:3:UN'\nUCI+1+A+B+4+13+UNZ'\nUNT+3+1'\nUNZ+1+1'\n";
    assert_eq!(text, expected.as_bytes());
    let whole = format!("{cut}UNZ+1+1'\n");
    let text = acknowledge(whole.as_bytes(), 7, &options("999"));
    let expected = "UNA:+.? '\nUNB+UNOC:3+B+A+260402:0830+1'\nUNH+1+CONTRL:D:3:UN'\nUCI+1+A+B+7'\nUCM+1+ORDERS:D:96A:UN+4+29+UNT+2'\nUNT+4+1'\nUNZ+1+1'\n";
    assert_eq!(text, expected.as_bytes());
}

#[test]
fn contrl_of_groups() {
    let unb = "UNA:+.?*'UNB+UNOC:4+A+B+20260401:1200+REF9'";
    let edifact = |rest: &str, expected| check(&options("999"), &format!("{unb}{rest}"), expected);
    edifact(
        "UNG+ORDERS+AA+BB+260401:1200+1+UN+D:96A'UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'UNH+2+ORDERS:D:96A:UN'UNT+3+2'UNE+2+1'UNG+INVOIC+AA+BB+260401:1200+2+UN+D:96A'UNH+1+INVOIC:D:96A:UN'BGM+220'UNT+9+1'UNE+2+2'UNZ+2+REF9'",
        expect![[r#"
            UNA:+.?*'
            UNB+UNOC:4+B+A+20260402:0830+1'
            UNH+1+CONTRL:4:1:UN'
            UCI+REF9+A+B+7'
            UCF+1+AA+BB+7'
            UCM+2+ORDERS:D:96A:UN+4+29+UNT+2'
            UCF+2+AA+BB+4+29+UNE+2'
            UNT+6+1'
            UNZ+1+1'
        "#]],
    );
}

#[test]
fn refused_headers_are_answered() {
    let isa = |from: &str, to: &str| ISA.replace(from, to);
    let rest = "GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~SE*3*0001~GE*1*7~IEA*1*000000001~";
    // Component and element separator are the same.
    check(
        &options("999"),
        &format!("{}{rest}", isa(":~", "*~")),
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260401*1200*R*027~
        IEA*0*000000001~
    "#]],
    );
    // The terminator is a letter.
    check(
        &options("ta1"),
        &format!("{}{rest}", isa(":~", ":A")),
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260401*1200*R*004~
        IEA*0*000000001~
    "#]],
    );
    // Widths are wrong and elements are missing.
    check(
        &options("999"),
        &format!("{}{rest}", isa("*0*P*:~", "*0~")),
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260401*1200*R*027~
        IEA*0*000000001~
    "#]],
    );
    // The sender is unknown.
    check(&options("999"), "ISA*00~", expect![[""]]);
    // After an interchange without its trailer, whose reply comes first.
    let cut = format!("{ISA}GS*PO*S*R*20260401*1200*7*X*005010~ST*850*0001~BEG~");
    check(
        &options("999"),
        &format!("{cut}{}{rest}", isa(":~", "*~")),
        expect![[r#"
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000001*0*P*:~
        TA1*000000001*260401*1200*R*023~
        IEA*0*000000001~
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260402*0830*^*00501*000000002*0*P*:~
        TA1*000000001*260401*1200*R*027~
        IEA*0*000000002~
    "#]],
    );
    // Another element separator, without UNA.
    let orders = "UNH#1#ORDERS:D:96A:UN'BGM#220'UNT#3#1'UNZ#1#REF9'";
    check(
        &options("contrl"),
        &format!("UNB#UNOC:3#A:14#B#260401:1200#REF9'{orders}"),
        expect![[r#"
        UNB+UNOC:3+B+A:14+260402:0830+1'
        UNH+1+CONTRL:D:3:UN'
        UCI+REF9+A:14+B+4+12+UNB'
        UNT+3+1'
        UNZ+1+1'
    "#]],
    );
    // Component and element separator are the same.
    check(
        &options("contrl"),
        "UNA++.? 'UNB+UNOC:4+A:14+B+260401:1200+REF9'UNZ+0+REF9'",
        expect![[r#"
        UNB+UNOC:4+B+A:14+20260402:0830+1'
        UNH+1+CONTRL:4:1:UN'
        UCI+REF9+A:14+B+4+20+UNA'
        UNT+3+1'
        UNZ+1+1'
    "#]],
    );
}

#[test]
fn dates_are_counted_from_1970() {
    let date = |seconds| {
        let stamp = Stamp::from_unix(seconds);
        format!("{}T{}", stamp.date().escape_ascii(), stamp.time().escape_ascii())
    };
    assert_eq!(date(0), "19700101T0000");
    assert_eq!(date(951_782_400 + 86_399), "20000229T2359");
    assert_eq!(date(951_868_800), "20000301T0000");
    assert_eq!(date(1_775_001_600), "20260401T0000");
    assert_eq!(date(4_107_542_400), "21000301T0000");
    assert_eq!(Stamp::new("20260230", "1200"), None);
}

/// A caller that knows only at the end of a transaction why it is rejected overrides the policy.
#[test]
fn a_caller_decides_about_a_transaction() {
    let answer = |decision: OnError, count: u32| {
        let input = format!(
            "{ISA}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*1~SE*{count}*0001~GE*1*1~IEA*1*000000001~"
        );
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut acknowledger = Acknowledger::new(options("997"));
        let mut output = MemoryOutput::default();
        let mut pass = reader.over(input.as_bytes(), EndOfInput::Yes);
        loop {
            let event = pass.advance();
            let faults: Vec<_> = pass.take_faults().collect();
            if matches!(event, Event::TransactionEnd(_)) {
                acknowledger.decide(decision);
            }
            acknowledger.event(event, &pass, &faults, &mut output);
            if event == Event::Done {
                break;
            }
        }
        String::from_utf8(output.written().to_vec()).expect("text")
    };
    assert!(answer(OnError::Reject, 3).contains("~AK5*R*5~AK9*R*1*1*0~"), "{}", answer(OnError::Reject, 3));
    assert!(answer(OnError::Accept, 9).contains("~AK5*E*4~AK9*E*1*1*1~"), "{}", answer(OnError::Accept, 9));
    assert!(answer(OnError::Accept, 3).contains("~AK5*A~AK9*A*1*1*1~"), "{}", answer(OnError::Accept, 3));
}

/// A recording left out the segment that showed the line ends, so an interchange without a trailer was answered without them.
#[test]
fn a_recording_has_the_line_ends_of_the_last_segment() {
    let input = b"UNB+UNOA:3+A+B+990802:1557+1'\r\nUNP+3+1'UNA:+.? '";
    for chunk in 1..input.len() {
        for name in ["997", "contrl"] {
            acknowledge(input, chunk, &options(name));
        }
    }
}

/// The text of rejected messages before a group was dropped with the group, and UNT still counted it.
#[test]
fn messages_before_a_group_keep_their_answers() {
    let message = "UNH+1+ORDERS:D:96A:UN'UNT+3+1'";
    let good = "UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'";
    let text = format!(
        "UNB+UNOC:3+A+B+260401:1200+26'{message}UNG+ORDERS+A+B+260401:1200+1+UN+D:96A'{good}UNE+2+1'UNG+ORDERS+A+B+260401:1200+2+UN+D:96A'{message}UNE+1+2'UNZ+3+26'"
    );
    check(
        &options("contrl"),
        &text,
        expect![[r#"
        UNB+UNOC:3+B+A+260402:0830+1'
        UNH+1+CONTRL:D:3:UN'
        UCI+26+A+B+7'
        UCM+1+ORDERS:D:96A:UN+4+29+UNT+2'
        UCF+1+A+B+4+30'
        UCF+2+A+B+7'
        UCM+1+ORDERS:D:96A:UN+4+29+UNT+2'
        UNT+7+1'
        UNZ+1+1'
    "#]],
    );
}

/// A terminator directly after the tag ended the process.
#[test]
fn headers_of_a_tag_alone_are_not_answered() {
    for text in ["UNB'UNZ+0+26'", "UNB''+UNOC:3+A+B+260401:1200+26'", "UNA:+.? 'UNB'", "UNB\n", "ISA", "ISA~IEA~"] {
        for kind in ["contrl", "997", "999", "auto"] {
            let written = acknowledge(text.as_bytes(), text.len(), &options(kind));
            assert!(written.is_empty(), "{text} {kind}");
        }
    }
}
