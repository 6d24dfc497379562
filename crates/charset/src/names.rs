//! Names of code pages and character sets, as the world writes them.

use crate::{Charset, CodePage, Utf16Order};

/// An unknown name of a code page or character set.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("code page '{name}' is not known")]
pub struct UnknownCharset {
    /// The name as given.
    pub name: String,
    /// The names most like it, best first; may be empty.
    pub nearest: Vec<&'static str>,
}

impl UnknownCharset {
    /// Returns the remedy: the most similar names and all known ones.
    #[must_use]
    pub fn hint(&self) -> String {
        if let Some(ccsid) = self.mixed() {
            return format!(
                "CCSID {ccsid} mixes single bytes with double bytes between shift-out and shift-in, which Quayline does not read; \
                 convert the file to UTF-8 on its own system first"
            );
        }
        let mut hint = String::new();
        if !self.nearest.is_empty() {
            hint.push_str(&format!("did you mean {}? ", self.nearest.join(" or ")));
        }
        hint.push_str("known: ");
        hint.push_str(&Charset::all().map(|charset| charset.name()).collect::<Vec<_>>().join(", "));
        hint.push_str("; `inspect` proposes one from the data");
        hint
    }
}

/// CCSIDs of EBCDIC that mix single bytes and double bytes: Japanese, Korean, simplified and traditional Chinese.
const MIXED: [u16; 11] = [930, 931, 933, 935, 937, 939, 1364, 1371, 1388, 1390, 1399];

impl UnknownCharset {
    /// Returns the CCSID if the name is that of a mixed page.
    fn mixed(&self) -> Option<u16> {
        let key = normal(&self.name);
        let ccsid = number(&key).parse().ok()?;
        MIXED.contains(&ccsid).then_some(ccsid)
    }
}

impl CodePage {
    /// Finds the single-byte page with this name.
    ///
    /// Case, spaces, `-`, `_` and leading zeros do not matter. It accepts Quayline's own names, the CCSID (`37`), the CCSID after
    /// `IBM`, `CP`, `CCSID`, `x-IBM` or `csIBM` (`IBM-037`, `cp037`, `CCSID 37`) and the names that IANA registers (`ebcdic-cp-us`,
    /// `latin1`, `ebcdic-de-273+euro`).
    ///
    /// # Errors
    /// [`UnknownCharset`], also for UTF-8 and UTF-16, which are not single-byte pages: use [`Charset::by_name`] for these.
    pub fn by_name(name: &str) -> Result<&'static CodePage, UnknownCharset> {
        match Charset::by_name(name)? {
            Charset::SingleByte(page) => Ok(page),
            Charset::Utf8 | Charset::Utf16(_) => {
                Err(UnknownCharset { name: name.to_owned(), nearest: vec![CodePage::WINDOWS_1252.name()] })
            }
        }
    }
}

impl Charset {
    /// Returns the character set with this name; see [`CodePage::by_name`] for the accepted forms.
    ///
    /// `UTF-16` without a byte order, and CCSID 1200, are big-endian, as IBM defines it and COBOL's NATIONAL has it on z/OS (Windows means
    /// little-endian by 1200; write `UTF-16LE` or CCSID 1202 for that).
    ///
    /// # Errors
    /// [`UnknownCharset`] with the names nearest to it.
    pub fn by_name(name: &str) -> Result<Charset, UnknownCharset> {
        let key = normal(name);
        let number = number(&key);
        if !number.is_empty() && number.len() <= 5 && number.bytes().all(|byte| byte.is_ascii_digit()) {
            let ccsid = number.parse().ok().and_then(by_ccsid);
            return ccsid.ok_or_else(|| unknown(name, &key));
        }
        let found = Charset::all().find(|charset| normal(charset.name()) == key);
        let found =
            found.or_else(|| ALIASES.iter().find(|(alias, _)| normal(alias) == key).and_then(|(_, to)| by_ccsid(*to)));
        found.ok_or_else(|| unknown(name, &key))
    }
}

