//! The caller's side: starts a worker, submits calls, takes finished ones, and reports how a worker ended.
//!
//! # Unsafe code
//!
//! The closure for `pre_exec` runs in a child between fork and exec, where other threads of the caller may have held locks. So it may
//! only make async-signal-safe system calls and must not allocate. It calls `fcntl`, `dup2` and `prctl`, works on arrays that it
//! owns, and its errors are made from `errno` without allocating. The descriptors that it copies are owned by [`Worker::start`] until
//! the process has started.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use quayline_meter::{WaitFor, waiting};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::PidfdFlags;

use crate::account;
use crate::area::{
    Area, CALLER_WAITS, CURRENT, Claim, DONE_HEAD, DONE_TAIL, Geometry, SLOTS_MAX, SUBMIT_TAIL, WORKER_SLEEPS, narrow,
    now_ns,
};
use crate::{End, ProgramError, exit_code};

/// Program and settings of a worker.
#[derive(Clone, Debug)]
pub struct WorkerSpec {
    /// PROGRAM-ID.
    pub program: String,
    /// Folders with the modules (`CARINQ.so`), searched in this order.
    pub folders: Vec<PathBuf>,
    /// Folder that the program runs in: relative names of its files start there.
    pub work_folder: Option<PathBuf>,
    /// Environment of the process, in addition to the variables that it needs itself. Nothing of the caller's environment is inherited.
    pub environment: Vec<(String, String)>,
    /// Bytes of the COMMAREA: of all parameters together.
    pub length: usize,
    /// Bytes of each parameter of the program, in the order of USING, at most 32. Empty: the COMMAREA is the only one.
    pub parameters: Vec<usize>,
    /// Calls that one worker holds, waiting or running: at most 64.
    pub slots: usize,
    /// Treatment of WORKING-STORAGE between calls.
    pub working_storage: WorkingStorage,
    /// Memory of the program in bytes: address space beyond that of the worker when it has loaded libcob.
    pub memory_bytes_max: u64,
    /// The executable that accepts [`crate::WORKER_ARGUMENT`].
    pub executable: PathBuf,
    /// Arguments in front of [`crate::WORKER_ARGUMENT`].
    pub arguments: Vec<OsString>,
}

/// Content of WORKING-STORAGE at the start of a call.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WorkingStorage {
    /// Its VALUE clauses: nothing of an earlier call, which may be another client's.
    #[default]
    Fresh,
    /// The content that the previous call in the same worker left, for programs that keep a cache there and separate their clients
    /// themselves.
    Keep,
}

impl WorkingStorage {
    /// Returns the worker's argument.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            WorkingStorage::Fresh => "fresh",
            WorkingStorage::Keep => "keep",
        }
    }

    pub(crate) fn of_argument(text: &str) -> Option<Self> {
        [WorkingStorage::Fresh, WorkingStorage::Keep].into_iter().find(|known| known.argument() == text)
    }
}

/// A place for one call in one worker.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Slot(usize);

impl Slot {
    /// Returns the index into a table of [`WorkerSpec::slots`] entries.
    #[must_use]
    pub fn index(self) -> usize {
        self.0
    }
}

/// A call that is done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Completion {
    /// Slot of the call. Its COMMAREA remains there until [`Worker::release`].
    pub slot: Slot,
    /// RETURN-CODE.
    pub return_code: i32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Free,
    Submitted,
    Done,
}

/// One worker process, held by one thread.
#[derive(Debug)]
pub struct Worker {
    area: Area,
    states: Vec<State>,
    /// Bytes that the caller wrote, by slot. The worker has its own copy, which its program may have written over.
    used: Vec<usize>,
    free: Vec<usize>,
    to_worker: OwnedFd,
    from_worker: OwnedFd,
    process: Child,
    pidfd: OwnedFd,
    overtime: bool,
    /// The process has ended and its number is free.
    reaped: bool,
    done: u64,
}

impl Worker {
    /// Starts a process. You may submit calls at once. The output of DISPLAY goes to standard error.
    ///
    /// # Errors
    /// [`ProgramError`]. That libcob or the program is missing shows later, in [`Worker::end`].
    pub fn start(spec: &WorkerSpec) -> Result<Worker, ProgramError> {
        Self::start_with(spec, Stdio::inherit())
    }

