//! Instances that a server removes after some days, with their logs.

use std::time::{Duration, SystemTime};

use quayline_batch::log::JobLogs;
use quayline_batch::record::ExecutionId;
use quayline_batch::{BatchError, Repository};

use super::DAY_MS;

/// Removes instances whose last execution ended more than this number of days ago, and logs of executions that another node has removed. Returns the
/// number of instances. `over` returns true to leave the rest for the next call.
pub(super) fn retain(
    repository: &Repository,
    logs: &JobLogs,
    days: u64,
    over: &dyn Fn() -> bool,
) -> Result<usize, BatchError> {
    let before = repository.now_ms().saturating_sub(days.saturating_mul(DAY_MS));
    let (removed, instances) = repository.purge_before(before, over)?;
    for execution in removed {
        // A log that stays is removed below, by the next call at the latest.
        let _ = logs.remove(execution);
    }
    let age = Duration::from_secs(days.saturating_mul(86_400));
    for entry in std::fs::read_dir(logs.folder()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(".log"));
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = written.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|since| since > age));
        let Some(stem) = stem.filter(|_| is_old && !over()) else { continue };
        if stem.contains(".replaced-") {
            let _ = std::fs::remove_file(entry.path());
        }
        let Ok(number) = stem.parse() else { continue };
        if matches!(repository.execution(ExecutionId(number)), Err(BatchError::NoSuchExecution(_))) {
            let _ = logs.remove(ExecutionId(number));
        }
    }
    Ok(instances)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use quayline_batch::{Engine, StoreBackend};
    use quayline_project::job::{JobFile, Parameters};
    use quayline_store::{Access, Clock, MemoryEngine, Store, StoreLimits, SystemClock};

    use super::*;

    #[derive(Debug)]
    struct Later(AtomicU64);

    impl Clock for Later {
        fn now_ms(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        fn random(&self) -> u64 {
            7
        }
    }

    /// Instances that ended stay for their days, and then they go with their logs; one that runs on stays.
    #[test]
    fn instances_go_after_their_days() {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(Later(AtomicU64::new(1_000 * DAY_MS)));
        let store =
            Store::open(Arc::new(MemoryEngine::new()), Arc::new(SystemClock), StoreLimits::default(), Access::Write);
        let backend = StoreBackend::new(store.expect("a store"), Arc::clone(&clock) as Arc<dyn Clock>);
        let repository = Arc::new(Repository::new(Arc::new(backend.expect("a repository"))));
        let mut engine = Engine::new(Arc::clone(&repository), crate::job::artifacts(), folder.path().to_owned());
        engine.observers.push(Arc::new(JobLogs::new(folder.path())));
        let xml = "<job id=\"j\" xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"2.0\"><step id=\"s\">\
            <batchlet ref=\"quayline.commandBatchlet\"><properties><property name=\"command\" value=\"true\"/></properties></batchlet></step></job>";
        let file = JobFile::parse("job.xml", xml).expect("a job");
        let start = || engine.start(&file, Parameters::new()).expect("it starts");
        let first = start().run().expect("it ends");
        let running = start();
        clock.0.fetch_add(3 * DAY_MS, Ordering::Relaxed);
        let last = start().run().expect("it ends");
        let keep = |days| retain(&repository, &JobLogs::new(folder.path()), days, &|| false).expect("it retains");
        assert_eq!(keep(3), 0, "it ended three days ago, and not more");
        clock.0.fetch_add(1, Ordering::Relaxed);
        assert_eq!(keep(3), 1);
        let logs = JobLogs::new(folder.path());
        assert!(!logs.path(first.id).exists() && logs.path(last.id).exists());
        assert!(repository.execution(first.id).is_err() && repository.execution(last.id).is_ok());
        let text = repository.text(last.digest).expect("a repository");
        assert!(text.is_some(), "another execution refers to the job XML");
        // A log that a restored store left goes when it is old.
        let replaced = logs.folder().join("7.replaced-1.log");
        std::fs::write(&replaced, "").expect("a log");
        keep(3);
        assert!(replaced.exists());
        let old = std::time::SystemTime::now() - Duration::from_secs(4 * 86_400);
        std::fs::File::options().write(true).open(&replaced).expect("a log").set_modified(old).expect("a time");
        keep(3);
        assert!(!replaced.exists());
        running.run().expect("it ends");
        clock.0.fetch_add(4 * DAY_MS, Ordering::Relaxed);
        assert_eq!(keep(3), 2);
        let text = repository.text(last.digest).expect("a repository");
        assert!(text.is_none(), "nothing refers to the job XML any more");
    }
}
