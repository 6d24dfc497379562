//! `peers WHAT FILE`: reads a file with one of the Rust parsers and prints a number that depends on all of it.

use std::process::ExitCode;

use edifact_rs::{Contrl, from_bytes, from_reader, validate_envelope};
use x12_stream_parser::{Delimiters, Parser};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, what, file] = &arguments[..] else {
        eprintln!("usage: peers x12-elements|edifact|edifact-reader|edifact-contrl FILE");
        return ExitCode::from(2);
    };
    let bytes = || std::fs::read(file).expect("a file that can be read");
    let sum = match what.as_str() {
        "x12-elements" => {
            let bytes = bytes();
            Parser::new(&bytes, Delimiters::new(b'~', b'*', b':'))
                .map(|segment| segment.expect("good input"))
                .map(|segment| segment.elements().map(|element| element.len() + 1).sum::<usize>())
                .sum::<usize>()
        }
        "edifact" => from_bytes(&bytes())
            .map(|segment| segment.expect("good input").elements.len())
            .sum(),
        "edifact-reader" => from_reader(std::fs::File::open(file).expect("a file that can be read"))
            .map(|segment| segment.expect("good input").elements.len())
            .sum(),
        "edifact-contrl" => {
            let bytes = bytes();
            let segments: Vec<_> = from_bytes(&bytes).collect::<Result<_, _>>().expect("good input");
            let validated = validate_envelope(&segments).expect("a good envelope");
            let wire = Contrl::acknowledgement(&validated)
                .to_interchange_string("UNOC", "3", "260101", "0930", "ACK-1")
                .expect("an acknowledgement");
            wire.len()
        }
        _ => return ExitCode::from(2),
    };
    println!("{sum}");
    ExitCode::SUCCESS
}
