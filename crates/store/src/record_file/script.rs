//! Scripts: operations on record files, one a line, with the file status of each.
//!
//! ```text
//! open CUSTOMERS                     get 00001234 [by INDEX] [at-least] [for-update]
//! insert 'record' [number N]         get number N | get address N
//! rewrite 'record' [number N]        delete 00001234 [by INDEX] | delete number N
//! start [00001234] [by INDEX] [at-least]        end        next        previous
//! commit        rollback             # a comment
//! ```
//!
//! Words are separated by blanks. A word in single quotes may have blanks and, doubled, quotes; `x'C1F2'` is bytes as hexadecimal digits.

use std::collections::HashMap;

use super::{Browse, By, Record, RecordFile, Relation};
use crate::{FileStatus, LockWait, Store, StoreError, Unit};

/// Runs the lines of a script in units of work, each of which ends at a `commit`.
#[derive(Debug)]
pub struct ScriptRun {
    store: Store,
    unit: Option<Unit>,
    files: HashMap<Vec<u8>, Opened>,
    current: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Opened {
    file: RecordFile,
    browse: Browse,
}

/// Outcome of an operation.
#[derive(Clone, Debug)]
pub struct ScriptAnswer {
    /// The word of the operation.
    pub operation: &'static str,
    /// File status of the operation.
    pub status: FileStatus,
    /// The record that it read.
    pub record: Option<Record>,
    /// Error of a failed operation.
    pub error: Option<StoreError>,
}

/// Error for a line that is not a valid operation. Nothing of it was done.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what}")]
pub struct ScriptFault {
    /// Expected and found syntax.
    pub what: String,
}

fn fault(what: impl Into<String>) -> ScriptFault {
    ScriptFault { what: what.into() }
}

/// Most bytes of a word in a message.
const SHOWN_MAX: usize = 24;

/// Escapes a word for messages. It must be a word of the syntax, not data.
fn shown(word: &[u8]) -> String {
    word.get(..SHOWN_MAX).unwrap_or(word).escape_ascii().to_string()
}

/// A word of a line.
#[derive(Debug, Eq, PartialEq)]
struct Word {
    bytes: Vec<u8>,
    /// True if the word is quoted, so it is data and never a keyword.
    quoted: bool,
}

impl ScriptRun {
    /// Creates a run without open files.
    #[must_use]
    pub fn new(store: &Store) -> Self {
        ScriptRun { store: store.clone(), unit: None, files: HashMap::new(), current: None }
    }

    /// Runs one line. Returns `None` for an empty line or a comment.
    ///
    /// # Errors
    /// [`ScriptFault`] for an invalid line. A failed operation is not an error but an answer.
    pub fn line(&mut self, line: &[u8]) -> Result<Option<ScriptAnswer>, ScriptFault> {
        let words = words(line)?;
        let mut rest = Rest(words.as_slice());
        let Some(operation) = rest.0.first() else { return Ok(None) };
        let known = OPERATIONS.iter().find(|known| !operation.quoted && operation.bytes == known.as_bytes());
        let Some(operation) = known else {
            let expected = OPERATIONS.join(", ");
            return Err(fault(format!("{} is not an operation, expected one of {expected}", shown(&operation.bytes))));
        };
        rest.0 = &rest.0[1..];
        let outcome = self.operation(operation, rest)?;
        Ok(Some(match outcome {
            Ok((status, record)) => ScriptAnswer { operation, status, record, error: None },
            Err(error) => ScriptAnswer { operation, status: error.status(), record: None, error: Some(error) },
        }))
    }

    /// Commits the changes since the last commit.
    ///
    /// # Errors
    /// Errors of [`Unit::commit`].
    pub fn commit(&mut self) -> Result<(), StoreError> {
        // Entries that a browse read ahead do not show the changes of this run.
        self.files.values_mut().for_each(|opened| opened.browse.refresh());
        self.unit.take().map_or(Ok(()), |unit| unit.commit().map(|_| ()))
    }

    /// Discards the changes since the last commit.
    pub fn roll_back(&mut self) {
        self.files.values_mut().for_each(|opened| opened.browse.refresh());
        self.unit = None;
    }

