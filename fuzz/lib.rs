//! Fuzz targets by name. A target is a file of `targets/` with a function `fuzz`, and a row in [`TARGETS`].
//!
//! Two programs run them. `tests/targets.rs`, part of every check, gives each target its seeds and edits of them, with the crates that all
//! tests use. `main.rs` is libFuzzer, which follows coverage: `make fuzz` builds it with the compiler's coverage flags and `--cfg fuzzing`.

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
#[path = "targets/plans.rs"]
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

/// A target: it takes any bytes, and a panic is a finding.
pub type Target = fn(&[u8]);

/// Every target by name.
pub const TARGETS: &[(&str, Target)] = &[
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

/// The target with this name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}
