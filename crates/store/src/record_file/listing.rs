//! Figures of a record file as text.

use super::{Duplicates, FileDefinition, FileFacts, KeyPlace, Organisation, script_word};

impl FileFacts {
    /// Formats the definition of the file and its figures as `quayline file facts` prints them.
    #[must_use]
    pub fn text(&self, definition: &FileDefinition) -> String {
        let mut text = format!("{}: {}", definition.name, definition.organisation.text());
        if let Organisation::KeySequenced(key) = definition.organisation {
            text.push_str(&format!(", key {}:{}", key.offset, key.length));
        }
        let (min, max) = (definition.record_bytes_min, definition.record_bytes_max);
        text.push_str(&format!(", records of {min} to {max} bytes\n"));
        text.push_str(&format!("  {} records, {} bytes", self.records, self.bytes));
        if let (Some(shortest), Some(longest)) = (self.shortest, self.longest) {
            text.push_str(&format!(", the shortest {shortest}, the longest {longest}"));
        }
        text.push('\n');
        text.push_str(&self.uses.text());
        if let Some((lowest, highest)) = &self.keys {
            text.push_str(&format!("  {}\n", keys_text(definition.organisation, lowest, highest)));
        }
        for (index, (_, entries)) in definition.alternates.iter().zip(&self.index_entries) {
            let kind = if index.duplicates == Duplicates::Allowed { "duplicates" } else { "unique" };
            let KeyPlace { offset, length } = index.place;
            text.push_str(&format!("  index {} {offset}:{length}, {kind}: {entries} entries\n", index.name));
        }
        text
    }
}

/// Formats the lowest and the highest key in the syntax of `file get`.
fn keys_text(organisation: Organisation, lowest: &[u8], highest: &[u8]) -> String {
    let number = |key: &[u8]| key.try_into().map_or(0, u64::from_be_bytes);
    match organisation {
        Organisation::KeySequenced(_) => format!("keys {} to {}", script_word(lowest), script_word(highest)),
        Organisation::EntrySequenced => format!("addresses {} to {}", number(lowest), number(highest)),
        Organisation::Relative => format!("numbers {} to {}", number(lowest), number(highest)),
    }
}
