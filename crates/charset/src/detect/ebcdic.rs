//! Choice of the EBCDIC page: the meaning that bytes on which pages differ would have beside the text around them.

use core::ops::Range;
use std::collections::BTreeMap;

use super::plausible::{Language, Place, prior};
use super::{CONTROLS_OF_THOUSAND, Candidate, RUN_MIN, Shares, WEIGHT_MAX, percent, score, share};
use crate::{Charset, CodePage};

/// Returns one candidate for each set of pages that read the text of the sample the same.
pub(super) fn candidates(sample: &[u8], shares: &Shares) -> Vec<Candidate> {
    let text = Text::of(sample);
    let words = words(sample);
    let mut groups: Vec<Reading> = Vec::new();
    for page in proposed() {
        match groups.iter_mut().find(|other| text.means_the_same(other.pages[0], page)) {
            Some(group) => group.pages.push(page),
            None => groups.push(Reading::of(&text, page)),
        }
    }
    groups.iter_mut().for_each(|group| group.weigh(&text, &words));
    let common_share = groups.first().map_or(0.0, |group| group.share);
    let most = groups.iter().map(|group| group.likelihood).fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = groups.iter().map(|group| (group.likelihood - most).exp()).sum();
    let mut candidates = Vec::new();
    for group in &groups {
        let (share, part) = match text.evidence {
            // A few may be numbers that have text around them by chance: they are reported, and prefer no page.
            Evidence::None | Evidence::Few => (group.share.min(common_share), 1.0),
            Evidence::Some => (group.share, (group.likelihood - most).exp() / all),
        };
        let score = score(shares.fit(share) * (0.5 + 0.5 * part));
        if score > 0 {
            let charset = Some(Charset::SingleByte(group.pages[0]));
            let alike = group.pages[1..].iter().copied().map(Charset::SingleByte).collect();
            let mut evidence = family_evidence(sample, shares, group.share);
            evidence.extend(text.evidence_for(group.pages[0], group.pages.len()));
            candidates.push((group.likelihood, Candidate { charset, score, alike, evidence }));
        }
    }
    if text.evidence == Evidence::Some {
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        name_a_general_page(&mut candidates, &groups);
    }
    candidates.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Moves a page of general use that reads the text plausibly to the proposals that people look at.
fn name_a_general_page(candidates: &mut Vec<(f64, Candidate)>, groups: &[Reading]) {
    let is_general = |candidate: &Candidate| {
        let all = candidate.charset.iter().chain(&candidate.alike);
        let pages = GENERAL.iter().filter_map(|ccsid| CodePage::by_ccsid(*ccsid)).map(Charset::SingleByte);
        all.clone().any(|charset| pages.clone().any(|page| page == *charset))
    };
    if candidates.iter().take(LOOKED_AT).any(|(_, candidate)| is_general(candidate)) {
        return;
    }
    let plausible = |candidate: &Candidate| {
        let group = groups.iter().find(|group| candidate.charset == Some(Charset::SingleByte(group.pages[0])));
        group.is_some_and(|group| group.mean > PLAUSIBLE_MEAN)
    };
    let found = candidates.iter().position(|(_, candidate)| is_general(candidate) && plausible(candidate));
    if let Some(at) = found {
        let last = candidates[LOOKED_AT - 1].1.score;
        let mut general = candidates.remove(at);
        general.1.score = general.1.score.max(last);
        candidates.insert(LOOKED_AT - 1, general);
    }
}

/// Pages that sites of every language use: those of the USA, of open systems and for international use, and their euro forms.
const GENERAL: [u16; 5] = [37, 1047, 500, 1140, 1148];
/// Number of proposals that `inspect` shows first.
const LOOKED_AT: usize = 3;
/// Mean likelihood from which a page reads the text plausibly: that of a seldom sign, or of an accented letter at an unusual place.
const PLAUSIBLE_MEAN: f64 = -3.5;

/// Bytes in runs of a page's common characters: blanks, digits, common punctuation, letters of its main script.
///
/// Pages of other scripts have so many letters that random bytes form runs. Their runs must be longer and end where a word changes
/// its script or goes from small to capital letters.
pub(super) fn run_bytes(sample: &[u8], page: &CodePage) -> usize {
    runs(sample, page).iter().map(ExactSizeIterator::len).sum()
}

fn runs(sample: &[u8], page: &CodePage) -> Vec<Range<usize>> {
    let classes = classes(page);
    let min = if has_other_script(page) { 2 * RUN_MIN } else { RUN_MIN };
    let class = |byte: &u8| classes[usize::from(*byte)];
    let mut found = Vec::new();
    let mut start = 0;
    for run in sample.chunk_by(|a, b| class(a).goes_on_with(class(b))) {
        let end = start + run.len();
        if run.len() >= min && class(&run[0]) != Class::NoText {
            found.push(start..end);
        }
        start = end;
    }
    found
}

fn classes(page: &CodePage) -> Vec<Class> {
    (0..=255).map(|byte| Class::of(page.to_char(byte))).collect()
}

fn has_other_script(page: &CodePage) -> bool {
    classes(page).contains(&Class::OtherSmall)
}

/// Class of a character in running text.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Class {
    NoText,
    /// Blanks, digits, common punctuation.
    Between,
    Latin,
    OtherSmall,
    OtherCapital,
}

