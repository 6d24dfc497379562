//! Segments as x12-types documents them.

use quayline_edi::guide::{DataType, Dictionary, ElementDef, ElementOf, ElementUse, Requirement, SegmentDef};

use super::rust_source::{Field, Struct};
use crate::pyx12::x12_type;
use crate::x12_composites;

/// Maximum number of characters of an undocumented element.
const UNTOLD_MAX: u32 = 4096;

/// Composites at places that x12-types holds as plain text.
///
/// Source: ASC X12.22, segment directory 005010.
#[rustfmt::skip]
const COMPOSITES: [(&str, &str, &[u8]); 31] = [
    ("AK4", "C030", &[1]), ("CLM", "C023", &[5]), ("CLM", "C024", &[11]), ("CTP", "C001", &[5]), ("CTX", "C998", &[1]), ("CTX", "C999", &[6]),
    ("DMG", "C056", &[5]), ("EB", "C003", &[13]), ("EB", "C004", &[14]), ("EQ", "C003", &[2]), ("EQ", "C004", &[5]),
    ("HI", "C022", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), ("III", "C001", &[9]), ("K3", "C001", &[3]), ("MEA", "C001", &[4]),
    ("PLB", "C042", &[3, 5, 7, 9, 11, 13]), ("PRV", "C035", &[5]), ("PWK", "C002", &[8]), ("QTY", "C001", &[3]), ("REF", "C040", &[4]),
    ("SLN", "C001", &[5]), ("STC", "C043", &[1, 10, 11]), ("SV1", "C003", &[1]), ("SV1", "C004", &[7]), ("SV2", "C003", &[2]),
    ("SV3", "C003", &[1]), ("SV3", "C006", &[4]), ("SVC", "C003", &[1, 6]), ("SVD", "C003", &[3]), ("TOO", "C005", &[3]),
    ("UM", "C023", &[4]),
];

/// A row of a segment's table.
#[derive(Debug, Default)]
struct Row<'a> {
    id: &'a str,
    name: &'a str,
    repeat: &'a str,
    requirement: &'a str,
    data_type: &'a str,
    length: &'a str,
}

/// Returns a segment. Elements that its documentation redefines are added to the dictionary.
pub(super) fn segment(of: &Struct, dictionary: &mut Dictionary) -> SegmentDef {
    let rows = rows(&of.docs);
    let name = of.docs.first().and_then(|line| line.split_once(" - ")).map(|(_, name)| name.trim().to_owned());
    let mut elements = Vec::with_capacity(of.fields.len());
    // A table that does not have the fields is one of another version.
    let row_of = |at: usize| (rows.len() == of.fields.len()).then(|| &rows[at]);
    for (at, field) in of.fields.iter().enumerate() {
        let place = format!("{}{:02}", of.name, at + 1);
        let row = row_of(at);
        let told =
            composite(&of.name, at + 1, row, field, dictionary).or_else(|| simple(&place, row, field, dictionary));
        let is_told = told.is_some();
        let element = told.unwrap_or_else(|| undescribed(&place, dictionary));
        // A plain field without other documentation may still be optional or repeated.
        let optional = !is_told
            || field.types.first().is_some_and(|outer| outer == "Option" || outer == "Vec")
            || row.is_some_and(|row| !row.requirement.starts_with('M'));
        elements.push(ElementUse {
            of: element,
            name: None,
            requirement: if optional { Requirement::Optional } else { Requirement::Mandatory },
            repeat: if is_told { repeat(row, field) } else { None },
        });
    }
    SegmentDef { name, elements, notes: Vec::new() }
}

fn repeat(row: Option<&Row<'_>>, field: &Field) -> Option<u32> {
    if field.types.first().is_some_and(|outer| outer == "Vec") {
        return None;
    }
    match row.map(|row| row.repeat) {
        Some(">1") => None,
        Some(number) => Some(number.parse().unwrap_or(1)),
        None => Some(1),
    }
}

