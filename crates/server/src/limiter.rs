//! Limits of a client's requests: a token bucket for the rate, and a count of requests in progress.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits_config::{LimitsConfig, RoleLimits};

/// Limits of one client.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClientLimits {
    rate: Option<f64>,
    burst: f64,
    concurrent: Option<usize>,
}

impl ClientLimits {
    fn new(limits: RoleLimits) -> ClientLimits {
        let rate = limits.client_requests_per_second.filter(|rate| *rate > 0.0);
        let burst = limits.client_burst.or(rate.map(|rate| 2.0 * rate)).unwrap_or(0.0).max(1.0);
        ClientLimits { rate, burst, concurrent: limits.client_concurrent }
    }

    /// Returns the larger of each limit.
    fn larger(self, other: ClientLimits) -> ClientLimits {
        ClientLimits {
            rate: self.rate.zip(other.rate).map(|(a, b)| a.max(b)),
            burst: self.burst.max(other.burst),
            concurrent: self.concurrent.zip(other.concurrent).map(|(a, b)| a.max(b)),
        }
    }
}

/// Limits by client, over all threads. Costs nothing if no limit is set.
#[derive(Debug)]
pub(crate) struct Limiter {
    general: ClientLimits,
    roles: HashMap<String, ClientLimits>,
    clients: Mutex<Clients>,
}

#[derive(Debug)]
struct Clients {
    known: HashMap<String, Client>,
    /// Number of clients at which the idle ones are forgotten.
    sweep_at: usize,
}

#[derive(Debug)]
struct Client {
    tokens: f64,
    filled: Instant,
    /// Time at which the bucket is full again. A client that is forgotten after it loses nothing.
    full: Instant,
    running: usize,
}

/// Reason for refusing a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refused {
    /// The rate limit is exceeded; the value is the number of seconds until a retry may succeed.
    Rate(u32),
    Concurrent,
}

/// Clients above which idle ones are forgotten. The next sweep follows at twice the rest, so a sweep costs a constant for each new client.
const CLIENTS_MAX: usize = 100_000;
/// Clients above which also those are forgotten whose bucket is not full, about 150 MB.
const BUCKETS_MAX: usize = 1_000_000;

impl Limiter {
    pub(crate) fn new(limits: &LimitsConfig) -> Limiter {
        let general = limits.of_client();
        let of_role = |role: &RoleLimits| {
            // A burst belongs to its rate.
            let rate = role.client_requests_per_second;
            ClientLimits::new(RoleLimits {
                client_requests_per_second: rate.or(general.client_requests_per_second),
                client_burst: if rate.is_some() { role.client_burst } else { general.client_burst },
                client_concurrent: role.client_concurrent.or(general.client_concurrent),
            })
        };
        Limiter {
            general: ClientLimits::new(general),
            roles: limits.roles.iter().map(|(name, role)| (name.clone(), of_role(role))).collect(),
            clients: Mutex::new(Clients { known: HashMap::new(), sweep_at: CLIENTS_MAX }),
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        let limits = |limits: &ClientLimits| limits.rate.is_some() || limits.concurrent.is_some();
        limits(&self.general) || self.roles.values().any(limits)
    }

    fn limits_of(&self, roles: &[String]) -> ClientLimits {
        roles
            .iter()
            .filter_map(|role| self.roles.get(role))
            .copied()
            .reduce(ClientLimits::larger)
            .unwrap_or(self.general)
    }

    /// Takes a token and a place; [`Limiter::leave`] gives the place back.
    pub(crate) fn enter(&self, client: &str, roles: &[String], now: Instant) -> Result<(), Refused> {
        let limits = self.limits_of(roles);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.known.len() >= clients.sweep_at {
            clients.sweep(now);
        }
        let new = || Client { tokens: limits.burst, filled: now, full: now, running: 0 };
        let client = clients.known.entry(client.to_owned()).or_insert_with(new);
        if let Some(rate) = limits.rate {
            let since = now.saturating_duration_since(client.filled).as_secs_f64();
            client.tokens = (client.tokens + since * rate).min(limits.burst);
            client.filled = now;
            if client.tokens < 1.0 {
                return Err(Refused::Rate(whole_seconds((1.0 - client.tokens) / rate)));
            }
        }
        if limits.concurrent.is_some_and(|max| client.running >= max) {
            return Err(Refused::Concurrent);
        }
        client.running += 1;
        if let Some(rate) = limits.rate {
            client.tokens -= 1.0;
            client.full = now + Duration::from_secs(whole_seconds((limits.burst - client.tokens) / rate).into());
        }
        Ok(())
    }

    pub(crate) fn leave(&self, client: &str) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.known.get_mut(client) {
            client.running = client.running.saturating_sub(1);
        }
    }
}

