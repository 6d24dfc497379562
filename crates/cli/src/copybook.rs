//! Copybooks from files to layouts, as the arguments say.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use quayline_cobol::copybook::{Format, ParseOptions, RecordDescription, SourceText};
use quayline_cobol::layout::{Dialect, DialectSettingError, FieldIndex, Layout};
use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use quayline_infer::has_data_descriptions;
use quayline_project::{CopyMembers, read_source};

use crate::args::{LimitArg, SourceArgs, SourceFormatArg};
use crate::console::shown;
use crate::exit::{CLI_INPUT, CLI_NO_COPYBOOK, Stop, argument};
use crate::spelling::nearest;

/// Record descriptions of one copybook. A layout is built only for a requested record, because unused records of a program
/// may have faults, such as a table whose counter is in another record.
#[derive(Debug)]
pub(crate) struct Described {
    /// At least one description, in text order.
    records: Vec<RecordDescription>,
    dialect: Dialect,
    /// Findings of the text that refuse nothing.
    warnings: Vec<Finding>,
    /// COPY members that were read.
    pub(crate) members: Vec<PathBuf>,
}

/// Layouts, and the findings on the way to them.
#[derive(Debug)]
pub(crate) struct Built {
    /// Layouts in text order.
    pub(crate) layouts: Vec<Layout>,
    /// Warnings; errors only of records that have no layout here.
    pub(crate) findings: Vec<Finding>,
}

/// Reads the copybook at `path` (`-` is standard input).
pub(crate) fn read(path: &Path, args: &SourceArgs) -> Result<Described, Stop> {
    let text = source_text(path)?;
    describe(path, text, args)
}

/// Reads several copybooks as one. Record names must be unique.
pub(crate) fn read_all(paths: &[PathBuf], args: &SourceArgs) -> Result<Described, Stop> {
    let (first, others) = paths.split_first().ok_or_else(|| argument("no copybook is named"))?;
    let mut all = read(first, args)?;
    for path in others {
        let Described { records, warnings, members, .. } = read(path, args)?;
        if let Some(twice) = records.iter().find(|record| all.records.iter().any(|known| known.name() == record.name()))
        {
            let finding =
                argument(format!("{} and a copybook before it describe a record {}", shown(path), twice.name()));
            return Err(finding.hint("rename one of them with --replacing, or leave one copybook out").into());
        }
        all.records.extend(records);
        all.warnings.extend(warnings);
        all.members.extend(members);
    }
    Ok(all)
}

/// Parses a copybook whose text was already read.
pub(crate) fn describe(path: &Path, text: String, args: &SourceArgs) -> Result<Described, Stop> {
    let dialect = dialect(args)?;
    let library = folders(path, &args.include);
    let limits = LimitArg::limits(&args.limit);
    let replacing = (!args.replacing.is_empty()).then(|| args.replacing.join(" "));
    let picture = dialect.picture_settings();
    let options = ParseOptions {
        picture: &picture,
        format: match args.source_format {
            SourceFormatArg::Auto => Format::Auto,
            SourceFormatArg::Fixed => Format::Fixed,
            SourceFormatArg::Free => Format::Free,
        },
        library: &library,
        limits: &limits,
        replacing: replacing.as_deref(),
        ..ParseOptions::default()
    };
    let name = if path == Path::new("-") { "<stdin>".to_owned() } else { shown(path) };
    let parsed = quayline_cobol::parse(&SourceText::new(name.clone(), text.as_str()), &options);
    let parsed = parsed.map_err(|findings| if looks_like_cobol(&text) { findings } else { no_copybook(&name) })?;
    let members = library.into_files().into_iter().filter(|path| path.is_file()).collect();
    Ok(Described { records: parsed.records, dialect, warnings: parsed.warnings, members })
}

/// Returns true if a text resembles COBOL, so that findings may quote its lines; data must not be shown.
fn looks_like_cobol(text: &str) -> bool {
    let control = |c: char| c.is_control() && !c.is_whitespace() && c != '\u{1a}';
    let words = |line: &str| {
        let line = line.get(6..).unwrap_or(line);
        let first = line.split_whitespace().next().unwrap_or_default().trim_end_matches('.');
        first.eq_ignore_ascii_case("copy") || matches!(first.parse::<u8>(), Ok(1..=49 | 66 | 77 | 88))
    };
    !text.chars().any(control) && (has_data_descriptions(text) || text.lines().any(words))
}

/// Creates the finding for a data file in place of a copybook.
fn no_copybook(name: &str) -> Findings {
    let place = Place { file: Some(name.into()), ..Place::default() };
    let finding =
        Finding::error(CLI_NO_COPYBOOK, Fault::Caller, "the file is not a copybook: no line describes a data item");
    finding.at(place).hint("name the copybook with --copybook, and the data file as INPUT").into()
}

impl Described {
    /// Returns the record description to use; if there are several, `--record` must select one. Only that one is built.
    pub(crate) fn one(&self, record: Option<&str>) -> Result<(Layout, Vec<Finding>), Stop> {
        let description = match self.selected(record)?.as_slice() {
            [description] => *description,
            several => {
                let finding = argument(format!("the copybook describes {} records and one is needed", several.len()));
                return Err(finding.hint(format!("name one with --record: {}", self.names())).into());
            }
        };
        let mut built = self.build(&[description]);
        match built.layouts.pop() {
            Some(layout) => Ok((layout, built.findings)),
            None => Err(Findings(built.findings).into()),
        }
    }

