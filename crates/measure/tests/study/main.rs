//! The whole study, as short as it goes: every part runs, nothing fails, page and JSON are whole.

use std::path::Path;
use std::process::Command;

#[test]
fn every_part_of_the_study_runs() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dealership");
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("dealership");
    assert!(Command::new("cp").arg("-r").arg(&source).arg(&project).status().unwrap().success());
    std::fs::create_dir_all(project.join("modules")).unwrap();
    let compiled = Command::new("cobc")
        .args(["-m", "-O2", "-std=ibm", "-fodoslide", "-I", ".", "-o", "modules/CARINQ.so", "program/CARINQ.cbl"])
        .current_dir(&project)
        .output();
    match compiled {
        Ok(done) => assert!(done.status.success(), "{done:?}"),
        Err(error) => {
            eprintln!("skipped: every_part_of_the_study_runs: cobc: {error}");
            return;
        }
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
    assert!(text.contains("Failed requests: 0") && text.contains("us a kilobyte of JSON"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("gateway.json")).unwrap()).unwrap();
    let count = |name: &str| json[name].as_array().map_or(0, Vec::len);
    assert_eq!((count("saturated"), count("thinkTime"), count("linearity"), count("cpuByClients")), (2, 14, 5, 7));
    for row in json["thinkTime"].as_array().unwrap() {
        // Sizes follow the report's within one per cent.
        let (bytes, printed) = (row["bodyBytes"].as_f64().unwrap(), row["printedBytes"].as_f64().unwrap());
        assert!((bytes / printed - 1.0).abs() < 0.01, "{row}");
        assert!(row["answers"].as_u64().unwrap() > 0 && row["failures"] == 0, "{row}");
    }
    let page = std::fs::read_to_string(out.join("gateway.html")).unwrap();
    assert!(page.matches("<svg").count() >= 7 && !page.contains("src=") && !page.contains("http://"), "{page}");
}
