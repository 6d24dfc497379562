//! The `[serve]` part of `quayline.toml`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quayline_core::{Code, Fault, Finding, Findings, Place};
use quayline_project::TomlFile;
use quayline_workload::WorkloadConfig;
use serde::Deserialize;

use crate::amqp_config::AmqpConfig;
use crate::authentication_config::AuthenticationConfig;
use crate::clients::{Network, ProxyHeader};
use crate::issuer::Issuer;
use crate::limits_config::LimitsConfig;
use crate::otlp::Otlp;
use crate::otlp_config::OtlpConfig;
use crate::queues_config::QueuesConfig;
use crate::tls_config::TlsConfig;
use crate::{access, tls};

const SYNTAX: Code = Code("SRV-001");
const UNSAFE: Code = Code("SRV-002");
const VALUE: Code = Code("SRV-003");
const FILES: Code = Code("SRV-004");

/// A setting that is not taken.
struct Wrong {
    code: Code,
    /// `serve` or `workload`.
    part: &'static str,
    /// Below the part, with points.
    key: &'static str,
    message: String,
    hint: String,
}

impl Wrong {
    fn new(code: Code, key: &'static str, message: &str, hint: &str) -> Wrong {
        Wrong { code, part: "serve", key, message: message.to_owned(), hint: hint.to_owned() }
    }

    fn path(&self) -> Vec<&'static str> {
        core::iter::once(self.part).chain(self.key.split('.')).collect()
    }

    fn finding(&self) -> Finding {
        Finding::error(self.code, Fault::Config, format!("{}.{}: {}", self.part, self.key, self.message))
            .hint(&*self.hint)
    }
}

/// Settings of a server. Every default is safe: this machine only, authentication required.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ServeConfig {
    /// True if the project has no `quayline.toml`.
    #[serde(skip)]
    pub has_no_file: bool,
    /// Address and port; 127.0.0.1:8080 by default.
    pub listen: Option<SocketAddr>,
    /// True to allow a `listen` address that other machines can reach.
    pub open_to_network: bool,
    /// True to serve other machines without TLS, for a server behind a proxy that terminates TLS.
    pub plain_http: bool,
    /// Proxies whose `Forwarded` or `X-Forwarded-For` is trusted to name the client, for limits, audit and access log. None by default.
    pub trusted_proxies: Vec<Network>,
    /// Header that the proxies write. Without it, the server reads both headers. If they name different clients, the proxy counts as the client.
    pub client_address_header: Option<ProxyHeader>,
    /// Server threads; by default one for each core.
    pub threads: Option<usize>,
    /// TLS.
    pub tls: Option<TlsConfig>,
    /// Authentication of clients.
    pub authentication: AuthenticationConfig,
    /// True to show the documents of non-public APIs to everybody.
    pub public_documents: bool,
    /// Bounds.
    pub limits: LimitsConfig,
    /// Cross-origin requests of browsers.
    pub cors: CorsConfig,
    /// The listener for operators.
    pub admin: AdminConfig,
    /// The listener for AMQP 1.0.
    pub amqp: Option<AmqpConfig>,
    /// Queues of the store that clients may use.
    pub queues: Option<QueuesConfig>,
    /// Folders and queues of trading partners that the server watches. None by default.
    pub partners: Option<PartnersConfig>,
    /// The collector of OpenTelemetry that spans and metrics go to; none by default.
    pub otlp: Option<OtlpConfig>,
    /// A line for each request, for auditors.
    pub audit: Option<PathBuf>,
    /// Treatment of requests while the audit cannot be written.
    pub audit_failure: AuditFailure,
    /// A line for each request, for operators: a file, `stderr` or `off` (the default).
    pub access_log: Option<String>,
    /// Seconds between looks at the files of definitions; 0 never looks, and SIGHUP or the admin listener reload. Default 2.
    pub reload_seconds: Option<u64>,
    /// Seconds that work in progress may take when the server stops. Default 30.
    pub drain_seconds: Option<u64>,
    /// Point at which a unit of work counts as done in the server's store. Default `sync`.
    pub durability: Option<StoreDurability>,
    /// Classes of work: the `[workload]` part of the file.
    #[serde(skip)]
    pub workload: WorkloadConfig,
}

