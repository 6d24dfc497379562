//! Names that are nearly right: several, without regard to case and dashes.

use crate::spelling::letters_apart;

/// Returns the up to three names nearest to `wanted` within a bounded edit distance.
#[must_use]
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let bound = (wanted.chars().count() / 3).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let distance = distance(&fold(wanted), &fold(name));
            (distance <= bound).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(3);
    near.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// Formats the hint `did you mean A, B or C?`
#[must_use]
pub fn offer(names: &[String]) -> Option<String> {
    let (last, rest) = names.split_last()?;
    Some(if rest.is_empty() {
        format!("did you mean {last}?")
    } else {
        format!("did you mean {} or {last}?", rest.join(", "))
    })
}

/// Normalizes a name for comparison: ignores case and dashes.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions, changes and swaps of neighbours from one to the other.
fn distance(a: &[char], b: &[char]) -> usize {
    if a.len().abs_diff(b.len()) > 4 || a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    letters_apart(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_nearest_first() {
        let names = ["CUST-NAME", "CUST-NO", "NAME", "AMOUNT"];
        assert_eq!(nearest("CUSTNAME", names.into_iter()), ["CUST-NAME"]);
        assert_eq!(nearest("CSUT-NO", names.into_iter()), ["CUST-NO"]);
        assert_eq!(nearest("NM103", ["NM102", "NM104", "NM1"].into_iter()), ["NM102", "NM104"]);
        assert!(nearest("zzz", names.into_iter()).is_empty());
        assert_eq!(offer(&["a".into(), "b".into()]).as_deref(), Some("did you mean a or b?"));
    }
}
