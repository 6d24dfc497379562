//! How likely a page's reading of a byte is: its character among the characters around it, and how common the page is.
//!
//! All numbers are natural logarithms of estimated odds. Only differences between pages count: they read the same bytes at the same
//! places, so the sum over the places ranks them. An accented letter is likely inside a word of its own case, less so at the end of a
//! word, and hardly among digits and blanks; an exclamation mark is likely at the end of a word and not inside. Brackets come in pairs.
//! A letter of another script never continues a Latin word.

use crate::CodePage;

/// A byte's character under a page, with two characters on each side. Outside of the sample is a blank.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) char: Option<char>,
    pub(super) before: [char; 2],
    pub(super) behind: [char; 2],
}

/// A language that files of a page have.
pub(super) struct Language {
    /// Its letters outside of ASCII, the frequent ones first.
    native: &'static str,
    /// Those that end words.
    ends: &'static str,
    /// Ends of words, in letters that all pages share, which show the language.
    marks: &'static [&'static str],
}

/// Logarithm of how likely a character is that text hardly has: unassigned, a control, a sign such as `¨`.
const HARDLY: f64 = -6.0;

impl Place {
    /// The logarithm of how likely the reading is.
    pub(super) fn likelihood(&self, language: &Language) -> f64 {
        match self.char {
            Some(char) if char.is_alphabetic() && !matches!(char, 'ª' | 'º' | 'µ') => self.letter(char, language),
            Some(char) if !char.is_control() => self.sign(char),
            _ => HARDLY,
        }
    }

    fn letter(&self, char: char, language: &Language) -> f64 {
        let (before, behind) = (self.before[1], self.behind[0]);
        let base = match language.native.chars().position(|native| native == lower(char)) {
            Some(0..6) => -0.8,
            Some(_) if script(char) != Script::Latin => -0.8,
            Some(_) => -1.5,
            // Names of other languages.
            None if WESTERN.contains(lower(char)) => -3.5,
            None => -5.0,
        };
        let beside = [before, behind];
        let mut total = base;
        if beside.iter().any(|other| other.is_alphabetic() && script(*other) != script(char)) {
            return total - 5.0;
        }
        if script(char) != Script::Latin {
            // Words of another script consist of letters that only its pages have.
            total += 0.5;
        }
        total -= beside.iter().map(|other| 1.5 * f64::from(u8::from(other.is_ascii_digit()))).sum::<f64>();
        // Signs that words do not touch, such as `$` and `]`, are more likely letters of another page.
        total -= beside.iter().map(|other| f64::from(u8::from(is_rare_beside_words(*other)))).sum::<f64>();
        total -= self.case(char);
        match (before.is_alphabetic(), behind.is_alphabetic()) {
            (true, true) => {}
            (false, true) => total -= 0.3,
            (true, false) if language.ends.contains(lower(char)) => total -= 0.3,
            (true, false) => total -= 2.0,
            (false, false) if "àéèóáêíÀÉòùìıØøÅåöÖ".contains(char) && beside == [' ', ' '] => {
                total -= 1.5
            }
            (false, false) => total -= 3.5,
        }
        if script(char) == Script::Latin {
            // Two letters with marks in a row are rare in most languages, and three in all.
            let marked = |other: char| other.is_alphabetic() && !other.is_ascii();
            total -= 0.7 * f64::from(u8::from(marked(before)) + u8::from(marked(behind)));
            total -= syllable(before, char, behind);
        }
        total
    }

    /// How much the case of the neighbours speaks against a letter.
    fn case(&self, char: char) -> f64 {
        let (before, behind) = (self.before[1], self.behind[0]);
        if char.is_lowercase() {
            let small = before.is_lowercase() || behind.is_lowercase();
            // An upper-case word may have ß, which has no capital in the pages.
            let against = !small && (before.is_uppercase() && self.before[0].is_uppercase() || behind.is_uppercase());
            let begins_capital = behind.is_uppercase() && !before.is_uppercase();
            match () {
                () if against && char != 'ß' => 4.0,
                () if against => 1.0,
                () if begins_capital || behind.is_uppercase() => 2.0,
                () => 0.0,
            }
        } else if char.is_uppercase() {
            match () {
                () if before.is_lowercase() => 4.0,
                // `Über` begins a word; `AÜb` does not end one.
                () if before.is_uppercase() && behind.is_lowercase() => 2.0,
                () => 0.0,
            }
        } else {
            0.0
        }
    }

