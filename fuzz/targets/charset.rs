//! Any bytes in any code page: the vector kernels agree with their scalar twins, and what decodes encodes back.

use quayline_charset::{Charset, CodePage, scan, translate, translate_scalar};

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let pages = CodePage::all();
    let page = &pages[usize::from(choice) % pages.len()];

    let (mut fast, mut slow) = (vec![0; bytes.len()], vec![0; bytes.len()]);
    translate(page.ascii_table(), bytes, &mut fast);
    translate_scalar(page.ascii_table(), bytes, &mut slow);
    assert_eq!(fast, slow);

    let blanks = bytes.iter().rev().take_while(|byte| **byte == page.space()).count();
    assert_eq!(scan::trim_end(bytes, page.space()), bytes.len() - blanks);
    assert_eq!(scan::is_ascii_printable(bytes), bytes.iter().all(|byte| (0x20..0x7f).contains(byte)));

    let all: Vec<Charset> = Charset::all().collect();
    let charset = all[usize::from(choice) % all.len()];
    let mut text = Vec::new();
    if charset.decode_into(bytes, &mut text).is_ok() {
        let text = std::str::from_utf8(&text).expect("decoding gives UTF-8");
        let mut back = Vec::new();
        charset.encode_into(text, &mut back).expect("what was decoded can be encoded");
        let mut again = Vec::new();
        charset.decode_into(&back, &mut again).expect("what was encoded can be decoded");
        assert_eq!(again, text.as_bytes());
    }
}
