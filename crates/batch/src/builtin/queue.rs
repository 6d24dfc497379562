//! `quayline.queueReader` and `quayline.queueWriter`: messages got and put in the chunk's unit of work.

use std::time::Instant;

use quayline_core::Limits;
use quayline_edi::{Level, renumbered};
use quayline_store::queue::{GetWait, Message, Select};
use quayline_store::{Store, StoreError, Unit};

use super::file_writer::{LAST_NUMBER, no_interchange};
use crate::artifact::{Answer, Injected, Item, Reader, Writer};
use crate::context::StopSignal;
use crate::error::Thrown;
use crate::work::Work;

/// Returns the unit of work of the store.
pub(super) fn unit_of<'w>(work: &'w mut dyn Work, artifact: &str) -> Answer<&'w mut Unit> {
    work.unit().ok_or_else(|| {
        let message = format!("{artifact} needs a job repository in a Quayline store");
        Thrown::of(&["quayline.Configuration"], message).hint("run the job with --store DIR")
    })
}

/// Interval in milliseconds at which a wait checks for a stop request.
const LOOK_MS: u64 = 100;

pub(super) struct QueueReader {
    queue: String,
    wait_ms: u64,
    stop: StopSignal,
    was_interrupted: bool,
    open: Option<quayline_store::queue::Queue>,
}

impl QueueReader {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let queue = with.required("queue")?.to_owned();
        let (wait_ms, stop) = (with.number("wait-ms", 0)?, with.job.stop.clone());
        Ok(QueueReader { queue, wait_ms, stop, was_interrupted: false, open: None })
    }
}

impl Reader for QueueReader {
    fn open(&mut self, _checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        let unit = unit_of(work, "quayline.queueReader")?;
        self.open = Some(Store::of(unit).queue(&self.queue)?);
        Ok(())
    }

    fn read(&mut self, work: &mut dyn Work) -> Answer<Option<Item>> {
        let unit = unit_of(work, "quayline.queueReader")?;
        let queue = self.open.as_ref().expect("the reader is open");
        let begin = Instant::now();
        self.was_interrupted = false;
        loop {
            let waited = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
            let left = self.wait_ms.saturating_sub(waited);
            let wait = if left == 0 { GetWait::No } else { GetWait::AtMostMs(left.min(LOOK_MS)) };
            match queue.get(unit, Select::First, wait) {
                Ok(message) => return Ok(Some(message.payload)),
                Err(StoreError::NoMessage { .. }) if left == 0 => return Ok(None),
                Err(StoreError::NoMessage { .. }) if self.stop.is_set() => {
                    self.was_interrupted = true;
                    return Ok(None);
                }
                Err(StoreError::NoMessage { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn was_interrupted(&self) -> bool {
        self.was_interrupted
    }
}

pub(super) struct QueueWriter {
    queue: String,
    /// Sequences of the store that number interchanges and groups.
    numbers: Option<[String; 2]>,
    open: Option<quayline_store::queue::Queue>,
}

impl QueueWriter {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let numbers = with.property("control-numbers");
        let numbers = numbers.map(|name| [format!("job/{name}/interchanges"), format!("job/{name}/groups")]);
        Ok(QueueWriter { queue: with.required("queue")?.to_owned(), numbers, open: None })
    }
}

impl Writer for QueueWriter {
    fn open(&mut self, _checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        let unit = unit_of(work, "quayline.queueWriter")?;
        self.open = Some(Store::of(unit).queue(&self.queue)?);
        Ok(())
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn write(&mut self, items: &[Item], work: &mut dyn Work) -> Answer<()> {
        let unit = unit_of(work, "quayline.queueWriter")?;
        let queue = self.open.as_ref().expect("the writer is open");
        for item in items {
            let numbered = self.numbers.as_ref().map(|names| numbered(item, names, unit)).transpose()?;
            queue.put(unit, &Message::new(numbered.as_deref().unwrap_or(item)))?;
        }
        Ok(())
    }

    fn isolates(&self) -> bool {
        true
    }
}

/// Renumbers an interchange with the next control numbers of the store, as part of the chunk's unit of work. Other chunks wait until it commits, and
/// a rollback returns the numbers.
fn numbered(item: &[u8], names: &[String; 2], unit: &mut Unit) -> Answer<Vec<u8>> {
    let mut is_any = false;
    let text = renumbered::<StoreError>(item, &Limits::default(), &mut |level| {
        is_any = true;
        let name = &names[usize::from(level != Level::Interchange)];
        let next = (unit.next_number(name)? - 1) % LAST_NUMBER + 1;
        unit.set_number(name, next)?;
        Ok(next)
    })?;
    if is_any { Ok(text) } else { Err(no_interchange()) }
}
