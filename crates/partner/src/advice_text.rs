//! Text of an advice in the character set of the partner's interchanges, and findings about what it cannot contain.

use quayline_core::{Fault, Finding, Findings};
use quayline_edi::{Delimiters, Standard, SyntaxLevel, in_character_set};

use crate::codes;

/// Maximum number of reasons in an advice, both sent and received.
pub(crate) const REASONS_MAX: usize = 20;

/// Characters of one line of an APERAK's FTX.
const LINE_MAX: usize = 70;

/// Lines of one FTX.
const LINES_MAX: usize = 5;

/// Delimiters and character set of an advice.
pub(crate) struct AdviceText {
    pub(crate) delimiters: Delimiters,
    /// ISA12, or syntax identifier and version.
    pub(crate) version: String,
}

/// What an advice does not contain although it should. A text is counted once in each field.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Loss {
    /// Texts with characters that were replaced.
    pub(crate) replaced: usize,
    /// Texts whose end was cut.
    pub(crate) cut: usize,
    /// Texts that were left out.
    pub(crate) omitted: usize,
}

impl Loss {
    /// Returns the warning about the loss, if there is one.
    pub(crate) fn finding(self) -> Option<Finding> {
        let Loss { replaced, cut, omitted } = self;
        let parts = [
            (
                replaced,
                "texts or references with characters that the partner's delimiters or character set do not allow",
            ),
            (cut, "texts that are too long"),
            (omitted, "texts beyond the maximum of 20"),
        ];
        let told: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if told.is_empty() {
            return None;
        }
        let message = format!("the advice does not say everything: it changes, cuts or omits {}", told.join(", "));
        let hint = "shorten the texts of `error` in the map or replace their characters, or choose another `version` or other `delimiters` for the partner";
        Some(Finding::warning(codes::ADVICE_TEXT, Fault::Config, message).hint(hint))
    }
}

impl AdviceText {
    /// Returns the text of interchanges without settings.
    pub(crate) fn usual(standard: Standard) -> Self {
        match standard {
            Standard::X12 => AdviceText { delimiters: Delimiters::X12, version: "00501".to_owned() },
            Standard::Edifact => AdviceText { delimiters: Delimiters::EDIFACT, version: "UNOC:3".to_owned() },
        }
    }

    pub(crate) fn standard(&self) -> Standard {
        self.delimiters.standard
    }

    /// Returns the syntax identifier, such as `UNOC`.
    fn syntax(&self) -> &str {
        self.version.split(':').next().unwrap_or_default()
    }

    /// Returns the syntax version, such as `3`.
    pub(crate) fn syntax_version(&self) -> &str {
        self.version.split(':').nth(1).unwrap_or("3")
    }

    /// Returns true if a reference may contain the character.
    fn carries(&self, c: char) -> bool {
        let byte = u8::try_from(c).ok().filter(u8::is_ascii);
        match (byte, self.standard()) {
            (Some(byte), _) if byte.is_ascii_control() => false,
            (Some(byte), _) if self.delimiters.is_service(byte) => self.delimiters.release.is_some(),
            (Some(_), _) => true,
            (None, Standard::X12) => false,
            (None, Standard::Edifact) => {
                !c.is_control()
                    && in_character_set(c.encode_utf8(&mut [0; 4]).as_bytes(), b"UNOW", self.syntax().as_bytes())
                        .is_ok()
            }
        }
    }

    /// Returns true if a text may contain the character. Unlike a reference, which the partner searches for, a text has no characters beyond UNOA and
    /// UNOB.
    fn has(&self, c: char) -> bool {
        let level = SyntaxLevel::of(self.syntax().as_bytes()).filter(|_| self.standard() == Standard::Edifact);
        self.carries(c) && level.is_none_or(|level| level.has_all(c.encode_utf8(&mut [0; 4]).as_bytes()))
    }

    /// Returns true if no version and no delimiters allow the character in an advice of the standard.
    fn never_has(&self, c: char) -> bool {
        c.is_control() || self.standard() == Standard::X12 && !c.is_ascii()
    }

