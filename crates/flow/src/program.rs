//! Calls of COBOL programs: the worker processes of a node on one thread.
//!
//! ```text
//! message ─▶ permit ─▶ free worker, or a new process ─▶ submit, bell … bell or death or time limit ─▶ answer, worker is free again
//! ```
//!
//! A worker has one call at a time, so a failure of its process affects one message. Abandoning a call kills its process, because a program in a
//! loop cannot be interrupted otherwise. Pools with several calls in each process save a signal for each call; a gateway needs that, a unit of work with
//! a commit does not.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quayline_core::{Fault, Finding, Findings};
use quayline_program::{Compiled, End, ModuleSource, NO_COMPILER, Worker, WorkerSpec, WorkingStorage, module_of};
use quayline_project::{FlowNode, Form, ShapeFile, gnucobol_contradiction, gnucobol_options, is_gnucobol_output};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::codes;
use crate::compile::Flow;
use crate::expression::same_shape;
use crate::failure::Failure;
use crate::message::Parcel;
use crate::run::{Gives, Run, Work};

/// Longest time of a call where the node sets none: as for services.
const TIME_LIMIT_MS: u64 = 5_000;
/// Memory of a process in MiB where the node sets none: as for services.
const MEMORY_MIB: u64 = 512;
/// Maximum number of characters in the name of a program.
const NAME_MAX: usize = 60;
/// Longest parameter of a program. Default 64 MiB: as in jobs.
const LENGTH_MAX: usize = 64 << 20;

/// Time that a process may need in addition to its call, for example to load the program.
const SLACK: Duration = Duration::from_secs(5);
/// Pause between two checks whether a program has begun.
const LOOK: Duration = Duration::from_millis(20);

/// The compiled program of a node.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    folders: Vec<PathBuf>,
    request: Arc<ShapeFile>,
    response: Arc<ShapeFile>,
    /// Bytes of the parameter: the longest request or response.
    length: usize,
    source: Option<ModuleSource>,
}

impl Program {
    /// Creates the program of a node, and the shapes of its parameter before and after the call.
    ///
    /// # Errors
    /// The wrong property, the reason, and the remedy.
    pub(crate) fn new(
        root: &Path,
        node: &FlowNode,
        request: Arc<ShapeFile>,
        response: Arc<ShapeFile>,
    ) -> Result<Program, (&'static str, String, String)> {
        let program = node.text("program").unwrap_or_default();
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if program.is_empty() || program.len() > NAME_MAX || !program.bytes().all(is_name) {
            let message = format!("`{program}` is not the name of a program");
            let hint = format!("write the PROGRAM-ID: letters, digits, `-` and `_`, at most {NAME_MAX}");
            return Err(("program", message, hint));
        }
        if let Some(folder) = node.text("work_folder").filter(|folder| !root.join(folder).is_dir()) {
            let message = format!("the folder {folder} does not exist");
            return Err(("work_folder", message, "create it, or name another one".to_owned()));
        }
        let bytes = |property, shape: &ShapeFile| {
            let hint = "name a layout of records with framing = \"fixed:LENGTH\" or \"layout\", or a copybook";
            let wrong = |why: &str| (property, format!("`{property}`: {why}"), hint.to_owned());
            let Form::Records { framing, .. } = shape.form() else {
                return Err(wrong("the shape is not one of records"));
            };
            if !matches!(framing.to_string().split(':').next(), Some("fixed" | "layout")) {
                return Err(wrong("its framing adds bytes to the record, and a program gets the record alone"));
            }
            let longest = shape.schema().record_bytes_max().ok_or_else(|| wrong("it describes no record"))?;
            if longest > LENGTH_MAX {
                let message =
                    format!("`{property}`: a record has up to {longest} bytes, at most {LENGTH_MAX} are possible");
                return Err((property, message, "call the program for parts of the message".to_owned()));
            }
            Ok(longest)
        };
        let length = bytes("request", &request)?.max(bytes("response", &response)?);
        let folders = node.text("modules").unwrap_or("modules").split(':').map(|folder| root.join(folder)).collect();
        let source = source(root, node, &request)?;
        Ok(Program { folders, request, response, length, source })
    }

