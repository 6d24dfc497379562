//! Programs whose source a service names are compiled by GnuCOBOL when the module is not what the source makes of it.
//!
//! A record beside each module (`CARINQ.so.made`) says what it was made of: a digest of the preprocessed source, which has every COPY member
//! in it, and of the compiler's options; the digest of the module; and the digest of each file. Digests and not times decide, since a copybook
//! that is checked out or copied may be older than the module and still be another one.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use quayline_core::hex;
use quayline_gateway::{Definitions, ProgramSource, ProgramSpec, ProviderSpec};

/// What became of the modules of all services.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Modules that are not what their source makes, and why they could not be made.
    pub(crate) stale: Vec<(PathBuf, String)>,
    /// Sources and copybooks that modules are made of.
    pub(crate) files: Vec<PathBuf>,
}

/// Compiles what has to be. What cannot be is told to `log`, with the command that does it.
pub(crate) fn compile_programs(definitions: &Definitions, log: &dyn Fn(&str)) -> Made {
    let mut made = Made::default();
    let mut done: Vec<PathBuf> = Vec::new();
    for service in &definitions.services {
        let ProviderSpec::Program(spec) = &service.provider else { continue };
        let (Some(source), Some(folder)) = (&spec.source, spec.modules.first()) else { continue };
        let module = spec.made_module().unwrap_or_default();
        if done.contains(&module) {
            continue;
        }
        match bring_up_to_date(spec, source, &module) {
            Ok(Outcome { files, compiled }) => {
                if compiled {
                    log(&format!("{} is compiled to {}", source.file.display(), module.display()));
                }
                made.files.extend(files);
            }
            Err(why) => {
                log(&format!(
                    "{} is not compiled: {why}; to compile it by hand: cd {} && mkdir -p {} && {}",
                    source.file.display(),
                    source.root.display(),
                    folder.display(),
                    shown(&command(source, &module))
                ));
                made.files.push(source.file.clone());
                made.files.extend(Record::read(&module).map(|record| record.files()).unwrap_or_default());
                made.stale.push((module.clone(), format!("{} is not compiled: {why}", source.file.display())));
            }
        }
        done.push(module);
    }
    made
}

struct Outcome {
    files: Vec<PathBuf>,
    compiled: bool,
}

fn bring_up_to_date(spec: &ProgramSpec, source: &ProgramSource, module: &Path) -> Result<Outcome, String> {
    let record = Record::read(module);
    let expanded = match expand(source) {
        Ok(expanded) => expanded,
        Err(CannotExpand::NoCompiler) => {
            return match record {
                Some(record) if record.holds(module) => Ok(Outcome { files: record.files(), compiled: false }),
                // Made elsewhere, and brought here without its record: times are all there is.
                None if is_newer(module, source) => Ok(Outcome { files: vec![source.file.clone()], compiled: false }),
                _ => Err(NO_COMPILER.to_owned()),
            };
        }
        Err(CannotExpand::Refused(why)) => return Err(why),
    };
    let files = expanded.files.clone();
    if record.is_some_and(|record| record.made_of == expanded.digest && digest_of(module) == Some(record.module)) {
        return Ok(Outcome { files, compiled: false });
    }
    compile(spec, source, module)?;
    let module_digest = digest_of(module).ok_or_else(|| format!("{} cannot be read", module.display()))?;
    let depends = files.iter().filter_map(|path| Some((digest_of(path)?, path.clone()))).collect();
    Record { made_of: expanded.digest, module: module_digest, depends }.write(module)?;
    Ok(Outcome { files, compiled: true })
}

pub(crate) const NO_COMPILER: &str = "GnuCOBOL's cobc is not installed (on Debian: apt-get install gnucobol3)";

/// Whether the module is newer than its source and every copybook of the project's folders.
fn is_newer(module: &Path, source: &ProgramSource) -> bool {
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

/// What a module is made of.
struct Expanded {
    digest: String,
    /// The source and all that it copies, in the order of the text.
    files: Vec<PathBuf>,
}

enum CannotExpand {
    NoCompiler,
    Refused(String),
}

/// Lets the compiler's preprocessor expand COPY and REPLACE, so that what it finds counts, wherever it looks.
fn expand(source: &ProgramSource) -> Result<Expanded, CannotExpand> {
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

/// What a module was made of, version 1: a line each of a word, a SHA-256 digest and, for files, a path.
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
        std::fs::write(&path, text).map_err(|error| format!("{}: {}", path.display(), error.kind()))
    }

    /// Whether the module and each file are those of the record.
    fn holds(&self, module: &Path) -> bool {
        digest_of(module).as_ref() == Some(&self.module)
            && self.depends.iter().all(|(digest, path)| digest_of(path).as_ref() == Some(digest))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.depends.iter().map(|(_, path)| path.clone()).collect()
    }
}

/// Options, folders of copybooks, and where the compiler runs.
fn common(command: &mut Command, source: &ProgramSource) {
    command.args(&source.options);
    for folder in [source.root.clone(), source.root.join("copybooks")] {
        if folder.is_dir() {
            command.arg("-I").arg(folder);
        }
    }
    command.current_dir(&source.root);
}

fn command(source: &ProgramSource, module: &Path) -> Command {
    let mut command = Command::new("cobc");
    command.arg("-m");
    common(&mut command, source);
    command.arg("-o").arg(module).arg(&source.file);
    command
}

/// Beside the module first, so that nobody loads half of it.
/// Whether a source compiles; nothing of it is kept.
pub(crate) fn try_compile(spec: &ProgramSpec, source: &ProgramSource) -> Result<(), String> {
    let folder = std::env::temp_dir();
    let beside = tempdir_in(&folder).map_err(|error| format!("{}: {}", folder.display(), error.kind()))?;
    let result = compile_to(source, &beside.join(format!("{}.so", spec.program)));
    let _ = std::fs::remove_dir_all(&beside);
    result
}

fn compile(spec: &ProgramSpec, source: &ProgramSource, module: &Path) -> Result<(), String> {
    let folder = module.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {}", folder.display(), error.kind()))?;
    let beside = tempdir_in(folder).map_err(|error| format!("{}: {}", folder.display(), error.kind()))?;
    let made = beside.join(format!("{}.so", spec.program));
    let result = compile_to(source, &made).and_then(|()| {
        std::fs::rename(&made, module).map_err(|error| format!("{}: {}", module.display(), error.kind()))
    });
    let _ = std::fs::remove_dir_all(&beside);
    result
}

fn compile_to(source: &ProgramSource, made: &Path) -> Result<(), String> {
    match command(source, made).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(NO_COMPILER.to_owned()),
        Err(error) => Err(format!("cobc: {}", error.kind())),
        Ok(done) if !done.status.success() => Err(said(&done.stderr)),
        Ok(_) => Ok(()),
    }
}

/// The compiler's words: UTF-8, or Latin-1 where a source's bytes in them are not.
fn said(stderr: &[u8]) -> String {
    let text =
        core::str::from_utf8(stderr).map_or_else(|_| stderr.iter().copied().map(char::from).collect(), str::to_owned);
    format!("cobc says\n{}", text.trim_end())
}

/// A folder of this process's own.
fn tempdir_in(folder: &Path) -> std::io::Result<PathBuf> {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = folder.join(format!(".compile-{}-{number}", std::process::id()));
    std::fs::create_dir(&path)?;
    Ok(path)
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let words = core::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
