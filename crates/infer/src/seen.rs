//! Observations at one place of all samples.

use std::collections::HashMap;

/// Everything observed at one place of the samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Number of occurrences.
    pub(crate) times: u64,
    pub(crate) nulls: u64,
    pub(crate) leaf: Leaf,
    /// Groups that stood there.
    pub(crate) groups: u64,
    /// Members of the groups in the order of first occurrence.
    pub(crate) members: Members,
    /// Number of lists; the next two fields are the greatest length and the content of all.
    pub(crate) lists: u64,
    pub(crate) longest: u64,
    pub(crate) item: Option<Box<Seen>>,
    /// Characters of the longest text of only white space, in an XML element with attributes and without elements. It counts if such an element has text
    /// elsewhere.
    pub(crate) blank: u32,
}

/// Members of a group in the order of first occurrence. A search through all of them for each occurrence takes quadratic time, so
/// an index finds them if they are more than a few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    all: Vec<(String, Seen)>,
    /// Places in `all` by name; empty for up to [`FEW_MEMBERS`].
    places: HashMap<String, usize>,
}

/// Up to this many members, a search through all of them costs less than an index.
const FEW_MEMBERS: usize = 16;

impl Members {
    /// Returns the members with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(String, Seen)> {
        self.all.iter()
    }

    /// Returns whether there is a member of this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// Sorts the members; equal ones keep their order.
    pub(crate) fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&str) -> K) {
        self.all.sort_by_key(|(name, _)| key(name));
        self.places.clear();
        self.index();
    }

    fn place(&self, name: &str) -> Option<usize> {
        if self.places.is_empty() {
            self.all.iter().position(|(known, _)| known == name)
        } else {
            self.places.get(name).copied()
        }
    }

    /// Indexes the members that the index does not have yet.
    fn index(&mut self) {
        if self.all.len() > FEW_MEMBERS {
            for place in self.places.len()..self.all.len() {
                self.places.insert(self.all[place].0.clone(), place);
            }
        }
    }
}

/// Values that stood at a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaf {
    pub(crate) texts: u64,
    pub(crate) numbers: u64,
    pub(crate) bools: u64,
    pub(crate) empty: u64,
    pub(crate) shortest: u32,
    pub(crate) longest: u32,
    /// Digits before and after the point.
    pub(crate) whole: u16,
    pub(crate) scale: u16,
    pub(crate) negative: bool,
    /// Numbers that are not plain decimals: with an exponent.
    pub(crate) odd: u64,
    /// Texts that could be numbers, or truth values.
    pub(crate) like_numbers: u64,
    pub(crate) like_bools: u64,
    /// Texts that look like a day: CCYY-MM-DD.
    pub(crate) like_days: u64,
}

impl Seen {
    /// Returns the observations of a group's member.
    pub(crate) fn member(&mut self, name: &str) -> &mut Seen {
        let members = &mut self.members;
        let place = members.place(name).unwrap_or_else(|| {
            members.all.push((name.to_owned(), Seen::default()));
            members.index();
            members.all.len() - 1
        });
        &mut members.all[place].1
    }

    /// Records a text of a format in which every value is text. Readers take a number, a truth value or a day only without white space around it.
    pub(crate) fn text(&mut self, text: &str) {
        self.times += 1;
        let leaf = &mut self.leaf;
        if text.is_empty() {
            leaf.empty += 1;
            return;
        }
        let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        leaf.shortest = if leaf.texts == 0 { chars } else { leaf.shortest.min(chars) };
        leaf.longest = leaf.longest.max(chars);
        leaf.texts += 1;
        if let Some((whole, scale, negative)) = plain_number(text)
            && !leading_zero(text)
        {
            leaf.like_numbers += 1;
            leaf.whole = leaf.whole.max(whole);
            leaf.scale = leaf.scale.max(scale);
            leaf.negative |= negative;
        }
        leaf.like_bools += u64::from(matches!(text, "true" | "false"));
        leaf.like_days += u64::from(is_day(text));
    }

    /// Records the text of an element. White space around it is not part of a number or a code, but a reader keeps it.
    pub(crate) fn element_text(&mut self, text: &str) {
        self.text(text.trim());
        self.leaf.longest = self.leaf.longest.max(u32::try_from(text.chars().count()).unwrap_or(u32::MAX));
    }

    /// Records a text of a format that has its own truth values.
    pub(crate) fn string(&mut self, text: &str) {
        let before = self.leaf.like_bools;
        self.text(text);
        self.leaf.like_bools = before;
    }

    /// Records a number of a format that has numbers.
    pub(crate) fn number(&mut self, text: &str) {
        self.times += 1;
        let leaf = &mut self.leaf;
        leaf.numbers += 1;
        match plain_number(text) {
            Some((whole, scale, negative)) => {
                leaf.whole = leaf.whole.max(whole);
                leaf.scale = leaf.scale.max(scale);
                leaf.negative |= negative;
            }
            None => leaf.odd += 1,
        }
    }

    pub(crate) fn truth(&mut self) {
        self.times += 1;
        self.leaf.bools += 1;
    }

    pub(crate) fn null(&mut self) {
        self.times += 1;
        self.nulls += 1;
    }
}

/// Returns the digits before and after the point, and whether it is negative.
fn plain_number(text: &str) -> Option<(u16, u16, bool)> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || (digits.contains('.') && fraction.is_empty())
    {
        return None;
    }
    Some((u16::try_from(whole.len()).ok()?, u16::try_from(fraction.len()).ok()?, negative))
}

/// Returns whether a text begins with a zero that a number would lose, as codes and account numbers do.
fn leading_zero(text: &str) -> bool {
    let digits = text.trim_start_matches('-').as_bytes();
    digits.len() > 1 && digits[0] == b'0' && digits[1] != b'.'
}

fn is_day(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}
