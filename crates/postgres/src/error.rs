//! Errors. Messages contain no values, because details from the server can quote data.

/// Error of executing statements.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// The connection ended, or could not be opened. Whether a commit under way happened is not known.
    #[error("the connection to {database} is lost: {why}")]
    Lost {
        /// The database.
        database: String,
        /// Error text of the system.
        why: String,
    },
    /// The server refuses the connection: user, password, database.
    #[error("{database} refuses the connection: {why}")]
    NoEntry {
        /// The database.
        database: String,
        /// Error text of the server.
        why: String,
    },
    /// The server refused a statement.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// An answer of no known form.
    #[error("{database} sent an answer of no known form: {what}")]
    Protocol {
        /// The database.
        database: String,
        /// The expected protocol element.
        what: &'static str,
    },
}

/// A statement that the server refused.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Refusal {
    /// The five characters of SQLSTATE.
    pub sqlstate: String,
    /// The server's message, without its detail.
    pub message: String,
    /// Table, if the server names one.
    pub table: Option<String>,
    /// Column, if the server names one.
    pub column: Option<String>,
    /// Constraint, if the server names one.
    pub constraint: Option<String>,
    /// Number of the statement since the transaction began or its last answers were taken, from 0.
    pub statement: usize,
    /// The tag that the sender gave the statement; 0 if the server refuses its text, before it reads values.
    pub tag: u32,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SQLSTATE {}", self.sqlstate)?;
        match &self.constraint {
            Some(constraint) => write!(f, ", constraint {constraint}")?,
            None => write!(f, ": {}", withheld(&self.sqlstate, &self.message))?,
        }
        match &self.table {
            Some(table) => write!(f, ", table {table}"),
            None => Ok(()),
        }
    }
}

/// Returns the message, truncated before the value that the server quotes in it (class 22, data exceptions).
fn withheld<'m>(sqlstate: &str, message: &'m str) -> &'m str {
    if sqlstate.starts_with("22") {
        match message.split_once('"') {
            Some((before, _)) => before.trim_end_matches([' ', ':']),
            None => message,
        }
    } else {
        message
    }
}

impl SqlError {
    /// Returns true if the connection ended, so that a later retry may succeed.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        match self {
            SqlError::Lost { .. } => true,
            // The server stops, starts, or ended this session.
            SqlError::Refused(refusal) => matches!(refusal.sqlstate.as_str(), "57P01" | "57P02" | "57P03"),
            _ => false,
        }
    }
}
