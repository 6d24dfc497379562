//! `nats-server` as the peer of flows: a process on a free port of the loopback interface, and the request and reply that the bars of flows compare
//! with.
//!
//! The client implements the part of the text protocol that sequential requests need. Source: NATS client protocol; ADR-1 and ADR-13 of JetStream.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::peer::{Peer, place, shown};

/// Variable with the path of the program; by default, `nats-server` is searched in the command path.
pub const SERVER_VARIABLE: &str = "QUAYLINE_NATS_SERVER";
/// Maximum wait for the start of a server.
const START_WAIT: Duration = Duration::from_secs(10);
/// Bytes of a request, as in the report.
const REQUEST_BYTES: usize = 200;
/// Instances of the peer's flow.
const WORKERS: usize = 4;

/// Persistence of the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kept {
    /// None: the core protocol.
    Nothing,
    /// Streams in files, synced before each acknowledgment.
    Synced,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct NatsServer(Peer);

impl NatsServer {
    /// Starts a server with its data in a folder.
    ///
    /// # Errors
    /// The program is not installed, or does not support the required options.
    pub fn start(folder: &Path, kept: Kept) -> Result<NatsServer, String> {
        let address = place(folder)?;
        let mut text = format!("listen: {address}\n");
        if kept == Kept::Synced {
            text.push_str(&format!("jetstream {{ store_dir: {:?}, sync_interval: always }}\n", folder.join("js")));
        }
        let settings = folder.join("server.conf");
        std::fs::write(&settings, text).map_err(shown)?;
        let mut command = Command::new(std::env::var_os(SERVER_VARIABLE).unwrap_or_else(|| "nats-server".into()));
        command.arg("-c").arg(&settings);
        let ends_at_once = match kept {
            Kept::Nothing => "nats-server ends at once",
            Kept::Synced => "nats-server does not know `sync_interval: always` (from 2.10)",
        };
        Peer::start(command, address, folder, START_WAIT, ends_at_once).map(NatsServer)
    }

