//! The place between two events as bytes, for a checkpoint.

use quayline_core::{ByteOffset, Limits};

use super::open::Open;
use super::{Envelope, EnvelopeReader, Held};
use crate::level::Level;
use crate::splitter::{Rules, SegmentSplitter};
use crate::state::{StateReader, StateWriter};

impl EnvelopeReader {
    pub(crate) fn put_state(&self, out: &mut StateWriter) {
        self.splitter.put_state(out);
        let envelope = &self.envelope;
        for open in [&envelope.interchange, &envelope.group, &envelope.transaction] {
            open.put_state(out);
        }
        out.number(match envelope.held {
            Held::No => 0,
            Held::Interchange => 1,
            // The levels that a control segment closes are reported before anything else is read, so no checkpoint occurs here.
            Held::Control(..) => 2,
            Held::Done => 3,
        });
        out.flag(envelope.outside);
        out.number(envelope.loose);
        out.flag(envelope.mixed);
        out.flag(envelope.cut);
        out.flag(envelope.again);
    }

    pub(crate) fn from_state(
        limits: &Limits,
        rules: Rules,
        offset: ByteOffset,
        from: &mut StateReader<'_>,
    ) -> Option<Self> {
        let splitter = SegmentSplitter::from_state(limits, rules, offset, from)?;
        let mut open = |level| Open::from_state(level, from);
        let (interchange, group) = (open(Level::Interchange)?, open(Level::Group)?);
        let transaction = open(Level::Transaction)?;
        let held = match from.number()? {
            0 => Held::No,
            1 => Held::Interchange,
            3 => Held::Done,
            _ => return None,
        };
        let envelope = Envelope {
            interchange,
            group,
            transaction,
            held,
            outside: from.flag()?,
            loose: from.number()?,
            mixed: from.flag()?,
            cut: from.flag()?,
            again: from.flag()?,
        };
        Some(EnvelopeReader { splitter, envelope })
    }
}
