//! The kernels. Each makes its own input from constants, so two machines do the same work.

use std::fs::File;
use std::hint::black_box;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use quayline_capacity::calibration::Kernel;
use quayline_charset::Charset;
use quayline_cobol::copybook::{ParseOptions, SourceText};
use quayline_cobol::layout::{Dialect, Layout};
use quayline_cobol::{Interface, Policies, RecordDecoder, RecordPlan};
use quayline_core::{Digits, Findings, Limits, NodeId, Occurs, Run, Scalar, Shape, Sink, Value};
use quayline_edi::{EndOfInput, Rules, SegmentSplitter, Step};
use quayline_json::{JsonStyle, JsonWriter};
use quayline_store::Store;
use quayline_store::record_file::{By, RecordFile, Relation};
use quayline_store_embedded::Durability;
use quayline_xml::{XmlStyle, XmlWriter};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};

use crate::keys::{below, key};
use crate::mix;
use crate::run::Work;
use crate::tls::{Handshake, Handshakes};

/// Bytes of an input: larger than a first-level cache, smaller than a second-level cache of today.
const INPUT_BYTES: usize = 256 << 10;
/// Bytes of a copied block; source and target fill a second-level cache of 1 MiB.
const COPY_BYTES: usize = 512 << 10;
/// Bytes of an append that is made durable.
const SYNC_BYTES: usize = 4096;
/// Bytes after which the file of the sync kernel begins again.
const SYNC_FILE_BYTES_MAX: u64 = 64 << 20;
/// Records of the file that the keyed gets read.
const RECORDS: u64 = 50_000;
/// Records of a batch of decoding.
const DECODED: usize = 500;

/// Resources that the threads of a kernel share: a store with a record file, and a folder.
pub(crate) struct Bed {
    folder: PathBuf,
    /// The store; `None` after the end.
    store: Option<Store>,
    file: RecordFile,
}

