//! The simulation against exact answers, and the approximations against the simulation.

use quayline_capacity::plan::{Band, Job, compress_record, compressed_length, decompress_record, regulate};
use quayline_capacity::simulation::{
    Discipline, Regulation, SimulatedClass, SimulatedStation, Simulation, SimulationOutcome, Source, Spread, Variation,
};
use quayline_capacity::{
    BlockingNetwork, Class, Interruption, ManyServers, ModelError, Network, Origin, PerSecond, PriorityClass, Seconds,
    Share, Station, Workload, priority_responses, single_server_general,
};

fn station(name: &str, servers: u32, discipline: Discipline) -> SimulatedStation {
    SimulatedStation { name: name.to_owned(), servers: Some(servers), discipline, room: None }
}

fn open(rate: f64, service: Spread) -> SimulatedClass {
    let gap = Spread::exponential(Seconds(1.0 / rate));
    SimulatedClass::in_sequence(Source::Open { gap }, vec![service])
}

fn simulate(stations: Vec<SimulatedStation>, classes: Vec<SimulatedClass>, transactions: u64) -> SimulationOutcome {
    let warm_up = transactions / 10;
    let simulation = Simulation { stations, classes, regulation: None, transactions, warm_up, seed: 7 };
    simulation.run().expect("it runs").value
}

/// Checks that the result is within three half widths of the 95 % interval, and that the half width is at most a tenth of the exact value.
#[track_caller]
fn agrees(what: &str, found: quayline_capacity::simulation::Sampled, exact: f64) {
    assert!(found.half_width <= 0.1 * exact, "{what}: {found:?} is too wide for {exact}");
    assert!(found.is_near(exact, 3.0), "{what}: {found:?} instead of {exact}");
}

#[test]
fn single_stations_agree_with_their_formulas() {
    for (servers, load) in [(1, 0.6), (2, 0.8), (4, 0.5)] {
        let rate = load * f64::from(servers);
        let exact = ManyServers::new(servers, PerSecond(rate), Seconds(1.0)).expect("below saturation");
        let class = open(rate, Spread::exponential(Seconds(1.0)));
        let found = simulate(vec![station("m", servers, Discipline::InOrder)], vec![class], 200_000);
        agrees("M/M/m response", found.classes[0].response, exact.response().value.0);
        agrees("M/M/m utilization", found.stations[0].utilization, load);
        agrees("M/M/m present", found.stations[0].present, exact.present());
        let wanted = exact.percentile(Share(0.95)).expect("a percentile").value.0;
        let p95 = found.classes[0].percentile(Share(0.95)).expect("transactions").0;
        assert!((p95 / wanted - 1.0).abs() < 0.05, "p95 {p95} instead of {wanted}");
    }
    for (variation, squared) in
        [(Variation::Constant, 0.0), (Variation::Squared(0.25), 0.25), (Variation::Squared(4.0), 4.0)]
    {
        let exact = single_server_general(PerSecond(0.6), Seconds(1.0), squared).expect("below saturation").value;
        let class = open(0.6, Spread { mean: Seconds(1.0), variation });
        let found = simulate(vec![station("g", 1, Discipline::InOrder)], vec![class.clone()], 300_000);
        agrees("M/G/1 response", found.classes[0].response, exact.0);
        // Shared servers do not feel the variation.
        let shared = simulate(vec![station("g", 1, Discipline::Shared)], vec![class], 300_000);
        agrees("M/G/1 shared response", shared.classes[0].response, 2.5);
    }
}

