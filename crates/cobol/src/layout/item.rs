//! Elementary items: picture and usage to encoding, size and boundary.

use super::build::Context;
use super::{BinarySizes, ByteOrder, Encoding, SyncRule, ZonedSign};
use crate::codes;
use crate::copybook::entry::{Entry, Sign, Usage};
use crate::copybook::source::Span;
use crate::picture::{Picture, PictureKind};

/// Clauses that groups hand down; the nearest wins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inherited {
    usage: Option<(Usage, Span)>,
    sign: Option<Sign>,
    synchronized: bool,
}

/// An elementary item.
pub(super) struct Made {
    pub(super) encoding: Encoding,
    pub(super) size: usize,
    /// Boundary that SYNCHRONIZED requires, otherwise 1.
    pub(super) alignment: usize,
    pub(super) description: String,
}

/// Combines the entry's own clauses with those of its group; its own take precedence.
pub(super) fn inherit(entry: &Entry, outer: Inherited, group: bool, context: &mut Context<'_>) -> Inherited {
    let own = entry.usage.or(entry.group_usage);
    if let (Some((own, at)), Some((above, _))) = (own, outer.usage)
        && own != above
    {
        let message = format!("USAGE {} contradicts {} of the group", shown(own), shown(above));
        context.warning(codes::USAGE_CONFLICT, at, message, "the nearer one is taken; Enterprise COBOL refuses this");
    }
    if let (Some((_, at)), false) = (entry.group_usage, group) {
        context.error(
            codes::CLAUSE_CONFLICT,
            at,
            "GROUP-USAGE is on an elementary item",
            "write `USAGE NATIONAL` or `USAGE UTF-8`",
        );
    }
    Inherited {
        usage: own.or(outer.usage),
        sign: entry.sign.map(|(sign, _)| sign).or(outer.sign),
        synchronized: outer.synchronized || entry.synchronized.is_some(),
    }
}

/// Clauses that a group cannot have.
pub(super) fn group_clauses(entry: &Entry, context: &mut Context<'_>) {
    for (clause, at) in [("JUSTIFIED", entry.justified), ("BLANK WHEN ZERO", entry.blank_when_zero)] {
        if let Some(at) = at {
            let message = format!("{clause} is on the group {}", entry.name);
            context.error(codes::CLAUSE_CONFLICT, at, message, "move it to the elementary items that it is meant for");
        }
    }
    if let Some((_, at)) = entry.byte_length {
        context.error(codes::CLAUSE_CONFLICT, at, "BYTE-LENGTH is on a group", "move it to the item with `PIC U`");
    }
}

pub(super) fn elementary(entry: &Entry, inherited: &Inherited, context: &mut Context<'_>) -> Made {
    let usage = inherited.usage.map_or(Usage::Display, |(usage, _)| usage);
    let typed = match &entry.picture {
        Some((picture, at)) => pictured(entry, picture, *at, usage, inherited, context),
        None => Some(unpictured(usage, context)),
    };
    // A wrong item has a finding; a byte of text takes its place so that the rest can be checked.
    let (encoding, size) = typed.unwrap_or((Encoding::Text { justified: false, alphabetic: false }, 1));
    clauses(entry, &encoding, context);
    let alignment = if inherited.synchronized && context.dialect.sync != SyncRule::Ignored {
        alignment(usage, &encoding, size, context)
    } else {
        1
    };
    let synchronized = entry.synchronized.is_some() || alignment > 1;
    Made { description: describe(entry, usage, &encoding, synchronized), encoding, size, alignment }
}

/// Returns the encoding of an item that its usage alone determines.
fn unpictured(usage: Usage, context: &Context<'_>) -> (Encoding, usize) {
    let dialect = context.dialect;
    let binary = |bytes: usize, signed: bool| {
        (Encoding::Binary { digits: 0, scale: 0, signed, order: dialect.native_order, full_range: true }, bytes)
    };
    match usage {
        Usage::Comp1 | Usage::FloatShort => (Encoding::Float32(dialect.float_format), 4),
        Usage::Comp2 | Usage::FloatLong => (Encoding::Float64(dialect.float_format), 8),
        Usage::Index => binary(dialect.index_bytes, true),
        Usage::Pointer | Usage::FunctionPointer => binary(dialect.pointer_bytes, false),
        Usage::Pointer32 => binary(4, false),
        Usage::ProcedurePointer => binary(8, false),
        Usage::Native { bytes, signed } => binary(usize::from(bytes), signed),
        // The others have a picture: its absence was found when the copybook was parsed.
        _ => (Encoding::Text { justified: false, alphabetic: false }, 1),
    }
}

