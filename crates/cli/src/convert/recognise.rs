//! Which format a file has: by name, and for what is read else by content.

use std::path::Path;

use crate::args::{FromFormat, ToFormat};

/// Bytes looked at.
pub(crate) const HEAD_BYTES: usize = 4096;

/// The format of a source, from its first bytes and its name.
///
/// A name that ends in .csv, .tsv, .json, .jsonl, .ndjson or .xml says it, whatever the file holds: what is wrong with it is then told as of
/// that format. Else JSON and XML are recognised by content, since no record file starts like them: `{` or `[` and what JSON wants behind it, or `<` and a name, `?`
/// or `!`, in text without control characters. Everything else is records.
pub(crate) fn source_format(name: &Path, head: &[u8]) -> FromFormat {
    match extension(name).as_deref() {
        Some("csv" | "tsv") => return FromFormat::Csv,
        Some("json" | "jsonl" | "ndjson") => return FromFormat::Json,
        Some("xml") => return FromFormat::Xml,
        _ => {}
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if is_text(head) {
        let start = head.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(head.len());
        let rest = &head[start..];
        let behind = rest.iter().skip(1).find(|byte| !byte.is_ascii_whitespace()).copied();
        match (rest.first(), behind) {
            (Some(b'{'), Some(b'"' | b'}') | None) => return FromFormat::Json,
            (Some(b'['), Some(b'{' | b'[' | b']') | None) => return FromFormat::Json,
            (Some(b'<'), Some(b'?' | b'!' | b'_' | b'a'..=b'z' | b'A'..=b'Z')) => return FromFormat::Xml,
            _ => {}
        }
    }
    FromFormat::Record
}

/// The format of a target, from its name.
pub(crate) fn target_format(name: &Path) -> Option<ToFormat> {
    Some(match extension(name)?.as_str() {
        "jsonl" | "ndjson" => ToFormat::Jsonl,
        "json" => ToFormat::Json,
        "csv" | "tsv" => ToFormat::Csv,
        "xml" => ToFormat::Xml,
        "parquet" => ToFormat::Parquet,
        "arrow" | "feather" | "ipc" => ToFormat::Arrow,
        "arrows" => ToFormat::ArrowStream,
        "dat" | "bin" | "ebc" | "ebcdic" | "rec" | "data" => ToFormat::Record,
        _ => return None,
    })
}

/// The extension that files of a format get.
pub(crate) fn extension_of(format: ToFormat) -> &'static str {
    match format {
        ToFormat::Jsonl => "jsonl",
        ToFormat::Json => "json",
        ToFormat::Csv => "csv",
        ToFormat::Xml => "xml",
        ToFormat::Parquet => "parquet",
        ToFormat::Arrow => "arrow",
        ToFormat::ArrowStream => "arrows",
        ToFormat::Record => "dat",
    }
}

/// The extensions that [`target_format`] knows, for messages.
pub(crate) const KNOWN_EXTENSIONS: &str = ".jsonl, .json, .csv, .tsv, .xml, .parquet, .arrow, .arrows and .dat";

fn extension(name: &Path) -> Option<String> {
    name.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase)
}

/// Whether the bytes are UTF-8 (the last character may be cut) without control characters but white space.
fn is_text(bytes: &[u8]) -> bool {
    let whole = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    whole && !bytes.iter().any(|byte| *byte < 0x20 && !byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, head: &[u8]) -> FromFormat {
        source_format(Path::new(name), head)
    }

    #[test]
    fn the_name_decides_and_content_where_it_says_nothing() {
        assert_eq!(source("x.dat", b"{\"A\":1}\n"), FromFormat::Json);
        assert_eq!(source("x.dat", b"\xef\xbb\xbf [\n  {\"A\":1}]"), FromFormat::Json);
        assert_eq!(source("x.dat", b"[]"), FromFormat::Json);
        assert_eq!(source("x.dat", b"<?xml version=\"1.0\"?><a/>"), FromFormat::Xml);
        assert_eq!(source("x", b"<records><R/></records>"), FromFormat::Xml);
        assert_eq!(source("x.csv", b"A,B\n1,2\n"), FromFormat::Csv);
        assert_eq!(source("x.txt", b"A,B\n1,2\n"), FromFormat::Record);
        assert_eq!(source("x.jsonl", b""), FromFormat::Json);
        assert_eq!(source("x.csv", b"{\"A\":1}\n"), FromFormat::Csv);
        assert_eq!(source("x.csv", b"A,B\n\x00,\xff\n"), FromFormat::Csv);
        assert_eq!(source("X.JSON", b"A,B\n"), FromFormat::Json);
        assert_eq!(source("x.xml", b"\x00"), FromFormat::Xml);
    }

    #[test]
    fn records_are_not_taken_for_text() {
        // EBCDIC `# ` and an ASCII record that starts with a brace and goes on with no JSON.
        assert_eq!(source("x.dat", b"\x7b\x40\xc1\xc2\x00\x00\x0c"), FromFormat::Record);
        assert_eq!(source("x.dat", b"{1234567890"), FromFormat::Record);
        assert_eq!(source("x.dat", b"<<<HEADER"), FromFormat::Record);
        assert_eq!(source("x.dat", b"\xf1\xf2\xf3"), FromFormat::Record);
        // A character of UTF-8 cut by the end of what was looked at.
        assert_eq!(source("x.dat", b"{\"A\":\"\xc3"), FromFormat::Json);
    }

    #[test]
    fn every_target_extension_leads_back() {
        for format in [
            ToFormat::Jsonl,
            ToFormat::Json,
            ToFormat::Csv,
            ToFormat::Xml,
            ToFormat::Parquet,
            ToFormat::Arrow,
            ToFormat::ArrowStream,
            ToFormat::Record,
        ] {
            assert_eq!(target_format(Path::new("x").with_extension(extension_of(format)).as_path()), Some(format));
        }
        assert_eq!(target_format(Path::new("A.JSONL")), Some(ToFormat::Jsonl));
        assert_eq!(target_format(Path::new("a.docx")), None);
        assert_eq!(target_format(Path::new("a")), None);
    }
}
