//! Shapes as outlines: one line for each node, with indentation for nesting.
//!
//! ```text
//! order                     the root; every line below it is a node
//!   number text(22)         a field: text of at most 22 characters
//!   date? text(10)          at most once
//!   lines*1..1000           a list of groups; `*` alone has no bounds
//!     quantity decimal(9,3) 9 digits, 3 of them decimals
//!     note* text            a list of texts
//! ```
//!
//! Types: `text`, `text(n)`, `decimal(digits, scale)`, `unsigned(digits, scale)`, `float`, `float32`, `bool`, `bytes`, `bytes(n)`. A line
//! without a type is a group. `#` begins a comment. Names with blanks or signs are in single quotes.

use core::fmt::Write as _;
use std::sync::Arc;

use quayline_core::{
    Bound, Definition, Finding, Findings, NodeId, NodeKind, NodeLimits, Occurs, Scalar, Shape, SourceLimits,
    ValueLimits,
};

use crate::Schema;
use crate::shape::codes;
use crate::shape::reference::Reference;
use crate::shape::shape_file::{Form, ShapeFile, ShapeOptions};
use crate::shape::source_file::SourceFile;

/// Deepest nesting.
const DEPTH_MAX: usize = 128;

pub(crate) fn load(reference: &Reference, _: &ShapeOptions) -> Result<ShapeFile, Findings> {
    let file = SourceFile::read(&reference.path)?;
    let (shape, limits) = read(&file)?;
    Ok(ShapeFile {
        path: reference.path.clone(),
        form: Form::Outline,
        schema: Arc::new(Schema::of_shape(shape).with_source_limits(limits)),
        findings: Vec::new(),
        files: vec![reference.path.clone()],
    })
}

/// Parses an outline.
///
/// # Errors
/// Every invalid line, with its place in `name`.
pub fn parse_outline(name: &str, text: &str) -> Result<Shape, Findings> {
    let text = crate::UserText { name: name.into(), text: text.into() };
    Ok(read(&SourceFile { text })?.0)
}

/// Writes a shape as an outline that [`parse_outline`] can read.
#[must_use]
pub fn outline_of(shape: &Shape) -> String {
    let mut out = String::new();
    write_node(shape, NodeId::ROOT, 0, &mut out);
    out
}

fn write_node(shape: &Shape, id: NodeId, depth: usize, out: &mut String) {
    let node = shape.node(id);
    let signs = |c: char| matches!(c, '\'' | '?' | '*' | '#' | '\\') || c.is_whitespace() || c.is_control();
    let plain = !node.name.is_empty() && !node.name.contains(signs);
    let name = if plain { node.name.clone() } else { quoted(&node.name) };
    let occurs = match node.occurs {
        Occurs::Once => String::new(),
        Occurs::Optional => "?".to_owned(),
        Occurs::Many { min: 0, max: None } => "*".to_owned(),
        Occurs::Many { min, max } => format!("*{min}..{}", max.map_or_else(String::new, |max| max.to_string())),
    };
    let kind = match &node.kind {
        NodeKind::Group => String::new(),
        NodeKind::Scalar(scalar) => format!(" {}", type_text(scalar)),
    };
    let _ = writeln!(out, "{:1$}{name}{occurs}{kind}", "", 2 * depth);
    for child in shape.children(id) {
        write_node(shape, child, depth + 1, out);
    }
}

/// Quotes a name, with the escapes `\'`, `\\` and `\u{a}`.
fn quoted(name: &str) -> String {
    let mut out = String::from("'");
    for c in name.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if c.is_control() || (c.is_whitespace() && c != ' ') => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Parses a quoted name after its opening quote; returns it with the text that follows.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text.chars();
    loop {
        match rest.next()? {
            '\'' => return Some((name, rest.as_str())),
            '\\' => match rest.next()? {
                'u' => {
                    let (digits, behind) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                    name.push(char::from_u32(quayline_core::hex_number(digits)?)?);
                    rest = behind.chars();
                }
                c => name.push(c),
            },
            c => name.push(c),
        }
    }
}

fn type_text(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Text { chars_max: None } => "text".to_owned(),
        Scalar::Text { chars_max: Some(max) } => format!("text({max})"),
        Scalar::Decimal { digits, scale, signed } => {
            let name = if *signed { "decimal" } else { "unsigned" };
            if *scale == 0 { format!("{name}({digits})") } else { format!("{name}({digits},{scale})") }
        }
        Scalar::Float32 => "float32".to_owned(),
        Scalar::Float64 => "float".to_owned(),
        Scalar::Bool => "bool".to_owned(),
        Scalar::Bytes { len_max: None } => "bytes".to_owned(),
        Scalar::Bytes { len_max: Some(max) } => format!("bytes({max})"),
    }
}

