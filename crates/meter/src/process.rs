//! Resources that the process has used.

use core::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::clock::duration;

/// CPU time and memory of the whole process since it began.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ProcessUse {
    /// CPU time of all threads.
    pub cpu: Duration,
    /// Part of the CPU time spent in the kernel; `None` if the system does not report it.
    pub system: Option<Duration>,
    /// Peak resident memory in bytes; `None` if the system does not report it.
    pub resident_bytes_max: Option<u64>,
}

impl ProcessUse {
    /// Reads the current use. Linux reports user and system time in ticks of 10 ms; their ratio divides the exact sum.
    #[must_use]
    pub fn now() -> Self {
        let cpu = duration(clock_gettime(ClockId::ProcessCPUTime));
        let stat = std::fs::read_to_string("/proc/self/stat").ok();
        let status = std::fs::read_to_string("/proc/self/status").ok();
        ProcessUse {
            cpu,
            system: stat.and_then(|stat| system_share(&stat)).map(|share| cpu.mul_f64(share)),
            resident_bytes_max: status.and_then(|status| resident_bytes_max(&status)),
        }
    }

    /// Returns the CPU time spent outside the kernel.
    #[must_use]
    pub fn user(&self) -> Option<Duration> {
        self.system.map(|system| self.cpu.saturating_sub(system))
    }

    /// Returns the use since an earlier reading. The peak of memory remains that of the whole process.
    #[must_use]
    pub fn since(&self, earlier: &ProcessUse) -> ProcessUse {
        let system = self.system.zip(earlier.system).map(|(now, then)| now.saturating_sub(then));
        ProcessUse { cpu: self.cpu.saturating_sub(earlier.cpu), system, resident_bytes_max: self.resident_bytes_max }
    }
}

/// Fields 14 and 15 of `/proc/self/stat`, user and system ticks. The second field, the program's name, may hold anything, so fields are
/// counted from its closing parenthesis. Source: proc(5).
fn system_share(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(if user + system == 0 { 0.0 } else { system as f64 / (user + system) as f64 })
}

/// Reads `VmHWM`, the high-water mark of the resident set, which `getrusage` calls `ru_maxrss`. Source: proc(5).
fn resident_bytes_max(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_text_is_read_whatever_the_program_is_called() {
        let stat = "4711 (odd ) name) R 1 4711 4711 0 -1 4194304 100 0 0 0 30 10 0 0 20 0 1 0 99 1000 200";
        assert_eq!(system_share(stat), Some(0.25));
        assert_eq!(system_share("4711 (x) R 1 2"), None);
        assert_eq!(system_share(&stat.replace("30 10", "0 0")), Some(0.0));
        assert_eq!(resident_bytes_max("Name:\tx\nVmHWM:\t    1024 kB\nVmRSS:\t 5 kB\n"), Some(1 << 20));
        assert_eq!(resident_bytes_max("Name:\tx\n"), None);
    }

    #[test]
    fn use_grows() {
        let before = ProcessUse::now();
        let block = vec![1u8; 32 << 20];
        assert_eq!(core::hint::black_box(&block).iter().map(|byte| u64::from(*byte)).sum::<u64>(), 32 << 20);
        let after = ProcessUse::now();
        assert!(after.since(&before).cpu > Duration::ZERO);
        if cfg!(target_os = "linux") {
            assert!(after.resident_bytes_max.unwrap() >= 32 << 20);
            assert!(after.user().unwrap() + after.system.unwrap() <= after.cpu + Duration::from_nanos(2));
        }
    }
}
