//! Maps between source and targets: several outputs, any number of lanes, any stop, transactions longer than memory, refused envelopes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quayline_convert::{
    Checkpoints, Conversion, ConvertError, Input, MapStage, Output, Rejects, Report, Source, Start, SyncHook,
    SyncPoint, Target,
};
use quayline_core::{Limits, NodeId, NodeKind, Occurs, Scalar, Shape};
use quayline_edi::EdiWriterOptions;
use quayline_edi::{GuideDocuments, NodeNames};
use quayline_map::{Absent, MapSpec, NoFiles, Options, Output as MapOutput, SourceOrder, compile};
use quayline_pipeline::World;
use quayline_project::csv::CsvStyle;
use quayline_project::{
    EdiRead, JsonRead, JsonWrite, Schema, ShapeFile, ShapeOptions, SourceFormat, TargetFormat, read_guides,
};

/// A run with a map in a separate folder.
struct Run {
    folder: tempfile::TempDir,
    source: Shape,
    format: SourceFormat,
    targets: Vec<(&'static str, Shape, TargetFormat)>,
    map: &'static str,
    order: SourceOrder,
}

impl Run {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn conversion(&self, lanes: usize) -> Conversion {
        let shapes: Vec<Shape> = self.targets.iter().map(|(_, shape, _)| relaxed(shape)).collect();
        let outputs: Vec<MapOutput<'_>> = self
            .targets
            .iter()
            .zip(&shapes)
            .map(|((name, ..), shape)| MapOutput { name, shape, absent: Absent::Refused })
            .collect();
        let spec = MapSpec::parse("t.qmap", self.map);
        let compiled = compile(&spec, &self.source, &outputs, Options { order: self.order }, &NoFiles);
        let plan = compiled.unwrap_or_else(|findings| panic!("{findings}")).plan;
        let mut targets = self
            .targets
            .iter()
            .map(|(name, _, format)| Target { output: Output::File(self.path(name)), format: format.clone() });
        let source = Source { name: "in".into(), input: Input::File(self.path("in")), format: self.format.clone() };
        let first = targets.next().expect("a target");
        let mut conversion = Conversion::new(source, first, Arc::new(Schema::of_shape(self.source.clone())));
        conversion.map = Some(MapStage {
            plan: Arc::new(plan),
            schemas: self.targets.iter().map(|(_, shape, _)| Arc::new(Schema::of_shape(shape.clone()))).collect(),
            more: targets.collect(),
            world: Arc::new(World::new(1_767_225_600_000_000, 0, Vec::new(), Vec::new())),
            spool_folder: self.folder.path().to_owned(),
            trace: None,
            coverage: None,
        });
        conversion.lanes = lanes;
        conversion.rejects = Rejects::File { path: self.path("rejects"), max: None };
        conversion
    }

    fn run(&self, lanes: usize) -> Report {
        self.conversion(lanes).run().unwrap_or_else(|error| panic!("{error}"))
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.path(name)).expect(name)).expect("UTF-8")
    }

    fn all(&self) -> Vec<String> {
        let names = self.targets.iter().map(|(name, ..)| *name);
        names.chain(["rejects", "rejects.findings.jsonl"]).map(|name| self.text(name)).collect()
    }
}

/// Makes the groups optional that a writer of interchanges fills itself.
fn relaxed(shape: &Shape) -> Shape {
    let mut builder = Shape::builder("edi");
    let mut open = Vec::new();
    for (id, node) in shape.iter().skip(1) {
        while open.last().is_some_and(|end| *end <= id) {
            builder.close();
            open.pop();
        }
        let head = node.parent == Some(NodeId::ROOT) && matches!(node.name.as_str(), "standard" | "interchange");
        let occurs = if head { Occurs::Optional } else { node.occurs };
        match &node.kind {
            NodeKind::Group => {
                builder.open(node.name.clone(), occurs);
                open.push(node.subtree_end);
            }
            NodeKind::Scalar(scalar) => {
                builder.scalar(node.name.clone(), scalar.clone(), occurs);
            }
        }
    }
    builder.finish()
}

fn text() -> Scalar {
    Scalar::Text { chars_max: Some(30) }
}

fn number() -> Scalar {
    Scalar::Decimal { digits: 9, scale: 2, signed: true }
}

fn jsonl() -> TargetFormat {
    TargetFormat::JsonLines(JsonWrite::default())
}