#[test]
fn priorities_agree_with_cobham() {
    let classes = [
        PriorityClass { arrivals: PerSecond(0.3), service: Seconds(0.5), squared_variation: 1.0 },
        PriorityClass { arrivals: PerSecond(0.25), service: Seconds(2.0), squared_variation: 1.0 },
    ];
    for (discipline, interruption) in
        [(Discipline::Priority, Interruption::Never), (Discipline::PriorityInterrupts, Interruption::Resumes)]
    {
        let exact = priority_responses(&classes, interruption).expect("below saturation").value;
        let simulated = classes.iter().zip([20, 40]).map(|(class, priority)| SimulatedClass {
            priority,
            ..open(class.arrivals.0, Spread::exponential(class.service))
        });
        let found = simulate(vec![station("cpu", 1, discipline)], simulated.collect(), 400_000);
        for (class, exact) in found.classes.iter().zip(&exact) {
            agrees(&format!("{discipline:?}"), class.response, exact.0);
        }
    }
    assert!(matches!(
        priority_responses(&[PriorityClass { arrivals: PerSecond(1.0), ..classes[1] }], Interruption::Never),
        Err(ModelError::Saturated { .. })
    ));
}

#[test]
fn closed_networks_agree_with_the_exact_solvers() {
    let many = Network::new(
        vec![
            Station::queue("cpu", 4, &[Seconds(0.008)]),
            Station::queue("log", 1, &[Seconds(0.001)]),
            Station::queue("disk", 2, &[Seconds(0.003)]),
        ],
        vec![Class::Closed { population: 16, think: Seconds(0.05) }],
    );
    let two = Network::new(
        vec![
            Station::queue("cpu", 2, &[Seconds(0.02), Seconds(0.005)]),
            Station::queue("disk", 1, &[Seconds(0.004), Seconds(0.008)]),
            Station::delay("partner", &[Seconds(0.0), Seconds(0.03)]),
        ],
        vec![
            Class::Closed { population: 4, think: Seconds(0.0) },
            Class::Closed { population: 20, think: Seconds(0.1) },
        ],
    );
    let mixed = Network::new(
        vec![Station::queue("cpu", 1, &[Seconds(0.01), Seconds(0.02)])],
        vec![Class::Open { arrivals: PerSecond(30.0) }, Class::Closed { population: 5, think: Seconds(0.2) }],
    );
    for network in [many, two, mixed].map(|network| network.expect("valid")) {
        let exact = network.solve().expect("solvable").value;
        let found = Simulation::of(&network, 300_000, 11).expect("covered").run().expect("it runs").value;
        for (class, outcome) in found.classes.iter().enumerate() {
            agrees("throughput", outcome.throughput, exact.throughput[class].0);
            agrees("response", outcome.response, exact.response(class).0);
        }
        for (at, outcome) in found.stations.iter().enumerate() {
            agrees("present", outcome.present, exact.station_queue(at));
        }
    }
}

/// Percentiles of predictions from light load to beyond the knee, where response times hardly vary.
#[test]
fn predicted_percentiles_are_those_of_the_simulation() {
    let one = |demand: f64, servers: u32| Station::queue("s", servers, &[Seconds(demand)]);
    let cases = [
        (vec![one(0.002, 4), one(0.0012, 1), Station::delay("d", &[Seconds(0.03)])], 0.5, [50, 300, 444, 700]),
        (vec![one(0.01, 1), one(0.004, 1)], 0.2, [2, 12, 25, 60]),
        (vec![one(0.08, 8), one(0.002, 1)], 0.1, [4, 12, 20, 60]),
    ];
    let mut worst = 0.0_f64;
    for (stations, think, loads) in cases {
        let workload =
            Workload { stations: stations.clone(), think: Seconds(think), origin: Origin::Assumed, shared: None };
        for users in loads {
            let predicted = workload.predict(users).expect("a prediction").value;
            let classes = vec![Class::Closed { population: users, think: Seconds(think) }];
            let network = Network::new(stations.clone(), classes).expect("valid");
            let mut simulation = Simulation::of(&network, 120_000, 5).expect("covered");
            simulation.warm_up = 20_000;
            let found = simulation.run().expect("it runs").value;
            for (share, time) in [0.5, 0.95, 0.99].into_iter().zip(predicted.percentiles) {
                let wanted = found.classes[0].percentile(Share(share)).expect("transactions").0;
                let off = time.0 / wanted - 1.0;
                eprintln!("{users} users, {share}: {:.4} s, simulated {wanted:.4} s, {:+.1} %", time.0, off * 100.0);
                worst = worst.max(off.abs());
            }
        }
    }
    assert!(worst < 0.07, "{worst}");
}

