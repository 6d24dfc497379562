//! The client's side: against the server's side, and against a peer whose channels and handles have other numbers.

use quayline_amqp::{
    Attach, Begin, ClientLogin, ClientSettings, DeliveryState, Detach, Endpoint, Event, Flow, Frame, FrameType, Limits,
    LinkId, LinkRequest, LinkTarget, Open, Performative, Protocol, Reader, Role, SaslCode, SaslFrame, Settings, Source,
    Target, Transfer,
};

fn settings(logins: &[(&str, &[u8])]) -> ClientSettings {
    let login = |(mechanism, response): &(&str, &[u8])| ClientLogin {
        mechanism: (*mechanism).to_owned(),
        response: response.to_vec(),
    };
    ClientSettings {
        container_id: "client".to_owned(),
        hostname: Some("host".to_owned()),
        logins: logins.iter().map(login).collect(),
        limits: Limits::default(),
    }
}

fn request(name: &str, role: Role) -> LinkRequest {
    let target = Target { address: Some("Q".to_owned()), ..Target::default() };
    LinkRequest {
        name: name.to_owned(),
        role,
        source: Source { address: Some("Q".to_owned()), ..Source::default() },
        target: LinkTarget::Node(Box::new(target)),
        max_message_size: 10_000,
    }
}

/// A client and a server, with the bytes between them in pieces of `chunk`.
struct Pair {
    client: Endpoint,
    server: Endpoint,
    chunk: usize,
    waiting: [Vec<u8>; 2],
}

impl Pair {
    fn new(client: ClientSettings, mechanisms: &[&str], chunk: usize) -> Pair {
        let server = Settings {
            container_id: "server".to_owned(),
            mechanisms: mechanisms.iter().map(|&name| name.to_owned()).collect(),
            sasl_optional: client.logins.is_empty(),
            capabilities: vec![],
            properties: None,
            limits: Limits { frame_bytes_max: 512, ..Limits::default() },
        };
        Pair { client: Endpoint::client(client), server: Endpoint::new(server), chunk, waiting: [vec![], vec![]] }
    }

