//! A PostgreSQL server of a test's own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use crate::support::until;

/// A database server that ends with the test.
pub(crate) struct Postgres {
    folder: tempfile::TempDir,
    process: Mutex<Child>,
    binaries: PathBuf,
    port: u16,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop("-INT");
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

impl Postgres {
    /// A server that answers, or nothing where PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Postgres> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
        folders.extend([PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")]);
        let binaries = folders.into_iter().find(|folder| folder.join("initdb").exists())?;
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        Command::new("chmod").arg("755").arg(folder.path()).status().expect("chmod");
        std::fs::create_dir(&data).expect("a folder");
        if is_root() {
            let owned = Command::new("chown").arg("postgres").arg(&data).stderr(Stdio::null()).status();
            owned.ok().filter(std::process::ExitStatus::success)?;
        }
        let made = unprivileged(&binaries.join("initdb"))
            .args(["-U", "quay", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
            .arg(&data)
            .current_dir(folder.path())
            .output();
        made.ok().filter(|made| made.status.success())?;
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let process = Mutex::new(Postgres::run(&folder, &binaries, port));
        let server = Postgres { folder, process, binaries, port };
        until("the database answers", || server.sql("SELECT 1").is_some());
        Some(server)
    }

    fn run(folder: &tempfile::TempDir, binaries: &Path, port: u16) -> Child {
        unprivileged(&binaries.join("postgres"))
            .arg("-D")
            .arg(folder.path().join("data"))
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).expect("a file"))
            .spawn()
            .expect("a server")
    }

    /// Ends the server by a signal: `-INT` is a fast shutdown, `-QUIT` ends all its processes at once, as a crash does.
    pub(crate) fn stop(&self, signal: &str) {
        let mut process = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let id = process.id().to_string();
        let send = || {
            let _ = Command::new("kill").args([signal, &id]).status();
        };
        send();
        if std::thread::panicking() {
            // A second panic would hide the first.
            return;
        }
        // A server that has only begun may not hear the signal: where a shell runs this in the background, it is ignored until then.
        let mut sent = std::time::Instant::now();
        until("the database ends", || {
            if sent.elapsed().as_secs() >= 1 {
                send();
                sent = std::time::Instant::now();
            }
            matches!(process.try_wait(), Ok(Some(_)))
        });
    }

    /// Ends all processes of the server by SIGKILL, as a container or a system without memory does. The first process stops before, so it starts no others.
    pub(crate) fn kill(&self) {
        let mut process = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let id = process.id().to_string();
        let send = |program: &str, arguments: &[&str]| {
            let _ = Command::new(program).args(arguments).status();
        };
        send("kill", &["-STOP", &id]);
        send("pkill", &["-KILL", "-P", &id]);
        send("kill", &["-KILL", &id]);
        process.wait().expect("the database ended");
    }

    /// Starts it again.
    pub(crate) fn again(&self) {
        let mut process = self.process.lock().expect("no panic");
        *process = Postgres::run(&self.folder, &self.binaries, self.port);
        // A server does not start before the system has ended all processes of the last one.
        until("the database starts", || {
            if matches!(process.try_wait(), Ok(Some(_))) {
                *process = Postgres::run(&self.folder, &self.binaries, self.port);
            }
            // Without a server, a connection from this port to itself is possible. The server could also end right after.
            std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() && matches!(process.try_wait(), Ok(None))
        });
    }

    /// Starts it again if it has ended.
    pub(crate) fn again_if_ended(&self) {
        let has_ended = !matches!(self.process.lock().expect("no panic").try_wait(), Ok(None));
        if has_ended {
            self.again();
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The property `database` of a node.
    pub(crate) fn name(&self) -> String {
        format!("host=127.0.0.1 port={} user=quay dbname=postgres", self.port)
    }

    /// The address of the database as that of a store.
    pub(crate) fn address(&self) -> String {
        format!("postgresql://quay@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Runs a statement and returns its output.
    pub(crate) fn sql(&self, text: &str) -> Option<String> {
        let done = Command::new(self.binaries.join("psql"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "quay", "-d", "postgres", "-qAt"])
            .args(["-v", "ON_ERROR_STOP=1", "-c", text])
            .stderr(Stdio::null())
            .output()
            .ok()?;
        done.status.success().then(|| String::from_utf8(done.stdout).ok()).flatten().map(|text| text.trim().to_owned())
    }
}
