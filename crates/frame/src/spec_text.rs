//! The form of a [`FramingSpec`] that users type.

use core::fmt;

use quayline_core::{Code, Fault, Finding};

use crate::spec::*;

/// Error for a framing whose text is not valid: code `FRM-031`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecTextError {
    /// The name is not a framing.
    #[error("`{0}` is not a framing; expected fixed, rdw, vb, vbs, lines, length, layout, d, gnucobol or mf")]
    Name(String),
    /// An option that the framing does not have.
    #[error("framing `{framing}` has no option `{option}`; it has {expected}")]
    Option {
        /// Name of the framing.
        framing: &'static str,
        /// Option as typed.
        option: String,
        /// The options it has.
        expected: &'static str,
    },
    /// An option that changes nothing, because another one excludes it.
    #[error("`{option}` has no effect on framing `{framing}`: {why}")]
    Unused {
        /// Name of the framing.
        framing: &'static str,
        /// Option as typed.
        option: String,
        /// The reason.
        why: String,
    },
    /// The value is not a number.
    #[error("`{option}` needs a number that fits, found `{found}`")]
    Number {
        /// The option.
        option: &'static str,
        /// Text as typed.
        found: String,
    },
    /// A required option is missing.
    #[error("framing `{framing}` needs {needed}")]
    Missing {
        /// Name of the framing.
        framing: &'static str,
        /// The text to add.
        needed: &'static str,
    },
}

impl SpecTextError {
    /// The error as a finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        Finding::error(Code("FRM-031"), Fault::Config, self.to_string())
            .hint("for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`")
    }
}

impl FramingSpec {
    /// Parses the text that a user typed: a name and, after a colon, options separated by commas.
    ///
    /// | framing | options |
    /// |---|---|
    /// | `fixed:N` | bytes of a record |
    /// | `rdw` | `be` `le`; `whole` `body`; header `ll00` `00ll` `ll` `llll`; `any` (reserved bytes); `adjust=N`; `max=N` |
    /// | `vb` | those of `rdw`, and for the block header `bdw-le`, `bdw-body`, `bdw-adjust=N` |
    /// | `vbs` | `no-bdw` |
    /// | `lines` | `lf` `crlf` `nl` (0x15) `lf25` (0x25); `strip-cr` |
    /// | `length` | `offset=N` `size=N`; `be` `le` `ascii` `ebcdic`; `whole` `body`; `adjust=N`; `strip` |
    /// | `d` | none: four ASCII digits, counting themselves, stripped |
    /// | `gnucobol`, `gnucobol:N` | N is `COB_VARSEQ_FORMAT`, 0 to 3 |
    /// | `mf` | none |
    /// | `layout` | none: a record ends where its own counters say |
    ///
    /// # Errors
    /// [`SpecTextError`]. Numbers are checked against limits by [`FramingSpec::check`].
    pub fn parse(text: &str) -> Result<Self, SpecTextError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let options = || rest.split(',').map(str::trim).filter(|option| !option.is_empty());
        let none = |framing, spec| match options().next() {
            None => Ok(spec),
            Some(option) => Err(SpecTextError::Option { framing, option: option.to_owned(), expected: "none" }),
        };
        match name.trim() {
            "fixed" if rest.trim().is_empty() => {
                Err(SpecTextError::Missing { framing: "fixed", needed: "the record length, as in `fixed:200`" })
            }
            "fixed" => Ok(FramingSpec::Fixed { length: number("fixed", rest)? }),
            "rdw" => {
                let mut spec = RdwSpec::default();
                options().try_for_each(|option| spec.option("rdw", option))?;
                effective("rdw", options(), Some(&spec))?;
                Ok(FramingSpec::Rdw(spec))
            }
            "vb" => {
                let mut spec = BlockedSpec::default();
                options().try_for_each(|option| spec.option(option))?;
                effective("vb", options(), Some(&spec.rdw))?;
                Ok(FramingSpec::Blocked(spec))
            }
            "vbs" => match rest.trim() {
                "" => Ok(FramingSpec::Spanned(SpannedSpec::default())),
                "no-bdw" => Ok(FramingSpec::Spanned(SpannedSpec { blocks: BlockHeaders::Removed })),
                option => Err(SpecTextError::Option { framing: "vbs", option: option.to_owned(), expected: "no-bdw" }),
            },
            "lines" => {
                let mut spec = LineSpec::default();
                options().try_for_each(|option| spec.option(option))?;
                effective("lines", options(), None)?;
                Ok(FramingSpec::Lines(spec))
            }
            "length" => {
                let spec = length_field(options())?;
                effective("length", options(), None)?;
                Ok(FramingSpec::LengthField(spec))
            }
            "d" => none("d", FramingSpec::LengthField(LengthFieldSpec::ansi_d())),
            "layout" => none("layout", FramingSpec::Layout),
            "mf" => none("mf", FramingSpec::MicroFocus),
            "gnucobol" => {
                let format = if rest.trim().is_empty() { 0 } else { number("gnucobol", rest)? };
                let bad = || SpecTextError::Number { option: "gnucobol", found: rest.trim().to_owned() };
                RdwSpec::gnucobol(format).map(FramingSpec::Rdw).ok_or_else(bad)
            }
            name => Err(SpecTextError::Name(name.to_owned())),
        }
    }
}

