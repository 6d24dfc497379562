//! Maps against shapes: what the checker finds, what a run writes.

mod bounds;
mod docs;
mod faults;
mod findings;
mod inverse;
mod law;
mod occurrences;
mod run;
mod silent;
mod support;
mod twin;
