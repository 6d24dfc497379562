//! A folder in which the command runs, and the results.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use expect_test::Expect;
use tempfile::TempDir;

/// A separate folder for one test; the command runs inside it, so that its output contains no path of the machine.
pub(crate) struct World {
    dir: TempDir,
}

impl World {
    /// Creates an empty folder.
    pub(crate) fn new() -> Self {
        World { dir: TempDir::new().expect("a temporary folder") }
    }

    /// Creates a folder with these files.
    pub(crate) fn with<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let world = World::new();
        for (name, bytes) in files {
            world.write(name, bytes);
        }
        world
    }

    /// Returns the path of a file in it.
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

    /// Returns the command, to be run inside the folder with a clean environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quayline"));
        self.settle(command.args(arguments));
        command
    }

    /// Runs a shell line with the command as `$Q`.
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
        // One cache for all tests, which run concurrently: cached results of other runs make no difference.
        command.env("QUAYLINE_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    }
}

/// Results of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit code; `None` if a signal ended it.
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

    /// Returns standard output as text.
    pub(crate) fn out(&self) -> String {
        shown(&self.stdout)
    }

    /// Returns standard error as text.
    pub(crate) fn err(&self) -> String {
        shown(&self.stderr)
    }

    /// Compares exit code, standard output and standard error with the expected ones.
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

    /// Compares the exit code with the expected one, and shows the output if it differs.
    pub(crate) fn code(&self, expected: i32) -> &Self {
        assert_eq!(self.code, Some(expected), "\n--- stdout\n{}\n--- stderr\n{}", self.out(), self.err());
        self
    }
}

/// Formats bytes as text; bytes that are not UTF-8 become `\xff`.
fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

/// Encodes text in code page 037.
pub(crate) fn ebcdic(text: &str) -> Vec<u8> {
    let page = quayline_charset::CodePage::by_name("cp037").expect("037 is known");
    text.chars().map(|c| page.from_char(c).expect("a character of 037")).collect()
}

/// Returns the folder of test data outside of the repository: `QUAYLINE_CORPUS`, or `../shared` beside the workspace. Prints a message if it is
/// absent.
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
