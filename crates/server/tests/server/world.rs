//! A project in a folder, a server over it, and a client that sees every byte.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server that ends with the test.
pub(crate) struct Server {
    pub(crate) folder: TempDir,
    pub(crate) process: Child,
    pub(crate) address: SocketAddr,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

const COPYBOOK: &str = "
       01 ECHO-AREA.
          05 REQ-TEXT  PIC X(20).
          05 REQ-HOW   PIC X(8).
          05 RESP-CODE PIC 9(4).
          05 RESP-TEXT PIC X(3000).
";

/// A record that answers every call: text, code, 3,000 bytes.
pub(crate) fn canned() -> Vec<u8> {
    let mut record = b"                    ".to_vec();
    record.extend_from_slice(b"        0007");
    record.extend_from_slice("answer ".repeat(428).as_bytes());
    record.resize(3032, b' ');
    record
}

pub(crate) const RECORDS: &str = "kind = \"canned\"\nfile = \"canned.dat\"\n";

/// Writes a project whose one service `echo` has this provider.
pub(crate) fn project(folder: &Path, serve: &str, provider: &str, api: &str) {
    for sub in ["services", "apis", "copybooks", "modules"] {
        std::fs::create_dir_all(folder.join(sub)).unwrap();
    }
    std::fs::write(folder.join("copybooks/echo.cpy"), COPYBOOK).unwrap();
    std::fs::write(folder.join("canned.dat"), canned()).unwrap();
    let service = format!(
        "copybook = \"echo.cpy\"\nencoding = \"ascii\"\n[provider]\n{provider}\n[request]\nkey-style = \"camel\"\nexclude = [\"RESP-CODE\", \"RESP-TEXT\"]\n[response]\nkey-style = \"camel\"\nexclude = [\"REQ-TEXT\", \"REQ-HOW\"]\n"
    );
    std::fs::write(folder.join("services/echo.toml"), service).unwrap();
    let api = format!(
        "base-path = \"/v1\"\n{api}\n[[operation]]\nid = \"echo\"\nmethod = \"POST\"\npath = \"/echo\"\nservice = \"echo\"\n[operation.body]\n[[operation]]\nid = \"show\"\nmethod = \"GET\"\npath = \"/echo/{{how}}\"\nservice = \"echo\"\n[[operation.parameter]]\nname = \"how\"\nin = \"path\"\nfield = \"REQ-HOW\"\n"
    );
    std::fs::write(folder.join("apis/echo.toml"), api).unwrap();
    std::fs::write(folder.join("quayline.toml"), format!("[serve]\nlisten = \"127.0.0.1:0\"\nthreads = 1\n{serve}\n"))
        .unwrap();
}

impl Server {
    /// A server with canned records.
    pub(crate) fn new(serve: &str, api: &str) -> Server {
        let folder = tempfile::tempdir().unwrap();
        project(folder.path(), serve, RECORDS, api);
        Server::start(folder)
    }

    pub(crate) fn start(folder: TempDir) -> Server {
        Server::start_by(Command::new(env!("CARGO_BIN_EXE_quayline_serve")), folder)
    }

    /// Started by a command that the folder is an argument of.
    pub(crate) fn start_by(mut command: Command, folder: TempDir) -> Server {
        command.arg(folder.path()).stdout(Stdio::piped());
        for tries_left in (0..40).rev() {
            let mut process =
                command.stderr(std::fs::File::create(folder.path().join("stderr.log")).unwrap()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
            if let Ok(address) = line.trim().parse() {
                return Server { folder, process, address };
            }
            let log = std::fs::read_to_string(folder.path().join("stderr.log")).unwrap();
            // A connection of another test can have a free port as its own for a moment.
            assert!(log.contains("address in use") && tries_left > 0, "no address: {log}");
            process.wait().unwrap();
            std::thread::sleep(Duration::from_millis(250));
        }
        unreachable!("the last try returns or panics")
    }

    /// Returns the log after a moment without a new line, because a separate thread writes it.
    pub(crate) fn log(&self) -> String {
        let read = || std::fs::read_to_string(self.folder.path().join("stderr.log")).unwrap();
        let mut log = read();
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(20));
            let before = std::mem::replace(&mut log, read());
            if before == log {
                break;
            }
        }
        log
    }

    /// Waits until the log has a text.
    pub(crate) fn has_logged(&self, text: &str) {
        let began = Instant::now();
        while !self.log().contains(text) {
            assert!(began.elapsed() < Duration::from_secs(20), "`{text}` is not in the log: {}", self.log());
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends one request over a separate connection.
    pub(crate) fn call(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        read(&mut stream)
    }

    pub(crate) fn get(&self, target: &str, headers: &str) -> Answer {
        self.call(&format!("GET {target} HTTP/1.1\r\nhost: x\r\n{headers}\r\n"))
    }

    pub(crate) fn post(&self, target: &str, headers: &str, body: &str) -> Answer {
        let length = body.len();
        self.call(&format!(
            "POST {target} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        ))
    }

    /// Asks the process to end.
    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.process.id().to_string()]).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads one answer.
pub(crate) fn read(stream: &mut impl std::io::Read) -> Answer {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break end + 4;
        }
        let n = stream.read(&mut buffer).unwrap();
        assert!(n > 0, "the connection ended inside of an answer: {:?}", String::from_utf8(bytes));
        bytes.extend_from_slice(&buffer[..n]);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut answer =
        Answer { status: head.get(9..12).and_then(|s| s.parse().ok()).unwrap_or(0), head, body: bytes[end..].to_vec() };
    let length: usize = answer.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    while answer.body.len() < length {
        let n = stream.read(&mut buffer).unwrap();
        assert!(n > 0, "the connection ended inside of a body");
        answer.body.extend_from_slice(&buffer[..n]);
    }
    answer
}

/// Waits until a condition holds.
pub(crate) fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sets a flag when it goes, so also where a test fails.
pub(crate) struct Ends<'a>(pub(crate) &'a std::sync::atomic::AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Whether the connection is closed by the server. One that is only silent until the time for reading is over is not.
pub(crate) fn is_closed(stream: &mut TcpStream) -> bool {
    use std::io::ErrorKind;

    match stream.read(&mut [0; 1]) {
        Ok(n) => n == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}
