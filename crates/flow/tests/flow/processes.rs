//! Several processes on one PostgreSQL store: exclusive work has one owner.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use quayline_flow::{Engine, Flow};
use quayline_project::FlowFile;
use quayline_store::queue::{Message, QueueDefinition};
use quayline_store::{Access, Clock, Store, StoreLimits, SystemClock};
use quayline_store_postgres::{Endpoint, PostgresEngine};

use crate::postgres::Postgres;
use crate::support::{World, until};

/// Opens the database as another process does.
pub(crate) fn process(postgres: &Postgres) -> World {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let endpoint = Endpoint::parse(&postgres.address()).expect("an address");
    let engine = PostgresEngine::open(endpoint).expect("an engine");
    let store = Store::open(Arc::new(engine), clock, StoreLimits::default(), Access::Write).expect("a store");
    World::over(store)
}

fn start(world: &World, root: &World, text: &str) -> Engine {
    let engine = world.empty_engine(1);
    let file = FlowFile::parse("test.toml", text).expect("a flow file");
    engine.deploy(Flow::compile(file, root.path(), None).unwrap_or_else(|findings| panic!("{findings}")));
    engine
}

fn node(engine: &Engine, name: &str) -> (bool, u64) {
    let flow = engine.flows().into_iter().next().expect("a flow");
    let at = flow.flow.file.nodes.iter().position(|node| node.name == name).expect("a node");
    let stats = &flow.stats.nodes[at];
    (stats.is_elsewhere.load(Ordering::Relaxed), stats.messages.load(Ordering::Relaxed))
}

/// Each process took files, fired timers and kept orders for itself: files were processed twice, timers fired twice, and order was lost.
#[test]
fn what_only_one_process_may_do_has_one_owner_and_another_one_after_its_end() {
    let Some(postgres) = Postgres::start() else {
        eprintln!(
            "skipped: what_only_one_process_may_do_has_one_owner_and_another_one_after_its_end: PostgreSQL's server is not installed"
        );
        return;
    };
    let (one, other) = (process(&postgres), process(&postgres));
    let (input, out) =
        (one.queue("IN"), one.queue_with(QueueDefinition { depth_max: 100_000, ..QueueDefinition::local("OUT") }));
    let (files, free) = (one.queue("FILES"), one.queue("FREE"));
    let text = "additional_instances = 3\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\norder = \"by_key\"\norder_key = \"envelope.property_key\"\nout = \"put\"\n\
                [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n\
                [node.look]\ntype = \"folder_input\"\nfolder = \"in\"\ninterval = \"10ms\"\nsettle = \"0ms\"\nout = \"file\"\n\
                [node.file]\ntype = \"queue_output\"\nqueue = \"FILES\"\n\
                [node.any]\ntype = \"queue_input\"\nqueue = \"FREE\"\nout = []\n";
    std::fs::create_dir_all(one.path().join("in")).expect("a folder");
    let first = start(&one, &one, text);
    until("the first process has the order", || first.flows()[0].stats.not_begun().is_none() && !node(&first, "get").0);
    one.put(&input, &Message { properties: vec![("key".into(), b"k".to_vec())], ..Message::new("0") });
    assert_eq!(one.get_text(&out), "0");
    let second = start(&other, &one, text);
    until("the second waits", || node(&second, "get").0 && node(&second, "look").0);
    for number in 1..=200 {
        let key = (number % 3).to_string().into_bytes();
        one.put(&input, &Message { properties: vec![("key".into(), key)], ..Message::new(number.to_string()) });
    }
    for number in 0..20 {
        one.write(&format!("in/{number}"), &number.to_string());
    }
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    for _ in 1..=200 {
        let number: u32 = one.get_text(&out).parse().expect("a number");
        assert!(last.insert(number % 3, number).is_none_or(|before| before < number), "{number} came too late");
    }
    until("all files are taken", || files.facts().expect("facts").depth == 20);
    assert_eq!(second.flows()[0].stats.received.load(Ordering::Relaxed), 0);
    // What has no order is for both.
    until("both have messages without order", || {
        one.put(&free, &Message::new("x"));
        [&first, &second].iter().all(|engine| node(engine, "any").1 > 0)
    });
    drop(first);
    until("the second takes over", || !node(&second, "get").0 && !node(&second, "look").0);
    one.put(&input, &Message { properties: vec![("key".into(), b"k".to_vec())], ..Message::new("after") });
    assert_eq!(one.get_text(&out), "after");
    one.write("in/later", "later");
    until("the file is taken", || files.facts().expect("facts").depth == 21);
    drop(second);
}
