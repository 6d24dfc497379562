//! The framing of a file as users specify it.

/// Arrangement of the records in a file. [`FramingSpec::parse`] and `Display` use the form that users type, such as `fixed:200` or
/// `rdw:le`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FramingSpec {
    /// Every record has this many bytes; nothing between them (RECFM F and FB).
    Fixed {
        /// Bytes of a record, at least 1.
        length: usize,
    },
    /// A length in front of every record (RECFM V without its blocks, GnuCOBOL variable sequential).
    Rdw(RdwSpec),
    /// Blocks with a length in front, records with a length inside them (RECFM V and VB with BDW).
    Blocked(BlockedSpec),
    /// Records in segments that may span several blocks (RECFM VS and VBS); z/OS segment descriptor words.
    Spanned(SpannedSpec),
    /// Lines (LINE SEQUENTIAL, text files).
    Lines(LineSpec),
    /// A length field at a fixed place of the record itself, or a length prefix in digits (RECFM D).
    LengthField(LengthFieldSpec),
    /// Micro Focus variable format: a file header of 128 bytes, record headers of 2 or 4 bytes with a type in the first 4 bits,
    /// records padded to 4.
    MicroFocus,
    /// Records that follow each other and end where their own OCCURS DEPENDING ON counters, or the views that their selectors
    /// choose, say. Requires a [`crate::RecordExtent`].
    Layout,
}

/// Byte order of a number.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ByteOrder {
    /// High byte first: z/OS.
    #[default]
    Big,
    /// Low byte first.
    Little,
}

/// Extent of a length.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Counts {
    /// The header and the bytes that it describes: z/OS.
    #[default]
    Whole,
    /// The length counts the body only: GnuCOBOL and some transfer programs.
    Body,
}

/// Form of a record's length header.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum RdwHeader {
    /// 4 bytes: length in the first two, the others reserved: z/OS RDW, GnuCOBOL `COB_VARSEQ_FORMAT=0`.
    #[default]
    TwoReserved,
    /// 4 bytes: two reserved ones, then the length. With [`ByteOrder::Little`], a z/OS RDW whose word was byte-swapped.
    ReservedTwo,
    /// 2 bytes: GnuCOBOL `COB_VARSEQ_FORMAT=3`.
    Two,
    /// 4 bytes: GnuCOBOL `COB_VARSEQ_FORMAT=1` (big) and `=2` (little).
    Four,
}

impl RdwHeader {
    /// Bytes of the header.
    #[must_use]
    pub fn bytes(self) -> usize {
        if self == RdwHeader::Two { 2 } else { 4 }
    }
}

/// Required value of the reserved bytes of a header.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Reserved {
    /// Zero; any other value is a fault, which detects spanned records and wrong framing early.
    #[default]
    Zero,
    /// The value is not checked.
    Any,
}

/// A record's length header. The default is the z/OS RDW: "Record Descriptor Word", z/OS DFSMS Using Data Sets, SC23-6855.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RdwSpec {
    /// Form.
    pub header: RdwHeader,
    /// Byte order of the length.
    pub order: ByteOrder,
    /// Extent of the length.
    pub counts: Counts,
    /// Added to the length as read, before `counts` is applied; for programs that count wrong by a constant.
    pub adjustment: i32,
    /// The reserved bytes.
    pub reserved: Reserved,
    /// Largest length as read that is believed. Default 32,760, the most that z/OS writes; 65,535 or more for other programs.
    pub length_max: u32,
}

impl Default for RdwSpec {
    fn default() -> Self {
        RdwSpec {
            header: RdwHeader::TwoReserved,
            order: ByteOrder::Big,
            counts: Counts::Whole,
            adjustment: 0,
            reserved: Reserved::Zero,
            length_max: 32_760,
        }
    }
}