    /// Starts a process, and returns a pipe with the output of DISPLAY. The pipe does not block its reader. The program waits while the pipe is full.
    ///
    /// # Errors
    /// As [`Worker::start`].
    pub fn start_heard(spec: &WorkerSpec) -> Result<(Worker, OwnedFd), ProgramError> {
        let system = |error: io::Error| ProgramError::System { what: "a pipe for the program's output", error };
        let (reader, writer) = io::pipe().map_err(system)?;
        rustix::fs::fcntl_setfl(&reader, rustix::fs::OFlags::NONBLOCK).map_err(|error| system(error.into()))?;
        Ok((Self::start_with(spec, Stdio::from(writer))?, OwnedFd::from(reader)))
    }

    fn start_with(spec: &WorkerSpec, output: Stdio) -> Result<Worker, ProgramError> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if spec.program.is_empty() || spec.program.len() > 60 || !spec.program.chars().all(word) {
            return Err(ProgramError::Name { name: spec.program.clone() });
        }
        let system = |what: &'static str| move |error: io::Error| ProgramError::System { what, error };
        let slots = spec.slots.clamp(1, SLOTS_MAX);
        let memory = rustix::fs::memfd_create("quayline-commarea", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
            .map_err(|e| system("shared memory")(e.into()))?;
        let parameters = if spec.parameters.is_empty() { &[spec.length][..] } else { &spec.parameters };
        let geometry = Geometry::new(slots, parameters).filter(|geometry| geometry.length == spec.length);
        let geometry = geometry.ok_or_else(|| system("parameters")(io::ErrorKind::InvalidInput.into()))?;
        if let Some(folder) = spec.work_folder.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(ProgramError::WorkFolder { folder: folder.clone() });
        }
        let area = Area::create(memory.as_fd(), geometry).map_err(system("shared memory"))?;
        // A program can reach the descriptor. If it could shorten the file, the caller's next access would end the server by SIGBUS.
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&memory, seals).map_err(|e| system("shared memory")(e.into()))?;
        let bell = |flags| eventfd(0, flags).map_err(|e| system("a bell between processes")(e.into()));
        let to_worker = bell(EventfdFlags::CLOEXEC)?;
        let from_worker = bell(EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let process = launch(spec, [memory.as_raw_fd(), to_worker.as_raw_fd(), from_worker.as_raw_fd()], output)
            .map_err(system("a process for the program"))?;
        account::began(process.id());
        let pid = rustix::process::Pid::from_child(&process);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK)
            .map_err(|e| system("a descriptor of the program's process")(e.into()))?;
        Ok(Worker {
            area,
            states: vec![State::Free; slots],
            used: vec![0; slots],
            free: (0..slots).rev().collect(),
            to_worker,
            from_worker,
            process,
            pidfd,
            overtime: false,
            reaped: false,
            done: 0,
        })
    }

    /// Returns a descriptor that is readable when calls are done.
    #[must_use]
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.from_worker.as_fd()
    }

    /// Returns a descriptor that is readable when the process has ended.
    #[must_use]
    pub fn death(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Process id, for accounting.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Calls submitted and not yet released.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.states.len() - self.free.len()
    }

    /// Returns whether a call is submitted and not done.
    #[must_use]
    pub fn is_called(&self) -> bool {
        self.states.contains(&State::Submitted)
    }

    /// Returns whether a call can be submitted.
    #[must_use]
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Calls that were completed.
    #[must_use]
    pub fn calls_done(&self) -> u64 {
        self.done
    }

    /// Submits a call whose COMMAREA begins with `parts`, in sequence, and continues with 0x00. Returns `None` if every slot is
    /// taken. A sleeping worker sleeps until [`Worker::ring`].
    pub fn submit(&mut self, parts: &[&[u8]]) -> Option<Slot> {
        let slot = self.free.pop()?;
        self.used[slot] = self.area.copy_in(slot, parts);
        self.area.return_code(slot).store(0, Ordering::Relaxed);
        self.states[slot] = State::Submitted;
        self.area.offer(slot);
        let tail = self.area.word(SUBMIT_TAIL);
        let at = tail.load(Ordering::Relaxed);
        self.area.submitted(at).store(narrow(slot), Ordering::Relaxed);
        tail.store(at.wrapping_add(1), Ordering::SeqCst);
        Some(Slot(slot))
    }

    /// Wakes a sleeping worker, after one submitted call or many: a bell costs two system calls and, if both sides share a core,
    /// two context switches.
    pub fn ring(&self) {
        // The worker relies on the order of this and of the store in `submit`: it announces that it sleeps, and then looks once
        // more.
        if self.area.word(WORKER_SLEEPS).swap(0, Ordering::SeqCst) == 1 {
            // A full bell rings already.
            let _ = rustix::io::write(&self.to_worker, &1u64.to_ne_bytes());
        }
    }

    /// Withdraws a submitted call. Returns true if the call had not begun, and so never will. [`Worker::completions`] returns its
    /// slot like that of a finished call.
    pub fn withdraw(&mut self, slot: Slot) -> bool {
        self.states[slot.0] == State::Submitted && self.area.claim(slot.0, Claim::Withdraw)
    }

    /// Iterates over the calls that are submitted and not done, in no particular order.
    pub fn submitted(&self) -> impl Iterator<Item = Slot> + '_ {
        let submitted = self.states.iter().enumerate().filter(|(_, state)| **state == State::Submitted);
        submitted.map(|(slot, _)| Slot(slot))
    }

    /// Silences the bell and hands out every call that is done.
    pub fn completions(&mut self, mut each: impl FnMut(Completion)) {
        let mut count = [0u8; 8];
        // An empty bell is not an error: it may have been rung for calls that were taken already.
        let _ = rustix::io::read(&self.from_worker, &mut count);
        self.area.word(CALLER_WAITS).store(1, Ordering::SeqCst);
        let mut head = self.area.word(DONE_HEAD).load(Ordering::Relaxed);
        loop {
            let tail = self.area.word(DONE_TAIL).load(Ordering::SeqCst);
            // A worker that writes nonsense into the ring gets no further than one round.
            if tail == head || tail.wrapping_sub(head) > narrow(SLOTS_MAX) {
                return;
            }
            let slot = self.area.done(head).load(Ordering::Relaxed) as usize;
            head = head.wrapping_add(1);
            self.area.word(DONE_HEAD).store(head, Ordering::Relaxed);
            if self.states.get(slot) == Some(&State::Submitted) {
                self.states[slot] = State::Done;
                self.done += 1;
                let return_code = self.area.return_code(slot).load(Ordering::Relaxed);
                each(Completion { slot: Slot(slot), return_code });
            }
        }
    }

    /// Makes one call and waits for its end, for callers that use the worker exclusively. Returns RETURN-CODE and writes the first `length`
    /// bytes of the COMMAREA to `to`. `patience` returns the time to wait before it is called again; `None` kills the process.
    ///
    /// # Errors
    /// The way the process ended. The worker is then unusable.
    pub fn call(
        &mut self,
        parts: &[&[u8]],
        length: usize,
        to: &mut Vec<u8>,
        patience: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<i32, End> {
        let began = std::time::Instant::now();
        let ended = waiting(WaitFor::External, || self.call_until_end(parts, length, to, patience));
        account::waited(began.elapsed());
        ended
    }

    fn call_until_end(
        &mut self,
        parts: &[&[u8]],
        length: usize,
        to: &mut Vec<u8>,
        patience: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<i32, End> {
        to.clear();
        let Some(slot) = self.submit(parts) else { return Err(End::Exited(-1)) };
        self.ring();
        loop {
            let (code, end) = self.finished(slot);
            if let Some(code) = code {
                self.take(slot, length, to);
                return Ok(code);
            }
            if let Some(end) = end {
                return Err(end);
            }
            match patience() {
                Some(time) => {
                    let bells = [self.bell(), self.death()];
                    let mut wanted = bells.map(|bell| PollFd::from_borrowed_fd(bell, PollFlags::IN));
                    let time = Timespec {
                        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
                        tv_nsec: time.subsec_nanos().into(),
                    };
                    // An interrupted wait looks again.
                    let _ = poll(&mut wanted, Some(&time));
                }
                None => {
                    self.kill();
                    // The process is gone soon; what it did meanwhile does not count. `end` reaps it and settles its account.
                    let _ = poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], None);
                }
            }
        }
    }

    /// Returns RETURN-CODE if the only call is done; otherwise the way the process ended, if it did. A call that finishes just before the process ends
    /// is done, so it is not repeated.
    pub fn finished(&mut self, slot: Slot) -> (Option<i32>, Option<End>) {
        let mut code = None;
        let mut look = |worker: &mut Worker| {
            worker.completions(|done| code = (done.slot == slot).then_some(done.return_code).or(code));
            code
        };
        if let Some(code) = look(self) {
            return (Some(code), None);
        }
        match self.end() {
            Some((end, _)) => (look(self), Some(end)),
            None => (None, None),
        }
    }

    /// Copies the first `length` bytes of a finished call's COMMAREA to `to`, except those that `to` already has, and frees the
    /// slot.
    pub fn take(&mut self, slot: Slot, length: usize, to: &mut Vec<u8>) {
        self.area.copy_out(slot.0, length, to);
        self.release(slot);
    }

    /// Copies the first `length` bytes of the COMMAREA of a done call.
    pub fn look(&self, slot: Slot, length: usize, to: &mut Vec<u8>) {
        to.clear();
        self.area.copy_out(slot.0, length, to);
    }

    /// Copies the input of a call that had not begun when the worker ended, so that it can be submitted elsewhere.
    pub fn recall(&self, slot: Slot, to: &mut Vec<u8>) {
        to.clear();
        self.area.copy_out(slot.0, self.used[slot.0], to);
    }

    /// Frees the slot of a done call.
    pub fn release(&mut self, slot: Slot) {
        if self.states[slot.0] == State::Done {
            self.states[slot.0] = State::Free;
            self.free.push(slot.0);
        }
    }

    /// Returns the call that the program is executing, and for how long.
    #[must_use]
    pub fn running(&self) -> Option<(Slot, Duration)> {
        let slot = self.current()?;
        let began = self.area.began().load(Ordering::Relaxed);
        Some((slot, Duration::from_nanos(now_ns().saturating_sub(began))))
    }

    fn current(&self) -> Option<Slot> {
        let current = self.area.word(CURRENT).load(Ordering::SeqCst) as usize;
        (1..=self.states.len()).contains(&current).then(|| Slot(current - 1))
    }

    /// Stops the process because its call has run too long.
    pub fn kill(&mut self) {
        self.overtime = true;
        self.kill_group();
    }

    /// Stops the process and those that its program started, which are in its group. Not after the process was reaped: its number may be another's then.
    fn kill_group(&mut self) {
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.process),
            rustix::process::Signal::KILL,
        );
    }

    /// Returns how the process ended and which call it was in; `None` while it runs. Take finished calls first: calls that are
    /// neither finished nor the one it was in have not begun.
    pub fn end(&mut self) -> Option<(End, Option<Slot>)> {
        // The kernel drops the account of a process when its parent reaps it.
        if !self.reaped && is_gone(&self.pidfd) {
            account::ended(self.process.id());
            self.kill_group();
        }
        let status = self.process.try_wait().ok()??;
        self.reaped = true;
        let end = match (status.code(), status.signal()) {
            _ if self.overtime => End::TimeLimit,
            (Some(exit_code::NO_RUNTIME), _) => End::NoRuntime,
            (Some(exit_code::NO_PROGRAM), _) => End::NoProgram,
            (Some(code), _) => End::Exited(code),
            (None, Some(signal)) => End::Signal(signal),
            (None, None) => End::Exited(-1),
        };
        Some((end, self.current()))
    }
}

