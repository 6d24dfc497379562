//! No byte of the input is missing from output, rejects and findings together: every framing, records of several types, and each way of trimming.

use std::collections::BTreeSet;

use proptest::prelude::*;
use quayline_cobol::{BadValue, LengthMismatch, Policies, Preserve, ShortRecord, Trim};
use quayline_frame::{EndOfInput, Framer, FramerOptions, Splitter, Step};
use quayline_project::TargetFormat;

use crate::kit::*;
use crate::lossless::schema_with;

const COPYBOOK: &str = "
       01 ALPHA.
          05 KIND PIC X.
          05 N PIC 9(3).
          05 T PIC X(6).
       01 BETA.
          05 KIND PIC X.
          05 U PIC X(4).
          05 P PIC S9(3) COMP-3.
          05 V PIC X(3).
";

/// Bytes of null in the encoded record.
const NULLS: &str = "
[[field]]
name = \"ALPHA.KIND\"
null = \"spaces\"
[[field]]
name = \"BETA.KIND\"
null = \"spaces\"
[[field]]
name = \"N\"
null = \"spaces\"
[[field]]
name = \"P\"
null = \"spaces\"
[[field]]
name = \"T\"
null = \"spaces\"
[[field]]
name = \"U\"
null = \"spaces\"
[[field]]
name = \"V\"
null = \"spaces\"
";

/// Bytes of a record of either type.
const LEN: usize = 10;

const FRAMINGS: [&str; 17] = [
    "fixed:10",
    "rdw",
    "rdw:le,body",
    "rdw:llll,le",
    "vb",
    "vbs",
    "vbs:no-bdw",
    "lines",
    "lines:crlf",
    "lines:nl",
    "lines:lf25",
    "length:offset=0,size=2,strip",
    "length:offset=0,size=4,ebcdic,body,strip",
    "d",
    "gnucobol:1",
    "gnucobol:3",
    "mf",
];

#[derive(Clone, Debug)]
struct Case {
    framing: &'static str,
    records: Vec<Vec<u8>>,
    policies: Policies,
    first: usize,
    last: usize,
    otherwise: &'static str,
    /// Bytes of the last record that the file lacks.
    torn: usize,
}

fn text(len: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0x40, 0x40, 0, 0xc1, 0xf7, 0x6b, 0x7f, 0xe9]), len)
}

/// A record: mostly good, otherwise with another kind or byte, cut, or longer.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![4 => Just(0xc1u8), 4 => Just(0xc2), 1 => Just(0xe9), 1 => any::<u8>()];
    let number =
        prop_oneof![4 => Just([0xf0, 0xf1, 0xf2]), 1 => Just([0x40; 3]), 1 => Just([0; 3]), 1 => any::<[u8; 3]>()];
    let packed = prop_oneof![4 => Just([0x12, 0x3c]), 1 => Just([0x98, 0x7d]), 1 => any::<[u8; 2]>()];
    let end = prop_oneof![6 => Just(LEN), 2 => 0..LEN, 1 => LEN + 1..LEN + 4];
    (kind, number, packed, text(6), text(7), text(3), end).prop_map(|(kind, number, packed, t, uv, more, end)| {
        let body = if kind == 0xc2 { [&uv[..4], &packed, &uv[4..]].concat() } else { [&number[..], &t].concat() };
        let mut record = [&[kind][..], &body, &more].concat();
        record.truncate(end);
        record
    })
}

