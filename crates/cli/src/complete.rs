//! `quayline completions`.

use crate::args::{Cli, Shell};
use crate::console::Console;
use crate::exit::{Exit, Stop};

/// Writes the completion script of a shell to standard output.
pub(crate) fn run(shell: Shell, _console: &Console) -> Result<Exit, Stop> {
    let mut command = Cli::whole();
    // `generate` panics on a closed pipe, so it writes to memory.
    let mut script = Vec::new();
    let generator = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Elvish => clap_complete::Shell::Elvish,
        Shell::Fish => clap_complete::Shell::Fish,
        Shell::Powershell => clap_complete::Shell::PowerShell,
        Shell::Zsh => clap_complete::Shell::Zsh,
    };
    clap_complete::generate(generator, &mut command, "quayline", &mut script);
    crate::console::write_stdout(&script)?;
    Ok(Exit::Done)
}
