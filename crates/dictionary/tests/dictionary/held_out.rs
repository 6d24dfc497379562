//! One fault, one finding, on files and guides that the validator was not written with: real files and imported guides.

use std::path::PathBuf;

use quayline_core::Severity;
use quayline_dictionary::import_all;
use quayline_edi::guide::{Guide, GuideSet};
use quayline_edi::{EndOfInput, EnvelopeReader, Event, Rules, Standard, ValidatorOptions};

use crate::corpus::guides;
use crate::fetched::fetched;
use crate::maker::{Fill, Maker};
use crate::places::{places, text_of};

#[path = "../../../edi/tests/edi/mutants/machine.rs"]
pub(crate) mod machine;

use machine::{CLASSES, Dice, HARD_CLASSES, Subject, Tally, findings};

/// Returns the guide of the transactions of a file; `None` unless it has exactly one.
fn only_guide<'g>(text: &[u8], guides: &'g GuideSet) -> Option<&'g Guide> {
    let mut reader = EnvelopeReader::new(&quayline_core::Limits::default(), Rules::Lenient);
    let mut pass = reader.over(text, EndOfInput::Yes);
    let mut only = None;
    loop {
        match pass.advance() {
            Event::TransactionStart => {
                let chosen = guides.choose(pass.transaction(), pass.group())?;
                if only.is_some_and(|other| other != chosen) {
                    return None;
                }
                only = Some(chosen);
            }
            Event::Done => return only.map(|number| guides.guide(number)),
            _ => {}
        }
    }
}

/// The folder of held-out files, which may be absent.
pub(crate) fn corpus() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("QUAYLINE_CORPUS").map_or_else(beside, PathBuf::from)
}

/// Files that are right by an imported guide, with the delimiters that the mutators write.
pub(crate) fn subjects(guides: &GuideSet) -> Vec<Subject> {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let corpus = corpus();
    let mut files: Vec<PathBuf> = ["data/x12", "data/edifact"]
        .iter()
        .filter_map(|name| corpus.join(name).read_dir().ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    if files.is_empty() {
        eprintln!(
            "skipped in part: {}: no corpus of held-out files, see QUAYLINE_CORPUS",
            std::thread::current().name().unwrap_or("a test")
        );
    }
    files.extend(
        ["835.x12", "850.x12", "837p.x12", "orders.edi", "invoic.edi"]
            .map(|name| manifest.join("../edi/tests/mutants").join(name)),
    );
    files.sort();
    let mut subjects = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let Some(at) = text.find("ISA*").or_else(|| text.find("UNA:+.? '")).or_else(|| text.find("UNB+")) else {
            continue;
        };
        let text = &text[at..];
        let usual = if text.starts_with("ISA") { text.get(103..106) == Some("*:~") } else { true };
        let Some(guide) = only_guide(text.as_bytes(), guides).filter(|_| usual) else { continue };
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let subject = Subject::new(&name, guide.clone(), text);
        let again = subject.text(&subject.segments, true);
        let found = findings(again.as_bytes(), &subject.compiled, &ValidatorOptions::default());
        if found.iter().all(|fault| fault.severity != Severity::Error) && found.is_empty() {
            subjects.push(subject);
        }
    }
    subjects
}

#[test]
fn one_fault_gives_one_finding_by_imported_guides_too() {
    let Some(guides) = guides("one_fault_gives_one_finding_by_imported_guides_too") else { return };
    let subjects = subjects(&guides);
    let names: Vec<&str> = subjects.iter().map(|subject| &*subject.name).collect();
    eprintln!("{} subjects: {names:?}", names.len());
    let classes: Vec<_> = CLASSES.into_iter().chain(HARD_CLASSES).collect();
    let mut all = Tally::default();
    for seed in [77_003, 1, 2, 3, 4, 5] {
        all.add(Tally::of(&subjects, &classes, seed, 1));
    }
    eprintln!("{}", all.table());
    // Among the rest are segments without a terminator that the guide accepts as one segment with the next.
    assert!(all.right * 1_000 >= all.made * 997, "{all}");
    all.assert_each_class();
}

/// Optional places of a generated document.
const PLACES: usize = 24;

/// Generates a document of a guide with the loops and segments that lead to some of its places. `None` if it is not valid, because the generator
/// ignores rules between elements.
fn made(guide: &Guide, seed: u64) -> Option<Subject> {
    let mut all = Vec::new();
    places(&guide.structure, &mut Vec::new(), &mut 1, &mut all);
    let mut dice = Dice(seed);
    let mut target: Vec<_> = (0..PLACES.min(all.len())).flat_map(|_| all[dice.below(all.len())].clone()).collect();
    target.push(quayline_edi::guide::ItemId::TRANSACTION);
    let mut maker = Maker::new(guide, target, Fill::LeastFirst);
    maker.make();
    let trailers = if guide.standard == Standard::X12 { "GE*1*1~IEA*1*000000001~" } else { "UNZ+1+1'" };
    let text = text_of(guide.standard, &maker.made) + trailers;
    let subject = Subject::new(&guide.name, guide.clone(), &text);
    let text = subject.text(&subject.segments, true);
    let found = findings(text.as_bytes(), &subject.compiled, &ValidatorOptions::default());
    found.is_empty().then_some(subject)
}

/// Checks one generated document for each guide without a file in the corpus.
#[test]
fn one_fault_gives_one_finding_by_guides_without_files() {
    let test = "one_fault_gives_one_finding_by_guides_without_files";
    let Some(folders) = fetched(test, &["pyx12", "x12-types", "smooks"]) else { return };
    let imported = import_all(&folders).expect("they are importable").guides;
    let classes: Vec<_> = CLASSES.into_iter().chain(HARD_CLASSES).collect();
    let (mut all, mut count) = (Tally::default(), 0);
    for seed in [11, 1, 2, 3, 4, 5, 106] {
        let some = imported.iter().skip(usize::try_from(seed % 5).expect("small")).step_by(5);
        let subjects: Vec<Subject> = some.filter_map(|guide| made(guide, seed)).collect();
        count += subjects.len();
        all.add(Tally::of(&subjects, &classes, seed, 1));
    }
    eprintln!("{count} documents: {}", all.table());
    assert!(count >= 200 && all.right * 100 >= all.made * 99, "{all}");
    all.assert_each_class();
}
