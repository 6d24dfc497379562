//! Code lists in the form of php-edifact's mapping: `codes.xml` with elements, codes and their meanings.

use std::collections::BTreeMap;

use quayline_core::Findings;
use quayline_edi::Standard;
use quayline_edi::guide::{CodeEntry, CodeList, Guide};

use crate::codes;
use crate::source_text::SourceText;
use crate::xml_tree::XmlElement;

/// Code lists by data element number, as `codes.xml` of one directory has them.
#[derive(Clone, Debug, Default)]
pub struct CodeLists {
    lists: BTreeMap<String, CodeList>,
}

impl CodeLists {
    /// Reads `codes.xml`.
    ///
    /// # Errors
    /// The file is not XML or not of the form.
    pub fn read(source: SourceText<'_>) -> Result<Self, Findings> {
        let root = XmlElement::read(source)?;
        let not_of_the_form = |at: &XmlElement, message: &str| source.refused(codes::NOT_OF_THE_FORM, at.at, message);
        if root.name != "data_elements" {
            return Err(not_of_the_form(&root, "expected data_elements"));
        }
        let mut lists = BTreeMap::new();
        for element in root.children_named("data_element") {
            let id = element.attribute("id").ok_or_else(|| not_of_the_form(element, "data_element has no id"))?;
            let mut seen: BTreeMap<&str, ()> = BTreeMap::new();
            let mut list = CodeList::default();
            for code in element.children_named("code") {
                let value = code.attribute("id").ok_or_else(|| not_of_the_form(code, "code has no id"))?;
                if !value.is_empty() && seen.insert(value, ()).is_none() {
                    let name = code.attribute("desc").filter(|name| !name.is_empty()).map(str::to_owned);
                    list.codes.push(CodeEntry { value: value.to_owned(), name, from: None, until: None });
                }
            }
            lists.insert(id.to_owned(), list);
        }
        Ok(CodeLists { lists })
    }

    /// Adds the codes to an EDIFACT guide: the whole list to elements without codes, names to codes without a name, and codes that
    /// the guide does not have. Returns how many of the guide's elements got codes and had none before.
    pub fn merge_into(&self, guide: &mut Guide) -> usize {
        if guide.standard != Standard::Edifact {
            return 0;
        }
        let dictionary = &mut guide.dictionary;
        let mut given = 0;
        for (id, element) in &mut dictionary.elements {
            let Some(list) = self.lists.get(id).filter(|list| !list.codes.is_empty()) else { continue };
            let Some(name) = &element.codes else {
                let named = CodeList { name: element.name.clone(), ..list.clone() };
                dictionary.codes.insert(id.clone(), named);
                element.codes = Some(id.clone());
                given += 1;
                continue;
            };
            let own = dictionary.codes.entry(name.clone()).or_default();
            let known: BTreeMap<&str, &CodeEntry> = list.codes.iter().map(|code| (code.value.as_str(), code)).collect();
            for code in &mut own.codes {
                if let (None, Some(known)) = (&code.name, known.get(code.value.as_str())) {
                    code.name.clone_from(&known.name);
                }
            }
            let had: BTreeMap<String, ()> = own.codes.iter().map(|code| (code.value.clone(), ())).collect();
            own.codes.extend(list.codes.iter().filter(|code| !had.contains_key(&code.value)).cloned());
        }
        given
    }
}
