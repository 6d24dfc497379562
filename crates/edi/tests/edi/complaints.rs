//! Complaints of users of other programs: one test for each, by its number in the project's list and its name.
//!
//! 1 big files, 2 start-up, 3 sibling loops, 4 missing dictionaries, 5 acknowledgments, 6 control counts, 7 code lists, 8 tolerance, 9 cascades and
//! buffer boundaries.

use std::sync::Arc;

use quayline_core::{Document, Limits, Severity};
use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentOptions, MemoryOutput, Stamp};
use quayline_edi::guide::{CompiledGuide, Rule, parse_guide};
use quayline_edi::{
    EdiFault, EndOfInput, EnvelopeReader, Event, Rules, SegmentSplitter, Step, Validator, ValidatorOptions,
};

use crate::generic::{documents, json, rewrite};
use crate::mutants::{findings, guide};
use crate::trace::trace;

const CLAIMS: &str = include_str!("../mutants/837p.x12");
const PAYMENTS: &str = include_str!("../mutants/835.x12");
const PURCHASES: &str = include_str!("../mutants/850.x12");
const ORDERS: &str = include_str!("../mutants/orders.edi");

fn compiled(name: &str) -> Arc<CompiledGuide> {
    Arc::new(CompiledGuide::new(&guide(name)).unwrap_or_else(|findings| panic!("{findings}")))
}

/// Codes and segments in the transaction of the errors of a text by its guide.
fn errors(text: &str, name: &str) -> Vec<(String, u64)> {
    let found = findings(text.as_bytes(), &compiled(name), &ValidatorOptions::default());
    let errors = found.iter().filter(|fault| fault.severity == Severity::Error);
    errors.map(|fault| (fault.error.code().0.to_owned(), fault.at.segment)).collect()
}

/// Returns the acknowledgment of a text, by a guide if one is given, one segment on each line.
fn acknowledged(text: &str, kind: &str, guide: Option<&Arc<CompiledGuide>>) -> String {
    let stamp = Stamp::new("20260402", "0830").expect("a date and a time");
    let mut acknowledger = Acknowledger::new(AcknowledgmentOptions::by_name(kind, stamp).expect("a kind"));
    let mut output = MemoryOutput::default();
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut validator = Validator::new(ValidatorOptions::default());
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    loop {
        let event = pass.advance();
        match event {
            Event::TransactionStart => validator.begin(guide, &pass),
            Event::Segment if pass.in_transaction() => {
                validator.segment(&pass);
            }
            Event::TransactionEnd(closed) => {
                validator.end(closed, &pass);
            }
            _ => {}
        }
        let mut faults: Vec<EdiFault> = pass.take_faults().collect();
        faults.extend(validator.take_faults());
        acknowledger.event(event, &pass, &faults, &mut output);
        if event == Event::Done {
            return core::str::from_utf8(output.written()).expect("UTF-8").replace('~', "~\n").replace('\'', "'\n");
        }
    }
}

fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is there");
    text.replacen(from, to, 1)
}

/// Changes the number of segments in the trailer of the first transaction.
fn recounted(text: &str, trailer: &str, by: i64) -> String {
    let at = text.find(trailer).expect("a trailer") + trailer.len();
    let digits = text[at..].bytes().take_while(u8::is_ascii_digit).count();
    let count: i64 = text[at..at + digits].parse().expect("a count");
    format!("{}{}{}", &text[..at], count + by, &text[at + digits..])
}

#[test]
fn c1_big_files_are_read_in_a_buffer_of_any_size() {
    let body = &PURCHASES[..PURCHASES.find("GE*").expect("a trailer")];
    let text = body.to_string() + &"REF*DP*038~\n".repeat(300_000);
    let mut splitter = SegmentSplitter::new(&Limits::default(), Rules::Lenient);
    let (mut from, mut segments) = (0, 0);
    while from < text.len() {
        let to = (from + 4096).min(text.len());
        let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = splitter.over(&text.as_bytes()[from..to], end);
        loop {
            match pass.advance() {
                Step::Segment => segments += 1,
                Step::Interchange => {}
                Step::NeedMore | Step::Done => break,
            }
        }
        let done = pass.finish();
        assert!(done > 0, "a buffer of 4 KiB is enough at byte {from}");
        from += done;
    }
    assert!(segments > 300_000);
}

