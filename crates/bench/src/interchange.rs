//! What is measured of EDI in this process: interchanges that lie in memory, read a buffer at a time as from a file, one thread.

use std::hint::black_box;
use std::io::{self, Cursor};
use std::sync::Arc;

use quayline_charset::{DelimiterIndex, DelimiterKernel, DelimiterSet};
use quayline_convert::{Conversion, Input, Output, Source, Target};
use quayline_core::{Limits, NodeId, Shape, Sink, Value};
use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentOptions, MemoryOutput, Stamp};
use quayline_edi::guide::{
    CompiledGuide, Guide, GuideDocuments, GuideResolver, GuideSet, GuideText, NodeNames, ResolveError, parse_guide,
};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiFault, EdiWriterOptions, EndOfInput, EnvelopePass, EnvelopeReader, Event,
    GenericOptions, Rules, SegmentSplitter, Step, Validator, ValidatorOptions,
};
use quayline_json::{JsonStyle, JsonWriter};
use quayline_project::xml::XmlStyle;
use quayline_project::{EdiRead, JsonRead, JsonWrite, Schema, SourceFormat, TargetFormat};

use crate::Run;
use crate::clock::cpu_of;
use crate::data::{Claims, Orders};

/// Bytes that a reader holds at a time.
const BUFFER: usize = 64 << 10;

/// Bytes of a window whose positions stay in the first-level cache.
const WINDOW: usize = 8 << 10;

/// What of transactions is checked while they are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Checks {
    /// Envelopes, and that every segment has a place in the guide.
    Structure,
    /// Types, lengths, codes, syntax notes, loops, HL levels and rules too.
    ByGuide,
}

/// An interchange in memory.
#[derive(Clone, Debug)]
pub struct Interchange {
    text: Arc<[u8]>,
    set: DelimiterSet,
    guide: Option<Arc<CompiledGuide>>,
    documents: Option<Arc<GuideDocuments>>,
}

impl Interchange {
    /// 837 professional: 30,000 claims, 28 MB.
    ///
    /// # Errors
    /// What is wrong with the guide of the examples.
    pub fn claims() -> Result<Self, String> {
        let set = DelimiterSet {
            element: b'*',
            terminator: b'~',
            component: Some(b':'),
            repetition: Some(b'^'),
            release: None,
        };
        let guide = guide("837p.guide")?;
        let compiled = CompiledGuide::new(&guide).map_err(|findings| findings.to_string())?;
        let set_of_guides = GuideSet::new([guide]).map_err(|findings| findings.to_string())?;
        Ok(Interchange {
            text: Claims::new(30_000).bytes().into(),
            set,
            guide: Some(Arc::new(compiled)),
            documents: Some(Arc::new(GuideDocuments::new(set_of_guides, NodeNames::References))),
        })
    }

    /// ORDERS D.96A: 24,000 messages, 31 MB.
    #[must_use]
    pub fn orders() -> Self {
        let set = DelimiterSet {
            element: b'+',
            terminator: b'\'',
            component: Some(b':'),
            repetition: None,
            release: Some(b'?'),
        };
        Interchange { text: Orders { orders: 24_000 }.bytes().into(), set, guide: None, documents: None }
    }

