//! Bodies that are an array.

use quayline_gateway::Media;

use crate::world::{World, lines};

const COPYBOOK: &str = "
       01 AREA.
          05 HOW           PIC X(2).
          05 LINES-OF-IT.
             10 LINE-COUNT PIC 9.
             10 LINE-ITEM OCCURS 3.
                15 NAME    PIC X(3).
                15 PIECES  PIC 9(2).
          05 NOTE          PIC X(2).
";
const API: &str = "
base-path = \"/v1\"
[[operation]]
method = \"POST\"
path = \"/lines/{how}\"
service = \"orders\"
omit = [\"NOTE\"]
[[operation.parameter]]
name = \"how\"
in = \"path\"
field = \"HOW\"
[operation.body]
array = true
[[operation]]
method = \"GET\"
path = \"/lines\"
service = \"orders\"
[[operation.response]]
status = 404
when = [{ field = \"HOW\", equals = \"no\" }]
body = \"problem\"
[[operation.response]]
status = 200
array = true
exclude = [\"HOW\", \"NOTE\"]
[[operation]]
method = \"GET\"
path = \"/either\"
service = \"orders\"
[[operation.response]]
status = 202
when = [{ field = \"HOW\", equals = \"no\" }]
[[operation.response]]
status = 200
array = true
exclude = [\"HOW\", \"NOTE\"]
";

fn service(options: &str) -> String {
    let side = "key-style = \"camel\"\nexclude = [\"LINE-COUNT\"]\n";
    format!(
        "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n\
         [options]\ninitialize = \"initial\"\n{options}\n[request]\n{side}[response]\n{side}\
         [[counter]]\nlist = \"LINE-ITEM\"\nfield = \"LINE-COUNT\"\n"
    )
}

fn world(options: &str) -> World {
    World::over(COPYBOOK, &service(options), API).unwrap_or_else(|findings| panic!("{findings}"))
}

#[test]
fn a_request_is_the_list_itself() {
    let world = world("");
    let record = |body: &str| world.record("POST", "/v1/lines/ab", body).unwrap_or_else(|problem| lines(&problem));
    assert_eq!(record(r#"[{"name":"one","pieces":1},{"name":"two"}]"#), "ab2one01two00   00  ");
    assert_eq!(record("[]"), "ab0   00   00   00  ");
    assert_eq!(record(""), "ab0   00   00   00  ");
    // What is no array does not become one, and reaches no other member.
    for bad in [
        r#"{"linesOfIt":{"lineItem":[]}}"#,
        r#"[]},"note":"x""#,
        r#"[]},"linesOfIt":{"lineItem":[]"#,
        "[1]]",
        "null",
        "[\"a]",
    ] {
        let told = record(bad);
        assert!(told.starts_with("400 ") && told.contains("body $ type: expected an array"), "{bad}: {told}");
    }
    // Places are those of the array, on its line.
    let told = record(r#"[{"name":"one"},{"nam":"two"}]"#);
    assert!(told.contains("body $[1].nam ") && told.contains("(line 1, column 18)"), "{told}");
    let told = record("[{\"name\":\"four\"},{},{},{}]");
    assert!(told.contains("body $[0].name ") && !told.contains("linesOfIt"), "{told}");
}

#[test]
fn an_answer_is_the_list_itself() {
    let json =
        |options: &str, record: &str, target: &str| match world(options).answer(record.as_bytes(), target, Media::Json)
        {
            Ok((status, body)) => format!("{status} {body}"),
            Err(problem) => lines(&problem),
        };
    let record = "ab2one01two02   00zz";
    assert_eq!(json("", record, "/v1/lines"), r#"200 [{"name":"one","pieces":1},{"name":"two","pieces":2}]"#);
    assert_eq!(json("", record, "/v1/lines?fields=pieces"), r#"200 [{"pieces":1},{"pieces":2}]"#);
    for options in ["", "omit-empty = true"] {
        assert_eq!(json(options, "ab0   00   00   00  ", "/v1/lines"), "200 []", "{options}");
    }
    assert!(json("", "no0   00   00   00  ", "/v1/lines").starts_with("404 "));
    // The call is made, so an answer without an XML form is JSON.
    let either = |record: &str| world("").answer(record.as_bytes(), "/v1/either", Media::Xml).expect("an answer").1;
    assert_eq!(either(record), r#"[{"name":"one","pieces":1},{"name":"two","pieces":2}]"#);
    assert!(either("no0   00   00   00  ").starts_with('<'));
    // A request that changes something must not be performed and then refused.
    let definitions = world("").definitions;
    let refused = |operation: &quayline_gateway::Operation, media| {
        quayline_gateway::check_form(operation, media).err().map(|problem| problem.status)
    };
    for operation in &definitions.operations {
        let expected = operation.path.ends_with("/lines").then_some(406);
        assert_eq!(
            (refused(operation, Media::Xml), refused(operation, Media::Json)),
            (expected, None),
            "{}",
            operation.id
        );
    }
}

#[test]
fn a_document_shows_arrays() {
    let world = world("");
    let document = world.definitions.apis[0].openapi("/", quayline_gateway::Security::default()).pretty();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    for schema in ["PostV1LinesHowRequest", "GetV1LinesResult"] {
        let schema = &document["components"]["schemas"][schema];
        assert_eq!((&schema["type"], &schema["maxItems"]), (&"array".into(), &3.into()), "{schema}");
        assert_eq!(schema["items"]["properties"]["name"]["type"], "string", "{schema}");
    }
    let content = &document["paths"]["/v1/lines"]["get"]["responses"]["200"]["content"];
    assert!(content["application/json"].is_object() && content["application/xml"].is_null(), "{content}");
    // What is around the array is no member that `fields` takes.
    let fields = &document["paths"]["/v1/lines"]["get"]["parameters"][0]["schema"]["examples"];
    assert_eq!(fields, &serde_json::json!(["name", "pieces"]));
}

#[test]
fn an_array_needs_one_list_alone() {
    let refused = |api: &str, expected: &str| {
        let Err(found) = World::over(COPYBOOK, &service(""), api).map(|_| ()) else { panic!("nothing was found") };
        assert!(found.contains("GTW-012") && found.contains(expected), "{found}");
    };
    refused(
        &API.replace("omit = [\"NOTE\"]\n", ""),
        "the body is to be an array, but requests do not show one list alone",
    );
    refused(&API.replace(", \"NOTE\"]", "]"), "the answer is to be an array, but it does not show one list alone");
    refused(&API.replace("body = \"problem\"", "body = \"problem\"\narray = true"), "the answer is to be an array");
}

/// Regression: fields that requests hide after a table whose count moves them were not part of the record, and their initial values and defaults were lost.
#[test]
fn hidden_fields_after_a_sliding_table_keep_their_values() {
    let copybook = "       01 REC.\n          05 N PIC 9.\n          05 T PIC X OCCURS 0 TO 3 DEPENDING ON N.\n          05 MSG PIC X(4).\n          05 NUM PIC 9(3).\n";
    let service = |slide: &str, default: &str| {
        format!(
            "copybook = \"order.cpy\"\nencoding = \"ascii\"\ndialect-settings = {{ odo-slide = \"{slide}\" }}\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n\
             [options]\ninitialize = \"initial\"\n[request]\nkey-style = \"camel\"\nexclude = [\"MSG\", \"NUM\"]\n{default}[response]\nkey-style = \"camel\"\n"
        )
    };
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/a\"\nservice = \"orders\"\n[operation.body]\n";
    let record = |slide: &str, default: &str, body: &str| {
        let world =
            World::over(copybook, &service(slide, default), api).unwrap_or_else(|findings| panic!("{findings}"));
        world.record("POST", "/v1/a", body).unwrap_or_else(|problem| lines(&problem))
    };
    let default = "[request.default]\n\"NUM\" = 7\n";
    let two = r#"{"n":2,"t":["a","b"]}"#;
    assert_eq!(record("yes", "", two), "2ab    000");
    assert_eq!(record("yes", default, two), "2ab    007");
    assert_eq!(record("yes", default, "{}"), "0    007");
    assert_eq!(record("no", default, two), "2ab     007");
}