fn pictured(
    entry: &Entry,
    picture: &Picture,
    at: Span,
    usage: Usage,
    inherited: &Inherited,
    context: &mut Context<'_>,
) -> Option<(Encoding, usize)> {
    use Usage::{Binary, Comp5, Comp6, CompN, CompX, Display, Display1, National, Packed, Utf8};
    let justified = entry.justified.is_some();
    let blank_when_zero = entry.blank_when_zero.is_some();
    let typed = match (&picture.kind, usage) {
        (PictureKind::Alphabetic { chars }, Display) => (Encoding::Text { justified, alphabetic: true }, *chars),
        (PictureKind::Alphanumeric { chars }, Display) => (Encoding::Text { justified, alphabetic: false }, *chars),
        (PictureKind::AlphanumericEdited { mask }, Display) => {
            (Encoding::TextEdited { mask: mask.clone() }, mask.len())
        }
        (PictureKind::NumericEdited(edited), Display) => {
            let mut edited = edited.clone();
            edited.blank_when_zero = blank_when_zero;
            let size = edited.symbols.iter().map(|s| s.bytes()).sum();
            (Encoding::Edited(edited), size)
        }
        (PictureKind::Boolean { chars }, Display) => (Encoding::Boolean, *chars),
        (PictureKind::National { chars }, Display | National) => (Encoding::National { justified }, *chars * 2),
        (PictureKind::National { chars } | PictureKind::Dbcs { chars }, Display1)
        | (PictureKind::Dbcs { chars }, Display) => (Encoding::Dbcs, *chars * 2),
        (PictureKind::Utf8 { chars }, Display | Utf8) => {
            (Encoding::Utf8, entry.byte_length.map_or(*chars * 4, |(bytes, _)| bytes))
        }
        (PictureKind::Alphanumeric { chars }, CompX | CompN | Comp5) if *chars <= 16 => {
            let order = if usage == CompX { ByteOrder::Big } else { context.dialect.native_order };
            (Encoding::Binary { digits: 0, scale: 0, signed: false, order, full_range: true }, *chars)
        }
        (&PictureKind::Numeric { digits, scale, signed }, Display) => {
            let (sign, extra) = zoned_sign(signed, inherited.sign);
            (Encoding::Zoned { digits, scale, sign, blank_when_zero }, usize::from(digits) + extra)
        }
        (&PictureKind::Numeric { digits, scale, signed }, Packed) => {
            (Encoding::Packed { digits, scale, signed }, usize::from(digits) / 2 + 1)
        }
        (&PictureKind::Numeric { digits, scale, signed }, Comp6) => {
            if signed {
                let hint = "remove the S, or use COMP-3";
                context.error(codes::CLAUSE_CONFLICT, at, "COMP-6 has no sign, but the picture has an S", hint);
            }
            (Encoding::PackedUnsigned { digits, scale }, usize::from(digits).div_ceil(2))
        }
        (&PictureKind::Numeric { digits, scale, signed }, Binary | Comp5 | CompX | CompN) => {
            return binary(usage, digits, scale, signed, at, context);
        }
        (PictureKind::Numeric { .. } | PictureKind::NumericEdited(_), National) => {
            let hint = "describe it as national text, `PIC N(n)`";
            context.error(codes::UNSUPPORTED, at, "numbers in national characters are not supported", hint);
            return None;
        }
        _ => {
            mismatch(entry, picture, at, usage, inherited, context);
            return None;
        }
    };
    if let Some((0, at)) = entry.byte_length {
        context.error(codes::CLAUSE_SYNTAX, at, "BYTE-LENGTH is zero", "write the number of bytes that the field has");
        return None;
    }
    if let (Some((_, at)), false) = (entry.byte_length, matches!(picture.kind, PictureKind::Utf8 { .. })) {
        context.error(
            codes::CLAUSE_CONFLICT,
            at,
            "BYTE-LENGTH belongs to `PIC U` only",
            "remove it, or change the picture to U",
        );
    }
    Some(typed)
}

