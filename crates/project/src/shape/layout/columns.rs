//! Columns of rows.

use quayline_core::{Finding, Findings, Moment, NodeId, Occurs, Scalar, Shape};
use toml::Spanned;

use super::wire::{Field, TypeName};
use super::{Loader, text};

/// Digits of a number column without a number of digits.
const DIGITS: u16 = 18;

/// Builds the shape of rows, and lists its leaves that are dates or timestamps.
pub(super) fn shape(
    loader: &Loader<'_>,
    name: &str,
    fields: &[Spanned<Field>],
) -> Result<(Shape, Vec<(NodeId, Moment)>), Findings> {
    let mut findings = Vec::new();
    let mut builder = Shape::builder(name);
    let mut moments = Vec::new();
    if fields.is_empty() {
        let hint = "describe each column, in order: [[field]], name = \"ORDER\", type = \"text\", length = 12";
        findings.push(loader.wrong(&(0..1), "the layout has no field", hint));
    }
    let mut seen: Vec<&str> = Vec::new();
    for field in fields {
        let (scalar, occurs) = leaf(loader, field.get_ref(), &mut seen, &mut findings);
        if let Some(list) = &field.get_ref().list {
            let hint = "name the fields that separate documents: group-by = [\"order\"]";
            findings.push(loader.wrong(&list.span(), "`list` is for CSV layouts with `group-by`", hint));
        }
        let node = builder.scalar(field.get_ref().name.get_ref(), scalar, occurs);
        moments.extend(moment_of(field.get_ref().kind).map(|moment| (node, moment)));
    }
    if findings.is_empty() { Ok((builder.finish(), moments)) } else { Err(Findings(findings)) }
}

/// Returns the type of a column, and true if it may be absent. `seen` has the names of the preceding columns.
pub(super) fn leaf<'f>(
    loader: &Loader<'_>,
    of: &'f Field,
    seen: &mut Vec<&'f str>,
    findings: &mut Vec<Finding>,
) -> (Scalar, Occurs) {
    let (name, at) = text(&of.name);
    if name.is_empty() || seen.contains(&name) {
        let what = if name.is_empty() { "a field without a name".to_owned() } else { format!("two fields `{name}`") };
        findings.push(loader.wrong(&at, what, "names of columns are unique"));
    }
    seen.push(name);
    if of.start.is_some() || of.point.is_some() || of.sign.is_some() {
        findings.push(loader.wrong(&at, "`start`, `point` and `sign` are for fixed fields", "leave them out"));
    }
    let digits = of.digits.or_else(|| of.length.and_then(|length| u16::try_from(length).ok()));
    let decimal =
        |scale| Scalar::Decimal { digits: digits.unwrap_or(DIGITS), scale, signed: of.signed.unwrap_or(true) };
    let scalar = match of.kind {
        TypeName::Text => Scalar::Text { chars_max: of.length },
        TypeName::Decimal => decimal(of.decimals.unwrap_or(0)),
        TypeName::Integer => decimal(0),
        TypeName::Float => Scalar::Float64,
        TypeName::Bool => Scalar::Bool,
        TypeName::Date | TypeName::Timestamp => {
            if of.length.is_some() {
                findings.push(loader.wrong(
                    &at,
                    "a date or timestamp has one form and no length",
                    "leave `length` out",
                ));
            }
            Scalar::Text { chars_max: moment_of(of.kind).map(Moment::chars_max) }
        }
    };
    let numeric = matches!(of.kind, TypeName::Decimal | TypeName::Integer);
    if !numeric && (of.digits.is_some() || of.decimals.is_some() || of.signed.is_some()) {
        let message = "`digits`, `decimals` and `signed` are for numbers";
        findings.push(loader.wrong(&at, message, "say type = \"decimal\""));
    }
    let too_long = digits.is_some_and(|digits| digits == 0 || digits > 38)
        || of.decimals.is_some_and(|decimals| !(0..=38).contains(&decimals));
    if numeric && too_long {
        let message = "a number has from 1 to 38 digits, and as many decimals at most";
        findings.push(loader.wrong(&at, message, "say fewer"));
    }
    (scalar, if of.required == Some(true) { Occurs::Once } else { Occurs::Optional })
}

/// Returns the kind of moment that text of a type is, if it is one.
pub(super) fn moment_of(kind: TypeName) -> Option<Moment> {
    match kind {
        TypeName::Date => Some(Moment::Date),
        TypeName::Timestamp => Some(Moment::Timestamp),
        TypeName::Text | TypeName::Decimal | TypeName::Integer | TypeName::Float | TypeName::Bool => None,
    }
}
