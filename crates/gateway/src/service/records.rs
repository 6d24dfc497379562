//! A service file's record file or queue.

use core::time::Duration;

use quayline_cobol::layout::Layout;
use quayline_core::{Fault, Finding};
use quayline_project::UserFile;
use toml::Spanned;

use super::compile::{FIELD_HINT, Known, named_field};
use super::provider::{milliseconds, within};
use super::wire;
use crate::codes;
use crate::record_call::{FileIndex, FileKey, FileSpec, QueueSpec};

/// Longest key: that of VSAM.
const KEY_BYTES_MAX: usize = 255;

pub(super) fn record_file(file: &mut UserFile, at: &Spanned<wire::Provider>, known: &Known<'_>) -> Option<FileSpec> {
    let wire = at.get_ref();
    if wire.file.is_none() {
        let hint = "write the name of a record file of the store, as `quayline file define` has it";
        file.find(codes::INCOMPLETE, "a file provider needs `file`", at, hint);
    }
    if wire.key.is_none() {
        let hint = "write the field that is the file's key, such as `key = \"CUSTOMER-ID\"`";
        file.find(codes::INCOMPLETE, "a file provider needs `key`", at, hint);
    }
    let key = wire.key.as_ref().and_then(|name| key(file, known, name));
    let mut indexes: Vec<FileIndex> = Vec::new();
    for index in &wire.indexes {
        let index = index.get_ref();
        if indexes.iter().any(|other| other.name == *index.name.get_ref()) {
            file.find(codes::TWICE, "two indexes have this name", &index.name, "remove one of them");
        }
        if let Some(key) = self::key(file, known, &index.field) {
            indexes.push(FileIndex { name: index.name.get_ref().clone(), key });
        }
    }
    let record_bytes = if slides(known.layout) {
        (known.layout.length_min, known.layout.length_max)
    } else {
        (known.length, known.length)
    };
    Some(FileSpec {
        file: wire.file.as_ref()?.get_ref().clone(),
        key: key?,
        indexes,
        record_bytes,
        wait_limit: milliseconds(file, wire.wait_limit_ms.as_ref(), 2_000),
    })
}

/// Returns true if a table of variable length moves the fields after it, or the end of the record.
pub(crate) fn slides(layout: &Layout) -> bool {
    layout.dialect.odo_slide && layout.fields.iter().any(|f| f.occurs.is_some_and(|o| o.depending_on.is_some()))
}

fn key(file: &mut UserFile, known: &Known<'_>, name: &Spanned<String>) -> Option<FileKey> {
    match FileKey::of(known.layout, name.get_ref()) {
        Ok(key) => Some(key),
        Err(finding) => {
            file.find(finding.code, finding.message, name, finding.hint.unwrap_or_default());
            None
        }
    }
}

impl FileKey {
    /// Returns the position of the field that is a key.
    ///
    /// # Errors
    /// Returns a finding if the layout has no such field or several, if a table of varying length contains or precedes the field, or if the field is empty
    /// or too long for a key.
    pub fn of(layout: &Layout, name: &str) -> Result<FileKey, Box<Finding>> {
        let wrong = |code, message: String, hint: &str| {
            Err(Box::new(Finding::error(code, Fault::Config, message).hint(hint.to_owned())))
        };
        let index = match named_field(layout, name) {
            Ok(index) => index,
            Err(message) => return wrong(codes::NO_SUCH, message, FIELD_HINT),
        };
        let field = layout.field(index);
        let mut around = Some(index);
        while let Some(at) = around {
            if layout.field(at).occurs.is_some() {
                return wrong(codes::RULES, "a key is not in a table".to_owned(), "name a field outside of tables");
            }
            around = layout.field(at).parent;
        }
        let table = |f: &&quayline_cobol::layout::Field| f.occurs.is_some_and(|o| o.depending_on.is_some());
        if slides(layout) && layout.fields.iter().filter(table).any(|table| table.offset < field.offset) {
            let message = "the key follows a table of varying length, so it has no fixed place".to_owned();
            return wrong(codes::RULES, message, "name a field before the table");
        }
        if field.size == 0 || field.size > KEY_BYTES_MAX {
            let message = format!("the field has {} bytes, expected a key of 1 to {KEY_BYTES_MAX}", field.size);
            return wrong(codes::LENGTH, message, "name a shorter field or group");
        }
        Ok(FileKey { field: name.to_owned(), offset: field.offset, length: field.size })
    }
}

pub(super) fn queue(file: &mut UserFile, at: &Spanned<wire::Provider>, time_limit: Duration) -> Option<QueueSpec> {
    let wire = at.get_ref();
    let Some(queue) = &wire.queue else {
        let hint = "write the name of a queue of the store, as `quayline queue define` has it";
        file.find(codes::INCOMPLETE, "a queue provider needs `queue`", at, hint);
        return None;
    };
    let toml::Value::String(name) = queue.get_ref() else {
        file.find(codes::VALUE, "`queue` is not a name", queue, "write it in quotes");
        return None;
    };
    let waits = wire.reply_queue.is_some();
    for (key, at) in
        [("time-limit-ms", &wire.time_limit_ms), ("late-limit-ms", &wire.late_limit_ms), ("waiting", &wire.waiting)]
    {
        if let (false, Some(at)) = (waits, at) {
            let message = format!("`{key}` without a `reply-queue` limits nothing");
            file.find(codes::RULES, message, at, "add `reply-queue`, or remove the key");
        }
    }
    let expires = wire.expires_ms.as_ref().map(|given| milliseconds(file, Some(given), 1));
    Some(QueueSpec {
        queue: name.clone(),
        reply_queue: wire.reply_queue.as_ref().map(|name| name.get_ref().clone()),
        time_limit,
        late_limit: milliseconds(file, wire.late_limit_ms.as_ref(), 60_000),
        waiting_max: usize::try_from(within(file, wire.waiting.as_ref(), 1_000, 1, 10_000)).unwrap_or(1_000),
        priority: u8::try_from(within(file, wire.priority.as_ref(), 0, 0, 9)).unwrap_or(0),
        persistent: wire.persistent.as_ref().is_none_or(|persistent| *persistent.get_ref()),
        expires: expires.or_else(|| waits.then_some(time_limit)),
        format: wire.format.as_ref().map(|format| format.get_ref().clone()).unwrap_or_default(),
    })
}
