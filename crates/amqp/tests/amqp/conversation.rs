//! Conversations with an endpoint, frame by frame.

use quayline_amqp::{
    Attach, Begin, DeliveryState, Detach, Disposition, Endpoint, Event, Flow, Frame, FrameType, Limits, LinkId,
    LinkTarget, Open, Performative, Protocol, Reader, Role, SaslCode, SaslFrame, Settings, Source, Target, Transfer,
};

/// A peer that writes frames and reads the answers.
struct Peer {
    endpoint: Endpoint,
}

fn settings() -> Settings {
    Settings {
        container_id: "server".to_owned(),
        mechanisms: vec!["PLAIN".to_owned(), "ANONYMOUS".to_owned()],
        sasl_optional: false,
        capabilities: vec![],
        properties: None,
        limits: Limits { frame_bytes_max: 1_024, handle_max: 7, channel_max: 3, ..Limits::default() },
    }
}

impl Peer {
    fn new(settings: Settings) -> Self {
        Peer { endpoint: Endpoint::new(settings) }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let taken = self.endpoint.receive(&bytes[at..]);
            assert!(taken > 0, "the endpoint waits for more after {at}");
            at += taken;
        }
    }

    fn send_with(&mut self, channel: u16, performative: &Performative, content: &[u8]) {
        let mut out = Vec::new();
        Frame::write(&mut out, FrameType::Amqp, channel, |out| {
            performative.write(out);
            out.extend_from_slice(content);
        });
        self.bytes(&out);
    }

    fn send(&mut self, performative: Performative) {
        self.send_with(0, &performative, b"");
    }

    fn output(&mut self) -> Vec<u8> {
        let output = self.endpoint.output().to_vec();
        self.endpoint.written(output.len());
        output
    }

    /// Returns everything that the endpoint sent: performatives and contents.
    fn answers(&mut self) -> Vec<(Performative, Vec<u8>)> {
        let output = self.output();
        let mut rest = output.as_slice();
        let mut answers = Vec::new();
        while !rest.is_empty() {
            if rest.starts_with(b"AMQP") {
                rest = &rest[8..];
                continue;
            }
            let (frame, size) = Frame::split(rest, u32::MAX).unwrap().unwrap();
            if frame.kind == FrameType::Amqp && !frame.body.is_empty() {
                let mut reader = Reader::new(frame.body);
                answers.push((Performative::read(&mut reader).unwrap(), reader.rest().to_vec()));
            }
            rest = &rest[size..];
        }
        answers
    }

    fn answer(&mut self) -> Performative {
        let mut answers = self.answers();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0).0
    }

    fn opened() -> Self {
        Peer::opened_with(Settings { sasl_optional: true, ..settings() })
    }

    fn opened_with(settings: Settings) -> Self {
        let mut peer = Peer::new(settings);
        peer.bytes(&Protocol::Amqp.header());
        peer.send(Performative::Open(Box::new(Open {
            container_id: "client".to_owned(),
            max_frame_size: Some(512),
            idle_time_out: Some(1_000),
            ..Open::default()
        })));
        peer.send(Performative::Begin(begin()));
        assert!(matches!(peer.endpoint.event(), Some(Event::Opened(_))));
        let answers = peer.answers();
        assert!(matches!(answers[..], [(Performative::Open(_), _), (Performative::Begin(_), _)]), "{answers:?}");
        peer
    }

    fn attach(&mut self, handle: u32, role: Role) -> LinkId {
        self.send(attach(handle, role));
        let Some(Event::Attach(link, attach)) = self.endpoint.event() else { panic!("an attach") };
        self.endpoint.accept(link, attach.source.map(|source| *source), attach.target, 2_000);
        assert!(matches!(self.answer(), Performative::Attach(_)));
        link
    }
}

fn begin() -> Begin {
    Begin { next_outgoing_id: 5, incoming_window: 100, outgoing_window: 100, ..Begin::default() }
}

