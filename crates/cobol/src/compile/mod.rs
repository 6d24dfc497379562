//! Compiles a layout and an interface to a plan: walks the layout once and writes shape, operations and targets side by side.

mod choices;
mod dates;
mod key;
mod names;
mod select;
mod tails;
mod template;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use quayline_charset::Charset;
use quayline_core::{Finding, Findings, Moment, NodeId, Occurs, PRESERVE, Scalar, Shape, ShapeBuilder, TextPlace};

use crate::layout::{ByteOrder, EditSymbol, Encoding, Field, FieldIndex, FieldKind, FloatFormat, Layout, ZonedSign};
use crate::plan::{
    Choice, HIDDEN, Item, ItemForm, ItemIndex, LastTable, ListTarget, Op, OriginNodes, Plan, RecordPlan, SignCode,
    Slide, Table, Target, TargetKind, TextTables, Union, View, picture_digits, text_code,
};
use crate::{BadValue, FieldValues, Fillers, Interface, NullAs, Policies, Preserve, RedefinesPolicy, Trim};
use choices::ChoiceSpec;
use names::{Name, Names};
use select::Selection;

impl RecordPlan {
    /// Compiles `layout` as `interface` selects it.
    ///
    /// # Errors
    /// All findings about the interface at once: names that the layout does not have, ambiguous ones, defaults that do not fit,
    /// choices whose selector comes after the storage.
    pub fn new(
        layout: &Layout,
        interface: &Interface,
        policies: &Policies,
        charset: Charset,
    ) -> Result<Self, Findings> {
        compile(layout, interface, policies, charset).map(|plan| RecordPlan(std::sync::Arc::new(plan)))
    }
}

fn compile(layout: &Layout, interface: &Interface, policies: &Policies, charset: Charset) -> Result<Plan, Findings> {
    let mut findings = Vec::new();
    let selection = Selection::new(layout, interface, &mut findings);
    dates::check(layout, &selection, &mut findings);
    let text = text_code(charset);
    let sign = SignCode::new(charset, layout.dialect.overpunch);
    let root = interface.wrapper.clone().unwrap_or_else(|| layout.field(FieldIndex::RECORD).name.clone());
    let mut compiler = Compiler {
        layout,
        interface,
        policies,
        selection,
        single_byte: matches!(charset, Charset::SingleByte(_)),
        shape: Shape::builder(root),
        names: vec![Names::default()],
        targets: vec![Target { kind: TargetKind::Group, list: None, view: None }],
        items: Vec::new(),
        item_of: HashMap::new(),
        ops: Vec::new(),
        op_items: Vec::new(),
        tables: Vec::new(),
        unions: Vec::new(),
        captures: Vec::new(),
        slots: HashMap::new(),
        choices: HashMap::new(),
        chosen_views: HashSet::new(),
        redefinitions: redefinitions(layout),
        fillers_seen: 0,
        view: None,
        findings,
    };
    compiler.find_captures();
    compiler.record();
    let origin = compiler.origin();
    let preserve_node = compiler.preserve();
    compiler.settle_names();
    let slides = compiler.slides();
    let last_table = compiler.last_table();
    let Compiler {
        shape,
        targets,
        items,
        item_of,
        ops,
        op_items,
        tables,
        unions,
        captures,
        selection,
        chosen_views,
        redefinitions,
        mut findings,
        ..
    } = compiler;
    let (text_places, text_runs) = texts(&ops);
    let mut plan = Plan {
        layout: layout.clone(),
        shape: shape.finish(),
        policies: policies.clone(),
        charset,
        text,
        sign,
        items,
        ops,
        op_items,
        text_places,
        text_runs,
        rows: TextTables::default(),
        tables,
        unions,
        captures,
        targets,
        defaults: layout.iter().map(|(field, _)| field).filter(|f| selection.default[f.index()].is_some()).collect(),
        template: Vec::new(),
        ascii: Vec::new(),
        is_text: Vec::new(),
        slides,
        last_table,
        tails: Vec::new(),
        extent_ops: Vec::new(),
        preserve_node,
        origin,
        names: HashMap::new(),
        dates: HashMap::new(),
        elsewhere: OnceLock::new(),
    };
    plan.tails = tails::tails(&plan, &chosen_views);
    plan.extent_ops = crate::extent::operations(&plan);
    template::fill_in(&mut plan, &selection, &item_of, &redefinitions, &chosen_views, &mut findings);
    plan.names = template::names(&plan);
    plan.dates = dates::of(&plan, &selection);
    TextTables::find(&mut plan);
    if findings.iter().any(|f| f.severity == quayline_core::Severity::Error) {
        Err(Findings(findings))
    } else {
        Ok(plan)
    }
}

