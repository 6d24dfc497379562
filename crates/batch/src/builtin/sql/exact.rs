//! Checks that the columns of a table can hold the values of an item exactly.
//!
//! A database does not report inexact values: it rounds a number with more decimals than its column, or with more digits than a binary number of its
//! column. It drops the time of day of a date, the date of a time of day, the zone of a time without zone, and the end of a `name`, and uses the last
//! of two members with the same name. Quayline therefore checks each item before it sends it. The database itself refuses values that are not JSON or
//! not numbers. Quayline checks each element of an array, and refuses a column of a row type that may change values. Fields of an `interval` that its
//! column does not store, and bounds of ranges, are not checked.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use quayline_postgres::{Connection, Param};

use super::quoted_table;
use crate::artifact::Answer;
use crate::error::Thrown;

/// Precision of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Keeps {
    /// Full precision of the type, or a precision that only the database knows.
    All,
    /// Numbers with at most this many decimals. A negative limit is a position before the decimal point, as in `numeric(5, -2)`.
    Decimals(i64),
    /// Dates without a time of day.
    Date,
    /// Times of day, or dates with one.
    Time(Time),
    /// Binary numbers of 32 bits, or of 64.
    Float { is_double: bool },
    /// Texts of at most this many bytes.
    Bytes(usize),
    /// JSON whose objects have each member once.
    Json,
}

/// Precision of a time column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Time {
    /// Decimals of a second.
    decimals: i64,
    has_date: bool,
    has_zone: bool,
}

/// Precisions of the columns of a table.
pub(super) struct Exact {
    /// Precision of each column; for an array, of its elements.
    columns: Vec<Keeps>,
    /// True for each column that is an array.
    arrays: Vec<bool>,
    /// True if the database may change values to suit the columns.
    rounds: bool,
}

/// Members beyond the columns that a chunk counts by name.
const OTHERS_MAX: usize = 10;

/// What the items of a chunk lose, or do not have.
#[derive(Default)]
pub(super) struct Losses {
    /// Items without a matching row.
    pub(super) absent: u64,
    /// Values that the database changes, by column.
    pub(super) changed: Vec<u64>,
    /// Items of JSON without a member, by column.
    pub(super) missing: Vec<u64>,
    /// Items with a member that is not a column, by its name in JSON notation.
    pub(super) others: BTreeMap<Vec<u8>, u64>,
    /// Further such members.
    pub(super) more: u64,
}

impl Losses {
    pub(super) fn new(columns: usize) -> Losses {
        Losses { changed: vec![0; columns], missing: vec![0; columns], ..Losses::default() }
    }

    fn other(&mut self, name: &[u8]) {
        if let Some(count) = self.others.get_mut(name) {
            *count += 1;
        } else if self.others.len() < OTHERS_MAX {
            self.others.insert(name.to_vec(), 1);
        } else {
            self.more += 1;
        }
    }
}

/// Notation of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    Json,
    /// The database's notation of values, in which an array has braces.
    Literal,
}

/// Type and modifier of each column; those of a domain are in its definition. An array has those of its elements, and a row type those of each of its
/// attributes.
const COLUMNS: &str = "WITH RECURSIVE kind AS (\
    SELECT attname::text AS name, atttypid AS type, atttypmod AS modifier, false AS is_array, false AS is_part FROM pg_attribute \
    WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped \
    UNION ALL SELECT name, inner_kind.type, inner_kind.modifier, kind.is_array OR inner_kind.is_array, kind.is_part OR inner_kind.is_part \
    FROM kind JOIN pg_type AS of ON of.oid = kind.type CROSS JOIN LATERAL (\
    SELECT of.typbasetype AS type, greatest(kind.modifier, of.typtypmod) AS modifier, false AS is_array, false AS is_part WHERE of.typtype = 'd' \
    UNION ALL SELECT of.typelem, kind.modifier, true, false WHERE of.typtype = 'b' AND of.typelem <> 0 AND of.typlen = -1 \
    UNION ALL SELECT atttypid, atttypmod, false, true FROM pg_attribute \
    WHERE of.typtype = 'c' AND attrelid = of.typrelid AND attnum > 0 AND NOT attisdropped) AS inner_kind) \
    SELECT name, type::regtype::text, modifier::bigint, is_array, is_part FROM kind JOIN pg_type ON pg_type.oid = type \
    WHERE typtype NOT IN ('c', 'd') AND NOT (typtype = 'b' AND typelem <> 0 AND typlen = -1)";

