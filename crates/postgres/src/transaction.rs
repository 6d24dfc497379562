//! A transaction whose statements travel together.

use std::sync::Arc;

use crate::answers::Answers;
use crate::connection::Connection;
use crate::error::{Refusal, SqlError};
use crate::pipeline::{Format, Param, Pipeline, Statement};
use crate::pool::Pool;

/// Bytes of statements that wait in memory; beyond them they are sent ahead.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// SQLSTATE of a statement that changed another number of rows than its sender expects: "no data".
const NO_DATA: &str = "02000";

/// A transaction. Quayline sends nothing before an answer is needed, so the first statement, the last and `COMMIT` can travel in one write. Dropping
/// the transaction rolls it back.
///
/// Statements belong to the work itself or to its end ([`Transaction::at_end`], for example a checkpoint), which follows all of the work.
#[derive(Debug)]
pub struct Transaction {
    pool: Arc<Pool>,
    connection: Option<Connection>,
    work: Pipeline,
    end: Pipeline,
    /// Statements of the work that must change one row each: number and tag.
    checks: Vec<(usize, u32)>,
    /// Statements that were added since the last answers.
    added: usize,
    is_begun: bool,
    savepoints: u64,
    answers: Answers,
}

/// A point to which a transaction can return.
#[derive(Debug)]
pub struct Savepoint(u64);

impl Transaction {
    /// Creates a transaction without statements.
    #[must_use]
    pub fn new(pool: &Arc<Pool>) -> Transaction {
        Transaction {
            pool: Arc::clone(pool),
            connection: None,
            work: pool.pipeline(),
            end: Pipeline::default(),
            checks: Vec::new(),
            added: 0,
            is_begun: false,
            savepoints: 0,
            answers: Answers::default(),
        }
    }

