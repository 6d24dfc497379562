//! Laws.

use proptest::prelude::*;
use quayline_core::Limits;
use quayline_flat::{
    CsvReader, CsvStyle, CsvWriter, EndOfInput, Header, LineEnd, Quotes, RowRead, RowSplitter, RowStep,
};

use crate::documents::{Events, Order, document, send, shape};

/// Rows with their lines, the input known up to each of `ends` in turn; and how it ended.
pub(crate) fn rows(style: CsvStyle, limits: &Limits, data: &[u8], ends: &[usize]) -> (Vec<(Vec<u8>, u64)>, String) {
    let mut splitter = RowSplitter::new(style, limits);
    let (mut rows, mut from) = (Vec::new(), 0);
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        loop {
            match splitter.split(&data[from..*known], end) {
                Ok(RowStep::Row { row, consumed }) => {
                    rows.push((row.raw.to_vec(), row.line));
                    from += consumed;
                }
                Ok(RowStep::NeedMore { at_least }) => {
                    assert!(end == EndOfInput::No && at_least > known - from);
                    break;
                }
                Ok(RowStep::Done) => {
                    assert_eq!(end, EndOfInput::Yes);
                    break;
                }
                Err(fault) => return (rows, fault.finding().to_string()),
            }
        }
    }
    (rows, "done".into())
}

fn all_ways(style: CsvStyle, limits: &Limits, data: &[u8]) -> (Vec<(Vec<u8>, u64)>, String) {
    let whole = rows(style, limits, data, &[data.len()]);
    let bytes: Vec<usize> = (0..=data.len()).collect();
    assert_eq!(whole, rows(style, limits, data, &bytes));
    for cut in 0..data.len() {
        assert_eq!(whole, rows(style, limits, data, &[cut, data.len()]), "cut at {cut}");
    }
    whole
}

fn write(style: CsvStyle, seeds: &[u64], order: Order) -> Vec<u8> {
    let shape = shape();
    let mut writer = CsvWriter::new(&shape, style, &Limits::default()).unwrap();
    writer.begin();
    let mut out = Vec::new();
    for (i, seed) in seeds.iter().enumerate() {
        send(&document(&shape, *seed), order, &mut writer);
        assert_eq!(writer.take_fault(), None);
        if i % 3 == 1 {
            out.extend_from_slice(writer.bytes());
            writer.clear();
        }
    }
    out.extend_from_slice(writer.bytes());
    out
}