/// Returns the positions of short texts by operation, and the number of consecutive ones from each operation on.
fn texts(ops: &[Op]) -> (Vec<TextPlace>, Vec<u32>) {
    let place = |op: &Op| match *op {
        Op::Text { offset, size, node } => TextPlace { node, offset, size },
        _ => TextPlace { node: NodeId::ROOT, offset: 0, size: 0 },
    };
    let places: Vec<TextPlace> = ops.iter().map(place).collect();
    let mut runs = vec![0u32; ops.len()];
    for (i, here) in places.iter().enumerate().rev().filter(|(_, p)| (1..=TextPlace::SIZE_MAX).contains(&p.size)) {
        let follows = |next: &TextPlace| {
            next.node.0 == here.node.0.wrapping_add(1)
                && u64::from(next.offset) >= u64::from(here.offset) + u64::from(here.size)
        };
        let goes_on = places.get(i + 1).is_some_and(follows);
        runs[i] = 1 + if goes_on { runs[i + 1] } else { 0 };
    }
    (places, runs)
}
/// Digits of a record's number: those that fit in a 64-bit integer of other programs.
const ORIGIN_DIGITS: u16 = 18;

struct Compiler<'a> {
    layout: &'a Layout,
    interface: &'a Interface,
    policies: &'a Policies,
    selection: Selection,
    single_byte: bool,
    shape: ShapeBuilder,
    /// Names of the members of each open group.
    names: Vec<Names>,
    targets: Vec<Target>,
    items: Vec<Item>,
    item_of: HashMap<FieldIndex, ItemIndex>,
    ops: Vec<Op>,
    op_items: Vec<ItemIndex>,
    tables: Vec<Table>,
    unions: Vec<Union>,
    captures: Vec<ItemIndex>,
    slots: HashMap<FieldIndex, u32>,
    choices: HashMap<FieldIndex, ChoiceSpec>,
    /// The views that every record has.
    chosen_views: HashSet<FieldIndex>,
    /// Redefinitions of each field that has some, in the order of the copybook.
    redefinitions: HashMap<FieldIndex, Vec<FieldIndex>>,
    fillers_seen: u32,
    /// Union and view being compiled.
    view: Option<(u32, u32)>,
    findings: Vec<Finding>,
}