/// Orders of some lines; every 97th has a line that the map refuses.
fn orders(count: usize) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let mut source = Shape::builder("order");
    source.scalar("id", text(), Occurs::Once);
    source.open("lines", Occurs::Many { min: 0, max: None });
    source.scalar("item", text(), Occurs::Once);
    source.scalar("price", number(), Occurs::Optional);
    let source = source.finish();
    let mut item = Shape::builder("item");
    item.scalar("order", text(), Occurs::Once);
    item.scalar("item", text(), Occurs::Once);
    item.scalar("price", number(), Occurs::Optional);
    let mut sum = Shape::builder("sum");
    sum.scalar("order", text(), Occurs::Once);
    sum.scalar("total", number(), Occurs::Optional);
    let mut data = String::new();
    for n in 0..count {
        let price = if n % 97 == 50 { "-1".to_owned() } else { format!("{n}.25") };
        data.push_str(&format!(
            "{{\"id\":\"o{n}\",\"lines\":[{{\"item\":\"a\",\"price\":1.5}},{{\"item\":\"b\",\"price\":{price}}}]}}\n"
        ));
    }
    fs::write(folder.path().join("in"), data).expect("written");
    Run {
        folder,
        source,
        format: SourceFormat::Json(JsonRead::default()),
        targets: vec![
            ("item", item.finish(), TargetFormat::JsonArray(JsonWrite::default())),
            ("sum", sum.finish(), TargetFormat::Csv(CsvStyle::default())),
        ],
        map: "source orders\ntarget item\ntarget sum\nfor lines make item {\n  if price < 0 { error \"negative\" }\n  order = source.id\n  item = item\n  price = price\n}\nmake sum {\n  order = id\n  total = fit(sum(price for lines), 7, 2)\n}\n",
        order: SourceOrder::Any,
    }
}

struct StopAt(usize, Arc<AtomicUsize>);

impl SyncHook for StopAt {
    fn before(&self, _: SyncPoint) -> io::Result<()> {
        if self.1.fetch_add(1, Ordering::Relaxed) == self.0 { Err(io::Error::other("power off")) } else { Ok(()) }
    }
}

#[test]
fn several_outputs_are_the_same_for_any_number_of_lanes() {
    let run = orders(20_000);
    let report = run.run(1);
    let whole = run.all();
    assert_eq!(report.tally.records_in, 20_000);
    assert_eq!(report.tally.records_rejected, 206);
    assert_eq!(report.documents, 3 * (20_000 - 206));
    assert!(
        whole[0].starts_with("[\n{\"order\":\"o0\",\"item\":\"a\",\"price\":1.5},\n{\"order\":\"o0\""),
        "{}",
        &whole[0][..80]
    );
    assert!(whole[0].ends_with("}\n]\n"));
    assert_eq!(whole[0].lines().count(), 2 * (20_000 - 206) + 2);
    assert!(!whole[0].contains("\"o50\"") && !whole[1].contains("o50,"), "nothing of a rejected document is written");
    assert_eq!(whole[1].lines().nth(1), Some("o0,1.75"));
    assert!(whole[2].starts_with("{\"id\":\"o50\",") && whole[2].lines().count() == 206);
    assert!(whole[3].contains("\"detail\":\"t.qmap:5\""), "{}", &whole[3][..300]);
    for lanes in [2, 5] {
        run.run(lanes);
        assert!(run.all() == whole, "{lanes} lanes");
    }
}