#[test]
fn c2_guides_compile_in_a_moment() {
    let thread = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = thread();
    for name in ["837p.guide", "835.guide", "850.guide", "orders.guide", "invoic.guide"] {
        compiled(name);
    }
    // Without optimisation; other programs took 18 to 80 seconds.
    assert!(thread() - before < 2.0, "five guides took {} s of CPU", thread() - before);
}

#[test]
fn c3_sibling_loops_that_start_with_nm1_and_hl_are_told_apart() {
    assert_eq!(errors(CLAIMS, "837p.guide"), []);
}

#[test]
fn c3_sibling_loops_that_start_with_n1_are_told_apart() {
    assert_eq!(errors(PAYMENTS, "835.guide"), []);
    assert_eq!(errors(PURCHASES, "850.guide"), []);
}

#[test]
fn c3_sibling_loops_that_start_with_nad_loc_and_tax_are_told_apart() {
    assert_eq!(errors(ORDERS, "orders.guide"), []);
    let siblings = "guide T \"Siblings\"\nstandard EDIFACT\nversion D.96A\ntransaction INVOIC\n\
        element 3227 an 1..3 \"Place\"\nelement 5283 an 1..3 \"Tax\"\nelement 3225 an 1..25 \"Name\"\n\
        segment LOC \"Place\"\n  3227 M\n  3225 C\nsegment TAX \"Tax\"\n  5283 M\n  3225 C\n\
        structure\n  loop FROM M 1\n    segment LOC M 1 where 01 = 5\n    segment TAX C 1 where 01 = 5\n\
        \n  loop TO M 1\n    segment LOC M 1 where 01 = 8\n    segment TAX C 1 where 01 = 7\n";
    let guide = parse_guide("t.guide", siblings, &crate::mutants::Shelf, &Limits::default());
    let guide = guide.unwrap_or_else(|findings| panic!("{findings}"));
    let guide = Arc::new(CompiledGuide::new(&guide).unwrap_or_else(|findings| panic!("{findings}")));
    let text = |body: &str| format!("UNB+UNOA:3+A+B+260401:1200+1'UNH+1+INVOIC:D:96A:UN'{body}UNT+6+1'UNZ+1+1'");
    let options = ValidatorOptions::default();
    let good = findings(text("LOC+5+A'TAX+5'LOC+8+B'TAX+7'").as_bytes(), &guide, &options);
    assert!(good.is_empty(), "{:?}", good.iter().map(|fault| fault.finding(None).to_string()).collect::<Vec<_>>());
    let bad = findings(text("LOC+5+A'TAX+5'LOC+9+B'TAX+7'").as_bytes(), &guide, &options);
    assert_eq!(bad.len(), 1, "{:?}", bad.iter().map(|fault| fault.finding(None).to_string()).collect::<Vec<_>>());
}

#[test]
fn c4_without_a_dictionary_everything_is_parsed_counted_and_converted() {
    for (of, version) in
        [("270", "005010X279A1"), ("271", "005010X279A1"), ("837", "005010X224A2"), ("999", "005010X231A1")]
    {
        let text = format!(
            "{}GS*HS*S*R*20260401*1200*1*X*{version}~ST*{of}*0001*{version}~XYZ*1**A:B^C~SE*3*0001~GE*1*1~IEA*1*000000001~",
            crate::acknowledge::ISA
        );
        assert_eq!(documents(text.as_bytes(), [], &mut Document::new()), Vec::<String>::new(), "{of}");
        assert_eq!(rewrite(text.as_bytes()).escape_ascii().to_string(), text);
        let wrong = text.replace("SE*3", "SE*4");
        assert_eq!(documents(wrong.as_bytes(), [], &mut Document::new()).len(), 1, "{of} is counted");
    }
}

#[test]
fn c5_the_acknowledgment_has_the_version_of_what_it_answers() {
    let claims = compiled("837p.guide");
    assert!(acknowledged(CLAIMS, "999", Some(&claims)).contains("ST*999*0001*005010X231A1~"));
    let old = PURCHASES.replace("*00501*", "*00401*").replace("*X*005010~", "*X*004010~");
    let answer = acknowledged(&old, "997", None);
    assert!(answer.contains("*00401*") && answer.contains("*X*004010~"), "{answer}");
}

