//! Standard output that is already closed when the command starts, as with `>&-` in a shell.
//!
//! The runtime of Rust opens `/dev/null` for a descriptor from 0 to 2 that is closed, so every write succeeds and the data is lost: `queue get` deleted a
//! message that no reader received. Therefore a function that runs before the runtime notes the state of the descriptor. If it was closed, the command
//! replaces `/dev/null` with a socket without a peer. Every write to it fails, also through copies of the descriptor.
//!
//! The error is not EBADF, because [`std::io::Stdout`] ignores that, and not EPIPE, because a reader that closes a pipe has received what it wanted.
//!
//! # Unsafe code
//!
//! The section of a static is unsafe: the system calls what is there before `main`. The function only reads the flags of a descriptor and stores a
//! boolean. It needs neither the runtime nor memory of its own. The standard library has no stream socket without a peer, so the system call makes one.

use std::io::{self, ErrorKind};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Makes writes to standard output fail if it was closed when the process started. Programs that this process starts find it closed, too.
pub(crate) fn refuse_writes() -> io::Result<()> {
    if WAS_CLOSED.load(Ordering::Relaxed) {
        rustix::stdio::dup2_stdout(unconnected()?)?;
        fcntl_setfd(rustix::stdio::stdout(), FdFlags::CLOEXEC)?;
    }
    Ok(())
}

/// Creates a stream socket without a peer. A datagram socket would refuse long writes for their length.
#[expect(unsafe_code, reason = "a socket that the standard library does not make")]
fn unconnected() -> io::Result<OwnedFd> {
    // SAFETY: the call takes three numbers.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Returns true if a write failed because standard output was closed when the process started.
pub(crate) fn is_reason_of(error: &io::Error) -> bool {
    WAS_CLOSED.load(Ordering::Relaxed) && error.kind() == ErrorKind::NotConnected
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(unsafe_code, reason = "the runtime opens a closed descriptor before `main`")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_RUNTIME: extern "C" fn() = note_state;

#[cfg(target_vendor = "apple")]
#[expect(unsafe_code, reason = "the runtime opens a closed descriptor before `main`")]
#[used]
#[unsafe(link_section = "__DATA,__mod_init_func")]
static BEFORE_RUNTIME: extern "C" fn() = note_state;

extern "C" fn note_state() {
    WAS_CLOSED.store(fcntl_getfd(rustix::stdio::stdout()).is_err(), Ordering::Relaxed);
}