#[test]
fn several_outputs_resume_after_any_stop() {
    let run = orders(12_000);
    let whole_report = run.run(2);
    let whole = run.all();
    let go = |start: Start, stop_at: usize| -> (Result<Report, ConvertError>, usize) {
        let count = Arc::new(AtomicUsize::new(0));
        let mut conversion = run.conversion(2);
        let mut checkpoints = Checkpoints::new(run.path("checkpoint"), 7);
        (checkpoints.every_bytes, checkpoints.start) = (1, start);
        conversion.checkpoints = Some(checkpoints);
        conversion.sync_hook = Some(Box::new(StopAt(stop_at, Arc::clone(&count))));
        (conversion.run(), count.load(Ordering::Relaxed))
    };
    let (done, steps) = go(Start::Anew, usize::MAX);
    done.unwrap_or_else(|error| panic!("{error}"));
    assert!(steps > 20, "{steps} steps");
    for stop_at in 0..steps {
        for name in ["item", "sum", "rejects", "rejects.findings.jsonl"] {
            fs::remove_file(run.path(name)).expect("removed");
        }
        let (stopped, _) = go(Start::Anew, stop_at);
        stopped.expect_err("the hook stops it");
        for name in ["item", "sum"] {
            if let Ok(mut file) = fs::OpenOptions::new().append(true).open(run.path(&format!("{name}.partial"))) {
                io::Write::write_all(&mut file, b"garbage").expect("appended");
            }
        }
        let (resumed, _) = go(Start::Resume, usize::MAX);
        let resumed = resumed.unwrap_or_else(|error| panic!("step {stop_at}: {error}"));
        assert_eq!(resumed.tally, whole_report.tally, "step {stop_at}");
        assert!(run.all() == whole, "step {stop_at}");
    }
    let left: Vec<_> =
        fs::read_dir(run.folder.path()).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 5, "{left:?}");
}

/// Only the format of the first output was compared, so a resumed run wrote the rest of another output in another format.
#[test]
fn a_resumed_run_has_the_formats_of_all_outputs() {
    let mut run = orders(12_000);
    let go = |run: &Run, start: Start, stop_at: usize| {
        let mut conversion = run.conversion(2);
        let mut checkpoints = Checkpoints::new(run.path("checkpoint"), 7);
        (checkpoints.every_bytes, checkpoints.start) = (1, start);
        conversion.checkpoints = Some(checkpoints);
        conversion.sync_hook = Some(Box::new(StopAt(stop_at, Arc::new(AtomicUsize::new(0)))));
        conversion.run()
    };
    go(&run, Start::Anew, 15).expect_err("the hook stops it");
    run.targets[1].2 = TargetFormat::Csv(CsvStyle { delimiter: b';', ..CsvStyle::default() });
    let said = go(&run, Start::Resume, usize::MAX).expect_err("another format").to_string();
    assert!(said.contains("other settings"), "{said}");
    run.targets[1].2 = TargetFormat::Csv(CsvStyle::default());
    go(&run, Start::Resume, usize::MAX).unwrap_or_else(|error| panic!("{error}"));
}

fn guide(name: &str) -> Arc<GuideDocuments> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/edi").join(name);
    let set = read_guides(&[path], &Limits::default(), None).unwrap_or_else(|findings| panic!("{findings}"));
    Arc::new(GuideDocuments::new(set, NodeNames::References))
}

/// Generates messages of ORDERS with `sizes` lines each. The message `bad` ends with an unknown segment.
fn messages(sizes: &[usize], bad: Option<usize>) -> String {
    let mut out = "UNB+UNOC:3+SENDER+RECEIVER+260401:1200+1'\n".to_owned();
    for (n, lines) in sizes.iter().enumerate() {
        let mut body = format!("UNH+{n}+ORDERS:D:96A:UN'\nBGM+220+P{n}'\nDTM+137:20260401:102'\nNAD+BY+1::9'\n");
        for line in 0..*lines {
            body.push_str(&format!("LIN+{}++{line:010}:EN'\nQTY+21:{}'\n", line + 1, line % 90 + 1));
        }
        body.push_str("UNS+S'\n");
        if bad == Some(n) {
            body.push_str("ZZZ+1'\n");
        }
        let count = body.matches('\'').count() + 1;
        out.push_str(&format!("{body}UNT+{count}+{n}'\n"));
    }
    out.push_str(&format!("UNZ+{}+1'\n", sizes.len()));
    out
}

fn from_messages(sizes: &[usize], bad: Option<usize>) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("in"), messages(sizes, bad)).expect("written");
    let documents = guide("orders.guide");
    let mut line = Shape::builder("line");
    line.scalar("order", text(), Occurs::Once);
    line.scalar("item", text(), Occurs::Optional);
    Run {
        folder,
        source: documents.shape().clone(),
        format: SourceFormat::Edi(EdiRead { guides: Some(documents), ..EdiRead::default() }),
        targets: vec![("line", line.finish(), jsonl())],
        map: "source orders\ntarget line\nfor SG25 make line {\n  order = left(source.BGM.BGM02, 30)\n  item = left(LIN.'LIN03'.'LIN03-1', 30)\n}\n",
        order: SourceOrder::AsShape,
    }
}

