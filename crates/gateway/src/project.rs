//! A project's services and APIs, and which operation a request is for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Code, Fault, Finding, Findings, Place};
use quayline_project::read_named_file;

use crate::api::{Api, Operation, Segment};
use crate::codes;
use crate::service::{Service, in_file};

/// Everything that one version of a project's files defines. It never changes: a reload makes another.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Services, in the order of their file names.
    pub services: Vec<Arc<Service>>,
    /// APIs, in the order of their file names.
    pub apis: Vec<Arc<Api>>,
    /// All operations; a route's number is an index into it.
    pub operations: Vec<Arc<Operation>>,
    routes: HashMap<usize, Vec<Route>>,
    /// What the project's folders looked like before they were read; nothing where they were not.
    before: Option<u64>,
}

/// What the files of [`Definitions`] look like: another one when one of them has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    project: u64,
    programs: u64,
}

#[derive(Debug)]
struct Route {
    segments: Vec<Segment>,
    /// By method.
    operations: Vec<(String, usize)>,
}

/// Which operation a path and method are for.
#[derive(Debug)]
pub enum Routed<'a> {
    /// Index of the operation and the values of its path's parameters, percent-encoded.
    To(usize, Vec<&'a str>),
    /// The path is known, the method is not: these are.
    Methods(Vec<&'a str>),
    /// No such path.
    Nowhere,
}

impl Definitions {
    /// Reads `services/*.toml` and `apis/*.toml` of a project's folder.
    ///
    /// # Errors
    /// All findings of all files at once.
    pub fn load(root: &Path) -> Result<Definitions, Findings> {
        // Programs run in folders of their own, so no path may depend on where this process stands.
        let root = &std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let before = Some(project_stamp(root));
        let mut findings = Vec::new();
        let mut services: Vec<Arc<Service>> = Vec::new();
        for (name, text) in texts(root, "services", &mut findings) {
            match Service::compile(&name, &text, root) {
                Ok(service) => services.push(Arc::new(service)),
                Err(found) => findings.extend(in_file(found, &name)),
            }
        }
        for (i, service) in services.iter().enumerate() {
            if let Some(other) = services[..i].iter().find(|other| other.name == service.name) {
                findings.push(twice(format!("two services have the name `{}`", service.name), &service.at, &other.at));
            }
        }
        let broken = !findings.is_empty();
        let mut apis: Vec<Arc<Api>> = Vec::new();
        for (name, text) in texts(root, "apis", &mut findings) {
            match Api::compile(&name, &text, &services) {
                Ok(api) => apis.push(Arc::new(api)),
                // Where a service is broken, that an API does not find it says nothing.
                Err(found) => findings.extend(
                    in_file(found, &name).into_iter().filter(|finding| !broken || finding.code != codes::NO_SUCH),
                ),
            }
        }
        let mut definitions = Definitions { services, apis, before, ..Definitions::default() };
        if findings.is_empty() {
            findings = definitions.route();
        }
        if findings.is_empty() { Ok(definitions) } else { Err(Findings(findings)) }
    }

    /// Makes definitions of what is compiled already.
    ///
    /// # Errors
    /// Two operations with one id, or with one path and method.
    pub fn new(services: Vec<Arc<Service>>, apis: Vec<Arc<Api>>) -> Result<Definitions, Findings> {
        let mut definitions = Definitions { services, apis, ..Definitions::default() };
        match definitions.route() {
            findings if findings.is_empty() => Ok(definitions),
            findings => Err(Findings(findings)),
        }
    }

    fn route(&mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (i, api) in self.apis.iter().enumerate() {
            if let Some(other) = self.apis[..i].iter().find(|other| other.base_path == api.base_path) {
                // Each has its document and its page below its base path.
                findings.push(twice(format!("two APIs have the base path `{}`", api.base_path), &api.at, &other.at));
            }
        }
        for operation in self.apis.iter().flat_map(|api| &api.operations) {
            let index = self.operations.len();
            if let Some(other) = self.operations.iter().find(|other| other.id == operation.id) {
                findings.push(twice(
                    format!("two operations have the id `{}`", operation.id),
                    &operation.at,
                    &other.at,
                ));
            }
            self.operations.push(Arc::clone(operation));
            let routes = self.routes.entry(operation.segments.len()).or_default();
            let entry = (operation.method.clone(), index);
            match routes.iter_mut().find(|route| same_path(&route.segments, &operation.segments)) {
                Some(route) => match route.operations.iter().find(|(method, _)| *method == operation.method) {
                    Some((_, other)) => {
                        let message = format!("two operations are {} {}", operation.method, operation.path);
                        findings.push(twice(message, &operation.at, &self.operations[*other].at));
                    }
                    None => route.operations.push(entry),
                },
                None => routes.push(Route { segments: operation.segments.clone(), operations: vec![entry] }),
            }
        }
        // Texts before parameters, so that `/models/new` wins over `/models/{model}`.
        for routes in self.routes.values_mut() {
            routes.sort_by_key(|route| {
                route.segments.iter().map(|s| matches!(s, Segment::Parameter(_))).collect::<Vec<bool>>()
            });
        }
        findings
    }

    /// The operation for a path (without query) and a method.
    #[must_use]
    pub fn find<'a>(&'a self, method: &str, path: &'a str) -> Routed<'a> {
        let parts = || crate::uri::parts(path, b'/').skip(1);
        if !path.starts_with('/') {
            return Routed::Nowhere;
        }
        let Some(routes) = self.routes.get(&parts().count()) else { return Routed::Nowhere };
        let fits = |route: &&Route| {
            route.segments.iter().zip(parts()).all(|(segment, part)| match segment {
                Segment::Text(text) => text == part,
                Segment::Parameter(_) => !part.is_empty(),
            })
        };
        let mut methods: Vec<&str> = Vec::new();
        for route in routes.iter().filter(fits) {
            if let Some((_, index)) = route.operations.iter().find(|(known, _)| known == method) {
                let parameter =
                    |(segment, part): (&Segment, &'a str)| matches!(segment, Segment::Parameter(_)).then_some(part);
                return Routed::To(*index, route.segments.iter().zip(parts()).filter_map(parameter).collect());
            }
            methods.extend(route.operations.iter().map(|(method, _)| method.as_str()));
        }
        if methods.is_empty() { Routed::Nowhere } else { Routed::Methods(methods) }
    }

    /// What the files look like that definitions come from: services, APIs, copybooks, interface files and the modules of programs.
    #[must_use]
    pub fn stamp(&self, root: &Path) -> Stamp {
        Stamp { project: project_stamp(root), programs: self.programs_stamp() }
    }

    /// What they looked like before they were read, so that a change since then shows; modules as they are now.
    #[must_use]
    pub fn stamp_before(&self, root: &Path) -> Stamp {
        Stamp { project: self.before.unwrap_or_else(|| project_stamp(root)), programs: self.programs_stamp() }
    }

    fn programs_stamp(&self) -> u64 {
        let mut folders: Vec<PathBuf> = Vec::new();
        for service in &self.services {
            if let crate::ProviderSpec::Program(program) = &service.provider {
                folders.extend(program.modules.iter().cloned());
                folders.extend(program.source.as_ref().and_then(|source| Some(source.file.parent()?.to_owned())));
            }
        }
        folders_stamp(&folders)
    }
}

fn project_stamp(root: &Path) -> u64 {
    folders_stamp(&["services", "apis", "copybooks", ""].map(|folder| root.join(folder)))
}

/// Names, sizes and times of the files that definitions can come from.
fn folders_stamp(folders: &[PathBuf]) -> u64 {
    let mut seen: Vec<(PathBuf, u64, Option<std::time::SystemTime>)> = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let known = ["toml", "cpy", "cbl", "cob", "copy", "so"];
            let counts = path.extension().and_then(|e| e.to_str()).is_some_and(|e| known.contains(&e));
            if let (true, Ok(data)) = (counts, entry.metadata()) {
                seen.push((path, data.len(), data.modified().ok()));
            }
        }
    }
    seen.sort();
    let mut text = String::new();
    for (path, len, modified) in seen {
        let since = modified.and_then(|m| m.duration_since(std::time::UNIX_EPOCH).ok());
        text.push_str(&format!("{} {len} {}\n", path.display(), since.map_or(0, |s| s.as_nanos())));
    }
    xxhash_rust::xxh3::xxh3_64(text.as_bytes())
}

fn same_path(a: &[Segment], b: &[Segment]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (a, b) {
            (Segment::Text(a), Segment::Text(b)) => a == b,
            (Segment::Parameter(_), Segment::Parameter(_)) => true,
            _ => false,
        })
}

fn twice(message: String, at: &Place, other: &Place) -> Finding {
    let code: Code = codes::TWICE;
    let first = other.file.as_deref().unwrap_or("the same file");
    let hint = format!("the other one is in {first}; rename one of them");
    Finding::error(code, Fault::Config, message).at(at.clone()).hint(hint)
}

/// The TOML files of a folder, by name.
fn texts(root: &Path, folder: &str, findings: &mut Vec<Finding>) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut texts = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        match read_named_file(&path, codes::UNREADABLE).map(String::from_utf8) {
            Ok(Ok(text)) => texts.push((name, text)),
            Ok(Err(_)) => findings.push(
                Finding::error(codes::UNREADABLE, Fault::Config, format!("{name} is not UTF-8"))
                    .hint("save it as UTF-8"),
            ),
            Err(finding) => findings.push(*finding),
        }
    }
    texts
}
