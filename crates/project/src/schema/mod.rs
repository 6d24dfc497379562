//! The shape of a conversion's documents and the record descriptions that it comes from.

mod chooser;
mod compile;
mod extent;
mod record_types;

use core::ops::RangeInclusive;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::{InterfaceFile, SkipBytes};
use quayline_charset::Charset;
use quayline_cobol::layout::{Dialect, Layout};
use quayline_cobol::{Policies, RecordPlan};
use quayline_core::{Findings, Moment, NodeId, Shape, SourceLimits};
use quayline_edi::GuideDocuments;
use quayline_flat::RowFamilies;
use quayline_frame::{EndOfInput, RecordExtent as _, RecordExtentFound};

pub use extent::SchemaExtent;
pub use record_types::{Found, RecordTypes, UnknownType};

/// The shape of a conversion's documents and, for record files, the record plans.
///
/// * One record description: a document is a record.
/// * Several record types (`[records]` in the interface file): a document is an object with one member, which has the name of the record's
///   type and its content: `{"CUSTOMER": {…}}`. Types with a `parent` are lists in their parent's object, after its fields, in the order of
///   the interface file. A document is then a record with all of its children.
#[derive(Debug)]
pub struct Schema {
    shape: Shape,
    records: Records,
    families: Option<Arc<RowFamilies>>,
    moments: Vec<(NodeId, Moment)>,
    /// [`Schema::column_moments`] by leaf.
    moment_of: OnceLock<HashMap<NodeId, Moment>>,
    skip_bytes: SkipBytes,
    has_required: bool,
    source_limits: Option<Arc<SourceLimits>>,
}

/// The record descriptions of a [`Schema`].
#[derive(Debug)]
pub enum Records {
    /// No record description: neither source nor target is a record file.
    None,
    /// One description of all records.
    One(RecordPlan),
    /// Several record types.
    Types(RecordTypes),
}

impl Schema {
    /// Compiles the layouts and an interface file: one record, or the record types of the file's `[records]`.
    ///
    /// `layouts` are the record descriptions of the copybook. Without `[records]` there must be exactly one, so the caller must select one
    /// of several.
    ///
    /// # Errors
    /// Every contradiction: rules that match no field, unknown record names, a discriminator that is not a plain field, and the errors of
    /// [`RecordPlan::new`].
    pub fn compile(
        layouts: &[Layout],
        interface: &InterfaceFile,
        policies: &Policies,
        charset: Charset,
    ) -> Result<Schema, Findings> {
        let schema = compile::compile(layouts, interface, policies, charset)?;
        Ok(Schema { skip_bytes: interface.skip_bytes, ..schema })
    }

    /// Creates a schema with one record description.
    #[must_use]
    pub fn single(plan: RecordPlan) -> Schema {
        Schema {
            shape: plan.shape().clone(),
            records: Records::One(plan),
            families: None,
            moments: Vec::new(),
            moment_of: OnceLock::new(),
            skip_bytes: SkipBytes::default(),
            has_required: false,
            source_limits: None,
        }
    }

    /// Creates a schema without record files (for example JSON to CSV), with documents of this shape.
    #[must_use]
    pub fn of_shape(shape: Shape) -> Schema {
        Schema {
            shape,
            records: Records::None,
            families: None,
            moments: Vec::new(),
            moment_of: OnceLock::new(),
            skip_bytes: SkipBytes::default(),
            has_required: false,
            source_limits: None,
        }
    }

    /// Creates a schema of CSV whose documents have several rows.
    #[must_use]
    pub fn of_families(shape: Shape, families: RowFamilies) -> Schema {
        Schema {
            shape,
            records: Records::None,
            families: Some(Arc::new(families)),
            moments: Vec::new(),
            moment_of: OnceLock::new(),
            skip_bytes: SkipBytes::default(),
            has_required: false,
            source_limits: None,
        }
    }

    /// Transactions of any kind as generic documents.
    #[must_use]
    pub fn edi() -> Schema {
        Schema::of_shape(quayline_edi::generic_shape())
    }

    /// Transactions by guide.
    #[must_use]
    pub fn edi_by_guide(documents: &GuideDocuments) -> Schema {
        Schema::of_shape(documents.shape().clone())
    }

    /// Segments of transactions of any kind as rows.
    #[must_use]
    pub fn edi_rows() -> Schema {
        Schema::of_shape(quayline_edi::row_shape())
    }

    /// The shape of the documents.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the record descriptions.
    #[must_use]
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Declares that every leaf which occurs once must have a value, as in a layout. In other shapes, null may be its value.
    #[must_use]
    pub fn with_required(self) -> Schema {
        Schema { has_required: true, ..self }
    }

