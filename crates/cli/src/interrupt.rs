//! Ctrl-C as a flag: the run finishes its current work and can be resumed. A second Ctrl-C, at least a second later, ends the process at once, and so
//! does the first one while the run waits for standard input.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::exit::Exit;

/// Makes exceeding the file size limit a reported write error, instead of ending the process.
pub(crate) fn survive_file_size_limit() {
    // If this fails, the process ends as before.
    let _ = flag::register(libc::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Returns a flag that Ctrl-C (SIGINT) or SIGTERM sets. A second signal of either kind, at least [`AGAIN_MIN`] after the first, ends the process with
/// [`Exit::Interrupted`]. Supervisors such as `timeout` send a signal to the process and to its group, so two simultaneous signals count as one.
pub(crate) fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let (stop, ends_now) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, i32::from(Exit::Interrupted.code()), Arc::clone(&ends_now))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    watch_signals(ends_now)?;
    Ok(stop)
}

/// Time after the first signal from which another one ends the process.
const AGAIN_MIN: Duration = Duration::from_secs(1);

/// Number of begun and ended reads of standard input; odd while one is in progress.
static READS: AtomicU64 = AtomicU64::new(0);

/// Time after a signal from which a read of standard input counts as waiting.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// After the first signal, decides when another one ends the process. Also ends the process if it only waits for standard input after a signal: the
/// system restarts the read, so the flag would not be checked. All earlier input is converted before that; incomplete outputs keep their partial
/// names.
fn watch_signals(ends_now: Arc<AtomicBool>) -> io::Result<()> {
    let (mut signals, sender) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.read_exact(&mut [0]).is_err() {
            return;
        }
        let first = Instant::now();
        loop {
            let before = READS.load(Ordering::Relaxed);
            std::thread::sleep(WAIT_MAX);
            ends_now.store(first.elapsed() >= AGAIN_MIN, Ordering::Relaxed);
            if before % 2 == 1 && before == READS.load(Ordering::Relaxed) {
                low_level::exit(i32::from(Exit::Interrupted.code()));
            }
        }
    })?;
    Ok(())
}

/// Time for the parts of a server to end in order after a second signal, or after their time.
const GRACE: Duration = Duration::from_secs(1);

/// Bounds the end of a server. After the first signal, the process ends within `drain`, or at another signal at least [`AGAIN_MIN`] later, and within
/// [`GRACE`] of either. As after a crash, the next start rolls back the units of work in progress.
pub(crate) fn bound_end(drain: Duration) -> io::Result<()> {
    let (mut signals, sender) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    let ends = |why: &str, exit: Exit| -> ! {
        std::thread::sleep(GRACE);
        eprintln!("units of work in progress are rolled back: {why}");
        low_level::exit(i32::from(exit.code()))
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut byte = [0];
        if signals.read_exact(&mut byte).is_err() {
            return;
        }
        let first = Instant::now();
        loop {
            let left = drain.saturating_sub(first.elapsed());
            if left.is_zero() {
                ends("they took longer than drain-seconds", Exit::Done);
            }
            // Without a limit, the next signal still ends the wait.
            let _ = signals.set_read_timeout(Some(left));
            if signals.read_exact(&mut byte).is_ok() && first.elapsed() >= AGAIN_MIN {
                ends("a second signal came", Exit::Interrupted);
            }
        }
    })?;
    Ok(())
}

/// Standard input, whose reads a signal ends.
pub(crate) struct Stdin(io::Stdin);

impl Stdin {
    pub(crate) fn new() -> Self {
        Stdin(io::stdin())
    }
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        READS.fetch_add(1, Ordering::Relaxed);
        let read = self.0.read(buffer);
        READS.fetch_add(1, Ordering::Relaxed);
        read
    }
}
