//! Limits of connections: in total, and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::watch;

use crate::limits_config::LimitsConfig;

/// Default limit of connections, unless the limit of open files is lower. A client that needs more sets its own limit.
pub(crate) const DEFAULT_CONNECTIONS: usize = 20_000;

/// Connections that are open, and how many there may be.
#[derive(Debug)]
pub(crate) struct Connections {
    open: AtomicUsize,
    limit: usize,
    limit_of_address: usize,
    by_address: Mutex<HashMap<IpAddr, usize>>,
    /// Changes when idle connections should close to make room for new ones.
    shed: watch::Sender<u64>,
}

/// Returns half of the limit, so that one address never takes all connections, and a proxy still has many. A server with few connections is
/// for few clients, which may have all of them.
fn default_of_address(limit: usize) -> usize {
    const FEW: usize = 64;
    if limit <= FEW { limit } else { limit.div_ceil(2) }
}

/// A place for one connection, given back when it goes.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    address: IpAddr,
}

/// Reason for refusing a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Full {
    /// The total limit is reached.
    All,
    /// The limit of its address is reached.
    Address,
}

impl Connections {
    pub(crate) fn new(limits: &LimitsConfig, fit: usize) -> Arc<Self> {
        let limit = limits.connections.unwrap_or(DEFAULT_CONNECTIONS).min(fit);
        Arc::new(Connections {
            open: AtomicUsize::new(0),
            limit,
            limit_of_address: limits.connections_per_address.unwrap_or(default_of_address(limit)),
            by_address: Mutex::default(),
            shed: watch::Sender::new(0),
        })
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Reserves a connection from `address`.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Place, Full> {
        let address = network(address);
        if self.open() >= self.limit {
            return Err(Full::All);
        }
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = by_address.entry(address).or_default();
        if *count >= self.limit_of_address {
            return Err(Full::Address);
        }
        *count += 1;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(Place { connections: Arc::clone(self), address })
    }

    /// Asks idle connections to end.
    pub(crate) fn shed(&self) {
        self.shed.send_modify(|times| *times += 1);
    }

    /// Returns a receiver that changes when idle connections should close.
    pub(crate) fn pressure(&self) -> watch::Receiver<u64> {
        self.shed.subscribe()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let connections = &self.connections;
        connections.open.fetch_sub(1, Ordering::Relaxed);
        let mut by_address = connections.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

/// Returns the address that limits apply to. For IPv6 it is the network, since a client usually controls all addresses of one.
pub(crate) fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 => v4,
    }
}

/// Raises the soft limit of open files to the hard one and returns how many connections fit beside `others` descriptors.
pub(crate) fn room_for_connections(others: usize) -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where the system refuses, the limit that is in force counts.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let files = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    files.saturating_sub(others)
}

/// Rate limit for the log: counts frequent events and reports them at most every 10 seconds.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Mutex<(Option<Instant>, u64)>);

impl Seldom {
    const PAUSE: Duration = Duration::from_secs(10);

    /// Counts one; how many there were since the last line, where a line is due.
    pub(crate) fn due(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 += 1;
        if state.0.is_some_and(|last| last.elapsed() < Seldom::PAUSE) {
            return None;
        }
        state.0 = Some(Instant::now());
        Some(core::mem::take(&mut state.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_never_has_all_places_and_places_come_back() {
        assert_eq!([default_of_address(2), default_of_address(20_000)], [2, 10_000]);
        let limits =
            LimitsConfig { connections: Some(100), connections_per_address: Some(3), ..LimitsConfig::default() };
        let connections = Connections::new(&limits, 5);
        let [one, two]: [IpAddr; 2] = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        let mut places: Vec<Place> = (0..3).map(|_| connections.enter(one).unwrap()).collect();
        assert_eq!(connections.enter(one).err(), Some(Full::Address));
        places.push(connections.enter(two).unwrap());
        // Another address of the same network.
        places.push(connections.enter("2001:db8::2".parse().unwrap()).unwrap());
        assert_eq!(connections.enter(two).err(), Some(Full::All));
        drop(places);
        assert_eq!(connections.open(), 0);
        assert!(connections.by_address.lock().unwrap().is_empty());
    }

    #[test]
    fn what_happens_often_is_logged_once_with_a_count() {
        let seldom = Seldom::default();
        assert_eq!([seldom.due(), seldom.due(), seldom.due()], [Some(1), None, None]);
    }
}
