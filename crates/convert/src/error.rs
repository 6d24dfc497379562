//! Errors that end a run early.

use std::io;
use std::path::PathBuf;

use quayline_core::{Fault, Finding, Findings, RecordNumber};
use quayline_pipeline::{PipelineError, io_finding};

use crate::codes;

/// Error that ends a run early. An output file keeps its `.partial` name in every case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The source cannot be converted: broken framing, a rejected record without a rejects file, too many rejects, or contradictory
    /// settings. The findings have the cause and the remedy.
    #[error("{0}")]
    Refused(Findings),
    /// The cancel flag was set.
    #[error("{}", .0.finding())]
    Stopped(Stopped),
    /// The reader of the output stream closed it. The bytes that it read are valid; the rest was not written.
    #[error("{}", closed_pipe())]
    ClosedPipe,
    /// A file cannot be read or written: not there, no permission, disk full.
    #[error("{}", io_finding(.doing, .path, .source))]
    Io {
        /// Operation that failed: `write`, `read`, `rename`.
        doing: &'static str,
        /// File of the operation; a stream has a name in angle brackets.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// A run that was stopped on request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stopped {
    /// First record not converted.
    pub next: RecordNumber,
    /// Checkpoint from which the run can be resumed, if checkpoints were requested.
    pub checkpoint: Option<PathBuf>,
    /// The partial output, if it is a file.
    pub partial: Option<PathBuf>,
}

impl Stopped {
    fn finding(&self) -> Finding {
        let mut message = format!("stopped before record {}", self.next);
        if let Some(path) = &self.partial {
            message.push_str(&format!(": {} is not complete", path.display()));
        }
        let finding = Finding::error(codes::STOPPED, Fault::Environment, message);
        match (&self.checkpoint, &self.partial) {
            (Some(path), _) => finding.hint(format!("continue with --resume; the checkpoint is {}", path.display())),
            (None, Some(_)) => finding
                .hint("run it again from the start; outputs of lines or records resume if the run has a checkpoint"),
            (None, None) => {
                finding.hint("what went out is right, and the rest is missing: run it again from the start")
            }
        }
    }
}

impl ConvertError {
    /// Returns the party that can fix the error; exit codes depend on it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            ConvertError::Refused(findings) => findings.0.first().map_or(Fault::Ours, |f| f.fault),
            ConvertError::Stopped(_) | ConvertError::ClosedPipe | ConvertError::Io { .. } => Fault::Environment,
        }
    }

    /// Converts the error to findings.
    #[must_use]
    pub fn findings(&self) -> Findings {
        match self {
            ConvertError::Refused(findings) => findings.clone(),
            ConvertError::Stopped(stopped) => stopped.finding().into(),
            ConvertError::ClosedPipe => closed_pipe().into(),
            ConvertError::Io { doing, path, source } => io_finding(doing, path, source).into(),
        }
    }

    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ConvertError {
        let path = path.into();
        move |source| ConvertError::Io { doing, path, source }
    }
}

impl From<PipelineError> for ConvertError {
    fn from(error: PipelineError) -> Self {
        match error {
            PipelineError::Refused(findings) => ConvertError::Refused(findings),
            PipelineError::Io { doing, path, source } => ConvertError::Io { doing, path, source },
        }
    }
}

impl From<Findings> for ConvertError {
    fn from(findings: Findings) -> Self {
        ConvertError::Refused(findings)
    }
}

impl From<Finding> for ConvertError {
    fn from(finding: Finding) -> Self {
        ConvertError::Refused(finding.into())
    }
}

fn closed_pipe() -> Finding {
    Finding::error(codes::CLOSED_PIPE, Fault::Environment, "the reader of the output closed it before the end")
}
