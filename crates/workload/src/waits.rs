//! The wall time of threads: on a processor, waiting for one, or in a wait whose reason the kernel names.
//!
//! The kernel counts exactly how long a thread ran and how long it was ready without a processor. The rest of its time it waited. The system call
//! that a thread waits in is looked at every time the counters are read, so the division of the waits among their reasons is an estimate, and
//! their sum is exact.
//!
//! Sources: proc(5), `/proc/PID/task/TID/syscall` and `schedstat`; Linux, arch/x86/entry/syscalls/syscall_64.tbl and
//! include/uapi/asm-generic/unistd.h for the numbers of system calls.

use std::collections::HashMap;

use quayline_meter::{WaitFor, thread_waits};

/// Number of reasons.
const REASONS: usize = 11;

/// Reason of a wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reason {
    /// A lock or a turn that another thread or unit of work has.
    Lock,
    /// Work: an empty queue, a message.
    Work,
    /// Room in a queue or in memory.
    Room,
    /// A commit of another thread.
    Commit,
    /// Another thread, for a reason that the code does not name: all waits for threads are futexes.
    Threads,
    /// Another system, as the code names it: a program in another process, a database, a service.
    External,
    /// Files and devices.
    Files,
    /// Sockets and pipes.
    Network,
    /// Sleep.
    Timer,
    /// The end of another process.
    Process,
    /// Page faults and system calls without a class.
    Kernel,
}

impl Reason {
    pub(crate) const ALL: [Reason; REASONS] = [
        Reason::Lock,
        Reason::Work,
        Reason::Room,
        Reason::Commit,
        Reason::Threads,
        Reason::External,
        Reason::Files,
        Reason::Network,
        Reason::Timer,
        Reason::Process,
        Reason::Kernel,
    ];

    /// Returns the reason that the code of this process names.
    fn named(reason: WaitFor) -> Reason {
        match reason {
            WaitFor::Lock => Reason::Lock,
            WaitFor::Work => Reason::Work,
            WaitFor::Room => Reason::Room,
            WaitFor::Commit => Reason::Commit,
            WaitFor::Device => Reason::Files,
            WaitFor::External => Reason::External,
        }
    }

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reason::Lock => "locks and turns",
            Reason::Work => "empty queues and work",
            Reason::Room => "full queues and backpressure",
            Reason::Commit => "commits of other threads",
            Reason::Threads => "other threads, without a reason",
            Reason::External => "programs and other systems",
            Reason::Files => "files and devices",
            Reason::Network => "sockets and pipes",
            Reason::Timer => "sleep",
            Reason::Process => "end of another process",
            Reason::Kernel => "page faults and other calls",
        }
    }

    /// Reads the text of `syscall`; `None` if the thread runs or is ready. `is_file` decides on a file descriptor.
    pub(crate) fn of(text: &str, is_file: impl Fn(u32) -> bool) -> Option<Reason> {
        let mut fields = text.split_ascii_whitespace();
        let number: i64 = fields.next()?.parse().ok()?;
        let numbers = |of: &[i64]| of.contains(&number);
        Some(match () {
            () if numbers(FUTEX) => Reason::Threads,
            () if numbers(READ_WRITE) => {
                let hex = fields.next().and_then(|first| first.strip_prefix("0x"));
                let descriptor = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok());
                if descriptor.is_some_and(is_file) { Reason::Files } else { Reason::Network }
            }
            () if numbers(FILES) => Reason::Files,
            () if numbers(NETWORK) => Reason::Network,
            () if numbers(SLEEP) => Reason::Timer,
            () if numbers(WAIT) => Reason::Process,
            () => Reason::Kernel,
        })
    }
}

// futex, futex_waitv
#[cfg(target_arch = "x86_64")]
const FUTEX: &[i64] = &[202, 449];
// read, write, readv, writev
#[cfg(target_arch = "x86_64")]
const READ_WRITE: &[i64] = &[0, 1, 19, 20];
// open, pread64, pwrite64, preadv, pwritev, msync, sendfile, fsync, fdatasync, ftruncate, rename, unlink, openat, renameat, unlinkat,
// sync_file_range, fallocate, renameat2, copy_file_range
#[cfg(target_arch = "x86_64")]
const FILES: &[i64] = &[2, 17, 18, 295, 296, 26, 40, 74, 75, 77, 82, 87, 257, 264, 263, 277, 285, 316, 326];
// poll, select, connect, accept, sendto, recvfrom, sendmsg, recvmsg, epoll_wait, pselect6, ppoll, epoll_pwait, accept4, recvmmsg, epoll_pwait2
#[cfg(target_arch = "x86_64")]
const NETWORK: &[i64] = &[7, 23, 42, 43, 44, 45, 46, 47, 232, 270, 271, 281, 288, 299, 441];
// nanosleep, clock_nanosleep
#[cfg(target_arch = "x86_64")]
const SLEEP: &[i64] = &[35, 230];
// wait4, waitid
#[cfg(target_arch = "x86_64")]
const WAIT: &[i64] = &[61, 247];

