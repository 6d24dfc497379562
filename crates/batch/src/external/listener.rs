//! `quayline.externalListener`: a program receives events. Events of single items are sent with the next event of the chunk.

use std::sync::Arc;

use super::program::{Program, text_of};
use super::wire::Field;
use crate::artifact::{Answer, Injected, Item, Listener};
use crate::context::{JobContext, StepContext};
use crate::error::Thrown;

/// Maximum size in bytes of waiting events, beyond which they are sent at once.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Fields of an event: its name, its item, a text, the class of an exception.
const FIELDS: usize = 4;
/// Maximum number of waiting events.
const WAITING_MAX: usize = 10_000;

pub(super) struct ExternalListener {
    program: Program,
    job: Arc<JobContext>,
    step: Option<Arc<StepContext>>,
    waiting: Vec<Field>,
    bytes: usize,
}

/// Time at which an event is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Send {
    /// The event is sent with the next event that is sent immediately.
    Later,
    Now,
}

impl ExternalListener {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalListener {
            program: Program::new(with, "listener")?,
            job: Arc::clone(&with.job),
            step: with.step.clone(),
            waiting: Vec::new(),
            bytes: 0,
        })
    }

    fn hear(
        &mut self,
        send: Send,
        event: &str,
        item: Option<&[u8]>,
        text: Option<&str>,
        class: Option<&str>,
    ) -> Answer<()> {
        // If the program has ended, the next event that it may handle starts it again.
        self.program.start()?;
        if self.program.can(event) {
            self.bytes += event.len() + item.map_or(0, <[u8]>::len) + text.map_or(0, str::len);
            let of = |text: &str| text.as_bytes().to_vec();
            self.waiting.extend([Some(of(event)), item.map(<[u8]>::to_vec), text.map(of), class.map(of)]);
        }
        let is_full = self.bytes > WAITING_BYTES_MAX || self.waiting.len() >= WAITING_MAX * FIELDS;
        if self.waiting.is_empty() || (send == Send::Later && !is_full) {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let fields: Vec<Option<&[u8]>> = waiting.iter().map(Option::as_deref).collect();
        let answer = self.program.ask("hear", &fields)?;
        if let Some(status) = answer.into_iter().next().flatten() {
            let status = text_of(&status);
            match &self.step {
                Some(step) => step.set_exit_status(status),
                None => self.job.set_exit_status(status),
            }
        }
        Ok(())
    }

    fn plain(&mut self, send: Send, event: &str) -> Answer<()> {
        self.hear(send, event, None, None, None)
    }

    fn thrown(&mut self, event: &str, item: Option<&[u8]>, thrown: &Thrown) -> Answer<()> {
        self.hear(Send::Later, event, item, Some(&thrown.message), Some(thrown.class()))
    }

    fn items(&mut self, event: &str, items: &[Item]) -> Answer<()> {
        self.hear(Send::Later, event, None, Some(&items.len().to_string()), None)
    }
}

impl Listener for ExternalListener {
    fn before_job(&mut self) -> Answer<()> {
        self.plain(Send::Now, "beforeJob")
    }
    fn after_job(&mut self) -> Answer<()> {
        let status = self.job.status().text();
        self.hear(Send::Now, "afterJob", None, Some(status), None)
    }
    fn before_step(&mut self) -> Answer<()> {
        self.plain(Send::Now, "beforeStep")
    }
    fn after_step(&mut self) -> Answer<()> {
        let status = self.step.as_ref().map(|step| step.status().text());
        self.hear(Send::Now, "afterStep", None, status, None)
    }
    fn before_chunk(&mut self) -> Answer<()> {
        self.plain(Send::Later, "beforeChunk")
    }
    fn after_chunk(&mut self) -> Answer<()> {
        self.plain(Send::Now, "afterChunk")
    }
    fn on_chunk_error(&mut self, thrown: &Thrown) -> Answer<()> {
        self.hear(Send::Now, "onChunkError", None, Some(&thrown.message), Some(thrown.class()))
    }
    fn before_read(&mut self) -> Answer<()> {
        self.plain(Send::Later, "beforeRead")
    }
    fn after_read(&mut self, item: &Item) -> Answer<()> {
        self.hear(Send::Later, "afterRead", Some(item), None, None)
    }
    fn on_read_error(&mut self, thrown: &Thrown) -> Answer<()> {
        self.thrown("onReadError", None, thrown)
    }
    fn before_process(&mut self, item: &Item) -> Answer<()> {
        self.hear(Send::Later, "beforeProcess", Some(item), None, None)
    }
    fn after_process(&mut self, _item: &Item, result: Option<&Item>) -> Answer<()> {
        self.hear(Send::Later, "afterProcess", result.map(Vec::as_slice), None, None)
    }
    fn on_process_error(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        self.thrown("onProcessError", Some(item), thrown)
    }
    fn before_write(&mut self, items: &[Item]) -> Answer<()> {
        self.items("beforeWrite", items)
    }
    fn after_write(&mut self, items: &[Item]) -> Answer<()> {
        self.items("afterWrite", items)
    }
    fn on_write_error(&mut self, _items: &[Item], thrown: &Thrown) -> Answer<()> {
        self.thrown("onWriteError", None, thrown)
    }
    fn on_skip_read(&mut self, thrown: &Thrown) -> Answer<()> {
        self.thrown("onSkipRead", None, thrown)
    }
    fn on_skip_process(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        self.thrown("onSkipProcess", Some(item), thrown)
    }
    fn on_skip_write(&mut self, items: &[Item], thrown: &Thrown) -> Answer<()> {
        items.iter().try_for_each(|item| self.thrown("onSkipWrite", Some(item), thrown))
    }
    fn on_retry_read(&mut self, thrown: &Thrown) -> Answer<()> {
        self.thrown("onRetryRead", None, thrown)
    }
    fn on_retry_process(&mut self, item: &Item, thrown: &Thrown) -> Answer<()> {
        self.thrown("onRetryProcess", Some(item), thrown)
    }
    fn on_retry_write(&mut self, _items: &[Item], thrown: &Thrown) -> Answer<()> {
        self.thrown("onRetryWrite", None, thrown)
    }
}
