//! Measurement of another process from outside.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

/// Resources that a process used.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Wall time from start to end.
    pub wall: Duration,
    /// CPU time in user and kernel mode, all threads.
    pub cpu: Duration,
    /// Largest resident memory.
    pub peak_bytes: u64,
}

/// Argument by which the bench starts itself as [`measure_here`].
pub const MEASURE: &str = "--measure-process";

/// Runs a command, discards its output or writes it to a file, and returns the resources that it used.
///
/// Until a new process has its own image, the kernel counts the memory of its parent as its own, so a large parent falsifies the peak. Therefore
/// `bench`, this program, is started again as a small parent that measures.
///
/// # Errors
/// The command cannot be started or does not end with 0; the text has its standard error.
pub fn run(bench: &Path, command: &[OsString], output: Option<&Path>) -> Result<Usage, String> {
    let mut measured = Command::new(bench);
    measured.arg(MEASURE).arg(output.unwrap_or(Path::new("/dev/null"))).args(command);
    let answer = measured.output().map_err(|error| format!("{}: {error}", bench.display()))?;
    let text = String::from_utf8(answer.stdout).unwrap_or_default();
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match (answer.status.success(), &numbers[..]) {
        (true, &[wall, cpu, peak_bytes]) => {
            Ok(Usage { wall: Duration::from_nanos(wall), cpu: Duration::from_nanos(cpu), peak_bytes })
        }
        _ => Err(format!("{command:?}: {}", String::from_utf8(answer.stderr).unwrap_or_default())),
    }
}

/// Resources that a process used, and its exit status.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Exit status; absent where a signal ended it.
    pub status: Option<i32>,
    /// CPU time in user and kernel mode, all threads.
    pub cpu: Duration,
    /// Largest resident memory.
    pub peak_bytes: u64,
}

/// Runs a command that may end with any status, with its output discarded. The kernel kills it after `cpu_seconds_max` of CPU time.
///
/// # Errors
/// The command cannot be started.
pub fn run_bounded(bench: &Path, command: &[OsString], cpu_seconds_max: u32) -> Result<Ended, String> {
    // A shell sets the limit: between fork and exec a program may only make calls that are unsafe in Rust.
    let mut bounded: Vec<OsString> = vec!["/bin/sh".into(), "-c".into()];
    bounded.push(format!("ulimit -t {cpu_seconds_max}; exec \"$@\"").into());
    bounded.push("sh".into());
    bounded.extend(command.iter().cloned());
    let answer = Command::new(bench).arg(MEASURE_ANY).arg("/dev/null").args(bounded).output();
    let answer = answer.map_err(|error| format!("{}: {error}", bench.display()))?;
    let text = String::from_utf8(answer.stdout).unwrap_or_default();
    let numbers: Vec<i64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [_, cpu, peak_bytes, status] => Ok(Ended {
            status: i32::try_from(status).ok().filter(|status| *status >= 0),
            cpu: Duration::from_nanos(u64::try_from(cpu).unwrap_or_default()),
            peak_bytes: u64::try_from(peak_bytes).unwrap_or_default(),
        }),
        _ => Err(format!("{command:?}: {}", String::from_utf8(answer.stderr).unwrap_or_default())),
    }
}

/// Argument by which the bench starts itself as [`measure_any`].
pub const MEASURE_ANY: &str = "--measure-any-process";

/// Measures like [`measure_here`], for a command with any exit status. The status is a fourth number, -1 for a signal.
///
/// # Errors
/// The command cannot be started.
pub fn measure_any(arguments: &[OsString]) -> Result<String, String> {
    let (line, status) = measured(arguments, Stdio::null())?;
    Ok(format!("{line} {}", status.code().unwrap_or(-1)))
}

/// Runs `arguments[1..]` with its standard output in the file `arguments[0]`. Returns a line with wall time and CPU time in nanoseconds, and
/// peak memory in bytes. Runs in the small process that [`run`] starts.
///
/// # Errors
/// The command cannot be started or does not end with 0.
pub fn measure_here(arguments: &[OsString]) -> Result<String, String> {
    let (line, status) = measured(arguments, Stdio::inherit())?;
    if status.success() { Ok(line) } else { Err(format!("ended with {status}")) }
}

fn measured(arguments: &[OsString], errors: Stdio) -> Result<(String, ExitStatus), String> {
    let [output, program, rest @ ..] = arguments else {
        return Err(format!("{MEASURE} OUTPUT PROGRAM ARGUMENTS..."));
    };
    let show = |error: io::Error| format!("{}: {error}", PathBuf::from(program).display());
    let began = Instant::now();
    let child = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(File::create(output).map_err(show)?)
        .stderr(errors)
        .spawn()
        .map_err(show)?;
    let used = child.wait4().map_err(show)?;
    let wall = began.elapsed();
    let cpu = used.rusage.utime + used.rusage.stime;
    Ok((format!("{} {} {}", wall.as_nanos(), cpu.as_nanos(), used.rusage.maxrss), used.status))
}