/// Describes a composite by the segment's table, the field's documentation or the built-in table.
fn composite(
    tag: &str,
    number: usize,
    row: Option<&Row<'_>>,
    field: &Field,
    dictionary: &mut Dictionary,
) -> Option<ElementOf> {
    let ours = COMPOSITES.iter().find(|(of, _, at)| *of == tag && at.iter().any(|at| usize::from(*at) == number));
    let ours = ours.map(|(_, id, _)| *id);
    let id =
        row.map(|row| row.id).or_else(|| documented(field).map(|(id, _)| id)).filter(|id| is_composite(id)).or(ours)?;
    if !dictionary.composites.contains_key(id) && !x12_composites::define(id, dictionary) {
        return None;
    }
    Some(ElementOf::Composite(id.to_owned()))
}

/// Describes a simple element by the field's type, the segment's table or the field's documentation.
fn simple(place: &str, row: Option<&Row<'_>>, field: &Field, dictionary: &mut Dictionary) -> Option<ElementOf> {
    let typed = field.types.last().and_then(|name| name.strip_prefix('E'));
    let typed = typed.filter(|id| dictionary.elements.contains_key(*id));
    let Some(row) = row else {
        let id = typed.or_else(|| documented(field).map(|(id, _)| id));
        return id.filter(|id| dictionary.elements.contains_key(*id)).map(|id| ElementOf::Element(id.to_owned()));
    };
    let id = typed.unwrap_or(row.id);
    let Some((data_type, (min, max))) = x12_type(row.data_type).zip(length(row.length)) else {
        return dictionary.elements.contains_key(id).then(|| ElementOf::Element(id.to_owned()));
    };
    let name = Some(row.name.to_owned()).filter(|name| !name.is_empty());
    let is_number = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
    match dictionary.elements.get(id) {
        Some(known) if (known.data_type, known.min, known.max) == (data_type, min, max) => {
            return Some(ElementOf::Element(id.to_owned()));
        }
        None if is_number => {
            dictionary.elements.insert(id.to_owned(), ElementDef { name, data_type, min, max, codes: None });
            return Some(ElementOf::Element(id.to_owned()));
        }
        // The table names another element than the one of its type and length, so these are used on their own.
        _ => {}
    }
    dictionary.elements.insert(place.to_owned(), ElementDef { name, data_type, min, max, codes: None });
    Some(ElementOf::Element(place.to_owned()))
}

fn undescribed(place: &str, dictionary: &mut Dictionary) -> ElementOf {
    let text = ElementDef { name: None, data_type: DataType::Text, min: 1, max: UNTOLD_MAX, codes: None };
    dictionary.elements.insert(place.to_owned(), text);
    ElementOf::Element(place.to_owned())
}

/// Splits the documentation `98 - Entity Identifier Code` into id and name.
fn documented(field: &Field) -> Option<(&str, &str)> {
    let (id, name) = field.docs.first()?.split_once(" - ")?;
    (is_composite(id) || id.bytes().all(|b| b.is_ascii_digit())).then_some((id, name.trim()))
}

fn is_composite(id: &str) -> bool {
    id.len() == 4 && id.starts_with('C') && id.bytes().skip(1).all(|b| b.is_ascii_digit())
}

/// Parses minimum and maximum length, such as `2/3`.
fn length(text: &str) -> Option<(u32, u32)> {
    let (min, max) = text.split_once('/')?;
    let (min, max) = (min.trim().parse().ok()?, max.trim().parse().ok()?);
    (min <= max).then_some((min, max))
}

/// Returns the rows of the table whose header begins with REF.
fn rows(docs: &[String]) -> Vec<Row<'_>> {
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let Some(start) = docs.iter().position(|line| line.starts_with("REF") && line.contains('|')) else {
        return Vec::new();
    };
    let header = cells(&docs[start]);
    let column = |name: &str| header.iter().position(|cell| cell == name);
    let (id, name, repeat) = (column("ID"), column("NAME"), column("REPEAT"));
    let (requirement, data_type, length) = (column("REQ"), column("TYPE"), column("MIN/MAX"));
    let mut rows = Vec::new();
    for line in docs[start + 1..].iter().take_while(|line| line.contains('|')).filter(|line| !line.starts_with('-')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).copied().unwrap_or_default();
        rows.push(Row {
            id: cell(id),
            name: cell(name),
            repeat: cell(repeat),
            requirement: cell(requirement),
            data_type: cell(data_type),
            length: cell(length),
        });
    }
    rows
}
