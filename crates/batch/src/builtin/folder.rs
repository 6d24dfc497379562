//! `quayline.folderReader` and `quayline.transferBatchlet`: unchanged files.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use quayline_core::system_error_text;
use xxhash_rust::xxh3::Xxh3;

use super::limits::limits;
use super::partial::Partial;
use crate::artifact::{Answer, Batchlet, Injected, Item, Lent, Reader};
use crate::context::StopSignal;
use crate::error::Thrown;
use crate::work::Work;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Creates the error for a file or folder that the system refuses.
pub(super) fn io(path: &Path, doing: &str, error: &std::io::Error) -> Thrown {
    let message = format!("{} cannot be {doing}: {}", path.display(), system_error_text(error));
    Thrown::of(&["java.io.IOException", "quayline.Environment"], message)
        .hint("check the path and the permissions; relative paths begin at the project's folder")
}

/// Returns true if a name matches a pattern with `*` and `?`.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // For each star, only the last position is tried again, so the time is bounded by the product of the lengths.
    let (mut at, mut of, mut star) = (0, 0, None);
    while at < name.len() {
        match pattern.get(of) {
            Some(b'*') => {
                star = Some((of, at));
                of += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[at] => {
                at += 1;
                of += 1;
            }
            _ => {
                let Some((back, from)) = star else { return false };
                star = Some((back, from + 1));
                at = from + 1;
                of = back + 1;
            }
        }
    }
    pattern[of..].iter().all(|byte| *byte == b'*')
}

/// Returns true for a file. An entry that is missing, because another process has removed it or a link leads nowhere, is not one.
fn is_file(path: &Path) -> Answer<bool> {
    match fs::metadata(path) {
        Ok(facts) => Ok(facts.is_file()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io(path, "read", &error)),
    }
}

/// Files of a folder in the order of their names, one item each.
pub(super) struct FolderReader {
    folder: PathBuf,
    pattern: Vec<u8>,
    bytes_max: u64,
    /// Names that are left, the last one first.
    left: Vec<Vec<u8>>,
    /// The name that was read last.
    last: Option<Vec<u8>>,
    /// The name before it.
    before: Option<Vec<u8>>,
}

impl FolderReader {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        if let Some(step) = &with.step {
            step.set_items_are_files();
        }
        Ok(FolderReader {
            folder: with.path("folder")?,
            pattern: with.property("name").unwrap_or("*").as_bytes().to_vec(),
            bytes_max: limits(with)?.record_bytes_max as u64,
            left: Vec::new(),
            last: None,
            before: None,
        })
    }
}

impl Reader for FolderReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        self.last = checkpoint.map(<[u8]>::to_vec);
        self.left.clear();
        for entry in fs::read_dir(&self.folder).map_err(|error| io(&self.folder, "read", &error))? {
            let entry = entry.map_err(|error| io(&self.folder, "read", &error))?;
            let name = std::os::unix::ffi::OsStringExt::into_vec(entry.file_name());
            let is_left = self.last.as_ref().is_none_or(|last| name > *last);
            if is_left && fits(&self.pattern, &name) && is_file(&entry.path())? {
                self.left.push(name);
            }
        }
        self.left.sort_unstable_by(|one, other| other.cmp(one));
        Ok(())
    }

    fn read(&mut self, _work: &mut dyn Work) -> Answer<Option<Item>> {
        let Some(name) = self.left.pop() else { return Ok(None) };
        let path = self.folder.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&name));
        self.before = self.last.replace(name);
        let file = File::open(&path).map_err(|error| io(&path, "opened", &error))?;
        let mut item = Vec::new();
        file.take(self.bytes_max + 1).read_to_end(&mut item).map_err(|error| io(&path, "read", &error))?;
        if item.len() as u64 > self.bytes_max {
            let message = format!("{} has more than {} bytes", path.display(), self.bytes_max);
            return Err(Thrown::of(&["quayline.Rejected"], message)
                .hint("raise the property limit: `record-bytes=`, or read the file with quayline.fileReader"));
        }
        Ok(Some(item))
    }

    fn again(&mut self) -> Answer<()> {
        let name = std::mem::replace(&mut self.last, self.before.take());
        self.left.extend(name);
        Ok(())
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(self.last.as_deref().map(Lent::from))
    }

    fn left(&self) -> Option<u64> {
        Some(self.left.len() as u64)
    }
}

/// Copies or moves files.
pub(super) struct Transfer {
    from: PathBuf,
    to: PathBuf,
    /// Location from which those of the targets are made.
    outputs: Partial,
    is_move: bool,
    overwrites: bool,
    stop: StopSignal,
}

