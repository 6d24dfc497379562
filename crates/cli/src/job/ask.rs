//! `job list` and `job show` while a job runs: the process that has the store open answers, through files beside the store.
//!
//! The command writes `job-asks/NUMBER.ask`; the process that runs jobs writes the text into `job-asks/NUMBER.answer`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quayline_batch::event::{EventPosition, EventsWanted};
use quayline_batch::record::ExecutionId;
use quayline_batch::{BatchError, BatchStatus, Repository};
use quayline_core::Findings;
use quayline_project::job::TopicFilter;

use super::events;
use super::show::Form;
use super::{IN_USE, Jobs, batch, show};
use crate::args::RepositoryArg;
use crate::console::write_stdout;
use crate::exit::{Exit, Stop};

/// Maximum wait of a command for an answer; the process may be a server without jobs.
const WAIT: Duration = Duration::from_secs(10);
/// Time after which a command tries to open the store itself.
const TURN: Duration = Duration::from_millis(300);
/// Interval between two checks for the answer.
const LOOK: Duration = Duration::from_millis(20);

/// Question of a command.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Question {
    List { job: Option<String>, count: usize, json: bool },
    Show { execution: ExecutionId, form: Form },
    Status { execution: ExecutionId },
    Partition { execution: ExecutionId, step: String, partition: u32 },
    Events { wanted: EventsWanted, after: EventPosition, count: usize, json: bool },
}

impl Question {
    fn text(&self) -> String {
        match self {
            Question::List { job, count, json } => format!("list\n{count}\n{json}\n{}", job.as_deref().unwrap_or("")),
            Question::Show { execution, form } => {
                let more = if *form == Form::Times { "times" } else { "" };
                format!("show\n{execution}\n{}\n{more}", *form == Form::Json)
            }
            Question::Status { execution } => format!("status\n{execution}\nfalse\n"),
            Question::Partition { execution, step, partition } => {
                format!("partition\n{execution}\nfalse\n{partition}\n{step}")
            }
            Question::Events { wanted, after, count, json } => {
                let execution = wanted.execution.map_or(0, |execution| execution.0);
                let job = wanted.job.as_deref().unwrap_or("");
                format!("events\n{count}\n{json}\n{after}\n{}\n{execution}\n{job}", wanted.topics.0)
            }
        }
    }

    fn parse(text: &str) -> Option<Question> {
        let mut lines = text.splitn(4, '\n');
        let (kind, number, json, job) = (lines.next()?, lines.next()?, lines.next()? == "true", lines.next()?);
        match kind {
            "list" => {
                let job = Some(job.to_owned()).filter(|job| !job.is_empty());
                Some(Question::List { job, count: number.parse().ok()?, json })
            }
            "status" => Some(Question::Status { execution: ExecutionId(number.parse().ok()?) }),
            "partition" => {
                let (partition, step) = job.split_once('\n')?;
                let (execution, partition) = (ExecutionId(number.parse().ok()?), partition.parse().ok()?);
                Some(Question::Partition { execution, step: step.to_owned(), partition })
            }
            "events" => {
                let mut rest = job.splitn(4, '\n');
                let after = rest.next()?.parse().ok()?;
                let topics = TopicFilter(rest.next()?.parse().ok()?);
                let execution = Some(rest.next()?.parse().ok()?).filter(|number| *number > 0).map(ExecutionId);
                let job = Some(rest.next()?.to_owned()).filter(|job| !job.is_empty());
                let wanted = EventsWanted { topics, job, execution };
                Some(Question::Events { wanted, after, count: number.parse().ok()?, json })
            }
            "show" => {
                let form = if job == "times" { Form::Times } else { Form::of(json) };
                Some(Question::Show { execution: ExecutionId(number.parse().ok()?), form })
            }
            _ => None,
        }
    }

    fn answer(&self, repository: &Repository) -> Result<String, BatchError> {
        match self {
            Question::List { job, count, json } => show::list(job.as_deref(), *count, *json, repository),
            Question::Show { execution, form } => {
                let found = repository.execution(*execution)?;
                let steps = repository.steps(*execution)?;
                let progress = show::progress(repository, &found, &steps)?;
                Ok(show::execution(&found, &steps, &progress, *form))
            }
            Question::Status { execution } => match repository.execution(*execution) {
                Ok(found) => Ok(found.status.text().to_owned()),
                Err(BatchError::NoSuchExecution(_)) => Ok(String::new()),
                Err(error) => Err(error),
            },
            Question::Partition { execution, step, partition } => {
                Ok(repository.has_open_partition(*execution, step, *partition)?.to_string())
            }
            Question::Events { wanted, after, count, json } => {
                Ok(events::page_text(&repository.event_page(wanted, *after, *count)?, *json))
            }
        }
    }
}

/// Prints the answer to a question: from the repository, or from the process that has the store open.
pub(super) fn answered(place: &RepositoryArg, question: &Question) -> Result<Exit, Stop> {
    write_stdout(text_of(place, question)?.as_bytes())?;
    Ok(Exit::Done)
}

