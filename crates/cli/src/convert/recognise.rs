//! Format detection: by name, and for input also by content.

use std::path::Path;

use quayline_convert::ColumnsSurvey;

use crate::args::{FromFormat, ToFormat};

/// Returns the format of a source, from its first bytes and its name.
///
/// Parquet and Arrow are recognized by their first bytes. Otherwise a name that ends in .csv, .tsv, .json, .jsonl, .ndjson, .xml, .edi, .x12 or
/// .edifact decides, regardless of the content: faults are then reported in terms of that format. Otherwise JSON, XML and interchanges are recognized
/// by content, since no record file starts like them: `{` or `[` followed by valid JSON, or `<` and a name, `?` or `!`, in text without control
/// characters. All other input is records.
pub(crate) fn source_format(name: &Path, head: &[u8]) -> FromFormat {
    if ColumnsSurvey::recognizes(head) {
        return if head.starts_with(b"PAR1") { FromFormat::Parquet } else { FromFormat::Arrow };
    }
    match extension(name).as_deref() {
        Some("parquet") => return FromFormat::Parquet,
        Some("arrow" | "arrows" | "feather" | "ipc") => return FromFormat::Arrow,
        Some("csv" | "tsv") => return FromFormat::Csv,
        Some("json" | "jsonl" | "ndjson") => return FromFormat::Json,
        Some("xml") => return FromFormat::Xml,
        Some("edi" | "x12" | "edifact") => return FromFormat::Edi,
        _ => {}
    }
    if is_interchange(head) {
        return FromFormat::Edi;
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

/// Returns true if an interchange begins, possibly after white space: ISA, UNA or UNB, not followed by a letter or digit.
pub(crate) fn is_interchange(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    matches!(head.first_chunk::<3>(), Some(b"ISA" | b"UNA" | b"UNB"))
        && head.get(3).is_some_and(|byte| !byte.is_ascii_alphanumeric() && *byte < 0x80)
}

/// Detects interchanges in an unsupported encoding. Returns the encoding, and the command that converts them.
pub(crate) fn unread_edi(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const UTF_16: (&str, &str) = ("UTF-16", "iconv -f UTF-16 -t UTF-8");
    const EBCDIC: (&str, &str) = ("EBCDIC", "iconv -f IBM037 -t ISO-8859-1");
    const UTF_32: (&str, &str) = ("UTF-32", "iconv -f UTF-32 -t UTF-8");
    const FORMS: [(&[u8], (&str, &str)); 11] = [
        (b"\xff\xfe\0\0", UTF_32),
        (b"\0\0\xfe\xff", UTF_32),
        (b"\xff\xfe", UTF_16),
        (b"\xfe\xff", UTF_16),
        (b"I\0S\0A\0", ("UTF-16", "iconv -f UTF-16LE -t UTF-8")),
        (b"U\0N\0", ("UTF-16", "iconv -f UTF-16LE -t UTF-8")),
        (b"\0I\0S\0A", ("UTF-16", "iconv -f UTF-16BE -t UTF-8")),
        (b"\0U\0N", ("UTF-16", "iconv -f UTF-16BE -t UTF-8")),
        (b"\xc9\xe2\xc1", EBCDIC),
        (b"\xe4\xd5\xc1", EBCDIC),
        (b"\xe4\xd5\xc2", EBCDIC),
    ];
    FORMS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, form)| *form)
}

/// Detects the output of a compression program. Returns the program and its command.
pub(crate) fn packed_by(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const PACKERS: [(&[u8], &str, &str); 6] = [
        (b"\x1f\x8b\x08", "gzip", "gzip -dc"),
        (b"BZh", "bzip2", "bzip2 -dc"),
        (b"\xfd7zXZ\0", "xz", "xz -dc"),
        (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
        (b"PK\x03\x04", "zip", "unzip -p"),
        (b"\x1f\x9d", "compress", "gzip -dc"),
    ];
    PACKERS.iter().find(|(magic, ..)| head.starts_with(magic)).map(|(_, name, unpack)| (*name, *unpack))
}

/// Detects an unsupported columnar file: encrypted Parquet, Feather 1.
pub(crate) fn unread_columns(head: &[u8]) -> Option<&'static str> {
    const FORMS: [(&[u8], &str); 2] =
        [(b"PARE", "an encrypted Parquet file"), (b"FEA1", "a Feather file of version 1")];
    FORMS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, form)| *form)
}

