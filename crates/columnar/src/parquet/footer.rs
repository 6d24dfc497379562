//! Footer entries of row groups, kept small until the footer is written.
//!
//! The library keeps about six hundred bytes for a column of a row group, which for rows of sixty columns is 14 MB a gigabyte of
//! segments. Here a row group is kept as its compressed footer entry: the same sixty columns over and over, mostly empty ones, take
//! a thirtieth of that.

use std::io::Write;
use std::sync::Arc;

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::schema::types::SchemaDescriptor;
use snap::raw::{Decoder, Encoder};

use crate::parquet::hybrid::put_varint;

/// The footer of a file that is being written.
#[derive(Debug)]
pub(crate) struct Footer {
    schema: Arc<SchemaDescriptor>,
    key_values: Option<Vec<KeyValue>>,
    /// The footer entry of each row group, compressed.
    groups: Vec<Box<[u8]>>,
    rows: u64,
    snappy: Encoder,
}

/// One row group that is complete in the file.
pub(crate) struct Group {
    pub(crate) columns: Vec<ColumnChunkMetaData>,
    pub(crate) rows: usize,
    /// Size in bytes before compression.
    pub(crate) bytes: i64,
    /// Offset of its first byte.
    pub(crate) offset: u64,
}

/// State of a footer, for [`Footer::back_to`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct FooterMark {
    groups: usize,
    rows: u64,
}

impl Footer {
    pub(crate) fn new(schema: Arc<SchemaDescriptor>, key_values: Option<Vec<KeyValue>>) -> Self {
        Footer { schema, key_values, groups: Vec::new(), rows: 0, snappy: Encoder::new() }
    }

    pub(crate) fn schema(&self) -> &Arc<SchemaDescriptor> {
        &self.schema
    }

    /// Takes over the row groups of a writer before, as [`Footer::groups`] gave them.
    pub(crate) fn resume(&mut self, groups: Vec<Box<[u8]>>, rows: u64) {
        (self.groups, self.rows) = (groups, rows);
    }

