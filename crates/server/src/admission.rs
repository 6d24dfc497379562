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

/// Admits a client. A token by a key that is not known may be one of the issuer's new ones, which are then read.
pub(crate) async fn admit_or_renew(
    thread: &Thread,
    peer: &Peer,
    operation: Guarded<'_>,
    credentials: Option<&HeaderMap>,
    known: &mut Known,
) -> Result<(), Box<Problem>> {
    let Err(denied) = admit(thread, peer, operation, credentials, known) else { return Ok(()) };
    match &thread.shared.issuer {
        Some(issuer) if denied.renew && issuer.renewed().await => {
            admit(thread, peer, operation, credentials, known).map_err(|denied| denied.problem)
        }
        _ => Err(denied.problem),
    }
}

/// Identifies the client and applies its limits. `headers` are those of a request that include credentials.
pub(crate) fn admit(
    thread: &Thread,
    peer: &Peer,
    operation: Guarded<'_>,
    headers: Option<&HeaderMap>,
    known: &mut Known,
) -> Result<(), Denied> {
    let shared = &thread.shared;
    let header = |name: &str| text(headers?, name).map(str::to_owned);
    let checked = thread.access().check(operation, &header, peer.certificate.as_deref(), &thread.tokens);
    let refused = |denied| {
        shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
        denied
    };
    let too_many = |refusal| {
        let problem = match refusal {
            Refused::Rate(seconds) => Problem::too_many("the client sends more requests a second than it may", seconds),
            Refused::Concurrent => Problem::too_many("the client has as many requests in progress as it may", 1),
        };
        refused(Denied { problem: Box::new(problem), renew: false, wrong: false })
    };
    let limited = shared.limiter.is_active();
    known.identity = match checked {
        Ok(identity) => identity,
        Err(denied) => {
            // Who guesses keys is limited by address, as is who shows none.
            if limited && denied.wrong {
                let client = limited_as(peer.address.ip());
                shared.limiter.enter(&client, &[], Instant::now()).map_err(too_many)?;
                shared.limiter.leave(&client);
            }
            return Err(refused(denied));
        }
    };
    if limited {
        let client = match &known.identity {
            Some(identity) => format!("{}:{}", identity.how, identity.name),
            None => limited_as(peer.address.ip()),
        };
        let roles = known.identity.as_ref().map_or(&[][..], |identity| &identity.roles);
        shared.limiter.enter(&client, roles, Instant::now()).map_err(too_many)?;
        known.places.client = Some((Arc::clone(shared), client));
    }
    Ok(())
}

/// Returns the name that limits use for an address.
fn limited_as(ip: std::net::IpAddr) -> String {
    network(ip).to_string()
}
