//! Validation of transactions by their guides.

mod characters;
mod day;
mod element;
mod event;
mod explain;
mod hl;
mod hl_flat;
#[cfg(test)]
mod law_tests;
mod merged;
mod options;
mod rules;
mod segment;

use std::sync::Arc;

use quayline_core::{ByteOffset, Severity};

use crate::characters::Characters;
pub use crate::content_error::{BrokenRule, ContentError, ContentErrorKind, RuleSubject};
use crate::delimiters::Standard;
use crate::envelope::{Closed, EnvelopePass, Header};
use crate::fault::{EdiError, EdiFault, FaultContext};
use crate::guide::compile::{ItemId, ItemKind, reference};
use crate::guide::rules::Asks;
use crate::guide::walk::{Mark, StructureFault, StructureKind};
use crate::guide::{Asked, CompiledGuide, GuideSet, Placement, Walk, acknowledgment_guide};
use crate::position::Position;
use crate::segment::Segment;
pub use characters::CharacterRules;
use characters::{AsciiControls, CharacterCheck};
pub(crate) use element::{Numbers, Settings};
pub use event::EventCheck;
pub(crate) use explain::value_fault;
use explain::{ElementFault, Explanation};
use hl::{HlCheck, Level};
pub use options::{ValidationLevel, ValidatorOptions};
use rules::{RuleFault, RuleRun};

/// Validates transactions by their guides, in one pass and without an allocation per segment of valid data.
///
/// Pass it the events of an [`crate::EnvelopeReader`]: [`Validator::begin`] at the start of a transaction, [`Validator::segment`] for each of its
/// segments, [`Validator::end`] at its end. [`Validator::take_faults`] returns each fault once: for a segment without a place,
/// the following segments show the intended meaning, so a finding may come some segments after its place.
#[derive(Clone, Debug)]
pub struct Validator {
    options: ValidatorOptions,
    /// Walk through the guide that was used last.
    walk: Option<Walk>,
    /// The transaction that is open has a guide.
    active: bool,
    settings: Settings,
    characters: CharacterCheck,
    /// Position of the transaction's header.
    base: Position,
    standard: Standard,
    hl: HlCheck,
    rules: RuleRun,
    /// Elements of an HL segment that have findings, element n as bit n.
    told: u64,
    explained: Vec<ElementFault>,
    faults: Vec<EdiFault>,
    /// What is wrong with the elements of segments whose place is not decided.
    held: Vec<Held>,
    /// Position in the last checked segment, in bytes, at which another segment begins.
    cut: Option<usize>,
    left: usize,
    more: u64,
}

/// Faults of the elements of a segment at one possible place.
#[derive(Clone, Debug)]
struct Held {
    segment: u64,
    item: ItemId,
    faults: Vec<EdiFault>,
}

impl Validator {
    /// Makes ready.
    #[must_use]
    pub fn new(options: ValidatorOptions) -> Self {
        Validator {
            left: options.findings_max,
            options,
            walk: None,
            active: false,
            settings: Settings::default(),
            characters: CharacterCheck::default(),
            base: Position::default(),
            standard: Standard::X12,
            hl: HlCheck::default(),
            rules: RuleRun::default(),
            told: 0,
            explained: Vec::new(),
            faults: Vec::new(),
            held: Vec::new(),
            cut: None,
            more: 0,
        }
    }

