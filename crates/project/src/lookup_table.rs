//! Tables in CSV files that maps look up, as runs, jobs, flows and partners name them.
//!
//! One function reads them for all of these, so a table that one refuses none takes. Everything that could give another value than the user expects
//! is an error: two rows with the same keys, a row with another number of cells than the header, a quote that does not end.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Read;
use std::path::{Path, PathBuf};

use quayline_core::{
    Digits, Fault, Finding, Findings, NumberScratch, Place, Scalar, Value, read_number, system_error_text, write_number,
};
use quayline_map::{ColumnType, DeclaredLookup, MapPlan};

use crate::codes;

/// Rows of CSV by the name of the map's `lookup`, held in memory. The first row names the columns: the keys, then the fields.
pub struct LookupTable {
    name: String,
    keys: usize,
    /// Number of a row by its keys.
    index: HashMap<String, usize>,
    /// Each row without its keys.
    rows: Vec<Vec<String>>,
}

impl LookupTable {
    /// Most bytes of a table, which is held in memory.
    pub const BYTES_MAX: u64 = 1 << 30;
    /// Separates the keys of a row in the index.
    pub const KEY_SEPARATOR: char = '\u{1f}';

    /// Parses pairs `NAME=FILE` separated by vertical bars: the look-up tables of a map, in the syntax of jobs, flows and partners.
    ///
    /// # Errors
    /// The part that is not a pair.
    pub fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
        let parts = text.split('|').map(str::trim).filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let pair = part.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
            pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| part.to_owned())
        };
        parts.map(pair).collect()
    }

    /// Reads the tables of a map from the files that the user names. `option` is where the user names them, such as `--lookup`.
    ///
    /// Findings about a table have its file as their place, and the others have none.
    ///
    /// # Errors
    /// A table that the map looks up and that has no file, a file that the map does not look up, and everything that is wrong with the files.
    pub fn of_map(plan: &MapPlan, files: &[(String, PathBuf)], option: &str) -> Result<Vec<LookupTable>, Findings> {
        let mut given: HashMap<&str, &Path> = HashMap::new();
        let mut found = Vec::new();
        for (name, file) in files {
            if given.insert(name, file).is_some() {
                let hint = format!("keep one of the files in {option}");
                found.push(error(format!("`{name}` names two tables")).hint(hint));
            }
        }
        let mut tables = Vec::new();
        for lookup in plan.lookups() {
            let Some(file) = given.remove(lookup.name) else {
                let message = format!("the map looks up `{}`, and no table has that name", lookup.name);
                found.push(error(message).hint(format!("name its file in {option}: {}=FILE.csv", lookup.name)));
                continue;
            };
            match text_of(file).and_then(|text| LookupTable::new(&lookup, &text)) {
                Ok(table) => tables.push(table),
                Err(Findings(mut wrong)) => {
                    for finding in &mut wrong {
                        finding.place.file = Some(file.display().to_string().into());
                    }
                    found.append(&mut wrong);
                }
            }
        }
        // In the order in which the user wrote them.
        for (name, _) in files.iter().filter(|(name, _)| given.remove(name.as_str()).is_some()) {
            found.push(LookupTable::unknown(name, option));
        }
        if found.is_empty() { Ok(tables) } else { Err(Findings(found)) }
    }

    /// Builds the finding about a table that the map does not declare.
    #[must_use]
    pub fn unknown(name: &str, option: &str) -> Finding {
        error(format!("the map does not look up `{name}`")).hint(format!("remove the table from {option}"))
    }

    /// Parses a table. The first columns are the declared keys, the next ones the fields. A key that is declared as a number is normalized, so that
    /// `1.50`, `01.5` and `1.5` are one key.
    ///
    /// # Errors
    /// The content is not a valid table. Findings have the line as their place.
    pub fn new(declared: &DeclaredLookup<'_>, text: &str) -> Result<LookupTable, Findings> {
        let (name, keys, fields) = (declared.name, declared.keys.len(), declared.fields.len());
        let mut rows = Rows::new(text.strip_prefix('\u{feff}').unwrap_or(text));
        let Some(header) = rows.next().transpose()? else {
            return Err(error("the table has no row that names its columns")
                .hint("its first row names them: the keys, then the fields")
                .into());
        };
        let columns = header.cells.len();
        if columns < keys + fields {
            let message =
                format!("the table has {columns} columns, and the map's `lookup {name}` declares {}", keys + fields);
            return Err(error(message)
                .at(line(header.line))
                .hint("write a column for each key, then one for each field")
                .into());
        }
        let mut found: Vec<Finding> = misplaced(declared, &header.cells)
            .map(|(column, name, at)| {
                let message =
                    format!("the map reads `{name}` from column {column}, and the header has it in column {at}");
                error(message).at(line(header.line)).hint("put the columns in the order of the map's `lookup`")
            })
            .collect();
        if !found.is_empty() {
            return Err(Findings(found));
        }
        let mut table = LookupTable { name: name.to_owned(), keys, index: HashMap::new(), rows: Vec::new() };
        let mut lines = Vec::new();
        for row in rows {
            let Row { line: at, mut cells } = row?;
            if found.len() == FINDINGS_MAX {
                break;
            }
            if cells.len() != columns {
                let message = format!("this row has {} cells, and the header {columns}", cells.len());
                found.push(
                    error(message).at(line(at)).hint("write a cell for each column; quote cells that have a comma"),
                );
                continue;
            }
            if keys > 1 && cells[..keys].iter().any(|cell| cell.contains(LookupTable::KEY_SEPARATOR)) {
                let message = "a key has the control character U+001F";
                found.push(error(message).at(line(at)).hint("remove the character"));
                continue;
            }
            let of = cells.split_off(keys);
            let columns = cells.iter_mut().zip(declared.keys);
            let mut numbers = columns.filter(|(cell, (_, column))| *column == ColumnType::Decimal && !cell.is_empty());
            let wrong = numbers.find_map(|(cell, (key, _))| match plain_number(cell) {
                Some(number) => {
                    *cell = number.into_owned();
                    None
                }
                None => Some(key),
            });
            if let Some(key) = wrong {
                let message = format!("the key `{key}` is declared as a number, and this row has another text");
                found.push(error(message).at(line(at)).hint("write it as 1250 or -12.50, or declare the key as text"));
                continue;
            }
            match table.index.entry(cells.join("\u{1f}")) {
                Entry::Vacant(entry) => {
                    entry.insert(table.rows.len());
                    table.rows.push(of);
                    lines.push(at);
                }
                Entry::Occupied(entry) => {
                    let message = format!("this row has the same keys as line {}", lines[*entry.get()]);
                    found.push(
                        error(message).at(line(at)).hint("keep one of the rows: a map sees one row for its keys"),
                    );
                }
            }
        }
        if found.is_empty() { Ok(table) } else { Err(Findings(found)) }
    }

    /// Returns the name of the table in the map.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of key columns.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Returns the fields of the row with these keys, which are joined by [`LookupTable::KEY_SEPARATOR`].
    #[must_use]
    pub fn row(&self, keys: &str) -> Option<&[String]> {
        self.index.get(keys).map(|row| self.rows[*row].as_slice())
    }
}

