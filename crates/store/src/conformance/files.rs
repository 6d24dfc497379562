//! Record files: organisations, statuses, loads.

use super::{Check, same, text};
use crate::record_file::{
    AlternateIndex, By, Duplicates, FileChange, FileDefinition, KeyPlace, Organisation, RecordFile, Relation,
};
use crate::{LockWait, Store, StoreError};

pub(super) const CHECKS: &[Check] = &[
    Check { name: "an_entry_sequenced_file_is_read_by_address_and_never_deletes", run: entry_sequenced },
    Check { name: "a_relative_file_has_gaps_and_bounds", run: relative },
    Check { name: "ebcdic_keys_keep_their_order", run: ebcdic },
    Check { name: "a_rewrite_needs_a_read_for_update", run: rewrite_needs_read },
    Check { name: "a_failed_insert_changes_no_index", run: failed_insert },
    Check { name: "a_change_that_waits_for_an_index_changes_none", run: locked_index },
    Check { name: "a_browse_sees_the_units_own_changes", run: browse_own },
    Check { name: "a_sorted_load_and_a_load_in_any_order_agree", run: loads },
    Check { name: "a_deleted_file_is_gone_and_its_name_is_free", run: deleted },
    Check { name: "a_file_is_copied_altered_and_renamed", run: altered },
    Check { name: "definitions_that_contradict_themselves_are_refused", run: definitions },
    Check { name: "changes_without_a_look_up_equal_those_with_one", run: direct },
    Check { name: "uses_of_a_file_are_counted_and_kept", run: uses },
];

fn keyed(name: &str) -> FileDefinition {
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
    let unit = store.begin().map_err(text)?;
    store.file(&unit, &file.definition().name).map_err(text)
}

fn digits<T: std::fmt::Debug>(outcome: Result<T, StoreError>) -> &'static str {
    outcome.map_or_else(|error| error.status().digits(), |_| "00")
}

/// Verifies the file and returns its payloads in the order of the index `kind`.
fn by_kind(store: &Store, file: &RecordFile) -> Result<Vec<Vec<u8>>, String> {
    let unit = store.begin().map_err(text)?;
    let (differences, _) = file.verify(&unit, 9).map_err(text)?;
    same("differences", differences, vec![])?;
    let mut browse = file.browse_by("kind").map_err(text)?;
    Ok(std::iter::from_fn(|| browse.next(&unit).ok()).map(|record| record.bytes.to_vec()).collect())
}

fn direct(store: &Store) -> Result<(), String> {
    let kind = AlternateIndex {
        name: "kind".to_owned(),
        place: KeyPlace { offset: 2, length: 3 },
        duplicates: Duplicates::Unique,
    };
    let indexed = define(store, FileDefinition { alternates: vec![kind], ..keyed("FRESH") })?;
    let mut unit = store.begin().map_err(text)?;
    for record in [b"01b01", b"02a02"] {
        indexed.insert_fresh(&mut unit, record).map_err(text)?;
    }
    same("a set with indexes", digits(indexed.set(&mut unit, b"03c03")), "37")?;
    same("a short record", digits(indexed.insert_fresh(&mut unit, b"0")), "44")?;
    let read = indexed.read_for_update(&mut unit, By::Key(b"01"), Relation::Equal, LockWait::Default).map_err(text)?;
    indexed.rewrite(&mut unit, &read, b"01d01").map_err(text)?;
    unit.commit().map_err(text)?;
    same("by kind", by_kind(store, &indexed)?, vec![b"02a02".to_vec(), b"01d01".to_vec()])?;
    let mut unit = store.begin().map_err(text)?;
    let read = indexed.read_for_update(&mut unit, By::Key(b"02"), Relation::Equal, LockWait::Default).map_err(text)?;
    indexed.delete(&mut unit, &read).map_err(text)?;
    unit.commit().map_err(text)?;
    same("after a delete", by_kind(store, &indexed)?, vec![b"01d01".to_vec()])?;

    let plain = define(store, keyed("SET"))?;
    let mut unit = store.begin().map_err(text)?;
    plain.set(&mut unit, b"01x").map_err(text)?;
    plain.set(&mut unit, b"01y").map_err(text)?;
    plain.remove(&mut unit, b"09").map_err(text)?;
    let mut other = store.begin().map_err(text)?;
    let locked = plain.read_for_update(&mut other, By::Key(b"01"), Relation::Equal, LockWait::No);
    same("the lock of a set", digits(locked), "93")?;
    drop(other);
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    let found = plain.read(&unit, By::Key(b"01"), Relation::Equal).map_err(text)?;
    same("what was set last", found.bytes.to_vec(), b"01y".to_vec())?;
    plain.remove(&mut unit, b"01").map_err(text)?;
    unit.commit().map_err(text)?;
    let unit = store.begin().map_err(text)?;
    same("what was removed", digits(plain.read(&unit, By::Key(b"01"), Relation::Equal)), "23")
}