/// Returns true if a process has ended.
fn is_gone(pidfd: &OwnedFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&at_once)).is_ok_and(|count| count > 0)
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.kill_group();
        account::ended(self.process.id());
        let _ = self.process.wait();
    }
}

/// Descriptors of the worker, in the order of [`launch`]'s argument.
pub(crate) const FIRST_FD: RawFd = 3;

fn launch(spec: &WorkerSpec, descriptors: [RawFd; 3], output: Stdio) -> io::Result<Child> {
    let folders = std::env::join_paths(&spec.folders).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut command = Command::new(&spec.executable);
    command
        .args(&spec.arguments)
        .args([crate::WORKER_ARGUMENT, &spec.program, &spec.memory_bytes_max.to_string()])
        .arg(spec.working_storage.argument())
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .env("COB_LIBRARY_PATH", folders)
        .stdin(Stdio::null())
        .stderr(output)
        // In a group of its own, so that Ctrl-C at the terminal reaches only the gateway, which then drains.
        .process_group(0);
    // Without TZ, the C library looks for its time zone's file at every reading of the clock, which would cost a program that
    // writes the time into each answer.
    if !spec.environment.iter().any(|(name, _)| name == "TZ") {
        command.env("TZ", std::env::var_os("TZ").unwrap_or_else(|| ":/etc/localtime".into()));
    }
    if let Some(folder) = &spec.work_folder {
        command.current_dir(folder);
    }
    // SAFETY: between fork and exec only system calls that are safe there: fcntl, dup2, prctl.
    unsafe {
        command.pre_exec(move || {
            // First to high numbers, so that no copy overwrites one that is still to be copied.
            let mut high = [0; 3];
            for (to, from) in high.iter_mut().zip(descriptors) {
                *to = libc::fcntl(from, libc::F_DUPFD_CLOEXEC, 10);
                if *to < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            for (to, from) in (FIRST_FD..).zip(high) {
                if libc::dup2(from, to) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            // DISPLAY goes to the same place as messages: standard output may be data.
            if libc::dup2(2, 1) < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
    command.spawn()
}