    /// Returns the record description to use, for commands in which `--record` has another meaning.
    pub(crate) fn named(&self, record: Option<&str>) -> Result<Layout, Stop> {
        if record.is_none() && self.records.len() > 1 {
            let finding = argument(format!("the copybook describes {} records and one is needed", self.records.len()));
            return Err(finding.hint(format!("name one with --record-name: {}", self.names())).into());
        }
        Ok(self.one(record)?.0)
    }

    /// Returns the record selected by `--record`, or every record that has a layout, with findings about the others.
    pub(crate) fn all(&self, record: Option<&str>) -> Result<Built, Stop> {
        let built = self.build(&self.selected(record)?);
        if built.layouts.is_empty() { Err(Findings(built.findings).into()) } else { Ok(built) }
    }

    /// Returns every record that has a layout. Those in `needed` must have one.
    pub(crate) fn all_with(&self, needed: &[&str]) -> Result<Built, Stop> {
        let is_needed =
            |record: &&RecordDescription| needed.iter().any(|name| name.eq_ignore_ascii_case(record.name()));
        let (needed, others): (Vec<_>, Vec<_>) = self.records.iter().partition(is_needed);
        let mut built = self.build(&needed);
        if built.layouts.len() < needed.len() {
            return Err(Findings(built.findings).into());
        }
        // Faults of unused records do not matter for this run; their names help if a rule misspells one.
        built.layouts.extend(others.iter().filter_map(|record| Layout::build(record, &self.dialect).ok()));
        Ok(built)
    }

    fn build(&self, records: &[&RecordDescription]) -> Built {
        let mut built = Built { layouts: Vec::new(), findings: self.warnings.clone() };
        for record in records {
            match Layout::build(record, &self.dialect) {
                Ok(layout) => {
                    built.findings.extend(layout.warnings.iter().cloned());
                    built.layouts.push(layout);
                }
                Err(Findings(more)) => built.findings.extend(more),
            }
        }
        built
    }

    /// Returns the record descriptions selected by `--record`; all of them by default.
    fn selected(&self, record: Option<&str>) -> Result<Vec<&RecordDescription>, Stop> {
        let Some(wanted) = record else { return Ok(self.records.iter().collect()) };
        let found: Vec<_> = self.records.iter().filter(|record| record.name().eq_ignore_ascii_case(wanted)).collect();
        if found.is_empty() {
            let finding = argument(format!("the copybook has no record `{}`", wanted.to_uppercase()));
            let hint = match nearest(wanted, self.records.iter().map(RecordDescription::name)) {
                Some(near) => format!("did you mean {near}? It has {}", self.names()),
                None => format!("it has {}", self.names()),
            };
            return Err(finding.hint(hint).into());
        }
        Ok(found)
    }

    /// Names of all records.
    fn names(&self) -> String {
        self.records.iter().map(RecordDescription::name).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the record's name.
pub(crate) fn name(layout: &Layout) -> &str {
    &layout.field(FieldIndex::RECORD).name
}

/// Returns the dialect: a preset with the changes of `--set`.
fn dialect(args: &SourceArgs) -> Result<Dialect, Stop> {
    let wrong = |error: DialectSettingError, written: &str| {
        let names = Dialect::SETTINGS.iter().map(|setting| setting.name);
        let known = names.clone().collect::<Vec<_>>().join(", ");
        let hint = match nearest(written, names) {
            Some(near) if matches!(error, DialectSettingError::Name { .. }) => {
                format!("did you mean {near}? There are {known}")
            }
            _ => format!("the settings are {known}"),
        };
        argument(error.to_string()).hint(hint)
    };
    let mut dialect = Dialect::preset(args.dialect.name()).map_err(|error| wrong(error, args.dialect.name()))?;
    for setting in &args.set {
        let Some((name, value)) = setting.split_once('=') else {
            return Err(argument(format!("`--set {setting}` has no `=`")).hint("write it as `--set sync=8`").into());
        };
        dialect.set(name.trim(), value.trim()).map_err(|error| wrong(error, name.trim()))?;
    }
    Ok(dialect)
}

fn source_text(path: &Path) -> Result<String, Stop> {
    if path != Path::new("-") {
        return read_source(path).map_err(|error| unreadable(path, &error).into());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    // Latin-1 if it is not UTF-8, as for files.
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().map(|byte| char::from(*byte)).collect()))
}

/// Creates the finding for a file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Finding {
    let finding =
        Finding::error(CLI_INPUT, Fault::Environment, format!("cannot be read: {}", system_error_text(error)));
    let finding = finding.at(Place { file: Some(shown(path).into()), ..Place::default() });
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let names = std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|entry| entry.file_name().into_string().ok());
            let names: Vec<String> = names.take(10_000).collect();
            let wanted = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            match nearest(wanted, names.iter().map(String::as_str)) {
                Some(near) => {
                    finding.hint(format!("did you mean {}?", shown(&folder.join(near)).trim_start_matches("./")))
                }
                None => finding.hint("check the path"),
            }
        }
        std::io::ErrorKind::IsADirectory => finding.hint("name a file, not a folder"),
        _ => finding,
    }
}

/// Folders of COPY members: the copybook's own, then those of `-I`.
fn folders(copybook: &Path, include: &[PathBuf]) -> CopyMembers {
    let own = match copybook.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    CopyMembers::new(std::iter::once(own).chain(include.iter().cloned()).collect())
}
