//! A running map: the sink that a source drives, and the execution order of the statements.
//!
//! The source's values are stored in frames of slots, one frame for each occurrence of a list. A block of operations belongs to a loop, and the root
//! block to the document. A block stops before a loop that is mapped while its list is read. It resumes when that list begins, and runs to its end
//! when its occurrence ends. The memory of the occurrence is then released.

use core::cmp::Ordering;

use quayline_core::{Code, Document, Finding, Limits, NodeId, Severity, Sink, Value};

use super::emit::Target;
use super::fault::{RunFault, What};
use crate::codes;
use crate::host::{Host, Outputs};
use crate::observe::{Observer, Unwatched};
use crate::plan::{Action, LoopPlan, MapPlan, Op, ScopeId, StatementId};
use crate::value::{ARENA_MAX, Arena, NONE, Val, small};

/// Maps one document after another: drive it as the [`Sink`] of the source, then call [`Mapper::outcome`].
#[derive(Debug)]
pub struct Mapper<'p, O, H, V = Unwatched> {
    pub(super) plan: &'p MapPlan,
    pub(super) outputs: O,
    pub(super) host: H,
    pub(super) observer: V,
    pub(super) arena: Arena,
    pub(super) slots: Vec<Val>,
    /// Source position at which each slot's value was read; only for observers.
    pub(super) origins: Vec<u64>,
    /// Frames that are being filled.
    open: Vec<Frame>,
    /// Lists that are being read and have frames.
    lists: Vec<OpenList>,
    pub(super) open_base: Vec<u32>,
    pub(super) cursors: Vec<u32>,
    /// Occurrences that each limited loop has taken.
    pub(super) taken: Vec<u32>,
    pub(super) vars: Vec<Val>,
    pub(super) var_bytes: Vec<Vec<u8>>,
    /// Characters of each text of `var_bytes`, and bytes of all.
    pub(super) var_chars: Vec<usize>,
    pub(super) var_bytes_sum: usize,
    pub(super) bound: Vec<Val>,
    activations: Vec<Activation>,
    pub(super) target: Target,
    /// Suspended targets while another part is recorded.
    pub(super) outer_targets: Vec<Target>,
    pub(super) recordings: Vec<Document>,
    pub(super) recording: Vec<u16>,
    pub(super) recording_output: Vec<u16>,
    pub(super) scratch: Vec<u8>,
    pub(super) statement: u32,
    faults: Vec<RunFault>,
    findings_max: usize,
    /// Bytes of one text that the map makes.
    pub(super) text_max: usize,
    /// Bytes that the map may keep of one document.
    pub(super) kept_max: usize,
    pub(super) outcome: Counts,
    /// True if the source document is refused: the rest of it is void.
    pub(super) refused: bool,
    pub(super) dropped: bool,
    /// True if it is refused by a fault outside of its documents, which applies to the following documents as well.
    pub(super) refused_outside: bool,
    pub(super) dropped_outside: bool,
    peak: usize,
    /// Targets of the document whose 32-bit floats changed the number.
    pub(super) rounded: Vec<u32>,
}

/// Outcome of mapping one source document.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Documents written, for each output.
    pub written: Vec<u64>,
    /// Documents begun that findings refused.
    pub refused: u64,
    /// Documents left out by `drop`.
    pub dropped: u64,
    /// All findings, including those raised by the map.
    pub findings: Vec<Finding>,
    /// Findings beyond the limit, only counted. Errors replace warnings and notes.
    pub findings_not_kept: u64,
    /// True if one of all findings is an error.
    pub has_errors: bool,
    /// Most bytes that the map kept of the document.
    pub bytes_kept: usize,
    /// Leaves, with their outputs, whose 32-bit floats do not give the float back that the map wrote.
    pub rounded: Vec<(usize, NodeId)>,
}

impl Outcome {
    /// Code of a warning about [`Outcome::rounded`].
    pub const ROUNDED: Code = codes::FLOAT_DIGITS;

    /// Returns true if no part of the source document was refused.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.refused == 0 && !self.has_errors
    }
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) written: Vec<u64>,
    pub(super) refused: u64,
    pub(super) dropped: u64,
    pub(super) not_kept: u64,
    /// Errors in the list of faults.
    errors_kept: usize,
    pub(super) has_errors: bool,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    base: u32,
    bytes: u32,
    /// A choice points to it: it stays.
    kept: bool,
    /// Source position up to which the occurrence is mapped.
    high: u32,
}

