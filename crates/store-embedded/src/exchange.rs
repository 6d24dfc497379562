//! One folder of a store for another, without a loss of files that are not the store's.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::{fs, io};

/// Whether the embedded engine makes files of this name.
fn is_of_store(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let number = name.strip_prefix("log-").and_then(|rest| rest.strip_suffix(".qls"));
    matches!(name, "lock" | "store.redb" | "store.redb.new")
        || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Names in a folder that are not of a store, ascending. None if there is no such folder.
///
/// # Errors
/// Those of the system.
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
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Gives the folder `new` the name of `folder`, whose other files move into it, and removes the old store. `old` is the name that the old folder has
/// meanwhile: after a crash, it has whatever is not in `folder`.
///
/// # Errors
/// A folder of that name has files that are not of a store, or the system refuses.
pub fn exchange_stores(folder: &Path, new: &Path, old: &Path) -> io::Result<()> {
    remove_store(old)?;
    if folder.exists() {
        fs::rename(folder, old)?;
    }
    fs::rename(new, folder)?;
    for name in foreign_files(old)? {
        fs::rename(old.join(&name), folder.join(&name))?;
    }
    sync_parent(folder)?;
    remove_store(old)
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

    /// A restore deleted everything in the folder that it restored to.
    #[test]
    fn other_files_of_the_folder_stay() {
        let root = std::env::temp_dir().join(format!("quayline-exchange-{}", std::process::id()));
        let (folder, new, old) = (root.join("data"), root.join("data.restoring"), root.join("data.replaced"));
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
        assert_eq!(foreign_files(&folder).unwrap(), ["accounts.dat", "sub"]);
        exchange_stores(&folder, &new, &old).unwrap();
        let text = |path: &str| fs::read_to_string(folder.join(path)).ok();
        assert_eq!((text("store.redb").as_deref(), text("log-0000000007.qls")), (Some("new"), None));
        assert_eq!((text("accounts.dat").as_deref(), text("sub/p.txt").as_deref()), (Some("mine"), Some("mine too")));
        assert!(!new.exists() && !old.exists());
        // What an interrupted exchange left is not thrown away by the next one.
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join("log-abc.qls"), "mine").unwrap();
        fs::create_dir_all(&new).unwrap();
        let refused = exchange_stores(&folder, &new, &old).unwrap_err().to_string();
        assert!(refused.contains("log-abc.qls"), "{refused}");
        assert!(folder.join("store.redb").exists() && old.join("log-abc.qls").exists());
        fs::remove_dir_all(&root).unwrap();
    }
}