impl Bed {
    pub(crate) fn new(folder: &Path) -> Result<Bed, String> {
        let folder = folder.join("kernels");
        // Left over from a run that was stopped.
        let _ = std::fs::remove_dir_all(&folder);
        let store = mix::open(&folder.join("store"), Durability::Buffered)?;
        let file = mix::loaded(&store, "GET", 200, RECORDS)?;
        Ok(Bed { folder, store: Some(store), file })
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // The engine ends its writes before its folder goes.
        self.store = None;
        // The folder is ours; what cannot be removed is the user's to see.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Prepares a kernel for the calling thread.
pub(crate) fn prepare(kernel: Kernel, bed: &Bed) -> Result<Box<dyn Work>, String> {
    Ok(match kernel {
        Kernel::EdiTokenise => Box::new(Tokenise { text: orders() }),
        Kernel::Packed => Box::new(Decode::new(PACKED, &[0x01, 0x23, 0x4c])?),
        Kernel::Zoned => Box::new(Decode::new(ZONED, &[0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xc7])?),
        Kernel::CodePage => Box::new(Translate::new()?),
        Kernel::JsonWrite => Box::new(WriteJson::new()),
        Kernel::XmlWrite => Box::new(WriteXml::new()?),
        Kernel::Hash => Box::new(HashBlocks { input: vec![0x5a; INPUT_BYTES] }),
        Kernel::Copy => Box::new(CopyBlocks { from: vec![0x5a; COPY_BYTES], to: vec![0; COPY_BYTES] }),
        Kernel::KeyedGet => {
            let store = bed.store.clone().ok_or("the store is closed")?;
            Box::new(Get { store, file: bed.file.clone(), seed: 0x2545_f491 })
        }
        Kernel::Sync => Box::new(SyncAppends::new(&bed.folder)?),
        Kernel::TlsFull => Box::new(Handshakes::new(Handshake::Full)?),
        Kernel::TlsResumed => Box::new(Handshakes::new(Handshake::Resumed)?),
        Kernel::Signature => Box::new(Sign::new()?),
        _ => return Err("this program has no such kernel".to_owned()),
    })
}

/// Orders of X12 of about the size of an input.
fn orders() -> Vec<u8> {
    let mut text = Vec::with_capacity(INPUT_BYTES + 1024);
    text.extend_from_slice(
        b"ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *250101*1200*U*00401*000000001*0*P*>~",
    );
    text.extend_from_slice(b"GS*PO*SENDER*RECEIVER*20250101*1200*1*X*004010~");
    let mut order = 0;
    while text.len() < INPUT_BYTES {
        order += 1;
        text.extend_from_slice(format!("ST*850*{order:04}~BEG*00*SA*PO{order:07}**20250101~").as_bytes());
        text.extend_from_slice(b"REF*DP*038~N1*ST*EXAMPLE STORE*92*0042~N3*1 MAIN STREET~N4*SPRINGFIELD*IL*62701~");
        for line in 1..=10 {
            text.extend_from_slice(format!("PO1*{line}*{}*EA*{line}.95**VN*ITEM{line:05}~", line * 12).as_bytes());
            text.extend_from_slice(b"PID*F****A PRODUCT OF SOME KIND~");
        }
        text.extend_from_slice(format!("CTT*10~SE*27*{order:04}~").as_bytes());
    }
    text.extend_from_slice(format!("GE*{order}*1~IEA*1*000000001~").as_bytes());
    text
}

struct Tokenise {
    text: Vec<u8>,
}

impl Work for Tokenise {
    fn batch(&mut self) -> Result<u64, String> {
        let mut splitter = SegmentSplitter::new(&Limits::default(), Rules::Lenient);
        let mut pass = splitter.over(&self.text, EndOfInput::Yes);
        let mut bytes = 0;
        loop {
            match pass.advance() {
                Step::Segment => {
                    bytes += pass.segment().raw_elements().map(|element| element.len() as u64 + 1).sum::<u64>();
                }
                Step::Interchange => {}
                Step::NeedMore | Step::Done => break,
            }
        }
        pass.finish();
        if bytes < self.text.len() as u64 / 2 {
            Err("the text was not split".to_owned())
        } else {
            Ok(self.text.len() as u64)
        }
    }
}

const PACKED: &str = "       01 REC.\n          05 AMOUNT OCCURS 40 PIC S9(3)V99 COMP-3.\n";
const ZONED: &str = "       01 REC.\n          05 AMOUNT OCCURS 40 PIC S9(6)V99.\n";

/// Fields of a record of decoding.
const FIELDS: usize = 40;

struct Decode {
    decoder: RecordDecoder,
    record: Vec<u8>,
    counter: Counter,
}

impl Decode {
    fn new(copybook: &str, field: &[u8]) -> Result<Decode, String> {
        let text = |findings: Findings| findings.to_string();
        let parsed =
            quayline_cobol::parse(&SourceText::new("kernel.cpy", copybook), &ParseOptions::default()).map_err(text)?;
        let record = parsed.records.first().ok_or("the copybook has no record")?;
        let layout = Layout::build(record, &Dialect::IBM).map_err(text)?;
        let page = Charset::by_name("cp037").map_err(|_| "code page 037 is missing".to_owned())?;
        let plan = RecordPlan::new(&layout, &Interface::default(), &Policies::default(), page).map_err(text)?;
        Ok(Decode { decoder: RecordDecoder::new(&plan), record: field.repeat(FIELDS), counter: Counter { values: 0 } })
    }
}

impl Work for Decode {
    fn batch(&mut self) -> Result<u64, String> {
        self.counter.values = 0;
        for _ in 0..DECODED {
            let decoded = self.decoder.decode(black_box(&self.record), &mut self.counter);
            decoded.map_err(|_| "a record was rejected".to_owned())?;
        }
        let expected = (DECODED * FIELDS) as u64;
        if self.counter.values == expected { Ok(expected) } else { Err(format!("{} fields", self.counter.values)) }
    }
}

/// A sink that looks at each value.
struct Counter {
    values: u64,
}

impl Sink for Counter {
    fn enter(&mut self, _: NodeId) {}
    fn leave(&mut self, _: NodeId) {}
    fn open_list(&mut self, _: NodeId) {}
    fn close_list(&mut self, _: NodeId) {}
    fn value(&mut self, _: NodeId, value: Value<'_>) {
        black_box(value);
        self.values += 1;
    }
    fn discard(&mut self) {}
}

struct Translate {
    page: Charset,
    text: Vec<u8>,
    out: Vec<u8>,
}

impl Translate {
    fn new() -> Result<Translate, String> {
        let page = Charset::by_name("cp037").map_err(|_| "code page 037 is missing".to_owned())?;
        let mut text = Vec::new();
        page.encode_into("CUSTOMER 0042, 1 MAIN STREET, SPRINGFIELD ", &mut text).map_err(|error| error.to_string())?;
        let text = text.iter().copied().cycle().take(INPUT_BYTES).collect();
        Ok(Translate { page, text, out: Vec::with_capacity(INPUT_BYTES * 2) })
    }
}

impl Work for Translate {
    fn batch(&mut self) -> Result<u64, String> {
        self.out.clear();
        self.page.decode_into(black_box(&self.text), &mut self.out).map_err(|error| error.to_string())?;
        black_box(&self.out);
        Ok(self.text.len() as u64)
    }
}

/// Builds an order of 20 members, half of them texts.
fn document() -> (Shape, Vec<NodeId>) {
    let mut builder = Shape::builder("order");
    let mut nodes = Vec::new();
    for at in 0..10 {
        nodes.push(builder.scalar(format!("name{at}"), Scalar::Text { chars_max: Some(24) }, Occurs::Once));
        let amount = Scalar::Decimal { digits: 9, scale: 2, signed: true };
        nodes.push(builder.scalar(format!("amount{at}"), amount, Occurs::Once));
    }
    (builder.finish(), nodes)
}

fn drive(sink: &mut impl Sink, nodes: &[NodeId]) {
    sink.enter(NodeId::ROOT);
    for pair in nodes.chunks(2) {
        let [name, amount] = pair else { break };
        sink.value(*name, Value::Ascii(Run::from(&b"A product of some kind"[..])));
        let digits = Run::from(&b"001234567"[..]);
        sink.value(*amount, Value::Digits(Digits { digits, negative: false, scale: 2 }));
    }
    sink.leave(NodeId::ROOT);
}

struct WriteJson {
    writer: JsonWriter,
    nodes: Vec<NodeId>,
}

impl WriteJson {
    fn new() -> WriteJson {
        let (shape, nodes) = document();
        WriteJson { writer: JsonWriter::new(&shape, JsonStyle::default()), nodes }
    }
}

impl Work for WriteJson {
    fn batch(&mut self) -> Result<u64, String> {
        self.writer.clear();
        for _ in 0..DECODED {
            drive(&mut self.writer, black_box(&self.nodes));
        }
        Ok(black_box(self.writer.bytes()).len() as u64)
    }
}

struct WriteXml {
    writer: XmlWriter,
    nodes: Vec<NodeId>,
}

impl WriteXml {
    fn new() -> Result<WriteXml, String> {
        let (shape, nodes) = document();
        let writer = XmlWriter::new(&shape, XmlStyle::default()).map_err(|findings| findings.to_string())?;
        Ok(WriteXml { writer, nodes })
    }
}

impl Work for WriteXml {
    fn batch(&mut self) -> Result<u64, String> {
        self.writer.clear();
        for _ in 0..DECODED {
            drive(&mut self.writer, black_box(&self.nodes));
        }
        Ok(black_box(self.writer.bytes()).len() as u64)
    }
}

struct HashBlocks {
    input: Vec<u8>,
}

impl Work for HashBlocks {
    fn batch(&mut self) -> Result<u64, String> {
        black_box(digest(&SHA256, black_box(&self.input)));
        Ok(self.input.len() as u64)
    }
}

struct CopyBlocks {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Work for CopyBlocks {
    fn batch(&mut self) -> Result<u64, String> {
        black_box(&mut self.to[..]).copy_from_slice(black_box(&self.from));
        Ok(self.from.len() as u64)
    }
}

struct Get {
    store: Store,
    file: RecordFile,
    seed: u64,
}

impl Work for Get {
    fn batch(&mut self) -> Result<u64, String> {
        let unit = self.store.begin().map_err(mix::text)?;
        for _ in 0..100 {
            let key = key(below(&mut self.seed, RECORDS));
            black_box(self.file.read(&unit, By::Key(&key), Relation::Equal).map_err(mix::text)?);
        }
        Ok(100)
    }
}

struct SyncAppends {
    file: File,
    block: Vec<u8>,
    written: u64,
}

impl SyncAppends {
    fn new(folder: &Path) -> Result<SyncAppends, String> {
        let thread = std::thread::current().id();
        let path = folder.join(format!("sync-{thread:?}").replace(['(', ')'], ""));
        let file = File::create(path).map_err(|error| error.to_string())?;
        Ok(SyncAppends { file, block: vec![0x5a; SYNC_BYTES], written: 0 })
    }
}

impl Work for SyncAppends {
    fn batch(&mut self) -> Result<u64, String> {
        let io = |error: std::io::Error| error.to_string();
        if self.written >= SYNC_FILE_BYTES_MAX {
            self.file.seek(SeekFrom::Start(0)).map_err(io)?;
            self.written = 0;
        }
        self.file.write_all(&self.block).map_err(io)?;
        self.file.sync_data().map_err(io)?;
        self.written += self.block.len() as u64;
        Ok(1)
    }
}

struct Sign {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    message: Vec<u8>,
}

impl Sign {
    fn new() -> Result<Sign, String> {
        let random = SystemRandom::new();
        let failed = |_| "making a key failed".to_owned();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).map_err(failed)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), &random)
            .map_err(|_| "reading the key failed".to_owned())?;
        Ok(Sign { pair, random, message: vec![b'm'; 1024] })
    }
}

impl Work for Sign {
    fn batch(&mut self) -> Result<u64, String> {
        let signature = self.pair.sign(&self.random, &self.message).map_err(|_| "signing failed".to_owned())?;
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, self.pair.public_key().as_ref());
        public.verify(&self.message, signature.as_ref()).map_err(|_| "the signature is wrong".to_owned())?;
        Ok(1)
    }
}