impl core::fmt::Debug for LookupTable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Rows are the user's data.
        f.debug_struct("LookupTable").field("name", &self.name).field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

/// Returns a number without insignificant zeros, sign and point; `None` for text that is not an exact number.
fn plain_number(text: &str) -> Option<Cow<'_, str>> {
    let scalar = Scalar::Decimal { digits: 38, scale: 0, signed: true };
    let mut scratch: NumberScratch = [0; 80];
    let Some(Value::Digits(mut number)) = read_number(&scalar, text.as_bytes(), &mut scratch) else { return None };
    let digits = number.digits.bytes();
    let mut kept = digits.len();
    while number.scale > 0 && kept > 1 && digits[kept - 1] == b'0' {
        (kept, number.scale) = (kept - 1, number.scale - 1);
    }
    if number.is_zero() {
        return Some(Cow::Borrowed("0"));
    }
    let mut plain = Vec::new();
    write_number(&mut plain, Value::Digits(Digits { digits: digits[..kept].into(), ..number }))?;
    String::from_utf8(plain).ok().map(Cow::Owned)
}

/// Iterates over the declared names that the header has in another column: the number of the declared column, the name, that of the other column.
/// A header may have names that the map does not know; upper case, `-`, `_` and blanks make no difference.
fn misplaced<'d>(declared: &DeclaredLookup<'d>, header: &[String]) -> impl Iterator<Item = (usize, &'d str, usize)> {
    let plain = |name: &str| -> String {
        name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
    };
    let header: Vec<String> = header.iter().map(|name| plain(name)).collect();
    let names = declared.keys.iter().chain(declared.fields).map(|(name, _)| name.as_str());
    names.enumerate().filter_map(move |(at, name)| {
        let wanted = plain(name);
        let other = header.iter().position(|column| *column == wanted)?;
        (header[at] != wanted).then_some((at + 1, name, other + 1))
    })
}

