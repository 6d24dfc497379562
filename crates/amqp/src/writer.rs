//! Encoding: the shortest form of each value.

use crate::codes::*;
use crate::value::{Array, Value};

/// Longest encoding of a string, list or the like. Frames and messages are far below.
const LENGTH: &str = "limits keep values below 4 GB";

fn length32(length: usize) -> [u8; 4] {
    u32::try_from(length).expect(LENGTH).to_be_bytes()
}

fn variable(out: &mut Vec<u8>, short: u8, bytes: &[u8]) {
    match u8::try_from(bytes.len()) {
        Ok(length) => out.extend_from_slice(&[short, length]),
        Err(_) => {
            out.push(short | 0x10);
            out.extend_from_slice(&length32(bytes.len()));
        }
    }
    out.extend_from_slice(bytes);
}

/// Writes a uint.
pub fn uint(out: &mut Vec<u8>, value: u32) {
    match u8::try_from(value) {
        Ok(0) => out.push(UINT0),
        Ok(small) => out.extend_from_slice(&[SMALL_UINT, small]),
        Err(_) => {
            out.push(UINT);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

/// Writes a ulong.
pub fn ulong(out: &mut Vec<u8>, value: u64) {
    match u8::try_from(value) {
        Ok(0) => out.push(ULONG0),
        Ok(small) => out.extend_from_slice(&[SMALL_ULONG, small]),
        Err(_) => {
            out.push(ULONG);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

/// Writes a boolean.
pub fn boolean(out: &mut Vec<u8>, value: bool) {
    out.push(if value { TRUE } else { FALSE });
}

/// Writes a binary.
pub fn binary(out: &mut Vec<u8>, value: &[u8]) {
    variable(out, BIN8, value);
}

/// Writes a string.
pub fn string(out: &mut Vec<u8>, value: &str) {
    variable(out, STR8, value.as_bytes());
}

/// Writes a symbol.
pub fn symbol(out: &mut Vec<u8>, value: &str) {
    variable(out, SYM8, value.as_bytes());
}

/// Writes a descriptor of the standard.
pub fn descriptor(out: &mut Vec<u8>, code: u64) {
    out.push(DESCRIBED);
    ulong(out, code);
}

/// Writes any value.
pub fn value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(NULL),
        Value::Boolean(value) => boolean(out, *value),
        Value::Ubyte(value) => out.extend_from_slice(&[UBYTE, *value]),
        Value::Uint(value) => uint(out, *value),
        Value::Ulong(value) => ulong(out, *value),
        Value::Int(value) => match i8::try_from(*value) {
            Ok(small) => out.extend_from_slice(&[SMALL_INT, small.to_be_bytes()[0]]),
            Err(_) => fixed(out, INT, &value.to_be_bytes()),
        },
        Value::Long(value) => match i8::try_from(*value) {
            Ok(small) => out.extend_from_slice(&[SMALL_LONG, small.to_be_bytes()[0]]),
            Err(_) => fixed(out, LONG, &value.to_be_bytes()),
        },
        Value::Binary(value) => binary(out, value),
        Value::String(value) => string(out, value),
        Value::Symbol(value) => symbol(out, value),
        Value::List(items) if items.is_empty() => out.push(LIST0),
        Value::List(items) => {
            compound(out, LIST8, |out| items.iter().for_each(|item| self::value(out, item)), items.len())
        }
        Value::Map(pairs) => {
            let write = |out: &mut Vec<u8>| {
                for (key, item) in pairs {
                    self::value(out, key);
                    self::value(out, item);
                }
            };
            compound(out, MAP8, write, pairs.len() * 2);
        }
        Value::Array(items) => array(out, items),
        Value::Described(described) => {
            out.push(DESCRIBED);
            self::value(out, &described.0);
            self::value(out, &described.1);
        }
        other => {
            let code = widest(other);
            out.push(code);
            content(out, code, other);
        }
    }
}

fn fixed(out: &mut Vec<u8>, code: u8, bytes: &[u8]) {
    out.push(code);
    out.extend_from_slice(bytes);
}

/// Writes size, count and content, after the length of the content is known.
fn compound(out: &mut Vec<u8>, short: u8, write: impl FnOnce(&mut Vec<u8>), count: usize) {
    let begin = out.len();
    out.extend_from_slice(&[short, 0, 0]);
    write(out);
    finish(out, begin, count);
}

/// Puts size and count into the three bytes at `begin`, or makes room for the long form.
fn finish(out: &mut Vec<u8>, begin: usize, count: usize) {
    let length = out.len() - begin - 3;
    match (u8::try_from(length + 1), u8::try_from(count)) {
        (Ok(size), Ok(count)) => out[begin + 1..begin + 3].copy_from_slice(&[size, count]),
        _ => {
            let long = [length32(length + 4), length32(count)].concat();
            out[begin] |= 0x10;
            out.splice(begin + 1..begin + 3, long);
        }
    }
}

fn array(out: &mut Vec<u8>, array: &Array) {
    let write = |out: &mut Vec<u8>| {
        for descriptor in &array.descriptors {
            out.push(DESCRIBED);
            value(out, descriptor);
        }
        out.push(array.code);
        array.items.iter().for_each(|item| content(out, array.code, item));
    };
    compound(out, ARRAY8, write, array.items.len());
}

/// Returns the constructor of the widest encoding of a value's type.
fn widest(value: &Value) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Boolean(_) => BOOLEAN,
        Value::Ubyte(_) => UBYTE,
        Value::Ushort(_) => USHORT,
        Value::Uint(_) => UINT,
        Value::Ulong(_) => ULONG,
        Value::Byte(_) => BYTE,
        Value::Short(_) => SHORT,
        Value::Int(_) => INT,
        Value::Long(_) => LONG,
        Value::Float(_) => FLOAT,
        Value::Double(_) => DOUBLE,
        Value::Decimal32(_) => DECIMAL32,
        Value::Decimal64(_) => DECIMAL64,
        Value::Decimal128(_) => DECIMAL128,
        Value::Char(_) => CHAR,
        Value::Timestamp(_) => TIMESTAMP,
        Value::Uuid(_) => UUID,
        Value::Binary(_) => BIN32,
        Value::String(_) => STR32,
        Value::Symbol(_) => SYM32,
        Value::List(_) => LIST32,
        Value::Map(_) => MAP32,
        Value::Array(_) => ARRAY32,
        Value::Described(_) => DESCRIBED,
    }
}

/// Writes the bytes after a constructor. An element of an array has the constructor that was read, so it fits.
fn content(out: &mut Vec<u8>, code: u8, value: &Value) {
    let narrow = |bytes: &[u8]| bytes.last().copied().unwrap_or(0);
    match value {
        Value::Null => {}
        Value::Boolean(value) if code == BOOLEAN => out.push(u8::from(*value)),
        Value::Boolean(_) => {}
        Value::Ubyte(value) => out.push(*value),
        Value::Ushort(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Uint(value) => match code {
            UINT0 => {}
            SMALL_UINT => out.push(narrow(&value.to_be_bytes())),
            _ => out.extend_from_slice(&value.to_be_bytes()),
        },
        Value::Ulong(value) => match code {
            ULONG0 => {}
            SMALL_ULONG => out.push(narrow(&value.to_be_bytes())),
            _ => out.extend_from_slice(&value.to_be_bytes()),
        },
        Value::Byte(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Short(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Int(value) if code == SMALL_INT => out.push(narrow(&value.to_be_bytes())),
        Value::Int(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Long(value) if code == SMALL_LONG => out.push(narrow(&value.to_be_bytes())),
        Value::Long(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Float(bits) => out.extend_from_slice(&bits.to_be_bytes()),
        Value::Double(bits) => out.extend_from_slice(&bits.to_be_bytes()),
        Value::Decimal32(bits) => out.extend_from_slice(bits),
        Value::Decimal64(bits) => out.extend_from_slice(bits),
        Value::Decimal128(bits) | Value::Uuid(bits) => out.extend_from_slice(bits),
        Value::Char(value) => out.extend_from_slice(&u32::from(*value).to_be_bytes()),
        Value::Timestamp(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Binary(bytes) => sized(out, code, bytes),
        Value::String(text) | Value::Symbol(text) => sized(out, code, text.as_bytes()),
        Value::List(_) | Value::Map(_) | Value::Array(_) => nested(out, code, value),
        // An array has its descriptors apart from its elements.
        Value::Described(_) => {}
    }
}

fn sized(out: &mut Vec<u8>, code: u8, bytes: &[u8]) {
    match u8::try_from(bytes.len()) {
        Ok(length) if code & 0x10 == 0 => out.push(length),
        _ => out.extend_from_slice(&length32(bytes.len())),
    }
    out.extend_from_slice(bytes);
}

/// Writes a list, map or array as an element of an array: the constructor determines the length of size and count.
fn nested(out: &mut Vec<u8>, code: u8, item: &Value) {
    if code == LIST0 {
        return;
    }
    let mut whole = Vec::new();
    value(&mut whole, item);
    // The shortest form is written; it is widened to the constructor of the array.
    let (count, rest): (usize, &[u8]) = match whole.as_slice() {
        [_, _, count, rest @ ..] if whole[0] & 0x10 == 0 && whole[0] != LIST0 => (usize::from(*count), rest),
        [_, _, _, _, _, a, b, c, d, rest @ ..] => {
            (usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).expect(LENGTH), rest)
        }
        _ => (0, &[]),
    };
    match (u8::try_from(rest.len() + 1), u8::try_from(count)) {
        (Ok(size), Ok(count)) if code & 0x10 == 0 => out.extend_from_slice(&[size, count]),
        _ => {
            out.extend_from_slice(&length32(rest.len() + 4));
            out.extend_from_slice(&length32(count));
        }
    }
    out.extend_from_slice(rest);
}

/// Writes the fields of a composite type. Null fields at the end are left out.
#[derive(Debug)]
pub struct ListWriter<'a> {
    out: &'a mut Vec<u8>,
    begin: usize,
    count: usize,
    nulls: usize,
}

impl<'a> ListWriter<'a> {
    /// Begins a described list.
    pub fn begin(out: &'a mut Vec<u8>, code: u64) -> Self {
        descriptor(out, code);
        let begin = out.len();
        out.extend_from_slice(&[LIST8, 0, 0]);
        ListWriter { out, begin, count: 0, nulls: 0 }
    }

    /// Writes a field that is null.
    pub fn null(&mut self) -> &mut Self {
        self.nulls += 1;
        self
    }

    /// Writes a field, or null.
    pub fn field<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) -> &mut Self {
        let Some(value) = value else { return self.null() };
        self.out.extend(std::iter::repeat_n(NULL, self.nulls));
        self.count += self.nulls + 1;
        self.nulls = 0;
        write(self.out, value);
        self
    }

    /// Writes a uint or null.
    pub fn uint(&mut self, value: Option<u32>) -> &mut Self {
        self.field(value, uint)
    }

    /// Writes a ushort or null.
    pub fn ushort(&mut self, value: Option<u16>) -> &mut Self {
        self.field(value, |out, value| fixed(out, USHORT, &value.to_be_bytes()))
    }

    /// Writes a ubyte or null.
    pub fn ubyte(&mut self, value: Option<u8>) -> &mut Self {
        self.field(value, |out, value| fixed(out, UBYTE, &[value]))
    }

    /// Writes a boolean field whose default is false.
    pub fn flag(&mut self, value: bool) -> &mut Self {
        self.field(value.then_some(true), boolean)
    }

    /// Writes a string or null.
    pub fn string(&mut self, value: Option<&str>) -> &mut Self {
        self.field(value, string)
    }

    /// Writes a symbol or null.
    pub fn symbol(&mut self, value: Option<&str>) -> &mut Self {
        self.field(value, symbol)
    }

    /// Writes a binary or null.
    pub fn binary(&mut self, value: Option<&[u8]>) -> &mut Self {
        self.field(value, binary)
    }

    /// Writes an array of symbols; no symbols are null.
    pub fn symbols(&mut self, symbols: &[String]) -> &mut Self {
        let found = (!symbols.is_empty()).then(|| Value::symbols(symbols.iter().map(String::as_str)));
        self.field(found, |out, symbols| value(out, &symbols))
    }

    /// Writes any value or null.
    pub fn any(&mut self, found: Option<&Value>) -> &mut Self {
        self.field(found.filter(|found| **found != Value::Null), value)
    }

    /// Ends the list.
    pub fn end(self) {
        if self.count == 0 {
            self.out.truncate(self.begin);
            self.out.push(LIST0);
        } else {
            finish(self.out, self.begin, self.count);
        }
    }
}
