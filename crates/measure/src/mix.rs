//! A mix: several classes of virtual users at once, each with a script of weighted steps, against a server that already runs.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use quayline_meter::Histogram;
use quayline_report::{Cell, Column, Picture, Report, Section, Table, Verdict};
use tokio::task::LocalSet;

use crate::CpuClock;
use crate::client::Client;

/// Most virtual users of all classes: each has a connection.
pub const MIX_USERS_MAX: u32 = 10_000;
/// Maximum wait for answers after the measured time.
const LATEST: Duration = Duration::from_secs(10);
/// Pause after a connection that broke.
const BROKEN_PAUSE: Duration = Duration::from_millis(20);

/// A mix.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Address of the server.
    pub address: SocketAddr,
    /// Header lines of every request, each with its line end.
    pub headers: String,
    /// Classes, which run at once.
    pub classes: Vec<MixClass>,
    /// Time before anything is measured.
    pub warm_up: Duration,
    /// Time that is measured.
    pub time: Duration,
    /// The process of the server, for its CPU time.
    pub process: Option<u32>,
}

/// A class of virtual users.
#[derive(Clone, Debug)]
pub struct MixClass {
    /// Name of the class.
    pub name: String,
    /// Users.
    pub users: u32,
    /// Mean of the exponential think time between an answer and the next request.
    pub think: Duration,
    /// Whether a user takes the steps in their order; otherwise by weight at random.
    pub in_turn: bool,
    /// Steps.
    pub steps: Vec<MixStep>,
}

/// A request of a class.
#[derive(Clone, Debug)]
pub struct MixStep {
    /// Name of the step.
    pub name: String,
    /// Weight relative to the other steps of the class.
    pub weight: f64,
    /// Method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Type of the body; none without a body.
    pub content_type: Option<String>,
    /// Body.
    pub body: Vec<u8>,
}

/// Result of one step.
#[derive(Clone, Debug, Default)]
pub struct MixTally {
    /// Answers with a status of 200 to 299.
    pub answers: u64,
    /// Other answers, broken connections, and requests that were never answered.
    pub failures: u64,
    /// Response times in microseconds.
    pub times_us: Histogram,
}

/// Result of a mix.
#[derive(Clone, Debug)]
pub struct MixRun {
    mix: Mix,
    /// Measured seconds.
    pub seconds: f64,
    /// Tallies by class and step.
    pub tallies: Vec<Vec<MixTally>>,
    /// CPU time of the server, if its process is known.
    pub cpu: Option<Duration>,
}

struct State {
    from: Option<Instant>,
    to: Option<Instant>,
    over: bool,
    owed: u64,
    tallies: Vec<Vec<MixTally>>,
}

impl State {
    fn is_measured(&self, at: Instant) -> bool {
        self.from.is_some_and(|from| at >= from) && self.to.is_none_or(|to| at < to)
    }
}

