//! Code lists in files of their own: CSV, as those publish them who maintain the codes.
//!
//! Each line is `CODE,NAME,FROM,UNTIL`, and the cells after the code may be missing. A first line whose first cell is `code` is a
//! header. A cell with a comma or a quote is in double quotes, and a quote in it is doubled. Days are `YYYYMMDD` or `YYYY-MM-DD`.

use super::codes;
use super::report::{Report, Span};
use crate::calendar::is_day;
use crate::guide::CodeEntry;

/// Reads the codes of a file and reports faulty lines.
pub(super) fn read(file: u32, text: &str, report: &mut Report) -> Vec<CodeEntry> {
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = if number == 0 { line.trim_start_matches('\u{feff}') } else { line };
        if line.trim().is_empty() {
            continue;
        }
        let width = u32::try_from(line.chars().count()).unwrap_or(u32::MAX);
        let at = Span { file, line: u32::try_from(number + 1).unwrap_or(u32::MAX), column: 1, width };
        match entry(line) {
            Ok(entry) if number == 0 && entry.value.eq_ignore_ascii_case("code") => {}
            Ok(entry) => entries.push(entry),
            Err((message, hint)) => report.error(codes::VALUE, at, message, hint),
        }
    }
    entries
}

fn entry(line: &str) -> Result<CodeEntry, (&'static str, &'static str)> {
    let quotes = ("a quoted cell does not end, or text follows its end", "double the quotes inside a quoted cell");
    let mut cells = cells(line).ok_or(quotes)?.into_iter();
    let value = cells.next().unwrap_or_default();
    if value.is_empty() {
        return Err(("the line has no code", "write CODE,NAME,FROM,UNTIL; all but the code may be missing"));
    }
    if value.contains(char::is_control) {
        return Err(("the code has a control character", "end each line with LF or CR LF"));
    }
    let name = cells.next().filter(|name| !name.is_empty());
    let header = value.eq_ignore_ascii_case("code");
    let mut day = || match cells.next().filter(|cell| !cell.is_empty() && !header) {
        None => Ok(None),
        Some(cell) => day(&cell).map(Some).ok_or(("a cell is not a day", "write days as 20260401 or 2026-04-01")),
    };
    let (from, until) = (day()?, day()?);
    Ok(CodeEntry { value, name, from, until })
}

fn day(cell: &str) -> Option<u32> {
    let plain = match cell.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _] => cell.replace('-', ""),
        _ => cell.to_owned(),
    };
    let day =
        plain.parse::<u32>().ok().filter(|_| plain.len() == 8 && plain.bytes().all(|byte| byte.is_ascii_digit()))?;
    is_day(day).then_some(day)
}

/// Splits a line into trimmed cells; `None` if its quotes do not match.
fn cells(line: &str) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let cell = if let Some(quoted) = rest.strip_prefix('"') {
            let (cell, behind) = unquoted(quoted)?;
            rest = behind.trim_start();
            cell
        } else {
            let (cell, behind) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            rest = behind;
            cell.trim_end().to_owned()
        };
        cells.push(cell);
        if rest.is_empty() {
            return Some(cells);
        }
        rest = rest.strip_prefix(',')?;
    }
}

fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        cell.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(behind) => {
                cell.push('"');
                rest = behind;
            }
            None => return Some((cell, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_of_csv() {
        let of = |line| cells(line).map(|cells| cells.join("|"));
        assert_eq!(of("11, Office ,,2026-01-31").as_deref(), Some("11|Office||2026-01-31"));
        assert_eq!(of("\"1\"\"1\" , \"a, b\"").as_deref(), Some("1\"1|a, b"));
        assert_eq!(of("11,").as_deref(), Some("11|"));
        for wrong in ["\"11", "\"11\"x", "11,\"a"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn days_have_two_forms() {
        assert_eq!(day("2026-01-31"), Some(20_260_131));
        assert_eq!(day("20260131"), Some(20_260_131));
        for wrong in ["2026-13-01", "2026131", "+2026131", "2026-1-31", "20260100", "2026-02-30", "20270229"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }
}
