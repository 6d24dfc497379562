//! Members of a document that say where its record comes from.

use std::sync::Arc;

use quayline_core::{Run, Sink, Value};

use super::RecordDecoder;
use crate::plan::Plan;

/// Origin of a record.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    number: u64,
    parent: Option<u64>,
    file: Arc<str>,
}

impl Origin {
    pub(super) fn send<S: Sink>(&self, plan: &Plan, sink: &mut S) {
        let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX), 0);
        if let Some(node) = plan.origin.number {
            sink.value(node, number(self.number));
        }
        if let Some(node) = plan.origin.parent {
            sink.value(node, self.parent.map_or(Value::Null, number));
        }
        if let Some(node) = plan.origin.file {
            sink.value(node, Value::Text(Run::from(self.file.as_bytes())));
        }
    }
}

impl RecordDecoder {
    /// Sets the values of [`crate::OriginMembers`] for the next record: its number, the number of its parent, and the file.
    #[inline]
    pub fn comes_from(&mut self, number: u64, parent: Option<u64>, file: &Arc<str>) {
        let origin = &self.plan.0.origin;
        if origin.number.is_some() || origin.parent.is_some() || origin.file.is_some() {
            self.origin = Some(Origin { number, parent, file: Arc::clone(file) });
        }
    }
}
