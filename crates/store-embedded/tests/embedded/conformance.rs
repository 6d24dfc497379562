//! The checks that every engine passes, and the same sequences on the engine and its in-memory twin.

use std::sync::Arc;

use quayline_store::{Access, Store, StoreLimits, conformance};
use quayline_store_embedded::fake::FakeDisk;
use quayline_store_embedded::{Durability, Settings, Work};

use crate::support::{clock, open, small};

fn new_store(settings: Settings) -> Store {
    store_with(settings, StoreLimits::default())
}

fn store_with(settings: Settings, limits: StoreLimits) -> Store {
    let engine = open(&FakeDisk::new(1), settings, 1).expect("a new store opens");
    Store::open(Arc::new(engine), clock(2), limits, Access::Write).expect("a new store opens")
}

#[test]
fn the_engine_passes_every_check() {
    let busy = Settings { work: Work::Background, apply_interval_ms: 1, ..small() };
    for settings in [
        Settings { work: Work::Background, ..Settings::default() },
        busy,
        Settings { durability: Durability::Buffered, ..busy },
    ] {
        let failed = conformance::run(|| new_store(settings));
        assert!(failed.is_empty(), "{settings:?}\n{}", failed.join("\n"));
    }
}

#[test]
fn generated_sequences_answer_as_the_model_does() {
    let busy = Settings { work: Work::Background, apply_interval_ms: 1, ..small() };
    let found = conformance::run_sequences(&new_store(busy), 2, 10_000);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
    let limits = StoreLimits { lock_wait_ms_max: 0, ..StoreLimits::default() };
    let found = conformance::run_unit_sequences(&store_with(busy, limits), 4, 10_000);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
    // Content has four bytes: with the second length, all of it is in parts.
    for message_part_bytes in [4, 3] {
        let limits = StoreLimits { message_part_bytes, ..StoreLimits::default() };
        let found = conformance::run_queue_sequences(&store_with(busy, limits), 3, 10_000);
        assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
    }
}

#[test]
fn histories_that_overlap_show_no_anomaly() {
    let busy = Settings { work: Work::Background, apply_interval_ms: 1, ..small() };
    let found = conformance::run_histories(&new_store(busy), conformance::Reads::ForUpdate, 3, 10_000);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
    for settings in [busy, Settings { durability: Durability::Buffered, ..busy }] {
        let found = conformance::run_threads(&new_store(settings), 4, 4, 1_000);
        assert!(found.is_ok(), "{settings:?}: {}", found.err().unwrap_or_default());
    }
}
