//! Records of a file, from a store that the command has open or from a server: which records, and one after another.

use quayline_core::{Finding, hex};
use quayline_gateway::percent_encoded;
use quayline_store::record_file::{Browse, By, FileDefinition, Record, RecordFile, Relation};
use quayline_store::{Direction, LockWait, Store, StoreError, Unit, Value};

use super::{from_hex, stop};
use crate::admin::{Query, wrong};
use crate::args::KeyArgs;
use crate::exit::{Stop, argument};
use crate::named::charset_named;

/// Parameters of a query that select a record.
pub(super) const KEYS: [(&str, &str); 5] = [
    ("key", "Key as text; a shorter key is generic"),
    ("key_hex", "Key as hexadecimal digits"),
    ("address", "Relative byte address in an entry-sequenced file"),
    ("number", "Relative record number in a relative file"),
    ("index", "Alternate index that the key belongs to"),
];

/// Key, address or number of a record, and the alternate index of the key.
#[derive(Debug, Default)]
pub(super) struct Sought {
    key: Option<Vec<u8>>,
    index: Option<String>,
    address: Option<u64>,
    number: Option<u64>,
}

impl Sought {
    /// Reads the options of a command. A key as text is in the code page of `encoding`, if the command names one.
    pub(super) fn of_args(args: &KeyArgs, encoding: Option<&str>) -> Result<Sought, Stop> {
        let key = match (&args.key, &args.key_hex) {
            (Some(text), _) => Some(("--key", key_of(text, encoding)?)),
            (None, Some(digits)) => Some(("--key-hex", from_hex("--key-hex", digits)?)),
            (None, None) => None,
        };
        let key = key.map(|(option, key)| not_empty(option, key)).transpose()?;
        if args.index.is_some()
            && let Some(place) = place_of(args.address.is_some(), args.number.is_some())
        {
            let finding = argument(format!("--index has no effect with --{place}"));
            return Err(finding.hint(format!("leave --index out, or give a key instead of --{place}")).into());
        }
        Ok(Sought { key, index: args.index.clone(), address: args.address, number: args.number })
    }

    /// Reads the parameters of a request.
    pub(super) fn of_query(query: &Query) -> Result<Sought, Stop> {
        let given: Vec<&str> =
            ["key", "key_hex", "address", "number"].into_iter().filter(|name| query.value(name).is_some()).collect();
        if let [first, second, ..] = given.as_slice() {
            return Err(
                wrong(format!("`{first}` and `{second}` exclude each other"), "send one of them".to_owned()).into()
            );
        }
        let key = match (query.value("key"), query.value("key_hex")) {
            (Some(text), _) => Some(("key", text.as_bytes().to_vec())),
            (None, Some(digits)) => Some(("key_hex", from_hex("key_hex", digits)?)),
            (None, None) => None,
        };
        let key = key.map(|(name, key)| not_empty(name, key)).transpose()?;
        let index = query.value("index").map(str::to_owned);
        if index.is_some()
            && let Some(place) = place_of(query.value("address").is_some(), query.value("number").is_some())
        {
            let hint = format!("leave `index` out, or send a key instead of `{place}`");
            return Err(wrong(format!("`index` has no effect with `{place}`"), hint).into());
        }
        Ok(Sought { key, index, address: number(query, "address")?, number: number(query, "number")? })
    }

    /// Formats the parameters of a request, each with `&` before it.
    pub(super) fn query(&self) -> String {
        let mut text = String::new();
        if let Some(key) = &self.key {
            text.push_str(&format!("&key_hex={}", hex(key)));
        }
        if let Some(index) = &self.index {
            text.push_str(&format!("&index={}", percent_encoded(index)));
        }
        for (name, value) in [("address", self.address), ("number", self.number)] {
            if let Some(value) = value {
                text.push_str(&format!("&{name}={value}"));
            }
        }
        text
    }

    pub(super) fn by(&self) -> Option<By<'_>> {
        match (&self.key, &self.index, self.address, self.number) {
            (Some(key), Some(index), ..) => Some(By::Alternate(index, key)),
            (Some(key), None, ..) => Some(By::Key(key)),
            (None, _, Some(address), _) => Some(By::Address(address)),
            (None, _, None, Some(number)) => Some(By::Number(number)),
            (None, _, None, None) => None,
        }
    }

    /// Returns the index whose order a browse follows.
    pub(super) fn browsed_index(&self) -> Option<&str> {
        match self.by() {
            Some(By::Alternate(..)) | None => self.index.as_deref(),
            Some(_) => None,
        }
    }

    /// Starts a browse at the record or the next greater one; without a key, at the beginning or, backward, at the end.
    pub(super) fn browse(&self, unit: &Unit, file: &RecordFile, direction: Direction) -> Result<Browse, StoreError> {
        let mut browse = match &self.index {
            Some(index) => file.browse_by(index)?,
            None => file.browse(),
        };
        match self.by() {
            Some(by) => browse.start(unit, by, Relation::AtLeast)?,
            None if direction == Direction::Backward => browse.to_end(),
            None => {}
        }
        Ok(browse)
    }
}