impl Clients {
    /// Forgets clients without requests in progress whose bucket is full.
    fn sweep(&mut self, now: Instant) {
        self.known.retain(|_, client| client.running > 0 || client.full > now);
        if self.known.len() >= BUCKETS_MAX {
            self.known.retain(|_, client| client.running > 0);
        }
        self.sweep_at = CLIENTS_MAX.max(2 * self.known.len()).min(BUCKETS_MAX.max(self.known.len() + CLIENTS_MAX));
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a day")]
fn whole_seconds(seconds: f64) -> u32 {
    seconds.ceil().clamp(1.0, 86_400.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_burst_and_fills_at_its_rate() {
        let limits =
            LimitsConfig { client_requests_per_second: Some(0.5), client_burst: Some(3.0), ..LimitsConfig::default() };
        let limiter = Limiter::new(&limits);
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(limiter.enter("a", &[], start), Ok(()));
        }
        assert_eq!(limiter.enter("a", &[], start), Err(Refused::Rate(2)));
        assert_eq!(limiter.enter("b", &[], start), Ok(()), "another client has its own");
        assert_eq!(limiter.enter("a", &[], start + Duration::from_secs(1)), Err(Refused::Rate(1)));
        assert_eq!(limiter.enter("a", &[], start + Duration::from_secs(2)), Ok(()));
    }

    #[test]
    fn places_come_back() {
        let limiter = Limiter::new(&LimitsConfig { client_concurrent: Some(2), ..LimitsConfig::default() });
        let now = Instant::now();
        assert_eq!(limiter.enter("a", &[], now), Ok(()));
        assert_eq!(limiter.enter("a", &[], now), Ok(()));
        assert_eq!(limiter.enter("a", &[], now), Err(Refused::Concurrent));
        limiter.leave("a");
        assert_eq!(limiter.enter("a", &[], now), Ok(()));
    }

    #[test]
    fn a_role_has_limits_of_its_own_and_the_largest_counts() {
        let role = |rate, concurrent| RoleLimits {
            client_requests_per_second: rate,
            client_burst: None,
            client_concurrent: concurrent,
        };
        let limits = LimitsConfig {
            client_requests_per_second: Some(1.0),
            client_concurrent: Some(100),
            roles: [("bulk".to_owned(), role(Some(4.0), None)), ("slow".to_owned(), role(Some(0.5), Some(2)))].into(),
            ..LimitsConfig::default()
        };
        let limiter = Limiter::new(&limits);
        let now = Instant::now();
        let accepted = |client: &str, roles: &[&str]| {
            let roles: Vec<String> = roles.iter().map(ToString::to_string).collect();
            (0..20).filter(|_| limiter.enter(client, &roles, now).is_ok()).count()
        };
        assert_eq!(accepted("general", &["clerk"]), 2);
        assert_eq!(accepted("bulk", &["bulk"]), 8);
        assert_eq!(accepted("slow", &["slow"]), 1);
        assert_eq!(accepted("both", &["slow", "clerk", "bulk"]), 8);
    }

    #[test]
    fn idle_clients_are_forgotten_and_busy_buckets_stay() {
        let limits =
            LimitsConfig { client_requests_per_second: Some(1.0), client_burst: Some(1.0), ..LimitsConfig::default() };
        let limiter = Limiter::new(&limits);
        let start = Instant::now();
        let enter = |number: usize, now| {
            let name = number.to_string();
            limiter.enter(&name, &[], now).inspect(|()| limiter.leave(&name))
        };
        for number in 0..CLIENTS_MAX {
            assert_eq!(enter(number, start), Ok(()));
        }
        // The sweep at this moment finds no idle client, so a client that has used its rate does not get it again.
        assert_eq!(enter(CLIENTS_MAX, start), Ok(()));
        assert_eq!(enter(7, start), Err(Refused::Rate(1)));
        let later = start + Duration::from_secs(10);
        for number in CLIENTS_MAX..=2 * CLIENTS_MAX {
            assert_eq!(enter(number, later), Ok(()));
        }
        assert!(limiter.clients.lock().unwrap().known.len() < CLIENTS_MAX + 10, "idle clients are forgotten");
    }
}
