//! CPU time of all worker processes of this process, those that ended included.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

static ACCOUNT: LazyLock<Mutex<Account>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct Account {
    /// CPU nanoseconds of living workers at the last look, by process.
    living: HashMap<u32, u64>,
    /// CPU nanoseconds of those that ended.
    ended_ns: u64,
    started: u64,
}

/// Resources that workers used since the start of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerUse {
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// Processes that were started.
    pub started: u64,
}

/// Returns the resources that all workers of this process used so far.
#[must_use]
pub fn worker_use() -> WorkerUse {
    let mut account = ACCOUNT.lock().unwrap_or_else(PoisonError::into_inner);
    for (process, known) in &mut account.living {
        *known = (*known).max(cpu_ns(*process).unwrap_or(0));
    }
    let all = account.ended_ns + account.living.values().sum::<u64>();
    WorkerUse { cpu_s: all as f64 / 1e9, started: account.started }
}

thread_local! {
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Returns the time for which this thread has waited for calls since it started.
#[must_use]
pub fn waited_here() -> Duration {
    WAITED.get()
}

pub(crate) fn waited(time: Duration) {
    WAITED.with(|waited| waited.set(waited.get() + time));
}

pub(crate) fn began(process: u32) {
    let mut account = ACCOUNT.lock().unwrap_or_else(PoisonError::into_inner);
    account.living.insert(process, 0);
    account.started += 1;
}

/// Records that a worker has ended or is about to. Its account exists until it is waited for.
pub(crate) fn ended(process: u32) {
    let mut account = ACCOUNT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = account.living.remove(&process) {
        account.ended_ns += known.max(cpu_ns(process).unwrap_or(0));
    }
}

/// Returns the CPU time of all threads of a process, from the kernel's account of each.
fn cpu_ns(process: u32) -> Option<u64> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of_task = |task: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().next()?.parse().ok()
    };
    Some(tasks.flatten().filter_map(of_task).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_counted_while_it_lives_and_after_it_ended() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh").args(["-c", burn]).spawn().unwrap();
        let before = worker_use();
        began(child.id());
        while cpu_ns(child.id()).unwrap_or(0) < 20_000_000 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let alive = worker_use();
        assert!(alive.cpu_s - before.cpu_s >= 0.02 && alive.started - before.started == 1, "{before:?} {alive:?}");
        ended(child.id());
        child.wait().unwrap();
        let after = worker_use();
        assert!(after.cpu_s >= alive.cpu_s, "{alive:?} {after:?}");
        assert!((worker_use().cpu_s - after.cpu_s).abs() < 1e-12, "it no longer counts");
    }
}
