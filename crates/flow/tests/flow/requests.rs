//! Requests to a flow: their limits, and their repetition.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

use quayline_store::queue::{QueueDefinition, USER_ID};

use crate::support::{PATIENCE, World, until};

pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address")
}

fn connected(address: SocketAddr) -> TcpStream {
    let mut stream = None;
    until("the flow listens", || {
        stream = TcpStream::connect(address).ok();
        stream.is_some()
    });
    let stream = stream.expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    String::from_utf8(answer).expect("text")
}

/// The whole answer to a request.
pub(crate) fn post(address: SocketAddr, headers: &[(&str, &str)], content: &str) -> String {
    let mut stream = connected(address);
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = content.len();
    let head = format!("POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{content}").as_bytes()).expect("a request");
    answer(stream)
}

/// A proxy on this machine says who asks.
#[test]
fn a_header_of_a_proxy_names_the_user_of_a_request() {
    let world = World::new();
    let out = world.queue("OUT");
    let address = free_address();
    let flow = |more: &str| {
        format!(
            "[node.get]\ntype = \"http_input\"\nlisten = \"{address}\"\npath = \"/x\"\n{more}out = \"tell\"\n\
             [node.tell]\ntype = \"trace\"\ntext.from = 'envelope.user_id ?? \"nobody\"'\nout = \"put\"\n\
             [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n"
        )
    };
    let user = |engine| {
        let told = post(address, &[("X-Forwarded-User", "rita")], "x");
        assert!(told.starts_with("HTTP/1.1 204"), "{told}");
        drop(engine);
        let message = world.get(&out);
        let user = message.properties.into_iter().find(|(name, _)| name == USER_ID);
        user.map(|(_, user)| String::from_utf8(user).expect("text"))
    };
    let with = "user_header = \"x-forwarded-user\"\n";
    assert_eq!(user(world.engine(&flow(with))).as_deref(), Some("rita"));
    assert_eq!(user(world.engine(&flow(""))), None, "a header that no property names says nothing");
    // A proxy adds its header to the client's header.
    let engine = world.engine(&flow(with));
    let told = post(address, &[("X-Forwarded-User", "boss"), ("X-Forwarded-User", "rita")], "x");
    assert!(told.starts_with("HTTP/1.1 400") && told.contains("occurs twice"), "{told}");
    drop(engine);
    assert_eq!(*world.said.traced.lock().expect("no panic"), ["tell: rita", "tell: nobody"]);
}

/// A reload closed the socket and bound it again: clients were refused or reset, the new version reported the address of the old one as taken, and
/// connections that stayed open got 503 for good.
#[test]
fn clients_are_answered_while_a_flow_is_loaded_again() {
    let world = World::new();
    let out = world.queue("OUT");
    let listen = free_address();
    let text = flow(listen, "");
    let engine = world.engine(&text);
    drop(connected(listen));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let (done, busy) = std::thread::scope(|scope| {
        let once = || {
            let (mut done, mut busy) = (0, 0);
            while !is_over.load(Ordering::Relaxed) {
                // Neither refused nor reset.
                let mut stream = TcpStream::connect(listen).expect("the address is always open");
                stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
                stream
                    .write_all(b"POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx")
                    .expect("a request");
                match &answer(stream)[..12] {
                    "HTTP/1.1 201" => done += 1,
                    "HTTP/1.1 503" => busy += 1,
                    other => panic!("{other}"),
                }
            }
            (done, busy)
        };
        let kept = || {
            let (mut done, mut busy) = (0, 0);
            let mut stream = connected(listen);
            while !is_over.load(Ordering::Relaxed) {
                let sent = stream.write_all(b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx");
                let mut head = [0; 1024];
                match sent.and_then(|()| stream.read(&mut head)) {
                    Ok(count) if head[..count].starts_with(b"HTTP/1.1 201") => done += 1,
                    Ok(count) if head[..count].starts_with(b"HTTP/1.1 503") => busy += 1,
                    Ok(1..) => panic!("{}", head.escape_ascii()),
                    // The connection of the old version has ended.
                    Ok(0) | Err(_) => stream = connected(listen),
                }
            }
            (done, busy)
        };
        let clients: Vec<_> = (0..3).map(|_| scope.spawn(once)).chain((0..2).map(|_| scope.spawn(kept))).collect();
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(30));
            engine.deploy(world.compile(&text).unwrap_or_else(|findings| panic!("{findings}")));
        }
        // The last version answers everybody.
        std::thread::sleep(Duration::from_millis(100));
        is_over.store(true, Ordering::Relaxed);
        let counts = clients.into_iter().map(|client| client.join().expect("a client"));
        counts.fold((0, 0), |(done, busy), (more, refused)| (done + more, busy + refused))
    });
    assert!(done > 100 && busy < done / 2, "{done} done, {busy} refused");
    let depth = out.facts().expect("facts").depth;
    // A connection may end after the commit and before the answer is read.
    assert!(depth >= done && depth <= done + 2 * 20, "{depth} of {done}");
    assert_eq!(world.errors(), "");
    drop(engine);
    // The address is free at once.
    drop(TcpListener::bind(listen).expect("a free address"));
}