fn attach(handle: u32, role: Role) -> Performative {
    Performative::Attach(Box::new(Attach {
        name: format!("link-{handle}"),
        handle,
        role,
        snd_settle_mode: 2,
        rcv_settle_mode: 0,
        source: Some(Box::new(Source { address: Some("Q".to_owned()), ..Source::default() })),
        target: Some(LinkTarget::Node(Box::new(Target { address: Some("Q".to_owned()), ..Target::default() }))),
        initial_delivery_count: Some(0),
        max_message_size: None,
        offered_capabilities: vec![],
        desired_capabilities: vec![],
        properties: None,
    }))
}

fn transfer(handle: u32, id: u32, more: bool) -> Performative {
    Performative::Transfer(Transfer {
        handle,
        delivery_id: Some(id),
        delivery_tag: Some(vec![1]),
        message_format: Some(0),
        more,
        ..Transfer::default()
    })
}

fn disposition(first: u32, last: u32, settled: bool, state: Option<DeliveryState>) -> Performative {
    Performative::Disposition(Disposition {
        role: Role::Receiver,
        first,
        last: Some(last),
        settled,
        state,
        batchable: false,
    })
}

fn credit(handle: u32, credit: u32, drain: bool) -> Performative {
    Performative::Flow(Flow {
        next_incoming_id: Some(0),
        incoming_window: 100,
        next_outgoing_id: 5,
        outgoing_window: 100,
        handle: Some(handle),
        delivery_count: Some(0),
        link_credit: Some(credit),
        drain,
        ..Flow::default()
    })
}

#[test]
fn a_client_authenticates_and_then_opens() {
    let mut peer = Peer::new(settings());
    peer.bytes(&Protocol::Sasl.header());
    let output = peer.output();
    let (frame, _) = Frame::split(&output[8..], 512).unwrap().unwrap();
    let offered = SaslFrame::Mechanisms(vec!["PLAIN".to_owned(), "ANONYMOUS".to_owned()]);
    assert_eq!(SaslFrame::read(frame.body), Ok(offered));
    let send = |peer: &mut Peer, frame: SaslFrame| {
        let mut out = Vec::new();
        Frame::write(&mut out, FrameType::Sasl, 0, |out| frame.write(out));
        peer.bytes(&out);
    };
    // PLAIN without a response is asked for one.
    send(&mut peer, SaslFrame::Init { mechanism: "PLAIN".to_owned(), response: None });
    assert_eq!(peer.endpoint.event(), None);
    let output = peer.output();
    let (frame, _) = Frame::split(&output, 512).unwrap().unwrap();
    assert_eq!(SaslFrame::read(frame.body), Ok(SaslFrame::Challenge(vec![])));
    send(&mut peer, SaslFrame::Response(b"\0me\0secret".to_vec()));
    let Some(Event::Sasl { mechanism, response }) = peer.endpoint.event() else { panic!("a choice") };
    assert_eq!((mechanism.as_str(), response.as_slice()), ("PLAIN", b"\0me\0secret".as_slice()));
    // Nothing is taken before it is decided.
    assert_eq!(peer.endpoint.receive(&Protocol::Amqp.header()), 0);
    peer.endpoint.authenticated();
    peer.bytes(&Protocol::Amqp.header());
    peer.send(Performative::Open(Box::new(Open { container_id: "c".to_owned(), ..Open::default() })));
    assert!(matches!(peer.endpoint.event(), Some(Event::Opened(_))));
}

#[test]
fn a_client_that_does_not_authenticate_ends() {
    for (mechanism, decided) in [("PLAIN", true), ("SCRAM-SHA-1", false)] {
        let mut peer = Peer::new(settings());
        peer.bytes(&Protocol::Sasl.header());
        peer.output();
        let mut out = Vec::new();
        let init = SaslFrame::Init { mechanism: mechanism.to_owned(), response: Some(vec![]) };
        Frame::write(&mut out, FrameType::Sasl, 0, |out| init.write(out));
        peer.bytes(&out);
        if decided {
            assert!(matches!(peer.endpoint.event(), Some(Event::Sasl { .. })));
            peer.endpoint.not_authenticated(SaslCode::Auth);
        }
        let output = peer.output();
        let (frame, _) = Frame::split(&output, 512).unwrap().unwrap();
        assert_eq!(SaslFrame::read(frame.body), Ok(SaslFrame::Outcome(1)), "{mechanism}");
        assert!(matches!(peer.endpoint.event(), Some(Event::Closed(Some(_)))));
        assert!(peer.endpoint.is_finished());
    }
}

