//! EDI samples: a guide that fits them.
//!
//! A sample shows segments and not their meaning, so a guessed guide has no names. It describes the segments, which of them begin loops,
//! and the form of their elements. Quayline then checks the samples with the guess, reads them as documents and writes these again. If
//! the samples violate the guess, or content or its order is lost, the loops were guessed wrong. Quayline then tries simpler structures, and
//! warns of the simplest one, which has no structure at all.

mod elements;
mod hl;
mod round_trip;
mod structure;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quayline_core::{Fault, Finding, Findings, Limits, Place, Severity};
use quayline_edi::guide::{Asked, CompiledGuide, Dictionary, Guide, write_guide};
use quayline_edi::{
    EdiFault, EndOfInput, EnvelopeReader, Event, Rules, Segment, Standard, Validator, ValidatorOptions,
};

use crate::{FLAT, LOSS, SAMPLE, SEVERAL};
use elements::SegmentSeen;
use structure::{Mixed, Part};

/// Most kinds of segments: about as many as the directories of the standards have, of which a transaction uses a few dozen.
const SEGMENTS_MAX: usize = 1_000;
/// Maximum number of elements in a segment, and of components in an element, that a guide can have.
const PARTS_MAX: usize = 255;

/// Samples of one kind of transaction, read.
#[derive(Debug, Default)]
pub struct EdiSamples {
    /// Type of the transactions to use, if the samples have several types.
    only: Option<String>,
    kinds: BTreeMap<Kind, Transactions>,
    /// The samples themselves, to be checked by the guess.
    texts: Vec<Vec<u8>>,
}

/// Purpose of a guide.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Kind {
    transaction: String,
    version: String,
    group: Option<String>,
    is_x12: bool,
}

/// Transactions of one kind.
#[derive(Debug, Default)]
struct Transactions {
    /// The segments of each.
    parts: Vec<Vec<Part>>,
    segments: BTreeMap<String, SegmentSeen>,
}

/// A guide that was guessed.
#[derive(Debug)]
pub struct GuessedGuide {
    /// The guide.
    pub guide: Guide,
    /// Transactions that it was guessed from.
    pub transactions: usize,
    /// Rules that the samples break, because they are not valid themselves, and warnings that the guide is a poor one.
    pub findings: Vec<Finding>,
}

impl EdiSamples {
    /// Creates a collector without samples. `only` is the type of the transactions to use.
    #[must_use]
    pub fn new(only: Option<&str>) -> EdiSamples {
        EdiSamples { only: only.map(str::to_owned), ..EdiSamples::default() }
    }

    /// Returns whether bytes begin like an interchange.
    #[must_use]
    pub fn begins(bytes: &[u8]) -> bool {
        let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
        [&b"ISA"[..], b"UNA", b"UNB"].iter().any(|tag| start.starts_with(tag))
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// It holds no transaction that could be described.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Findings> {
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut pass = reader.over(bytes, EndOfInput::Yes);
        let mut open: Option<Kind> = None;
        let mut transactions = 0;
        loop {
            match pass.advance() {
                Event::TransactionStart => {
                    let asked = Asked::of(pass.transaction(), pass.group());
                    let wanted = self.only.as_ref().is_none_or(|only| *only == asked.transaction);
                    transactions += u32::from(wanted);
                    open = wanted.then(|| Kind {
                        transaction: asked.transaction,
                        version: asked.versions.into_iter().next().unwrap_or_default(),
                        group: asked.group,
                        is_x12: asked.standard == Standard::X12,
                    });
                    if let Some(kind) = &open {
                        self.kinds.entry(kind.clone()).or_default().parts.push(Vec::new());
                    }
                }
                Event::Segment if pass.in_transaction() => {
                    if let Some(of) = open.as_ref().and_then(|kind| self.kinds.get_mut(kind)) {
                        let at = pass.position().byte.0;
                        let segment = pass.segment();
                        of.segment(&segment).map_err(|message| wrong(name, bytes, at, message))?;
                    }
                }
                Event::TransactionEnd(_) => open = None,
                Event::Done | Event::NeedMore => break,
                _ => {}
            }
        }
        if transactions == 0 && self.only.is_none() {
            return Err(wrong(name, bytes, 0, "there is no transaction in it"));
        }
        drop(pass);
        self.texts.push(bytes.to_vec());
        Ok(())
    }

