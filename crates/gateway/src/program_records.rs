//! Records of a program.

use std::path::{Path, PathBuf};

use quayline_cobol::layout::{Dialect, Layout};
use quayline_core::{Fault, Finding, Findings, Limits};

use crate::{ProgramHead, codes};

/// Records of a program, by the names in its source.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProgramRecords {
    /// Records of its parameters, if it has several.
    pub parameters: Vec<String>,
    /// Single record, if one is chosen.
    pub record: Option<String>,
    /// PROGRAM-ID of a source.
    pub program: Option<String>,
    /// The source is in free format.
    pub is_free: bool,
}

impl ProgramRecords {
    /// Chooses the given records, or otherwise those that the source names for `program`, or its first program. For a file that cannot be read, [`ProgramRecords::layout`]
    /// returns the finding.
    ///
    /// # Errors
    /// A parameter that is passed by value, and a source without the program.
    pub fn of(
        path: &Path,
        program: Option<&str>,
        record: Option<&str>,
        parameters: &[String],
    ) -> Result<ProgramRecords, Findings> {
        let text = quayline_project::read_source(path).unwrap_or_default();
        let head = ProgramHead::of(&text, program).map_err(|known| {
            let message = format!("{} has no program {}", path.display(), program.unwrap_or_default());
            let finding = Finding::error(codes::NO_SUCH, Fault::Config, message);
            Findings::from(finding.hint(format!("its programs are {}", known.join(", "))))
        })?;
        if let (Some(name), None, []) = (&head.by_value, record, parameters) {
            let message = format!("the parameter {name} is passed BY VALUE, which no service can do");
            let hint = "name the records with --parameter or --record, or pass it by reference";
            return Err(Finding::error(codes::NO_SUCH, Fault::Config, message).hint(hint).into());
        }
        let (parameters, record) = match (parameters, record, head.using) {
            ([], None, Some(using)) if using.len() == 1 => (Vec::new(), using.into_iter().next()),
            ([], None, Some(using)) => (using, None),
            (given, record, _) => (given.to_vec(), record.map(str::to_owned)),
        };
        Ok(ProgramRecords { parameters, record, program: head.program, is_free: head.is_free })
    }

    /// Reads the layout of the records, one after another. `folders` contain copybooks that the source names, in addition to the source's own
    /// folder.
    ///
    /// # Errors
    /// The findings of the copybook, and a record that it does not have.
    pub fn layout(
        &self,
        path: &Path,
        folders: &[PathBuf],
        dialect: &Dialect,
        limits: &Limits,
    ) -> Result<Layout, Findings> {
        match self.parameters.as_slice() {
            [] => crate::service::layout_at(path, folders, self.record.as_deref(), dialect, limits),
            all => crate::service::layout_of_records(path, folders, all, dialect, limits),
        }
    }
}
