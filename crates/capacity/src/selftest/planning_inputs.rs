//! Inputs of the figures that are too long for their table.

use crate::Seconds;
use crate::fit::LoadPoint;
use crate::plan::Disk;

/// Bytes of a GiB.
pub(super) const GIB: f64 = 1_073_741_824.0;

/// 35 GB at 10,000 revolutions a minute.
pub(super) const SLOW_DISK: Disk = Disk { seek: Seconds(0.0047), revolutions: 10_000.0 };
/// 70 GB at 15,000 revolutions a minute.
pub(super) const FAST_DISK: Disk = Disk { seek: Seconds(0.0036), revolutions: 15_000.0 };

/// A row of transactions a second and unit by security policy, with the printed cost relative to none.
pub(super) struct PolicyRow {
    pub(super) plain: f64,
    pub(super) policies: [(f64, f64); 4],
}

/// Request and response, connect with request and response, stream.
pub(super) const POLICIES: [PolicyRow; 3] = [
    PolicyRow { plain: 17.87, policies: [(10.50, 1.70), (9.06, 1.97), (5.59, 3.20), (7.50, 2.38)] },
    PolicyRow { plain: 2.44, policies: [(1.11, 2.20), (1.35, 1.80), (0.49, 5.00), (0.94, 2.58)] },
    PolicyRow { plain: 9.56, policies: [(1.35, 7.06), (1.33, 7.18), (0.33, 28.91), (0.91, 10.49)] },
];

/// Streams and GB/h: large files, saved at the same time.
pub(super) const CONCURRENT_SAVE: &[(f64, f64)] = &[
    (1.0, 365.0),
    (2.0, 730.0),
    (3.0, 1090.0),
    (4.0, 1450.0),
    (8.0, 2880.0),
    (12.0, 4150.0),
    (13.0, 4630.0),
    (14.0, 4900.0),
    (15.0, 5140.0),
    (16.0, 5210.0),
];
/// Large files, restored at the same time.
pub(super) const CONCURRENT_RESTORE: &[(f64, f64)] = &[
    (1.0, 340.0),
    (2.0, 680.0),
    (3.0, 1010.0),
    (4.0, 1330.0),
    (8.0, 2560.0),
    (12.0, 3730.0),
    (13.0, 4020.0),
    (14.0, 4280.0),
    (15.0, 4540.0),
    (16.0, 4680.0),
];
/// One large file, split over streams.
pub(super) const PARALLEL_SAVE: &[(f64, f64)] = &[
    (1.0, 363.0),
    (2.0, 641.0),
    (3.0, 997.0),
    (4.0, 1340.0),
    (8.0, 2100.0),
    (12.0, 3290.0),
    (13.0, 3600.0),
    (14.0, 3710.0),
    (15.0, 3900.0),
    (16.0, 4000.0),
];
/// Libraries of all sizes, saved at the same time.
pub(super) const MIX_SAVE: &[(f64, f64)] = &[
    (1.0, 140.0),
    (2.0, 272.0),
    (3.0, 399.0),
    (4.0, 504.0),
    (5.0, 627.0),
    (6.0, 699.0),
    (7.0, 782.0),
    (8.0, 858.0),
    (9.0, 932.0),
    (10.0, 965.0),
    (11.0, 995.0),
    (12.0, 1010.0),
];

/// A series as the fits take it.
pub(super) fn points(series: &[(f64, f64)]) -> Vec<LoadPoint> {
    series.iter().map(|(load, throughput)| LoadPoint { load: *load, throughput: *throughput }).collect()
}

/// Records of the batch step that the item counts below split.
pub(super) const STEP_RECORDS: u64 = 10_000_000;
/// Item count, elapsed milliseconds and container milliseconds. The source itself rules out its row of 8000.
pub(super) const ITEM_COUNTS: [(u64, f64, f64); 11] = [
    (25, 1_438_624.0, 1_207_965.0),
    (75, 629_566.0, 425_263.0),
    (125, 474_214.0, 272_758.0),
    (250, 373_130.0, 152_184.0),
    (500, 303_840.0, 77_179.0),
    (1000, 272_783.0, 41_500.0),
    (2000, 256_833.0, 24_413.0),
    (4000, 244_517.0, 14_068.0),
    (5000, 247_129.0, 12_747.0),
    (6000, 244_723.0, 11_410.0),
    (7000, 243_701.0, 10_742.0),
];
