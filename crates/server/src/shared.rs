//! State that all server threads share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quayline_core::{Code, Fault, Finding, Findings};
use quayline_gateway::{Definitions, KeySet, ProgramSpec, ProviderSpec, Stamp};
use quayline_store::Store;
use quayline_workload::Workload;

use crate::access::Access;
use crate::admin_part::AdminPart;
use crate::beside::Beside;
use crate::collected::Collected;
use crate::compile::{Made, compile_programs};
use crate::config::{AuditFailure, ServeConfig};
use crate::connections::{Connections, Seldom, room_for_connections};
use crate::error::ServeError;
use crate::issuer::Issuer;
use crate::journal::{Journal, Keeping, Log};
use crate::limiter::Limiter;
use crate::metrics::Metrics;
use crate::otlp::Otlp;
use crate::queue_claims::Claims;
use crate::records::store_misfits;
use crate::tls;

/// Settings, the current definitions and secrets, counters.
pub(crate) struct Shared {
    pub(crate) config: ServeConfig,
    pub(crate) root: PathBuf,
    /// Other parts of the program on the listener for operators.
    pub(crate) parts: Vec<Arc<dyn AdminPart>>,
    /// Held while parts are asked whether they work.
    pub(crate) asking_parts: Arc<tokio::sync::Mutex<()>>,
    /// Record files and queues of providers.
    pub(crate) store: Option<Store>,
    /// Classes of work.
    pub(crate) workload: Option<Arc<Workload>>,
    pub(crate) early: Option<Arc<crate::EarlySignals>>,
    /// Intervals that were collected.
    pub(crate) collected: Arc<Collected>,
    /// Messages that clients have claimed and not settled.
    pub(crate) claims: Claims,
    /// Requests that wait for messages.
    pub(crate) queue_waiting: AtomicUsize,
    definitions: Mutex<Arc<Definitions>>,
    /// Counts reloads; threads compare it with theirs for every request.
    pub(crate) generation: AtomicU64,
    access: Mutex<Arc<Access>>,
    /// Issuer of tokens whose keys come from a URL.
    pub(crate) issuer: Option<Issuer>,
    /// Exporter of spans and metrics.
    pub(crate) otlp: Option<Otlp>,
    token_keys: Mutex<Option<Arc<KeySet>>>,
    /// Generation of keys and tokens.
    pub(crate) access_generation: AtomicU64,
    tls: Mutex<Option<Arc<rustls::ServerConfig>>>,
    pub(crate) connections: Arc<Connections>,
    /// Lines for the operator that would come with every connection.
    pub(crate) seldom: SeldomLines,
    /// Requests in progress.
    pub(crate) requests: AtomicUsize,
    pub(crate) stopping: AtomicBool,
    /// True if the server ends without waiting for requests in progress.
    pub(crate) hurried: AtomicBool,
    pub(crate) limiter: Limiter,
    pub(crate) metrics: Metrics,
    /// Start of the server.
    pub(crate) began: Instant,
    pub(crate) audit: Option<Journal>,
    pub(crate) access_log: Option<Journal>,
    /// Stamps of the files before any of them was read.
    pub(crate) first: Stamps,
    /// Results of compiling the programs' modules.
    made: Mutex<Made>,
    /// Files that the definitions of the last refused reload were read from.
    refused: Mutex<Vec<PathBuf>>,
    /// Lock that permits one reload at a time.
    reloading: Mutex<()>,
    /// Reason why the last reload of definitions, and of keys and certificates, failed.
    reload_fault: Mutex<[Option<String>; 2]>,
    log: Log,
}

/// Log lines that are written at a limited rate.
#[derive(Debug, Default)]
pub(crate) struct SeldomLines {
    pub(crate) accept: Seldom,
    pub(crate) full: Seldom,
    pub(crate) full_address: Seldom,
    /// Requests through proxies whose headers name different clients.
    pub(crate) client_headers: Seldom,
    /// By [`crate::connection_fault::ConnectionFault`].
    pub(crate) faults: [Seldom; 5],
}

/// Descriptors of a server beside connections: standard streams, listeners, logs, files that are read, and those of each thread and worker.
fn other_files(config: &ServeConfig, definitions: &Definitions) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = config.threads.unwrap_or(cores).max(1);
    let of_providers = definitions.services.iter().map(|service| match &service.provider {
        ProviderSpec::Program(program) => 6 * program.workers,
        ProviderSpec::Sql(sql) => 2 * sql.connections,
        _ => 8,
    });
    64 + threads * (8 + of_providers.sum::<usize>())
}