    /// Its text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// The shape of its documents by guide.
    ///
    /// # Panics
    /// Where it has no guide.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.documents.as_ref().expect("a guide").shape().clone()
    }

    /// How its documents by guide are read.
    pub(crate) fn options(&self, checks: Checks) -> GenericOptions {
        GenericOptions {
            guides: self.documents.clone(),
            validation: (checks == Checks::ByGuide).then(ValidatorOptions::default),
            ..GenericOptions::default()
        }
    }

    pub(crate) fn run(&self, work: impl FnOnce() -> u64) -> Run {
        let (done, cpu) = cpu_of(work);
        black_box(done);
        Run { bytes: self.text.len() as u64, cpu }
    }

    /// Writes the positions of all delimiters that are none of data, a list for each buffer, with the fastest kernel there is: the least
    /// that anybody who splits must do.
    #[must_use]
    pub fn positions(&self) -> Run {
        self.positions_by(BUFFER)
    }

    /// The same in windows whose positions stay in the first-level cache: what our splitter does besides.
    #[must_use]
    pub fn positions_in_cache(&self) -> Run {
        self.positions_by(WINDOW)
    }

    fn positions_by(&self, window: usize) -> Run {
        self.run(|| {
            let mut index = DelimiterIndex::new();
            let mut sum = 0;
            for window in self.text.chunks(window) {
                index.scan_positions(DelimiterKernel::active(), &self.set, window);
                sum += index.ends().len() + index.parts().len();
            }
            sum as u64
        })
    }

    /// Splits into elements: a slice of the input for each.
    #[must_use]
    pub fn elements(&self) -> Run {
        self.run(|| self.split(|segment| segment.raw_elements().map(|element| element.len() as u64 + 1).sum()))
    }

    /// Splits into components, release characters removed.
    #[must_use]
    pub fn components(&self) -> Run {
        let mut scratch = Vec::new();
        self.run(|| {
            self.split(|segment| {
                let mut sum = 0;
                for element in segment.elements() {
                    for repetition in element.repetitions() {
                        for component in repetition.components() {
                            sum += component.data(&mut scratch).len() as u64;
                        }
                    }
                }
                sum
            })
        })
    }

    fn split(&self, mut take: impl FnMut(&quayline_edi::Segment<'_>) -> u64) -> u64 {
        let mut splitter = SegmentSplitter::new(&Limits::default(), Rules::Lenient);
        let mut sum = 0;
        self.buffers(|input, end| {
            let mut pass = splitter.over(input, end);
            loop {
                match pass.advance() {
                    Step::Segment => sum += take(&pass.segment()),
                    Step::Interchange => {}
                    Step::NeedMore | Step::Done => return pass.finish(),
                }
            }
        });
        sum
    }

    /// Calls `over` with a buffer at a time from the first byte that it was not done with.
    pub(crate) fn buffers(&self, mut over: impl FnMut(&[u8], EndOfInput) -> usize) {
        let mut from = 0;
        loop {
            let to = (from + BUFFER).min(self.text.len());
            let end = if to == self.text.len() { EndOfInput::Yes } else { EndOfInput::No };
            from += over(&self.text[from..to], end);
            if end == EndOfInput::Yes {
                return;
            }
        }
    }

    /// Envelopes, counts and control numbers checked.
    ///
    /// # Panics
    /// Where an interchange made here has a fault.
    #[must_use]
    pub fn envelopes(&self) -> Run {
        self.run(|| self.checked(None, |_, _, _| {}))
    }

    /// Checked by its guide: types, lengths, codes, syntax notes, loops, HL levels and rules.
    ///
    /// # Panics
    /// Where an interchange made here has a fault.
    #[must_use]
    pub fn validated(&self) -> Run {
        self.run(|| self.checked(self.guide.as_ref(), |_, _, _| {}))
    }

    /// Checked, by its guide if it has one, and acknowledged by `kind`: `999`, `contrl`.
    ///
    /// # Panics
    /// Where an interchange made here has a fault, or `kind` is none.
    #[must_use]
    pub fn acknowledged(&self, kind: &str) -> Run {
        let stamp = Stamp::new("20260401", "1200").expect("a date and a time");
        let options = AcknowledgmentOptions::by_name(kind, stamp).expect("a kind of acknowledgment");
        self.run(|| {
            let mut acknowledger = Acknowledger::new(options);
            let mut output = MemoryOutput::default();
            self.checked(self.guide.as_ref(), |event, pass, faults| {
                acknowledger.event(event, pass, faults, &mut output);
            });
            assert!(!output.written().is_empty(), "an acknowledgment was written");
            output.written().len() as u64
        })
    }

    fn checked(
        &self,
        guide: Option<&Arc<CompiledGuide>>,
        mut take: impl FnMut(Event, &EnvelopePass<'_>, &[EdiFault]),
    ) -> u64 {
        let mut reader = EnvelopeReader::new(&Limits::default(), Rules::Lenient);
        let mut validator = Validator::new(ValidatorOptions::default());
        let mut segments = 0;
        self.buffers(|input, end| {
            let mut pass = reader.over(input, end);
            loop {
                let event = pass.advance();
                match event {
                    Event::TransactionStart => validator.begin(guide, &pass),
                    Event::Segment if pass.in_transaction() => {
                        segments += 1;
                        validator.segment(&pass);
                    }
                    Event::TransactionEnd(closed) => {
                        validator.end(closed, &pass);
                    }
                    _ => {}
                }
                assert!(!validator.has_faults() && !pass.has_faults(), "interchanges made here are good");
                take(event, &pass, &[]);
                if matches!(event, Event::NeedMore | Event::Done) {
                    return pass.finish();
                }
            }
        });
        segments
    }

    /// Documents by guide, thrown away: what reading costs.
    ///
    /// # Panics
    /// Where an interchange made here has a fault.
    #[must_use]
    pub fn read_by_guide(&self, checks: Checks) -> Run {
        struct Count(u64);
        impl Sink for Count {
            fn enter(&mut self, _: NodeId) {}
            fn leave(&mut self, _: NodeId) {}
            fn open_list(&mut self, _: NodeId) {}
            fn close_list(&mut self, _: NodeId) {}
            fn value(&mut self, node: NodeId, _: Value<'_>) {
                self.0 += u64::from(node.0);
            }
            fn discard(&mut self) {}
        }
        let options = self.options(checks);
        self.run(|| {
            let mut reader = DocumentReader::new(&options);
            let mut count = Count(0);
            self.buffers(|input, end| {
                let mut pass = reader.over(input, end);
                loop {
                    match pass.read(&mut count) {
                        DocumentStep::Document { errors, .. } => {
                            assert_eq!(errors, 0, "interchanges made here are good");
                        }
                        DocumentStep::NeedMore | DocumentStep::Done => return pass.finish(),
                    }
                }
            });
            count.0
        })
    }

    /// Documents by guide, checked, as JSON, thrown away.
    ///
    /// # Panics
    /// Where an interchange made here has a fault.
    #[must_use]
    pub fn guide_json(&self) -> Run {
        let options = self.options(Checks::ByGuide);
        self.run(|| {
            let mut reader = DocumentReader::new(&options);
            let mut writer = JsonWriter::new(reader.shape(), JsonStyle::default());
            let mut written = 0;
            self.buffers(|input, end| {
                let mut pass = reader.over(input, end);
                loop {
                    let step = pass.read(&mut writer);
                    written += writer.bytes().len() as u64;
                    writer.clear();
                    match step {
                        DocumentStep::Document { errors, .. } => {
                            assert_eq!(errors, 0, "interchanges made here are good")
                        }
                        DocumentStep::NeedMore | DocumentStep::Done => return pass.finish(),
                    }
                }
            });
            written
        })
    }

    /// A whole conversion without a guide to JSON lines, thrown away, as `quayline convert` runs it.
    #[must_use]
    pub fn to_json(&self) -> Run {
        self.run(|| self.convert(self.source(), TargetFormat::JsonLines(JsonWrite::default()), Box::new(io::sink())))
    }

    /// A whole conversion without a guide to XML, thrown away.
    #[must_use]
    pub fn to_xml(&self) -> Run {
        self.run(|| self.convert(self.source(), TargetFormat::Xml(XmlStyle::default()), Box::new(io::sink())))
    }

    /// Its generic documents as JSON lines.
    #[must_use]
    pub fn json(&self) -> Arc<[u8]> {
        let (written, bytes) = crate::subject::Collected::new();
        self.convert(self.source(), TargetFormat::JsonLines(JsonWrite::default()), Box::new(written));
        bytes.lock().map(|bytes| bytes.as_slice().into()).unwrap_or_default()
    }

    /// JSON lines back to the interchange, thrown away; in terms of the interchange's bytes.
    #[must_use]
    pub fn from_json(&self, json: &Arc<[u8]>) -> Run {
        let source = Source {
            name: "memory.jsonl".into(),
            input: Input::Stream(Box::new(Cursor::new(Arc::clone(json)))),
            format: SourceFormat::Json(JsonRead::default()),
        };
        let target = TargetFormat::Edi(EdiWriterOptions::default());
        self.run(|| self.convert(source, target, Box::new(io::sink())))
    }

    fn source(&self) -> Source {
        Source {
            name: "memory".into(),
            input: Input::Stream(Box::new(Cursor::new(Arc::clone(&self.text)))),
            format: SourceFormat::Edi(EdiRead::default()),
        }
    }

    fn convert(&self, source: Source, format: TargetFormat, output: Box<dyn io::Write + Send>) -> u64 {
        let target = Target { output: Output::Stream(output), format };
        let conversion = Conversion::new(source, target, Arc::new(Schema::edi()));
        let report = conversion.run().unwrap_or_else(|error| panic!("interchanges made here convert: {error}"));
        assert_eq!(report.tally.records_rejected, 0, "interchanges made here are good");
        report.output_bytes
    }
}

/// The guide of claims and what it includes, by the names of their files.
pub const GUIDE_FILES: [(&str, &str); 2] = [
    ("837p.guide", include_str!("../../../examples/edi/837p.guide")),
    ("x12-claims.guide", include_str!("../../../examples/edi/x12-claims.guide")),
];

/// A guide of `examples/edi`, which are compiled into this program.
fn guide(name: &str) -> Result<Guide, String> {
    struct Examples;

    impl GuideResolver for Examples {
        fn read(&self, name: &str, _from: &str) -> Result<GuideText, ResolveError> {
            match GUIDE_FILES.iter().find(|(known, _)| *known == name) {
                Some((_, text)) => Ok(GuideText { name: name.to_owned(), text: (*text).to_owned() }),
                None => Err(ResolveError::NotFound { tried: vec![name.to_owned()] }),
            }
        }
    }

    let text = Examples.read(name, "").map_err(|_| format!("{name} is no guide of the examples"))?.text;
    parse_guide(name, &text, &Examples, &Limits::default()).map_err(|findings| findings.to_string())
}
