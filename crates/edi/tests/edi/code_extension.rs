//! Text by code extension (ISO 2022): EDIFACT's UNOX.

use expect_test::{Expect, expect};
use quayline_charset::Charset;
use quayline_core::{Document, Limits};
use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentOptions, MemoryOutput, Stamp};
use quayline_edi::{DocumentReader, DocumentStep, EndOfInput, EnvelopeReader, Event, GenericOptions, Rules};

use crate::generic::{documents_and_ranges, json, rewrite, write_json};

/// Builds an interchange with one message of these segments.
fn unox(segments: &[u8]) -> Vec<u8> {
    let count = segments.iter().filter(|byte| **byte == b'\n').count() + 2;
    let segments: Vec<u8> = segments.iter().copied().filter(|byte| *byte != b'\n').collect();
    let (head, tail) =
        ("UNB+UNOX:4+S:14+R:14+20260401:1200+7'UNH+1+ORDERS:D:96A:UN'", format!("UNT+{count}+1'UNZ+1+7'"));
    [head.as_bytes(), &segments, tail.as_bytes()].concat()
}

/// Checks the documents of segments, which end with a line break here but not in the input. The documents are the same for any division of the input,
/// and their output is read back as the same documents.
#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(segments: &[u8], expected: Expect) {
    let text = unox(segments);
    let (lines, faults) = json(&text, []);
    let found = String::from_utf8(lines.clone()).expect("JSON is UTF-8");
    let found = found.split_once("\"segments\":").map_or("", |(_, segments)| segments);
    expected.assert_eq(&format!("{found}{}", faults.join(" ")));
    for cut in 0..=text.len() {
        assert_eq!(json(&text, [cut]), (lines.clone(), faults.clone()), "cut at {cut}");
    }
    if faults.is_empty() {
        let written = rewrite(&text);
        assert_eq!(json(&written, []), (lines.clone(), faults), "written from the documents");
        assert_eq!(rewrite(&written), written, "what is written is canonical");
        assert_eq!(write_json(&lines), Ok(written.escape_ascii().to_string()), "written from JSON");
    }
}

