//! Accounting of a measurement: CPU time of the process, its division among threads, and the cost of the accounting itself.
//!
//! The process has a CPU clock, and the kernel counts the run time of each thread. Both are read separately, so their difference shows the
//! accuracy of the parts. A thread that ends loses its time since the last reading, which bounds the resolution. The time of a thread that began and
//! ended between two readings is in the clock of the process only.
//!
//! The second identity is that of wall time: each thread, of this process and of those that it started, was on a processor, waited for one, or
//! waited for something that the kernel names (`waits`).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quayline_report::{Cell, Column, Report, Section, Table, Verdict};

use crate::system::{Probe, System, thread_cpu_ns};
use crate::waits::{Ledger, Reason, Waits, readings_of, started_by};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Looks between two searches for processes that this one started.
const LOOKS_A_SEARCH: u32 = 10;
/// Part of the CPU time that may be of no thread, and of the wall time of threads that may be in no wait.
const UNACCOUNTED_MAX: f64 = 0.02;
/// CPU time below which the account gives no verdict, because the kernel counts the time of threads in ticks.
const CPU_LEAST_S: f64 = 1.0;

/// CPU use of a process during a measurement, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Wall time.
    pub elapsed_s: f64,
    /// CPU time by the clock of the process.
    pub cpu_s: f64,
    /// CPU time of its threads, added up.
    pub threads_s: f64,
    /// Time for which its threads could have run and had no processor.
    pub run_queue_s: f64,
    /// Upper bound for the time of ended threads after their last reading.
    pub resolution_s: f64,
    /// CPU time of the account itself, which is a part of both.
    pub own_s: f64,
    /// Wall time of the threads of this process.
    pub waits: Waits,
    /// Wall time of the threads of processes that this one started.
    pub started: Waits,
}

impl Account {
    /// Returns the share of the CPU time of the process that belongs to no thread.
    #[must_use]
    pub fn unaccounted_share(&self) -> f64 {
        if self.cpu_s > 0.0 { (self.cpu_s - self.threads_s) / self.cpu_s } else { 0.0 }
    }

    /// Returns true if the accounting shows no reason to distrust the figures of the measurement.
    #[must_use]
    pub fn is_trustworthy(&self) -> bool {
        let beyond = (self.cpu_s - self.threads_s).abs() - self.resolution_s;
        // Without the kernel's times of threads, the account gives no verdict.
        let cpu = self.cpu_s < CPU_LEAST_S || self.threads_s == 0.0 || beyond <= UNACCOUNTED_MAX * self.cpu_s;
        cpu && self.wall_holds(&self.waits) && self.wall_holds(&self.started)
    }

    /// Returns true if the waits explain the wall time of threads, or if that time is too short for a verdict.
    fn wall_holds(&self, waits: &Waits) -> bool {
        let beyond = waits.unaccounted_s().abs() - self.resolution_s;
        // A system that does not show the calls of threads gives no verdict.
        let is_seen = waits.reasons.iter().any(|seconds| *seconds > 0.0);
        waits.threads_s < CPU_LEAST_S || !is_seen || beyond <= UNACCOUNTED_MAX * waits.threads_s
    }

    /// Returns the wall time of the threads as a section of a report.
    fn waits_section(&self) -> Section {
        let cells = |waits: &Waits, seconds: f64| {
            let share =
                if waits.threads_s > 0.0 { Cell::Number(100.0 * seconds / waits.threads_s) } else { Cell::Empty };
            [Cell::Number(seconds), share]
        };
        let row = |what: &str, of: &dyn Fn(&Waits) -> f64| {
            let mut row = vec![Cell::text(what)];
            row.extend(cells(&self.waits, of(&self.waits)));
            row.extend(cells(&self.started, of(&self.started)));
            row
        };
        let mut rows = vec![
            row("wall time of threads", &|waits| waits.threads_s),
            row("on a processor", &|waits| waits.cpu_s),
            row("waited for a processor", &|waits| waits.run_queue_s),
        ];
        for reason in Reason::ALL {
            rows.push(row(reason.name(), &|waits| waits.reasons[reason as usize]));
        }
        rows.push(row("unaccounted", &Waits::unaccounted_s));
        let is_good = self.wall_holds(&self.waits) && self.wall_holds(&self.started);
        let verdict = if is_good { "" } else { "More than 2 % is unaccounted, so the figures are untrustworthy. " };
        Section {
            id: "waits".to_owned(),
            title: "Wall time of threads".to_owned(),
            notes: vec![
                format!("{verdict}Time on a processor, waits for one and the sum of the other waits are the kernel's counts. Their division by reason is an estimate from the system calls that threads were in, every 20 ms. Unaccounted time below 0 is time that the kernel counted twice."),
                "Locks, queues, backpressure and commits are waits for another thread, and the code of this process names them. In started processes, they are other threads without a reason. Idle threads wait as well.".to_owned(),
            ],
            table: Table {
                columns: vec![
                    Column::new("what", ""),
                    Column::new("this process", "s"),
                    Column::new("of its wall time", "%"),
                    Column::new("started processes", "s"),
                    Column::new("of their wall time", "%"),
                ],
                rows,
            },
            picture: None,
        }
    }