fn mismatch(
    entry: &Entry,
    picture: &Picture,
    at: Span,
    usage: Usage,
    inherited: &Inherited,
    context: &mut Context<'_>,
) {
    let own = entry.usage.or(entry.group_usage);
    let from = if own.is_some() || inherited.usage.is_none() { "" } else { " (from its group)" };
    let at = own.map_or(at, |(_, at)| at);
    let message = format!("USAGE {}{from} does not go with PIC {}", shown(usage), picture.text);
    let hint = match usage {
        _ if !usage.has_picture() => "remove the picture: this usage says the size itself",
        Usage::National => "use `PIC N(n)`",
        Usage::Utf8 => "use `PIC U(n)`",
        Usage::Display1 => "use `PIC G(n)`",
        Usage::Display => "use the usage that belongs to the picture",
        _ => "use a numeric picture, such as `S9(5)V99`, or remove the usage",
    };
    context.error(codes::USAGE_AND_PICTURE, at, message, hint);
}

fn zoned_sign(signed: bool, sign: Option<Sign>) -> (ZonedSign, usize) {
    match sign {
        _ if !signed => (ZonedSign::Unsigned, 0),
        Some(Sign { leading: true, separate: true }) => (ZonedSign::LeadingSeparate, 1),
        Some(Sign { leading: false, separate: true }) => (ZonedSign::TrailingSeparate, 1),
        Some(Sign { leading: true, separate: false }) => (ZonedSign::LeadingOverpunch, 0),
        Some(Sign { leading: false, separate: false }) | None => (ZonedSign::TrailingOverpunch, 0),
    }
}

fn binary(
    usage: Usage,
    digits: u16,
    scale: i16,
    signed: bool,
    at: Span,
    context: &mut Context<'_>,
) -> Option<(Encoding, usize)> {
    let dialect = context.dialect;
    if digits > dialect.binary_digits_max {
        let message = format!(
            "a binary item has at most {} digits in this dialect, the picture has {digits}",
            dialect.binary_digits_max
        );
        context.error(codes::PICTURE_DIGITS, at, message, "if the compiler that wrote the data allows more, read it with `--set binary-digits=38`; check the size of the item with `inspect` against the data");
        return None;
    }
    let sizes = if usage == Usage::Comp5 { dialect.native_sizes } else { dialect.binary_sizes };
    let size = match (usage, sizes) {
        (Usage::CompX | Usage::CompN, _) | (_, BinarySizes::OneToEight) => bytes_for(digits, signed),
        (_, _) if digits > 18 => 16,
        (_, BinarySizes::OneTwoFourEight) if digits <= 2 => 1,
        _ if digits <= 4 => 2,
        _ if digits <= 9 => 4,
        _ => 8,
    };
    let order = match usage {
        Usage::Binary => dialect.binary_order,
        Usage::CompX => ByteOrder::Big,
        _ => dialect.native_order,
    };
    let full_range = usage != Usage::Binary || !dialect.binary_truncate;
    Some((Encoding::Binary { digits, scale, signed, order, full_range }, size))
}

/// Returns the fewest bytes whose two's complement holds every number of this many digits.
fn bytes_for(digits: u16, signed: bool) -> usize {
    // 10^38 - 1 is less than 2^127.
    let largest = 10u128.checked_pow(u32::from(digits)).map_or(u128::MAX >> 1, |n| n - 1);
    let bits = 128 - largest.leading_zeros() + u32::from(signed);
    (bits as usize).div_ceil(8)
}

fn alignment(usage: Usage, encoding: &Encoding, size: usize, context: &Context<'_>) -> usize {
    let dialect = context.dialect;
    match (usage, encoding) {
        (Usage::Index, _) => dialect.index_bytes,
        (Usage::Pointer | Usage::ProcedurePointer | Usage::FunctionPointer, _) => dialect.pointer_bytes,
        (_, Encoding::Float32(_)) => 4,
        (_, Encoding::Float64(_)) => 8,
        (_, Encoding::Binary { .. }) => match size {
            2 | 4 => size,
            8 | 16 if dialect.sync == SyncRule::EightBytesAtFour => 4,
            8 | 16 => 8,
            _ => 1,
        },
        _ => 1,
    }
}

