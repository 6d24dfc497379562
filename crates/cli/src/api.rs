//! `quayline api`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_convert::NewFiles;
use quayline_core::Findings;
use quayline_gateway::{
    Api, FileProposal, FileSpec, ProgramProposal, ProgramRecords, Proposed, ProposedFile, ProposedProgram,
    ProviderSpec, Service, members_beside, service_name,
};
use quayline_store::record_file::FileDefinition;

use crate::args::{ApiArgs, ApiCommand, ApiNewArgs, DurabilityOption, FolderArg, LimitArg};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{Exit, Stop, argument};
use crate::service::dialect_of;
use crate::store::{Missing, Opened, stop, unreadable};

/// Creates a REST API for a record file or a program.
pub(crate) fn run(args: &ApiArgs, console: &Console) -> Result<Exit, Stop> {
    let ApiCommand::New(args) = &args.what;
    let mut written = NewFiles::default();
    let done = match &args.file {
        Some(file) => of_file(args, file, console, &mut written),
        None => of_program(args, console, &mut written),
    };
    if done.is_err() {
        written.undo();
    }
    done
}

/// Settings of a project that has none: those of a server without keys, which `serve --check` refuses until one of the two ways is chosen.
const SETTINGS: &str = "\
# Settings of this project; docs/reference/gateway.md explains every key. Every setting that is left out has a safe default.
[serve]
listen = \"127.0.0.1:8080\"

[serve.authentication]
# api-keys = \"keys.toml\"   # [[key]] with id and sha256 for each client: printf %s \"$KEY\" | sha256sum
# required = false         # only for trials on this machine: no client needs a key
";

/// Creates the service and the API of a program.
fn of_program(args: &ApiNewArgs, console: &Console, written: &mut NewFiles) -> Result<Exit, Stop> {
    let root = &args.project;
    std::fs::File::open(&args.copybook).map_err(|error| unreadable(&args.copybook, &error))?;
    let mut records =
        ProgramRecords::of(&args.copybook, args.program.as_deref(), args.record.as_deref(), &args.parameters)?;
    let program = records.program.take();
    let is_source = program.is_some();
    // The name as the source has it: the module is named in its case.
    let Some(program) = program.or_else(|| args.program.clone()) else {
        let finding = argument(format!("{} is not the source of a program", shown(&args.copybook)));
        return Err(finding.hint("name the program with --program, or a record file with --file and --key").into());
    };
    let name = service_name(args.name.as_deref(), &program)?;
    let places = places(root, &name)?;
    let (dialect_name, dialect) = dialect_of(args.dialect.as_deref(), &args.encoding)?;
    let folders = [root.join("copybooks"), root.clone()];
    let layout = records.layout(&args.copybook, &folders, &dialect, &LimitArg::limits(&args.limit))?;
    written.folder(root).map_err(|error| error.findings())?;
    let (copybook, copies) = copybook(args, if is_source { "programs" } else { "copybooks" })?;
    let from = Proposed {
        copybook: &copybook,
        record: records.record.as_deref(),
        encoding: &args.encoding,
        dialect: dialect_name,
        parameters: &records.parameters,
        program: Some(&program),
        source: is_source.then_some(copybook.as_str()),
        is_free: records.is_free,
    };
    let ProgramProposal { service, api } =
        ProgramProposal::new(&layout, ProposedProgram { from, name: &name, operation: &args.operation })?;
    copies.iter().try_for_each(|(from, to)| written.copy(from, to)).map_err(|error| error.findings())?;
    compile(&name, &service, &api, root)?;
    let file = shown(&places[0]);
    put(root, places, [&service, &api], written)?;
    if service.contains("\nkind = \"http\" ") {
        console.paragraph(&format!(
            "before you serve it: write the address of the program into [provider] of {file}, which has a placeholder"
        ));
    }
    say_next(root, written, console);
    Ok(Exit::Done)
}

/// Returns the paths of the service and the API, which must not exist yet.
fn places(root: &Path, name: &str) -> Result<[PathBuf; 2], Stop> {
    let places = ["services", "apis"].map(|folder| root.join(folder).join(format!("{name}.toml")));
    match places.iter().find(|place| place.exists()) {
        Some(place) => {
            let finding = argument(format!("{} already exists", shown(place)));
            Err(finding.hint("write another name with --name, or remove the file").into())
        }
        None => Ok(places),
    }
}

/// Writes the service, the API and the settings of a project that has none. Lists all files that the command has written.
fn put(root: &Path, [service, api]: [PathBuf; 2], texts: [&str; 2], written: &mut NewFiles) -> Result<(), Stop> {
    let settings = root.join("quayline.toml");
    let settings = (!settings.exists()).then_some((settings, SETTINGS));
    for (path, text) in [(service, texts[0]), (api, texts[1])].into_iter().chain(settings) {
        written.file(&path, text.as_bytes()).map_err(|error| error.findings())?;
    }
    let lines: String = written.files().iter().map(|path| shown(path) + "\n").collect();
    Ok(write_stdout(lines.as_bytes())?)
}

fn say_next(root: &Path, written: &NewFiles, console: &Console) {
    let root_shown = shown(root);
    let settings = root.join("quayline.toml");
    console.paragraph(&if written.files().contains(&settings) {
        format!(
            "next: choose under [serve.authentication] of {} how clients authenticate; then quayline serve {root_shown}",
            shown(&settings)
        )
    } else {
        format!(
            "next: quayline serve {root_shown}; [serve.authentication] of quayline.toml says how clients authenticate"
        )
    });
}

