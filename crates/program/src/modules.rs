//! The COBOL programs that a worker has loaded, so that all of them can be cancelled.
//!
//! libcob does not publish that list. The dynamic linker reports the objects that came after libcob. A COBOL program is a function
//! that its object exports under the name of its PROGRAM-ID, and each COBOL object imports `cob_set_cancel`.
//!
//! # Unsafe code
//!
//! `dl_iterate_phdr` calls back with a valid description, for the time of the call, and passes `data` through unchanged. Each
//! callback casts `data` to the type of the local variable that its caller passes: keep the two together. The name in a description
//! ends with 0x00. Every C library that Rust supports on Linux has `dlpi_adds`, so the size of the description is not compared. A
//! panic in a callback would end the process, since it cannot unwind through C. The worker has one thread, so nothing is loaded
//! during a walk.

use core::ffi::{CStr, c_int, c_void};
use std::ffi::CString;
use std::path::PathBuf;

/// The programs of the objects that were loaded after libcob.
#[derive(Debug)]
pub(crate) struct Modules {
    /// The linker's count of loaded objects at the last look.
    adds: u64,
    /// Objects that were read, or that were there before any program.
    known: Vec<PathBuf>,
    programs: Vec<CString>,
}

impl Modules {
    /// Starts in a process that has loaded libcob and no program.
    pub(crate) fn new() -> Self {
        Modules { adds: 0, known: objects(), programs: Vec::new() }
    }

    /// Calls `cancel` with each program that may have been called.
    pub(crate) fn each(&mut self, cancel: impl Fn(&CStr)) {
        let adds = adds();
        if adds != self.adds {
            self.adds = adds;
            self.look();
        }
        self.programs.iter().for_each(|program| cancel(program));
    }

    fn look(&mut self) {
        for path in objects() {
            if self.known.contains(&path) {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            let symbols = symbols(&bytes).unwrap_or_default();
            if symbols.iter().any(|symbol| !symbol.is_exported && symbol.name == b"cob_set_cancel") {
                let functions = symbols.iter().filter(|symbol| symbol.is_exported && symbol.is_function);
                let names = functions.filter_map(|symbol| CString::new(program_name(&symbol.name)).ok());
                self.programs.extend(names);
            }
            self.known.push(path);
        }
    }
}

/// Returns how many objects the dynamic linker has loaded so far.
fn adds() -> u64 {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description, and `data` is the number below.
        unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut adds = 0u64;
    // SAFETY: the function keeps to the type and lives as long as the program; the first answer ends the walk.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut adds).cast()) };
    adds
}

/// Files of the objects that are loaded, without the executable.
fn objects() -> Vec<PathBuf> {
    extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        use std::os::unix::ffi::OsStrExt as _;
        // SAFETY: the linker passes a valid description whose name ends with 0x00, and `data` is the list below.
        unsafe {
            let name = CStr::from_ptr((*info).dlpi_name).to_bytes();
            if name.contains(&b'/') {
                (*data.cast::<Vec<PathBuf>>()).push(PathBuf::from(std::ffi::OsStr::from_bytes(name)));
            }
        }
        0
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    // SAFETY: as above; nothing is loaded while the walk goes over the objects.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut paths).cast()) };
    paths
}

/// A dynamic symbol.
struct Symbol {
    name: Vec<u8>,
    is_exported: bool,
    is_function: bool,
}

/// Parses the dynamic symbols of a 64-bit shared object (System V ABI, "Symbol Table"); `None` for any other file.
fn symbols(elf: &[u8]) -> Option<Vec<Symbol>> {
    const DYNSYM: u64 = 11;
    const FUNCTION: u64 = 2;
    const SYMBOL_BYTES: u64 = 24;
    let number = |at: u64, plus: u64, len: usize| -> Option<u64> {
        let at = usize::try_from(at.checked_add(plus)?).ok()?;
        let bytes = elf.get(at..at.checked_add(len)?)?;
        Some(bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    };
    // The class of 64 bits, the low byte first.
    if elf.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (sections, size, count) = (number(40, 0, 8)?, number(58, 0, 2)?, number(60, 0, 2)?);
    let section = |index: u64| sections.checked_add(size.checked_mul(index)?);
    let dynsym = (0..count).filter_map(section).find(|at| number(*at, 4, 4) == Some(DYNSYM))?;
    let (from, bytes, link) = (number(dynsym, 24, 8)?, number(dynsym, 32, 8)?, number(dynsym, 40, 4)?);
    let texts = number(section(link)?, 24, 8)?;
    let mut all = Vec::new();
    for index in 0..bytes / SYMBOL_BYTES {
        let at = from.checked_add(index.checked_mul(SYMBOL_BYTES)?)?;
        let (name, kind, home) = (number(at, 0, 4)?, number(at, 4, 1)?, number(at, 6, 2)?);
        let text = elf.get(usize::try_from(texts.checked_add(name)?).ok()?..)?;
        let name = text.split(|byte| *byte == 0).next()?.to_vec();
        // Section 0: another object has it.
        all.push(Symbol { name, is_exported: home != 0, is_function: kind & 15 == FUNCTION });
    }
    Some(all)
}

/// Converts a function name to a PROGRAM-ID: cobc writes `-` as two underscores, and one underscore before a leading digit.
fn program_name(function: &[u8]) -> Vec<u8> {
    let function = match function {
        [b'_', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit) => rest,
        whole => whole,
    };
    let mut name = Vec::with_capacity(function.len());
    let mut at = 0;
    while at < function.len() {
        if function[at..].starts_with(b"__") {
            name.push(b'-');
            at += 2;
        } else {
            name.push(function[at]);
            at += 1;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_called_as_their_programs() {
        for (function, program) in [("CARINQ", "CARINQ"), ("MY__PROG", "MY-PROG"), ("_1ST", "1ST"), ("a_b", "a_b")] {
            assert_eq!(program_name(function.as_bytes()), program.as_bytes());
        }
    }

    #[test]
    fn no_file_makes_the_reader_stop() {
        for bytes in [&b""[..], b"\x7fELF\x02\x01", &[b"\x7fELF\x02\x01".as_slice(), &[0xff; 200]].concat()] {
            assert!(symbols(bytes).is_none());
        }
    }
}
