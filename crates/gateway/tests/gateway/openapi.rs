//! The OpenAPI document agrees with the layout.

use expect_test::expect;
use quayline_gateway::{Json, Security};

use crate::world::{SERVICE, World};

fn at<'a>(json: &'a Json, path: &[&str]) -> &'a Json {
    path.iter().fold(json, |json, name| json.get(name).unwrap_or_else(|| panic!("no {name} in {json}")))
}

#[test]
fn schemas_have_lengths_ranges_and_what_is_required() {
    let api = r#"
base-path = "/v1"
roles = ["clerk"]
[[operation]]
method = "POST"
path = "/orders/{name}"
service = "orders"
[[operation.parameter]]
name = "name"
in = "path"
field = "REQ-NAME"
[[operation.parameter]]
name = "count"
in = "query"
field = "REQ-COUNT"
minimum = 2
maximum = 50
[operation.body]
required = true
[[operation.response]]
status = 404
when = [{ field = "RESP-CODE", equals = 4 }]
body = "problem"
description = "No such order."
[[operation.response]]
status = 200
"#;
    let service = SERVICE
        .replace("[provider]", "required = [\"REQ-AMOUNT\"]\n[provider]")
        .replace("[response]", "[request.default]\n\"REQ-DATE\" = \"20260101\"\n\"REQ-COUNT\" = 7\n[response]")
        + "[[type]]\nfield = \"REQ-FLAG\"\nis = \"boolean\"\n\
[[type]]\nfield = \"REQ-AMOUNT\"\nis = \"range\"\nminimum = 1\nmaximum = 500\n\
[[type]]\nfield = \"RESP-CODE\"\nis = \"range\"\nminimum = 7\n";
    let world = World::new(&service, api);
    let json = world.definitions.apis[0].openapi("/", Security { api_key: true, ..Security::default() });
    let operation = at(&json, &["paths", "/v1/orders/{name}", "post"]);
    let named = |path: &[&str]| {
        let Json::Text(name) = at(operation, path) else { panic!("no name at {path:?}") };
        at(&json, &name[2..].split('/').collect::<Vec<_>>())
    };
    let body = named(&["requestBody", "content", "application/json", "schema", "$ref"]);
    expect![[r#"{"type":"object","properties":{"req":{"type":"object","properties":{"reqAmount":{"type":"number","minimum":1,"maximum":500,"format":"decimal","x-go-type":"float64","description":"REQ-AMOUNT PIC S9(5)V99 COMP-3","examples":[1]},"reqDate":{"type":"string","maxLength":8,"pattern":"^[\\u0000-\\u007F]*$","default":"20260101","description":"REQ-DATE PIC X(8)"},"reqFlag":{"type":"boolean","description":"REQ-FLAG PIC X","examples":[true]}},"required":["reqAmount"],"additionalProperties":false}},"required":["req"],"additionalProperties":false}"#]]
        .assert_eq(&body.to_string());
    let Json::List(parameters) = at(operation, &["parameters"]) else { panic!() };
    expect![[r#"{"name":"count","in":"query","required":false,"schema":{"type":"integer","minimum":2,"maximum":50,"format":"int64","default":7,"description":"REQ-COUNT PIC 9(4)","examples":[2]}}"#]]
        .assert_eq(&parameters[1].to_string());
    // Paths and lists of names are allowed too, so that no list of single names stands for the values.
    let fields = parameters.iter().find(|parameter| parameter.get("name") == Some(&Json::text("fields"))).unwrap();
    assert_eq!(at(fields, &["schema", "type"]), &Json::text("string"));
    assert!(at(fields, &["schema"]).get("enum").is_none(), "{fields}");
    let Json::Object(responses) = at(operation, &["responses"]) else { panic!() };
    let statuses: Vec<&str> = responses.iter().map(|(status, _)| status.as_str()).collect();
    assert_eq!(statuses, ["404", "200", "400", "401", "403", "406", "414", "429", "431", "408", "413", "415", "5XX"]);
    let answer = named(&["responses", "200", "content", "application/json", "schema", "$ref"]);
    // Generators of clients make one type for both forms.
    assert!(core::ptr::eq(answer, named(&["responses", "200", "content", "application/xml", "schema", "$ref"])));
    let root = at(operation, &["responses", "200", "content", "application/xml", "schema", "xml", "name"]);
    assert_eq!(root.to_string(), "\"answer\"");
    let answer = at(answer, &["properties", "resp", "properties"]);
    expect![[r#"{"type":"array","items":{"type":"object","properties":{"lineText":{"type":"string","maxLength":4,"description":"LINE-TEXT PIC X(4)"}}},"maxItems":3}"#]]
        .assert_eq(&at(answer, &["lineItem"]).to_string());
    expect![[r#"{"type":"integer","minimum":-32768,"maximum":32767,"format":"int64","description":"RESP-CODE PIC S9(4) COMP","examples":[0]}"#]]
        .assert_eq(&at(answer, &["respCode"]).to_string());
    assert_eq!(at(operation, &["security"]).to_string(), r#"[{"apiKey":[]}]"#);
    assert_eq!(at(operation, &["x-roles"]).to_string(), r#"["clerk"]"#);
}

#[test]
fn a_document_names_schemas_groups_and_who_offers_the_api() {
    let api = r#"
base-path = "/v1"
public = true
tags = ["orders"]
servers = ["https://api.example/stock"]
terms-of-service = "https://api.example/terms"
[contact]
name = "Stock desk"
email = "stock@api.example"
[license]
name = "Apache 2.0"
identifier = "Apache-2.0"
[[tag]]
name = "orders"
description = "Orders and their lines."
[[operation]]
id = "make-order"
method = "POST"
path = "/orders"
service = "orders"
[operation.body]
[[operation]]
id = "tryOrder"
method = "POST"
path = "/trials"
service = "orders"
tags = ["trials"]
[operation.body]
"#;
    let world = World::new(SERVICE, api);
    let json = world.definitions.apis[0].openapi("/", Security { api_key: true, ..Security::default() });
    expect![[r#"{"title":"orders","version":"1.0.0","termsOfService":"https://api.example/terms","contact":{"name":"Stock desk","email":"stock@api.example"},"license":{"name":"Apache 2.0","identifier":"Apache-2.0"}}"#]]
        .assert_eq(&at(&json, &["info"]).to_string());
    assert_eq!(at(&json, &["servers"]).to_string(), r#"[{"url":"https://api.example/stock"}]"#);
    let tags = r#"[{"name":"orders","description":"Orders and their lines."},{"name":"trials"}]"#;
    assert_eq!(at(&json, &["tags"]).to_string(), tags);
    let make = at(&json, &["paths", "/v1/orders", "post"]);
    assert_eq!(at(make, &["tags"]).to_string(), r#"["orders"]"#);
    assert_eq!(at(make, &["security"]).to_string(), "[]");
    // Equal schemas have one name.
    for path in ["/v1/orders", "/v1/trials"] {
        let operation = at(&json, &["paths", path, "post"]);
        let name = at(operation, &["responses", "200", "content", "application/json", "schema", "$ref"]);
        assert_eq!(name.to_string(), r##""#/components/schemas/Make-orderResult""##);
    }
    let Json::Object(schemas) = at(&json, &["components", "schemas"]) else { panic!() };
    let names: Vec<&str> = schemas.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Problem", "Make-orderRequest", "Make-orderResult"]);
}

/// Redocly reported an error for each operation without a summary or security, and a warning for each response that nothing refers to.
#[test]
fn a_document_has_what_linters_require_and_nothing_unused() {
    let api = "base-path = \"/v1\"\n[[operation]]\nid = \"findOrders\"\nmethod = \"GET\"\npath = \"/orders\"\nservice = \"orders\"\n";
    let json = World::new(SERVICE, api).definitions.apis[0].openapi("/", Security::default());
    let operation = at(&json, &["paths", "/v1/orders", "get"]);
    assert_eq!(at(operation, &["summary"]).to_string(), "\"findOrders\"");
    assert_eq!(at(operation, &["security"]).to_string(), "[]");
    let Json::Object(responses) = at(&json, &["components", "responses"]) else { panic!() };
    for (name, _) in responses {
        assert!(at(&json, &["paths"]).to_string().contains(&format!("#/components/responses/{name}\"")), "{name}");
    }
    assert!(responses.iter().any(|(name, _)| name == "BadRequest"));
}

/// The schema applied the code page of the other fields to UTF-16 and UTF-8 fields, so generated clients refused values that the server accepts.
#[test]
fn fields_of_utf_16_and_utf_8_have_no_code_page() {
    let copybook = "       01 AREA.\n          05 A PIC X(4).\n          05 N PIC N(4) USAGE NATIONAL.\n          05 U PIC U(4).\n";
    let service =
        "copybook = \"order.cpy\"\nencoding = \"cp037\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n";
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/x\"\nservice = \"orders\"\n[operation.body]\n";
    let world = World::over(copybook, service, api).unwrap_or_else(|findings| panic!("{findings}"));
    let json = world.definitions.apis[0].openapi("/", Security::default());
    let Json::Object(schemas) = at(&json, &["components", "schemas"]) else { panic!() };
    let request = &schemas.iter().find(|(name, _)| name.ends_with("Request")).unwrap().1;
    let has_pattern = |name: &str| at(request, &["properties", name]).get("pattern").is_some();
    assert_eq!([has_pattern("A"), has_pattern("N"), has_pattern("U")], [true, false, false]);
}

/// A generated client accepted `abc` for PIC XX/X, which the server refuses.
#[test]
fn an_edited_text_has_the_characters_that_its_picture_inserts() {
    let copybook = "       01 AREA.\n          05 E PIC XX/XB0.\n";
    let service = "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[response]\n";
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/x\"\nservice = \"orders\"\n[operation.body]\n";
    let world = World::over(copybook, service, api).unwrap_or_else(|findings| panic!("{findings}"));
    let json = world.definitions.apis[0].openapi("/", Security::default()).to_string();
    let x = "[\\\\u0000-\\\\u007F]";
    let slash = "\\\\u002F";
    let zero = "\\\\u0030{0,1}";
    let blank = format!("(?:\\\\u0020{{1}}{zero}|\\\\u0020{{0,1}})");
    let second = format!("(?:{x}{{1}}{blank}|{x}{{0,1}})");
    let slash = format!("(?:{slash}{{1}}{second}|{slash}{{0,1}})");
    let pattern = format!("^(?:\\\\u0020*|(?:{x}{{2}}{slash}|{x}{{0,2}}))$");
    assert!(json.contains(&format!("\"pattern\":\"{pattern}\"")), "{json}");
    for (text, fits) in
        [("ab/c 0", true), ("ab/", true), ("a", true), ("", true), ("  ", true), ("abc", false), ("ab/c0", false)]
    {
        assert_eq!(world.record("POST", "/v1/x", &format!("{{\"E\":\"{text}\"}}")).is_ok(), fits, "{text}");
    }
}

/// `VALUE -05`, an example of `about 5` and a lenient default of `007` made a document that no parser of JSON read.
#[test]
fn numbers_of_a_document_are_numbers_of_json() {
    let copybook = "       01 AREA.\n          05 A PIC S9(2) VALUE -05.\n          05 B PIC S9V99 VALUE +.50.\n          05 C PIC 9(3).\n          05 F COMP-2.\n";
    let service = "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[options]\nlenient-requests = true\n";
    let api = |example: &str| {
        format!(
            "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/x\"\nservice = \"orders\"\n[operation.body]\n\
             [[operation.parameter]]\nname = \"c\"\nin = \"query\"\nfield = \"C\"\ndefault = \"007\"\nexample = {example}\n\
             [[operation.parameter]]\nname = \"f\"\nin = \"query\"\nfield = \"F\"\nminimum = 1\nmaximum = 9\nexample = \"1.5e0\"\n"
        )
    };
    let world = World::over(copybook, service, &api("\"008\"")).unwrap_or_else(|findings| panic!("{findings}"));
    let document = world.definitions.apis[0].openapi("/", Security::default());
    let text = document.pretty();
    let read: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let parameters = &read["paths"]["/v1/x"]["post"]["parameters"];
    assert_eq!((&parameters[0]["schema"]["default"], &parameters[0]["example"]), (&7.into(), &8.into()), "{text}");
    // The bounds of a float were missing.
    let float = &parameters[1]["schema"];
    assert_eq!((&float["minimum"], &float["maximum"]), (&1.into(), &9.into()), "{text}");
    assert!(text.contains("-5") && text.contains("0.50"), "{text}");
    let refused = World::over(copybook, service, &api("\"about 5\"")).err().expect("a finding");
    assert!(refused.contains("GTW-005") && refused.contains("the example of `c` is not a value"), "{refused}");
}

/// The document offered XML for an answer whose members have no different element names, and the server answered 406.
#[test]
fn a_document_offers_xml_only_for_answers_that_have_it() {
    let copybook = "       01 AREA.\n          05 A PIC X.\n          05 B PIC X.\n";
    let service = "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[response]\n\
        [[response.field]]\nname = \"A\"\nrename = \"1A\"\n[[response.field]]\nname = \"B\"\nrename = \"_1A\"\n";
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"GET\"\npath = \"/x\"\nservice = \"orders\"\n";
    let document = |service: &str| {
        let world = World::over(copybook, service, api).unwrap_or_else(|findings| panic!("{findings}"));
        world.definitions.apis[0].openapi("/", Security::default()).to_string()
    };
    assert!(!document(service).contains("application/xml"));
    assert!(document(&service.replace("_1A", "c")).contains("application/xml"));
}