    /// Returns the source of the module, and the path of the compiled module.
    pub(crate) fn source(&self) -> Option<(&ModuleSource, PathBuf)> {
        let source = self.source.as_ref()?;
        let module = self.folders.first()?.join(format!("{}.so", source.program));
        // The compiler runs in another folder.
        Some((source, std::path::absolute(&module).unwrap_or(module)))
    }

    /// Returns the module that a call finds first.
    pub(crate) fn module(&self, node: &FlowNode) -> Option<PathBuf> {
        module_of(&self.folders, node.text("program").unwrap_or_default())
    }

    /// Returns true if messages of a shape are the program's records.
    pub(crate) fn accepts(&self, shape: &ShapeFile) -> bool {
        let is_same = match (shape.form(), self.request.form()) {
            // A copybook names no code page, and the program gets the bytes as they are.
            (Form::Records { encoding: Some(one), .. }, Form::Records { encoding: Some(other), .. }) => one == other,
            (Form::Records { .. }, _) => true,
            _ => false,
        };
        is_same && same_shape(shape.shape(), self.request.shape())
    }

    pub(crate) fn request(&self) -> &Arc<ShapeFile> {
        &self.request
    }

    pub(crate) fn response(&self) -> &Arc<ShapeFile> {
        &self.response
    }

    /// Lists the folders for a finding.
    pub(crate) fn folders(&self) -> String {
        self.folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the source of a node's program, with compiler options for the dialect of its parameter.
fn source(
    root: &Path,
    node: &FlowNode,
    request: &ShapeFile,
) -> Result<Option<ModuleSource>, (&'static str, String, String)> {
    let given = node.text("compiler_options");
    let Some(written) = node.text("source") else {
        return match given {
            None => Ok(None),
            Some(_) => Err((
                "compiler_options",
                "`compiler_options` without a `source` to compile".to_owned(),
                "add `source`, or remove `compiler_options`".to_owned(),
            )),
        };
    };
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let file = root.join(written);
    if !file.is_file() {
        let message = format!("the source `{written}` does not exist");
        return Err(("source", message, "paths begin at the project's folder".to_owned()));
    }
    let mut options: Vec<String> = given.unwrap_or("-O2 -std=ibm").split_whitespace().map(str::to_owned).collect();
    if let Some(option) = options.iter().find(|option| is_gnucobol_output(option)) {
        let message = format!("`{option}` selects the type or file of the compiler output");
        return Err(("compiler_options", message, "remove it: Quayline compiles to a folder of `modules`".to_owned()));
    }
    if let Some(dialect) = request.schema().dialect() {
        let contradiction = options.iter().find_map(|option| Some((option, gnucobol_contradiction(option, &dialect)?)));
        if let Some((option, setting)) = contradiction {
            let message = format!("`{option}` contradicts the dialect of `request`, by which its records are read");
            let hint = format!("remove it, and set `{setting}` in the layout: Quayline passes it to the compiler");
            return Err(("compiler_options", message, hint));
        }
        options.extend(gnucobol_options(&dialect));
    }
    let program = node.text("program").unwrap_or_default().to_owned();
    Ok(Some(ModuleSource { program, file, options, root }))
}

/// Action for the sources of a flow.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Sources {
    /// Compile sources whose modules do not match them.
    Make,
    /// Compile the sources without keeping the result.
    Try,
}

impl Flow {
    /// Compiles the sources of nodes whose modules do not match them. Call it before the flow runs. Returns a line for each compiled module. After
    /// the call, [`Flow::files`] also has the copybooks.
    ///
    /// # Errors
    /// Each source that does not compile, with the words of the compiler.
    pub fn make_programs(&mut self) -> Result<Vec<String>, Findings> {
        let (lines, files, findings) = self.sources(Sources::Make);
        self.files.extend(files);
        self.files.sort();
        self.files.dedup();
        if findings.is_empty() { Ok(lines) } else { Err(Findings(findings)) }
    }

    /// Returns a finding for each source that does not compile. Does not keep the output of the compiler.
    #[must_use]
    pub fn try_programs(&self) -> Vec<Finding> {
        self.sources(Sources::Try).2
    }

