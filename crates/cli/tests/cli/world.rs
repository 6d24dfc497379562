//! A folder to run the command in, and what came of it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use expect_test::Expect;
use tempfile::TempDir;

/// A folder of its own for one test; the command runs inside it, so that no path of the machine is in what it prints.
pub(crate) struct World {
    dir: TempDir,
}

impl World {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        World { dir: TempDir::new().expect("a temporary folder") }
    }

    /// A folder with these files.
    pub(crate) fn with<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let world = World::new();
        for (name, bytes) in files {
            world.write(name, bytes);
        }
        world
    }

    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
        fs::write(path, bytes).expect("the file can be written");
        self
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.dir.path())
            .expect("the folder is there")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a test's own name"))
            .collect();
        names.sort();
        names
    }

    /// The command, to be run inside the folder with an environment of its own.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quayline"));
        self.settle(command.args(arguments));
        command
    }

    /// A shell line with the command as `$Q`.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut command = Command::new("sh");
        self.settle(command.arg("-c").arg(line));
        command.env("Q", env!("CARGO_BIN_EXE_quayline"));
        Ran::of(command.output().expect("the shell runs"))
    }

    /// Runs with these arguments, separated by blanks.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        self.run_with(arguments, b"")
    }

    /// Runs with these arguments, separated by blanks, and this standard input.
    pub(crate) fn run_with(&self, arguments: &str, stdin: &[u8]) -> Ran {
        let mut command = self.command(arguments.split_whitespace());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut pipe = child.stdin.take().expect("standard input is a pipe");
        let stdin = stdin.to_vec();
        let writer = std::thread::spawn(move || {
            // The command may well end without reading it all.
            let _ = pipe.write_all(&stdin);
        });
        let output = child.wait_with_output().expect("the command ends");
        writer.join().expect("the writer ends");
        Ran::of(output)
    }

    fn settle(&self, command: &mut Command) {
        command.current_dir(self.dir.path());
        for name in ["NO_COLOR", "RUST_BACKTRACE", "TERM", "COLUMNS", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        // One for all tests, which run at the same time: whether a run finds what another one kept makes no difference.
        command.env("QUAYLINE_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    }
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit code; none where a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: Vec<u8>,
    /// Standard error.
    pub(crate) stderr: Vec<u8>,
}

impl Ran {
    pub(crate) fn of(output: std::process::Output) -> Self {
        Ran { code: output.status.code(), stdout: output.stdout, stderr: output.stderr }
    }

    /// Standard output as text.
    pub(crate) fn out(&self) -> String {
        shown(&self.stdout)
    }

    /// Standard error as text.
    pub(crate) fn err(&self) -> String {
        shown(&self.stderr)
    }

    /// Holds exit code, standard output and standard error against what is expected.
    pub(crate) fn check(&self, expected: Expect) {
        let code = self.code.map_or_else(|| "signal".to_owned(), |code| code.to_string());
        let mut text = format!("exit {code}\n");
        for (name, stream) in [("stdout", self.out()), ("stderr", self.err())] {
            if !stream.is_empty() {
                text.push_str(&format!("--- {name}\n{stream}"));
                if !stream.ends_with('\n') {
                    text.push_str("<no newline>\n");
                }
            }
        }
        expected.assert_eq(&text);
    }

    /// Holds the exit code against what is expected and shows the rest where it differs.
    pub(crate) fn code(&self, expected: i32) -> &Self {
        assert_eq!(self.code, Some(expected), "\n--- stdout\n{}\n--- stderr\n{}", self.out(), self.err());
        self
    }
}

/// Bytes as text; what is no UTF-8 as `\xff`.
fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

/// Text in code page 037.
pub(crate) fn ebcdic(text: &str) -> Vec<u8> {
    let page = quayline_charset::CodePage::by_name("cp037").expect("037 is known");
    text.chars().map(|c| page.from_char(c).expect("a character of 037")).collect()
}

/// The folder of test data that is not in the repository: `QUAYLINE_CORPUS`, or `../shared` beside the workspace. Says so where it is absent.
pub(crate) fn corpus(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("QUAYLINE_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = root.join(part);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "skipped: {}: {part} is not in the corpus; set QUAYLINE_CORPUS to the folder that holds it",
        std::thread::current().name().unwrap_or("a test")
    );
    None
}
