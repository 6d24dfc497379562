//! Suggestions for names that are nearly right.

/// Returns the candidate nearest to `word` if it may be a slip: at most a third of the word's letters differ.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let slips_max = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase().chars().collect::<Vec<_>>()), candidate))
        .filter(|(slips, _)| *slips <= slips_max)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Counts the letters to insert, drop, change or swap with a neighbour to turn `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = last[j] + usize::from(x != y);
            let mut best = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
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
    }
}