#[derive(Clone, Copy, Debug)]
struct OpenList {
    scope: ScopeId,
    count: u32,
    /// The loop that maps it while it is read.
    streams: Option<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Activation {
    block: u32,
    pc: u32,
    /// Number of open frames with its own.
    frames: usize,
    /// Number of open target nodes below this block.
    depth: usize,
    over: bool,
    /// What to restore at its end, if it makes documents.
    dropped_outside: Option<bool>,
}

/// If the memory of the variables exceeds this many bytes, it is released between documents.
const VAR_BYTES_KEPT: usize = 1 << 20;

/// Control flow after an operation.
pub(super) enum Flow {
    Next,
    To(u32),
    Over,
}

impl<'p, O: Outputs, H: Host> Mapper<'p, O, H> {
    /// Creates a mapper without an observer.
    #[must_use]
    pub fn new(plan: &'p MapPlan, outputs: O, host: H) -> Self {
        Mapper::watched(plan, outputs, host, Unwatched, &Limits::default())
    }
}

impl<'p, O: Outputs, H: Host, V: Observer> Mapper<'p, O, H, V> {
    /// Creates a mapper with an observer and limits.
    #[must_use]
    pub fn watched(plan: &'p MapPlan, outputs: O, host: H, observer: V, limits: &Limits) -> Self {
        let mut arena = Arena::default();
        arena.keep(&plan.constants);
        Mapper {
            plan,
            outputs,
            host,
            observer,
            arena,
            slots: Vec::new(),
            origins: Vec::new(),
            open: Vec::new(),
            lists: Vec::new(),
            open_base: vec![NONE; plan.scopes.len()],
            cursors: vec![NONE; plan.cursors],
            taken: vec![0; plan.limits.len()],
            vars: vec![Val::Absent; plan.vars.len()],
            var_bytes: vec![Vec::new(); plan.vars.len()],
            var_chars: vec![0; plan.vars.len()],
            var_bytes_sum: 0,
            bound: vec![Val::Absent; plan.vars.len()],
            activations: Vec::new(),
            target: Target::default(),
            outer_targets: Vec::new(),
            recordings: vec![Document::new(); plan.recordings],
            recording: Vec::new(),
            recording_output: Vec::new(),
            scratch: Vec::new(),
            statement: 0,
            faults: Vec::new(),
            findings_max: limits.findings_max,
            text_max: limits.map_text_bytes_max,
            kept_max: ARENA_MAX,
            outcome: Counts { written: vec![0; plan.outputs.len()], ..Counts::default() },
            refused: false,
            dropped: false,
            refused_outside: false,
            dropped_outside: false,
            peak: 0,
            rounded: Vec::new(),
        }
    }

    /// Returns the outcome of the last document. Call it once for each document, after its end.
    pub fn outcome(&mut self) -> Outcome {
        let findings = self.faults.drain(..).map(|fault| fault.finding(self.plan)).collect();
        let leaf = |target: u32| &self.plan.targets[target as usize];
        let leaf = |target| (usize::from(leaf(target).output), leaf(target).node);
        let rounded = self.rounded.drain(..).map(leaf).collect();
        let outputs = self.plan.outputs.len();
        let counts = core::mem::replace(&mut self.outcome, Counts { written: vec![0; outputs], ..Counts::default() });
        Outcome {
            written: counts.written,
            refused: counts.refused,
            dropped: counts.dropped,
            findings,
            findings_not_kept: counts.not_kept,
            has_errors: counts.has_errors,
            bytes_kept: core::mem::take(&mut self.peak),
            rounded,
        }
    }

    /// Returns true if the last document had no finding, was not dropped, not rounded, and was complete. This is a cheap check before [`Mapper::outcome`].
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let Counts { refused, dropped, not_kept, .. } = self.outcome;
        self.faults.is_empty() && (refused, dropped, not_kept) == (0, 0, 0) && self.rounded.is_empty()
    }

    /// Returns true if statements run when this node is left: the document, or an occurrence of a list. Until then, values are only kept.
    #[inline]
    #[must_use]
    pub fn runs_at(&self, node: NodeId) -> bool {
        node == NodeId::ROOT || matches!(self.plan.actions[node.index()], Action::List(_))
    }

