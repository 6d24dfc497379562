//! CSV samples: a header, and rows below it.

use quayline_core::Findings;

use crate::seen::Seen;
use crate::wrong;

/// Signs that part cells, in the order in which they are tried.
const SIGNS: [u8; 4] = *b",;\t|";

/// Returns the delimiter of a header's cells: the most frequent of the possible signs.
pub(crate) fn delimiter(text: &str) -> u8 {
    let header = text.lines().next().unwrap_or_default();
    let count = |sign: &u8| header.bytes().filter(|byte| byte == sign).count();
    SIGNS.iter().rev().copied().max_by_key(count).unwrap_or(b',')
}

/// Adds the rows of a text.
pub(crate) fn read(name: &str, text: &str, root: &mut Seen) -> Result<u64, Findings> {
    let sign = delimiter(text);
    let mut at = 0;
    let Some(header) = row(text, &mut at, sign) else {
        return Err(wrong(name, text, 0, "the sample is empty", "name a file that holds something"));
    };
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
            let member = root.member(name.trim());
            // An empty cell is not a value.
            if !cell.is_empty() {
                member.text(cell);
            }
        }
    }
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
