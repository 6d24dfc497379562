//! Runs one vector in every way that must agree.

use std::fmt::Write as _;

use expect_test::Expect;
use quayline_core::{ByteOffset, Limits, RecordNumber};
use quayline_frame::{
    BlockEnd, BlockSplitter, Edges, EndOfInput, FrameFault, FramingSpec, RecordSpans, Splitter, Step,
};

/// Bodies in order and how the run ended.
pub(crate) type Outcome = (Vec<Vec<u8>>, Result<(), FrameFault>);

/// Splits `data` in all ways, checks that the results are equal, and compares them with `expect`.
pub(crate) fn check(spec: &str, data: &[u8], expect: Expect) {
    check_with(spec, &Limits::default(), data, expect);
}

pub(crate) fn check_with(spec: &str, limits: &Limits, data: &[u8], expect: Expect) {
    let spec = FramingSpec::parse(spec).unwrap();
    let whole = all_ways(&spec, limits, data);
    let mut text = String::new();
    for body in &whole.0 {
        writeln!(text, "{}", body.escape_ascii()).unwrap();
    }
    match &whole.1 {
        Ok(()) => text.push_str("done\n"),
        Err(fault) => writeln!(text, "{}", fault.finding()).unwrap(),
    }
    expect.assert_eq(&text);
}

/// Splits whole, byte by byte, cut once at every place, in blocks, and resumed after every record. Returns the common result.
pub(crate) fn all_ways(spec: &FramingSpec, limits: &Limits, data: &[u8]) -> Outcome {
    let whole = split(spec, limits, data, &[data.len()]);
    let bytes: Vec<usize> = (0..=data.len()).collect();
    assert_eq!(whole, split(spec, limits, data, &bytes), "byte by byte");
    for cut in 0..data.len() {
        assert_eq!(whole, split(spec, limits, data, &[cut, data.len()]), "cut at {cut}");
        assert_eq!(whole, blocks(spec, limits, data, &[cut, data.len()], Edges::default()).0, "blocks cut at {cut}");
    }
    assert_eq!(whole, blocks(spec, limits, data, &bytes, Edges::default()).0, "blocks byte by byte");
    resumed(spec, limits, data, &whole);
    whole
}

/// Splits with the input known up to each of `ends` in turn.
pub(crate) fn split(spec: &FramingSpec, limits: &Limits, data: &[u8], ends: &[usize]) -> Outcome {
    let mut splitter = Splitter::new(spec, limits).unwrap();
    let mut bodies = Vec::new();
    let mut from = 0;
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        loop {
            assert_eq!(splitter.offset(), ByteOffset(from as u64));
            assert_eq!(splitter.next_record(), RecordNumber(bodies.len() as u64 + 1));
            match splitter.split(&data[from..*known], end) {
                Ok(Step::Record { body, at, consumed }) => {
                    if let Some(at) = at {
                        assert_eq!(body, &data[from + at..][..body.len()], "a body is a span of the input");
                    }
                    bodies.push(body.to_vec());
                    from += consumed;
                }
                Ok(Step::NeedMore { at_least }) => {
                    assert_eq!(end, EndOfInput::No, "more is wanted at the end");
                    assert!(at_least > known - from, "at_least {at_least} of {}", known - from);
                    break;
                }
                Ok(Step::Done { consumed }) => {
                    assert_eq!((end, from + consumed), (EndOfInput::Yes, data.len()));
                    break;
                }
                Err(fault) => {
                    assert_eq!(
                        Err(fault.clone()),
                        splitter.split(&data[from..*known], end).map(|_| ()),
                        "a fault repeats"
                    );
                    return (bodies, Err(fault));
                }
            }
        }
    }
    (bodies, Ok(()))
}

/// Splits by blocks. Returns the result, and the number of records left out.
pub(crate) fn blocks(spec: &FramingSpec, limits: &Limits, data: &[u8], ends: &[usize], edges: Edges) -> (Outcome, u64) {
    let mut splitter = BlockSplitter::new(spec, edges, limits).unwrap();
    let mut batch = RecordSpans::new();
    let (mut bodies, mut skipped, mut from) = (Vec::new(), 0, 0);
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        let input = &data[from..*known];
        assert_eq!(splitter.offset(), ByteOffset(from as u64));
        let next = splitter.next_record();
        let block = splitter.block(input, end, &mut batch);
        assert_eq!(splitter.next_record().0 - next.0, batch.len() as u64 + block.skipped);
        if !batch.is_empty() {
            assert_eq!(batch.number(0).0, edges.skip_first.max(from_number(next)) + 1);
        }
        bodies.extend(batch.bodies(input).map(<[u8]>::to_vec));
        for i in 0..batch.len() {
            let (span, body) = (batch.span(i), batch.body(input, i));
            if !span.joined {
                assert_eq!(body, &data[usize::try_from(batch.offset(i).0).unwrap()..][..body.len()]);
            }
        }
        from += block.consumed;
        skipped += block.skipped;
        match block.end {
            BlockEnd::NeedMore { at_least } => assert!(at_least > known - from),
            BlockEnd::Done => assert_eq!((end, from), (EndOfInput::Yes, data.len())),
            BlockEnd::Fault(fault) => return ((bodies, Err(fault)), skipped),
        }
    }
    ((bodies, Ok(())), skipped)
}

fn from_number(next: RecordNumber) -> u64 {
    next.0 - 1
}

/// Stops after every record and resumes from offset, number and state alone.
fn resumed(spec: &FramingSpec, limits: &Limits, data: &[u8], whole: &Outcome) {
    let mut splitter = Splitter::new(spec, limits).unwrap();
    let mut from = 0;
    for body in &whole.0 {
        splitter = Splitter::resume(spec, limits, splitter.offset(), splitter.next_record(), splitter.state()).unwrap();
        match splitter.split(&data[from..], EndOfInput::Yes) {
            Ok(Step::Record { body: found, consumed, .. }) => {
                assert_eq!(found, body, "resumed");
                from += consumed;
            }
            other => panic!("resumed: {other:?}"),
        }
    }
}
