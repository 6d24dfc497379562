//! `quayline.externalBatchlet`: a program does the work of a step.

use std::time::Duration;

use super::program::{Program, text_of};
use crate::artifact::{Answer, Batchlet, Injected};
use crate::context::StopSignal;

/// Time that a program has to answer after it was asked to stop.
const STOP: Duration = Duration::from_secs(10);

pub(super) struct ExternalBatchlet {
    program: Program,
    stop: StopSignal,
}

impl ExternalBatchlet {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        Ok(ExternalBatchlet { program: Program::new(with, "batchlet")?, stop: with.job.stop.clone() })
    }
}

impl Batchlet for ExternalBatchlet {
    fn process(&mut self) -> Answer<Option<String>> {
        let answer = self.program.ask_or_stop("process", &[], |patience| {
            patience.send("stop");
            patience.at_most(STOP);
        });
        match answer {
            Ok((_, Some(thrown))) => Err(thrown),
            Ok((fields, None)) => {
                let status = fields.into_iter().next().flatten();
                Ok(status.map(|status| text_of(&status)))
            }
            // A stop was requested, and the program was killed because it did not stop in time.
            Err(thrown) if self.stop.is_set() && thrown.class() == "quayline.ProgramTimeout" => {
                Ok(Some("STOPPED".to_owned()))
            }
            Err(thrown) => Err(thrown),
        }
    }
}
