//! The worker's side: loads libcob and the program, and calls it for every slot that comes.
//!
//! # Unsafe code
//!
//! * **Descriptors** 3, 4 and 5 are open: `host::launch` puts them there before the process starts, and nothing here closes them. In
//!   a process that was started by hand they may not be; then mapping the memory fails, and [`run_worker`] returns
//!   [`exit_code::NO_CALLER`].
//! * **libcob** is not thread-safe. This process has one thread, and calls into libcob only from it. `Cobol::load` keeps the library
//!   loaded for good and checks each symbol; the function types are those of `libcob.h`, which the compiler cannot check. `cob_init`
//!   runs before any other function.
//! * **Text from libcob** is copied before the next call into it.
//! * **The program** gets the addresses of its parameters in private pages ([`Area::begin`]). It may write anywhere in this process, which
//!   no precondition can prevent: hence a process of its own, and unmapped addresses around these pages.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering;
use std::ffi::{CString, OsString};
use std::io::Write as _;
use std::os::fd::BorrowedFd;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::area::{
    Area, CALLER_WAITS, CURRENT, Claim, DONE_TAIL, SUBMIT_HEAD, SUBMIT_TAIL, WORKER_SLEEPS, narrow, now_ns,
};
use crate::exit_code;
use crate::host::{FIRST_FD, WorkingStorage};
use crate::modules::Modules;

/// The hidden command of the executable that becomes a worker: `EXECUTABLE … program-worker PROGRAM MEMORY-BYTES fresh|keep`.
pub const WORKER_ARGUMENT: &str = "program-worker";

/// Prefix of the line that a worker writes to standard error if it cannot start.
pub const CANNOT_BEGIN: &str = "program worker cannot begin";

/// A worker rings for finished calls when its queue is empty, or after so long with more to do.
const RING_AFTER_NS: u64 = 50_000;

/// Open files of a program: the number that select() can watch.
const FILES_MAX: u64 = 1024;

/// Becomes the worker: returns only with an exit code for a worker that cannot begin or has lost its caller.
///
/// `arguments` are those after [`WORKER_ARGUMENT`]. The descriptors 3, 4 and 5 are the shared memory, the bell to the worker and
/// the bell to the caller.
#[must_use]
pub fn run_worker(arguments: &[OsString]) -> i32 {
    let by_hand = || refuse(exit_code::NO_CALLER, "it is started by `quayline serve`");
    let [program, memory, storage] = arguments else { return by_hand() };
    let memory = memory.to_str().and_then(|n| n.parse::<u64>().ok());
    let storage = storage.to_str().and_then(WorkingStorage::of_argument);
    let (Some(program), Some(memory), Some(storage)) = (program.to_str(), memory, storage) else { return by_hand() };
    // SAFETY: the caller has put these descriptors there before it started this process, and nothing here closes them.
    let [memory_fd, in_fd, out_fd] =
        core::array::from_fn(|i| unsafe { BorrowedFd::borrow_raw(FIRST_FD + c_int::try_from(i).unwrap_or(0)) });
    let area = match Area::open(memory_fd) {
        Ok(area) => area,
        Err(error) => return refuse(exit_code::NO_CALLER, &format!("its shared memory cannot be mapped: {error}")),
    };
    let cobol = match Cobol::load() {
        Ok(cobol) => cobol,
        Err(why) => return refuse(exit_code::NO_RUNTIME, &why),
    };
    // The limit is the program's own: the size of this executable and of the libraries of libcob is none of its concern. A limit that the
    // system refuses leaves a stricter one in force.
    let in_use = address_space().unwrap_or(area.address_bytes() as u64);
    for (resource, limit) in [(Resource::As, in_use.saturating_add(memory)), (Resource::Core, 0)] {
        let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    }
    // The server raises its own limit of open files; programs and libraries that use select() must not see descriptors of 1,024 and more.
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.current.map(|n| n.min(FILES_MAX)), ..files });
    let mut modules = Modules::new();
    let Ok(name) = CString::new(program) else { return refuse(exit_code::NO_PROGRAM, "its name holds a 0x00") };
    if let Err(why) = cobol.find(&name) {
        return refuse(exit_code::NO_PROGRAM, &format!("{program}: {why}"));
    }
    let place = Place::of_process();
    let mut parameters: Vec<*mut c_void> = area.addresses().map(<*mut u8>::cast).collect();
    serve(&area, in_fd, out_fd, || {
        // A program of C might change the list, which holds for its call only.
        parameters.iter_mut().zip(area.addresses()).for_each(|(to, from)| *to = from.cast());
        let return_code = cobol.call(&name, &mut parameters);
        if storage == WorkingStorage::Fresh {
            modules.fresh(|program| cobol.cancel(program));
            place.restore();
        }
        return_code
    })
}

