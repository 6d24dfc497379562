//! The probes of the reference corpus, each of which covers one feature.

use quayline_cobol::{Interface, Policies};
use serde_json::Value;

use crate::{decode, encode, hex, plan, to_hex};

#[test]
fn every_probe_decodes_to_the_expected_values() {
    let Some(probes) = probes() else { return };
    let mut failed = Vec::new();
    for probe in &probes {
        let name = probe["name"].as_str().unwrap_or_default();
        let (plan, record) = (plan(&copybook(probe), &Interface::default(), &Policies::default()), record(probe));
        match decode(&plan, &record) {
            Err(faults) => failed.push(format!("{name}: {faults}")),
            Ok(json) => {
                for (path, want) in probe["expected"].as_object().expect("expected values by path") {
                    let got = text_at(&json, path);
                    let fits = match want {
                        Value::Array(any) => any.iter().any(|w| w.as_str() == got.as_deref()),
                        one => one.as_str() == got.as_deref(),
                    };
                    if !fits {
                        failed.push(format!("{name}: {path} is {got:?}, expected {want} in {json}"));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(probes.len() >= 20, "the corpus has {} probes", probes.len());
}

/// The record of a probe is the same after decode and encode, except for blanks after a shorter table.
#[test]
fn every_probe_encodes_back() {
    let Some(probes) = probes() else { return };
    for probe in &probes {
        let (plan, record) = (plan(&copybook(probe), &Interface::default(), &Policies::default()), record(probe));
        let json = decode(&plan, &record).expect("decodes");
        let mut again = encode(&plan, &json).unwrap_or_else(|faults| panic!("{}: {faults}", probe["name"]));
        again.resize(record.len(), plan.pad_byte());
        // UTF-8 items are padded with spaces; the probe's has binary zeros, as a group move leaves them.
        let canonical: Vec<u8> = match probe["name"].as_str() {
            Some("utf8-u") => record.iter().map(|b| if *b == 0 { b' ' } else { *b }).collect(),
            _ => record,
        };
        assert_eq!(to_hex(&again), to_hex(&canonical), "{}", probe["name"]);
    }
}

fn probes() -> Option<Vec<Value>> {
    let corpus =
        std::env::var("QUAYLINE_CORPUS").unwrap_or_else(|_| format!("{}/../../../shared", env!("CARGO_MANIFEST_DIR")));
    let path = format!("{corpus}/reference/probes/probes.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!(
            "skipped: {}: the copybook probes are not there ({path}); set QUAYLINE_CORPUS to the folder that holds `reference`",
            std::thread::current().name().unwrap_or("a test")
        );
        return None;
    };
    Some(serde_json::from_str(&text).expect("probes.json is JSON"))
}

fn copybook(probe: &Value) -> String {
    let lines = probe["copybook"].as_array().expect("lines");
    lines.iter().map(|line| format!("{}\n", line.as_str().unwrap_or_default())).collect()
}

fn record(probe: &Value) -> Vec<u8> {
    hex(probe["record_hex"].as_str().expect("hex digits"))
}

/// Returns the value at `A.B[0]` as it is written in the JSON.
fn text_at(json: &str, path: &str) -> Option<String> {
    let document: Value = serde_json::from_str(json).expect("our JSON is JSON");
    let mut at = &document;
    for part in path.split('.') {
        let (name, indices) = part.split_once('[').map_or((part, ""), |(name, rest)| (name, rest));
        at = at.get(name)?;
        for index in indices.split(['[', ']']).filter(|i| !i.is_empty()) {
            at = at.get(index.parse::<usize>().ok()?)?;
        }
    }
    match at {
        Value::String(text) => Some(text.clone()),
        // serde_json keeps no digits beyond a double; the member's own text does.
        Value::Number(_) => {
            let key = format!("\"{}\":", path.rsplit('.').next().unwrap_or(path));
            let from = json.find(&key)? + key.len();
            let rest = &json[from..];
            Some(rest[..rest.find([',', '}', ']'])?].to_owned())
        }
        _ => None,
    }
}
