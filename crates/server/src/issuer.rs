//! Keys of an issuer of tokens by URL: read at the start, again now and then, and when a token names a key that is not known.
//!
//! ```text
//! a token's key is not known ─▶ renewed(): asks and waits ─▶ keep(): GET, KeySet ─▶ KeysTo::set ─▶ the request looks once more,
//!                                                                                               and waits again if that attempt began before it
//! ```
//!
//! If a set cannot be read, the earlier keys stay valid for the time in the settings. After that time, and before the first set, the server accepts
//! no token.
//!
//! A set without keys withdraws all keys. An issuer that restarts may also send an empty set. The keys therefore stay valid until the next set, which
//! the server requests soon. If that set is also empty, the keys are withdrawn.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::{ACCEPT, HOST};
use hyper::{Request, StatusCode};
use quayline_gateway::KeySet;
use tokio::sync::{Notify, watch};

use crate::authentication_config::JwtConfig;
use crate::outbound::{BodyFault, Endpoint, Whole, read_all};
use crate::tls;

/// An issuer's URL and the state of its keys.
pub(crate) struct Issuer {
    endpoint: Endpoint,
    refresh: Duration,
    keep: Duration,
    soonest: Duration,
    time_limit: Duration,
    state: Mutex<State>,
    wanted: Notify,
    /// Number of the last attempt that has ended. One runs while [`State::begun`] is greater.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// Time at which the last attempt ended; `None` before the first.
    ended: Option<Instant>,
    /// Number of the last attempt that has begun.
    begun: u64,
    /// True if a request waits for an attempt that has not begun.
    wanted: bool,
    /// Time at which the keys in force were read.
    read: Option<Instant>,
    fault: Option<String>,
    /// True if the current set has no keys.
    empty: bool,
    /// True if the last set had no keys and the previous keys remain in force.
    doubted: bool,
}

/// Longest set of keys that is read.
const SET_BYTES_MAX: usize = 256 << 10;

/// Maximum delay after a failed attempt.
const RETRY_S_MAX: u64 = 60;

/// Receiver of an issuer's keys.
pub(crate) struct KeysTo<'s> {
    /// Takes the keys in force; `None` if no token may be accepted.
    pub(crate) set: &'s dyn Fn(Option<Arc<KeySet>>),
    /// Takes lines for the operator.
    pub(crate) log: &'s dyn Fn(&str),
}

impl Issuer {
    /// Creates the state without reading keys.
    ///
    /// # Errors
    /// A description of the error in the URL or its authorities.
    pub(crate) fn new(config: &JwtConfig) -> Result<Option<Issuer>, String> {
        let Some(url) = &config.jwks_url else { return Ok(None) };
        let endpoint = Endpoint::new(url, || match &config.jwks_authorities {
            Some(path) => tls::authorities(path),
            None => tls::system_authorities(),
        })?;
        let seconds = Duration::from_secs;
        Ok(Some(Issuer {
            endpoint,
            refresh: seconds(config.jwks_refresh_seconds.unwrap_or(300).max(1)),
            keep: seconds(config.jwks_keep_seconds.unwrap_or(86_400)),
            soonest: seconds(config.jwks_soonest_seconds.unwrap_or(10)),
            time_limit: Duration::from_millis(config.jwks_time_limit_ms.unwrap_or(5000)),
            state: Mutex::default(),
            wanted: Notify::new(),
            ended: watch::Sender::new(0),
        }))
    }

    /// Waits until the attempt in progress has ended, or requests one and waits for it. Returns `false` if the last one is too recent or the time
    /// limit is over. Concurrent requests share one attempt, and attempts are never more frequent than the settings allow.
    ///
    /// An attempt in progress may have read the keys before they changed. If it did not bring the key, the caller calls again and gets a later one.
    pub(crate) async fn renewed(&self) -> bool {
        let mut ended = self.ended.subscribe();
        let awaited = {
            let mut state = self.state();
            if state.begun > *ended.borrow() {
                state.begun
            } else if state.ended.is_some_and(|at| at.elapsed() < self.soonest) {
                return false;
            } else {
                state.wanted = true;
                self.wanted.notify_one();
                state.begun + 1
            }
        };
        let limit = self.time_limit + Duration::from_secs(1);
        tokio::time::timeout(limit, ended.wait_for(|ended| *ended >= awaited)).await.is_ok_and(|seen| seen.is_ok())
    }

    /// Returns the reason if tokens cannot be checked.
    pub(crate) fn not_ready(&self) -> Option<String> {
        let state = self.state();
        if state.read.is_some() {
            return state.empty.then(|| "the issuer's keys: its set has no key of a supported kind".to_owned());
        }
        let why = state.fault.clone().unwrap_or_else(|| "they are being read".to_owned());
        Some(format!("the issuer's keys: {why}"))
    }

