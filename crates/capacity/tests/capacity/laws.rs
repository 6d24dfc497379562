//! Laws that hold for every network, station and fit.

use proptest::prelude::*;
use quayline_capacity::fit::{ChunkModel, CostModel, CostSample, LoadPoint, Work, fit_usl};
use quayline_capacity::{
    Bytes, Class, Network, Passes, PerSecond, Recording, Seconds, Servers, Share, Station, Validity, asymptotic_bounds,
    balanced_bounds,
};

fn closed(demands: &[f64], servers: &[u32], customers: u32, think: f64) -> Network {
    let stations = demands.iter().zip(servers).map(|(demand, servers)| Station {
        name: "station".to_owned(),
        servers: if *servers == 0 { Servers::Delay } else { Servers::Count(*servers) },
        demands: vec![Seconds(*demand)],
    });
    let classes = vec![Class::Closed { population: customers, think: Seconds(think) }];
    Network::new(stations.collect(), classes).expect("a valid network")
}

fn throughput(network: &Network) -> f64 {
    network.solve().expect("solvable").value.throughput[0].0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Bounds bracket the exact answer, throughput never falls with customers, no server is busier than always.
    #[test]
    fn bounds_bracket_and_load_only_helps(
        demands in prop::collection::vec(0.001_f64..1.0, 1..5),
        customers in 1_u32..60,
        think in 0.0_f64..5.0,
    ) {
        let servers = vec![1; demands.len()];
        let network = closed(&demands, &servers, customers, think);
        let solved = network.solve().expect("solvable").value;
        let rate = solved.throughput[0].0;
        let typed: Vec<Seconds> = demands.iter().copied().map(Seconds).collect();
        for bounds in [
            asymptotic_bounds(&typed, &servers, customers, Seconds(think)).expect("bounds").value,
            balanced_bounds(&typed, customers, Seconds(think)).expect("bounds").value,
        ] {
            prop_assert!(bounds.throughput_least.0 <= rate * (1.0 + 1e-9) && rate <= bounds.throughput_most.0 * (1.0 + 1e-9));
            let response = solved.response(0).0;
            prop_assert!(bounds.response_least.0 <= response * (1.0 + 1e-9) && response <= bounds.response_most.0 * (1.0 + 1e-9));
        }
        for k in 0..demands.len() {
            prop_assert!(solved.station_utilization(k).0 <= 1.0 + 1e-12);
        }
        let more = throughput(&closed(&demands, &servers, customers + 1, think));
        prop_assert!(more >= rate * (1.0 - 1e-12));
        // Customers are somewhere: at a station or thinking.
        let somewhere: f64 = (0..demands.len()).map(|k| solved.station_queue(k)).sum::<f64>() + rate * think;
        prop_assert!((somewhere - f64::from(customers)).abs() < 1e-9 * f64::from(customers));
    }

    /// Convolution is mean value analysis where both apply, and one server is a special case of several.
    #[test]
    fn convolution_agrees_with_mean_value_analysis(
        a in prop::collection::vec(0.001_f64..1.0, 3),
        b in prop::collection::vec(0.001_f64..1.0, 3),
        population in (0_u32..7, 1_u32..9),
        think in (0.0_f64..3.0, 0.0_f64..3.0),
        open in 0.0_f64..0.8,
    ) {
        let most = a.iter().zip(&b).map(|(a, b)| a + b).fold(0.0, f64::max);
        let stations: Vec<Station> = a.iter().zip(&b).enumerate().map(|(k, (a, b))| Station {
            name: format!("{k}"),
            servers: if k == 2 { Servers::Delay } else { Servers::Count(1) },
            demands: vec![Seconds(*a), Seconds(*b), Seconds(a + b)],
        }).collect();
        let classes = vec![
            Class::Closed { population: population.0, think: Seconds(think.0) },
            Class::Closed { population: population.1, think: Seconds(think.1) },
            Class::Open { arrivals: PerSecond(open / most) },
        ];
        let network = Network::new(stations, classes).expect("a valid network");
        let exact = network.solve_exact_mva().expect("solvable").value;
        let twin = network.solve_convolution().expect("solvable").value;
        for c in 0..3 {
            let (x, y) = (exact.throughput[c].0, twin.throughput[c].0);
            prop_assert!((x - y).abs() <= 1e-9 * x.abs().max(1e-12), "X[{c}] {x} {y}");
            for k in 0..3 {
                let (x, y) = (exact.queue[k][c], twin.queue[k][c]);
                prop_assert!((x - y).abs() <= 1e-8 * x.abs().max(1e-6), "Q[{k}][{c}] {x} {y}");
                // Little's law at each station.
                let little = exact.throughput[c].0 * exact.residence[k][c].0;
                prop_assert!((little - exact.queue[k][c]).abs() <= 1e-12 * little.abs().max(1.0));
            }
        }
    }

    /// The order of classes and the unit of time change nothing but order and unit.
    #[test]
    fn classes_have_no_order_and_time_no_unit(
        demands in prop::collection::vec((0.001_f64..1.0, 0.001_f64..1.0), 2..4),
        population in (1_u32..6, 1_u32..6),
        servers in 1_u32..4,
        unit in 0.001_f64..1000.0,
    ) {
        let build = |swap: bool, unit: f64| {
            let stations = demands.iter().map(|(a, b)| {
                let (a, b) = if swap { (b, a) } else { (a, b) };
                Station::queue("q", servers, &[Seconds(a * unit), Seconds(b * unit)])
            });
            let (first, second) = if swap { (population.1, population.0) } else { population };
            let classes = vec![
                Class::Closed { population: first, think: Seconds(unit) },
                Class::Closed { population: second, think: Seconds(unit) },
            ];
            Network::new(stations.collect(), classes).expect("valid").solve().expect("solvable").value
        };
        let (plain, swapped, scaled) = (build(false, 1.0), build(true, 1.0), build(false, unit));
        for c in 0..2 {
            let x = plain.throughput[c].0;
            prop_assert!((x - swapped.throughput[1 - c].0).abs() <= 1e-8 * x);
            prop_assert!((x - scaled.throughput[c].0 * unit).abs() <= 1e-8 * x);
        }
    }

    /// A single customer never waits, for any number of servers, and more servers never increase a response time.
    #[test]
    fn one_customer_never_waits(demands in prop::collection::vec(0.001_f64..1.0, 1..5), servers in 1_u32..9) {
        let many = vec![servers; demands.len()];
        let solved = closed(&demands, &many, 1, 0.5).solve().expect("solvable").value;
        for (k, demand) in demands.iter().enumerate() {
            prop_assert!((solved.residence[k][0].0 - demand).abs() < 1e-9 * demand);
        }
        let one = throughput(&closed(&demands, &vec![1; demands.len()], 12, 0.5));
        prop_assert!(throughput(&closed(&demands, &many, 12, 0.5)) >= one * (1.0 - 1e-9));
    }

    /// Many customers who think long are open arrivals.
    #[test]
    fn a_large_population_is_open(demand in 0.001_f64..0.01, load in 0.05_f64..0.7) {
        let customers = 40_000_u32;
        let rate = load / demand;
        let think = f64::from(customers) / rate;
        let solved = closed(&[demand], &[1], customers, think).solve().expect("solvable").value;
        let open = demand / (1.0 - load);
        prop_assert!((solved.response(0).0 / open - 1.0).abs() < 0.01, "{} {open}", solved.response(0).0);
    }

    /// A fit of a law's own values finds the law.
    #[test]
    fn scalability_is_found_again(gamma in 0.1_f64..1e5, alpha in 0.001_f64..0.3, beta in 1e-5_f64..1e-2) {
        let points: Vec<LoadPoint> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
            .iter()
            .map(|n| LoadPoint { load: *n, throughput: gamma * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0)) })
            .collect();
        let fit = fit_usl(&points).expect("fits").value;
        prop_assert!((fit.gamma / gamma - 1.0).abs() < 1e-6 && (fit.alpha - alpha).abs() < 1e-6 && (fit.beta - beta).abs() < 1e-6);
        prop_assert!(fit.predict(1000.0).is_err() || fit.r_squared > 0.999);
    }

    /// A fit of exact costs finds them, and costs are never negative.
    #[test]
    fn costs_are_found_again(fixed in 0.0_f64..1e-3, byte in 0.0_f64..1e-6, field in 0.0_f64..1e-5) {
        let samples: Vec<CostSample> = [(100.0, 5.0), (1e4, 7.0), (1e5, 300.0), (2e4, 2000.0), (5e4, 50.0)]
            .iter()
            .map(|(bytes, fields)| CostSample {
                work: Work { bytes: Bytes(*bytes), fields: *fields, connections: 0.0 },
                cost: Seconds(fixed + byte * bytes + field * fields),
            })
            .collect();
        let model = CostModel::fit(&samples).expect("fits").value;
        for (found, expected, size) in [(model.fixed, fixed, 1.0), (model.per_byte, byte, 1e5), (model.per_field, field, 2e3)] {
            prop_assert!(found.value >= 0.0 && (found.value - expected).abs() * size < 1e-9, "{found:?} {expected}");
        }
    }
}

