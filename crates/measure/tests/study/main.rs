//! The whole study, as short as it goes: every part runs, nothing fails, page and JSON are whole.

use std::path::Path;
use std::process::Command;

#[test]
fn every_part_of_the_study_runs() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dealership");
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("dealership");
    assert!(Command::new("cp").arg("-r").arg(&source).arg(&project).status().unwrap().success());
    let _ = std::fs::remove_dir_all(project.join("modules"));
    if Command::new("cobc").arg("--version").output().is_err() {
        eprintln!("skipped: every_part_of_the_study_runs: cobc is not installed");
        return;
    }
    let out = folder.path().join("out");
    let done = Command::new(env!("CARGO_BIN_EXE_quayline-measure"))
        .arg("gateway")
        .arg(&project)
        .args(["--short", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let (text, told) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(done.status.success(), "{told}{text}");
    assert!(text.contains("Failed requests: 0") && text.contains("µs a kilobyte of JSON"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("gateway.json")).unwrap()).unwrap();
    let count = |name: &str| json[name].as_array().map_or(0, Vec::len);
    assert_eq!((count("saturated"), count("thinkTime"), count("staticBytes"), count("linearity")), (2, 14, 2, 3));
    assert_eq!((count("cpuByClients"), json["failures"].as_u64()), (8, Some(0)));
    let maxcars = &json["maxCars"];
    for runs in [&maxcars["read"], &maxcars["notRead"]] {
        assert!(runs[0]["answers"].as_u64().unwrap() > 0, "{maxcars}");
    }
    for row in json["thinkTime"].as_array().unwrap() {
        // Sizes follow the report's within one per cent.
        let (bytes, printed) = (row["bodyBytes"].as_f64().unwrap(), row["printedBytes"].as_f64().unwrap());
        assert!((bytes / printed - 1.0).abs() < 0.01, "{row}");
        assert!(row["answers"].as_u64().unwrap() > 0 && row["failures"] == 0, "{row}");
    }
    let page = std::fs::read_to_string(out.join("gateway.html")).unwrap();
    assert!(
        page.matches("<svg").count() >= 8
            && page.matches("<table").count() == 2
            && !page.contains("src=")
            && !page.contains("http://"),
        "{page}"
    );
}
