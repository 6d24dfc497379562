//! One load on any running server, for comparisons and proofs.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;

use crate::load::{Load, Pace, Run};
use crate::{CpuClock, server};

/// Load on a running server.
#[derive(Clone, Debug)]
pub struct OutsideLoad {
    address: SocketAddr,
    process: u32,
    core: Option<usize>,
    load: Load,
}

impl OutsideLoad {
    /// Parses `ADDRESS TARGET PROCESS-ID` and options: `--clients N` (100), `--seconds N` (5), `--warm-up N` (1), `--core N` for this process; either
    /// `--think-ms N` between an answer and the next request, or `--rate N` requests a second; without both, clients do not pause.
    ///
    /// # Errors
    /// A description of the error in the arguments.
    pub fn of_words(words: &[String]) -> Result<OutsideLoad, String> {
        let [address, target, process, options @ ..] = words else {
            return Err("load needs ADDRESS TARGET PROCESS-ID".to_owned());
        };
        let mut outside = OutsideLoad {
            address: address.parse().map_err(|_| format!("{address} is not an address with a port"))?,
            process: process.parse().map_err(|_| format!("{process} is not a process id"))?,
            core: None,
            load: Load {
                clients: 100,
                pace: Pace::NoPause,
                warm_up: Duration::from_secs(1),
                time: Duration::from_secs(5),
                count: Duration::ZERO,
                target: target.clone(),
            },
        };
        for pair in options.chunks(2) {
            let [option, value] = pair else { return Err(format!("{} needs a value", pair.concat())) };
            let number = || match value.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
                _ => Err(format!("{option}: {value} is not a number from 0")),
            };
            let whole =
                || value.parse::<usize>().map_err(|_| format!("{option}: {value} is not a whole number from 0"));
            match option.as_str() {
                "--clients" => outside.load.clients = whole()?,
                "--seconds" => outside.load.time = Duration::from_secs_f64(number()?),
                "--warm-up" => outside.load.warm_up = Duration::from_secs_f64(number()?),
                "--think-ms" => outside.load.pace = Pace::Think(Duration::from_secs_f64(number()? / 1e3)),
                "--rate" => outside.load.pace = Pace::Open(number()?),
                "--core" => outside.core = Some(whole()?),
                other => return Err(format!("{other} is not an option")),
            }
        }
        Ok(outside)
    }

    /// Runs it.
    ///
    /// # Errors
    /// A connection that cannot be made.
    pub fn run(&self) -> Result<Run, String> {
        if let Some(core) = self.core {
            server::pin(core);
        }
        let cpu = CpuClock::of_family(self.process);
        self.load.run(self.address, &cpu).map_err(|error| format!("{}: {error}", self.address))
    }
}

/// A run as scripts read it.
#[derive(Serialize)]
struct RunWire {
    answers: u64,
    failures: u64,
    tps: f64,
    cpu_us: f64,
    cpu_percent: f64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    service_p99_ms: f64,
    body_bytes: usize,
    resident_bytes: u64,
}

impl Run {
    /// Returns the run as a JSON object on one line.
    #[must_use]
    pub fn json(&self) -> String {
        // As many digits as the clocks deserve.
        let rounded = |value: f64, digits: i32| (value * 10f64.powi(digits)).round() / 10f64.powi(digits);
        let wire = RunWire {
            answers: self.answers,
            failures: self.failures,
            tps: rounded(self.tps(), 1),
            cpu_us: rounded(self.cpu_ms() * 1e3, 2),
            cpu_percent: rounded(self.cpu.as_secs_f64() / self.seconds * 100.0, 1),
            p50_ms: rounded(self.ms(50.0), 3),
            p99_ms: rounded(self.ms(99.0), 3),
            max_ms: rounded(self.ms(100.0), 3),
            service_p99_ms: rounded(self.service_ms(99.0), 3),
            body_bytes: self.body_bytes,
            resident_bytes: self.resident_bytes,
        };
        serde_json::to_string(&wire).expect("a run has string keys and plain numbers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<OutsideLoad, String> {
        OutsideLoad::of_words(&line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_a_load() {
        let outside = words("127.0.0.1:80 /a 12 --clients 7 --think-ms 250 --seconds 0.5 --core 1").expect("a load");
        assert_eq!(outside.process, 12);
        assert_eq!(outside.core, Some(1));
        assert_eq!(outside.load.clients, 7);
        assert_eq!(outside.load.pace, Pace::Think(Duration::from_millis(250)));
        assert_eq!(outside.load.time, Duration::from_millis(500));
        for (line, why) in [
            ("127.0.0.1:80 /a", "load needs ADDRESS TARGET PROCESS-ID"),
            ("localhost /a 12", "localhost is not an address with a port"),
            ("127.0.0.1:80 /a 12 --clients", "--clients needs a value"),
            ("127.0.0.1:80 /a 12 --seconds -1", "--seconds: -1 is not a number from 0"),
            ("127.0.0.1:80 /a 12 --loud 1", "--loud is not an option"),
        ] {
            assert_eq!(words(line).expect_err("refused"), why);
        }
    }
}