    fn sources(&self, what: Sources) -> (Vec<String>, Vec<PathBuf>, Vec<Finding>) {
        let (mut lines, mut files, mut findings) = (Vec::new(), Vec::new(), Vec::new());
        let mut done: Vec<(&ModuleSource, PathBuf)> = Vec::new();
        for (node, compiled) in self.file.nodes.iter().zip(&self.nodes) {
            let Some((source, module)) = compiled.program.as_ref().and_then(Program::source) else { continue };
            let name = source.file.display();
            let outcome = match done.iter().find(|(_, known)| *known == module) {
                Some((known, _)) if *known == source => continue,
                Some(_) => {
                    Err("another node compiles the same module from another source or with other options".to_owned())
                }
                None if what == Sources::Try => source.try_compile().map(|()| None),
                None => source.bring_up_to_date(&module).map(Some),
            };
            match outcome {
                Ok(compiled) => {
                    let compiled = compiled.into_iter();
                    for Compiled { files: of, is_new } in compiled {
                        files.extend(of);
                        if is_new {
                            lines.push(format!("{name} is compiled to {}", module.display()));
                        }
                    }
                }
                // A module from elsewhere runs without a compiler.
                Err(why) if why == NO_COMPILER && what == Sources::Try && module.is_file() => {}
                Err(why) => {
                    let place = node.property("source").map(|property| self.file.text.place(&property.span));
                    let finding =
                        Finding::error(codes::PROGRAM, Fault::Config, format!("{name} does not compile: {why}"));
                    let hint = format!("correct the source, or compile it by hand: {}", source.by_hand(&module));
                    findings.push(finding.at(place.unwrap_or_default()).hint(hint));
                }
            }
            done.push((source, module));
        }
        (lines, files, findings)
    }
}

/// Reports modules that two flows make from different sources or with different options. Each would run the module of the other one.
#[must_use]
pub fn shared_modules<'f>(
    flows: impl IntoIterator<Item = &'f Flow>,
    others: impl IntoIterator<Item = &'f Flow>,
) -> Vec<Finding> {
    let modules = |flow: &'f Flow| {
        let made = flow.file.nodes.iter().zip(&flow.nodes).filter_map(|(node, compiled)| {
            let (source, module) = compiled.program.as_ref()?.source()?;
            Some((node, source, module))
        });
        made.collect::<Vec<_>>()
    };
    let mut known: Vec<(&Flow, &ModuleSource, PathBuf)> = Vec::new();
    for flow in others {
        known.extend(modules(flow).into_iter().map(|(_, source, module)| (flow, source, module)));
    }
    let mut findings = Vec::new();
    for flow in flows {
        for (node, source, module) in modules(flow) {
            // Two nodes of one flow are compared when it is compiled.
            let other =
                known.iter().find(|(of, other, made)| !std::ptr::eq(*of, flow) && *made == module && *other != source);
            if let Some((of, ..)) = other {
                let message =
                    format!("flow {} makes {} from another source or with other options", of.name(), module.display());
                let place = node.property("source").map(|property| flow.file.text.place(&property.span));
                let hint =
                    "name another folder in `modules`, or write the same `source`, `compiler_options` and `request`";
                let finding = Finding::error(codes::PROGRAM, Fault::Config, message).at(place.unwrap_or_default());
                findings.push(finding.hint(hint));
            }
            known.push((flow, source, module));
        }
    }
    findings
}

/// Pools of a flow on one thread, by number of the node.
#[derive(Default)]
pub(crate) struct Pools(RefCell<HashMap<usize, Rc<Pool>>>);

struct Pool {
    spec: WorkerSpec,
    /// One permit for each process that the node may have.
    permits: Semaphore,
    free: RefCell<Vec<Process>>,
}

/// A worker with its descriptors.
struct Process {
    worker: Worker,
    bell: AsyncFd<OwnedFd>,
    death: AsyncFd<OwnedFd>,
}

/// A call that ended with GOBACK.
struct Returned {
    code: i32,
    record: Vec<u8>,
}

