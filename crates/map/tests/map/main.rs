//! Maps against shapes: what the checker finds, what a run writes.

mod findings;
mod run;
mod support;
