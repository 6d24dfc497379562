//! Filters and orders of lists over HTTP.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use quayline_batch::log::day_ms;
use quayline_batch::record::Execution;
use quayline_batch::{BatchStatus, ExecutionFilter};
use quayline_core::Findings;
use quayline_server::AdminRequest;

use super::DAY_MS;
use crate::admin::{Query, wrong};

/// The parameters of a list with filters and pages.
pub(super) const NAMES: [&str; 11] = [
    "jobInstanceId",
    "jobName",
    "batchStatus",
    "exitStatus",
    "createTime",
    "lastUpdatedTime",
    "submitter",
    "jobParameter.*",
    "sort",
    "page",
    "pageSize",
];
const PARAMETER: &str = "jobParameter.";

/// Compares two entries of a list.
type Compare = dyn Fn(&Execution, &Execution) -> Ordering;

/// Compares two entries by one member.
type ByMember = fn(&Execution, &Execution) -> Ordering;

/// Members by which a list can be sorted.
const SORTED: [(&str, ByMember); 7] = [
    ("jobInstanceId", |a, b| a.instance.cmp(&b.instance)),
    ("jobName", |a, b| a.job.cmp(&b.job)),
    ("submitter", |a, b| a.submitter.cmp(&b.submitter)),
    ("createTime", |a, b| a.created_ms.cmp(&b.created_ms)),
    ("lastUpdatedTime", |a, b| a.updated_ms.cmp(&b.updated_ms)),
    ("batchStatus", |a, b| a.status.text().cmp(b.status.text())),
    ("exitStatus", |a, b| a.exit_status.cmp(&b.exit_status)),
];

/// Returns the filter of a request for executions, limited to those that its operator may see, and the order, if the request has one.
pub(super) fn of(
    query: &Query,
    request: &AdminRequest<'_>,
    now_ms: u64,
) -> Result<(ExecutionFilter, Option<Box<Compare>>), Findings> {
    query.only(&NAMES)?;
    Ok((selection(query, request, now_ms)?, query.value("sort").map(order).transpose()?))
}

/// Reads members, separated by commas; one with `-` before it is in descending order. Equal entries stay in the order of a list without `sort`.
fn order(text: &str) -> Result<Box<Compare>, Findings> {
    let mut keys = Vec::new();
    for key in text.split(',') {
        let name = key.strip_prefix('-').unwrap_or(key);
        let compare = SORTED.iter().find(|(known, _)| *known == name).map(|(_, compare)| *compare);
        let compare = compare.ok_or_else(|| {
            let all: Vec<&str> = SORTED.iter().map(|(name, _)| *name).collect();
            let hint = format!("write sort=-createTime or several of {}", all.join(", "));
            wrong(format!("a list cannot be sorted by `{name}`"), hint)
        })?;
        keys.push((compare, name != key));
    }
    Ok(Box::new(move |a, b| {
        let by_key = keys.iter().map(|(compare, descends)| if *descends { compare(b, a) } else { compare(a, b) });
        by_key.fold(Ordering::Equal, Ordering::then)
    }))
}

/// Reads numbers of instances, separated by commas, or a range: `3:7`, `>7`, `<3`.
fn numbers(text: &str) -> Result<Vec<RangeInclusive<u64>>, Findings> {
    let refuse = || {
        let hint =
            "write numbers, jobInstanceId=3,7, or a range: 3:7, %3E7 (>7) or %3C3 (<3) without the number itself";
        wrong(format!("`{text}` of `jobInstanceId` is not a number or a range"), hint.to_owned())
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| refuse());
    if let Some(after) = text.strip_prefix('>') {
        return Ok(vec![number(after)?.saturating_add(1)..=u64::MAX]);
    }
    if let Some(before) = text.strip_prefix('<') {
        return Ok(vec![0..=number(before)?.saturating_sub(1)]);
    }
    if let Some((first, last)) = text.split_once(':') {
        return Ok(vec![number(first)?..=number(last)?]);
    }
    text.split(',').map(|one| number(one).map(|one| one..=one)).collect()
}

fn selection(query: &Query, request: &AdminRequest<'_>, now_ms: u64) -> Result<ExecutionFilter, Findings> {
    let text = |name: &str| query.value(name).map(str::to_owned);
    let mut filter = ExecutionFilter {
        job: text("jobName"),
        exit_status: text("exitStatus"),
        submitter: if request.owns_only { request.operator.map(str::to_owned) } else { text("submitter") },
        instances: query.value("jobInstanceId").map(numbers).transpose()?.unwrap_or_default(),
        ..ExecutionFilter::default()
    };
    for name in query.value("batchStatus").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        let status = BatchStatus::ALL.into_iter().find(|status| status.text() == name);
        filter.statuses.push(status.ok_or_else(|| {
            let all: Vec<&str> = BatchStatus::ALL.iter().map(|status| status.text()).collect();
            wrong(format!("`{name}` is not a batch status"), format!("the statuses are {}", all.join(", ")))
        })?);
    }
    (filter.from_ms, filter.until_ms) = times(query, "createTime", now_ms)?;
    (filter.updated_from_ms, filter.updated_until_ms) = times(query, "lastUpdatedTime", now_ms)?;
    let parameters = query.pairs().filter_map(|(name, value)| Some((name.strip_prefix(PARAMETER)?, value)));
    filter.parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(filter)
}