    fn sign(&self, char: char) -> f64 {
        let (before, behind) = (self.before[1], self.behind[0]);
        let word = |c: char| c.is_alphanumeric();
        let gap = |c: char| c == ' ' || c.is_control();
        let inside = before.is_alphabetic() && behind.is_alphabetic();
        let unless = |fits: bool, less: f64| if fits { 0.0 } else { -less };
        match char {
            '!' => {
                -1.2 + unless((word(before) || "]})'\"!".contains(before)) && !word(behind), 1.5)
                    - if inside { 2.0 } else { 0.0 }
            }
            '[' | '{' => -1.6 + unless(!inside || behind.is_ascii_digit(), 1.0) + unless(!gap(behind), 2.0),
            ']' | '}' => -1.6 + unless(!gap(before), 2.0) + unless(!word(behind), 1.5),
            '#' => -1.8 + unless(behind.is_ascii_digit() || gap(behind) && gap(before), 0.7) + unless(!inside, 2.0),
            '$' => -1.6 + unless(behind.is_ascii_digit() || behind == ' ' && !word(before), 1.0) + unless(!inside, 1.5),
            '£' | '€' => {
                -2.6 + unless(behind.is_ascii_digit() || before.is_ascii_digit() || gap(before) && gap(behind), 1.2)
                    + unless(!inside, 2.0)
            }
            '¢' => -2.8 + unless(before.is_ascii_digit() && !word(behind), 1.5),
            '@' => -1.6 + unless(!(word(before) ^ word(behind)), 1.5),
            '"' => -1.4 + unless(!inside, 2.0),
            '|' => -2.2 + unless(gap(before) == gap(behind), 0.7),
            '\\' => -2.6 + unless(!gap(before), 0.7),
            '~' | '^' | '`' => -3.2 + unless(!inside, 0.7),
            '¬' => -2.8 + unless(behind == '=' || gap(before), 1.5),
            '§' | '°' => -2.8 + unless(before.is_ascii_digit() || behind.is_ascii_digit() || gap(behind), 1.5),
            '¿' | '¡' => -3.5 + unless(gap(before) && word(behind), 1.5),
            '&' | '=' | '?' | '*' | '%' | '+' | '<' | '>' | ';' | ':' | '_' => -1.5 + unless(!inside, 1.0),
            'ª' | 'º' => -3.5 + unless(before.is_ascii_digit() || before == '.', 1.5),
            '«' | '»' | '±' | '½' | '¼' | '²' | '³' | '·' => -4.5 + unless(!inside, 1.0),
            '\u{ad}' | '\u{a0}' => -4.5,
            _ => HARDLY + unless(!inside, 1.0),
        }
    }
}

impl Language {
    /// The languages that a page is made for.
    pub(super) fn of(page: &CodePage) -> &'static [Language] {
        match page.ccsid() {
            273 | 1141 => &WEST[1..2],
            297 | 1147 => &WEST[2..3],
            284 | 1145 => &WEST[3..4],
            280 | 1144 => &WEST[5..6],
            277 | 1142 => &WEST[6..7],
            278 | 1143 => &WEST[7..8],
            871 | 1149 => &WEST[8..9],
            285 | 1146 => &WEST[..1],
            870 | 1153 | 1250 | 912 | 852 => &EAST,
            1026 | 1155 | 1254 | 920 => &TURKISH,
            875 | 1253 | 813 => &GREEK,
            1025 | 1154 | 1251 | 878 | 866 | 915 => &CYRILLIC,
            // The general pages are made for all of western Europe.
            _ => &WEST[..8],
        }
    }

    /// Whether words of the language occur, from 0 to 2. `words` are the sample's words in small letters.
    pub(super) fn is_seen_in(&self, words: &[Vec<u8>]) -> f64 {
        let ends = |word: &Vec<u8>| self.marks.iter().any(|mark| word.ends_with(mark.as_bytes()));
        let share = words.iter().filter(|word| ends(word)).count() as f64 / words.len().max(1) as f64;
        (share * 20.0).min(2.0)
    }
}

const fn language(native: &'static str, ends: &'static str, marks: &'static [&'static str]) -> Language {
    Language { native, ends, marks }
}

