//! A small project in memory, and calls of its operations.

use std::path::Path;
use std::sync::Arc;

use quayline_gateway::{
    Api, Definitions, Media, Operation, OperationLane, Problem, Request, Routed, Service, asked_fields,
};

/// The copybook of most tests: text, numbers, a table with a counter, a redefinition, a filler.
pub(crate) const COPYBOOK: &str = "
       01 ORDER-AREA.
          05 REQ.
             10 REQ-NAME        PIC X(8).
             10 REQ-AMOUNT      PIC S9(5)V99 COMP-3.
             10 REQ-COUNT       PIC 9(4).
             10 REQ-DATE        PIC X(8).
             10 REQ-FLAG        PIC X.
                88 REQ-YES      VALUE 'Y'.
                88 REQ-NO       VALUE 'N'.
             10 FILLER          PIC X(3).
          05 RESP.
             10 RESP-CODE       PIC S9(4) COMP.
             10 RESP-STATE      PIC X.
                88 RESP-OPEN    VALUE 'O'.
                88 RESP-CLOSED  VALUE 'C'.
             10 RESP-DAY        PIC 9(8).
             10 RESP-NOTE       PIC X(6).
             10 RESP-NUMBER     PIC 9(3).
             10 LINE-COUNT      PIC 9(2).
             10 LINE-ITEM OCCURS 3.
                15 LINE-TEXT    PIC X(4).
             10 RAW             PIC X(4).
             10 RAW-NUMBER REDEFINES RAW PIC 9(4).
";

/// Content of a service file in addition to the copybook.
pub(crate) const SERVICE: &str = "
copybook = \"order.cpy\"
encoding = \"ascii\"
[provider]
kind = \"canned\"
file = \"records.dat\"
[request]
key-style = \"camel\"
exclude = [\"RESP\"]
[response]
key-style = \"camel\"
exclude = [\"REQ\"]
";

/// A project of one service and one API.
pub(crate) struct World {
    pub(crate) definitions: Definitions,
}

impl World {
    pub(crate) fn new(service: &str, api: &str) -> World {
        World::of(service, api).unwrap_or_else(|findings| panic!("{findings}"))
    }

    pub(crate) fn of(service: &str, api: &str) -> Result<World, String> {
        World::over(COPYBOOK, service, api)
    }

    pub(crate) fn over(copybook: &str, service: &str, api: &str) -> Result<World, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("order.cpy"), copybook).unwrap();
        let service = compile(service, folder.path())?;
        let api = Api::compile("apis/orders.toml", api, std::slice::from_ref(&service)).map_err(|f| f.to_string())?;
        let definitions = Definitions::new(vec![service], vec![Arc::new(api)]).map_err(|f| f.to_string())?;
        Ok(World { definitions })
    }

    pub(crate) fn operation<'a>(&'a self, method: &str, path: &'a str) -> (&'a Arc<Operation>, Vec<&'a str>) {
        match self.definitions.find(method, path) {
            Routed::To(index, values) => (&self.definitions.operations[index], values),
            other => panic!("{method} {path}: {other:?}"),
        }
    }

    /// Returns the record of a request: printable bytes unchanged, others as `\xNN`.
    pub(crate) fn record(&self, method: &str, target: &str, body: &str) -> Result<String, Problem> {
        self.record_bytes(method, target, body).map(|bytes| bytes.escape_ascii().to_string())
    }

    pub(crate) fn record_bytes(&self, method: &str, target: &str, body: &str) -> Result<Vec<u8>, Problem> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (operation, path_values) = self.operation(method, path);
        let mut lane = OperationLane::new(operation);
        let header = |name: &str| (name == "x-flag").then_some("Y");
        let media_type = Some("application/json");
        let request = Request { path_values: &path_values, query, header: &header, body: body.as_bytes(), media_type };
        let mut answers = Vec::new();
        // Twice: nothing of one request may show in the next.
        for _ in 0..2 {
            answers.push(lane.record(operation, &request).map(|parts| parts.to_vec()).map_err(|problem| *problem));
        }
        assert_eq!(answers[0], answers[1]);
        answers.remove(0)
    }

    /// The answer for a record: status and body.
    pub(crate) fn answer(&self, record: &[u8], target: &str, media: Media) -> Result<(u16, String), Problem> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (operation, _) = self.operation("GET", path);
        let mut lane = OperationLane::new(operation);
        let fields = asked_fields(operation, query);
        let mut answers = Vec::new();
        for _ in 0..2 {
            let answer =
                lane.answer(operation, &mut record.to_vec(), media, fields.as_deref(), b"old content".to_vec());
            answers.push(
                answer
                    .map_err(|problem| *problem)
                    .map(|answer| (answer.status, String::from_utf8(answer.buffer[..answer.len].to_vec()).unwrap())),
            );
        }
        assert_eq!(answers[0], answers[1]);
        answers.remove(0)
    }
}

fn compile(text: &str, root: &Path) -> Result<Arc<Service>, String> {
    Service::compile("services/orders.toml", text, root).map(Arc::new).map_err(|findings| findings.to_string())
}

/// Problems as lines.
pub(crate) fn lines(problem: &Problem) -> String {
    let mut text = format!("{} {} {}", problem.status, problem.code, problem.detail);
    for error in &problem.errors {
        text.push_str(&format!("\n{} {} {}: {}", error.place, error.field, error.rule, error.detail));
    }
    text
}

pub(crate) const GET: &str = "
base-path = \"/v1\"
[[operation]]
method = \"GET\"
path = \"/orders\"
service = \"orders\"
";
