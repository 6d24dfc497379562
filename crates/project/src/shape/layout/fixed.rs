//! Fixed fields: written as a copybook, since record files can do all that such files need.

use core::fmt::Write as _;
use core::ops::Range;

use quayline_core::{Finding, Findings, Place};
use toml::Spanned;

use super::wire::{Field, Layout, Point, Record, Sign, TypeName};
use super::{Loader, text};

/// A copybook with fields `F1`, `F2` …, their names, and the interface file of its record types.
pub(super) struct AsCopybook {
    pub(super) copybook: String,
    pub(super) interface: String,
    pub(super) names: Vec<String>,
    /// For each line of the copybook, the bytes of the layout that it was made of.
    lines: Vec<Range<usize>>,
}

impl AsCopybook {
    /// Gives a finding about the copybook or the interface file the place in the layout, and a field its name there.
    pub(super) fn in_layout(&self, mut finding: Finding, loader: &Loader<'_>) -> Finding {
        let place = &finding.place;
        let Some(at) = place.line.map(|line| line as usize - 1) else { return finding };
        if place.file.as_deref() != Some(&*loader.file.text.name) {
            return finding;
        }
        let is_line = |text: &str| text.lines().nth(at).map(str::trim) == place.line_text.as_deref().map(str::trim);
        let span = self.lines.get(at).filter(|_| is_line(&self.copybook));
        let path = place.path.clone();
        finding.place = match span {
            Some(span) => Place { path, ..loader.file.text.place(span) },
            None => Place { path, file: place.file.clone(), ..Place::default() },
        };
        finding.message = renamed(&finding.message, &self.names);
        finding
    }
}

/// Replaces the words F1, F2 and so on of a text by names.
fn renamed(text: &str, names: &[String]) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if is_part(first) { rest.find(|c| !is_part(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, behind) = rest.split_at(end);
        let number = word.strip_prefix('F').and_then(|digits| digits.parse::<usize>().ok()?.checked_sub(1));
        out.push_str(number.and_then(|number| names.get(number)).map_or(word, String::as_str));
        rest = behind;
    }
    out
}

pub(super) fn as_copybook(loader: &Loader<'_>, layout: &Layout) -> Result<AsCopybook, Findings> {
    let mut writer =
        Writer { loader, copybook: String::new(), names: Vec::new(), lines: Vec::new(), findings: Vec::new() };
    let mut records = String::new();
    match (layout.field.is_empty(), layout.record.is_empty()) {
        (false, true) => {
            let name = layout.name.clone().unwrap_or_else(|| loader.reference.stem());
            writer.record(1, layout.layout.span(), &layout.field);
            if layout.key.is_some() {
                let hint = "leave `key` out, or describe several by [[record]]";
                writer.findings.push(loader.wrong(&layout.layout.span(), "one kind of record needs no key", hint));
            }
            let _ = name;
        }
        (true, false) => records = writer.types(layout),
        (both, _) => {
            let message =
                if both { "the layout has no field" } else { "fields are both in [[field]] and in [[record]]" };
            let hint =
                "describe the one kind of record by [[field]], several kinds by [[record]] with [[record.field]]";
            writer.findings.push(loader.wrong(&layout.layout.span(), message, hint));
        }
    }
    if !writer.findings.is_empty() {
        return Err(Findings(writer.findings));
    }
    let Writer { copybook, names, lines, .. } = writer;
    Ok(AsCopybook { copybook, interface: records, names, lines })
}

struct Writer<'w> {
    loader: &'w Loader<'w>,
    copybook: String,
    names: Vec<String>,
    lines: Vec<Range<usize>>,
    findings: Vec<Finding>,
}

