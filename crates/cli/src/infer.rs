//! `quayline infer`: a shape guessed from samples.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use quayline_convert::{Destination, system_error_text, write_whole};
use quayline_core::{Fault, Finding, Limits};
use quayline_infer::{Samples, json_schema, layout, outline};

use crate::args::{InferArgs, InferForm};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{CLI_INPUT, Exit, Stop, argument};

/// Reads all samples, and writes what they have in common.
pub(crate) fn run(args: &InferArgs, _console: &Console) -> Result<Exit, Stop> {
    let form = form(args)?;
    let mut samples = Samples::new();
    for path in &args.samples {
        samples.add(&shown(path), &read(path)?)?;
    }
    let first = args.samples.first().and_then(|path| path.file_stem()).and_then(|stem| stem.to_str());
    let stem = first.and_then(|name| name.split('.').next()).filter(|name| !name.is_empty()).unwrap_or("document");
    let draft = samples.draft(args.name.as_deref().unwrap_or(stem));
    let text = match form {
        InferForm::Outline => outline(&draft),
        InferForm::Schema => json_schema(&draft),
        InferForm::Layout => layout(&draft)?,
    };
    match &args.output {
        None => write_stdout(text.as_bytes())?,
        Some(path)
            if path.exists() && Destination::of(path).map_err(|error| error.findings())? != Destination::Stream =>
        {
            return Err(argument(format!("{} is there already", shown(path)))
                .hint("name another file, or remove it")
                .into());
        }
        Some(path) => write_whole(path, text.as_bytes()).map_err(|error| error.findings())?,
    }
    Ok(Exit::Done)
}

fn form(args: &InferArgs) -> Result<InferForm, Stop> {
    if let Some(form) = args.form {
        return Ok(form);
    }
    let extension = args.output.as_deref().and_then(Path::extension).and_then(|extension| extension.to_str());
    Ok(match extension {
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

fn read(path: &Path) -> Result<String, Stop> {
    let max = Limits::default().guide_bytes_max;
    let mut bytes = Vec::new();
    let opened = fs::File::open(path).and_then(|file| file.take(max as u64 + 1).read_to_end(&mut bytes));
    let refused = |reason: String| -> Stop {
        Finding::error(CLI_INPUT, Fault::Caller, format!("{} cannot be read: {reason}", shown(path))).into()
    };
    opened.map_err(|error| refused(system_error_text(&error)))?;
    if bytes.len() > max {
        return Err(refused(format!("it has more than {max} bytes; some documents of it are sample enough")));
    }
    String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".to_owned()))
}
