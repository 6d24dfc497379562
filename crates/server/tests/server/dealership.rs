//! The report's seven scenarios over `examples/dealership`, its COBOL program included: sizes of its Table 1, within 1 %.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::world::Server;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { std::fs::copy(&path, &target).map(|_| ()).unwrap() }
    }
}

fn server() -> Option<Server> {
    let folder = tempfile::tempdir().unwrap();
    copy(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/dealership"), folder.path());
    let _ = std::fs::remove_dir_all(folder.path().join("modules"));
    if Command::new("cobc").arg("--version").output().is_err() {
        eprintln!("skipped: dealership: GnuCOBOL (cobc) is not installed");
        return None;
    }
    std::fs::write(folder.path().join("quayline.toml"), "[serve]\nlisten = \"127.0.0.1:0\"\nthreads = 1\n").unwrap();
    Some(Server::start(folder))
}

#[test]
fn the_seven_payloads_have_the_printed_sizes() {
    let Some(server) = server() else { return };
    for (target, printed) in [
        ("/car100/models?maxCars=100&maxDealers=25", 63_949usize),
        ("/scenarios/exclude-dealers?maxCars=100&maxDealers=25", 59_634),
        ("/scenarios/exclude-cars?maxCars=0&maxDealers=25", 4_441),
        ("/scenarios/exclude-10-fields?maxCars=100&maxDealers=25", 35_649),
        ("/car100rename/models?maxCars=100&maxDealers=25", 38_487),
        ("/car100/models?maxCars=50&maxDealers=25", 34_298),
        ("/car100/models?maxCars=10&maxDealers=25", 10_578),
    ] {
        let answer = server.get(target, "");
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        let off = answer.body.len().abs_diff(printed);
        assert!(off * 100 <= printed, "{target}: {} bytes, printed {printed}", answer.body.len());
    }
}

#[test]
fn the_program_searches_its_stock() {
    let Some(server) = server() else { return };
    let search = |model: &str, body: &str| server.post(&format!("/car100rename/models/{model}/search"), "", body);
    let found = search("VECTOR", r#"{"CAR100CP":{"Request":{"MaxCars":3,"MaxDealers":0,"Extras":"Y"}}}"#);
    let json: serde_json::Value = serde_json::from_slice(&found.body).unwrap();
    let cars = json["CAR100CP"]["CarFinder"]["Cars"]["Data"].as_array().unwrap();
    assert_eq!(json["CAR100CP"]["Response"]["Availability"], "A");
    assert!(
        !cars.is_empty() && cars.iter().all(|car| car["Model"] == "VECTOR" && car["LeatherSeats"] == "YES"),
        "{json}"
    );
    assert_eq!(search("NOPE", "{\"CAR100CP\":{}}").status, 404);
    let more = search("VECTOR", r#"{"CAR100CP":{"Request":{"MaxCars":101}}}"#);
    assert!(more.status == 400 && more.text().contains("at most 100"), "{}", more.text());
    let refused = search("VECTOR", r#"{"CAR100CP":{"Request":{"Model":"X"}}}"#);
    assert!(refused.status == 400 && refused.text().contains("closed"), "{}", refused.text());
    assert_eq!(search("VECTOR", "").status, 400);
}

#[test]
fn a_program_is_compiled_from_its_source_again_when_that_changes() {
    let Some(server) = server() else { return };
    let get = || server.get("/car100/models?maxCars=1&maxDealers=1", "");
    assert_eq!(get().status, 200, "{}", server.log());
    server.has_logged("CARINQ.cbl is compiled to");
    let left: Vec<_> = std::fs::read_dir(server.folder.path().join("modules")).unwrap().flatten().collect();
    let mut left: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, ["CARINQ.so", "CARINQ.so.made"]);
    // A source that does not compile leaves the program that there is; the compiler's words are in the log.
    let path = server.folder.path().join("program/CARINQ.cbl");
    let good = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, good.replace("PROCEDURE DIVISION", "PROCEDURES DIVISION")).unwrap();
    crate::world::wait_for("the compiler's error", || server.log().contains("is not compiled: cobc says"));
    server.has_logged("to compile it by hand: cd ");
    assert_eq!(get().status, 200);
    // The source of the module that is there needs no compiler; another one does.
    std::fs::write(&path, good.replacen("    GOBACK.", "    CONTINUE.\n           GOBACK.", 1)).unwrap();
    crate::world::wait_for("the program", || server.log().matches("CARINQ.cbl is compiled to").count() == 2);
    crate::world::wait_for("an answer", || get().status == 200);
}
