//! CSV samples: a header, and rows below it.

use std::collections::HashSet;

use quayline_core::Findings;

use crate::seen::Seen;
use crate::wrong;

/// Signs that part cells, in the order in which they are tried.
const SIGNS: [u8; 4] = *b",;\t|";

/// Returns the delimiter of the header: the most frequent possible delimiter outside of quotes.
pub(crate) fn delimiter(text: &str) -> u8 {
    let mut counts = [0u64; SIGNS.len()];
    // A quote opens a cell only at its start.
    let (mut is_quoted, mut is_start) = (false, true);
    for byte in text.bytes() {
        let ends = byte == b'"' && is_quoted;
        match byte {
            b'"' if is_quoted || is_start => is_quoted = !is_quoted,
            b'\n' if !is_quoted => break,
            _ if is_quoted => continue,
            _ => {}
        }
        let sign = SIGNS.iter().position(|sign| *sign == byte);
        sign.into_iter().for_each(|sign| counts[sign] += 1);
        // Two quotes inside quotes are one quote character, so a quote right after a closing quote opens the cell again.
        is_start = sign.is_some() || ends;
    }
    let most = (0..SIGNS.len()).rev().max_by_key(|sign| counts[*sign]);
    most.map_or(b',', |sign| SIGNS[sign])
}

/// Adds the rows of a text.
pub(crate) fn read(name: &str, text: &str, root: &mut Seen) -> Result<u64, Findings> {
    let sign = delimiter(text);
    let mut at = 0;
    let Some(header) = row(text, &mut at, sign) else {
        return Err(wrong(name, text, 0, "the sample is empty", "name a file that holds something"));
    };
    check_header(name, text, &header)?;
    let mut rows = 0;
    loop {
        let start = at;
        let Some(cells) = row(text, &mut at, sign) else { return Ok(rows) };
        if cells.len() == 1 && cells[0].is_empty() {
            continue;
        }
        if cells.len() != header.len() {
            let message = format!("this row has {} cells, and the header {}", cells.len(), header.len());
            return Err(wrong(
                name,
                text,
                start,
                message,
                "the first row names the columns; every row has as many cells",
            ));
        }
        rows += 1;
        root.times += 1;
        root.groups += 1;
        for (name, cell) in header.iter().zip(&cells) {
            let member = root.member(name);
            // An empty cell is not a value.
            if !cell.is_empty() {
                member.text(cell);
            }
        }
    }
}

/// Refuses empty and repeated column names, as the reader does. Blanks around a name belong to the name.
fn check_header(name: &str, text: &str, header: &[String]) -> Result<(), Findings> {
    let hint = "give each column a name of its own in the first row";
    let mut known = HashSet::new();
    for (column, cell) in header.iter().enumerate() {
        if cell.is_empty() {
            return Err(wrong(name, text, 0, format!("column {} of the header has no name", column + 1), hint));
        }
        if !known.insert(cell) {
            let message = format!("column {} of the header has the name of a column before it", column + 1);
            return Err(wrong(name, text, 0, message, hint));
        }
    }
    Ok(())
}

/// Reads the cells of the row at `at` and moves `at` after it.
fn row(text: &str, at: &mut usize, sign: u8) -> Option<Vec<String>> {
    let bytes = text.as_bytes();
    if *at >= bytes.len() {
        return None;
    }
    let mut cells = Vec::new();
    loop {
        let mut cell = String::new();
        if bytes.get(*at) == Some(&b'"') {
            *at += 1;
            loop {
                let rest = &text[*at..];
                let end = rest.find('"').unwrap_or(rest.len());
                cell.push_str(&rest[..end]);
                *at += end + 1;
                if bytes.get(*at) != Some(&b'"') {
                    break;
                }
                cell.push('"');
                *at += 1;
            }
            *at = (*at).min(bytes.len());
        }
        let rest = &bytes[*at..];
        let end = rest.iter().position(|byte| *byte == sign || *byte == b'\n').unwrap_or(rest.len());
        cell.push_str(text[*at..*at + end].trim_end_matches('\r'));
        *at += end;
        cells.push(cell);
        match bytes.get(*at) {
            Some(byte) if *byte == sign => *at += 1,
            Some(_) => {
                *at += 1;
                return Some(cells);
            }
            None => return Some(cells),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::delimiter;

    /// The count included delimiters inside quotes, so Quayline split a quoted name that contained several of them.
    #[test]
    fn signs_in_quotes_part_no_cells() {
        for (header, expected) in [
            ("\"a;b;c\",d\n1;2;3;4;5", b','),
            ("6\"\" tube;T6;7,8\n", b';'),
            ("\"a\"\"b,c,d\";e\n", b';'),
            ("\"line\n1,2,3\"|x\n", b'|'),
            ("a\tb", b'\t'),
            ("alone", b','),
        ] {
            assert_eq!(char::from(delimiter(header)), char::from(expected), "{header}");
        }
    }
}
