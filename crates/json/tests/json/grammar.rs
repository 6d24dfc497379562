//! RFC 8259: valid and invalid texts, one rule on each line, and agreement with `serde_json`.

use proptest::prelude::*;
use quayline_core::{Shape, Sink as _};
use quayline_json::{JsonFault, JsonReader, ReaderOptions, Unknown};

use crate::shapes::sample;
use crate::trace::Trace;

/// Reads `text` with a shape that has no members, so that only the grammar matters.
fn read(text: &[u8]) -> Result<(), JsonFault> {
    let shape = Shape::builder("DOC").finish();
    let options = ReaderOptions { unknown: Unknown::Ignore, ..ReaderOptions::default() };
    let mut trace = Trace::new(&shape);
    let result = JsonReader::new(&shape, options).read(text, &mut trace);
    assert!(trace.is_whole());
    trace.discard();
    result
}

fn serde(text: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(text).is_ok()
}

/// `value` as a member's value, as an element, and in white space.
fn documents(value: &[u8]) -> [Vec<u8>; 3] {
    let around = |head: &str, tail: &str| [head.as_bytes(), value, tail.as_bytes()].concat();
    [around("{\"x\":", "}"), around("{\"x\":[0,", ",1]}"), around(" {\t\"x\" :\r\n", "\n} ")]
}

#[test]
fn accepted_values() {
    let accepted: &[&str] = &[
        // Literal names and numbers, section 3 and 6.
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "-1",
        "10",
        "1234567890",
        "0.0",
        "-0.0",
        "0.10",
        "1e0",
        "1E0",
        "1e+0",
        "1e-0",
        "1e00",
        "0e0",
        "0.5e-10",
        "123.456e+2",
        "12345678901234567890123456789012345678901234567890",
        "1e-9999",
        // Arrays and objects, section 4 and 5.
        "[]",
        "[ ]",
        "[\n]",
        "[0]",
        "[[]]",
        "[[],{}]",
        "[null,1,\"\",{},[]]",
        "{}",
        "{ }",
        "{\"\":0}",
        "{\"a\":{\"a\":{\"a\":[]}}}",
        "{\"a\":1,\"b\":2}",
        "[1 , 2]",
        "[1\t,\r2\n]",
        "{\"a\" :1 , \"b\": 2}",
        // Strings, section 7.
        "\"\"",
        "\" \"",
        "\"a\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0000\"",
        "\"\\u00e9\\u00E9\"",
        "\"\\uFFFF\"",
        "\"\\uD834\\uDd1e\"",
        "\"\\uDBFF\\uDFFF\"",
        "\"\u{7f}\"",
        "\"\u{80}\"",
        "\"é\"",
        "\"€\"",
        "\"😀\"",
        "\"\u{10ffff}\"",
        "\"\u{2028}\u{2029}\"",
        "\"\u{feff}\"",
        "\"'\"",
        "\"/\"",
        "\"\\\\u0041\"",
        "\"[{,:}]\"",
        "\"0123456789abcde\"",
        "\"0123456789abcdef\"",
        "\"0123456789abcdefg\"",
        "\"0123456789abcd\\n\"",
        "\"0123456789abcde\\n\"",
        "\"0123456789abcdeé\"",
        "{\"\\u0061\":1}",
        "{\"é\":1}",
    ];
    for value in accepted {
        for text in documents(value.as_bytes()) {
            assert_eq!(read(&text), Ok(()), "{value}");
            assert!(serde(&text), "serde_json: {value}");
        }
    }
}

