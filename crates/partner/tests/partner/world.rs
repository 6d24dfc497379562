//! Test environment: a project in a temporary folder, a store in memory, and a clock that the test sets.

use std::cell::Cell;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use quayline_core::Findings;
use quayline_partner::{
    Again, Book, Desk, DeskLimits, Entry, Filter, Kind, Ledger, ReceiveReport, Release, SendReport, SendRequest,
};
use quayline_project::ShapeOptions;
use quayline_store::{Access, Engine, ManualClock, MemoryEngine, Store, StoreLimits};
use tempfile::TempDir;

/// A noon in April 2026.
pub(crate) const NOON_MS: u64 = 1_775_044_800_000;

pub(crate) struct World {
    dir: TempDir,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) now_ms: Cell<u64>,
}

const OWN: &str = r#"
own = true
name = "US"
[[identity]]
standard = "x12"
qualifier = "ZZ"
id = "US"
[[identity]]
standard = "edifact"
qualifier = "14"
id = "4012345500004"
[[rule]]
name = "orders-out"
direction = "send"
document = "order"
map = "maps/out.qmap"
fields = { order = "BEG03" }
"#;

const ACME: &str = r#"
name = "ACME"
[[identity]]
standard = "x12"
qualifier = "01"
id = "ACME"
[[identity]]
standard = "edifact"
qualifier = "14"
id = "5412345000013"
[settings]
guides = ["tiny.guide"]
SETTINGS
[[rule]]
name = "orders"
direction = "receive"
document = "850"
map = "maps/in.qmap"
deliver = "folder:orders"
fields = { order = "BEG03" }
RULES
"#;

const GUIDE: &str = include_str!("../../../../examples/edi/850.guide");

const DICTIONARY: &str = include_str!("../../../../examples/edi/x12-trade.guide");

const IN: &str = r#"map "order to JSON"
source "../tiny.guide"
target order "../order.json"
number = BEG.BEG03
kind = BEG.BEG02
"#;

const OUT: &str = r#"map "JSON to order"
source "../order.json"
target order "../tiny.guide"
omit standard
make BEG {
  BEG01 = "00"
  BEG02 = kind
  BEG03 = number
  BEG05 = "20260401"
}
make N1 {
  N1.N101 = "BY"
  N1.N102 = "US"
}
make PO1 {
  PO1.PO101 = "1"
  PO1.PO102 = 1
  PO1.PO103 = "EA"
  PO1.PO104 = 1
  PO1.PO106 = "VP"
  PO1.PO107 = "X"
}
CTT.CTT.CTT01 = 1
"#;

const ORDER: &str = r#"{"type":"object","properties":{"number":{"type":"string"},"kind":{"type":"string"}}}"#;

impl World {
    pub(crate) fn new() -> World {
        World::with("usage = \"both\"", "")
    }

    /// Creates the environment with these settings and rules of ACME in addition.
    pub(crate) fn with(settings: &str, rules: &str) -> World {
        let dir = TempDir::new().expect("a temporary folder");
        let world = World { dir, engine: Arc::new(MemoryEngine::default()), now_ms: Cell::new(NOON_MS) };
        world.write("partners/us.toml", OWN);
        world.write("partners/acme.toml", &ACME.replace("SETTINGS", settings).replace("RULES", rules));
        world.write("tiny.guide", GUIDE);
        world.write("x12-trade.guide", DICTIONARY);
        world.write("order.json", ORDER);
        world.write("maps/in.qmap", IN);
        world.write("maps/out.qmap", OUT);
        world
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Replaces a part of the partner's file.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.path("partners/acme.toml")).expect("a file");
        assert!(text.contains(from), "{from}: {text}");
        self.write("partners/acme.toml", &text.replace(from, to));
    }

