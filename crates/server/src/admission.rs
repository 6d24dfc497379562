//! Admission of requests: who the client is, what it may call, and how often.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hyper::header::{HeaderMap, HeaderValue};
use quayline_gateway::Problem;

use crate::access::{Denied, Guarded, Identity};
use crate::connections::network;
use crate::headers::text;
use crate::limiter::Refused;
use crate::metrics::Counted;
use crate::peer::Peer;
use crate::shared::Shared;
use crate::thread::{Thread, Version};

/// Properties of an answered request, for audit, log and metrics.
#[derive(Default)]
pub(crate) struct Known {
    /// Version of the definitions, and the operation's index there.
    pub(crate) operation: Option<(Rc<Version>, usize)>,
    /// Operation and path of a call of a queue.
    pub(crate) queue: Option<(&'static str, String)>,
    pub(crate) metrics: Option<Counted>,
    /// Time at which the answer was complete.
    pub(crate) answered: Option<Instant>,
    pub(crate) identity: Option<Rc<Identity>>,
    /// True if the request was refused because it cannot be audited.
    pub(crate) unaudited: bool,
    /// User agent of the client, for the access log.
    pub(crate) agent: Option<HeaderValue>,
    /// Places among requests in progress, of the client and of all.
    pub(crate) places: Places,
}

impl Known {
    /// Returns operation and path, as the API or the queues define them.
    pub(crate) fn route(&self) -> Option<(&str, &str)> {
        let operation = self.operation.as_ref().map(|(version, index)| &version.definitions.operations[*index]);
        match (operation, &self.queue) {
            (Some(operation), _) => Some((operation.id.as_str(), operation.path.as_str())),
            (None, Some((id, path))) => Some((id, path.as_str())),
            (None, None) => None,
        }
    }
}

/// Places that are released when the request is answered, or when it is dropped because its client disconnected.
#[derive(Default)]
pub(crate) struct Places {
    pub(crate) all: Option<Rc<Thread>>,
    client: Option<(Arc<Shared>, String)>,
}

impl Drop for Places {
    fn drop(&mut self) {
        if let Some((shared, client)) = self.client.take() {
            shared.limiter.leave(&client);
        }
        if let Some(thread) = self.all.take() {
            thread.shared.requests.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Admits a client as [`admit`] does. A token whose key is not known may be signed with a new key of the issuer, so the issuer's keys are read again.
pub(crate) async fn admit_or_renew(
    thread: &Thread,
    peer: &Peer,
    operation: Guarded<'_>,
    credentials: Option<&HeaderMap>,
    known: &mut Known,
) -> Result<(), Box<Problem>> {
    let mut admitted = check_or_charge(thread, peer, operation, credentials);
    if let Some(issuer) = &thread.shared.issuer {
        // An attempt in progress may have begun before the issuer changed its keys. The second one has begun since.
        for _ in 0..2 {
            if !(admitted.as_ref().is_err_and(|denied| denied.renew) && issuer.renewed().await) {
                break;
            }
            admitted = check(thread, peer, operation, credentials);
        }
    }
    let admitted = admitted.and_then(|identity| enter(thread, peer, identity, known));
    admitted.map_err(|denied| refused(thread, denied, known).problem)
}

/// Identifies the client and applies its limits. `headers` are those of a request that include credentials.
pub(crate) fn admit(
    thread: &Thread,
    peer: &Peer,
    operation: Guarded<'_>,
    headers: Option<&HeaderMap>,
    known: &mut Known,
) -> Result<(), Denied> {
    let admitted = check_or_charge(thread, peer, operation, headers);
    let admitted = admitted.and_then(|identity| enter(thread, peer, identity, known));
    admitted.map_err(|denied| refused(thread, denied, known))
}

/// Counts a refused request. Audit and log name a client that is known.
fn refused(thread: &Thread, denied: Denied, known: &mut Known) -> Denied {
    thread.shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
    if denied.identity.is_some() {
        known.identity.clone_from(&denied.identity);
    }
    denied
}

/// Counts a request that no operation answers against the limits of its client.
///
/// # Errors
/// 429 if the client has exceeded a limit.
pub(crate) fn charge_elsewhere(thread: &Thread, peer: &Peer, headers: &HeaderMap) -> Result<(), Box<Problem>> {
    if !thread.shared.limiter.is_active() {
        return Ok(());
    }
    let header = |name: &str| text(headers, name).map(str::to_owned);
    let identity = thread.access().identify(&header, peer.certificate.as_deref(), &thread.tokens);
    charge(thread, peer, identity.ok().flatten().as_deref()).map_err(|denied| denied.problem)
}

/// Counts a request against the limits of its client, without a place among those in progress.
fn charge(thread: &Thread, peer: &Peer, identity: Option<&Identity>) -> Result<(), Denied> {
    let limiter = &thread.shared.limiter;
    let client = limited(peer, identity);
    limiter.enter(&client, identity.map_or(&[], |identity| &identity.roles), Instant::now()).map_err(too_many)?;
    limiter.leave(&client);
    Ok(())
}

/// Identifies the client.
fn check(
    thread: &Thread,
    peer: &Peer,
    operation: Guarded<'_>,
    headers: Option<&HeaderMap>,
) -> Result<Option<Rc<Identity>>, Denied> {
    let header = |name: &str| text(headers?, name).map(str::to_owned);
    thread.access().check(operation, &header, peer.certificate.as_deref(), &thread.tokens)
}

/// Identifies the client. A request that is refused counts against the limits too: of its client, or otherwise of the client's address.
fn check_or_charge(
    thread: &Thread,
    peer: &Peer,
    operation: Guarded<'_>,
    headers: Option<&HeaderMap>,
) -> Result<Option<Rc<Identity>>, Denied> {
    let checked = check(thread, peer, operation, headers);
    if let Err(denied) = &checked
        && thread.shared.limiter.is_active()
    {
        charge(thread, peer, denied.identity.as_deref())?;
    }
    checked
}

/// Applies the limits of an identified client.
fn enter(thread: &Thread, peer: &Peer, identity: Option<Rc<Identity>>, known: &mut Known) -> Result<(), Denied> {
    let shared = &thread.shared;
    known.identity = identity;
    if shared.limiter.is_active() {
        let client = limited(peer, known.identity.as_deref());
        let roles = known.identity.as_ref().map_or(&[][..], |identity| &identity.roles);
        shared.limiter.enter(&client, roles, Instant::now()).map_err(too_many)?;
        known.places.client = Some((Arc::clone(shared), client));
    }
    Ok(())
}

fn too_many(refusal: Refused) -> Denied {
    let problem = match refusal {
        Refused::Rate(seconds) => Problem::too_many("the client sends more requests a second than it may", seconds),
        Refused::Concurrent => Problem::too_many("the client has as many requests in progress as it may", 1),
    };
    Denied { problem: Box::new(problem), renew: false, is_limited: true, identity: None }
}

/// Returns the name that limits use for a client, or for the address of an unknown one.
fn limited(peer: &Peer, identity: Option<&Identity>) -> String {
    match identity {
        Some(identity) => format!("{}:{}", identity.how, identity.name),
        None => network(peer.address.ip()).to_string(),
    }
}