    /// A transaction begins; `guide` is what it is checked by, if there is one.
    ///
    /// Dated codes are checked against the day of the options, or else of the group, or else of the interchange.
    pub fn begin(&mut self, guide: Option<&Arc<CompiledGuide>>, pass: &EnvelopePass<'_>) {
        self.active = false;
        self.cut = None;
        self.characters = CharacterCheck::of(self.options.characters, pass);
        let Some(guide) = guide.filter(|_| self.options.level > ValidationLevel::Envelope) else { return };
        self.active = true;
        let same = self.walk.as_ref().is_some_and(|walk| Arc::ptr_eq(walk.guide(), guide));
        if !same {
            self.walk = Some(Walk::new(Arc::clone(guide)));
        }
        if let Some(walk) = &mut self.walk {
            walk.start();
        }
        let day = self.options.day.or_else(|| {
            let of_group = pass.group().and_then(|group| day_of(&group.field("date")));
            of_group.or_else(|| day_of(&pass.interchange().field("date")))
        });
        let delimiters = pass.interchange().delimiters();
        // From syntax 4 on, comma and point are equivalent, and the decimal mark of UNA is ignored (ISO 9735-1).
        let is_either =
            delimiters.standard == Standard::Edifact && pass.interchange().field("syntax_version")[..] >= b"4"[..];
        let mark = if is_either { b',' } else { delimiters.decimal_mark };
        let single_byte = Characters::of(pass.interchange(), self.options.characters.named()).has_declared_bytes();
        self.settings = Settings { day, numbers: Numbers { mark, standard: delimiters.standard }, single_byte };
        self.standard = delimiters.standard;
        self.base = pass.transaction().position();
        self.hl.start();
        self.held.clear();
        self.told = 0;
        let at = Mark { byte: self.base.byte.0, segment: self.base.segment };
        if self.options.level >= ValidationLevel::Rules {
            self.rules.start(guide, self.settings, at);
        }
    }

    /// Begins a transaction and returns its guide: the one of `guides` that its headers request, or, for an acknowledgment, a built-in guide.
    /// If there are guides but none matches, this is a fault of the pass.
    pub fn begin_by(&mut self, guides: Option<&GuideSet>, pass: &mut EnvelopePass<'_>) -> Option<Arc<CompiledGuide>> {
        if !self.is_for_guides() {
            self.begin(None, pass);
            return None;
        }
        let header = pass.transaction();
        let chosen = guides.and_then(|guides| Some((guides, guides.choose(header, pass.group())?)));
        // Acknowledgments have built-in guides. A guide that a user wrote takes precedence. One that comes from a schema does for a longer version,
        // and one from a dictionary of a whole standard never: dictionaries contain less about acknowledgments than the built-in guides.
        let shipped = acknowledgment_guide(header, pass.group());
        let chosen = chosen.filter(|(guides, number)| {
            let is_longer =
                |shipped: &Arc<CompiledGuide>| guides.compiled(*number).version().len() > shipped.version().len();
            shipped.is_none_or(|shipped| {
                guides.guide(*number).source.is_none() || is_longer(shipped) && !guides.is_from_dictionary(*number)
            })
        });
        if let Some(guide) = chosen.map(|(guides, number)| guides.compiled(number)).or(shipped) {
            let guide = Arc::clone(guide);
            self.begin(Some(&guide), pass);
            return Some(guide);
        }
        // Without a group or its version, no guide can be found. The fault of the group is the only one.
        let guides = guides.filter(|_| !Asked::of(header, pass.group()).versions.is_empty());
        let fault = guides.map(|guides| (guides.none_for(header, pass.group()), header.position()));
        // If the group is of another kind, the guide is still unambiguous.
        let other =
            guides.and_then(|guides| Some(guides.compiled(guides.choose_of_another_group(header, pass.group())?)));
        self.begin(other, pass);
        if let Some((error, at)) = fault {
            pass.put_fault(error, at);
        }
        other.cloned()
    }

    /// Abandons the open transaction, which was discarded: nothing of it is checked or reported.
    pub(crate) fn abandon(&mut self) {
        self.active = false;
        self.faults.clear();
        self.held.clear();
        self.rules.stop();
    }

    /// Validates the next segment of the transaction.
    #[inline(always)]
    pub fn segment(&mut self, pass: &EnvelopePass<'_>) -> Placement {
        let placement = self.place(pass);
        self.check(pass, placement);
        placement
    }

    /// Returns the fault of the segment's characters with its position, if the options request the check. Each kind is reported once in a
    /// transaction, with a guide or without.
    #[inline(always)]
    pub fn characters(&mut self, pass: &EnvelopePass<'_>) -> Option<(EdiError, Position)> {
        let ascii = if self.active { AsciiControls::OfElements } else { AsciiControls::Here };
        self.characters.look(&pass.segment(), ascii, || pass.position())
    }

