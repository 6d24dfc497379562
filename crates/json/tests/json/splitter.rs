//! Boundaries of documents: each vector whole, byte by byte and split at every place.

use expect_test::{Expect, expect};
use quayline_core::{ByteOffset, Limits, Place};
use quayline_json::{EndOfInput, JsonError, JsonSplitter, Split};

/// Documents, and how the stream ended: an error and its byte in the stream.
type Documents = (Vec<Vec<u8>>, Result<(), (JsonError, usize)>);

/// Feeds the pieces in order. Bytes that are not consumed are presented again.
fn split(splitter: &mut JsonSplitter, pieces: &[&[u8]]) -> Documents {
    let mut documents = Vec::new();
    let (mut kept, mut offset) = (Vec::new(), 0);
    for (i, piece) in pieces.iter().enumerate() {
        kept.extend_from_slice(piece);
        let end = if i + 1 == pieces.len() { EndOfInput::Yes } else { EndOfInput::No };
        loop {
            let before = splitter.state();
            let (document, consumed, more) = match splitter.split(&kept, end) {
                Ok(Split::Document { at, consumed }) => (Some(kept[at].to_vec()), consumed, true),
                Ok(Split::NeedMore { consumed }) => (None, consumed, false),
                Ok(Split::Done { consumed }) => {
                    assert_eq!(consumed, kept.len(), "all was split");
                    assert_eq!(end, EndOfInput::Yes);
                    return (documents, Ok(()));
                }
                Err(fault) => {
                    assert_eq!(splitter.split(&kept, end), Err(fault.clone()), "a fault stays");
                    assert_eq!(splitter.state(), before);
                    return (documents, Err((fault.error, offset + fault.at)));
                }
            };
            assert!(consumed <= kept.len());
            kept.drain(..consumed);
            offset += consumed;
            documents.extend(document);
            if !more {
                break;
            }
            // A run that is stopped here goes on from the state.
            *splitter = JsonSplitter::resume(&limits(), splitter.state());
        }
    }
    panic!("the end of the input gives Done or a fault");
}

fn limits() -> Limits {
    Limits { record_bytes_max: 40, ..Limits::default() }
}

