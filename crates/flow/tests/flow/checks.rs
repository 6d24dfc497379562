//! All errors in a flow file are reported together, before a message arrives.

use expect_test::{Expect, expect};

use crate::support::World;

fn check(text: &str, expected: &Expect) {
    let world = World::new();
    world.write("order.shape", "order\n  id text(8)\n  amount decimal(9,2)\n  note? text\n");
    world.write("other.shape", "other\n  id text(8)\n");
    let found = world.compile(text).err().map(|findings| findings.to_string()).unwrap_or_default();
    let root = world.path().display().to_string();
    expected.assert_eq(&format!("{}\n", found.replace(&root, "ROOT")));
}

/// The second node of a case was ignored without a word.
#[test]
fn a_case_has_one_node() {
    let flow = |to: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"Q\"\nmessage = \"order.shape\"\nout = \"choose\"\n\
             [node.choose]\ntype = \"route\"\ncases = [{{ when = 'amount > 10', to = {to} }}]\n\
             [node.a]\ntype = \"queue_output\"\nqueue = \"A\"\n[node.b]\ntype = \"queue_output\"\nqueue = \"B\"\n"
        )
    };
    let world = World::new();
    world.write("order.shape", "order\n  id text(8)\n  amount decimal(9,2)\n");
    let found = |to: &str| world.compile(&flow(to)).err().map(|findings| findings.to_string()).unwrap_or_default();
    for to in ["[\"a\", \"b\"]", "[\"a\"]", "[]", "1"] {
        let found = found(to);
        assert!(found.contains("a case needs exactly `when` and `to`, both texts"), "{to}: {found}");
    }
    assert!(!found("\"a\"").contains("a case needs"));
}

