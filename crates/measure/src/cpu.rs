//! CPU time of a process and its children, from the kernel's own accounting.

use std::time::Duration;

/// A process whose CPU time is read.
#[derive(Clone, Debug)]
pub struct CpuClock {
    ids: Vec<u32>,
}

impl CpuClock {
    /// Creates a clock for a process and its running child processes, such as a server and its program workers.
    #[must_use]
    pub fn of_family(id: u32) -> CpuClock {
        let mut ids = vec![id];
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(child) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let Ok(stat) = std::fs::read_to_string(format!("/proc/{child}/stat")) else { continue };
            // The second field, the program's name, may hold anything, so fields are counted from its closing parenthesis (proc(5)).
            let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1)?.parse().ok());
            if parent == Some(id) {
                ids.push(child);
            }
        }
        CpuClock { ids }
    }

    /// Returns the ids of the processes: the parent first.
    pub(crate) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the CPU time of all processes so far: the sum of the first number of each thread's `schedstat`, in nanoseconds.
    #[must_use]
    pub fn read(&self) -> Duration {
        CpuClock::of(&self.ids)
    }

    /// Returns the CPU time of the child processes (program workers) so far.
    #[must_use]
    pub fn read_children(&self) -> Duration {
        CpuClock::of(self.ids.get(1..).unwrap_or_default())
    }

    fn of(ids: &[u32]) -> Duration {
        let mut total = 0u64;
        for id in ids {
            for task in std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten() {
                let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                total += stat.split_ascii_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            }
        }
        Duration::from_nanos(total)
    }

    /// Returns the resident memory of all processes, in bytes.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let of = |id: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        self.ids.iter().filter_map(of).sum::<u64>() * 1024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows() {
        let clock = CpuClock::of_family(std::process::id());
        let before = clock.read();
        let sum = (0..30_000_000u64).fold(0u64, |sum, i| sum ^ core::hint::black_box(i));
        assert_ne!(core::hint::black_box(sum), 1);
        // A tick may pass before the scheduler writes it down.
        std::thread::sleep(Duration::from_millis(20));
        assert!(clock.read() > before);
        assert!(clock.resident_bytes() > 1 << 20);
    }
}
