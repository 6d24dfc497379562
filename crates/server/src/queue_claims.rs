//! Messages that clients have claimed and not settled: each has an owner and an end.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quayline_core::{from_hex, hex};
use quayline_gateway::Problem;
use quayline_store::queue::{Attempt, Claim};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::queues_config::QueuesConfig;

/// Name of a claim, which cannot be guessed.
pub(crate) type ClaimId = [u8; 16];

/// The claims of all clients.
#[derive(Debug)]
pub(crate) struct Claims {
    claims_max: usize,
    per_client_max: usize,
    random: SystemRandom,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<ClaimId, Open>,
    /// Claims and places of each client.
    of_client: HashMap<String, usize>,
    /// Number of claims, and of places for claims in progress.
    places: usize,
}

/// A claim with its owner.
#[derive(Debug)]
struct Open {
    claim: Claim,
    queue: String,
    client: String,
    until: Instant,
}

/// Room for one claim of a client, until it is used or dropped.
#[derive(Debug)]
pub(crate) struct Room<'c> {
    claims: &'c Claims,
    client: String,
    used: bool,
}

impl Table {
    fn leave(&mut self, client: &str) {
        self.places = self.places.saturating_sub(1);
        if let Some(count) = self.of_client.get_mut(client) {
            *count -= 1;
            if *count == 0 {
                self.of_client.remove(client);
            }
        }
    }
}

impl Claims {
    pub(crate) fn new(config: Option<&QueuesConfig>) -> Claims {
        let (claims_max, per_client_max) = config.map_or((0, 0), |config| (config.claims, config.claims_per_client));
        Claims { claims_max, per_client_max, random: SystemRandom::new(), table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves room for one more claim.
    pub(crate) fn room(&self, client: &str) -> Result<Room<'_>, Box<Problem>> {
        let mut table = self.table();
        if table.places >= self.claims_max {
            return Err(Box::new(Problem::overloaded("clients have as many claims as `queues.claims` allows")));
        }
        let count = table.of_client.entry(client.to_owned()).or_insert(0);
        if *count >= self.per_client_max {
            let what = "the client has as many claims as it may: settle some of them";
            return Err(Box::new(Problem::too_many(what, 1)));
        }
        *count += 1;
        table.places += 1;
        Ok(Room { claims: self, client: client.to_owned(), used: false })
    }

    /// Takes a claim out, if it is open, of this queue and this client's.
    pub(crate) fn take(&self, queue: &str, id: &str, client: &str) -> Option<(ClaimId, Claim, Instant)> {
        let id: ClaimId = from_hex(id)?.try_into().ok()?;
        let mut table = self.table();
        table
            .open
            .get(&id)
            .filter(|open| open.client == client && open.queue == queue && open.until > Instant::now())?;
        let open = table.open.remove(&id)?;
        table.leave(&open.client);
        Some((id, open.claim, open.until))
    }

    /// Puts a claim back that [`Self::take`] took. Its place is free until then, so the bound may be passed by those that are being settled.
    pub(crate) fn put_back(&self, queue: &str, client: &str, (id, claim, until): (ClaimId, Claim, Instant)) {
        let mut table = self.table();
        *table.of_client.entry(client.to_owned()).or_insert(0) += 1;
        table.places += 1;
        table.open.insert(id, Open { claim, queue: queue.to_owned(), client: client.to_owned(), until });
    }

    /// Moves the end of a claim. Whether it is open.
    pub(crate) fn renew(&self, queue: &str, id: &str, client: &str, lasts: Duration) -> bool {
        let Some(id) = from_hex(id).and_then(|id| ClaimId::try_from(id).ok()) else { return false };
        let mut table = self.table();
        let now = Instant::now();
        let open = table.open.get_mut(&id);
        match open.filter(|open| open.client == client && open.queue == queue && open.until > now) {
            Some(open) => {
                open.until = now + lasts;
                true
            }
            None => false,
        }
    }

    /// Releases claims whose time is over. A late client counts as a failed attempt, so that a message that makes its clients fail reaches the
    /// backout queue. Returns the number of released claims.
    pub(crate) fn end_late(&self, now: Instant) -> usize {
        let late: Vec<Open> = {
            let mut table = self.table();
            let late: Vec<Open> = table.open.extract_if(|_, open| open.until <= now).map(|(_, open)| open).collect();
            late.iter().for_each(|open| table.leave(&open.client));
            late
        };
        let count = late.len();
        late.into_iter().for_each(|open| open.claim.release(Attempt::Failed));
        count
    }

    /// Gives everything back, since the server ends.
    pub(crate) fn give_all_back(&self) {
        let table = std::mem::take(&mut *self.table());
        table.open.into_values().for_each(|open| open.claim.release(Attempt::NotMade));
    }
}

impl Room<'_> {
    /// Stores a claim. Returns its id.
    pub(crate) fn keep(mut self, queue: &str, claim: Claim, lasts: Duration) -> Result<String, Box<Problem>> {
        let mut id: ClaimId = [0; 16];
        if self.claims.random.fill(&mut id).is_err() {
            return Err(Box::new(Problem::broken().logged("the system gives no random bytes")));
        }
        let open = Open { claim, queue: queue.to_owned(), client: self.client.clone(), until: Instant::now() + lasts };
        self.claims.table().open.insert(id, open);
        self.used = true;
        Ok(hex(&id))
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.claims.table().leave(&self.client);
        }
    }
}
