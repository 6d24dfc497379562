//! The progress bar: rate and time left, on a terminal, for what takes longer than a second.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quayline_convert::{Advance, Progress};

use crate::console::dumb_terminal;

/// Nothing is drawn before.
const QUIET: Duration = Duration::from_secs(1);
/// Redraws a second.
const HERTZ: u8 = 5;

/// A bar on standard error that appears when a run takes longer than a second.
pub(crate) struct Bar {
    begun: Instant,
    bar: Mutex<Option<ProgressBar>>,
}

impl Bar {
    /// A bar, where standard error is a terminal that can draw one.
    pub(crate) fn on_terminal() -> Option<Bar> {
        (std::io::stderr().is_terminal() && !dumb_terminal())
            .then(|| Bar { begun: Instant::now(), bar: Mutex::new(None) })
    }

    fn drawn(at: &Advance) -> ProgressBar {
        let target = ProgressDrawTarget::stderr_with_hz(HERTZ);
        let (bar, template) = match at.source_bytes_total {
            Some(total) => (
                ProgressBar::with_draw_target(Some(total), target),
                "{bar:30} {percent:>3} %  {decimal_bytes}/{decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left  {msg}",
            ),
            None => (
                ProgressBar::with_draw_target(None, target),
                "{spinner} {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}  {msg}",
            ),
        };
        let style = ProgressStyle::with_template(template).expect("the template is a constant that a test draws");
        bar.with_style(style.progress_chars("=> "))
    }
}

impl Progress for Bar {
    fn advance(&self, at: Advance) {
        if self.begun.elapsed() < QUIET {
            return;
        }
        let Ok(mut slot) = self.bar.lock() else { return };
        // A resumed run starts in the middle: the bytes before are no part of its rate.
        let bar = slot.get_or_insert_with(|| Bar::drawn(&at));
        bar.set_position(at.source_bytes);
        let rejected =
            if at.rejected > 0 { format!(", {} rejected", crate::render::grouped(at.rejected)) } else { String::new() };
        bar.set_message(format!("{} records{rejected}", crate::render::grouped(at.records)));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Ok(mut slot) = self.bar.lock()
            && let Some(bar) = slot.take()
        {
            bar.finish_and_clear();
        }
    }
}
