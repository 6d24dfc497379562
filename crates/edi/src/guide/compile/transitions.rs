//! Transitions: for every loop and tag, the places in that loop for a segment with the tag.

use std::collections::HashMap;

use quayline_core::stored;

use super::distinguish::{Condition, Decider, Told, is_loop};
use super::{CompiledItem, ItemId, Names, small};
use crate::guide::model::{Guide, Requirement};

/// The structure as tables.
#[derive(Debug)]
pub(crate) struct Transitions {
    pub(crate) tags: Tags,
    /// Tables by number of the loop; the first is the transaction.
    pub(crate) loops: Vec<LoopTable>,
    /// Direct children of all loops, those of one loop next to each other in order.
    pub(crate) slots: Vec<Slot>,
    /// Slots that must be filled, in order, those of one loop next to each other.
    pub(crate) mandatory: Vec<Mandatory>,
    /// First candidate by loop number times number of tags plus tag; 0 for none.
    first: Vec<u32>,
    /// Candidates of one loop and tag are adjacent and in order, followed by one whose slot is [`NO_SLOT`].
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) deciders: Vec<Decider>,
    /// Loops inside loops, the transaction counted.
    pub(crate) depth: usize,
}

/// A loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopTable {
    pub(crate) item: ItemId,
    /// Slot of the loop; for the transaction, the one after all others.
    pub(crate) slot: u32,
    /// Slots of its children.
    pub(crate) slots: (u32, u32),
    pub(crate) mandatory: (u32, u32),
    /// Candidates of all tags.
    pub(crate) candidates: (u32, u32),
}

/// A direct child of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) item: ItemId,
    pub(crate) rank: u32,
    /// `u32::MAX` is unbounded.
    pub(crate) max: u32,
    /// Number of the loop; 0 for a segment.
    pub(crate) loop_number: u32,
}

/// A child that must occur.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mandatory {
    pub(crate) slot: u32,
    pub(crate) rank: u32,
}

/// A place in a loop that a segment with some tag may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// The child of the loop that occurs once more: the segment, or the loop that it opens.
    pub(crate) slot: u32,
    pub(crate) rank: u32,
    pub(crate) max: u32,
    /// Number of the loop that it opens; 0 for none.
    pub(crate) opens: u32,
    /// The segment.
    pub(crate) item: ItemId,
    pub(crate) conditions: (u32, u32),
    /// Deciders; empty if no other place competes.
    pub(crate) deciders: (u32, u32),
}

/// Slot that marks the end of a list of candidates.
pub(crate) const NO_SLOT: u32 = u32::MAX;

impl Transitions {
    /// Returns the first candidate of a loop for a tag; further ones follow it.
    #[inline(always)]
    pub(crate) fn first(&self, loop_number: u32, tag: u32) -> usize {
        self.first[loop_number as usize * self.tags.count + tag as usize] as usize
    }

    /// Returns all candidates of a loop for a tag.
    pub(crate) fn of(&self, loop_number: u32, tag: u32) -> impl Iterator<Item = &Candidate> {
        self.candidates[self.first(loop_number, tag)..].iter().take_while(|candidate| candidate.slot != NO_SLOT)
    }
}

pub(super) fn build(items: &mut [CompiledItem], told: Told, guide: &Guide) -> Transitions {
    let mut tags = Tags::new(items.iter().skip(1).filter(|item| !is_loop(item)).map(|item| &*item.id));
    tags.others(guide.dictionary.segments.keys().map(String::as_str));
    let mut count = 0;
    for item in items.iter_mut().filter(|item| is_loop(item)) {
        item.loop_number = count;
        count += 1;
    }
    let none = Candidate {
        slot: NO_SLOT,
        rank: 0,
        max: 0,
        opens: 0,
        item: ItemId::TRANSACTION,
        conditions: (0, 0),
        deciders: (0, 0),
    };
    let mut made = Transitions {
        loops: Vec::new(),
        slots: Vec::new(),
        mandatory: Vec::new(),
        first: vec![0; count as usize * tags.count],
        tags,
        candidates: vec![none],
        conditions: told.conditions,
        deciders: told.deciders,
        depth: 1 + items.iter().map(|item| item.depth as usize).max().unwrap_or(0),
    };
    let all: Vec<ItemId> = (0..items.len()).map(|i| ItemId(small(i))).collect();
    for id in all {
        if !is_loop(&items[id.index()]) {
            continue;
        }
        let (slots, mandatory) = (small(made.slots.len()), small(made.mandatory.len()));
        let mut child = ItemId(id.0 + 1);
        while child < items[id.index()].end {
            let slot = small(made.slots.len());
            let item = &mut items[child.index()];
            item.slot = slot;
            let max = item.max.unwrap_or(u32::MAX);
            made.slots.push(Slot { item: child, rank: item.rank, max, loop_number: item.loop_number });
            if item.requirement == Requirement::Mandatory {
                made.mandatory.push(Mandatory { slot, rank: item.rank });
            }
            child = item.end;
        }
        made.loops.push(LoopTable {
            item: id,
            slot: 0,
            slots: (slots, small(made.slots.len())),
            mandatory: (mandatory, small(made.mandatory.len())),
            candidates: (0, 0),
        });
    }
    let numbers: HashMap<String, usize> =
        made.tags.in_structure.iter().enumerate().map(|(number, tag)| (tag.to_string(), number)).collect();
    let transaction_slot = small(made.slots.len());
    for number in 0..made.loops.len() {
        let table = made.loops[number];
        made.loops[number].slot =
            if table.item == ItemId::TRANSACTION { transaction_slot } else { items[table.item.index()].slot };
        let candidates = small(made.candidates.len());
        let mut by_tag: Vec<(usize, Candidate)> = Vec::new();
        for slot in table.slots.0..table.slots.1 {
            let Slot { item, rank, max, loop_number } = made.slots[slot as usize];
            // A trigger that may not repeat is found by its loop's list of candidates only.
            let never = loop_number == 0 && items[item.index()].is_trigger && max == 1;
            let segment = if loop_number == 0 { item } else { ItemId(item.0 + 1) };
            let CompiledItem { id, conditions, deciders, .. } = &items[segment.index()];
            if let Some(tag) = numbers.get(&**id).filter(|_| !never) {
                let (conditions, deciders) = (*conditions, *deciders);
                let candidate = Candidate { slot, rank, max, opens: loop_number, item: segment, conditions, deciders };
                by_tag.push((*tag, candidate));
            }
        }
        // Candidates of one tag stay in their order.
        by_tag.sort_by_key(|(tag, _)| *tag);
        for candidates in by_tag.chunk_by(|one, other| one.0 == other.0) {
            made.first[number * made.tags.count + candidates[0].0] = small(made.candidates.len());
            made.candidates.extend(candidates.iter().map(|(_, candidate)| *candidate));
            made.candidates.push(none);
        }
        made.loops[number].candidates = (candidates, small(made.candidates.len()));
    }
    made
}

