//! Compiles modules from their sources with GnuCOBOL, if the module does not match the source.
//!
//! A record next to each module (`CARINQ.so.made`) has three kinds of digests: of the preprocessed source, with every COPY member, and the compiler's
//! options; of the module; and of each file. Times cannot decide, because a copybook that was checked out or copied may be older than the module and
//! still have different content.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use quayline_core::hex;

/// Source of a module, with the options of its compiler.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ModuleSource {
    /// PROGRAM-ID of the program.
    pub program: String,
    /// The COBOL source.
    pub file: PathBuf,
    /// Options of the compiler.
    pub options: Vec<String>,
    /// Folder of the project. The compiler runs in it, and searches it and `copybooks/` for copybooks.
    pub root: PathBuf,
}

/// Result of bringing a module up to date.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Compiled {
    /// Sources and copybooks of the module, and paths that do not exist yet and that the compiler would prefer to these files.
    pub files: Vec<PathBuf>,
    /// Whether the compiler had to run.
    pub is_new: bool,
}

impl ModuleSource {
    /// Compiles the module if it does not match its source.
    ///
    /// # Errors
    /// Why it cannot be compiled, in the compiler's words.
    pub fn bring_up_to_date(&self, module: &Path) -> Result<Compiled, String> {
        let record = Record::read(module);
        let expanded = match expand(self) {
            Ok(expanded) => expanded,
            Err(CannotExpand::NoCompiler) => {
                return match record {
                    Some(record) if record.holds(module) => {
                        Ok(Compiled { files: self.watched(record.files()), is_new: false })
                    }
                    // The module comes from elsewhere without its record, so only times are available.
                    None if is_newer(module, self) => Ok(Compiled { files: vec![self.file.clone()], is_new: false }),
                    _ => Err(NO_COMPILER.to_owned()),
                };
            }
            Err(CannotExpand::Refused(why)) => return Err(why),
        };
        let files = expanded.files.clone();
        if record.is_some_and(|record| record.made_of == expanded.digest && digest_of(module) == Some(record.module)) {
            return Ok(Compiled { files: self.watched(files), is_new: false });
        }
        let module_digest = compile(self, module)?;
        let depends = files.iter().filter_map(|path| Some((digest_of(path)?, path.clone()))).collect();
        Record { made_of: expanded.digest, module: module_digest, depends }.write(module)?;
        Ok(Compiled { files: self.watched(files), is_new: true })
    }

    /// Adds the places that the compiler searches first: a copybook that somebody puts there replaces another one.
    fn watched(&self, mut files: Vec<PathBuf>) -> Vec<PathBuf> {
        // COPY X takes X, X.CPY, X.cpy and so on, in this order, in each folder.
        let stems = files.iter().skip(1).filter_map(|path| path.file_stem()?.to_str());
        let mut names: Vec<String> =
            stems.flat_map(|stem| EXTENSIONS.map(|extension| format!("{stem}{extension}"))).collect();
        names.sort();
        names.dedup();
        let folders = [self.root.clone(), self.root.join("copybooks")];
        let places: Vec<PathBuf> =
            folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect();
        for place in places {
            if !files.contains(&place) {
                files.push(place);
            }
        }
        files
    }

    /// Compiles the source without keeping the result.
    ///
    /// # Errors
    /// Why it cannot be compiled, in the compiler's words.
    pub fn try_compile(&self) -> Result<(), String> {
        let folder = std::env::temp_dir();
        let beside = tempdir_in(&folder).map_err(|error| format!("{}: {}", folder.display(), error.kind()))?;
        let result = compile_to(self, &beside.join(format!("{}.so", self.program)));
        let _ = std::fs::remove_dir_all(&beside);
        result
    }

    /// Returns the recorded files whose changes may change a module.
    #[must_use]
    pub fn recorded_files(&self, module: &Path) -> Vec<PathBuf> {
        let files = Record::read(module).map(|record| record.files()).unwrap_or_default();
        if files.is_empty() { vec![self.file.clone()] } else { self.watched(files) }
    }

    /// Returns a shell command that compiles the module.
    #[must_use]
    pub fn by_hand(&self, module: &Path) -> String {
        let folder = module.parent().unwrap_or(Path::new("."));
        let words = command(self, module);
        let path = |path: &Path| quoted(&path.display().to_string());
        format!("cd {} && mkdir -p {} && {}", path(&self.root), path(folder), shown(&words))
    }
}

