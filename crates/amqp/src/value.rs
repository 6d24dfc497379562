//! A value of any AMQP type (part 1 of the standard).

/// A value of any type. Floating-point and decimal numbers are kept as bits, so every value survives exactly.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    /// The null value.
    Null,
    /// True or false.
    Boolean(bool),
    /// 8 bits without sign.
    Ubyte(u8),
    /// 16 bits without sign.
    Ushort(u16),
    /// 32 bits without sign.
    Uint(u32),
    /// 64 bits without sign.
    Ulong(u64),
    /// 8 bits.
    Byte(i8),
    /// 16 bits.
    Short(i16),
    /// 32 bits.
    Int(i32),
    /// 64 bits.
    Long(i64),
    /// Bits of a binary32.
    Float(u32),
    /// Bits of a binary64.
    Double(u64),
    /// Bits of a decimal32.
    Decimal32([u8; 4]),
    /// Bits of a decimal64.
    Decimal64([u8; 8]),
    /// Bits of a decimal128.
    Decimal128([u8; 16]),
    /// A Unicode character.
    Char(char),
    /// Milliseconds since 1970-01-01 UTC.
    Timestamp(i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// Bytes.
    Binary(Vec<u8>),
    /// Text.
    String(String),
    /// A symbolic name, ASCII.
    Symbol(String),
    /// Values of any types.
    List(Vec<Value>),
    /// Pairs in their order.
    Map(Vec<(Value, Value)>),
    /// Values of one type.
    Array(Array),
    /// A value with the descriptor that defines its meaning.
    Described(Box<(Value, Value)>),
}

/// An array of values of one type, which is known even if the array is empty.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Array {
    /// Constructor of the elements as the array has it, without descriptor.
    pub code: u8,
    /// Descriptors of the elements, the outermost first; usually none.
    pub descriptors: Vec<Value>,
    /// The elements, without descriptors.
    pub items: Vec<Value>,
}

impl Value {
    /// Returns the text of a string or symbol.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::String(text) | Value::Symbol(text) => Some(text),
            _ => None,
        }
    }

    /// Returns an unsigned integer of any width.
    #[must_use]
    pub fn unsigned(&self) -> Option<u64> {
        match self {
            Value::Ubyte(value) => Some(u64::from(*value)),
            Value::Ushort(value) => Some(u64::from(*value)),
            Value::Uint(value) => Some(u64::from(*value)),
            Value::Ulong(value) => Some(*value),
            _ => None,
        }
    }

    /// Creates an array of symbols, the form of capability lists.
    #[must_use]
    pub fn symbols<'a>(symbols: impl IntoIterator<Item = &'a str>) -> Value {
        let items = symbols.into_iter().map(|symbol| Value::Symbol(symbol.to_owned())).collect();
        Value::Array(Array { code: crate::codes::SYM32, descriptors: Vec::new(), items })
    }
}
