//! Files that cannot be written after the commit.

use std::sync::atomic::Ordering;

use quayline_flow::Flow;
use quayline_project::FlowFile;
use quayline_store::queue::Message;

use crate::support::{World, ended, until};

const WRITE: &str = "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"write\"\n\
                     [node.write]\ntype = \"file_output\"\nfolder = \"out\"\nname.from = 'envelope.property_name'\n";

fn message(name: &str) -> Message {
    Message { properties: vec![("name".to_owned(), name.into())], ..Message::new(name) }
}

/// A file that could not be written was left for the next start.
#[test]
fn a_file_is_written_as_soon_as_its_folder_is_there() {
    let world = World::new();
    let input = world.queue("IN");
    world.write("out", "a file and no folder");
    let engine = world.engine(WRITE);
    for name in ["a", "b", "c"] {
        world.put(&input, &message(name));
    }
    until("the units of work commit", || ended(&engine).0 == 3);
    until("the node says so", || {
        world.errors().contains("FLO-049") && world.errors().contains("flow test, node write")
    });
    until("the files that wait are counted", || world.errors().contains("2 more wait for the same folder"));
    let stats = &engine.flows()[0].stats;
    assert!(
        stats.nodes.iter().any(|node| node.last_error().is_some()) && stats.rolled_back.load(Ordering::Relaxed) == 0
    );
    std::fs::remove_file(world.path().join("out")).expect("removed");
    let read = |name: &str| std::fs::read_to_string(world.path().join("out").join(name)).unwrap_or_default();
    until("they are written", || ["a", "b", "c"].iter().all(|name| read(name) == *name));
}

/// The first entry that could not be written kept every flow of the process from starting.
#[test]
fn a_folder_that_is_missing_keeps_no_flow_from_starting() {
    let world = World::new();
    let (input, other, out) = (world.queue("IN"), world.queue("OTHER"), world.queue("OUT"));
    world.write("out", "a file and no folder");
    let engine = world.engine(WRITE);
    world.put(&input, &message("a"));
    until("the unit of work commits", || ended(&engine).0 == 1);
    drop(engine);
    world.said.failed.lock().expect("no panic").clear();
    let engine = world.empty_engine(1);
    let text = "[node.get]\ntype = \"queue_input\"\nqueue = \"OTHER\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n";
    let file = FlowFile::parse("other.toml", text).expect("a flow file");
    engine.deploy(Flow::compile(file, world.path(), None).expect("a flow"));
    world.put(&other, &Message::new("x"));
    assert_eq!(world.get_text(&out), "x");
    until("the file is reported", || {
        world.errors().contains("FLO-049") && world.errors().contains("flow test, node write")
    });
    std::fs::remove_file(world.path().join("out")).expect("removed");
    until("it is written", || std::fs::read_to_string(world.path().join("out/a")).is_ok_and(|text| text == "a"));
}
