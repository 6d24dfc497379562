//! Events that the reader sends, and documents that it refuses.

use expect_test::{Expect, expect};
use quayline_core::{ByteOffset, Limits, NodeId, Occurs, Place, RecordNumber, Scalar, Shape};
use quayline_json::{JsonReader, ReaderOptions, Unknown};

use crate::shapes::sample;
use crate::trace::Trace;

fn read(options: ReaderOptions, text: &[u8]) -> String {
    let shape = sample();
    let mut reader = JsonReader::new(&shape, options);
    // Whatever the reader learned from other documents changes nothing.
    for teacher in [&b"{\"rows\":[],\"tags\":[],\"f\":1,\"num\":2}"[..], b"{\"group\":{\"deep\":{}}}", b"{\"x\""] {
        let _: Result<(), _> = reader.read(teacher, &mut Trace::new(&shape));
    }
    let mut trace = Trace::new(&shape);
    let result = reader.read(text, &mut trace);
    assert!(trace.is_whole(), "one well-formed document, whatever the text is");
    let mut fresh = JsonReader::new(&shape, reader_options(&reader));
    let mut again = Trace::new(&shape);
    assert_eq!(fresh.read(text, &mut again), result);
    assert_eq!(again.text, trace.text);
    match result {
        Ok(()) => trace.text,
        Err(fault) => fault.to_string(),
    }
}

fn reader_options(_: &JsonReader) -> ReaderOptions {
    ReaderOptions::default()
}

#[track_caller]
fn check(text: &str, expect: Expect) {
    expect.assert_eq(&read(ReaderOptions::default(), text.as_bytes()));
}

#[test]
fn members_in_any_order_and_missing_ones() {
    check("{}", expect!["{}"]);
    check(
        r#"{"text":"a","num":-12.50,"big":1,"f":1.5,"b":"00fF","flag":true,"group":{"a":"x","deep":{"b":"y"}},"tags":["t",null],"rows":[{"k":1,"v":[1,2]},{}]}"#,
        expect![
            "{text='a' num=-1250e-2 big=1e0 f=1.5 b=x00ff flag=true group={a='x' deep={b='y'}} tags=['t' null] rows=[{k=1e0 v=[1e0 2e0]} {}]}"
        ],
    );
    check(
        "\u{feff} {\t\"tags\" : [ ] ,\r\n \"flag\" : false , \"group\" : { \"deep\" : null } , \"rows\" : null, \"text\" : null }\n",
        expect!["{tags=[] flag=false group={} text=null}"],
    );
}

