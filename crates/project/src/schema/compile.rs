//! Layouts and an interface file to a schema.

use std::sync::OnceLock;

use quayline_charset::Charset;
use quayline_cobol::layout::{Encoding, Field, FieldIndex, FieldKind, Layout};
use quayline_cobol::{FieldRule, Interface, Policies, RecordPlan};
use quayline_core::{DistinctFindings, Fault, Finding, Findings, NodeId, NodeKind, Occurs, Place, Shape, ShapeBuilder};
use quayline_frame::Edges;

use crate::schema::chooser::{Test, Unfit};
use crate::schema::record_types::{RecordTypePlan, RecordTypes, TypeKind, Unmatched};
use crate::schema::{Records, Schema};
use crate::{ChooseBy, InterfaceFile, Otherwise, RecordRules, RecordType, SkipBytes, TypeUse, codes};

pub(crate) fn compile(
    layouts: &[Layout],
    file: &InterfaceFile,
    policies: &Policies,
    charset: Charset,
) -> Result<Schema, Findings> {
    let mut compiler = Compiler { layouts, file, policies, charset, findings: DistinctFindings::default() };
    let schema = match &file.records {
        None => compiler.one(),
        Some(rules) => compiler.types(rules),
    };
    match schema {
        Some(schema) if compiler.findings.is_empty() => Ok(schema),
        _ => Err(Findings(compiler.findings.into_vec())),
    }
}

struct Compiler<'c> {
    layouts: &'c [Layout],
    file: &'c InterfaceFile,
    policies: &'c Policies,
    charset: Charset,
    findings: DistinctFindings,
}

/// A type with its plan, before the shape of the documents is made.
struct Draft {
    tests: Vec<Test>,
    record: Option<DraftRecord>,
}

struct DraftRecord {
    plan: RecordPlan,
    name: String,
    parent: Option<usize>,
    /// True if the type sets its discriminator.
    is_set: bool,
}

