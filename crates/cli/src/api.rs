//! `quayline api`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_cobol::layout::{Dialect, Layout};
use quayline_convert::write_whole;
use quayline_core::Findings;
use quayline_gateway::{Api, FileProposal, FileSpec, Proposed, ProposedFile, ProviderSpec, Service, layout_of};
use quayline_store::record_file::{AlternateIndex, Duplicates, FileDefinition, KeyPlace, Organisation};

use crate::args::{ApiArgs, ApiCommand, ApiNewArgs, DurabilityOption, FolderArg, LimitArg};
use crate::console::{Console, shown, write_stdout};
use crate::exit::{Exit, Stop, argument};
use crate::service::dialect_name;
use crate::store::{Missing, Opened, stop, unreadable};

/// Makes a REST API of a record file.
pub(crate) fn run(args: &ApiArgs, console: &Console) -> Result<Exit, Stop> {
    let ApiCommand::New(args) = &args.what;
    let name = name(args)?;
    let root = &args.project;
    let places = [root.join("services").join(format!("{name}.toml")), root.join("apis").join(format!("{name}.toml"))];
    if let Some(place) = places.iter().find(|place| place.exists()) {
        let finding = argument(format!("{} is there already", shown(place)));
        return Err(finding.hint("write another name with --name, or remove the file").into());
    }
    let dialect_name = dialect_name(args.dialect.as_deref(), &args.encoding);
    let dialect = Dialect::preset(dialect_name).map_err(|error| argument(error.to_string()))?;
    let layout = layout_of(&args.copybook, args.record.as_deref(), &dialect, &LimitArg::limits(&args.limit))?;
    let (copybook, copied) = copybook(args)?;
    let mut indexes = Vec::new();
    let mut duplicates = Vec::new();
    for text in &args.indexes {
        let (index, is_repeated) = index(text)?;
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
            },
            name: &name,
            file: &args.file,
            key: &args.key,
            indexes: &indexes,
        },
    )?;
    let mut written = Vec::new();
    if let Some((from, to)) = &copied {
        let text = std::fs::read(from).map_err(|error| unreadable(from, &error))?;
        write(to, &text, &mut written)?;
    }
    // Before anything is written that the next command would read: what a user would get as findings later is an error here.
    let compiled = compile(&name, &proposal, root);
    let spec = match compiled {
        Ok(spec) => spec,
        Err(findings) => {
            written.iter().for_each(|path| drop(std::fs::remove_file(path)));
            return Err(findings.into());
        }
    };
    let definition = definition(&spec, &duplicates, &layout);
    let folder = FolderArg::new(args.store.clone().unwrap_or_else(|| root.join("data")), DurabilityOption::default());
    let opened = Opened::open(&folder, Missing::Create)?;
    let defined = define(&opened, definition, &spec);
    let defined = match defined {
        Ok(defined) => defined,
        Err(stop) => {
            written.iter().for_each(|path| drop(std::fs::remove_file(path)));
            opened.close(Exit::Usage)?;
            return Err(stop);
        }
    };
    for (place, text) in places.iter().zip([&proposal.service, &proposal.api]) {
        write(place, text.as_bytes(), &mut written)?;
    }
    let lines: String = written.iter().map(|path| shown(path) + "\n").collect();
    write_stdout(lines.as_bytes())?;
    let store = shown(&folder.folder);
    console.line(&match defined {
        Defined::Now => format!("the record file {} is defined in {store}, empty", args.file),
        Defined::Before => format!("the record file {} of {store} is as it was", args.file),
    });
    let project = shown(root);
    console.paragraph(&format!(
        "next: quayline serve {project}; clients need the keys that [serve.authentication] of quayline.toml names"
    ));
    opened.close(Exit::Done)
}

/// The service's and the API's name: a file name and a part of a path.
fn name(args: &ApiNewArgs) -> Result<String, Stop> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match &args.name {
        Some(name) if !name.is_empty() && name.chars().all(allowed) => Ok(name.clone()),
        Some(name) => {
            let finding = argument(format!("`{name}` is not a name for a service"));
            Err(finding.hint("write letters, digits, `-` and `_`").into())
        }
        None => {
            let word = |c: char| if allowed(c) { c.to_ascii_lowercase() } else { '-' };
            Ok(args.file.chars().map(word).collect())
        }
    }
}

/// How the service names the copybook, and from where to where it is copied if the project does not have it.
fn copybook(args: &ApiNewArgs) -> Result<(String, Option<(PathBuf, PathBuf)>), Stop> {
    let whole = |path: &Path| path.canonicalize().map_err(|error| unreadable(path, &error));
    let (root, path) = (whole(&args.project)?, whole(&args.copybook)?);
    for folder in [root.join("copybooks"), root.clone()] {
        if let Ok(inside) = path.strip_prefix(&folder) {
            return Ok((inside.to_string_lossy().into_owned(), None));
        }
    }
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let to = args.project.join("copybooks").join(&file);
    if to.exists() {
        let finding = argument(format!("{} is there already, and is not {}", shown(&to), shown(&args.copybook)));
        return Err(finding.hint("name the copybook of the project, or rename one of them").into());
    }
    Ok((file, Some((args.copybook.clone(), to))))
}

/// `NAME=FIELD` and whether keys may repeat.
fn index(text: &str) -> Result<((String, String), bool), Stop> {
    let wrong = || argument("--index is not an index").hint("write NAME=FIELD, or NAME=FIELD:duplicates");
    let (name, field) = text.split_once('=').ok_or_else(wrong)?;
    let (field, repeated) = match field.split_once(':') {
        Some((field, "duplicates")) => (field, true),
        Some(_) => return Err(wrong().into()),
        None => (field, false),
    };
    if name.is_empty() || field.is_empty() {
        return Err(wrong().into());
    }
    Ok(((name.to_owned(), field.to_owned()), repeated))
}

/// The record file that the service names, from the service and the API as they will be read.
fn compile(name: &str, proposal: &FileProposal, root: &Path) -> Result<FileSpec, Findings> {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let service = Arc::new(Service::compile(&format!("services/{name}.toml"), &proposal.service, &root)?);
    Api::compile(&format!("apis/{name}.toml"), &proposal.api, std::slice::from_ref(&service))?;
    match &service.provider {
        ProviderSpec::File(spec) => Ok(spec.clone()),
        _ => Err(argument("the service is not a record file").into()),
    }
}

fn definition(spec: &FileSpec, duplicates: &[bool], layout: &Layout) -> FileDefinition {
    let number = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    let place = |key: &quayline_gateway::FileKey| KeyPlace { offset: number(key.offset), length: number(key.length) };
    let index = |(index, repeated): (&quayline_gateway::FileIndex, &bool)| AlternateIndex {
        name: index.name.clone(),
        place: place(&index.key),
        duplicates: if *repeated { Duplicates::Allowed } else { Duplicates::Unique },
    };
    let (least, most) = spec.record_bytes;
    FileDefinition {
        name: spec.file.clone(),
        organisation: Organisation::KeySequenced(place(&spec.key)),
        record_bytes_min: number(least.min(layout.length_min)),
        record_bytes_max: number(most),
        alternates: spec.indexes.iter().zip(duplicates).map(index).collect(),
    }
}

/// Whether the store had the file.
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

fn write(path: &Path, bytes: &[u8], written: &mut Vec<PathBuf>) -> Result<(), Stop> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| unreadable(folder, &error))?;
    }
    write_whole(path, bytes).map_err(|error| error.findings())?;
    written.push(path.to_owned());
    Ok(())
}
