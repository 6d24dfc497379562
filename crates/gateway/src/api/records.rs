//! Operations of a service whose provider is a record file or a queue.

use core::ops::Range;
use std::collections::BTreeMap;

use quayline_cobol::layout::{ByteOrder, Encoding, Field, FieldIndex, FieldKind, ZonedSign};
use quayline_cobol::{Interface, RecordPlan};
use quayline_core::{Fault, Finding, NodeId, NodeKind, Scalar};
use toml::Spanned;

use super::compile::Compiler;
use super::{Body, Response, wire};
use crate::codes;
use crate::gate::GateRules;
use crate::parameter::Parameter;
use crate::provider::ProviderSpec;
use crate::record_call::{FileAction, FileOperation, FileSpec, Matching, PAGE_PARAMETERS, TableCounter};
use crate::service::{Service, slides};
use crate::typed::Typed;

/// Records of a page by default, and the most that an API may allow.
const PAGE_DEFAULT: u64 = 50;
const PAGE_MOST: u64 = 10_000;

/// Returns the message that a field of a key has a name for several codes: a key is the bytes of one of them.
fn half_named(service: &Service, place: &Range<usize>) -> Option<String> {
    let is_here = |index: FieldIndex| {
        let field = service.layout.field(index);
        field.offset == place.start && field.size == place.len()
    };
    let (index, codes) = service.types.iter().find_map(|(index, typed)| match typed {
        Typed::Codes(codes) if is_here(*index) => Some((*index, codes)),
        _ => None,
    })?;
    let first = |name: &str| codes.iter().position(|(_, known)| known == name);
    let (_, (_, name)) = codes.iter().enumerate().find(|(at, (_, name))| first(name) != Some(*at))?;
    let (code, _) = &codes[first(name)?];
    let field = &service.layout.field(index).name;
    Some(format!(
        "`{name}` names several codes of {field}, and the operation would find only the records with `{code}`"
    ))
}

/// Returns the kind of the number at a place of a key if the order of its bytes is not the order of its values.
fn unordered(service: &Service, place: &Range<usize>) -> Option<(String, &'static str)> {
    service.layout.fields.iter().find_map(|field| {
        let FieldKind::Item(encoding) = &field.kind else { return None };
        let kind = match encoding {
            Encoding::Zoned { sign, .. } if *sign != ZonedSign::Unsigned => "a DISPLAY number with a sign",
            Encoding::Packed { signed: true, .. } => "a packed number with a sign",
            Encoding::Binary { order: ByteOrder::Little, .. } => "a binary number with the low byte first",
            Encoding::Binary { signed: true, .. } => "a binary number with a sign",
            Encoding::Float32(_) | Encoding::Float64(_) => "a floating-point number",
            Encoding::Edited(_) => "a numeric-edited field",
            _ => return None,
        };
        (field.offset == place.start && field.size == place.len()).then(|| (field.name.clone(), kind))
    })
}

/// Describes the answer, for documents.
pub(super) fn description(action: FileAction) -> &'static str {
    match action {
        FileAction::Read => "The record.",
        FileAction::Insert => "The record as it was added.",
        FileAction::Replace | FileAction::Update => "The record as it is now.",
        FileAction::Delete => "The record is deleted.",
        FileAction::Browse => "A page of records, and a token for the next one.",
    }
}

