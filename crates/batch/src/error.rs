//! Errors of the repository and the operator, and exceptions of artifacts.

use std::fmt;

use quayline_core::{Code, Fault, Finding, Findings, Place};
use quayline_postgres::SqlError;
use quayline_store::StoreError;

use crate::codes;
use crate::record::{ExecutionId, OWNER_GRACE_SECONDS};
use crate::status::BatchStatus;

/// Error of an operation on jobs.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The store of the repository.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A record of the repository is of no known form.
    #[error("a record of the job repository is of no known form: {what}")]
    Damaged {
        /// Kind of the record.
        what: &'static str,
    },
    /// The execution does not exist.
    #[error("no job execution has the number {0}")]
    NoSuchExecution(ExecutionId),
    /// A restart that the specification does not allow.
    #[error("execution {execution} cannot be restarted: {why}")]
    NotRestartable {
        /// The execution.
        execution: ExecutionId,
        /// Reason.
        why: String,
        /// Remedy.
        remedy: String,
    },
    /// An execution that cannot be given up.
    #[error("execution {execution} cannot be abandoned: {why}")]
    NotAbandonable {
        /// The execution.
        execution: ExecutionId,
        /// Reason.
        why: String,
        /// Remedy.
        remedy: String,
    },
    /// The execution runs.
    #[error("execution {execution} is {status}")]
    IsRunning {
        /// The execution.
        execution: ExecutionId,
        /// Status of the execution.
        status: BatchStatus,
    },
    /// The execution does not run.
    #[error("execution {execution} does not run: it is {status}")]
    NotRunning {
        /// The execution.
        execution: ExecutionId,
        /// Status of the execution.
        status: BatchStatus,
    },
    /// A partition that is to split does not run.
    #[error("execution {execution} has no running partition {partition} in the requested step")]
    NoPartition {
        /// The execution.
        execution: ExecutionId,
        /// Number of the partition.
        partition: u32,
    },
    /// Another process owns the execution.
    #[error("execution {execution} was taken over: its token is no longer {token}")]
    Fenced {
        /// The execution.
        execution: ExecutionId,
        /// The token that this process has.
        token: u64,
    },
    /// The job XML differs from that of the instance's earlier executions.
    #[error("the job XML differs from the one that execution {execution} ran: {differences}")]
    Drift {
        /// The last execution.
        execution: ExecutionId,
        /// Lines that differ.
        differences: String,
    },
    /// The database of the repository does not respond. The outcome of operations in progress is unknown.
    #[error("{0}")]
    Lost(SqlError),
    /// The database of the repository refused a statement of Quayline.
    #[error("the job repository in the database cannot be used: {0}")]
    Database(SqlError),
    /// The tables of the repository are of another version.
    #[error("the job repository in the database has version {found}, expected {known}")]
    Version {
        /// The version that was found.
        found: i64,
        /// Version that this program supports.
        known: i64,
    },
    /// A commit was refused because of a writer's statement.
    #[error("{0}")]
    Deferred(Box<Thrown>),
}

impl BatchError {
    /// Converts the error to a finding.
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
                "wait for its end, or stop it: quayline job stop {execution}, with the same --store or --repository; if a database was \
                 restarted and the process has ended, the execution is free {OWNER_GRACE_SECONDS} seconds after the process's last sign of life"
            )),
            BatchError::NotRunning { .. } => {
                finding(codes::NOT_RUNNING, Fault::Caller).hint("only an execution that runs can be stopped")
            }
            BatchError::NoPartition { execution, .. } => finding(codes::NOT_RUNNING, Fault::Caller)
                .hint(format!("quayline job show {execution} lists the partitions that run")),
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

/// Exception of an artifact: a class in a hierarchy like Java's exceptions, and a message without payload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Thrown {
    /// The class, and its superclasses from the nearest to the farthest.
    pub lineage: Vec<String>,
    /// Description in lower case, without a final period and without payload.
    pub message: String,
    /// Remedy.
    pub remedy: Option<String>,
    /// What the engine does about it, beyond what the job says.
    pub(crate) kind: Kind,
    /// Findings about a definition, for the check of a job. The file of a finding about a property is the name of the property.
    pub(crate) findings: Option<Box<Findings>>,
}

/// What the engine does about an exception, beyond what the job says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Kind {
    /// No special handling: the rules of the job apply.
    #[default]
    Plain,
    /// The repository can no longer be written: nothing may be retried or skipped.
    Fatal,
    /// A commit turned out to be refused: the chunk runs again, and each write is confirmed.
    Deferred,
    /// A database does not respond: the engine waits for it, and continues at the last checkpoint.
    Lost,
    /// The reader or writer has lost its position: a job may retry with a rollback, which opens it again, and must not skip.
    Reopen,
}

/// Superclasses of all exceptions of artifacts, so that skip and retry rules of jobs written for Java keep working.
pub const ROOT_CLASSES: [&str; 2] = ["java.lang.Exception", "java.lang.Throwable"];

