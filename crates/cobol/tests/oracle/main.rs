//! Agreement with GnuCOBOL: compiles and runs random copybooks with `cobc`, and compares the results with those of this crate.
//!
//! `QUAYLINE_ORACLE_LAYOUTS` sets the number of copybooks (default 100), `QUAYLINE_ORACLE_SEED` the first seed. `docs/studies/gnucobol.md`
//! describes the comparison and the differences of dialects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod cobc;
mod compare;
mod copybook;
mod generate;
mod items;
mod ours;
mod pictures;
mod program;
mod random;
mod text;
mod values;

use std::path::Path;

use compare::{Prepared, Tally};
use copybook::Case;

/// Cases compiled into one executable: starting cobc costs more than a case.
const BATCH: usize = 25;
const SEED: u64 = 20_260_701;

#[test]
fn random_layouts_agree_with_gnucobol() {
    let version = match cobc::version() {
        Ok(version) => version,
        Err(reason) => {
            eprintln!("skipped: random_layouts_agree_with_gnucobol: {reason}");
            return;
        }
    };
    let layouts = setting("QUAYLINE_ORACLE_LAYOUTS").unwrap_or(100);
    let seed = setting("QUAYLINE_ORACLE_SEED").unwrap_or(SEED);
    let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
    let folder = match std::env::var_os("QUAYLINE_ORACLE_KEEP") {
        Some(_) => folder.keep(),
        None => folder.path().to_owned(),
    };
    cobc::helper(&folder);
    let batches: Vec<(u64, u64)> =
        (0..layouts).step_by(BATCH).map(|from| (from, (from + BATCH as u64).min(layouts))).collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(batches.len());
    let mut tally = Tally::default();
    let mut wrong: Vec<String> = Vec::new();
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..workers)
            .map(|worker| {
                let (batches, folder) = (&batches, &folder);
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    let mut wrong = Vec::new();
                    for (from, to) in batches.iter().skip(worker).step_by(workers) {
                        batch(folder, seed, *from..*to, &mut tally, &mut wrong);
                    }
                    (tally, wrong)
                })
            })
            .collect();
        for worker in started {
            let (part, more) = worker.join().expect("a worker does not panic");
            tally.add(part);
            wrong.extend(more);
        }
    });
    eprintln!("{version}, seed {seed}: {tally:?}");
    let shown: Vec<&str> = wrong.iter().take(200).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} disagreements, the first are:\n{}", wrong.len(), shown.join("\n\n"));
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Compiles, runs and compares some cases.
fn batch(folder: &Path, seed: u64, numbers: std::ops::Range<u64>, tally: &mut Tally, wrong: &mut Vec<String>) {
    let mut prepared = Vec::new();
    for number in numbers {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let case = generate::case(seed, usize::try_from(number).expect("a count of layouts"));
        let text = case.text.clone();
        match compare::prepare(case, seed) {
            Ok(case) => prepared.push(case),
            Err(e) => wrong.push(format!("layout {number}: refused: {e}\n{text}")),
        }
    }
    run(folder, prepared, tally, wrong);
}

fn run(folder: &Path, mut prepared: Vec<Prepared>, tally: &mut Tally, wrong: &mut Vec<String>) {
    let requests: String = prepared.iter().map(|p| p.requests.as_str()).collect();
    let cases: Vec<&Case> = prepared.iter().map(|p| &p.case).collect();
    let lines = cobc::compile(folder, &cases).and_then(|name| cobc::run(folder, &name, &requests));
    let mut lines = match lines {
        Ok(lines) => lines.into_iter(),
        // One case spoils its batch: find it.
        Err(_) if prepared.len() > 1 => {
            prepared.into_iter().for_each(|one| run(folder, vec![one], tally, wrong));
            return;
        }
        Err(e) => {
            wrong.push(format!("{}: GnuCOBOL says {e}\n{}", cases[0].name, cases[0].text));
            return;
        }
    };
    for one in &mut prepared {
        let (part, found) = compare::check(one, &mut lines);
        tally.add(part);
        let (name, text) = (&one.case.name, &one.case.text);
        wrong.extend(found.iter().take(4).map(|f| format!("{name}: {f}\n{text}")));
    }
}
