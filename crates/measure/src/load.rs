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
use crate::instructions::{Counter, Instructions};

/// Times at which requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each client waits this long after an answer before it sends again.
    Think(Duration),
    /// Each client sends as soon as it has its answer: the server is saturated.
    NoPause,
    /// This many requests are due each second, at random times, whether or not earlier ones are answered.
    Open(f64),
}

/// A workload.
#[derive(Clone, Debug)]
pub struct Load {
    /// Keep-alive connections; with open arrivals, the most at once.
    pub clients: usize,
    /// Times at which the clients send.
    pub pace: Pace,
    /// Time before the measurement.
    pub warm_up: Duration,
    /// Measured time.
    pub time: Duration,
    /// Time after the measurement in which instructions are counted; zero for none.
    pub count: Duration,
    /// Path and query.
    pub target: String,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Answers with status 200 to 299 that came within the measured time.
    pub answers: u64,
    /// All other answers, broken connections, and requests that were due and never answered.
    pub failures: u64,
    /// Seconds.
    pub seconds: f64,
    /// Response times in microseconds of the requests that were due within the measured time, however late their answers came.
    pub times_us: Histogram,
    /// Service times of the same requests in microseconds, from sending to the answer. With open arrivals, a slow server delays the sending of
    /// requests, so these times hide a part of the clients' waits.
    pub services_us: Histogram,
    /// CPU time of the server and its workers.
    pub cpu: Duration,
    /// CPU time of the workers alone.
    pub cpu_workers: Duration,
    /// Instructions of server and workers, and the number of answers counted, if counting is possible.
    pub instructions: Option<(Instructions, u64)>,
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

    /// Returns the CPU time per transaction in milliseconds: CPU time divided by answers, as IBM's report calculates it.
    #[must_use]
    pub fn cpu_ms(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e3 / self.answers.max(1) as f64
    }

    /// Returns the CPU time per transaction in microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.cpu_ms() * 1e3
    }

    /// Returns the CPU time of the server without its program workers, per transaction, in microseconds.
    #[must_use]
    pub fn server_us(&self) -> f64 {
        self.cpu.saturating_sub(self.cpu_workers).as_secs_f64() * 1e6 / self.answers.max(1) as f64
    }

    /// Returns the CPU utilization as a percentage of one core.
    #[must_use]
    pub fn busy_percent(&self) -> f64 {
        self.cpu.as_secs_f64() / self.seconds * 100.0
    }

    /// Thousands of instructions a transaction.
    #[must_use]
    pub fn kilo_instructions(&self) -> Option<f64> {
        let (instructions, answers) = self.instructions?;
        Some(instructions.all() as f64 / 1e3 / answers.max(1) as f64)
    }

    /// Returns a percentile of the response time in milliseconds.
    #[must_use]
    pub fn ms(&self, percent: f64) -> f64 {
        self.times_us.percentile(percent).unwrap_or(0) as f64 / 1e3
    }

    /// Returns a percentile of the service time in milliseconds: from sending the request to its answer.
    #[must_use]
    pub fn service_ms(&self, percent: f64) -> f64 {
        self.services_us.percentile(percent).unwrap_or(0) as f64 / 1e3
    }

    /// Returns the mean response time in milliseconds.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        self.times_us.mean().unwrap_or(0.0) / 1e3
    }
}

#[derive(Default)]
struct Tally {
    /// Begin of the measured time; the field below has its end.
    from: Option<Instant>,
    to: Option<Instant>,
    /// Whether clients end.
    over: bool,
    /// Good answers, whenever they came.
    all: u64,
    answers: u64,
    failures: u64,
    times: Histogram,
    services: Histogram,
    body_bytes: usize,
    /// Requests that were due within the measured time and are not answered yet.
    owed: u64,
}

impl Tally {
    fn is_measured(&self, at: Instant) -> bool {
        self.from.is_some_and(|from| at >= from) && self.to.is_none_or(|to| at < to)
    }

