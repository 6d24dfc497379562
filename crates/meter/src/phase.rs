//! Phases of a run's time.

use core::ops::{Index, IndexMut};

use crate::WaitFor;

/// Activity of a lane.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Phase {
    /// Bytes in: files, sockets.
    Read,
    /// Route, access and headers of a request.
    Parse,
    /// Framing and decoding: the source.
    Decode,
    /// A map between source and sink.
    Map,
    /// A provider: waiting for it, and its own time.
    Call,
    /// The sink.
    Encode,
    /// Bytes out.
    Write,
    /// Making a unit of work durable.
    Commit,
    /// Waiting for work or for the other side: an empty queue, the end of other threads, the body of a request.
    Wait,
    /// Waiting for a lock, or for its turn.
    Lock,
    /// Waiting for room: a full queue, or a limit of memory that other threads must free.
    Backpressure,
    /// Other known work: opening files, compiling plans.
    Other,
}

impl Phase {
    /// All phases, in the order in which a record passes them.
    pub const ALL: [Phase; 12] = [
        Phase::Read,
        Phase::Parse,
        Phase::Decode,
        Phase::Map,
        Phase::Call,
        Phase::Encode,
        Phase::Write,
        Phase::Commit,
        Phase::Wait,
        Phase::Lock,
        Phase::Backpressure,
        Phase::Other,
    ];

    /// Lower-case name for reports and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Read => "read",
            Phase::Parse => "parse",
            Phase::Decode => "decode",
            Phase::Map => "map",
            Phase::Call => "call",
            Phase::Encode => "encode",
            Phase::Write => "write",
            Phase::Commit => "commit",
            Phase::Wait => "wait",
            Phase::Lock => "lock",
            Phase::Backpressure => "backpressure",
            Phase::Other => "other",
        }
    }

    /// Returns the phase of a name, or `None` for another word.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// Returns the reason for which the thread waits for other threads in this phase, if it does.
    #[must_use]
    pub fn waits_for(self) -> Option<WaitFor> {
        match self {
            Phase::Wait => Some(WaitFor::Work),
            Phase::Lock => Some(WaitFor::Lock),
            Phase::Backpressure => Some(WaitFor::Room),
            _ => None,
        }
    }

    /// Returns whether the thread computes in this phase; in the others it waits for a device, a provider or another thread.
    #[must_use]
    pub fn computes(self) -> bool {
        matches!(self, Phase::Parse | Phase::Decode | Phase::Map | Phase::Encode | Phase::Other)
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
