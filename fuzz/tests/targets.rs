//! Runs each fuzz target on its seeds and then, for about two seconds, on edited seeds. Every run uses the same inputs in the same order, but a fast machine
//! gets further: with `QUAYLINE_FUZZ_ALL=1`, every machine runs all of them, which takes some minutes. Another number than 1 gives other inputs.
//! `make fuzz` searches for more inputs with coverage.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngSeed, TestRunner};
use quayline_fuzz::{TARGETS, target};

/// Maximum number of edited inputs of a target.
const CASES: u32 = 20_000;
/// Time after which a target gets no more edited inputs.
const ENOUGH: Duration = Duration::from_secs(2);
/// Minimum number of edited inputs of a target, even if they take longer than [`ENOUGH`].
const CASES_AT_LEAST: u32 = 50;
/// Time limit for one input, the same as in `make fuzz`.
const INPUT_TIME_MAX: Duration = Duration::from_secs(10);

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_target_is_tested() {
            let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(known, [$(stringify!($name)),*]);
        }
    };
}

targets! {
    amqp charset copybook csv edi framing guide infer json map record_decode record_encode request shapes time token validate xml
}

/// Runs the target called `name` with its seeds, then with edits of them.
fn run(name: &str) {
    let target = target(name).expect("a target");
    let seeds = seeds(name);
    for seed in &seeds {
        target(seed);
    }
    let whole: Option<u64> = std::env::var("QUAYLINE_FUZZ_ALL").ok().and_then(|seed| seed.parse().ok());
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(whole.unwrap_or(1)),
        ..ProptestConfig::default()
    };
    let began = Instant::now();
    let ran = std::cell::Cell::new(0);
    let result = TestRunner::new(config).run(&input(seeds), |Input(bytes)| {
        if began.elapsed() > ENOUGH && ran.get() >= CASES_AT_LEAST && whole.is_none() {
            return Ok(());
        }
        ran.set(ran.get() + 1);
        let start = Instant::now();
        target(&bytes);
        let took = start.elapsed();
        prop_assert!(took < INPUT_TIME_MAX, "{} bytes took {took:?}", bytes.len());
        Ok(())
    });
    println!("fuzz {name}: {} edited inputs", ran.get());
    if let Err(error) = result {
        panic!("{name}: {error}");
    }
}

/// The seeds of a target, in the order of their names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let entries = std::fs::read_dir(&folder).expect("a folder of seeds");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

/// Bytes for a target. A failure prints them as a Rust byte string.
#[derive(Clone)]
struct Input(Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// One change of an input. An [`Index`] is a place in it, whatever its length.
#[derive(Debug, Clone)]
enum Edit {
    Set {
        at: Index,
        byte: u8,
    },
    Flip {
        at: Index,
        bit: u8,
    },
    Insert {
        at: Index,
        bytes: Vec<u8>,
    },
    Remove {
        at: Index,
        len: usize,
    },
    /// Inserts a copy of the bytes at `from` at the place `at`.
    Copy {
        from: Index,
        len: usize,
        at: Index,
    },
    Cut {
        at: Index,
    },
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    let len = || prop_oneof![3 => 1_usize..8, 1 => 8_usize..200];
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Set { at, byte }),
        4 => (at(), 0_u8..8).prop_map(|(at, bit)| Edit::Flip { at, bit }),
        2 => (at(), vec(any::<u8>(), 1..8)).prop_map(|(at, bytes)| Edit::Insert { at, bytes }),
        4 => (at(), len()).prop_map(|(at, len)| Edit::Remove { at, len }),
        6 => (at(), len(), at()).prop_map(|(from, len, at)| Edit::Copy { from, len, at }),
        1 => at().prop_map(|at| Edit::Cut { at }),
    ]
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let places = bytes.len() + 1;
        match self {
            Self::Set { at, byte } => {
                if let Some(found) = bytes.get_mut(at.index(places)) {
                    *found = *byte;
                }
            }
            Self::Flip { at, bit } => {
                if let Some(found) = bytes.get_mut(at.index(places)) {
                    *found ^= 1 << bit;
                }
            }
            Self::Insert { at, bytes: inserted } => {
                let at = at.index(places);
                bytes.splice(at..at, inserted.iter().copied());
            }
            Self::Remove { at, len } => {
                let at = at.index(places);
                bytes.drain(at..bytes.len().min(at + len));
            }
            Self::Copy { from, len, at } => {
                let from = from.index(places);
                let copied = bytes[from..bytes.len().min(from + len)].to_vec();
                let at = at.index(places);
                bytes.splice(at..at, copied);
            }
            Self::Cut { at } => bytes.truncate(at.index(places)),
        }
    }
}

/// A seed with some edits, or a seed that goes over into another one, or any bytes.
fn input(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Input> {
    let seed = prop::sample::select(seeds);
    let edited = (seed.clone(), vec(edit(), 1..6)).prop_map(|(mut bytes, edits)| {
        edits.iter().for_each(|edit| edit.apply(&mut bytes));
        bytes
    });
    let spliced = (seed.clone(), any::<Index>(), seed, any::<Index>()).prop_map(|(mut bytes, at, other, from)| {
        bytes.truncate(at.index(bytes.len() + 1));
        bytes.extend_from_slice(&other[from.index(other.len() + 1)..]);
        bytes
    });
    prop_oneof![10 => edited, 1 => spliced, 1 => vec(any::<u8>(), 0..300)].prop_map(Input)
}
