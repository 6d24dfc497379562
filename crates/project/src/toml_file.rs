//! A user's TOML file, read with all errors at once and with the place of each key.
//!
//! Quayline removes each value that serde rejects and reads the rest again, so one run reports all errors.

use core::ops::Range;
use std::collections::BTreeSet;

use crate::UserText;
use quayline_core::{Code, Fault, Finding, Findings, Place, nearest, plain_expectation};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

/// A file's text as a tree.
#[derive(Clone, Debug)]
pub struct TomlFile<'a> {
    source: &'a UserText,
    table: Spanned<DeTable<'a>>,
}

/// Maximum number of findings for one file. The user must fix the first ones anyway.
const FINDINGS_MAX: usize = 50;

impl<'a> TomlFile<'a> {
    /// Parses a file. Findings have this code, and `remedy` as their hint unless there is a more specific one.
    ///
    /// # Errors
    /// Every syntax error.
    pub fn parse(source: &'a UserText, code: Code, remedy: &str) -> Result<TomlFile<'a>, Findings> {
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        if errors.is_empty() {
            return Ok(TomlFile { source, table });
        }
        let found = |error: &toml::de::Error| {
            let place = error.span().map_or_else(|| in_file(source), |span| source.place(&span));
            Finding::error(code, Fault::Config, one_line(error.message())).at(place).hint(remedy)
        };
        let mut errors: Vec<_> = errors.iter().take(FINDINGS_MAX).collect();
        errors.sort_by_key(|error| error.span().map_or(0, |span| span.start));
        Err(Findings(errors.into_iter().map(found).collect()))
    }

    /// Deserializes the file.
    ///
    /// # Errors
    /// Every unknown key, every value of a wrong type, every missing key.
    pub fn read<T: DeserializeOwned>(&self, code: Code, remedy: &str) -> Result<T, Findings> {
        let mut table = self.table.clone();
        let mut found: Vec<(usize, Finding)> = Vec::new();
        let mut removed: BTreeSet<String> = BTreeSet::new();
        while found.len() < FINDINGS_MAX {
            let error = match T::deserialize(Deserializer::from(table.clone())) {
                Ok(value) if found.is_empty() => return Ok(value),
                Ok(_) => break,
                Err(error) => error,
            };
            let span = error.span();
            // What was taken away because it is wrong is not missing as well.
            let follows = quoted(error.message(), "missing field ").is_some_and(|name| removed.contains(name));
            if !follows {
                let place = span.clone().map_or_else(|| in_file(self.source), |span| self.source.place(&span));
                let message = one_line(error.message());
                let hint = suggestion(&message).unwrap_or_else(|| remedy.to_owned());
                let finding = Finding::error(code, Fault::Config, message).at(place).hint(hint);
                found.push((span.clone().map_or(0, |span| span.start), finding));
            }
            let missing = error.message().starts_with("missing field ");
            match span.and_then(|span| remove(table.get_mut(), &span, missing)) {
                Some(name) => removed.insert(name),
                None => break,
            };
        }
        found.sort_by_key(|(at, _)| *at);
        Err(Findings(found.into_iter().map(|(_, finding)| finding).collect()))
    }

    /// Returns the place of a key's value, by the path of tables; the whole file if the key is missing.
    #[must_use]
    pub fn place(&self, path: &[&str]) -> Place {
        let mut table = self.table.get_ref();
        let mut span = None;
        for name in path {
            let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == name) else { break };
            let inner = value.get_ref().as_table();
            span = Some(if inner.is_some() { key.span() } else { value.span() });
            match inner {
                Some(inner) => table = inner,
                None => break,
            }
        }
        span.map_or_else(|| in_file(self.source), |span| self.source.place(&span))
    }
}

fn in_file(source: &UserText) -> Place {
    Place { file: Some(source.name.clone()), ..Place::default() }
}

fn one_line(message: &str) -> String {
    plain_expectation(&message.trim().replace('\n', "; "))
}

/// Returns the name in backticks after `before`.
fn quoted<'m>(message: &'m str, before: &str) -> Option<&'m str> {
    message.strip_prefix(before)?.strip_prefix('`')?.split('`').next()
}

/// Suggests the closest known key for an unknown one.
fn suggestion(message: &str) -> Option<String> {
    let word = quoted(message, "unknown field ")?;
    let known = message.split_once("expected")?.1.split('`').skip(1).step_by(2);
    nearest(word, known).map(|name| format!("did you mean `{name}`?"))
}

