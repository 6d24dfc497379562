//! Writers of text: JSON, XML, CSV; and the target that hands their documents on as they are.

use core::convert::Infallible;

use quayline_core::{Finding, NodeId, Sink, Value};
use quayline_flat::{CsvWriter, FamilyWriter, KeySpan};
use quayline_json::JsonWriter;
use quayline_xml::XmlWriter;

use crate::apart::Apart;
use crate::payload::Payload;
use crate::revocable::Revocable;
use crate::sink::WithNulls;
use crate::sink::map::{AnyPart, TextPart};
use crate::target::Target;

/// A writer of text whose output can be cut back; marks are lengths.
pub(crate) trait TextWriter: Revocable<Mark = usize, Error = Infallible> + Sink + Send + Sized {
    /// Bytes that were written, those of an open document too as far as they can be taken.
    fn written(&self) -> usize;
    /// Takes the written bytes, even within a document.
    fn take(&mut self, into: &mut Vec<u8>);
    /// Takes the bytes of complete documents in exchange for a buffer. Returns them and their number.
    fn exchange(&mut self, mut buffer: Vec<u8>) -> (Vec<u8>, usize) {
        buffer.clear();
        self.take(&mut buffer);
        let len = buffer.len();
        (buffer, len)
    }
    /// Returns true if values are written at their final position at once.
    fn is_in_order(&self) -> bool {
        true
    }
    /// Returns the keys of the documents that are taken next.
    fn keys(&self) -> Option<KeySpan> {
        None
    }
    /// Returns the reason why the last document cannot be written.
    #[inline(always)]
    fn refusal(&mut self) -> Option<Finding> {
        None
    }
    /// Writes null in place of a member: a value, a group or a list. In XML, a list has this many null elements.
    fn null_members(&mut self, node: NodeId, times: u32) {
        (0..times).for_each(|_| self.value(node, Value::Null));
    }
    /// Returns an output of a map, of a kind that is known at run time.
    fn any<'s>(part: TextPart<Self>) -> AnyPart<'s>;
    /// Returns an output of a map that has nulls for mandatory members; only JSON and XML have null.
    fn any_with_nulls<'s>(_: TextPart<WithNulls<Self>>) -> AnyPart<'s> {
        unreachable!("no other format has null")
    }
}

impl TextWriter for JsonWriter {
    #[inline(always)]
    fn written(&self) -> usize {
        self.bytes().len()
    }
    fn take(&mut self, into: &mut Vec<u8>) {
        into.extend_from_slice(self.bytes());
        self.clear();
    }
    fn exchange(&mut self, buffer: Vec<u8>) -> (Vec<u8>, usize) {
        JsonWriter::exchange(self, buffer)
    }
    fn null_members(&mut self, node: NodeId, _: u32) {
        self.null_member(node);
    }
    fn any_with_nulls<'s>(part: TextPart<WithNulls<Self>>) -> AnyPart<'s> {
        AnyPart::JsonNulls(Box::new(part))
    }
    fn any<'s>(part: TextPart<Self>) -> AnyPart<'s> {
        AnyPart::Json(part)
    }
}

impl TextWriter for XmlWriter {
    fn written(&self) -> usize {
        XmlWriter::written(self)
    }
    fn take(&mut self, into: &mut Vec<u8>) {
        self.take_written(into);
    }
    fn exchange(&mut self, buffer: Vec<u8>) -> (Vec<u8>, usize) {
        let bytes = XmlWriter::exchange(self, buffer);
        let len = bytes.len();
        (bytes, len)
    }
    #[inline]
    fn refusal(&mut self) -> Option<Finding> {
        self.take_fault().map(|fault| fault.finding())
    }
    fn any_with_nulls<'s>(part: TextPart<WithNulls<Self>>) -> AnyPart<'s> {
        AnyPart::XmlNulls(Box::new(part))
    }
    fn any<'s>(part: TextPart<Self>) -> AnyPart<'s> {
        AnyPart::Xml(part)
    }
}

/// Rows; a row with values that come before their turn is put in order at its end.
macro_rules! text_writer_of_rows {
    ($writer:ty, $keys:expr, $any:expr) => {
        impl TextWriter for $writer {
            fn written(&self) -> usize {
                self.bytes().len()
            }
            fn take(&mut self, into: &mut Vec<u8>) {
                into.extend_from_slice(self.bytes());
                self.clear();
            }
            fn is_in_order(&self) -> bool {
                false
            }
            fn keys(&self) -> Option<KeySpan> {
                $keys(self)
            }
            #[inline]
            fn refusal(&mut self) -> Option<Finding> {
                self.take_fault().map(|fault| fault.finding())
            }
            fn any<'s>(part: TextPart<Self>) -> AnyPart<'s> {
                $any(part)
            }
        }
    };
}

text_writer_of_rows!(CsvWriter, |_| None, AnyPart::Csv);
text_writer_of_rows!(FamilyWriter, FamilyWriter::key_span, |part| AnyPart::Families(Box::new(part)));

/// Text of a source's documents.
pub(crate) struct TextTarget<W> {
    writer: W,
    /// Ends of documents, if each goes to a separate file.
    cuts: Option<Vec<usize>>,
}

impl<W: TextWriter> TextTarget<W> {
    pub(crate) fn new(writer: W, apart: Apart) -> Self {
        TextTarget { writer, cuts: (apart == Apart::FileEach).then(Vec::new) }
    }
}

impl<W: TextWriter> Target for TextTarget<W> {
    type Sink = W;

    #[inline(always)]
    fn sink(&mut self) -> &mut W {
        &mut self.writer
    }

    #[inline(always)]
    fn accept(&mut self) -> Result<(), Vec<Finding>> {
        if let Some(finding) = self.writer.refusal() {
            return Err(vec![finding]);
        }
        if let Some(cuts) = &mut self.cuts {
            cuts.push(self.writer.written());
        }
        Ok(())
    }

    fn mark(&mut self) -> Result<usize, Vec<Finding>> {
        Ok(self.cuts.as_ref().map_or_else(|| self.writer.written(), Vec::len))
    }

    fn drain(&mut self, payload: &mut Payload) -> Result<(), Vec<Finding>> {
        if let Some(cuts) = &mut self.cuts {
            core::mem::swap(cuts, &mut payload.cuts);
            cuts.clear();
        }
        payload.keys = self.writer.keys();
        (payload.bytes, payload.len) = self.writer.exchange(core::mem::take(&mut payload.bytes));
        Ok(())
    }
}
