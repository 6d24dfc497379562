//! What an argument must be, in place of what Rust's parsers call it.

use std::error::Error as _;
use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use quayline_core::{plain_reason, refused_range};

use crate::args::Cli;

/// Returns the reason of the argument parser for refusing a value, and what to say instead. `None` for another error.
pub(crate) fn of(error: &clap::Error, arguments: &[OsString]) -> Option<(String, String)> {
    let reason = reason(error)?;
    let expected = plain_reason(&reason, || range(error, arguments))?;
    Some((reason, expected))
}

fn reason(error: &clap::Error) -> Option<String> {
    (error.kind() == ErrorKind::ValueValidation).then(|| error.source().map(ToString::to_string))?
}

/// Returns the range of the refused argument. Only the parser knows it, and reports it for a number outside of the range.
fn range(error: &clap::Error, arguments: &[OsString]) -> Option<(u64, u64)> {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return None };
    let named = format!("={value}");
    let place = arguments.iter().position(|one| {
        one == OsStr::new(value) || one.to_str().is_some_and(|one| one.starts_with('-') && one.ends_with(&named))
    })?;
    let with = |number: &str| {
        let mut arguments = arguments.to_vec();
        let text = arguments[place].to_str()?;
        arguments[place] = format!("{}{number}", &text[..text.len() - value.len()]).into();
        let again = Cli::of(&arguments).err()?;
        let is_same = again.get(ContextKind::InvalidArg) == error.get(ContextKind::InvalidArg);
        refused_range(&reason(&again).filter(|_| is_same)?)
    };
    with("0").or_else(|| with(&(i64::MAX - 1).to_string()))
}
