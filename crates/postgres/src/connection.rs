//! One connection: how it opens, how pipelines leave, how answers arrive.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};
use quayline_meter::{WaitFor, waiting};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::answers::Answers;
use crate::endpoint::Endpoint;
use crate::error::{Refusal, SqlError};
use crate::pipeline::{Pipeline, Sent, Statement, message, name_of};
use crate::tls::TlsSocket;

/// Pipelines up to this size are written in one call: the answers of their statements fit the buffers of the system.
const ONE_WRITE_BYTES: usize = 48 << 10;
/// Message `Sync`.
const SYNC: &[u8] = &[b'S', 0, 0, 0, 4];
/// Largest message that is taken from the server.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

enum Socket {
    Tcp(TcpStream),
    Tls(Box<TlsSocket>),
    Unix(UnixStream),
}

impl Socket {
    /// Sends the encrypted bytes that TLS still holds.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Socket::Tls(socket) => socket.flush(),
            Socket::Tcp(_) | Socket::Unix(_) => Ok(()),
        }
    }

    /// Returns the channel binding data for SCRAM.
    fn binding(&self) -> Option<Vec<u8>> {
        match self {
            Socket::Tls(socket) => socket.binding(),
            Socket::Tcp(_) | Socket::Unix(_) => None,
        }
    }

    /// Limits the time in which nothing moves in either direction.
    fn set_timeouts(&self, limit: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => timeouts_of_tcp(socket, limit),
            Socket::Tls(socket) => timeouts_of_tcp(&socket.socket, limit),
            Socket::Unix(socket) => timeouts_of_unix(socket, limit),
        }
    }

    fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => socket.set_nonblocking(on),
            Socket::Tls(socket) => socket.socket.set_nonblocking(on),
            Socket::Unix(socket) => socket.set_nonblocking(on),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(into),
            Socket::Tls(socket) => socket.read(into),
            Socket::Unix(socket) => socket.read(into),
        }
    }

    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.write(from),
            Socket::Tls(socket) => socket.write(from),
            Socket::Unix(socket) => socket.write(from),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Tls(socket) => socket.socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        }
    }
}

/// A connection to a database.
pub struct Connection {
    socket: Socket,
    database: String,
    input: Vec<u8>,
    at: usize,
    end: usize,
    out: Vec<u8>,
    /// Statements that this connection has parsed.
    prepared: Vec<bool>,
    /// Statements whose parsing is under way.
    parsing: VecDeque<Parsing>,
    /// Statements whose answers are due.
    due: VecDeque<Sent>,
    /// Statements answered since the last `ReadyForQuery`.
    answered: usize,
    /// Transaction status: `I`, `T` or `E`.
    status: u8,
    /// Longest time in which the server neither reads nor answers.
    limit: Duration,
    is_lost: bool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({})", self.database)
    }
}

/// A statement that the server parses.
struct Parsing {
    id: u32,
    /// Number of statements since the last `ReadyForQuery` that the server answers first.
    before: usize,
}

/// A message: its kind and where its body is in the buffer.
struct Incoming {
    kind: u8,
    body: std::ops::Range<usize>,
}

impl Connection {
    /// Opens a connection.
    ///
    /// # Errors
    /// [`SqlError::Lost`] if the server does not answer, [`SqlError::NoEntry`] if it refuses user, password or database.
    pub fn open(endpoint: &Endpoint) -> Result<Connection, SqlError> {
        let database = endpoint.to_string();
        let lost = |error: &io::Error| SqlError::Lost { database: database.clone(), why: why(error) };
        let socket = dial(endpoint).map_err(|error| lost(&error))?;
        let mut connection = Connection {
            socket,
            database: database.clone(),
            input: vec![0; 16 << 10],
            at: 0,
            end: 0,
            out: Vec::new(),
            prepared: Vec::new(),
            parsing: VecDeque::new(),
            due: VecDeque::new(),
            answered: 0,
            status: b'I',
            limit: endpoint.connect_timeout,
            is_lost: false,
        };
        connection.greet(endpoint)?;
        connection.limit = endpoint.answer_timeout;
        connection.socket.set_timeouts(connection.limit).map_err(|error| lost(&error))?;
        // A setting of the server, database or role may cut the digits of floats. As a parameter of the start, poolers refuse it.
        connection.script("SET extra_float_digits = 3")?;
        Ok(connection)
    }