impl Exact {
    /// Reads the precisions of columns. If the database `rounds`, each column accepts all values, and the changes are counted.
    pub(super) fn of(connection: &mut Connection, table: &str, columns: &[String], rounds: bool) -> Answer<Exact> {
        let found = connection.query(COLUMNS, &[Param::Binary(quoted_table(table).as_bytes())])?;
        let mut keeps = vec![Keeps::All; columns.len()];
        let mut arrays = vec![false; columns.len()];
        for row in 0..found.len() {
            let Some(row) = found.row(row) else { continue };
            let (Some(name), Some(of), Some(modifier)) = (row.text(0), row.text(1), row.int8(2)) else { continue };
            let Some(place) = columns.iter().position(|column| column == name) else { continue };
            let found = keeps_of(of, modifier);
            if row.bool(4) != Some(true) {
                (keeps[place], arrays[place]) = (found, row.bool(3) == Some(true));
            } else if found != Keeps::All && !rounds {
                let message = format!(
                    "the column {name} of {table} has a row type with a part of the type {of}, which may change values"
                );
                return Err(Thrown::of(&["quayline.Configuration"], message).hint(
                    "Quayline does not check the parts of a row: let the database change them with inexact=\"round\"",
                ));
            }
        }
        Ok(Exact { columns: keeps, arrays, rounds })
    }

    /// Refuses an item of JSON that names a column twice, or that has more than its columns keep.
    pub(super) fn json(&self, item: &[u8], number: u64, names: &[String], losses: &mut Losses) -> Answer<()> {
        let mut seen = vec![false; names.len()];
        let mut next = 0;
        let mut members = Members { text: item, at: 0 };
        if members.begin().is_none() {
            return Ok(());
        }
        while let Some((name, value)) = members.next() {
            // Members come in the order of the columns, mostly.
            let place = match names.get(next).filter(|expected| is_named(name, expected)) {
                Some(_) => next,
                None => match names.iter().position(|expected| is_named(name, expected)) {
                    Some(place) => place,
                    None => {
                        losses.other(name);
                        continue;
                    }
                },
            };
            next = place + 1;
            if std::mem::replace(&mut seen[place], true) {
                let message = format!("item {number} of the chunk has the member {} twice", names[place]);
                return Err(Thrown::of(&["quayline.Rejected"], message).hint("write each member once"));
            }
            if self.columns[place] == Keeps::All {
                continue;
            }
            self.one((place, &item[value], Form::Json), number, names, losses)?;
        }
        losses.missing.iter_mut().zip(seen).for_each(|(count, is_there)| *count += u64::from(!is_there));
        Ok(())
    }

    /// Refuses a field of CSV that has more than its column keeps.
    pub(super) fn field(
        &self,
        place: usize,
        text: &[u8],
        number: u64,
        names: &[String],
        losses: &mut Losses,
    ) -> Answer<()> {
        if self.columns[place] == Keeps::All {
            return Ok(());
        }
        self.one((place, text, Form::Literal), number, names, losses)
    }

    fn one(
        &self,
        (place, text, form): (usize, &[u8], Form),
        number: u64,
        names: &[String],
        losses: &mut Losses,
    ) -> Answer<()> {
        let keeps = self.columns[place];
        let text = text.trim_ascii();
        let found = match (self.arrays[place], form) {
            (_, Form::Json) if text == b"null" => None,
            (true, _) => excess_of_array(keeps, text, form),
            (false, Form::Json) => excess(keeps, bare(text)),
            (false, Form::Literal) => excess(keeps, text),
        };
        let Some((has, keeps, hint)) = found else { return Ok(()) };
        if self.rounds {
            losses.changed[place] += 1;
            return Ok(());
        }
        let message = format!("item {number} of the chunk has {has} in {}, and the column keeps {keeps}", names[place]);
        Err(Thrown::of(&["quayline.Rejected"], message).hint(hint))
    }
}

