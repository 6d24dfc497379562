//! The events of a simulation, in the order of their time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::floor::Floor;
use super::outcome::{ClassOutcome, Sampled, SimulationOutcome, StationOutcome};
use super::random::Random;
use super::{BATCHES, Discipline, EVENTS_MAX, Simulation, Source};
use crate::plan::{Band, BandRegulator};
use crate::{ModelError, Seconds};

/// Most customers at a time.
const CUSTOMERS_MAX: usize = 2_000_000;

pub(super) fn run(simulation: &Simulation) -> Result<SimulationOutcome, ModelError> {
    let mut engine = Engine::new(simulation);
    engine.start();
    let mut events = 0_u64;
    while !engine.tally.is_done() {
        let Some(Reverse(event)) = engine.events.pop() else {
            return Err(ModelError::Deadlock { customers: engine.customers.len() });
        };
        events += 1;
        if events > EVENTS_MAX || engine.customers.len() > CUSTOMERS_MAX {
            let what = "a simulation (events)";
            return Err(ModelError::TooLarge { what, needed: events as f64, limit: EVENTS_MAX as f64 });
        }
        engine.now = event.time.0;
        engine.handle(event.what);
    }
    Ok(engine.outcome())
}

/// A time of which none is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl Ord for Moment {
    fn cmp(&self, other: &Moment) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Moment) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events of one time occur in the order in which they were planned.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Event {
    time: Moment,
    number: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum What {
    /// A customer of an open class arrives.
    Arrive { class: usize },
    /// A customer of a closed class ends its think time.
    Enter { customer: usize },
    /// A visit ends, unless the customer was interrupted since.
    Finish { customer: usize, version: u64 },
    /// The first of the sharing customers ends, unless others came or left since.
    Share { station: usize, version: u64 },
    /// The regulator decides.
    Decide,
}

#[derive(Clone, Debug)]
struct Customer {
    class: usize,
    /// Time at which the transaction began.
    began: f64,
    station: Option<usize>,
    /// Order of arrival at the station.
    arrival: u64,
    /// Service that the visit still needs.
    left: f64,
    /// Time at which the visit ends, while it is being served.
    ends: f64,
    version: u64,
}

struct Engine<'a> {
    of: &'a Simulation,
    now: f64,
    random: Random,
    events: BinaryHeap<Reverse<Event>>,
    planned: u64,
    arrivals: u64,
    customers: Vec<Customer>,
    free: Vec<usize>,
    floors: Vec<Floor>,
    /// Stations at which a server or a place became free.
    freed: Vec<usize>,
    endless: Vec<bool>,
    bands: Vec<Band>,
    regulator: Option<BandRegulator>,
    steps: Vec<(Seconds, Band)>,
    /// Use of the regulated class before the current interval and batch.
    used: f64,
    used_before_batch: f64,
    tally: Tally,
}

