//! Settings of partners without a value in their files.

use quayline_project::partner::Delivery;

/// Days that entries are kept by default: seven years.
pub(crate) const KEEP_DAYS: u64 = 2_555;

/// Returns the default destination of interchanges to a partner.
pub(crate) fn default_folder(partner: &str) -> Delivery {
    Delivery::Folder(format!("outbox/{partner}").into())
}

/// Seconds until an expected acknowledgment is overdue by default.
pub(crate) const DUE_S: u64 = 86_400;
