//! Checkpoints: the state of a step or partition, and where its large positions are.
//!
//! A position of more than [`LARGE_BYTES`] is a record of its own, written unless it shares its bytes with the one before. With
//! `quayline.checkpoints=delta`, it is pages of [`PAGE_BYTES`], and a checkpoint writes those that differ. Pages behind the end of a position that
//! became shorter stay until the instance is purged.

use super::{Held, Repository, State, VERSION, partition_key, read, step_key};
use crate::error::BatchError;
use crate::record::{Position, Progress};
use crate::status::BatchStatus;
use crate::work::Work;

/// First byte of a state with large positions in records of their own.
const VERSION_LARGE: u8 = 2;
/// First byte of a state with large positions in pages.
const VERSION_PAGES: u8 = 3;
/// Positions up to this size are a part of the state: one record is cheaper than two.
const LARGE_BYTES: usize = 4 << 10;
/// Bytes of a page of a large position.
const PAGE_BYTES: usize = 4 << 10;
/// Bytes of most states without their positions.
const STATE_BYTES: usize = 256;
/// Reader, writer, user data.
const POSITIONS: usize = 3;

/// Form of large positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Large<'p> {
    /// Positions that the preceding checkpoint wrote in the same form; `None` writes all.
    pub(crate) before: Option<&'p Progress>,
    /// True to write pages.
    pub(crate) in_pages: bool,
}

impl Repository {
    /// Writes the state of a step or partition as a part of a unit of work: the checkpoint.
    pub(crate) fn put_checkpoint<T: State>(
        &self,
        work: &mut dyn Work,
        held: Held,
        at: (&str, Option<u32>),
        state: &mut T,
        large: Large<'_>,
    ) -> Result<(), BatchError> {
        let key = match at.1 {
            None => step_key(held.instance, at.0),
            Some(partition) => partition_key(held.instance, at.0, partition),
        };
        let mut taken: [Option<Position>; POSITIONS] = Default::default();
        let mut flags = 0;
        let mut lengths = Vec::new();
        for (number, position) in state.progress().positions().into_iter().enumerate() {
            if position.as_ref().is_some_and(is_large) {
                lengths.extend(position.as_ref().map_or(0, |position| position.len() as u64).to_be_bytes());
                taken[number] = position.take();
                flags |= 1 << number;
            }
        }
        let mut value = Vec::with_capacity(STATE_BYTES);
        match (flags, large.in_pages) {
            (0, _) => value.push(VERSION),
            (flags, false) => value.extend_from_slice(&[VERSION_LARGE, flags]),
            (flags, true) => value.extend([VERSION_PAGES, flags].iter().chain(&lengths)),
        }
        state.store(&mut value);
        let mut done = Ok(());
        for (number, position) in state.progress().positions().into_iter().enumerate() {
            let Some(mut now) = taken[number].take() else { continue };
            let before = large.before.and_then(|before| before.position(number)).filter(|before| is_large(before));
            *position = Some(match before {
                Some(before) if before.is(&now) => now,
                before => {
                    if done.is_ok() {
                        done = put_large(work, &large_key(&key, number), &mut now, before, large.in_pages);
                    }
                    now
                }
            });
        }
        done?;
        work.put_fenced(&key, &value, &self.fence(held)?)
    }

    /// Writes the state of a step or partition that ended. One that completed does not continue, so its positions are dropped.
    pub(super) fn put_end<T: State + Clone>(
        &self,
        work: &mut dyn Work,
        held: Held,
        at: (&str, Option<u32>),
        state: &T,
        status: BatchStatus,
    ) -> Result<(), BatchError> {
        let mut kept = state.clone();
        if status == BatchStatus::Completed {
            (kept.progress().reader, kept.progress().writer) = (None, None);
        }
        self.put_checkpoint(work, held, at, &mut kept, Large { before: None, in_pages: false })
    }
}

fn is_large(position: &Position) -> bool {
    position.len() > LARGE_BYTES
}

