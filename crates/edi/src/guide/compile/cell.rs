//! Compact form of the tables of [`super::layout`], reduced to what the check of valid data needs.

use quayline_core::stored;

use super::layout::{Form, Layouts, Spec};
use crate::guide::model::NoteKind;

/// Tables for the check of valid data.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// Rows by layout.
    pub(crate) rows: Vec<Row>,
    /// Cells, indexed as `Layouts::specs`.
    pub(crate) cells: Vec<Cell>,
    /// Rows of composites, by `Cell::more`.
    pub(crate) composites: Vec<Row>,
    /// Notes, indexed as `Layouts::notes`.
    notes: Vec<NoteMask>,
}

/// The elements of a segment, or the components of a composite.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    cells: (u32, u32),
    notes: (u32, u32),
    /// Element n as bit n - 1.
    mandatory: u64,
    /// Some that must be there have no bit.
    beyond: bool,
}

/// An element or a component.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// Shortest and longest, as the longest less the shortest.
    min: u32,
    span: u32,
    /// Number of its codes, or of a composite's row.
    pub(crate) more: u32,
    pub(crate) way: Way,
    pub(crate) form: Form,
}

/// Method of checking a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Way {
    /// Length.
    Length,
    /// Length, and not only spaces: a mandatory text.
    Filled,
    /// Length, and one of some codes.
    Code,
    /// Form.
    Form,
    /// Form, and one of some codes.
    FormAndCode,
    /// Components.
    Composite,
    /// Form given by the next component, and one of some codes if there are any.
    EdifactPeriod,
    /// No value is valid.
    Never,
}

/// A syntax note.
#[derive(Clone, Copy, Debug)]
struct NoteMask {
    first: u64,
    all: u64,
    kind: NoteKind,
}

impl Cell {
    /// Returns true if a value with this number of characters or digits is neither too short nor too long.
    #[inline(always)]
    pub(crate) fn fits(&self, len: usize) -> bool {
        len.wrapping_sub(self.min as usize) <= self.span as usize
    }

    /// Returns the minimum number of characters or digits.
    #[inline(always)]
    pub(crate) fn min(&self) -> u32 {
        self.min
    }

    fn of(spec: &Spec, composites: &mut Vec<Row>, specs: &[Spec]) -> Self {
        let mut cell = Cell {
            min: spec.min,
            span: spec.max.saturating_sub(spec.min),
            more: spec.codes.wrapping_sub(1),
            way: Way::Form,
            form: spec.form,
        };
        cell.way = match (spec.form, spec.codes > 0) {
            _ if spec.not_used => Way::Never,
            (Form::Composite, _) => {
                cell.more = super::small(composites.len());
                composites.push(Row::of(spec.components, spec.notes, specs));
                Way::Composite
            }
            _ if spec.max < spec.min => Way::Never,
            (Form::Text, false) if spec.mandatory => Way::Filled,
            (Form::Text | Form::Binary, false) => Way::Length,
            (Form::Text | Form::Binary, true) => Way::Code,
            (Form::EdifactPeriod, _) => Way::EdifactPeriod,
            (_, false) => Way::Form,
            (_, true) => Way::FormAndCode,
        };
        cell
    }
}

impl Row {
    fn of(cells: (u32, u32), notes: (u32, u32), specs: &[Spec]) -> Self {
        let these = &specs[cells.0 as usize..cells.1 as usize];
        let bit = |number| 1u64.checked_shl(super::small(number));
        let mandatory = || these.iter().enumerate().filter(|(_, spec)| spec.mandatory).map(|(number, _)| bit(number));
        Row {
            cells,
            notes,
            mandatory: mandatory().flatten().fold(0, |bits, bit| bits | bit),
            beyond: mandatory().any(|bit| bit.is_none()),
        }
    }

    #[inline(always)]
    pub(crate) fn cells<'c>(&self, tables: &'c Cells) -> &'c [Cell] {
        &tables.cells[self.cells.0 as usize..self.cells.1 as usize]
    }

    /// Returns true if all mandatory elements are in the bitmap of present ones, and all notes are satisfied.
    #[inline(always)]
    pub(crate) fn allows(&self, tables: &Cells, present: u64) -> bool {
        let notes = &tables.notes[self.notes.0 as usize..self.notes.1 as usize];
        self.mandatory & !present == 0
            && !self.beyond
            && notes.iter().all(|note| note.kind.holds(note.first, note.all, present))
    }
}

/// Makes them of the full tables.
pub(super) fn build(layouts: &Layouts) -> Cells {
    let mut composites = Vec::new();
    let cells = layouts.specs.iter().map(|spec| Cell::of(spec, &mut composites, &layouts.specs)).collect();
    let row = |layout: &super::layout::Layout| Row::of(layout.specs, layout.notes, &layouts.specs);
    let note = |note: &super::layout::Note| NoteMask { first: note.first, all: note.all, kind: note.kind };
    Cells {
        rows: layouts.layouts.iter().map(row).collect(),
        cells,
        composites,
        notes: layouts.notes.iter().map(note).collect(),
    }
}

stored!(struct Cells { rows, cells, composites, notes });
stored!(struct Row { cells, notes, mandatory, beyond });
stored!(struct Cell { min, span, more, way, form });
stored!(enum Way { 0 Length, 1 Code, 2 Form, 3 FormAndCode, 4 Composite, 5 EdifactPeriod, 6 Never, 7 Filled });
stored!(struct NoteMask { first, all, kind });
