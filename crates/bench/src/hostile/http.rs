//! Hostile requests: bodies and heads made to be slow, sent to a running `quayline serve`. CPU time and peak memory are those of the server.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::shapes::{Place, shapes};
use super::{
    BYTES_MAX, EXPONENT_MAX, Growth, NOISE_S, SIZES, STARTS, Shape, exponent, memory_exponent, repeated_sizes,
};

/// Transport of the units.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sent {
    /// As a body with its length, of a media type and further header lines.
    Body(&'static str),
    /// As a body in chunks of this many bytes.
    Chunks(usize),
    /// As they are, from the first byte of the request.
    Raw,
}

/// A shape and its transport.
struct Hostile {
    shape: Shape,
    sent: Sent,
}

const JSON: &str = "content-type: application/json\r\n";
const COPYBOOK: &str = "       01 R.\n          05 A PIC X(40).\n          05 B PIC S9(7)V99 COMP-3.\n          05 N PIC N(8) USAGE NATIONAL.\n          05 G.\n             10 F COMP-2.\n             10 E PIC X/X.\n          05 T PIC 9(4) OCCURS 5.\n";
const SERVICE: &str = "copybook = \"r.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[options]\ninitialize = \"initial\"\n[response]\nexclude = [\"B\", \"N\", \"G\", \"T\"]\n";
const API: &str = "base-path = \"/v\"\n[[operation]]\nid = \"put\"\nmethod = \"POST\"\npath = \"/x\"\nservice = \"r\"\n[operation.body]\n";
const SETTINGS: &str = "[serve]\nlisten = \"127.0.0.1:0\"\nthreads = 1\n[serve.authentication]\nrequired = false\n\
     [serve.limits]\nbody-bytes = 100000000\nbody-seconds = 600\nidle-seconds = 600\n";
/// Bytes of a record of the copybook.
const RECORD: usize = 40 + 5 + 16 + 8 + 3 + 20;

fn hostile() -> Vec<Hostile> {
    let place = |name, before: &str, after: &str| Place(name, before.into(), after.into());
    let places = [
        place("as the whole body", "", ""),
        place("inside a text", "{\"A\":\"", "\",\"B\":1}"),
        place("between members", "{\"A\":\"x\",", "\"B\":1}"),
        place("as a number", "{\"B\":", "}"),
        place("between items", "{\"T\":[1,", "2]}"),
    ];
    let units: [&[u8]; 18] = [
        b" ",
        b"\n",
        b"a",
        b"[",
        b"{\"a\":",
        b"1",
        b"0",
        b"\\",
        b"\\u0041",
        b"\\ud83d\\ude00",
        b"\"Z\":1,",
        b"\"B\":1,",
        b"\"G\":{\"F\":1e999},",
        b"\"",
        b"null,",
        b"[],",
        "é".as_bytes(),
        b"\xff",
    ];
    let bodies = shapes(&places, &units).into_iter().map(|shape| Hostile { shape, sent: Sent::Body(JSON) });
    let named = |name: &str, before: &str, unit: &[u8], after: &str, sent| Hostile {
        shape: Shape { name: name.to_owned(), before: before.into(), unit: unit.to_vec(), after: after.into() },
        sent,
    };
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let multipart = "content-type: multipart/form-data; boundary=b\r\n";
    let zipped = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    let head = "POST /v/x HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n";
    let chunked = format!("{head}{JSON}transfer-encoding: chunked\r\n");
    let post = |more: &str| format!("{head}{JSON}{more}");
    let others = [
        named("text in chunks of one byte", "{\"A\":\"", b"a", "\"}", Sent::Chunks(1)),
        named("blanks in chunks of one byte", "{", b" ", "}", Sent::Chunks(1)),
        named("arrays in chunks of one byte", "{\"T\":", b"[", "}", Sent::Chunks(1)),
        named("text in chunks of 17 bytes", "{\"A\":\"", b"a", "\"}", Sent::Chunks(17)),
        named("escapes cut by chunks", "{\"A\":\"", b"\\u0041", "\"}", Sent::Chunks(5)),
        named("form data", "", b"a=1&", "", Sent::Body(form)),
        named("percent signs of form data", "a=", b"%41", "", Sent::Body(form)),
        named("parts of form data", "", b"--b\r\n\r\nx\r\n", "--b--", Sent::Body(multipart)),
        named("a content coding", "", b"\x1f\x8b\x08\0", "", Sent::Body(zipped)),
        named("zeros in the size of a chunk", &format!("{chunked}\r\n"), b"0", "1\r\n{\r\n0\r\n\r\n", Sent::Raw),
        named("an extension of a chunk", &format!("{chunked}\r\n2;"), b"a", "\r\n{}\r\n0\r\n\r\n", Sent::Raw),
        named("many extensions", &format!("{chunked}\r\n"), b"1;a=b\r\n \r\n", "2\r\n{}\r\n0\r\n\r\n", Sent::Raw),
        named("trailers", &format!("{chunked}\r\n2\r\n{{}}\r\n0\r\n"), b"a: b\r\n", "\r\n", Sent::Raw),
        named("a header repeated", head, b"x-a: b\r\n", "\r\n", Sent::Raw),
        named("a long header", &format!("{head}x-a: "), b"a", "\r\n\r\n", Sent::Raw),
        named("a long name of a header", head, b"a", ": b\r\n\r\n", Sent::Raw),
        named("accepted types", &format!("{head}accept: "), b"text/html;q=0.1,", "\r\n\r\n", Sent::Raw),
        named("entity tags", &post("if-none-match: "), b"\"a\",", "\r\n\r\n", Sent::Raw),
        named("cookies", &post("cookie: "), b"a=b; ", "\r\n\r\n", Sent::Raw),
        named("lengths", &post(""), b"content-length: 2\r\n", "\r\n{}", Sent::Raw),
        named("a long target", "GET /v/x?", b"a=1&", " HTTP/1.1\r\nhost: bench\r\n\r\n", Sent::Raw),
        named("a path of slashes", "GET /v/", b"/", " HTTP/1.1\r\nhost: bench\r\n\r\n", Sent::Raw),
        named("nested fields", "GET /v/x?fields=", b"A(", " HTTP/1.1\r\nhost: bench\r\n\r\n", Sent::Raw),
        named("a long method", "", b"A", " /v/x HTTP/1.1\r\nhost: bench\r\n\r\n", Sent::Raw),
        named("empty lines before a request", "", b"\r\n", &format!("{head}\r\n"), Sent::Raw),
        named("bytes of zero", "", b"\0", "", Sent::Raw),
    ];
    bodies.chain(others).collect()
}