impl Compiler<'_> {
    /// Compiles the operation on a file's records and reports every error.
    #[expect(clippy::too_many_arguments, reason = "the parts of one operation")]
    pub(super) fn file_operation(
        &mut self,
        at: &Spanned<wire::Operation>,
        method: &str,
        path: &str,
        service: &Service,
        parameters: &[Parameter],
        gate: &mut GateRules,
        body: &mut Option<Body>,
    ) -> Option<FileOperation> {
        let wire = at.get_ref();
        let ProviderSpec::File(spec) = &service.provider else {
            self.only_of_files(wire);
            return None;
        };
        let action = match &wire.action {
            None => FileAction::of_method(method),
            Some(word) => match FileAction::named(word.get_ref()) {
                Some(action) => action,
                None => {
                    let message = format!("`{}` is not an action", word.get_ref());
                    self.file.find(codes::VALUE, message, word, format!("write one of {}", FileAction::WORDS));
                    return None;
                }
            },
        };
        if action.changes() && method == "GET" || !action.changes() && !matches!(method, "GET" | "POST") {
            let message = format!("{method} does not fit the action `{}`", wire.action.as_ref()?.get_ref());
            let hint = "GET reads and browses; POST, PUT, PATCH and DELETE change the file";
            self.file.find(codes::RULES, message, &wire.method, hint);
        }
        let (index, key) = match &wire.by {
            None => (None, spec.key.clone()),
            Some(name) => match spec.indexes.iter().find(|index| index.name == *name.get_ref()) {
                Some(index) => (Some(index.name.clone()), index.key.clone()),
                None => {
                    let names: Vec<&str> = spec.indexes.iter().map(|index| index.name.as_str()).collect();
                    let message = format!("the service has no index `{}`", name.get_ref());
                    let hint = if names.is_empty() {
                        "add it to the service as `[[provider.index]]` with `name` and `field`".to_owned()
                    } else {
                        format!("the indexes are {}; `[[provider.index]]` of the service adds one", names.join(", "))
                    };
                    self.file.find(codes::NO_SUCH, message, name, hint);
                    return None;
                }
            },
        };
        if let (Some(by), true) = (&wire.by, action.changes()) {
            let hint = "records are changed by their primary key; remove `by`";
            self.file.find(codes::RULES, "`by` is for read and browse", by, hint);
        }
        let matching = self.matching(wire, action);
        let places = places(&service.request.plan);
        let parted = self.parted(at, action, &service.request.plan, &places);
        let mut key_nodes: Vec<(NodeId, Range<usize>)> =
            places.iter().filter(|(_, place)| overlap(place, &key.range())).cloned().collect();
        key_nodes.sort_by_key(|(_, place)| place.start);
        let shape = service.request.plan.shape();
        let is_text = |node: &NodeId| matches!(shape.node(*node).scalar(), Some(Scalar::Text { .. }));
        let key_texts = key_nodes.iter().map(|(node, _)| *node).filter(is_text).collect();
        self.body(at, action, body);
        let page = self.page(wire, action);
        let operation = FileOperation {
            action,
            index,
            matching,
            key_nodes,
            key_texts,
            counters: counters(&service.request.plan, &places),
            places,
            parted,
            slides: slides(&service.layout),
            has_views: service.layout.fields.iter().any(|field| field.redefines.is_some()),
            measure: self.measure(service),
            pad: service.request.plan.pad_byte(),
            page,
            mark: xxhash_rust::xxh3::xxh3_64(
                format!("{method} {path}\n{}\n{:?}\n{key:?}", spec.file, wire.by.as_ref().map(Spanned::get_ref))
                    .as_bytes(),
            ),
            key,
        };
        self.key(at, &operation, spec, service, parameters, gate);
        self.changed_places(at, &operation, service);
        Some(operation)
    }

    /// Adds the answer to a message without a reply.
    pub(super) fn accepted(&mut self, service: &Service, responses: &mut [Response]) {
        let ProviderSpec::Queue(spec) = &service.provider else { return };
        if spec.reply_queue.is_none()
            && let [response] = responses
            && response.status == 200
        {
            response.status = 202;
            "The message is on its queue.".clone_into(&mut response.description);
        }
    }

    fn only_of_files(&mut self, wire: &wire::Operation) {
        let page = wire.page.as_ref().map(|page| Spanned::new(page.span(), ()));
        let of = |text: &Option<Spanned<String>>| text.as_ref().map(|text| Spanned::new(text.span(), ()));
        for (key, at) in
            [("action", of(&wire.action)), ("by", of(&wire.by)), ("match", of(&wire.matching)), ("page", page)]
        {
            if let Some(at) = at {
                let message =
                    format!("`{key}` belongs to operations of a record file, but the service is not a record file");
                self.file.find(codes::RULES, message, &at, "remove it, or write `kind = \"file\"` in the service");
            }
        }
    }

    fn matching(&mut self, wire: &wire::Operation, action: FileAction) -> Matching {
        let Some(word) = &wire.matching else { return Matching::Equal };
        if action != FileAction::Browse {
            self.file.find(codes::RULES, "`match` belongs to a browse", word, "remove it");
        }
        Matching::named(word.get_ref()).unwrap_or_else(|| {
            let message = format!("`{}` is not a value of `match`", word.get_ref());
            let hint =
                "write equal (the default), generic (keys that begin with the values) or from (keys from there on)";
            self.file.find(codes::VALUE, message, word, hint);
            Matching::Equal
        })
    }

    fn body(&mut self, at: &Spanned<wire::Operation>, action: FileAction, body: &mut Option<Body>) {
        match (&at.get_ref().body, action.takes_body()) {
            (Some(given), false) => {
                let message = "the operation takes no body: it has a key and no record";
                self.file.find(codes::RULES, message, given, "remove `[operation.body]`");
            }
            // Without a member there is nothing to do.
            (_, true) => {
                let array = body.take().and_then(|body| body.array);
                *body = Some(Body { required: true, array });
            }
            (None, false) => {}
        }
    }

    fn page(&mut self, wire: &wire::Operation, action: FileAction) -> (usize, usize) {
        let Some(page) = &wire.page else { return (usize_of(PAGE_DEFAULT), 1_000) };
        if action != FileAction::Browse {
            self.file.find(codes::RULES, "`page` belongs to a browse", page, "remove it");
        }
        let page = page.get_ref();
        let most = self.records(page.most.as_ref(), 1_000, PAGE_MOST);
        let default = self.records(page.default.as_ref(), PAGE_DEFAULT.min(most), most);
        (usize_of(default), usize_of(most))
    }

    fn records(&mut self, given: Option<&Spanned<u64>>, default: u64, most: u64) -> u64 {
        let Some(given) = given else { return default };
        if !(1..=most).contains(given.get_ref()) {
            let message = format!("expected 1 to {most} records, found {}", given.get_ref());
            self.file.find(codes::VALUE, message, given, format!("leave it out for {default}"));
        }
        (*given.get_ref()).clamp(1, most)
    }

    /// Checks that a request for a record has the whole key. A request for a new record has it in its body or parameters.
    fn key(
        &mut self,
        at: &Spanned<wire::Operation>,
        operation: &FileOperation,
        spec: &FileSpec,
        service: &Service,
        parameters: &[Parameter],
        gate: &mut GateRules,
    ) {
        let shape = &service.request.shape;
        let key = &operation.key;
        let covered: usize = operation.key_nodes.iter().map(|(_, place)| place.len()).sum();
        let outside = operation.key_nodes.iter().find(|(_, place)| {
            let range = key.range();
            place.start < range.start || place.end > range.end
        });
        if let Some((node, _)) = outside {
            let message =
                format!("the key {} ends inside of {}, which a request sets as a whole", key.field, shape.path(*node));
            self.file.find(codes::RULES, message, at, "make the key of whole fields that the request shows");
            return;
        }
        if covered == 0 || operation.action == FileAction::Insert && covered < key.length {
            let message =
                format!("requests do not set all of the key {}: {covered} of {} bytes", key.field, key.length);
            let hint = "show its fields in the service's `[request]`";
            self.file.find(codes::RULES, message, at, hint);
            return;
        }
        if operation.action != FileAction::Insert
            && let Some(message) = operation.key_nodes.iter().find_map(|(_, place)| half_named(service, place))
        {
            let hint = "give each code of the field a name of its own in the service, or leave the operation out";
            self.file.find(codes::RULES, message, at, hint);
            return;
        }
        if operation.matching == Matching::From
            && let Some((field, kind)) = operation.key_nodes.iter().find_map(|(_, place)| unordered(service, place))
        {
            let message =
                format!("`from` follows the order of the bytes, and {field} is {kind}: values come in another order");
            let hint = "make the key of text, unsigned DISPLAY or unsigned packed numbers, or leave `match` out";
            let place = self.file.text.place(&at.get_ref().matching.as_ref().map_or_else(|| at.span(), Spanned::span));
            self.file.findings.push(Finding::warning(codes::BYTE_ORDER, Fault::Config, message).at(place).hint(hint));
        }
        let given = |node: NodeId| {
            let parameter = parameters.iter().find(|parameter| parameter.node == node);
            // Assigned values close a node too.
            parameter.map_or(gate.closed[node.index()], |parameter| parameter.required || parameter.default.is_some())
        };
        if operation.action.needs_key() {
            for (node, _) in operation.key_nodes.iter().filter(|(node, _)| !given(*node)) {
                let message =
                    format!("the operation does not say which record: {} is part of the key", shape.path(*node));
                let hint = "add a parameter for it, such as `in = \"path\"`, or assign it";
                self.file.find(codes::RULES, message, at, hint);
            }
        }
        let stranger = parameters.iter().find(|parameter| {
            !operation.action.takes_body() && operation.key_nodes.iter().all(|(node, _)| *node != parameter.node)
        });
        if let Some(parameter) = stranger {
            let message = format!("the parameter `{}` is not part of the key {}", parameter.name, key.field);
            let hint = match spec.indexes.as_slice() {
                [] => "remove it: records are found by their key".to_owned(),
                _ => "remove it, or name the index that it belongs to with `by`".to_owned(),
            };
            self.file.find(codes::RULES, message, at, hint);
        }
        if operation.action == FileAction::Browse
            && let Some(parameter) = parameters.iter().find(|p| PAGE_PARAMETERS.contains(&p.name.as_str()))
        {
            let message = format!("`{}` is a parameter of every browse", parameter.name);
            self.file.find(codes::TWICE, message, at, "rename the operation's parameter");
        }
        if operation.action == FileAction::Insert {
            let open = operation.key_nodes.iter().map(|(node, _)| *node).filter(|node| !gate.closed[node.index()]);
            let missing: Vec<NodeId> = open.filter(|node| !gate.required.contains(node)).collect();
            gate.required.extend(missing);
        } else if operation.action.takes_body() {
            // The key is in the path; a body that has it too would have it twice.
            for (node, _) in &operation.key_nodes {
                gate.closed[node.index()] = true;
            }
        }
    }

    /// Returns the plan by which the length of a stored record is found, if it varies.
    fn measure(&mut self, service: &Service) -> Option<RecordPlan> {
        if !slides(&service.layout) {
            return None;
        }
        match RecordPlan::new(&service.layout, &Interface::default(), &service.policies, service.charset) {
            Ok(plan) => Some(plan),
            Err(findings) => {
                self.file.findings.extend(findings.0);
                None
            }
        }
    }

    /// Returns, for tables whose elements have bytes that no request sets, the bytes that requests set. A field with a name among the others is a
    /// finding of operations that write whole tables: the elements of a request do not say which element of the record they were.
    fn parted(
        &mut self,
        at: &Spanned<wire::Operation>,
        action: FileAction,
        plan: &RecordPlan,
        places: &[(NodeId, Range<usize>)],
    ) -> BTreeMap<NodeId, Vec<Range<usize>>> {
        let mut parted = BTreeMap::new();
        if !matches!(action, FileAction::Replace | FileAction::Update) {
            return parted;
        }
        for (list, place) in places.iter().filter(|(node, _)| plan.shape().node(*node).is_list()) {
            let Some(field) = plan.field_of(*list) else { continue };
            let (runs, hidden) = element(plan, *list, field);
            let layout = plan.layout();
            if !hidden.is_empty() {
                let names: Vec<String> = hidden.iter().map(|field| layout.field(*field).name.clone()).collect();
                let message = format!(
                    "requests write the whole table {} and do not show {} of its elements, which would lose their content or move to another element",
                    layout.field(field).name,
                    names.join(", ")
                );
                let hint = "show these fields in the service's `[request]`, exclude the whole table from it, or leave the operation out";
                self.file.find(codes::RULES, message, at, hint);
            }
            let stride = layout.field(field).stride;
            if runs.len() != 1 || runs[0] != (0..stride) {
                let starts = (place.start..place.end).step_by(stride.max(1));
                let bytes = starts.flat_map(|start| runs.iter().map(move |run| start + run.start..start + run.end));
                parted.insert(*list, bytes.collect());
            }
        }
        parted
    }

    /// Checks updates of records whose positions depend on counters, in which fields that the request does not set cannot be preserved.
    fn changed_places(&mut self, at: &Spanned<wire::Operation>, operation: &FileOperation, service: &Service) {
        if !operation.slides || !matches!(operation.action, FileAction::Replace | FileAction::Update) {
            return;
        }
        if operation.action == FileAction::Update {
            let message = "the record has a table of varying length, so single members cannot be updated";
            self.file.find(codes::RULES, message, at, "use PUT, which replaces the record");
            return;
        }
        let length = |(node, place): &(NodeId, Range<usize>)| {
            operation.parted.get(node).map_or(place.len(), |runs| runs.iter().map(Range::len).sum())
        };
        let shown: usize = operation.places.iter().map(length).sum();
        if shown < service.layout.length_max {
            let message = "the request does not show all of the record, and a table of varying length moves the rest: a replacement would lose it";
            let hint = "show every field in the service's `[request]`, or leave the operation out";
            self.file.find(codes::RULES, message, at, hint);
        }
    }
}

