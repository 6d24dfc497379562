//! One run of one workload.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use quayline_meter::Histogram;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::CpuClock;
use crate::client::Client;

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each client waits so long behind an answer before it sends again.
    Think(Duration),
    /// Each client sends as soon as it has its answer: the server is saturated.
    NoPause,
    /// Requests are due so many a second, at random times, whether or not earlier ones are answered.
    Open(f64),
}

/// A workload.
#[derive(Clone, Debug)]
pub struct Load {
    /// Keep-alive connections; with open arrivals, the most at once.
    pub clients: usize,
    /// When they send.
    pub pace: Pace,
    /// Before anything is measured.
    pub warm_up: Duration,
    /// What is measured.
    pub time: Duration,
    /// Path and query.
    pub target: String,
}

/// What one run came to.
#[derive(Clone, Debug)]
pub struct Run {
    /// Answers with status 200 to 299.
    pub answers: u64,
    /// All others, and broken connections.
    pub failures: u64,
    /// Seconds.
    pub seconds: f64,
    /// Response times in microseconds.
    pub times_us: Histogram,
    /// CPU time of the server and its workers.
    pub cpu: Duration,
    /// Bytes of the last answer's body.
    pub body_bytes: usize,
    /// Resident bytes of server and workers at the end.
    pub resident_bytes: u64,
}

impl Run {
    /// Transactions a second.
    #[must_use]
    pub fn tps(&self) -> f64 {
        self.answers as f64 / self.seconds
    }

    /// CPU milliseconds a transaction: CPU time by interval, by rate, as the report calculates it.
    #[must_use]
    pub fn cpu_ms(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e3 / self.answers.max(1) as f64
    }

    /// A percentile of response time in milliseconds.
    #[must_use]
    pub fn ms(&self, percent: f64) -> f64 {
        self.times_us.percentile(percent).unwrap_or(0) as f64 / 1e3
    }

    /// Mean response time in milliseconds.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        self.times_us.mean().unwrap_or(0.0) / 1e3
    }
}

#[derive(Default)]
struct Tally {
    measuring: bool,
    answers: u64,
    failures: u64,
    times: Histogram,
    body_bytes: usize,
    over: bool,
}

impl Tally {
    fn note(&mut self, begun: Instant, reply: io::Result<crate::client::Reply>) {
        if !self.measuring {
            return;
        }
        match reply {
            Ok(reply) if (200..300).contains(&reply.status) => {
                self.answers += 1;
                self.body_bytes = reply.body_bytes;
                self.times.record(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
            }
            _ => self.failures += 1,
        }
    }
}

impl Load {
    /// Drives the server at `address`; `cpu` is its clock.
    ///
    /// # Errors
    /// A connection that cannot be made.
    pub fn run(&self, address: SocketAddr, cpu: &CpuClock) -> io::Result<Run> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, self.drive(address, cpu))
    }

    async fn drive(&self, address: SocketAddr, cpu: &CpuClock) -> io::Result<Run> {
        let request: Rc<[u8]> = format!("GET {} HTTP/1.1\r\nhost: {address}\r\n\r\n", self.target).into_bytes().into();
        let tally = Rc::new(RefCell::new(Tally::default()));
        let (due, arrivals) = mpsc::unbounded_channel::<Instant>();
        let arrivals = Rc::new(tokio::sync::Mutex::new(arrivals));
        for number in 0..self.clients {
            let mut client = Client::connect(address).await?;
            let (request, tally, arrivals) = (Rc::clone(&request), Rc::clone(&tally), Rc::clone(&arrivals));
            let pace = self.pace;
            // Clients begin one after another within a think time, as people do.
            let first = match pace {
                Pace::Think(think) => {
                    think * u32::try_from(number).unwrap_or(0) / u32::try_from(self.clients).unwrap_or(1)
                }
                _ => Duration::ZERO,
            };
            tokio::task::spawn_local(async move {
                tokio::time::sleep(first).await;
                while !tally.borrow().over {
                    let begun = match pace {
                        Pace::Open(_) => match arrivals.lock().await.recv().await {
                            Some(due) => due,
                            None => return,
                        },
                        _ => Instant::now(),
                    };
                    let reply = client.call(&request).await;
                    let broken = reply.is_err();
                    tally.borrow_mut().note(begun, reply);
                    if broken {
                        match Client::connect(address).await {
                            Ok(new) => client = new,
                            Err(_) => return,
                        }
                    }
                    if let Pace::Think(think) = pace {
                        tokio::time::sleep(think).await;
                    }
                }
            });
        }
        if let Pace::Open(rate) = self.pace {
            let tally = Rc::clone(&tally);
            tokio::task::spawn_local(async move {
                let mut at = Instant::now();
                let mut seed = 0x9e37_79b9_7f4a_7c15u64;
                while !tally.borrow().over {
                    seed ^= seed << 13;
                    seed ^= seed >> 7;
                    seed ^= seed << 17;
                    let uniform = ((seed >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
                    at += Duration::from_secs_f64(-uniform.ln() / rate);
                    tokio::time::sleep_until(at.into()).await;
                    let _ = due.send(at);
                }
            });
        }
        tokio::time::sleep(self.warm_up).await;
        let (began, cpu_before) = (Instant::now(), cpu.read());
        tally.borrow_mut().measuring = true;
        tokio::time::sleep(self.time).await;
        let (seconds, cpu_after) = (began.elapsed().as_secs_f64(), cpu.read());
        let mut tally = tally.borrow_mut();
        tally.over = true;
        Ok(Run {
            answers: tally.answers,
            failures: tally.failures,
            seconds,
            times_us: core::mem::take(&mut tally.times),
            cpu: cpu_after.saturating_sub(cpu_before),
            body_bytes: tally.body_bytes,
            resident_bytes: cpu.resident_bytes(),
        })
    }
}
