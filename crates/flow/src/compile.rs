//! Compilation of a flow file into an executable flow: shapes, maps and expressions.
//!
//! Shapes travel along the wires: an input defines the shape of its messages, and maps and record nodes define that of their output. Each expression
//! and each map is therefore checked against the messages that really arrive at its node.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_cache::Cache;
use quayline_charset::Charset;
use quayline_core::{Code, Fault, Finding, Findings, Place, Severity};
use quayline_map::MapPlan;
use quayline_pipeline::{Acknowledging, CsvTable, NotAcknowledged};
use quayline_project::{
    FlowDraft, FlowFile, FlowNode, Form, LookupTable, MapFile, PropertyForm, PropertyValue, Schema, ShapeFile,
    ShapeOptions, SourceFormat, TargetFormat, parse_outline,
};
use quayline_store::{Store, StoreError};
use xxhash_rust::xxh3::xxh3_64;

use crate::codes;
use crate::expression::{self, Expressions, Gives, Written, same_shape};
use crate::program::Program;
use crate::trading::{REPORT_OUTLINE, Trading, uses_partners};

/// A flow, compiled. It never changes; threads share it.
#[derive(Debug)]
pub struct Flow {
    /// The flow file as written.
    pub file: FlowFile,
    /// Folder that paths begin at.
    pub root: PathBuf,
    /// The nodes, compiled, by number.
    pub(crate) nodes: Vec<Node>,
    /// Warnings and notes.
    pub findings: Vec<Finding>,
    /// Every file that the flow was made of, to see whether it changed.
    pub files: Vec<PathBuf>,
    /// Number of changes of partners in the store that the flow was compiled with ([`quayline_partner::stored_version`]); `None` if it does not use
    /// partners, or was compiled without a store.
    pub stored_partners: Option<u64>,
    /// Cache of compiled guides and maps.
    pub(crate) cache: Option<Arc<Cache>>,
}

/// A node, compiled.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) expressions: Option<Expressions>,
    pub(crate) map: Option<CompiledMap>,
    pub(crate) program: Option<Program>,
    /// Acknowledgment of interchanges.
    pub(crate) acknowledging: Option<Acknowledging>,
    /// Shape of the messages that arrive; for inputs, of those that leave.
    pub(crate) shape: Option<Arc<ShapeFile>>,
    /// Code page of keys.
    pub(crate) charset: Option<Charset>,
    /// Bytes of each record of the messages, if their shape is one of records of fixed length.
    pub(crate) record_length: Option<usize>,
    /// Digest of the names of flow and node.
    pub(crate) digest: u64,
}

/// A map of a node.
#[derive(Debug)]
pub(crate) struct CompiledMap {
    pub(crate) plan: Arc<MapPlan>,
    pub(crate) source: SourceFormat,
    pub(crate) schema: Arc<Schema>,
    pub(crate) targets: Vec<TargetFormat>,
    pub(crate) schemas: Vec<Arc<Schema>>,
    pub(crate) lookups: Vec<CsvTable>,
}

/// Knowledge about the messages that arrive at a node.
#[derive(Clone, Debug)]
enum Arriving {
    Nothing,
    /// Content without a shape.
    Unread,
    One(Arc<ShapeFile>),
    /// Messages of different shapes.
    Several(String, String),
}

/// Outline of status messages.
pub const STATUS_OUTLINE: &str = "status\n  flow text\n  node text\n  operation text\n  file text\n  status text(2)\n  records decimal(18)\n  text? text\n";