/// Point at which a unit of work counts as done.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum StoreDurability {
    /// After its sync: a power failure loses no acknowledged work.
    Sync,
    /// After its write: a power failure loses the last seconds.
    Buffered,
}

/// Treatment of requests while the audit cannot be written.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum AuditFailure {
    /// Requests are refused with 503, so every processed request is on record.
    #[default]
    Refuse,
    /// Requests are answered; their lines are lost and counted.
    Continue,
}

/// Folders and queues of trading partners. Paths are relative to the project; a queue of the store is `queue:NAME`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PartnersConfig {
    /// Folders in which interchanges from partners arrive.
    pub inbox: Vec<PathBuf>,
    /// Folders in which documents to send arrive, by the document name that rules use.
    pub send: std::collections::BTreeMap<String, PathBuf>,
    /// Folder for processed files. Default `archive`.
    pub archive: PathBuf,
    /// Folder for files without anything to process. Default `rejected`.
    pub rejected: PathBuf,
    /// Seconds that a file must be unchanged. Default 5.
    pub settle_seconds: u64,
    /// Seconds between two rounds. Default 1.
    pub interval_seconds: u64,
}

impl Default for PartnersConfig {
    fn default() -> Self {
        PartnersConfig {
            inbox: Vec::new(),
            send: std::collections::BTreeMap::new(),
            archive: PathBuf::from("archive"),
            rejected: PathBuf::from("rejected"),
            settle_seconds: 5,
            interval_seconds: 1,
        }
    }
}

/// Returns true for a valid browser Origin: `https://app.example` or `http://localhost:3000`.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty() && !host.is_empty() && !host.contains(['/', '?', '#', '*', ' ']) && text != "null"
    })
}

/// Cross-origin requests (Fetch standard).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CorsConfig {
    /// Origins that may call, `https://app.example`; `*` for any, which never goes with credentials.
    pub origins: Vec<String>,
    /// Seconds that a browser may remember an answer. Default 600.
    pub max_age_seconds: Option<u32>,
}

/// The listener for operators.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AdminConfig {
    /// Address and port, which must be a loopback address. None by default.
    pub listen: Option<SocketAddr>,
    /// Address and port of a second listener, which other machines may reach: it answers only `GET /health`, `/ready` and `/metrics`.
    pub probes: Option<SocketAddr>,
    /// Networks that may use it. Default: all.
    pub probes_from: Vec<Network>,
    /// Roles that may read. Without any roles, everybody who reaches the listener may do everything.
    pub read: Vec<String>,
    /// Roles that may read and change.
    pub operate: Vec<String>,
    /// Roles that may start jobs, and see and change those that they started.
    pub submit: Vec<String>,
}

