//! Checks real files with imported guides, and lists the findings of the rejected ones. `verdicts.txt` is the table,
//! `docs/studies/verdicts.md` explains it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use expect_test::expect_file;
use quayline_core::{Finding, Limits, Severity};
use quayline_dictionary::import_all;
use quayline_edi::guide::{BuiltInGuide, GuideSet, built_in_guides};
use quayline_edi::{EndOfInput, EnvelopePass, EnvelopeReader, Event, Rules, Validator, ValidatorOptions};

use crate::fetched::fetched;

/// Chooses the guide for a transaction.
type Choose = fn(&GuideSet, &EnvelopePass<'_>) -> Option<usize>;

/// Result of checking one file.
#[derive(Debug, Default)]
struct Verdict {
    /// Names of the guides that checked its transactions; `none` for a transaction without a guide.
    guides: BTreeSet<String>,
    errors: Vec<Finding>,
}

pub(crate) fn guides(test: &str) -> Option<GuideSet> {
    let imported = import_all(&fetched(test, &["pyx12", "x12-types", "smooks"])?).expect("they are importable");
    Some(GuideSet::new(imported.guides).unwrap_or_else(|findings| panic!("{findings}")))
}

fn verdict(text: &[u8], guides: &GuideSet, choose: Choose) -> Verdict {
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut validator = Validator::new(ValidatorOptions::default());
    let mut verdict = Verdict::default();
    let mut pass = reader.over(text, EndOfInput::Yes);
    loop {
        let event = pass.advance();
        match event {
            Event::TransactionStart => {
                let chosen = choose(guides, &pass);
                verdict.guides.insert(chosen.map_or("none".into(), |number| guides.guide(number).name.clone()));
                validator.begin(chosen.map(|number| guides.compiled(number)), &pass);
            }
            Event::Segment => {
                validator.segment(&pass);
            }
            Event::TransactionEnd(closed) => {
                validator.end(closed, &pass);
            }
            _ => {}
        }
        for fault in pass.take_faults().chain(validator.take_faults()) {
            let finding = fault.finding(None);
            if finding.severity == Severity::Error {
                verdict.errors.push(finding);
            }
        }
        if event == Event::Done {
            return verdict;
        }
    }
}

/// Returns the table of all files of the corpus; `None`, with a message, if the corpus is missing.
fn table(test: &str, guides: &GuideSet, choose: Choose) -> Option<String> {
    let corpus = std::env::var_os("QUAYLINE_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let Ok(folders) = ["x12", "edifact"]
        .map(|name| corpus.join("data").join(name).read_dir())
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
    else {
        eprintln!("skipped: {test}: no corpus, see QUAYLINE_CORPUS");
        return None;
    };
    let mut files: Vec<PathBuf> = folders.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "edi"));
    files.sort();
    let mut table = String::new();
    for file in files {
        let verdict = verdict(&std::fs::read(&file).expect("readable"), guides, choose);
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let used = verdict.guides.into_iter().collect::<Vec<_>>().join(" ");
        let judged = if verdict.errors.is_empty() { "pass" } else { "fail" };
        let codes: BTreeSet<&str> = verdict.errors.iter().map(|finding| finding.code.0).collect();
        let codes = codes.into_iter().collect::<Vec<_>>().join(" ");
        let _ = writeln!(table, "{judged} | {used} | {codes} | {name}");
        if std::env::var_os("QUAYLINE_SHOW").is_some() {
            verdict.errors.iter().for_each(|finding| eprintln!("{name}\n{finding}\n"));
        }
    }
    Some(table)
}

#[test]
fn verdicts_on_the_corpus_are_those_of_the_table() {
    let Some(guides) = guides("verdicts_on_the_corpus_are_those_of_the_table") else { return };
    let choose: Choose = |guides, pass| guides.choose(pass.transaction(), pass.group());
    let Some(table) = table("verdicts_on_the_corpus_are_those_of_the_table", &guides, choose) else { return };
    expect_file!["../verdicts.txt"].assert_eq(&table);
}

/// Real documents pass by the guides that come with Quayline. Those that fail have faults of their own: counts of
/// segments are wrong, a ship notice has no levels, and one request has HL segments below each other that say that nothing is below them.
/// GS01 is left out of the choice: aerospace documents have that of catalogs.
#[test]
fn verdicts_of_built_in_guides_are_those_of_the_table() {
    let guides = GuideSet::new(built_in_guides().iter().map(BuiltInGuide::read)).expect("right");
    let choose: Choose = |guides, pass| {
        let (header, group) = (pass.transaction(), pass.group());
        guides.choose(header, group).or_else(|| guides.choose_of_another_group(header, group))
    };
    let Some(table) = table("verdicts_of_built_in_guides_are_those_of_the_table", &guides, choose) else { return };
    let table: String =
        table.lines().filter(|line| !line.contains("| none |")).map(|line| format!("{line}\n")).collect();
    expect_file!["../verdicts-built-in.txt"].assert_eq(&table);
}
