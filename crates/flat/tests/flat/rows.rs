//! Ends of rows.

use expect_test::{Expect, expect};
use quayline_core::Limits;
use quayline_flat::CsvStyle;

use crate::laws::rows;

fn check(data: &str, expect: Expect) {
    let limits = Limits { line_bytes_max: 10, ..Limits::default() };
    let whole = rows(CsvStyle::default(), &limits, data.as_bytes(), &[data.len()]);
    for cut in 0..data.len() {
        assert_eq!(whole, rows(CsvStyle::default(), &limits, data.as_bytes(), &[cut, data.len()]));
    }
    let mut text: String = whole.0.iter().map(|(raw, line)| format!("{line}: {}\n", raw.escape_ascii())).collect();
    text.push_str(&whole.1);
    expect.assert_eq(&text);
}

#[test]
fn line_ends_inside_quotes_are_data() {
    check(
        "a,b\r\n\"c\nd\",e\n\n\"\"\"\n\"",
        expect![[r#"
        1: a,b
        2: \"c\nd\",e
        4: 
        5: \"\"\"\n\"
        done"#]],
    );
}

#[test]
fn a_quote_inside_a_cell_is_data() {
    check(
        "5\" x\n6",
        expect![[r#"
        1: 5\" x
        2: 6
        done"#]],
    );
}

#[test]
fn an_endless_row_is_refused() {
    check(
        "ab\n\"cdefghijklm\n",
        expect![[r#"
            1: ab
            error[FLAT-013]: no end of the row within 10 bytes
              at line 2

            hint: look for a quote that opens in this row and is never closed, or allow more with `--limit line-bytes=N`"#]],
    );
    check(
        "abcdefghij\r\nabcdefghijk\r\n",
        expect![[r#"
            1: abcdefghij
            error[FLAT-013]: no end of the row within 10 bytes
              at line 2

            hint: look for a quote that opens in this row and is never closed, or allow more with `--limit line-bytes=N`"#]],
    );
}

/// The last cell kept the CR of a line break that was cut.
#[test]
fn a_cr_at_the_end_is_a_line_break() {
    check(
        "a,b\r\n1,2\r",
        expect![[r#"
        1: a,b
        2: 1,2
        done"#]],
    );
}
