//! Fields of a layout as nodes of a plan's shape.

use quayline_cobol::RecordPlan;
use quayline_cobol::layout::FieldIndex;
use quayline_core::NodeId;

/// Returns the node that represents a field in the shape of the request or response.
pub(crate) fn node_of(plan: &RecordPlan, field: FieldIndex) -> Option<NodeId> {
    plan.shape().iter().map(|(id, _)| id).find(|id| plan.field_of(*id) == Some(field))
}
