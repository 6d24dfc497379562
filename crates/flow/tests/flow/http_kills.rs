//! A flow between HTTP clients and an HTTP server while the flow and the server are killed at random.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::bridge::{Bridge, KEPT, number};
use crate::requests::free_address;
use crate::support::{PATIENCE, bridge_kills, until};

const FOLDER: &str = "QUAYLINE_TEST_HTTP_FOLDER";
const SERVER: &str = "QUAYLINE_TEST_HTTP_SERVER";
/// Clients that send requests at the same time.
const CLIENTS: usize = 4;

/// The child process with the flow. Without the variable, this test does nothing.
#[test]
fn child_that_answers() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    crate::bridge::child(Path::new(&folder));
}

/// One request: its header with the key, and its content.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8(bytes.clone()).expect("text");
        if let Some((head, content)) = text.split_once("\r\n\r\n") {
            let header = |name: &str| {
                let lines = head.lines().filter_map(|line| line.split_once(':'));
                lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
            };
            let length: usize = header("content-length")?.parse().ok()?;
            if content.len() >= length {
                return Some((header("idempotency-key")?.to_owned(), content.to_owned()));
            }
        }
        match stream.read(&mut part) {
            Ok(count) if count > 0 => bytes.extend(&part[..count]),
            _ => return None,
        }
    }
}

/// The child process with a server that remembers keys: an effect is a line of a file, synced before the answer. Without the variable, this test does
/// nothing.
#[test]
fn child_that_serves() {
    let Some(variable) = std::env::var_os(SERVER) else { return };
    let text = variable.into_string().expect("text");
    let (address, file) = text.split_once(' ').expect("an address and a file");
    let mut known: BTreeMap<String, String> = std::fs::read_to_string(file)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(key, content)| (key.to_owned(), content.to_owned()))
        .collect();
    let mut out = std::fs::OpenOptions::new().create(true).append(true).open(file).expect("a file");
    let listener = TcpListener::bind(address).expect("the address");
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let Some((key, content)) = request(&mut stream) else { continue };
        if let Entry::Vacant(unknown) = known.entry(key) {
            out.write_all(format!("{} {content}\n", unknown.key()).as_bytes()).expect("a line");
            out.sync_data().expect("a sync");
            unknown.insert(content);
        }
        // The client may have gone.
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    }
}

fn serve(address: SocketAddr, file: &Path) -> Child {
    let child = Command::new(std::env::current_exe().expect("this test has a path"))
        .args(["--exact", "http_kills::child_that_serves", "--test-threads", "1"])
        .env(SERVER, format!("{address} {}", file.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    until("the server listens", || TcpStream::connect(address).is_ok());
    child
}

/// Sends a request until the flow accepts it, with the same key each time.
fn send(address: SocketAddr, number: usize) {
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        let content = number.to_string();
        let head = format!(
            "POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\nidempotency-key: k{number}\r\ncontent-length: {}\r\n\r\n{content}",
            content.len()
        );
        let answer = || {
            let mut stream = TcpStream::connect(address).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
            stream.write_all(head.as_bytes()).ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            Some(answer)
        };
        match answer() {
            Some(answer) if answer.starts_with("HTTP/1.1 201") => return,
            // The flow still processes the first request with this key, or has no room.
            Some(answer)
                if answer.is_empty() || answer.starts_with("HTTP/1.1 409") || answer.starts_with("HTTP/1.1 503") => {}
            Some(answer) => panic!("{answer}"),
            None => {}
        }
        assert!(std::time::Instant::now() < end, "request {number} is not accepted");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_request_has_its_effect_once_however_often_both_sides_are_killed() {
    let (listen, other) = (free_address(), free_address());
    let text = format!(
        "additional_instances = 3\n[node.listen]\ntype = \"http_input\"\nlisten = \"{listen}\"\npath = \"/x\"\nout = [\"put\", \"send\", \"answer\"]\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"{KEPT}\"\n\
         [node.send]\ntype = \"http_output\"\nurl = \"http://{other}/\"\noutbox = \"HTTP.OUT\"\n\
         [node.answer]\ntype = \"reply\"\nstatus = 201\n"
    );
    let bridge = Bridge::new(&text, "HTTP.OUT");
    let file = bridge.path().join("effects");
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut server = serve(other, &file);
    let mut seed = 0x5ca1_u32;
    let mut pause = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(Duration::from_millis(u64::from((seed >> 16) % below)));
    };
    let child = ("http_kills::child_that_answers", FOLDER);
    let rounds = bridge_kills(6);
    std::thread::scope(|scope| {
        let client = || {
            while !is_over.load(Ordering::Relaxed) {
                send(listen, next.fetch_add(1, Ordering::Relaxed));
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        for _ in 0..rounds {
            let mut flow = bridge.child(child);
            pause(150);
            server.kill().expect("kill -9");
            server.wait().expect("the server ended");
            pause(40);
            server = serve(other, &file);
            pause(150);
            flow.kill().expect("kill -9");
            flow.wait().expect("the child ended");
        }
        // The last requests are accepted too.
        is_over.store(true, Ordering::Relaxed);
        let mut flow = bridge.child(child);
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        flow.kill().expect("kill -9");
        flow.wait().expect("the child ended");
        assert!(ended.iter().all(Result::is_ok), "a client failed");
    });
    let count = next.into_inner();
    let kept = bridge.ends_with_each_effect_once(count);
    let mut numbers: Vec<usize> = kept.iter().map(number).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..count));
    server.kill().expect("kill -9");
    server.wait().expect("the server ended");
    let effects = std::fs::read_to_string(&file).expect("a file");
    let mut numbers: Vec<usize> =
        effects.lines().map(|line| line.split_once(' ').expect("a key").1.parse().expect("a number")).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..count), "the server has each effect once");
    eprintln!("{rounds} kills of both sides, {count} requests");
    assert!(count >= rounds as usize * CLIENTS, "the kills interrupt work");
}