    /// Files of a folder with their content, by name.
    pub(crate) fn files(&self, folder: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let Ok(entries) = fs::read_dir(self.path(folder)) else { return all };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            all.push((name, fs::read_to_string(&path).expect("text")));
        }
        all.sort();
        all
    }

    pub(crate) fn book(&self) -> Book {
        let now = i64::try_from(self.now_ms.get()).expect("a time") * 1_000;
        Book::open(self.dir.path(), ShapeOptions::default(), now, 7).unwrap_or_else(|findings| panic!("{findings}"))
    }

    pub(crate) fn store(&self) -> Store {
        self.store_over(&self.engine)
    }

    pub(crate) fn store_over(&self, engine: &Arc<dyn Engine>) -> Store {
        let clock = Arc::new(ManualClock::new(self.now_ms.get(), 1));
        Store::open(Arc::clone(engine), clock, StoreLimits::default(), Access::Write).expect("a store")
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open(&self.store()).expect("files")
    }

    /// Runs `work` with a desk.
    pub(crate) fn at_desk<T>(
        &self,
        limits: DeskLimits,
        work: impl FnOnce(&mut Desk<'_>) -> Result<T, Findings>,
    ) -> Result<T, Findings> {
        self.at_desk_over(&self.store(), limits, work)
    }

    pub(crate) fn at_desk_over<T>(
        &self,
        store: &Store,
        limits: DeskLimits,
        work: impl FnOnce(&mut Desk<'_>) -> Result<T, Findings>,
    ) -> Result<T, Findings> {
        let book = self.book();
        let ledger = Ledger::open(store).map_err(|error| Findings::from(error.finding()))?;
        let mut desk = Desk::new(&book, &ledger, limits, || self.now_ms.get())?;
        work(&mut desk)
    }

    pub(crate) fn receive(&self, edi: &str) -> ReceiveReport {
        self.receive_again(edi, Again::No)
    }

    pub(crate) fn receive_again(&self, edi: &str, again: Again) -> ReceiveReport {
        let mut source = Cursor::new(edi.as_bytes().to_vec());
        let done = self.at_desk(DeskLimits::default(), |desk| desk.receive("in.x12", &mut source, again));
        done.unwrap_or_else(|findings| panic!("{findings}"))
    }

    pub(crate) fn send(&self, to: Option<&str>, document: &str, text: &str) -> Result<SendReport, Findings> {
        let mut source = Cursor::new(text.as_bytes().to_vec());
        let request = SendRequest { name: "out.json", to, from: None, document, again: Again::Yes };
        self.at_desk(DeskLimits::default(), |desk| desk.send(&request, &mut source))
    }

    /// Sends to ACME.
    pub(crate) fn sent(&self, document: &str, orders: &[&str]) -> SendReport {
        let text: String = orders.iter().map(|order| format!("{{\"number\":\"{order}\",\"kind\":\"SA\"}}\n")).collect();
        self.send(Some("ACME"), document, &text).unwrap_or_else(|findings| panic!("{findings}"))
    }

    pub(crate) fn release(&self, which: &Release<'_>) -> SendReport {
        let done = self.at_desk(DeskLimits::default(), |desk| desk.release(which));
        done.unwrap_or_else(|findings| panic!("{findings}"))
    }

    /// Entries, the oldest first.
    pub(crate) fn entries(&self, kind: Kind) -> Vec<Entry> {
        self.search(&Filter { kind: Some(kind), limit: 10_000, ..Filter::default() })
    }

    pub(crate) fn search(&self, filter: &Filter) -> Vec<Entry> {
        let found = self.ledger().search(filter).expect("a search");
        let mut entries = found.entries;
        entries.reverse();
        entries
    }
}

/// An interchange of orders from ACME: number of the interchange, and of each order.
pub(crate) fn orders(number: u32, orders: &[&str]) -> String {
    interchange(number, "P", &orders.iter().map(|order| (*order, "SA")).collect::<Vec<_>>())
}

pub(crate) fn interchange(number: u32, test: &str, orders: &[(&str, &str)]) -> String {
    let mut text = format!(
        "ISA*00*          *00*          *01*ACME           *ZZ*US             *260401*1200*^*00501*{number:09}*0*{test}*:~\
         GS*PO*ACME*US*20260401*1200*{number}*X*005010~"
    );
    for (at, (order, kind)) in (1..).zip(orders) {
        text.push_str(&format!(
            "ST*850*{at:04}~BEG*00*{kind}*{order}**20260401~N1*BY*ACME~PO1*1*1*EA*1**VP*X~CTT*1~SE*6*{at:04}~"
        ));
    }
    text.push_str(&format!("GE*{}*{number}~IEA*1*{number:09}~", orders.len()));
    text
}