fn usize_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Returns the bytes of one element of a table that requests set, as ranges from its start, and the fields with a name that have others.
fn element(plan: &RecordPlan, list: NodeId, field: FieldIndex) -> (Vec<Range<usize>>, Vec<FieldIndex>) {
    let (shape, layout) = (plan.shape(), plan.layout());
    let table = layout.field(field);
    // Starts of all occurrences of a field in one element.
    let starts = |of: FieldIndex| {
        let mut starts = vec![layout.field(of).offset - table.offset];
        let mut at = Some(of);
        while let Some(inner) = at.filter(|inner| *inner != field) {
            if let Some(occurs) = layout.field(inner).occurs {
                let steps = 0..usize_of(u64::from(occurs.max));
                let stride = layout.field(inner).stride;
                starts = starts.iter().flat_map(|start| steps.clone().map(move |step| start + step * stride)).collect();
            }
            at = layout.field(inner).parent;
        }
        starts
    };
    let mut is_set = vec![false; table.stride];
    let nodes = list.index()..shape.node(list).subtree_end.index();
    for node in shape.iter().map(|(id, _)| id).filter(|id| nodes.contains(&id.index())) {
        let Some(of) = plan.field_of(node) else { continue };
        let leaf = shape.node(node).scalar().map(|_| of);
        // A list sets its counter. One outside of the element is not part of it.
        let counter = layout.field(of).occurs.and_then(|occurs| occurs.depending_on);
        let counter = counter.filter(|counter| *counter > field && *counter < table.subtree_end);
        for set in leaf.into_iter().chain(counter) {
            for start in starts(set) {
                is_set[start..start + layout.field(set).size].fill(true);
            }
        }
    }
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in (0..is_set.len()).filter(|at| is_set[*at]) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    let inside = layout.iter().filter(|(index, _)| *index >= field && *index < table.subtree_end);
    let named = inside.filter(|(_, of)| !of.filler && matches!(of.kind, FieldKind::Item(_)));
    let is_hidden = |(index, of): &(FieldIndex, &Field)| {
        starts(*index).into_iter().any(|start| is_set[start..start + of.size].contains(&false))
    };
    (runs, named.filter(is_hidden).map(|(index, _)| index).collect())
}