impl Mix {
    /// Runs the mix.
    ///
    /// # Errors
    /// A connection that cannot be made at the begin.
    pub fn run(&self) -> io::Result<MixRun> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, self.drive())
    }

    async fn drive(&self) -> io::Result<MixRun> {
        let tallies = self.classes.iter().map(|class| vec![MixTally::default(); class.steps.len()]).collect();
        let state = Rc::new(RefCell::new(State { from: None, to: None, over: false, owed: 0, tallies }));
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        for (at, class) in self.classes.iter().enumerate() {
            let requests: Rc<Vec<Vec<u8>>> = Rc::new(class.steps.iter().map(|step| self.request(step)).collect());
            for _ in 0..class.users {
                let client = Client::connect(self.address).await?;
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let user = User {
                    address: self.address,
                    class: class.clone(),
                    at,
                    requests: Rc::clone(&requests),
                    state: Rc::clone(&state),
                    random: Random(seed | 1),
                };
                tokio::task::spawn_local(user.run(client));
            }
        }
        let clock = self.process.map(CpuClock::of_family);
        let cpu = || clock.as_ref().map(CpuClock::read);
        tokio::time::sleep(self.warm_up).await;
        let (began, before) = (Instant::now(), cpu());
        state.borrow_mut().from = Some(began);
        tokio::time::sleep(self.time).await;
        let (end, after) = (Instant::now(), cpu());
        {
            let mut state = state.borrow_mut();
            state.to = Some(end);
            state.over = true;
        }
        // What was sent in time counts, however late its answer comes.
        while state.borrow().owed > 0 && end.elapsed() < LATEST {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let mut state = state.borrow_mut();
        Ok(MixRun {
            mix: self.clone(),
            seconds: (end - began).as_secs_f64(),
            tallies: core::mem::take(&mut state.tallies),
            cpu: after.zip(before).map(|(after, before)| after.saturating_sub(before)),
        })
    }

    fn request(&self, step: &MixStep) -> Vec<u8> {
        let kind = step.content_type.as_ref().map_or_else(String::new, |kind| format!("content-type: {kind}\r\n"));
        let head = format!(
            "{} {} HTTP/1.1\r\nhost: {}\r\n{}{kind}content-length: {}\r\n\r\n",
            step.method,
            step.target,
            self.address,
            self.headers,
            step.body.len()
        );
        [head.as_bytes(), &step.body].concat()
    }
}

/// Numbers without a pattern that are the same in each run.
struct Random(u64);

impl Random {
    /// Returns a number above 0 and at most 1 (xorshift).
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }
}

struct User {
    address: SocketAddr,
    class: MixClass,
    at: usize,
    requests: Rc<Vec<Vec<u8>>>,
    state: Rc<RefCell<State>>,
    random: Random,
}

impl User {
    async fn run(mut self, client: Client) {
        let mut client = Some(client);
        let mut turn = 0;
        // Users do not begin all at once.
        self.pause().await;
        while !self.state.borrow().over {
            let step = self.next(&mut turn);
            let sent = Instant::now();
            let measured = self.state.borrow().is_measured(sent);
            self.state.borrow_mut().owed += u64::from(measured);
            let reply = match &mut client {
                Some(client) => client.call(&self.requests[step]).await.map(|reply| reply.status),
                None => Err(io::ErrorKind::NotConnected.into()),
            };
            if reply.is_err() {
                client = Client::connect(self.address).await.ok();
                if client.is_none() {
                    tokio::time::sleep(BROKEN_PAUSE).await;
                }
            }
            if measured {
                let mut state = self.state.borrow_mut();
                state.owed -= 1;
                let tally = &mut state.tallies[self.at][step];
                if reply.is_ok_and(|status| (200..300).contains(&status)) {
                    tally.answers += 1;
                    tally.times_us.record(u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX));
                } else {
                    tally.failures += 1;
                }
            }
            self.pause().await;
        }
    }

    fn next(&mut self, turn: &mut usize) -> usize {
        if self.class.in_turn {
            let step = *turn % self.requests.len();
            *turn += 1;
            return step;
        }
        let all: f64 = self.class.steps.iter().map(|step| step.weight).sum();
        let mut left = self.random.uniform() * all;
        for (at, step) in self.class.steps.iter().enumerate() {
            left -= step.weight;
            if left <= 0.0 {
                return at;
            }
        }
        self.class.steps.len() - 1
    }

    async fn pause(&mut self) {
        let think = self.class.think.mul_f64(-self.random.uniform().ln());
        if think.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(think).await;
        }
    }
}

