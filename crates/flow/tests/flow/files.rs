//! Files that flows read and write, records written by a map, and requests without a reply.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

use quayline_store::queue::{Message, QueueDefinition};

use crate::support::{World, until};

fn read(world: &World, name: &str) -> Vec<u8> {
    std::fs::read(world.path().join(name)).unwrap_or_default()
}

/// All writers of a name shared one temporary file: contents were mixed, an older one won, and a rename found no file (FLO-049). Now units of work
/// and writers lock the entry of the file in turn.
#[test]
fn the_last_message_that_committed_is_the_content_of_a_file() {
    let world = World::new();
    let input = world.queue("IN");
    let engine = world.engine(
        "additional_instances = 7\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"file\"\n\
         [node.file]\ntype = \"file_output\"\nfolder = \"out\"\nname = \"x.txt\"\n",
    );
    let mut last = Vec::new();
    for number in 0..40u8 {
        // Long ones take longer to write than the short ones that follow.
        last = vec![b'a' + number % 26; if number % 2 == 0 { 4 << 20 } else { 5 }];
        world.put(&input, &Message::new(last.clone()));
        until("it commits", || engine.flows()[0].stats.committed.load(Ordering::Relaxed) > u64::from(number));
    }
    let stats = std::sync::Arc::clone(&engine.flows()[0].stats);
    engine.drain();
    // The flow waited for the disk, and for no other system.
    assert!(stats.device_ns.load(Ordering::Relaxed) > 0 && stats.external_ns.load(Ordering::Relaxed) == 0, "{stats:?}");
    assert!(read(&world, "out/x.txt") == last, "{} bytes", read(&world, "out/x.txt").len());
    assert_eq!(world.errors(), "");
    let left = std::fs::read_dir(world.path().join("out")).expect("a folder").count();
    assert_eq!(left, 1, "temporary files are gone");
}

/// The content of a file that a later message replaced had no trace.
#[test]
fn files_that_get_a_new_content_are_counted() {
    let world = World::new();
    let input = world.queue("IN");
    let engine = world.engine(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"cut\"\n\
         [node.cut]\ntype = \"split\"\nby = \"line\"\nout = \"file\"\n\
         [node.file]\ntype = \"file_output\"\nfolder = \"out\"\nname = \"x.txt\"\n",
    );
    let stats = std::sync::Arc::clone(&engine.flows()[0].stats);
    let node = &stats.nodes[2];
    // The first unit of work has two messages for the file, the second writes the same content, the third another one.
    for (number, (message, warnings)) in [("a\nb\n", 1), ("b\nb\n", 1), ("c\n", 2)].into_iter().enumerate() {
        world.put(&input, &Message::new(message));
        until("it commits", || stats.committed.load(Ordering::Relaxed) > number as u64);
        let last = message.trim_end().rsplit('\n').next().unwrap_or_default();
        until("the file is written", || read(&world, "out/x.txt") == last.as_bytes());
        until("it is counted", || node.warnings.load(Ordering::Relaxed) == warnings);
    }
    engine.drain();
    assert_eq!(node.warnings.load(Ordering::Relaxed), 2);
    assert!(node.last_warning().is_some_and(|last| last.finding.code.0 == "FLO-080"));
}

const LOOK: &str = "[node.look]\ntype = \"folder_input\"\nfolder = \"in\"\ninterval = \"10ms\"\nout = \"put\"\n\
                    [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n";

/// Two looks at the same length were enough, so a writer that paused for longer lost what it wrote after.
#[test]
fn a_file_is_taken_once_it_is_complete_and_overwrites_none() {
    let world = World::new();
    let out = world.queue("OUT");
    std::fs::create_dir_all(world.path().join("in")).expect("a folder");
    let _engine = world.engine(&LOOK.replace("interval", "settle = \"2s\"\ninterval"));
    for round in 0..2 {
        let mut whole = String::new();
        let mut file = std::fs::File::create(world.path().join("in/a.txt")).expect("a file");
        for line in 0..5 {
            let line = format!("round {round}, line {line}\n");
            file.write_all(line.as_bytes()).expect("a line");
            whole += &line;
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(world.get_text(&out), whole);
        until("it is moved", || !world.path().join("in/a.txt").exists());
    }
    let mut done = Vec::new();
    for entry in std::fs::read_dir(world.path().join("in/done")).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        done.push((read(&world, &format!("in/done/{name}")), name));
    }
    done.sort();
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(done[0].1 == "a.txt" && done[0].0.starts_with(b"round 0"), "{done:?}");
    assert!(done[1].1.starts_with("a.txt.") && done[1].0.starts_with(b"round 1"), "{done:?}");
    assert_eq!(world.errors(), "");
}

