//! The manifest of a save in parts: lines of text, the last of which is a checksum.
//!
//! ```text
//! quayline save in parts, version 1
//! state unfinished
//! position 77160
//! part 1 entries 41210 bytes 67110044 content 6f0c…(32 digits) last 00000010c1f2…
//! sum 0123456789abcdef
//! ```

use std::fmt::Write as _;

use xxhash_rust::xxh3::xxh3_64;

use super::VERSION;
use crate::{Position, StoreError};

/// Name of the manifest in its folder.
pub(super) const MANIFEST: &str = "manifest";
/// Name under which it is written.
pub(super) const MANIFEST_PARTIAL: &str = "manifest.partial";
/// Name under which a part is written.
pub(super) const PART_PARTIAL: &str = "part.partial";
/// First words of every manifest.
pub(super) const TITLE: &str = "quayline save in parts, version ";
/// Longest manifest that a reader takes: some hundred thousand parts.
pub(super) const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// Parsed manifest: the contents of a folder.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Manifest {
    pub(super) is_complete: bool,
    /// Position of the snapshot that the parts contain, valid when the save is complete.
    pub(super) position: Position,
    /// Ascending by their keys.
    pub(super) parts: Vec<Part>,
}

/// A finished part.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) entries: u64,
    pub(super) bytes: u64,
    /// Digest of the entries.
    pub(super) content: u128,
    /// Last key that belongs to it.
    pub(super) last: Vec<u8>,
}

impl Part {
    /// Returns the file name of the part.
    pub(super) fn file(&self) -> String {
        format!("part-{:06}-{:016x}.qls", self.number, self.content >> 64)
    }
}

/// Returns true if a name has the form of a part's file name.
pub(super) fn is_part(name: &str) -> bool {
    let rest = name.strip_prefix("part-").and_then(|rest| rest.strip_suffix(".qls"));
    rest.and_then(|rest| rest.split_once('-')).is_some_and(|(number, digest)| {
        number.bytes().all(|byte| byte.is_ascii_digit()) && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

impl Manifest {
    pub(super) fn text(&self) -> String {
        let state = if self.is_complete { "complete" } else { "unfinished" };
        let mut text = format!("{TITLE}{VERSION}\nstate {state}\nposition {}\n", self.position);
        for Part { number, entries, bytes, content, last } in &self.parts {
            let _ = write!(text, "part {number} entries {entries} bytes {bytes} content {content:032x} last ");
            for byte in last {
                let _ = write!(text, "{byte:02x}");
            }
            text.push('\n');
        }
        let _ = writeln!(text, "sum {:016x}", xxh3_64(text.as_bytes()));
        text
    }

    /// Reads the text of a manifest. `name` is for errors.
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, StoreError> {
        let bad = |byte: usize, what: &str| StoreError::BadSave {
            file: name.to_owned(),
            byte: byte as u64,
            what: what.to_owned(),
        };
        let sum_at = text.rfind("sum ").ok_or_else(|| bad(0, "the manifest has no checksum"))?;
        if text[sum_at..] != format!("sum {:016x}\n", xxh3_64(&text.as_bytes()[..sum_at])) {
            return Err(bad(sum_at, "the checksum of the manifest does not hold"));
        }
        let mut manifest = Manifest::default();
        let mut at = 0;
        for (number, line) in text[..sum_at].lines().enumerate() {
            let wrong = || bad(at, "a line of the manifest is malformed");
            match number {
                0 => {
                    let found = line.strip_prefix(TITLE).and_then(|version| version.parse::<u32>().ok());
                    match found.ok_or_else(wrong)? {
                        VERSION => {}
                        found => return Err(StoreError::Version { file: name.to_owned(), found, known: VERSION }),
                    }
                }
                1 => {
                    manifest.is_complete = match line {
                        "state complete" => true,
                        "state unfinished" => false,
                        _ => return Err(wrong()),
                    }
                }
                2 => {
                    let position = line.strip_prefix("position ").and_then(|number| number.parse().ok());
                    manifest.position = Position(position.ok_or_else(wrong)?);
                }
                _ => {
                    let part = part(line).ok_or_else(wrong)?;
                    if manifest.parts.last().is_some_and(|before| before.last >= part.last) {
                        return Err(bad(at, "the parts of the manifest are not ascending"));
                    }
                    manifest.parts.push(part);
                }
            }
            at += line.len() + 1;
        }
        Ok(manifest)
    }
}

fn part(line: &str) -> Option<Part> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["part", number, "entries", entries, "bytes", bytes, "content", content, "last", last] = words.as_slice()
    else {
        return None;
    };
    let last = quayline_core::from_hex(last).filter(|last| last.len() >= 4)?;
    Some(Part {
        number: number.parse().ok()?,
        entries: entries.parse().ok()?,
        bytes: bytes.parse().ok()?,
        content: u128::from_str_radix(content, 16).ok()?,
        last,
    })
}