impl Compiler<'_> {
    fn one(&mut self) -> Option<Schema> {
        let [layout] = self.layouts else {
            let names: Vec<&str> = self.layouts.iter().map(record_name).collect();
            self.find(
                Finding::error(
                    codes::UNKNOWN_RECORD,
                    Fault::Config,
                    format!("the copybook has {} record descriptions, expected one", names.len()),
                )
                .hint(if names.is_empty() {
                    "the copybook describes no record: it needs at least one data item".to_owned()
                } else {
                    format!("name one of {}, or tell them apart by [records] in the interface file", names.join(", "))
                }),
            );
            return None;
        };
        self.plan(layout, self.file.interface.clone()).map(Schema::single)
    }

    fn types(&mut self, rules: &RecordRules) -> Option<Schema> {
        self.unused_rules(rules);
        let drafts: Vec<Option<Draft>> = rules.types.iter().map(|of_type| self.draft(rules, of_type)).collect();
        let drafts: Vec<Draft> = drafts.into_iter().collect::<Option<_>>()?;
        self.values_twice(&drafts, rules);
        let root = self.file.interface.wrapper.clone().unwrap_or_else(|| "RECORD".to_owned());
        let mut composer = Composer {
            drafts: &drafts,
            shape: Shape::builder(root),
            next: 1,
            groups: vec![NodeId::ROOT; drafts.len()],
        };
        composer.compose(None);
        let (groups, shape) = (composer.groups, composer.shape.finish());
        self.key_conflicts(&drafts, rules);
        let nested = drafts.iter().any(|d| d.record.as_ref().is_some_and(|r| r.parent.is_some()));
        let children: Vec<Vec<usize>> = (0..drafts.len()).map(|parent| children_of(&drafts, Some(parent))).collect();
        let types = drafts.into_iter().zip(groups).zip(children).map(|((draft, group), children)| RecordTypePlan {
            tests: draft.tests,
            kind: draft.record.map_or(TypeKind::Skip, |r| TypeKind::Record {
                plan: r.plan,
                name: r.name,
                is_set: r.is_set,
                group,
                parent: r.parent,
                children,
            }),
        });
        let types = RecordTypes {
            types: types.collect(),
            unmatched: match rules.otherwise {
                Otherwise::Reject => Unmatched::Reject,
                Otherwise::Skip => Unmatched::Skip,
                Otherwise::Type(index) => Unmatched::Type(index),
            },
            edges: Edges { skip_first: rules.skip_first.into(), skip_last: rules.skip_last as usize },
            nested,
            of_layout: false,
        };
        Some(Schema {
            shape,
            records: Records::Types(types),
            families: None,
            moments: Vec::new(),
            moment_of: OnceLock::new(),
            skip_bytes: SkipBytes::default(),
            has_required: false,
            source_limits: None,
        })
    }

    /// Reports types that an earlier type hides: both recognise a record by the same bytes, which may be written as `1` and `01`.
    fn values_twice(&mut self, drafts: &[Draft], rules: &RecordRules) {
        for (at, (draft, of_type)) in drafts.iter().zip(&rules.types).enumerate() {
            let before = || drafts[..at].iter().flat_map(|earlier| &earlier.tests);
            let shared = draft.tests.iter().find_map(|test| before().find_map(|earlier| test.shared_value(earlier)));
            if let Some(value) = shared {
                let message = format!("the value {value} already identifies an earlier type");
                let finding = Finding::error(codes::VALUE_TWICE, Fault::Config, message).at(of_type.place.clone());
                self.find(finding.hint("give each type values of its own"));
            }
        }
    }

    fn draft(&mut self, rules: &RecordRules, of_type: &RecordType) -> Option<Draft> {
        let by = of_type.by.as_ref().or(rules.by.as_ref());
        let TypeUse::Record { record, view, rename, parent } = &of_type.uses else {
            let test = by.and_then(|by| self.test(by, of_type, None));
            return Some(Draft { tests: test.into_iter().collect(), record: None });
        };
        let Some(layout) = self.layouts.iter().find(|layout| record_name(layout).eq_ignore_ascii_case(record)) else {
            let names: Vec<&str> = self.layouts.iter().map(record_name).collect();
            let place = self.file.place_of(record).cloned().unwrap_or_else(|| of_type.place.clone());
            self.find(
                Finding::error(
                    codes::UNKNOWN_RECORD,
                    Fault::Config,
                    format!("the copybook has no record description `{record}`"),
                )
                .at(place)
                .hint(format!("it has {}", names.join(", "))),
            );
            return None;
        };
        let test = by.and_then(|by| self.test(by, of_type, Some(layout)));
        let mut interface = self.rules_for(layout);
        if let Some(view) = view {
            self.only_view(layout, view, &mut interface);
        }
        // Types are wrapped by their own names.
        interface.wrapper = None;
        // A wrong value has its finding already.
        let is_wrong = by.is_some() && test.is_none() && !of_type.values.is_empty();
        let is_set = is_wrong || default_value(by, of_type, layout, &mut interface);
        let style = interface.key_style;
        let plan = self.plan(layout, interface)?;
        let name = rename.clone().unwrap_or_else(|| style.key(view.as_deref().unwrap_or(record)));
        let record = DraftRecord { plan, name, parent: *parent, is_set };
        Some(Draft { tests: test.into_iter().collect(), record: Some(record) })
    }

    /// Creates the test of a type's discriminator. A skipped type has no layout, so its field is looked up in all layouts.
    fn test(&mut self, by: &ChooseBy, of_type: &RecordType, layout: Option<&Layout>) -> Option<Test> {
        if of_type.values.is_empty() {
            return None;
        }
        let (name, made) = match by {
            ChooseBy::Bytes { offset, length } => {
                let made = Test::on_bytes(*offset, *length, &of_type.values, self.charset);
                (format!("{length} bytes at offset {offset}"), made)
            }
            ChooseBy::Field(name) => {
                let layouts = layout.map_or(self.layouts, std::slice::from_ref);
                let found =
                    layouts.iter().map(|layout| (layout, layout.named(name))).find(|(_, found)| !found.is_empty());
                match found {
                    Some((layout, found)) if found.len() == 1 => {
                        (format!("`{name}`"), Test::on_field(layout, found[0], &of_type.values, self.charset))
                    }
                    Some((layout, found)) => {
                        let paths: Vec<String> = found.iter().map(|f| layout.path(*f)).collect();
                        let message = format!("`{name}` means {} fields of {}", paths.len(), record_name(layout));
                        self.chooser(message, name, of_type, format!("qualify it: one of {}", paths.join(", ")));
                        return None;
                    }
                    None => {
                        let of = layout.map_or_else(
                            || "any record".to_owned(),
                            |layout| format!("record {}", record_name(layout)),
                        );
                        let hint =
                            "give the type a `by` of its own, or bytes: by = { offset = 0, length = 2 }".to_owned();
                        self.chooser(format!("`{name}` is not a field of {of}"), name, of_type, hint);
                        return None;
                    }
                }
            }
        };
        let is_value = matches!(made, Err(Unfit::Value));
        let (message, hint) = match made {
            Ok(test) => return Some(test),
            Err(Unfit::Kind) => (
                "cannot tell a record's type",
                "use an elementary field that occurs once and contains text or an integer",
            ),
            Err(Unfit::Slides) => ("comes after a table of variable length", "take a field in front of it"),
            Err(Unfit::Value) => (
                "cannot hold one of these values",
                "number fields need whole numbers of at most their digits, negative ones only with a sign in the picture; text fields need at most their length in characters of the code page, or all their bytes as 0x…",
            ),
        };
        let place_name = match by {
            ChooseBy::Field(name) if !is_value => name.as_str(),
            _ => "",
        };
        self.chooser(format!("{name} {message}"), place_name, of_type, hint.to_owned());
        None
    }

    fn chooser(&mut self, message: String, name: &str, of_type: &RecordType, hint: String) {
        let place = if of_type.by.is_some() { None } else { self.file.place_of(name).cloned() };
        let place = place.unwrap_or_else(|| of_type.place.clone());
        self.find(Finding::error(codes::CHOOSER, Fault::Config, message).at(place).hint(hint));
    }

    /// Returns the rules of the file that name an item of this layout.
    fn rules_for(&self, layout: &Layout) -> Interface {
        let mut interface = self.file.interface.clone();
        interface.fields.retain(|rule| !layout.named(&rule.field).is_empty());
        interface.choices.retain(|choice| !layout.named(&choice.storage).is_empty());
        interface
    }

    /// Rules that name nothing in any record that is used.
    fn unused_rules(&mut self, rules: &RecordRules) {
        let used = |layout: &&Layout| {
            let name = record_name(layout);
            rules
                .types
                .iter()
                .any(|t| matches!(&t.uses, TypeUse::Record { record, .. } if record.eq_ignore_ascii_case(name)))
        };
        let layouts: Vec<&Layout> = self.layouts.iter().filter(used).collect();
        let interface = &self.file.interface;
        let names = interface
            .fields
            .iter()
            .map(|rule| &rule.field)
            .chain(interface.choices.iter().map(|choice| &choice.storage));
        let unknown: Vec<String> =
            names.filter(|name| layouts.iter().all(|layout| layout.named(name).is_empty())).cloned().collect();
        for name in unknown {
            let place = self.file.place_of(&name).cloned().unwrap_or_default();
            self.find(
                Finding::error(
                    codes::RULE_WITHOUT_FIELD,
                    Fault::Config,
                    format!("no record type has a field `{name}`"),
                )
                .at(place)
                .hint("check its spelling, or add the record that has it to [records]"),
            );
        }
    }

    /// Leaves out the other views of the storage that `view` shares.
    fn only_view(&mut self, layout: &Layout, view: &str, interface: &mut Interface) {
        let [index] = layout.named(view)[..] else {
            let message = format!("record {} has no one field `{view}`", record_name(layout));
            let place = self.file.place_of(view).cloned().unwrap_or_default();
            self.find(
                Finding::error(codes::UNKNOWN_TYPE_RULE, Fault::Config, message)
                    .at(place)
                    .hint("name a view by its COBOL path"),
            );
            return;
        };
        let storage = layout.field(index).redefines.unwrap_or(index);
        let others = layout.iter().filter(|(other, field)| {
            *other != index && (*other == storage || field.redefines == Some(storage)) && !field.filler
        });
        let others: Vec<FieldIndex> = others.map(|(other, _)| other).collect();
        if others.is_empty() {
            let message = format!("`{view}` shares its storage with no other field");
            let place = self.file.place_of(view).cloned().unwrap_or_default();
            self.find(
                Finding::error(codes::UNKNOWN_TYPE_RULE, Fault::Config, message).at(place).hint("leave `view` out"),
            );
        }
        let rule = |index: FieldIndex, include| FieldRule {
            field: layout.path(index),
            include: Some(include),
            ..FieldRule::default()
        };
        interface.fields.extend(others.into_iter().map(|other| rule(other, false)));
        interface.fields.push(rule(index, true));
        interface.views.push(layout.path(index));
    }

    fn plan(&mut self, layout: &Layout, interface: Interface) -> Option<RecordPlan> {
        match RecordPlan::new(layout, &interface, self.policies, self.charset) {
            Ok(plan) => Some(plan),
            Err(Findings(found)) => {
                for mut finding in found {
                    self.locate(&mut finding);
                    self.find(finding);
                }
                None
            }
        }
    }

    /// Adds the place in the interface file to a plan's finding, by the first quoted name that the file has.
    fn locate(&self, finding: &mut Finding) {
        if finding.place != Place::default() {
            return;
        }
        let mut quoted = finding.message.split('`').skip(1).step_by(2);
        let place = quoted.find_map(|name| self.file.place_of(name).or_else(|| self.file.place_of_path(name)));
        if let Some(place) = place {
            finding.place = place.clone();
        }
    }

    /// Checks that a child's key differs from those of its siblings and of the fields of its parent record.
    fn key_conflicts(&mut self, drafts: &[Draft], rules: &RecordRules) {
        for (i, record) in drafts.iter().enumerate().filter_map(|(i, d)| Some((i, d.record.as_ref()?))) {
            let earlier = drafts[..i]
                .iter()
                .filter_map(|d| d.record.as_ref())
                .any(|r| r.parent == record.parent && r.name == record.name);
            let parents = record.parent.and_then(|p| drafts[p].record.as_ref());
            let in_parent = parents.is_some_and(|p| p.plan.shape().child(NodeId::ROOT, &record.name).is_some());
            if earlier || in_parent {
                let message = format!("the key `{}` is taken", record.name);
                let finding =
                    Finding::error(codes::UNKNOWN_TYPE_RULE, Fault::Config, message).at(rules.types[i].place.clone());
                self.find(finding.hint("give the type another key: rename = \"…\""));
            }
        }
    }

    fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}

