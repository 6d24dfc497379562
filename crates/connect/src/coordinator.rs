//! Links to the coordinator of transactions: each transaction is a unit of work.

use std::sync::Arc;

use quayline_amqp::{AmqpError, Control, Delivery, DeliveryState, LinkId, Message as Transferred, condition};
use quayline_store::StoreError;
use quayline_store::queue::{Attempt, Claim, Message, Queue};

use crate::client::{CONTROL_CREDIT, Client, amqp_error};
use crate::facts::count;
use crate::get::{UNDELIVERABLE, rejection};
use crate::mailbox::Signal;
use crate::transaction::{Transaction, TransactionPlace};

/// Clients may hold one of this many parts of the store's units of work.
const STORE_PART: usize = 4;

impl Client {
    /// Handles a message to the coordinator: declare or discharge (AMQP 1.0, part 4).
    pub(crate) fn control(&mut self, message: &Transferred, now_ms: u64) {
        let delivery = message.delivery;
        match Control::read(&message.bytes) {
            Ok(Control::Declare) => match self.declare(now_ms) {
                Ok(txn_id) => self.endpoint.settle(delivery, DeliveryState::Declared { txn_id }),
                Err(error) => self.endpoint.settle(delivery, DeliveryState::Rejected(Some(error))),
            },
            Ok(Control::Discharge { txn_id, fail }) => self.discharge(delivery, &txn_id, fail),
            Err(error) => {
                let what = format!("expected declare or discharge of a local transaction: {error}");
                let error = AmqpError::new(condition::NOT_IMPLEMENTED, what);
                self.endpoint.settle(delivery, DeliveryState::Rejected(Some(error)));
            }
        }
        self.grant_control(delivery.link);
    }

    /// Renews the client's credit once half is used.
    pub(crate) fn grant_control(&mut self, link: LinkId) {
        if self.endpoint.granted(link) < CONTROL_CREDIT / 2 {
            self.endpoint.grant(link, CONTROL_CREDIT);
        }
    }

    fn declare(&mut self, now_ms: u64) -> Result<Vec<u8>, AmqpError> {
        let max = self.shared.settings.limits.transactions;
        if self.transactions.len() >= max {
            let what = format!("the connection has {max} open transactions, which is its limit");
            return Err(AmqpError::new(condition::RESOURCE_LIMIT, what));
        }
        let limits = &self.shared.settings.limits;
        let max = limits.transactions_all.min(self.shared.store.limits().units_open_max / STORE_PART).max(1);
        let place = TransactionPlace::take(&self.shared.transactions, max).ok_or_else(|| {
            let what = format!(
                "all clients together have {max} open transactions, which is the limit of the listener; retry when others have ended"
            );
            AmqpError::new(condition::RESOURCE_LIMIT, what)
        })?;
        let unit = self.shared.store.begin().map_err(|error| amqp_error(&error))?;
        let txn_id = self.next_transaction.to_be_bytes().to_vec();
        self.next_transaction += 1;
        let transaction =
            Transaction { unit: Some(unit), releases: Vec::new(), failed: None, began_ms: now_ms, place: Some(place) };
        self.transactions.insert(txn_id.clone(), transaction);
        Ok(txn_id)
    }

    fn discharge(&mut self, delivery: Delivery, txn_id: &[u8], fail: bool) {
        let Some(transaction) = self.transactions.remove(txn_id) else {
            let error = AmqpError::new(condition::UNKNOWN_TRANSACTION, "no such transaction on this connection");
            return self.endpoint.settle(delivery, DeliveryState::Rejected(Some(error)));
        };
        let counters = &self.shared.counters;
        match (transaction.unit, transaction.failed, fail) {
            (Some(unit), None, false) => {
                // The content of the batch comes first, as the client sent it first.
                let releases = transaction.releases;
                let mailbox = Arc::clone(&self.mailbox);
                self.commit_batch();
                self.in_flight += 1;
                unit.submit_with(Box::new(move |outcome| {
                    let outcome = outcome.map(|_| ());
                    for (claim, attempt) in releases {
                        claim.release(if outcome.is_ok() { attempt } else { Attempt::NotMade });
                    }
                    mailbox.leave(Signal::Discharged { delivery, outcome });
                }));
            }
            (unit, _, true) => {
                drop(unit);
                count(&counters.rolled_back);
                self.endpoint.settle(delivery, DeliveryState::Accepted);
            }
            (unit, failed, false) => {
                drop(unit);
                count(&counters.rolled_back);
                let why = failed.map_or(String::new(), |error| format!(": {error}"));
                let what = format!("the transaction was rolled back{why}");
                let error = AmqpError::new(condition::ROLLED_BACK, what);
                self.endpoint.settle(delivery, DeliveryState::Rejected(Some(error)));
            }
        }
    }

    pub(crate) fn discharged(&mut self, delivery: Delivery, outcome: Result<(), StoreError>) {
        match outcome {
            Ok(()) => {
                count(&self.shared.counters.committed);
                self.endpoint.settle(delivery, DeliveryState::Accepted);
            }
            Err(error) => {
                count(&self.shared.counters.rolled_back);
                let error = AmqpError::new(condition::ROLLED_BACK, amqp_error(&error).description);
                self.endpoint.settle(delivery, DeliveryState::Rejected(Some(error)));
            }
        }
    }

