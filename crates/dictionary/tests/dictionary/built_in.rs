//! The guides that come with Quayline, by the measures that imported ones are held to.

use std::collections::BTreeSet;
use std::sync::Arc;

use quayline_dictionary::import_all;
use quayline_edi::ValidatorOptions;
use quayline_edi::guide::{
    Asked, BuiltInFiles, CompiledGuide, Guide, GuideSet, built_in_guides, parse_guide, with_balances,
};

use crate::fetched::fetched;
use crate::held_out::machine::{CLASSES, Tally, findings};
use crate::held_out::{corpus, subjects};
use crate::places::law_of;

/// The sets of trade and transport that are used most, in both versions that are used most.
const TRADE: [&str; 17] = [
    "850", "855", "856", "810", "820", "830", "832", "846", "860", "862", "864", "204", "210", "214", "990", "940",
    "945",
];

fn all() -> Vec<Guide> {
    built_in_guides().iter().map(|guide| guide.read()).collect()
}

#[test]
fn built_in_guides_are_what_their_list_says() {
    let names: BTreeSet<&str> = built_in_guides().iter().map(|guide| guide.name).collect();
    for set in TRADE {
        for version in ["004010", "005010"] {
            assert!(names.contains(&*format!("{set}-{version}")), "{set} {version}");
        }
    }
    for (guide, listed) in all().iter().zip(built_in_guides()) {
        assert_eq!(
            (&*guide.name, format!("{}-{}", guide.transaction, guide.version)),
            (listed.name, listed.name.into())
        );
        assert!(guide.source.is_some() && guide.title.is_some(), "{}: no origin or title", guide.name);
        let compiled = CompiledGuide::new(guide).unwrap_or_else(|findings| panic!("{}: {findings}", guide.name));
        // The event of a review is below the patient: the subscriber, or else a dependent.
        let expected = usize::from(guide.name == "278-005010X217");
        assert_eq!(compiled.ambiguities().len(), expected, "{}", guide.name);
    }
    GuideSet::new(all()).unwrap_or_else(|findings| panic!("no two are for the same: {findings}"));
}

#[test]
fn valid_segments_of_built_in_guides_are_read_at_their_places() {
    law_of(&all());
}

/// Single faults in real documents that are right by a built-in guide.
#[test]
fn one_fault_gives_one_finding_by_built_in_guides() {
    let guides = GuideSet::new(all()).expect("right");
    let subjects = subjects(&guides);
    let names: Vec<&str> = subjects.iter().map(|subject| &*subject.name).collect();
    eprintln!("{} subjects: {names:?}", names.len());
    let tally = Tally::of(&subjects, &CLASSES, 77_004, 3);
    eprintln!("{tally}");
    assert!(tally.right * 100 >= tally.made * 95, "{tally}");
}

/// Returns the name of the guide that a set of the built-in 850 of 005010 and another guide chooses for an 850 of 005010ABC, or the code of the set's
/// error.
fn chosen(name: &str, head: &str) -> String {
    let text = format!("guide {name}\noverlay of \"builtin:850-005010\"\n{head}");
    let limits = quayline_core::Limits::default();
    let other =
        parse_guide("other.guide", &text, &BuiltInFiles, &limits).unwrap_or_else(|findings| panic!("{findings}"));
    let built_in = all().into_iter().find(|guide| guide.name == "850-005010").expect("built in");
    let asked = Asked {
        standard: other.standard,
        transaction: "850".into(),
        group: Some("PO".into()),
        versions: vec!["005010ABC".into()],
    };
    let first = |guides: [Guide; 2]| match GuideSet::new(guides) {
        Ok(set) => set.guide(set.choose_asked(&asked).expect("one")).name.clone(),
        Err(findings) => findings.0[0].code.0.into(),
    };
    let found = first([built_in.clone(), other.clone()]);
    assert_eq!(first([other, built_in]), found, "the order has no effect");
    found
}

#[test]
fn an_import_of_a_whole_dictionary_does_not_displace_a_built_in_guide() {
    // Written by hand: it is what the user wants.
    assert_eq!(chosen("OWN", ""), "OWN");
    // A partner's schema knows more than ours.
    assert_eq!(chosen("SCHEMA", "source \"acme-850.xsd\"\n"), "SCHEMA");
    let dictionary = "source \"x12-types 0.12.0, MIT OR Apache-2.0\"\n";
    assert_eq!(chosen("IMPORTED", dictionary), "850-005010");
    // For a longer version it is more specific.
    assert_eq!(chosen("LONGER", &format!("version 005010ABC\n{dictionary}")), "LONGER");
    // Two of the same origin for the same are an error.
    assert_eq!(chosen("TWIN", "source \"written for Quayline, too\"\n"), "GDE-015");
}

/// Errors of the rules in a file by the guide with balances.
fn balance_errors(text: &str, guide: &Guide) -> Vec<String> {
    let balanced = with_balances(guide).expect("there are balances").unwrap_or_else(|findings| panic!("{findings}"));
    let compiled = Arc::new(CompiledGuide::new(&balanced).unwrap_or_else(|findings| panic!("{findings}")));
    let found = findings(text.as_bytes(), &compiled, &ValidatorOptions::default());
    let told = found.iter().map(|fault| fault.finding(None)).filter(|finding| finding.code.0 == "EDI-130");
    told.map(|finding| finding.to_string().lines().next().unwrap_or_default().to_owned()).collect()
}

/// Real claims and payments balance, and one that is changed by a cent does not, at the level that was changed.
#[test]
fn balances_of_real_documents_hold_and_break_with_a_cent() {
    let Some(folders) = fetched("balances_of_real_documents_hold_and_break_with_a_cent", &["pyx12"]) else { return };
    let mut guides = import_all(&folders).expect("importable").guides;
    guides.extend(all());
    let set = GuideSet::new(guides.iter().filter(|guide| with_balances(guide).is_some()).cloned()).expect("right");
    let (mut files, mut cents, mut caught) = (0, 0, 0);
    for subject in subjects(&set) {
        let text = subject.text(&subject.segments, true);
        let guide = &subject.guide;
        assert_eq!(balance_errors(&text, guide), Vec::<String>::new(), "{}", subject.name);
        files += 1;
        // Each amount that a rule names, a cent more.
        let lines: Vec<&str> = text.split('~').collect();
        for (i, line) in lines.iter().enumerate() {
            let mut elements: Vec<String> = line.split('*').map(str::to_owned).collect();
            let amounts: &[usize] = match elements[0].trim() {
                "CLM" | "SVD" | "SV1" | "SV3" | "BPR" => &[2],
                "SV2" => &[3],
                "CLP" => &[3, 4],
                "SVC" => &[2, 3],
                _ => &[],
            };
            for of in amounts {
                let Ok(amount) = elements[*of].parse::<f64>() else { continue };
                let before = core::mem::replace(&mut elements[*of], format!("{:.2}", amount + 0.01));
                let changed = elements.join("*");
                elements[*of] = before;
                let mut lines = lines.clone();
                lines[i] = &changed;
                cents += 1;
                caught += usize::from(!balance_errors(&lines.join("~"), guide).is_empty());
            }
        }
    }
    eprintln!("{files} files balance; {caught} of {cents} cents are found");
    // Without the held-out files, two of the repository are left.
    let least = if corpus().join("data").is_dir() { 10 } else { 2 };
    assert!(files >= least && caught == cents, "{files} files, {caught} of {cents} cents");
}
