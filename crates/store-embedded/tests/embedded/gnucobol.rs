//! A KSDS program with GnuCOBOL's own indexed file, and the same operations on a record file: same statuses, same records.
//!
//! One difference is GnuCOBOL's: a read by an alternate key that the next record has too answers 00 there, and 02 here and in VSAM.
#![expect(clippy::unwrap_used, reason = "a test stops at what is wrong")]

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;

use quayline_store::record_file::{
    AlternateIndex, Browse, By, Duplicates, FileDefinition, KeyPlace, Organisation, Record, RecordFile, Relation,
};
use quayline_store::{Access, Clock, FileStatus, LockWait, Store, StoreError, StoreLimits, SystemClock, Unit};
use quayline_store_embedded::{EmbeddedEngine, Folder, Settings};

use crate::support::count_of;

/// A number below a bound; each step of the seed gives another.
fn below(seed: &mut u64, bound: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 8) % bound
}

/// Lines of an operation, a key, an alternate key and data, each of fixed length.
fn script(seed: &mut u64, operations: u64) -> Vec<String> {
    let mut lines = Vec::new();
    while (lines.len() as u64) < operations {
        let key = format!("{:04}", below(seed, 60));
        let alternate = ["ANN", "BEN", "CAT", "DAN", "EVE"][usize::try_from(below(seed, 5)).unwrap()];
        let line = |op: char, number: usize| format!("{op}{key}{alternate}{:<10}", format!("v{number}"));
        let op = "WWWWRRAUUUDDSET".chars().nth(usize::try_from(below(seed, 15)).unwrap()).unwrap();
        lines.push(line(op, lines.len()));
        if "SET".contains(op) {
            // A browse goes one way: the programs stop at its first failure.
            let way = if below(seed, 3) == 0 { 'P' } else { 'N' };
            for _ in 0..below(seed, 8) {
                lines.push(line(way, lines.len()));
            }
        }
    }
    lines
}

/// The record file under the operations of the script.
struct Replay {
    store: Store,
    file: RecordFile,
    unit: Unit,
    browse: Browse,
    /// True if the last operation of the browse failed, after which COBOL leaves its position undefined.
    lost: bool,
}

impl Replay {
    fn new(folder: &std::path::Path) -> Replay {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let engine =
            EmbeddedEngine::open(Arc::new(Folder::create(folder).unwrap()), &clock, Settings::default()).unwrap();
        let store = Store::open(Arc::new(engine), clock, StoreLimits::default(), Access::Write).unwrap();
        let mut unit = store.begin().unwrap();
        let place = |offset, length| KeyPlace { offset, length };
        let definition = FileDefinition {
            name: "CUSTOMERS".to_owned(),
            organisation: Organisation::KeySequenced(place(0, 4)),
            record_bytes_min: 17,
            record_bytes_max: 17,
            alternates: vec![AlternateIndex {
                name: "alternate".to_owned(),
                place: place(4, 3),
                duplicates: Duplicates::Allowed,
            }],
        };
        let file = store.define_file(&mut unit, definition).unwrap();
        unit.commit().unwrap();
        let (unit, browse) = (store.begin().unwrap(), file.browse());
        Replay { store, file, unit, browse, lost: true }
    }

    fn commit(&mut self) {
        let unit = std::mem::replace(&mut self.unit, self.store.begin().unwrap());
        unit.commit().unwrap();
    }

