//! Control numbers of written documents, for those that keep numbers.

use quayline_core::Limits;
use quayline_edi::{Level, renumbered};
use quayline_project::TargetFormat;

/// Unit that a control number counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NumberKind {
    /// Interchanges: ISA13, and data element 0020 of UNB.
    Interchange,
    /// Groups: GS06, and data element 0048 of UNG.
    Group,
}

/// Returns true if documents of this format have control numbers.
#[must_use]
pub fn has_control_numbers(target: &TargetFormat) -> bool {
    matches!(target, TargetFormat::Edi(_))
}

/// Replaces the control numbers of content in a format with [control numbers](has_control_numbers) by the results of `take`, in order.
///
/// # Errors
/// Errors of `take`; the content is then unchanged.
pub fn renumber<E>(content: &mut Vec<u8>, take: &mut dyn FnMut(NumberKind) -> Result<u64, E>) -> Result<(), E> {
    let mut of = |level| take(if level == Level::Interchange { NumberKind::Interchange } else { NumberKind::Group });
    *content = renumbered(content, &Limits::default(), &mut of)?;
    Ok(())
}
