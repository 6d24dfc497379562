//! `quayline measure`: the files of a study, and the comparison with an earlier one.

use crate::world::World;

const FLOWS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flows");

fn flow(world: &World, more: &str) -> crate::world::Ran {
    world.run(&format!("measure flow {FLOWS} --sample 4 --seconds 0.2 --applications 1 {more}"))
}

#[test]
fn a_study_is_a_report_that_a_later_one_is_compared_with() {
    let world = World::new();
    let ran = flow(&world, "--report first");
    ran.code(0);
    assert!(ran.out().contains("| 4 Update | persistent | 1 |"), "{}", ran.out());
    assert_eq!(world.files(), ["first.csv", "first.html", "first.json"]);
    let csv = String::from_utf8(world.read("first.csv")).expect("UTF-8");
    assert!(
        csv.lines().any(|line| line.contains("4 Update, persistent, 1 application") && line.contains("rate")),
        "{csv}"
    );
    // No machine is a million times slower from one moment to the next.
    flow(&world, "--baseline first.json --tolerance 100000000% --report second").code(0);
    let page = String::from_utf8(world.read("second.html")).expect("UTF-8");
    assert!(page.contains("the same, by more than"), "the page has no comparison");
}

#[test]
fn other_conditions_are_refused_as_a_baseline() {
    let world = World::new();
    flow(&world, "--report first").code(0);
    let ran = flow(&world, "--instances 1 --baseline first.json");
    ran.code(2);
    assert!(ran.err().contains("additional instances") && ran.err().contains("first.json"), "{}", ran.err());
}