    /// Returns the sinks.
    pub fn outputs(&mut self) -> &mut O {
        &mut self.outputs
    }

    /// Returns the host.
    pub fn host(&mut self) -> &mut H {
        &mut self.host
    }

    /// Returns the observer.
    pub fn observer(&mut self) -> &mut V {
        &mut self.observer
    }

    /// Consumes the mapper and returns the sinks, the host and the observer.
    pub fn into_parts(self) -> (O, H, V) {
        (self.outputs, self.host, self.observer)
    }

    #[cold]
    pub(super) fn fault(&mut self, what: What, path: Option<String>, source: Option<NodeId>) {
        let source = source.map(|node| self.plan.source.path(node));
        let fault = RunFault { what, statement: self.statement, path, source };
        let is_error = fault.severity(self.plan) == Severity::Error;
        if is_error {
            self.outcome.has_errors = true;
            self.refuse();
        }
        if self.faults.len() < self.findings_max {
            self.faults.push(fault);
            self.outcome.errors_kept += usize::from(is_error);
            return;
        }
        self.outcome.not_kept += 1;
        // An error says why the document is refused, so it takes the place of the last warning or note.
        let less = |kept: &RunFault| kept.severity(self.plan) != Severity::Error;
        if is_error
            && self.outcome.errors_kept < self.faults.len()
            && let Some(at) = self.faults.iter().rposition(less)
        {
            self.faults.remove(at);
            self.faults.push(fault);
            self.outcome.errors_kept += 1;
        }
    }

    /// Returns true if a function has already failed for the same reason.
    pub(super) fn has_failed(&self, function: &str, reason: &str) -> bool {
        let same =
            |fault: &RunFault| matches!(&fault.what, What::Function(name, why) if name == function && why == reason);
        self.faults.iter().any(same)
    }

    fn begin(&mut self) {
        let plan = self.plan;
        self.slots.clear();
        self.origins.clear();
        self.open.clear();
        self.lists.clear();
        self.activations.clear();
        self.arena.release(plan.constants.len());
        self.arena.full = false;
        self.vars.fill(Val::Absent);
        // One long text of a document does not keep its memory for all that follow.
        if self.var_bytes_sum > VAR_BYTES_KEPT {
            self.var_bytes.fill(Vec::new());
            self.var_bytes_sum = 0;
        }
        self.target.clear();
        self.outer_targets.clear();
        self.recording.clear();
        self.recording_output.clear();
        self.refused = false;
        self.dropped = false;
        self.refused_outside = false;
        self.dropped_outside = false;
        for recording in &mut self.recordings {
            recording.clear();
        }
        let base = self.frame(0);
        if let Some(cursor) = self.cursors.first_mut() {
            *cursor = base;
        }
        self.activations.push(Activation {
            block: plan.root,
            pc: 0,
            frames: 1,
            depth: 0,
            over: false,
            dropped_outside: None,
        });
    }

    /// Opens a frame for an occurrence.
    #[inline]
    fn frame(&mut self, scope: ScopeId) -> u32 {
        let base = small(self.slots.len());
        let width = self.plan.scopes[usize::from(scope)].width as usize;
        let bytes = small(self.arena.mark());
        self.slots.resize(self.slots.len() + width, Val::Absent);
        if self.kept() > self.kept_max {
            self.arena.full = true;
        }
        if V::WATCHES {
            self.origins.resize(self.slots.len(), 0);
        }
        self.open.push(Frame { base, bytes, kept: false, high: 0 });
        self.open_base[usize::from(scope)] = base;
        base
    }

    fn end(&mut self) {
        self.advance(u32::MAX, None);
        self.activations.clear();
        self.note_peak();
        if self.arena.full {
            self.fault(What::Size, None, None);
        }
        self.close_target(0);
        self.open.clear();
    }

    pub(super) fn faults_so_far(&self) -> u64 {
        self.faults.len() as u64 + self.outcome.not_kept
    }

    /// Returns the bytes of the frames and values that are kept, with the constants.
    #[inline(always)]
    fn kept(&self) -> usize {
        self.slots.len() * size_of::<Val>() + self.arena.mark()
    }