/// Stamps of definitions and secrets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stamps {
    /// The folders of the project, and the files that services and programs are made of, wherever they are.
    pub(crate) definitions: (Stamp, FilesStamp),
    /// The files of definitions that the last reload refused.
    pub(crate) refused: FilesStamp,
    pub(crate) secrets: FilesStamp,
    /// `quayline.toml`: read at the start only.
    pub(crate) settings: FilesStamp,
}

/// Size and time of each file.
pub(crate) type FilesStamp = Vec<Option<(u64, std::time::SystemTime)>>;

/// Outcome of a reload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reloaded {
    Done,
    /// The files are wrong: another look makes sense when they have changed.
    Refused,
    /// The files could not be read: another look may find them.
    Unread,
}

impl Shared {
    pub(crate) fn new(
        config: ServeConfig,
        root: PathBuf,
        definitions: Definitions,
        beside: Beside,
        log: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, ServeError> {
        let made = compile_programs(&definitions, &*log);
        let files = files_stamp(definitions.files().chain(&made.files));
        let first = Stamps {
            definitions: (definitions.stamp_before(&root), files),
            refused: FilesStamp::new(),
            secrets: secrets_stamp(&config),
            settings: settings_stamp(&root),
        };
        let access = Access::load(&config.authentication, None).map_err(ServeError::Settings)?;
        let issuer = config.authentication.jwt.as_ref().map(Issuer::new).transpose();
        let issuer = issuer.map_err(ServeError::Settings)?.flatten();
        let tls = config.tls.as_ref().map(tls::load).transpose().map_err(ServeError::Settings)?;
        let log: Log = Arc::from(log);
        let fit = room_for_connections(other_files(&config, &definitions));
        if let Some(wanted) = config.limits.connections.filter(|wanted| fit < *wanted) {
            log(&format!(
                "the system allows open files for {fit} connections, `limits.connections` is {wanted}: raise the limit of open files (`ulimit -n`, LimitNOFILE of systemd), or lower `connections`"
            ));
        }
        let connections = Connections::new(&config.limits, fit);
        let metrics = Metrics::default();
        let otlp = config.otlp.as_ref().map(|otlp| Otlp::new(otlp, Arc::clone(&metrics.telemetry)));
        let otlp = otlp.transpose().map_err(ServeError::Settings)?;
        let journal = |path: &Path, keeping: Keeping, lost: &Arc<AtomicU64>| {
            let journal = Journal::to_file(path, keeping, Arc::clone(lost), Arc::clone(&log));
            journal.map_err(|error| ServeError::Journal(path.to_owned(), error))
        };
        let keeping = match config.audit_failure {
            AuditFailure::Refuse => Keeping::Required,
            AuditFailure::Continue => Keeping::Wanted,
        };
        let audit = config.audit.as_ref().map(|path| journal(path, keeping, &metrics.audit_lost)).transpose()?;
        let access_log = match config.access_log.as_deref() {
            None | Some("off") => None,
            Some("stderr") => Some(Journal::to_stderr(Arc::clone(&metrics.access_log_lost), Arc::clone(&log))),
            Some(path) => Some(journal(&root.join(path), Keeping::BestEffort, &metrics.access_log_lost)?),
        };
        Ok(Shared {
            began: Instant::now(),
            parts: beside.parts,
            asking_parts: Arc::default(),
            store: beside.store,
            workload: beside.workload,
            early: beside.early,
            collected: Arc::default(),
            claims: Claims::new(config.queues.as_ref()),
            queue_waiting: AtomicUsize::new(0),
            limiter: Limiter::new(&config.limits),
            config,
            root,
            definitions: Mutex::new(Arc::new(definitions)),
            generation: AtomicU64::new(1),
            access: Mutex::new(Arc::new(access)),
            issuer,
            otlp,
            token_keys: Mutex::default(),
            access_generation: AtomicU64::new(1),
            tls: Mutex::new(tls),
            connections,
            seldom: SeldomLines::default(),
            requests: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            hurried: AtomicBool::new(false),
            metrics,
            audit,
            access_log,
            first,
            made: Mutex::new(made),
            refused: Mutex::default(),
            reloading: Mutex::default(),
            reload_fault: Mutex::default(),
            log,
        })
    }

    pub(crate) fn definitions(&self) -> (u64, Arc<Definitions>) {
        let definitions = lock(&self.definitions);
        (self.generation.load(Ordering::Acquire), Arc::clone(&definitions))
    }

    pub(crate) fn access(&self) -> (u64, Arc<Access>) {
        let access = lock(&self.access);
        (self.access_generation.load(Ordering::Acquire), Arc::clone(&access))
    }

    /// Returns the settings of new handshakes; `None` without TLS.
    pub(crate) fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        lock(&self.tls).clone()
    }

