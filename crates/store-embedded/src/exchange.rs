//! One folder of a store for another, without a loss of files that are not the store's.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::medium::{Folder, Medium as _};

/// Returns true if the embedded engine creates files with this name.
fn is_of_store(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let number = name.strip_prefix("log-").and_then(|rest| rest.strip_suffix(".qls"));
    matches!(name, "lock" | "store.redb" | "store.redb.new")
        || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Lists the names in a folder that do not belong to a store, ascending. The list is empty if the folder does not exist.
///
/// # Errors
/// An error of the system.
pub fn foreign_files(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if !is_of_store(&entry.file_name()) || entry.file_type()?.is_dir() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    Ok(names)
}

/// Removes a folder with the files of a store.
///
/// # Errors
/// It has other files, or the system refuses.
pub(crate) fn remove_store(folder: &Path) -> io::Result<()> {
    if let Some(name) = foreign_files(folder)?.first() {
        let why = format!("{} has files that are not of a store, such as {}", folder.display(), name.display());
        return Err(io::Error::other(why));
    }
    // Under another name first: a folder that is removed in part must not look like one that an exchange replaced.
    let removed = beside(folder, REMOVED);
    remove_folder(&removed)?;
    match fs::rename(folder, &removed) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.and_then(|()| remove_folder(&removed)),
    }
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Suffix of the folder in which a restore builds its store.
const RESTORING: &str = ".restoring";
/// Suffix of the folder that an exchange replaces.
const REPLACED: &str = ".replaced";
/// Suffix of a folder of a store while it is removed.
const REMOVED: &str = ".removed";

/// Returns the folder beside `folder` in which a restore builds its store.
#[must_use]
pub fn restoring_folder(folder: &Path) -> PathBuf {
    beside(folder, RESTORING)
}

/// Appends a suffix to the folder's path, ignoring trailing slashes.
fn beside(folder: &Path, suffix: &str) -> PathBuf {
    let mut name = folder.components().collect::<PathBuf>().into_os_string();
    name.push(suffix);
    name.into()
}

/// Renames the folder of [`restoring_folder`] to `folder`. Other files of the old folder move into it, and the old store is removed.
///
/// ```text
///  1  folder            ─▶ folder.replaced     a crash after this step: recover_exchange takes it back
///  2  folder.restoring  ─▶ folder              after this one: recover_exchange does the rest
///  3  other files of folder.replaced ─▶ folder
///  4  folder.replaced  ─▶ folder.replaced.removed, which is removed
/// ```
///
/// # Errors
/// `folder.replaced` has files that do not belong to a store, or the system refuses. [`recover_exchange`] completes or undoes the steps done so far.
pub fn exchange_stores(folder: &Path) -> io::Result<()> {
    exchange_until(folder, &mut |_| Ok(()))
}

/// `after` is called after each step; an error of it simulates the end of the process.
fn exchange_until(folder: &Path, after: &mut dyn FnMut(u32) -> io::Result<()>) -> io::Result<()> {
    let (new, old) = (restoring_folder(folder), beside(folder, REPLACED));
    recover_exchange(folder)?;
    remove_store(&old)?;
    if folder.exists() {
        fs::rename(folder, &old)?;
    }
    after(1)?;
    fs::rename(new, folder)?;
    sync_parent(folder)?;
    after(2)?;
    move_foreign(folder, &old, after)?;
    remove_store(&old)?;
    sync_parent(folder)
}

/// Moves files that do not belong to a store from the replaced folder. A file whose name exists in the new folder is not moved.
fn move_foreign(folder: &Path, old: &Path, after: &mut dyn FnMut(u32) -> io::Result<()>) -> io::Result<()> {
    let names = foreign_files(old)?;
    for name in &names {
        let to = folder.join(name);
        if fs::symlink_metadata(&to).is_err() {
            fs::rename(old.join(name), to)?;
        }
        after(3)?;
    }
    if names.is_empty() { Ok(()) } else { fs::File::open(folder)?.sync_all() }
}

/// Result of [`recover_exchange`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Recovered {
    /// No exchange was interrupted.
    Nothing,
    /// An exchange had ended between its steps, before the new store had its place: the old one is back.
    TakenBack,
    /// An exchange had ended before the old store was removed.
    Finished,
}

/// Finishes an exchange that a crash ended, or takes it back where the new store does not have its place yet. Call it before a store is opened.
///
/// # Errors
/// Another process is in the middle of an exchange ([`io::ErrorKind::WouldBlock`]), the replaced folder has files whose names are in use in the new one, or
/// the system refuses.
pub fn recover_exchange(folder: &Path) -> io::Result<Recovered> {
    let old = beside(folder, REPLACED);
    let is_store = |path: &Path| path.join("store.redb").exists();
    // What a crash left of a store that was to be removed. Another process may be removing it.
    let _ = remove_folder(&beside(&old, REMOVED));
    let _ = remove_folder(&beside(&restoring_folder(folder), REMOVED));
    let is_of_exchange = is_store(&old) || (old.is_dir() && is_store(&restoring_folder(folder)));
    if !is_of_exchange {
        return Ok(Recovered::Nothing);
    }
    // The process that exchanges holds the lock of the folder that it replaces.
    let lock = Folder::new(&old).lock()?;
    let is_there = is_store(folder);
    let Some(_lock) = lock else {
        let why = format!("another process is restoring a store there; {} is the old one", old.display());
        return if is_there { Ok(Recovered::Nothing) } else { Err(io::Error::new(io::ErrorKind::WouldBlock, why)) };
    };
    // With a whole new store still in its place, the one that is there is not of the exchange: somebody made it later.
    if is_there && is_store(&restoring_folder(folder)) {
        let why = format!(
            "a restore did not end: {0} and {0}{RESTORING} and {0}{REPLACED} each hold a store; keep the one that you need, and move the others away",
            folder.display()
        );
        return Err(io::Error::other(why));
    }
    if is_there {
        move_foreign(folder, &old, &mut |_| Ok(()))?;
        remove_store(&old)?;
        sync_parent(folder)?;
        return Ok(Recovered::Finished);
    }
    // A folder that is there without a store has nothing of the exchange, which would have renamed it.
    if folder.exists() {
        let why =
            format!("{} has no store, but {} has one from a restore that did not end", folder.display(), old.display());
        return Err(io::Error::other(why));
    }
    fs::rename(&old, folder)?;
    sync_parent(folder)?;
    Ok(Recovered::TakenBack)
}

