//! Compiler from a syntax tree and shapes to a plan: names, types, order. One pass reports all findings.

mod call;
pub(crate) mod dates;
mod definitions;
mod expression;
mod fold;
mod lookup;
mod loops;
mod order;
mod settle;
mod source;
mod statement;
mod target;
pub(crate) mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quayline_core::{Code, DistinctFindings, Fault, Finding, Findings, NodeId, Severity, Shape};

use crate::codes;
use crate::date::Format;
use crate::map_spec::MapSpec;
use crate::plan::{
    Action, Block, BufferPlan, ColumnType, EmptyItem, Expr, ExprId, FoldPlan, KEYS_MAX, LookupPlan, LoopPlan, MapPlan,
    OutputPlan, PickPlan, ScopePlan, StatementPlan, TablePlan, TargetPlan, VarPlan,
};
use crate::syntax::ast::{Function, Item, Lookup, Name, Part, Stmt, TypeName};
use crate::syntax::parser;
use crate::syntax::text::{SourceText, Span};
use crate::value::{Bytes, Val, small};
use source::Context;
use types::Ty;

/// One target of a map.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Name of the document in `make`.
    pub name: &'a str,
    /// Shape of its documents.
    pub shape: &'a Shape,
    /// Behavior of its writer for a field without a value. Record files write spaces and zeros.
    pub absent: Absent,
}

/// Behavior of a target's writer for a mandatory field without a value.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Absent {
    /// The writer refuses the document.
    #[default]
    Refused,
    /// The writer writes an initial value: spaces or zeros.
    Filled,
}

/// Order in which a source sends the children of a group.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SourceOrder {
    /// In the order of its shape, except for siblings that the shape marks as mixed: records, EDI, CSV. Loops may then run page by page.
    #[default]
    AsShape,
    /// In any order: JSON objects.
    Any,
}

/// Settings of a compilation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// See there.
    pub order: SourceOrder,
}

/// Resolves the files that a map names: included maps and tables.
pub trait Resolver {
    /// Returns the text of `name`, as written in the map.
    ///
    /// # Errors
    /// The reason why the file cannot be read, as a phrase.
    fn text(&self, name: &str) -> Result<Arc<str>, String>;
}

/// Constraints on leaves beyond their types, such as the codes of a guide. Returns `None` without a constraint.
pub trait LeafRules: core::fmt::Debug {
    /// Returns the reason if a text can never be the value of a source leaf.
    fn source(&self, leaf: NodeId, text: &str) -> Option<String> {
        let _ = (leaf, text);
        None
    }

    /// Returns the reason if a text is not allowed as the value of an output leaf.
    fn target(&self, output: usize, leaf: NodeId, text: &str) -> Option<String> {
        let _ = (output, leaf, text);
        None
    }

    /// Returns the required format of an output leaf, such as `ISA13 is nine digits`, if it requires digits.
    fn digits(&self, output: usize, leaf: NodeId) -> Option<String> {
        let _ = (output, leaf);
        None
    }

    /// Returns true if a mandatory source leaf may have no value, or an empty text.
    fn may_be_blank(&self, leaf: NodeId, is_text: bool) -> bool {
        let _ = leaf;
        is_text
    }

    /// Returns true if a leaf that takes 64-bit floats keeps no more digits than a 32-bit float, such as a hexadecimal COMP-1.
    fn is_short_float(&self, output: usize, leaf: NodeId) -> bool {
        let _ = (output, leaf);
        false
    }

    /// Returns the formats of the dates that a source leaf holds as text, such as `CCYYMMDD`; nothing if it may hold other texts.
    fn source_dates(&self, leaf: NodeId) -> &'static [&'static str] {
        let _ = leaf;
        &[]
    }

    /// Returns the formats of dates that an output leaf takes as text, the preferred one first; nothing if it takes other texts.
    fn target_dates(&self, output: usize, leaf: NodeId) -> &'static [&'static str] {
        let _ = (output, leaf);
        &[]
    }

    /// Returns true if a mandatory leaf that no statement sets is written as spaces or zeros, with [`Absent::Filled`]. `is_set` returns whether a
    /// statement sets a leaf.
    fn needs_value(&self, output: usize, leaf: NodeId, is_set: &dyn Fn(NodeId) -> bool) -> bool {
        let _ = (output, leaf, is_set);
        true
    }

    /// Returns the list whose occurrences an output leaf counts, if the writer sets the leaf from the list.
    fn counted_list(&self, output: usize, leaf: NodeId) -> Option<NodeId> {
        let _ = (output, leaf);
        None
    }

    /// Returns the fewest occurrences that a list of an output has if it is present. An optional list may be absent instead.
    fn list_minimum(&self, output: usize, list: NodeId) -> u32 {
        let _ = (output, list);
        0
    }

    /// Returns what an occurrence without a value becomes in a list of values that a loop fills.
    fn empty_item(&self, output: usize, list: NodeId) -> EmptyItem {
        let _ = (output, list);
        EmptyItem::Null
    }

    /// Returns the names that `envelope.NAME` may set; `None` if every name is accepted.
    fn envelope(&self) -> Option<Vec<String>> {
        None
    }
}

