//! `quayline-measure gateway [FOLDER] [--seconds N] [--clients A,B,…] [--report NAME]`: runs the gateway study, without the full command line.
//!
//! `quayline-measure load ADDRESS TARGET PROCESS-ID [--clients N] [--seconds N] …`: runs one load against a running server and prints JSON.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use quayline_measure::{CHILD_ARGUMENT, GatewayStudy, OutsideLoad, StudyOptions, run_child};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match arguments.first().and_then(|first| first.to_str()) {
        Some(quayline_program::WORKER_ARGUMENT) => quayline_program::run_worker(&arguments[1..]),
        Some(CHILD_ARGUMENT) => run_child(&arguments[1..]),
        _ => {
            let words: Vec<String> = arguments.iter().filter_map(|word| Some(word.to_str()?.to_owned())).collect();
            if let Some(("load", of_load)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
                return load(of_load);
            }
            let (words, report) = without_report(words);
            let studied = StudyOptions::of_words(&words).and_then(|options| GatewayStudy::run(&options));
            match studied.and_then(|study| written(study, report.as_deref())) {
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

/// Removes `--report NAME` from the arguments. Returns the rest and the name.
fn without_report(mut words: Vec<String>) -> (Vec<String>, Option<String>) {
    let Some(at) = words.iter().position(|word| word == "--report") else { return (words, None) };
    let name = words.drain(at..words.len().min(at + 2)).nth(1);
    (words, name)
}

/// Writes NAME.html, NAME.csv and NAME.json.
fn written(study: GatewayStudy, name: Option<&str>) -> Result<GatewayStudy, String> {
    let Some(name) = name else { return Ok(study) };
    let report = study.report();
    for (extension, text) in [("html", report.html()), ("csv", report.csv()), ("json", report.json())] {
        let path = format!("{name}.{extension}");
        std::fs::write(&path, text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(study)
}

fn load(words: &[String]) -> ExitCode {
    match OutsideLoad::of_words(words).and_then(|load| load.run()) {
        Ok(run) => {
            let _ = writeln!(std::io::stdout(), "{}", run.json());
            ExitCode::from(u8::from(run.answers == 0))
        }
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::from(2)
        }
    }
}