/// English, German, French, Spanish, Portuguese, Italian, Danish and Norwegian, Swedish and Finnish, Icelandic.
static WEST: [Language; 9] = [
    language("", "é", &["road", "street", "ltd", "lane", "the", "and", "ing", "for", "of"]),
    language(
        "üäöß",
        "ß",
        &["strasse", "allee", "burg", "mann", "gmbh", "ung", "platz", "weg", "und", "ich", "aus", "von", "hof"],
    ),
    language(
        "éèàçêîôûëïâù",
        "éèàù",
        &["rue", "eau", "ier", "ard", "place", "avenue", "oise", "aux", "ieux", "cole", "du", "ette", "ais"],
    ),
    language("óñíáéúü", "óáéíú", &["calle", "ez", "dad", "cion", "los", "del", "avenida", "dor", "ero", "illo", "ia"]),
    language(
        "ãçáéóíêâôúàõ",
        "ãáéóàêôúí",
        &["rua", "eira", "eiro", "ado", "inho", "da", "dos", "das", "paulo", "lho", "es"],
    ),
    language("àèùòìé", "àèéìòù", &["via", "one", "ella", "ini", "etti", "piazza", "della", "ssi", "ato", "di", "che"]),
    language(
        "øåæ",
        "åøæ",
        &["gade", "vej", "sen", "borg", "gaard", "og", "strup", "veien", "til", "dal", "hus", "bro", "vn", "et"],
    ),
    language(
        "äöå",
        "åäö",
        &["gatan", "sson", "torget", "och", "berg", "lund", "strand", "katu", "nen", "stad", "str", "kommun", "ngen"],
    ),
    language("áðíóéþöúæýö", "áðíóéúæý", &["son", "dottir", "gata", "vegur", "ur", "inn"]),
];

/// Polish, Czech and Slovak, Hungarian, Romanian.
static EAST: [Language; 4] = [
    language("łóążęśćńź", "łóążęśćńź", &["ski", "ska", "wicz", "owa", "czyk", "rz", "nia", "ego", "szcz"]),
    language("íáéčšžěřýůťúňďľôĺŕä", "íáéýěůúčšžřňťď", &["ova", "ova", "nova", "ice", "sky", "ska", "nad", "ulice"]),
    language("éáöóőüűíú", "éáöóőüűíú", &["utca", "falva", "szent", "nagy", "gyar", "hegy", "os"]),
    language("ăîâşţșț", "ăîâşţșț", &["escu", "strada", "ului", "ilor", "esti"]),
];

static TURKISH: [Language; 1] = [language(
    "ışüöiğç",
    "ışüğç",
    &["lar", "ler", "oglu", "mahallesi", "sokak", "caddesi", "ve", "mehmet", "ahmet", "holding"],
)];

static GREEK: [Language; 1] = [language("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ", "αεηιουωνςάέήίόύώρξκσ", &[])];

static CYRILLIC: [Language; 1] =
    [language("абвгдежзийклмнопрстуфхцчшщъыьэюяё", "абвгдежзийклмнопрстуфхцчшщъыьэюяё", &[])];

/// The logarithm of how common a page is: an estimate of the number of sites that use it, of those that use any.
pub(super) fn prior(page: &CodePage) -> f64 {
    let sites: u16 = match page.ccsid() {
        37 | 1252 => 300,
        819 => 200,
        850 | 437 | 1250 | 1251 => 30,
        1253 | 1254 | 912 | 852 | 878 | 866 => 15,
        1047 | 500 => 90,
        1140 => 60,
        273 => 60,
        280 | 284 | 285 | 297 => 40,
        277 | 278 | 1141 => 25,
        1144..=1148 => 15,
        870 | 1026 | 1025 | 875 => 15,
        1143 | 1142 => 10,
        _ => 5,
    };
    f64::from(sites).ln()
}

/// Letters of western European languages with some use.
const WESTERN: &str = "éèàçäöüñáíóúêâîôûãõåøæßëïùìò";

#[derive(Clone, Copy, Eq, PartialEq)]
enum Script {
    Latin,
    Greek,
    Later,
}

fn script(char: char) -> Script {
    match u32::from(char) {
        ..0x370 => Script::Latin,
        0x370..0x400 => Script::Greek,
        _ => Script::Later,
    }
}

/// How much the sounds of the neighbours speak against a letter: vowels and consonants alternate.
fn syllable(before: char, char: char, behind: char) -> f64 {
    let vowel = |other: char| VOWELS.contains(lower(other));
    let consonant = |other: char| other.is_alphabetic() && !vowel(other);
    match (vowel(char), before, behind) {
        (false, before, behind) if consonant(before) && consonant(behind) => 2.0,
        (false, before, behind) if consonant(before) && !behind.is_alphabetic() => 1.0,
        (false, before, behind) if !before.is_alphabetic() && consonant(behind) => 0.7,
        (true, before, behind) if vowel(before) && vowel(behind) => 1.0,
        _ => 0.0,
    }
}

const VOWELS: &str = "aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüıýąęőűůăě";

fn is_rare_beside_words(char: char) -> bool {
    !(char.is_alphanumeric() || char.is_control() || " .,-/'()\":;&".contains(char))
}

fn lower(char: char) -> char {
    // `İ` becomes `i` and a combining dot, of which the first counts.
    char.to_lowercase().next().unwrap_or(char)
}
