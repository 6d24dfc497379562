//! The state of one station: who waits, who is served, who waits outside, and the time integrals of all three.

use std::collections::{BTreeSet, VecDeque};

use super::{Discipline, SimulatedStation};

/// One station while it is simulated.
#[derive(Debug)]
pub(super) struct Floor {
    servers: Option<u32>,
    pub(super) discipline: Discipline,
    room: Option<u32>,
    /// Customers that wait for a server, by class, in order of arrival.
    pub(super) waiting: Vec<VecDeque<usize>>,
    /// Customers in service, where others can interrupt them.
    pub(super) serving: Vec<usize>,
    /// Customers that share the servers, by the virtual time at which they end.
    pub(super) sharing: BTreeSet<(Ascending, usize)>,
    /// Service that each sharing customer has received since the beginning.
    pub(super) virtual_time: f64,
    /// Number of the event that ends the first sharing customer; older ones are void.
    pub(super) version: u64,
    /// Servers that hold finished work.
    pub(super) holding: u32,
    /// Customers that wait for room here, each at the station that it comes from.
    pub(super) outside: VecDeque<usize>,
    pub(super) present: u32,
    /// Customers in service, by class.
    busy: Vec<u32>,
    working: u32,
    at: f64,
    pub(super) areas: Areas,
}

/// A time as a key: never negative, so its bits ascend with it.
pub(super) type Ascending = u64;

/// Time integrals since the last batch began.
#[derive(Clone, Debug)]
pub(super) struct Areas {
    pub(super) present: f64,
    pub(super) held: f64,
    pub(super) busy: Vec<f64>,
    pub(super) visits: u64,
}

impl Areas {
    fn new(classes: usize) -> Areas {
        Areas { present: 0.0, held: 0.0, busy: vec![0.0; classes], visits: 0 }
    }
}

impl Floor {
    pub(super) fn new(station: &SimulatedStation, classes: usize) -> Floor {
        Floor {
            servers: station.servers,
            discipline: station.discipline,
            room: station.room,
            waiting: vec![VecDeque::new(); classes],
            serving: Vec::new(),
            sharing: BTreeSet::new(),
            virtual_time: 0.0,
            version: 0,
            holding: 0,
            outside: VecDeque::new(),
            present: 0,
            busy: vec![0; classes],
            working: 0,
            at: 0.0,
            areas: Areas::new(classes),
        }
    }

    /// Returns true if customers share the servers. A delay serves each customer at once, so its discipline has no effect.
    pub(super) fn shares(&self) -> bool {
        self.discipline == Discipline::Shared && self.servers.is_some()
    }

    /// Returns the speed at which each sharing customer is served: 1 while there are servers enough.
    pub(super) fn pace(&self) -> f64 {
        match self.servers {
            Some(servers) if self.working > servers => f64::from(servers) / f64::from(self.working),
            _ => 1.0,
        }
    }

    /// Servers that work.
    fn in_use(&self, class: usize) -> f64 {
        f64::from(self.busy[class]) * if self.shares() { self.pace() } else { 1.0 }
    }

    /// Servers as a number by which use is divided; 1 for a delay.
    pub(super) fn divisor(&self) -> f64 {
        self.servers.map_or(1.0, f64::from)
    }

    /// Adds the time since the last change to the integrals.
    pub(super) fn advance(&mut self, now: f64) {
        let passed = now - self.at;
        self.at = now;
        self.areas.present += passed * f64::from(self.present);
        self.areas.held += passed * f64::from(self.holding);
        for class in 0..self.busy.len() {
            self.areas.busy[class] += passed * self.in_use(class);
        }
        if self.shares() && self.working > 0 {
            self.virtual_time += passed * self.pace();
        }
    }

    /// Returns the integrals up to now and resets them.
    pub(super) fn take_areas(&mut self, now: f64) -> Areas {
        self.advance(now);
        let classes = self.busy.len();
        std::mem::replace(&mut self.areas, Areas::new(classes))
    }

    pub(super) fn has_room(&self) -> bool {
        self.room.is_none_or(|room| self.present < room)
    }

    pub(super) fn has_free_server(&self) -> bool {
        self.servers.is_none_or(|servers| self.working + self.holding < servers)
    }

    pub(super) fn begin(&mut self, class: usize) {
        self.busy[class] += 1;
        self.working += 1;
    }

    pub(super) fn end(&mut self, class: usize) {
        self.busy[class] -= 1;
        self.working -= 1;
    }
}
