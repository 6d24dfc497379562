//! The network: requests and responses, connections and streams over loopback, plain and with TLS.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};
use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};

use super::median;
use crate::certificate;
use crate::run::thread_cpu;

/// Turns of each row; their medians count.
const TURNS: usize = 3;
/// Longest wait for the other side.
const WAIT: Duration = Duration::from_secs(20);
/// Response times that a client keeps in a turn.
const TIMES_MAX: usize = 1 << 20;

/// Traffic between a client and its server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Traffic {
    /// 128 bytes and 128 bytes back, on one lasting connection.
    Short,
    /// 64 bytes and 8 KiB back, on one lasting connection.
    Long,
    /// 64 bytes and 8 KiB back, on a new connection each time.
    Connect,
    /// Blocks of 16 KiB to the server, on one lasting connection.
    Stream,
}

impl Traffic {
    /// Every kind.
    pub const ALL: [Traffic; 4] = [Traffic::Short, Traffic::Long, Traffic::Connect, Traffic::Stream];

    fn name(self) -> &'static str {
        match self {
            Traffic::Short => "request and response, 128 and 128 bytes",
            Traffic::Long => "request and response, 64 and 8192 bytes",
            Traffic::Connect => "connect, request and response, 64 and 8192 bytes",
            Traffic::Stream => "stream, blocks of 16384 bytes",
        }
    }

    /// Bytes to the server and back.
    fn bytes(self) -> (usize, usize) {
        match self {
            Traffic::Short => (128, 128),
            Traffic::Long | Traffic::Connect => (64, 8_192),
            Traffic::Stream => (16_384, 0),
        }
    }

    /// Returns the policies to compare. Kinds of handshakes matter only if each transaction connects.
    fn policies(self) -> &'static [Policy] {
        match self {
            Traffic::Connect => &[Policy::Plain, Policy::Resumed, Policy::Full, Policy::Mutual],
            _ => &[Policy::Plain, Policy::Full],
        }
    }
}

/// Protection of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// Without TLS.
    Plain,
    /// TLS 1.3; each connection after the first resumes a session.
    Resumed,
    /// TLS 1.3 with a full handshake for each connection.
    Full,
    /// [`Policy::Full`] with a client certificate.
    Mutual,
}

impl Policy {
    fn name(self, traffic: Traffic) -> &'static str {
        match self {
            Policy::Plain => "plain",
            Policy::Resumed => "TLS resumed",
            Policy::Full if traffic != Traffic::Connect => "TLS",
            Policy::Full => "TLS full",
            Policy::Mutual => "TLS full, both with certificates",
        }
    }
}

/// Settings of the study.
#[derive(Clone, Copy, Debug)]
pub struct NetOptions {
    /// Concurrent clients, each with its own server thread.
    pub clients: u32,
    /// Time of a turn.
    pub time: Duration,
}

/// One row: medians of the turns.
#[derive(Clone, Debug, PartialEq)]
pub struct NetRow {
    /// Traffic of the row.
    pub traffic: Traffic,
    /// Protection of the row.
    pub policy: Policy,
    /// Transactions a second of all clients.
    pub rate: f64,
    /// CPU microseconds of the server for a transaction.
    pub server_us: f64,
    /// CPU microseconds of the client for a transaction.
    pub client_us: f64,
    /// 50th, 95th and 99th percentile of the response time in microseconds; `None` for a stream.
    pub times_us: Option<[f64; 3]>,
    /// Largest less smallest server time of the turns, as a share of the median.
    pub apart: f64,
}

/// Results of the study.
#[derive(Clone, Debug)]
pub struct NetStudy {
    /// Settings of the run.
    pub options: NetOptions,
    /// Rows, by traffic.
    pub rows: Vec<NetRow>,
}

