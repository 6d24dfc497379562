//! Generic documents: as JSON, and back to the same bytes.

use expect_test::{Expect, expect};
use quayline_charset::Charset;
use quayline_core::{Limits, Sink, Tee};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiWriter, EdiWriterOptions, EndOfInput, GenericOptions, RowReader, RowStep,
    generic_shape, row_shape,
};
use quayline_json::{JsonReader, JsonStyle, JsonWriter, ReaderOptions};

/// Sends the documents to a sink, with the input available up to each of `ends` in turn. Returns the codes of faults.
pub(crate) fn documents(text: &[u8], ends: impl IntoIterator<Item = usize>, sink: &mut impl Sink) -> Vec<String> {
    documents_and_ranges(text, ends, sink).0
}

/// Returns the codes of faults, and the byte range of each document.
pub(crate) fn documents_and_ranges(
    text: &[u8],
    ends: impl IntoIterator<Item = usize>,
    sink: &mut impl Sink,
) -> (Vec<String>, Vec<(u64, u64)>) {
    let mut ranges = Vec::new();
    let mut reader = DocumentReader::new(&GenericOptions::default());
    let (mut from, mut done, mut faults) = (0, false, Vec::new());
    for known in ends.into_iter().chain([text.len()]) {
        let end = if known == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        if done {
            continue;
        }
        let mut pass = reader.over(&text[from..known], end);
        loop {
            let step = pass.read(sink);
            faults.extend(pass.take_faults().map(|fault| fault.error.code().0.to_owned()));
            match step {
                DocumentStep::Document { from, to, .. } => {
                    assert!(from < to);
                    ranges.push((from.0, to.0));
                }
                DocumentStep::NeedMore => break,
                DocumentStep::Done => {
                    done = true;
                    break;
                }
            }
        }
        from += pass.finish();
    }
    assert!(done);
    (faults, ranges)
}

/// Returns the documents as JSON lines.
pub(crate) fn json(text: &[u8], ends: impl IntoIterator<Item = usize>) -> (Vec<u8>, Vec<String>) {
    let mut writer = JsonWriter::new(&generic_shape(), JsonStyle::default());
    let faults = documents(text, ends, &mut writer);
    (writer.bytes().to_vec(), faults)
}

/// Writes the documents back to interchanges.
pub(crate) fn rewrite(text: &[u8]) -> Vec<u8> {
    let mut writer = EdiWriter::new(EdiWriterOptions::default());
    documents(text, [], &mut writer);
    assert_eq!(writer.take_errors(), []);
    writer.finish();
    writer.bytes().to_vec()
}