fn number<N: core::str::FromStr>(option: &'static str, text: &str) -> Result<N, SpecTextError> {
    text.trim().parse().map_err(|_| SpecTextError::Number { option, found: text.trim().to_owned() })
}

/// Options of which the last one would replace the others. Options with a value replace those of their own name.
const ALTERNATIVES: [&[&str]; 4] = [
    &["be", "le", "ascii", "ebcdic"],
    &["whole", "body"],
    &["ll00", "00ll", "ll", "llll"],
    &["lf", "crlf", "nl", "lf25"],
];

/// Refuses options that change nothing: a later one replaces them, or the header in use has nothing that they apply to.
fn effective<'t>(
    framing: &'static str,
    options: impl Iterator<Item = &'t str>,
    rdw: Option<&RdwSpec>,
) -> Result<(), SpecTextError> {
    let unused = |option: &str, why: String| Err(SpecTextError::Unused { framing, option: option.to_owned(), why });
    let mut before: Vec<&str> = Vec::new();
    for option in options {
        let name = option.split('=').next().unwrap_or(option);
        let replaces = |earlier: &&&str| {
            let other = earlier.split('=').next().unwrap_or(earlier);
            other == name || ALTERNATIVES.iter().any(|group| group.contains(&name) && group.contains(&other))
        };
        if let Some(earlier) = before.iter().find(replaces) {
            return unused(earlier, format!("`{option}` replaces it"));
        }
        match rdw {
            Some(rdw) if name == "any" && matches!(rdw.header, RdwHeader::Two | RdwHeader::Four) => {
                return unused(option, "this header has no reserved bytes".to_owned());
            }
            Some(rdw) if name == "max" && rdw.header != RdwHeader::Four && rdw.length_max > u32::from(u16::MAX) => {
                return unused(option, format!("a length of two bytes is at most {}", u16::MAX));
            }
            _ => before.push(option),
        }
    }
    Ok(())
}

const RDW_OPTIONS: &str = "be, le, whole, body, ll00, 00ll, ll, llll, any, adjust=N, max=N";

impl RdwSpec {
    fn option(&mut self, framing: &'static str, option: &str) -> Result<(), SpecTextError> {
        match option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value))) {
            ("be", None) => self.order = ByteOrder::Big,
            ("le", None) => self.order = ByteOrder::Little,
            ("whole", None) => self.counts = Counts::Whole,
            ("body", None) => self.counts = Counts::Body,
            ("ll00", None) => self.header = RdwHeader::TwoReserved,
            ("00ll", None) => self.header = RdwHeader::ReservedTwo,
            ("ll", None) => self.header = RdwHeader::Two,
            ("llll", None) => self.header = RdwHeader::Four,
            ("any", None) => self.reserved = Reserved::Any,
            ("adjust", Some(value)) => self.adjustment = number("adjust", value)?,
            ("max", Some(value)) => self.length_max = number("max", value)?,
            _ => {
                let expected = if framing == "vb" {
                    "be, le, whole, body, ll00, 00ll, ll, llll, any, adjust=N, max=N, bdw-le, bdw-body, bdw-adjust=N"
                } else {
                    RDW_OPTIONS
                };
                return Err(SpecTextError::Option { framing, option: option.to_owned(), expected });
            }
        }
        Ok(())
    }

    fn write(&self, list: &mut Options<'_, '_>) -> fmt::Result {
        let default = RdwSpec::default();
        list.flag(self.header == RdwHeader::ReservedTwo, "00ll")?;
        list.flag(self.header == RdwHeader::Two, "ll")?;
        list.flag(self.header == RdwHeader::Four, "llll")?;
        list.flag(self.order == ByteOrder::Little, "le")?;
        list.flag(self.counts == Counts::Body, "body")?;
        list.flag(self.reserved == Reserved::Any, "any")?;
        list.number(self.adjustment != 0, "adjust", self.adjustment)?;
        list.number(self.length_max != default.length_max, "max", self.length_max)
    }
}

impl BlockedSpec {
    fn option(&mut self, option: &str) -> Result<(), SpecTextError> {
        match option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value))) {
            ("bdw-le", None) => self.bdw.order = ByteOrder::Little,
            ("bdw-body", None) => self.bdw.counts = Counts::Body,
            ("bdw-adjust", Some(value)) => self.bdw.adjustment = number("bdw-adjust", value)?,
            _ => self.rdw.option("vb", option)?,
        }
        Ok(())
    }
}

impl LineSpec {
    fn option(&mut self, option: &str) -> Result<(), SpecTextError> {
        match option {
            "lf" => self.end = LineEnd::Lf,
            "crlf" => self.end = LineEnd::CrLf,
            "nl" => self.end = LineEnd::Nl,
            "lf25" => self.end = LineEnd::EbcdicLf,
            "strip-cr" => self.carriage_return = CarriageReturn::Strip,
            _ => {
                let expected = "lf, crlf, nl, lf25, strip-cr";
                return Err(SpecTextError::Option { framing: "lines", option: option.to_owned(), expected });
            }
        }
        Ok(())
    }
}

