//! A client that works frame by frame, for behaviour that real clients do not have: dying, violating the protocol, not reading.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use quayline_amqp::{
    Attach, Begin, Control, DeliveryState, Disposition, Flow, Frame, FrameType, Header, LinkTarget, Open, Performative,
    Protocol, Reader, Role, SaslFrame, Source, Target, Transfer, write_body,
};

/// A message as it goes over the wire.
pub(crate) fn message(durable: bool, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Header { durable, ..Header::default() }.write(&mut out);
    write_body(&mut out, quayline_amqp::BodyKind::Data, content);
    out
}

pub(crate) struct Peer {
    stream: TcpStream,
    input: Vec<u8>,
    next_delivery: u32,
    next_incoming: u32,
}

/// How a sender settles (AMQP 1.0, part 2, section 2.8.2).
#[derive(Clone, Copy)]
enum SndSettleMode {
    Settled = 1,
    Mixed = 2,
}

/// A frame of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) performative: Performative,
    pub(crate) content: Vec<u8>,
}

impl Peer {
    /// Connects without SASL, opens, and begins a channel.
    pub(crate) fn connect(address: SocketAddr) -> std::io::Result<Peer> {
        let mut peer = Peer::raw(address)?;
        peer.stream.write_all(&Protocol::Amqp.header())?;
        peer.open()?;
        Ok(peer)
    }