/// Returns the first moment of a parameter with a day, two days or a number of days before now, and the moment after its last one.
fn times(query: &Query, name: &str, now_ms: u64) -> Result<(Option<u64>, Option<u64>), Findings> {
    let Some(range) = query.value(name) else { return Ok((None, None)) };
    let refuse = |text: &str| {
        let hint = format!(
            "write days in UTC, {name}=2026-11-22 or {name}=2026-11-01:2026-11-22, or {name}=%3E3d (>3d) for the last three days and %3C3d for earlier ones"
        );
        wrong(format!("`{text}` of `{name}` is not a day"), hint)
    };
    if let Some(days) = range.strip_suffix('d').and_then(|text| text.strip_prefix(['<', '>'])) {
        let days: u64 = days.parse().map_err(|_| refuse(range))?;
        let at = Some(now_ms.saturating_sub(days.saturating_mul(DAY_MS)));
        return Ok(if range.starts_with('>') { (at, None) } else { (None, at) });
    }
    let (first, last) = range.split_once(':').unwrap_or((range, range));
    let day = |text: &str| match text {
        "" => Ok(None),
        text => day_ms(text).map(Some).ok_or_else(|| refuse(text)),
    };
    // The last day is a part of the range.
    Ok((day(first)?, day(last)?.map(|ms| ms + DAY_MS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_become_filters() {
        let request = AdminRequest { method: "GET", operator: Some("sue"), ..AdminRequest::default() };
        let now = 100 * DAY_MS;
        let both = |text: &str| of(&Query::parse(text).expect("a query"), &request, now);
        let read = |text: &str| both(text).map(|(filter, _)| filter);
        let own =
            of(&Query::parse("submitter=karl").expect("a query"), &AdminRequest { owns_only: true, ..request }, now);
        assert_eq!(own.expect("a filter").0.submitter.as_deref(), Some("sue"));
        let filter = read("batchStatus=FAILED,STOPPED&createTime=2026-11-22&jobParameter.day=a%20b").expect("a filter");
        assert_eq!(filter.statuses, [BatchStatus::Failed, BatchStatus::Stopped]);
        assert_eq!(filter.until_ms.zip(filter.from_ms).map(|(until, from)| until - from), Some(DAY_MS));
        assert_eq!(filter.parameters.get("day").map(String::as_str), Some("a b"));
        assert_eq!(read("createTime=2026-11-22:").expect("a filter").until_ms, None);
        let updated = |text: &str| {
            let filter = read(text).expect("a filter");
            assert_eq!((filter.from_ms, filter.until_ms), (None, None), "{text}");
            (filter.updated_from_ms, filter.updated_until_ms)
        };
        assert_eq!(updated("lastUpdatedTime=%3E3d"), (Some(97 * DAY_MS), None));
        assert_eq!(updated("lastUpdatedTime=<3d"), (None, Some(97 * DAY_MS)));
        assert_eq!(updated("lastUpdatedTime=1970-01-02:1970-01-03"), (Some(DAY_MS), Some(3 * DAY_MS)));
        for none in ["lastUpdatedTime=>d", "lastUpdatedTime=3d", "lastUpdatedTime=1970-01-02:x"] {
            assert!(read(none).is_err(), "{none}");
        }
        let instances = |text: &str| read(&format!("jobInstanceId={text}")).expect("a filter").instances;
        assert_eq!(instances("3,7"), [3..=3, 7..=7]);
        assert_eq!(instances("3:7"), [3..=7]);
        assert_eq!(instances("%3E7"), [8..=u64::MAX]);
        assert_eq!(instances("<3"), [0..=2]);
        for none in ["jobInstanceId=", "jobInstanceId=3:", "jobInstanceId=x", "jobInstanceId=1,,2", "sort=", "sort=age"]
        {
            assert!(both(none).is_err(), "{none}");
        }
        assert!(both("").expect("a filter").1.is_none() && both("sort=-createTime,jobName").is_ok());
        for none in ["batchStatus=DONE", "createTime=yesterday", "jobParameter.=1", "status=FAILED"] {
            assert!(read(none).is_err(), "{none}");
        }
    }
}