impl NetStudy {
    /// Runs every row in turns. `say` receives the name of each.
    ///
    /// # Errors
    /// A description of the failure. A handshake of another kind than the row's is a failure.
    pub fn run(options: NetOptions, say: &mut dyn FnMut(&str)) -> Result<NetStudy, String> {
        let sides = Sides::new()?;
        let kinds: Vec<(Traffic, Policy)> = Traffic::ALL
            .into_iter()
            .flat_map(|traffic| traffic.policies().iter().map(move |policy| (traffic, *policy)))
            .collect();
        let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); kinds.len()];
        // What a machine does changes from second to second, so all rows have a turn before any has another.
        for turn in 1..=TURNS {
            say(&format!("turn {turn} of {TURNS}"));
            for ((traffic, policy), turns) in kinds.iter().zip(&mut turns) {
                let found = turn_of(&sides, *traffic, *policy, options)
                    .map_err(|why| format!("{}, {}: {why}", traffic.name(), policy.name(*traffic)))?;
                turns.push(found);
            }
        }
        let rows = kinds.into_iter().zip(&turns).map(|((traffic, policy), turns)| row(traffic, policy, turns));
        Ok(NetStudy { options, rows: rows.collect() })
    }

    /// Returns the CPU time of the server relative to the plain row of the same traffic.
    #[must_use]
    pub fn relative(&self, row: &NetRow) -> f64 {
        let plain = self.rows.iter().find(|other| other.traffic == row.traffic && other.policy == Policy::Plain);
        plain.map_or(f64::NAN, |plain| row.server_us / plain.server_us)
    }

    /// Converts the study into a report of kind `net`.
    #[must_use]
    pub fn report(&self) -> Report {
        let name = |row: &NetRow| format!("{}: {}", row.traffic.name(), row.policy.name(row.traffic));
        let cells = |row: &NetRow| {
            let time = |at: usize| row.times_us.map_or(Cell::Empty, |times| Cell::Number(times[at]));
            vec![
                Cell::Text(name(row)),
                Cell::Number(row.rate),
                Cell::Number(row.server_us),
                Cell::Number(self.relative(row)),
                Cell::Number(row.client_us),
                time(0),
                time(1),
                time(2),
                Cell::Number(100.0 * row.apart),
            ]
        };
        Report {
            kind: "net".to_owned(),
            title: "Network: requests, connections and streams".to_owned(),
            verdict: Verdict::Good,
            summary: format!("{} rows over loopback, the median of {TURNS} turns each.", self.rows.len()),
            conditions: vec![
                ("clients".to_owned(), self.options.clients.to_string()),
                ("seconds of a turn".to_owned(), self.options.time.as_secs_f64().to_string()),
            ],
            sections: vec![Section {
                id: "rows".to_owned(),
                title: "Transactions".to_owned(),
                notes: vec![
                    "Each client has a server thread of its own. CPU time is that of the threads, so neighbours make a run slower and \
                     not dearer. Relative cost is the server's CPU time by that of the plain row. A loopback device has no line: \
                     rates bound what a network can do."
                        .to_owned(),
                ],
                picture: Some(Picture::Bars {
                    across: "CPU time of the server, µs".to_owned(),
                    rows: self.rows.iter().map(name).collect(),
                    series: vec![("server".to_owned(), self.rows.iter().map(|row| row.server_us).collect())],
                }),
                table: Table {
                    columns: vec![
                        Column::new("traffic", ""),
                        Column::higher("rate", "1/s"),
                        Column::lower("server CPU", "µs"),
                        Column::new("relative cost", ""),
                        Column::new("client CPU", "µs"),
                        Column::lower("p50", "µs"),
                        Column::new("p95", "µs"),
                        Column::new("p99", "µs"),
                        Column::new("turns apart", "%"),
                    ],
                    rows: self.rows.iter().map(cells).collect(),
                },
            }],
        }
    }
}

fn row(traffic: Traffic, policy: Policy, turns: &[Turn]) -> NetRow {
    let of = |of: &dyn Fn(&Turn) -> f64| median(turns.iter().map(of).collect());
    let server_us = of(&|turn| turn.server_us);
    let costs = || turns.iter().map(|turn| turn.server_us);
    let apart = costs().fold(0.0, f64::max) - costs().fold(f64::INFINITY, f64::min);
    let times_us = (traffic != Traffic::Stream).then(|| [0, 1, 2].map(|at| of(&|turn: &Turn| turn.times_us[at])));
    NetRow {
        traffic,
        policy,
        rate: of(&|turn| turn.rate),
        server_us,
        client_us: of(&|turn| turn.client_us),
        times_us,
        apart: apart / server_us,
    }
}

/// Results of one turn.
#[derive(Clone, Debug)]
struct Turn {
    rate: f64,
    server_us: f64,
    client_us: f64,
    times_us: [f64; 3],
}

/// Settings of both sides, by policy.
struct Sides {
    server: Arc<ServerConfig>,
    server_asks: Arc<ServerConfig>,
    resuming: Arc<ClientConfig>,
    full: Arc<ClientConfig>,
    mutual: Arc<ClientConfig>,
    name: ServerName<'static>,
}

