//! For every option that accepts damaged or short input: no byte of the input is missing from output, rejects and findings together.

use std::collections::BTreeSet;

use proptest::prelude::*;
use quayline_cobol::{BadValue, LengthMismatch, Policies, Preserve, ShortRecord, Trim};
use quayline_project::csv::{CsvStyle, EmptyCell};
use quayline_project::xml::XmlStyle;
use quayline_project::{ColumnsRead, JsonWrite, ParquetWrite, SourceFormat, TargetFormat};

use crate::kit::*;
use crate::lossless::schema_with;

const COPYBOOK: &str = "
       01 R.
          05 K PIC X(2).
          05 N PIC 9(3).
          05 P PIC S9(3) COMP-3.
          05 C PIC S9(4) COMP.
          05 T PIC X(4).
          05 F COMP-1.
          05 E PIC G(1) DISPLAY-1.
";

/// Bytes of a good record.
const LEN: usize = 19;

/// Bytes of null in the encoded record. A binary field cannot have spaces.
const NULLS: &str = "
[[field]]
name = \"N\"
null = \"spaces\"
[[field]]
name = \"P\"
null = \"spaces\"
[[field]]
name = \"C\"
null = \"zeros\"
[[field]]
name = \"F\"
null = \"zeros\"
[[field]]
name = \"E\"
null = \"low-values\"
[[field]]
name = \"K\"
null = \"spaces\"
[[field]]
name = \"T\"
null = \"spaces\"
";

/// A record as its fields say, before it is damaged.
fn good(seed: u32) -> Vec<u8> {
    let digit = |shift: u32| u8::try_from((seed >> shift) % 10).expect("a digit");
    let mut record = ebcdic(&format!("K{}{}{}{}", digit(0), digit(3), digit(6), digit(9)));
    record.extend([digit(12) << 4 | digit(15), digit(18) << 4 | if seed.is_multiple_of(2) { 0xc } else { 0xd }]);
    record.extend(u16::try_from(seed % 10_000).expect("four digits").to_be_bytes());
    record.extend(ebcdic(["TEXT", " T,T", "T\"  ", "    "][seed as usize % 4]));
    // A normalized float: 24 bits, which JSON wrote as another number than Parquet.
    record.extend([
        if seed.is_multiple_of(3) { 0xc5 } else { 0x42 },
        0x10 | digit(2),
        (seed >> 5).to_be_bytes()[3],
        (seed >> 13).to_be_bytes()[3],
    ]);
    record.extend(&seed.to_be_bytes()[..2]);
    record
}