impl Class {
    fn of(char: Option<char>) -> Self {
        match char {
            Some(char) if char.is_ascii_alphabetic() => Class::Latin,
            Some(char) if char.is_ascii_digit() || " .,-/'()".contains(char) => Class::Between,
            // Greek and the letters after it.
            Some(char) if char >= '\u{370}' && char.is_lowercase() => Class::OtherSmall,
            Some(char) if char >= '\u{370}' && char.is_uppercase() => Class::OtherCapital,
            _ => Class::NoText,
        }
    }

    fn goes_on_with(self, next: Class) -> bool {
        match (self, next) {
            (Class::NoText, _) | (_, Class::NoText) => false,
            (Class::Between | Class::OtherCapital, Class::OtherSmall | Class::OtherCapital) => true,
            (_, Class::OtherCapital) => false,
            (Class::OtherSmall, Class::OtherSmall) | (_, Class::Between) | (Class::Between, Class::Latin) => true,
            (before, next) => before == Class::Latin && next == Class::Latin,
        }
    }
}

/// Pages by how common they are, to order those that a sample cannot distinguish: first those of the USA and of open systems, then
/// those of large countries and the euro pages, then the rest. Pages that are not among them are hardly used.
const BY_USE: [u16; 25] = [
    37, 1047, 500, 273, 285, 297, 284, 280, 1140, 1141, 1146, 1147, 1145, 1144, 1148, 278, 277, 871, 1143, 1142, 1149,
    870, 1026, 1025, 875,
];

/// Returns the pages that detection proposes.
pub(super) fn proposed() -> impl Iterator<Item = &'static CodePage> {
    BY_USE.iter().filter_map(|ccsid| CodePage::by_ccsid(*ccsid))
}

/// An EBCDIC blank.
const BLANK: u8 = 0x40;
/// Letters, digits, blanks and similar required among the three bytes on each side of variant bytes.
const BESIDE_MIN: usize = 2;
/// Most variant bytes in a row that text has: more are numbers, or words of another script.
const IN_A_ROW_MAX: usize = 3;

/// Returns the positions of the variant bytes within text: up to [`IN_A_ROW_MAX`] with letters, digits or blanks on both sides.
/// Packed and binary numbers have such bytes too, but seldom text around them. The text is what every page has in common.
fn variants_in_text(sample: &[u8], variant: &[bool; 256]) -> Vec<usize> {
    let kinds = kinds(variant);
    let kind = |byte: u8| kinds[usize::from(byte)];
    // A sample begins and ends at a blank.
    let is_text = |mut beside: [Option<&u8>; 3]| {
        beside.iter_mut().for_each(|byte| *byte = byte.or(Some(&BLANK)));
        let plain = |byte: &Option<&u8>| byte.is_some_and(|byte| kind(*byte) == Kind::Plain);
        // In `a[5]` a single digit is between two such bytes.
        plain(&beside[0]) && beside.iter().filter(|byte| plain(byte)).count() >= BESIDE_MIN
    };
    let mut found = Vec::new();
    let mut start = 0;
    for stretch in sample.chunk_by(|a, b| kind(*a) == kind(*b)) {
        let end = start + stretch.len();
        if kind(stretch[0]) == Kind::Variant && stretch.len() <= IN_A_ROW_MAX {
            let left = [1, 2, 3].map(|back| start.checked_sub(back).and_then(|at| sample.get(at)));
            let right = [0, 1, 2].map(|on| sample.get(end + on));
            if is_text(left) && is_text(right) {
                found.extend(start..end);
            }
        }
        start = end;
    }
    found
}

