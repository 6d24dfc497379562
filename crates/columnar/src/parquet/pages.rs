//! One batch as a page in each column.

use std::sync::Arc;

use arrow_buffer::{ToByteSlice, i256};
use quayline_core::Run;

use crate::bytes_column::{BytesColumn, BytesValues, is_varied, up_to};
use crate::dictionary::Dictionary;
use crate::error::ColumnError;
use crate::leaf::{Leaf, Store};
use crate::parquet::Codec;
use crate::parquet::compress::Compressor;
use crate::parquet::levels::{Column, Container, Levels};
use crate::parquet::range::{Range, big_endian};
use crate::sink::ColumnSink;
use crate::validity::Validity;

/// Turns the rows of a sink into pages; one for each thread.
#[derive(Clone, Debug)]
pub struct ParquetEncoder {
    table: Arc<Table>,
    compressor: Compressor,
    body: Vec<u8>,
    /// Dictionary of a numeric column; text columns have one in the sink.
    dictionary: Dictionary,
}

/// Data that all encoders of a file share.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) containers: Vec<Container>,
    pub(crate) forms: Vec<Form>,
    pub(crate) codec: Codec,
}

/// Form of a plain value in a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// Preceded by its length in four bytes.
    Prefixed,
    /// A fixed number of bytes.
    Fixed(usize),
}

/// The encoded rows of one batch, for [`ParquetWriter::write`](crate::ParquetWriter::write).
#[derive(Debug)]
pub struct ParquetPages {
    pub(crate) rows: usize,
    pub(crate) pages: Vec<ColumnPage>,
}

/// The page of one column.
#[derive(Debug)]
pub(crate) struct ColumnPage {
    /// Values, nulls and empty lists included.
    pub(crate) levels: usize,
    pub(crate) nulls: usize,
    pub(crate) range: Range,
    pub(crate) body: PageBody,
}

#[derive(Debug)]
pub(crate) enum PageBody {
    /// The whole page, compressed.
    Plain { bytes: Vec<u8>, uncompressed: usize },
    /// Keys of a dictionary of this batch; the writer has that of the chunk.
    Keys { levels: Vec<u8>, keys: Vec<u16>, distinct: Distinct },
}

/// Distinct values in key order.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    ends: Vec<u32>,
    /// The bytes, with room after the last value for block copies.
    bytes: Vec<u8>,
}

impl ParquetEncoder {
    pub(crate) fn new(table: Arc<Table>) -> Self {
        ParquetEncoder {
            compressor: Compressor::new(table.codec),
            table,
            body: Vec::new(),
            dictionary: Dictionary::default(),
        }
    }

    /// Encodes the rows of `sink` as pages; the sink is empty afterwards.
    ///
    /// # Errors
    /// [`ColumnError::DocumentOpen`] within a document; [`ColumnError::RefusalsNotTaken`] if a refusal was not taken;
    /// [`ColumnError::OtherShape`] for a sink that is not a sibling of the writer's.
    pub fn take_pages(&mut self, sink: &mut ColumnSink) -> Result<ParquetPages, ColumnError> {
        sink.check_complete()?;
        let table = Arc::clone(&self.table);
        let leaves = sink.plan.nodes.iter().filter(|node| node.leaf.is_some()).count();
        if leaves != table.columns.len() || table.columns.iter().any(|column| sink.leaves.len() <= column.node.index())
        {
            return Err(ColumnError::OtherShape);
        }
        let levels: Vec<Levels> = table.containers.iter().map(|container| container.levels(sink)).collect();
        let pages = table.columns.iter().zip(&table.forms).map(|(column, form)| {
            self.page(sink, *column, &table.containers[column.container], &levels[column.container], *form)
        });
        let pages = ParquetPages { rows: sink.rows(), pages: pages.collect() };
        sink.clear();
        Ok(pages)
    }

    fn page(
        &mut self,
        sink: &ColumnSink,
        column: Column,
        container: &Container,
        levels: &Levels,
        form: Form,
    ) -> ColumnPage {
        let len = sink.count(column.node);
        let leaf = &sink.leaves[column.node.index()];
        let mut body = core::mem::take(&mut self.body);
        body.clear();
        container.put(levels, &leaf.validity, len, &mut body);
        let values = len - leaf.validity.nulls();
        let (levels, nulls) = (levels.count, levels.count - values);
        let (range, keys) = self.values(leaf, len, form, &mut body);
        let body = match keys {
            Some((keys, distinct)) => {
                // A copy, because the buffer is as large as the largest page so far, and every column has such a page.
                let levels = body.clone();
                self.body = body;
                PageBody::Keys { levels, keys, distinct }
            }
            None => {
                let bytes = self.compressor.compress(&body);
                let uncompressed = body.len();
                self.body = body;
                PageBody::Plain { bytes, uncompressed }
            }
        };
        ColumnPage { levels, nulls, range, body }
    }

