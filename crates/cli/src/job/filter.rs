//! Filters of lists over HTTP.

use quayline_batch::log::day_ms;
use quayline_batch::{BatchStatus, ExecutionFilter};
use quayline_core::Findings;
use quayline_server::AdminRequest;

use super::DAY_MS;
use crate::admin::{Query, wrong};

/// The parameters of a list with filters and pages.
pub(super) const NAMES: [&str; 8] =
    ["jobName", "batchStatus", "exitStatus", "createTime", "submitter", "jobParameter.*", "page", "pageSize"];
const PARAMETER: &str = "jobParameter.";

/// Returns the filter of a request for executions, limited to those that its operator may see.
pub(super) fn of(query: &Query, request: &AdminRequest<'_>) -> Result<ExecutionFilter, Findings> {
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
    if let Some(range) = query.value("createTime") {
        let (first, last) = range.split_once(':').unwrap_or((range, range));
        let day = |text: &str| match text {
            "" => Ok(None),
            text => day_ms(text).map(Some).ok_or_else(|| {
                let hint = "write days in UTC: createTime=2026-11-22, or createTime=2026-11-01:2026-11-22";
                wrong(format!("`{text}` of `createTime` is not a day"), hint.to_owned())
            }),
        };
        filter.from_ms = day(first)?;
        // The last day is a part of the range.
        filter.until_ms = day(last)?.map(|ms| ms + DAY_MS);
    }
    let parameters = query.pairs().filter_map(|(name, value)| Some((name.strip_prefix(PARAMETER)?, value)));
    filter.parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_become_filters() {
        let request = AdminRequest { method: "GET", operator: Some("sue"), ..AdminRequest::default() };
        let read = |text: &str| of(&Query::parse(text).expect("a query"), &request);
        let own = of(&Query::parse("submitter=karl").expect("a query"), &AdminRequest { owns_only: true, ..request });
        assert_eq!(own.expect("a filter").submitter.as_deref(), Some("sue"));
        let filter = read("batchStatus=FAILED,STOPPED&createTime=2026-11-22&jobParameter.day=a%20b").expect("a filter");
        assert_eq!(filter.statuses, [BatchStatus::Failed, BatchStatus::Stopped]);
        assert_eq!(filter.until_ms.zip(filter.from_ms).map(|(until, from)| until - from), Some(DAY_MS));
        assert_eq!(filter.parameters.get("day").map(String::as_str), Some("a b"));
        assert_eq!(read("createTime=2026-11-22:").expect("a filter").until_ms, None);
        for none in ["batchStatus=DONE", "createTime=yesterday", "jobParameter.=1", "status=FAILED"] {
            assert!(read(none).is_err(), "{none}");
        }
    }
}
