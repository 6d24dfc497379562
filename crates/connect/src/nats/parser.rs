//! Parser for the messages of a NATS server: bytes in, operations out.

/// Longest line. Default 64 KiB: INFO of a large cluster is the longest.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Longest payload with its headers. Default 64 MiB: the most that a server can be configured to take.
pub(super) const PAYLOAD_BYTES_MAX: usize = 64 << 20;
/// Headers of one message. Default 256.
const HEADERS_MAX: usize = 256;
/// First line of headers.
const HEADERS_VERSION: &str = "NATS/1.0";

/// A message of a subscription.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NatsMessage {
    /// Subject that it was published to.
    pub subject: String,
    /// Number of the subscription.
    pub subscription: u64,
    /// Subject for an answer or acknowledgment.
    pub reply: Option<String>,
    /// Status of the server (404, 408, 409, 503) if this ends a request instead of carrying a message.
    pub status: Option<(u16, String)>,
    /// Headers in their order. A name may occur more than once.
    pub headers: Vec<(String, String)>,
    /// Syntax error in the headers, which a server forwards as the publisher wrote them. `headers` has the readable ones.
    pub fault: Option<&'static str>,
    /// Content.
    pub payload: Vec<u8>,
}

/// An operation that a server sends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NatsOperation {
    /// Description of the server and its requirements, in JSON.
    Info(String),
    /// A message.
    Message(Box<NatsMessage>),
    /// Answer with PONG.
    Ping,
    /// The answer to PING.
    Pong,
    /// The server rejects an operation and may close the connection.
    Error(String),
}

/// A violation of the protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// A line without an end.
    #[error("a line is longer than {LINE_BYTES_MAX} bytes")]
    LineTooLong,
    /// A line that is not text.
    #[error("a line is not UTF-8")]
    NotText,
    /// An operation with other arguments than the protocol has.
    #[error("an operation is unknown or has other arguments than expected")]
    Operation,
    /// A length beyond the limit.
    #[error("a message is longer than {PAYLOAD_BYTES_MAX} bytes")]
    TooLong,
    /// The line end after a payload is missing.
    #[error("a message does not end where its length says")]
    End,
}

/// Finds operations in a stream of bytes.
#[derive(Debug, Default)]
pub struct NatsParser {
    buffer: Vec<u8>,
    from: usize,
    /// Bytes from `from` on in which no line ends.
    searched: usize,
    /// Bytes from `from` on without which a step cannot succeed.
    needed: usize,
}

/// A line that announces a message.
struct Announced {
    message: NatsMessage,
    header_bytes: usize,
    bytes: usize,
}