/// Returns the distinct counters of all tables in these places.
fn counters(plan: &RecordPlan, places: &[(NodeId, Range<usize>)]) -> Vec<TableCounter> {
    let (shape, layout) = (plan.shape(), plan.layout());
    let mut counters: BTreeMap<FieldIndex, TableCounter> = BTreeMap::new();
    let mut lists = places.iter().filter(|(list, _)| shape.node(*list).is_list()).peekable();
    for (node, _) in shape.iter() {
        // Nodes are in the order of a walk, and the lists are outside of each other.
        while lists.next_if(|(list, _)| shape.node(*list).subtree_end <= node).is_some() {}
        let Some((list, place)) = lists.peek().filter(|(list, _)| *list <= node) else { continue };
        let field = plan.field_of(node).map(|field| layout.field(field));
        let Some(counter) = field.and_then(|field| field.occurs?.depending_on) else { continue };
        let bytes = {
            let counter = layout.field(counter);
            counter.offset..counter.offset + counter.size
        };
        if overlap(&bytes, place) {
            // It is set with the element that it is in.
            continue;
        }
        let member = || shape.iter().map(|(id, _)| id).find(|id| plan.field_of(*id) == Some(counter));
        let known =
            counters.entry(counter).or_insert_with(|| TableCounter { place: bytes, node: member(), lists: Vec::new() });
        if known.lists.last() != Some(list) {
            known.lists.push(*list);
        }
    }
    counters.into_values().collect()
}

/// Bytes of each member that a request can set: of elementary fields, and of whole tables.
fn places(plan: &RecordPlan) -> Vec<(NodeId, Range<usize>)> {
    let (shape, layout) = (plan.shape(), plan.layout());
    let in_list = |node: NodeId| {
        let mut around = shape.node(node).parent;
        while let Some(id) = around {
            if shape.node(id).is_list() {
                return true;
            }
            around = shape.node(id).parent;
        }
        false
    };
    let members = shape.iter().filter(|(id, node)| (node.is_list() || node.kind != NodeKind::Group) && !in_list(*id));
    members
        .filter_map(|(id, _)| {
            let field = layout.field(plan.field_of(id)?);
            let length = field.occurs.map_or(field.size, |occurs| usize_of(u64::from(occurs.max)) * field.stride);
            Some((id, field.offset..field.offset + length))
        })
        .collect()
}
