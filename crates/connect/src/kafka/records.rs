//! Batches of records, version 2.
//!
//! ```text
//! base offset 8 | length 4 | leader epoch 4 | version 1 | CRC-32C 4 ║ attributes 2 | last offset 4 | times 8+8 | producer 8+2+4 | count 4 | records
//! attributes: compression (3 bits), time type, transactional, control
//! record: length, 0, time, offset, key, value, headers: all of variable length
//! ```
//!
//! The CRC is of what is after ║. Records may be compressed as a whole. Source: Kafka documentation, "Message Format".

use std::collections::HashSet;
use std::io::Read;

use super::connection::KafkaError;
use super::wire::{In, Out};

/// Uncompressed bytes of one batch. Default 128 MiB: more than a broker takes by default, a hundred times.
const BATCH_BYTES_MAX: u64 = 128 << 20;
/// Version of a batch.
const VERSION: i8 = 2;
/// Bytes before the attributes: base offset, length, leader epoch, version, CRC.
const CRC_END: usize = 21;

/// A record.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KafkaRecord {
    /// Offset in its partition.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// Key.
    pub key: Option<Vec<u8>>,
    /// Value; none deletes the key from a compacted topic.
    pub value: Option<Vec<u8>>,
    /// Headers.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// Identity of an idempotent producer (KIP-98): the numbers by which a broker detects batches that it already has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Producer {
    /// Id that the broker gave.
    pub id: i64,
    /// Epoch of the id.
    pub epoch: i16,
    /// Number of the next record in its partition.
    pub sequence: i32,
}

/// Returns the partition of a key, computed as Kafka's default partitioner does. Source: Kafka, `Utils.murmur2` (MurmurHash2 by Austin Appleby).
///
/// # Panics
/// `partitions` is 0.
#[must_use]
pub fn partition_of_key(key: &[u8], partitions: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ u32::try_from(key.len()).unwrap_or(u32::MAX);
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    for (at, byte) in rest.iter().enumerate() {
        hash ^= u32::from(*byte) << (8 * at);
    }
    if !rest.is_empty() {
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    ((hash ^ (hash >> 15)) & 0x7fff_ffff) % partitions
}

/// Computes a CRC-32C (Castagnoli polynomial). Source: RFC 3720, appendix B.4.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            #[expect(clippy::cast_possible_truncation, reason = "below 256")]
            let mut value = at as u32;
            let mut bit = 0;
            while bit < 8 {
                value = (value >> 1) ^ if value & 1 == 1 { 0x82f6_3b78 } else { 0 };
                bit += 1;
            }
            table[at] = value;
            at += 1;
        }
        table
    };
    let step = |crc: u32, byte: &u8| TABLE[usize::from(crc.to_le_bytes()[0] ^ byte)] ^ (crc >> 8);
    !bytes.iter().fold(u32::MAX, step)
}

/// Encodes a batch of one record.
pub(super) fn write(record: &KafkaRecord, producer: Producer) -> Vec<u8> {
    let mut body = Out::default();
    // Attributes, time and offset within the batch.
    body.i8(0).var(0).var(0).var_bytes(record.key.as_deref()).var_bytes(record.value.as_deref());
    body.var(i64::try_from(record.headers.len()).unwrap_or(i64::MAX));
    for (name, value) in &record.headers {
        body.var_bytes(Some(name.as_bytes())).var_bytes(Some(value));
    }
    let mut rest = Out::default();
    rest.i16(0).i32(0).i64(record.time_ms).i64(record.time_ms);
    rest.i64(producer.id).i16(producer.epoch).i32(producer.sequence).i32(1);
    rest.var_bytes(Some(&body.0));
    let mut out = Out::default();
    out.i64(0).count(rest.0.len() + 9).i32(-1).i8(VERSION).bytes(&crc32c(&rest.0).to_be_bytes()).bytes(&rest.0);
    out.0
}