impl Process {
    fn start(spec: &WorkerSpec) -> Result<Process, Failure> {
        let hint = "check the limits of processes and memory of this machine";
        let refused = |why: String| environment(format!("the program cannot be started: {why}"), hint);
        let worker = Worker::start(spec).map_err(|error| refused(error.to_string()))?;
        let system = |error: std::io::Error| refused(quayline_core::system_error_text(&error));
        let (bell, death) = (watch(worker.bell()).map_err(system)?, watch(worker.death()).map_err(system)?);
        Ok(Process { worker, bell, death })
    }

    /// Waits for the end of a call. `None` after the time limit, which begins when the program does; the process may then do anything.
    async fn call(&mut self, content: &[u8], limit: Duration) -> Result<Option<Returned>, End> {
        // A free worker has no call, so there is a slot.
        let Some(slot) = self.worker.submit(&[content]) else { return Err(End::Exited(-1)) };
        self.worker.ring();
        let submitted = Instant::now();
        loop {
            let (code, end) = self.worker.finished(slot);
            if let Some(code) = code {
                let mut record = Vec::new();
                self.worker.take(slot, usize::MAX, &mut record);
                return Ok(Some(Returned { code, record }));
            }
            if let Some(end) = end {
                return Err(end);
            }
            // The program may have overwritten the report of its process, so a second limit applies.
            let left = (limit * 2 + SLACK).saturating_sub(submitted.elapsed());
            let left = match self.worker.running() {
                Some((_, ran)) => left.min(limit.saturating_sub(ran)),
                None => left.min(LOOK),
            };
            if left.is_zero() {
                return Ok(None);
            }
            let rung = async {
                tokio::select! {
                    ready = self.bell.readable() => {
                        if let Ok(mut ready) = ready {
                            ready.clear_ready();
                        }
                    }
                    ready = self.death.readable() => {
                        // The process is gone, and a moment later its status is known.
                        drop(ready);
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
            };
            // The next round finds out whether a bell rang or the time is over.
            let _ = timeout(left, rung).await;
        }
    }
}

#[expect(deprecated, reason = "the call is unsound for types that close their descriptor early; an OwnedFd does not")]
fn watch(fd: BorrowedFd<'_>) -> std::io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd.try_clone_to_owned()?, Interest::READABLE)
}

fn environment(message: String, hint: &str) -> Failure {
    let mut failure = Failure::new(codes::PROGRAM_ENDED, message, hint);
    failure.finding.fault = quayline_core::Fault::Environment;
    failure
}

impl Run<'_> {
    fn pool(&self, at: usize, program: &Program) -> Result<Rc<Pool>, Failure> {
        if let Some(known) = self.programs.0.borrow().get(&at) {
            return Ok(Rc::clone(known));
        }
        let executable = std::env::current_exe().map_err(|error| {
            let why = quayline_core::system_error_text(&error);
            environment(
                format!("the program of this process is not known: {why}"),
                "check the installation of Quayline",
            )
        })?;
        let node = &self.flow.file.nodes[at];
        let root = std::path::absolute(&self.flow.root).unwrap_or_else(|_| self.flow.root.clone());
        let spec = WorkerSpec {
            program: node.text("program").unwrap_or_default().to_owned(),
            // Relative folders would begin at the folder that the program runs in.
            folders: program.folders.iter().filter_map(|folder| std::path::absolute(folder).ok()).collect(),
            work_folder: Some(node.text("work_folder").map_or_else(|| root.clone(), |folder| root.join(folder))),
            environment: Vec::new(),
            length: program.length,
            parameters: Vec::new(),
            slots: 1,
            working_storage: match node.text("working_storage") {
                Some("keep") => WorkingStorage::Keep,
                _ => WorkingStorage::Fresh,
            },
            memory_bytes_max: node.number("memory_mib").unwrap_or(MEMORY_MIB) << 20,
            executable,
            arguments: Vec::new(),
        };
        let workers = node.number("workers").and_then(|workers| usize::try_from(workers).ok()).unwrap_or(1);
        let pool = Rc::new(Pool { spec, permits: Semaphore::new(workers), free: RefCell::default() });
        self.programs.0.borrow_mut().insert(at, Rc::clone(&pool));
        Ok(pool)
    }

    /// Calls a program with the message. The content of its parameter after the call is the result.
    pub(crate) async fn cobol_program(&self, work: &mut Work, at: usize, parcel: &Parcel) -> Result<Gives, Failure> {
        let node = &self.flow.file.nodes[at];
        let Some(program) = &self.flow.nodes[at].program else { return Ok(Gives::Same("failure")) };
        let name = node.text("program").unwrap_or_default();
        let bytes = parcel.content.len();
        let schema = program.request.schema();
        let longest = schema.record_bytes_max().unwrap_or(program.length);
        let fixed = schema.record_length();
        let said = fixed.or_else(|| schema.length_of(&parcel.content));
        if bytes > longest || said != Some(bytes) {
            let wanted = match (fixed, said) {
                (Some(length), _) => length.to_string(),
                (None, Some(length)) => format!("{length} by its counts"),
                (None, None) => format!("at most {longest}, with counts that its layout allows"),
            };
            let message = format!("the message has {bytes} bytes, and the record of the program {name} has {wanted}");
            let hint = "make the record with a map node whose target is the shape of `request`";
            return Err(Failure::new(codes::NOT_READABLE, message, hint));
        }
        let pool = self.pool(at, program)?;
        let limit_ms = node.number("time_limit").unwrap_or(TIME_LIMIT_MS).max(1);
        let returned = pool.call(&parcel.content, Duration::from_millis(limit_ms)).await;
        self.resumed(work);
        let Returned { code, mut record } = match returned? {
            Ok(returned) => returned,
            Err(end) => return Err(ended(name, end, limit_ms)),
        };
        let most = node.number("return_code_max").unwrap_or(0);
        if !u64::try_from(code).is_ok_and(|code| code <= most) {
            let message = format!("the program {name} returned RETURN-CODE {code}");
            let hint = "see what the program reports by it; `return_code_max` is the highest one that is success";
            return Err(Failure::new(codes::RETURN_CODE, message, hint));
        }
        let schema = program.response.schema();
        let Some(length) = schema.record_length().or_else(|| schema.length_of(&record)) else {
            let message = format!("the answer of the program {name} has a count that its layout does not allow");
            let hint = "check the layout of `response`, and what the program stores in the counters of its tables";
            return Err(Failure::new(codes::NOT_READABLE, message, hint));
        };
        record.truncate(length);
        let answer = Parcel { return_code: Some(code), is_record: true, ..parcel.with_content(record) };
        Ok(Gives::Out(vec![("out", answer)]))
    }
}

impl Pool {
    /// Makes one call, including the wait for a process. Dropping the future kills the process with its call.
    async fn call(&self, content: &[u8], limit: Duration) -> Result<Result<Returned, End>, Failure> {
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        // A process may have ended while it was idle.
        let alive = |mut process: Process| process.worker.end().is_none().then_some(process);
        let free = std::iter::from_fn(|| self.free.borrow_mut().pop()).find_map(alive);
        let mut process = match free {
            Some(process) => process,
            None => Process::start(&self.spec)?,
        };
        match process.call(content, limit).await {
            Ok(Some(returned)) => {
                self.free.borrow_mut().push(process);
                Ok(Ok(returned))
            }
            Ok(None) => Ok(Err(End::TimeLimit)),
            Err(end) => Ok(Err(end)),
        }
    }
}

fn ended(name: &str, end: End, limit_ms: u64) -> Failure {
    let (message, hint) = match end {
        End::TimeLimit => (
            format!("the program {name} ran longer than {limit_ms} ms and was stopped"),
            "raise `time_limit` of the node, or look for a loop in the program",
        ),
        End::NoRuntime => (end.reason(), "install GnuCOBOL's run-time library, libcob"),
        End::NoProgram => {
            (format!("{name}: {}", end.reason()), "compile it into a folder that `modules` names, under its PROGRAM-ID")
        }
        _ => (format!("{name}: {}", end.reason()), "look into the program; its messages are on standard error"),
    };
    match end {
        End::NoRuntime | End::NoProgram => environment(message, hint),
        _ => Failure::new(codes::PROGRAM_ENDED, message, hint),
    }
}
