//! Composites of X12 005010 that dictionaries name without their components.
//!
//! Source: ASC X12.3, data element dictionary, composite data structures; lengths as of 005010.

use quayline_edi::guide::{CompositeDef, DataType, Dictionary, ElementDef, ElementOf, ElementUse, Requirement};

use crate::notes::x12_note;

/// Adds a composite and those of its elements that the dictionary does not have. Returns whether the composite is known.
pub(crate) fn define(id: &str, dictionary: &mut Dictionary) -> bool {
    let Some((_, components, notes)) = COMPOSITES.iter().find(|(known, _, _)| *known == id) else { return false };
    let mut def = CompositeDef::default();
    for component in components.split(' ') {
        let (number, mandatory) = component.strip_suffix('!').map_or((component, false), |number| (number, true));
        let requirement = if mandatory { Requirement::Mandatory } else { Requirement::Optional };
        let of = ElementOf::Element(number.to_owned());
        def.components.push(ElementUse { of, name: None, requirement, repeat: Some(1) });
        if !dictionary.elements.contains_key(number) {
            let element = ELEMENTS.iter().find(|(known, ..)| *known == number);
            let (_, data_type, min, max) = element.expect("the table has every component of the table above");
            let element = ElementDef { name: None, data_type: *data_type, min: *min, max: *max, codes: None };
            dictionary.elements.insert(number.to_owned(), element);
        }
    }
    def.notes = notes.split_whitespace().filter_map(x12_note).collect();
    dictionary.composites.insert(id.to_owned(), def);
    true
}

/// Id, components (`!`: mandatory), notes.
#[rustfmt::skip]
const COMPOSITES: [(&str, &str, &str); 19] = [
    ("C001", "355! 1018 649 355 1018 649 355 1018 649 355 1018 649 355 1018 649", ""),
    ("C002", "704! 704 704 704 704", ""),
    ("C003", "235! 234! 1339 1339 1339 1339 352 234", ""),
    ("C004", "1328! 1328 1328 1328", ""),
    ("C005", "1369! 1369 1369 1369 1369", ""),
    ("C006", "1361! 1361 1361 1361 1361", ""),
    ("C022", "1270! 1271! 1250 1251 782 380 799 1271 1073", "P0304 E0809"),
    ("C023", "1331! 1332 1325", ""),
    ("C024", "1362! 1362 1362 156 26", ""),
    ("C030", "722! 1528 1686", ""),
    ("C035", "1222! 559 1073", ""),
    ("C040", "128! 127! 128 127 128 127", "P0304 P0506"),
    ("C042", "426! 127", ""),
    ("C043", "1271! 1271! 98 1270", ""),
    ("C045", "1321! 1321 1321 1321 1321", ""),
    ("C046", "156 156 156 156 156", ""),
    ("C056", "1109 1270 1271", "P0203"),
    ("C998", "9999! 9998", ""),
    ("C999", "725! 725", ""),
];

#[rustfmt::skip]
const ELEMENTS: [(&str, DataType, u32, u32); 39] = [
    ("26", DataType::Identifier, 2, 3),
    ("98", DataType::Identifier, 2, 3),
    ("127", DataType::Text, 1, 50),
    ("128", DataType::Identifier, 2, 3),
    ("156", DataType::Identifier, 2, 2),
    ("234", DataType::Text, 1, 48),
    ("235", DataType::Identifier, 2, 2),
    ("352", DataType::Text, 1, 80),
    ("355", DataType::Identifier, 2, 2),
    ("380", DataType::Decimal, 1, 15),
    ("426", DataType::Identifier, 2, 2),
    ("559", DataType::Identifier, 2, 2),
    ("649", DataType::Decimal, 1, 10),
    ("704", DataType::Identifier, 1, 2),
    ("722", DataType::Implied(0), 1, 2),
    ("725", DataType::Implied(0), 1, 4),
    ("782", DataType::Decimal, 1, 18),
    ("799", DataType::Text, 1, 30),
    ("1018", DataType::Decimal, 1, 15),
    ("1073", DataType::Identifier, 1, 1),
    ("1109", DataType::Identifier, 1, 1),
    ("1222", DataType::Text, 1, 3),
    ("1250", DataType::Identifier, 2, 3),
    ("1251", DataType::Text, 1, 35),
    ("1270", DataType::Identifier, 1, 3),
    ("1271", DataType::Text, 1, 30),
    ("1321", DataType::Identifier, 1, 2),
    ("1325", DataType::Identifier, 1, 1),
    ("1328", DataType::Implied(0), 1, 2),
    ("1331", DataType::Text, 1, 2),
    ("1332", DataType::Identifier, 1, 2),
    ("1339", DataType::Text, 2, 2),
    ("1361", DataType::Identifier, 1, 3),
    ("1362", DataType::Identifier, 2, 3),
    ("1369", DataType::Identifier, 1, 2),
    ("1528", DataType::Implied(0), 1, 2),
    ("1686", DataType::Implied(0), 1, 4),
    ("9998", DataType::Text, 1, 35),
    ("9999", DataType::Text, 1, 35),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_is_defined() {
        let mut dictionary = Dictionary::default();
        for (id, ..) in COMPOSITES {
            assert!(define(id, &mut dictionary), "{id}");
        }
        assert!(!define("C777", &mut dictionary));
        assert_eq!(dictionary.composites["C040"].notes.len(), 2);
    }
}