// The same calls in the generic table, which has no open, poll, select, rename and unlink of its own.
#[cfg(not(target_arch = "x86_64"))]
const FUTEX: &[i64] = &[98, 449];
#[cfg(not(target_arch = "x86_64"))]
const READ_WRITE: &[i64] = &[63, 64, 65, 66];
#[cfg(not(target_arch = "x86_64"))]
const FILES: &[i64] = &[67, 68, 69, 70, 227, 71, 82, 83, 46, 56, 38, 35, 84, 47, 276, 285];
#[cfg(not(target_arch = "x86_64"))]
const NETWORK: &[i64] = &[203, 202, 206, 207, 211, 212, 72, 73, 22, 242, 243, 441];
#[cfg(not(target_arch = "x86_64"))]
const SLEEP: &[i64] = &[101, 115];
#[cfg(not(target_arch = "x86_64"))]
const WAIT: &[i64] = &[260, 95];

/// Wall time of threads, in seconds. The parts and the unaccounted rest add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    /// Wall time from the first to the last reading of each thread, added up.
    pub threads_s: f64,
    /// Time on a processor.
    pub cpu_s: f64,
    /// Time ready without a processor.
    pub run_queue_s: f64,
    /// Waits by reason.
    pub(crate) reasons: [f64; REASONS],
}

impl Waits {
    /// Returns the wall time that is in no part; negative if the parts are more than the whole.
    #[must_use]
    pub fn unaccounted_s(&self) -> f64 {
        self.threads_s - self.cpu_s - self.run_queue_s - self.reasons.iter().sum::<f64>()
    }

    /// Returns the unaccounted share of the wall time.
    #[must_use]
    pub fn unaccounted_share(&self) -> f64 {
        if self.threads_s > 0.0 { self.unaccounted_s() / self.threads_s } else { 0.0 }
    }
}

/// Readings of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Time of the reading in seconds.
    pub(crate) at_s: f64,
    /// Nanoseconds on a processor.
    pub(crate) run_ns: u64,
    /// Nanoseconds ready without a processor.
    pub(crate) wait_ns: u64,
    /// Reason of a wait at this moment.
    pub(crate) reason: Option<Reason>,
}

/// A thread so far.
#[derive(Clone, Copy, Debug)]
struct Line {
    first: Reading,
    last: Reading,
    /// Waits by reason, at whose begin or end the reason was seen.
    seen: [f64; REASONS],
    /// Waits that began and ended between two readings.
    between: f64,
}

/// Threads by process and number.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    lines: HashMap<(u32, u32), Line>,
    ended: Waits,
}

impl Ledger {
    /// Adds a reading of a thread.
    pub(crate) fn add(&mut self, thread: (u32, u32), now: Reading) {
        let fresh = Line { first: now, last: now, seen: [0.0; REASONS], between: 0.0 };
        let Some(line) = self.lines.get_mut(&thread) else {
            self.lines.insert(thread, fresh);
            return;
        };
        if now.run_ns < line.last.run_ns {
            // The number is of another thread, which began since.
            self.ended.add(&line.waits());
            *line = fresh;
            return;
        }
        let ran = (now.run_ns - line.last.run_ns) as f64 / 1e9;
        let queued = now.wait_ns.saturating_sub(line.last.wait_ns) as f64 / 1e9;
        // Below 0 if the kernel counted a tick late; the next reading makes up for it, so nothing is cut off.
        let waited = now.at_s - line.last.at_s - ran - queued;
        match (line.last.reason, now.reason) {
            (None, None) => line.between += waited,
            (before, after) => {
                for reason in [before.or(after), after.or(before)].into_iter().flatten() {
                    line.seen[reason as usize] += waited / 2.0;
                }
            }
        }
        line.last = now;
    }

