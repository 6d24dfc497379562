//! Any bytes in any framing: the same records for any chunking, offsets never go back, a fault repeats.

use quayline_core::Limits;
use quayline_frame::{
    BlockEnd, BlockSplitter, Edges, EndOfInput, FrameFault, FramingSpec, RecordSpans, Splitter, Step, detect,
};

const FRAMINGS: [&str; 16] = [
    "fixed:7",
    "rdw",
    "rdw:body",
    "rdw:le",
    "rdw:00ll,le",
    "rdw:ll",
    "rdw:llll",
    "rdw:any,adjust=2",
    "vb",
    "vb:bdw-body",
    "vbs",
    "vbs:no-bdw",
    "lines",
    "lines:nl",
    "length:offset=1,size=2",
    "mf",
];

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    split_only(data);
    if let [_, _, _, data @ ..] = data {
        let _ = detect(data, Some(data.len() as u64), None);
    }
}

/// Runs one input without detection, which compares periods of a sample and is not linear.
pub(crate) fn split_only(data: &[u8]) {
    let [choice, first, second, data @ ..] = data else { return };
    let limits = Limits { record_bytes_max: 1 << 12, line_bytes_max: 1 << 12, ..Limits::default() };
    let spec = FramingSpec::parse(FRAMINGS[usize::from(*choice) % FRAMINGS.len()]).expect("a framing that parses");
    let whole = split(&spec, &limits, data, &[data.len()]);
    let mut cuts =
        [usize::from(*first), usize::from(*first) + usize::from(*second)].map(|cut| cut.min(data.len())).to_vec();
    cuts.push(data.len());
    assert!(whole == split(&spec, &limits, data, &cuts), "cut at {cuts:?}");
    assert!(whole == blocks(&spec, &limits, data, &cuts), "blocks cut at {cuts:?}");
}

type Outcome = (Vec<Vec<u8>>, Result<(), FrameFault>);

fn split(spec: &FramingSpec, limits: &Limits, data: &[u8], ends: &[usize]) -> Outcome {
    let mut splitter = Splitter::new(spec, limits).expect("the framing fits the limits");
    let (mut bodies, mut from) = (Vec::new(), 0);
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        loop {
            assert_eq!(splitter.offset().0, from as u64);
            match splitter.split(&data[from..*known], end) {
                Ok(Step::Record { body, at, consumed }) => {
                    assert!(consumed > 0 && consumed <= known - from && body.len() <= limits.record_bytes_max);
                    if let Some(at) = at {
                        assert_eq!(body, &data[from + at..][..body.len()]);
                    }
                    bodies.push(body.to_vec());
                    from += consumed;
                }
                Ok(Step::NeedMore { at_least }) => {
                    assert!(end == EndOfInput::No && at_least > known - from);
                    break;
                }
                Ok(Step::Done { consumed }) => {
                    assert_eq!(from + consumed, data.len());
                    break;
                }
                Err(fault) => return (bodies, Err(fault)),
            }
        }
    }
    (bodies, Ok(()))
}

fn blocks(spec: &FramingSpec, limits: &Limits, data: &[u8], ends: &[usize]) -> Outcome {
    let mut splitter = BlockSplitter::new(spec, Edges::default(), limits).expect("the framing fits the limits");
    let mut batch = RecordSpans::new();
    let (mut bodies, mut from) = (Vec::new(), 0);
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        let input = &data[from..*known];
        let block = splitter.block(input, end, &mut batch);
        bodies.extend(batch.bodies(input).map(<[u8]>::to_vec));
        from += block.consumed;
        if let BlockEnd::Fault(fault) = block.end {
            return (bodies, Err(fault));
        }
    }
    (bodies, Ok(()))
}