fn styles() -> Vec<CsvStyle> {
    let plain = CsvStyle::default();
    vec![
        plain,
        CsvStyle { delimiter: b';', line_end: LineEnd::CrLf, ..plain },
        CsvStyle { delimiter: b'\t', quotes: Quotes::Text, ..plain },
        CsvStyle { header: Header::Absent, ..plain },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_written_is_read_again(seeds in prop::collection::vec(any::<u64>(), 1..6)) {
        let shape = shape();
        for style in styles() {
            let data = write(style, &seeds, Order::Shape);
            prop_assert_eq!(&data, &write(style, &seeds, Order::Backward), "any order of members gives the same row");
            let mut reader = CsvReader::new(&shape, style, &Limits::default()).unwrap();
            let (rows, end) = all_ways(style, &Limits::default(), &data);
            prop_assert_eq!(end, "done");
            let mut rows = rows.into_iter();
            if style.header == Header::Present {
                let (raw, line) = rows.next().unwrap();
                reader.header(quayline_flat::Row { raw: &raw, line }).unwrap();
            }
            prop_assert!(reader.warnings().is_empty());
            for seed in &seeds {
                let (raw, line) = rows.next().unwrap();
                let mut events = Events::default();
                let read = reader.row(quayline_flat::Row { raw: &raw, line }, &mut events);
                prop_assert_eq!(read, Ok(RowRead::Document));
                prop_assert_eq!(events.text, Events::of(&document(&shape, *seed)));
            }
            prop_assert!(rows.next().is_none());
        }
    }

    /// The splitter and tokenizer of `csv_core` give the same cells for the same bytes.
    #[test]
    fn cells_agree_with_csv_core(data in "([ab,\"\n]|\r\n|\"\"|,\"){0,40}") {
        let (rows, end) = all_ways(CsvStyle::default(), &Limits::default(), data.as_bytes());
        let mut ours = Vec::new();
        for (raw, line) in rows {
            // A blank line is a row of one absent cell here; there it is nothing.
            if raw.is_empty() {
                continue;
            }
            let Some(cells) = cells_of(&raw, line) else { return Ok(()) };
            ours.push(cells);
        }
        if end == "done" {
            // A CR LF alone is a row of a CR there.
            let mut theirs = theirs(data.as_bytes());
            for rows in [&mut ours, &mut theirs] {
                rows.retain(|row| row != &[""]);
            }
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn any_bytes_split_alike_in_any_chunking(data in prop::collection::vec(prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), Just(b'\r'), Just(0xefu8), any::<u8>()], 0..60)) {
        let limits = Limits { line_bytes_max: 12, ..Limits::default() };
        for style in styles() {
            all_ways(style, &limits, &data);
        }
    }
}

/// Returns the cells of a row, read with a shape of as many columns.
fn cells_of(raw: &[u8], line: u64) -> Option<Vec<String>> {
    for width in 1..60 {
        let mut b = quayline_core::Shape::builder("R");
        (0..width).for_each(|i| {
            b.scalar(format!("C{i}"), quayline_core::Scalar::Text { chars_max: None }, quayline_core::Occurs::Once);
        });
        let shape = b.finish();
        let style = CsvStyle { header: Header::Absent, ..CsvStyle::default() };
        let mut reader = CsvReader::new(&shape, style, &Limits::default()).unwrap();
        let mut cells = Texts(vec![String::new(); width]);
        match reader.row(quayline_flat::Row { raw, line }, &mut cells) {
            Ok(_) => return Some(cells.0),
            Err(fault) if matches!(fault.kind, quayline_flat::FlatFaultKind::Cells { .. }) => {}
            Err(_) => return None,
        }
    }
    panic!("no width fits")
}

struct Texts(Vec<String>);

impl quayline_core::Sink for Texts {
    fn enter(&mut self, _: quayline_core::NodeId) {}
    fn leave(&mut self, _: quayline_core::NodeId) {}
    fn open_list(&mut self, _: quayline_core::NodeId) {}
    fn close_list(&mut self, _: quayline_core::NodeId) {}
    fn discard(&mut self) {}
    fn value(&mut self, node: quayline_core::NodeId, value: quayline_core::Value<'_>) {
        if let quayline_core::Value::Text(run) | quayline_core::Value::Ascii(run) = value {
            self.0[node.index() - 1] = String::from_utf8(run.bytes().to_vec()).unwrap();
        }
    }
}

fn theirs(data: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv_core::ReaderBuilder::new().terminator(csv_core::Terminator::Any(b'\n')).build();
    let (mut rows, mut input) = (Vec::new(), data);
    let (mut text, mut ends) = ([0u8; 256], [0usize; 64]);
    let (mut written, mut n) = (0, 0);
    loop {
        let (result, read, more, cells) = reader.read_record(input, &mut text[written..], &mut ends[n..]);
        input = &input[read..];
        (written, n) = (written + more, n + cells);
        match result {
            csv_core::ReadRecordResult::Record => {
                let mut start = 0;
                let mut row: Vec<String> = ends[..n]
                    .iter()
                    .map(|end| String::from_utf8(text[std::mem::replace(&mut start, *end)..*end].to_vec()).unwrap())
                    .collect();
                // With LF as its only terminator a CR before it stays in the last cell.
                if let Some(last) = row.last_mut()
                    && last.ends_with('\r')
                {
                    last.pop();
                }
                rows.push(row);
                (written, n) = (0, 0);
            }
            csv_core::ReadRecordResult::End => return rows,
            csv_core::ReadRecordResult::InputEmpty => {}
            other => panic!("{other:?}"),
        }
    }
}