/// Builds the map with the names that the guide gives to the loop of lines and to the component.
fn with_names(mut run: Run) -> Run {
    let shape = &run.source;
    let lin = shape.iter().find(|(_, node)| node.name == "LIN").expect("LIN").0;
    let group = shape.node(lin).parent.expect("a loop");
    let component = shape
        .iter()
        .find(|(id, node)| node.name.ends_with("-1") && *id > lin && *id < shape.node(lin).subtree_end)
        .expect("a component")
        .0;
    let number = shape.iter().find(|(_, node)| node.name == "BGM02").expect("BGM02").0;
    let path = |id: NodeId, below: NodeId| {
        let (whole, below) = (shape.path(id), shape.path(below));
        let rest = whole.strip_prefix(&format!("{below}.")).unwrap_or(&whole).to_owned();
        rest.split('.').map(|name| format!("'{name}'")).collect::<Vec<_>>().join(".")
    };
    let map = format!(
        "source orders\ntarget line\nfor {} make line {{\n  order = left(source.{}, 30)\n  item = left({}, 30)\n}}\n",
        path(group, NodeId::ROOT),
        path(number, NodeId::ROOT),
        path(component, group)
    );
    run.map = Box::leak(map.into_boxed_str());
    run
}

#[test]
fn a_message_over_many_blocks_is_mapped_whole() {
    // The second has 2.5 MB: ten blocks, and more than a spool holds in memory.
    let run = with_names(from_messages(&[3, 60_000, 2], None));
    let report = run.run(1);
    assert_eq!((report.tally.records_out, report.documents), (3, 60_005));
    let whole = run.all();
    assert_eq!(whole[0].lines().count(), 60_005);
    assert!(whole[0].lines().nth(60_002).is_some_and(|line| line == "{\"order\":\"P1\",\"item\":\"0000059999\"}"));
    for lanes in [2, 3] {
        run.run(lanes);
        assert!(run.all() == whole, "{lanes} lanes");
    }
}

/// Ids began anew in each block of a long message, and envelope values that the map had set were forgotten.
#[test]
fn ids_and_envelope_values_last_for_a_whole_message() {
    let mut run = with_names(from_messages(&[3, 20_000, 2], None));
    let mut line = Shape::builder("line");
    for name in ["order", "item", "id"] {
        line.scalar(name, text(), Occurs::Once);
    }
    let documents = guide("orders.guide");
    let options = EdiWriterOptions { guides: Some(Arc::clone(&documents)), ..EdiWriterOptions::default() };
    let edi = ("edi", documents.shape().clone(), TargetFormat::Edi(options));
    run.targets = vec![("line", line.finish(), jsonl()), edi];
    let number = run.map.split("source.").nth(1).and_then(|rest| rest.split(", 30").next()).expect("a path");
    let map = run.map.replace("\n}\n", "\n  id = left(new-id(), 30)\n}\n").replace(
        "target line\n",
        &format!("target line\ntarget edi\nenvelope.sender = \"S\"\nenvelope.receiver = left({number}, 30)\n"),
    );
    let edi = format!(
        "make edi {{\n  omit DTM\n  BGM.BGM02 = {number}\n  make DTM {{ 'DTM01'.'DTM01-1' = \"137\" }}\n  UNS.UNS01 = \"S\"\n}}\n"
    );
    run.map = Box::leak((map + &edi).into_boxed_str());
    let report = run.run(1);
    assert_eq!((report.tally.records_out, report.tally.records_rejected), (3, 0), "{:?}", report.findings);
    let whole = run.all();
    let id = |line: &str| line.split("\"id\":\"").nth(1).map(str::to_owned);
    let ids: std::collections::BTreeSet<String> = whole[0].lines().filter_map(id).collect();
    assert_eq!(ids.len(), 20_005);
    for number in 0..3 {
        assert!(whole[1].contains(&format!("UNB+UNOC:3+S+P{number}+")), "{}", whole[1]);
    }
    run.run(4);
    assert!(run.all() == whole, "4 lanes");
}

