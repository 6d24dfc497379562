//! Choice among the pages that extend ASCII: whether one reads the bytes above 0x7F better than windows-1252 does.
//!
//! Only a sample that is text as a whole is weighed: in a file with packed or binary numbers, most such bytes are parts of numbers.

use std::collections::BTreeMap;

use super::ebcdic::{meanings, run_bytes};
use super::plausible::{Language, Place, prior};
use super::{CONTROLS_OF_THOUSAND, WEIGHT_MAX, share};
use crate::CodePage;

/// The pages that read a sample better than windows-1252, if any do.
#[derive(Default)]
pub(super) struct Rivals {
    /// At most [`RIVALS_MAX`], the most likely one first.
    pub(super) pages: Vec<Rival>,
    /// Probability of windows-1252 and the pages that read the sample as it does.
    pub(super) of_windows: f64,
}

/// Number of pages that are proposed beside windows-1252.
const RIVALS_MAX: usize = 2;

/// A page that reads the sample better than windows-1252.
pub(super) struct Rival {
    pub(super) page: &'static CodePage,
    /// Other pages that read every byte above 0x7F the same.
    pub(super) alike: Vec<&'static CodePage>,
    /// Probability of the page, of all pages that are weighed.
    pub(super) part: f64,
    /// Share of the sample in runs of the page's common characters.
    pub(super) share: f64,
    pub(super) evidence: String,
}

/// The pages by how common they are; the first is windows-1252.
const PAGES: [u16; 15] = [1252, 819, 850, 437, 1250, 1251, 1253, 1254, 912, 852, 878, 866, 915, 813, 920];

/// Probability of windows-1252 from which no other page is proposed.
const ENOUGH: f64 = 0.2;

/// Returns the pages that read the bytes above 0x7F best, if windows-1252 and ISO-8859-1 are unlikely.
pub(super) fn rivals(sample: &[u8]) -> Option<Rivals> {
    let is_control = |byte: &&u8| **byte < b' ' && !b"\t\n\x0c\r\x1a".contains(byte);
    let controls = sample.iter().filter(is_control).count();
    let count = |of: u8| sample.iter().filter(|byte| **byte == of).count();
    // A blank of EBCDIC is `@` here.
    let blanks = count(b' ') + count(b'\n');
    if controls * 1_000 > sample.len() * CONTROLS_OF_THOUSAND || blanks * 50 < sample.len() || count(0x40) * 4 > blanks
    {
        return None;
    }
    let surroundings = surroundings(sample);
    let weights: f64 = surroundings.iter().map(|(_, weight)| weight).sum();
    // More than some dozens of places make no page more certain.
    let damp = (WEIGHT_MAX / weights.max(1.0)).min(1.0);
    let words = words(sample);
    let mut groups: Vec<(Vec<&'static CodePage>, f64)> = Vec::new();
    for page in PAGES.iter().filter_map(|ccsid| CodePage::by_ccsid(*ccsid)) {
        let is_same = |other: &CodePage| {
            surroundings.iter().flat_map(|(bytes, _)| bytes).all(|byte| page.to_char(*byte) == other.to_char(*byte))
        };
        let languages = Language::of(page);
        let likelihood = languages
            .iter()
            .map(|language| {
                let sum: f64 =
                    surroundings.iter().map(|(bytes, weight)| weight * likelihood(page, *bytes, language)).sum();
                sum * damp + language.is_seen_in(&words)
            })
            .fold(f64::NEG_INFINITY, f64::max);
        let likelihood = likelihood + prior(page) - (languages.len() as f64).ln() / 2.0;
        match groups.iter_mut().find(|(pages, _)| is_same(pages[0])) {
            Some((pages, most)) => {
                pages.push(page);
                *most = most.max(likelihood);
            }
            None => groups.push((vec![page], likelihood)),
        }
    }
    let most = groups.iter().map(|group| group.1).fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = groups.iter().map(|group| (group.1 - most).exp()).sum();
    let part = |likelihood: f64| (likelihood - most).exp() / all;
    let is_western = |page: &&'static CodePage| [CodePage::WINDOWS_1252, CodePage::LATIN1].contains(page);
    let of_windows =
        groups.iter().filter(|group| group.0.iter().any(&is_western)).map(|group| part(group.1)).fold(0.0, f64::max);
    if of_windows >= ENOUGH {
        return None;
    }
    groups.retain(|group| group.1 > f64::NEG_INFINITY && !group.0.iter().any(&is_western));
    groups.sort_by(|a, b| b.1.total_cmp(&a.1));
    let uses = uses(sample);
    let rival = |(pages, likelihood): &(Vec<&'static CodePage>, f64)| Rival {
        page: pages[0],
        alike: pages[1..].to_vec(),
        part: part(*likelihood),
        share: share(run_bytes(sample, pages[0]), sample),
        evidence: format!("bytes above 0x7F: {}", meanings(pages[0], uses.clone())),
    };
    Some(Rivals { pages: groups.iter().take(RIVALS_MAX).map(rival).collect(), of_windows })
}

/// Returns the bytes above 0x7F and their numbers.
fn uses(sample: &[u8]) -> Vec<(u8, usize)> {
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    sample.iter().filter(|byte| **byte >= 0x80).for_each(|byte| *counts.entry(*byte).or_default() += 1);
    counts.into_iter().collect()
}

fn likelihood(page: &CodePage, [a, b, byte, c, d]: [u8; 5], language: &Language) -> f64 {
    let char = |byte: u8| page.to_char(byte).unwrap_or('\0');
    Place { char: page.to_char(byte), before: [char(a), char(b)], behind: [char(c), char(d)] }.likelihood(language)
}

/// Returns each byte above 0x7F with two bytes on each side, and the weight of its occurrences. Files repeat their words, so the
/// weight grows less than their number.
fn surroundings(sample: &[u8]) -> Vec<([u8; 5], f64)> {
    let mut seen: BTreeMap<[u8; 5], usize> = BTreeMap::new();
    for (at, _) in sample.iter().enumerate().filter(|(_, byte)| **byte >= 0x80) {
        let byte = |i: Option<usize>| i.and_then(|i| sample.get(i)).copied().unwrap_or(b' ');
        let key = [at.checked_sub(2), at.checked_sub(1), Some(at), Some(at + 1), Some(at + 2)].map(byte);
        *seen.entry(key).or_default() += 1;
    }
    seen.into_iter().map(|(key, count)| (key, 1.0 + (count as f64).ln() / 2.0)).collect()
}

/// The sample's words of ASCII letters, in small letters.
fn words(sample: &[u8]) -> Vec<Vec<u8>> {
    let words = sample.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| word.len() > 1);
    words.map(<[u8]>::to_ascii_lowercase).collect()
}
