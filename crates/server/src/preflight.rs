//! Checks of `serve --check` before a server starts: definitions that are valid as files and cannot work on this machine.
//!
//! The server itself starts despite such findings, since a module may be deployed later and a database may come up later.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use quayline_core::{Code, Fault, Finding, Place};
use quayline_gateway::{CannedRecords, Definitions, HttpSpec, Operation, ProgramSpec, ProviderSpec, SqlPassword};

use crate::clients::CONFLICT_REMEDY;
use quayline_program::NO_COMPILER;

use crate::compile::source_of;
use crate::config::ServeConfig;
use crate::upstream::from_environment;

/// A provider that every call would fail at.
const PROVIDER: Code = Code("SRV-006");

/// No client has access to an operation.
const NOBODY: Code = Code("SRV-007");

/// Listeners that need one address.
const SAME_ADDRESS: Code = Code("SRV-009");

/// Requests for queues that operations take.
const QUEUES_HIDDEN: Code = Code("SRV-012");

/// A file that the server writes, in a folder that takes none.
const NOT_WRITABLE: Code = Code("SRV-010");

/// Setting of trusted proxies without their header.
const PROXIES: Code = Code("SRV-013");

/// Returns settings and parts of definitions that work, but may be mistakes. A server logs them when it starts.
#[must_use]
pub fn doubts(config: &ServeConfig, definitions: &Definitions) -> Vec<Finding> {
    let of_apis = definitions.apis.iter().flat_map(|api| api.warnings.iter().cloned());
    open_proxies(config).into_iter().chain(of_apis).collect()
}

fn open_proxies(config: &ServeConfig) -> Option<Finding> {
    let is_open = !config.trusted_proxies.is_empty() && config.client_address_header.is_none();
    let message = "serve.trusted-proxies: a client of these proxies can send the header that the proxies do not write; the header then names any client, or conflicts with that of the proxies";
    let place = Place { file: Some("quayline.toml".into()), ..Place::default() };
    let finding = || Finding::warning(PROXIES, Fault::Config, message).at(place).hint(CONFLICT_REMEDY);
    is_open.then(finding)
}

/// Returns findings for definitions that cannot work: programs without module or source, sources that do not compile, missing files and variables,
/// APIs whose every call would be refused, listeners with the same address, and an audit that cannot be written.
#[must_use]
pub fn cannot_work(config: &ServeConfig, definitions: &Definitions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in &definitions.services {
        let why = match &service.provider {
            ProviderSpec::Program(spec) => program(spec),
            ProviderSpec::Http(spec) => http(spec),
            ProviderSpec::Canned(spec) => {
                let records = std::fs::read(&spec.file).map_err(|error| quayline_core::system_error_text(&error));
                let read = records.and_then(|bytes| CannedRecords::new(bytes, service.length, spec.by));
                read.err().map(|why| {
                    (
                        format!("the canned records cannot be read from {}: {why}", shown(&spec.file)),
                        "bring the file of records there, or name another `file` in [provider]".to_owned(),
                    )
                })
            }
            ProviderSpec::Sql(spec) => match &spec.password {
                SqlPassword::Environment(name) if std::env::var_os(name).is_none() => Some((
                    format!("the environment has no {name}, which holds the password of the database"),
                    "set the variable for the server's process, and for the check".to_owned(),
                )),
                SqlPassword::File(path) if !path.is_file() => Some((
                    format!("{} is not a file, and holds the password of the database", path.display()),
                    "put the password on its first line".to_owned(),
                )),
                _ => None,
            },
            _ => None,
        };
        if let Some((message, hint)) = why {
            findings.push(Finding::error(PROVIDER, Fault::Config, message).at(service.file()).hint(hint));
        }
    }
    findings.extend(queues_hidden(config, definitions));
    findings.extend(nobody(config, definitions));
    findings.extend(same_addresses(config));
    findings.extend(config.audit.as_deref().and_then(audit));
    findings
}

/// Returns a finding for an operation whose path is one of the queues, which would hide the queues.
fn queues_hidden(config: &ServeConfig, definitions: &Definitions) -> Option<Finding> {
    let path = &config.queues.as_ref()?.path;
    let operation = definitions.at_or_below(path)?;
    let (method, own) = (&operation.method, &operation.path);
    let message = format!("serve.queues.path: {method} {own} takes requests that are for queues below {path}");
    let hint = "choose another `path` in [serve.queues], or another path for the operation";
    Some(in_config(QUEUES_HIDDEN, Fault::Config, message, hint))
}

fn in_config(code: Code, fault: Fault, message: String, hint: &str) -> Finding {
    let place = Place { file: Some("quayline.toml".into()), ..Place::default() };
    Finding::error(code, fault, message).at(place).hint(hint)
}

