//! Records of several types: a document becomes a record and those nested in it.

use core::ops::Range;

use quayline_cobol::RecordEncoder;
use quayline_core::{Fault, Finding, NodeId, Sink, Value};
use quayline_project::RecordTypes;

use crate::codes;
use crate::lane::Target;
use crate::lot::Payload;
use crate::sink::record::{Framed, findings};

pub(crate) struct TypedTarget<'s> {
    encoder: TypedEncoder<'s>,
    framed: Framed,
}

impl<'s> TypedTarget<'s> {
    pub(crate) fn new(types: &'s RecordTypes, nodes: usize, framed: Framed) -> Self {
        TypedTarget { encoder: TypedEncoder::new(types, nodes), framed }
    }
}

impl<'s> Target for TypedTarget<'s> {
    type Sink = TypedEncoder<'s>;

    #[inline(always)]
    fn sink(&mut self) -> &mut TypedEncoder<'s> {
        &mut self.encoder
    }

    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        self.encoder.frame(&mut self.framed)
    }

    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        Ok(self.framed.written())
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        self.framed.drain(payload);
        Ok(())
    }
}

/// Routes the events of a document to the encoders of its records.
pub(crate) struct TypedEncoder<'s> {
    types: &'s RecordTypes,
    /// The type whose group a node is, if any.
    group_of: Vec<Option<u16>>,
    encoders: Vec<Option<RecordEncoder>>,
    open: Vec<Open>,
    /// Bodies of the document's records, each behind those nested in it.
    bodies: Vec<u8>,
    /// The records in the order of the output: parents before their children.
    records: Vec<Range<usize>>,
    findings: Vec<Finding>,
}

/// A record whose group is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    of_type: usize,
    group: NodeId,
    /// Its place in `records`.
    index: usize,
}

impl<'s> TypedEncoder<'s> {
    pub(crate) fn new(types: &'s RecordTypes, nodes: usize) -> Self {
        let mut group_of = vec![None; nodes];
        let mut encoders = Vec::new();
        for index in 0..types.count() {
            let plan = types.plan(index);
            if plan.is_some() {
                group_of[types.group(index).index()] = u16::try_from(index).ok();
            }
            encoders.push(plan.map(RecordEncoder::of_files));
        }
        TypedEncoder {
            types,
            group_of,
            encoders,
            open: Vec::new(),
            bodies: Vec::new(),
            records: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Frames the records of the document left last: all of them or none.
    pub(crate) fn frame(&mut self, framed: &mut Framed) -> Result<(), Vec<Finding>> {
        if !self.findings.is_empty() {
            return Err(core::mem::take(&mut self.findings));
        }
        if self.records.is_empty() {
            let finding = Finding::error(codes::NO_RECORD, Fault::Sender, "the document holds no record");
            return Err(vec![finding.hint("give it one member, named after a record type and holding its fields")]);
        }
        let mark = (self.records.len() > 1).then(|| framed.mark());
        for record in &self.records {
            if let Err(found) = framed.add(&self.bodies[record.clone()]) {
                if let Some(mark) = mark {
                    framed.back_to(mark);
                }
                return Err(found);
            }
        }
        Ok(())
    }

    /// The encoder of the innermost open record, and the node in its own shape.
    #[inline]
    fn inner(&mut self, node: NodeId) -> Option<(&mut RecordEncoder, NodeId)> {
        let open = self.open.last()?;
        let encoder = self.encoders[open.of_type].as_mut()?;
        Some((encoder, NodeId(node.0 - open.group.0)))
    }

    fn begin(&mut self, of_type: usize, group: NodeId) {
        self.open.push(Open { of_type, group, index: self.records.len() });
        self.records.push(0..0);
        if let Some(encoder) = &mut self.encoders[of_type] {
            encoder.enter(NodeId::ROOT);
        }
    }

    fn end(&mut self) {
        let Some(Open { of_type, index, .. }) = self.open.pop() else { return };
        let (Some(encoder), Some(plan)) = (&mut self.encoders[of_type], self.types.plan(of_type)) else { return };
        encoder.leave(NodeId::ROOT);
        match encoder.take() {
            Ok(body) => {
                let start = self.bodies.len();
                self.bodies.extend_from_slice(body);
                self.records[index] = start..self.bodies.len();
            }
            Err(faults) => {
                let name = &plan.shape().node(NodeId::ROOT).name;
                for mut finding in findings(&faults, plan) {
                    finding.place.path = finding.place.path.map(|path| format!("{name}: {path}"));
                    self.findings.push(finding);
                }
            }
        }
    }

    fn clear(&mut self) {
        self.open.clear();
        self.bodies.clear();
        self.records.clear();
        self.findings.clear();
    }
}

impl Sink for TypedEncoder<'_> {
    fn enter(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
            self.clear();
        } else if let Some(of_type) = self.group_of[node.index()] {
            self.begin(of_type.into(), node);
        } else if let Some((encoder, node)) = self.inner(node) {
            encoder.enter(node);
        }
    }

    fn leave(&mut self, node: NodeId) {
        if node == NodeId::ROOT {
        } else if self.group_of[node.index()].is_some() {
            self.end();
        } else if let Some((encoder, node)) = self.inner(node) {
            encoder.leave(node);
        }
    }

    fn open_list(&mut self, node: NodeId) {
        if self.group_of[node.index()].is_none()
            && let Some((encoder, node)) = self.inner(node)
        {
            encoder.open_list(node);
        }
    }

    fn close_list(&mut self, node: NodeId) {
        if self.group_of[node.index()].is_none()
            && let Some((encoder, node)) = self.inner(node)
        {
            encoder.close_list(node);
        }
    }

    fn value(&mut self, node: NodeId, value: Value<'_>) {
        if let Some((encoder, node)) = self.inner(node) {
            encoder.value(node, value);
        }
    }

    fn null_branch(&mut self, node: NodeId) {
        // A record that is null is none; what it held would be a record of its own.
        if self.group_of[node.index()].is_none()
            && let Some((encoder, node)) = self.inner(node)
        {
            encoder.null_branch(node);
        }
    }

    fn discard(&mut self) {
        self.clear();
    }
}
