//! Any text as a copybook: findings or a layout that holds together, never a panic.

use quayline_charset::Charset;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, FieldIndex, Layout};
use quayline_cobol::{Interface, Policies, RecordPlan};
use quayline_core::Limits;

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let [choice, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let limits = Limits { record_bytes_max: 1 << 16, fields_max: 500, ..Limits::default() };
    let options = ParseOptions { limits: &limits, ..ParseOptions::default() };
    let copybook = match quayline_cobol::parse(&SourceText::new("fuzz.cpy", text), &options) {
        Ok(copybook) => copybook,
        Err(findings) => {
            assert!(!findings.0.is_empty());
            return;
        }
    };
    let dialect = [Dialect::IBM, Dialect::GNUCOBOL, Dialect::MICRO_FOCUS][usize::from(*choice) % 3];
    let charset = Charset::by_name("cp037").expect("code page 037 is built in");
    for record in &copybook.records {
        let Ok(layout) = Layout::build(record, &dialect) else { continue };
        holds_together(&layout);
        let _ = RecordPlan::new(&layout, &Interface::default(), &Policies::default(), charset);
    }
}

fn holds_together(layout: &Layout) {
    assert!(layout.length_min <= layout.length_max);
    for (index, field) in layout.iter() {
        assert!(field.subtree_end > index && field.subtree_end.index() <= layout.fields.len());
        assert!(field.stride >= field.size);
        let times = field.occurs.map_or(1, |occurs| occurs.max as usize);
        let end = field.offset + if times == 0 { 0 } else { (times - 1) * field.stride + field.size };
        assert!(end <= layout.length_max, "{} ends at {end} of {}", layout.path(index), layout.length_max);
        if let Some(parent) = field.parent {
            assert!(parent < index && layout.field(parent).offset <= field.offset);
        } else {
            assert_eq!(index, FieldIndex::RECORD);
        }
    }
}
