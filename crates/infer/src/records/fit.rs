//! Whether a copybook fits a data file: how many records decode, and why the first that does not does not.

use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::layout::Layout;
use quayline_cobol::{Interface, Policies, RecordDecoder, RecordPlan, ShortRecord};
use quayline_core::{ByteOffset, Finding, Findings, Limits, NodeId, RecordNumber, Sink, Value};
use quayline_frame::{EndOfInput, FramingInUse, FramingSpec, RecordExtent, Splitter, Step};
use quayline_project::{Schema, SchemaExtent};

use super::{CharsetProposal, FramingProposal, RecordSample};

/// Records tried with each pair of code page and framing.
const RECORDS_MAX: u64 = 2_000;
/// Minimum share of decodable records for a copybook to fit. Single bad records do not indicate a wrong copybook.
const SHARE_THAT_FITS: f64 = 0.5;

/// Least score of a chain of lengths, and least number of its records, for which a repetition is not another explanation.
const CHAIN_SCORE_MIN: f64 = 0.9;
const CHAIN_MIN: u64 = 20;

/// Result of decoding a sample with one layout, code page and framing.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The code page.
    pub charset: Charset,
    /// The framing.
    pub framing: FramingSpec,
    /// The treatment of short records with which more records decode than with the default of the framing.
    pub short: Option<ShortRecord>,
    /// Records that decode without a finding.
    pub decoded: u64,
    /// Records tried.
    pub tried: u64,
    /// The first decoding error, or the place where the framing breaks.
    pub first: Option<Finding>,
    /// Whether lengths of several values lead from record to record, and none is longer than the layout. No repetition explains that.
    is_proven: bool,
    /// The record at which the framing breaks.
    breaks: Option<RecordNumber>,
}

impl Fit {
    /// Tries every pair of proposals, best first.
    ///
    /// # Errors
    /// A layout that has no form in a code page, and a framing that is beyond a limit.
    pub fn try_all(
        sample: RecordSample<'_>,
        layout: &Layout,
        charsets: &[CharsetProposal],
        framings: &[FramingProposal],
    ) -> Result<Vec<Fit>, Findings> {
        let mut fits = Vec::new();
        for charset in charsets {
            let plan = |short| {
                let policies = Policies { short, ..Policies::default() };
                RecordPlan::new(layout, &Interface::default(), &policies, charset.charset)
            };
            let whole = plan(None)?;
            let others = [
                (ShortRecord::Pad, plan(Some(ShortRecord::Pad))?),
                (ShortRecord::Null, plan(Some(ShortRecord::Null))?),
            ];
            for framing in framings {
                let mut fit = try_one(sample, &whole, charset.charset, &framing.spec)?;
                // Records of one length are not cut at the end.
                let is_fixed = matches!(framing.spec, FramingSpec::Fixed { .. });
                for (short, plan) in &others {
                    if fit.decoded < fit.tried && !is_fixed {
                        let other = try_one(sample, plan, charset.charset, &framing.spec)?;
                        if other.decoded > fit.decoded {
                            fit = Fit { short: Some(*short), ..other };
                        }
                    }
                }
                let has_chain = framing.score.is_some_and(|score| score >= CHAIN_SCORE_MIN)
                    && framing.records >= CHAIN_MIN
                    && framing.spec.has_lengths();
                fit.is_proven &= has_chain;
                fits.push(fit);
            }
        }
        // A stable sort: among equals, the better proposal stays in front.
        fits.sort_by(|a, b| b.is_proven.cmp(&a.is_proven).then(b.share().total_cmp(&a.share())));
        Ok(fits)
    }

    /// The share of records that decode.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.tried == 0 { 0.0 } else { self.decoded as f64 / self.tried as f64 }
    }

    /// Returns the likely cause if most records do not decode: another framing, or another record length than the copybook's.
    #[must_use]
    pub fn misfit(&self, sample: RecordSample<'_>, layout: &Layout) -> Option<Finding> {
        if self.share() > SHARE_THAT_FITS {
            return None;
        }
        let junk = self.first.as_ref().and_then(|finding| finding.place.record);
        let lengths = Some(layout.length_min..=layout.length_max);
        let used = FramingInUse { spec: self.framing, junk, breaks: self.breaks, lengths };
        let mut finding = quayline_frame::explain_misfit(sample.bytes, sample.file_len, None, &used)?;
        finding.place.file = Some(sample.name.into());
        let length = layout.length_max;
        let seems =
            quayline_frame::detect(sample.bytes, sample.file_len, None).into_iter().next().map(|best| best.spec);
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

fn try_one(
    sample: RecordSample<'_>,
    plan: &RecordPlan,
    charset: Charset,
    framing: &FramingSpec,
) -> Result<Fit, Findings> {
    let mut fit = Fit {
        charset,
        framing: *framing,
        short: None,
        decoded: 0,
        tried: 0,
        first: None,
        is_proven: false,
        breaks: None,
    };
    let (mut shortest, mut longest) = (usize::MAX, 0);
    let extent: Arc<dyn RecordExtent> = Arc::new(SchemaExtent::new(&Arc::new(Schema::single(plan.clone()))));
    let splitter = Splitter::new(framing, &Limits::default()).map_err(|error| error.finding())?;
    let mut splitter = splitter.with_extent(Some(extent));
    let mut decoder =
        if matches!(framing, FramingSpec::Lines(_)) { RecordDecoder::of_lines(plan) } else { RecordDecoder::new(plan) };
    let end = if sample.is_whole() { EndOfInput::Yes } else { EndOfInput::No };
    let mut at = 0;
    while fit.tried < RECORDS_MAX {
        match splitter.split(&sample.bytes[at..], end) {
            Ok(Step::Record { body, at: body_at, consumed }) => {
                fit.tried += 1;
                (shortest, longest) = (shortest.min(body.len()), longest.max(body.len()));
                match decoder.decode(body, &mut Nothing) {
                    Ok(()) => fit.decoded += 1,
                    Err(faults) => {
                        // A record put together from segments has no one place: its first segment's is shown.
                        let start = ByteOffset((at + body_at.unwrap_or(0)) as u64);
                        let findings = faults.findings(plan, Some(sample.name), RecordNumber(fit.tried), Some(start));
                        fit.first = fit.first.or_else(|| findings.into_iter().next());
                    }
                }
                at += consumed;
            }
            Ok(Step::NeedMore { .. } | Step::Done { .. }) => break,
            Err(fault) => {
                fit.tried += 1;
                fit.breaks = Some(fault.record);
                fit.first = fit.first.or_else(|| {
                    let mut finding = fault.finding();
                    finding.place.file = Some(sample.name.into());
                    Some(finding)
                });
                break;
            }
        }
    }
    fit.is_proven = shortest < longest && longest <= plan.length_max();
    Ok(fit)
}

/// `1 byte`, `3 bytes`.
fn bytes_text(bytes: usize) -> String {
    format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" })
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
