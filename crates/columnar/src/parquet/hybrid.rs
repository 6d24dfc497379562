//! The hybrid of run lengths and bit packing that Parquet uses for levels and dictionary keys.
//!
//! Source: Apache Parquet, Encodings, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".

/// Appends `values`, each below `2^width`, without the length prefix that levels have.
///
/// Encodes a run of at least [`RUN_MIN`] equal values as a run length and everything else packed in groups of eight.
pub(crate) fn encode<T: Copy + Eq + Into<u32>>(values: &[T], width: u32, out: &mut Vec<u8>) {
    let mut at = 0;
    while at < values.len() {
        let run = run(&values[at..]);
        if run >= RUN_MIN || at + run == values.len() {
            put_run(values[at].into(), run, width, out);
            at += run;
            continue;
        }
        let mut end = at + run.next_multiple_of(8);
        while end < values.len() && !is_run(&values[end..]) {
            end += 8;
        }
        let end = end.min(values.len());
        put_packed(&values[at..end], width, out);
        at = end;
    }
}

/// Appends one run length.
pub(crate) fn put_run(value: u32, run: usize, width: u32, out: &mut Vec<u8>) {
    put_varint((run as u64) << 1, out);
    out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

/// Appends bits that are packed already: the validity of a column is its definition levels at width 1. `words` has the bits of
/// `len` values.
pub(crate) fn put_bits(words: &[u64], len: usize, out: &mut Vec<u8>) {
    let groups = len.div_ceil(8);
    put_varint((groups as u64) << 1 | 1, out);
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()).take(groups));
}

/// Bits that hold `value`.
pub(crate) fn width(value: usize) -> u32 {
    usize::BITS - value.leading_zeros()
}

/// Equal values that are worth a run: below that a run in the midst of packed values costs more than it saves.
const RUN_MIN: usize = 64;

fn is_run<T: Copy + Eq>(values: &[T]) -> bool {
    values.len() >= RUN_MIN && values[0] == values[1] && values[..RUN_MIN].iter().all(|value| *value == values[0])
}

fn run<T: Copy + Eq>(values: &[T]) -> usize {
    values.iter().take_while(|value| **value == values[0]).count()
}

/// Appends a number, seven bits a byte, low ones first.
pub(crate) fn put_varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n.to_le_bytes()[0] | 0x80);
        n >>= 7;
    }
    out.push(n.to_le_bytes()[0]);
}

fn put_packed<T: Copy + Into<u32>>(values: &[T], width: u32, out: &mut Vec<u8>) {
    let groups = values.len().div_ceil(8);
    put_varint((groups as u64) << 1 | 1, out);
    let start = out.len();
    let step = width as usize;
    // Sixteen bytes are written for each group, and the next one overwrites the excess.
    out.resize(start + groups * step + 32, 0);
    let mut at = start;
    let mut chunks = values.chunks_exact(8);
    for group in &mut chunks {
        put_group(group.try_into().expect("a chunk of eight"), width, &mut out[at..]);
        at += step;
    }
    let rest = chunks.remainder();
    if let Some(first) = rest.first() {
        // Values after the last are never read.
        let mut group = [*first; 8];
        group[..rest.len()].copy_from_slice(rest);
        put_group(&group, width, &mut out[at..]);
    }
    out.truncate(start + groups * step);
}

#[inline(always)]
fn put_group<T: Copy + Into<u32>>(group: &[T; 8], width: u32, out: &mut [u8]) {
    if width <= 8 {
        let packed = (0..8).fold(0u64, |packed, i| packed | u64::from(group[i].into()) << (width * SHIFTS[i]));
        out[..8].copy_from_slice(&packed.to_le_bytes());
    } else if width <= 16 {
        let half = |from: usize| {
            (0..4).fold(0u64, |packed, i| packed | u64::from(group[from + i].into()) << (width * SHIFTS[i]))
        };
        let packed = u128::from(half(0)) | u128::from(half(4)) << (4 * width);
        out[..16].copy_from_slice(&packed.to_le_bytes());
    } else {
        let half = |from: usize| {
            (0..4).fold(0u128, |packed, i| packed | u128::from(group[from + i].into()) << (width * SHIFTS[i]))
        };
        let (low, high) = (half(0), half(4));
        // 4 x 17 to 4 x 32 bits a half.
        out[..16].copy_from_slice(&(low | high.checked_shl(4 * width).unwrap_or(0)).to_le_bytes());
        out[16..32].copy_from_slice(&(high >> (128 - 4 * width)).to_le_bytes());
    }
}

const SHIFTS: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes bit by bit: the reference implementation for tests.
    fn decode(mut bytes: &[u8], width: u32, len: usize) -> Vec<u32> {
        let mut values = Vec::new();
        while values.len() < len {
            let mut header = 0u64;
            for shift in (0..).step_by(7) {
                header |= u64::from(bytes[0] & 0x7f) << shift;
                let more = bytes[0] & 0x80 != 0;
                bytes = &bytes[1..];
                if !more {
                    break;
                }
            }
            let count = usize::try_from(header >> 1).unwrap();
            if header & 1 == 0 {
                let size = width.div_ceil(8) as usize;
                let value = bytes[..size].iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
                bytes = &bytes[size..];
                values.extend(std::iter::repeat_n(value, count));
                continue;
            }
            for i in 0..count * 8 {
                let bits = (0..width as usize).map(|bit| {
                    let position = i * width as usize + bit;
                    u32::from(bytes[position / 8] >> (position % 8) & 1) << bit
                });
                values.push(bits.sum());
            }
            bytes = &bytes[count * width as usize..];
        }
        assert!(bytes.is_empty(), "{} bytes are left", bytes.len());
        values.truncate(len);
        values
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn values_are_read_back(
            bits in 0u32..=32,
            parts in prop::collection::vec((any::<u32>(), 1usize..200, any::<bool>()), 0..8),
        ) {
            let mask = u32::try_from((1u64 << bits) - 1).unwrap();
            let values: Vec<u32> = parts
                .iter()
                .flat_map(|(seed, len, same)| {
                    (0..*len).map(move |i| if *same { *seed } else { seed.wrapping_mul(0x9e37_79b9).wrapping_add(u32::try_from(i).unwrap() * 77) } & mask)
                })
                .collect();
            let mut out = vec![7];
            encode(&values, bits, &mut out);
            prop_assert_eq!(decode(&out[1..], bits, values.len()), values);
        }
    }

    #[test]
    fn validity_words_are_levels() {
        let mut out = Vec::new();
        put_bits(&[0x0123_4567_89ab_cdef, 0x5], 67, &mut out);
        assert_eq!(decode(&out, 1, 67)[60..], [0, 0, 0, 0, 1, 0, 1]);
        assert_eq!((width(0), width(1), width(255), width(256)), (0, 1, 8, 9));
    }
}
