//! `quayline check` and `quayline new`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use quayline_core::{Finding, Findings, Severity};
use quayline_flow::Flow;
use quayline_gateway::Definitions;
use quayline_partner::Book;
use quayline_project::job::{EventSettings, JobSettings};
use quayline_project::{FileKind, ShapeOptions, check_files, expect_project, project_files, write_starter};
use quayline_server::ServeConfig;
use serde::Serialize;

use crate::args::{CheckProjectArgs, NewArgs};
use crate::cache::cache;
use crate::console::{Console, shown, write_stdout};
use crate::exit::{Exit, Stop};
use crate::render::count_of;

/// Compiles a project.
pub(crate) fn check(args: &CheckProjectArgs, console: &Console) -> Result<Exit, Stop> {
    let root = &args.project;
    expect_project(root)?;
    let options = ShapeOptions { cache: cache(), ..ShapeOptions::default() };
    let mut found = Found::default();
    let config = found.add_result(ServeConfig::load(root).map_err(|found| in_project(root, found)));
    let is_served = config.is_some_and(|config| config.partners.is_some());
    let partners = crate::partner::for_check(root, is_served, console)?;
    let store = partners.as_ref().map(|opened| &opened.store);
    for file in check_files(root, &options)? {
        found.count(file.kind.word());
        found.add(file.findings);
    }
    if let Some(definitions) = found.add_result(Definitions::load(root).map_err(|found| in_project(root, found))) {
        definitions.services.iter().for_each(|_| found.count("service"));
        definitions.apis.iter().for_each(|_| found.count("API"));
    }
    for path in quayline_flow::flow_files(root)? {
        found.count("flow");
        found.add_result(Flow::open_with(&path, root, cache(), store));
    }
    for path in project_files(&root.join("jobs"), &["xml"])? {
        found.count("job");
        found.add(crate::job::findings_of(&path, root));
    }
    found.add_result(EventSettings::open(root));
    found.add_result(JobSettings::open(root));
    let (number, findings) = Book::findings_of(root, store, options);
    (0..number).for_each(|_| found.count("partner"));
    found.add(findings);
    partners.map_or(Ok(Exit::Done), |opened| opened.close(Exit::Done))?;
    console.findings(&found.findings);
    let answer = CheckWire {
        schema: "quayline.check/1",
        project: shown(root),
        compiled: found.compiled.clone(),
        errors: found.number_of(Severity::Error),
        warnings: found.number_of(Severity::Warning),
        notes: found.number_of(Severity::Note),
    };
    if console.json() {
        let mut text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        text.push('\n');
        write_stdout(text.as_bytes())?;
    } else {
        write_stdout(answer.line().as_bytes())?;
    }
    Ok(Exit::of_findings(&found.findings))
}

/// Writes a project to start from.
pub(crate) fn new(args: &NewArgs, console: &Console) -> Result<Exit, Stop> {
    let written = write_starter(&args.folder)?;
    let lines: String = written.iter().map(|path| shown(path) + "\n").collect();
    write_stdout(lines.as_bytes())?;
    let folder = quoted(&shown(&args.folder));
    console
        .paragraph(&format!("next: cd {folder} && quayline check && quayline map test; {folder}/README.md has more"));
    Ok(Exit::Done)
}

/// Findings with the paths of files as the user sees them: the server names files relative to the project.
fn in_project(root: &Path, Findings(mut findings): Findings) -> Findings {
    for file in findings.iter_mut().filter_map(|finding| finding.place.file.as_mut()) {
        if root != Path::new(".") && Path::new(&**file).is_relative() && !Path::new(&**file).starts_with(root) {
            *file = root.join(&**file).display().to_string().into();
        }
    }
    Findings(findings)
}

/// Counts of compiled definitions, and each finding once: a fault of a guide also occurs in every map that uses it.
#[derive(Default)]
struct Found {
    compiled: BTreeMap<&'static str, u64>,
    findings: Vec<Finding>,
    seen: HashSet<String>,
}

impl Found {
    fn count(&mut self, word: &'static str) {
        *self.compiled.entry(word).or_default() += 1;
    }

    fn add(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            // A file that others name is named in several ways.
            let file = finding.place.file.as_deref().map(Path::new);
            let file = file.map(|file| file.canonicalize().unwrap_or_else(|_| file.to_owned()));
            let mut same = finding.clone();
            same.place.file = file.map(|file| file.display().to_string().into());
            if self.seen.insert(crate::render::finding_json(&same)) {
                self.findings.push(finding);
            }
        }
    }

    fn add_result<T>(&mut self, result: Result<T, Findings>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(Findings(findings)) => {
                self.add(findings);
                None
            }
        }
    }

    fn number_of(&self, severity: Severity) -> u64 {
        self.findings.iter().map(|finding| u64::from(finding.severity == severity)).sum()
    }
}

/// The answer, `quayline.check/1` in docs/reference/json.md.
#[derive(Serialize)]
struct CheckWire {
    schema: &'static str,
    project: String,
    compiled: BTreeMap<&'static str, u64>,
    errors: u64,
    warnings: u64,
    notes: u64,
}

impl CheckWire {
    fn line(&self) -> String {
        let order = FileKind::ALL.iter().map(|kind| kind.word()).chain(["service", "API", "flow", "job", "partner"]);
        let files: Vec<String> =
            order.filter_map(|word| self.compiled.get(word).map(|number| count_of(*number, word))).collect();
        let files = if files.is_empty() { "nothing to compile".to_owned() } else { files.join(", ") };
        let found: Vec<String> = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")]
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| count_of(*number, word))
            .collect();
        let found = if found.is_empty() { "no findings".to_owned() } else { found.join(", ") };
        format!("{files}: {found}\n")
    }
}

/// Returns a path as a shell reads it.
fn quoted(path: &str) -> String {
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+,:@".contains(c));
    if is_plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