fn policies() -> impl Strategy<Value = Policies> {
    let bad = || prop_oneof![Just(BadValue::Error), Just(BadValue::Null), Just(BadValue::Raw)];
    let short =
        prop::option::of(prop_oneof![Just(ShortRecord::Error), Just(ShortRecord::Pad), Just(ShortRecord::Null)]);
    let long = prop_oneof![Just(LengthMismatch::Error), Just(LengthMismatch::Accept)];
    let preserve = prop_oneof![Just(Preserve::No), Just(Preserve::Yes)];
    let trim = prop_oneof![Just(Trim::Padding), Just(Trim::Both), Just(Trim::Keep), Just(Trim::Nuls)];
    (bad(), bad(), bad(), short, long, preserve, trim).prop_map(
        |(invalid, blank, low_values, short, long, preserve, trim)| Policies {
            invalid,
            blank,
            low_values,
            short,
            long,
            preserve,
            trim,
            ..Policies::default()
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let otherwise = prop::sample::select(vec!["reject", "skip", "ALPHA"]);
    let framing = prop::sample::select(FRAMINGS.to_vec());
    let torn = prop_oneof![5 => Just(0usize), 1 => 1..4usize];
    (framing, prop::collection::vec(record(), 1..20), policies(), 0..3usize, 0..3usize, otherwise, torn).prop_map(
        |(framing, mut records, policies, first, last, otherwise, torn)| {
            for record in &mut records {
                match framing {
                    "fixed:10" => record.resize(LEN, 0x40),
                    // A terminator inside a record is the end of that record.
                    _ if framing.starts_with("lines") => {
                        record
                            .iter_mut()
                            .filter(|byte| matches!(byte, 0x0a | 0x0d | 0x15 | 0x25))
                            .for_each(|byte| *byte = 0x5b);
                    }
                    _ => {}
                }
            }
            Case { framing, records, policies, first, last, otherwise, torn }
        },
    )
}

/// The records in their framing. Blocks and segments are small, so that records begin and end in several of them.
fn framed(spec: &str, records: &[Vec<u8>]) -> Vec<u8> {
    let options = FramerOptions { block_bytes: 48, ..FramerOptions::default() };
    let mut framer = Framer::new(&framing(spec), options, &Default::default()).expect("a framing");
    let mut out = Vec::new();
    for record in records {
        framer.frame(record, &mut out).expect("fits");
    }
    framer.finish(&mut out);
    out
}

/// The bodies of records; the rest of a torn file is the last one.
fn bodies(spec: &str, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut splitter = Splitter::new(&framing(spec), &Default::default()).expect("a framing");
    let (mut at, mut bodies) = (0, Vec::new());
    loop {
        match splitter.split(&bytes[at..], EndOfInput::Yes) {
            Ok(Step::Record { body, consumed, .. }) => {
                bodies.push(body.to_vec());
                at += consumed;
            }
            Ok(Step::NeedMore { .. }) => unreachable!("the input ended"),
            Ok(Step::Done { .. }) => return bodies,
            Err(_) => {
                // The header of the file comes before the first record.
                let header = if spec == "mf" && at == 0 { 128 } else { 0 };
                bodies.push(bytes[at + header..].to_vec());
                return bodies;
            }
        }
    }
}

/// Returns the record as it comes back without `--preserve`: preferred signs, one form of an absent number, and text as `trim` leaves it.
fn alike(record: &[u8], otherwise_alpha: bool, trim: Trim) -> Vec<u8> {
    let mut record = record.to_vec();
    let is_beta = record.first() == Some(&0xc2);
    let is_alpha = record.first() == Some(&0xc1) || otherwise_alpha;
    let texts: &[(usize, usize)] = match (is_beta, is_alpha) {
        (true, _) => &[(1, 5), (7, 10)],
        (_, true) => &[(4, 10)],
        _ => &[],
    };
    // Text of low-values is null on request, and null is blank.
    for (start, end) in texts.iter().chain(&[(0, 1)]) {
        if let Some(text) = record.get_mut(*start..*end).filter(|text| text.iter().all(|byte| *byte == 0)) {
            text.fill(0x40);
        }
    }
    for (start, end) in texts {
        let Some(text) = record.get_mut(*start..*end) else { continue };
        match trim {
            Trim::Both => {
                let blanks = text.iter().take_while(|byte| **byte == 0x40).count();
                text.rotate_left(blanks);
            }
            Trim::Nuls => {
                text.iter_mut().rev().take_while(|byte| matches!(byte, 0x40 | 0)).for_each(|byte| *byte = 0x40)
            }
            Trim::Padding | Trim::Keep => {}
        }
    }
    if is_beta {
        if record.get(5..7) == Some(&[0; 2]) {
            record[5..7].fill(0x40);
        }
        if let Some(last) = record.get_mut(6) {
            *last = match *last & 0xf {
                0xa | 0xe | 0xf => *last & 0xf0 | 0xc,
                0xb => *last & 0xf0 | 0xd,
                _ => *last,
            };
        }
    } else if is_alpha {
        if record.get(1..4) == Some(&[0; 3]) {
            record[1..4].fill(0x40);
        }
        if let Some(last) = record.get_mut(3)
            && matches!(*last >> 4, 0xa | 0xc | 0xe)
        {
            *last |= 0xf0;
        }
    }
    record
}

/// Returns the record of a line of findings; `None` for what concerns a whole file.
fn record_of(line: &str) -> Option<usize> {
    let (number, _) = line.strip_prefix("{\"record\":")?.split_once(',')?;
    number.parse().ok().filter(|number| *number > 0)
}

/// Sums the counts of the warnings about values and ends that were replaced or ignored.
fn counted(report: &quayline_convert::Report) -> usize {
    let count = |finding: &quayline_core::Finding| -> usize {
        finding.message.split(' ').next().and_then(|word| word.parse().ok()).expect("a count")
    };
    report.repeated.iter().map(count).sum()
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let Case { framing: spec, records: whole, policies, first, last, otherwise, torn } = case;
    let interface = format!(
        "{NULLS}[records]\nby = \"KIND\"\nskip-first = {first}\nskip-last = {last}\notherwise = \"{otherwise}\"\n\
         [[records.type]]\nrecord = \"ALPHA\"\nvalue = \"A\"\n[[records.type]]\nrecord = \"BETA\"\nvalue = \"B\"\n"
    );
    let mut data = framed(spec, whole);
    data.truncate(data.len().saturating_sub(if spec.starts_with("lines") { 0 } else { *torn }));
    let all = &if *torn > 0 { bodies(spec, &data) } else { whole.clone() };
    let kit = Kit::new(schema_with(COPYBOOK, &interface, policies), &data, records(spec), jsonl());
    let report = match kit.run() {
        Ok(report) => report,
        Err(error) => {
            // A torn file is an error that names its place, and leaves only partial files.
            prop_assert!(*torn > 0, "{error}");
            prop_assert!(!kit.path("out").exists());
            prop_assert!(error.to_string().contains("byte"), "{error}");
            return Ok(());
        }
    };
    prop_assert_eq!(report.tally.records_in, all.len() as u64);
    let is_known = |record: &[u8]| matches!(record.first(), Some(0xc1 | 0xc2));
    // The file of findings names each rejected record.
    let told = if report.tally.records_rejected > 0 { kit.text("rejects.findings.jsonl") } else { String::new() };
    let rejected: BTreeSet<usize> = told.lines().filter_map(record_of).map(|number| number - 1).collect();
    // Only headers, trailers and, if the interface says so, unknown types are skipped, and the report counts them. A torn file has no trailers that
    // can be known.
    let is_torn = *torn > 0 && all.len().checked_sub(1).is_some_and(|last| rejected.contains(&last));
    let trailers = if is_torn { 0 } else { *last };
    let is_edge = |number: usize| number < *first || number + trailers >= all.len();
    let is_skipped = |number: usize| {
        is_edge(number) || (*otherwise == "skip" && !rejected.contains(&number) && !is_known(&all[number]))
    };
    let skipped = (0..all.len()).filter(|number| is_skipped(*number)).count();
    prop_assert_eq!(report.tally.records_skipped, skipped as u64, "{:?}", report.findings);
    // A file with fewer records than the settings skip has a warning.
    let is_told = report.findings.iter().any(|finding| finding.code.0 == "CNV-036");
    prop_assert_eq!(is_told, !is_torn && !all.is_empty() && all.len() < *first + *last, "{:?}", report.findings);
    prop_assert_eq!(rejected.len() as u64, report.tally.records_rejected, "{:?}", report.findings);
    let wanted: Vec<Vec<u8>> = rejected.iter().map(|number| all[*number].clone()).collect();
    // They are between fillers, so that the same settings read them; a file without them is empty.
    let rejects = bodies(spec, &kit.bytes("rejects"));
    // After a torn record, a filler would be read as its end.
    let inner = rejects.get(*first..rejects.len().saturating_sub(trailers)).unwrap_or_default();
    prop_assert_eq!(rejects.is_empty(), wanted.is_empty());
    prop_assert_eq!(inner, &wanted[..]);
    let records_again = TargetFormat::Records(framing("rdw"));
    let back = Kit::new(schema_with(COPYBOOK, &interface, policies), &kit.bytes("out"), JSON, records_again);
    let again = back.ok();
    prop_assert_eq!(again.tally.records_rejected, 0, "{:?}\n{}", again.findings, kit.bytes("out").escape_ascii());
    let accepted: Vec<usize> =
        (0..all.len()).filter(|number| !rejected.contains(number) && !is_skipped(*number)).collect();
    let found = bodies("rdw", &back.bytes("out"));
    prop_assert_eq!(found.len(), accepted.len());
    let mut differing = Vec::new();
    for (number, body) in accepted.into_iter().zip(found) {
        let record = &all[number];
        let alike = |record: &[u8]| alike(record, *otherwise == "ALPHA", policies.trim);
        let padded = [&record[..], &[0x40; LEN][record.len().min(LEN)..]].concat();
        let may_differ = policies.preserve == Preserve::No;
        if body != *record && !(may_differ && alike(&body) == alike(&padded)) {
            differing.push((number, record.clone(), body));
        }
    }
    let excused = if policies.preserve == Preserve::Yes { 0 } else { counted(&report) };
    prop_assert!(
        differing.len() <= excused,
        "{differing:02x?}\n{:?}\n{}",
        report.repeated,
        kit.bytes("out").escape_ascii()
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]
    #[test]
    fn no_byte_is_missing_in_any_framing(case in case()) {
        check(&case)?;
    }
}