    /// Places the next segment of the transaction; [`Validator::check`] or [`Validator::pass_over`] must follow.
    #[inline(always)]
    pub(crate) fn place(&mut self, pass: &EnvelopePass<'_>) -> Placement {
        let nowhere = Placement { item: None, left: 0, entered: 0, occurrence: 0, doubtful: false };
        // The rest of a truncated segment is neither valid nor faulty.
        let Some(walk) = self.walk.as_mut().filter(|_| self.active && !pass.is_cut()) else { return nowhere };
        let at = Mark { byte: pass.segment_byte(), segment: pass.segment_in_transaction() };
        walk.place(&pass.segment(), at)
    }

    /// Checks the segment that was placed last.
    #[inline(always)]
    pub(crate) fn check(&mut self, pass: &EnvelopePass<'_>, placement: Placement) {
        let Some(walk) = self.walk.as_ref().filter(|_| self.active && !pass.is_cut()) else { return };
        self.told = 0;
        let segment = pass.segment();
        let at = Mark { byte: pass.segment_byte(), segment: pass.segment_in_transaction() };
        let Some(item) = placement.item else {
            self.doubtful(placement, &segment, at, true);
            self.rule(placement, &segment, at, true);
            return;
        };
        let tables = &walk.guide().layouts;
        let layout = tables.of_item[item.index()];
        let level = walk.guide().hl_level(item);
        let mut right = segment::is_quickly_right(tables, layout, &segment, self.settings);
        if !right && !placement.doubtful && self.is_two(pass, placement, at) {
            return;
        }
        if placement.doubtful || !right {
            right = self.doubtful(placement, &segment, at, right);
        }
        if level > 0 {
            self.level(item, level, placement, &segment, at);
        }
        if self.rules.matters(&placement) {
            self.rule(placement, &segment, at, right);
        }
    }

    /// Skips a segment that another validator checks: updates only the state that later segments are checked against.
    #[inline(always)]
    pub(crate) fn pass_over(&mut self, pass: &EnvelopePass<'_>, placement: Placement) {
        let Some(walk) = self.walk.as_ref().filter(|_| self.active && !pass.is_cut()) else { return };
        let level = placement.item.map_or(0, |item| walk.guide().hl_level(item));
        if placement.doubtful || placement.item.is_none() || level > 0 || self.rules.matters(&placement) {
            self.check_unreported(pass, placement);
        }
    }

    /// Checks a segment that another validator checks too, which reports the faults. Those that depend on later segments stay here.
    #[cold]
    #[inline(never)]
    fn check_unreported(&mut self, pass: &EnvelopePass<'_>, placement: Placement) {
        let more = self.more;
        self.check(pass, placement);
        self.left += self.faults.len();
        self.more = more;
        self.faults.clear();
        self.cut = None;
    }

    /// Returns true if transactions are checked by guides at all.
    pub(crate) fn is_for_guides(&self) -> bool {
        self.options.level > ValidationLevel::Envelope
    }

    /// Ends the transaction, before its trailer or at a truncation.
    pub fn end(&mut self, closed: Closed, pass: &EnvelopePass<'_>) -> Placement {
        let nothing = Placement { item: None, left: 0, entered: 0, occurrence: 0, doubtful: false };
        let Some(walk) = self.walk.as_mut().filter(|_| self.active) else { return nothing };
        let at = Mark { byte: pass.segment_byte(), segment: pass.segment_in_transaction() };
        let placement = walk.finish_at(at);
        if closed == Closed::Unclosed {
            // Items after a truncation are not reported as missing.
            walk.forgive(at);
        }
        self.structure();
        if closed == Closed::ByTrailer {
            for fault in self.hl.end() {
                self.hl_fault(fault);
            }
        }
        if closed == Closed::ByTrailer {
            for fault in self.rules.end() {
                self.rule_fault(&fault);
            }
        }
        self.rules.stop();
        self.active = false;
        placement
    }

