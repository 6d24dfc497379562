//! Nodes of record files.

use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Instant;

use quayline_core::{from_hex, hex};
use quayline_store::record_file::{Browse, By, Organisation, RecordFile, Relation};
use quayline_store::{FileStatus, LockWait, Space, StoreError, Unit};

use crate::codes;
use crate::expression::Evaluated;
use crate::failure::Failure;
use crate::message::Parcel;
use crate::run::{Gives, Run, Work};
use crate::stats::CpuPart;

/// Records in one unit of work of a pass where the node does not say it.
const COMMIT_COUNT: u64 = 1_000;
/// Maximum number of submitted units of work of one pass.
const IN_FLIGHT: usize = 4;

/// Search condition for a record.
enum Wanted {
    Key(Vec<u8>, Relation),
    Alternate(String, Vec<u8>, Relation),
    Number(u64, Relation),
    First,
    Last,
}

/// A submitted unit of work.
type Commit<'s> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 's>>;

/// A pass over a record file, from the position of its browse.
struct Pass<'p> {
    reader: &'p Unit,
    browse: &'p mut Browse,
    /// Records before the position.
    records: u64,
    /// Name of the checkpoint of a durable pass.
    checkpoint: Option<&'p str>,
}

impl Run<'_> {
    /// Reads, adds, replaces or deletes one record.
    pub(crate) async fn record(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let node = &self.flow.file.nodes[at];
        let name = self.needed(at, values, "file")?.to_owned();
        let keep_open = node.text("keep_open");
        self.part(work, CpuPart::Files);
        let file = self.file(&work.unit, &name, keep_open)?;
        self.part(work, CpuPart::Flow);
        let mut made = None;
        let mut written = 1;
        let done = match node.kind.name {
            "record_read" => {
                let wanted = self.wanted(at, values, &file)?;
                let lock = node.flag("lock");
                self.locked(work, |unit| {
                    let record = find(&file, unit, &wanted, lock)?;
                    made = Some(Rc::<[u8]>::from(&*record.bytes));
                    Ok(record.status)
                })
                .await
            }
            "record_delete" => {
                let wanted = self.wanted(at, values, &file)?;
                self.locked(work, |unit| {
                    let record = find(&file, unit, &wanted, true)?;
                    file.delete(unit, &record).map(|()| FileStatus::Success)
                })
                .await
            }
            operation => {
                // A map that makes several records makes one message of them.
                let parts = if parcel.is_record { None } else { self.fixed_records(at, parcel)? };
                let parts = parts.unwrap_or_else(|| core::iter::once(0..parcel.content.len()).collect());
                written = parts.len() as u64;
                self.locked(work, |unit| {
                    // All of a message, or nothing: also where a wire handles that one of them is there already.
                    let mark = (parts.len() > 1).then(|| unit.mark());
                    let all = parts.iter().try_fold(FileStatus::Success, |status, part| {
                        let record = &parcel.content[part.clone()];
                        let done = match operation {
                            "record_write" => file.insert(unit, record).map(|inserted| inserted.status),
                            _ => file.rewrite_by_key(unit, record),
                        };
                        done.map(|done| if done == FileStatus::Success { status } else { done })
                    });
                    if let (Err(_), Some(mark)) = (&all, mark) {
                        unit.back_to(mark);
                    }
                    all
                })
                .await
            }
        };
        let operation = node.kind.name;
        let (terminal, status, error) = match done {
            Ok(status) => ("out", status.digits(), None),
            Err(error @ (StoreError::NotFound { .. } | StoreError::EndOfFile { .. })) => {
                ("not_found", error.status().digits(), Some(error))
            }
            Err(error @ StoreError::DuplicateKey { .. }) => ("duplicate", "22", Some(error)),
            Err(error) => return Err(error.into()),
        };
        if let Some(error) = &error
            && node.wire(terminal).is_empty()
            && node.wire("status").is_empty()
        {
            return Err(error.clone().into());
        }
        let mut out = Vec::new();
        if !node.wire("status").is_empty() {
            let text = error.map(|error| error.to_string());
            let records = if terminal == "out" { written } else { 0 };
            out.push(("status", self.status(at, operation, &name, status, records, text.as_deref(), parcel)));
        }
        let is_record = made.is_some() || parcel.is_record;
        let content = made.unwrap_or_else(|| Rc::clone(&parcel.content));
        out.push((terminal, Parcel { status: Some(status), content, is_record, ..parcel.clone() }));
        Ok(Gives::Out(out))
    }

    /// Creates a status message.
    #[expect(clippy::too_many_arguments, reason = "the fields of a status message")]
    fn status(
        &self,
        at: usize,
        operation: &str,
        file: &str,
        status: &'static str,
        records: u64,
        text: Option<&str>,
        parcel: &Parcel,
    ) -> Parcel {
        let node = &self.flow.file.nodes[at].name;
        let mut message = serde_json::json!({
            "flow": &*self.name, "node": node, "operation": operation, "file": file, "status": status, "records": records,
        });
        if let Some(text) = text {
            message["text"] = text.into();
        }
        Parcel { status: Some(status), ..parcel.with_content(message.to_string().into_bytes()) }
    }

    fn wanted(&self, at: usize, values: &[Evaluated], file: &RecordFile) -> Result<Wanted, Failure> {
        let node = &self.flow.file.nodes[at];
        let relation = match node.text("mode") {
            Some("FIRST") => return Ok(Wanted::First),
            Some("LAST") => return Ok(Wanted::Last),
            Some("KEY_GE") => Relation::AtLeast,
            _ => Relation::Equal,
        };
        let key = self.needed(at, values, "key")?;
        let index = self.text(at, values, "index")?;
        let bytes = match node.text("key_type") {
            Some("number") => {
                let number = key.trim().parse().map_err(|_| bad_key("the key is not a whole number"))?;
                return Ok(Wanted::Number(number, relation));
            }
            Some("hex") => {
                from_hex(key).ok_or_else(|| bad_key("the key is not an even number of hexadecimal digits"))?
            }
            _ => match &self.flow.nodes[at].charset {
                Some(charset) => {
                    let mut bytes = Vec::new();
                    charset.encode_into(key, &mut bytes).map_err(|_| {
                        bad_key("the key has a character that the code page of the records does not have")
                    })?;
                    bytes
                }
                None if key.is_ascii() => key.as_bytes().to_vec(),
                None => {
                    return Err(bad_key("the key is not ASCII, and the node does not name the shape of the records"));
                }
            },
        };
        Ok(match (index, file.definition().organisation) {
            (Some(index), _) => Wanted::Alternate(index.to_owned(), bytes, relation),
            (None, _) => Wanted::Key(bytes, relation),
        })
    }

    /// Reads a record file from its beginning or a key; each record is a message. Records are read in separate units of work, each with a checkpoint if
    /// the pass is durable, so that it resumes at its last position.
    pub(crate) async fn record_input(
        &self,
        work: &mut Work,
        at: usize,
        values: &[Evaluated],
        parcel: &Parcel,
    ) -> Result<Gives, Failure> {
        let node = &self.flow.file.nodes[at];
        let name = self.needed(at, values, "file")?.to_owned();
        let reader = self.store.begin()?;
        let file = self.file(&reader, &name, None)?;
        let checkpoint = format!("flow-pass/{}/{}/{}", self.name, node.name, hex(&parcel.received.header.id));
        let mut browse = file.browse();
        let mut records = 0;
        // A message that cannot come again has no pass to resume, and would leave its checkpoint for ever.
        let comes_again = parcel.received.comes_again;
        if comes_again && let Some(kept) = reader.checkpoint(&checkpoint)? {
            let (count, key) =
                kept.split_first_chunk::<8>().ok_or_else(|| bad_key("the checkpoint is of no known form"))?;
            records = u64::from_le_bytes(*count);
            // The record may be deleted since; then the next one is read.
            let from = by_primary(&file, key);
            match browse.start(&reader, from, Relation::AtLeast) {
                Ok(()) if browse.next(&reader)?.key == key => {}
                Ok(()) => browse.start(&reader, from, Relation::AtLeast)?,
                Err(StoreError::NotFound { .. }) => browse.to_end(),
                Err(error) => return Err(error.into()),
            }
        } else if node.property("key").is_some() {
            let start = match self.wanted(at, values, &file)? {
                Wanted::Key(key, relation) => browse.start(&reader, By::Key(&key), relation),
                Wanted::Number(number, relation) => browse.start(&reader, by_number(&file, number), relation),
                _ => Ok(()),
            };
            match start {
                Ok(()) => {}
                Err(StoreError::NotFound { .. }) => browse.to_end(),
                Err(error) => return Err(error.into()),
            }
        }
        let mut in_flight = VecDeque::new();
        let place = comes_again.then_some(&*checkpoint);
        let pass = Pass { reader: &reader, browse: &mut browse, records, checkpoint: place };
        let mut passed = self.pass(at, parcel, work.deadline, pass, &mut in_flight).await;
        // What is submitted commits also if a later record failed, and its files are written when its future ends.
        for commit in in_flight {
            let committed = commit.await;
            passed = passed.and_then(|records| committed.map(|()| records));
        }
        let records = passed?;
        drop(reader);
        if comes_again && work.unit.checkpoint(&checkpoint)?.is_some() {
            self.locked(work, |unit| unit.delete(Space::CHECKPOINTS, checkpoint.as_bytes())).await?;
        }
        self.resumed(work);
        let status = self.status(at, "record_input", &name, "10", records, None, parcel);
        Ok(Gives::Out(vec![("status", status)]))
    }

    /// Passes the records on from the position of a browse. Returns the number of records, with those before that position. Units of work that did not
    /// end yet are left in `in_flight`.
    async fn pass<'s>(
        &'s self,
        at: usize,
        parcel: &Parcel,
        deadline: Instant,
        Pass { reader, browse, mut records, checkpoint }: Pass<'_>,
        in_flight: &mut VecDeque<Commit<'s>>,
    ) -> Result<u64, Failure> {
        let commit_count = self.flow.file.nodes[at].number("commit_count").unwrap_or(COMMIT_COUNT);
        let mut is_last = false;
        while !is_last {
            let mut batch = self.work(self.store.begin()?);
            batch.deadline = deadline;
            let mut last_key = None;
            let mut taken = 0;
            while taken < commit_count {
                self.part(&mut batch, CpuPart::Files);
                let record = match browse.next(reader) {
                    Ok(record) => record,
                    Err(StoreError::EndOfFile { .. }) => {
                        is_last = true;
                        break;
                    }
                    Err(error) => return Err(error.into()),
                };
                self.part(&mut batch, CpuPart::Flow);
                let one = Parcel { status: Some("00"), is_record: true, ..parcel.with_content(&*record.bytes) };
                let one = one.towards(self.flow.nodes[at].digest, records + taken);
                Box::pin(self.pass_on(&mut batch, at, "record", one)).await?;
                last_key = Some(record.key);
                taken += 1;
            }
            records += taken;
            // The files become a part of the unit of work later.
            let changes = !batch.unit.is_empty() || !batch.files.is_empty();
            let checkpoint = checkpoint.filter(|_| changes);
            if let (Some(key), Some(checkpoint)) = (last_key, checkpoint) {
                let kept = [&records.to_le_bytes()[..], &key].concat();
                self.locked(&mut batch, |unit| unit.put_checkpoint(checkpoint, &kept)).await?;
            }
            // The next unit changes the same checkpoint, whose lock is free after the commit; without one, several are on their way.
            let limit = if checkpoint.is_some() { 1 } else { IN_FLIGHT };
            batch.messages = taken;
            self.seal(&mut batch).await?;
            in_flight.push_back(Box::pin(self.submit(batch)));
            while in_flight.len() >= limit {
                if let Some(commit) = in_flight.pop_front() {
                    commit.await?;
                }
            }
            tokio::task::yield_now().await;
        }
        Ok(records)
    }
}

