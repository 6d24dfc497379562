//! Source side of the checker: cursors, frames, paths.

use quayline_core::near::{nearest, offer};
use quayline_core::{NodeId, NodeKind, Occurs};

use super::types::{Kind, Ty};
use super::{Lower, Reads, SourceOrder, Typed};
use crate::codes;
use crate::plan::{Action, Expr, PickPlan, PickSelect, ScopePlan};
use crate::syntax::ast::{Name, Path, Select, Step};
use crate::syntax::text::Span;

/// Base of relative paths: an occurrence, and optionally a group inside it.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) cursor: u16,
    pub(crate) node: NodeId,
    pub(crate) binding: Option<Name>,
    /// Choices that lead to the cursor's occurrence.
    pub(crate) picks: Vec<u16>,
}

/// A position in a list: one occurrence at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(crate) scope: u16,
    /// For picks and folds: the cursor that evaluates them, and the source position at which the result is known. `None` for loops.
    pub(crate) owner: Option<(u16, u32)>,
    /// The cursor whose occurrence holds the list.
    pub(crate) above: Option<u16>,
}

/// Target of a resolved path prefix.
#[derive(Clone, Debug)]
pub(crate) struct At {
    pub(crate) cursor: u16,
    pub(crate) node: NodeId,
    /// Picks on the way, outermost first.
    pub(crate) picks: Vec<u16>,
    pub(crate) maybe: bool,
    pub(crate) reads: Reads,
    /// Lists on the path without a selection, in `for` and folds. The cursor is still that of the enclosing occurrence.
    pub(crate) lists: Vec<NodeId>,
}

