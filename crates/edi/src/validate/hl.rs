//! HL segments: numbers, parents and children, if a guide nests their loops. `hl_flat.rs` has the consecutive ones.

use super::hl_flat::FlatHl;
use crate::content_error::ContentErrorKind as Kind;
use crate::guide::compile::{CompiledGuide, ItemId};
use crate::guide::walk::{Mark, StructureFault, StructureKind};
use crate::segment::Segment;

/// Follows the HL segments of a transaction.
///
/// Source: X12.22, segment HL; the TR3 guides: HL01 counts from 1, HL02 is the HL01 of the parent level, HL04 states whether a lower level
/// follows.
#[derive(Clone, Debug, Default)]
pub(super) struct HlCheck {
    /// HL01, and the number that it should have had, by level.
    open: Vec<(u64, u64)>,
    counted: u64,
    last: u64,
    /// An HL is missing or superfluous, so numbers prove nothing until the next outermost one.
    unsure: bool,
    before: Option<Before>,
    flat: FlatHl,
}

/// The HL before.
#[derive(Clone, Copy, Debug)]
struct Before {
    item: ItemId,
    level: u8,
    at: Mark,
    /// Value of HL04.
    child: Option<bool>,
}

/// An HL segment at its place.
#[derive(Debug)]
pub(super) struct Level<'x, 's> {
    pub(super) item: ItemId,
    /// Levels of HL around it and its own.
    pub(super) level: u8,
    pub(super) segment: &'x Segment<'s>,
    pub(super) at: Mark,
    pub(super) doubtful: bool,
    /// Elements that have findings already, element n as bit n.
    pub(super) told: u64,
}

/// A fault of an HL segment.
#[derive(Debug)]
pub(super) struct HlFault {
    pub(super) kind: Kind,
    pub(super) item: ItemId,
    pub(super) at: Mark,
    pub(super) element: usize,
}

impl HlCheck {
    pub(super) fn start(&mut self) {
        self.open.clear();
        self.flat.start();
        let (open, flat) = (core::mem::take(&mut self.open), core::mem::take(&mut self.flat));
        *self = HlCheck { open, flat, ..HlCheck::default() };
    }

    /// Checks the next HL.
    pub(super) fn segment(&mut self, guide: &CompiledGuide, this: &Level<'_, '_>) -> Vec<HlFault> {
        if let Some(levels) = guide.flat_levels() {
            return self.flat.segment(levels, this);
        }
        let mut faults = Vec::new();
        let value = |element: usize| value(this.segment, element);
        let told = |element: usize| this.told & 1 << element != 0;
        let mut tell = |kind, element| faults.push(HlFault { kind, item: this.item, at: this.at, element });
        let number = parse(value(1));
        self.counted += 1;
        let ordinal = self.counted;
        self.unsure = this.doubtful || (self.unsure && this.level > 1);
        if let Some(number) = number {
            if !self.unsure && number != ordinal && number != self.last + 1 && !told(1) {
                tell(Kind::HlNumber { expected: ordinal }, 1);
            } else {
                self.counted = number;
            }
            self.last = number;
        } else if !self.unsure && !told(1) {
            tell(Kind::HlNumber { expected: ordinal }, 1);
        }
        self.open.truncate(usize::from(this.level) - 1);
        if !self.unsure && !told(2) {
            let above = (this.level > 1).then(|| self.open.last()).flatten();
            let given = value(2);
            match above {
                None if !given.is_empty() => tell(Kind::HlParent { expected: None }, 2),
                Some((declared, counted)) => {
                    let given = parse(given);
                    if given != Some(*declared) && given != Some(*counted) {
                        tell(Kind::HlParent { expected: Some(*declared) }, 2);
                    }
                }
                None => {}
            }
        }
        self.open.push((number.unwrap_or(ordinal), ordinal));
        if let Some(before) = self.before.filter(|_| !self.unsure) {
            faults.extend(child_fault(before, this.level > before.level));
        }
        let child = match value(4) {
            b"1" if !told(4) => Some(true),
            b"0" if !told(4) => Some(false),
            _ => None,
        };
        self.before = Some(Before { item: this.item, level: this.level, at: this.at, child });
        faults
    }

    /// Ends the transaction.
    pub(super) fn end(&mut self) -> Vec<HlFault> {
        let last = self.before.take().filter(|_| !self.unsure);
        let mut faults = self.flat.end();
        faults.extend(last.and_then(|last| child_fault(last, false)));
        faults
    }

    /// Records a fault of the structure.
    pub(super) fn structure(&mut self, guide: &CompiledGuide, fault: &StructureFault) {
        let is_hl = |tag: [u8; 3]| &tag == b"HL ";
        let opens_level = |item: ItemId| {
            guide.hl_level(item) > 0
                || guide.items().get(item.index() + 1).is_some_and(|_| guide.hl_level(ItemId(item.0 + 1)) > 0)
        };
        let doubt = match fault.kind {
            StructureKind::Unknown(..) | StructureKind::Undefined(..) => true,
            StructureKind::Unexpected(tag, _) => is_hl(tag),
            StructureKind::OutOfSequence(item)
            | StructureKind::TooMany(item)
            | StructureKind::LoopTooMany(item)
            | StructureKind::NotUsed(item)
            | StructureKind::Missing(item)
            | StructureKind::LoopMissing(item)
            | StructureKind::Qualifier(item, _) => opens_level(item),
        };
        self.unsure |= doubt;
        self.flat.doubt(doubt);
    }
}

fn child_fault(before: Before, has: bool) -> Option<HlFault> {
    let Before { item, at, child, .. } = before;
    (child? != has).then_some(HlFault { kind: Kind::HlChild { has }, item, at, element: 4 })
}

pub(super) fn value<'a>(segment: &Segment<'a>, element: usize) -> &'a [u8] {
    segment.element(element).map_or(&b""[..], |element| element.raw())
}

pub(super) fn parse(digits: &[u8]) -> Option<u64> {
    let good = (1..=12).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    good.then(|| digits.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}
