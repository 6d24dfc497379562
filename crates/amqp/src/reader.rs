//! Decoding: bounds are checked at each step, nesting and counts are limited, and each byte is read once.

use crate::codes::{self, *};
use crate::value::{Array, Value};

/// Deepest nesting of lists, maps, arrays and descriptors. Real messages have four or five.
pub const NESTING_MAX: usize = 32;
/// Maximum number of elements of an array whose elements take no bytes, such as an array of nulls. Only this limit bounds their number.
pub const EMPTY_ITEMS_MAX: usize = 16;

/// Reason why bytes violate the standard. `at` counts from the first byte of the decoded input: a frame's body or a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside a value.
    #[error("the bytes end at {at}, inside a value")]
    Short {
        /// Place of the end.
        at: usize,
    },
    /// The constructor is unknown.
    #[error("byte {at} is {code:#04x}, which is not a constructor of a type")]
    Constructor {
        /// Place of the constructor.
        at: usize,
        /// The constructor.
        code: u8,
    },
    /// The value has another type than the field requires.
    #[error("byte {at} begins a value of constructor {code:#04x}, expected {expected}")]
    Type {
        /// Place of the constructor.
        at: usize,
        /// The constructor.
        code: u8,
        /// Name of the field.
        expected: &'static str,
    },
    /// A size or count contradicts the bytes after it.
    #[error("the size or count at byte {at} contradicts what follows")]
    Size {
        /// Place after the count.
        at: usize,
    },
    /// Text is not UTF-8, a symbol is not ASCII, or a character is invalid.
    #[error("the text at byte {at} is not {expected}")]
    Text {
        /// Place of the text.
        at: usize,
        /// The encoding.
        expected: &'static str,
    },
    /// Nested too deeply.
    #[error("byte {at} begins a value nested deeper than {NESTING_MAX}")]
    Depth {
        /// Place of the constructor.
        at: usize,
    },
    /// A described type that is not expected here.
    #[error("byte {at} begins a described type that is not expected here")]
    Descriptor {
        /// Place of the descriptor.
        at: usize,
    },
    /// A mandatory field is missing.
    #[error("the mandatory field {field} is missing")]
    Missing {
        /// Name of the field.
        field: &'static str,
    },
    /// Sections of a message in another order than the standard's.
    #[error("the section at byte {at} comes after a section that must follow it")]
    Order {
        /// Place of the section.
        at: usize,
    },
}