/// Rules without any constraint.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRules;

impl LeafRules for NoRules {}

/// Finds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Resolver for NoFiles {
    fn text(&self, _: &str) -> Result<Arc<str>, String> {
        Err("no files are given to this map".to_owned())
    }
}

/// A plan with the warnings about its map.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Ready to run.
    pub plan: MapPlan,
    /// Warnings and notes; no error.
    pub findings: Vec<Finding>,
}

/// Nodes of all expressions of a plan; functions and parts that use each other multiply.
const EXPRS_MAX: usize = 200_000;
/// Parts and functions inside each other.
const INLINE_MAX: usize = 32;
/// Included maps.
const INCLUDES_MAX: usize = 64;

/// Checks a map against its shapes and compiles it.
///
/// # Errors
/// All findings, including warnings, if one of them is an error.
pub fn compile(
    spec: &MapSpec,
    source: &Shape,
    outputs: &[Output<'_>],
    options: Options,
    resolver: &dyn Resolver,
) -> Result<Compiled, Findings> {
    compile_by(spec, source, outputs, options, resolver, &NoRules)
}

/// Checks and compiles a map with constraints on leaves. The plan is the same as without them; only findings are added.
///
/// # Errors
/// See [`compile`].
pub fn compile_by(
    spec: &MapSpec,
    source: &Shape,
    outputs: &[Output<'_>],
    options: Options,
    resolver: &dyn Resolver,
    rules: &dyn LeafRules,
) -> Result<Compiled, Findings> {
    let mut lower = Lower::new(spec, source, outputs, options, rules);
    lower.findings.extend(spec.findings.iter().cloned());
    lower.define(spec.items(), resolver);
    lower.check_headers(spec);
    lower.check_definitions();
    let plan = lower.map(spec.body());
    lower.check_untyped();
    lower.check_unused();
    lower.check_envelope();
    let mut distinct = DistinctFindings::default();
    distinct.extend(lower.findings);
    let findings = distinct.into_vec();
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(Findings(findings));
    }
    Ok(Compiled { plan, findings })
}

/// A value under a name.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) expr: Expr,
    pub(crate) ty: Ty,
    pub(crate) reads: Reads,
    pub(crate) var: Option<u16>,
    pub(crate) mutable: bool,
    pub(crate) used: bool,
}

/// Inputs of an expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// Cursors, with the position in the source after which the value is known.
    pub(crate) at: Vec<(u16, u32)>,
    pub(crate) vars: Vec<u16>,
    /// Leaves of the source, and by which cursor they are read.
    pub(crate) nodes: Vec<(u16, NodeId)>,
    /// Cursors whose position in their list is read, or with a node: groups whose presence is read.
    pub(crate) places: Vec<(u16, Option<NodeId>)>,
    /// True if the expression calls the host (lookups, ids) or reads variables, so that it must be evaluated at its place in the order.
    pub(crate) bound: bool,
}

impl Reads {
    pub(crate) fn add(&mut self, other: &Reads) {
        for at in &other.at {
            if !self.at.contains(at) {
                self.at.push(*at);
            }
        }
        for var in &other.vars {
            if !self.vars.contains(var) {
                self.vars.push(*var);
            }
        }
        for node in &other.nodes {
            if !self.nodes.contains(node) {
                self.nodes.push(*node);
            }
        }
        for place in &other.places {
            if !self.places.contains(place) {
                self.places.push(*place);
            }
        }
        self.bound |= other.bound;
    }
}

/// An expression, checked.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) id: ExprId,
    pub(crate) ty: Ty,
    pub(crate) reads: Reads,
    pub(crate) span: Span,
}

