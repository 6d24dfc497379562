//! `quayline infer`: a shape guessed from samples.

use std::fs;
use std::io::{Cursor, Read as _};
use std::path::Path;

use quayline_convert::Compression;
use quayline_core::{Fault, Finding, Limits, system_error_text};
use quayline_infer::{EdiSamples, Samples, json_schema, layout, outline};

use crate::args::{InferArgs, InferForm};
use crate::console::{Console, shown};
use crate::exit::{CLI_INPUT, Exit, Stop, argument};
use crate::new_text::write_new;

/// Reads all samples, and writes a description of their common structure.
pub(crate) fn run(args: &InferArgs, console: &Console) -> Result<Exit, Stop> {
    let mut files = Vec::new();
    for path in &args.samples {
        files.push((shown(path), read(path)?));
    }
    if files.iter().any(|(_, bytes)| EdiSamples::begins(bytes)) {
        return guide(args, &files, console);
    }
    if args.only.is_some() {
        return Err(argument("--only chooses transactions, and the samples hold none").hint("leave it out").into());
    }
    let form = form(args)?;
    let mut samples = Samples::new();
    for (name, bytes) in &files {
        let text = core::str::from_utf8(bytes).map_err(|_| refused(name, "it is not UTF-8"))?;
        samples.add(name, text)?;
    }
    let first = args.samples.first().and_then(|path| path.file_stem()).and_then(|stem| stem.to_str());
    let stem = first.and_then(|name| name.split('.').next()).filter(|name| !name.is_empty()).unwrap_or("document");
    let draft = samples.draft(args.name.as_deref().unwrap_or(stem));
    let text = match form {
        InferForm::Outline => outline(&draft),
        InferForm::Schema => json_schema(&draft),
        InferForm::Layout => layout(&draft)?,
        InferForm::Guide => return Err(no_guide().into()),
    };
    write(args, &text)
}

/// Infers a guide from samples of EDI.
fn guide(args: &InferArgs, files: &[(String, Vec<u8>)], console: &Console) -> Result<Exit, Stop> {
    let extension = args.output.as_deref().and_then(Path::extension).and_then(|extension| extension.to_str());
    if args.form.is_some_and(|form| form != InferForm::Guide) || extension.is_some_and(|other| other != "guide") {
        let finding = argument("samples of EDI are described by a guide");
        return Err(finding.hint("name a file *.guide, and leave --as out").into());
    }
    let mut samples = EdiSamples::new(args.only.as_deref());
    for (name, bytes) in files {
        samples.add(name, bytes)?;
    }
    let guessed = samples.guide(args.name.as_deref())?;
    console.findings(&guessed.findings);
    write(args, &guessed.text())
}

fn write(args: &InferArgs, text: &str) -> Result<Exit, Stop> {
    write_new(args.output.as_deref(), text)?;
    Ok(Exit::Done)
}

fn form(args: &InferArgs) -> Result<InferForm, Stop> {
    if let Some(form) = args.form {
        return Ok(form);
    }
    let extension = args.output.as_deref().and_then(Path::extension).and_then(|extension| extension.to_str());
    Ok(match extension {
        Some("guide") => return Err(no_guide().into()),
        None | Some("shape" | "outline") => InferForm::Outline,
        Some("json") => InferForm::Schema,
        Some("toml") => InferForm::Layout,
        Some(other) => {
            return Err(argument(format!("no shape is a file *.{other}"))
                .hint("outlines are *.shape, JSON Schemas *.json, layouts *.toml; or say it with --as")
                .into());
        }
    })
}

fn no_guide() -> Finding {
    argument("a guide describes EDI, and the samples are not EDI").hint("name a file *.shape, *.json or *.toml")
}

fn refused(name: &str, reason: impl std::fmt::Display) -> Finding {
    Finding::error(CLI_INPUT, Fault::Caller, format!("{name} cannot be read: {reason}"))
}

fn read(path: &Path) -> Result<Vec<u8>, Stop> {
    let max = Limits::default().guide_bytes_max;
    let mut bytes = Vec::new();
    let mut read = fs::File::open(path).and_then(|file| file.take(max as u64 + 1).read_to_end(&mut bytes));
    if let Some(compression) = Compression::of_head(&bytes) {
        let packed = Box::new(Cursor::new(std::mem::take(&mut bytes)));
        read = compression.reader(packed).and_then(|content| content.take(max as u64 + 1).read_to_end(&mut bytes));
    }
    read.map_err(|error| refused(&shown(path), system_error_text(&error)))?;
    if bytes.len() > max {
        let reason = format!("it has more than {max} bytes; some documents of it are sample enough");
        return Err(refused(&shown(path), reason).into());
    }
    Ok(bytes)
}
