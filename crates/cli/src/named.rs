//! Code pages and framings that options name.

use quayline_charset::Charset;
use quayline_frame::FramingSpec;

use crate::exit::{Stop, argument};

/// Returns the character set with this name.
pub(crate) fn charset_named(name: &str) -> Result<Charset, Stop> {
    Charset::by_name(name).map_err(|unknown| argument(unknown.to_string()).hint(unknown.hint()).into())
}

/// Parses a framing; `fixed` alone uses the copybook's length.
pub(crate) fn framing_named(text: &str, record_length: Option<usize>) -> Result<FramingSpec, Stop> {
    if text.trim() == "fixed"
        && let Some(length) = record_length
    {
        return Ok(FramingSpec::Fixed { length });
    }
    let spec = FramingSpec::parse(text).map_err(|error| error.finding())?;
    spec.check(&quayline_core::Limits::default()).map_err(|error| error.finding())?;
    Ok(spec)
}