#[test]
fn another_protocol_is_answered_with_the_header_that_is_spoken() {
    for bytes in [b"AMQP\x00\x00\x09\x01".as_slice(), b"GET / HTTP/1.1\r\n\r\n", b"AMQP\x00\x01\x00\x00", b"\x16\x03"] {
        let mut peer = Peer::new(settings());
        peer.bytes(bytes);
        assert_eq!(peer.output(), Protocol::Sasl.header());
        assert!(peer.endpoint.is_finished());
    }
}

#[test]
fn a_message_of_several_frames_arrives_whole_and_is_settled() {
    let mut peer = Peer::opened();
    let link = peer.attach(1, Role::Sender);
    peer.endpoint.grant(link, 2);
    assert!(matches!(peer.answer(), Performative::Flow(Flow { link_credit: Some(2), .. })));
    peer.send_with(0, &transfer(1, 9, true), b"ab");
    assert_eq!((peer.endpoint.event(), peer.endpoint.assembling()), (None, 2));
    peer.send_with(0, &transfer(1, 9, false), b"cd");
    let Some(Event::Message(message)) = peer.endpoint.event() else { panic!("a message") };
    assert_eq!((message.bytes.as_slice(), message.settled, message.delivery.id), (b"abcd".as_slice(), false, 9));
    peer.endpoint.settle(message.delivery, DeliveryState::Accepted);
    let expected = disposition(9, 9, true, Some(DeliveryState::Accepted));
    let Performative::Disposition(found) = peer.answer() else { panic!("a disposition") };
    assert_eq!(Performative::Disposition(Disposition { last: Some(9), ..found }), expected);
    // A second answer to the same delivery is none.
    peer.endpoint.settle(message.delivery, DeliveryState::Released);
    assert_eq!(peer.answers(), []);
    assert_eq!(peer.endpoint.granted(link), 1);
    // An aborted message leaves nothing, and its credit is used.
    peer.send_with(0, &transfer(1, 10, true), b"ab");
    let abort = Transfer { handle: 1, aborted: true, ..Transfer::default() };
    peer.send(Performative::Transfer(abort));
    assert_eq!((peer.endpoint.event(), peer.endpoint.assembling()), (Some(Event::Credit(link)), 0));
    assert_eq!(peer.endpoint.granted(link), 0);
}

#[test]
fn a_message_is_sent_in_frames_that_the_peer_takes() {
    let mut peer = Peer::opened();
    let link = peer.attach(0, Role::Receiver);
    assert!(!peer.endpoint.can_send(link));
    peer.send(credit(0, 2, false));
    assert_eq!(peer.endpoint.event(), Some(Event::Credit(link)));
    let first = peer.endpoint.send(link, vec![7; 1_000]).unwrap();
    let answers = peer.answers();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers.iter().map(|(_, content)| content.len()).sum::<usize>(), 1_000);
    for (index, (performative, _)) in answers.iter().enumerate() {
        let Performative::Transfer(transfer) = performative else { panic!("a transfer") };
        assert_eq!((transfer.more, transfer.delivery_id.is_some()), (index < 2, index == 0));
    }
    let second = peer.endpoint.send(link, vec![8]).unwrap();
    assert_eq!(peer.endpoint.send(link, vec![9]), None, "there is no credit");
    peer.answers();
    // One disposition for all that could be: only what there is is reported.
    peer.send(disposition(0, u32::MAX - 1, false, Some(DeliveryState::Accepted)));
    for delivery in [first, second] {
        let state = Some(DeliveryState::Accepted);
        assert_eq!(peer.endpoint.event(), Some(Event::Outcome { delivery, state, settled: false }));
        peer.endpoint.confirm(delivery, DeliveryState::Accepted);
    }
    let Performative::Disposition(found) = peer.answer() else { panic!("a disposition") };
    assert_eq!((found.role, found.first, found.last, found.settled), (Role::Sender, 0, Some(1), true));
}

