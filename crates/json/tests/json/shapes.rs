//! Shapes and values that several tests use.

use quayline_core::{Digits, Occurs, Run, Scalar, Shape, Value};

/// `text`, `num` (9.2 digits), `big` (18 digits), `f`, `b`, `raw`, `flag`, `group { a, deep { b } }`, `tags[]`, `rows[] { k, v[] }`.
pub(crate) fn sample() -> Shape {
    let many = Occurs::Many { min: 0, max: None };
    let text = || Scalar::Text { chars_max: None };
    let mut shape = Shape::builder("DOC");
    shape.scalar("text", text(), Occurs::Once);
    shape.scalar("num", Scalar::Decimal { digits: 9, scale: 2, signed: true }, Occurs::Once);
    shape.scalar("big", Scalar::Decimal { digits: 18, scale: 0, signed: true }, Occurs::Once);
    shape.scalar("f", Scalar::Float64, Occurs::Optional);
    shape.scalar("b", Scalar::Bytes { len_max: None }, Occurs::Optional);
    shape.scalar("flag", Scalar::Bool, Occurs::Optional);
    shape.open("group", Occurs::Optional);
    shape.scalar("a", text(), Occurs::Once);
    shape.open("deep", Occurs::Optional);
    shape.scalar("b", text(), Occurs::Once);
    shape.close();
    shape.close();
    shape.scalar("tags", text(), many);
    shape.open("rows", many);
    shape.scalar("k", Scalar::Decimal { digits: 4, scale: 0, signed: false }, Occurs::Once);
    shape.scalar("v", Scalar::Decimal { digits: 4, scale: 0, signed: false }, many);
    shape.close();
    shape.finish()
}

/// A decimal from its digits.
pub(crate) fn digits(digits: &str, negative: bool, scale: i16) -> Value<'_> {
    Value::Digits(Digits { digits: digits.as_bytes().into(), negative, scale })
}

/// Creates a decimal from its digits, with further bytes after them, as a record decoder sends it.
pub(crate) fn digits_with_tail(buffer: &str, len: usize, negative: bool, scale: i16) -> Value<'_> {
    Value::Digits(Digits { digits: Run::new(buffer.as_bytes(), len), negative, scale })
}

/// Printable ASCII.
pub(crate) fn ascii(text: &str) -> Value<'_> {
    Value::Ascii(text.as_bytes().into())
}

/// UTF-8.
pub(crate) fn utf8(text: &str) -> Value<'_> {
    Value::Text(text.as_bytes().into())
}