    fn note_peak(&mut self) {
        self.peak = self.peak.max(self.kept() - self.plan.constants.len());
    }

    /// Checks what is kept together with the recordings, which grow by an occurrence at a time.
    fn bound_recordings(&mut self) {
        if !self.recording.is_empty() {
            let recorded: usize = self.recordings.iter().map(Document::memory).sum();
            self.arena.full |= self.kept().saturating_add(recorded) > self.kept_max;
        }
    }

    fn begin_occurrence(&mut self, scope: ScopeId) {
        let mut streams = None;
        let mut index = 0;
        if let Some(list) = self.lists.last_mut().filter(|list| list.scope == scope) {
            index = list.count;
            list.count = list.count.saturating_add(1);
            streams = list.streams;
        }
        let base = self.frame(scope);
        self.slots[base as usize] = Val::Link { next: NONE, index };
        if let Some(number) = streams {
            let plan = &self.plan.loops[usize::from(number)];
            let over = self.arena.full || self.has_enough(plan.limit);
            self.cursors[usize::from(plan.cursor)] = base;
            self.activations.push(Activation {
                block: plan.body,
                pc: 0,
                frames: self.open.len(),
                depth: self.target.depth(),
                over,
                dropped_outside: plan.makes_documents.then_some(self.dropped_outside),
            });
        }
    }

    fn end_occurrence(&mut self, scope: ScopeId) {
        if self.activations.last().is_some_and(|activation| activation.frames == self.open.len() && self.open.len() > 1)
        {
            self.advance(u32::MAX, None);
            let ended = self.activations.pop();
            self.restore(ended.and_then(|activation| activation.dropped_outside));
            self.bound_recordings();
        }
        let plan = &self.plan.scopes[usize::from(scope)];
        if !plan.picks.is_empty() || !plan.folds.is_empty() {
            self.notice(scope);
        }
        let Some(frame) = self.open.pop() else { return };
        // Of a document that is too large, no further occurrence is kept.
        if plan.retained && !self.arena.full {
            self.link(scope, frame.base);
        } else if !frame.kept {
            if self.open.len() < 3 {
                self.note_peak();
            }
            self.slots.truncate(frame.base as usize);
            self.arena.release(frame.bytes as usize);
            if V::WATCHES {
                self.origins.truncate(frame.base as usize);
            }
        }
    }

    /// Appends a kept occurrence to its list.
    fn link(&mut self, scope: ScopeId, base: u32) {
        let plan = &self.plan.scopes[usize::from(scope)];
        let Some(parent) = plan.parent else { return };
        let at = (self.open_base[usize::from(parent)] + plan.list_slot) as usize;
        let list = match self.slots[at] {
            Val::List { first, last, count } if count > 0 => {
                if let Val::Link { next, .. } = &mut self.slots[last as usize] {
                    *next = base;
                }
                Val::List { first, last: base, count: count + 1 }
            }
            _ => Val::List { first: base, last: base, count: 1 },
        };
        self.slots[at] = list;
    }

    /// Keeps the frame of the occurrence that ends now.
    pub(super) fn keep_frame(&mut self) {
        if let Some(frame) = self.open.last_mut() {
            frame.kept = true;
        }
    }

    /// Runs the innermost block as far as the values read so far allow: up to the source position `until`, or into the loop over `list`.
    fn advance(&mut self, until: u32, list: Option<ScopeId>) {
        let plan = self.plan;
        let Some(mut activation) = self.activations.last().copied() else { return };
        if activation.frames != self.open.len() {
            return;
        }
        if plan.ordered
            && let Some(frame) = self.open.last_mut()
        {
            frame.high = frame.high.max(until);
        }
        let block = &plan.blocks[activation.block as usize];
        while !activation.over && (activation.pc as usize) < block.code.len() {
            let pc = activation.pc as usize;
            if block.ready[pc] > until {
                break;
            }
            if let Op::Loop(number) = block.code[pc]
                && plan.loops[usize::from(number)].streamed
            {
                let over = &plan.loops[usize::from(number)];
                if list == Some(over.scope) {
                    if let Some(open) = self.lists.last_mut() {
                        open.streams = Some(number);
                    }
                    self.restart(over.restarts);
                    self.statement = over.statement;
                    self.ran(over.statement);
                    self.send_list();
                    break;
                }
                if plan.scopes[usize::from(over.scope)].node.0 >= until {
                    break;
                }
                // The list did not come.
                activation.pc += 1;
                continue;
            }
            match self.operation(block.code[pc]) {
                Flow::Next => activation.pc += 1,
                Flow::To(to) => activation.pc = to,
                Flow::Over => {
                    activation.over = true;
                    self.close_target(activation.depth);
                }
            }
        }
        if let Some(last) = self.activations.last_mut() {
            *last = activation;
        }
    }