/// Clauses that go with some items only.
fn clauses(entry: &Entry, encoding: &Encoding, context: &mut Context<'_>) {
    let name = match &entry.picture {
        Some((picture, _)) => format!("{} (PIC {})", entry.name, picture.text),
        None => entry.name.clone(),
    };
    if let Some((_, at)) = entry.sign {
        let signed = matches!(encoding, Encoding::Zoned { sign, .. } if *sign != ZonedSign::Unsigned);
        if !signed {
            let hint = "it belongs to a numeric DISPLAY item with an S in its picture; add the S, because SEPARATE takes a byte of the record, or give the item its right USAGE";
            context.error(codes::CLAUSE_CONFLICT, at, format!("SIGN does not go with {name}"), hint);
        }
    }
    if let Some(at) = entry.justified
        && !matches!(encoding, Encoding::Text { .. } | Encoding::National { .. } | Encoding::Dbcs)
    {
        let hint = "it belongs to text, `PIC X` or `PIC A`; remove it";
        context.error(codes::CLAUSE_CONFLICT, at, format!("JUSTIFIED does not go with {name}"), hint);
    }
    if let Some(at) = entry.blank_when_zero {
        let allowed = match encoding {
            Encoding::Zoned { sign, .. } => *sign == ZonedSign::Unsigned,
            Encoding::Edited(edited) => !edited.symbols.contains(&super::EditSymbol::Asterisk),
            _ => false,
        };
        if !allowed {
            let hint = "it belongs to DISPLAY numbers without S, and to edited ones without `*`; remove it";
            context.error(codes::CLAUSE_CONFLICT, at, format!("BLANK WHEN ZERO does not go with {name}"), hint);
        }
    }
    value_kind(entry, encoding, context);
}

fn value_kind(entry: &Entry, encoding: &Encoding, context: &mut Context<'_>) {
    use super::{Figurative, Literal};
    let Some((value, at)) = &entry.value else { return };
    let numeric = matches!(
        encoding,
        Encoding::Zoned { .. } | Encoding::Packed { .. } | Encoding::PackedUnsigned { .. } | Encoding::Binary { .. }
    );
    let text = matches!(
        encoding,
        Encoding::Text { .. } | Encoding::TextEdited { .. } | Encoding::National { .. } | Encoding::Utf8
    );
    let wrong = match value {
        Literal::Number(_) => text,
        Literal::Text(_) | Literal::Figurative(Figurative::Space | Figurative::Quote) => numeric,
        Literal::All(_) | Literal::Hex(_) | Literal::Figurative(_) => false,
    };
    if wrong {
        let kind = if numeric { "a number" } else { "text" };
        let hint = "the value matters only where a field is absent on encode; write one of the field's kind";
        context.warning(codes::VALUE_KIND, *at, format!("{} is {kind}, its VALUE is not", entry.name), hint);
    }
    let one = if let Literal::All(one) = value { one } else { value };
    let Literal::Text(text) = one else { return };
    if matches!(encoding, Encoding::Dbcs) && super::dbcs_bytes(text).is_none() {
        let message = format!("the VALUE of {} has double-byte characters whose bytes are not known", entry.name);
        let hint = "Quayline writes spaces for an absent field: write the bytes as VALUE GX'…', or give the field a default in the interface";
        context.warning(codes::VALUE_DBCS, *at, message, hint);
    }
}

/// Describes picture, usage and the clauses that change bytes, as normalised text.
fn describe(entry: &Entry, usage: Usage, encoding: &Encoding, synchronized: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(entry.picture.as_ref().map(|(picture, _)| format!("PIC {}", picture.text)));
    parts.push(usage.text().to_owned());
    let sign = match encoding {
        Encoding::Zoned { sign: ZonedSign::LeadingOverpunch, .. } => "SIGN LEADING",
        Encoding::Zoned { sign: ZonedSign::LeadingSeparate, .. } => "SIGN LEADING SEPARATE",
        Encoding::Zoned { sign: ZonedSign::TrailingSeparate, .. } => "SIGN TRAILING SEPARATE",
        _ => "",
    };
    parts.push(sign.to_owned());
    parts.extend(entry.byte_length.map(|(bytes, _)| format!("BYTE-LENGTH {bytes}")));
    let flags = [
        ("JUSTIFIED", entry.justified.is_some()),
        ("BLANK WHEN ZERO", entry.blank_when_zero.is_some()),
        ("SYNC", synchronized),
    ];
    parts.extend(flags.into_iter().filter(|(_, set)| *set).map(|(word, _)| word.to_owned()));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

fn shown(usage: Usage) -> &'static str {
    if usage == Usage::Display { "DISPLAY" } else { usage.text() }
}
