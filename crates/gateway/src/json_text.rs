//! JSON values with their members in the order of writing: texts for people (OpenAPI documents, problems) have an order.

use core::fmt;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number as its text.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Creates an object with these members.
    #[must_use]
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Creates a string.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    /// Creates an integer.
    #[must_use]
    pub fn int(n: impl Into<i128>) -> Json {
        Json::Number(n.into().to_string())
    }

    /// Adds a member to an object.
    pub fn put(&mut self, name: &str, value: Json) {
        if let Json::Object(members) = self {
            members.push((name.to_owned(), value));
        }
    }

    /// Returns the object with one more member, if there is a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<Json>) -> Json {
        if let Some(value) = value {
            self.put(name, value);
        }
        self
    }

    /// Returns the member with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns text of several lines, indented by two blanks a level.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, Some(0)).expect("a string takes everything");
        text
    }

    fn write(&self, out: &mut impl fmt::Write, level: Option<usize>) -> fmt::Result {
        let line = |out: &mut dyn fmt::Write, level: Option<usize>| match level {
            Some(level) => write!(out, "\n{:width$}", "", width = 2 * level),
            None => Ok(()),
        };
        let inner = level.map(|level| level + 1);
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Number(text) => out.write_str(text),
            Json::Text(text) => quoted(out, text),
            Json::List(items) if items.is_empty() => out.write_str("[]"),
            Json::Object(members) if members.is_empty() => out.write_str("{}"),
            Json::List(items) => {
                out.write_char('[')?;
                for (i, item) in items.iter().enumerate() {
                    out.write_str(if i > 0 { "," } else { "" })?;
                    line(out, inner)?;
                    item.write(out, inner)?;
                }
                line(out, level)?;
                out.write_char(']')
            }
            Json::Object(members) => {
                out.write_char('{')?;
                for (i, (name, value)) in members.iter().enumerate() {
                    out.write_str(if i > 0 { "," } else { "" })?;
                    line(out, inner)?;
                    quoted(out, name)?;
                    out.write_str(if level.is_some() { ": " } else { ":" })?;
                    value.write(out, inner)?;
                }
                line(out, level)?;
                out.write_char('}')
            }
        }
    }
}

/// Compact text.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, None)
    }
}

fn quoted(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            c if (c as u32) < 0x20 || c == '\u{2028}' || c == '\u{2029}' || c == '<' => {
                write!(out, "\\u{:04x}", c as u32)?
            }
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_text_is_escaped() {
        let mut json = Json::object([("b", Json::int(1)), ("a", Json::List(vec![Json::Null, Json::text("x\"\n</é")]))]);
        json.put("c", Json::Object(Vec::new()));
        assert_eq!(json.to_string(), "{\"b\":1,\"a\":[null,\"x\\\"\\n\\u003c/é\"],\"c\":{}}");
        assert_eq!(
            json.pretty(),
            "{\n  \"b\": 1,\n  \"a\": [\n    null,\n    \"x\\\"\\n\\u003c/é\"\n  ],\n  \"c\": {}\n}"
        );
    }
}
