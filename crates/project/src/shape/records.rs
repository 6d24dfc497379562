//! Copybooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_charset::{Charset, CodePage};
use quayline_cobol::copybook::{ParseOptions, RecordDescription, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_core::{Fault, Finding, Findings, Place, system_error_text};
use quayline_frame::FramingSpec;

use crate::shape::codes;
use crate::shape::reference::Reference;
use crate::shape::shape_file::{Form, ShapeFile, ShapeOptions};
use crate::{CopyMembers, InterfaceFile, Schema, TypeUse, read_source};

/// A copybook with its settings.
pub(crate) struct RecordSpec<'a> {
    /// The copybook's text and name.
    pub(crate) path: &'a Path,
    pub(crate) text: String,
    /// Record description to use; `None` if there is only one, or the interface names them.
    pub(crate) record: Option<&'a str>,
    pub(crate) interface: InterfaceFile,
    pub(crate) dialect: Dialect,
    pub(crate) encoding: Option<Charset>,
    pub(crate) framing: Option<String>,
    /// Names of the fields `F1`, `F2` … of a copybook that was made of a layout file.
    pub(crate) names: Option<Vec<String>>,
}

pub(crate) fn load_copybook(reference: &Reference, options: &ShapeOptions) -> Result<ShapeFile, Findings> {
    let text = read_copybook(&reference.path)?;
    let spec = RecordSpec {
        path: &reference.path,
        text,
        record: reference.part.as_deref(),
        interface: InterfaceFile::default(),
        dialect: Dialect::default(),
        encoding: options.encoding,
        framing: options.framing.clone(),
        names: None,
    };
    spec.compile(options, vec![reference.path.clone()])
}

pub(crate) fn read_copybook(path: &Path) -> Result<String, Findings> {
    read_source(path).map_err(|error| {
        let message = format!("the copybook cannot be read: {}", system_error_text(&error));
        let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
        Finding::error(codes::UNREADABLE, Fault::Caller, message).at(place).hint("check the path").into()
    })
}

impl RecordSpec<'_> {
    /// The shape and the plans.
    pub(crate) fn compile(self, options: &ShapeOptions, mut files: Vec<PathBuf>) -> Result<ShapeFile, Findings> {
        let folder = self.path.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        let library = CopyMembers::new(vec![folder]);
        let picture = self.dialect.picture_settings();
        let parse =
            ParseOptions { library: &library, limits: &options.limits, picture: &picture, ..ParseOptions::default() };
        let name = self.path.display().to_string();
        let parsed = quayline_cobol::parse(&SourceText::new(name, self.text.as_str()), &parse)?;
        let mut findings = parsed.warnings;
        let wanted = self.wanted(&parsed.records)?;
        let mut layouts = Vec::new();
        let mut errors = Vec::new();
        for record in &wanted {
            match Layout::build(record, &self.dialect) {
                Ok(layout) => {
                    findings.extend(layout.warnings.iter().cloned());
                    layouts.push(layout);
                }
                Err(Findings(found)) => errors.extend(found),
            }
        }
        if !errors.is_empty() {
            return Err(Findings(errors));
        }
        // The shape is the same in every code page; without one the plan is for looking at only.
        let charset = self.encoding.unwrap_or(Charset::SingleByte(CodePage::LATIN1));
        for field in layouts.iter_mut().flat_map(|layout| &mut layout.fields) {
            let number = field.name.strip_prefix('F').and_then(|number| number.parse::<usize>().ok());
            if let (Some(names), Some(number), false) = (&self.names, number, field.filler) {
                field.name.clone_from(&names[number - 1]);
            }
        }
        let mut schema = Schema::compile(&layouts, &self.interface, &options.policies, charset)?;
        if self.names.is_some() {
            schema.set_of_layout();
        }
        let framing = framing(self.framing.as_deref(), schema.record_bytes_max())?;
        files.extend(library.into_files());
        Ok(ShapeFile {
            path: self.path.to_owned(),
            form: Form::Records { framing, encoding: self.encoding },
            schema: Arc::new(schema),
            findings,
            files,
        })
    }

    fn wanted<'r>(&self, records: &'r [RecordDescription]) -> Result<Vec<&'r RecordDescription>, Findings> {
        let names = || records.iter().map(RecordDescription::name).collect::<Vec<_>>().join(", ");
        let place = || Place { file: Some(self.path.display().to_string().into()), ..Place::default() };
        if let Some(rules) = &self.interface.records {
            let used = |record: &&RecordDescription| {
                rules.types.iter().any(|of_type| {
                    matches!(&of_type.uses, TypeUse::Record { record: name, .. } if name.eq_ignore_ascii_case(record.name()))
                })
            };
            return Ok(records.iter().filter(used).collect());
        }
        match (self.record, records) {
            (Some(wanted), _) => {
                let found: Vec<_> =
                    records.iter().filter(|record| record.name().eq_ignore_ascii_case(wanted)).collect();
                if found.is_empty() {
                    let message = format!("the copybook has no record `{}`", wanted.to_uppercase());
                    let finding = Finding::error(codes::NO_SUCH_PART, Fault::Config, message);
                    return Err(finding.at(place()).hint(format!("it has {}", names())).into());
                }
                Ok(found)
            }
            (None, [one]) => Ok(vec![one]),
            (None, _) => {
                let message = format!("the copybook describes {} records and one is needed", records.len());
                let file = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let hint =
                    format!("name one after the file: \"{file}#RECORD\", of {}; or all by a layout file", names());
                Err(Finding::error(codes::NO_SUCH_PART, Fault::Config, message).at(place()).hint(hint).into())
            }
        }
    }
}

/// Parses a framing. `fixed` alone, or no framing, uses the length of the records.
fn framing(text: Option<&str>, record_length: Option<usize>) -> Result<FramingSpec, Findings> {
    match (text.map(str::trim), record_length) {
        (None | Some("fixed"), Some(length)) => Ok(FramingSpec::Fixed { length }),
        (text, _) => {
            let spec = FramingSpec::parse(text.unwrap_or("fixed")).map_err(|error| error.finding())?;
            spec.check(&quayline_core::Limits::default()).map_err(|error| error.finding())?;
            Ok(spec)
        }
    }
}