    /// Returns a text in capital letters if the character set has no small ones.
    fn cased(&self, text: &str) -> String {
        let text = text.trim();
        if self.standard() == Standard::Edifact && self.syntax() == "UNOA" {
            text.to_ascii_uppercase()
        } else {
            text.to_owned()
        }
    }

    /// Checks the texts of a user.
    ///
    /// # Errors
    /// A text is empty, is too long, begins or ends with white space, or has a character that an advice cannot contain, or there are too many.
    pub(crate) fn exact(&self, texts: &[String]) -> Result<Vec<String>, Findings> {
        let refuse = |message: String, hint: &str| {
            let finding = Finding::error(codes::ADVICE_TEXT, Fault::Caller, message);
            Err(Findings::from(finding.hint(hint.to_owned())))
        };
        if texts.len() > REASONS_MAX {
            let message = format!("an advice has at most {REASONS_MAX} texts, and there are {}", texts.len());
            return refuse(message, "join or omit texts, or send several advices");
        }
        let mut kept = Vec::with_capacity(texts.len());
        for (number, given) in (1..).zip(texts) {
            let text = self.cased(given);
            if text.is_empty() {
                return refuse(format!("text {number} of the advice is empty"), "omit the text or write the reason");
            }
            if text.len() != given.len() {
                let message = format!("text {number} of the advice begins or ends with white space");
                return refuse(message, "remove the white space: partners ignore it at the ends of a text");
            }
            let mut wrong: Vec<char> = Vec::new();
            for c in text.chars().filter(|c| !self.has(*c)) {
                if !wrong.contains(&c) && wrong.len() < 20 {
                    wrong.push(c);
                }
            }
            if !wrong.is_empty() {
                let names: Vec<String> = wrong.iter().copied().map(name_of).collect();
                let set = match self.standard() {
                    Standard::X12 => "X12 text with the partner's delimiters",
                    Standard::Edifact => self.syntax(),
                };
                let message =
                    format!("text {number} of the advice contains {}, which {set} cannot contain", names.join(", "));
                let never: Vec<String> = wrong.into_iter().filter(|c| self.never_has(*c)).map(name_of).collect();
                if !never.is_empty() {
                    return refuse(message, &format!("remove {} from the text", never.join(", ")));
                }
                let hint = match self.standard() {
                    Standard::X12 => {
                        "remove these characters from the text, or choose other `delimiters` for the partner"
                    }
                    Standard::Edifact => {
                        "remove these characters from the text, or choose another `version` or other `delimiters` for the partner"
                    }
                };
                return refuse(message, hint);
            }
            if self.standard() == Standard::Edifact && self.error_lines(&text).1.len() > LINES_MAX {
                let message =
                    format!("text {number} of the advice is longer than {LINES_MAX} lines of {LINE_MAX} characters");
                return refuse(message, "shorten the text, or divide it into several texts");
            }
            let pieces = match self.standard() {
                Standard::X12 => {
                    let (first, rest) = ted_and_nte(&text);
                    [&[first], &rest[..]].concat()
                }
                Standard::Edifact => self.error_lines(&text).1,
            };
            if loses_blanks(&pieces) {
                let message =
                    format!("text {number} of the advice has several blanks in a row where it is divided into lines");
                return refuse(message, "write one blank there: the ends of lines have none");
            }
            kept.push(text);
        }
        Ok(kept)
    }

    /// Returns the texts of findings, with substitutes for characters that an advice cannot contain.
    pub(crate) fn close(&self, texts: &[String], loss: &mut Loss) -> Vec<String> {
        let most = texts.len().min(REASONS_MAX);
        loss.omitted += texts.len() - most;
        let kept: Vec<String> =
            texts[..most].iter().map(|text| self.with_substitutes(&self.cased(text), Self::has, loss)).collect();
        if self.standard() == Standard::Edifact {
            loss.cut += kept.iter().filter(|text| self.error_lines(text).1.len() > LINES_MAX).count();
        }
        kept
    }

