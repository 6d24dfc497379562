//! The paths for jobs, for the OpenAPI document and for refused requests. The program answers them.

use crate::operator_paths::{Operation, OperatorPaths};

const PAGE: [(&str, &str); 2] =
    [("page", "Number of the page, from 0"), ("pageSize", "Entries of a page, 1 to 1000; 50 by default")];
const LIST: [(&str, &str); 11] = [
    ("jobInstanceId", "Numbers of instances, separated by commas, or a range: `3:7`, `>7`, `<3`"),
    ("jobName", "Id of the job"),
    ("batchStatus", "Batch statuses, separated by commas"),
    ("exitStatus", "Exit status; `*` is any text, `?` any character"),
    (
        "createTime",
        "A day in UTC, or two days: 2026-11-01:2026-11-22; either of them may be empty. `>3d` is the last three days, `<3d` before these",
    ),
    ("lastUpdatedTime", "Time of the last change, as for `createTime`"),
    ("submitter", "Operator who started the execution"),
    ("jobParameter.NAME", "Value of the job parameter NAME"),
    (
        "sort",
        "`jobInstanceId`, `jobName`, `submitter`, `createTime`, `lastUpdatedTime`, `batchStatus` or `exitStatus`, or several, separated by commas; `-createTime` is descending. Without it, the newest are first",
    ),
    PAGE[0],
    PAGE[1],
];
const START: &str = "{\"jobXMLName\": \"settle\", \"jobParameters\": {\"day\": \"2026-11-22\"}}; jobXMLName is a file of the folder jobs without `.xml`";
const RESTART: &str = "Nothing, or {\"jobParameters\": {...}}: those of the execution before are not remembered";

/// Every operation. Paths begin after `/batch`.
const OPERATIONS: &[Operation] = &[
    ("/openapi.json", "get", "describeJobs", "This document", &[], None),
    ("/jobs", "get", "listJobs", "Job XML files of the project, each with what is wrong with it", &[], None),
    (
        "/jobinstances",
        "get",
        "listInstances",
        "Instances whose last execution fits, the newest last execution first",
        &LIST,
        None,
    ),
    ("/jobinstances", "post", "startJob", "Starts a job", &[], Some(START)),
    ("/jobinstances/{instance}", "get", "showInstance", "An instance with its newest 50 executions", &[], None),
    (
        "/jobinstances/{instance}",
        "put",
        "changeInstance",
        "Stops or restarts the last execution of an instance",
        &[("action", "`stop` or `restart`")],
        Some(RESTART),
    ),
    (
        "/jobinstances/{instance}/jobexecutions",
        "get",
        "listExecutionsOfInstance",
        "Executions of an instance, the newest first",
        &PAGE,
        None,
    ),
    (
        "/jobinstances/{instance}/joblogs",
        "get",
        "listLogsOfInstance",
        "Job logs of the executions of an instance, the newest first, with the node of each",
        &[PAGE[0], PAGE[1], ("type", "`text`: all logs on this node as one text, the oldest first, without pages")],
        None,
    ),
    (
        "/jobinstances/{instance}",
        "delete",
        "purgeInstance",
        "Removes an instance that ended, with its executions and logs",
        &[],
        None,
    ),
    ("/jobexecutions", "get", "listExecutions", "Executions that fit, the newest first", &LIST, None),
    ("/jobexecutions/{execution}", "get", "showExecution", "An execution with its steps", &[], None),
    (
        "/jobexecutions/{execution}",
        "put",
        "changeExecution",
        "Stops, restarts or abandons an execution, or splits a partition of it at its next checkpoint",
        &[
            ("action", "`stop`, `restart`, `abandon` or `split`"),
            ("partition", "number of the partition, for `split`"),
            ("step", "id of the step, for `split`; any without it"),
        ],
        Some(RESTART),
    ),
    (
        "/jobexecutions/{execution}/stepexecutions",
        "get",
        "listSteps",
        "Step executions in the order of their starts",
        &PAGE,
        None,
    ),
    (
        "/stepexecutions/{stepExecution}",
        "get",
        "showStepExecution",
        "A step execution by its own number, `stepExecutionId`",
        &[],
        None,
    ),
    (
        "/jobexecutions/{execution}/stepexecutions/{step}",
        "get",
        "showStep",
        "Executions of one step, by its id",
        &[],
        None,
    ),
    (
        "/jobexecutions/{execution}/jobinstance",
        "get",
        "showInstanceOfExecution",
        "The instance of an execution",
        &[],
        None,
    ),
    ("/jobexecutions/{execution}/joblogs", "get", "readLog", "The job log", &[], None),
    (
        "/jobexecutions/{execution}/rejects",
        "get",
        "listRejects",
        "Items that the execution skipped and kept: cause and position, without the item",
        &[PAGE[1]],
        None,
    ),
    (
        "/events",
        "get",
        "listEvents",
        "Kept events in the order of their commits; with `Accept: text/event-stream`, server-sent events as they happen",
        &[
            ("topic", "Topics, separated by commas: `*` is one level, `#` at the end is all levels that follow"),
            ("jobName", "Id of the job"),
            ("jobExecutionId", "Number of the execution"),
            ("after", "Position of an event: only later ones"),
            PAGE[1],
        ],
        None,
    ),
];

/// The paths for jobs, with the resource names of Liberty.
pub const JOB_PATHS: OperatorPaths = OperatorPaths {
    title: "Batch jobs",
    root: "/batch",
    operations: OPERATIONS,
    integers: &["instance", "execution", "stepExecution"],
    required: &["action"],
    body: "application/json",
    other_bodies: &[],
    other_media: &[("readLog", "text/plain")],
    versioned: &[],
    conditional: &[],
    creates: &["startJob"],
    refusals,
};

fn refusals((path, method, ..): &Operation) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("400", "The request is wrong"),
        ("503", "The store or the database cannot be used, or too many jobs run"),
    ];
    if path.contains('{') {
        all.push(("404", "There is no such instance, execution or step execution"));
        all.push(("409", "The state does not allow it"));
    }
    if matches!(*method, "post" | "put") {
        all.push(("422", "The job XML is wrong"));
    }
    all
}