    /// Counts a request that is due. Its response time starts now, even if it cannot be sent yet.
    fn due(&mut self, at: Instant) {
        self.owed += u64::from(self.is_measured(at));
    }

    fn answered(&mut self, (due, sent): (Instant, Instant), reply: &io::Result<crate::client::Reply>) {
        let now = Instant::now();
        let good = match reply {
            Ok(reply) if (200..300).contains(&reply.status) => Some(reply.body_bytes),
            _ => None,
        };
        self.all += u64::from(good.is_some());
        if self.is_measured(now) {
            self.answers += u64::from(good.is_some());
        }
        if !self.is_measured(due) {
            return;
        }
        self.owed = self.owed.saturating_sub(1);
        match good {
            Some(bytes) => {
                self.body_bytes = bytes;
                let us = |since: Instant| u64::try_from((now - since).as_micros()).unwrap_or(u64::MAX);
                self.times.record(us(due));
                self.services.record(us(sent));
            }
            None => self.failures += 1,
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
                until(Instant::now() + first).await;
                loop {
                    let due = match pace {
                        // Noted as due when it was; it may have waited for a connection since.
                        Pace::Open(_) => match arrivals.lock().await.recv().await {
                            Some(due) => due,
                            None => return,
                        },
                        _ if tally.borrow().over => return,
                        _ => {
                            let now = Instant::now();
                            tally.borrow_mut().due(now);
                            now
                        }
                    };
                    let sent = Instant::now();
                    let reply = client.call(&request).await;
                    let broken = reply.is_err();
                    tally.borrow_mut().answered((due, sent), &reply);
                    if broken {
                        match Client::connect(address).await {
                            Ok(new) => client = new,
                            Err(_) => return,
                        }
                    }
                    if let Pace::Think(think) = pace {
                        until(Instant::now() + think).await;
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
                    until(at).await;
                    tally.borrow_mut().due(at);
                    let _ = due.send(at);
                }
            });
        }
        // Whoever answers a client that sleeps has to wake it, and pays for that; whether clients sleep depends on how many there are and who is
        // faster, not on what an answer costs. So the thread of these never does.
        let awake = Rc::clone(&tally);
        tokio::task::spawn_local(async move {
            while !awake.borrow().over {
                tokio::task::yield_now().await;
            }
        });
        tokio::time::sleep(self.warm_up).await;
        let (began, cpu_before, workers_before) = (Instant::now(), cpu.read(), cpu.read_children());
        tally.borrow_mut().from = Some(began);
        tokio::time::sleep(self.time).await;
        // Where the machine gave this process no time at all, the measured time goes on until it has something to tell.
        while tally.borrow().answers == 0 && began.elapsed() < self.time + LATEST {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let end = Instant::now();
        let (seconds, cpu_after, workers_after) = ((end - began).as_secs_f64(), cpu.read(), cpu.read_children());
        tally.borrow_mut().to = Some(end);
        let instructions = self.count(cpu, &tally).await;
        tally.borrow_mut().over = true;
        // What was due is waited for: a server that stands still must not shorten its own times.
        while tally.borrow().owed > 0 && end.elapsed() < LATEST {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut tally = tally.borrow_mut();
        Ok(Run {
            answers: tally.answers,
            failures: tally.failures + tally.owed,
            seconds,
            times_us: core::mem::take(&mut tally.times),
            services_us: core::mem::take(&mut tally.services),
            cpu: cpu_after.saturating_sub(cpu_before),
            cpu_workers: workers_after.saturating_sub(workers_before),
            instructions,
            body_bytes: tally.body_bytes,
            resident_bytes: cpu.resident_bytes(),
        })
    }
}

impl Load {
    /// Counts instructions after the measured time, because context switches take many times longer while perf counts.
    async fn count(&self, cpu: &CpuClock, tally: &RefCell<Tally>) -> Option<(Instructions, u64)> {
        if self.count.is_zero() {
            return None;
        }
        let mut counter = Counter::attach(cpu.ids())?;
        // Clients have waited while it was attached.
        tokio::time::sleep(self.count / 4).await;
        counter.begin()?;
        let before = tally.borrow().all;
        tokio::time::sleep(self.count).await;
        let answers = tally.borrow().all - before;
        Some((counter.end()?, answers))
    }
}

/// Waits until a moment, to the microsecond: timers of the runtime go by milliseconds, so that requests which are due one by one would come in
/// bunches, the more so the more there are, and late.
pub(crate) async fn until(at: Instant) {
    if let Some(before) = at.checked_sub(TIMER) {
        tokio::time::sleep_until(before.into()).await;
    }
    while Instant::now() < at {
        tokio::task::yield_now().await;
    }
}

/// More than the runtime's timers are late.
const TIMER: Duration = Duration::from_millis(3);

/// Maximum wait for answers after the measured time.
const LATEST: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a server on a separate thread that answers at once, and stops for `pause` after running for `after`.
    fn server(after: Duration, pause: Duration) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::task::spawn_local(async move {
                    tokio::time::sleep(after).await;
                    std::thread::sleep(pause);
                });
                while let Ok((mut stream, _)) = listener.accept().await {
                    tokio::task::spawn_local(async move {
                        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                        let mut buffer = [0; 1024];
                        while stream.read(&mut buffer).await.is_ok_and(|n| n > 0) {
                            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
                        }
                    });
                }
            });
        });
        address
    }

    fn load(pace: Pace, clients: usize) -> Run {
        let address = server(Duration::from_millis(700), Duration::from_millis(800));
        let load = Load {
            clients,
            pace,
            warm_up: Duration::from_millis(200),
            count: Duration::ZERO,
            time: Duration::from_millis(1800),
            target: "/".to_owned(),
        };
        load.run(address, &CpuClock::of_family(std::process::id())).unwrap()
    }

    /// Of a second and a half at 400 a second, 320 are due while the server stands still, with at most 4 on their way: if only those counted
    /// that were sent, 4 late answers in 600 would leave the 98th percentile untouched.
    #[test]
    fn a_server_that_stands_still_is_late_for_all_that_were_due() {
        let run = load(Pace::Open(400.0), 4);
        assert_eq!(run.failures, 0);
        assert!((500..=950).contains(&run.times_us.count()), "{}", run.times_us.count());
        // Those due at the pause's begin wait 800 ms, those at its end not at all, evenly between.
        assert!(run.ms(70.0) > 50.0, "p70 {} ms", run.ms(70.0));
        assert!(run.ms(98.0) > 600.0, "p98 {} ms", run.ms(98.0));
        assert!(run.mean_ms() > 80.0, "mean {} ms", run.mean_ms());
        // Only those that were on their way show it from when they were sent.
        assert!(run.service_ms(98.0) < 100.0 && run.service_ms(100.0) > 600.0, "p98 {} ms", run.service_ms(98.0));
        // A closed loop of the same clients sees four late answers among thousands: that is what the open arrivals are for.
        let closed = load(Pace::NoPause, 4);
        assert!(closed.ms(98.0) < 100.0 && closed.ms(100.0) > 600.0, "p98 {} ms", closed.ms(98.0));
    }

    /// What is due is counted although its answer comes behind the measured time.
    #[test]
    fn answers_behind_the_end_count_with_their_whole_time() {
        let address = server(Duration::from_millis(400), Duration::from_millis(1500));
        let load = Load {
            clients: 2,
            pace: Pace::Open(100.0),
            warm_up: Duration::from_millis(100),
            count: Duration::ZERO,
            time: Duration::from_millis(1000),
            target: "/".to_owned(),
        };
        let run = load.run(address, &CpuClock::of_family(std::process::id())).unwrap();
        // About 30 before the pause, about 70 in it, none of which is answered within the time.
        assert!(
            run.answers < run.times_us.count() && run.times_us.count() > 60,
            "{} {}",
            run.answers,
            run.times_us.count()
        );
        assert!(run.failures == 0 && run.ms(50.0) > 300.0, "{} p50 {} ms", run.failures, run.ms(50.0));
    }
}
