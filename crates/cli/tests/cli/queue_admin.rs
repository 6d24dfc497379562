//! `quayline queue … --admin` and `/store/queues`: queues of a store that a server has open.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use crate::queue_serve::Serving;
use crate::world::World;

/// Digest of the key `operator-key`.
pub(crate) const KEY_DIGEST: &str = "c9736463f555cdb7d2a78cfd7aa8b8c4f09d906d78f8dab9228eda30a28c2818";

pub(crate) fn world(more: &str) -> (World, SocketAddr) {
    let world = World::new();
    let admin = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let settings = format!(
        "[serve.authentication]\nrequired = false\n{more}[serve.admin]\nlisten = \"{admin}\"\n\
         [serve.queues.queue.ORDERS]\nput = [\"*\"]\nget = [\"*\"]\nbrowse = [\"*\"]\n[workload]\ncollect = false\n"
    );
    world.write("quayline.toml", settings);
    world.run("queue define ORDERS --backout-threshold 1").code(0);
    (world, admin)
}

/// Every command has the same effect and output as on a store that nobody has open.
#[test]
fn commands_on_queues_work_while_a_server_has_the_store() {
    let (world, admin) = world("");
    for number in 0..3 {
        world.write("m", format!("message {number}"));
        world.run("queue put ORDERS m --correlation C1").code(0);
    }
    let here = world.run("queue browse ORDERS").code(0).out();
    let json_here = world.run("queue browse ORDERS --json").code(0).out();
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let refused = world.run("queue depth").code(2).err();
    assert!(refused.contains("STO-005") && refused.contains("--admin"), "{refused}");
    let run = |command: &str| world.run(&format!("{command} --admin {admin}"));
    assert_eq!(run("queue browse ORDERS").code(0).out(), here);
    assert_eq!(run("queue browse ORDERS --json").code(0).out(), json_here);
    assert_eq!(run("queue browse ORDERS -n 2").code(0).out().lines().count(), 2);
    run("queue define DEAD.LETTER").code(0);
    let exists = run("queue define DEAD.LETTER").code(2).err();
    assert!(exists.contains("STO-020") && exists.contains("queue DEAD.LETTER exists"), "{exists}");
    run("queue define A#1 --subscriber ORDERS --subscriber DEAD.LETTER").code(0);
    run("queue alias IN ORDERS").code(0);
    for leads_nowhere in ["alias OUT NOWHERE", "define OUT --alias NOWHERE", "alter IN --alias NOWHERE"] {
        let nowhere = run(&format!("queue {leads_nowhere}")).code(2).err();
        assert!(nowhere.contains("STO-030") && nowhere.contains("no queue NOWHERE"), "{leads_nowhere}: {nowhere}");
    }
    assert_eq!(run("queue depth").code(0).out(), "A#1  topic\nDEAD.LETTER  0\nIN  3\nORDERS  3\n");
    assert_eq!(run("queue depth IN").code(0).out(), "IN  3\n");
    // The server's own handles have the new limit.
    run("queue alter ORDERS --depth-max 3").code(0);
    let put = |body: &str| {
        use std::io::{Read as _, Write as _};
        let mut stream = serving.connect();
        let length = body.len();
        let head = format!(
            "POST /queues/ORDERS/messages HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.get(9..12).unwrap_or_default().to_owned()
    };
    assert_eq!(put("full"), "507");
    run("queue alter ORDERS --depth-max 9").code(0);
    assert_eq!(put("fits"), "201");
    let nothing = run("queue alter ORDERS").code(2).err();
    assert!(nothing.contains("names nothing to change"), "{nothing}");
    let marks = run("queue define DEEP --alias ORDERS --depth-high 5").code(2).err();
    assert!(marks.contains("no limits of its own"), "{marks}");
    for option in ["--depth-max 5", "--message-max 9", "--backout-threshold 1", "--retry 10"] {
        for kind in ["--alias ORDERS", "--subscriber ORDERS"] {
            let limits = run(&format!("queue define LIMITED {kind} {option}")).code(2).err();
            assert!(limits.contains("no limits of its own"), "{kind} {option}: {limits}");
        }
    }
    let limits = run("queue alter IN --depth-max 5").code(2).err();
    assert!(limits.contains("no limits of its own"), "{limits}");
    assert_eq!(run("queue move ORDERS DEAD.LETTER -n 1").code(0).err(), "1 message moved\n");
    assert_eq!(
        run("queue retry DEAD.LETTER").code(0).err(),
        "0 messages returned\n1 message stays: it does not name a queue on which it failed\n"
    );
    assert_eq!(run("queue purge ORDERS").code(0).err(), "3 messages dropped\n");
    let full = run("queue delete DEAD.LETTER").code(2).err();
    assert!(full.contains("queue DEAD.LETTER has 1 message"), "{full}");
    // The remedy named the parameter of the request, which the command does not have.
    assert!(full.contains("hint: get or move them first, or add --with-messages\n"), "{full}");
    run("queue delete DEAD.LETTER --with-messages").code(0);
    run("queue delete IN").code(0);
    let missing = run("queue depth DEAD.LETTER").code(2).err();
    assert!(missing.contains("STO-030") && missing.contains("DEAD.LETTER"), "{missing}");
    run("queue define LATER --depth-max 7 --message-max 10 --retry 5").code(0);
    assert_eq!(serving.stop(), Some(0));
    world.write("m", "longer than ten bytes");
    world.run("queue put LATER m").code(1);
    assert_eq!(
        world.run("queue depth").code(0).out(),
        "A#1  leads to DEAD.LETTER, which does not exist\nLATER  0\nORDERS  0\n"
    );
    let gone = run("queue depth").code(2).err();
    assert!(gone.contains("does not answer"), "{gone}");
    world.run(&format!("queue depth --store data --admin {admin}")).code(2);
}

/// A flow that names queues which the store does not have begins after they are defined at the server.
#[test]
fn the_queues_of_a_new_flow_are_defined_at_the_server() {
    let (world, admin) = world("");
    let flow = |from: &str, to: &str| {
        format!(
            "[node.get]\ntype = \"queue_input\"\nqueue = \"{from}\"\nout = \"put\"\n[node.put]\ntype = \"queue_output\"\nqueue = \"{to}\"\n"
        )
    };
    world.write("flows/one.toml", flow("IN", "ORDERS"));
    world.run("flow define").code(0);
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    world.write("flows/two.toml", flow("ORDERS", "KEPT"));
    let told = world.run(&format!("flow define --admin {admin}")).code(0).err();
    assert_eq!(told, "defined queue KEPT\n");
    assert_eq!(world.run(&format!("flow define --admin {admin}")).code(0).err(), "");
    let begun = Instant::now();
    loop {
        let listed = world.run(&format!("flow list --live --admin {admin}")).code(0).out();
        if listed.contains("two  running") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{listed}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let in_use = world.run(&format!("queue delete IN --admin {admin}")).code(2).err();
    assert!(in_use.contains("queue IN is in use"), "{in_use}");
    assert_eq!(
        world.run(&format!("queue depth --admin {admin}")).code(0).out(),
        "DEAD.LETTER  0\nIN  0\nKEPT  0\nORDERS  0\n"
    );
    assert_eq!(serving.stop(), Some(0));
}

/// A move that fails reports the messages that it moved before, in both ways.
#[test]
fn a_move_that_fails_reports_what_it_moved() {
    use std::io::{Read as _, Write as _};
    let (world, admin) = world("");
    world.run("queue define SMALL --depth-max 550").code(0);
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let mut stream = serving.connect();
    let put = |close| {
        format!("POST /queues/ORDERS/messages HTTP/1.1\r\nhost: localhost\r\n{close}content-length: 1\r\n\r\nm")
    };
    stream.write_all((put("").repeat(1_199) + &put("connection: close\r\n")).as_bytes()).expect("they are sent");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("answers");
    assert_eq!(answers.matches("HTTP/1.1 201").count(), 1_200, "{answers}");
    // More than a page.
    let browsed = world.run(&format!("queue browse ORDERS -n 5000 --admin {admin}")).code(0).out();
    assert_eq!(browsed.lines().collect::<std::collections::BTreeSet<_>>().len(), 1_200);
    let told = |text: &str| {
        assert!(text.contains("STO-031") && text.contains("500 messages moved before the failure"), "{text}");
    };
    let to_small = format!("queue move ORDERS SMALL --admin {admin}");
    told(&world.run(&to_small).code(2).err());
    assert_eq!(world.run(&format!("queue depth --admin {admin}")).code(0).out(), "ORDERS  700\nSMALL  500\n");
    // Nothing was moved, so nothing is reported.
    let full = world.run(&to_small).code(2).err();
    assert!(full.contains("STO-031") && !full.contains("before the failure"), "{full}");
    assert_eq!(world.run(&format!("queue purge SMALL --admin {admin}")).code(0).err(), "500 messages dropped\n");
    assert_eq!(serving.stop(), Some(0));
    told(&world.run("queue move ORDERS SMALL").code(2).err());
    assert_eq!(world.run("queue depth").code(0).out(), "ORDERS  200\nSMALL  500\n");
}

/// With roles, a command needs the key of an operator, and findings of the server keep their codes.
#[test]
fn a_listener_with_roles_gets_the_key_of_the_environment() {
    let (world, admin) = world("api-keys = \"keys.toml\"\n");
    let settings = String::from_utf8(world.read("quayline.toml")).expect("text");
    world.write(
        "quayline.toml",
        settings.replace("[serve.queues", "read = [\"looks\"]\noperate = [\"acts\"]\n[serve.queues"),
    );
    world.write("keys.toml", format!("[[key]]\nid = \"clerk\"\nsha256 = \"{KEY_DIGEST}\"\nroles = [\"looks\"]\n"));
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let command = format!("queue depth --admin {admin}");
    let run = |command: &str, key: &str| {
        let done = world.command(command.split_whitespace()).env("QUAYLINE_ADMIN_KEY", key).output().expect("it runs");
        (done.status.code(), String::from_utf8(done.stderr).expect("text"))
    };
    let (code, told) = run(&command, "");
    assert!(code == Some(2) && told.contains("SRV-015"), "{told}");
    let (code, told) = run(&command, "operator-key");
    assert!(code == Some(0), "{told}");
    let (code, told) = run(&format!("queue purge ORDERS --admin {admin}"), "operator-key");
    assert!(code == Some(2) && told.contains("SRV-016") && told.contains("acts"), "{told}");
    let (code, told) = run(&command, "two words");
    assert!(code == Some(2) && told.contains("QUAYLINE_ADMIN_KEY"), "{told}");
    assert_eq!(serving.stop(), Some(0));
}

/// A file that a server defines is the one that the same command defines in a store of its own.
#[test]
fn record_files_are_defined_while_a_server_has_the_store() {
    let (world, admin) = world("");
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let commands = [
        "file define CUST#1 --record 20-120 --key 0:8 --index CITY=8:10:duplicates --index TAX=18:2",
        "file define LOG --organisation esds --record 80",
        "file define SLOTS --organisation rrds --record 40",
    ];
    for command in commands {
        world.run(&format!("{command} --store own")).code(0);
        assert_eq!(world.run(&format!("{command} --admin {admin}")).code(0).err(), "");
    }
    let exists = world.run(&format!("{} --admin {admin}", commands[1])).code(2).err();
    assert!(exists.contains("STO-020"), "{exists}");
    let wrong = world.run(&format!("file define WRONG --record 4 --key 0:8 --admin {admin}")).code(2).err();
    assert!(wrong.contains("STO-024") && wrong.contains("beyond a record of 4 bytes"), "{wrong}");
    assert_eq!(serving.stop(), Some(0));
    assert_eq!(world.run("file facts --store data").code(0).out(), world.run("file facts --store own").code(0).out());
}

/// A connection that ends in the middle of an answer is a finding, not an empty answer.
#[test]
fn an_incomplete_answer_is_a_finding() {
    use std::io::{Read as _, Write as _};
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut head = [0; 1_024];
        assert!(stream.read(&mut head).expect("a request") > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n{\"dropped\": 1").expect("a part");
    });
    let cut = world.run(&format!("queue purge Q --admin {address}")).code(2).err();
    answers.join().expect("it ends");
    assert!(cut.contains("is incomplete") && cut.contains("before you repeat"), "{cut}");
}