impl AdminConfig {
    /// Returns true if the listener accepts requests without credentials.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.read.is_empty() && self.operate.is_empty() && self.submit.is_empty()
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Whole {
    serve: ServeConfig,
    workload: WorkloadConfig,
}

impl ServeConfig {
    /// Returns the time for work in progress when the server stops: `drain-seconds`, 30 by default.
    #[must_use]
    pub fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_seconds.unwrap_or(30))
    }

    /// Reads `quayline.toml` from a project's folder. Without the file, all settings have their defaults. Relative paths begin at the folder.
    ///
    /// # Errors
    /// Every error in the file, and every unsafe setting.
    pub fn load(root: &Path) -> Result<ServeConfig, Findings> {
        let path = root.join("quayline.toml");
        // As services and APIs are named: from the project's folder.
        const NAME: &str = "quayline.toml";
        let in_file = || Place { file: Some(NAME.into()), ..Place::default() };
        let (text, has_no_file) = match std::fs::read_to_string(&path) {
            Ok(text) => (text, false),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (String::new(), true),
            Err(error) => {
                let message = format!("the settings cannot be read: {}", error.kind());
                return Err(Finding::error(SYNTAX, Fault::Environment, message).at(in_file()).into());
            }
        };
        let remedy = "docs/reference/gateway.md shows every key of [serve], docs/reference/workload.md of [workload]";
        let source = quayline_project::UserText { name: NAME.into(), text: text.as_str().into() };
        let file = TomlFile::parse(&source, SYNTAX, remedy)?;
        let whole = file.read::<Whole>(SYNTAX, remedy)?;
        let mut config = ServeConfig { workload: whole.workload, has_no_file, ..whole.serve };
        config.resolve(root);
        let mut wrong = config.wrong();
        if wrong.is_empty() {
            wrong = config.wrong_files();
        }
        if wrong.is_empty() {
            return Ok(config);
        }
        Err(Findings(wrong.into_iter().map(|wrong| wrong.finding().at(file.place(&wrong.path()))).collect()))
    }

    fn resolve(&mut self, root: &Path) {
        let mut paths: Vec<&mut PathBuf> = Vec::new();
        paths.extend(self.audit.as_mut());
        paths.extend(self.workload.keep_file.as_mut());
        paths.extend(self.authentication.api_keys.as_mut());
        if let Some(jwt) = &mut self.authentication.jwt {
            paths.extend(jwt.jwks.as_mut());
            paths.extend(jwt.jwks_authorities.as_mut());
        }
        paths.extend(self.otlp.as_mut().and_then(|otlp| otlp.authorities.as_mut()));
        if let Some(tls) = &mut self.tls {
            paths.extend([&mut tls.certificate, &mut tls.key]);
            paths.extend(tls.client_authorities.as_mut());
        }
        for path in paths {
            *path = root.join(&*path);
        }
    }

    /// Refuses settings that would expose the server by mistake, and invalid values.
    ///
    /// # Errors
    /// Each such setting, with the text to write if it is intended.
    pub fn check(&self) -> Result<(), Findings> {
        let wrong = self.wrong();
        if wrong.is_empty() { Ok(()) } else { Err(Findings(wrong.iter().map(Wrong::finding).collect())) }
    }

    fn wrong(&self) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        let mut unsafe_ = |key, message: &str, hint: &str| wrong.push(Wrong::new(UNSAFE, key, message, hint));
        let open = !self.listen().ip().is_loopback();
        if open && !self.open_to_network {
            unsafe_(
                "listen",
                "`listen` is an address that other machines reach",
                "if that is meant, write `open-to-network = true` in [serve]",
            );
        }
        if open && self.tls.is_none() && !self.plain_http {
            unsafe_(
                "listen",
                "other machines would be served without TLS",
                "add [serve.tls], or write `plain-http = true` where a proxy in front ends TLS",
            );
        }
        if self.admin.listen.is_some_and(|listen| !listen.ip().is_loopback()) {
            unsafe_(
                "admin.listen",
                "the admin listener would be open to other machines",
                "give it a loopback address; for probes and metrics from elsewhere add `probes` to [serve.admin]",
            );
        }
        let mut value = |key, message: &str, hint: &str| wrong.push(Wrong::new(VALUE, key, message, hint));
        for origin in self.cors.origins.iter().filter(|origin| *origin != "*" && !is_origin(origin)) {
            let message = format!("`{origin}` is not an origin: expected a scheme and a host, and nothing after them");
            value("cors.origins", &message, "write origins as browsers send them: `https://app.example`");
        }
        self.wrong_numbers(&mut value);
        if self.client_address_header.is_some() && self.trusted_proxies.is_empty() {
            let message = "no proxy is trusted, so the header is not read";
            value("client-address-header", message, "add `trusted-proxies`, or remove the key");
        }
        if let Some(tls) = &self.tls {
            let version = tls.minimum_version.as_deref();
            if version.is_some_and(|version| !matches!(version, "1.2" | "1.3")) {
                value("tls.minimum-version", "this version of TLS is not supported", "write \"1.2\" or \"1.3\"");
            }
            if tls.require_client_certificate && tls.client_authorities.is_none() {
                let message = "require-client-certificate is true, but client-authorities is missing";
                value(
                    "tls.require-client-certificate",
                    message,
                    "add `client-authorities`, the file with the certificates that sign those of clients",
                );
            }
        }
        if self.admin.probes.is_none() && !self.admin.probes_from.is_empty() {
            let message = "there is no listener for probes that this would limit";
            value("admin.probes-from", message, "add `probes`, an address and port");
        }
        let asked = self.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some());
        if !self.authentication.certificate_roles.is_empty() && !asked {
            let message = "roles are assigned to certificates that the server does not request";
            value("authentication.certificate-roles", message, "add `client-authorities` to [serve.tls]");
        }
        if let Some(jwt) = &self.authentication.jwt {
            jwt.wrong(&mut value);
        }
        if let Some(otlp) = &self.otlp {
            otlp.wrong(&mut value);
        }
        if let Some(queues) = &self.queues {
            queues.wrong(&mut value);
        }
        for (key, kind, message, hint) in self.amqp.iter().flat_map(|amqp| amqp.wrong(self)) {
            let code = if kind == Kind::Unsafe { UNSAFE } else { VALUE };
            wrong.push(Wrong::new(code, key, &message, hint));
        }
        wrong.extend(self.workload.wrong().into_iter().map(|setting| Wrong {
            part: "workload",
            ..Wrong::new(VALUE, setting.key, &setting.message, setting.hint)
        }));
        wrong
    }

    /// Returns errors in the files with keys and certificates, and in the settings of issuers.
    fn wrong_files(&self) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        let mut open = |key, done: Result<(), String>| {
            if let Err(why) = done {
                wrong.push(Wrong::new(FILES, key, &why, "relative paths begin at the project's folder"));
            }
        };
        if let Some(otlp) = &self.otlp {
            open("otlp", Otlp::new(otlp, Arc::default()).map(|_| ()));
        }
        if let Some(path) = &self.authentication.api_keys {
            open("authentication.api-keys", access::look_at_keys(path));
        }
        if let Some(jwt) = &self.authentication.jwt {
            if let Some(path) = &jwt.jwks {
                open("authentication.jwt.jwks", access::look_at_key_set(path));
            }
            open("authentication.jwt.jwks-url", Issuer::new(jwt).map(|_| ()));
        }
        if let Some(config) = &self.tls {
            open("tls.certificate", tls::load(config).map(|_| ()));
        }
        wrong
    }

    /// Numbers that would let nothing through.
    fn wrong_numbers(&self, value: &mut dyn FnMut(&'static str, &str, &str)) {
        let limits = &self.limits;
        let least = [
            ("threads", self.threads.is_none_or(|n| (1..=1024).contains(&n)), "1 to 1024 threads"),
            ("limits.header-bytes", limits.header_bytes >= 8192, "at least 8192 bytes"),
            ("limits.body-bytes", limits.body_bytes >= 1, "at least 1 byte"),
            ("limits.target-bytes", limits.target_bytes >= 1, "at least 1 byte"),
            ("limits.idle-seconds", limits.idle_seconds >= 1, "at least 1 second"),
            ("limits.body-seconds", limits.body_seconds >= 1, "at least 1 second"),
            ("limits.write-seconds", limits.write_seconds >= 1, "at least 1 second"),
            ("limits.connections", limits.connections != Some(0), "at least 1 connection"),
            ("limits.connections-per-address", limits.connections_per_address != Some(0), "at least 1 connection"),
            ("limits.requests", limits.requests >= 1, "at least 1 request"),
        ];
        for (key, fits, expected) in least {
            if !fits {
                let message = format!("expected {expected}");
                value(key, &message, "leave the key out for its default, which docs/reference/gateway.md gives");
            }
        }
        let keys = ["limits.client-requests-per-second", "limits.client-burst", "limits.client-concurrent"];
        limits.of_client().wrong(keys, value);
        limits.roles.values().for_each(|role| role.wrong(["limits.roles"; 3], value));
    }

    /// Address and port.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080))
    }

    /// Returns all listeners, with the key of each in `[serve]`.
    #[must_use]
    pub fn listeners(&self) -> Vec<(&'static str, SocketAddr)> {
        let mut all = vec![("listen", self.listen())];
        all.extend(self.admin.listen.map(|address| ("admin.listen", address)));
        all.extend(self.admin.probes.map(|address| ("admin.probes", address)));
        all.extend(self.amqp.as_ref().map(|amqp| ("amqp.listen", amqp.listen(self))));
        all
    }
}

