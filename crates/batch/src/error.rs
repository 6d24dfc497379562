//! Errors of the repository and the operator, and what artifacts throw.

use std::fmt;

use quayline_core::{Code, Fault, Finding};
use quayline_postgres::SqlError;
use quayline_store::StoreError;

use crate::codes;
use crate::record::ExecutionId;
use crate::status::BatchStatus;

/// Why an operation on jobs did not happen.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The store of the repository.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A record of the repository is of no known form.
    #[error("a record of the job repository is of no known form: {what}")]
    Damaged {
        /// Which record.
        what: &'static str,
    },
    /// No such execution.
    #[error("no job execution has the number {0}")]
    NoSuchExecution(ExecutionId),
    /// A restart that the specification does not allow.
    #[error("execution {execution} cannot be restarted: {why}")]
    NotRestartable {
        /// The execution.
        execution: ExecutionId,
        /// Why.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// An execution that cannot be given up.
    #[error("execution {execution} cannot be abandoned: {why}")]
    NotAbandonable {
        /// The execution.
        execution: ExecutionId,
        /// Why.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// The execution runs.
    #[error("execution {execution} is {status}")]
    IsRunning {
        /// The execution.
        execution: ExecutionId,
        /// Its status.
        status: BatchStatus,
    },
    /// The execution does not run.
    #[error("execution {execution} does not run: it is {status}")]
    NotRunning {
        /// The execution.
        execution: ExecutionId,
        /// Its status.
        status: BatchStatus,
    },
    /// Another process has the execution.
    #[error("execution {execution} was taken over: its token is no longer {token}")]
    Fenced {
        /// The execution.
        execution: ExecutionId,
        /// The token that this process has.
        token: u64,
    },
    /// The job XML is not what the instance ran before.
    #[error("the job XML differs from the one that execution {execution} ran: {differences}")]
    Drift {
        /// The last execution.
        execution: ExecutionId,
        /// Lines that differ.
        differences: String,
    },
    /// The database of the repository does not answer. What was under way happened or not.
    #[error("{0}")]
    Lost(SqlError),
    /// The database of the repository refuses what Quayline asks for.
    #[error("the job repository in the database cannot be used: {0}")]
    Database(SqlError),
    /// The tables of the repository are of another version.
    #[error("the job repository in the database has version {found}, expected {known}")]
    Version {
        /// The version that is there.
        found: i64,
        /// The version that this program knows.
        known: i64,
    },
    /// A commit did not happen, because something that a writer did was refused.
    #[error("{0}")]
    Deferred(Box<Thrown>),
}

impl BatchError {
    /// The error as people read it.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let finding = |code, fault| Finding::error(code, fault, self.to_string());
        match self {
            BatchError::Store(error) => error.finding(),
            BatchError::Damaged { .. } => finding(codes::REPOSITORY, Fault::Environment)
                .hint("run quayline store check; a newer version of Quayline may have written the store"),
            BatchError::NoSuchExecution(_) => {
                finding(codes::NO_SUCH_EXECUTION, Fault::Caller).hint("quayline job list shows all executions")
            }
            BatchError::NotRestartable { remedy, .. } => {
                finding(codes::NOT_RESTARTABLE, Fault::Caller).hint(remedy.as_str())
            }
            BatchError::NotAbandonable { remedy, .. } => {
                finding(codes::NOT_ABANDONABLE, Fault::Caller).hint(remedy.as_str())
            }
            BatchError::IsRunning { execution, .. } => finding(codes::IS_RUNNING, Fault::Caller).hint(format!(
                "wait for its end, or stop it: quayline job stop {execution}, with the same --store or --repository"
            )),
            BatchError::NotRunning { .. } => {
                finding(codes::NOT_RUNNING, Fault::Caller).hint("only an execution that runs can be stopped")
            }
            BatchError::Fenced { .. } => finding(codes::FENCED, Fault::Environment)
                .hint("the other process continues the execution; nothing of this one was committed since"),
            BatchError::Lost(_) => finding(codes::LOST, Fault::Environment)
                .hint("check that the database runs and that its address is right; then restart the execution"),
            BatchError::Database(SqlError::NoEntry { .. }) => finding(codes::DATABASE, Fault::Environment)
                .hint("check the user, the password (PGPASSWORD) and the database in the address"),
            BatchError::Database(_) => finding(codes::DATABASE, Fault::Environment)
                .hint("the user needs the rights to create the schema quayline_jobs and to use its tables"),
            BatchError::Version { .. } => finding(codes::DATABASE_VERSION, Fault::Environment)
                .hint("use the version of Quayline that wrote it, or a newer one"),
            BatchError::Deferred(thrown) => thrown.finding(),
            BatchError::Drift { .. } => finding(codes::DRIFT, Fault::Caller)
                .hint("restart with --accept-drift if the new job XML is meant to continue the old work"),
        }
    }
}