fn by_ccsid(ccsid: u16) -> Option<Charset> {
    match ccsid {
        1208 | 65001 => Some(Charset::Utf8),
        1200 | 1201 | 13488 => Some(Charset::Utf16(Utf16Order::BigEndian)),
        1202 => Some(Charset::Utf16(Utf16Order::LittleEndian)),
        // ASCII, the parts of ISO 8859 and KOI8-R as Windows numbers them, and the pages of Windows with the euro sign as IBM does.
        20127 => Some(Charset::SingleByte(CodePage::ASCII)),
        28591 => Some(Charset::SingleByte(CodePage::LATIN1)),
        28592..=28599 => Some(Charset::SingleByte(CodePage::ISO_8859[usize::from(ccsid - 28592)])),
        28605 => Some(Charset::SingleByte(CodePage::LATIN9)),
        5346..=5351 | 5353 => CodePage::by_ccsid(ccsid - 4096).map(Charset::SingleByte),
        20866 => CodePage::by_ccsid(878).map(Charset::SingleByte),
        // 1047, 1140 to 1149 and the old pages as Windows and .NET number some of them.
        20924 => CodePage::by_ccsid(1047).map(Charset::SingleByte),
        20273 | 20277 | 20278 | 20280 | 20284 | 20285 | 20297 | 20871 => {
            CodePage::by_ccsid(ccsid - 20000).map(Charset::SingleByte)
        }
        21025 => CodePage::by_ccsid(1025).map(Charset::SingleByte),
        _ => CodePage::by_ccsid(ccsid).map(Charset::SingleByte),
    }
}

/// Reduces a name to its letters, in upper case, and digits.
fn normal(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_uppercase()).collect()
}

fn unknown(name: &str, key: &str) -> UnknownCharset {
    let number = number(key);
    let nearest = if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        // One wrong, missing or surplus digit.
        let near = |page: &&'static CodePage| distance(number.trim_start_matches('0'), &page.ccsid().to_string()) <= 1;
        CodePage::all().iter().filter(near).map(CodePage::name).take(3).collect()
    } else if key.contains("EBCDIC") {
        // The family without its member: the pages that are met most.
        vec!["IBM037", "IBM1047", "IBM500"]
    } else {
        let names = Charset::all().map(Charset::name).chain(ALIASES.iter().map(|(alias, _)| *alias));
        let mut near: Vec<(usize, &'static str)> = names.map(|name| (distance(key, &normal(name)), name)).collect();
        near.sort_by_key(|(distance, _)| *distance);
        // Up to a third of the name may be wrong; anything further is no help.
        near.into_iter().take_while(|(distance, _)| *distance * 3 <= key.len()).take(3).map(|(_, name)| name).collect()
    };
    UnknownCharset { name: name.to_owned(), nearest }
}

/// Removes a prefix for CCSIDs from a normalised name.
fn number(key: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| key.strip_prefix(prefix)).unwrap_or(key)
}

/// Computes the Levenshtein distance in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Prefixes of a CCSID; a longer one precedes its own beginnings.
const PREFIXES: [&str; 8] = ["CCSID", "CSIBM", "XIBM", "IBM", "CP", "EBCDICCP", "CODEPAGE", "WINDOWS"];