/// Reads JSON lines back and writes them.
pub(crate) fn write_json(lines: &[u8]) -> Result<String, String> {
    let mut reader = JsonReader::new(&generic_shape(), ReaderOptions::default());
    let mut writer = EdiWriter::new(EdiWriterOptions::default());
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        if let Err(fault) = reader.read(line, &mut writer) {
            return Err(fault.to_string());
        }
        if let Some(error) = writer.take_errors().first() {
            return Err(format!("{}: {error}", error.code()));
        }
    }
    writer.finish();
    Ok(writer.bytes().escape_ascii().to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(text: &str, expected: Expect) {
    let text = text.as_bytes();
    let (lines, faults) = json(text, []);
    assert_eq!(faults, Vec::<String>::new());
    expected.assert_eq(core::str::from_utf8(&lines).expect("JSON is UTF-8"));
    for cut in 0..=text.len() {
        assert_eq!(json(text, [cut]).0, lines, "cut at {cut}");
    }
    assert_eq!(rewrite(text).escape_ascii().to_string(), text.escape_ascii().to_string(), "written from the documents");
    assert_eq!(write_json(&lines).as_deref(), Ok(&*text.escape_ascii().to_string()), "written from JSON");
}

const ISA: &str =
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~";

#[test]
fn x12_documents() {
    check(
        &format!(
            "{ISA}GS*HC*S*R*20260401*1200*1*X*005010~ST*837*0001*005010X222A1~CLM*A1*100***11:B:1*Y~REF*1^2:3^~BIN*3*~*:~SE*5*0001~GE*1*1~IEA*1*000000001~"
        ),
        expect![[r#"
            {"standard":"X12","delimiters":{"element":"*","component":":","repetition":"^","terminator":"~","decimal_mark":"."},"interchange":{"position":1,"authorization_qualifier":"00","security_qualifier":"00","sender_qualifier":"ZZ","sender":"SENDER","receiver_qualifier":"ZZ","receiver":"RECEIVER","date":"260401","time":"1200","version":"00501","control_number":"000000001","acknowledgment_requested":"0","test":"T"},"group":{"position":1,"functional_id":"HC","sender":"S","receiver":"R","date":"20260401","time":"1200","control_number":"1","agency":"X","version":"005010"},"transaction":{"position":1,"type":"837","control_number":"0001","implementation":"005010X222A1"},"segments":[{"tag":"CLM","elements":[{"value":"A1"},{"value":"100"},{},{},{"components":["11","B","1"]},{"value":"Y"}]},{"tag":"REF","elements":[{"repetitions":[{"value":"1"},{"components":["2","3"]},{}]}]},{"tag":"BIN","elements":[{"value":"3"},{"binary":"7e2a3a"}]}]}
        "#]],
    );
}

/// Documents of files that differ only in one delimiter: ISA and UNB have the same fields, but no segment is written with the delimiters of the other
/// file.
#[test]
fn other_delimiters_begin_another_interchange() {
    let x12 = format!("{ISA}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*00~SE*3*0001~GE*1*1~IEA*1*000000001~");
    let edifact = "UNA:+.? 'UNB+UNOC:3+S+R+260401:1200+7'UNH+1+ORDERS:D:96A:UN'BGM+1?'1'UNT+3+1'UNZ+1+7'".to_owned();
    for (one, other) in [
        (x12.clone(), x12.replace('~', "'")),
        (edifact.clone(), edifact.replace("UNA:+.?", "UNA:+.!").replace("1?'1", "1!'1")),
        (edifact.clone(), edifact.replace("UNA:+.?", "UNA:+,?")),
    ] {
        let lines = [json(one.as_bytes(), []).0, json(other.as_bytes(), []).0].concat();
        assert_eq!(write_json(&lines), Ok(format!("{one}{other}").as_bytes().escape_ascii().to_string()));
    }
}

#[test]
fn edifact_documents() {
    check(
        "UNA:+,? '\r\nUNB+UNOC:3+S:14+R?+:14+260401:1200+7++ORDERS+++1'\r\nUNH+1+ORDERS:D:96A:UN'\r\nFTX+A++DON?'T?::?+??'\r\nUNT+3+1'\r\nUNZ+1+7'\r\n",
        expect![[r#"
            {"standard":"EDIFACT","delimiters":{"element":"+","component":":","release":"?","terminator":"'","decimal_mark":",","line_break":"CRLF","una":true},"interchange":{"position":1,"syntax_identifier":"UNOC","syntax_version":"3","sender":"S","sender_qualifier":"14","receiver":"R+","receiver_qualifier":"14","date":"260401","time":"1200","control_number":"7","application_reference":"ORDERS","agreement":"1"},"transaction":{"position":1,"control_number":"1","type":"ORDERS","version":"D","release":"96A","agency":"UN"},"segments":[{"tag":"FTX","elements":[{"value":"A"},{},{"components":["DON'T:","+?"]}]}]}
        "#]],
    );
    check(
        "UNB+UNOY:4+S+R+20260401:1200+7'UNG+ORDERS+S+R+20260401:1200+3+UN+D:96A'UNH+1+ORDERS:D:96A:UN'ALI+M\u{fc}nchen*:B'UNT+3+1'UNE+1+3'UNZ+1+7'",
        expect![[r#"
            {"standard":"EDIFACT","delimiters":{"element":"+","component":":","repetition":"*","release":"?","terminator":"'","decimal_mark":"."},"interchange":{"position":1,"syntax_identifier":"UNOY","syntax_version":"4","sender":"S","receiver":"R","date":"20260401","time":"1200","control_number":"7"},"group":{"position":1,"functional_id":"ORDERS","sender":"S","receiver":"R","date":"20260401","time":"1200","control_number":"3","agency":"UN","version":"D","release":"96A"},"transaction":{"position":1,"control_number":"1","type":"ORDERS","version":"D","release":"96A","agency":"UN"},"segments":[{"tag":"ALI","elements":[{"repetitions":[{"value":"München"},{"components":["","B"]}]}]}]}
        "#]],
    );
}

#[test]
fn what_stands_outside_of_transactions_is_a_document() {
    let gs = "GS*PO*S*R*20260401*1200*1*X*005010~";
    check(
        &format!(
            "{ISA}TA1*000000001*260401*1200*A*000~{gs}GE*0*1~IEA*1*000000001~{}IEA*0*000000002~",
            ISA.replace("01*0*T", "02*0*T")
        ),
        expect![[r#"
            {"standard":"X12","delimiters":{"element":"*","component":":","repetition":"^","terminator":"~","decimal_mark":"."},"interchange":{"position":1,"authorization_qualifier":"00","security_qualifier":"00","sender_qualifier":"ZZ","sender":"SENDER","receiver_qualifier":"ZZ","receiver":"RECEIVER","date":"260401","time":"1200","version":"00501","control_number":"000000001","acknowledgment_requested":"0","test":"T"},"segments":[{"tag":"TA1","elements":[{"value":"000000001"},{"value":"260401"},{"value":"1200"},{"value":"A"},{"value":"000"}]}]}
            {"standard":"X12","delimiters":{"element":"*","component":":","repetition":"^","terminator":"~","decimal_mark":"."},"interchange":{"position":1,"authorization_qualifier":"00","security_qualifier":"00","sender_qualifier":"ZZ","sender":"SENDER","receiver_qualifier":"ZZ","receiver":"RECEIVER","date":"260401","time":"1200","version":"00501","control_number":"000000001","acknowledgment_requested":"0","test":"T"},"group":{"position":1,"functional_id":"PO","sender":"S","receiver":"R","date":"20260401","time":"1200","control_number":"1","agency":"X","version":"005010"}}
            {"standard":"X12","delimiters":{"element":"*","component":":","repetition":"^","terminator":"~","decimal_mark":"."},"interchange":{"position":2,"authorization_qualifier":"00","security_qualifier":"00","sender_qualifier":"ZZ","sender":"SENDER","receiver_qualifier":"ZZ","receiver":"RECEIVER","date":"260401","time":"1200","version":"00501","control_number":"000000002","acknowledgment_requested":"0","test":"T"}}
        "#]],
    );
}

#[test]
fn users_documents_need_little() {
    let document = r#"{"standard":"X12","interchange":{"sender_qualifier":"ZZ","sender":"A","receiver_qualifier":"ZZ","receiver":"B","date":"260401","time":"1200","version":"00501"},"group":{"functional_id":"PO","sender":"A","receiver":"B","date":"20260401","time":"1200","agency":"X","version":"005010"},"transaction":{"type":"850"},"segments":[{"tag":"BEG","elements":[{"value":"00"},{"value":"A*B"},{},{"value":5}]}]}"#;
    let wrong_number = write_json(document.as_bytes());
    expect![[r#"Err("JSON-012 1:393 $.segments[0].elements[3].value: expected a string, found a number")"#]]
        .assert_eq(&format!("{wrong_number:?}"));
    let document = document.replace("{\"value\":5}", "{\"components\":[\"A~\",\"\"]}");
    let lines = format!("{document}\n{document}\n");
    expect![[r#"ISA|00|          |00|          |ZZ|A              |ZZ|B              |260401|1200|^|00501|000000001|0|P|:\nGS|PO|A|B|20260401|1200|1|X|005010\nST|850|0001\nBEG|00|A*B||A~:\nSE|3|0001\nST|850|0002\nBEG|00|A*B||A~:\nSE|3|0002\nGE|2|1\nIEA|1|000000001\n"#]].assert_eq(&write_json(lines.as_bytes()).expect("written"));
}

/// A null component moved the ones after it one place forward.
#[test]
fn a_null_component_keeps_the_places_after_it() {
    let of = |elements: &str| {
        let text = format!(
            r#"{{"standard":"X12","interchange":{{"sender_qualifier":"ZZ","sender":"A","receiver_qualifier":"ZZ","receiver":"B","date":"260401","time":"1200","version":"00501"}},"group":{{"functional_id":"HC","sender":"A","receiver":"B","date":"20260401","time":"1200","agency":"X","version":"005010"}},"transaction":{{"type":"837"}},"segments":[{{"tag":"CLM","elements":[{elements}]}}]}}"#
        );
        let written = write_json(text.as_bytes()).expect("written");
        written.split('~').find(|segment| segment.starts_with("CLM")).unwrap_or_default().to_owned()
    };
    assert_eq!(of(r#"{"components":["11",null,"1"]},{"value":"Y"}"#), "CLM*11::1*Y");
    assert_eq!(of(r#"{"components":[null,"B"]},{"value":null},{"value":"Y"}"#), "CLM*:B**Y");
    assert_eq!(of(r#"{"repetitions":[{"value":"1"},{"components":["2",null,"3"]}]}"#), "CLM*1^2::3");
}

#[test]
fn documents_that_cannot_be_written() {
    let errors = |body: &str| write_json(body.as_bytes()).expect_err("refused");
    let interchange = r#""interchange":{"sender_qualifier":"ZZ","sender":"A","receiver_qualifier":"ZZ","receiver":"B","date":"260401","time":"1200","version":"00401"}"#;
    let delimiters = r##""delimiters":{"element":"*","component":":","terminator":"~","decimal_mark":"."}"##;
    let binary = |tag: &str, elements: &str| {
        format!(r#"{{"standard":"X12",{interchange},"segments":[{{"tag":"{tag}","elements":[{elements}]}}]}}"#)
    };
    let mut out = String::new();
    for body in [
        r#"{"standard":"TRADACOMS"}"#.to_owned(),
        r#"{"standard":"X12","interchange":{}}"#.to_owned(),
        format!(r#"{{"standard":"X12",{}}}"#, interchange.replace(r#""sender":"A""#, r#""sender":"A123456789012345""#)),
        format!(r#"{{"standard":"X12",{interchange},{}}}"#, delimiters.replace('~', "A")),
        format!(
            r#"{{"standard":"X12",{interchange},{delimiters},"segments":[{{"tag":"TA1","elements":[{{"value":"A~"}}]}}]}}"#
        ),
        format!(r#"{{"standard":"X12",{interchange},"segments":[{{"tag":"ta1"}}]}}"#),
        format!(
            r#"{{"standard":"X12",{interchange},"segments":[{{"tag":"TA1","elements":[{{"value":"A","components":["B"]}}]}}]}}"#
        ),
        format!(
            r#"{{"standard":"X12",{interchange},"segments":[{{"tag":"TA1","elements":[{{"repetitions":[{{"value":"A"}},{{"value":"B"}}]}}]}}]}}"#
        ),
        format!(r#"{{"standard":"X12",{interchange},"segments":[{{"tag":"TA1","elements":[{{"value":"\u20ac"}}]}}]}}"#),
        format!(r#"{{"standard":"X12",{interchange},"transaction":{{"type":"850"}},"segments":[{{"tag":"SE"}}]}}"#),
        // Regression: both were written, the one without ST01, the other with the usual delimiters.
        format!(r#"{{"standard":"X12",{interchange},"transaction":{{"control_number":"0001"}}}}"#),
        format!(r#"{{"standard":"X12",{interchange},"delimiters":{{"element":"A"}}}}"#),
        // Regression: a reader takes as many bytes as the length says.
        binary("BIN", r#"{"value":"3"},{"binary":"00ff"}"#),
        binary("BIN", r#"{"value":"+2"},{"binary":"00ff"}"#),
        binary("BIN", r#"{"value":"2"},{"value":"ABC"}"#),
        binary("BDS", r#"{"value":"ASC"},{"value":"1"},{"binary":"00ff"}"#),
    ] {
        out.push_str(&errors(&body));
        out.push('\n');
    }
    expect![[r#"
        EDI-050: the document's `standard` is not X12 or EDIFACT
        EDI-052: `interchange.sender_qualifier` is missing (ISA05)
        EDI-053: `interchange.sender` has 16 characters, ISA06 has room for 15
        EDI-051: `delimiters` are not usable: each is one character or two hexadecimal digits, no letter, digit or space, all different
        EDI-054: the data holds the character that is the segment terminator, and the interchange has no release character
        EDI-055: the tag of a segment is not two or three capital letters or digits
        EDI-056: an element has more than one of `value`, `components`, `repetitions` and `binary`
        EDI-057: an element is repeated, but the interchange has no repetition separator
        EDI-058: the text has a character that ISO-8859-1 does not have
        EDI-059: the document has an envelope segment among its `segments`: headers are fields, and trailers are written automatically
        EDI-052: `transaction.type` is missing (ST01)
        EDI-051: `delimiters` are not usable: each is one character or two hexadecimal digits, no letter, digit or space, all different
        EDI-065: the length of the binary data is not 2, the number of its bytes
        EDI-065: the length of the binary data is not 2, the number of its bytes
        EDI-065: the length of the binary data is not 3, the number of its bytes
        EDI-065: the length of the binary data is not 2, the number of its bytes
    "#]].assert_eq(&out);
    let lacks_data = write_json(binary("BIN", r#"{"value":"2"}"#).as_bytes()).expect_err("two bytes are missing");
    assert!(lacks_data.to_string().contains("is not 0"), "{lacks_data}");
    // Readers take a segment without the data like any other.
    for (tag, elements) in [
        ("BIN", r#"{"value":"0"}"#),
        ("BIN", r#"{"value":"2"},{"binary":"00ff"}"#),
        ("BDS", r#"{"value":"ASC"},{"value":"3"},{"binary":"2a7e0a"}"#),
    ] {
        assert!(write_json(binary(tag, elements).as_bytes()).is_ok(), "{tag}");
    }
    let one =
        format!(r#"{{"standard":"X12",{interchange},"delimiters":{{"element":"|"}},"segments":[{{"tag":"TA1"}}]}}"#);
    assert!(write_json(one.as_bytes()).expect("written").starts_with("ISA|00|"), "the rest is chosen");
}

#[test]
fn a_discarded_document_leaves_nothing() {
    let text = format!(
        "{ISA}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~SE*2*0001~ST*850*0002~SE*2*0002~GE*2*1~IEA*1*000000001~"
    );
    let mut reader = DocumentReader::new(&GenericOptions::default());
    let mut writer = EdiWriter::new(EdiWriterOptions::default());
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    for _ in 0..2 {
        assert!(matches!(pass.read(&mut writer), DocumentStep::Document { .. }));
        writer.discard();
        assert_eq!(writer.bytes(), b"");
    }
    writer.finish();
    assert_eq!(writer.bytes(), b"");
}

#[test]
fn bytes_beyond_the_character_set_are_told_and_come_back() {
    let text = b"UNB+UNOA:3+S+R+260401:1200+7'UNH+1+ORDERS:D:96A:UN'FTX+M\xfcnchen'FTX+K\xf6ln'UNT+4+1'UNZ+1+7'";
    let mut both =
        Tee(JsonWriter::new(&generic_shape(), JsonStyle::default()), EdiWriter::new(EdiWriterOptions::default()));
    assert_eq!(documents(text, [], &mut both), ["EDI-041"]);
    let json = String::from_utf8(both.0.bytes().to_vec()).expect("UTF-8");
    assert!(json.contains("München") && json.contains("Köln"));
    both.1.finish();
    assert_eq!(both.1.bytes(), text);
}

/// Regression: one byte outside of the set changed all other letters of its text to those of ISO-8859-1.
#[test]
fn a_byte_outside_of_the_set_leaves_the_other_letters() {
    let interchange = |set: &str, text: &[u8]| {
        let header = format!("UNB+{set}:4+S+R+20260401:1200+1'UNH+1+ORDERS:D:96A:UN'FTX+");
        [header.as_bytes(), text, b"'UNT+3+1'UNZ+1+1'"].concat()
    };
    let mut outside = 0;
    for (set, part) in ["UNOD", "UNOE", "UNOF", "UNOG", "UNOH", "UNOI", "UNOJ"].into_iter().zip([2, 5, 7, 3, 4, 6, 8]) {
        let page = Charset::by_name(&format!("iso-8859-{part}")).expect("a page");
        let shown = |byte: u8| {
            let mut text = Vec::new();
            match page.decode_into(&[byte], &mut text) {
                Ok(()) => (String::from_utf8(text).expect("UTF-8"), true),
                Err(_) => (char::from(byte).to_string(), false),
            }
        };
        for first in 0xa0..=0xff_u8 {
            for second in 0xa0..=0xff_u8 {
                let ((one, is_in), (two, also)) = (shown(first), shown(second));
                let text = interchange(set, &[first, b'a', second]);
                let (found, codes) = json(&text, []);
                let found = String::from_utf8(found).expect("UTF-8");
                assert!(found.contains(&format!("\"{one}a{two}\"")), "{set} {first:x} {second:x}: {found}");
                assert_eq!(codes.is_empty(), is_in && also, "{set} {first:x} {second:x}: {codes:?}");
                // Hebrew has the signs of multiplication and division at other bytes.
                let moves = |byte: u8| part == 8 && matches!(byte, 0xd7 | 0xf7);
                if !moves(first) && !moves(second) {
                    assert_eq!(rewrite(&text), text, "{set} {first:x} {second:x}");
                }
                outside += usize::from(is_in != also);
            }
        }
    }
    assert!(outside > 1_000, "{outside}");
}

/// Greek has every byte that ISO-8859-1 has for these letters, as other letters: they came back as those.
#[test]
fn letters_that_would_come_back_as_others_are_refused() {
    let write = |letters: &str| {
        write_json(
            format!(
                r#"{{"standard":"EDIFACT","interchange":{{"syntax_identifier":"UNOF","syntax_version":"3","sender":"S","receiver":"R","date":"260401","time":"1200"}},"transaction":{{"type":"ORDERS","version":"D","release":"96A","agency":"UN"}},"segments":[{{"tag":"FTX","elements":[{{"value":"{letters}"}}]}}]}}"#
            )
            .as_bytes(),
        )
        .map_err(|error| error.to_string())
    };
    let refused = write("caf\u{e9}").expect_err("refused");
    assert_eq!(refused, "EDI-058: the text has a character that ISO-8859-7 does not have");
    // Greek, and a byte that Greek does not have.
    assert!(write("\u{3b9}").is_ok() && write("\u{ae}").is_ok());
}

#[test]
fn rows() {
    let text = format!(
        "{ISA}GS*HC*S*R*20260401*1200*1*X*005010~ST*837*0001~CLM*A1*100***11:B:1~SE*3*0001~GE*1*1~IEA*1*000000001~"
    );
    let mut writer = JsonWriter::new(&row_shape(), JsonStyle::default());
    let mut reader = RowReader::new(&GenericOptions { limits: Limits::default(), ..GenericOptions::default() });
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    while pass.read(&mut writer) == RowStep::Row {}
    expect![[r#"
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","group":"1","type":"837","transaction":"0001","segment":1,"tag":"ST","e01":"837","e02":"0001"}
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","group":"1","type":"837","transaction":"0001","segment":2,"tag":"CLM","e01":"A1","e02":"100","e05":"11:B:1"}
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","group":"1","type":"837","transaction":"0001","segment":3,"tag":"SE","e01":"3","e02":"0001"}
    "#]].assert_eq(core::str::from_utf8(writer.bytes()).expect("JSON"));
}

/// Regression: segments outside transactions were in no row and in no finding.
#[test]
fn segments_outside_transactions_are_rows() {
    let ta1 = "TA1*000000009*260401*1200*A*000~";
    let text = format!(
        "{ISA}{ta1}GS*HC*S*R*20260401*1200*1*X*005010~ZZ1*A~ST*837*0001~CLM*A1~SE*3*0001~GE*1*1~IEA*1*000000001~{ISA}{ta1}IEA*0*000000001~"
    );
    let mut writer = JsonWriter::new(&row_shape(), JsonStyle::default());
    let mut reader = RowReader::new(&GenericOptions::default());
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    while pass.read(&mut writer) == RowStep::Row {}
    expect![[r#"
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","tag":"TA1","e01":"000000009","e02":"260401","e03":"1200","e04":"A","e05":"000"}
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","group":"1","tag":"ZZ1","e01":"A"}
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","group":"1","type":"837","transaction":"0001","segment":1,"tag":"ST","e01":"837","e02":"0001"}
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","group":"1","type":"837","transaction":"0001","segment":2,"tag":"CLM","e01":"A1"}
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","group":"1","type":"837","transaction":"0001","segment":3,"tag":"SE","e01":"3","e02":"0001"}
        {"standard":"X12","sender":"SENDER","receiver":"RECEIVER","interchange":"000000001","tag":"TA1","e01":"000000009","e02":"260401","e03":"1200","e04":"A","e05":"000"}
    "#]].assert_eq(core::str::from_utf8(writer.bytes()).expect("JSON"));
}

const ORDERS: &str = "UNB+UNOC:3+S:14+R:14+260401:1200+7'UNH+1+ORDERS:D:96A:UN'BGM+220'LIN+1'LIN+2'UNT+5+1'UNH+2+ORDERS:D:96A:UN'BGM+220'UNT+3+2'UNZ+2+7'";

/// Reads the documents of a file cut at `cut`, with a reader that resumes there from saved bytes; an open document ends as a page.
fn in_two_parts(text: &[u8], cut: usize, sink: &mut impl Sink) -> Option<Vec<String>> {
    let options = GenericOptions::default();
    let mut reader = DocumentReader::new(&options);
    let mut faults = Vec::new();
    let mut pass = reader.over(&text[..cut], EndOfInput::No);
    let read = |pass: &mut quayline_edi::DocumentPass<'_>, sink: &mut _, faults: &mut Vec<String>| {
        while matches!(pass.read(sink), DocumentStep::Document { .. }) {}
        faults.extend(pass.take_faults().map(|fault| fault.error.code().0.to_owned()));
    };
    read(&mut pass, sink, &mut faults);
    pass.break_page(sink);
    let from = pass.finish();
    let mut next = match reader.state() {
        // Between documents.
        Some(state) => DocumentReader::resume(&options, reader.offset(), &state).expect("its own state"),
        None => reader.snapshot(),
    };
    let mut pass = next.over(&text[from..], EndOfInput::Yes);
    read(&mut pass, sink, &mut faults);
    Some(faults)
}

#[test]
fn a_reader_goes_on_from_any_place() {
    let x12 = format!(
        "{ISA}TA1*000000001*260401*1200*A*000~GS*HC*S*R*20260401*1200*1*X*005010~ST*837*0001~CLM*A~CLM*B~SE*4*0001~ST*837*0001~SE*2*0001~GE*2*1~IEA*1*000000001~\nnoise\n{ORDERS}"
    );
    let package = ORDERS.replace("LIN+2'", "UNO+1+A+T+4'a'b'UNP+4+1'");
    for text in [x12.as_bytes(), ORDERS.as_bytes(), package.as_bytes()] {
        let (whole, faults) = json(text, []);
        for cut in 0..text.len() {
            let mut both = Tee(
                JsonWriter::new(&generic_shape(), JsonStyle::default()),
                EdiWriter::new(EdiWriterOptions::default()),
            );
            let found = in_two_parts(text, cut, &mut both);
            assert_eq!(found.as_ref(), Some(&faults), "cut at {cut}");
            both.1.finish();
            assert_eq!(both.1.take_errors(), []);
            assert_eq!(
                both.1.bytes().escape_ascii().to_string(),
                rewrite(text).escape_ascii().to_string(),
                "cut at {cut}"
            );
            // Without pages the documents are the same.
            let lines = core::str::from_utf8(both.0.bytes()).expect("JSON is UTF-8");
            if !lines.contains("\"page\":2") {
                assert_eq!(lines.as_bytes(), whole, "cut at {cut}");
            }
        }
    }
}

/// Checkpoints in a package between messages, whose length may be wrong.
#[test]
fn a_reader_goes_on_from_a_package() {
    for (length, wrong) in [("3", 0), ("1", 1), ("30", 1), ("900", 1)] {
        let text = ORDERS.replace("UNH+2", &format!("UNO+2+A+T+{length}'c'dUNP+3+2'UNH+2"));
        let (_, faults) = json(text.as_bytes(), []);
        for cut in 0..text.len() {
            let mut writer = JsonWriter::new(&generic_shape(), JsonStyle::default());
            let found = in_two_parts(text.as_bytes(), cut, &mut writer);
            assert_eq!(found.as_ref(), Some(&faults), "length {length}, cut at {cut}");
        }
        assert_eq!(faults.iter().filter(|fault| *fault == "EDI-018").count(), wrong, "{faults:?}");
    }
}

#[test]
fn pages_of_a_transaction_become_one() {
    let mut writer = JsonWriter::new(&generic_shape(), JsonStyle::default());
    let cut = ORDERS.find("LIN+2").expect("there");
    in_two_parts(ORDERS.as_bytes(), cut, &mut writer);
    let lines = String::from_utf8(writer.bytes().to_vec()).expect("JSON is UTF-8");
    let transactions = lines.lines().map(|line| &line[line.find("\"transaction\"").expect("one")..]);
    expect![[r#"
        "transaction":{"position":1,"control_number":"1","type":"ORDERS","version":"D","release":"96A","agency":"UN"},"segments":[{"tag":"BGM","elements":[{"value":"220"}]},{"tag":"LIN","elements":[{"value":"1"}]}]}
        "transaction":{"position":1,"page":2,"control_number":"1","type":"ORDERS","version":"D","release":"96A","agency":"UN"},"segments":[{"tag":"LIN","elements":[{"value":"2"}]}]}
        "transaction":{"position":2,"control_number":"2","type":"ORDERS","version":"D","release":"96A","agency":"UN"},"segments":[{"tag":"BGM","elements":[{"value":"220"}]}]}
    "#]]
    .assert_eq(&transactions.map(|line| format!("{line}\n")).collect::<String>());
    assert_eq!(write_json(lines.as_bytes()), Ok(ORDERS.as_bytes().escape_ascii().to_string()));
    let pages: Vec<&str> = lines.lines().collect();
    for wrong in [vec![pages[1]], vec![pages[2], pages[1]], vec![pages[0], pages[1], pages[1]]] {
        let error = write_json(wrong.join("\n").as_bytes()).expect_err("refused");
        assert_eq!(error, "EDI-060: page 2 of a transaction does not follow the previous page");
    }
}

#[test]
fn a_writer_goes_on_from_its_state() {
    let text = format!(
        "{ISA}GS*HC*S*R*20260401*1200*1*X*005010~ST*837*0001~CLM*A~SE*3*0001~ST*837*0002~SE*2*0002~GE*2*1~IEA*1*000000001~{ORDERS}"
    );
    let (lines, _) = json(text.as_bytes(), []);
    let mut out = Vec::new();
    let mut writer = EdiWriter::new(EdiWriterOptions::default());
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut reader = JsonReader::new(&generic_shape(), ReaderOptions::default());
        reader.read(line, &mut writer).expect("read");
        out.extend_from_slice(writer.bytes());
        writer.clear();
        let state = writer.state();
        writer = EdiWriter::resume(EdiWriterOptions::default(), &state).expect("its own state");
        assert_eq!(writer.state(), state);
    }
    writer.finish();
    out.extend_from_slice(writer.bytes());
    assert_eq!(out.escape_ascii().to_string(), text.as_bytes().escape_ascii().to_string());
}

#[test]
fn errors_in_a_header_are_those_of_its_transaction() {
    let text = format!(
        "{ISA}GS*HC*S*R*20260401*1200*1*X*005010~ST*837*0001~SE*2*0001~ST*837*0001~SE*2*0001~ST*837*0003~SE*9*0003~GE*3*1~IEA*1*000000001~"
    );
    let mut reader = DocumentReader::new(&GenericOptions::default());
    let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
    let mut found = Vec::new();
    while let DocumentStep::Document { errors, .. } = pass.skip() {
        found.push(errors);
    }
    assert_eq!(found, [0, 1, 1]);
}

/// Regression: a document without segments had the position of the last segment, which a later pass over more bytes no longer knew. It now has the
/// position of the header.
#[test]
fn documents_without_segments_have_the_place_of_their_header() {
    let text = format!("{ISA}GS*PO*S*R*20260401*1200*1*X*005010~");
    for cut in 0..=text.len() {
        let (faults, ranges) = documents_and_ranges(text.as_bytes(), [cut], &mut quayline_core::Document::new());
        assert_eq!((faults, ranges), (vec!["EDI-030".to_owned()], vec![(106, 141)]), "cut at {cut}");
    }
}

/// Regression: only the first of a document's headers had the finding, and trailers had none, so elements were lost without one. Those of an interchange and
/// of a group are reported once.
#[test]
fn elements_without_a_field_are_reported_for_each_header_and_trailer() {
    let faults = |text: &str| json(text.as_bytes(), []).1;
    let orders = "UNB+UNOC:3+S+R+260401:1200:9+7'UNH+1+ORDERS:D:96A:UN+:9'FTX+A+B'UNT+3+1'UNH+2+ORDERS:D:96A:UN'UNT+2+2'UNZ+2+7'";
    assert_eq!(faults(orders), ["EDI-042", "EDI-042"]);
    let trailers = format!(
        "{ISA}GS*PO*S*R*20260401*1200*1*X*005010*S~ST*850*0001~SE*2*0001*T~ST*850*0002~SE*2*0002~GE*2*1*T~IEA*1*000000001*T~"
    );
    assert_eq!(faults(&trailers), ["EDI-042"; 4]);
}

/// Regression: transactions after a damaged header of an interchange were a warning about bytes that are not EDI.
#[test]
fn transactions_without_an_interchange_are_an_error() {
    let damaged = ISA.replacen("ISA", "ISB", 1);
    let body = "GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~SE*2*0001~GE*1*1~IEA*1*000000001~";
    let severities = |text: &[u8], cut: usize| {
        let mut reader = DocumentReader::new(&GenericOptions::default());
        let mut severities = Vec::new();
        let mut from = 0;
        for end in [cut, text.len()] {
            let is_end = if end == text.len() { EndOfInput::Yes } else { EndOfInput::No };
            let mut pass = reader.over(&text[from..end], is_end);
            while matches!(pass.skip(), DocumentStep::Document { .. }) {}
            severities.extend(pass.take_faults().map(|fault| (fault.error.code().0, fault.severity)));
            from += pass.finish();
        }
        severities
    };
    let error = [("EDI-001", quayline_core::Severity::Error)];
    let text = format!("{ISA}{body}{damaged}{body}");
    let start = ISA.len() + body.len();
    for cut in start..text.len() {
        assert_eq!(severities(text.as_bytes(), cut), error, "cut at {cut}");
    }
    let mail = format!("{ISA}{body}From: St. SE Ltd\nST. SE.\nSubject: UNH, UNT\n");
    assert_eq!(severities(mail.as_bytes(), start), [("EDI-001", quayline_core::Severity::Warning)]);
}

/// Regression: Quayline replaced any reserved character of UNA with a blank.
#[test]
fn the_reserved_character_of_una_comes_back() {
    for una in ["UNA:+.?*'", "UNA:+.? '", "UNA:+,?|'"] {
        for version in ["3+S+R+26", "4+S+R+2026"] {
            let text = format!("{una}UNB+UNOC:{version}0401:1200+7'UNH+1+ORDERS:D:96A:UN'FTX+A+B'UNT+3+1'UNZ+1+7'");
            assert_eq!(core::str::from_utf8(&rewrite(text.as_bytes())), Ok(&*text));
            let (lines, faults) = json(text.as_bytes(), []);
            assert_eq!((write_json(&lines), faults), (Ok(text.as_bytes().escape_ascii().to_string()), Vec::new()));
        }
    }
}

/// Regression: a reader that stopped in the middle of its window forgot the segments found there. Positions outside of transactions were then those
/// of earlier segments.
#[test]
fn positions_are_the_same_wherever_a_reader_is_left() {
    let isa =
        "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~";
    let sets: String = (1..20).map(|number| format!("ST*850*{number:04}~BEG*00~REF*CT~SE*4*{number:04}~")).collect();
    let text = format!("{isa}GS*PO*S*R*20260401*1200*1*X*005010~{sets}GE*99*1~IEA*1*000000001~");
    for stop in 1..20 {
        let mut reader = DocumentReader::new(&GenericOptions::default());
        let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
        (0..stop).for_each(|_| {
            pass.skip();
        });
        assert!(pass.is_between());
        let passed = pass.finish();
        let mut pass = reader.over(&text.as_bytes()[passed..], EndOfInput::Yes);
        while pass.skip() != DocumentStep::Done {}
        let faults: Vec<String> =
            pass.take_faults().map(|fault| format!("{} {}", fault.error.code(), fault.at.segment)).collect();
        assert_eq!(faults, ["EDI-033 79"]);
    }
}

/// Trailers were written in UTF-8, so control numbers beyond ASCII were other bytes than those of the header.
#[test]
fn trailers_are_in_the_character_set_of_the_header() {
    for (set, number) in [("UNOC", &b"\xc42"[..]), ("UNOY", "Ä2".as_bytes()), ("UNOD", b"\xb12")] {
        let number = |text: &[u8]| {
            text.iter()
                .flat_map(|byte| if *byte == b'#' { number } else { core::slice::from_ref(byte) })
                .copied()
                .collect::<Vec<u8>>()
        };
        let text = number(
            format!("UNB+{set}:4+S+R+20260401:1200+#'UNG+ORDERS+S+R+20260401:1200+#+UN+D:96A'UNH+#+ORDERS:D:96A:UN'UNT+2+#'UNE+1+#'UNZ+1+#'").as_bytes(),
        );
        assert_eq!(rewrite(&text).escape_ascii().to_string(), text.escape_ascii().to_string(), "{set}");
    }
}

/// Regression: invalid UTF-8 was read as ISO-8859-1 with a warning, and written as the UTF-8 of those letters.
#[test]
fn invalid_utf_8_rejects_each_document_that_has_it() {
    let faults = |text: &[u8], charset| {
        let mut reader = DocumentReader::new(&GenericOptions { charset, ..GenericOptions::default() });
        let mut pass = reader.over(text, EndOfInput::Yes);
        let mut errors = Vec::new();
        while let DocumentStep::Document { errors: count, .. } = pass.read(&mut quayline_core::Document::new()) {
            errors.push(count);
        }
        let codes = pass.take_faults().map(|fault| fault.error.code().0);
        let codes: Vec<_> = codes.filter(|code| ["EDI-027", "EDI-041"].contains(code)).collect();
        (errors, codes)
    };
    let message = |number: u32, text: &[u8]| {
        let header = format!("UNH+{number}+ORDERS:D:96A:UN'FTX+");
        [header.as_bytes(), text, b"'FTX+", text, format!("'UNT+4+{number}'").as_bytes()].concat()
    };
    let interchange = |sender: &[u8], messages: &[Vec<u8>]| {
        [
            b"UNB+UNOW:4+",
            sender,
            b"+R+20260401:1200+1'",
            &*messages.concat(),
            format!("UNZ+{}+1'", messages.len()).as_bytes(),
        ]
        .concat()
    };
    let (valid, invalid) = ("\u{e9}".as_bytes(), &b"\xc3\xa9\xff"[..]);
    let three = [message(1, invalid), message(2, valid), message(3, invalid)];
    assert_eq!(faults(&interchange(b"S", &three), None), (vec![1, 0, 1], vec!["EDI-027"; 2]));
    let two = [message(1, valid), message(2, b"A")];
    assert_eq!(faults(&interchange(valid, &two), None), (vec![0, 0], vec![]));
    assert_eq!(faults(&interchange(invalid, &two), None), (vec![1, 1], vec!["EDI-027"; 2]), "each has the header");
    let latin = Some(quayline_charset::Charset::SingleByte(quayline_charset::CodePage::LATIN1));
    assert_eq!(faults(&interchange(b"S", &three), latin), (vec![0; 3], vec![]));
    let x12 = [ISA.as_bytes(), b"TA1*", invalid, b"~IEA*0*000000001~"].concat();
    assert_eq!(faults(&x12, None), (vec![0], vec!["EDI-041"]));
    assert_eq!(faults(&x12, Some(quayline_charset::Charset::Utf8)), (vec![1], vec!["EDI-027"]));
}
