//! Any bytes as CSV: the same rows for any chunking, and what was read is written and read the same again.

use quayline_core::{Document, Limits, Occurs, Scalar, Shape};
use quayline_flat::{CsvReader, CsvStyle, CsvWriter, EndOfInput, Header, Row, RowRead, RowSplitter, RowStep};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, cut, data @ ..] = data else { return };
    let limits = Limits { line_bytes_max: 1 << 12, ..Limits::default() };
    let delimiter = [b',', b';', b'\t', b'|'][usize::from(choice & 3)];
    let header = if choice & 4 == 0 { Header::Absent } else { Header::Present };
    let style = CsvStyle { delimiter, header, ..CsvStyle::default() };
    let (rows, end) = rows(data, &[data.len()], style, &limits);
    let cuts = [usize::from(*cut).min(data.len()), data.len()];
    assert_eq!((&rows, &end), (&self::rows(data, &cuts, style, &limits).0, &self::rows(data, &cuts, style, &limits).1));

    let shape = shape();
    let mut reader = CsvReader::new(&shape, style, &limits).expect("a good style");
    let mut rest = &rows[..];
    if header == Header::Present {
        let Some(((raw, line), behind)) = rows.split_first() else { return };
        if reader.header(Row { raw, line: *line }).is_err() {
            return;
        }
        rest = behind;
    }
    // What is written has all columns.
    let plain = CsvStyle { header: Header::Absent, ..style };
    for (raw, line) in rest {
        let Some(document) = read(&mut reader, raw, *line) else { continue };
        let Some(first) = write(&shape, plain, &limits, &document) else { continue };
        let mut again = CsvReader::new(&shape, plain, &limits).expect("a good style");
        let (written, _) = self::rows(&first, &[first.len()], plain, &limits);
        assert_eq!(written.len(), 1, "a document is a row");
        let document = read(&mut again, &written[0].0, 1).expect("we read what we write");
        assert_eq!(Some(first), write(&shape, plain, &limits, &document), "a second round changes nothing");
    }
}

type Rows = Vec<(Vec<u8>, u64)>;

/// Rows with their lines and the fault that ended them, from a stream whose bytes are known up to each of `ends` in turn.
fn rows(data: &[u8], ends: &[usize], style: CsvStyle, limits: &Limits) -> (Rows, Option<String>) {
    let mut splitter = RowSplitter::new(style, limits);
    let (mut found, mut from) = (Vec::new(), 0);
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        loop {
            let input = &data[from..*known];
            match splitter.split(input, end) {
                Ok(RowStep::Row { row, consumed }) => {
                    assert!(consumed > 0 && consumed <= input.len());
                    found.push((row.raw.to_vec(), row.line));
                    from += consumed;
                }
                Ok(RowStep::NeedMore { at_least }) => {
                    assert!(end == EndOfInput::No && at_least > input.len());
                    break;
                }
                Ok(RowStep::Done) => break,
                Err(fault) => return (found, Some(fault.finding().to_string())),
            }
        }
    }
    (found, None)
}

fn read(reader: &mut CsvReader, raw: &[u8], line: u64) -> Option<Document> {
    let mut document = Document::new();
    let read = reader.row(Row { raw, line }, &mut document);
    (read.ok()? == RowRead::Document).then_some(document)
}

fn write(shape: &Shape, style: CsvStyle, limits: &Limits, document: &Document) -> Option<Vec<u8>> {
    let mut writer = CsvWriter::new(shape, style, limits).expect("a good style");
    document.replay(&mut writer);
    writer.take_fault().is_none().then(|| writer.bytes().to_vec())
}

fn shape() -> Shape {
    let text = || Scalar::Text { chars_max: None };
    let mut shape = Shape::builder("D");
    shape.scalar("a", text(), Occurs::Once);
    shape.scalar("b", text(), Occurs::Many { min: 0, max: Some(2) });
    shape.open("g", Occurs::Many { min: 0, max: Some(2) });
    shape.scalar("c", text(), Occurs::Optional);
    shape.scalar("d", Scalar::Decimal { digits: 9, scale: 2, signed: true }, Occurs::Once);
    shape.close();
    shape.finish()
}