    /// Status and record of one operation, as the program writes them.
    fn perform(&mut self, line: &str) -> Option<String> {
        let (op, record) = (line.as_bytes()[0], &line.as_bytes()[1..]);
        let (key, alternate) = (&record[..4], &record[4..7]);
        let (file, unit) = (&self.file, &mut self.unit);
        let status =
            |outcome: Result<FileStatus, StoreError>| outcome.unwrap_or_else(|error| error.status()).to_string();
        let shown = |outcome: Result<Record, StoreError>| match outcome {
            Ok(record) => format!("00{}", record.bytes.escape_ascii()),
            Err(error) => error.status().to_string(),
        };
        let by = if op == b'T' { By::Alternate("alternate", alternate) } else { By::Key(key) };
        let answer = match op {
            b'W' => status(file.insert(unit, record).map(|inserted| inserted.status)),
            b'R' => shown(file.read(unit, By::Key(key), Relation::Equal)),
            b'A' => shown(file.read(unit, By::Alternate("alternate", alternate), Relation::Equal)),
            b'U' => {
                let read = file.read_for_update(unit, By::Key(key), Relation::Equal, LockWait::No);
                status(read.and_then(|read| file.rewrite(unit, &read, record)))
            }
            b'D' => {
                let read = file.read_for_update(unit, By::Key(key), Relation::Equal, LockWait::No);
                status(read.and_then(|read| file.delete(unit, &read)).map(|()| FileStatus::Success))
            }
            b'S' | b'E' | b'T' => {
                let relation = if op == b'E' { Relation::Equal } else { Relation::AtLeast };
                self.browse = file.browse();
                let started = status(self.browse.start(unit, by, relation).map(|()| FileStatus::Success));
                self.lost = started != "00";
                started
            }
            _ if self.lost => return None,
            _ => {
                let next = if op == b'N' { self.browse.next(unit) } else { self.browse.previous(unit) };
                self.lost = next.is_err();
                shown(next)
            }
        };
        Some(format!("{}{answer}", char::from(op)).trim_end().to_owned())
    }
}

#[test]
fn a_record_file_answers_as_the_indexed_file_of_gnucobol() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/embedded/ksds.cob");
    let made = Command::new("cobc").args(["-x", "-free", "-o"]).arg(folder.path().join("ksds")).arg(source).output();
    let made = match made {
        Ok(made) => made,
        Err(_) => {
            eprintln!("skipped: a_record_file_answers_as_the_indexed_file_of_gnucobol: GnuCOBOL is not installed");
            return;
        }
    };
    let said = made.stderr.escape_ascii().to_string();
    assert!(made.status.success(), "{said}");
    let operations = count_of("QUAYLINE_KSDS_OPERATIONS", 6_000);
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let lines = script(&mut seed, operations);
    std::fs::write(folder.path().join("script"), lines.join("\n") + "\n").unwrap();
    let ran = Command::new(folder.path().join("ksds")).current_dir(folder.path()).output().unwrap();
    if !ran.status.success() || !folder.path().join("results").exists() {
        // Some builds of GnuCOBOL have no indexed files.
        eprintln!("skipped: a_record_file_answers_as_the_indexed_file_of_gnucobol: GnuCOBOL has no indexed files");
        return;
    }
    let results = std::fs::read_to_string(folder.path().join("results")).unwrap();
    let results: Vec<&str> = results.lines().map(str::trim_end).collect();
    assert_eq!(results.len(), lines.len());
    let mut replay = Replay::new(&folder.path().join("data"));
    let (mut differences, mut compared) = (String::new(), 0u64);
    for (number, (line, expected)) in lines.iter().zip(&results).enumerate() {
        if let Some(found) = replay.perform(line) {
            compared += 1;
            if found != *expected && differences.len() < 2_000 {
                let _ = writeln!(differences, "line {}: {line}: found {found}, GnuCOBOL {expected}", number + 1);
            }
        }
        if number % 50 == 49 {
            replay.commit();
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(compared * 10 > operations * 9, "{compared} of {operations} operations were compared");
    let mut found: Vec<&str> = results.iter().map(|result| result.get(..3).unwrap_or(result)).collect();
    found.sort_unstable();
    found.dedup();
    for status in [
        "W00", "W02", "W22", "R00", "R23", "A00", "U00", "U02", "U23", "D00", "D23", "S00", "E23", "T00", "N00", "N10",
        "P00", "P10",
    ] {
        assert!(found.contains(&status), "no operation answers {status}: {found:?}");
    }
}
