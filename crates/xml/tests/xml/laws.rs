//! Laws.

use proptest::prelude::*;
use quayline_core::{Document, Limits};
use quayline_xml::{
    EndOfInput, RawRecord, RecordSplitter, Spacing, TextPosition, XmlReader, XmlStep, XmlStyle, XmlWriter,
};

use crate::documents::{Events, document, send, shape};

/// Records with their places, the input known up to each of `ends` in turn; and how it ended.
pub(crate) fn records(
    style: &XmlStyle,
    limits: &Limits,
    data: &[u8],
    ends: &[usize],
) -> (Vec<(Vec<u8>, TextPosition)>, String) {
    let mut splitter = RecordSplitter::new(style, limits);
    let (mut records, mut from) = (Vec::new(), 0);
    for (i, known) in ends.iter().enumerate() {
        let end = if i + 1 == ends.len() { EndOfInput::Yes } else { EndOfInput::No };
        loop {
            match splitter.split(&data[from..*known], end) {
                Ok(XmlStep::Record { record, consumed }) => {
                    records.push((record.raw.to_vec(), record.at));
                    from += consumed;
                }
                Ok(XmlStep::Skipped { consumed }) => {
                    assert!(consumed > 0);
                    from += consumed;
                }
                Ok(XmlStep::NeedMore { at_least }) => {
                    assert!(end == EndOfInput::No && at_least > known - from);
                    break;
                }
                Ok(XmlStep::Done) => {
                    assert_eq!((end, from), (EndOfInput::Yes, data.len()));
                    break;
                }
                Err(fault) => return (records, fault.finding().to_string()),
            }
        }
    }
    (records, "done".into())
}

pub(crate) fn all_ways(style: &XmlStyle, limits: &Limits, data: &[u8]) -> (Vec<(Vec<u8>, TextPosition)>, String) {
    let whole = records(style, limits, data, &[data.len()]);
    let bytes: Vec<usize> = (0..=data.len()).collect();
    assert_eq!(whole, records(style, limits, data, &bytes), "byte by byte");
    for cut in 0..data.len().min(400) {
        assert_eq!(whole, records(style, limits, data, &[cut, data.len()]), "cut at {cut}");
    }
    whole
}

fn write(style: &XmlStyle, seeds: &[u64]) -> Vec<u8> {
    let shape = shape();
    let mut writer = XmlWriter::new(&shape, style.clone()).unwrap();
    let mut out = Vec::new();
    writer.begin();
    for (i, seed) in seeds.iter().enumerate() {
        send(&document(&shape, *seed), &mut writer);
        if i % 2 == 1 {
            out.extend_from_slice(writer.bytes());
            writer.clear();
        }
    }
    writer.end();
    out.extend_from_slice(writer.bytes());
    out
}

fn styles() -> Vec<XmlStyle> {
    vec![
        XmlStyle::default(),
        XmlStyle { spacing: Spacing::Pretty, ..XmlStyle::default() },
        XmlStyle { root: None, record: "CUST".into(), spacing: Spacing::Pretty, ..XmlStyle::default() },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_was_written_is_read_again(seeds in prop::collection::vec(any::<u64>(), 1..4)) {
        let shape = shape();
        for style in styles() {
            let data = write(&style, &seeds);
            let (records, end) = all_ways(&style, &Limits::default(), &data);
            prop_assert_eq!(end, "done");
            prop_assert_eq!(records.len(), seeds.len());
            let mut reader = XmlReader::new(&shape, &style, &Limits::default()).unwrap();
            for ((raw, at), seed) in records.iter().zip(&seeds) {
                let mut events = Events::default();
                reader.record(RawRecord { raw, at: *at }, &mut events).map_err(|e| TestCaseError::fail(e.to_string()))?;
                // Lists without elements are told at the end of their group.
                prop_assert_eq!(events.sorted(), Events::of(&document(&shape, *seed)).sorted());
            }
        }
    }

    /// The twin: quick-xml over the whole file sees the same records, and any record is read or refused without a panic.
    #[test]
    fn any_markup_is_split_alike_and_never_ill_formed(parts in prop::collection::vec(0usize..26, 0..14)) {
        const PARTS: [&str; 26] = [
            "<records>", "</records>", "<record>", "</record>", "<record/>", "<ID>", "</ID>", "1", " ", "<!-- > -->", "<![CDATA[<]]>", "<?p ?>",
            "&lt;", "&", "&x;", "&#1;", "<TAG a='>'>", "</TAG>", "<TAG/>", "<!DOCTYPE x>", "<", ">", "<ID xsi:nil='1'/>", "\u{1}", "<x:CAR>", "</x:CAR>",
        ];
        let text: String = parts.iter().map(|i| PARTS[*i]).collect();
        let limits = Limits { record_bytes_max: 60, depth_max: 3, ..Limits::default() };
        for data in [text.clone(), format!("<records>{text}</records>"), format!("<records><record>{text}</record></records>")] {
            let style = XmlStyle::default();
            let (records, _) = all_ways(&style, &limits, data.as_bytes());
            let mut reader = XmlReader::new(&shape(), &style, &limits).unwrap();
            for (raw, at) in records {
                let mut events = Document::new();
                let mut shown = Events::default();
                let done = reader.record(RawRecord { raw: &raw, at }, &mut events);
                if let Err(faults) = &done {
                    prop_assert!(!faults.faults.is_empty());
                    prop_assert_eq!(faults.sent, !events.is_empty());
                }
                events.replay(&mut shown);
                prop_assert_eq!(shown.depth(), 0, "well formed");
            }
        }
    }
}
