//! Answers of scripts as text and JSON.

use serde_json::{Map, Value, json};

use super::{ScriptAnswer, script_word};

impl ScriptAnswer {
    /// Formats the answer as text: line number, file status, and the record as a word.
    #[must_use]
    pub fn text(&self, line: u64) -> String {
        let record = self.record.as_ref().map(|record| format!(" {}", script_word(&record.bytes)));
        format!("{line} {}{}", self.status, record.unwrap_or_default())
    }

    /// Formats the answer as a JSON object.
    #[must_use]
    pub fn json(&self, line: u64) -> String {
        let mut object = Map::new();
        object.insert("line".to_owned(), json!(line));
        object.insert("operation".to_owned(), json!(self.operation));
        object.insert("status".to_owned(), json!(self.status.digits()));
        if let Some(record) = &self.record {
            match std::str::from_utf8(&record.bytes) {
                Ok(text) => object.insert("record".to_owned(), json!(text)),
                Err(_) => {
                    let digits: String = record.bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                    object.insert("record_hex".to_owned(), json!(digits))
                }
            };
        }
        if let Some(error) = &self.error {
            let finding = error.finding();
            object.insert("code".to_owned(), json!(finding.code.to_string()));
            object.insert("message".to_owned(), json!(finding.message));
            object.extend(finding.hint.map(|hint| ("hint".to_owned(), json!(hint))));
        }
        Value::Object(object).to_string()
    }
}