#[test]
fn bytes_of_other_sets_are_no_delimiters() {
    // The second byte of the first character is +, of the second '; ? and : are among the katakana.
    check(
        b"FTX+AAI+++\x1b$B%+$'!)\x1b(B:x?+y'\nNAD+BY+\x1b(I?:+'\x1b(B::9'\n",
        expect![[r#"
            [{"tag":"FTX","elements":[{"value":"AAI"},{},{},{"components":["カぇ？","x+y"]}]},{"tag":"NAD","elements":[{"value":"BY"},{"components":["ｿｺｫｧ","","9"]}]}]}
        "#]],
    );
}

#[test]
fn sets_stay_designated_until_another_is() {
    check(
        b"FTX+AAI+\x1b-A\xe9'\nFTX+AAI+\xe9+\x1b-L\xe9'\nFTX+AAI+\xe9'\n",
        expect![[r#"
            [{"tag":"FTX","elements":[{"value":"AAI"},{"value":"é"}]},{"tag":"FTX","elements":[{"value":"AAI"},{"value":"é"},{"value":"щ"}]},{"tag":"FTX","elements":[{"value":"AAI"},{"value":"щ"}]}]}
        "#]],
    );
}

#[test]
fn a_set_that_is_not_here_is_told_and_never_read_as_another() {
    check(
        b"FTX+AAI+\x1b(N+++\x1b(B'\nFTX+AAI+a'\n",
        expect![[r#"
            [{"tag":"FTX","elements":[{"value":"AAI"},{"value":"���"}]},{"tag":"FTX","elements":[{"value":"AAI"},{"value":"a"}]}]}
            EDI-046"#]],
    );
    check(
        b"FTX+AAI+\xe9'\n",
        expect![[r#"
            [{"tag":"FTX","elements":[{"value":"AAI"},{"value":"�"}]}]}
            EDI-046"#]],
    );
}

#[test]
fn what_is_told_names_the_set_and_the_transaction_is_wrong() {
    let text = unox(b"FTX+AAI+\x1b$(G''\x1b(B'\nFTX+AAI+a'\n");
    let mut reader = DocumentReader::new(&GenericOptions::default());
    let mut pass = reader.over(&text, EndOfInput::Yes);
    let mut sink = Document::new();
    let step = pass.read(&mut sink);
    assert!(matches!(step, DocumentStep::Document { errors: 1, is_transaction: true, .. }), "{step:?}");
    let fault = pass.take_faults().next().expect("it is told");
    expect!["interchange 1, transaction 1, segment 2: the character set ESC 2/4 2/8 4/7 (CNS 11643) is not known here; what cannot be read is left out"]
    .assert_eq(&format!("{}: {}", fault.at, fault.error));
}

#[test]
fn documents_have_the_bytes_that_stand_in_the_file() {
    let text = unox(b"FTX+AAI+\x1b$B%+\x1b(B'\n");
    let header = "UNB+UNOX:4+S:14+R:14+20260401:1200+7'".len() as u64;
    let end = text.len() as u64 - "UNZ+1+7'".len() as u64;
    assert_eq!(documents_and_ranges(&text, [], &mut Document::new()).1, [(header, end)]);
}

#[test]
fn a_character_set_that_the_user_names_goes_before() {
    let text = unox(b"FTX+AAI+\xe9'\n");
    let options = GenericOptions { charset: Charset::by_name("iso-8859-2").ok(), ..GenericOptions::default() };
    let mut reader = DocumentReader::new(&options);
    let mut pass = reader.over(&text, EndOfInput::Yes);
    let step = pass.read(&mut Document::new());
    assert!(matches!(step, DocumentStep::Document { errors: 0, .. }), "{step:?}");
    assert_eq!(pass.take_faults().count(), 0);
}

#[test]
fn a_reader_goes_on_from_a_checkpoint_with_the_sets_in_use() {
    let text = [
        &b"UNB+UNOX:4+S:14+R:14+20260401:1200+7'UNH+1+ORDERS:D:96A:UN'FTX+AAI+\x1b-L\xe9'UNT+3+1'"[..],
        b"UNH+2+ORDERS:D:96A:UN'FTX+AAI+\xe9'UNT+3+2'UNZ+2+7'",
    ];
    let whole = text.concat();
    let mut reader = DocumentReader::new(&GenericOptions::default());
    let mut pass = reader.over(&whole, EndOfInput::Yes);
    assert!(matches!(pass.read(&mut Document::new()), DocumentStep::Document { .. }));
    let at = pass.finish();
    assert_eq!(at, text[0].len());
    let state = reader.state().expect("it stands between documents");
    let mut resumed = DocumentReader::resume(&GenericOptions::default(), reader.offset(), &state).expect("its state");
    let mut copy = reader.snapshot();
    for reader in [&mut reader, &mut resumed, &mut copy] {
        let mut pass = reader.over(&whole[at..], EndOfInput::Yes);
        let step = pass.read(&mut Document::new());
        assert!(matches!(step, DocumentStep::Document { errors: 0, .. }), "{step:?}");
        assert_eq!(pass.take_faults().count(), 0);
    }
}

#[test]
fn the_end_of_the_file_and_of_what_is_too_long() {
    let head = b"UNB+UNOX:4+S:14+R:14+20260401:1200+7'";
    let faults = |tail: &[u8]| json(&[&head[..], tail].concat(), []).1.join(" ");
    assert_eq!(faults(b"UNZ+0+7"), "");
    assert_eq!(faults(b"UNH+1+ORDERS:D:96A:UN'FTX+\x1b$B%"), "EDI-046 EDI-012");
    assert_eq!(faults(b"UNH+1+ORDERS:D:96A:UN'FTX+?"), "EDI-012");
    // A set that is never left hides all delimiters: the segment reaches the maximum length, and the following bytes are read again.
    let mut long = b"UNH+1+ORDERS:D:96A:UN'FTX+\x1b$B".to_vec();
    long.resize(long.len() + (1 << 20), b'!');
    long.extend_from_slice(b"'UNT+3+1'UNZ+1+7'");
    assert_eq!(faults(&long), "EDI-010");
}

#[test]
fn a_header_in_a_trailer_begins_where_it_is_in_the_file() {
    // Characters of other lengths than their text precede the header, and the last of them are escape sequences.
    for between in [&b"\x1b-A\xe9\xe9\n"[..], b"\xff\xff\xff\n", b"\x1b$B%+\x1b(B\n", b"\n\x1b(B", b"\n"] {
        let message = b"UNH+1+ORDERS:D:96A:UN'FTX+AAI'UNT+3+1'";
        let head = b"UNB+UNOX:4+S:14+R:14+20260401:1200+7'";
        let text = [head, &message[..], b"UNZ+1+7", between, head, message, b"UNZ+1+7'"].concat();
        let (lines, faults) = json(&text, []);
        let documents = lines.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!((documents, faults.contains(&"EDI-022".to_owned())), (2, true), "{faults:?} after {between:?}");
        for cut in 0..=text.len() {
            assert_eq!(json(&text, [cut]), (lines.clone(), faults.clone()), "cut at {cut}");
        }
    }
    // The same letters by other bytes are no header: no interchange begins with those.
    let (_, faults) = json(b"UNB+UNOX:4+S:14+R:14+20260401:1200+7'UNZ+0+7\n\x1b)B\xd5\xce\xc2+'", []);
    assert_eq!(faults, ["EDI-013", "EDI-032", "EDI-042"]);
}

#[test]
fn an_answer_copies_names_in_the_character_set_of_what_it_answers() {
    let text = b"UNB+UNOX:4+\x1b$B@A6H\x1b(B?+:14+R:14+20260401:1200+7'UNH+1+ORDERS:D:96A:UN'FTX'UNT+3+1'UNZ+1+7'";
    let stamp = Stamp::new("20260402", "0830").expect("a date and a time");
    let mut acknowledger = Acknowledger::new(AcknowledgmentOptions::by_name("contrl", stamp).expect("a kind"));
    let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
    let mut output = MemoryOutput::default();
    let mut pass = reader.over(text, EndOfInput::Yes);
    loop {
        let event = pass.advance();
        let faults: Vec<_> = pass.take_faults().collect();
        acknowledger.event(event, &pass, &faults, &mut output);
        if event == Event::Done {
            break;
        }
    }
    let (answer, faults) = json(output.written(), []);
    let answer = String::from_utf8(answer).expect("JSON");
    assert_eq!(faults, [""; 0]);
    assert!(answer.contains(r#""receiver":"請業+""#), "{answer}");
}
