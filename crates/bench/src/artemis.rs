//! ActiveMQ Artemis as the peer of flows over AMQP. Maven fetches the embedded broker of the flow tests at a pinned version. Four programs reply
//! to each request. The client is the same as for our own listener.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_measure::AmqpApplications;
use quayline_store::queue::Persistence;

use crate::peer::{Peer, place, shown};

/// Maximum wait for the start of a broker.
const START_WAIT: Duration = Duration::from_secs(60);
/// Number of programs that reply. Our flow has the same number of instances.
const RESPONDERS: usize = 4;

/// A broker that runs until it is dropped.
#[derive(Debug)]
pub struct ArtemisServer(Peer);

/// Prepares the folder with the jars in `lib` and the compiled broker on first use.
fn prepared(folder: &Path) -> Result<(), String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../flow/tests/peers/artemis");
    std::fs::create_dir_all(folder).map_err(shown)?;
    let mut sources = Vec::new();
    for name in ["pom.xml", "Broker.java"] {
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
        Ok(_) => Err(format!("{program} cannot prepare Artemis")),
        Err(_) => Err(format!("{program} is not installed")),
    };
    run("mvn", &["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"])?;
    run("javac", &["-cp", "lib/*", "-d", ".", "Broker.java"])?;
    std::fs::write(fetched, sources).map_err(shown)
}

impl ArtemisServer {
    /// Starts a broker that syncs its journal before each answer. `program` is a permanent folder for the broker, and `folder` has its data.
    ///
    /// # Errors
    /// Maven or Java is not installed, or the broker does not start.
    pub fn start(program: &Path, folder: &Path) -> Result<ArtemisServer, String> {
        prepared(program)?;
        let address = place(folder)?;
        let mut command = Command::new("java");
        command.args(["-cp", "lib/*:.", "Broker"]).arg(std::path::absolute(folder).map_err(shown)?);
        command.arg(address.port().to_string()).current_dir(program);
        Peer::start(command, address, folder, START_WAIT, "Artemis ends at once").map(ArtemisServer)
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
            broker: self.0.address(),
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
            let responders: Vec<_> = (0..RESPONDERS).map(|_| scope.spawn(|| all.respond(&stop))).collect();
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