#[test]
fn refused_values() {
    let refused: &[&[u8]] = &[
        // Literal names.
        b"",
        b"nul",
        b"nulL",
        b"Null",
        b"NULL",
        b"nullx",
        b"tru",
        b"truee",
        b"TRUE",
        b"fals",
        b"None",
        b"undefined",
        b"nan",
        b"NaN",
        b"inf",
        b"Infinity",
        b"-Infinity",
        b"a",
        b"\x00",
        b"\x0c",
        b"\xc2\xa0",
        b"\xff",
        // Numbers.
        b"+1",
        b"-",
        b"--1",
        b"-a",
        b"01",
        b"-01",
        b"00",
        b"0x1",
        b"1x",
        b"1.",
        b".1",
        b"-.1",
        b"1.e1",
        b"1..2",
        b"1.2.3",
        b"1e",
        b"1e+",
        b"1e-",
        b"1ee1",
        b"1e1.5",
        b"1e+-1",
        b"1 2",
        b"1_000",
        b"1,000x",
        b"0 1",
        b"1L",
        b"\xef\xbc\x91",
        // Arrays.
        b"[",
        b"]",
        b"[1",
        b"[1,",
        b"[1,]",
        b"[,1]",
        b"[,]",
        b"[1,,2]",
        b"[1 2]",
        b"[1:2]",
        b"[1}",
        b"[[]",
        b"[]]",
        b"(1)",
        b"[\"a\" \"b\"]",
        // Objects.
        b"{",
        b"}",
        b"{\"a\"",
        b"{\"a\":",
        b"{\"a\":1",
        b"{\"a\":1,",
        b"{\"a\":1,}",
        b"{,\"a\":1}",
        b"{\"a\":1,,\"b\":2}",
        b"{\"a\" 1}",
        b"{\"a\",1}",
        b"{\"a\":1 \"b\":2}",
        b"{a:1}",
        b"{'a':1}",
        b"{1:1}",
        b"{null:1}",
        b"{:1}",
        b"{\"a\":}",
        b"{\"a\"::1}",
        b"{\"a\":1]",
        b"{[]:1}",
        b"{\"a\":1}}",
        b"{\"a\\x\":1}",
        b"{\"a\n\":1}",
        b"{\"\xff\":1}",
        b"{\"\\ud800\":1}",
        // Strings.
        b"\"",
        b"\"a",
        b"'a'",
        b"\"a\nb\"",
        b"\"a\tb\"",
        b"\"\x00\"",
        b"\"\x1f\"",
        b"\"0123456789abcdef\x1f\"",
        b"\"\\\"",
        b"\"\\",
        b"\"\\a\"",
        b"\"\\'\"",
        b"\"\\0\"",
        b"\"\\x41\"",
        b"\"\\U0041\"",
        b"\"\\ \"",
        b"\"\\\n\"",
        b"\"\\\xc3\xa9\"",
        b"\"\\u\"",
        b"\"\\u0\"",
        b"\"\\u004\"",
        b"\"\\u004g\"",
        b"\"\\u 041\"",
        b"\"\\u+041\"",
        b"\"a\"b",
        b"\"a\" \"b\"",
        b"\"a\"\"b\"",
        // Surrogates.
        b"\"\\ud800\"",
        b"\"\\udc00\"",
        b"\"\\ud800x\"",
        b"\"\\ud800\\n\"",
        b"\"\\ud800\\u0041\"",
        b"\"\\ud800\\ud800\"",
        b"\"\\udc00\\ud800\"",
        b"\"\\ud800\\u\"",
        // UTF-8.
        b"\"\x80\"",
        b"\"\xbf\"",
        b"\"\xc3\"",
        b"\"\xc3(\"",
        b"\"\xc0\xaf\"",
        b"\"\xe0\x80\xaf\"",
        b"\"\xe2\x82\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xf8\x88\x80\x80\x80\"",
        b"\"\xfe\"",
        b"\"0123456789abcdef\xff\"",
        b"\"\\n\xff\"",
        b"\"\xff\\n\"",
        b"\"\xc3\\u00a9\"",
        // What other dialects have.
        b"1 // one",
        b"/* one */ 1",
        b"1 # one",
        b"\xef\xbb\xbf1",
    ];
    for value in refused {
        for text in documents(value) {
            let shown = value.escape_ascii();
            assert!(read(&text).is_err(), "{shown}");
            assert!(!serde(&text), "serde_json: {shown}");
        }
    }
}

