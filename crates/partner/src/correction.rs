//! Corrections of received documents.

use quayline_core::{Fault, Finding, Findings};

use crate::codes;
use crate::details::Details;
use crate::entry::{Entry, State};

/// Refuses a document that does not correct an entry. `partner` is the file that has the document's sender.
pub(crate) fn refuse_other(old: &Entry, new: &Details, partner: Option<&str>) -> Result<(), Findings> {
    let Some(what) = other_document(old, new, partner) else { return Ok(()) };
    let message = format!("entry {} cannot be replaced by {what}", old.id);
    let hint =
        "give the corrected interchange of this document; receive other documents with `quayline partner receive`";
    Err(Finding::error(codes::STATE, Fault::Caller, message).hint(hint).into())
}

/// Describes why a document does not correct an entry; `None` if it may be one.
///
/// A correction may change what made the document unprocessable: an unknown sender, or the type of a rejected document.
fn other_document(old: &Entry, new: &Details, partner: Option<&str>) -> Option<String> {
    if !old.partner.is_empty() && partner != Some(old.partner.as_str()) {
        let whose = partner.map_or_else(|| "an unknown sender".to_owned(), |name| format!("partner {name}"));
        return Some(format!("a document of {whose} ({}): it is of partner {}", new.sender, old.partner));
    }
    if !old.partner.is_empty() && new.own != old.details.own {
        return Some(format!("a document to {} ({}): it is to {}", new.own, new.receiver, old.details.own));
    }
    if new.standard != old.details.standard {
        return Some(format!("a document of {}: it is of {}", new.standard, old.details.standard));
    }
    if old.state == State::Delivered && new.document != old.details.document {
        return Some(format!("a document of type {}: it was delivered as {}", new.document, old.details.document));
    }
    None
}
