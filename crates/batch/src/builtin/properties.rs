//! The properties of the artifacts that come with Quayline, for the check of a job before it runs.

use quayline_core::{Finding, Limits};
use quayline_frame::FramingSpec;
use quayline_postgres::Endpoint;

use super::file_mapper::PARTITIONS_MAX;
use super::limits::limit_of;
use crate::artifact::{Expected, Given, Properties, Property, Registry, Wrong};

const TEXT: Expected = Expected::Text;
const FRAMING: Expected = Expected::Checked(framing);
const DATABASE: Expected = Expected::Checked(database);
const LIMIT: Expected = Expected::Checked(limit);
const COBOL_LENGTH: Expected = Expected::Number(1, super::cobol::LENGTH_MAX, "the length of the parameter");
const COLUMNS: Expected = Expected::Checked(columns);
const ITEMS: Expected = Expected::OneOf(&["json", "csv"]);

const fn required(name: &'static str, expected: Expected) -> Property {
    Property::required(name, expected)
}

const fn optional(name: &'static str, expected: Expected) -> Property {
    Property::optional(name, expected)
}

const fn number(default: &'static str) -> Expected {
    Expected::Number(0, u64::MAX, default)
}

/// Returns a time limit of 1 second to a year; longer ones would overflow clocks.
const fn seconds(default: &'static str) -> Expected {
    Expected::Number(1, 31_536_000, default)
}

const EXTERNAL: Properties =
    Properties::and_others(&[required("command", TEXT), optional("timeout-s", seconds("300"))]);

const FILE_READER: Properties = Properties {
    together: Some(range),
    ..Properties::only(&[
        required("file", TEXT),
        optional("framing", FRAMING),
        optional("skip", number("0")),
        optional("from", number("0")),
        optional("to", number("the end of the file")),
        optional("limit", LIMIT),
    ])
};

const FILE_WRITER: Properties = Properties::only(&[
    required("file", TEXT),
    optional("framing", Expected::Checked(written_framing)),
    optional("first-number", Expected::Number(1, 999_999_999, "1")),
    optional("pad", Expected::Checked(pad)),
    optional("prologue", TEXT),
    optional("separator", TEXT),
    optional("epilogue", TEXT),
    optional("limit", LIMIT),
]);

const SQL_WRITER: Properties = Properties {
    together: Some(key_of_mode),
    ..Properties::only(&[
        optional("database", DATABASE),
        required("table", TEXT),
        required("columns", COLUMNS),
        optional("key", COLUMNS),
        optional("mode", Expected::OneOf(&["insert", "update", "upsert", "delete"])),
        optional("items", ITEMS),
        optional("send", Expected::OneOf(&["set", "rows"])),
        optional("missing", Expected::OneOf(&["error", "ignore"])),
        optional("inexact", Expected::OneOf(&["error", "round"])),
    ])
};