#[test]
fn extremes_give_numbers() {
    for (customers, servers) in [(1, 1), (10_000, 1), (10_000, 1000), (2000, 999), (10_000, 3)] {
        let network = closed(&[0.3, 0.002, 0.05], &[servers, 1, 0], customers, 1.0);
        let solved = network.solve().expect("solvable").value;
        for k in 0..3 {
            let (wait, present) = (solved.residence[k][0].0, solved.queue[k][0]);
            assert!(
                wait.is_finite() && wait >= 0.0 && present.is_finite() && present >= 0.0,
                "{customers} {servers}: {wait} {present}"
            );
        }
        let somewhere: f64 = (0..3).map(|k| solved.station_queue(k)).sum::<f64>() + solved.throughput[0].0;
        assert!((somewhere / f64::from(customers) - 1.0).abs() < 1e-6, "{customers} {servers}: {somewhere}");
    }
}

#[test]
fn open_work_at_several_servers_is_exact_in_mixed_networks() {
    // With next to no closed work, the open class is M/M/m.
    let station = Station::queue("cpu", 4, &[Seconds(0.01), Seconds(1e-9)]);
    let classes =
        vec![Class::Open { arrivals: PerSecond(320.0) }, Class::Closed { population: 1, think: Seconds(1.0) }];
    let mixed = Network::new(vec![station], classes).expect("valid").solve().expect("solvable");
    let open = quayline_capacity::ManyServers::new(4, PerSecond(320.0), Seconds(0.01)).expect("valid");
    let found = mixed.value.residence[0][0].0;
    assert!((found / open.response().value.0 - 1.0).abs() < 1e-6, "{found} {}", open.response().value);
}

