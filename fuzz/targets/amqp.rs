//! Any bytes from a client of AMQP: the same events and answers for any chunking, bounded memory, and values that come back.

use quayline_amqp::{
    Control, DeliveryState, Endpoint, Event, Limits, Properties, Reader, Sections, Settings, Value, read_map, writer,
};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, cut, data @ ..] = data else { return };
    match choice % 3 {
        0 => values(data),
        1 => message(data),
        _ => assert_eq!(conversation(data, data.len()), conversation(data, usize::from(*cut))),
    }
}

fn values(data: &[u8]) {
    let mut skipped = Reader::new(data);
    let length = skipped.skip().map(<[u8]>::len);
    let mut reader = Reader::new(data);
    let Ok(value) = reader.value() else { return };
    assert_eq!(Ok(reader.at()), length, "skipping and reading end at one place");
    let mut out = Vec::new();
    writer::value(&mut out, &value);
    assert_eq!(Reader::new(&out).value().as_ref(), Ok(&value), "we read what we write");
}

fn message(data: &[u8]) {
    let _ = Control::read(data);
    let Ok(sections) = Sections::split(data) else { return };
    assert!(sections.body.prefix.len() + sections.body.content.len() <= data.len());
    if let Some(Ok(properties)) = sections.properties.map(Properties::read) {
        let mut out = Vec::new();
        properties.write(&mut out);
        assert_eq!(Properties::read(&out), Ok(properties));
    }
    if let Some(Ok(pairs)) = sections.application_properties.map(read_map) {
        assert!(pairs.len() <= data.len());
    }
}

/// Events and answers of a conversation whose bytes arrive in pieces: `first` bytes, then the rest.
fn conversation(data: &[u8], first: usize) -> (Vec<String>, Vec<u8>) {
    let limits = Limits {
        frame_bytes_max: 4_096,
        assembly_bytes_max: 1_000,
        unsettled_max: 100,
        handle_max: 15,
        ..Limits::default()
    };
    let mut endpoint = Endpoint::new(Settings {
        container_id: "fuzz".to_owned(),
        mechanisms: vec!["PLAIN".to_owned(), "ANONYMOUS".to_owned()],
        sasl_optional: true,
        capabilities: vec![],
        properties: Some(Value::Map(vec![])),
        limits,
    });
    let (mut events, mut output) = (Vec::new(), Vec::new());
    let mut at = 0;
    for known in [first.min(data.len()), data.len()] {
        loop {
            let taken = endpoint.receive(&data[at..known]);
            at += taken;
            assert!(at <= known);
            while let Some(event) = endpoint.event() {
                events.push(format!("{event:?}"));
                match event {
                    Event::Sasl { .. } => endpoint.authenticated(),
                    Event::Attach(link, attach) => {
                        endpoint.accept(link, attach.source.map(|source| *source), attach.target, 900);
                        endpoint.grant(link, 2);
                    }
                    Event::Credit(link) if endpoint.can_send(link) => {
                        endpoint.send(link, vec![0; 700]);
                        endpoint.drained(link);
                    }
                    Event::Message(message) => endpoint.settle(message.delivery, DeliveryState::Accepted),
                    Event::Outcome { delivery, settled: false, .. } => {
                        endpoint.confirm(delivery, DeliveryState::Accepted)
                    }
                    _ => {}
                }
            }
            assert!(endpoint.assembling() <= limits.assembly_bytes_max);
            output.extend_from_slice(endpoint.output());
            let written = endpoint.output().len();
            endpoint.written(written);
            if taken == 0 {
                break;
            }
        }
    }
    (events, output)
}