    /// Returns a reference of the document in its own letter case, because the sender searches for it.
    pub(crate) fn reference(&self, text: &str, loss: &mut Loss) -> String {
        self.with_substitutes(text.trim(), Self::carries, loss)
    }

    fn with_substitutes(&self, text: &str, has: fn(&Self, char) -> bool, loss: &mut Loss) -> String {
        if text.chars().all(|c| has(self, c)) {
            return text.to_owned();
        }
        loss.replaced += 1;
        let substitute = ['?', '.', ' '].into_iter().find(|c| has(self, *c)).unwrap_or(' ');
        text.chars().map(|c| if has(self, c) { c } else { substitute }).collect()
    }

    /// Returns the code at the beginning of a text, such as `MAP-045`, and the lines of the rest. Codes of ERC are those of the application.
    pub(crate) fn error_lines<'t>(&self, text: &'t str) -> (&'t str, Vec<&'t str>) {
        let is_code = |word: &str| {
            word.len() <= 8
                && word.split_once('-').is_some_and(|(area, number)| {
                    let letters = !area.is_empty() && area.bytes().all(|byte| byte.is_ascii_uppercase());
                    letters && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
                })
        };
        let (code, rest) = text.split_once(' ').filter(|(code, _)| is_code(code)).unwrap_or(("OTHER", text));
        (code, cut(rest, LINE_MAX))
    }

    /// Returns the code and at most five lines of a text.
    pub(crate) fn kept_lines<'t>(&self, text: &'t str) -> (&'t str, Vec<&'t str>) {
        let (code, mut lines) = self.error_lines(text);
        lines.truncate(LINES_MAX);
        (code, lines)
    }

    /// Returns a value with release characters before delimiters.
    pub(crate) fn released(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            let is_service = u8::try_from(c).is_ok_and(|byte| byte.is_ascii() && self.delimiters.is_service(byte));
            if let Some(release) = self.delimiters.release.filter(|_| is_service) {
                out.push(char::from(release));
            }
            out.push(c);
        }
        out
    }

    /// Returns the interchange in its character set.
    pub(crate) fn encoded(&self, text: String) -> Vec<u8> {
        match self.standard() {
            Standard::X12 => text.into_bytes(),
            Standard::Edifact => match in_character_set(text.as_bytes(), b"UNOW", self.syntax().as_bytes()) {
                Ok(bytes) => bytes.into_owned(),
                // Each character was checked.
                Err(_) => text.into_bytes(),
            },
        }
    }
}

/// Returns the name of a character for people.
fn name_of(c: char) -> String {
    if c.is_control() || c.is_whitespace() { format!("U+{:04X}", u32::from(c)) } else { format!("\"{c}\"") }
}

/// Returns TED02 and the texts of the NTE segments after it.
pub(crate) fn ted_and_nte(reason: &str) -> (&str, Vec<&str>) {
    let first = cut(reason, 60)[0];
    let rest = reason[first.len()..].trim_start();
    (first, if rest.is_empty() { Vec::new() } else { cut(rest, 80) })
}

/// Returns true if more than one character is missing between two pieces of one text.
fn loses_blanks(pieces: &[&str]) -> bool {
    let place = |piece: &str| piece.as_ptr() as usize;
    pieces.windows(2).any(|two| place(two[1]) - place(two[0]) > two[0].len() + 1)
}

/// Splits a text into pieces of at most `most` characters, at spaces if there are any.
fn cut(text: &str, most: usize) -> Vec<&str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while let Some((end, _)) = rest.char_indices().nth(most) {
        // A space after the last character also ends a piece.
        let at = rest[..end + rest[end..].chars().next().map_or(0, char::len_utf8)].rfind(' ').filter(|at| *at > 0);
        let at = at.unwrap_or(end);
        pieces.push(rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    pieces.push(rest);
    pieces
}
