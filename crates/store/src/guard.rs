//! Panics of a library that meets a damaged file.
//!
//! redb checks its pages by debug assertions only. In a release, a damaged page makes it panic, which [`guarded`] turns into an error. On a few pages, redb
//! panics again while it unwinds. Rust ends the process then, and only the panic hook can still name the damage.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use crate::StoreError;

thread_local! {
    /// The innermost call of [`guarded`].
    static GUARDED: Cell<Option<Guarded>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Guarded {
    file: &'static str,
    library: &'static str,
    /// Panics of the library since the call began.
    panics: u32,
}

/// A panic inside [`guarded`], as the panic hook of a process needs it.
#[derive(Debug)]
pub enum GuardedPanic {
    /// The caller of [`guarded`] gets an error.
    Caught,
    /// The panic happened while the thread unwinds from another. The process ends after the hook, so the hook must report this error.
    Fatal(StoreError),
}

impl GuardedPanic {
    /// Returns the error that the panic hook must report before the process ends.
    #[must_use]
    pub fn fatal(self) -> Option<StoreError> {
        match self {
            GuardedPanic::Caught => None,
            GuardedPanic::Fatal(error) => Some(error),
        }
    }
}

/// Calls a function that reads or writes a file through a library. A panic returns [`StoreError::Damaged`] with `what`. `library` is a part of the
/// library's source paths: a panic elsewhere is a bug, which the panic hook reports.
///
/// # Errors
///
/// Those of the function, and damage of the file.
pub fn guarded<T>(
    (file, library): (&'static str, &'static str),
    what: &'static str,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let outer = GUARDED.replace(Some(Guarded { file, library, panics: 0 }));
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    done.unwrap_or_else(|_| Err(StoreError::Damaged { file: file.to_owned(), byte: 0, what: what.to_owned() }))
}

/// Returns true if a panic at a place is one of the library that this thread guards.
#[must_use]
pub fn is_guarded(place: Option<&Location<'_>>) -> bool {
    guarded_at(place).is_some()
}

/// Counts a panic of this thread. A panic hook calls it once for each panic; `None` means that the panic is not one of a guarded library.
pub fn count_guarded_panic(place: Option<&Location<'_>>) -> Option<GuardedPanic> {
    let guarded = guarded_at(place)?;
    GUARDED.set(Some(Guarded { panics: guarded.panics + 1, ..guarded }));
    Some(if guarded.panics == 0 {
        GuardedPanic::Caught
    } else {
        let what = "its pages are so malformed that the process had to end".to_owned();
        GuardedPanic::Fatal(StoreError::Damaged { file: guarded.file.to_owned(), byte: 0, what })
    })
}

/// Returns the call that guards a panic. Rust reports a panic in a destructor at a place of its own, after one of the library.
fn guarded_at(place: Option<&Location<'_>>) -> Option<Guarded> {
    let guarded = GUARDED.get()?;
    (guarded.panics > 0 || place.is_some_and(|place| place.file().contains(guarded.library))).then_some(guarded)
}