#[track_caller]
fn check(text: &str, expect: Expect) {
    let bytes = text.as_bytes();
    let whole = split(&mut JsonSplitter::new(&limits()), &[bytes]);
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(split(&mut JsonSplitter::new(&limits()), &[head, tail]), whole, "split at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).chain([&[][..]]).collect();
    assert_eq!(split(&mut JsonSplitter::new(&limits()), &single), whole, "byte by byte");
    let show = |text| String::from_utf8(text).expect("a document of a vector is UTF-8");
    let mut shown: Vec<String> = whole.0.into_iter().map(show).collect();
    if let Err((error, at)) = whole.1 {
        shown.push(format!("byte {at}: {} {error}", error.code()));
    }
    expect.assert_eq(&shown.join("\n"));
}

#[test]
fn sequences() {
    check("", expect![""]);
    check(" \r\n\t", expect![""]);
    check("{}", expect!["{}"]);
    check(
        "{\"a\":1}\n{\"b\":[2]}\n",
        expect![[r#"
        {"a":1}
        {"b":[2]}"#]],
    );
    check(
        "\u{feff}\n{}{} {}\r\n\n{\n}",
        expect![[r#"
        {}
        {}
        {}
        {
        }"#]],
    );
    check(
        r#"{"a":"}\"{\\"}{"\\":{"]":"["}}"#,
        expect![[r#"
        {"a":"}\"{\\"}
        {"\\":{"]":"["}}"#]],
    );
    check("{\"ü\":\"\u{feff}\"}", expect![[r#"{"ü":"﻿"}"#]]);
}

#[test]
fn bad_documents_in_a_sequence() {
    check(
        "{\"a\":1}\nnull\n{}\n1,2 {}\n]\n[1]\n",
        expect![[r#"
        {"a":1}
        null
        {}
        1,2 {}
        ]
        [1]"#]],
    );
    check(
        "{} x{}\n{}",
        expect![[r#"
        {}
        x{}
        {}"#]],
    );
    check(
        "{}\n{\"a\":\"x}\n{}",
        expect![[r#"
        {}
        {"a":"x}
        {}"#]],
    );
    check(
        "{}\n{\"a\":\"x\\",
        expect![[r#"
        {}
        {"a":"x\"#]],
    );
}

#[test]
fn arrays() {
    check("[]", expect![""]);
    check(" [ ] \n", expect![""]);
    check("[{}]", expect!["{}"]);
    check(
        "\u{feff}[\n{\"a\":[1,{}]},\n{\"b\":\"],[\"}\n]\n",
        expect![[r#"
        {"a":[1,{}]}
        {"b":"],["}"#]],
    );
    check(
        r#"[1,"a,]\"b",null , [[]] ,tru]"#,
        expect![[r#"
        1
        "a,]\"b"
        null
        [[]]
        tru"#]],
    );
}

#[test]
fn broken_arrays() {
    check("[", expect!["byte 1: JSON-023 the text ends before the array of documents is closed"]);
    check(
        "[{}",
        expect![[r#"
        {}
        byte 3: JSON-023 the text ends before the array of documents is closed"#]],
    );
    check(
        "[{},",
        expect![[r#"
        {}
        byte 4: JSON-023 the text ends before the array of documents is closed"#]],
    );
    check(
        "[{},{\"a\":",
        expect![[r#"
        {}
        {"a":
        byte 9: JSON-023 the text ends before the array of documents is closed"#]],
    );
    check(
        "[{} {}]",
        expect![[r#"
        {}
        byte 4: JSON-021 expected `,` or `]` in the array of documents, found `{`"#]],
    );
    check(
        "[{},]",
        expect![[r#"
        {}
        byte 4: JSON-021 expected a document in the array of documents, found `]`"#]],
    );
    check("[,{}]", expect!["byte 1: JSON-021 expected a document or `]` in the array of documents, found `,`"]);
    check(
        "[{}] []",
        expect![[r#"
        {}
        byte 5: JSON-022 expected the end of the text after the array of documents, found `[`"#]],
    );
}

#[test]
fn documents_are_bounded() {
    let fits = format!("{{\"a\":\"{}\"}}", "x".repeat(32));
    check(
        &format!("{fits}{fits}"),
        expect![[r#"
        {"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
        {"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#]],
    );
    check(
        &format!(" {}{fits}", fits.replace('a', "aa")),
        expect!["byte 41: JSON-020 the document is longer than 40 bytes"],
    );
    check(&format!("[{}", "1".repeat(41)), expect!["byte 41: JSON-020 the document is longer than 40 bytes"]);
    check(&format!("{{{}", " ".repeat(41)), expect!["byte 40: JSON-020 the document is longer than 40 bytes"]);
    // White space between documents is not part of any.
    check(
        &format!("{{}}{}{{}}", " ".repeat(100)),
        expect![[r#"
        {}
        {}"#]],
    );
}

#[test]
fn a_fault_is_a_finding() {
    let fault = JsonSplitter::new(&Limits::default()).split(b"[}", EndOfInput::Yes);
    assert_eq!(fault, Ok(Split::Document { at: 1..2, consumed: 2 }), "the reader refuses it");
    let fault =
        JsonSplitter::new(&Limits::default()).split(b"[] {}", EndOfInput::Yes).expect_err("text behind the array");
    let place = Place { file: Some("in.json".into()), byte: Some(ByteOffset(fault.at as u64)), ..Place::default() };
    expect![[r#"
        error[JSON-022]: expected the end of the text after the array of documents, found `{`
          at in.json, byte 3

        hint: put all documents into the array, or write them without one"#]]
    .assert_eq(&fault.finding(place).to_string());
}