/// A request that says how long it is and sends nothing.
fn begun(address: SocketAddr, length: usize) -> TcpStream {
    let mut stream = connected(address);
    let head = format!("POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("a request");
    stream
}

fn flow(listen: SocketAddr, properties: &str) -> String {
    format!(
        "additional_instances = 3\n[node.listen]\ntype = \"http_input\"\nlisten = \"{listen}\"\npath = \"/x\"\n{properties}\nout = [\"put\", \"answer\"]\n\
         [node.put]\ntype = \"queue_output\"\nqueue = \"OUT\"\n[node.answer]\ntype = \"reply\"\nstatus = 201\ncontent_type = \"text/plain\"\n"
    )
}

/// Connections without a request had no time limit, so enough of them locked out all other clients permanently.
#[test]
fn idle_connections_do_not_keep_a_client_out() {
    let world = World::new();
    let _out = world.queue("OUT");
    let listen = free_address();
    let _engine = world.engine(&flow(listen, "connections = 2"));
    let idle = [connected(listen), connected(listen)];
    let answer = post(listen, &[], "x");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    drop(idle);
}

/// The content of each request was read before all limits but that of its own length, so a thousand of them could occupy 100 GB.
#[test]
fn contents_beyond_the_limits_are_refused_before_they_are_read() {
    let world = World::new();
    let _out = world.queue("OUT");
    let listen = free_address();
    let _engine = world.engine(&flow(listen, ""));
    let first = post(listen, &[], "x");
    assert!(first.starts_with("HTTP/1.1 201"), "{first}");
    let long = 100 << 20;
    let held = [begun(listen, long), begun(listen, long)];
    let mut refused = String::new();
    until("the others have their room", || {
        let mut third = connected(listen);
        let head = format!("POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {long}\r\n\r\n");
        third.write_all(head.as_bytes()).expect("a request");
        third.set_read_timeout(Some(Duration::from_millis(500))).expect("a limit");
        let mut start = [0; 300];
        let length = third.read(&mut start).unwrap_or(0);
        refused = start[..length].escape_ascii().to_string();
        length > 0
    });
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    // Short requests have room.
    assert!(post(listen, &[], "x").starts_with("HTTP/1.1 201"));
    drop(held);
    assert!(answer(begun(listen, long + 1)).starts_with("HTTP/1.1 413"));
    let listen = free_address();
    let _engine = world.engine(&flow(listen, "content_bytes_max = 3"));
    assert!(post(listen, &[], "xyz").starts_with("HTTP/1.1 201"));
    let refused = post(listen, &[], "long");
    assert!(refused.starts_with("HTTP/1.1 413") && refused.contains("longer than 3 bytes"), "{refused}");
    // Regression: the connection closed with the content unread, so the client lost the answer.
    let refused = post(listen, &[], &"x".repeat(4_000_000));
    assert!(refused.starts_with("HTTP/1.1 413"), "{refused}");
}

#[test]
fn a_repeated_request_gets_the_first_answer_and_has_no_second_effect() {
    let world = World::new();
    let out = world.queue("OUT");
    let listen = free_address();
    let engine = world.engine(&flow(listen, ""));
    let depth = || out.facts().expect("facts").depth;
    let key = [("idempotency-key", "\"order-1\"")];
    let first = post(listen, &key, "an order");
    assert!(
        first.starts_with("HTTP/1.1 201") && first.contains("text/plain") && first.ends_with("an order"),
        "{first}"
    );
    // The quotes of the draft are no part of the key.
    let again = post(listen, &[("idempotency-key", "order-1")], "an order");
    let without_date =
        |text: &str| text.lines().filter(|line| !line.starts_with("date:")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_date(&again), without_date(&first));
    assert_eq!(depth(), 1);
    let other = post(listen, &key, "another order");
    assert!(other.starts_with("HTTP/1.1 422"), "{other}");
    assert!(post(listen, &[("idempotency-key", "order-2")], "an order").starts_with("HTTP/1.1 201"));
    assert_eq!(depth(), 2);
    for _ in 0..2 {
        assert!(post(listen, &[], "an order").starts_with("HTTP/1.1 201"));
    }
    assert_eq!(depth(), 4, "without a key each request is another one");
    for (headers, status) in [
        (&[("idempotency-key", "a b")][..], 400),
        (&[("idempotency-key", "k1"), ("idempotency-key", "k2")], 400),
        (&[("host", "y")], 400),
        (&[("content-encoding", "gzip")], 415),
        (&[("transfer-encoding", "gzip, chunked")], 501),
    ] {
        let answer = post(listen, headers, "x");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers:?}: {answer}");
    }
    assert_eq!(depth(), 4);
    assert!(post(listen, &[("content-encoding", "identity")], "x").starts_with("HTTP/1.1 201"));
    assert_eq!(depth(), 5);
    // It is in the store.
    drop(engine);
    let listen = free_address();
    let engine = world.engine(&flow(listen, ""));
    assert!(post(listen, &key, "an order").starts_with("HTTP/1.1 201"));
    assert_eq!(depth(), 5);
    assert_eq!(engine.flows()[0].stats.committed.load(Ordering::Relaxed), 0);
    drop(engine);
    // And it ends.
    let listen = free_address();
    let _engine = world.engine(&flow(listen, "remember = \"1ms\""));
    for _ in 0..2 {
        assert!(post(listen, &[("idempotency-key", "order-3")], "x").starts_with("HTTP/1.1 201"));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(depth(), 7);
}

#[test]
fn a_request_is_refused_while_the_same_is_processed_and_repeated_after_it_failed() {
    let world = World::new();
    let out = world.queue_with(QueueDefinition { depth_max: 1, ..QueueDefinition::local("OUT") });
    let listen = free_address();
    let engine = world.engine(&format!("time_limit = \"2s\"\n{}", flow(listen, "")));
    let key = [("idempotency-key", "k")];
    assert!(post(listen, &[], "fills the queue").starts_with("HTTP/1.1 201"));
    let first = std::thread::spawn(move || post(listen, &[("idempotency-key", "k")], "x"));
    until("it is processed", || engine.flows()[0].stats.received.load(Ordering::Relaxed) == 2);
    let second = post(listen, &key, "x");
    assert!(second.starts_with("HTTP/1.1 409"), "{second}");
    let first = first.join().expect("no panic");
    assert!(first.starts_with("HTTP/1.1 500"), "{first}");
    assert_eq!(world.get_text(&out), "fills the queue");
    assert!(post(listen, &key, "x").starts_with("HTTP/1.1 201"));
    assert_eq!(world.get_text(&out), "x");
}

/// The key alone named the stored answer: a user who sent the key of another user got that user's answer, and no effect of the own request.
#[test]
fn a_key_belongs_to_the_user_who_sent_it() {
    let world = World::new();
    let out = world.queue("OUT");
    let listen = free_address();
    let _engine = world.engine(&flow(listen, "user_header = \"x-user\""));
    let send = |user: &'static str, content| post(listen, &[("x-user", user), ("idempotency-key", "1")], content);
    for (user, content) in [("anna", "of anna"), ("bert", "of bert"), ("", "of nobody")] {
        for _ in 0..2 {
            let answer = send(user, content);
            assert!(answer.starts_with("HTTP/1.1 201") && answer.ends_with(content), "{user}: {answer}");
        }
        let message = world.get(&out);
        assert_eq!(message.payload, content.as_bytes());
    }
    // Also with equal content.
    assert!(send("carl", "of bert").starts_with("HTTP/1.1 201"));
    assert_eq!(world.get_text(&out), "of bert");
    assert!(send("anna", "of bert").starts_with("HTTP/1.1 422"));
    assert_eq!(out.facts().expect("facts").depth, 0);
}
