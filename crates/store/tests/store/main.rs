//! Tests of the store over its in-memory twin.

mod clock;
mod memory_bound;
mod retry;
mod sweep;
mod tasks;

use std::sync::Arc;

use quayline_store::{Access, ManualClock, MemoryEngine, Store, StoreLimits, conformance};

fn new_store() -> Store {
    store_with(StoreLimits::default())
}

fn store_with(limits: StoreLimits) -> Store {
    let clock = Arc::new(ManualClock::new(1_000_000, 1));
    Store::open(Arc::new(MemoryEngine::new()), clock, limits, Access::Write).expect("a new store")
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

#[test]
fn generated_sequences_of_two_units_answer_as_the_model_does() {
    let limits = StoreLimits { lock_wait_ms_max: 0, ..StoreLimits::default() };
    let found = conformance::run_unit_sequences(&store_with(limits), 1, 12_000);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
}

#[test]
fn generated_queue_sequences_answer_as_the_model_does() {
    // Content has four bytes: with the second length, all of it is in parts.
    for (window, message_part_bytes) in [(1, 4), (3, 3), (4_096, 4), (4_096, 1)] {
        let limits = StoreLimits { queue_window_messages_max: window, message_part_bytes, ..StoreLimits::default() };
        let found = conformance::run_queue_sequences(&store_with(limits), 1, 4_000);
        assert!(found.is_ok(), "window {window}: {}", found.err().unwrap_or_default());
    }
}

#[test]
fn histories_that_overlap_show_no_anomaly() {
    let found = conformance::run_histories(&new_store(), conformance::Reads::ForUpdate, 1, 10_000);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
    let found = conformance::run_threads(&new_store(), 2, 4, 2_000);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
}

/// The judge must be able to fail: without locks the store promises nothing, and updates are lost.
#[test]
fn the_judge_finds_updates_that_plain_reads_lose() {
    let found = conformance::run_histories(&new_store(), conformance::Reads::Plain, 1, 100);
    assert!(found.as_ref().is_err_and(|why| why.contains("lost update")), "{found:?}");
}
