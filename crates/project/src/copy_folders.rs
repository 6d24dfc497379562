//! Search for COPY members.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use quayline_cobol::copybook::{CopyError, CopyLibrary, SourceText};

/// Extensions a member may have, in the order in which they are tried; the empty one is the bare name.
const EXTENSIONS: [&str; 7] = ["cpy", "cbl", "cob", "copy", "inc", "txt", ""];

/// Folders that are searched for COPY members, in order.
///
/// A member `CUST` or `"CUST"` is a file `CUST.cpy`, `.cbl`, `.cob`, `.copy`, `.inc`, `.txt` or without extension, in upper or lower case.
/// A name written with an extension is also tried unchanged. For `COPY CUST OF LIB` (or `IN LIB`), the sub-folder `LIB` of each folder is searched
/// first, followed by the folder. A file with exactly that name takes precedence over one that differs in case. `"SUB/CUST.cpy"` is searched in the
/// sub-folder `SUB` of each folder. No member may lead out of the folders.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CopyFolders {
    folders: Vec<PathBuf>,
}

/// A member that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CopyMember {
    /// The file.
    pub path: PathBuf,
    /// Text of the member: UTF-8, or Latin-1 if it is not UTF-8 (as in old comments), so that every byte is a character.
    pub text: String,
}

impl CopyFolders {
    /// Looks in these folders, in this order.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        CopyFolders { folders }
    }

    /// Returns the folders in search order.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Finds a member by its name and optional library.
    ///
    /// # Errors
    /// A folder or file that is there but cannot be read; `Ok(None)` where no folder has the member.
    pub fn find(&self, member: &str, library: Option<&str>) -> io::Result<Option<CopyMember>> {
        for folder in &self.folders {
            if let Some(library) = library
                && let Some(sub) = find_entry(folder, library, &[""], EntryKind::Folder)?
                && let Some(path) = find_member(&sub, member)?
            {
                return read_source(&path).map(|text| Some(CopyMember { path, text }));
            }
            if let Some(path) = find_member(folder, member)? {
                return read_source(&path).map(|text| Some(CopyMember { path, text }));
            }
        }
        Ok(None)
    }
}

/// Splits the name of a member into the sub-folders that it names and the name of its file; `None` if it leads out of a folder.
fn parts_of(member: &str) -> Option<(Vec<&str>, &str)> {
    let mut parts: Vec<&str> = member.split(['/', '\\']).collect();
    let name = parts.pop()?;
    let leads_out = parts.first() == Some(&"") || parts.contains(&"..");
    parts.retain(|part| !part.is_empty() && *part != ".");
    (!leads_out).then_some((parts, name))
}

fn find_member(folder: &Path, member: &str) -> io::Result<Option<PathBuf>> {
    let Some((parts, name)) = parts_of(member) else { return Ok(None) };
    let mut at = folder.to_owned();
    for part in parts {
        let Some(sub) = find_entry(&at, part, &[""], EntryKind::Folder)? else { return Ok(None) };
        at = sub;
    }
    find_entry(&at, name, &EXTENSIONS, EntryKind::File)
}

impl CopyLibrary for CopyFolders {
    fn member(&self, member: &str, library: Option<&str>) -> Result<SourceText, CopyError> {
        match self.find(member, library) {
            Ok(Some(found)) => Ok(SourceText::new(found.path.display().to_string(), found.text)),
            Ok(None) if parts_of(member).is_none() => {
                let reason = "its path leads out of the folders that are searched".to_owned();
                Err(CopyError::Unreadable { name: member.to_owned(), reason })
            }
            Ok(None) => Err(CopyError::NotFound { tried: self.tried(member, library) }),
            Err(error) => Err(CopyError::Unreadable { name: member.to_owned(), reason: error.to_string() }),
        }
    }
}

impl CopyFolders {
    /// Returns the paths that were tried, as a user would write them.
    fn tried(&self, member: &str, library: Option<&str>) -> Vec<String> {
        // A name with an extension is a whole file name in the first place.
        let forms = if member.contains('.') { "" } else { ".cpy (or .cbl, .cob, .copy, .inc, .txt, none)" };
        let names = |folder: &Path| format!("{}{forms}", folder.join(member).display());
        let mut tried = Vec::new();
        for folder in &self.folders {
            tried.extend(library.map(|library| names(&folder.join(library))));
            tried.push(names(folder));
        }
        tried
    }
}

/// Members of folders for one compilation, and the files on which the result depends.
#[derive(Debug)]
pub struct CopyMembers {
    folders: CopyFolders,
    files: RefCell<Vec<PathBuf>>,
}

impl CopyMembers {
    /// Looks in these folders, in this order.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        CopyMembers { folders: CopyFolders::new(folders), files: RefCell::default() }
    }

    /// Members that were found, and files that would be found instead of them but do not exist. If one of these appears, the result changes.
    #[must_use]
    pub fn into_files(self) -> Vec<PathBuf> {
        let mut files = self.files.into_inner();
        files.sort();
        files.dedup();
        files
    }
}