impl Thrown {
    /// Creates an exception of a class.
    #[must_use]
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Thrown::of(&[class], message)
    }

    /// Creates an exception of a class with its superclasses, the nearest first; those of [`ROOT_CLASSES`] are added.
    #[must_use]
    pub fn of(classes: &[&str], message: impl Into<String>) -> Self {
        let mut lineage: Vec<String> = classes.iter().map(|class| (*class).to_owned()).collect();
        for root in ROOT_CLASSES {
            if !lineage.iter().any(|class| class == root) {
                lineage.push(root.to_owned());
            }
        }
        Thrown { lineage, message: message.into(), remedy: None, kind: Kind::Plain, findings: None }
    }

    /// An exception from a finding: its class is the code, below `quayline.Rejected` for faults of the sender and for items that cannot be written.
    #[must_use]
    pub fn from_finding(finding: &Finding) -> Self {
        // An item that the framing of an output cannot hold: other items are written.
        let group = match finding.fault {
            _ if quayline_frame::refuses_one_record(finding.code) => "quayline.Rejected",
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

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Returns the class.
    #[must_use]
    pub fn class(&self) -> &str {
        self.lineage.first().map_or("java.lang.Throwable", String::as_str)
    }

    /// A property of an artifact that is missing or wrong.
    #[must_use]
    pub fn property(artifact: &str, property: &str, what: impl fmt::Display, remedy: impl Into<String>) -> Self {
        let thrown = Thrown::refused(format!("property {property} of {artifact} {what}"), remedy);
        let place = Place { file: Some(property.into()), ..Place::default() };
        let findings = thrown.of_definition().into_iter().map(|finding| finding.at(place.clone())).collect();
        Thrown { findings: Some(Box::new(Findings(findings))), ..thrown }
    }

    /// Returns the findings about the definitions of an artifact that Quayline cannot create.
    pub(crate) fn of_definition(&self) -> Vec<Finding> {
        if let Some(findings) = &self.findings {
            return findings.0.clone();
        }
        let is_missing = self.lineage.iter().any(|class| class == "quayline.Environment");
        let fault = if is_missing { Fault::Environment } else { Fault::Config };
        let finding = Finding::error(codes::PROPERTY, fault, self.message.as_str());
        vec![self.remedy.iter().fold(finding, |finding, remedy| finding.hint(remedy.as_str()))]
    }

    /// What is wrong with a property, in the words of the check before the start.
    pub(crate) fn refused(message: String, remedy: impl Into<String>) -> Self {
        Thrown::of(&[codes::PROPERTY.0, "quayline.Configuration"], message).hint(remedy)
    }

    /// Converts the exception to a finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let finding = Finding::error(codes::THROWN, Fault::Environment, format!("{}: {}", self.class(), self.message));
        match &self.remedy {
            Some(remedy) => finding.hint(remedy.as_str()),
            None => finding,
        }
    }

    /// Marks the exception as caused by a database that does not respond, for which the engine waits.
    #[must_use]
    pub(crate) fn lost(mut self) -> Self {
        self.kind = Kind::Lost;
        self
    }

    /// Marks the exception as one after which its reader or writer must be opened again. The special handling of other exceptions stays.
    #[must_use]
    pub(crate) fn reopens(mut self) -> Self {
        if self.kind == Kind::Plain {
            self.kind = Kind::Reopen;
        }
        self
    }

    /// Returns true if the rules of the job apply to the exception.
    pub(crate) fn has_remedy(&self) -> bool {
        matches!(self.kind, Kind::Plain | Kind::Reopen)
    }

    /// Returns the code under which the exception is documented.
    #[must_use]
    pub fn code(&self) -> Code {
        codes::THROWN
    }
}

/// Adapts a remedy for users of jobs. Findings are worded for commands, whose options are properties of an artifact here, or do not exist.
fn in_a_job(remedy: &str) -> String {
    const FRAMING: &str = "`quayline inspect FILE` proposes a value for the property framing";
    let mut text = remedy
        .replace("`inspect` on the file proposes a framing", FRAMING)
        .replace("`inspect` on the file proposes one", FRAMING);
    for name in crate::job_limits::LIMITS {
        let option = ["`--limit ", name, "="].concat();
        text = text.replace(&option, &format!("the property limit: `{name}="));
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

/// Converts an error of the repository: the current work cannot be committed, so it is neither skipped nor retried.
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

/// Converts a statement refused by a database. Classes: the SQLSTATE, its class, and the usual Java exceptions.
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

/// Converts an error of the repository's own statements.
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
        // Regression: the remedy of FRM-020 said that a job has no such options.
        let text = in_a_job("`vbs` holds any record up to `--limit record-bytes=N`");
        assert_eq!(text, "`vbs` holds any record up to the property limit: `record-bytes=N`");
        // A limit of definitions is not a property.
        let text = in_a_job("look for a circle, or allow more with `--limit copy-depth=N`");
        assert!(text.contains("`--limit copy-depth=N`; a job has no such options"), "{text}");
        let text = in_a_job("if the sender leaves it blank, convert with `--blank null`");
        assert!(text.contains("skippable-exception-classes"), "{text}");
    }
}