    /// Computes the range of a column's values. Returns it with the dictionary keys of the values, or writes the values to `body` in PLAIN encoding.
    fn values(
        &mut self,
        leaf: &Leaf,
        len: usize,
        form: Form,
        body: &mut Vec<u8>,
    ) -> (Range, Option<(Vec<u16>, Distinct)>) {
        let validity = &leaf.validity;
        match &leaf.store {
            Store::Text(column) | Store::Bytes(column) => match column.values(len) {
                BytesValues::Interned { keys, dictionary } => {
                    let (keys, distinct) = used(keys, dictionary, validity);
                    (Range::of_bytes(distinct.iter()), Some((keys, distinct)))
                }
                BytesValues::Plain { .. } => (put_bytes(column, len, validity, body), None),
            },
            Store::Int32(numbers) => {
                let values = present(up_to(&numbers.values, len), validity);
                let range = ends(&values).map_or(Range::None, |(min, max)| Range::Int32(min, max));
                let keys = self.keys(&values, |n| padded(&n.to_le_bytes()), 4);
                if keys.is_none() {
                    body.extend_from_slice(values.as_ref().to_byte_slice());
                }
                (range, keys)
            }
            Store::Int64(numbers) => {
                let values = present(up_to(&numbers.values, len), validity);
                let range = ends(&values).map_or(Range::None, |(min, max)| Range::Int64(min, max));
                let keys = self.keys(&values, |n| padded(&n.to_le_bytes()), 8);
                if keys.is_none() {
                    body.extend_from_slice(values.as_ref().to_byte_slice());
                }
                (range, keys)
            }
            Store::Int128(numbers) => {
                let values = present(up_to(&numbers.values, len), validity);
                let bytes = form.bytes();
                let range = ends(&values)
                    .map_or(Range::None, |(min, max)| Range::Wide(i256::from_i128(min), i256::from_i128(max), bytes));
                let keys = self.keys(&values, |n| padded(&n.to_be_bytes()[16 - bytes..]), bytes);
                if keys.is_none() {
                    body.reserve(values.len() * bytes);
                    for n in values.iter() {
                        body.extend_from_slice(&n.to_be_bytes()[16 - bytes..]);
                    }
                }
                (range, keys)
            }
            Store::Int256(numbers) => {
                let values = present(up_to(&numbers.values, len), validity);
                let bytes = form.bytes();
                for n in values.iter() {
                    body.extend_from_slice(&big_endian(*n, bytes));
                }
                (ends(&values).map_or(Range::None, |(min, max)| Range::Wide(min, max, bytes)), None)
            }
            Store::Float32(values) => {
                body.extend_from_slice(present(up_to(values, len), validity).as_ref().to_byte_slice());
                (Range::None, None)
            }
            Store::Float64(values) => {
                body.extend_from_slice(present(up_to(values, len), validity).as_ref().to_byte_slice());
                (Range::None, None)
            }
            Store::Bool(values) => {
                let values = present(up_to(values, len), validity);
                body.extend(
                    values.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))),
                );
                (ends(&values).map_or(Range::None, |(min, max)| Range::Bool(min, max)), None)
            }
            Store::Group => unreachable!("columns are leaves"),
        }
    }

    /// Returns keys for numbers that repeat: codes, dates, amounts that are mostly zero. Returns `None` if they do not repeat,
    /// which a sample shows first.
    fn keys<T: Copy + Ord>(
        &mut self,
        values: &[T],
        bytes_of: impl Fn(T) -> [u8; 16],
        bytes: usize,
    ) -> Option<(Vec<u16>, Distinct)> {
        let mut sample: Vec<T> = values.iter().step_by(values.len().div_ceil(SAMPLE).max(1)).copied().collect();
        sample.sort_unstable();
        let taken = sample.len();
        sample.dedup();
        if sample.len() * 100 > taken * SAMPLE_DISTINCT_PERCENT {
            return None;
        }
        self.dictionary.clear();
        let mut keys = Vec::with_capacity(values.len());
        for n in values {
            let block = bytes_of(*n);
            let (key, new) = self.dictionary.intern(Run::new(&block, bytes));
            if new && is_varied(&self.dictionary, keys.len() + 1) {
                return None;
            }
            keys.push(u16::try_from(key).expect("the dictionary is bounded below 2^16 entries"));
        }
        let mut distinct = Distinct::default();
        for value in self.dictionary.iter() {
            distinct.push(value);
        }
        distinct.bytes.resize(distinct.bytes.len() + 16, 0);
        Some((keys, distinct))
    }
}

