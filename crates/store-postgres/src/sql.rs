//! Statements and the schema.

use std::ops::Bound;

use quayline_store::Direction;

/// Version of the schema: the number of its migrations.
pub(crate) const VERSION: i64 = 2;

/// Statements that upgrade the schema from each version to the next one.
pub(crate) const MIGRATIONS: [&str; 2] = [
    "\
CREATE TABLE quayline.entries (key bytea PRIMARY KEY, value bytea NOT NULL);
ALTER TABLE quayline.entries ALTER COLUMN value SET STORAGE EXTERNAL;
CREATE TABLE quayline.meta (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO quayline.meta VALUES ('version', 1), ('position', 0);",
    // What belongs to processes that run is not logged: a crash of the server ends them all. Rows come and go with every message, so vacuum often.
    "\
CREATE UNLOGGED TABLE quayline.holds (key bytea PRIMARY KEY, process integer NOT NULL, unit bigint NOT NULL)
    WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE UNLOGGED TABLE quayline.waits (process integer, unit bigint, key bytea NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (process, unit));
CREATE INDEX waits_key ON quayline.waits (key);
CREATE TABLE quayline.processes (number integer PRIMARY KEY, ended timestamptz);
CREATE SEQUENCE quayline.process_numbers AS integer CYCLE;
ALTER TABLE quayline.entries SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
INSERT INTO quayline.meta VALUES ('opened_ms', 0);
UPDATE quayline.meta SET value = 2 WHERE name = 'version';",
];

/// One process at a time looks at the version and migrates.
pub(crate) const ALONE: &str = "SELECT pg_advisory_xact_lock(8175558129219530342)";
pub(crate) const HAS_META: &str = "SELECT to_regclass('quayline.meta') IS NOT NULL";
pub(crate) const SCHEMA: &str = "CREATE SCHEMA IF NOT EXISTS quayline";

pub(crate) const META: &str = "SELECT value FROM quayline.meta WHERE name = $1";
/// Versions before 2 hold this lock alone, since they know nothing of other processes. Its number is \"quayline\" as bytes.
pub(crate) const LOCK: &str = "SELECT pg_try_advisory_lock_shared(8175558129219530341)";
/// A restore has the same lock alone, so that no process works in a store that has only a part of the save.
pub(crate) const LOCK_ALONE: &str = "SELECT pg_try_advisory_lock(8175558129219530341)";
/// The mark stays if the restore does not end. The next restore removes what is there.
pub(crate) const RESTORE_BEGINS: &str = "\
TRUNCATE quayline.entries;
INSERT INTO quayline.meta VALUES ('restoring', 1) ON CONFLICT DO NOTHING";
pub(crate) const RESTORE_ENDS: &str = "DELETE FROM quayline.meta WHERE name = 'restoring'";
pub(crate) const IS_RESTORING: &str = "SELECT EXISTS (SELECT FROM quayline.meta WHERE name = 'restoring')";

/// Classes of the locks that live processes hold: their number, and the slot of their stamps.
pub(crate) const PROCESS_CLASS: i32 = 0x716c_0001;
pub(crate) const SLOT_CLASS: i32 = 0x716c_0002;
pub(crate) const NEXT_PROCESS: &str = "SELECT nextval('quayline.process_numbers')";
pub(crate) const TAKE: &str = "SELECT pg_try_advisory_lock($1, $2)";
pub(crate) const REGISTER: &str = "INSERT INTO quayline.processes VALUES ($1)";
pub(crate) const OPENED: &str = "UPDATE quayline.meta SET value = \
    greatest(value + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) WHERE name = 'opened_ms' RETURNING value";
/// Releases the locks and claims of processes whose advisory lock is free, and notifies the others. The row of an ended process stays for a minute, because
/// its last statements may still run.
pub(crate) const REAP: &str = "\
WITH gone AS MATERIALIZED (SELECT number, ended FROM quayline.processes WHERE number <> $1 AND pg_try_advisory_xact_lock($2, number)),
freed AS (DELETE FROM quayline.holds WHERE process IN (SELECT number FROM gone) RETURNING 1),
unwaited AS (DELETE FROM quayline.waits WHERE process IN (SELECT number FROM gone)),
noted AS (UPDATE quayline.processes SET ended = now() WHERE number IN (SELECT number FROM gone WHERE ended IS NULL)),
forgotten AS (DELETE FROM quayline.processes WHERE number IN (SELECT number FROM gone WHERE ended < now() - interval '1 minute'))
SELECT pg_notify('quayline', '*') FROM (SELECT FROM freed LIMIT 1) AS any_freed";
pub(crate) const LEAVE: &str = "\
WITH freed AS (DELETE FROM quayline.holds WHERE process = $1 RETURNING 1),
unwaited AS (DELETE FROM quayline.waits WHERE process = $1),
forgotten AS (DELETE FROM quayline.processes WHERE number = $1)
SELECT pg_notify('quayline', '*') FROM (SELECT FROM freed LIMIT 1) AS any_freed";

/// Locks keys, unless a unit of another process waits for one of them and no unit of this process has waited longer. Otherwise a unit that gives up and
/// retries would always overtake the waiting ones. A wait of more than a minute loses this precedence, since its row may be left over from a crash.
pub(crate) const HOLD: &str = "INSERT INTO quayline.holds (key, process, unit) \
    SELECT n.key, $3, n.unit FROM unnest($1::bytea[], $2::bigint[]) AS n (key, unit) \
    WHERE NOT EXISTS (SELECT FROM quayline.waits AS o WHERE o.key = n.key AND o.unit >= 0 AND o.process <> $3 \
        AND o.since > now() - interval '1 minute' AND o.since < coalesce((SELECT min(m.since) FROM quayline.waits AS m \
        WHERE m.key = n.key AND m.unit >= 0 AND m.process = $3), 'infinity')) \
    ORDER BY n.key ON CONFLICT DO NOTHING RETURNING key";
pub(crate) const RELEASE: &str = "DELETE FROM quayline.holds AS h USING unnest($1::bytea[], $2::bigint[]) AS n (key, unit) \
    WHERE h.key = n.key AND h.unit = n.unit AND h.process = $3";
/// Holds on keys that a commit changes end with it.
pub(crate) const FREE: &str = "DELETE FROM quayline.holds WHERE key = ANY($1::bytea[])";
/// Notifies other processes that wait for one of these keys or use one of these spaces.
pub(crate) const TELL: &str = "SELECT pg_notify('quayline', told.text) FROM (\
    SELECT 'k' || encode(w.key, 'hex') AS text FROM quayline.waits AS w \
    WHERE w.unit >= 0 AND w.process <> $4 AND w.key = ANY($1::bytea[]) UNION \
    SELECT 's' || encode(n.space, 'hex') || ':' || n.count FROM unnest($2::bytea[], $3::bigint[]) AS n (space, count) \
    WHERE EXISTS (SELECT FROM quayline.waits AS w WHERE w.unit < 0 AND w.process <> $4 AND w.key = n.space)) AS told";
pub(crate) const WAIT: &str = "INSERT INTO quayline.waits (process, unit, key) VALUES ($1, $2, $3) \
    ON CONFLICT (process, unit) DO UPDATE SET key = excluded.key, \
    since = CASE WHEN waits.key = excluded.key THEN waits.since ELSE excluded.since END";
pub(crate) const UNWAIT: &str = "DELETE FROM quayline.waits WHERE process = $1 AND unit = $2";
/// Follows who waits for whom from the holder of a key. A unit waits for one key and a key has one holder, so the path does not branch, and if
/// it comes back to this unit, everything on it is the circle. The greatest of a circle gives up.
pub(crate) const CIRCLE: &str = "\
WITH RECURSIVE path (process, unit) AS (
    SELECT process, unit FROM quayline.holds WHERE key = $3
    UNION
    SELECT h.process, h.unit FROM path AS p JOIN quayline.waits AS w ON w.process = p.process AND w.unit = p.unit
        JOIN quayline.holds AS h ON h.key = w.key)