/// A running server.
struct Server {
    child: Child,
    address: SocketAddr,
    process: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Cost and status of a request.
#[derive(Clone, Copy)]
struct Took {
    cpu_s: f64,
    peak_bytes: u64,
    status: u16,
}

impl Server {
    fn start(quayline: &Path, folder: &Path) -> Result<Server, String> {
        let told = |error: std::io::Error| error.to_string();
        for (name, text) in [
            ("r.cpy", COPYBOOK),
            ("services/r.toml", SERVICE),
            ("apis/r.toml", API),
            ("quayline.toml", SETTINGS),
            ("records.dat", &"0".repeat(RECORD)),
        ] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(told)?;
            fs::write(path, text).map_err(told)?;
        }
        let mut child = Command::new(quayline).arg("serve").arg(folder).stderr(Stdio::piped()).spawn().map_err(told)?;
        let process = PathBuf::from(format!("/proc/{}", child.id()));
        let mut lines = BufReader::new(child.stderr.take().ok_or("no pipe")?).lines().map_while(Result::ok);
        let mut said = String::new();
        let address = lines.find_map(|line| {
            said = format!("{said}\n{line}");
            line.strip_prefix("listening on ")?.parse().ok()
        });
        std::thread::spawn(move || lines.for_each(drop));
        let Some(address) = address else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("the server does not start: {said}"));
        };
        Ok(Server { child, address, process })
    }

    /// Returns the CPU seconds of all threads.
    fn cpu_s(&self) -> Result<f64, String> {
        let mut nanoseconds = 0u64;
        let threads = fs::read_dir(self.process.join("task")).map_err(|error| error.to_string())?;
        for thread in threads.flatten() {
            let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            nanoseconds += text.split(' ').next().and_then(|first| first.parse::<u64>().ok()).unwrap_or_default();
        }
        Ok(nanoseconds as f64 / 1e9)
    }

    /// Returns the maximum bytes in memory since the last reset.
    fn peak_bytes(&self) -> Result<u64, String> {
        let text = fs::read_to_string(self.process.join("status")).map_err(|error| error.to_string())?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
        let kilobytes: u64 =
            line.trim().trim_end_matches(" kB").parse().map_err(|error| format!("VmHWM {line}: {error}"))?;
        Ok(kilobytes << 10)
    }

    /// Sends a request of about `bytes` bytes and waits until the server has closed the connection.
    fn send(&self, hostile: &Hostile, bytes: usize) -> Result<Took, String> {
        let request = hostile.request(bytes);
        fs::write(self.process.join("clear_refs"), "5").map_err(|error| format!("clear_refs: {error}"))?;
        let before = self.cpu_s()?;
        let stream = TcpStream::connect(self.address).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(Duration::from_secs(300))).map_err(|error| error.to_string())?;
        let mut writer = stream.try_clone().map_err(|error| error.to_string())?;
        let sender = std::thread::spawn(move || {
            // The server may refuse the request before it has read it all.
            let _ = writer.write_all(&request);
            let _ = writer.flush();
        });
        let mut answer = [0; 512];
        let mut reader = &stream;
        let first = reader.read(&mut answer).unwrap_or_default();
        while reader.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
        let _ = stream.shutdown(Shutdown::Both);
        sender.join().map_err(|_| "the sender panicked")?;
        let status = answer[..first].get(9..12).and_then(|status| core::str::from_utf8(status).ok());
        let status = status.and_then(|status| status.parse().ok()).unwrap_or_default();
        Ok(Took { cpu_s: self.cpu_s()? - before, peak_bytes: self.peak_bytes()?, status })
    }
}