pub(crate) struct TableDef {
    pub(crate) span: Span,
    pub(crate) index: u16,
    pub(crate) codes: bool,
    pub(crate) key_max: u32,
    pub(crate) value_max: u32,
    /// True if no two keys have the same value.
    pub(crate) one_to_one: bool,
    pub(crate) used: bool,
}

pub(crate) struct Lower<'a> {
    pub(crate) source: &'a Shape,
    pub(crate) outputs: &'a [Output<'a>],
    pub(crate) options: Options,
    pub(crate) rules: &'a dyn LeafRules,
    /// A sample text for each expression that formats a date.
    pub(crate) samples: BTreeMap<ExprId, String>,
    /// Names in `envelope_out`, with the span of the first assignment.
    pub(crate) envelope_set: Vec<(String, Span)>,
    pub(crate) texts: Vec<Arc<SourceText>>,
    pub(crate) findings: Vec<Finding>,
    title: String,
    // Definitions by name.
    pub(crate) functions: BTreeMap<String, (Function, bool)>,
    pub(crate) parts: BTreeMap<String, (Part, bool)>,
    pub(crate) tables: BTreeMap<String, TableDef>,
    pub(crate) lookups: BTreeMap<String, (Lookup, u16, bool)>,
    pub(crate) inlined: Vec<String>,
    // The plan as it grows.
    pub(crate) scopes: Vec<ScopePlan>,
    pub(crate) scope_of: Vec<Option<u16>>,
    pub(crate) actions: Vec<Action>,
    pub(crate) cursors: Vec<source::Cursor>,
    pub(crate) exprs: Vec<Expr>,
    pub(crate) lists: Vec<ExprId>,
    pub(crate) constants: Vec<u8>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) loops: Vec<LoopPlan>,
    pub(crate) limits: Vec<u32>,
    pub(crate) picks: Vec<PickPlan>,
    pub(crate) pick_keys: BTreeMap<(u16, u16, String), u16>,
    pub(crate) pick_reads: BTreeMap<u16, Reads>,
    /// Picks and folds met so far: a condition without one can be tried while its list is read.
    pub(crate) choices: usize,
    pub(crate) folds: Vec<FoldPlan>,
    pub(crate) vars: Vec<VarPlan>,
    pub(crate) statements: Vec<StatementPlan>,
    pub(crate) targets: Vec<TargetPlan>,
    pub(crate) table_plans: Vec<TablePlan>,
    pub(crate) formats: Vec<Format>,
    pub(crate) lookup_plans: Vec<LookupPlan>,
    pub(crate) envelope_in: Vec<String>,
    pub(crate) envelope_out: Vec<String>,
    pub(crate) buffers: Vec<BufferPlan>,
    pub(crate) recordings: usize,
    // Current position in the source and target.
    pub(crate) chain: Vec<Context>,
    pub(crate) locals: Vec<Local>,
    /// Index of the first local name visible in the current function. Functions do not see the names before it.
    pub(crate) locals_from: usize,
    pub(crate) statement: u32,
    pub(crate) occurrences: u32,
    /// Per output and target leaf: how it is set.
    pub(crate) written: Vec<BTreeMap<NodeId, Vec<target::Written>>>,
    /// Documents and occurrences that the map makes.
    pub(crate) made: Vec<target::Made>,
    /// Target lists that the map fills.
    pub(crate) lists_made: Vec<(usize, Vec<target::Step>)>,
    /// Conditions under which a document is left out: its output, or `None` for those of all outputs.
    pub(crate) drops: Vec<(Option<u16>, Vec<target::Guard>)>,
    pub(crate) omitted: BTreeSet<(usize, NodeId)>,
    /// Number of arms by variable of a choice.
    pub(crate) arms: BTreeMap<u16, u16>,
    pub(crate) mutable_vars: BTreeSet<u16>,
    pub(crate) loops_open: usize,
    pub(crate) overflow: bool,
    /// The first expression of the body without a type. The checker reports it if the map has no error.
    pub(crate) untyped: Option<Span>,
    /// True in a function that is never called, whose operands have no type.
    pub(crate) is_uncalled: bool,
    /// True if an included map cannot be read or has errors: it may have what the map lacks, so its absence is not reported.
    pub(crate) is_incomplete: bool,
}