impl MixRun {
    /// Answers and failures of all classes.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let all = || self.tallies.iter().flatten();
        (all().map(|tally| tally.answers).sum(), all().map(|tally| tally.failures).sum())
    }

    /// Builds the report of kind `mix`.
    #[must_use]
    pub fn report(&self) -> Report {
        let (answers, failures) = self.counts();
        let users: u32 = self.mix.classes.iter().map(|class| class.users).sum();
        let cpu = self.cpu.map_or_else(String::new, |cpu| {
            format!(" The server took {:.1} µs of CPU time for each.", cpu.as_secs_f64() * 1e6 / answers.max(1) as f64)
        });
        let classes: Vec<String> =
            self.mix.classes.iter().map(|class| format!("{} {}", class.users, class.name)).collect();
        Report {
            kind: "mix".to_owned(),
            title: "Mix of virtual users".to_owned(),
            verdict: if failures > 0 { Verdict::ObjectiveMissed } else { Verdict::Good },
            summary: format!(
                "{users} users, {:.1} answers a second, {failures} failures.{cpu}",
                answers as f64 / self.seconds
            ),
            conditions: vec![("users".to_owned(), classes.join(", "))],
            sections: vec![self.by_class(), self.by_step()],
        }
    }

    fn by_class(&self) -> Section {
        let rows = self.mix.classes.iter().zip(&self.tallies).map(|(class, tallies)| {
            let mut all = MixTally::default();
            for tally in tallies {
                all.answers += tally.answers;
                all.failures += tally.failures;
                all.times_us.merge(&tally.times_us);
            }
            let mut row = vec![Cell::text(class.name.clone()), Cell::Number(f64::from(class.users))];
            row.extend(self.cells(&all));
            row
        });
        let mut columns = vec![Column::new("class", ""), Column::new("users", "")];
        columns.extend(figures());
        Section {
            id: "classes".to_owned(),
            title: "Classes".to_owned(),
            notes: vec!["All classes ran at once. Response times begin when a request is sent.".to_owned()],
            picture: None,
            table: Table { columns, rows: rows.collect() },
        }
    }

    fn by_step(&self) -> Section {
        let mut notes = Vec::new();
        let (mut rows, mut names, mut p95) = (Vec::new(), Vec::new(), Vec::new());
        for (class, tallies) in self.mix.classes.iter().zip(&self.tallies) {
            let weights: f64 = class.steps.iter().map(|step| step.weight).sum();
            let sent: u64 = tallies.iter().map(|tally| tally.answers + tally.failures).sum();
            if !class.in_turn && (weights - 100.0).abs() > 1e-9 && (weights - 1.0).abs() > 1e-9 {
                notes.push(format!(
                    "The weights of {} add up to {weights}, so each counts as its part of them.",
                    class.name
                ));
            }
            for (step, tally) in class.steps.iter().zip(tallies) {
                let name = format!("{}: {}", class.name, step.name);
                let asked = if class.in_turn { 1.0 / class.steps.len() as f64 } else { step.weight / weights };
                let found = (tally.answers + tally.failures) as f64 / sent.max(1) as f64;
                let mut row = vec![Cell::text(name.clone()), Cell::Number(100.0 * asked), Cell::Number(100.0 * found)];
                row.extend(self.cells(tally));
                rows.push(row);
                names.push(name);
                p95.push(tally.times_us.percentile(95.0).unwrap_or(0) as f64 / 1e3);
            }
        }
        let mut columns = vec![Column::new("step", ""), Column::new("share asked", "%"), Column::new("share", "%")];
        columns.extend(figures());
        Section {
            id: "steps".to_owned(),
            title: "Steps".to_owned(),
            notes,
            picture: Some(Picture::Bars {
                across: "95th percentile, ms".to_owned(),
                rows: names,
                series: vec![("p95".to_owned(), p95)],
            }),
            table: Table { columns, rows },
        }
    }

    fn cells(&self, tally: &MixTally) -> Vec<Cell> {
        let ms = |percent: f64| {
            tally.times_us.percentile(percent).map_or(Cell::Empty, |time| Cell::Number(time as f64 / 1e3))
        };
        vec![
            Cell::Number(tally.answers as f64 / self.seconds),
            Cell::Number(tally.failures as f64),
            ms(50.0),
            ms(95.0),
            ms(99.0),
        ]
    }
}

/// Returns the columns of [`MixRun::cells`].
fn figures() -> [Column; 5] {
    [
        Column::higher("rate", "1/s"),
        Column::lower("failures", ""),
        Column::lower("p50", "ms"),
        Column::lower("p95", "ms"),
        Column::new("p99", "ms"),
    ]
}
