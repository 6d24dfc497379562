//! The shape of the documents of a conversion and the record descriptions behind it.

use quayline_charset::CodePage;
use quayline_cobol::layout::Layout;
use quayline_cobol::{Policies, RecordPlan};
use quayline_core::{Findings, Shape};
use quayline_project::InterfaceFile;

/// The shape of the documents of a conversion and, for record files, the plans behind it.
///
/// * One record description: a document is a record.
/// * Several record types (`[records]` in the interface file): a document is an object with one member, named after the type of its record
///   and holding it: `{"CUSTOMER": {…}}`. Types with a `parent` stand as lists in their parent's object, behind its fields, in the order in
///   which the interface file names them; a document is then a record with everything below it.
#[derive(Debug)]
pub struct Schema {
    shape: Shape,
}

impl Schema {
    /// What the layouts and an interface file give: one record, or the record types that the file's `[records]` names.
    ///
    /// `layouts` are the record descriptions of the copybook; without `[records]` the first is taken, so choose before where there are more.
    ///
    /// # Errors
    /// Everything that does not fit: rules that match no field, record names that do not exist, a chooser that is no plain field, and
    /// what [`RecordPlan::new`] finds.
    pub fn compile(
        layouts: &[Layout],
        interface: &InterfaceFile,
        policies: &Policies,
        charset: &'static CodePage,
    ) -> Result<Schema, Findings>;

    /// One record description.
    #[must_use]
    pub fn single(plan: RecordPlan) -> Schema;

    /// No records at either end: documents of this shape (JSON to CSV and the like).
    #[must_use]
    pub fn of_shape(shape: Shape) -> Schema;

    /// The shape of the documents.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}
