//! Interchanges that a flow validates and acknowledges.

use quayline_store::queue::{GetWait, Message, Select};

use crate::support::{World, ended, until};

const FLOW: &str = r#"additional_instances = 3
[node.get]
type = "queue_input"
queue = "IN"
message = "EDI/850.guide"
out = "check"

[node.check]
type = "validate"
acknowledge = "997"
control_numbers = "answers"
out = "put"
no_match = "tell"
acknowledgment = "answer"

[node.tell]
type = "trace"
text.from = 'envelope.error_code & " " & envelope.error_text'
out = "put-bad"

[node.put]
type = "queue_output"
queue = "GOOD"

[node.put-bad]
type = "queue_output"
queue = "BAD"

[node.answer]
type = "queue_output"
queue = "ANSWERS"
"#;

const EDI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi");

fn flow() -> String {
    FLOW.replace("EDI", EDI)
}

fn orders() -> String {
    std::fs::read_to_string(format!("{EDI}/850.x12")).expect("orders")
}

/// Orders of which the first transaction has a wrong count of segments.
fn one_of_three_is_bad() -> String {
    orders().replacen("\nSE*", "\nSE*9", 1)
}

#[test]
fn an_interchange_is_acknowledged_in_the_unit_of_work_that_takes_it() {
    let world = World::new();
    let (queue, good, bad) = (world.queue("IN"), world.queue("GOOD"), world.queue("BAD"));
    let answers = world.queue("ANSWERS");
    let engine = world.engine(&flow());
    world.put(&queue, &Message::new(orders().into_bytes()));
    assert_eq!(world.get_text(&good), orders());
    let answer = world.get_text(&answers);
    for part in ["*QUAYSIDE       *ZZ*ALDER ", "*000000001*", "AK1*PO*4711", "AK5*A", "AK9*A*3*3*3"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    // A good transaction beside a bad one is not processed, so the answer does not say that it was accepted.
    world.put(&queue, &Message::new(one_of_three_is_bad().into_bytes()));
    assert_eq!(world.get_text(&bad), one_of_three_is_bad());
    let answer = world.get_text(&answers);
    for part in ["*000000002*", "AK9*R*3*3*0"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert!(!answer.contains("AK5*A"), "{answer}");
    let told = world.said.traced.lock().expect("no panic").join("\n");
    assert!(told.contains("tell: FLO-040 the message does not fit its shape: SE"), "{told}");
    // Bytes that are not an interchange name no sender, so no one gets an answer.
    world.put(&queue, &Message::new(*b"hello"));
    assert_eq!(world.get_text(&bad), "hello");
    until("all units of work end", || ended(&engine).0 == 3);
    let mut unit = world.store.begin().expect("a unit");
    assert!(answers.get(&mut unit, Select::First, GetWait::No).is_err());
}

/// A rollback takes the acknowledgment and its number with it.
#[test]
fn a_message_that_is_rolled_back_is_acknowledged_once() {
    let world = World::new();
    let (queue, good, answers) = (world.queue("IN"), world.queue("GOOD"), world.queue("ANSWERS"));
    world.queue("BAD");
    let fails = "[node.first]\ntype = \"filter\"\nwhen = 'envelope.backout_count = \"0\"'\nout = \"fail\"\nno_match = \"put\"\n\
                 [node.fail]\ntype = \"throw\"\ntext = \"the first attempt\"\n";
    let text = flow().replace("out = \"put\"\nno_match = \"tell\"", "out = \"first\"\nno_match = \"tell\"");
    let engine = world.engine(&format!("{text}{fails}"));
    for _ in 0..5 {
        world.put(&queue, &Message::new(orders().into_bytes()));
    }
    let mut numbers: Vec<String> = (0..5)
        .map(|_| {
            assert_eq!(world.get_text(&good), orders());
            let answer = world.get_text(&answers);
            answer.split('*').nth(13).expect("ISA13").to_owned()
        })
        .collect();
    numbers.sort();
    assert_eq!(numbers, ["000000001", "000000002", "000000003", "000000004", "000000005"]);
    until("all units of work end", || ended(&engine) == (5, 5));
}

#[test]
fn what_cannot_be_acknowledged_is_found_by_the_check() {
    let world = World::new();
    world.write("item.shape", "item\n  id text(12)\n");
    let found = |text: String| world.compile(&text).map(|_| ()).expect_err("a finding").to_string();
    let told = found(flow().replace(&format!("{EDI}/850.guide"), "item.shape"));
    assert!(told.contains("error[FLO-022]: only interchanges with a guide are acknowledged"), "{told}");
    let told = found(flow().replace("acknowledge = \"997\"", "acknowledge = \"contrl\""));
    let expected = "error[FLO-022]: `contrl` acknowledges EDIFACT, and the guides are for X12";
    assert!(told.contains(expected) && told.contains("hint: write `999`, `997` or `ta1`"), "{told}");
    let told = found(flow().replace("acknowledgment = \"answer\"\n", ""));
    assert!(told.contains("error[FLO-010]: `acknowledge` and the terminal `acknowledgment` belong together"), "{told}");
    let told = found(flow().replace("acknowledge = \"997\"\n", "").replace("acknowledgment = \"answer\"\n", ""));
    assert!(told.contains("error[FLO-010]: `control_numbers` are those of acknowledgments"), "{told}");
}

/// `validate` took a document without its mandatory members. A filter that only reads the document still does.
#[test]
fn a_document_beyond_the_limits_of_its_schema_does_not_fit_its_shape() {
    let world = World::new();
    let (queue, good, bad) = (world.queue("IN"), world.queue("GOOD"), world.queue("BAD"));
    world.write(
        "order.json",
        r#"{"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "qty": {"type": "integer", "maximum": 9}}}"#,
    );
    let _engine = world.engine(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
message = "order.json"
out = "choose"
[node.choose]
type = "filter"
when = 'qty > 5'
out = "check"
no_match = "put"
[node.check]
type = "validate"
out = "put"
no_match = "tell"
[node.tell]
type = "trace"
text.from = 'envelope.error_text'
out = "put-bad"
[node.put]
type = "queue_output"
queue = "GOOD"
[node.put-bad]
type = "queue_output"
queue = "BAD"
"#,
    );
    for (message, fits) in [
        (r#"{"qty":5}"#, true),
        (r#"{"id":"a","qty":9}"#, true),
        (r#"{"qty":9}"#, false),
        (r#"{"id":"a","qty":10}"#, false),
    ] {
        world.put(&queue, &Message::new(message));
        assert_eq!(world.get_text(if fits { &good } else { &bad }), message);
    }
    let told = world.said.traced.lock().expect("no panic").join("\n");
    for finding in ["a mandatory member is missing", "the number is greater than 9"] {
        assert!(told.contains(finding), "{finding}: {told}");
    }
}