impl NatsParser {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.from == self.buffer.len() {
            self.buffer.clear();
            self.from = 0;
        } else if self.from > LINE_BYTES_MAX {
            self.buffer.drain(..self.from);
            self.from = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next operation, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// The bytes violate the protocol. The connection cannot be used any longer.
    pub fn step(&mut self) -> Result<Option<NatsOperation>, ParseError> {
        loop {
            let rest = &self.buffer[self.from..];
            if rest.len() < self.needed {
                return Ok(None);
            }
            let Some(end) = rest[self.searched..].iter().position(|byte| *byte == b'\n') else {
                if rest.len() > LINE_BYTES_MAX {
                    return Err(ParseError::LineTooLong);
                }
                self.searched = rest.len();
                return Ok(None);
            };
            let end = self.searched + end;
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            let line = std::str::from_utf8(line).map_err(|_| ParseError::NotText)?;
            if let Some(announced) = announced(line)? {
                let whole = end + 1 + announced.bytes + 2;
                if rest.len() < whole {
                    // The line is found again at once when the payload is complete.
                    (self.needed, self.searched) = (whole, end);
                    return Ok(None);
                }
                let content = &rest[end + 1..whole];
                let message = complete(announced, content)?;
                self.take(whole);
                return Ok(Some(NatsOperation::Message(Box::new(message))));
            }
            let word = line.split([' ', '\t']).next().unwrap_or_default();
            let argument = line[word.len()..].trim();
            let operation = match word.to_ascii_uppercase().as_str() {
                "INFO" => Some(NatsOperation::Info(argument.to_owned())),
                "PING" => Some(NatsOperation::Ping),
                "PONG" => Some(NatsOperation::Pong),
                "-ERR" => Some(NatsOperation::Error(argument.trim_matches('\'').to_owned())),
                "+OK" => None,
                _ => return Err(ParseError::Operation),
            };
            self.take(end + 1);
            if operation.is_some() {
                return Ok(operation);
            }
        }
    }

    fn take(&mut self, bytes: usize) {
        self.from += bytes;
        (self.searched, self.needed) = (0, 0);
    }
}

/// Parses the line of MSG or HMSG.
fn announced(line: &str) -> Result<Option<Announced>, ParseError> {
    let mut words = line.split_ascii_whitespace();
    let has_headers = match words.next() {
        Some(word) if word.eq_ignore_ascii_case("MSG") => false,
        Some(word) if word.eq_ignore_ascii_case("HMSG") => true,
        _ => return Ok(None),
    };
    let words: Vec<&str> = words.collect();
    let numbers = if has_headers { 2 } else { 1 };
    let (reply, lengths) = match words.len().checked_sub(2 + numbers) {
        Some(0) => (None, &words[2..]),
        Some(1) => (Some(words[2].to_owned()), &words[3..]),
        _ => return Err(ParseError::Operation),
    };
    let number = |word: &str| word.parse::<usize>().map_err(|_| ParseError::Operation);
    let bytes = number(lengths[numbers - 1])?;
    let header_bytes = if has_headers { number(lengths[0])? } else { 0 };
    if bytes > PAYLOAD_BYTES_MAX {
        return Err(ParseError::TooLong);
    }
    if header_bytes > bytes {
        return Err(ParseError::Operation);
    }
    let subscription = words[1].parse().map_err(|_| ParseError::Operation)?;
    let message = NatsMessage { subject: words[0].to_owned(), subscription, reply, ..NatsMessage::default() };
    Ok(Some(Announced { message, header_bytes, bytes }))
}

/// Parses headers. A syntax error is the publisher's and affects this message only, so the connection stays open.
#[expect(clippy::disallowed_methods, reason = "a line with a character that was replaced is left out and is a fault")]
fn headers(bytes: &[u8], message: &mut NatsMessage) -> Result<(), &'static str> {
    let text = String::from_utf8_lossy(bytes);
    let mut fault = matches!(text, std::borrow::Cow::Owned(_)).then_some("its headers are not UTF-8");
    let mut lines = text.strip_suffix("\r\n\r\n").ok_or("its headers have no end")?.split("\r\n");
    let first =
        lines.next().and_then(|line| line.strip_prefix(HEADERS_VERSION)).ok_or("its headers have no version")?;
    let first = first.trim();
    if !first.is_empty() {
        let (code, text) = first.split_once(' ').unwrap_or((first, ""));
        message.status = Some((code.parse().map_err(|_| "its status is not a number")?, text.to_owned()));
    }
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            fault.get_or_insert("a header has no colon");
            continue;
        };
        if message.headers.len() == HEADERS_MAX {
            return Err("it has more than 256 headers");
        }
        if !line.contains(char::REPLACEMENT_CHARACTER) {
            message.headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    fault.map_or(Ok(()), Err)
}