impl Compiler<'_> {
    fn slot(&mut self, field: FieldIndex) -> u32 {
        if let Some(slot) = self.slots.get(&field) {
            return *slot;
        }
        let slot = index(self.captures.len());
        let item = self.item(field, HIDDEN);
        self.captures.push(item);
        self.slots.insert(field, slot);
        slot
    }

    /// Tables around a field, outermost first, itself not counted.
    fn tables_around(&self, field: FieldIndex) -> Vec<FieldIndex> {
        let mut tables = Vec::new();
        let mut at = self.layout.field(field).parent;
        while let Some(parent) = at {
            if self.layout.field(parent).occurs.is_some() {
                tables.push(parent);
            }
            at = self.layout.field(parent).parent;
        }
        tables.reverse();
        tables
    }

    /// Returns the original and its redefinitions.
    fn views(&self, storage: FieldIndex) -> Vec<FieldIndex> {
        let redefinitions = self.redefinitions.get(&storage).into_iter().flatten().copied();
        core::iter::once(storage).chain(redefinitions).collect()
    }

    fn item(&mut self, field: FieldIndex, node: NodeId) -> ItemIndex {
        let Field { offset, size, kind, .. } = self.layout.field(field);
        let FieldKind::Item(encoding) = kind else { unreachable!("only elementary items become items") };
        let known = self.item_of.get(&field).copied();
        if let Some(known) = known {
            if node != HIDDEN {
                self.items[known as usize].node = node;
            }
            return known;
        }
        let item = index(self.items.len());
        let null = null_as(self.layout, &self.selection, self.policies, field, encoding);
        let form = self.form(field);
        self.items.push(Item { field, node, offset: *offset, size: *size, encoding: encoding.clone(), null, form });
        self.item_of.insert(field, item);
        item
    }

    /// Returns the form of a field's values in documents, by the rules for it.
    fn form(&self, field: FieldIndex) -> ItemForm {
        match self.selection.date[field.index()] {
            Some(_) => ItemForm::Date,
            None if self.has_names(field) => ItemForm::Named,
            None => ItemForm::Plain,
        }
    }

    /// Returns true if the values of a field have names: a rule requests them, and a condition has exactly one value.
    fn has_names(&self, field: FieldIndex) -> bool {
        let ruled = core::iter::successors(Some(field), |at| self.layout.field(*at).parent)
            .find_map(|at| self.selection.values[at.index()]);
        ruled == Some(FieldValues::Names)
            && self.layout.field(field).conditions.iter().any(|c| template::single(c).is_some())
    }

    /// Returns the scalar of a field, which is a text if its values have names or are dates.
    fn scalar(&self, field: FieldIndex, encoding: &Encoding, size: usize) -> Scalar {
        match self.form(field) {
            ItemForm::Plain => scalar(encoding, size),
            ItemForm::Named => Scalar::Text { chars_max: None },
            ItemForm::Date => Scalar::Text { chars_max: Some(Moment::Date.chars_max()) },
        }
    }

    fn record(&mut self) {
        let wrapped = self.interface.wrapper.clone();
        if let Some(name) = wrapped {
            let node = self.open(Name::derived(name), Occurs::Once, None);
            self.push(Op::Enter(node), 0);
            self.content();
            self.close();
            self.push(Op::Leave(node), 0);
        } else {
            self.content();
        }
    }

    fn content(&mut self) {
        match self.layout.field(FieldIndex::RECORD).kind {
            FieldKind::Group => self.children(FieldIndex::RECORD, true),
            FieldKind::Item(_) => self.field(FieldIndex::RECORD, true),
        }
        self.renames();
    }

    /// Compiles the children of a group; `shown` is the decision of their nearest rule above.
    fn children(&mut self, group: FieldIndex, shown: bool) {
        let children: Vec<FieldIndex> = self.layout.children(group).collect();
        for child in children {
            if self.layout.field(child).redefines.is_none() {
                self.storage(child, shown);
            }
        }
    }

    fn storage(&mut self, storage: FieldIndex, shown: bool) {
        let views = self.views(storage);
        if views.len() == 1 {
            self.field(storage, shown);
            return;
        }
        let choice = self.choices.remove(&storage);
        let visible: Vec<bool> = views
            .iter()
            .enumerate()
            .map(|(i, view)| {
                let by_policy = i == 0 || choice.is_some() || self.interface.redefines == RedefinesPolicy::All;
                let asked = self.selection.explicit[view.index()];
                asked.unwrap_or(shown && by_policy) || self.asked_below(*view)
            })
            .collect();
        if visible.iter().filter(|v| **v).count() < 2 && choice.is_none() {
            for (view, visible) in views.iter().zip(visible) {
                self.field_if(*view, visible, shown);
            }
            return;
        }
        let union = index(self.unions.len());
        let head = self.ops.len();
        self.push(Op::Union { union, len: 0 }, 0);
        let outer = self.view;
        let depth = index(self.tables_around(storage).len());
        self.unions.push(Union { views: Vec::new(), choice: None, inside: outer, depth });
        let mut compiled = Vec::new();
        for (i, (view, visible)) in views.iter().zip(visible).enumerate() {
            let start = self.ops.len();
            let before = self.targets.len();
            self.view = Some((union, index(i)));
            self.field_if(*view, visible, shown);
            let scalar = (self.targets.len() == before + 1)
                .then(|| &self.targets[before])
                .filter(|target| target.list.is_none() && matches!(target.kind, TargetKind::Item(_)))
                .map(|_| NodeId(index(before)));
            compiled.push(View { field: *view, len: index(self.ops.len() - start), scalar, initial: None });
        }
        self.view = outer;
        let len = index(self.ops.len() - head - 1);
        self.ops[head] = Op::Union { union, len };
        self.capture_before(head);
        let choice = choice.map(|spec| {
            let position = |view: FieldIndex| views.iter().position(|v| *v == view);
            Choice {
                slot: spec.slot,
                depth: index(self.tables_around(self.items[self.captures[spec.slot as usize] as usize].field).len()),
                is_number: spec.is_number,
                cases: spec.cases.into_iter().filter_map(|(value, view)| Some((value, position(view)?))).collect(),
                otherwise: spec.otherwise.and_then(position),
            }
        });
        let union = &mut self.unions[union as usize];
        (union.views, union.choice) = (compiled, choice);
    }

    /// Repeats the captures of all views before the union at operation `head`: a record runs the operations of one view, but it has the
    /// counters and selectors of each. Views hold no sliding tables, so their places are fixed.
    fn capture_before(&mut self, head: usize) {
        let mut captures: Vec<(u32, Op, ItemIndex)> = Vec::new();
        let mut at = head + 1;
        while let Some(op) = self.ops.get(at) {
            match *op {
                // Only the table itself uses what it captures.
                Op::Loop { len, .. } => at += len as usize,
                Op::Capture { slot, .. } if captures.iter().all(|(known, ..)| *known != slot) => {
                    captures.push((slot, *op, self.op_items[at]));
                }
                _ => {}
            }
            at += 1;
        }
        self.ops.splice(head..head, captures.iter().map(|(_, op, _)| *op));
        self.op_items.splice(head..head, captures.iter().map(|(.., item)| *item));
    }

    fn field_if(&mut self, field: FieldIndex, visible: bool, shown: bool) {
        if visible {
            self.field(field, shown || self.selection.explicit[field.index()] == Some(true));
        } else {
            let kept = self.selection.explicit[field.index()].replace(false);
            self.field(field, false);
            self.selection.explicit[field.index()] = kept;
        }
    }

    /// Returns whether a rule includes something below this field by name.
    fn asked_below(&self, field: FieldIndex) -> bool {
        let end = self.layout.field(field).subtree_end;
        (field.0 + 1..end.0).any(|i| self.selection.explicit[i as usize] == Some(true))
    }

    fn field(&mut self, index_: FieldIndex, shown: bool) {
        let layout = self.layout;
        let field = layout.field(index_);
        let explicit = self.selection.explicit[index_.index()];
        let shown = explicit.unwrap_or(shown);
        let filler_number = field.filler.then(|| {
            self.fillers_seen += 1;
            self.fillers_seen - 1
        });
        let keep_fillers = self.interface.fillers == Fillers::Keep;
        match field.occurs {
            Some(occurs) => self.table(index_, occurs, shown, filler_number),
            None => match &field.kind {
                FieldKind::Group => {
                    let visible = (shown || self.asked_below(index_)) && self.has_content(index_, shown);
                    if !visible {
                        self.children(index_, shown);
                    } else if field.filler && !keep_fillers && self.selection.rename[index_.index()].is_none() {
                        // A filler group is transparent: its named children appear in its parent, as in COBOL references.
                        self.children(index_, shown);
                    } else {
                        let name = self.name(index_, filler_number);
                        let node = self.open(name, Occurs::Once, None);
                        self.push(Op::Enter(node), 0);
                        self.children(index_, shown);
                        self.close();
                        self.push(Op::Leave(node), 0);
                    }
                }
                FieldKind::Item(encoding) => {
                    self.capture(index_);
                    if shown && (!field.filler || keep_fillers || explicit == Some(true)) {
                        let name = self.name(index_, filler_number);
                        let node =
                            self.leaf(name, self.scalar(index_, encoding, field.size), Occurs::Once, index_, None);
                        self.item_op(index_, node);
                    }
                }
            },
        }
    }

    /// Returns whether a group has anything to show; one that the interface emptied on purpose still appears, as `{}`.
    fn has_content(&self, group: FieldIndex, shown: bool) -> bool {
        if self.interface.fillers == Fillers::Keep {
            return true;
        }
        let end = self.layout.field(group).subtree_end;
        (group.0 + 1..end.0).any(|i| {
            let field = &self.layout.fields[i as usize];
            !field.filler && (shown || self.selection.explicit[i as usize] == Some(true))
        })
    }

    fn table(&mut self, index_: FieldIndex, occurs: crate::layout::Occurs, shown: bool, filler: Option<u32>) {
        let layout = self.layout;
        let field = layout.field(index_);
        let keep_fillers = self.interface.fillers == Fillers::Keep;
        let counter = occurs.depending_on.map(|counter| self.slot(counter));
        let slides = layout.dialect.odo_slide;
        let visible = match &field.kind {
            FieldKind::Group => (shown || self.asked_below(index_)) && self.has_content(index_, shown),
            FieldKind::Item(_) => shown && (!field.filler || keep_fillers),
        };
        let table = index(self.tables.len());
        let (max, stride, offset) = (occurs.max, field.stride, field.offset);
        self.tables.push(Table { node: None, max, stride, counter, slides, field: index_, offset });
        let head = self.ops.len();
        self.push(Op::Loop { table, len: 0 }, 0);
        let list = visible.then(|| ListTarget {
            field: index_,
            max: occurs.max,
            stride: field.stride,
            counter: occurs.depending_on.map(|counter| self.item_of[&counter]),
            counter_depth: occurs.depending_on.map_or(0, |counter| index(self.tables_around(counter).len())),
        });
        let many =
            Occurs::Many { min: if occurs.depending_on.is_some() { 0 } else { occurs.min }, max: Some(occurs.max) };
        match &field.kind {
            FieldKind::Group if visible => {
                let name = self.name(index_, filler);
                let node = self.open(name, many, list);
                self.tables[table as usize].node = Some(node);
                self.push(Op::Enter(node), 0);
                self.children(index_, shown);
                self.close();
                self.push(Op::Leave(node), 0);
            }
            FieldKind::Group => self.children(index_, shown),
            FieldKind::Item(encoding) if visible => {
                let name = self.name(index_, filler);
                let node = self.leaf(name, self.scalar(index_, encoding, field.size), many, index_, list);
                self.tables[table as usize].node = Some(node);
                self.item_op(index_, node);
            }
            FieldKind::Item(_) => {}
        }
        if self.ops.len() > head + 1 {
            self.push(Op::Next, 0);
            self.ops[head] = Op::Loop { table, len: index(self.ops.len() - head - 1) };
        } else if counter.is_some() && slides {
            self.ops[head] = Op::Skip { table };
        } else {
            self.ops.pop();
            self.op_items.pop();
        }
    }

    fn capture(&mut self, field: FieldIndex) {
        if let Some(slot) = self.slots.get(&field).copied() {
            let item = self.item_of[&field];
            let offset = offset(self.layout.field(field).offset);
            self.push(Op::Capture { slot, offset }, item);
        }
    }

    /// Adds the operation of an elementary item: a fast one if its encoding has one.
    fn item_op(&mut self, field: FieldIndex, node: NodeId) {
        let item = self.item(field, node);
        let Item { offset: at, size, encoding, form, .. } = &self.items[item as usize];
        let (at, size) = (offset(*at), *size);
        let small = u16::try_from(size).ok();
        let op = match encoding {
            _ if *form != ItemForm::Plain => None,
            Encoding::Text { justified: false, .. } if self.single_byte && self.policies.trim == Trim::Padding => {
                u32::try_from(size).ok().map(|size| Op::Text { offset: at, size, node })
            }
            Encoding::Zoned { scale, sign: ZonedSign::Unsigned, blank_when_zero: false, .. } if size <= 16 => {
                small.map(|size| Op::ZonedUnsigned { offset: at, size, scale: *scale, node })
            }
            Encoding::Zoned { scale, sign: ZonedSign::TrailingOverpunch, blank_when_zero: false, .. } if size <= 16 => {
                small.map(|size| Op::ZonedTrailing { offset: at, size, scale: *scale, node })
            }
            Encoding::Packed { digits, scale, signed } if size <= 16 => u8::try_from(size).ok().map(|size| {
                Op::Packed { offset: at, size, pad: u8::from(digits % 2 == 0), signed: *signed, scale: *scale, node }
            }),
            Encoding::Binary { scale, signed, order: ByteOrder::Big, .. } if matches!(size, 2 | 4 | 8) => {
                u8::try_from(size).ok().map(|size| Op::Binary {
                    offset: at,
                    size,
                    signed: *signed,
                    digits: picture_digits(self.layout, encoding)
                        .and_then(|digits| u8::try_from(digits).ok())
                        .filter(|digits| *digits < 20)
                        .unwrap_or(0),
                    scale: *scale,
                    node,
                })
            }
            _ => None,
        };
        self.push(op.unwrap_or(Op::Item(item)), item);
    }

    /// Compiles RENAMES items that precede every sliding table. They show bytes that other fields have too, so they are read and never written.
    fn renames(&mut self) {
        if self.interface.redefines == RedefinesPolicy::Original {
            return;
        }
        let layout = self.layout;
        let sliding = layout.fields.iter().filter(|f| f.occurs.is_some_and(|o| o.depending_on.is_some()));
        let first_sliding = sliding.map(|f| f.offset).min().unwrap_or(usize::MAX);
        for rename in layout.renames.iter().filter(|rename| rename.offset + rename.size <= first_sliding) {
            let from = layout.field(rename.from);
            let encoding = match (&from.kind, rename.thru) {
                (FieldKind::Item(encoding), None) => encoding.clone(),
                _ => Encoding::Text { justified: false, alphabetic: false },
            };
            let name = Name::derived(key::styled(&rename.name, self.interface.key_style));
            let node = self.added(name, scalar(&encoding, rename.size));
            self.targets.push(Target { kind: TargetKind::Ignored, list: None, view: None });
            let union = index(self.unions.len());
            let view = View { field: rename.from, len: 1, scalar: Some(node), initial: None };
            self.unions.push(Union { views: vec![view], choice: None, inside: None, depth: 0 });
            let item = index(self.items.len());
            let (offset, size, null) = (rename.offset, rename.size, NullAs::Error);
            self.items.push(Item { field: rename.from, node, offset, size, encoding, null, form: ItemForm::Plain });
            self.push(Op::Union { union, len: 1 }, item);
            self.push(Op::Item(item), item);
        }
    }

    fn origin(&mut self) -> OriginNodes {
        let names = &self.interface.origin;
        let number = Scalar::Decimal { digits: ORIGIN_DIGITS, scale: 0, signed: false };
        let mut node = |name: &Option<String>, scalar| {
            let name = name.clone()?;
            self.targets.push(Target { kind: TargetKind::Ignored, list: None, view: None });
            Some(self.added(Name::of_origin(name), scalar))
        };
        OriginNodes {
            number: node(&names.number, number.clone()),
            parent: node(&names.parent, number),
            file: node(&names.file, Scalar::Text { chars_max: None }),
        }
    }

    fn preserve(&mut self) -> Option<NodeId> {
        (self.policies.preserve == Preserve::Yes).then(|| {
            let node = self.added(Name::derived(PRESERVE.to_owned()), Scalar::Text { chars_max: None });
            self.targets.push(Target { kind: TargetKind::Preserve, list: None, view: None });
            node
        })
    }

    /// Returns the table that ends the record and is in no other table and no redefinition.
    fn last_table(&self) -> Option<LastTable> {
        let layout = self.layout;
        if layout.dialect.odo_slide {
            return None;
        }
        layout.iter().find_map(|(index, field)| {
            let occurs = field.occurs?;
            let counter = *self.slots.get(&occurs.depending_on?)?;
            let mut around = core::iter::successors(field.parent, |at| layout.field(*at).parent);
            let is_alone = field.redefines.is_none()
                && around.all(|at| layout.field(at).occurs.is_none() && layout.field(at).redefines.is_none());
            let is_last = field.offset + field.stride * occurs.max as usize == layout.length_max;
            let max = occurs.max;
            (is_alone && is_last && index != FieldIndex::RECORD).then_some(LastTable {
                counter,
                max,
                stride: field.stride,
            })
        })
    }

    /// Tables that slide, and tables around them, in the order of the copybook.
    fn slides(&self) -> Vec<Slide> {
        if !self.layout.dialect.odo_slide {
            return Vec::new();
        }
        let sliding = |f: &Field| f.occurs.is_some_and(|occurs| occurs.depending_on.is_some());
        let mut slides = Vec::new();
        for (i, field) in self.layout.iter() {
            let Some(occurs) = field.occurs else { continue };
            let subtree = i.index()..field.subtree_end.index();
            if !self.layout.fields[subtree.clone()].iter().any(sliding) {
                continue;
            }
            let inner = self.layout.fields[subtree].iter().skip(1);
            let nested = inner.enumerate().filter(|(k, f)| {
                let at = FieldIndex(index(i.index() + 1 + k));
                f.occurs.is_some() && self.layout.fields[at.index()..f.subtree_end.index()].iter().any(sliding)
            });
            slides.push(Slide {
                offset: field.offset,
                stride: field.stride,
                max: occurs.max,
                counter: occurs.depending_on.map(|counter| self.item_of[&counter]),
                counter_depth: occurs.depending_on.map_or(0, |counter| index(self.tables_around(counter).len())),
                len: index(nested.count()),
            });
        }
        slides
    }

    fn name(&self, field: FieldIndex, filler: Option<u32>) -> Name {
        let own = || self.layout.field(field).name.clone();
        if let Some(rename) = &self.selection.rename[field.index()] {
            return Name { text: rename.clone(), ruled: Some(format!("`[rename]` gives `{}`", own())) };
        }
        let name = filler.map_or_else(|| self.replaced(own()), |number| format!("FILL_{number}"));
        Name::derived(key::styled(&name, self.interface.key_style))
    }

    /// Replaces the beginning of a COBOL name by the rules of the interface.
    fn replaced(&self, name: String) -> String {
        let fits = |(from, _): &&(String, String)| name.len() > from.len() && name.starts_with(from.as_str());
        let longest = self.interface.prefixes.iter().filter(fits).max_by_key(|(from, _)| from.len());
        longest.map_or_else(|| name.clone(), |(from, to)| format!("{to}{}", &name[from.len()..]))
    }

    /// Notes the name of a member of the innermost open group.
    fn note_name(&mut self, node: NodeId, name: Name) {
        self.names.last_mut().expect("the root's names stay until the end").add(node, name);
    }

    /// Gives the members of the innermost open group their names.
    fn settle_names(&mut self) {
        let names = self.names.pop().expect("each group has names");
        names.settle(&mut self.shape, &mut self.findings);
    }

    /// Adds a member that belongs to no field.
    fn added(&mut self, name: Name, scalar: Scalar) -> NodeId {
        let node = self.shape.scalar(name.text.clone(), scalar, Occurs::Optional);
        self.note_name(node, name);
        node
    }

    fn open(&mut self, name: Name, occurs: Occurs, list: Option<ListTarget>) -> NodeId {
        let node = self.shape.open(name.text.clone(), occurs);
        self.note_name(node, name);
        self.names.push(Names::default());
        self.targets.push(Target { kind: TargetKind::Group, list, view: self.view });
        node
    }

    fn close(&mut self) {
        self.settle_names();
        self.shape.close();
    }

    fn leaf(
        &mut self,
        name: Name,
        scalar: Scalar,
        occurs: Occurs,
        field: FieldIndex,
        list: Option<ListTarget>,
    ) -> NodeId {
        let node = self.shape.scalar(name.text.clone(), scalar, occurs);
        self.note_name(node, name);
        let item = self.item(field, node);
        self.targets.push(Target { kind: TargetKind::Item(item), list, view: self.view });
        node
    }

    fn push(&mut self, op: Op, item: ItemIndex) {
        self.ops.push(op);
        self.op_items.push(item);
    }
}

