//! Values of definitions, parameters and records that Quayline compares or writes exactly.

use quayline_gateway::Media;

use crate::world::{GET, SERVICE, World, lines};

const CANNED: &str = "copybook = \"order.cpy\"\nencoding = \"ascii\"\ndialect = \"gnucobol\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n";

fn world(fields: &str, service: &str, api: &str) -> World {
    let copybook = format!("       01 AREA.\n{fields}");
    World::over(&copybook, &format!("{CANNED}{service}"), api).unwrap_or_else(|findings| panic!("{findings}"))
}

fn refused(fields: &str, service: &str, api: &str) -> String {
    let copybook = format!("       01 AREA.\n{fields}");
    World::over(&copybook, &format!("{CANNED}{service}"), api).err().expect("a finding")
}

/// `assign = { "M" = 1234567890123456.78 }` wrote ...80.
#[test]
fn a_number_of_an_api_file_keeps_its_digits() {
    let field = "          05 M PIC 9(16)V99.\n          05 N PIC 9(16)V99.\n";
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"GET\"\npath = \"/m\"\nservice = \"orders\"\nassign = { \"M\" = 1_234_567_890_123_456.78 }\n\
        [[operation.parameter]]\nname = \"n\"\nin = \"query\"\nfield = \"N\"\ndefault = +1234567890123456.71\nexample = 1234567890123456.73\n";
    let world = world(field, "", api);
    assert_eq!(world.record("GET", "/v1/m", "").unwrap(), "123456789012345678123456789012345671");
    let document = world.definitions.apis[0].openapi("/", quayline_gateway::Security::default()).to_string();
    assert!(document.contains("\"default\":1234567890123456.71"), "{document}");
    assert!(document.contains("\"example\":1234567890123456.73"), "{document}");
    let exponent = api.replace("1_234_567_890_123_456.78", "1.5e3");
    assert!(self::world(field, "", &exponent).record("GET", "/v1/m", "").unwrap().starts_with("000000000000150000"));
}

/// Returns the statuses of a record for each test: 201 if the condition holds, 200 otherwise.
fn statuses(fields: &str, record: &[u8], tests: &[&str]) -> Vec<u16> {
    let status = |test: &&str| {
        let api = format!(
            "{GET}[[operation.response]]\nstatus = 201\nwhen = [{{ field = \"RATE\", {test} }}]\n[[operation.response]]\nstatus = 200\n"
        );
        let world = world(fields, "", &api);
        world.answer(record, "/v1/orders", Media::Json).unwrap_or_else(|problem| panic!("{}", lines(&problem))).0
    };
    tests.iter().map(status).collect()
}

/// A condition on a number with more than 9 decimals never held, without a word about it.
#[test]
fn conditions_compare_all_digits_of_a_number() {
    let rate = "          05 RATE PIC 9V9(10).\n";
    let tests = [
        "equals = 5",
        "equals = 5.0000000001",
        "not = 5.00",
        "one-of = [1, 5.0]",
        "at-least = 1",
        "at-least = 5.0000000001",
        "at-most = 5",
        "at-most = 4.9999999999",
    ];
    assert_eq!(statuses(rate, b"50000000000", &tests), [201, 200, 200, 201, 201, 200, 201, 200]);
    assert_eq!(statuses(rate, b"50000000001", &tests), [200, 201, 201, 200, 201, 201, 200, 200]);
    let long = "          05 RATE PIC S9(16)V99.\n";
    let tests = ["equals = 1234567890123456.78", "at-least = 1234567890123456.79", "at-most = 1234567890123456.77"];
    assert_eq!(statuses(long, b"123456789012345678", &tests), [201, 200, 200]);
    for (test, found) in [
        ("equals = 0.00000000001", "`0.00000000001` is not a value of RATE"),
        ("at-least = 10", "`10` is beyond the values of RATE"),
        ("at-most = \"1e3\"", "`1e3` is not a number to compare with"),
    ] {
        let api = format!(
            "{GET}[[operation.response]]\nstatus = 201\nwhen = [{{ field = \"RATE\", {test} }}]\n[[operation.response]]\nstatus = 200\n"
        );
        let text = refused(rate, "", &api);
        assert!(text.contains("GTW-012") && text.contains(found), "{text}");
    }
}

