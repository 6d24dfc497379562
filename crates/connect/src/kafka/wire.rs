//! Types of the protocol in their first encoding: big-endian numbers, lengths before texts and lists.

use super::connection::KafkaError;

/// Bytes of a request.
#[derive(Debug, Default)]
pub(super) struct Out(pub(super) Vec<u8>);

impl Out {
    pub(super) fn i8(&mut self, value: i8) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(super) fn i16(&mut self, value: i16) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(super) fn i32(&mut self, value: i32) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(super) fn i64(&mut self, value: i64) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.i16(i16::try_from(text.len()).expect("names are shorter than 32 KB")).bytes(text.as_bytes())
    }

    pub(super) fn no_text(&mut self) -> &mut Self {
        self.i16(-1)
    }

    /// Writes a count of items or bytes.
    pub(super) fn count(&mut self, count: usize) -> &mut Self {
        self.i32(i32::try_from(count).expect("limits keep requests below 2 GB"))
    }

    /// Writes a zigzag-encoded integer of variable length (seven bits in each byte).
    pub(super) fn var(&mut self, value: i64) -> &mut Self {
        let mut rest = (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned();
        loop {
            let [low, ..] = rest.to_le_bytes();
            rest >>= 7;
            if rest == 0 {
                self.0.push(low & 0x7f);
                return self;
            }
            self.0.push(low | 0x80);
        }
    }

    /// Bytes after their length, or null.
    pub(super) fn var_bytes(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            None => self.var(-1),
            Some(bytes) => self.var(i64::try_from(bytes.len()).unwrap_or(i64::MAX)).bytes(bytes),
        }
    }
}

/// Bytes of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct In<'a>(pub(super) &'a [u8]);

impl<'a> In<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], KafkaError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(KafkaError::Answer("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], KafkaError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(KafkaError::Answer("it ends too early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn i8(&mut self) -> Result<i8, KafkaError> {
        self.array().map(i8::from_be_bytes)
    }

    pub(super) fn i16(&mut self) -> Result<i16, KafkaError> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, KafkaError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, KafkaError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, KafkaError> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads a text; null becomes `None`.
    pub(super) fn text(&mut self) -> Result<Option<&'a str>, KafkaError> {
        let Ok(length) = usize::try_from(self.i16()?) else { return Ok(None) };
        std::str::from_utf8(self.take(length)?).map(Some).map_err(|_| KafkaError::Answer("a text is not UTF-8"))
    }

    pub(super) fn name(&mut self) -> Result<&'a str, KafkaError> {
        self.text()?.ok_or(KafkaError::Answer("a name is null"))
    }

    /// Reads the number of items of a list (0 for null). An item has at least one byte, so the rest of the input bounds it.
    pub(super) fn count(&mut self) -> Result<usize, KafkaError> {
        let count = usize::try_from(self.i32()?).unwrap_or(0);
        if count > self.0.len() {
            return Err(KafkaError::Answer("a list has more items than bytes"));
        }
        Ok(count)
    }

    /// Bytes after their length; null is empty.
    pub(super) fn sized(&mut self) -> Result<&'a [u8], KafkaError> {
        let length = usize::try_from(self.i32()?).unwrap_or(0);
        self.take(length)
    }

    /// Numbers of a list.
    pub(super) fn numbers(&mut self) -> Result<(), KafkaError> {
        for _ in 0..self.count()? {
            self.i32()?;
        }
        Ok(())
    }

    pub(super) fn var(&mut self) -> Result<i64, KafkaError> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(KafkaError::Answer("a number has more than 10 bytes"))
    }

    pub(super) fn var_bytes(&mut self) -> Result<Option<&'a [u8]>, KafkaError> {
        match self.var()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.take(length).map(Some),
                Err(_) => Err(KafkaError::Answer("a length is negative")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_variable_length_come_back() {
        for value in [0, -1, 1, 63, 64, -64, -65, 300, i64::from(i32::MIN), i64::MAX, i64::MIN] {
            let mut out = Out::default();
            out.var(value);
            let mut input = In(&out.0);
            assert_eq!(input.var().expect("a number"), value);
            assert!(input.0.is_empty());
            assert!(In(&out.0[..out.0.len() - 1]).var().is_err());
        }
        // The examples of the encoding's specification.
        let mut out = Out::default();
        out.var(-1).var(1).var(-2).var(150);
        assert_eq!(out.0, [1, 2, 3, 0xac, 2]);
        assert!(In(&[0xff; 11]).var().is_err());
    }
}
