//! `accounts_data FILE`: writes the file of the demo, `examples/accounts/accounts.ebcdic`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("usage: accounts_data FILE");
        return ExitCode::from(2);
    };
    match std::fs::write(&file, quayline_bench::data::accounts()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}
