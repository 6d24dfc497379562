//! COBOL programs in worker processes of their own, called with a COMMAREA in shared memory.
//!
//! libcob is not thread-safe, a COBOL program may loop, abort or write after the end of its COMMAREA, and none of this may affect
//! the caller. So each program runs in its own process; the two share an anonymous file of memory and ring each other by eventfd:
//!
//! ```text
//!  caller (one thread)                       worker process
//!  Worker::submit ─▶ slot, submit ring  ─▶   takes a slot, calls the program with the address of its COMMAREA
//!  Worker::completions ◀─ done ring     ◀─   puts the slot on the ring with RETURN-CODE
//! ```
//!
//! * **Bells are rung only for sleepers**, and a worker rings once for a queue of calls, so under load a call rings none.
//! * **A program sees one COMMAREA**: a private copy that ends at the end of its page, with 4 GiB of unmapped addresses on either side. The
//!   shared memory with the other calls has guards of the same size, so an overrun ends the process instead of reaching another call.
//! * **WORKING-STORAGE is fresh for each call** unless [`WorkingStorage::Keep`] is set: after a call every program that it loaded
//!   is cancelled and gets the storage of a program that was just loaded, as CICS gives each task fresh storage. That covers the record
//!   areas of files and sorts. Files that the program left open are closed; working directory and environment are as at the start.
//!   EXTERNAL items, memory from ALLOCATE and the seed of FUNCTION RANDOM stay.
//! * A worker that dies reports which call it was in ([`Worker::end`]); calls that it had not begun may be submitted elsewhere.
//! * Limits: address space of the program ([`WorkerSpec::memory_bytes_max`]); time is the caller's to watch ([`Worker::running`],
//!   [`Worker::kill`]), since a program in a loop answers to nothing but a kill.
//!
//! Everything that the worker can write is treated as untrusted: slot numbers are checked, and bytes are copied out before they are read.
//!
//! This crate knows nothing of copybooks, services, HTTP or any async runtime: bells are file descriptors to be polled.

mod account;
#[allow(unsafe_code, reason = "memory shared with another process, reached by address")]
mod area;
pub mod exit_code;
mod fault;
#[allow(unsafe_code, reason = "descriptors handed to a process between fork and exec")]
mod host;
#[allow(unsafe_code, reason = "the dynamic linker hands out addresses")]
mod modules;
mod source;
#[allow(unsafe_code, reason = "libcob is a C library, a COBOL program takes an address")]
mod worker;

pub use account::{WorkerUse, waited_here, worker_use};
pub use fault::{End, ProgramError};
pub use host::{Completion, Slot, Worker, WorkerSpec, WorkingStorage};
pub use source::{Compiled, ModuleSource, NO_COMPILER, has_entry, module_of};
pub use worker::{CANNOT_BEGIN, WORKER_ARGUMENT, run_worker};
