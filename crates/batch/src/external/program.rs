//! A program of the user that runs: how it starts, how requests and answers travel, how it ends.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::function::FunctionProgram;
use super::wire::{Decoder, Field, Frame, WireError, encode};
use quayline_pipeline::OwnType;

use crate::artifact::{Answer, Injected};
use crate::context::StopSignal;
use crate::error::Thrown;

/// The version of the protocol.
const VERSION: &[u8] = b"1";
/// Default time limit for an answer in seconds; `timeout-s` overrides it.
const TIMEOUT_S: u64 = 300;
/// Time that a program has to end after its input is closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// Maximum interval between two checks for a stop request.
const LOOK: Duration = Duration::from_millis(50);
/// Properties that are Quayline's; all others are the program's.
const OWN: [&str; 2] = ["command", "timeout-s"];

/// A program, which runs or not.
pub(super) struct Program {
    name: String,
    kind: &'static str,
    command: String,
    folder: PathBuf,
    environment: Vec<(String, String)>,
    timeout: Duration,
    /// True if the job sets the time limit, so that it also applies to a batchlet.
    is_timeout_given: bool,
    /// Fields of `hello` after version and kind.
    about: Vec<Field>,
    running: Option<Running>,
    /// Abilities that the program declared.
    pub(super) abilities: Vec<String>,
    stop: StopSignal,
}

struct Running {
    child: Child,
    /// `None` when it is closed.
    input: Option<ChildStdin>,
    output: ChildStdout,
    decoder: Decoder,
}

impl Program {
    pub(super) fn new(with: &Injected, kind: &'static str) -> Answer<Self> {
        let timeout_s = with.number("timeout-s", TIMEOUT_S)?;
        let step = with.step.as_deref();
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let mut about = vec![
            text(&with.job.job),
            text(&with.job.instance.to_string()),
            text(&with.job.execution.to_string()),
            step.and_then(|step| text(&step.step)),
            step.and_then(|step| step.partition).and_then(|number| text(&number.to_string())),
        ];
        let own: BTreeMap<_, _> = with.properties.iter().filter(|(name, _)| !OWN.contains(&name.as_str())).collect();
        for (name, value) in own {
            about.extend([text(name), text(value)]);
        }
        Ok(Program {
            name: with.name.clone(),
            kind,
            command: with.required("command")?.to_owned(),
            folder: with.folder.clone(),
            environment: with.job.environment(step),
            timeout: Duration::from_secs(timeout_s),
            is_timeout_given: with.property("timeout-s").is_some(),
            about,
            running: None,
            abilities: Vec::new(),
            stop: with.job.stop.clone(),
        })
    }

    /// Creates the program of a map function.
    pub(super) fn of_function(of: &FunctionProgram, parameters: &[(String, String)], gives: OwnType) -> Self {
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let mut about = vec![None; 5];
        for (name, value) in parameters {
            about.extend([text(name), text(value)]);
        }
        about.extend([text("->"), text(&gives.to_string())]);
        Program {
            name: of.name.clone(),
            kind: "function",
            command: of.command.clone(),
            folder: of.folder.clone(),
            environment: Vec::new(),
            timeout: of.time,
            is_timeout_given: true,
            about,
            running: None,
            abilities: Vec::new(),
            stop: StopSignal::default(),
        }
    }

    /// Converts an exception of a reader or writer: a program that starts again does not know its position.
    pub(super) fn without_position(&self, thrown: Thrown) -> Thrown {
        if self.runs() { thrown } else { thrown.reopens() }
    }

    /// Returns true if the program declared an ability.
    pub(super) fn can(&self, ability: &str) -> bool {
        self.abilities.iter().any(|known| known == ability)
    }

