//! Phases of a run's time.

use core::ops::{Index, IndexMut};

/// Activity of a lane.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Phase {
    /// Bytes in: files, sockets.
    Read,
    /// Framing and decoding: the source.
    Decode,
    /// A map between source and sink.
    Map,
    /// The sink.
    Encode,
    /// Bytes out.
    Write,
    /// Making a unit of work durable.
    Commit,
    /// Waiting for another thread: a full or empty queue.
    Wait,
    /// Other known work: opening files, compiling plans.
    Other,
}

impl Phase {
    /// All phases, in the order of a record's way.
    pub const ALL: [Phase; 8] =
        [Phase::Read, Phase::Decode, Phase::Map, Phase::Encode, Phase::Write, Phase::Commit, Phase::Wait, Phase::Other];

    /// Lower-case name for reports and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Read => "read",
            Phase::Decode => "decode",
            Phase::Map => "map",
            Phase::Encode => "encode",
            Phase::Write => "write",
            Phase::Commit => "commit",
            Phase::Wait => "wait",
            Phase::Other => "other",
        }
    }
}

/// One value per phase.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PhaseTable<T>([T; Phase::ALL.len()]);

impl<T> PhaseTable<T> {
    /// Phases with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Phase, &T)> {
        Phase::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<Phase> for PhaseTable<T> {
    type Output = T;
    fn index(&self, phase: Phase) -> &T {
        &self.0[phase as usize]
    }
}

impl<T> IndexMut<Phase> for PhaseTable<T> {
    fn index_mut(&mut self, phase: Phase) -> &mut T {
        &mut self.0[phase as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_its_own_index() {
        for (i, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, i);
        }
    }
}
