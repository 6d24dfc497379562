//! Law of written interchanges for every imported guide: if a writer writes by a guide without a finding, a validator accepts the result at the same
//! level. The test generates documents for places of the guide and changes them by a seed, so that many are wrong.

use std::sync::Arc;

use quayline_core::{Limits, Severity};
use quayline_dictionary::import_all;
use quayline_edi::guide::{CompiledGuide, Guide, GuideSet, ItemId};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiWriter, EdiWriterOptions, EndOfInput, GenericOptions, OutboundOptions, Rules,
    Standard, ValidationLevel, ValidatorOptions,
};
use quayline_edi::{GuideDocuments, NodeNames};

use crate::fetched::fetched;
use crate::held_out::machine::{Dice, findings};
use crate::maker::{FILLS, Maker};
use crate::places::places;

const LEVELS: [ValidationLevel; 3] = [ValidationLevel::Guide, ValidationLevel::Notes, ValidationLevel::Rules];

/// Values that most elements do not allow.
const VALUES: [&str; 8] =
    ["", "ZZ", "20261301", "-5", "a", " ", ".6", "12345678901234567890123456789012345678901234567890"];

/// Number of places that the test tries in each guide.
const PLACES: usize = 24;

/// Formats an interchange by a guide, with some elements changed.
fn interchange(guide: &Guide, made: &[(ItemId, String)], dice: &mut Dice, changes: usize) -> String {
    let is_x12 = guide.standard == Standard::X12;
    let (element, end) = if is_x12 { ('*', "~") } else { ('+', "'") };
    let mut segments: Vec<Vec<String>> =
        made.iter().map(|(_, text)| text.split(element).map(str::to_owned).collect()).collect();
    for _ in 0..changes {
        let number = dice.below(segments.len());
        let segment = &mut segments[number];
        if segment.len() > 1 {
            let at = 1 + dice.below(segment.len() - 1);
            segment[at] = VALUES[dice.below(VALUES.len())].to_owned();
        }
    }
    let count = segments.len() + 2;
    let body: String = segments.iter().map(|segment| format!("{}{end}", segment.join(&element.to_string()))).collect();
    if is_x12 {
        let isa = "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~";
        let group = guide.functional_group.as_deref().unwrap_or("ZZ");
        let (version, transaction) = (&guide.version, &guide.transaction);
        format!(
            "{isa}GS*{group}*S*R*20260401*1200*1*X*{version}~ST*{transaction}*0001~{body}SE*{count}*0001~GE*1*1~IEA*1*000000001~"
        )
    } else {
        let (version, transaction) = (&guide.version, &guide.transaction);
        format!("UNB+UNOC:3+S+R+260401:1200+1'UNH+1+{transaction}:{version}'{body}UNT+{count}+1'UNZ+1+1'")
    }
}

/// Returns the interchange as written again; `None` if there are findings.
fn written(documents: &Arc<GuideDocuments>, level: ValidationLevel, text: &str) -> Option<Vec<u8>> {
    let check = OutboundOptions { level, rules: Rules::Lenient, limits: Limits::default() };
    let guides = Some(Arc::clone(documents));
    let mut writer =
        EdiWriter::new(EdiWriterOptions { guides: guides.clone(), check: Some(check), ..EdiWriterOptions::default() });
    let mut reader = DocumentReader::new(&GenericOptions { guides, ..GenericOptions::default() });
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    let mut has_errors = false;
    loop {
        let step = pass.read(&mut writer);
        has_errors |= pass.take_faults().any(|fault| fault.severity == Severity::Error);
        has_errors |= !writer.take_errors().is_empty() || writer.take_faults().has_errors;
        match step {
            DocumentStep::Document { errors, .. } => has_errors |= errors > 0,
            DocumentStep::NeedMore | DocumentStep::Done => break,
        }
    }
    drop(pass);
    writer.finish();
    has_errors |= writer.take_faults().has_errors || writer.take_late_faults().has_errors;
    (!has_errors).then(|| writer.bytes().to_vec())
}

fn law(test: &str, names: &[&str]) {
    let Some(folders) = fetched(test, names) else { return };
    let guides = import_all(&folders).unwrap_or_else(|findings| panic!("{findings}")).guides;
    let mut dice = Dice(2026);
    let (mut tried, mut accepted, mut guides_with_output) = (0, 0, 0);
    // The writer checks acknowledgments by the guides that come with Quayline.
    let is_acknowledgment = |guide: &&Guide| matches!(&*guide.transaction, "997" | "999" | "CONTRL");
    for guide in guides.iter().filter(|guide| !is_acknowledgment(guide)) {
        let compiled = Arc::new(CompiledGuide::new(guide).unwrap_or_else(|findings| panic!("{findings}")));
        let set = GuideSet::new([guide.clone()]).unwrap_or_else(|findings| panic!("{findings}"));
        let documents = Arc::new(GuideDocuments::new(set, NodeNames::References));
        let mut all = Vec::new();
        places(&guide.structure, &mut Vec::new(), &mut 1, &mut all);
        let before = accepted;
        for number in 0..PLACES.min(all.len()) {
            let target = all[dice.below(all.len())].clone();
            let fill = FILLS[number % FILLS.len()];
            let mut maker = Maker::new(guide, target, fill);
            maker.make();
            let text = interchange(guide, &maker.made, &mut dice, number % 3);
            let level = LEVELS[dice.below(LEVELS.len())];
            tried += 1;
            let Some(bytes) = written(&documents, level, &text) else { continue };
            accepted += 1;
            let options = ValidatorOptions { level, ..ValidatorOptions::default() };
            let found = findings(&bytes, &compiled, &options);
            let errors: Vec<String> = found
                .iter()
                .filter(|fault| fault.severity == Severity::Error)
                .map(|fault| fault.finding(None).to_string())
                .collect();
            assert!(errors.is_empty(), "{} at {level:?}: {}\n{}", guide.name, errors.join("\n"), bytes.escape_ascii());
        }
        guides_with_output += usize::from(accepted > before);
    }
    eprintln!("{test}: {accepted} of {tried} written, by {guides_with_output} of {} guides", guides.len());
    assert!(tried > 10 * guides.len() && accepted * 10 > tried, "{accepted} of {tried} were written");
}

#[test]
fn what_is_written_by_pyx12_guides_is_accepted() {
    law("what_is_written_by_pyx12_guides_is_accepted", &["pyx12"]);
}

#[test]
fn what_is_written_by_x12_types_guides_is_accepted() {
    law("what_is_written_by_x12_types_guides_is_accepted", &["x12-types", "pyx12"]);
}

#[test]
fn what_is_written_by_smooks_guides_is_accepted() {
    law("what_is_written_by_smooks_guides_is_accepted", &["smooks"]);
}
