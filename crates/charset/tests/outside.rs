//! Our tables against the machine's `iconv`, and our proposals for real record files.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use quayline_charset::{Charset, CodePage, detect};

#[test]
fn pages_are_those_of_iconv_but_for_the_listed_bytes() {
    let differences = listed_differences();
    for page in CodePage::all() {
        let listed = |byte: u8| {
            let key = page.name().trim_start_matches("IBM").trim_start_matches("windows-").to_owned();
            differences.get(&(key, byte)).copied()
        };
        // What iconv should say, as far as it should say anything: an unassigned byte ends its work.
        let bytes: Vec<u8> = (0..=255).filter(|byte| listed(*byte).unwrap_or(page.to_char(*byte)).is_some()).collect();
        let expected: String = bytes.iter().filter_map(|byte| listed(*byte).unwrap_or(page.to_char(*byte))).collect();
        let Some(text) = iconv(page, &bytes) else {
            eprintln!(
                "skipped in part: {}: no iconv that knows {page}; its table is not compared",
                std::thread::current().name().unwrap_or("a test")
            );
            continue;
        };
        assert_eq!(text, expected, "{page}");
    }
}

/// glibc's reading of the bytes on which it differs from ours; the report's other columns do not matter here.
fn listed_differences() -> HashMap<(String, u8), Option<char>> {
    let report = include_str!("../tables/DISAGREEMENTS.md");
    let rows = report.lines().filter(|line| line.contains("| 0x"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let byte = u8::from_str_radix(cells[2].trim_start_matches("0x"), 16).expect("the byte is hexadecimal");
        let char =
            cells[4].strip_prefix("U+").map(|hex| u32::from_str_radix(hex, 16).expect("the character is hexadecimal"));
        ((cells[1].to_owned(), byte), char.and_then(char::from_u32))
    })
    .collect()
}

/// Decodes with iconv; `None` if it is not installed or does not know the page.
fn iconv(page: &CodePage, bytes: &[u8]) -> Option<String> {
    let ccsid = page.ccsid();
    let names = match page.name() {
        name if !page.is_ebcdic() => vec![name.to_owned()],
        _ => vec![format!("IBM{ccsid:03}"), format!("IBM-{ccsid}"), format!("CP{ccsid}")],
    };
    names.into_iter().find_map(|name| {
        let mut child = Command::new("iconv")
            .args(["-f", &name, "-t", "UTF-8"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        // iconv may end before it has read all; then its status tells.
        let _ = child.stdin.take().expect("stdin is piped").write_all(bytes);
        let output = child.wait_with_output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).expect("iconv writes UTF-8"))
    })
}

#[test]
fn the_reference_names_every_character_set() {
    let reference = include_str!("../../../docs/reference/records.md");
    let section = reference.split_once("## Code pages").expect("a section").1;
    let is_in = |name: &str, from: u16, to: u16, before: &str| {
        name.strip_prefix(before)
            .and_then(|number| number.parse().ok())
            .is_some_and(|number| (from..=to).contains(&number))
    };
    for charset in Charset::all() {
        let name = charset.name();
        let is_named = section.contains(&format!("{name},")) || section.contains(&format!("{name} |"));
        let is_in_a_range =
            is_in(name, 1140, 1149, "IBM") || is_in(name, 1153, 1158, "IBM") || is_in(name, 1, 9, "ISO-8859-");
        assert!(is_named || is_in_a_range, "{name} is not in docs/reference/records.md");
    }
}

#[test]
fn real_record_files_are_recognised() {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let corpus = std::env::var_os("QUAYLINE_CORPUS").map_or(default, PathBuf::from);
    for (file, expected) in [
        ("ACCTDATA.ebcdic", CodePage::IBM037),
        ("CARDDATA.ebcdic", CodePage::IBM037),
        ("CUSTDATA.ebcdic", CodePage::IBM037),
        ("TRANTYPE.ebcdic", CodePage::IBM037),
        ("acctdata.ascii.txt", CodePage::ASCII),
        ("custdata.ascii.txt", CodePage::ASCII),
    ] {
        let path = corpus.join("data/carddemo").join(file);
        let Ok(bytes) = std::fs::read(&path) else {
            eprintln!(
                "skipped: {}: no {}; set QUAYLINE_CORPUS to the folder that holds data/",
                std::thread::current().name().unwrap_or("a test"),
                path.display()
            );
            continue;
        };
        let best = &detect(&bytes)[0];
        assert_eq!(best.charset, Some(Charset::SingleByte(expected)), "{file}: {best:?}");
    }
}

/// Text by ISO 2022 that the machine's `iconv` writes is read as what it was.
#[test]
fn text_by_code_extension_is_that_of_iconv() {
    let texts = [
        ("ISO-2022-JP", "請求書 ABC カタカナ、ひらがな + ' : 12"),
        ("ISO-2022-JP-2", "請求書 가격 价格 Straße Ελλάδα 丂丄"),
        ("ISO-2022-KR", "가격 송장 ABC 12"),
        ("ISO-2022-CN", "发票 价格 ABC"),
    ];
    for (encoding, text) in texts {
        let Some(bytes) = iconv_from_utf8(encoding, text) else {
            eprintln!(
                "skipped in part: {}: no iconv that knows {encoding}",
                std::thread::current().name().unwrap_or("a test")
            );
            continue;
        };
        let (mut state, mut at, mut found) = (quayline_charset::CodeExtension::START, 0, String::new());
        while at < bytes.len() {
            let (unit, len) = state.next(&bytes[at..]).expect("the text is whole");
            at += len;
            match unit {
                quayline_charset::Unit::Plain(byte) => found.push(char::from(byte)),
                quayline_charset::Unit::Char(char) => found.push(char),
                quayline_charset::Unit::Function => {}
                quayline_charset::Unit::Unknown(problem) => panic!("{encoding}: {problem}"),
            }
        }
        assert_eq!(found, text, "{encoding}");
    }
}

fn iconv_from_utf8(encoding: &str, text: &str) -> Option<Vec<u8>> {
    let mut child = Command::new("iconv")
        .args(["-f", "UTF-8", "-t", encoding])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let _ = child.stdin.take().expect("stdin is piped").write_all(text.as_bytes());
    let output = child.wait_with_output().ok()?;
    output.status.success().then_some(output.stdout)
}
