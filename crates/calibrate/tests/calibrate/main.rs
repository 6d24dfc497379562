//! A short calibration of this machine, and comparisons of profiles.

use std::time::Duration;

use quayline_calibrate::{Calibration, calibrate};
use quayline_capacity::calibration::{Change, HostProfile, Kernel, compare, project, same_work};
use quayline_capacity::{Seconds, Share};

fn short() -> HostProfile {
    let folder = tempfile::tempdir().expect("a folder");
    let of = Calibration { folder: folder.path().join("bed"), time: Duration::from_millis(25) };
    let mut heard = Vec::new();
    let profile = calibrate(&of, &mut |name| heard.push(name)).expect("this machine can be rated");
    assert_eq!(heard.len(), Kernel::ALL.len() + 1);
    // Nothing is left on the user's disk.
    let left: Vec<_> = std::fs::read_dir(folder.path().join("bed")).expect("the folder").collect();
    assert!(left.is_empty(), "{left:?}");
    profile
}

#[test]
fn a_calibration_rates_every_kernel_and_the_mix() {
    let profile = short();
    assert_eq!(profile.kernels.iter().map(|figure| figure.kernel).collect::<Vec<_>>(), Kernel::ALL);
    for figure in &profile.kernels {
        for rate in [Some(figure.one), figure.cores, Some(figure.all)].into_iter().flatten() {
            assert!(rate.rate.is_finite() && rate.rate > 0.0 && rate.spread.0 >= 0.0, "{figure:?}");
        }
    }
    let rate = |kernel| profile.kernels.iter().find(|figure| figure.kernel == kernel).expect("measured").one.rate;
    // What holds on every machine: a copy beats a hash, a resumed handshake a full one.
    assert!(rate(Kernel::Copy) > rate(Kernel::Hash));
    assert!(rate(Kernel::TlsResumed) > rate(Kernel::TlsFull));
    assert!(profile.host.threads > 0 && profile.host.cores > 0 && profile.host.cores <= profile.host.threads);
    assert!(profile.rating.capacity().0 > 0.0 && profile.rating.durable.0 > 0.0);
    assert!((0.0..=1.0).contains(&profile.disturbance.0), "{:?}", profile.disturbance);

    // A profile is the same as itself, and a projection to itself changes nothing.
    let changes = compare(&profile, &profile).expect("one machine");
    assert!(changes.iter().all(|of| of.change == Change::Same && (of.one - 1.0).abs() < 1e-12));
    let cost = Seconds(0.002);
    let itself = project(cost, &[], &profile, &profile).expect("kernels").value;
    assert!((itself.likely.0 - cost.0).abs() < 1e-12 && itself.least.0 <= cost.0 && itself.most.0 >= cost.0);

    // A machine of half the speed, twice the threads and another processor.
    let mut other = profile.clone();
    for figure in &mut other.kernels {
        figure.one.rate /= 2.0;
        figure.all.rate /= 2.0;
        figure.one.spread = Share(0.01);
        figure.all.spread = Share(0.01);
    }
    other.host.threads *= 2;
    let shares = [(Kernel::EdiTokenise, Share(0.6)), (Kernel::JsonWrite, Share(0.4))];
    let slower = project(cost, &shares, &profile, &other).expect("kernels").value;
    assert!((slower.likely.0 / cost.0 - 2.0).abs() < 1e-9);
    assert!((slower.capacity.0 - f64::from(other.host.threads) / slower.likely.0).abs() < 1e-6);
    assert!(project(cost, &[(Kernel::Sync, Share(1.0))], &profile, &other).is_err());
    assert!(project(cost, &[(Kernel::Hash, Share(0.5))], &profile, &other).is_err());
    let unlike = compare(&profile, &other).expect_err("two machines");
    assert_eq!(unlike.differences[0].0, "hardware threads");
    assert!(same_work(&profile, &other).is_ok());
    other.host.threads = profile.host.threads;
    let mut quiet = profile.clone();
    for figure in &mut quiet.kernels {
        figure.one.spread = Share(0.01);
        figure.all.spread = Share(0.01);
    }
    let changes = compare(&quiet, &other).expect("one machine");
    assert!(changes.iter().all(|of| of.change == Change::Slower), "{changes:?}");
    other.kernels_version += 1;
    assert!(same_work(&profile, &other).is_err());
}