/// Tags and their numbers: those of the structure first, then those that only the dictionary has.
#[derive(Debug)]
pub(crate) struct Tags {
    /// Tag and number by hash, open addressing; a tag of 0 is free.
    slots: Vec<(u32, u32)>,
    shift: u32,
    in_structure: Vec<Box<str>>,
    /// Tags of the structure.
    pub(crate) count: usize,
}

const SPREAD: u32 = 0x9e37_79b1;

impl Tags {
    fn new<'t>(structure: impl Iterator<Item = &'t str>) -> Self {
        let mut names = Names::new();
        for tag in structure {
            names.entry(tag.into()).or_insert(0);
        }
        let in_structure: Vec<Box<str>> = names.into_keys().collect();
        let mut tags = Tags { slots: Vec::new(), shift: 0, count: in_structure.len(), in_structure };
        tags.grow(tags.count);
        for number in 0..tags.count {
            let key = tag_key(tags.in_structure[number].as_bytes());
            tags.put(key, small(number));
        }
        tags
    }

    /// Adds tags that the standard has but the guide does not use. All get the number after those of the structure.
    fn others<'t>(&mut self, dictionary: impl Iterator<Item = &'t str>) {
        let keys: Vec<u32> = dictionary.map(|tag| tag_key(tag.as_bytes())).filter(|key| *key != 0).collect();
        let old: Vec<(u32, u32)> = self.slots.iter().copied().filter(|(key, _)| *key != 0).collect();
        self.grow(keys.len() + old.len());
        for (key, number) in old {
            self.put(key, number);
        }
        for key in keys {
            if self.number(key).is_none() {
                self.put(key, small(self.count));
            }
        }
    }

    fn grow(&mut self, tags: usize) {
        let size = (tags * 4).next_power_of_two().max(16);
        self.slots = vec![(0, 0); size];
        self.shift = 32 - size.trailing_zeros();
    }

    fn put(&mut self, key: u32, number: u32) {
        let mut at = self.home(key);
        while self.slots[at].0 != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = (key, number);
    }

    #[inline(always)]
    fn home(&self, key: u32) -> usize {
        (key.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    /// Returns the number of a tag; `count` if only the dictionary has it.
    #[inline(always)]
    pub(crate) fn number(&self, key: u32) -> Option<u32> {
        let mut at = self.home(key);
        loop {
            let (here, number) = *self.slots.get(at)?;
            if here == key && key != 0 {
                return Some(number);
            }
            if here == 0 {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

/// Encodes a tag of two or three bytes as an integer; 0 for any other tag.
#[inline(always)]
pub(crate) fn tag_key(tag: &[u8]) -> u32 {
    match *tag {
        [a, b] => u32::from_le_bytes([a, b, 0, 0]),
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]),
        _ => 0,
    }
}

stored!(struct Transitions { tags, loops, slots, mandatory, first, candidates, conditions, deciders, depth });
stored!(struct LoopTable { item, slot, slots, mandatory, candidates });
stored!(struct Slot { item, rank, max, loop_number });
stored!(struct Mandatory { slot, rank });
stored!(struct Candidate { slot, rank, max, opens, item, conditions, deciders });
stored!(struct Tags { slots, shift, in_structure, count });
