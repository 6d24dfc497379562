//! `edi_data claims|orders COUNT FILE`: writes an interchange of so many claims (837P) or purchase orders (ORDERS).

use std::fs::File;
use std::process::ExitCode;

use quayline_bench::data::{Claims, Orders};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, count, file] = &arguments[..] else {
        eprintln!("usage: edi_data claims|orders COUNT FILE");
        return ExitCode::from(2);
    };
    let written = match (what.as_str(), count.parse()) {
        ("claims", Ok(claims)) => File::create(file).and_then(|mut out| Claims::new(claims).write_to(&mut out)),
        ("orders", Ok(orders)) => File::create(file).and_then(|mut out| Orders { orders }.write_to(&mut out)),
        _ => {
            eprintln!("error: claims or orders, and a number of them");
            return ExitCode::from(2);
        }
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {file}: {error}");
            ExitCode::FAILURE
        }
    }
}
