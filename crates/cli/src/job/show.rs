//! Executions and plans as text and JSON.

use std::fmt::Write as _;

use quayline_batch::log::time_text;
use quayline_batch::record::{Execution, Reject, StepExecution};
use quayline_batch::{BatchError, PartitionProgress, Repository};
use quayline_project::job::{ArtifactRef, Element, Job, PartitionSource, Step, StepBody, TransitionAction};
use serde_json::{Map, Value, json};

/// Executions in rows.
pub(super) fn list(
    job: Option<&str>,
    count: usize,
    as_json: bool,
    repository: &Repository,
) -> Result<String, BatchError> {
    let mut executions = Vec::new();
    match job {
        None => executions = repository.latest(0, count)?,
        Some(job) => {
            for instance in repository.instances(job, 0, count)? {
                for id in repository.executions(instance)? {
                    executions.push(repository.execution(id)?);
                }
            }
            executions.sort_by_key(|execution| std::cmp::Reverse(execution.id));
            executions.truncate(count);
        }
    }
    let mut text = String::new();
    if as_json {
        for found in &executions {
            let _ = writeln!(text, "{}", execution_json(found, None));
        }
        return Ok(text);
    }
    let _ = writeln!(
        text,
        "{:>9}  {:>8}  {:<24}  {:<9}  {:<24}  exit status",
        "execution", "instance", "job", "status", "created"
    );
    for found in &executions {
        let _ = writeln!(
            text,
            "{:>9}  {:>8}  {:<24}  {:<9}  {:<24}  {}",
            found.id.0,
            found.instance.0,
            found.job,
            found.status.text(),
            time_text(found.created_ms),
            found.exit_status.as_deref().unwrap_or("-"),
        );
    }
    Ok(text)
}

/// How far the partitions of each step are.
pub(super) type Progress = Vec<Option<PartitionProgress>>;

pub(super) fn progress(
    repository: &Repository,
    execution: &Execution,
    steps: &[StepExecution],
) -> Result<Progress, BatchError> {
    steps.iter().map(|step| repository.partition_progress(execution, step)).collect()
}

/// An execution with its steps.
pub(super) fn execution(execution: &Execution, steps: &[StepExecution], progress: &Progress, as_json: bool) -> String {
    if as_json {
        return format!("{}\n", whole_json(execution, steps, progress));
    }
    let mut text = String::new();
    let exit_status = execution.exit_status.as_deref().unwrap_or("-");
    let _ = writeln!(
        text,
        "execution {} of job {}, instance {}: {}, exit status {exit_status}",
        execution.id, execution.job, execution.instance, execution.status
    );
    for (name, value) in &execution.parameters {
        let _ = writeln!(text, "  parameter {name} = {value}");
    }
    if let Some(cause) = &execution.cause {
        let _ = writeln!(text, "  cause: {cause}");
    }
    for (number, step) in steps.iter().enumerate() {
        let partitions = if step.partitions > 0 { format!(", {} partitions", step.partitions) } else { String::new() };
        let exit_status = step.exit_status.as_deref().unwrap_or("-");
        let _ = writeln!(text, "  step {}: {}, exit status {exit_status}{partitions}", step.step, step.status);
        let counts: Vec<String> = step
            .counts
            .named()
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        if !counts.is_empty() {
            let _ = writeln!(text, "    {}", counts.join(", "));
        }
        if let Some(Some(found)) = progress.get(number) {
            let PartitionProgress { completed, begun, waiting, slowest } = found;
            let _ = write!(text, "    partitions: {completed} completed, {begun} begun, {waiting} waiting");
            let slowest: Vec<String> =
                slowest.iter().map(|(number, counts)| format!("{number} (READ_COUNT {})", counts.read)).collect();
            if !slowest.is_empty() {
                let _ = write!(text, "; the slowest: {}", slowest.join(", "));
            }
            text.push('\n');
        }
        if let Some(cause) = &step.cause {
            let _ = writeln!(text, "    cause: {cause}");
        }
    }
    text
}

