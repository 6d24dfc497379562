//! The string literals of Rust sources that people may read: findings, hints, help and answers.

/// A string literal at its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Literal {
    /// Line, from 1, where it begins.
    pub line: usize,
    /// The text between the quotes as it is written, escapes included.
    pub text: String,
    /// The source on the same line, in front of the literal.
    pub before: String,
}

/// Returns the string literals of a source outside comments: plain and raw ones. Byte strings are left out, since they are not for readers.
#[must_use]
pub fn string_literals(source: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let bytes = source.as_bytes();
    let mut at = 0;
    let mut line = 1;
    let mut line_start = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = character(rest) {
            length
        } else if let Some((open, length, close)) = opening(rest) {
            let end = open + length;
            let is_bytes = source[..at].ends_with('b');
            if !is_bytes {
                let before = source[line_start..at].trim().to_owned();
                found.push(Literal { line, text: rest[open..end].to_owned(), before });
            }
            end + close
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let passed = &source[at..at + skipped];
        line += passed.matches('\n').count();
        if let Some(last) = passed.rfind('\n') {
            line_start = at + last + 1;
        }
        at += skipped;
    }
    found
}

/// Returns the length of a character literal, which may contain a quote.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let length = match inner.strip_prefix('\\') {
        Some(escaped) => 1 + escaped.char_indices().skip(1).find(|(_, letter)| *letter == '\'').map(|(at, _)| at)?,
        None => inner.chars().next()?.len_utf8(),
    };
    (length <= 10 && inner[length..].starts_with('\'')).then_some(length + 2)
}

/// Returns the lengths of the opening, the text and the closing of a string literal.
fn opening(rest: &str) -> Option<(usize, usize, usize)> {
    if let Some(inner) = rest.strip_prefix('"') {
        let mut escaped = false;
        for (at, letter) in inner.char_indices() {
            match letter {
                '"' if !escaped => return Some((1, at, 1)),
                '\\' => escaped = !escaped,
                _ => escaped = false,
            }
        }
        return None;
    }
    let hashes = rest.strip_prefix('r')?.bytes().take_while(|byte| *byte == b'#').count();
    let inner = rest[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some((2 + hashes, inner.find(&close)?, 1 + hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(usize, String)> {
        string_literals(source).into_iter().map(|literal| (literal.line, literal.text)).collect()
    }

    #[test]
    fn literals_are_found_with_their_lines() {
        let source = "let a = \"one \\\"two\\\"\"; // \"no\"\nlet b = '\"'; f(r#\"a \"raw\" one\"#);\nb\"bytes\"; c('\\'', \"x\")";
        assert_eq!(
            texts(source),
            [(1, "one \\\"two\\\"".to_owned()), (2, "a \"raw\" one".to_owned()), (3, "x".to_owned())]
        );
    }

    #[test]
    fn a_lifetime_is_no_character() {
        assert_eq!(texts("fn f<'a>(x: &'a str) { g(\"y\") }"), [(1, "y".to_owned())]);
    }
}