    /// Moves bytes until nothing moves.
    fn run(&mut self) {
        loop {
            let mut moved = false;
            for from in [0, 1] {
                let (source, target) =
                    if from == 0 { (&mut self.client, &mut self.server) } else { (&mut self.server, &mut self.client) };
                let output = source.output().to_vec();
                source.written(output.len());
                moved |= !output.is_empty();
                for piece in output.chunks(self.chunk) {
                    self.waiting[from].extend_from_slice(piece);
                    loop {
                        let taken = target.receive(&self.waiting[from]);
                        self.waiting[from].drain(..taken);
                        if taken == 0 {
                            break;
                        }
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn client_events(&mut self) -> Vec<Event> {
        self.run();
        std::iter::from_fn(|| self.client.event()).collect()
    }

    fn server_events(&mut self) -> Vec<Event> {
        self.run();
        std::iter::from_fn(|| self.server.event()).collect()
    }

    /// A session with a link that was accepted.
    fn attached(&mut self, channel: u16, name: &str, role: Role) -> (LinkId, LinkId) {
        let own = self.client.attach(channel, request(name, role)).expect("a session");
        let events = self.server_events();
        let [Event::Attach(theirs, attach)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((attach.name.as_str(), attach.role, attach.snd_settle_mode), (name, role, 0));
        self.server.accept(*theirs, attach.source.as_deref().cloned(), attach.target.clone(), 5_000);
        let events = self.client_events();
        assert!(matches!(&events[..], [Event::Attached(link, _)] if *link == own), "{events:?}");
        (own, *theirs)
    }
}

#[test]
fn messages_go_both_ways_in_pieces_of_any_size() {
    for chunk in [1, 3, 7, 8, 100, 4_096] {
        let mut pair = Pair::new(settings(&[("EXTERNAL", b""), ("PLAIN", b"\0u\0p")]), &["PLAIN"], chunk);
        let events = pair.server_events();
        assert_eq!(events, [Event::Sasl { mechanism: "PLAIN".to_owned(), response: b"\0u\0p".to_vec() }]);
        assert_eq!(pair.client.begin(), None, "the login comes first");
        pair.server.authenticated();
        let events = pair.client_events();
        assert!(matches!(&events[..], [Event::Opened(open)] if open.container_id == "server"), "{events:?}");
        let events = pair.server_events();
        let [Event::Opened(open)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((open.container_id.as_str(), open.hostname.as_deref()), ("client", Some("host")));
        let channel = pair.client.begin().expect("a session");
        let (own, theirs) = pair.attached(channel, "in", Role::Receiver);
        let (out, out_theirs) = pair.attached(channel, "out", Role::Sender);

        pair.client.grant(own, 2);
        assert_eq!(pair.server_events(), [Event::Credit(theirs)]);
        let long = vec![7; 2_000];
        pair.server.send(theirs, b"one".to_vec()).expect("credit");
        pair.server.send(theirs, long.clone()).expect("credit");
        assert!(pair.server.send(theirs, b"three".to_vec()).is_none(), "no more credit");
        let messages: Vec<_> = pair
            .client_events()
            .into_iter()
            .map(|event| match event {
                Event::Message(message) => message,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(messages.iter().map(|message| message.bytes.clone()).collect::<Vec<_>>(), [b"one".to_vec(), long]);
        for message in messages {
            pair.client.settle(message.delivery, DeliveryState::Accepted);
        }
        let events = pair.server_events();
        assert!(matches!(&events[..], [Event::Outcome { settled: true, .. }, Event::Outcome { .. }]), "{events:?}");

        pair.server.grant(out_theirs, 1);
        assert_eq!(pair.client_events(), [Event::Credit(out)]);
        let sent = pair.client.send(out, vec![9; 3_000]).expect("credit");
        let events = pair.server_events();
        let [Event::Message(message)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((message.bytes.len(), message.settled), (3_000, false));
        pair.server.settle(message.delivery, DeliveryState::Released);
        let outcome = Event::Outcome { delivery: sent, state: Some(DeliveryState::Released), settled: true };
        assert_eq!(pair.client_events(), [outcome]);
    }
}

#[test]
fn a_login_that_is_refused_or_not_offered_ends_the_connection() {
    let mut pair = Pair::new(settings(&[("PLAIN", b"\0u\0p")]), &["PLAIN"], 100);
    pair.run();
    pair.server.not_authenticated(SaslCode::Auth);
    let events = pair.client_events();
    let [Event::Closed(Some(error))] = &events[..] else { panic!("{events:?}") };
    assert_eq!(error.to_string(), "amqp:unauthorized-access: the server refuses the login (SASL outcome 1)");
    let mut pair = Pair::new(settings(&[("EXTERNAL", b"")]), &["PLAIN", "ANONYMOUS"], 100);
    let events = pair.client_events();
    let [Event::Closed(Some(error))] = &events[..] else { panic!("{events:?}") };
    assert!(error.description.ends_with("offers PLAIN, ANONYMOUS to log in, expected EXTERNAL"), "{error}");
    assert!(!format!("{:?}", settings(&[("PLAIN", b"\0user\0secret")])).contains("115"), "a secret is not shown");
}

#[test]
fn links_that_the_server_refuses_or_ends_have_its_reason() {
    let mut pair = Pair::new(settings(&[]), &[], 100);
    pair.client_events();
    pair.server_events();
    let channel = pair.client.begin().expect("a session");
    let link = pair.client.attach(channel, request("in", Role::Receiver)).expect("a link");
    let events = pair.server_events();
    let [Event::Attach(theirs, _)] = &events[..] else { panic!("{events:?}") };
    let reason = quayline_amqp::AmqpError::new("amqp:not-found", "no queue Q");
    pair.server.refuse(*theirs, reason.clone());
    assert_eq!(pair.client_events(), [Event::Detached(link, Some(reason.clone()))]);
    let (own, theirs) = pair.attached(channel, "in", Role::Receiver);
    pair.server.detach(theirs, Some(reason.clone()));
    assert_eq!(pair.client_events(), [Event::Detached(own, Some(reason.clone()))]);
    pair.server_events();
    let (own, _) = pair.attached(channel, "again", Role::Sender);
    pair.server.close(reason.clone());
    assert_eq!(pair.client_events(), [Event::Detached(own, None), Event::Closed(Some(reason))]);
    assert!(pair.client.is_finished());

    let mut pair = Pair::new(settings(&[]), &[], 100);
    pair.client_events();
    pair.server_events();
    pair.client.finish();
    assert_eq!(pair.server_events(), [Event::Closed(None)]);
    assert!(pair.client.is_finished() && pair.server.is_finished());
}

/// A server that chooses its own numbers for channels and handles.
struct Foreign(Endpoint);

impl Foreign {
    fn bytes(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let taken = self.0.receive(&bytes[at..]);
            assert!(taken > 0, "the client waits for more after {at}");
            at += taken;
        }
    }

    fn send(&mut self, channel: u16, performative: Performative, content: &[u8]) {
        let mut out = Vec::new();
        Frame::write(&mut out, FrameType::Amqp, channel, |out| {
            performative.write(out);
            out.extend_from_slice(content);
        });
        self.bytes(&out);
    }

    /// The last performative that the client wrote.
    fn last(&mut self) -> Option<Performative> {
        let output = self.0.output().to_vec();
        self.0.written(output.len());
        let mut rest = output.strip_prefix(&Protocol::Amqp.header()).unwrap_or(&output);
        let mut last = None;
        while let Some((frame, size)) = Frame::split(rest, u32::MAX).expect("frames") {
            last = Some(Performative::read(&mut Reader::new(frame.body)).expect("a performative"));
            rest = &rest[size..];
        }
        last
    }

    fn opened() -> Foreign {
        let mut server = Foreign(Endpoint::client(settings(&[])));
        assert!(matches!(server.last(), Some(Performative::Open(_))));
        server.bytes(&Protocol::Amqp.header());
        let open = Open { container_id: "foreign".to_owned(), ..Open::default() };
        server.send(0, Performative::Open(Box::new(open)), b"");
        assert!(matches!(server.0.event(), Some(Event::Opened(_))));
        assert_eq!(server.0.begin(), Some(0));
        server
    }

    fn begun(from: u16) -> Foreign {
        let mut server = Foreign::opened();
        let begin = Begin { remote_channel: Some(0), next_outgoing_id: 70, incoming_window: 9, ..Begin::default() };
        server.send(from, Performative::Begin(begin), b"");
        server
    }
}

fn answer(name: &str, handle: u32) -> Performative {
    Performative::Attach(Box::new(Attach {
        name: name.to_owned(),
        handle,
        role: Role::Sender,
        snd_settle_mode: 0,
        rcv_settle_mode: 0,
        source: Some(Box::default()),
        target: Some(LinkTarget::Node(Box::default())),
        initial_delivery_count: Some(40),
        max_message_size: None,
        offered_capabilities: vec![],
        desired_capabilities: vec![],
        properties: None,
    }))
}

#[test]
fn numbers_of_the_peer_are_translated() {
    let mut server = Foreign::begun(5);
    let first = server.0.attach(0, request("first", Role::Receiver)).expect("a link");
    let second = server.0.attach(0, request("second", Role::Receiver)).expect("a link");
    server.send(5, answer("second", 8), b"");
    server.send(5, answer("first", 9), b"");
    let attached: Vec<_> = std::iter::from_fn(|| server.0.event()).collect();
    assert!(matches!(&attached[..], [Event::Attached(a, _), Event::Attached(b, _)] if (*a, *b) == (second, first)));
    server.0.grant(second, 3);
    let Some(Performative::Flow(flow)) = server.last() else { panic!("a flow") };
    assert_eq!(
        (flow.handle, flow.delivery_count, flow.link_credit, flow.next_incoming_id),
        (Some(1), Some(40), Some(3), Some(70))
    );
    let transfer = Transfer { handle: 8, delivery_id: Some(0), delivery_tag: Some(vec![1]), ..Transfer::default() };
    server.send(5, Performative::Transfer(transfer), b"x");
    let Some(Event::Message(message)) = server.0.event() else { panic!("a message") };
    assert_eq!(message.delivery.link, second);
    server.send(5, Performative::Detach(Detach { handle: 9, closed: true, error: None }), b"");
    assert_eq!(server.0.event(), Some(Event::Detached(first, None)));
    assert_eq!(server.last(), Some(Performative::Detach(Detach { handle: 0, closed: true, error: None })));
    // The number is free for another link.
    let third = server.0.attach(0, request("third", Role::Receiver)).expect("a link");
    server.send(5, answer("third", 9), b"");
    assert!(matches!(server.0.event(), Some(Event::Attached(link, _)) if link == third));
    server.send(5, Performative::End(None), b"");
    assert_eq!(std::iter::from_fn(|| server.0.event()).count(), 2);
    assert_eq!(server.0.begin(), Some(0));
}

#[test]
fn frames_that_no_server_may_send_end_session_or_connection() {
    let flow = |handle| Performative::Flow(Flow { handle: Some(handle), ..Flow::default() });
    let frames: [(u16, Performative, &str); 7] = [
        (3, flow(0), "channel 3 has no session"),
        (5, flow(0), "handle 0, which has no link"),
        (5, answer("unknown", 0), "a link that the server attaches"),
        (5, answer("unknown", 5_000), "handle 5000"),
        (6, Performative::Begin(Begin::default()), "a session that the server begins"),
        (6, Performative::Begin(Begin { remote_channel: Some(0), ..Begin::default() }), "never sent"),
        (6, Performative::Begin(Begin { remote_channel: Some(4), ..Begin::default() }), "never sent"),
    ];
    for (channel, frame, part) in frames {
        let mut server = Foreign::begun(5);
        server.send(channel, frame, b"");
        let last = server.last();
        let (Some(Performative::Close(Some(error))) | Some(Performative::End(Some(error)))) = last else {
            panic!("{part}: {last:?}")
        };
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    let mut http = Endpoint::client(settings(&[("ANONYMOUS", b"")]));
    assert_eq!(http.receive(b"HTTP/1.1"), 8);
    assert!(matches!(http.event(), Some(Event::Closed(Some(error))) if error.condition == "amqp:not-implemented"));
    let mut early = Endpoint::client(settings(&[("ANONYMOUS", b"")]));
    early.receive(&Protocol::Sasl.header());
    let mut frame = Vec::new();
    let outcome = SaslFrame::outcome(SaslCode::Ok);
    Frame::write(&mut frame, FrameType::Sasl, 0, |out| outcome.write(out));
    early.receive(&frame);
    assert!(matches!(early.event(), Some(Event::Closed(Some(error))) if error.description.contains("out of turn")));
}
