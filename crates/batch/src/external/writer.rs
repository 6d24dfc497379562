//! `quayline.externalWriter`: a program writes the items, those of a chunk in one request.

use super::program::Program;
use crate::artifact::{Answer, Injected, Item, Lent, Writer};
use crate::work::Work;

pub(super) struct ExternalWriter {
    program: Program,
    position: Option<Vec<u8>>,
    is_open: bool,
}

impl ExternalWriter {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalWriter { program: Program::new(with, "writer")?, position: None, is_open: false })
    }
}

impl Writer for ExternalWriter {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        self.position = checkpoint.map(<[u8]>::to_vec);
        self.program.ask("open", &[checkpoint])?;
        self.is_open = true;
        Ok(())
    }

    fn write(&mut self, items: &[Item], _work: &mut dyn Work) -> Answer<()> {
        let fields: Vec<Option<&[u8]>> = items.iter().map(|item| Some(item.as_slice())).collect();
        let answer = self.program.ask("write", &fields);
        let mut fields = answer.map_err(|thrown| self.program.without_position(thrown))?;
        if fields.len() != 1 {
            let what = format!("has {} fields, expected the position", fields.len());
            return Err(self.program.misfit("write", what).reopens());
        }
        self.position = fields.pop().flatten();
        Ok(())
    }

    fn isolates(&self) -> bool {
        self.program.can("isolates")
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        Ok(self.position.as_deref().map(Lent::from))
    }

    fn close(&mut self, complete: bool) -> Answer<()> {
        if std::mem::take(&mut self.is_open) && self.program.runs() {
            let how: &[u8] = if complete { b"complete" } else { b"incomplete" };
            self.program.ask("close", &[Some(how)])?;
        }
        Ok(())
    }
}
