//! Ratios to ceilings measured in the same run, and the bars.
fn main() {}