/// Returns the positions of the variant bytes within words of the other script of `page`. The words of a run are near each other, and
/// have at least [`RUN_MIN`] letters together.
fn variants_in_script(sample: &[u8], page: &CodePage, variant: &[bool; 256]) -> Vec<usize> {
    let classes = classes(page);
    let is_letter = |i: &usize| matches!(classes[usize::from(sample[*i])], Class::OtherSmall | Class::OtherCapital);
    let mut found = Vec::new();
    for run in runs(sample, page) {
        let letters: Vec<usize> = run.filter(is_letter).collect();
        for words in letters.chunk_by(|a, b| b - a <= GAP_MAX).filter(|words| words.len() >= RUN_MIN) {
            found.extend(words.iter().copied().filter(|i| variant[usize::from(sample[*i])]));
        }
    }
    found
}

/// Distance of the letters on both sides of a gap between words: a comma and a blank are between them.
const GAP_MAX: usize = 3;

#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    Plain,
    Variant,
    Other,
}

fn kinds(variant: &[bool; 256]) -> [Kind; 256] {
    // No punctuation that ends a packed number: zones 4 to 7 with digit C, D or F.
    let plain = |byte: u8| {
        matches!(byte, BLANK | 0x4b | 0x5e | 0x60 | 0x61 | 0x6b | 0x7a | 0x7e | 0xf0..=0xf9)
            || Class::of(CodePage::IBM037.to_char(byte)) == Class::Latin
    };
    let mut kinds = [Kind::Other; 256];
    for (byte, kind) in (0..=255).zip(&mut kinds) {
        *kind = match () {
            () if plain(byte) => Kind::Plain,
            () if byte > BLANK && variant[usize::from(byte)] => Kind::Variant,
            () => Kind::Other,
        };
    }
    kinds
}

/// Number of variant bytes in text below which they are not evidence.
const FEW: usize = 8;
/// Variant bytes are not evidence if fewer than one in this many bytes of text is one.
const FEW_IN_TEXT: usize = 500;
/// Variant bytes in text are not evidence if they are fewer than one in this many of all variant bytes: among many such bytes in
/// numbers, some have text around them by chance.
const FEW_OF_ALL: usize = 50;

/// Evidence of the bytes on which pages differ.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Evidence {
    /// The text has no such bytes.
    None,
    /// The bytes are too few to prefer a page.
    Few,
    Some,
}

/// The places of a sample's text at which EBCDIC pages differ. They are the same for every page.
struct Text<'s> {
    sample: &'s [u8],
    /// Number of occurrences of each variant byte in text.
    uses: Vec<(u8, usize)>,
    /// Each variant byte with two bytes on each side, and the weight of its occurrences. Files repeat their words, so the weight
    /// grows less than their number.
    surroundings: Vec<([u8; 5], f64)>,
    evidence: Evidence,
    is_text_only: bool,
    /// Variant bytes that are taken for parts of numbers.
    in_numbers: usize,
}

