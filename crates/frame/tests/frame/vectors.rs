//! One vector a behaviour.

use expect_test::expect;
use quayline_core::Limits;
use quayline_frame::{Edges, FramingSpec};

use crate::check::{blocks, check, check_with};

fn small() -> Limits {
    Limits { record_bytes_max: 8, line_bytes_max: 4, ..Limits::default() }
}

#[test]
fn fixed_records_lie_side_by_side() {
    check(
        "fixed:3",
        b"abcdef",
        expect![[r#"
        abc
        def
        done
    "#]],
    );
}

#[test]
fn a_truncated_fixed_record_tells_how_much_is_missing() {
    check(
        "fixed:4",
        b"abcdef",
        expect![[r#"
        abcd
        error[FRM-001]: the source ends inside a record: 2 of 4 bytes are missing
          at record 2, byte 4

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing
    "#]],
    );
}

#[test]
fn a_line_end_behind_fixed_records_is_named() {
    check(
        "fixed:4",
        b"abcd\r\n",
        expect![[r#"
            abcd
            error[FRM-001]: the source ends inside a record: 2 of 4 bytes are missing; the bytes left over are a line end or end-of-file mark
              at record 2, byte 4

            hint: a transfer in text mode added it: transfer the file in binary, or leave it out with `--skip-bytes-last N`
        "#]],
    );
}

#[test]
fn an_empty_source_has_no_record() {
    for spec in
        ["fixed:4", "rdw", "vb", "vbs", "vbs:no-bdw", "lines", "lines:crlf", "length:size=2", "d", "gnucobol:3", "mf"]
    {
        check(
            spec,
            b"",
            expect![[r#"
            done
        "#]],
        );
    }
}

#[test]
fn rdw_counts_itself() {
    check(
        "rdw",
        b"\0\x05\0\0a\0\x04\0\0\0\x07\0\0bcd",
        expect![[r#"
        a

        bcd
        done
    "#]],
    );
}

#[test]
fn rdw_may_be_little_and_count_the_body() {
    check(
        "rdw:le,body",
        b"\x01\0\0\0a\x03\0\0\0bcd",
        expect![[r#"
        a
        bcd
        done
    "#]],
    );
}

#[test]
fn rdw_may_be_byte_swapped() {
    check(
        "rdw:00ll,le",
        b"\0\0\x05\0a",
        expect![[r#"
        a
        done
    "#]],
    );
}

#[test]
fn gnucobol_formats_are_read() {
    check(
        "gnucobol",
        b"\0\x01\0\0a",
        expect![[r#"
        a
        done
    "#]],
    );
    check(
        "gnucobol:1",
        b"\0\0\0\x01a",
        expect![[r#"
        a
        done
    "#]],
    );
    check(
        "gnucobol:2",
        b"\x01\0\0\0a",
        expect![[r#"
        a
        done
    "#]],
    );
    check(
        "gnucobol:3",
        b"\0\x01a",
        expect![[r#"
        a
        done
    "#]],
    );
}

#[test]
fn rdw_adjustment_is_added_to_the_length() {
    check(
        "rdw:adjust=-2",
        b"\0\x07\0\0a",
        expect![[r#"
        a
        done
    "#]],
    );
}

#[test]
fn rdw_below_four_is_refused() {
    check(
        "rdw",
        b"\0\x05\0\0a\0\x03\0\0",
        expect![[r#"
            a
            error[FRM-002]: the RDW says 3, expected at least 4
              at record 2, byte 5

            hint: if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing
        "#]],
    );
}

#[test]
fn rdw_above_the_belief_is_refused() {
    check(
        "rdw",
        b"\xff\xfe\0\0",
        expect![[r#"
            error[FRM-003]: the RDW says 65534, expected at most 32760
              at record 1, byte 0

            hint: if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing
        "#]],
    );
}

#[test]
fn rdw_above_the_limit_is_refused() {
    check_with(
        "rdw",
        &small(),
        b"\0\x0d\0\0abcdefghi",
        expect![[r#"
            error[FRM-003]: the RDW says 13, expected at most 8
              at record 1, byte 0

            hint: a record of this length is implausible: `inspect` on the file proposes a framing; if it is right, allow more with `--limit record-bytes=N`
        "#]],
    );
}

#[test]
fn blanks_instead_of_an_rdw_are_named() {
    check(
        "rdw",
        b"\0\x05\0\0a\x40\x40\x40\x40\x40",
        expect![[r#"
            a
            error[FRM-004]: the RDW says 16448 and its reserved bytes are not zero; the bytes are EBCDIC blanks
              at record 2, byte 5

            hint: data is in the place of a length: the file has no such header (the transfer removed it) or another framing; `inspect` on the file proposes one; leave out bytes that follow the last record with `--skip-bytes-last N`
        "#]],
    );
}

#[test]
fn text_instead_of_an_rdw_is_named_but_not_shown() {
    check(
        "rdw",
        b"\0\x05\0\0a\xc1\xc2\xc3\xc4\xc5",
        expect![[r#"
            a
            error[FRM-003]: the RDW is not a length of at most 32760; the bytes are EBCDIC text
              at record 2, byte 5

            hint: data is in the place of a length: the file has no such header (the transfer removed it) or another framing; `inspect` on the file proposes one
        "#]],
    );
    check(
        "rdw",
        b"ABCDEF",
        expect![[r#"
        error[FRM-004]: the RDW is invalid: its reserved bytes are not zero; the bytes are ASCII text
          at record 1, byte 0

        hint: data is in the place of a length: the file has no such header (the transfer removed it) or another framing; `inspect` on the file proposes one
    "#]],
    );
    check(
        "gnucobol:3",
        b"ABCDEF",
        expect![[r#"
        error[FRM-001]: the source ends inside a record whose length is invalid; the bytes are ASCII text
          at record 1, byte 0

        hint: data is in the place of a length: the file has no such header (the transfer removed it) or another framing; `inspect` on the file proposes one
    "#]],
    );
}

#[test]
fn an_rdw_in_the_other_byte_order_is_named() {
    check(
        "rdw",
        b"\x06\0\0\0ab\x05\0\0\0a",
        expect![[r#"
            error[FRM-001]: the source ends inside a record: 1525 of 1536 bytes are missing; the bytes are a sound length in the other byte order
              at record 1, byte 0

            hint: add `le` to the framing (or leave it out), as in `rdw:le`
        "#]],
    );
    check(
        "rdw:le",
        b"\0\x06\0\0ab\0\x05\0\0a",
        expect![[r#"
            error[FRM-001]: the source ends inside a record: 1525 of 1536 bytes are missing; the bytes are a sound length in the other byte order
              at record 1, byte 0

            hint: add `le` to the framing (or leave it out), as in `rdw:le`
        "#]],
    );
}

#[test]
fn a_segment_without_vbs_is_named() {
    check(
        "rdw",
        b"\0\x05\x01\0a\0\x05\x02\0b",
        expect![[r#"
        error[FRM-004]: the RDW has a segment control code, expected zeros
          at record 1, byte 0

        hint: the record is in segments: use `vbs` (with block headers) or `vbs:no-bdw`
    "#]],
    );
    check(
        "rdw:any",
        b"\0\x05\x01\0a\0\x05\x02\0b",
        expect![[r#"
        a
        b
        done
    "#]],
    );
}

#[test]
fn a_truncated_rdw_record_tells_how_much_is_missing() {
    check(
        "rdw",
        b"\0\x05\0\0a\0\x09\0\0abc",
        expect![[r#"
        a
        error[FRM-001]: the source ends inside a record: 2 of 9 bytes are missing
          at record 2, byte 5

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing
    "#]],
    );
    check(
        "rdw",
        b"\0\x05\0\0a\0\x09",
        expect![[r#"
            a
            error[FRM-001]: the source ends inside an RDW: 2 of 4 bytes are missing
              at record 2, byte 5

            hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing
        "#]],
    );
}

#[test]
fn zeros_behind_the_last_record_are_named() {
    check(
        "rdw",
        b"\0\x05\0\0a\0\0\0\0\0\0",
        expect![[r#"
            a
            error[FRM-002]: the RDW says 0, expected at least 4; the bytes are zeros
              at record 2, byte 5

            hint: the file seems to be padded with zeros after its last record: cut them, or correct the framing; leave out bytes that follow the last record with `--skip-bytes-last N`
        "#]],
    );
}

#[test]
fn blocks_hold_records() {
    check(
        "vb",
        b"\0\x0e\0\0\0\x05\0\0a\0\x05\0\0b\0\x08\0\0\0\x04\0\0",
        expect![[r#"
        a
        b

        done
    "#]],
    );
}

#[test]
fn an_extended_block_header_is_read() {
    check(
        "vb",
        b"\x80\0\0\x0e\0\x05\0\0a\0\x05\0\0b",
        expect![[r#"
        a
        b
        done
    "#]],
    );
}

#[test]
fn block_headers_may_be_little_and_count_the_rest() {
    check(
        "vb:bdw-le,bdw-body,le",
        b"\0\0\x05\0\x05\0\0\0a",
        expect![[r#"
        a
        done
    "#]],
    );
}

#[test]
fn a_little_block_header_may_have_its_length_in_front_as_a_record_header() {
    check(
        "vb:le,bdw-le",
        b"\x0e\0\0\0\x05\0\0\0a\x05\0\0\0b\x09\0\0\0\x05\0\0\0c",
        expect![[r#"
        a
        b
        c
        done
    "#]],
    );
    // Without a length in either place.
    check(
        "vb:le,bdw-le",
        b"\0\0\0\0\x05\0\0\0a",
        expect![[r#"
        error[FRM-002]: the BDW says 0, expected at least 8; the bytes are zeros
          at record 1, byte 0

        hint: the file seems to be padded with zeros after its last record: cut them, or correct the framing
    "#]],
    );
}

#[test]
fn a_record_past_its_block_is_refused() {
    check(
        "vb",
        b"\0\x09\0\0\0\x06\0\0ab",
        expect![[r#"
        error[FRM-005]: the record needs 6 bytes, but its block has 5 left
          at record 1, byte 4

        hint: if the file has no block headers, use `rdw`; `inspect` on the file proposes a framing
    "#]],
    );
    check(
        "vb",
        b"\0\x09\0\0\0\x40\0\0ab",
        expect![[r#"
        error[FRM-005]: the record needs 64 bytes, but its block has 5 left
          at record 1, byte 4

        hint: if the file has no block headers, use `rdw`; `inspect` on the file proposes a framing
    "#]],
    );
    check(
        "vb",
        b"\0\x0b\0\0\0\x05\0\0a\0\x05\0\0a",
        expect![[r#"
        a
        error[FRM-005]: the record needs 4 bytes, but its block has 2 left
          at record 2, byte 9

        hint: if the file has no block headers, use `rdw`; `inspect` on the file proposes a framing
    "#]],
    );
}

#[test]
fn a_block_too_small_for_a_record_is_refused() {
    check(
        "vb",
        b"\0\x06\0\0\0\x06\0\0ab",
        expect![[r#"
        error[FRM-002]: the BDW says 6, expected at least 8
          at record 1, byte 0

        hint: if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing
    "#]],
    );
}

#[test]
fn a_file_without_blocks_read_with_blocks_is_refused() {
    check(
        "vb",
        b"\0\x06\0\0ab\0\x06\0\0ab",
        expect![[r#"
        error[FRM-002]: the BDW says 6, expected at least 8
          at record 1, byte 0

        hint: if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing
    "#]],
    );
}

#[test]
fn the_end_inside_a_block_is_a_truncation() {
    check(
        "vb",
        b"\0\x0e\0\0\0\x05\0\0a",
        expect![[r#"
            a
            error[FRM-001]: the source ends inside an RDW: 4 of 4 bytes are missing
              at record 2, byte 9

            hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing
        "#]],
    );
}

#[test]
fn segments_are_put_together_across_blocks() {
    check(
        "vbs",
        b"\0\x0f\0\0\0\x05\0\0a\0\x06\x01\0bc\0\x09\0\0\0\x05\x03\0d\0\x0e\0\0\0\x05\x02\0e\0\x05\0\0f",
        expect![[r#"
            a
            bcde
            f
            done
        "#]],
    );
}

#[test]
fn segments_may_come_without_blocks() {
    check(
        "vbs:no-bdw",
        b"\0\x05\0\0a\0\x06\x01\0bc\0\x05\x02\0d",
        expect![[r#"
        a
        bcd
        done
    "#]],
    );
}

#[test]
fn a_segment_out_of_order_is_refused() {
    check(
        "vbs:no-bdw",
        b"\0\x05\x01\0a\0\x05\0\0b",
        expect![[r#"
        error[FRM-008]: segment control code 0, expected 2 (last) or 3 (middle)
          at record 1, byte 5

        hint: a block was lost or written twice: transfer the file again
    "#]],
    );
    check(
        "vbs:no-bdw",
        b"\0\x05\x02\0a",
        expect![[r#"
        error[FRM-008]: segment control code 2, expected 0 (complete) or 1 (first)
          at record 1, byte 0

        hint: a block was lost or written twice: transfer the file again
    "#]],
    );
}

#[test]
fn a_spanned_record_above_the_limit_is_refused() {
    check_with(
        "vbs:no-bdw",
        &small(),
        b"\0\x09\x01\0abcde\0\x09\x02\0fghij",
        expect![[r#"
            error[FRM-003]: the record has 10 bytes or more, expected at most 8
              at record 1, byte 9

            hint: a record of this length is implausible: `inspect` on the file proposes a framing; if it is right, allow more with `--limit record-bytes=N`
        "#]],
    );
}

#[test]
fn an_open_segment_at_the_end_is_a_truncation() {
    check(
        "vbs:no-bdw",
        b"\0\x05\x01\0a",
        expect![[r#"
        error[FRM-001]: the source ends inside a segment descriptor word: 4 of 4 bytes are missing
          at record 1, byte 5

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing
    "#]],
    );
}

#[test]
fn lines_end_in_lf_and_the_last_may_lack_it() {
    check(
        "lines",
        b"ab\n\nc\r\nd",
        expect![[r#"
        ab

        c\r
        d
        done
    "#]],
    );
    check(
        "lines:strip-cr",
        b"ab\n\nc\r\nd\r",
        expect![[r#"
        ab

        c
        d
        done
    "#]],
    );
}

#[test]
fn crlf_is_one_terminator() {
    check(
        "lines:crlf",
        b"a\nb\r\nc\r\r\nd\r",
        expect![[r#"
        a\nb
        c\r
        d\r
        done
    "#]],
    );
}

#[test]
fn ebcdic_lines_end_in_nl_or_lf() {
    check(
        "lines:nl",
        b"\xc1\x15\xc2\x25\x15",
        expect![[r#"
        \xc1
        \xc2%
        done
    "#]],
    );
    check(
        "lines:lf25,strip-cr",
        b"\xc1\x0d\x25\xc2\x15\x25",
        expect![[r#"
        \xc1
        \xc2\x15
        done
    "#]],
    );
}

/// Regression: the mark was a record, so `skip-last` left it out and the trailer became data.
#[test]
fn an_end_of_file_mark_is_no_line() {
    check(
        "lines",
        b"a\nT\n\x1a",
        expect![[r#"
        a
        T
        error[FRM-013]: the last line has only the end-of-file mark 0x1a, which is not a record
          at record 3, byte 4

        hint: an editor or a transfer in text mode added it: leave it out with `--skip-bytes-last 1` (in an interface file, `skip-bytes-last = 1`), or transfer the file in binary
    "#]],
    );
    check(
        "lines:crlf",
        b"a\r\n\x1a\x1a\r\n",
        expect![[r#"
        a
        error[FRM-013]: the last line has only the end-of-file mark 0x1a, which is not a record
          at record 2, byte 3

        hint: an editor or a transfer in text mode added it: leave it out with `--skip-bytes-last 4` (in an interface file, `skip-bytes-last = 4`), or transfer the file in binary
    "#]],
    );
    check(
        "lines:strip-cr",
        b"a\r\n\x1a\r\n",
        expect![[r#"
        a
        error[FRM-013]: the last line has only the end-of-file mark 0x1a, which is not a record
          at record 2, byte 3

        hint: an editor or a transfer in text mode added it: leave it out with `--skip-bytes-last 3` (in an interface file, `skip-bytes-last = 3`), or transfer the file in binary
    "#]],
    );
    // A line that others follow, one with data, and one in EBCDIC are records.
    check(
        "lines",
        b"\x1a\nb\x1a\n",
        expect![[r#"
        \x1a
        b\x1a
        done
    "#]],
    );
    check(
        "lines:nl",
        b"\xc1\x15\x1a\x15",
        expect![[r#"
        \xc1
        \x1a
        done
    "#]],
    );
    let data = b"H\na\nb\nT\n\x1a\n";
    let edges = Edges { skip_first: 1, skip_last: 1 };
    for cut in 0..data.len() {
        let spec = FramingSpec::parse("lines").unwrap();
        let ((bodies, end), skipped) = blocks(&spec, &Limits::default(), data, &[cut, data.len()], edges);
        assert_eq!((bodies, skipped), (vec![b"a".to_vec(), b"b".to_vec()], 2), "cut at {cut}");
        assert_eq!(end.map_err(|fault| fault.code().0), Err("FRM-013"));
    }
}

#[test]
fn an_endless_line_is_refused() {
    check_with(
        "lines",
        &small(),
        b"abcd\nabcde\n",
        expect![[r#"
            abcd
            error[FRM-006]: no line end within 4 bytes
              at record 2, byte 5

            hint: the file has no lines, or other line ends: `inspect` on the file proposes a framing; or allow more with `--limit line-bytes=N`
        "#]],
    );
    check_with(
        "lines:crlf",
        &small(),
        b"abcd\r\nabcdefgh",
        expect![[r#"
            abcd
            error[FRM-006]: no line end within 4 bytes
              at record 2, byte 6

            hint: the file has no lines, or other line ends: `inspect` on the file proposes a framing; or allow more with `--limit line-bytes=N`
        "#]],
    );
}

#[test]
fn a_length_field_is_kept_in_the_record() {
    check(
        "length:offset=1,size=2",
        b"A\0\x05xyB\0\x03",
        expect![[r#"
        A\x00\x05xy
        B\x00\x03
        done
    "#]],
    );
    check(
        "length:offset=1,size=2,le,body,adjust=-1",
        b"A\x03\0xyB\x01\0",
        expect![[r#"
        A\x03\x00xy
        B\x01\x00
        done
    "#]],
    );
}

#[test]
fn length_digits_are_read() {
    check(
        "d",
        b"0006ab0004",
        expect![[r#"
        ab

        done
    "#]],
    );
    check(
        "length:size=3,ebcdic,body,strip",
        b"\xf0\xf0\xf2ab\x40\x40\xf1c",
        expect![[r#"
        ab
        c
        done
    "#]],
    );
}

#[test]
fn a_length_field_without_digits_is_refused() {
    check(
        "d",
        b"0006ab00x4",
        expect![[r#"
        ab
        error[FRM-009]: the length field of 4 bytes does not hold digits
          at record 2, byte 6

        hint: check offset, size and encoding of the length field
    "#]],
    );
    check(
        "d",
        b"    ",
        expect![[r#"
        error[FRM-009]: the length field of 4 bytes does not hold digits
          at record 1, byte 0

        hint: check offset, size and encoding of the length field
    "#]],
    );
}

#[test]
fn a_length_field_out_of_range_is_refused() {
    check(
        "d",
        b"0003",
        expect![[r#"
        error[FRM-002]: the length field says 3, expected at least 4
          at record 1, byte 0

        hint: if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing
    "#]],
    );
    check_with(
        "d",
        &small(),
        b"0020",
        expect![[r#"
            error[FRM-003]: the length field says 20, expected at most 8
              at record 1, byte 0

            hint: a record of this length is implausible: `inspect` on the file proposes a framing; if it is right, allow more with `--limit record-bytes=N`
        "#]],
    );
    check(
        "length:size=2",
        b"\0\x05abc\x40\x40\x40",
        expect![[r#"
        \x00\x05abc
        error[FRM-001]: the source ends inside a record: 16445 of 16448 bytes are missing
          at record 2, byte 5

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing
    "#]],
    );
}

fn micro_focus(rest: &[u8]) -> Vec<u8> {
    let mut data = vec![0u8; 128];
    data[..2].copy_from_slice(b"\x30\x7e");
    data.extend_from_slice(rest);
    data
}

#[test]
fn micro_focus_records_are_padded_and_typed() {
    check(
        "mf",
        &micro_focus(b"\x40\x01a\0\x20\x02xx\x40\x02bc\x40\x03def\0\0\0"),
        expect![[r#"
        a
        bc
        def
        done
    "#]],
    );
    check(
        "mf",
        &micro_focus(b"\x40\x01a\0\x20\x02xx"),
        expect![[r#"
        a
        done
    "#]],
    );
    check(
        "mf",
        &micro_focus(b"\x40\x01a"),
        expect![[r#"
        a
        done
    "#]],
    );
}

#[test]
fn a_foreign_file_is_not_micro_focus() {
    check(
        "mf",
        &[b'A'; 130],
        expect![[r#"
        error[FRM-010]: the file does not begin with the header of a Micro Focus variable file (30 7e 00 00 or 30 00 00 7c)
          at record 1, byte 0

        hint: use `mf` only for Micro Focus variable files with their file header
    "#]],
    );
    check(
        "mf",
        &micro_focus(b"AAAA"),
        expect![[r#"
        error[FRM-001]: the source ends inside a record: 320 of 324 bytes are missing
          at record 1, byte 128

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing
    "#]],
    );
}
