//! Definitions of record files and queues: names, and the spaces that belong to them.

use std::ops::Bound;

use crate::page::{Direction, KeyRange, Page, PageLimit};
use crate::{LockWait, Space, StoreError, Unit, Value};

/// Longest name: that of a data set.
const NAME_BYTES_MAX: usize = 44;

/// Kind of a catalog definition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    File,
    Queue,
}

impl Kind {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Kind::File => "record file",
            Kind::Queue => "queue",
        }
    }

    fn prefix(self) -> &'static [u8] {
        match self {
            Kind::File => b"file/",
            Kind::Queue => b"queue/",
        }
    }

    fn key(self, name: &str) -> Vec<u8> {
        [self.prefix(), name.as_bytes()].concat()
    }
}

/// Reads a definition.
pub(crate) fn find(unit: &Unit, kind: Kind, name: &str) -> Result<Option<Value>, StoreError> {
    unit.read(Space::CATALOG, &kind.key(name))
}

/// Takes the lock on a name.
pub(crate) fn lock(unit: &mut Unit, kind: Kind, name: &str) -> Result<(), StoreError> {
    unit.lock(Space::CATALOG, &kind.key(name), LockWait::Default)
}

/// Adds a definition under a free name.
pub(crate) fn add(unit: &mut Unit, kind: Kind, name: &str, definition: &[u8]) -> Result<(), StoreError> {
    reserve(unit, kind, name)?;
    unit.put(Space::CATALOG, &kind.key(name), definition)
}

/// Locks a free name, so that only this unit of work can use it.
pub(crate) fn reserve(unit: &mut Unit, kind: Kind, name: &str) -> Result<(), StoreError> {
    check_name(name)?;
    if unit.read_for_update(Space::CATALOG, &kind.key(name), LockWait::Default)?.is_some() {
        return Err(StoreError::Exists { kind: kind.text(), name: name.to_owned() });
    }
    Ok(())
}

/// Returns true if a unit of work has the lock on a name.
pub(crate) fn holds(unit: &Unit, kind: Kind, name: &str) -> bool {
    unit.holds(Space::CATALOG, &kind.key(name))
}

/// Removes a definition.
pub(crate) fn remove(unit: &mut Unit, kind: Kind, name: &str) -> Result<(), StoreError> {
    unit.delete(Space::CATALOG, &kind.key(name))
}

/// Returns all names of a kind in ascending order.
pub(crate) fn names(unit: &Unit, kind: Kind) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    let mut page = Page::default();
    let mut next = Some(Bound::Included(kind.prefix().to_vec()));
    while let Some(bound) = next {
        let range = KeyRange::ALL.after(Direction::Forward, &bound);
        unit.page(Space::CATALOG, range, Direction::Forward, PageLimit::default(), &mut page)?;
        for (key, _) in page.iter() {
            let Some(name) = key.strip_prefix(kind.prefix()) else { return Ok(names) };
            names.extend(std::str::from_utf8(name).map(str::to_owned));
        }
        next = page.next.take();
    }
    Ok(names)
}

/// Takes a space that nothing used before.
pub(crate) fn new_space(unit: &mut Unit) -> Result<Space, StoreError> {
    const NEXT: &[u8] = b"store/next-space";
    let found = unit.read_for_update(Space::CATALOG, NEXT, LockWait::Default)?;
    let next = found.and_then(|value| value.as_ref().try_into().ok()).map_or(Space::FIRST_FREE.0, u32::from_le_bytes);
    let after = next.checked_add(1).ok_or(StoreError::LimitReached { limit: "spaces", value: u64::from(u32::MAX) })?;
    unit.put(Space::CATALOG, NEXT, after.to_le_bytes().as_slice())?;
    Ok(Space(next))
}

/// Checks the name of a queue or record file.
///
/// # Errors
/// [`StoreError::BadDefinition`] if the name is empty, longer than 44 bytes, or has other characters than letters, digits and `. _ - $ # @`.
pub fn check_name(name: &str) -> Result<(), StoreError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-$#@".contains(&byte);
    let what = if name.is_empty() || name.len() > NAME_BYTES_MAX {
        format!("the name has {} characters, expected 1 to {NAME_BYTES_MAX}", name.len())
    } else if !name.bytes().all(allowed) {
        "the name may have letters, digits and the characters . _ - $ # @".to_owned()
    } else {
        return Ok(());
    };
    Err(StoreError::BadDefinition { name: name.to_owned(), what })
}