/// A row of a long message that a column refuses ended the run instead of rejecting the message.
#[test]
fn a_row_that_a_column_refuses_rejects_its_message() {
    let mut run = with_names(from_messages(&[3, 20_000, 2], None));
    let layout = "layout = \"parquet\"\n[[field]]\nname = \"order\"\n[[field]]\nname = \"item\"\n[[field]]\nname = \"day\"\ntype = \"date\"\n";
    fs::write(run.path("rows.toml"), layout).expect("written");
    let file = ShapeFile::load(run.folder.path(), "rows.toml", &ShapeOptions::default());
    let file = file.unwrap_or_else(|findings| panic!("{findings}"));
    run.targets = vec![("line", file.schema().shape().clone(), file.target().expect("a target"))];
    let map = run.map.replace("\n}\n", "\n  day = if number(item) = 70 then \"2026-02-30\" else \"2026-02-28\"\n}\n");
    let item = map.split("item = left(").nth(1).and_then(|rest| rest.split(", 30").next()).expect("a path").to_owned();
    run.map = Box::leak(map.replace("number(item)", &format!("number({item})")).into_boxed_str());
    let mut whole = Vec::new();
    for lanes in [1, 3] {
        let mut conversion = run.conversion(lanes);
        conversion.map.as_mut().expect("a map").schemas = vec![Arc::clone(file.schema())];
        let report = conversion.run().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((report.tally.records_out, report.tally.records_rejected, report.documents), (2, 1, 5));
        assert_eq!(report.findings[0].code.0, "COL-012", "{:?}", report.findings);
        whole.push(fs::read(run.path("line")).expect("written"));
    }
    assert!(whole[0] == whole[1], "the lanes do not matter");
}

#[test]
fn a_message_over_many_blocks_is_rejected_whole() {
    let run = with_names(from_messages(&[3, 60_000, 2], Some(1)));
    let report = run.run(1);
    assert_eq!((report.tally.records_out, report.tally.records_rejected, report.documents), (2, 1, 5));
    let whole = run.all();
    assert_eq!(whole[0].lines().count(), 5);
    // The rejects are an interchange with the one message, byte for byte.
    let source = messages(&[3, 60_000, 2], Some(1));
    let from = source.find("UNH+1+").expect("the message");
    let to = source.find("UNH+2+").expect("the next");
    assert!(whole[1].contains(&source[from..to]), "{} bytes", whole[1].len());
    assert!(whole[1].ends_with("UNZ+1+1'\n"), "{}", &whole[1][whole[1].len() - 60..]);
    for lanes in [2, 3] {
        run.run(lanes);
        assert!(run.all() == whole, "{lanes} lanes");
    }
}

/// Orders to ORDERS and a log: if the envelope is refused, the log has nothing of the order either.
#[test]
fn what_the_envelope_refuses_is_taken_back_everywhere() {
    let mut run = orders(3_000);
    let documents = guide("orders.guide");
    let mut log = Shape::builder("log");
    log.scalar("order", text(), Occurs::Once);
    let format =
        TargetFormat::Edi(EdiWriterOptions { guides: Some(Arc::clone(&documents)), ..EdiWriterOptions::default() });
    run.targets = vec![("edi", documents.shape().clone(), format), ("log", log.finish(), jsonl())];
    run.map = "source orders\ntarget edi\ntarget log\nmake edi {\n  omit DTM\n  interchange.receiver = \"R\"\n  if not ends-with(id, \"7\") {\n    interchange.sender = \"S\"\n  }\n  BGM.BGM02 = id\n  make DTM { 'DTM01'.'DTM01-1' = \"137\" }\n  UNS.UNS01 = \"S\"\n}\nmake log {\n  order = id\n}\n";
    let mut conversion = run.conversion(1);
    conversion.limits.findings_max = 10;
    let report = conversion.run().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.tally.records_rejected, 300);
    let log = run.text("log");
    assert_eq!(log.lines().count(), 2_700);
    assert!(!log.contains("7\"}"));
    let edi = run.text("edi");
    assert_eq!(edi.matches("UNH+").count(), 2_700);
    assert!(edi.starts_with("UNB+UNOC:3+S+R+260101:0000+1'"), "{}", &edi[..60]);
    let whole = run.all();
    for lanes in [2, 4] {
        let mut conversion = run.conversion(lanes);
        conversion.limits.findings_max = 10;
        conversion.run().unwrap_or_else(|error| panic!("{error}"));
        assert!(run.all() == whole, "{lanes} lanes");
    }
}

