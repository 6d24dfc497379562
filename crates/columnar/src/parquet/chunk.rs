//! One column of the row group being built.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType, Type};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use crate::dictionary::Dictionary;
use crate::parquet::compress::Compressor;
use crate::parquet::hybrid;
use crate::parquet::pages::{ColumnPage, Distinct, Form, PageBody};
use crate::parquet::range::Range;
use crate::parquet::{Codec, ParquetOptions};

/// Pages of one column, kept until their row group is complete.
#[derive(Debug)]
pub(crate) struct Chunk {
    form: Form,
    pages: Vec<WrittenPage>,
    dictionary: Dictionary,
    /// Range of all pages with values so far.
    range: Option<Range>,
}

#[derive(Debug)]
struct WrittenPage {
    /// Header and body.
    bytes: Bytes,
    /// Header and body before compression.
    uncompressed: usize,
    levels: usize,
    nulls: usize,
    keys: bool,
}

impl Chunk {
    pub(crate) fn new(form: Form) -> Self {
        Chunk { form, pages: Vec::new(), dictionary: Dictionary::default(), range: None }
    }

    /// Adds a page; returns the bytes of memory that it takes.
    pub(crate) fn push(
        &mut self,
        page: ColumnPage,
        options: &ParquetOptions,
        compressor: &mut Compressor,
    ) -> Result<usize> {
        let before = self.dictionary.memory();
        let (bytes, uncompressed, keys) = match page.body {
            PageBody::Plain { bytes, uncompressed } => (bytes, uncompressed, false),
            PageBody::Keys { mut levels, keys, distinct } => {
                let fits = self.dictionary.bytes() + distinct.bytes() <= options.dictionary_bytes_max;
                if fits {
                    self.put_keys(&keys, &distinct, &mut levels);
                } else {
                    put_values(&keys, &distinct, self.form, &mut levels);
                }
                (compressor.compress(&levels), levels.len(), fits)
            }
        };
        let body = Page::DataPage {
            buf: bytes.into(),
            num_values: u32::try_from(page.levels)
                .map_err(|_| ParquetError::General("page of 2^32 values".to_owned()))?,
            encoding: if keys { Encoding::RLE_DICTIONARY } else { Encoding::PLAIN },
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let (bytes, uncompressed) = serialize(body, uncompressed)?;
        if page.levels > page.nulls {
            match &mut self.range {
                Some(range) => range.merge(&page.range),
                None => self.range = Some(page.range),
            }
        }
        let memory = bytes.len() + size_of::<WrittenPage>() + self.dictionary.memory() - before;
        self.pages.push(WrittenPage { bytes, uncompressed, levels: page.levels, nulls: page.nulls, keys });
        Ok(memory)
    }

    /// Appends keys of the chunk's dictionary for those of the page's.
    fn put_keys(&mut self, keys: &[u16], distinct: &Distinct, body: &mut Vec<u8>) {
        let names: Vec<u32> = (0..distinct.len()).map(|key| self.dictionary.intern(distinct.get(key)).0).collect();
        // A page of nulls has no key; its width must still be one that readers take.
        let width = hybrid::width(self.dictionary.len().saturating_sub(1)).max(1);
        body.push(width.to_le_bytes()[0]);
        let keys: Vec<u32> = keys.iter().map(|key| names[usize::from(*key)]).collect();
        hybrid::encode(&keys, width, body);
    }

    /// Returns the finished chunk, which begins at `offset` of the file, and its entry for the footer.
    pub(crate) fn finish(
        self,
        column: &ColumnDescPtr,
        offset: u64,
        codec: Codec,
        compressor: &mut Compressor,
    ) -> Result<(Vec<Bytes>, ColumnChunkMetaData)> {
        let dictionary =
            if self.pages.iter().any(|page| page.keys) { Some(self.dictionary_page(compressor)?) } else { None };
        let offset = i64::try_from(offset)?;
        let head = dictionary.as_ref().map_or(0, |(bytes, _)| bytes.len());
        let end = head + self.pages.iter().map(|page| page.bytes.len()).sum::<usize>();
        let nulls: usize = self.pages.iter().map(|page| page.nulls).sum();
        let levels: usize = self.pages.iter().map(|page| page.levels).sum();
        let uncompressed: usize = self.pages.iter().map(|page| page.uncompressed).sum();
        let statistics = self.range.as_ref().unwrap_or(&Range::None).statistics(nulls as u64);
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(match codec {
                Codec::Snappy => Compression::SNAPPY,
                Codec::Uncompressed => Compression::UNCOMPRESSED,
            })
            .set_encodings(self.encodings())
            .set_page_encoding_stats(self.encoding_stats(dictionary.is_some()))
            .set_num_values(levels as i64)
            .set_total_compressed_size(end as i64)
            .set_total_uncompressed_size((uncompressed + dictionary.as_ref().map_or(0, |(_, size)| *size)) as i64)
            .set_dictionary_page_offset(dictionary.is_some().then_some(offset))
            .set_data_page_offset(offset + head as i64)
            .set_statistics(statistics.unwrap_or_else(|| only_nulls(column.physical_type(), nulls as u64)))
            .build()?;
        let parts = dictionary.into_iter().map(|(bytes, _)| bytes).chain(self.pages.into_iter().map(|page| page.bytes));
        Ok((parts.collect(), metadata))
    }

    fn dictionary_page(&self, compressor: &mut Compressor) -> Result<(Bytes, usize)> {
        let mut body = Vec::with_capacity(self.dictionary.bytes() + 4 * self.dictionary.len());
        for value in self.dictionary.iter() {
            self.form.put(value, &mut body);
        }
        let page = Page::DictionaryPage {
            buf: compressor.compress(&body).into(),
            num_values: u32::try_from(self.dictionary.len())
                .map_err(|_| ParquetError::General("2^32 distinct values".to_owned()))?,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        serialize(page, body.len())
    }

    fn encodings(&self) -> Vec<Encoding> {
        let mut encodings = vec![Encoding::RLE];
        if self.pages.iter().any(|page| page.keys) {
            encodings.push(Encoding::RLE_DICTIONARY);
        }
        // A dictionary page is plain too.
        encodings.push(Encoding::PLAIN);
        encodings
    }

    fn encoding_stats(&self, dictionary: bool) -> Vec<PageEncodingStats> {
        let keys = self.pages.iter().filter(|page| page.keys).count();
        let entry = |page_type, encoding, count: usize| {
            let count = i32::try_from(count).ok().filter(|count| *count > 0)?;
            Some(PageEncodingStats { page_type, encoding, count })
        };
        [
            entry(PageType::DICTIONARY_PAGE, Encoding::PLAIN, usize::from(dictionary)),
            entry(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, keys),
            entry(PageType::DATA_PAGE, Encoding::PLAIN, self.pages.len() - keys),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Appends values for keys: the dictionary is full.
fn put_values(keys: &[u16], distinct: &Distinct, form: Form, body: &mut Vec<u8>) {
    for key in keys {
        form.put(distinct.get((*key).into()).bytes(), body);
    }
}

/// Joins header and body, and returns them with their size before compression.
fn serialize(page: Page, uncompressed: usize) -> Result<(Bytes, usize)> {
    let mut out = TrackedWrite::new(Vec::with_capacity(page.buffer().len() + 64));
    let spec = SerializedPageWriter::new(&mut out).write_page(CompressedPage::new(page, uncompressed))?;
    // Pages wait until their row group is full: without room to spare.
    Ok((out.into_inner()?.into_boxed_slice().into(), spec.uncompressed_size))
}

fn only_nulls(physical: Type, nulls: u64) -> Statistics {
    let nulls = Some(nulls);
    match physical {
        Type::BOOLEAN => Statistics::boolean(None, None, None, nulls, false),
        Type::INT32 => Statistics::int32(None, None, None, nulls, false),
        Type::INT64 => Statistics::int64(None, None, None, nulls, false),
        Type::INT96 => Statistics::int96(None, None, None, nulls, false),
        Type::FLOAT => Statistics::float(None, None, None, nulls, false),
        Type::DOUBLE => Statistics::double(None, None, None, nulls, false),
        Type::BYTE_ARRAY => Statistics::byte_array(None, None, None, nulls, false),
        Type::FIXED_LEN_BYTE_ARRAY => Statistics::fixed_len_byte_array(None, None, None, nulls, false),
    }
}
