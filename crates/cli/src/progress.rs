//! Progress bar with rate and remaining time, on a terminal, for runs longer than a second.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quayline_convert::{Advance, Progress};

use crate::console::dumb_terminal;
use crate::render::grouped;

/// Time before the bar is drawn.
const QUIET: Duration = Duration::from_secs(1);
/// Redraws a second.
const HERTZ: u8 = 5;

/// A bar on standard error that appears when a run takes longer than a second.
pub(crate) struct Bar {
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Source bytes at the first advance: the part before a resume does not count toward the rate.
    from: Option<u64>,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// Creates a bar, if standard error is a terminal that supports one.
    pub(crate) fn on_terminal() -> Option<Bar> {
        let draws = std::io::stderr().is_terminal() && !dumb_terminal();
        draws.then(|| Bar { begun: Instant::now(), state: Mutex::default() })
    }
}

impl Progress for Bar {
    fn advance(&self, at: Advance) {
        let Ok(mut state) = self.state.lock() else { return };
        let from = *state.from.get_or_insert(at.source_bytes);
        let elapsed = self.begun.elapsed();
        if elapsed < QUIET {
            return;
        }
        let bar = state.bar.get_or_insert_with(|| new_bar(&at));
        bar.set_position(at.source_bytes);
        bar.set_message(pace(&at, from, elapsed));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Ok(mut state) = self.state.lock()
            && let Some(bar) = state.bar.take()
        {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(at: &Advance) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(HERTZ);
    let template = match at.source_bytes_total {
        Some(_) => "{wide_bar} {percent:>3} %  {decimal_bytes} of {decimal_total_bytes}, {msg}",
        None => "{spinner} {decimal_bytes}, {msg}",
    };
    let style = ProgressStyle::with_template(template).expect("the template is a constant that a test parses");
    ProgressBar::with_draw_target(at.source_bytes_total, target).with_style(style.progress_chars("=> "))
}

/// Formats rate, remaining time and records.
fn pace(at: &Advance, from: u64, elapsed: Duration) -> String {
    let per_second = at.source_bytes.saturating_sub(from) as f64 / elapsed.as_secs_f64();
    let mut text = format!("{:.0} MB/s", per_second / 1e6);
    if let Some(total) = at.source_bytes_total
        && per_second > 0.0
    {
        let left = total.saturating_sub(at.source_bytes) as f64 / per_second;
        text.push_str(&format!(", {} left", time_text(left)));
    }
    text.push_str(&format!(", {} records", grouped(at.records)));
    if at.rejected > 0 {
        text.push_str(&format!(", {} rejected", grouped(at.rejected)));
    }
    text
}

/// Formats a time such as `59 s`, `1:01`, `2:03:04`.
fn time_text(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    let seconds = seconds.round().clamp(0.0, 1e9) as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_run_counts_its_own_bytes_only() {
        let at = Advance {
            source_bytes: 3_000_000_000,
            source_bytes_total: Some(10_000_000_000),
            records: 1_234_567,
            rejected: 2,
            output_bytes: 0,
        };
        let text = pace(&at, 2_000_000_000, Duration::from_secs(10));
        assert_eq!(text, "100 MB/s, 1:10 left, 1,234,567 records, 2 rejected");
        let stream = Advance { source_bytes_total: None, rejected: 0, ..at };
        assert_eq!(pace(&stream, 0, Duration::from_secs(10)), "300 MB/s, 1,234,567 records");
    }

    #[test]
    fn a_bar_can_be_made_for_files_and_streams() {
        for total in [Some(5), None] {
            new_bar(&Advance { source_bytes_total: total, ..Advance::default() }).abandon();
        }
    }

    #[test]
    fn times_read_like_a_clock() {
        assert_eq!(time_text(0.4), "0 s");
        assert_eq!(time_text(61.0), "1:01");
        assert_eq!(time_text(7384.0), "2:03:04");
        assert_eq!(time_text(f64::INFINITY), "277777:46:40");
    }
}