impl AmqpConfig {
    /// Values that would let nothing through, and listeners that would be open by mistake: key, message and hint.
    pub(crate) fn wrong(&self, config: &ServeConfig) -> Vec<(&'static str, Kind, String, &'static str)> {
        let mut wrong = Vec::new();
        let is_open = !self.listen(config).ip().is_loopback();
        if is_open && !config.open_to_network {
            wrong.push((
                "amqp.listen",
                Kind::Unsafe,
                "`amqp.listen` is an address that other machines reach".to_owned(),
                "if that is meant, write `open-to-network = true` in [serve]",
            ));
        }
        if is_open && config.tls.is_none() {
            wrong.push((
                "amqp.listen",
                Kind::Unsafe,
                "passwords and messages would pass the network without TLS".to_owned(),
                "add [serve.tls]",
            ));
        }
        let authentication = &config.authentication;
        let has_authorities = config.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some());
        let needs_name = authentication.required || self.roles.is_some();
        if needs_name && authentication.api_keys.is_none() && !has_authorities {
            wrong.push((
                "amqp",
                Kind::Value,
                "no client can log in: there are neither users with passwords nor client certificates".to_owned(),
                "add `api-keys` to [serve.authentication], or `client-authorities` to [serve.tls], or write `required = false`",
            ));
        }
        let least = [
            ("amqp.threads", self.threads.is_none_or(|n| (1..=64).contains(&n)), "1 to 64 threads"),
            ("amqp.connections", self.connections != Some(0), "at least 1 connection"),
            ("amqp.credit", self.credit != Some(0), "at least 1 message"),
            ("amqp.idle-seconds", self.idle_seconds != Some(0), "at least 1 second"),
            ("amqp.transaction-seconds", self.transaction_seconds != Some(0), "at least 1 second"),
        ];
        for (key, fits, expected) in least {
            if !fits {
                let hint = "leave the key out for its default, which docs/reference/amqp.md gives";
                wrong.push((key, Kind::Value, format!("expected {expected}"), hint));
            }
        }
        wrong
    }

    /// Address and port.
    #[must_use]
    pub fn listen(&self, config: &ServeConfig) -> SocketAddr {
        let port = if config.tls.is_some() { 5671 } else { 5672 };
        self.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }
}

