//! `quayline.sqlBatchlet`: statements in one transaction.

use quayline_postgres::Connection;

use super::pool_of;
use crate::artifact::{Answer, Batchlet, Injected};
use crate::error::{Kind, Thrown};

pub(in crate::builtin) struct SqlBatchlet {
    endpoint: quayline_postgres::Endpoint,
    statement: String,
}

impl SqlBatchlet {
    pub(in crate::builtin) fn new(with: &Injected) -> Answer<Self> {
        let pool = pool_of(with)?;
        let statement = with.required("statement")?.to_owned();
        let Some(pool) = pool else {
            with.required("database")?;
            unreachable!("a missing property is an error");
        };
        Ok(SqlBatchlet { endpoint: pool.endpoint().clone(), statement })
    }
}

impl Batchlet for SqlBatchlet {
    fn process(&mut self) -> Answer<Option<String>> {
        // Several statements in one message are one transaction.
        let done = Connection::open(&self.endpoint).and_then(|mut connection| connection.script(&self.statement));
        done.map(|()| None).map_err(|error| Thrown { kind: Kind::Plain, ..Thrown::from(error) })
    }
}