/// A line of the outline.
struct Line {
    at: usize,
    indent: usize,
    name: String,
    occurs: Occurs,
    scalar: Option<Scalar>,
    /// Limits of the value that the line states.
    limits: ValueLimits,
}

fn read(file: &SourceFile) -> Result<(Shape, SourceLimits), Findings> {
    let mut findings = Vec::new();
    let mut lines = Vec::new();
    let mut at = 0;
    for raw in file.text.text.split_inclusive('\n') {
        match line(file, raw, at) {
            Ok(line) => lines.extend(line),
            Err(finding) => findings.push(*finding),
        }
        at += raw.len();
    }
    let mut lines = lines.into_iter();
    let Some(root) = lines.next() else {
        findings.push(file.error(codes::SYNTAX, 0, "the outline is empty").hint("its first line names the document"));
        return Err(Findings(findings));
    };
    let mut builder = Shape::builder(root.name);
    let mut limits = vec![NodeLimits::default()];
    // Indents of the open groups, the root's first, with the names that stand in each.
    let mut open: Vec<(usize, Vec<String>)> = vec![(root.indent, Vec::new())];
    let mut last: Option<(usize, bool)> = None;
    for line in lines {
        if line.indent <= root.indent {
            findings.push(
                file.error(codes::SYNTAX, line.at, "a second node without a group around it")
                    .hint("indent it: the first line is the document, all others lie inside"),
            );
            continue;
        }
        while open.len() > 1 && open.last().is_some_and(|(indent, _)| line.indent <= *indent) {
            builder.close();
            open.pop();
        }
        if let Some((indent, false)) = last
            && line.indent > indent
        {
            findings.push(
                file.error(codes::SYNTAX, line.at, "a node inside of a field")
                    .hint("a node with a type holds a value; leave the type out to make it a group"),
            );
            continue;
        }
        if open.len() > DEPTH_MAX {
            findings.push(file.error(codes::SYNTAX, line.at, format!("nodes lie deeper than {DEPTH_MAX}")));
            break;
        }
        if let Some((_, names)) = open.last_mut() {
            if names.contains(&line.name) {
                findings.push(
                    file.error(codes::SYNTAX, line.at, format!("`{}` occurs here twice", line.name))
                        .hint("names are unique in their group; what repeats is a list: `name*`"),
                );
                continue;
            }
            names.push(line.name.clone());
        }
        last = Some((line.indent, line.scalar.is_none()));
        let (required, min, max) = match line.occurs {
            Occurs::Once => (true, 0, None),
            Occurs::Optional => (false, 0, None),
            Occurs::Many { min, max } => (min > 0, min, max),
        };
        // An empty repetition of EDIFACT is null in a list, so occurrences may be null.
        let value = line.limits.boxed();
        limits.push(NodeLimits { required, min, max, value, ..NodeLimits::default() });
        match line.scalar {
            Some(scalar) => {
                builder.scalar(line.name, scalar, line.occurs);
            }
            None => {
                builder.open(line.name, line.occurs);
                open.push((line.indent, Vec::new()));
            }
        }
    }
    if findings.is_empty() {
        Ok((builder.finish(), SourceLimits::new(Definition::Outline, limits)))
    } else {
        Err(Findings(findings))
    }
}