/// Returns the bytes of null for a field: by the rule nearest to it, by the policy, or as decoding reads it.
pub(super) fn null_as(
    layout: &Layout,
    selection: &Selection,
    policies: &Policies,
    field: FieldIndex,
    encoding: &Encoding,
) -> NullAs {
    let ruled = core::iter::successors(Some(field), |at| layout.field(*at).parent)
        .find_map(|at| selection.null.get(at.index()).copied().flatten());
    let blankless = matches!(encoding, Encoding::Binary { .. } | Encoding::Float32(_) | Encoding::Float64(_));
    let dated = selection.date[field.index()].is_some();
    let textual = matches!(
        encoding,
        Encoding::Text { .. }
            | Encoding::TextEdited { .. }
            | Encoding::National { .. }
            | Encoding::Utf8
            | Encoding::Dbcs
    );
    ruled.or(policies.null).unwrap_or(match (policies.blank, policies.low_values) {
        (BadValue::Null, _) if !blankless => NullAs::Spaces,
        (_, BadValue::Null) if dated || !blankless && !textual => NullAs::LowValues,
        // Text of low-values is text. An empty cell is nevertheless null with this policy, and for text that means spaces.
        (_, BadValue::Null) if textual => NullAs::Spaces,
        _ => NullAs::Error,
    })
}

