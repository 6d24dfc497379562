//! A service file's provider.

use quayline_project::{UserFile, gnucobol_options};

use core::time::Duration;

use quayline_cobol::layout::Dialect;
use toml::Spanned;

use super::compile::{Known, one_field};
use super::{database, gnucobol, records, wire};
use crate::codes;
use crate::provider::{CannedSpec, HttpSpec, ProgramSource, ProgramSpec, ProviderSpec, WorkingStorage};

/// Program of a proposal for a copybook, which names none. The check of a service refuses it; it is a reserved word, so it is the name of no program.
pub(crate) const PROGRAM_PLACEHOLDER: &str = "PROGRAM-ID";

pub(super) fn provider(file: &mut UserFile, wire: &wire::File, known: &Known<'_>) -> Option<ProviderSpec> {
    let Known { layout, root, .. } = *known;
    let at = &wire.provider;
    let wire = wire.provider.get_ref();
    let path = |text: &Spanned<String>| root.join(text.get_ref());
    let kind = wire.kind.get_ref().as_str();
    strangers(file, wire, kind);
    let time_limit = milliseconds(file, wire.time_limit_ms.as_ref(), 5_000);
    match kind {
        "program" => {
            let wait_limit = milliseconds(file, wire.wait_limit_ms.as_ref(), 2_000);
            let workers = within(file, wire.workers.as_ref(), 1, 1, 64);
            let slots = within(file, wire.slots.as_ref(), 32, 1, 64);
            let memory = within(file, wire.memory_mib.as_ref(), 512, 16, 1 << 20);
            let Some(program) = &wire.program else {
                file.find(codes::INCOMPLETE, "a program provider needs `program`", at, "write its PROGRAM-ID");
                return None;
            };
            if program.get_ref() == PROGRAM_PLACEHOLDER {
                let message = format!("`{PROGRAM_PLACEHOLDER}` is a placeholder: a copybook does not name its program");
                let hint = "write the program's PROGRAM-ID, and its `source` if Quayline is to compile it: `program = \"PRICES\"`, `source = \"programs/PRICES.cbl\"`";
                file.find(codes::INCOMPLETE, message, program, hint);
            }
            let source = wire.source.as_ref().map(|source| ProgramSource {
                file: path(source),
                options: options(&wire.compiler_options, &layout.dialect),
                root: root.to_owned(),
            });
            if let (Some(written), Some(source)) = (&wire.source, &source)
                && !source.file.is_file()
            {
                let message = format!("the source `{}` does not exist", written.get_ref());
                file.find(codes::UNREADABLE, message, written, "paths begin at the project's folder");
            }
            if let Some(written) = wire.work_folder.as_ref().filter(|folder| !path(folder).is_dir()) {
                let message = format!("the work folder `{}` does not exist", written.get_ref());
                file.find(codes::UNREADABLE, message, written, "create it; paths begin at the project's folder");
            }
            gnucobol::check_options(file, &wire.compiler_options, &layout.dialect);
            if let (None, Some(option)) = (&wire.source, wire.compiler_options.first()) {
                let message = "`compiler-options` without a `source` to compile";
                file.find(codes::RULES, message, option, "add `source`, or remove them");
            }
            let modules: Vec<_> = wire.modules.iter().map(path).collect();
            Some(ProviderSpec::Program(ProgramSpec {
                program: program.get_ref().clone(),
                modules: if modules.is_empty() { vec![root.join("modules")] } else { modules },
                work_folder: wire.work_folder.as_ref().map_or_else(|| root.to_owned(), path),
                workers: usize::try_from(workers).unwrap_or(1),
                slots: usize::try_from(slots).unwrap_or(1),
                time_limit,
                wait_limit,
                memory_bytes_max: memory << 20,
                working_storage: working_storage(file, wire.working_storage.as_ref()),
                environment: wire
                    .environment
                    .iter()
                    .map(|(name, value)| (name.get_ref().clone(), value.clone()))
                    .collect(),
                source,
                parameters: known.parameters.to_vec(),
            }))
        }
        "canned" => {
            let Some(records) = &wire.file else {
                file.find(codes::INCOMPLETE, "a canned provider needs `file`", at, "name a file of records");
                return None;
            };
            let by = match &wire.by {
                Some(name) => {
                    let field = layout.field(one_field(file, layout, name)?);
                    Some((field.offset, field.size))
                }
                None => None,
            };
            Some(ProviderSpec::Canned(CannedSpec { file: path(records), by }))
        }
        "http" => {
            let Some(url) = &wire.url else {
                file.find(codes::INCOMPLETE, "an http provider needs `url`", at, "write where records are posted to");
                return None;
            };
            let rest = ["http://", "https://"].iter().find_map(|scheme| url.get_ref().strip_prefix(scheme));
            let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or(""));
            if host.is_none_or(|host| host.is_empty() || host.contains('@')) {
                let hint = "write `https://` or `http://`, a host and a path; credentials go into `headers`";
                file.find(codes::VALUE, "`url` is not a URL of a service", url, hint);
            }
            Some(ProviderSpec::Http(HttpSpec {
                url: url.get_ref().clone(),
                headers: wire.headers.iter().map(|(name, value)| (name.get_ref().clone(), value.clone())).collect(),
                time_limit,
                authorities: wire.authorities.as_ref().map(path),
            }))
        }
        "sql" => database::database(file, at, known).map(ProviderSpec::Sql),
        "file" => records::record_file(file, at, known).map(ProviderSpec::File),
        "queue" => records::queue(file, at, time_limit).map(ProviderSpec::Queue),
        other => {
            let hint = match other {
                "records" => "`records` is now `canned`",
                _ => "write program, canned, http, sql, file or queue",
            };
            file.find(codes::VALUE, format!("`{other}` is not a kind of provider"), &wire.kind, hint);
            None
        }
    }
}

