//! `quayline.externalDecider`: a program decides which element the job runs next.

use super::program::{Program, text_of};
use crate::artifact::{Answer, Decider, Injected};
use crate::record::StepExecution;

pub(super) struct ExternalDecider {
    program: Program,
}

impl ExternalDecider {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalDecider { program: Program::new(with, "decider")? })
    }
}

impl Decider for ExternalDecider {
    fn decide(&mut self, steps: &[StepExecution]) -> Answer<String> {
        let fields: Vec<Option<&[u8]>> = steps
            .iter()
            .flat_map(|step| [Some(step.step.as_bytes()), step.exit_status.as_deref().map(str::as_bytes)])
            .collect();
        let answer = self.program.ask("decide", &fields)?;
        match answer.into_iter().next().flatten() {
            Some(status) => Ok(text_of(&status)),
            None => Err(self.program.misfit("decide", "has no exit status")),
        }
    }
}