/// Reads values one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the beginning of some bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// Returns the offset of the next byte.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns whether everything was read.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns the unread bytes.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(DecodeError::Short { at: self.bytes.len() })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    fn length32(&mut self) -> Result<usize, DecodeError> {
        let length = u32::from_be_bytes(self.array()?);
        usize::try_from(length).map_err(|_| DecodeError::Size { at: self.at })
    }

    /// Returns the next constructor without consuming it.
    ///
    /// # Errors
    /// [`DecodeError::Short`].
    pub fn peek(&self) -> Result<u8, DecodeError> {
        self.bytes.get(self.at).copied().ok_or(DecodeError::Short { at: self.bytes.len() })
    }

    /// Reads the constructor of a field. Returns `None` for null, and at the end of a list, where fields are null.
    fn code(&mut self) -> Result<Option<u8>, DecodeError> {
        let code = self.byte()?;
        Ok((code != NULL).then_some(code))
    }

    fn wrong<T>(&self, code: u8, expected: &'static str) -> Result<T, DecodeError> {
        Err(DecodeError::Type { at: self.at - 1, code, expected })
    }

    /// Skips one value and returns its bytes, including the constructor. The content of a list, map or array is not examined.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn skip(&mut self) -> Result<&'a [u8], DecodeError> {
        let begin = self.at;
        self.pass(0)?;
        Ok(&self.bytes[begin..self.at])
    }

    /// Skips one value at a given depth of descriptors. The depth limit is that of [`Reader::value`].
    fn pass(&mut self, depth: usize) -> Result<(), DecodeError> {
        let at = self.at;
        let code = self.byte()?;
        if code == DESCRIBED {
            if depth >= NESTING_MAX {
                return Err(DecodeError::Depth { at });
            }
            self.pass(depth + 1)?;
            return self.pass(depth + 1);
        }
        if !codes::is_known(code) {
            return Err(DecodeError::Constructor { at, code });
        }
        let length = match code >> 4 {
            0x4 => 0,
            0x5 => 1,
            0x6 => 2,
            0x7 => 4,
            0x8 => 8,
            0x9 => 16,
            0xa | 0xc | 0xe => usize::from(self.byte()?),
            _ => self.length32()?,
        };
        self.take(length)?;
        Ok(())
    }

    /// Reads a boolean field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn boolean(&mut self) -> Result<Option<bool>, DecodeError> {
        let Some(code) = self.code()? else { return Ok(None) };
        match code {
            TRUE => Ok(Some(true)),
            FALSE => Ok(Some(false)),
            BOOLEAN => match self.byte()? {
                0 => Ok(Some(false)),
                1 => Ok(Some(true)),
                _ => Err(DecodeError::Size { at: self.at - 1 }),
            },
            _ => self.wrong(code, "a boolean"),
        }
    }

    /// Reads a ubyte field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn ubyte(&mut self) -> Result<Option<u8>, DecodeError> {
        match self.code()? {
            None => Ok(None),
            Some(UBYTE) => self.byte().map(Some),
            Some(code) => self.wrong(code, "a ubyte"),
        }
    }

    /// Reads a ushort field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn ushort(&mut self) -> Result<Option<u16>, DecodeError> {
        match self.code()? {
            None => Ok(None),
            Some(USHORT) => self.array().map(u16::from_be_bytes).map(Some),
            Some(code) => self.wrong(code, "a ushort"),
        }
    }

    /// Reads a uint field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn uint(&mut self) -> Result<Option<u32>, DecodeError> {
        match self.code()? {
            None => Ok(None),
            Some(UINT0) => Ok(Some(0)),
            Some(SMALL_UINT) => Ok(Some(u32::from(self.byte()?))),
            Some(UINT) => self.array().map(u32::from_be_bytes).map(Some),
            Some(code) => self.wrong(code, "a uint"),
        }
    }

    /// Reads a ulong field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn ulong(&mut self) -> Result<Option<u64>, DecodeError> {
        match self.code()? {
            None => Ok(None),
            Some(ULONG0) => Ok(Some(0)),
            Some(SMALL_ULONG) => Ok(Some(u64::from(self.byte()?))),
            Some(ULONG) => self.array().map(u64::from_be_bytes).map(Some),
            Some(code) => self.wrong(code, "a ulong"),
        }
    }

    /// Reads a timestamp field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn timestamp(&mut self) -> Result<Option<i64>, DecodeError> {
        match self.code()? {
            None => Ok(None),
            Some(TIMESTAMP) => self.array().map(i64::from_be_bytes).map(Some),
            Some(code) => self.wrong(code, "a timestamp"),
        }
    }

    /// Reads a binary field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn binary(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        let length = match self.code()? {
            None => return Ok(None),
            Some(BIN8) => usize::from(self.byte()?),
            Some(BIN32) => self.length32()?,
            Some(code) => return self.wrong(code, "a binary"),
        };
        self.take(length).map(Some)
    }

    /// Reads a string field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn string(&mut self) -> Result<Option<&'a str>, DecodeError> {
        let length = match self.code()? {
            None => return Ok(None),
            Some(STR8) => usize::from(self.byte()?),
            Some(STR32) => self.length32()?,
            Some(code) => return self.wrong(code, "a string"),
        };
        self.utf8(length).map(Some)
    }

    fn utf8(&mut self, length: usize) -> Result<&'a str, DecodeError> {
        let at = self.at;
        std::str::from_utf8(self.take(length)?).map_err(|_| DecodeError::Text { at, expected: "UTF-8" })
    }

    fn ascii(&mut self, length: usize) -> Result<&'a str, DecodeError> {
        let at = self.at;
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
        text.ok_or(DecodeError::Text { at, expected: "ASCII" })
    }

    /// Reads a symbol field.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn symbol(&mut self) -> Result<Option<&'a str>, DecodeError> {
        let length = match self.code()? {
            None => return Ok(None),
            Some(SYM8) => usize::from(self.byte()?),
            Some(SYM32) => self.length32()?,
            Some(code) => return self.wrong(code, "a symbol"),
        };
        self.ascii(length).map(Some)
    }

    /// Reads a field that may have several symbols: one symbol or an array.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn symbols(&mut self) -> Result<Vec<String>, DecodeError> {
        let at = self.at;
        let code = self.peek()?;
        let of = |value| match value {
            Value::Symbol(symbol) => Some(symbol),
            _ => None,
        };
        let symbols = match self.value()? {
            Value::Null => Some(Vec::new()),
            Value::Array(array) if array.descriptors.is_empty() => array.items.into_iter().map(of).collect(),
            other => of(other).map(|symbol| vec![symbol]),
        };
        symbols.ok_or(DecodeError::Type { at, code, expected: "symbols" })
    }

    /// Reads the descriptor of a composite type, as its code. Symbolic descriptors have the codes of the standard.
    ///
    /// # Errors
    /// [`DecodeError`]; [`DecodeError::Descriptor`] for a type that the standard does not have.
    pub fn descriptor(&mut self) -> Result<u64, DecodeError> {
        let at = self.at;
        let code = self.byte()?;
        if code != DESCRIBED {
            return self.wrong(code, "a described type");
        }
        let found = match self.peek()? {
            SYM8 | SYM32 => self.symbol()?.and_then(|symbol| codes::of_symbol(symbol.as_bytes())),
            _ => self.ulong()?,
        };
        found.ok_or(DecodeError::Descriptor { at })
    }

    /// Reads the fields of a list.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn fields(&mut self) -> Result<Fields<'a>, DecodeError> {
        let code = self.byte()?;
        let (size, count) = match code {
            LIST0 => return Ok(Fields { reader: Reader { bytes: &[], at: 0 }, left: 0 }),
            LIST8 => (usize::from(self.byte()?), None),
            LIST32 => (self.length32()?, Some(())),
            _ => return self.wrong(code, "a list"),
        };
        let at = self.at;
        let content = self.take(size)?;
        // Places keep counting from the beginning of the whole.
        let mut reader = Reader { bytes: &self.bytes[..at + content.len()], at };
        let left = match count {
            None => usize::from(reader.byte()?),
            Some(()) => reader.length32()?,
        };
        if left > reader.rest().len() {
            return Err(DecodeError::Size { at: reader.at });
        }
        Ok(Fields { reader, left })
    }

    /// Reads any value.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn value(&mut self) -> Result<Value, DecodeError> {
        self.nested(0)
    }

    fn nested(&mut self, depth: usize) -> Result<Value, DecodeError> {
        let at = self.at;
        let code = self.byte()?;
        if code == DESCRIBED {
            if depth >= NESTING_MAX {
                return Err(DecodeError::Depth { at });
            }
            let descriptor = self.nested(depth + 1)?;
            let value = self.nested(depth + 1)?;
            return Ok(Value::Described(Box::new((descriptor, value))));
        }
        self.constructed(code, at, depth)
    }

    /// Reads the value of a constructor that begins at `at`.
    fn constructed(&mut self, code: u8, at: usize, depth: usize) -> Result<Value, DecodeError> {
        Ok(match code {
            NULL => Value::Null,
            TRUE => Value::Boolean(true),
            FALSE => Value::Boolean(false),
            BOOLEAN => match self.byte()? {
                0 => Value::Boolean(false),
                1 => Value::Boolean(true),
                _ => return Err(DecodeError::Size { at: self.at - 1 }),
            },
            UBYTE => Value::Ubyte(self.byte()?),
            USHORT => Value::Ushort(u16::from_be_bytes(self.array()?)),
            UINT0 => Value::Uint(0),
            SMALL_UINT => Value::Uint(u32::from(self.byte()?)),
            UINT => Value::Uint(u32::from_be_bytes(self.array()?)),
            ULONG0 => Value::Ulong(0),
            SMALL_ULONG => Value::Ulong(u64::from(self.byte()?)),
            ULONG => Value::Ulong(u64::from_be_bytes(self.array()?)),
            BYTE => Value::Byte(i8::from_be_bytes(self.array()?)),
            SHORT => Value::Short(i16::from_be_bytes(self.array()?)),
            SMALL_INT => Value::Int(i32::from(i8::from_be_bytes(self.array()?))),
            INT => Value::Int(i32::from_be_bytes(self.array()?)),
            SMALL_LONG => Value::Long(i64::from(i8::from_be_bytes(self.array()?))),
            LONG => Value::Long(i64::from_be_bytes(self.array()?)),
            FLOAT => Value::Float(u32::from_be_bytes(self.array()?)),
            DOUBLE => Value::Double(u64::from_be_bytes(self.array()?)),
            DECIMAL32 => Value::Decimal32(self.array()?),
            DECIMAL64 => Value::Decimal64(self.array()?),
            DECIMAL128 => Value::Decimal128(self.array()?),
            CHAR => {
                let character = char::from_u32(u32::from_be_bytes(self.array()?));
                Value::Char(character.ok_or(DecodeError::Text { at: at + 1, expected: "a Unicode character" })?)
            }
            TIMESTAMP => Value::Timestamp(i64::from_be_bytes(self.array()?)),
            UUID => Value::Uuid(self.array()?),
            BIN8 | BIN32 => {
                let length = self.length(code)?;
                Value::Binary(self.take(length)?.to_vec())
            }
            STR8 | STR32 => {
                let length = self.length(code)?;
                Value::String(self.utf8(length)?.to_owned())
            }
            SYM8 | SYM32 => {
                let length = self.length(code)?;
                Value::Symbol(self.ascii(length)?.to_owned())
            }
            LIST0 => Value::List(Vec::new()),
            LIST8 | LIST32 | MAP8 | MAP32 | ARRAY8 | ARRAY32 => self.compound(code, at, depth)?,
            _ => return Err(DecodeError::Constructor { at, code }),
        })
    }

    /// Reads the length of the content: one byte for constructors 0xa., 0xc. and 0xe., otherwise four.
    fn length(&mut self, code: u8) -> Result<usize, DecodeError> {
        if code & 0x10 == 0 { self.byte().map(usize::from) } else { self.length32() }
    }

    fn compound(&mut self, code: u8, at: usize, depth: usize) -> Result<Value, DecodeError> {
        if depth >= NESTING_MAX {
            return Err(DecodeError::Depth { at });
        }
        let size = self.length(code)?;
        let begin = self.at;
        self.take(size)?;
        let mut inner = Reader { bytes: &self.bytes[..self.at], at: begin };
        let count = inner.length(code)?;
        let counted = inner.at;
        let wrong = Err(DecodeError::Size { at: counted });
        let value = if matches!(code, ARRAY8 | ARRAY32) {
            Value::Array(inner.array_items(count, depth)?)
        } else {
            // Each value takes a byte at least.
            if count > inner.rest().len() {
                return wrong;
            }
            let mut values = (0..count).map(|_| inner.nested(depth + 1)).collect::<Result<Vec<_>, _>>()?;
            if matches!(code, LIST8 | LIST32) {
                Value::List(values)
            } else {
                if count % 2 == 1 {
                    return wrong;
                }
                let mut pairs = Vec::with_capacity(count / 2);
                let mut values = values.drain(..);
                while let (Some(key), Some(value)) = (values.next(), values.next()) {
                    pairs.push((key, value));
                }
                Value::Map(pairs)
            }
        };
        if inner.is_at_end() { Ok(value) } else { wrong }
    }

    fn array_items(&mut self, count: usize, depth: usize) -> Result<Array, DecodeError> {
        let mut descriptors = Vec::new();
        let mut at = self.at;
        let mut code = self.byte()?;
        while code == DESCRIBED {
            if depth + descriptors.len() >= NESTING_MAX {
                return Err(DecodeError::Depth { at });
            }
            descriptors.push(self.nested(depth + 1)?);
            at = self.at;
            code = self.byte()?;
        }
        if !codes::is_known(code) {
            return Err(DecodeError::Constructor { at, code });
        }
        let is_bounded = match code >> 4 {
            0x4 => count <= EMPTY_ITEMS_MAX,
            _ => count <= self.rest().len(),
        };
        if !is_bounded {
            return Err(DecodeError::Size { at });
        }
        let items = (0..count).map(|_| self.constructed(code, at, depth + 1)).collect::<Result<_, _>>()?;
        Ok(Array { code, descriptors, items })
    }
}

/// The fields of a list. A field after the last is null.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Fields<'a> {
    /// Reads the next field; `read` is not called for a field after the last.
    ///
    /// # Errors
    /// The error of `read`.
    pub fn next<T: Default>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.left == 0 {
            return Ok(T::default());
        }
        self.left -= 1;
        read(&mut self.reader)
    }

    /// Reads the next field, which must have a value.
    ///
    /// # Errors
    /// [`DecodeError::Missing`], or the error of `read`.
    pub fn must<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(&mut Reader<'a>) -> Result<Option<T>, DecodeError>,
    ) -> Result<T, DecodeError> {
        self.next(read)?.ok_or(DecodeError::Missing { field })
    }

    /// Reads the next field as any value; `None` is null.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn any(&mut self) -> Result<Option<Value>, DecodeError> {
        self.next(|reader| reader.value().map(|value| (value != Value::Null).then_some(value)))
    }

    /// Reads the next field as a composite type; `None` is null.
    ///
    /// # Errors
    /// The error of `read`.
    pub fn composite<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        self.next(|reader| {
            if reader.peek()? == NULL {
                reader.byte()?;
                return Ok(None);
            }
            read(reader).map(Some)
        })
    }
}
