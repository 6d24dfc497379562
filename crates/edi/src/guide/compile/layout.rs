//! Requirements on the elements of each segment, as tables.

use std::collections::BTreeMap;

use quayline_core::stored;

use super::cell::{self, Cells};
use super::effective::{self, Allowed, Effective};
use super::{CompiledItem, check::note_name, small};
use crate::delimiters::Standard;
use crate::guide::code_set::CodeSet;
use crate::guide::model::{DataType, ElementOf, ElementUse, Guide, NoteKind, Requirement, SegmentUse, SyntaxNote};

/// Elements of all segments.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    /// Layouts by item of the structure.
    pub(crate) of_item: Vec<u32>,
    pub(crate) layouts: Vec<Layout>,
    /// Elements of layouts and components of composites, those of one next to each other.
    pub(crate) specs: Vec<Spec>,
    pub(crate) notes: Vec<Note>,
    /// Code sets by `Spec::codes` minus one.
    pub(crate) code_sets: Vec<Allowance>,
    /// Numbers and names of elements, for messages.
    pub(crate) names: Vec<Box<str>>,
    /// Tables for the check of valid data.
    pub(crate) cells: Cells,
}

impl Layouts {
    /// Returns an element (`component` 0) or a component of a layout.
    pub(crate) fn element(&self, layout: Layout, element: usize, component: usize) -> Option<&Spec> {
        let specs = &self.specs[layout.specs.0 as usize..layout.specs.1 as usize];
        let spec = specs.get(element.checked_sub(1)?)?;
        match component.checked_sub(1) {
            None => Some(spec),
            Some(component) if spec.form == Form::Composite => {
                self.specs[spec.components.0 as usize..spec.components.1 as usize].get(component)
            }
            Some(_) => Some(spec),
        }
    }

    pub(crate) fn name(&self, name: u32) -> Option<Box<str>> {
        (name > 0).then(|| self.names[name as usize].clone())
    }

    pub(crate) fn allowance(&self, codes: u32) -> Option<&Allowance> {
        self.code_sets.get((codes as usize).checked_sub(1)?)
    }
}

/// A segment at some places.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub(crate) struct Layout {
    pub(crate) specs: (u32, u32),
    pub(crate) notes: (u32, u32),
    /// Number of the last mandatory element.
    pub(crate) last_mandatory: u32,
}

/// An element or a component at a place.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub(crate) struct Spec {
    pub(crate) form: Form,
    pub(crate) mandatory: bool,
    pub(crate) not_used: bool,
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// 0 is any value.
    pub(crate) codes: u32,
    /// Most repetitions; `u32::MAX` is unbounded.
    pub(crate) repeat: u32,
    /// Components of a composite.
    pub(crate) components: (u32, u32),
    pub(crate) notes: (u32, u32),
    /// Index of number and name in `Layouts::names`; the name may be empty.
    pub(crate) number: u32,
    pub(crate) name: u32,
}

/// Allowed characters of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
#[repr(u8)]
pub(crate) enum Form {
    /// Any printable characters.
    Text,
    /// X12 `R`, EDIFACT `n`: digits, a minus sign, a decimal mark.
    Decimal,
    /// X12 `N0` and `N2`: digits and a minus sign.
    Integer,
    /// X12 `DT`.
    Date,
    /// X12 `TM`.
    Time,
    /// EDIFACT `a`.
    Letters,
    /// Anything.
    Binary,
    /// X12 data element 1251: a date, time or range in the format given by the preceding element (1250).
    X12Period,
    /// EDIFACT data element 2380: in the format given by the next component (2379).
    EdifactPeriod,
    /// Has components.
    Composite,
}

/// Codes that are allowed at a place.
#[derive(Debug)]
pub(crate) struct Allowance {
    pub(crate) set: CodeSet,
    /// The element's own codes, if the place allows only some of them.
    pub(crate) standard: Option<CodeSet>,
}

/// A syntax note over the elements that are there, element n as bit n - 1.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) first: u64,
    pub(crate) all: u64,
    /// Name for messages, and its elements in order.
    pub(crate) name: Box<str>,
    pub(crate) elements: Vec<u8>,
}

impl Note {
    /// Returns true if the note is satisfied.
    pub(crate) fn holds(&self, present: u64) -> bool {
        self.kind.holds(self.first, self.all, present)
    }
}

impl NoteKind {
    /// Returns true if a note is satisfied by the bitmap of present elements, given the bits of its first and of all its elements.
    #[inline(always)]
    pub(crate) fn holds(self, first: u64, all: u64, present: u64) -> bool {
        let these = present & all;
        let others = these & !first;
        let first = present & first != 0;
        match self {
            NoteKind::AllOrNone => these == 0 || these == all,
            NoteKind::OneOrMore => these != 0,
            NoteKind::OneOrNone => these & these.wrapping_sub(1) == 0,
            NoteKind::ExactlyOne => these != 0 && these & these.wrapping_sub(1) == 0,
            NoteKind::IfFirstThenAll => !first || these == all,
            NoteKind::IfFirstThenOne => !first || others != 0,
            NoteKind::IfFirstThenNone => !first || others == 0,
        }
    }
}