/// Decodes the records of the batches in a response from `offset` on, and returns them with the offset after the last one. It skips control records
/// and records of aborted transactions; `aborted` lists producer ids with the first offset of their aborted transactions. The last batch may be
/// incomplete. Batches that follow [`BATCH_BYTES_MAX`] decompressed bytes are left for the next response.
pub(super) fn read(bytes: &[u8], offset: i64, aborted: Vec<(i64, i64)>) -> Result<(Vec<KafkaRecord>, i64), KafkaError> {
    read_within(bytes, offset, aborted, BATCH_BYTES_MAX)
}

fn read_within(
    bytes: &[u8],
    offset: i64,
    mut aborted: Vec<(i64, i64)>,
    held_max: u64,
) -> Result<(Vec<KafkaRecord>, i64), KafkaError> {
    // The last is the next.
    aborted.sort_by_key(|(_, first)| std::cmp::Reverse(*first));
    let mut is_aborting = HashSet::new();
    let (mut records, mut next) = (Vec::new(), offset);
    // Bytes after decompression.
    let mut held = 0;
    let mut input = In(bytes);
    while input.0.len() >= CRC_END {
        let mut head = input;
        let base = head.i64()?;
        let length = usize::try_from(head.i32()?).map_err(|_| KafkaError::Answer("a batch has a negative length"))?;
        if head.0.len() < length {
            break;
        }
        let mut batch = In(head.take(length)?);
        input = head;
        batch.i32()?;
        match batch.i8()? {
            VERSION => {}
            version => return Err(KafkaError::Batch { offset: base, what: format!("version {version}, expected 2") }),
        }
        let crc = batch.u32()?;
        if crc32c(batch.0) != crc {
            return Err(KafkaError::Batch { offset: base, what: "a wrong CRC: its bytes are damaged".to_owned() });
        }
        let attributes = batch.i16()?;
        let end = base.saturating_add(i64::from(batch.i32()?)).saturating_add(1);
        let (first_ms, max_ms) = (batch.i64()?, batch.i64()?);
        let producer = batch.i64()?;
        batch.i16()?;
        batch.i32()?;
        let count = batch.i32()?;
        let (is_transactional, is_control) = (attributes & 0x10 != 0, attributes & 0x20 != 0);
        while let Some((of, _)) = aborted.pop_if(|(_, first)| *first < end) {
            is_aborting.insert(of);
        }
        if is_control {
            // Either marker ends the transaction of its producer.
            is_aborting.remove(&producer);
        } else if !(is_transactional && is_aborting.contains(&producer)) {
            let plain = uncompressed(attributes & 7, batch.0, base)?;
            held += plain.len() as u64;
            let mut input = In(&plain);
            for _ in 0..count {
                let record = input.var_bytes()?.ok_or(KafkaError::Answer("a record is null"))?;
                let mut record = record_of(record, base, first_ms)?;
                if attributes & 8 != 0 {
                    record.time_ms = max_ms;
                }
                // A compressed batch may begin before the offset that was asked for.
                if record.offset >= offset {
                    records.push(record);
                }
            }
        }
        next = next.max(end);
        // Batches that compress well: the next answer begins with the rest.
        if held >= held_max {
            break;
        }
    }
    Ok((records, next))
}

fn record_of(bytes: &[u8], base: i64, first_ms: i64) -> Result<KafkaRecord, KafkaError> {
    let mut input = In(bytes);
    input.i8()?;
    let time_ms = first_ms.saturating_add(input.var()?);
    let offset = base.saturating_add(input.var()?);
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let (key, value) = (owned(input.var_bytes()?), owned(input.var_bytes()?));
    let mut headers = Vec::new();
    for _ in 0..input.var()? {
        let name = input.var_bytes()?.unwrap_or_default();
        let name = std::str::from_utf8(name).map_err(|_| KafkaError::Answer("the name of a header is not UTF-8"))?;
        headers.push((name.to_owned(), owned(input.var_bytes()?).unwrap_or_default()));
    }
    Ok(KafkaRecord { offset, time_ms, key, value, headers })
}