/// Damage to a record.
#[derive(Clone, Debug)]
enum Damage {
    None,
    /// A byte of `N` or `P`, from 0, is another.
    Byte(usize, u8),
    /// A numeric field is blank or low-values.
    Filled(u8),
    /// `P` is zero with a minus sign, which columns do not have.
    MinusZero,
    /// The record ends early.
    Cut(usize),
    /// More bytes follow.
    Longer(Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        3 => Just(Damage::None),
        3 => (0usize..5, any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        1 => prop_oneof![Just(0x40), Just(0)].prop_map(Damage::Filled),
        1 => Just(Damage::MinusZero),
        2 => (0usize..LEN).prop_map(Damage::Cut),
        2 => prop::collection::vec(any::<u8>(), 1..6).prop_map(Damage::Longer),
    ]
}

fn damaged(seed: u32, damage: &Damage) -> Vec<u8> {
    let mut record = good(seed);
    match damage {
        Damage::None => {}
        Damage::Byte(at, byte) => record[2 + at] = *byte,
        Damage::Filled(byte) => record[2..5].fill(*byte),
        Damage::MinusZero => record[5..7].copy_from_slice(&[0x00, 0x0d]),
        Damage::Cut(len) => record.truncate(*len),
        Damage::Longer(more) => record.extend(more),
    }
    record
}

fn bad() -> impl Strategy<Value = BadValue> {
    prop_oneof![Just(BadValue::Error), Just(BadValue::Null), Just(BadValue::Raw)]
}

fn policies() -> impl Strategy<Value = Policies> {
    let short = prop_oneof![Just(ShortRecord::Error), Just(ShortRecord::Pad), Just(ShortRecord::Null)];
    let long = prop_oneof![Just(LengthMismatch::Error), Just(LengthMismatch::Accept)];
    let preserve = prop_oneof![Just(Preserve::No), Just(Preserve::Yes)];
    (bad(), bad(), bad(), short, long, preserve, trim()).prop_map(
        |(invalid, blank, low_values, short, long, preserve, trim)| Policies {
            invalid,
            blank,
            low_values,
            short: Some(short),
            long,
            preserve,
            trim,
            ..Policies::default()
        },
    )
}

/// Leading blanks of text are only cut if a user requests it.
fn trim() -> impl Strategy<Value = Trim> {
    prop_oneof![Just(Trim::Padding), Just(Trim::Keep)]
}

/// Returns a format for writing documents, and the one for reading them back.
fn form() -> impl Strategy<Value = (TargetFormat, SourceFormat)> {
    let csv = CsvStyle { empty: EmptyCell::Null, ..CsvStyle::default() };
    let columns = SourceFormat::Columns(ColumnsRead { ignore_unknown: false });
    prop_oneof![
        Just((jsonl(), JSON)),
        Just((TargetFormat::JsonArray(JsonWrite::default()), JSON)),
        Just((TargetFormat::Csv(csv), SourceFormat::Csv(csv))),
        Just((TargetFormat::Xml(XmlStyle::default()), SourceFormat::Xml(XmlStyle::default()))),
        Just((TargetFormat::Parquet(ParquetWrite::default()), columns.clone())),
        Just((TargetFormat::ArrowStream, columns)),
    ]
}

fn rdw(records: &[Vec<u8>]) -> Vec<u8> {
    let framed = |body: &Vec<u8>| {
        let len = u16::try_from(body.len() + 4).expect("short");
        [&len.to_be_bytes()[..], &[0, 0], body].concat()
    };
    records.iter().flat_map(framed).collect()
}

fn bodies(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while let [high, low, _, _, rest @ ..] = bytes {
        let len = usize::from(u16::from_be_bytes([*high, *low])) - 4;
        bodies.push(rest[..len].to_vec());
        bytes = &rest[len..];
    }
    assert!(bytes.is_empty());
    bodies
}

/// Returns the record in canonical form, as it comes back without `--preserve`: with preferred signs, and one form of an absent number, since null
/// stands for blanks and for low-values if a user requests both.
fn alike(record: &[u8]) -> Vec<u8> {
    let mut record = record.to_vec();
    if record.get(2..5) == Some(&[0; 3]) {
        record[2..5].fill(0x40);
    }
    if let Some(last) = record.get_mut(4)
        && matches!(*last >> 4, 0xa | 0xc | 0xe)
    {
        *last |= 0xf0;
    }
    if let Some(last) = record.get_mut(6) {
        *last = match *last & 0xf {
            0xa | 0xe | 0xf => *last & 0xf0 | 0xc,
            0xb => *last & 0xf0 | 0xd,
            _ => *last,
        };
    }
    record
}

/// Sums the counts of the warnings about ignored bytes.
fn counted(report: &quayline_convert::Report) -> usize {
    let count = |finding: &quayline_core::Finding| -> usize {
        finding.message.split(' ').next().and_then(|word| word.parse().ok()).expect("a count")
    };
    report.repeated.iter().map(count).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
    #[test]
    fn no_byte_is_missing(
        records in prop::collection::vec((any::<u32>(), damage()), 1..24),
        policies in policies(),
        (to, from) in form(),
        head in prop::collection::vec(any::<u8>(), 0..9),
        tail in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let records: Vec<Vec<u8>> = records.iter().map(|(seed, how)| damaged(*seed, how)).collect();
        // What surrounds the records is passed over, and nothing of a record with it.
        let interface = format!("skip-bytes-first = {}\nskip-bytes-last = {}\n{NULLS}", head.len(), tail.len());
        let data = [&head[..], &rdw(&records), &tail].concat();
        let kit = Kit::new(schema_with(COPYBOOK, &interface, &policies), &data, source(), to.clone());
        let report = kit.ok();
        let rejected: BTreeSet<usize> = report
            .findings
            .iter()
            .filter_map(|finding| finding.place.record)
            .map(|number| usize::try_from(number.0).expect("few") - 1)
            .collect();
        prop_assert_eq!(rejected.len() as u64, report.tally.records_rejected, "{:?}", report.findings);
        // Rejected records are there byte for byte, in order.
        let wanted: Vec<Vec<u8>> = rejected.iter().map(|number| records[*number].clone()).collect();
        let rejects = kit.bytes("rejects");
        // They are between fillers, so that the same settings read them; a file without them is empty.
        prop_assert_eq!(rejects.is_empty(), wanted.is_empty());
        let rejects = rejects.get(head.len()..rejects.len().saturating_sub(tail.len())).unwrap_or_default();
        prop_assert_eq!(bodies(rejects), wanted);
        // The others come back from the documents, or a warning counts what they lack.
        let records_again = TargetFormat::Records(framing("rdw"));
        let back = Kit::new(schema_with(COPYBOOK, NULLS, &policies), &kit.bytes("out"), from, records_again);
        let again = back.ok();
        prop_assert_eq!(again.tally.records_rejected, 0, "{:?}\n{}", again.findings, kit.bytes("out").escape_ascii());
        let accepted = (0..records.len()).filter(|number| !rejected.contains(number));
        let mut differing = Vec::new();
        for (number, body) in accepted.zip(bodies(&back.bytes("out"))) {
            let record = records[number].clone();
            let (found, wanted) = (alike(&body), alike(&record));
            let may_differ = policies.preserve == Preserve::No;
            let is_padded = found.len() > wanted.len() && found.starts_with(&wanted);
            let is_same = body == record || (may_differ && (is_padded || found == wanted));
            if !is_same {
                differing.push((number, record, body));
            }
        }
        let excused = if policies.preserve == Preserve::Yes { 0 } else { counted(&report) };
        prop_assert!(differing.len() <= excused, "{differing:02x?}\n{:?}\n{}", report.repeated, kit.bytes("out").escape_ascii());
    }
}

fn source() -> SourceFormat {
    records("rdw")
}
