//! The floor: the SQL of the job over a bare connection. Statements are parsed once; a chunk with its checkpoint and `COMMIT` is one round
//! trip.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quayline_batch::record::Times;
use quayline_postgres::{Answers, Connection, Endpoint, Pipeline, SqlError, Statement};

use super::{Load, Rows, Took};

struct Statements {
    begin: Statement,
    commit: Statement,
    insert: Statement,
    delete: Statement,
    delete_all: Statement,
    first: Statement,
    checkpoint: Statement,
}

impl Statements {
    fn new() -> Self {
        Statements {
            begin: Statement::new("BEGIN"),
            commit: Statement::new("COMMIT"),
            insert: Statement::new(
                "INSERT INTO account SELECT * FROM unnest($1::int8[],$2::int4[],$3::int8[],$4::text[])",
            ),
            delete: Statement::new("DELETE FROM account WHERE account_number=$1::int8"),
            delete_all: Statement::new("DELETE FROM account WHERE account_number=ANY($1::int8[])"),
            first: Statement::new("INSERT INTO floor_ckpt VALUES ($1::int8,0,0,0,0,'',now())"),
            checkpoint: Statement::new(
                "UPDATE floor_ckpt SET version=version+1, reads=$2::int8, writes=$3::int8, commits=$4::int8, data=$5::bytea, updated=now() \
                 WHERE id=$1::int8 AND version=$6::int8",
            ),
        }
    }
}

fn array(element: u32, count: u64, value: impl Fn(u64, &mut Vec<u8>)) -> Vec<u8> {
    let length = u32::try_from(count).unwrap_or(u32::MAX);
    let mut bytes: Vec<u8> = [1, 0, element, length, 1].into_iter().flat_map(u32::to_be_bytes).collect();
    (0..count).for_each(|number| value(number, &mut bytes));
    bytes
}

/// Runs the floor of a load with its partitions in a number of threads.
///
/// # Errors
/// An error of the database or the data file.
pub(super) fn floor(endpoint: &Endpoint, file: &Path, load: &Load, threads: usize) -> Result<Took, String> {
    let statements = Statements::new();
    let next = AtomicU64::new(0);
    let read = Mutex::new(Duration::ZERO);
    let begin = Instant::now();
    let done: Result<(), String> = std::thread::scope(|scope| {
        let worker = || -> Result<(), String> {
            let mut connection = Connection::open(endpoint).map_err(|error| error.to_string())?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= load.partitions {
                    return Ok(());
                }
                let took = partition(&mut connection, &statements, file, load, number)?;
                *read.lock().map_err(|_| "a thread of the floor panicked".to_owned())? += took;
            }
        };
        let count = threads.min(usize::try_from(load.partitions).unwrap_or(usize::MAX));
        let handles: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        handles
            .into_iter()
            .try_for_each(|handle| handle.join().map_err(|_| "a thread of the floor panicked".to_owned())?)
    });
    done?;
    let wall = begin.elapsed();
    let read = read.into_inner().map_err(|_| "a thread of the floor panicked".to_owned())?;
    let read_ns = u64::try_from(read.as_nanos()).unwrap_or(u64::MAX);
    Ok(Took { wall, times: Times { read_ns, ..Times::default() }, cpu: Duration::ZERO })
}

/// Runs one partition; the answer is the time of reading.
fn partition(
    connection: &mut Connection,
    statements: &Statements,
    file: &Path,
    load: &Load,
    number: u64,
) -> Result<Duration, String> {
    let sql = |error: SqlError| error.to_string();
    let io = |error: std::io::Error| format!("{}: {error}", file.display());
    let (mut pipeline, mut answers) = (Pipeline::default(), Answers::default());
    let id = number.to_be_bytes();
    pipeline.change(&statements.first, &[&id], 0);
    connection.run(&mut pipeline, &mut answers).map_err(sql)?;
    let base = number * 100_000_000;
    let data = vec![7; load.checkpoint_bytes * 2];
    let mut lines = BufReader::with_capacity(64 << 10, File::open(file).map_err(io)?);
    let records = load.records / load.partitions;
    let (mut done, mut chunks, mut inserts, mut read) = (0, 0u64, true, Duration::ZERO);
    let mut items: Vec<Vec<u8>> = Vec::new();
    while done < records {
        let begin = Instant::now();
        items.clear();
        for _ in 0..load.items.min(records - done) {
            let mut line = Vec::new();
            if lines.read_until(b'\n', &mut line).map_err(io)? == 0 {
                lines.rewind().map_err(io)?;
                lines.read_until(b'\n', &mut line).map_err(io)?;
            }
            items.push(line);
        }
        read += begin.elapsed();
        let count = items.len() as u64;
        pipeline.change(&statements.begin, &[], 0);
        let keys = |out: &mut Vec<u8>, n: u64| {
            out.extend_from_slice(&8u32.to_be_bytes());
            out.extend_from_slice(&(base + n).to_be_bytes());
        };
        match (load.rows, inserts) {
            (Rows::None, _) => {}
            (_, true) => {
                let balances = array(23, count, |n, out| {
                    out.extend_from_slice(&4u32.to_be_bytes());
                    out.extend_from_slice(&u32::try_from(n % 1_000).unwrap_or(0).to_be_bytes());
                });
                let instances = array(20, count, |_, out| {
                    out.extend_from_slice(&8u32.to_be_bytes());
                    out.extend_from_slice(&1u64.to_be_bytes());
                });
                let codes = array(25, count, |_, out| {
                    out.extend_from_slice(&3u32.to_be_bytes());
                    out.extend_from_slice(b"CHK");
                });
                let keys = array(20, count, |n, out| keys(out, n));
                pipeline.change(&statements.insert, &[&keys, &balances, &instances, &codes], 0);
            }
            (Rows::Pipelined, false) => {
                (0..count).for_each(|n| pipeline.change(&statements.delete, &[&(base + n).to_be_bytes()], 0));
            }
            (Rows::OneByOne, false) => {
                for n in 0..count {
                    pipeline.change(&statements.delete, &[&(base + n).to_be_bytes()], 0);
                    connection.run(&mut pipeline, &mut answers).map_err(sql)?;
                }
            }
            (Rows::Set, false) => {
                let keys = array(20, count, |n, out| keys(out, n));
                pipeline.change(&statements.delete_all, &[&keys], 0);
            }
        }
        inserts = !inserts;
        done += count;
        chunks += 1;
        let (sum, commits, version) = (done.to_be_bytes(), chunks.to_be_bytes(), (chunks - 1).to_be_bytes());
        pipeline.change(&statements.checkpoint, &[&id, &sum, &sum, &commits, &data, &version], 0);
        pipeline.change(&statements.commit, &[], 0);
        connection.run(&mut pipeline, &mut answers).map_err(sql)?;
    }
    Ok(read)
}