/// Kind of a wrong setting.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Open by mistake.
    Unsafe,
    /// An invalid value.
    Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("quayline.toml"), text).unwrap();
        match ServeConfig::load(folder.path()) {
            Ok(config) => format!("{} authenticated={}", config.listen(), config.authentication.required),
            Err(findings) => {
                findings.0.iter().map(|f| format!("{} {}", f.code, f.message)).collect::<Vec<_>>().join("\n")
            }
        }
    }

    #[test]
    fn nothing_is_open_unless_it_says_so_in_so_many_words() {
        assert_eq!(check(""), "127.0.0.1:8080 authenticated=true");
        assert!(check("[serve]\nlisten = \"0.0.0.0:80\"").starts_with("SRV-002"));
        assert!(check("[serve]\nlisten = \"0.0.0.0:80\"\nopen-to-network = true").starts_with("SRV-002"));
        assert_eq!(
            check("[serve]\nlisten = \"0.0.0.0:80\"\nopen-to-network = true\nplain-http = true"),
            "0.0.0.0:80 authenticated=true"
        );
        assert_eq!(check("[serve.authentication]\nrequired = false"), "127.0.0.1:8080 authenticated=false");
        assert!(check("[serve.admin]\nlisten = \"10.0.0.1:9\"").starts_with("SRV-002"));
        assert!(check("[serve]\nport = 80").starts_with("SRV-001"));
        assert!(check("[server]\nthreads = 1").starts_with("SRV-001"), "nothing is passed over");
        assert!(check("[serve.cors]\norigins = [\"app.example\"]").starts_with("SRV-003"));
        assert!(check("[serve]\nclient-address-header = \"forwarded\"").starts_with("SRV-003"), "who writes it?");
        assert!(check("[serve]\nclient-address-header = \"via\"").starts_with("SRV-001"));
    }

    /// Everything at once, each with its line, what was expected and what to do.
    #[test]
    fn all_that_is_wrong_is_found_at_once_with_its_place() {
        let text = |settings: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("quayline.toml"), settings).unwrap();
            let findings = ServeConfig::load(folder.path()).unwrap_err().to_string();
            findings.replace(&folder.path().display().to_string(), "P")
        };
        let types = text("[serve]\nlisten = \"here\"\nthread = 2\n[serve.limits]\nbody-bytes = \"1 MiB\"\nport = 1\n");
        for part in [
            "quayline.toml:2:10",
            "quayline.toml:3:1",
            "did you mean `threads`?",
            "quayline.toml:5:14",
            "quayline.toml:6:1",
        ] {
            assert!(types.contains(part), "{part} is not in\n{types}");
        }
        let values = text(
            "[serve]\nlisten = \"0.0.0.0:1\"\nthreads = 0\n[serve.limits]\nidle-seconds = 0\nclient-burst = 3\n[serve.cors]\norigins = [\"https://a/\"]\n[serve.tls]\ncertificate = \"c\"\nkey = \"k\"\nminimum-version = \"1.1\"\nrequire-client-certificate = true\n[serve.authentication.certificate-roles]\nshop = [\"clerk\"]\n[serve.authentication.jwt]\nissuer = \"i\"\naudience = \"a\"\njwks-url = \"http://issuer.example/keys\"\n[serve.admin]\nlisten = \"10.0.0.1:1\"\n",
        );
        for part in [
            "SRV-002]: serve.listen: `listen` is an address",
            "quayline.toml:2:10",
            "quayline.toml:3:11",
            "quayline.toml:5:16",
            "quayline.toml:6:16",
            "quayline.toml:8:11",
            "quayline.toml:12:19",
            "quayline.toml:13:30",
            "quayline.toml:14:23",
            "quayline.toml:19:12",
            "quayline.toml:21:10",
        ] {
            assert!(values.contains(part), "{part} is not in\n{values}");
        }
        let files = text(
            "[serve.tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"\n[serve.authentication]\napi-keys = \"keys.toml\"\n[serve.authentication.jwt]\nissuer = \"i\"\naudience = \"a\"\njwks = \"jwks.json\"\n",
        );
        for part in [
            "SRV-004]: serve.tls.certificate: P/c.pem: it holds no certificate",
            "quayline.toml:2:15",
            "quayline.toml:5:12",
            "quayline.toml:9:8",
        ] {
            assert!(files.contains(part), "{part} is not in\n{files}");
        }
    }
}
