//! A database server of one's own, for tests and measurements: an empty cluster on the loopback address that ends with its owner.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::connection::Connection;
use crate::endpoint::Endpoint;

/// Maximum time from the start of a server to its first answer.
const START: Duration = Duration::from_secs(60);

/// Durability of commits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Durable {
    /// Synchronous commits, PostgreSQL's default.
    Yes,
    /// `fsync=off`, for tests that do not concern durability.
    No,
}

/// A server of one's own.
#[derive(Debug)]
pub struct OwnServer {
    folder: PathBuf,
    binaries: PathBuf,
    port: u16,
    durable: Durable,
    process: Mutex<Option<Child>>,
}

/// Finds the newest installed PostgreSQL and returns the folder with `initdb` and `postgres`.
#[must_use]
pub fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders.extend([PathBuf::from("/usr/local/pgsql/bin"), PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")]);
    folders.into_iter().find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Builds the command for a user that PostgreSQL accepts, since it refuses to run as root.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

fn said(output: &std::process::Output) -> io::Error {
    let last = output.stderr.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
    io::Error::other(last.map_or_else(|| "the command failed".to_owned(), |line| line.escape_ascii().to_string()))
}

impl OwnServer {
    /// Makes a cluster in a folder, which must not exist, and starts a server on a free port. Its user `quayline` needs no password.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if PostgreSQL is not installed; errors of the system.
    pub fn start(folder: &Path, durable: Durable) -> io::Result<OwnServer> {
        let binaries = installed().ok_or(io::ErrorKind::NotFound)?;
        std::fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        let data = folder.join("data");
        std::fs::create_dir(&data)?;
        if is_root() {
            // The other user must reach its folder.
            for parent in folder.ancestors().take_while(|parent| parent.starts_with(std::env::temp_dir())) {
                Command::new("chmod").arg("a+rx").arg(parent).status()?;
            }
            Command::new("chown").arg("postgres").arg(&data).status()?;
        }
        let made = unprivileged(&binaries.join("initdb"))
            .args(["-U", "quayline", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data)
            .current_dir("/")
            .output()?;
        if !made.status.success() {
            return Err(said(&made));
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let server = OwnServer { folder, binaries, port, durable, process: Mutex::new(None) };
        server.run()?;
        Ok(server)
    }

    /// Returns the address of the server's database `postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgresql://quayline@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the parsed address of the server's database `postgres`.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            database: "postgres".to_owned(),
            user: "quayline".to_owned(),
            password: None,
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(300),
            tls: crate::tls::TlsSettings::default(),
        }
    }

    /// Starts the server if it does not run, and waits until it answers.
    ///
    /// # Errors
    /// Those of the system; the server does not answer within a minute.
    pub fn run(&self) -> io::Result<()> {
        let mut process = self.process.lock();
        if process.is_none() {
            let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
            let mut command = unprivileged(&self.binaries.join("postgres"));
            command.arg("-D").arg(self.folder.join("data")).args(["-p", &self.port.to_string()]);
            command.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
            if self.durable == Durable::No {
                command.args(["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]);
            }
            *process = Some(command.current_dir("/").stdout(Stdio::null()).stderr(log).spawn()?);
        }
        let begin = Instant::now();
        while Connection::open(&self.endpoint()).is_err() {
            if begin.elapsed() > START {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Stops the server at once; connections break. [`OwnServer::run`] starts it again.
    pub fn stop(&self) {
        let Some(mut process) = self.process.lock().take() else { return };
        let _ = Command::new("kill").args(["-INT", &process.id().to_string()]).stderr(Stdio::null()).status();
        let begin = Instant::now();
        while begin.elapsed() < START {
            if matches!(process.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = process.kill();
        let _ = process.wait();
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
