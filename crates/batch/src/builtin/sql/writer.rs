//! `quayline.sqlWriter`: writes items as rows, a chunk in one statement or in one for each item, all in one round trip.
//!
//! - **In the repository's database** the statements are part of the chunk's transaction, together with the checkpoint.
//! - **In another database** each chunk is a separate transaction ([`Other`]).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use quayline_core::Code;
use quayline_postgres::{Param, Pool, Statement, Transaction};

use super::exact::{Exact, Losses};
use super::other::Other;
use super::statement::{Mode, Target};
use super::{items_of, names, pool_of};
use crate::artifact::{Answer, Injected, Item, Lent, Writer};
use crate::codes;
use crate::context::StepContext;
use crate::database::{WHOLE, thrown};
use crate::error::{Kind, Thrown};
use crate::record::ExecutionId;
use crate::work::Work;

/// Number of members without a column that the notes of a step name, and the longest name. Others are counted together, because items may have any
/// number of names.
const NAMED_MAX: usize = 10;
const NAME_BYTES_MAX: usize = 128;

/// Mode of sending a chunk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Send {
    /// One statement for all items.
    Set,
    /// A statement for each item.
    Rows,
}

pub(in crate::builtin) struct SqlWriter {
    name: String,
    step: Option<Arc<StepContext>>,
    target: Target,
    send: Send,
    /// True if the database may round values to the precision of a column.
    rounds: bool,
    pool: Option<Arc<Pool>>,
    /// Identification of this step in `quayline_chunk`.
    origin: String,
    open: Option<Open>,
    /// Members without a column that notes name.
    named: BTreeSet<Vec<u8>>,
    /// The writer's own database, if that is not the repository's.
    other: Option<Other>,
}

/// State of an open writer.
struct Open {
    set: Statement,
    row: Statement,
    /// Counts the items without a matching row, if those are not an error.
    absent: Option<Statement>,
    /// Precisions of the columns.
    exact: Exact,
    /// Losses of the items that are being written.
    losses: RefCell<Losses>,
}

impl SqlWriter {
    pub(in crate::builtin) fn new(with: &Injected) -> Answer<Self> {
        // The declared properties have no other words, and a key that suits mode and columns.
        let mode = match with.property("mode") {
            Some("update") => Mode::Update,
            Some("upsert") => Mode::Upsert,
            Some("delete") => Mode::Delete,
            _ => Mode::Insert,
        };
        let send = if with.property("send") == Some("rows") { Send::Rows } else { Send::Set };
        let must_exist = with.property("missing") != Some("ignore") && matches!(mode, Mode::Update | Mode::Delete);
        let rounds = with.property("inexact") == Some("round");
        let (columns, key) = (names(with, "columns")?, names(with, "key")?);
        if mode == Mode::Update && columns.len() == key.len() {
            let remedy = "name the columns to change beside those of the key";
            return Err(Thrown::property(&with.name, "columns", "has nothing to update", remedy));
        }
        let (job, step) = (&with.job, with.step.as_deref());
        let partition = step.and_then(|step| step.partition).map(|number| format!("/{number}")).unwrap_or_default();
        // A new start of the step ignores the tokens of an earlier one.
        let began = step.map(|step| step.began).filter(|began| *began != ExecutionId::default());
        let began = began.map(|execution| format!("#{execution}")).unwrap_or_default();
        let step = step.map_or("", |step| step.step.as_str());
        Ok(SqlWriter {
            name: with.name.clone(),
            step: with.step.clone(),
            target: Target {
                mode,
                items: items_of(with),
                table: with.required("table")?.to_owned(),
                columns,
                key,
                must_exist,
            },
            send,
            rounds,
            pool: pool_of(with)?,
            origin: format!("{}/{}/{}/{step}{partition}{began}", job.job, job.instance, job.created_ms),
            open: None,
            named: BTreeSet::new(),
            other: None,
        })
    }

    /// Adds the statements for items to a transaction. `first` is the number of the first item.
    fn add(&self, items: &[Item], first: u32, send: Send, transaction: &mut Transaction) -> Answer<()> {
        let open = self.open.as_ref().expect("the writer is open");
        let losses = &mut *open.losses.borrow_mut();
        if send == Send::Set {
            let mut values = self.target.values(items, &open.exact, losses)?;
            if let Some(absent) = &open.absent {
                let params: Vec<Param<'_>> = values.iter().map(|value| Param::Binary(value)).collect();
                let found = transaction.query(absent, &params).map_err(thrown)?;
                let count = found.row(0).and_then(|row| row.int8(0));
                losses.absent += count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
            }
            if self.target.must_exist {
                values.push(i64::try_from(items.len()).unwrap_or(i64::MAX).to_be_bytes().to_vec());
            }
            let params: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            transaction.change(&open.set, &params, if self.target.must_exist { WHOLE } else { 0 });
            return Ok(transaction.make_room()?);
        }
        for (number, item) in (first..).zip(items) {
            let values = self.target.values(std::slice::from_ref(item), &open.exact, losses).map_err(|thrown| {
                let message = thrown.message.replacen("item 1 ", &format!("item {number} "), 1);
                Thrown { message, ..thrown }
            })?;
            let params: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            transaction.change(&open.row, &params, number);
            if self.target.must_exist {
                transaction.must_change_one(number);
            }
            transaction.make_room()?;
        }
        if open.absent.is_some() {
            // The first statement may follow the begin of the transaction.
            let place = transaction.added() - items.len();
            let answers = transaction.answers().map_err(thrown)?;
            let changed = answers.counts.iter().skip(place).take(items.len());
            losses.absent += changed.filter(|rows| **rows == 0).count() as u64;
        }
        Ok(())
    }

