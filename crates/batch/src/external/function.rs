//! Functions of maps that programs of the user compute: by the artifact protocol, or in COBOL.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quayline_pipeline::{Function, FunctionSource, OwnFunction, OwnType};
use quayline_program::{End, Worker, WorkerSpec, WorkingStorage};

use super::program::Program;

/// Default time limit of a call.
pub const FUNCTION_TIME: Duration = Duration::from_secs(10);
/// Calls in a row in which the program fails to answer, after which it is not started again.
const FAILURES_MAX: u32 = 3;
/// Bytes of the parameter of a COBOL program.
const AREA_BYTES_MAX: usize = 1 << 20;
/// Address space of a COBOL program's process.
const MEMORY_BYTES: u64 = 512 << 20;
/// Maximum interval between two checks of the clock.
const LOOK: Duration = Duration::from_millis(50);

/// Program that computes a function, as configured by the user.
#[derive(Clone, Debug)]
pub struct FunctionProgram {
    /// Name in the map.
    pub name: String,
    /// A command of the shell, or `cobol:FOLDER/PROGRAM`.
    pub command: String,
    /// Folder in which commands run, and from which folders of COBOL modules count.
    pub folder: PathBuf,
    /// Longest time of a call.
    pub time: Duration,
}

impl FunctionProgram {
    /// Checks the programs for the functions that a map declares: each function needs one, and each program must belong to a function.
    ///
    /// # Errors
    /// A description of the fault and a remedy.
    pub fn of_map<'f>(
        declared: impl Iterator<Item = &'f OwnFunction>,
        programs: Vec<FunctionProgram>,
    ) -> Result<Vec<FunctionProgram>, (String, String)> {
        let declared: Vec<&OwnFunction> = declared.collect();
        for (at, FunctionProgram { name, .. }) in programs.iter().enumerate() {
            let Some(function) = declared.iter().find(|function| function.name == *name) else {
                let known: Vec<&str> = declared.iter().map(|function| function.name.as_str()).collect();
                let remedy = match known.is_empty() {
                    true => format!("declare it in the map: fn {name}(a: text(10)) -> text(10)"),
                    false => format!("it declares {}", known.join(", ")),
                };
                return Err((format!("the map declares no function `{name}`"), remedy));
            };
            if programs[..at].iter().any(|program| program.name == *name) {
                return Err((format!("the function `{name}` has two programs"), "remove one of them".to_owned()));
            }
            if let Some(reason) = programs[at].refuses(function) {
                let remedy = "declare lengths in the map: text(30), decimal(11, 2)".to_owned();
                return Err((format!("the function `{name}` cannot be called: {reason}"), remedy));
            }
        }
        match declared.iter().find(|function| programs.iter().all(|program| program.name != function.name)) {
            None => Ok(programs),
            Some(OwnFunction { name, .. }) => Err((
                format!("the function `{name}` of the map has no program"),
                format!("connect it: {name}=COMMAND, or {name}=cobol:FOLDER/PROGRAM"),
            )),
        }
    }

    /// Returns the reason why this program cannot compute a function that a map declares.
    fn refuses(&self, function: &OwnFunction) -> Option<String> {
        self.cobol()?;
        let named = function.parameters.iter().map(|(name, of)| (name.as_str(), *of));
        for (name, of) in named.chain([("the result", function.gives)]) {
            if width(of).is_none() {
                return Some(format!("`{name}` is {of}, and a COBOL program needs its length"));
            }
        }
        (area_bytes(function) > AREA_BYTES_MAX).then(|| format!("its values have more than {AREA_BYTES_MAX} bytes"))
    }

    /// Returns folder and name of the COBOL program.
    fn cobol(&self) -> Option<(PathBuf, String)> {
        let path = Path::new(self.command.strip_prefix("cobol:")?);
        let program = path.file_name()?.to_string_lossy().to_uppercase();
        Some((self.folder.join(path.parent().unwrap_or(Path::new(""))), program))
    }
}

impl FunctionSource for FunctionProgram {
    fn name(&self) -> &str {
        &self.name
    }

    /// Opens the function. The process starts with the first call; each lane that calls it has a separate one.
    fn open(&self) -> Box<dyn Function> {
        Box::new(Connected { of: self.clone(), process: None, failures: 0, last: String::new() })
    }
}

/// A function with its process.
struct Connected {
    of: FunctionProgram,
    process: Option<Process>,
    /// Number of consecutive calls without an answer, and the error of the last one.
    failures: u32,
    last: String,
}

enum Process {
    Command(Box<Program>),
    Cobol(Box<(WorkerSpec, Option<Worker>)>),
}

