//! Reference format: which columns of a line are COBOL.

/// Use of the columns of a source text.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Format {
    /// Detected for each text separately, from all of its lines.
    ///
    /// A line votes for *free* if it can only be free: its first character is in columns 1 to 6 and begins a level number with a
    /// name, a division, section or COPY statement, or `*>`; or column 7 does not hold an indicator while columns 1 to 6 are blank.
    /// A line votes for *fixed* if columns 1 to 6 are digits and column 7 is an indicator, or if columns 1 to 6 are blank and
    /// column 7 is `*`, `/` or `-`. The majority wins; without votes the text is fixed. One line that cannot be fixed (column 7
    /// does not hold an indicator while columns 1 to 6 are blank) outvotes all comments, since a `*` in column 7 is a comment in
    /// both formats, unless a line requires fixed form: one with a sequence number, or one that continues another.
    #[default]
    Auto,
    /// Columns 1-6 sequence number, 7 indicator, 8-72 text, from 73 on identification.
    Fixed,
    /// The whole line is text.
    Free,
}

/// A format that was decided.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Decided {
    Fixed,
    Free,
}

impl Format {
    /// Returns whether a text in this format is free: the whole line is text.
    #[must_use]
    pub fn is_free(self, text: &str) -> bool {
        self.decide(text) == Decided::Free
    }

    pub(crate) fn decide(self, text: &str) -> Decided {
        match self {
            Format::Fixed => Decided::Fixed,
            Format::Free => Decided::Free,
            Format::Auto => {
                let votes: Vec<Vote> = text.lines().map(vote).collect();
                let has = |wanted: Vote| votes.contains(&wanted);
                let sum: i64 = votes.iter().map(|vote| vote.weight()).sum();
                if sum > 0 || (has(Vote::NeverFixed) && !has(Vote::NeverFree)) { Decided::Free } else { Decided::Fixed }
            }
        }
    }
}

/// Columns from 1 with tabs expanded: the character and the column it starts in.
pub(crate) fn columns(line: &str) -> impl Iterator<Item = (usize, usize, char)> + '_ {
    let mut column = 1;
    line.chars().enumerate().map(move |(index, c)| {
        let at = column;
        column = if c == '\t' { (column - 1) / TAB * TAB + TAB + 1 } else { column + 1 };
        (index, at, c)
    })
}

/// Tabs stop every eight columns: 1, 9, 17 …
const TAB: usize = 8;

/// Vote of a line on its text's format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Vote {
    /// The line has a sequence number or continues another line, and would be invalid in free form.
    NeverFree,
    /// The line is a comment in fixed form, and in free form too.
    Fixed,
    None,
    Free,
    /// Column 7 does not hold an indicator.
    NeverFixed,
}

impl Vote {
    fn weight(self) -> i64 {
        match self {
            Vote::NeverFree | Vote::Fixed => -1,
            Vote::None => 0,
            Vote::Free | Vote::NeverFixed => 1,
        }
    }
}

fn vote(line: &str) -> Vote {
    let mut sequence = String::new();
    let mut indicator = ' ';
    for (_, column, c) in columns(line).take_while(|(_, column, _)| *column <= 7) {
        match column {
            1..=6 => sequence.push(c),
            _ => indicator = c,
        }
    }
    let digits = sequence.len() == 6 && sequence.bytes().all(|b| b.is_ascii_digit());
    let blank = sequence.trim().is_empty();
    let is_indicator = matches!(indicator, ' ' | '*' | '/' | '-' | 'D' | 'd' | '$' | '\t');
    if digits && is_indicator {
        return Vote::NeverFree;
    }
    if blank {
        let comment = line.trim_start().starts_with("*>");
        return match indicator {
            '-' => Vote::NeverFree,
            '*' | '/' if !comment => Vote::Fixed,
            _ if is_indicator || comment || line.trim_start().starts_with(">>") => Vote::None,
            _ => Vote::NeverFixed,
        };
    }
    if begins_code(line.trim_start()) { Vote::Free } else { Vote::None }
}

/// Returns whether a text that starts in columns 1 to 6 can only be COBOL, not a sequence number or a change mark.
fn begins_code(text: &str) -> bool {
    if text.starts_with("*>") {
        return true;
    }
    let mut words = text.split([' ', '\t']).filter(|w| !w.is_empty());
    let Some(first) = words.next() else { return false };
    let second = words.next();
    if (1..=2).contains(&first.len()) && first.bytes().all(|b| b.is_ascii_digit()) {
        let name = second.unwrap_or("").trim_end_matches('.');
        return name.bytes().any(|b| b.is_ascii_alphabetic()) && first.parse::<u8>().is_ok_and(|l| l > 0);
    }
    let first = first.to_ascii_uppercase();
    let second = second.map(|w| w.trim_end_matches('.').to_ascii_uppercase());
    match first.as_str() {
        "IDENTIFICATION" | "ID" | "ENVIRONMENT" | "DATA" | "PROCEDURE" => second.as_deref() == Some("DIVISION"),
        "FILE" | "WORKING-STORAGE" | "LOCAL-STORAGE" | "LINKAGE" => second.as_deref() == Some("SECTION"),
        "COPY" | "REPLACE" | "FD" | "SD" => second.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_can_be_nothing_else_decide() {
        let check = |text: &str, expected: Decided| assert_eq!(Format::Auto.decide(text), expected, "{text:?}");
        check("", Decided::Fixed);
        check("       01 A.\n           05 B PIC X.", Decided::Fixed);
        check("01 A.\n  05 B PIC X.", Decided::Free);
        check("      01 A.", Decided::Free);
        check("000100 01 A.", Decided::Fixed);
        check("      * note\n01     05 B PIC X.", Decided::Fixed);
        check("*> note\n           05 B PIC X.", Decided::Free);
        check("\t05 B PIC X.", Decided::Fixed);
        check("PAY001 01 A.", Decided::Fixed);
        check("copy other.", Decided::Free);
        // A licence in comments does not outvote the one line that cannot be fixed; lines that need fixed form do.
        let licence = "      * licence\n".repeat(18);
        check(&format!("{licence}      01 A.\n          05 B PIC X."), Decided::Free);
        check(&format!("{licence}000100 01 A.\n      01 B."), Decided::Fixed);
        check("       01 A PIC X(9) VALUE \"ab\n      -    \"c\".\n      01 B.", Decided::Fixed);
    }
}
