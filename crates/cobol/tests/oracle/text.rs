//! A copybook tree as fixed-format source text, in any of the forms that people write.

use crate::copybook::{Case, Entry};
use crate::random::Random;

/// Last column of the text area.
const MARGIN: usize = 72;

struct Style {
    sequence: bool,
    identification: bool,
    lower: bool,
    comments: bool,
    /// One clause a line now and then.
    breaks: bool,
}

pub(crate) fn render(random: &mut Random, case: &Case) -> String {
    let style = Style {
        sequence: random.one_in(3),
        identification: random.one_in(4),
        lower: random.one_in(4),
        comments: random.one_in(3),
        breaks: random.one_in(3),
    };
    let record = case.record.name.clone().expect("a record has a name");
    let mut lines = Lines { out: Vec::new(), style, random, record };
    if !case.fragment {
        lines.entry(&words(&case.record, ""), 8);
    }
    for child in case.record.children() {
        lines.tree(child, 12);
    }
    for (name, from, thru) in &case.renames {
        let mut entry: Vec<String> = ["66", name, "RENAMES", from].map(str::to_owned).to_vec();
        if let Some(thru) = thru {
            entry.extend([lines.random.pick(&["THRU", "THROUGH"]).to_owned(), thru.clone()]);
        }
        lines.entry(&entry, 12);
    }
    let text = lines.out.join("\n") + "\n";
    if case.replacing.is_some() { text.replace("TAG-", ":T:-").replace("tag-", ":T:-") } else { text }
}

/// The entry's own words, without its final period.
///
/// `record` qualifies counters, unless it is empty.
fn words(entry: &Entry, record: &str) -> Vec<String> {
    let mut words = vec![format!("{:02}", entry.level)];
    words.extend(entry.name.clone());
    if let Some(storage) = &entry.redefines {
        words.extend(["REDEFINES".to_owned(), storage.clone()]);
    }
    let mut clauses = entry.clauses.clone();
    let mut occurs = Vec::new();
    if let Some(table) = &entry.occurs {
        occurs.push("OCCURS".to_owned());
        if table.counter.is_some() {
            occurs.extend([table.min.to_string(), "TO".to_owned()]);
        }
        occurs.push(table.max.to_string());
        occurs.push("TIMES".to_owned());
        if let Some(counter) = &table.counter {
            occurs.extend(["DEPENDING".to_owned(), "ON".to_owned(), counter.clone()]);
            if !record.is_empty() {
                occurs.extend(["OF".to_owned(), record.to_owned()]);
            }
        }
        if let Some(index) = &table.index {
            occurs.extend(["INDEXED".to_owned(), "BY".to_owned(), index.clone()]);
        }
    }
    // OCCURS stands in front of the others or behind them; with a VALUE behind.
    if table_last(&clauses) {
        clauses.extend(occurs);
        words.extend(clauses);
    } else {
        words.extend(occurs);
        words.extend(clauses);
    }
    words
}

fn table_last(clauses: &[String]) -> bool {
    clauses.len().is_multiple_of(2) && !clauses.iter().any(|c| c.starts_with("VALUE"))
}

struct Lines<'r> {
    out: Vec<String>,
    style: Style,
    random: &'r mut Random,
    record: String,
}

impl Lines<'_> {
    fn tree(&mut self, entry: &Entry, indent: usize) {
        if self.style.comments && self.random.one_in(5) {
            let comment = self.random.pick(&[
                "      * a comment with 'a quote",
                "",
                "      /",
                "123456* 05 NOT-A-FIELD PIC X(99).",
                "           *> an in-line comment",
            ]);
            self.out.push(comment.to_owned());
        }
        let qualifier = if self.random.one_in(3) { self.record.clone() } else { String::new() };
        let mut own = words(entry, &qualifier);
        if entry.name.is_none() && self.random.one_in(2) {
            own.insert(1, "FILLER".to_owned());
        }
        self.entry(&own, indent);
        for (name, value) in &entry.conditions {
            let mut condition = vec!["88".to_owned(), name.clone()];
            condition.extend(split_outside_quotes(value));
            self.entry(&condition, (indent + 4).min(30));
        }
        for child in entry.children() {
            self.tree(child, (indent + 2).min(30));
        }
    }

    /// An entry of one line or more.
    fn entry(&mut self, words: &[String], indent: usize) {
        let mut line = " ".repeat(indent - 1);
        let mut fresh = true;
        let last = words.len() - 1;
        for (i, word) in words.iter().enumerate() {
            let period = if i == last { "." } else { "" };
            let literal = word.starts_with('\'');
            let word = if self.style.lower && !literal { word.to_lowercase() } else { word.clone() } + period;
            if literal && line.len() + 1 + word.len() > MARGIN {
                self.continued(&mut line, &word);
                fresh = false;
                continue;
            }
            let blanks = if self.random.one_in(12) { 2 } else { 1 };
            // GnuCOBOL drops a line that begins with `$`, as if it were a directive: such a picture stands behind another word.
            let dollar = words.get(i + 1).is_some_and(|next| next.starts_with('$'));
            let ahead = if dollar { 2 + words[i + 1].len() + 1 } else { 0 };
            let break_here = i > 1 && self.style.breaks && self.random.one_in(4) && !word.starts_with('$');
            if !fresh && (break_here || line.len() + blanks + word.len() + ahead > MARGIN) {
                self.line(&line);
                line = " ".repeat(self.random.within(12, 20));
            } else if !fresh {
                line.push_str(&" ".repeat(blanks));
            }
            line.push_str(&word);
            fresh = false;
        }
        self.line(&line);
    }

    /// Writes a literal that continues on the next line: column 7 has a hyphen, and the rest begins with a quote.
    ///
    /// A line is filled to its margin, since blanks before the margin would belong to the literal. Its start is chosen so that the last line has
    /// more than the closing quote.
    fn continued(&mut self, line: &mut String, literal: &str) {
        const FRONT: &str = "      -    '";
        let fits = |start: &usize| {
            let rest = (literal.len() + start).saturating_sub(MARGIN);
            rest == 0 || (rest - 1) % (MARGIN - FRONT.len()) >= 2
        };
        let start = (line.len() + 1..MARGIN - 3).find(fits);
        let start = start.filter(|_| self.random.one_in(2)).unwrap_or_else(|| {
            self.line(line);
            line.clear();
            (12..30).find(fits).expect("one of three neighbouring columns fits")
        });
        *line = format!("{line:start$}");
        let mut rest = literal;
        while line.len() + rest.len() > MARGIN {
            let (front, back) = rest.split_at(MARGIN - line.len());
            line.push_str(front);
            self.line(line);
            *line = FRONT.to_owned();
            rest = back;
        }
        line.push_str(rest);
    }

    fn line(&mut self, text: &str) {
        let mut line = text.trim_end_matches(' ').to_owned();
        if text.len() == MARGIN {
            // Blanks at the margin may belong to a literal.
            line = text.to_owned();
        }
        if self.style.sequence {
            line.replace_range(..6, &format!("{:06}", (self.out.len() + 1) * 10 % 1_000_000));
        }
        if self.style.identification && self.random.one_in(2) {
            line = format!("{line:MARGIN$}IDENT003");
        }
        self.out.push(line);
    }
}

fn split_outside_quotes(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}
