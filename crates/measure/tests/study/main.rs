//! The whole study, as short as it goes: every part runs, nothing fails, its report is whole.

mod listener;

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
    let out = folder.path().join("study");
    let done = Command::new(env!("CARGO_BIN_EXE_quayline-measure"))
        .arg("gateway")
        .arg(&project)
        .args(["--short", "--report"])
        .arg(&out)
        .output()
        .unwrap();
    let (text, told) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(done.status.success(), "{told}{text}");
    assert!(text.contains("Failed requests: 0") && text.contains("µs a kilobyte of JSON"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(out.with_extension("json")).unwrap()).unwrap();
    let rows = |id: &str| -> Vec<Vec<serde_json::Value>> {
        let sections = json["sections"].as_array().unwrap();
        let section = sections.iter().find(|section| section["id"] == id).unwrap();
        serde_json::from_value(section["rows"].clone()).unwrap()
    };
    // Two payloads; 0, 50 and 100 cars; read and not read; seven scenarios and static bytes with two numbers of clients, and open arrivals.
    let counts =
        ["saturated", "linearity", "excluded", "payloads", "think-time", "cost-by-clients"].map(|id| rows(id).len());
    assert_eq!(counts, [2, 3, 2, 7, 17, 8]);
    for row in rows("payloads") {
        // Sizes follow the report's within one per cent.
        let (printed, bytes) = (row[1].as_f64().unwrap(), row[2].as_f64().unwrap());
        assert!((bytes / printed - 1.0).abs() < 0.01, "{row:?}");
    }
    for row in rows("think-time") {
        assert!(row[2].as_f64().unwrap() > 0.0, "{row:?}");
    }
    assert_eq!(json["verdict"], "good");
    let page = std::fs::read_to_string(out.with_extension("html")).unwrap();
    assert!(
        page.matches("<svg").count() >= 3 && page.matches("<table").count() >= 7 && !page.contains("http://"),
        "{page}"
    );
}
