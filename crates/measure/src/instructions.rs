//! Instructions of processes, counted by `perf stat` where it is installed and permitted. Unlike time, they do not depend on other work on the machine.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags};

/// Instructions in user space and in the kernel.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Instructions {
    /// Instructions in user space.
    pub user: u64,
    /// Instructions in the kernel; 0 if counting them is not permitted.
    pub kernel: u64,
}

impl Instructions {
    /// Returns the sum of both.
    #[must_use]
    pub fn all(self) -> u64 {
        self.user + self.kernel
    }
}

/// A counter that is attached to processes and does not run yet.
pub(crate) struct Counter {
    perf: Child,
    control: File,
    answers: File,
    folder: folder::Folder,
}

/// Maximum time for perf to start or to answer.
const PATIENCE: Duration = Duration::from_secs(3);

impl Counter {
    /// Starts `perf stat` for the processes, with counting disabled. `None` if perf is not installed, not allowed or does not know the event.
    pub(crate) fn attach(ids: &[u32]) -> Option<Counter> {
        let folder = folder::Folder::new()?;
        let fifo = |name: &str| -> Option<(PathBuf, File)> {
            let path = folder.0.join(name);
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).ok()?;
            let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = rustix::fs::open(&path, flags, Mode::empty()).ok()?;
            Some((path, File::from(file)))
        };
        let ((control_path, control), (answers_path, answers)) = (fifo("control")?, fifo("answers")?);
        let ids = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let perf = Command::new("perf")
            .args(["stat", "-x", ",", "-e", "instructions:u,instructions:k", "--delay", "-1", "-p", &ids])
            .arg(format!("--control=fifo:{},{}", control_path.display(), answers_path.display()))
            .arg("-o")
            .arg(folder.0.join("counted"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut counter = Counter { perf, control, answers, folder };
        // It answers once it is attached.
        counter.say("ping")?;
        Some(counter)
    }

    /// Counts from now on.
    pub(crate) fn begin(&mut self) -> Option<()> {
        self.say("enable")
    }

    /// Returns the instructions since [`Counter::begin`].
    pub(crate) fn end(mut self) -> Option<Instructions> {
        self.say("disable")?;
        // Asked to end, it writes what it has.
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.perf), rustix::process::Signal::INT)
            .ok()?;
        let began = Instant::now();
        while matches!(self.perf.try_wait(), Ok(None)) {
            if began.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        parse(&std::fs::read_to_string(self.folder.0.join("counted")).ok()?)
    }

    /// Sends a command to perf and waits for its acknowledgment.
    fn say(&mut self, word: &str) -> Option<()> {
        self.control.write_all(format!("{word}\n").as_bytes()).ok()?;
        let began = Instant::now();
        let mut text = Vec::new();
        let mut some = [0; 64];
        while !text.ends_with(b"ack\n\0") && !text.ends_with(b"ack\n") {
            match self.answers.read(&mut some) {
                Ok(n) if n > 0 => text.extend_from_slice(&some[..n]),
                _ if began.elapsed() > PATIENCE || !matches!(self.perf.try_wait(), Ok(None)) => return None,
                _ => std::thread::sleep(Duration::from_micros(200)),
            }
        }
        Some(())
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if matches!(self.perf.try_wait(), Ok(None)) {
            let _ = self.perf.kill();
            let _ = self.perf.wait();
        }
    }
}

/// Parses the output of `perf stat -x ,`, whose lines are: count, unit, event, …
fn parse(text: &str) -> Option<Instructions> {
    let count = |event: &str| {
        let line = text.lines().find(|line| line.split(',').nth(2).is_some_and(|name| name.contains(event)))?;
        line.split(',').next()?.parse::<u64>().ok()
    };
    Some(Instructions { user: count("instructions:u")?, kernel: count("instructions:k").unwrap_or(0) })
}

mod folder {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A folder of this process's own that goes away.
    pub(super) struct Folder(pub(super) PathBuf);

    impl Folder {
        pub(super) fn new() -> Option<Folder> {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("quayline-perf-{}-{number}", std::process::id()));
            std::fs::create_dir(&path).ok()?;
            Some(Folder(path))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_where_there_are_some() {
        let text = "# started on Sun\n\n123456,,instructions:u,1000,100.00,,\n789,,instructions:k,1000,100.00,,\n";
        assert_eq!(parse(text), Some(Instructions { user: 123_456, kernel: 789 }));
        assert_eq!(parse("5,,instructions:u,1,1,,\n<not supported>,,instructions:k,0,0,,\n").map(|i| i.all()), Some(5));
        assert_eq!(parse("<not supported>,,instructions:u,0,0,,\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn twice_the_work_is_twice_the_count() {
        let work = |rounds: u64| {
            let mut counter = Counter::attach(&[std::process::id()])?;
            counter.begin()?;
            let sum = (0..rounds).fold(0u64, |sum, i| sum ^ core::hint::black_box(i));
            assert_ne!(core::hint::black_box(sum), 1);
            counter.end()
        };
        let (Some(once), Some(twice)) = (work(50_000_000), work(100_000_000)) else {
            eprintln!("skipped: twice_the_work_is_twice_the_count: perf does not count here");
            return;
        };
        let ratio = twice.user as f64 / once.user as f64;
        assert!((1.5..2.5).contains(&ratio), "{once:?} {twice:?}");
    }
}