/// Listeners of which only the first could begin.
fn same_addresses(config: &ServeConfig) -> Vec<Finding> {
    let all = config.listeners();
    let mut findings = Vec::new();
    for (at, (key, address)) in all.iter().enumerate() {
        if let Some((other, _)) = all[..at].iter().find(|(_, other)| collide(*address, *other)) {
            let message = format!("serve.{key}: {address} is the address of serve.{other} too");
            findings.push(in_config(SAME_ADDRESS, Fault::Config, message, "give each listener a port of its own"));
        }
    }
    findings
}

/// Returns true if two listeners cannot have these addresses at the same time. Port 0 is a free port each time.
#[must_use]
pub fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let is_all = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && (one.ip() == other.ip() || is_all)
}

/// Returns the reason why the audit could not be written. The check removes its files; the server creates them at its first start.
fn audit(path: &Path) -> Option<Finding> {
    let tried = if path.exists() {
        std::fs::OpenOptions::new().append(true).open(path).map(drop)
    } else {
        path.ancestors().skip(1).find(|folder| folder.exists()).map_or(Ok(()), takes_files)
    };
    let why = quayline_core::system_error_text(&tried.err()?);
    let message = format!("serve.audit: {} cannot be written: {why}", shown(path));
    let hint = "name a file in a folder that the server's user may write; requests are refused while the audit cannot be written";
    Some(in_config(NOT_WRITABLE, Fault::Environment, message, hint))
}

/// Makes a file in a folder and removes it.
fn takes_files(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".quayline-check-{}", std::process::id()));
    std::fs::File::create_new(&probe)?;
    std::fs::remove_file(&probe)
}

/// Returns a finding if operations need authentication and none is configured, so that every call of them gets a 401. Roles need it even if
/// `required` is false.
pub(crate) fn nobody(config: &ServeConfig, definitions: &Definitions) -> Option<Finding> {
    let authentication = &config.authentication;
    let certificates = config.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some());
    let some_way = authentication.api_keys.is_some() || authentication.jwt.is_some() || certificates;
    if some_way {
        return None;
    }
    let is_guarded =
        |operation: &Operation| !operation.public && (authentication.required || operation.roles.is_some());
    let guarded = definitions.operations.iter().filter(|operation| is_guarded(operation)).count();
    let message = format!(
        "{guarded} of {} operations need authentication, and none is configured: every call of them is a 401",
        definitions.operations.len()
    );
    if guarded == 0 {
        return None;
    }
    let ways = if authentication.required {
        "`api-keys`, `jwt` or client certificates; for tests on this machine, `required = false`"
    } else {
        "`api-keys`, `jwt` or client certificates, or remove `roles` from the operations and their APIs"
    };
    let finding = Finding::error(NOBODY, Fault::Config, message);
    Some(if config.has_no_file {
        finding.hint(format!(
            "the project has no quayline.toml: write this file in the project's folder, with the table [serve.authentication] and in it {ways}"
        ))
    } else {
        let place = Place { file: Some("quayline.toml".into()), ..Place::default() };
        finding.at(place).hint(format!("add to [serve.authentication] {ways}"))
    })
}

fn program(spec: &ProgramSpec) -> Option<(String, String)> {
    let module = format!("{}.so", spec.program);
    let is_there = spec.modules.iter().any(|folder| folder.join(&module).is_file());
    match &spec.source {
        Some(source) => match source_of(spec, source).try_compile() {
            Ok(()) => None,
            Err(why) if why == NO_COMPILER && is_there => None,
            Err(why) => Some((
                format!("{} does not compile: {why}", source.file.display()),
                "correct the source, write `compiler-options = [\"-free\"]` in its service if it is in free format, or bring the compiled module to the folder `modules`".to_owned(),
            )),
        },
        None if is_there => None,
        None => {
            let folders: Vec<String> = spec.modules.iter().map(|folder| shown(folder)).collect();
            Some((
                format!("the program {} has no module: {module} is not in {}", spec.program, folders.join(", ")),
                "compile it to there, or name its `source`, which the server compiles".to_owned(),
            ))
        }
    }
}

fn http(spec: &HttpSpec) -> Option<(String, String)> {
    let wrong = spec.headers.iter().find_map(|(name, value)| Some((name, from_environment(value).err()?)));
    wrong.map(|(name, why)| {
        (
            format!("the header {name} cannot be made: {why}"),
            "set the variable for the server's process, and for the check".to_owned(),
        )
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::ProxyHeader;

    /// A client could still choose its address through a proxy that writes neither header of a request.
    #[test]
    fn trusted_proxies_without_their_header_are_a_warning() {
        let mut config = ServeConfig::default();
        let doubts = |config: &ServeConfig| doubts(config, &Definitions::new(Vec::new(), Vec::new()).unwrap());
        assert!(doubts(&config).is_empty());
        config.trusted_proxies.push("10.0.0.0/8".parse().unwrap());
        let found = doubts(&config);
        assert!(found.len() == 1 && found[0].to_string().starts_with("warning[SRV-013]"), "{found:?}");
        assert!(found[0].hint.as_deref().is_some_and(|hint| hint.contains("`client-address-header`")));
        config.client_address_header = Some(ProxyHeader::Forwarded);
        assert!(doubts(&config).is_empty());
    }
}