    /// Returns the CPU time of the accounting as a share of all CPU time.
    #[must_use]
    pub fn own_share(&self) -> f64 {
        if self.cpu_s > 0.0 { self.own_s / self.cpu_s } else { 0.0 }
    }

    /// Returns the accounting as a section of a report.
    #[must_use]
    pub fn section(&self) -> Section {
        let share =
            |seconds: f64| if self.cpu_s > 0.0 { Cell::Number(100.0 * seconds / self.cpu_s) } else { Cell::Empty };
        let row = |what: &str, seconds: f64, share: Cell| vec![Cell::text(what), Cell::Number(seconds), share];
        Section {
            id: "account".to_owned(),
            title: "Account of this process".to_owned(),
            notes: vec![
                "The CPU time of the process is the time of its threads plus a remainder. The account is untrustworthy if more than 2 % remains after ended threads.".to_owned(),
                "Other processes that the measurement starts, such as servers, have figures of their own.".to_owned(),
            ],
            table: Table {
                columns: vec![Column::new("what", ""), Column::new("time", "s"), Column::new("of CPU time", "%")],
                rows: vec![
                    row("elapsed", self.elapsed_s, Cell::Empty),
                    row("CPU time of the process", self.cpu_s, share(self.cpu_s)),
                    row("CPU time of its threads", self.threads_s, share(self.threads_s)),
                    row("of no thread", self.cpu_s - self.threads_s, share(self.cpu_s - self.threads_s)),
                    row("of threads that ended, at most", self.resolution_s, share(self.resolution_s)),
                    row("threads that waited for a processor", self.run_queue_s, share(self.run_queue_s)),
                    row("cost of this account", self.own_s, share(self.own_s)),
                ],
            },
            picture: None,
        }
    }

    /// Returns the accounting in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let verdict = if self.is_trustworthy() { "" } else { ", untrustworthy: expected at most 2 %" };
        format!(
            "account: {:.2} s elapsed, {:.2} s CPU = {:.2} s of threads + {:.2} s of none ({:.1} %{verdict}; ended threads explain at most {:.2} s); {:.2} s in the run queue; the account cost {:.2} %",
            self.elapsed_s,
            self.cpu_s,
            self.threads_s,
            self.cpu_s - self.threads_s,
            100.0 * self.unaccounted_share(),
            self.resolution_s,
            self.run_queue_s,
            100.0 * self.own_share()
        )
    }

    /// Adds the accounting to a report. A reason for distrust becomes the report's verdict, unless it has one already.
    pub fn add_to(&self, report: &mut Report) {
        report.sections.push(self.section());
        report.sections.push(self.waits_section());
        if !self.is_trustworthy() && report.verdict == Verdict::Good {
            report.verdict = Verdict::Untrustworthy;
            let share = |waits: &Waits| {
                format!("{:.1} % of the wall time of threads is in no wait", 100.0 * waits.unaccounted_share())
            };
            let what = match (self.wall_holds(&self.waits), self.wall_holds(&self.started)) {
                (false, _) => share(&self.waits),
                (_, false) => format!("{} of the processes that this one started", share(&self.started)),
                _ => {
                    let percent = 100.0 * self.unaccounted_share();
                    format!("{percent:.1} % of the CPU time of this process belongs to no thread")
                }
            };
            report.summary = format!("{what}, expected at most 2 %. {}", report.summary);
        }
    }
}