/// Element, artifact, properties.
const ALL: &[(&str, &str, Properties)] = &[
    ("reader", "quayline.fileReader", FILE_READER),
    ("reader", "quayline.queueReader", Properties::only(&[required("queue", TEXT), optional("wait-ms", number("0"))])),
    ("reader", "quayline.recordFileReader", Properties::only(&[required("file", TEXT)])),
    (
        "reader",
        "quayline.rejectReader",
        Properties::only(&[
            required("execution", number("none")),
            optional("step", TEXT),
            optional("stage", Expected::OneOf(&["process", "write"])),
        ]),
    ),
    (
        "reader",
        "quayline.sqlReader",
        Properties::only(&[
            optional("database", DATABASE),
            required("query", TEXT),
            required("key", TEXT),
            optional("items", ITEMS),
            optional("fetch", number("1000")),
        ]),
    ),
    (
        "processor",
        "quayline.mapProcessor",
        Properties::only(&[
            required("map", TEXT),
            optional("envelope", Expected::Checked(pairs)),
            optional("lookups", Expected::Checked(pairs)),
            optional("functions", Expected::Checked(pairs)),
            optional("function-timeout-s", seconds("10")),
            optional("limit", LIMIT),
        ]),
    ),
    (
        "processor",
        "quayline.filterProcessor",
        Properties::only(&[required("where", TEXT), required("shape", TEXT), optional("limit", LIMIT)]),
    ),
    (
        "processor",
        "quayline.commandProcessor",
        Properties::only(&[
            required("command", TEXT),
            optional("timeout-s", seconds("60")),
            optional("filter-code", Expected::Number(1, 255, "none")),
            optional("last-line-feed", Expected::OneOf(&["remove", "keep"])),
            optional("limit", LIMIT),
        ]),
    ),
    (
        "reader",
        "quayline.documentReader",
        Properties {
            together: Some(map_or_shape),
            ..Properties::only(&[
                required("file", TEXT),
                optional("map", TEXT),
                optional("shape", TEXT),
                optional("limit", LIMIT),
            ])
        },
    ),
    (
        "reader",
        "quayline.parquetReader",
        Properties {
            together: Some(range),
            ..Properties::only(&[
                required("file", TEXT),
                optional("shape", TEXT),
                optional("unknown", Expected::OneOf(&["error", "ignore"])),
                optional("from", number("0")),
                optional("to", number("the rows of the file")),
                optional("limit", LIMIT),
            ])
        },
    ),
    (
        "writer",
        "quayline.parquetWriter",
        Properties::only(&[
            required("file", TEXT),
            required("shape", TEXT),
            optional("group-bytes", number("16777216")),
            optional("limit", LIMIT),
        ]),
    ),
    (
        "processor",
        "quayline.httpProcessor",
        Properties::only(&[
            required("url", Expected::Checked(super::http::url_of)),
            optional("method", Expected::OneOf(&["POST", "PUT", "PATCH", "GET", "DELETE"])),
            optional("headers", Expected::Checked(headers)),
            optional("headers-file", TEXT),
            optional("ca", TEXT),
            optional("timeout-s", seconds("30")),
            optional("parallel", Expected::Number(1, super::http::PARALLEL_MAX, "1")),
            optional("limit", LIMIT),
        ]),
    ),
    ("writer", "quayline.fileWriter", FILE_WRITER),
    ("writer", "quayline.queueWriter", Properties::only(&[required("queue", TEXT), optional("control-numbers", TEXT)])),
    (
        "writer",
        "quayline.recordFileWriter",
        Properties::only(&[
            required("file", TEXT),
            optional("mode", Expected::OneOf(&["insert", "replace", "upsert", "delete"])),
        ]),
    ),
    ("writer", "quayline.sqlWriter", SQL_WRITER),
    (
        "mapper",
        "quayline.fileMapper",
        Properties::only(&[
            required("file", TEXT),
            optional("framing", Expected::Checked(split_framing)),
            optional("partitions", Expected::Number(1, PARTITIONS_MAX, "2")),
            optional("threads", number("0")),
        ]),
    ),
    (
        "batchlet",
        "quayline.commandBatchlet",
        Properties::only(&[required("command", TEXT), optional("success-max", number("0"))]),
    ),
    (
        "reader",
        "quayline.folderReader",
        Properties::only(&[required("folder", TEXT), optional("name", TEXT), optional("limit", LIMIT)]),
    ),
    (
        "batchlet",
        "quayline.transferBatchlet",
        Properties::only(&[
            required("from", TEXT),
            required("to", TEXT),
            optional("mode", Expected::OneOf(&["copy", "move"])),
            optional("existing", Expected::OneOf(&["error", "replace"])),
        ]),
    ),
    (
        "processor",
        "quayline.cobolProcessor",
        Properties::only(&[
            required("program", TEXT),
            required("length", COBOL_LENGTH),
            optional("modules", TEXT),
            optional("pad", Expected::Checked(pad)),
            optional("timeout-s", seconds("60")),
            optional("working-storage", Expected::OneOf(&["fresh", "keep"])),
            optional("filter-code", Expected::Number(1, i32::MAX as u64, "none")),
        ]),
    ),
    (
        "batchlet",
        "quayline.cobolBatchlet",
        Properties::only(&[
            required("program", TEXT),
            optional("length", COBOL_LENGTH),
            optional("modules", TEXT),
            optional("pad", Expected::Checked(pad)),
            optional("timeout-s", seconds("60")),
            optional("working-storage", Expected::OneOf(&["fresh", "keep"])),
            optional("parameter", TEXT),
            optional("success-max", number("0")),
        ]),
    ),
    (
        "batchlet",
        "quayline.sqlBatchlet",
        Properties::only(&[required("database", DATABASE), required("statement", TEXT)]),
    ),
    ("reader", "quayline.externalReader", EXTERNAL),
    ("processor", "quayline.externalProcessor", EXTERNAL),
    ("writer", "quayline.externalWriter", EXTERNAL),
    ("batchlet", "quayline.externalBatchlet", EXTERNAL),
    ("listener", "quayline.externalListener", EXTERNAL),
    ("decision", "quayline.externalDecider", EXTERNAL),
    ("checkpoint-algorithm", "quayline.externalCheckpointAlgorithm", EXTERNAL),
    ("mapper", "quayline.externalMapper", EXTERNAL),
    ("collector", "quayline.externalCollector", EXTERNAL),
    ("analyzer", "quayline.externalAnalyzer", EXTERNAL),
    ("reducer", "quayline.externalReducer", EXTERNAL),
];