    /// Returns the compressed footer entry of each row group.
    pub(crate) fn groups(&self) -> &[Box<[u8]>] {
        &self.groups
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of memory, about.
    pub(crate) fn memory(&self) -> usize {
        self.groups.iter().map(|group| group.len() + size_of::<Box<[u8]>>()).sum()
    }

    pub(crate) fn push(&mut self, group: Group) -> Result<()> {
        let metadata = RowGroupMetaData::builder(Arc::clone(&self.schema))
            .set_column_metadata(group.columns)
            .set_total_byte_size(group.bytes)
            .set_num_rows(i64::try_from(group.rows)?)
            .set_ordinal(i32::try_from(self.groups.len())?)
            .set_file_offset(i64::try_from(group.offset)?)
            .build()?;
        let footer = self.encode(vec![metadata])?;
        let list = Fields::of(&footer)?;
        // The list of one has one byte in front: its length and type.
        let encoded = &footer[list.groups.start + 1..list.groups.end];
        let packed = self.snappy.compress_vec(encoded).map_err(|error| ParquetError::External(Box::new(error)))?;
        self.groups.push(packed.into_boxed_slice());
        self.rows += group.rows as u64;
        Ok(())
    }

    pub(crate) fn mark(&self) -> FooterMark {
        FooterMark { groups: self.groups.len(), rows: self.rows }
    }

    /// Forgets the row groups since the mark.
    pub(crate) fn back_to(&mut self, mark: FooterMark) {
        self.groups.truncate(mark.groups);
        self.rows = mark.rows;
    }

    /// Writes the footer and the bytes after it.
    pub(crate) fn write(&self, out: &mut impl Write) -> Result<()> {
        let frame = self.encode(Vec::new())?;
        let list = Fields::of(&frame)?;
        let mut rows = Vec::new();
        // Numbers are in zigzag form, which doubles those that are not negative.
        put_varint(self.rows << 1, &mut rows);
        let mut head = Vec::new();
        match u8::try_from(self.groups.len()) {
            Ok(short) if short < LONG_LIST => head.push(short << 4 | STRUCT),
            _ => {
                head.push(LONG_LIST << 4 | STRUCT);
                put_varint(self.groups.len() as u64, &mut head);
            }
        }
        let mut written = 0;
        let mut put = |bytes: &[u8]| {
            written += bytes.len();
            out.write_all(bytes)
        };
        put(&frame[..list.rows.start])?;
        put(&rows)?;
        put(&frame[list.rows.end..list.groups.start])?;
        put(&head)?;
        let mut snappy = Decoder::new();
        for group in &self.groups {
            put(&snappy.decompress_vec(group).map_err(|error| ParquetError::External(Box::new(error)))?)?;
        }
        put(&frame[list.groups.end..])?;
        out.write_all(&u32::try_from(written)?.to_le_bytes())?;
        out.write_all(MAGIC)?;
        Ok(())
    }

    /// Encodes the footer of these row groups with the library, without length and magic.
    fn encode(&self, groups: Vec<RowGroupMetaData>) -> Result<Vec<u8>> {
        const VERSION: i32 = 1;
        let by = format!("quayline {}", env!("CARGO_PKG_VERSION"));
        let file = FileMetaData::new(VERSION, 0, Some(by), self.key_values.clone(), Arc::clone(&self.schema), None);
        let mut bytes = Vec::new();
        ParquetMetaDataWriter::new(&mut bytes, &ParquetMetaData::new(file, groups)).finish()?;
        bytes.truncate(bytes.len() - MAGIC.len() - 4);
        Ok(bytes)
    }
}

/// First and last bytes of a file.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";

/// Places of the two fields that depend on row groups in an encoded `FileMetaData`, without their headers.
struct Fields {
    rows: core::ops::Range<usize>,
    groups: core::ops::Range<usize>,
}

impl Fields {
    /// Finds the fields to replace. Source: Apache Parquet, parquet.thrift: `num_rows` is field 3 of `FileMetaData`, `row_groups` field 4.
    fn of(footer: &[u8]) -> Result<Fields> {
        let mut compact = Compact { bytes: footer, at: 0 };
        let (mut field, mut rows, mut groups) = (0, 0..0, 0..0);
        while let Some((of_type, delta)) = compact.field()? {
            field += delta;
            let from = compact.at;
            compact.skip(of_type)?;
            match field {
                3 => rows = from..compact.at,
                4 => groups = from..compact.at,
                _ => {}
            }
        }
        if rows.is_empty() || groups.is_empty() {
            return Err(ParquetError::General("a footer has rows and row groups".to_owned()));
        }
        Ok(Fields { rows, groups })
    }
}

/// Thrift's compact protocol, as far as it takes to pass over values.
///
/// Source: Apache Thrift, thrift-compact-protocol.md.
struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

const STRUCT: u8 = 12;
/// The number of elements follows the byte.
const LONG_LIST: u8 = 15;

impl Compact<'_> {
    fn byte(&mut self) -> Result<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte.ok_or_else(|| ParquetError::EOF("a footer ends early".to_owned()))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(ParquetError::General("a number of more than 64 bits".to_owned()))
    }

    /// Reads the header of the next field: its type, and the difference of its number to the previous one; `None` at the end of the struct.
    fn field(&mut self) -> Result<Option<(u8, u64)>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        if head >> 4 == 0 {
            return Err(ParquetError::General("fields of a footer are in order".to_owned()));
        }
        Ok(Some((head & 0x0f, u64::from(head >> 4))))
    }

    /// Passes over a value of this type.
    fn skip(&mut self, of_type: u8) -> Result<()> {
        match of_type {
            // Truth values of fields are their type.
            1 | 2 => {}
            3 => self.at += 1,
            4..=6 => drop(self.varint()?),
            7 => self.at += 8,
            8 => self.at += usize::try_from(self.varint()?)?,
            9 | 10 => {
                let head = self.byte()?;
                let n = if head >> 4 == LONG_LIST { self.varint()? } else { u64::from(head >> 4) };
                for _ in 0..n {
                    match head & 0x0f {
                        1 | 2 => self.at += 1,
                        element => self.skip(element)?,
                    }
                }
            }
            STRUCT => {
                while let Some((of_type, _)) = self.field()? {
                    self.skip(of_type)?;
                }
            }
            _ => return Err(ParquetError::General(format!("a value of type {of_type} in a footer"))),
        }
        Ok(())
    }
}
