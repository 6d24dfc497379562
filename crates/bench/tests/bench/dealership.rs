//! The seven payloads of `examples/dealership` against the sizes that the report prints (its Table 1).

use std::path::Path;

use expect_test::expect;
use quayline_bench::data::Length;
use quayline_bench::dealership::SCENARIOS;

#[test]
fn payloads_have_the_printed_sizes_within_half_a_percent() {
    let mut sizes = String::new();
    for scenario in SCENARIOS {
        let name = scenario.name;
        let of = |length| {
            let json = scenario.subject(length, 3).expect("the interface file fits").json();
            let lines: Vec<usize> = json.split_inclusive(|byte| *byte == b'\n').map(|line| line.len() - 1).collect();
            assert_eq!(lines.len(), 3, "{name}: a line a record");
            assert!(lines.iter().all(|size| *size == lines[0]), "{name}: records differ in values, not in size");
            lines[0]
        };
        let size = of(Length::Commarea);
        assert_eq!(size, of(Length::Fields), "{name}: what lies behind the fields does not show");
        let off = size.abs_diff(scenario.printed) as f64 / scenario.printed as f64 * 100.0;
        assert!(off <= 0.5, "{name}: {size} bytes, printed {}: {off:.2} % off", scenario.printed);
        sizes.push_str(&format!("{name}: {size}\n"));
        let row = format!("| `{name}.toml` | {} | {} | {size} |", scenario.cars, scenario.printed);
        assert!(readme().contains(&row), "examples/dealership/README.md has no row with {row}");
    }
    expect![[r#"
        baseline: 63958
        exclude-dealers: 59643
        exclude-cars: 4437
        exclude-10-fields: 35658
        rename: 38552
        odo-50: 34307
        odo-10: 10587
    "#]]
    .assert_eq(&sizes);
}

/// The rules that the report's differences give: 593 bytes a car, 4,315 for the dealers, 283 for the ten fields.
#[test]
fn differences_between_payloads_are_those_of_the_report() {
    let size = |name: &str| {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).expect("one of the seven");
        (scenario.subject(Length::Fields, 1).expect("the interface file fits").json().len() - 1, scenario.printed)
    };
    let baseline = size("baseline");
    for other in ["exclude-dealers", "exclude-10-fields", "odo-50", "odo-10"] {
        assert_eq!(baseline.0 - size(other).0, baseline.1 - size(other).1, "{other}");
    }
}

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dealership/README.md");
    std::fs::read_to_string(path).expect("examples/dealership/README.md")
}
