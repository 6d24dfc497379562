//! `edi_data claims|orders COUNT FILE [PER-TRANSACTION]`: writes an interchange of this many claims (837P) or purchase orders (ORDERS). A transaction
//! has 5,000 claims, or the number in the last argument.

use std::fs::File;
use std::process::ExitCode;

use quayline_bench::data::{Claims, Orders};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (count, per_transaction) = (arguments.get(1).map(|n| n.parse()), arguments.get(3).map(|n| n.parse()));
    let ([what, _, file] | [what, _, file, _]) = &arguments[..] else {
        eprintln!("usage: edi_data claims|orders COUNT FILE [PER-TRANSACTION]");
        return ExitCode::from(2);
    };
    let written = match (what.as_str(), count, per_transaction) {
        ("claims", Some(Ok(claims)), None) => {
            File::create(file).and_then(|mut out| Claims::new(claims).write_to(&mut out))
        }
        ("claims", Some(Ok(claims)), Some(Ok(per_transaction))) => {
            File::create(file).and_then(|mut out| Claims { claims, per_transaction }.write_to(&mut out))
        }
        ("orders", Some(Ok(orders)), None) => {
            File::create(file).and_then(|mut out| Orders { orders }.write_to(&mut out))
        }
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
