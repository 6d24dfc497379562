//! Acknowledgments of headers with one wrong value: each is valid by its own guide.

use quayline_core::{Limits, Severity};
use quayline_edi::acknowledge::{AcknowledgmentOptions, Stamp};
use quayline_edi::guide::acknowledgment_guide;
use quayline_edi::{CharacterRules, EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Validator, ValidatorOptions};

use crate::acknowledge::acknowledge;

const X12: &str = "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*1*P*:~\
                   GS*PO*SENDER*RECEIVER*20260401*1200*1*X*005010~ST*850*0001*005010~BEG*00~SE*3*0001~GE*1*1~IEA*1*000000001~";
const EDIFACT: &str = "UNB+UNOC:3+ME:14:I+YOU:14:J+260401:1200+7++++1'UNG+ORDERS+A:1+B:1+260401:1200+8+UN+D:96A'\
                       UNH+1+ORDERS:D:96A:UN:X'BGM+220'UNT+3+1'UNE+1+8'UNZ+1+7'";

/// Returns the values of elements and components of a segment, as ranges in the text.
fn values(text: &str, tag: &str, separators: &[char]) -> Vec<std::ops::Range<usize>> {
    let start = text.find(tag).expect("the segment") + tag.len() + 1;
    let end = start + text[start..].find(['~', '\'']).expect("its end");
    let mut from = start;
    let mut ranges = Vec::new();
    for (at, _) in text[start..end].match_indices(separators).chain([(end - start, "")]) {
        ranges.push(from..start + at);
        from = start + at + 1;
    }
    ranges
}

fn errors(text: &[u8]) -> Vec<String> {
    let characters = CharacterRules::Checked(None);
    let mut validator = Validator::new(ValidatorOptions { characters, ..ValidatorOptions::default() });
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut all: Vec<EdiFault> = Vec::new();
    loop {
        let event = pass.advance();
        match event {
            Event::TransactionStart => validator.begin(acknowledgment_guide(pass.transaction(), pass.group()), &pass),
            Event::Segment => {
                if let Some((error, at)) = validator.characters(&pass) {
                    pass.put_segment_fault(error, at);
                }
                if pass.in_transaction() {
                    validator.segment(&pass);
                }
            }
            Event::TransactionEnd(closed) => {
                validator.end(closed, &pass);
            }
            _ => {}
        }
        all.extend(pass.take_faults().chain(validator.take_faults()));
        if event == Event::Done {
            break;
        }
    }
    let is_error = |fault: &&EdiFault| fault.severity == Severity::Error;
    all.iter().filter(is_error).map(|fault| format!("{} {}", fault.error.code().0, fault.error)).collect()
}

/// Regression: unusable values of headers were repeated, so that `validate` refused the acknowledgment.
#[test]
fn the_answer_to_a_wrong_header_is_valid() {
    let stamp = Stamp::new("20260402", "0830").expect("a date and a time");
    let mut wrong = Vec::new();
    let mut answered = 0;
    for (text, tags, kinds) in [
        (X12, &["ISA", "GS", "ST"][..], &["997", "999", "ta1"][..]),
        // The guide of the 999 for HIPAA's transactions requires more.
        (&X12.replace("X*005010~", "X*005010X222A1~"), &["ISA", "GS", "ST"][..], &["997", "999", "ta1"][..]),
        (&X12.replace("X*005010~", "X*004010~"), &["GS", "ST"][..], &["997", "999"][..]),
        (EDIFACT, &["UNB", "UNG", "UNH"][..], &["contrl"][..]),
        (&EDIFACT.replace("UNOC:3", "UNOA:4"), &["UNB", "UNG", "UNH"][..], &["contrl"][..]),
    ] {
        for tag in tags {
            let separators: &[char] = if text.starts_with("ISA") { &['*'] } else { &['+', ':'] };
            for range in values(text, tag, separators) {
                let value = &text[range.clone()];
                let fixed = |new: &str| if *tag == "ISA" { format!("{new:0$}", value.len()) } else { new.to_owned() };
                let last = value.chars().last().unwrap_or('X');
                let long = if *tag == "ISA" { fixed("Q9") } else { "S".repeat(70) };
                let changes = [
                    long,
                    fixed(""),
                    fixed("\u{1}"),
                    value.replacen(last, "\u{1}", 1),
                    value.to_lowercase(),
                    fixed("q"),
                    fixed("Q9"),
                    if *tag == "ISA" { value.to_owned() } else { format!("{value}XX") },
                ];
                for change in changes {
                    let mut changed = text.to_owned();
                    changed.replace_range(range.clone(), &change);
                    for kind in kinds {
                        let options = AcknowledgmentOptions::by_name(kind, stamp).expect("a kind");
                        let answer = acknowledge(changed.as_bytes(), changed.len(), &options);
                        answered += u32::from(!answer.is_empty());
                        let found = if answer.is_empty() { Vec::new() } else { errors(&answer) };
                        if !found.is_empty() {
                            wrong.push(format!(
                                "{kind} {tag} {value:?} {change:?}: {found:?} {}",
                                answer.escape_ascii()
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {answered}: {}", wrong.len(), wrong.join("\n"));
    assert!(answered > 400, "{answered}");
}

/// Regression: a CONTRL went to the beginning of a sender that was too long, and accepted its interchange.
#[test]
fn partners_of_unb_have_maximum_lengths() {
    let stamp = Stamp::new("20260402", "0830").expect("a date and a time");
    let options = AcknowledgmentOptions::by_name("contrl", stamp).expect("a kind");
    let long = "S".repeat(36);
    for (from, to, answer) in [
        ("ME:14:I", format!("{long}:14"), "UCI+7+UNKNOWN:14+YOU:14:J+4+12+UNB+3:1'"),
        ("ME:14:I", "ME:99999".to_owned(), "UCI+7+ME+YOU:14:J+4+12+UNB+3:2'"),
        ("ME:14:I", format!("ME:14:{}", &long[..15]), "UCI+7+ME:14+YOU:14:J+4+12+UNB+3:3'"),
        ("YOU:14:J", format!("{long}:14"), "UCI+7+ME:14:I+UNKNOWN:14+4+12+UNB+4:1'"),
        ("ME:14:I", format!("{}:14", &long[..35]), "+YOU:14:J+7'"),
    ] {
        let text: Vec<u8> = EDIFACT.replace(from, &to).chars().map(|c| u8::try_from(c).expect("ISO-8859-1")).collect();
        let found = acknowledge(&text, text.len(), &options);
        let found = found.escape_ascii().to_string().replace("\\'", "'");
        assert!(found.contains(answer), "{to}: {found}");
    }
}
