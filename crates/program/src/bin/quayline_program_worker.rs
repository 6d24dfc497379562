//! A worker alone, for tests of this crate; `quayline` has the same as a hidden command.

use std::ffi::OsString;

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(2).collect();
    std::process::exit(quayline_program::run_worker(&arguments));
}