/// An execution with its steps and the progress of their partitions.
pub(super) fn whole_json(execution: &Execution, steps: &[StepExecution], progress: &Progress) -> Value {
    let mut value = execution_json(execution, Some(steps));
    for (number, found) in progress.iter().enumerate() {
        if let Some(found) = found {
            let slowest = found.slowest.iter();
            value["stepExecutions"][number]["partitionProgress"] = json!({
                "completed": found.completed,
                "begun": found.begun,
                "waiting": found.waiting,
                "slowest": slowest.map(|(at, counts)| json!({ "partition": at, "READ_COUNT": counts.read })).collect::<Value>(),
            });
        }
    }
    value
}

pub(super) fn execution_json(execution: &Execution, steps: Option<&[StepExecution]>) -> Value {
    let mut value = json!({
        "jobExecutionId": execution.id.0,
        "jobInstanceId": execution.instance.0,
        "jobName": execution.job,
        "batchStatus": execution.status.text(),
        "exitStatus": execution.exit_status,
        "createTime": time_text(execution.created_ms),
        "startTime": execution.started_ms.map(time_text),
        "endTime": execution.ended_ms.map(time_text),
        "lastUpdatedTime": time_text(execution.updated_ms),
        "jobParameters": execution.parameters,
        "cause": execution.cause,
    });
    if let (Some(steps), Some(object)) = (steps, value.as_object_mut()) {
        object.insert("stepExecutions".to_owned(), steps.iter().map(step_json).collect());
    }
    value
}

pub(super) fn step_json(step: &StepExecution) -> Value {
    let metrics: Map<String, Value> =
        step.counts.named().iter().map(|(name, count)| ((*name).to_owned(), Value::from(*count))).collect();
    json!({
        "stepExecutionId": step.number,
        "stepName": step.step,
        "batchStatus": step.status.text(),
        "exitStatus": step.exit_status,
        "startTime": time_text(step.started_ms),
        "endTime": step.ended_ms.map(time_text),
        "partitions": step.partitions,
        "metrics": metrics,
        "nanoseconds": {
            "reader": step.times.read_ns,
            "processor": step.times.process_ns,
            "writer": step.times.write_ns,
            "checkpoint": step.times.checkpoint_ns,
            "commitWait": step.times.commit_ns,
            "total": step.times.total_ns,
        },
        "cause": step.cause,
    })
}

/// A skipped item as a line.
pub(super) fn reject(reject: &Reject, as_json: bool, shows_data: bool) -> String {
    if as_json {
        return format!("{}\n", reject_json(reject, shows_data));
    }
    let partition = reject.partition.map(|number| format!(", partition {number}")).unwrap_or_default();
    let number = reject.number.map(|number| format!(", item {number}")).unwrap_or_default();
    let place = match (reject.record, reject.byte) {
        (Some(record), Some(byte)) => format!(" (record {record}, byte {byte})"),
        (Some(record), None) => format!(" (record {record})"),
        (None, Some(byte)) => format!(" (byte {byte})"),
        (None, None) => String::new(),
    };
    let mut text = format!(
        "step {}{partition}, chunk {}{number}{place}, {}: {}: {}\n",
        reject.step,
        reject.chunk,
        reject.stage.text(),
        reject.class,
        reject.message
    );
    if let Some(item) = reject.item.as_ref().filter(|_| shows_data) {
        let item = std::str::from_utf8(item).map_or_else(|_| item.escape_ascii().to_string(), str::to_owned);
        let _ = writeln!(text, "  {}", item.replace(char::is_control, " "));
    }
    text
}

/// The same as JSON. The item is text if it is UTF-8, and hexadecimal digits otherwise.
pub(super) fn reject_json(reject: &Reject, shows_data: bool) -> Value {
    let mut value = json!({
        "stepName": reject.step,
        "partition": reject.partition,
        "stage": reject.stage.text(),
        "chunk": reject.chunk,
        "item": reject.number,
        "record": reject.record,
        "byte": reject.byte,
        "bytes": reject.item.as_ref().map(Vec::len),
        "class": reject.class,
        "message": reject.message,
    });
    if let (Some(item), Some(object)) = (reject.item.as_ref().filter(|_| shows_data), value.as_object_mut()) {
        match std::str::from_utf8(item) {
            Ok(text) => object.insert("data".to_owned(), text.into()),
            Err(_) => object
                .insert("dataHex".to_owned(), item.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()),
        };
    }
    value
}