/// Number of values sampled to decide on a dictionary.
const SAMPLE: usize = 256;
/// Different ones among them up to which it is tried; 256 of 4,096 evenly spread values are 97 % different.
const SAMPLE_DISTINCT_PERCENT: usize = 97;

fn padded(bytes: &[u8]) -> [u8; 16] {
    let mut block = [0; 16];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

impl Form {
    /// Returns the bytes of a value of fixed length, otherwise 0.
    fn bytes(self) -> usize {
        match self {
            Form::Prefixed => 0,
            Form::Fixed(bytes) => bytes,
        }
    }

    /// Appends a value.
    pub(crate) fn put(self, value: &[u8], body: &mut Vec<u8>) {
        if self == Form::Prefixed {
            let len = u32::try_from(value.len()).expect("a value is shorter than 4 GiB");
            body.extend_from_slice(&len.to_le_bytes());
        }
        body.extend_from_slice(value);
    }
}

impl ParquetPages {
    /// Rows in these pages.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        let bytes = self.pages.iter().map(|page| match &page.body {
            PageBody::Plain { bytes, .. } => bytes.len(),
            PageBody::Keys { levels, keys, distinct } => {
                levels.len() + keys.len() * 2 + distinct.ends.len() * 4 + distinct.bytes.len()
            }
        });
        bytes.sum::<usize>() + self.pages.len() * size_of::<ColumnPage>()
    }
}

impl Distinct {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, key: usize) -> Run<'_> {
        let start = key.checked_sub(1).map_or(0, |last| self.ends[last] as usize);
        Run::new(&self.bytes[start..], self.ends[key] as usize - start)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|key| self.get(key).bytes())
    }

    /// Bytes of all values.
    pub(crate) fn bytes(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(u32::try_from(self.bytes.len()).expect("a dictionary of one batch is bounded far below 4 GiB"));
    }
}

/// Returns keys without nulls and the values that they name. Values that only discarded documents had are left out.
fn used(keys: &[u16], dictionary: &Dictionary, validity: &Validity) -> (Vec<u16>, Distinct) {
    let keys: Vec<u16> = present(keys, validity).into_owned();
    let mut seen = vec![false; dictionary.len()];
    for key in &keys {
        seen[usize::from(*key)] = true;
    }
    let mut distinct = Distinct::default();
    let mut names = Vec::with_capacity(dictionary.len());
    for (value, seen) in dictionary.iter().zip(&seen) {
        names.push(u16::try_from(distinct.len()).expect("keys are 16 bits"));
        if *seen {
            distinct.push(value);
        }
    }
    distinct.bytes.resize(distinct.bytes.len() + 16, 0);
    let keys = if distinct.len() == dictionary.len() {
        keys
    } else {
        keys.iter().map(|key| names[usize::from(*key)]).collect()
    };
    (keys, distinct)
}

/// Appends plain byte strings, each after its length, and returns their range.
fn put_bytes(column: &BytesColumn, len: usize, validity: &Validity, body: &mut Vec<u8>) -> Range {
    let values =
        || column.values(len).iter().enumerate().filter(|(at, _)| validity.is_valid(*at)).map(|(_, value)| value);
    for value in values() {
        Form::Prefixed.put(value, body);
    }
    Range::of_bytes(values())
}

/// Returns the values that are not null. Entries beyond the end of `values` are null.
fn present<'a, T: Copy>(values: &'a [T], validity: &Validity) -> std::borrow::Cow<'a, [T]> {
    if validity.nulls() == 0 {
        return values.into();
    }
    let mut kept = Vec::with_capacity(values.len());
    for (word, values) in validity.words(values.len()).unwrap_or_default().into_iter().zip(values.chunks(64)) {
        let mut bits = word;
        while bits != 0 {
            let at = bits.trailing_zeros() as usize;
            // Bits after the last value are set.
            let Some(value) = values.get(at) else { break };
            kept.push(*value);
            bits &= bits - 1;
        }
    }
    kept.into()
}

fn ends<T: Copy + Ord>(values: &[T]) -> Option<(T, T)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(min, max), n| (min.min(*n), max.max(*n))))
}