/// Most findings about one table.
const FINDINGS_MAX: usize = 20;

fn error(message: impl Into<String>) -> Finding {
    Finding::error(codes::LOOKUP_TABLE, Fault::Config, message)
}

fn line(number: u64) -> Place {
    Place { line: u32::try_from(number).ok(), ..Place::default() }
}

/// Reads a file of at most [`LookupTable::BYTES_MAX`] bytes.
fn text_of(file: &Path) -> Result<String, Findings> {
    let unreadable = |problem: std::io::Error| {
        let message = format!("the table cannot be read: {}", system_error_text(&problem));
        let hint =
            "check the path; relative paths begin at the project's folder, on the command line at the current one";
        Findings::from(Finding::error(codes::LOOKUP_TABLE, Fault::Environment, message).hint(hint))
    };
    let mut bytes = Vec::new();
    let open = std::fs::File::open(file).map_err(unreadable)?;
    // A pipe or a device has no length to look at first.
    open.take(LookupTable::BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LookupTable::BYTES_MAX) {
        return Err(error("the table is larger than 1 GiB").hint("look up in smaller tables").into());
    }
    String::from_utf8(bytes).map_err(|wrong| {
        let valid = &wrong.as_bytes()[..wrong.utf8_error().valid_up_to()];
        let number = 1 + valid.iter().filter(|byte| **byte == b'\n').count() as u64;
        error("the table is not UTF-8").at(line(number)).hint("save the file as CSV in UTF-8").into()
    })
}

/// A row of cells and its first line.
struct Row {
    line: u64,
    cells: Vec<String>,
}

/// Iterator over the rows of a CSV text with quotes doubled inside quotes. Blank lines are not rows.
struct Rows<'t> {
    rest: core::iter::Peekable<core::str::Chars<'t>>,
    line: u64,
}