#[test]
fn a_file_that_changes_before_the_commit_is_read_again() {
    let world = World::new();
    let out = world.queue_with(QueueDefinition { depth_max: 1, ..QueueDefinition::local("OUT") });
    world.put(&out, &Message::new("fills the queue"));
    world.write("in/a.txt", "line1\n");
    let engine = world.engine(&LOOK.replace("interval", "settle = \"0ms\"\ninterval"));
    until("the file is taken", || engine.flows()[0].stats.received.load(Ordering::Relaxed) == 1);
    world.write("in/a.txt", "line1\nline2\n");
    assert_eq!(world.get_text(&out), "fills the queue");
    assert_eq!(world.get_text(&out), "line1\nline2\n");
    until("it is moved", || world.path().join("in/done/a.txt").exists());
    assert!(world.errors().contains("changed while the flow processed it"), "{}", world.errors());
    assert_eq!(out.facts().expect("facts").depth, 0);
}

/// Work after the move of the file was only done at the next start.
#[test]
fn a_file_that_is_read_and_one_that_is_written_are_both_done() {
    let world = World::new();
    world.write("in/a.txt", "content");
    let _engine = world.engine(
        "[node.look]\ntype = \"folder_input\"\nfolder = \"in\"\ninterval = \"10ms\"\nsettle = \"0ms\"\nout = \"file\"\n\
         [node.file]\ntype = \"file_output\"\nfolder = \"out\"\nname.from = \"envelope.file_name\"\n",
    );
    until("it is moved and written", || {
        read(&world, "in/done/a.txt") == b"content" && read(&world, "out/a.txt") == b"content"
    });
    assert_eq!(world.errors(), "");
}