impl CopyLibrary for CopyMembers {
    fn member(&self, member: &str, library: Option<&str>) -> Result<SourceText, CopyError> {
        let text = self.folders.member(member, library)?;
        // Folders name a text by its path.
        let found = Path::new(&*text.name);
        let mut files = self.files.borrow_mut();
        for folder in &self.folders.folders {
            for folder in library.map(|library| folder.join(library)).into_iter().chain([folder.clone()]) {
                let (parts, name) = parts_of(member).unwrap_or_default();
                let folder = parts.iter().fold(folder, |folder, part| folder.join(part));
                let places = file_names(name, &EXTENSIONS).into_iter().map(|name| folder.join(name));
                files.extend(places.take_while(|place| place != found));
                if found.parent() == Some(&folder) {
                    files.push(found.to_owned());
                    return Ok(text);
                }
            }
        }
        // The folder of the library has a name in other letters.
        files.push(found.to_owned());
        Ok(text)
    }
}

/// Maximum length of a text that describes data. 64 MiB: the largest guides and schemas have some 10.
const DEFINITION_BYTES_MAX: usize = 64 << 20;

/// Reads a file that describes data, such as a copybook. Data that is named by mistake does not fill the memory.
///
/// # Errors
/// The file system's, and a file longer than 64 MiB.
pub fn read_definition(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(DEFINITION_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > DEFINITION_BYTES_MAX {
        return Err(io::Error::other("it has more than 64 MiB, so it is data and not a description of data"));
    }
    Ok(bytes)
}

/// Reads COBOL source: UTF-8, or Latin-1 where it is not UTF-8.
///
/// # Errors
/// Those of [`read_definition`].
pub fn read_source(path: &Path) -> io::Result<String> {
    let bytes = read_definition(path)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().map(|b| char::from(*b)).collect()))
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum EntryKind {
    File,
    Folder,
}

/// Names of files that a member may have, in the order in which they are tried.
fn file_names(name: &str, extensions: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for extension in extensions {
        if extension.is_empty() {
            names.push(name.to_owned());
        } else {
            names.push(format!("{name}.{extension}"));
            names.push(format!("{name}.{}", extension.to_uppercase()));
        }
    }
    if name.contains('.') {
        names.rotate_right(1);
    }
    names
}

fn find_entry(folder: &Path, name: &str, extensions: &[&str], kind: EntryKind) -> io::Result<Option<PathBuf>> {
    // A member's name is one name: it must not lead out of the folder.
    if name.is_empty() || name.contains(['/', '\\', '\0']) || name == "." || name == ".." {
        return Ok(None);
    }
    let right_kind = |path: &Path| match kind {
        EntryKind::File => path.is_file(),
        EntryKind::Folder => path.is_dir(),
    };
    let wanted = file_names(name, extensions);
    for exact in &wanted {
        let path = folder.join(exact);
        if right_kind(&path) {
            return Ok(Some(path));
        }
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut best: Option<(usize, PathBuf)> = None;
    for entry in entries {
        let path = entry?.path();
        let Some(file_name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        let Some(rank) = wanted.iter().position(|w| w.eq_ignore_ascii_case(file_name)) else { continue };
        let nearer = best.as_ref().is_none_or(|(known, other)| (rank, &path) < (*known, other));
        if nearer && right_kind(&path) {
            best = Some((rank, path));
        }
    }
    Ok(best.map(|(_, path)| path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: Quayline did not notice a new member in a folder that it searches first.
    #[test]
    fn members_that_would_be_found_first_are_files_of_the_result() {
        let folder = tempfile::tempdir().unwrap();
        let (own, shared) = (folder.path().join("own"), folder.path().join("shared"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&shared).unwrap();
        fs::write(shared.join("AREA.cbl"), "01 A PIC X.").unwrap();
        let files = || {
            let members = CopyMembers::new(vec![own.clone(), shared.clone()]);
            let text = members.member("AREA", Some("LIB")).unwrap();
            (PathBuf::from(&*text.name), members.into_files())
        };
        let (found, before) = files();
        assert_eq!(found, shared.join("AREA.cbl"));
        for place in [own.join("LIB/AREA.cpy"), own.join("AREA"), shared.join("LIB/AREA.inc"), shared.join("AREA.CPY")]
        {
            assert!(before.contains(&place), "{} of {before:?}", place.display());
        }
        assert!(before.contains(&found) && !before.contains(&shared.join("AREA.cob")), "{before:?}");
        // Each of these is found instead of the one before.
        for place in before.iter().filter(|place| **place != found) {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, "01 B PIC X.").unwrap();
            assert_eq!(&files().0, place);
            fs::remove_file(place).unwrap();
        }
    }
}