impl<'s> Text<'s> {
    fn of(sample: &'s [u8]) -> Self {
        let variant = variant();
        let is_variant = |i: &usize| sample[*i] > BLANK && variant[usize::from(sample[*i])];
        let controls = sample.iter().filter(|byte| is_control(**byte)).count();
        // Numbers in packed or binary form have bytes below the blank. Without them, each byte is text.
        let is_text_only = controls * 1_000 <= sample.len() * CONTROLS_OF_THOUSAND;
        let all: Vec<usize> = (0..sample.len()).filter(is_variant).collect();
        let mut places = if is_text_only {
            all.clone()
        } else {
            let mut places = variants_in_text(sample, &variant);
            for page in proposed().filter(|page| has_other_script(page)) {
                places.extend(variants_in_script(sample, page, &variant));
            }
            places.sort_unstable();
            places.dedup();
            places
        };
        // A zone C or D with digit 0 after digits is the sign of a number, not a brace or a letter, unless there are braces elsewhere.
        let is_sign = |i: &usize| {
            matches!(sample[*i], 0xc0 | 0xd0)
                && i.checked_sub(1).is_some_and(|before| matches!(sample[before], 0xf0..=0xf9))
        };
        let braces = |places: &[usize]| places.iter().any(|i| matches!(sample[*i], 0xc0 | 0xd0) && !is_sign(i));
        if !(is_text_only && braces(&places)) {
            places.retain(|i| !is_sign(i));
        }
        let mut counts = [0usize; 256];
        places.iter().for_each(|i| counts[usize::from(sample[*i])] += 1);
        let uses = (0..=255).zip(counts).filter(|(_, count)| *count > 0).collect();
        let text_bytes = run_bytes(sample, CodePage::IBM037);
        let evidence = match places.len() {
            0 => Evidence::None,
            told if !is_text_only && told < FEW.max(text_bytes / FEW_IN_TEXT).max(all.len() / FEW_OF_ALL) => {
                Evidence::Few
            }
            _ => Evidence::Some,
        };
        let in_numbers = all.len() - places.len();
        let mut seen: BTreeMap<[u8; 5], usize> = BTreeMap::new();
        for &at in &places {
            let byte = |i: Option<usize>| i.and_then(|i| sample.get(i)).copied().unwrap_or(BLANK);
            let key = [at.checked_sub(2), at.checked_sub(1), Some(at), Some(at + 1), Some(at + 2)].map(byte);
            *seen.entry(key).or_default() += 1;
        }
        let surroundings = seen.into_iter().map(|(key, count)| (key, 1.0 + (count as f64).ln() / 2.0)).collect();
        Text { sample, uses, surroundings, evidence, is_text_only, in_numbers }
    }

    /// Returns whether two pages read every text byte of the sample alike.
    fn means_the_same(&self, one: &CodePage, other: &CodePage) -> bool {
        self.uses.iter().all(|(byte, _)| one.to_char(*byte) == other.to_char(*byte))
    }

    fn evidence_for(&self, page: &CodePage, pages: usize) -> Vec<String> {
        let mut evidence = Vec::new();
        if self.uses.is_empty() {
            let text =
                "no byte of the text means different things in the EBCDIC pages, so the sample cannot distinguish them";
            evidence.push(text.to_owned());
        } else {
            evidence.push(format!("bytes on which EBCDIC pages differ: {}", meanings(page, self.uses.clone())));
            if pages > 1 {
                evidence.push(
                    "the pages named as alike read all of these the same, so the sample cannot tell them apart"
                        .to_owned(),
                );
            }
        }
        if self.in_numbers > 0 {
            evidence.push(format!(
                "{} other bytes on which EBCDIC pages differ are taken for parts of numbers",
                self.in_numbers
            ));
        }
        if self.evidence == Evidence::Few {
            evidence.push("these are too few to prefer a page: the most common one is named first".to_owned());
        }
        evidence
    }
}

/// Bytes named in the evidence.
const SHOWN_MAX: usize = 6;

/// Whether text hardly has the byte: a control other than the ends of lines and tabs, or 0xFF.
fn is_control(byte: u8) -> bool {
    byte == 0xff || byte < BLANK && !matches!(byte, 0x05 | 0x0c | 0x0d | 0x15 | 0x25)
}

