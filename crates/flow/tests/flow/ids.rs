//! Ids of messages without an id from elsewhere, and keys for the effects of one message.

use std::collections::BTreeSet;
use std::fs::{File, FileTimes};
use std::time::{Duration, SystemTime};

use quayline_store::queue::{Message, MessageId, QueueDefinition};

use crate::outside::server;
use crate::requests::{free_address, post};
use crate::support::{World, until};

/// Messages of requests and timers had an id of zeros, from which the key of a request was derived: a server that honours the key answered the second
/// order with the result of the first, and files named after the id replaced each other. Now each message has a unique id.
#[test]
fn requests_have_ids_of_their_own() {
    let (address, asked) = server(|_| 200);
    let world = World::new();
    let listen = free_address();
    let _engine = world.engine(&format!(
        "[node.listen]\ntype = \"http_input\"\nlisten = \"{listen}\"\npath = \"/x\"\nout = [\"file\", \"ask\"]\n\
         [node.file]\ntype = \"file_output\"\nfolder = \"out\"\nname.from = 'envelope.message_id'\n\
         [node.ask]\ntype = \"http_request\"\nurl = \"http://{address}/\"\nout = \"answer\"\n[node.answer]\ntype = \"reply\"\n"
    ));
    for text in ["one", "two"] {
        assert!(post(listen, &[], text).ends_with(&format!("answer to {text}")));
    }
    let keys: BTreeSet<String> = asked.lock().expect("no panic").iter().map(|(_, key, _)| key.clone()).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    let files = || std::fs::read_dir(world.path().join("out")).map_or(0, Iterator::count);
    until("both files are written", || files() == 2);
}

#[test]
fn times_have_ids_of_their_own() {
    let world = World::new();
    let out = world.queue("OUT");
    let _engine = world.engine(
        "[node.tick]\ntype = \"timer_input\"\nevery = \"5ms\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    let ids: BTreeSet<MessageId> = (0..3).map(|_| world.get(&out).correlation).collect();
    assert!(ids.len() == 3 && !ids.contains(&[0; 24]), "{ids:?}");
}

/// The id of a file was its length and time, which two files may share.
#[test]
fn files_of_one_length_and_time_have_ids_of_their_own() {
    let world = World::new();
    let out = world.queue("OUT");
    let time = SystemTime::now() - Duration::from_secs(100);
    for name in ["a", "b"] {
        world.write(&format!("in/{name}"), name);
        let file = File::options().write(true).open(world.path().join("in").join(name)).expect("a file");
        file.set_times(FileTimes::new().set_modified(time)).expect("a time");
    }
    let _engine = world.engine(
        "[node.look]\ntype = \"folder_input\"\nfolder = \"in\"\ninterval = \"10ms\"\nsettle = \"0ms\"\nout = \"put\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    assert_ne!(world.get(&out).correlation, world.get(&out).correlation);
}

/// All records of a pass had one key, and so had the parts of parts: a server that honours it processed only the first of them.
#[test]
fn everything_that_is_made_of_one_message_has_a_key_of_its_own() {
    let (address, asked) = server(|_| 200);
    let world = World::new();
    world.file("F", &["K1", "K2", "K3"]);
    let (input, done) = (world.queue("IN"), world.queue("DONE"));
    let ask = format!("[node.ask]\ntype = \"http_request\"\nurl = \"http://{address}/\"\nout = []\n");
    let get = "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\n";
    let put = "[node.put]\ntype = \"queue_output\"\nqueue = \"DONE\"\n";
    let pass = format!(
        "{get}out = \"pass\"\n[node.pass]\ntype = \"record_input\"\nfile = \"F\"\ncommit_count = 2\nrecord = \"ask\"\nstatus = \"put\"\n{ask}{put}"
    );
    let split = format!(
        "{get}out = \"outer\"\n[node.outer]\ntype = \"split\"\nby = \"line\"\nout = [\"inner\", \"again\"]\ndone = \"put\"\n\
         [node.inner]\ntype = \"split\"\nby = \"line\"\nout = \"ask\"\n[node.again]\ntype = \"split\"\nby = \"line\"\nout = \"ask\"\n{ask}{put}"
    );
    for (flow, requests) in [(pass, 3), (split, 4)] {
        let engine = world.engine(&flow);
        world.put(&input, &Message::new("a\nb\n"));
        world.get(&done);
        drop(engine);
        let mut asked = asked.lock().expect("no panic");
        let keys: BTreeSet<&String> = asked.iter().map(|(_, key, _)| key).collect();
        assert_eq!((asked.len(), keys.len()), (requests, requests), "{asked:?}");
        asked.clear();
    }
}

/// The attempts of one message have the same keys.
#[test]
fn a_message_that_is_processed_again_has_the_same_key() {
    let (address, asked) = server(|number| if number == 0 { 500 } else { 200 });
    let world = World::new();
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let _engine = world.engine(&format!(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"ask\"\n\
         [node.ask]\ntype = \"http_request\"\nurl = \"http://{address}/\"\nout = \"put\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
    ));
    world.put(&input, &Message::new("x"));
    assert_eq!(world.get_text(&out), "answer to x");
    let asked = asked.lock().expect("no panic");
    assert!(asked.len() == 2 && asked[0].1 == asked[1].1, "{asked:?}");
}

/// The place of a pass was kept under the id of zeros: a pass that failed made the next one, of another request, begin in the middle.
#[test]
fn a_pass_that_failed_does_not_shorten_the_pass_of_another_request() {
    let world = World::new();
    world.file("F", &["K1", "K2", "K3", "K4"]);
    let out = world.queue_with(QueueDefinition { depth_max: 2, ..QueueDefinition::local("OUT") });
    let listen = free_address();
    let _engine = world.engine(&format!(
        "time_limit = \"5s\"\n[node.listen]\ntype = \"http_input\"\nlisten = \"{listen}\"\npath = \"/x\"\nout = \"pass\"\n\
         [node.pass]\ntype = \"record_input\"\nfile = \"F\"\ncommit_count = 1\nrecord = \"put\"\nstatus = \"answer\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n[node.answer]\ntype = \"reply\"\n"
    ));
    assert!(post(listen, &[], "first").starts_with("HTTP/1.1 500"), "no room for all records");
    let mut passed = Vec::new();
    let asking = std::thread::spawn(move || post(listen, &[], "second"));
    while !asking.is_finished() {
        if out.facts().expect("facts").depth > 0 {
            passed.push(world.get_text(&out)[..2].to_owned());
        } else {
            std::thread::yield_now();
        }
    }
    let answer = asking.join().expect("no panic");
    while out.facts().expect("facts").depth > 0 {
        passed.push(world.get_text(&out)[..2].to_owned());
    }
    assert!(answer.contains("\"records\":4"), "{answer}");
    assert_eq!(passed, ["K1", "K2", "K1", "K2", "K3", "K4"]);
    let unit = world.store.begin().expect("a unit");
    let mut page = quayline_store::Page::default();
    let (space, limit) = (quayline_store::Space::CHECKPOINTS, quayline_store::PageLimit::default());
    let all = quayline_store::KeyRange::ALL;
    unit.page(space, all, quayline_store::Direction::Forward, limit, &mut page).expect("a page");
    let is_pass = |key: &[u8]| key.starts_with(b"flow-pass/test/pass/");
    assert!(page.iter().all(|(found, _)| !is_pass(found)), "no checkpoint is left for ever");
}