/// Returns a text without the quotes of JSON.
fn bare(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// What a value has, what its column keeps, and a remedy.
type Excess = (String, String, &'static str);

/// Returns what the first element has that the elements of an array do not keep.
fn excess_of_array(keeps: Keeps, text: &[u8], form: Form) -> Option<Excess> {
    if form == Form::Json && text.starts_with(b"\"") {
        // JSON may have the array as a text in the notation of the database.
        let literal = serde_json::from_slice::<String>(text).ok()?;
        return excess_of_array(keeps, literal.as_bytes(), Form::Literal);
    }
    if keeps == Keeps::Json && form == Form::Json {
        return excess(keeps, text);
    }
    let mut at = match form {
        // The bounds of the dimensions come first: `[0:1]={1,2}`.
        Form::Literal if text.starts_with(b"[") => text.iter().position(|byte| *byte == b'=').map_or(0, |at| at + 1),
        _ => 0,
    };
    while let Some(byte) = text.get(at) {
        let begin = at;
        let element = match byte {
            b'{' | b'}' | b'[' | b']' | b',' | b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            b'"' => {
                let mut members = Members { text, at };
                let end = members.string()?;
                at = members.at;
                match form {
                    Form::Json => serde_json::from_slice::<String>(&text[begin..at]).ok()?.into_bytes(),
                    Form::Literal => unescaped(&text[begin + 1..end]),
                }
            }
            _ => {
                let length = text[at..].iter().position(|byte| matches!(byte, b',' | b'}' | b']'));
                at = length.map_or(text.len(), |length| at + length);
                let element = text[begin..at].trim_ascii();
                if element.eq_ignore_ascii_case(b"null") {
                    continue;
                }
                element.to_vec()
            }
        };
        let found = excess(keeps, element.trim_ascii());
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Removes the backslashes that escape characters in an element of an array.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        bytes.extend(if *byte == b'\\' { rest.next() } else { Some(byte) });
    }
    bytes
}

/// Returns what a value has that a column does not keep.
fn excess(keeps: Keeps, text: &[u8]) -> Option<Excess> {
    let text = text.trim_ascii();
    Some(match keeps {
        Keeps::Decimals(most) => match decimals(text) {
            Some(found) if found > most => {
                let hint =
                    "round it in a map, give the column more decimals, or let the database round: inexact=\"round\"";
                (places(found), places(most), hint)
            }
            _ => return None,
        },
        Keeps::Date if has_time_of_day(text) => (
            "a time of day".to_owned(),
            "dates".to_owned(),
            "write the date alone, or let the database drop the time: inexact=\"round\"",
        ),
        Keeps::Time(time) => match decimals_of_second(text) {
            found if found > time.decimals => (
                format!("{} of a second", places(found)),
                time.decimals.to_string(),
                "shorten the time in a map, or let the database round: inexact=\"round\"",
            ),
            _ if !time.has_zone && has_zone(text) => (
                "a time zone".to_owned(),
                "times without one".to_owned(),
                "convert the time and leave the zone out, give the column a type with time zone, or let the database drop it: inexact=\"round\"",
            ),
            _ if !time.has_date && has_date(text) => (
                "a date".to_owned(),
                "times of day".to_owned(),
                "write the time alone, or let the database drop the date: inexact=\"round\"",
            ),
            _ => return None,
        },
        Keeps::Float { is_double } if !is_float(text, is_double) => (
            "more digits".to_owned(),
            if is_double { "those of a double" } else { "those of a float" }.to_owned(),
            "give the column the type numeric, or let the database round: inexact=\"round\"",
        ),
        Keeps::Bytes(most) if text.len() > most => (
            format!("{} bytes", text.len()),
            most.to_string(),
            "shorten the text in a map, give the column the type text, or let the database cut it: inexact=\"round\"",
        ),
        Keeps::Json => match member_that_is_there_twice(text) {
            Some(name) => (
                format!("an object with two members {name}"),
                "the last one".to_owned(),
                "write each member once, give the column the type json, or let the database drop the first: inexact=\"round\"",
            ),
            None => return None,
        },
        Keeps::All | Keeps::Date | Keeps::Float { .. } | Keeps::Bytes(_) => return None,
    })
}

/// Returns the precision of a column by its type; `modifier` is that of the catalog.
fn keeps_of(of: &str, modifier: i64) -> Keeps {
    match of {
        // Eleven bits, with a sign.
        "numeric" if modifier >= 4 => Keeps::Decimals((((modifier - 4) & 0x7ff) ^ 1024) - 1024),
        // Most locales have two decimals; the database does not report the number of its locale.
        "money" => Keeps::Decimals(2),
        "date" => Keeps::Date,
        "real" => Keeps::Float { is_double: false },
        "double precision" => Keeps::Float { is_double: true },
        "jsonb" => Keeps::Json,
        "name" => Keeps::Bytes(63),
        "\"char\"" => Keeps::Bytes(1),
        _ if of.starts_with("time") => Keeps::Time(Time {
            decimals: if modifier < 0 { 6 } else { modifier },
            has_date: of.starts_with("timestamp"),
            has_zone: of.ends_with("with time zone"),
        }),
        _ => Keeps::All,
    }
}

/// Describes a number of decimals.
fn places(decimals: i64) -> String {
    match decimals {
        1 => "1 decimal".to_owned(),
        0.. => format!("{decimals} decimals"),
        _ => format!("digits below 10^{}", -decimals),
    }
}

/// Returns the number of decimals of a decimal number, without trailing zeros. It is negative for trailing zeros before the decimal point:
/// -2 for 100. `None` for zero and for text that is not a number.
fn decimals(text: &[u8]) -> Option<i64> {
    let text = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let (digits, exponent) = (&text[..end], text.get(end + 1..));
    let exponent = match exponent {
        None => 0,
        // An exponent that does not fit 64 bits is larger than the scale of any column.
        Some(text) => {
            let (is_less, digits) = match text.split_first()? {
                (b'-', rest) => (true, rest),
                (b'+', rest) => (false, rest),
                _ => (false, text),
            };
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return None;
            }
            let size =
                digits.iter().fold(0i64, |n, digit| n.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
            if is_less { size.saturating_neg() } else { size }
        }
    };
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    if !digits.iter().enumerate().all(|(at, byte)| byte.is_ascii_digit() || at == point) {
        return None;
    }
    let last = digits.iter().rposition(|byte| matches!(byte, b'1'..=b'9'))?;
    let (last, point) = (i64::try_from(last).ok()?, i64::try_from(point).ok()?);
    let after = if last > point { last - point } else { last + 1 - point };
    Some(after.saturating_sub(exponent))
}

/// Returns true if a text has a time of day other than midnight.
fn has_time_of_day(text: &[u8]) -> bool {
    let Some(colon) = text.iter().position(|byte| *byte == b':') else { return false };
    // The hours precede the first colon. Minutes and seconds follow it, up to a zone.
    let hours = &text[..colon];
    let start = hours.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let rest = &text[colon..];
    let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b':' | b'.')).unwrap_or(rest.len());
    hours[start..].iter().chain(&rest[..end]).any(|byte| matches!(byte, b'1'..=b'9'))
}