/// A COMP-1 of 0.1 was compared as 0.10000000149011612.
#[test]
fn conditions_on_a_single_compare_its_own_digits() {
    let rate = "          05 RATE COMP-1.\n";
    let service = "          05 RATE COMP-2.\n";
    for (value, tests, expected) in [
        (
            0.1f32,
            &["equals = 0.1", "at-most = 0.1", "at-least = 0.1", "not = 0.1", "at-least = 0.11"][..],
            &[201, 201, 201, 200, 200][..],
        ),
        (-736_519.4, &["equals = -736519.4", "at-most = -736519.4"], &[201, 201]),
    ] {
        let found: Vec<u16> = [value.to_be_bytes(), value.to_le_bytes()]
            .iter()
            .map(|record| statuses(rate, record, tests))
            .find(|found| found == expected)
            .unwrap_or_default();
        assert_eq!(found, expected, "{value}");
    }
    for fields in [rate, service] {
        let api = format!(
            "{GET}[[operation.response]]\nstatus = 201\nwhen = [{{ field = \"RATE\", equals = \"1.00x\" }}]\n[[operation.response]]\nstatus = 200\n"
        );
        assert!(refused(fields, "", &api).contains("`1.00x` is not a value of RATE"));
    }
}

/// `Location` of a record whose key begins with a blank named another record.
#[test]
fn the_location_of_a_record_has_the_blanks_of_its_key() {
    let fields = "          05 K PIC X(4).\n          05 V PIC X(2).\n";
    let provider =
        "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"file\"\nfile = \"F\"\nkey = \"K\"\n";
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/r\"\nservice = \"orders\"\n[operation.body]\n\
        [[operation]]\nmethod = \"GET\"\npath = \"/r/{k}\"\nservice = \"orders\"\n[[operation.parameter]]\nname = \"k\"\nin = \"path\"\nfield = \"K\"\n";
    for trim in ["trailing", "both", "none"] {
        let service = format!("{provider}[options]\ntrim = \"{trim}\"\n");
        let world = World::over(&format!("       01 AREA.\n{fields}"), &service, api).unwrap();
        let (operation, _) = world.operation("POST", "/v1/r");
        assert_eq!(operation.location_of(b" AB xx").as_deref(), Some("/v1/r/%20AB"), "{trim}");
    }
}

