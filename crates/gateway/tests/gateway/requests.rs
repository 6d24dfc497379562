//! Requests to records: precedence, absent against empty, parameters, bodies, types, refusals.

use expect_test::{Expect, expect};

use crate::world::{GET, SERVICE, World, lines};

const POST: &str = r#"
base-path = "/v1"
[[operation]]
method = "POST"
path = "/orders/{name}"
service = "orders"
assign = { "REQ-FLAG" = "N" }
[[operation.parameter]]
name = "name"
in = "path"
field = "REQ-NAME"
[[operation.parameter]]
name = "count"
in = "query"
field = "REQ-COUNT"
default = 12
minimum = 1
maximum = 50
[operation.body]
"#;

const BODY: &str = r#"
base-path = "/v1"
[[operation]]
method = "POST"
path = "/orders"
service = "orders"
[operation.body]
"#;

#[track_caller]
fn check(world: &World, method: &str, target: &str, body: &str, expect: Expect) {
    let shown = match world.record(method, target, body) {
        // The request's part; the rest is what no request reaches.
        Ok(record) => record.replace("\\x00", "."),
        Err(problem) => lines(&problem),
    };
    expect.assert_eq(&shown);
}

#[test]
fn absent_is_low_values_and_empty_is_spaces() {
    let world = World::new(SERVICE, BODY);
    check(
        &world,
        "POST",
        "/v1/orders",
        "{}",
        expect![".................................................................."],
    );
    let empty = r#"{"req":{"reqName":"","reqAmount":-12.5,"reqCount":7}}"#;
    check(
        &world,
        "POST",
        "/v1/orders",
        empty,
        expect![[r#"        .\x01%\r0007.................................................."#]],
    );
}

#[test]
fn initialisation_is_the_last_resort_and_defaults_come_before_it() {
    let with = |initialize: &str| {
        let service = SERVICE.replace(
            "exclude = [\"RESP\"]",
            "exclude = [\"RESP\"]\n[request.default]\n\"REQ-NAME\" = \"DEF\"\n\"REQ-COUNT\" = 3",
        );
        World::new(&format!("{service}[options]\ninitialize = \"{initialize}\"\n"), BODY)
    };
    check(
        &with("low-values"),
        "POST",
        "/v1/orders",
        "{}",
        expect!["DEF     ....0003.................................................."],
    );
    check(
        &with("initial"),
        "POST",
        "/v1/orders",
        "{}",
        expect![[r#"DEF     ...\x0c0003            .. 00000000      00000                "#]],
    );
    // The value of the request wins, also where it is empty.
    let body = r#"{"req":{"reqName":"","reqCount":4}}"#;
    check(
        &with("low-values"),
        "POST",
        "/v1/orders",
        body,
        expect!["        ....0004.................................................."],
    );
}

#[test]
fn parameters_set_fields_and_close_them_to_the_body() {
    let world = World::new(SERVICE, POST);
    check(
        &world,
        "POST",
        "/v1/orders/A%20B",
        "",
        expect!["A B     ....0012........N........................................."],
    );
    check(
        &world,
        "POST",
        "/v1/orders/X?count=50",
        "{}",
        expect!["X       ....0050........N........................................."],
    );
    let twice = r#"{"req":{"reqName":"Y","reqFlag":"Y"}}"#;
    check(
        &world,
        "POST",
        "/v1/orders/X",
        twice,
        expect![[r#"
            400 GTW-103 some values break rules
            body $.req.reqName closed: this member is not part of the request
            body $.req.reqFlag closed: this member is not part of the request"#]],
    );
}

#[test]
fn what_breaks_a_rule_is_named_and_never_repeated() {
    let world = World::new(SERVICE, POST);
    check(
        &world,
        "POST",
        "/v1/orders/SECRETNAME?count=51&count=2&other=SECRET",
        "",
        expect![[r#"
            400 GTW-102 some values break rules
            query count once: the parameter occurs twice
            query other unknown: the operation has no such parameter
            query count range: expected a number at least 1 at most 50
            path name REC-021: text has 10 characters, field holds 8"#]],
    );
    for (count, rule) in [
        ("", "type"),
        ("1e1", "type"),
        ("01", "type"),
        ("+1", "type"),
        (" 1", "type"),
        ("1.5", "REC-024"),
        ("0.9", "range"),
    ] {
        let problem = world.record("POST", &format!("/v1/orders/X?count={count}"), "").unwrap_err();
        assert_eq!(problem.errors[0].rule, rule, "{count:?}: {}", lines(&problem));
    }
    check(
        &world,
        "POST",
        "/v1/orders/X?count=%zz",
        r#"{"req":{"reqAmount":"12","reqDate":null,"extra":1}}"#,
        expect![[r#"
            400 GTW-103 some values break rules
            body $.req.reqAmount JSON-012: expected a number, found a string (line 1, column 21)
            body $.req.reqDate JSON-012: expected a string, found null (line 1, column 36)
            body $.req.extra JSON-011: the layout has no such member (line 1, column 41)
            query  encoding: a name or value is not percent-encoded UTF-8"#]],
    );
    check(
        &world,
        "POST",
        "/v1/orders/X",
        "{\"req\":",
        expect![[r#"
            400 GTW-103 a value breaks a rule
            body $.req JSON-002: the document ends where an object is expected (line 1, column 8)"#]],
    );
}

#[test]
fn types_are_read_as_their_texts() {
    let service = SERVICE.replace("[provider]", "required = [\"REQ-NAME\"]\n[provider]")
        + r#"
[[type]]
field = "REQ-DATE"
is = "date"
pattern = "yyyyMMdd"
[[type]]
field = "REQ-FLAG"
is = "boolean"
"#;
    let world = World::new(&service, BODY);
    let body = r#"{"req":{"reqName":"A","reqDate":"2026-02-28","reqFlag":true}}"#;
    check(
        &world,
        "POST",
        "/v1/orders",
        body,
        expect!["A       ........20260228Y........................................."],
    );
    check(
        &world,
        "POST",
        "/v1/orders",
        r#"{"req":{"reqDate":"2026-02-30","reqFlag":"Y"}}"#,
        expect![[r#"
            400 GTW-103 some values break rules
            body $.req.reqDate type: expected a date such as 2026-01-31
            body $.req.reqFlag JSON-012: expected true or false, found a string (line 1, column 42)
            body $.req.reqName required: the member is missing"#]],
    );
}

#[test]
fn ranges_bound_numbers_of_requests_and_not_of_answers() {
    let service = format!(
        "{SERVICE}[[type]]\nfield = \"REQ-AMOUNT\"\nis = \"range\"\nminimum = -1\nmaximum = 10\n\
[[type]]\nfield = \"RESP-CODE\"\nis = \"range\"\nminimum = 7\n"
    );
    let world = World::new(&service, BODY);
    for (amount, fits) in [
        ("-1", true),
        ("-1.01", false),
        ("-0.5", true),
        ("10", true),
        ("10.00", true),
        ("10.01", false),
        ("11", false),
        ("1e1", true),
        ("0.2e2", false),
    ] {
        let body = format!(r#"{{"req":{{"reqAmount":{amount}}}}}"#);
        match world.record("POST", "/v1/orders", &body) {
            Ok(_) => assert!(fits, "{amount}"),
            Err(problem) => {
                assert!(!fits, "{amount}");
                assert_eq!(problem.errors[0].rule, "range");
                assert_eq!(problem.errors[0].detail, "expected a number at least -1 at most 10");
            }
        }
    }
    let problem = world.record("POST", "/v1/orders", r#"{"req":{"reqAmount":"1"}}"#).unwrap_err();
    assert_eq!(problem.errors[0].rule, "JSON-012", "text is not a number, in the range or not");
}

#[test]
fn a_counter_is_set_from_its_list() {
    let service = SERVICE.replace("exclude = [\"RESP\"]", "exclude = [\"RESP-CODE\", \"LINE-COUNT\", \"REQ\"]")
        + "[[counter]]\nlist = \"LINE-ITEM\"\nfield = \"LINE-COUNT\"\n";
    let world = World::new(&service, BODY);
    let body = r#"{"resp":{"lineItem":[{"lineText":"a"},{"lineText":"b"}]}}"#;
    let record = world.record_bytes("POST", "/v1/orders", body).unwrap();
    assert_eq!(&record[48..60], b"02a   b   \x00\x00");
    let four = r#"{"resp":{"lineItem":[{},{},{},{}]}}"#;
    let problem = world.record("POST", "/v1/orders", four).unwrap_err();
    assert_eq!(problem.errors[0].rule, "REC-030");
}

#[test]
fn each_source_of_a_value_goes_before_the_next() {
    let service =
        SERVICE.replace("[response]", "[request.default]\n\"REQ-COUNT\" = 3\n\"REQ-NAME\" = \"DEF\"\n[response]");
    let api = r#"
base-path = "/v1"
[[operation]]
method = "POST"
path = "/orders"
service = "orders"
omit = ["REQ-FLAG"]
[[operation.parameter]]
name = "count"
in = "query"
field = "REQ-COUNT"
default = 12
[[operation.parameter]]
name = "X-Flag"
in = "header"
field = "REQ-DATE"
[operation.body]
"#;
    let world = World::new(&service, api);
    // 1. the parameter, 2. the API's default, 3. the service's, 4. the initialisation; a header's name has no case.
    check(
        &world,
        "POST",
        "/v1/orders?count=5",
        r#"{"req":{"reqName":"X"}}"#,
        expect!["X       ....0005Y       .........................................."],
    );
    check(
        &world,
        "POST",
        "/v1/orders",
        "{}",
        expect!["DEF     ....0012Y       .........................................."],
    );
    check(
        &world,
        "POST",
        "/v1/orders",
        r#"{"req":{"reqFlag":"N"}}"#,
        expect![[r#"
        400 GTW-103 a value breaks a rule
        body $.req.reqFlag closed: this member is not part of the request"#]],
    );
    let without = api.replace("default = 12\n", "");
    check(
        &World::new(&service, &without),
        "POST",
        "/v1/orders",
        "{}",
        expect!["DEF     ....0003Y       .........................................."],
    );
}

/// The counter of an absent table was 0x00, which is not a zoned number, so every request without the table was refused.
#[test]
fn a_table_that_nobody_sends_has_no_elements() {
    let copybook = "
       01 A.
          05 N PIC 9(2).
          05 T OCCURS 1 TO 3 TIMES DEPENDING ON N.
             10 V PIC X(2).
          05 Z PIC X(2).
";
    let service = "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"r\"\n[request]\nkey-style = \"camel\"\n";
    let with = |more: &str| World::over(copybook, &format!("{service}{more}"), BODY).unwrap();
    let world = with("");
    check(&world, "POST", "/v1/orders", r#"{"z":"zz"}"#, expect!["..zz"]);
    check(&world, "POST", "/v1/orders", r#"{"z":"zz","t":[{"v":"a"}]}"#, expect!["01a zz"]);
    check(&world, "POST", "/v1/orders", r#"{"n":2}"#, expect!["02......"]);
    check(
        &world,
        "POST",
        "/v1/orders",
        r#"{"n":2,"t":[{"v":"a"}]}"#,
        expect![[r#"
        400 GTW-103 a value breaks a rule
        body $.t REC-031: list has 1 element, its counter says 2"#]],
    );
    check(
        &world,
        "POST",
        "/v1/orders",
        r#"{"t":[{},{},{},{}]}"#,
        expect![[r#"
        400 GTW-103 a value breaks a rule
        body $.t REC-030: list has more than 3 elements"#]],
    );
    check(
        &with("[options]\nenforce-minimum-items = true\n"),
        "POST",
        "/v1/orders",
        r#"{"t":[]}"#,
        expect![[r#"
        400 GTW-103 a value breaks a rule
        body $.t minItems: the list has 0 elements, expected at least 1"#]],
    );
}

#[test]
fn one_view_of_shared_storage_comes_with_a_request() {
    let service = SERVICE.replace("exclude = [\"RESP\"]", "exclude = [\"REQ\"]\ninclude = [\"RAW-NUMBER\"]");
    let world = World::new(&service, BODY);
    check(
        &world,
        "POST",
        "/v1/orders",
        r#"{"resp":{"raw":"ab"}}"#,
        expect!["..............................................................ab  "],
    );
    check(
        &world,
        "POST",
        "/v1/orders",
        r#"{"resp":{"rawNumber":12}}"#,
        expect!["..............................................................0012"],
    );
    check(
        &world,
        "POST",
        "/v1/orders",
        r#"{"resp":{"raw":"ab","rawNumber":12}}"#,
        expect![[r#"
        400 GTW-103 a value breaks a rule
        body $.resp.rawNumber REC-032: value differs from what another view of the same bytes says"#]],
    );
}

#[test]
fn a_page_has_its_own_spaces_and_zeros() {
    let service = SERVICE.replace("\"ascii\"", "\"cp037\"");
    let world = World::new(&format!("{service}[options]\ninitialize = \"initial\"\n"), BODY);
    let record = world.record_bytes("POST", "/v1/orders", r#"{"req":{"reqName":"A","reqCount":7}}"#).unwrap();
    assert_eq!(
        record[..28].to_vec(),
        [&b"\xc1\x40\x40\x40\x40\x40\x40\x40\0\0\0\x0c\xf0\xf0\xf0\xf7"[..], &[0x40; 12]].concat()
    );
}

#[test]
fn depth_has_an_end_of_its_own() {
    let world = World::new(SERVICE, BODY);
    let deep = |n: usize| format!("{{\"req\":{{\"extra\":{}{}}}}}", "[".repeat(n), "]".repeat(n));
    let rule = |n: usize| world.record("POST", "/v1/orders", &deep(n)).unwrap_err().errors.last().unwrap().rule.clone();
    assert_eq!(rule(100), "JSON-011", "a member that there is none of");
    assert_eq!(rule(200), "JSON-008");
}

#[test]
fn numbers_are_what_they_are_written_as() {
    let world = World::new(SERVICE, BODY);
    let mut shown = String::new();
    for number in [
        "-0",
        "0.0",
        "12e1",
        "1.20e1",
        "1e-1",
        "1e999",
        "1e99999999999999999999",
        "0e99999999999999999999",
        "-1",
        "10000",
        "00012",
        "+1",
        ".5",
        "1.",
        "0x10",
        "NaN",
        "\"12\"",
    ] {
        let found = world.record_bytes("POST", "/v1/orders", &format!(r#"{{"req":{{"reqCount":{number}}}}}"#));
        let found = match found {
            Ok(record) => String::from_utf8(record[12..16].to_vec()).unwrap(),
            Err(problem) => problem.errors[0].rule.clone(),
        };
        shown.push_str(&format!("{number}: {found}\n"));
    }
    expect![[r#"
        -0: 0000
        0.0: 0000
        12e1: 0120
        1.20e1: 0012
        1e-1: REC-024
        1e999: JSON-013
        1e99999999999999999999: JSON-013
        0e99999999999999999999: 0000
        -1: REC-003
        10000: REC-023
        00012: JSON-007
        +1: JSON-001
        .5: JSON-001
        1.: JSON-001
        0x10: JSON-001
        NaN: JSON-001
        "12": JSON-012
    "#]]
    .assert_eq(&shown);
}

/// A float in a query has the grammar of a JSON number, as in a body, because clients write `1e+21`.
#[test]
fn a_float_in_a_query_may_have_an_exponent() {
    let copybook = "       01 AREA.\n          05 F COMP-2.\n          05 N PIC 9(4).\n";
    let service = "copybook = \"order.cpy\"\nencoding = \"ascii\"\ndialect = \"gnucobol\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n";
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"GET\"\npath = \"/f\"\nservice = \"orders\"\n[[operation.parameter]]\nname = \"f\"\nin = \"query\"\nfield = \"F\"\nmaximum = 5000\n[[operation.parameter]]\nname = \"n\"\nin = \"query\"\nfield = \"N\"\n";
    let world = World::over(copybook, service, api).unwrap_or_else(|findings| panic!("{findings}"));
    let float = |text: &str| {
        let bytes = world.record_bytes("GET", &format!("/v1/f?f={text}"), "").map_err(|problem| lines(&problem))?;
        Ok::<_, String>(f64::from_le_bytes(bytes[..8].try_into().unwrap()))
    };
    for (text, expected) in [("1e3", 1e3), ("2.5E-7", 2.5e-7), ("-1e%2B2", -100.0), ("4999.5", 4999.5)] {
        assert_eq!(float(text), Ok(expected), "{text}");
    }
    for (text, why) in [("1e4", "range"), ("1e", "type"), ("e3", "type"), ("1e999", "type"), ("01e2", "type")] {
        assert!(float(text).unwrap_err().contains(why), "{text}: {:?}", float(text));
    }
    assert!(world.record_bytes("GET", "/v1/f?n=1e3", "").is_err(), "not in a decimal");
}

/// Quayline passed a counter without its list to the program unchecked, and the program read beyond its table.
#[test]
fn a_counter_is_no_more_than_its_table() {
    for (clause, counter) in
        [("OCCURS 3", "[[counter]]\nlist = \"LINE-ITEM\"\nfield = \"N\"\n"), ("OCCURS 1 TO 3 DEPENDING ON N", "")]
    {
        let copybook =
            format!("       01 AREA.\n          05 N PIC S9(4) COMP.\n          05 LINE-ITEM {clause} PIC X.\n");
        let service = format!(
            "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[request]\nkey-style = \"camel\"\n{counter}"
        );
        let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/l\"\nservice = \"orders\"\n[operation.body]\n";
        let world = World::over(&copybook, &service, api).unwrap_or_else(|findings| panic!("{findings}"));
        let record = |body: &str| world.record("POST", "/v1/l", body).map_err(|problem| lines(&problem));
        let taken = record(r#"{"n":2,"lineItem":["a","b"]}"#).unwrap();
        assert!(taken.starts_with("\\x00\\x02ab"), "{clause}: {taken}");
        for wrong in ["4", "-1", "627"] {
            let refused = record(&format!("{{\"n\":{wrong}}}")).unwrap_err();
            assert!(refused.contains("body $.n range: expected a number at least 0 at most 3"), "{clause}: {refused}");
        }
        let json = world.definitions.apis[0].openapi("/", quayline_gateway::Security::default()).to_string();
        assert!(json.contains(r#""n":{"type":"integer","minimum":0,"maximum":3"#), "{clause}: {json}");
    }
}

/// Line feeds and 0x00 in text from clients reach files and reports of programs that expect neither.
#[test]
fn control_characters_are_refused_where_the_service_says_so() {
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/orders/{name}\"\nservice = \"orders\"\n[[operation.parameter]]\nname = \"name\"\nin = \"path\"\nfield = \"REQ-NAME\"\n[operation.body]\n";
    let strict = World::new(&format!("{SERVICE}[options]\nrequest-control-characters = \"refuse\"\n"), api);
    let open = World::new(SERVICE, api);
    for (target, body, field) in [
        ("/v1/orders/a%0Ab", "{}", "path name"),
        ("/v1/orders/ab", r#"{"req":{"reqDate":"a\u0000b"}}"#, "body $.req.reqDate"),
        ("/v1/orders/ab", r#"{"req":{"reqDate":"a\u007f"}}"#, "body $.req.reqDate"),
    ] {
        let refused = lines(&strict.record("POST", target, body).unwrap_err());
        assert!(refused.contains(&format!("{field} control-character: ")), "{refused}");
        assert!(open.record("POST", target, body).is_ok(), "{target} {body}");
    }
    assert!(strict.record("POST", "/v1/orders/a%20b", r#"{"req":{"reqDate":"a b"}}"#).is_ok());
    let json = strict.definitions.apis[0].openapi("/", quayline_gateway::Security::default()).to_string();
    assert!(json.contains(r#""pattern":"^[\\u0020-\\u007E]*$""#), "{json}");
}

/// Seventeen fields that begin with `INQCUST-` were renamed one by one, for requests and again for responses.
#[test]
fn beginnings_of_names_are_replaced_by_one_rule() {
    let prefixed = |response: &str| {
        let both = "[request.prefix]\n\"req-\" = \"\"\n[response.prefix]\n";
        World::of(&format!("{SERVICE}{both}{response}"), GET)
    };
    let world = prefixed("\"RESP-\" = \"ANSWER-\"\n").unwrap();
    let record = [&[b' '; 28][..], &[0, 0], b"O00000007AB    00702aa  bb  cc  0042"].concat();
    let (_, body) = world.answer(&record, "/v1/orders", quayline_gateway::Media::Json).unwrap();
    // The group `RESP` is not longer than the beginning.
    assert!(body.contains(r#"{"resp":{"answerCode":0,"answerState":"O","#), "{body}");
    let refused = prefixed("\"NOPE-\" = \"\"\n").err().unwrap();
    assert!(refused.contains("PLN-001") && refused.contains("interface prefix `NOPE-` begins no name"), "{refused}");
}

/// Regression: stages that stopped at the first kind of fault hid those of the others, so a client corrected a request several times.
#[test]
fn faults_of_all_stages_are_reported_together() {
    let service = format!("{SERVICE}[[type]]\nfield = \"REQ-COUNT\"\nis = \"range\"\nminimum = 1\nmaximum = 120\n");
    let world = World::new(&service, BODY);
    check(
        &world,
        "POST",
        "/v1/orders",
        r#"{"req":{"reqAmount":2.005,"reqCount":130,"extra":1}}"#,
        expect![[r#"
            400 GTW-103 some values break rules
            body $.req.reqCount range: expected a number at least 1 at most 120
            body $.req.extra JSON-011: the layout has no such member (line 1, column 42)
            body $.req.reqAmount REC-024: number has more than 2 decimals"#]],
    );
    check(
        &world,
        "POST",
        "/v1/orders?other=1&fields=nothing",
        r#"{"req":{"reqName":null,"reqAmount":123456789.1}}"#,
        expect![[r#"
            400 GTW-103 some values break rules
            body $.req.reqName JSON-012: expected a string, found null (line 1, column 19)
            query other unknown: the operation has no such parameter
            body $.req.reqAmount REC-023: number has 9 digits before the point, field holds 5
            query fields GTW-106: the response has no member `nothing`"#]],
    );
}

/// Regression: after a syntax error, every required member was reported as missing although the text after it was not read.
#[test]
fn members_are_missing_only_where_the_body_was_read() {
    let service = SERVICE.replace("[provider]", "required = [\"REQ-NAME\", \"REQ-COUNT\"]\n[provider]");
    let world = World::new(&service, BODY);
    for (body, expect) in [
        (
            "{bad",
            expect![[r#"
            400 GTW-103 a value breaks a rule
            body $ JSON-001: expected a member name in quotes, found a letter (line 1, column 2)"#]],
        ),
        (
            "[]",
            expect![[r#"
            400 GTW-103 a value breaks a rule
            body $ JSON-012: expected an object, found an array (line 1, column 1)"#]],
        ),
        (
            r#"{"req":[]}"#,
            expect![[r#"
            400 GTW-103 a value breaks a rule
            body $.req JSON-012: expected an object, found an array (line 1, column 8)"#]],
        ),
        (
            r#"{"req":{"reqName":null}}"#,
            expect![[r#"
            400 GTW-103 some values break rules
            body $.req.reqName JSON-012: expected a string, found null (line 1, column 19)
            body $.req.reqCount required: the member is missing"#]],
        ),
        (
            r#"{"req":{"reqNam":"A"}}"#,
            expect![[r#"
            400 GTW-103 some values break rules
            body $.req.reqNam JSON-011: the layout has no such member (line 1, column 9)
            body $.req.reqName required: the member is missing
            body $.req.reqCount required: the member is missing"#]],
        ),
        (
            r#"{"req":{"reqName":"A"}} x"#,
            expect![[r#"
            400 GTW-103 a value breaks a rule
            body $ JSON-009: expected the end of the document, found a letter (line 1, column 25)"#]],
        ),
        (
            r#"{"req":{"reqName":"123456789","reqCount":"#,
            expect![[r#"
            400 GTW-103 some values break rules
            body $.req.reqCount JSON-002: the document ends where a number is expected (line 1, column 42)
            body $.req.reqName REC-021: text has 9 characters, field holds 8"#]],
        ),
    ] {
        check(&world, "POST", "/v1/orders", body, expect);
    }
}

/// Elements that cannot be read have a place in the list, and make no finding about its length.
#[test]
fn elements_that_cannot_be_read_count_in_places_and_hide_no_other_element() {
    let copybook = "
       01 ORDER-AREA.
          05 REQ.
             10 LINE-COUNT      PIC 9.
             10 LINE-ITEM OCCURS 2 TO 4 TIMES DEPENDING ON LINE-COUNT.
                15 LINE-TEXT    PIC X(4).
          05 RESP               PIC X.
";
    let service = format!("{SERVICE}[options]\nenforce-minimum-items = true\n");
    let world = World::over(copybook, &service, BODY).unwrap();
    for (body, expect) in [
        (
            r#"{"req":{"lineCount":3,"lineItem":[1,{"lineText":"ABCDE"},2,{"lineText":"ABCDE"}]}}"#,
            expect![[r#"
            400 GTW-103 some values break rules
            body $.req.lineItem[0] JSON-012: expected an object, found a number (line 1, column 35)
            body $.req.lineItem[2] JSON-012: expected an object, found a number (line 1, column 58)
            body $.req.lineItem[1].lineText REC-021: text has 5 characters, field holds 4
            body $.req.lineItem[3].lineText REC-021: text has 5 characters, field holds 4"#]],
        ),
        (
            r#"{"req":{"lineCount":2,"lineItem":[1,{}]}}"#,
            expect![[r#"
            400 GTW-103 a value breaks a rule
            body $.req.lineItem[0] JSON-012: expected an object, found a number (line 1, column 35)"#]],
        ),
        (
            r#"{"req":{"lineCount":3,"lineItem":[{},{}]}}"#,
            expect![[r#"
            400 GTW-103 a value breaks a rule
            body $.req.lineItem REC-031: list has 2 elements, its counter says 3"#]],
        ),
        (
            r#"{"req":{"lineCount":3,"lineItem":[{}"#,
            expect![[r#"
            400 GTW-103 a value breaks a rule
            body $.req.lineItem[0] JSON-002: the document ends where `,` or `]` is expected (line 1, column 37)"#]],
        ),
    ] {
        check(&world, "POST", "/v1/orders", body, expect);
    }
}

/// A request that sets the counter and no list made a record with fewer elements than the minimum.
#[test]
fn a_counter_is_at_least_the_enforced_minimum_of_its_table() {
    let copybook = "
       01 ORDER-AREA.
          05 REQ.
             10 LINE-COUNT      PIC 9.
             10 LINE-ITEM OCCURS 2 TO 5 TIMES DEPENDING ON LINE-COUNT.
                15 LINE-TEXT    PIC X(4).
          05 RESP               PIC X.
";
    let typed = "[[type]]\nfield = \"LINE-COUNT\"\nis = \"range\"\nmaximum = 4\n";
    for (types, enforced) in [("", "true"), (typed, "true"), ("", "false"), (typed, "false")] {
        let options = format!("[options]\ninitialize = \"initial\"\nenforce-minimum-items = {enforced}\n");
        let world = World::over(copybook, &format!("{SERVICE}{options}{types}"), BODY).unwrap();
        let status = |body: &str| world.record("POST", "/v1/orders", body).err().map(|problem| lines(&problem));
        for count in [0, 1] {
            let found = status(&format!(r#"{{"req":{{"lineCount":{count}}}}}"#)).unwrap_or_default();
            let names = found.starts_with("400 GTW-103")
                && found.contains("body $.req.lineCount")
                && found.contains("at least 2");
            assert_eq!(names, enforced == "true", "{types} {enforced}: {found}");
        }
        for body in [r#"{"req":{"lineCount":2}}"#, r#"{"req":{"lineItem":[{},{}]}}"#, "{}"] {
            assert_eq!(status(body), None, "{types} {enforced} {body}");
        }
        assert!(status(r#"{"req":{"lineCount":6}}"#).is_some());
    }
}

/// A range type on a counter replaced the bound by the table, so a request could set a counter beyond its table.
#[test]
fn a_range_of_a_counter_never_exceeds_its_table() {
    let copybook = "
       01 ORDER-AREA.
          05 REQ.
             10 LINE-COUNT      PIC 99.
             10 LINE-ITEM OCCURS 0 TO 5 TIMES DEPENDING ON LINE-COUNT.
                15 LINE-TEXT    PIC X(4).
          05 RESP               PIC X.
";
    for (bounds, most) in [("minimum = 1", 5), ("maximum = 99", 5), ("maximum = 4", 4)] {
        let service = format!(
            "{SERVICE}[options]\ninitialize = \"initial\"\n[[type]]\nfield = \"LINE-COUNT\"\nis = \"range\"\n{bounds}\n"
        );
        let world = World::over(copybook, &service, BODY).unwrap();
        let refused = |count: u32| {
            let body = format!(r#"{{"req":{{"lineCount":{count}}}}}"#);
            world.record("POST", "/v1/orders", &body).err().map(|problem| lines(&problem))
        };
        assert_eq!(refused(most), None, "{bounds}");
        for count in [most + 1, 99] {
            let found = refused(count).unwrap_or_default();
            assert!(
                found.contains("body $.req.lineCount range:") && found.contains(&format!("at most {most}")),
                "{bounds}: {found}"
            );
        }
    }
}

/// Regression: a misspelt `fields` was refused after the program had run, so a client that tried again had its request performed twice.
#[test]
fn fields_are_checked_before_the_call() {
    let api = format!(
        "{POST}{}",
        r#"
[[operation.response]]
status = 404
when = [{ field = "RESP-CODE", equals = 4 }]
body = "problem"
detail = "The order does not exist."
[[operation.response]]
status = 202
when = [{ field = "RESP-CODE", equals = 8 }]
include = ["RESP-NOTE"]
exclude = ["RESP"]
[[operation.response]]
status = 200
exclude = ["RESP-NOTE"]
"#
    );
    let world = World::new(SERVICE, &api);
    for (fields, expect) in [
        (
            "respNot",
            expect![[r#"
            400 GTW-106 `fields`: the response has no member `respNot`
            query fields GTW-106: the response has no member `respNot`"#]],
        ),
        (
            "respNote,respDa",
            expect![[r#"
            400 GTW-106 `fields`: the response has no member `respDa`
            query fields GTW-106: the response has no member `respDa`"#]],
        ),
        (
            "respNote(",
            expect![[r#"
            400 GTW-106 `fields`: a name is empty
            query fields GTW-106: a name is empty"#]],
        ),
        (
            "",
            expect![[r#"
            400 GTW-106 `fields`: a name is empty
            query fields GTW-106: a name is empty"#]],
        ),
        // Members of one response each.
        ("respNote", expect!["A       ....0012........N........................................."]),
        ("respDay,resp.raw", expect!["A       ....0012........N........................................."]),
    ] {
        check(&world, "POST", &format!("/v1/orders/A?fields={fields}"), "", expect);
    }
}

/// An encoded name was accepted and had no effect, and a path parameter `fields` did so to the selection.
#[test]
fn names_of_the_query_are_compared_decoded() {
    let answer = |api: &str, target: &str| {
        let record = [&[b' '; 28][..], &[0, 0], b"O20260131AB    00702aa  bb  cc  0042"].concat();
        World::new(SERVICE, api).answer(&record, target, quayline_gateway::Media::Json).unwrap().1
    };
    for target in ["/v1/orders?fields=respNote", "/v1/orders?%66ields=respNote", "/v1/orders?a=1&field%73=respNote"] {
        assert_eq!(answer(GET, target), r#"{"resp":{"respNote":"AB"}}"#, "{target}");
    }
    let of_header = format!("{GET}[[operation.parameter]]\nname = \"fields\"\nin = \"header\"\nfield = \"REQ-NAME\"\n");
    assert_eq!(answer(&of_header, "/v1/orders?fields=respNote"), r#"{"resp":{"respNote":"AB"}}"#);
    let own = of_header.replace("header", "query");
    assert!(answer(&own, "/v1/orders?fields=respNote").contains("respDay"));
}

/// A parameter that the API ignores was a 400 if it occurred twice.
#[test]
fn ignored_parameters_may_occur_twice() {
    let parameter = "[[operation.parameter]]\nname = \"count\"\nin = \"query\"\nfield = \"REQ-COUNT\"\n";
    let world = |unknown: &str| World::new(SERVICE, &format!("unknown-parameters = \"{unknown}\"\n{GET}{parameter}"));
    let query = |world: &World, query: &str| {
        world.record("GET", &format!("/v1/orders?{query}"), "").map(|_| ()).map_err(|problem| lines(&problem))
    };
    let (ignore, refuse) = (world("ignore"), world("refuse"));
    assert_eq!(query(&ignore, "utm=1&utm=2&count=3"), Ok(()));
    for twice in ["count=1&count=1", "fields=respNote&fields=respNote"] {
        assert!(query(&ignore, twice).unwrap_err().contains("occurs twice"), "{twice}");
    }
    assert!(query(&refuse, "utm=1&utm=2").unwrap_err().contains("utm unknown"));
}
