//! One program for all fuzz targets: the environment variable `QUAYLINE_FUZZ_TARGET` names the target.
//!
//! A target is a file of `targets/` with a function `fuzz`, and a row in [`TARGETS`]. One program links once; sixteen spent minutes of
//! every check on linking the same crates.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

#[path = "targets/amqp.rs"]
mod amqp;
#[path = "targets/charset.rs"]
mod charset;
#[path = "targets/copybook.rs"]
mod copybook;
#[path = "targets/csv.rs"]
mod csv;
#[path = "targets/edi.rs"]
mod edi;
#[path = "targets/framing.rs"]
mod framing;
#[path = "targets/guide.rs"]
mod guide;
#[path = "targets/infer.rs"]
mod infer;
#[path = "targets/json.rs"]
mod json;
#[path = "targets/map.rs"]
mod map;
#[path = "targets/shared/plans.rs"]
mod plans;
#[path = "targets/record_decode.rs"]
mod record_decode;
#[path = "targets/record_encode.rs"]
mod record_encode;
#[path = "targets/request.rs"]
mod request;
#[path = "targets/shapes.rs"]
mod shapes;
#[path = "targets/time.rs"]
mod time;
#[path = "targets/token.rs"]
mod token;
#[path = "targets/validate.rs"]
mod validate;
#[path = "targets/xml.rs"]
mod xml;

/// Every target by name.
const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("amqp", amqp::fuzz),
    ("charset", charset::fuzz),
    ("copybook", copybook::fuzz),
    ("csv", csv::fuzz),
    ("edi", edi::fuzz),
    ("framing", framing::fuzz),
    ("guide", guide::fuzz),
    ("infer", infer::fuzz),
    ("json", json::fuzz),
    ("map", map::fuzz),
    ("record_decode", record_decode::fuzz),
    ("record_encode", record_encode::fuzz),
    ("request", request::fuzz),
    ("shapes", shapes::fuzz),
    ("time", time::fuzz),
    ("token", token::fuzz),
    ("validate", validate::fuzz),
    ("xml", xml::fuzz),
];

/// Environment variable with the name of the target.
const TARGET: &str = "QUAYLINE_FUZZ_TARGET";

static RUN: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(|data: &[u8]| RUN.get_or_init(chosen)(data));

fn chosen() -> fn(&[u8]) {
    let name = std::env::var(TARGET).unwrap_or_default();
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    target.unwrap_or_else(|| panic!("{TARGET}={name} names no target; scripts/fuzz.sh list prints them")).1
}
