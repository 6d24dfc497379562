//! The server under test, in a separate process.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use quayline_gateway::Definitions;
use quayline_server::ServeConfig;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::CpuClock;

/// The hidden command of the executable that becomes the server.
pub const CHILD_ARGUMENT: &str = "measured-server";

/// A running server.
#[derive(Debug)]
pub struct ServerProcess {
    process: Child,
    /// Address on which it listens.
    pub address: SocketAddr,
}

impl ServerProcess {
    /// Serves a project with a number of threads, on one core if requested.
    ///
    /// # Errors
    /// The server does not start; the error has its output.
    pub fn project(root: &Path, threads: usize, core: Option<usize>) -> io::Result<ServerProcess> {
        ServerProcess::start(&[OsString::from("project"), root.into(), threads.to_string().into(), core_argument(core)])
    }

    /// Serves bytes, the same for every request, by the same HTTP stack without anything of the gateway.
    ///
    /// # Errors
    /// As [`ServerProcess::project`].
    pub fn fixed(file: &Path, core: Option<usize>) -> io::Result<ServerProcess> {
        ServerProcess::start(&[OsString::from("fixed"), file.into(), "1".into(), core_argument(core)])
    }

    fn start(arguments: &[OsString]) -> io::Result<ServerProcess> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(CHILD_ARGUMENT)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let out = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let Ok(address) = line.trim().parse() else {
            let _ = process.kill();
            let _ = process.wait();
            return Err(io::Error::other("the server did not start"));
        };
        Ok(ServerProcess { process, address })
    }

    /// Returns a CPU clock for the server and its workers.
    #[must_use]
    pub fn cpu(&self) -> CpuClock {
        CpuClock::of_family(self.process.id())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let id = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(3) {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn core_argument(core: Option<usize>) -> OsString {
    core.map_or_else(|| "any".into(), |core| core.to_string().into())
}

/// Pins this process and its children to one core.
pub(crate) fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    // A machine without that core runs it anywhere.
    let _ = sched_setaffinity(None, &set);
}

/// Runs as the server. `arguments` are those after [`CHILD_ARGUMENT`]. Prints its address as the only line of standard output.
#[must_use]
pub fn run_child(arguments: &[OsString]) -> i32 {
    let [kind, path, threads, core] = arguments else { return 2 };
    if let Some(core) = core.to_str().and_then(|core| core.parse().ok()) {
        pin(core);
    }
    let path = PathBuf::from(path);
    let ready = |address: SocketAddr| {
        let mut out = io::stdout();
        let _ = writeln!(out, "{address}").and_then(|()| out.flush());
    };
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let done = if kind == "fixed" {
        std::fs::read(&path).and_then(|bytes| quayline_server::serve_fixed(any, bytes, "application/json", ready))
    } else {
        let definitions = match Definitions::load(&path) {
            Ok(definitions) => definitions,
            Err(findings) => {
                let _ = writeln!(io::stderr(), "{findings}");
                return 2;
            }
        };
        let threads = threads.to_str().and_then(|n| n.parse().ok());
        let config = ServeConfig { listen: Some(any), threads, drain_seconds: Some(1), ..ServeConfig::default() };
        let log = Box::new(|line: &str| {
            let _ = writeln!(io::stderr(), "{line}");
        });
        quayline_server::serve(config, path, definitions, log, ready).map_err(io::Error::other)
    };
    match done {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            2
        }
    }
}
