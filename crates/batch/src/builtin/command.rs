//! `quayline.commandBatchlet`: a command of the system.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::artifact::{Answer, Batchlet, Injected};
use crate::error::Thrown;

/// Maximum interval between two checks of the command.
const LOOK: Duration = Duration::from_millis(50);
/// Time that a command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

pub(super) struct Command {
    with: Injected,
    command: String,
    success_max: u64,
}

/// Returns a command for /bin/sh in the project's folder, with the parameters of the job in its environment.
pub(super) fn shell(command: &str, with: &Injected) -> std::process::Command {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.arg("-c").arg(command).envs(with.job.environment(with.step.as_deref()));
    if !with.folder.as_os_str().is_empty() {
        shell.current_dir(&with.folder);
    }
    shell
}

impl Command {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(Command {
            with: with.clone(),
            command: with.required("command")?.to_owned(),
            success_max: with.number("success-max", 0)?,
        })
    }
}

impl Batchlet for Command {
    fn process(&mut self) -> Answer<Option<String>> {
        // The command begins after the guard has started. If this process is killed earlier, no command remains.
        let mut command = shell("read -r quayline_go && exec /bin/sh -c \"$0\" < /dev/null", &self.with);
        command.arg(&self.command).stdin(Stdio::piped());
        // The command has its own group, which also ends its children, except those that move into another group.
        command.process_group(0);
        // Standard output belongs to the answer of quayline itself.
        command.stdout(std::io::stderr());
        let system = |error: std::io::Error| {
            Thrown::of(&["quayline.Environment"], format!("the command cannot be run: {}", error.kind()))
                .hint("check that /bin/sh and the project's folder exist")
        };
        let mut child = command.spawn().map_err(system)?;
        let go = |child: &mut Child| child.stdin.take().map_or(Ok(()), |mut go| go.write_all(b"go\n"));
        let _guard = match Guard::of(&child).and_then(|guard| go(&mut child).map(|()| guard)) {
            Ok(guard) => guard,
            Err(error) => {
                end(&mut child).map_err(system)?;
                return Err(system(error));
            }
        };
        let mut pause = Duration::from_millis(1);
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                // The state of the command is unknown, and it must not run at the same time as a restart.
                Err(error) => {
                    let _ = end(&mut child);
                    return Err(system(error));
                }
            }
            if self.with.job.stop.wait(pause) {
                end(&mut child).map_err(system)?;
                return Ok(Some("STOPPED".to_owned()));
            }
            pause = (pause * 2).min(LOOK);
        };
        match status.code() {
            Some(code) if u64::try_from(code).is_ok_and(|code| code <= self.success_max) => Ok(Some(code.to_string())),
            Some(code) => {
                let message = format!("the command ended with code {code}, expected 0 to {}", self.success_max);
                Err(Thrown::of(&["quayline.CommandFailed"], message)
                    .hint("see what the command wrote to standard error, or raise success-max"))
            }
            None => Err(Thrown::of(&["quayline.CommandFailed"], "a signal ended the command")
                .hint("restart the execution; the step runs again")),
        }
    }
}

/// Shell that kills the process group of a command soon after this process is killed. It waits for the end of its input, which this process keeps
/// open. After a restart, the command may still run for a moment. It keeps running if the shell is also killed, or if the command moves to
/// another group.
struct Guard(Child);

impl Guard {
    fn of(command: &Child) -> std::io::Result<Self> {
        const WAIT: &str = "while read -r line; do :; done; kill -s KILL -- \"-$0\"";
        let mut guard = std::process::Command::new("/bin/sh");
        guard.arg("-c").arg(WAIT).arg(command.id().to_string());
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Guard(guard.spawn()?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The command has ended, and another process may have its number now. The input closes only after this.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ends a command with its group: SIGTERM, then SIGKILL. Processes that outlive the command itself get the same time.
fn end(child: &mut Child) -> std::io::Result<()> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // The group may have ended in the meantime.
    let signal = |signal| group.is_some_and(|group| kill_process_group(group, signal).is_ok());
    let is_there = || group.is_some_and(|group| test_kill_process_group(group).is_ok());
    signal(Signal::TERM);
    let deadline = Instant::now() + GRACE;
    let mut pause = Duration::from_millis(1);
    while Instant::now() < deadline {
        // The command itself is waited for, so that it does not count as a member of its group when it has ended.
        match child.try_wait() {
            Ok(ended) if ended.is_some() && !is_there() => return Ok(()),
            Ok(_) => {}
            Err(_) => break,
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    }
    signal(Signal::KILL);
    // It may have moved into another group itself.
    let _ = child.kill();
    child.wait().map(|_| ())
}
