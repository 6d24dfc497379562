//! A connection that delays bytes and ends at random: servers deliver again what was on its way, later and in another order.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A proxy on a port of this machine. It ends with the test's process.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    cuts: Arc<AtomicU32>,
}

fn next(seed: &mut u32) -> u32 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *seed >> 8
}

/// Passes bytes on until a random one, which may be within a message.
fn pass(mut from: TcpStream, mut to: TcpStream, mut seed: u32, cuts: &AtomicU32) {
    let mut left = 2_000 + next(&mut seed) as usize % 40_000;
    let mut bytes = [0; 4_096];
    while left > 0 {
        let Ok(count @ 1..) = from.read(&mut bytes) else { break };
        std::thread::sleep(Duration::from_micros(u64::from(next(&mut seed) % 4_000)));
        let count = count.min(left);
        left -= count;
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    cuts.fetch_add(u32::from(left == 0), Ordering::Relaxed);
    // One side may have gone already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

impl Proxy {
    pub(crate) fn to(target: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let cuts: Arc<AtomicU32> = Arc::default();
        let counted = Arc::clone(&cuts);
        std::thread::spawn(move || {
            let mut seed = 0xde1a_u32;
            for stream in listener.incoming() {
                let (Ok(client), Ok(server)) = (stream, TcpStream::connect(("127.0.0.1", target))) else { continue };
                let again = |stream: &TcpStream| stream.try_clone().expect("a stream");
                for (from, to) in [(again(&client), again(&server)), (server, client)] {
                    let (seed, counted) = (next(&mut seed), Arc::clone(&counted));
                    std::thread::spawn(move || pass(from, to, seed, &counted));
                }
            }
        });
        Proxy { port, cuts }
    }

    /// Number of connections that it ended.
    pub(crate) fn cuts(&self) -> u32 {
        self.cuts.load(Ordering::Relaxed)
    }
}