/// Returns the bytes of address space that this process has mapped (proc(5), `statm`: its first number counts pages).
fn address_space() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    pages.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
}

fn refuse(code: i32, why: &str) -> i32 {
    // Nothing can be done if even standard error is closed.
    let _ = writeln!(std::io::stderr(), "{CANNOT_BEGIN}: {why}");
    code
}

/// Runs calls until the caller ends (the system then ends this process).
fn serve(area: &Area, in_fd: BorrowedFd<'_>, out_fd: BorrowedFd<'_>, mut call: impl FnMut() -> i32) -> i32 {
    let slots = area.geometry().slots;
    let ring = || {
        if area.word(CALLER_WAITS).swap(0, Ordering::SeqCst) == 1 {
            let _ = rustix::io::write(out_fd, &1u64.to_ne_bytes());
        }
    };
    let mut unrung = None;
    let mut head = area.word(SUBMIT_HEAD).load(Ordering::SeqCst);
    loop {
        if area.word(SUBMIT_TAIL).load(Ordering::SeqCst) == head {
            if unrung.take().is_some() {
                ring();
            }
            area.word(WORKER_SLEEPS).store(1, Ordering::SeqCst);
            // Looked at once more, because a call that came before this side announced its sleep has rung no bell.
            if area.word(SUBMIT_TAIL).load(Ordering::SeqCst) == head {
                let mut count = [0u8; 8];
                match rustix::io::read(in_fd, &mut count) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(_) => return exit_code::NO_CALLER,
                }
            }
            area.word(WORKER_SLEEPS).store(0, Ordering::SeqCst);
            continue;
        }
        let slot = area.submitted(head).load(Ordering::Relaxed) as usize;
        head = head.wrapping_add(1);
        area.word(SUBMIT_HEAD).store(head, Ordering::SeqCst);
        if slot >= slots {
            continue;
        }
        if !area.claim(slot, Claim::Begin) {
            // Withdrawn: the slot goes back as a call that is done, and nothing ran.
            let tail = area.word(DONE_TAIL);
            let at = tail.load(Ordering::Relaxed);
            area.done(at).store(narrow(slot), Ordering::Relaxed);
            tail.store(at.wrapping_add(1), Ordering::SeqCst);
            unrung.get_or_insert_with(now_ns);
            continue;
        }
        let began = now_ns();
        // This call may take long, and the answers before it belong to other clients.
        if unrung.is_some_and(|first| began.saturating_sub(first) > RING_AFTER_NS) {
            unrung = None;
            ring();
        }
        area.began().store(began, Ordering::Relaxed);
        area.word(CURRENT).store(narrow(slot) + 1, Ordering::SeqCst);
        area.begin(slot);
        let return_code = call();
        area.finish(slot);
        area.return_code(slot).store(return_code, Ordering::Relaxed);
        let tail = area.word(DONE_TAIL);
        let at = tail.load(Ordering::Relaxed);
        area.done(at).store(narrow(slot), Ordering::Relaxed);
        // In this order: a kill in between must not leave a call that is neither done nor running, because the caller would make it again.
        tail.store(at.wrapping_add(1), Ordering::SeqCst);
        area.word(CURRENT).store(0, Ordering::SeqCst);
        unrung.get_or_insert(began);
    }
}

/// The working directory and the environment at the start, which a program may change for its own call only.
struct Place {
    folder: Option<std::os::fd::OwnedFd>,
    environment: Vec<(CString, CString)>,
}

impl Place {
    fn of_process() -> Place {
        use rustix::fs::{Mode, OFlags};
        use std::os::unix::ffi::OsStringExt as _;
        let folder = rustix::fs::open(c".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let text = |text: OsString| CString::new(text.into_vec()).ok();
        let environment = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        Place { folder: folder.ok(), environment: environment.collect() }
    }

    fn restore(&self) {
        if let Some(folder) = &self.folder {
            // A folder that is open can be entered again, unless its rights changed meanwhile; then no other call could enter it either.
            let _ = rustix::process::fchdir(folder);
        }
        // SAFETY: this process has one thread, and its C library keeps the list and its texts ended.
        let is_same = unsafe {
            let mut at = libc::environ;
            let mut left = self.environment.iter();
            loop {
                let text = if at.is_null() { core::ptr::null_mut() } else { *at };
                match (text.is_null(), left.next()) {
                    (true, None) => break true,
                    (false, Some((name, value))) => {
                        let text = CStr::from_ptr(text).to_bytes();
                        let (name, value) = (name.to_bytes(), value.to_bytes());
                        let rest = text.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"="));
                        if rest != Some(value) {
                            break false;
                        }
                        at = at.add(1);
                    }
                    _ => break false,
                }
            }
        };
        if is_same {
            return;
        }
        // SAFETY: as above; the C library copies names and values.
        unsafe {
            libc::clearenv();
            for (name, value) in &self.environment {
                libc::setenv(name.as_ptr(), value.as_ptr(), 1);
            }
        }
    }
}