impl Transfer {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(Transfer {
            from: with.path("from")?,
            to: with.path("to")?,
            outputs: Partial::new(with, with.path("to")?),
            is_move: with.property("mode") == Some("move"),
            overwrites: with.property("existing") == Some("replace"),
            stop: with.job.stop.clone(),
        })
    }

    /// Files that the property `from` names: one, or those of a folder that fit the last part of the path.
    fn files(&self) -> Answer<Vec<PathBuf>> {
        let name = self.from.file_name().map(|name| std::os::unix::ffi::OsStrExt::as_bytes(name).to_vec());
        let name = name.unwrap_or_default();
        if !name.iter().any(|byte| matches!(byte, b'*' | b'?')) {
            // A move that a crash interrupted after the rename is already complete.
            return Ok(if self.from.exists() || !self.is_done(&self.from) {
                vec![self.from.clone()]
            } else {
                Vec::new()
            });
        }
        let folder = self.from.parent().unwrap_or_else(|| Path::new("."));
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).map_err(|error| io(folder, "read", &error))? {
            let entry = entry.map_err(|error| io(folder, "read", &error))?;
            let is_wanted = fits(&name, std::os::unix::ffi::OsStrExt::as_bytes(entry.file_name().as_os_str()));
            if is_wanted && is_file(&entry.path())? {
                files.push(entry.path());
            }
        }
        files.sort_unstable();
        Ok(files)
    }

    fn target(&self, from: &Path) -> PathBuf {
        if self.to.is_dir() {
            from.file_name().map_or_else(|| self.to.clone(), |name| self.to.join(name))
        } else {
            self.to.clone()
        }
    }

    fn is_done(&self, from: &Path) -> bool {
        self.is_move && self.target(from).is_file()
    }

    /// Refuses a target that is the source itself, or that exists with other content.
    fn check_target(&self, from: &Path, facts: &fs::Metadata, to: &Path) -> Answer<()> {
        let Ok(there) = fs::metadata(to) else { return Ok(()) };
        if (there.dev(), there.ino()) == (facts.dev(), facts.ino()) {
            let message = format!("{} is the file itself", to.display());
            return Err(Thrown::of(&["quayline.Configuration"], message).hint("name another place in the property to"));
        }
        if !self.overwrites && digest(to)? != digest(from)? {
            let message = format!("{} is there already, with other content", to.display());
            return Err(Thrown::of(&["java.nio.file.FileAlreadyExistsException", "quayline.Environment"], message)
                .hint("remove it, or set the property existing to replace"));
        }
        Ok(())
    }

    /// Copies a file to a temporary name, syncs and renames it, so that no reader sees a partial file. Returns `None` after a stop request.
    fn one(&self, from: &Path) -> Answer<Option<u64>> {
        let to = self.target(from);
        let mut source = File::open(from).map_err(|error| io(from, "opened", &error))?;
        let facts = source.metadata().map_err(|error| io(from, "read", &error))?;
        self.check_target(from, &facts, &to)?;
        // The lock is kept until the file has its name: another step or job that moves a file to the target fails, and its source stays.
        let output = self.outputs.at(to.clone());
        let partial = &output.partial;
        let mut target = output.locked(true)?;
        if let Err(refused) = self.check_target(from, &facts, &to) {
            // Another step or job has just finished the target.
            let _ = fs::remove_file(partial);
            return Err(refused);
        }
        target.set_len(0).map_err(|error| io(partial, "made", &error))?;
        let mut bytes = vec![0; COPY_BYTES];
        let mut copied = 0u64;
        loop {
            if self.stop.is_set() {
                // The next start copies it again.
                let _ = fs::remove_file(partial);
                return Ok(None);
            }
            let count = source.read(&mut bytes).map_err(|error| io(from, "read", &error))?;
            if count == 0 {
                break;
            }
            std::io::Write::write_all(&mut target, &bytes[..count]).map_err(|error| io(partial, "written", &error))?;
            copied += count as u64;
        }
        target.sync_all().map_err(|error| io(partial, "written", &error))?;
        fs::rename(partial, &to).map_err(|error| io(&to, "made", &error))?;
        if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| io(folder, "synced", &error))?;
        }
        if self.is_move {
            fs::remove_file(from).map_err(|error| io(from, "removed", &error))?;
        }
        Ok(Some(copied))
    }
}

fn digest(path: &Path) -> Answer<u64> {
    let mut file = File::open(path).map_err(|error| io(path, "opened", &error))?;
    let mut hasher = Xxh3::new();
    let mut bytes = vec![0; COPY_BYTES];
    loop {
        let count = file.read(&mut bytes).map_err(|error| io(path, "read", &error))?;
        if count == 0 {
            return Ok(hasher.digest());
        }
        hasher.update(&bytes[..count]);
    }
}

impl Batchlet for Transfer {
    fn process(&mut self) -> Answer<Option<String>> {
        let files = self.files()?;
        if files.len() > 1 && !self.to.is_dir() {
            let message = format!("{} files fit, and {} is not a folder", files.len(), self.to.display());
            return Err(
                Thrown::of(&["quayline.Configuration"], message).hint("name a folder that exists in the property to")
            );
        }
        let mut count = 0u64;
        for file in &files {
            if self.one(file)?.is_none() {
                return Ok(None);
            }
            count += 1;
        }
        Ok(Some(count.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_have_stars_and_question_marks() {
        for (pattern, name, fit) in [
            ("*", "", true),
            ("*.edi", "a.edi", true),
            ("*.edi", "a.edi.old", false),
            ("a?c*", "abcd", true),
            ("a?c", "ac", false),
            ("*a*b", "xaxaxb", true),
            ("*a*b", "xaxaxc", false),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), fit, "{pattern} {name}");
        }
        // The number of attempts grows with the product of the lengths, not exponentially.
        assert!(!fits(format!("{}c", "*a".repeat(50)).as_bytes(), "a".repeat(10_000).as_bytes()));
    }
}
