//! The ends of records that a schema determines, for a framing without lengths.

use std::sync::Arc;

use quayline_frame::{FramingSpec, RecordExtent};
use quayline_project::{Schema, SchemaExtent};

/// Returns the detector of record ends for a schema, if the framing needs one.
pub(crate) fn extent(spec: &FramingSpec, schema: &Arc<Schema>) -> Option<Arc<dyn RecordExtent>> {
    (*spec == FramingSpec::Layout).then(|| Arc::new(SchemaExtent::new(schema)) as Arc<dyn RecordExtent>)
}
