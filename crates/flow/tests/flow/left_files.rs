//! Files that cannot be written after the commit.

use std::sync::atomic::Ordering;

use quayline_flow::{Flow, LeftFiles};
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

/// A correction of `folder` in the flow left the files of earlier messages in the store, and nothing said what to do.
#[test]
fn a_symbolic_link_leads_files_that_are_left_to_the_right_folder() {
    let world = World::new();
    let input = world.queue("IN");
    world.write("wrong", "a file and no folder");
    let engine = world.engine(&WRITE.replace("\"out\"\n", "\"wrong\"\n"));
    for name in ["a", "b"] {
        world.put(&input, &message(name));
    }
    until("the units of work commit", || ended(&engine).0 == 2);
    until("the node waits", || {
        let waits = engine.flows()[0].stats.nodes[1].waits_for();
        waits.is_some_and(|last| last.finding.hint.is_some_and(|hint| hint.contains("symbolic link")))
    });
    let folder = world.path().join("wrong");
    assert_eq!(engine.drain(), [LeftFiles { folder, files: 2 }]);
    let engine = world.engine(&WRITE.replace("\"out\"\n", "\"right\"\n"));
    world.put(&input, &message("c"));
    let read = |name: &str| std::fs::read_to_string(world.path().join("right").join(name)).unwrap_or_default();
    until("a later message has the right folder", || read("c") == "c");
    std::fs::remove_file(world.path().join("wrong")).expect("removed");
    std::os::unix::fs::symlink(world.path().join("right"), world.path().join("wrong")).expect("a link");
    until("the others are written", || ["a", "b"].iter().all(|name| read(name) == *name));
    assert_eq!(engine.drain(), []);
}

/// A state that is over looked like a current one: the last failure of a node stayed in its statistics.
#[test]
fn a_node_whose_files_are_written_no_longer_waits() {
    let world = World::new();
    let input = world.queue("IN");
    world.write("out", "a file and no folder");
    let engine = world.engine(WRITE);
    world.put(&input, &message("a"));
    let waits = || engine.flows()[0].stats.nodes[1].waits_for();
    until("the node waits", || waits().is_some_and(|last| last.finding.code.0 == "FLO-049"));
    let shown = || quayline_flow::answer(&engine, 0, "GET", "/flows").expect("an answer").1[0].clone();
    assert!(shown()["nodes"][1]["waits_for"].as_str().is_some_and(|why| why.starts_with("FLO-049: ")), "{}", shown());
    std::fs::remove_file(world.path().join("out")).expect("removed");
    until("the node continues", || waits().is_none());
    assert!(shown()["nodes"][1]["waits_for"].is_null() && !shown()["nodes"][1]["last_failure"].is_null());
}
