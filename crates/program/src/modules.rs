//! The COBOL programs that a worker has loaded, so that all of them can be cancelled and start as if they were loaded anew.
//!
//! libcob does not publish that list. The dynamic linker reports the objects that came after libcob. A COBOL program is a function
//! that its object exports under the name of its PROGRAM-ID, and each COBOL object imports `cob_set_cancel`.
//!
//! `cob_cancel` closes files and lets the next call set WORKING-STORAGE, and nothing sets the record areas of files and sorts. `cobc`
//! declares all storage of a program, with its flags and handles, as static variables without content. So after a cancel the bytes that
//! an object's segments have in memory and not in the file are set to zero, as the linker did when it loaded the object.
//!
//! # Unsafe code
//!
//! `dl_iterate_phdr` calls back with a valid description, for the time of the call, and passes `data` through unchanged. Each
//! callback casts `data` to the type of the local variable that its caller passes: keep the two together. The name in a description
//! ends with 0x00, and its headers are `dlpi_phnum` in number. Every C library that Rust supports on Linux has `dlpi_adds` and `dlpi_subs`,
//! so the size of the description is not compared. A panic in a callback would end the process, since it cannot unwind through C. The
//! worker has one thread, so nothing is loaded during a walk.
//!
//! [`Modules::fresh`] writes zeros to memory of loaded objects. It takes the addresses from the linker again if an object was
//! unloaded since (`COB_PHYSICAL_CANCEL`). No COBOL program is active then, and libcob has no address of a cancelled one's storage
//! except those of its functions.

use core::ffi::{CStr, c_int, c_void};
use std::collections::HashMap;
use std::ffi::CString;
use std::path::PathBuf;

/// Bytes of storage from which whole pages go back to the system: a large table that a call does not touch then takes no memory.
const WHOLE_PAGES_FROM: usize = 256 << 10;

/// The programs of the objects that were loaded after libcob.
#[derive(Debug)]
pub(crate) struct Modules {
    /// The linker's counts of loaded and unloaded objects at the last look.
    counts: (u64, u64),
    /// Objects that were there before any program.
    before: Vec<PathBuf>,
    /// Programs of each object that was read; `None` if it is not of COBOL.
    known: HashMap<PathBuf, Option<Vec<CString>>>,
    programs: Vec<CString>,
    /// Storage of the COBOL objects that are loaded: address and bytes.
    storage: Vec<(usize, usize)>,
}

impl Modules {
    /// Starts in a process that has loaded libcob and no program.
    pub(crate) fn new() -> Self {
        let before = objects().into_iter().map(|object| object.path).collect();
        Modules { counts: (0, 0), before, known: HashMap::new(), programs: Vec::new(), storage: Vec::new() }
    }

    /// Calls `cancel` with each program that may have been called, and sets their storage to zero.
    pub(crate) fn fresh(&mut self, cancel: impl Fn(&CStr)) {
        self.look();
        self.programs.iter().for_each(|program| cancel(program));
        // A physical cancel unloads objects.
        self.look();
        for (address, length) in &self.storage {
            // SAFETY: the linker mapped these bytes as writable memory without content and has not unmapped them, see above.
            unsafe { zero(*address, *length) };
        }
    }

    fn look(&mut self) {
        let counts = counts();
        if counts == self.counts {
            return;
        }
        self.counts = counts;
        (self.programs, self.storage) = (Vec::new(), Vec::new());
        for object in objects() {
            if self.before.contains(&object.path) {
                continue;
            }
            let programs = self.known.entry(object.path).or_insert_with_key(|path| programs(path));
            if let Some(programs) = programs {
                self.programs.extend_from_slice(programs);
                self.storage.extend(object.storage);
            }
        }
    }
}

/// Returns the programs of a file; `None` if it is not of COBOL.
fn programs(path: &std::path::Path) -> Option<Vec<CString>> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let symbols = symbols(&bytes).unwrap_or_default();
    if !symbols.iter().any(|symbol| !symbol.is_exported && symbol.name == b"cob_set_cancel") {
        return None;
    }
    let functions = symbols.iter().filter(|symbol| symbol.is_exported && symbol.is_function);
    Some(functions.filter_map(|symbol| CString::new(program_name(&symbol.name)).ok()).collect())
}

/// Sets memory to zero; whole pages of a large area become pages that were never touched.
///
/// # Safety
/// The bytes are writable private memory of no file, and nothing refers to them.
unsafe fn zero(address: usize, length: usize) {
    let end = address + length;
    let page = rustix::param::page_size();
    let (from, to) = (address.next_multiple_of(page), end / page * page);
    let whole = to.saturating_sub(from);
    // SAFETY: the pages are within the bytes, which are private and of no file, so each is zero at its next use.
    if whole >= WHOLE_PAGES_FROM && unsafe { libc::madvise(from as *mut c_void, whole, libc::MADV_DONTNEED) } == 0 {
        // SAFETY: the bytes before and after these pages.
        unsafe {
            core::ptr::write_bytes(address as *mut u8, 0, from - address);
            core::ptr::write_bytes(to as *mut u8, 0, end - to);
        }
        return;
    }
    // SAFETY: the caller vouches for the bytes.
    unsafe { core::ptr::write_bytes(address as *mut u8, 0, length) };
}

/// Returns how many objects the dynamic linker has loaded and unloaded so far.
fn counts() -> (u64, u64) {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description, and `data` is the pair below.
        unsafe { *data.cast::<(u64, u64)>() = ((*info).dlpi_adds, (*info).dlpi_subs) };
        1
    }
    let mut counts = (0u64, 0u64);
    // SAFETY: the function keeps to the type and lives as long as the program; the first answer ends the walk.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut counts).cast()) };
    counts
}

