//! Statements and the schema.

use std::ops::Bound;

use quayline_store::Direction;

/// Version of the schema.
pub(crate) const VERSION: i64 = 1;

/// The schema. Each statement may run again.
pub(crate) const SCHEMA: &str = "\
CREATE SCHEMA IF NOT EXISTS quayline;
CREATE TABLE IF NOT EXISTS quayline.entries (key bytea PRIMARY KEY, value bytea NOT NULL);
ALTER TABLE quayline.entries ALTER COLUMN value SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS quayline.meta (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO quayline.meta VALUES ('version', 1), ('position', 0) ON CONFLICT DO NOTHING;";

pub(crate) const META: &str = "SELECT value FROM quayline.meta WHERE name = $1";
/// Number of the lock that keeps a second process out: \"quayline\" as bytes.
pub(crate) const LOCK: &str = "SELECT pg_try_advisory_lock(8175558129219530341)";
pub(crate) const GET: &str = "SELECT value FROM quayline.entries WHERE key = $1";
pub(crate) const PUT: &str = "INSERT INTO quayline.entries SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";
pub(crate) const INSERT: &str = "INSERT INTO quayline.entries SELECT * FROM unnest($1::bytea[], $2::bytea[])";
pub(crate) const DELETE: &str = "DELETE FROM quayline.entries WHERE key = ANY($1::bytea[])";
pub(crate) const MOVE: &str = "UPDATE quayline.meta SET value = $1 WHERE name = 'position'";
pub(crate) const SIZE: &str = "SELECT pg_total_relation_size('quayline.entries')";
pub(crate) const DAMAGE: &str = "SELECT count(*) FROM quayline.entries WHERE octet_length(key) < 4";

/// A page: keys inside the bounds, as many rows as `$3` says, ending with the one that reaches `$4` bytes. Lengths are known without reading long
/// values. An unbounded end still has its parameter, which is not looked at.
pub(crate) fn page(from: &Bound<impl Sized>, to: &Bound<impl Sized>, direction: Direction) -> String {
    let lower = match from {
        Bound::Included(_) => "key >= $1",
        Bound::Excluded(_) => "key > $1",
        Bound::Unbounded => "$1::bytea IS NOT NULL",
    };
    let upper = match to {
        Bound::Included(_) => "key <= $2",
        Bound::Excluded(_) => "key < $2",
        Bound::Unbounded => "$2::bytea IS NOT NULL",
    };
    let order = match direction {
        Direction::Forward => "ASC",
        Direction::Backward => "DESC",
    };
    format!(
        "SELECT key, value FROM (SELECT key, value, sum(octet_length(key) + octet_length(value)) OVER (ORDER BY key {order}) \
         - octet_length(key) - octet_length(value) AS before FROM \
         (SELECT key, value FROM quayline.entries WHERE {lower} AND {upper} ORDER BY key {order} LIMIT $3::bigint) AS first) AS summed \
         WHERE before < $4::bigint ORDER BY key {order}"
    )
}
