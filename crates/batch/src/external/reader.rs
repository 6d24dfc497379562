//! `quayline.externalReader`: a program reads the items.

use std::collections::VecDeque;

use super::program::Program;
use crate::artifact::{Answer, Injected, Item, Lent, Reader};
use crate::work::Work;

/// Number of items in a request if the step does not specify the size of a chunk.
const ITEMS: u32 = 1_000;

pub(super) struct ExternalReader {
    program: Program,
    /// Items of a request: those of a chunk.
    count: String,
    /// Items that arrived, each with the position after it.
    ahead: VecDeque<(Item, Option<Vec<u8>>)>,
    position: Option<Vec<u8>>,
    is_at_end: bool,
    is_open: bool,
}

impl ExternalReader {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let count = with.step.as_deref().map_or(0, |step| step.item_count());
        Ok(ExternalReader {
            program: Program::new(with, "reader")?,
            count: if count == 0 { ITEMS } else { count }.to_string(),
            ahead: VecDeque::new(),
            position: None,
            is_at_end: false,
            is_open: false,
        })
    }

    fn more(&mut self) -> Answer<()> {
        let fields = self.program.ask("read", &[Some(self.count.as_bytes())])?;
        let mut fields = fields.into_iter();
        self.is_at_end = match fields.next().flatten().as_deref() {
            Some(b"more") => false,
            Some(b"end") => true,
            _ => return Err(self.program.misfit("read", "begins with neither `more` nor `end`")),
        };
        while let Some(item) = fields.next() {
            let (Some(item), Some(position)) = (item, fields.next()) else {
                return Err(self.program.misfit("read", "has an item without a value or without a position"));
            };
            self.ahead.push_back((item, position));
        }
        if self.ahead.is_empty() && !self.is_at_end {
            return Err(self.program.misfit("read", "is `more` without an item"));
        }
        Ok(())
    }
}

impl Reader for ExternalReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        self.ahead.clear();
        self.is_at_end = false;
        self.position = checkpoint.map(<[u8]>::to_vec);
        self.program.ask("open", &[checkpoint])?;
        self.is_open = true;
        Ok(())
    }

    fn read(&mut self, _work: &mut dyn Work) -> Answer<Option<Item>> {
        if self.ahead.is_empty() && !self.is_at_end {
            self.more().map_err(|thrown| self.program.without_position(thrown))?;
        }
        let Some((item, position)) = self.ahead.pop_front() else { return Ok(None) };
        self.position = position;
        Ok(Some(item))
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(self.position.as_deref().map(Lent::from))
    }

    fn close(&mut self) -> Answer<()> {
        if std::mem::take(&mut self.is_open) && self.program.runs() {
            self.program.ask("close", &[])?;
        }
        Ok(())
    }
}