/// Finds the first hour digit and the end of the last digit of a time. Returns `None` for a text without a time of day.
fn time_of_day(text: &[u8]) -> Option<(usize, usize)> {
    let colon = text.iter().position(|byte| *byte == b':')?;
    let begin = text[..colon].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let rest = &text[colon..];
    let length = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b':' | b'.')).unwrap_or(rest.len());
    Some((begin, colon + length))
}

/// Returns true if a zone follows the time of day.
fn has_zone(text: &[u8]) -> bool {
    let Some((_, end)) = time_of_day(text) else { return false };
    let rest = text[end..].trim_ascii();
    !rest.is_empty() && ![&b"AM"[..], b"PM", b"BC", b"AD"].iter().any(|known| rest.eq_ignore_ascii_case(known))
}

/// Returns true if a date precedes the time of day.
fn has_date(text: &[u8]) -> bool {
    time_of_day(text).is_some_and(|(begin, _)| text[..begin].iter().any(u8::is_ascii_digit))
}

/// Returns true if the nearest binary number has the same digits as a decimal number. The database refuses texts that are not numbers, and numbers
/// out of range.
fn is_float(text: &[u8], is_double: bool) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return true };
    let nearest = match is_double {
        true => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| format!("{number:e}")),
        false => text.parse::<f32>().ok().filter(|number| number.is_finite()).map(|number| format!("{number:e}")),
    };
    let Some(nearest) = nearest else { return true };
    match (digits(text.as_bytes()), digits(nearest.as_bytes())) {
        (Some(given), Some(kept)) => given == kept,
        _ => true,
    }
}

/// Returns the digits of a decimal number without zeros at both ends, and the number of its decimals. The nearest binary number has the same sign.
fn digits(text: &[u8]) -> Option<(Vec<u8>, Option<i64>)> {
    let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let all: Vec<u8> = text[..end].iter().copied().filter(u8::is_ascii_digit).collect();
    let first = all.iter().position(|digit| *digit != b'0').unwrap_or(all.len());
    let last = all.iter().rposition(|digit| *digit != b'0').map_or(first, |at| at + 1);
    let decimals = decimals(text);
    (decimals.is_some() || first == all.len()).then(|| (all[first..last].to_vec(), decimals))
}

