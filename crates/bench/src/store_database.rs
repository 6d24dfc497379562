//! The store's engine over PostgreSQL, compared with the same work written by hand on the same server, with durable commits.
//!
//! By hand: three tables, prepared statements, a connection for each worker, the message by `SKIP LOCKED`, five round trips.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quayline_postgres::server::{Durable, OwnServer};
use quayline_postgres::{Answers, Connection, Format, Param, Pipeline, SqlError, Statement};
use quayline_store::{Access, Clock, Store, StoreLimits, SystemClock};
use quayline_store_postgres::PostgresEngine;

use crate::unit_of_work::{Bed, RECORDS};

/// Messages that circulate.
const MESSAGES: u64 = 2_000;

const TABLES: &str = "\
CREATE TABLE one (id bigserial PRIMARY KEY, body bytea NOT NULL);
CREATE TABLE other (id bigserial PRIMARY KEY, body bytea NOT NULL);
CREATE TABLE record (key bigint PRIMARY KEY, body bytea NOT NULL);";

/// The statements of one direction.
struct Direction {
    get: Statement,
    put: Statement,
}

impl Direction {
    fn new(from: &str, to: &str) -> Self {
        let get = format!(
            "DELETE FROM {from} WHERE id = (SELECT id FROM {from} ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING body"
        );
        Direction { get: Statement::new(&get), put: Statement::new(&format!("INSERT INTO {to} (body) VALUES ($1)")) }
    }
}

/// Returns the units of work per second of the store and of the handwritten loop, with `workers` workers each.
///
/// # Errors
/// The server does not start, or refuses.
pub fn units(folder: &Path, workers: u64, time: Duration) -> Result<Option<(f64, f64)>, String> {
    let _ = std::fs::remove_dir_all(folder);
    let server = match OwnServer::start(folder, Durable::Yes) {
        Ok(server) => server,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let by_hand = by_hand(&server)?;
    let engine = PostgresEngine::open(server.endpoint()).map_err(|error| error.to_string())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = Store::open(Arc::new(engine), clock, StoreLimits::default(), Access::Write);
    let bed = Bed::of(store.map_err(|error| error.to_string())?, RECORDS)?.0;
    // The measurements alternate, because the speed of a shared disk changes within seconds.
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        theirs.push(by_hand.units(&server, workers, time)?);
        ours.push(bed.units(workers, time)?.rate);
    }
    Ok(Some((crate::median(ours.into_iter()), crate::median(theirs.into_iter()))))
}

struct ByHand {
    directions: [Direction; 2],
    write: Statement,
    begin: Statement,
    commit: Statement,
}

fn by_hand(server: &OwnServer) -> Result<ByHand, String> {
    let fill = format!(
        "{TABLES} INSERT INTO record SELECT n, decode(repeat('07', 32), 'hex') FROM generate_series(0, {RECORDS} - 1) AS n; \
         INSERT INTO one (body) SELECT decode(repeat('05', 200), 'hex') FROM generate_series(1, {MESSAGES}); ANALYZE;"
    );
    Connection::open(&server.endpoint())
        .and_then(|mut connection| connection.script(&fill))
        .map_err(|e| e.to_string())?;
    Ok(ByHand {
        directions: [Direction::new("one", "other"), Direction::new("other", "one")],
        write: Statement::new("UPDATE record SET body = $2 WHERE key = $1"),
        begin: Statement::new("BEGIN"),
        commit: Statement::new("COMMIT"),
    })
}

impl ByHand {
    fn units(&self, server: &OwnServer, workers: u64, time: Duration) -> Result<f64, String> {
        let (count, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let began = Instant::now();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..workers)
                .map(|me| {
                    let (count, stop) = (&count, &stop);
                    scope.spawn(move || {
                        let mut connection = Connection::open(&server.endpoint())?;
                        let mut turn = me;
                        while !stop.load(Ordering::Relaxed) {
                            if self.unit(&mut connection, turn)? {
                                count.fetch_add(1, Ordering::Relaxed);
                            }
                            turn += 1;
                        }
                        Ok::<(), SqlError>(())
                    })
                })
                .collect();
            std::thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
            workers.into_iter().try_for_each(|worker| {
                worker.join().map_err(|_| "a worker panicked".to_owned())?.map_err(|error| error.to_string())
            })
        })?;
        Ok(count.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
    }

    /// Runs one unit of work. Returns true if there was a message.
    fn unit(&self, connection: &mut Connection, turn: u64) -> Result<bool, SqlError> {
        let (mut pipeline, mut answers) = (Pipeline::default(), Answers::default());
        let mut run = |statement: &Statement, params: &[Param<'_>], answers: &mut Answers| {
            answers.clear();
            pipeline.add(statement, params, Format::Binary, 0);
            connection.run(&mut pipeline, answers)
        };
        let direction = &self.directions[usize::from(turn % 2 == 1)];
        run(&self.begin, &[], &mut answers)?;
        run(&direction.get, &[], &mut answers)?;
        let body = answers.row(0).and_then(|row| row.get(0)).map(<[u8]>::to_vec);
        if let Some(body) = &body {
            let key = (turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) % RECORDS).to_be_bytes();
            run(&self.write, &[Param::Binary(&key), Param::Binary(&[9; 32])], &mut answers)?;
            run(&direction.put, &[Param::Binary(body)], &mut answers)?;
        }
        run(&self.commit, &[], &mut answers)?;
        Ok(body.is_some())
    }
}