    /// Returns whether every leaf that occurs once must have a value.
    #[must_use]
    pub fn has_required(&self) -> bool {
        self.has_required
    }

    /// Adds the limits that JSON and XML documents of a source are checked against.
    #[must_use]
    pub fn with_source_limits(self, limits: SourceLimits) -> Schema {
        Schema { source_limits: (!limits.is_empty()).then(|| Arc::new(limits)), ..self }
    }

    /// Returns the limits of JSON and XML documents of a source.
    #[must_use]
    pub fn source_limits(&self) -> Option<&Arc<SourceLimits>> {
        self.source_limits.as_ref()
    }

    /// Adds the text leaves that are dates or timestamps, for formats with types for them.
    #[must_use]
    pub fn with_moments(self, moments: Vec<(NodeId, Moment)>) -> Schema {
        Schema { moments, ..self }
    }

    /// Returns the text leaves that are dates or timestamps.
    #[must_use]
    pub fn moments(&self) -> &[(NodeId, Moment)] {
        &self.moments
    }

    /// Returns the text leaves that are columns of dates or timestamps: also the dates of records, which record files check themselves.
    #[must_use]
    pub fn column_moments(&self) -> Vec<(NodeId, Moment)> {
        match &self.records {
            Records::None => self.moments.clone(),
            Records::One(plan) => plan.moments(),
            Records::Types(types) => types.moments(),
        }
    }

    /// Returns the form of the dates that a leaf holds.
    #[must_use]
    pub fn moment_of(&self, leaf: NodeId) -> Option<Moment> {
        self.moment_of.get_or_init(|| self.column_moments().into_iter().collect()).get(&leaf).copied()
    }

    /// Returns the grouping of CSV rows, if documents have several rows.
    #[must_use]
    pub fn families(&self) -> Option<&Arc<RowFamilies>> {
        self.families.as_ref()
    }

    /// Bytes at the ends of a file that are not records.
    #[must_use]
    pub fn skip_bytes(&self) -> SkipBytes {
        self.skip_bytes
    }

    /// Returns the record types, if there are several.
    #[must_use]
    pub fn types(&self) -> Option<&RecordTypes> {
        match &self.records {
            Records::Types(types) => Some(types),
            Records::None | Records::One(_) => None,
        }
    }

    /// Notes that a layout file describes the records, for remedies.
    pub(crate) fn set_of_layout(&mut self) {
        if let Records::Types(types) = &mut self.records {
            types.of_layout = true;
        }
    }

    /// Returns the byte that pads short records to a fixed length; `None` without records.
    #[must_use]
    pub fn pad_byte(&self) -> Option<u8> {
        self.plans().next().map(RecordPlan::pad_byte)
    }

    /// Bytes of the longest record that any description in use allows; `None` without records.
    #[must_use]
    pub fn record_bytes_max(&self) -> Option<usize> {
        self.plans().map(RecordPlan::length_max).max()
    }

    /// Returns the dialect of the records, which is that of the first description.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        self.plans().next().map(|plan| plan.layout().dialect)
    }

    /// Returns the length of all records; `None` if it varies.
    #[must_use]
    pub fn record_length(&self) -> Option<usize> {
        let mut lengths = self.plans().map(|plan| {
            let layout = plan.layout();
            (layout.length_min == layout.length_max && !plan.has_extent()).then_some(layout.length_max)
        });
        let first = lengths.next()?;
        lengths.all(|length| length == first).then_some(first)?
    }

    /// Returns the bytes of the shortest and of the longest record that any description accepts; `None` without records.
    #[must_use]
    pub fn record_lengths(&self) -> Option<RangeInclusive<usize>> {
        let either =
            |a: RangeInclusive<usize>, b: RangeInclusive<usize>| *a.start().min(b.start())..=*a.end().max(b.end());
        self.plans().map(RecordPlan::record_lengths).reduce(either)
    }

    /// Bytes of the record at the start of `bytes`, as its own counters determine them; `None` if they determine no record that is whole.
    #[must_use]
    pub fn length_of(self: &Arc<Self>, bytes: &[u8]) -> Option<usize> {
        match SchemaExtent::new(self).extent(bytes, EndOfInput::Yes) {
            RecordExtentFound::Bytes(length) if length <= bytes.len() => Some(length),
            _ => None,
        }
    }

    fn plans(&self) -> impl Iterator<Item = &RecordPlan> {
        let (one, types) = match &self.records {
            Records::None => (None, None),
            Records::One(plan) => (Some(plan), None),
            Records::Types(types) => (None, Some(types)),
        };
        one.into_iter().chain(types.into_iter().flat_map(RecordTypes::plans))
    }
}
