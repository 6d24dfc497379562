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
use crate::load::until;

/// Most virtual users of all classes: each has a connection.
pub const MIX_USERS_MAX: u32 = 10_000;
/// Maximum wait for answers after the measured time.
const LATEST: Duration = Duration::from_secs(10);
/// Pause after a connection that broke.
const BROKEN_PAUSE: Duration = Duration::from_millis(20);
/// Longest interval between two arrivals.
const INTERVAL_MAX: Duration = Duration::from_secs(3_600);

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
    /// What begins a request.
    pub pace: MixPace,
    /// Whether a user takes the steps in their order; otherwise by weight at random.
    pub in_turn: bool,
    /// Steps.
    pub steps: Vec<MixStep>,
}

/// What begins a request of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MixPace {
    /// A user sends the next request after its answer and an exponential think time with this mean.
    Closed(Duration),
    /// Requests are due at this rate a second, with exponential intervals. The users are the connections that send them.
    Poisson(f64),
    /// Requests are due at this rate a second, with equal intervals.
    Fixed(f64),
}

impl MixPace {
    /// Requests a second, if they do not depend on answers.
    fn rate(self) -> Option<f64> {
        match self {
            MixPace::Closed(_) => None,
            MixPace::Poisson(rate) | MixPace::Fixed(rate) => Some(rate),
        }
    }
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
    /// Response times in microseconds, from the time when the request was due.
    pub times_us: Histogram,
    /// Response times in microseconds, from the time when the request was sent.
    pub service_us: Histogram,
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
    /// Requests without an answer yet, by class and step.
    owed: Vec<Vec<u64>>,
    /// Those that were due before the measured time.
    early: Vec<Vec<u64>>,
    tallies: Vec<Vec<MixTally>>,
}

impl State {
    /// Returns the count of requests of a step without an answer yet.
    fn open(&mut self, measured: bool, class: usize, step: usize) -> &mut u64 {
        let open = if measured { &mut self.owed } else { &mut self.early };
        &mut open[class][step]
    }

    fn is_measured(&self, at: Instant) -> bool {
        self.from.is_some_and(|from| at >= from) && self.to.is_none_or(|to| at < to)
    }