#[test]
fn unknown_types_keys_nodes_and_values_are_found_at_once() {
    check(
        r#"
additional_instances = 300
[node.get]
type = "queue_inptu"
[node.a]
type = "filter"
whem = "true"
out = "bb"
[node.b]
type = "queue_output"
queue = 5
[node.c]
type = "timer_input"
every = "5 minutes"
out = ["b"]
"#,
        &expect![[r#"
            error[FLO-005]: additional_instances is out of range, expected 0 to 256
              at test.toml:2:24
              |
            2 | additional_instances = 300
              |                        ^^^

            hint: an instance that waits holds no thread, so 256 is enough for many clients

            error[FLO-002]: there is no node type `queue_inptu`
              at test.toml:4:8
              |
            4 | type = "queue_inptu"
              |        ^^^^^^^^^^^^^

            hint: did you mean `queue_input`?

            error[FLO-004]: node `a` has no `when`: condition
              at test.toml:5:7
              |
            5 | [node.a]
              |       ^

            hint: add `when = …` to [node.a]

            error[FLO-003]: a filter node has no property or terminal `whem`
              at test.toml:7:1
              |
            7 | whem = "true"
              | ^^^^

            hint: did you mean `when`?

            error[FLO-006]: the flow has no node `bb`
              at test.toml:8:7
              |
            8 | out = "bb"
              |       ^^^^

            hint: did you mean `b`?

            error[FLO-005]: `queue` is a number, expected a text, or { from = "EXPRESSION" }
              at test.toml:11:9
               |
            11 | queue = 5
               |         ^

            hint: queue or topic to put the message on

            error[FLO-005]: expected a time: a whole number with ms, s, m or h
              at test.toml:14:9
               |
            14 | every = "5 minutes"
               |         ^^^^^^^^^^^

            hint: write it as: "200ms", "5s", "2m" or "1h"
        "#]],
    );
}

#[test]
fn wires_have_an_input_reach_every_node_and_form_no_loop() {
    check(
        "[node.a]\ntype = \"trace\"\ntext = \"x\"\nout = \"b\"\n[node.b]\ntype = \"trace\"\ntext = \"y\"\nout = \"a\"\n",
        &expect![[r#"
            error[FLO-007]: the flow has no input, so no message enters it
              at test.toml

            hint: add a node of type queue_input, folder_input, timer_input, http_input, nats_input, amqp_input, kafka_input, sql_input
        "#]],
    );
    check(
        "[node.in]\ntype = \"queue_input\"\nqueue = \"Q\"\nout = \"a\"\n[node.a]\ntype = \"trace\"\ntext = \"x\"\nout = \"b\"\n[node.b]\ntype = \"trace\"\ntext = \"y\"\nout = [\"a\", \"in\"]\n[node.c]\ntype = \"try\"\ntry = []\n",
        &expect![[r#"
            error[FLO-009]: the wires form a loop: in, a, b and again in
              at test.toml:1:7
              |
            1 | [node.in]
              |       ^^

            hint: repeat with a split node, or put the message on a queue of an input

            error[FLO-006]: `out` leads to an input, which takes no messages from wires
              at test.toml:9:7
              |
            9 | [node.b]
              |       ^

            hint: wire it to another node, or put the message on the input's queue

            error[FLO-008]: no wire leads to node `c`
              at test.toml:13:7
               |
            13 | [node.c]
               |       ^

            hint: wire a terminal to it, or remove it
        "#]],
    );
}

#[test]
fn expressions_are_checked_against_the_messages_that_arrive() {
    check(
        r#"
[node.get]
type = "queue_input"
queue = "Q"
message = "order.shape"
order = "by_key"
order_key = "envelope.usr_id"
out = ["choose", "put"]
[node.choose]
type = "route"
cases = [{ when = 'amuont > 10', to = "put" }, { when = 'id', to = "put" }]
[node.put]
type = "queue_output"
queue.from = 'left(note, 3) & upper(id'
"#,
        &expect![[r#"
            error[FLO-023]: a message has no envelope value `usr_id`
              at test.toml:7:13
              |
            7 | order_key = "envelope.usr_id"
              |             ^^^^^^^^^^^^^^^^^

            hint: did you mean `envelope.user_id`?

            error[MAP-020]: there is no `amuont`: not in order
              at test.toml:11:20
               |
            11 | cases = [{ when = 'amuont > 10', to = "put" }, { when = 'id', to = "put" }]
               |                    ^^^^^^

            hint: did you mean amount?

            error[MAP-041]: `case2` holds a truth value; this is text of at most 8 characters
              at test.toml:11:58
               |
            11 | cases = [{ when = 'amuont > 10', to = "put" }, { when = 'id', to = "put" }]
               |                                                          ^^

            hint: compare it: … = "Y"

            error[MAP-003]: expected `,` or `)`, found the end of the expression
              at test.toml:14:39
               |
            14 | queue.from = 'left(note, 3) & upper(id'
               |                                       ^
        "#]],
    );
}

#[test]
fn two_shapes_that_meet_cannot_be_read() {
    check(
        r#"
[node.get]
type = "queue_input"
queue = "Q"
message = "order.shape"
out = "both"
[node.get2]
type = "queue_input"
queue = "Q2"
message = "other.shape"
out = "both"
[node.both]
type = "filter"
when = 'id = "1"'
out = []
"#,
        &expect![[r#"
            note[FLO-078]: filter `both` drops the messages for which its condition is false
              at test.toml:12:7
               |
            12 | [node.both]
               |       ^^^^

            hint: wire `no_match`, or write `no_match = []` if the flow should drop them

            error[FLO-020]: messages of two shapes arrive here, ROOT/order.shape and ROOT/other.shape, so their content cannot be read
              at test.toml:14:8
               |
            14 | when = 'id = "1"'
               |        ^^^^^^^^^^

            hint: give each shape a node of its own, or map both to one shape first
        "#]],
    );
}

#[test]
fn contradictions_are_named() {
    check(
        r#"
[node.get]
type = "queue_input"
queue = "Q"
order_key = "envelope.user_id"
out = ["read", "route", "split"]
[node.read]
type = "record_read"
file = "F"
out = []
[node.route]
type = "route"
label = "x"
[node.split]
type = "split"
by = "document"
out = []
"#,
        &expect![[r#"
            error[FLO-010]: `order = "by_key"` and `order_key` belong together
              at test.toml:2:7
              |
            2 | [node.get]
              |       ^^^

            hint: set both, or neither

            error[FLO-010]: there is no key, and the mode needs one
              at test.toml:7:7
              |
            7 | [node.read]
              |       ^^^^

            hint: set `key`, or `mode = "FIRST"`

            error[FLO-010]: `label` and `labels` belong together
              at test.toml:11:7
               |
            11 | [node.route]
               |       ^^^^^

            hint: list the nodes that `label` may name in `labels`

            error[FLO-022]: documents can only be found if the shape of the messages is known
              at test.toml:14:7
               |
            14 | [node.split]
               |       ^^^^^

            hint: set `message` at the input, or split by line
        "#]],
    );
}

/// The tables of the reference page, made from the types themselves.
fn reference() -> String {
    use std::fmt::Write as _;

    use quayline_project::{NODE_KINDS, PropertyForm};
    let form = |form: PropertyForm| match form {
        PropertyForm::Text => "text or expression".to_owned(),
        PropertyForm::Constant => "text".to_owned(),
        PropertyForm::Condition => "condition".to_owned(),
        PropertyForm::Expression => "expression".to_owned(),
        PropertyForm::Expressions => "list of expressions".to_owned(),
        PropertyForm::Cases => "list of `{ when = \"CONDITION\", to = \"NODE\" }`".to_owned(),
        PropertyForm::Labels => "list of nodes".to_owned(),
        PropertyForm::Shape => "shape".to_owned(),
        PropertyForm::Map => "map file".to_owned(),
        PropertyForm::Number(min, max) => format!("{min} to {max}"),
        PropertyForm::Flag => "`true` or `false`".to_owned(),
        PropertyForm::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        PropertyForm::Time => "time".to_owned(),
    };
    let mut text = String::new();
    for kind in NODE_KINDS {
        let _ = write!(text, "\n### {}\n\n{}\n", kind.name, kind.help);
        if !kind.properties.is_empty() {
            let _ = write!(text, "\n| property | value | meaning |\n|---|---|---|\n");
            for property in kind.properties {
                let required = if property.is_required { " (required)" } else { "" };
                let _ =
                    writeln!(text, "| `{}` | {}{required} | {} |", property.name, form(property.form), property.help);
            }
        }
        if !kind.terminals.is_empty() {
            let _ = write!(text, "\n| terminal | what leaves |\n|---|---|\n");
            for terminal in kind.terminals {
                let required = if terminal.is_required { " (must be wired)" } else { "" };
                let _ = writeln!(text, "| `{}` | {}{required} |", terminal.name, terminal.help);
            }
        }
    }
    text
}

/// Set `UPDATE_EXPECT=1` to write the page.
#[test]
fn the_reference_page_lists_every_type_of_node() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/flows.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (head, _) = page.split_once("## Types of nodes\n").expect("a heading");
    let expected = format!("{head}## Types of nodes\n{}", reference());
    expect_test::expect_file![path].assert_eq(&expected);
}

/// The shipped examples have their pages and pictures in `docs/flows`. Set `UPDATE_EXPECT=1` to write them.
#[test]
fn every_example_has_its_page_and_picture() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut names = Vec::new();
    for project in ["flows", "interest", "b2b"] {
        let project = std::path::PathBuf::from(format!("{root}/examples/{project}"));
        for path in quayline_flow::flow_files(&project).expect("flows") {
            let flow = quayline_project::FlowFile::open(&path).unwrap_or_else(|findings| panic!("{findings}"));
            let place = |extension: &str| format!("{root}/docs/flows/{}.{extension}", flow.name);
            expect_test::expect_file![place("svg")].assert_eq(&quayline_flow::svg(&flow));
            expect_test::expect_file![place("md")]
                .assert_eq(&quayline_flow::page(&flow, &format!("{}.svg", flow.name)));
            names.push(flow.name);
        }
    }
    assert_eq!(names.len(), 8, "{names:?}");
}

/// Set `UPDATE_EXPECT=1` to write the table.
#[test]
fn the_page_lists_every_metric() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/flows.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let before = "Counters start at zero when the flow starts.\n\n";
    let (head, rest) = page.split_once(before).expect("the section");
    let (_, tail) = rest.split_once("\n## Traces\n").expect("the next section");
    let mut table = "| metric | type | further labels | meaning |\n|---|---|---|---|\n".to_owned();
    for metric in quayline_flow::METRICS {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind, help) = (metric.name, metric.kind, metric.help);
        table.push_str(&format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", ")));
    }
    expect_test::expect_file![path].assert_eq(&format!("{head}{before}{table}\n## Traces\n{tail}"));
}

#[test]
fn the_sync_of_a_flow_is_one_of_two_words() {
    let world = World::new();
    let flow = |sync: &str| {
        world.compile(&format!(
            "sync = \"{sync}\"\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        ))
    };
    assert!(!flow("always").expect("a flow").file.syncs_persistent_only);
    assert!(flow("persistent").expect("a flow").file.syncs_persistent_only);
    let found = flow("never").map(|_| ()).expect_err("a finding").to_string();
    assert!(found.contains("FLO-005") && found.contains("expected `always` or `persistent`"), "{found}");
}

/// A node without TLS and authentication listened on every address of the machine, and said nothing.
#[test]
fn an_http_input_is_open_to_the_network_only_if_that_is_written() {
    let flow = |listen: &str, more: &str| {
        let text = format!("[node.in]\ntype = \"http_input\"\nlisten = \"{listen}\"\npath = \"/x\"\n{more}out = []\n");
        World::new().compile(&text).err().map(|findings| findings.to_string()).unwrap_or_default()
    };
    for open in ["0.0.0.0:8090", "[::]:8090", "192.0.2.1:8090"] {
        let told = flow(open, "");
        assert!(told.contains("error[FLO-010]: `listen` is an address that other machines reach"), "{told}");
        assert!(told.contains("write `open_to_network = true`"), "{told}");
        assert_eq!(flow(open, "open_to_network = true\n"), "");
        assert!(!flow(open, "open_to_network = false\n").is_empty());
    }
    assert_eq!(flow("127.0.0.1:8090", "") + &flow("[::1]:8090", ""), "");
}

/// The remedy named the `message` of the input, which was there already: a node between them makes messages of another shape.
#[test]
fn a_remedy_names_the_node_that_makes_the_messages() {
    let split = |more: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"Q\"\nmessage = \"order.shape\"\nout = \"lines\"\n[node.lines]\ntype = \"split\"\nby = \"line\"\n{more}out = \"log\"\n[node.log]\ntype = \"trace\"\ntext = \"x\"\nout = \"big\"\n[node.big]\ntype = \"filter\"\nwhen = \"id = \\\"1\\\"\"\nno_match = []\nout = []\n"
        )
    };
    check(
        &split(""),
        &expect![[r#"
        error[MAP-020]: there is no `id`: not in message
          at test.toml:16:8
           |
        16 | when = "id = \"1\""
           |        ^^^^^^^^^^^^

        hint: name the shape of the messages that leave `lines`: part = "…"
    "#]],
    );
    check(&split("part = \"other.shape\"\n"), &expect!["\n\n"]);
}

/// `quayline check` accepted names that `quayline queue define` refuses.
#[test]
fn names_that_the_store_refuses_are_found() {
    check(
        r#"
[node.get]
type = "queue_input"
queue = "ORDERS OF TODAY"
out = ["write", "send"]
[node.write]
type = "record_write"
file = "ORDER/FILE"
[node.send]
type = "http_output"
url = "http://127.0.0.1:1/"
outbox = "A.NAME.OF.A.QUEUE.THAT.IS.LONGER.THAN.44.BYTE"
"#,
        &expect![[r#"
            error[STO-024]: `queue` of node `get`: the definition of ORDERS OF TODAY is not usable: the name may have letters, digits and the characters . _ - $ # @
              at test.toml:4:9
              |
            4 | queue = "ORDERS OF TODAY"
              |         ^^^^^^^^^^^^^^^^^

            hint: write a name of 1 to 44 letters, digits and the characters . _ - $ # @

            error[STO-024]: `file` of node `write`: the definition of ORDER/FILE is not usable: the name may have letters, digits and the characters . _ - $ # @
              at test.toml:8:8
              |
            8 | file = "ORDER/FILE"
              |        ^^^^^^^^^^^^

            hint: write a name of 1 to 44 letters, digits and the characters . _ - $ # @

            error[STO-024]: `outbox` of node `send`: the definition of A.NAME.OF.A.QUEUE.THAT.IS.LONGER.THAN.44.BYTE is not usable: the name has 45 characters, expected 1 to 44
              at test.toml:12:10
               |
            12 | outbox = "A.NAME.OF.A.QUEUE.THAT.IS.LONGER.THAN.44.BYTE"
               |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

            hint: write a name of 1 to 44 letters, digits and the characters . _ - $ # @
        "#]],
    );
}

/// Errors of expressions came only after those of other nodes were corrected.
#[test]
fn an_expression_and_a_node_without_a_wire_are_found_at_once() {
    check(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
message = "order.shape"
out = "big"
[node.big]
type = "filter"
when = 'amuont > 100'
out = ["put", "lost"]
no_match = []
[node.put]
type = "queue_output"
queue.from = 'noet'
[node.alone]
type = "queue_output"
queue.from = 'id'
"#,
        &expect![[r#"
            error[MAP-020]: there is no `amuont`: not in order
              at test.toml:9:9
              |
            9 | when = 'amuont > 100'
              |         ^^^^^^

            hint: did you mean amount?

            error[FLO-006]: the flow has no node `lost`
              at test.toml:10:15
               |
            10 | out = ["put", "lost"]
               |               ^^^^^^

            hint: define it with [node.lost], or name another node

            error[MAP-020]: there is no `noet`: not in order
              at test.toml:14:15
               |
            14 | queue.from = 'noet'
               |               ^^^^

            hint: did you mean note?

            error[FLO-008]: no wire leads to node `alone`
              at test.toml:15:7
               |
            15 | [node.alone]
               |       ^^^^^

            hint: wire a terminal to it, or remove it
        "#]],
    );
}

/// After a node with a wrong property, nothing is known about the messages, so their expressions are not checked.
#[test]
fn a_node_after_a_wrong_one_has_no_further_errors() {
    check(
        r#"
[node.get]
type = "queue_input"
queue = "IN"
mesage = "order.shape"
out = "put"
[node.put]
type = "queue_output"
queue.from = 'id'
[node.odd]
type = "sqlit"
out = "put"
"#,
        &expect![[r#"
            error[FLO-003]: a queue_input node has no property or terminal `mesage`
              at test.toml:5:1
              |
            5 | mesage = "order.shape"
              | ^^^^^^

            hint: did you mean `message`?

            error[FLO-002]: there is no node type `sqlit`
              at test.toml:11:8
               |
            11 | type = "sqlit"
               |        ^^^^^^^

            hint: did you mean `split`?
        "#]],
    );
}