/// Encodes a key that is given as text.
fn key_of(text: &str, encoding: Option<&str>) -> Result<Vec<u8>, Stop> {
    let Some(encoding) = encoding else { return Ok(text.as_bytes().to_vec()) };
    let charset = charset_named(encoding)?;
    let mut key = Vec::new();
    charset.encode_into(text, &mut key).map_err(|_| {
        let finding = argument(format!("{} does not have all characters of --key", charset.name()));
        finding.hint("correct the key or --encoding, or give the bytes of the key with --key-hex")
    })?;
    Ok(key)
}

/// Returns the name of the place in the file that selects a record.
fn place_of(has_address: bool, has_number: bool) -> Option<&'static str> {
    if has_address { Some("address") } else { has_number.then_some("number") }
}

fn not_empty(name: &str, key: Vec<u8>) -> Result<Vec<u8>, Stop> {
    if key.is_empty() {
        let finding = argument(format!("{name} is empty, and every record begins with an empty key"));
        return Err(finding.hint("give the key or its beginning; a variable of a script may be empty").into());
    }
    Ok(key)
}

fn number(query: &Query, name: &str) -> Result<Option<u64>, Stop> {
    let wrong = |text: &str| wrong(format!("`{name}` is `{text}`"), "write a whole number".to_owned());
    query.value(name).map(|text| text.parse().map_err(|_| wrong(text).into())).transpose()
}

/// Creates the finding for a key that is the beginning of several keys.
pub(super) fn several(file: &str) -> Finding {
    let message = format!("several records of {file} have this key or begin with it");
    let hint = format!(
        "give the whole primary key of one; see them with `quayline file browse {file}` and the same --index and --key"
    );
    argument(message).hint(hint)
}

/// Reason why a record was not deleted.
pub(super) enum NotDeleted {
    /// Several records fit the key.
    Several,
    Store(StoreError),
}

impl From<StoreError> for NotDeleted {
    fn from(error: StoreError) -> Self {
        NotDeleted::Store(error)
    }
}

/// Deletes one record in a unit of work.
pub(super) fn delete(store: &Store, name: &str, by: By<'_>) -> Result<(), NotDeleted> {
    let mut unit = store.begin()?;
    let file = store.file(&unit, name)?;
    if file.has_others(&unit, by)? {
        return Err(NotDeleted::Several);
    }
    let read = file.read_for_update(&mut unit, by, Relation::Equal, LockWait::Default)?;
    file.delete(&mut unit, &read)?;
    unit.commit()?;
    Ok(())
}

/// What a put does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Put {
    Insert,
    /// Replace the record with the same key.
    Replace,
}

/// Writes a record in a unit of work.
pub(super) fn put(store: &Store, name: &str, record: &[u8], what: Put) -> Result<(), StoreError> {
    let mut unit = store.begin()?;
    let file = store.file(&unit, name)?;
    match what {
        Put::Insert => file.insert(&mut unit, record).map(drop)?,
        Put::Replace => file.rewrite_by_key(&mut unit, record).map(drop)?,
    }
    unit.commit().map(drop)
}

/// Formats definition and figures of a file.
pub(super) fn facts(store: &Store, name: &str) -> Result<String, StoreError> {
    let unit = store.begin()?;
    let file = store.file(&unit, name)?;
    Ok(file.facts(&unit)?.text(file.definition()))
}

/// Records in the order of a browse.
pub(super) trait Records: Send {
    /// Returns the next record, or `None` at the end.
    fn next(&mut self) -> Result<Option<Value>, Stop>;
}

/// One record.
pub(super) struct One(pub(super) Option<Value>);

impl Records for One {
    fn next(&mut self) -> Result<Option<Value>, Stop> {
        Ok(self.0.take())
    }
}

/// Up to a number of records of a store that this process has open.
pub(super) struct Browsing {
    pub(super) unit: Unit,
    pub(super) browse: Browse,
    pub(super) direction: Direction,
    /// Records that it may still read.
    pub(super) left: u64,
}

impl Records for Browsing {
    fn next(&mut self) -> Result<Option<Value>, Stop> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let record = step(&mut self.browse, &self.unit, self.direction).map_err(stop)?;
        Ok(record.map(|record| record.bytes))
    }
}

/// Reads the next record in a direction; `None` at the end.
pub(super) fn step(browse: &mut Browse, unit: &Unit, direction: Direction) -> Result<Option<Record>, StoreError> {
    let read = match direction {
        Direction::Backward => browse.previous(unit),
        Direction::Forward => browse.next(unit),
    };
    match read {
        Ok(record) => Ok(Some(record)),
        Err(StoreError::EndOfFile { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the length of the longest record of a file.
pub(super) fn longest(file: &FileDefinition) -> usize {
    usize::try_from(file.record_bytes_max).unwrap_or(usize::MAX)
}
