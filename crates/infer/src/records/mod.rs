//! Proposals for a file of records: its code page, its framing, and whether a copybook fits. Each proposal has evidence; the caller decides.

mod data_description;
mod fit;

pub use data_description::has_data_descriptions;
pub use fit::Fit;
use quayline_charset::Charset;
use quayline_frame::FramingSpec;

/// Score from which a code page is worth a trial, of 100.
const CHARSET_SCORE_MIN: u8 = 20;
/// Score from which a framing is worth a trial, of 1.
const FRAMING_SCORE_MIN: f64 = 0.3;

/// The first bytes of a file of records.
#[derive(Clone, Copy)]
pub struct RecordSample<'s> {
    /// The file's name in findings.
    pub name: &'s str,
    /// The bytes.
    pub bytes: &'s [u8],
    /// Length of the file, if it is known.
    pub file_len: Option<u64>,
}

impl core::fmt::Debug for RecordSample<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The bytes are people's data.
        let RecordSample { name, bytes, file_len } = self;
        f.debug_struct("RecordSample")
            .field("name", name)
            .field("bytes", &bytes.len())
            .field("file_len", file_len)
            .finish()
    }
}

impl RecordSample<'_> {
    /// Whether the sample is the whole file.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.file_len == Some(self.bytes.len() as u64)
    }
}

/// A character set that the data may have.
#[derive(Clone, Debug)]
pub struct CharsetProposal {
    /// The set.
    pub charset: Charset,
    /// 0 to 100; `None` if the user named it.
    pub score: Option<u8>,
    /// Sets in which the sample means the same.
    pub alike: Vec<Charset>,
    /// Evidence in sentences.
    pub evidence: Vec<String>,
}

impl CharsetProposal {
    /// Proposes at most `most` sets, best first.
    #[must_use]
    pub fn of(sample: RecordSample<'_>, most: usize) -> Vec<CharsetProposal> {
        let found = quayline_charset::detect(sample.bytes).into_iter().filter_map(|candidate| {
            let charset = candidate.charset?;
            let worth = candidate.score >= CHARSET_SCORE_MIN;
            worth.then_some(CharsetProposal {
                charset,
                score: Some(candidate.score),
                alike: candidate.alike,
                evidence: candidate.evidence,
            })
        });
        found.take(most).collect()
    }

    /// The set that the user named.
    #[must_use]
    pub fn named(charset: Charset) -> CharsetProposal {
        CharsetProposal { charset, score: None, alike: Vec::new(), evidence: vec!["you named it".to_owned()] }
    }
}

/// A framing that the data may have.
#[derive(Clone, Debug)]
pub struct FramingProposal {
    /// The framing.
    pub spec: FramingSpec,
    /// 0 to 1; `None` if the user or the copybook named it.
    pub score: Option<f64>,
    /// Number of records examined.
    pub records: u64,
    /// Evidence in sentences.
    pub evidence: Vec<String>,
}

impl FramingProposal {
    /// Proposes at most `most` framings, best first, and after them the length of a copybook's record.
    #[must_use]
    pub fn of(sample: RecordSample<'_>, record_length: Option<usize>, most: usize) -> Vec<FramingProposal> {
        let mut found: Vec<FramingProposal> = quayline_frame::detect(sample.bytes, sample.file_len, record_length)
            .into_iter()
            .filter(|candidate| candidate.score >= FRAMING_SCORE_MIN)
            .take(most)
            .map(|candidate| FramingProposal {
                spec: candidate.spec,
                score: Some(candidate.score),
                records: candidate.records_checked,
                evidence: candidate.evidence,
            })
            .collect();
        if let Some(length) = record_length {
            let fixed = FramingSpec::Fixed { length };
            if !found.iter().any(|proposal| proposal.spec == fixed) {
                found.push(FramingProposal::known(fixed, "the length of the copybook's record"));
            }
        }
        found
    }

    /// The framing that the user named.
    #[must_use]
    pub fn named(spec: FramingSpec) -> FramingProposal {
        FramingProposal::known(spec, "you named it")
    }

    fn known(spec: FramingSpec, evidence: &str) -> FramingProposal {
        FramingProposal { spec, score: None, records: 0, evidence: vec![evidence.to_owned()] }
    }
}