/// Tables for all segments of the structure.
pub(super) fn build(guide: &Guide, uses: &[Option<&SegmentUse>], items: &[CompiledItem]) -> Layouts {
    let mut maker = Maker {
        guide,
        made: Layouts { names: vec!["".into()], ..Layouts::default() },
        names: BTreeMap::new(),
        lists: BTreeMap::new(),
        these: BTreeMap::new(),
        rows: BTreeMap::new(),
        notes: BTreeMap::new(),
        layouts: BTreeMap::new(),
    };
    maker.made.of_item = vec![0; items.len()];
    // Item 0 has a layout that nothing uses.
    maker.made.layouts.push(Layout { specs: (0, 0), notes: (0, 0), last_mandatory: 0 });
    for (i, segment) in uses.iter().enumerate() {
        if let Some(segment) = segment {
            maker.made.of_item[i] = maker.layout(segment);
        }
    }
    maker.made.cells = cell::build(&maker.made);
    maker.made
}

struct Maker<'g> {
    guide: &'g Guide,
    made: Layouts,
    names: BTreeMap<&'g str, u32>,
    /// Code sets by name of the list.
    lists: BTreeMap<&'g str, u32>,
    /// Code sets by their values and the element's own list.
    these: BTreeMap<(Vec<&'g str>, Option<*const ()>), u32>,
    rows: BTreeMap<Vec<Spec>, u32>,
    notes: BTreeMap<(String, Vec<u8>), u32>,
    layouts: BTreeMap<Layout, u32>,
}

impl<'g> Maker<'g> {
    fn layout(&mut self, segment: &'g SegmentUse) -> u32 {
        let Some(def) = self.guide.dictionary.segments.get(&segment.tag) else { return 0 };
        let mut row: Vec<Spec> = Vec::with_capacity(def.elements.len());
        for (i, usage) in def.elements.iter().enumerate() {
            let mut spec = match &usage.of {
                ElementOf::Element(_) => match effective::element(self.guide, segment, i + 1, 0) {
                    Some(effective) => self.simple(&effective),
                    None => self.anything(usage),
                },
                ElementOf::Composite(id) => self.composite(segment, i + 1, id, usage),
            };
            if i > 0 && spec.form == Form::Text && self.is(&spec, "1251") && self.is(&row[i - 1], "1250") {
                spec.form = Form::X12Period;
            }
            row.push(spec);
        }
        let last_mandatory = row.iter().rposition(|spec| spec.mandatory).map_or(0, |last| small(last + 1));
        let specs = self.row(row);
        let notes = segment.notes.as_ref().unwrap_or(&def.notes);
        let notes = self.note_range(notes, &segment.tag);
        let layout = Layout { specs, notes, last_mandatory };
        let made = &mut self.made.layouts;
        *self.layouts.entry(layout).or_insert_with(|| {
            made.push(layout);
            small(made.len() - 1)
        })
    }

    fn is(&self, spec: &Spec, number: &str) -> bool {
        &*self.made.names[spec.number as usize] == number
    }

    fn simple(&mut self, effective: &Effective<'g>) -> Spec {
        let form = match (effective.data_type, self.guide.standard) {
            (DataType::Text | DataType::Identifier | DataType::Alphanumeric, _) => Form::Text,
            (DataType::Implied(_), _) => Form::Integer,
            (DataType::Decimal | DataType::Number, _) => Form::Decimal,
            (DataType::Date, _) => Form::Date,
            (DataType::Time, _) => Form::Time,
            (DataType::Letters, Standard::X12 | Standard::Edifact) => Form::Letters,
            (DataType::Binary, _) => Form::Binary,
        };
        Spec {
            form,
            mandatory: effective.requirement == Requirement::Mandatory,
            not_used: effective.requirement == Requirement::NotUsed,
            min: effective.min,
            max: effective.max,
            codes: self.codes(effective.codes),
            repeat: effective.repeat.unwrap_or(u32::MAX),
            components: (0, 0),
            notes: (0, 0),
            number: self.name(effective.number),
            name: self.name(effective.name.unwrap_or("")),
        }
    }

    /// Returns the spec of an element that the dictionary lacks; `check` has reported it.
    fn anything(&mut self, usage: &'g ElementUse) -> Spec {
        Spec {
            form: Form::Binary,
            mandatory: usage.requirement == Requirement::Mandatory,
            not_used: usage.requirement == Requirement::NotUsed,
            min: 0,
            max: u32::MAX,
            codes: 0,
            repeat: usage.repeat.unwrap_or(u32::MAX),
            components: (0, 0),
            notes: (0, 0),
            number: 0,
            name: 0,
        }
    }

