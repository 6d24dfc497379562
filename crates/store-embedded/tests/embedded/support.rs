//! Engines over disks in memory, and their content.

use std::collections::BTreeMap;
use std::sync::Arc;

use quayline_store::{Clock, Direction, Engine, KeyRange, ManualClock, Page, PageLimit, Space, StoreError};
use quayline_store_embedded::fake::FakeDisk;
use quayline_store_embedded::{EmbeddedEngine, Settings, Work};

/// Spaces that the tests use.
pub(crate) const SPACES: [Space; 3] = [Space(16), Space(17), Space(0xffff_ffff)];

pub(crate) type State = BTreeMap<(Space, Vec<u8>), Vec<u8>>;

/// Small bounds, so that segments change and batches split often.
pub(crate) fn small() -> Settings {
    Settings {
        work: Work::Inline,
        segment_bytes: 16 << 10,
        spare_segments_max: 1,
        apply_batch_changes_max: 5,
        cache_bytes: 1 << 20,
        ..Settings::default()
    }
}

pub(crate) fn clock(seed: u64) -> Arc<dyn Clock> {
    Arc::new(ManualClock::new(1_000, seed))
}

pub(crate) fn open(disk: &FakeDisk, settings: Settings, seed: u64) -> Result<EmbeddedEngine, StoreError> {
    EmbeddedEngine::open(Arc::new(disk.clone()), &clock(seed), settings)
}

/// Returns all entries in the spaces of the tests, read by pages of a few entries.
pub(crate) fn state(engine: &dyn Engine) -> Result<State, StoreError> {
    let mut state = State::new();
    let mut page = Page::default();
    for space in SPACES {
        let mut next = None;
        loop {
            let range = match &next {
                None => KeyRange::ALL,
                Some(bound) => KeyRange::ALL.after(Direction::Forward, bound),
            };
            engine.page(space, range, Direction::Forward, PageLimit { entries: 7, bytes: 1 << 20 }, &mut page)?;
            for (key, value) in page.iter() {
                assert!(state.insert((space, key.to_vec()), value.to_vec()).is_none(), "a key comes once");
            }
            next = page.next.take();
            if next.is_none() {
                break;
            }
        }
    }
    Ok(state)
}

/// A count that an environment variable raises or lowers.
pub(crate) fn count_of(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