fn altered(store: &Store) -> Result<(), String> {
    let kind = AlternateIndex {
        name: "kind".to_owned(),
        place: KeyPlace { offset: 2, length: 1 },
        duplicates: Duplicates::Allowed,
    };
    let place = AlternateIndex {
        name: "place".to_owned(),
        place: KeyPlace { offset: 3, length: 1 },
        duplicates: Duplicates::Unique,
    };
    let file = define(store, FileDefinition { alternates: vec![kind.clone()], record_bytes_min: 4, ..keyed("OLD") })?;
    let mut unit = store.begin().map_err(text)?;
    // The order of arrival differs from that of the keys.
    for record in [b"03xa", b"01xb", b"02yc", b"00xd"] {
        file.insert(&mut unit, record).map_err(text)?;
    }
    unit.commit().map_err(text)?;
    let expected: Vec<Vec<u8>> = [b"03xa", b"01xb", b"00xd", b"02yc"].iter().map(|record| record.to_vec()).collect();
    same("as it came", by_kind(store, &file)?, expected.clone())?;
    same(
        "copied",
        store
            .copy_file("OLD", FileDefinition { name: "COPY".to_owned(), ..file.definition().clone() })
            .map_err(text)?,
        4,
    )?;
    let change = FileChange { add: vec![place.clone()], name: Some("NEW".to_owned()), ..FileChange::default() };
    same("altered", store.alter_file("OLD", change).map_err(text)?, 4)?;
    let unit = store.begin().map_err(text)?;
    same("names", store.files(&unit).map_err(text)?, vec!["COPY".to_owned(), "NEW".to_owned()])?;
    for name in ["COPY", "NEW"] {
        let file = store.file(&unit, name).map_err(text)?;
        same("order of the index", by_kind(store, &file)?, expected.clone())?;
    }
    let new = store.file(&unit, "NEW").map_err(text)?;
    let read = new.read(&unit, By::Alternate("place", b"c"), Relation::Equal).map_err(text)?;
    same("by the new index", read.bytes.as_ref(), b"02yc".as_slice())?;
    // A change that does not fit leaves the file as it was.
    let narrow = FileChange { record_bytes: Some((4, 4)), ..FileChange::default() };
    store.alter_file("NEW", narrow).map_err(text)?;
    let too_narrow = FileChange {
        record_bytes: Some((2, 3)),
        remove: vec!["place".to_owned(), "kind".to_owned()],
        ..FileChange::default()
    };
    same("too narrow", digits(store.alter_file("NEW", too_narrow)), "44")?;
    let unique = AlternateIndex { name: "one".to_owned(), duplicates: Duplicates::Unique, ..kind };
    let change = FileChange { add: vec![unique], ..FileChange::default() };
    same("not unique", digits(store.alter_file("NEW", change)), "22")?;
    let rename = FileChange { name: Some("OLD".to_owned()), ..FileChange::default() };
    store.alter_file("NEW", rename).map_err(text)?;
    let unit = store.begin().map_err(text)?;
    same("names again", store.files(&unit).map_err(text)?, vec!["COPY".to_owned(), "OLD".to_owned()])?;
    let drop = FileChange { remove: vec!["kind".to_owned(), "place".to_owned()], ..FileChange::default() };
    store.alter_file("OLD", drop).map_err(text)?;
    let file = store.file(&store.begin().map_err(text)?, "OLD").map_err(text)?;
    same("without indexes", (file.definition().alternates.len(), file.facts(&unit).map_err(text)?.records), (0, 4))
}

