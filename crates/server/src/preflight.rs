//! What `serve --check` finds before a server starts: definitions that are right as files and cannot work here.
//!
//! A server starts all the same, since a module may be deployed after it and a database may come up later. A check has nothing to wait for.

use std::path::Path;

use quayline_core::{Code, Fault, Finding, Place};
use quayline_gateway::{Definitions, HttpSpec, ProgramSpec, ProviderSpec, SqlPassword};

use crate::compile::{NO_COMPILER, try_compile};
use crate::config::ServeConfig;
use crate::upstream::from_environment;

/// A provider that every call would fail at.
const PROVIDER: Code = Code("SRV-006");

/// Operations that nobody can be admitted to.
const NOBODY: Code = Code("SRV-007");

/// What cannot work: programs without module or source, sources that do not compile, variables that are not set, and APIs whose every call
/// would be refused.
#[must_use]
pub fn cannot_work(config: &ServeConfig, definitions: &Definitions) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in &definitions.services {
        let why = match &service.provider {
            ProviderSpec::Program(spec) => program(spec),
            ProviderSpec::Http(spec) => http(spec),
            ProviderSpec::Sql(spec) => match &spec.password {
                SqlPassword::Environment(name) if std::env::var_os(name).is_none() => Some((
                    format!("the environment has no {name}, which holds the password of the database"),
                    "set the variable for the server's process, and for the check".to_owned(),
                )),
                SqlPassword::File(path) if !path.is_file() => Some((
                    format!("{} is no file, and holds the password of the database", path.display()),
                    "put the password on its first line".to_owned(),
                )),
                _ => None,
            },
            _ => None,
        };
        if let Some((message, hint)) = why {
            let place = Place { file: Some(format!("services/{}.toml", service.name).into()), ..Place::default() };
            findings.push(Finding::error(PROVIDER, Fault::Config, message).at(place).hint(hint));
        }
    }
    findings.extend(nobody(config, definitions));
    findings
}

/// Authentication that nothing is configured for: every call of a guarded operation is a 401.
pub(crate) fn nobody(config: &ServeConfig, definitions: &Definitions) -> Option<Finding> {
    let authentication = &config.authentication;
    let certificates = config.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some());
    let some_way = authentication.api_keys.is_some() || authentication.jwt.is_some() || certificates;
    if !authentication.required || some_way {
        return None;
    }
    let guarded = definitions.operations.iter().filter(|operation| !operation.public).count();
    let message = format!(
        "{guarded} of {} operations need authentication, and none is configured: every call of them is a 401",
        definitions.operations.len()
    );
    (guarded > 0).then(|| {
        Finding::error(NOBODY, Fault::Config, message)
            .at(Place { file: Some("quayline.toml".into()), ..Place::default() })
            .hint("add `api-keys`, `jwt` or client certificates; for tests on this machine, `required = false` in [serve.authentication]")
    })
}

fn program(spec: &ProgramSpec) -> Option<(String, String)> {
    let module = format!("{}.so", spec.program);
    let is_there = spec.modules.iter().any(|folder| folder.join(&module).is_file());
    match &spec.source {
        Some(source) => match try_compile(spec, source) {
            Ok(()) => None,
            Err(why) if why == NO_COMPILER && is_there => None,
            Err(why) => Some((
                format!("{} does not compile: {why}", source.file.display()),
                "fix the source, or bring the compiled module to the folder `modules`".to_owned(),
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