impl<'a> Engine<'a> {
    fn new(of: &'a Simulation) -> Engine<'a> {
        let classes = of.classes.len();
        let bands: Vec<Band> = of.classes.iter().map(|class| Band::of(class.priority).unwrap_or(Band(6))).collect();
        let regulator = of.regulation.map(|regulation| {
            let active = match of.classes[regulation.class].source {
                Source::Closed { population, .. } => population,
                Source::Open { .. } => u32::MAX,
            };
            BandRegulator::new(bands[regulation.class], active)
        });
        Engine {
            of,
            now: 0.0,
            random: Random::new(of.seed),
            events: BinaryHeap::new(),
            planned: 0,
            arrivals: 0,
            customers: Vec::new(),
            free: Vec::new(),
            floors: of.stations.iter().map(|station| Floor::new(station, classes)).collect(),
            freed: Vec::new(),
            endless: of.classes.iter().map(|class| class.is_endless()).collect(),
            steps: of.regulation.map(|regulation| (Seconds(0.0), bands[regulation.class])).into_iter().collect(),
            bands,
            regulator,
            used: 0.0,
            used_before_batch: 0.0,
            tally: Tally::new(of),
        }
    }

    fn plan(&mut self, time: f64, what: What) {
        self.planned += 1;
        self.events.push(Reverse(Event { time: Moment(time), number: self.planned, what }));
    }

    fn start(&mut self) {
        for class in 0..self.of.classes.len() {
            match self.of.classes[class].source {
                Source::Closed { population, think } => {
                    for _ in 0..population {
                        let customer = self.customer(class);
                        let time = think.draw(&mut self.random);
                        self.plan(time, What::Enter { customer });
                    }
                }
                Source::Open { gap } => {
                    let time = gap.draw(&mut self.random);
                    self.plan(time, What::Arrive { class });
                }
            }
        }
        if let Some(regulation) = self.of.regulation {
            self.plan(regulation.interval.0, What::Decide);
        }
    }

    fn customer(&mut self, class: usize) -> usize {
        let began = self.now;
        let version = 0;
        let customer = Customer { class, began, station: None, arrival: 0, left: 0.0, ends: 0.0, version };
        if let Some(at) = self.free.pop() {
            // Events of the slot's last customer stay void.
            let version = self.customers[at].version + 1;
            self.customers[at] = Customer { version, ..customer };
            return at;
        }
        self.customers.push(customer);
        self.customers.len() - 1
    }

    fn handle(&mut self, what: What) {
        match what {
            What::Arrive { class } => {
                if let Source::Open { gap } = self.of.classes[class].source {
                    let next = self.now + gap.draw(&mut self.random);
                    self.plan(next, What::Arrive { class });
                }
                let customer = self.customer(class);
                self.enter(customer);
            }
            What::Enter { customer } => self.enter(customer),
            What::Finish { customer, version } => {
                if self.customers[customer].version == version {
                    self.finish(customer);
                }
            }
            What::Share { station, version } => {
                if self.floors[station].version == version {
                    self.floors[station].advance(self.now);
                    if let Some((_, customer)) = self.floors[station].sharing.pop_first() {
                        self.finish(customer);
                    }
                }
            }
            What::Decide => self.decide(),
        }
        self.settle();
    }

    /// Starts a transaction.
    fn enter(&mut self, customer: usize) {
        self.customers[customer].began = self.now;
        let entry = self.of.classes[self.customers[customer].class].entry;
        if self.floors[entry].has_room() {
            self.place(customer, entry);
        } else {
            self.floors[entry].outside.push_back(customer);
        }
    }

    /// Places a customer at a station that has room.
    fn place(&mut self, customer: usize, station: usize) {
        let class = self.customers[customer].class;
        let of = &self.of.classes[class];
        let returns = self.customers[customer].station.is_some() && station == of.entry;
        let work = of.service[station].draw(&mut self.random);
        if returns && self.endless[class] {
            self.complete(customer);
            self.customers[customer].began = self.now;
        }
        self.arrivals += 1;
        let arrival = self.arrivals;
        let floor = &mut self.floors[station];
        floor.advance(self.now);
        floor.present += 1;
        let held = &mut self.customers[customer];
        held.station = Some(station);
        held.arrival = arrival;
        held.left = work;
        if floor.shares() {
            floor.sharing.insert(((floor.virtual_time + work).to_bits(), customer));
            floor.begin(class);
        } else {
            floor.waiting[class].push_back(customer);
        }
        self.freed.push(station);
    }

    /// Ends a visit: the customer moves, waits for room with its server, or leaves.
    fn finish(&mut self, customer: usize) {
        let Customer { class, station, .. } = self.customers[customer];
        let Some(from) = station else { return };
        self.customers[customer].version += 1;
        let floor = &mut self.floors[from];
        floor.advance(self.now);
        floor.end(class);
        if floor.discipline == Discipline::PriorityInterrupts {
            floor.serving.retain(|served| *served != customer);
        }
        let mut share = self.random.share();
        let next = self.of.classes[class].next[from].iter().position(|probability| {
            share -= probability;
            share < 0.0
        });
        // A row of 1 that rounds below it leaves nothing over.
        let next = match next {
            None if self.endless[class] => self.of.classes[class].next[from].iter().rposition(|share| *share > 0.0),
            other => other,
        };
        match next {
            Some(to) if to != from && !self.floors[to].has_room() => {
                self.floors[from].holding += 1;
                self.floors[to].outside.push_back(customer);
                self.freed.push(from);
            }
            Some(to) => {
                self.leave(from);
                self.place(customer, to);
            }
            None => {
                self.leave(from);
                self.complete(customer);
                self.end(customer);
            }
        }
    }

    fn leave(&mut self, station: usize) {
        self.floors[station].advance(self.now);
        self.floors[station].present -= 1;
        self.floors[station].areas.visits += 1;
        self.freed.push(station);
    }

    fn complete(&mut self, customer: usize) {
        let Customer { class, began, .. } = self.customers[customer];
        if self.tally.complete(class, self.now - began) {
            if let Some(regulation) = self.of.regulation {
                let floor = &mut self.floors[regulation.station];
                floor.advance(self.now);
                self.used_before_batch += floor.areas.busy[regulation.class];
            }
            self.tally.end_batch(self.now, &mut self.floors);
        }
    }

    fn end(&mut self, customer: usize) {
        self.customers[customer].station = None;
        match self.of.classes[self.customers[customer].class].source {
            Source::Closed { think, .. } => {
                let time = self.now + think.draw(&mut self.random);
                self.plan(time, What::Enter { customer });
            }
            Source::Open { .. } => self.free.push(customer),
        }
    }

    /// Gives freed places and servers to those who wait for them.
    fn settle(&mut self) {
        while let Some(station) = self.freed.pop() {
            while self.floors[station].has_room() {
                let Some(customer) = self.floors[station].outside.pop_front() else { break };
                if let Some(from) = self.customers[customer].station {
                    self.floors[from].advance(self.now);
                    self.floors[from].holding -= 1;
                    self.leave(from);
                }
                self.place(customer, station);
            }
            if self.floors[station].shares() {
                self.plan_share(station);
            } else {
                self.dispatch(station);
            }
        }
    }

    fn plan_share(&mut self, station: usize) {
        let floor = &mut self.floors[station];
        floor.version += 1;
        let version = floor.version;
        if let Some((ends, _)) = floor.sharing.first() {
            let time = self.now + (f64::from_bits(*ends) - floor.virtual_time).max(0.0) / floor.pace();
            self.plan(time, What::Share { station, version });
        }
    }

    /// Returns the customer to serve next: the first to arrive in the best band.
    fn next_waiting(&self, station: usize) -> Option<usize> {
        let floor = &self.floors[station];
        let fronts = floor.waiting.iter().filter_map(|queue| queue.front().copied());
        fronts.min_by_key(|customer| self.rank(station, *customer))
    }

    fn rank(&self, station: usize, customer: usize) -> (u8, u64) {
        let Customer { class, arrival, .. } = self.customers[customer];
        let by_band = matches!(self.floors[station].discipline, Discipline::Priority | Discipline::PriorityInterrupts);
        (if by_band { self.bands[class].0 } else { 0 }, arrival)
    }

    fn dispatch(&mut self, station: usize) {
        while let Some(next) = self.next_waiting(station) {
            if !self.floors[station].has_free_server() && !self.interrupt(station, next) {
                break;
            }
            let class = self.customers[next].class;
            let floor = &mut self.floors[station];
            floor.waiting[class].pop_front();
            floor.advance(self.now);
            floor.begin(class);
            if floor.discipline == Discipline::PriorityInterrupts {
                floor.serving.push(next);
            }
            let ends = self.now + self.customers[next].left;
            self.customers[next].ends = ends;
            let version = self.customers[next].version;
            self.plan(ends, What::Finish { customer: next, version });
        }
    }

    /// Interrupts the worst customer in service where the one that waits has a better band.
    fn interrupt(&mut self, station: usize, next: usize) -> bool {
        if self.floors[station].discipline != Discipline::PriorityInterrupts {
            return false;
        }
        let worst = self.floors[station].serving.iter().copied().max_by_key(|served| self.rank(station, *served));
        let Some(worst) = worst else { return false };
        if self.rank(station, worst).0 <= self.rank(station, next).0 {
            return false;
        }
        let now = self.now;
        let customer = &mut self.customers[worst];
        customer.left = (customer.ends - now).max(0.0);
        customer.version += 1;
        let class = customer.class;
        let floor = &mut self.floors[station];
        floor.advance(now);
        floor.end(class);
        floor.serving.retain(|served| *served != worst);
        floor.waiting[class].push_front(worst);
        true
    }

    fn decide(&mut self) {
        let (Some(regulation), Some(regulator)) = (self.of.regulation, &mut self.regulator) else { return };
        let floor = &mut self.floors[regulation.station];
        floor.advance(self.now);
        let used = self.used_before_batch + floor.areas.busy[regulation.class];
        let share = (used - self.used) / (floor.divisor() * regulation.interval.0);
        self.used = used;
        let band = regulator.step(share > regulation.share.0);
        if band != self.bands[regulation.class] {
            self.bands[regulation.class] = band;
            self.steps.push((Seconds(self.now), band));
        }
        self.freed.push(regulation.station);
        if !self.events.is_empty() {
            self.plan(self.now + regulation.interval.0, What::Decide);
        }
    }

    fn outcome(self) -> SimulationOutcome {
        let Tally { classes, stations, measured, elapsed, .. } = self.tally;
        let class = |class: ClassBatches| {
            ClassOutcome::new(Sampled::of(&class.throughput), Sampled::of(&class.response), class.times)
        };
        let station = |station: StationBatches| StationOutcome {
            visits: Sampled::of(&station.visits),
            residence: Sampled::of(&station.residence),
            present: Sampled::of(&station.present),
            utilization: Sampled::of(&station.utilization),
            blocked: Sampled::of(&station.blocked),
            by_class: station.by_class.iter().map(|batches| Sampled::of(batches)).collect(),
        };
        SimulationOutcome {
            classes: classes.into_iter().map(class).collect(),
            stations: stations.into_iter().map(station).collect(),
            bands: self.steps,
            transactions: measured,
            elapsed: Seconds(elapsed),
        }
    }
}

/// Means of the batches, and the response times of all measured transactions.
struct Tally {
    classes: Vec<ClassBatches>,
    stations: Vec<StationBatches>,
    warm_up: u64,
    per_batch: u64,
    batches: usize,
    /// Transactions of the current batch, or of the warm-up.
    done: u64,
    measured: u64,
    began: f64,
    elapsed: f64,
}

#[derive(Clone, Default)]
struct ClassBatches {
    throughput: Vec<f64>,
    response: Vec<f64>,
    times: Vec<f64>,
    done: u64,
    sum: f64,
}

#[derive(Clone, Default)]
struct StationBatches {
    visits: Vec<f64>,
    residence: Vec<f64>,
    present: Vec<f64>,
    utilization: Vec<f64>,
    blocked: Vec<f64>,
    by_class: Vec<Vec<f64>>,
}

impl Tally {
    fn new(of: &Simulation) -> Tally {
        let by_class = vec![Vec::new(); of.classes.len()];
        Tally {
            classes: vec![ClassBatches::default(); of.classes.len()],
            stations: vec![StationBatches { by_class, ..StationBatches::default() }; of.stations.len()],
            warm_up: of.warm_up,
            per_batch: (of.transactions / BATCHES as u64).max(1),
            batches: 0,
            done: 0,
            measured: 0,
            began: 0.0,
            elapsed: 0.0,
        }
    }

