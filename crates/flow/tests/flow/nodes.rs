//! Each type of node on real messages.

use std::sync::atomic::Ordering;

use quayline_core::Severity;
use quayline_store::queue::{DEAD_LETTER, Message, Persistence, QueueDefinition};

use crate::bridge::until_empty;
use crate::support::{World, ended, record, until};

const ORDER: &str = "order\n  id text(8)\n  amount decimal(9,2)\n";

#[test]
fn a_message_is_routed_by_content_and_the_reply_is_correlated() {
    let world = World::new();
    world.write("order.shape", ORDER);
    let (input, large, small) = (world.queue("IN"), world.queue("LARGE"), world.queue("SMALL"));
    let engine = world.engine(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
message = "order.shape"
out = "choose"
[node.choose]
type = "route"
cases = [{ when = "amount >= 100", to = "put-large" }]
no_match = "put-small"
[node.put-large]
type = "queue_output"
queue = "LARGE"
[node.put-small]
type = "queue_output"
queue = "SMALL"
priority = 7
persistence = "no"
"#,
    );
    world.put(&input, &Message { id: [1; 24], ..Message::new(*br#"{"id":"a","amount":100}"#) });
    world.put(&input, &Message { id: [2; 24], ..Message::new(*br#"{"id":"b","amount":99.99}"#) });
    let (one, other) = (world.get(&large), world.get(&small));
    assert_eq!(
        (one.payload.as_slice(), one.correlation, one.persistence),
        (&br#"{"id":"a","amount":100}"#[..], [1; 24], Persistence::Persistent)
    );
    assert_eq!((other.correlation, other.priority, other.persistence), ([2; 24], 7, Persistence::NotPersistent));
    assert_ne!(one.id, [1; 24], "the message is a new one");
    drop(engine);
}

/// A message that no case fitted, or that `validate` refused, was gone if nothing was wired.
#[test]
fn a_message_that_fits_nowhere_is_not_dropped_unless_the_flow_says_so() {
    let route = "type = \"route\"\ncases = [{ when = \"amount >= 100\", to = \"put\" }]\n";
    let validate = "type = \"validate\"\nout = \"put\"\n";
    for (node, small, code) in
        [(route, &br#"{"id":"a","amount":1}"#[..], "FLO-043"), (validate, &br#"{"id":"a","other":1}"#[..], "FLO-0")]
    {
        for (wire, is_kept) in [("", true), ("no_match = []\n", false)] {
            let world = World::new();
            world.write("order.shape", ORDER);
            let (input, output, dead) = (world.queue("IN"), world.queue("OUT"), world.queue(DEAD_LETTER));
            let engine = world.engine(&format!(
                "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"order.shape\"\nout = \"choose\"\n\
                 [node.choose]\n{node}{wire}[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
            ));
            world.put(&input, &Message::new(small));
            world.put(&input, &Message::new(*br#"{"id":"b","amount":100}"#));
            assert_eq!(world.get_text(&output), r#"{"id":"b","amount":100}"#);
            if is_kept {
                assert_eq!(world.get(&dead).payload, small, "{node}");
                assert!(world.errors().contains(code), "{}", world.errors());
            }
            until_empty(&world.store, &[input.name()]);
            drop(engine);
            assert_eq!(dead.facts().expect("facts").depth, 0, "{node}{wire}");
        }
    }
}

/// Such messages left by `out`: an order without content had the answer of a good one.
#[test]
fn a_message_without_a_document_does_not_fit_its_shape() {
    for content in ["", " \n", "[]"] {
        let world = World::new();
        world.write("order.shape", ORDER);
        let (input, output, rest) = (world.queue("IN"), world.queue("OUT"), world.queue("REST"));
        let _engine = world.engine(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"order.shape\"\nout = \"check\"\n\
             [node.check]\ntype = \"validate\"\nout = \"put\"\nno_match = \"rest\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n[node.rest]\ntype = \"queue_output\"\nqueue = \"REST\"\n",
        );
        world.put(&input, &Message::new(content));
        assert_eq!(world.get(&rest).payload, content.as_bytes());
        assert_eq!(output.facts().expect("facts").depth, 0, "{content:?}");
    }
}

#[test]
fn a_label_names_the_next_node() {
    let world = World::new();
    let (input, a, rest) = (world.queue("IN"), world.queue("A"), world.queue("REST"));
    let _engine = world.engine(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
out = "choose"
[node.choose]
type = "route"
label.from = 'envelope.property_kind ?? "none"'
labels = ["a"]
no_match = "rest"
[node.a]
type = "queue_output"
queue = "A"
[node.rest]
type = "queue_output"
queue = "REST"
"#,
    );
    let of = |kind: &str| Message { properties: vec![("kind".into(), kind.into())], ..Message::new(kind.as_bytes()) };
    world.put(&input, &of("a"));
    world.put(&input, &of("zz"));
    world.put(&input, &Message::new(*b"nothing"));
    assert_eq!(world.get_text(&a), "a");
    assert_eq!([world.get_text(&rest), world.get_text(&rest)], ["zz", "nothing"]);
}

#[test]
fn records_are_read_written_updated_and_deleted_with_their_terminals() {
    let world = World::new();
    world.file("F", &["K1", "K3"]);
    let (input, output) = (world.queue("IN"), world.queue("OUT"));
    let node = |kind: &str, keys: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"record\"\n[node.record]\ntype = \"{kind}\"\nfile = \"F\"\n{keys}\nstatus = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        )
    };
    let key = "key.from = \"envelope.property_key\"";
    let ask = |flow: &str, key: &str, content: &[u8]| {
        let engine = world.engine(flow);
        world.put(&input, &Message { properties: vec![("key".into(), key.into())], ..Message::new(content) });
        let status: serde_json::Value = serde_json::from_str(&world.get_text(&output)).expect("a status message");
        until("the unit of work ends", || ended(&engine).0 == 1);
        status["status"].as_str().expect("a status").to_owned()
    };
    let read = node("record_read", &format!("{key}\nout = []"));
    let ge = node("record_read", &format!("{key}\nmode = \"KEY_GE\"\nout = []"));
    let last = node("record_read", "mode = \"LAST\"\nout = []");
    assert_eq!(
        [ask(&read, "K1", b""), ask(&read, "K2", b""), ask(&ge, "K2", b""), ask(&ge, "K4", b""), ask(&last, "", b"")],
        ["00", "23", "00", "23", "00"]
    );
    let write = node("record_write", "");
    assert_eq!([ask(&write, "", &record("K2")), ask(&write, "", &record("K2"))], ["00", "22"]);
    let update = node("record_update", "");
    let mut changed = record("K2");
    changed[31] = b'X';
    assert_eq!([ask(&update, "", &changed), ask(&update, "", &record("K9"))], ["00", "23"]);
    let delete = node("record_delete", key);
    assert_eq!([ask(&delete, "K1", b""), ask(&delete, "K1", b"")], ["00", "23"]);
    let unit = world.store.begin().expect("a unit");
    let file = world.store.file(&unit, "F").expect("a file");
    let mut records = Vec::new();
    file.scan(&unit, &mut |_, record| {
        records.push(record.to_vec());
        Ok(())
    })
    .expect("a scan");
    assert_eq!(records, [changed, record("K3")]);
}

#[test]
fn a_pass_over_a_file_makes_a_message_of_each_record_and_a_status() {
    let world = World::new();
    let keys: Vec<String> = (0..2_500).map(|n| format!("K{n:07}")).collect();
    world.file("F", &keys.iter().map(String::as_str).collect::<Vec<_>>());
    let (input, records, status) = (world.queue("IN"), world.queue("RECORDS"), world.queue("STATUS"));
    let _engine = world.engine(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
out = "pass"
[node.pass]
type = "record_input"
file = "F"
commit_count = 100
record = "put"
status = "end"
[node.put]
type = "queue_output"
queue = "RECORDS"
[node.end]
type = "queue_output"
queue = "STATUS"
"#,
    );
    for persistence in [Persistence::Persistent, Persistence::NotPersistent] {
        world.put(&input, &Message { persistence, ..Message::new(*b"go") });
        let end: serde_json::Value = serde_json::from_str(&world.get_text(&status)).expect("a status message");
        assert_eq!((end["records"].as_u64(), end["status"].as_str()), (Some(2_500), Some("10")));
        for key in &keys {
            let one = world.get(&records);
            assert_eq!((one.payload, one.persistence), (record(key), persistence));
        }
    }
    let unit = world.store.begin().expect("a unit");
    assert_eq!(unit.checkpoint("flow-pass/test/pass/").expect("an answer"), None);
}

#[test]
fn what_fails_goes_to_failure_then_try_then_catch_then_back() {
    let world = World::new();
    world.write("order.shape", ORDER);
    let input = world.queue_with(QueueDefinition {
        backout_threshold: 2,
        backout_queue: "BACK".into(),
        ..QueueDefinition::local("IN")
    });
    let (errors, back) = (world.queue("ERR"), world.queue("BACK"));
    let flow = |catch: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"order.shape\"\nout = \"try\"\n{catch}\n\
             [node.try]\ntype = \"try\"\ntry = \"fail\"\ncatch = \"again\"\n\
             [node.fail]\ntype = \"throw\"\ntext.from = 'if amount > 5 then \"large\" else \"small\"'\n\
             [node.again]\ntype = \"filter\"\nwhen = 'envelope.error_text = \"large\"'\nout = \"put\"\nno_match = \"fail2\"\n\
             [node.fail2]\ntype = \"throw\"\ntext = \"again\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"ERR\"\n"
        )
    };
    let engine = world.engine(&flow(""));
    world.put(&input, &Message::new(*br#"{"id":"a","amount":6}"#));
    assert_eq!(world.get_text(&errors), r#"{"id":"a","amount":6}"#);
    world.put(&input, &Message::new(*br#"{"id":"a","amount":1}"#));
    let poison = world.get(&back);
    let reason =
        "2 units of work that got it from IN rolled back (STO-043); the last at flow test, node fail2: again (FLO-044)";
    assert_eq!(poison.reason, reason);
    let property = |wanted: &str| {
        let found = poison.properties.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| String::from_utf8(value.clone()).expect("text"))
    };
    assert_eq!(property("quayline.failure-code").as_deref(), Some("FLO-044"));
    assert_eq!(property("quayline.failure-place").as_deref(), Some("flow test, node fail2"));
    assert_eq!(property("quayline.failure-text").as_deref(), Some("again"));
    until("both attempts are counted", || ended(&engine).1 == 2);
    let last = engine.flows()[0].stats.last_error().expect("a failure");
    // The id on the backout queue is that of the message.
    let id = quayline_core::hex(&poison.id);
    assert_eq!(
        last.finding.to_string(),
        format!(
            "error[FLO-044]: again\n  at flow test, node fail2, message {id}\n\nhint: the flow file decides this; see the node in the flow"
        )
    );
    drop(engine);
    let _engine = world.engine(&flow("catch = \"put\""));
    world.put(&input, &Message::new(*br#"{"id":"a","amount":2}"#));
    assert_eq!(world.get_text(&errors), r#"{"id":"a","amount":2}"#);
    world.put(&input, &Message::new(*b"no JSON"));
    assert_eq!(
        world.get_text(&errors),
        "no JSON",
        "content that cannot be read is a failure of the node that reads it"
    );
}

#[test]
fn a_try_whose_catch_is_not_wired_catches_nothing() {
    let world = World::new();
    world.write("order.shape", ORDER);
    let input = world.queue_with(QueueDefinition {
        backout_threshold: 1,
        backout_queue: "BACK".into(),
        ..QueueDefinition::local("IN")
    });
    let (errors, back) = (world.queue("ERR"), world.queue("BACK"));
    let flow = |outer: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"order.shape\"\nout = \"outer\"\n\
             [node.outer]\ntype = \"try\"\ntry = \"inner\"\n{outer}\n\
             [node.inner]\ntype = \"try\"\ntry = \"fail\"\n\
             [node.fail]\ntype = \"throw\"\ntext = \"no\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"ERR\"\n"
        )
    };
    let engine = world.engine(&flow("catch = \"put\""));
    world.put(&input, &Message::new(*br#"{"id":"a","amount":1}"#));
    assert_eq!(world.get_text(&errors), r#"{"id":"a","amount":1}"#, "the next try before it catches");
    drop(engine);
    let without = flow("");
    let _engine = world.engine(without.split("[node.put]").next().expect("the nodes before it"));
    world.put(&input, &Message::new(*br#"{"id":"a","amount":2}"#));
    assert_eq!(world.get_text(&back), r#"{"id":"a","amount":2}"#, "nothing catches it");
}

#[test]
fn a_failed_unit_of_work_leaves_nothing() {
    let world = World::new();
    world.file("F", &[]);
    let input = world.queue_with(QueueDefinition {
        backout_threshold: 1,
        backout_queue: "BACK".into(),
        ..QueueDefinition::local("IN")
    });
    let (out, back) = (world.queue("OUT"), world.queue("BACK"));
    let engine = world.engine(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
out = ["write", "put", "fail"]
[node.write]
type = "record_write"
file = "F"
[node.put]
type = "queue_output"
queue = "OUT"
[node.fail]
type = "throw"
text = "no"
"#,
    );
    world.put(&input, &Message::new(record("K1")));
    assert_eq!(world.get(&back).payload, record("K1"));
    assert_eq!(out.facts().expect("facts").depth, 0);
    let unit = world.store.begin().expect("a unit");
    assert!(world.store.file(&unit, "F").expect("a file").is_empty(&unit).expect("an answer"));
    drop(engine);
}

#[test]
fn parts_files_traces_and_timers() {
    let world = World::new();
    world.write("order.shape", ORDER);
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
message = "order.shape"
out = "split"
[node.split]
type = "split"
by = "document"
out = ["trace", "put"]
done = "file"
[node.trace]
type = "trace"
text.from = 'id & " " & (envelope.part ?? "?")'
[node.put]
type = "queue_output"
queue = "OUT"
[node.file]
type = "file_output"
folder = "out"
name.from = '"batch-" & left(envelope.message_id, 4) & ".json"'
[node.timer]
type = "timer_input"
every = "20ms"
payload = "tick"
out = "tick"
[node.tick]
type = "trace"
text = "tick"
"#,
    );
    let batch = "{\"id\":\"a\",\"amount\":1}\n{\"id\":\"b\",\"amount\":2}\n";
    world.put(&input, &Message { id: [0xab; 24], ..Message::new(batch) });
    assert_eq!([world.get_text(&out), world.get_text(&out)], [r#"{"id":"a","amount":1}"#, r#"{"id":"b","amount":2}"#]);
    let path = world.path().join("out/batch-abab.json");
    until("the file is written", || path.exists());
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), batch);
    until("the timer has fired twice", || {
        world.said.traced.lock().expect("no panic").iter().filter(|line| *line == "tick: tick").count() >= 2
    });
    let traced = world.said.traced.lock().expect("no panic").clone();
    assert!(traced.contains(&"trace: a 1".to_owned()) && traced.contains(&"trace: b 2".to_owned()), "{traced:?}");
    assert!(engine.flows()[0].stats.nodes[0].messages.load(Ordering::Relaxed) >= 1);
}

/// The reference said that `split` finds the documents of every format; of an interchange, it finds them after a map to JSON.
#[test]
fn a_map_to_json_makes_a_part_of_each_transaction() {
    let world = World::new();
    let edi = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi");
    world.write("order.shape", "order\n  number text(22)\n");
    world.write(
        "numbers.qmap",
        &format!(
            "map \"numbers of orders\"\nsource \"{edi}/850.guide\"\ntarget order \"order.shape\"\n\nnumber = BEG.BEG03\n"
        ),
    );
    let (input, out) = (world.queue("IN"), world.queue("OUT"));
    let flow = |map: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"{edi}/850.guide\"\nout = \"{}\"\n{map}\
             [node.split]\ntype = \"split\"\nby = \"document\"\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
            if map.is_empty() { "split" } else { "map" }
        )
    };
    let refused = world.compile(&flow("")).expect_err("EDI is not split").to_string();
    assert!(refused.contains("FLO-022") && refused.contains("a document of each EDI transaction"), "{refused}");
    let _engine = world.engine(&flow("[node.map]\ntype = \"map\"\nmap = \"numbers.qmap\"\nout = \"split\"\n"));
    world.put(&input, &Message::new(std::fs::read(format!("{edi}/850.x12")).expect("orders")));
    let parts = [world.get_text(&out), world.get_text(&out), world.get_text(&out)];
    assert_eq!(parts, ["PO4711", "PO4712", "PO4705"].map(|number| format!("{{\"number\":\"{number}\"}}")));
}

#[test]
fn files_of_a_folder_are_messages_once() {
    let world = World::new();
    let out = world.queue("OUT");
    world.write("in/b.txt", "second");
    world.write("in/a.txt", "first");
    world.write("in/c.tmp", "not this one");
    let engine = world.engine(
        "[node.look]\ntype = \"folder_input\"\nfolder = \"in\"\npattern = \"*.txt\"\ninterval = \"10ms\"\nsettle = \"0ms\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    assert_eq!([world.get_text(&out), world.get_text(&out)], ["first", "second"]);
    until("the files are moved", || {
        world.path().join("in/done/b.txt").exists() && !world.path().join("in/a.txt").exists()
    });
    assert!(world.path().join("in/c.tmp").exists());
    drop(engine);
    assert_eq!(out.facts().expect("facts").depth, 0);
}

#[test]
fn a_message_that_flows_send_round_fails_after_a_hundred_queues() {
    let world = World::new();
    let input = world.queue_with(QueueDefinition {
        backout_threshold: 1,
        backout_queue: "BACK".into(),
        ..QueueDefinition::local("A")
    });
    let back = world.queue("BACK");
    let flow = world.compile("[node.get]\ntype = \"queue_input\"\nqueue = \"A\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"A\"\n").expect("a flow");
    assert_eq!(flow.findings.iter().map(|finding| finding.code.0).collect::<Vec<_>>(), ["FLO-026"]);
    let engine = world.empty_engine(2);
    engine.deploy(flow);
    world.put(&input, &Message::new(*b"round"));
    assert_eq!(world.get_text(&back), "round");
    until("the failure is reported", || world.errors().contains("FLO-046"));
}

#[test]
fn a_full_queue_makes_the_flow_wait_and_not_fail() {
    let world = World::new();
    let input = world.queue("IN");
    let out = world.queue_with(QueueDefinition { depth_max: 1, ..QueueDefinition::local("OUT") });
    let _engine = world.engine(
        "additional_instances = 3\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    (0..20u8).for_each(|number| world.put(&input, &Message::new([number])));
    let mut got: Vec<u8> = (0..20).map(|_| world.get(&out).payload[0]).collect();
    got.sort_unstable();
    assert_eq!(got, (0..20).collect::<Vec<u8>>());
    assert_eq!(world.errors(), "");
}

#[test]
fn a_request_by_http_is_answered_after_its_commit() {
    use std::io::{Read as _, Write as _};
    let world = World::new();
    world.write("order.shape", ORDER);
    world.file("F", &[]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let _engine = world.engine(&format!(
        r#"
additional_instances = 3
[node.listen]
type = "http_input"
listen = "{free}"
path = "/records"
out = "write"
[node.write]
type = "record_write"
file = "F"
out = "answer"
[node.answer]
type = "reply"
status = 201
content_type = "text/plain"
"#
    ));
    let ask = |method: &str, path: &str, content: &[u8]| {
        let mut stream = None;
        until("the flow listens", || {
            stream = std::net::TcpStream::connect(free).ok();
            stream.is_some()
        });
        let mut stream = stream.expect("a connection");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            content.len()
        );
        stream.write_all(&[head.as_bytes(), content].concat()).expect("a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        String::from_utf8(answer).expect("text")
    };
    let created = ask("POST", "/records", &record("K1"));
    assert!(created.starts_with("HTTP/1.1 201") && created.contains("content-type: text/plain"), "{created}");
    let unit = world.store.begin().expect("a unit");
    assert!(
        !world.store.file(&unit, "F").expect("a file").is_empty(&unit).expect("an answer"),
        "the answer came after the commit"
    );
    let twice = ask("POST", "/records", &record("K1"));
    assert!(twice.starts_with("HTTP/1.1 500") && twice.contains("nothing of the request was done"), "{twice}");
    assert!(ask("POST", "/other", b"").starts_with("HTTP/1.1 404"));
    assert!(ask("GET", "/records", b"").starts_with("HTTP/1.1 405"));
}

#[test]
fn a_missing_file_is_a_failure_of_its_node_with_its_status() {
    let world = World::new();
    let (input, errors) = (world.queue("IN"), world.queue("ERR"));
    let _engine = world.engine(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
out = "read"
[node.read]
type = "record_read"
file.from = 'envelope.property_file'
key = "K1"
out = []
failure = "trace"
[node.trace]
type = "trace"
text.from = 'envelope.error_node & " " & envelope.error_code & " " & envelope.status'
out = "put"
[node.put]
type = "queue_output"
queue = "ERR"
"#,
    );
    world.put(&input, &Message { properties: vec![("file".into(), b"NO.FILE".to_vec())], ..Message::new(*b"x") });
    assert_eq!(world.get_text(&errors), "x");
    world.put(&input, &Message::new(*b"y"));
    assert_eq!(world.get_text(&errors), "y");
    let traced = world.said.traced.lock().expect("no panic").clone();
    assert_eq!(traced, ["trace: read STO-019 35", "trace: read FLO-041 "]);
}

/// One flow that fails does not hold up thousands of others, and a message of 50 MB passes.
#[test]
fn thousands_of_flows_run_beside_one_that_fails() {
    let world = World::new();
    let count = 2_000;
    let engine = world.empty_engine(2);
    let mut unit = world.store.begin().expect("a unit");
    for number in 0..count {
        let definition =
            QueueDefinition { message_bytes_max: 60 << 20, ..QueueDefinition::local(&format!("Q{number}")) };
        world.store.define_queue(&mut unit, definition).expect("a definition");
    }
    unit.commit().expect("a commit");
    let out = world.queue_with(QueueDefinition { message_bytes_max: 60 << 20, ..QueueDefinition::local("OUT") });
    for number in 0..count {
        let next =
            if number == 0 { "type = \"throw\"\ntext = \"no\"" } else { "type = \"queue_output\"\nqueue = \"OUT\"" };
        let text =
            format!("[node.get]\ntype = \"queue_input\"\nqueue = \"Q{number}\"\nout = \"next\"\n[node.next]\n{next}\n");
        let mut flow = world.compile(&text).expect("a flow");
        flow.file.name = format!("flow{number}");
        engine.deploy(flow);
    }
    let queue = |number: usize| world.store.queue(&format!("Q{number}")).expect("a queue");
    world.put(&queue(0), &Message::new(*b"fails"));
    world.put(&queue(7), &Message::new(vec![7; 50 << 20]));
    assert_eq!(world.get(&out).payload.len(), 50 << 20);
    for number in (1..count).step_by(199) {
        world.put(&queue(number), &Message::new(number.to_string()));
        assert_eq!(world.get_text(&out), number.to_string());
    }
    assert_eq!(engine.flows().len(), count);
    until("the failure is reported", || world.errors().contains("flow flow0, node next"));
}

/// A map node counts the floats that it rounds as warnings.
#[test]
fn a_map_node_tells_the_floats_that_it_rounds() {
    let world = World::new();
    world.write("in.shape", "in\n  d float\n");
    world.write("out.shape", "out\n  f float32\n");
    world.write("m.qmap", "source \"in.shape\"\ntarget out \"out.shape\"\nf = d\n");
    let (input, output) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"in.shape\"\nout = \"change\"\n\
         [node.change]\ntype = \"map\"\nmap = \"m.qmap\"\nout = \"put\"\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    for (number, text) in [("0.5", "0.5"), ("16777217", "16777216.0")] {
        world.put(&input, &Message::new(format!("{{\"d\":{number}}}")));
        assert_eq!(world.get_text(&output), format!("{{\"f\":{text}}}"));
    }
    let last = engine.flows()[0].stats.nodes[1].last_warning();
    assert!(last.is_some_and(|last| last.finding.code.0 == "MAP-225"), "{:?}", engine.flows()[0].stats.nodes[1]);
}

/// Messages that a filter or a map drops had no trace, and a map that dropped its document sent an empty message.
#[test]
fn dropped_messages_are_counted_and_the_check_notes_them() {
    let world = World::new();
    world.write("order.shape", ORDER);
    world.write(
        "m.qmap",
        "map \"m\"\nsource \"order.shape\"\ntarget order \"order.shape\"\nid = id\namount = amount\nif amount > 50 {\n  drop\n}\n",
    );
    let flow = |wire: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"order.shape\"\nout = \"choose\"\n\
             [node.choose]\ntype = \"filter\"\nwhen = 'amount > 1'\nout = \"change\"\n{wire}\
             [node.change]\ntype = \"map\"\nmap = \"m.qmap\"\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        )
    };
    let (input, output) = (world.queue("IN"), world.queue("OUT"));
    let codes = |text: &str| {
        let flow = world.compile(text).expect("a flow");
        flow.findings.iter().map(|finding| (finding.code.0, finding.severity)).collect::<Vec<_>>()
    };
    assert_eq!(codes(&flow("")), [("FLO-078", Severity::Note)]);
    assert_eq!(codes(&flow("no_match = []\n")), []);
    let engine = world.engine(&flow(""));
    for amount in [1, 100, 2] {
        world.put(&input, &Message::new(format!("{{\"id\":\"a\",\"amount\":{amount}}}")));
    }
    assert_eq!(world.get_text(&output), "{\"id\":\"a\",\"amount\":2}");
    let flows = engine.flows();
    let dropped = |node: usize| flows[0].stats.nodes[node].dropped.load(Ordering::Relaxed);
    assert_eq!([0, 1, 2, 3].map(dropped), [0, 1, 1, 0]);
    assert!(flows[0].stats.nodes[2].last_warning().is_some_and(|last| last.finding.code.0 == "CNV-041"));
    let metrics = quayline_flow::metrics(&flows);
    assert!(
        metrics.contains("quayline_flow_node_dropped_total{flow=\"test\",node=\"choose\",type=\"filter\"} 1"),
        "{metrics}"
    );
}

/// Blank lines and messages without parts had no trace.
#[test]
fn what_a_split_leaves_out_is_counted() {
    let world = World::new();
    world.write("order.shape", ORDER);
    let (input, output) = (world.queue("IN"), world.queue("OUT"));
    for (by, messages, told) in [
        ("line", ["a\r\n\r\n\nb", "c"], "2 blank lines of the message are left out"),
        ("line", ["\n", "d"], "the message has blank lines only"),
        ("document", ["[]", "{\"id\":\"a\",\"amount\":1}"], "the message has no parts"),
    ] {
        let engine = world.engine(&format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"order.shape\"\nout = \"cut\"\n\
             [node.cut]\ntype = \"split\"\nby = \"{by}\"\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        ));
        messages.iter().for_each(|message| world.put(&input, &Message::new(*message)));
        let last = messages[1];
        while world.get_text(&output) != last {}
        let flows = engine.flows();
        let node = &flows[0].stats.nodes[1];
        let warning = node.last_warning().expect("a warning").finding;
        assert!(warning.code.0 == "FLO-079" && warning.message.contains(told), "{warning}");
        assert_eq!(node.warnings.load(Ordering::Relaxed), 1);
    }
}

/// The table of a map comes from its node; a warning about a message that the map accepts is counted, and it is there to be read.
#[test]
fn a_map_node_has_the_tables_of_its_map_and_its_warnings_are_counted() {
    let world = World::new();
    world.write("order.shape", ORDER);
    world.write("out.shape", "out\n  name text\n");
    world.write("names.csv", "id,name\na,ADA\n");
    world.write("twice.csv", "id,name\na,ADA\na,BOB\n");
    world.write(
        "m.qmap",
        "map \"m\"\nsource \"order.shape\"\ntarget out \"out.shape\"\nlookup names(id: text) -> (name: text(20))\nif not present(names(id).name) { warning \"no name\" code \"N-1\" }\nname = names(id).name ?? \"?\"\n",
    );
    let flow = |lookup: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"order.shape\"\nout = \"name\"\n[node.name]\ntype = \"map\"\nmap = \"m.qmap\"\n{lookup}out = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        )
    };
    let (input, output) = (world.queue("IN"), world.queue("OUT"));
    let engine = world.engine(&flow("lookups = \"names=names.csv\"\n"));
    for id in ["a", "b", "c"] {
        world.put(&input, &Message::new(format!("{{\"id\":\"{id}\",\"amount\":1}}")));
    }
    let names: Vec<String> = (0..3).map(|_| world.get_text(&output)).collect();
    assert_eq!(names, ["{\"name\":\"ADA\"}", "{\"name\":\"?\"}", "{\"name\":\"?\"}"]);
    let flows = engine.flows();
    let node = &flows[0].stats.nodes[1];
    assert_eq!((node.warnings.load(Ordering::Relaxed), node.failures.load(Ordering::Relaxed)), (2, 0));
    assert!(node.last_warning().is_some_and(|last| last.finding.message.contains("no name")));
    for (lookup, expected) in [
        ("", "the map looks up `names`, and no table has that name"),
        ("lookups = \"names=names.csv|more=names.csv\"\n", "the map does not look up `more`"),
        ("lookups = \"names=absent.csv\"\n", "the table cannot be read"),
        ("lookups = \"names=twice.csv\"\n", "this row has the same keys as line 2"),
        ("lookups = \"names\"\n", "`names` is not NAME=FILE"),
    ] {
        let found = world.compile(&flow(lookup)).err().map(|found| found.to_string()).unwrap_or_default();
        assert!(found.contains(expected), "{lookup}: {found}");
    }
}

/// Writes a map from a number to a purchase order. `purpose` is its expression for BEG01.
fn map_of_orders(world: &World, purpose: &str) {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi/850.guide");
    world.write("in.shape", "in\n  no text(22)\n");
    world.write(
        "m.qmap",
        &format!(
            "map \"m\"\nsource \"in.shape\"\ntarget o \"{guide}\"\ninterchange.sender = \"A\"\ninterchange.receiver = \"B\"\nomit standard\nmake BEG {{ BEG01 = {purpose} BEG02 = \"NE\" BEG03 = no BEG05 = \"20260101\" }}\nmake PO1 {{ make PO1 {{ PO101 = \"1\" PO102 = 1 PO103 = \"EA\" PO104 = 1 PO106 = \"VP\" PO107 = \"X\" }} }}\nomit CTT\n"
        ),
    );
}

/// An interchange that its guide refuses is not sent, as `translate` does not write it.
#[test]
fn interchanges_that_a_flow_makes_are_checked_by_their_guide() {
    let world = World::new();
    map_of_orders(&world, "no");
    let input = world.queue_with(QueueDefinition {
        backout_threshold: 1,
        backout_queue: "BAD".into(),
        ..QueueDefinition::local("IN")
    });
    let (output, bad) = (world.queue("OUT"), world.queue("BAD"));
    let _engine = world.engine(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"in.shape\"\nout = \"name\"\n[node.name]\ntype = \"map\"\nmap = \"m.qmap\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    world.put(&input, &Message::new(*br#"{"no":"7Z"}"#));
    let refused = world.get(&bad);
    assert_eq!(refused.payload, *br#"{"no":"7Z"}"#);
    assert!(refused.reason.contains("EDI-114") && refused.reason.contains("BEG01"), "{}", refused.reason);
    world.put(&input, &Message::new(*br#"{"no":"00"}"#));
    assert!(world.get_text(&output).contains("BEG*00*NE*00*"));
    assert_eq!(output.facts().expect("facts").depth, 0);
}

/// An EDI header without a date gets the time of the flow's message; it had that of 1970.
#[test]
fn interchanges_that_a_flow_makes_have_a_date() {
    let world = World::new();
    map_of_orders(&world, "\"00\"");
    let (input, output) = (world.queue("IN"), world.queue("OUT"));
    let _engine = world.engine(
        "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"in.shape\"\nout = \"name\"\n[node.name]\ntype = \"map\"\nmap = \"m.qmap\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n",
    );
    world.put(&input, &Message::new(*br#"{"no":"1"}"#));
    let out = world.get_text(&output);
    assert!(out.starts_with("ISA*00*") && !out.contains("*700101*") && !out.contains("*19700101*"), "{out}");
}

/// Several instances on several threads, messages that are rolled back, and another start: no control number occurs twice, and none is left out.
#[test]
fn interchanges_that_a_flow_makes_are_numbered_without_gap_or_repetition() {
    const COUNT: usize = 60;
    let world = World::new();
    map_of_orders(&world, "\"00\"");
    let input = world.queue_with(QueueDefinition {
        backout_threshold: 1,
        backout_queue: "BAD".into(),
        ..QueueDefinition::local("IN")
    });
    let (output, bad) = (world.queue("OUT"), world.queue("BAD"));
    let flow = "additional_instances = 7\n\
                [node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nmessage = \"in.shape\"\nout = \"name\"\n\
                [node.name]\ntype = \"map\"\nmap = \"m.qmap\"\nout = \"wrong\"\n\
                [node.wrong]\ntype = \"filter\"\nwhen = 'BEG.BEG03 = \"WRONG\"'\nout = \"refuse\"\nno_match = \"put\"\n\
                [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n\
                [node.refuse]\ntype = \"throw\"\ntext = \"refused\"\n";
    let mut numbers = Vec::new();
    for round in 0..2 {
        let _engine = world.engine(flow);
        for n in 0..COUNT {
            let no = if n % 10 == 9 { "WRONG".to_owned() } else { format!("{round}-{n}") };
            world.put(&input, &Message::new(format!("{{\"no\":\"{no}\"}}").into_bytes()));
        }
        for _ in 0..COUNT / 10 {
            world.get_text(&bad);
        }
        for _ in 0..COUNT - COUNT / 10 {
            let text = world.get_text(&output);
            let number = |segment: &str, element: usize| -> u64 {
                let found = text.split('~').map(str::trim).find(|found| found.starts_with(segment)).unwrap();
                found.split('*').nth(element).unwrap().parse().unwrap()
            };
            let (isa, iea) = (number("ISA*", 13), number("IEA*", 2));
            let (gs, ge) = (number("GS*", 6), number("GE*", 2));
            assert!(isa == iea && gs == ge && isa == gs, "{text}");
            numbers.push(isa);
        }
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}
