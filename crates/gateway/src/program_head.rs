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
    /// Reads the first program of a source text, in fixed or free form, or the one with this PROGRAM-ID or ENTRY. A copybook has neither name
    /// nor parameters.
    ///
    /// # Errors
    /// The programs of the source, if none has the name.
    pub fn of(text: &str, program: Option<&str>) -> Result<ProgramHead, Vec<String>> {
        let written = written_words(text);
        let words: Vec<String> = written.iter().map(|word| word.to_uppercase()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut head = ProgramHead { is_free: Format::Auto.is_free(text), ..ProgramHead::default() };
        let named = |at: usize| {
            let name = (at + 1..words.len()).find(|at| words[*at] != ".")?;
            Some(written[name].trim_matches(['"', '\'']))
        };
        let starts: Vec<usize> = (0..words.len()).filter(|at| words[*at] == "PROGRAM-ID").collect();
        let is_asked =
            |at: &usize| program.is_none_or(|asked| named(*at).is_some_and(|name| name.eq_ignore_ascii_case(asked)));
        let start = starts.iter().copied().find(is_asked);
        if start.is_none() && !starts.is_empty() {
            let Some(entry) = (0..words.len()).filter(|at| words[*at] == "ENTRY").find(is_asked) else {
                return Err(starts.into_iter().filter_map(named).map(str::to_owned).collect());
            };
            head.program = named(entry).map(str::to_owned);
            head.take_using(&words[entry + 2..]);
            return Ok(head);
        }
        head.program = start.and_then(named).map(str::to_owned);
        let from = start.unwrap_or(0);
        let end = starts.iter().copied().find(|at| *at > from).unwrap_or(words.len());
        if let Some(at) = words[from..end].windows(2).position(|pair| pair == ["PROCEDURE", "DIVISION"]) {
            head.take_using(&words[from + at + 2..end]);
        }
        Ok(head)
    }

    /// Takes the parameters of a USING phrase that `words` may begin with.
    fn take_using(&mut self, words: &[&str]) {
        let mut using = Vec::new();
        let mut rest = words.iter();
        if rest.next() == Some(&"USING") {
            let mut is_value = false;
            for word in rest {
                match *word {
                    "." | "RETURNING" | "GIVING" => break,
                    "BY" | "OPTIONAL" => {}
                    "REFERENCE" | "CONTENT" => is_value = false,
                    "VALUE" => is_value = true,
                    name => {
                        if is_value && self.by_value.is_none() {
                            self.by_value = Some(name.to_owned());
                        }
                        using.push(name.to_owned());
                    }
                }
            }
        }
        self.using = Some(using);
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
            assert_eq!(ProgramHead::of(text, None), Ok(expected), "{text}");
        };
        check("       01 A PIC X.\n", None, None, None);
        let fixed = "000100 IDENTIFICATION DIVISION.\n000200 PROGRAM-ID. prices.\n      * PROCEDURE DIVISION USING C.\n       PROCEDURE DIVISION\n           USING A-IN, BY REFERENCE b                                     OLDSTUFF\n           RETURNING R.\n           CALL 'X' USING Z.\n";
        check(fixed, Some("prices"), Some(&["A-IN", "B"]), None);
        check("program-id. 'x'.\nprocedure division. *> using y\n", Some("x"), Some(&[]), None);
        check("PROCEDURE DIVISION USING A BY VALUE B BY CONTENT C.\n", None, Some(&["A", "B", "C"]), Some("B"));
    }

    /// Regression: an API for the second program of a source had the record of the first, which its program wrote beyond.
    #[test]
    fn each_program_and_entry_has_its_own_parameters() {
        let text = "IDENTIFICATION DIVISION.\nPROGRAM-ID. first-p.\nPROCEDURE DIVISION USING A.\nGOBACK.\nENTRY 'OTHER' USING C D.\n\
                    IDENTIFICATION DIVISION.\nPROGRAM-ID. SECOND-P.\nPROCEDURE DIVISION.\nGOBACK.\n\
                    PROGRAM-ID. third.\nPROCEDURE DIVISION USING BY REFERENCE B.\n";
        let using = |program| ProgramHead::of(text, program).map(|head| (head.program, head.using));
        let found = |name: &str, using: &[&str]| {
            Ok((Some(name.to_owned()), Some(using.iter().map(|name| (*name).to_owned()).collect())))
        };
        assert_eq!(using(None), found("first-p", &["A"]));
        assert_eq!(using(Some("SECOND-P")), found("SECOND-P", &[]));
        assert_eq!(using(Some("THIRD")), found("third", &["B"]));
        assert_eq!(using(Some("other")), found("OTHER", &["C", "D"]));
        assert_eq!(using(Some("FOURTH")), Err(["first-p", "SECOND-P", "third"].map(str::to_owned).to_vec()));
        assert_eq!(
            ProgramHead::of("01 A PIC X.\n", Some("ANY")),
            Ok(ProgramHead { is_free: true, ..ProgramHead::default() })
        );
    }
}
