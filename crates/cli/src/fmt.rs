//! `quayline map fmt`: maps in the common layout.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use quayline_core::{Fault, Finding, Limits, system_error_text};
use quayline_map::format_map;

use crate::args::FmtArgs;
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_INPUT, Exit, Stop, argument};
use crate::render::{Paint, diff};

/// Formats every file, or lists those that would change.
pub(crate) fn run(args: &FmtArgs, console: &Console) -> Result<Exit, Stop> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut changed = false;
    for file in maps_of(&args.files)? {
        match lay_out(&file, args, console) {
            Ok(differs) => changed |= differs,
            Err(Stop::Findings(found)) => {
                console.findings(&found.0);
                findings.extend(found.0);
            }
            Err(closed) => return Err(closed),
        }
    }
    let exit = Exit::of_findings(&findings);
    Ok(if exit == Exit::Done && args.check && changed { Exit::Rejected } else { exit })
}

/// Formats a file unless it is only checked. Returns true if its layout differed.
fn lay_out(file: &Path, args: &FmtArgs, console: &Console) -> Result<bool, Stop> {
    let stdin = file == Path::new("-");
    let name = if stdin { "standard input".to_owned() } else { shown(file) };
    let text = read_map(file).map_err(|error| {
        let message = format!("{name} cannot be read: {}", system_error_text(&error));
        Finding::error(CLI_INPUT, Fault::Caller, message)
    })?;
    let after = format_map(&name, &text)?;
    let differs = after != text;
    if args.check {
        if differs {
            let lines = diff(&text, &after, Paint::new(console.color_stdout()));
            write_stdout(format!("--- {name}\n+++ {name}, laid out\n{lines}").as_bytes())?;
        }
    } else if stdin {
        write_stdout(after.as_bytes())?;
    } else if differs {
        replace(file, &after).map_err(|error| {
            let message = format!("{name} cannot be written: {}", system_error_text(&error));
            Finding::error(CLI_INPUT, Fault::Environment, message)
        })?;
    }
    Ok(differs)
}

/// Returns the selected files: those named, and the maps in named folders, sorted.
pub(crate) fn maps_of(named: &[PathBuf]) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            if path.extension().is_some_and(|extension| extension != "qmap") {
                return Err(argument(format!("{} is not a map", shown(path)))
                    .hint("maps are called *.qmap; other files have no common layout")
                    .into());
            }
            if path.extension().is_none() && path != Path::new("-") && !path.exists() {
                let finding = argument(format!("there is no folder {}", shown(path)));
                return Err(finding.hint("run the command in a project's folder, or name maps or their folder").into());
            }
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        maps_in(path, &mut files).map_err(|error| {
            Finding::error(
                CLI_INPUT,
                Fault::Caller,
                format!("{} cannot be read: {}", shown(path), system_error_text(&error)),
            )
        })?;
        if files.len() == before {
            return Err(argument(format!("there is no map in {}", shown(path))).hint("maps are called *.qmap").into());
        }
    }
    Ok(files)
}

/// Maps in a folder and the folders in it, by name; links are not followed.
pub(crate) fn maps_in(folder: &Path, maps: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            maps_in(&path, maps)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "qmap") {
            maps.push(path);
        }
    }
    Ok(())
}

/// Reads a text file up to the maximum size of maps.
pub(crate) fn read_map(file: &Path) -> io::Result<String> {
    let max = Limits::default().copybook_bytes_max;
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin().lock().take(max as u64 + 1).read_to_end(&mut bytes)?;
    } else {
        fs::File::open(file)?.take(max as u64 + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() > max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {max} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Writes a map atomically. Replaces only regular files.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(file)?;
    let known = fs::metadata(&target)?;
    if !known.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let partial = target.with_extension("qmap.partial");
    fs::write(&partial, text)?;
    fs::set_permissions(&partial, known.permissions())?;
    fs::rename(&partial, &target).inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}