fn bad_key(message: &str) -> Failure {
    Failure::new(codes::BAD_KEY, message, "check `key`, `key_type` and `layout` of the node")
}

fn by_primary<'k>(file: &RecordFile, key: &'k [u8]) -> By<'k> {
    match file.definition().organisation {
        Organisation::KeySequenced(_) => By::Key(key),
        _ => by_number(file, key.try_into().map_or(0, u64::from_be_bytes)),
    }
}

fn by_number<'k>(file: &RecordFile, number: u64) -> By<'k> {
    match file.definition().organisation {
        Organisation::EntrySequenced => By::Address(number),
        _ => By::Number(number),
    }
}

fn find(
    file: &RecordFile,
    unit: &mut Unit,
    wanted: &Wanted,
    lock: bool,
) -> Result<quayline_store::record_file::Record, StoreError> {
    let (by, relation) = match wanted {
        Wanted::Key(key, relation) => (By::Key(key), *relation),
        Wanted::Alternate(index, key, relation) => (By::Alternate(index, key), *relation),
        Wanted::Number(number, relation) => (by_number(file, *number), *relation),
        Wanted::First | Wanted::Last => {
            let mut browse = file.browse();
            let record = if matches!(wanted, Wanted::First) {
                browse.next(unit)?
            } else {
                browse.to_end();
                browse.previous(unit)?
            };
            if !lock {
                return Ok(record);
            }
            return file.read_for_update(unit, by_primary(file, &record.key), Relation::Equal, LockWait::Default);
        }
    };
    if lock { file.read_for_update(unit, by, relation, LockWait::Default) } else { file.read(unit, by, relation) }
}
