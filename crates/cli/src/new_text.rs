//! Texts that commands propose, such as shapes, maps and services: on standard output or in a new file.

use std::path::Path;

use quayline_convert::{Destination, write_whole};

use crate::console::{shown, write_stdout};
use crate::exit::{Stop, argument};

/// Returns the file that an option names; `None` for standard output, without the option or with `-`.
pub(crate) fn file_of(output: Option<&Path>) -> Option<&Path> {
    output.filter(|path| *path != Path::new("-"))
}

/// Writes a text to the file that an option names, which must not exist, or to standard output.
pub(crate) fn write_new(output: Option<&Path>, text: &str) -> Result<(), Stop> {
    let Some(path) = file_of(output) else { return Ok(write_stdout(text.as_bytes())?) };
    if path.exists() && Destination::of(path).map_err(|error| error.findings())? != Destination::Stream {
        let finding = argument(format!("{} already exists", shown(path)));
        return Err(finding.hint("name another file, or remove it").into());
    }
    Ok(write_whole(path, text.as_bytes()).map_err(|error| error.findings())?)
}