impl Function for Connected {
    fn call(&mut self, function: &OwnFunction, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, String> {
        if self.failures >= FAILURES_MAX {
            return Err(format!("{}; after {FAILURES_MAX} such calls it is not called again", self.last));
        }
        let process = match &mut self.process {
            Some(process) => process,
            none => none.insert(start(&self.of, function)?),
        };
        let answer = match process {
            Process::Command(program) => ask(program, arguments),
            Process::Cobol(worker) => call(worker, &self.of, function, arguments),
        };
        match answer {
            Ok(answer) => {
                self.failures = 0;
                answer
            }
            Err(lost) => {
                self.failures += 1;
                self.last.clone_from(&lost);
                Err(lost)
            }
        }
    }
}

/// The outer error means that the program did not answer, the inner one that it refused the arguments.
type Answer = Result<Result<Option<Vec<u8>>, String>, String>;

fn start(of: &FunctionProgram, function: &OwnFunction) -> Result<Process, String> {
    let Some((folder, program)) = of.cobol() else {
        let types: Vec<(String, String)> =
            function.parameters.iter().map(|(name, of)| (name.clone(), of.to_string())).collect();
        return Ok(Process::Command(Box::new(Program::of_function(of, &types, function.gives))));
    };
    if let Some(reason) = of.refuses(function) {
        return Err(reason);
    }
    let executable = std::env::current_exe()
        .map_err(|error| format!("the program of this process is not known: {}", error.kind()))?;
    let spec = WorkerSpec {
        program,
        folders: vec![folder],
        work_folder: Some(of.folder.clone()).filter(|folder| !folder.as_os_str().is_empty()),
        environment: Vec::new(),
        parameters: Vec::new(),
        length: area_bytes(function).max(1),
        slots: 1,
        working_storage: WorkingStorage::Fresh,
        memory_bytes_max: MEMORY_BYTES,
        executable,
        arguments: Vec::new(),
    };
    Ok(Process::Cobol(Box::new((spec, None))))
}

fn ask(program: &mut Program, arguments: &[&[u8]]) -> Answer {
    let fields: Vec<Option<&[u8]>> = arguments.iter().map(|argument| Some(*argument)).collect();
    match program.ask("call", &fields) {
        Ok(mut fields) if fields.len() == 1 => Ok(Ok(fields.pop().flatten())),
        Ok(fields) => {
            let thrown = program.misfit("call", format!("has {} fields, expected the result", fields.len()));
            Err(thrown.message)
        }
        // The program answered and still runs: it refuses only these arguments.
        Err(thrown) if program.runs() => Ok(Err(thrown.message)),
        Err(thrown) => Err(thrown.message),
    }
}

fn call(
    process: &mut (WorkerSpec, Option<Worker>),
    of: &FunctionProgram,
    function: &OwnFunction,
    arguments: &[&[u8]],
) -> Answer {
    let (spec, slot) = process;
    let mut area = Vec::with_capacity(spec.length);
    for (argument, (name, wanted)) in arguments.iter().zip(&function.parameters) {
        if let Err(reason) = write(&mut area, *wanted, argument) {
            return Ok(Err(format!("its argument `{name}` {reason}")));
        }
    }
    let at = area.len();
    area.resize(spec.length, b' ');
    let running = match slot {
        Some(worker) => worker,
        None => slot.insert(Worker::start(spec).map_err(|error| error.to_string())?),
    };
    let (begin, mut to) = (Instant::now(), Vec::new());
    let ended = running.call(&[&area], spec.length, &mut to, &mut || (begin.elapsed() < of.time).then_some(LOOK));
    match ended {
        Ok(0) => Ok(read(to.get(at..).unwrap_or_default(), function.gives)),
        Ok(code) => Ok(Err(format!("its program returned RETURN-CODE {code}"))),
        Err(end) => {
            // The next call begins in a new process.
            *slot = None;
            Err(match end {
                End::TimeLimit => format!("its program gave no answer within {} s", of.time.as_secs_f64()),
                end => end.reason(),
            })
        }
    }
}

/// Bytes of a value in the parameter of a COBOL program.
fn width(of: OwnType) -> Option<usize> {
    match of {
        OwnType::Text(max) => max.map(|max| max as usize),
        // PIC S9(n)V9(m) SIGN LEADING SEPARATE.
        OwnType::Decimal(digits) => digits.map(|(whole, scale)| 1 + usize::from(whole) + places(scale)),
        OwnType::Date => Some(8),
    }
}

fn places(scale: i16) -> usize {
    usize::try_from(scale).unwrap_or(0)
}

fn area_bytes(function: &OwnFunction) -> usize {
    let all = function.parameters.iter().map(|(_, of)| *of).chain([function.gives]);
    all.map(|of| width(of).unwrap_or(0)).fold(0, usize::saturating_add)
}

/// Appends a value as COBOL has it.
fn write(area: &mut Vec<u8>, of: OwnType, value: &[u8]) -> Result<(), String> {
    let end = area.len() + width(of).unwrap_or(0);
    match of {
        OwnType::Text(_) => {
            if !value.is_ascii() {
                return Err("has characters beyond ASCII, which its COBOL program cannot take".to_owned());
            }
            area.extend_from_slice(value);
            area.resize(end, b' ');
        }
        OwnType::Decimal(digits) => {
            let (whole, scale) = digits.unwrap_or_default();
            let (sign, number) = value.strip_prefix(b"-").map_or((b'+', value), |rest| (b'-', rest));
            let mut parts = number.splitn(2, |byte| *byte == b'.');
            let before = parts.next().unwrap_or_default();
            let after = parts.next().unwrap_or_default();
            let before = &before[before.iter().take_while(|digit| **digit == b'0').count()..];
            let zeros = after.iter().rev().take_while(|digit| **digit == b'0').count();
            let after = &after[..after.len() - zeros];
            let (Some(fill), Some(more)) =
                (usize::from(whole).checked_sub(before.len()), places(scale).checked_sub(after.len()))
            else {
                return Err("has more digits than its type".to_owned());
            };
            area.push(sign);
            area.extend(std::iter::repeat_n(b'0', fill));
            area.extend_from_slice(before);
            area.extend_from_slice(after);
            area.extend(std::iter::repeat_n(b'0', more));
        }
        OwnType::Date => area.extend(value.iter().filter(|byte| **byte != b'-')),
    }
    debug_assert_eq!(area.len(), end, "each value has its width");
    Ok(())
}

/// Parses the result of a program. Spaces mean no value.
fn read(bytes: &[u8], of: OwnType) -> Result<Option<Vec<u8>>, String> {
    let length = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == b' ').count();
    let value = &bytes[..length];
    if value.is_empty() {
        return Ok(None);
    }
    let wrong = |what: &str| Err(format!("its program left a result that is not {what}"));
    match of {
        OwnType::Text(_) if !value.is_ascii() || value.contains(&0) => wrong("text in ASCII"),
        OwnType::Text(_) => Ok(Some(value.to_vec())),
        OwnType::Decimal(digits) => {
            let scale = places(digits.unwrap_or_default().1);
            let (sign, number) = value.split_at(1);
            let good = number.len() + 1 == bytes.len() && number.iter().all(u8::is_ascii_digit);
            if !good || !matches!(sign, b"+" | b"-") {
                return wrong("a sign and digits, as in PIC S9(5)V99 SIGN LEADING SEPARATE");
            }
            let (before, after) = number.split_at(number.len() - scale);
            let mut text = if sign == b"-" { b"-".to_vec() } else { Vec::new() };
            text.extend_from_slice(if before.is_empty() { b"0" } else { before });
            if !after.is_empty() {
                text.push(b'.');
                text.extend_from_slice(after);
            }
            Ok(Some(text))
        }
        OwnType::Date => match value {
            [year @ .., _, _, _, _] if value.len() == 8 && value.iter().all(u8::is_ascii_digit) => {
                Ok(Some([year, b"-", &value[4..6], b"-", &value[6..]].concat()))
            }
            _ => wrong("a date, expected CCYYMMDD"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(of: OwnType, value: &[u8]) -> (Vec<u8>, Result<Option<Vec<u8>>, String>) {
        let mut area = Vec::new();
        write(&mut area, of, value).expect("it fits");
        let back = read(&area, of);
        (area, back)
    }

    #[test]
    fn values_cross_as_cobol_has_them() {
        let money = OwnType::Decimal(Some((5, 2)));
        assert_eq!(there_and_back(money, b"-12.5"), (b"-0001250".to_vec(), Ok(Some(b"-00012.50".to_vec()))));
        assert_eq!(there_and_back(money, b"0012.500"), (b"+0001250".to_vec(), Ok(Some(b"00012.50".to_vec()))));
        let rate = OwnType::Decimal(Some((0, 3)));
        assert_eq!(there_and_back(rate, b"0.25"), (b"+250".to_vec(), Ok(Some(b"0.250".to_vec()))));
        let text = OwnType::Text(Some(5));
        assert_eq!(there_and_back(text, b"ab"), (b"ab   ".to_vec(), Ok(Some(b"ab".to_vec()))));
        assert_eq!(there_and_back(text, b""), (b"     ".to_vec(), Ok(None)));
        assert_eq!(
            there_and_back(OwnType::Date, b"2026-01-31"),
            (b"20260131".to_vec(), Ok(Some(b"2026-01-31".to_vec())))
        );
        assert!(write(&mut Vec::new(), money, b"123456").is_err());
        assert!(write(&mut Vec::new(), money, b"1.234").is_err());
        assert!(write(&mut Vec::new(), text, "é".as_bytes()).is_err());
        assert!(read(b"0001250 ", money).is_err(), "no sign");
        assert!(read(b"+00 1250", money).is_err());
        assert!(read(b"2026-131", OwnType::Date).is_err());
    }
}
