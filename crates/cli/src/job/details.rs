//! What belongs to an instance or an execution, over HTTP: executions, step executions, job logs.

use quayline_batch::record::{Execution, ExecutionId, InstanceId, StepExecution};
use quayline_core::{Fault, Finding};
use quayline_server::AdminAnswer;
use serde_json::{Value, json};

use super::api::{Answer, Refused, Shared, paging};
use super::links::{self, Links};
use super::show;
use crate::admin::{Query, wrong};

/// Returns a page of a list that is read whole, with its links.
fn page_of<T>(all: Vec<T>, path: &str, query: &Query) -> Result<(Vec<T>, Value), Refused> {
    query.only(&["page", "pageSize"])?;
    let (page, size) = paging(query)?;
    let first = page.saturating_mul(size);
    let has_more = all.len() > first.saturating_add(size);
    let found = all.into_iter().skip(first).take(size).collect();
    Ok((found, links::page(path, query, page, has_more)))
}

impl Shared {
    /// Executions of an instance, the newest first.
    pub(super) fn executions_of(&self, id: InstanceId, query: &Query) -> Answer {
        self.need_instance(id)?;
        let path = format!("/batch/jobinstances/{id}/jobexecutions");
        let (page, links) = page_of(self.repository.executions(id)?, &path, query)?;
        let executions = self.executions_json(page, &mut Links::new(&self.repository))?;
        Ok((200, json!({ "jobExecutions": executions, "_links": links })))
    }

    pub(super) fn executions_json(&self, ids: Vec<ExecutionId>, links: &mut Links<'_>) -> Result<Value, Refused> {
        let mut executions = Vec::new();
        for id in ids {
            let one = self.repository.execution(id)?;
            executions.push(links.execution(&one, show::execution_json(&one), &[])?);
        }
        Ok(Value::Array(executions))
    }

    /// Returns step executions with what this process knows of their chunks.
    pub(super) fn step_executions(&self, id: ExecutionId) -> Result<Vec<StepExecution>, Refused> {
        let mut steps = self.repository.steps(id)?;
        if let Some(engine) = self.engine_of(id) {
            for step in steps.iter_mut().filter(|step| step.status.is_running()) {
                step.chunks = engine.chunk_spread(id, &step.step);
            }
        }
        Ok(steps)
    }

    fn steps_json(&self, of: &Execution, steps: &[StepExecution]) -> Result<Value, Refused> {
        let progress = show::progress(&self.repository, of, steps)?;
        let mut value = show::steps_json(steps, &progress);
        for step in value.as_array_mut().into_iter().flatten() {
            step["_links"] = links::step(&step["stepExecutionId"], of);
        }
        Ok(value)
    }

    /// Step executions of an execution, in the order of their starts.
    pub(super) fn steps(&self, id: ExecutionId, query: &Query) -> Answer {
        let of = self.repository.execution(id)?;
        let path = format!("/batch/jobexecutions/{id}/stepexecutions");
        let (page, links) = page_of(self.step_executions(id)?, &path, query)?;
        Ok((200, json!({ "stepExecutions": self.steps_json(&of, &page)?, "_links": links })))
    }

    /// Executions of one step.
    pub(super) fn steps_named(&self, id: ExecutionId, name: &str) -> Answer {
        let of = self.repository.execution(id)?;
        let mut steps = self.step_executions(id)?;
        steps.retain(|step| step.step == name);
        if steps.is_empty() {
            let hint = format!("GET /batch/jobexecutions/{id}/stepexecutions lists its steps");
            let finding = wrong(format!("execution {id} has run no step `{name}`"), hint);
            return Err(Refused::Findings(404, finding));
        }
        Ok((200, json!({ "stepExecutions": self.steps_json(&of, &steps)? })))
    }

    /// Returns a step execution by its own number.
    pub(super) fn step(&self, id: u64) -> Answer {
        let (execution, number) = StepExecution::of_id(id);
        let of = self.repository.execution(execution)?;
        let mut steps = self.step_executions(execution)?;
        steps.retain(|step| step.number == number);
        let mut found = self.steps_json(&of, &steps)?;
        match found.get_mut(0).map(Value::take) {
            Some(mut step) => {
                step["jobExecutionId"] = execution.0.into();
                Ok((200, step))
            }
            None => {
                let hint =
                    format!("GET /batch/jobexecutions/{execution}/stepexecutions lists the steps of the execution");
                let finding = wrong(format!("execution {execution} has no step execution {id}"), hint);
                Err(Refused::Findings(404, finding))
            }
        }
    }

    /// Returns the job log, if it is on this node.
    pub(super) fn log(&self, id: ExecutionId) -> Result<AdminAnswer, Refused> {
        let body = self.log_text(id)?;
        Ok(AdminAnswer::new(200, "text/plain; charset=utf-8", body))
    }

    fn log_text(&self, id: ExecutionId) -> Result<Vec<u8>, Refused> {
        let found = self.repository.execution(id)?;
        let path = self.logs()?.find(&found);
        std::fs::read(&path).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                return Refused::Findings(404, super::no_log(&found, &self.store, &path).into());
            }
            let message =
                format!("the job log of execution {id} cannot be read: {}", quayline_core::system_error_text(&error));
            let finding = Finding::error(crate::exit::CLI_INPUT, Fault::Environment, message);
            Refused::Findings(503, finding.hint("check the folder job-logs of the data folder").into())
        })
    }

    /// Lists the job logs of an instance, the newest execution first, with the node of each.
    pub(super) fn logs_of(&self, id: InstanceId, query: &Query) -> Answer {
        self.need_instance(id)?;
        if let Some(kind) = query.value("type") {
            let hint = "write type=text and no other parameter for the text of all logs, or neither for a list";
            return Err(
                wrong(format!("the logs do not come as `{kind}` with these parameters"), hint.to_owned()).into()
            );
        }
        let path = format!("/batch/jobinstances/{id}/joblogs");
        let (page, links) = page_of(self.repository.executions(id)?, &path, query)?;
        let logs = self.logs()?;
        let mut all = Vec::new();
        for id in page {
            let execution = self.repository.execution(id)?;
            let bytes = std::fs::metadata(logs.find(&execution)).ok().map(|data| data.len());
            let node = execution.node;
            all.push(json!({
                "jobExecutionId": id.0,
                "node": Some(node).filter(|node| !node.is_empty()),
                "bytes": bytes,
                "_links": links::logs(id),
            }));
        }
        Ok((200, json!({ "jobLogs": all, "_links": links })))
    }

    /// Returns the job logs of an instance that are on this node as one text, the oldest first.
    pub(super) fn log_of_all(&self, id: InstanceId) -> Result<AdminAnswer, Refused> {
        self.need_instance(id)?;
        let mut body = Vec::new();
        for id in self.repository.executions(id)?.into_iter().rev() {
            match self.log_text(id) {
                Ok(text) => body.extend_from_slice(&text),
                // Another node has it, as the list says.
                Err(Refused::Findings(404, _)) => {}
                Err(refused) => return Err(refused),
            }
        }
        Ok(AdminAnswer::new(200, "text/plain; charset=utf-8", body))
    }
}
