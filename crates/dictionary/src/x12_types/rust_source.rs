//! A reader for the subset of Rust that x12-types uses: structs with documented fields, and code lists in macros.
//!
//! It works on tokens and does not parse the language. Brackets delimit the parts that it skips.

use quayline_core::Findings;

use crate::codes;
use crate::source_text::SourceText;

/// `pub struct NAME { pub field: Type, ... }`.
#[derive(Clone, Debug, Default)]
pub(super) struct Struct {
    pub(super) name: String,
    /// Lines of documentation, without the slashes and one space.
    pub(super) docs: Vec<String>,
    pub(super) fields: Vec<Field>,
    /// Byte in the file.
    pub(super) at: usize,
}

/// A field of a struct.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) docs: Vec<String>,
    /// Names of the type's paths from outside in, without modules: `["Vec", "_850LoopN1"]`.
    pub(super) types: Vec<String>,
}

/// `crate::code_enum!( /// docs NAME { /// name "code" => Variant, ... } );` or another macro of the same beginning without codes.
#[derive(Clone, Debug, Default)]
pub(super) struct ElementMacro {
    pub(super) name: String,
    pub(super) docs: Vec<String>,
    /// Codes and their meanings.
    pub(super) codes: Vec<(String, String)>,
}

/// Content of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct RustFile {
    pub(super) structs: Vec<Struct>,
    pub(super) elements: Vec<ElementMacro>,
}

/// Reads a file.
///
/// # Errors
/// A string or comment does not end, or brackets do not match.
pub(super) fn read(source: SourceText<'_>) -> Result<RustFile, Findings> {
    let tokens = tokens(source)?;
    let mut reader = Reader { source, tokens: &tokens, next: 0, docs: Vec::new() };
    let mut file = RustFile::default();
    while let Some(token) = reader.peek() {
        let at = token.at;
        match &token.kind {
            Kind::Doc(text) => {
                reader.docs.push((*text).to_owned());
                reader.next += 1;
            }
            Kind::Punct('#') => reader.attribute()?,
            Kind::Word("struct") => {
                if let Some(read) = reader.r#struct(at)? {
                    file.structs.push(read);
                }
            }
            Kind::Word(name) if name.ends_with("_element") || *name == "code_enum" => {
                if let Some(read) = reader.element_macro()? {
                    file.elements.push(read);
                }
            }
            Kind::Word("pub") => reader.next += 1,
            Kind::Punct('(' | '{' | '[') => reader.skip_group()?,
            _ => {
                reader.docs.clear();
                reader.next += 1;
            }
        }
    }
    Ok(file)
}

struct Token<'a> {
    kind: Kind<'a>,
    at: usize,
}