/// Returns the number of decimals of the seconds of a time, without trailing zeros.
fn decimals_of_second(text: &[u8]) -> i64 {
    let Some(colon) = text.iter().position(|byte| *byte == b':') else { return 0 };
    let Some(point) = text[colon..].iter().position(|byte| *byte == b'.') else { return 0 };
    let digits = &text[colon + point + 1..];
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let last = digits[..end].iter().rposition(|byte| *byte != b'0');
    last.and_then(|last| i64::try_from(last + 1).ok()).unwrap_or(0)
}

/// Returns the name of the first member that occurs twice in a JSON object, at any depth.
fn member_that_is_there_twice(text: &[u8]) -> Option<String> {
    // The names of each object that is open; arrays have none.
    let mut open: Vec<Option<HashSet<String>>> = Vec::new();
    let mut may_be_name = false;
    let mut members = Members { text, at: 0 };
    while let Some(byte) = members.space() {
        match byte {
            b'"' => {
                let begin = members.at;
                members.string()?;
                if std::mem::take(&mut may_be_name)
                    && let Some(Some(names)) = open.last_mut()
                {
                    let name = serde_json::from_slice::<String>(&text[begin..members.at]).ok()?;
                    if names.contains(&name) {
                        return Some(name);
                    }
                    names.insert(name);
                }
                continue;
            }
            b'{' => open.push(Some(HashSet::new())),
            b'[' => open.push(None),
            b'}' | b']' => {
                open.pop();
            }
            _ => {}
        }
        may_be_name = matches!(byte, b'{' | b',');
        members.at += 1;
    }
    None
}

/// Compares a member's name in JSON notation with a name.
fn is_named(written: &[u8], name: &str) -> bool {
    if written == name.as_bytes() {
        return true;
    }
    written.contains(&b'\\') && {
        let quoted = [b"\"", written, b"\""].concat();
        serde_json::from_slice::<String>(&quoted).is_ok_and(|found| found == name)
    }
}

