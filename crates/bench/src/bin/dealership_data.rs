//! Writes car inquiry answers in EBCDIC code page 037, as `examples/dealership/car100.cpy` describes them.
//!
//! `dealership_data FILE [--records N] [--cars N] [--dealers N] [--framing fixed|rdw]`
//!
//! `fixed` (default) writes COMMAREAs of 30,128 bytes; `rdw` writes records of their own length with a record descriptor word in front.

use std::process::ExitCode;

use quayline_bench::data::{CarRecords, Length};

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<String>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let usage = "usage: dealership_data FILE [--records N] [--cars N] [--dealers N] [--framing fixed|rdw]";
    let (file, options) = arguments.split_first().ok_or(usage)?;
    let mut cars = CarRecords::FULL;
    let mut records = 1;
    for option in options.chunks(2) {
        let [name, value] = option else { return Err(format!("{} has no value\n{usage}", option[0])) };
        let number = |max: u32| match value.parse() {
            Ok(number) if number <= max => Ok(number),
            _ => Err(format!("{name} is {value}, expected 0 to {max}")),
        };
        match name.as_str() {
            "--records" => records = number(10_000_000)?,
            "--cars" => cars.cars = number(100)?,
            "--dealers" => cars.dealers = number(25)?,
            "--framing" if value == "fixed" => cars.length = Length::Commarea,
            "--framing" if value == "rdw" => cars.length = Length::Fields,
            _ => return Err(format!("{name} {value} is unknown\n{usage}")),
        }
    }
    let bytes = cars.records(records as usize);
    let framed = match cars.length {
        Length::Commarea => bytes,
        Length::Fields => with_descriptor_words(&bytes, cars.record_length()),
    };
    std::fs::write(file, framed).map_err(|error| format!("{file}: {error}"))
}

/// Adds a z/OS record descriptor word to each record: length including the word, two zero bytes.
fn with_descriptor_words(records: &[u8], length: usize) -> Vec<u8> {
    let word = u16::try_from(length + 4).expect("a car record has at most 30,128 bytes").to_be_bytes();
    records
        .chunks(length)
        .flat_map(|record| [word[0], word[1], 0, 0].into_iter().chain(record.iter().copied()))
        .collect()
}
