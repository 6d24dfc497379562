//! Two segments in one, because the terminator between them is missing.
//!
//! The guide refuses such a segment, because it has elements of another. Quayline looks for an element that ends with a tag and reads two
//! segments if both parts are valid: the part before the tag at the place of the segment, and the part from the tag on at a place that the
//! guide has next. Then the missing terminator is the only fault.

use quayline_core::Severity;

use super::explain::{ElementFault, Explanation};
use super::{ValidationLevel, Validator, count, loop_id};
use crate::delimiters::Standard;
use crate::envelope::EnvelopePass;
use crate::fault::{EdiError, EdiFault, FaultContext};
use crate::guide::compile::{ItemId, tag_key};
use crate::guide::walk::Mark;
use crate::guide::{CompiledGuide, Placement};
use crate::segment::Segment;
use quayline_charset::Ends;

/// Maximum number of tags that are tried in one segment. It bounds the cost of data in which tags end many elements.
const TRIED_MAX: usize = 8;

/// Division of a segment into two.
struct Cut {
    /// Number of the element that ends with the tag.
    element: usize,
    /// True if a line break precedes the tag. Values do not have line breaks, so the segment is two even if the guide accepts it as one.
    broken: bool,
    /// Ends of the tag and elements of the first segment.
    head: Vec<u32>,
    /// Beginning of the second segment. `tail` has the ends of its tag and elements.
    begin: u32,
    tail: Vec<u32>,
}

impl Validator {
    /// Returns the position in bytes at which a second segment begins in the segment that was checked last, if it has one. The caller then ignores a
    /// line break between the two ([`EnvelopePass::take_break_back`]). When it has finished with the first, it ends that segment there
    /// ([`EnvelopePass::end_segment_at`]), and the second follows. Without these calls, both are read as one.
    pub fn take_cut(&mut self) -> Option<usize> {
        self.cut.take()
    }

    /// Checks a segment as two if its elements are wrong. Returns false if it is one. The caller's quick check refuses some valid segments too.
    #[cold]
    #[inline(never)]
    pub(super) fn is_two(&mut self, pass: &EnvelopePass<'_>, placement: Placement, at: Mark) -> bool {
        let segment = pass.segment();
        let Some(item) = placement.item.filter(|_| !segment.binary && pass.source().is_none()) else { return false };
        let Some(walk) = self.walk.as_ref().filter(|walk| !walk.is_open()) else { return false };
        let guide = std::sync::Arc::clone(walk.guide());
        let Some(cut) = self.cut_of(&guide, item, &segment, pass, at) else { return false };
        // A segment that the guide accepts as it is, for example one with repetitions, is not two.
        if !cut.broken && self.is_right(&guide, item, &segment) {
            return false;
        }
        let head = part(&segment, segment.start, &cut.head);
        let Some(head) = head else { return false };
        let tag = &segment.text[cut.begin as usize..cut.tail[0] as usize];
        self.cut = Some((cut.begin - segment.start) as usize);
        if self.left > 0 {
            self.left -= 1;
            let error = EdiError::TerminatorMissing {
                tag: tag.iter().map(|byte| char::from(*byte)).collect::<String>().into(),
            };
            let context = FaultContext {
                tag: guide.item(item).id.to_string(),
                loop_id: loop_id(&guide, item),
                ..FaultContext::default()
            };
            let at = self.at(at).element(count(cut.element));
            self.faults.push(EdiFault { error, at, severity: Severity::Error, context: Some(Box::new(context)) });
        } else {
            self.more += 1;
        }
        let level = guide.hl_level(item);
        if level > 0 {
            self.level(item, level, placement, &head, at);
        }
        if self.rules.matters(&placement) {
            self.rule(placement, &head, at, true);
        }
        true
    }

