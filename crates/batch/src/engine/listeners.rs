//! The listeners of a job or step.

use std::sync::Arc;

use quayline_project::job::ArtifactRef;

use super::Run;
use crate::artifact::{Answer, Listener, Needs};
use crate::context::{JobContext, StepContext};

/// Listeners in document order.
#[derive(Default)]
pub(super) struct Listeners {
    all: Vec<Box<dyn Listener>>,
    needs: Needs,
    take_times: bool,
}

impl Listeners {
    pub(super) fn make(
        &mut self,
        run: &Run<'_>,
        artifacts: &[ArtifactRef],
        job: &Arc<JobContext>,
        step: Option<&Arc<StepContext>>,
    ) -> Answer<()> {
        for artifact in artifacts {
            let listener = run.engine.registry.make_listener(&run.inject(artifact, job, step))?;
            self.needs = self.needs.max(listener.needs());
            self.take_times |= listener.takes_times();
            self.all.push(listener);
        }
        Ok(())
    }

    /// Returns the most that one of them needs.
    pub(super) fn needs(&self) -> Needs {
        self.needs
    }

    /// Returns true if one of them takes the times of chunks.
    pub(super) fn take_times(&self) -> bool {
        self.take_times
    }

    /// Calls all listeners. Returns the first exception after all were called.
    pub(super) fn each(&mut self, mut tell: impl FnMut(&mut dyn Listener) -> Answer<()>) -> Answer<()> {
        let mut answer = Ok(());
        for listener in &mut self.all {
            let told = tell(listener.as_mut());
            if answer.is_ok() {
                answer = told;
            }
        }
        answer
    }
}
