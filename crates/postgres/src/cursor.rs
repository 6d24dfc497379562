//! Rows of a query that are read in portions, one portion ahead.

use std::sync::Arc;

use crate::answers::Answers;
use crate::connection::Connection;
use crate::error::SqlError;
use crate::pipeline::{Format, Param, Pipeline, Statement};
use crate::pool::Pool;

/// A query that runs in an open transaction on a separate connection. Dropping it ends the transaction.
#[derive(Debug)]
pub struct Cursor {
    pool: Arc<Pool>,
    connection: Option<Connection>,
    fetch: u32,
    is_over: bool,
}

impl Cursor {
    /// Begins a query in the transaction that is open on a connection. Rows come as text.
    ///
    /// # Errors
    /// [`SqlError::Refused`], [`SqlError::Lost`].
    pub fn open(
        pool: Arc<Pool>,
        mut connection: Connection,
        statement: &Statement,
        params: &[Param<'_>],
        fetch: u32,
    ) -> Result<Cursor, SqlError> {
        let mut pipeline = Pipeline::default();
        pipeline.open_portal("c", statement, params, Format::Text);
        connection.run(&mut pipeline, &mut Answers::default())?;
        let mut cursor = Cursor { pool, connection: Some(connection), fetch, is_over: false };
        cursor.ask()?;
        Ok(cursor)
    }

    /// Requests the next portion without waiting for it.
    fn ask(&mut self) -> Result<(), SqlError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let mut pipeline = Pipeline::default();
        pipeline.fetch("c", self.fetch);
        connection.send(&mut pipeline)
    }

    /// Fetches the next rows. Returns false after the last.
    ///
    /// # Errors
    /// [`SqlError::Refused`], [`SqlError::Lost`].
    pub fn next(&mut self, answers: &mut Answers) -> Result<bool, SqlError> {
        answers.clear();
        if self.is_over {
            return Ok(false);
        }
        let Some(connection) = &mut self.connection else { return Ok(false) };
        if let Err(error) = connection.receive(answers) {
            self.connection = None;
            if error.is_lost() {
                self.pool.clear();
            }
            return Err(error);
        }
        if answers.is_last {
            self.is_over = true;
        } else {
            self.ask()?;
        }
        Ok(!answers.is_empty())
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // Answers under way are not worth waiting for: then the connection closes.
        if let Some(mut connection) = self.connection.take()
            && self.is_over
            && connection.script("ROLLBACK").is_ok()
        {
            self.pool.put(connection);
        }
    }
}

impl Connection {
    /// Names of the types of a query's columns, as casts write them: without lengths, so that a cast cuts nothing off. The query does not run.
    ///
    /// # Errors
    /// [`SqlError::Refused`], [`SqlError::Lost`].
    pub fn types_of(&mut self, query: &str) -> Result<Vec<String>, SqlError> {
        let mut pipeline = Pipeline::default();
        pipeline.open_portal("", &Statement::new(query), &[], Format::Text);
        let mut answers = Answers::default();
        self.run(&mut pipeline, &mut answers)?;
        let mut names = Vec::with_capacity(answers.types.len());
        for oid in answers.types {
            let oid = oid.to_be_bytes();
            // With NULL in place of -1, `character(5)` would be `character`, which is `character(1)`.
            let named = self.query("SELECT format_type($1::oid, -1)", &[Param::Binary(&oid)])?;
            names.push(named.row(0).and_then(|row| row.text(0)).unwrap_or("text").to_owned());
        }
        Ok(names)
    }
}
