//! One libFuzzer program for all targets: the environment variable `QUAYLINE_FUZZ_TARGET` names the target. One program links once; a
//! program for each target spent minutes on linking the same crates.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use quayline_fuzz::Target;

/// Environment variable with the name of the target.
const TARGET: &str = "QUAYLINE_FUZZ_TARGET";

static RUN: OnceLock<Target> = OnceLock::new();

fuzz_target!(|data: &[u8]| RUN.get_or_init(chosen)(data));

fn chosen() -> Target {
    let name = std::env::var(TARGET).unwrap_or_default();
    quayline_fuzz::target(&name)
        .unwrap_or_else(|| panic!("{TARGET}={name} names no target; scripts/fuzz.sh list prints them"))
}
