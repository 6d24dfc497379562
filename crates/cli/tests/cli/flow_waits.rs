//! Flows whose messages cannot leave: how a run ends, and what operators see.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::world::World;

const GET: &str = "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"next\"\n";

fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

/// Ends the server when the test ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(what: &str, is_true: &dyn Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_true() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A project with one flow from `IN`, and its server.
fn served(node: &str) -> (World, Server) {
    let world = World::with([("flows/orders.toml", format!("{GET}{node}").as_bytes()), ("m", b"text")]);
    world.write("quayline.toml", format!("[serve]\nlisten = \"{}\"\n[serve.admin]\nlisten = \"{}\"\n", free(), free()));
    world.run("flow define").code(0);
    world.run("queue put IN m").code(0);
    let child = world.command(["serve"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
    let server = Server(child);
    until("the server answers", &|| world.run("flow stats").out().contains("\"name\":\"orders\""));
    (world, server)
}

/// Files that a flow had committed stayed in the store, and the run was a success.
#[test]
fn a_run_that_leaves_files_says_how_many_and_where() {
    let world = World::with([
        ("flows/orders.toml", format!("{GET}{FILE}").as_bytes()),
        ("out", b"a file and no folder"),
        ("a", b"first"),
        ("b", b"second"),
    ]);
    world.run("flow define").code(0);
    world.run("queue put IN a").code(0);
    world.run("queue put IN b").code(0);
    let left = world.run("flow run --until-idle 300ms").code(1).err();
    assert!(left.contains("2 files for the folder ") && left.contains("/out are not written yet"), "{left}");
    assert!(left.contains("make ") && left.contains("/out a symbolic link to the right folder"), "{left}");
    // A later run without a new message has them, too.
    let left = world.run("flow run --until-idle 300ms").code(1).err();
    assert!(left.contains("2 files for the folder "), "{left}");
    std::fs::remove_file(world.path("out")).expect("removed");
    let done = world.run("flow run --until-idle 300ms").code(0).err();
    assert!(!done.contains("not written"), "{done}");
    assert_eq!(std::fs::read_dir(world.path("out")).expect("a folder").count(), 2);
}

const FILE: &str = "[node.next]\ntype = \"file_output\"\nfolder = \"out\"\nname.from = 'envelope.message_id'\n";

/// The list said `running` and showed no failure while a file could not be written.
#[test]
fn a_flow_whose_file_cannot_be_written_shows_the_node_that_waits() {
    let (world, _server) = served(FILE.replace("\"out\"", "\"m/out\"").as_str());
    let listed = || world.run("flow list --live").out();
    until("the node waits", &|| listed().contains("orders  running, node next waits: FLO-049: "));
    std::fs::remove_file(world.path("m")).expect("removed");
    until("the file is written", &|| listed().contains("orders  running; 1 received, 1 committed"));
}

/// The list said `running` and showed no failure while a server was away.
#[test]
fn a_flow_whose_server_is_away_shows_the_node_that_waits() {
    let address = free();
    let node = format!("[node.next]\ntype = \"http_output\"\nurl = \"http://{address}/\"\noutbox = \"KEPT\"\n");
    let (world, _server) = served(&node);
    let listed = || world.run("flow list --live").out();
    until("the node waits", &|| listed().contains("orders  running, node next waits: FLO-056: "));
    assert!(world.run("flow show orders --live").out().contains("(running, 1 message, waits: FLO-056: "));
    let stats: serde_json::Value = serde_json::from_str(&world.run("flow stats orders").out()).expect("JSON");
    assert!(stats["nodes"][1]["waits_for"].as_str().is_some_and(|why| why.starts_with("FLO-056: ")), "{stats}");
    assert!(stats["nodes"][0]["waits_for"].is_null() && stats["undelivered"].is_u64(), "{stats}");
    let listener = TcpListener::bind(address).expect("the port is free");
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("an answer");
    });
    answers.join().expect("the message arrives");
    until("the node continues", &|| listed().starts_with("orders  running; 1 received"));
    let stats: serde_json::Value = serde_json::from_str(&world.run("flow stats orders").out()).expect("JSON");
    assert!(stats["nodes"][1]["waits_for"].is_null() && !stats["nodes"][1]["last_failure"].is_null(), "{stats}");
}
