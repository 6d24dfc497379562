//! COBOL names to keys.

use crate::KeyStyle;

/// Returns `name` in the given style.
pub(crate) fn styled(name: &str, style: KeyStyle) -> String {
    let words = || name.split(['-', '_']).filter(|w| !w.is_empty());
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars
            .next()
            .map_or_else(String::new, |first| first.to_uppercase().chain(chars.flat_map(char::to_lowercase)).collect())
    };
    match style {
        KeyStyle::Cobol => name.to_owned(),
        KeyStyle::Underscore => name.replace('-', "_"),
        KeyStyle::Snake => name.to_lowercase().replace('-', "_"),
        KeyStyle::Kebab => name.to_lowercase().replace('_', "-"),
        KeyStyle::Camel => {
            words().enumerate().map(|(i, w)| if i == 0 { w.to_lowercase() } else { capital(w) }).collect()
        }
        KeyStyle::Pascal => words().map(capital).collect(),
    }
}

impl KeyStyle {
    /// Returns the key for a COBOL name.
    #[must_use]
    pub fn key(self, name: &str) -> String {
        styled(name, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles() {
        let all = |name| {
            use KeyStyle::*;
            [Cobol, Underscore, Snake, Kebab, Camel, Pascal].map(|style| styled(name, style)).join(" ")
        };
        assert_eq!(all("CUST-NAME-1"), "CUST-NAME-1 CUST_NAME_1 cust_name_1 cust-name-1 custName1 CustName1");
        assert_eq!(all("X"), "X X x x x X");
    }
}
