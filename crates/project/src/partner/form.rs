//! The JSON form of a partner file: the same keys, for programs.

use std::fmt::Write as _;
use std::path::Path;

use quayline_core::{Fault, Finding, Findings, Place};
use serde_json::{Map, Value};

use crate::codes;
use crate::toml_file::TomlFile;
use crate::user_file::UserFile;

/// Converts the text of a partner file to JSON. The result has a name: that in the text, otherwise that of the file.
///
/// # Errors
/// The text is not TOML.
pub fn json_of(path: &Path, text: &str) -> Result<Value, Findings> {
    let file = UserFile::new(&path.display().to_string(), text);
    let table: toml::Table = TomlFile::parse(&file.text, codes::PARTNER_SYNTAX, super::DOCUMENT)?
        .read(codes::PARTNER_SYNTAX, super::DOCUMENT)?;
    let stem = super::default_name(path);
    let mut object = Map::new();
    object.insert("name".to_owned(), Value::String(stem));
    object.extend(table.into_iter().map(|(key, value)| (key, json_value(value))));
    Ok(Value::Object(object))
}

fn json_value(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(all) => Value::Array(all.into_iter().map(json_value).collect()),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, json_value(value))).collect())
        }
    }
}

/// Converts JSON to partner files: one object, a list of objects, or an object with the list `partners`. Each becomes the text of a file.
///
/// # Errors
/// The text is not JSON of this form. Errors in the keys are found when the text of the file is read.
pub fn toml_of(name: &str, json: &str) -> Result<Vec<String>, Findings> {
    let wrong = |message: String, line: Option<u32>| -> Findings {
        let place = Place { file: Some(name.into()), line, ..Place::default() };
        let hint = "write one partner as an object, or several as {\"partners\": [{…}, {…}]}; `quayline partner export` shows the form";
        Finding::error(codes::PARTNER_SYNTAX, Fault::Config, message).at(place).hint(hint).into()
    };
    let value: Value = serde_json::from_str(json).map_err(|error| {
        let line = u32::try_from(error.line()).ok();
        wrong(format!("this is not JSON: {error}"), line)
    })?;
    let partners = match value {
        Value::Object(mut object) => match object.remove("partners") {
            Some(Value::Array(all)) if object.is_empty() => all,
            Some(_) => return Err(wrong("`partners` must be a list, and the only key".to_owned(), None)),
            None => vec![Value::Object(object)],
        },
        Value::Array(all) => all,
        _ => return Err(wrong("this is not a partner".to_owned(), None)),
    };
    let text = |one: &Value| match one {
        Value::Object(object) => Ok(text_of(object)),
        _ => Err(wrong("a partner is an object".to_owned(), None)),
    };
    partners.iter().map(text).collect()
}

/// Writes the text of a partner file: plain keys first, followed by tables and lists of tables.
fn text_of(object: &Map<String, Value>) -> String {
    let is_list =
        |value: &Value| matches!(value, Value::Array(all) if !all.is_empty() && all.iter().all(Value::is_object));
    let mut text = String::new();
    for (key, value) in object.iter().filter(|(_, value)| !value.is_object() && !is_list(value)) {
        line(key, value, &mut text);
    }
    for (key, value) in object {
        if let Value::Object(table) = value {
            let _ = write!(text, "\n[{}]\n", key_text(key));
            table.iter().for_each(|(key, value)| line(key, value, &mut text));
        }
    }
    for (key, value) in object.iter().filter(|(_, value)| is_list(value)) {
        for table in value.as_array().into_iter().flatten().filter_map(Value::as_object) {
            let _ = write!(text, "\n[[{}]]\n", key_text(key));
            table.iter().for_each(|(key, value)| line(key, value, &mut text));
        }
    }
    text
}

/// Writes a member. Null is equivalent to a missing member.
fn line(key: &str, value: &Value, text: &mut String) {
    if !value.is_null() {
        let _ = writeln!(text, "{} = {}", key_text(key), value_text(value));
    }
}

fn key_text(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { key.to_owned() } else { string_text(key) }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => string_text(text),
        Value::Array(all) => format!("[{}]", all.iter().map(value_text).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => {
            let members = table.iter().filter(|(_, value)| !value.is_null());
            let members = members.map(|(key, value)| format!("{} = {}", key_text(key), value_text(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Null => "\"\"".to_owned(),
        other => other.to_string(),
    }
}

/// Writes a basic string, whose escapes are those of JSON. DEL must be escaped too.
fn string_text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
