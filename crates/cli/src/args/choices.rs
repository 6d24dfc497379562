//! Options whose values are named choices of a crate below, and names of files.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use quayline_core::{Choice, Named};
use quayline_edi::ValidationLevel;

/// Parses the name of a choice. The help lists the choices as their table describes them.
pub(super) fn choice<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::CHOICES.iter().map(possible);
    PossibleValuesParser::new(values).map(|name| T::by_name(&name).expect("a listed name"))
}

/// Extent of the check of what is written; `None` if it is not checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputLevel(pub(crate) Option<ValidationLevel>);

/// Parses `none` or the name of a level.
pub(super) fn output_level() -> impl TypedValueParser<Value = OutputLevel> {
    let none = PossibleValue::new("none").help("Nothing: EDI is written unchecked");
    let levels = ValidationLevel::CHOICES.iter().map(possible);
    PossibleValuesParser::new(std::iter::once(none).chain(levels))
        .map(|name| OutputLevel(ValidationLevel::by_name(&name)))
}

fn possible<T>(choice: &Choice<T>) -> PossibleValue {
    PossibleValue::new(choice.name).aliases(choice.aliases).help(choice.help)
}

/// Parses the name of a file. It refuses `-`, which would become a file of that name.
pub(super) fn file_name() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path.as_os_str() == "-" {
            return Err(
                "`-` is not a file: name one, or write `/dev/stdout` for standard output and `./-` for that name",
            );
        }
        Ok(path)
    })
}