/// `--receiver 14:ID` with a map that sets the receiver gave the map's party the option's qualifier: another company's address.
#[test]
fn a_party_of_the_map_never_gets_the_qualifier_of_another() {
    let mut run = orders(1);
    let documents = guide("orders.guide");
    let format =
        TargetFormat::Edi(EdiWriterOptions { guides: Some(Arc::clone(&documents)), ..EdiWriterOptions::default() });
    run.targets = vec![("edi", documents.shape().clone(), format)];
    run.map = "source orders\ntarget edi\nmake edi {\n  omit DTM\n  interchange.receiver = \"R\"\n  BGM.BGM02 = id\n  make DTM { 'DTM01'.'DTM01-1' = \"137\" }\n  UNS.UNS01 = \"S\"\n}\n";
    for (receiver, expected) in [("OTHER", "UNB+UNOC:3+S:9+R+"), ("R", "UNB+UNOC:3+S:9+R:14+")] {
        let mut conversion = run.conversion(1);
        let values = [("sender", "S"), ("sender_qualifier", "9"), ("receiver", receiver), ("receiver_qualifier", "14")];
        let mut envelope: Vec<(String, String)> =
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        for _ in 0..2 {
            let map = conversion.map.as_mut().expect("a map");
            map.world = Arc::new(World::new(1_767_225_600_000_000, 0, envelope.clone(), Vec::new()));
            conversion.run().unwrap_or_else(|error| panic!("{error}"));
            assert!(run.text("edi").starts_with(expected), "{}", run.text("edi"));
            // With the names of levels it is the same.
            envelope.iter_mut().for_each(|(name, _)| *name = format!("interchange.{name}"));
            conversion = run.conversion(1);
        }
    }
}

/// Returns the output of one order as ORDERS with these envelope values.
fn order_with(values: &[(&str, &str)]) -> String {
    let mut run = orders(1);
    let documents = guide("orders.guide");
    let options = EdiWriterOptions { guides: Some(Arc::clone(&documents)), ..EdiWriterOptions::default() };
    run.targets = vec![("edi", documents.shape().clone(), TargetFormat::Edi(options))];
    run.map = "source orders\ntarget edi\nmake edi {\n  omit DTM\n  BGM.BGM02 = id\n  make DTM { 'DTM01'.'DTM01-1' = \"137\" }\n  UNS.UNS01 = \"S\"\n}\n";
    let mut conversion = run.conversion(1);
    let all = [&[("sender", "S"), ("receiver", "R"), ("receiver_qualifier", "14")], values].concat();
    let envelope = all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let map = conversion.map.as_mut().expect("a map");
    map.world = Arc::new(World::new(1_767_225_600_000_000, 0, envelope, Vec::new()));
    conversion.run().unwrap_or_else(|error| panic!("{error}"));
    run.text("edi")
}

/// The date in UNB of syntax version 4 had no century: each written interchange had a date of the wrong length.
#[test]
fn the_date_of_a_header_has_the_digits_of_its_version() {
    for (values, expected) in [
        (&[][..], "UNB+UNOC:3+S+R:14+260101:0000+1'"),
        (&[("interchange.syntax_version", "4")], "UNB+UNOC:4+S+R:14+20260101:0000+1'"),
        (
            &[("syntax_version", "4"), ("group.functional_id", "ORDERS")],
            "UNB+UNOC:4+S+R:14+20260101:0000+1'UNG+ORDERS+++20260101:0000+1'",
        ),
        (&[("interchange.date", "260228")], "UNB+UNOC:3+S+R:14+260228:0000+1'"),
    ] {
        let edi = order_with(values);
        assert!(edi.starts_with(expected), "{values:?}: {edi}");
    }
}

/// The control number of a group had no effect, because no group was written.
#[test]
fn a_control_number_of_a_group_begins_a_complete_group() {
    let edi = order_with(&[("group.control_number", "70")]);
    assert!(edi.contains("'UNG+ORDERS+S+R:14+260101:0000+70+UN+D:96A'UNH+1+"), "{edi}");
    assert!(edi.ends_with("UNE+1+70'UNZ+1+1'"), "{edi}");
    // The receiver of the group is another party, so its address has no qualifier.
    let edi = order_with(&[("group.control_number", "GROUP-A"), ("group.receiver", "X")]);
    assert!(edi.contains("'UNG+ORDERS+S+X+260101:0000+GROUP-A+UN+D:96A'UNH+1+"), "{edi}");
    assert!(edi.ends_with("UNE+1+GROUP-A'UNZ+1+1'"), "{edi}");
}