/// Combines the shapes of the record types: each type is a group, and children follow the fields of their parent.
struct Composer<'d> {
    drafts: &'d [Draft],
    shape: ShapeBuilder,
    next: u32,
    groups: Vec<NodeId>,
}

impl Composer<'_> {
    fn compose(&mut self, parent: Option<usize>) {
        let occurs = if parent.is_none() { Occurs::Optional } else { Occurs::Many { min: 0, max: None } };
        for index in children_of(self.drafts, parent) {
            let Some(record) = &self.drafts[index].record else { continue };
            let group = self.shape.open(record.name.clone(), occurs);
            debug_assert_eq!(group.0, self.next, "groups come in document order");
            self.groups[index] = group;
            let shape = record.plan.shape();
            self.copy(shape, NodeId::ROOT);
            self.next = group.0 + u32::try_from(shape.len()).expect("node ids have 32 bits");
            self.compose(Some(index));
            self.shape.close();
        }
    }

    fn copy(&mut self, shape: &Shape, group: NodeId) {
        for child in shape.children(group) {
            let node = shape.node(child);
            match &node.kind {
                NodeKind::Group => {
                    self.shape.open(node.name.clone(), node.occurs);
                    self.copy(shape, child);
                    self.shape.close();
                }
                NodeKind::Scalar(scalar) => {
                    self.shape.scalar(node.name.clone(), scalar.clone(), node.occurs);
                }
            }
        }
    }
}