/// The account of a measurement that runs.
#[derive(Debug)]
pub struct Accounting {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Account>>,
}

impl Accounting {
    /// Begins an account. Without a thread for it, the account is empty.
    #[must_use]
    pub fn begin() -> Accounting {
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("account".to_owned()).spawn(move || keep(&ended)).ok();
        Accounting { stop, thread }
    }

    /// Ends the account.
    #[must_use]
    pub fn end(mut self) -> Account {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Account::default() };
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Accounting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
        }
    }
}

fn keep(stop: &AtomicBool) -> Account {
    let (began, mut probe) = (Instant::now(), System);
    let since = || began.elapsed().as_secs_f64();
    let cpu = probe.process().cpu_ns;
    let own = std::process::id();
    let read = |process: u32| readings_of(process, since);
    let schedules = |found: &[((u32, u32), crate::waits::Reading)]| -> HashMap<u32, (u64, u64)> {
        found.iter().map(|((_, tid), reading)| (*tid, (reading.run_ns, reading.wait_ns))).collect()
    };
    let first = read(own);
    let mut known = schedules(&first);
    let (mut own_ledger, mut started_ledger) = (Ledger::default(), Ledger::default());
    first.into_iter().for_each(|(thread, reading)| own_ledger.add(thread, reading));
    let mut started = started_by(own);
    let (mut run_ns, mut wait_ns, mut resolution) = (0, 0, Duration::ZERO);
    let (mut last, mut looks) = (began, 0u32);
    let mut look = || {
        let readings = read(own);
        let found = schedules(&readings);
        let ended = known.len();
        known.retain(|tid, _| found.contains_key(tid));
        let ended = u32::try_from(ended - known.len()).unwrap_or(u32::MAX);
        resolution += last.elapsed() * ended;
        last = Instant::now();
        own_ledger.keep(|(_, tid)| found.contains_key(tid));
        readings.into_iter().for_each(|(thread, reading)| own_ledger.add(thread, reading));
        for (tid, now) in found {
            // A number that falls is of another thread, which began since.
            let before = known.insert(tid, now).filter(|before| before.0 <= now.0).unwrap_or_default();
            run_ns += now.0 - before.0;
            wait_ns += now.1.saturating_sub(before.1);
        }
        looks += 1;
        if looks.is_multiple_of(LOOKS_A_SEARCH) {
            started = started_by(own);
        }
        let readings: Vec<_> = started.iter().flat_map(|process| read(*process)).collect();
        let there: std::collections::HashSet<(u32, u32)> = readings.iter().map(|(thread, _)| *thread).collect();
        started_ledger.keep(|thread| there.contains(thread));
        readings.into_iter().for_each(|(thread, reading)| started_ledger.add(thread, reading));
    };
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(LOOK);
        look();
    }
    let elapsed_s = began.elapsed().as_secs_f64();
    let cpu_ns = probe.process().cpu_ns.saturating_sub(cpu);
    let seconds = |ns: u64| ns as f64 / 1e9;
    Account {
        elapsed_s,
        cpu_s: seconds(cpu_ns),
        threads_s: seconds(run_ns),
        run_queue_s: seconds(wait_ns),
        resolution_s: resolution.as_secs_f64(),
        own_s: seconds(thread_cpu_ns()),
        waits: own_ledger.waits(),
        started: started_ledger.waits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burn(time: Duration) {
        let (begin, mut sum) = (thread_cpu_ns(), 0u64);
        while u128::from(thread_cpu_ns() - begin) < time.as_nanos() {
            sum = core::hint::black_box(sum + 1);
        }
    }

    #[test]
    fn threads_that_live_are_accounted() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let accounting = Accounting::begin();
        let thread = std::thread::spawn(|| burn(Duration::from_millis(400)));
        burn(Duration::from_millis(200));
        thread.join().unwrap();
        let account = accounting.end();
        // Other tests of this process may run beside it, so the sums are bounds.
        assert!(account.cpu_s >= 0.6 && account.elapsed_s >= 0.2, "{account:?}");
        assert!(account.threads_s >= 0.4 && account.own_s > 0.0 && account.own_s < 0.2, "{account:?}");
    }

    #[test]
    fn an_account_that_misses_time_is_untrustworthy() {
        let account = Account {
            elapsed_s: 10.0,
            cpu_s: 10.0,
            threads_s: 9.5,
            run_queue_s: 1.0,
            resolution_s: 0.1,
            own_s: 0.05,
            ..Account::default()
        };
        assert!(!account.is_trustworthy());
        assert!(account.line().contains("untrustworthy") && account.line().contains("the account cost 0.50 %"));
        let mut report = Report {
            kind: "net".to_owned(),
            title: "t".to_owned(),
            verdict: Verdict::Good,
            summary: "all is well.".to_owned(),
            conditions: Vec::new(),
            sections: Vec::new(),
        };
        account.add_to(&mut report);
        assert_eq!(report.verdict, Verdict::Untrustworthy);
        assert!(report.summary.starts_with("5.0 % of the CPU time") && report.text().contains("cost of this account"));
        let sound = Account { threads_s: 9.9, ..account };
        assert!(sound.is_trustworthy() && !sound.line().contains("untrustworthy"));
        assert!(Account { resolution_s: 0.4, ..account }.is_trustworthy(), "ended threads explain it");
        assert!(Account { cpu_s: 0.5, threads_s: 0.1, ..account }.is_trustworthy(), "too little to say");
    }

    #[test]
    fn wall_time_that_no_wait_explains_is_untrustworthy() {
        let waits = Waits {
            threads_s: 20.0,
            cpu_s: 8.0,
            run_queue_s: 1.0,
            reasons: [3.0, 1.0, 1.0, 0.5, 0.5, 0.0, 4.0, 0.9, 0.0, 0.0, 0.0],
        };
        let sound = Account { elapsed_s: 10.0, cpu_s: 8.0, threads_s: 8.0, waits, ..Account::default() };
        assert!(sound.is_trustworthy());
        let mut report = Report {
            kind: "store".to_owned(),
            title: "t".to_owned(),
            verdict: Verdict::Good,
            summary: "all is well.".to_owned(),
            conditions: Vec::new(),
            sections: Vec::new(),
        };
        let missing = Waits { cpu_s: 7.0, ..waits };
        let of_server = Account { started: missing, ..sound };
        of_server.add_to(&mut report);
        assert_eq!(report.verdict, Verdict::Untrustworthy);
        let expected =
            "5.5 % of the wall time of threads is in no wait of the processes that this one started, expected";
        assert!(report.summary.starts_with(expected), "{}", report.summary);
        assert!(report.text().contains("full queues and backpressure") && report.text().contains("unaccounted"));
        let double = Waits { cpu_s: 9.0, ..waits };
        assert!(!Account { waits: double, ..sound }.is_trustworthy(), "time that is counted twice");
        assert!(Account { waits: missing, resolution_s: 1.0, ..sound }.is_trustworthy(), "ended threads explain it");
    }

    #[test]
    fn waits_of_running_threads_have_their_reasons() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let threads = [
            std::thread::spawn(|| std::thread::sleep(Duration::from_millis(900))),
            std::thread::spawn(move || assert!(receiver.recv().is_err())),
            std::thread::spawn(|| burn(Duration::from_millis(300))),
        ];
        let mut other = std::process::Command::new("sleep").arg("0.8").spawn().expect("a process");
        let accounting = Accounting::begin();
        std::thread::sleep(Duration::from_millis(600));
        let account = accounting.end();
        drop(sender);
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
        other.wait().expect("an end");
        let of = |waits: &Waits, reason: Reason| waits.reasons[reason as usize];
        let waits = account.waits;
        assert!(of(&waits, Reason::Timer) > 0.4 && of(&waits, Reason::Threads) > 0.4, "{account:?}");
        assert!(of(&account.started, Reason::Timer) > 0.3, "{account:?}");
        let beyond = waits.unaccounted_s().abs() - account.resolution_s;
        // The kernel has not counted the wait of a thread that waits for a processor at the end, which is long on a busy machine.
        assert!(beyond <= 0.02 * waits.threads_s + 0.1, "{account:?}");
    }
}
