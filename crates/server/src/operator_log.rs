//! Log for the operator. A separate thread writes it, so a stalled reader stops no server thread.
//!
//! Lines beyond the limits of the queue are dropped, and a line gives their number. A writer that panics gets no further lines.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Takes lines for the operator.
pub type LogLine = Box<dyn Fn(&str) + Send + Sync>;

/// Queue of lines with a thread that writes them. `drop` waits for the queued lines, for at most [`LAST_LINES_WAIT`].
pub(crate) struct OperatorLog {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    queue: Mutex<Queue>,
    filled: Condvar,
    ended: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<String>,
    bytes: usize,
    lost: u64,
    closed: bool,
    /// True after the thread has ended.
    over: bool,
}

/// Maximum number of lines that wait for the writer: a burst of many threads.
const LINES_MAX: usize = 4096;

/// Maximum number of bytes of these lines. A longer line is accepted if no other line waits.
const BYTES_MAX: usize = 1 << 20;

/// Maximum time that the end of a server waits for its last lines.
pub(crate) const LAST_LINES_WAIT: Duration = Duration::from_secs(2);

impl OperatorLog {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(write: LogLine) -> io::Result<OperatorLog> {
        let inner = Arc::new(Inner::default());
        let of_writer = Arc::clone(&inner);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            // A report of the panic would be another line for the same writer.
            let _ = catch_unwind(AssertUnwindSafe(|| of_writer.write_all(&write)));
            let mut queue = of_writer.queue();
            queue.over = true;
            queue.lines.clear();
            of_writer.ended.notify_all();
        })?;
        Ok(OperatorLog { inner })
    }

    /// Returns a function that appends lines. It never waits for the writer.
    pub(crate) fn sink(&self) -> LogLine {
        let inner = Arc::clone(&self.inner);
        Box::new(move |line| inner.add(line))
    }
}

impl Drop for OperatorLog {
    fn drop(&mut self) {
        let mut queue = self.inner.queue();
        queue.closed = true;
        self.inner.filled.notify_all();
        let _ = self.inner.ended.wait_timeout_while(queue, LAST_LINES_WAIT, |queue| !queue.over);
    }
}

impl Inner {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &str) {
        let mut queue = self.queue();
        let has_room = queue.lines.is_empty() || queue.lines.len() < LINES_MAX && queue.bytes + line.len() <= BYTES_MAX;
        if queue.closed || queue.over || !has_room {
            queue.lost += 1;
            return;
        }
        queue.bytes += line.len();
        queue.lines.push_back(line.to_owned());
        self.filled.notify_one();
    }

    fn write_all(&self, write: &LogLine) {
        loop {
            let mut queue = self.queue();
            while queue.lines.is_empty() {
                if queue.closed {
                    return;
                }
                queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let lines = core::mem::take(&mut queue.lines);
            let lost = core::mem::take(&mut queue.lost);
            queue.bytes = 0;
            drop(queue);
            lines.iter().for_each(|line| write(line));
            if lost > 0 {
                write(&format!("{lost} lines of the log were left out: its reader was too slow"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    /// Returns a log that writes to a list. Its writer waits until the sender is dropped.
    fn stalled() -> (OperatorLog, mpsc::Sender<()>, Arc<Mutex<Vec<String>>>) {
        let (go, gone) = mpsc::channel::<()>();
        let (gone, lines) = (Mutex::new(gone), Arc::new(Mutex::new(Vec::new())));
        let written = Arc::clone(&lines);
        let log = OperatorLog::start(Box::new(move |line| {
            let _ = gone.lock().unwrap().recv();
            written.lock().unwrap().push(line.to_owned());
        }));
        (log.unwrap(), go, lines)
    }

    /// A stalled reader of standard error stopped every thread of the server.
    #[test]
    fn a_writer_that_waits_holds_nobody_up_and_lost_lines_are_counted() {
        let (log, go, lines) = stalled();
        let sink = log.sink();
        let came = 3 * LINES_MAX;
        (0..came).for_each(|i| sink(&format!("line {i}")));
        drop(go);
        drop(log);
        sink("too late");
        let lines = lines.lock().unwrap().clone();
        let (notes, written): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.contains("left out"));
        let numbers = notes.iter().map(|note| note.split(' ').next().unwrap().parse::<usize>().unwrap());
        assert_eq!(written.len() + numbers.sum::<usize>(), came, "{notes:?}");
        assert!((LINES_MAX..=2 * LINES_MAX).contains(&written.len()), "{}", written.len());
        assert_eq!(written[0], "line 0");
    }

    #[test]
    fn the_bytes_that_wait_are_bounded_and_one_long_line_is_taken() {
        let (log, go, lines) = stalled();
        let sink = log.sink();
        let long = "x".repeat(BYTES_MAX + 1);
        for _ in 0..9 {
            sink(&long);
        }
        drop(go);
        drop(log);
        let written = lines.lock().unwrap().iter().filter(|line| line.len() > BYTES_MAX).count();
        assert!((1..=2).contains(&written), "{written}");
    }

    #[test]
    fn a_writer_that_never_comes_back_holds_up_the_end_for_a_short_time_only() {
        let (log, _go, _) = stalled();
        log.sink()("one");
        let began = Instant::now();
        drop(log);
        assert!(began.elapsed() < 5 * LAST_LINES_WAIT);
    }

    #[test]
    fn a_writer_that_panics_gets_no_more_lines() {
        let log = OperatorLog::start(Box::new(|_| panic!("a panic on purpose"))).unwrap();
        let sink = log.sink();
        (0..100).for_each(|_| sink("line"));
        drop(log);
        sink("line");
    }
}
