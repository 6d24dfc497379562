//! Name and PROCEDURE DIVISION parameters of a COBOL program, read from its source.

use quayline_cobol::copybook::Format;

/// A program's head.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProgramHead {
    /// PROGRAM-ID as it is written: the name of a module has its case.
    pub program: Option<String>,
    /// The source is in free format.
    pub is_free: bool,
    /// Names in `PROCEDURE DIVISION USING`, in their order; `None` without a PROCEDURE DIVISION.
    pub using: Option<Vec<String>>,
    /// The first parameter that is passed BY VALUE, which has no address in the record.
    pub by_value: Option<String>,
}

impl ProgramHead {
    /// Reads the first program of a source text, in fixed or free form. A copybook has neither name nor parameters.
    #[must_use]
    pub fn of(text: &str) -> ProgramHead {
        let written = written_words(text);
        let words: Vec<String> = written.iter().map(|word| word.to_uppercase()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut head = ProgramHead { is_free: Format::Auto.is_free(text), ..ProgramHead::default() };
        if let Some(at) = words.iter().position(|word| *word == "PROGRAM-ID") {
            let name = written[at + 1..].iter().find(|word| **word != ".");
            head.program = name.map(|name| name.trim_matches(['"', '\'']).to_owned());
        }
        let Some(at) = words.windows(2).position(|pair| pair == ["PROCEDURE", "DIVISION"]) else { return head };
        let mut using = Vec::new();
        let mut rest = words[at + 2..].iter();
        if rest.next() == Some(&"USING") {
            let mut is_value = false;
            for word in rest {
                match *word {
                    "." | "RETURNING" | "GIVING" => break,
                    "BY" | "OPTIONAL" => {}
                    "REFERENCE" | "CONTENT" => is_value = false,
                    "VALUE" => is_value = true,
                    name => {
                        if is_value && head.by_value.is_none() {
                            head.by_value = Some(name.to_owned());
                        }
                        using.push(name.to_owned());
                    }
                }
            }
        }
        head.using = Some(using);
        head
    }
}

/// Splits a source into words in upper case, without comments, sequence numbers and the program identification area. Each period is a word.
pub(crate) fn words(text: &str) -> Vec<String> {
    written_words(text).into_iter().map(|word| word.to_uppercase()).collect()
}

/// The same in the case of the source.
fn written_words(text: &str) -> Vec<String> {
    let is_fixed = !Format::Auto.is_free(text);
    let mut words = Vec::new();
    for line in text.lines() {
        let code = if is_fixed {
            if line.chars().nth(6).is_some_and(|c| "*/".contains(c)) {
                continue;
            }
            line.chars().skip(7).take(65).collect::<String>()
        } else {
            line.to_owned()
        };
        let code = code.split("*>").next().unwrap_or_default();
        for word in code.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()) {
            let plain = word.trim_end_matches('.');
            words.extend((!plain.is_empty()).then(|| plain.to_owned()));
            words.extend((plain.len() < word.len()).then(|| ".".to_owned()));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_the_first_procedure_division() {
        let check = |text: &str, program: Option<&str>, using: Option<&[&str]>, by_value: Option<&str>| {
            let own = |name: &str| name.to_owned();
            let expected = ProgramHead {
                is_free: !text.starts_with([' ', '0']),
                program: program.map(own),
                using: using.map(|names| names.iter().map(|name| own(name)).collect()),
                by_value: by_value.map(own),
            };
            assert_eq!(ProgramHead::of(text), expected, "{text}");
        };
        check("       01 A PIC X.\n", None, None, None);
        let fixed = "000100 IDENTIFICATION DIVISION.\n000200 PROGRAM-ID. prices.\n      * PROCEDURE DIVISION USING C.\n       PROCEDURE DIVISION\n           USING A-IN, BY REFERENCE b                                     OLDSTUFF\n           RETURNING R.\n           CALL 'X' USING Z.\n";
        check(fixed, Some("prices"), Some(&["A-IN", "B"]), None);
        check("program-id. 'x'.\nprocedure division. *> using y\n", Some("x"), Some(&[]), None);
        check("PROCEDURE DIVISION USING A BY VALUE B BY CONTENT C.\n", None, Some(&["A", "B", "C"]), Some("B"));
    }
}