/// Declares the properties of all of them.
pub(super) fn declare(registry: &mut Registry) {
    for (element, name, properties) in ALL {
        registry.declare(element, name, Properties { is_made_by_check: true, ..*properties });
    }
}

fn framing(text: &str) -> Result<(), (String, String)> {
    if text == "edi" {
        return Ok(());
    }
    spec(text).map(|_| ())
}

fn spec(text: &str) -> Result<FramingSpec, (String, String)> {
    let wrong = |finding: Finding| {
        let remedy = finding.hint.unwrap_or_else(|| "write a framing such as lines, fixed:80 or rdw".to_owned());
        (format!("is not a framing: {}", finding.message), remedy)
    };
    let spec = FramingSpec::parse(text).map_err(|error| wrong(error.finding()))?;
    // The longest record is a limit of the run.
    let limits = Limits { record_bytes_max: usize::MAX, ..Limits::default() };
    spec.check(&limits).map_err(|error| wrong(error.finding()))?;
    Ok(spec)
}

fn written_framing(text: &str) -> Result<(), (String, String)> {
    if ["none", "edi"].contains(&text) {
        return Ok(());
    }
    super::file_writer::framing_of(spec(text)?)
        .map(|_| ())
        .map_err(|(what, remedy)| (what.to_owned(), remedy.to_owned()))
}

fn split_framing(text: &str) -> Result<(), (String, String)> {
    super::file_mapper::boundary_of(text).map(|_| ()).map_err(|(what, remedy)| (what.to_owned(), remedy.to_owned()))
}

fn pad(text: &str) -> Result<(), (String, String)> {
    match super::file_writer::pad_of(text) {
        Some(_) => Ok(()),
        None => Err(("is not one byte".to_owned(), "write one ASCII character, space, or a byte as 0x40".to_owned())),
    }
}

fn headers(text: &str) -> Result<(), (String, String)> {
    let remedy = || "write NAME: VALUE, several with | between them".to_owned();
    super::http::headers_of(text).map(|_| ()).map_err(|what| (format!("is wrong in {what}"), remedy()))
}

fn database(text: &str) -> Result<(), (String, String)> {
    Endpoint::parse(text).map(|_| ()).map_err(|error| (error.what.to_string(), error.remedy.to_string()))
}

fn limit(text: &str) -> Result<(), (String, String)> {
    limit_of(text).map(|_| ())
}

fn pairs(text: &str) -> Result<(), (String, String)> {
    super::map::pairs_of(text).map(|_| ())
}