/// Extensions of copybooks that the compiler tries.
const EXTENSIONS: [&str; 7] = ["", ".CPY", ".cpy", ".CBL", ".cbl", ".COB", ".cob"];

/// Message for a missing compiler.
pub const NO_COMPILER: &str = "GnuCOBOL's cobc is not installed (on Debian: apt-get install gnucobol3)";

/// Returns whether the module is newer than its source and every copybook in the folders of the project.
fn is_newer(module: &Path, source: &ModuleSource) -> bool {
    let time = |path: &Path| -> Option<SystemTime> { std::fs::metadata(path).ok()?.modified().ok() };
    let Some(made) = time(module) else { return false };
    let folders = [source.root.clone(), source.root.join("copybooks")];
    let members = folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let is_copybook = |path: &Path| {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        ["cpy", "cbl", "cob", "copy", "inc"].contains(&extension.as_str())
    };
    let mut parts = members.map(|entry| entry.path()).filter(|path| is_copybook(path)).chain([source.file.clone()]);
    parts.all(|path| time(&path).is_none_or(|time| time <= made))
}

/// Preprocessed source of a module.
struct Expanded {
    digest: String,
    /// Source and copybooks, in the order of the text.
    files: Vec<PathBuf>,
}

enum CannotExpand {
    NoCompiler,
    Refused(String),
}

/// Expands COPY and REPLACE with the preprocessor of the compiler, because only the compiler knows where it finds copybooks.
fn expand(source: &ModuleSource) -> Result<Expanded, CannotExpand> {
    let mut command = Command::new("cobc");
    command.arg("-E");
    common(&mut command, source);
    let done = command.arg(&source.file).output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CannotExpand::NoCompiler,
        kind => CannotExpand::Refused(format!("cobc: {kind}")),
    })?;
    if !done.status.success() {
        return Err(CannotExpand::Refused(said(&done.stderr)));
    }
    let mut files: Vec<PathBuf> = vec![source.file.clone()];
    for line in done.stdout.split(|byte| *byte == b'\n') {
        let Some(name) = line.strip_prefix(b"#line ").and_then(|rest| rest.split(|byte| *byte == b'"').nth(1)) else {
            continue;
        };
        let path = source.root.join(std::ffi::OsStr::from_bytes(name));
        if !files.contains(&path) {
            files.push(path);
        }
    }
    let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
    for option in &source.options {
        digest.update(option.as_bytes());
        digest.update(b"\0");
    }
    digest.update(&done.stdout);
    Ok(Expanded { digest: hex(digest.finish().as_ref()), files })
}

fn digest_of(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(hex(ring::digest::digest(&ring::digest::SHA256, &bytes).as_ref()))
}

/// Record of the inputs of a module, version 1. Each line has a word, a SHA-256 digest and, for files, a path.
struct Record {
    made_of: String,
    module: String,
    depends: Vec<(String, PathBuf)>,
}

impl Record {
    const HEAD: &str = "what this module was made of, version 1";

    fn path(module: &Path) -> PathBuf {
        let mut name = module.as_os_str().to_owned();
        name.push(".made");
        PathBuf::from(name)
    }

    fn read(module: &Path) -> Option<Record> {
        let text = std::fs::read_to_string(Record::path(module)).ok()?;
        let mut lines = text.lines();
        if lines.next() != Some(Record::HEAD) {
            return None;
        }
        let made_of = lines.next()?.strip_prefix("made-of ")?.to_owned();
        let digest = lines.next()?.strip_prefix("module ")?.to_owned();
        let depends = lines.map(|line| {
            let (digest, path) = line.strip_prefix("file ")?.split_once(' ')?;
            Some((digest.to_owned(), PathBuf::from(path)))
        });
        Some(Record { made_of, module: digest, depends: depends.collect::<Option<Vec<_>>>()? })
    }

    fn write(&self, module: &Path) -> Result<(), String> {
        let mut text = format!("{}\nmade-of {}\nmodule {}\n", Record::HEAD, self.made_of, self.module);
        for (digest, path) in &self.depends {
            text.push_str(&format!("file {digest} {}\n", path.display()));
        }
        let path = Record::path(module);
        let new = path.with_extension(format!("made-{}", std::process::id()));
        let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path));
        written.map_err(|error| format!("{}: {}", path.display(), error.kind()))
    }

    /// Returns whether the module and each file match the record.
    fn holds(&self, module: &Path) -> bool {
        digest_of(module).as_ref() == Some(&self.module)
            && self.depends.iter().all(|(digest, path)| digest_of(path).as_ref() == Some(digest))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.depends.iter().map(|(_, path)| path.clone()).collect()
    }
}

