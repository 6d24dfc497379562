//! Connections of batch work: servers that stop reading, statements that are sent ahead, and the password file.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use quayline_postgres::server::{Durable, OwnServer};
use quayline_postgres::{Connection, Endpoint, Pipeline, Pool, SqlError, Statement, Transaction};

/// Maximum time for what takes milliseconds on a quiet machine.
const SOON: Duration = Duration::from_secs(20);

/// After a statement that failed, the server skipped the rollback too, and the thread waited for its answer for 15 minutes.
#[test]
fn a_transaction_that_is_sent_ahead_and_fails_is_rolled_back() {
    let folder = tempfile::tempdir().unwrap();
    let Ok(server) = OwnServer::start(&folder.path().join("server"), Durable::No) else {
        eprintln!("skipped: a_transaction_that_is_sent_ahead_and_fails_is_rolled_back: PostgreSQL is not installed");
        return;
    };
    let pool = Pool::new(Endpoint { answer_timeout: 2 * SOON, ..server.endpoint() });
    let number = |pool: &Pool| {
        let mut connection = pool.take().unwrap();
        let answers = connection.query("SELECT pg_backend_pid()::text", &[]).unwrap();
        let number = answers.row(0).and_then(|row| row.text(0)).unwrap().to_owned();
        pool.put(connection);
        number
    };
    let before = number(&pool);
    let began = Instant::now();
    let mut transaction = Transaction::new(&pool);
    transaction.change(&Statement::new("SELECT 1 / 0"), &[], 0);
    let long = vec![b'x'; 2 << 20];
    transaction.change(&Statement::new("SELECT length($1::text)"), &[&long], 0);
    transaction.make_room().unwrap();
    drop(transaction);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(number(&pool), before, "the connection is in the pool again");
}

/// Answers the login and the first statement, and then neither reads nor answers.
fn silent() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut hello = vec![0; u32::from_be_bytes(length) as usize - 4];
        stream.read_exact(&mut hello).unwrap();
        // No password, and ready.
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head[0], b'Q', "each connection has a setting");
        let mut statement = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
        stream.read_exact(&mut statement).unwrap();
        stream.write_all(b"C\0\0\0\x08SET\0Z\0\0\0\x05I").unwrap();
        std::thread::sleep(3 * SOON);
    });
    port
}

/// Regression: the time limit of answers did not apply to a long pipeline, so a server that stopped reading held the thread for ever.
#[test]
fn a_server_that_stops_reading_has_the_time_limit_of_answers() {
    for count in [1, 2_000] {
        let address = format!("postgresql://quay@127.0.0.1:{}/postgres?answer_timeout=1", silent());
        let mut connection = Connection::open(&Endpoint::parse(&address).unwrap()).unwrap();
        let long = vec![b'x'; 20 << 10];
        let mut pipeline = Pipeline::default();
        for _ in 0..count {
            pipeline.change(&Statement::new("SELECT length($1::text)"), &[&long], 0);
        }
        let began = Instant::now();
        // A short pipeline fits the buffers of the system.
        let done = connection.send(&mut pipeline).and_then(|()| connection.receive(&mut Default::default()));
        assert!(matches!(&done, Err(SqlError::Lost { why, .. }) if why == "no answer in time"), "{done:?}");
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    }
}

const FILE: &str = "QUAYLINE_TEST_PASSWORD_FILE";

/// The child process. Without the variable, this test does nothing.
#[test]
fn child_with_a_password_file() {
    if std::env::var_os(FILE).is_none() {
        return;
    }
    let password = |address: &str| Endpoint::parse(address).unwrap().password;
    assert_eq!(password("postgresql://one@db/orders").as_deref(), Some("a:b\\c"));
    assert_eq!(password("postgresql://two@db/orders").as_deref(), Some("plain:text"));
    assert_eq!(password("postgresql://domain%5Cthree@db/x%3Ay").as_deref(), Some("t"));
    assert_eq!(password("postgresql://four@db/orders"), None);
}

/// Regression: the backslash before a colon or backslash became part of the password.
#[test]
fn colons_and_backslashes_in_a_password_file_have_a_backslash_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("passwords");
    let lines =
        "# a comment\ndb:5432:orders:one:a\\:b\\\\c\n*:*:*:two:plain:text\ndb:*:x\\:y:domain\\\\three:t\nfour:f\n";
    std::fs::write(&file, lines).unwrap();
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "connections::child_with_a_password_file"])
        .env(FILE, "1")
        .env("PGPASSFILE", &file)
        .env_remove("PGPASSWORD")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", done.stdout.escape_ascii());
}