#[test]
fn drain_uses_up_the_credit() {
    let mut peer = Peer::opened();
    let link = peer.attach(0, Role::Receiver);
    peer.send(credit(0, 5, true));
    assert!(peer.endpoint.is_draining(link));
    peer.endpoint.send(link, vec![1]).unwrap();
    peer.endpoint.drained(link);
    let answers = peer.answers();
    let [(Performative::Transfer(_), _), (Performative::Flow(flow), _)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((flow.delivery_count, flow.link_credit, flow.drain), (Some(5), Some(0), true));
    assert!(!peer.endpoint.is_draining(link));
}

#[test]
fn a_closed_window_holds_messages_back() {
    let mut peer = Peer::opened();
    let link = peer.attach(0, Role::Receiver);
    let window = |incoming_window, next_incoming_id| {
        let Performative::Flow(flow) = credit(0, 10, false) else { unreachable!() };
        Performative::Flow(Flow { incoming_window, next_incoming_id: Some(next_incoming_id), ..flow })
    };
    peer.send(window(1, 0));
    peer.endpoint.send(link, vec![1; 600]).unwrap();
    assert_eq!(peer.answers().len(), 1);
    assert!(!peer.endpoint.can_send(link));
    peer.send(window(5, 1));
    assert_eq!(peer.answers().len(), 1);
    assert!(peer.endpoint.can_send(link));
}

#[test]
fn a_refused_link_is_attached_without_terminus_and_detached_with_the_reason() {
    let mut peer = Peer::opened();
    peer.send(attach(2, Role::Receiver));
    let Some(Event::Attach(link, _)) = peer.endpoint.event() else { panic!("an attach") };
    peer.endpoint.refuse(link, quayline_amqp::AmqpError::new("amqp:not-found", "no queue Q"));
    let answers = peer.answers();
    let [(Performative::Attach(attached), _), (Performative::Detach(detach), _)] = &answers[..] else {
        panic!("{answers:?}")
    };
    assert_eq!((&attached.source, &attached.target, detach.closed), (&None, &None, true));
    assert_eq!(detach.error.as_ref().unwrap().to_string(), "amqp:not-found: no queue Q");
    // What is on its way is passed over until the peer has detached; then the handle is free.
    peer.send(credit(2, 5, false));
    peer.send(Performative::Detach(Detach { handle: 2, closed: true, error: None }));
    assert_eq!((peer.endpoint.event(), peer.answers()), (None, vec![]));
    peer.attach(2, Role::Receiver);
}

/// A violation of the protocol ends the link, the session or the connection, as the standard requires.
#[test]
fn violations_end_what_the_standard_says() {
    type Violation = (&'static str, fn(&mut Peer), &'static str, &'static str);
    let violations: [Violation; 12] = [
        (
            "a transfer without credit",
            |peer| peer.send_with(0, &transfer(1, 1, false), b"x"),
            "detach",
            "amqp:link:transfer-limit-exceeded",
        ),
        (
            "a message that is too large",
            |peer| {
                let link = peer.attach(3, Role::Sender);
                peer.endpoint.grant(link, 1);
                for more in [true, true, false] {
                    peer.send_with(0, &transfer(3, 1, more), &[0; 900]);
                }
            },
            "detach",
            "amqp:link:message-size-exceeded",
        ),
        (
            "a handle without link",
            |peer| peer.send_with(0, &transfer(6, 1, false), b"x"),
            "end",
            "amqp:session:unattached-handle",
        ),
        ("a handle in use", |peer| peer.send(attach(1, Role::Sender)), "end", "amqp:session:handle-in-use"),
        (
            "a handle above the highest",
            |peer| peer.send(attach(8, Role::Sender)),
            "end",
            "amqp:resource-limit-exceeded",
        ),
        ("a channel without session", |peer| peer.send_with(2, &credit(0, 1, false), b""), "close", "amqp:not-allowed"),
        (
            "a channel above the highest",
            |peer| peer.send_with(4, &Performative::Begin(begin()), b""),
            "close",
            "amqp:connection:framing-error",
        ),
        (
            "a second session on a channel",
            |peer| peer.send(Performative::Begin(begin())),
            "close",
            "amqp:illegal-state",
        ),
        ("a second open", |peer| peer.send(Performative::Open(Box::default())), "close", "amqp:illegal-state"),
        (
            "a frame that is too large",
            |peer| peer.bytes(&[0, 0, 16, 0, 2, 0, 0, 0]),
            "close",
            "amqp:connection:framing-error",
        ),
        ("a frame of SASL", |peer| peer.bytes(&[0, 0, 0, 8, 2, 1, 0, 0]), "close", "amqp:connection:framing-error"),
        ("no performative", |peer| peer.bytes(&[0, 0, 0, 9, 2, 0, 0, 0, 0x41]), "close", "amqp:decode-error"),
    ];
    for (what, act, ended, condition) in violations {
        let mut peer = Peer::opened();
        peer.attach(1, Role::Sender);
        act(&mut peer);
        let (last, _) = peer.answers().pop().unwrap();
        let (found, error) = match last {
            Performative::Detach(detach) => ("detach", detach.error),
            Performative::End(error) => ("end", error),
            Performative::Close(error) => ("close", error),
            other => panic!("{what}: {other:?}"),
        };
        assert_eq!((found, error.as_ref().map(|error| error.condition.as_str())), (ended, Some(condition)), "{what}");
        if ended == "close" {
            assert!(peer.endpoint.is_closing());
            peer.send(Performative::Close(None));
            assert!(peer.endpoint.is_finished(), "{what}");
        }
    }
}

#[test]
fn the_end_of_a_session_or_connection_ends_its_links_once() {
    let mut peer = Peer::opened();
    let links = [peer.attach(0, Role::Sender), peer.attach(1, Role::Receiver)];
    peer.send(Performative::End(None));
    let mut ended: Vec<Event> = std::iter::from_fn(|| peer.endpoint.event()).collect();
    ended.sort_by_key(|event| matches!(event, Event::Detached(link, _) if *link == links[1]));
    assert_eq!(ended, links.map(|link| Event::Detached(link, None)));
    assert_eq!(peer.answer(), Performative::End(None));
    peer.send(Performative::Begin(begin()));
    peer.answers();
    let link = peer.attach(0, Role::Sender);
    peer.send(Performative::Close(None));
    assert_eq!(peer.endpoint.event(), Some(Event::Detached(link, None)));
    assert_eq!(peer.endpoint.event(), Some(Event::Closed(None)));
    assert_eq!(peer.answer(), Performative::Close(None));
    assert!(peer.endpoint.is_finished());
}

#[test]
fn a_silent_peer_ends_and_a_silent_server_shows_life() {
    let mut peer = Peer::opened();
    // The peer waits for 1,000 ms, so something is sent every 500.
    let mut now = 10_000;
    let mut empty = 0;
    while now < 20_000 {
        let next = peer.endpoint.tick(now);
        assert!(next > now && next <= now + 500);
        empty += usize::from(peer.output() == [0, 0, 0, 8, 2, 0, 0, 0]);
        now = next;
    }
    assert!((15..=25).contains(&empty), "{empty}");
    let heard = now;
    peer.bytes(&[0, 0, 0, 8, 2, 0, 0, 0]);
    peer.endpoint.tick(heard);
    peer.endpoint.tick(heard + 119_999);
    assert!(peer.endpoint.is_open());
    peer.endpoint.tick(heard + 120_000);
    let error = peer.answers().into_iter().find_map(|(answer, _)| match answer {
        Performative::Close(error) => error,
        _ => None,
    });
    assert_eq!(error.unwrap().condition, "amqp:resource-limit-exceeded");
}
