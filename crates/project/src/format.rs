//! The formats of documents: how bytes are read as documents, and how documents are written as bytes.
//!
//! The enums are exhaustive on purpose: the crates that run them match totally, so that a new format does not compile until it runs.

use std::sync::Arc;

use quayline_charset::Charset;
use quayline_edi::GuideDocuments;
use quayline_edi::{EdiWriterOptions, Rules, ValidationLevel};
use quayline_flat::CsvStyle;
use quayline_frame::FramingSpec;
use quayline_xml::XmlStyle;

/// Format of the input: how bytes become records or documents.
#[derive(Clone, Debug)]
pub enum SourceFormat {
    /// Records in this framing, described by a [`Schema`](crate::Schema).
    Records(FramingSpec),
    /// JSON: documents one after another (separated by line ends or other white space), or one array of documents. The first non-blank byte
    /// distinguishes the two.
    Json(JsonRead),
    /// CSV; with a header its first row names the columns.
    Csv(CsvStyle),
    /// XML: one root element whose children are the documents.
    Xml(XmlStyle),
    /// X12 and EDIFACT: interchanges one after another; a document is a transaction.
    Edi(EdiRead),
    /// Parquet and Arrow IPC, distinguished by their first bytes. A row is a document, and columns are matched to nodes by name.
    Columns(ColumnsRead),
}

/// Settings for reading columns.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ColumnsRead {
    /// Columns that the shape does not have are passed over; by default they are errors, since most often a name is written another way.
    pub ignore_unknown: bool,
}

/// Settings for reading interchanges.
#[derive(Clone)]
pub struct EdiRead {
    /// Treatment of departures from the standards.
    pub rules: Rules,
    /// The character set of all interchanges; absent, they name it.
    pub charset: Option<Charset>,
    /// Unit of an interchange that becomes a document.
    pub documents: EdiDocuments,
    /// Guides, by which transactions become documents of the shape [`Schema::edi_by_guide`](crate::Schema::edi_by_guide); only for [`EdiDocuments::Transactions`]. Their
    /// digest belongs to the definitions of a checkpoint.
    pub guides: Option<Arc<GuideDocuments>>,
    /// Checks by the guide. A transaction with errors is rejected.
    pub level: ValidationLevel,
    /// Bytes above which a transaction is converted in pages, each a document with `transaction.page`, so that memory does not depend on the
    /// length of the transaction. Default 512 KiB: a page and its output, up to six times as large in XML, stay within 32 MiB even on two threads.
    pub page_bytes: usize,
}

impl Default for EdiRead {
    fn default() -> Self {
        EdiRead {
            rules: Rules::default(),
            charset: None,
            documents: EdiDocuments::default(),
            guides: None,
            level: ValidationLevel::default(),
            page_bytes: 512 << 10,
        }
    }
}

/// Omits the guides, whose tables are long.
impl core::fmt::Debug for EdiRead {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("EdiRead")
            .field("rules", &self.rules)
            .field("charset", &self.charset)
            .field("documents", &self.documents)
            .field("by_guide", &self.guides.is_some())
            .field("level", &self.level)
            .field("page_bytes", &self.page_bytes)
            .finish()
    }
}

/// Unit of an interchange that becomes a document.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum EdiDocuments {
    /// A transaction, of the shape [`Schema::edi`](crate::Schema::edi).
    #[default]
    Transactions,
    /// A segment, of the shape [`Schema::edi_rows`](crate::Schema::edi_rows): for tables.
    Rows,
}

/// Settings for reading JSON.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JsonRead {
    /// Unknown members are ignored. By default they are errors, since most often a name is misspelt.
    pub ignore_unknown: bool,
}

/// Format of the output.
#[derive(Clone, Debug)]
pub enum TargetFormat {
    /// One JSON document a line.
    JsonLines(JsonWrite),
    /// One JSON array of documents, a document a line.
    JsonArray(JsonWrite),
    /// CSV; lists become numbered columns, `NAME[0]`.
    Csv(CsvStyle),
    /// XML: a root element with a child element a document.
    Xml(XmlStyle),
    /// Records in this framing.
    Records(FramingSpec),
    /// A Parquet file.
    Parquet(ParquetWrite),
    /// An Arrow IPC file.
    ArrowFile,
    /// An Arrow IPC stream.
    ArrowStream,
    /// Interchanges of generic documents.
    Edi(EdiWriterOptions),
}

/// Settings for writing JSON.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JsonWrite {
    /// Numbers that common readers would change.
    pub numbers: JsonNumbers,
}

/// Numbers that readers with 64-bit floats would change: more than 15 significant digits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum JsonNumbers {
    /// JSON numbers with all digits.
    #[default]
    Exact,
    /// Strings for fields that may hold more than 15 digits, so that every value of a field has one type.
    SafeStrings,
    /// Always as strings.
    Strings,
}

/// Settings for writing Parquet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ParquetWrite {
    /// Compression of pages.
    pub compression: ParquetCompression,
}

/// Compression of Parquet pages.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ParquetCompression {
    /// Snappy: fast, read everywhere.
    #[default]
    Snappy,
    /// No compression.
    None,
}
