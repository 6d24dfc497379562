//! Numbers that a float field of the record does not keep.

use crate::world::{World, lines};

const COPYBOOK: &str = "       01 AREA.\n          05 SHORT-ONE COMP-1.\n          05 LONG-ONE COMP-2.\n          05 LIST-OF COMP-1 OCCURS 2.\n";
const API: &str = "base-path = \"/v1\"\n[[operation]]\nid = \"put\"\nmethod = \"PUT\"\npath = \"/a\"\nservice = \"orders\"\n[operation.body]\n\
    [[operation]]\nid = \"get\"\nmethod = \"GET\"\npath = \"/a\"\nservice = \"orders\"\n[[operation.parameter]]\nname = \"short\"\nin = \"query\"\n\
    field = \"SHORT-ONE\"\n[[operation.parameter]]\nname = \"long\"\nin = \"query\"\nfield = \"LONG-ONE\"\n";

fn service(dialect: &str, options: &str) -> String {
    format!(
        "copybook = \"order.cpy\"\nencoding = \"ascii\"\ndialect = \"{dialect}\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[options]\n\
         initialize = \"initial\"\n{options}\n[request]\nkey-style = \"camel\"\n"
    )
}

fn world(dialect: &str, options: &str) -> World {
    World::over(COPYBOOK, &service(dialect, options), API).unwrap_or_else(|findings| panic!("{findings}"))
}

/// A request with 16777217 for a COMP-1 was performed with 16777216, and its answer was 201.
#[test]
fn a_number_that_a_float_rounds_is_refused() {
    for (dialect, lenient) in [("gnucobol", false), ("gnucobol", true), ("ibm", false), ("ibm", true)] {
        let world = world(dialect, if lenient { "lenient-requests = true" } else { "" });
        let body = |body: &str| world.record_bytes("PUT", "/v1/a", body).map_err(|problem| lines(&problem));
        for kept in [
            r#"{"shortOne":0.5}"#,
            r#"{"shortOne":16777216}"#,
            r#"{"longOne":9007199254740992}"#,
            r#"{"listOf":[1,-2.5]}"#,
            "{}",
        ] {
            assert!(body(kept).is_ok(), "{dialect} {kept}: {:?}", body(kept));
        }
        for (other, field) in [
            (r#"{"shortOne":16777217}"#, "$.shortOne"),
            (r#"{"longOne":9007199254740993}"#, "$.longOne"),
            (r#"{"listOf":[1,123456789]}"#, "$.listOf"),
        ] {
            let refused = body(other).unwrap_err();
            assert!(refused.contains(field) && refused.contains("REC-049"), "{dialect} {other}: {refused}");
            assert!(!refused.contains("1677") && !refused.contains("9007") && !refused.contains("1234"), "{refused}");
        }
        if lenient {
            for text in [r#"{"shortOne":"16777217"}"#, r#"{"shortOne":"0016777217"}"#] {
                assert!(body(text).unwrap_err().contains("REC-049"), "{dialect} {text}");
            }
            assert!(body(r#"{"shortOne":"0016777216"}"#).is_ok());
        }
        let all = body(r#"{"shortOne":16777217,"longOne":9007199254740993}"#).unwrap_err();
        assert_eq!(all.matches("REC-049").count(), 2, "{all}");
        let query =
            |query: &str| world.record_bytes("GET", &format!("/v1/a?{query}"), "").map_err(|problem| lines(&problem));
        assert!(query("short=0.5&long=2.5e3").is_ok());
        for (other, field) in [
            ("short=16777217", "short"),
            ("long=9007199254740993", "long"),
            ("long=9.007199254740993e15", "long"),
            ("short=1.6777217e7", "short"),
        ] {
            let refused = query(other).unwrap_err();
            assert!(
                refused.contains(&format!("query {field}")) && refused.contains("REC-049"),
                "{dialect} {other}: {refused}"
            );
        }
    }
}

/// The next request is judged for itself.
#[test]
fn a_refused_number_leaves_nothing() {
    let world = world("gnucobol", "");
    assert!(world.record_bytes("PUT", "/v1/a", r#"{"shortOne":16777217}"#).is_err());
    assert!(world.record_bytes("PUT", "/v1/a", r#"{"shortOne":16777217"#).is_err());
    assert!(world.record_bytes("PUT", "/v1/a", r#"{"shortOne":5}"#).is_ok());
}

#[test]
fn a_service_may_round() {
    let world = world("gnucobol", "inexact-floats = \"round\"");
    let record = world.record_bytes("PUT", "/v1/a", r#"{"shortOne":16777217}"#).unwrap();
    assert_eq!(record[..4], 16_777_216_f32.to_le_bytes());
    assert!(world.record_bytes("GET", "/v1/a?long=9007199254740993", "").is_ok());
}

/// Values of the definitions are checked when they are read.
#[test]
fn a_default_that_a_float_rounds_is_a_finding() {
    let default = format!("{}[request.default]\nSHORT-ONE = 16777217\n", service("gnucobol", ""));
    let found = World::over(COPYBOOK, &default, API).err().unwrap();
    assert!(found.contains("PLN-005") && found.contains("more digits than the float keeps"), "{found}");
    let parameter = API.replace("field = \"SHORT-ONE\"", "field = \"SHORT-ONE\"\ndefault = \"16777217\"");
    let found = World::over(COPYBOOK, &service("gnucobol", ""), &parameter).err().unwrap();
    assert!(found.contains("does not keep all digits"), "{found}");
    assert!(World::over(COPYBOOK, &service("gnucobol", "inexact-floats = \"round\""), &parameter).is_ok());
}
