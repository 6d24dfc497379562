//! Match between a copybook and a data file, as text and as JSON.

use quayline_cobol::layout::Layout;
use quayline_core::{Finding, Named as _};
use quayline_infer::Fit;
use serde::Serialize;

use super::data::length_text;
use crate::copybook;
use crate::render::{FindingWire, grouped};

/// Formats the match as text.
pub(super) fn fit_text(fit: &Fit) -> String {
    let short = fit.short.map_or_else(String::new, |short| format!(", --short {}", short.name()));
    let with = format!("{}, {}{short}", fit.charset.name(), fit.framing);
    let mut text = if fit.tried == fit.decoded {
        format!("  {with}: all {} records tried decode\n", grouped(fit.tried))
    } else {
        format!("  {with}: {} of {} records tried decode\n", grouped(fit.decoded), grouped(fit.tried))
    };
    if let Some(finding) = &fit.first {
        text.push_str(&finding_lines("the first that does not", finding));
    }
    text
}

/// A fit as programs read it.
#[derive(Serialize)]
pub(super) struct FitWire<'a> {
    code_page: &'static str,
    framing: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    short: Option<&'static str>,
    tried: u64,
    decoded: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_fault: Option<FindingWire<'a>>,
}

impl<'a> FitWire<'a> {
    /// Converts the match for JSON.
    pub(super) fn of(fit: &'a Fit) -> Self {
        FitWire {
            code_page: fit.charset.name(),
            framing: fit.framing.to_string(),
            short: fit.short.map(|short| short.name()),
            tried: fit.tried,
            decoded: fit.decoded,
            first_fault: fit.first.as_ref().map(FindingWire::of),
        }
    }
}

/// Formats a finding, indented below a title line.
pub(super) fn finding_lines(title: &str, finding: &Finding) -> String {
    let mut text = format!("    - {title}:\n");
    for line in finding.to_string().lines().filter(|line| !line.is_empty()) {
        text.push_str(&format!("        {line}\n"));
    }
    text
}

/// Compares record lengths with the file's size.
pub(super) fn size_text(layout: &Layout, file_len: Option<u64>) -> String {
    let name = copybook::name(layout);
    let mut text = format!("  {name} has {}\n", length_text(layout.length_min, layout.length_max));
    let length = layout.length_max as u64;
    if let Some(bytes) = file_len
        && length > 0
    {
        let (whole, rest) = (bytes / length, bytes % length);
        let line = if rest == 0 {
            format!("the file is {} times that\n", grouped(whole))
        } else {
            format!(
                "the file is {} times that and {} bytes more, so its records are not all of that length\n",
                grouped(whole),
                grouped(rest)
            )
        };
        text.push_str(&format!("    - {line}"));
    }
    text
}