/// Makes the name of a file or folder durable.
///
/// # Errors
/// Those of the system.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => fs::File::open(".")?.sync_all(),
        Some(parent) => fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("quayline-exchange-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        root
    }

    fn prepared(root: &Path) -> PathBuf {
        for (path, text) in [
            ("data/store.redb", "old"),
            ("data/log-0000000007.qls", "old"),
            ("data/lock", ""),
            ("data/accounts.dat", "mine"),
            ("data/sub/p.txt", "mine too"),
            ("data.restoring/store.redb", "new"),
            ("data.restoring/log-0000000001.qls", "new"),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        root.join("data")
    }

    /// A restore deleted everything in the folder that it restored to.
    #[test]
    fn other_files_of_the_folder_stay() {
        let root = root("stay");
        let folder = prepared(&root);
        let (new, old) = (root.join("data.restoring"), root.join("data.replaced"));
        assert_eq!(foreign_files(&folder).unwrap(), ["accounts.dat", "sub"]);
        exchange_stores(&folder).unwrap();
        let text = |path: &str| fs::read_to_string(folder.join(path)).ok();
        assert_eq!((text("store.redb").as_deref(), text("log-0000000007.qls")), (Some("new"), None));
        assert_eq!((text("accounts.dat").as_deref(), text("sub/p.txt").as_deref()), (Some("mine"), Some("mine too")));
        assert!(!new.exists() && !old.exists());
        // What is there by another name than that of an exchange is not thrown away by one.
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join("log-abc.qls"), "mine").unwrap();
        fs::create_dir_all(&new).unwrap();
        let refused = exchange_stores(&folder).unwrap_err().to_string();
        assert!(refused.contains("log-abc.qls"), "{refused}");
        assert!(folder.join("store.redb").exists() && old.join("log-abc.qls").exists());
        fs::remove_dir_all(&root).unwrap();
    }

    /// A process that ended while it removed the replaced store left a folder without its tree, and each later restore ended in an error.
    #[test]
    fn a_store_that_is_removed_in_part_is_no_exchange() {
        let root = root("part");
        let folder = prepared(&root);
        let rest = root.join("data.replaced.removed");
        fs::create_dir_all(&rest).unwrap();
        fs::write(rest.join("log-0000000003.qls"), "rest").unwrap();
        assert_eq!(recover_exchange(&folder).unwrap(), Recovered::Nothing);
        assert!(!rest.exists() && folder.join("store.redb").exists());
        exchange_stores(&folder).unwrap();
        assert_eq!(fs::read_to_string(folder.join("store.redb")).unwrap(), "new");
        fs::remove_dir_all(&root).unwrap();
    }

    /// After a crash between the two renames, there was no data folder. The next command made an empty store, and the next restore removed the old one.
    #[test]
    fn an_exchange_that_ends_anywhere_leaves_the_old_store_or_the_new_one() {
        for stop in 0..5 {
            let root = root(&format!("stop-{stop}"));
            let folder = prepared(&root);
            let mut step = 0;
            let outcome = exchange_until(&folder, &mut |_| {
                step += 1;
                if step > stop { Err(io::Error::other("the process ends here")) } else { Ok(()) }
            });
            assert_eq!(outcome.is_ok(), stop == 4, "{stop}");
            let expected = [Recovered::TakenBack, Recovered::Finished, Recovered::Finished, Recovered::Finished];
            let expected = expected.get(stop).copied().unwrap_or(Recovered::Nothing);
            assert_eq!(recover_exchange(&folder).unwrap(), expected, "{stop}");
            let text = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
            assert_eq!(text("store.redb"), if stop == 0 { "old" } else { "new" }, "{stop}");
            assert_eq!((text("accounts.dat").as_str(), text("sub/p.txt").as_str()), ("mine", "mine too"), "{stop}");
            assert!(!root.join("data.replaced").exists(), "{stop}");
            assert_eq!(recover_exchange(&folder).unwrap(), Recovered::Nothing);
            // And the restore can be repeated.
            if stop == 0 {
                exchange_stores(&folder).unwrap();
                assert_eq!(text("store.redb"), "new");
            }
            fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn an_exchange_of_another_process_is_not_disturbed() {
        let root = root("other");
        let folder = prepared(&root);
        fs::rename(&folder, root.join("data.replaced")).unwrap();
        let lock = Folder::new(&root.join("data.replaced")).lock().unwrap();
        let refused = recover_exchange(&folder).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        assert!(refused.to_string().contains("data.replaced"), "{refused}");
        drop(lock);
        assert_eq!(recover_exchange(&folder).unwrap(), Recovered::TakenBack);
        fs::remove_dir_all(&root).unwrap();
    }
}
