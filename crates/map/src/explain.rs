//! Explanation of a plan as text: streamed lists, kept lists with the reason, and what each statement reads and writes.

use core::fmt::Write as _;

use quayline_core::NodeId;

use crate::plan::{Action, Block, MapPlan, Op, Opening, ScopePlan, StatementId};

impl MapPlan {
    /// Formats the plan as text, one line for each step, in the order of execution.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut out = String::new();
        let leaves = self.source.iter().filter(|(_, node)| node.scalar().is_some()).count();
        let kept = self.actions.iter().filter(|action| matches!(action, Action::Slot(_))).count()
            + self.scopes.iter().filter(|scope| scope.leaf).count();
        if !self.title.is_empty() {
            line(&mut out, 0, &format!("map \"{}\"", self.title));
        }
        line(
            &mut out,
            0,
            &format!("source {}: the map reads {kept} of {leaves} fields", self.source.node(NodeId::ROOT).name),
        );
        for scope in self.scopes.iter().skip(1) {
            line(&mut out, 1, &self.scope_words(scope));
        }
        if self.buffers.is_empty() {
            line(&mut out, 0, "memory: one occurrence of each loop at a time, however long the document is");
        } else {
            line(&mut out, 0, "memory: kept until the occurrence around it ends");
        }
        for buffer in &self.buffers {
            let most = buffer.occurrences_max.map_or("any number of".to_owned(), |max| format!("up to {max}"));
            line(
                &mut out,
                1,
                &format!(
                    "{}: {most} occurrences of {} bytes and their values; line {}: {}",
                    buffer.path, buffer.bytes_per_occurrence, buffer.line, buffer.reason
                ),
            );
        }
        line(&mut out, 0, "steps");
        self.explain_block(&self.blocks[self.root as usize], NodeId::ROOT, 1, 0, &mut out);
        out
    }

    fn scope_words(&self, scope: &ScopePlan) -> String {
        let path = self.source.path(scope.node);
        let fields = scope.slots.len() - 1;
        let how = if scope.retained {
            "kept"
        } else if scope.streamed {
            "mapped while read"
        } else {
            "read for its values"
        };
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let also = match (scope.picks.len(), scope.folds.len()) {
            (0, 0) => String::new(),
            (picks, 0) => format!("; {}", count(picks, "choice")),
            (0, folds) => format!("; {}", count(folds, "fold")),
            (picks, folds) => format!("; {}, {}", count(picks, "choice"), count(folds, "fold")),
        };
        format!("list {path}: {how}, {} kept{also}", count(fields, "value"))
    }

    fn explain_block(&self, block: &Block, scope: NodeId, depth: usize, output: u16, out: &mut String) {
        let mut open: Vec<u16> = vec![output];
        let mut waits = 0;
        for (op, ready) in block.code.iter().zip(&block.ready) {
            let indent = depth + open.len() - 1;
            let output = open.last().copied().unwrap_or(0);
            if *ready > waits
                && let Some(path) = self.behind(scope, *ready)
            {
                waits = *ready;
                line(out, indent, &format!("after {path}"));
            }
            match op {
                Op::Open { what, output: of, node } => {
                    let of = if *what == Opening::Document { *of } else { output };
                    let plan = &self.outputs[usize::from(of)];
                    let words = match what {
                        Opening::Document => format!("document {}", plan.name),
                        Opening::Group => format!("group {}", plan.shape.node(*node).name),
                        Opening::List => format!("list {}", plan.shape.node(*node).name),
                        Opening::Occurrence => format!("one {}", plan.shape.node(*node).name),
                    };
                    line(out, indent, &words);
                    open.push(of);
                }
                Op::Close => {
                    open.pop();
                }
                Op::Touch | Op::EndRecord => {}
                Op::Copy { target, .. } => {
                    let statement = self.targets[*target as usize].statement;
                    line(out, indent, &self.step(statement, "copy"));
                }
                Op::Emit { target, .. } => {
                    let statement = self.targets[*target as usize].statement;
                    line(out, indent, &self.step(statement, "set"));
                }
                Op::Set { var, statement, .. } => {
                    let name = &self.vars[usize::from(*var)].name;
                    line(out, indent, &self.step(*statement, &format!("compute {name}")));
                }
                Op::Unless { var, arm, .. } => {
                    let name = &self.vars[usize::from(*var)].name;
                    line(out, indent, &format!("only where {name} is {arm}:"));
                }
                Op::Loop(number) => {
                    let over = &self.loops[usize::from(*number)];
                    let path = self.source.path(self.scopes[usize::from(over.scope)].node);
                    let how = match (over.streamed, over.sort.is_empty()) {
                        (true, _) => "while it is read",
                        (false, true) => "as kept",
                        (false, false) => "as kept, sorted",
                    };
                    let limit =
                        over.limit.map_or(String::new(), |at| format!(", {} at most", self.limits[usize::from(at)]));
                    line(out, indent, &format!("line {}: each {path}, {how}{limit}", self.line_of(over.statement)));
                    let node = self.scopes[usize::from(over.scope)].node;
                    self.explain_block(&self.blocks[over.body as usize], node, indent + 1, output, out);
                }
                Op::Filter { .. } => line(out, indent, "leave it out unless the condition holds"),
                Op::Take(_) => {}
                Op::Skip => line(out, indent, "leave it out"),
                Op::Drop { statement } => line(out, indent, &self.step(*statement, "drop the document")),
                Op::Raise { statement } => line(out, indent, &self.step(*statement, "raise a finding")),
                Op::Envelope { name, statement, .. } => {
                    let name = &self.envelope_out[usize::from(*name)];
                    line(out, indent, &self.step(*statement, &format!("set envelope.{name}")));
                }
                Op::Record { .. } => line(out, indent, "keep the output of what follows until its turn"),
                Op::Replay { list, .. } => {
                    line(
                        out,
                        indent,
                        &format!("list {}, as kept", self.outputs[usize::from(output)].shape.node(*list).name),
                    );
                }
            }
        }
    }

    /// Returns the path of the outermost node of an occurrence that is complete at a position.
    fn behind(&self, scope: NodeId, position: u32) -> Option<String> {
        if position as usize >= self.source.len() {
            return Some("the whole document".to_owned());
        }
        let found =
            self.source.iter().filter(|(id, node)| node.subtree_end.0 == position && *id > scope).map(|(id, _)| id);
        found.min().map(|id| self.source.path(id))
    }

    fn step(&self, statement: u32, what: &str) -> String {
        let Some(view) = self.statement(StatementId(statement)) else { return what.to_owned() };
        let sources: Vec<String> = view.sources.iter().map(|node| self.source.path(*node)).collect();
        let from = if sources.is_empty() { String::new() } else { format!(" from {}", sources.join(", ")) };
        let to = view.target.map_or(String::new(), |target| format!(" {target}"));
        let what = if matches!(what, "copy" | "set") { format!("{what}{to}") } else { what.to_owned() };
        format!("line {}: {what}{from}", view.line)
    }

    fn line_of(&self, statement: u32) -> u32 {
        self.statement(StatementId(statement)).map_or(0, |view| view.line)
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    writeln!(out, "{:width$}{text}", "", width = depth * 2).expect("writing to a string does not fail");
}
