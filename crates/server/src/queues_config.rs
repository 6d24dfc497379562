//! `[serve.queues]`: which queues clients may use over HTTP, and how much.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Queues of the store that clients may use over HTTP. A queue that is not listed does not exist for them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct QueuesConfig {
    /// Path of all queues. Default `/queues`.
    pub path: String,
    /// Bytes of a message. Default: `body-bytes` of the limits.
    pub message_bytes: Option<usize>,
    /// Longest time in milliseconds that a request may wait for a message. Default 30,000: below the idle limit of most proxies.
    pub wait_ms_max: u64,
    /// Requests that wait for messages at once. Default 1,000.
    pub waiting: usize,
    /// Seconds after which a claim ends that names no time. Default 30.
    pub claim_seconds: u64,
    /// Longest time of a claim in seconds. Default 3,600.
    pub claim_seconds_max: u64,
    /// Claims that may be open. Default 10,000.
    pub claims: usize,
    /// Claims that one client may have open. Default 1,000.
    pub claims_per_client: usize,
    /// Most messages of one page of a browse. Default 100.
    pub page: usize,
    /// Queues by name, with who may use them.
    pub queue: BTreeMap<String, QueueRights>,
}

impl Default for QueuesConfig {
    fn default() -> Self {
        QueuesConfig {
            path: "/queues".to_owned(),
            message_bytes: None,
            wait_ms_max: 30_000,
            waiting: 1_000,
            claim_seconds: 30,
            claim_seconds_max: 3_600,
            claims: 10_000,
            claims_per_client: 1_000,
            page: 100,
            queue: BTreeMap::new(),
        }
    }
}

/// Roles that may use a queue. Without a list, no client may. `*` in a list stands for every authenticated client.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct QueueRights {
    /// Roles that may put.
    pub put: Vec<String>,
    /// Roles that may get, claim and settle.
    pub get: Vec<String>,
    /// Roles that may look at messages and depth.
    pub browse: Vec<String>,
}

/// A right of a client on a queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Right {
    Put,
    Get,
    Browse,
}

impl QueueRights {
    /// Roles that have a right.
    pub(crate) fn roles(&self, right: Right) -> &[String] {
        match right {
            Right::Put => &self.put,
            Right::Get => &self.get,
            Right::Browse => &self.browse,
        }
    }
}

impl QueuesConfig {
    /// Values that would let nothing through.
    pub(crate) fn wrong(&self, value: &mut dyn FnMut(&'static str, &str, &str)) {
        let path = self.path.strip_prefix('/').unwrap_or_default();
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
        };
        if !path.split('/').all(is_part) {
            let message = "expected a path of one part or more, such as `/queues` or `/v1/queues`";
            value("queues.path", message, "begin with `/`, end without one, and use letters, digits and - . _ ~");
        }
        let least = [
            ("queues.message-bytes", self.message_bytes != Some(0), "at least 1 byte"),
            ("queues.waiting", self.waiting >= 1, "at least 1 request"),
            (
                "queues.claim-seconds",
                (1..=self.claim_seconds_max).contains(&self.claim_seconds),
                "1 second or more, and at most `claim-seconds-max`",
            ),
            ("queues.claims", self.claims >= 1, "at least 1 claim"),
            ("queues.claims-per-client", self.claims_per_client >= 1, "at least 1 claim"),
            ("queues.page", (1..=1000).contains(&self.page), "1 to 1000 messages"),
        ];
        for (key, fits, expected) in least {
            if !fits {
                let message = format!("expected {expected}");
                value(key, &message, "leave the key out for its default, which docs/reference/gateway.md gives");
            }
        }
        if self.queue.is_empty() {
            let message = "no queue is listed, so clients would find none";
            value("queues", message, "add a table such as [serve.queues.queue.ORDERS] with `put`, `get` or `browse`");
        }
        for (name, rights) in &self.queue {
            if rights.put.is_empty() && rights.get.is_empty() && rights.browse.is_empty() {
                let message = format!("no client may use the queue {name}");
                let hint =
                    "add `put`, `get` or `browse`, each a list of roles; `[\"*\"]` is every client that authenticates";
                value("queues.queue", &message, hint);
            }
        }
    }
}
