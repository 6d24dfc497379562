//! Parts of a body that could not be read, and the findings of other stages that are not certain because of them.
//!
//! Reader, gate and encoder each report what they find, so that a client corrects a request once. A finding about a value that was read is
//! always true. These are not: a member is missing after a syntax error, a list is too short, two values contradict each other.

use quayline_cobol::{FaultKind, RecordFault};
use quayline_core::{NodeId, Shape};
use quayline_json::{JsonError, JsonFault};

use crate::problem::FieldError;

/// Parts of one body that its reader could not read.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// Path of the syntax error that ended the reading.
    cut: Option<String>,
    /// Paths of values of the wrong kind.
    values: Vec<String>,
    /// Those that are elements of a list: the path of the list, and the index.
    elements: Vec<(String, usize)>,
}

impl Unread {
    /// Collects what the reader of a body could not read.
    pub(crate) fn of(fault: &JsonFault) -> Unread {
        let mut unread = Unread::default();
        for problem in &fault.problems {
            match &problem.error {
                // The value was read, or belongs to no field.
                JsonError::Unknown { .. } | JsonError::Duplicate | JsonError::Behind { .. } => {}
                JsonError::Kind { .. } | JsonError::Digits { .. } | JsonError::Float | JsonError::Hex => {
                    unread.values.push(problem.path.clone());
                    unread.elements.extend(element(&problem.path));
                }
                _ => unread.cut = Some(problem.path.clone()),
            }
        }
        unread.elements.sort();
        unread
    }

    /// Notes that the whole body could not be read.
    pub(crate) fn whole() -> Unread {
        Unread { values: vec!["$".to_owned()], ..Unread::default() }
    }

    /// Removes errors about the length of lists of which elements could not be read.
    pub(crate) fn without_short_lists(&self, errors: &mut Vec<FieldError>) {
        let is_partial = |field: &str| {
            let has_unread = self.elements.iter().any(|(list, _)| without_indices(list) == field);
            has_unread || self.cut.as_deref().is_some_and(|cut| is_in(&without_indices(cut), field))
        };
        errors.retain(|error| error.rule != "minItems" || !is_partial(&error.field));
    }

    /// Returns the required members that the body does not have. A member that could not be read, or that `errors` already names, is not missing.
    pub(crate) fn missing(
        &self,
        shape: &Shape,
        required: &[NodeId],
        seen: &[bool],
        errors: &[FieldError],
    ) -> Vec<FieldError> {
        if self.cut.is_some() {
            return Vec::new();
        }
        let unknown = JsonError::Unknown { nearest: None, preserves: false }.code().to_string();
        let of_body = errors.iter().filter(|error| error.place == "body" && error.rule != unknown);
        let refused: Vec<String> =
            self.values.iter().chain(of_body.map(|error| &error.field)).map(|path| without_indices(path)).collect();
        let fields = required.iter().filter(|node| !seen[node.index()]).map(|node| format!("$.{}", shape.path(*node)));
        let fields = fields.filter(|field| !refused.iter().any(|path| is_in(field, path)));
        let detail = "the member is missing";
        fields
            .map(|field| FieldError { place: "body", field, rule: "required".to_owned(), detail: detail.to_owned() })
            .collect()
    }

    /// Returns the path of an encoder's fault in the body. `None` for a contradiction between values if one of them may be unread.
    pub(crate) fn place(&self, fault: &RecordFault) -> Option<String> {
        let compares = matches!(
            fault.kind,
            FaultKind::CountMismatch { .. }
                | FaultKind::CountOutOfRange { .. }
                | FaultKind::BadCounter(_)
                | FaultKind::ViewConflict
                | FaultKind::OtherView(_)
                | FaultKind::NoView
                | FaultKind::BadPreserve
        );
        if compares && (self.cut.is_some() || !self.values.is_empty()) {
            return None;
        }
        Some(self.counted(&fault.path))
    }

    /// Returns a path with the indices of the body: the encoder does not count elements that could not be read.
    fn counted(&self, path: &str) -> String {
        let mut parts = path.split('[');
        let mut counted = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (index, rest) = part.split_once(']').unwrap_or((part, ""));
            let mut index: usize = index.parse().unwrap_or(0);
            for (_, unread) in self.elements.iter().filter(|(list, _)| *list == counted) {
                index += usize::from(*unread <= index);
            }
            counted.push_str(&format!("[{index}]{rest}"));
        }
        counted
    }
}

/// Splits the path of an element into list and index.
fn element(path: &str) -> Option<(String, usize)> {
    let (list, index) = path.strip_suffix(']')?.rsplit_once('[')?;
    Some((list.to_owned(), index.parse().ok()?))
}

/// Returns true if `path` is `group` or leads into it, at any depth.
fn is_in(path: &str, group: &str) -> bool {
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn without_indices(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |path, part| path + part.split_once(']').map_or(part, |(_, rest)| rest))
}