    /// Runs a block at once, over frames that are kept.
    pub(super) fn block(&mut self, block: u32) {
        let plan = self.plan;
        let block = &plan.blocks[block as usize];
        let depth = self.target.depth();
        let mut pc = 0usize;
        while let Some(op) = block.code.get(pc) {
            match self.operation(*op) {
                Flow::Next => pc += 1,
                Flow::To(to) => pc = to as usize,
                Flow::Over => {
                    self.close_target(depth);
                    return;
                }
            }
        }
    }

    /// Runs the body of a loop for one kept occurrence.
    fn body(&mut self, over: &LoopPlan) {
        let before = over.makes_documents.then_some(self.dropped_outside);
        self.block(over.body);
        self.restore(before);
        self.bound_recordings();
    }

    /// Ends the effect of a `drop` outside of the documents of an occurrence.
    fn restore(&mut self, dropped_outside: Option<bool>) {
        if let Some(before) = dropped_outside {
            (self.dropped, self.dropped_outside) = (before, before);
        }
    }

    /// Runs a loop over kept occurrences.
    pub(super) fn kept_loop(&mut self, number: u16) {
        let plan = self.plan;
        let over = &plan.loops[usize::from(number)];
        self.statement = over.statement;
        self.ran(over.statement);
        for pick in &over.picks {
            if !self.choose(*pick) {
                return;
            }
        }
        let owner = self.cursors[usize::from(over.owner)];
        let slot = plan.scopes[usize::from(over.scope)].list_slot;
        let Some(Val::List { first, .. }) = self.slots.get(owner.wrapping_add(slot) as usize).copied() else { return };
        self.send_list();
        self.restart(over.restarts);
        if !over.sort.is_empty() {
            return self.sorted_loop(number, first);
        }
        let mut at = first;
        while at != NONE && !self.arena.full && !self.has_enough(over.limit) {
            self.cursors[usize::from(over.cursor)] = at;
            self.body(over);
            at = match self.slots.get(at as usize) {
                Some(Val::Link { next, .. }) => *next,
                _ => NONE,
            };
        }
    }

    /// Begins to count the occurrences that a loop takes.
    fn restart(&mut self, limit: Option<u16>) {
        if let Some(limit) = limit {
            self.taken[usize::from(limit)] = 0;
        }
    }

    /// Returns true if a loop has reached its limit of occurrences.
    pub(super) fn has_enough(&self, limit: Option<u16>) -> bool {
        limit.is_some_and(|limit| self.taken[usize::from(limit)] >= self.plan.limits[usize::from(limit)])
    }

    /// Returns true if the filters at the beginning of a block hold.
    fn passes(&mut self, block: u32) -> bool {
        let plan = self.plan;
        let conditions = plan.blocks[block as usize].code.iter().map_while(|op| match op {
            Op::Filter { expr, statement } => Some((*expr, *statement)),
            _ => None,
        });
        for (expr, statement) in conditions {
            self.statement = statement;
            let mark = self.arena.mark();
            let holds = self.truth(expr);
            self.arena.release(mark);
            if !holds {
                return false;
            }
        }
        true
    }

