//! The source that reads JSON text.

mod leaf;
mod limits;
mod problem;
mod skip;
mod structure;

use std::sync::Arc;

use quayline_core::{Limits, NodeId, RoundedLeaves, Shape, Sink, SourceLimits};

use crate::fault::{JsonFault, JsonProblem};
use crate::members::Members;
use limits::Checks;
use problem::Problem;

/// Choices of a [`JsonReader`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReaderOptions {
    /// Bounds, of which `depth_max` and `findings_max` apply.
    pub limits: Limits,
    /// Treatment of a member that the shape does not have.
    pub unknown: Unknown,
}

/// Treatment of a member that the shape does not have.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Unknown {
    /// A problem: it is most often a name written wrongly.
    #[default]
    Error,
    /// Skipped; the grammar of its value is still checked.
    Ignore,
}

/// Reads documents and drives a sink by the shape.
///
/// The text must follow RFC 8259 strictly. The document is an object, the shape's root. Members may come in any order and may be
/// missing; the sink decides what that means.
///
/// # What is sent
/// * A string for a text node is `Ascii` if it has printable ASCII only, otherwise `Text`; without escapes it is a span of the
///   input.
/// * A number for a decimal node is `Digits` with every digit written (`-12.50` is `1250` at scale 2). An exponent is worked in, as long as
///   the result has at most 38 digits. A string that holds a number is the same; any other string is sent as text, for the sink to judge.
/// * A number for a float node is the nearest float.
/// * A string for a node of bytes holds hexadecimal digits and is `Bytes`.
/// * A string of `0x` followed by hexadecimal digits is `Raw`, except for a text node.
/// * `null` is `Null` for a leaf; for a group or list it is as if the member were missing.
///
/// # What is refused
/// In addition to the grammar, these are errors: a member twice in one object (RFC 8259 leaves it open; two values for one field
/// are never right), an unknown member (see [`Unknown`]), and a value of the wrong kind. With [`JsonReader::with_limits`], documents
/// that exceed the limits of their schema are refused too. All of these in a document are reported at once; a fault of grammar ends it.
///
/// # Leniency
/// * A byte order mark before the document is passed over: editors write it.
#[derive(Clone, Debug)]
pub struct JsonReader {
    /// Whether only the node's own type is accepted.
    strict: bool,
    members: Members,
    checks: Option<Arc<Checks>>,
    options: ReaderOptions,
    visits: Vec<Visit>,
    /// Counts object occurrences over the reader's life, so that each has its own number.
    clock: u64,
    scratch: Vec<u8>,
    steps: Vec<Step>,
    brackets: Vec<u8>,
    problems: Vec<Problem>,
    more: usize,
    /// True if a member was ignored since the last [`JsonReader::take_ignored`].
    ignored: bool,
    rounded: RoundedLeaves,
}

/// State of a node that is kept from one member to the next.
#[derive(Clone, Copy, Debug)]
struct Visit {
    /// The object occurrence in which the node was seen last.
    seen: u64,
    /// The member that probably comes first in this group, and after this member: learned, initially in the shape's order.
    first: NodeId,
    next: NodeId,
}

/// Position of the reader in the document.
#[derive(Clone, Copy, Debug)]
struct Step {
    node: NodeId,
    index: Option<u32>,
}

/// The text cannot be read further; the problem is recorded.
#[derive(Debug)]
struct Stop;

/// Node id that no node has.
const NO_NODE: NodeId = NodeId(u32::MAX);

impl JsonReader {
    /// A reader of documents of `shape`.
    #[must_use]
    pub fn new(shape: &Shape, options: ReaderOptions) -> Self {
        let mut visits = vec![Visit { seen: 0, first: NO_NODE, next: NO_NODE }; shape.len()];
        for (group, _) in shape.iter() {
            let mut last = None;
            for child in shape.children(group) {
                match last {
                    None => visits[group.index()].first = child,
                    Some(NodeId(last)) => visits[last as usize].next = child,
                }
                last = Some(child);
            }
        }
        JsonReader {
            strict: false,
            members: Members::new(shape),
            checks: None,
            options,
            visits,
            clock: 0,
            scratch: Vec::new(),
            steps: Vec::new(),
            brackets: Vec::new(),
            problems: Vec::new(),
            more: 0,
            ignored: false,
            rounded: RoundedLeaves::default(),
        }
    }

    /// Returns a reader that accepts a value only in its node's own type: no number in a string, no raw bytes, no `null`. It
    /// accepts the same documents as a JSON Schema of the shape.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Returns whether the documents since the last call had members that the option [`Unknown::Ignore`] left out.
    pub fn take_ignored(&mut self) -> bool {
        core::mem::take(&mut self.ignored)
    }

    /// Returns the floats of the documents since the last call whose numbers have more digits than the floats keep.
    pub fn take_rounded(&mut self) -> Vec<NodeId> {
        self.rounded.take()
    }

    /// Returns a reader that refuses documents beyond these limits of the nodes of `shape`.
    #[must_use]
    pub fn with_limits(mut self, shape: &Shape, limits: &Arc<SourceLimits>) -> Self {
        self.checks = Some(Arc::new(Checks::new(shape, limits)));
        self
    }

    /// Reads the document `text` and sends it to `sink`.
    ///
    /// # Errors
    /// [`JsonFault`] with all that is wrong. The sink has then received a well-formed document from which parts are missing; the caller
    /// calls [`Sink::discard`].
    pub fn read<S: Sink>(&mut self, text: &[u8], sink: &mut S) -> Result<(), JsonFault> {
        self.steps.clear();
        self.brackets.clear();
        let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut pass = Pass { reader: self, text, at: start, depth: 0, sink };
        let _: Result<(), Stop> = pass.document();
        if self.problems.is_empty() { Ok(()) } else { Err(self.fault(text)) }
    }

    #[cold]
    fn fault(&mut self, text: &[u8]) -> JsonFault {
        let mut problems = core::mem::take(&mut self.problems);
        problems.sort_by_key(|problem| problem.at);
        let (mut at, mut line, mut column) = (0, 1, 1);
        let problems = problems.into_iter().map(|problem| {
            for byte in &text[at..problem.at] {
                match byte {
                    b'\n' => (line, column) = (line + 1, 1),
                    // The second and later bytes of a character.
                    0x80..=0xbf => {}
                    _ => column += 1,
                }
            }
            at = problem.at;
            JsonProblem { error: problem.error, byte: at, line, column, path: problem.path }
        });
        JsonFault { problems: problems.collect(), more: core::mem::take(&mut self.more) }
    }
}

/// One reading of one document.
struct Pass<'a, S> {
    reader: &'a mut JsonReader,
    text: &'a [u8],
    at: usize,
    depth: usize,
    sink: &'a mut S,
}