/// Returns the most frequent bytes with their meanings.
pub(super) fn meanings(page: &CodePage, mut uses: Vec<(u8, usize)>) -> String {
    uses.sort_by_key(|(byte, count)| (core::cmp::Reverse(*count), *byte));
    let shown: Vec<String> = uses.iter().take(SHOWN_MAX).map(|(byte, count)| use_of(page, *byte, *count)).collect();
    let more = if uses.len() > SHOWN_MAX { format!(" and {} more", uses.len() - SHOWN_MAX) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn use_of(page: &CodePage, byte: u8, count: usize) -> String {
    let meaning = match page.to_char(byte) {
        None => "unassigned".to_owned(),
        Some(char) if char.is_control() => format!("the control U+{:04X}", u32::from(char)),
        Some(char) => format!("'{char}'"),
    };
    format!("0x{byte:02X} is {meaning} ({count} times)")
}

/// A sample in the light of pages that read its text the same.
struct Reading {
    pages: Vec<&'static CodePage>,
    /// Share of the sample in runs of the first page's common characters.
    share: f64,
    /// The logarithm of how likely the pages are.
    likelihood: f64,
    /// The mean likelihood of a place.
    mean: f64,
}

impl Reading {
    fn of(text: &Text<'_>, page: &'static CodePage) -> Self {
        Reading {
            pages: vec![page],
            share: share(run_bytes(text.sample, page), text.sample),
            likelihood: 0.0,
            mean: 0.0,
        }
    }

    /// Weighs the readings of all places, in the most likely of the pages and of its languages.
    fn weigh(&mut self, text: &Text<'_>, words: &[Vec<u8>]) {
        let first = self.pages[0];
        let char = |byte: u8| first.to_char(byte).unwrap_or('\0');
        let weights: f64 = text.surroundings.iter().map(|(_, weight)| weight).sum();
        // More than some dozens of places make no page more certain.
        let damp = (WEIGHT_MAX / weights.max(1.0)).min(1.0);
        let floor = if text.is_text_only { f64::NEG_INFINITY } else { NUMBER };
        let total = |language: &Language| {
            let likelihood = |([a, b, byte, c, d], weight): &([u8; 5], f64)| {
                let place =
                    Place { char: first.to_char(*byte), before: [char(*a), char(*b)], behind: [char(*c), char(*d)] };
                weight * place.likelihood(language).max(floor)
            };
            text.surroundings.iter().map(likelihood).sum::<f64>()
        };
        let count = |of: char| -> usize {
            text.uses.iter().filter(|(byte, _)| first.to_char(*byte) == Some(of)).map(|(_, count)| count).sum()
        };
        // Brackets come in pairs.
        let pairs: f64 = [('[', ']'), ('{', '}')].map(|(open, close)| pair(count(open), count(close))).iter().sum();
        let best = |page: &&CodePage| {
            let languages = Language::of(page);
            let seen = languages.iter().map(|language| {
                let sum = total(language);
                (sum * damp + language.is_seen_in(words), sum / weights.max(1.0))
            });
            let (most, mean) = seen.fold((f64::NEG_INFINITY, 0.0), |a, b| if b.0 > a.0 { b } else { a });
            (most + pairs + prior(page) - (languages.len() as f64).ln() / 2.0, mean)
        };
        let all = self.pages.iter().map(best);
        (self.likelihood, self.mean) = all.fold((f64::NEG_INFINITY, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    }
}

/// Least likelihood of a place in a sample with numbers: a part of a number between texts is there in every page.
const NUMBER: f64 = -3.5;

/// How much the number of brackets of a kind speaks for them.
fn pair(open: usize, close: usize) -> f64 {
    match (open, close) {
        (0, 0) => 0.0,
        (open, close) if open == close => 3.0,
        _ => -3.0,
    }
}

/// The sample's words of the letters that all pages share, in small letters.
fn words(sample: &[u8]) -> Vec<Vec<u8>> {
    let letter = |byte: &u8| CodePage::IBM037.to_char(*byte).filter(char::is_ascii_alphabetic);
    let small = |byte: &u8| letter(byte).and_then(|char| u8::try_from(char.to_ascii_lowercase()).ok());
    let words = sample.split(|byte| letter(byte).is_none()).filter(|word| word.len() > 1);
    words.map(|word| word.iter().filter_map(small).collect()).collect()
}

fn family_evidence(sample: &[u8], shares: &Shares, share_of_page: f64) -> Vec<String> {
    let of = |is: fn(&u8) -> bool| percent(share(sample.iter().filter(|byte| is(byte)).count(), sample));
    vec![
        format!(
            "{} of the bytes are in runs of EBCDIC letters, digits and blanks, {} in such runs of ASCII",
            percent(share_of_page),
            percent(shares.ascii)
        ),
        format!(
            "{} are blanks (0x40), {} digits (0xF0 to 0xF9), {} below 0x40, which in text are controls",
            of(|byte| *byte == 0x40),
            of(|byte| matches!(byte, 0xf0..=0xf9)),
            of(|byte| *byte < 0x40)
        ),
    ]
}

/// Bytes that mean different things in the EBCDIC pages.
fn variant() -> [bool; 256] {
    let mut variant = [false; 256];
    for page in proposed() {
        for (byte, variant) in (0..=255).zip(&mut variant) {
            *variant |= page.to_char(byte) != CodePage::IBM037.to_char(byte);
        }
    }
    variant
}