fn children_of(drafts: &[Draft], parent: Option<usize>) -> Vec<usize> {
    let child = |d: &Draft| d.record.as_ref().is_some_and(|r| r.parent == parent);
    (0..drafts.len()).filter(|i| child(&drafts[*i])).collect()
}

/// Makes the discriminator optional in documents: the document's type determines it. Encoding writes its first value.
///
/// Returns false if the bytes that distinguish the types are not those of one field. Documents must give these bytes then.
fn default_value(by: Option<&ChooseBy>, of_type: &RecordType, layout: &Layout, interface: &mut Interface) -> bool {
    let (Some(by), Some(value)) = (by, of_type.values.first()) else { return false };
    let index = match by {
        ChooseBy::Field(name) => match layout.named(name)[..] {
            [index] => index,
            _ => return false,
        },
        ChooseBy::Bytes { offset, length } => match text_at(layout, *offset, *length) {
            Some(index) => index,
            None => return false,
        },
    };
    let has_default = |rule: &FieldRule| rule.default.is_some() && layout.named(&rule.field).contains(&index);
    if !interface.fields.iter().any(has_default) {
        let rule = FieldRule { field: layout.path(index), default: Some(value.clone()), ..FieldRule::default() };
        interface.fields.push(rule);
    }
    true
}

/// Returns the one text field of exactly these bytes. A rule must be able to name it, and its place must be the same in all records.
fn text_at(layout: &Layout, offset: usize, length: usize) -> Option<FieldIndex> {
    let repeats = |index: FieldIndex| {
        let mut around = core::iter::successors(Some(index), |at| layout.field(*at).parent);
        around.any(|at| layout.field(at).occurs.is_some())
    };
    let is_it = |(index, field): &(FieldIndex, &Field)| {
        let is_text = matches!(field.kind, FieldKind::Item(Encoding::Text { .. }));
        is_text && (field.offset, field.size) == (offset, length) && !field.filler && !repeats(*index)
    };
    let mut found = layout.iter().filter(is_it).map(|(index, _)| index);
    let (index, None) = (found.next()?, found.next()) else { return None };
    let slides = layout.dialect.odo_slide
        && layout.fields.iter().any(|f| f.offset < offset && f.occurs.is_some_and(|o| o.depending_on.is_some()));
    (!slides && layout.named(&layout.path(index)) == [index]).then_some(index)
}

fn record_name(layout: &Layout) -> &str {
    &layout.field(FieldIndex::RECORD).name
}