    /// Puts a message as a part of the client's transaction. The outcome is that the message is good; it holds if the transaction commits.
    pub(crate) fn put_in_transaction(
        &mut self,
        delivery: Delivery,
        waits: Option<Delivery>,
        state: &DeliveryState,
        queue: &Queue,
        message: &Message,
    ) {
        let DeliveryState::Transactional { txn_id, .. } = state else {
            let error = AmqpError::new(condition::INVALID_FIELD, "a message has a state that is not transactional");
            return self.reject(delivery, waits, error);
        };
        let put = match self.transactions.get_mut(txn_id) {
            None => return self.endpoint.detach(delivery.link, Some(unknown())),
            // It can no longer commit; the client learns that when it tries.
            Some(Transaction { unit: None, .. } | Transaction { failed: Some(_), .. }) => Ok(()),
            Some(Transaction { unit: Some(unit), .. }) => queue.put(unit, message).map(|_| ()),
        };
        match put {
            Ok(()) => {
                count(&self.shared.counters.received);
                let outcome = Some(Box::new(DeliveryState::Accepted));
                let state = DeliveryState::Transactional { txn_id: txn_id.clone(), outcome };
                self.endpoint.settle(delivery, state);
                self.grant(delivery.link);
            }
            Err(error) => {
                let error = amqp_error(&error);
                self.fail_transaction(Some(state), &error);
                self.reject(delivery, waits, error);
            }
        }
    }

    /// Marks a transaction as failed, after which it cannot commit.
    pub(crate) fn fail_transaction(&mut self, state: Option<&DeliveryState>, error: &AmqpError) {
        if let Some(DeliveryState::Transactional { txn_id, .. }) = state
            && let Some(transaction) = self.transactions.get_mut(txn_id)
        {
            transaction.failed.get_or_insert_with(|| error.clone());
        }
    }

    /// Adds the outcome of a message to the client's transaction.
    pub(crate) fn get_in_transaction(
        &mut self,
        delivery: Delivery,
        claim: Claim,
        txn_id: &[u8],
        outcome: &DeliveryState,
    ) {
        let Some(transaction) = self.transactions.get_mut(txn_id) else {
            claim.release(Attempt::NotMade);
            return self.endpoint.detach(delivery.link, Some(unknown()));
        };
        let Some(unit) = &mut transaction.unit else { return claim.release(Attempt::Failed) };
        let done = match outcome {
            DeliveryState::Rejected(error) => bury(transaction, claim, &rejection(error.as_ref())),
            DeliveryState::Modified { undeliverable_here: true, .. } => bury(transaction, claim, UNDELIVERABLE),
            DeliveryState::Released => {
                transaction.releases.push((claim, Attempt::NotMade));
                Ok(())
            }
            DeliveryState::Modified { delivery_failed, .. } => {
                let attempt = if *delivery_failed { Attempt::Failed } else { Attempt::NotMade };
                transaction.releases.push((claim, attempt));
                Ok(())
            }
            _ => claim.get(unit).map_err(|error| amqp_error(&error)),
        };
        if let Err(error) = done {
            transaction.failed.get_or_insert(error);
        }
    }

    /// Rolls back transactions that are too old. When the next one may be.
    pub(crate) fn end_old_transactions(&mut self, now_ms: u64) -> u64 {
        let limit_ms = self.shared.settings.limits.transaction_ms;
        let mut next_ms = u64::MAX;
        for transaction in self.transactions.values_mut().filter(|transaction| transaction.unit.is_some()) {
            let end_ms = transaction.began_ms.saturating_add(limit_ms);
            if end_ms <= now_ms {
                transaction.unit = None;
                transaction.place = None;
                transaction.releases.clear();
                let what = format!("it was open for more than {limit_ms} ms");
                transaction.failed = Some(AmqpError::new(condition::TRANSACTION_TIMEOUT, what));
            } else {
                next_ms = next_ms.min(end_ms);
            }
        }
        next_ms
    }
}

/// Moves a message to the backout queue with a transaction. Without a queue for it, the message returns when the transaction commits, and counts.
fn bury(transaction: &mut Transaction, claim: Claim, reason: &str) -> Result<(), AmqpError> {
    let Some(unit) = &mut transaction.unit else { return Ok(()) };
    match claim.move_to_backout(unit, reason, None) {
        Ok(()) => Ok(()),
        Err(refused) => match *refused {
            // The unit of work contains nothing of the move.
            (
                claim,
                StoreError::QueueMissing { .. } | StoreError::QueueFull { .. } | StoreError::MessageTooLong { .. },
            ) => {
                transaction.releases.push((claim, Attempt::Failed));
                Ok(())
            }
            (_, error) => Err(amqp_error(&error)),
        },
    }
}

fn unknown() -> AmqpError {
    AmqpError::new(condition::UNKNOWN_TRANSACTION, "no such transaction on this connection")
}