    /// Returns true if the program is running.
    pub(super) fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// Starts the program if it does not run, and greets it.
    pub(super) fn start(&mut self) -> Answer<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&self.command).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A separate group: processes of the command end together with it, and after Ctrl-C in a terminal Quayline ends the command in order.
        command.process_group(0);
        command.envs(self.environment.iter().cloned());
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        let mut child = command.spawn().map_err(|error| self.system(&error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(self.system(&ErrorKind::BrokenPipe.into()));
        };
        let unblocked = rustix::io::ioctl_fionbio(&input, true).and_then(|()| rustix::io::ioctl_fionbio(&output, true));
        let mut running = Running { child, input: Some(input), output, decoder: Decoder::default() };
        if let Err(error) = unblocked {
            running.end();
            return Err(self.system(&error.into()));
        }
        self.running = Some(running);
        let mut hello: Vec<Option<&[u8]>> = vec![Some(VERSION), Some(self.kind.as_bytes())];
        let about = self.about.clone();
        hello.extend(about.iter().map(Option::as_deref));
        let answer = self.ask("hello", &hello)?;
        self.abilities = answer.into_iter().flatten().map(|word| text_of(&word)).collect();
        Ok(())
    }

    /// Sends a request and returns the answer. A program that ended, or that does not answer in time, is not running afterwards.
    ///
    /// # Errors
    /// The exception of the program, or the fact that it ended, took too long or sent an invalid answer.
    pub(super) fn ask(&mut self, verb: &str, fields: &[Option<&[u8]>]) -> Answer<Vec<Field>> {
        match self.ask_or_stop(verb, fields, |_| {})? {
            (fields, None) => Ok(fields),
            (_, Some(thrown)) => Err(thrown),
        }
    }

    /// Sends a request and also returns the fields before an exception. Calls `stopped` after a stop request.
    pub(super) fn ask_or_stop(
        &mut self,
        verb: &str,
        fields: &[Option<&[u8]>],
        stopped: impl FnOnce(&mut Patience),
    ) -> Answer<(Vec<Field>, Option<Thrown>)> {
        self.start()?;
        if verb != "hello" {
            self.nothing_early(verb)?;
        }
        let mut out = Outgoing::default();
        encode(&mut out.bytes, verb, fields);
        let mut patience = Patience { until: Some(Instant::now() + self.timeout), say: Vec::new() };
        if self.kind == "batchlet" && verb == "process" && !self.is_timeout_given {
            // A batchlet may run for hours.
            patience.until = None;
        }
        let mut stopped = Some(stopped);
        let outcome = loop {
            let is_new_wish = stopped.is_some() && self.stop.is_set();
            if is_new_wish && let Some(stopped) = stopped.take() {
                stopped(&mut patience);
                out.bytes.extend_from_slice(&std::mem::take(&mut patience.say));
            }
            if patience.until.is_some_and(|until| Instant::now() >= until) {
                break Err(Ended::Timeout);
            }
            let Some(running) = &mut self.running else { break Err(Ended::Gone(None)) };
            match running.turn(&mut out) {
                Ok(Some(frame)) if frame.verb == "say" => {
                    let text = frame.fields.first().cloned().flatten().unwrap_or_default();
                    // A sign of life: the time begins again. A call of a function has its time whatever the program says.
                    if patience.until.is_some() && self.kind != "function" {
                        patience.until = Some(Instant::now() + self.timeout);
                    }
                    self.say(&text);
                }
                Ok(Some(frame)) => break Ok(frame),
                Ok(None) => {}
                Err(ended) => break Err(ended),
            }
        };
        match outcome {
            Ok(frame) => self.answered(verb, frame),
            Err(ended) => Err(self.failed(verb, ended)),
        }
    }

    /// Checks that the program has sent no answer before the request: it would be taken for the answer to this request.
    fn nothing_early(&mut self, verb: &str) -> Answer<()> {
        loop {
            let Some(running) = &mut self.running else { return Ok(()) };
            match running.early() {
                Ok(None) => return Ok(()),
                Ok(Some(frame)) if frame.verb == "say" => {
                    let text = frame.fields.first().cloned().flatten().unwrap_or_default();
                    self.say(&text);
                }
                Ok(Some(_)) => {
                    let ended = Ended::Answer(format!("an answer came before the request {verb}"));
                    return Err(self.failed(verb, ended));
                }
                Err(ended) => return Err(self.failed(verb, ended)),
            }
        }
    }

    /// Writes a message of a program to its standard error.
    fn say(&self, text: &[u8]) {
        let line = format!("{}: {}\n", self.name, text_of(text));
        // A failure to write is ignored.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn answered(&mut self, verb: &str, frame: Frame) -> Answer<(Vec<Field>, Option<Thrown>)> {
        match frame.verb.as_str() {
            "ok" => Ok((frame.fields, None)),
            "throw" => Err(thrown(frame.fields)),
            "partly" => {
                let mut fields = frame.fields;
                let count = fields.first().and_then(Option::as_deref).and_then(number);
                let Some(count) = count.filter(|count| *count < fields.len()) else {
                    return Err(
                        self.misfit(verb, "is `partly` without the number of its results, or with fewer of them")
                    );
                };
                fields.remove(0);
                let rest = fields.split_off(count);
                Ok((fields, Some(thrown(rest))))
            }
            other => {
                let ended =
                    Ended::Answer(format!("the answer to {verb} is `{other}`, expected ok, partly, throw or say"));
                Err(self.failed(verb, ended))
            }
        }
    }

    /// Creates the error of an answer that violates the contract, and terminates the program.
    pub(super) fn misfit(&mut self, verb: &str, what: impl Into<String>) -> Thrown {
        self.failed(verb, Ended::Answer(format!("the answer to {verb} {}", what.into())))
    }

    fn failed(&mut self, verb: &str, ended: Ended) -> Thrown {
        let status = self.running.take().and_then(|mut running| match ended {
            Ended::Gone(status) => status.or_else(|| running.end()),
            _ => {
                running.kill();
                None
            }
        });
        let group = ["quayline.ProgramFailed", "quayline.Environment"];
        match ended {
            Ended::Timeout => {
                let message = format!(
                    "the program of {} gave no answer to {verb} within {} s",
                    self.name,
                    self.timeout.as_secs_f64()
                );
                Thrown::of(&["quayline.ProgramTimeout", group[0], group[1]], message)
                    .hint("raise the property timeout-s, or let the program send `say` while it works")
            }
            Ended::Gone(_) => {
                let how = status.map_or_else(|| "closed its output".to_owned(), how_it_ended);
                let message = format!("the program of {} {how} before it answered {verb}", self.name);
                Thrown::of(&group, message).hint(
                    "see what the program wrote to standard error; retryable-exception-classes may include quayline.ProgramFailed",
                )
            }
            Ended::Answer(what) => {
                Thrown::of(&["quayline.ProgramAnswer", group[0], group[1]], format!("{}: {what}", self.name))
                    .hint("the program must write nothing to standard output but frames of the artifact protocol")
            }
            Ended::System(error) => self.system(&error),
        }
    }

    fn system(&self, error: &std::io::Error) -> Thrown {
        let message =
            format!("the program of {} cannot be run: {}", self.name, quayline_core::system_error_text(error));
        Thrown::of(&["quayline.ProgramFailed", "quayline.Environment"], message)
            .hint("check the property command; it runs in the project's folder")
    }

    /// Ends the program: closes its input, and waits.
    pub(super) fn close(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.end();
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.close();
    }
}

