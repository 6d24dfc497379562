//! Suggestions for names that are nearly right.

/// Returns the candidate nearest to `word` if it may be a slip: at most a third of the word's letters differ. The first of several equally near ones.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = lower_case(word).collect();
    let slips_max = (word.len() / 3).max(1);
    // A damaged definition may need a suggestion for each of a million lines, so candidates share their memory.
    let (mut letters, mut rows) = (Vec::new(), Rows::default());
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        letters.clear();
        letters.extend(lower_case(candidate));
        if letters.len().abs_diff(word.len()) > slips_max {
            continue;
        }
        let slips = rows.distance(&word, &letters);
        if slips <= slips_max && best.is_none_or(|(least, _)| slips < least) {
            best = Some((slips, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Counts the letters to insert, drop, change or swap with a neighbour to turn `a` into `b`.
pub(crate) fn letters_apart(a: &[char], b: &[char]) -> usize {
    Rows::default().distance(a, b)
}

fn lower_case(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().flat_map(char::to_lowercase)
}

/// The last three rows of the table of distances between the beginnings of two words.
#[derive(Default)]
struct Rows {
    before: Vec<usize>,
    last: Vec<usize>,
    row: Vec<usize>,
}

impl Rows {
    /// Counts the letters to insert, drop, change or swap with a neighbour to turn `a` into `b`.
    fn distance(&mut self, a: &[char], b: &[char]) -> usize {
        let Rows { before, last, row } = self;
        last.clear();
        last.extend(0..=b.len());
        for (i, x) in a.iter().enumerate() {
            row.clear();
            row.push(i + 1);
            for (j, y) in b.iter().enumerate() {
                let changed = last[j] + usize::from(x != y);
                let mut best = changed.min(last[j + 1] + 1).min(row[j] + 1);
                if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                    best = best.min(before[j - 1] + 1);
                }
                row.push(best);
            }
            core::mem::swap(before, last);
            core::mem::swap(last, row);
        }
        last[b.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let pages = ["cp037", "cp1047", "cp500", "latin1", "utf-8"];
        assert_eq!(nearest("cp0037", pages), Some("cp037"));
        assert_eq!(nearest("CP1074", pages), Some("cp1047"));
        assert_eq!(nearest("latn1", pages), Some("latin1"));
        assert_eq!(nearest("koi8-r", pages), None);
        assert_eq!(nearest("", ["a"]), Some("a"));
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest("segmnet", ["element", "segment", "SEGMENT"]), Some("segment"), "a swap is one slip");
        assert_eq!(nearest("colour", ["color", "colours"]), Some("color"), "the first of two");
    }
}
