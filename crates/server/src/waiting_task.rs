//! Tasks that wait for messages.

use std::task::Waker;

use quayline_store::queue::Queue;

/// A task that waits for a message of a queue. However the wait ends, the queue forgets the task, and wakes another one if a message is there.
pub(crate) struct WaitingTask<'q> {
    queue: &'q Queue,
    waker: Option<Waker>,
}

impl<'q> WaitingTask<'q> {
    pub(crate) fn new(queue: &'q Queue) -> Self {
        WaitingTask { queue, waker: None }
    }

    /// Stores the waker of the waiting task before the queue registers it.
    pub(crate) fn notes(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }
}

impl Drop for WaitingTask<'_> {
    fn drop(&mut self) {
        if let Some(waker) = &self.waker {
            self.queue.forget(waker);
        }
    }
}
