//! Measurements of EDI in this process: interchanges in memory, read by buffers as from a file, one thread.

use std::hint::black_box;
use std::io::{self, Cursor};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quayline_charset::{DelimiterIndex, DelimiterKernel, DelimiterSet};
use quayline_convert::{Conversion, Input, Output, Source, Target};
use quayline_core::{Limits, NodeId, Shape, Sink, Value};
use quayline_edi::acknowledge::{Acknowledger, AcknowledgmentOptions, MemoryOutput, Stamp};
use quayline_edi::guide::{CompiledGuide, Guide, GuideResolver, GuideSet, GuideText, ResolveError, parse_guide};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiFault, EdiWriterOptions, EndOfInput, EnvelopePass, EnvelopeReader, Event,
    GenericOptions, Rules, SegmentSplitter, Step, Validator, ValidatorOptions,
};
use quayline_edi::{GuideDocuments, NodeNames};
use quayline_json::{JsonStyle, JsonWriter};
use quayline_project::xml::XmlStyle;
use quayline_project::{EdiRead, JsonRead, JsonWrite, Schema, SourceFormat, TargetFormat};

use crate::Run;
use crate::clock::cpu_of;
use crate::data::{Claims, Orders};

/// Number of bytes that a reader holds at a time.
const BUFFER: usize = 64 << 10;

/// Bytes of a window whose positions stay in the first-level cache.
const WINDOW: usize = 8 << 10;

/// Checks of transactions during reading.
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
    /// Creates an 837 professional interchange: 30,000 claims, 28 MB.
    ///
    /// # Errors
    /// Errors in the guide of the examples.
    pub fn claims() -> Result<Self, String> {
        let set = DelimiterSet {
            element: b'*',
            terminator: b'~',
            component: Some(b':'),
            repetition: Some(b'^'),
            release: None,
        };
        let (compiled, set_of_guides) = guide_of_claims()?;
        Ok(Interchange {
            text: Claims::new(30_000).bytes().into(),
            set,
            guide: Some(Arc::new(compiled)),
            documents: Some(Arc::new(GuideDocuments::new(set_of_guides, NodeNames::References))),
        })
    }

    /// Measures the time of reading and compiling the guide of claims.
    ///
    /// # Errors
    /// Errors in the guide of the examples.
    pub fn guide_compile_time() -> Result<Duration, String> {
        let began = Instant::now();
        let _ = black_box(guide_of_claims()?);
        Ok(began.elapsed())
    }

    /// Creates an ORDERS D.96A interchange: 24,000 messages, 31 MB.
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

    /// Returns the text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// Returns the shape of its documents by guide.
    ///
    /// # Panics
    /// If it has no guide.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.documents.as_ref().expect("a guide").shape().clone()
    }

    /// Returns the options for reading its documents by guide.
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

    /// Writes the positions of all delimiters outside of data, a list for each buffer, with the fastest kernel available: the minimum work
    /// of any splitter.
    #[must_use]
    pub fn positions(&self) -> Run {
        self.positions_by(BUFFER)
    }

    /// Does the same in windows whose positions stay in the first-level cache, as the splitter does.
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

    /// Checks envelopes, counts and control numbers.
    ///
    /// # Panics
    /// If a generated interchange has a fault.
    #[must_use]
    pub fn envelopes(&self) -> Run {
        self.run(|| self.checked(None, |_, _, _| {}))
    }

    /// Validates by its guide: types, lengths, codes, syntax notes, loops, HL levels and rules.
    ///
    /// # Panics
    /// If a generated interchange has a fault.
    #[must_use]
    pub fn validated(&self) -> Run {
        self.run(|| self.checked(self.guide.as_ref(), |_, _, _| {}))
    }

    /// Checks the interchange, by its guide if it has one, and acknowledges it by `kind`: `999`, `contrl`.
    ///
    /// # Panics
    /// If a generated interchange has a fault, or `kind` is unknown.
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

    /// Reads documents by guide and discards them, to measure the cost of reading.
    ///
    /// # Panics
    /// If a generated interchange has a fault.
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

    /// Reads and checks documents by guide, writes JSON and discards it.
    ///
    /// # Panics
    /// If a generated interchange has a fault.
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

    /// Runs a complete conversion without a guide to JSON lines, as `quayline convert` does, and discards the output.
    #[must_use]
    pub fn to_json(&self) -> Run {
        self.run(|| self.convert(self.source(), TargetFormat::JsonLines(JsonWrite::default()), Box::new(io::sink())))
    }

    /// Runs a complete conversion without a guide to XML and discards the output.
    #[must_use]
    pub fn to_xml(&self) -> Run {
        self.run(|| self.convert(self.source(), TargetFormat::Xml(XmlStyle::default()), Box::new(io::sink())))
    }

    /// Returns its generic documents as JSON lines.
    #[must_use]
    pub fn json(&self) -> Arc<[u8]> {
        let (written, bytes) = crate::subject::Collected::new();
        self.convert(self.source(), TargetFormat::JsonLines(JsonWrite::default()), Box::new(written));
        bytes.lock().map(|bytes| bytes.as_slice().into()).unwrap_or_default()
    }

    /// Converts JSON lines back to the interchange and discards it; the result counts the interchange's bytes.
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

/// Guide of claims and its includes, by file name.
pub const GUIDE_FILES: [(&str, &str); 2] = [
    ("837p.guide", include_str!("../../../examples/edi/837p.guide")),
    ("x12-claims.guide", include_str!("../../../examples/edi/x12-claims.guide")),
];

/// Reads a guide of `examples/edi`, which are compiled into this program.
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

fn guide_of_claims() -> Result<(CompiledGuide, GuideSet), String> {
    let guide = guide("837p.guide")?;
    let compiled = CompiledGuide::new(&guide).map_err(|findings| findings.to_string())?;
    Ok((compiled, GuideSet::new([guide]).map_err(|findings| findings.to_string())?))
}
