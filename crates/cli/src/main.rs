//! The quayline command.
fn main() {}
