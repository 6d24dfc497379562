//! Panics of a library that meets a damaged file.
//!
//! redb checks its pages by debug assertions only. In a release, a damaged page makes it panic, which [`guarded`] turns into an error. On a few pages, redb
//! panics again while it unwinds. Rust ends the process then, and only the panic hook can still name the damage.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::StoreError;

thread_local! {
    /// The guarded file and the number of panics since [`guarded`] began.
    static GUARDED: Cell<Option<(&'static str, u32)>> = const { Cell::new(None) };
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

/// Calls a function that reads or writes a file through a library. A panic returns [`StoreError::Damaged`] with `what`.
///
/// # Errors
///
/// Those of the function, and damage of the file.
pub fn guarded<T>(
    file: &'static str,
    what: &'static str,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let outer = GUARDED.replace(Some((file, 0)));
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    done.unwrap_or_else(|_| Err(StoreError::Damaged { file: file.to_owned(), byte: 0, what: what.to_owned() }))
}

/// Returns true while this thread is inside [`guarded`].
#[must_use]
pub fn is_guarded() -> bool {
    GUARDED.get().is_some()
}

/// Counts a panic of this thread. A panic hook calls it once for each panic; `None` means that the panic happened outside of [`guarded`].
pub fn count_guarded_panic() -> Option<GuardedPanic> {
    let (file, panics) = GUARDED.get()?;
    GUARDED.set(Some((file, panics + 1)));
    Some(if panics == 0 {
        GuardedPanic::Caught
    } else {
        let what = "its pages are so malformed that the process had to end".to_owned();
        GuardedPanic::Fatal(StoreError::Damaged { file: file.to_owned(), byte: 0, what })
    })
}
