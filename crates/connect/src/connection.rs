//! The I/O of one connection: one loop that reads, writes, and receives the outcomes of commits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_amqp::{AmqpError, condition};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;

use crate::client::{Client, End, Shared};
use crate::facts::count;

/// Bytes that one read may bring.
const READ_BYTES: usize = 64 << 10;
/// Milliseconds that a peer may take to answer a close.
const CLOSE_MS: u64 = 2_000;
/// Milliseconds that a stopping server waits for the commits of a connection, so that the client learns their outcomes.
const COMMITS_MS: u64 = 5_000;

/// A clock that only goes forward.
#[derive(Clone, Copy, Debug)]
struct Since(Instant);

impl Since {
    fn ms(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// The event that woke the loop.
enum Woken {
    Read(std::io::Result<usize>),
    Wrote(std::io::Result<usize>),
    News,
    Time,
    Stop,
}

/// Serves one connection until it ends.
pub(crate) async fn serve<S>(
    shared: Arc<Shared>,
    stream: S,
    is_encrypted: bool,
    certificate: Option<Vec<u8>>,
    began: Instant,
    mut stopped: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut client = Client::new(Arc::clone(&shared), is_encrypted, certificate);
    exchange(&shared, &mut client, stream, Since(began), &mut stopped).await;
    client.finish();
}

async fn exchange<S>(shared: &Shared, client: &mut Client, stream: S, clock: Since, stopped: &mut watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let limits = shared.settings.limits;
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut input: Vec<u8> = Vec::new();
    let mailbox = Arc::clone(&client.mailbox);
    let mut progress_ms = clock.ms();
    let mut closing_ms = None;
    let mut forced_ms = None;
    if *stopped.borrow() {
        return;
    }
    loop {
        client.signals(clock.ms());
        // A server that stops takes nothing new, but it hears the answer to its close.
        let may_take = !client.is_stopping || client.endpoint.is_closing();
        if may_take {
            let taken = client.receive(&input, clock.ms());
            input.drain(..taken);
        }
        if client.is_starved {
            client.serve_all();
            client.commit_batch();
        }
        let now_ms = clock.ms();
        let mut wake_ms = client.tick(now_ms);
        client.commit_batch();
        if client.is_stopping && !client.endpoint.is_closing() && !client.endpoint.is_finished() {
            let end_ms = *forced_ms.get_or_insert(now_ms + COMMITS_MS);
            if client.in_flight == 0 || now_ms >= end_ms {
                client.endpoint.close(AmqpError::new(condition::CONNECTION_FORCED, "the server stops"));
                client.signals(now_ms);
                // No attempt failed: the messages return unchanged.
                client.end = End::Closed;
            } else {
                wake_ms = wake_ms.min(end_ms);
            }
        }
        if client.endpoint.is_closing() {
            let end_ms = *closing_ms.get_or_insert(now_ms + CLOSE_MS);
            if now_ms >= end_ms {
                return;
            }
            wake_ms = wake_ms.min(end_ms);
        } else if !client.endpoint.is_open() && !client.endpoint.is_finished() {
            if now_ms >= limits.handshake_ms {
                count(&shared.counters.refused);
                return;
            }
            wake_ms = wake_ms.min(limits.handshake_ms);
        }
        let may_read = client.may_read() && (!client.is_stopping || client.endpoint.is_closing());
        let is_finished = client.endpoint.is_finished();
        let output = client.endpoint.output();
        let has_output = !output.is_empty();
        if is_finished && !has_output {
            let _ = writer.shutdown().await;
            return;
        }
        if has_output {
            if now_ms.saturating_sub(progress_ms) >= limits.write_ms {
                return;
            }
            wake_ms = wake_ms.min(progress_ms + limits.write_ms);
        } else {
            progress_ms = now_ms;
        }
        if input.capacity() - input.len() < READ_BYTES / 2 {
            input.reserve(READ_BYTES);
        }
        let sleep = tokio::time::sleep(Duration::from_millis(wake_ms.saturating_sub(now_ms).clamp(1, 600_000)));
        let woken = tokio::select! {
            biased;
            wrote = writer.write(output), if has_output => Woken::Wrote(wrote),
            () = mailbox.notify.notified() => Woken::News,
            read = reader.read_buf(&mut input), if may_read && !is_finished => Woken::Read(read),
            _ = stopped.changed(), if !client.is_stopping => Woken::Stop,
            () = sleep => Woken::Time,
        };
        match woken {
            Woken::Wrote(Ok(count)) if count > 0 => {
                client.endpoint.written(count);
                progress_ms = clock.ms();
                let _ = writer.flush().await;
            }
            Woken::Wrote(_) | Woken::Read(Err(_) | Ok(0)) => return,
            Woken::Stop => client.is_stopping = true,
            Woken::Read(Ok(_)) | Woken::News | Woken::Time => {}
        }
    }
}
