//! Loads after deletes, loads that stop, and loads into files that are not empty; copies and deletions of whole files.

use super::{Check, same, text};
use crate::record_file::{
    AlternateIndex, By, Duplicates, FileChange, FileDefinition, KeyPlace, LoadStopped, Organisation, RecordFile,
    Relation,
};
use crate::{LockWait, Space, Store, StoreError};

pub(super) const CHECKS: &[Check] = &[
    Check { name: "a_sorted_load_follows_deletes_of_the_same_keys", run: after_deletes },
    Check { name: "a_load_that_stops_reports_what_is_there_and_continues", run: stopped },
    Check { name: "a_load_into_entries_is_refused_and_commits_go_on", run: not_empty },
    Check { name: "empty_entries_have_addresses_of_their_own", run: empty_entries },
    Check { name: "a_file_with_the_longest_name_is_altered", run: longest_name },
    Check { name: "a_refused_change_leaves_nothing_behind", run: refused_change },
    Check { name: "a_unit_that_rewrites_a_record_counts_it_once", run: rewritten },
];

fn definition(name: &str) -> FileDefinition {
    FileDefinition {
        name: name.to_owned(),
        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 2 }),
        record_bytes_min: 2,
        record_bytes_max: 10,
        alternates: Vec::new(),
    }
}

fn define(store: &Store, definition: FileDefinition) -> Result<RecordFile, String> {
    let mut unit = store.begin().map_err(text)?;
    let file = store.define_file(&mut unit, definition).map_err(text)?;
    unit.commit().map_err(text)?;
    Ok(file)
}

fn source(records: &[Vec<u8>]) -> impl FnMut(&mut Vec<u8>) -> Result<bool, StoreError> + use<'_> {
    let mut records = records.iter();
    move |record| {
        let next = records.next();
        next.inspect(|next| record.clone_from(next));
        Ok(next.is_some())
    }
}

fn records_of(store: &Store, file: &RecordFile) -> Result<Vec<Vec<u8>>, String> {
    let unit = store.begin().map_err(text)?;
    let mut records = Vec::new();
    file.scan(&unit, &mut |_, record| {
        records.push(record.to_vec());
        Ok(())
    })
    .map_err(text)?;
    Ok(records)
}

fn numbered(count: u16) -> Vec<Vec<u8>> {
    (0..count).map(|number| [number.to_be_bytes().as_slice(), b"data"].concat()).collect()
}

/// Regression: a load met keys whose deletes were still in memory. It either poisoned the store, or the deletes were applied over the loaded records.
fn after_deletes(store: &Store) -> Result<(), String> {
    let file = define(store, definition("AGAIN"))?;
    let records = numbered(600);
    for round in 0..4 {
        let loaded = file.load_sorted(store, &mut source(&records)).map_err(text)?.loaded;
        same("loaded", loaded, 600)?;
        same("records", records_of(store, &file)? == records, true)?;
        let mut unit = store.begin().map_err(text)?;
        // Keys that are put and deleted in between too.
        for record in records.iter().skip(round % 2) {
            let read = file.read_for_update(&mut unit, By::Key(&record[..2]), Relation::Equal, LockWait::No);
            file.delete(&mut unit, &read.map_err(text)?).map_err(text)?;
        }
        unit.commit().map_err(text)?;
        if round % 2 == 1 {
            let mut unit = store.begin().map_err(text)?;
            let read = file.read_for_update(&mut unit, By::Key(&records[0][..2]), Relation::Equal, LockWait::No);
            file.delete(&mut unit, &read.map_err(text)?).map_err(text)?;
            unit.commit().map_err(text)?;
        }
    }
    same("records", records_of(store, &file)?.len(), 0)
}

fn stop_of<T>(outcome: Result<T, Box<LoadStopped>>) -> Result<LoadStopped, String> {
    outcome.err().map(|stopped| *stopped).ok_or_else(|| "a load that must stop did not".to_owned())
}

fn stopped(store: &Store) -> Result<(), String> {
    let good = numbered(6_000);
    for sorted in [false, true] {
        let file = define(store, definition(if sorted { "SORTED" } else { "STOPPED" }))?;
        let mut bad = good.clone();
        bad[5_500].extend_from_slice(b"much too long");
        let load = |records: &[Vec<u8>]| {
            if sorted { file.load_sorted(store, &mut source(records)) } else { file.load(store, &mut source(records)) }
        };
        let found = stop_of(load(&bad))?;
        same("status", found.error.status().digits(), "44")?;
        same("read", (found.read, found.outcome.loaded), (Some(5_500), 5_500))?;
        same("records", records_of(store, &file)? == good[..5_500], true)?;
        // The option `--skip` continues a load in this way.
        same("the rest", file.load(store, &mut source(&good[5_500..])).map_err(text)?.loaded, 500)?;
        same("all records", records_of(store, &file)? == good, true)?;
    }
    let file = define(store, definition("DESCENDING"))?;
    let mut records = numbered(20);
    records.swap(10, 11);
    let found = stop_of(file.load_sorted(store, &mut source(&records)))?;
    same("status", found.error.status().digits(), "21")?;
    same("read", found.read, Some(11))?;
    same("records", records_of(store, &file)? == records[..11], true)
}

