//! Flattening of JSON to a list of its values with their paths; numbers keep their spelling.

/// A value of a document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Field {
    /// Path such as `lines[1].price`.
    pub(super) path: String,
    /// Original text of the value.
    pub(super) raw: String,
}

/// Returns the values of a JSON text; `None` if it is not JSON.
pub(super) fn flatten(text: &str) -> Option<Vec<Field>> {
    let mut flat = Flat { text, at: 0, path: String::new(), fields: Vec::new(), depth: 0 };
    flat.value()?;
    flat.blank();
    (flat.at == text.len()).then_some(flat.fields)
}

/// Documents of a file: those of an array, or one a line.
pub(super) fn documents(text: &str) -> Option<Vec<Vec<Field>>> {
    if !text.trim_start().starts_with('[') {
        return text.lines().filter(|line| !line.trim().is_empty()).map(flatten).collect();
    }
    let mut documents: Vec<Vec<Field>> = Vec::new();
    for field in flatten(text)? {
        let (number, rest) = field.path.strip_prefix('[')?.split_once(']')?;
        let number: usize = number.parse().ok()?;
        if documents.len() <= number {
            documents.resize(number + 1, Vec::new());
        }
        let path = rest.strip_prefix('.').unwrap_or(rest).to_owned();
        documents[number].push(Field { path, ..field });
    }
    Some(documents)
}

/// Deepest nesting that is looked into.
const DEPTH_MAX: usize = 256;

struct Flat<'t> {
    text: &'t str,
    at: usize,
    path: String,
    fields: Vec<Field>,
    depth: usize,
}

impl Flat<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.blank();
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self) -> Option<()> {
        self.blank();
        let start = self.at;
        match self.peek()? {
            b'{' => return self.members(b'}'),
            b'[' => return self.members(b']'),
            b'"' => {
                self.string()?;
            }
            _ => {
                while self.peek().is_some_and(|byte| !matches!(byte, b',' | b'}' | b']') && !byte.is_ascii_whitespace())
                {
                    self.at += 1;
                }
            }
        }
        self.fields.push(Field { path: self.path.clone(), raw: self.text[start..self.at].to_owned() });
        (self.at > start).then_some(())
    }

    fn members(&mut self, end: u8) -> Option<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let (len, mut number) = (self.path.len(), 0);
        if self.take(end) {
            // An empty object or array also counts as a value.
            let raw = if end == b'}' { "{}" } else { "[]" };
            self.fields.push(Field { path: self.path.clone(), raw: raw.to_owned() });
        } else {
            loop {
                if end == b'}' {
                    self.blank();
                    let name = self.string()?;
                    if !self.take(b':') {
                        return None;
                    }
                    if !self.path.is_empty() {
                        self.path.push('.');
                    }
                    self.path.push_str(&name);
                } else {
                    self.path.push_str(&format!("[{number}]"));
                    number += 1;
                }
                self.value()?;
                self.path.truncate(len);
                if self.take(end) {
                    break;
                }
                if !self.take(b',') {
                    return None;
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// Returns a text with its escapes unchanged.
    fn string(&mut self) -> Option<String> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at + 1;
        let mut at = start;
        let bytes = self.text.as_bytes();
        while *bytes.get(at)? != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        self.at = at + 1;
        self.text.get(start..at).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let documents = documents(text).map(|documents| {
            let shown = |fields: &Vec<Field>| {
                fields.iter().map(|field| format!("{}={}", field.path, field.raw)).collect::<Vec<_>>().join(" ")
            };
            documents.iter().map(shown).collect::<Vec<_>>().join(" | ")
        });
        documents.unwrap_or_else(|| "none".to_owned())
    }

    #[test]
    fn values_have_their_paths() {
        assert_eq!(
            shown("{\"a\":1.50,\"b\":{\"c\":[\"x\\\"\",null]},\"d\":[],\"e\":{}}\n{}\n"),
            "a=1.50 b.c[0]=\"x\\\"\" b.c[1]=null d=[] e={} | ={}"
        );
        assert_eq!(shown("[\n {\"a\": 1},\n {\"a\": [2, 3]}\n]\n"), "a=1 | a[0]=2 a[1]=3");
        assert_eq!(shown("{\"a\":}"), "none");
        assert_eq!(shown("{\"a\" 1}"), "none");
        assert_eq!(shown("{\"a\":1"), "none");
        assert_eq!(shown(""), "");
    }
}
