//! Whether a segment is right at its place: one pass over its elements, by tables, without an allocation.

use super::element::{Settings, is_right};
use crate::guide::code_set::Key;
use crate::guide::compile::{Form, Layouts, Spec};
use crate::segment::Segment;

/// Whether nothing is wrong with the segment, as far as that is quickly seen; `explain` tells what is, and may find that nothing is.
#[inline(always)]
pub(super) fn is_quickly_right(tables: &Layouts, layout: u32, segment: &Segment<'_>, settings: Settings) -> bool {
    let layout = &tables.layouts[layout as usize];
    let specs = &tables.specs[layout.specs.0 as usize..layout.specs.1 as usize];
    let Segment { text, ends, .. } = *segment;
    let Some((tag_end, ends)) = ends.split_first() else { return false };
    // A tag may have parts too, where it is not one.
    let in_tag = segment.parts.first().is_some_and(|at| at < tag_end);
    let unusual = in_tag || segment.binary || !segment.marks.is_empty() || {
        let end = ends.last().unwrap_or(tag_end);
        is_unusual(text, segment.start as usize, *end as usize)
    };
    if ends.len() > specs.len() || ends.len() < layout.last_mandatory as usize || unusual {
        return false;
    }
    let mut start = *tag_end as usize + 1;
    let (mut present, mut bit, mut previous) = (0u64, 1u64, 0u64);
    let mut parts = segment.parts;
    let mut len = 1;
    for (spec, end) in specs.iter().zip(ends) {
        let end = *end as usize;
        len = end - start;
        if len == 0 {
            if spec.mandatory {
                return false;
            }
            previous = 0;
        } else {
            let mut own: &[u32] = &[];
            if !parts.is_empty() {
                let count = parts.iter().take_while(|at| (**at as usize) < end).count();
                (own, parts) = parts.split_at(count);
            }
            present |= bit;
            let key = Key::within(text, start, len);
            let right = if spec.form == Form::Composite {
                composite_is_right(tables, spec, segment, start, end, own, settings)
            } else {
                own.is_empty() && is_right(tables, spec, key, previous, settings)
            };
            if !right || spec.not_used {
                return false;
            }
            previous = key.word;
        }
        bit <<= 1;
        start = end + 1;
    }
    let notes = &tables.notes[layout.notes.0 as usize..layout.notes.1 as usize];
    len > 0 && notes.iter().all(|note| note.holds(present))
}

/// A composite without repetitions.
#[inline]
fn composite_is_right(
    tables: &Layouts,
    spec: &Spec,
    segment: &Segment<'_>,
    start: usize,
    end: usize,
    parts: &[u32],
    settings: Settings,
) -> bool {
    let specs = &tables.specs[spec.components.0 as usize..spec.components.1 as usize];
    let text = segment.text;
    if parts.len() >= specs.len() {
        return false;
    }
    let (mut from, mut present, mut bit, mut previous, mut len) = (start, 0u64, 1u64, 0u64, 0);
    for (i, spec) in specs.iter().enumerate() {
        let Some(to) = (match parts.get(i) {
            Some(at) => Some(*at as usize),
            None if i == parts.len() => Some(end),
            None => None,
        }) else {
            if spec.mandatory {
                return false;
            }
            continue;
        };
        if to < end && text[to] != segment.delimiters.component {
            return false;
        }
        len = to - from;
        if len == 0 {
            if spec.mandatory {
                return false;
            }
            previous = 0;
        } else {
            present |= bit;
            let key = Key::within(text, from, len);
            let format = if spec.form == Form::EdifactPeriod {
                format_behind(text, to, end, parts.get(i + 1))
            } else {
                previous
            };
            if spec.not_used || !is_right(tables, spec, key, format, settings) {
                return false;
            }
            previous = key.word;
        }
        bit <<= 1;
        from = to + 1;
    }
    let notes = &tables.notes[spec.notes.0 as usize..spec.notes.1 as usize];
    len > 0 && notes.iter().all(|note| note.holds(present))
}

/// The component behind one that ends at `to`.
#[inline(always)]
fn format_behind(text: &[u8], to: usize, end: usize, next: Option<&u32>) -> u64 {
    if to >= end {
        return 0;
    }
    let behind = next.map_or(end, |at| *at as usize);
    Key::within(text, to + 1, behind - to - 1).word
}

/// Whether there are bytes other than printable ASCII, as far as words tell: none is not missed.
#[inline(always)]
fn is_unusual(text: &[u8], start: usize, end: usize) -> bool {
    let mut at = start;
    let mut found = 0u64;
    while at < end {
        let word = match text[at..].first_chunk::<8>() {
            Some(block) => u64::from_le_bytes(*block),
            None => return text[at..end].iter().any(|byte| !(0x20..0x80).contains(byte)) || found != 0,
        };
        let left = end - at;
        let word = if left < 8 { (word & (u64::MAX >> (64 - 8 * left))) | (BLANKS << (8 * left)) } else { word };
        found |= (word.wrapping_sub(BLANKS) | word) & 0x8080_8080_8080_8080;
        at += 8;
    }
    found != 0
}

const BLANKS: u64 = 0x2020_2020_2020_2020;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_bytes_are_found_at_any_place() {
        let text: Vec<u8> = (0..40u8).map(|n| b'A' + n % 26).collect();
        for start in 0..20 {
            for end in start..text.len() {
                assert!(!is_unusual(&text, start, end));
                for at in 0..text.len() {
                    for byte in [0, 0x1f, 0x80, 0xff] {
                        let mut text = text.clone();
                        text[at] = byte;
                        assert_eq!(is_unusual(&text, start, end), (start..end).contains(&at), "{at} in {start}..{end}");
                    }
                }
            }
        }
    }
}
