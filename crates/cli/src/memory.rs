//! Memory allocation of the process.
//!
//! # Unsafe code
//!
//! `mallopt` takes no pointer. It requires parameters that glibc knows, and no other thread may allocate at the same time. `convert`, `validate`,
//! jobs and the commands of partners call this module first, before they start threads or signal handlers.

/// Makes the allocator request large blocks of memory from the system and return them one by one.
///
/// The allocator of glibc begins with separate large blocks. Whenever such a block is freed, it raises the minimum size of a large block, up to 32
/// MiB. Blocks that lanes and writer pass to each other have some megabytes; one thread allocates them and another frees them. With the raised
/// minimum, they leave holes in the heaps of all threads: a conversion on two threads that works on 25 MB took twice that. The same is true of
/// checkpoint data of megabytes, and of chunks of 100,000 rows.
///
/// Each thread keeps a heap for small blocks. With one heap for all, lanes wait for each other at its lock: a file whose records all have findings
/// took 7.7 s instead of 2.1 on two threads, 3.5 on one, and valid XML 1.1 s instead of 0.9. The peak memory is the same within 3 MB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a setting of the C library's allocator")]
pub(crate) fn give_large_blocks_back() {
    // SAFETY: the call has no requirement but a known parameter; it happens before threads are started.
    let done = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) };
    debug_assert_eq!(done, 1, "a bound of 512 KiB is what glibc takes");
}

/// Has the heap of small blocks keep what is freed at its end, up to 16 MiB, for what is needed next.
///
/// The allocator gives back all but 128 KiB once [`give_large_blocks_back`] was called. A store that applies its changes frees some megabytes each
/// time and takes them again; each page then comes from the system anew. The largest size of the heap stays what it was.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a setting of the C library's allocator")]
pub(crate) fn keep_small_blocks() {
    // SAFETY: the call has no requirement but a known parameter; it happens before threads are started.
    let done = unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES) };
    debug_assert_eq!(done, 1, "a bound of 16 MiB is what glibc takes");
}

/// Does nothing for other allocators.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_large_blocks_back() {}

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_small_blocks() {}

/// Above the buffers of usual blocks, which live as long as the run.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: i32 = 512 << 10;

/// Memory of one generation of changes of a store with its pages.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: i32 = 16 << 20;