/// Creates the service and the API of a record file, and defines the file.
fn of_file(args: &ApiNewArgs, file: &str, console: &Console, written: &mut NewFiles) -> Result<Exit, Stop> {
    let name = service_name(args.name.as_deref(), file)?;
    let root = &args.project;
    let places = places(root, &name)?;
    let (dialect_name, dialect) = dialect_of(args.dialect.as_deref(), &args.encoding)?;
    let records = ProgramRecords { record: args.record.clone(), ..ProgramRecords::default() };
    let folders = [root.join("copybooks"), root.clone()];
    let layout = records.layout(&args.copybook, &folders, &dialect, &LimitArg::limits(&args.limit))?;
    written.folder(root).map_err(|error| error.findings())?;
    let (copybook, copies) = copybook(args, "copybooks")?;
    let mut indexes = Vec::new();
    let mut duplicates = Vec::new();
    for text in &args.indexes {
        let wrong = || argument("--index is not an index").hint("write NAME=FIELD, or NAME=FIELD:duplicates");
        let (index, is_repeated) = FileProposal::index(text).ok_or_else(wrong)?;
        indexes.push(index);
        duplicates.push(is_repeated);
    }
    let proposal = FileProposal::new(
        &layout,
        ProposedFile {
            from: Proposed {
                copybook: &copybook,
                record: args.record.as_deref(),
                encoding: &args.encoding,
                dialect: dialect_name,
                parameters: &[],
                program: None,
                source: None,
                is_free: false,
            },
            name: &name,
            file,
            key: args.key.as_deref().unwrap_or_default(),
            indexes: &indexes,
        },
    )?;
    copies.iter().try_for_each(|(from, to)| written.copy(from, to)).map_err(|error| error.findings())?;
    // Before anything is written that the next command would read: what a user would get as findings later is an error here.
    let spec = compile(&name, &proposal.service, &proposal.api, root).and_then(|service| file_of(&service))?;
    let definition = quayline_server::file_definition(&spec, &duplicates, layout.length_min);
    let folder = FolderArg::new(args.store.clone().unwrap_or_else(|| root.join("data")), DurabilityOption::default());
    let opened = Opened::open(&folder, Missing::Create)?;
    let defined = define(&opened, definition, &spec);
    let defined = match defined {
        Ok(defined) => defined,
        Err(stop) => {
            opened.close(Exit::Usage)?;
            return Err(stop);
        }
    };
    put(root, places, [&proposal.service, &proposal.api], written)?;
    let store = shown(&folder.folder);
    console.line(&match defined {
        Defined::Now => format!("the record file {file} is defined in {store}, empty"),
        Defined::Before => format!("the record file {file} of {store} is as it was"),
    });
    say_next(root, written, console);
    opened.close(Exit::Done)
}

/// Returns the copybook's name in the service, and the copies that the project needs: of the copybook, if it is not in the project, and of the COPY
/// members beside it. Each copy is a path and its path in the project.
fn copybook(args: &ApiNewArgs, folder: &str) -> Result<(String, Vec<(PathBuf, PathBuf)>), Stop> {
    let whole = |path: &Path| path.canonicalize().map_err(|error| unreadable(path, &error));
    let (root, path) = (whole(&args.project)?, whole(&args.copybook)?);
    for folder in [root.join("copybooks"), root.clone()] {
        if let Ok(inside) = path.strip_prefix(&folder) {
            return Ok((inside.to_string_lossy().into_owned(), Vec::new()));
        }
    }
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let to = args.project.join(folder).join(&file);
    let mut copies = vec![(args.copybook.clone(), to)];
    let beside = args.copybook.parent().unwrap_or(Path::new(""));
    for member in members_beside(&args.copybook).map_err(|error| unreadable(&args.copybook, &error))? {
        copies.push((beside.join(&member), args.project.join("copybooks").join(&member)));
    }
    let mut needed = Vec::new();
    for (from, to) in copies {
        if !to.exists() {
            needed.push((from, to));
        } else if std::fs::read(&from).ok() != std::fs::read(&to).ok() {
            let finding = argument(format!("{} already exists, and is not {}", shown(&to), shown(&from)));
            return Err(finding.hint("name the copybook of the project, or rename one of them").into());
        }
    }
    // Quayline finds copybooks by their names alone.
    Ok((if folder == "copybooks" { file } else { format!("{folder}/{file}") }, needed))
}

/// Compiles the service and its API as a server does.
fn compile(name: &str, service: &str, api: &str, root: &Path) -> Result<Arc<Service>, Findings> {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let service = Arc::new(Service::compile(&format!("services/{name}.toml"), service, &root)?);
    Api::compile(&format!("apis/{name}.toml"), api, std::slice::from_ref(&service))?;
    Ok(service)
}

/// Returns the record file that the service names.
fn file_of(service: &Service) -> Result<FileSpec, Findings> {
    match &service.provider {
        ProviderSpec::File(spec) => Ok(spec.clone()),
        _ => Err(argument("the service is not a record file").into()),
    }
}

/// Time at which the record file was defined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Defined {
    Now,
    Before,
}

fn define(opened: &Opened, definition: FileDefinition, spec: &FileSpec) -> Result<Defined, Stop> {
    let mut unit = opened.store.begin().map_err(stop)?;
    match opened.store.file(&unit, &spec.file) {
        Ok(_) => {
            drop(unit);
            let findings = quayline_server::file_misfit(&opened.store, spec);
            match findings {
                None => Ok(Defined::Before),
                Some(finding) => Err((*finding).into()),
            }
        }
        Err(quayline_store::StoreError::FileMissing { .. }) => {
            opened.store.define_file(&mut unit, definition).map_err(stop)?;
            unit.commit().map_err(stop)?;
            Ok(Defined::Now)
        }
        Err(error) => Err(stop(error)),
    }
}