/// Time limit of an answer, and requests to send in addition.
pub(super) struct Patience {
    until: Option<Instant>,
    say: Vec<u8>,
}

impl Patience {
    /// Sends a request without an answer.
    pub(super) fn send(&mut self, verb: &str) {
        encode(&mut self.say, verb, &[]);
    }

    /// Sets the time limit of the answer, from now.
    pub(super) fn at_most(&mut self, time: Duration) {
        self.until = Some(Instant::now() + time);
    }
}

/// Reason for the lack of an answer.
enum Ended {
    Timeout,
    Gone(Option<ExitStatus>),
    Answer(String),
    System(std::io::Error),
}

impl From<WireError> for Ended {
    fn from(error: WireError) -> Self {
        Ended::Answer(error.to_string())
    }
}

/// Parses an exception: message, class and superclasses.
fn thrown(fields: Vec<Field>) -> Thrown {
    let mut words = fields.into_iter().flatten().map(|word| text_of(&word));
    let message = words.next().unwrap_or_default();
    let classes: Vec<String> = words.filter(|class| !class.is_empty()).collect();
    let mut classes: Vec<&str> = classes.iter().map(String::as_str).collect();
    if classes.is_empty() {
        classes.push("quayline.ProgramThrew");
    }
    Thrown::of(&classes, message)
}