impl Flow {
    /// Reads and compiles a flow file; paths in it begin at `root`, the project's folder.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn open(path: &Path, root: &Path, cache: Option<Arc<Cache>>) -> Result<Flow, Findings> {
        Flow::open_with(path, root, cache, None)
    }

    /// Reads and compiles a flow file as [`Flow::open`] does. Its partners may also be in `store`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn open_with(
        path: &Path,
        root: &Path,
        cache: Option<Arc<Cache>>,
        store: Option<&Store>,
    ) -> Result<Flow, Findings> {
        Flow::compile_with(FlowDraft::open(path)?, root, cache, store)
    }

    /// Reads and compiles the text of a flow file; `name` names it in findings.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(name: &str, text: &str, root: &Path, cache: Option<Arc<Cache>>) -> Result<Flow, Findings> {
        Flow::compile_with(FlowDraft::parse(name, text)?, root, cache, None)
    }

    /// Compiles a flow file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn compile(file: FlowFile, root: &Path, cache: Option<Arc<Cache>>) -> Result<Flow, Findings> {
        let draft = FlowDraft { file, findings: Vec::new(), doubtful: Vec::new() };
        Flow::compile_with(draft, root, cache, None)
    }

    fn compile_with(
        draft: FlowDraft,
        root: &Path,
        cache: Option<Arc<Cache>>,
        store: Option<&Store>,
    ) -> Result<Flow, Findings> {
        let FlowDraft { file, findings, doubtful } = draft;
        let is_sound = findings.is_empty();
        let options = ShapeOptions { cache: cache.clone(), ..ShapeOptions::default() };
        let mut compiler = Compiler {
            root,
            options,
            file: &file,
            shapes: BTreeMap::new(),
            findings,
            files: vec![file.path.clone()],
            arriving: vec![Arriving::Nothing; file.nodes.len()],
        };
        compiler.findings.extend(crate::names::check(&file));
        let mut nodes: Vec<Option<Node>> = file.nodes.iter().map(|_| None).collect();
        for at in order(&file) {
            // The shapes of messages after a wrong node are not known, so checks of the nodes there would report errors that do not exist.
            if !doubtful.contains(&at) && compiler.is_reached(at) {
                nodes[at] = Some(compiler.node(at));
            }
        }
        if is_sound {
            compiler.self_feeding();
            compiler.unanswered();
            compiler.findings.extend(crate::answered::twice(compiler.file));
            compiler.dropping();
        }
        let Compiler { mut findings, mut files, .. } = compiler;
        let mut stored_partners = None;
        if uses_partners(&file) {
            let partners = Trading::check(&file, root, cache.clone(), store);
            findings.extend(partners.findings);
            files.extend(partners.files);
            stored_partners = partners.stored_version;
        }
        findings.sort_by_key(|finding| (finding.place.line, finding.place.column));
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Findings(findings));
        }
        files.sort();
        files.dedup();
        let nodes = nodes.into_iter().flatten().collect();
        Ok(Flow { file, root: root.to_owned(), nodes, findings, files, stored_partners, cache })
    }

    /// Name of the flow.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// Compiles every flow in the folder `flows` of a project, sorted by name. Partners may also be in `store`.
    ///
    /// # Errors
    /// Every error in any of the flows.
    pub fn open_all(root: &Path, cache: Option<&Arc<Cache>>, store: Option<&Store>) -> Result<Vec<Flow>, Findings> {
        let mut flows = Vec::new();
        let mut findings = Vec::new();
        for path in flow_files(root)? {
            match Flow::open_with(&path, root, cache.cloned(), store) {
                Ok(flow) => flows.push(flow),
                Err(Findings(found)) => findings.extend(found),
            }
        }
        if findings.is_empty() { Ok(flows) } else { Err(Findings(findings)) }
    }

    /// Queues that the flow gets messages from.
    pub fn input_queues(&self) -> impl Iterator<Item = &str> {
        self.file.nodes.iter().filter(|node| node.kind.name == "queue_input").filter_map(|node| node.text("queue"))
    }

    /// Queues that the flow puts messages on, where the flow file names them, outboxes and backout queues.
    pub fn output_queues(&self) -> impl Iterator<Item = &str> {
        let outboxes = self.file.nodes.iter().flat_map(|node| [node.text("outbox"), node.text("backout")]).flatten();
        let outputs = self.file.nodes.iter().filter(|node| node.kind.name == "queue_output");
        outputs.filter_map(|node| node.text("queue")).chain(outboxes)
    }

    /// Iterates over the record files that the flow file names.
    pub fn record_files(&self) -> impl Iterator<Item = &str> {
        self.file.nodes.iter().filter(|node| node.kind.name.starts_with("record_")).filter_map(|node| node.text("file"))
    }
}

