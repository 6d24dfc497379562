//! Whether a text is COBOL.

/// Whether a line of the text is a level number, a name and a clause of the data division.
#[must_use]
pub fn has_data_descriptions(text: &str) -> bool {
    const CLAUSES: [&str; 10] =
        ["PIC", "PICTURE", "USAGE", "OCCURS", "REDEFINES", "VALUE", "COMP", "COMP-3", "BINARY", "PACKED-DECIMAL"];
    text.lines().any(|line| {
        // Columns 1 to 6 of fixed form may hold a sequence number.
        let fixed = line.get(6..).unwrap_or_default();
        [line, fixed].into_iter().any(|line| {
            let mut words = line.split_whitespace();
            let level = words.next().and_then(|word| word.parse::<u8>().ok());
            let level = level.is_some_and(|level| matches!(level, 1..=49 | 66 | 77 | 88));
            level
                && words.next().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == ':'))
                && words
                    .next()
                    .is_some_and(|clause| CLAUSES.contains(&clause.trim_end_matches('.').to_ascii_uppercase().as_str()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cobol_is_told_from_data() {
        assert!(has_data_descriptions("       01 R.\n          05 A PIC X(3).\n"));
        assert!(has_data_descriptions("000100 05 A PICTURE IS 9.\n"));
        assert!(has_data_descriptions("05 :TAG:-A REDEFINES B.\n"));
        assert!(!has_data_descriptions("05 A quick brown fox\n"));
        assert!(!has_data_descriptions("1 Main Street\n"));
        assert!(!has_data_descriptions(""));
    }
}