fn entry_sequenced(store: &Store) -> Result<(), String> {
    let definition = FileDefinition { organisation: Organisation::EntrySequenced, ..keyed("ENTRIES") };
    let file = define(store, definition)?;
    let mut unit = store.begin().map_err(text)?;
    let addresses: Vec<_> = [b"aaa".as_slice(), b"bb", b"cccc"]
        .into_iter()
        .map(|record| file.insert(&mut unit, record).map(|inserted| inserted.key))
        .collect::<Result<_, _>>()
        .map_err(text)?;
    let expected: Vec<_> = [0u64, 3, 5].iter().map(|address| address.to_be_bytes().to_vec()).collect();
    same("addresses", addresses, expected)?;
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    let read = file.read_for_update(&mut unit, By::Address(3), Relation::Equal, LockWait::No).map_err(text)?;
    same("record", read.bytes.as_ref(), b"bb".as_slice())?;
    same("delete", digits(file.delete(&mut unit, &read)), "37")?;
    same("another length", digits(file.rewrite(&mut unit, &read, b"bbb")), "44")?;
    same("the same length", digits(file.rewrite(&mut unit, &read, b"BB")), "00")?;
    same("no such address", digits(file.read(&unit, By::Address(4), Relation::Equal)), "23")?;
    let mut browse = file.browse();
    browse.to_end();
    let found: Vec<_> = std::iter::from_fn(|| browse.previous(&unit).ok()).map(|read| read.bytes.to_vec()).collect();
    same("backwards", found, vec![b"cccc".to_vec(), b"BB".to_vec(), b"aaa".to_vec()])
}

fn relative(store: &Store) -> Result<(), String> {
    let file = define(store, FileDefinition { organisation: Organisation::Relative, ..keyed("SLOTS") })?;
    let mut unit = store.begin().map_err(text)?;
    same("insert at 7", digits(file.insert_at(&mut unit, 7, b"seven")), "00")?;
    same("insert at 3", digits(file.insert_at(&mut unit, 3, b"three")), "00")?;
    same("insert at 3 again", digits(file.insert_at(&mut unit, 3, b"three")), "22")?;
    same("insert at 0", digits(file.insert_at(&mut unit, 0, b"none")), "24")?;
    same("insert beyond", digits(file.insert_at(&mut unit, 1 << 32, b"none")), "24")?;
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    let next = file.insert(&mut unit, b"eight").map_err(text)?;
    same("next number", next.key, 8u64.to_be_bytes().to_vec())?;
    let read = file.read(&unit, By::Number(4), Relation::AtLeast).map_err(text)?;
    same("next used number", read.address(), Some(7))?;
    same("an empty slot", digits(file.read(&unit, By::Number(4), Relation::Equal)), "23")?;
    let read = file.read_for_update(&mut unit, By::Number(7), Relation::Equal, LockWait::No).map_err(text)?;
    file.delete(&mut unit, &read).map_err(text)?;
    let mut browse = file.browse();
    let found: Vec<_> = std::iter::from_fn(|| browse.next(&unit).ok()).map(|read| read.address()).collect();
    same("browse", found, vec![Some(3), Some(8)])?;
    same("end of file", digits(browse.next(&unit)), "10")?;
    drop(unit);
    // The first insert without a number follows those with one, of the same unit of work too.
    let file = define(store, FileDefinition { organisation: Organisation::Relative, ..keyed("FRESH") })?;
    let mut unit = store.begin().map_err(text)?;
    file.insert_at(&mut unit, 1, b"one").map_err(text)?;
    file.insert_at(&mut unit, 5, b"five").map_err(text)?;
    file.insert_at(&mut unit, 3, b"three").map_err(text)?;
    let next = file.insert(&mut unit, b"six").map_err(text)?;
    same("number after the numbers of the unit", next.key, 6u64.to_be_bytes().to_vec())
}

fn ebcdic(store: &Store) -> Result<(), String> {
    let file = define(store, keyed("EBCDIC"))?;
    let mut unit = store.begin().map_err(text)?;
    // In code page 037 small letters come before capitals, and digits come last.
    let (digit, capital, small) = ([0xf1u8, 0xf1], [0xc1u8, 0xc1], [0x81u8, 0x81]);
    for record in [digit, capital, small] {
        file.insert(&mut unit, &record).map_err(text)?;
    }
    let mut browse = file.browse();
    let found: Vec<_> = std::iter::from_fn(|| browse.next(&unit).ok()).map(|read| read.key).collect();
    same("order", found, vec![small.to_vec(), capital.to_vec(), digit.to_vec()])
}

