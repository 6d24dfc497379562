//! The checkpoint file: replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use quayline_core::{Checkpoint, Fault, Finding, Place};

use crate::codes;
use crate::destination::{create_beside, with_suffix};
use crate::error::ConvertError;

/// The decoder state of a run that is complete but for its renames. No framing has it: it counts bytes of a block or of a header.
pub(crate) const DONE: u64 = u64::MAX;

/// State in a checkpoint: that of the reader, of the output, of the rejects, the last interchange whose characters were reported, and the number of
/// errors. Each part has its length before it in four bytes, low byte first.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct States {
    pub(crate) source: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) rejects: Vec<u8>,
    /// Length of the findings file. With rejects, it comes before their state, in eight bytes.
    pub(crate) findings_bytes: u64,
    pub(crate) named_interchange: Vec<u8>,
    /// Errors that reject nothing, in eight bytes; no bytes without errors.
    pub(crate) errors: u64,
    /// For a map with several outputs: bytes and state of the second and further outputs. If there are any, they form one more part: eight bytes for
    /// the length of the output, four for that of the state, and the state.
    pub(crate) more: Vec<(u64, Vec<u8>)>,
    /// The caller's data, in a last part if there is any.
    pub(crate) run: Vec<u8>,
}

impl States {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let rejects = match (self.findings_bytes, &self.rejects[..]) {
            (0, []) => Vec::new(),
            (bytes, rejects) => [&bytes.to_le_bytes(), rejects].concat(),
        };
        let errors = if self.errors == 0 { Vec::new() } else { self.errors.to_le_bytes().to_vec() };
        let parts = [&self.source, &self.output, &rejects, &self.named_interchange, &errors];
        if parts.iter().all(|part| part.is_empty()) && self.more.is_empty() && self.run.is_empty() {
            return Vec::new();
        }
        let mut more = Vec::new();
        for (bytes, state) in &self.more {
            more.extend_from_slice(&bytes.to_le_bytes());
            let len = u32::try_from(state.len()).expect("a state is far smaller than 4 GiB");
            more.extend_from_slice(&len.to_le_bytes());
            more.extend_from_slice(state);
        }
        let mut bytes = Vec::new();
        let more = (!more.is_empty() || !self.run.is_empty()).then_some(&more);
        for part in parts.into_iter().chain(more).chain((!self.run.is_empty()).then_some(&self.run)) {
            let len = u32::try_from(part.len()).expect("a state is far smaller than 4 GiB");
            bytes.extend_from_slice(&len.to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }

    pub(crate) fn of(mut bytes: &[u8]) -> Result<States, ConvertError> {
        if bytes.is_empty() {
            return Ok(States::default());
        }
        let mut part = || {
            let (len, rest) = bytes.split_first_chunk::<4>()?;
            let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            bytes = rest;
            Some(part.to_vec())
        };
        let mut states = || {
            let (source, output, rejects, named_interchange, errors) = (part()?, part()?, part()?, part()?, part()?);
            let errors = if errors.is_empty() { 0 } else { u64::from_le_bytes(errors.try_into().ok()?) };
            let mut rest = part().unwrap_or_default();
            let run = part().unwrap_or_default();
            let mut more = Vec::new();
            while !rest.is_empty() {
                let (bytes, behind) = rest.split_first_chunk::<8>()?;
                let (len, behind) = behind.split_first_chunk::<4>()?;
                let (state, behind) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)?;
                more.push((u64::from_le_bytes(*bytes), state.to_vec()));
                rest = behind.to_vec();
            }
            let (findings_bytes, rejects) = match &rejects[..] {
                [] => (0, Vec::new()),
                rejects => rejects
                    .split_first_chunk::<8>()
                    .map(|(bytes, state)| (u64::from_le_bytes(*bytes), state.to_vec()))?,
            };
            Some(States { source, output, rejects, findings_bytes, named_interchange, errors, more, run })
        };
        states().ok_or_else(bad_state)
    }
}

/// Creates the error for a state that cannot be decoded although the hash of the checkpoint is right.
pub(crate) fn bad_state() -> ConvertError {
    Finding::error(codes::BAD_CHECKPOINT, Fault::Environment, "the checkpoint's state is not one of this program's")
        .hint("delete the checkpoint and convert again")
        .into()
}

/// A checkpoint file by its path.
#[derive(Debug)]
pub(crate) struct CheckpointFile {
    path: PathBuf,
}

impl CheckpointFile {
    pub(crate) fn new(path: &Path) -> Self {
        CheckpointFile { path: path.to_owned() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the next checkpoint while it is written.
    pub(crate) fn new_path(&self) -> PathBuf {
        with_suffix(&self.path, ".new")
    }

    /// Reads the checkpoint; `None` if it does not exist.
    pub(crate) fn read(&self) -> Result<Option<Checkpoint>, ConvertError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ConvertError::io("read", &self.path)(error)),
        };
        let text = String::from_utf8(bytes).unwrap_or_default();
        Checkpoint::from_text(&text).map(Some).map_err(|error| {
            Finding::error(codes::BAD_CHECKPOINT, Fault::Environment, error.to_string())
                .at(Place { file: Some(self.path.display().to_string().into()), ..Place::default() })
                .hint("delete it and convert again")
                .into()
        })
    }

    pub(crate) fn write_new(&self, checkpoint: &Checkpoint) -> io::Result<File> {
        let mut file = create_beside(&self.new_path())?;
        file.set_len(0)?;
        file.write_all(checkpoint.to_text().as_bytes())?;
        Ok(file)
    }

    pub(crate) fn rename_new(&self) -> io::Result<()> {
        fs::rename(self.new_path(), &self.path)
    }

    /// Removes the checkpoint; one that is not there is as good.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