/// Returns the format of a target, from its name.
pub(crate) fn target_format(name: &Path) -> Option<ToFormat> {
    Some(match extension(name)?.as_str() {
        "jsonl" | "ndjson" => ToFormat::Jsonl,
        "json" => ToFormat::Json,
        "csv" | "tsv" => ToFormat::Csv,
        "xml" => ToFormat::Xml,
        "parquet" => ToFormat::Parquet,
        "arrow" | "feather" | "ipc" => ToFormat::Arrow,
        "arrows" => ToFormat::ArrowStream,
        "edi" | "x12" | "edifact" => ToFormat::Edi,
        "dat" | "bin" | "ebc" | "ebcdic" | "rec" | "data" => ToFormat::Record,
        _ => return None,
    })
}

/// Returns the extension for files of a format.
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
        ToFormat::Edi => "edi",
    }
}

/// Extensions supported by [`target_format`], for messages.
pub(crate) const KNOWN_EXTENSIONS: &str =
    ".jsonl, .json, .csv, .tsv, .xml, .parquet, .arrow, .arrows, .edi, .x12, .edifact and .dat";

fn extension(name: &Path) -> Option<String> {
    name.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase)
}

/// Returns true if the bytes are UTF-8 (the last character may be incomplete) without control characters except white space.
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
        assert_eq!(source("x.edi", b""), FromFormat::Edi);
        assert_eq!(source("x.dat", b"\xef\xbb\xbf\r\nISA*00*"), FromFormat::Edi);
        assert_eq!(source("x", b"UNA:+.? '"), FromFormat::Edi);
        assert_eq!(source("x", b"UNB\x1dUNOB"), FromFormat::Edi);
        assert_eq!(source("x", b"UNBELIEVABLE"), FromFormat::Record);
        assert_eq!(source("x", b"ISA"), FromFormat::Record);
    }

    #[test]
    fn records_are_not_taken_for_text() {
        // EBCDIC `# ` and an ASCII record that starts with a brace but is not JSON.
        assert_eq!(source("x.dat", b"\x7b\x40\xc1\xc2\x00\x00\x0c"), FromFormat::Record);
        assert_eq!(source("x.dat", b"{1234567890"), FromFormat::Record);
        assert_eq!(source("x.dat", b"<<<HEADER"), FromFormat::Record);
        assert_eq!(source("x.dat", b"\xf1\xf2\xf3"), FromFormat::Record);
        // A UTF-8 character truncated at the end of the examined bytes.
        assert_eq!(source("x.dat", b"{\"A\":\"\xc3"), FromFormat::Json);
    }

    #[test]
    fn columns_are_recognised_by_their_first_bytes() {
        assert_eq!(source("x.dat", b"PAR1\x15\x04"), FromFormat::Parquet);
        assert_eq!(source("x.csv", b"PAR1\x15\x04"), FromFormat::Parquet);
        assert_eq!(source("x", b"ARROW1\0\0\xff\xff\xff\xff"), FromFormat::Arrow);
        assert_eq!(source("x", b"\xff\xff\xff\xff\x78\x00\x00\x00\x10\x00\x00\x00"), FromFormat::Arrow);
        assert_eq!(source("x", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), FromFormat::Record);
        assert_eq!(source("x", b"PART-NUMBER"), FromFormat::Record);
        assert_eq!(source("x.parquet", b""), FromFormat::Parquet);
        assert_eq!(source("x.feather", b""), FromFormat::Arrow);
        assert_eq!(unread_columns(b"PARE"), Some("an encrypted Parquet file"));
        assert_eq!(unread_columns(b""), None);
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
            ToFormat::Edi,
        ] {
            assert_eq!(target_format(Path::new("x").with_extension(extension_of(format)).as_path()), Some(format));
        }
        assert_eq!(target_format(Path::new("A.JSONL")), Some(ToFormat::Jsonl));
        assert_eq!(target_format(Path::new("a.docx")), None);
        assert_eq!(target_format(Path::new("a")), None);
    }
}
