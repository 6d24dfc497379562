//! Frames of the protocol: bytes in, frames out. No process is known here.
//!
//! ```text
//! VERB COUNT LF          COUNT fields follow
//! LENGTH LF bytes LF     a field of LENGTH bytes
//! - LF                   a field without a value
//! ```

/// Longest line: a verb and a number.
const LINE_BYTES_MAX: usize = 64;
/// Most fields of a frame.
const FIELDS_MAX: usize = 1 << 20;
/// Most bytes of a frame, so that a wrong program cannot fill the memory.
pub(super) const FRAME_BYTES_MAX: usize = 256 << 20;

/// A field: bytes, or no value.
pub(super) type Field = Option<Vec<u8>>;

/// A frame that arrived.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Frame {
    pub(super) verb: String,
    pub(super) fields: Vec<Field>,
}

/// Reason why bytes are not a frame.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum WireError {
    #[error("a line has more than {LINE_BYTES_MAX} bytes, expected a verb and a number")]
    LongLine,
    #[error("a frame begins with a line that is not a verb and a number")]
    BadHead,
    #[error("field {field} begins with a line that is neither a length nor `-`")]
    BadLength { field: usize },
    #[error("no line feed follows the bytes of field {field}")]
    NoLineFeed { field: usize },
    #[error("a frame has {found} fields, at most {FIELDS_MAX} are allowed")]
    Fields { found: usize },
    #[error("a frame has more than {FRAME_BYTES_MAX} bytes")]
    Bytes,
}

/// Appends a frame.
pub(super) fn encode(out: &mut Vec<u8>, verb: &str, fields: &[Option<&[u8]>]) {
    out.extend_from_slice(format!("{verb} {}\n", fields.len()).as_bytes());
    for field in fields {
        match field {
            None => out.extend_from_slice(b"-\n"),
            Some(bytes) => {
                out.extend_from_slice(format!("{}\n", bytes.len()).as_bytes());
                out.extend_from_slice(bytes);
                out.push(b'\n');
            }
        }
    }
}

/// Makes frames of bytes that arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    at: usize,
    head: Option<(String, usize)>,
    fields: Vec<Field>,
    /// Bytes of the fields so far.
    size: usize,
}

impl Decoder {
    /// Appends received bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.at));
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next frame, or `None` if it is incomplete.
    pub(super) fn frame(&mut self) -> Result<Option<Frame>, WireError> {
        if self.head.is_none() {
            let Some((line, next)) = self.line()? else { return Ok(None) };
            let text = std::str::from_utf8(line).map_err(|_| WireError::BadHead)?;
            let (verb, count) = text.split_once(' ').ok_or(WireError::BadHead)?;
            let is_verb = !verb.is_empty() && verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            let count: usize = count.parse().map_err(|_| WireError::BadHead)?;
            if !is_verb {
                return Err(WireError::BadHead);
            }
            if count > FIELDS_MAX {
                return Err(WireError::Fields { found: count });
            }
            self.head = Some((verb.to_owned(), count));
            self.at = next;
        }
        let count = self.head.as_ref().map_or(0, |(_, count)| *count);
        while self.fields.len() < count {
            let field = self.fields.len() + 1;
            let Some((line, next)) = self.line()? else { return Ok(None) };
            if line == b"-" {
                self.fields.push(None);
                self.at = next;
                continue;
            }
            let length = std::str::from_utf8(line).ok().and_then(|text| text.parse::<usize>().ok());
            let length = length.ok_or(WireError::BadLength { field })?;
            if self.size.saturating_add(length) > FRAME_BYTES_MAX {
                return Err(WireError::Bytes);
            }
            let Some(after) = self.bytes.get(next + length) else { return Ok(None) };
            if *after != b'\n' {
                return Err(WireError::NoLineFeed { field });
            }
            self.fields.push(Some(self.bytes[next..next + length].to_vec()));
            self.size += length;
            self.at = next + length + 1;
        }
        let (verb, _) = self.head.take().unwrap_or_default();
        self.size = 0;
        Ok(Some(Frame { verb, fields: std::mem::take(&mut self.fields) }))
    }

    /// Returns the line that begins here, and the beginning of the next one.
    fn line(&self) -> Result<Option<(&[u8], usize)>, WireError> {
        let rest = &self.bytes[self.at..];
        let head = &rest[..rest.len().min(LINE_BYTES_MAX)];
        match head.iter().position(|byte| *byte == b'\n') {
            Some(length) => Ok(Some((&rest[..length], self.at + length + 1))),
            None if rest.len() >= LINE_BYTES_MAX => Err(WireError::LongLine),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(pieces: &[&[u8]]) -> Result<Vec<Frame>, WireError> {
        let mut decoder = Decoder::default();
        let mut found = Vec::new();
        for piece in pieces {
            decoder.push(piece);
            while let Some(frame) = decoder.frame()? {
                found.push(frame);
            }
        }
        Ok(found)
    }

    /// Reads each vector whole, byte by byte, and split at each position.
    fn check(bytes: &[u8], expected: &Result<Vec<Frame>, WireError>) {
        assert_eq!(frames(&[bytes]), *expected);
        assert_eq!(frames(&bytes.chunks(1).collect::<Vec<_>>()), *expected);
        for at in 0..bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(frames(&[left, right]), *expected, "split at {at}");
        }
    }

    #[test]
    fn frames_come_back_as_they_were_written() {
        let mut bytes = Vec::new();
        encode(&mut bytes, "ok", &[Some(b"a\nb"), None, Some(b"")]);
        encode(&mut bytes, "throw", &[]);
        assert_eq!(bytes, b"ok 3\n3\na\nb\n-\n0\n\nthrow 0\n");
        let first = Frame { verb: "ok".to_owned(), fields: vec![Some(b"a\nb".to_vec()), None, Some(Vec::new())] };
        check(&bytes, &Ok(vec![first, Frame { verb: "throw".to_owned(), fields: Vec::new() }]));
    }

    #[test]
    fn what_is_no_frame_is_refused_where_it_is_wrong() {
        check(b"hello world\n", &Err(WireError::BadHead));
        check(b"OK 0\n", &Err(WireError::BadHead));
        check(b"ok 1\nx\n", &Err(WireError::BadLength { field: 1 }));
        check(b"ok 2\n-\n1\nab", &Err(WireError::NoLineFeed { field: 2 }));
        check(b"ok 9999999\n", &Err(WireError::Fields { found: 9_999_999 }));
        check(&[b'a'; 64], &Err(WireError::LongLine));
        check(b"ok 1\n999999999999\n", &Err(WireError::Bytes));
    }
}