impl RdwSpec {
    /// Returns the variable sequential format of GnuCOBOL for a `COB_VARSEQ_FORMAT` of 0 to 3 (0 is GnuCOBOL's default); `None` for another number.
    #[must_use]
    pub fn gnucobol(varseq_format: u8) -> Option<Self> {
        let (header, order, length_max) = match varseq_format {
            0 => (RdwHeader::TwoReserved, ByteOrder::Big, 65_535),
            1 => (RdwHeader::Four, ByteOrder::Big, u32::MAX),
            2 => (RdwHeader::Four, ByteOrder::Little, u32::MAX),
            3 => (RdwHeader::Two, ByteOrder::Big, 65_535),
            _ => return None,
        };
        Some(RdwSpec { header, order, counts: Counts::Body, length_max, ..RdwSpec::default() })
    }
}

/// A block's length header, 4 bytes. With [`ByteOrder::Big`] the extended form (first bit set, 31-bit length) is read too: "Block
/// Descriptor Word", z/OS DFSMS Using Data Sets, SC23-6855.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BdwSpec {
    /// Byte order of the length. Little means the length's low byte first. The reserved bytes are read before it (the word was
    /// swapped; this form is also written) or after it (the halfword was swapped, as in an RDW).
    pub order: ByteOrder,
    /// Extent of the length.
    pub counts: Counts,
    /// Added to the length as read.
    pub adjustment: i32,
}

/// Blocks of records with length headers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BlockedSpec {
    /// The block's header.
    pub bdw: BdwSpec,
    /// The record's header.
    pub rdw: RdwSpec,
}

/// Whether the file has block headers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BlockHeaders {
    /// Every block starts with a BDW.
    #[default]
    Present,
    /// The transfer removed them; only the segments' own words remain.
    Removed,
}

/// Spanned records: segments with z/OS segment descriptor words.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SpannedSpec {
    /// Whether there are BDWs.
    pub blocks: BlockHeaders,
}

/// Terminator of a line.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LineEnd {
    /// LF, 0x0a.
    #[default]
    Lf,
    /// CR LF, 0x0d 0x0a; an LF alone is data.
    CrLf,
    /// EBCDIC new line, 0x15.
    Nl,
    /// EBCDIC line feed, 0x25.
    EbcdicLf,
}

impl LineEnd {
    /// The terminator's bytes.
    #[must_use]
    pub fn bytes(self) -> &'static [u8] {
        match self {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
            LineEnd::Nl => b"\x15",
            LineEnd::EbcdicLf => b"\x25",
        }
    }
}

/// Treatment of a CR (0x0d) at the end of a line that LF, NL or EBCDIC LF ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CarriageReturn {
    /// Part of the record.
    #[default]
    Keep,
    /// Cut, if there is one.
    Strip,
}

/// Lines.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LineSpec {
    /// Terminator of a line.
    pub end: LineEnd,
    /// A CR before it.
    pub carriage_return: CarriageReturn,
}

/// Form of the number in a length field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LengthEncoding {
    /// Unsigned binary, 1 to 8 bytes.
    Binary(ByteOrder),
    /// ASCII digits, leading zeros or blanks, 1 to 18 bytes.
    AsciiDigits,
    /// EBCDIC digits, leading zeros or blanks, 1 to 18 bytes.
    EbcdicDigits,
}

/// Bytes that are returned as the record.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FieldBytes {
    /// The whole record, including the length field and the bytes before it: the copybook describes the field.
    #[default]
    Keep,
    /// The bytes after the length field, which must be at offset 0.
    Strip,
}

/// A length field inside the record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LengthFieldSpec {
    /// Bytes before the field.
    pub offset: usize,
    /// Bytes of the field.
    pub size: usize,
    /// Form of the number.
    pub encoding: LengthEncoding,
    /// `Whole`: the number counts from the record's first byte. `Body`: it counts only the bytes after the field.
    pub counts: Counts,
    /// Added to the number as read.
    pub adjustment: i32,
    /// Bytes that are returned.
    pub field: FieldBytes,
}

impl LengthFieldSpec {
    /// Returns RECFM D (ISO/ANSI tape): four ASCII digits before each record, which count themselves.
    #[must_use]
    pub fn ansi_d() -> Self {
        LengthFieldSpec {
            offset: 0,
            size: 4,
            encoding: LengthEncoding::AsciiDigits,
            counts: Counts::Whole,
            adjustment: 0,
            field: FieldBytes::Strip,
        }
    }
}

