//! Records to answers: rules, types, options, `fields`, XML, bad records.

use quayline_gateway::{Media, OperationLane};

use crate::world::{GET, SERVICE, World, lines};

/// 28 bytes of request, then the response: code, state, day, note, number, count, three items, raw.
fn record(code: i16, rest: &str) -> Vec<u8> {
    [&[b' '; 28][..], &code.to_be_bytes(), rest.as_bytes()].concat()
}

const GOOD: &str = "O20260131AB    00702aa  bb  cc  0042";

fn json(service: &str, api: &str, record: &[u8], target: &str) -> String {
    match World::new(service, api).answer(record, target, Media::Json) {
        Ok((status, body)) => format!("{status} {body}"),
        Err(problem) => lines(&problem),
    }
}

#[test]
fn an_answer_shows_what_the_interface_includes() {
    assert_eq!(
        json(SERVICE, GET, &record(0, GOOD), "/v1/orders"),
        r#"200 {"resp":{"respCode":0,"respState":"O","respDay":20260131,"respNote":"AB","respNumber":7,"lineCount":2,"lineItem":[{"lineText":"aa"},{"lineText":"bb"},{"lineText":"cc"}],"raw":"0042"}}"#
    );
}

#[test]
fn a_redefinition_is_shown_where_it_is_included() {
    let service =
        SERVICE.replace("exclude = [\"REQ\"]", "exclude = [\"REQ\", \"LINE-ITEM\"]\ninclude = [\"RAW-NUMBER\"]");
    assert!(json(&service, GET, &record(0, GOOD), "/v1/orders").ends_with(r#""raw":"0042","rawNumber":42}}"#));
}

#[test]
fn types_and_counters_change_what_is_shown() {
    let service = format!(
        "{SERVICE}[[type]]\nfield = \"RESP-STATE\"\nis = \"codes\"\n[[type]]\nfield = \"RESP-DAY\"\nis = \"date\"\npattern = \"yyyyMMdd\"\n[[counter]]\nlist = \"LINE-ITEM\"\nfield = \"LINE-COUNT\"\n"
    );
    let shown = json(&service, GET, &record(0, GOOD), "/v1/orders");
    assert!(shown.contains(r#""respState":"open","respDay":"2026-01-31""#), "{shown}");
    assert!(shown.contains(r#""lineItem":[{"lineText":"aa"},{"lineText":"bb"}]"#), "{shown}");
    let odd = GOOD.replace("O20260131", "Q00000000");
    let shown = json(&service, GET, &record(0, &odd), "/v1/orders");
    assert!(shown.contains(r#""respState":"Q","respDay":null"#), "{shown}");
}

/// An answer in which everything is left out had no object: its length was computed as less than nothing, and the server panicked.
#[test]
fn an_answer_that_shows_nothing_is_an_empty_object_or_element() {
    let empty = "                                      ";
    for (options, wrapper) in
        [("omit-empty = true", ""), ("omit-empty = true\nomit-low-values = true", ""), ("omit-empty = true", "Answer")]
    {
        let mut service = format!("{SERVICE}[options]\n{options}\n");
        service = service.replace(
            "exclude = [\"REQ\"]",
            "exclude = [\"REQ\", \"RESP-CODE\", \"RESP-DAY\", \"RESP-NUMBER\", \"LINE-COUNT\", \"LINE-ITEM\"]",
        );
        if !wrapper.is_empty() {
            service = service.replace("[response]\n", &format!("[response]\nwrapper = \"{wrapper}\"\n"));
        }
        let expected = if wrapper.is_empty() { "{}".to_owned() } else { format!("{{\"{wrapper}\":{{}}}}") };
        for target in ["/v1/orders", "/v1/orders?fields=respNote"] {
            assert_eq!(json(&service, GET, &record(0, empty), target), format!("200 {expected}"), "{service}");
            let (status, xml) = World::new(&service, GET).answer(&record(0, empty), target, Media::Xml).unwrap();
            let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
            assert!(status == 200 && body.starts_with("<answer") && body.trim_end().ends_with('>'), "{xml}");
        }
    }
}

#[test]
fn options_leave_out_what_is_empty_or_low() {
    let service =
        format!("{SERVICE}[options]\nomit-empty = true\nomit-low-values = true\ncontrol-characters = \"space\"\n");
    let low = "O20260131\0\0\0\0\0\0\0\0\x0002            a\x07b ";
    assert_eq!(
        json(&service, GET, &record(0, low), "/v1/orders"),
        r#"200 {"resp":{"respCode":0,"respState":"O","respDay":20260131,"lineCount":2,"lineItem":[{},{},{}],"raw":"a b"}}"#
    );
    // Without the options: text as it is, and a number that is none is the service's fault.
    assert_eq!(
        json(SERVICE, GET, &record(0, low), "/v1/orders"),
        "502 GTW-120 the service's answer does not fit its copybook\nanswer RESP.RESP-NUMBER REC-005: field holds only low-values (0x00)"
    );
    let null = format!("{SERVICE}[options]\nblank-numbers = \"null\"\n");
    let blank = GOOD.replace("007", "   ");
    assert!(json(&null, GET, &record(0, &blank), "/v1/orders").contains("\"respNumber\":null"));
}

#[test]
fn rules_choose_the_response() {
    let api = format!(
        "{GET}{}",
        r#"
[[operation.response]]
status = 404
when = [{ field = "RESP-CODE", equals = 4 }]
body = "problem"
detail = "this order does not exist"
[[operation.response]]
status = 202
when = [{ field = "RESP-CODE", one-of = [8, 12] }, { field = "RESP-STATE", not = "C" }]
include = ["RESP-NOTE"]
exclude = ["RESP"]
[[operation.response]]
status = 204
when = [{ field = "RESP-NUMBER", at-least = 500 }]
body = "none"
[[operation.response]]
status = 200
when = [{ field = "RESP-CODE", at-most = 0 }]
exclude = ["LINE-ITEM", "RAW", "LINE-COUNT", "RESP-DAY"]
"#
    );
    let show = |code, rest: &str| json(SERVICE, &api, &record(code, rest), "/v1/orders");
    assert_eq!(show(4, GOOD), "404 GTW-126 this order does not exist");
    assert_eq!(show(12, GOOD), r#"202 {"resp":{"respNote":"AB"}}"#);
    assert_eq!(show(12, &GOOD.replacen('O', "C", 1)), "502 GTW-125 no response of the API fits the service's answer");
    assert_eq!(show(16, &GOOD.replace("007", "500")), "204 ");
    assert_eq!(show(-1, GOOD), r#"200 {"resp":{"respCode":-1,"respState":"O","respNote":"AB","respNumber":7}}"#);
}

/// A return code of spaces counted as one that is not 4, so that the last response, 200, was sent.
#[test]
fn a_response_is_not_chosen_by_a_field_that_cannot_be_read() {
    let api = format!(
        "{GET}{}",
        r#"
[[operation.response]]
status = 409
when = [{ field = "RESP-CODE", equals = 4 }, { field = "LINE-COUNT", equals = 1 }]
body = "problem"
detail = "the order is closed"
[[operation.response]]
status = 404
when = [{ field = "RESP-NUMBER", equals = 4 }]
body = "problem"
detail = "this order does not exist"
[[operation.response]]
status = 200
exclude = ["RESP-NUMBER", "LINE-COUNT"]
"#
    );
    let show = |service: &str, rest: &str| json(service, &api, &record(0, rest), "/v1/orders");
    let unread = "502 GTW-120 the service's answer does not fit its copybook\nanswer RESP.RESP-NUMBER REC-00";
    for (number, why) in [("   ", "4: field holds only spaces"), ("\0\0\0", "5: field holds only low-values (0x00)")] {
        assert_eq!(show(SERVICE, &GOOD.replace("007", number)), format!("{unread}{why}"));
    }
    assert!(show(SERVICE, &GOOD.replace("007", "x07")).contains("answer RESP.RESP-NUMBER REC-001"));
    // An answer that ends before the field does not have it.
    let cut = show(SERVICE, &GOOD[..16]);
    assert!(cut.contains("answer RESP.RESP-NUMBER REC-0"), "{cut}");
    assert!(show(SERVICE, &GOOD.replace("007", "004")).starts_with("404"));
    // The first response does not fit, whatever the other field of its conditions is; and null is a value if the options say so.
    assert!(show(SERVICE, &GOOD.replace("00702", "007xx")).starts_with("200"));
    let null = format!("{SERVICE}[options]\nblank-numbers = \"null\"\n");
    assert!(show(&null, &GOOD.replace("007", "   ")).starts_with("200"));
    let packed = "
       01 ANSWER.
          05 CNT  PIC 9.
          05 ROWS PIC X OCCURS 1 TO 3 DEPENDING ON CNT.
          05 RC   PIC S9(5) COMP-3.
";
    let service = SERVICE.replace("exclude = [\"RESP\"]", "").replace("exclude = [\"REQ\"]", "exclude = [\"RC\"]");
    let api = format!(
        "{GET}response = [{{ status = 404, when = [{{ field = \"RC\", equals = 4 }}], body = \"none\" }}, {{ status = 200 }}]\n"
    );
    let world = World::over(packed, &service, &api).unwrap();
    for (answer, shown) in [
        (&b"2ab\x00\x00\x4c"[..], "404"),
        (b"2ab\x00\x00\x0c", "200"),
        (b"2ab\xff\xff\xff", "502 GTW-120"),
        (b"xab\x00\x00\x4c", "502 GTW-120"),
        (b"2ab\x00", "502 GTW-120"),
    ] {
        let found = match world.answer(answer, "/v1/orders", Media::Json) {
            Ok((status, body)) => format!("{status} {body}"),
            Err(problem) => lines(&problem),
        };
        assert!(found.starts_with(shown) && found.contains(" RC ") == shown.starts_with("502"), "{found}");
    }
}

#[test]
fn fields_select_members() {
    let show = |fields: &str| json(SERVICE, GET, &record(0, GOOD), &format!("/v1/orders?fields={fields}"));
    assert_eq!(
        show("respNote,lineItem(lineText)"),
        r#"200 {"resp":{"respNote":"AB","lineItem":[{"lineText":"aa"},{"lineText":"bb"},{"lineText":"cc"}]}}"#
    );
    assert_eq!(show("resp.raw"), r#"200 {"resp":{"raw":"0042"}}"#);
    // The request was refused, unless another response of the operation has the member.
    assert_eq!(show("nothing"), "200 {}");
}

#[test]
fn xml_has_the_same_members() {
    let world = World::new(SERVICE, GET);
    let (status, body) = world.answer(&record(0, GOOD), "/v1/orders?fields=respNote,respCode", Media::Xml).unwrap();
    assert_eq!(status, 200);
    assert!(body.contains("<resp><respCode>0</respCode><respNote>AB</respNote></resp></answer>"), "{body}");
}

#[test]
fn a_record_that_is_none_names_fields_and_no_content() {
    let bad = GOOD.replace("20260131", "SECRET!!");
    let shown = json(SERVICE, GET, &record(0, &bad), "/v1/orders");
    assert!(
        shown.starts_with("502 GTW-120") && shown.contains("answer RESP.RESP-DAY REC-001") && !shown.contains("SECRET"),
        "{shown}"
    );
    let short = json(SERVICE, GET, &record(0, "O2026"), "/v1/orders");
    assert!(short.starts_with("502 GTW-120"), "{short}");
}

#[test]
fn blanks_and_control_characters_are_shown_as_the_options_say() {
    let text = GOOD.replace("AB    ", " A\u{1}  ");
    for (options, note) in [
        ("", r#"" A\u0001""#),
        ("trim = \"trailing\"", r#"" A\u0001""#),
        ("trim = \"both\"", r#""A\u0001""#),
        ("trim = \"none\"", r#"" A\u0001   ""#),
        ("control-characters = \"space\"", "\" A\""),
        ("control-characters = \"escape\"", r#"" A\u0001""#),
    ] {
        let text = text.replace("\u{1}  ", "\u{1}   ");
        let shown =
            json(&format!("{SERVICE}[options]\n{options}\n"), GET, &record(0, &text), "/v1/orders?fields=respNote");
        assert_eq!(shown, format!(r#"200 {{"resp":{{"respNote":{note}}}}}"#), "{options}");
    }
}

/// Values that a response shows as null or with spaces were counted nowhere.
#[test]
fn replaced_values_are_counted() {
    let service = format!(
        "{SERVICE}[options]\ncontrol-characters = \"space\"\n\
         [[type]]\nfield = \"RESP-DAY\"\nis = \"date\"\npattern = \"yyyyMMdd\"\n\
         [[type]]\nfield = \"RESP-STATE\"\nis = \"boolean\"\ntrue = \"O\"\nfalse = \"C\"\n"
    );
    let world = World::new(&service, GET);
    let (operation, _) = world.operation("GET", "/v1/orders");
    let mut lane = OperationLane::new(operation);
    let mut replaced = |text: &str| {
        let answer = lane.answer(operation, &mut record(0, text), Media::Json, None, Vec::new()).expect("an answer");
        (answer.replaced, String::from_utf8(answer.buffer[..answer.len].to_vec()).expect("UTF-8"))
    };
    let (count, shown) = replaced(GOOD);
    assert!(count == 0 && shown.contains("\"respState\":true,\"respDay\":\"2026-01-31\""), "{shown}");
    // A date that is not set is null, and that is its value.
    let (count, shown) = replaced(&GOOD.replace("20260131", "00000000"));
    assert!(count == 0 && shown.contains("\"respDay\":null"), "{shown}");
    let (count, shown) = replaced(&GOOD.replace("O20260131", "X20260231").replace("AB ", "A\u{1} "));
    assert!(count == 3 && shown.contains("\"respState\":null,\"respDay\":null"), "{count} {shown}");
    assert_eq!(replaced(GOOD).0, 0);
}

/// What an answer that could not be read had replaced counted for the next one. A list that was too short there made the next one a 502.
#[test]
fn an_answer_that_cannot_be_read_leaves_nothing_to_the_next() {
    let service = format!("{SERVICE}[[type]]\nfield = \"RESP-DAY\"\nis = \"date\"\npattern = \"yyyyMMdd\"\n");
    let api = format!(
        "{GET}{}",
        r#"
[[operation.response]]
status = 202
when = [{ field = "RESP-CODE", equals = 8 }]
include = ["RESP-NOTE"]
exclude = ["RESP"]
[[operation.response]]
status = 200
"#
    );
    let world = World::new(&service, &api);
    let (operation, _) = world.operation("GET", "/v1/orders");
    let mut lane = OperationLane::new(operation);
    let mut replaced = |code, text: &str| {
        let answer = lane.answer(operation, &mut record(code, text), Media::Json, None, Vec::new());
        answer.map(|answer| answer.replaced).map_err(|problem| problem.status)
    };
    assert_eq!(replaced(0, &GOOD.replace("20260131", "20260231").replace("007", "x07")), Err(502));
    assert_eq!(replaced(8, GOOD), Ok(0), "no field of this response has a type");
}

#[test]
fn a_status_has_several_answers() {
    let api = format!(
        "{GET}{}",
        r#"
[[operation.response]]
status = 200
description = "An open order."
when = [{ field = "RESP-STATE", equals = "O" }]
exclude = ["LINE-ITEM", "RAW", "LINE-COUNT", "RESP-DAY", "RESP-NUMBER"]
[[operation.response]]
status = 200
description = "Another one."
when = [{ field = "RESP-STATE", not = "X" }]
include = ["RESP-NOTE"]
exclude = ["RESP"]
"#
    );
    let show = |rest: &str| json(SERVICE, &api, &record(0, rest), "/v1/orders");
    assert_eq!(show(GOOD), r#"200 {"resp":{"respCode":0,"respState":"O","respNote":"AB"}}"#);
    assert_eq!(show(&GOOD.replacen('O', "C", 1)), r#"200 {"resp":{"respNote":"AB"}}"#);
    assert_eq!(show(&GOOD.replacen('O', "X", 1)), "502 GTW-125 no response of the API fits the service's answer");
    let world = World::new(SERVICE, &api);
    let openapi = world.definitions.apis[0].openapi("/", quayline_gateway::Security::default()).to_string();
    assert!(
        openapi.contains(r#""200":{"description":"An open order. Another one.""#) && openapi.contains("anyOf"),
        "{openapi}"
    );
}

#[test]
fn lists_of_answers_have_their_minimum_where_that_is_enforced() {
    let copybook = "
       01 A.
          05 N PIC 9.
          05 T OCCURS 1 TO 3 TIMES DEPENDING ON N.
             10 V PIC X.
          05 Z PIC X.
";
    let service = "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"r\"\n[response]\nkey-style = \"camel\"\n";
    let strict = format!("{service}[options]\nenforce-minimum-items-of-answers = true\n");
    let show = |service: &str, record: &[u8], media| match World::over(copybook, service, GET).unwrap().answer(
        record,
        "/v1/orders",
        media,
    ) {
        Ok((status, body)) => format!("{status} {body}"),
        Err(problem) => lines(&problem),
    };
    assert_eq!(show(service, b"0z", Media::Json), r#"200 {"n":0,"t":[],"z":"z"}"#, "zero is what COBOL programs write");
    assert_eq!(show(&strict, b"1az", Media::Json), r#"200 {"n":1,"t":[{"v":"a"}],"z":"z"}"#);
    for media in [Media::Json, Media::Xml] {
        assert_eq!(
            show(&strict, b"0z", media),
            "502 GTW-120 the service's answer does not fit its copybook\nanswer T minItems: the list has fewer elements than the copybook's minimum, 1"
        );
    }
}

/// Regression: the reason for numbers of low-values, fields that the program leaves alone, was in no message.
#[test]
fn fields_that_the_program_leaves_alone_have_a_remedy_in_the_log() {
    let program = SERVICE
        .replace("kind = \"canned\"\nfile = \"records.dat\"", "kind = \"program\"\nprogram = \"ORDERS\"")
        .replace("[provider]", "dialect = \"gnucobol\"\n[provider]");
    let rest = GOOD.replace("007", "\0\0\0");
    let log = |service: &str| {
        let problem = World::new(service, GET).answer(&record(0, &rest), "/v1/orders", Media::Json).unwrap_err();
        assert_eq!((problem.status, problem.code), (502, "GTW-120"));
        problem.for_log.unwrap()
    };
    let told = log(&program);
    assert!(
        told.contains("RESP.RESP-NUMBER") && told.contains("write `initialize = \"initial\"` under [options]"),
        "{told}"
    );
    // Other providers do not get the initial values, and with other initial values the program itself wrote the bytes.
    for service in [SERVICE.to_owned(), format!("{program}[options]\ninitialize = \"initial\"\n")] {
        let told = log(&service);
        assert!(!told.contains("initialize"), "{told}");
    }
}

/// Regression: clients received the name of a field, where the author of the API expected the field's value.
#[test]
fn a_detail_that_is_the_name_of_a_field_is_a_warning() {
    let found = |detail: &str| {
        let api = format!("{GET}\n[[operation.response]]\nstatus = 404\nbody = \"problem\"\ndetail = \"{detail}\"\n");
        let world = World::new(SERVICE, &api);
        world.definitions.apis[0].warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for detail in ["RESP-NOTE", "respNote"] {
        let told = found(detail);
        assert!(
            told.starts_with("warning[GTW-014]")
                && told.contains("apis/orders.toml")
                && told.contains("write `body = \"answer\"`"),
            "{told}"
        );
    }
    // A field of the request, and a sentence.
    for detail in ["REQ-NAME", "The order has no note.", ""] {
        assert_eq!(found(detail), "", "{detail}");
    }
}

/// A program computed with a quantity of 0x00 where a request had no parameter, and answered 200.
#[test]
fn an_optional_parameter_of_a_program_that_would_be_low_values_is_a_warning() {
    let found = |options: &str, parameter: &str| {
        let records = SERVICE.lines().find(|line| line.starts_with("file =")).unwrap_or_default();
        let service = SERVICE.replace("\"canned\"", "\"program\"\nprogram = \"X\"").replace(records, "");
        let api = format!(
            "base-path = \"/v1\"\n[[operation]]\nmethod = \"GET\"\npath = \"/orders\"\nservice = \"orders\"\n[[operation.parameter]]\nname = \"count\"\nin = \"query\"\nfield = \"REQ-COUNT\"\n{parameter}"
        );
        let world = World::new(&format!("{service}{options}"), &api);
        world.definitions.apis[0].warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let told = found("", "");
    assert!(told.starts_with("warning[GTW-015]: without the parameter `count`, REQ-COUNT holds 0x00"), "{told}");
    for (options, parameter) in
        [("[options]\ninitialize = \"initial\"\n", ""), ("", "default = 1\n"), ("", "required = true\n")]
    {
        assert_eq!(found(options, parameter), "", "{options}{parameter}");
    }
}

/// Elements of lists that were left out moved the following ones forward, and a client that sent the response back moved them in the record.
#[test]
fn an_element_that_is_left_out_keeps_its_place_before_others() {
    let copybook = "       01 R.\n          05 TAGS PIC X(3) OCCURS 4.\n          05 QTY PIC 9(3) OCCURS 4.\n          05 AT-END PIC X.\n";
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"GET\"\npath = \"/a\"\nservice = \"orders\"\n";
    let shown = |options: &str, record: &[u8]| {
        let service = format!(
            "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[options]\n{options}"
        );
        let world = World::over(copybook, &service, api).unwrap_or_else(|findings| panic!("{findings}"));
        world.answer(record, "/v1/a", Media::Json).unwrap().1
    };
    let all = "omit-empty = true\nomit-low-values = true\n";
    let record = b"   TUE   FRI\0\0\x00002\0\0\0\0\0\0x";
    assert_eq!(shown(all, record), r#"{"TAGS":["","TUE","","FRI"],"QTY":[null,2],"AT_END":"x"}"#);
    assert_eq!(shown(all, b"A           001\0\0\0\0\0\0\0\0\0x"), r#"{"TAGS":["A"],"QTY":[1],"AT_END":"x"}"#);
    assert_eq!(shown(all, b"            \0\0\0\0\0\0\0\0\0\0\0\0x"), r#"{"AT_END":"x"}"#);
    assert_eq!(
        shown("omit-low-values = true\n", b"\0\0\0TUE   FRI\0\0\x00002\0\0\0\0\0\0x"),
        r#"{"TAGS":["","TUE","","FRI"],"QTY":[null,2],"AT_END":"x"}"#
    );
}