fn not_empty(store: &Store) -> Result<(), String> {
    let space = Space(0xffff_0001);
    let mut unit = store.begin().map_err(text)?;
    unit.put(space, &[5], b"x".as_slice()).map_err(text)?;
    unit.commit().map_err(text)?;
    let mut next = 0u8;
    let mut entries = |key: &mut Vec<u8>, value: &mut Vec<u8>| {
        next += 1;
        key.clone_from(&vec![next]);
        value.clone_from(&vec![next]);
        Ok(next < 10)
    };
    match store.engine().load(space, &mut entries) {
        Err(StoreError::NotEmpty { space: found }) => same("space", found, space)?,
        found => return Err(format!("expected a refusal, found {found:?}")),
    }
    let mut unit = store.begin().map_err(text)?;
    same("the entry", unit.read(space, &[5]).map_err(text)?.as_deref(), Some(b"x".as_slice()))?;
    unit.put(space, &[6], b"y".as_slice()).map_err(text)?;
    unit.commit().map(|_| ()).map_err(text)
}

/// Regression: an empty record did not advance the address, so every record after it was refused.
fn empty_entries(store: &Store) -> Result<(), String> {
    let entries = |name: &str| FileDefinition {
        organisation: Organisation::EntrySequenced,
        record_bytes_min: 0,
        ..definition(name)
    };
    let records: Vec<Vec<u8>> = [b"".as_slice(), b"", b"abc", b""].iter().map(|record| record.to_vec()).collect();
    let file = define(store, entries("ONE.BY.ONE"))?;
    let mut addresses = Vec::new();
    for record in &records {
        let mut unit = store.begin().map_err(text)?;
        addresses.push(file.insert(&mut unit, record).map_err(text)?.key);
        unit.commit().map_err(text)?;
    }
    let expected: Vec<Vec<u8>> = [0u64, 1, 2, 5].iter().map(|address| address.to_be_bytes().to_vec()).collect();
    same("addresses", addresses, expected)?;
    same("records", records_of(store, &file)?, records.clone())?;
    let file = define(store, entries("LOADED"))?;
    file.load_sorted(store, &mut source(&records)).map_err(text)?;
    file.load(store, &mut source(&records)).map_err(text)?;
    same("loaded twice", records_of(store, &file)?, [records.clone(), records.clone()].concat())?;
    store.alter_file("LOADED", FileChange::default()).map_err(text)?;
    let unit = store.begin().map_err(text)?;
    let file = store.file(&unit, "LOADED").map_err(text)?;
    same("reorganised", records_of(store, &file)?, [records.clone(), records].concat())
}

/// Regression: a copy had a temporary name that was four characters longer.
fn longest_name(store: &Store) -> Result<(), String> {
    let name = "N".repeat(44);
    let file = define(store, definition(&name))?;
    file.load(store, &mut source(&numbered(10))).map_err(text)?;
    same("reorganised", store.alter_file(&name, FileChange::default()).map_err(text)?, 10)?;
    let change = FileChange { record_bytes: Some((2, 20)), name: Some("M".repeat(44)), ..FileChange::default() };
    same("altered", store.alter_file(&name, change).map_err(text)?, 10)?;
    let unit = store.begin().map_err(text)?;
    same("names", store.files(&unit).map_err(text)?, vec!["M".repeat(44)])
}

/// Regression: a failed change left its copy under a temporary name, and the next change was refused because of it.
fn refused_change(store: &Store) -> Result<(), String> {
    let file = define(store, definition("A"))?;
    file.load(store, &mut source(&numbered(100))).map_err(text)?;
    define(store, definition("B"))?;
    let wider = FileChange { record_bytes: Some((2, 20)), ..FileChange::default() };
    let taken = FileChange { name: Some("B".to_owned()), ..wider.clone() };
    let narrow = FileChange { record_bytes: Some((2, 3)), ..FileChange::default() };
    let unique = AlternateIndex {
        name: "one".to_owned(),
        place: KeyPlace { offset: 2, length: 4 },
        duplicates: Duplicates::Unique,
    };
    let indexed = FileChange { add: vec![unique], ..FileChange::default() };
    for (change, status) in [(taken, "22"), (narrow, "44"), (indexed, "22")] {
        let refused = store.alter_file("A", change).err().ok_or("a change that must be refused")?;
        same("status", refused.status().digits(), status)?;
        let unit = store.begin().map_err(text)?;
        same("names", store.files(&unit).map_err(text)?, vec!["A".to_owned(), "B".to_owned()])?;
        same("left to clear", store.sweep(None).map_err(text)?, 0)?;
    }
    same("a change that fits", store.alter_file("A", wider).map_err(text)?, 100)?;
    let refused = store.copy_file("A", definition("B")).err().ok_or("a copy to a name in use")?;
    same("status", refused.status().digits(), "22")?;
    same("open units", store.units_open(), 0)
}

/// Regression: the limit on the bytes of a unit counted values that the unit itself had replaced.
fn rewritten(store: &Store) -> Result<(), String> {
    let space = Space(0xffff_0002);
    let mut unit = store.begin().map_err(text)?;
    let value: crate::Value = vec![7; 40 << 20].into();
    for _ in 0..20 {
        unit.put(space, b"k", value.clone()).map_err(text)?;
    }
    let mark = unit.mark();
    for _ in 0..20 {
        unit.put(space, b"k", value.clone()).map_err(text)?;
        unit.delete(space, b"k").map_err(text)?;
    }
    unit.back_to(mark);
    same("after going back", unit.read(space, b"k").map_err(text)?.map(|value| value.len()), Some(40 << 20))?;
    // Distinct changes still count.
    let refused = (0..10u8).find_map(|number| unit.put(space, &[number], value.clone()).err());
    same("status", refused.map(|error| error.status().digits()), Some("44"))?;
    unit.roll_back();
    Ok(())
}
