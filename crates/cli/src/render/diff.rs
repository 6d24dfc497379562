//! Differences between two texts by lines.

use super::paint::{Paint, Style};

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Lines that differ at most, before the rest is shown as replaced as a whole: the search costs their square.
const CHANGES_MAX: usize = 2_000;

/// A line of the result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Change<'a> {
    /// In both texts.
    Same(&'a str),
    /// Only in the first text.
    Gone(&'a str),
    /// Only in the second text.
    New(&'a str),
}

/// Returns the shortest edit script from one text to the other, by lines.
fn changes<'a>(before: &'a str, after: &'a str) -> Vec<Change<'a>> {
    let (a, b): (Vec<&str>, Vec<&str>) = (lines(before), lines(after));
    let same_start = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - same_start;
    let same_end = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(x, y)| x == y).count();
    let (x, y) = (&a[same_start..a.len() - same_end], &b[same_start..b.len() - same_end]);
    let mut all: Vec<Change<'a>> = a[..same_start].iter().map(|line| Change::Same(line)).collect();
    all.extend(shortest(x, y));
    all.extend(a[a.len() - same_end..].iter().map(|line| Change::Same(line)));
    all
}

/// Formats changes with three lines of context, as version control systems do; empty if the texts are equal.
pub(crate) fn diff(before: &str, after: &str, paint: Paint) -> String {
    let all = changes(before, after);
    let changed: Vec<usize> = (0..all.len()).filter(|at| !matches!(all[*at], Change::Same(_))).collect();
    let mut out = String::new();
    let mut at = 0;
    while let Some(first) = changed.get(at) {
        let mut last = *first;
        while let Some(next) = changed.get(at).filter(|next| **next <= last + 2 * CONTEXT + 1) {
            last = *next;
            at += 1;
        }
        let from = first.saturating_sub(CONTEXT);
        let to = (last + CONTEXT + 1).min(all.len());
        let count =
            |upto: &[Change<'_>], side: fn(&Change<'_>) -> bool| upto.iter().filter(|change| side(change)).count();
        let old: fn(&Change<'_>) -> bool = |change| !matches!(change, Change::New(_));
        let new: fn(&Change<'_>) -> bool = |change| !matches!(change, Change::Gone(_));
        let head = format!(
            "@@ -{},{} +{},{} @@",
            count(&all[..from], old) + 1,
            count(&all[from..to], old),
            count(&all[..from], new) + 1,
            count(&all[from..to], new)
        );
        out.push_str(&paint.text(Style::Faint, &head));
        out.push('\n');
        for change in &all[from..to] {
            match change {
                Change::Same(line) => out.push_str(format!(" {line}").trim_end()),
                Change::Gone(line) => out.push_str(&paint.text(Style::Error, &format!("-{line}"))),
                Change::New(line) => out.push_str(&paint.text(Style::Note, &format!("+{line}"))),
            }
            out.push('\n');
        }
    }
    out
}

/// Returns lines without their ends; a missing line end of the text is marked by an additional line.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    if !text.is_empty() && !text.ends_with('\n') {
        lines.push("\\ no line end at the end");
    }
    lines
}

/// Searches greedily for the fewest changes: `reach[k]` is the furthest position in the first text on diagonal `k` with the current number of
/// changes.
fn shortest<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<Change<'a>> {
    let replaced = || a.iter().map(|line| Change::Gone(line)).chain(b.iter().map(|line| Change::New(line))).collect();
    if a.is_empty() || b.is_empty() {
        return replaced();
    }
    let max = (a.len() + b.len()).min(CHANGES_MAX);
    let middle = max + 1;
    let mut reach = vec![0usize; 2 * max + 3];
    let mut steps: Vec<Vec<usize>> = Vec::new();
    for d in 0..=max {
        steps.push(reach.clone());
        for k in (middle - d..=middle + d).step_by(2) {
            let down = k == middle - d || (k != middle + d && reach[k - 1] < reach[k + 1]);
            let mut x = if down { reach[k + 1] } else { reach[k - 1] + 1 };
            while x < a.len() && x + middle >= k && x + middle - k < b.len() && a[x] == b[x + middle - k] {
                x += 1;
            }
            reach[k] = x;
            if x >= a.len() && x + middle >= k && x + middle - k >= b.len() {
                return walk_back(a, b, &steps, middle);
            }
        }
    }
    replaced()
}

fn walk_back<'a>(a: &[&'a str], b: &[&'a str], steps: &[Vec<usize>], middle: usize) -> Vec<Change<'a>> {
    let (mut x, mut y) = (a.len(), b.len());
    let mut all = Vec::new();
    for (d, reach) in steps.iter().enumerate().rev() {
        let k = x + middle - y;
        let down = k == middle - d || (k != middle + d && reach[k - 1] < reach[k + 1]);
        let before = if down { k + 1 } else { k - 1 };
        let from_x = if d == 0 { 0 } else { reach[before] };
        let from_y = if d == 0 { 0 } else { from_x + middle - before };
        while x > from_x && y > from_y {
            x -= 1;
            y -= 1;
            all.push(Change::Same(a[x]));
        }
        if d == 0 {
            break;
        }
        if down {
            y -= 1;
            all.push(Change::New(b[y]));
        } else {
            x -= 1;
            all.push(Change::Gone(a[x]));
        }
    }
    all.reverse();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn changes_stand_with_what_is_around_them() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        let after = "a\nb\nc\nD\ne\nf\ng\nh\ni\nj\nk\nl\nm";
        expect![[r#"
            @@ -1,7 +1,7 @@
             a
             b
             c
            -d
            +D
             e
             f
             g
            @@ -10,3 +10,5 @@
             j
             k
             l
            +m
            +\ no line end at the end
        "#]]
        .assert_eq(&diff(before, after, Paint::new(false)));
        assert_eq!(diff(before, before, Paint::new(false)), "");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn both_texts_can_be_made_of_the_changes(a in "([abc]\n){0,12}", b in "([abc]\n){0,12}") {
            let all = changes(&a, &b);
            let side = |skip: fn(&Change<'_>) -> bool| -> String {
                all.iter().filter(|change| !skip(change)).map(|change| match change {
                    Change::Same(line) | Change::Gone(line) | Change::New(line) => format!("{line}\n"),
                }).collect()
            };
            prop_assert_eq!(&side(|change| matches!(change, Change::New(_))), &a);
            prop_assert_eq!(&side(|change| matches!(change, Change::Gone(_))), &b);
        }
    }
}