/// Adds the options, the folders of copybooks and the working folder of the compiler.
fn common(command: &mut Command, source: &ModuleSource) {
    command.args(&source.options);
    for folder in [source.root.clone(), source.root.join("copybooks")] {
        if folder.is_dir() {
            command.arg("-I").arg(folder);
        }
    }
    command.current_dir(&source.root);
}

fn command(source: &ModuleSource, module: &Path) -> Command {
    let mut command = Command::new("cobc");
    command.arg("-m");
    common(&mut command, source);
    command.arg("-o").arg(module).arg(&source.file);
    command
}

/// Compiles next to the module and then renames the file, so no process loads a partial module.
fn compile(source: &ModuleSource, module: &Path) -> Result<String, String> {
    let folder = module.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {}", folder.display(), error.kind()))?;
    let beside = tempdir_in(folder).map_err(|error| format!("{}: {}", folder.display(), error.kind()))?;
    let made = beside.join(format!("{}.so", source.program));
    let result = compile_to(source, &made).and_then(|()| {
        // Another process may compile to the same name a moment later.
        let digest = digest_of(&made).ok_or_else(|| format!("{} cannot be read", made.display()))?;
        std::fs::rename(&made, module).map_err(|error| format!("{}: {}", module.display(), error.kind()))?;
        Ok(digest)
    });
    let _ = std::fs::remove_dir_all(&beside);
    result
}

fn compile_to(source: &ModuleSource, made: &Path) -> Result<(), String> {
    match command(source, made).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(NO_COMPILER.to_owned()),
        Err(error) => Err(format!("cobc: {}", error.kind())),
        Ok(done) if !done.status.success() => Err(said(&done.stderr)),
        Ok(_) if !has_entry(made, &source.program) => Err(format!(
            "it has no program {}: its PROGRAM-ID is another name, or has other letter case",
            source.program
        )),
        Ok(_) => Ok(()),
    }
}

/// Finds the module that a call of a program loads: the first `PROGRAM.so` of the folders.
#[must_use]
pub fn module_of(folders: &[PathBuf], program: &str) -> Option<PathBuf> {
    let name = format!("{program}.so");
    folders.iter().map(|folder| folder.join(&name)).find(|module| module.is_file())
}

/// Returns whether a module has an entry point of a name among its symbols.
#[must_use]
pub fn has_entry(module: &Path, program: &str) -> bool {
    // As cobc writes it: two underscores for a hyphen, and one before a digit at the start.
    let mut symbol = program.replace('-', "__");
    if symbol.starts_with(|first: char| first.is_ascii_digit()) {
        symbol.insert(0, '_');
    }
    std::fs::read(module).is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|name| name == symbol.as_bytes()))
}

/// Decodes the compiler's messages: UTF-8, or Latin-1 if they quote other bytes of a source.
fn said(stderr: &[u8]) -> String {
    let text =
        core::str::from_utf8(stderr).map_or_else(|_| stderr.iter().copied().map(char::from).collect(), str::to_owned);
    format!("cobc says\n{}", text.trim_end())
}

/// Creates a folder for this process only.
fn tempdir_in(folder: &Path) -> std::io::Result<PathBuf> {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = folder.join(format!(".compile-{}-{number}", std::process::id()));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            // Left by a killed process with this id: in containers, all have the same one.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1_000 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Formats the command as one would type it.
fn shown(command: &Command) -> String {
    let words = core::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new copybook in a folder that the compiler searches first was not noticed.
    #[test]
    fn places_that_the_compiler_searches_are_watched_too() {
        let root = PathBuf::from("/project");
        let file = root.join("program.cbl");
        let source =
            ModuleSource { program: "P".to_owned(), file: file.clone(), options: Vec::new(), root: root.clone() };
        let found = source.watched(vec![file.clone(), root.join("copybooks/area.cpy"), root.join("other/x.cpy")]);
        for path in
            ["program.cbl", "copybooks/area.cpy", "other/x.cpy", "area.cpy", "area", "copybooks/area.CPY", "x.cob"]
        {
            assert_eq!(found.iter().filter(|found| **found == root.join(path)).count(), 1, "{path} of {found:?}");
        }
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        assert_eq!(["-O2", "a b", "x;y", "it's"].map(quoted), ["-O2", "'a b'", "'x;y'", "'it'\\''s'"]);
    }
}
