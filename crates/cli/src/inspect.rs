//! `quayline inspect`.
use crate::args::InspectArgs;
use crate::console::Console;
use crate::exit::{Exit, Stop};
pub(crate) fn run(_args: &InspectArgs, _console: &Console) -> Result<Exit, Stop> {
    Ok(Exit::Done)
}