fn rewrite_needs_read(store: &Store) -> Result<(), String> {
    let file = define(store, keyed("REWRITE"))?;
    let mut unit = store.begin().map_err(text)?;
    file.insert(&mut unit, b"k1 one").map_err(text)?;
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    let read = file.read(&unit, By::Key(b"k1"), Relation::Equal).map_err(text)?;
    same("rewrite", digits(file.rewrite(&mut unit, &read, b"k1 two")), "43")?;
    same("delete", digits(file.delete(&mut unit, &read)), "43")?;
    let read = file.read_for_update(&mut unit, By::Key(b"k1"), Relation::Equal, LockWait::No).map_err(text)?;
    same("another key", digits(file.rewrite(&mut unit, &read, b"k2 two")), "21")?;
    same("too long", digits(file.rewrite(&mut unit, &read, b"k1 45678901")), "44")?;
    same("rewrite", digits(file.rewrite(&mut unit, &read, b"k1 two")), "00")?;
    same("by key", digits(file.rewrite_by_key(&mut unit, b"k1 three")), "00")?;
    same("no such key", digits(file.rewrite_by_key(&mut unit, b"k9 three")), "23")
}

fn failed_insert(store: &Store) -> Result<(), String> {
    let place = |offset| KeyPlace { offset, length: 1 };
    let index =
        |name: &str, offset, duplicates| AlternateIndex { name: name.to_owned(), place: place(offset), duplicates };
    let alternates = vec![index("a", 2, Duplicates::Allowed), index("b", 3, Duplicates::Unique)];
    let file = define(store, FileDefinition { alternates, ..keyed("INDEXED") })?;
    let mut unit = store.begin().map_err(text)?;
    file.insert(&mut unit, b"k1xy").map_err(text)?;
    let error = file.insert(&mut unit, b"k2xy").err().ok_or("the unique index refuses")?;
    same("the index is named", error.to_string().contains("index b"), true)?;
    same("status", error.status().digits(), "22")?;
    let inserted = file.insert(&mut unit, b"k2xz").map_err(text)?;
    same("a duplicate alternate key", inserted.status.digits(), "02")?;
    unit.commit().map_err(text)?;
    let unit = store.begin().map_err(text)?;
    same("verify", file.verify(&unit, 5).map_err(text)?, (Vec::new(), 0))?;
    let facts = file.facts(&unit).map_err(text)?;
    same("records and entries", (facts.records, facts.index_entries.iter().map(|entry| entry.1).sum()), (2, 4u64))
}

/// Regression: a rewrite or delete that found the lock of a unique key taken had changed the indexes before it, and left them so.
fn locked_index(store: &Store) -> Result<(), String> {
    let place = |offset| KeyPlace { offset, length: 1 };
    let index =
        |name: &str, offset, duplicates| AlternateIndex { name: name.to_owned(), place: place(offset), duplicates };
    let alternates = vec![index("a", 2, Duplicates::Allowed), index("b", 3, Duplicates::Unique)];
    let file = define(store, FileDefinition { alternates, ..keyed("LOCKED") })?;
    let entries = || -> Result<(u64, u64), String> {
        let unit = store.begin().map_err(text)?;
        same("verify", file.verify(&unit, 5).map_err(text)?, (Vec::new(), 0))?;
        let facts = file.facts(&unit).map_err(text)?;
        Ok((facts.records, facts.index_entries.iter().map(|entry| entry.1).sum()))
    };
    let mut unit = store.begin().map_err(text)?;
    file.insert(&mut unit, b"k1xy").map_err(text)?;
    unit.commit().map_err(text)?;
    // The unit that finds a unique key taken keeps its lock.
    let holder = || -> Result<crate::Unit, String> {
        let mut unit = store.begin().map_err(text)?;
        let refused = file.insert(&mut unit, b"k2zy").err().ok_or("the unique index refuses")?;
        same("status", refused.status().digits(), "22")?;
        Ok(unit)
    };
    let waits = |outcome: Result<(), StoreError>| match outcome {
        Err(StoreError::LockTimeout { .. }) => Ok(()),
        other => Err(format!("expected a lock that is taken, found {other:?}")),
    };
    let mut unit = store.begin().map_err(text)?;
    unit.wake_for_locks(std::task::Waker::noop());
    let held = holder()?;
    for _ in 0..2 {
        waits(file.rewrite_by_key(&mut unit, b"k1wv").map(|_| ()))?;
    }
    let read = file.read_for_update(&mut unit, By::Key(b"k1"), Relation::Equal, LockWait::Default).map_err(text)?;
    waits(file.delete(&mut unit, &read))?;
    unit.commit().map_err(text)?;
    same("after a failure", entries()?, (1, 2))?;
    let mut unit = store.begin().map_err(text)?;
    unit.wake_for_locks(std::task::Waker::noop());
    waits(file.rewrite_by_key(&mut unit, b"k1wv").map(|_| ()))?;
    held.roll_back();
    let began = std::time::Instant::now();
    loop {
        match file.rewrite_by_key(&mut unit, b"k1wv") {
            Err(StoreError::LockTimeout { .. }) if began.elapsed().as_secs() < 20 => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            done => break same("rewritten", digits(done), "00")?,
        }
    }
    unit.commit().map_err(text)?;
    same("after a wait", entries()?, (1, 2))
}