    fn composite(&mut self, segment: &'g SegmentUse, number: usize, id: &'g str, usage: &'g ElementUse) -> Spec {
        let mut spec = self.anything(usage);
        let Some(def) = self.guide.dictionary.composites.get(id) else { return spec };
        spec.form = Form::Composite;
        spec.number = self.name(id);
        spec.name = self.name(usage.name.as_deref().or(def.name.as_deref()).unwrap_or(""));
        for change in &segment.changes {
            if usize::from(change.element) == number && change.component == 0 {
                if let Some(requirement) = change.requirement {
                    spec.mandatory = requirement == Requirement::Mandatory;
                    spec.not_used = requirement == Requirement::NotUsed;
                }
                spec.repeat = change.repeat.unwrap_or(spec.repeat);
                if let Some(name) = &change.name {
                    spec.name = self.name(name);
                }
            }
        }
        let mut row = Vec::with_capacity(def.components.len());
        for (i, component) in def.components.iter().enumerate() {
            let made = match effective::element(self.guide, segment, number, i + 1) {
                Some(effective) => self.simple(&effective),
                None => self.anything(component),
            };
            row.push(made);
        }
        for i in 0..row.len() {
            let format = i + 1 < row.len() && self.is(&row[i + 1], "2379");
            if format && row[i].form == Form::Text && self.is(&row[i], "2380") {
                row[i].form = Form::EdifactPeriod;
            }
            // C001 of X12 is not a date; 1250 and 1251 are adjacent in composites as well.
            if i > 0 && row[i].form == Form::Text && self.is(&row[i], "1251") && self.is(&row[i - 1], "1250") {
                row[i].form = Form::X12Period;
            }
        }
        spec.components = self.row(row);
        spec.notes = self.note_range(&def.notes, id);
        spec
    }

    /// Returns the range of a row of specs; equal rows share one.
    fn row(&mut self, row: Vec<Spec>) -> (u32, u32) {
        let len = small(row.len());
        let start = match self.rows.get(&row) {
            Some(start) => *start,
            None => {
                let start = small(self.made.specs.len());
                self.made.specs.extend_from_slice(&row);
                self.rows.insert(row, start);
                start
            }
        };
        (start, start + len)
    }

    fn note_range(&mut self, notes: &[SyntaxNote], owner: &str) -> (u32, u32) {
        let names: Vec<String> = notes.iter().map(note_name).collect();
        let key = (format!("{owner} {}", names.join(" ")), vec![]);
        let start = match self.notes.get(&key) {
            Some(start) => *start,
            None => {
                let start = small(self.made.notes.len());
                for (note, name) in notes.iter().zip(names) {
                    let bit = |number: &u8| if (1..=64).contains(number) { 1u64 << (number - 1) } else { 0 };
                    self.made.notes.push(Note {
                        kind: note.kind,
                        first: note.elements.first().map_or(0, bit),
                        all: note.elements.iter().map(bit).fold(0, |all, one| all | one),
                        name: name.into(),
                        elements: note.elements.clone(),
                    });
                }
                self.notes.insert(key, start);
                start
            }
        };
        (start, start + small(notes.len()))
    }

    fn codes(&mut self, allowed: Allowed<'g>) -> u32 {
        match allowed {
            Allowed::Any => 0,
            Allowed::List(_, list) if list.open => 0,
            Allowed::List(name, list) => {
                let made = &mut self.made.code_sets;
                *self.lists.entry(name).or_insert_with(|| {
                    let codes = list.codes.iter().map(|code| (code.value.as_str(), code.from, code.until));
                    made.push(Allowance { set: CodeSet::new(codes), standard: None });
                    small(made.len())
                })
            }
            Allowed::These(values, list) => {
                let key = (
                    values.iter().map(String::as_str).collect::<Vec<_>>(),
                    list.map(|list| core::ptr::from_ref(list).cast::<()>()),
                );
                let made = &mut self.made.code_sets;
                *self.these.entry(key).or_insert_with(|| {
                    let days = |value: &str| {
                        let code = list.and_then(|list| list.codes.iter().find(|code| code.value == value));
                        code.map_or((None, None), |code| (code.from, code.until))
                    };
                    let codes = values.iter().map(|value| {
                        let (from, until) = days(value);
                        (value.as_str(), from, until)
                    });
                    let set = CodeSet::new(codes);
                    let standard = list
                        .filter(|list| !list.open)
                        .map(|list| CodeSet::new(list.codes.iter().map(|code| (code.value.as_str(), None, None))));
                    made.push(Allowance { set, standard });
                    small(made.len())
                })
            }
        }
    }

    fn name(&mut self, name: &'g str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let names = &mut self.made.names;
        *self.names.entry(name).or_insert_with(|| {
            names.push(name.into());
            small(names.len() - 1)
        })
    }
}

stored!(struct Layouts { of_item, layouts, specs, notes, code_sets, names, cells });
stored!(struct Layout { specs, notes, last_mandatory });
stored!(struct Spec { form, mandatory, not_used, min, max, codes, repeat, components, notes, number, name });
stored!(enum Form {
    0 Text, 1 Decimal, 2 Integer, 3 Date, 4 Time, 5 Letters, 6 Binary, 7 X12Period, 8 EdifactPeriod, 9 Composite,
});
stored!(struct Allowance { set, standard });
stored!(struct Note { kind, first, all, name, elements });
