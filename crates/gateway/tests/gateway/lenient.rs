//! Clients of other gateways, which write numbers in their own ways.

use quayline_gateway::Media;

use crate::world::{GET, SERVICE, World, lines};

const API: &str = "
base-path = \"/v1\"
[[operation]]
id = \"put\"
method = \"PUT\"
path = \"/orders/{count}\"
service = \"orders\"
[[operation.parameter]]
name = \"count\"
in = \"path\"
field = \"REQ-COUNT\"
[operation.body]
";

fn service(options: &str) -> String {
    format!("{SERVICE}[options]\ninitialize = \"initial\"\n{options}")
}

/// Clients that sent `00000042` in a path, numbers in strings and `null` for what is absent were refused, and no option changed that.
#[test]
fn leading_zeros_numbers_in_strings_and_null_are_taken_where_the_service_says_so() {
    let lenient = World::new(&service("lenient-requests = true"), API);
    let strict = World::new(&service(""), API);
    let record = |world: &World, target: &str, body: &str| {
        world.record_bytes("PUT", target, body).map(|bytes| bytes[..16].to_vec()).map_err(|problem| lines(&problem))
    };
    let exact = record(&strict, "/v1/orders/42", r#"{"req":{"reqName":"A","reqAmount":-12.30}}"#).unwrap();
    for (target, body) in [
        ("/v1/orders/0042", r#"{"req":{"reqName":"A","reqAmount":-12.30}}"#),
        ("/v1/orders/42", r#"{"req":{"reqName":"A","reqAmount":"-12.30"}}"#),
        ("/v1/orders/00000042", r#"{"req":{"reqName":"A","reqAmount":"-00012.3"}}"#),
        ("/v1/orders/42", r#"{"req":{"reqName":"A","reqAmount":" -12.3 ","reqDate":null,"reqFlag":null}}"#),
    ] {
        assert_eq!(record(&lenient, target, body).as_ref(), Ok(&exact), "{target} {body}");
        assert!(record(&strict, target, body).is_err(), "{target} {body}");
    }
    // Absent: null, an empty string for a number, a group that is null.
    let absent = record(&strict, "/v1/orders/42", r#"{"req":{"reqName":"A"}}"#).unwrap();
    for amount in ["null", "\"\"", "\"  \""] {
        let body = format!(r#"{{"req":{{"reqName":"A","reqAmount":{amount}}}}}"#);
        assert_eq!(record(&lenient, "/v1/orders/42", &body).as_ref(), Ok(&absent), "{amount}");
    }
    // An empty text is a value: blanks.
    assert_ne!(record(&lenient, "/v1/orders/42", r#"{"req":{"reqName":""}}"#).as_ref(), Ok(&absent));
    // What is not a number is refused, bytes of the record too.
    for amount in ["\"x\"", "\"0x123C\"", "\"12-\"", "true"] {
        let body = format!(r#"{{"req":{{"reqAmount":{amount}}}}}"#);
        assert!(record(&lenient, "/v1/orders/42", &body).is_err(), "{amount}");
    }
    let refused = record(&strict, "/v1/orders/0042", "{}").unwrap_err();
    assert!(refused.contains("expected a number without leading zeros"), "{refused}");
    assert!(record(&lenient, "/v1/orders/x", "{}").unwrap_err().contains("type: expected a number"));
}

/// A null in a list was left out, and the values after it moved forward.
#[test]
fn a_null_in_a_list_keeps_its_place() {
    let copybook = "       01 AREA.\n          05 HOW PIC X.\n          05 AMOUNTS PIC 9(2) OCCURS 3.\n          05 NAMES PIC X(2) OCCURS 3.\n";
    let service = "copybook = \"order.cpy\"\nencoding = \"ascii\"\n[provider]\nkind = \"canned\"\nfile = \"records.dat\"\n[options]\n\
                   initialize = \"initial\"\nlenient-requests = true\n[request]\nkey-style = \"camel\"\n[response]\nkey-style = \"camel\"\n";
    let api = "base-path = \"/v1\"\n[[operation]]\nmethod = \"POST\"\npath = \"/a\"\nservice = \"orders\"\n[operation.body]\n";
    let world = World::over(copybook, service, api).unwrap_or_else(|findings| panic!("{findings}"));
    let record = world.record("POST", "/v1/a", r#"{"how":"A","amounts":[1,null,"3"],"names":["a",null,"c"]}"#);
    assert_eq!(record.unwrap_or_else(|problem| lines(&problem)), "A010003a   c ");
    let record = world.record("POST", "/v1/a", r#"{"how":"A","amounts":["","2"],"names":[null]}"#);
    assert_eq!(record.unwrap_or_else(|problem| lines(&problem)), "A000200      ");
}

#[test]
fn a_required_member_that_is_null_is_missing() {
    let service = service("lenient-requests = true").replace("[provider]", "required = [\"REQ-AMOUNT\"]\n[provider]");
    let world = World::new(&service, API);
    let refused = world.record("PUT", "/v1/orders/1", r#"{"req":{"reqAmount":null}}"#).unwrap_err();
    assert!(lines(&refused).contains("required"), "{}", lines(&refused));
}

/// A number whose leading zeros mean something: `0042`.
#[test]
fn a_number_may_be_text_of_all_its_digits() {
    let types = "[[type]]\nfield = \"REQ-COUNT\"\nis = \"digits\"\n[[type]]\nfield = \"RESP-DAY\"\nis = \"digits\"\n";
    let world = World::new(&format!("{SERVICE}{types}"), API);
    for (count, expected) in [("0042", "0042"), ("42", "0042"), ("0", "0000")] {
        let record = world.record_bytes("PUT", &format!("/v1/orders/{count}"), "{}").unwrap();
        assert_eq!(record[12..16], *expected.as_bytes(), "{count}");
    }
    for count in ["00042", "-1", "4.2", "x"] {
        let refused = world.record("PUT", &format!("/v1/orders/{count}"), "{}").unwrap_err();
        assert!(lines(&refused).contains("expected 1 to 4 digits"), "{}", lines(&refused));
    }
    let world = World::new(&format!("{SERVICE}{types}"), GET);
    let record = [&[b' '; 28][..], &[0, 0], b"O00000007AB    00702aa  bb  cc  0042"].concat();
    let (_, body) = world.answer(&record, "/v1/orders", Media::Json).unwrap();
    assert!(body.contains(r#""respDay":"00000007""#), "{body}");
    let signed = format!("{SERVICE}[[type]]\nfield = \"REQ-AMOUNT\"\nis = \"digits\"\n");
    assert!(World::of(&signed, GET).err().unwrap().contains("without sign and decimal places"));
}

/// `by` without a match was answered with the first record, which belonged to another customer.
#[test]
fn no_record_is_404_and_never_the_first_one() {
    use quayline_gateway::{CannedRecords, Outgoing, Provider as _, ProviderFault, Returned};
    let ask = |by, front: &[u8]| {
        let records = CannedRecords::new(b"01ADA 42BEN ".to_vec(), 6, by).unwrap();
        let tail = std::sync::Arc::from([]);
        let mut answered = records.call(Outgoing { front, tail: &tail, tail_used: 0 }, &String::new);
        let mut cx = core::task::Context::from_waker(core::task::Waker::noop());
        let core::task::Poll::Ready(answer) = answered.as_mut().poll(&mut cx) else { panic!("it waits") };
        answer.map(|returned| match returned {
            Returned::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            _ => panic!("it is held"),
        })
    };
    assert_eq!(ask(Some((0, 2)), b"42"), Ok("42BEN ".to_owned()));
    assert_eq!(ask(Some((0, 2)), b"07"), Err(ProviderFault::NoRecord));
    assert_eq!(ask(None, b"07"), Ok("01ADA ".to_owned()));
    assert_eq!((ProviderFault::NoRecord.problem().status, ProviderFault::NoRecord.problem().code), (404, "GTW-128"));
}