SELECT coalesce(bool_or(process = $1 AND unit = $2) AND NOT bool_or((process, unit) > ($1, $2)), false) FROM path";
pub(crate) const IS_WATCHED: &str =
    "SELECT EXISTS (SELECT FROM quayline.waits WHERE unit < 0 AND key = $1 AND process <> $2)";

pub(crate) const GET: &str = "SELECT value FROM quayline.entries WHERE key = $1";
pub(crate) const GET_ALL: &str = "SELECT key, value FROM quayline.entries WHERE key = ANY($1::bytea[])";
pub(crate) const PUT: &str = "INSERT INTO quayline.entries SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";
pub(crate) const INSERT: &str = "INSERT INTO quayline.entries SELECT * FROM unnest($1::bytea[], $2::bytea[])";
pub(crate) const DELETE: &str = "DELETE FROM quayline.entries WHERE key = ANY($1::bytea[])";
/// The row makes the commits of all processes one order; it comes last, so it is locked for the sync only.
pub(crate) const MOVE: &str = "UPDATE quayline.meta SET value = value + $1 WHERE name = 'position' RETURNING value";
pub(crate) const SIZE: &str = "SELECT pg_total_relation_size('quayline.entries')";
pub(crate) const DAMAGE: &str = "SELECT count(*) FROM quayline.entries WHERE octet_length(key) < 4";
pub(crate) const COUNT: &str = "SELECT count(*) FROM quayline.entries WHERE key >= $1 AND key < $2";