    /// Reloads the definitions. An error leaves the old ones in force. It is slow and must not run on a thread that serves requests.
    pub(crate) fn reload(&self) -> Result<(), Findings> {
        let _one = lock(&self.reloading);
        let done = self.read_again();
        match &done {
            Ok(()) => {
                self.metrics.reloads.fetch_add(1, Ordering::Relaxed);
                lock(&self.reload_fault)[0] = None;
            }
            Err(findings) => {
                let first = findings.first_error().map_or_else(String::new, |finding| finding.message.to_string());
                self.reload_failed(0, first);
            }
        }
        done
    }

    fn read_again(&self) -> Result<(), Findings> {
        let mut files = Vec::new();
        let done = self.read_definitions(&mut files);
        // Files that only refused definitions name are watched, so that their correction is noticed.
        *lock(&self.refused) = if done.is_ok() { Vec::new() } else { files };
        done
    }

    /// Reads the definitions and sets them if they are right. `files` gets the files that they were read from, also if they are wrong.
    fn read_definitions(&self, files: &mut Vec<PathBuf>) -> Result<(), Findings> {
        let (_, old) = self.definitions();
        let new = old.load_again(&self.root, files)?;
        if let Some(store) = &self.store {
            // What did not fit before answers 503 already; what fits now must not end.
            let known = store_misfits(store, &old);
            let misfits: Vec<Finding> =
                store_misfits(store, &new).into_iter().filter(|finding| !known.contains(finding)).collect();
            if !misfits.is_empty() {
                return Err(Findings(misfits));
            }
        }
        let made = compile_programs(&new, &*self.log);
        // A program that is not what its source and copybooks say would read fields where the new definitions do not put them.
        let known = lock(&self.made).stale.clone();
        let stale = made.stale.iter().filter(|(module, _)| !known.iter().any(|(known, _)| known == module));
        let findings: Vec<Finding> = stale
            .map(|(_, why)| {
                let hint = "correct the source or the copybook; the old definitions and the old program stay in force together";
                Finding::error(MODULE, Fault::Config, why.clone()).hint(hint)
            })
            .collect();
        if !findings.is_empty() {
            files.extend(made.files);
            return Err(Findings(findings));
        }
        *lock(&self.made) = made;
        let mut definitions = lock(&self.definitions);
        *definitions = Arc::new(new);
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Counts a reload that failed and notes why: of definitions 0, of keys and certificates 1. Whether the reason is new.
    pub(crate) fn reload_failed(&self, what: usize, why: impl Into<String>) -> bool {
        let why = Some(why.into());
        self.metrics.reloads_failed.fetch_add(1, Ordering::Relaxed);
        let mut fault = lock(&self.reload_fault);
        let is_new = fault[what] != why;
        fault[what] = why;
        is_new
    }

    /// Returns the reasons why the last reloads failed, for readiness.
    pub(crate) fn reload_faults(&self) -> Vec<String> {
        let [definitions, secrets] = lock(&self.reload_fault).clone();
        let definitions = definitions.map(|why| format!("the old definitions stay in force: {why}"));
        definitions
            .into_iter()
            .chain(secrets.map(|why| format!("the old keys and certificates stay in force: {why}")))
            .collect()
    }

    /// Returns the reason if a program's module cannot be used.
    pub(crate) fn stale(&self, program: &ProgramSpec) -> Option<String> {
        let module = program.made_module()?;
        lock(&self.made).stale.iter().find(|(known, _)| *known == module).map(|(_, why)| why.clone())
    }

    /// Reloads keys, tokens' keys and certificates. An error leaves the old ones in force.
    pub(crate) fn reload_secrets(&self) -> Result<(), String> {
        let _one = lock(&self.reloading);
        let done = self.read_secrets_again();
        if done.is_ok() {
            lock(&self.reload_fault)[1] = None;
        }
        done
    }

    fn read_secrets_again(&self) -> Result<(), String> {
        let read = Access::load(&self.config.authentication, None)?;
        let new = self.config.tls.as_ref().map(tls::load).transpose()?;
        self.set_access(read);
        *lock(&self.tls) = new;
        Ok(())
    }

    /// Sets rules and API keys that were read from files.
    fn set_access(&self, read: Access) {
        let mut access = lock(&self.access);
        // An issuer with a URL may have got newer keys while the files were read, so its keys are looked up under the lock.
        let read = if self.issuer.is_some() { read.with_token_keys(lock(&self.token_keys).clone()) } else { read };
        *access = Arc::new(read);
        self.access_generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Sets the keys of the issuer; with `None`, no token is accepted.
    pub(crate) fn set_token_keys(&self, keys: Option<Arc<KeySet>>) {
        let mut access = lock(&self.access);
        lock(&self.token_keys).clone_from(&keys);
        *access = Arc::new(access.with_token_keys(keys));
        self.access_generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the current stamps of the files.
    pub(crate) fn stamps(&self) -> Stamps {
        let definitions = self.definitions().1;
        let (made, refused) = (lock(&self.made).files.clone(), lock(&self.refused).clone());
        Stamps {
            definitions: (definitions.stamp(&self.root), files_stamp(definitions.files().chain(&made))),
            refused: files_stamp(refused.iter()),
            secrets: secrets_stamp(&self.config),
            settings: settings_stamp(&self.root),
        }
    }

    /// Logs that changed settings need a restart, and any faults that would make the restart fail.
    pub(crate) fn settings_changed(&self) {
        match ServeConfig::load(&self.root) {
            Ok(_) => self
                .log("quayline.toml has changed: restart the server to apply [serve]; the old settings stay in force"),
            Err(findings) => self.log(&format!(
                "quayline.toml has changed and a restart would fail; the old settings stay in force:\n{findings}"
            )),
        }
    }

    /// Writes a log line for the operator.
    pub(crate) fn log(&self, line: &str) {
        (self.log)(line);
    }

    /// Returns the log for use in other threads.
    pub(crate) fn log_shared(&self) -> Log {
        Arc::clone(&self.log)
    }
}

/// Returns a stamp of the files with secrets, which changes when one of them does.
fn secrets_stamp(config: &ServeConfig) -> FilesStamp {
    let authentication = &config.authentication;
    let mut paths: Vec<&PathBuf> = authentication.api_keys.iter().collect();
    paths.extend(authentication.jwt.as_ref().and_then(|jwt| jwt.jwks.as_ref()));
    if let Some(tls) = &config.tls {
        paths.extend([&tls.certificate, &tls.key]);
        paths.extend(tls.client_authorities.as_ref());
    }
    files_stamp(paths)
}

/// Returns a stamp of the settings file.
fn settings_stamp(root: &Path) -> FilesStamp {
    files_stamp([&root.join("quayline.toml")])
}

fn files_stamp<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> FilesStamp {
    let of = |path: &PathBuf| {
        let data = std::fs::metadata(path).ok()?;
        Some((data.len(), data.modified().ok()?))
    };
    paths.into_iter().map(of).collect()
}

/// A module that cannot be made from its source.
const MODULE: Code = Code("SRV-005");

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{TokenCache, Unknown};

    /// A reload read the issuer's keys before the files and set them after, so keys that arrived in between were lost until the next refresh.
    #[test]
    fn a_reload_keeps_keys_of_an_issuer_that_arrive_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        for sub in ["services", "apis"] {
            std::fs::create_dir_all(folder.path().join(sub)).unwrap();
        }
        let mut config = ServeConfig::default();
        let jwt = "issuer = \"i\"\naudience = \"a\"\njwks-url = \"http://127.0.0.1:1/keys\"\n";
        config.authentication.jwt = Some(toml::from_str(jwt).unwrap());
        let definitions = Definitions::load(folder.path()).unwrap();
        let log = Box::new(|_: &str| ());
        let shared = Shared::new(config, folder.path().to_owned(), definitions, Beside::default(), log).unwrap();
        let has_keys = || {
            let token = |name: &str| (name == "authorization").then(|| "Bearer x.y.z".to_owned());
            !matches!(shared.access().1.identify(&token, None, &TokenCache::default()), Err(Unknown::NoKeys))
        };
        let read = || Access::load(&shared.config.authentication, None).unwrap();
        let before = read();
        assert!(!has_keys());
        shared.set_token_keys(Some(Arc::new(KeySet::parse(b"{\"keys\":[]}").unwrap())));
        shared.set_access(before);
        assert!(has_keys());
        // Keys that were withdrawn do not come back either.
        let before = read();
        shared.set_token_keys(None);
        shared.set_access(before);
        assert!(!has_keys());
    }
}