/// Removes the innermost key or element that contains the range. Returns its name, or the name of the list that contains it. With `missing`,
/// removes only an item whose range is exactly this one.
fn remove(table: &mut DeTable<'_>, range: &Range<usize>, missing: bool) -> Option<String> {
    let within =
        |span: Range<usize>| if missing { span == *range } else { span.start <= range.start && range.end <= span.end };
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let name = key.get_ref().to_string();
        if within(key.span()) {
            found = Some(key.clone());
            break;
        }
        let span = value.span();
        match value.get_mut() {
            DeValue::Table(inner) => {
                if let Some(name) = remove(inner, range, missing) {
                    return Some(name);
                }
            }
            DeValue::Array(all) => {
                let inner = all.iter_mut().find_map(|one| match one.get_mut() {
                    DeValue::Table(inner) => remove(inner, range, missing),
                    _ => None,
                });
                if inner.is_some() {
                    return inner;
                }
                if let Some(at) = all.iter().position(|one| within(one.span())) {
                    let mut rest = DeArray::new();
                    all.iter().enumerate().filter(|(i, _)| *i != at).for_each(|(_, one)| rest.push(one.clone()));
                    *all = rest;
                    return Some(name);
                }
            }
            _ => {}
        }
        if within(span) {
            found = Some(key.clone());
            break;
        }
    }
    let key = found?;
    table.remove(&key);
    Some(key.into_inner().into_owned())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only what is wrong is looked at")]
    struct Outer {
        name: String,
        port: u16,
        #[serde(default)]
        inner: Option<Inner>,
        #[serde(default)]
        item: Vec<Inner>,
        #[serde(default)]
        words: Vec<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only what is wrong is looked at")]
    struct Inner {
        size: u32,
        #[serde(default)]
        colour: String,
    }

    fn check(text: &str) -> Vec<String> {
        const CODE: Code = Code("GTW-001");
        let source = UserText { name: "a.toml".into(), text: text.into() };
        let done = TomlFile::parse(&source, CODE, "see there").and_then(|file| file.read::<Outer>(CODE, "see there"));
        let all = done.err().map(|findings| findings.0).unwrap_or_default();
        let line = |finding: &Finding| finding.place.to_string().lines().next().unwrap_or_default().to_owned();
        all.iter().map(|f| format!("{}: {}; {}", line(f), f.message, f.hint.as_deref().unwrap_or(""))).collect()
    }

    #[test]
    fn all_that_is_wrong_is_found_at_once() {
        assert_eq!(check("name = \"a\"\nport = 1\n[inner]\nsize = 1\n[[item]]\nsize = 2\n"), [""; 0]);
        let found = check(
            "name = 5\nport = 70000\nwords = [\"a\", 1, \"b\", 2]\n[inner]\nsiz = 1\ncolour = true\n[[item]]\nsize = 1\n[[item]]\ncolour = \"red\"\n[[item]]\nsize = \"x\"\n",
        );
        let expect = [
            "a.toml:1:8: invalid type: integer `5`, expected a string; see there",
            "a.toml:2:8: invalid value: integer `70000`, expected a whole number from 0 to 65,535; see there",
            "a.toml:3:15: invalid type: integer `1`, expected a string; see there",
            "a.toml:3:23: invalid type: integer `2`, expected a string; see there",
            "a.toml:4:1: missing field `size`; see there",
            "a.toml:5:1: unknown field `siz`, expected `size` or `colour`; did you mean `size`?",
            "a.toml:6:10: invalid type: boolean `true`, expected a string; see there",
            "a.toml:9:1: missing field `size`; see there",
            "a.toml:12:8: invalid type: string \"x\", expected a whole number from 0 to 4,294,967,295; see there",
        ];
        assert_eq!(found, expect);
        assert_eq!(check("port = 1\n"), ["a.toml:1:1: missing field `name`; see there"]);
        let inline = check("name = \"a\"\nport = 1\ninner = { size = \"x\", weight = 1, height = 2 }\n");
        assert_eq!(inline.len(), 3, "{inline:?}");
    }

    #[test]
    fn what_is_no_toml_is_found_at_once_too() {
        let found = check("name = \nport = \"\n[inner\nsize = 1\n");
        assert!(found.len() == 3 && found[0].starts_with("a.toml:1:8: string values must be quoted"), "{found:?}");
    }

    #[test]
    fn keys_have_places() {
        let text = "name = \"a\"\n[inner]\nsize = 7\n";
        let source = UserText { name: "a.toml".into(), text: text.into() };
        let file = TomlFile::parse(&source, Code("GTW-001"), "").unwrap();
        let line = |path: &[&str]| file.place(path).to_string().lines().next().unwrap_or_default().to_owned();
        assert_eq!(line(&["inner", "size"]), "a.toml:3:8");
        assert_eq!(line(&["inner", "other"]), "a.toml:2:2");
        assert_eq!(line(&["nope"]), "a.toml");
    }
}
