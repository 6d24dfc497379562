//! State between two segments, for another splitter that continues from it and for a checkpoint.

use quayline_core::{ByteOffset, Limits};

use super::extended::Extended;
use super::{Mode, NoiseTags, Rules, SegmentSplitter, Style, Told};
use crate::state::{StateReader, StateWriter};

impl SegmentSplitter {
    /// Copies the state of another splitter; keeps the memory of the index.
    pub(crate) fn go_to(&mut self, other: &SegmentSplitter) {
        let index = core::mem::take(&mut self.index);
        *self = other.clone();
        self.index = index;
    }

    pub(crate) fn drop_index(&mut self) {
        self.index.clear();
        self.extended.drop_text();
    }

    pub(crate) fn put_state(&self, out: &mut StateWriter) {
        let (mode, numbers) = match self.mode {
            Mode::First => (0, [0; 3]),
            Mode::Between => (1, [0; 3]),
            Mode::Noise { from, told, before, tags } => {
                (2, [from, u64::from(told) | tags.to_bits() << 1, before.into()])
            }
            Mode::Header => (3, [0; 3]),
            Mode::Inside => (4, [0; 3]),
            Mode::PassOver { released } => (5, [released.into(), 0, 0]),
            Mode::PassBytes { left } => (6, [left, 0, 0]),
            Mode::Done => (7, [0; 3]),
            Mode::Object { declared } => (8, [declared, 0, 0]),
        };
        out.number(mode);
        numbers.iter().for_each(|number| out.number(*number));
        self.style().put_state(out);
        self.before.put_state(out);
        out.number(self.interchange.into());
        out.number(self.segment);
        let Told { break_inside, release, nesting, break_behind, empty, package } = self.told;
        [break_inside, release, nesting, break_behind, empty, self.cut].iter().for_each(|flag| out.flag(*flag));
        out.number(package);
        self.extended.put_state(out);
    }

    pub(crate) fn from_state(
        limits: &Limits,
        rules: Rules,
        offset: ByteOffset,
        from: &mut StateReader<'_>,
    ) -> Option<Self> {
        let mut splitter = SegmentSplitter::new(limits, rules);
        splitter.offset = offset.0;
        let (mode, a, b, c) = (from.number()?, from.number()?, from.number()?, from.number()?);
        splitter.mode = match mode {
            0 => Mode::First,
            1 => Mode::Between,
            2 => {
                let tags = NoiseTags::from_bits(b >> 1);
                Mode::Noise { from: a, told: b & 1 == 1, before: u8::try_from(c).ok()?, tags }
            }
            3 => Mode::Header,
            4 => Mode::Inside,
            5 => Mode::PassOver { released: a == 1 },
            6 => Mode::PassBytes { left: a },
            7 => Mode::Done,
            8 => Mode::Object { declared: a },
            _ => return None,
        };
        splitter.set_style(Style::from_state(from)?);
        splitter.before = Style::from_state(from)?;
        splitter.interchange = from.small()?;
        splitter.segment = from.number()?;
        let [break_inside, release, nesting] = [from.flag()?, from.flag()?, from.flag()?];
        let [break_behind, empty] = [from.flag()?, from.flag()?];
        splitter.cut = from.flag()?;
        splitter.told = Told { break_inside, release, nesting, break_behind, empty, package: from.number()? };
        splitter.extended = Extended::from_state(from)?;
        Some(splitter)
    }
}