enum Kind<'a> {
    Doc(&'a str),
    Word(&'a str),
    /// Content of a string literal, with escapes unresolved.
    Text(&'a str),
    Punct(char),
}

struct Reader<'a, 't> {
    source: SourceText<'a>,
    tokens: &'t [Token<'a>],
    next: usize,
    /// Documentation seen since the last item.
    docs: Vec<String>,
}

impl<'a, 't> Reader<'a, 't> {
    fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.get(self.next)
    }

    fn is(&self, punct: char) -> bool {
        matches!(self.peek(), Some(Token { kind: Kind::Punct(found), .. }) if *found == punct)
    }

    fn word(&mut self) -> Option<&'a str> {
        match self.peek()?.kind {
            Kind::Word(word) => {
                self.next += 1;
                Some(word)
            }
            _ => None,
        }
    }

    /// Skips `#[...]` or `#![...]`.
    fn attribute(&mut self) -> Result<(), Findings> {
        self.next += 1;
        if self.is('!') {
            self.next += 1;
        }
        if self.is('[') { self.skip_group() } else { Ok(()) }
    }

    /// Skips from an opening bracket to after the closing one.
    fn skip_group(&mut self) -> Result<(), Findings> {
        let mut depth = 0_usize;
        let start = self.peek().map_or(0, |token| token.at);
        while let Some(token) = self.peek() {
            self.next += 1;
            match token.kind {
                Kind::Punct('(' | '{' | '[') => depth += 1,
                Kind::Punct(')' | '}' | ']') => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err(self.source.refused(codes::NOT_WELL_FORMED, start, "a bracket is not closed"))
    }

    /// Parses a struct with named fields; returns `None` for other structs.
    fn r#struct(&mut self, at: usize) -> Result<Option<Struct>, Findings> {
        self.next += 1;
        let docs = core::mem::take(&mut self.docs);
        let Some(name) = self.word() else { return Ok(None) };
        if !self.is('{') {
            return Ok(None);
        }
        self.next += 1;
        let mut read = Struct { name: name.to_owned(), docs, fields: Vec::new(), at };
        while !self.is('}') {
            match self.field()? {
                Some(field) => read.fields.push(field),
                None => {
                    return Err(self.source.refused(
                        codes::NOT_OF_THE_FORM,
                        at,
                        "a field of the struct is not readable",
                    ));
                }
            }
        }
        self.next += 1;
        Ok(Some(read))
    }

    fn field(&mut self) -> Result<Option<Field>, Findings> {
        let mut field = Field::default();
        loop {
            match self.peek().map(|token| &token.kind) {
                Some(Kind::Doc(text)) => {
                    field.docs.push((*text).to_owned());
                    self.next += 1;
                }
                Some(Kind::Punct('#')) => self.attribute()?,
                Some(Kind::Word("pub")) => self.next += 1,
                Some(Kind::Word(name)) => {
                    field.name = (*name).to_owned();
                    self.next += 1;
                    break;
                }
                _ => return Ok(None),
            }
        }
        if !self.is(':') {
            return Ok(None);
        }
        // A path's last name is the one followed by `<`, `>`, `,` or `}`.
        let mut last: Option<&str> = None;
        let mut depth = 0_i32;
        loop {
            self.next += 1;
            let Some(token) = self.peek() else { return Ok(None) };
            match token.kind {
                Kind::Word(word) => last = Some(word),
                Kind::Punct(':') => {}
                Kind::Punct('<') => {
                    depth += 1;
                    field.types.extend(last.take().map(str::to_owned));
                }
                Kind::Punct('>') => {
                    depth -= 1;
                    field.types.extend(last.take().map(str::to_owned));
                }
                Kind::Punct(end @ (',' | '}')) if depth == 0 => {
                    field.types.extend(last.take().map(str::to_owned));
                    if end == ',' {
                        self.next += 1;
                    }
                    return Ok(Some(field));
                }
                _ => return Ok(None),
            }
        }
    }

    /// Reads `name!( docs NAME { codes } )`. Returns `None` if it is not a call.
    fn element_macro(&mut self) -> Result<Option<ElementMacro>, Findings> {
        self.docs.clear();
        self.next += 1;
        if !self.is('!') {
            return Ok(None);
        }
        self.next += 1;
        if !self.is('(') {
            return Ok(None);
        }
        let open = self.next;
        self.next += 1;
        let mut read = ElementMacro::default();
        loop {
            match self.peek().map(|token| &token.kind) {
                Some(Kind::Doc(text)) => {
                    read.docs.push((*text).to_owned());
                    self.next += 1;
                }
                Some(Kind::Punct('#')) => self.attribute()?,
                _ => break,
            }
        }
        if let Some(name) = self.word() {
            read.name = name.to_owned();
            let mut docs: Vec<&str> = Vec::new();
            while let Some(token) = self.peek() {
                match token.kind {
                    Kind::Punct(')') => break,
                    Kind::Doc(text) => docs.push(text),
                    Kind::Text(code) => read.codes.push((code.to_owned(), core::mem::take(&mut docs).join(" "))),
                    _ => {}
                }
                self.next += 1;
            }
        }
        self.next = open;
        self.skip_group()?;
        Ok((!read.name.is_empty()).then_some(read))
    }
}

