//! Output of DISPLAY in the log: lines with the name of the program, without control characters, because it may contain data of clients.
//!
//! | limit | value | beyond the limit |
//! |---|---|---|
//! | [`LINE_BYTES_MAX`] | 1,024 bytes of a line | `…` is in place of the rest |
//! | [`DISPLAYED_LINES_MAX`] | 200 lines in a second, for each program and server thread | one line gives the number of further lines |

use core::fmt::{self, Write as _};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Maximum number of bytes of a line in the log.
const LINE_BYTES_MAX: usize = 1024;

/// Maximum number of logged lines of a program in a second: enough to follow single calls, and less than 200 KiB.
pub(crate) const DISPLAYED_LINES_MAX: u32 = 200;

/// Pipe with the output of DISPLAY in a program.
pub(crate) struct Output {
    pipe: AsyncFd<OwnedFd>,
    /// Buffer of the last read, and the number of its bytes.
    bytes: Vec<u8>,
    read: usize,
    /// Current line, and whether its end was dropped.
    line: Vec<u8>,
    is_cut: bool,
}

impl Output {
    #[expect(
        deprecated,
        reason = "the call is unsound for types that close their descriptor early; an OwnedFd does not"
    )]
    pub(crate) fn new(pipe: OwnedFd) -> std::io::Result<Output> {
        let pipe = AsyncFd::with_interest(pipe, Interest::READABLE)?;
        Ok(Output { pipe, bytes: vec![0; 4096], read: 0, line: Vec::new(), is_cut: false })
    }

    /// Waits for further output and reads it. Returns `false` at the end. Waits forever if there is no pipe.
    pub(crate) async fn more(output: &mut Option<Output>) -> bool {
        let Some(Output { pipe, bytes, read, .. }) = output else { return core::future::pending().await };
        *read = 0;
        loop {
            let Ok(mut ready) = pipe.readable().await else { return false };
            match ready.try_io(|pipe| Ok(rustix::io::read(pipe.get_ref(), &mut **bytes)?)) {
                Ok(Ok(n)) => {
                    *read = n;
                    return n > 0;
                }
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(Err(_)) => return false,
                Err(_would_block) => {}
            }
        }
    }

    /// Reads the remaining output of a worker that has ended. Returns `false` if there is none.
    pub(crate) fn rest(&mut self) -> bool {
        self.read = rustix::io::read(self.pipe.get_ref(), &mut *self.bytes).unwrap_or(0);
        self.read > 0
    }

    /// Discards the bytes that were read last, whose lines are already logged.
    pub(crate) fn forget(&mut self) {
        self.read = 0;
    }

    /// Calls `each` with the lines of the output that was read.
    pub(crate) fn lines(&mut self, each: &mut dyn FnMut(Displayed<'_>)) {
        let bytes = core::mem::take(&mut self.bytes);
        for part in bytes[..self.read].split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            let room = LINE_BYTES_MAX - self.line.len();
            self.is_cut |= text.len() > room;
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                self.end_line(each);
            }
        }
        self.bytes = bytes;
    }

    /// Ends a line.
    pub(crate) fn end_line(&mut self, each: &mut dyn FnMut(Displayed<'_>)) {
        let line = Displayed { bytes: self.line.trim_ascii_end(), is_cut: self.is_cut };
        if !line.bytes.is_empty() || line.is_cut {
            each(line);
        }
        self.line.clear();
        self.is_cut = false;
    }
}

/// A line that a program displayed. Its text has no control characters: they could forge other lines, or change the operator's terminal.
pub(crate) struct Displayed<'a> {
    bytes: &'a [u8],
    is_cut: bool,
}

impl Displayed<'_> {
    pub(crate) fn starts_with(&self, text: &str) -> bool {
        self.bytes.starts_with(text.as_bytes())
    }
}

impl fmt::Display for Displayed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                if c.is_control() { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
            }
            // Invalid bytes come from another code page.
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        if self.is_cut { f.write_char('…') } else { Ok(()) }
    }
}

/// Number of lines of a program that the log accepts in this second.
#[derive(Default)]
pub(crate) struct Allowance {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Allowance {
    /// Counts a line. Returns whether the log accepts it.
    pub(crate) fn takes_line(&mut self) -> bool {
        let is_taken = self.lines < DISPLAYED_LINES_MAX;
        if is_taken {
            self.lines += 1;
        } else {
            self.left_out += 1;
        }
        is_taken
    }

    /// Begins a new second if the last one is over. Returns the number of lines that the last one left out, if any.
    pub(crate) fn left_out(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_some_and(|since| now.saturating_duration_since(since) < Duration::from_secs(1)) {
            return None;
        }
        self.since = Some(now);
        self.lines = 0;
        Some(core::mem::take(&mut self.left_out)).filter(|count| *count > 0)
    }

    /// Returns whether the log still has to report lines that were left out.
    pub(crate) fn has_left_out(&self) -> bool {
        self.left_out > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_so_many_lines_and_the_next_one_says_how_many_it_left_out() {
        let (mut allowance, now) = (Allowance::default(), Instant::now());
        assert_eq!(allowance.left_out(now), None);
        let taken = (0..DISPLAYED_LINES_MAX + 7).filter(|_| allowance.takes_line()).count();
        assert_eq!((taken, allowance.has_left_out()), (DISPLAYED_LINES_MAX as usize, true));
        assert_eq!(allowance.left_out(now + Duration::from_millis(999)), None);
        assert!(!allowance.takes_line());
        assert_eq!(allowance.left_out(now + Duration::from_secs(1)), Some(8));
        assert!(allowance.takes_line() && !allowance.has_left_out());
        assert_eq!(allowance.left_out(now + Duration::from_secs(9)), None);
    }
}
