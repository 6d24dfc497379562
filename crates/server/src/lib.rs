//! The gateway over HTTP/1.1: connections, TLS, authentication, limits, metrics, audit, reload and drain.
//!
//! ```text
//! listener ─▶ thread ─▶ route ─▶ access, limits ─▶ lane (request → record) ─▶ provider ─▶ lane (record → answer) ─▶ etag, gzip ─▶ client
//! ```
//!
//! Each server thread has its own runtime, connections, lanes, buffers and program workers. Threads share only the settings, the
//! current definitions and counters, and no request waits for another thread's lock.
//!
//! Providers that do I/O live here: programs in worker processes, HTTP services, databases, record files and queues.

mod access;
mod admin;
mod admin_part;
mod admission;
mod amqp;
mod amqp_config;
mod apart;
mod api;
mod api_graph;
mod authentication_config;
mod below;
mod beside;
mod body;
mod clients;
mod collect;
mod collected;
mod compile;
mod compress;
mod config;
mod connection_fault;
mod connections;
mod cross_origin;
mod displayed;
mod early;
mod error;
mod guard;
mod handle;
mod headers;
mod heads;
mod io;
mod issuer;
mod job_paths;
mod journal;
mod kept;
mod limiter;
mod limits_config;
mod local_runtime;
mod metric_kind;
mod metrics;
mod negotiate;
mod operator_log;
mod operator_paths;
mod otlp;
mod otlp_config;
mod outbound;
mod pages;
mod peer;
mod preflight;
mod process;
mod program;
mod protobuf;
mod queue_claims;
mod queues;
mod queues_config;
mod records;
mod reply;
mod request_body;
mod run;
mod shared;
mod sql;
mod store_part;
mod thread;
mod tls;
mod tls_config;
mod trace;
mod upstream;
mod waiting_task;

pub use access::key_digest;
pub use admin_part::{AdminAnswer, AdminDownload, AdminPart, AdminRequest, AdminStream, DownloadParts};
pub use amqp::{Users, tls_without_http};
pub use amqp_config::AmqpConfig;
pub use api_graph::{is_in_apis, operations_of};
pub use authentication_config::{AuthenticationConfig, JwtConfig};
pub use beside::Beside;
pub use collect::{Collecting, collect_work};
pub use config::{AdminConfig, AuditFailure, CorsConfig, PartnersConfig, ServeConfig, StoreDurability};
pub use early::EarlySignals;
pub use error::ServeError;
pub use job_paths::JOB_PATHS;
pub use kept::kept_intervals;
pub use limits_config::LimitsConfig;
pub use operator_log::LogLine;
pub use operator_paths::{Operation, OperatorPaths};
pub use otlp_config::OtlpConfig;
pub use preflight::{cannot_work, collide, doubts};
pub use queues_config::{QueueRights, QueuesConfig};
pub use records::{backout_misfits, file_definition, file_misfit, queue_misfits, store_misfits};
pub use run::{serve, serve_fixed, serve_with};
pub use store_part::{StorePart, StoreSaver};
pub use tls_config::TlsConfig;