    fn operation(&mut self, operation: &str, mut rest: Rest<'_>) -> Result<Outcome, ScriptFault> {
        match operation {
            "open" => {
                let name = rest.data("the name of a record file")?;
                rest.end()?;
                return Ok(self.open(name));
            }
            "commit" => {
                rest.end()?;
                return Ok(self.commit().map(|()| (FileStatus::Success, None)));
            }
            "rollback" => {
                rest.end()?;
                self.roll_back();
                return Ok(Ok((FileStatus::Success, None)));
            }
            _ => {}
        }
        let opened = self.current.as_ref().and_then(|name| self.files.get_mut(name));
        let Some(Opened { file, browse }) = opened else {
            return Err(fault("no file is open: begin with a line `open NAME`"));
        };
        if self.unit.is_none() {
            match self.store.begin() {
                Ok(unit) => self.unit = Some(unit),
                Err(error) => return Ok(Err(error)),
            }
        }
        let unit = self.unit.as_mut().expect("begun above");
        let nothing = |status| (status, None);
        Ok(match operation {
            "insert" => {
                let record = rest.data("a record")?;
                let number = rest.option("number")?;
                rest.end()?;
                let inserted = match number {
                    Some(number) => file.insert_at(unit, number, record),
                    None => file.insert(unit, record),
                };
                inserted.map(|inserted| nothing(inserted.status))
            }
            "rewrite" => {
                let record = rest.data("a record")?;
                let by = match (rest.option("number")?, rest.option("address")?) {
                    (Some(number), _) => Some(By::Number(number)),
                    (None, Some(address)) => Some(By::Address(address)),
                    (None, None) => None,
                };
                rest.end()?;
                let written = match by {
                    Some(by) => file
                        .read_for_update(unit, by, Relation::Equal, LockWait::Default)
                        .and_then(|read| file.rewrite(unit, &read, record)),
                    None => file.rewrite_by_key(unit, record),
                };
                written.map(nothing)
            }
            "get" => {
                let by = rest.which()?.ok_or_else(|| fault("a key, a number or an address is missing"))?;
                let (relation, for_update) = (rest.relation(), rest.flag("for-update"));
                rest.end()?;
                let read = if for_update {
                    file.read_for_update(unit, by, relation, LockWait::Default)
                } else {
                    file.read(unit, by, relation)
                };
                read.map(|record| (record.status, Some(record)))
            }
            "delete" => {
                let by = rest.which()?.ok_or_else(|| fault("a key or a number is missing"))?;
                rest.end()?;
                if file.has_others(unit, by).unwrap_or(false) {
                    return Ok(Err(StoreError::SeveralRecords { file: file.name() }));
                }
                let read = file.read_for_update(unit, by, Relation::Equal, LockWait::Default);
                read.and_then(|read| file.delete(unit, &read)).map(|()| nothing(FileStatus::Success))
            }
            "start" => {
                let by = rest.which()?;
                let relation = rest.relation();
                rest.end()?;
                match by {
                    Some(by) => browse.start(unit, by, relation).map(|()| nothing(FileStatus::Success)),
                    None => {
                        *browse = file.browse();
                        Ok(nothing(FileStatus::Success))
                    }
                }
            }
            "end" => {
                rest.end()?;
                browse.to_end();
                Ok(nothing(FileStatus::Success))
            }
            _ => {
                rest.end()?;
                let read = if operation == "next" { browse.next(unit) } else { browse.previous(unit) };
                read.map(|record| (record.status, Some(record)))
            }
        })
    }

    fn open(&mut self, name: &[u8]) -> Outcome {
        if !self.files.contains_key(name) {
            let missing = |name: &[u8]| StoreError::FileMissing { name: shown(name) };
            let text = std::str::from_utf8(name).map_err(|_| missing(name))?;
            let unit = self.store.begin()?;
            let file = self.store.file(&unit, text)?;
            let browse = file.browse();
            self.files.insert(name.to_owned(), Opened { file, browse });
        }
        self.current = Some(name.to_owned());
        Ok((FileStatus::Success, None))
    }
}

type Outcome = Result<(FileStatus, Option<Record>), StoreError>;

const OPERATIONS: [&str; 11] =
    ["open", "get", "insert", "rewrite", "delete", "start", "end", "next", "previous", "commit", "rollback"];

/// Words that are not read yet.
struct Rest<'w>(&'w [Word]);

impl<'w> Rest<'w> {
    fn data(&mut self, expected: &str) -> Result<&'w [u8], ScriptFault> {
        let (word, rest) = self.0.split_first().ok_or_else(|| fault(format!("{expected} is missing")))?;
        self.0 = rest;
        Ok(&word.bytes)
    }

    /// Takes a word of the language, if it comes next.
    fn flag(&mut self, word: &str) -> bool {
        let found = self.0.first().is_some_and(|next| !next.quoted && next.bytes == word.as_bytes());
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    /// Takes a word of the language and a number, if they come next.
    fn option(&mut self, word: &str) -> Result<Option<u64>, ScriptFault> {
        if !self.flag(word) {
            return Ok(None);
        }
        let digits = self.data(&format!("the number after `{word}`"))?;
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.map(Some).ok_or_else(|| fault(format!("`{word}` expects a number, found {}", shown(digits))))
    }

    fn relation(&mut self) -> Relation {
        if self.flag("at-least") { Relation::AtLeast } else { Relation::Equal }
    }

    fn which(&mut self) -> Result<Option<By<'w>>, ScriptFault> {
        if let Some(number) = self.option("number")? {
            return Ok(Some(By::Number(number)));
        }
        if let Some(address) = self.option("address")? {
            return Ok(Some(By::Address(address)));
        }
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.data("a key")?;
        if !self.flag("by") {
            return Ok(Some(By::Key(key)));
        }
        let index = self.data("the name of an index")?;
        let index = std::str::from_utf8(index).map_err(|_| fault("the name of an index is not text"))?;
        Ok(Some(By::Alternate(index, key)))
    }

    fn end(&self) -> Result<(), ScriptFault> {
        match self.0.first() {
            None => Ok(()),
            Some(word) if word.quoted => Err(fault("data follows the end of the operation")),
            Some(word) => Err(fault(format!("{} follows the end of the operation", shown(&word.bytes)))),
        }
    }
}

