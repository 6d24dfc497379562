//! The document's structure: objects, their members, arrays.

use quayline_core::{NodeId, PRESERVE, Sink};

use super::{Pass, Step, Stop, Unknown};
use crate::fault::{JsonError, describe};
use crate::members::{Kind, Member};
use crate::token::Form;

impl<S: Sink> Pass<'_, S> {
    pub(super) fn document(&mut self) -> Result<(), Stop> {
        // The root is entered whatever follows, so that `discard` after a fault voids this document and not the one before.
        self.sink.enter(NodeId::ROOT);
        let read = match self.peek() {
            Some(b'{') => self.object(NodeId::ROOT),
            _ => self.wrong_kind("an object", None),
        };
        self.sink.leave(NodeId::ROOT);
        read?;
        match self.peek() {
            None => Ok(()),
            Some(byte) => self.stop(JsonError::Behind { found: describe(byte) }, self.at, None),
        }
    }

    /// Reads an object as one occurrence of `group`.
    fn object(&mut self, group: NodeId) -> Result<(), Stop> {
        let begin = self.at;
        self.open()?;
        self.reader.clock += 1;
        let occurrence = self.reader.clock;
        if self.peek() == Some(b'}') {
            self.close();
            if self.reader.checks.is_some() {
                self.check_members(group, occurrence, begin);
            }
            return Ok(());
        }
        let mut last = group;
        let mut guess = self.reader.visits[group.index()].first;
        loop {
            self.peek();
            let start = self.at;
            let member = match self.reader.members.matches(guess, &self.text[start..]) {
                Some(len) => {
                    self.at += len;
                    Some(guess)
                }
                None => self.named_member(group, last)?,
            };
            if let Some(child) = member {
                let visit = &mut self.reader.visits[child.index()];
                let seen = core::mem::replace(&mut visit.seen, occurrence);
                (guess, last) = (visit.next, child);
                if seen == occurrence {
                    self.problem(JsonError::Duplicate, start, Some(child));
                    self.skip_value()?;
                } else {
                    self.member(child)?;
                }
            } else {
                self.skip_value()?;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.unexpected("`,` or `}`", None),
            }
        }
        self.close();
        if self.reader.checks.is_some() {
            self.check_members(group, occurrence, begin);
        }
        Ok(())
    }

    /// Reads the name and colon of a member that is not the expected one, and looks the name up.
    #[inline(never)]
    fn named_member(&mut self, group: NodeId, last: NodeId) -> Result<Option<NodeId>, Stop> {
        let start = self.at;
        let token = self.name()?;
        self.colon()?;
        let raw = &self.text[start + 1..token.end];
        let name = if token.form == Form::Escaped { self.reader.scratch.as_slice() } else { raw };
        let child = self.reader.members.child(group, name);
        if let Some(child) = child {
            let visits = &mut self.reader.visits;
            if last == group {
                visits[group.index()].first = child;
            } else {
                visits[last.index()].next = child;
            }
        } else if self.reader.options.unknown == Unknown::Error {
            // Suggestions cost a look at every name of the group, so a document full of strangers gets a few only.
            const SUGGESTIONS_MAX: usize = 20;
            let few = self.reader.problems.len() < SUGGESTIONS_MAX;
            let nearest = if few { self.reader.members.nearest(group, name) } else { None };
            let preserves = name == PRESERVE.as_bytes();
            let name = super::problem::shown(name);
            self.problem_named(JsonError::Unknown { nearest, preserves }, start, &name);
        } else {
            self.reader.ignored = true;
        }
        Ok(child)
    }

    /// Reads the value of the member `child`.
    #[inline(always)]
    fn member(&mut self, child: NodeId) -> Result<(), Stop> {
        let member = self.reader.members.node(child);
        if !member.list && member.kind != Kind::Group {
            return self.leaf(child, member.kind);
        }
        self.branch(child, member)
    }

    fn branch(&mut self, child: NodeId, member: Member) -> Result<(), Stop> {
        match self.peek() {
            Some(b'n') if !self.reader.strict => {
                let start = self.at;
                self.literal(b"null", Some(child))?;
                if self.reader.checks.is_some() {
                    self.check_null(child, false, start);
                }
                self.sink.null_branch(child);
                Ok(())
            }
            Some(b'[') if member.list => {
                let start = self.at;
                self.reader.steps.push(Step { node: child, index: Some(0) });
                self.sink.open_list(child);
                let read = self.list(child, member.kind);
                self.sink.close_list(child);
                self.reader.steps.pop();
                let count = read?;
                if self.reader.checks.is_some() {
                    self.check_count(child, count, start);
                }
                Ok(())
            }
            _ if member.list => self.wrong_kind("an array", Some(child)),
            _ => {
                self.reader.steps.push(Step { node: child, index: None });
                let read = self.group(child);
                self.reader.steps.pop();
                read
            }
        }
    }

    /// Reads one occurrence of a group.
    fn group(&mut self, group: NodeId) -> Result<(), Stop> {
        if self.peek() != Some(b'{') {
            return self.wrong_kind("an object", None);
        }
        self.sink.enter(group);
        let read = self.object(group);
        self.sink.leave(group);
        read
    }

    /// Reads an array as the occurrences of `node`, and returns their number.
    fn list(&mut self, node: NodeId, kind: Kind) -> Result<u32, Stop> {
        self.open()?;
        if self.peek() == Some(b']') {
            self.close();
            return Ok(0);
        }
        let mut count = 1;
        loop {
            if kind == Kind::Group {
                self.group(node)?;
            } else {
                self.leaf(node, kind)?;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.unexpected("`,` or `]`", None),
            }
            if let Some(Step { index: Some(index), .. }) = self.reader.steps.last_mut() {
                *index = count;
            }
            count += 1;
        }
        self.close();
        Ok(count)
    }

    /// Skips white space and returns the byte after it.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Passes an opening bracket.
    #[inline(always)]
    pub(super) fn open(&mut self) -> Result<(), Stop> {
        let limit = self.reader.options.limits.depth_max;
        if self.depth == limit {
            return self.stop(JsonError::Depth { limit }, self.at, None);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Passes a closing bracket.
    #[inline(always)]
    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }
}
