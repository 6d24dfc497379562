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

/// Libraries of all sizes, restored at the same time.
pub(super) const MIX_RESTORE: &[(f64, f64)] = &[
    (1.0, 69.0),
    (2.0, 135.0),
    (3.0, 150.0),
    (4.0, 176.0),
    (5.0, 213.0),
    (6.0, 231.0),
    (7.0, 277.0),
    (8.0, 290.0),
    (9.0, 321.0),
    (10.0, 333.0),
    (11.0, 358.0),
    (12.0, 380.0),
];
/// One large file, restored by several streams.
pub(super) const PARALLEL_RESTORE: &[(f64, f64)] = &[
    (1.0, 340.0),
    (2.0, 613.0),
    (3.0, 936.0),
    (4.0, 1230.0),
    (8.0, 1900.0),
    (12.0, 2950.0),
    (13.0, 3140.0),
    (14.0, 3350.0),
    (15.0, 3550.0),
    (16.0, 3650.0),
];
/// 128 GB in parallel on slower devices.
pub(super) const SLOW_PARALLEL_SAVE: &[(f64, f64)] =
    &[(1.0, 110.0), (2.0, 215.0), (3.0, 334.0), (4.0, 436.0), (5.0, 534.0), (6.0, 604.0)];
/// Partitions of a batch step and records a second, up to 100.
pub(super) const PARTITIONS: &[(f64, f64)] = &[
    (1.0, 36_659.175_975_042_43),
    (2.0, 72_492.134_603_395_53),
    (10.0, 310_848.616_723_655_55),
    (20.0, 556_792.873_051_225),
    (100.0, 953_743.443_013_829_3),
];
/// Disk arms and GB/h of a save to a file.
pub(super) const ARMS: &[(f64, f64)] =
    &[(15.0, 100.0), (30.0, 200.0), (45.0, 300.0), (60.0, 400.0), (75.0, 500.0), (90.0, 600.0), (105.0, 690.0)];
/// Rows of a component report: transactions an hour, response time, total, interactive and batch %, then other %, CPU seconds per transaction and
/// concurrency.
pub(super) const COMPONENTS: [[f64; 8]; 7] = [
    [6164.0, 0.8, 85.2, 32.2, 46.3, 6.7, 0.188, 1.37],
    [7404.0, 0.9, 91.3, 45.2, 39.5, 6.6, 0.220, 1.85],
    [5466.0, 0.7, 97.6, 38.8, 51.0, 7.8, 0.256, 1.06],
    [5622.0, 1.2, 97.9, 35.6, 57.4, 4.9, 0.228, 1.87],
    [4527.0, 0.8, 97.9, 16.5, 77.4, 4.0, 0.131, 1.01],
    [5068.0, 1.8, 99.9, 74.2, 25.7, 0.0, 0.527, 2.53],
    [5991.0, 2.4, 99.9, 46.8, 45.5, 7.6, 0.281, 3.99],
];
/// Capacity metrics of web pages at 1, 10 and 100 KB, and the fixed and per-KB cost that the first and the last give: files and the cache of
/// the kernel, with connections kept and not.
pub(super) const PAGE_SIZES: [[f64; 5]; 2] = [[1.75, 1.48, 0.57, 0.560, 0.011_95], [1.24, 1.07, 0.48, 0.794, 0.012_90]];

/// Converts a series to the points that the fits take.
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