impl Lower<'_> {
    /// Returns the scope of a list, which describes the frames of its occurrences. Creates it at the first use.
    pub(crate) fn scope(&mut self, node: NodeId) -> u16 {
        if let Some(scope) = self.scope_of[node.index()] {
            return scope;
        }
        let parent = if node == NodeId::ROOT { None } else { Some(self.scope(self.list_above(node))) };
        let list_slot = parent.map_or(0, |parent| self.new_slot(parent, node));
        let scope = u16::try_from(self.scopes.len()).unwrap_or(u16::MAX);
        if self.scopes.len() > usize::from(u16::MAX) - 2 {
            self.overflow = true;
        }
        let leaf = matches!(self.source.node(node).kind, NodeKind::Scalar(_));
        self.scopes.push(ScopePlan {
            node,
            begins: self.run_around(node).0,
            parent,
            leaf,
            slots: vec![node],
            width: 1,
            list_slot,
            retained: false,
            picks: Vec::new(),
            folds: Vec::new(),
            streamed: false,
        });
        self.scope_of[node.index()] = Some(scope);
        if node != NodeId::ROOT {
            self.actions[node.index()] = Action::List(scope);
        }
        if leaf {
            self.new_slot(scope, node);
        }
        scope
    }

    /// Returns the first and the last node between which a node may occur within its occurrence. Its enclosing groups may be members of a run of
    /// mixed siblings.
    fn run_around(&self, node: NodeId) -> (NodeId, NodeId) {
        let mut run = self.source.run_of(node);
        let mut at = node;
        while let Some(parent) = self.source.node(at).parent.filter(|parent| !self.has_frames(*parent)) {
            at = parent;
            let outer = self.source.run_of(at);
            if outer != (at, self.source.node(at).subtree_end) {
                run = outer;
            }
        }
        run
    }

    fn has_frames(&self, node: NodeId) -> bool {
        node == NodeId::ROOT || self.source.node(node).is_list()
    }

    /// Returns the innermost list around a node, or the root.
    pub(crate) fn list_above(&self, node: NodeId) -> NodeId {
        let mut at = self.source.node(node).parent.unwrap_or(NodeId::ROOT);
        while at != NodeId::ROOT && !self.source.node(at).is_list() {
            at = self.source.node(at).parent.unwrap_or(NodeId::ROOT);
        }
        at
    }

    pub(crate) fn new_slot(&mut self, scope: u16, node: NodeId) -> u32 {
        let plan = &mut self.scopes[usize::from(scope)];
        plan.slots.push(node);
        plan.width += 1;
        plan.width - 1
    }

    /// Returns the slot of a leaf that occurs once in its frame, or of a group's presence.
    pub(crate) fn slot(&mut self, node: NodeId) -> u32 {
        match self.actions[node.index()] {
            Action::Slot(slot) | Action::Presence(slot) => slot,
            Action::List(scope) if self.scopes[usize::from(scope)].leaf => 1,
            _ => {
                let scope = self.scope(self.list_above(node));
                let slot = self.new_slot(scope, node);
                let group = matches!(self.source.node(node).kind, NodeKind::Group);
                self.actions[node.index()] = if group { Action::Presence(slot) } else { Action::Slot(slot) };
                slot
            }
        }
    }

    /// Creates a cursor over a list of the occurrence at the cursor `above`. `known` is the source position at which the result of a pick or fold is
    /// known.
    pub(crate) fn new_cursor(&mut self, scope: u16, above: Option<u16>, known: Option<u32>) -> u16 {
        self.cursors.push(Cursor { scope, owner: above.zip(known), above });
        if self.cursors.len() > usize::from(u16::MAX) - 2 {
            self.overflow = true;
        }
        u16::try_from(self.cursors.len() - 1).unwrap_or(u16::MAX)
    }

    /// Returns the position in the source after which a node is known to be complete.
    pub(crate) fn complete(&self, node: NodeId) -> u32 {
        match self.options.order {
            SourceOrder::AsShape => self.run_around(node).1.0,
            SourceOrder::Any => self.source.node(self.list_above(node)).subtree_end.0,
        }
    }

    /// Returns a read of `node` by `cursor`, expressed by the cursors of loops.
    pub(crate) fn read(&self, cursor: u16, node: NodeId) -> Reads {
        let (mut cursor, mut position) = (cursor, self.complete(node));
        while let Some((owner, known)) = self.cursors[usize::from(cursor)].owner {
            (cursor, position) = (owner, known);
        }
        Reads { at: vec![(cursor, position)], ..Reads::default() }
    }

    /// Finds the context of a path's first name, from the innermost loop outward.
    fn first_step(&mut self, name: &Name) -> Option<(At, usize)> {
        let at = |context: &Context, node: NodeId| At {
            cursor: context.cursor,
            node,
            picks: context.picks.clone(),
            maybe: false,
            reads: Reads::default(),
            lists: Vec::new(),
        };
        // In a loop, `it` without quotes is the occurrence, even if a group around the list has a member of that name. A member of the occurrence itself
        // that is named `it` comes first.
        let is_quoted = name.text.len() < (name.span.end - name.span.start) as usize;
        let is_bound = |context: &Context| context.binding.as_ref().is_some_and(|binding| binding.text == name.text);
        if name.text == "it"
            && !is_quoted
            && let [_, .., context] = &self.chain[..]
            && self.source.child(context.node, "it").is_none()
            && !self.chain.iter().any(is_bound)
        {
            return Some((at(context, context.node), 1));
        }
        for context in self.chain.iter().rev() {
            if context.binding.as_ref().is_some_and(|binding| binding.text == name.text) {
                return Some((at(context, context.node), 1));
            }
            if self.source.child(context.node, &name.text).is_some() {
                return Some((at(context, context.node), 0));
            }
        }
        if name.text == "it"
            && let Some(context) = self.chain.last()
        {
            return Some((at(context, context.node), 1));
        }
        if name.text == "source"
            && let Some(context) = self.chain.first()
        {
            return Some((at(context, NodeId::ROOT), 1));
        }
        None
    }

    /// Resolves a path in the source. If `through` allows it, collects the lists without a selection.
    pub(crate) fn follow(&mut self, path: &Path, through: Through) -> Option<At> {
        let first = &path.steps[0];
        let Some((mut at, skip)) = self.first_step(&first.name) else {
            self.unknown_name(&first.name, path.steps.len() == 1);
            return None;
        };
        if skip == 1 && first.select.is_some() {
            let span = first.span;
            self.error(codes::NO_LIST, span, format!("`{}` is one occurrence already", first.name.text)).hint =
                Some("remove the `[ ]`".to_owned());
            return None;
        }
        for step in &path.steps[skip..] {
            self.step(&mut at, step, through)?;
        }
        Some(at)
    }

    fn step(&mut self, at: &mut At, step: &Step, through: Through) -> Option<()> {
        let Some(child) = self.source.child(at.node, &step.name.text) else {
            self.unknown_child(at.node, &step.name);
            return None;
        };
        let node = self.source.node(child);
        let is_list = node.is_list();
        at.maybe |= node.occurs == Occurs::Optional;
        at.node = child;
        match (&step.select, is_list) {
            (Some(_), false) => {
                self.error(
                    codes::NO_LIST,
                    step.span,
                    format!("`{}` occurs at most once, so there is nothing to select", step.name.text),
                )
                .hint = Some("remove the `[ ]`".to_owned());
                None
            }
            (Some(select), true) => {
                if !at.lists.is_empty() {
                    self.error(codes::REPEATS, step.span, "a selection after a list that a loop reads").hint =
                        Some("write a loop of its own for each".to_owned());
                    return None;
                }
                self.pick(at, child, step, select)
            }
            (None, true) => match through {
                Through::Lists => {
                    at.lists.push(child);
                    Some(())
                }
                Through::Nothing => {
                    let name = &step.name.text;
                    let most = match node.occurs {
                        Occurs::Many { max: Some(max), .. } => format!("up to {max} times"),
                        _ => "any number of times".to_owned(),
                    };
                    let message = format!("`{name}` repeats, {most}: which occurrence is meant?");
                    self.error(codes::REPEATS, step.span, message).hint = Some(format!(
                        "choose one (`{name}[0]`, `{name}[last]`, `{name}[… = …]`), loop (`for {name} …`), or fold (`sum(… for {name})`)"
                    ));
                    None
                }
            },
            (None, false) => Some(()),
        }
    }

    /// Checks a selection such as `N1[N101 = "ST"]`. Equal selections share one cursor.
    fn pick(&mut self, at: &mut At, list: NodeId, step: &Step, select: &Select) -> Option<()> {
        let scope = self.scope(list);
        let known = self.complete(list);
        let key =
            (at.cursor, scope, format!("{:?}{}{}", step.span.file, self.slice(step.span), self.meaning(list, select)));
        let pick = if let Some(pick) = self.pick_keys.get(&key) {
            *pick
        } else {
            let cursor = self.new_cursor(scope, Some(at.cursor), Some(known));
            let choices = self.choices;
            let (select, condition_reads) = match select {
                Select::First => (PickSelect::Index(0), Reads::default()),
                Select::Index(n) => {
                    if let Occurs::Many { max: Some(max), .. } = self.source.node(list).occurs
                        && *n >= max
                    {
                        let message = format!("there are at most {max} occurrences, so there is no number {n}");
                        self.error(codes::NEVER, step.span, message).hint =
                            Some("occurrences are counted from 0".to_owned());
                        return None;
                    }
                    (PickSelect::Index(*n), Reads::default())
                }
                Select::Last => (PickSelect::Last, Reads::default()),
                Select::Where(condition) => {
                    self.chain.push(Context { cursor, node: list, binding: None, picks: Vec::new() });
                    let typed = self.condition(condition);
                    self.chain.pop();
                    (PickSelect::Where(typed.id), typed.reads)
                }
            };
            let slot = None;
            let outer = self.chain.iter().map(|context| context.cursor).collect();
            let statement = self.statement;
            self.picks.push(PickPlan { owner: at.cursor, cursor, scope, select, slot, outer, statement });
            let pick = u16::try_from(self.picks.len() - 1).unwrap_or(u16::MAX);
            if self.picks.len() > usize::from(u16::MAX) - 2 {
                self.overflow = true;
            }
            let simple = self.choices == choices && self.known_before((at.cursor, list), &condition_reads, &[cursor]);
            if simple && !matches!(self.picks[usize::from(pick)].select, PickSelect::Last) {
                let slot = self.new_slot(self.cursors[usize::from(at.cursor)].scope, list);
                self.picks[usize::from(pick)].slot = Some(slot);
                self.scopes[usize::from(scope)].picks.push(pick);
            } else {
                self.scopes[usize::from(scope)].retained = true;
            }
            self.pick_reads.insert(pick, condition_reads);
            self.pick_keys.insert(key, pick);
            pick
        };
        self.choices += 1;
        at.reads.add(&self.read(at.cursor, list));
        let condition_reads = self.pick_reads.get(&pick).cloned().unwrap_or_default();
        at.reads.add(&condition_reads);
        at.picks.push(pick);
        at.cursor = self.picks[usize::from(pick)].cursor;
        at.maybe = true;
        Some(())
    }

    /// Returns true if a condition on each occurrence of a list can be evaluated while the list is read: all its inputs are read by cursors of the
    /// list's occurrences, or come from the enclosing occurrences and are known before the list begins. Inputs of a loop over another list do not
    /// qualify, because they differ for each of its occurrences.
    pub(crate) fn known_before(&self, (above, list): (u16, NodeId), reads: &Reads, own: &[u16]) -> bool {
        let cursor = |at: u16| &self.cursors[usize::from(at)];
        let holds_list = |at| core::iter::successors(Some(above), |at| cursor(*at).above).any(|one| one == at);
        let is_around = |at| self.chain.iter().any(|context| context.cursor == at);
        // A choice or fold within the question, unlike one around it, is one of the occurrence that asks.
        let is_here = |at: u16| {
            core::iter::successors(Some(at), |at| {
                let inner = !is_around(*at) && !own.contains(at) && !holds_list(*at);
                cursor(*at).owner.filter(|_| inner).map(|(asks, _)| asks)
            })
            .any(|at| own.contains(&at) || holds_list(at))
        };
        let is_known = |at, node| own.contains(&at) || (self.complete(node) <= list.0 && is_here(at));
        !reads.bound
            && reads.vars.is_empty()
            && reads.nodes.iter().all(|(at, node)| is_known(*at, *node))
            && reads.places.iter().all(|(at, group)| group.map_or(is_here(*at), |group| is_known(*at, group)))
    }

    /// Returns the resolved meaning of the names in a selection, as text. The same words can select something else in another loop or by another
    /// value.
    fn meaning(&self, list: NodeId, select: &Select) -> String {
        let mut names = Vec::new();
        if let Select::Where(condition) = select {
            condition.first_names(&mut names);
        }
        let mut text = String::new();
        for name in names {
            let local = self.locals[self.locals_from..].iter().rev().find(|local| local.name == name);
            if let Some(local) = local {
                text.push_str(&format!(" {name}={:?}", local.expr));
                continue;
            }
            if self.source.child(list, name).is_some() {
                continue;
            }
            // The names of loops, and of their lists in `position(LIST)`.
            let around = self.chain.iter().rev().filter(|context| {
                context.binding.as_ref().is_some_and(|binding| binding.text == name)
                    || self.source.child(context.node, name).is_some()
                    || self.source.node(context.node).name == name
            });
            for context in around {
                text.push_str(&format!(" {name}@{}", context.cursor));
            }
        }
        text
    }

    /// Checks the value at the end of a path.
    pub(crate) fn path_value(&mut self, path: &Path) -> Option<Typed> {
        let at = self.follow(path, Through::Nothing)?;
        let node = self.source.node(at.node);
        let NodeKind::Scalar(scalar) = &node.kind else {
            let name = path.steps.last().map_or("", |step| step.name.text.as_str());
            let named = |child: &NodeId| self.source.node(*child);
            let mut fields = self.source.children(at.node).filter(|child| named(child).scalar().is_some());
            let hint = match self.source.child(at.node, "$text") {
                Some(_) => Some(format!("the text of the element is {name}.'$text'")),
                None => fields.next().map(|child| format!("name one of its fields: {name}.{}", named(&child).name)),
            };
            self.error(codes::GROUP_AS_VALUE, path.span, format!("`{name}` is a group and has no value of its own"))
                .hint = hint;
            return None;
        };
        let ty = Ty { kind: Kind::from(scalar), maybe: at.maybe };
        let node = at.node;
        Some(self.value_at(at, node, ty, path.span))
    }

    fn value_at(&mut self, at: At, node: NodeId, ty: Ty, span: Span) -> Typed {
        let slot = self.slot(node);
        let mut id = self.expr(Expr::Slot { cursor: at.cursor, slot, statement_node: node });
        for pick in at.picks.iter().rev() {
            id = self.expr(Expr::Pick { pick: *pick, value: id });
        }
        let mut reads = at.reads;
        reads.add(&self.read(at.cursor, node));
        reads.nodes.push((at.cursor, node));
        Typed { id, ty, reads, span }
    }

    /// Checks whether a path has content: a leaf with a value, a group, or an occurrence of a list.
    pub(crate) fn presence(&mut self, path: &Path) -> Option<Typed> {
        let at = self.follow(path, Through::Lists)?;
        if !at.lists.is_empty() {
            return self.any_occurrence(path);
        }
        let node = self.source.node(at.node);
        if matches!(node.kind, NodeKind::Scalar(_)) || self.source.node(at.node).is_list() && at.picks.is_empty() {
            let value = self.path_value(path)?;
            let id = self.expr(Expr::Present(value.id));
            return Some(Typed { id, ty: Ty::BOOL, ..value });
        }
        let list = node.is_list();
        let mut id = if list {
            // The choice itself: its link is there.
            self.expr(Expr::PresentSlot { cursor: at.cursor, slot: 0 })
        } else {
            let slot = self.slot(at.node);
            self.expr(Expr::PresentSlot { cursor: at.cursor, slot })
        };
        for pick in at.picks.iter().rev() {
            id = self.expr(Expr::Pick { pick: *pick, value: id });
        }
        let id = self.expr(Expr::Present(id));
        let mut reads = at.reads.clone();
        reads.add(&self.read(at.cursor, at.node));
        reads.places.push((at.cursor, Some(at.node)));
        Some(Typed { id, ty: Ty::BOOL, reads, span: path.span })
    }

    /// Builds a condition that a group is present, for `for GROUP`.
    pub(crate) fn group_present(&mut self, at: &At) -> (crate::plan::ExprId, Reads) {
        let slot = self.slot(at.node);
        let id = self.expr(Expr::PresentSlot { cursor: at.cursor, slot });
        let id = self.expr(Expr::Present(id));
        // A group is known to be there when it begins.
        let mut reads = self.read(at.cursor, at.node);
        let alone = self.complete(at.node) == self.source.node(at.node).subtree_end.0;
        if self.options.order == SourceOrder::AsShape && alone {
            for (cursor, position) in &mut reads.at {
                if *cursor == at.cursor {
                    *position = at.node.0 + 1;
                }
            }
        }
        (id, reads)
    }

    fn unknown_name(&mut self, name: &Name, alone: bool) {
        let mut names: Vec<String> = Vec::new();
        for context in self.chain.iter().rev() {
            names.extend(self.source.children(context.node).map(|child| self.source.node(child).name.clone()));
            names.extend(context.binding.iter().map(|binding| binding.text.clone()));
        }
        names.extend(self.locals[self.locals_from..].iter().map(|local| local.name.clone()));
        let mut hint = match name.text.as_str() {
            root if root == self.source.node(NodeId::ROOT).name => {
                Some(format!("paths begin inside of it: leave `{root}.` out"))
            }
            "null" | "nil" | "none" | "None" | "undefined" => Some("what has no value is `absent`".to_owned()),
            _ => offer(&nearest(&name.text, names.iter().map(String::as_str))),
        };
        let here = self.chain.last().map(|context| context.node).filter(|node| *node != NodeId::ROOT);
        if let Some(deeper) = here.and_then(|node| self.deeper(node, &name.text)) {
            hint = Some(deeper);
        }
        let is_operand =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) || names.iter().any(|known| known == text);
        if let Some((left, right)) = difference(&name.text, &names)
            && (hint.is_none() || is_operand(right))
        {
            hint = Some(format!("to subtract, write blanks around the sign: {left} - {right}"));
        }
        if hint.is_none() {
            hint = self.elsewhere(&name.text);
        }
        let is_code =
            |text: &str| text.len() <= 3 && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        if hint.is_none() && alone && is_code(&name.text) {
            hint = Some(format!("if it is a text, write it in double quotes: \"{}\"", name.text));
        }
        if hint.is_none() && !names.is_empty() {
            let some: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
            let more = if names.len() > 8 { ", …" } else { "" };
            hint = Some(format!("there is: {}{more}", some.join(", ")));
        }
        let place = match self.chain.last() {
            None => "a function sees its parameters only".to_owned(),
            Some(context) if context.node == NodeId::ROOT => format!("not in {}", self.source.node(NodeId::ROOT).name),
            Some(context) => format!("neither in {} nor around it", self.source.path(context.node)),
        };
        self.error(codes::UNKNOWN_SOURCE, name.span, format!("there is no `{}`: {place}", name.text)).hint = hint;
    }

    /// Returns a hint with the full path if the name exists deeper or elsewhere in the source.
    fn elsewhere(&self, name: &str) -> Option<String> {
        self.chain.first()?;
        let found: Vec<String> = self
            .source
            .iter()
            .skip(1)
            .filter(|(_, node)| node.name == name)
            .map(|(id, _)| self.path_from_here(id))
            .take(3)
            .collect();
        (!found.is_empty()).then(|| format!("it is at {}", found.join(", ")))
    }

    /// Returns a node's path relative to the innermost loop that contains it.
    fn path_from_here(&self, node: NodeId) -> String {
        let path = self.source.path(node);
        let contexts = self.chain.iter().rev().filter(|context| context.node != NodeId::ROOT);
        let mut within =
            contexts.filter_map(|context| path.strip_prefix(&self.source.path(context.node))?.strip_prefix('.'));
        let nearest = within.next().map(str::to_owned);
        nearest.unwrap_or(path)
    }

    /// Returns a hint if the same name exists deeper within a node, which is a better match than a similar name.
    fn deeper(&self, node: NodeId, name: &str) -> Option<String> {
        let inside = |id: NodeId| id > node && id < self.source.node(node).subtree_end;
        let (found, _) = self.source.iter().find(|(id, found)| inside(*id) && found.name == name)?;
        Some(format!("it is at {}", self.path_from_here(found)))
    }

    fn unknown_child(&mut self, node: NodeId, name: &Name) {
        let names: Vec<&str> = self.source.children(node).map(|child| self.source.node(child).name.as_str()).collect();
        let mut hint = self.deeper(node, &name.text).or_else(|| offer(&nearest(&name.text, names.iter().copied())));
        if hint.is_none() && !names.is_empty() {
            let more = if names.len() > 8 { ", …" } else { "" };
            hint = Some(format!("there is: {}{more}", names.iter().take(8).copied().collect::<Vec<_>>().join(", ")));
        }
        let path = if node == NodeId::ROOT { self.source.node(node).name.clone() } else { self.source.path(node) };
        let what = if names.is_empty() { "a field without parts of its own" } else { "a group" };
        self.error(codes::UNKNOWN_SOURCE, name.span, format!("there is no `{}` in {path}, {what}", name.text)).hint =
            hint;
    }
}

/// Lists that a path may pass through without a selection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Through {
    Nothing,
    Lists,
}

/// Splits an unknown name at a dash that may be a minus sign, if the part before it is a known name.
fn difference<'a>(name: &'a str, names: &[String]) -> Option<(&'a str, &'a str)> {
    let dashes = name.rmatch_indices('-').map(|(at, _)| (&name[..at], &name[at + 1..]));
    dashes.filter(|(_, right)| !right.is_empty()).find(|(left, _)| names.iter().any(|known| known == left))
}