/// Returns the message of the dynamic linker about its last error.
fn dynamic_error() -> String {
    // SAFETY: dlerror returns null or a text that is valid until this thread calls the linker again.
    let message = unsafe {
        let message = libc::dlerror();
        if message.is_null() { c"no message" } else { CStr::from_ptr(message) }
    };
    message.to_string_lossy().into_owned()
}

/// The functions of libcob that a call needs (GnuCOBOL 3 Programmer's Guide, "Calling COBOL from C").
struct Cobol {
    resolve: unsafe extern "C" fn(*const c_char) -> *mut c_void,
    resolve_error: unsafe extern "C" fn() -> *const c_char,
    call: unsafe extern "C" fn(*const c_char, c_int, *mut *mut c_void) -> c_int,
    cancel: unsafe extern "C" fn(*const c_char),
}

impl Cobol {
    fn load() -> Result<Cobol, String> {
        let names = [c"libcob.so.4", c"libcob.so.5", c"libcob.so"];
        // SAFETY: loading libcob runs its constructors only; a null handle is looked at before use.
        let library = names
            .iter()
            .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) })
            .find(|library| !library.is_null())
            .ok_or_else(|| {
                let install = "on Debian it comes with `apt-get install gnucobol3`";
                format!("libcob.so.4 is not installed, or does not load; {install} ({})", dynamic_error())
            })?;
        let symbol = |name: &CStr| {
            // SAFETY: `library` is a handle from dlopen, `name` ends with 0x00.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            if address.is_null() { Err(format!("libcob has no {}", name.to_string_lossy())) } else { Ok(address) }
        };
        // SAFETY: the types are those of libcob.h: `void cob_init (const int, char **)`, `void *cob_resolve (const char *)`,
        // `const char *cob_resolve_error (void)`, `int cob_call (const char *, const int, void **)`,
        // `void cob_cancel (const char *)`.
        unsafe {
            let init: unsafe extern "C" fn(c_int, *mut *mut c_char) = core::mem::transmute(symbol(c"cob_init")?);
            let cobol = Cobol {
                resolve: core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> *mut c_void>(
                    symbol(c"cob_resolve")?,
                ),
                resolve_error: core::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(symbol(
                    c"cob_resolve_error",
                )?),
                call: core::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*const c_char, c_int, *mut *mut c_void) -> c_int,
                >(symbol(c"cob_call")?),
                cancel: core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char)>(symbol(
                    c"cob_cancel",
                )?),
            };
            init(0, core::ptr::null_mut());
            Ok(cobol)
        }
    }

    fn find(&self, name: &CStr) -> Result<(), String> {
        // SAFETY: a name that ends with 0x00; libcob was initialised in `load`.
        if !unsafe { (self.resolve)(name.as_ptr()) }.is_null() {
            return Ok(());
        }
        // SAFETY: libcob's own text, or null.
        let text = unsafe { (self.resolve_error)() };
        if text.is_null() {
            return Err("not found".to_owned());
        }
        // SAFETY: not null, ends with 0x00, and no further call of libcob is made while it is read.
        Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }

    fn call(&self, name: &CStr, parameters: &mut [*mut c_void]) -> i32 {
        let count = c_int::try_from(parameters.len()).unwrap_or(0);
        // SAFETY: the program takes its parameters by reference and runs on this process's only thread. Its effect on memory is its
        // own risk: this process holds nothing but the parameters of one call.
        unsafe { (self.call)(name.as_ptr(), count, parameters.as_mut_ptr()) }
    }

    /// Cancels a program: its next call sets WORKING-STORAGE as the first did, and its files are closed. Names that libcob
    /// does not know, or that were not called since, are ignored.
    fn cancel(&self, name: &CStr) {
        // SAFETY: a name that ends with 0x00; no program is active, so none is cancelled while it runs.
        unsafe { (self.cancel)(name.as_ptr()) };
    }
}
