//! HL loops: a level for each code, below the one that HL02 names.

use std::collections::BTreeMap;

use quayline_edi::guide::{Item, LoopUse, Qualifier};

use super::structure::{Mixed, Part, items, looped};

/// Position of the lower levels within a level: the last one.
const BELOW: u32 = 10_000;

/// Levels in levels that are looked for; lower ones count as the last of these.
const LEVELS_MAX: usize = 32;

/// A level of the hierarchy, by its code.
#[derive(Debug, Default)]
struct Level<'p> {
    bodies: Vec<&'p [Part]>,
    /// Levels below, in the order of first occurrence.
    below: Vec<(&'p str, Level<'p>)>,
}

impl<'p> Level<'p> {
    fn at(&mut self, path: &[&'p str]) -> &mut Level<'p> {
        let Some((code, rest)) = path.split_first() else { return self };
        let at = match self.below.iter().position(|(known, _)| known == code) {
            Some(at) => at,
            None => {
                self.below.push((code, Level::default()));
                self.below.len() - 1
            }
        };
        self.below[at].1.at(rest)
    }

    fn loops(&self, mixed: Mixed, depth: usize) -> Vec<LoopUse> {
        let made = self.below.iter().map(|(code, level)| {
            let mut inner = items(&level.bodies, (true, mixed), depth + 1);
            let below = level.loops(mixed, depth + 1);
            // Levels below may alternate.
            inner.extend(below.into_iter().map(|level| Item::Loop(LoopUse { position: BELOW, ..level })));
            let qualifier = Qualifier { element: 3, component: 0, values: vec![(*code).to_owned()] };
            looped(format!("HL{code}"), "HL", Some(qualifier), inner)
        });
        made.collect()
    }
}

/// Builds the loops of all HL segments of a transaction, with lower levels nested in higher ones.
pub(super) fn levels(bodies: &[(&Part, &[Part])], mixed: Mixed, depth: usize) -> Vec<LoopUse> {
    let mut top = Level::default();
    let mut paths: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (part, body) in bodies {
        let Some([id, above, code]) = &part.level else { continue };
        if id == "1" || above.is_empty() {
            // Another transaction counts anew.
            paths.clear();
        }
        let mut path = paths.get(above.as_str()).cloned().unwrap_or_default();
        path.truncate(LEVELS_MAX - 1);
        path.push(code);
        top.at(&path).bodies.push(body);
        paths.insert(id, path);
    }
    top.loops(mixed, depth)
}
