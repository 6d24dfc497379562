//! Columns of rows.

use quayline_core::{Findings, Occurs, Scalar, Shape};
use toml::Spanned;

use super::wire::{Field, TypeName};
use super::{Loader, text};

/// Digits of a number that says nothing of them.
const DIGITS: u16 = 18;

pub(super) fn shape(loader: &Loader<'_>, name: &str, fields: &[Spanned<Field>]) -> Result<Shape, Findings> {
    let mut findings = Vec::new();
    let mut builder = Shape::builder(name);
    let mut seen: Vec<&str> = Vec::new();
    if fields.is_empty() {
        let hint = "describe each column, in order: [[field]], name = \"ORDER\", type = \"text\", length = 12";
        findings.push(loader.wrong(&(0..1), "the layout has no field", hint));
    }
    for field in fields {
        let of = field.get_ref();
        let (name, at) = text(&of.name);
        if name.is_empty() || seen.contains(&name) {
            let what =
                if name.is_empty() { "a field without a name".to_owned() } else { format!("two fields `{name}`") };
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
        };
        let numeric = matches!(of.kind, TypeName::Decimal | TypeName::Integer);
        if !numeric && (of.digits.is_some() || of.decimals.is_some() || of.signed.is_some()) {
            findings.push(loader.wrong(
                &at,
                "`digits`, `decimals` and `signed` are for numbers",
                "say type = \"decimal\"",
            ));
        }
        let too_long = digits.is_some_and(|digits| digits == 0 || digits > 38)
            || of.decimals.is_some_and(|decimals| !(0..=38).contains(&decimals));
        if numeric && too_long {
            findings.push(loader.wrong(
                &at,
                "a number has from 1 to 38 digits, and as many decimals at most",
                "say fewer",
            ));
        }
        let occurs = if of.required == Some(true) { Occurs::Once } else { Occurs::Optional };
        builder.scalar(name, scalar, occurs);
    }
    if findings.is_empty() { Ok(builder.finish()) } else { Err(Findings(findings)) }
}