/// Names that neither are Quayline's nor hold a CCSID in a regular way: those of IANA's register, Java, Python and glibc.
const ALIASES: [(&str, u16); 101] = [
    ("ebcdic-cp-us", 37),
    ("ebcdic-cp-ca", 37),
    ("ebcdic-cp-nl", 37),
    ("ebcdic-cp-wt", 37),
    ("ebcdic-cp-de", 273),
    ("ebcdic-cp-dk", 277),
    ("ebcdic-cp-no", 277),
    ("ebcdic-cp-fi", 278),
    ("ebcdic-cp-se", 278),
    ("ebcdic-cp-it", 280),
    ("ebcdic-cp-es", 284),
    ("ebcdic-cp-gb", 285),
    ("ebcdic-cp-fr", 297),
    ("ebcdic-cp-be", 500),
    ("ebcdic-cp-ch", 500),
    ("ebcdic-cp-roece", 870),
    ("ebcdic-cp-yu", 870),
    ("ebcdic-cp-is", 871),
    ("ebcdic-us-37+euro", 1140),
    ("ebcdic-de-273+euro", 1141),
    ("ebcdic-dk-277+euro", 1142),
    ("ebcdic-no-277+euro", 1142),
    ("ebcdic-fi-278+euro", 1143),
    ("ebcdic-se-278+euro", 1143),
    ("ebcdic-it-280+euro", 1144),
    ("ebcdic-es-284+euro", 1145),
    ("ebcdic-gb-285+euro", 1146),
    ("ebcdic-fr-297+euro", 1147),
    ("ebcdic-international-500+euro", 1148),
    ("ebcdic-is-871+euro", 1149),
    ("ebcdic-Latin-1", 1047),
    ("latin-1-open-systems", 1047),
    ("ascii", 367),
    ("us", 367),
    ("ansi_x3.4-1968", 367),
    ("ansi_x3.4-1986", 367),
    ("iso-ir-6", 367),
    ("iso646-us", 367),
    ("csASCII", 367),
    ("latin1", 819),
    ("latin-1", 819),
    ("l1", 819),
    ("iso_8859-1:1987", 819),
    ("iso-ir-100", 819),
    ("csISOLatin1", 819),
    ("iso8859_1", 819),
    ("latin2", 912),
    ("l2", 912),
    ("csISOLatin2", 912),
    ("iso-ir-101", 912),
    ("latin3", 913),
    ("l3", 913),
    ("csISOLatin3", 913),
    ("iso-ir-109", 913),
    ("latin4", 914),
    ("l4", 914),
    ("csISOLatin4", 914),
    ("iso-ir-110", 914),
    ("cyrillic", 915),
    ("csISOLatinCyrillic", 915),
    ("iso-ir-144", 915),
    ("arabic", 1089),
    ("csISOLatinArabic", 1089),
    ("ecma-114", 1089),
    ("iso-ir-127", 1089),
    ("greek", 813),
    ("greek8", 813),
    ("csISOLatinGreek", 813),
    ("ecma-118", 813),
    ("iso-ir-126", 813),
    ("hebrew", 916),
    ("csISOLatinHebrew", 916),
    ("iso-ir-138", 916),
    ("latin5", 920),
    ("l5", 920),
    ("csISOLatin5", 920),
    ("iso-ir-148", 920),
    ("latin9", 923),
    ("latin-9", 923),
    ("l9", 923),
    ("iso-ir-203", 923),
    ("ansi", 1252),
    ("win-1252", 1252),
    ("cswindows1252", 1252),
    ("cswindows1250", 1250),
    ("cswindows1251", 1251),
    ("cswindows1253", 1253),
    ("cswindows1254", 1254),
    ("cswindows1255", 1255),
    ("cswindows1257", 1257),
    ("csPC8CodePage437", 437),
    ("csKOI8R", 878),
    ("koi8", 878),
    ("csUTF8", 1208),
    ("unicode-1-1-utf-8", 1208),
    ("utf-16", 1200),
    ("ucs-2", 1200),
    ("iso-10646-ucs-2", 1200),
    ("national", 1200),
    ("unicodebig", 1200),
    ("unicodelittle", 1202),
];

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        let name = |name: &str| Charset::by_name(name).map(|charset| charset.name());
        for alias in [
            "037",
            "37",
            "cp037",
            "CP37",
            "IBM037",
            "ibm-037",
            "IBM-37",
            "x-IBM037",
            "CCSID 37",
            "ebcdic-cp-us",
            "csIBM037",
        ] {
            assert_eq!(name(alias), Ok("IBM037"), "{alias}");
        }
        for alias in ["1140", "IBM01140", "cp01140", "ccsid-1140", "ebcdic-us-37+euro"] {
            assert_eq!(name(alias), Ok("IBM1140"), "{alias}");
        }
        for (alias, expected) in [
            ("latin1", "ISO-8859-1"),
            ("iso-8859-1", "ISO-8859-1"),
            ("cp1252", "windows-1252"),
            ("Windows-1252", "windows-1252"),
            ("ascii", "US-ASCII"),
            ("utf8", "UTF-8"),
            ("UTF_16LE", "UTF-16LE"),
            ("utf-16", "UTF-16BE"),
            ("1208", "UTF-8"),
            ("5346", "windows-1250"),
            ("20866", "KOI8-R"),
            ("28605", "ISO-8859-15"),
            ("cp437", "IBM437"),
            ("windows-1251", "windows-1251"),
            ("ibm1047", "IBM1047"),
        ] {
            assert_eq!(name(alias), Ok(expected), "{alias}");
        }
        for charset in Charset::all() {
            assert_eq!(name(charset.name()), Ok(charset.name()));
        }
        for (alias, ccsid) in ALIASES {
            assert_eq!(name(alias).ok(), by_ccsid(ccsid).map(|charset| charset.name()), "{alias}");
        }
        assert_eq!(CodePage::by_name("IBM-037"), Ok(CodePage::IBM037));
        assert!(CodePage::by_name("utf-8").is_err());
    }

    #[test]
    fn an_unknown_name_lists_what_is_near_and_what_there_is() {
        let show = |name| Charset::by_name(name).map_err(|error| format!("{error}\n{}", error.hint())).unwrap_err();
        expect![[r#"
            code page 'ebcdic' is not known
            did you mean IBM037 or IBM1047 or IBM500? known: IBM037, IBM273, IBM277, IBM278, IBM280, IBM284, IBM285, IBM297, IBM500, IBM870, IBM871, IBM875, IBM1025, IBM1026, IBM1047, IBM1112, IBM1122, IBM1123, IBM1140, IBM1141, IBM1142, IBM1143, IBM1144, IBM1145, IBM1146, IBM1147, IBM1148, IBM1149, IBM1153, IBM1154, IBM1155, IBM1156, IBM1157, IBM1158, US-ASCII, ISO-8859-1, ISO-8859-2, ISO-8859-3, ISO-8859-4, ISO-8859-5, ISO-8859-6, ISO-8859-7, ISO-8859-8, ISO-8859-9, ISO-8859-15, windows-1252, windows-1250, windows-1251, windows-1253, windows-1254, windows-1255, windows-1257, IBM437, IBM850, IBM852, IBM855, IBM858, IBM866, KOI8-R, UTF-8, UTF-16BE, UTF-16LE; `inspect` proposes one from the data"#]]
        .assert_eq(&show("ebcdic"));
        assert_eq!(Charset::by_name("IBM38").unwrap_err().nearest, ["IBM037"]);
        assert_eq!(Charset::by_name("cp1147x").unwrap_err().nearest, [""; 0]);
        assert_eq!(Charset::by_name("cp1150").unwrap_err().nearest, ["IBM1140", "IBM1153", "IBM1154"]);
        assert_eq!(Charset::by_name("latin-11").unwrap_err().nearest[0], "latin1");
        assert_eq!(Charset::by_name("").unwrap_err().nearest, [""; 0]);
        for mixed in ["cp930", "IBM-939", "1399"] {
            let hint = Charset::by_name(mixed).unwrap_err().hint();
            assert!(hint.contains("shift-out") && !hint.contains("ISO-8859"), "{mixed}: {hint}");
        }
    }
}
