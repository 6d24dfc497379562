//! Batch statuses.

use std::fmt;

/// The status that the engine gives to a job execution or step execution. The exit status is the user's.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum BatchStatus {
    /// Created, not running yet.
    #[default]
    Starting,
    /// Running.
    Started,
    /// Asked to stop, still running.
    Stopping,
    /// Ended by a stop request or a `stop` element; can be restarted.
    Stopped,
    /// Ended by an error or a `fail` element; can be restarted.
    Failed,
    /// Ended well.
    Completed,
    /// Given up by the operator; cannot be restarted.
    Abandoned,
}

quayline_core::stored!(enum BatchStatus { 0 Starting, 1 Started, 2 Stopping, 3 Stopped, 4 Failed, 5 Completed, 6 Abandoned });

impl BatchStatus {
    /// All statuses.
    pub const ALL: [BatchStatus; 7] = [
        BatchStatus::Starting,
        BatchStatus::Started,
        BatchStatus::Stopping,
        BatchStatus::Stopped,
        BatchStatus::Failed,
        BatchStatus::Completed,
        BatchStatus::Abandoned,
    ];

    /// Returns the name in the specification.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            BatchStatus::Starting => "STARTING",
            BatchStatus::Started => "STARTED",
            BatchStatus::Stopping => "STOPPING",
            BatchStatus::Stopped => "STOPPED",
            BatchStatus::Failed => "FAILED",
            BatchStatus::Completed => "COMPLETED",
            BatchStatus::Abandoned => "ABANDONED",
        }
    }

    /// Returns true if the execution is not over.
    #[must_use]
    pub fn is_running(self) -> bool {
        matches!(self, BatchStatus::Starting | BatchStatus::Started | BatchStatus::Stopping)
    }
}

impl fmt::Display for BatchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
