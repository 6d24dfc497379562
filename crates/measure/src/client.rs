//! A client of HTTP/1.1 over one keep-alive connection: no more than a workload needs, so that the driver costs little.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
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
        Ok(Client { stream, buffer: vec![0; 128 << 10] })
    }

    /// Sends a request and reads its whole answer.
    pub(crate) async fn call(&mut self, request: &[u8]) -> io::Result<Reply> {
        self.stream.write_all(request).await?;
        let mut have = 0;
        let (head, status, length) = loop {
            have += self.read(have).await?;
            if let Some(head) = find(&self.buffer[..have], b"\r\n\r\n") {
                let text = core::str::from_utf8(&self.buffer[..head]).map_err(|_| io::ErrorKind::InvalidData)?;
                let status = text.get(9..12).and_then(|s| s.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
                let length = text.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
                });
                break (head + 4, status, length.unwrap_or(0));
            }
        };
        let mut left = (head + length).saturating_sub(have);
        while left > 0 {
            left = left.saturating_sub(self.read(0).await?);
        }
        Ok(Reply { status, body_bytes: length })
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
