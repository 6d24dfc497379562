//! Code pages and framings that options name.

use quayline_charset::Charset;
use quayline_frame::FramingSpec;

use crate::exit::{Stop, argument, without_controls};

/// Returns the character set with this name.
pub(crate) fn charset_named(name: &str) -> Result<Charset, Stop> {
    // A name may hold what a terminal would execute.
    Charset::by_name(name)
        .map_err(|unknown| argument(without_controls(&unknown.to_string())).hint(unknown.hint()).into())
}

/// Returns the character set with this name for EDI, whose delimiters are bytes of ASCII.
pub(crate) fn edi_charset_named(name: &str) -> Result<Charset, Stop> {
    let charset = charset_named(name)?;
    if charset.extends_ascii() {
        return Ok(charset);
    }
    let finding = argument(format!("Quayline does not read or write EDI in {}", charset.name()));
    Err(finding.hint("name a set that extends ASCII; convert files in other sets first, for example with `iconv -f NAME -t UTF-8`").into())
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
