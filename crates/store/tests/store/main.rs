//! Tests of the store over its in-memory twin.

use std::sync::Arc;

use quayline_store::{Access, ManualClock, MemoryEngine, Store, StoreLimits, conformance};

fn new_store() -> Store {
    let clock = Arc::new(ManualClock::new(1_000_000, 1));
    Store::open(Arc::new(MemoryEngine::new()), clock, StoreLimits::default(), Access::Write).expect("a new store")
}

#[test]
fn the_in_memory_twin_passes_every_check() {
    let failed = conformance::run(new_store);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn generated_sequences_answer_as_the_model_does() {
    let found = conformance::run_sequences(&new_store(), 1, 10_000);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
}
