//! Description of the machine, from files of the kernel.

use std::collections::HashSet;
use std::fs::read_to_string;

use quayline_capacity::calibration::Host;

/// Collects the properties of this machine. Missing ones are `unknown`, or the number of threads.
pub(crate) fn facts() -> Host {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let threads = std::thread::available_parallelism().map_or(1, |threads| u32::try_from(threads.get()).unwrap_or(1));
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let memory = read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_kib = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let release = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Host {
        processor: field("model name").or_else(|| field("CPU part")).unwrap_or_else(|| "unknown".to_owned()),
        architecture: std::env::consts::ARCH.to_owned(),
        threads,
        cores: cores(&cpuinfo).map_or(threads, |cores| cores.min(threads)),
        memory_mib: memory_kib.unwrap_or(0) / 1024,
        system: format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned(),
    }
}

/// Counts distinct pairs of socket and core; `None` if the kernel does not list them.
fn cores(cpuinfo: &str) -> Option<u32> {
    let mut seen = HashSet::new();
    for block in cpuinfo.split("\n\n") {
        let number = |name: &str| {
            let line = block.lines().find(|line| line.starts_with(name))?;
            line.split_once(':')?.1.trim().parse::<u32>().ok()
        };
        if let (Some(socket), Some(core)) = (number("physical id"), number("core id")) {
            seen.insert((socket, core));
        }
    }
    u32::try_from(seen.len()).ok().filter(|cores| *cores > 0)
}