/// Findings about queues and record files that flows name and the store does not have.
///
/// # Errors
/// Errors of the medium.
pub fn missing_definitions<'f>(
    store: &Store,
    flows: impl IntoIterator<Item = &'f Flow>,
) -> Result<Vec<Finding>, StoreError> {
    let unit = store.begin()?;
    let (queues, files) = (store.queues(&unit)?, store.files(&unit)?);
    let mut findings = Vec::new();
    for flow in flows {
        for node in &flow.file.nodes {
            let (property, known, what, remedy) = match node.kind.name {
                name if crate::deliver::DELIVERED.contains(&name) => (
                    "outbox",
                    &queues,
                    "queue",
                    "define it with `quayline queue define NAME` or `quayline flow define`",
                ),
                "nats_input" | "amqp_input" | "kafka_input" | "sql_input" | "aggregate" => (
                    "backout",
                    &queues,
                    "queue",
                    "define it with `quayline queue define NAME` or `quayline flow define`",
                ),
                "queue_input" | "queue_output" => {
                    ("queue", &queues, "queue", "define it with `quayline queue define NAME` or `quayline flow define`")
                }
                name if name.starts_with("record_") => {
                    ("file", &files, "record file", "define it with `quayline file define NAME`")
                }
                _ => continue,
            };
            let (Some(name), Some(at)) = (node.text(property), node.property(property)) else { continue };
            if !known.iter().any(|known| known == name) {
                let message = format!("the store has no {what} `{name}`");
                let place = flow.file.text.place(&at.span);
                findings.push(Finding::error(codes::NOT_DEFINED, Fault::Config, message).at(place).hint(remedy));
            }
        }
    }
    Ok(findings)
}

/// Addresses that two nodes would listen on, or a node and another listener: `taken` has those, each with its name.
#[must_use]
pub fn shared_addresses<'f>(
    flows: impl IntoIterator<Item = &'f Flow>,
    taken: &[(String, SocketAddr)],
    collide: impl Fn(SocketAddr, SocketAddr) -> bool,
) -> Vec<Finding> {
    let mut taken = taken.to_vec();
    let mut findings = Vec::new();
    for flow in flows {
        for node in &flow.file.nodes {
            let (Some(text), Some(at)) = (node.text("listen"), node.property("listen")) else { continue };
            let Ok(address) = text.parse() else { continue };
            if let Some((other, _)) = taken.iter().find(|(_, other)| collide(address, *other)) {
                let message = format!("{address} is the address of {other} too");
                let finding = Finding::error(codes::SAME_ADDRESS, Fault::Config, message);
                findings.push(finding.at(flow.file.text.place(&at.span)).hint("give each listener a port of its own"));
            }
            taken.push((format!("node `{}` of flow {}", node.name, flow.name()), address));
        }
    }
    findings
}

impl Flow {
    /// Returns the addresses on which the flow listens, each with the name of its node, for [`shared_addresses`].
    #[must_use]
    pub fn addresses(&self) -> Vec<(String, SocketAddr)> {
        let address = |node: &FlowNode| {
            let address = node.text("listen")?.parse().ok()?;
            Some((format!("node `{}` of flow {}", node.name, self.name()), address))
        };
        self.file.nodes.iter().filter_map(address).collect()
    }
}

