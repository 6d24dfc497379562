//! Arithmetic of topologies, processors, blocks and fields.

use crate::error::{not_negative, positive, within};
use crate::{Bytes, Estimate, Method, ModelError, Share, Validity};

/// Connection of servers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TopologyKind {
    /// Each to a hub, both ways.
    HubAndSpoke,
    /// Each to each.
    PeerToPeer,
}

/// Connections among `servers`: `2 n` around a hub, `n (n - 1)` without.
#[must_use]
pub fn connections(servers: u64, kind: TopologyKind) -> Estimate<u64> {
    let connections = match kind {
        TopologyKind::HubAndSpoke => servers.saturating_mul(2),
        TopologyKind::PeerToPeer => servers.saturating_mul(servers.saturating_sub(1)),
    };
    Estimate::exact(Method::Topology, connections)
}

/// Computes the processors that a host must keep free for guests with much I/O through it: a tenth of theirs.
///
/// # Errors
/// [`ModelError`] for a negative number.
pub fn host_headroom(guest_processors: f64) -> Result<Estimate<f64>, ModelError> {
    let headroom = not_negative("guest processors", guest_processors)? * 0.1;
    let text = "for guests whose I/O goes through the host";
    Ok(Estimate::new(Method::Partitioning, Validity::RuleOfSource(text), headroom))
}

/// Processors that remain where guests share them: 92 %.
///
/// # Errors
/// [`ModelError`] for a negative number.
pub fn usable_processors(shared: f64) -> Result<Estimate<f64>, ModelError> {
    let usable = not_negative("shared processors", shared)? * 0.92;
    Ok(Estimate::new(Method::Partitioning, Validity::RuleOfSource("8 % overhead of sharing"), usable))
}

/// Rounds a share of processors up to a tenth, which a dispatcher can grant exactly.
///
/// # Errors
/// [`ModelError`] for a negative share.
pub fn share_rounded(share: f64) -> Result<Estimate<f64>, ModelError> {
    let share = not_negative("share of processors", share)?;
    // 0.3 is 0.30000000000000004 tenths of itself, which must not become 0.4.
    let rounded = (share * 10.0 - 1e-9).ceil() / 10.0;
    Ok(Estimate::new(Method::Partitioning, Validity::OurRule("rounded up to a tenth"), rounded))
}

/// Checks whether the frame sizes of the two ends of a virtual line match: that of the host is four bytes smaller.
#[must_use]
pub fn mtu_matches(guest: u32, host: u32) -> Estimate<bool> {
    let text = "9000 with 8996 and 1500 with 1496 on the source's machines";
    Estimate::new(Method::FrameSizes, Validity::RuleOfSource(text), guest.checked_sub(4) == Some(host))
}

/// Computes the rows in a block of `block_kib` KiB, at least one.
///
/// # Errors
/// [`ModelError::OutOfRange`] for blocks outside 2 to 512 KiB or rows without bytes.
pub fn rows_per_block(block_kib: u32, row: Bytes) -> Result<Estimate<u64>, ModelError> {
    within("block size in KiB", f64::from(block_kib), 2.0, 512.0)?;
    let rows = f64::from(block_kib) * 1024.0 / positive("row size", row.0)?;
    Ok(Estimate::exact(Method::Blocking, crate::quantity::count_down(rows).max(1)))
}

/// Place of the bytes of a variable-length value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoredVariable {
    /// All bytes are in the record.
    InPlace,
    /// All bytes are in the spill area.
    Spilled {
        /// Bytes there.
        bytes: u32,
    },
}

/// Stores a value of `length` in a field of at most `most` bytes, of which `allocated` are in the record: what is longer spills whole.
///
/// # Errors
/// [`ModelError::OutOfRange`] for a value longer than the field.
pub fn store_variable(most: u32, allocated: u32, length: u32) -> Result<Estimate<StoredVariable>, ModelError> {
    within("length of the value", f64::from(length), 0.0, f64::from(most))?;
    let stored = if length <= allocated { StoredVariable::InPlace } else { StoredVariable::Spilled { bytes: length } };
    Ok(Estimate::exact(Method::VariableLength, stored))
}

/// Bytes that a receiver of fixed width holds of a value: `(bytes held, blanks among them)`. A receiver of varying length holds the value alone.
///
/// # Errors
/// [`ModelError::OutOfRange`] for a value longer than the receiver.
pub fn fixed_receiver(width: u32, length: u32) -> Result<Estimate<(u32, u32)>, ModelError> {
    within("length of the value", f64::from(length), 0.0, f64::from(width))?;
    Ok(Estimate::exact(Method::VariableLength, (width, width - length)))
}

/// Calculates a value as a share of the total, for tables.
#[must_use]
pub(super) fn part(of: f64, all: f64) -> Share {
    if all > 0.0 { Share(of / all) } else { Share(0.0) }
}
