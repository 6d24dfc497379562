//! A project's services and APIs, and which operation a request is for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{Code, Fault, Finding, Findings, Place};
use quayline_project::read_named_file;

use crate::api::{Api, Operation, Segment};
use crate::codes;
use crate::service::{Service, in_file};

/// Definitions of one version of a project's files. They never change; a reload creates new ones.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Services, in the order of their file names.
    pub services: Vec<Arc<Service>>,
    /// APIs, in the order of their file names.
    pub apis: Vec<Arc<Api>>,
    /// All operations; the number of a route is an index into them.
    pub operations: Vec<Arc<Operation>>,
    routes: HashMap<usize, Vec<Route>>,
    /// Stamp of the project's folders before they were read; `None` if the definitions were not read from folders.
    before: Option<u64>,
}

/// State of the files of [`Definitions`]; it differs after one of them has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    project: u64,
    programs: u64,
}

#[derive(Debug)]
struct Route {
    segments: Vec<Segment>,
    /// Operations by method.
    operations: Vec<(String, usize)>,
    /// Documents of APIs that the path's parameters fit too: texts win over parameters.
    hides: Vec<String>,
}

/// The operation for a path and method.
#[derive(Debug)]
pub enum Routed<'a> {
    /// Index of the operation and the values of its path's parameters, percent-encoded.
    To(usize, Vec<&'a str>),
    /// The path is known, the method is not; these are the known methods.
    Methods(Vec<&'a str>),
    /// The path does not exist.
    Nowhere,
}

impl Definitions {
    /// Reads `services/*.toml` and `apis/*.toml` of a project's folder.
    ///
    /// # Errors
    /// All findings of all files at once.
    pub fn load(root: &Path) -> Result<Definitions, Findings> {
        Definitions::read(root, None, &mut Vec::new())
    }

    /// Reads the definitions again. Unreadable files do not remove the present definitions: a missing folder, or a project without
    /// any API, is an error here, since a folder that was moved or is not mounted looks the same. Adds the files that the services were read from to
    /// `files`, also if they are wrong.
    ///
    /// # Errors
    /// All findings of all files at once.
    pub fn load_again(&self, root: &Path, files: &mut Vec<PathBuf>) -> Result<Definitions, Findings> {
        let new = Definitions::read(root, Some(self), files)?;
        if new.operations.is_empty() && !self.operations.is_empty() {
            let finding = Finding::error(codes::UNREADABLE, Fault::Config, "no API is left in apis/");
            return Err(finding.hint("stop the server if it should serve none; otherwise put the files back").into());
        }
        Ok(new)
    }

    fn read(root: &Path, old: Option<&Definitions>, files: &mut Vec<PathBuf>) -> Result<Definitions, Findings> {
        // Programs run in folders of their own, so no path may depend on the working folder of this process.
        let root = &absolute(root);
        let before = Some(project_stamp(root));
        let mut findings = Vec::new();
        let mut services: Vec<Arc<Service>> = Vec::new();
        let needed = Needed::if_any(old.map(|old| old.services.as_slice()));
        for (name, text) in texts(root, "services", needed, &mut findings) {
            let mut of_service = Vec::new();
            match Service::read(&name, &text, root, &mut of_service) {
                Ok(service) => services.push(Arc::new(service)),
                Err(found) => findings.extend(in_file(found, &name)),
            }
            files.append(&mut of_service);
        }
        for (i, service) in services.iter().enumerate() {
            if let Some(other) = services[..i].iter().find(|other| other.name == service.name) {
                findings.push(twice(format!("two services have the name `{}`", service.name), &service.at, &other.at));
            }
        }
        let broken = !findings.is_empty();
        let mut apis: Vec<Arc<Api>> = Vec::new();
        let needed = Needed::if_any(old.map(|old| old.apis.as_slice()));
        for (name, text) in texts(root, "apis", needed, &mut findings) {
            match Api::compile(&name, &text, &services) {
                Ok(api) => apis.push(Arc::new(api)),
                // If a service is broken, it is no news that an API does not find it.
                Err(found) => findings.extend(
                    in_file(found, &name).into_iter().filter(|finding| !broken || finding.code != codes::NO_SUCH),
                ),
            }
        }
        let mut definitions = Definitions { services, apis, before, ..Definitions::default() };
        if findings.is_empty() {
            findings = definitions.route();
            findings.extend(definitions.modules());
        }
        if findings.is_empty() { Ok(definitions) } else { Err(Findings(findings)) }
    }

    /// Creates definitions from compiled services and APIs.
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

    /// Modules that two services would have compiled with different options.
    fn modules(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let programs = self.services.iter().filter_map(|service| match &service.provider {
            crate::ProviderSpec::Program(program) => Some((service, program.made_module()?, program.source.as_ref()?)),
            _ => None,
        });
        let programs: Vec<_> = programs.collect();
        for (i, (service, module, source)) in programs.iter().enumerate() {
            let other = programs[..i].iter().find(|(_, known, other)| known == module && other != source);
            if let Some((other, ..)) = other {
                let message = format!(
                    "the services `{}` and `{}` have one module made from different sources or with different options",
                    other.name, service.name
                );
                let hint = "give both the same `source`, `compiler-options` and dialect, or one of them its own folder in `modules`";
                findings
                    .push(Finding::error(codes::COMPILER, Fault::Config, message).at(service.at.clone()).hint(hint));
            }
        }
        findings
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
            let crossing = routes.iter().filter(|route| crosses(&route.segments, &operation.segments));
            for (_, other) in crossing.flat_map(|route| &route.operations).filter(|(known, _)| *known == entry.0) {
                let other = &self.operations[*other];
                let (method, one, two) = (&operation.method, &operation.path, &other.path);
                findings.push(twice(
                    format!(
                        "{method} {one} and {method} {two} have paths in common, and neither is the more specific one"
                    ),
                    &operation.at,
                    &other.at,
                ));
            }
            match routes.iter_mut().find(|route| same_path(&route.segments, &operation.segments)) {
                Some(route) => match route.operations.iter().find(|(method, _)| *method == operation.method) {
                    Some((_, other)) => {
                        let message = format!("two operations are {} {}", operation.method, operation.path);
                        findings.push(twice(message, &operation.at, &self.operations[*other].at));
                    }
                    None => {
                        let known = route.operations.iter().map(|(_, known)| &self.operations[*known]);
                        if let Some(other) = known.into_iter().find(|known| known.path != operation.path) {
                            let message = format!(
                                "{} and {} are one path with different names of its parameters, which no document can show",
                                operation.path, other.path
                            );
                            findings.push(twice(message, &operation.at, &other.at));
                        }
                        route.operations.push(entry);
                    }
                },
                None => routes.push(Route {
                    segments: operation.segments.clone(),
                    operations: vec![entry],
                    hides: Vec::new(),
                }),
            }
        }
        for (i, api) in self.apis.iter().enumerate() {
            for document in DOCUMENTS {
                let path = format!("{}/{document}", api.base_path);
                let segments: Vec<Segment> =
                    crate::uri::parts(&path, b'/').skip(1).map(|part| Segment::Text(part.to_owned())).collect();
                let Some(routes) = self.routes.get_mut(&segments.len()) else { continue };
                for route in
                    routes.iter_mut().filter(|route| fits(&route.segments, crate::uri::parts(&path, b'/').skip(1)))
                {
                    let get = route.operations.iter().find(|(method, _)| method == "GET").map(|(_, index)| *index);
                    match get {
                        Some(index) if route.segments == segments => findings.push(twice(
                            format!("GET {path} is an operation and the document of the API `{}`", self.apis[i].name),
                            &self.operations[index].at,
                            &api.at,
                        )),
                        // Operations of other methods at the same path do not hide the document.
                        Some(_) | None => route.hides.push(path.clone()),
                    }
                }
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

    /// Finds the operation for a path (without query) and a method.
    #[must_use]
    pub fn find<'a>(&'a self, method: &str, path: &'a str) -> Routed<'a> {
        let parts = || crate::uri::parts(path, b'/').skip(1);
        if !path.starts_with('/') {
            return Routed::Nowhere;
        }
        let Some(routes) = self.routes.get(&parts().count()) else { return Routed::Nowhere };
        let mut methods: Vec<&str> = Vec::new();
        for route in routes.iter().filter(|route| fits(&route.segments, parts())) {
            if method == "GET" && route.hides.iter().any(|document| document == path) {
                return Routed::Nowhere;
            }
            if let Some((_, index)) = route.operations.iter().find(|(known, _)| known == method) {
                let parameter =
                    |(segment, part): (&Segment, &'a str)| matches!(segment, Segment::Parameter(_)).then_some(part);
                return Routed::To(*index, route.segments.iter().zip(parts()).filter_map(parameter).collect());
            }
            methods.extend(route.operations.iter().map(|(method, _)| method.as_str()));
        }
        if methods.is_empty() { Routed::Nowhere } else { Routed::Methods(methods) }
    }

    /// Returns an operation whose requests go to a path, or to paths below it.
    pub fn at_or_below(&self, path: &str) -> Option<&Operation> {
        let count = crate::uri::parts(path, b'/').skip(1).count();
        let below = |operation: &&Arc<Operation>| {
            let (segments, parts) = (&operation.segments, crate::uri::parts(path, b'/').skip(1));
            segments.len() >= count && fits(&segments[..count], parts)
        };
        self.operations.iter().find(below).map(|operation| &**operation)
    }

    /// Returns the state of the files of the definitions: services, APIs, copybooks, interface files and the modules of programs.
    #[must_use]
    pub fn stamp(&self, root: &Path) -> Stamp {
        Stamp { project: project_stamp(&absolute(root)), programs: self.programs_stamp() }
    }

    /// Returns their state before they were read, so that a change since then shows, and the present state of modules.
    #[must_use]
    pub fn stamp_before(&self, root: &Path) -> Stamp {
        let project = self.before.unwrap_or_else(|| project_stamp(&absolute(root)));
        Stamp { project, programs: self.programs_stamp() }
    }

    /// Files that services were read from, wherever they are.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.services.iter().flat_map(|service| &service.files)
    }

    fn programs_stamp(&self) -> u64 {
        let mut folders: Vec<PathBuf> = Vec::new();
        // Files that the server makes itself are not a change from outside.
        let mut made: Vec<PathBuf> = Vec::new();
        for service in &self.services {
            if let crate::ProviderSpec::Program(program) = &service.provider {
                folders.extend(program.modules.iter().cloned());
                folders.extend(program.source.as_ref().and_then(|source| Some(source.file.parent()?.to_owned())));
                made.extend(program.made_module());
            }
        }
        folders_stamp(&folders, &made)
    }
}

fn project_stamp(root: &Path) -> u64 {
    folders_stamp(&["services", "apis", "copybooks", ""].map(|folder| root.join(folder)), &[])
}

/// Programs run in folders of their own, so no path may depend on the folder of this process.
fn absolute(root: &Path) -> PathBuf {
    std::path::absolute(root).unwrap_or_else(|_| root.to_owned())
}

/// Hashes names, sizes and times of the files that definitions can come from, except some.
fn folders_stamp(folders: &[PathBuf], without: &[PathBuf]) -> u64 {
    let mut seen: Vec<(PathBuf, u64, Option<std::time::SystemTime>)> = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let known = ["toml", "cpy", "cbl", "cob", "copy", "inc", "txt", "so"];
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
            let counts = known.contains(&extension.as_str()) && !without.contains(&path);
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

/// Requirement that a folder exists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Needed {
    Yes,
    No,
}

impl Needed {
    fn if_any<T>(known: Option<&[T]>) -> Needed {
        if known.is_some_and(|known| !known.is_empty()) { Needed::Yes } else { Needed::No }
    }
}

/// Documents of each API, below its base path.
const DOCUMENTS: [&str; 3] = ["openapi.json", "docs", "docs.js"];

/// Returns true if a path with the same number of parts matches these segments.
fn fits<'p>(segments: &[Segment], parts: impl Iterator<Item = &'p str>) -> bool {
    segments.iter().zip(parts).all(|(segment, part)| match segment {
        Segment::Text(text) => text == part,
        Segment::Parameter(_) => !part.is_empty(),
    })
}

/// Returns true if two routes share a path, and each has literal text where the other has a parameter.
fn crosses(a: &[Segment], b: &[Segment]) -> bool {
    let is_text = |segment: &Segment| matches!(segment, Segment::Text(_));
    let meet = a.iter().zip(b).all(|(a, b)| !(is_text(a) && is_text(b)) || a == b);
    let narrower = |a: &[Segment], b: &[Segment]| a.iter().zip(b).any(|(a, b)| is_text(a) && !is_text(b));
    a.len() == b.len() && meet && narrower(a, b) && narrower(b, a)
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

/// Lists the TOML files of a folder, sorted by name. A missing folder is empty unless it is `needed`; an unreadable one is an error.
fn texts(root: &Path, folder: &str, needed: Needed, findings: &mut Vec<Finding>) -> Vec<(String, String)> {
    let unreadable = |error: std::io::Error| {
        Finding::error(codes::UNREADABLE, Fault::Environment, format!("{folder}/ cannot be read: {error}"))
            .hint("check that the folder is there and that its rights and the limit of open files allow reading it")
    };
    let read = std::fs::read_dir(root.join(folder)).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<PathBuf>>>()
    });
    let mut paths = match read {
        Ok(paths) => paths,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && needed == Needed::No => return Vec::new(),
        Err(error) => {
            findings.push(unreadable(error));
            return Vec::new();
        }
    };
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
