//! HL segments of a guide: nested or consecutive loops.

use quayline_core::{Finding, stored};

use super::codes::{LOOP, error};
use super::{CompiledItem, ItemId};
use crate::guide::model::{Guide, HlLevel, Item};

/// HL levels of a guide.
#[derive(Clone, Debug, Default)]
pub(crate) struct HlLevels {
    /// By item that is an HL and opens a loop: its level including the enclosing ones; empty if the guide has no levels to check.
    levels: Vec<u8>,
    /// Levels of consecutive loops.
    flat: Option<FlatLevels>,
}

/// Levels identified by HL03.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlatLevels(Vec<HlLevel>);

impl HlLevels {
    pub(super) fn of(guide: &Guide, items: &[CompiledItem], findings: &mut Vec<Finding>) -> Self {
        let levels = nested(items);
        let is_nested = levels.iter().any(|level| *level > 1);
        let mut said = Vec::new();
        collect(&guide.structure, "", is_nested, &mut said, findings);
        let triggers = items.iter().filter(|item| item.is_trigger && &*item.id == "HL");
        let repeated = triggers.clone().any(|item| items[item.parent.index()].max != Some(1)) || triggers.count() > 1;
        if is_nested || !repeated {
            return HlLevels { levels: if is_nested { levels } else { Vec::new() }, flat: None };
        }
        HlLevels { levels, flat: Some(FlatLevels(said)) }
    }

    #[inline(always)]
    pub(crate) fn level(&self, id: ItemId) -> u8 {
        self.levels.get(id.index()).copied().unwrap_or(0)
    }

    pub(crate) fn flat(&self) -> Option<&FlatLevels> {
        self.flat.as_ref()
    }
}

impl FlatLevels {
    pub(crate) fn are_given(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns a level by HL03.
    pub(crate) fn find(&self, code: &[u8]) -> Option<usize> {
        self.0.iter().position(|level| level.code.as_bytes() == code)
    }

    pub(crate) fn may_be_top(&self, level: usize) -> bool {
        self.0[level].top
    }

    pub(crate) fn may_be_in(&self, level: usize, above: usize) -> bool {
        self.0[level].within.contains(&self.0[above].code)
    }

    /// Describes the levels that the guide allows above a level.
    pub(crate) fn words(&self, level: usize) -> Box<str> {
        let HlLevel { top, within, .. } = &self.0[level];
        let mut words = within.join(", ");
        if *top {
            words.push_str(if words.is_empty() { "none" } else { " or none" });
        }
        words.into()
    }
}

/// Collects and checks the levels that loops define.
fn collect(items: &[Item], path: &str, is_nested: bool, said: &mut Vec<HlLevel>, findings: &mut Vec<Finding>) {
    for item in items {
        let Item::Loop(inner) = item else { continue };
        let at = if path.is_empty() { format!("loop {}", inner.id) } else { format!("{path}/loop {}", inner.id) };
        let mut wrong = |message: String| findings.push(error(LOOP, &at, message));
        if !inner.levels.is_empty() {
            let is_hl = matches!(inner.items.first(), Some(Item::Segment(first)) if first.tag == "HL");
            if !is_hl || is_nested {
                wrong("levels are those of a loop that begins with HL and is repeated for each of them".to_owned());
            }
            for level in &inner.levels {
                if said.iter().any(|other| other.code == level.code) {
                    wrong(format!("level {} is said twice", level.code));
                    continue;
                }
                for within in &level.within {
                    if !inner.levels.iter().any(|other| other.code == *within) {
                        wrong(format!("level {} is in {within}, which is not a level", level.code));
                    }
                }
                said.push(level.clone());
            }
        }
        let path = if path.is_empty() { inner.id.clone() } else { format!("{path}/{}", inner.id) };
        collect(&inner.items, &path, is_nested, said, findings);
    }
}

fn nested(items: &[CompiledItem]) -> Vec<u8> {
    let mut levels = vec![0u8; items.len()];
    for (i, item) in items.iter().enumerate() {
        if !item.is_trigger || &*item.id != "HL" {
            continue;
        }
        let mut around = items[item.parent.index()].parent;
        while around != ItemId::TRANSACTION && levels[around.index() + 1] == 0 {
            around = items[around.index()].parent;
        }
        levels[i] = 1 + if around == ItemId::TRANSACTION { 0 } else { levels[around.index() + 1] };
    }
    levels
}

stored!(struct HlLevels { levels, flat });
stored!(struct FlatLevels(levels));
