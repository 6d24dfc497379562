//! Copybook probes of the corpus for single features, each through the command.

use serde_json::Value;

use crate::world::{World, corpus};

#[test]
fn every_probe_gives_its_values() {
    let Some(path) = corpus("reference/probes/probes.json") else { return };
    let text = std::fs::read_to_string(path).expect("the probes can be read");
    let probes: Vec<Value> = serde_json::from_str(&text).expect("the probes are JSON");
    assert!(probes.len() >= 20, "{} probes", probes.len());
    let wrong: Vec<String> = probes.iter().flat_map(probe).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the faults of one probe.
fn probe(probe: &Value) -> Vec<String> {
    let name = probe["name"].as_str().expect("a probe has a name");
    let lines = probe["copybook"].as_array().expect("a probe has a copybook");
    let copybook: String = lines.iter().map(|line| format!("       {}\n", line.as_str().expect("a line"))).collect();
    let record = hex(probe["record_hex"].as_str().expect("a probe has a record"));
    let world = World::with([("probe.cpy", copybook.as_bytes()), ("probe.dat", record.as_slice())]);
    let ran = world.run("convert probe.dat --copybook probe.cpy --encoding cp037 --numbers string");
    if ran.code != Some(0) {
        return vec![format!("{name}: exit {:?}\n{}", ran.code, ran.err())];
    }
    let document: Value = serde_json::from_slice(&ran.stdout).expect("the output is JSON");
    let expected = probe["expected"].as_object().expect("a probe expects values");
    let differs = |(path, wanted): (&String, &Value)| {
        let found = at(&document, path);
        let fits = match wanted {
            Value::Array(any) => any.contains(found),
            one => one == found,
        };
        (!fits).then(|| format!("{name}: {path} is {found}, expected {wanted}"))
    };
    expected.iter().filter_map(differs).collect()
}

/// Returns the value at a path such as `A.B[0]`.
fn at<'a>(document: &'a Value, path: &str) -> &'a Value {
    let mut value = document;
    for part in path.split('.') {
        let mut names = part.split('[');
        value = &value[names.next().expect("a part has a name")];
        for index in names {
            value = &value[index.trim_end_matches(']').parse::<usize>().expect("an index")];
        }
    }
    value
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).expect("a hexadecimal digit").try_into().expect("four bits")).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
