//! `quayline.externalCheckpointAlgorithm`: a program decides when a chunk ends. Each answer has the number of items until the next request, so that a
//! chunk
//! needs one request and not one for each item.

use super::program::Program;
use super::wire::Field;
use crate::artifact::{Answer, CheckpointAlgorithm, Injected};

pub(super) struct ExternalAlgorithm {
    program: Program,
    /// Items of the chunk so far.
    items: u64,
    /// Items of the chunk at which the program is asked.
    ask_at: u64,
}

impl ExternalAlgorithm {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalAlgorithm { program: Program::new(with, "checkpoint-algorithm")?, items: 0, ask_at: 1 })
    }

    /// Requests a number of items; returns `default` if the answer has no field.
    fn number(&mut self, verb: &str, fields: &[Field], default: u64) -> Answer<u64> {
        let Some(Some(text)) = fields.first() else { return Ok(default) };
        match std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()) {
            Some(number) => Ok(number),
            None => Err(self.program.misfit(verb, "is not a number of items")),
        }
    }
}

impl CheckpointAlgorithm for ExternalAlgorithm {
    fn begin(&mut self) -> Answer<()> {
        self.items = 0;
        let fields = self.program.ask("begin", &[])?;
        self.ask_at = self.number("begin", &fields, 1)?.max(1);
        Ok(())
    }

    fn is_ready(&mut self) -> Answer<bool> {
        self.items += 1;
        if self.items < self.ask_at {
            return Ok(false);
        }
        let items = self.items.to_string();
        let fields = self.program.ask("ready", &[Some(items.as_bytes())])?;
        let more = self.number("ready", &fields, 0)?;
        self.ask_at = self.items.saturating_add(more);
        Ok(more == 0)
    }

    fn end(&mut self) -> Answer<()> {
        // Only a program that declares the ability is called; otherwise the chunk needs no further request.
        if self.program.can("end") {
            self.program.ask("end", &[])?;
        }
        Ok(())
    }
}