fn map_or_shape(given: &Given) -> Option<Wrong> {
    let is_given = |name: &str| !matches!(given.get(name).map(Option::as_deref), None | Some(Some("")));
    let remedy = "name the map that the items go through in `map`, or a file that describes them in `shape`";
    match (is_given("map"), is_given("shape")) {
        (false, false) => Some(("map", "and `shape` are both missing".to_owned(), remedy.to_owned())),
        (true, true) => Some(("shape", "and `map` are both given".to_owned(), remedy.to_owned())),
        _ => None,
    }
}

/// Reports a range that ends before it begins. Such a range contains no items, so it is a mistake.
fn range(given: &Given) -> Option<Wrong> {
    let number = |name: &str| given.get(name)?.as_deref()?.parse::<u64>().ok();
    let (from, to) = (number("from").unwrap_or(0), number("to")?);
    let remedy = || "write a `to` after `from`, or omit `to` to read up to the end".to_owned();
    (to < from).then(|| ("to", format!("is {to}, before `from`, which is {from}"), remedy()))
}

fn key_of_mode(given: &Given) -> Option<Wrong> {
    let value = |name: &str| given.get(name).map(Option::as_deref);
    let is_given = |name: &str| value(name).is_some_and(|value| value != Some(""));
    let mode = match value("mode") {
        Some(None) => return None,
        None | Some(Some("" | "insert")) => {
            let without = ["key", "missing"].into_iter().find(|name| is_given(name))?;
            let remedy = "remove it, or write mode `update`, `upsert` or `delete`".to_owned();
            return Some((without, "has no effect in mode insert".to_owned(), remedy));
        }
        Some(Some(mode)) => mode,
    };
    if matches!(value("key"), None | Some(Some(""))) {
        let remedy = "add <property name=\"key\" value=\"...\"/>: the columns that find the row of an item";
        return Some(("key", format!("is missing or empty, and mode {mode} needs it"), remedy.to_owned()));
    }
    let (key, columns) = (value("key").flatten()?, value("columns").flatten()?);
    let stranger = key.split(',').map(str::trim).find(|key| !columns.split(',').any(|name| name.trim() == *key))?;
    let remedy = format!("write columns of `columns`: {columns}");
    Some(("key", format!("names `{stranger}`, which is not in `columns`"), remedy))
}

fn columns(text: &str) -> Result<(), (String, String)> {
    if text.split(',').any(|name| name.trim().is_empty()) {
        let remedy = "write names of columns with a comma between two of them: id,name".to_owned();
        return Err(("has an empty name".to_owned(), remedy));
    }
    Ok(())
}

/// Checks the findings for unknown properties of each artifact.
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use quayline_project::job::Artifacts as _;

    use super::*;
    use crate::artifact::Injected;
    use crate::context::{JobContext, StopSignal};
    use crate::record::{ExecutionId, InstanceId};

    #[test]
    fn the_check_knows_the_properties_that_the_artifacts_know() {
        let mut registry = Registry::default();
        super::super::register(&mut registry);
        let job = JobContext::new("j", (InstanceId(1), ExecutionId(1)), BTreeMap::new(), StopSignal::default());
        let job = Arc::new(job);
        for (element, name, properties) in ALL {
            assert_eq!(registry.missing(element, name), None, "{element} {name}");
            if properties.is_open {
                continue;
            }
            let with = Injected {
                name: (*name).to_owned(),
                properties: BTreeMap::from([("no-such".to_owned(), "x".to_owned())]),
                job: Arc::clone(&job),
                step: None,
                folder: std::path::PathBuf::new(),
            };
            let thrown = registry.make_any(element, &with).unwrap_err();
            let given = with.properties.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
            let fault = &registry.properties(element, name, &given)[0];
            assert_eq!((&thrown.message, thrown.remedy.as_ref()), (&fault.message, Some(&fault.remedy)), "{name}");
        }
    }

    #[test]
    fn every_artifact_of_quayline_declares_its_properties() {
        let mut registry = Registry::default();
        super::super::register(&mut registry);
        for element in registry.elements() {
            for name in registry.missing(element, "").unwrap_or_default() {
                assert!(ALL.iter().any(|(of, known, _)| *of == element && *known == name), "{element} {name}");
            }
        }
    }
}
