//! Output that a rule or a setting hands to the caller (`output`): standard output of a command, or a terminal of a flow's node.

use std::io::{self, Write};

use quayline_core::{Fault, Finding, system_error_text};

use crate::codes;

/// Kind of output that goes to the caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OutputKind {
    /// A document that its rule delivers.
    Document,
    /// An acknowledgment.
    Acknowledgment,
    /// An interchange of documents.
    Interchange,
}

/// Output of a unit of work of the caller.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HandedOutput {
    /// Kind of the output.
    pub kind: OutputKind,
    /// Content of the output.
    pub bytes: Vec<u8>,
}

/// Recipient of output to the caller.
pub(crate) enum Outputs<'b> {
    /// Nobody: such output is refused.
    Nobody,
    /// Standard output. Output waits in the outbox until the commit, so a crash between the commit and the write repeats it and loses nothing.
    Stream(Box<dyn Write + 'b>),
    /// The caller, who gets output of these kinds together with the result of its unit of work.
    Caller(Vec<OutputKind>, Vec<HandedOutput>),
}

impl Outputs<'_> {
    pub(crate) fn takes(&self, kind: OutputKind) -> bool {
        match self {
            Outputs::Nobody => false,
            Outputs::Stream(_) => true,
            Outputs::Caller(kinds, _) => kinds.contains(&kind),
        }
    }

    /// Returns the number of outputs that the caller gets so far.
    pub(crate) fn len(&self) -> usize {
        if let Outputs::Caller(_, handed) = self { handed.len() } else { 0 }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        if let Outputs::Caller(_, handed) = self {
            handed.truncate(length);
        }
    }

    /// Writes bytes to standard output. `None` if output goes elsewhere.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Option<io::Result<()>> {
        let Outputs::Stream(stream) = self else { return None };
        Some(stream.write_all(bytes).and_then(|()| stream.flush()))
    }
}

/// Creates the finding about output that nobody takes.
pub(crate) fn not_taken(kind: OutputKind) -> Finding {
    let (what, terminal) = match kind {
        OutputKind::Document => ("the document", "output"),
        OutputKind::Acknowledgment => ("the acknowledgment", "acknowledgment"),
        OutputKind::Interchange => ("the interchange", "interchange"),
    };
    let message = format!("{what} goes to `output`, and nothing takes output here");
    let hint = format!(
        "deliver it to a folder or queue, run a command such as `quayline partner receive`, or use a flow with a node `partner_receive` or `partner_send` and wire its terminal `{terminal}`"
    );
    Finding::error(codes::DELIVERY, Fault::Config, message).hint(hint)
}

/// Creates the finding about standard output that cannot be written.
pub(crate) fn unwritten(error: &io::Error) -> Finding {
    let message = format!("standard output cannot be written: {}", system_error_text(error));
    let finding = Finding::error(codes::DELIVERY, Fault::Environment, message);
    finding.hint("nothing is lost: the next `quayline partner receive` or `send` writes it to its standard output")
}
