//! Queues over HTTP: the server in this process over a store in memory, so that a test can look at the store beside it.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_gateway::Definitions;
use quayline_server::{Beside, ServeConfig, key_digest, serve_with};
use quayline_store::queue::{Message, QueueDefinition, QueueKind};
use quayline_store::{Access, MemoryEngine, Store, StoreLimits, SystemClock};
use tempfile::TempDir;

use crate::world::{Answer, read, wait_for};

struct World {
    store: Store,
    address: SocketAddr,
    folder: TempDir,
}

const SETTINGS: &str = "
[serve]
listen = \"127.0.0.1:0\"
threads = 2
audit = \"audit.jsonl\"
[serve.authentication]
api-keys = \"keys.toml\"
[serve.limits]
body-bytes = 1000
[serve.queues]
wait-ms-max = 5000
claims-per-client = 2
page = 2
[serve.queues.queue.ORDERS]
put = [\"clerk\"]
get = [\"worker\"]
browse = [\"auditor\", \"worker\"]
[serve.queues.queue.EVENTS]
put = [\"*\"]
[serve.queues.queue.GONE]
put = [\"*\"]
";

fn store() -> Store {
    let clock = Arc::new(SystemClock);
    let store = Store::open(Arc::new(MemoryEngine::new()), clock, StoreLimits::default(), Access::Write).unwrap();
    let mut unit = store.begin().unwrap();
    let orders = QueueDefinition { backout_threshold: 2, depth_max: 6, ..QueueDefinition::local("ORDERS") };
    for definition in [orders, QueueDefinition::local("DEAD.LETTER"), QueueDefinition::local("PRIVATE")] {
        store.define_queue(&mut unit, definition).unwrap();
    }
    let topic = QueueKind::Topic(vec!["ORDERS".to_owned(), "PRIVATE".to_owned()]);
    store.define_queue(&mut unit, QueueDefinition { kind: topic, ..QueueDefinition::local("EVENTS") }).unwrap();
    unit.commit().unwrap();
    store
}

fn served() -> World {
    served_with("")
}

/// A server with more limits.
fn served_with(limits: &str) -> World {
    let store = store();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    for sub in ["services", "apis"] {
        std::fs::create_dir_all(root.join(sub)).unwrap();
    }
    let key = |id: &str, role: &str| {
        format!("[[key]]\nid = \"{id}\"\nsha256 = \"{}\"\nroles = [\"{role}\"]\n", key_digest(id))
    };
    let keys = [key("clara", "clerk"), key("will", "worker"), key("wanda", "worker"), key("anna", "auditor")].concat();
    std::fs::write(root.join("keys.toml"), keys).unwrap();
    let settings = SETTINGS.replace("body-bytes = 1000\n", &format!("body-bytes = 1000\n{limits}"));
    std::fs::write(root.join("quayline.toml"), settings).unwrap();
    let config = ServeConfig::load(&root).unwrap_or_else(|findings| panic!("{findings}"));
    let definitions = Definitions::load(&root).unwrap_or_else(|findings| panic!("{findings}"));
    let (sender, address) = std::sync::mpsc::channel();
    let beside = Beside { store: Some(store.clone()), ..Beside::default() };
    // It ends with the test's process.
    std::thread::spawn(move || {
        serve_with(config, root, definitions, beside, Box::new(|_| ()), |address| sender.send(address).unwrap())
    });
    World { store, address: address.recv().unwrap(), folder }
}

/// Messages did not name their sender, so flows could not keep the order of a user.
#[test]
fn a_message_has_the_user_who_put_it() {
    let world = served();
    world.put("quayline-property: customer=1\r\n", "x");
    let refused =
        world.call("clara", "POST", "/queues/ORDERS/messages", "quayline-property: amqp.user-id=boss\r\n", "x");
    assert_eq!(refused.status, 400);
    let unit = world.store.begin().unwrap();
    let found = world.store.queue("ORDERS").unwrap().browse(&unit, None, 9).unwrap();
    assert_eq!(found.len(), 1);
    let user = found[0].message.properties.iter().find(|(name, _)| name == quayline_store::queue::USER_ID);
    assert_eq!(user.map(|(_, user)| user.as_slice()), Some(b"clara".as_slice()));
}

impl World {
    fn send(&self, who: &str, method: &str, target: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let key = if who.is_empty() { String::new() } else { format!("x-api-key: {who}\r\n") };
        let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let request = format!("{method} {target} HTTP/1.1\r\nhost: x\r\n{key}{length}{headers}\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn call(&self, who: &str, method: &str, target: &str, headers: &str, body: &str) -> Answer {
        read(&mut self.send(who, method, target, headers, body))
    }

    /// Status, and the code of a problem or the body.
    fn told(&self, who: &str, method: &str, target: &str) -> String {
        let answer = self.call(who, method, target, "", "");
        let text = answer.text();
        let code = text.split_once("\"code\":\"").map(|(_, rest)| rest[..7].to_owned());
        format!("{} {}", answer.status, code.unwrap_or(text)).trim_end().to_owned()
    }

    fn put(&self, headers: &str, body: &str) -> String {
        let answer = self.call("clara", "POST", "/queues/ORDERS/messages", headers, body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.header("quayline-message-id").unwrap().to_owned()
    }

    fn depth(&self, queue: &str) -> u64 {
        self.store.queue(queue).unwrap().facts().unwrap().depth
    }

    fn claim(&self, who: &str, query: &str) -> (String, String) {
        let answer = self.call(who, "POST", &format!("/queues/ORDERS/claims{query}"), "", "");
        assert_eq!(answer.status, 201, "{}", answer.text());
        assert_eq!(
            answer.header("location"),
            Some(&*format!("/queues/ORDERS/claims/{}", answer.header("quayline-claim").unwrap()))
        );
        (answer.header("quayline-claim").unwrap().to_owned(), answer.text())
    }
}

#[test]
fn a_message_is_put_and_got_with_all_that_is_around_it() {
    let world = served();
    let headers = "content-type: text/plain\r\nquayline-correlation-id: 0A0b\r\nquayline-group-id: ff\r\nquayline-group-sequence: 3\r\nquayline-priority: 7\r\nquayline-reply-to: REPLIES\r\nquayline-format: MQ%20STR\r\nquayline-expires-ms: 60000\r\nquayline-property: a%3Db=gr%C3%BC%C3%9Fe\r\nquayline-property: c=\r\n";
    let id = world.put(headers, "one");
    assert_eq!(world.depth("ORDERS"), 1);
    let answer = world.call("will", "DELETE", "/queues/ORDERS/messages", "", "");
    assert_eq!((answer.status, answer.text().as_str()), (200, "one"));
    let zeros = "0".repeat(44);
    for (name, value) in [
        ("quayline-message-id", id.as_str()),
        ("quayline-correlation-id", &format!("0a0b{zeros}")),
        ("quayline-group-id", &format!("ff00{zeros}")),
        ("quayline-group-sequence", "3"),
        ("quayline-priority", "7"),
        ("quayline-persistent", "true"),
        ("quayline-reply-to", "REPLIES"),
        ("quayline-format", "MQ%20STR"),
        ("quayline-backout-count", "0"),
        ("content-type", "text/plain"),
        ("cache-control", "no-store"),
        ("content-security-policy", "default-src 'none'; sandbox"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let properties: Vec<&str> = answer.head.lines().filter(|line| line.starts_with("quayline-property: ")).collect();
    assert_eq!(properties, ["quayline-property: a%3Db=gr%C3%BC%C3%9Fe", "quayline-property: c="]);
    let left: u64 = answer.header("quayline-expires-ms").unwrap().parse().unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    assert_eq!((world.depth("ORDERS"), world.store.units_open()), (0, 0));
    assert_eq!(world.told("will", "DELETE", "/queues/ORDERS/messages"), "204");
}

#[test]
fn nobody_uses_a_queue_without_the_right() {
    let world = served();
    for (who, method, target, told) in [
        ("", "POST", "/queues/ORDERS/messages", "401 GTW-110"),
        ("nobody", "POST", "/queues/ORDERS/messages", "401 GTW-110"),
        ("will", "POST", "/queues/ORDERS/messages", "403 GTW-111"),
        ("clara", "DELETE", "/queues/ORDERS/messages", "403 GTW-111"),
        ("anna", "DELETE", "/queues/ORDERS/messages", "403 GTW-111"),
        ("anna", "POST", "/queues/ORDERS/claims", "403 GTW-111"),
        ("clara", "GET", "/queues/ORDERS", "403 GTW-111"),
        ("clara", "GET", "/queues/ORDERS/messages", "403 GTW-111"),
        ("anna", "GET", "/queues/EVENTS", "403 GTW-111"),
        // A queue that the settings do not name is as one that does not exist, and so is one that the store does not have.
        ("will", "DELETE", "/queues/PRIVATE/messages", "404 GTW-135"),
        ("will", "DELETE", "/queues/NONE/messages", "404 GTW-135"),
        ("clara", "POST", "/queues/GONE/messages", "404 GTW-135"),
        ("will", "PUT", "/queues/ORDERS/messages", "405 GTW-101"),
        ("will", "GET", "/queues/ORDERS/other", "404 GTW-100"),
        ("will", "GET", "/queuesORDERS", "404 GTW-100"),
        ("", "GET", "/queues", "401 GTW-110"),
        ("", "GET", "/queues/openapi.json", "401 GTW-110"),
        (
            "anna",
            "GET",
            "/queues/ORDERS",
            "200 {\"queue\":\"ORDERS\",\"depth\":0,\"depthHigh\":0,\"depthMax\":6,\"messageBytesMax\":4194304,\"put\":0,\"got\":0,\"expired\":0,\"backedOut\":0,\"moved\":0}",
        ),
        (
            "will",
            "GET",
            "/queues",
            "200 {\"queues\":[{\"queue\":\"EVENTS\",\"rights\":[\"put\"]},{\"queue\":\"GONE\",\"rights\":[\"put\"]},{\"queue\":\"ORDERS\",\"rights\":[\"get\",\"browse\"]}]}",
        ),
    ] {
        assert_eq!(world.told(who, method, target), told, "{who} {method} {target}");
    }
    // A browser sends its user's certificate also for a page of another origin.
    let foreign = world.call("clara", "POST", "/queues/ORDERS/messages", "origin: https://elsewhere.example\r\n", "x");
    assert_eq!(foreign.status, 403);
    let own = world.call("clara", "POST", "/queues/ORDERS/messages", "origin: http://x\r\n", "x");
    assert_eq!(own.status, 201);
    let line = "\"operation\":\"queues.put\",\"method\":\"POST\",\"path\":\"/queues/ORDERS/messages\",\"status\":201";
    wait_for("the line of the audit", || {
        std::fs::read_to_string(world.folder.path().join("audit.jsonl")).unwrap().contains(line)
    });
}

#[test]
fn what_a_request_gets_wrong_is_named() {
    let world = served();
    let put = |headers: &str, body: &str| {
        let answer = world.call("clara", "POST", "/queues/ORDERS/messages", headers, body);
        let text = answer.text();
        let field = text.split_once("\"field\":\"").map(|(_, rest)| rest.split('"').next().unwrap().to_owned());
        format!("{} {}", answer.status, field.unwrap_or_default())
    };
    for (headers, told) in [
        ("quayline-priority: 10\r\n", "400 quayline-priority"),
        ("quayline-prio: 1\r\n", "400 quayline-prio"),
        ("quayline-priority: 1\r\nquayline-priority: 2\r\n", "400 quayline-priority"),
        ("quayline-correlation-id: xyz\r\n", "400 quayline-correlation-id"),
        ("quayline-correlation-id: 00\r\n", "400 quayline-correlation-id"),
        ("quayline-group-id: 01\r\n", "400 quayline-group-sequence"),
        ("quayline-group-sequence: 1\r\n", "400 quayline-group-id"),
        ("quayline-persistent: yes\r\n", "400 quayline-persistent"),
        ("quayline-format: %zz\r\n", "400 quayline-format"),
        ("quayline-property: amqp.body=1\r\n", "400 quayline-property"),
        // Twice in one message: JSON and AMQP have each name once.
        ("quayline-property: a=1\r\nquayline-property: b=1\r\nquayline-property: a=2\r\n", "400 quayline-property"),
        ("quayline-expires-ms: 0\r\n", "400 quayline-expires-ms"),
        ("content-encoding: gzip\r\n", "415 "),
    ] {
        assert_eq!(put(headers, "x"), told, "{headers}");
    }
    assert_eq!(put("", &"x".repeat(1001)), "413 ");
    for target in [
        "/queues/ORDERS/messages?wait-ms=5001",
        "/queues/ORDERS/messages?id=01&group=02",
        "/queues/ORDERS/messages?wait=1",
        "/queues/ORDERS/messages?id=01&id=01",
        "/queues/ORDERS/messages/zz",
    ] {
        assert_eq!(world.told("will", "DELETE", target), "400 GTW-102", "{target}");
    }
    assert_eq!(world.told("will", "POST", "/queues/ORDERS/claims?seconds=3601"), "400 GTW-102");
    assert_eq!(world.told("will", "GET", "/queues/ORDERS/messages?after=00"), "400 GTW-102");
    assert_eq!(world.depth("ORDERS"), 0, "nothing of it was put");
    for n in 0..6 {
        world.put("", &n.to_string());
    }
    assert_eq!(put("", "x"), "507 ");
}

#[test]
fn a_claim_is_one_clients_until_it_is_settled() {
    let world = served();
    for body in ["a", "b", "c", "d"] {
        world.put("", body);
    }
    let (first, body) = world.claim("will", "");
    assert_eq!(body, "a");
    let (second, body) = world.claim("wanda", "");
    assert_eq!(body, "b");
    let claim = |id: &str| format!("/queues/ORDERS/claims/{id}");
    // Neither another client nor another queue settles it, and nobody guesses.
    assert_eq!(world.told("wanda", "DELETE", &claim(&first)), "404 GTW-136");
    assert_eq!(world.told("will", "DELETE", &claim(&"0".repeat(32))), "404 GTW-136");
    assert_eq!(world.told("wanda", "POST", &claim(&first)), "404 GTW-136");
    assert_eq!(world.told("will", "POST", &format!("{}?seconds=60", claim(&first))), "204");
    assert_eq!(world.told("will", "DELETE", &format!("{}?outcome=maybe", claim(&first))), "400 GTW-102");
    assert_eq!(world.depth("ORDERS"), 4);
    assert_eq!(world.told("will", "DELETE", &claim(&first)), "204");
    assert_eq!(world.told("will", "DELETE", &claim(&first)), "404 GTW-136", "once");
    assert_eq!(world.depth("ORDERS"), 3);
    // Given back, it comes before those that were put later.
    assert_eq!(world.told("wanda", "DELETE", &format!("{}?outcome=released", claim(&second))), "204");
    let (again, body) = world.claim("will", "");
    assert_eq!(body, "b");
    let (third, body) = world.claim("will", "");
    assert_eq!(body, "c");
    assert_eq!(world.told("will", "POST", "/queues/ORDERS/claims"), "429 GTW-112", "two claims a client");
    assert_eq!(world.told("will", "DELETE", &format!("{}?outcome=failed", claim(&again))), "204");
    let seen = world.call("will", "POST", "/queues/ORDERS/claims", "", "");
    assert_eq!((seen.text().as_str(), seen.header("quayline-backout-count")), ("b", Some("1")));
    let reason = "quayline-reason: no%20such%20article\r\n";
    let rejected = world.call("will", "DELETE", &format!("{}?outcome=rejected", claim(&third)), reason, "");
    assert_eq!(rejected.status, 204);
    let dead = world.store.queue("DEAD.LETTER").unwrap();
    let moved = dead.browse(&world.store.begin().unwrap(), None, 10).unwrap();
    assert_eq!(
        (moved.len(), moved[0].message.payload.as_slice(), moved[0].message.reason.as_str()),
        (1, b"c".as_slice(), "no such article")
    );
}

/// The claim was gone after a 503: the client could not settle it, and another client got the message.
#[test]
fn a_claim_outlasts_a_store_that_begins_no_unit() {
    let world = served();
    world.put("", "a");
    let (first, _) = world.claim("will", "");
    for outcome in ["accepted", "rejected"] {
        let units: Vec<_> = std::iter::from_fn(|| world.store.begin().ok()).collect();
        let target = format!("/queues/ORDERS/claims/{first}?outcome={outcome}");
        assert!(world.told("will", "DELETE", &target).starts_with("503"), "{outcome}");
        drop(units);
    }
    assert_eq!(world.told("will", "DELETE", &format!("/queues/ORDERS/claims/{first}")), "204");
    assert_eq!((world.depth("ORDERS"), world.depth("DEAD.LETTER")), (0, 0));
}

/// Below the path of queues, a client could try names as often as it liked.
#[test]
fn requests_that_no_queue_answers_count_against_the_limits() {
    for (method, target, status) in [
        ("GET", "/queues/ORDERS/other", "404 GTW-100"),
        ("PUT", "/queues/ORDERS/messages", "405 GTW-101"),
        ("GET", "/queues/NONE", "404 GTW-135"),
    ] {
        let world = served_with("client-requests-per-second = 0.01\nclient-burst = 3\n");
        let told = [1, 2, 3, 4].map(|_| world.told("will", method, target));
        assert_eq!(told, [status, status, status, "429 GTW-112"], "{method} {target}");
    }
}

/// A client that claims and dies would keep its message for ever, and a message that kills its clients would do so for ever.
#[test]
fn a_claim_that_is_not_settled_in_time_counts_as_failed_and_ends_in_the_backout_queue() {
    let world = served();
    world.put("", "poison");
    let (first, _) = world.claim("will", "?seconds=1");
    let again = world.call("wanda", "POST", "/queues/ORDERS/claims?seconds=1&wait-ms=5000", "", "");
    assert_eq!((again.status, again.header("quayline-backout-count")), (201, Some("1")));
    assert_eq!(world.told("will", "DELETE", &format!("/queues/ORDERS/claims/{first}")), "404 GTW-136");
    wait_for("the second end", || world.depth("DEAD.LETTER") == 1);
    assert_eq!(world.depth("ORDERS"), 0);
}

#[test]
fn a_get_waits_for_a_message_and_takes_the_one_it_selects() {
    let world = served();
    let began = Instant::now();
    assert_eq!(world.told("will", "DELETE", "/queues/ORDERS/messages?wait-ms=150"), "204");
    assert!(began.elapsed() >= Duration::from_millis(150));
    std::thread::scope(|scope| {
        let one =
            scope.spawn(|| world.call("will", "DELETE", "/queues/ORDERS/messages?wait-ms=5000&correlation=01", "", ""));
        let any = scope.spawn(|| world.call("wanda", "DELETE", "/queues/ORDERS/messages?wait-ms=5000", "", ""));
        std::thread::sleep(Duration::from_millis(100));
        world.put("", "for anybody");
        assert_eq!(any.join().unwrap().text(), "for anybody");
        world.put("quayline-correlation-id: 02\r\n", "for another");
        world.put("quayline-correlation-id: 01\r\n", "for one");
        assert_eq!(one.join().unwrap().text(), "for one");
    });
    let id = world.put("quayline-group-id: 07\r\nquayline-group-sequence: 2\r\n", "second");
    world.put("quayline-group-id: 07\r\nquayline-group-sequence: 1\r\n", "first");
    let looked = world.call("anna", "GET", &format!("/queues/ORDERS/messages/{id}"), "", "");
    assert_eq!((looked.status, looked.text().as_str(), world.depth("ORDERS")), (200, "second", 3));
    assert_eq!(world.told("will", "DELETE", "/queues/ORDERS/messages?group=07"), "200 first");
    assert_eq!(world.told("will", "DELETE", &format!("/queues/ORDERS/messages/{id}")), "200 second");
    assert_eq!(world.told("will", "DELETE", &format!("/queues/ORDERS/messages/{id}")), "404 GTW-137");
    assert_eq!(world.told("anna", "GET", &format!("/queues/ORDERS/messages/{id}")), "404 GTW-137");
    assert_eq!(world.told("will", "DELETE", "/queues/ORDERS/messages"), "200 for another");
}

/// A client that waited and left would otherwise take the next message with it.
#[test]
fn a_client_that_leaves_takes_no_message_with_it() {
    let world = served();
    for _ in 0..5 {
        let waiting = world.send("will", "DELETE", "/queues/ORDERS/messages?wait-ms=5000", "", "");
        std::thread::sleep(Duration::from_millis(50));
        drop(waiting);
    }
    std::thread::sleep(Duration::from_millis(200));
    std::thread::scope(|scope| {
        let stays = scope.spawn(|| world.call("wanda", "DELETE", "/queues/ORDERS/messages?wait-ms=5000", "", ""));
        std::thread::sleep(Duration::from_millis(50));
        world.put("", "x");
        assert_eq!(stays.join().unwrap().text(), "x");
    });
}

#[test]
fn a_browse_goes_page_by_page_and_takes_nothing() {
    let world = served();
    for (priority, body) in [("1", "low"), ("9", "high"), ("5", "middle")] {
        world.put(&format!("quayline-priority: {priority}\r\n"), body);
    }
    let page = |query: &str| {
        let answer = world.call("anna", "GET", &format!("/queues/ORDERS/messages{query}"), "", "");
        assert_eq!(answer.status, 200, "{}", answer.text());
        let text = answer.text();
        let bytes: Vec<String> =
            text.split("\"bytes\":").skip(1).map(|rest| rest.split(',').next().unwrap().to_owned()).collect();
        let next = text.split_once("\"next\":\"").map(|(_, rest)| rest[..18].to_owned());
        (bytes.join(" "), next)
    };
    let (first, next) = page("");
    assert_eq!(first, "4 6");
    let (second, next) = page(&format!("?after={}", next.unwrap()));
    assert_eq!(second, "3");
    assert_eq!(page(&format!("?after={}", next.unwrap())), (String::new(), None));
    assert_eq!(page("?limit=1").0, "4");
    assert_eq!(world.depth("ORDERS"), 3);
}

#[test]
fn a_topic_takes_messages_and_gives_none() {
    let world = served();
    assert_eq!(world.call("anna", "POST", "/queues/EVENTS/messages", "", "x").status, 201);
    assert_eq!((world.depth("ORDERS"), world.depth("PRIVATE")), (1, 1));
    // Sections of AMQP are no properties for clients of HTTP, and what does not fit into a head is counted.
    let mut unit = world.store.begin().unwrap();
    let properties = vec![
        ("amqp.body".to_owned(), vec![0, 1]),
        ("long".to_owned(), vec![b'x'; 5000]),
        ("a".to_owned(), b"1".to_vec()),
    ];
    let message = Message { priority: 9, properties, ..Message::new(b"y".to_vec()) };
    world.store.queue("ORDERS").unwrap().put(&mut unit, &message).unwrap();
    unit.commit().unwrap();
    let got = world.call("will", "DELETE", "/queues/ORDERS/messages", "", "");
    assert_eq!(
        (got.text().as_str(), got.header("quayline-properties-omitted"), got.header("content-type")),
        ("y", Some("2"), Some("application/octet-stream"))
    );
}

#[test]
fn the_document_describes_what_there_is() {
    let world = served();
    let document = world.call("anna", "GET", "/queues/openapi.json", "", "");
    assert_eq!(document.status, 200);
    let text = document.text();
    for part in
        ["\"/queues/{queue}/claims/{claim}\"", "\"settleClaim\"", "\"apiKey\"", "\"maximum\": 5000", "\"ORDERS\""]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("PRIVATE"));
    let page = world.call("anna", "GET", "/queues/docs", "", "");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let options = world.call("", "OPTIONS", "/queues/ORDERS/messages", "", "");
    assert_eq!((options.status, options.header("allow")), (204, Some("GET, HEAD, POST, DELETE, OPTIONS")));
}

#[test]
fn settings_that_let_nothing_through_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = |text: &str| {
        std::fs::write(folder.path().join("quayline.toml"), text).unwrap();
        ServeConfig::load(folder.path()).map(|_| ()).unwrap_err().to_string()
    };
    assert!(wrong("[serve.queues]\n").contains("no queue is listed"));
    let text = wrong("[serve.queues]\npath = \"queues/\"\npage = 0\nclaim-seconds = 0\n[serve.queues.queue.A]\n");
    for part in
        ["serve.queues.path", "serve.queues.page", "serve.queues.claim-seconds", "no client may use the queue A"]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(wrong("[serve.queues.queue.A]\nputs = [\"x\"]\n").contains("puts"));
}
