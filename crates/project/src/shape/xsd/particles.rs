//! Particles: elements and groups of elements in the content of a type.

use std::collections::HashSet;

use quayline_core::{NodeLimits, Occurs};
use quayline_dictionary::XmlElement;

use super::counts::{Count, Counts};
use super::members::Content;
use super::{DEPTH_MAX, Member, Model, Reader, default_of, limits};
use crate::shape::codes;

impl<'d> Reader<'d> {
    /// Adds the elements of a particle to the content of a type.
    pub(super) fn particle(&mut self, file: usize, of: &'d XmlElement, content: &mut Content) {
        let times = Count::of(of);
        let (optional, max) = (times.min == 0, times.max);
        if max == Some(0) {
            return;
        }
        let outer = (content.is_optional, content.repeats);
        let met = content.met.len();
        match of.name.as_str() {
            "sequence" | "all" | "choice" => {
                let is_choice = of.name == "choice";
                content.is_optional |= optional || is_choice;
                content.repeats |= max != Some(1);
                let choice = content.choices;
                content.choices += usize::from(is_choice);
                let outside = core::mem::replace(&mut content.counts, Counts::new(is_choice));
                for (branch, child) in of.children.iter().enumerate() {
                    if is_choice {
                        content.enter((choice, branch));
                    }
                    self.particle(file, child, content);
                    if is_choice {
                        content.leave();
                    }
                }
                let inside = core::mem::replace(&mut content.counts, outside);
                content.counts.add_group(inside, times);
            }
            "group" => {
                let name = of.attribute("ref").unwrap_or_default();
                content.is_optional |= optional;
                content.repeats |= max != Some(1);
                match self.documents.global("group", name, file) {
                    Some((of_file, group)) => {
                        if self.enters("group", of_file, name, file, of.at) {
                            let outside = core::mem::take(&mut content.counts);
                            group.children.iter().for_each(|child| self.particle(of_file, child, content));
                            let inside = core::mem::replace(&mut content.counts, outside);
                            content.counts.add_group(inside, times);
                            self.open.pop();
                        }
                    }
                    None => {
                        let message = format!("the schema does not define the group `{name}`");
                        self.refuse(file, of.at, codes::NO_SUCH_PART, message, "define it, or include its schema");
                    }
                }
            }
            "element" => self.member(file, of, optional, max, content),
            "any" => {
                content.counts.add_group(Counts::default(), times);
                self.note(file, "any", of.at);
            }
            _ => {}
        }
        if content.repeats && !outer.1 {
            self.check_repeated(file, of, &content.met_from(met));
        }
        (content.is_optional, content.repeats) = outer;
    }

    /// Elements that repeat together are lists of their own in a shape, which has no order across them.
    fn check_repeated(&mut self, file: usize, of: &XmlElement, met: &[&str]) {
        let mut seen = HashSet::new();
        let names: Vec<&str> = met.iter().copied().filter(|name| seen.insert(*name)).collect();
        if names.len() < 2 {
            return;
        }
        let more = if names.len() > 5 { ", …" } else { "" };
        let list = names[..names.len().min(5)].join(", ");
        let message = format!("elements that repeat together become separate lists: {list}{more}");
        let hint = "a document in which they alternate is refused when it is read (XML-022), and one that is written has all of one name \
                    together; put them into an element that repeats";
        let finding = self.documents.files[file].file.warning(codes::NOT_HELD, of.at, message).hint(hint);
        self.findings.push(finding);
    }

    /// An element that occurs again after others is one list in a shape.
    fn divided(&mut self, file: usize, of: &XmlElement, name: &str) {
        let message = format!("`{name}` occurs again after other elements, and all its occurrences become one list");
        let hint = "a document with other elements between them is refused when it is read (XML-022); in the schema and in documents, give \
                    them different names, or put one of them into an element of its own";
        let finding = self.documents.files[file].file.warning(codes::NOT_HELD, of.at, message).hint(hint);
        self.findings.push(finding);
    }

    fn member(&mut self, file: usize, of: &'d XmlElement, optional: bool, max: Option<u32>, content: &mut Content) {
        let (of_file, element) = match of.attribute("ref") {
            Some(reference) => match self.documents.global("element", reference, file) {
                Some(found) => found,
                None => {
                    let message = format!("the schema does not define the element `{reference}`");
                    let hint = "define it, or include or import its schema from a file next to this one";
                    return self.refuse(file, of.at, codes::NO_SUCH_PART, message, hint);
                }
            },
            None => (file, of),
        };
        let substitutes =
            if of.attribute("ref").is_some() { self.documents.substitutes(of_file, element) } else { Vec::new() };
        if substitutes.is_empty() {
            self.one_member(file, of, (of_file, element), optional, max, content);
            content.counts.add(element.attribute("name").unwrap_or_default(), Count::of(of));
            return;
        }
        // One of them is there, as in a choice.
        let choice = content.choices;
        let met = content.met.len();
        content.choices += 1;
        let is_abstract = element.is_true("abstract");
        let head = (!is_abstract).then_some((of_file, element));
        let outside = core::mem::replace(&mut content.counts, Counts::new(true));
        for (branch, (of_file, element)) in head.into_iter().chain(substitutes).enumerate() {
            if element.is_true("abstract") {
                continue;
            }
            content.enter((choice, branch));
            self.one_member(file, of, (of_file, element), true, max, content);
            content.leave();
            content.counts.add(element.attribute("name").unwrap_or_default(), Count::once());
        }
        let inside = core::mem::replace(&mut content.counts, outside);
        content.counts.add_group(inside, Count::of(of));
        if max != Some(1) && !content.repeats {
            self.check_repeated(file, of, &content.met_from(met));
        }
    }

