//! JSON with the place of each value: schemas are read once and small, so a tree will do.

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Json {
    /// Byte of the file where it begins.
    pub(crate) at: usize,
    pub(crate) kind: JsonKind,
}

/// Kind of the node.
#[derive(Clone, Debug)]
pub(crate) enum JsonKind {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    Text(String),
    /// A number, as written.
    Number(String),
    Bool(bool),
    Null,
}

/// The fault of an object whose members have the same name.
pub(crate) const DOUBLED: &str = "the member's name occurs twice in its object";

/// Deepest nesting.
const DEPTH_MAX: usize = 256;

impl Json {
    /// Parses a text that is one JSON value.
    ///
    /// # Errors
    /// The byte offset of the error, and the expected content.
    pub(crate) fn parse(text: &str) -> Result<Json, (usize, &'static str)> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let value = parser.value()?;
        parser.blank();
        if parser.at < text.len() {
            return Err((parser.at, "expected the end of the file"));
        }
        Ok(value)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        match &self.kind {
            JsonKind::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn members(&self) -> &[(String, Json)] {
        match &self.kind {
            JsonKind::Object(members) => members,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Json] {
        match &self.kind {
            JsonKind::Array(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            JsonKind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn number(&self) -> Option<&str> {
        match &self.kind {
            JsonKind::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn count(&self) -> Option<u32> {
        // Some tools write 5.0.
        self.number().and_then(|number| number.strip_suffix(".0").unwrap_or(number).parse().ok())
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        match self.kind {
            JsonKind::Bool(value) => Some(value),
            _ => None,
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

type Fault = (usize, &'static str);

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json, Fault> {
        self.blank();
        let at = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => JsonKind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => {
                let rest = &self.text[at..];
                let end =
                    rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
                self.at += end;
                JsonKind::Number(rest[..end].to_owned())
            }
            _ => self.word()?,
        };
        Ok(Json { at, kind })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<JsonKind, Fault>) -> Result<JsonKind, Fault> {
        if self.depth == DEPTH_MAX {
            return Err((self.at, "values lie too deep"));
        }
        self.depth += 1;
        self.at += 1;
        let kind = read(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn word(&mut self) -> Result<JsonKind, Fault> {
        for (word, kind) in [("true", JsonKind::Bool(true)), ("false", JsonKind::Bool(false)), ("null", JsonKind::Null)]
        {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(kind);
            }
        }
        Err((self.at, "expected a value"))
    }

    fn object(&mut self) -> Result<JsonKind, Fault> {
        let mut members = Vec::new();
        loop {
            self.blank();
            match self.peek() {
                Some(b'}') if members.is_empty() => break,
                Some(b'"') => {}
                _ => return Err((self.at, "expected a member's name")),
            }
            let name = self.string()?;
            self.blank();
            if self.peek() != Some(b':') {
                return Err((self.at, "expected `:`"));
            }
            self.at += 1;
            members.push((name, self.value()?));
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err((self.at, "expected `,` or `}`")),
            }
        }
        self.at += 1;
        match doubled(&members) {
            Some(at) => Err((at, DOUBLED)),
            None => Ok(JsonKind::Object(members)),
        }
    }

    fn array(&mut self) -> Result<JsonKind, Fault> {
        let mut items = Vec::new();
        self.blank();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(JsonKind::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err((self.at, "expected `,` or `]`")),
            }
        }
        self.at += 1;
        Ok(JsonKind::Array(items))
    }

    fn string(&mut self) -> Result<String, Fault> {
        let begin = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let stop = rest.find(['"', '\\', '\n']).ok_or((begin, "a text without its end"))?;
            out.push_str(&rest[..stop]);
            self.at += stop;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err((begin, "a text without its end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let at = self.at;
        let bad = (at, "no such escape");
        let letter = self.text[at + 1..].chars().next().ok_or(bad)?;
        self.at += 1 + letter.len_utf8();
        Ok(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let high = self.hex().ok_or(bad)?;
                if !(0xd800..0xdc00).contains(&high) {
                    return char::from_u32(high).ok_or(bad);
                }
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(bad);
                }
                self.at += 2;
                let low = self.hex().filter(|low| (0xdc00..0xe000).contains(low)).ok_or(bad)?;
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).ok_or(bad)?
            }
            _ => return Err(bad),
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let code = quayline_core::hex_number(digits)?;
        self.at += 4;
        Some(code)
    }
}

/// Returns the place of the first value whose member has the name of an earlier one. Programs differ in which of the two they use (RFC 8259, section 4).
fn doubled(members: &[(String, Json)]) -> Option<usize> {
    let mut sorted: Vec<(&str, usize)> = members.iter().map(|(name, value)| (name.as_str(), value.at)).collect();
    sorted.sort_unstable();
    sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1).min()
}