fn shown(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Sides {
    fn new() -> Result<Sides, String> {
        let made = certificate::make()?;
        let certificate = CertificateDer::from(made.certificate);
        let key = || PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key.clone()));
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).map_err(shown)?;
        let roots = Arc::new(roots);
        let provider = Arc::new(default_provider());
        let versions = [&rustls::version::TLS13];
        let client = || {
            ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&versions)
                .map(|builder| builder.with_root_certificates(Arc::clone(&roots)))
        };
        let server = || {
            ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&versions).map_err(shown)
        };
        let resuming = client().map_err(shown)?.with_no_client_auth();
        let mut full = resuming.clone();
        full.resumption = Resumption::disabled();
        let own = vec![certificate];
        let mut mutual = client().map_err(shown)?.with_client_auth_cert(own.clone(), key()).map_err(shown)?;
        mutual.resumption = Resumption::disabled();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let verifier = verifier.build().map_err(shown)?;
        Ok(Sides {
            server: Arc::new(server()?.with_no_client_auth().with_single_cert(own.clone(), key()).map_err(shown)?),
            server_asks: Arc::new(
                server()?.with_client_cert_verifier(verifier).with_single_cert(own, key()).map_err(shown)?,
            ),
            resuming: Arc::new(resuming),
            full: Arc::new(full),
            mutual: Arc::new(mutual),
            name: ServerName::try_from("localhost").map_err(shown)?,
        })
    }

    fn of_server(&self, policy: Policy) -> Option<&Arc<ServerConfig>> {
        match policy {
            Policy::Plain => None,
            Policy::Resumed | Policy::Full => Some(&self.server),
            Policy::Mutual => Some(&self.server_asks),
        }
    }

    fn of_client(&self, policy: Policy) -> Option<&Arc<ClientConfig>> {
        match policy {
            Policy::Plain => None,
            Policy::Resumed => Some(&self.resuming),
            Policy::Full => Some(&self.full),
            Policy::Mutual => Some(&self.mutual),
        }
    }
}

/// A connection, plain or not.
trait Wire: Read + Write {
    /// Returns the kind of the connection's handshake, if it has TLS.
    fn handshake(&self) -> Option<HandshakeKind>;
    /// Says that nothing more comes.
    fn close(&mut self) -> std::io::Result<()>;
}

impl Wire for TcpStream {
    fn handshake(&self) -> Option<HandshakeKind> {
        None
    }
    fn close(&mut self) -> std::io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl Wire for StreamOwned<ClientConnection, TcpStream> {
    fn handshake(&self) -> Option<HandshakeKind> {
        self.conn.handshake_kind()
    }
    fn close(&mut self) -> std::io::Result<()> {
        self.conn.send_close_notify();
        self.flush()?;
        self.sock.shutdown(Shutdown::Write)
    }
}

impl Wire for StreamOwned<ServerConnection, TcpStream> {
    fn handshake(&self) -> Option<HandshakeKind> {
        self.conn.handshake_kind()
    }
    fn close(&mut self) -> std::io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }
}

/// Runs one row for a turn.
fn turn_of(sides: &Sides, traffic: Traffic, policy: Policy, options: NetOptions) -> Result<Turn, String> {
    let over = AtomicBool::new(false);
    let listen = |_| {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(shown)?;
        let address = listener.local_addr().map_err(shown)?;
        Ok((listener, address))
    };
    let listeners: Vec<(TcpListener, SocketAddr)> =
        (0..options.clients.max(1)).map(listen).collect::<Result<_, String>>()?;
    let began = Instant::now();
    let (served, drove) = std::thread::scope(|scope| {
        let mut servers = Vec::new();
        let mut drivers = Vec::new();
        for (listener, address) in listeners {
            let over = &over;
            servers.push(scope.spawn(move || serve(&listener, sides, traffic, policy)));
            drivers.push(scope.spawn(move || {
                let drove = drive(address, sides, traffic, policy, over);
                // A connection without a word ends the server, whatever became of the client.
                let _ = TcpStream::connect(address);
                drove
            }));
        }
        std::thread::sleep(options.time);
        over.store(true, Ordering::Relaxed);
        let panicked = |_| "a thread panicked".to_owned();
        let drove: Result<Vec<Drove>, String> =
            drivers.into_iter().map(|driver| driver.join().map_err(panicked).and_then(|drove| drove)).collect();
        let served: Result<Vec<Duration>, String> =
            servers.into_iter().map(|server| server.join().map_err(panicked).and_then(|served| served)).collect();
        // What the client saw explains more.
        let drove = drove?;
        Ok::<_, String>((served?, drove))
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let count: u64 = drove.iter().map(|drove| drove.count).sum();
    if count == 0 {
        return Err("no transaction ended in time: use a longer turn".to_owned());
    }
    let us = |cpu: Duration| cpu.as_secs_f64() * 1e6 / count as f64;
    let mut times: Vec<u32> = drove.iter().flat_map(|drove| drove.times_us.iter().copied()).collect();
    times.sort_unstable();
    let at = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).map_or(0.0, |time| f64::from(*time) / 10.0)
    };
    Ok(Turn {
        rate: count as f64 / seconds,
        server_us: us(served.into_iter().sum()),
        client_us: us(drove.iter().map(|drove| drove.cpu).sum()),
        times_us: [at(50), at(95), at(99)],
    })
}