#[test]
fn strings() {
    check(r#"{"text":""}"#, expect!["{text=''}"]);
    check(r#"{"text":"sixteen bytes or more of plain text"}"#, expect!["{text='sixteen bytes or more of plain text'}"]);
    check("{\"text\":\"Grüße\u{7f}\"}", expect![[r#"{text="Grüße\u{7f}"}"#]]);
    check(r#"{"text":"\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83d\ude00"}"#, expect![[r#"{text="\"\\/\u{8}\u{c}\n\r\té€😀"}"#]]);
    check(r#"{"text":"\u0000"}"#, expect![[r#"{text="\0"}"#]]);
    check(r#"{"te\u0078t":"escaped name"}"#, expect!["{text='escaped name'}"]);
    check(
        r#"{"num":"-12.50","big":" 7","f":"1e3","flag":null}"#,
        expect!["{num=-1250e-2 big=' 7' f=1000.0 flag=null}"],
    );
    check(r#"{"num":"0x4040","b":"0x00","text":"0x4040"}"#, expect!["{num=raw4040 b=raw00 text='0x4040'}"]);
    check(r#"{"num":"0x404","b":""}"#, expect!["{num='0x404' b=x}"]);
}

#[test]
fn numbers() {
    let num = |number: &str, expect: Expect| check(&format!(r#"{{"num":{number}}}"#), expect);
    num("0", expect!["{num=0e0}"]);
    num("-0", expect!["{num=-0e0}"]);
    num("-0.00", expect!["{num=-0e-2}"]);
    num(
        "12345678901234567890123456789012345678901234567890",
        expect!["{num=12345678901234567890123456789012345678901234567890e0}"],
    );
    num("1234567890.123456", expect!["{num=1234567890123456e-6}"]);
    num("1234567890.1234567", expect!["{num=12345678901234567e-7}"]);
    num("1e2", expect!["{num=100e0}"]);
    num("-1.5E+1", expect!["{num=-15e0}"]);
    num("1.500e1", expect!["{num=1500e-2}"]);
    num("1.5e-3", expect!["{num=15e-4}"]);
    num("0.001e5", expect!["{num=100e0}"]);
    num("0e999999999999", expect!["{num=0e0}"]);
    num("1e37", expect!["{num=10000000000000000000000000000000000000e0}"]);
    num("1e-38", expect!["{num=1e-38}"]);
    num("1e38", expect!["JSON-013 1:8 $.num: the number needs more than 38 digits without its exponent"]);
    num("1e-39", expect!["JSON-013 1:8 $.num: the number needs more than 38 digits without its exponent"]);
    num(
        "1e99999999999999999999",
        expect!["JSON-013 1:8 $.num: the number needs more than 38 digits without its exponent"],
    );
    check(r#"{"f":-0.0}"#, expect!["{f=-0.0}"]);
    check(r#"{"f":5e-324}"#, expect!["{f=5e-324}"]);
    check(
        r#"{"f":1e309}"#,
        expect!["JSON-014 1:6 $.f: the number is beyond the range of the field's floating-point format"],
    );
}

#[test]
fn numbers_of_every_length_wherever_the_text_ends() {
    let shape = sample();
    let mut reader = JsonReader::new(&shape, ReaderOptions::default());
    let all = "7012345678901234567890123456789012345";
    for len in 1..all.len() {
        for point in 0..len {
            for behind in 0..18 {
                let digits = &all[..len];
                let (whole, fraction) = digits.split_at(len - point);
                let point_text = if point > 0 { "." } else { "" };
                let text = format!("{{\"num\":-{whole}{point_text}{fraction}}}{}", " ".repeat(behind));
                let mut trace = Trace::new(&shape);
                reader.read(text.as_bytes(), &mut trace).expect("a number");
                assert_eq!(trace.text, format!("{{num=-{digits}e{}}}", -i32::try_from(point).expect("a small number")));
            }
        }
    }
}

#[test]
fn all_problems_at_once() {
    check(
        "{\"text\":1,\n \"num\":{\"x\":[1,{}]}, \"big\":[],\"flag\":\"true\",\"b\":\"0\",\n\"grop\":1,\"tags\":\"ü\",\"group\":{\"a\":true,\"A\":\"\"},\"rows\":[{\"k\":1,\"k\":2},null,{\"v\":[1,{}]}],\"zzz\":0}",
        expect![[r#"
            JSON-012 1:9 $.text: expected a string, found a number
            JSON-012 2:8 $.num: expected a number, found an object
            JSON-012 2:28 $.big: expected a number, found an array
            JSON-012 2:38 $.flag: expected true or false, found a string
            JSON-015 2:49 $.b: expected a string of hexadecimal digits, two for each byte
            JSON-011 3:1 $.grop: the layout has no such member
            JSON-012 3:17 $.tags: expected an array, found a string
            JSON-012 3:34 $.group.a: expected a string, found a truth value
            JSON-011 3:39 $.group.A: the layout has no such member
            JSON-010 3:62 $.rows[0].k: the member occurs twice in its object
            JSON-012 3:69 $.rows[1]: expected an object, found null
            JSON-012 3:82 $.rows[2].v[1]: expected a number, found an object
            JSON-011 3:88 $.zzz: the layout has no such member"#]],
    );
}

#[test]
fn a_fault_of_grammar_ends_the_document() {
    check("", expect!["JSON-002 1:1 $: the document ends where an object is expected"]);
    check("[{}]", expect!["JSON-012 1:1 $: expected an object, found an array"]);
    check("{} {}", expect!["JSON-009 1:4 $: expected the end of the document, found `{`"]);
    check(r#"{"text":"a""#, expect!["JSON-002 1:12 $: the document ends where `,` or `}` is expected"]);
    check(r#"{"text":"a"#, expect!["JSON-002 1:11 $.text: the document ends where the end of a string is expected"]);
    check(r#"{"text" "a"}"#, expect!["JSON-001 1:9 $: expected `:`, found `\"`"]);
    check(r#"{"text":"a",}"#, expect!["JSON-001 1:13 $: expected a member name in quotes, found `}`"]);
    check(r#"{"tags":["a",]}"#, expect!["JSON-001 1:14 $.tags[1]: expected a string, found `]`"]);
    check(r#"{"rows":[{"k":1}{"k":2}]}"#, expect!["JSON-001 1:17 $.rows[0]: expected `,` or `]`, found `{`"]);
    check(r#"{"rows":[{"k":01}]}"#, expect!["JSON-007 1:15 $.rows[0].k: a number starts with a superfluous zero"]);
    check(r#"{"num":1.}"#, expect!["JSON-001 1:10 $.num: expected a digit, found `}`"]);
    check(r#"{"num":-}"#, expect!["JSON-001 1:9 $.num: expected a digit, found `}`"]);
    check(r#"{"num":1e+}"#, expect!["JSON-001 1:11 $.num: expected a digit, found `}`"]);
    check(r#"{"num":+1}"#, expect!["JSON-001 1:8 $.num: expected a number, found `+`"]);
    check(r#"{"num":nul}"#, expect!["JSON-001 1:11 $.num: expected true, false or null, found `}`"]);
    check("{\"text\":\"a\nb\"}", expect!["JSON-003 1:11 $.text: a string contains the control character 0x0a"]);
    check(
        r#"{"text":"\x"}"#,
        expect![[
            r#"JSON-004 1:10 $.text: a backslash is not followed by one of " \ / b f n r t or u and four hexadecimal digits"#
        ]],
    );
    check(r#"{"text":"ab\ud800"}"#, expect!["JSON-005 1:12 $.text: an escape is half of a surrogate pair"]);
    check(r#"{"text":"\udc00\ud800"}"#, expect!["JSON-005 1:10 $.text: an escape is half of a surrogate pair"]);
    check(r#"{"text":"\ud800\u0041"}"#, expect!["JSON-005 1:10 $.text: an escape is half of a surrogate pair"]);
    check(
        r#"{"zz":{"\ud800":1}}"#,
        expect![[r#"
        JSON-011 1:2 $.zz: the layout has no such member
        JSON-005 1:9 $: an escape is half of a surrogate pair"#]],
    );
    expect!["JSON-006 1:12 $.text: the text is not UTF-8"]
        .assert_eq(&read(ReaderOptions::default(), b"{\"text\":\"a\xc3\xa9\xff\"}"));
}

#[test]
fn depth_is_limited_wherever_it_is() {
    let options = || ReaderOptions { limits: Limits { depth_max: 3, ..Limits::default() }, unknown: Unknown::Ignore };
    let shape = sample();
    let mut reader = JsonReader::new(&shape, options());
    let mut read = |text: &str| match reader.read(text.as_bytes(), &mut Trace::new(&shape)) {
        Ok(()) => "read".to_owned(),
        Err(fault) => fault.to_string(),
    };
    expect!["read"].assert_eq(&read(r#"{"group":{"deep":{}},"x":[[]],"rows":[{}]}"#));
    expect!["JSON-008 1:18 $.rows[0].v[0]: objects and arrays are nested more than 3 deep"]
        .assert_eq(&read(r#"{"rows":[{ "v" : []}]}"#));
    expect!["JSON-008 1:8 $: objects and arrays are nested more than 3 deep"].assert_eq(&read(r#"{"x":[[["#));
    expect![
        "JSON-012 1:1 $: expected an object, found an array
JSON-008 1:4 $: objects and arrays are nested more than 3 deep"
    ]
    .assert_eq(&read("[[[[").replace("\\n", "\n"));
}

#[test]
fn unknown_members_are_ignored_by_option() {
    let shape = sample();
    let mut reader = JsonReader::new(&shape, ReaderOptions { unknown: Unknown::Ignore, ..ReaderOptions::default() });
    let mut trace = Trace::new(&shape);
    let text = br#"{"x":{"a":[1,{"b":"\n"},[]],"c":-1.5e3,"d":{}},"text":"a","y":null,"z":[true,false]}"#;
    assert_eq!(reader.read(text, &mut trace), Ok(()));
    expect!["{text='a'}"].assert_eq(&trace.text);
}

#[test]
fn findings_say_where_and_what_to_do() {
    let shape = sample();
    let mut reader = JsonReader::new(&shape, ReaderOptions::default());
    let text = b"{\"group\":{\"deap\":1},\n\"NUM\":1}";
    let fault = reader.read(text, &mut Trace::new(&shape)).expect_err("two unknown members");
    let place = Place {
        file: Some("in.json".into()),
        line: Some(7),
        byte: Some(ByteOffset(1000)),
        record: Some(RecordNumber(7)),
        ..Place::default()
    };
    expect![[r#"
        error[JSON-011]: the layout has no such member
          at in.json:7:11, record 7, byte 1010, $.group.deap

        hint: did you mean `deep`?

        error[JSON-011]: the layout has no such member
          at in.json:8:1, record 7, byte 1021, $.NUM

        hint: did you mean `num`?"#]]
    .assert_eq(&fault.findings(&place).to_string());
}

#[test]
fn findings_are_bounded() {
    let shape = sample();
    let limits = Limits { findings_max: 2, ..Limits::default() };
    let mut reader = JsonReader::new(&shape, ReaderOptions { limits, ..ReaderOptions::default() });
    let text = b"{\"a\":1,\"b2\":1,\"c\":1,\"d\":1}";
    let fault = reader.read(text, &mut Trace::new(&shape)).expect_err("four unknown members");
    assert_eq!((fault.problems.len(), fault.more), (2, 2));
    expect!["the layout has no such member (and 2 more problems in this document)"]
        .assert_eq(&fault.findings(&Place::default()).0[1].message);
    assert_eq!(reader.read(b"{}", &mut Trace::new(&shape)), Ok(()), "nothing is left behind");
}

#[test]
fn names_of_every_length_are_told_apart() {
    for len in 1..70 {
        let mut shape = Shape::builder("R");
        let name = |last: char| format!("{}{last}", "n".repeat(len - 1));
        for last in ['a', 'b', 'c'] {
            shape.scalar(name(last), Scalar::Text { chars_max: None }, Occurs::Once);
        }
        let shape = shape.finish();
        let mut reader = JsonReader::new(&shape, ReaderOptions::default());
        let text = format!(r#"{{"{}":"1","{}":"2","{}":"3"}}"#, name('b'), name('c'), name('a'));
        for _ in 0..2 {
            let mut trace = Trace::new(&shape);
            reader.read(text.as_bytes(), &mut trace).expect("the names are known");
            assert_eq!(trace.text, format!("{{{}='1' {}='2' {}='3'}}", name('b'), name('c'), name('a')));
        }
        for at in 0..len {
            let mut wrong: Vec<u8> = name('a').into();
            wrong[at] = b'X';
            let text = format!(r#"{{"{}":"1"}}"#, String::from_utf8(wrong).unwrap());
            reader.read(text.as_bytes(), &mut Trace::new(&shape)).expect_err("another name");
        }
    }
}

#[test]
fn the_root_is_entered_before_any_fault() {
    let shape = sample();
    let mut reader = JsonReader::new(&shape, ReaderOptions::default());
    for text in ["", "1", "]", "{", "{\"text\"", "\u{feff}"] {
        let mut trace = Trace::new(&shape);
        reader.read(text.as_bytes(), &mut trace).expect_err("no document");
        assert!(trace.is_whole(), "{text}");
        assert_eq!(shape.node(NodeId::ROOT).name, "DOC");
    }
}
