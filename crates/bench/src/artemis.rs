//! ActiveMQ Artemis as the peer of flows over AMQP, alone and with a route of Apache Camel. Maven fetches the embedded broker of the flow tests, and
//! Camel, at pinned versions. Four programs, or the route, reply to each request. The client is the same as for our own listener.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_measure::AmqpApplications;
use quayline_store::queue::Persistence;

use crate::peer::{Peer, place, shown};

/// Maximum wait for the start of a broker.
const START_WAIT: Duration = Duration::from_secs(60);
/// Number of programs that reply. Our flow has the same number of instances.
const RESPONDERS: usize = 4;

/// Time in which the first request begins.
const FIRST: Duration = Duration::from_millis(10);
/// Duration of the load before the first measurement, in which Java compiles what it runs often.
const WARM_UP: Duration = Duration::from_secs(3);

/// What replies to requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Responder {
    /// Programs over AMQP that only reply.
    Programs,
    /// A Camel route that changes a record in memory and replies with it.
    Camel,
}

/// A broker and what replies. Both run until they are dropped.
#[derive(Debug)]
pub struct ArtemisServer {
    broker: Peer,
    route: Option<Route>,
}

/// A process with a Camel route. Dropping it ends the process.
#[derive(Debug)]
struct Route(Child);

impl Drop for Route {
    fn drop(&mut self) {
        // The route may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prepares a folder with the jars in `lib` and a compiled program on first use. `source` is the folder of its POM and source.
fn prepared(folder: &Path, source: &str, program: &str) -> Result<(), String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    std::fs::create_dir_all(folder).map_err(shown)?;
    let program = format!("{program}.java");
    let mut sources = Vec::new();
    for name in ["pom.xml", &program] {
        let text = std::fs::read(source.join(name)).map_err(shown)?;
        std::fs::write(folder.join(name), &text).map_err(shown)?;
        sources.extend(text);
    }
    // The sources of the jars that are there: another version is fetched again.
    let fetched = folder.join("fetched");
    if std::fs::read(&fetched).is_ok_and(|known| known == sources) {
        return Ok(());
    }
    let run = |program: &str, arguments: &[&str]| match Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
    {
        Ok(done) if done.status.success() => Ok(()),
        Ok(_) => Err(format!("{program} cannot prepare a peer")),
        Err(_) => Err(format!("{program} is not installed")),
    };
    run("mvn", &["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"])?;
    run("javac", &["-cp", "lib/*", "-d", ".", &program])?;
    std::fs::write(fetched, sources).map_err(shown)
}

impl Route {
    fn start(program: &Path, port: u16, persistence: Persistence) -> Result<Route, String> {
        prepared(program, "../../bench/peers/camel", "Route")?;
        let mode = if persistence == Persistence::Persistent { "persistent" } else { "not-persistent" };
        let mut command = Command::new("java");
        command.args(["-cp", "lib/*:.", "Route", &port.to_string(), mode]).current_dir(program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Route).map_err(|error| format!("java does not start: {error}"))
    }
}

impl ArtemisServer {
    /// Starts a broker that syncs its journal before each answer, and for Camel the route. `programs` is a permanent folder for the programs, and `folder`
    /// has the broker's data. Requests of the warm-up have `persistence` and `content`, as in [`Self::requests`].
    ///
    /// # Errors
    /// Maven or Java is not installed, a program does not start, or the first requests receive no reply.
    pub fn start(
        programs: &Path,
        folder: &Path,
        responder: Responder,
        persistence: Persistence,
        content: &(dyn Fn(u64) -> Vec<u8> + Sync),
    ) -> Result<ArtemisServer, String> {
        let program = programs.join("artemis");
        prepared(&program, "../flow/tests/peers/artemis", "Broker")?;
        let address = place(folder)?;
        let mut command = Command::new("java");
        command.args(["-cp", "lib/*:.", "Broker"]).arg(std::path::absolute(folder).map_err(shown)?);
        command.arg(address.port().to_string()).current_dir(&program);
        let broker = Peer::start(command, address, folder, START_WAIT, "Artemis ends at once")?;
        let route = match responder {
            Responder::Programs => None,
            Responder::Camel => Some(Route::start(&programs.join("camel"), address.port(), persistence)?),
        };
        let server = ArtemisServer { broker, route };
        // The first request waits until the route has started.
        server.requests(persistence, 1, FIRST, content)?;
        server.requests(persistence, RESPONDERS, WARM_UP, content)?;
        Ok(server)
    }

    /// Measures requests and replies a second for a number of applications. `content` returns the bytes of the request with a given number.
    ///
    /// # Errors
    /// The broker refuses a request, or a program ends early.
    pub fn requests(
        &self,
        persistence: Persistence,
        applications: usize,
        time: Duration,
        content: &(dyn Fn(u64) -> Vec<u8> + Sync),
    ) -> Result<f64, String> {
        let stop = AtomicBool::new(false);
        let all = AmqpApplications {
            broker: self.broker.address(),
            user: None,
            request: "REQUESTS",
            reply: "REPLIES",
            persistence,
            count: applications,
            until: Instant::now() + time,
            limit: u64::MAX,
        };
        let began = Instant::now();
        std::thread::scope(|scope| {
            let programs = if self.route.is_some() { 0 } else { RESPONDERS };
            let responders: Vec<_> = (0..programs).map(|_| scope.spawn(|| all.respond(&stop))).collect();
            let all = &all;
            let clients: Vec<_> =
                (0..applications).map(|first| scope.spawn(move || all.run(first as u64, content))).collect();
            let panicked = || "a program panicked".to_owned();
            let done: Vec<Result<u64, String>> =
                clients.into_iter().map(|client| client.join().map_err(|_| panicked())?).collect();
            let rate =
                done.into_iter().sum::<Result<u64, String>>().map(|done| done as f64 / began.elapsed().as_secs_f64());
            stop.store(true, Ordering::Relaxed);
            for responder in responders {
                responder.join().map_err(|_| panicked())??;
            }
            rate
        })
    }
}
