//! `quayline.rejectReader`: the items that an earlier execution skipped and kept.

use std::collections::VecDeque;

use crate::artifact::{Answer, Injected, Item, Lent, Reader};
use crate::error::Thrown;
use crate::record::{ExecutionId, Reject, Stage};
use crate::repository::{execution_of, rejects_of, steps_of};
use crate::work::Work;

/// Rejects that are read at once.
const PAGE: usize = 256;

/// The checkpoint is the place of the last item, so a restart seeks.
pub(super) struct RejectReader {
    execution: ExecutionId,
    step: Option<String>,
    stage: Option<Stage>,
    ahead: VecDeque<(Reject, Vec<u8>)>,
    /// The place of the last reject that was fetched.
    fetched: Option<Vec<u8>>,
    place: Option<Vec<u8>>,
    is_at_end: bool,
}

impl RejectReader {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let stage = match with.property("stage") {
            Some("process") => Some(Stage::Process),
            Some("write") => Some(Stage::Write),
            _ => None,
        };
        Ok(RejectReader {
            execution: ExecutionId(with.number("execution", 0)?),
            step: with.property("step").map(str::to_owned),
            stage,
            ahead: VecDeque::new(),
            fetched: None,
            place: None,
            is_at_end: false,
        })
    }
}

impl Reader for RejectReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, work: &mut dyn Work) -> Answer<()> {
        execution_of(work, self.execution)?;
        if let Some(step) = &self.step
            && !steps_of(work, self.execution)?.iter().any(|known| known.step == *step)
        {
            let message = format!("execution {} has no step {step}", self.execution);
            return Err(Thrown::of(&["quayline.Configuration"], message)
                .hint("write a step that the execution ran, or leave the property step out"));
        }
        self.ahead.clear();
        self.place = checkpoint.map(<[u8]>::to_vec);
        self.fetched.clone_from(&self.place);
        self.is_at_end = false;
        Ok(())
    }

    fn read(&mut self, work: &mut dyn Work) -> Answer<Option<Item>> {
        loop {
            if let Some((reject, place)) = self.ahead.pop_front() {
                self.place = Some(place);
                let is_wanted = self.step.as_ref().is_none_or(|step| *step == reject.step)
                    && self.stage.is_none_or(|stage| stage == reject.stage);
                match reject.item.filter(|_| is_wanted) {
                    Some(item) => return Ok(Some(item)),
                    None => continue,
                }
            }
            if self.is_at_end {
                return Ok(None);
            }
            let found = rejects_of(work, self.execution, self.fetched.as_deref(), PAGE)?;
            // Large items make a page short, so only an empty page is the end.
            self.is_at_end = found.is_empty();
            self.fetched = found.last().map(|(_, place)| place.clone()).or(self.fetched.take());
            self.ahead = found.into();
        }
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(self.place.as_deref().map(Lent::from))
    }
}
