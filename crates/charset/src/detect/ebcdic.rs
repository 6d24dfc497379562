//! Choice of the EBCDIC page: the meaning that bytes on which pages differ would have beside the text around them.

use core::ops::Range;

use super::{Candidate, RUN_MIN, Shares, percent, score, share};
use crate::{Charset, CodePage};

/// Returns one candidate for each set of pages that the sample cannot distinguish.
pub(super) fn candidates(sample: &[u8], shares: &Shares) -> Vec<Candidate> {
    let variant = variant();
    let places = variants_in_text(sample, &variant);
    let pages = BY_USE.iter().filter_map(|ccsid| CodePage::by_ccsid(*ccsid));
    let readings: Vec<Reading> = pages.map(|page| Reading::of(sample, page, &variant, &places)).collect();
    let told = readings.iter().map(Reading::told).max().unwrap_or(0);
    // A few may be numbers that have text around them by chance: they are reported, and prefer no page.
    let text_bytes = readings.first().map_or(0, |reading| reading.text_bytes);
    let all = sample.iter().filter(|byte| **byte > BLANK && variant[usize::from(**byte)]).count();
    let few = told < FEW.max(text_bytes / FEW_IN_TEXT).max(all / FEW_OF_ALL);
    let common_share = readings.first().map_or(0.0, |reading| reading.share);
    let mut groups: Vec<(Reading, Vec<&'static CodePage>)> = Vec::new();
    for reading in readings {
        let page = reading.page;
        match groups.iter_mut().find(|(other, _)| other.means_the_same(&reading)) {
            Some((_, pages)) => pages.push(page),
            None => groups.push((reading, vec![page])),
        }
    }
    let mut candidates = Vec::new();
    for (reading, pages) in groups {
        let (share, plausibility) =
            if few { (reading.share.min(common_share), 1.0) } else { (reading.share, reading.plausibility(told)) };
        let score = score(shares.fit(share) * (0.5 + 0.5 * plausibility));
        if score > 0 {
            let charset = Some(Charset::SingleByte(pages[0]));
            let alike = pages[1..].iter().copied().map(Charset::SingleByte).collect();
            let mut evidence = family_evidence(sample, shares, &reading);
            evidence.extend(reading.evidence(pages.len()));
            if few && told > 0 {
                evidence.push("these are too few to prefer a page: the most common one is named first".to_owned());
            }
            candidates.push(Candidate { charset, score, alike, evidence });
        }
    }
    candidates
}

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
/// those of large countries and the euro pages, then the rest.
const BY_USE: [u16; 25] = [
    37, 1047, 500, 273, 285, 297, 284, 280, 1140, 1141, 1146, 1147, 1145, 1144, 1148, 278, 277, 871, 1143, 1142, 1149,
    870, 1026, 1025, 875,
];

/// An EBCDIC blank.
const BLANK: u8 = 0x40;
/// Letters, digits, blanks and similar required on each side of variant bytes.
const BESIDE_MIN: usize = 2;
/// Most variant bytes in a row that text has: more are numbers, or words of another script.
const IN_A_ROW_MAX: usize = 3;

/// Returns the positions of the variant bytes within text: up to [`IN_A_ROW_MAX`] with letters, digits or blanks on both sides.
/// Packed and binary numbers have such bytes too, but seldom text around them. The text is what every page has in common.
fn variants_in_text(sample: &[u8], variant: &[bool; 256]) -> Vec<usize> {
    let kinds = kinds(variant);
    let kind = |byte: u8| kinds[usize::from(byte)];
    let mut found = Vec::new();
    let mut start = 0;
    // Length of the last stretch of plain text and whether it ends at `start`; a sample begins and ends at a blank.
    let mut left = BESIDE_MIN;
    for stretch in sample.chunk_by(|a, b| kind(*a) == kind(*b)) {
        let end = start + stretch.len();
        match kind(stretch[0]) {
            Kind::Plain if start == 0 => left = BESIDE_MIN,
            Kind::Plain => left = stretch.len(),
            Kind::Other => left = 0,
            Kind::Variant => {
                let rest = &sample[end..];
                let right = rest.iter().take(BESIDE_MIN).take_while(|byte| kind(**byte) == Kind::Plain).count();
                let right_is_text = right == rest.len().min(BESIDE_MIN);
                if stretch.len() <= IN_A_ROW_MAX && left >= BESIDE_MIN && right_is_text {
                    found.extend(start..end);
                }
                left = 0;
            }
        }
        start = end;
    }
    found
}

/// Returns the positions of the variant bytes within runs that are mostly letters of the other script of `page`.
fn variants_in_script(sample: &[u8], page: &CodePage, variant: &[bool; 256]) -> Vec<usize> {
    let classes = classes(page);
    let letter = |i: &usize| matches!(classes[usize::from(sample[*i])], Class::OtherSmall | Class::OtherCapital);
    let runs = runs(sample, page).into_iter().filter(|run| 2 * run.clone().filter(letter).count() >= run.len());
    runs.flatten().filter(|i| variant[usize::from(sample[*i])]).collect()
}

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

/// A sample in the light of one page.
struct Reading {
    /// Bytes in runs of the page's common characters.
    text_bytes: usize,
    /// Share of the sample in runs of the page's common characters.
    share: f64,
    page: &'static CodePage,
    /// Number of occurrences of each variant byte in text.
    uses: Vec<(u8, usize)>,
    /// Sum over those of how plausible its character is there.
    plausible: f64,
}

impl Reading {
    /// Reads the sample as text of `page`. `places` come from [`variants_in_text`] and are the same for every page.
    fn of(sample: &[u8], page: &'static CodePage, variant: &[bool; 256], places: &[usize]) -> Self {
        let mut counts = [0usize; 256];
        let mut plausible = 0.0;
        let mut merged = Vec::new();
        let places = if has_other_script(page) {
            merged.extend(variants_in_script(sample, page, variant));
            merged.extend_from_slice(places);
            merged.sort_unstable();
            merged.dedup();
            &merged
        } else {
            places
        };
        for &i in places {
            let byte = sample[i];
            let before = i.checked_sub(1).map_or(BLANK, |i| sample[i]);
            let behind = sample.get(i + 1).copied().unwrap_or(BLANK);
            // A zone C or D with digit 0 after digits is the sign of a number, not a brace or a letter.
            if !(matches!(byte, 0xc0 | 0xd0) && matches!(before, 0xf0..=0xf9)) {
                counts[usize::from(byte)] += 1;
                plausible += plausibility(page, byte, before, behind);
            }
        }
        let text_bytes = run_bytes(sample, page);
        let uses = (0..=255).zip(counts).filter(|(_, count)| *count > 0).collect();
        Reading { text_bytes, share: share(text_bytes, sample), page, uses, plausible }
    }

    /// Returns how many bytes of the text distinguish pages.
    fn told(&self) -> usize {
        self.uses.iter().map(|(_, count)| count).sum()
    }

    /// Returns whether the two pages read every text byte of the sample alike.
    fn means_the_same(&self, other: &Reading) -> bool {
        self.uses == other.uses
            && self.uses.iter().all(|(byte, _)| self.page.to_char(*byte) == other.page.to_char(*byte))
    }

    /// Returns -1 to 1; 1 if nothing in the sample distinguishes pages.
    fn plausibility(&self, told: usize) -> f64 {
        if told == 0 { 1.0 } else { (self.plausible / told as f64).clamp(-1.0, 1.0) }
    }

    fn evidence(&self, pages: usize) -> Vec<String> {
        if self.uses.is_empty() {
            let text =
                "no byte of the text means different things in the EBCDIC pages, so the sample cannot distinguish them";
            return vec![text.to_owned()];
        }
        let mut uses = self.uses.clone();
        uses.sort_by_key(|(byte, count)| (core::cmp::Reverse(*count), *byte));
        let shown: Vec<String> = uses.iter().take(6).map(|(byte, count)| self.use_of(*byte, *count)).collect();
        let more = if uses.len() > 6 { format!(" and {} more", uses.len() - 6) } else { String::new() };
        let mut evidence = vec![format!("bytes on which EBCDIC pages differ: {}{more}", shown.join(", "))];
        if pages > 1 {
            evidence.push(
                "the pages named as alike read all of these the same, so the sample cannot tell them apart".to_owned(),
            );
        }
        evidence
    }

    fn use_of(&self, byte: u8, count: usize) -> String {
        let meaning = match self.page.to_char(byte) {
            None => "unassigned".to_owned(),
            Some(char) if char.is_control() => format!("the control U+{:04X}", u32::from(char)),
            Some(char) => format!("'{char}'"),
        };
        format!("0x{byte:02X} is {meaning} ({count} times)")
    }
}

fn family_evidence(sample: &[u8], shares: &Shares, reading: &Reading) -> Vec<String> {
    let of = |is: fn(&u8) -> bool| percent(share(sample.iter().filter(|byte| is(byte)).count(), sample));
    vec![
        format!(
            "{} of the bytes are in runs of EBCDIC letters, digits and blanks, {} in such runs of ASCII",
            percent(reading.share),
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

/// Rates from -1 to 1 how plausible the byte's character is between its neighbours.
fn plausibility(page: &CodePage, byte: u8, before: u8, behind: u8) -> f64 {
    let Some(char) = page.to_char(byte) else { return -1.0 };
    let [before, behind] = [before, behind].map(|byte| page.to_char(byte).unwrap_or('\0'));
    let in_word = before.is_alphabetic() && behind.is_alphabetic();
    match char {
        _ if char.is_control() => -1.0,
        _ if char.is_alphabetic() && !matches!(char, 'ª' | 'º' | 'µ') => {
            let touches = before.is_alphabetic() || behind.is_alphabetic();
            let case = char.is_lowercase() && before.is_uppercase() && behind.is_uppercase()
                || char.is_uppercase() && before.is_lowercase();
            match () {
                () if !touches || case => -0.3,
                () if native(page).contains(char) => 1.0,
                () => 0.5,
            }
        }
        '@' => 0.5,
        _ if in_word => -0.6,
        '!' | '#' | '$' | '"' | '£' | '€' | '%' => 0.5,
        '[' | ']' | '{' | '}' | '|' | '\\' | '^' | '~' | '`' | '§' | '°' => 0.3,
        _ => -0.2,
    }
}

/// Letters of the languages that a page is made for.
fn native(page: &CodePage) -> &'static str {
    match page.ccsid() {
        273 | 1141 => "äöüßÄÖÜ",
        277 | 1142 => "æøåÆØÅ",
        278 | 1143 => "åäöÅÄÖ",
        280 | 1144 => "àèéìòùÀÈÉÌÒÙ",
        284 | 1145 => "ñáéíóúüÑÁÉÍÓÚ",
        297 | 1147 => "éèàùçêâîôûëïÉÈÀÇÊ",
        871 | 1149 => "þæöáéíóúýðÞÆÖÁÉÍÓÚÝÐ",
        870 => "ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČĎÉĚÍŇŘŠŤÚŮÝŽőűŐŰăâîşţșțđ",
        1026 => "çğıöşüÇĞİÖŞÜ",
        875 => "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ",
        1025 => "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ",
        // The general pages are made for all of western Europe.
        _ => "éèàçäöüñáíóúêâîôßÉÄÖÜÑ",
    }
}

/// Bytes that mean different things in the EBCDIC pages.
fn variant() -> [bool; 256] {
    let mut variant = [false; 256];
    for page in CodePage::all().iter().filter(|page| page.is_ebcdic()) {
        for (byte, variant) in (0..=255).zip(&mut variant) {
            *variant |= page.to_char(byte) != CodePage::IBM037.to_char(byte);
        }
    }
    variant
}
