//! Destination of an output name: a file that is replaced as a whole, or a pipe or device that is written directly.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, Place};

use crate::codes;
use crate::error::ConvertError;

/// Destination of an output name. Code that writes a file determines it first, because a rename would replace a pipe or a device.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Destination {
    /// A regular file, or nothing yet: it is written beside itself and takes its name when it is complete. The path is that of the file
    /// itself: links are followed, so that they stay.
    File(PathBuf),
    /// A pipe, a character device, a socket, or an open file of the process (`/dev/stdout`, `/dev/fd/3`): it is written as bytes are made, and
    /// nothing is created beside it or renamed.
    Stream,
}

impl Destination {
    /// Inspects the path.
    ///
    /// # Errors
    /// The path is a folder or a disk (`CNV-015`), or cannot be inspected.
    pub fn of(path: &Path) -> Result<Destination, ConvertError> {
        let io = || ConvertError::io("open", path);
        match fs::metadata(path) {
            Ok(found) if found.is_file() => {
                let (real, is_open_file) = follow(path).map_err(io())?;
                Ok(if is_open_file { Destination::Stream } else { Destination::File(real) })
            }
            Ok(found) if found.is_dir() => Err(no_file(path, "a folder", "name a file in it")),
            Ok(found) if is_disk(&found) => Err(no_file(path, "a disk", "name a file")),
            Ok(_) => Ok(Destination::Stream),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Destination::File(follow(path).map_err(io())?.0))
            }
            Err(error) => Err(io()(error)),
        }
    }

    /// Returns true if output there can be truncated or resumed, unlike a pipe or device. If the path cannot be inspected, opening it reports the
    /// error.
    #[must_use]
    pub fn is_file(path: &Path) -> bool {
        matches!(Destination::of(path), Ok(Destination::File(_)))
    }
}

/// Opens a target that is not a regular file. Opening a pipe waits for its reader.
pub(crate) fn open_stream(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    if let Ok(found) = fs::metadata(path)
        && std::os::unix::fs::FileTypeExt::is_socket(&found.file_type())
    {
        return std::os::unix::net::UnixStream::connect(path)
            .map(|socket| File::from(std::os::fd::OwnedFd::from(socket)));
    }
    // An open file of this process is continued, as a shell's `>` and `>>` do.
    OpenOptions::new().append(true).open(path)
}

/// Returns the name of a file while it is incomplete. It is in the folder of the target of all links.
#[must_use]
pub fn partial_path(path: &Path) -> PathBuf {
    with_suffix(&real_path(path), ".partial")
}

/// Returns the file to which a name leads.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    follow(path).map_or_else(|_| path.to_owned(), |(real, _)| real)
}

/// Opens a file that will be renamed. An existing regular file of that name is overwritten. Other files are refused, because a link could
/// make Quayline write anywhere.
pub(crate) fn create_beside(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something is there that is not a regular file"));
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Appends a suffix to the last component of `path`.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Follows links, including a link to a missing file. Returns true if one of them is an open file of a process, which has no name.
fn follow(path: &Path) -> io::Result<(PathBuf, bool)> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else { return Ok((path, false)) };
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let real_folder = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder }.canonicalize();
        if real_folder.is_ok_and(|folder| folder.starts_with("/proc")) {
            return Ok((path, true));
        }
        path = folder.join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Maximum number of links to follow, as in Linux.
const LINKS_MAX: usize = 40;

fn is_disk(found: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type());
    #[cfg(not(unix))]
    return false;
}

fn no_file(path: &Path, what: &str, hint: &str) -> ConvertError {
    let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
    let message = format!("{what} cannot be written as a file");
    Finding::error(codes::NOT_A_FILE, Fault::Caller, message).at(place).hint(hint).into()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_file_and_nothing_else_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/file"), "x").unwrap();
        link("sub/file", "one");
        link("one", "two");
        link("sub/new", "dangling");
        link("sub", "folder");
        link("loop", "loop");
        let of = |name: &str| Destination::of(&at(name));
        assert_eq!(of("new").unwrap(), Destination::File(at("new")));
        assert_eq!(of("two").unwrap(), Destination::File(at("sub/file")));
        assert_eq!(of("dangling").unwrap(), Destination::File(at("sub/new")));
        assert_eq!(partial_path(&at("two")), at("sub/file.partial"));
        for folder in ["sub", "folder"] {
            assert_eq!(of(folder).unwrap_err().findings().0[0].code, codes::NOT_A_FILE);
        }
        assert!(of("loop").is_err());
        let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(of("socket").unwrap(), Destination::Stream);
        drop(socket);
        // What a partial file may not overwrite.
        for (name, may) in [("one", false), ("sub", false), ("socket", false), ("sub/file", true), ("absent", true)] {
            assert_eq!(create_beside(&at(name)).is_ok(), may, "{name}");
        }
    }
}
