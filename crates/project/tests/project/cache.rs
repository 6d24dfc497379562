//! The cache changes only the time: opens maps without entries, with entries, and with truncated, changed or foreign entries.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_cache::Cache;
use quayline_core::Findings;
use quayline_project::{Form, MapFile, ShapeOptions};
use tempfile::TempDir;

const MAP: &str = r#"
source "850.guide"
target order "order.shape"
include "common.qmap"

number = BEG.BEG03
for PO1 make lines {
  line = PO1.PO101 ?? "-"
  unit = translate(PO1.PO103, units)
  name = joined(" ", PID[first].PID.PID05, upper("x"), format(2026-01-31, "DD.MM.YYYY"))
  amount = money(PO1.PO102 * PO1.PO104)
}
count = count(PO1 where PO1.PO102 > 1.5)
if BEG.BEG01 = "99" { warning "odd" }
"#;

const COMMON: &str = "fn money(x) = round(x, 2)\ntable units { \"EA\" => \"PCE\", else \"ZZ\" }\n";

const SHAPE: &str = "order\n  number text(22)\n  lines*\n    line text(20)\n    unit? text(3)\n    name? text(90)\n    amount? decimal(30,2)\n  count? decimal(6)\n";

struct Folder {
    dir: TempDir,
    cache: Arc<Cache>,
}

impl Folder {
    fn new() -> Folder {
        let dir = TempDir::new().expect("a folder");
        let cache = Cache::new(dir.path().join("cache"), b"test".to_vec(), 64 << 20);
        let folder = Folder { dir, cache: Arc::new(cache) };
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/edi");
        for name in ["850.guide", "x12-trade.guide"] {
            fs::copy(base.join(name), folder.path(name)).expect("an example");
        }
        folder.write("map.qmap", MAP);
        folder.write("common.qmap", COMMON);
        folder.write("order.shape", SHAPE);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    /// Opens a map and renders everything visible of it.
    fn opened(&self, cache: Option<&Arc<Cache>>) -> String {
        let options = ShapeOptions { cache: cache.cloned(), ..ShapeOptions::default() };
        match MapFile::open(&self.path("map.qmap"), &options, &options) {
            Ok(map) => {
                let Form::Guide(documents) = map.source.form() else { panic!("a guide") };
                let guides = documents.guides();
                format!(
                    "{}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
                    map.plan.explain(),
                    map.plan,
                    map.findings,
                    map.files,
                    documents.shape(),
                    guides.compiled(0),
                    guides.guide(0),
                )
            }
            Err(findings) => Findings::to_string(&findings),
        }
    }

    fn entries(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.cache.folder()).into_iter().flatten().flatten();
        let mut entries: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
        entries.sort();
        entries
    }
}

#[test]
fn warm_is_as_cold() {
    let folder = Folder::new();
    let cold = folder.opened(None);
    assert!(cold.contains("CompiledGuide"), "{cold}");
    assert_eq!(folder.opened(Some(&folder.cache)), cold);
    assert_eq!(folder.entries().len(), 2, "the guide and the map");
    let made: Vec<_> = folder.entries().iter().map(|entry| fs::metadata(entry).unwrap().modified().unwrap()).collect();
    assert_eq!(folder.opened(Some(&folder.cache)), cold);
    let now: Vec<_> = folder.entries().iter().map(|entry| fs::metadata(entry).unwrap().modified().unwrap()).collect();
    assert_eq!(made, now, "what was kept was used, not made again");
}

#[test]
fn each_file_that_goes_in_counts() {
    let folder = Folder::new();
    folder.opened(Some(&folder.cache));
    let changes = [
        ("map.qmap", MAP.replace("BEG03", "BEG05")),
        ("common.qmap", COMMON.replace("\"PCE\"", "\"PC\"")),
        ("order.shape", SHAPE.replace("text(90)", "text(80)")),
    ];
    for (name, text) in changes {
        let before = folder.opened(Some(&folder.cache));
        folder.write(name, &text);
        let after = folder.opened(Some(&folder.cache));
        assert_ne!(before, after, "{name}");
        assert_eq!(after, folder.opened(None), "{name}");
    }
    for name in ["850.guide", "x12-trade.guide"] {
        let text = fs::read_to_string(folder.path(name)).unwrap();
        let before = folder.opened(Some(&folder.cache));
        folder.write(name, &text.replace("Purchase order", "Order of goods").replace("Price of a unit", "Worth"));
        let after = folder.opened(Some(&folder.cache));
        assert_ne!(before, after, "{name}");
        assert_eq!(after, folder.opened(None), "{name}");
    }
    folder.write("common.qmap", "fn other(x) = x\n");
    assert!(folder.opened(Some(&folder.cache)).contains("error[MAP-"), "errors are not kept, and found again");
    fs::remove_file(folder.path("x12-trade.guide")).unwrap();
    assert!(folder.opened(Some(&folder.cache)).contains("x12-trade.guide"));
}

#[test]
fn an_entry_that_is_cut_or_changed_is_as_if_it_were_not_there() {
    let folder = Folder::new();
    let cold = folder.opened(None);
    folder.opened(Some(&folder.cache));
    for entry in folder.entries() {
        let whole = fs::read(&entry).unwrap();
        // Each place of the head and of what is kept first, then some of the rest: `quayline-cache` tries every bit.
        let places = (0..whole.len()).filter(|at| *at < 80 || at % (whole.len() / 40) == 0);
        for at in places {
            fs::write(&entry, &whole[..at]).unwrap();
            assert_eq!(folder.opened(Some(&folder.cache)), cold, "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&entry, &changed).unwrap();
            assert_eq!(folder.opened(Some(&folder.cache)), cold, "changed at {at}");
        }
        assert_eq!(fs::read(&entry).unwrap(), whole, "what was wrong is written anew, byte for byte the same");
    }
    let entries = folder.entries();
    fs::copy(&entries[0], &entries[1]).unwrap();
    assert_eq!(folder.opened(Some(&folder.cache)), cold, "a foreign entry");
}

/// Changed bytes, even with a valid checksum, neither make the reader panic nor allocate much memory.
#[test]
fn packed_bytes_that_are_changed_do_not_panic() {
    use quayline_core::{Stored, StoredReader};
    use quayline_edi::GuideDocuments;
    use quayline_map::MapPlan;

    let folder = Folder::new();
    let options = ShapeOptions::default();
    let map = MapFile::open(&folder.path("map.qmap"), &options, &options).expect("a sound map");
    let Form::Guide(documents) = map.source.form() else { panic!("a guide") };
    let shapes = [map.plan.output(0).expect("an output")];
    let mut plan = Vec::new();
    map.plan.store(&mut plan);
    let mut packed = Vec::new();
    documents.store(&mut packed);
    let read_plan = |bytes: &[u8]| MapPlan::load(&mut StoredReader::new(bytes), map.plan.source(), &shapes);
    assert_eq!(format!("{:?}", read_plan(&plan).expect("as packed")), format!("{:?}", map.plan));
    for at in 0..plan.len() {
        let mut changed = plan.clone();
        changed[at] ^= 1 << (at % 8);
        let _ = read_plan(&changed);
        assert!(read_plan(&plan[..at]).is_none(), "cut at {at}");
    }
    for at in (0..packed.len()).step_by(7) {
        let mut changed = packed.clone();
        changed[at] ^= 1 << (at % 8);
        let _ = GuideDocuments::load_all(&changed);
        assert!(GuideDocuments::load_all(&packed[..at]).is_none(), "cut at {at}");
    }
}
