//! Writing records in each framing, and records that cannot be written.

use expect_test::{Expect, expect};
use quayline_core::Limits;
use quayline_frame::{EndOfInput, Framer, FramerOptions, FramingSpec, Resume, Splitter, Step, empty_source};

fn write(spec: &str, block_bytes: u32, bodies: &[&[u8]], expect: Expect) {
    let limits = Limits { record_bytes_max: 20, line_bytes_max: 20, ..Limits::default() };
    let options = FramerOptions { block_bytes, ..FramerOptions::default() };
    let mut framer = Framer::new(&FramingSpec::parse(spec).unwrap(), options, &limits).unwrap();
    let mut out = Vec::new();
    let mut text = String::new();
    for body in bodies {
        if let Err(fault) = framer.frame(body, &mut out) {
            assert_eq!(fault.resume(), Resume::NextRecord);
            text.push_str(&format!("{}\n", fault.finding()));
        }
    }
    framer.finish(&mut out);
    expect.assert_eq(&format!("{text}{}\n", out.escape_ascii()));
}

#[test]
fn a_record_that_its_framing_cannot_hold_is_refused_and_the_next_goes_on() {
    write(
        "fixed:3",
        0,
        &[b"a", b"abcd", b"xyz"],
        expect![[r#"
            error[FRM-020]: the record has 4 bytes, its framing holds at most 3
              at record 2, byte 3

            hint: `fixed` needs a longer record length; `rdw:max=65535` and `vb:max=65535` hold up to 65531 bytes, and `vbs` holds any record up to `--limit record-bytes=N`
            a@@xyz
        "#]],
    );
    write(
        "rdw:max=6",
        0,
        &[b"a", b"abcd", b"xy"],
        expect![[r#"
            error[FRM-020]: the record has 4 bytes, its framing holds at most 2
              at record 2, byte 5

            hint: `fixed` needs a longer record length; `rdw:max=65535` and `vb:max=65535` hold up to 65531 bytes, and `vbs` holds any record up to `--limit record-bytes=N`
            \x00\x05\x00\x00a\x00\x06\x00\x00xy
        "#]],
    );
    write(
        "rdw",
        0,
        &[b"123456789012345678901", b"a"],
        expect![[r#"
            error[FRM-020]: the record has 21 bytes, its framing holds at most 20
              at record 1, byte 0

            hint: `fixed` needs a longer record length; `rdw:max=65535` and `vb:max=65535` hold up to 65531 bytes, and `vbs` holds any record up to `--limit record-bytes=N`
            \x00\x05\x00\x00a
        "#]],
    );
    write(
        "vb",
        12,
        &[b"a", b"abcde", b"xy"],
        expect![[r#"
            \x00\t\x00\x00\x00\x05\x00\x00a\x00\r\x00\x00\x00\t\x00\x00abcde\x00\n\x00\x00\x00\x06\x00\x00xy
        "#]],
    );
    write(
        "d",
        0,
        &[b"ab", b""],
        expect![[r#"
        0006ab0004
    "#]],
    );
    write(
        "length:size=1,ascii,body,strip",
        0,
        &[b"a", b"1234567890"],
        expect![[r#"
            error[FRM-020]: the record has 11 bytes, its framing holds at most 10
              at record 2, byte 2

            hint: `fixed` needs a longer record length; `rdw:max=65535` and `vb:max=65535` hold up to 65531 bytes, and `vbs` holds any record up to `--limit record-bytes=N`
            1a
        "#]],
    );
    write(
        "length:offset=1,size=2",
        0,
        &[b"A\0\0bc", b"A  bc", b"A\0\x05bc", b"A\0"],
        expect![[r#"
        error[FRM-022]: the record has 2 bytes, but its length field ends at 3
          at record 4, byte 15

        hint: check offset and size of the length field against the copybook
        A\x00\x05bcA\x00\x05bcA\x00\x05bc
    "#]],
    );
    // Data was overwritten, and a length that contradicts the record was taken as none.
    for body in [&b"WXYZ"[..], b"A\0\x06b", b"A\xff\xffb", b"A 0b"] {
        write(
            "length:offset=1,size=2",
            0,
            &[body],
            expect![[r#"
                error[FRM-024]: the 2 bytes at offset 1 are to hold the record's length of 4 bytes, but hold something else
                  at record 1, byte 0

                hint: check offset and size of the length field against the copybook; leave the field that holds the length out of the document, so that it is set

            "#]],
        );
    }
}

#[test]
fn a_terminator_inside_a_line_is_refused() {
    write(
        "lines",
        0,
        &[b"a\rb", b"a\nb"],
        expect![[r#"
        error[FRM-021]: byte 1 of the record is the line's terminator: the line would end there
          at record 2, byte 4

        hint: write such records with `fixed` or `rdw`: binary fields may hold any byte
        a\rb\n
    "#]],
    );
    write(
        "lines:crlf",
        0,
        &[b"a\nb\r", b"a\r\nb"],
        expect![[r#"
        error[FRM-021]: byte 1 of the record is the line's terminator: the line would end there
          at record 2, byte 6

        hint: write such records with `fixed` or `rdw`: binary fields may hold any byte
        a\nb\r\r\n
    "#]],
    );
    write(
        "lines:strip-cr",
        0,
        &[b"a\r"],
        expect![[r#"
        error[FRM-021]: byte 1 of the record is the line's terminator: the line would end there
          at record 1, byte 0

        hint: write such records with `fixed` or `rdw`: binary fields may hold any byte

    "#]],
    );
}

#[test]
fn large_blocks_get_an_extended_header() {
    let limits = Limits::default();
    let options = FramerOptions { block_bytes: 40_000, ..FramerOptions::default() };
    let mut framer = Framer::new(&FramingSpec::parse("vb").unwrap(), options, &limits).unwrap();
    let mut out = Vec::new();
    framer.frame(&[0; 20_000], &mut out).unwrap();
    framer.frame(&[0; 15_000], &mut out).unwrap();
    framer.finish(&mut out);
    assert_eq!(out[..8], *b"\x80\0\x88\xc4\x4e\x24\0\0");
}

#[test]
fn text_that_is_no_framing_is_refused() {
    let check = |text: &str, expect: Expect| match FramingSpec::parse(text) {
        Ok(spec) => match spec.check(&Limits::default()) {
            Ok(()) => panic!("{text} was taken"),
            Err(error) => expect.assert_eq(&error.finding().to_string()),
        },
        Err(error) => expect.assert_eq(&error.finding().to_string()),
    };
    check(
        "fix",
        expect![[r#"
        error[FRM-031]: `fix` is not a framing; expected fixed, rdw, vb, vbs, lines, length, layout, d, gnucobol or mf

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "fixed",
        expect![[r#"
        error[FRM-031]: framing `fixed` needs the record length, as in `fixed:200`

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "fixed:x",
        expect![[r#"
        error[FRM-031]: `fixed` needs a number that fits, found `x`

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "fixed:0",
        expect![[r#"
        error[FRM-030]: a fixed record length of 0 never ends the first record

        hint: give the length of a record in bytes, as in `fixed:200`"#]],
    );
    check(
        "fixed:99999999",
        expect![[r#"
            error[FRM-030]: a fixed record length of 99999999 bytes is above the limit of 16777216

            hint: correct the number, or allow more with `--limit record-bytes=N`"#]],
    );
    check(
        "rdw:big",
        expect![[r#"
        error[FRM-031]: framing `rdw` has no option `big`; it has be, le, whole, body, ll00, 00ll, ll, llll, any, adjust=N, max=N

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "rdw:max=-1",
        expect![[r#"
        error[FRM-031]: `max` needs a number that fits, found `-1`

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "lines:cr",
        expect![[r#"
        error[FRM-031]: framing `lines` has no option `cr`; it has lf, crlf, nl, lf25, strip-cr

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "length:offset=4",
        expect![[r#"
        error[FRM-031]: framing `length` needs the field's size, as in `length:offset=0,size=2`

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "length:size=9",
        expect![[r#"
        error[FRM-030]: a length field has 9 bytes, expected 1 to 8

        hint: give the field's size in bytes, as in `length:size=2`"#]],
    );
    check(
        "length:offset=2,size=2,strip",
        expect![[r#"
        error[FRM-030]: a length field at offset 2 cannot be stripped: the bytes before it would be lost

        hint: leave out `strip` and describe the field in the copybook"#]],
    );
    check(
        "gnucobol:4",
        expect![[r#"
        error[FRM-031]: `gnucobol` needs a number that fits, found `4`

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "vbs:bdw",
        expect![[r#"
        error[FRM-031]: framing `vbs` has no option `bdw`; it has no-bdw

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
    check(
        "mf:2",
        expect![[r#"
        error[FRM-031]: framing `mf` has no option `2`; it has none

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`"#]],
    );
}

/// A record of 30,007 bytes in a `vb` file was read, and could not be written back.
#[test]
fn a_record_longer_than_a_block_has_a_block_of_its_own() {
    let check = |spec: &str, longest: usize, extended: bool| {
        let limits = Limits::default();
        let spec = FramingSpec::parse(spec).unwrap();
        let mut framer = Framer::new(&spec, FramerOptions::default(), &limits).unwrap();
        let bodies = [vec![b'a'; 100], vec![b'b'; longest], vec![b'c'; 100]];
        let mut out = Vec::new();
        for body in &bodies {
            framer.frame(body, &mut out).unwrap();
        }
        assert_eq!(framer.frame(&vec![b'd'; longest + 1], &mut out).unwrap_err().resume(), Resume::NextRecord);
        framer.finish(&mut out);
        // The first block has the first record only, the second is as long as its record.
        assert_eq!(out[..4], [0, 108, 0, 0], "{spec}");
        assert_eq!(out[108] & 0x80 != 0, extended, "{spec}");
        let mut splitter = Splitter::new(&spec, &limits).unwrap();
        let mut at = 0;
        for body in &bodies {
            let Step::Record { body: read, consumed, .. } = splitter.split(&out[at..], EndOfInput::Yes).unwrap() else {
                panic!("{spec}: a record")
            };
            assert!(read == body, "{spec}: {} bytes", read.len());
            at += consumed;
        }
    };
    check("vb", 32_752, false);
    check("vb:max=65535", 65_531, true);
    check("vb:body,max=65535", 65_535, true);
    check("vb:max=30000", 29_996, false);
}

#[test]
fn options_without_an_effect_are_refused() {
    for (text, said) in [
        ("rdw:ll,any", "`any` has no effect on framing `rdw`: this header has no reserved bytes"),
        ("vb:llll,any", "`any` has no effect on framing `vb`"),
        ("rdw:any,ll", "`any` has no effect"),
        ("rdw:be,le", "`be` has no effect on framing `rdw`: `le` replaces it"),
        ("rdw:max=70000", "`max=70000` has no effect on framing `rdw`: a length of two bytes is at most 65535"),
        ("vb:max=100,max=200", "`max=100` has no effect on framing `vb`: `max=200` replaces it"),
        ("vb:whole,body", "`whole` has no effect"),
        ("lines:crlf,nl", "`crlf` has no effect on framing `lines`: `nl` replaces it"),
        ("length:size=2,ascii,le", "`ascii` has no effect on framing `length`: `le` replaces it"),
    ] {
        let error = FramingSpec::parse(text).unwrap_err();
        assert!(error.to_string().contains(said), "{text}: {error}");
    }
    for text in [
        "rdw:ll00,be,whole,max=65535",
        "rdw:llll,max=70000",
        "vb:bdw-le,le,any,bdw-adjust=4,adjust=4",
        "lines:crlf,strip-cr",
    ] {
        FramingSpec::parse(text).unwrap();
    }
}

#[test]
fn an_empty_source_is_a_warning() {
    expect![[r#"
        warning[FRM-007]: the source is empty: 0 records

        hint: if records were expected, ask the sender; a transfer that failed at once leaves such a file"#]]
    .assert_eq(&empty_source().to_string());
}

/// Regression: the limit in the message was 18446744073709551615.
#[test]
fn a_limit_below_the_length_field_leaves_no_room() {
    let limits = Limits { record_bytes_max: 3, ..Limits::default() };
    let mut framer = Framer::new(&FramingSpec::parse("d").unwrap(), FramerOptions::default(), &limits).unwrap();
    let fault = framer.frame(b"x", &mut Vec::new()).expect_err("no room").finding();
    assert_eq!(fault.message, "the record has 1 bytes, its framing holds at most 0");
}
