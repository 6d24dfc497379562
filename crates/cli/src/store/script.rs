//! `quayline file run`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read, Write as _};
use std::path::Path;

use quayline_core::{Finding, Place};
use quayline_store::record_file::ScriptRun;
use quayline_store::{FileStatus, Store, StoreError};

use super::{stop, unreadable};
use crate::args::ScriptArgs;
use crate::console::shown;
use crate::exit::{Exit, Stop, argument};
use crate::interrupt::Stdin;

/// Longest line: the longest record as hexadecimal digits, with room.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Runs a script line by line. Answers are printed as they come, so that another program may send operations and read their outcomes in turn.
pub(super) fn run(args: &ScriptArgs, store: &Store) -> Result<Exit, Stop> {
    let name = args.script.as_deref().unwrap_or(Path::new("<input>"));
    let from: Box<dyn Read> = match &args.script {
        Some(path) => Box::new(File::open(path).map_err(|error| unreadable(path, &error))?),
        None => Box::new(Stdin::new()),
    };
    let mut from = BufReader::with_capacity(64 << 10, from);
    let mut to = BufWriter::with_capacity(64 << 10, std::io::stdout());
    let mut run = ScriptRun::new(store);
    let (mut line, mut number, mut operations) = (Vec::new(), 0u64, 0u64);
    let outcome = loop {
        if from.buffer().is_empty() {
            to.flush()?;
        }
        line.clear();
        let read = (&mut from).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(name, &error))? == 0 {
            break run.commit().map_err(stop);
        }
        number += 1;
        let at = |finding: Finding| {
            finding.at(Place { file: Some(shown(name).into()), line: u32::try_from(number).ok(), ..Place::default() })
        };
        let answer = match run.line(&line) {
            Ok(None) => continue,
            Ok(Some(answer)) => answer,
            Err(fault) => {
                let hint = "correct the line; see `quayline file run --help`. What was not committed is undone";
                break Err(at(argument(fault.to_string()).hint(hint)).into());
            }
        };
        let text = if args.json { answer.json(number) } else { answer.text(number) };
        writeln!(to, "{text}")?;
        if let Some(error) = answer.error.as_ref().filter(|error| is_fatal(error)) {
            break Err(at(error.finding()).into());
        }
        operations += 1;
        if args.commit_interval.is_some_and(|interval| operations.is_multiple_of(interval)) {
            run.commit().map_err(stop)?;
        }
    };
    to.flush()?;
    outcome.map(|()| Exit::Done)
}

/// Returns true if the script cannot continue.
fn is_fatal(error: &StoreError) -> bool {
    matches!(error.status(), FileStatus::Permanent | FileStatus::Full)
}
