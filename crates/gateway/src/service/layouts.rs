//! Records of a service: a single record, a record for each direction, or the parameters of a program.
//!
//! The rest of the gateway sees several records as one, in which each is a group after the previous one.
//!
//! ```text
//! program      USING A B C          | A | B | C |    the worker hands each to the program at its own address
//! http, queue  response-copybook    | request | response |    the first is sent, the answer fills the second
//! ```

use std::path::{Path, PathBuf};

use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_core::Findings;
use quayline_project::{CopyMembers, UserFile, read_source};
use toml::Spanned;

use super::compile::dialect;
use super::joined::joined;
use super::{gnucobol, wire};
use crate::codes;

/// Maximum number of parameters of a program: the limit of a worker.
const PARAMETERS_MAX: usize = 32;

/// What a service's records are.
pub(super) struct Records {
    pub(super) layout: Layout,
    /// Bytes of each record; none for a service of one.
    pub(super) parts: Vec<usize>,
    /// True if the first record is the request's and the second the response's.
    pub(super) one_each_way: bool,
}

/// A record as the file names it.
struct Named<'w> {
    copybook: &'w Spanned<String>,
    record: Option<&'w Spanned<String>>,
    name: Option<&'w Spanned<String>>,
}

impl Records {
    /// Reads the records of a service. Adds the files that they were read from, or would be, to `files`.
    pub(super) fn of(
        file: &mut UserFile,
        wire: &wire::File,
        root: &Path,
        files: &mut Vec<PathBuf>,
    ) -> Result<Records, Findings> {
        let dialect = dialect(file, wire);
        let (named, one_each_way) = named(file, wire);
        let mut layouts: Vec<Layout> = Vec::new();
        for record in &named {
            let mut layout = one(file, wire, root, &dialect, record, files)?;
            if let Some(name) = record.name {
                layout.fields[0].name = name.get_ref().to_uppercase();
            }
            if layouts.iter().any(|other| other.fields[0].name == layout.fields[0].name) {
                let message = format!("two records have the name {}", layout.fields[0].name);
                let hint =
                    "give one of them another with `name`, or choose another record of the copybook with `record`";
                file.find(codes::TWICE, message, record.name.unwrap_or(record.copybook), hint);
            }
            layouts.push(layout);
        }
        // A finding says why there is none.
        let Some(last) = layouts.pop() else {
            return Err(Findings(core::mem::take(&mut file.findings)));
        };
        if named.len() == 1 && wire.parameters.is_empty() {
            return Ok(Records { layout: last, parts: Vec::new(), one_each_way });
        }
        let moves = |layout: &&Layout| layout.dialect.odo_slide && layout.length_min != layout.length_max;
        if let Some((layout, record)) = layouts.iter().zip(&named).find(|(layout, _)| moves(layout)) {
            let message = format!(
                "{} has a table of varying length, and another record follows it, whose place would depend on it",
                layout.fields[0].name
            );
            let hint = "write `dialect-settings = { odo-slide = \"no\" }` if the program does so, or the table without DEPENDING ON and its counter in `[[counter]]`";
            file.find(codes::RULES, message, record.copybook, hint);
        }
        layouts.push(last);
        let parts: Vec<usize> = layouts.iter().map(|layout| layout.length_max).collect();
        let whole = joined("PARAMETERS", layouts);
        match whole {
            Some(layout) => Ok(Records { layout, parts, one_each_way }),
            None => Err(Findings(core::mem::take(&mut file.findings))),
        }
    }
}

