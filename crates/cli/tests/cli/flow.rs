//! `quayline flow`, and flows of a server.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::world::World;

const COPY: &str = "title = \"Copies\"\n[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n";

/// Dropped messages were in the statistics of a server only: a run consumed them without a word.
#[test]
fn a_run_names_the_messages_that_it_dropped() {
    let flow = COPY.replace("out = \"put\"", "out = \"choose\"")
        + "[node.choose]\ntype = \"filter\"\nwhen = 'envelope.property_keep = \"yes\"'\nout = \"put\"\nno_match = []\n";
    let world = World::with([("flows/copy.toml", flow.as_bytes()), ("m", b"hello")]);
    world.run("flow define").code(0);
    for _ in 0..2 {
        assert_eq!(world.run("queue put IN m").code, Some(0));
    }
    world.run("flow run --until-idle 300ms").check(expect![[r#"
        exit 0
        --- stderr
        copy: 2 messages received, 2 units of work committed, 0 rolled back
          node choose: 2 messages dropped
    "#]]);
}

#[test]
fn a_flow_is_checked_listed_shown_and_its_queues_are_defined() {
    let world = World::with([("flows/copy.toml", COPY.as_bytes()), ("m", b"hello")]);
    world.run("flow check").check(expect![[r#"
        exit 0
        --- stderr
        1 flow, 2 nodes: no errors
    "#]]);
    world.run("flow list").check(expect![[r#"
        exit 0
        --- stdout
        copy  IN -> OUT  Copies
    "#]]);
    assert!(world.run("flow show copy --svg").out().starts_with("<svg "));
    world.run("flow pages --out pages").code(0);
    let page = String::from_utf8(world.read("pages/copy.md")).expect("UTF-8");
    assert!(page.starts_with("# Flow copy\n") && page.contains("](copy.svg)\n"), "{page}");
    assert_eq!(world.read("pages/copy.svg"), world.run("flow show copy --svg").stdout);
    world.shell("$Q queue define OUT").check(expect![[r#"
        exit 0
    "#]]);
    world.run("flow run --until-idle 10ms").check(expect![[r#"
        exit 2
        --- stderr
        error[FLO-024]: the store has no queue `IN`
          at ./flows/copy.toml:4:9
          |
        4 | queue = "IN"
          |         ^^^^

        hint: define it with `quayline queue define NAME` or `quayline flow define`
    "#]]);
    world.run("flow define").check(expect![[r#"
        exit 0
        --- stderr
        defined queue DEAD.LETTER
        defined queue IN
    "#]]);
    assert_eq!(world.run("queue put IN m").code, Some(0));
    world.run("flow run --until-idle 300ms").check(expect![[r#"
        exit 0
        --- stderr
        copy: 1 message received, 1 unit of work committed, 0 rolled back
    "#]]);
    assert_eq!(world.run("queue get OUT").out(), "hello");
    world.run("flow run other").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: . has no flow `other`

        hint: its flows: copy
    "#]]);
}

/// The failure of the look at the folder counted as activity once a second, so the command never ended.
#[test]
fn a_file_that_cannot_be_moved_is_no_activity() {
    let look = "[node.look]\ntype = \"folder_input\"\nfolder = \"in\"\ndone = \"gone/nowhere\"\ninterval = \"10ms\"\nsettle = \"0ms\"\n\
                out = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n";
    let world =
        World::with([("flows/look.toml", look.as_bytes()), ("in/a.txt", b"hello"), ("gone", b"a file and no folder")]);
    world.run("flow define").code(0);
    let said = world.run("flow run --until-idle 3s").code(1).err();
    assert!(said.contains("FLO-049") && said.contains("1 message received, 1 unit of work committed"), "{said}");
    assert_eq!(world.run("queue get OUT").out(), "hello");
}

/// Messages of a group whose node had another name were in no queue, statistic or log.
#[test]
fn groups_of_a_renamed_node_give_a_warning() {
    let flow = |node: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"{node}\"\n\
             [node.{node}]\ntype = \"aggregate\"\ncount = \"2\"\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        )
    };
    let world = World::with([("flows/orders.toml", flow("group").as_bytes()), ("m", b"hello")]);
    world.run("flow define").code(0);
    world.run("queue put IN m").code(0);
    assert!(!world.run("flow run --until-idle 300ms").code(0).err().contains("FLO-082"));
    world.write("flows/orders.toml", flow("collect"));
    let said = world.run("flow run --until-idle 10ms").code(0).err();
    assert!(said.contains("warning[FLO-082]") && said.contains("at flow orders, node group"), "{said}");
    world.write("flows/orders.toml", flow("group"));
    world.run("queue put IN m").code(0);
    assert!(!world.run("flow run --until-idle 300ms").code(0).err().contains("FLO-082"));
    assert_eq!(world.run("queue get OUT").out(), "hello\nhello\n");
}

/// A full disk counted as a failure of the message, which was on the backout queue after the third.
#[test]
fn a_get_that_cannot_write_charges_no_message() {
    let world = World::with([("m", b"hello".as_slice())]);
    world.run("queue define IN").code(0);
    world.run("queue define DEAD.LETTER").code(0);
    world.run("queue put IN m").code(0);
    for _ in 0..4 {
        let said = world.shell("\"$Q\" queue get IN > /dev/full").code(2).err();
        assert!(
            said.contains("CLI-001") && said.contains("redirect standard output") && !said.contains("-o"),
            "{said}"
        );
    }
    assert!(world.run("queue browse IN").out().contains("backouts 0"));
    assert_eq!(world.run("queue get IN").out(), "hello");
}

/// `flow` took `data` of the working folder and `serve` that of the project, so one project had two stores.
#[test]
fn flows_and_the_server_of_a_project_have_one_store() {
    let world = World::with([("shop/flows/copy.toml", COPY.as_bytes())]);
    world.write("shop/quayline.toml", "[serve.authentication]\nrequired = false\n");
    world.run("flow define --project shop").code(0);
    assert!(world.path("shop/data").is_dir() && !world.path("data").exists());
    world.run("flow run --project shop --until-idle 10ms").code(0);
    world.run("serve --check shop").code(0);
    world.run("flow define --project shop --store other").code(0);
    assert!(world.path("other").is_dir());
}

/// Ends the server when the test ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn metrics_of(admin: SocketAddr) -> String {
    let mut stream = TcpStream::connect(admin).expect("a connection");
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The user who sends a message is kept with it, and properties cannot pretend one.
#[test]
fn a_message_is_put_for_a_user() {
    let world = World::with([("m", b"hello".as_slice())]);
    world.run("queue define IN").code(0);
    world.run("queue put IN m --user-id rita").code(0);
    assert!(world.run("queue get IN --json").out().contains("\"amqp.user-id\":\"rita\""));
    let refused = world.run("queue put IN m --property amqp.user-id=boss").code(2).err();
    assert!(refused.contains("names that begin with amqp. are those of AMQP's own parts"), "{refused}");
}

#[test]
fn a_server_runs_flows_reloads_them_and_answers_operators() {
    let world = World::with([("flows/copy.toml", COPY.as_bytes())]);
    let free = || TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
    let (api, admin) = (free(), free());
    world.write("quayline.toml", format!("[serve]\nlisten = \"{api}\"\n[serve.admin]\nlisten = \"{admin}\"\n"));
    assert_eq!(world.run("flow define").code, Some(0));
    let child = world.command(["serve"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a server");
    let server = Server(child);
    let wait = |what: &str, is_true: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_true() {
            assert!(Instant::now() < end, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    wait("the server answers", &|| world.run("flow stats").out().contains("\"name\":\"copy\""));
    // A message of a user, with the figures of the nodes that it passes.
    world.run("flow show copy --live").check(expect![[r#"
        exit 0
        --- stdout
        copy: Copies
          get [queue_input] IN (running, 0 messages)
            out -> put [queue_output] OUT (running, 0 messages)
    "#]]);
    let listed = |state: &str| format!("copy  {state}; 0 received, 0 committed, 0 rolled back\n");
    assert_eq!(world.run("flow list --live").out(), listed("running"));
    let unknown = world.run("flow list --live copy other").code(2).err();
    assert!(unknown.contains("the server has no flow `other`") && unknown.contains("its flows: copy"), "{unknown}");
    let metrics = metrics_of(admin);
    for line in [
        "quayline_flow_running{flow=\"copy\"} 1",
        "quayline_flow_node_messages_total{flow=\"copy\",node=\"get\",type=\"queue_input\"} 0",
        "quayline_flow_node_failures_total{flow=\"copy\",node=\"put\",type=\"queue_output\"} 0",
        "quayline_flow_node_running{flow=\"copy\",node=\"get\",type=\"queue_input\"} 1",
        "quayline_flow_cpu_seconds_per_message{flow=\"copy\",part=\"commit\"} 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    assert!(world.run("flow stop copy").out().contains("\"running\":false"));
    assert!(world.run("flow show copy --live").out().contains("put [queue_output] OUT (stopped, 0 messages)"));
    assert!(world.run("flow stats copy").out().contains("\"running\":false"));
    assert_eq!(world.run("flow list --live copy").out(), listed("stopped"));
    assert!(world.run("flow start copy").out().contains("\"running\":true"));
    for command in ["stop other", "start other", "stats other", "trace other --for 1ms"] {
        let refused = world.run(&format!("flow {command}"));
        refused.code(1);
        assert_eq!(refused.out(), "", "{command}");
        let said = refused.err();
        assert!(said.contains("the server has no flow `other`") && said.contains("its flows: copy"), "{said}");
    }
    // A flow that is new is loaded without a restart, and one that is removed ends.
    world.write("flows/tick.toml", "[node.timer]\ntype = \"timer_input\"\nevery = \"10ms\"\nout = []\n");
    wait("the new flow runs", &|| world.run("flow stats tick").out().contains("\"received\":1"));
    // A trace names node, terminal and time, and ends after its time.
    let traced = world.run("flow trace tick --for 700ms");
    assert_eq!(traced.code, Some(0), "{}", traced.err());
    let out = traced.out();
    let steps: Vec<&str> = out.lines().filter(|line| !line.contains("\"commit\"")).collect();
    assert!(steps.len() > 2, "{out}");
    for step in steps {
        assert!(step.contains("\"node\":\"timer\"") && step.contains("\"terminal\":\"out\""), "{step}");
        let step: serde_json::Value = serde_json::from_str(step).expect("JSON");
        let members: Vec<&str> = step.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(
            members,
            ["at_ms", "bytes", "failure", "message", "node", "part", "terminal", "trace_id"],
            "no content"
        );
    }
    std::fs::remove_file(world.path("flows/tick.toml")).expect("removed");
    wait("the removed flow has ended", &|| world.run("flow stats tick").code == Some(1));
    // A flow that an operator stopped stays stopped when its file changes.
    assert_eq!(world.run("flow stop copy").code, Some(0));
    world.write(
        "flows/copy.toml",
        COPY.replace("Copies", "Other copies").replace("\"put\"", "\"away\"").replace("node.put", "node.away"),
    );
    wait("the new version is loaded", &|| world.run("flow stats copy").out().contains("\"name\":\"away\""));
    assert!(world.run("flow stats copy").out().contains("\"running\":false"));
    assert!(world.run("flow start copy").out().contains("\"running\":true"));
    // A version that names a missing queue or the address of another listener does not replace a version that works.
    let listen = |address: &dyn std::fmt::Display, queue: &str| {
        format!(
            "[node.listen]\ntype = \"http_input\"\nlisten = \"{address}\"\npath = \"/x\"\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"{queue}\"\n"
        )
    };
    let own = free();
    world.write("flows/ask.toml", listen(&own, "IN"));
    wait("the flow is loaded", &|| world.run("flow stats ask").code == Some(0));
    for (address, queue) in [(own, "MISSING"), (api, "IN")] {
        world.write("flows/ask.toml", listen(&address, queue).replace("node.listen", "node.renamed"));
        std::thread::sleep(Duration::from_millis(2_500));
        assert!(world.run("flow stats ask").out().contains("\"name\":\"listen\""), "{address} {queue}");
    }
    world.write("flows/ask.toml", listen(&free(), "IN").replace("node.listen", "node.renamed"));
    wait("the next version is loaded", &|| world.run("flow stats ask").out().contains("\"name\":\"renamed\""));
    drop(server);
}

/// Runs the command of the B2B example's page, with and without its switches, on a free port.
#[test]
fn the_b2b_orders_are_received_and_processed() {
    if !std::process::Command::new("curl").arg("--version").output().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: the_b2b_orders_are_received_and_processed: curl is not installed");
        return;
    }
    let world = World::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
    let prepare = format!(
        "mkdir -p examples/maps bin && cp -r {examples}/b2b examples && cp -r {examples}/maps/shapes {examples}/maps/data examples/maps \
         && sed -i s/8471/{port}/ examples/b2b/b2b.sh examples/b2b/flows/receive.toml && ln -s $Q bin/quayline"
    );
    world.shell(&prepare).code(0);
    let run = |switches: &str| {
        let ran = world.shell(&format!("PATH=$PWD/bin:$PATH examples/b2b/b2b.sh 12 {switches}"));
        assert_eq!(ran.code, Some(0), "{}", ran.err());
        ran.out()
    };
    let both = "process: 12 messages received, 12 units of work committed, 0 rolled back\n\
                receive: 12 messages received, 12 units of work committed, 0 rolled back\n";
    let records = "  12 records, 744 bytes, the shortest 62, the longest 62\n";
    assert_eq!(run(""), format!("{both}B2B.AUDIT  12\nB2B.BACK-END  12\nB2B.ORDER  0\n{records}"));
    assert_eq!(run("no-validation no-audit"), format!("{both}B2B.BACK-END  12\nB2B.ORDER  0\n{records}"));
    // Non-persistent messages end with their process, but the records stay.
    assert_eq!(run("no-recovery"), format!("{both}B2B.AUDIT  0\nB2B.BACK-END  0\nB2B.ORDER  0\n{records}"));
    assert_eq!(world.shell("PATH=$PWD/bin:$PATH examples/b2b/b2b.sh no-such").code, Some(2));
}

#[test]
fn the_samples_are_measured_and_their_records_are_written() {
    let world = World::new();
    let project = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flows");
    let ran = world.run(&format!("measure flow {project} --sample 4 --applications 2 --seconds 0.2 --scratch scratch"));
    assert_eq!(ran.code, Some(0), "{}", ran.err());
    for row in ["| 4 Update | not persistent | 2 |", "| 4 Update | persistent | 2 |"] {
        assert!(ran.out().contains(row), "{}", ran.out());
    }
    let json = world.run("measure crypto --threads 1 --seconds 0.01 --json --report crypto");
    assert_eq!(json.out().as_bytes(), world.read("crypto.json"), "the same report, and nothing else");
    assert_eq!(world.run(&format!("measure flow {project} --write-records records")).code, Some(0));
    let records = world.read("records");
    assert_eq!(records.len(), 65_145 * 32);
    let keys: Vec<&[u8]> = records.chunks(32).map(|record| &record[..8]).collect();
    assert!(
        keys.windows(2).all(|pair| pair[0] < pair[1]),
        "the records are sorted by their key, so `file load --sorted` takes them"
    );
}

/// Regressions: `--until-idle` never ended while a delivery waited for another system, and an input that never connected was a success.
#[test]
fn a_run_ends_although_another_system_is_away() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let world = World::with([("m", b"text".as_slice())]);
    let queue = "[node.get]\ntype = \"queue_input\"\nqueue = \"IN\"\nout = \"send\"\n";
    world.write(
        "flows/out.toml",
        format!("{queue}[node.send]\ntype = \"http_output\"\nurl = \"http://{free}/\"\noutbox = \"OUT\"\n"),
    );
    world.run("flow define out").code(0);
    world.run("queue put IN m").code(0);
    let said = world.run("flow run out --until-idle 500ms").code(1).err();
    assert!(said.contains("not delivered; the next run tries again"), "{said}");
    let nats = format!(
        "[node.get]\ntype = \"nats_input\"\nserver = \"nats://{free}\"\nstream = \"S\"\nconsumer = \"C\"\nout = \"put\"\n"
    );
    world.write("flows/in.toml", format!("{nats}[node.put]\ntype = \"queue_output\"\nqueue = \"KEPT\"\n"));
    world.run("flow define in").code(0);
    let said = world.run("flow run in --until-idle 500ms").code(1).err();
    assert!(said.contains("0 messages received"), "{said}");
}
