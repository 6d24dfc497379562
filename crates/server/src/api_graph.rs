//! The operations of an API file by the providers that answer them, for predictions.

use std::path::Path;

use quayline_core::Findings;
use quayline_gateway::{Definitions, ProviderSpec, Service};
use quayline_workload::Answers;

/// Returns true for a file in a folder `apis`.
#[must_use]
pub fn is_in_apis(path: &Path) -> bool {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.parent().is_some_and(|folder| folder.ends_with("apis"))
}

/// Reads an API file of a project, with its services. Returns the name of each operation in intervals (`api:getOrder`), and the place
/// where its call is answered; `None` if the file is not in the folder `apis` of a project.
///
/// # Errors
/// Findings of the definitions.
pub fn operations_of(file: &Path) -> Result<Option<Vec<(String, Answers)>>, Findings> {
    let path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let Some(root) = path.parent().and_then(Path::parent) else { return Ok(None) };
    let name = format!("apis/{}", path.file_name().unwrap_or_default().to_string_lossy());
    let definitions = Definitions::load(root)?;
    let Some(api) = definitions.apis.iter().find(|api| api.file() == Some(&name)) else { return Ok(None) };
    let of = |operation: &std::sync::Arc<quayline_gateway::Operation>| {
        (format!("api:{}", operation.id), answers(&operation.service))
    };
    Ok(Some(api.operations.iter().map(of).collect()))
}

/// Returns the place where calls of a service are answered.
fn answers(service: &Service) -> Answers {
    let name = &service.name;
    let pool = |kind: &str, members: usize, runs_here: bool| Answers::Pool {
        station: format!("{kind} {name}"),
        each_thread: u32::try_from(members).unwrap_or(u32::MAX),
        runs_here,
    };
    match &service.provider {
        ProviderSpec::Canned(_) => Answers::Here,
        ProviderSpec::File(_) | ProviderSpec::Queue(_) => Answers::Store,
        ProviderSpec::Program(program) => pool("program", program.workers, true),
        // The database may be on this machine, but its CPU time is not measured as that of a program.
        ProviderSpec::Sql(sql) => pool("database", sql.connections, false),
        ProviderSpec::Http(_) => Answers::Elsewhere { station: format!("http {name}") },
    }
}