    /// Returns true if no transaction is open and no answer is due.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.status == b'I' && self.due.is_empty() && !self.is_lost
    }

    fn lost(&mut self, error: &io::Error) -> SqlError {
        self.is_lost = true;
        SqlError::Lost { database: self.database.clone(), why: why(error) }
    }

    fn protocol(&mut self, what: &'static str) -> SqlError {
        self.is_lost = true;
        SqlError::Protocol { database: self.database.clone(), what }
    }

    fn greet(&mut self, endpoint: &Endpoint) -> Result<(), SqlError> {
        let mut hello = vec![0, 0, 0, 0, 0, 3, 0, 0];
        let pairs = [
            ("user", endpoint.user.as_str()),
            ("database", &endpoint.database),
            ("application_name", "quayline"),
            ("client_encoding", "UTF8"),
            ("DateStyle", "ISO"),
        ];
        for text in pairs.iter().flat_map(|(name, value)| [*name, *value]) {
            hello.extend_from_slice(text.as_bytes());
            hello.push(0);
        }
        hello.push(0);
        let length = u32::try_from(hello.len()).unwrap_or(u32::MAX).to_be_bytes();
        hello[..4].copy_from_slice(&length);
        self.write_all(&hello)?;
        let password = endpoint.password.clone().unwrap_or_default();
        let mut scram: Option<ScramSha256> = None;
        loop {
            let incoming = self.next()?;
            let body = self.input[incoming.body].to_vec();
            match incoming.kind {
                b'R' => {
                    let (method, rest) =
                        body.split_first_chunk::<4>().ok_or_else(|| self.protocol("a kind of authentication"))?;
                    match u32::from_be_bytes(*method) {
                        0 => {}
                        3 => self.secret(password.as_bytes())?,
                        5 => {
                            let salt = rest.try_into().map_err(|_| self.protocol("a salt of four bytes"))?;
                            self.secret(md5_hash(endpoint.user.as_bytes(), password.as_bytes(), salt).as_bytes())?;
                        }
                        10 => {
                            let offered =
                                |name: &str| rest.split(|byte| *byte == 0).any(|found| found == name.as_bytes());
                            let (mechanism, binding) = match self.socket.binding() {
                                Some(digest) if offered(SCRAM_SHA_256_PLUS) => {
                                    (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(digest))
                                }
                                Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
                                None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
                            };
                            let first = ScramSha256::new(password.as_bytes(), binding);
                            let mut out = Vec::new();
                            message(&mut out, b'p', |out| {
                                out.extend_from_slice(mechanism.as_bytes());
                                out.push(0);
                                out.extend_from_slice(&u32::try_from(first.message().len()).unwrap_or(0).to_be_bytes());
                                out.extend_from_slice(first.message());
                            });
                            scram = Some(first);
                            self.write_all(&out)?;
                        }
                        11 | 12 => {
                            let is_last = u32::from_be_bytes(*method) == 12;
                            let Some(state) = &mut scram else { return Err(self.protocol("the begin of SCRAM")) };
                            let done = if is_last { state.finish(rest) } else { state.update(rest) };
                            if let Err(error) = done {
                                return Err(SqlError::NoEntry {
                                    database: self.database.clone(),
                                    why: error.to_string(),
                                });
                            }
                            // After the last message there is none of ours.
                            if !is_last {
                                let mut out = Vec::new();
                                message(&mut out, b'p', |out| out.extend_from_slice(state.message()));
                                self.write_all(&out)?;
                            }
                        }
                        _ => {
                            let why = "it wants a kind of authentication other than password, MD5 or SCRAM".to_owned();
                            return Err(SqlError::NoEntry { database: self.database.clone(), why });
                        }
                    }
                }
                b'E' => {
                    let refusal = refusal(&body);
                    // The server starts, stops, or has no connection left: later it may answer.
                    if matches!(refusal.sqlstate.as_str(), "57P01" | "57P02" | "57P03" | "53300") {
                        return Err(SqlError::Lost { database: self.database.clone(), why: refusal.to_string() });
                    }
                    return Err(SqlError::NoEntry { database: self.database.clone(), why: refusal.message });
                }
                b'Z' => {
                    self.status = body.first().copied().unwrap_or(b'I');
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    fn secret(&mut self, text: &[u8]) -> Result<(), SqlError> {
        let mut out = Vec::new();
        message(&mut out, b'p', |out| {
            out.extend_from_slice(text);
            out.push(0);
        });
        self.write_all(&out)
    }

    /// Sends the messages of a pipeline with a `Sync` after them, and empties it. [`Connection::receive`] receives the answers.
    ///
    /// # Errors
    /// [`SqlError::Lost`].
    pub fn send(&mut self, pipeline: &mut Pipeline) -> Result<(), SqlError> {
        self.write_part(pipeline, true)
    }

    /// Sends the messages of a pipeline without a `Sync`. The answers arrive with those of the rest.
    ///
    /// # Errors
    /// [`SqlError::Lost`].
    pub fn send_part(&mut self, pipeline: &mut Pipeline) -> Result<(), SqlError> {
        self.write_part(pipeline, false)
    }

    fn write_part(&mut self, pipeline: &mut Pipeline, is_whole: bool) -> Result<(), SqlError> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        for statement in &pipeline.uses {
            self.parse(&mut out, statement);
        }
        if is_whole {
            pipeline.out.extend_from_slice(SYNC);
        }
        let reads = !self.due.is_empty();
        self.due.extend(pipeline.sent.iter().copied());
        let written = if out.is_empty() {
            self.write_bytes(&pipeline.out, reads)
        } else {
            out.extend_from_slice(&pipeline.out);
            self.write_bytes(&out, reads)
        };
        self.out = out;
        // One very large pipeline does not keep its memory.
        self.out.shrink_to(1 << 20);
        pipeline.clear();
        written
    }

    fn parse(&mut self, out: &mut Vec<u8>, statement: &Statement) {
        let place = statement.id as usize;
        if self.prepared.get(place).copied().unwrap_or(false)
            || self.parsing.iter().any(|parsing| parsing.id == statement.id)
        {
            return;
        }
        message(out, b'P', |out| {
            name_of(out, statement.id);
            out.push(0);
            out.extend_from_slice(statement.text.as_bytes());
            out.extend_from_slice(&[0, 0, 0]);
        });
        self.parsing.push_back(Parsing { id: statement.id, before: self.answered + self.due.len() });
    }

    /// Ends statements that were sent without a `Sync`. After one that failed, the server skips everything until a `Sync`, also a rollback.
    ///
    /// # Errors
    /// [`SqlError::Lost`].
    pub(crate) fn end_part(&mut self) -> Result<(), SqlError> {
        if self.due.is_empty() {
            return Ok(());
        }
        self.write_all(SYNC)?;
        match self.receive(&mut Answers::default()) {
            Ok(()) | Err(SqlError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes the answers of everything that was sent.
    ///
    /// # Errors
    /// [`SqlError::Refused`] with the first statement that failed: those after it did not run. [`SqlError::Lost`].
    pub fn receive(&mut self, answers: &mut Answers) -> Result<(), SqlError> {
        let mut refused: Option<Refusal> = None;
        loop {
            let incoming = self.next()?;
            let (from, to) = (incoming.body.start, incoming.body.end);
            match incoming.kind {
                b'1' => {
                    if let Some(parsed) = self.parsing.pop_front() {
                        let place = parsed.id as usize;
                        if self.prepared.len() <= place {
                            self.prepared.resize(place + 1, false);
                        }
                        self.prepared[place] = true;
                    }
                }
                b'D' => answers.add_row(&self.input[from..to]).ok_or_else(|| self.protocol("a row"))?,
                b'C' => {
                    let count = changed(&self.input[from..to]);
                    self.one_answered(answers, count);
                }
                b's' => self.one_answered(answers, 0),
                b'I' => self.one_answered(answers, 0),
                b'T' => {
                    answers.describe(&self.input[from..to]).ok_or_else(|| self.protocol("columns"))?;
                    self.one_answered(answers, 0);
                }
                b'n' => self.one_answered(answers, 0),
                b'E' => {
                    let (statement, tag) = self.refused_statement();
                    let found = Refusal { statement, tag, ..refusal(&self.input[from..to]) };
                    refused.get_or_insert(found);
                }
                b'Z' => {
                    self.status = self.input[from..to].first().copied().unwrap_or(b'I');
                    self.due.clear();
                    self.parsing.clear();
                    self.answered = 0;
                    return refused.map_or(Ok(()), |refusal| Err(SqlError::Refused(Box::new(refusal))));
                }
                _ => {}
            }
            if incoming.kind == b'C' {
                answers.is_last = true;
            } else if incoming.kind == b's' {
                answers.is_last = false;
            }
        }
    }

    /// Returns the number and the tag of the statement that the server refuses. A text that it does not parse has no tag: its values are not the
    /// reason, and the server parses it before statements that use other texts.
    fn refused_statement(&self) -> (usize, u32) {
        match self.parsing.front().filter(|parsing| parsing.before <= self.answered) {
            Some(parsing) => {
                let first_use = self.due.iter().position(|sent| sent.binds == Some(parsing.id));
                (self.answered + first_use.unwrap_or(0), 0)
            }
            None => (self.answered, self.due.front().map_or(0, |sent| sent.tag)),
        }
    }

    fn one_answered(&mut self, answers: &mut Answers, count: u64) {
        self.due.pop_front();
        self.answered += 1;
        answers.counts.push(count);
    }

    /// Sends, and takes the answers.
    ///
    /// # Errors
    /// Those of [`Connection::send`] and [`Connection::receive`].
    pub fn run(&mut self, pipeline: &mut Pipeline, answers: &mut Answers) -> Result<(), SqlError> {
        answers.clear();
        self.send(pipeline)?;
        self.receive(answers)
    }

    /// Runs statements without parameters, one after another.
    ///
    /// # Errors
    /// [`SqlError::Refused`], [`SqlError::Lost`].
    pub fn script(&mut self, text: &str) -> Result<(), SqlError> {
        let mut out = Vec::new();
        message(&mut out, b'Q', |out| {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        });
        self.write_all(&out)?;
        self.receive(&mut Answers::default())
    }

    /// Rows of one statement.
    ///
    /// # Errors
    /// [`SqlError::Refused`], [`SqlError::Lost`].
    pub fn query(&mut self, text: &str, params: &[crate::Param<'_>]) -> Result<Answers, SqlError> {
        let mut pipeline = Pipeline::default();
        pipeline.add(&Statement::new(text), params, crate::Format::Binary, 0);
        let mut answers = Answers::default();
        self.run(&mut pipeline, &mut answers)?;
        Ok(answers)
    }

    /// Returns the next message. The buffer keeps it until the next call.
    fn next(&mut self) -> Result<Incoming, SqlError> {
        self.fill(5)?;
        let head = &self.input[self.at..self.at + 5];
        let kind = head[0];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..MESSAGE_BYTES_MAX).contains(&length) {
            return Err(self.protocol("the length of a message"));
        }
        self.fill(length + 1)?;
        let body = self.at + 5..self.at + 1 + length;
        self.at += length + 1;
        Ok(Incoming { kind, body })
    }

    /// Reads until the buffer has `count` bytes.
    fn fill(&mut self, count: usize) -> Result<(), SqlError> {
        while self.end - self.at < count {
            self.make_room(count);
            let (socket, room) = (&mut self.socket, &mut self.input[self.end..]);
            match waiting(WaitFor::External, || socket.read(room)) {
                Ok(0) => return Err(self.lost(&ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(&error)),
            }
        }
        Ok(())
    }

    fn make_room(&mut self, count: usize) {
        if self.at > 0 {
            self.input.copy_within(self.at..self.end, 0);
            self.end -= self.at;
            self.at = 0;
        }
        if self.input.len() < count || self.input.len() == self.end {
            self.input.resize((count.max(self.end) * 2).max(16 << 10), 0);
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        self.write_bytes(bytes, !self.due.is_empty())
    }

    /// Writes bytes. `reads` if answers to earlier statements may fill the buffers of the system.
    fn write_bytes(&mut self, bytes: &[u8], reads: bool) -> Result<(), SqlError> {
        if self.is_lost {
            return Err(self.lost(&ErrorKind::NotConnected.into()));
        }
        let is_small = bytes.len() <= ONE_WRITE_BYTES && !reads;
        let done = if is_small { self.write_blocking(bytes) } else { self.write_and_read(bytes) };
        done.map_err(|error| self.lost(&error))
    }

    fn write_blocking(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.socket.flush()
    }

    /// Writes, and reads the server's answers at the same time: a server whose answers are not read stops reading.
    fn write_and_read(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        let limit = Timespec::try_from(self.limit).ok();
        let done = loop {
            let written = if bytes.is_empty() { self.socket.flush().map(|()| 0) } else { self.socket.write(bytes) };
            match written {
                Ok(_) if bytes.is_empty() => break Ok(()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    continue;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => break Err(error),
            }
            self.make_room(0);
            match self.socket.read(&mut self.input[self.end..]) {
                Ok(0) => break Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.end += count;
                    continue;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => break Err(error),
            }
            let fd = self.socket.fd();
            let mut wanted = [PollFd::from_borrowed_fd(fd, PollFlags::IN | PollFlags::OUT)];
            // The loop repeats an interrupted wait.
            if waiting(WaitFor::External, || poll(&mut wanted, limit.as_ref())) == Ok(0) {
                break Err(ErrorKind::TimedOut.into());
            }
        };
        self.socket.set_nonblocking(false)?;
        done
    }
}

fn timeouts_of_tcp(socket: &TcpStream, limit: Duration) -> io::Result<()> {
    socket.set_read_timeout(Some(limit))?;
    socket.set_write_timeout(Some(limit))
}

fn timeouts_of_unix(socket: &UnixStream, limit: Duration) -> io::Result<()> {
    socket.set_read_timeout(Some(limit))?;
    socket.set_write_timeout(Some(limit))
}

fn dial(endpoint: &Endpoint) -> io::Result<Socket> {
    // Until the login is complete, each answer has the time of the connection, and not that of a query.
    let limit = endpoint.connect_timeout;
    if endpoint.host.starts_with('/') {
        let socket = UnixStream::connect(format!("{}/.s.PGSQL.{}", endpoint.host, endpoint.port))?;
        timeouts_of_unix(&socket, limit)?;
        return Ok(Socket::Unix(socket));
    }
    let mut last: io::Error = ErrorKind::NotFound.into();
    for address in (endpoint.host.as_str(), endpoint.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, limit) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                timeouts_of_tcp(&socket, limit)?;
                return encrypted(socket, endpoint);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Upgrades the socket to TLS if the address requires it. The request precedes all other traffic of the connection.
fn encrypted(mut socket: TcpStream, endpoint: &Endpoint) -> io::Result<Socket> {
    let Some(config) = endpoint.tls.client()? else { return Ok(Socket::Tcp(socket)) };
    // SSLRequest: length and a number that is no version.
    socket.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?;
    let mut answer = [0];
    socket.read_exact(&mut answer)?;
    if answer != *b"S" {
        return Err(io::Error::new(ErrorKind::Unsupported, "the server does not offer TLS"));
    }
    Ok(Socket::Tls(Box::new(TlsSocket::open(socket, &endpoint.host, config)?)))
}

/// Returns the system's error text without an error number.
fn why(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "the server closed it".to_owned(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "no answer in time".to_owned(),
        ErrorKind::NotFound => "no such host or socket".to_owned(),
        // Ours and those of TLS, which name the fault.
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Unsupported => error.to_string(),
        kind => kind.to_string(),
    }
}

/// Parses the last number of a command tag such as `INSERT 0 5`.
fn changed(body: &[u8]) -> u64 {
    let tag = body.strip_suffix(&[0]).unwrap_or(body);
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    tag[tag.len() - digits..].iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

/// Parses the fields of an ErrorResponse.
fn refusal(body: &[u8]) -> Refusal {
    let mut refusal = Refusal::default();
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, text)) = field.split_first() else { continue };
        // Before a session agrees on UTF-8, the server writes in its own encoding.
        let text = core::str::from_utf8(text).map_or_else(|_| text.escape_ascii().to_string(), str::to_owned);
        match kind {
            b'C' => refusal.sqlstate = text,
            b'M' => refusal.message = text,
            b't' => refusal.table = Some(text),
            b'c' => refusal.column = Some(text),
            b'n' => refusal.constraint = Some(text),
            _ => {}
        }
    }
    refusal
}