/// Returns the records that a service names, and true if there is one for each direction.
fn named<'w>(file: &mut UserFile, wire: &'w wire::File) -> (Vec<Named<'w>>, bool) {
    let kind = &wire.provider.get_ref().kind;
    let no_copybook = "the service names no copybook";
    if let Some(first) = wire.parameters.first() {
        if kind.get_ref() != "program" {
            let message = format!("`[[parameter]]` belongs to a program, and the provider is {}", kind.get_ref());
            let hint = "remove it; `response-copybook` is for answers that have another record than requests";
            file.find(codes::RULES, message, first, hint);
        }
        if let Some(at) = wire.record.as_ref().or(wire.response_copybook.as_ref()).or(wire.response_record.as_ref()) {
            file.find(codes::RULES, "the records are those of `[[parameter]]`", at, "remove it here");
        }
        if let Some(beyond) = wire.parameters.get(PARAMETERS_MAX) {
            let message = format!("the program has {} parameters", wire.parameters.len());
            file.find(codes::VALUE, message, beyond, format!("at most {PARAMETERS_MAX} are possible"));
        }
        let mut named = Vec::new();
        for at in &wire.parameters {
            let parameter = at.get_ref();
            match parameter.copybook.as_ref().or(wire.copybook.as_ref()) {
                Some(copybook) => {
                    let (record, name) = (parameter.record.as_ref(), parameter.name.as_ref());
                    named.push(Named { copybook, record, name });
                }
                None => {
                    file.find(codes::INCOMPLETE, no_copybook, at, "write `copybook` here, or once for all parameters")
                }
            }
        }
        return (named, false);
    }
    let Some(copybook) = &wire.copybook else {
        file.find(codes::INCOMPLETE, no_copybook, &wire.provider, "write `copybook = \"…\"`");
        return (Vec::new(), false);
    };
    let request = Named { copybook, record: wire.record.as_ref(), name: None };
    let Some(at) = wire.response_copybook.as_ref().or(wire.response_record.as_ref()) else {
        return (vec![request], false);
    };
    if !matches!(kind.get_ref().as_str(), "http" | "queue") {
        let message = format!("a {} provider answers with the record that it got", kind.get_ref());
        let hint = "remove it; a program has several records as `[[parameter]]`";
        file.find(codes::RULES, message, at, hint);
    }
    let response = Named {
        copybook: wire.response_copybook.as_ref().unwrap_or(copybook),
        record: wire.response_record.as_ref(),
        name: None,
    };
    (vec![request, response], true)
}

/// Reads the layout of one record. Adds the files that it was read from, or would be, to `files`, also if it is wrong.
fn one(
    file: &mut UserFile,
    wire: &wire::File,
    root: &Path,
    dialect: &Dialect,
    named: &Named<'_>,
    files: &mut Vec<PathBuf>,
) -> Result<Layout, Findings> {
    let copybook = named.copybook;
    let path = Path::new(copybook.get_ref());
    let candidates = [root.join(path), root.join("copybooks").join(path)];
    let found = candidates.iter().find(|path| path.is_file());
    // A copybook that appears in the first place is used instead.
    let last = found.unwrap_or(&candidates[1]);
    files.extend(candidates.iter().take_while(|place| *place != last).cloned());
    files.push(last.clone());
    let Some(path) = found else {
        let message = format!("there is no copybook `{}`", copybook.get_ref());
        file.find(codes::UNREADABLE, message, copybook, "paths begin at the project's folder or at copybooks/");
        return Err(Findings(core::mem::take(&mut file.findings)));
    };
    let text = read_source(path).map_err(|error| {
        let message = format!("the copybook cannot be read: {}", error.kind());
        file.find(codes::UNREADABLE, message, copybook, "check its rights");
        Findings(core::mem::take(&mut file.findings))
    })?;
    let beside = path.parent().map(Path::to_owned);
    let shared = Some(root.join("copybooks")).filter(|folder| beside.as_ref() != Some(folder));
    let library = CopyMembers::new(beside.into_iter().chain(shared).collect());
    let picture = dialect.picture_settings();
    let copy_remedy = "put the file in the project's folder `copybooks`";
    let options = ParseOptions { library: &library, copy_remedy, picture: &picture, ..ParseOptions::default() };
    let parsed = quayline_cobol::parse(&SourceText::new(path.display().to_string(), text), &options);
    files.extend(library.into_files());
    let parsed = parsed?;
    let names: Vec<&str> = parsed.records.iter().map(|record| record.name()).collect();
    let record = match (named.record, parsed.records.as_slice()) {
        (None, [one]) => Some(one),
        (Some(name), records) => records.iter().find(|record| record.name().eq_ignore_ascii_case(name.get_ref())),
        (None, _) => None,
    };
    let Some(record) = record else {
        let hint = format!("write `record = \"…\"` with one of {}", names.join(", "));
        match named.record {
            Some(at) => file.find(codes::NO_SUCH, format!("the copybook has no record `{}`", at.get_ref()), at, hint),
            None => file.find(codes::INCOMPLETE, "the copybook has several records", copybook, hint),
        }
        return Err(Findings(core::mem::take(&mut file.findings)));
    };
    let layout = Layout::build(record, dialect)?;
    if wire.provider.get_ref().kind.get_ref() == "program" {
        gnucobol::check(file, wire, &layout, |dialect| Layout::build(record, dialect));
    }
    Ok(layout)
}
