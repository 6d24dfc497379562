//! The gateway over HTTP.

mod body;
mod config;
mod handle;
mod program;
mod run;
mod shared;
mod thread;

pub use config::{AdminConfig, AuthenticationConfig, CorsConfig, JwtConfig, LimitsConfig, ServeConfig, TlsConfig};
pub use run::{LogLine, serve};