fn prepared(stream: TcpStream) -> Result<TcpStream, String> {
    stream.set_nodelay(true).map_err(shown)?;
    stream.set_read_timeout(Some(WAIT)).map_err(shown)?;
    stream.set_write_timeout(Some(WAIT)).map_err(shown)?;
    Ok(stream)
}

/// Serves connections one after another until one ends without a word. Gives the CPU time that this took.
fn serve(listener: &TcpListener, sides: &Sides, traffic: Traffic, policy: Policy) -> Result<Duration, String> {
    let (ask, answer) = traffic.bytes();
    let mut request = vec![0; ask];
    let response = vec![b'r'; answer];
    let began = thread_cpu();
    loop {
        let stream = prepared(listener.accept().map_err(shown)?.0)?;
        let mut first = [0; 1];
        if stream.peek(&mut first).map_err(shown)? == 0 {
            return Ok(thread_cpu().saturating_sub(began));
        }
        let mut wire: Box<dyn Wire> = match sides.of_server(policy) {
            None => Box::new(stream),
            Some(config) => {
                Box::new(StreamOwned::new(ServerConnection::new(Arc::clone(config)).map_err(shown)?, stream))
            }
        };
        while whole(&mut *wire, &mut request)? {
            if !response.is_empty() {
                wire.write_all(&response).map_err(shown)?;
            }
        }
        // The client of a stream waits for this, so that every block has arrived. Others may be gone.
        let _ = wire.close();
    }
}

/// Reads a whole block; false at the end of the stream.
fn whole(wire: &mut dyn Wire, block: &mut [u8]) -> Result<bool, String> {
    let mut filled = 0;
    while filled < block.len() {
        match wire.read(&mut block[filled..]).map_err(shown)? {
            0 if filled == 0 => return Ok(false),
            0 => return Err("the stream ends inside a block".to_owned()),
            more => filled += more,
        }
    }
    Ok(true)
}

/// Work of one client.
struct Drove {
    count: u64,
    cpu: Duration,
    /// Response times in tenths of a microsecond.
    times_us: Vec<u32>,
}

fn drive(
    address: SocketAddr,
    sides: &Sides,
    traffic: Traffic,
    policy: Policy,
    over: &AtomicBool,
) -> Result<Drove, String> {
    let (ask, answer) = traffic.bytes();
    let request = vec![b'q'; ask];
    let mut response = vec![0; answer];
    let mut drove = Drove { count: 0, cpu: Duration::ZERO, times_us: Vec::new() };
    let began = thread_cpu();
    let connect = || -> Result<Box<dyn Wire>, String> {
        let stream = prepared(TcpStream::connect(address).map_err(shown)?)?;
        Ok(match sides.of_client(policy) {
            None => Box::new(stream),
            Some(config) => {
                let client = ClientConnection::new(Arc::clone(config), sides.name.clone()).map_err(shown)?;
                Box::new(StreamOwned::new(client, stream))
            }
        })
    };
    let mut kept: Option<Box<dyn Wire>> = None;
    let mut connections = 0u64;
    while !over.load(Ordering::Relaxed) {
        let sent = Instant::now();
        let wire = match &mut kept {
            Some(wire) => wire,
            kept => {
                connections += 1;
                kept.insert(connect()?)
            }
        };
        wire.write_all(&request).map_err(shown)?;
        if answer > 0 && !whole(&mut **wire, &mut response)? {
            return Err("the server ended the connection".to_owned());
        }
        if traffic == Traffic::Connect {
            check(wire.handshake(), policy, connections)?;
            wire.close().map_err(shown)?;
            kept = None;
        }
        drove.count += 1;
        if answer > 0 && drove.times_us.len() < TIMES_MAX {
            drove.times_us.push(u32::try_from(sent.elapsed().as_nanos() / 100).unwrap_or(u32::MAX));
        }
    }
    if let Some(mut wire) = kept {
        wire.close().map_err(shown)?;
        // The end of the server's side says that everything was read.
        let mut rest = [0; 1];
        if wire.read(&mut rest).map_err(shown)? != 0 {
            return Err("the server says more than it was asked".to_owned());
        }
    }
    drove.cpu = thread_cpu().saturating_sub(began);
    Ok(drove)
}

/// Checks that every handshake is of the row's kind. The first one of a client may resume a session of another client.
fn check(found: Option<HandshakeKind>, policy: Policy, connection: u64) -> Result<(), String> {
    let right = match policy {
        Policy::Plain => found.is_none(),
        Policy::Resumed if connection > 1 => found == Some(HandshakeKind::Resumed),
        Policy::Resumed => found.is_some(),
        _ => matches!(found, Some(HandshakeKind::Full | HandshakeKind::FullWithHelloRetryRequest)),
    };
    if right { Ok(()) } else { Err(format!("the handshake of connection {connection} is {found:?}")) }
}
