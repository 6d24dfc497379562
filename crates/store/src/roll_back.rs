//! Reasons for rolling a unit of work back.

/// Reason of a rollback, which decides whether the messages of the unit count it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RollBack {
    /// Work on the messages failed, for this reason if it is known: their backout counts grow, and the thresholds apply.
    Failed(Option<Cause>),
    /// The work was ended from outside, such as by a stop: nothing is counted.
    Ended,
}

/// Cause of a failure. A message that moves to a backout queue carries it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cause {
    /// Code of the finding.
    pub code: String,
    /// Place of the failure: flow and node, or another consumer of the message.
    pub place: String,
    /// The finding's message.
    pub text: String,
}