/// Returns the answer to a question. The other process may end at any time, so each round also tries to open the store.
pub(super) fn text_of(place: &RepositoryArg, question: &Question) -> Result<String, Stop> {
    let begin = Instant::now();
    loop {
        let in_use = match Jobs::open(place) {
            Ok(jobs) => {
                let text = question.answer(&jobs.repository).map_err(batch)?;
                jobs.close(Exit::Done)?;
                return Ok(text);
            }
            Err(Stop::Findings(findings)) if findings.0.iter().any(|finding| finding.code == IN_USE) => findings,
            Err(stop) => return Err(stop),
        };
        match asked(&folder(place.store.local()), question, TURN) {
            Answer::Text(text) => return Ok(text),
            Answer::Nothing if begin.elapsed() < WAIT => {}
            Answer::Nothing | Answer::Refused => return Err(Stop::Findings(in_use)),
        }
    }
}

/// Answer of the other process.
enum Answer {
    Text(String),
    /// The process cannot answer.
    Refused,
    Nothing,
}

/// Returns an error if the process that has the store open does not run an execution. `in_use` reports that it has the store open.
pub(super) fn is_running(store: &Path, id: ExecutionId, in_use: Findings) -> Result<(), Stop> {
    match status(store, id) {
        Known::Nothing => Err(Stop::Findings(in_use)),
        Known::NoExecution => Err(batch(BatchError::NoSuchExecution(id))),
        Known::Status(status) if !status.is_running() => Err(batch(BatchError::NotRunning { execution: id, status })),
        Known::Status(_) => Ok(()),
    }
}

/// Answer of another process about an execution.
enum Known {
    /// No answer.
    Nothing,
    /// The execution does not exist.
    NoExecution,
    Status(BatchStatus),
}

/// Requests the status of an execution from the process that has the store open.
fn status(store: &Path, execution: ExecutionId) -> Known {
    match asked(&folder(store), &Question::Status { execution }, WAIT) {
        Answer::Nothing | Answer::Refused => Known::Nothing,
        Answer::Text(text) => {
            BatchStatus::ALL.into_iter().find(|status| status.text() == text).map_or(Known::NoExecution, Known::Status)
        }
    }
}

/// Returns true if the process that has the store open reports that no such partition runs. A process of an earlier version does not know the question.
pub(super) fn lacks_partition(store: &Path, execution: ExecutionId, step: &str, partition: u32) -> bool {
    let question = Question::Partition { execution, step: step.to_owned(), partition };
    matches!(asked(&folder(store), &question, WAIT), Answer::Text(text) if text == "false")
}

fn folder(store: &Path) -> PathBuf {
    store.join("job-asks")
}

/// Returns the answer of the other process if it arrives in time.
fn asked(folder: &Path, question: &Question, wait: Duration) -> Answer {
    let name = std::process::id().to_string();
    let (ask, answer) = (folder.join(format!("{name}.ask")), folder.join(format!("{name}.answer")));
    let written = folder.join(format!("{name}.new"));
    // Removes the answer of an earlier turn that ended before it arrived.
    let _ = fs::remove_file(&answer);
    let made = fs::create_dir_all(folder).and_then(|()| fs::write(&written, question.text()));
    if made.and_then(|()| fs::rename(&written, &ask)).is_err() {
        return Answer::Refused;
    }
    let begin = Instant::now();
    let found = loop {
        match fs::read_to_string(&answer) {
            Ok(text) => break text.strip_prefix("ok\n").map_or(Answer::Refused, |text| Answer::Text(text.to_owned())),
            Err(_) if begin.elapsed() > wait => break Answer::Nothing,
            Err(_) => std::thread::sleep(LOOK),
        }
    };
    // Remaining files are removed with the folder, when the job ends.
    let _ = fs::remove_file(&ask);
    let _ = fs::remove_file(&answer);
    found
}

/// Answers the questions beside a store. Commands open a repository in a database themselves, so questions beside it are for another process.
pub(super) fn answer(store: &Path, repository: &Repository) {
    if repository.is_shared() {
        return;
    }
    let Ok(entries) = fs::read_dir(folder(store)) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "ask") {
            continue;
        }
        let question = fs::read_to_string(&path).ok().and_then(|text| Question::parse(&text));
        let text = match question.map(|question| question.answer(repository)) {
            Some(Ok(text)) => format!("ok\n{text}"),
            // The command shows that the store is in use.
            Some(Err(_)) | None => "no\n".to_owned(),
        };
        let _ = fs::remove_file(&path);
        let new = path.with_extension("tmp");
        // The requester waits only some seconds.
        let _ = fs::write(&new, text).and_then(|()| fs::rename(&new, path.with_extension("answer")));
    }
}

/// Removes remaining questions.
pub(super) fn clear(store: &Path, repository: &Repository) {
    if !repository.is_shared() {
        // The folder may be missing.
        let _ = fs::remove_dir_all(folder(store));
    }
}
