//! `--store postgresql://...`: commands of several processes on one database, and saves between both engines.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use quayline_postgres::Connection;
use quayline_postgres::server::{Durable, OwnServer};

use crate::world::World;

#[test]
fn processes_share_a_store_in_a_database() {
    const NAME: &str = "processes_share_a_store_in_a_database";
    let world = World::with([
        ("in.dat", b"01first\n02other\n".as_slice()),
        ("hello", b"hello".as_slice()),
        ("kept", b"kept".as_slice()),
    ]);
    let Some(server) = own_server(&world, NAME) else { return };
    let url = server.url();
    let run = |arguments: &str| world.run(&format!("{arguments} --store {url}"));
    run("queue define ORDERS").code(0);
    run("file define CUST --record 7 --key 0:2").code(0);
    run("file load CUST in.dat --framing lines").code(0);
    assert_eq!(run("queue depth ORDERS").code(0).out(), "ORDERS  0\n");

    // A get waits in one process while another one puts, and a third one reads the store.
    let waiting = world.command(["queue", "get", "ORDERS", "--wait", "30", "--store", &url]);
    let waiting = { waiting }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let listeners =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'quayline' AND pid <> pg_backend_pid()";
    let begin = Instant::now();
    loop {
        let mut connection = Connection::open(&server.endpoint()).expect("the server answers");
        let found = connection.query(listeners, &[]).expect("the query is right");
        if found.row(0).and_then(|row| row.int8(0)).is_some_and(|count| count >= 3) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "it never connects");
        std::thread::sleep(Duration::from_millis(20));
    }
    run("store check").code(0);
    run("queue put ORDERS hello").code(0);
    let got = waiting.wait_with_output().expect("it ends");
    assert_eq!((got.status.code(), got.stdout.as_slice()), (Some(0), b"hello".as_slice()));
    assert!(begin.elapsed() < Duration::from_secs(25), "woken, not at the end of the wait");

    // A save of the database becomes a data folder, and the other way round.
    run("queue put ORDERS kept").code(0);
    run("store save all.save").code(0);
    world.run("store restore all.save --store folder").code(0);
    assert_eq!(world.run("queue get ORDERS --store folder").code(0).out(), "kept");
    let unloaded = world.run("file unload CUST -o out.dat --framing lines --store folder");
    unloaded.code(0);
    assert_eq!(world.read("out.dat"), b"01first\n02other\n");
    let refused = run("store restore all.save").code(2).err();
    assert!(refused.contains("holds a store") && refused.contains("DROP SCHEMA quayline CASCADE"), "{refused}");
    Connection::open(&server.endpoint())
        .and_then(|mut connection| connection.script("DROP SCHEMA quayline CASCADE"))
        .expect("it is dropped");
    run("store restore all.save").code(0);
    assert_eq!(run("queue get ORDERS").code(0).out(), "kept");
    run("store compact").code(0);
    let facts = run("store facts").code(0).out();
    assert!(facts.contains("bytes of the database") && !facts.contains("store.redb"), "{facts}");

    for text in ["first", "second", "third"] {
        world.write(text, text);
    }
    // From a folder to the database and back: the messages of the database count, and come before later ones.
    world.run("queue define LONG --store home").code(0);
    world.run("queue put LONG first --store home").code(0);
    world.run("store save home.save --store home").code(0);
    Connection::open(&server.endpoint())
        .and_then(|mut connection| connection.script("DROP SCHEMA quayline CASCADE"))
        .expect("it is dropped");
    run("store restore home.save").code(0);
    run("queue put LONG second").code(0);
    run("store save database.save").code(0);
    world.run("store restore database.save --store back").code(0);
    world.run("queue put LONG third --store back").code(0);
    assert_eq!(world.run("queue depth LONG --store back").code(0).out(), "LONG  3\n");
    let refused = world.run("queue delete LONG --store back");
    assert!(refused.err().contains("--with-messages"), "{}", refused.err());
    for text in ["first", "second", "third"] {
        assert_eq!(world.run("queue get LONG --store back").code(0).out(), text);
    }
}