/// Returns the compiler options: the user's, by default those for z/OS sources, followed by those that the dialect needs.
fn options(given: &[Spanned<String>], dialect: &Dialect) -> Vec<String> {
    let mut options: Vec<String> = given.iter().map(|option| option.get_ref().clone()).collect();
    if options.is_empty() {
        options = vec!["-O2".to_owned(), "-std=ibm".to_owned()];
    }
    options.extend(gnucobol_options(dialect));
    options
}

fn working_storage(file: &mut UserFile, given: Option<&Spanned<String>>) -> WorkingStorage {
    match given.map(|text| (text, text.get_ref().as_str())) {
        None | Some((_, "fresh")) => WorkingStorage::Fresh,
        Some((_, "keep")) => WorkingStorage::Keep,
        Some((at, other)) => {
            let hint = "write `fresh`, the default, or `keep` for a program that separates its clients itself";
            file.find(codes::VALUE, format!("`{other}` is not a value of `working-storage`"), at, hint);
            WorkingStorage::Fresh
        }
    }
}

/// A key, its place if present, and the kinds of providers that it belongs to.
type Belongs = (&'static str, Option<Spanned<()>>, &'static [&'static str]);

/// Reports keys that belong to other kinds of providers: their author expects some effect.
fn strangers(file: &mut UserFile, wire: &wire::Provider, kind: &str) {
    fn of<T>(value: &Option<Spanned<T>>) -> Option<Spanned<()>> {
        value.as_ref().map(|value| Spanned::new(value.span(), ()))
    }
    fn first<'a, T: 'a>(mut values: impl Iterator<Item = &'a Spanned<T>>) -> Option<Spanned<()>> {
        values.next().map(|value| Spanned::new(value.span(), ()))
    }
    let keys: [Belongs; 39] = [
        ("program", of(&wire.program), &["program"]),
        ("modules", first(wire.modules.iter()), &["program"]),
        ("source", of(&wire.source), &["program"]),
        ("compiler-options", first(wire.compiler_options.iter()), &["program"]),
        ("work-folder", of(&wire.work_folder), &["program"]),
        ("workers", of(&wire.workers), &["program"]),
        ("slots", of(&wire.slots), &["program"]),
        ("memory-mib", of(&wire.memory_mib), &["program"]),
        ("working-storage", of(&wire.working_storage), &["program"]),
        ("environment", first(wire.environment.keys()), &["program"]),
        ("time-limit-ms", of(&wire.time_limit_ms), &["program", "http", "sql", "queue"]),
        ("wait-limit-ms", of(&wire.wait_limit_ms), &["program", "sql", "file"]),
        ("file", of(&wire.file), &["canned", "file"]),
        ("by", of(&wire.by), &["canned"]),
        ("url", of(&wire.url), &["http"]),
        ("headers", first(wire.headers.keys()), &["http"]),
        ("authorities", of(&wire.authorities), &["http", "sql"]),
        ("host", of(&wire.host), &["sql"]),
        ("port", of(&wire.port), &["sql"]),
        ("database", of(&wire.database), &["sql"]),
        ("user", of(&wire.user), &["sql"]),
        ("password-file", of(&wire.password_file), &["sql"]),
        ("password-environment", of(&wire.password_environment), &["sql"]),
        ("query", of(&wire.query), &["sql"]),
        ("parameters", first(wire.parameters.iter()), &["sql"]),
        ("rows", of(&wire.rows), &["sql"]),
        ("count", of(&wire.count), &["sql"]),
        ("connections", of(&wire.connections), &["sql"]),
        ("plain-text", of(&wire.plain_text), &["sql"]),
        ("key", of(&wire.key), &["file"]),
        ("index", first(wire.indexes.iter()), &["file"]),
        // A program provider with it is told the key's new name.
        ("queue", of(&wire.queue).filter(|_| kind != "program"), &["queue"]),
        ("reply-queue", of(&wire.reply_queue), &["queue"]),
        ("late-limit-ms", of(&wire.late_limit_ms), &["queue"]),
        ("waiting", of(&wire.waiting), &["queue"]),
        ("priority", of(&wire.priority), &["queue"]),
        ("persistent", of(&wire.persistent), &["queue"]),
        ("expires-ms", of(&wire.expires_ms), &["queue"]),
        ("format", of(&wire.format), &["queue"]),
    ];
    if !["program", "canned", "http", "sql", "file", "queue"].contains(&kind) {
        return;
    }
    if let (Some(queue), "program") = (&wire.queue, kind) {
        file.find(codes::RULES, "`queue` is not a key of a program provider", queue, "`queue` is now `slots`");
    }
    for (name, at, kinds) in keys {
        if let Some(at) = at.filter(|_| !kinds.contains(&kind)) {
            let message = format!("`{name}` is not a key of a {kind} provider, but of {}", kinds.join(" and "));
            file.find(codes::RULES, message, &at, "remove it, or change `kind`");
        }
    }
}

/// Returns the given number or its default, and reports a number that is out of bounds.
pub(super) fn within(file: &mut UserFile, given: Option<&Spanned<u64>>, default: u64, least: u64, most: u64) -> u64 {
    let Some(given) = given else { return default };
    let number = *given.get_ref();
    if !(least..=most).contains(&number) {
        let message = format!("expected {least} to {most}, found {number}");
        file.find(codes::VALUE, message, given, format!("leave it out for {default}"));
    }
    number.clamp(least, most)
}

/// Parses a time limit: one millisecond to an hour.
pub(super) fn milliseconds(file: &mut UserFile, given: Option<&Spanned<u64>>, default: u64) -> Duration {
    Duration::from_millis(within(file, given, default, 1, 3_600_000))
}
