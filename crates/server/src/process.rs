//! Metrics of the process, by the names that Prometheus' client libraries use. Only Linux reports them.

use quayline_meter::ProcessUse;

use crate::metric_kind::Kind;

/// Returns name, kind, help and value of each metric that the system reports. Source: proc(5).
pub(crate) fn samples() -> Vec<(&'static str, Kind, &'static str, f64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let boot = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let open = std::fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as f64);
    let cpu = Some(ProcessUse::now().cpu.as_secs_f64());
    let page = rustix::param::page_size() as f64;
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    [
        ("process_cpu_seconds_total", Kind::Counter, "CPU time of all threads, in seconds.", cpu),
        ("process_resident_memory_bytes", Kind::Gauge, "Resident memory.", field(&stat, 24).map(|n| n * page)),
        ("process_virtual_memory_bytes", Kind::Gauge, "Virtual memory.", field(&stat, 23)),
        ("process_threads", Kind::Gauge, "Threads.", field(&stat, 20)),
        ("process_open_fds", Kind::Gauge, "Open files and connections.", open),
        ("process_max_fds", Kind::Gauge, "Limit of open files and connections.", limit(&limits)),
        (
            "process_start_time_seconds",
            Kind::Gauge,
            "Start time of the process, in seconds since 1970.",
            started(&stat, &boot, ticks),
        ),
    ]
    .into_iter()
    .filter_map(|(name, kind, help, value)| Some((name, kind, help, value?)))
    .collect()
}

/// Returns a field of `/proc/self/stat`, counted from 1. The second field, the program's name, may contain anything, so counting begins at its
/// closing parenthesis.
fn field(stat: &str, number: usize) -> Option<f64> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(number - 3)?.parse().ok()
}

fn limit(limits: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn started(stat: &str, boot: &str, ticks: f64) -> Option<f64> {
    let booted: f64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(booted + field(stat, 22)? / ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_whatever_the_program_is_called() {
        let stat = "4711 (odd ) name) R 1 4711 4711 0 -1 4194304 100 0 0 0 30 10 0 0 20 0 7 0 9900 1000 200";
        assert_eq!(
            [20, 22, 23, 24].map(|number| field(stat, number)),
            [Some(7.0), Some(9900.0), Some(1000.0), Some(200.0)]
        );
        assert_eq!(started(stat, "cpu 1\nbtime 1000\n", 100.0), Some(1099.0));
        assert_eq!(
            limit("Limit  Soft  Hard\nMax open files            1024                 524288               files\n"),
            Some(1024.0)
        );
    }
}
