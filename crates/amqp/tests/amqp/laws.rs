//! Laws over generated values and bytes.

use proptest::prelude::*;
use quayline_amqp::{
    AmqpError, Array, Attach, ClientSettings, Control, DeliveryState, Detach, Endpoint, Flow, Frame, Limits,
    LinkRequest, LinkTarget, Open, Performative, Properties, Reader, Role, SaslFrame, Sections, Settings, Source,
    Target, Transfer, Value, read_map, writer,
};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        any::<u8>().prop_map(Value::Ubyte),
        any::<u16>().prop_map(Value::Ushort),
        prop_oneof![0..300u32, any::<u32>()].prop_map(Value::Uint),
        prop_oneof![0..300u64, any::<u64>()].prop_map(Value::Ulong),
        any::<i8>().prop_map(Value::Byte),
        any::<i16>().prop_map(Value::Short),
        prop_oneof![-200..200i32, any::<i32>()].prop_map(Value::Int),
        prop_oneof![-200..200i64, any::<i64>()].prop_map(Value::Long),
        any::<u32>().prop_map(Value::Float),
        any::<u64>().prop_map(Value::Double),
        any::<[u8; 16]>().prop_map(Value::Decimal128),
        any::<char>().prop_map(Value::Char),
        any::<i64>().prop_map(Value::Timestamp),
        any::<[u8; 16]>().prop_map(Value::Uuid),
        proptest::collection::vec(any::<u8>(), 0..300).prop_map(Value::Binary),
        "\\PC{0,80}".prop_map(Value::String),
        "[ -~]{0,40}".prop_map(Value::Symbol),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 64, 6, |inner| {
        let items = proptest::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            items.clone().prop_map(Value::List),
            proptest::collection::vec((inner.clone(), inner.clone()), 0..4).prop_map(Value::Map),
            (inner.clone(), inner).prop_map(|pair| Value::Described(Box::new(pair))),
            (proptest::collection::vec(any::<i32>(), 0..5), scalar()).prop_map(|(numbers, descriptor)| {
                let items = numbers.into_iter().map(Value::Int).collect();
                Value::Array(Array { code: 0x71, descriptors: vec![descriptor], items })
            }),
            proptest::collection::vec(items, 0..4).prop_map(|lists| {
                let items = lists.into_iter().map(Value::List).collect();
                Value::Array(Array { code: 0xd0, descriptors: vec![], items })
            }),
        ]
    })
}

fn state() -> impl Strategy<Value = DeliveryState> {
    let outcome = prop_oneof![
        Just(DeliveryState::Accepted),
        Just(DeliveryState::Released),
        "\\PC{0,20}".prop_map(|text| DeliveryState::Rejected(Some(AmqpError::new("amqp:decode-error", text)))),
        (any::<bool>(), any::<bool>()).prop_map(|(delivery_failed, undeliverable_here)| DeliveryState::Modified {
            delivery_failed,
            undeliverable_here,
            message_annotations: None,
        }),
    ];
    prop_oneof![
        outcome.clone(),
        (any::<u32>(), any::<u64>())
            .prop_map(|(section_number, section_offset)| DeliveryState::Received { section_number, section_offset }),
        (any::<[u8; 8]>(), proptest::option::of(outcome)).prop_map(|(id, outcome)| DeliveryState::Transactional {
            txn_id: id.to_vec(),
            outcome: outcome.map(Box::new),
        }),
    ]
}

fn performative() -> impl Strategy<Value = Performative> {
    let number = || proptest::option::of(any::<u32>());
    let name = || proptest::option::of("[a-zA-Z.]{0,12}");
    let symbols = || proptest::collection::vec("[a-z]{1,8}", 0..3);
    prop_oneof![
        ("\\PC{0,9}", number(), proptest::option::of(any::<u16>()), symbols()).prop_map(
            |(id, size, channels, offered)| {
                let (container_id, offered_capabilities) = (id, offered);
                let open = Open {
                    container_id,
                    max_frame_size: size,
                    channel_max: channels,
                    offered_capabilities,
                    ..Open::default()
                };
                Performative::Open(Box::new(open))
            }
        ),
        (number(), any::<u32>(), number(), number(), any::<bool>()).prop_map(|(id, window, handle, credit, drain)| {
            Performative::Flow(Flow {
                next_incoming_id: id,
                incoming_window: window,
                handle,
                link_credit: credit,
                drain,
                ..Flow::default()
            })
        }),
        (any::<u32>(), number(), proptest::option::of(any::<[u8; 4]>()), any::<bool>(), proptest::option::of(state()))
            .prop_map(|(handle, delivery_id, tag, more, state)| {
                let delivery_tag = tag.map(|tag| tag.to_vec());
                Performative::Transfer(Transfer {
                    handle,
                    delivery_id,
                    delivery_tag,
                    more,
                    state,
                    ..Transfer::default()
                })
            }),
        (any::<u32>(), any::<bool>())
            .prop_map(|(handle, closed)| { Performative::Detach(Detach { handle, closed, error: None }) }),
        (name(), name(), any::<u32>(), any::<bool>(), symbols()).prop_map(
            |(from, to, handle, dynamic, capabilities)| {
                let source = Source { address: from, dynamic, outcomes: capabilities.clone(), ..Source::default() };
                let target = match to {
                    Some(to) => LinkTarget::Node(Box::new(Target { address: Some(to), ..Target::default() })),
                    None => LinkTarget::Coordinator(capabilities),
                };
                Performative::Attach(Box::new(Attach {
                    name: "link".to_owned(),
                    handle,
                    role: Role::Sender,
                    snd_settle_mode: 2,
                    rcv_settle_mode: 0,
                    source: Some(Box::new(source)),
                    target: Some(target),
                    initial_delivery_count: Some(0),
                    max_message_size: None,
                    offered_capabilities: vec![],
                    desired_capabilities: vec![],
                    properties: None,
                }))
            }
        ),
    ]
}