    /// Runs a loop over kept occurrences in the order of their keys. Absent keys come first; occurrences with equal keys keep their order.
    ///
    /// Occurrences are filtered before they are sorted, because the conditions may guard the evaluation of the key.
    fn sorted_loop(&mut self, number: u16, first: u32) {
        let plan = self.plan;
        let over = &plan.loops[usize::from(number)];
        let mark = self.arena.mark();
        let mut keys: Vec<Val> = Vec::new();
        let mut rows: Vec<(usize, u32)> = Vec::new();
        let mut at = first;
        while at != NONE {
            self.cursors[usize::from(over.cursor)] = at;
            if self.passes(over.body) {
                rows.push((keys.len(), at));
                self.statement = over.statement;
                for key in &over.sort {
                    let val = self.eval(key.expr);
                    // A value without an order, such as NaN, is reported and counts as absent.
                    let is_ordered =
                        val.is_absent() || self.ordering(key.order, val, val, key.expr, key.expr).is_some();
                    keys.push(if is_ordered { val } else { Val::Absent });
                }
            }
            at = match self.slots.get(at as usize) {
                Some(Val::Link { next, .. }) => *next,
                _ => NONE,
            };
        }
        rows.sort_by(|(a, _), (b, _)| {
            for (i, key) in over.sort.iter().enumerate() {
                let (x, y) = (keys[a + i], keys[b + i]);
                let order = match (x.is_absent(), y.is_absent()) {
                    (false, false) => self.ordering(key.order, x, y, key.expr, key.expr).unwrap_or(Ordering::Equal),
                    (x, y) => y.cmp(&x),
                };
                let order = if key.descending { order.reverse() } else { order };
                if order != Ordering::Equal {
                    return order;
                }
            }
            Ordering::Equal
        });
        self.arena.release(mark);
        for (_, at) in rows {
            if self.arena.full || self.has_enough(over.limit) {
                return;
            }
            self.cursors[usize::from(over.cursor)] = at;
            self.body(over);
        }
    }

    #[inline(always)]
    pub(super) fn ran(&mut self, statement: u32) {
        if V::WATCHES {
            self.observer.ran(StatementId(statement));
        }
    }

    #[inline(always)]
    fn put(&mut self, slot: u32, value: Value<'_>) {
        let Some(frame) = self.open.last() else { return };
        let at = (frame.base + slot) as usize;
        let Some(place) = self.slots.get_mut(at) else { return };
        // The most frequent kind is built in place.
        match value {
            Value::Ascii(run) => *place = Val::Ascii(self.arena.keep_run(run)),
            Value::Digits(d) => {
                let bytes = self.arena.keep_run(d.digits);
                *place = Val::Digits { bytes, negative: d.negative, scale: d.scale };
            }
            value => *place = self.arena.store(value),
        }
        if V::WATCHES {
            self.origins[at] = self.observer.source_position();
        }
    }

    #[cold]
    fn late(&mut self, node: NodeId) {
        self.fault(What::Order, Some(self.plan.source.path(node)), Some(node));
    }

    fn is_late(&self, node: NodeId) -> bool {
        self.open.last().is_some_and(|frame| node.0 < frame.high)
    }
}

impl<O: Outputs, H: Host, V: Observer> Sink for Mapper<'_, O, H, V> {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.begin();
            return;
        }
        match self.plan.actions[node.index()] {
            Action::List(scope) => self.begin_occurrence(scope),
            Action::Presence(slot) => {
                if self.is_late(node) {
                    self.late(node);
                }
                self.put(slot, Value::Bool(true));
            }
            _ => {}
        }
    }

    fn leave(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.end();
        } else if let Action::List(scope) = self.plan.actions[node.index()] {
            self.end_occurrence(scope);
        }
    }

    fn open_list(&mut self, node: NodeId) {
        let Action::List(scope) = self.plan.actions[node.index()] else { return };
        if self.is_late(node) {
            self.late(node);
        }
        self.lists.push(OpenList { scope, count: 0, streams: None });
        let plan = &self.plan.scopes[usize::from(scope)];
        if plan.retained
            && let Some(parent) = plan.parent
        {
            // A list that has no occurrences exists too.
            let at = (self.open_base[usize::from(parent)] + plan.list_slot) as usize;
            if self.slots[at].is_absent() {
                self.slots[at] = Val::List { first: NONE, last: NONE, count: 0 };
            }
        }
        if self.plan.scopes[usize::from(scope)].streamed {
            self.advance(self.plan.scopes[usize::from(scope)].begins.0, Some(scope));
        }
    }

    fn close_list(&mut self, node: NodeId) {
        let Action::List(_) = self.plan.actions[node.index()] else { return };
        if let Some(OpenList { streams: Some(_), .. }) = self.lists.pop()
            && let Some(activation) = self.activations.last_mut()
        {
            activation.pc += 1;
        }
    }

    #[inline]
    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if V::WATCHES && !matches!(value, Value::Null) {
            self.observer.value(node);
        }
        match self.plan.actions[node.index()] {
            Action::Slot(slot) => {
                if self.is_late(node) {
                    self.late(node);
                }
                self.put(slot, value);
            }
            Action::List(scope) => {
                self.begin_occurrence(scope);
                self.put(1, value);
                self.end_occurrence(scope);
            }
            Action::Ignore | Action::Presence(_) => {}
        }
    }

    fn discard(&mut self) {
        self.dropped = true;
        self.discard_documents();
        self.open.clear();
        self.activations.clear();
    }
}

