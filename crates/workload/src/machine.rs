//! Figures of the machine: memory, disks, network interfaces, and waits for them. Linux, by `/proc` and `/sys`.

use std::path::Path;

use crate::figure::{Figure, names};
use crate::pressure::pressure;

/// Returns every figure that this system provides.
pub(crate) fn figures() -> Vec<Figure> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let mut found = Vec::new();
    found.extend(memory_free(&read("/proc/meminfo")).map(|bytes| Figure::now(names::MEMORY_FREE, bytes)));
    found.extend(memory_limit().map(|bytes| Figure::now(names::MEMORY_LIMIT, bytes)));
    found.extend(pressure(&read("/proc/pressure/io")).map(|share| Figure::now(names::IO_PRESSURE, share)));
    found.extend(guest_processors(&read("/proc/cpuinfo")).map(|count| Figure::now(names::GUEST_PROCESSORS, count)));
    found.extend(page_faults(&read("/proc/self/stat")).map(|faults| Figure::total(names::PAGE_FAULTS, faults)));
    let is_disk = |name: &str| Path::new("/sys/block").join(name).exists();
    found.extend(disks(&read("/proc/diskstats"), is_disk));
    let speed = |name: &str| read(&format!("/sys/class/net/{name}/speed")).trim().parse::<f64>().ok();
    found.extend(interfaces(&read("/proc/net/dev"), speed));
    found
}

/// Parses `MemAvailable`, in bytes.
fn memory_free(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<f64>().ok()? * 1_024.0)
}

/// Returns the memory limit of this process's control group, if it has one.
fn memory_limit() -> Option<f64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let path = Path::new("/sys/fs/cgroup").join(group.trim_start_matches('/')).join("memory.max");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Counts the processors of a virtual machine: the flag `hypervisor` is set by every hypervisor that follows its convention. `None` on other machines.
///
/// Source: Linux, Documentation/virt/kvm/x86/cpuid.rst, and arch/x86/include/asm/cpufeatures.h, `X86_FEATURE_HYPERVISOR`.
fn guest_processors(text: &str) -> Option<f64> {
    let flags = text.lines().filter(|line| line.starts_with("flags"));
    let count = flags.filter(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor")).count();
    (count > 0).then_some(count as f64)
}

/// Parses major faults: field 12, counted after the name in parentheses, which may contain any characters.
fn page_faults(text: &str) -> Option<f64> {
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(9)?.parse().ok()
}

/// Returns the busy time of whole disks, without loop devices and memory disks.
fn disks(text: &str, is_disk: impl Fn(&str) -> bool) -> Vec<Figure> {
    let disk = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (name, busy_ms) = (*fields.get(2)?, fields.get(12)?.parse::<f64>().ok()?);
        let is_none = ["loop", "ram", "zram", "dm-", "md"].iter().any(|prefix| name.starts_with(prefix));
        (!is_none && is_disk(name)).then(|| Figure::total(format!("{}:{name}", names::DISK_BUSY), busy_ms / 1e3))
    };
    text.lines().filter_map(disk).collect()
}

/// Bytes and speeds of the interfaces whose speed is known, in Mbit/s.
fn interfaces(text: &str, speed: impl Fn(&str) -> Option<f64>) -> Vec<Figure> {
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((name, counts)) = line.trim().split_once(':') else { continue };
        let counts: Vec<f64> = counts.split_ascii_whitespace().filter_map(|count| count.parse().ok()).collect();
        let (Some(received), Some(sent)) = (counts.first(), counts.get(8)) else { continue };
        let Some(megabits) = speed(name).filter(|speed| *speed > 0.0) else { continue };
        // Both ways of a full-duplex line have its speed; the busier way limits.
        found.push(Figure::total(format!("{}:{name}:received", names::INTERFACE_BYTES), *received));
        found.push(Figure::total(format!("{}:{name}:sent", names::INTERFACE_BYTES), *sent));
        found.push(Figure::now(format!("{}:{name}", names::INTERFACE_SPEED), megabits * 1e6));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FigureValue;

    #[test]
    fn the_texts_of_the_system_are_read() {
        assert_eq!(memory_free("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2_097_152.0));
        let cpu = "processor: 0\nflags\t: fpu hypervisor sse\nprocessor: 1\nflags\t: fpu hypervisor\n";
        assert_eq!(guest_processors(cpu), Some(2.0));
        assert_eq!(guest_processors(&cpu.replace("hypervisor", "vmx")), None);
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 33 0 5 6 0 0";
        assert_eq!(page_faults(stat), Some(33.0));
        let disk = "   8       0 sda 1 2 3 4 5 6 7 8 0 1500 9\n   7 0 loop0 1 2 3 4 5 6 7 8 0 9 9\n   8 1 sda1 1 2 3 4 5 6 7 8 0 9 9\n";
        assert_eq!(disks(disk, |name| name != "sda1"), [Figure::total("disk-busy-s:sda", 1.5)]);
        let lines = "Inter-| Receive\n face |bytes\n    lo: 5 0 0 0 0 0 0 0 5 0\n  eth0: 1000 1 0 0 0 0 0 0 2000 1\n";
        let found = interfaces(lines, |name| (name == "eth0").then_some(100.0));
        assert_eq!(found.len(), 3);
        assert_eq!(found[1], Figure::total("interface-bytes:eth0:sent", 2_000.0));
        assert_eq!(found[2].value, FigureValue::Now(1e8));
    }
}