impl Writer<'_> {
    /// Adds a record description, and the column of its fields.
    fn record(&mut self, number: usize, at: Range<usize>, fields: &[Spanned<Field>]) {
        self.line(&format!("       01 R{number}."), at);
        let mut column = 1;
        let mut seen: Vec<&str> = Vec::new();
        for field in fields {
            let of = field.get_ref();
            let (name, at) = text(&of.name);
            if name.is_empty() || seen.contains(&name) {
                let what =
                    if name.is_empty() { "a field without a name".to_owned() } else { format!("two fields `{name}`") };
                self.findings.push(self.loader.wrong(&at, what, "names of fields are unique in their record"));
            }
            seen.push(name);
            let start = of.start.unwrap_or(column);
            if start < column {
                let message =
                    format!("`{name}` begins at column {start}, and the field before it ends at {}", column - 1);
                self.findings.push(self.loader.wrong(&at, message, "columns count from 1, and fields are in order"));
                continue;
            }
            if start > column {
                self.line(&format!("           05 FILLER PIC X({}).", start - column), at.clone());
            }
            let Some((picture, length)) = self.picture(of) else { continue };
            self.names.push(name.to_owned());
            self.line(&format!("           05 F{} PIC {picture}.", self.names.len()), at);
            column = start + length as usize;
        }
    }

    /// Writes a line of the copybook.
    fn line(&mut self, line: &str, at: Range<usize>) {
        let _ = writeln!(self.copybook, "{line}");
        self.lines.push(at);
    }

    /// Returns the picture of a field and its number of bytes.
    fn picture(&mut self, field: &Field) -> Option<(String, u32)> {
        let (name, at) = text(&field.name);
        let mut wrong = |message: String, hint: &str| self.findings.push(self.loader.wrong(&at, message, hint));
        let Some(length) = field.length.filter(|length| *length > 0) else {
            wrong(format!("`{name}` has no length"), "say how many characters it has: length = 9");
            return None;
        };
        if field.required.is_some() || field.digits.is_some() || field.signed.is_some() || field.list.is_some() {
            wrong(
                "`required`, `digits`, `signed` and `list` are not for fixed fields".to_owned(),
                "its length says how many digits it has, `sign` whether it has one",
            );
        }
        let scale = match field.kind {
            TypeName::Text if field.decimals.is_none() && field.point.is_none() && field.sign.is_none() => {
                return Some((format!("X({length})"), length));
            }
            TypeName::Integer if field.decimals.is_none() => 0,
            TypeName::Integer => {
                wrong(format!("`{name}` is an integer and has decimals"), "write type = \"decimal\"");
                return None;
            }
            TypeName::Decimal => match u32::try_from(field.decimals.unwrap_or(0)) {
                Ok(decimals) => decimals,
                Err(_) => {
                    wrong(
                        format!("`{name}` has a negative number of decimals"),
                        "a fixed field has 0 or more decimals",
                    );
                    return None;
                }
            },
            TypeName::Text | TypeName::Float | TypeName::Bool | TypeName::Date | TypeName::Timestamp => {
                wrong(
                    format!("`{name}` cannot be such a field"),
                    "fixed fields are text, decimal or integer; decimals, point and sign are for numbers",
                );
                return None;
            }
        };
        let sign = field.sign.unwrap_or(if field.point == Some(Point::Written) { Sign::Leading } else { Sign::None });
        let separate = u32::from(matches!(sign, Sign::Leading | Sign::Trailing));
        let written = field.point == Some(Point::Written);
        let point = u32::from(written && scale > 0);
        let digits = length.saturating_sub(separate + point);
        if digits <= scale && !(digits == scale && digits > 0 && !written) || digits > 31 {
            wrong(
                format!(
                    "`{name}` has {length} characters, which do not hold {scale} decimals with what is around them"
                ),
                "a field holds 1 to 31 digits, its sign and its point",
            );
            return None;
        }
        let whole = digits - scale;
        let picture = if written {
            let lead = if sign == Sign::None { "Z" } else { "-" };
            let floats = if sign == Sign::None { whole - 1 } else { whole };
            let front = if floats > 0 { format!("{lead}({floats})") } else { String::new() };
            if sign == Sign::Trailing || sign == Sign::Overpunch {
                wrong("a written number has its sign in front".to_owned(), "leave `sign` out, or say \"none\"");
                return None;
            }
            if scale > 0 { format!("{front}9.9({scale})") } else { format!("{front}9") }
        } else {
            let lead = if sign == Sign::None { "" } else { "S" };
            let whole = if whole > 0 { format!("9({whole})") } else { String::new() };
            let fraction = if scale > 0 { format!("V9({scale})") } else { String::new() };
            let tail = match sign {
                Sign::None | Sign::Overpunch => "",
                Sign::Leading => " SIGN LEADING SEPARATE",
                Sign::Trailing => " SIGN TRAILING SEPARATE",
            };
            format!("{lead}{whole}{fraction}{tail}")
        };
        Some((picture, length))
    }

    /// Writes the record types as the `[records]` of an interface file.
    fn types(&mut self, layout: &Layout) -> String {
        let Some(key) = &layout.key else {
            let hint = "say which columns tell them apart: key = { start = 1, length = 2 }";
            self.findings.push(self.loader.wrong(&layout.layout.span(), "several kinds of record need a key", hint));
            return String::new();
        };
        let bytes = key.get_ref();
        let (Some(start @ 1..), Some(length @ 1..), None) = (bytes.start, bytes.length, bytes.column) else {
            let message =
                "the key of fixed records is the columns from `start`, `length` of them, and they count from 1";
            self.findings.push(self.loader.wrong(&key.span(), message, "say key = { start = 1, length = 2 }"));
            return String::new();
        };
        let mut rules = format!("[records]\nby = {{ offset = {}, length = {length} }}\n", start - 1);
        for (number, record) in (1..).zip(&layout.record) {
            self.one_type(number, record.get_ref(), &layout.record, &mut rules);
        }
        rules
    }

    fn one_type(&mut self, number: usize, record: &Record, all: &[Spanned<Record>], rules: &mut String) {
        let (name, at) = text(&record.name);
        self.record(number, at.clone(), &record.field);
        let values: Vec<String> = record.value.iter().chain(&record.values).map(|value| toml_text(value)).collect();
        if values.is_empty() || record.field.is_empty() {
            let message = format!("`{name}` has no {}", if values.is_empty() { "value" } else { "field" });
            self.findings.push(self.loader.wrong(
                &at,
                message,
                "say what its key holds: value = \"H\", and its [[record.field]]",
            ));
        }
        let _ = writeln!(
            rules,
            "[[records.type]]\nrecord = \"R{number}\"\nrename = {}\nvalues = [{}]",
            toml_text(name),
            values.join(", ")
        );
        if let Some(parent) = &record.parent {
            match all[..number - 1].iter().position(|other| other.get_ref().name.get_ref() == parent.get_ref()) {
                Some(at) => {
                    let _ = writeln!(rules, "parent = \"R{}\"", at + 1);
                }
                None => {
                    let message = format!("there is no record `{}` above", parent.get_ref());
                    self.findings.push(self.loader.wrong(&parent.span(), message, "describe it before its parts"));
                }
            }
        }
    }
}

/// Quotes a text for TOML.
fn toml_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