#[test]
fn large_multi_class_networks_fall_back_to_the_linearizer() {
    let stations =
        vec![Station::queue("cpu", 1, &[Seconds(0.001); 4]), Station::queue("disk", 1, &[Seconds(0.002); 4])];
    let classes = vec![Class::Closed { population: 200, think: Seconds(1.0) }; 4];
    let solved = Network::new(stations, classes).expect("valid").solve().expect("solvable");
    assert!(solved.value.passes.is_some_and(|passes| passes > 1), "{:?}", solved.method);
    assert!(!solved.method.assumptions().is_empty());
}

#[test]
fn percentiles_of_several_servers_invert_their_tail() {
    for servers in [1, 2, 3, 8, 100] {
        for load in [0.1, 0.5, 0.9, 0.99] {
            let station =
                quayline_capacity::ManyServers::new(servers, PerSecond(load * f64::from(servers)), Seconds(1.0))
                    .unwrap();
            for share in [0.5, 0.9, 0.99, 0.9999] {
                let time = station.percentile(Share(share)).unwrap().value;
                let tail = station.tail(time);
                assert!((tail - (1.0 - share)).abs() < 1e-9, "{servers} {load} {share}: {tail}");
            }
        }
    }
}

#[test]
fn passes_are_told() {
    let network = closed(&[0.1, 0.2], &[1, 1], 10, 1.0);
    assert_eq!(network.solve_linearizer(Passes::Fixed(3)).unwrap().value.passes, Some(3));
}

/// Recursions that subtract probabilities from one give -330 a second here, where four servers of 8 ms do 500.
#[test]
fn saturated_servers_do_what_they_can() {
    for customers in [256, 5000] {
        let network = closed(&[0.008, 0.001, 0.003], &[4, 1, 2], customers, 0.05);
        let rate = throughput(&network);
        assert!((rate / 500.0 - 1.0).abs() < 1e-8, "{customers}: {rate}");
    }
}

/// Lazowska et al. 1984, p. 138: two classes of one customer each. The Linearizer's answer depends on its passes.
#[test]
fn the_linearizer_differs_by_its_passes() {
    let stations = vec![
        Station::queue("cpu", 1, &[Seconds(1.0), Seconds(2.0)]),
        Station::queue("disk", 1, &[Seconds(3.0), Seconds(4.0)]),
    ];
    let classes = vec![Class::Closed { population: 1, think: Seconds(0.0) }; 2];
    let network = Network::new(stations, classes).expect("valid");
    let first = |solved: Solved| solved.expect("solvable").value.throughput[0].0;
    assert!((first(network.solve()) - 3.0 / 19.0).abs() < 1e-12);
    for (passes, expected) in [
        (Passes::Fixed(2), 0.158_977),
        (Passes::Fixed(3), 0.157_494),
        (Passes::Fixed(4), 0.158_014),
        (Passes::Converged, 0.157_895),
    ] {
        let found = first(network.solve_linearizer(passes));
        assert!((found - expected).abs() < 1e-6, "{passes:?}: {found}");
    }
    assert!((first(network.solve_schweitzer()) - 0.153_75).abs() < 5e-6);
}