/// What an artifact throws: a class in a tree of classes, as Java's exceptions have them, and a message without payload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Thrown {
    /// The class, and its superclasses from the nearest to the farthest.
    pub lineage: Vec<String>,
    /// What happened. Lower case, no final period, no payload.
    pub message: String,
    /// What to do.
    pub remedy: Option<String>,
    /// What the engine does about it, beyond what the job says.
    pub(crate) kind: Kind,
}

/// What the engine does about an exception, beyond what the job says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Nothing: the job's own rules apply.
    #[default]
    Plain,
    /// The repository can no longer be written: nothing may be retried or skipped.
    Fatal,
    /// A commit turned out to be refused: the chunk runs again, and each write is confirmed.
    Deferred,
    /// A database does not answer: the engine waits for it, and continues at the last checkpoint.
    Lost,
}

/// Superclasses of everything that an artifact throws, so that jobs written for Java skip and retry what they always did.
pub const ROOT_CLASSES: [&str; 2] = ["java.lang.Exception", "java.lang.Throwable"];

impl Thrown {
    /// An exception of a class.
    #[must_use]
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Thrown::of(&[class], message)
    }

    /// An exception of a class with its superclasses, the nearest first; those of [`ROOT_CLASSES`] are added.
    #[must_use]
    pub fn of(classes: &[&str], message: impl Into<String>) -> Self {
        let mut lineage: Vec<String> = classes.iter().map(|class| (*class).to_owned()).collect();
        for root in ROOT_CLASSES {
            if !lineage.iter().any(|class| class == root) {
                lineage.push(root.to_owned());
            }
        }
        Thrown { lineage, message: message.into(), remedy: None, kind: Kind::Plain }
    }

    /// An exception from a finding: its class is the code, below `quayline.Rejected` for faults of the sender.
    #[must_use]
    pub fn from_finding(finding: &Finding) -> Self {
        let group = match finding.fault {
            Fault::Sender => "quayline.Rejected",
            Fault::Config | Fault::Caller => "quayline.Configuration",
            Fault::Environment => "quayline.Environment",
            Fault::Ours => "quayline.Internal",
        };
        let place = finding.place.to_string();
        let message =
            if place.is_empty() { finding.message.clone() } else { format!("{} at {place}", finding.message) };
        let remedy = finding.hint.as_deref().map(in_a_job);
        Thrown { remedy, ..Thrown::of(&[finding.code.0, group], message) }
    }

    /// The same with a remedy.
    #[must_use]
    pub fn hint(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The class.
    #[must_use]
    pub fn class(&self) -> &str {
        self.lineage.first().map_or("java.lang.Throwable", String::as_str)
    }

    /// A property of an artifact that is missing or wrong.
    #[must_use]
    pub fn property(artifact: &str, property: &str, what: impl fmt::Display, remedy: impl Into<String>) -> Self {
        Thrown::refused(format!("property {property} of {artifact} {what}"), remedy)
    }

    /// What is wrong with a property, in the words of the check before the start.
    pub(crate) fn refused(message: String, remedy: impl Into<String>) -> Self {
        Thrown::of(&[codes::PROPERTY.0, "quayline.Configuration"], message).hint(remedy)
    }

    /// The exception as people read it.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let finding = Finding::error(codes::THROWN, Fault::Environment, format!("{}: {}", self.class(), self.message));
        match &self.remedy {
            Some(remedy) => finding.hint(remedy.as_str()),
            None => finding,
        }
    }

    /// The same, if a database that does not answer is the reason: the engine waits for it.
    #[must_use]
    pub(crate) fn lost(mut self) -> Self {
        self.kind = Kind::Lost;
        self
    }

    /// The code with which the exception can be looked up.
    #[must_use]
    pub fn code(&self) -> Code {
        codes::THROWN
    }
}

