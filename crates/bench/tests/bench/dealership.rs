//! The seven payloads of `examples/dealership` against the sizes that the report prints (its Table 1).

use std::path::Path;

use quayline_bench::data::{CarRecords, Length};
use quayline_bench::subject::Subject;

/// Interface file, cars, printed bytes, our bytes.
const SCENARIOS: [(&str, u32, usize, usize); 7] = [
    ("baseline", 100, 63_949, 63_958),
    ("exclude-dealers", 100, 59_634, 59_643),
    ("exclude-cars", 0, 4_441, 4_437),
    ("exclude-10-fields", 100, 35_649, 35_658),
    ("rename", 100, 38_487, 38_552),
    ("odo-50", 50, 34_298, 34_307),
    ("odo-10", 10, 10_578, 10_587),
];

#[test]
fn payloads_have_the_printed_sizes_within_half_a_percent() {
    for (name, cars, printed, expected) in SCENARIOS {
        for length in [Length::Fields, Length::Commarea] {
            let data = CarRecords { cars, dealers: 25, length };
            let subject = Subject::of_cars(data, &interface(name), 3).expect("the interface file fits");
            let json = subject.json();
            for line in json.split_inclusive(|byte| *byte == b'\n') {
                let size = line.len() - 1;
                let off = size.abs_diff(printed) as f64 / printed as f64;
                assert!(off <= 0.005, "{name}: {size} bytes, printed {printed}: {:.2} % off", off * 100.0);
                assert_eq!(size, expected, "{name}: the size of today");
            }
            assert_eq!(json.iter().filter(|byte| **byte == b'\n').count(), 3, "{name}: a line a record");
        }
    }
}

#[test]
fn the_table_of_the_readme_has_these_sizes() {
    let readme = std::fs::read_to_string(folder().join("README.md")).expect("examples/dealership/README.md");
    for (name, cars, printed, expected) in SCENARIOS {
        let end = format!("| `{name}.toml` | {cars} | {printed} | {expected} |");
        assert!(readme.lines().any(|line| line.ends_with(&end)), "no row ends with {end}");
    }
}

/// The rules that the report's differences give: 593 bytes a car, 4,315 for the dealers, 283 for the ten fields.
#[test]
fn differences_between_payloads_are_those_of_the_report() {
    let ours = |name: &str| SCENARIOS.iter().find(|row| row.0 == name).map_or(0, |row| row.3);
    let printed = |name: &str| SCENARIOS.iter().find(|row| row.0 == name).map_or(0, |row| row.2);
    for other in ["exclude-dealers", "exclude-10-fields", "odo-50", "odo-10"] {
        assert_eq!(ours("baseline") - ours(other), printed("baseline") - printed(other), "{other}");
    }
}

fn interface(name: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.toml"))).expect("an interface file of examples/dealership")
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dealership")
}
