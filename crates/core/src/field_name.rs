//! Similarity of the names of fields, by their words.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::{NodeId, Shape};

/// A name, made ready for comparison.
#[derive(Clone, Debug)]
pub struct FieldName {
    fold: String,
    words: Vec<String>,
    /// Hashes of the words, equal for abbreviations of one word. A proposal compares each pair of fields, so a comparison of two names must be cheap.
    keys: Vec<u64>,
    /// A bit for each key.
    key_bits: u64,
    /// A bit for each pair of adjacent bytes of `fold`, by its hash: those of a part are among those of the whole.
    pairs: u64,
}

impl FieldName {
    /// The likeness of equal names.
    pub const EQUAL: u32 = 100;

    /// Takes a name apart into words, which dashes, underscores and capitals part.
    #[must_use]
    pub fn new(name: &str) -> FieldName {
        let (fold, words) = (fold(name), words(name));
        let keys: Vec<u64> = words.iter().map(|word| key(word)).collect();
        let bit = |pair: &[u8; 2]| 1 << (u16::from_le_bytes(*pair).wrapping_mul(0x9e37) >> 10);
        let pairs = fold.as_bytes().array_windows().map(bit).fold(0, |all, bit: u64| all | bit);
        let key_bits = keys.iter().fold(0, |all, key| all | 1 << (key >> 58));
        FieldName { fold, words, keys, key_bits, pairs }
    }

    /// Returns the names of a shape's nodes, by id.
    #[must_use]
    pub fn of_shape(shape: &Shape) -> Vec<FieldName> {
        shape.iter().map(|(_, node)| FieldName::new(&node.name)).collect()
    }

    /// Returns how well this meaning of the field at one place fits the field at another; at most nine tenths of equal names.
    ///
    /// Words of the other field may also be those of the segment or the loop around the first: a name in the loop of a buyer is a
    /// `buyer-name`.
    #[must_use]
    pub fn meant(&self, at: (&Shape, &[FieldName], NodeId), other: (&Shape, &[FieldName], NodeId)) -> u32 {
        /// Words without which a name still means the same.
        const PLAIN: [&str; 4] = ["number", "code", "amount", "id"];
        let (shape, names, node) = other;
        let parent = shape.node(node).parent.filter(|at| *at != NodeId::ROOT && !shape.node(*at).is_list());
        let words = || parent.into_iter().chain([node]).flat_map(|at| names[at.index()].words());
        let own = &names[node.index()];
        if !own.words().iter().any(|word| self.has(word)) {
            return 0;
        }
        let (shape, names, node) = at;
        let mut score = FieldName::EQUAL * 9 / 10;
        for word in words().filter(|word| !self.has(word)) {
            let mut around = core::iter::successors(shape.node(node).parent, |at| shape.node(*at).parent).take(2);
            if !around.any(|at| names[at.index()].has(word)) {
                // The last word says what it is: a unit price is not a unit.
                let is_head = own.words().last() == Some(word);
                score = score.saturating_sub(if is_head { 45 } else { 30 });
            }
        }
        for (at, word) in self.words().iter().enumerate() {
            let is_head = at + 1 == self.words().len() && !PLAIN.contains(&word.as_str());
            if !words().any(|other| FieldName::new(other).has(word)) {
                score = score.saturating_sub(if is_head { 45 } else { 5 });
            }
        }
        score
    }

    /// Letters and digits in lower case.
    #[must_use]
    pub fn fold(&self) -> &str {
        &self.fold
    }

    /// Words in lower case.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns whether a word, or an abbreviation of it, is among the words.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.keys.contains(&key(word))
    }

    /// Returns the similarity to another name, from 0 to 100. A name that contains the other counts more than one that is part of it.
    #[must_use]
    pub fn likeness(&self, other: &FieldName) -> u32 {
        let (a, b) = (self, other);
        if a.pairs == b.pairs && a.fold == b.fold {
            return FieldName::EQUAL;
        }
        let (short, long) = if a.fold.len() < b.fold.len() { (a, b) } else { (b, a) };
        let may_contain = short.fold.len() >= 4 && short.pairs & !long.pairs == 0;
        if may_contain && long.fold.contains(short.fold.as_str()) {
            // `Item description` is a description; a `given name` is more than a name.
            let more = u32::try_from(long.words.len().saturating_sub(short.words.len())).unwrap_or(u32::MAX);
            let most = if core::ptr::eq(long, a) { 85 } else { 60 };
            return most - 5 * more.min(6);
        }
        if a.key_bits & b.key_bits == 0 {
            return 0;
        }
        let common = a.keys.iter().filter(|key| b.keys.contains(key)).count();
        let all = a.words.len().max(b.words.len());
        u32::try_from(80 * common / all.max(1)).unwrap_or(0)
    }
}

/// Abbreviations of one word; each word is in one group.
const SAME: [&[&str]; 15] = [
    &["number", "no", "nr", "num", "id"],
    &["patient", "subscriber"],
    &["charge", "charged"],
    &["po", "purchase"],
    &["quantity", "qty"],
    &["amount", "amt"],
    &["customer", "cust"],
    &["address", "addr", "street"],
    &["name", "nm"],
    &["date", "dt", "day"],
    &["description", "desc", "text"],
    &["code", "cd"],
    &["postal", "zip", "postcode"],
    &["lines", "line", "items", "item"],
    &["telephone", "phone", "tel"],
];

/// Returns the hash of a word, or of the word that it abbreviates.
fn key(word: &str) -> u64 {
    let whole = SAME.iter().find(|group| group.contains(&word)).map_or(word, |group| group[0]);
    let mut hasher = DefaultHasher::new();
    whole.hash(&mut hasher);
    hasher.finish()
}

/// Words of a name: parted by dashes, underscores, and capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