/// Iterates over the members of a JSON object and skips their values. Ends at the first character that is not JSON.
struct Members<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Members<'t> {
    fn space(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.space()? == byte).then(|| self.at += 1)
    }

    fn begin(&mut self) -> Option<()> {
        self.take(b'{')
    }

    /// Skips a string that begins here. Returns its end, before the quote.
    fn string(&mut self) -> Option<usize> {
        self.take(b'"')?;
        loop {
            match self.text.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(self.at - 1);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// Skips a value.
    fn value(&mut self) -> Option<Range<usize>> {
        self.space()?;
        let begin = self.at;
        let mut depth = 0usize;
        loop {
            match self.text.get(self.at)? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b'}' if depth == 0 => return Some(begin..self.at),
                _ => self.at += 1,
            }
        }
    }

    fn next(&mut self) -> Option<(&'t [u8], Range<usize>)> {
        if self.space()? == b',' {
            self.at += 1;
        }
        self.space()?;
        let begin = self.at + 1;
        let end = self.string()?;
        self.take(b':')?;
        let value = self.value()?;
        Some((&self.text[begin..end], value))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Exact, Keeps, Losses, Time, decimals, decimals_of_second, has_date, has_time_of_day, has_zone, is_float,
        keeps_of, member_that_is_there_twice,
    };

    #[test]
    fn decimals_are_counted_without_the_number() {
        for (text, found) in [
            ("1", Some(0)),
            ("100", Some(-2)),
            ("1.50", Some(1)),
            ("-0.00001", Some(5)),
            ("1e3", Some(-3)),
            ("12.5E-2", Some(3)),
            (".5", Some(1)),
            ("5.", Some(0)),
            ("0.000", None),
            ("1e-99999999999999999999", Some(i64::MAX)),
            ("NaN", None),
            ("1.2.3", None),
            ("1e", None),
            ("", None),
        ] {
            assert_eq!(decimals(text.as_bytes()), found, "{text}");
        }
        assert_eq!(
            (keeps_of("numeric", 4 + (12 << 16) + 2), keeps_of("numeric", -1)),
            (Keeps::Decimals(2), Keeps::All)
        );
        // numeric(5, -2)
        assert_eq!(keeps_of("numeric", 4 + (5 << 16) + (0x800 - 2)), Keeps::Decimals(-2));
    }

    #[test]
    fn times_are_looked_at_as_text() {
        for (text, found) in [
            ("2024-01-01", false),
            ("2024-01-01T00:00:00.000Z", false),
            ("2024-01-01 00:00:00+02:00", false),
            ("2024-01-01T10:00", true),
            ("2024-01-01T00:00:00.5", true),
            ("01.02.2024", false),
        ] {
            assert_eq!(has_time_of_day(text.as_bytes()), found, "{text}");
        }
        for (text, found) in
            [("10:00:00.123000+01", 3), ("2024-01-01T10:00:00.1234567Z", 7), ("01.02.2024", 0), ("10:00", 0)]
        {
            assert_eq!(decimals_of_second(text.as_bytes()), found, "{text}");
        }
    }

    #[test]
    fn members_of_inner_objects_are_there_once() {
        for (text, twice) in [
            (r#"{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}"#, None),
            (r#"{"a":{"b":1,"b":2}}"#, Some("b")),
            (r#"[{"a":1,"\u0061":2}]"#, Some("a")),
            (r#"{"a":["a","a"],"b":"a"}"#, None),
            (r#"{"a":1"#, None),
            ("no JSON", None),
        ] {
            assert_eq!(member_that_is_there_twice(text.as_bytes()).as_deref(), twice, "{text}");
        }
    }

    #[test]
    fn zones_and_dates_of_times_are_found() {
        for (text, zone, date) in [
            ("10:00:00", false, false),
            ("10:00:00.5 PM", false, false),
            ("10:00:00+02", true, false),
            ("2024-01-01T10:00:00+02:00", true, true),
            ("2024-01-01T10:00:00Z", true, true),
            ("2024-01-01 10:00", false, true),
            ("2024-01-01 10:00 Europe/Berlin", true, true),
            ("2024-01-01", false, false),
            ("", false, false),
        ] {
            assert_eq!((has_zone(text.as_bytes()), has_date(text.as_bytes())), (zone, date), "{text}");
        }
        let time = |has_date, has_zone| Keeps::Time(Time { decimals: 6, has_date, has_zone });
        assert_eq!(keeps_of("timestamp without time zone", -1), time(true, false));
        assert_eq!(keeps_of("timestamp with time zone", -1), time(true, true));
        assert_eq!(keeps_of("time without time zone", -1), time(false, false));
    }

    #[test]
    fn binary_numbers_keep_the_digits_that_they_are_written_with() {
        for (text, in_float, in_double) in [
            ("0.1", true, true),
            ("-1.50", true, true),
            ("0", true, true),
            ("-0.000", true, true),
            ("1e-7", true, true),
            ("16777216", true, true),
            ("16777217", false, true),
            ("1.6777217E+7", false, true),
            ("3.14159265358979", false, true),
            ("9007199254740993", false, false),
            ("0.12345678901234567", false, false),
            // The database refuses these.
            ("1e999", true, true),
            ("NaN", true, true),
            ("x", true, true),
        ] {
            assert_eq!(
                (is_float(text.as_bytes(), false), is_float(text.as_bytes(), true)),
                (in_float, in_double),
                "{text}"
            );
        }
    }

    #[test]
    fn members_are_found_in_any_order_and_writing() {
        let names = ["id".to_owned(), "n".to_owned(), "d".to_owned()];
        let exact =
            Exact { columns: vec![Keeps::All, Keeps::Decimals(2), Keeps::Date], arrays: vec![false; 3], rounds: false };
        let refused = |item: &str| {
            let found = exact.json(item.as_bytes(), 3, &names, &mut Losses::new(names.len()));
            found.err().map(|thrown| thrown.message)
        };
        for fine in [
            r#"{"id":1,"n":1.50,"d":"2024-01-01"}"#,
            r#" { "d" : null , "x" : {"n":[1.234,"}"],"id":1} , "n" : "1.5" , "id" : "\"" } "#,
            "{}",
            "[1]",
            "no JSON",
            r#"{"n":1.234"#,
            r#"{"n":"#,
        ] {
            assert_eq!(refused(fine), None, "{fine}");
        }
        let wrong = |item: &str, what: &str| assert!(refused(item).is_some_and(|found| found.contains(what)), "{item}");
        wrong(r#"{"id":1,"id":2}"#, "item 3 of the chunk has the member id twice");
        wrong(r#"{"id":1,"x":{"id":3},"\u0069d":2}"#, "the member id twice");
        wrong(r#"{"n":1.234}"#, "has 3 decimals in n, and the column keeps 2 decimals");
        wrong(r#"{"n":" 1e-9 "}"#, "has 9 decimals in n");
        wrong(r#"{"d":"2024-01-01T10:00"}"#, "has a time of day in d, and the column keeps dates");
    }
}
