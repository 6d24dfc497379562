//! Inputs made to be slow: every shape is one unit repeated in one place of an otherwise good file, and cost must grow as its size does.
//!
//! A reader that looks back, rescans a gap, or keeps a list for each delimiter is fast on every real file and never ends on one of these.
//! Each [`Shape`] runs through the `quayline` command at several sizes up to 64 MB. What counts is the exponent of CPU time over size, with
//! the time that an empty run takes subtracted. A run that a limit refuses costs next to nothing and passes.

mod shapes;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

pub use shapes::{Format, formats};

use crate::process::{self, Ended};

/// Bytes of the files, smallest first.
const SIZES: [usize; 4] = [1 << 10, 64 << 10, 4 << 20, 64 << 20];
/// CPU seconds that one run may take before it counts as endless. The slowest honest shape takes about two on a slow machine.
const CPU_SECONDS_MAX: u32 = 20;
/// CPU time below which a run says nothing about growth: the noise of starting a process is of this order.
const NOISE_S: f64 = 0.02;

/// One unit repeated between what makes the rest of the file good.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Place and unit.
    pub name: String,
    /// What comes before the units.
    pub before: Vec<u8>,
    /// What is repeated.
    pub unit: Vec<u8>,
    /// What comes after them.
    pub after: Vec<u8>,
}

impl Shape {
    /// Writes a file of about `bytes` bytes.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn write(&self, path: &Path, bytes: usize) -> io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        file.write_all(&self.before)?;
        // Blocks of units: a write call for each byte of a gap would take longer than the run that is measured.
        let block = self.unit.repeat((64 << 10) / self.unit.len().max(1) + 1);
        let mut left = bytes / self.unit.len().max(1) * self.unit.len();
        while left > 0 {
            let part = left.min(block.len());
            file.write_all(&block[..part])?;
            left -= part;
        }
        file.write_all(&self.after)?;
        file.flush()
    }
}

/// How the cost of one shape under one command grew.
#[derive(Clone, Debug)]
pub struct Growth {
    /// Format, command and shape.
    pub name: String,
    /// Exponent of CPU time over size between the last two sizes; 0 where the run is too short to say.
    pub exponent: f64,
    /// CPU seconds at the last size.
    pub cpu_s: f64,
    /// Peak memory at the last size, bytes.
    pub peak_bytes: u64,
}

/// Runs every shape of `format` under each of its commands.
///
/// # Errors
/// A run that ends by a signal, takes longer than its limit, or ends with the status of a fault of ours.
pub fn measure(this: &Path, quayline: &Path, folder: &Path, format: &Format) -> Result<Vec<Growth>, String> {
    let file = folder.join(format!("hostile.{}", format.extension));
    let mut found = Vec::new();
    // A command that refuses its own options is fast on every shape: the good file shows that it reads.
    if let Some(shape) = format.shapes.first() {
        shape.write(&file, 0).map_err(|error| format!("{}: {error}", file.display()))?;
        for command in &format.commands {
            let ended = run(this, quayline, folder, command, &file, || format!("{}, the good file", format.name))?;
            if ended.status == Some(2) {
                return Err(format!("{}: `quayline {}` cannot be used on a good file", format.name, command.join(" ")));
            }
        }
    }
    for shape in &format.shapes {
        // Time and peak by command, one row a size.
        let mut runs: Vec<Vec<Ended>> = Vec::new();
        for size in SIZES {
            shape.write(&file, size).map_err(|error| format!("{}: {error}", file.display()))?;
            let mut row = Vec::new();
            for command in &format.commands {
                row.push(run(this, quayline, folder, command, &file, || format!("{}, {}", format.name, shape.name))?);
            }
            runs.push(row);
        }
        shape.write(&file, SIZES[SIZES.len() - 1]).map_err(|error| format!("{}: {error}", file.display()))?;
        for (column, command) in format.commands.iter().enumerate() {
            let start = runs[0][column].cpu.as_secs_f64();
            let own = |row: usize| (runs[row][column].cpu.as_secs_f64() - start).max(NOISE_S / 16.0);
            let last = SIZES.len() - 1;
            let mut large = own(last);
            let mut exponent = grown(own(last - 1), large, last);
            // A busy neighbour can only slow a run: the shorter of two counts.
            if exponent > 1.05 {
                let again = run(this, quayline, folder, command, &file, || format!("{}, {}", format.name, shape.name))?;
                large = large.min((again.cpu.as_secs_f64() - start).max(NOISE_S));
                exponent = grown(own(last - 1), large, last);
            }
            found.push(Growth {
                name: format!("{} {}: {}", format.name, command[0], shape.name),
                exponent,
                cpu_s: runs[last][column].cpu.as_secs_f64(),
                peak_bytes: runs[last][column].peak_bytes,
            });
        }
    }
    let _ = std::fs::remove_file(&file);
    Ok(found)
}

/// The exponent between two sizes; 0 where the larger run disappears in the noise.
fn grown(small: f64, large: f64, last: usize) -> f64 {
    let by = SIZES[last] as f64 / SIZES[last - 1] as f64;
    if large < NOISE_S * by.sqrt() { 0.0 } else { (large / small.max(NOISE_S / by)).ln() / by.ln() }
}

fn run(
    this: &Path,
    quayline: &Path,
    folder: &Path,
    command: &[&str],
    file: &Path,
    name: impl Fn() -> String,
) -> Result<Ended, String> {
    let mut words: Vec<OsString> = vec![quayline.into()];
    for word in command {
        words.push(match *word {
            "FILE" => file.into(),
            word => match word.strip_prefix("FOLDER/") {
                Some(name) => folder.join(name).into(),
                None => word.into(),
            },
        });
    }
    let ended = process::run_bounded(this, &words, CPU_SECONDS_MAX)?;
    match ended.status {
        // Done, data refused, unusable definition, stopped.
        Some(0..=3) => Ok(ended),
        status => {
            let how = status.map_or_else(|| "by a signal".to_owned(), |status| format!("with status {status}"));
            let cpu = ended.cpu.as_secs_f64();
            Err(format!("{}: `quayline {}` ended {how} after {cpu:.1} s of CPU", name(), command.join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_forty_shapes() {
        for format in formats() {
            assert!(format.shapes.len() >= 40, "{} has {}", format.name, format.shapes.len());
            let mut names: Vec<&str> = format.shapes.iter().map(|shape| shape.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), format.shapes.len(), "{}: names repeat", format.name);
        }
    }

    #[test]
    fn a_square_has_the_exponent_two() {
        let last = SIZES.len() - 1;
        assert!((grown(1.0, 256.0, last) - 2.0).abs() < 1e-9);
        assert!(grown(0.001, 0.001, last).abs() < 1e-9);
    }
}
