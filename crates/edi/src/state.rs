//! State of readers and writers as bytes, for checkpoints.
//!
//! A sequence of numbers (seven bits in each byte, low ones first; the highest bit means that more follow) and of byte strings (their length as a
//! number, then the bytes), in the order of the fields of the structures. It is not an exchange format: a checkpoint is read by the
//! version that wrote it, which the digest of its settings ensures.

/// Writes a state.
#[derive(Debug, Default)]
pub(crate) struct StateWriter {
    pub(crate) bytes: Vec<u8>,
}

impl StateWriter {
    pub(crate) fn new() -> Self {
        StateWriter::default()
    }

    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.number(u64::from(flag));
    }

    pub(crate) fn text(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn list(&mut self, numbers: &[u32]) {
        self.number(numbers.len() as u64);
        numbers.iter().for_each(|number| self.number((*number).into()));
    }
}

/// Reads the output of [`StateWriter`]; `None` for other bytes.
#[derive(Debug)]
pub(crate) struct StateReader<'a> {
    bytes: &'a [u8],
}

impl<'a> StateReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        StateReader { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(text)
    }

    pub(crate) fn list(&mut self) -> Option<Vec<u32>> {
        let len = usize::try_from(self.number()?).ok()?;
        // Each number takes a byte at least.
        if len > self.bytes.len() {
            return None;
        }
        (0..len).map(|_| self.small()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut writer = StateWriter::new();
        for number in [0, 1, 127, 128, 300, u64::MAX] {
            writer.number(number);
        }
        writer.flag(true);
        writer.text(b"ISA");
        writer.list(&[3, 6, 70_000]);
        let mut reader = StateReader::new(&writer.bytes);
        for number in [0, 1, 127, 128, 300, u64::MAX] {
            assert_eq!(reader.number(), Some(number));
        }
        assert_eq!(reader.flag(), Some(true));
        assert_eq!(reader.text(), Some(&b"ISA"[..]));
        assert_eq!(reader.list(), Some(vec![3, 6, 70_000]));
        assert!(reader.is_empty());
        for cut in 0..writer.bytes.len() {
            let mut reader = StateReader::new(&writer.bytes[..cut]);
            let all = (0..6).try_for_each(|_| reader.number().map(|_| ()));
            let all = all.and_then(|()| reader.flag()).and_then(|_| reader.text().map(|_| ()));
            assert_eq!(all.and_then(|()| reader.list()), None, "cut at {cut}");
        }
    }
}
