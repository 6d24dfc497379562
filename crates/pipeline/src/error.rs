//! Errors that stop a unit or a run.

use std::io;
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, Findings, Place, system_error_text};

use crate::codes;
use crate::spool::SpoolFiles;

/// Error that stops a unit or a run. A rejected document is a finding, not an error.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The source cannot be read on, or source, map and target do not fit together.
    #[error("{0}")]
    Refused(Findings),
    /// A stream that the caller handed in cannot be read or written.
    #[error("{}", io_finding(.doing, .path, .source))]
    Io {
        /// The operation: `read`, `write`.
        doing: &'static str,
        /// Name of the stream for messages: a path, or a name in angle brackets.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl PipelineError {
    /// Converts the error into findings.
    #[must_use]
    pub fn findings(&self) -> Findings {
        match self {
            PipelineError::Refused(findings) => findings.clone(),
            PipelineError::Io { doing, path, source } => io_finding(doing, path, source).into(),
        }
    }

    /// Turns an error of the operating system into a [`PipelineError::Io`].
    pub fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> PipelineError {
        let path = path.into();
        move |source| PipelineError::Io { doing, path, source }
    }

    /// Creates the error of a temporary file that cannot be written.
    pub fn spool(files: &dyn SpoolFiles) -> impl FnOnce(io::Error) -> PipelineError {
        PipelineError::io("write a temporary file in", files.place())
    }
}

impl From<Findings> for PipelineError {
    fn from(findings: Findings) -> Self {
        PipelineError::Refused(findings)
    }
}

impl From<Finding> for PipelineError {
    fn from(finding: Finding) -> Self {
        PipelineError::Refused(finding.into())
    }
}

/// Creates a finding for a failed I/O operation: the operation, the name of the stream, the system's reason and the remedy.
#[must_use]
pub fn io_finding(doing: &str, path: &Path, source: &io::Error) -> Finding {
    let message = format!("cannot {doing}: {}", system_error_text(source));
    let finding = Finding::error(codes::IO, Fault::Environment, message)
        .at(Place { file: Some(path.display().to_string().into()), ..Place::default() });
    match source.kind() {
        io::ErrorKind::StorageFull if path.starts_with("<output>") => finding.hint("free space where the output goes"),
        io::ErrorKind::StorageFull if path.extension().is_some_and(|extension| extension == "partial") => {
            finding.hint("free space on the disk or name a file elsewhere; what was written so far is not complete")
        }
        io::ErrorKind::StorageFull => finding.hint("free space on the disk or name a file elsewhere"),
        io::ErrorKind::FileTooLarge => finding.hint(
            "the shell (`ulimit -f`) or the file system allows no larger file: raise it, or name a file elsewhere",
        ),
        io::ErrorKind::IsADirectory => finding.hint("name a file, not a folder"),
        io::ErrorKind::NotFound => match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) if !folder.exists() => {
                finding.hint(format!("the folder {} does not exist: make it first, or name another", folder.display()))
            }
            _ => finding.hint("check the path"),
        },
        io::ErrorKind::AlreadyExists => finding.hint("remove it, or name a file elsewhere"),
        _ => finding,
    }
}
