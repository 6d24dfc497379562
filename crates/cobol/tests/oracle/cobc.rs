//! Compiles and runs the generated programs.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::copybook::Case;
use crate::program;

const FLAGS: [&str; 4] = ["-std=ibm", "-fodoslide", "-fsign=EBCDIC", "-w"];

/// Properties of one field according to GnuCOBOL.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) kind: u32,
    pub(crate) digits: usize,
    pub(crate) scale: i32,
    pub(crate) flags: u32,
    /// Value, if requested: `N +0012 2`, `T 4142`, `F 4000000000000000`.
    pub(crate) value: String,
}

/// Result of one round.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) fields: Vec<Said>,
    pub(crate) record: Vec<u8>,
}

/// Returns the version of the compiler, or the reason why it is missing.
pub(crate) fn version() -> Result<String, String> {
    let out = Command::new("cobc").arg("--version").output().map_err(|e| format!("cobc does not start: {e}"))?;
    let text = String::from_utf8(out.stdout).unwrap_or_default();
    text.lines().next().map(str::to_owned).ok_or_else(|| "cobc --version says nothing".to_owned())
}

/// Compiles the part in C, once for all batches.
pub(crate) fn helper(folder: &Path) {
    fs::write(folder.join("helper.c"), include_str!("helper.c")).expect("the work folder takes files");
    cobc(folder, &["-c", "-o", "helper.o", "helper.c"]).unwrap_or_else(|e| panic!("{e}"));
}

/// Compiles the cases into one executable with the name of the first case.
pub(crate) fn compile(folder: &Path, cases: &[&Case]) -> Result<String, String> {
    let name = cases[0].name.to_lowercase();
    for case in cases {
        fs::write(folder.join(format!("{}.cpy", case.name)), &case.text).expect("the work folder takes files");
    }
    let source = format!("{name}.cbl");
    fs::write(folder.join(&source), program::source(cases)).expect("the work folder takes files");
    cobc(folder, &["-x", "-o", &name, &source, "helper.o"])?;
    Ok(name)
}

fn cobc(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let out =
        Command::new("cobc").args(FLAGS).args(arguments).current_dir(folder).output().expect("cobc started before");
    if out.status.success() { Ok(()) } else { Err(String::from_utf8(out.stderr).unwrap_or_default()) }
}

/// Runs an executable with the requests of all its cases and gives the lines that it wrote.
pub(crate) fn run(folder: &Path, name: &str, requests: &str) -> Result<Vec<String>, String> {
    let mut child = Command::new(folder.join(name))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut input = child.stdin.take().expect("stdin is piped");
    let requests = requests.to_owned();
    let feeder = std::thread::spawn(move || input.write_all(requests.as_bytes()));
    let out = child.wait_with_output().map_err(|e| e.to_string())?;
    let fed = feeder.join().expect("the feeder does not panic");
    // What MOVE makes of bytes that are no number need not be text.
    let text: String = out.stdout.into_iter().map(char::from).collect();
    if !out.status.success() || fed.is_err() {
        let last = text.lines().last().unwrap_or_default();
        return Err(format!("{}: {} (last: {last})", out.status, String::from_utf8(out.stderr).unwrap_or_default()));
    }
    Ok(text.lines().map(str::to_owned).collect())
}

/// Reads the lines of one round off the front.
pub(crate) fn round(lines: &mut impl Iterator<Item = String>) -> Option<Round> {
    let mut fields = Vec::new();
    loop {
        let line = lines.next()?;
        if let Some(record) = line.strip_prefix("R ") {
            return Some(Round { fields, record: unhex(record)? });
        }
        let mut parts = line.splitn(7, ' ');
        let mut part = || parts.next();
        fields.push(Said {
            offset: part()?.parse().ok()?,
            size: part()?.parse().ok()?,
            kind: u32::from_str_radix(part()?, 16).ok()?,
            digits: part()?.parse().ok()?,
            scale: part()?.parse().ok()?,
            flags: u32::from_str_radix(part()?, 16).ok()?,
            value: part().unwrap_or_default().to_owned(),
        });
    }
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    digits?.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, b| {
        write!(out, "{b:02x}").expect("a string takes every write");
        out
    })
}