/// The records of a map became one long record, or none where the file takes one length only.
#[test]
fn every_record_that_a_map_makes_is_written_or_none() {
    let world = World::new();
    world.write("item.cpy", "       01 ITEM.\n          05 ITEM-ID PIC X(8).\n          05 QUANTITY PIC 9(24).\n");
    world.write("item.toml", "layout = \"record\"\ncopybook = \"item.cpy\"\nencoding = \"ascii\"\n");
    world.write("delivery.shape", "delivery\n  item text(8)\n  quantity unsigned(7)\n");
    world.write(
        "a.qmap",
        "map \"a delivery as a record\"\nsource \"delivery.shape\"\ntarget record \"item.toml\"\n\nITEM-ID = item\nQUANTITY = quantity\n",
    );
    world.file("ITEMS", &[]);
    let (input, bad, done) = (world.queue("IN"), world.queue("BAD"), world.queue("DONE"));
    let _engine = world.engine(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
message = "delivery.shape"
out = "map"
[node.map]
type = "map"
map = "a.qmap"
out = "write"
[node.write]
type = "record_write"
file = "ITEMS"
status = "done"
duplicate = "bad"
[node.done]
type = "queue_output"
queue = "DONE"
[node.bad]
type = "queue_output"
queue = "BAD"
"#,
    );
    let keys = || {
        let unit = world.store.begin().expect("a unit");
        let mut browse = world.store.file(&unit, "ITEMS").expect("a file").browse();
        let mut keys = Vec::new();
        while let Ok(record) = browse.next(&unit) {
            assert_eq!(record.bytes.len(), 32);
            keys.push(record.key.escape_ascii().to_string().trim_end().to_owned());
        }
        keys
    };
    world.put(
        &input,
        &Message::new(r#"[{"item":"A","quantity":1},{"item":"B","quantity":2},{"item":"C","quantity":3}]"#),
    );
    assert!(world.get_text(&done).contains("\"records\":3"));
    assert_eq!(keys(), ["A", "B", "C"]);
    world.put(&input, &Message::new(r#"[{"item":"D","quantity":1},{"item":"A","quantity":2}]"#));
    assert!(world.get_text(&bad).starts_with('D'));
    assert!(world.get_text(&done).contains("\"records\":0"));
    assert_eq!(keys(), ["A", "B", "C"], "nothing of the second message is written");
}

fn ask(address: SocketAddr) -> String {
    let mut stream = None;
    until("the flow listens", || {
        stream = TcpStream::connect(address).ok();
        stream.is_some()
    });
    let mut stream = stream.expect("a connection");
    stream
        .write_all(b"POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi")
        .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// A flow whose address is taken was as ready as any other.
#[test]
fn a_flow_that_cannot_begin_says_why_until_it_can() {
    let world = World::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address");
    let engine = world.engine(&format!(
        "[node.listen]\ntype = \"http_input\"\nlisten = \"{address}\"\npath = \"/x\"\nout = \"answer\"\n[node.answer]\ntype = \"reply\"\n"
    ));
    until("it says why", || engine.flows()[0].stats.not_begun().is_some_and(|why| why.contains("FLO-052")));
    drop(taken);
    until("it begins", || engine.flows()[0].stats.not_begun().is_none());
    assert!(ask(address).starts_with("HTTP/1.1 200"));
}

/// A request without a `reply` node answered 500 and \"nothing was done\", although it was done.
#[test]
fn a_request_that_nobody_answers_is_done_with_204() {
    let world = World::new();
    let out = world.queue("OUT");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let text = format!(
        "[node.listen]\ntype = \"http_input\"\nlisten = \"{free}\"\npath = \"/x\"\nout = [\"put\", \"file\"]\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n\
         [node.file]\ntype = \"file_output\"\nfolder = \"out\"\nname = \"x\"\n"
    );
    // Nothing can be written there.
    world.write("out", "a file and no folder");
    let flow = world.compile(&text).expect("a flow");
    assert_eq!(flow.findings.iter().map(|finding| finding.code.0).collect::<Vec<_>>(), ["FLO-038"]);
    let engine = world.empty_engine(1);
    engine.deploy(flow);
    let answer = ask(free);
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    assert_eq!(world.get_text(&out), "hi");
    until("the file that is left is reported", || world.errors().contains("the file is not written yet"));
    assert_eq!(engine.flows()[0].stats.rolled_back.load(Ordering::Relaxed), 0, "the unit of work committed");
}

/// A flow that answers requests, after other nodes that it gets.
fn answering(address: SocketAddr, to: &str, nodes: &str) -> String {
    let reply = |name: &str, status: u16| format!("[node.{name}]\ntype = \"reply\"\nstatus = {status}\n");
    let sorry = if to.contains("sorry") || nodes.contains("sorry") { reply("sorry", 422) } else { String::new() };
    let listen = format!("[node.listen]\ntype = \"http_input\"\nlisten = \"{address}\"\npath = \"/x\"\nout = {to}\n");
    [listen, nodes.to_owned(), reply("ok", 200), sorry].concat()
}

/// The client got the first answer, and later ones vanished without a trace.
#[test]
fn a_second_answer_to_a_request_fails_and_one_after_a_failure_is_the_answer() {
    let free = || std::net::TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let put = "[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n";
    let fail = "[node.fail]\ntype = \"throw\"\ntext = \"no\"\n";
    let tries = "[node.tries]\ntype = \"try\"\ntry = [\"put\", \"ok\", \"fail\"]\ncatch = \"sorry\"\n";
    let parts = "[node.parts]\ntype = \"split\"\nby = \"line\"\nout = [\"put\", \"ok\"]\n";
    for (to, nodes, content, status, committed) in [
        ("\"tries\"", [tries, put, fail].concat(), "hi", 422, 1),
        ("\"parts\"", [parts, put].concat(), "hi", 200, 1),
        ("\"parts\"", [parts, put].concat(), "1\n2\n3\n", 500, 0),
        ("[\"put\", \"ok\", \"sorry\"]", put.to_owned(), "hi", 500, 0),
    ] {
        let (world, address) = (World::new(), free());
        let out = world.queue("OUT");
        let flow = world.compile(&answering(address, to, &nodes)).expect("a flow");
        let is_certain = flow.findings.iter().any(|finding| finding.code.0 == "FLO-081");
        assert_eq!(is_certain, to.contains("sorry"), "{:?}", flow.findings);
        let engine = world.empty_engine(1);
        engine.deploy(flow);
        let answer = crate::requests::post(address, &[], content);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert_eq!(out.facts().expect("facts").depth, committed, "{to} {content}");
        assert_eq!(world.errors().contains("FLO-081"), status == 500, "{}", world.errors());
    }
}

/// The file vanished from the folder, and nothing said where it was.
#[test]
fn a_file_that_fails_too_often_moves_with_a_warning() {
    let world = World::new();
    world.write("in/a.txt", "content");
    let engine = world.engine(
        "[node.look]\ntype = \"folder_input\"\nfolder = \"in\"\ninterval = \"10ms\"\nsettle = \"0ms\"\nout = \"fail\"\n\
         [node.fail]\ntype = \"throw\"\ntext = \"no\"\n",
    );
    until("it is given up", || engine.flows()[0].stats.nodes[0].warnings.load(Ordering::Relaxed) == 1);
    assert_eq!(read(&world, "in/failed/a.txt"), b"content");
    let flows = engine.flows();
    let warning = flows[0].stats.nodes[0].last_warning().expect("a warning").finding.to_string();
    assert!(warning.contains("FLO-083") && warning.contains("in/a.txt failed 3 times"), "{warning}");
    assert!(world.errors().contains("FLO-083"), "{}", world.errors());
    assert_eq!(flows[0].stats.rolled_back.load(Ordering::Relaxed), 3);
}

/// A name that no file system accepts was kept with the unit of work and waited for ever.
#[test]
fn a_file_name_that_is_too_long_fails_the_message() {
    let world = World::new();
    let (input, bad, done) = (world.queue("IN"), world.queue("BAD"), world.queue("DONE"));
    let engine = world.engine(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"file\"\ncatch = \"bad\"\n\
         [node.file]\ntype = \"file_output\"\nfolder = \"out\"\nname.from = \"envelope.reply_to\"\nout = \"done\"\n\
         [node.done]\ntype = \"queue_output\"\nqueue = \"DONE\"\n\
         [node.bad]\ntype = \"queue_output\"\nqueue = \"BAD\"\n",
    );
    for length in [256, 255] {
        let mut message = Message::new(b"content".to_vec());
        message.reply_to = "n".repeat(length);
        world.put(&input, &message);
    }
    until("both are done", || {
        let depth = |queue: &quayline_store::queue::Queue| queue.facts().expect("facts").depth;
        (depth(&bad), depth(&done)) == (1, 1)
    });
    engine.drain();
    assert_eq!(read(&world, &format!("out/{}", "n".repeat(255))), b"content");
    assert!(world.errors().contains("the name of the file has 256 bytes"), "{}", world.errors());
}

/// A pass whose fifth record has no name for a file. Returns the project and the queue that starts it.
fn failing_pass(transaction: &str) -> (World, quayline_flow::Engine) {
    let world = World::new();
    world.write(
        "item.cpy",
        "       01 ITEM.\n          05 ITEM-ID PIC X(8).\n          05 FILLER PIC X(8).\n          05 NOTE PIC X(16).\n",
    );
    world.write("item.toml", "layout = \"record\"\ncopybook = \"item.cpy\"\nencoding = \"ascii\"\n");
    world.file("F", &["K1", "K2", "K3", "K4", "a/b"]);
    let input = world.queue("IN");
    let engine = world.engine(&format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\ntransaction = \"{transaction}\"\nout = \"pass\"\n\
         [node.pass]\ntype = \"record_input\"\nfile = \"F\"\nlayout = \"item.toml\"\ncommit_count = 1\nrecord = \"file\"\n\
         [node.file]\ntype = \"file_output\"\nfolder = \"out\"\nname.from = 'ITEM-ID'\n"
    ));
    world.put(&input, &Message::new("go"));
    until("a record fails", || world.errors().contains("the name of the file is empty"));
    (world, engine)
}

/// Units of work that had committed left their files in the store until the next start of the process.
#[test]
fn a_pass_that_fails_writes_the_files_of_the_records_before() {
    let (world, _engine) = failing_pass("no");
    until("the files are written", || {
        ["K1", "K2", "K3", "K4"].iter().all(|key| !read(&world, &format!("out/{key}")).is_empty())
    });
}

/// A unit of work that wrote only files kept no place, so the pass began again with the first record.
#[test]
fn a_pass_that_writes_files_resumes_after_the_records_that_are_done() {
    let (world, engine) = failing_pass("yes");
    until("it fails again", || engine.flows()[0].stats.rolled_back.load(Ordering::Relaxed) > 1);
    drop(engine);
    let unit = world.store.begin().expect("a unit");
    let mut page = quayline_store::Page::default();
    let (space, limit) = (quayline_store::Space::CHECKPOINTS, quayline_store::PageLimit::default());
    let all = quayline_store::KeyRange::ALL;
    unit.page(space, all, quayline_store::Direction::Forward, limit, &mut page).expect("a page");
    let is_pass = |key: &[u8]| key.starts_with(b"flow-pass/test/pass/");
    let places: Vec<u64> = page
        .iter()
        .filter(|(key, _)| is_pass(key))
        .map(|(_, place)| u64::from_le_bytes(*place.first_chunk().expect("a number")))
        .collect();
    assert_eq!(places, [4]);
}