fn browse_own(store: &Store) -> Result<(), String> {
    let file = define(store, keyed("OWN"))?;
    let mut unit = store.begin().map_err(text)?;
    for key in 0..20u8 {
        file.insert(&mut unit, &[0, key * 2]).map_err(text)?;
    }
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    let mut browse = file.browse();
    browse.next(&unit).map_err(text)?;
    file.insert(&mut unit, &[0, 1]).map_err(text)?;
    same("the inserted record is next", browse.next(&unit).map_err(text)?.key, vec![0, 1])?;
    let read = file.read_for_update(&mut unit, By::Key(&[0, 2]), Relation::Equal, LockWait::No).map_err(text)?;
    file.delete(&mut unit, &read).map_err(text)?;
    same("the deleted one is not", browse.next(&unit).map_err(text)?.key, vec![0, 4])
}

fn loads(store: &Store) -> Result<(), String> {
    const COUNT: u16 = 3_000;
    let source = |step: u16| {
        let mut next = 0u16;
        move |record: &mut Vec<u8>| {
            if next == COUNT {
                return Ok(false);
            }
            record.clear();
            record.extend_from_slice(&(next.wrapping_mul(step) % COUNT).to_be_bytes());
            record.extend_from_slice(b"data");
            next += 1;
            Ok(true)
        }
    };
    let sorted = define(store, keyed("SORTED"))?;
    same("sorted", sorted.load_sorted(store, &mut source(1)).map_err(text)?.loaded, u64::from(COUNT))?;
    let other = define(store, keyed("OTHER"))?;
    same("in any order", other.load(store, &mut source(7)).map_err(text)?.loaded, u64::from(COUNT))?;
    let again = other.load(store, &mut source(1)).map_err(text)?;
    same("duplicates", (again.loaded, again.duplicates, again.first_duplicate), (0, u64::from(COUNT), Some(1)))?;
    same(
        "a sorted load into a full file",
        digits(sorted.load_sorted(store, &mut source(1)).map_err(|stopped| stopped.error)),
        "37",
    )?;
    let unit = store.begin().map_err(text)?;
    let read = |file: &RecordFile| -> Result<Vec<Vec<u8>>, String> {
        let mut records = Vec::new();
        file.scan(&unit, &mut |_, record| {
            records.push(record.to_vec());
            Ok(())
        })
        .map_err(text)?;
        Ok(records)
    };
    same("the same records", read(&sorted)? == read(&other)?, true)
}

fn deleted(store: &Store) -> Result<(), String> {
    let file = define(store, keyed("GONE"))?;
    let mut unit = store.begin().map_err(text)?;
    file.insert(&mut unit, b"k1").map_err(text)?;
    unit.commit().map_err(text)?;
    store.delete_file("GONE").map_err(text)?;
    let unit = store.begin().map_err(text)?;
    same("opening", digits(store.file(&unit, "GONE")), "35")?;
    same("the records", file.is_empty(&unit).map_err(text)?, true)?;
    define(store, keyed("GONE")).map(|_| ())
}

/// Indexes that differ in their names.
fn many(index: &AlternateIndex, count: usize) -> Vec<AlternateIndex> {
    (0..count).map(|number| AlternateIndex { name: number.to_string(), ..index.clone() }).collect()
}