/// Lists the flow files of a project, sorted by name.
///
/// # Errors
/// The folder cannot be read.
pub fn flow_files(root: &Path) -> Result<Vec<PathBuf>, Findings> {
    let folder = root.join("flows");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = |error: std::io::Error| {
        let place = Place { file: Some(folder.display().to_string().into()), ..Place::default() };
        let why = quayline_core::system_error_text(&error);
        let finding =
            Finding::error(codes::FILE_SYSTEM, Fault::Environment, format!("the folder cannot be read: {why}"));
        Findings(vec![finding.at(place).hint("check its permissions")])
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Nodes so that each comes after those that lead to it. The wires have no loop.
fn order(file: &FlowFile) -> Vec<usize> {
    let mut before = vec![0usize; file.nodes.len()];
    for node in &file.nodes {
        node.targets().for_each(|(_, to)| before[to] += 1);
    }
    let mut open: Vec<usize> = (0..file.nodes.len()).rev().filter(|at| before[*at] == 0).collect();
    let mut ordered = Vec::new();
    while let Some(at) = open.pop() {
        ordered.push(at);
        for (_, to) in file.nodes[at].targets() {
            before[to] -= 1;
            if before[to] == 0 {
                open.push(to);
            }
        }
    }
    ordered
}

struct Compiler<'f> {
    root: &'f Path,
    options: ShapeOptions,
    file: &'f FlowFile,
    shapes: BTreeMap<String, Option<Arc<ShapeFile>>>,
    findings: Vec<Finding>,
    files: Vec<PathBuf>,
    arriving: Vec<Arriving>,
}

impl Compiler<'_> {
    fn error(&mut self, code: Code, at: &core::ops::Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        let place = self.file.text.place(at);
        self.findings.push(Finding::error(code, Fault::Config, message).at(place).hint(hint));
    }

    /// Returns true for inputs, and for nodes that messages of a known kind reach.
    fn is_reached(&self, at: usize) -> bool {
        self.file.nodes[at].kind.is_input || !matches!(self.arriving[at], Arriving::Nothing)
    }

    /// Returns the shape that a property names.
    fn shape(&mut self, node: &FlowNode, property: &str) -> Option<Arc<ShapeFile>> {
        let reference = node.text(property)?.to_owned();
        if let Some(known) = self.shapes.get(&reference) {
            return known.clone();
        }
        let loaded = match ShapeFile::load(self.root, &reference, &self.options) {
            Ok(shape) => {
                self.files.extend(shape.files().iter().cloned());
                Some(Arc::new(shape))
            }
            Err(Findings(found)) => {
                self.findings.extend(found);
                None
            }
        };
        self.shapes.insert(reference, loaded.clone());
        loaded
    }

    fn node(&mut self, at: usize) -> Node {
        let node = &self.file.nodes[at];
        let arriving = if node.kind.is_input {
            self.shape(node, "message").map_or(Arriving::Unread, Arriving::One)
        } else {
            self.arriving[at].clone()
        };
        let shape = match &arriving {
            Arriving::One(shape) => Some(Arc::clone(shape)),
            _ => None,
        };
        let record = self.shape(node, "layout");
        // Known before the wires are followed.
        for property in ["part", "whole", "row", "answer", "request", "response"] {
            let _ = self.shape(node, property);
        }
        self.outside(node);
        let written = written(node);
        let mut expressions = None;
        if !written.is_empty() {
            if let (Arriving::Several(one, other), true) =
                (&arriving, written.iter().any(|w| !reads_envelope_only(&w.text)))
            {
                let message =
                    format!("messages of two shapes arrive here, {one} and {other}, so their content cannot be read");
                let span = written[0].span.clone();
                self.error(
                    codes::TWO_SHAPES,
                    &span,
                    message,
                    "give each shape a node of its own, or map both to one shape first",
                );
            } else {
                let remedy = if shape.is_none() { self.shape_remedy(at) } else { String::new() };
                let text = &self.file.text;
                expressions = expression::compile(&written, shape.as_deref(), &remedy, text, &mut self.findings);
            }
        }
        let map = self.map(node, &arriving);
        let program = self.program(node, &arriving);
        if matches!(node.kind.name, "validate") && self.shape(node, "message").is_none() && shape.is_none() {
            let hint = "set `message`, here or at the input";
            self.error(codes::NO_SHAPE, &node.span, "the shape of the messages is not known here", hint);
        }
        if node.kind.name == "split" && node.text("by") == Some("document") && shape.is_none() {
            let hint = "set `message` at the input, or split by line";
            self.error(
                codes::NO_SHAPE,
                &node.span,
                "documents can only be found if the shape of the messages is known",
                hint,
            );
        }
        if node.text("by") == Some("document")
            && let Some(shape) = &shape
            && let Ok(source) = shape.source()
            && !crate::nodes::splits(&source)
        {
            let hint = "split CSV and text by line; map XML and EDI to JSON first, which makes a document of each EDI transaction";
            self.error(
                codes::NO_SHAPE,
                &node.span,
                "documents are found in JSON and in records of fixed length only",
                hint,
            );
        }
        let charset = record.as_ref().and_then(|record| match record.form() {
            Form::Records { encoding, .. } => *encoding,
            _ => None,
        });
        let answer = program.as_ref().map(|program| Arriving::One(Arc::clone(program.response())));
        self.leave(at, &arriving, record, map.as_ref().map(|(_, made)| made.clone()).or(answer));
        let shape = match self.shape(&self.file.nodes[at], "message") {
            Some(own) if !self.file.nodes[at].kind.is_input => Some(own),
            _ => shape,
        };
        let record_length = shape.as_deref().and_then(crate::nodes::record_length);
        let acknowledging = self.acknowledging(&self.file.nodes[at], shape.as_deref());
        let digest = xxh3_64(format!("{}/{}", self.file.name, node.name).as_bytes());
        Node {
            expressions,
            map: map.map(|(map, _)| map),
            program,
            acknowledging,
            shape,
            charset,
            record_length,
            digest,
        }
    }

    /// Returns the acknowledgment settings of a node.
    fn acknowledging(&mut self, node: &FlowNode, shape: Option<&ShapeFile>) -> Option<Acknowledging> {
        let (kind, property) = (node.text("acknowledge")?, node.property("acknowledge")?);
        let source = shape?.source().ok()?;
        match Acknowledging::new(&source, kind) {
            Ok(acknowledging) => return Some(acknowledging),
            Err(NotAcknowledged::NoGuide) => {
                let hint = "name a guide or a folder of guides with `message`";
                self.error(codes::NO_SHAPE, &property.span, "only interchanges with a guide are acknowledged", hint);
            }
            Err(NotAcknowledged::OtherStandard { own, other, kinds }) => {
                let message = format!("`{kind}` acknowledges {own}, and the guides are for {other}");
                self.error(codes::NO_SHAPE, &property.span, message, format!("write {kinds}"));
            }
        }
        None
    }

    /// Returns the COBOL program of a node.
    fn program(&mut self, node: &FlowNode, arriving: &Arriving) -> Option<Program> {
        let property = node.property("program")?;
        let request = self.shape(node, "request")?;
        let response = match node.property("response") {
            Some(_) => self.shape(node, "response")?,
            None => Arc::clone(&request),
        };
        let program = match Program::new(self.root, node, request, response) {
            Ok(program) => program,
            Err((name, message, hint)) => {
                let span = node.property(name).map_or(&property.span, |property| &property.span);
                self.error(codes::PROGRAM, span, message, hint);
                return None;
            }
        };
        match arriving {
            Arriving::One(shape) if !program.accepts(shape) => {
                let (expected, found) = (program.request().path().display(), shape.path().display());
                let message = format!("the program takes records of {expected}, but the messages here are {found}");
                let hint = "make the records with a map node whose target is the shape of `request`";
                self.error(codes::OTHER_SHAPE, &property.span, message, hint);
            }
            Arriving::Several(one, other) => {
                let message = format!("messages of two shapes arrive at this program, {one} and {other}");
                self.error(codes::TWO_SHAPES, &property.span, message, "map both to the shape of `request` first");
            }
            _ => {}
        }
        if let Some((source, module)) = program.source() {
            // The module follows them.
            self.files.extend(source.recorded_files(&module));
            return Some(program);
        }
        match program.module(node) {
            // Another module needs other processes, so the flow is loaded again if it changes.
            Some(module) => self.files.push(module),
            None => {
                let name = node.text("program").unwrap_or_default();
                let message = format!("the program {name} has no module: {name}.so is not in {}", program.folders());
                let hint = "name its `source`, compile it with `cobc -m -o FOLDER/PROGRAM.so SOURCE`, or name its folder with `modules`";
                self.error(codes::PROGRAM, &property.span, message, hint);
            }
        }
        Some(program)
    }

    /// Returns the map of a node, and the shape of its output.
    fn map(&mut self, node: &FlowNode, arriving: &Arriving) -> Option<(CompiledMap, Arriving)> {
        let property = node.property("map")?;
        let path = self.root.join(node.text("map")?);
        let map = match MapFile::open(&path, &self.options, &self.options) {
            Ok(map) => map,
            Err(Findings(found)) => {
                self.findings.extend(found);
                return None;
            }
        };
        self.files.extend(map.files.iter().cloned());
        let place = |findings: &mut Vec<Finding>, found: Findings| findings.extend(found.0);
        let (source, targets) =
            match (map.source.source(), map.targets.iter().map(|t| t.shape.target()).collect::<Result<Vec<_>, _>>()) {
                (Ok(source), Ok(targets)) => (source, targets),
                (source, targets) => {
                    source.err().into_iter().for_each(|found| place(&mut self.findings, found));
                    targets.err().into_iter().for_each(|found| place(&mut self.findings, found));
                    return None;
                }
            };
        match arriving {
            Arriving::One(shape) if !same_shape(shape.shape(), map.source.shape()) => {
                let message = format!(
                    "the map reads {}, but the messages here are {}",
                    map.source.path().display(),
                    shape.path().display()
                );
                self.error(
                    codes::OTHER_SHAPE,
                    &property.span,
                    message,
                    "use a map whose source is the shape of these messages",
                );
            }
            Arriving::Several(one, other) => {
                let message = format!("messages of two shapes arrive at this map, {one} and {other}");
                self.error(codes::TWO_SHAPES, &property.span, message, "give each shape a map of its own");
            }
            _ => {}
        }
        if let Some(function) = map.plan.own_functions().next() {
            let name = &function.name;
            let message =
                format!("a program computes the function `{name}` of the map, and flows run no such programs");
            let hint = "compute it in the map, or run the map by `quayline translate` or in a job";
            self.error(codes::OWN_FUNCTION, &property.span, message, hint);
        }
        let lookups = self.lookups(node, &map.plan);
        let mut made = Arriving::Nothing;
        for target in &map.targets {
            made = joined(made, &Arriving::One(Arc::new(target.shape.clone())));
        }
        let compiled = CompiledMap {
            schema: Arc::clone(map.source.schema()),
            schemas: map.targets.iter().map(|target| Arc::clone(target.shape.schema())).collect(),
            plan: Arc::new(map.plan),
            source,
            targets,
            lookups,
        };
        Some((compiled, made))
    }

    /// Returns the look-up tables of a map.
    fn lookups(&mut self, node: &FlowNode, plan: &MapPlan) -> Vec<CsvTable> {
        let span = node.property("lookups").map_or_else(|| node.span.clone(), |property| property.span.clone());
        let given = match LookupTable::pairs(node.text("lookups").unwrap_or_default()) {
            Ok(given) => given,
            Err(part) => {
                let message = format!("`{part}` is not NAME=FILE");
                self.error(codes::LOOKUP, &span, message, "write it as \"customers=tables/customers.csv\"");
                return Vec::new();
            }
        };
        let files: Vec<_> = given.into_iter().map(|(name, file)| (name, self.root.join(file))).collect();
        self.files.extend(files.iter().map(|(_, file)| file.clone()));
        match LookupTable::of_map(plan, &files, "`lookups`") {
            Ok(tables) => tables.into_iter().map(CsvTable::from).collect(),
            Err(Findings(mut found)) => {
                for finding in found.iter_mut().filter(|finding| finding.place == Place::default()) {
                    finding.place = self.file.text.place(&span);
                }
                self.findings.append(&mut found);
                Vec::new()
            }
        }
    }

    /// Propagates the known record types along the wires of a node.
    fn leave(&mut self, at: usize, arriving: &Arriving, record: Option<Arc<ShapeFile>>, made: Option<Arriving>) {
        let node = &self.file.nodes[at];
        let outlined = |name, outline| {
            let shape = parse_outline(name, outline).ok()?;
            Some(Arriving::One(Arc::new(ShapeFile::of_shape(shape, Form::Json { array: false }))))
        };
        for (terminal, to) in node.targets() {
            let leaves = match (node.kind.name, terminal) {
                ("map" | "cobol_program", "out") => made.clone().unwrap_or(Arriving::Unread),
                (_, "status") => outlined("status", STATUS_OUTLINE).unwrap_or(Arriving::Unread),
                (_, "report") => outlined("report", REPORT_OUTLINE).unwrap_or(Arriving::Unread),
                ("partner_receive" | "partner_send", "output" | "acknowledgment" | "interchange") => Arriving::Unread,
                ("record_input", "record") | ("record_read", "out") => {
                    record.clone().map_or(Arriving::Unread, Arriving::One)
                }
                ("split", "out") => match (node.text("part"), node.text("by")) {
                    (Some(_), _) => self
                        .shapes
                        .get(node.text("part").unwrap_or_default())
                        .cloned()
                        .flatten()
                        .map_or(Arriving::Unread, Arriving::One),
                    (None, Some("document")) => arriving.clone(),
                    (None, _) => Arriving::Unread,
                },
                ("aggregate", "out" | "incomplete") => self.named_shape(node, "whole"),
                ("sql_query", "out") => self.named_shape(node, "row"),
                ("http_request", "out") => self.named_shape(node, "answer"),
                ("validate", "acknowledgment") => Arriving::Unread,
                ("validate", "out") => {
                    match node.text("message").and_then(|name| self.shapes.get(name)).cloned().flatten() {
                        Some(own) => Arriving::One(own),
                        None => arriving.clone(),
                    }
                }
                _ => arriving.clone(),
            };
            let known = std::mem::replace(&mut self.arriving[to], Arriving::Nothing);
            self.arriving[to] = joined(known, &leaves);
        }
    }

    /// Returns how to name the shape of the messages that arrive at a node: at the nearest node before it that makes messages, or at the input.
    fn shape_remedy(&self, at: usize) -> String {
        let mut behind = vec![at];
        let mut next = 0;
        while let Some(at) = behind.get(next).copied() {
            next += 1;
            for (number, node) in self.file.nodes.iter().enumerate() {
                for (terminal, _) in node.targets().filter(|(_, to)| *to == at) {
                    let property = match (node.kind.name, terminal) {
                        ("split", "out") if node.text("by") != Some("document") => "part",
                        ("aggregate", "out" | "incomplete") => "whole",
                        ("sql_query", "out") => "row",
                        ("http_request", "out") => "answer",
                        _ => {
                            if !behind.contains(&number) {
                                behind.push(number);
                            }
                            continue;
                        }
                    };
                    return format!("name the shape of the messages that leave `{}`: {property} = \"…\"", node.name);
                }
            }
        }
        "name the shape of the messages at the input: message = \"…\"".to_owned()
    }

    /// Returns the shape that a property names, if it is set and was loaded.
    fn named_shape(&self, node: &FlowNode, property: &str) -> Arriving {
        let shape = node.text(property).and_then(|name| self.shapes.get(name)).cloned().flatten();
        shape.map_or(Arriving::Unread, Arriving::One)
    }

    /// Names of databases and servers.
    fn outside(&mut self, node: &FlowNode) {
        if let (Some(database), Some(property)) = (node.text("database"), node.property("database"))
            && let Err(why) = crate::sql::check(database)
        {
            let hint = "write it as `host=HOST user=USER dbname=NAME`, and give the password in the environment";
            self.error(codes::BAD_DATABASE, &property.span, format!("`database`: {why}"), hint);
        }
        if let (Some(url), Some(property)) = (node.text("url"), node.property("url"))
            && let Err(why) = crate::call::check(url)
        {
            self.error(codes::BAD_URL, &property.span, format!("`url`: {why}"), "write it as http://HOST:PORT/PATH");
        }
        if let (Some(success), Some(property)) = (node.text("success"), node.property("success"))
            && let Err(why) = crate::call::statuses(success)
        {
            let hint = "write numbers and ranges such as 200-299,409";
            self.error(codes::BAD_STATUS, &property.span, format!("`success`: {why}"), hint);
        }
        if let Some((name, why)) = crate::nats::check(node, self.root)
            && let Some(property) = node.property(name)
        {
            let hint = match name {
                "server" => "write it as nats://HOST:PORT or tls://HOST:PORT, and give the password in the environment",
                "credentials" => {
                    "name the file that `nsc` wrote, or a file with the seed of a user, relative to the project"
                }
                "authorities" | "certificate" | "private_key" => "name PEM files, relative to the project",
                _ => "see the names on the server with `nats stream ls`",
            };
            self.error(codes::BAD_SERVER, &property.span, format!("`{name}`: {why}"), hint);
        }
        if let Some((name, why)) = crate::amqp::check(node, self.root)
            && let Some(property) = node.property(name)
        {
            let hint = match name {
                "server" => {
                    "write it as amqp://HOST:PORT or amqps://HOST:PORT, and give the password in the environment"
                }
                "queue" => "name a queue or topic of the broker",
                _ => "name PEM files, relative to the project",
            };
            self.error(codes::BAD_SERVER, &property.span, format!("`{name}`: {why}"), hint);
        }
        if let Some((name, why)) = crate::kafka::check(node, self.root)
            && let Some(property) = node.property(name)
        {
            let hint = match name {
                "server" => {
                    "write it as kafka://HOST:PORT or kafkas://HOST:PORT, and give the password in the environment"
                }
                "topic" => "name a topic of Kafka",
                "partitions" => "write numbers and ranges such as 0-3,7",
                _ => "name PEM files, relative to the project",
            };
            self.error(codes::BAD_SERVER, &property.span, format!("`{name}`: {why}"), hint);
        }
        if let (Some(outbox), Some(property)) = (node.text("outbox"), node.property("outbox"))
            && self.file.nodes.iter().any(|other| {
                other.name != node.name && [other.text("outbox"), other.text("queue")].contains(&Some(outbox))
            })
        {
            let message = format!("another node uses the outbox `{outbox}` too");
            self.error(codes::SHARED_OUTBOX, &property.span, message, "give each node an outbox of its own");
        }
    }

    /// Warns of requests that no `reply` node can answer.
    fn unanswered(&mut self) {
        for (at, input) in self.file.nodes.iter().enumerate().filter(|(_, node)| node.kind.name == "http_input") {
            let mut reached = vec![false; self.file.nodes.len()];
            let mut open = vec![at];
            while let Some(at) = open.pop() {
                if !std::mem::replace(&mut reached[at], true) {
                    open.extend(self.file.nodes[at].targets().map(|(_, to)| to));
                }
            }
            let answers = |(at, node): (usize, &FlowNode)| reached[at] && node.kind.name == "reply";
            if !self.file.nodes.iter().enumerate().any(answers) {
                let message = format!("no `reply` node answers the requests of `{}`: clients get 204", input.name);
                let finding =
                    Finding::warning(codes::UNANSWERED, Fault::Config, message).at(self.file.text.place(&input.span));
                self.findings
                    .push(finding.hint("wire a `reply` node, if clients need to know what became of a request"));
            }
        }
    }

    /// Notes the filters whose other messages end, if the flow file does not say that they should.
    fn dropping(&mut self) {
        for node in self.file.nodes.iter().filter(|node| node.kind.name == "filter" && !node.is_wired("no_match")) {
            let message = format!("filter `{}` drops the messages for which its condition is false", node.name);
            let place = self.file.text.place(&node.span);
            let finding =
                Finding { severity: Severity::Note, ..Finding::warning(codes::DROPS, Fault::Config, message) };
            self.findings
                .push(finding.at(place).hint("wire `no_match`, or write `no_match = []` if the flow should drop them"));
        }
    }

    /// Warns of a flow that puts messages on its own input, as it may never end.
    fn self_feeding(&mut self) {
        let inputs: Vec<&str> = self
            .file
            .nodes
            .iter()
            .filter(|node| node.kind.name == "queue_input")
            .filter_map(|node| node.text("queue"))
            .collect();
        for node in self.file.nodes.iter().filter(|node| node.kind.name == "queue_output") {
            if node.text("queue").is_some_and(|queue| inputs.contains(&queue)) {
                let message = format!("node `{}` puts messages on a queue that this flow gets them from", node.name);
                let finding =
                    Finding::warning(codes::FEEDS_ITSELF, Fault::Config, message).at(self.file.text.place(&node.span));
                self.findings.push(
                    finding
                        .hint("a message fails after 100 queues; use another queue if the repetition is not intended"),
                );
            }
        }
    }
}