fn tokens(source: SourceText<'_>) -> Result<Vec<Token<'_>>, Findings> {
    let text = source.text;
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = if rest.starts_with("//") {
            let line = rest.find('\n').unwrap_or(rest.len());
            (
                rest[..line].strip_prefix("///").map(|doc| Kind::Doc(doc.strip_prefix(' ').unwrap_or(doc).trim_end())),
                line,
            )
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").ok_or_else(|| open_ended(source, at, "a comment"))?;
            (None, end + 2)
        } else if first.is_whitespace() {
            (None, first.len_utf8())
        } else if let Some(raw) = rest.strip_prefix("r#").filter(|raw| raw.starts_with(is_word)) {
            let length = raw.find(|c: char| !is_word(c)).unwrap_or(raw.len());
            (Some(Kind::Word(&raw[..length])), 2 + length)
        } else if is_word(first) {
            let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            (Some(Kind::Word(&rest[..length])), length)
        } else if first == '"' {
            let length = quoted(rest).ok_or_else(|| open_ended(source, at, "a string"))?;
            (Some(Kind::Text(&rest[1..length - 1])), length)
        } else if first == '\'' {
            (None, character(rest))
        } else {
            (Some(Kind::Punct(first)), first.len_utf8())
        };
        tokens.extend(kind.map(|kind| Token { kind, at }));
        at += length;
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of a string with its quotes.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return Some(at + 1),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// Bytes of a character literal, or of the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        // The escaped character may be the quote itself.
        Some((_, '\\')) => text.get(3..).and_then(|rest| rest.find('\'')).map_or(1, |end| end + 4),
        Some(_) => match chars.next() {
            Some((end, '\'')) => end + 1,
            _ => 1,
        },
        None => 1,
    }
}

fn open_ended(source: SourceText<'_>, at: usize, what: &str) -> Findings {
    source.refused(codes::NOT_WELL_FORMED, at, format!("{what} does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_with_documented_fields_and_macros_with_codes() {
        let text = r##"
            use super::*; // not a doc
            /// 850 - Order
            #[derive(Debug, X("]"))]
            pub struct _850 { pub r#ref: Vec<crate::v1::REF>, /// one
              #[serde(rename = "01")] pub loop_n1: Option<Box<_850LoopN1>>, pub se: SE }
            impl X for _850 { fn f<'a>(&'a self) -> [char; 3] { ['}', '\'', '\u{7d}'] } }
            pub struct Unit;
            crate::code_enum!(
                /// **98** Entity
                E98 { /// Buyer
                  "BY" => By, "a\"b" => X }
            );
            crate::num_element!( /// **1** N
              E1 );"##;
        let file = read(SourceText::new("", text)).expect("readable");
        let structs: Vec<_> = file.structs.iter().map(|s| (s.name.as_str(), s.docs.len(), &s.fields)).collect();
        assert_eq!(structs.len(), 1);
        assert_eq!((structs[0].0, structs[0].1), ("_850", 1));
        let fields: Vec<_> = structs[0].2.iter().map(|f| (f.name.as_str(), f.types.join(" "), f.docs.len())).collect();
        assert_eq!(
            fields,
            [("ref", "Vec REF".into(), 0), ("loop_n1", "Option Box _850LoopN1".into(), 1), ("se", "SE".into(), 0)]
        );
        let elements: Vec<_> = file.elements.iter().map(|e| (e.name.as_str(), e.docs.len(), e.codes.len())).collect();
        assert_eq!(elements, [("E98", 1, 2), ("E1", 1, 0)]);
        assert_eq!(file.elements[0].codes[0], ("BY".into(), "Buyer".into()));
    }

    #[test]
    fn what_does_not_end_is_refused() {
        for text in ["\"abc", "/* abc", "fn f( {", "code_enum!( E1 { "] {
            assert!(read(SourceText::new("", text)).is_err(), "{text}");
        }
    }
}
