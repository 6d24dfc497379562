//! Names for codes: from level 88, or as the user gives them.

use std::collections::BTreeMap;

use quayline_cobol::KeyStyle;
use quayline_cobol::layout::{Encoding, Field, FieldIndex, FieldKind, Figurative, Literal};
use toml::Spanned;

use super::wire;
use crate::typed::Typed;

/// A level-88 name and the values for which it holds; `None` if they cannot be listed.
struct Named<'f> {
    name: &'f str,
    values: Option<Vec<String>>,
}

/// Returns the names of a field's codes. If several codes have the same name, the code that requests write comes first.
pub(super) fn codes(field: &Field, hint: &wire::TypeHint) -> Result<Typed, String> {
    let mut codes = if hint.names.is_empty() {
        of_conditions(field)?
    } else {
        hint.names.iter().map(|(code, name)| (as_shown(field, code), name.clone())).collect()
    };
    for (name, code) in &hint.write {
        let code = as_shown(field, code.get_ref());
        let Some(at) = codes.iter().position(|(known, of)| *known == code && of == name) else {
            let mut names: Vec<&str> =
                codes.iter().filter(|(known, _)| *known == code).map(|(_, of)| of.as_str()).collect();
            names.dedup();
            let known =
                if names.is_empty() { "that no name has".to_owned() } else { format!("of `{}`", names.join("`, `")) };
            return Err(format!("`write` gives the name `{name}` a code {known}"));
        };
        let chosen = codes.remove(at);
        codes.insert(0, chosen);
    }
    Ok(Typed::Codes(codes))
}

/// Returns names that belong to several codes, so that a request with such a name is ambiguous.
pub(super) fn ambiguous<'w>(
    types: &[(FieldIndex, Typed)],
    hints: impl Iterator<Item = (FieldIndex, &'w Spanned<wire::TypeHint>)>,
) -> Vec<(FieldIndex, &'w Spanned<wire::TypeHint>, String)> {
    let mut found = Vec::new();
    for (index, hint) in hints {
        let Some((_, Typed::Codes(codes))) = types.iter().find(|(of, _)| *of == index) else { continue };
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        codes.iter().for_each(|(code, name)| by_name.entry(name).or_default().push(code));
        let several = by_name.into_iter().find(|(name, of)| of.len() > 1 && !hint.get_ref().write.contains_key(*name));
        found.extend(several.map(|(name, of)| {
            let message = format!(
                "the name `{name}` belongs to {} codes, so a request with it does not determine the code",
                of.len()
            );
            (index, hint, message)
        }));
    }
    found
}

/// Derives names from level-88 conditions. A condition with one value names that value. A condition with several values names those that no other
/// condition has, because otherwise it is a class of codes, such as all valid ones.
fn of_conditions(field: &Field) -> Result<Vec<(String, String)>, String> {
    let conditions: Vec<Named<'_>> =
        field.conditions.iter().map(|c| Named { name: &c.name, values: values(field, &c.values) }).collect();
    let (single, several): (Vec<&Named<'_>>, Vec<&Named<'_>>) =
        conditions.iter().partition(|c| c.values.as_ref().is_some_and(|values| values.len() == 1));
    let known = |value: &String, without: &str| {
        conditions.iter().any(|c| c.name != without && c.values.iter().flatten().any(|known| known == value))
    };
    let of_its_own = |c: &&&Named<'_>| {
        c.values.as_ref().is_some_and(|values| !values.is_empty() && !values.iter().any(|value| known(value, c.name)))
    };
    let mut named = single;
    named.extend(several.iter().filter(of_its_own));
    let shared = shared_words(&named.iter().map(|c| c.name).collect::<Vec<_>>());
    let key = |name: &str| {
        let words: Vec<&str> = name.split('-').skip(shared).collect();
        KeyStyle::Camel.key(&words.join("-"))
    };
    if named.is_empty() {
        return Err("codes need `names`, or level-88 names whose values no other has".to_owned());
    }
    for (i, c) in named.iter().enumerate() {
        if named[..i].iter().any(|other| key(other.name) == key(c.name)) {
            return Err(format!("two level-88 names become `{}`: write `names`", key(c.name)));
        }
    }
    let codes = named.iter().flat_map(|c| c.values.iter().flatten().map(|value| (value.clone(), key(c.name))));
    Ok(codes.collect())
}

/// Values that a range of numbers may have to be listed.
const RANGE_MAX: u64 = 1_000;

/// Returns the values of a condition as text of the record; `None` if one of them cannot be written in the field.
fn values(field: &Field, values: &[(Literal, Option<Literal>)]) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for (low, high) in values {
        let low = text(field, low)?;
        let Some(high) = high else {
            all.push(low);
            continue;
        };
        let (low, high): (i64, i64) = (low.parse().ok()?, text(field, high)?.parse().ok()?);
        // Between the letters of a range, code pages differ.
        if scale(field) != Some(0) || high < low || high.abs_diff(low) >= RANGE_MAX {
            return None;
        }
        all.extend((low..=high).map(|value| value.to_string()));
    }
    all.sort();
    all.dedup();
    Some(all)
}

fn text(field: &Field, literal: &Literal) -> Option<String> {
    match literal {
        Literal::Text(text) | Literal::Number(text) => Some(as_shown(field, text)),
        Literal::Figurative(Figurative::Zero) => {
            let places = if scale(field).is_none() { field.size } else { 1 };
            Some(as_shown(field, &"0".repeat(places)))
        }
        Literal::Figurative(Figurative::Space) if scale(field).is_none() => Some(String::new()),
        _ => None,
    }
}

/// Formats a code as the record shows it: text without trailing blanks, whole numbers without leading zeros.
pub(super) fn as_shown(field: &Field, code: &str) -> String {
    let code = code.trim_end();
    match (scale(field), code.parse::<i128>()) {
        (Some(0), Ok(number)) => number.to_string(),
        _ => code.to_owned(),
    }
}

/// Returns the decimal places of a number; `None` for text.
fn scale(field: &Field) -> Option<i16> {
    match &field.kind {
        FieldKind::Item(
            Encoding::Zoned { scale, .. }
            | Encoding::Packed { scale, .. }
            | Encoding::PackedUnsigned { scale, .. }
            | Encoding::Binary { scale, .. },
        ) => Some(*scale),
        _ => None,
    }
}

/// Words that all names begin with, as long as each keeps one: `RESP-NONE`, `RESP-SIMILAR`: one.
fn shared_words(names: &[&str]) -> usize {
    let Some(first) = names.first() else { return 0 };
    let words: Vec<&str> = first.split('-').collect();
    let shared = |other: &str| words.iter().zip(other.split('-')).take_while(|(a, b)| **a == *b).count();
    let fewest = names.iter().map(|name| name.split('-').count()).min().unwrap_or(1);
    if names.len() < 2 {
        return 0;
    }
    names.iter().map(|name| shared(name)).min().unwrap_or(0).min(fewest - 1)
}
