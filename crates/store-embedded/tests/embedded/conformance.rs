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

/// Number of sequences in each of the four tests.
const SEQUENCES: u64 = 5_000;

fn busy() -> Settings {
    Settings { work: Work::Background, apply_interval_ms: 1, ..small() }
}

fn answers_as_the_model(limits: StoreLimits, seed: u64, run: fn(&Store, u64, u64) -> Result<(), String>) {
    let found = run(&store_with(busy(), limits), seed, SEQUENCES);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
}

#[test]
fn generated_sequences_of_files_answer_as_the_model_does() {
    answers_as_the_model(StoreLimits::default(), 2, conformance::run_sequences);
}

#[test]
fn generated_sequences_of_two_units_answer_as_the_model_does() {
    let limits = StoreLimits { lock_wait_ms_max: 0, ..StoreLimits::default() };
    answers_as_the_model(limits, 4, conformance::run_unit_sequences);
}

#[test]
fn generated_sequences_of_messages_answer_as_the_model_does() {
    let limits = StoreLimits { message_part_bytes: 4, ..StoreLimits::default() };
    answers_as_the_model(limits, 3, conformance::run_queue_sequences);
}

/// The content of a message has four bytes, so a part length of three divides every message.
#[test]
fn generated_sequences_of_messages_in_parts_answer_as_the_model_does() {
    let limits = StoreLimits { message_part_bytes: 3, ..StoreLimits::default() };
    answers_as_the_model(limits, 3, conformance::run_queue_sequences);
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
