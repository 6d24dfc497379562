//! `quayline.accountWriter`: inserts a row for each item in one chunk, and deletes these rows in the next.

use quayline_batch::Work;
use quayline_batch::artifact::{Answer, Injected, Item, Lent, Writer};
use quayline_postgres::{Statement, Transaction};
use quayline_store::record_file::{By, FileDefinition, KeyPlace, Organisation, RecordFile, Relation};
use quayline_store::{LockWait, Store, StoreError, Unit};

use super::{numbers, padded, size_of};

/// How rows are deleted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Deletes {
    /// One statement for a chunk.
    Set,
    /// One statement for each row, all sent together.
    Rows,
    /// One statement for each row, each answered before the next is sent.
    OneByOne,
    /// No rows are inserted or deleted.
    Nothing,
}

pub(super) struct AccountWriter {
    table: String,
    base: u64,
    size: usize,
    deletes: Deletes,
    chunks: u64,
    /// Rows of the last chunk, which the next one deletes.
    inserted: u64,
    file: Option<RecordFile>,
}

impl AccountWriter {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let deletes = match with.property("Deletes") {
            Some("set") => Deletes::Set,
            Some("one-by-one") => Deletes::OneByOne,
            Some("none") => Deletes::Nothing,
            _ => Deletes::Rows,
        };
        Ok(AccountWriter {
            table: with.property("Table").unwrap_or("account").to_owned(),
            base: with.number("AccountNumberBase", 0)?,
            size: size_of(with, "WriterCheckpointDataSize")?,
            deletes,
            chunks: 0,
            inserted: 0,
            file: None,
        })
    }

    fn write_rows(&self, count: u64, transaction: &mut Transaction, by_item: bool) -> Answer<()> {
        let numbers = self.base..self.base + count;
        if self.inserted == 0 {
            let text = format!(
                "INSERT INTO \"{}\" SELECT * FROM unnest($1::int8[],$2::int4[],$3::int8[],$4::text[])",
                self.table
            );
            let statement = Statement::new(&text);
            let rows = |from: u64, count: u64, tag: u32, transaction: &mut Transaction| {
                let keys = array(20, count, |n, out| number(out, from + n));
                let balances = array(23, count, |n, out| {
                    out.extend_from_slice(&4u32.to_be_bytes());
                    out.extend_from_slice(&u32::try_from((from + n) % 1_000).unwrap_or(0).to_be_bytes());
                });
                let instances = array(20, count, |_, out| number(out, 1));
                let codes = array(25, count, |_, out| {
                    out.extend_from_slice(&3u32.to_be_bytes());
                    out.extend_from_slice(b"CHK");
                });
                transaction.change(&statement, &[&keys, &balances, &instances, &codes], tag);
            };
            if by_item {
                (1u32..).zip(numbers).for_each(|(tag, key)| rows(key, 1, tag, transaction));
            } else {
                rows(self.base, count, 0, transaction);
            }
            return Ok(transaction.make_room()?);
        }
        if self.deletes == Deletes::Set && !by_item {
            let text = format!(
                "WITH done AS (DELETE FROM \"{}\" WHERE account_number=ANY($1::int8[]) RETURNING 1) SELECT 1/(count(*)=$2::int8)::int FROM done",
                self.table
            );
            let keys = array(20, count, |n, out| number(out, self.base + n));
            transaction.change(&Statement::new(&text), &[&keys, &count.to_be_bytes()], 0);
            return Ok(transaction.make_room()?);
        }
        let statement = Statement::new(&format!("DELETE FROM \"{}\" WHERE account_number=$1::int8", self.table));
        for (tag, key) in (1u32..).zip(numbers) {
            transaction.change(&statement, &[&key.to_be_bytes()], tag);
            transaction.must_change_one(tag);
            if self.deletes == Deletes::OneByOne {
                transaction.answers()?;
            }
            transaction.make_room()?;
        }
        Ok(())
    }

    fn write_records(&self, count: u64, unit: &mut Unit) -> Answer<()> {
        let file = self.file.as_ref().expect("the writer is open");
        for key in self.base..self.base + count {
            if self.inserted == 0 {
                let mut record = [0; 32];
                record[..8].copy_from_slice(&key.to_be_bytes());
                record[29..].copy_from_slice(b"CHK");
                file.insert(unit, &record)?;
            } else {
                let key = key.to_be_bytes();
                let record = file.read_for_update(unit, By::Key(&key), Relation::Equal, LockWait::Default)?;
                file.delete(unit, &record)?;
            }
        }
        Ok(())
    }
}

/// Appends an element of a `bigint` array.
fn number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&8u32.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
}

fn array(element: u32, count: u64, value: impl Fn(u64, &mut Vec<u8>)) -> Vec<u8> {
    let length = u32::try_from(count).unwrap_or(u32::MAX);
    let mut bytes: Vec<u8> = [1, 0, element, length, 1].into_iter().flat_map(u32::to_be_bytes).collect();
    (0..count).for_each(|n| value(n, &mut bytes));
    bytes
}

impl Writer for AccountWriter {
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        [self.chunks, self.inserted] = numbers(checkpoint)?;
        if let Some(unit) = work.unit() {
            let store = Store::of(unit);
            let file = match store.file(unit, &self.table) {
                Err(StoreError::FileMissing { .. }) => {
                    let definition = FileDefinition {
                        name: self.table.clone(),
                        organisation: Organisation::KeySequenced(KeyPlace { offset: 0, length: 8 }),
                        record_bytes_min: 32,
                        record_bytes_max: 32,
                        alternates: Vec::new(),
                    };
                    let mark = unit.mark();
                    match store.define_file(unit, definition) {
                        // Another partition was quicker.
                        Err(StoreError::Exists { .. }) => unit.back_to(mark),
                        defined => drop(defined?),
                    }
                    store.file(unit, &self.table)?
                }
                found => found?,
            };
            self.file = Some(file);
        }
        Ok(())
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn write(&mut self, items: &[Item], work: &mut dyn Work) -> Answer<()> {
        let count = if self.inserted == 0 { items.len() as u64 } else { self.inserted };
        if self.deletes != Deletes::Nothing {
            let by_item = work.by_item();
            if let Some(transaction) = work.transaction() {
                self.write_rows(count, transaction, by_item)?;
            } else if let Some(unit) = work.unit() {
                self.write_records(count, unit)?;
            }
        }
        self.chunks += 1;
        self.inserted = if self.inserted == 0 { count } else { 0 };
        Ok(())
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(Some(padded(&[self.chunks, self.inserted], self.size).into()))
    }
}