fn joined(one: Arriving, other: &Arriving) -> Arriving {
    let name = |of: &Arriving| match of {
        Arriving::One(shape) if shape.path().as_os_str().is_empty() => "status messages".to_owned(),
        Arriving::One(shape) => shape.path().display().to_string(),
        _ => "content without a shape".to_owned(),
    };
    match (one, other) {
        (Arriving::Nothing, other) => other.clone(),
        (one, Arriving::Nothing) => one,
        (Arriving::Unread, Arriving::Unread) => Arriving::Unread,
        (several @ Arriving::Several(..), _) => several,
        (_, several @ Arriving::Several(..)) => several.clone(),
        (Arriving::One(one), Arriving::One(other)) if same_shape(one.shape(), other.shape()) => Arriving::One(one),
        (one, other) => Arriving::Several(name(&one), name(other)),
    }
}

/// Returns the expressions of a node, by property name.
fn written(node: &FlowNode) -> Vec<Written> {
    let mut all = Vec::new();
    for property in &node.properties {
        match &property.value {
            PropertyValue::From(text, span) => all.push(Written {
                name: property.kind.name.to_owned(),
                text: text.clone(),
                span: span.clone(),
                gives: if property.kind.form == PropertyForm::Condition { Gives::Truth } else { Gives::Text },
            }),
            PropertyValue::Expressions(expressions) => {
                all.extend(expressions.iter().enumerate().map(|(number, (text, span))| Written {
                    name: format!("{}{}", property.kind.name, number + 1),
                    text: text.clone(),
                    span: span.clone(),
                    gives: Gives::Text,
                }))
            }
            PropertyValue::Cases(cases) => {
                all.extend(cases.iter().enumerate().map(|(number, (text, span, _))| Written {
                    name: format!("case{}", number + 1),
                    text: text.clone(),
                    span: span.clone(),
                    gives: Gives::Truth,
                }))
            }
            _ => {}
        }
    }
    all
}

/// Returns true if an expression obviously reads no content: a rough test that only selects the finding to show first.
fn reads_envelope_only(text: &str) -> bool {
    text.trim_start().starts_with("envelope.")
}