#[cfg(test)]
mod tests {
    use quayline_core::{NodeKind, Occurs, Scalar, Shape};

    use super::*;
    use crate::{Absent, MapSpec, NoFiles, One, Options, Output, SourceOrder, StillHost, compile};

    const NUMBER: Scalar = Scalar::Decimal { digits: 9, scale: 0, signed: false };

    /// A group with a list of numbers, and an optional number before or after it.
    fn shape(list: &str, is_first: bool) -> Shape {
        let mut builder = Shape::builder("doc");
        if is_first {
            builder.scalar("t", NUMBER, Occurs::Optional);
        }
        builder.open(list, Occurs::Many { min: 0, max: None });
        builder.scalar("n", NUMBER, Occurs::Once);
        builder.close();
        if !is_first {
            builder.scalar("t", NUMBER, Occurs::Optional);
        }
        builder.finish()
    }

    /// Counts the occurrences that it receives.
    #[derive(Default)]
    struct Counted(usize);

    impl Sink for Counted {
        fn enter(&mut self, node: NodeId) {
            self.0 += usize::from(node != NodeId::ROOT);
        }
        fn leave(&mut self, _: NodeId) {}
        fn open_list(&mut self, _: NodeId) {}
        fn close_list(&mut self, _: NodeId) {}
        fn value(&mut self, _: NodeId, _: Value<'_>) {}
        fn discard(&mut self) {}
    }

    /// Only the bytes of values counted, so a list of numbers, which need none, took all memory.
    #[test]
    fn frames_and_recordings_count_as_kept() {
        let (source, target) = (shape("tag", false), shape("row", true));
        let kept = "t = t\nfor tag make row { n = n }\n";
        let recorded = "var s: decimal(9) = 0\nfor tag make row { n = n  set s += n }\nt = s\n";
        let sorted = "t = t\nfor tag sort by n desc make row { n = n }\n";
        for map in [kept, recorded, sorted] {
            let output = Output { name: "out", shape: &target, absent: Absent::Refused };
            let options = Options { order: SourceOrder::AsShape };
            let compiled = compile(&MapSpec::parse("t.qmap", map), &source, &[output], options, &NoFiles);
            let compiled = compiled.unwrap_or_else(|findings| panic!("{findings}"));
            assert!(!compiled.plan.buffers().is_empty(), "{map}");
            let tag = source.child(NodeId::ROOT, "tag").expect("a list");
            let number = source.child(tag, "n").expect("a field");
            assert!(matches!(source.node(number).kind, NodeKind::Scalar(_)));
            for (count, is_too_much) in [(10, false), (20_000, true), (10, false)] {
                let mut mapper = Mapper::new(&compiled.plan, One(Counted::default()), StillHost::default());
                mapper.kept_max = 10_000;
                mapper.enter(NodeId::ROOT);
                mapper.open_list(tag);
                for _ in 0..count {
                    mapper.enter(tag);
                    mapper.value(number, Value::Int(1, 0));
                    mapper.leave(tag);
                }
                mapper.close_list(tag);
                mapper.leave(NodeId::ROOT);
                let outcome = mapper.outcome();
                let found: Vec<&str> = outcome.findings.iter().map(|finding| finding.code.0).collect();
                assert_eq!(found.contains(&codes::DOCUMENT_SIZE.0), is_too_much, "{map}: {found:?}");
                assert_eq!(outcome.is_good(), !is_too_much);
                let recorded: usize = mapper.recordings.iter().map(quayline_core::Document::memory).sum();
                assert!(mapper.slots.capacity() * 32 + recorded < 60_000, "{map}");
                let rows = mapper.into_parts().0.0.0;
                assert!(rows == count || is_too_much && rows < 1_000, "{map}: {rows}");
            }
        }
    }
}