    pub(crate) fn raw(address: SocketAddr) -> std::io::Result<Peer> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.set_write_timeout(Some(Duration::from_secs(20)))?;
        Ok(Peer { stream, input: Vec::new(), next_delivery: 0, next_incoming: 0 })
    }

    /// Connects with PLAIN. The code of the outcome.
    pub(crate) fn plain(address: SocketAddr, user: &str, password: &str) -> std::io::Result<(Peer, u8)> {
        let mut peer = Peer::raw(address)?;
        peer.stream.write_all(&Protocol::Sasl.header())?;
        let response = Some(format!("\0{user}\0{password}").into_bytes());
        let init = SaslFrame::Init { mechanism: "PLAIN".to_owned(), response };
        let mut out = Vec::new();
        Frame::write(&mut out, FrameType::Sasl, 0, |out| init.write(out));
        peer.stream.write_all(&out)?;
        loop {
            if let (FrameType::Sasl, body) = peer.frame()?
                && let Ok(SaslFrame::Outcome(code)) = SaslFrame::read(&body)
            {
                return Ok((peer, code));
            }
        }
    }

    /// Opens after a login.
    pub(crate) fn opened(mut self) -> std::io::Result<Peer> {
        self.stream.write_all(&Protocol::Amqp.header())?;
        self.open()?;
        Ok(self)
    }

    fn open(&mut self) -> std::io::Result<()> {
        let open = Open { container_id: "peer".to_owned(), ..Open::default() };
        self.send(Performative::Open(Box::new(open)), b"")?;
        let begin = Begin { incoming_window: 1 << 20, outgoing_window: 1 << 20, ..Begin::default() };
        self.send(Performative::Begin(begin), b"")?;
        for _ in 0..2 {
            self.answer()?;
        }
        Ok(())
    }

    pub(crate) fn send(&mut self, performative: Performative, content: &[u8]) -> std::io::Result<()> {
        let mut out = Vec::new();
        Frame::write(&mut out, FrameType::Amqp, 0, |out| {
            performative.write(out);
            out.extend_from_slice(content);
        });
        self.stream.write_all(&out)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    fn frame(&mut self) -> std::io::Result<(FrameType, Vec<u8>)> {
        loop {
            if self.input.starts_with(b"AMQP") && self.input.len() >= 8 {
                self.input.drain(..8);
            }
            if !self.input.starts_with(b"AMQP")
                && let Some((frame, size)) = Frame::split(&self.input, u32::MAX).map_err(std::io::Error::other)?
            {
                let found = (frame.kind, frame.body.to_vec());
                self.input.drain(..size);
                if !found.1.is_empty() {
                    return Ok(found);
                }
                continue;
            }
            let mut buffer = vec![0; 64 << 10];
            let count = self.stream.read(&mut buffer)?;
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            self.input.extend_from_slice(&buffer[..count]);
        }
    }

    pub(crate) fn answer(&mut self) -> std::io::Result<Answer> {
        let (_, body) = self.frame()?;
        let mut reader = Reader::new(&body);
        let performative = Performative::read(&mut reader).map_err(std::io::Error::other)?;
        if let Performative::Transfer(_) = performative {
            self.next_incoming = self.next_incoming.wrapping_add(1);
        }
        Ok(Answer { performative, content: reader.rest().to_vec() })
    }

    /// The next answer that a function takes; others are passed over.
    pub(crate) fn until<T>(&mut self, mut take: impl FnMut(Answer) -> Option<T>) -> std::io::Result<T> {
        loop {
            let answer = self.answer()?;
            if let Some(found) = take(answer) {
                return Ok(found);
            }
        }
    }

    fn attach(&mut self, handle: u32, role: Role, address: Option<&str>) -> std::io::Result<Attach> {
        self.attach_as(handle, role, address, SndSettleMode::Mixed)
    }

    fn attach_as(
        &mut self,
        handle: u32,
        role: Role,
        address: Option<&str>,
        mode: SndSettleMode,
    ) -> std::io::Result<Attach> {
        self.attached(request(handle, role, address, mode))
    }

    fn attached(&mut self, attach: Attach) -> std::io::Result<Attach> {
        self.send(Performative::Attach(Box::new(attach)), b"")?;
        self.until(|answer| match answer.performative {
            Performative::Attach(attach) => Some(*attach),
            _ => None,
        })
    }

    pub(crate) fn sender(&mut self, handle: u32, address: &str) -> std::io::Result<Attach> {
        self.attach(handle, Role::Sender, Some(address))
    }

    pub(crate) fn coordinator(&mut self, handle: u32) -> std::io::Result<Attach> {
        self.attach(handle, Role::Sender, None)
    }

    /// Attaches a link that gets or browses messages up to a size, with credit for one.
    pub(crate) fn receiver_of(
        &mut self,
        handle: u32,
        address: &str,
        mode: &str,
        max_message_size: u64,
    ) -> std::io::Result<()> {
        let mut attach = request(handle, Role::Receiver, Some(address), SndSettleMode::Mixed);
        attach.max_message_size = Some(max_message_size);
        if let Some(source) = &mut attach.source {
            source.distribution_mode = Some(mode.to_owned());
        }
        self.attached(attach)?;
        self.credit(handle, 0, 1)
    }

    /// Begins a message and aborts it.
    pub(crate) fn abort(&mut self, handle: u32) -> std::io::Result<()> {
        let id = self.next_delivery;
        self.next_delivery += 1;
        let begin = Transfer {
            handle,
            delivery_id: Some(id),
            delivery_tag: Some(id.to_be_bytes().to_vec()),
            message_format: Some(0),
            more: true,
            ..Transfer::default()
        };
        self.send(Performative::Transfer(begin), b"x")?;
        let abort = Transfer { handle, aborted: true, ..Transfer::default() };
        self.send(Performative::Transfer(abort), b"")
    }

    pub(crate) fn receiver(&mut self, handle: u32, address: &str, credit: u32) -> std::io::Result<()> {
        self.attach(handle, Role::Receiver, Some(address))?;
        self.credit(handle, 0, credit)
    }

    /// Attaches a link on which the server sends settled messages.
    pub(crate) fn settled_receiver(&mut self, handle: u32, address: &str, credit: u32) -> std::io::Result<()> {
        self.attach_as(handle, Role::Receiver, Some(address), SndSettleMode::Settled)?;
        self.credit(handle, 0, credit)
    }

    /// Returns the error with which the server ends a link.
    pub(crate) fn detached(&mut self) -> std::io::Result<String> {
        self.until(|answer| match answer.performative {
            Performative::Detach(detach) => Some(detach.error.map_or(String::new(), |error| error.to_string())),
            _ => None,
        })
    }

    pub(crate) fn credit(&mut self, handle: u32, delivery_count: u32, credit: u32) -> std::io::Result<()> {
        let flow = Flow {
            next_incoming_id: Some(self.next_incoming),
            incoming_window: 1 << 20,
            outgoing_window: 1 << 20,
            handle: Some(handle),
            delivery_count: Some(delivery_count),
            link_credit: Some(credit),
            ..Flow::default()
        };
        self.send(Performative::Flow(flow), b"")
    }

    /// Sends a message in one frame, or in frames of 100 KB. The number of its delivery.
    pub(crate) fn put(&mut self, handle: u32, state: Option<DeliveryState>, content: &[u8]) -> std::io::Result<u32> {
        let id = self.next_delivery;
        self.next_delivery += 1;
        let mut chunks = content.chunks(100_000).peekable();
        while let Some(chunk) = chunks.next() {
            let transfer = Transfer {
                handle,
                delivery_id: Some(id),
                delivery_tag: Some(id.to_be_bytes().to_vec()),
                message_format: Some(0),
                more: chunks.peek().is_some(),
                state: state.clone(),
                ..Transfer::default()
            };
            self.send(Performative::Transfer(transfer), chunk)?;
        }
        Ok(id)
    }

    /// The state in which the server settled a delivery of ours.
    pub(crate) fn outcome(&mut self, id: u32) -> std::io::Result<DeliveryState> {
        self.until(|answer| match answer.performative {
            Performative::Disposition(found)
                if found.role == Role::Receiver && (found.first..=found.last.unwrap_or(found.first)).contains(&id) =>
            {
                found.state
            }
            _ => None,
        })
    }

    /// The next message: number of the delivery, delivery count, content.
    pub(crate) fn get(&mut self) -> std::io::Result<(u32, u32, Vec<u8>)> {
        let (id, whole) = self.transferred()?;
        let sections = quayline_amqp::Sections::split(&whole).map_err(std::io::Error::other)?;
        Ok((id, sections.header.delivery_count, sections.body.content.to_vec()))
    }

    /// Returns all bytes of the next message.
    pub(crate) fn whole(&mut self) -> std::io::Result<Vec<u8>> {
        self.transferred().map(|(_, whole)| whole)
    }

    fn transferred(&mut self) -> std::io::Result<(u32, Vec<u8>)> {
        let mut whole = Vec::new();
        let mut id = None;
        let id = self.until(|answer| match answer.performative {
            Performative::Transfer(transfer) => {
                id = id.or(transfer.delivery_id);
                whole.extend_from_slice(&answer.content);
                if transfer.more { None } else { id }
            }
            _ => None,
        })?;
        Ok((id, whole))
    }

    pub(crate) fn settle(&mut self, id: u32, settled: bool, state: DeliveryState) -> std::io::Result<()> {
        let disposition =
            Disposition { role: Role::Receiver, first: id, last: None, settled, state: Some(state), batchable: false };
        self.send(Performative::Disposition(disposition), b"")
    }

    /// Waits until the server confirms an outcome of ours. The state that it names.
    pub(crate) fn confirmed(&mut self, id: u32) -> std::io::Result<Option<DeliveryState>> {
        self.until(|answer| match answer.performative {
            Performative::Disposition(found)
                if found.role == Role::Sender && (found.first..=found.last.unwrap_or(found.first)).contains(&id) =>
            {
                Some(found.state)
            }
            _ => None,
        })
    }

    pub(crate) fn declare(&mut self, handle: u32) -> std::io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Control::Declare.write(&mut content);
        let id = self.put(handle, None, &content)?;
        match self.outcome(id)? {
            DeliveryState::Declared { txn_id } => Ok(txn_id),
            other => Err(std::io::Error::other(format!("{other:?}"))),
        }
    }

    pub(crate) fn discharge(&mut self, handle: u32, txn_id: &[u8], fail: bool) -> std::io::Result<DeliveryState> {
        let mut content = Vec::new();
        Control::Discharge { txn_id: txn_id.to_vec(), fail }.write(&mut content);
        let id = self.put(handle, None, &content)?;
        self.outcome(id)
    }
}

fn request(handle: u32, role: Role, address: Option<&str>, mode: SndSettleMode) -> Attach {
    let address = address.map(str::to_owned);
    Attach {
        name: format!("link-{handle}"),
        handle,
        role,
        snd_settle_mode: mode as u8,
        rcv_settle_mode: 0,
        source: Some(Box::new(Source { address: address.clone(), ..Source::default() })),
        target: Some(match (role, address) {
            (Role::Sender, None) => LinkTarget::Coordinator(vec![]),
            (_, address) => LinkTarget::Node(Box::new(Target { address, ..Target::default() })),
        }),
        initial_delivery_count: Some(0),
        max_message_size: None,
        offered_capabilities: vec![],
        desired_capabilities: vec![],
        properties: None,
    }
}