/// Returns the first address of each mapping of a file, with the file's absolute name.
fn mapped() -> HashMap<usize, PathBuf> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    text.lines().filter_map(mapping).collect()
}

/// Parses a line of `/proc/PID/maps`: the first address and the name of the file. A module that was compiled again while it is loaded keeps its name.
fn mapping(line: &str) -> Option<(usize, PathBuf)> {
    let (address, rest) = line.split_once('-')?;
    let name = &rest[rest.find('/')?..];
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    Some((usize::from_str_radix(address, 16).ok()?, PathBuf::from(name)))
}

/// A loaded object.
struct Object {
    /// The linker's name. It may be relative to the working directory at that time.
    path: PathBuf,
    /// Address of its first segment.
    first: usize,
    /// Writable memory without content in the file: address and bytes.
    storage: Vec<(usize, usize)>,
}

/// The objects that are loaded, without the executable.
fn objects() -> Vec<Object> {
    extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        use std::os::unix::ffi::OsStrExt as _;
        // SAFETY: the linker passes a valid description whose name ends with 0x00 and whose headers are as many as it says; `data` is the list
        // below.
        unsafe {
            let name = CStr::from_ptr((*info).dlpi_name).to_bytes();
            if name.contains(&b'/') {
                let headers = core::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum));
                let base = (*info).dlpi_addr;
                let read_only = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
                (*data.cast::<Vec<Object>>()).push(Object {
                    path: PathBuf::from(std::ffi::OsStr::from_bytes(name)),
                    first: usize::try_from(base).unwrap_or_default(),
                    storage: headers.iter().filter_map(|header| without_content(base, header, read_only)).collect(),
                });
            }
        }
        0
    }
    let mut found: Vec<Object> = Vec::new();
    // SAFETY: as above; nothing is loaded while the walk goes over the objects.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
    let mapped = mapped();
    for object in &mut found {
        if let Some(path) = mapped.get(&object.first) {
            object.path.clone_from(path);
        }
    }
    found
}

/// Returns the part of a segment that is writable memory without content in the file (System V ABI, "Program Header"). The linker makes the pages of
/// `read_only` read-only when it has set the addresses in them; some linkers fill their last page in a segment with memory of this kind.
fn without_content(
    base: u64,
    header: &libc::Elf64_Phdr,
    read_only: Option<&libc::Elf64_Phdr>,
) -> Option<(usize, usize)> {
    if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W == 0 {
        return None;
    }
    let end = header.p_vaddr.checked_add(header.p_memsz)?;
    let mut from = header.p_vaddr.checked_add(header.p_filesz)?;
    if let Some(read_only) = read_only {
        let page = rustix::param::page_size() as u64;
        let writable_from = read_only.p_vaddr.checked_add(read_only.p_memsz)?.checked_next_multiple_of(page)?;
        if (read_only.p_vaddr..writable_from).contains(&from) {
            from = writable_from;
        }
    }
    let length = end.checked_sub(from).filter(|length| *length > 0)?;
    Some((usize::try_from(base.checked_add(from)?).ok()?, usize::try_from(length).ok()?))
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
    fn a_mapping_has_the_name_of_its_file_also_after_the_file_was_replaced() {
        let read = |line: &str| mapping(line).map(|(address, path)| (address, path.display().to_string()));
        let name = Some((0x7f00_1000, "/a b/X.so".to_owned()));
        assert_eq!(read("7f001000-7f002000 r--p 00000000 08:01 12     /a b/X.so"), name);
        assert_eq!(read("7f001000-7f002000 r--p 00000000 08:01 12     /a b/X.so (deleted)"), name);
        assert_eq!(read("7f001000-7f002000 rw-p 00000000 00:00 0"), None);
    }

    /// lld fills the last page of what becomes read-only with memory without content: writing there would end the worker.
    #[test]
    fn memory_that_becomes_read_only_is_no_storage() {
        let header = |kind, from: u64, in_file: u64, in_memory: u64| libc::Elf64_Phdr {
            p_type: kind,
            p_flags: libc::PF_R | libc::PF_W,
            p_offset: 0,
            p_vaddr: from,
            p_paddr: from,
            p_filesz: in_file,
            p_memsz: in_memory,
            p_align: 4096,
        };
        let of = |segment, read_only: Option<&libc::Elf64_Phdr>| without_content(0x10_0000, &segment, read_only);
        let load = |from, in_file, in_memory| header(libc::PT_LOAD, from, in_file, in_memory);
        assert_eq!(of(load(0x4000, 0x1100, 0x1200), None), Some((0x10_5100, 0x100)));
        assert_eq!(of(load(0x4000, 0x1100, 0x1100), None), None);
        assert_eq!(of(header(libc::PT_NOTE, 0x4000, 0, 0x100), None), None);
        // GNU ld: the begin of the only segment, and the variables after it.
        let page = rustix::param::page_size() as u64;
        let (first, second) = (4 * page, 5 * page);
        let read_only = header(libc::PT_GNU_RELRO, first, page, page);
        let variables = usize::try_from(0x10_0000 + second + 0x100).unwrap();
        assert_eq!(of(load(first, page + 0x100, page + 0x180), Some(&read_only)), Some((variables, 0x80)));
        // lld: two segments, the first of which ends with its page.
        assert_eq!(of(load(first, 0x300, page), Some(&read_only)), None);
        assert_eq!(of(load(second, 0x100, 0x180), Some(&read_only)), Some((variables, 0x80)));
    }

    #[test]
    fn no_file_makes_the_reader_stop() {
        for bytes in [&b""[..], b"\x7fELF\x02\x01", &[b"\x7fELF\x02\x01".as_slice(), &[0xff; 200]].concat()] {
            assert!(symbols(bytes).is_none());
        }
    }
}