impl Hostile {
    fn request(&self, bytes: usize) -> Vec<u8> {
        let Shape { before, unit, after, .. } = &self.shape;
        // The size includes the framing: each chunk has a head and an end.
        let count = match self.sent {
            Sent::Chunks(size) => bytes / (size + 5) * size / unit.len(),
            Sent::Body(_) | Sent::Raw => bytes / unit.len(),
        };
        let content = [&before[..], &unit.repeat(count), after].concat();
        let mut request = b"POST /v/x HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n".to_vec();
        match self.sent {
            Sent::Raw => return content,
            Sent::Body(headers) => {
                request.extend_from_slice(format!("{headers}content-length: {}\r\n\r\n", content.len()).as_bytes());
                request.extend(content);
            }
            Sent::Chunks(size) => {
                request.extend_from_slice(format!("{JSON}transfer-encoding: chunked\r\n\r\n").as_bytes());
                for chunk in content.chunks(size) {
                    request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    request.extend_from_slice(chunk);
                    request.extend_from_slice(b"\r\n");
                }
                request.extend_from_slice(b"0\r\n\r\n");
            }
        }
        request
    }
}

/// Sends every shape to a server at several sizes. Each of two workers has a server; what is compared is their CPU time.
///
/// # Errors
/// A server that does not start, refuses a good request, or ends.
pub fn measure(quayline: &Path, folder: &Path) -> Result<Vec<Growth>, String> {
    let all = hostile();
    let next = AtomicUsize::new(0);
    let work = |folder: PathBuf| {
        let client = Client::start(quayline, &folder, &all)?;
        let mut found = Vec::new();
        while let Some(hostile) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.push(client.growth(hostile)?);
        }
        Ok::<_, String>(found)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(folder.join("http-other")));
        let mut found = work(folder.join("http"))?;
        found.extend(other.join().map_err(|_| "a worker panicked")??);
        Ok(found)
    })
}

/// A server, and the cost of a good request.
struct Client {
    server: Server,
    start: f64,
    resting: u64,
}

impl Client {
    fn start(quayline: &Path, folder: &Path, all: &[Hostile]) -> Result<Client, String> {
        let server = Server::start(quayline, folder)?;
        let good = all.iter().find(|hostile| hostile.shape.name.starts_with("inside a text")).ok_or("no good shape")?;
        let mut client = Client { server, start: f64::MAX, resting: 0 };
        for _ in 0..STARTS {
            let took = client.server.send(good, 0)?;
            if took.status != 200 {
                return Err(format!("a good request gets the status {}", took.status));
            }
            (client.start, client.resting) = (client.start.min(took.cpu_s), took.peak_bytes);
        }
        Ok(client)
    }

    /// Returns the growth of one shape.
    fn growth(&self, hostile: &Hostile) -> Result<Growth, String> {
        let name = format!("HTTP: {}", hostile.shape.name);
        let own = |took: &Took| (took.cpu_s - self.start).max(NOISE_S / 16.0);
        let run = |bytes| {
            let took = self.server.send(hostile, bytes).map_err(|error| format!("{name}: {error}"))?;
            // If a limit refuses a head while the client writes, the connection may end without a response. A status from 500 on is a fault of the
            // server.
            if took.status >= 500 { Err(format!("{name}: status {}", took.status)) } else { Ok(took) }
        };
        let mut small = run(SIZES[0])?;
        for size in &SIZES[1..] {
            small = run(*size)?;
        }
        let large = run(BYTES_MAX)?;
        let last = SIZES[SIZES.len() - 1];
        let mut points = vec![(last, own(&small)), (BYTES_MAX, own(&large))];
        for _ in 0..2 {
            if exponent(&points) <= EXPONENT_MAX {
                break;
            }
            for size in repeated_sizes(BYTES_MAX) {
                let cpu_s = own(&run(size)?);
                match points.iter_mut().find(|(known, _)| *known == size) {
                    Some((_, least)) => *least = least.min(cpu_s),
                    None => points.push((size, cpu_s)),
                }
            }
            points.sort_by_key(|(size, _)| *size);
        }
        let exponent = exponent(&points);
        Ok(Growth {
            name,
            exponent,
            memory_exponent: memory_exponent(self.resting, small.peak_bytes, large.peak_bytes, BYTES_MAX / last),
            cpu_s: large.cpu_s,
            bytes: BYTES_MAX,
            peak_bytes: large.peak_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_more_than_forty_shapes_with_names_of_their_own() {
        let all = hostile();
        let mut names: Vec<&str> = all.iter().map(|hostile| hostile.shape.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == all.len() && names.len() > 40, "{}", names.len());
    }

    #[test]
    fn requests_have_the_size_that_is_asked_for() {
        for hostile in hostile() {
            let length = |bytes| hostile.request(bytes).len();
            let added = length(64 << 10) - length(0);
            let apart = added.abs_diff(64 << 10);
            assert!(apart <= 64 + (64 << 10) / 20, "{}: {added}", hostile.shape.name);
        }
    }
}