fn definitions(store: &Store) -> Result<(), String> {
    let mut unit = store.begin().map_err(text)?;
    let base = keyed("X");
    let index = AlternateIndex {
        name: "a".to_owned(),
        place: KeyPlace { offset: 9, length: 2 },
        duplicates: Duplicates::Unique,
    };
    for wrong in [
        FileDefinition { record_bytes_min: 1, ..base.clone() },
        FileDefinition { record_bytes_min: 11, ..base.clone() },
        FileDefinition { name: "a/b".to_owned(), ..base.clone() },
        FileDefinition { name: String::new(), ..base.clone() },
        FileDefinition { alternates: vec![index.clone()], ..base.clone() },
        FileDefinition { record_bytes_max: (100 << 20) + 1, ..base.clone() },
        FileDefinition { record_bytes_min: u32::MAX, record_bytes_max: u32::MAX, ..base.clone() },
        FileDefinition { alternates: many(&index, 256), record_bytes_max: 20, ..base.clone() },
    ] {
        same("status", digits(store.define_file(&mut unit, wrong)), "39")?;
    }
    same("a good one", digits(store.define_file(&mut unit, base.clone())), "00")?;
    let largest = FileDefinition {
        name: "LARGEST".to_owned(),
        record_bytes_max: 100 << 20,
        alternates: many(&index, 255),
        ..base.clone()
    };
    same("the largest", digits(store.define_file(&mut unit, largest)), "00")?;
    same("the name is in use", digits(store.define_file(&mut unit, base)), "22")
}

fn uses(store: &Store) -> Result<(), String> {
    let file = define(store, keyed("USED"))?;
    let counted = |file: &RecordFile| {
        let unit = store.begin().map_err(text)?;
        let uses = file.uses(&unit).map_err(text)?;
        Ok::<_, String>(([uses.inserted, uses.updated, uses.deleted, uses.read], uses.lookups))
    };
    let mut unit = store.begin().map_err(text)?;
    for key in [b"aa", b"bb", b"cc", b"dd"] {
        file.insert(&mut unit, key).map_err(text)?;
    }
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    let read = file.read_for_update(&mut unit, By::Key(b"aa"), Relation::Equal, LockWait::Default).map_err(text)?;
    file.rewrite(&mut unit, &read, b"aa1").map_err(text)?;
    let read = file.read_for_update(&mut unit, By::Key(b"bb"), Relation::Equal, LockWait::Default).map_err(text)?;
    file.delete(&mut unit, &read).map_err(text)?;
    // Undone changes do not count.
    let mark = unit.mark();
    file.insert(&mut unit, b"ee").map_err(text)?;
    unit.back_to(mark);
    unit.commit().map_err(text)?;
    let mut unit = store.begin().map_err(text)?;
    file.insert(&mut unit, b"ff").map_err(text)?;
    unit.roll_back();
    same("changes", counted(&file)?.0, [4, 1, 1, 2])?;
    let unit = store.begin().map_err(text)?;
    let mut browse = file.browse();
    while browse.next(&unit).is_ok() {}
    drop(browse);
    same("records", file.scan(&unit, &mut |_, _| Ok(())).map_err(text)?, 3)?;
    let missing = file.read(&unit, By::Key(b"zz"), Relation::Equal);
    same("status", digits(missing), "23")?;
    drop(unit);
    same("reads", counted(&file)?.0, [4, 1, 1, 8])?;
    let lookups = counted(&file)?.1;
    // Kept twice, nothing counts twice.
    store.keep_use().map_err(text)?;
    store.keep_use().map_err(text)?;
    same("kept", counted(&file)?, ([4, 1, 1, 8], lookups))?;
    let used = store.used_files().map_err(text)?;
    same("used files", used.iter().map(|(name, uses)| (name.as_str(), uses.read)).collect(), vec![("USED", 8)])?;
    // Reading the facts of a file does not count as a use.
    let unit = store.begin().map_err(text)?;
    same("facts", file.facts(&unit).map_err(text)?.uses.read, 8)?;
    drop((unit, file));
    store.delete_file("USED").map_err(text)?;
    let again = define(store, keyed("USED"))?;
    same("a new file", counted(&again)?, ([0; 4], 0))
}
