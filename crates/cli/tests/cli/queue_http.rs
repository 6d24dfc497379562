//! Queues over HTTP in `quayline serve`: a real process over a real folder, and its content after the process ends. The server's crate tests the
//! requests.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::queue_serve::Serving;
use crate::world::World;

/// Creates a project whose server has only queues, and returns the address of its admin listener.
fn world() -> (World, SocketAddr) {
    let world = World::new();
    let admin = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    world.write(
        "quayline.toml",
        format!(
            "[serve.limits]\nconnections = 100\n[serve.authentication]\nrequired = false\n[serve.admin]\nlisten = \"{admin}\"\n\
             [serve.queues.queue.ORDERS]\nput = [\"*\"]\nget = [\"*\"]\nbrowse = [\"*\"]\n[workload]\ncollect = false\n"
        ),
    );
    world.run("queue define ORDERS").code(0);
    (world, admin)
}

/// Returns the complete response to one request.
fn ask(mut stream: TcpStream, method: &str, target: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("the request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_default()
}

#[test]
fn what_was_acknowledged_is_there_after_the_server_and_claims_are_not() {
    let (world, admin) = world();
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    for body in ["one", "two", "three"] {
        let put = ask(serving.connect(), "POST", "/queues/ORDERS/messages", body);
        assert_eq!(status(&put), "201", "{put}");
    }
    let first = ask(serving.connect(), "POST", "/queues/ORDERS/claims", "");
    assert!(first.ends_with("\r\n\r\none"), "{first}");
    let second = ask(serving.connect(), "POST", "/queues/ORDERS/claims", "");
    assert!(second.ends_with("\r\n\r\ntwo"), "{second}");
    let settled = ask(serving.connect(), "DELETE", header(&second, "location"), "");
    assert_eq!(status(&settled), "204", "{settled}");
    let operator = |target: &str| ask(TcpStream::connect(admin).expect("the admin listener"), "GET", target, "");
    let metrics = operator("/metrics");
    for line in [
        "quayline_queue_depth{queue=\"ORDERS\"} 2\n",
        "quayline_queue_put_total{queue=\"ORDERS\"} 3\n",
        "quayline_answers_total{operation=\"queues.claim\",status=\"2xx\"} 2\n",
        "quayline_store_units_total 4\n",
        "quayline_store_rollbacks_total 0\n",
        "quayline_store_sampled_operations_total{operation=\"commit\"}",
        "# TYPE quayline_store_by_owner_lock_wait_seconds_total counter\n",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    let syncs = metrics.lines().find_map(|line| line.strip_prefix("quayline_store_syncs_total ")?.parse::<u64>().ok());
    assert!(syncs.is_some_and(|syncs| syncs >= 4), "{metrics}");
    let store = operator("/store");
    assert!(store.contains("\"group_units_max\":1") && store.contains("\"locks\":"), "{store}");
    assert!(store.contains("\"owners\":[") && store.contains("\"group_units_mean\":1.0"), "{store}");
    // A save while the server works.
    let send =
        |method: &str, target: &str| ask(TcpStream::connect(admin).expect("the admin listener"), method, target, "");
    assert!(send("GET", "/store/save").contains("\"state\":\"none\""));
    for (method, target, expected) in [
        ("POST", "/store/save/..%2Fother", "400"),
        ("POST", "/store/save/.hidden", "400"),
        ("GET", "/store/save/nightly", "405"),
        ("DELETE", "/store", "405"),
        ("POST", "/store/save/nightly?compress", "202"),
    ] {
        let answer = send(method, target);
        assert_eq!(status(&answer), expected, "{method} {target}: {answer}");
    }
    let begun = Instant::now();
    let saved = loop {
        let saved = send("GET", "/store/save");
        if !saved.contains("\"state\":\"running\"") {
            break saved;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{saved}");
    };
    assert!(saved.contains("\"save\":\"nightly\"") && saved.contains("\"state\":\"complete\""), "{saved}");
    assert_eq!(status(&send("POST", "/store/save/nightly")), "202");
    let begun = Instant::now();
    while !send("GET", "/store/save").contains("\"code\":\"STO-020\"") {
        assert!(begun.elapsed() < Duration::from_secs(30), "a complete save is not refused");
    }
    world.run("store restore data.saves/nightly --store copy").code(0);
    assert_eq!(world.run("queue depth ORDERS --store copy").code(0).out(), "ORDERS  2\n");
    // The process is killed, which has the effect of a power cut except for the disk.
    let mut child = serving.child;
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let serving = Serving::of(&world, "serve --listen 127.0.0.1:0 --store data");
    let gone = ask(serving.connect(), "DELETE", header(&first, "location"), "");
    assert!(status(&gone) == "404" && gone.contains("GTW-136"), "{gone}");
    let again = ask(serving.connect(), "DELETE", "/queues/ORDERS/messages", "");
    assert!(again.ends_with("\r\n\r\none"), "{again}");
    assert_eq!(serving.stop(), Some(0));
    assert_eq!(world.run("queue depth ORDERS").code(0).out(), "ORDERS  1\n");
    world.run("store check").code(0);
}

#[test]
fn a_check_finds_queues_that_the_store_does_not_have() {
    let (world, _) = world();
    let told = world.run("serve --check --store data").code(2).err();
    assert!(told.contains("error[SRV-011]: queue ORDERS has no backout queue: the store has no DEAD.LETTER"), "{told}");
    world.run("queue define DEAD.LETTER --store data").code(0);
    world.run("serve --check --store data").code(0);
    world.write("quayline.toml", "[serve.queues.queue.NOWHERE]\nput = [\"*\"]\n");
    let refused = world.run("serve --check --store data").code(2).err();
    for part in ["error[SRV-008]: no queue NOWHERE", "quayline.toml", "quayline queue define NOWHERE"] {
        assert!(refused.contains(part), "{part} is not in\n{refused}");
    }
    world.write("quayline.toml", "[serve.queues.queue.ORDERS]\n");
    let refused = world.run("serve --check --store data").code(2).err();
    assert!(refused.contains("SRV-003") && refused.contains("no client may use the queue ORDERS"), "{refused}");
}