type Solved = Result<quayline_capacity::Estimate<quayline_capacity::Solution>, quayline_capacity::ModelError>;

/// A result beyond the measurements is labelled as an extrapolation, and beyond a limit it is refused.
#[test]
fn extrapolations_are_labelled_and_limited() {
    let factor = |validity: Validity| match validity {
        Validity::Extrapolated { factor } => Some((factor * 1e6).round() / 1e6),
        _ => None,
    };
    let runs = [(100, Seconds(20.0)), (1_000, Seconds(11.0)), (500, Seconds(12.1))];
    let chunk = ChunkModel::fit(10_000, &runs).expect("fits").value;
    // 10 to 100 checkpoints were measured.
    let place = |items: u64| chunk.elapsed(items).map(|elapsed| factor(elapsed.validity));
    assert_eq!(place(100), Ok(None));
    assert_eq!(place(50), Ok(Some(2.0)));
    assert_eq!(place(5_000), Ok(Some(0.2)));
    assert_eq!(place(10), Ok(Some(10.0)));
    assert!(place(9).is_err());
    // More checkpoints took less time: noise.
    let noise = ChunkModel::fit(10_000, &[(10, Seconds(10.0)), (1_000, Seconds(12.0))]);
    assert!(matches!(noise, Err(quayline_capacity::ModelError::Noise { what: "a checkpoint" })), "{noise:?}");
    let items = chunk.item_count_for_overhead(0.001).expect("an item count");
    assert!(factor(items.validity).is_some_and(|factor| factor < 1.0), "{}", items.value);

    let sample = |bytes: f64, fields: f64| CostSample {
        work: Work { bytes: Bytes(bytes), fields, connections: 0.0 },
        cost: Seconds(1e-6 * bytes + 1e-5 * fields + 1e-4),
    };
    let samples = [sample(1e3, 10.0), sample(1e4, 20.0), sample(2e4, 400.0), sample(5e3, 100.0)];
    let model = CostModel::fit(&samples).expect("fits").value;
    let place = |bytes: f64, fields: f64, connections: f64| {
        model.predict(&Work { bytes: Bytes(bytes), fields, connections }).map(|cost| factor(cost.validity))
    };
    assert_eq!(place(1e4, 30.0, 0.0), Ok(None));
    assert_eq!(place(4e4, 30.0, 0.0), Ok(Some(2.0)));
    assert_eq!(place(1e4, 5.0, 0.0), Ok(Some(0.5)));
    assert!(place(1e4, 5_000.0, 0.0).is_err());
    assert!(place(1e4, 30.0, 1.0).is_err(), "no measurement had a connection");

    let law = |n: f64| 100.0 * n / (1.0 + 0.02 * (n - 1.0) + 0.001 * n * (n - 1.0));
    let noisy = |n: f64, part: f64| LoadPoint { load: n, throughput: law(n) * (1.0 + part) };
    let near = [noisy(2.0, 0.02), noisy(4.0, -0.02), noisy(6.0, 0.02), noisy(8.0, -0.02), noisy(10.0, 0.01)];
    let fit = fit_usl(&near).expect("fits").value;
    assert_eq!(factor(fit.predict(5.0).expect("within").validity), None);
    assert_eq!(factor(fit.predict(15.0).expect("near").validity), Some(1.5));
    assert_eq!(factor(fit.predict(1.0).expect("near").validity), Some(0.5));
    assert!(fit.predict(60.0).is_err());
    // The same limit applies to the peak as to any other load. The first peak is within the measurements, the second far outside.
    for (coherency, is_supported) in [(0.01, true), (0.0001, false)] {
        let at = |n: f64| 100.0 * n / (1.0 + 0.02 * (n - 1.0) + coherency * n * (n - 1.0));
        let points = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
            .map(|n| LoadPoint { load: n, throughput: at(n) * (1.0 + 0.002 * (n % 3.0 - 1.0)) });
        let fit = fit_usl(&points).expect("fits").value;
        let load = fit.peak_load().expect("coherency gives a peak");
        let peak = fit.peak().expect("a peak");
        assert_eq!(peak.is_ok(), is_supported, "{load}");
        assert_eq!(fit.predict(load).is_ok(), is_supported);
    }
}

