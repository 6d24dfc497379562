//! Results of this crate for the copybook and records of a case.

use std::collections::BTreeMap;

use quayline_charset::{Charset, CodePage};
use quayline_cobol::copybook::{Format, ParseOptions, SourceText};
use quayline_cobol::layout::{BinarySizes, ByteOrder, Dialect, FloatFormat, Layout, SyncRule};
use quayline_cobol::parse;
use quayline_cobol::picture::PictureSettings;
use quayline_cobol::{
    Interface, NullAs, Policies, Preserve, RecordDecoder, RecordEncoder, RecordFault, RecordFaults, RecordPlan,
};
use quayline_core::{Document, NodeId, Shape, Sink, Value};
use quayline_json::{JsonReader, JsonStyle, JsonWriter, ReaderOptions};

use crate::copybook::Case;

/// z/OS rules, except for differences of GnuCOBOL on this machine; `docs/studies/gnucobol.md` lists them.
pub(crate) const DIALECT: Dialect = Dialect {
    native_sizes: BinarySizes::OneTwoFourEight,
    native_order: ByteOrder::Little,
    sync: SyncRule::EightBytesAtEight,
    pointer_bytes: 8,
    float_format: FloatFormat::IeeeLittle,
    ..Dialect::IBM
};

/// The layout, or all findings as text.
pub(crate) fn layout(case: &Case) -> Result<Layout, String> {
    let picture = PictureSettings { decimal_comma: case.decimal_comma, ..PictureSettings::default() };
    let options = ParseOptions {
        format: Format::Fixed,
        replacing: case.replacing,
        fragment_name: case.record.name.as_deref(),
        picture: &picture,
        ..ParseOptions::default()
    };
    let source = SourceText::new(case.name.as_str(), case.text.as_str());
    let copybook = parse(&source, &options).map_err(|f| f.to_string())?;
    let [record] = &copybook.records[..] else { return Err(format!("{} records", copybook.records.len())) };
    Layout::build(record, &DIALECT).map_err(|f| f.to_string())
}

/// Decoder and encoder of one plan.
pub(crate) struct Codec {
    layout: Layout,
    shape: Shape,
    decoder: RecordDecoder,
    encoder: RecordEncoder,
    reader: JsonReader,
}

/// Values by path.
pub(crate) type Values = BTreeMap<String, String>;

impl Codec {
    pub(crate) fn new(layout: &Layout, page: &'static CodePage, preserve: Preserve) -> Result<Codec, String> {
        // A POINTER has no value that a document could hold: null leaves it as INITIALIZE would.
        let policies = Policies { preserve, null: Some(NullAs::LowValues), ..Policies::default() };
        let plan = RecordPlan::new(layout, &Interface::default(), &policies, Charset::SingleByte(page))
            .map_err(|f| f.to_string())?;
        Ok(Codec {
            layout: layout.clone(),
            shape: plan.shape().clone(),
            decoder: RecordDecoder::new(&plan),
            encoder: RecordEncoder::new(&plan),
            reader: JsonReader::new(plan.shape(), ReaderOptions::default()),
        })
    }

    /// The values of a record, and the record as JSON.
    pub(crate) fn decode(&mut self, record: &[u8]) -> Result<(Values, Vec<u8>), String> {
        let mut document = Document::new();
        self.decoder.decode(record, &mut document).map_err(|f| told(&self.layout, &f))?;
        let mut collector =
            Collector { shape: &self.shape, path: Vec::new(), lists: Vec::new(), values: Values::new() };
        document.replay(&mut collector);
        let values = collector.values;
        let mut writer = JsonWriter::new(&self.shape, JsonStyle::default());
        document.replay(&mut writer);
        Ok((values, writer.bytes().to_vec()))
    }

    /// The record of a JSON document.
    pub(crate) fn encode(&mut self, json: &[u8]) -> Result<Vec<u8>, String> {
        self.reader.read(json, &mut self.encoder).map_err(|f| format!("{f:?}"))?;
        self.encoder.take().map(<[u8]>::to_vec).map_err(|f| told(&self.layout, &f))
    }
}

/// The first faults with the descriptions of their fields.
fn told(layout: &Layout, faults: &RecordFaults) -> String {
    let one = |fault: &RecordFault| {
        let description = fault.field.map(|f| layout.field(f).description.as_str());
        format!("{fault} at {}, {}", fault.offset, description.unwrap_or_default())
    };
    faults.0.iter().take(3).map(one).collect::<Vec<_>>().join("; ")
}

/// Notes every value under its path.
struct Collector<'a> {
    shape: &'a Shape,
    path: Vec<String>,
    lists: Vec<(NodeId, usize)>,
    values: Values,
}

impl Collector<'_> {
    fn step(&mut self, node: NodeId) -> String {
        let name = &self.shape.node(node).name;
        match self.lists.last_mut() {
            Some((list, index)) if *list == node => {
                *index += 1;
                format!("{name}[{}]", *index - 1)
            }
            _ => name.clone(),
        }
    }
}

impl Sink for Collector<'_> {
    fn enter(&mut self, node: NodeId) {
        if node != NodeId::ROOT {
            let step = self.step(node);
            self.path.push(step);
        }
    }
    fn leave(&mut self, node: NodeId) {
        if node != NodeId::ROOT {
            self.path.pop();
        }
    }
    fn open_list(&mut self, node: NodeId) {
        self.lists.push((node, 0));
    }
    fn close_list(&mut self, _: NodeId) {
        self.lists.pop();
    }
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        let mut path = self.path.clone();
        path.push(self.step(node));
        let text = match value {
            Value::Null => "null".to_owned(),
            Value::Text(run) | Value::Ascii(run) => String::from_utf8(run.bytes().to_vec()).expect("text is UTF-8"),
            Value::Bytes(bytes) | Value::Raw(bytes) => crate::cobc::hex(bytes),
            Value::Bool(x) => x.to_string(),
            number => {
                let mut out = Vec::new();
                quayline_core::write_number(&mut out, number).expect("all else is a number");
                String::from_utf8(out).expect("numbers are ASCII")
            }
        };
        self.values.insert(path.join("."), text);
    }
    fn discard(&mut self) {}
}