/// A remedy for somebody who runs a job. Findings are worded for commands, whose options are properties of an artifact here, or are missing.
fn in_a_job(remedy: &str) -> String {
    const FRAMING: &str = "`quayline inspect FILE` proposes a value for the property framing";
    let mut text = remedy
        .replace("`inspect` on the file proposes a framing", FRAMING)
        .replace("`inspect` on the file proposes one", FRAMING);
    for name in crate::builtin::LIMITS {
        let option = ["with `--limit ", name, "="].concat();
        text = text.replace(&option, &format!("with the property limit: `{name}="));
    }
    if text.contains("`--") {
        text.push_str(
            "; a job has no such options: convert the data with them first, or let the job skip such items (skippable-exception-classes)",
        );
    }
    text
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class(), self.message)
    }
}

impl std::error::Error for Thrown {}

/// The repository failed: what is under way cannot be committed, so nothing is skipped or retried.
impl From<BatchError> for Thrown {
    fn from(error: BatchError) -> Self {
        if let BatchError::Deferred(thrown) = error {
            return Thrown { kind: Kind::Deferred, ..*thrown };
        }
        let kind = if matches!(error, BatchError::Lost(_)) { Kind::Lost } else { Kind::Fatal };
        Thrown { kind, ..Thrown::from_finding(&error.finding()) }
    }
}

/// A record lock, a record that exists twice, a queue that is full: the artifact's own use of the store.
impl From<StoreError> for Thrown {
    fn from(error: StoreError) -> Self {
        Thrown::from_finding(&error.finding())
    }
}

/// A statement that a database refused. Classes: the SQLSTATE, its class, and what Java's programs skip.
impl From<SqlError> for Thrown {
    fn from(error: SqlError) -> Self {
        match &error {
            SqlError::Refused(refusal) if !error.is_lost() => {
                let state = refusal.sqlstate.as_str();
                let exact = format!("SQLSTATE-{state}");
                let class = format!("SQLSTATE-{}", state.get(..2).unwrap_or(state));
                let of_java = match state.get(..2) {
                    Some("23") => "java.sql.SQLIntegrityConstraintViolationException",
                    Some("22") => "java.sql.SQLDataException",
                    Some("40") => "java.sql.SQLTransactionRollbackException",
                    Some("42") => "java.sql.SQLSyntaxErrorException",
                    _ => "java.sql.SQLNonTransientException",
                };
                let ours = match state.get(..2) {
                    Some("22" | "23" | "02") => "quayline.Rejected",
                    Some("42" | "26" | "3D" | "3F") => "quayline.Configuration",
                    _ => "quayline.Environment",
                };
                Thrown::of(&[&exact, &class, of_java, "java.sql.SQLException", ours], refusal.to_string())
            }
            SqlError::NoEntry { .. } => {
                Thrown::of(&["java.sql.SQLException", "quayline.Configuration"], error.to_string())
                    .hint("check user, password (PGPASSWORD) and database")
            }
            _ => Thrown::of(&["java.sql.SQLException", "quayline.Environment"], error.to_string()).lost(),
        }
    }
}

/// What the repository's own statements meet.
impl From<SqlError> for BatchError {
    fn from(error: SqlError) -> Self {
        if error.is_lost() { BatchError::Lost(error) } else { BatchError::Database(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::in_a_job;

    #[test]
    fn remedies_fit_a_job() {
        assert_eq!(in_a_job("correct the number"), "correct the number");
        let text = in_a_job(
            "a record of this length is implausible: `inspect` on the file proposes a framing; if it is right, allow more with `--limit record-bytes=N`",
        );
        assert!(
            text.ends_with("property framing; if it is right, allow more with the property limit: `record-bytes=N`"),
            "{text}"
        );
        // A bound of definitions is no property.
        let text = in_a_job("look for a circle, or allow more with `--limit copy-depth=N`");
        assert!(text.contains("`--limit copy-depth=N`; a job has no such options"), "{text}");
        let text = in_a_job("if the sender leaves it blank, convert with `--blank null`");
        assert!(text.contains("skippable-exception-classes"), "{text}");
    }
}
