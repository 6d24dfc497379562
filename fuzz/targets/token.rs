//! Any token, any set of keys and any certificate: nothing that was not signed by a known key says who a client is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quayline_server::fuzzing;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice % 3 {
        0 => {
            if let Ok(token) = std::str::from_utf8(rest) {
                assert!(fuzzing::token(token).is_err(), "nobody has signed {token}");
            }
        }
        1 => fuzzing::key_set(rest),
        _ => fuzzing::certificate(rest),
    }
});
