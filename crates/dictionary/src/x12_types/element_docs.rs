//! Data elements as x12-types documents them.

use quayline_edi::guide::{CodeEntry, CodeList, ElementDef};

use super::rust_source::ElementMacro;
use crate::pyx12::x12_type;

/// An element with its codes.
pub(super) struct Element {
    pub(super) number: String,
    pub(super) def: ElementDef,
    pub(super) codes: Option<CodeList>,
}

/// Reads `**98** Entity Identifier Code`, `- Type: Identifier (ID)`, `- Length: min 2, max 3`. Returns `None` if these are missing.
pub(super) fn element(of: &ElementMacro) -> Option<Element> {
    let number = of.docs.iter().find_map(|line| line.strip_prefix("- Data element: "))?.trim().to_owned();
    let name =
        of.docs.iter().find_map(|line| line.strip_prefix("**")?.split_once("** ")).map(|(_, name)| name.to_owned());
    let data_type = of.docs.iter().find_map(|line| {
        let (_, short) = line.strip_prefix("- Type: ")?.rsplit_once('(')?;
        x12_type(short.trim_end_matches(')'))
    })?;
    let length = of.docs.iter().find_map(|line| line.strip_prefix("- Length: "))?;
    let number_behind = |word: &str| -> Option<u32> {
        let digits = length.split_once(word)?.1.trim_start();
        digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
    };
    let (min, max) = (number_behind("min")?, number_behind("max")?);
    let verified = of.docs.iter().any(|line| line.contains("verified"));
    let mut codes: Option<CodeList> = None;
    for (value, meaning) in &of.codes {
        let list = codes.get_or_insert_with(|| CodeList { name: name.clone(), codes: Vec::new(), open: !verified });
        let name = Some(meaning.clone()).filter(|name| !name.is_empty());
        list.codes.push(CodeEntry { value: value.clone(), name, from: None, until: None });
    }
    let def = ElementDef { name, data_type, min, max, codes: codes.is_some().then(|| number.clone()) };
    Some(Element { number, def, codes })
}