fn redefinitions(layout: &Layout) -> HashMap<FieldIndex, Vec<FieldIndex>> {
    let mut of: HashMap<FieldIndex, Vec<FieldIndex>> = HashMap::new();
    for (index, field) in layout.iter() {
        if let Some(original) = field.redefines {
            of.entry(original).or_default().push(index);
        }
    }
    of
}

/// Returns the shape's type of an encoding. A binary that is not truncated to its picture has the digits of its whole range.
pub(super) fn scalar(encoding: &Encoding, size: usize) -> Scalar {
    let chars = |n: usize| Scalar::Text { chars_max: u32::try_from(n).ok() };
    match encoding {
        Encoding::Text { .. } | Encoding::TextEdited { .. } | Encoding::Utf8 | Encoding::Boolean => chars(size),
        Encoding::National { .. } => chars(size / 2),
        Encoding::Dbcs => Scalar::Bytes { len_max: u32::try_from(size).ok() },
        Encoding::Zoned { digits, scale, sign, .. } => {
            Scalar::Decimal { digits: *digits, scale: *scale, signed: *sign != ZonedSign::Unsigned }
        }
        Encoding::Packed { digits, scale, signed } => {
            Scalar::Decimal { digits: *digits, scale: *scale, signed: *signed }
        }
        Encoding::PackedUnsigned { digits, scale } => Scalar::Decimal { digits: *digits, scale: *scale, signed: false },
        Encoding::Binary { digits, scale, signed, full_range, .. } => {
            let whole = match size {
                1 => 3,
                2 => 5,
                3 => 8,
                4 => 10,
                5 => 13,
                6 => 15,
                7 => 17,
                8 => 20,
                _ => 39,
            };
            let digits = if *full_range || *digits == 0 { whole } else { *digits };
            Scalar::Decimal { digits, scale: *scale, signed: *signed }
        }
        // Its exponents reach 16^63, beyond an IEEE single.
        Encoding::Float32(FloatFormat::Hexadecimal) => Scalar::Float64,
        Encoding::Float32(_) => Scalar::Float32,
        Encoding::Float64(_) => Scalar::Float64,
        Encoding::Edited(edited) => {
            use EditSymbol::{Credit, Debit, FloatMinus, FloatPlus, Minus, Plus};
            let signed =
                edited.symbols.iter().any(|s| matches!(s, Credit | Debit | FloatMinus | FloatPlus | Minus | Plus));
            Scalar::Decimal { digits: edited.digits, scale: edited.scale, signed }
        }
    }
}

impl Field {
    pub(crate) fn is_item(&self) -> bool {
        matches!(self.kind, FieldKind::Item(_))
    }
}

fn index(n: usize) -> u32 {
    u32::try_from(n).expect("a layout has fewer than 2^32 fields")
}

fn offset(n: usize) -> u32 {
    u32::try_from(n).expect("a record is shorter than 4 GiB")
}

/// Returns true if an item holds a decimal number.
fn is_decimal(encoding: &Encoding) -> bool {
    match encoding {
        Encoding::Zoned { .. } | Encoding::Packed { .. } | Encoding::PackedUnsigned { .. } => true,
        Encoding::Binary { .. } | Encoding::Edited(_) => true,
        Encoding::Float32(_) | Encoding::Float64(_) => false,
        Encoding::Text { .. } | Encoding::TextEdited { .. } | Encoding::National { .. } => false,
        Encoding::Utf8 | Encoding::Dbcs | Encoding::Boolean => false,
    }
}
