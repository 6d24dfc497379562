//! Maps from files, compiled against the shapes that they name.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_cache::Cache;
use quayline_cobol::RecordPlan;
use quayline_cobol::layout::{Encoding, FieldKind};
use quayline_core::{Fault, Finding, Findings, Moment, NodeId, Place, Shape, Stored, StoredReader, store_bytes};
use quayline_edi::GuideDocuments;
use quayline_edi::Level;
use quayline_map::{
    Compiled, EmptyItem, LeafRules, MapPlan, MapSpec, Options, Output, Resolver, SourceOrder, compile_by,
};

use crate::schema::Records;
use crate::shape::codes;
use crate::shape::source_file::SourceFile;
use crate::shape::{Form, ShapeFile, ShapeOptions};

/// A target of a map.
#[derive(Debug)]
pub struct MapTarget {
    /// Name in the map, which `make` uses for the target's documents.
    pub name: String,
    /// Shape of the target.
    pub shape: ShapeFile,
}

/// A map from a file, ready to run.
#[derive(Debug)]
pub struct MapFile {
    /// The file.
    pub path: PathBuf,
    /// Shape of the source.
    pub source: ShapeFile,
    /// Targets in order.
    pub targets: Vec<MapTarget>,
    /// The map, compiled.
    pub plan: MapPlan,
    /// Warnings and notes of the map and its shapes.
    pub findings: Vec<Finding>,
    /// Files that the map depends on, to detect changes.
    pub files: Vec<PathBuf>,
}

impl MapFile {
    /// Reads a map, the shapes that it names and the maps that it includes. All names are relative to its folder.
    ///
    /// `source` has the options for the source's shape, `target` those for the targets' shapes.
    ///
    /// # Errors
    /// Every error in any of these files.
    pub fn open(path: &Path, source: &ShapeOptions, target: &ShapeOptions) -> Result<MapFile, Findings> {
        let cache = source.cache.clone();
        let file = SourceFile::read(path)?;
        let spec = MapSpec::parse(&file.text.name, &file.text.text);
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let missing = |what: &str, hint: &str| {
            let place = Place { file: Some(Arc::clone(&file.text.name)), ..Place::default() };
            Finding::error(codes::NO_REFERENCE, Fault::Config, format!("the map does not say {what}"))
                .at(place)
                .hint(hint)
        };
        let mut findings = Vec::new();
        let mut take = |loaded: Result<ShapeFile, Findings>| match loaded {
            Ok(loaded) => Some(loaded),
            Err(Findings(found)) => {
                findings.extend(found);
                None
            }
        };
        let source = match spec.source().and_then(|source| source.file) {
            Some(name) => take(ShapeFile::load(folder, &name, source)),
            None => take(Err(missing("what its source is", "begin it with: source \"orders.guide\"").into())),
        };
        let mut targets = Vec::new();
        for (number, reference) in spec.targets().into_iter().enumerate() {
            let name = reference
                .name
                .unwrap_or_else(|| if number == 0 { "target".to_owned() } else { format!("target{}", number + 1) });
            let loaded = match reference.file {
                Some(file) => take(ShapeFile::load(folder, &file, target)),
                None => {
                    take(Err(missing(&format!("what `{name}` is"), "write it as: target order \"order.json\"").into()))
                }
            };
            targets.extend(loaded.map(|shape| MapTarget { name, shape }));
        }
        if spec.targets().is_empty() {
            take(Err(missing("what its target is", "write: target order \"order.json\"").into()));
        }
        let (Some(source), true) = (source, findings.is_empty()) else {
            // What is wrong with the text alone can be told without shapes.
            findings.extend(spec.findings().iter().cloned());
            return Err(Findings(findings));
        };
        let resolver = MapFolder::new(folder);
        let Compiled { plan, findings: found } =
            kept_or_compiled(&file, &spec, &source, &targets, &resolver, cache.as_deref())?;
        findings.extend(source.findings().iter().cloned());
        targets.iter().for_each(|target| findings.extend(target.shape.findings().iter().cloned()));
        findings.extend(found);
        let mut files = vec![path.to_owned()];
        files.extend(source.files().iter().cloned());
        targets.iter().for_each(|target| files.extend(target.shape.files().iter().cloned()));
        files.extend(resolver.files());
        files.sort();
        files.dedup();
        Ok(MapFile { path: path.to_owned(), source, targets, plan, findings, files })
    }
}