    fn is_done(&self) -> bool {
        self.batches == BATCHES + usize::from(self.warm_up > 0)
    }

    /// Returns true during the warm-up, whose batch is discarded.
    fn is_warming(&self) -> bool {
        self.warm_up > 0 && self.batches == 0
    }

    /// Counts a transaction. Gives whether its batch is full.
    fn complete(&mut self, class: usize, time: f64) -> bool {
        let warming = self.is_warming();
        self.done += 1;
        if !warming {
            self.measured += 1;
            let class = &mut self.classes[class];
            class.done += 1;
            class.sum += time;
            class.times.push(time);
        }
        self.done >= if warming { self.warm_up } else { self.per_batch }
    }

    fn end_batch(&mut self, now: f64, floors: &mut [Floor]) {
        if self.is_done() {
            return;
        }
        let warming = self.is_warming();
        let passed = (now - self.began).max(f64::MIN_POSITIVE);
        self.batches += 1;
        self.done = 0;
        self.began = now;
        for (floor, batches) in floors.iter_mut().zip(&mut self.stations) {
            let areas = floor.take_areas(now);
            if warming {
                continue;
            }
            let servers = floor.divisor();
            batches.visits.push(areas.visits as f64 / passed);
            batches.present.push(areas.present / passed);
            batches.blocked.push(areas.held / passed / servers);
            batches.utilization.push(areas.busy.iter().sum::<f64>() / passed / servers);
            if areas.visits > 0 {
                batches.residence.push(areas.present / areas.visits as f64);
            }
            for (means, busy) in batches.by_class.iter_mut().zip(&areas.busy) {
                means.push(busy / passed / servers);
            }
        }
        if warming {
            return;
        }
        self.elapsed += passed;
        for class in &mut self.classes {
            class.throughput.push(class.done as f64 / passed);
            if class.done > 0 {
                class.response.push(class.sum / class.done as f64);
            }
            class.done = 0;
            class.sum = 0.0;
        }
    }
}
