//! `Location` of a record that an operation added: where the API reads it.

use std::sync::Arc;

use quayline_cobol::layout::FieldIndex;
use quayline_cobol::{Policies, Trim};

use super::{Operation, Segment};
use crate::parameter::{Parameter, ParameterPlace};
use crate::record_call::FileAction;
use crate::rule::Probe;
use crate::typed::{Shown, Typed};
use crate::uri::encode;

/// The request that reads a record by its primary key.
#[derive(Debug)]
pub(crate) struct Location {
    pieces: Vec<Piece>,
    probe: Probe,
    /// Type of each value of the probe.
    typed: Vec<Option<Arc<Typed>>>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    /// The value of a parameter, as the client writes it.
    Value(usize),
}

impl Location {
    /// Returns the location of records that `insert` adds, if one of `operations` reads a record by its key alone.
    pub(crate) fn of(insert: &Operation, operations: &[Operation]) -> Option<Location> {
        if insert.file_action() != Some(FileAction::Insert) {
            return None;
        }
        let reads = |read: &&Operation| {
            let plain = |parameter: &Parameter| parameter.place != ParameterPlace::Header;
            read.method == "GET"
                && read.service_index == insert.service_index
                && read.file_action() == Some(FileAction::Read)
                && read.file_index().is_none()
                && read.assigned.is_empty()
                && read.parameters.iter().all(plain)
        };
        let read = operations.iter().find(reads)?;
        let service = &read.service;
        let fields: Option<Vec<FieldIndex>> =
            read.parameters.iter().map(|parameter| service.request.plan.field_of(parameter.node)).collect();
        // A key has the blanks that answers leave out with `trim = "both"`.
        let policies = Policies { trim: Trim::Padding, ..service.policies.clone() };
        let probe = Probe::new(&service.layout, &fields?, &policies, service.charset).ok()?;
        let typed = read.parameters.iter().map(|p| service.request.typed[p.node.index()].clone()).collect();
        let mut pieces = Vec::new();
        for segment in &read.segments {
            pieces.push(Piece::Text("/".to_owned()));
            pieces.push(match segment {
                Segment::Text(text) => Piece::Text(text.clone()),
                Segment::Parameter(index) => Piece::Value(*index),
            });
        }
        let query = read.parameters.iter().enumerate().filter(|(_, p)| p.place == ParameterPlace::Query);
        for (at, (index, parameter)) in query.enumerate() {
            let mut name = if at == 0 { "?" } else { "&" }.to_owned();
            encode(parameter.name.as_bytes(), &mut name);
            name.push('=');
            pieces.extend([Piece::Text(name), Piece::Value(index)]);
        }
        Some(Location { pieces, probe, typed })
    }

    /// Returns the location of a record; `None` if a value of its key cannot be written in a request.
    pub(crate) fn of_record(&self, record: &[u8]) -> Option<String> {
        let mut values = Vec::new();
        // The value of a field that cannot be read is empty.
        let _ = self.probe.values(&mut self.probe.decoder(), record, &mut values);
        let mut location = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => location.push_str(text),
                Piece::Value(index) => {
                    let (text, typed) = (values.get(*index)?, self.typed.get(*index)?);
                    let value = written(text, typed.as_deref())?;
                    // A segment of dots names the folder, or the one above it, even if the dots are escaped (RFC 3986, section 5.2.4).
                    if location.ends_with('/') && matches!(&*value, b"." | b"..") {
                        return None;
                    }
                    encode(&value, &mut location);
                }
            }
        }
        Some(location)
    }
}

/// Writes a value as in a request.
fn written(text: &[u8], typed: Option<&Typed>) -> Option<Vec<u8>> {
    let (mut shown, mut back) = (Vec::new(), Vec::new());
    let written = match typed.map(|typed| (typed, typed.show(text, &mut shown))) {
        None | Some((_, Shown::Same)) => text.to_vec(),
        Some((_, Shown::Text)) => shown,
        Some((_, Shown::Bool(is_true))) => is_true.to_string().into_bytes(),
        Some((_, Shown::Null | Shown::Replaced)) => return None,
    };
    let is_read = typed.is_none_or(|typed| typed.read(&written, &mut back).is_some());
    (is_read && !written.is_empty()).then_some(written)
}
