//! Parts of a source that do not belong to a record. Time grows with their number, and memory does not.

use quayline_core::Limits;
use quayline_frame::{BlockEnd, BlockSplitter, Edges, EndOfInput, FramingSpec, RecordSpans};

/// Splits a source as a run does: in buffers that grow only if nothing of them was used. Returns the bodies, the largest buffer, and the fault.
fn split(framing: &str, source: &[u8], limits: &Limits) -> (Vec<Vec<u8>>, usize, Option<String>) {
    const BLOCK: usize = 64 << 10;
    let spec: FramingSpec = framing.parse().expect("a framing");
    let mut splitter = BlockSplitter::new(&spec, Edges::default(), limits).expect("a splitter");
    let (mut at, mut want, mut largest) = (0, BLOCK, 0);
    let (mut bodies, mut spans) = (Vec::new(), RecordSpans::default());
    loop {
        let input = &source[at..source.len().min(at + want)];
        largest = largest.max(input.len());
        let end = if at + want >= source.len() { EndOfInput::Yes } else { EndOfInput::No };
        let block = splitter.block(input, end, &mut spans);
        bodies.extend(spans.bodies(input).map(<[u8]>::to_vec));
        at += block.consumed;
        match block.end {
            BlockEnd::NeedMore { .. } if block.consumed == 0 => want += BLOCK,
            BlockEnd::NeedMore { .. } => want = BLOCK,
            BlockEnd::Done => return (bodies, largest, None),
            BlockEnd::Fault(fault) => return (bodies, largest, Some(fault.finding().to_string())),
        }
    }
}

/// Deleted records at the end of a buffer were read again with the next one, all of them, and stayed in memory.
#[test]
fn deleted_records_of_micro_focus_are_passed_once() {
    for (head, deleted, kept) in [
        (
            [0x30, 0, 0, 0x7c],
            &[0x20, 0, 0, 4, b'g', b'o', b'n', b'e'][..],
            &[0x40, 0, 0, 4, b'k', b'e', b'p', b't'][..],
        ),
        ([0x30, 0x7e, 0, 0], &[0x20, 2, b'g', b'o'][..], &[0x40, 2, b'k', b'e'][..]),
    ] {
        let mut source = head.to_vec();
        source.resize(128, 0);
        source.extend(deleted.repeat(500_000));
        source.extend(kept);
        source.extend(deleted.repeat(100_000));
        let (bodies, largest, fault) = split("mf", &source, &Limits::default());
        assert_eq!((bodies.len(), fault), (1, None));
        assert!(kept.ends_with(&bodies[0]), "{bodies:?}");
        assert!(largest <= 128 << 10, "a buffer of {largest} bytes");
    }
}

/// A spanned record of empty segments had no end.
#[test]
fn a_record_of_empty_segments_has_a_limit() {
    let mut source = vec![0, 5, 1, 0, b'A'];
    source.extend([0, 4, 3, 0].repeat(2 << 20));
    let limits = Limits { record_bytes_max: 64 << 10, ..Limits::default() };
    let (bodies, largest, fault) = split("vbs:no-bdw", &source, &limits);
    assert!(bodies.is_empty() && fault.as_ref().is_some_and(|fault| fault.contains("record-bytes")), "{fault:?}");
    assert!(largest <= 2 << 20, "a buffer of {largest} bytes");
    // Segments of one byte make a record of the limit.
    let mut source = vec![0, 5, 1, 0, b'A'];
    source.extend([0, 5, 3, 0, b'B'].repeat((64 << 10) - 2));
    source.extend([0, 5, 2, 0, b'C']);
    let (bodies, _, fault) = split("vbs:no-bdw", &source, &limits);
    assert_eq!((bodies.len(), bodies[0].len(), fault), (1, 64 << 10, None));
}