#[test]
fn c5_the_acknowledgment_goes_back_to_who_sent() {
    let text = CLAIMS.replace("ZZ*SYNTHSENDER    *ZZ*SYNTHRECEIVER  ", "14*5412345000013  *30*123456789      ");
    let answer = acknowledged(&text, "999", None);
    assert!(answer.contains("*30*123456789      *14*5412345000013  *"), "{answer}");
    assert!(answer.contains("GS*FA*SYNTHRECEIVER*SYNTHSENDER*"), "{answer}");
    assert!(answer.contains("*T*:~"), "the test indicator is the received one: {answer}");
}

#[test]
fn c5_what_is_right_is_not_rejected() {
    let answer = acknowledged(CLAIMS, "999", Some(&compiled("837p.guide")));
    assert!(answer.contains("IK5*A~") && answer.contains("AK9*A*") && !answer.contains("IK3*"), "{answer}");
}

#[test]
fn c5_a_valid_835_is_acknowledged() {
    let answer = acknowledged(PAYMENTS, "999", Some(&compiled("835.guide")));
    assert!(answer.contains("AK1*HP*1*005010X221A1~"), "{answer}");
    // An 835 has no ST03, so AK203 is omitted.
    assert!(answer.contains("AK2*835*0001~") && answer.contains("IK5*A~"), "{answer}");
}

#[test]
fn c5_interchanges_are_acknowledged_by_ta1() {
    let wrong = CLAIMS.replace("IEA*1*000000001", "IEA*1*000000002");
    let answer = acknowledged(&wrong, "ta1", None);
    assert!(answer.contains("TA1*000000001*260401*1200*R*001~"), "{answer}");
}

#[test]
fn c5_a_999_has_the_business_unit_and_the_segment_context() {
    let wrong = changed(CLAIMS, "REF*D9*754819746503650", "REF*D9*");
    let answer = acknowledged(&wrong, "999", Some(&compiled("837p.guide")));
    assert!(answer.contains("CTX*CLM01:PCN000000001~"), "{answer}");
}

#[test]
fn c5_a_999_says_what_made_a_situational_segment_necessary() {
    let mut guide = guide("837p.guide");
    guide.rules.push(Rule {
        name: "authorized".to_owned(),
        at: "2300".to_owned(),
        expression: "if CLM02 > 0 then present(REF[REF01 = \"ZZ\"])".to_owned(),
        message: None,
        warning: false,
    });
    let guide = Arc::new(CompiledGuide::new(&guide).unwrap_or_else(|findings| panic!("{findings}")));
    let answer = acknowledged(CLAIMS, "999", Some(&guide));
    let claims = CLAIMS.matches("CLM*").count();
    let header = CLAIMS.split('~').position(|segment| segment.trim_start().starts_with("ST*")).expect("ST");
    let claim = CLAIMS.split('~').position(|segment| segment.trim_start().starts_with("CLM*")).expect("CLM");
    let trigger = format!("CTX*SITUATIONAL TRIGGER*CLM*{}**2~", claim - header + 1);
    assert!(answer.contains(&trigger), "{trigger} in {answer}");
    assert_eq!(answer.matches("SITUATIONAL TRIGGER").count(), claims, "{answer}");
}

#[test]
fn c5_there_is_an_acknowledgment_although_no_guide_is_there() {
    let answer = acknowledged(CLAIMS, "999", None);
    assert!(answer.contains("AK2*837*0001*005010X222A1~") && answer.contains("IK5*A~"), "{answer}");
}

#[test]
fn c6_control_counts_and_numbers_are_checked() {
    for (from, to) in [
        ("GE*2*1", "GE*3*1"),
        ("GE*2*1", "GE*2*2"),
        ("IEA*1*000000001", "IEA*2*000000001"),
        ("IEA*1*000000001", "IEA*1*000000009"),
    ] {
        let faults = documents(changed(CLAIMS, from, to).as_bytes(), [], &mut Document::new());
        assert_eq!(faults.len(), 1, "{to}: {faults:?}");
    }
    assert_eq!(documents(recounted(CLAIMS, "~\nSE*", 1).as_bytes(), [], &mut Document::new()).len(), 1);
    assert_eq!(documents(recounted(ORDERS, "'\nUNT+", 1).as_bytes(), [], &mut Document::new()).len(), 1);
}

