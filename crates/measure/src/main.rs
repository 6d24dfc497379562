//! `quayline-measure gateway [FOLDER] [--seconds N] [--clients A,B,…] [--out FOLDER]`: the study without the rest of the command line.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use quayline_measure::{CHILD_ARGUMENT, GatewayStudy, StudyOptions, run_child};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match arguments.first().and_then(|first| first.to_str()) {
        Some(quayline_program::WORKER_ARGUMENT) => quayline_program::run_worker(&arguments[1..]),
        Some(CHILD_ARGUMENT) => run_child(&arguments[1..]),
        _ => {
            let words: Vec<String> = arguments.iter().filter_map(|word| Some(word.to_str()?.to_owned())).collect();
            match StudyOptions::of_words(&words).and_then(|options| GatewayStudy::run(&options)) {
                Ok(study) => {
                    let _ = write!(std::io::stdout(), "{}", study.tables());
                    i32::from(!study.holds())
                }
                Err(why) => {
                    let _ = writeln!(std::io::stderr(), "{why}");
                    2
                }
            }
        }
    };
    ExitCode::from(u8::try_from(code).unwrap_or(70))
}
