use proptest::prelude::*;

use super::*;

/// Rows by the machine's way and by the plain one.
fn both(pieces: &[Piece<'_>], text: &[u8], stride: usize, rows: usize) -> (Woven, Vec<u8>) {
    let weave = Weave::of_pieces(pieces).expect("pieces with a text");
    let mut plain = vec![0; rows * weave.row_bytes_max() + Weave::OUT_SLACK];
    let mut fast = plain.clone();
    let woven = weave.write_plain(text, stride, rows, *b"\"\\", &mut plain);
    assert_eq!(weave.write(text, stride, rows, *b"\"\\", &mut fast), woven);
    plain.truncate(woven.bytes);
    assert_eq!(fast[..woven.bytes], plain);
    (woven, plain)
}

fn text(offset: usize, size: usize) -> Piece<'static> {
    Piece::Text(Hole { offset, size })
}

fn padded(rows: &[&str]) -> Vec<u8> {
    let mut text = rows.concat().into_bytes();
    text.resize(text.len() + Weave::TEXT_SLACK, 0xff);
    text
}

#[test]
fn blanks_go_where_a_text_ends_and_nowhere_else() {
    let pieces = [Piece::Word(b"{a:'"), text(0, 4), Piece::Word(b"', b:'"), text(6, 3), Piece::Word(b"'},")];
    let rows = padded(&["A B ..  C", "    ..XYZ", "ABCD..   "]);
    let (woven, out) = both(&pieces, &rows, 9, 3);
    assert_eq!(woven.rows, 3);
    assert_eq!(out, b"{a:'A B', b:'  C'},{a:'', b:'XYZ'},{a:'ABCD', b:''},");
}

#[test]
fn a_row_with_a_stop_ends_it() {
    let pieces = [Piece::Word(b"<"), text(0, 3), Piece::Word(b">")];
    for (row, rows) in [("a\"b", 1), ("a\\ ", 1), ("a\u{80}", 1), ("a\t ", 1), ("a\u{7f} ", 1), ("a'b", 3), ("~ ~", 3)]
    {
        let (woven, _) = both(&pieces, &padded(&["abc", row, "def"]), 3, 3);
        assert_eq!(woven.rows, rows, "{row:?}");
    }
}

#[test]
fn rows_that_do_not_fit_are_left() {
    let weave = Weave::of_pieces(&[Piece::Word(b"<"), text(0, 3), Piece::Word(b">")]).expect("pieces with a text");
    let rows = padded(&["abc", "def", "ghi"]);
    let mut out = [0; 2 * 5 + Weave::OUT_SLACK];
    let woven = weave.write(&rows, 3, 3, *b"\"\\", &mut out);
    assert_eq!(woven, Woven { rows: 2, bytes: 10 });
    assert_eq!(weave.write(&rows[..60], 3, 3, *b"\"\\", &mut out), Woven::default());
    assert_eq!(weave.write(&rows, 3, 3, *b"\"\\", &mut out[..100]), Woven::default());
}

#[test]
fn pieces_without_text_or_with_a_giant_one_have_no_rows() {
    assert!(Weave::of_pieces(&[Piece::Word(b"a")]).is_none());
    assert!(Weave::of_pieces(&[text(0, 129)]).is_none());
    assert!(Weave::of_pieces(&[text(0, 0)]).is_none());
    assert!(Weave::of_pieces(&[text(0, 128)]).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// For any pieces and any printable rows, the machine's way writes the same as the plain one.
    #[test]
    fn both_ways_agree(
        fields in prop::collection::vec((prop::collection::vec(0x20u8..0x7f, 0..80), 0usize..5, 1usize..=128), 1..9),
        short in prop::collection::vec(any::<bool>(), 9),
        bytes in prop::collection::vec(prop_oneof![6 => Just(b' '), 6 => 0x30u8..0x5b, 1 => 0x20u8..0x81], 1..400),
        rows in 1usize..5,
    ) {
        let mut pieces = Vec::new();
        let mut at = 0;
        for ((word, gap, size), short) in fields.iter().zip(&short) {
            let size = if *short { 1 + size % 16 } else { *size };
            pieces.push(Piece::Word(word.as_slice()));
            pieces.push(text(at + gap, size));
            at += gap + size;
        }
        pieces.push(Piece::Word(b"."));
        let mut text: Vec<u8> = bytes.iter().copied().cycle().take(at * rows).collect();
        text.resize(text.len() + Weave::TEXT_SLACK, b' ');
        both(&pieces, &text, at, rows);
    }
}