/// Writes a position that differs from the preceding one, if that was also large.
fn put_large(
    work: &mut dyn Work,
    key: &[u8],
    now: &mut Position,
    before: Option<&Position>,
    in_pages: bool,
) -> Result<(), BatchError> {
    if !in_pages {
        return work.put_position(key, now);
    }
    let mut pages_before = before.map_or(&[][..], |before| &**before).chunks(PAGE_BYTES);
    for (number, page) in (0..).zip(now.chunks(PAGE_BYTES)) {
        if pages_before.next() != Some(page) {
            work.put(&page_key(key, number), page)?;
        }
    }
    Ok(())
}

/// Returns the key of a large position of a state.
fn large_key(state: &[u8], number: usize) -> Vec<u8> {
    let mut key = state.to_vec();
    key[0] = b'b';
    key.push(u8::try_from(number + 1).unwrap_or(u8::MAX));
    key
}

fn page_key(large: &[u8], number: u32) -> Vec<u8> {
    [large, &number.to_be_bytes()].concat()
}

/// A state whose large positions are elsewhere.
struct Outer<T> {
    state: T,
    /// A bit for each large position.
    flags: u8,
    /// Their bytes, if they are in pages.
    lengths: Option<Vec<u64>>,
}

fn outer<T: State>(what: &'static str, value: &[u8]) -> Result<Outer<T>, BatchError> {
    let damaged = || BatchError::Damaged { what };
    let (flags, mut lengths, mut rest) = match value {
        [VERSION_LARGE, flags, rest @ ..] => (*flags, None, rest),
        [VERSION_PAGES, flags, rest @ ..] => (*flags, Some(Vec::new()), rest),
        _ => return Ok(Outer { state: read(what, value)?, flags: 0, lengths: None }),
    };
    if let Some(lengths) = &mut lengths {
        for _ in 0..flags.count_ones() {
            let (length, more) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
            lengths.push(u64::from_be_bytes(*length));
            rest = more;
        }
    }
    Ok(Outer { state: T::load_all(rest).ok_or_else(damaged)?, flags, lengths })
}

/// Decodes a state without its large positions.
pub(super) fn without_positions<T: State>(what: &'static str, value: &[u8]) -> Result<T, BatchError> {
    Ok(outer(what, value)?.state)
}

/// Decodes a state with its large positions.
pub(super) fn read_state<T: State>(
    work: &mut dyn Work,
    key: &[u8],
    what: &'static str,
    value: &[u8],
) -> Result<T, BatchError> {
    let damaged = || BatchError::Damaged { what };
    let Outer { mut state, flags, lengths } = outer::<T>(what, value)?;
    let mut lengths = lengths.map(Vec::into_iter);
    for (number, position) in state.progress().positions().into_iter().enumerate() {
        if flags & (1 << number) == 0 {
            continue;
        }
        let key = large_key(key, number);
        let found = match &mut lengths {
            None => work.get(&key)?,
            Some(lengths) => pages(work, &key, lengths.next().ok_or_else(damaged)?)?,
        };
        *position = Some(found.ok_or_else(damaged)?.into());
    }
    Ok(state)
}

/// Puts the stored checkpoint into a state.
pub(super) fn keep_checkpoint<T: State>(
    work: &mut dyn Work,
    key: &[u8],
    what: &'static str,
    state: &mut T,
) -> Result<(), BatchError> {
    if let Some(found) = work.get(key)? {
        let mut durable: T = read_state(work, key, what, &found)?;
        std::mem::swap(state.progress(), durable.progress());
    }
    Ok(())
}

/// Reads a position from its pages; `None` if one is missing or has another length.
fn pages(work: &mut dyn Work, key: &[u8], length: u64) -> Result<Option<Vec<u8>>, BatchError> {
    let Ok(length) = usize::try_from(length) else { return Ok(None) };
    let mut position = Vec::new();
    for number in 0.. {
        let left = length - position.len();
        if left == 0 {
            break;
        }
        let Some(page) = work.get(&page_key(key, number))? else { return Ok(None) };
        if page.len() != left.min(PAGE_BYTES) {
            return Ok(None);
        }
        position.extend_from_slice(&page);
    }
    Ok(Some(position))
}