    /// Returns the guide of all samples. `name` is its name; by default the transaction's type.
    ///
    /// # Errors
    /// The samples are of several kinds.
    pub fn guide(self, name: Option<&str>) -> Result<GuessedGuide, Findings> {
        if self.kinds.len() > 1 {
            let kinds: Vec<String> =
                self.kinds.keys().map(|kind| format!("{} {}", kind.transaction, kind.version)).collect();
            let types: BTreeSet<&str> =
                self.kinds.keys().map(|kind| kind.transaction.as_str()).filter(|of| !of.is_empty()).collect();
            let hint = match types.first() {
                Some(first) if types.len() > 1 => format!("choose one: --only {first}"),
                _ => "take samples of one version".to_owned(),
            };
            let message = format!("the samples hold {}, and a guide is for one of them", kinds.join(", "));
            return Err(Finding::error(SEVERAL, Fault::Caller, message).hint(hint).into());
        }
        let Some((kind, of)) = self.kinds.first_key_value() else {
            let what = self.only.as_ref().map_or(String::new(), |only| format!(" {only}"));
            let finding = Finding::error(SAMPLE, Fault::Caller, format!("no sample holds a transaction{what}"));
            return Err(finding.hint("`quayline inspect` shows what a file contains").into());
        };
        if of.parts.iter().all(Vec::is_empty) {
            let message = "the transactions of the samples have no segments";
            return Err(Finding::error(SAMPLE, Fault::Caller, message).hint("take samples that hold data").into());
        }
        let guess = |structure| of.guide(name, kind, structure);
        for mixed in [Mixed::Together, Mixed::InOrder] {
            let Some(structure) = structure::guess(&of.parts, kind.is_x12, mixed) else { break };
            let guide = guess(structure);
            let keeps = self.check(&guide).is_some_and(|findings| findings.is_empty()) && self.comes_back(&guide);
            if keeps {
                return Ok(GuessedGuide { guide, transactions: of.parts.len(), findings: Vec::new() });
            }
        }
        let mut guide = guess(structure::any_order(&of.parts, Mixed::InOrder));
        let Some(mut findings) = self.check(&guide) else { return Err(no_guide(&guide)) };
        if !findings.is_empty() {
            let other = guess(structure::any_order(&of.parts, Mixed::Together));
            if let Some(fewer) = self.check(&other).filter(|other| other.len() < findings.len()) {
                (guide, findings) = (other, fewer);
            }
        }
        if of.segments.len() > 1 {
            findings.push(no_structure());
        }
        if !self.comes_back(&guide) {
            findings.push(loss());
        }
        Ok(GuessedGuide { guide, transactions: of.parts.len(), findings })
    }

    /// Returns the findings of the samples by a guide; `None` if the guide itself is wrong.
    fn check(&self, guide: &Guide) -> Option<Vec<Finding>> {
        let compiled = Arc::new(CompiledGuide::new(guide).ok()?);
        let mut found = Vec::new();
        for text in &self.texts {
            let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
            let mut validator = Validator::new(ValidatorOptions::default());
            let mut pass = reader.over(text, EndOfInput::Yes);
            loop {
                let event = pass.advance();
                match event {
                    Event::TransactionStart => {
                        let asked = Asked::of(pass.transaction(), pass.group());
                        let ours = asked.transaction == guide.transaction;
                        validator.begin(Some(&compiled).filter(|_| ours), &pass);
                    }
                    Event::Segment if pass.in_transaction() => {
                        validator.segment(&pass);
                    }
                    Event::TransactionEnd(closed) => {
                        validator.end(closed, &pass);
                    }
                    _ => {}
                }
                let faults: Vec<EdiFault> = validator.take_faults().collect();
                // Warnings about the sample are the same by any guide.
                let errors = faults.iter().filter(|fault| fault.severity == Severity::Error);
                found.extend(errors.map(|fault| fault.finding(None)));
                if matches!(event, Event::Done | Event::NeedMore) {
                    break;
                }
            }
        }
        Some(found)
    }
}

