//! `_links` of responses: resources of an instance or execution, and every action that its state allows.

use std::collections::HashMap;

use quayline_batch::record::{Execution, ExecutionId, InstanceId};
use quayline_batch::{BatchError, BatchStatus, Repository, StepProgress, system_property};
use quayline_project::job::JobFile;
use serde_json::{Value, json};

use crate::admin::Query;

/// Determines the possible actions, and caches lookups for the rest of a response.
pub(super) struct Links<'r> {
    repository: &'r Repository,
    last: HashMap<InstanceId, Option<ExecutionId>>,
    /// Whether job XML allows a restart, by its digest.
    restartable: HashMap<u64, bool>,
}

fn get(rel: &str, href: String) -> Value {
    json!({ "rel": rel, "href": href })
}

fn action(rel: &str, method: &str, href: String) -> Value {
    json!({ "rel": rel, "href": href, "method": method })
}

impl<'r> Links<'r> {
    pub(super) fn new(repository: &'r Repository) -> Self {
        Links { repository, last: HashMap::new(), restartable: HashMap::new() }
    }

    /// Adds links to an execution.
    pub(super) fn execution(
        &mut self,
        execution: &Execution,
        mut value: Value,
        progress: &[Option<StepProgress>],
    ) -> Result<Value, BatchError> {
        let (own, instance) = (path_of(execution.id), path_of_instance(execution.instance));
        let mut links = vec![
            get("self", own.clone()),
            get("job instance", instance),
            get("step executions", format!("{own}/stepexecutions")),
            get("job logs", format!("{own}/joblogs")),
            get("rejects", format!("{own}/rejects")),
        ];
        links.extend(self.actions(execution)?);
        let is_partitioned = progress.iter().flatten().any(|progress| progress.partitions.is_some());
        if execution.status.is_running() && is_partitioned {
            let href = format!("{own}?action=split&partition={{partition}}");
            links.push(json!({ "rel": "split", "href": href, "method": "PUT", "templated": true }));
        }
        value["_links"] = Value::Array(links);
        Ok(value)
    }

    /// Links of an instance with its last execution.
    pub(super) fn instance(&mut self, id: InstanceId, last: &Execution) -> Result<Value, BatchError> {
        let own = path_of_instance(id);
        let mut links = vec![
            get("self", own.clone()),
            get("job executions", format!("{own}/jobexecutions")),
            get("job logs", format!("{own}/joblogs")),
            get("last execution", path_of(last.id)),
        ];
        for link in self.actions(last)? {
            let is_of_instance = matches!(link["rel"].as_str(), Some("stop" | "restart"));
            links.push(match link["rel"].as_str().filter(|_| is_of_instance) {
                Some(rel) => action(rel, "PUT", format!("{own}?action={rel}")),
                None => link,
            });
        }
        Ok(Value::Array(links))
    }

    /// Returns the actions that the state of an execution allows.
    fn actions(&mut self, execution: &Execution) -> Result<Vec<Value>, BatchError> {
        let own = path_of(execution.id);
        let put = |name: &str| action(name, "PUT", format!("{own}?action={name}"));
        if execution.status.is_running() {
            return Ok(vec![put("stop")]);
        }
        let mut links = Vec::new();
        if !self.is_last(execution)? {
            return Ok(links);
        }
        if matches!(execution.status, BatchStatus::Stopped | BatchStatus::Failed) {
            if self.is_restartable(execution)? {
                links.push(put("restart"));
            }
            links.push(put("abandon"));
        }
        links.push(action("purge", "DELETE", path_of_instance(execution.instance)));
        Ok(links)
    }

    fn is_last(&mut self, execution: &Execution) -> Result<bool, BatchError> {
        let instance = execution.instance;
        if !self.last.contains_key(&instance) {
            let last = self.repository.instance(instance)?.map(|instance| instance.last);
            self.last.insert(instance, last);
        }
        Ok(self.last.get(&instance).copied().flatten() == Some(execution.id))
    }

    fn is_restartable(&mut self, execution: &Execution) -> Result<bool, BatchError> {
        if let Some(known) = self.restartable.get(&execution.digest) {
            return Ok(*known);
        }
        let text = self.repository.text(execution.digest)?.unwrap_or_default();
        let resolved = JobFile::parse("job XML", &text)
            .ok()
            .and_then(|file| file.resolve(&execution.parameters, &system_property).ok());
        // A restart reports the faults of a job that does not resolve.
        let is_restartable = resolved.is_none_or(|(job, _)| job.restartable);
        self.restartable.insert(execution.digest, is_restartable);
        Ok(is_restartable)
    }
}

fn path_of(execution: ExecutionId) -> String {
    format!("/batch/jobexecutions/{execution}")
}

fn path_of_instance(instance: InstanceId) -> String {
    format!("/batch/jobinstances/{instance}")
}

/// Links of a step execution.
pub(super) fn step(id: &Value, of: &Execution) -> Value {
    let own = id.as_u64().map(|id| get("self", format!("/batch/stepexecutions/{id}")));
    let others = [get("job execution", path_of(of.id)), get("job instance", path_of_instance(of.instance))];
    Value::Array(own.into_iter().chain(others).collect())
}

/// Links of a job log.
pub(super) fn logs(execution: ExecutionId) -> Value {
    let own = path_of(execution);
    Value::Array(vec![get("self", format!("{own}/joblogs")), get("job execution", own)])
}

/// Links of a page of a list.
pub(super) fn page(path: &str, query: &Query, page: usize, has_more: bool) -> Value {
    let of = |rel: &str, page: usize| get(rel, format!("{path}?{}", query.with("page", &page.to_string())));
    let mut links = vec![of("self", page)];
    if page > 0 {
        links.push(of("first", 0));
        links.push(of("prev", page - 1));
    }
    if has_more {
        links.push(of("next", page + 1));
    }
    Value::Array(links)
}
