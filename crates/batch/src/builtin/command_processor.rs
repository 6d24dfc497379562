//! `quayline.commandProcessor`: runs a system command for each item, which reads the item from standard input and writes the result to standard
//! output.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::command::shell;
use super::limits::limits;
use crate::artifact::{Answer, Injected, Item, Processor};
use crate::error::Thrown;

/// Maximum time between two checks of the time limit.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum number of bytes of one read or write.
const PART: usize = 64 << 10;

pub(super) struct CommandProcessor {
    with: Injected,
    command: String,
    timeout: Duration,
    /// Exit code that filters an item.
    filter_code: Option<i32>,
    keeps_line_feed: bool,
    bytes_max: usize,
    group: Option<Group>,
    /// Room for one read.
    part: Vec<u8>,
}

impl CommandProcessor {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let filter_code = with.property("filter-code").and_then(|code| code.parse().ok());
        Ok(CommandProcessor {
            with: with.clone(),
            command: with.required("command")?.to_owned(),
            timeout: Duration::from_secs(with.number("timeout-s", 60)?.max(1)),
            filter_code,
            keeps_line_feed: with.property("last-line-feed") == Some("keep"),
            bytes_max: limits(with)?.record_bytes_max,
            group: None,
            part: vec![0; PART],
        })
    }

    fn system(error: &std::io::Error) -> Thrown {
        let message = format!("the command cannot be run: {}", quayline_core::system_error_text(error));
        Thrown::of(&["quayline.Environment"], message).hint("check that /bin/sh and the project's folder exist")
    }

    fn start(&mut self) -> std::io::Result<Child> {
        self.group.take_if(|group| !group.is_led());
        let group = match &self.group {
            Some(group) => group,
            None => self.group.insert(Group::start()?),
        };
        let mut command = shell(&self.command, &self.with);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(group.id());
        command.spawn()
    }

    /// Ends all processes that commands of this processor have started.
    fn end(&mut self, mut child: Child) {
        self.group = None;
        // The command may have moved into another process group.
        let _ = child.kill();
        let _ = child.wait();
    }

    fn too_large(&self) -> Thrown {
        let message = format!("the command wrote more than {} bytes", self.bytes_max);
        self.failed(message, "raise record-bytes in the property limit")
    }

    fn failed(&self, message: String, remedy: &str) -> Thrown {
        Thrown::of(&["quayline.CommandFailed", "quayline.Program"], format!("{}: {message}", self.with.name))
            .hint(remedy)
    }
}

impl Processor for CommandProcessor {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        let until = Instant::now() + self.timeout;
        let mut child = self.start().map_err(|error| CommandProcessor::system(&error))?;
        let mut made = match exchange(&mut child, item, &mut self.part, (self.bytes_max, until)) {
            Ok(made) => made,
            Err(fault) => {
                self.end(child);
                let seconds = self.timeout.as_secs();
                return Err(match fault {
                    Fault::Time => self.failed(
                        format!("the command did not end within {seconds} s"),
                        "raise the property timeout-s; processes that the command starts in the background must close standard output",
                    ),
                    Fault::Size => self.too_large(),
                    Fault::System(error) => CommandProcessor::system(&error),
                });
            }
        };
        let status = match wait(&mut child, until) {
            Ok(Some(status)) => status,
            other => {
                self.end(child);
                return Err(match other {
                    Err(error) => CommandProcessor::system(&error),
                    Ok(_) => self.failed(
                        format!("the command did not end within {} s", self.timeout.as_secs()),
                        "raise the property timeout-s",
                    ),
                });
            }
        };
        match status.code() {
            Some(0) => {
                if !self.keeps_line_feed && made.last() == Some(&b'\n') {
                    made.pop();
                }
                if made.len() > self.bytes_max { Err(self.too_large()) } else { Ok(Some(made)) }
            }
            Some(code) if self.filter_code == Some(code) => Ok(None),
            Some(code) => Err(Thrown::of(
                &["quayline.ReturnCode", "quayline.CommandFailed", "quayline.Program"],
                format!("{}: the command ended with code {code}", self.with.name),
            )
            .hint("read its standard error; a job skips such items with quayline.ReturnCode in skippable-exception-classes")),
            None => Err(self.failed("a signal ended the command".to_owned(), "read the standard error of the command")),
        }
    }
}

/// Reason why a command has no result.
enum Fault {
    Time,
    Size,
    System(std::io::Error),
}

/// Writes an item to a command and returns its output, until the command closes its output. A command may leave some of its input unread.
fn exchange(
    child: &mut Child,
    item: &[u8],
    part: &mut [u8],
    (bytes_max, until): (usize, Instant),
) -> Result<Vec<u8>, Fault> {
    let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Fault::System(ErrorKind::BrokenPipe.into()));
    };
    let unblocked = rustix::io::ioctl_fionbio(&input, true).and_then(|()| rustix::io::ioctl_fionbio(&output, true));
    unblocked.map_err(|error| Fault::System(error.into()))?;
    let (mut input, mut rest) = (Some(input), item);
    let mut made = Vec::new();
    loop {
        if rest.is_empty() {
            input = None;
        }
        if let Some(pipe) = &mut input {
            match pipe.write(&rest[..rest.len().min(PART)]) {
                Ok(count) => rest = &rest[count..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => rest = &[],
                Err(error) => return Err(Fault::System(error)),
            }
        }
        match output.read(part) {
            Ok(0) => return Ok(made),
            // The last line feed may not count.
            Ok(count) if made.len() + count > bytes_max.saturating_add(1) => return Err(Fault::Size),
            Ok(count) => {
                made.extend_from_slice(&part[..count]);
                if Instant::now() >= until {
                    return Err(Fault::Time);
                }
                continue;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(Fault::System(error)),
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Fault::Time);
        }
        let mut waits = vec![PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN)];
        if let Some(pipe) = input.as_ref().filter(|_| !rest.is_empty()) {
            waits.push(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT));
        } else if input.is_some() {
            // The item is written. The next turn closes the pipe, which ends the input.
            continue;
        }
        let wait = left.min(LOOK);
        let time = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        match poll(&mut waits, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Fault::System(error.into())),
        }
    }
}

/// Waits for the exit of a command that has closed its output. Returns `None` if it does not exit in time.
fn wait(child: &mut Child, until: Instant) -> std::io::Result<Option<std::process::ExitStatus>> {
    let mut pause = Duration::from_micros(100);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    }
}

/// Process group of a processor's commands. Its leader is a shell that waits for the end of its input. If this process is killed, the shell kills the
/// group with its background processes. Drop also kills the group.
struct Group(Child);

impl Group {
    fn start() -> std::io::Result<Group> {
        let mut leader = std::process::Command::new("/bin/sh");
        leader.arg("-c").arg("trap '' TERM INT HUP; while read -r line; do :; done; kill -s KILL 0");
        leader.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Group(leader.spawn()?))
    }

    /// Returns true if the leader still runs. A command may have killed it with its group.
    fn is_led(&self) -> bool {
        let leader = Pid::from_raw(self.id()).map(WaitId::Pid);
        // The leader is not reaped here: its process number must stay reserved until the group is killed.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        leader.is_some_and(|leader| matches!(waitid(leader, options), Ok(None)))
    }

    fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Nothing has waited for the leader yet, so no other process has its number.
        if let Some(group) = Pid::from_raw(self.id()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