/// Loads the plan from the cache if the map, its includes and its shapes are unchanged; otherwise compiles and stores it.
fn kept_or_compiled(
    file: &SourceFile,
    spec: &MapSpec,
    source: &ShapeFile,
    targets: &[MapTarget],
    resolver: &MapFolder,
    cache: Option<&Cache>,
) -> Result<Compiled, Findings> {
    let shapes: Vec<Cow<'_, Shape>> = targets.iter().map(|target| target.shape.target_shape()).collect();
    let Some(cache) = cache else { return compile_with(spec, source, targets, &shapes, resolver) };
    let mut made_of = Vec::new();
    store_bytes(file.text.name.as_bytes(), &mut made_of);
    store_bytes(file.text.text.as_bytes(), &mut made_of);
    format!("{:?}", source.order()).store(&mut made_of);
    source.shape().store(&mut made_of);
    for (target, shape) in targets.iter().zip(&shapes) {
        (target.name.clone(), format!("{:?}", target.shape.absent())).store(&mut made_of);
        shape.store(&mut made_of);
    }
    // What schemas say about lists is part of the plan.
    let rules = ShapeRules { source, targets };
    for (output, shape) in shapes.iter().enumerate() {
        let lists = shape.iter().filter(|(_, node)| node.is_list());
        let of = lists.map(|(id, _)| format!("{:?}", (rules.list_minimum(output, id), rules.empty_item(output, id))));
        of.collect::<Vec<_>>().store(&mut made_of);
    }
    // What guides and layouts know beyond shapes makes findings too.
    for shape in core::iter::once(source).chain(targets.iter().map(|target| &target.shape)) {
        format!("{:?}", shape.schema().column_moments()).store(&mut made_of);
        let knows_more = matches!(shape.form(), Form::Guide(_) | Form::Records { .. });
        for file in shape.files().iter().filter(|_| knows_more) {
            let bytes = std::fs::read(file).unwrap_or_default();
            store_bytes(&bytes, &mut made_of);
        }
    }
    let key = cache.key("map", [made_of.as_slice()]);
    let digest = |text: &str| cache.key("map text", [text.as_bytes()]).digits();
    let kept = |bytes: Vec<u8>| {
        let mut from = StoredReader::new(&bytes);
        let included: Vec<(String, String)> = Stored::load(&mut from)?;
        let same = |(name, of): &(String, String)| resolver.text(name).is_ok_and(|text| digest(&text) == *of);
        if !included.iter().all(same) {
            return None;
        }
        let findings = Stored::load(&mut from)?;
        let shapes: Vec<&Shape> = shapes.iter().map(|shape| &**shape).collect();
        let plan = MapPlan::load(&mut from, source.shape(), &shapes)?;
        from.is_empty().then_some(Compiled { plan, findings })
    };
    if let Some(compiled) = cache.get(key).and_then(kept) {
        return Ok(compiled);
    }
    let compiled = compile_with(spec, source, targets, &shapes, resolver)?;
    let mut bytes = Vec::new();
    let included = resolver.given.borrow();
    included.iter().map(|(name, text)| (name.clone(), digest(text))).collect::<Vec<_>>().store(&mut bytes);
    compiled.findings.store(&mut bytes);
    compiled.plan.store(&mut bytes);
    cache.put(key, &bytes);
    Ok(compiled)
}

/// Compiles a map against shapes.
fn compile_with(
    spec: &MapSpec,
    source: &ShapeFile,
    targets: &[MapTarget],
    shapes: &[Cow<'_, Shape>],
    resolver: &dyn Resolver,
) -> Result<Compiled, Findings> {
    let outputs: Vec<Output<'_>> = targets
        .iter()
        .zip(shapes)
        .map(|(target, shape)| Output { name: &target.name, shape, absent: target.shape.absent() })
        .collect();
    let order: SourceOrder = source.order();
    compile_by(spec, source.shape(), &outputs, Options { order }, resolver, &ShapeRules { source, targets })
}

/// Knowledge of guides, layouts and copybooks about leaves: codes, dates, header fields, initial values.
#[derive(Clone, Copy, Debug)]
pub struct ShapeRules<'a> {
    /// Shape of the source.
    pub source: &'a ShapeFile,
    /// Targets in order.
    pub targets: &'a [MapTarget],
}

impl ShapeRules<'_> {
    fn guide(&self, output: usize) -> Option<&GuideDocuments> {
        guide_of(&self.targets.get(output)?.shape)
    }

    /// Returns the description of the record that a leaf of an output is in, and the node of its root in the documents.
    fn record(&self, output: usize, leaf: NodeId) -> Option<(&RecordPlan, NodeId)> {
        match self.targets.get(output)?.shape.schema().records() {
            Records::None => None,
            Records::One(plan) => Some((plan, NodeId::ROOT)),
            Records::Types(types) => types.record_of(leaf),
        }
    }
}

fn guide_of(shape: &ShapeFile) -> Option<&GuideDocuments> {
    match shape.form() {
        Form::Guide(documents) => Some(documents),
        _ => None,
    }
}

