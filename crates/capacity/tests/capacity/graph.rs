//! Work with several steps, sequential and parallel, that share resources.

use quayline_capacity::{GraphStep, ModelError, Origin, Seconds, Servers, StepOrder, WorkGraph};

fn step(name: &str, workers: u32, transactions: f64, cpu: f64, delay: f64) -> GraphStep {
    GraphStep { name: name.to_owned(), workers, transactions, demands: vec![Seconds(cpu), Seconds(delay)] }
}

fn graph(processors: u32, steps: Vec<GraphStep>, order: StepOrder) -> WorkGraph {
    let stations = vec![("processors".to_owned(), Servers::Count(processors)), ("other".to_owned(), Servers::Delay)];
    WorkGraph { stations, steps, order, origin: Origin::Measured }
}

fn elapsed(graph: &WorkGraph) -> f64 {
    graph.predict().expect("a prediction").value.elapsed.0
}

#[test]
fn steps_one_after_another_add_up() {
    let steps = vec![step("load", 1, 1_000.0, 0.002, 0.001), step("sort", 1, 500.0, 0.004, 0.0)];
    let graph = graph(2, steps, StepOrder::Sequence(vec![StepOrder::Step(0), StepOrder::Step(1)]));
    let predicted = graph.predict().expect("a prediction").value;
    assert!((predicted.elapsed.0 - 5.0).abs() < 1e-9, "{predicted:?}");
    assert_eq!(predicted.phases.len(), 2);
    assert!((predicted.phases[1].begin.0 - 3.0).abs() < 1e-9 && predicted.phases[1].running[0].0 == 1);
    // Two thirds of a worker's time on one of two processors.
    assert!((predicted.phases[0].utilization[0].0 - 1.0 / 3.0).abs() < 1e-9, "{predicted:?}");
}

#[test]
fn steps_at_once_share_the_processors() {
    let steps = |workers| vec![step("a", workers, 1_000.0, 0.002, 0.0), step("b", workers, 1_000.0, 0.002, 0.0)];
    let together = StepOrder::Together(vec![StepOrder::Step(0), StepOrder::Step(1)]);
    // A processor for each, and then both on one.
    assert!((elapsed(&graph(2, steps(1), together.clone())) - 2.0).abs() < 1e-9);
    assert!((elapsed(&graph(1, steps(1), together.clone())) - 4.0).abs() < 1e-9);
    // With many workers, the processors limit: 4 s of CPU time on two of them.
    assert!((elapsed(&graph(2, steps(8), together)) - 2.0).abs() < 1e-6);
}

#[test]
fn what_a_short_step_leaves_runs_faster_alone() {
    let steps = vec![
        step("short", 1, 500.0, 0.002, 0.0),
        step("long", 1, 1_000.0, 0.002, 0.0),
        step("end", 1, 100.0, 0.01, 0.0),
    ];
    let order = StepOrder::Sequence(vec![
        StepOrder::Together(vec![StepOrder::Step(0), StepOrder::Step(1)]),
        StepOrder::Step(2),
    ]);
    let predicted = graph(1, steps, order).predict().expect("a prediction").value;
    // Both do 250 a second until the short one ends at 2 s; the rest of the long one takes 1 s, and the end 1 s.
    let begins: Vec<f64> = predicted.phases.iter().map(|phase| phase.begin.0).collect();
    assert!((predicted.elapsed.0 - 4.0).abs() < 1e-9, "{predicted:?}");
    assert!(begins.iter().zip([0.0, 2.0, 3.0]).all(|(found, expected)| (found - expected).abs() < 1e-9), "{begins:?}");
}

#[test]
fn workers_shorten_a_step_until_a_station_is_full() {
    let of = |workers| elapsed(&graph(2, vec![step("a", workers, 1_000.0, 0.001, 0.003)], StepOrder::Step(0)));
    assert!((of(1) - 4.0).abs() < 1e-9);
    assert!(of(2) < of(1) && of(4) < of(2) && of(64) < of(4));
    assert!((of(512) - 0.5).abs() < 1e-3, "{}", of(512));
}

#[test]
fn orders_that_do_not_name_each_step_once_are_refused() {
    let steps = || vec![step("a", 1, 1.0, 0.001, 0.0), step("b", 1, 1.0, 0.001, 0.0)];
    for order in [
        StepOrder::Step(0),
        StepOrder::Sequence(vec![StepOrder::Step(0), StepOrder::Step(0)]),
        StepOrder::Sequence(vec![StepOrder::Step(0), StepOrder::Step(2)]),
    ] {
        assert!(matches!(graph(1, steps(), order).predict(), Err(ModelError::WrongLength { .. })));
    }
    let none = graph(1, vec![step("a", 1, 0.0, 0.001, 0.0)], StepOrder::Step(0));
    assert_eq!(none.predict(), Err(ModelError::NoDemand { class: 0 }));
    let idle = graph(1, vec![step("a", 0, 1.0, 0.001, 0.0)], StepOrder::Step(0));
    assert!(idle.predict().is_err());
}