/// With `trim = "none"`, `Y` in PIC X(3) was null, and so was a date in a longer field. A blank that means false was null.
#[test]
fn blanks_after_a_truth_value_or_date_are_not_part_of_it() {
    let fields = "          05 FLAG PIC X(3).\n          05 DAY-OF PIC X(10).\n          05 NUM PIC 9(2).\n";
    for trim in ["trailing", "both", "none"] {
        let service = format!(
            "[options]\ntrim = \"{trim}\"\n[[type]]\nfield = \"FLAG\"\nis = \"boolean\"\ntrue = \"Y\"\nfalse = \" \"\n\
            [[type]]\nfield = \"DAY-OF\"\nis = \"date\"\npattern = \"yyyyMMdd\"\n[[type]]\nfield = \"NUM\"\nis = \"boolean\"\ntrue = \"01\"\nfalse = \"00\"\n"
        );
        let world = world(fields, &service, GET);
        let shown = |record: &[u8], media| world.answer(record, "/v1/orders", media).unwrap().1;
        let json = shown(b"Y  20260131  01", Media::Json);
        assert_eq!(json, r#"{"FLAG":true,"DAY_OF":"2026-01-31","NUM":true}"#, "{trim}");
        let json = shown(b"             00", Media::Json);
        assert_eq!(json, r#"{"FLAG":false,"DAY_OF":null,"NUM":false}"#, "{trim}");
        assert_eq!(shown(b"N  2026013   02", Media::Json), r#"{"FLAG":null,"DAY_OF":null,"NUM":null}"#, "{trim}");
        let xml = shown(b"   20260131  01", Media::Xml);
        assert!(xml.contains("<FLAG>false</FLAG><DAY_OF>2026-01-31</DAY_OF><NUM>true</NUM>"), "{xml}");
    }
    let same = "[[type]]\nfield = \"FLAG\"\nis = \"boolean\"\ntrue = \"Y\"\nfalse = \"Y \"\n";
    assert!(refused(fields, same, GET).contains("`true` and `false` are the same value of the field, `Y`"));
}

/// `control-characters = "space"` removed blanks that `trim = "none"` keeps.
#[test]
fn a_text_without_its_control_characters_has_the_blanks_that_trim_keeps() {
    let fields = "          05 A PIC X(6).\n          05 B PIC X(6) JUSTIFIED RIGHT.\n";
    let record = b" x\x01y \x02\x03 x\x01y ";
    for (trim, expected) in [
        ("none", r#"{"A":" x y  ","B":"  x y "}"#),
        ("trailing", r#"{"A":" x y","B":"x y "}"#),
        ("both", r#"{"A":"x y","B":"x y"}"#),
    ] {
        let world = world(fields, &format!("[options]\ntrim = \"{trim}\"\ncontrol-characters = \"space\"\n"), GET);
        assert_eq!(world.answer(record, "/v1/orders", Media::Json).unwrap().1, expected, "{trim}");
    }
}

/// A parameter of 1.7e38 or more was refused as out of a range that it did not have.
#[test]
fn a_float_parameter_may_have_any_size() {
    let field = "          05 F COMP-2.\n";
    let api =
        |bounds: &str| format!("{GET}[[operation.parameter]]\nname = \"f\"\nin = \"query\"\nfield = \"F\"\n{bounds}");
    let query = |bounds: &str, value: &str| {
        let result = world(field, "", &api(bounds)).record_bytes("GET", &format!("/v1/orders?f={value}"), "");
        result.map(|_| ()).map_err(|problem| lines(&problem))
    };
    for value in ["1.7e38", "1.8e38", "-1e300", "1.5"] {
        assert_eq!(query("", value), Ok(()), "{value}");
    }
    assert_eq!((query("minimum = 1", "1e300"), query("maximum = 1", "-1e300")), (Ok(()), Ok(())));
    for (bounds, value) in [("maximum = 1", "1e300"), ("minimum = 1", "-1e300")] {
        assert!(query(bounds, value).unwrap_err().contains("range"), "{bounds} {value}");
    }
}

/// `?t=9%20` was accepted with `maximum = 5`.
#[test]
fn bounds_are_for_numbers() {
    let api = |field: &str| {
        format!("{GET}[[operation.parameter]]\nname = \"p\"\nin = \"query\"\nfield = \"{field}\"\nmaximum = 5\n")
    };
    let text = World::of(SERVICE, &api("REQ-NAME")).err().expect("a finding");
    assert!(
        text.contains("GTW-012") && text.contains("`minimum` and `maximum` are for numbers, and REQ-NAME"),
        "{text}"
    );
    for kind in ["", "[[type]]\nfield = \"REQ-COUNT\"\nis = \"digits\"\n"] {
        let world = World::new(&format!("{SERVICE}{kind}"), &api("REQ-COUNT"));
        assert!(world.record("GET", "/v1/orders?p=5", "").is_ok());
        for value in ["9", "9%20", "0009", "%209"] {
            assert!(world.record("GET", &format!("/v1/orders?p={value}"), "").is_err(), "{kind}{value}");
        }
    }
}
