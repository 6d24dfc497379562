//! One value from one task to another of the same thread.

use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::rc::Rc;

/// Returns both ends of a reply within one thread. Unlike `tokio::sync::oneshot`, it needs no atomics.
pub(crate) fn reply<T>() -> (Sender<T>, Receiver<T>) {
    let state = Rc::new(State { value: Cell::new(None), waker: RefCell::default(), ended: Cell::new(false) });
    (Sender(Rc::clone(&state)), Receiver(state))
}

struct State<T> {
    value: Cell<Option<T>>,
    waker: RefCell<Option<Waker>>,
    /// True if one of the ends was dropped.
    ended: Cell<bool>,
}

/// Sends the value.
pub(crate) struct Sender<T>(Rc<State<T>>);

/// Waits for the value; `None` if the sender was dropped without sending one.
pub(crate) struct Receiver<T>(Rc<State<T>>);

impl<T> Sender<T> {
    /// Sends the value. Returns it as the error if no receiver is left.
    pub(crate) fn send(self, value: T) -> Result<(), T> {
        if self.0.ended.get() {
            return Err(value);
        }
        self.0.value.set(Some(value));
        Ok(())
    }

    /// Returns true if no receiver is left.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.ended.get()
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.ended.set(true);
        let waker = self.0.waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.ended.set(true);
        // A value that came too late ends now, not with the sender.
        drop(self.0.value.take());
    }
}

impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some(value) = self.0.value.take() {
            return Poll::Ready(Some(value));
        }
        if self.0.ended.get() {
            return Poll::Ready(None);
        }
        let mut waker = self.0.waker.borrow_mut();
        match &mut *waker {
            Some(known) => known.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_once_and_both_ends_see_the_other_go() {
        let mut cx = Context::from_waker(Waker::noop());
        let (sender, mut receiver) = reply();
        assert_eq!(Pin::new(&mut receiver).poll(&mut cx), Poll::Pending);
        assert!(!sender.is_closed());
        assert_eq!(sender.send(7), Ok(()));
        assert_eq!(Pin::new(&mut receiver).poll(&mut cx), Poll::Ready(Some(7)));

        let (sender, mut receiver) = reply::<u32>();
        drop(sender);
        assert_eq!(Pin::new(&mut receiver).poll(&mut cx), Poll::Ready(None));

        let (sender, receiver) = reply();
        drop(receiver);
        assert!(sender.is_closed());
        assert_eq!(sender.send(7), Err(7));
    }

    #[test]
    fn who_waits_is_woken() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let got = tokio::task::LocalSet::new().block_on(&runtime, async {
            let (sender, receiver) = reply();
            let (gone, left) = reply::<u32>();
            tokio::task::spawn_local(async move {
                tokio::task::yield_now().await;
                let _ = sender.send(7);
                drop(gone);
            });
            (receiver.await, left.await)
        });
        assert_eq!(got, (Some(7), None));
    }
}
