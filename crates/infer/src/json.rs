//! JSON samples: one document, an array of documents, or one document in each line.

use quayline_core::Findings;

use crate::seen::Seen;
use crate::wrong;

/// Deepest nesting.
const DEPTH_MAX: usize = 128;

/// Adds the documents of a text.
pub(crate) fn read(name: &str, text: &str, root: &mut Seen) -> Result<u64, Findings> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let mut documents = 0;
    loop {
        reader.blank();
        if reader.at == text.len() {
            return Ok(documents);
        }
        let start = reader.at;
        let mut whole = Seen::default();
        if reader.value(&mut whole).is_none() {
            let (what, hint) = if reader.depth > DEPTH_MAX {
                (
                    "this is nested deeper than 128 levels",
                    "Quayline reads no deeper documents: remove levels from the sample",
                )
            } else {
                ("this is not JSON", "a sample is a file of JSON, or of one document a line")
            };
            return Err(wrong(name, text, reader.at, what, hint));
        }
        reader.at = start;
        // An array at the outside holds documents.
        if reader.peek() == Some(b'[') {
            let mut list = Seen::default();
            let _ = reader.value(&mut list);
            let count = list.item.as_ref().map_or(0, |item| item.times);
            documents += count;
            let mut at = start + 1;
            // Read again into the root: merged documents are counted once.
            let mut again = Reader { text, at, depth: 0 };
            for _ in 0..count {
                again.blank();
                let _ = again.value(root);
                again.blank();
                again.at += usize::from(again.peek() == Some(b','));
                at = again.at;
            }
            reader.at = reader.at.max(at);
        } else {
            let _ = reader.value(root);
            documents += 1;
        }
        reader.blank();
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
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

    fn value(&mut self, seen: &mut Seen) -> Option<()> {
        self.blank();
        match self.peek()? {
            b'{' => self.group(seen),
            b'[' => self.list(seen),
            b'"' => {
                let text = self.string()?;
                seen.string(&text);
                Some(())
            }
            _ => {
                let start = self.at;
                while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'))
                {
                    self.at += 1;
                }
                match &self.text[start..self.at] {
                    "null" => seen.null(),
                    "true" | "false" => seen.truth(),
                    number if is_number(number) => seen.number(number),
                    _ => return None,
                }
                Some(())
            }
        }
    }

    fn nested(&mut self) -> Option<()> {
        self.at += 1;
        self.depth += 1;
        (self.depth <= DEPTH_MAX).then_some(())
    }

    fn group(&mut self, seen: &mut Seen) -> Option<()> {
        self.nested()?;
        seen.times += 1;
        seen.groups += 1;
        if !self.take(b'}') {
            loop {
                self.blank();
                let name = self.string()?;
                if !self.take(b':') {
                    return None;
                }
                self.value(seen.member(&name))?;
                if self.take(b'}') {
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

    fn list(&mut self, seen: &mut Seen) -> Option<()> {
        self.nested()?;
        seen.times += 1;
        seen.lists += 1;
        let mut count = 0;
        if !self.take(b']') {
            loop {
                count += 1;
                self.value(seen.item.get_or_insert_default())?;
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return None;
                }
            }
        }
        seen.longest = seen.longest.max(count);
        self.depth -= 1;
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        let mut text = String::new();
        let mut chars = self.text[self.at..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return Some(text);
                }
                '\\' => text.push(match chars.next()?.1 {
                    'u' => escaped(&mut chars)?,
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    c @ ('"' | '\\' | '/') => c,
                    _ => return None,
                }),
                c => text.push(c),
            }
        }
        None
    }
}

/// Reads the digits of `\u`, and the second half of a pair if they are the first one. A half alone is U+FFFD.
///
/// Source: RFC 8259, section 7.
fn escaped(chars: &mut core::str::CharIndices<'_>) -> Option<char> {
    let unit = digits(chars)?;
    if !(0xd800..0xdc00).contains(&unit) {
        return Some(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    let mut after = chars.clone();
    if after.next().map(|(_, c)| c) != Some('\\') || after.next().map(|(_, c)| c) != Some('u') {
        return Some(char::REPLACEMENT_CHARACTER);
    }
    let second = digits(&mut after)?;
    if !(0xdc00..0xe000).contains(&second) {
        return Some(char::REPLACEMENT_CHARACTER);
    }
    *chars = after;
    char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (second - 0xdc00))
}

fn digits(chars: &mut core::str::CharIndices<'_>) -> Option<u32> {
    (0..4).try_fold(0, |unit, _| Some(unit << 4 | chars.next()?.1.to_digit(16)?))
}

fn is_number(text: &str) -> bool {
    let has_digits = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    has_digits && !text.starts_with('+') && text.parse::<f64>().is_ok()
}
