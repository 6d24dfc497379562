//! Containment of panics: a panic ends only the future in which it happens.
//!
//! Every future that holds a shared resource (a connection slot, a worker's queue, the watch for changed files) runs under
//! [`caught`]. `Drop` releases the resource, also while the stack unwinds.

use core::future::Future;
use core::task::Poll;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::shared::Shared;

/// A future ended by a panic, which [`report_once`] has reported.
#[derive(Debug)]
pub(crate) struct Panicked;

/// Runs a future; a panic in it is an error.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, Panicked> {
    let mut future = core::pin::pin!(future);
    core::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(_) => Poll::Ready(Err(Panicked)),
    })
    .await
}

/// Reports each place that panics once with all that the process reports of a panic, a backtrace for example, and later by one line: a client
/// that has found such a place must not be able to fill the log.
pub(crate) fn report_once(shared: &Arc<Shared>) {
    let whole = std::panic::take_hook();
    let known: Mutex<HashSet<String>> = Mutex::default();
    let shared = Arc::downgrade(shared);
    std::panic::set_hook(Box::new(move |panic| {
        // Damage of the store is an error of the request, or ends the process.
        if quayline_store::is_guarded(panic.location()) {
            return whole(panic);
        }
        let Some(shared) = shared.upgrade() else { return whole(panic) };
        shared.metrics.panics.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        if known.lock().unwrap_or_else(PoisonError::into_inner).insert(place.clone()) {
            whole(panic);
        } else {
            shared.log(&format!("a bug of ours at {place} again"));
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_what_was_held_is_given_back() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let held = std::rc::Rc::new(());
        let inner = std::rc::Rc::clone(&held);
        let done = runtime.block_on(caught(async move {
            let _held = inner;
            tokio::task::yield_now().await;
            panic!("a panic on purpose")
        }));
        assert!(done.is_err());
        assert_eq!(std::rc::Rc::strong_count(&held), 1);
        assert_eq!(runtime.block_on(caught(async { 7 })).unwrap(), 7);
    }
}