fn uncompressed(codec: i16, bytes: &[u8], offset: i64) -> Result<Vec<u8>, KafkaError> {
    let name = match codec {
        0 => return Ok(bytes.to_vec()),
        1 => "gzip",
        2 => "Snappy",
        3 => "LZ4",
        4 => "Zstandard",
        other => return Err(KafkaError::Batch { offset, what: format!("compression {other}, expected 0 to 4") }),
    };
    let damaged = |what: String| KafkaError::Batch { offset, what: format!("{name} that cannot be read: {what}") };
    let all = |reader: &mut dyn Read| {
        let mut plain = Vec::new();
        let read = reader.take(BATCH_BYTES_MAX + 1).read_to_end(&mut plain);
        read.map_err(|error| damaged(error.to_string())).map(|_| plain)
    };
    let plain = match codec {
        1 => all(&mut flate2::read::MultiGzDecoder::new(bytes))?,
        2 => snappy(bytes).map_err(damaged)?,
        3 => all(&mut lz4_flex::frame::FrameDecoder::new(bytes))?,
        _ => all(&mut zstd::stream::read::Decoder::new(bytes).map_err(|error| damaged(error.to_string()))?)?,
    };
    if plain.len() as u64 > BATCH_BYTES_MAX {
        let what = format!("more than {BATCH_BYTES_MAX} bytes uncompressed, which is the limit");
        return Err(KafkaError::Batch { offset, what });
    }
    Ok(plain)
}