    /// Measures requests and replies per second with this number of applications and four workers.
    ///
    /// # Errors
    /// Errors of the server.
    pub fn requests(&self, kept: Kept, applications: usize, time: Duration) -> Result<f64, String> {
        let stop = AtomicBool::new(false);
        let sockets = Mutex::new(Vec::new());
        let count = AtomicU64::new(0);
        let errors = Mutex::new(Vec::new());
        if kept == Kept::Synced {
            self.make_streams()?;
        }
        let connected = || -> Result<Nats, String> {
            let nats = Nats::connect(self.0.address())?;
            let socket = nats.writer.try_clone().map_err(shown)?;
            sockets.lock().map_err(shown)?.push(socket);
            Ok(nats)
        };
        let worker = || -> Result<(), String> {
            let mut nats = connected()?;
            if kept == Kept::Synced {
                nats.listen()?;
                while !stop.load(Ordering::Relaxed) {
                    nats.pass_on()?;
                }
                return Ok(());
            }
            nats.send("SUB flow.in flow 1\r\n")?;
            loop {
                let message = nats.next()?;
                nats.publish(&message.reply, "", &message.payload)?;
            }
        };
        let application = || -> Result<(), String> {
            let mut nats = connected()?;
            nats.listen()?;
            while !stop.load(Ordering::Relaxed) {
                match kept {
                    Kept::Nothing => drop(nats.ask("flow.in", &[b'a'; REQUEST_BYTES])?),
                    Kept::Synced => {
                        nats.ask("flow.in", &[b'a'; REQUEST_BYTES])?;
                        let reply = nats.pull("OUT")?;
                        nats.ask(&reply.reply, b"+ACK")?;
                    }
                }
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        let done = std::thread::scope(|scope| {
            let (worker, application, stop, errors) = (&worker, &application, &stop, &errors);
            // An error of a thread that waits when the run ends is expected.
            let noted = move |done: Result<(), String>| {
                if let (Err(why), false, Ok(mut errors)) = (done, stop.load(Ordering::Relaxed), errors.lock()) {
                    errors.push(why);
                }
            };
            (0..WORKERS).for_each(|_| drop(scope.spawn(move || noted(worker()))));
            // Workers have subscribed before the first request.
            std::thread::sleep(Duration::from_millis(100));
            (0..applications).for_each(|_| drop(scope.spawn(move || noted(application()))));
            // The beginning does not count.
            std::thread::sleep(time / 5);
            let (first, since) = (count.load(Ordering::Relaxed), Instant::now());
            std::thread::sleep(time);
            let rate = (count.load(Ordering::Relaxed) - first) as f64 / since.elapsed().as_secs_f64();
            stop.store(true, Ordering::Relaxed);
            if let Ok(sockets) = sockets.lock() {
                // Threads that wait for a message end with their connection.
                sockets.iter().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
            }
            rate
        });
        match errors.into_inner().map_err(shown)?.into_iter().next() {
            Some(why) => Err(why),
            None => Ok(done),
        }
    }

    /// Creates two empty work queues.
    fn make_streams(&self) -> Result<(), String> {
        let mut nats = Nats::connect(self.0.address())?;
        nats.listen()?;
        for (name, subject) in [("IN", "flow.in"), ("OUT", "flow.out")] {
            // The stream does not exist at first.
            nats.ask(&format!("$JS.API.STREAM.DELETE.{name}"), b"")?;
            let stream = format!(
                r#"{{"name":"{name}","subjects":["{subject}"],"retention":"workqueue","storage":"file","num_replicas":1}}"#
            );
            nats.ask_well(&format!("$JS.API.STREAM.CREATE.{name}"), stream.as_bytes())?;
            let consumer = format!(
                r#"{{"stream_name":"{name}","config":{{"durable_name":"c","ack_policy":"explicit","deliver_policy":"all"}}}}"#
            );
            nats.ask_well(&format!("$JS.API.CONSUMER.DURABLE.CREATE.{name}.c"), consumer.as_bytes())?;
        }
        Ok(())
    }
}

/// A message.
struct Message {
    reply: String,
    payload: Vec<u8>,
    has_headers: bool,
}

/// A connection.
struct Nats {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    line: String,
}

impl Nats {
    fn connect(address: SocketAddr) -> Result<Nats, String> {
        let writer = TcpStream::connect(address).map_err(shown)?;
        writer.set_nodelay(true).map_err(shown)?;
        let mut nats = Nats { reader: BufReader::new(writer.try_clone().map_err(shown)?), writer, line: String::new() };
        nats.send("CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true}\r\nPING\r\n")?;
        while !nats.read_line()?.starts_with("PONG") {}
        Ok(nats)
    }

    fn send(&mut self, text: &str) -> Result<(), String> {
        self.writer.write_all(text.as_bytes()).map_err(shown)
    }

    fn publish(&mut self, subject: &str, reply: &str, payload: &[u8]) -> Result<(), String> {
        let head = format!("PUB {subject} {reply} {}\r\n", payload.len());
        self.writer.write_all(&[head.as_bytes(), payload, b"\r\n"].concat()).map_err(shown)
    }

    /// Subscribes to the inbox: answers come there one after another.
    fn listen(&mut self) -> Result<(), String> {
        let inbox = self.inbox()?;
        self.send(&format!("SUB {inbox} 1\r\n"))
    }

    fn inbox(&self) -> Result<String, String> {
        Ok(format!("_INBOX.{}", self.writer.local_addr().map_err(shown)?.port()))
    }

    /// Publishes a request and waits for the one reply.
    fn ask(&mut self, subject: &str, payload: &[u8]) -> Result<Message, String> {
        let inbox = self.inbox()?;
        self.publish(subject, &inbox, payload)?;
        self.next()
    }

    fn ask_well(&mut self, subject: &str, payload: &[u8]) -> Result<(), String> {
        let answer = String::from_utf8(self.ask(subject, payload)?.payload).map_err(shown)?;
        if answer.contains("\"error\"") { Err(format!("{subject}: {answer}")) } else { Ok(()) }
    }

    /// Returns the next message of a stream.
    fn pull(&mut self, stream: &str) -> Result<Message, String> {
        loop {
            let next = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.c");
            let message = self.ask(&next, br#"{"batch":1,"expires":20000000000}"#)?;
            // A status, for example of an expired request, has headers and is not a message.
            if !message.has_headers {
                return Ok(message);
            }
        }
    }

    /// Implements one instance of the peer's flow: moves a message from one queue to the other.
    fn pass_on(&mut self) -> Result<(), String> {
        let message = self.pull("IN")?;
        self.ask("flow.out", &message.payload)?;
        self.ask(&message.reply, b"+ACK").map(drop)
    }

    fn read_line(&mut self) -> Result<&str, String> {
        self.line.clear();
        if self.reader.read_line(&mut self.line).map_err(shown)? == 0 {
            return Err("the connection ended".to_owned());
        }
        Ok(self.line.trim_end())
    }

    fn next(&mut self) -> Result<Message, String> {
        loop {
            let line = self.read_line()?;
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let (reply, bytes, has_headers) = match words.as_slice() {
                ["MSG", _, _, bytes] => ("", bytes, false),
                ["MSG", _, _, reply, bytes] => (*reply, bytes, false),
                ["HMSG", _, _, _, bytes] => ("", bytes, true),
                ["HMSG", _, _, reply, _, bytes] => (*reply, bytes, true),
                ["PING"] => {
                    self.send("PONG\r\n")?;
                    continue;
                }
                ["-ERR", ..] => return Err(line.to_owned()),
                _ => continue,
            };
            let reply = reply.to_owned();
            let bytes: usize = bytes.parse().map_err(shown)?;
            let mut payload = vec![0; bytes + 2];
            self.reader.read_exact(&mut payload).map_err(shown)?;
            payload.truncate(bytes);
            return Ok(Message { reply, payload, has_headers });
        }
    }
}