#[test]
fn c6_the_same_control_number_twice_is_found() {
    let twice = format!(
        "{}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~SE*2*0001~ST*850*0001~SE*2*0001~GE*2*1~IEA*1*000000001~",
        crate::acknowledge::ISA
    );
    assert_eq!(documents(twice.as_bytes(), [], &mut Document::new()), ["EDI-039"]);
    let interchanges = format!("{PURCHASES}{PURCHASES}");
    assert_eq!(documents(interchanges.as_bytes(), [], &mut Document::new()), ["EDI-039"]);
}

#[test]
fn c6_several_interchanges_of_both_standards_are_read() {
    let all = format!("{CLAIMS}{ORDERS}{PAYMENTS}");
    let (lines, faults) = json(all.as_bytes(), []);
    // The claims and the payments have the same interchange control number from the same sender.
    assert!(faults.iter().all(|code| code == "EDI-039"), "{faults:?}");
    let text = String::from_utf8(lines).expect("JSON");
    for (standard, position) in [("X12", 1), ("EDIFACT", 2), ("X12", 3)] {
        let line = text.lines().find(|line| line.contains(&format!("\"interchange\":{{\"position\":{position},")));
        assert!(line.is_some_and(|line| line.starts_with(&format!("{{\"standard\":\"{standard}\""))), "{position}");
    }
}

#[test]
fn c7_codes_are_checked_for_the_day_on_which_they_were_sent() {
    let dated = |until: &str| {
        format!(
            "guide T \"Dated\"\nstandard X12\nversion 005010\ntransaction 850 group PO\nelement 1 ID 2..2 \"Code\" codes L\n\
             segment BEG \"Beginning\"\n  1 M\ncodes L \"List\"\n  AA \"One\" until {until}\nstructure\n  segment BEG M 1\n"
        )
    };
    let text = format!(
        "{}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*AA~SE*3*0001~GE*1*1~IEA*1*000000001~",
        crate::acknowledge::ISA
    );
    for (until, faults) in [("20260331", 1), ("20260401", 0)] {
        let guide = parse_guide("t.guide", &dated(until), &crate::mutants::Shelf, &Limits::default());
        let guide = guide.unwrap_or_else(|findings| panic!("{findings}"));
        let guide = Arc::new(CompiledGuide::new(&guide).unwrap_or_else(|findings| panic!("{findings}")));
        let found = findings(text.as_bytes(), &guide, &ValidatorOptions::default());
        assert_eq!(found.len(), faults, "{until}");
    }
}

#[test]
fn c7_twins_of_a_loop_are_checked_alike() {
    // NM1*82 occurs in the claim (2310B) and in the line (2420A).
    for name in ["SPRUCE*BRUNO", "PINE*NILS"] {
        let wrong = changed(CLAIMS, &format!("NM1*82*1*{name}"), &format!("NM1*82*9*{name}"));
        let found = errors(&wrong, "837p.guide");
        assert_eq!(found.len(), 1, "{name}: {found:?}");
    }
}

#[test]
fn c8_a_loop_without_its_first_segment_is_one_finding() {
    let without = recounted(&changed(CLAIMS, "NM1*77*2*BRISTOL CLINIC*****XX*1231948757~\n", ""), "~\nSE*", -1);
    let found = errors(&without, "837p.guide");
    assert!((1..=2).contains(&found.len()), "N3 and N4 have no NM1: {found:?}");
}

#[test]
fn c8_line_breaks_inside_and_behind_segments_are_left_out() {
    let wrapped = CLAIMS.replace("MEDICAL GROUP", "MEDICAL\r\n GROUP");
    let (lines, faults) = json(wrapped.as_bytes(), []);
    assert!(core::str::from_utf8(&lines).expect("UTF-8").contains("MEDICAL GROUP"));
    assert_eq!(faults.len(), 1, "once an interchange: {faults:?}");
    let behind = CLAIMS.replace("~\n", "~\r\n");
    assert_eq!(documents(behind.as_bytes(), [], &mut Document::new()), Vec::<String>::new());
}

