//! Outcome of a commit, as a future that blocks no thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use quayline_meter::{WaitFor, waited_beside, waiting};

use crate::{Completion, Position, StoreError};

/// A pending commit. Await it, [wait](Self::wait) for it, or drop it: the commit happens in any case.
#[derive(Debug)]
pub struct Ticket {
    shared: Arc<Shared>,
    /// Begin of the wait of a task, whose thread does other work meanwhile.
    since: Option<Instant>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    outcome: Option<Result<Position, StoreError>>,
    waker: Option<Waker>,
}

impl Ticket {
    /// Creates a ticket and the completion that resolves it.
    pub(crate) fn new() -> (Ticket, Completion) {
        let shared = Arc::new(Shared::default());
        let ticket = Ticket { shared: Arc::clone(&shared), since: None };
        let completion = Box::new(move |outcome| {
            let mut state = shared.state.lock();
            state.outcome = Some(outcome);
            let waker = state.waker.take();
            drop(state);
            shared.done.notify_all();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        (ticket, completion)
    }

    /// Returns the outcome if it is known.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Position, StoreError>> {
        self.shared.state.lock().outcome.clone()
    }

    /// Blocks the thread until the outcome is known.
    ///
    /// # Errors
    /// Errors of the commit.
    pub fn wait(self) -> Result<Position, StoreError> {
        let mut state = self.shared.state.lock();
        loop {
            if let Some(outcome) = state.outcome.clone() {
                return outcome;
            }
            waiting(WaitFor::Commit, || self.shared.done.wait(&mut state));
        }
    }
}

impl Future for Ticket {
    type Output = Result<Position, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Ticket { shared, since } = self.get_mut();
        let mut state = shared.state.lock();
        match &state.outcome {
            Some(outcome) => {
                let outcome = outcome.clone();
                if let Some(since) = since.take() {
                    waited_beside(WaitFor::Commit, since.elapsed());
                }
                Poll::Ready(outcome)
            }
            None => {
                // A commit that is done at the first look needs no clock.
                since.get_or_insert_with(Instant::now);
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
