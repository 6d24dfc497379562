//! The checkpoint from which a stopped run resumes.

use crate::{ByteOffset, RecordNumber};

/// Identity of the source and the plan that a checkpoint belongs to. It prevents a checkpoint from being applied to others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SourceDigest {
    /// Length of the source in bytes when the run began.
    pub source_bytes: u64,
    /// Digest of the source's first and last 64 KiB.
    pub source_hash: u64,
    /// Digest of the settings and definitions (copybook, interface file, formats, policies).
    pub plan_hash: u64,
}

/// Counts of a run so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Records read.
    pub records_in: u64,
    /// Records written to the output.
    pub records_out: u64,
    /// Records written to the rejects file.
    pub records_rejected: u64,
    /// Records left out on purpose (headers, trailers, unselected types).
    pub records_skipped: u64,
}

impl Tally {
    /// Adds the counts of another part.
    pub fn add(&mut self, other: Tally) {
        self.records_in += other.records_in;
        self.records_out += other.records_out;
        self.records_rejected += other.records_rejected;
        self.records_skipped += other.records_skipped;
    }
}

/// State of a stopped run at a record boundary. Resuming seeks to it and never re-reads to count.
///
/// # Format, version 1
/// The file is text, one `name value` a line in this order, and its last line is `end HASH` with the FNV-1a hash of all bytes
/// before it, which detects a torn write: `quayline-checkpoint 1`, `source-bytes N`, `source-hash HEX`, `plan-hash HEX`,
/// `offset N`, `next-record N`, `output-bytes N`, `rejects-bytes N`, `decoder N` (state of the framing: bytes left in the current
/// block), `records-in N`, `records-out N`, `records-rejected N`, `records-skipped N`, optionally `state HEX` (two digits a byte),
/// `end HEX`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoint {
    /// The source and plan of the run.
    pub digest: SourceDigest,
    /// First byte of the source not yet converted.
    pub offset: ByteOffset,
    /// Number of the record that begins there.
    pub next: RecordNumber,
    /// Output bytes that are durable; resuming truncates a longer output to this length.
    pub output_bytes: u64,
    /// Durable bytes of the rejects file.
    pub rejects_bytes: u64,
    /// Framing state at `offset`.
    pub decoder: u64,
    /// Counts so far.
    pub tally: Tally,
    /// State of readers and writers that does not fit a number (open interchanges); empty for records and text.
    pub state: Vec<u8>,
}

/// Reason why a checkpoint cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The line is not a checkpoint, or is incomplete.
    #[error("checkpoint line {line} is not `{expected} N`")]
    Line {
        /// Line, from 1.
        line: usize,
        /// The name expected there.
        expected: &'static str,
    },
    /// Written by another version.
    #[error("checkpoint has version {found}, this program reads version 1")]
    Version {
        /// The version that it names.
        found: u64,
    },
    /// The closing hash differs: the file is torn or edited.
    #[error("checkpoint is torn: its closing hash does not match")]
    Torn,
}

const NAMES: [&str; 13] = [
    "quayline-checkpoint",
    "source-bytes",
    "source-hash",
    "plan-hash",
    "offset",
    "next-record",
    "output-bytes",
    "rejects-bytes",
    "decoder",
    "records-in",
    "records-out",
    "records-rejected",
    "records-skipped",
];

impl Checkpoint {
    /// Returns the checkpoint as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let values = [
            1,
            self.digest.source_bytes,
            self.digest.source_hash,
            self.digest.plan_hash,
            self.offset.0,
            self.next.0,
            self.output_bytes,
            self.rejects_bytes,
            self.decoder,
            self.tally.records_in,
            self.tally.records_out,
            self.tally.records_rejected,
            self.tally.records_skipped,
        ];
        let mut text = String::new();
        for (name, value) in NAMES.iter().zip(values) {
            let line =
                if name.ends_with("hash") { format!("{name} {value:016x}\n") } else { format!("{name} {value}\n") };
            text.push_str(&line);
        }
        if !self.state.is_empty() {
            text.push_str("state ");
            text.push_str(&crate::hex(&self.state));
            text.push('\n');
        }
        let hash = fnv1a(text.as_bytes());
        text.push_str(&format!("end {hash:016x}\n"));
        text
    }

    /// Reads text that [`Checkpoint::to_text`] wrote.
    ///
    /// # Errors
    /// [`CheckpointError`] for a foreign, torn or newer file.
    pub fn from_text(text: &str) -> Result<Self, CheckpointError> {
        let mut lines = text.split_inclusive('\n');
        let mut values = [0u64; NAMES.len()];
        let mut read = 0usize;
        for (i, expected) in NAMES.into_iter().enumerate() {
            let error = CheckpointError::Line { line: i + 1, expected };
            let line = lines.next().ok_or(error.clone())?;
            read += line.len();
            let value =
                line.trim_end().strip_prefix(expected).and_then(|rest| rest.strip_prefix(' ')).ok_or(error.clone())?;
            let radix = if expected.ends_with("hash") { 16 } else { 10 };
            values[i] = u64::from_str_radix(value, radix).map_err(|_| error)?;
            if i == 0 && values[0] != 1 {
                return Err(CheckpointError::Version { found: values[0] });
            }
        }
        let mut state = Vec::new();
        let mut line = lines.next();
        if let Some(hex) = line.and_then(|line| line.strip_prefix("state ")) {
            let error = CheckpointError::Line { line: NAMES.len() + 1, expected: "state" };
            state = crate::from_hex(hex.trim_end()).ok_or(error)?;
            read += line.map_or(0, str::len);
            line = lines.next();
        }
        let end = line.and_then(|l| l.strip_prefix("end ")).and_then(|h| u64::from_str_radix(h.trim_end(), 16).ok());
        if end != Some(fnv1a(&text.as_bytes()[..read])) {
            return Err(CheckpointError::Torn);
        }
        let [_, source_bytes, source_hash, plan_hash, offset, next, output_bytes, rejects_bytes, decoder, a, b, c, d] =
            values;
        Ok(Checkpoint {
            digest: SourceDigest { source_bytes, source_hash, plan_hash },
            offset: ByteOffset(offset),
            next: RecordNumber(next),
            output_bytes,
            rejects_bytes,
            decoder,
            tally: Tally { records_in: a, records_out: b, records_rejected: c, records_skipped: d },
            state,
        })
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Checkpoint {
        Checkpoint {
            digest: SourceDigest { source_bytes: 10, source_hash: 11, plan_hash: u64::MAX },
            offset: ByteOffset(7),
            next: RecordNumber(3),
            output_bytes: 99,
            rejects_bytes: 0,
            decoder: 5,
            tally: Tally { records_in: 2, records_out: 1, records_rejected: 1, records_skipped: 0 },
            state: Vec::new(),
        }
    }

    fn with_state() -> Checkpoint {
        Checkpoint { state: vec![0, 255, 16], ..sample() }
    }

    #[test]
    fn a_checkpoint_survives_text() {
        assert_eq!(Checkpoint::from_text(&sample().to_text()), Ok(sample()));
        assert_eq!(Checkpoint::from_text(&with_state().to_text()), Ok(with_state()));
    }

    #[test]
    fn every_torn_checkpoint_is_refused() {
        for text in [sample().to_text(), with_state().to_text()] {
            for cut in 0..text.len() - 1 {
                assert!(Checkpoint::from_text(&text[..cut]).is_err(), "cut at {cut}");
            }
        }
    }
}
