//! The checks that every engine passes, on a PostgreSQL server of the test's own.
#![allow(clippy::unwrap_used, reason = "a test fails where it is wrong")]

mod connections;
mod crash;
mod processes;
mod tls;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quayline_store::queue::{GetWait, Message, QueueDefinition, Select};
use quayline_store::{
    Access, Clock, EVERY_ENTRY, Engine as _, LockWait, Space, Store, StoreError, StoreLimits, SystemClock, conformance,
    save,
};
use quayline_store_postgres::{Endpoint, PostgresEngine};

/// A database server that ends with the test.
struct Server {
    folder: tempfile::TempDir,
    process: Mutex<Child>,
    binaries: PathBuf,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

/// The command as a user that PostgreSQL accepts: it refuses to run as root.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

impl Server {
    fn start() -> Option<Server> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
        folders.extend([PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")]);
        let binaries = folders.into_iter().find(|folder| folder.join("initdb").exists())?;
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        // The other user must reach it.
        Command::new("chmod").arg("755").arg(folder.path()).status().unwrap();
        std::fs::create_dir(&data).unwrap();
        if is_root() {
            let owned = Command::new("chown").arg("postgres").arg(&data).stderr(Stdio::null()).status();
            owned.ok().filter(std::process::ExitStatus::success)?;
        }
        std::fs::write(folder.path().join("password"), "s3cret word\n").unwrap();
        let made = unprivileged(&binaries.join("initdb"))
            .args(["-U", "quay", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync", "--pwfile"])
            .arg(folder.path().join("password"))
            .arg(&data)
            .current_dir(folder.path())
            .output();
        made.ok().filter(|made| made.status.success())?;
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Mutex::new(Server::run(&folder, &binaries, port)?);
        Some(Server { folder, process, binaries, port })
    }

    fn run(folder: &tempfile::TempDir, binaries: &Path, port: u16) -> Option<Child> {
        unprivileged(&binaries.join("postgres"))
            .arg("-D")
            .arg(folder.path().join("data"))
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
            .args(["-c", "fsync=off"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .ok()
    }

    /// Fast shutdown; killed where that takes too long.
    fn stop(&self) {
        self.end("-INT");
    }

    /// Stops the server as in a crash, except that its processes are gone before the next start.
    fn crash(&self) {
        self.end("-QUIT");
        *self.process.lock().unwrap() = Server::run(&self.folder, &self.binaries, self.port).unwrap();
    }

    fn end(&self, signal: &str) {
        let mut process = self.process.lock().unwrap();
        let _ = Command::new("kill").args([signal, &process.id().to_string()]).status();
        for _ in 0..200 {
            if matches!(process.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = process.kill();
        let _ = process.wait();
    }

    fn restart(&self) {
        self.stop();
        *self.process.lock().unwrap() = Server::run(&self.folder, &self.binaries, self.port).unwrap();
    }

    fn database(&self, name: &str) -> Endpoint {
        Endpoint::parse(&format!("postgresql://quay:s3cret%20word@127.0.0.1:{}/{name}", self.port)).unwrap()
    }

    fn sql(&self, text: &str) -> bool {
        self.sql_in("postgres", text)
    }

    fn sql_in(&self, database: &str, text: &str) -> bool {
        let done = Command::new(self.binaries.join("psql"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "quay", "-d", database, "-q"])
            .args(["-v", "ON_ERROR_STOP=1", "-c", text])
            .env("PGPASSWORD", "s3cret word")
            .stderr(Stdio::null())
            .output();
        done.is_ok_and(|done| done.status.success())
    }

    /// Waits until statements are answered.
    fn ready(&self) {
        for _ in 0..600 {
            if self.sql("SELECT 1") {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the database does not answer");
    }

    /// An engine over a database that holds nothing.
    fn empty(&self, name: &str) -> PostgresEngine {
        assert!(self.sql(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")), "{name} can be dropped");
        assert!(self.sql(&format!("CREATE DATABASE {name}")), "{name} can be made");
        PostgresEngine::open(self.database(name)).expect("it opens")
    }
}

fn store(engine: PostgresEngine) -> Store {
    store_with(engine, StoreLimits::default())
}

fn store_with(engine: PostgresEngine, limits: StoreLimits) -> Store {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    Store::open(Arc::new(engine), clock, limits, Access::Write).expect("it opens")
}

#[test]
fn the_engine_passes_every_check_and_survives_its_server() {
    let Some(server) = Server::start() else {
        eprintln!(
            "skipped: the_engine_passes_every_check_and_survives_its_server: PostgreSQL's server is not installed"
        );
        return;
    };
    server.ready();
    let mut failed = Vec::new();
    for (number, check) in conformance::checks().iter().enumerate() {
        let outcome = (check.run)(&store(server.empty(&format!("check_{number}"))));
        failed.extend(outcome.err().map(|why| format!("{}: {why}", check.name)));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    second_process(&server);
    processes::a_file_in_use(&server);
    processes::a_queue_just_defined(&server);
    processes::long_answers_beside_the_look_for_ended_processes(&server);
    processes::pages_that_end_by_their_bytes(&server);
    processes::a_commit_without_an_answer(&server);
    processes::a_database_of_version_1(&server);
    restarted(&server);
    moved(&server);
}

#[test]
fn generated_sequences_answer_as_the_model_does() {
    let Some(server) = Server::start() else {
        eprintln!("skipped: generated_sequences_answer_as_the_model_does: PostgreSQL's server is not installed");
        return;
    };
    server.ready();
    sequences(&server);
}

/// Returns the number of sequences for each of the four runs.
fn sequence_count() -> u64 {
    let asked = std::env::var("QUAYLINE_POSTGRES_SEQUENCES").ok();
    asked.map_or(SEQUENCES, |count| count.parse().expect("QUAYLINE_POSTGRES_SEQUENCES is a number"))
}

/// The four runs have 10,000 sequences together.
const SEQUENCES: u64 = 2_500;
/// Threads that run sequences concurrently, each with separate files and queues, since the database takes most of the time.
const SEQUENCE_THREADS: u64 = 8;

/// Runs sequences on several threads over one store.
fn side_by_side(store: &Store, seed: u64, run: fn(&Store, u64, u64) -> Result<(), String>) {
    let each = sequence_count().div_ceil(SEQUENCE_THREADS);
    let found: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..SEQUENCE_THREADS).map(|thread| scope.spawn(move || run(store, seed + thread, each))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for outcome in found {
        assert!(outcome.is_ok(), "{}", outcome.err().unwrap_or_default());
    }
}

fn sequences(server: &Server) {
    let begin = Instant::now();
    side_by_side(&store(server.empty("sequences")), 200, conformance::run_sequences);
    eprintln!("{} sequences of files took {:.1} s", sequence_count(), begin.elapsed().as_secs_f64());
    // No unit waits for another one of its thread.
    let limits = StoreLimits { lock_wait_ms_max: 0, ..StoreLimits::default() };
    let begin_units = Instant::now();
    side_by_side(&store_with(server.empty("units"), limits), 400, conformance::run_unit_sequences);
    eprintln!("{} sequences of two units took {:.1} s", sequence_count(), begin_units.elapsed().as_secs_f64());
    // Content has four bytes: half of it in parts.
    for (database, seed, message_part_bytes) in [("queues", 300, 4), ("parts", 500, 3)] {
        let limits = StoreLimits { message_part_bytes, ..StoreLimits::default() };
        side_by_side(&store_with(server.empty(database), limits), seed, conformance::run_queue_sequences);
    }
    eprintln!("{} sequences of all took {:.1} s", sequence_count(), begin.elapsed().as_secs_f64());
    let found = conformance::run_histories(&store(server.empty("histories")), conformance::Reads::ForUpdate, 4, 60);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
    let found = conformance::run_threads(&store(server.empty("threads")), 5, 4, 40);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
}

/// Two stores over one database, as two processes have them: locks and messages of one are not those of the other.
fn second_process(server: &Server) {
    let one = store(server.empty("shared"));
    let other = store(PostgresEngine::open(server.database("shared")).expect("a second process opens it"));
    let mut unit = one.begin().unwrap();
    one.define_queue(&mut unit, QueueDefinition::local("Q")).unwrap();
    unit.put(Space(20), b"k", b"1".as_slice()).unwrap();
    let refused = other.begin().unwrap().lock(Space(20), b"k", LockWait::AtMostMs(150));
    assert!(matches!(refused, Err(StoreError::LockTimeout { waited_ms: 150, .. })), "{refused:?}");
    // The commit of one frees the key for the other, which then sees the change.
    let waiting = std::thread::spawn({
        let other = other.clone();
        move || {
            let mut unit = other.begin().unwrap();
            let begin = Instant::now();
            let value = unit.read_for_update(Space(20), b"k", LockWait::AtMostMs(20_000)).unwrap();
            (value, begin.elapsed())
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    unit.commit().unwrap();
    let (value, waited) = waiting.join().unwrap();
    assert_eq!(value.as_deref(), Some(b"1".as_slice()));
    assert!(waited >= Duration::from_millis(250) && waited < Duration::from_secs(5), "{waited:?}");

    let (here, there) = (one.queue("Q").unwrap(), other.queue("Q").unwrap());
    // A get that waits in one process is woken by a put in the other.
    let getter = std::thread::spawn({
        let (other, there) = (other.clone(), there.clone());
        move || {
            let mut unit = other.begin().unwrap();
            let found = there.get(&mut unit, Select::First, GetWait::AtMostMs(20_000)).unwrap();
            let at = Instant::now();
            unit.commit().unwrap();
            (found.payload, at)
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    let mut unit = one.begin().unwrap();
    here.put(&mut unit, &Message::new(*b"news")).unwrap();
    unit.commit().unwrap();
    let put = Instant::now();
    let (payload, at) = getter.join().unwrap();
    assert_eq!(payload, b"news");
    assert!(at.saturating_duration_since(put) < Duration::from_secs(2), "woken, not polled");
    // What one has got, the other does not see; what one gives back, the other gets, with its count.
    let mut unit = one.begin().unwrap();
    here.put(&mut unit, &Message::new(*b"poison")).unwrap();
    unit.commit().unwrap();
    let mut holding = one.begin().unwrap();
    assert_eq!(here.get(&mut holding, Select::First, GetWait::No).unwrap().payload, b"poison");
    let mut unit = other.begin().unwrap();
    let nothing = there.get(&mut unit, Select::First, GetWait::No);
    assert!(matches!(nothing, Err(StoreError::NoMessage { .. })), "{nothing:?}");
    assert!(there.browse(&unit, None, 10).unwrap().is_empty());
    holding.roll_back();
    let found = there.get(&mut unit, Select::First, GetWait::AtMostMs(10_000)).unwrap();
    assert_eq!((found.payload.as_slice(), found.backout_count), (b"poison".as_slice(), 1));
    unit.commit().unwrap();
    // Order is by time, whoever puts.
    for (number, (store, queue)) in [(&one, &here), (&other, &there)].repeat(5).into_iter().enumerate() {
        let mut unit = store.begin().unwrap();
        queue.put(&mut unit, &Message::new(vec![u8::try_from(number).unwrap()])).unwrap();
        unit.commit().unwrap();
        // More than the difference of what two processes took for the time of the database.
        std::thread::sleep(Duration::from_millis(20));
    }
    for number in 0..10u8 {
        let (store, queue) = if number % 3 == 0 { (&one, &here) } else { (&other, &there) };
        let mut unit = store.begin().unwrap();
        assert_eq!(queue.get(&mut unit, Select::First, GetWait::No).unwrap().payload, [number]);
        unit.commit().unwrap();
    }
    circle(&one, &other);
    let in_use = one.delete_queue("Q");
    assert!(matches!(in_use, Err(StoreError::QueueInUse { .. })), "{in_use:?}");
    // A process that ends frees what it held.
    let mut unit = other.begin().unwrap();
    unit.lock(Space(20), b"left", LockWait::No).unwrap();
    drop((unit, there, other));
    let mut unit = one.begin().unwrap();
    unit.lock(Space(20), b"left", LockWait::AtMostMs(5_000)).unwrap();
    drop((unit, here));
    one.delete_queue("Q").unwrap();
}

/// Two units of two processes wait for each other: one of them fails at once, not after the wait limit.
fn circle(one: &Store, other: &Store) {
    let both = std::sync::Barrier::new(2);
    let begin = Instant::now();
    let outcomes: Vec<Result<(), StoreError>> = std::thread::scope(|scope| {
        let threads = [(one, b"a", b"b"), (other, b"b", b"a")].map(|(store, first, second)| {
            let both = &both;
            scope.spawn(move || {
                let mut unit = store.begin()?;
                unit.lock(Space(20), first, LockWait::Default)?;
                both.wait();
                unit.lock(Space(20), second, LockWait::AtMostMs(30_000))
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let refused = outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::Deadlock { .. }))).count();
    let taken = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!((refused, taken), (1, 1), "{outcomes:?}");
    assert!(begin.elapsed() < Duration::from_secs(10));
}

/// After the server ended during the work, nothing commits, and another opening shows every acknowledged unit once.
fn restarted(server: &Server) {
    let first = store(server.empty("restarted"));
    let mut unit = first.begin().unwrap();
    first.define_queue(&mut unit, QueueDefinition::local("Q")).unwrap();
    unit.commit().unwrap();
    let queue = first.queue("Q").unwrap();
    let put = |number: u32| {
        let mut unit = first.begin()?;
        queue.put(&mut unit, &Message::new(number.to_be_bytes()))?;
        unit.put(Space(20), &number.to_be_bytes(), b"x".as_slice())?;
        unit.commit()
    };
    for number in 0..50 {
        put(number).unwrap();
    }
    server.restart();
    let refused = put(50);
    assert!(refused.is_err(), "the connection is gone");
    assert!(matches!(put(51), Err(StoreError::Poisoned { .. })));
    drop((queue, first));
    server.ready();
    let again = store(PostgresEngine::open(server.database("restarted")).unwrap());
    let queue = again.queue("Q").unwrap();
    for number in 0..50u32 {
        let mut unit = again.begin().unwrap();
        let found = queue.get(&mut unit, Select::First, GetWait::No).unwrap();
        assert_eq!(found.payload, number.to_be_bytes());
        assert!(unit.read(Space(20), &number.to_be_bytes()).unwrap().is_some());
        unit.commit().unwrap();
    }
    let mut unit = again.begin().unwrap();
    assert!(queue.get(&mut unit, Select::First, GetWait::No).is_err(), "no unit is there twice");
}

/// A save of one database restored into another.
fn moved(server: &Server) {
    let from = store(server.empty("moved_from"));
    let mut unit = from.begin().unwrap();
    for number in 0..500u32 {
        unit.put(Space(20), &number.to_be_bytes(), vec![7; 300]).unwrap();
    }
    unit.commit().unwrap();
    let mut bytes = Vec::new();
    let saved = save::save(
        from.engine().as_ref(),
        &mut bytes,
        save::SaveOptions { packing: save::Packing::Deflate, ..Default::default() },
        "save",
    )
    .unwrap();
    let to = server.empty("moved_to");
    let restored = save::restore(&to, &mut bytes.as_slice(), "save").unwrap();
    assert_eq!((saved.entries, saved.position), (restored.entries, restored.position));
    let mut count = 0;
    // The snapshot ends here: `compact` waits for those that are open.
    to.snapshot()
        .and_then(|snapshot| {
            snapshot.visit(EVERY_ENTRY, &mut |_, _| {
                count += 1;
                Ok(())
            })
        })
        .unwrap();
    assert_eq!(count, saved.entries);
    assert!(to.check().unwrap().is_empty());
    to.compact().unwrap();
}
