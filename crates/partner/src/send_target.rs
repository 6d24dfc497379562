//! The partner, rule and settings of a document to send.

use std::sync::Arc;

use quayline_project::partner::Settings;

use crate::rules::RuleId;

/// Destination of a document.
pub(crate) struct Target {
    pub(crate) own: usize,
    pub(crate) partner: usize,
    pub(crate) rule: Option<RuleId>,
    pub(crate) settings: Arc<Settings>,
}