    /// Begins to count what items lose.
    fn forget_losses(&self) {
        if let Some(open) = &self.open {
            open.losses.replace(Losses::new(self.target.columns.len()));
        }
    }

    fn write_items(&mut self, items: &[Item], work: &mut dyn Work) -> Answer<()> {
        // After a refusal, the items are sent one by one, so that the error names one.
        let is_divided = self.other.as_ref().is_some_and(Other::is_divided);
        let send = if work.by_item() || is_divided { Send::Rows } else { self.send };
        let Some(mut other) = self.other.take() else {
            let transaction = work.transaction().expect("the writer's database is the repository's");
            return self.add(items, self.number_of(0), send, transaction);
        };
        let written = match self.write_there(items, send, &mut other) {
            // A repository in a database makes the engine write again.
            Err(refused) if refused.kind == Kind::Plain && send == Send::Set && !work.defers() => {
                self.forget_losses();
                self.write_there(items, Send::Rows, &mut other)
            }
            written => written,
        };
        self.other = Some(other);
        written
    }

    /// Adds the losses of items that were written to the notes of the step.
    fn tally(&mut self) {
        let (Some(open), Some(step)) = (&self.open, &self.step) else { return };
        let mut losses = open.losses.replace(Losses::new(self.target.columns.len()));
        let table = &self.target.table;
        let add = |code: Code, number: u64, one: String, many: String| {
            step.tally(&format!("{table}: {code}: "), number, [&one, &many]);
        };
        let text = str::to_owned;
        add(codes::NO_ROW, losses.absent, text("item has no row to change"), text("items have no row to change"));
        let by_column = |counts: Vec<u64>| self.target.columns.iter().zip(counts).filter(|(_, count)| *count > 0);
        for (column, count) in by_column(losses.changed) {
            let what = format!("more than the column {column} keeps: the database changed");
            add(codes::CHANGED, count, format!("value has {what} it"), format!("values have {what} them"));
        }
        // A deletion uses only the key.
        let is_used = |column: &String| self.target.mode != Mode::Delete || self.target.key.contains(column);
        for (column, count) in by_column(losses.missing).filter(|(column, _)| is_used(column)) {
            let what = format!("no member {column}, so the column is null");
            add(codes::NO_MEMBER, count, format!("item has {what}"), format!("items have {what}"));
        }
        for (name, count) in losses.others {
            if !self.named.contains(&name) {
                if self.named.len() == NAMED_MAX || name.len() > NAME_BYTES_MAX {
                    losses.more += count;
                    continue;
                }
                self.named.insert(name.clone());
            }
            // The database has accepted the item, which therefore is UTF-8.
            let what = format!("a member {}, which `columns` does not name", str::from_utf8(&name).unwrap_or("?"));
            add(codes::OTHER_MEMBERS, count, format!("item has {what}"), format!("items have {what}"));
        }
        let what = "that `columns` does not name";
        add(codes::OTHER_MEMBERS, losses.more, format!("more member {what}"), format!("more members {what}"));
    }

    /// Writes items into a database that is not the repository's.
    fn write_there(&self, items: &[Item], send: Send, other: &mut Other) -> Answer<()> {
        other.write(items.len(), |range, transaction| {
            self.add(&items[range.clone()], self.number_of(range.start), send, transaction)
        })
    }

    /// Returns the number in the chunk, from 1, of an item that the writer got. These may be a part of the chunk.
    fn number_of(&self, at: usize) -> u32 {
        let before = self.step.as_ref().map_or(0, |step| step.written_from());
        u32::try_from(at).unwrap_or(u32::MAX).saturating_add(before).saturating_add(1)
    }
}

impl Writer for SqlWriter {
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        let own = work.transaction().map(|transaction| Arc::clone(transaction.pool()));
        let (pool, is_other) = match (&self.pool, own) {
            (Some(pool), Some(own)) if own.endpoint().is_same_database(pool.endpoint()) => (own, false),
            (Some(pool), _) => (Arc::clone(pool), true),
            (None, Some(own)) => (own, false),
            (None, None) => {
                let remedy = "add the property database, or keep the job repository in the database: --repository";
                return Err(Thrown::property(&self.name, "database", "is missing", remedy));
            }
        };
        let mut connection = pool.take()?;
        let types = self.target.types(&mut connection)?;
        let exact = Exact::of(&mut connection, &self.target.table, &self.target.columns, self.rounds)?;
        let must_exist = self.target.must_exist;
        let set = Statement::new(&self.target.text(&types, must_exist));
        let row = if must_exist { Statement::new(&self.target.text(&types, false)) } else { set.clone() };
        self.other = if is_other {
            Some(Other::open(Arc::clone(&pool), self.origin.clone(), checkpoint, &mut connection)?)
        } else {
            None
        };
        pool.put(connection);
        let may_be_absent = !must_exist && matches!(self.target.mode, Mode::Update | Mode::Delete);
        let absent = may_be_absent.then(|| Statement::new(&self.target.absent(&types)));
        let losses = RefCell::new(Losses::new(self.target.columns.len()));
        self.open = Some(Open { set, row, absent, exact, losses });
        Ok(())
    }

    fn write(&mut self, items: &[Item], work: &mut dyn Work) -> Answer<()> {
        self.forget_losses();
        self.write_items(items, work)?;
        self.tally();
        Ok(())
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn isolates(&self) -> bool {
        true
    }

    fn skipped(&mut self, count: usize) {
        self.other.iter_mut().for_each(|other| other.skip(count));
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        self.other.as_mut().map(|other| other.checkpoint().map(Lent::from)).transpose()
    }

    fn close(&mut self, complete: bool) -> Answer<()> {
        self.open = None;
        self.other.take().filter(|_| complete).map_or(Ok(()), Other::complete)
    }
}
