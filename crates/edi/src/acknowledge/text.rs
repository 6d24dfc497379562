//! Segments of an acknowledgment as text, with the delimiters of the acknowledged interchange.

use quayline_charset::ExtendedText;

use crate::characters::Characters;
use crate::delimiters::{Delimiters, Standard};
use crate::envelope::Header;
use crate::segment::Element;
use crate::splitter::LineBreak;
use crate::start::CharacterSet;

/// A component: its maximum length in bytes, and the substitute for an empty value if it is mandatory.
pub(super) type Part = (usize, &'static str);

/// Segments under construction.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) delimiters: Delimiters,
    pub(super) line_break: LineBreak,
    pub(super) bytes: Vec<u8>,
    /// Text beyond ASCII is written by code extension.
    pub(super) extended: bool,
    /// Each byte is a character, because the answered interchange names such a set.
    single_byte: bool,
    /// Segments since the last [`Text::restart`].
    pub(super) segments: u64,
    /// Bytes up to the last element that is not empty.
    solid: usize,
}

impl Text {
    pub(super) fn new() -> Self {
        Text {
            delimiters: Delimiters::X12,
            line_break: LineBreak::None,
            bytes: Vec::new(),
            extended: false,
            single_byte: false,
            segments: 0,
            solid: 0,
        }
    }

    /// Begins with nothing, for an interchange with these delimiters.
    pub(super) fn restart(&mut self, delimiters: &Delimiters, line_break: LineBreak) {
        // Written interchanges have no ISX.
        let release = if delimiters.standard == Standard::X12 { None } else { delimiters.release };
        self.delimiters = Delimiters { release, ..*delimiters };
        self.line_break = line_break;
        (self.extended, self.single_byte) = (false, false);
        self.bytes.clear();
        self.segments = 0;
    }

    /// Begins with nothing, for an answer to an interchange.
    pub(super) fn answer(&mut self, interchange: &Header, line_break: LineBreak) {
        self.restart(interchange.delimiters(), line_break);
        let set = CharacterSet::of(&interchange.field("syntax_identifier"));
        self.extended = self.delimiters.standard == Standard::Edifact && set == Some(CharacterSet::Iso2022);
        self.single_byte = Characters::of(interchange, None).has_declared_bytes();
    }

    pub(super) fn begin(&mut self, tag: &str) -> &mut Self {
        self.bytes.extend_from_slice(tag.as_bytes());
        self.solid = self.bytes.len();
        self
    }

    /// Writes a data element. In EDIFACT, service characters are released; in X12, they are replaced by spaces.
    pub(super) fn element(&mut self, data: &[u8]) -> &mut Self {
        self.bytes.push(self.delimiters.element);
        self.data(data);
        self
    }

    /// Writes a composite element without empty components at its end.
    pub(super) fn composite(&mut self, components: &[&[u8]]) -> &mut Self {
        self.bytes.push(self.delimiters.element);
        let len = components.iter().rposition(|component| !component.is_empty()).map_or(0, |last| last + 1);
        for (i, component) in components[..len].iter().enumerate() {
            if i > 0 {
                self.bytes.push(self.delimiters.component);
            }
            self.data(component);
        }
        self
    }

    /// Returns true if a component can be repeated: it is neither empty nor blank, within its maximum length, and without control characters.
    pub(super) fn is_usable(&self, data: &[u8], most: usize) -> bool {
        let text = if self.single_byte { None } else { core::str::from_utf8(data).ok() };
        let characters = text.map_or(data.len(), |text| text.chars().count());
        characters <= most && data.iter().any(|byte| *byte != b' ') && !data.iter().any(u8::is_ascii_control)
    }

    /// Copies a composite of an interchange. Components that cannot be repeated are left out, and mandatory ones have substitutes.
    pub(super) fn parts(&mut self, element: Option<Element<'_>>, parts: &[Part]) -> &mut Self {
        self.bytes.push(self.delimiters.element);
        let start = self.bytes.len();
        let mut components = element.map(|element| element.components());
        let mut end = start;
        for (i, (most, otherwise)) in parts.iter().enumerate() {
            if i > 0 {
                self.bytes.push(self.delimiters.component);
            }
            let mut scratch = Vec::new();
            let component = components.as_mut().and_then(Iterator::next);
            let data = component.map_or(&b""[..], |component| component.data(&mut scratch).bytes());
            let data = if self.is_usable(data, *most) { data } else { otherwise.as_bytes() };
            self.data(data);
            if self.solid > end {
                end = self.solid;
            }
        }
        self.bytes.truncate(end);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.element(number.to_string().as_bytes())
    }

    /// Ends the segment without the empty elements at its end.
    pub(super) fn end(&mut self) {
        self.bytes.truncate(self.solid);
        self.bytes.push(self.delimiters.terminator);
        self.bytes.extend_from_slice(self.line_break.bytes());
        self.segments += 1;
    }

    /// Writes a complete segment without its terminator.
    pub(super) fn raw(&mut self, segment: &[u8]) {
        self.bytes.extend_from_slice(segment);
        self.solid = self.bytes.len();
        self.end();
    }

    fn data(&mut self, data: &[u8]) {
        if self.extended
            && !data.is_ascii()
            && let Ok(text) = core::str::from_utf8(data)
        {
            return self.extended(text);
        }
        self.bytes_of(data);
    }

    /// Writes text that was read with code extension. Its unreadable characters were already reported.
    fn extended(&mut self, text: &str) {
        let mut writer = ExtendedText::default();
        for char in text.chars() {
            match u8::try_from(char).ok().filter(u8::is_ascii) {
                None if writer.put(char, &mut self.bytes).is_ok() => {}
                byte => {
                    writer.ascii(&mut self.bytes);
                    self.bytes_of(&[byte.unwrap_or(b'?')]);
                }
            }
        }
        writer.ascii(&mut self.bytes);
        self.solid = self.bytes.len();
    }

    fn bytes_of(&mut self, data: &[u8]) {
        for byte in data {
            if self.delimiters.is_service(*byte) {
                self.bytes.push(self.delimiters.release.unwrap_or(b' '));
                if self.delimiters.release.is_none() {
                    continue;
                }
            }
            self.bytes.push(*byte);
        }
        if !data.is_empty() {
            self.solid = self.bytes.len();
        }
    }
}
