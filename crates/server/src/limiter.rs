//! Limits of a client's requests: a token bucket for the rate, and a count of requests in progress.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::config::LimitsConfig;

/// Limits by client, over all threads. Costs nothing where none is set.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    rate: Option<f64>,
    burst: f64,
    concurrent: Option<usize>,
    clients: Mutex<HashMap<String, Client>>,
}

#[derive(Debug)]
struct Client {
    tokens: f64,
    filled: Instant,
    running: usize,
}

/// Reason for refusing a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refused {
    /// The rate limit is exceeded; the value is the number of seconds until a retry may succeed.
    Rate(u32),
    Concurrent,
}

/// Clients remembered; the idle ones are forgotten beyond it.
const CLIENTS_MAX: usize = 100_000;

impl Limiter {
    pub(crate) fn new(limits: &LimitsConfig) -> Limiter {
        let rate = limits.client_requests_per_second.filter(|rate| *rate > 0.0);
        let burst = limits.client_burst.or(rate.map(|rate| 2.0 * rate)).unwrap_or(0.0).max(1.0);
        Limiter { rate, burst, concurrent: limits.client_concurrent, clients: Mutex::default() }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.rate.is_some() || self.concurrent.is_some()
    }

    /// Takes a token and a place; [`Limiter::leave`] gives the place back.
    pub(crate) fn enter(&self, client: &str, now: Instant) -> Result<(), Refused> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= CLIENTS_MAX {
            clients.retain(|_, client| client.running > 0);
        }
        let new = || Client { tokens: self.burst, filled: now, running: 0 };
        let client = clients.entry(client.to_owned()).or_insert_with(new);
        if let Some(rate) = self.rate {
            let since = now.saturating_duration_since(client.filled).as_secs_f64();
            client.tokens = (client.tokens + since * rate).min(self.burst);
            client.filled = now;
            if client.tokens < 1.0 {
                return Err(Refused::Rate(whole_seconds((1.0 - client.tokens) / rate)));
            }
        }
        if self.concurrent.is_some_and(|max| client.running >= max) {
            return Err(Refused::Concurrent);
        }
        client.tokens -= 1.0;
        client.running += 1;
        Ok(())
    }

    pub(crate) fn leave(&self, client: &str) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get_mut(client) {
            client.running = client.running.saturating_sub(1);
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a day")]
fn whole_seconds(seconds: f64) -> u32 {
    seconds.ceil().clamp(1.0, 86_400.0) as u32
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_holds_its_burst_and_fills_at_its_rate() {
        let limits =
            LimitsConfig { client_requests_per_second: Some(0.5), client_burst: Some(3.0), ..LimitsConfig::default() };
        let limiter = Limiter::new(&limits);
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(limiter.enter("a", start), Ok(()));
        }
        assert_eq!(limiter.enter("a", start), Err(Refused::Rate(2)));
        assert_eq!(limiter.enter("b", start), Ok(()), "another client has its own");
        assert_eq!(limiter.enter("a", start + Duration::from_secs(1)), Err(Refused::Rate(1)));
        assert_eq!(limiter.enter("a", start + Duration::from_secs(2)), Ok(()));
    }

    #[test]
    fn places_come_back() {
        let limiter = Limiter::new(&LimitsConfig { client_concurrent: Some(2), ..LimitsConfig::default() });
        let now = Instant::now();
        assert_eq!(limiter.enter("a", now), Ok(()));
        assert_eq!(limiter.enter("a", now), Ok(()));
        assert_eq!(limiter.enter("a", now), Err(Refused::Concurrent));
        limiter.leave("a");
        assert_eq!(limiter.enter("a", now), Ok(()));
    }
}