/// Splits a line into words. A word that begins with `#` starts a comment, which is skipped.
fn words(line: &[u8]) -> Result<Vec<Word>, ScriptFault> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii();
    while let Some(first) = rest.first() {
        let (word, after) = match rest {
            _ if *first == b'#' => return Ok(words),
            [b'\'', after @ ..] => quoted(after)?,
            [b'x' | b'X', b'\'', after @ ..] => {
                let (digits, after) = quoted(after)?;
                (hexadecimal(&digits)?, after)
            }
            _ => {
                let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                let bytes = rest[..end].to_vec();
                rest = rest[end..].trim_ascii_start();
                words.push(Word { bytes, quoted: false });
                continue;
            }
        };
        if after.first().is_some_and(|next| !next.is_ascii_whitespace()) {
            return Err(fault("a blank is missing after a closing quote"));
        }
        words.push(Word { bytes: word, quoted: true });
        rest = after.trim_ascii_start();
    }
    Ok(words)
}

/// Returns the text up to the closing quote, and the input after it.
fn quoted(mut rest: &[u8]) -> Result<(Vec<u8>, &[u8]), ScriptFault> {
    let mut text = Vec::new();
    loop {
        let at = rest.iter().position(|byte| *byte == b'\'').ok_or_else(|| fault("a closing quote is missing"))?;
        text.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if rest.first() != Some(&b'\'') {
            return Ok((text, rest));
        }
        text.push(b'\'');
        rest = &rest[1..];
    }
}

fn hexadecimal(digits: &[u8]) -> Result<Vec<u8>, ScriptFault> {
    let wrong = || fault("x'...' expects an even number of hexadecimal digits");
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).ok_or_else(wrong);
    if !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    digits.chunks_exact(2).map(|pair| Ok(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// Bytes as a word of a script that gives them back.
#[must_use]
pub fn script_word(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| *byte == b' ' || byte.is_ascii_graphic()) {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut word = "x'".to_owned();
    for byte in bytes {
        word.push_str(&format!("{byte:02X}"));
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_given_back() {
        for bytes in [b"plain".as_slice(), b"", b"a b", b"it's", b"\"\\\\", b"\\'", &[0xc1, 0x00, 0xff], b"x'", b"#"] {
            let word = script_word(bytes);
            let line = format!("  get {word} ");
            let found = words(line.as_bytes()).expect("words");
            assert_eq!(found[1], Word { bytes: bytes.to_vec(), quoted: true }, "{line}");
        }
        assert_eq!(words(b" # nothing").expect("words"), []);
    }

    #[test]
    fn lines_that_are_no_operation_are_named() {
        let store = crate::Store::open(
            std::sync::Arc::new(crate::MemoryEngine::new()),
            std::sync::Arc::new(crate::ManualClock::new(1, 1)),
            crate::StoreLimits::default(),
            crate::Access::Write,
        );
        let mut run = ScriptRun::new(&store.expect("a store"));
        for (line, expected) in [
            ("fetch 1", "fetch is not an operation, expected one of open, get, insert"),
            ("'get' 1", "get is not an operation"),
            ("get 1", "no file is open"),
            ("open", "the name of a record file is missing"),
            ("open A B", "B follows the end of the operation"),
            ("open 'A", "a closing quote is missing"),
            ("open 'A'B", "a blank is missing after a closing quote"),
            ("open x'C'", "an even number of hexadecimal digits"),
            ("open x'+1'", "an even number of hexadecimal digits"),
            ("commit now", "now follows the end"),
        ] {
            let found = run.line(line.as_bytes()).expect_err(line).to_string();
            assert!(found.contains(expected), "{line}: {found}");
        }
        let missing = run.line(b"open NONE").expect("an operation").expect("an answer");
        assert_eq!((missing.status, missing.error.is_some()), (FileStatus::Missing, true));
    }
}