fn line(file: &SourceFile, raw: &str, start: usize) -> Result<Option<Line>, Box<Finding>> {
    let text = raw.trim_end();
    let body = text.trim_start();
    if body.is_empty() || body.starts_with('#') {
        return Ok(None);
    }
    let lead = &text[..text.len() - body.len()];
    let at = start + lead.len();
    let wrong = |message: String, hint: &str| Box::new(file.error(codes::SYNTAX, at, message).hint(hint));
    if lead.contains('\t') {
        return Err(wrong("a tab in the indentation".to_owned(), "indent by blanks: how deep a tab goes differs"));
    }
    let (name, rest) = match body.strip_prefix('\'') {
        Some(quoted) => unquoted(quoted)
            .ok_or_else(|| wrong("a quoted name without its end".to_owned(), "close it on the same line: 'ship to'"))?,
        None => {
            let (name, rest) = body.split_at(body.find([' ', '?', '*']).unwrap_or(body.len()));
            (name.to_owned(), rest)
        }
    };
    if name.is_empty() && !body.starts_with('\'') {
        return Err(wrong("a node without a name".to_owned(), "begin the line with its name"));
    }
    let (mark, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
    let occurs = occurs(mark).ok_or_else(|| {
        wrong(format!("`{mark}` is not a valid count"), "write `name`, `name?`, `name*` or `name*1..5`")
    })?;
    let kind = rest.split(" #").next().unwrap_or_default().trim();
    let scalar = match kind {
        "" => None,
        kind => Some(scalar(kind).ok_or_else(|| {
            wrong(
                format!("`{kind}` is not a type"),
                "types are text, text(n), decimal(digits, scale), unsigned(digits, scale), float, float32, bool, bytes",
            )
        })?),
    };
    let limits = scalar.as_ref().map_or_else(ValueLimits::default, |scalar| limits(scalar, kind));
    Ok(Some(Line { at, indent: lead.len(), name, occurs, scalar, limits }))
}

/// Returns the limits that a type states. Without numbers in parentheses, the size of a type is a default and not a limit.
fn limits(scalar: &Scalar, kind: &str) -> ValueLimits {
    let none = ValueLimits::default();
    let is_stated = kind.contains('(');
    match *scalar {
        Scalar::Text { chars_max: length_max } | Scalar::Bytes { len_max: length_max } => {
            ValueLimits { length_max, ..none }
        }
        Scalar::Decimal { digits, scale, signed } => {
            let decimals = u16::try_from(scale).unwrap_or(0);
            let whole = i32::from(digits) - i32::from(scale);
            // With more decimals than digits, the first decimals are zeros.
            let below = is_stated && whole < 0;
            let bound = |sign: &str| Bound::parse(&format!("{sign}1e{whole}")).map(Bound::exclusive);
            let zero = Bound::parse("0").filter(|_| !signed);
            ValueLimits {
                whole_max: u16::try_from(whole.max(0)).ok().filter(|_| is_stated),
                decimals_max: is_stated.then_some(decimals),
                low: zero.or_else(|| bound("-").filter(|_| below)),
                high: bound("").filter(|_| below),
                ..none
            }
        }
        Scalar::Float32 | Scalar::Float64 | Scalar::Bool => none,
    }
}

fn occurs(mark: &str) -> Option<Occurs> {
    match mark {
        "" => return Some(Occurs::Once),
        "?" => return Some(Occurs::Optional),
        "*" => return Some(Occurs::Many { min: 0, max: None }),
        _ => {}
    }
    let (min, max) = mark.strip_prefix('*')?.split_once("..")?;
    let max = if max.is_empty() { None } else { Some(max.parse().ok()?) };
    let min = min.parse().ok()?;
    max.is_none_or(|max| min <= max).then_some(Occurs::Many { min, max })
}

fn scalar(kind: &str) -> Option<Scalar> {
    let (name, numbers) = match kind.split_once('(') {
        None => (kind, Vec::new()),
        Some((name, rest)) => {
            let inside = rest.strip_suffix(')')?;
            (name.trim(), inside.split(',').map(|n| n.trim().parse::<i64>().ok()).collect::<Option<Vec<i64>>>()?)
        }
    };
    let size = |number: &i64| u32::try_from(*number).ok();
    let decimal = |signed| {
        let digits = u16::try_from(*numbers.first().unwrap_or(&18)).ok().filter(|digits| (1..=38).contains(digits))?;
        // Below zero, digits to the left of the decimal point are zeros, as those of `P` in a picture.
        let scale = i16::try_from(*numbers.get(1).unwrap_or(&0)).ok().filter(|scale| (-38..=38).contains(scale))?;
        Some(Scalar::Decimal { digits, scale, signed })
    };
    match (name, numbers.as_slice()) {
        ("text", []) => Some(Scalar::Text { chars_max: None }),
        ("text", [max]) => Some(Scalar::Text { chars_max: Some(size(max)?) }),
        ("decimal", [] | [_] | [_, _]) => decimal(true),
        ("unsigned", [] | [_] | [_, _]) => decimal(false),
        ("float", []) => Some(Scalar::Float64),
        ("float32", []) => Some(Scalar::Float32),
        ("bool", []) => Some(Scalar::Bool),
        ("bytes", []) => Some(Scalar::Bytes { len_max: None }),
        ("bytes", [max]) => Some(Scalar::Bytes { len_max: Some(size(max)?) }),
        _ => None,
    }
}