fn endpoint() -> Endpoint {
    Endpoint::new(Settings {
        container_id: "test".to_owned(),
        mechanisms: vec!["ANONYMOUS".to_owned()],
        sasl_optional: true,
        capabilities: vec![],
        properties: None,
        limits: Limits { frame_bytes_max: 4_096, assembly_bytes_max: 10_000, ..Limits::default() },
    })
}

fn client() -> Endpoint {
    Endpoint::client(ClientSettings {
        container_id: "test".to_owned(),
        hostname: None,
        logins: vec![],
        limits: Limits { frame_bytes_max: 4_096, assembly_bytes_max: 10_000, ..Limits::default() },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_value_comes_back(value in value()) {
        let mut out = Vec::new();
        writer::value(&mut out, &value);
        let mut reader = Reader::new(&out);
        prop_assert_eq!(reader.value().unwrap(), value);
        prop_assert!(reader.is_at_end());
        let mut skipped = Reader::new(&out);
        prop_assert_eq!(skipped.skip().unwrap(), out.as_slice());
    }

    #[test]
    fn a_performative_comes_back(performative in performative()) {
        let mut out = Vec::new();
        performative.write(&mut out);
        out.extend_from_slice(b"content");
        let mut reader = Reader::new(&out);
        prop_assert_eq!(Performative::read(&mut reader).unwrap(), performative);
        prop_assert_eq!(reader.rest(), b"content");
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Reader::new(&bytes).value();
        let _ = Reader::new(&bytes).skip();
        let _ = Performative::read(&mut Reader::new(&bytes));
        let _ = SaslFrame::read(&bytes);
        let _ = Sections::split(&bytes);
        let _ = Properties::read(&bytes);
        let _ = read_map(&bytes);
        let _ = Control::read(&bytes);
        let _ = Frame::split(&bytes, 512);
    }

    /// A decoded value encodes to something that decodes to the same, also where it was not in its shortest form.
    #[test]
    fn what_is_read_is_written_and_read_again(value in value(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut out = Vec::new();
        writer::value(&mut out, &value);
        let place = place.index(out.len());
        out[place] = byte;
        if let Ok(found) = Reader::new(&out).value() {
            let mut again = Vec::new();
            writer::value(&mut again, &found);
            prop_assert_eq!(Reader::new(&again).value().unwrap(), found);
        }
    }

    /// Frames of performatives with any fields, after a proper beginning: an endpoint answers and never panics, and its memory is bounded.
    #[test]
    fn an_endpoint_survives_any_performatives(frames in proptest::collection::vec((0..3u16, performative()), 0..40), cut in 1..64usize, is_client in any::<bool>()) {
        let mut input = b"AMQP\x00\x01\x00\x00".to_vec();
        let open = Performative::Open(Box::new(Open { container_id: "peer".to_owned(), ..Open::default() }));
        Frame::write(&mut input, quayline_amqp::FrameType::Amqp, 0, |out| open.write(out));
        for channel in 0..2 {
            let remote_channel = is_client.then_some(0);
            let begin = quayline_amqp::Begin { remote_channel, incoming_window: 9, outgoing_window: 9, ..Default::default() };
            Frame::write(&mut input, quayline_amqp::FrameType::Amqp, channel, |out| Performative::Begin(begin).write(out));
        }
        for (channel, performative) in &frames {
            Frame::write(&mut input, quayline_amqp::FrameType::Amqp, *channel, |out| {
                performative.write(out);
                out.extend_from_slice(&[0; 100]);
            });
        }
        let mut endpoint = if is_client { client() } else { endpoint() };
        let (mut fed, mut at) = (0, 0);
        while at < input.len() {
            fed = (fed + cut).min(input.len()).max(at);
            let taken = endpoint.receive(&input[at..fed]);
            at += taken;
            prop_assert!(at <= fed);
            while let Some(event) = endpoint.event() {
                match event {
                    quayline_amqp::Event::Opened(_) if is_client => {
                        let channel = endpoint.begin().expect("the connection is open");
                        for name in ["link", "other"] {
                            for role in [Role::Sender, Role::Receiver] {
                                let target = LinkTarget::Node(Box::default());
                                let (name, source) = (name.to_owned(), Source::default());
                                let request = LinkRequest { name, role, source, target, max_message_size: 1_000 };
                                endpoint.attach(channel, request);
                            }
                        }
                    }
                    quayline_amqp::Event::Attached(link, _) => endpoint.grant(link, 3),
                    quayline_amqp::Event::Attach(link, attach) => {
                        endpoint.accept(link, attach.source.map(|source| *source), attach.target, 1_000);
                        endpoint.grant(link, 3);
                    }
                    quayline_amqp::Event::Credit(link) if endpoint.can_send(link) => {
                        endpoint.send(link, vec![0; 700]);
                    }
                    quayline_amqp::Event::Message(message) => endpoint.settle(message.delivery, DeliveryState::Accepted),
                    _ => {}
                }
            }
            prop_assert!(endpoint.assembling() <= 10_000);
            let written = endpoint.output().len();
            endpoint.written(written);
            if taken == 0 && fed == input.len() {
                break;
            }
        }
    }
}