fn length_field<'t>(options: impl Iterator<Item = &'t str>) -> Result<LengthFieldSpec, SpecTextError> {
    let mut spec = LengthFieldSpec {
        offset: 0,
        size: 0,
        encoding: LengthEncoding::Binary(ByteOrder::Big),
        counts: Counts::Whole,
        adjustment: 0,
        field: FieldBytes::Keep,
    };
    for option in options {
        match option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value))) {
            ("offset", Some(value)) => spec.offset = number("offset", value)?,
            ("size", Some(value)) => spec.size = number("size", value)?,
            ("be", None) => spec.encoding = LengthEncoding::Binary(ByteOrder::Big),
            ("le", None) => spec.encoding = LengthEncoding::Binary(ByteOrder::Little),
            ("ascii", None) => spec.encoding = LengthEncoding::AsciiDigits,
            ("ebcdic", None) => spec.encoding = LengthEncoding::EbcdicDigits,
            ("whole", None) => spec.counts = Counts::Whole,
            ("body", None) => spec.counts = Counts::Body,
            ("adjust", Some(value)) => spec.adjustment = number("adjust", value)?,
            ("strip", None) => spec.field = FieldBytes::Strip,
            _ => {
                let expected = "offset=N, size=N, be, le, ascii, ebcdic, whole, body, adjust=N, strip";
                return Err(SpecTextError::Option { framing: "length", option: option.to_owned(), expected });
            }
        }
    }
    if spec.size == 0 {
        return Err(SpecTextError::Missing {
            framing: "length",
            needed: "the field's size, as in `length:offset=0,size=2`",
        });
    }
    Ok(spec)
}

impl core::str::FromStr for FramingSpec {
    type Err = SpecTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        FramingSpec::parse(text)
    }
}

/// The shortest form that [`FramingSpec::parse`] reads back.
impl fmt::Display for FramingSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = Options { f, sep: ":" };
        match self {
            FramingSpec::Fixed { length } => write!(list.f, "fixed:{length}"),
            FramingSpec::Rdw(spec) => {
                list.f.write_str("rdw")?;
                spec.write(&mut list)
            }
            FramingSpec::Blocked(BlockedSpec { bdw, rdw }) => {
                list.f.write_str("vb")?;
                list.flag(bdw.order == ByteOrder::Little, "bdw-le")?;
                list.flag(bdw.counts == Counts::Body, "bdw-body")?;
                list.number(bdw.adjustment != 0, "bdw-adjust", bdw.adjustment)?;
                rdw.write(&mut list)
            }
            FramingSpec::Spanned(spec) => {
                list.f.write_str("vbs")?;
                list.flag(spec.blocks == BlockHeaders::Removed, "no-bdw")
            }
            FramingSpec::Lines(spec) => {
                list.f.write_str("lines")?;
                list.flag(spec.end == LineEnd::CrLf, "crlf")?;
                list.flag(spec.end == LineEnd::Nl, "nl")?;
                list.flag(spec.end == LineEnd::EbcdicLf, "lf25")?;
                list.flag(spec.carriage_return == CarriageReturn::Strip, "strip-cr")
            }
            FramingSpec::LengthField(spec) if *spec == LengthFieldSpec::ansi_d() => list.f.write_str("d"),
            FramingSpec::LengthField(spec) => {
                list.f.write_str("length")?;
                list.number(true, "offset", spec.offset)?;
                list.number(true, "size", spec.size)?;
                list.flag(spec.encoding == LengthEncoding::Binary(ByteOrder::Little), "le")?;
                list.flag(spec.encoding == LengthEncoding::AsciiDigits, "ascii")?;
                list.flag(spec.encoding == LengthEncoding::EbcdicDigits, "ebcdic")?;
                list.flag(spec.counts == Counts::Body, "body")?;
                list.number(spec.adjustment != 0, "adjust", spec.adjustment)?;
                list.flag(spec.field == FieldBytes::Strip, "strip")
            }
            FramingSpec::MicroFocus => list.f.write_str("mf"),
            FramingSpec::Layout => list.f.write_str("layout"),
        }
    }
}

/// Options after a name: a colon before the first, commas between the others.
struct Options<'f, 'b> {
    f: &'f mut fmt::Formatter<'b>,
    sep: &'static str,
}

impl Options<'_, '_> {
    fn flag(&mut self, on: bool, name: &str) -> fmt::Result {
        if on {
            write!(self.f, "{}{name}", self.sep)?;
            self.sep = ",";
        }
        Ok(())
    }

    fn number(&mut self, on: bool, name: &str, value: impl fmt::Display) -> fmt::Result {
        if on {
            write!(self.f, "{}{name}={value}", self.sep)?;
            self.sep = ",";
        }
        Ok(())
    }
}
