//! A server of others that runs for a measurement.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that runs. Dropping it ends the process and deletes its data.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The peer may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn shown(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Makes an empty folder for a server's data, and returns a free address on the loopback.
pub(crate) fn place(folder: &Path) -> Result<SocketAddr, String> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).map_err(shown)?;
    TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).map_err(shown)
}

impl Peer {
    /// Starts a server, and waits until it listens. `ends_at_once` is the error message if it exits before that.
    pub(crate) fn start(
        mut command: Command,
        address: SocketAddr,
        folder: &Path,
        wait: Duration,
        ends_at_once: &str,
    ) -> Result<Peer, String> {
        let name = Path::new(command.get_program()).display().to_string();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{name} does not start: {error}"))?;
        let mut peer = Peer { child, address, folder: folder.to_owned() };
        let until = Instant::now() + wait;
        while TcpStream::connect(address).is_err() {
            if peer.child.try_wait().map_err(shown)?.is_some() {
                return Err(ends_at_once.to_owned());
            }
            if Instant::now() > until {
                return Err(format!("{name} does not listen after {} s", wait.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(peer)
    }

    /// Returns the address on which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}
