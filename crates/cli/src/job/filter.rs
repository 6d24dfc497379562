//! Filters of lists over HTTP.

use quayline_batch::log::day_ms;
use quayline_batch::{BatchStatus, ExecutionFilter};
use quayline_core::Findings;
use quayline_server::AdminRequest;

use super::DAY_MS;
use crate::admin::{Query, wrong};

/// The parameters of a list with filters and pages.
pub(super) const NAMES: [&str; 9] = [
    "jobName",
    "batchStatus",
    "exitStatus",
    "createTime",
    "lastUpdatedTime",
    "submitter",
    "jobParameter.*",
    "page",
    "pageSize",
];
const PARAMETER: &str = "jobParameter.";

/// Returns the filter of a request for executions, limited to those that its operator may see.
pub(super) fn of(query: &Query, request: &AdminRequest<'_>, now_ms: u64) -> Result<ExecutionFilter, Findings> {
    query.only(&NAMES)?;
    let text = |name: &str| query.value(name).map(str::to_owned);
    let mut filter = ExecutionFilter {
        job: text("jobName"),
        exit_status: text("exitStatus"),
        submitter: if request.owns_only { request.operator.map(str::to_owned) } else { text("submitter") },
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
        let read = |text: &str| of(&Query::parse(text).expect("a query"), &request, now);
        let own =
            of(&Query::parse("submitter=karl").expect("a query"), &AdminRequest { owns_only: true, ..request }, now);
        assert_eq!(own.expect("a filter").submitter.as_deref(), Some("sue"));
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
        for none in ["batchStatus=DONE", "createTime=yesterday", "jobParameter.=1", "status=FAILED"] {
            assert!(read(none).is_err(), "{none}");
        }
    }
}
