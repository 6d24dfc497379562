//! Any bytes as interchanges: the same events for any chunking, spans inside the input, and what we write of the documents reads back as
//! the same documents.

use quayline_core::{Document, Limits, Sink};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiWriter, EdiWriterOptions, EndOfInput, GenericOptions, Rules, SegmentSplitter, Step,
};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, cut, data @ ..] = data else { return };
    // A window with more elements than a segment may have takes the careful way.
    let segment_elements_max = if choice & 2 == 0 { 30 } else { 10_000 };
    let limits = Limits { segment_bytes_max: 400, segment_elements_max, record_bytes_max: 200, ..Limits::default() };
    let rules = if choice & 1 == 0 { Rules::Lenient } else { Rules::Strict };
    let cut = usize::from(*cut) * data.len() / 255;
    assert_eq!(
        events(data, &[data.len()], &limits, rules),
        events(data, &[cut, data.len()], &limits, rules),
        "cut at {cut}"
    );

    if !documents(data, &mut Document::new()) {
        return;
    }
    let mut writer = EdiWriter::new(EdiWriterOptions::default());
    documents(data, &mut writer);
    writer.finish();
    let written = writer.bytes().to_vec();
    let mut again = EdiWriter::new(EdiWriterOptions::default());
    documents(&written, &mut again);
    again.finish();
    assert_eq!(written, again.bytes(), "writing is stable");
}

/// What the splitter finds when the bytes are known up to each of `ends` in turn.
fn events(data: &[u8], ends: &[usize], limits: &Limits, rules: Rules) -> Vec<String> {
    let mut splitter = SegmentSplitter::new(limits, rules);
    let (mut found, mut from, mut scratch) = (Vec::new(), 0, Vec::new());
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        let input = &data[from..*known];
        let mut pass = splitter.over(input, end);
        let mut last = 0;
        loop {
            let step = pass.advance();
            assert!(last <= pass.consumed() && pass.consumed() <= input.len());
            last = pass.consumed();
            for fault in pass.splitter().take_faults() {
                found.push(format!("{fault:?}"));
            }
            match step {
                Step::Segment => {
                    let segment = pass.segment();
                    let mut line = format!("{:?} {}", segment.tag(), pass.position().byte);
                    for element in segment.elements() {
                        for repetition in element.repetitions() {
                            for component in repetition.components() {
                                line.push_str(&format!(" {:?}", component.data(&mut scratch).bytes()));
                            }
                        }
                    }
                    found.push(line);
                }
                Step::Interchange => found.push(format!("{:?}", pass.splitter().delimiters())),
                Step::NeedMore => {
                    assert_eq!(end, EndOfInput::No);
                    break;
                }
                Step::Done => return found,
            }
        }
        from += pass.finish();
    }
    panic!("the source has ended")
}

/// Drives the sink; whether nothing was wrong.
fn documents(data: &[u8], sink: &mut impl Sink) -> bool {
    let mut reader = DocumentReader::new(&GenericOptions::default());
    let mut pass = reader.over(data, EndOfInput::Yes);
    while matches!(pass.read(sink), DocumentStep::Document { .. }) {}
    pass.take_faults().next().is_none()
}