    /// Adds an element: `of` is the particle, and `element` its definition, or the particle itself.
    fn one_member(
        &mut self,
        file: usize,
        of: &'d XmlElement,
        (of_file, element): (usize, &'d XmlElement),
        optional: bool,
        max: Option<u32>,
        content: &mut Content,
    ) {
        let Some(name) = element.attribute("name") else { return };
        let namespace = if of.attribute("ref").is_some() {
            self.target_namespace(of_file)
        } else {
            self.local_namespace(file, of, "elementFormDefault")
        };
        // The declaration is the key: elements of one name may hold each other.
        let key = ("element", format!("{of_file} {}", element.at));
        let is_too_deep = self.open.len() >= DEPTH_MAX;
        let model = if is_too_deep || self.open.contains(&key) {
            None
        } else {
            self.open.push(key);
            let errors = self.findings.len();
            let model = self.element(of_file, element);
            self.open.pop();
            if model.is_none() && self.findings.len() > errors {
                return;
            }
            model
        };
        let Some(model) = model else {
            let hint = "a shape is finite: a document that has it is refused when it is read; write down as many levels as documents have";
            let message = match is_too_deep {
                true => format!("`{name}` is nested more than {DEPTH_MAX} deep; Quayline leaves it out here"),
                false => format!("`{name}` contains itself; Quayline leaves it out here"),
            };
            let mut finding = self.documents.files[file].file.warning(codes::ITSELF, of.at, message).hint(hint);
            if !(optional || content.is_optional) {
                finding.severity = quayline_core::Severity::Error;
            }
            self.findings.push(finding);
            return;
        };
        let nullable = element.is_true("nillable");
        let least = u32::from(!(optional || content.is_optional || nullable));
        let occurs = match max {
            Some(1) if !content.repeats => {
                if least == 1 {
                    Occurs::Once
                } else {
                    Occurs::Optional
                }
            }
            max => Occurs::Many {
                min: if least == 0 {
                    0
                } else {
                    of.attribute("minOccurs").and_then(|min| min.parse().ok()).unwrap_or(1)
                },
                max: max.filter(|_| !content.repeats),
            },
        };
        // The occurrences become limits when the content is complete.
        let limits = NodeLimits { nullable, ..NodeLimits::default() };
        let mut default = default_of(element);
        if element.attribute("fixed").is_some() {
            self.note(of_file, "fixed", element.at);
        }
        let mut model = model;
        if let (Model::Group(members), Some(_)) = (&mut model, &default)
            && let Some(text) = members.iter_mut().find(|member| member.name == "$text")
        {
            text.default = default.take();
        }
        if content.is_divided(name) {
            self.divided(file, of, name);
        }
        let is_alone = content.meets(name);
        let types = self.types_of(of_file, element);
        match content.members.get_mut(name) {
            None => {
                let name = name.to_owned();
                content.members.push(Member { name, namespace, occurs, limits, model, default, types });
            }
            Some(known) if known.namespace != namespace => {
                let message = format!("`{name}` occurs in two namespaces");
                self.refuse(file, of.at, codes::NOT_HELD, message, "give both different names");
            }
            // Again in another branch, or further on.
            Some(known) if known.model == model || outline(&known.model) == outline(&model) => {
                known.occurs = match (is_alone, known.occurs, occurs) {
                    (true, Occurs::Once | Occurs::Optional, Occurs::Once | Occurs::Optional) => Occurs::Optional,
                    _ => Occurs::Many { min: 0, max: None },
                };
                known.limits.nullable |= limits.nullable;
                limits::widen(&mut known.model, model);
                content.add_types(name, &types);
            }
            Some(_) => {
                let message = format!("`{name}` has two types");
                self.refuse(file, of.at, codes::NOT_HELD, message, "give both the same type, or different names");
            }
        }
    }
}

/// Describes the content of a model, to compare two models with the same names.
fn outline(model: &Model) -> Vec<String> {
    match model {
        Model::Leaf(simple) => vec![format!("{:?}", simple.scalar)],
        Model::Group(members) => members.iter().map(|member| member.name.clone()).collect(),
    }
}