/// A circle of stations with bounded room, each customer going from one to the next.
fn circle(service: &[f64], room: &[u32], routing: &[Vec<f64>], customers: u32, transactions: u64) -> SimulationOutcome {
    let stations =
        room.iter().map(|room| SimulatedStation { room: Some(*room), ..station("bounded", 1, Discipline::InOrder) });
    let class = SimulatedClass {
        source: Source::Closed { population: customers, think: Spread::constant(Seconds(0.0)) },
        priority: 20,
        entry: 0,
        service: service.iter().map(|time| Spread::exponential(Seconds(*time))).collect(),
        next: routing.to_vec(),
    };
    simulate(stations.collect(), vec![class], transactions)
}

/// Two stations with room: the customers at the first, the one that waits for it included, are a birth and death process.
#[test]
fn blocking_of_two_stations_is_exact() {
    for (service, room, customers) in [([1.0, 0.7], [3, 4], 5_u32), ([0.5, 1.0], [2, 2], 3), ([1.0, 1.0], [5, 3], 6)] {
        let most = customers.min(room[0] + 1);
        let least = customers.saturating_sub(room[1] + 1);
        let mut weights = vec![1.0];
        for _ in least..most {
            // Up at the rate of the second station, down at that of the first.
            let last: f64 = weights[weights.len() - 1];
            weights.push(last * service[0] / service[1]);
        }
        let idle = weights[0] / weights.iter().sum::<f64>();
        let exact = (1.0 - idle) / service[0];
        let found = circle(&service, &room, &[vec![0.0, 1.0], vec![1.0, 0.0]], customers, 200_000);
        agrees("throughput", found.classes[0].throughput, exact);
        let blocked: f64 = found.stations.iter().map(|station| station.blocked.mean).sum();
        assert!(blocked > 0.0, "{found:?}");
    }
}

/// The five examples of Akyildiz 1988: the simulation referees the approximation.
#[test]
fn blocking_is_within_its_stated_error() {
    let around = vec![vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0], vec![1.0, 0.0, 0.0]];
    let central = vec![vec![0.0, 0.5, 0.5], vec![1.0, 0.0, 0.0], vec![1.0, 0.0, 0.0]];
    let cases = [
        ([1.0, 0.5, 1.0 / 3.0], [12, 10, 14], &around, 27),
        ([1.5, 2.0, 1.0], [4, 5, 5], &around, 10),
        ([1.5, 2.0, 1.0], [4, 5, 5], &around, 12),
        ([0.2, 1.2, 1.4], [8, 7, 6], &central, 10),
        ([0.2, 1.2, 1.4], [8, 7, 6], &central, 12),
    ];
    let mut worst = 0.0_f64;
    for (service, room, routing, customers) in cases {
        let solved = BlockingNetwork {
            service: service.map(Seconds).to_vec(),
            capacity: room.to_vec(),
            routing: routing.clone(),
            customers,
        }
        .solve()
        .expect("solvable")
        .value;
        let found = circle(&service, &room, routing, customers, 100_000);
        for (station, rate) in found.stations.iter().zip(&solved.throughput) {
            worst = worst.max((rate.0 / station.visits.mean - 1.0).abs());
        }
    }
    eprintln!("MVABLO: throughput off by at most {:.1} %", worst * 100.0);
    assert!(worst < 0.15, "{worst}");
}