/// Whether the statement has a condition on values: its last two parameters are offset from 1 and bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Values {
    Any,
    Filtered,
}

const NOBODY_HOLDS: &str = "NOT EXISTS (SELECT FROM quayline.holds AS h WHERE h.key = e.key)";

/// Claims the first free entries between `$1` and `$2`, at most `$3`, for process `$4`. `$5` is the space of the associated value. Row locks exclude
/// entries that another process is deleting; the primary key of `holds` excludes entries that another process is claiming.
pub(crate) fn claim(values: Values) -> String {
    let filter = match values {
        Values::Any => "",
        Values::Filtered => "AND substring(e.value FROM $6 FOR octet_length($7::bytea)) = $7::bytea",
    };
    format!(
        "WITH next AS MATERIALIZED (SELECT e.key, e.value FROM quayline.entries AS e WHERE e.key >= $1 AND e.key < $2 AND {NOBODY_HOLDS} {filter} \
         ORDER BY e.key LIMIT $3 FOR UPDATE OF e SKIP LOCKED), \
         held AS (INSERT INTO quayline.holds (key, process, unit) SELECT key, $4, 0 FROM next ON CONFLICT DO NOTHING RETURNING key) \
         SELECT n.key, n.value, b.value, h.key IS NOT NULL FROM next AS n LEFT JOIN held AS h ON h.key = n.key \
         LEFT JOIN quayline.entries AS b ON b.key = $5::bytea || substring(n.key FROM 5) ORDER BY n.key"
    )
}

/// Reads a page of entries between `$1` and `$2` that no process holds: at most `$3` entries, ending with the one that reaches `$4` bytes.
pub(crate) fn free_page(values: Values) -> String {
    let filter = match values {
        Values::Any => "",
        Values::Filtered => "AND substring(e.value FROM $5 FOR octet_length($6::bytea)) = $6::bytea",
    };
    ending(
        &format!(
            "SELECT e.key, e.value FROM quayline.entries AS e WHERE e.key >= $1 AND e.key < $2 AND {NOBODY_HOLDS} {filter}"
        ),
        "ASC",
    )
}

/// Reads a page of the keys inside the bounds: at most `$3` rows, ending with the one that reaches `$4` bytes. Lengths are known without reading long
/// values. An unbounded end still has its parameter, which the statement ignores.
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
    ending(&format!("SELECT key, value FROM quayline.entries WHERE {lower} AND {upper}"), order)
}

fn ending(rows: &str, order: &str) -> String {
    format!(
        "SELECT key, value FROM (SELECT key, value, sum(octet_length(key) + octet_length(value)) OVER (ORDER BY key {order}) \
         - octet_length(key) - octet_length(value) AS before FROM \
         ({rows} ORDER BY key {order} LIMIT $3::bigint) AS first) AS summed \
         WHERE before < $4::bigint ORDER BY key {order}"
    )
}
