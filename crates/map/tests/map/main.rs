//! Maps against shapes: findings of the checker and output of runs.

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
