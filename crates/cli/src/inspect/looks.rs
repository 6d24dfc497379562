//! Files that are not of records: what they look like by their content, and what reads them.

use std::path::Path;

use crate::args::FromFormat;
use crate::convert::source_format;
use crate::input::HEAD_BYTES;

use super::sample::Sample;

/// What a file looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Looks {
    Json,
    Xml,
    Csv,
    /// CSV that is not in UTF-8: one byte a character.
    CsvOfOtherPage,
    /// XML or other text in UTF-16.
    XmlUtf16,
    Pdf,
}

/// Lines compared to recognize CSV.
const CSV_LINES: usize = 50;

impl Looks {
    /// Recognizes content that no file of records has.
    pub(super) fn of(sample: &Sample) -> Option<Looks> {
        let bytes = &sample.bytes;
        if bytes.starts_with(b"%PDF-") {
            return Some(Looks::Pdf);
        }
        if [&b"\xff\xfe<\0"[..], b"\xfe\xff\0<", b"<\0?\0x\0", b"\0<\0?\0x"]
            .iter()
            .any(|start| bytes.starts_with(start))
        {
            return Some(Looks::XmlUtf16);
        }
        // A name without extension leaves the content to decide.
        match source_format(Path::new("-"), &bytes[..bytes.len().min(HEAD_BYTES)]) {
            FromFormat::Json => Some(Looks::Json),
            FromFormat::Xml => Some(Looks::Xml),
            FromFormat::Record => match sample.text() {
                Some(text) => is_csv(text).then_some(Looks::Csv),
                // Separators, quotation marks and line ends are the same bytes in all pages of ASCII.
                None => is_csv(&single_bytes(bytes)?).then_some(Looks::CsvOfOtherPage),
            },
            _ => None,
        }
    }

    /// The format in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Looks::Json => "JSON",
            Looks::Xml => "XML",
            Looks::Csv => "CSV",
            Looks::CsvOfOtherPage => "CSV that is not in UTF-8",
            Looks::XmlUtf16 => "XML in UTF-16",
            Looks::Pdf => "PDF",
        }
    }

    /// Says which command reads the file, whose name is quoted for a shell.
    pub(super) fn advice(self, file: &str) -> String {
        match self {
            Looks::Json | Looks::Xml | Looks::Csv => {
                format!("`quayline infer {file}` shows its shape; the proposals below are for files of records")
            }
            Looks::CsvOfOtherPage => {
                format!(
                    "`iconv -f PAGE -t UTF-8 {file} > NEW.csv` with its code page, such as WINDOWS-1252, makes a file that `quayline infer` reads"
                )
            }
            Looks::XmlUtf16 => {
                format!("`iconv -f UTF-16 -t UTF-8 {file} > NEW.xml` makes a file that `quayline infer` reads")
            }
            Looks::Pdf => "no command reads it".to_owned(),
        }
    }

    /// The command to try instead of a conversion of records.
    pub(super) fn command(self, file: String) -> Vec<String> {
        match self {
            Looks::Json | Looks::Xml | Looks::Csv => vec!["quayline".to_owned(), "infer".to_owned(), file],
            Looks::CsvOfOtherPage | Looks::XmlUtf16 | Looks::Pdf => Vec::new(),
        }
    }
}

/// Whether each line has the same number of separators, and the lines differ in length as those of records of one length do not.
fn is_csv(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines: Vec<&str> = whole.lines().take(CSV_LINES).collect();
    let [first, rest @ ..] = lines.as_slice() else { return false };
    let alike = |separator: char| {
        let count = separators(first, separator);
        count > 0 && rest.iter().all(|line| separators(line, separator) == count)
    };
    !rest.is_empty()
        && rest.iter().any(|line| line.len() != first.len())
        && [',', ';', '\t', '|'].into_iter().any(alike)
}

/// Returns the text of bytes in a page of ASCII, with another letter for each byte above 0x7F; `None` if they have control characters.
fn single_bytes(bytes: &[u8]) -> Option<String> {
    let is_text = |byte: &u8| *byte >= b' ' && *byte != 0x7f || matches!(byte, b'\t' | b'\r' | b'\n' | 0x1a);
    bytes.iter().all(is_text).then(|| bytes.iter().map(|byte| char::from(*byte)).collect())
}

/// Separators outside of quotation marks.
fn separators(line: &str, separator: char) -> usize {
    line.split('"').step_by(2).map(|part| part.matches(separator).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_has_the_same_separators_in_each_line() {
        assert!(is_csv("id;name\n1;ADA\n2;\"A;B\"\n"));
        assert!(is_csv("\u{feff}a,b\n1,22\n"));
        assert!(!is_csv("a,b\n1,2,33\n"));
        assert!(!is_csv("000001 ADA, GRACE\n000002 JOHN\n"));
        assert!(!is_csv("000001,ADA  \n000002,GRACE\n"), "records of one length");
        assert!(!is_csv("a,b"));
    }

    #[test]
    fn csv_of_another_page_is_csv() {
        let text = single_bytes(b"id;name\r\n1;M\xfcller\r\n2;J\xf6rg A\r\n").expect("a text");
        assert!(is_csv(&text));
        assert_eq!(single_bytes(b"1;M\xfcller\x00\n"), None);
    }
}
