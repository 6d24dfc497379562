//! Comparison of predictions with measured results.

use quayline_capacity::audit::{LAW_MAX, LoadFigures, audit, audit_by, drifts, interpolated};
use quayline_capacity::{ModelError, PerSecond, Seconds};

fn load(users: f64, throughput: f64, response: f64, percentile: Option<f64>) -> LoadFigures {
    LoadFigures {
        users,
        throughput: PerSecond(throughput),
        response: Seconds(response),
        percentile: percentile.map(Seconds),
    }
}

#[test]
fn errors_are_relative_to_what_came() {
    let predicted = [load(10.0, 90.0, 0.012, Some(0.03)), load(20.0, 160.0, 0.02, Some(0.05))];
    let came = [load(10.0, 100.0, 0.01, None), load(20.0, 160.0, 0.025, Some(0.04)), load(30.0, 170.0, 0.08, None)];
    let found = audit(&predicted, &came, Seconds(0.1)).expect("loads in common").value;
    assert_eq!(found.scores.len(), 2);
    assert!((found.scores[0].throughput + 0.1).abs() < 1e-12 && (found.scores[0].response - 0.2).abs() < 1e-12);
    assert_eq!(found.scores[0].percentile, None);
    assert!(found.scores[1].percentile.is_some_and(|error| (error - 0.25).abs() < 1e-12));
    assert!((found.throughput.0 - 0.05).abs() < 1e-12 && (found.response.0 - 0.2).abs() < 1e-12);
    assert!((found.worst.0.0 - 0.1).abs() < 1e-12 && (found.worst.1.0 - 0.2).abs() < 1e-12);
    assert_eq!(found.unmatched, [30.0]);
    // 100 a second of 110 ms are 11 customers, not 10; 160 of 125 ms are 20.
    assert!((found.scores[0].law - 0.1).abs() < 1e-9 && found.scores[0].law <= LAW_MAX + 1e-9);
    assert!(found.scores[1].law.abs() < 1e-9);
}

#[test]
fn loads_that_nobody_predicted_have_no_score() {
    let came = [load(10.0, 100.0, 0.01, None)];
    assert!(matches!(audit(&[], &came, Seconds(0.0)), Err(ModelError::TooFewPoints { .. })));
    let idle = [load(10.0, 0.0, 0.01, None)];
    assert!(matches!(audit(&came, &idle, Seconds(0.0)), Err(ModelError::OutOfRange { .. })));
}

#[test]
fn drift_needs_a_history() {
    assert_eq!(drifts(&[0.02, 0.03], 0.5), None);
    assert_eq!(drifts(&[0.02, 0.03, 0.04], 0.05), Some(false));
    assert_eq!(drifts(&[0.02, 0.03, 0.04], 0.07), Some(true));
    // Errors below a percent are no drift, whatever they were before.
    assert_eq!(drifts(&[0.001, 0.001, 0.001], 0.009), Some(false));
}

#[test]
fn a_load_between_two_predictions_is_on_the_line_between_them() {
    // The order of the predictions does not matter.
    let predicted = [load(8.0, 60.0, 0.25, Some(0.4)), load(1.0, 10.0, 0.125, Some(0.2)), load(4.0, 40.0, 0.125, None)];
    let of = |users: f64| interpolated(&predicted, users);
    assert_eq!(of(4.0), Some(predicted[2]));
    assert_eq!(of(6.0), Some(load(6.0, 50.0, 0.1875, None)));
    assert_eq!(of(2.5), Some(load(2.5, 25.0, 0.125, None)));
    // Less than one user is one user for a part of the time. Above the largest number of users there is no prediction.
    assert_eq!(of(0.75), Some(load(0.75, 7.5, 0.125, Some(0.2))));
    assert_eq!(of(0.125), Some(load(0.125, 1.25, 0.125, Some(0.2))));
    assert_eq!(of(8.1), None);
    // Without a prediction for one user, there is none far below the smallest number.
    let many = |users: f64| interpolated(&predicted[..1], users);
    assert_eq!((many(7.75).map(|found| found.throughput), many(7.5)), (Some(PerSecond(58.125)), None));
}

/// Loads of intervals differ by fractions of a user. The first prediction within half a user was taken for each of them, so a load of 0.6 users was
/// compared with the throughput of 1 user.
#[test]
fn each_load_is_compared_with_the_nearest_prediction() {
    let predicted = [load(1.0, 10.0, 0.1, None), load(0.6, 6.0, 0.1, None)];
    let found = audit(&predicted, &[load(0.6, 6.0, 0.1, None)], Seconds(0.0)).expect("a load in common").value;
    assert!((found.scores[0].throughput, found.scores[0].response) == (0.0, 0.0), "{found:?}");
}

/// Each load of intervals has the prediction between its neighbours, or none.
#[test]
fn a_load_outside_of_all_predictions_has_no_score() {
    let predicted = [load(1.0, 100.0, 0.01, None)];
    let came = [load(0.95, 95.0, 0.01, None), load(1.4, 133.0, 0.0105, None)];
    let found = audit_by(|came| interpolated(&predicted, came.users), &came, Seconds(0.0)).expect("a score").value;
    assert_eq!((found.scores.len(), found.unmatched), (1, vec![1.4]));
    assert!(found.worst.0.0 < 1e-9 && found.worst.1.0 < 1e-9);
}