/// Decompresses Snappy data: one block, or length-prefixed blocks after the header of snappy-java.
fn snappy(bytes: &[u8]) -> Result<Vec<u8>, String> {
    const HEADER: &[u8] = b"\x82SNAPPY\0";
    let block = |block: &[u8]| {
        let length = snap::raw::decompress_len(block).map_err(|error| error.to_string())?;
        if length as u64 > BATCH_BYTES_MAX {
            return Err(format!("a block of {length} bytes"));
        }
        snap::raw::Decoder::new().decompress_vec(block).map_err(|error| error.to_string())
    };
    // The header, its version and the oldest version that can read it.
    let Some(rest) = bytes.strip_prefix(HEADER).and_then(|rest| rest.get(8..)) else { return block(bytes) };
    let (mut plain, mut input) = (Vec::new(), In(rest));
    while !input.0.is_empty() {
        let next = input.sized().map_err(|error| error.to_string())?;
        plain.extend(block(next)?);
        if plain.len() as u64 > BATCH_BYTES_MAX {
            return Err("too many blocks".to_owned());
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(offset: i64, value: &[u8]) -> KafkaRecord {
        KafkaRecord {
            offset,
            time_ms: 1_700_000_000_000,
            key: Some(b"key".to_vec()),
            value: Some(value.to_vec()),
            headers: vec![("h".to_owned(), vec![0, 255])],
        }
    }

    /// A batch at an offset, with other attributes and content.
    fn placed(offset: i64, attributes: i16, producer: i64, compress: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
        let mut batch = write(&record(0, b"value"), Producer { id: producer, epoch: 0, sequence: 0 });
        let head = CRC_END + 40;
        let content = compress(&batch.split_off(head));
        batch.extend(content);
        batch[..8].copy_from_slice(&offset.to_be_bytes());
        let length = u32::try_from(batch.len() - 12).expect("short");
        batch[8..12].copy_from_slice(&length.to_be_bytes());
        batch[CRC_END..CRC_END + 2].copy_from_slice(&attributes.to_be_bytes());
        let crc = crc32c(&batch[CRC_END..]);
        batch[CRC_END - 4..CRC_END].copy_from_slice(&crc.to_be_bytes());
        batch
    }

    #[test]
    fn records_come_back_whatever_the_compression() {
        // The check value of the CRC's catalogue.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        type Compress = fn(&[u8]) -> Vec<u8>;
        let codecs: [(i16, Compress); 6] = [
            (0, <[u8]>::to_vec),
            (1, |bytes| {
                let mut out = Vec::new();
                flate2::read::GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut out).expect("gzip");
                out
            }),
            (2, |bytes| snap::raw::Encoder::new().compress_vec(bytes).expect("Snappy")),
            (2, |bytes| {
                let mut out = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
                for part in bytes.chunks(10) {
                    let block = snap::raw::Encoder::new().compress_vec(part).expect("Snappy");
                    out.extend(u32::try_from(block.len()).expect("short").to_be_bytes());
                    out.extend(block);
                }
                out
            }),
            (3, |bytes| {
                let mut out = lz4_flex::frame::FrameEncoder::new(Vec::new());
                std::io::Write::write_all(&mut out, bytes).expect("LZ4");
                out.finish().expect("LZ4")
            }),
            (4, |bytes| zstd::stream::encode_all(bytes, 1).expect("Zstandard")),
        ];
        for (codec, compress) in codecs {
            let mut bytes = placed(40, codec, -1, compress);
            bytes.extend(placed(41, codec, -1, compress));
            let whole = bytes.len();
            // The last batch is cut off.
            bytes.extend(&placed(42, codec, -1, compress)[..50]);
            let (found, next) = read(&bytes, 41, vec![]).expect("records");
            assert_eq!((found, next), (vec![record(41, b"value")], 42), "{codec}");
            bytes.truncate(whole);
            let at = bytes.len() - 3;
            bytes[at] ^= 1;
            let error = read(&bytes, 0, vec![]).expect_err("damage");
            assert!(error.to_string().contains("offset 41") && error.to_string().contains("CRC"), "{error}");
        }
        let mut old = placed(0, 0, -1, <[u8]>::to_vec);
        old[16] = 1;
        assert!(read(&old, 0, vec![]).expect_err("version 1").to_string().contains("version 1, expected 2"));
        assert!(read(&placed(0, 5, -1, <[u8]>::to_vec), 0, vec![]).is_err());
    }

    /// An answer of many batches that compress well took memory without a bound.
    #[test]
    fn batches_beyond_a_bound_of_bytes_are_left_for_the_next_answer() {
        let batches: Vec<u8> = (0..10).flat_map(|offset| placed(offset, 0, -1, <[u8]>::to_vec)).collect();
        let (all, _) = read(&batches, 0, vec![]).expect("records");
        assert_eq!(all.len(), 10);
        let (mut found, mut next) = (Vec::new(), 0);
        while next < 10 {
            let size = batches.len() / 10;
            let (records, after) =
                read_within(&batches[usize::try_from(next).expect("few") * size..], next, vec![], 40).expect("records");
            assert!(records.len() <= 2 && after > next, "{} {after}", records.len());
            found.extend(records);
            next = after;
        }
        assert_eq!(found, all);
    }

    #[test]
    fn aborted_transactions_and_markers_are_left_out() {
        let plain = <[u8]>::to_vec as fn(&[u8]) -> Vec<u8>;
        let batches = [
            placed(0, 0x10, 7, plain),
            placed(1, 0x10, 8, plain),
            placed(2, 0x30, 7, plain),
            placed(3, 0x10, 7, plain),
            placed(4, 0x30, 8, plain),
            placed(5, 0x30, 7, plain),
            placed(6, 0, 7, plain),
        ]
        .concat();
        let offsets = |aborted| {
            let (records, next) = read(&batches, 0, aborted).expect("records");
            assert_eq!(next, 7);
            records.iter().map(|record| record.offset).collect::<Vec<_>>()
        };
        assert_eq!(offsets(vec![]), [0, 1, 3, 6]);
        assert_eq!(offsets(vec![(7, 0)]), [1, 3, 6]);
        assert_eq!(offsets(vec![(7, 3), (8, 1)]), [0, 6]);
    }

    #[test]
    fn keys_have_the_partitions_that_other_producers_give_them() {
        // Values of the test of Kafka's own function (`UtilsTest.testMurmur2`), as positive numbers.
        let positive = |hash: i32| hash.cast_unsigned() & 0x7fff_ffff;
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(partition_of_key(key.as_bytes(), 12), positive(hash) % 12, "{key}");
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        let mut seed = 9_u64;
        for _ in 0..2_000 {
            let mut bytes = placed(0, 0, -1, <[u8]>::to_vec);
            for _ in 0..3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let [.., low, high] = seed.to_be_bytes();
                let at = usize::from(high) % bytes.len();
                bytes[at] = low;
            }
            // With a CRC that fits, so that the records are read.
            let crc = crc32c(&bytes[CRC_END..]);
            bytes[CRC_END - 4..CRC_END].copy_from_slice(&crc.to_be_bytes());
            let _ = read(&bytes, 0, vec![(-1, 0)]);
        }
    }
}