    /// Counts every request without an answer as a failure: those that were sent, also before the measured time, and those that were due in it and found
    /// no free connection.
    fn fail_rest(&mut self, schedules: &[Option<Rc<RefCell<Schedule>>>]) {
        let open = self.owed.iter().chain(&self.early);
        for (at, owed) in open.enumerate() {
            let tallies = &mut self.tallies[at % self.owed.len()];
            for (tally, owed) in tallies.iter_mut().zip(owed) {
                tally.failures += owed;
            }
        }
        let (Some(from), Some(to)) = (self.from, self.to) else { return };
        for (tallies, schedule) in self.tallies.iter_mut().zip(schedules) {
            let Some(schedule) = schedule else { continue };
            loop {
                let (due, step) = schedule.borrow_mut().next();
                if due >= to {
                    break;
                }
                tallies[step].failures += u64::from(due >= from);
            }
        }
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
        let owed: Vec<Vec<u64>> = self.classes.iter().map(|class| vec![0; class.steps.len()]).collect();
        let early = owed.clone();
        let state = Rc::new(RefCell::new(State { from: None, to: None, over: false, owed, early, tallies }));
        let mut schedules = Vec::new();
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        for (at, class) in self.classes.iter().cloned().map(Rc::new).enumerate() {
            let requests: Rc<Vec<Vec<u8>>> = Rc::new(class.steps.iter().map(|step| self.request(step)).collect());
            let mut clients = Vec::new();
            for _ in 0..class.users {
                clients.push(Client::connect(self.address).await?);
            }
            // A schedule begins after its connections, which would otherwise be late at once.
            let schedule = class.pace.rate().map(|_| Rc::new(RefCell::new(Schedule::new(&class, seed))));
            schedules.push(schedule.clone());
            for client in clients {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let user = User {
                    address: self.address,
                    class: Rc::clone(&class),
                    at,
                    requests: Rc::clone(&requests),
                    state: Rc::clone(&state),
                    random: Random(seed | 1),
                };
                match &schedule {
                    None => tokio::task::spawn_local(user.run(client)),
                    Some(schedule) => tokio::task::spawn_local(user.serve(client, Rc::clone(schedule))),
                };
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
        let is_owed = || {
            let state = state.borrow();
            let late = schedules.iter().flatten().any(|schedule| schedule.borrow().due < end);
            late || state.owed.iter().flatten().any(|owed| *owed > 0)
        };
        loop {
            // Users that wait for their next request begin it first.
            tokio::time::sleep(Duration::from_millis(5)).await;
            if !is_owed() || end.elapsed() > LATEST {
                break;
            }
        }
        let mut state = state.borrow_mut();
        state.fail_rest(&schedules);
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

/// Times at which requests of a class are due, with the step of each.
struct Schedule {
    pace: MixPace,
    in_turn: bool,
    weights: Vec<f64>,
    random: Random,
    turn: usize,
    /// Time of the next request.
    due: Instant,
}

impl Schedule {
    fn new(class: &MixClass, seed: u64) -> Schedule {
        let weights = class.steps.iter().map(|step| step.weight).collect();
        let random = Random(seed.rotate_left(17) | 1);
        let mut schedule =
            Schedule { pace: class.pace, in_turn: class.in_turn, weights, random, turn: 0, due: Instant::now() };
        let first = schedule.interval();
        schedule.due += first;
        schedule
    }

    /// Takes the next request.
    fn next(&mut self) -> (Instant, usize) {
        let (due, interval) = (self.due, self.interval());
        self.due = due + interval;
        (due, next_step(self.in_turn, &self.weights, &mut self.turn, &mut self.random))
    }

    fn interval(&mut self) -> Duration {
        let seconds = match self.pace {
            MixPace::Closed(think) => return think,
            MixPace::Poisson(rate) => -self.random.uniform().ln() / rate,
            MixPace::Fixed(rate) => 1.0 / rate,
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).min(INTERVAL_MAX)
    }
}

fn next_step(in_turn: bool, weights: &[f64], turn: &mut usize, random: &mut Random) -> usize {
    if in_turn {
        let step = *turn % weights.len();
        *turn += 1;
        return step;
    }
    let all: f64 = weights.iter().sum();
    let mut left = random.uniform() * all;
    for (at, weight) in weights.iter().enumerate() {
        left -= weight;
        if left <= 0.0 {
            return at;
        }
    }
    weights.len() - 1
}

struct User {
    address: SocketAddr,
    class: Rc<MixClass>,
    at: usize,
    requests: Rc<Vec<Vec<u8>>>,
    state: Rc<RefCell<State>>,
    random: Random,
}

impl User {
    /// Sends a request after each answer and think time.
    async fn run(mut self, client: Client) {
        let mut client = Some(client);
        let mut turn = 0;
        let weights: Vec<f64> = self.class.steps.iter().map(|step| step.weight).collect();
        // Users do not begin all at once.
        self.pause().await;
        while !self.state.borrow().over {
            let step = next_step(self.class.in_turn, &weights, &mut turn, &mut self.random);
            self.call(&mut client, step, Instant::now()).await;
            self.pause().await;
        }
    }

    /// Sends the requests of a schedule, each when it is due, or as soon as this connection is free.
    async fn serve(self, client: Client, schedule: Rc<RefCell<Schedule>>) {
        let mut client = Some(client);
        loop {
            let (due, step) = schedule.borrow_mut().next();
            until(due).await;
            if self.state.borrow().to.is_some_and(|to| due >= to) {
                return;
            }
            self.call(&mut client, step, due).await;
        }
    }

    /// Sends a request that was due at a time, and counts its answer.
    async fn call(&self, client: &mut Option<Client>, step: usize, due: Instant) {
        let measured = self.state.borrow().is_measured(due);
        *self.state.borrow_mut().open(measured, self.at, step) += 1;
        let sent = Instant::now();
        let reply = match client {
            Some(client) => client.call(&self.requests[step]).await.map(|reply| reply.status),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        let (response, service) = (due.elapsed(), sent.elapsed());
        if reply.is_err() {
            *client = Client::connect(self.address).await.ok();
            if client.is_none() {
                tokio::time::sleep(BROKEN_PAUSE).await;
            }
        }
        let mut state = self.state.borrow_mut();
        *state.open(measured, self.at, step) -= 1;
        if measured {
            let tally = &mut state.tallies[self.at][step];
            if reply.is_ok_and(|status| (200..300).contains(&status)) {
                tally.answers += 1;
                let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
                tally.times_us.record(us(response));
                tally.service_us.record(us(service));
            } else {
                tally.failures += 1;
            }
        }
    }

    async fn pause(&mut self) {
        let MixPace::Closed(think) = self.class.pace else { return };
        let think = think.mul_f64(-self.random.uniform().ln());
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
        let cpu = self.cpu.filter(|_| answers > 0).map_or_else(String::new, |cpu| {
            format!(" The server took {:.1} µs of CPU time for each.", cpu.as_secs_f64() * 1e6 / answers as f64)
        });
        let classes: Vec<String> = self
            .mix
            .classes
            .iter()
            .map(|class| format!("{} {}{}", class.users, class.name, arrivals(class.pace)))
            .collect();
        Report {
            kind: "mix".to_owned(),
            title: "Mix of virtual users".to_owned(),
            verdict: if failures > 0 || answers == 0 { Verdict::ObjectiveMissed } else { Verdict::Good },
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
                all.service_us.merge(&tally.service_us);
            }
            let asked = class.pace.rate().map_or(Cell::Empty, Cell::Number);
            let mut row = vec![Cell::text(class.name.clone()), Cell::Number(f64::from(class.users)), asked];
            row.extend(self.cells(&all));
            row
        });
        let mut columns = vec![Column::new("class", ""), Column::new("users", ""), Column::new("rate due", "1/s")];
        columns.extend(figures());
        Section {
            id: "classes".to_owned(),
            title: "Classes".to_owned(),
            notes: vec![
                "All classes ran at once. Percentiles begin when a request was due: in a class with a rate at its arrival, in others when it is sent. \
                 The last column begins when it is sent."
                    .to_owned(),
            ],
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
        let of = |times: &Histogram, percent: f64| {
            times.percentile(percent).map_or(Cell::Empty, |time| Cell::Number(time as f64 / 1e3))
        };
        let ms = |percent: f64| of(&tally.times_us, percent);
        vec![
            Cell::Number(tally.answers as f64 / self.seconds),
            Cell::Number(tally.failures as f64),
            ms(50.0),
            ms(95.0),
            ms(99.0),
            of(&tally.service_us, 99.0),
        ]
    }
}

/// Words for the arrivals of a class in the conditions of a report; none for users that wait for their answers.
fn arrivals(pace: MixPace) -> String {
    match pace {
        MixPace::Closed(_) => String::new(),
        MixPace::Poisson(rate) => format!(" at {rate}/s, random"),
        MixPace::Fixed(rate) => format!(" at {rate}/s, fixed"),
    }
}

/// Returns the columns of [`MixRun::cells`].
fn figures() -> [Column; 6] {
    [
        Column::higher("rate", "1/s"),
        Column::lower("failures", ""),
        Column::lower("p50", "ms"),
        Column::lower("p95", "ms"),
        Column::new("p99", "ms"),
        Column::new("p99 since sent", "ms"),
    ]
}