    /// Ends the lines of threads that are not among these.
    pub(crate) fn keep(&mut self, is_there: impl Fn(&(u32, u32)) -> bool) {
        let ended = &mut self.ended;
        self.lines.retain(|thread, line| {
            let stays = is_there(thread);
            if !stays {
                ended.add(&line.waits());
            }
            stays
        });
    }

    /// Returns the sum of all threads so far.
    pub(crate) fn waits(&self) -> Waits {
        let mut sum = self.ended;
        self.lines.values().for_each(|line| sum.add(&line.waits()));
        sum.settle();
        sum
    }
}

impl Line {
    fn waits(&self) -> Waits {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let all: f64 = self.seen.iter().sum();
        // Short waits are for the same reasons as those that were seen. Without one, they stay unaccounted.
        let more = if all > 0.0 { 1.0 + self.between / all } else { 1.0 };
        Waits {
            threads_s: self.last.at_s - self.first.at_s,
            cpu_s: seconds(self.last.run_ns - self.first.run_ns),
            run_queue_s: seconds(self.last.wait_ns.saturating_sub(self.first.wait_ns)),
            reasons: self.seen.map(|seen| seen * more),
        }
    }
}

impl Waits {
    /// Moves waits below 0 to the longest one. The kernel counts a tick late, so a short wait can be negative; the wait before or after it has that time.
    fn settle(&mut self) {
        let below: f64 = self.reasons.iter().copied().filter(|seconds| *seconds < 0.0).sum();
        self.reasons.iter_mut().for_each(|seconds| *seconds = seconds.max(0.0));
        if let Some(longest) = self.reasons.iter_mut().max_by(|one, other| one.total_cmp(other)) {
            // What is left stays unaccounted.
            *longest = (*longest + below).max(0.0);
        }
    }

    fn add(&mut self, other: &Waits) {
        self.threads_s += other.threads_s;
        self.cpu_s += other.cpu_s;
        self.run_queue_s += other.run_queue_s;
        for (sum, part) in self.reasons.iter_mut().zip(other.reasons) {
            *sum += part;
        }
    }
}

/// Reads all threads of a process now. `since` gives the time in seconds.
pub(crate) fn readings_of(process: u32, since: impl Fn() -> f64) -> Vec<((u32, u32), Reading)> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    // Only the code of this process can be asked.
    let known = if process == std::process::id() { thread_waits() } else { Vec::new() };
    let named = |tid: u32| known.iter().find(|waits| waits.thread == tid)?.now.map(Reason::named);
    let reading = |entry: std::fs::DirEntry| {
        let (tid, folder) = (entry.file_name().to_str()?.parse().ok()?, entry.path());
        let text = std::fs::read_to_string(folder.join("schedstat")).ok()?;
        let at_s = since();
        let mut fields = text.split_ascii_whitespace();
        let (run_ns, wait_ns) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let call = std::fs::read_to_string(folder.join("syscall")).unwrap_or_default();
        let is_file = |descriptor: u32| {
            let target = std::fs::read_link(format!("/proc/{process}/fd/{descriptor}"));
            target.is_ok_and(|target| target.is_absolute())
        };
        let reason = match Reason::of(&call, is_file) {
            Some(Reason::Threads) => named(tid).or(Some(Reason::Threads)),
            // A socket is that of a client, or that of a system that the code has called.
            Some(Reason::Network) => named(tid).filter(|reason| *reason == Reason::External).or(Some(Reason::Network)),
            reason => reason,
        };
        Some(((process, tid), Reading { at_s, run_ns, wait_ns, reason }))
    };
    entries.filter_map(reading).collect()
}

