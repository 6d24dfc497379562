//! What all server threads share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quayline_core::Findings;
use quayline_gateway::{Definitions, KeySet, Stamp};

use crate::access::Access;
use crate::compile::compile_programs;
use crate::config::{AuditFailure, ServeConfig};
use crate::error::ServeError;
use crate::issuer::Issuer;
use crate::journal::{Journal, Keeping, Log};
use crate::limiter::Limiter;
use crate::metrics::Metrics;
use crate::tls;

/// Settings, the current definitions and secrets, counters.
pub(crate) struct Shared {
    pub(crate) config: ServeConfig,
    pub(crate) root: PathBuf,
    definitions: Mutex<Arc<Definitions>>,
    /// Counts reloads; threads compare it with theirs for every request.
    pub(crate) generation: AtomicU64,
    access: Mutex<Arc<Access>>,
    /// Where tokens' keys come from a URL.
    pub(crate) issuer: Option<Issuer>,
    token_keys: Mutex<Option<Arc<KeySet>>>,
    /// The same for keys and tokens.
    pub(crate) access_generation: AtomicU64,
    tls: Mutex<Option<Arc<rustls::ServerConfig>>>,
    pub(crate) connections: AtomicUsize,
    /// Requests in progress.
    pub(crate) requests: AtomicUsize,
    pub(crate) stopping: AtomicBool,
    pub(crate) limiter: Limiter,
    pub(crate) metrics: Metrics,
    pub(crate) audit: Option<Journal>,
    pub(crate) access_log: Option<Journal>,
    /// What files looked like before any of them was read.
    pub(crate) first: Stamps,
    log: Log,
}

/// What definitions and secrets look like.
pub(crate) type Stamps = (Stamp, SecretsStamp);

/// Size and time of each file with secrets.
pub(crate) type SecretsStamp = Vec<Option<(u64, std::time::SystemTime)>>;

impl Shared {
    pub(crate) fn new(
        config: ServeConfig,
        root: PathBuf,
        definitions: Definitions,
        log: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, ServeError> {
        compile_programs(&definitions, &*log);
        let first = (definitions.stamp_before(&root), secrets_stamp(&config));
        let access = Access::load(&config.authentication, None).map_err(ServeError::Settings)?;
        let issuer = config.authentication.jwt.as_ref().map(Issuer::new).transpose();
        let issuer = issuer.map_err(ServeError::Settings)?.flatten();
        let tls = config.tls.as_ref().map(tls::load).transpose().map_err(ServeError::Settings)?;
        let log: Log = Arc::from(log);
        let metrics = Metrics::default();
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
            limiter: Limiter::new(&config.limits),
            config,
            root,
            definitions: Mutex::new(Arc::new(definitions)),
            generation: AtomicU64::new(1),
            access: Mutex::new(Arc::new(access)),
            issuer,
            token_keys: Mutex::default(),
            access_generation: AtomicU64::new(1),
            tls: Mutex::new(tls),
            connections: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            metrics,
            audit,
            access_log,
            first,
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

    /// Settings of new handshakes; `None` where there is no TLS.
    pub(crate) fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        lock(&self.tls).clone()
    }

    /// Reads the definitions again. What is wrong leaves the old ones in force. It takes its time: not for a thread that serves.
    pub(crate) fn reload(&self) -> Result<(), Findings> {
        let new = Definitions::load(&self.root).inspect_err(|_| {
            self.metrics.reloads_failed.fetch_add(1, Ordering::Relaxed);
        })?;
        compile_programs(&new, &*self.log);
        let mut definitions = lock(&self.definitions);
        *definitions = Arc::new(new);
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.metrics.reloads.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Reads keys, tokens' keys and certificates again. What is wrong leaves the old ones in force.
    pub(crate) fn reload_secrets(&self) -> Result<(), String> {
        let access = Access::load(&self.config.authentication, lock(&self.token_keys).clone())?;
        let new = self.config.tls.as_ref().map(tls::load).transpose()?;
        *lock(&self.access) = Arc::new(access);
        self.access_generation.fetch_add(1, Ordering::AcqRel);
        *lock(&self.tls) = new;
        Ok(())
    }

    /// Other keys of the issuer are in force; `None`: no token is taken.
    pub(crate) fn set_token_keys(&self, keys: Option<Arc<KeySet>>) {
        let mut access = lock(&self.access);
        lock(&self.token_keys).clone_from(&keys);
        *access = Arc::new(access.with_token_keys(keys));
        self.access_generation.fetch_add(1, Ordering::AcqRel);
    }

    /// What files look like now.
    pub(crate) fn stamps(&self) -> Stamps {
        (self.definitions().1.stamp(&self.root), secrets_stamp(&self.config))
    }

    /// A line for the operator.
    pub(crate) fn log(&self, line: &str) {
        (self.log)(line);
    }
}

/// What the files with secrets look like: changes when one of them does.
fn secrets_stamp(config: &ServeConfig) -> SecretsStamp {
    let authentication = &config.authentication;
    let mut paths: Vec<&PathBuf> = authentication.api_keys.iter().collect();
    paths.extend(authentication.jwt.as_ref().and_then(|jwt| jwt.jwks.as_ref()));
    if let Some(tls) = &config.tls {
        paths.extend([&tls.certificate, &tls.key]);
        paths.extend(tls.client_authorities.as_ref());
    }
    let of = |path: &PathBuf| {
        let data = std::fs::metadata(path).ok()?;
        Some((data.len(), data.modified().ok()?))
    };
    paths.into_iter().map(of).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