#[test]
fn full_circles_are_a_deadlock() {
    let routing = vec![vec![0.0, 1.0], vec![1.0, 0.0]];
    let stations = vec![SimulatedStation { room: Some(1), ..station("bounded", 1, Discipline::InOrder) }; 2];
    let source = Source::Closed { population: 2, think: Spread::constant(Seconds(0.0)) };
    let service = vec![Spread::exponential(Seconds(1.0)); 2];
    let class = SimulatedClass { source, priority: 20, entry: 0, service, next: routing };
    let simulation =
        Simulation { stations, classes: vec![class], regulation: None, transactions: 1000, warm_up: 0, seed: 1 };
    assert_eq!(simulation.run(), Err(ModelError::Deadlock { customers: 2 }));
    let none = Simulation { transactions: 0, ..simulation };
    assert!(matches!(none.run(), Err(ModelError::OutOfRange { .. })));
}

/// A flood of batch work beside an API class at one processor of four, with the regulator and without.
fn flood(regulated: bool, jobs: u32, priority: u8) -> SimulationOutcome {
    let api = SimulatedClass {
        source: Source::Open { gap: Spread::exponential(Seconds(0.02)) },
        priority: 20,
        ..open(50.0, Spread::exponential(Seconds(0.02)))
    };
    let batch = SimulatedClass {
        source: Source::Closed { population: jobs, think: Spread::constant(Seconds(0.0)) },
        priority,
        ..open(1.0, Spread::exponential(Seconds(0.5)))
    };
    let regulation = Regulation { class: 1, station: 0, share: Share(0.5), interval: Seconds(15.0) };
    let simulation = Simulation {
        stations: vec![station("cpu", 4, Discipline::PriorityInterrupts)],
        classes: vec![api, batch],
        regulation: regulated.then_some(regulation),
        transactions: 60_000,
        warm_up: 6_000,
        seed: 3,
    };
    simulation.run().expect("it runs").value
}

#[test]
fn the_regulator_steps_as_the_source_says_and_protects_the_other_class() {
    let alone = flood(false, 0, 20).classes[0].percentile(Share(0.95)).expect("transactions").0;
    let held = flood(true, 40, 20);
    let plan = regulate(Job { priority: 20, active: 40 }, Seconds(70.0)).expect("a priority").value;
    assert_eq!(held.bands, plan.steps);
    assert_eq!(held.bands.last(), Some(&(Seconds(60.0), Band(6))));
    let p95 = held.classes[0].percentile(Share(0.95)).expect("transactions").0;
    assert!(p95 < 1.5 * alone, "{p95} with a regulated flood, {alone} alone");
    let free = flood(false, 40, 20).classes[0].percentile(Share(0.95)).expect("transactions").0;
    assert!(free > 5.0 * alone, "{free} with a flood, {alone} alone");
    // Regulated work still gets what the other class leaves.
    assert!(held.stations[0].utilization.mean > 0.99, "{:?}", held.stations[0].utilization);
    // The operator's band and a job alone are left as they are.
    assert_eq!(flood(true, 40, 12).bands.len(), 1);
    assert_eq!(flood(true, 1, 20).bands.len(), 1);
}

#[test]
fn one_seed_has_one_outcome() {
    assert_eq!(flood(true, 10, 20), flood(true, 10, 20));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 256, ..Default::default() })]

    /// Control bytes give back every record, in the length that the model states.
    #[test]
    fn control_bytes_lose_nothing(record in proptest::collection::vec(proptest::prelude::prop_oneof![
        proptest::prelude::Just(b' '), proptest::prelude::Just(b'0'), proptest::prelude::any::<u8>()
    ], 0..400)) {
        let compressed = compress_record(&record, b' ');
        assert_eq!(compressed.len() as u64, compressed_length(&record, b' ').value);
        assert_eq!(decompress_record(&compressed, b' ', 400), Some(record));
    }

    /// Bytes from outside give a record within its limit, or nothing.
    #[test]
    fn any_bytes_are_a_record_or_nothing(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..100)) {
        if let Some(record) = decompress_record(&bytes, b' ', 1000) {
            assert!(record.len() <= 1000);
        }
    }
}
