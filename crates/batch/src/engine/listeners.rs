//! The listeners of a job or step.

use std::sync::Arc;

use quayline_project::job::ArtifactRef;

use super::Run;
use crate::artifact::{Answer, Listener};
use crate::context::{JobContext, StepContext};

/// Listeners in document order.
#[derive(Default)]
pub(super) struct Listeners(Vec<Box<dyn Listener>>);

impl Listeners {
    pub(super) fn make(
        &mut self,
        run: &Run<'_>,
        artifacts: &[ArtifactRef],
        job: &Arc<JobContext>,
        step: Option<&Arc<StepContext>>,
    ) -> Answer<()> {
        for artifact in artifacts {
            self.0.push(run.engine.registry.make_listener(&run.inject(artifact, job, step))?);
        }
        Ok(())
    }

    /// Returns true if the list is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls all listeners. Returns the first exception after all were called.
    pub(super) fn each(&mut self, mut tell: impl FnMut(&mut dyn Listener) -> Answer<()>) -> Answer<()> {
        let mut answer = Ok(());
        for listener in &mut self.0 {
            let told = tell(listener.as_mut());
            if answer.is_ok() {
                answer = told;
            }
        }
        answer
    }
}
