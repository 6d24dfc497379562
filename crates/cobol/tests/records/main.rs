//! Records to JSON and back through copybooks, plans and the JSON crate.

mod audited;
mod contradictions;
mod dates;
mod found;
mod laws;
mod names;
mod null;
mod odo;
mod preserved;
mod probes;
mod reviewed;
mod shared;
mod short;
mod values;
mod views;

use quayline_charset::Charset;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_cobol::{Interface, Policies, RecordDecoder, RecordEncoder, RecordPlan};
use quayline_core::Sink;
use quayline_json::{JsonReader, JsonStyle, JsonWriter, ReaderOptions};

/// Lines of a copybook, from column 8 on.
fn layout(lines: &str) -> Layout {
    layout_with(lines, &Dialect::IBM)
}

fn layout_with(lines: &str, dialect: &Dialect) -> Layout {
    let text: String = lines.lines().map(|line| format!("       {line}\n")).collect();
    let parsed = quayline_cobol::parse(&SourceText::new("t.cpy", text), &ParseOptions::default());
    let parsed = parsed.unwrap_or_else(|findings| panic!("{findings}"));
    Layout::build(&parsed.records[0], dialect).unwrap_or_else(|findings| panic!("{findings}"))
}

fn plan(lines: &str, interface: &Interface, policies: &Policies) -> RecordPlan {
    plan_in(&layout(lines), "cp037", interface, policies)
}

fn plan_in(layout: &Layout, page: &str, interface: &Interface, policies: &Policies) -> RecordPlan {
    let charset = Charset::by_name(page).expect("a known page");
    RecordPlan::new(layout, interface, policies, charset).unwrap_or_else(|findings| panic!("{findings}"))
}

/// The record as one line of JSON, or its faults.
fn decode(plan: &RecordPlan, record: &[u8]) -> Result<String, String> {
    let mut writer = JsonWriter::new(plan.shape(), JsonStyle::default());
    let done = RecordDecoder::new(plan).decode(record, &mut writer);
    done.map_err(|faults| {
        writer.discard();
        faults.0.iter().map(|f| format!("{} {f}\n", f.kind.code())).collect::<String>()
    })?;
    Ok(String::from_utf8(writer.bytes().to_vec()).expect("JSON is UTF-8").trim_end().to_owned())
}

/// The document as a record, or its faults.
fn encode(plan: &RecordPlan, json: &str) -> Result<Vec<u8>, String> {
    let mut encoder = RecordEncoder::new(plan);
    JsonReader::new(plan.shape(), ReaderOptions::default())
        .read(json.as_bytes(), &mut encoder)
        .unwrap_or_else(|fault| panic!("{json}: {fault:?}"));
    let record = encoder.take().map(<[u8]>::to_vec);
    record.map_err(|faults| faults.0.iter().map(|f| format!("{} {f}\n", f.kind.code())).collect())
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).expect("ASCII"), 16).expect("hex digits"))
        .collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// `text` in code page 037.
fn ebcdic(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    Charset::by_name("cp037").expect("known").encode_into(text, &mut bytes).expect("in the page");
    bytes
}