/// Lists the processes that a process has started, and those that they have started.
pub(crate) fn started_by(process: u32) -> Vec<u32> {
    let (mut found, mut open) = (Vec::new(), vec![process]);
    while let Some(next) = open.pop() {
        for task in std::fs::read_dir(format!("/proc/{next}/task")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children: Vec<u32> = text.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect();
            found.extend(&children);
            open.extend(children);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, run_ms: u64, wait_ms: u64, reason: Option<Reason>) -> Reading {
        Reading { at_s: ms as f64 / 1e3, run_ns: run_ms * 1_000_000, wait_ns: wait_ms * 1_000_000, reason }
    }

    #[test]
    fn the_parts_of_a_thread_add_up_to_its_wall_time() {
        let mut ledger = Ledger::default();
        let thread = (1, 2);
        ledger.add(thread, at(0, 0, 0, None));
        // 20 ms: 10 on a processor, 4 ready, 6 in a wait that ended before the reading.
        ledger.add(thread, at(20, 10, 4, None));
        assert!((ledger.waits().unaccounted_s() - 0.006).abs() < 1e-12, "no reason was seen");
        ledger.add(thread, at(40, 10, 4, Some(Reason::Threads)));
        ledger.add(thread, at(60, 10, 4, Some(Reason::Files)));
        let waits = ledger.waits();
        // 30 ms and 10 ms were seen, and the 6 ms are divided like them.
        let of = |reason: Reason| waits.reasons[reason as usize];
        assert!((of(Reason::Threads) - 0.030 * 1.15).abs() < 1e-12 && (of(Reason::Files) - 0.010 * 1.15).abs() < 1e-12);
        assert!((waits.cpu_s, waits.run_queue_s) == (0.010, 0.004) && waits.unaccounted_s().abs() < 1e-12);
        // An ended thread stays in the sum, and its number may be used again.
        ledger.keep(|_| false);
        ledger.add(thread, at(80, 1, 0, None));
        ledger.add(thread, at(90, 11, 0, None));
        assert!((ledger.waits().threads_s - 0.070).abs() < 1e-12 && ledger.waits().unaccounted_s().abs() < 1e-12);
    }

    /// Regression: the account of `quayline measure` had a wait of -0.00223 s.
    #[test]
    fn no_wait_is_negative() {
        let mut ledger = Ledger::default();
        ledger.add((1, 1), at(0, 0, 0, None));
        ledger.add((1, 1), at(10, 0, 0, Some(Reason::Network)));
        // 12 ms on a processor within 10 ms: 2 ms of them were before.
        ledger.add((1, 1), at(20, 12, 0, Some(Reason::Kernel)));
        let waits = ledger.waits();
        assert!(waits.reasons[Reason::Kernel as usize] == 0.0 && waits.unaccounted_s().abs() < 1e-12, "{waits:?}");
        assert!((waits.reasons[Reason::Network as usize] - 0.008).abs() < 1e-12, "{waits:?}");
    }

    #[test]
    fn counters_that_are_late_do_not_leave_time_over() {
        let mut ledger = Ledger::default();
        // A thread that computes. The kernel updates its run time every 4 ms, so a reading can be up to 4 ms old.
        for (ms, run) in [(0, 0), (5, 4), (10, 8), (20, 20), (30, 28), (40, 40)] {
            ledger.add((1, 1), at(ms, run, 0, None));
        }
        assert!(ledger.waits().unaccounted_s().abs() < 1e-12, "{:?}", ledger.waits());
    }

    #[test]
    fn the_code_of_this_process_names_its_waits() {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || quayline_meter::waiting(WaitFor::Room, || released.recv().is_err()));
        let began = std::time::Instant::now();
        let is_seen = || {
            let readings = readings_of(std::process::id(), || began.elapsed().as_secs_f64());
            readings.iter().any(|(_, reading)| reading.reason == Some(Reason::Room))
        };
        // The system call of the wait is visible where the system shows it; the reason is that of the code.
        let shows_calls = std::fs::read_to_string("/proc/thread-self/syscall").is_ok();
        while shows_calls && !is_seen() {
            assert!(began.elapsed().as_secs() < 10, "the wait for room is not seen");
            // Other tests of this process measure what it uses.
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        drop(release);
        assert!(thread.join().unwrap());
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_kernels_text_names_the_reason() {
        let of = |text| Reason::of(text, |descriptor| descriptor == 5);
        assert_eq!(of("running"), None);
        assert_eq!(of("202 0x7f 0x80 0x0 0x7ffc 0x7f"), Some(Reason::Threads));
        assert_eq!(of("0 0x5 0x7f 0x100 0x0 0x0 0x0 0x7ffc 0x7f"), Some(Reason::Files));
        assert_eq!(of("0 0x6 0x7f 0x100 0x0 0x0 0x0 0x7ffc 0x7f"), Some(Reason::Network));
        assert_eq!(of("75 0x6 0x7f"), Some(Reason::Files));
        assert_eq!(of("281 0x6 0x7f"), Some(Reason::Network));
        assert_eq!(of("230 0x0"), Some(Reason::Timer));
        assert_eq!(of("-1 0x7ffc 0x7f"), Some(Reason::Kernel));
        assert_eq!(of(""), None);
    }
}
