//! `quayline.cobolProcessor` and `quayline.cobolBatchlet`: a COBOL program in a separate process, called with one parameter.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_program::{End, Worker, WorkerSpec, WorkingStorage, has_entry, module_of};

use super::file_writer::{FILLED, pad_of};
use crate::artifact::{Answer, Batchlet, Injected, Item, Processor};
use crate::codes;
use crate::context::{StepContext, StopSignal};
use crate::error::Thrown;

/// Maximum interval between two checks for a stop request.
const LOOK: Duration = Duration::from_millis(100);
/// Largest parameter.
pub(super) const LENGTH_MAX: u64 = 64 << 20;
/// Address space of the program's process.
const MEMORY_BYTES: u64 = 512 << 20;

const NO_MODULE: &str = "compile it with `cobc -m` into a folder that the property modules names";

/// A program that can be called.
struct Program {
    name: String,
    spec: WorkerSpec,
    pad: u8,
    timeout: Duration,
    stop: StopSignal,
    worker: Option<Worker>,
}

impl Program {
    fn new(with: &Injected, length: u64) -> Answer<Self> {
        let executable = std::env::current_exe().map_err(|error| {
            Thrown::of(&["quayline.Environment"], format!("the program of this process is not known: {}", error.kind()))
        })?;
        let modules = with.property("modules").unwrap_or("programs");
        let folders: Vec<PathBuf> = modules.split(':').map(|folder| with.folder.join(folder)).collect();
        let program = with.required("program")?.to_uppercase();
        // A library that libcob loads before may have the program too.
        if std::env::var_os("COB_PRE_LOAD").is_none() {
            let Some(module) = module_of(&folders, &program) else {
                let message = format!("{program}: {program}.so is not in the program folders: {modules}");
                return Err(Thrown::of(&["quayline.Configuration", "quayline.Environment"], message).hint(NO_MODULE));
            };
            if !has_entry(&module, &program) {
                let what = format!("is {program}, but {} has no such PROGRAM-ID, in capitals", module.display());
                let remedy = "write the PROGRAM-ID of the source, and name the module after it";
                return Err(Thrown::property(&with.name, "program", what, remedy));
            }
        }
        let working_storage = match with.property("working-storage") {
            Some("keep") => WorkingStorage::Keep,
            _ => WorkingStorage::Fresh,
        };
        let pad = with.property("pad").map_or(Some(b' '), pad_of).unwrap_or(b' ');
        Ok(Program {
            name: with.required("program")?.to_owned(),
            spec: WorkerSpec {
                program,
                folders,
                work_folder: Some(with.folder.clone()).filter(|folder| !folder.as_os_str().is_empty()),
                environment: with.job.environment(with.step.as_deref()),
                length: usize::try_from(length).unwrap_or(usize::MAX),
                parameters: Vec::new(),
                slots: 1,
                working_storage,
                memory_bytes_max: MEMORY_BYTES,
                executable,
                arguments: Vec::new(),
            },
            pad,
            timeout: Duration::from_secs(with.number("timeout-s", 60)?),
            stop: with.job.stop.clone(),
            worker: None,
        })
    }

    /// Calls the program with a parameter; RETURN-CODE. The parameter as the program left it is in `to`.
    fn call(&mut self, parameter: &[u8], to: &mut Vec<u8>) -> Answer<i32> {
        let length = self.spec.length;
        if parameter.len() > length {
            let message =
                format!("the item has {} bytes, and the parameter of {} has {length}", parameter.len(), self.name);
            return Err(Thrown::of(&["quayline.Rejected"], message)
                .hint("set the property length to the size of the program's LINKAGE record"));
        }
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => none.insert(Worker::start(&self.spec).map_err(|error| {
                Thrown::of(&["quayline.Environment"], error.to_string())
                    .hint("check the properties program and modules")
            })?),
        };
        let fill = vec![self.pad; length - parameter.len()];
        let (begin, timeout) = (Instant::now(), self.timeout);
        let ended = worker.call(&[parameter, &fill], length, to, &mut || (begin.elapsed() < timeout).then_some(LOOK));
        ended.map_err(|end| {
            // The next call begins in a new process.
            self.worker = None;
            let classes: &[&str] = match end {
                End::NoRuntime | End::NoProgram => &["quayline.Configuration"],
                _ => &["quayline.Program"],
            };
            let message = format!("{}: {}", self.name, end.reason());
            let remedy = match end {
                End::NoRuntime => "install GnuCOBOL's run-time library, libcob",
                End::NoProgram => NO_MODULE,
                End::TimeLimit => "raise the property timeout-s, or look for a loop in the program",
                _ => "look into the program; its messages are on standard error",
            };
            Thrown::of(classes, message).hint(remedy)
        })
    }
}

/// Passes items to a program, and returns its results.
pub(super) struct CobolProcessor {
    program: Program,
    step: Option<Arc<StepContext>>,
    /// RETURN-CODE that leaves an item out.
    filter_code: Option<i32>,
}

impl CobolProcessor {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let length = with.number("length", 1)?.clamp(1, LENGTH_MAX);
        let filter_code = with.property("filter-code").and_then(|code| code.parse().ok());
        Ok(CobolProcessor { program: Program::new(with, length)?, step: with.step.clone(), filter_code })
    }
}

impl Processor for CobolProcessor {
    fn process(&mut self, item: &Item) -> Answer<Option<Item>> {
        let mut made = Vec::new();
        match self.program.call(item, &mut made)? {
            0 => {
                if let Some(step) = self.step.as_ref().filter(|_| item.len() < self.program.spec.length) {
                    step.tally(&format!("{}: {}: ", self.program.name, codes::PADDED), 1, FILLED);
                }
                Ok(Some(made))
            }
            code if self.filter_code == Some(code) => Ok(None),
            code => Err(refused(&self.program.name, code)),
        }
    }
}

/// Calls a program once.
pub(super) struct CobolBatchlet {
    program: Program,
    parameter: Vec<u8>,
    success_max: u64,
}

impl CobolBatchlet {
    pub(super) fn new(with: &Injected) -> Answer<Self> {
        let parameter = with.property("parameter").unwrap_or_default().as_bytes().to_vec();
        let length = with.number("length", parameter.len().max(1) as u64)?.clamp(1, LENGTH_MAX);
        let success_max = with.number("success-max", 0)?;
        Ok(CobolBatchlet { program: Program::new(with, length)?, parameter, success_max })
    }
}

impl Batchlet for CobolBatchlet {
    fn process(&mut self) -> Answer<Option<String>> {
        let stop = self.program.stop.clone();
        if stop.is_set() {
            return Ok(None);
        }
        let code = self.program.call(&self.parameter, &mut Vec::new())?;
        if u64::try_from(code).is_ok_and(|code| code <= self.success_max) {
            Ok(Some(code.to_string()))
        } else {
            Err(refused(&self.program.name, code))
        }
    }
}

fn refused(program: &str, code: i32) -> Thrown {
    Thrown::of(&["quayline.ReturnCode", "quayline.Program"], format!("{program} returned RETURN-CODE {code}"))
        .hint("a job skips such items by skippable-exception-classes with quayline.ReturnCode")
}
