//! A client of HTTP/1.1 over one keep-alive connection: no more than a workload needs, so that the driver costs little.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    address: SocketAddr,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are not used yet.
    at: usize,
    have: usize,
    /// True if the last answer ended the connection.
    is_over: bool,
}

/// Longest line of a body in chunks.
const LINE_BYTES_MAX: usize = 16 << 10;

/// End of a body (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Length {
    Bytes(usize),
    Chunked,
    /// The end of the connection.
    ToEnd,
}

impl Length {
    fn of(head: &str, is_head: bool, status: u16) -> io::Result<Length> {
        if is_head || matches!(status, 100..200 | 204 | 304) {
            return Ok(Length::Bytes(0));
        }
        if let Some(codings) = header(head, "transfer-encoding") {
            let last = codings.rsplit(',').next().unwrap_or_default().trim();
            return Ok(if last.eq_ignore_ascii_case("chunked") { Length::Chunked } else { Length::ToEnd });
        }
        match header(head, "content-length") {
            Some(length) => length.parse().map(Length::Bytes).map_err(|_| io::ErrorKind::InvalidData.into()),
            None => Ok(Length::ToEnd),
        }
    }
}

/// Returns the value of a header.
fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn closes(head: &str) -> bool {
    let options = header(head, "connection").unwrap_or_default();
    options.split(',').any(|option| option.trim().eq_ignore_ascii_case("close"))
}

/// Answer of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body_bytes: usize,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Client { stream, address, buffer: vec![0; 128 << 10], at: 0, have: 0, is_over: false })
    }

    /// Sends a request and reads its whole answer. Connects again after an answer that ended the connection.
    pub(crate) async fn call(&mut self, request: &[u8]) -> io::Result<Reply> {
        if self.is_over {
            *self = Client::connect(self.address).await?;
        }
        self.stream.write_all(request).await?;
        (self.at, self.have) = (0, 0);
        let is_head = request.starts_with(b"HEAD ");
        let (status, length) = loop {
            let Some(head) = find(&self.buffer[..self.have], b"\r\n\r\n") else {
                self.have += self.read(self.have).await?;
                continue;
            };
            let text = core::str::from_utf8(&self.buffer[..head]).map_err(|_| io::ErrorKind::InvalidData)?;
            let status = text.get(9..12).and_then(|s| s.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
            let length = Length::of(text, is_head, status)?;
            if (100..200).contains(&status) {
                // The final answer follows.
                self.buffer.copy_within(head + 4..self.have, 0);
                self.have -= head + 4;
                continue;
            }
            self.is_over = length == Length::ToEnd || closes(text);
            self.at = head + 4;
            break (status, length);
        };
        let body_bytes = match length {
            Length::Bytes(length) => {
                self.skip(length).await?;
                length
            }
            Length::Chunked => self.chunks().await?,
            Length::ToEnd => self.rest().await?,
        };
        Ok(Reply { status, body_bytes })
    }

    /// Reads on when everything read so far is used.
    async fn fill(&mut self) -> io::Result<()> {
        if self.at == self.have {
            self.have = self.read(0).await?;
            self.at = 0;
        }
        Ok(())
    }

    async fn skip(&mut self, mut count: usize) -> io::Result<()> {
        while count > 0 {
            self.fill().await?;
            let part = count.min(self.have - self.at);
            self.at += part;
            count -= part;
        }
        Ok(())
    }

    async fn rest(&mut self) -> io::Result<usize> {
        let mut bytes = self.have - self.at;
        loop {
            match self.read(0).await {
                Ok(count) => bytes += count,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(bytes),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a line without its end.
    async fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            self.fill().await?;
            let rest = &self.buffer[self.at..self.have];
            let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
            line.extend_from_slice(&rest[..end]);
            self.at += end;
            if line.len() > LINE_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        line.truncate(line.trim_ascii_end().len());
        Ok(line)
    }

    /// Reads a body in chunks and its trailers (RFC 9112, section 7.1). Returns the bytes of its content.
    async fn chunks(&mut self) -> io::Result<usize> {
        let mut bytes = 0usize;
        loop {
            let line = self.line().await?;
            let size = line.split(|byte| *byte == b';').next().and_then(|size| core::str::from_utf8(size).ok());
            let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
            let size = size.ok_or(io::ErrorKind::InvalidData)?;
            if size == 0 {
                break;
            }
            self.skip(size).await?;
            bytes = bytes.saturating_add(size);
            if !self.line().await?.is_empty() {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        while !self.line().await?.is_empty() {}
        Ok(bytes)
    }

    /// Sends a request and returns the status and the body of the response.
    pub(crate) async fn fetch(&mut self, request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        self.stream.write_all(request).await?;
        let mut bytes = Vec::new();
        loop {
            let read = self.read(0).await?;
            bytes.extend_from_slice(&self.buffer[..read]);
            if let Some(head) = find(&bytes, b"\r\n\r\n") {
                let text = core::str::from_utf8(&bytes[..head]).unwrap_or_default().to_ascii_lowercase();
                let length =
                    text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
                let end = head + 4 + length.unwrap_or(0);
                if bytes.len() >= end {
                    let status = text.get(9..12).and_then(|s| s.parse().ok()).unwrap_or(0);
                    return Ok((status, bytes[head + 4..end].to_vec()));
                }
            }
        }
    }

    async fn read(&mut self, at: usize) -> io::Result<usize> {
        match self.stream.read(&mut self.buffer[at..]).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(n),
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Regression: an answer to HEAD and one in chunks hung or broke the next answer.
    #[test]
    fn answers_end_as_their_heads_say() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let cases = [
            ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", 200, 0),
            ("GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, 0),
            ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n", 304, 0),
            ("PUT", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nab", 201, 2),
            (
                "GET",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: x\r\n\r\n",
                200,
                19,
            ),
            ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", 200, 3),
            ("GET", "HTTP/1.1 200 OK\r\n\r\nto the end", 200, 10),
            ("GET", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, 0),
        ];
        let answers = cases.map(|(_, answer, ..)| answer);
        let server = std::thread::spawn(move || {
            let mut answers = answers.into_iter().peekable();
            while answers.peek().is_some() {
                let (mut stream, _) = listener.accept().unwrap();
                for answer in answers.by_ref() {
                    let mut request = [0; 100];
                    let _ = stream.read(&mut request).unwrap();
                    // In pieces, so that each boundary is inside a read.
                    for part in answer.as_bytes().chunks(7) {
                        stream.write_all(part).unwrap();
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    if answer.contains("close") || answer.ends_with("end") {
                        break;
                    }
                }
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = Client::connect(address).await.unwrap();
            for (method, answer, status, bytes) in cases {
                let request = format!("{method} / HTTP/1.1\r\n\r\n");
                let call = client.call(request.as_bytes());
                let reply = tokio::time::timeout(std::time::Duration::from_secs(5), call).await;
                let reply = reply.expect(answer).expect(answer);
                assert_eq!((reply.status, reply.body_bytes), (status, bytes), "{answer}");
            }
        });
        server.join().unwrap();
    }
}