impl<'t> Rows<'t> {
    fn new(text: &'t str) -> Rows<'t> {
        Rows { rest: text.chars().peekable(), line: 1 }
    }

    /// Parses the next row, which may be a blank line.
    fn row(&mut self) -> Result<Row, Findings> {
        let mut row = Row { line: self.line, cells: Vec::new() };
        let mut cell = String::new();
        let mut quoted = None;
        // Whether a quote has ended the cell.
        let mut is_over = false;
        while let Some(c) = self.rest.next() {
            self.line += u64::from(c == '\n');
            match c {
                '"' if quoted.is_some() && self.rest.peek() == Some(&'"') => {
                    self.rest.next();
                    cell.push('"');
                }
                '"' if quoted.is_some() => (quoted, is_over) = (None, true),
                // RFC 4180 quotes whole cells; a quote inside of one is a character.
                '"' if cell.is_empty() && !is_over => quoted = Some(self.line),
                ',' if quoted.is_none() => {
                    is_over = false;
                    row.cells.push(core::mem::take(&mut cell));
                }
                '\r' if quoted.is_none() && self.rest.peek() == Some(&'\n') => {}
                '\n' if quoted.is_none() => break,
                _ if is_over => {
                    let hint = "put the whole cell between quotes; inside quotes, write a quote twice";
                    return Err(error("text follows the quote that ends a cell").at(line(self.line)).hint(hint).into());
                }
                c => cell.push(c),
            }
        }
        if let Some(number) = quoted {
            let hint = "end the cell with a quote; inside quotes, write a quote twice";
            return Err(error("a quote begins here and does not end").at(line(number)).hint(hint).into());
        }
        row.cells.push(cell);
        Ok(row)
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Findings>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.rest.peek().is_some() {
            match self.row() {
                Ok(row) if row.cells.iter().all(String::is_empty) && row.cells.len() == 1 => {}
                row => return Some(row),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(keys: usize, fields: usize, text: &str, expected: &Expect) {
        check_types(&vec![ColumnType::Text; keys], fields, text, expected);
    }

    fn check_types(keys: &[ColumnType], fields: usize, text: &str, expected: &Expect) {
        let named = |start: &str, types: &[ColumnType]| -> Vec<(String, ColumnType)> {
            types.iter().enumerate().map(|(at, column)| (format!("{start}{at}"), *column)).collect()
        };
        let (keys, fields) = (named("c", keys), named("f", &vec![ColumnType::Text; fields]));
        let declared = DeclaredLookup { name: "t", keys: &keys, fields: &fields };
        let shown = match LookupTable::new(&declared, text) {
            Ok(table) => {
                let mut rows: Vec<_> = table.index.iter().map(|(key, row)| (key, &table.rows[*row])).collect();
                rows.sort();
                rows.iter().map(|(key, fields)| format!("{key:?} {fields:?}\n")).collect::<String>()
            }
            Err(Findings(found)) => found
                .iter()
                .map(|one| format!("line {}: {}\n", one.place.line.unwrap_or_default(), one.message))
                .collect(),
        };
        expected.assert_eq(&shown);
    }

    /// A quote inside of a cell swallowed the rows up to the next one.
    #[test]
    fn a_quote_inside_a_cell_is_a_character() {
        check(
            1,
            1,
            "id,name\nA,5\" pipe\nB,6\" tube\nC,\"x\"\n",
            &expect![[r#"
                "A" ["5\" pipe"]
                "B" ["6\" tube"]
                "C" ["x"]
            "#]],
        );
        check(1, 1, "id,name\nA,\"x\"y\n", &expect!["line 2: text follows the quote that ends a cell\n"]);
    }

    #[test]
    fn cells_and_quotes() {
        check(
            1,
            1,
            "\u{feff}id,name\r\n1,\"a, \"\"b\"\"\"\n\n2,\n3,\"x\ny\"",
            &expect![[r#"
            "1" ["a, \"b\""]
            "2" [""]
            "3" ["x\ny"]
        "#]],
        );
        check(
            2,
            1,
            "a,b,c\n1,2,3\n1,3,4\n",
            &expect![[r#"
            "1\u{1f}2" ["3"]
            "1\u{1f}3" ["4"]
        "#]],
        );
    }

    /// Keys that are numbers were compared as text: 1.5 did not find the row of 1.50.
    #[test]
    fn keys_that_are_numbers_have_one_form() {
        let number = [ColumnType::Decimal];
        check_types(
            &number,
            1,
            "n,x\n1.50,a\n0042,b\n-0.0,c\n+7,d\n-007.250,e\n100,f\n.5,g\n",
            &expect![[r#"
                "-7.25" ["e"]
                "0" ["c"]
                "0.5" ["g"]
                "1.5" ["a"]
                "100" ["f"]
                "42" ["b"]
                "7" ["d"]
            "#]],
        );
        check_types(
            &number,
            1,
            "n,x\n1.50,a\n01.5,b\nx,c\n1e3,d\n",
            &expect![[r#"
                line 3: this row has the same keys as line 2
                line 4: the key `c0` is declared as a number, and this row has another text
                line 5: the key `c0` is declared as a number, and this row has another text
            "#]],
        );
    }

    /// The header was not read, so columns in another order gave the values of each other.
    #[test]
    fn columns_in_another_order_are_an_error() {
        check(
            1,
            2,
            "C0,f1,F-0,more\nA,1,2,3\n",
            &expect![[r#"
                line 1: the map reads `f0` from column 2, and the header has it in column 3
                line 1: the map reads `f1` from column 3, and the header has it in column 2
            "#]],
        );
        let late = expect!["line 1: the map reads `f0` from column 2, and the header has it in column 4\n"];
        check(1, 2, "id,name,F_1,f0\nA,1,2,3\n", &late);
        check(1, 2, "c0,f0,name,f0\nA,1,2,3\n", &expect!["\"A\" [\"1\", \"2\", \"3\"]\n"]);
    }

    #[test]
    fn what_could_give_another_value_is_an_error() {
        check(
            1,
            1,
            "\n\n",
            &expect![[r#"
            line 0: the table has no row that names its columns
        "#]],
        );
        check(
            1,
            2,
            "id,name\n",
            &expect![[r#"
            line 1: the table has 2 columns, and the map's `lookup t` declares 3
        "#]],
        );
        check(
            1,
            1,
            "id,name\n1,a\n\"1\",b\n2\n3,c,d\n",
            &expect![[r#"
            line 3: this row has the same keys as line 2
            line 4: this row has 1 cells, and the header 2
            line 5: this row has 3 cells, and the header 2
        "#]],
        );
        check(
            1,
            1,
            "id,name\n1,\"a\n2,b\n",
            &expect![[r#"
            line 2: a quote begins here and does not end
        "#]],
        );
        check(
            2,
            0,
            "a,b\n1\u{1f},2\n",
            &expect![[r#"
            line 2: a key has the control character U+001F
        "#]],
        );
    }
}