/// `/ready` was 200 while the database of the store, or that of the jobs, was away.
#[test]
fn a_server_without_its_databases_is_not_ready() {
    const NAME: &str = "a_server_without_its_databases_is_not_ready";
    let free = || TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let (api, admin) = (free(), free());
    let world = World::with([("jobs/none.txt", b"".as_slice())]);
    world.write("quayline.toml", format!("[serve]\nlisten = \"{api}\"\n[serve.admin]\nlisten = \"{admin}\"\n"));
    let Some(server) = own_server(&world, NAME) else { return };
    let ready = || {
        let mut stream = TcpStream::connect(admin).ok()?;
        write!(stream, "GET /ready HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    let wait = |what: &str, is_true: &dyn Fn(&str) -> bool| {
        let end = Instant::now() + Duration::from_secs(60);
        while !ready().is_some_and(|answer| is_true(&answer)) {
            assert!(Instant::now() < end, "waited in vain: {what}: {:?}", ready());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let url = server.url();
    // The repository of jobs connects again, the store does not.
    for (store, again) in [("data", true), (url.as_str(), false)] {
        let arguments = ["serve", "--store", store, "--job-repository", &url];
        let child = world.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
        let serving = Serving(child);
        wait("ready", &|answer| answer.starts_with("HTTP/1.1 200"));
        server.stop();
        let part = if again { "job repository" } else { "\"store\"" };
        wait("not ready", &|answer| answer.starts_with("HTTP/1.1 503") && answer.contains(part));
        server.run().expect("it starts again");
        if again {
            wait("ready again", &|answer| answer.starts_with("HTTP/1.1 200"));
        } else {
            wait("the jobs", &|answer| answer.contains("\"store\"") && !answer.contains("job repository"));
        }
        drop(serving);
    }
}

/// Ends a server when the test ends.
struct Serving(std::process::Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a separate database server; without PostgreSQL the test reports that it is skipped.
fn own_server(world: &World, test: &str) -> Option<OwnServer> {
    match OwnServer::start(&world.path("server"), Durable::No) {
        Ok(server) => Some(server),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {test}: PostgreSQL is not installed");
            None
        }
        Err(error) => panic!("the server does not start: {error}"),
    }
}

/// A script whose process stays: operations go in and answers come out.
struct Script {
    child: std::process::Child,
    to: std::process::ChildStdin,
    from: BufReader<std::process::ChildStdout>,
}

impl Script {
    fn start(world: &World, url: &str) -> Script {
        let mut command = world.command(["file", "run", "--json", "--store", url]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (to, from) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        Script { child, to, from: BufReader::new(from) }
    }

    fn send(&mut self, operation: &str) {
        writeln!(self.to, "{operation}").expect("it is sent");
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("an answer");
        line
    }

    fn ask(&mut self, operation: &str) -> String {
        self.send(operation);
        self.answer()
    }

    /// Milliseconds of CPU that the process has used.
    #[cfg(target_os = "linux")]
    fn cpu_ms(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("its figures");
        let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
        let ticks = |at: usize| fields[at].parse::<u64>().expect("a number");
        // utime and stime, in hundredths of a second.
        (ticks(11) + ticks(12)) * 10
    }

    fn end(mut self) {
        drop(self.to);
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// Regression: the database had a part of the save, and every command accepted it as a whole store.
#[test]
fn a_restore_that_is_killed_leaves_no_store_and_can_be_repeated() {
    const NAME: &str = "a_restore_that_is_killed_leaves_no_store_and_can_be_repeated";
    let records: Vec<u8> = (0..60_000).flat_map(|number| format!("{number:06}ab").into_bytes()).collect();
    let world = World::with([("in.dat", records.as_slice())]);
    let Some(server) = own_server(&world, NAME) else { return };
    let url = server.url();
    world.run("file define A --record 8 --key 0:6 --index rest=6:2:duplicates").code(0);
    world.run("file load A in.dat --durability buffered").code(0);
    world.run("store save all.save").code(0);
    let run = |arguments: &str| world.run(&format!("{arguments} --store {url}"));
    // A database that was only read is still empty.
    run("store check").code(0);
    let mut child = world.command(["store", "restore", "all.save", "--store", &url]).spawn().expect("it starts");
    let begin = Instant::now();
    let has_begun = || {
        let mut connection = Connection::open(&server.endpoint()).expect("the server answers");
        // The table may be missing yet.
        let found = connection.query("SELECT count(*) FROM quayline.meta WHERE name = 'restoring'", &[]);
        found.is_ok_and(|found| found.row(0).and_then(|row| row.int8(0)) == Some(1))
    };
    while !has_begun() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never begins");
    }
    // Nobody works in the database meanwhile.
    let refused = run("file facts A").code(2).err();
    assert!(refused.contains("STO-005") || refused.contains("STO-044"), "{refused}");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    for command in ["store check", "file facts A", "store save part.save"] {
        let begin = Instant::now();
        // The server notices the end of a process after a moment.
        let refused = loop {
            let refused = run(command).code(2).err();
            if !refused.contains("STO-005") {
                break refused;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{refused}");
        };
        assert!(refused.contains("error[STO-044]") && refused.contains("quayline store restore"), "{refused}");
    }
    run("store restore all.save").code(0);
    assert_eq!(run("file verify A").code(0).err(), "records, keys and indexes agree\n");
    assert_eq!(run("file unload A").code(0).stdout, records);
}

/// Regression: a server that accepts a connection and says nothing kept the command for ever.
#[test]
fn a_silent_server_and_a_wrong_address_end_in_time() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let begin = Instant::now();
    let silent = world.run(&format!("file facts --store postgresql://q@127.0.0.1:{port}/q?connect_timeout=1"));
    let said = silent.code(2).err();
    assert!(said.contains("did not answer within 1 s") && said.contains("check the address"), "{said}");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    for address in ["postgresql:/q:geheim@127.0.0.1/q", "mysql://q:geheim@127.0.0.1/q", "postgresq://q:geheim@h/q"] {
        let refused = world.run(&format!("queue define Q --store {address}")).code(2).err();
        assert!(refused.contains("unknown kind") && !refused.contains("geheim"), "{refused}");
    }
    assert!(world.files().is_empty(), "{:?}", world.files());
    let begin = Instant::now();
    let repository = format!("postgresql://q@127.0.0.1:{port}/q?connect_timeout=1");
    let silent = world.run(&format!("job list --repository {repository}")).err();
    assert!(silent.contains("no answer in time"), "{silent}");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

/// Regression: a get waited for its whole time after its connection was lost, although messages came.
#[test]
fn a_get_that_waits_ends_when_its_connection_is_lost() {
    let world = World::new();
    let Some(server) = own_server(&world, "a_get_that_waits_ends_when_its_connection_is_lost") else { return };
    let url = server.url();
    world.run(&format!("queue define Q --store {url}")).code(0);
    let mut waiting = world.command(["queue", "get", "Q", "--wait", "60", "--store", &url]);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let sessions = "application_name = 'quayline' AND pid <> pg_backend_pid()";
    let ask = |text: &str| {
        let mut connection = Connection::open(&server.endpoint()).expect("the server answers");
        let found = connection.query(text, &[]).expect("the query is right");
        found.row(0).and_then(|row| row.int8(0))
    };
    let begin = Instant::now();
    while ask(&format!("SELECT count(*) FROM pg_stat_activity WHERE {sessions}")) < Some(3) {
        assert!(begin.elapsed() < Duration::from_secs(30), "it never connects");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    ask(&format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {sessions}"));
    let lost = Instant::now();
    let ended = waiting.wait_with_output().expect("it ends");
    let said = String::from_utf8(ended.stderr).expect("UTF-8");
    assert!(lost.elapsed() < Duration::from_secs(20), "{:?}: {said}", lost.elapsed());
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("check the server"), "{said}");
}

/// Two processes that lock the same records: one waits up to its limit without spinning, a cycle is detected, and both report a remedy.
#[test]
fn lock_timeouts_and_deadlocks_of_processes_are_named_and_nothing_spins() {
    const NAME: &str = "lock_timeouts_and_deadlocks_of_processes_are_named_and_nothing_spins";
    let world = World::new();
    let Some(server) = own_server(&world, NAME) else { return };
    let url = server.url();
    world.run(&format!("file define CUST --record 4 --key 0:2 --store {url}")).code(0);
    let (mut one, mut two) = (Script::start(&world, &url), Script::start(&world, &url));
    for script in [&mut one, &mut two] {
        assert!(script.ask("open CUST").contains("\"status\":\"00\""));
    }
    for operation in ["insert '01aa'", "insert '02aa'", "commit", "get 01 for-update"] {
        assert!(one.ask(operation).contains("\"status\":\"00\""), "{operation}");
    }
    // A lock that another process keeps.
    let cpu_before = two.cpu_ms();
    let begun = Instant::now();
    let timeout = two.ask("get 01 for-update");
    assert!(begun.elapsed() >= Duration::from_secs(9), "{timeout}");
    for part in ["\"status\":\"93\"", "\"code\":\"STO-009\"", "\"hint\":\"repeat the unit of work"] {
        assert!(timeout.contains(part), "{part} is not in {timeout}");
    }
    let cpu = two.cpu_ms() - cpu_before;
    assert!(cpu < 1_500, "{cpu} ms of CPU for a wait of 10 s");
    // A cycle: each has one record and waits for the other one.
    assert!(two.ask("get 02 for-update").contains("\"status\":\"00\""));
    one.send("get 02 for-update");
    two.send("get 01 for-update");
    let (mut first, mut second) = (None, None);
    // One of them is refused and rolls back; then the other one gets the record.
    let refused = std::thread::scope(|scope| {
        let (to, from) = std::sync::mpsc::channel();
        for (number, script) in [&mut one, &mut two].into_iter().enumerate() {
            let to = to.clone();
            scope.spawn(move || {
                let answer = script.answer();
                if answer.contains("STO-010") {
                    assert!(script.ask("rollback").contains("\"status\":\"00\""));
                }
                to.send((number, answer)).expect("the test takes it");
            });
        }
        for _ in 0..2 {
            let (number, answer) = from.recv_timeout(Duration::from_secs(9)).expect("an answer before the limit");
            *(if number == 0 { &mut first } else { &mut second }) = Some(answer);
        }
        [first.take(), second.take()].map(Option::unwrap_or_default)
    });
    let deadlocks: Vec<&String> = refused.iter().filter(|answer| answer.contains("\"code\":\"STO-010\"")).collect();
    let got = refused.iter().filter(|answer| answer.contains("\"status\":\"00\"")).count();
    assert_eq!((deadlocks.len(), got), (1, 1), "{refused:?}");
    assert!(deadlocks[0].contains("\"status\":\"93\"") && deadlocks[0].contains("\"hint\":"), "{refused:?}");
    one.end();
    two.end();
    world.run(&format!("file verify CUST --store {url}")).code(0);
}

#[test]
fn addresses_that_are_wrong_name_the_remedy() {
    let world = World::new();
    let wrong = world.run("queue depth Q --store postgresql://127.0.0.1:x/db");
    assert!(wrong.code(2).err().contains("--store: "), "{}", wrong.err());
    let closed = world.run("queue depth Q --store postgresql://user:secretword@127.0.0.1:1/db");
    let said = closed.err();
    assert!(said.contains("error[STO-001]") && !said.contains("secretword"), "{said}");
    let job = world.run("job list --store postgresql://user@127.0.0.1:1/db").err();
    assert!(job.contains("--repository"), "{job}");
}