/// Formats the output of a program on one line. Bytes that are not UTF-8 are escaped.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).map_or_else(|_| bytes.escape_ascii().to_string(), str::to_owned);
    text.replace(char::is_control, " ")
}

/// Parses a number in digits.
fn number(bytes: &[u8]) -> Option<usize> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn how_it_ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        // The shell reports a signal in this way.
        (Some(code @ 129..=159), _) => format!("was ended by signal {}", code - 128),
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Bytes to be sent, and the number of those already sent.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    at: usize,
}

impl Outgoing {
    fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }
}

impl Running {
    /// Writes and reads as much as possible, or waits for a short time. Returns a complete frame.
    fn turn(&mut self, out: &mut Outgoing) -> Result<Option<Frame>, Ended> {
        if let Some(frame) = self.decoder.frame()? {
            return Ok(Some(frame));
        }
        while let Some(input) = self.input.as_mut().filter(|_| !out.is_empty()) {
            match input.write(&out.bytes[out.at..]) {
                Ok(count) => out.at += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The program no longer reads its input; its last output may explain why.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    out.at = out.bytes.len();
                    break;
                }
                Err(error) => return Err(Ended::System(error)),
            }
        }
        match self.receive()? {
            Some(0) => return Err(Ended::Gone(self.exit_status())),
            Some(_) => return Ok(self.decoder.frame()?),
            None => {}
        }
        let mut wanted = vec![PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::IN)];
        if let Some(input) = self.input.as_ref().filter(|_| !out.is_empty()) {
            wanted.push(PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT));
        }
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        // The caller's loop repeats an interrupted wait.
        let _ = poll(&mut wanted, Some(&time));
        Ok(None)
    }

    /// Reads what the program has written. Returns the number of bytes, which is 0 at the end of its output; `None` if there are none yet.
    fn receive(&mut self) -> Result<Option<usize>, Ended> {
        let mut room = [0; 64 << 10];
        match self.output.read(&mut room) {
            Ok(count) => {
                self.decoder.push(&room[..count]);
                Ok(Some(count))
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(Ended::System(error)),
        }
    }

    /// Returns a frame that the program sent before it received a request. The end of its output is found by the request.
    fn early(&mut self) -> Result<Option<Frame>, Ended> {
        if let Some(frame) = self.decoder.frame()? {
            return Ok(Some(frame));
        }
        self.receive()?;
        Ok(self.decoder.frame()?)
    }

    /// Returns the exit status of the process, if it ends within a moment.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        self.wait(Duration::from_millis(500))
    }

    fn wait(&mut self, time: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + time;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK);
        }
    }

    /// Closes the input and waits; then sends SIGTERM, then SIGKILL.
    fn end(&mut self) -> Option<ExitStatus> {
        // The program reads the end of its input.
        self.input = None;
        if let Some(status) = self.wait(GRACE) {
            return Some(status);
        }
        self.signal(Signal::TERM);
        if let Some(status) = self.wait(GRACE) {
            return Some(status);
        }
        self.kill();
        None
    }

    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // The program may have ended in the meantime.
            let _ = kill_process_group(group, signal);
        }
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        // The program may have moved into another process group.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
