//! Each model names its method, assumptions and validity.

use std::path::Path;

use quayline_capacity::plan::{Minimum, RecoveryObjective, mtu_matches, protect};
use quayline_capacity::{Class, Method, Network, Passes, Seconds, Station, Validity};

/// Functions of the planning models that do not return an estimate: codecs, and parts of a model.
const NO_ESTIMATE: &[&str] = &["compress_record", "decompress_record"];

/// A function at the top level of a planning model returns an estimate, not a bare number or truth value.
#[test]
fn every_planning_model_returns_an_estimate() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/plan");
    let mut functions = 0;
    let mut bare = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of the models") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a source");
        for item in text.split("\npub fn ").skip(1) {
            let signature = item.split('{').next().unwrap_or_default();
            let (name, rest) = signature.split_once('(').expect("parameters");
            functions += 1;
            let returned = rest.rsplit_once("->").map_or("", |(_, returned)| returned);
            if !returned.contains("Estimate<") && !NO_ESTIMATE.contains(&name) {
                bare.push(name.to_owned());
            }
        }
    }
    assert!(bare.is_empty(), "{bare:?}");
    assert!(functions >= 45, "{functions} functions");
}

#[test]
fn every_method_has_a_source_and_assumptions() {
    for method in Method::ALL {
        assert!(!method.name().is_empty() && !method.source().is_empty(), "{method:?}");
        assert!(!method.assumptions().is_empty(), "{method:?} names no assumption");
    }
}

#[test]
fn a_truth_value_says_how_far_it_can_be_trusted() {
    let found = mtu_matches(9000, 8996);
    assert!(found.value);
    assert_eq!(found.method, Method::FrameSizes);
    assert!(matches!(found.validity, Validity::RuleOfSource(_)));
}

/// Without statistics nobody knows the exposure, which is not the same as none.
#[test]
fn settings_without_a_time_protect_all_or_nothing() {
    let rebuild = [30.0, 120.0].map(Seconds);
    let of = |objective| protect(&rebuild, objective).expect("times").value;
    assert_eq!(of(RecoveryObjective::AllIndexes).journalled, [1, 0]);
    assert_eq!(of(RecoveryObjective::AllIndexes).exposure, Some(Seconds(0.0)));
    assert_eq!(of(RecoveryObjective::StatisticsOnly).exposure, Some(Seconds(150.0)));
    assert_eq!(of(RecoveryObjective::Off).exposure, None);
    assert!(of(RecoveryObjective::Off).journalled.is_empty());
    assert_eq!(of(RecoveryObjective::Within(Seconds(30.0))).journalled, [1]);
    assert!(protect(&rebuild, RecoveryObjective::Within(Seconds(-1.0))).is_err());
}

#[test]
fn a_minimum_runs_at_most_at_its_recommendation() {
    for need in [Minimum::EXPRESS, Minimum::CONSOLE, Minimum::ADMINISTRATION, Minimum::ONE_FUNCTION] {
        assert!(need.runs_from.0 <= need.recommended.rating.0, "{need:?}");
    }
}

/// The answer of a Linearizer depends on its passes, so each estimate that comes of one has their number. Exact methods have none.
#[test]
fn an_estimate_names_the_passes_of_its_solver() {
    let stations = vec![Station::queue("cpu", 1, &[Seconds(0.1)]), Station::queue("disk", 1, &[Seconds(0.2)])];
    let network = Network::new(stations, vec![Class::Closed { population: 10, think: Seconds(1.0) }]).expect("valid");
    assert_eq!(network.solve().expect("solvable").passes, None);
    assert_eq!(network.solve_schweitzer().expect("solvable").passes, Some(1));
    let converged = network.solve_linearizer(Passes::Converged).expect("solvable");
    assert!(converged.passes.is_some_and(|passes| passes > 4), "{:?}", converged.passes);
    assert_eq!(converged.passes, converged.clone().map(|_| ()).passes, "a conversion keeps them");
}
