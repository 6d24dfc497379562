//! Policies: 100 fields of text, zoned, packed and binary numbers.

use super::RecordWriter;

/// Records of `examples/bench/policy.cpy`.
#[derive(Debug)]
pub struct Policies;

impl Policies {
    /// The copybook.
    pub const COPYBOOK: &'static str = include_str!("../../../../examples/bench/policy.cpy");

    /// Returns this many records.
    #[must_use]
    pub fn records(count: usize, seed: u64) -> Vec<u8> {
        let fields: Vec<(&str, &str, &str)> = Self::COPYBOOK.lines().filter_map(field).collect();
        let mut w = RecordWriter::new(seed);
        for _ in 0..count {
            for (name, picture, usage) in &fields {
                write(&mut w, name, picture, usage);
            }
        }
        w.bytes
    }
}

/// Parses name, picture and usage of an elementary item.
fn field(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.trim().strip_prefix("05 ")?.split_once(" PIC ")?;
    let (picture, usage) = rest.trim_end_matches('.').split_once(' ').unwrap_or((rest.trim_end_matches('.'), ""));
    Some((name.trim(), picture, usage))
}

fn write(w: &mut RecordWriter, name: &str, picture: &str, usage: &str) {
    let size = places(picture);
    let width = size as usize;
    match (picture.as_bytes()[0], usage) {
        (b'X', _) => match width {
            1 => {
                let letter = ["A", "L", "P"][usize::try_from(w.random().below(3)).expect("below 3")];
                w.text(letter, 1);
            }
            2..12 => w.words(1, width),
            _ => w.words(2, width),
        },
        (_, "") if name.ends_with("-DATE") || name.ends_with("-ON") => {
            let (year, month, day) = (1950 + w.random().below(80), 1 + w.random().below(12), 1 + w.random().below(28));
            w.zoned_value(year * 10_000 + month * 100 + day, size);
        }
        (_, "COMP") => {
            let value = w.random().below(9999);
            match size {
                0..5 => w.binary2(i16::try_from(value).expect("below 10,000")),
                _ => w.binary4(u32::try_from(value).expect("below 10,000")),
            }
        }
        (_, "COMP-3") => {
            // Small enough that their sums fit.
            let value = w.random().below(10u64.pow(size - 2));
            let negative = w.random().percent(10);
            w.packed_value(value, negative, size);
        }
        (b'S', _) => w.zoned_signed(size),
        _ => w.zoned(size),
    }
}

/// Digits or characters of a picture.
fn places(picture: &str) -> u32 {
    let mut sum = 0;
    for part in picture.trim_start_matches('S').split('V') {
        sum += match part.split_once('(') {
            Some((_, count)) => count.trim_end_matches(')').parse().expect("a number"),
            None => u32::try_from(part.len()).expect("few"),
        };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_places() {
        for (picture, expected) in [("X(12)", 12), ("S9(9)V99", 11), ("S9(3)V9(4)", 7), ("9(2)", 2)] {
            assert_eq!(places(picture), expected, "{picture}");
        }
    }
}
