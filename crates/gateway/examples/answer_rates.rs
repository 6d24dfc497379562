//! What the gateway itself costs a request of the dealership, without a socket or a program: request to record, record to answer.
//!
//! `cargo run --release -p quayline-gateway --example answer_rates [CARS [DEALERS [ROUNDS]]]`; beside times, `perf stat -e instructions:u`
//! over it says what they come from.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use quayline_gateway::{Definitions, Media, OperationLane, Request, Routed};

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let mut next = |default| numbers.next().unwrap_or(Ok(default));
    let (cars, dealers, rounds) = (next(100)?.min(100), next(25)?.min(25), next(20_000)?.max(1));
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dealership");
    let definitions = Definitions::load(&project).map_err(|findings| findings.to_string())?;
    let Routed::To(index, path_values) = definitions.find("GET", "/car100/models") else {
        return Err("the dealership has no /car100/models".into());
    };
    let operation = &definitions.operations[index];
    let mut lane = OperationLane::new(operation);
    let request = Request {
        path_values: &path_values,
        query: "maxCars=100&maxDealers=25",
        header: &|_| None,
        body: &[],
        media_type: None,
    };
    let mut record = answer(cars, dealers);
    let (mut buffer, mut bytes) = (Vec::new(), 0);
    let began = Instant::now();
    for _ in 0..rounds {
        let outgoing = lane.record(operation, &request).map_err(|problem| problem.json("-").to_string())?;
        core::hint::black_box(outgoing.front);
    }
    let requests = began.elapsed();
    let began = Instant::now();
    for _ in 0..rounds {
        let answer = lane
            .answer(operation, &mut record, Media::Json, None, buffer)
            .map_err(|problem| problem.json("-").to_string())?;
        (buffer, bytes) = (answer.buffer, answer.len);
        core::hint::black_box(&buffer);
    }
    let answers = began.elapsed();
    let us = |time: std::time::Duration| time.as_secs_f64() * 1e6 / rounds as f64;
    writeln!(
        std::io::stdout(),
        "request to record {:.2} us, record to answer {:.2} us, {bytes} bytes",
        us(requests),
        us(answers)
    )?;
    Ok(())
}

/// The record that the program answers with.
fn answer(cars: usize, dealers: usize) -> Vec<u8> {
    let mut record = vec![b' '; 30_128];
    let mut set = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
    let count = |n: usize| u32::try_from(n).unwrap_or(0).to_be_bytes();
    set(0, &[0; 52]);
    set(52, b"A");
    set(53, &count(cars));
    set(57, &count(dealers));
    set(61, &[0; 24]);
    set(85, b"20261122--09:30:00");
    let mut at = 128;
    for car in 0..cars {
        for field in 0..20 {
            let text = match field {
                0 => format!("REF{car:06}"),
                1 => "SALOON".to_owned(),
                2 => format!("{}.00", 9_000 + 311 * car),
                n if (car + n).is_multiple_of(3) => "NO".to_owned(),
                _ => "YES".to_owned(),
            };
            set(at + 12 * field, text.as_bytes());
        }
        at += 240;
    }
    for dealer in 0..dealers {
        set(at, format!("DEALER {dealer}").as_bytes());
        set(at + 16, b"UK");
        set(at + 18, format!("{dealer} HARBOUR STREET, SOUTHAMPTON").as_bytes());
        set(at + 108, b"01632 960123");
        at += 124;
    }
    record
}
