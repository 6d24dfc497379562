//! Acknowledgments of files with one fault: the code of the standard for its class, at its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use quayline_core::{Limits, Severity};
use quayline_edi::acknowledge::{
    Acknowledger, AcknowledgmentOptions, MemoryOutput, Outcome, RecordedEvents, ReplayedHeaders, Report, Stamp,
};
use quayline_edi::guide::CompiledGuide;
use quayline_edi::{EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Validator, ValidatorOptions};

use crate::mutants::{MutantFile, mutant_files};
use crate::reports::read;

/// Events in one recording: another recording begins inside of transactions too.
const RECORDED: usize = 7;

/// Returns the acknowledgment of a text that is validated by a guide, and the faults that caused it. It is the same from the reader's events and from
/// recordings of them.
pub(crate) fn acknowledge(text: &[u8], guide: &Arc<CompiledGuide>, kind: &str) -> (Vec<u8>, Vec<EdiFault>) {
    let limits = Limits { findings_max: usize::MAX, ..Limits::default() };
    let stamp = Stamp::new("20260402", "0830").expect("a date and a time");
    let options = AcknowledgmentOptions::by_name(kind, stamp).expect("a kind");
    let mut reader = EnvelopeReader::new(&limits, Rules::Lenient);
    let mut validator = Validator::new(ValidatorOptions { findings_max: usize::MAX, ..ValidatorOptions::default() });
    let mut acknowledger = Acknowledger::new(options.clone());
    let mut output = MemoryOutput::default();
    let mut all = Vec::new();
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut recordings: Vec<(RecordedEvents, Vec<EdiFault>)> = Vec::new();
    for number in 0.. {
        if number % RECORDED == 0 {
            recordings.push((RecordedEvents::new(&pass), Vec::new()));
        }
        let event = pass.advance();
        let mut cut = None;
        match event {
            Event::TransactionStart => validator.begin(Some(guide), &pass),
            Event::Segment if pass.in_transaction() => {
                validator.segment(&pass);
                cut = validator.take_cut();
                if let Some(bytes) = cut {
                    pass.take_break_back(bytes);
                }
            }
            Event::TransactionEnd(closed) => {
                validator.end(closed, &pass);
            }
            _ => {}
        }
        let faults: Vec<EdiFault> = pass.take_faults().chain(validator.take_faults()).collect();
        acknowledger.event(event, &pass, &faults, &mut output);
        if let Some((recorded, its_faults)) = recordings.last_mut() {
            recorded.event(event, &pass, faults.len());
            its_faults.extend_from_slice(&faults);
        }
        if let Some(bytes) = cut {
            pass.end_segment_at(bytes);
        }
        all.extend(faults);
        if event == Event::Done {
            break;
        }
    }
    let (mut replaying, mut headers) = (Acknowledger::new(options), ReplayedHeaders::default());
    let mut replayed = MemoryOutput::default();
    for (recorded, faults) in &recordings {
        headers.replay(recorded, faults, &mut |step, faults| replaying.step(step, faults, &mut replayed));
    }
    let (live, replayed) = (output.written().to_vec(), replayed.written());
    assert!(live == replayed, "recorded events are acknowledged differently");
    (live, all)
}

/// The fault is reported as more than one, which is a fault of the validator.
const MORE: &str = "more than one finding";

/// Returns the fault of a mutant's acknowledgment, or `None`.
fn verdict(mutant: &MutantFile, kind: &str) -> Option<String> {
    let (text, faults) = acknowledge(mutant.text.as_bytes(), &mutant.guide, kind);
    let (reports, wrong, stray) = read(&text);
    if !wrong.is_empty() || stray > 0 {
        return Some(format!("not right by its own guide: {wrong:?}"));
    }
    let errors: Vec<&EdiFault> = faults.iter().filter(|fault| fault.severity == Severity::Error).collect();
    // Another test covers faults that are reported as more than one.
    let [fault] = &errors[..] else { return Some(MORE.to_owned()) };
    let rejected: Vec<_> = reports
        .iter()
        .filter_map(|report| match report {
            Report::Transaction(set) if set.outcome == Some(Outcome::Rejected) => Some(set),
            _ => None,
        })
        .collect();
    let [set] = &rejected[..] else { return Some(format!("{} transactions are rejected", rejected.len())) };
    let of_set: Vec<&str> = set.codes.iter().map(|code| code.code.as_str()).collect();
    let Some(note) = set.segments.first() else {
        // A fault of the trailer.
        let says = |[_, code, contrl]: &[&str; 3]| of_set.contains(if kind == "contrl" { contrl } else { code });
        let good = mutant.codes.iter().any(|codes| codes[0].is_empty() && says(codes));
        return (!good).then(|| format!("{of_set:?}, expected {:?}", mutant.codes));
    };
    let of_segment: Vec<&str> = note.codes.iter().map(|code| code.code.as_str()).collect();
    let of_element: Vec<&str> = note.elements.iter().map(|element| element.code.code.as_str()).collect();
    let good = mutant.codes.iter().any(|[segment, element, contrl]| {
        if kind == "contrl" {
            of_segment.contains(contrl) || of_element.contains(contrl)
        } else {
            of_segment == [*segment] && (element.is_empty() || of_element == [*element])
        }
    });
    if !good {
        return Some(format!("{of_segment:?} {of_element:?}, expected {:?}", mutant.codes));
    }
    let missing = kind == "contrl" && note.position + 1 == fault.at.segment;
    if note.position != fault.at.segment && !missing {
        return Some(format!("segment {}, expected {}", note.position, fault.at.segment));
    }
    let elements = note.elements.iter().map(|element| element.element);
    let told: Vec<u32> = elements.filter(|element| *element != fault.at.element).collect();
    (!told.is_empty()).then(|| format!("element {told:?}, expected {}", fault.at.element))
}

#[test]
fn each_class_has_its_code_in_the_acknowledgment() {
    let mut by_class: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let (mut wrong, mut made, mut more) = (Vec::new(), 0, 0);
    for mutant in mutant_files(8) {
        let kinds: &[&str] = if mutant.is_x12 { &["999", "997"] } else { &["contrl"] };
        for kind in kinds {
            let tally = by_class.entry(mutant.class).or_default();
            tally.0 += 1;
            made += 1;
            match verdict(&mutant, kind) {
                None => tally.1 += 1,
                Some(why) if why == MORE => more += 1,
                Some(why) => wrong.push(format!("{} {kind}: {why}", mutant.class)),
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    let table: Vec<String> =
        by_class.iter().map(|(class, (made, right))| format!("{class}: {right} of {made}")).collect();
    assert!(more * 100 <= made * 2, "{more} of {made} have more than one finding");
    assert!(wrong.is_empty(), "{}\n\n{}", table.join("\n"), wrong.join("\n"));
}