/// Error for a [`FramingSpec`] that is not possible: code `FRM-030`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Records of no bytes.
    #[error("a fixed record length of 0 never ends the first record")]
    ZeroLength,
    /// Longer than the limit.
    #[error("a fixed record length of {length} bytes is above the limit of {limit}")]
    AboveLimit {
        /// Length as given.
        length: usize,
        /// `Limits::record_bytes_max`.
        limit: usize,
    },
    /// A length field too wide or empty.
    #[error("a length field has {size} bytes, expected 1 to {most}")]
    FieldSize {
        /// Size as given.
        size: usize,
        /// Widest for its encoding.
        most: usize,
    },
    /// The field starts after the limit.
    #[error("the length field starts at offset {offset}, beyond the limit of {limit}")]
    FieldOffset {
        /// Offset as given.
        offset: usize,
        /// `Limits::record_bytes_max`.
        limit: usize,
    },
    /// Stripping a field that has data before it.
    #[error("a length field at offset {offset} cannot be stripped: the bytes before it would be lost")]
    StripBehindData {
        /// Offset as given.
        offset: usize,
    },
    /// More trailing records than are looked ahead.
    #[error("{skip_last} trailing records to skip, at most {most} are looked ahead")]
    SkipLast {
        /// Number as given.
        skip_last: usize,
        /// The limit.
        most: usize,
    },
}

impl FramingSpec {
    /// Checks the numbers against each other and the limits.
    ///
    /// # Errors
    /// [`SpecError`], the first that applies.
    pub fn check(&self, limits: &quayline_core::Limits) -> Result<(), SpecError> {
        let limit = limits.record_bytes_max;
        match self {
            FramingSpec::Fixed { length: 0 } => Err(SpecError::ZeroLength),
            FramingSpec::Fixed { length } if *length > limit => Err(SpecError::AboveLimit { length: *length, limit }),
            FramingSpec::LengthField(field) => field.check(limit),
            _ => Ok(()),
        }
    }
}

impl FramingSpec {
    /// Returns whether every record holds its length, or a length precedes it.
    #[must_use]
    pub fn has_lengths(&self) -> bool {
        match self {
            FramingSpec::Fixed { .. } | FramingSpec::Lines(_) | FramingSpec::Layout => false,
            FramingSpec::Rdw(_)
            | FramingSpec::Blocked(_)
            | FramingSpec::Spanned(_)
            | FramingSpec::LengthField(_)
            | FramingSpec::MicroFocus => true,
        }
    }
}

impl LengthFieldSpec {
    fn check(&self, limit: usize) -> Result<(), SpecError> {
        let most = if matches!(self.encoding, LengthEncoding::Binary(_)) { 8 } else { 18 };
        if self.size == 0 || self.size > most {
            return Err(SpecError::FieldSize { size: self.size, most });
        }
        if self.offset > limit {
            return Err(SpecError::FieldOffset { offset: self.offset, limit });
        }
        if self.field == FieldBytes::Strip && self.offset > 0 {
            return Err(SpecError::StripBehindData { offset: self.offset });
        }
        Ok(())
    }
}

impl SpecError {
    /// The error as a finding.
    #[must_use]
    pub fn finding(&self) -> quayline_core::Finding {
        use quayline_core::{Code, Fault, Finding};
        let hint = match self {
            SpecError::ZeroLength => "give the length of a record in bytes, as in `fixed:200`",
            SpecError::AboveLimit { .. } | SpecError::FieldOffset { .. } => {
                "correct the number, or allow more with `--limit record-bytes=N`"
            }
            SpecError::FieldSize { .. } => "give the field's size in bytes, as in `length:size=2`",
            SpecError::StripBehindData { .. } => "leave out `strip` and describe the field in the copybook",
            SpecError::SkipLast { .. } => "skip fewer records",
        };
        Finding::error(Code("FRM-030"), Fault::Config, self.to_string()).hint(hint)
    }
}
