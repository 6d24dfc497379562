//! Durability points of a run, and a hook to stop a run at each of them.

use std::io;

/// Receives a call before each durability step. An error ends the run as if the machine had stopped: nothing is cleaned up.
pub trait SyncHook: Send + Sync {
    /// Called before the step `point`.
    ///
    /// # Errors
    /// An error stops the run at that point.
    fn before(&self, point: SyncPoint) -> io::Result<()>;
}

/// A step that makes data durable.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum SyncPoint {
    /// fsync of the rejects file.
    Rejects,
    /// fsync of the findings file.
    Findings,
    /// fsync of the output.
    Output,
    /// Write of the new checkpoint under a temporary name.
    CheckpointWrite,
    /// Sync of the new checkpoint.
    CheckpointSync,
    /// Rename of the new checkpoint over the old one.
    CheckpointRename,
    /// fsync of the folder.
    Folder,
    /// Rename of the rejects file to its final name.
    RejectsRename,
    /// Rename of the findings file to its final name.
    FindingsRename,
    /// Rename of the output to its final name.
    OutputRename,
    /// Removal of the checkpoint of a complete run.
    CheckpointRemove,
}
