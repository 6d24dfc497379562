//! Any path, query and body: a request becomes a record of the right length or a problem, and `fields=` selects members of good JSON. No
//! value of the request stands in a problem.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use quayline_gateway::{Api, Definitions, Media, OperationLane, Request, Routed, Service, asked_fields};

const COPYBOOK: &str = "
       01 ORDER-AREA.
          05 REQ-NAME        PIC X(8).
          05 REQ-AMOUNT      PIC S9(5)V99 COMP-3.
          05 REQ-DATE        PIC X(8).
          05 REQ-FLAG        PIC X.
             88 REQ-YES      VALUE 'Y'.
             88 REQ-NO       VALUE 'N'.
          05 LINE-COUNT      PIC 9(2).
          05 LINE-ITEM OCCURS 0 TO 3 DEPENDING ON LINE-COUNT.
             10 LINE-TEXT    PIC X(4).
          05 LAST-ONE        PIC X(20).
";

const SERVICE: &str = "
copybook = \"order.cpy\"
encoding = \"ascii\"
[provider]
kind = \"canned\"
file = \"records.dat\"
[request]
key-style = \"camel\"
[response]
key-style = \"camel\"
[[type]]
field = \"REQ-DATE\"
is = \"date\"
pattern = \"yyyyMMdd\"
[[type]]
field = \"REQ-FLAG\"
is = \"codes\"
";

const API: &str = "
base-path = \"/v1\"
[[operation]]
id = \"post\"
method = \"POST\"
path = \"/orders/{name}\"
service = \"orders\"
[[operation.parameter]]
name = \"name\"
in = \"path\"
field = \"REQ-NAME\"
[[operation.parameter]]
name = \"amount\"
in = \"query\"
field = \"REQ-AMOUNT\"
minimum = -5
maximum = 100
[[operation.parameter]]
name = \"day\"
in = \"query\"
field = \"REQ-DATE\"
[operation.body]
";

thread_local! {
    static WORLD: RefCell<(Definitions, OperationLane)> = RefCell::new(world());
}

fn world() -> (Definitions, OperationLane) {
    let folder = std::env::temp_dir().join(format!("quayline-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("order.cpy"), COPYBOOK).expect("a file");
    let service = Arc::new(Service::compile("services/orders.toml", SERVICE, Path::new(&folder)).expect("it is right"));
    std::fs::remove_dir_all(&folder).expect("it is there");
    let api = Api::compile("apis/orders.toml", API, std::slice::from_ref(&service)).expect("it is right");
    let definitions = Definitions::new(vec![service], vec![Arc::new(api)]).expect("they go together");
    let lane = OperationLane::new(&definitions.operations[0]);
    (definitions, lane)
}

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    // The target up to the first line feed, then the body.
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (Ok(target), body) = (std::str::from_utf8(&data[..at]), data.get(at + 1..).unwrap_or_default()) else { return };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = format!("/v1/orders/{path}");
    WORLD.with_borrow_mut(|(definitions, lane)| {
        let Routed::To(0, path_values) = definitions.find("POST", &path) else { return };
        let operation = &definitions.operations[0];
        let header = |_: &str| None;
        let request =
            Request { path_values: &path_values, query, header: &header, body, media_type: Some("application/json") };
        let mut record = match lane.record(operation, &request) {
            Ok(record) => record.to_vec(),
            Err(problem) => {
                assert!((400..=415).contains(&problem.status), "{problem:?}");
                // Its text is JSON, whatever names the request had.
                let text = problem.json("id").to_string();
                serde_json::from_str::<serde_json::Value>(&text).expect("a problem is JSON");
                return;
            }
        };
        record.resize(64, b' ');
        let fields = asked_fields(operation, query);
        match lane.answer(operation, &mut record, Media::Json, fields.as_deref(), Vec::new()) {
            Ok(answer) => {
                let text = &answer.buffer[..answer.len];
                let value: serde_json::Value = serde_json::from_slice(text).expect("an answer is JSON");
                assert!(value.is_object());
            }
            Err(problem) => assert!(matches!(problem.status, 400 | 502), "{problem:?}"),
        }
    });
}
