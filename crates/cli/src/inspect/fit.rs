//! Whether a copybook fits a data file: sizes, how many records decode, and why the first that does not does not.

use std::path::Path;
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::layout::Layout;
use quayline_cobol::{Interface, Policies, RecordDecoder, RecordPlan};
use quayline_core::{ByteOffset, Finding, Limits, NodeId, RecordNumber, Sink, Value};
use quayline_frame::{EndOfInput, FramingSpec, RecordExtent, Splitter, Step};
use quayline_project::{Schema, SchemaExtent};
use serde::Serialize;

use super::data::{CharsetProposal, FramingProposal, length_text};
use super::sample::Sample;
use crate::console::shown;
use crate::copybook;
use crate::exit::Stop;
use crate::render::{FindingWire, bytes_text, grouped};

/// Records tried with each pair of code page and framing.
const RECORDS_MAX: u64 = 2_000;
/// Share of records from which a copybook is taken to fit: single bad records are no sign of a wrong one.
const SHARE_THAT_FITS: f64 = 0.5;

/// How a layout fits with one code page and one framing.
pub(crate) struct Fit {
    /// The code page.
    pub(crate) charset: Charset,
    /// The framing.
    pub(crate) framing: FramingSpec,
    /// Records that decode without a finding.
    pub(crate) decoded: u64,
    /// Records tried.
    tried: u64,
    /// What is wrong with the first that does not decode, or where the framing breaks.
    first: Option<Finding>,
}

/// Tries every pair of proposals, best first.
pub(crate) fn try_all(
    path: &Path,
    sample: &Sample,
    layout: &Layout,
    charsets: &[CharsetProposal],
    framings: &[FramingProposal],
) -> Result<Vec<Fit>, Stop> {
    let mut fits = Vec::new();
    for charset in charsets {
        let plan = RecordPlan::new(layout, &Interface::default(), &Policies::default(), charset.charset)?;
        for framing in framings {
            fits.push(try_one(path, sample, &plan, charset.charset, &framing.spec)?);
        }
    }
    // A stable sort: among equals, the better proposal stays in front.
    fits.sort_by(|a, b| b.share().total_cmp(&a.share()));
    Ok(fits)
}

fn try_one(
    path: &Path,
    sample: &Sample,
    plan: &RecordPlan,
    charset: Charset,
    framing: &FramingSpec,
) -> Result<Fit, Stop> {
    let mut fit = Fit { charset, framing: *framing, decoded: 0, tried: 0, first: None };
    let extent: Arc<dyn RecordExtent> = Arc::new(SchemaExtent::new(&Arc::new(Schema::single(plan.clone()))));
    let splitter = Splitter::new(framing, &Limits::default()).map_err(|error| error.finding())?;
    let mut splitter = splitter.with_extent(Some(extent));
    let mut decoder =
        if matches!(framing, FramingSpec::Lines(_)) { RecordDecoder::of_lines(plan) } else { RecordDecoder::new(plan) };
    let end = if sample.is_whole() { EndOfInput::Yes } else { EndOfInput::No };
    let name = shown(path);
    let mut at = 0;
    while fit.tried < RECORDS_MAX {
        match splitter.split(&sample.bytes[at..], end) {
            Ok(Step::Record { body, at: body_at, consumed }) => {
                fit.tried += 1;
                match decoder.decode(body, &mut Nothing) {
                    Ok(()) => fit.decoded += 1,
                    Err(faults) => {
                        // A record put together from segments has no one place: its first segment's is shown.
                        let start = ByteOffset((at + body_at.unwrap_or(0)) as u64);
                        let findings = faults.findings(plan, Some(&name), RecordNumber(fit.tried), Some(start));
                        fit.first = fit.first.or_else(|| findings.into_iter().next());
                    }
                }
                at += consumed;
            }
            Ok(Step::NeedMore { .. } | Step::Done { .. }) => break,
            Err(fault) => {
                fit.tried += 1;
                fit.first = fit.first.or_else(|| {
                    let mut finding = fault.finding();
                    finding.place.file = Some(name.as_str().into());
                    Some(finding)
                });
                break;
            }
        }
    }
    Ok(fit)
}

impl Fit {
    /// The share of records that decode.
    fn share(&self) -> f64 {
        if self.tried == 0 { 0.0 } else { self.decoded as f64 / self.tried as f64 }
    }

    /// The fit as people read it.
    pub(super) fn text(&self) -> String {
        let with = format!("{}, {}", self.charset.name(), self.framing);
        let mut text = if self.tried == self.decoded {
            format!("  {with}: all {} records tried decode\n", grouped(self.tried))
        } else {
            format!("  {with}: {} of {} records tried decode\n", grouped(self.decoded), grouped(self.tried))
        };
        if let Some(finding) = &self.first {
            text.push_str(&finding_lines("the first that does not", finding));
        }
        text
    }

    /// The likely cause where most records do not decode: another framing, or another record length than the copybook's.
    pub(super) fn misfit(&self, path: &Path, sample: &Sample, layout: &Layout) -> Option<Finding> {
        if self.share() > SHARE_THAT_FITS {
            return None;
        }
        let junk = self.first.as_ref().and_then(|finding| finding.place.record);
        let mut finding = quayline_frame::explain_misfit(&sample.bytes, sample.file_len, None, &self.framing, junk)?;
        finding.place.file = Some(shown(path).into());
        let length = layout.length_max;
        let seems =
            quayline_frame::detect(&sample.bytes, sample.file_len, None).into_iter().next().map(|best| best.spec);
        if let Some(FramingSpec::Fixed { length: seems }) = seems
            && seems != length
        {
            let (difference, word) =
                if length > seems { (length - seems, "longer") } else { (seems - length, "shorter") };
            let by = format!(
                "its records seem to have {seems} bytes, so the copybook's are {} {word}",
                bytes_text(difference)
            );
            finding.hint = Some(finding.hint.map_or(by.clone(), |hint| format!("{by}; {hint}")));
        }
        Some(finding)
    }
}

/// A fit as programs read it.
#[derive(Serialize)]
pub(super) struct FitWire<'a> {
    code_page: &'static str,
    framing: String,
    tried: u64,
    decoded: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_fault: Option<FindingWire<'a>>,
}

impl<'a> FitWire<'a> {
    /// The fit as programs read it.
    pub(super) fn of(fit: &'a Fit) -> Self {
        FitWire {
            code_page: fit.charset.name(),
            framing: fit.framing.to_string(),
            tried: fit.tried,
            decoded: fit.decoded,
            first_fault: fit.first.as_ref().map(FindingWire::of),
        }
    }
}

/// A finding below a line of its own.
pub(super) fn finding_lines(title: &str, finding: &Finding) -> String {
    let mut text = format!("    - {title}:\n");
    for line in finding.to_string().lines().filter(|line| !line.is_empty()) {
        text.push_str(&format!("        {line}\n"));
    }
    text
}

/// Record lengths against the file's size.
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

/// A sink for a trial: only the faults matter.
struct Nothing;

impl Sink for Nothing {
    fn enter(&mut self, _node: NodeId) {}
    fn leave(&mut self, _node: NodeId) {}
    fn open_list(&mut self, _node: NodeId) {}
    fn close_list(&mut self, _node: NodeId) {}
    fn value(&mut self, _node: NodeId, _value: Value<'_>) {}
    fn discard(&mut self) {}
}