#[test]
fn whole_texts() {
    for text in ["{}", " {}", "{} ", "\t\r\n {} \t\r\n"] {
        assert_eq!(read(text.as_bytes()), Ok(()));
        assert!(serde(text.as_bytes()));
    }
    for text in ["", " ", "{}{}", "{},", "{}x", "{} //", "{}\0", "x{}", "\0{}", "{", "\u{a0}{}", "{\"a\":1}\n{}"] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
        assert!(!serde(text.as_bytes()), "{text}");
    }
    // UTF-16, as some systems write it.
    let utf16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(read(&utf16).is_err());
}

/// Texts on which this reader makes its own decision, with the reasons.
#[test]
fn own_verdicts() {
    // A byte order mark is passed over: RFC 8259 section 8.1 leaves it open, and editors write it.
    assert_eq!(read(b"\xef\xbb\xbf{}"), Ok(()));
    assert!(!serde(b"\xef\xbb\xbf{}"));
    // A float too large for a double is still a number; whether its field holds it is seen where it is not ignored.
    assert_eq!(read(b"{\"x\":1e999}"), Ok(()));
    assert!(!serde(b"{\"x\":1e999}"));
    // Records are objects; other JSON texts are none.
    assert!(read(b"[]").is_err() && serde(b"[]"));
    // Nesting as deep as the limit and one deeper.
    let nested = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert_eq!(read(nested(128).as_bytes()), Ok(()));
    assert!(read(nested(129).as_bytes()).is_err());
    assert!(read("{\"x\":".repeat(100_000).as_bytes()).is_err());
}

/// JSON with some bytes changed.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    const SEEDS: [&str; 4] = [
        r#"{"text":"a","num":-12.50e1,"flag":true,"tags":["x",null],"rows":[{"k":1,"v":[1,2]}]}"#,
        r#" { "group" : { "a" : "é\n\u00e9" , "deep" : { "b" : "" } } , "f" : 0.5 } "#,
        r#"{"zz":{"a":[1,{"b":"\ud83d\ude00"},[]],"c":-1.5e3},"b":"00ff","big":null}"#,
        r#"{"text":"0123456789abcdef0123456789abcdef","tags":["\"\\\/",""]}"#,
    ];
    const BYTES: &[u8] = b"{}[]:,\"\\ \n\t\0\x1f\x7f\xff\xc3\xa9+-.0123456789eEuntrfalsx/";
    let edit = (0usize..120, 0u8..3, proptest::sample::select(BYTES));
    (proptest::sample::select(&SEEDS[..]), proptest::collection::vec(edit, 0..4)).prop_map(|(seed, edits)| {
        let mut text = seed.as_bytes().to_vec();
        for (at, what, byte) in edits {
            let at = at.min(text.len() - 1);
            match what {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => _ = text.remove(at),
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn serde_json_has_the_same_verdict(text in nearly_json()) {
        // Its verdict on a number beyond a double is another, see above.
        let too_large = |error: serde_json::Error| error.to_string().starts_with("number out of range");
        let other = serde_json::from_slice::<serde_json::Value>(&text);
        let is_object = other.as_ref().is_ok_and(serde_json::Value::is_object);
        let other_refuses = other.as_ref().is_err();
        if !other.is_err_and(too_large) {
            prop_assert_eq!(read(&text).is_ok(), is_object, "{}", text.escape_ascii());
        }
        // With a shape there may be more to say, but the grammar is the same.
        let shape = sample();
        let mut trace = Trace::new(&shape);
        let result = JsonReader::new(&shape, ReaderOptions::default()).read(&text, &mut trace);
        prop_assert!(trace.is_whole());
        let last = result.err().and_then(|fault| fault.problems.last().map(|problem| problem.error.code().0));
        let grammar = last.is_some_and(|code| code < "JSON-010");
        prop_assert!(!grammar || other_refuses, "{}", text.escape_ascii());
    }
}