    /// Keeps the keys fresh until the server ends.
    pub(crate) async fn keep(&self, to: &KeysTo<'_>) {
        let mut failures = 0u32;
        loop {
            let number = self.begin();
            let got = tokio::time::timeout(self.time_limit, self.fetch()).await;
            let got = got.unwrap_or_else(|_| Err(format!("no answer within {} ms", self.time_limit.as_millis())));
            let pause = match got {
                Ok(keys) if !keys.is_empty() => {
                    failures = 0;
                    self.good(to, keys);
                    self.refresh
                }
                other => {
                    let backoff = Duration::from_secs((1u64 << failures.min(6)).min(RETRY_S_MAX)).min(self.refresh);
                    failures = failures.saturating_add(1);
                    match other {
                        Ok(none) => {
                            self.empty(to, none);
                            backoff
                        }
                        Err(why) => self.bad(to, why, backoff),
                    }
                }
            };
            self.ended.send_replace(number);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = async {
                    while !self.state().wanted {
                        self.wanted.notified().await;
                    }
                } => {}
            }
        }
    }

    /// Begins an attempt, which serves all requests up to now, and returns its number.
    fn begin(&self) -> u64 {
        let mut state = self.state();
        state.wanted = false;
        state.begun += 1;
        state.begun
    }

    fn good(&self, to: &KeysTo<'_>, keys: KeySet) {
        (to.set)(Some(Arc::new(keys)));
        let ended = Some(Instant::now());
        let mut state = self.state();
        let new = State { ended, begun: state.begun, read: ended, ..State::default() };
        let old = core::mem::replace(&mut *state, new);
        drop(state);
        if old.fault.is_some() || old.empty || old.doubted {
            (to.log)("the issuer's keys can be read again");
        }
    }

    /// Records a set without keys. The second one in a row withdraws the keys in force.
    fn empty(&self, to: &KeysTo<'_>, none: KeySet) {
        let mut state = self.state();
        state.ended = Some(Instant::now());
        state.fault = None;
        let first = state.read.is_some() && !state.empty && !state.doubted;
        let new = first || !state.empty;
        state.doubted = first;
        if !first {
            state.read = state.ended;
            state.empty = true;
        }
        drop(state);
        if !first {
            (to.set)(Some(Arc::new(none)));
        }
        if new {
            let earlier = "the earlier keys stay in force until the next set";
            let then = if first { earlier } else { "the server accepts no token" };
            let from = self.endpoint.authority();
            (to.log)(&format!("the issuer's set has no key of a supported kind: {from}; {then}"));
        }
    }

    /// Notes a failure and says when to try again.
    fn bad(&self, to: &KeysTo<'_>, why: String, backoff: Duration) -> Duration {
        let mut state = self.state();
        state.ended = Some(Instant::now());
        let left = state.read.map(|read| self.keep.saturating_sub(read.elapsed()));
        let over = left.is_some_and(|left| left.is_zero());
        if over {
            state.read = None;
        }
        let new = over || state.fault.as_ref() != Some(&why);
        state.fault = Some(why.clone());
        let has_keys = state.read.is_some();
        drop(state);
        if over {
            (to.set)(None);
        }
        if new {
            let then = if has_keys { "the earlier keys stay in force" } else { "the server accepts no token" };
            (to.log)(&format!("the issuer's keys cannot be read: {}: {why}; {then}", self.endpoint.authority()));
        }
        left.filter(|left| !left.is_zero()).map_or(backoff, |left| backoff.min(left))
    }

    async fn fetch(&self) -> Result<KeySet, String> {
        let mut send = self.endpoint.connect().await?;
        send.ready().await.map_err(|error| error.to_string())?;
        let request = Request::get(self.endpoint.target())
            .header(HOST, self.endpoint.authority())
            .header(ACCEPT, "application/jwk-set+json, application/json")
            .body(Whole(None))
            .map_err(|error| error.to_string())?;
        let response = send.send_request(request).await.map_err(|error| error.to_string())?;
        if response.status() != StatusCode::OK {
            let hint = if response.status().is_redirection() { "; redirections are not followed" } else { "" };
            return Err(format!("it answered {}{hint}", response.status()));
        }
        let mut bytes = Vec::new();
        read_all(response.into_body(), SET_BYTES_MAX, &mut bytes).await.map_err(|fault| match fault {
            BodyFault::TooLong => format!("the answer is longer than {SET_BYTES_MAX} bytes"),
            BodyFault::Broken(why) => why,
        })?;
        KeySet::parse(&bytes).map_err(str::to_owned)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
