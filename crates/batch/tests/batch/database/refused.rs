//! Statements that the server refuses.

use quayline_postgres::server::OwnServer;
use quayline_postgres::{Answers, Connection, Format, Param, Pipeline, Refusal, SqlError, Statement};

use super::sql;

fn add(pipeline: &mut Pipeline, text: &str, number: i32, tag: u32) {
    let number = number.to_be_bytes();
    pipeline.add(&Statement::new(text), &[Param::Binary(&number)], Format::Binary, tag);
}

fn refusal(answered: Result<(), SqlError>) -> Refusal {
    match answered {
        Err(SqlError::Refused(refusal)) => *refusal,
        other => panic!("refused: {other:?}"),
    }
}

/// Regression: the server parses the texts of a pipeline first, and the refusal of one had the number and the tag of the first statement. The error named an
/// item that was right.
pub(super) fn a_text_that_does_not_parse(server: &OwnServer) {
    const GOOD: &str = "INSERT INTO divided VALUES (10 / $1::int4)";
    sql(server, "CREATE TABLE divided (n int)");
    let mut connection = Connection::open(&server.endpoint()).unwrap();
    let (mut pipeline, mut answers) = (Pipeline::default(), Answers::default());
    add(&mut pipeline, GOOD, 1, 5);
    add(&mut pipeline, "INSERT INTO divided_1 VALUES ($1::int4)", 1, 7);
    let found = refusal(connection.run(&mut pipeline, &mut answers));
    assert_eq!((found.sqlstate.as_str(), found.statement, found.tag), ("42P01", 1, 0));
    // In a later part, after statements whose answers arrive first.
    add(&mut pipeline, GOOD, 1, 4);
    connection.send_part(&mut pipeline).unwrap();
    add(&mut pipeline, GOOD, 1, 5);
    add(&mut pipeline, "INSERT INTO divided_2 VALUES ($1::int4)", 1, 6);
    connection.send(&mut pipeline).unwrap();
    let found = refusal(connection.receive(&mut answers));
    assert_eq!((found.sqlstate.as_str(), found.statement, found.tag), ("42P01", 2, 0));
    // The values of a statement before the text.
    add(&mut pipeline, GOOD, 1, 4);
    add(&mut pipeline, GOOD, 0, 5);
    connection.send_part(&mut pipeline).unwrap();
    add(&mut pipeline, "INSERT INTO divided_3 VALUES ($1::int4)", 1, 6);
    connection.send(&mut pipeline).unwrap();
    let found = refusal(connection.receive(&mut answers));
    assert_eq!((found.sqlstate.as_str(), found.statement, found.tag), ("22012", 1, 5));
}
