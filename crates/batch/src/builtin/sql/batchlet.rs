//! `quayline.sqlBatchlet`: statements in one transaction.

use quayline_postgres::{Connection, Endpoint};

use crate::artifact::{Answer, Batchlet, Injected};
use crate::error::{Kind, Thrown};

pub(in crate::builtin) struct SqlBatchlet {
    endpoint: Endpoint,
    statement: String,
}

impl SqlBatchlet {
    pub(in crate::builtin) fn new(with: &Injected) -> Answer<Self> {
        let endpoint = Endpoint::parse(with.required("database")?)
            .map_err(|error| Thrown::property(&with.name, "database", &error.what, &error.remedy))?;
        Ok(SqlBatchlet { endpoint, statement: with.required("statement")?.to_owned() })
    }
}

impl Batchlet for SqlBatchlet {
    fn process(&mut self) -> Answer<Option<String>> {
        // Several statements in one message are one transaction.
        let done = Connection::open(&self.endpoint).and_then(|mut connection| connection.script(&self.statement));
        done.map(|()| None).map_err(|error| Thrown { kind: Kind::Plain, ..Thrown::from(error) })
    }
}
