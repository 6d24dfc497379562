//! Names for codes: several values of one name, ranges, leading zeros. A request with a name of several codes never makes Quayline guess one.

use quayline_gateway::Media;

use crate::world::World;

const COPYBOOK: &str = "
       01 AREA.
          05 STATE           PIC X(2).
             88 STATE-OPEN   VALUE 'O' 'P'.
             88 STATE-CLOSED VALUE 'C'.
             88 STATE-NONE   VALUE SPACES.
          05 KIND            PIC 99.
             88 KIND-SMALL   VALUE 01 THRU 03.
             88 KIND-LARGE   VALUE 07 09.
             88 KIND-ANY     VALUE 01 03 07.
             88 KIND-ONE     VALUE 05.
";
const API: &str = "
base-path = \"/v1\"
[[operation]]
method = \"GET\"
path = \"/orders\"
service = \"orders\"
[[operation]]
method = \"POST\"
path = \"/orders\"
service = \"orders\"
[operation.body]
";

fn world(types: &str, request: &str) -> Result<World, String> {
    let service = format!(
        "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n\
         [options]\ninitialize = \"initial\"\n[request]\n{request}\n[response]\n{types}"
    );
    World::over(COPYBOOK, &service, API)
}

fn codes(field: &str, more: &str) -> String {
    format!("[[type]]\nfield = \"{field}\"\nis = \"codes\"\n{more}\n")
}

fn shown(world: &World, record: &str) -> String {
    world.answer(record.as_bytes(), "/v1/orders", Media::Json).map_or_else(|problem| problem.detail, |answer| answer.1)
}

#[test]
fn every_value_of_a_condition_has_its_name() {
    let types = [
        codes("STATE", "write = { open = \"P\" }"),
        codes("KIND", "names = { 1 = \"a\", 03 = \"a\" }\nwrite = { a = \"3\" }"),
    ];
    let world = world(&types.concat(), "").unwrap();
    assert_eq!(shown(&world, "O 01"), r#"{"STATE":"open","KIND":"a"}"#);
    assert_eq!(shown(&world, "P 03"), r#"{"STATE":"open","KIND":"a"}"#);
    assert_eq!(shown(&world, "  02"), r#"{"STATE":"none","KIND":"2"}"#);
    assert_eq!(shown(&world, "X 00"), r#"{"STATE":"X","KIND":"0"}"#);
    let record = |body: &str| world.record("POST", "/v1/orders", body);
    assert_eq!(record(r#"{"STATE":"open","KIND":"a"}"#).unwrap(), "P 03");
    assert_eq!(record(r#"{"STATE":"closed"}"#).unwrap(), "C 00");
    assert_eq!(record(r#"{"STATE":"none"}"#).unwrap(), "  00");
    let refused = record(r#"{"STATE":"P"}"#).unwrap_err();
    assert_eq!(refused.errors[0].detail, "expected one of open, closed, none");
}

#[test]
fn ranges_and_leading_zeros_are_values_and_classes_of_codes_are_no_names() {
    let world = world(&codes("KIND", ""), "exclude = [\"KIND\"]").unwrap();
    // 07 and 01 to 03 belong to KIND-ANY too, so only KIND-ONE is a name.
    for (code, name) in [("05", "kindOne"), ("07", "7"), ("09", "9"), ("02", "2")] {
        assert_eq!(shown(&world, &format!("O {code}")), format!(r#"{{"STATE":"O","KIND":"{name}"}}"#));
    }
    let copybook = COPYBOOK.replace("             88 KIND-ANY     VALUE 01 03 07.\n", "");
    let service = format!(
        "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[request]\nexclude = [\"KIND\"]\n{}",
        codes("KIND", "")
    );
    let world = World::over(&copybook, &service, API).unwrap();
    for (code, name) in [("05", "one"), ("07", "large"), ("09", "large"), ("01", "small"), ("03", "small"), ("04", "4")]
    {
        assert!(shown(&world, &format!("O {code}")).ends_with(&format!(r#""KIND":"{name}"}}"#)), "{code}");
    }
}

#[test]
fn a_name_that_does_not_say_which_code_is_refused_in_requests() {
    let Err(found) = world(&codes("STATE", ""), "") else { panic!("nothing was found") };
    assert!(found.contains("GTW-007") && found.contains("the name `open` belongs to 2 codes"), "{found}");
    assert!(found.contains("`write = { name = \"code\" }`"), "{found}");
    // Answers alone need no choice.
    let world = world(&codes("STATE", ""), "exclude = [\"STATE\"]").unwrap();
    assert!(shown(&world, "P 00").contains("\"open\""));
    for (more, expected) in [
        ("write = { open = \"C\" }", "`write` gives the name `open` a code of `"),
        ("write = { shut = \"C\" }", "`write` gives the name `shut`"),
    ] {
        let Err(found) = self::world(&codes("STATE", more), "") else { panic!("nothing was found") };
        assert!(found.contains(expected), "{found}");
    }
}