    /// The database.
    #[must_use]
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Returns true if no statement was added.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        !self.is_begun
    }

    fn begin(&mut self) {
        if !self.is_begun {
            self.is_begun = true;
            self.work.change(&Statement::new("BEGIN"), &[], 0);
            self.added += 1;
        }
    }

    /// Adds a statement whose values are in binary form.
    pub fn change(&mut self, statement: &Statement, params: &[&[u8]], tag: u32) {
        self.begin();
        self.work.change(statement, params, tag);
        self.added += 1;
    }

    /// Adds a statement.
    pub fn add(&mut self, statement: &Statement, params: &[Param<'_>], tag: u32) {
        self.begin();
        self.work.add(statement, params, Format::Binary, tag);
        self.added += 1;
    }

    /// Returns the number of statements since the last answers, which is the place of the next one in [`Answers::counts`].
    #[must_use]
    pub fn added(&self) -> usize {
        self.added
    }

    /// Requires that the most recent statement change exactly one row.
    pub fn must_change_one(&mut self, tag: u32) {
        self.checks.push((self.added - 1, tag));
    }

    /// Adds a statement after all others, whenever those are added.
    pub fn at_end(&mut self, statement: &Statement, params: &[&[u8]], tag: u32) {
        self.begin();
        self.end.change(statement, params, tag);
    }

    /// Sends ahead if much waits, so that a large chunk does not fill the memory and the server begins early.
    ///
    /// # Errors
    /// [`SqlError::Lost`].
    pub fn make_room(&mut self) -> Result<(), SqlError> {
        if self.work.byte_len() < WAITING_BYTES_MAX {
            return Ok(());
        }
        let mut connection = self.attached()?;
        let sent = connection.send_part(&mut self.work);
        self.connection = Some(connection);
        sent.map_err(|error| self.failed(error))
    }

    fn attached(&mut self) -> Result<Connection, SqlError> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.pool.take().map_err(|error| self.failed(error)),
        }
    }

    fn failed(&mut self, error: SqlError) -> SqlError {
        if error.is_lost() {
            self.connection = None;
            self.pool.clear();
        }
        error
    }

    /// Sends the pending statements and receives the answers.
    ///
    /// # Errors
    /// [`SqlError::Refused`]: nothing more can happen in this transaction, except after [`Transaction::back_to`]. [`SqlError::Lost`].
    pub fn answers(&mut self) -> Result<&Answers, SqlError> {
        let mut end = std::mem::take(&mut self.end);
        self.work.append(&mut end);
        self.added = 0;
        let checks = std::mem::take(&mut self.checks);
        self.answers.clear();
        if self.work.is_empty() && self.connection.is_none() {
            return Ok(&self.answers);
        }
        let mut connection = self.attached()?;
        let done = connection
            .send(&mut self.work)
            .and_then(|()| connection.receive(&mut self.answers))
            .and_then(|()| check(&self.answers, &checks));
        self.work.clear();
        self.connection = Some(connection);
        done.map_err(|error| self.failed(error))?;
        Ok(&self.answers)
    }

    /// Rows of a statement, in binary form.
    ///
    /// # Errors
    /// Those of [`Transaction::answers`].
    pub fn query(&mut self, statement: &Statement, params: &[Param<'_>]) -> Result<&Answers, SqlError> {
        self.add(statement, params, 0);
        self.answers()
    }

    /// Creates a savepoint to which the transaction can return.
    pub fn savepoint(&mut self) -> Savepoint {
        self.savepoints += 1;
        let text = format!("SAVEPOINT s{}", self.savepoints);
        self.change(&Statement::new(&text), &[], 0);
        Savepoint(self.savepoints)
    }

    /// Undoes everything since a savepoint, also after a statement was refused.
    ///
    /// # Errors
    /// [`SqlError::Lost`].
    pub fn back_to(&mut self, savepoint: &Savepoint) -> Result<(), SqlError> {
        // A refusal among the statements that wait is what the return is about.
        match self.answers() {
            Ok(_) | Err(SqlError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
        self.checks.clear();
        self.change(&Statement::new(&format!("ROLLBACK TO SAVEPOINT s{}", savepoint.0)), &[], 0);
        self.answers().map(|_| ())
    }

    /// Sends the remaining statements with `COMMIT` after them. If statements must change one row, their answers are checked before the rest is sent.
    #[must_use]
    pub fn submit(mut self) -> OnItsWay {
        let mut way =
            OnItsWay { pool: Arc::clone(&self.pool), connection: None, rest: None, checks: Vec::new(), failed: None };
        if !self.is_begun {
            return way;
        }
        let mut end = std::mem::take(&mut self.end);
        end.change(&Statement::new("COMMIT"), &[], 0);
        let mut work = std::mem::take(&mut self.work);
        way.checks = std::mem::take(&mut self.checks);
        if way.checks.is_empty() {
            work.append(&mut end);
        } else {
            way.rest = Some(end);
        }
        match self.attached().and_then(|mut connection| {
            let sent = connection.send(&mut work);
            way.connection = Some(connection);
            sent.map_err(|error| self.failed(error))
        }) {
            Ok(()) => {}
            Err(error) => way.failed = Some(error),
        }
        self.pool.take_back(work);
        // Nothing is left to roll back.
        self.is_begun = false;
        way
    }

    /// Commits and waits.
    ///
    /// # Errors
    /// Those of [`OnItsWay::wait`].
    pub fn commit(self) -> Result<(), SqlError> {
        self.submit().wait()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let work = std::mem::take(&mut self.work);
        if work.capacity() > 0 {
            self.pool.take_back(work);
        }
        if let Some(connection) = self.connection.take() {
            give_back(&self.pool, connection);
        }
    }
}

/// Rolls back an open transaction and returns the connection to the pool. A connection that does not answer is closed.
fn give_back(pool: &Pool, mut connection: Connection) {
    if !connection.is_idle() && connection.end_part().and_then(|()| connection.script("ROLLBACK")).is_err() {
        return;
    }
    pool.put(connection);
}

fn check(answers: &Answers, checks: &[(usize, u32)]) -> Result<(), SqlError> {
    let wrong = checks.iter().find(|(statement, _)| answers.counts.get(*statement).is_none_or(|count| *count != 1));
    match wrong {
        None => Ok(()),
        Some((statement, tag)) => {
            let count = answers.counts.get(*statement).copied().unwrap_or(0);
            Err(SqlError::Refused(Box::new(Refusal {
                sqlstate: NO_DATA.to_owned(),
                message: format!("the statement changed {count} rows, expected 1"),
                statement: *statement,
                tag: *tag,
                ..Refusal::default()
            })))
        }
    }
}

/// A submitted commit whose outcome is not known yet.
#[derive(Debug)]
pub struct OnItsWay {
    pool: Arc<Pool>,
    connection: Option<Connection>,
    rest: Option<Pipeline>,
    checks: Vec<(usize, u32)>,
    failed: Option<SqlError>,
}

impl OnItsWay {
    /// Waits for the outcome.
    ///
    /// # Errors
    /// [`SqlError::Refused`]: nothing of the transaction happened. [`SqlError::Lost`]: it happened or not.
    pub fn wait(mut self) -> Result<(), SqlError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let Some(mut connection) = self.connection.take() else { return Ok(()) };
        let mut answers = Answers::default();
        let mut done = connection.receive(&mut answers).and_then(|()| check(&answers, &self.checks));
        if let (Ok(()), Some(mut rest)) = (&done, self.rest.take()) {
            answers.clear();
            done = connection.send(&mut rest).and_then(|()| connection.receive(&mut answers));
        }
        match &done {
            Err(error) if error.is_lost() => self.pool.clear(),
            _ => give_back(&self.pool, connection),
        }
        done
    }
}
