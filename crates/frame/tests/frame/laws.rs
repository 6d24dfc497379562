//! Laws.

use proptest::prelude::*;
use quayline_core::Limits;
use quayline_frame::{Edges, Framer, FramerOptions, FramingSpec};

use crate::check::{all_ways, blocks, split};

/// Framings that can hold any bytes.
const BINARY: &[&str] = &[
    "rdw",
    "rdw:le",
    "rdw:00ll,le",
    "rdw:body",
    "rdw:adjust=3",
    "rdw:ll,le",
    "gnucobol:1",
    "gnucobol:2",
    "gnucobol:3",
    "vb",
    "vb:bdw-le,bdw-body,le,body",
    "vb:ll,bdw-adjust=2",
    "vbs",
    "vbs:no-bdw",
    "d",
    "length:size=4,le,strip",
    "length:size=3,ebcdic,body,strip",
    "mf",
];

const LINES: &[&str] = &["lines", "lines:crlf", "lines:nl", "lines:lf25", "lines:strip-cr"];

fn bodies(byte: impl Strategy<Value = u8>) -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(byte, 0..40), 0..12)
}

fn write(spec: &FramingSpec, options: FramerOptions, bodies: &[Vec<u8>], flush_behind: usize) -> Vec<u8> {
    let limits = Limits::default();
    let mut framer = Framer::new(spec, options.clone(), &limits).unwrap();
    let mut out = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        framer.frame(body, &mut out).unwrap();
        if i == flush_behind {
            framer.flush(&mut out);
            let (written, next) =
                (quayline_core::ByteOffset(out.len() as u64), quayline_core::RecordNumber(i as u64 + 2));
            framer = Framer::resume(spec, options.clone(), &limits, written, next).unwrap();
        }
    }
    framer.finish(&mut out);
    out
}

/// Regression: a block header had another length than its block if the adjusted length had no room in it.
#[test]
fn blocks_with_any_adjustment_are_read_again_or_refused() {
    let limits = Limits::default();
    let mut written = 0;
    for adjustment in [-40_000, -12, 0, 12, 40_000] {
        let spec = FramingSpec::parse(&format!("vb:bdw-adjust={adjustment}")).unwrap();
        for length in [1, 100, 32_740, 32_750] {
            let body = vec![b'x'; length];
            let (mut framer, mut out) = (Framer::new(&spec, FramerOptions::default(), &limits).unwrap(), Vec::new());
            match framer.frame(&body, &mut out) {
                Ok(()) => {
                    framer.finish(&mut out);
                    let read = split(&spec, &limits, &out, &[out.len()]);
                    assert_eq!(read, (vec![body], Ok(())), "{spec}, {length} bytes");
                    written += 1;
                }
                // The length would be negative.
                Err(fault) => assert!(
                    fault.finding().code.0 == "FRM-020" && adjustment > i64::try_from(length).unwrap(),
                    "{spec}, {length} bytes: {fault}"
                ),
            }
        }
    }
    assert_eq!(written, 15);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_was_written_is_split_again(bodies in bodies(any::<u8>()), block in 44u32..120, flush in 0usize..20) {
        for spec in BINARY {
            let spec = FramingSpec::parse(spec).unwrap();
            let options = FramerOptions { block_bytes: block.max(48), ..FramerOptions::default() };
            let data = write(&spec, options, &bodies, flush);
            prop_assert_eq!(all_ways(&spec, &Limits::default(), &data), (bodies.clone(), Ok(())), "{}", spec);
        }
    }

    #[test]
    fn small_blocks_span(bodies in bodies(any::<u8>()), block in 9u32..30) {
        for spec in ["vbs", "vbs:no-bdw"] {
            let spec = FramingSpec::parse(spec).unwrap();
            let options = FramerOptions { block_bytes: block, ..FramerOptions::default() };
            let data = write(&spec, options, &bodies, 3);
            prop_assert_eq!(all_ways(&spec, &Limits::default(), &data), (bodies.clone(), Ok(())), "{}", spec);
        }
    }

    #[test]
    fn lines_are_split_again(bodies in bodies(0x26u8..0x80)) {
        for spec in LINES {
            let spec = FramingSpec::parse(spec).unwrap();
            let data = write(&spec, FramerOptions::default(), &bodies, 3);
            prop_assert_eq!(all_ways(&spec, &Limits::default(), &data), (bodies.clone(), Ok(())), "{}", spec);
        }
    }

    #[test]
    fn fixed_records_are_padded(bodies in bodies(any::<u8>())) {
        let spec = FramingSpec::Fixed { length: 40 };
        let data = write(&spec, FramerOptions::default(), &bodies, 2);
        let mut padded = bodies;
        padded.iter_mut().for_each(|body| body.resize(40, 0x40));
        prop_assert_eq!(all_ways(&spec, &Limits::default(), &data), (padded, Ok(())));
    }

    #[test]
    fn any_bytes_split_alike_in_any_chunking(data in prop::collection::vec(prop_oneof![Just(0u8), 0u8..12, any::<u8>()], 0..60)) {
        let limits = Limits { record_bytes_max: 16, line_bytes_max: 16, ..Limits::default() };
        for spec in BINARY.iter().chain(LINES).chain(&["fixed:7", "length:offset=1,size=1"]) {
            let (bodies, _) = all_ways(&FramingSpec::parse(spec).unwrap(), &limits, &data);
            prop_assert!(bodies.iter().map(Vec::len).sum::<usize>() <= data.len());
        }
    }

    #[test]
    fn edges_are_left_out_however_the_input_comes(
        bodies in bodies(any::<u8>()), first in 0usize..6, last in 0usize..6, chunk in 1usize..100,
    ) {
        let edges = Edges { skip_first: first as u64, skip_last: last };
        let fixed: Vec<Vec<u8>> = bodies.iter().map(|b| { let mut b = b.clone(); b.resize(40, 0x40); b }).collect();
        for (spec, bodies) in BINARY.iter().map(|s| (*s, &bodies)).chain([("fixed:40", &fixed)]) {
            let spec = FramingSpec::parse(spec).unwrap();
            let data = write(&spec, FramerOptions::default(), bodies, 99);
            let mut ends: Vec<usize> = (0..data.len()).step_by(chunk).collect();
            ends.push(data.len());
            let from = first.min(bodies.len());
            let to = bodies.len().saturating_sub(last).max(from);
            let (outcome, skipped) = blocks(&spec, &Limits::default(), &data, &ends, edges);
            prop_assert_eq!(outcome, (bodies[from..to].to_vec(), Ok(())), "{}", spec);
            prop_assert_eq!(skipped, (bodies.len() - (to - from)) as u64);
        }
    }

    #[test]
    fn specs_are_read_back_from_their_text(index in 0usize..BINARY.len() + LINES.len()) {
        let text = BINARY.iter().chain(LINES).nth(index).unwrap();
        let spec = FramingSpec::parse(text).unwrap();
        prop_assert_eq!(FramingSpec::parse(&spec.to_string()), Ok(spec));
    }
}