impl<'a> Lower<'a> {
    fn new(
        spec: &MapSpec,
        source: &'a Shape,
        outputs: &'a [Output<'a>],
        options: Options,
        rules: &'a dyn LeafRules,
    ) -> Self {
        Lower {
            source,
            outputs,
            options,
            rules,
            samples: BTreeMap::new(),
            envelope_set: Vec::new(),
            texts: vec![Arc::clone(&spec.text)],
            findings: Vec::new(),
            title: String::new(),
            functions: BTreeMap::new(),
            parts: BTreeMap::new(),
            tables: BTreeMap::new(),
            lookups: BTreeMap::new(),
            inlined: Vec::new(),
            scopes: Vec::new(),
            scope_of: vec![None; source.len()],
            actions: vec![Action::Ignore; source.len()],
            cursors: Vec::new(),
            exprs: Vec::new(),
            lists: Vec::new(),
            constants: Vec::new(),
            blocks: Vec::new(),
            loops: Vec::new(),
            limits: Vec::new(),
            picks: Vec::new(),
            pick_keys: BTreeMap::new(),
            pick_reads: BTreeMap::new(),
            choices: 0,
            folds: Vec::new(),
            vars: Vec::new(),
            statements: Vec::new(),
            targets: Vec::new(),
            table_plans: Vec::new(),
            formats: Vec::new(),
            lookup_plans: Vec::new(),
            envelope_in: Vec::new(),
            envelope_out: Vec::new(),
            buffers: Vec::new(),
            recordings: 0,
            chain: Vec::new(),
            locals: Vec::new(),
            locals_from: 0,
            statement: 0,
            occurrences: 0,
            written: outputs.iter().map(|_| BTreeMap::new()).collect(),
            made: Vec::new(),
            lists_made: Vec::new(),
            drops: Vec::new(),
            omitted: BTreeSet::new(),
            arms: BTreeMap::new(),
            mutable_vars: BTreeSet::new(),
            loops_open: 0,
            overflow: false,
            untyped: None,
            is_uncalled: false,
            is_incomplete: false,
        }
    }

    /// Takes definitions, and those of included maps.
    fn define(&mut self, items: &[Item], resolver: &dyn Resolver) {
        let mut included: Vec<String> = Vec::new();
        let mut todo: Vec<Item> = items.to_vec();
        let mut at = 0;
        while at < todo.len() {
            match todo[at].clone() {
                Item::Title(title) => {
                    if title.span.file == 0 {
                        self.title = title.text;
                    }
                }
                Item::Source { .. } | Item::Target { .. } => {}
                Item::Include(quote) => {
                    if included.contains(&quote.text) {
                        at += 1;
                        continue;
                    }
                    included.push(quote.text.clone());
                    if included.len() > INCLUDES_MAX {
                        self.error(codes::TOO_MANY, quote.span, format!("more than {INCLUDES_MAX} included maps"));
                        return;
                    }
                    match resolver.text(&quote.text) {
                        Ok(text) => {
                            let file = u16::try_from(self.texts.len()).unwrap_or(u16::MAX);
                            let source = Arc::new(SourceText::new(&quote.text, &text));
                            self.texts.push(Arc::clone(&source));
                            let parsed = parser::parse(&source, file);
                            let is_error = |finding: &Finding| finding.severity == Severity::Error;
                            self.is_incomplete |= parsed.findings.iter().any(is_error);
                            self.findings.extend(parsed.findings);
                            if let Some(statement) = parsed.body.first() {
                                self.error(
                                    codes::MISPLACED,
                                    statement.span,
                                    "an included map has statements of its own",
                                )
                                .hint = Some("put them into a `part`, and write `use` where they belong".to_owned());
                            }
                            todo.extend(parsed.items);
                        }
                        Err(reason) => {
                            self.is_incomplete = true;
                            self.error(
                                codes::NO_FILE,
                                quote.span,
                                format!("the map to include cannot be read: {reason}"),
                            )
                            .hint = Some("name it relative to the folder of maps".to_owned());
                        }
                    }
                }
                Item::Function(function) => {
                    let name = function.name.clone();
                    if crate::functions::is_builtin(&name.text) {
                        self.error(codes::TWICE, name.span, format!("`{}` is a function of the language", name.text))
                            .hint = Some("give yours another name".to_owned());
                    } else if let Some(first) = self.callable(&name.text) {
                        self.defined_twice(&name.text, name.span, first);
                    } else {
                        self.functions.insert(name.text, (function, false));
                    }
                }
                Item::Part(part) => {
                    let name = part.name.clone();
                    if let Some((first, _)) = self.parts.get(&name.text) {
                        let first = first.name.span;
                        self.defined_twice(&name.text, name.span, first);
                    } else {
                        self.parts.insert(name.text, (part, false));
                    }
                }
                Item::Table(table) => self.define_table(&table, resolver),
                Item::Lookup(lookup) => {
                    let name = lookup.name.clone();
                    if lookup.keys.len() > KEYS_MAX {
                        let what = match lookup.function {
                            None => "lookup has at most {} keys",
                            Some(_) => "function that the run connects has at most {} parameters",
                        };
                        let message = format!("a {}", what.replace("{}", &KEYS_MAX.to_string()));
                        self.error(codes::TOO_MANY, name.span, message).hint =
                            Some("join keys into one: a & \"/\" & b".to_owned());
                    }
                    if lookup.function.is_some() && crate::functions::is_builtin(&name.text) {
                        self.error(codes::TWICE, name.span, format!("`{}` is a function of the language", name.text))
                            .hint = Some("give yours another name".to_owned());
                    } else if let Some(first) = self.callable(&name.text) {
                        self.defined_twice(&name.text, name.span, first);
                    } else {
                        let index = u16::try_from(self.lookup_plans.len()).unwrap_or(u16::MAX);
                        let function = self.own_function_plan(&lookup);
                        let column = |(name, wanted): &(Name, TypeName)| {
                            (name.text.clone(), ColumnType::named(&wanted.name.text))
                        };
                        let keys = lookup.keys.iter().map(column).collect();
                        let fields = lookup.fields.iter().map(column).collect();
                        self.lookup_plans.push(LookupPlan { name: name.text.clone(), function, keys, fields });
                        self.lookups.insert(name.text, (lookup, index, false));
                    }
                }
            }
            at += 1;
        }
    }

    /// Returns the definition of a callable name.
    fn callable(&self, name: &str) -> Option<Span> {
        let function = self.functions.get(name).map(|(function, _)| function.name.span);
        function.or_else(|| self.lookups.get(name).map(|(lookup, ..)| lookup.name.span))
    }

    pub(crate) fn defined_twice(&mut self, name: &str, span: Span, first: Span) {
        let line = self.texts[usize::from(first.file)].line(first.start);
        self.error(codes::TWICE, span, format!("`{name}` is defined in line {line} already")).hint =
            Some("give one of them another name".to_owned());
    }

    fn map(&mut self, body: &[Stmt]) -> MapPlan {
        let units = self.root_units(body);
        self.check_complete();
        let root = self.settle(units);
        let texts = self.texts.iter().map(|text| SourceText::clone(text)).collect();
        let outputs = self.output_plans();
        for target in &mut self.targets {
            target.bit = outputs[usize::from(target.output)].mandatory[target.node.index()];
        }
        MapPlan {
            title: core::mem::take(&mut self.title),
            source: self.source.clone(),
            ordered: self.options.order == SourceOrder::AsShape,
            outputs,
            texts,
            actions: core::mem::take(&mut self.actions),
            scopes: core::mem::take(&mut self.scopes),
            cursors: self.cursors.len(),
            cursor_scopes: self.cursors.iter().map(|cursor| cursor.scope).collect(),
            exprs: core::mem::take(&mut self.exprs),
            lists: core::mem::take(&mut self.lists),
            constants: core::mem::take(&mut self.constants),
            blocks: core::mem::take(&mut self.blocks),
            root,
            loops: core::mem::take(&mut self.loops),
            limits: core::mem::take(&mut self.limits),
            picks: core::mem::take(&mut self.picks),
            folds: core::mem::take(&mut self.folds),
            vars: core::mem::take(&mut self.vars),
            statements: core::mem::take(&mut self.statements),
            targets: core::mem::take(&mut self.targets),
            tables: core::mem::take(&mut self.table_plans),
            formats: core::mem::take(&mut self.formats),
            lookups: core::mem::take(&mut self.lookup_plans),
            envelope_in: core::mem::take(&mut self.envelope_in),
            envelope_out: core::mem::take(&mut self.envelope_out),
            buffers: core::mem::take(&mut self.buffers),
            recordings: self.recordings,
        }
    }

    fn output_plans(&self) -> Vec<OutputPlan> {
        let plan = |(number, (output, written)): (usize, (&Output<'_>, &BTreeMap<NodeId, Vec<target::Written>>))| {
            let lists: Vec<NodeId> = self
                .lists_made
                .iter()
                .filter(|(of, _)| *of == number)
                .filter_map(|(_, address)| match address.last() {
                    Some(target::Step::List(node)) => Some(*node),
                    _ => None,
                })
                .collect();
            let (mandatory, required) = match output.absent {
                Absent::Filled => (vec![u8::MAX; output.shape.len()], vec![(0, 0); output.shape.len()]),
                Absent::Refused => target::mandatory(output.shape, written, &lists),
            };
            let list_min = |(id, _)| self.rules.list_minimum(number, id);
            let list_min = output.shape.iter().map(list_min).collect();
            OutputPlan { name: output.name.to_owned(), shape: output.shape.clone(), mandatory, required, list_min }
        };
        self.outputs.iter().zip(&self.written).enumerate().map(plan).collect()
    }

    /// Reports an untyped statement without another error. Such a statement is dropped, so a map without errors must not contain one.
    fn check_untyped(&mut self) {
        if let Some(span) = self.untyped
            && !self.overflow
            && self.findings.iter().all(|finding| finding.severity != Severity::Error)
        {
            let found = self.error(codes::TYPE, span, "this has no type that Quayline knows, and it found no reason");
            found.fault = Fault::Ours;
            found.hint = Some("report the map; until then, write the expression in another way".to_owned());
        }
    }

    // Helpers for all parts of the checker.

    pub(crate) fn finding(
        &mut self,
        severity: Severity,
        code: Code,
        span: Span,
        message: impl Into<String>,
    ) -> &mut Finding {
        let place = self.texts[usize::from(span.file)].place(span);
        let mut finding = Finding::error(code, Fault::Config, message).at(place);
        finding.severity = severity;
        self.findings.push(finding);
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    pub(crate) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> &mut Finding {
        self.finding(Severity::Error, code, span, message)
    }

    pub(crate) fn warning(&mut self, code: Code, span: Span, message: impl Into<String>) -> &mut Finding {
        self.finding(Severity::Warning, code, span, message)
    }

    pub(crate) fn expr(&mut self, expr: Expr) -> ExprId {
        if self.exprs.len() >= EXPRS_MAX {
            self.overflow = true;
            return 0;
        }
        self.exprs.push(expr);
        small(self.exprs.len() - 1)
    }

    pub(crate) fn constant(&mut self, bytes: &[u8]) -> Bytes {
        let start = small(self.constants.len());
        self.constants.extend_from_slice(bytes);
        Bytes { start, len: small(bytes.len()) }
    }

    pub(crate) fn text_constant(&mut self, text: &str) -> Val {
        let bytes = self.constant(text.as_bytes());
        if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) { Val::Ascii(bytes) } else { Val::Text(bytes) }
    }

    pub(crate) fn new_var(&mut self, name: &str) -> u16 {
        self.vars.push(VarPlan { name: name.to_owned(), digits: None, chars: None });
        if self.vars.len() > usize::from(u16::MAX) {
            self.overflow = true;
        }
        u16::try_from(self.vars.len() - 1).unwrap_or(u16::MAX)
    }

    /// Begins a statement and returns its number.
    pub(crate) fn begin_statement(&mut self, span: Span) -> u32 {
        self.statements.push(StatementPlan { span, target: None, sources: Vec::new(), raise: None });
        self.statement = small(self.statements.len() - 1);
        self.statement
    }

    pub(crate) fn line(&self, span: Span) -> u32 {
        self.texts[usize::from(span.file)].line(span.start)
    }

    pub(crate) fn slice(&self, span: Span) -> &str {
        self.texts[usize::from(span.file)].slice(span)
    }

    pub(crate) fn too_deep(&mut self, span: Span, name: &str) -> bool {
        if self.inlined.iter().any(|open| open == name) {
            self.error(codes::RECURSION, span, format!("`{name}` uses itself")).hint =
                Some("a part or function cannot contain itself, not even by way of others".to_owned());
            return true;
        }
        if self.inlined.len() >= INLINE_MAX {
            self.error(codes::RECURSION, span, format!("more than {INLINE_MAX} functions or parts inside each other"));
            return true;
        }
        false
    }
}