/// The elements of a job, and what a crash repeats.
pub(super) fn plan(job: &Job) -> String {
    let mut text = format!("job {}\n", job.id);
    elements(&job.elements, 1, &mut text);
    text
}

fn elements(list: &[Element], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for element in list {
        match element {
            Element::Step(step) => step_plan(step, &indent, text),
            Element::Flow(flow) => {
                let _ = writeln!(text, "{indent}flow {}", flow.id);
                elements(&flow.elements, depth + 1, text);
            }
            Element::Split(split) => {
                let _ = writeln!(text, "{indent}split {}: {} flows at the same time", split.id, split.flows.len());
                for flow in &split.flows {
                    let _ = writeln!(text, "{indent}  flow {}", flow.id);
                    elements(&flow.elements, depth + 2, text);
                }
            }
            Element::Decision(decision) => {
                let _ = writeln!(text, "{indent}decision {} by {}", decision.id, decision.decider.name);
            }
        }
        for transition in element.transitions() {
            let action = match &transition.action {
                TransitionAction::Next(target) => format!("continue at {target}"),
                TransitionAction::End { .. } => "end COMPLETED".to_owned(),
                TransitionAction::Stop { restart: Some(at), .. } => format!("end STOPPED, restart at {at}"),
                TransitionAction::Stop { .. } => "end STOPPED".to_owned(),
                TransitionAction::Fail { .. } => "end FAILED".to_owned(),
            };
            let _ = writeln!(text, "{indent}  on {}: {action}", transition.on);
        }
        if let Some(next) = element.next() {
            let _ = writeln!(text, "{indent}  then {next}");
        }
    }
}

fn step_plan(step: &Step, indent: &str, text: &mut String) {
    match &step.body {
        StepBody::Batchlet(batchlet) => {
            let _ = writeln!(text, "{indent}step {}: batchlet {}", step.id, batchlet.name);
            let _ = writeln!(text, "{indent}  a crash runs the whole step again");
        }
        StepBody::Chunk(chunk) => {
            let processor =
                chunk.processor.as_ref().map(|processor| format!(", {}", processor.name)).unwrap_or_default();
            let _ = writeln!(
                text,
                "{indent}step {}: {}{processor}, {}, {} items a chunk",
                step.id, chunk.reader.name, chunk.writer.name, chunk.item_count
            );
            let _ = writeln!(text, "{indent}  reader: {}", delivery(&chunk.reader));
            let _ = writeln!(text, "{indent}  writer: {}", delivery(&chunk.writer));
        }
    }
    match step.partition.as_ref().map(|partition| &partition.source) {
        Some(PartitionSource::Plan { partitions, .. }) => {
            let _ = writeln!(text, "{indent}  {partitions} partitions");
        }
        Some(PartitionSource::Mapper(mapper)) => {
            let _ = writeln!(text, "{indent}  partitions by {}", mapper.name);
        }
        None => {}
    }
}

/// What a crash repeats or loses.
fn delivery(artifact: &ArtifactRef) -> &'static str {
    match artifact.name.as_str() {
        "quayline.fileReader" => "continues at the offset of the last checkpoint",
        "quayline.recordFileReader" => "continues after the key of the last checkpoint",
        "quayline.rejectReader" => "continues after the place of the last checkpoint",
        "quayline.externalReader" => "continues at the position that the program gave with the last checkpoint",
        "quayline.externalWriter" => "as the program undoes what follows the position of the last checkpoint",
        "quayline.queueReader" => "gets in the unit of work of the chunk: each message once",
        "quayline.fileWriter" => "cuts the file back to the last checkpoint: each item once",
        "quayline.sqlReader" => "continues after the key of the last checkpoint",
        "quayline.sqlWriter" => {
            "writes in the transaction of the checkpoint, or with a token in another database: each item once"
        }
        "quayline.queueWriter" | "quayline.recordFileWriter" => {
            "writes in the unit of work of the chunk: each item once"
        }
        _ => "as its own code does: at least once unless it uses the unit of work",
    }
}