/// Error of Seidmann's approximation where the exact solution is known. The text of the approximation and the reference quote these figures.
#[test]
#[expect(clippy::cast_possible_truncation, reason = "some hundred customers at most")]
fn several_servers_are_as_far_off_as_the_text_has_it() {
    let mut worst = Vec::new();
    for servers in [2_u32, 4, 8, 16, 64] {
        let (mut low, mut high, mut far) = (0.0_f64, 0.0_f64, 0.0_f64);
        for second in [0.0, 0.1, 0.5, 0.9] {
            for think in [0.0, 1.0, 10.0] {
                for load in [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0] {
                    // Customers in multiples of those that saturate the servers.
                    let all = 1.0 + second / f64::from(servers) + think;
                    let customers = (load * all * f64::from(servers)).round().max(1.0) as u32;
                    let demands = [1.0, second / f64::from(servers)];
                    let network = closed(&demands, &[servers, 1], customers, think);
                    let exact = network.solve_convolution().expect("solvable").value.throughput[0].0;
                    let near = network.solve_linearizer(Passes::Converged).expect("solvable").value.throughput[0].0;
                    low = low.min(near / exact - 1.0);
                    high = high.max(near / exact - 1.0);
                    if load <= 0.5 || load >= 2.0 {
                        far = far.min(near / exact - 1.0);
                    }
                }
            }
        }
        worst.push((servers, low, high, far));
    }
    for (servers, low, high, far) in worst {
        assert!(low > -0.21 && high < 0.001 && far > -0.06, "{servers}: {low} {high} {far}");
    }
}

/// Networks of several classes that are too large for the exact solution are solved by the Linearizer, with each station of several servers
/// calibrated by the exact solution of all classes as one. Its error where the exact solution is known is the one of its text.
#[test]
#[expect(clippy::cast_possible_truncation, reason = "some hundred customers at most")]
fn calibrated_servers_are_close_with_several_classes() {
    let (mut worst, mut seidmann) = (0.0_f64, 0.0_f64);
    let (mut tried, mut settled) = (0, 0);
    for servers in [2_u32, 4, 8, 16] {
        for (fast, slow) in [(1.0, 1.0), (1.0, 0.2), (0.1, 2.0)] {
            for second in [0.0, 0.5] {
                for think in [0.0, 4.0] {
                    for load in [0.5, 1.0, 2.0, 4.0] {
                        let all = 1.0 + think;
                        let customers = ((load * all * f64::from(servers)).round().max(8.0) / 2.0).min(24.0) as u32;
                        let stations = vec![
                            Station::queue("many", servers, &[Seconds(fast), Seconds(slow)]),
                            Station::queue("one", 1, &[Seconds(second / f64::from(servers)), Seconds(0.01)]),
                        ];
                        let class = |think: f64| Class::Closed { population: customers, think: Seconds(think) };
                        let network = Network::new(stations, vec![class(think), class(think / 2.0)]).expect("valid");
                        let exact = network.solve_convolution().expect("solvable").value;
                        tried += 1;
                        let Ok(near) = network.solve_calibrated() else { continue };
                        settled += 1;
                        let near = near.value;
                        let plain = network.solve_linearizer(Passes::Converged).expect("solvable").value;
                        for class in 0..2 {
                            let (truth, found) = (exact.throughput[class].0, near.throughput[class].0);
                            let error = found / truth - 1.0;
                            worst = if error.abs() > worst.abs() { error } else { worst };
                            seidmann = seidmann.min(plain.throughput[class].0 / truth - 1.0);
                        }
                        assert!(near.station_utilization(0).0 < 1.0 + 1e-6);
                    }
                }
            }
        }
    }
    assert!(worst.abs() < 0.05 && seidmann < -0.15, "{worst} {seidmann}");
    assert!(settled * 100 >= tried * 95, "{settled} of {tried}");
}

/// The correction of a stall of 100 s in steps of 10 ms lost one omitted request. Each time was the former minus the step, so after 9,999
/// subtractions the last one was below the step by more than the tolerance, which was relative to the step. Each time is now calculated from
/// the first, and the tolerance is relative to it. All divisors here give a whole number of omitted requests.
#[test]
fn a_long_stall_keeps_its_last_omitted_request() {
    for (stall, step, omitted) in [(100.0, 0.01, 9_999), (1.0, 0.001, 999), (3600.0, 0.1, 35_999), (0.02, 0.01, 1)] {
        let recording = Recording::new(&[(Seconds(stall), 1)]).expect("positive");
        let corrected = recording.corrected(Seconds(step)).expect("few entries").value;
        assert_eq!(corrected.count(), 1 + omitted, "{stall} s by {step} s");
        let mean = corrected.mean().expect("entries").0;
        assert!((mean - (stall + step) / 2.0).abs() < 1e-6 * stall, "{mean}");
    }
}