impl LeafRules for ShapeRules<'_> {
    fn source(&self, leaf: NodeId, text: &str) -> Option<String> {
        guide_of(self.source)?.refuses(leaf, text)
    }

    fn target(&self, output: usize, leaf: NodeId, text: &str) -> Option<String> {
        if let Some(documents) = self.guide(output) {
            return documents.refuses(leaf, text);
        }
        let moment = self.targets.get(output)?.shape.schema().moment_of(leaf)?;
        moment.read(text.as_bytes()).is_none().then(|| format!("expected {}", moment.form()))
    }

    fn digits(&self, output: usize, leaf: NodeId) -> Option<String> {
        let (reference, expected) = self.guide(output)?.digits_of(leaf)?;
        Some(format!("{reference} is {expected}"))
    }

    fn may_be_blank(&self, _: NodeId, is_text: bool) -> bool {
        match self.source.form() {
            // An empty element of EDI has no value.
            Form::Guide(_) => false,
            // Policies for values, dates of zeros and views that are not chosen are null; an empty cell too.
            Form::Records { .. } | Form::Csv(_) => true,
            Form::Json { .. } | Form::Xml(_) | Form::Parquet | Form::Arrow | Form::Outline => is_text,
        }
    }

    fn is_short_float(&self, output: usize, leaf: NodeId) -> bool {
        self.record(output, leaf).is_some_and(|(plan, root)| {
            let field = plan.field_of(NodeId(leaf.0 - root.0)).map(|field| plan.layout().field(field));
            field.is_some_and(|field| matches!(field.kind, FieldKind::Item(Encoding::Float32(_))))
        })
    }

    fn source_dates(&self, leaf: NodeId) -> &'static [&'static str] {
        match guide_of(self.source) {
            Some(documents) => documents.dates_of(leaf),
            // The texts of timestamps have several forms.
            None if self.source.schema().moment_of(leaf) == Some(Moment::Date) => &["YYYY-MM-DD"],
            None => &[],
        }
    }

    fn target_dates(&self, output: usize, leaf: NodeId) -> &'static [&'static str] {
        match (self.guide(output), self.targets.get(output)) {
            (Some(documents), _) => documents.dates_of(leaf),
            (None, Some(target)) => match target.shape.schema().moment_of(leaf) {
                Some(Moment::Date) => &["YYYY-MM-DD"],
                Some(Moment::Timestamp) => &["YYYY-MM-DDTHH:MM:SS.ffffff"],
                None => &[],
            },
            (None, None) => &[],
        }
    }

    fn needs_value(&self, output: usize, leaf: NodeId, is_set: &dyn Fn(NodeId) -> bool) -> bool {
        self.record(output, leaf).is_none_or(|(plan, root)| {
            plan.needs_value(NodeId(leaf.0 - root.0), |node| is_set(NodeId(root.0 + node.0)))
        })
    }

    fn counted_list(&self, output: usize, leaf: NodeId) -> Option<NodeId> {
        let (plan, root) = self.record(output, leaf)?;
        plan.counted_list(NodeId(leaf.0 - root.0)).map(|list| NodeId(root.0 + list.0))
    }

    fn list_minimum(&self, output: usize, list: NodeId) -> u32 {
        let limits = self.targets.get(output).and_then(|target| target.shape.schema().source_limits());
        limits.and_then(|limits| limits.node(list)).map_or(0, |limits| limits.min)
    }

    fn empty_item(&self, output: usize, list: NodeId) -> EmptyItem {
        let Some(target) = self.targets.get(output) else { return EmptyItem::Null };
        let limits = target.shape.schema().source_limits().and_then(|limits| limits.node(list));
        let is_refused = match target.shape.form() {
            Form::Records { .. } => return EmptyItem::Initial,
            Form::Json { .. } => limits.is_some_and(|limits| limits.no_null_items),
            Form::Xml(_) => !limits.is_some_and(|limits| limits.nullable),
            Form::Guide(_) | Form::Csv(_) | Form::Parquet | Form::Arrow | Form::Outline => false,
        };
        if is_refused { EmptyItem::Refused } else { EmptyItem::Null }
    }

    fn envelope(&self) -> Option<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for documents in self.targets.iter().filter_map(|target| guide_of(&target.shape)) {
            let of = |level| documents.header_names(level);
            names.extend(of(Level::Interchange).map(str::to_owned));
            for (word, level) in
                [("interchange", Level::Interchange), ("group", Level::Group), ("transaction", Level::Transaction)]
            {
                names.extend(of(level).map(|name| format!("{word}_{name}")));
            }
        }
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        (!names.is_empty()).then_some(names)
    }
}

/// Resolves the includes of maps in a folder, and records the texts.
#[derive(Debug)]
pub struct MapFolder {
    folder: PathBuf,
    /// Texts read so far, by name as written.
    given: RefCell<BTreeMap<String, Arc<str>>>,
}

impl MapFolder {
    /// Creates a resolver for names relative to `folder`.
    #[must_use]
    pub fn new(folder: &Path) -> MapFolder {
        MapFolder { folder: folder.to_owned(), given: RefCell::default() }
    }

    /// Returns the files read so far.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.given.borrow().keys().map(|name| self.folder.join(name)).collect()
    }
}

impl Resolver for MapFolder {
    fn text(&self, name: &str) -> Result<Arc<str>, String> {
        let path = self.folder.join(name);
        let file = SourceFile::read(&path).map_err(|Findings(found)| {
            found.first().map_or_else(String::new, |finding| format!("{}: {}", path.display(), finding.message))
        })?;
        self.given.borrow_mut().insert(name.to_owned(), Arc::clone(&file.text.text));
        Ok(file.text.text)
    }
}