fn no_structure() -> Finding {
    let message = "no structure of loops explains the samples, so the guide allows each segment at any place";
    let hint = "documents by this guide show no levels; use a guide of this transaction (`quayline guide list`), or write its loops";
    Finding::warning(FLAT, Fault::Caller, message).hint(hint)
}

fn loss() -> Finding {
    let message =
        "a conversion of the samples with this guide does not come back as it was: it loses content or its order";
    let hint = "`quayline convert` with this guide reports what has no place; `quayline validate` reports the faults of the samples";
    Finding::warning(LOSS, Fault::Caller, message).hint(hint)
}

/// Returns the reason why no guide can describe the samples, such as envelopes inside transactions.
fn no_guide(guess: &Guide) -> Findings {
    let why = CompiledGuide::new(guess).err().and_then(|findings| findings.0.into_iter().next());
    let at = why.as_ref().and_then(|why| why.place.path.clone()).map_or_else(String::new, |at| format!(" ({at})"));
    let why = why.map_or_else(String::new, |why| format!(": {}{at}", why.message));
    let finding = Finding::error(SAMPLE, Fault::Caller, format!("no guide can be made of the samples{why}"));
    finding.hint("`quayline validate` reports the faults of a file").into()
}

impl Transactions {
    fn segment(&mut self, segment: &Segment<'_>) -> Result<(), String> {
        let fits = |tag: &&str| {
            matches!(tag.len(), 2 | 3)
                && tag.as_bytes()[0].is_ascii_uppercase()
                && tag.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        };
        let tag = core::str::from_utf8(segment.tag()).ok().filter(fits);
        let tag = tag.ok_or("a segment's tag is not two or three capital letters or digits, a letter first")?;
        if !self.segments.contains_key(tag) {
            if self.segments.len() == SEGMENTS_MAX {
                return Err(format!("the transactions have more than {SEGMENTS_MAX} kinds of segments"));
            }
            self.segments.insert(tag.to_owned(), SegmentSeen::default());
        }
        if let Some(seen) = self.segments.get_mut(tag) {
            seen.add(segment);
            if seen.parts() > PARTS_MAX {
                return Err(format!(
                    "a segment {tag} has more than {PARTS_MAX} elements or components, the most that a guide can have"
                ));
            }
        }
        if let Some(transaction) = self.parts.last_mut() {
            transaction.push(Part::of(tag, segment));
        }
        Ok(())
    }

    fn guide(&self, name: Option<&str>, kind: &Kind, structure: Vec<quayline_edi::guide::Item>) -> Guide {
        let mut dictionary = Dictionary::default();
        for (tag, seen) in &self.segments {
            seen.define(tag, kind.is_x12, &mut dictionary);
        }
        Guide {
            name: name.unwrap_or(&kind.transaction).to_owned(),
            title: None,
            standard: if kind.is_x12 { Standard::X12 } else { Standard::Edifact },
            version: kind.version.clone(),
            transaction: kind.transaction.clone(),
            functional_group: kind.group.clone(),
            source: None,
            dictionary,
            structure,
            rules: Vec::new(),
        }
    }
}

impl GuessedGuide {
    /// Returns the guide file.
    #[must_use]
    pub fn text(&self) -> String {
        let of = if self.transactions == 1 {
            "1 transaction".to_owned()
        } else {
            format!("{} transactions", self.transactions)
        };
        format!("# Guessed from {of}; look at each line.\n{}", write_guide(&self.guide))
    }
}

fn wrong(name: &str, bytes: &[u8], at: u64, message: impl Into<String>) -> Findings {
    let before = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    let line = bytes[..before].iter().filter(|byte| **byte == b'\n').count() + 1;
    let place = Place {
        file: Some(name.into()),
        line: u32::try_from(line).ok(),
        byte: Some(quayline_core::ByteOffset(at)),
        ..Place::default()
    };
    let hint = "a sample is one or more X12 or EDIFACT interchanges; `quayline inspect` shows what a file is";
    Finding::error(SAMPLE, Fault::Caller, message).at(place).hint(hint).into()
}
