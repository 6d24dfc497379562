//! Any bytes as XML: the same records for any chunking, and what was read is written and read the same again.

use quayline_core::{Document, Limits, Occurs, Scalar, Shape};
use quayline_xml::{EndOfInput, RawRecord, RecordSplitter, TextPosition, XmlReader, XmlStep, XmlStyle, XmlWriter};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, cut, data @ ..] = data else { return };
    let limits = Limits { record_bytes_max: 1 << 13, depth_max: 32, ..Limits::default() };
    let root = (choice & 1 == 0).then(|| "rs".to_owned());
    let style = XmlStyle { root, record: "r".to_owned(), ..XmlStyle::default() };
    let whole = records(data, &[data.len()], &style, &limits);
    let cuts = [usize::from(*cut).min(data.len()), data.len()];
    assert_eq!(whole, records(data, &cuts, &style, &limits), "cut at {cut}");

    let shape = shape();
    let mut reader = XmlReader::new(&shape, &style, &limits).expect("a good style");
    for raw in &whole.0 {
        let Some(document) = read(&mut reader, raw) else { continue };
        let first = write(&shape, &style, &document);
        let (written, fault) = records(&first, &[first.len()], &style, &limits);
        if fault.is_some() {
            // What is escaped grows and may pass the limit.
            assert!(first.len() > limits.record_bytes_max, "we split what we write: {fault:?}");
            continue;
        }
        assert_eq!(written.len(), 1, "a document is a record");
        let document = read(&mut reader, &written[0]).expect("we read what we write");
        assert_eq!(first, write(&shape, &style, &document), "a second round changes nothing");
    }
}

/// Records and the fault that ended them, from a stream whose bytes are known up to each of `ends` in turn.
fn records(data: &[u8], ends: &[usize], style: &XmlStyle, limits: &Limits) -> (Vec<Vec<u8>>, Option<String>) {
    let mut splitter = RecordSplitter::new(style, limits);
    let (mut found, mut from) = (Vec::new(), 0);
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        loop {
            let input = &data[from..*known];
            match splitter.split(input, end) {
                Ok(XmlStep::Record { record, consumed }) => {
                    assert!(consumed > 0 && consumed <= input.len());
                    found.push(record.raw.to_vec());
                    from += consumed;
                }
                Ok(XmlStep::Skipped { consumed }) => {
                    assert!(consumed > 0 && consumed <= input.len());
                    from += consumed;
                }
                Ok(XmlStep::NeedMore { at_least }) => {
                    assert!(end == EndOfInput::No && at_least > input.len());
                    break;
                }
                Ok(XmlStep::Done) => break,
                Err(fault) => return (found, Some(fault.finding().to_string())),
            }
        }
    }
    (found, None)
}

fn read(reader: &mut XmlReader, raw: &[u8]) -> Option<Document> {
    let mut document = Document::new();
    reader.record(RawRecord { raw, at: TextPosition::START }, &mut document).ok()?;
    Some(document)
}

fn write(shape: &Shape, style: &XmlStyle, document: &Document) -> Vec<u8> {
    let mut writer = XmlWriter::new(shape, style.clone()).expect("a good style");
    writer.begin();
    document.replay(&mut writer);
    writer.end();
    writer.bytes().to_vec()
}

fn shape() -> Shape {
    let many = Occurs::Many { min: 0, max: None };
    let text = || Scalar::Text { chars_max: None };
    let mut shape = Shape::builder("D");
    shape.scalar("a", text(), Occurs::Once);
    shape.scalar("b", text(), many);
    shape.open("g", many);
    shape.scalar("c", text(), Occurs::Optional);
    shape.scalar("d", Scalar::Decimal { digits: 9, scale: 2, signed: true }, many);
    shape.close();
    shape.finish()
}
