//! Executions and plans as text and JSON.

use std::fmt::Write as _;

use quayline_batch::chunk_times::{ChunkSpread, PartSpread};
use quayline_batch::log::time_text;
use quayline_batch::record::{Counts, Execution, Reject, StepExecution};
use quayline_batch::{BatchError, PartitionProgress, Repository, Slow, StepProgress};

use crate::render::count_of;
use serde_json::{Map, Value, json};

/// Executions in rows.
pub(super) fn list(
    job: Option<&str>,
    count: usize,
    as_json: bool,
    repository: &Repository,
) -> Result<String, BatchError> {
    let executions = match job {
        None => repository.latest(0, count)?,
        Some(job) => repository.latest_of(job, count)?,
    };
    let mut text = String::new();
    if as_json {
        for found in &executions {
            let _ = writeln!(text, "{}", execution_json(found));
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

/// Progress of each step.
pub(super) type Progress = Vec<Option<StepProgress>>;

pub(super) fn progress(
    repository: &Repository,
    execution: &Execution,
    steps: &[StepExecution],
) -> Result<Progress, BatchError> {
    steps.iter().map(|step| repository.step_progress(execution, step)).collect()
}

/// Metrics of a step: those of its last checkpoints while it runs, and then its own.
fn counts_of(step: &StepExecution, progress: Option<&StepProgress>) -> Counts {
    progress.filter(|_| step.status.is_running()).map_or(step.counts, |progress| progress.counts)
}

/// Output format of an execution.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Text,
    /// Text with the node and the times of each step, which differ between runs.
    Times,
    Json,
}

impl Form {
    pub(super) fn of(as_json: bool) -> Form {
        if as_json { Form::Json } else { Form::Text }
    }
}

/// Formats an execution with its steps.
pub(super) fn execution(execution: &Execution, steps: &[StepExecution], progress: &Progress, form: Form) -> String {
    if form == Form::Json {
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
    if let Some(submitter) = &execution.submitter {
        let _ = writeln!(text, "  submitter: {submitter}");
    }
    if !execution.node.is_empty() && form == Form::Times {
        let _ = writeln!(text, "  node: {}", execution.node);
    }
    if let Some(cause) = &execution.cause {
        let _ = writeln!(text, "  cause: {cause}");
    }
    for (number, step) in steps.iter().enumerate() {
        step_text(step, progress.get(number).and_then(Option::as_ref), form, &mut text);
    }
    text
}

fn step_text(step: &StepExecution, progress: Option<&StepProgress>, form: Form, text: &mut String) {
    let partitions = if step.partitions > 0 {
        format!(", {}", count_of(step.partitions.into(), "partition"))
    } else {
        String::new()
    };
    let exit_status = step.exit_status.as_deref().unwrap_or("-");
    let _ = writeln!(text, "  step {}: {}, exit status {exit_status}{partitions}", step.step, step.status);
    let counts: Vec<String> = counts_of(step, progress)
        .named()
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if !counts.is_empty() {
        let _ = writeln!(text, "    {}", counts.join(", "));
    }
    if let Some(progress) = progress.filter(|_| step.status.is_running()) {
        let known = [
            progress.rate.map(|rate| format!("{rate:.1} items a second")),
            progress.share_left.map(|left| format!("{:.1} % left", left * 100.0)),
            progress.seconds_left.map(|seconds| format!("about {seconds:.0} s")),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        if !known.is_empty() {
            let _ = writeln!(text, "    progress: {}", known.join(", "));
        }
    }
    if let Some(found) = progress.and_then(|progress| progress.partitions.as_ref()) {
        let PartitionProgress { completed, begun, waiting, slowest } = found;
        let _ = write!(text, "    partitions: {completed} completed, {begun} begun, {waiting} waiting");
        let slowest: Vec<String> = slowest.iter().map(slow_text).collect();
        if !slowest.is_empty() {
            let _ = write!(text, "; the slowest: {}", slowest.join(", "));
        }
        text.push('\n');
    }
    if step.times.total_ns > 0 && form == Form::Times {
        let s = |ns: u64| ns as f64 / 1e9;
        let times = &step.times;
        let _ = writeln!(
            text,
            "    seconds: reader {:.3}, processor {:.3}, writer {:.3}, container {:.3} (checkpoint {:.3}), commit {:.3}, wait {:.3}",
            s(times.read_ns),
            s(times.process_ns),
            s(times.write_ns),
            s(times.container_ns()),
            s(times.checkpoint_ns),
            s(times.commit_ns),
            s(times.wait_ns)
        );
    }
    if let Some(spread) = step.chunks.filter(|_| form == Form::Times) {
        let _ = writeln!(text, "    microseconds of a chunk, 50 %, 95 %, 99 % and at most, of {}:", spread.chunks);
        for (part, of) in spread.named() {
            let [p50, p95, p99, max] = [of.p50_ns, of.p95_ns, of.p99_ns, of.max_ns].map(|ns| ns as f64 / 1e3);
            let _ = writeln!(text, "      {part:<9} {p50:>10.1} {p95:>10.1} {p99:>10.1} {max:>10.1}");
        }
    }
    if let Some(cause) = &step.cause {
        let _ = writeln!(text, "    cause: {cause}");
    }
}

fn slow_text(slow: &Slow) -> String {
    let left = slow.pace.and_then(|pace| pace.seconds_left());
    let known = [
        Some(format!("READ_COUNT {}", slow.counts.read)),
        slow.rate().map(|rate| format!("{rate:.1} a second")),
        left.map(|left| format!("about {left:.0} s left")),
        slow.is_straggler.then(|| "straggler".to_owned()),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    format!("{} ({})", slow.partition, known.join(", "))
}

/// Formats an execution with its steps and their progress as JSON.
pub(super) fn whole_json(execution: &Execution, steps: &[StepExecution], progress: &Progress) -> Value {
    let mut value = execution_json(execution);
    value["stepExecutions"] = steps_json(steps, progress);
    value
}

/// Formats steps with their progress as JSON.
pub(super) fn steps_json(steps: &[StepExecution], progress: &Progress) -> Value {
    let of = |(number, step)| step_json(step, progress.get(number).and_then(Option::as_ref));
    steps.iter().enumerate().map(of).collect()
}

/// Rounds a number to this number of decimals.
fn rounded(value: Option<f64>, decimals: i32) -> Option<f64> {
    let scale = 10f64.powi(decimals);
    value.map(|value| (value * scale).round() / scale)
}

pub(super) fn execution_json(execution: &Execution) -> Value {
    json!({
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
        "submitter": execution.submitter,
        "node": Some(&execution.node).filter(|node| !node.is_empty()),
        "cause": execution.cause,
    })
}

fn step_json(step: &StepExecution, progress: Option<&StepProgress>) -> Value {
    let counts = counts_of(step, progress);
    let metrics: Map<String, Value> =
        counts.named().iter().map(|(name, count)| ((*name).to_owned(), Value::from(*count))).collect();
    let times = &step.times;
    let mut value = json!({
        "stepExecutionId": step.id(),
        "stepName": step.step,
        "batchStatus": step.status.text(),
        "exitStatus": step.exit_status,
        "startTime": time_text(step.started_ms),
        "endTime": step.ended_ms.map(time_text),
        "partitions": step.partitions,
        "metrics": metrics,
        "nanoseconds": {
            "reader": times.read_ns,
            "processor": times.process_ns,
            "writer": times.write_ns,
            "container": times.container_ns(),
            "checkpoint": times.checkpoint_ns,
            "commit": times.commit_ns,
            "wait": times.wait_ns,
            "total": times.total_ns,
        },
        "chunkNanoseconds": step.chunks.as_ref().map(spread_json),
        "cause": step.cause,
    });
    if let Some(progress) = progress.filter(|_| step.status.is_running()) {
        value["progress"] = json!({
            "itemsPerSecond": rounded(progress.rate, 1),
            "shareLeft": rounded(progress.share_left, 4),
            "secondsLeft": rounded(progress.seconds_left, 1),
            "lastCheckpointTime": progress.at_ms.map(time_text),
        });
    }
    if let Some(found) = progress.and_then(|progress| progress.partitions.as_ref()) {
        value["partitionProgress"] = json!({
            "completed": found.completed,
            "begun": found.begun,
            "waiting": found.waiting,
            "slowest": found.slowest.iter().map(slow_json).collect::<Value>(),
        });
    }
    value
}

fn spread_json(spread: &ChunkSpread) -> Value {
    let part = |of: PartSpread| json!({ "p50": of.p50_ns, "p95": of.p95_ns, "p99": of.p99_ns, "max": of.max_ns });
    let mut parts: Map<String, Value> = spread.named().map(|(name, of)| (name.to_owned(), part(of))).collect();
    parts.insert("chunks".to_owned(), spread.chunks.into());
    Value::Object(parts)
}

fn slow_json(slow: &Slow) -> Value {
    json!({
        "partition": slow.partition,
        "READ_COUNT": slow.counts.read,
        "itemsPerSecond": rounded(slow.rate(), 1),
        "secondsLeft": rounded(slow.pace.and_then(|pace| pace.seconds_left()), 1),
        "lastCheckpointTime": slow.pace.map(|pace| time_text(pace.at_ms)),
        "straggler": slow.is_straggler,
    })
}

/// Formats a skipped item as a line.
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

/// Formats a skipped item as JSON. The item is text if it is UTF-8, otherwise hexadecimal digits.
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
            Err(_) => object.insert("dataHex".to_owned(), quayline_core::hex(item).into()),
        };
    }
    value
}