    /// Returns the findings since the last call, in file order.
    pub fn take_faults(&mut self) -> impl Iterator<Item = EdiFault> + '_ {
        self.faults.sort_by_key(|fault| (fault.at.byte, fault.at.element));
        self.faults.drain(..)
    }

    /// Returns true if there are findings.
    #[inline(always)]
    #[must_use]
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Findings beyond [`ValidatorOptions::findings_max`].
    #[must_use]
    pub fn faults_more(&self) -> u64 {
        self.more
    }

    /// Returns the walk of the open transaction, for its loops.
    #[must_use]
    pub fn walk(&self) -> Option<&Walk> {
        self.walk.as_ref().filter(|_| self.active)
    }

    /// Handles a segment that the quick check did not accept, or that follows a fault. Returns true if its elements are valid.
    #[cold]
    #[inline(never)]
    fn doubtful(&mut self, placement: Placement, segment: &Segment<'_>, at: Mark, right: bool) -> bool {
        self.structure();
        let Some(walk) = &self.walk else { return right };
        let guide = Arc::clone(walk.guide());
        let qualifier = walk.qualifier_fault(at);
        if !walk.is_open() {
            let item = placement.item.filter(|_| !right);
            return item.map_or(right, |item| self.elements((item, qualifier), &guide, segment, at));
        }
        let mut places: Vec<_> = walk.other_places(at).filter(|(other, _)| Some(*other) != placement.item).collect();
        places.sort_by_key(|(item, _)| *item);
        places.dedup_by_key(|(item, _)| *item);
        let before = core::mem::take(&mut self.faults);
        for place in places {
            self.elements(place, &guide, segment, at);
            self.hold(at, place.0);
        }
        // This check comes last, because it uses the reported faults.
        let good = placement.item.is_none_or(|item| {
            let good = self.elements((item, qualifier), &guide, segment, at);
            self.hold(at, item);
            good
        });
        self.faults = before;
        good
    }

    /// Holds the faults found at a place that is undecided.
    fn hold(&mut self, at: Mark, item: ItemId) {
        let faults = core::mem::take(&mut self.faults);
        if !faults.is_empty() {
            self.held.push(Held { segment: at.segment, item, faults });
        }
    }

    /// Reports the held faults of the reading that was decided.
    fn release(&mut self) {
        let Some(walk) = self.walk.as_ref().filter(|walk| !walk.is_open()) else { return };
        for held in self.held.drain(..) {
            if walk.is_decided(held.segment, held.item) {
                self.faults.extend(held.faults);
            } else {
                self.left += held.faults.len();
            }
        }
    }

    /// Reports the faults of a segment's elements at a place, with the qualifier because of which it has no other. Returns true if the elements are
    /// valid.
    fn elements(
        &mut self,
        (item, qualifier): (ItemId, Option<(usize, usize)>),
        guide: &CompiledGuide,
        segment: &Segment<'_>,
        at: Mark,
    ) -> bool {
        let mut explained = core::mem::take(&mut self.explained);
        explained.clear();
        let explanation = |item: ItemId| Explanation {
            tables: &guide.layouts,
            layout: guide.layouts.of_item[item.index()],
            segment,
            settings: self.settings,
            notes: self.options.level >= ValidationLevel::Notes,
        };
        explanation(item).explain(&mut explained);
        if qualifier.is_some() && segment.raw_elements().all(<[u8]>::is_empty) {
            // The segment is completely empty, and the structure reports the element that decides the place.
            explained.clear();
        } else if qualifier.is_some() {
            // The segment may have been meant as any of its kind: a value that is valid for one of them is not reported.
            let found = guide.item(item);
            let kin = guide.children(found.parent).filter(|kin| *kin != item && guide.item(*kin).id == found.id);
            for kin in kin.filter(|kin| guide.item(*kin).kind == ItemKind::Segment) {
                let mut of_kin = Vec::new();
                explanation(kin).explain(&mut of_kin);
                explained.retain(|fault| {
                    let same =
                        |other: &ElementFault| (other.element, other.component) == (fault.element, fault.component);
                    of_kin.iter().any(same)
                });
            }
        }
        self.told = explained.iter().fold(0, |told, fault| told | 1u64.checked_shl(count(fault.element)).unwrap_or(0));
        let good = explained.iter().all(|fault| fault.kind.is_warning());
        for fault in explained.drain(..) {
            // The structure reports a wrong qualifier.
            if qualifier != Some((fault.element, fault.component)) && qualifier != Some((fault.element, 1)) {
                self.element_fault(guide, item, segment, at, fault);
            }
        }
        self.explained = explained;
        good
    }

    /// Evaluates rules at a segment that they need, or that ends or begins loops.
    #[inline(never)]
    fn rule(&mut self, placement: Placement, segment: &Segment<'_>, at: Mark, right: bool) {
        for fault in self.rules.segment(&placement, segment, at, right) {
            self.rule_fault(&fault);
        }
    }

    #[cold]
    fn rule_fault(&mut self, fault: &RuleFault) {
        let Some(walk) = &self.walk else { return };
        let guide = Arc::clone(walk.guide());
        let rule = &guide.rules.rules[fault.rule];
        let found = guide.item(fault.item);
        let mut tag = found.id.clone();
        let (mut element, mut component) = (fault.element, fault.component);
        let about = match &rule.asks {
            Asks::Value => RuleSubject::Value,
            Asks::Presence { there, tag: asked, element: e, component: c } => {
                if asked == &tag || *e == 0 {
                    (element, component) = (*e, *c);
                }
                if *e == 0 {
                    tag = asked.clone();
                }
                match (there, *e > 0) {
                    (true, true) => RuleSubject::ElementMissing,
                    (false, true) => RuleSubject::ElementPresent,
                    (true, false) => RuleSubject::SegmentMissing,
                    (false, false) => RuleSubject::SegmentPresent,
                }
            }
        };
        let layout = guide.layouts.layouts[guide.layouts.of_item[fault.item.index()] as usize];
        let spec = guide.layouts.element(layout, element, component);
        let broken = BrokenRule { name: rule.name.clone(), message: rule.message.clone(), about };
        let kind = ContentErrorKind::Rule(Box::new(broken));
        let severity = if rule.warning { Severity::Warning } else { Severity::Error };
        let loops = if found.kind == ItemKind::Loop { "".into() } else { guide.path(fault.item).into() };
        let context = FaultContext {
            tag: tag.to_string(),
            loop_id: loop_id(&guide, fault.item),
            data_element: spec.map(|spec| guide.layouts.names[spec.number as usize].to_string()),
            copy: fault.copy.clone(),
            trigger: fault.trigger.as_ref().filter(|of| (of.at, of.element) != (fault.at, element)).map(|trigger| {
                let at = self.at(trigger.at).element(count(trigger.element)).component(count(trigger.component));
                (guide.item(trigger.item).id.to_string(), at)
            }),
        };
        let at = self.at(fault.at).element(count(element)).component(count(component));
        let name: Box<str> = if element == 0 { tag } else { reference(&tag, element, component).into() };
        self.put(kind, name, None, loops, severity, at, context);
    }

    /// Checks an HL segment.
    #[cold]
    #[inline(never)]
    fn level(&mut self, item: ItemId, level: u8, placement: Placement, segment: &Segment<'_>, at: Mark) {
        let told = core::mem::take(&mut self.told);
        let Some(guide) = self.walk.as_ref().map(|walk| Arc::clone(walk.guide())) else { return };
        let doubtful = placement.doubtful || self.walk.as_ref().is_some_and(Walk::lacks_level);
        for fault in self.hl.segment(&guide, &Level { item, level, segment, at, doubtful, told }) {
            self.hl_fault(fault);
        }
    }

    fn hl_fault(&mut self, fault: hl::HlFault) {
        let Some(walk) = &self.walk else { return };
        let guide = Arc::clone(walk.guide());
        self.put(
            fault.kind,
            reference("HL", fault.element, 0).into(),
            None,
            guide.path(fault.item).into(),
            Severity::Error,
            self.at(fault.at).element(u32::try_from(fault.element).unwrap_or(0)),
            FaultContext {
                tag: "HL".to_owned(),
                loop_id: loop_id(&guide, fault.item),
                data_element: Some(["628", "734", "735", "736"][fault.element - 1].to_owned()),
                ..FaultContext::default()
            },
        );
    }

    /// Takes the faults that the walk found.
    #[cold]
    #[inline(never)]
    fn structure(&mut self) {
        if !self.held.is_empty() {
            self.release();
        }
        let Some(walk) = &mut self.walk else { return };
        if !walk.has_faults() {
            return;
        }
        let guide = Arc::clone(walk.guide());
        let faults: Vec<StructureFault> = walk.take_faults().collect();
        // Segments before and after EDIFACT's UNS have the same tags, so without UNS it is unknown whether the items after it are present.
        let is_uns = |fault: &&StructureFault| matches!(fault.kind, StructureKind::Missing(item) if &*guide.item(item).id == "UNS");
        let separator = faults.iter().find(is_uns).copied();
        let depends = |fault: &StructureFault| match (fault.kind, separator.map(|uns| (uns.kind, uns.at == fault.at))) {
            (
                StructureKind::Missing(item) | StructureKind::LoopMissing(item),
                Some((StructureKind::Missing(uns), true)),
            ) => item > uns,
            _ => false,
        };
        for fault in faults.into_iter().filter(|fault| !depends(fault)) {
            self.hl.structure(&guide, &fault);
            self.rules.taint();
            self.structure_fault(&guide, fault);
        }
    }

    fn structure_fault(&mut self, guide: &CompiledGuide, fault: StructureFault) {
        let (item, tag) = match fault.kind {
            StructureKind::Unknown(tag, innermost)
            | StructureKind::Undefined(tag, innermost)
            | StructureKind::Unexpected(tag, innermost) => (innermost, Some(tag)),
            StructureKind::OutOfSequence(item)
            | StructureKind::TooMany(item)
            | StructureKind::LoopTooMany(item)
            | StructureKind::NotUsed(item)
            | StructureKind::Missing(item)
            | StructureKind::LoopMissing(item)
            | StructureKind::Qualifier(item, _) => (item, None),
        };
        let found = guide.item(item);
        let max = found.max.unwrap_or(u32::MAX);
        let trigger = || if found.kind == ItemKind::Loop { &*guide.item(ItemId(item.0 + 1)).id } else { &*found.id };
        let mut at = self.at(fault.at);
        let (mut data_element, mut copy) = (None, Vec::new());
        let mut reference: Box<str> = found.id.clone();
        let mut name = found.name.clone();
        let kind = match fault.kind {
            StructureKind::Unknown(tag, _) if tag[0] == 0 => return,
            StructureKind::Unknown(..) => ContentErrorKind::SegmentUnknown,
            StructureKind::Undefined(..) => ContentErrorKind::SegmentUndefined,
            StructureKind::Unexpected(..) => ContentErrorKind::SegmentUnexpected,
            StructureKind::OutOfSequence(_) => ContentErrorKind::SegmentOutOfSequence,
            StructureKind::TooMany(_) => ContentErrorKind::SegmentTooMany { max },
            StructureKind::LoopTooMany(_) => ContentErrorKind::LoopTooMany { max },
            StructureKind::NotUsed(_) => ContentErrorKind::SegmentNotUsed,
            StructureKind::Missing(_) => ContentErrorKind::SegmentMissing,
            StructureKind::LoopMissing(_) => ContentErrorKind::LoopMissing { trigger: trigger().into() },
            StructureKind::Qualifier(_, wrong) => {
                let condition = &guide.transitions.conditions[wrong.condition as usize];
                let layout = guide.layouts.layouts[guide.layouts.of_item[item.index()] as usize];
                let spec = guide.layouts.element(layout, condition.element, condition.component);
                data_element = spec.map(|spec| guide.layouts.names[spec.number as usize].to_string());
                name = spec.and_then(|spec| guide.layouts.name(spec.name));
                reference = crate::guide::compile::reference(&found.id, condition.element, condition.component).into();
                at = at.element(count(condition.element)).component(count(condition.component));
                let value = wrong.value();
                copy = value.unwrap_or_default().to_vec();
                let codes = spec.and_then(|spec| guide.layouts.allowance(spec.codes));
                let listed = codes.and_then(|codes| codes.standard.as_ref());
                let is_listed = |value| listed.is_some_and(|of| of.contains(crate::guide::code_set::Key::of(value)));
                match value {
                    Some(b"") => ContentErrorKind::ElementMissing,
                    value => ContentErrorKind::Qualifier { listed: value.is_some_and(is_listed) },
                }
            }
        };
        let loops: Box<str> = match tag {
            Some(tag) => {
                reference = text_of(tag).into();
                name = None;
                let inside = guide.path(item);
                let own = if item == ItemId::TRANSACTION { "" } else { &*found.id };
                [&*inside, if inside.is_empty() || own.is_empty() { "" } else { "/" }, own].concat().into()
            }
            None => guide.path(item).into(),
        };
        let context_tag = match tag {
            Some(tag) => text_of(tag),
            None => trigger().to_owned(),
        };
        let loop_id = match (tag, found.kind) {
            (Some(_), _) | (None, ItemKind::Loop) if item != ItemId::TRANSACTION => Some(found.id.to_string()),
            _ => loop_id(guide, item),
        };
        let context = FaultContext { tag: context_tag, loop_id, data_element, copy, trigger: None };
        self.put(kind, reference, name, loops, Severity::Error, at, context);
    }

    fn element_fault(
        &mut self,
        guide: &CompiledGuide,
        item: ItemId,
        segment: &Segment<'_>,
        at: Mark,
        fault: ElementFault,
    ) {
        let tag = &guide.item(item).id;
        let reference = reference(tag, fault.element, fault.component);
        let names = &guide.layouts.names;
        let spec = fault.spec.map(|spec| &guide.layouts.specs[spec as usize]);
        let at = Position { repetition: count(fault.repetition), ..self.at(at) }
            .element(count(fault.element))
            .component(count(fault.component));
        let of_segment = fault.element == 0;
        let context = FaultContext {
            tag: tag.to_string(),
            loop_id: loop_id(guide, item),
            data_element: spec.map(|spec| names[spec.number as usize].to_string()).filter(|number| !number.is_empty()),
            copy: if of_segment { Vec::new() } else { fault.copy(segment, self.settings) },
            trigger: None,
        };
        let name = spec.and_then(|spec| guide.layouts.name(spec.name));
        let severity = if fault.kind.is_warning() { Severity::Warning } else { Severity::Error };
        let reference = if of_segment { tag.clone() } else { reference.into() };
        self.put(fault.kind, reference, name, guide.path(item).into(), severity, at, context);
    }

    #[expect(clippy::too_many_arguments, reason = "each is a part of one finding, put together at three places")]
    fn put(
        &mut self,
        kind: ContentErrorKind,
        reference: Box<str>,
        name: Option<Box<str>>,
        loops: Box<str>,
        severity: Severity,
        at: Position,
        context: FaultContext,
    ) {
        if self.left == 0 {
            self.more += 1;
            return;
        }
        self.left -= 1;
        let error = ContentError { kind, standard: self.standard, reference, name, loops };
        let context = Some(Box::new(context));
        self.faults.push(EdiFault { error: EdiError::Content(Box::new(error)), at, severity, context });
    }

    /// Returns the position of a segment.
    fn at(&self, mark: Mark) -> Position {
        Position {
            byte: ByteOffset(mark.byte),
            segment: mark.segment,
            element: 0,
            component: 0,
            repetition: 0,
            ..self.base
        }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Returns the id of the innermost loop around an item.
fn loop_id(guide: &CompiledGuide, item: ItemId) -> Option<String> {
    let parent = guide.item(item).parent;
    (parent != ItemId::TRANSACTION).then(|| guide.item(parent).id.to_string())
}

fn text_of(tag: [u8; 3]) -> String {
    tag.iter().filter(|byte| **byte > b' ').map(|byte| char::from(*byte)).collect()
}

/// Parses `YYMMDD` or `CCYYMMDD` as an integer. Years of two digits are those of interface files: 1950 to 2049.
fn day_of(text: &[u8]) -> Option<u32> {
    if !element::is_date(text) {
        return None;
    }
    let number = element::number(text);
    let century = if number < 500_000 { 20_000_000 } else { 19_000_000 };
    Some(if text.len() == 6 { century + number } else { number })
}

/// Returns the day of a header, for callers that look up codes themselves.
#[must_use]
pub fn header_day(header: &Header) -> Option<u32> {
    day_of(&header.field("date"))
}

#[cfg(test)]
mod tests {
    use super::day_of;

    /// A header of 1999 was one of 2099, so codes that ended in between were out of date.
    #[test]
    fn years_of_two_digits_are_those_from_1950_to_2049() {
        for (text, day) in [
            ("990101", Some(19_990_101)),
            ("500101", Some(19_500_101)),
            ("491231", Some(20_491_231)),
            ("260401", Some(20_260_401)),
            ("20260401", Some(20_260_401)),
            ("261301", None),
        ] {
            assert_eq!(day_of(text.as_bytes()), day, "{text}");
        }
    }
}
