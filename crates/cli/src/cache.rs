//! Cache of compiled guides and maps for later processes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use quayline_cache::{BYTES_MAX, Cache};

use crate::env_vars::{HOME, QUAYLINE_CACHE, XDG_CACHE_HOME};

/// The cache, if it is enabled; set once, before any command runs.
static CACHE: OnceLock<Option<Arc<Cache>>> = OnceLock::new();

/// Enables the cache unless `none` is true.
pub(crate) fn begin(none: bool) {
    let _ = CACHE.set(if none { None } else { of_environment() });
}

/// Returns the cache, if it is enabled.
pub(crate) fn cache() -> Option<Arc<Cache>> {
    CACHE.get().cloned().flatten()
}

fn of_environment() -> Option<Arc<Cache>> {
    let folder = folder(QUAYLINE_CACHE.value(), XDG_CACHE_HOME.value(), HOME.value())?;
    Some(Arc::new(Cache::new(folder, engine()?, BYTES_MAX)))
}

/// Returns the configured folder, or the default folder of the user. A relative path would refer to a different folder in each working directory.
fn folder(said: Option<OsString>, caches: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    match said {
        Some(word) if word == "off" => None,
        Some(path) => std::path::absolute(path).ok(),
        None => {
            let caches = caches.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".cache")))?;
            Some(caches.join("quayline"))
        }
    }
}

/// Returns an identification of this build, so that results of other builds are never read.
fn engine() -> Option<Vec<u8>> {
    let path = std::env::current_exe().ok()?;
    let meta = std::fs::metadata(&path).ok()?;
    let made = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), meta.len(), made.as_nanos()).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_what_is_said_or_the_users_own() {
        let folder = |said: Option<&str>, caches: Option<&str>, home: Option<&str>| {
            folder(said.map(Into::into), caches.map(Into::into), home.map(Into::into))
        };
        assert_eq!(folder(Some("off"), Some("/c"), Some("/h")), None);
        assert_eq!(folder(Some("/x/y"), Some("/c"), Some("/h")), Some("/x/y".into()));
        assert_eq!(folder(None, Some("/c"), Some("/h")), Some("/c/quayline".into()));
        assert_eq!(folder(None, Some("c"), Some("/h")), Some("/h/.cache/quayline".into()));
        assert_eq!(folder(None, None, None), None);
        assert!(folder(Some("here"), None, None).is_some_and(|path| path.is_absolute()));
    }
}