fn complete(announced: Announced, content: &[u8]) -> Result<NatsMessage, ParseError> {
    let Announced { mut message, header_bytes, bytes } = announced;
    if &content[bytes..] != b"\r\n" {
        return Err(ParseError::End);
    }
    if header_bytes > 0 {
        message.fault = headers(&content[..header_bytes], &mut message).err();
    }
    message.payload = content[header_bytes..bytes].to_vec();
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"INFO {\"max_payload\":1048576}\r\n+OK\r\nPING\r\nMSG a.b 1 5\r\nhe\r\no\r\nmsg a 2 re.ply 0\r\n\r\n\
        HMSG s 2 $JS.ACK.x 20 22\r\nNATS/1.0\r\nA: b:c\r\n\r\nxy\r\nHMSG _I.p 2 26 26\r\nNATS/1.0 408 Timed Out\r\n\r\n\r\nPONG\r\n-ERR 'No'\r\n";

    fn all(parser: &mut NatsParser) -> Result<Vec<NatsOperation>, ParseError> {
        let mut found = Vec::new();
        while let Some(operation) = parser.step()? {
            found.push(operation);
        }
        Ok(found)
    }

    fn expected() -> Vec<NatsOperation> {
        let message = |subject: &str, subscription, reply: Option<&str>, payload: &[u8]| NatsMessage {
            subject: subject.to_owned(),
            subscription,
            reply: reply.map(str::to_owned),
            payload: payload.to_vec(),
            ..NatsMessage::default()
        };
        let boxed = |message| NatsOperation::Message(Box::new(message));
        vec![
            NatsOperation::Info("{\"max_payload\":1048576}".to_owned()),
            NatsOperation::Ping,
            boxed(message("a.b", 1, None, b"he\r\no")),
            boxed(message("a", 2, Some("re.ply"), b"")),
            boxed(NatsMessage {
                headers: vec![("A".to_owned(), "b:c".to_owned())],
                ..message("s", 2, Some("$JS.ACK.x"), b"xy")
            }),
            boxed(NatsMessage { status: Some((408, "Timed Out".to_owned())), ..message("_I.p", 2, None, b"") }),
            NatsOperation::Pong,
            NatsOperation::Error("No".to_owned()),
        ]
    }

    #[test]
    fn operations_are_found_whole_byte_by_byte_and_cut_anywhere() {
        let mut whole = NatsParser::default();
        whole.push(STREAM);
        assert_eq!(all(&mut whole), Ok(expected()));
        for cut in 0..STREAM.len() {
            let mut parser = NatsParser::default();
            let mut found = Vec::new();
            for part in [&STREAM[..cut], &STREAM[cut..]] {
                parser.push(part);
                found.extend(all(&mut parser).expect("operations"));
            }
            assert_eq!(found, expected(), "cut at {cut}");
        }
        let mut slow = NatsParser::default();
        let mut found = Vec::new();
        for byte in STREAM {
            slow.push(&[*byte]);
            found.extend(all(&mut slow).expect("operations"));
        }
        assert_eq!(found, expected());
    }

    /// A client may publish any bytes as headers. One such message blocked its stream for ever, because the connection was given up and opened again.
    #[test]
    fn bad_headers_are_a_fault_of_their_message_alone() {
        let many = format!("NATS/1.0\r\n{}\r\n", "A: b\r\n".repeat(257));
        for (headers, fault, read) in [
            (&b"NATS/1.0\r\nA: \xff\r\nB: c\r\n\r\n"[..], "its headers are not UTF-8", 1),
            (many.as_bytes(), "it has more than 256 headers", 256),
            (b"NATS/1.0\r\nA\r\nB: c\r\n\r\n", "a header has no colon", 1),
            (b"NATS/1.0 soon\r\n\r\n", "its status is not a number", 0),
            (b"NATS/1.0\r\nA: b", "its headers have no end", 0),
            (b"abcd", "its headers have no end", 0),
            (b"HTTP/1.1\r\n\r\n", "its headers have no version", 0),
        ] {
            let mut parser = NatsParser::default();
            let head = format!("HMSG a 1 r {} {}\r\n", headers.len(), headers.len() + 2);
            parser.push(&[head.as_bytes(), headers, b"xy\r\nPING\r\n"].concat());
            let found = all(&mut parser).expect("operations");
            let [NatsOperation::Message(message), NatsOperation::Ping] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((message.fault, message.headers.len()), (Some(fault), read));
            assert_eq!((message.payload.as_slice(), message.reply.as_deref()), (&b"xy"[..], Some("r")));
        }
    }

    #[test]
    fn what_is_not_of_the_protocol_is_refused_without_reading_on() {
        for (bytes, error) in [
            (b"HELLO\r\n".to_vec(), ParseError::Operation),
            (b"MSG a 1\r\n".to_vec(), ParseError::Operation),
            (b"MSG a b c d e\r\n".to_vec(), ParseError::Operation),
            (b"MSG a 1 99999999999\r\n".to_vec(), ParseError::TooLong),
            (b"MSG a 1 -1\r\n".to_vec(), ParseError::Operation),
            (b"HMSG a 1 9 4\r\n".to_vec(), ParseError::Operation),
            (b"MSG a 1 2\r\nabcd".to_vec(), ParseError::End),
            (b"\xff\r\n".to_vec(), ParseError::NotText),
            (vec![b'x'; LINE_BYTES_MAX + 1], ParseError::LineTooLong),
        ] {
            let mut parser = NatsParser::default();
            parser.push(&bytes);
            assert_eq!(parser.step(), Err(error));
        }
    }
}