    fn cut_of(
        &self,
        guide: &CompiledGuide,
        item: ItemId,
        segment: &Segment<'_>,
        pass: &EnvelopePass<'_>,
        at: Mark,
    ) -> Option<Cut> {
        let ends = segment.ends.positions();
        let mut tried = 0;
        for element in 1..segment.len() {
            let (first, end) = (ends[element - 1] + 1, ends[element]);
            let text = &segment.text[first as usize..end as usize];
            for len in [3, 2] {
                let Some(tag) = text.len().checked_sub(len).map(|from| &text[from..]) else { continue };
                let is_tag = tag[0].is_ascii_uppercase()
                    && tag.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
                if !is_tag || tried >= TRIED_MAX {
                    continue;
                }
                let is_trailer = is_trailer(segment, tag, element, pass);
                let tags = &guide.transitions.tags;
                if !is_trailer && tags.number(tag_key(tag)).is_none_or(|number| number as usize >= tags.count) {
                    continue;
                }
                tried += 1;
                let before = &text[..text.len() - len];
                let kept = before.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
                // A release character applies to data, so no tag begins after it.
                if segment.delimiters.release.is_some() && before.last().copied() == segment.delimiters.release {
                    continue;
                }
                let mut head = ends[..element].to_vec();
                if kept > 0 {
                    head.push(first + count(kept));
                } else if element == 1 {
                    continue;
                }
                let begin = end - count(len);
                let broken = kept < before.len();
                let cut = Cut { element, broken, head, begin, tail: ends[element..].to_vec() };
                if self.is_right(guide, item, &part(segment, segment.start, &cut.head)?)
                    && (is_trailer || self.is_next(guide, &part(segment, begin, &cut.tail)?, at))
                {
                    return Some(cut);
                }
            }
        }
        None
    }

    /// Returns true if the elements of a segment are valid at a place.
    fn is_right(&self, guide: &CompiledGuide, item: ItemId, segment: &Segment<'_>) -> bool {
        let mut found: Vec<ElementFault> = Vec::new();
        let explanation = Explanation {
            tables: &guide.layouts,
            layout: guide.layouts.of_item[item.index()],
            segment,
            settings: self.settings,
            notes: self.options.level >= ValidationLevel::Notes,
        };
        explanation.explain(&mut found);
        found.iter().all(|fault| fault.kind.is_warning())
    }

    /// Returns true if a segment is valid after the one that was placed last.
    fn is_next(&self, guide: &CompiledGuide, segment: &Segment<'_>, at: Mark) -> bool {
        let Some(mut walk) = self.walk.clone() else { return false };
        let next = walk.place(segment, Mark { byte: at.byte, segment: at.segment + 1 });
        next.item.is_some_and(|item| !next.doubtful && self.is_right(guide, item, segment))
    }
}

/// Returns true if a tag at the end of an element begins the trailer of the transaction, with a count and the control number of the header.
fn is_trailer(segment: &Segment<'_>, tag: &[u8], element: usize, pass: &EnvelopePass<'_>) -> bool {
    let trailer: &[u8] = if segment.delimiters.standard == Standard::X12 { b"SE" } else { b"UNT" };
    let rest: Vec<&[u8]> = segment.raw_elements().skip(element).collect();
    match rest[..] {
        [declared, control] => {
            tag == trailer
                && !declared.is_empty()
                && declared.iter().all(u8::is_ascii_digit)
                && *control == *pass.transaction().control_number()
        }
        _ => false,
    }
}

/// Returns a part of a segment as a separate segment.
fn part<'a>(segment: &Segment<'a>, start: u32, ends: &'a [u32]) -> Option<Segment<'a>> {
    let last = *ends.last()?;
    let within = |positions: &'a [u32]| {
        let first = positions.partition_point(|at| *at < start);
        &positions[first..positions.partition_point(|at| *at < last).max(first)]
    };
    let own_tag = if start == segment.start { segment.own_tag } else { &[] };
    let (parts, marks) = (within(segment.parts), within(segment.marks));
    Some(Segment { own_tag, start, ends: Ends::new(ends)?, parts, marks, ..*segment })
}
