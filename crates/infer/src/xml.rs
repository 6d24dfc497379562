//! XML samples: the outermost element is the document.

use std::collections::{HashMap, HashSet};

use quayline_core::Findings;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::seen::Seen;
use crate::wrong;

/// Deepest nesting.
const DEPTH_MAX: usize = 128;

/// An element of one sample, before it is known whether it is a field, a group or a list.
#[derive(Default)]
struct Element {
    attributes: Vec<(String, String)>,
    text: String,
    children: Vec<(String, Element)>,
}

/// Adds a document and returns the name of its outermost element.
pub(crate) fn read(name: &str, text: &str, root: &mut Seen) -> Result<String, Findings> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<(String, Element)> = Vec::new();
    let bad = |reader: &Reader<&[u8]>| {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(0);
        wrong(name, text, at, "this is not well-formed XML", "name a file of one whole document")
    };
    loop {
        match reader.read_event().map_err(|_| bad(&reader))? {
            Event::Start(tag) if open.len() < DEPTH_MAX => open.push(begin(&tag)),
            Event::Start(_) => return Err(bad(&reader)),
            Event::Empty(tag) => {
                let (name, element) = begin(&tag);
                match open.last_mut() {
                    Some((_, parent)) => parent.children.push((name, element)),
                    None => {
                        add(element, root);
                        return Ok(name);
                    }
                }
            }
            Event::End(_) => {
                let (name, element) = open.pop().ok_or_else(|| bad(&reader))?;
                match open.last_mut() {
                    Some((_, parent)) => parent.children.push((name, element)),
                    None => {
                        add(element, root);
                        return Ok(name);
                    }
                }
            }
            Event::Text(part) => push(&mut open, &part.xml10_content()),
            Event::CData(part) => push(&mut open, &part.xml10_content()),
            // The character itself does not matter here, only that it is one.
            Event::GeneralRef(_) => push(&mut open, "\u{fffd}"),
            Event::Eof => return Err(bad(&reader)),
            _ => {}
        }
    }
}

fn push(open: &mut [(String, Element)], text: &str) {
    if let Some((_, element)) = open.last_mut() {
        element.text.push_str(text);
    }
}

fn begin(tag: &BytesStart<'_>) -> (String, Element) {
    let local = tag.local_name();
    let mut element = Element::default();
    // The reader's own search for duplicates compares each attribute with all others.
    let mut names = HashSet::new();
    for attribute in tag.attributes().with_checks(false).flatten() {
        let name = attribute.key.as_ref();
        let known = name.starts_with("xmlns") || name.starts_with("xml:") || name.starts_with("xsi:");
        // As the reader, by the name without its prefix.
        let local = name.split_once(':').map_or(name, |(_, local)| local);
        if !known && names.insert(local.to_owned()) {
            element.attributes.push((local.to_owned(), attribute.value.to_string()));
        }
    }
    (AsRef::<str>::as_ref(&local).to_owned(), element)
}

fn add(element: Element, seen: &mut Seen) {
    if element.attributes.is_empty() && element.children.is_empty() {
        seen.element_text(&element.text);
        return;
    }
    seen.times += 1;
    seen.groups += 1;
    for (name, value) in &element.attributes {
        seen.member(&format!("@{name}")).text(value);
    }
    if !element.text.trim().is_empty() {
        seen.member("$text").element_text(&element.text);
    } else if element.children.is_empty() {
        seen.blank = seen.blank.max(u32::try_from(element.text.chars().count()).unwrap_or(u32::MAX));
    }
    let mut by_name: Vec<(String, Vec<Element>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (name, child) in element.children {
        let place = match places.get(&name) {
            Some(place) => *place,
            None => {
                places.insert(name.clone(), by_name.len());
                by_name.push((name, Vec::new()));
                by_name.len() - 1
            }
        };
        by_name[place].1.push(child);
    }
    for (name, all) in by_name {
        let member = seen.member(&name);
        if all.len() > 1 || member.lists > 0 {
            member.times += 1;
            member.lists += 1;
            member.longest = member.longest.max(all.len() as u64);
            all.into_iter().for_each(|child| add(child, member.item.get_or_insert_default()));
        } else {
            all.into_iter().for_each(|child| add(child, member));
        }
    }
}