#[test]
fn c8_trailing_delimiters_are_no_elements() {
    let trailing =
        CLAIMS.replace("BHT*0019*00*0000000001*20260401*1200*CH~", "BHT*0019*00*0000000001*20260401*1200*CH***~");
    let found = errors(&trailing, "837p.guide");
    assert!(found.len() <= 1, "{found:?}");
}

#[test]
fn c8_an_isa_of_the_wrong_width_is_read_by_its_separators() {
    let narrow = CLAIMS.replace("SYNTHSENDER    ", "SYNTHSENDER");
    let (lines, faults) = json(narrow.as_bytes(), []);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(core::str::from_utf8(&lines).expect("UTF-8").contains("\"sender\":\"SYNTHSENDER\""));
}

#[test]
fn c8_files_wrapped_to_80_columns_are_read() {
    let flat = ORDERS.replace('\n', "");
    let wrapped: String =
        flat.as_bytes().chunks(80).map(|line| format!("{}\r\n", core::str::from_utf8(line).expect("UTF-8"))).collect();
    let (expected, none) = json(flat.as_bytes(), []);
    assert_eq!(none, Vec::<String>::new());
    let (lines, _) = json(wrapped.as_bytes(), []);
    assert!(lines == expected, "{}", core::str::from_utf8(&lines).expect("UTF-8"));
}

#[test]
fn c9_three_faults_are_three_findings() {
    let one = changed(CLAIMS, "PAT*G8~", "PAT*QQ~");
    let two = changed(&one, "DMG*D8*19560402*M~", "DMG*D8*19561402*M~");
    let three = changed(&two, "LX*3~\n", "");
    let found = errors(&recounted(&three, "~\nSE*", -1), "837p.guide");
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn c9_every_split_point_gives_the_same() {
    let text = ORDERS.as_bytes();
    let whole = trace(text, [], &Limits::default(), Rules::Lenient);
    let at = ORDERS.find("DON?'T").expect("a released apostrophe");
    for cut in (0..400.min(text.len())).chain(at - 3..at + 6) {
        assert_eq!(trace(text, [cut], &Limits::default(), Rules::Lenient), whole, "cut at {cut}");
    }
    assert_eq!(trace(text, 0..text.len(), &Limits::default(), Rules::Lenient), whole);
}

#[test]
fn every_part_of_iso_8859_is_read_and_written() {
    for (name, byte, char) in [
        ("UNOC", 0xe9, 'é'),
        ("UNOD", 0xa3, 'Ł'),
        ("UNOE", 0xd6, 'ж'),
        ("UNOF", 0xe1, 'α'),
        ("UNOG", 0xd8, 'Ĝ'),
        ("UNOH", 0xbf, 'ŋ'),
        ("UNOI", 0xc7, 'ا'),
        ("UNOJ", 0xe0, 'א'),
        ("UNOK", 0xfe, 'ş'),
    ] {
        let mut text = format!("UNB+{name}:3+A+B+260401:1200+1'UNH+1+ORDERS:D:96A:UN'FTX+AAI+++").into_bytes();
        text.push(byte);
        text.extend_from_slice(b"'UNT+3+1'UNZ+1+1'");
        let (lines, faults) = json(&text, []);
        assert_eq!(faults, Vec::<String>::new(), "{name}");
        assert!(String::from_utf8(lines).expect("UTF-8").contains(char), "{name}");
        assert_eq!(rewrite(&text), text, "{name}");
    }
    // 0xA5 is undefined in part 3: it is read as ISO-8859-1, reported, and written back unchanged.
    let text = b"UNB+UNOG:3+A+B+260401:1200+1'UNH+1+ORDERS:D:96A:UN'FTX+AAI+++\xa5'UNT+3+1'UNZ+1+1'".to_vec();
    assert_eq!(json(&text, []).1, ["EDI-041"]);
    assert_eq!(rewrite(&text), text);
}
