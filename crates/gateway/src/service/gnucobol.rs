//! Check that a service agrees with the compiler of its program on sizes, byte orders and signs.
//!
//! A program provider runs programs of GnuCOBOL on this machine. Some settings of a dialect are options of its compiler, which
//! Quayline passes when it compiles a module; the others follow from the machine. A field that the service would read differently
//! from how the program writes it is an error when the service is loaded, since its values would be wrong without any sign of it.

use quayline_charset::Charset;
use quayline_cobol::layout::{
    BinarySizes, ByteOrder, Dialect, Encoding, Field, FieldIndex, FieldKind, FloatFormat, Layout, OverpunchVariant,
    SyncRule, ZonedSign,
};
use quayline_core::Findings;
use quayline_project::{UserFile, gnucobol_contradiction, is_gnucobol_output};
use toml::Spanned;

use super::wire;
use crate::codes;

/// Returns the dialect of a service whose file does not name one.
pub(super) fn default_dialect(kind: &str) -> Dialect {
    if kind == "program" { Dialect::GNUCOBOL } else { Dialect::IBM }
}

/// Finds options of the user that contradict the dialect.
pub(super) fn check_options(file: &mut UserFile, given: &[Spanned<String>], dialect: &Dialect) {
    for option in given {
        let text = option.get_ref().as_str();
        if is_gnucobol_output(text) {
            let message = format!("`{text}` selects the type or file of the compiler output");
            file.find(codes::COMPILER, message, option, "remove it: Quayline compiles to a folder of `modules`");
            continue;
        }
        let Some(setting) = gnucobol_contradiction(text, dialect) else { continue };
        let message = format!("`{text}` contradicts the service's dialect, by which requests and answers are read");
        let hint = format!(
            "remove it, and write the setting `{setting}` in `dialect-settings`: Quayline passes it to the compiler"
        );
        file.find(codes::COMPILER, message, option, hint);
    }
}

/// Returns the dialect of GnuCOBOL on this machine that is closest to `dialect`.
fn realised(dialect: &Dialect) -> Dialect {
    let little = cfg!(target_endian = "little");
    let native = if little { ByteOrder::Little } else { ByteOrder::Big };
    Dialect {
        // With `-fbinary-size=1--8`, COMP-5 has the sizes of COMP; with all others, these.
        native_sizes: match dialect.binary_sizes {
            BinarySizes::OneToEight => BinarySizes::OneToEight,
            BinarySizes::TwoFourEight | BinarySizes::OneTwoFourEight => BinarySizes::OneTwoFourEight,
        },
        binary_order: if dialect.binary_order == ByteOrder::Big { ByteOrder::Big } else { native },
        native_order: native,
        sync: if dialect.sync == SyncRule::Ignored { SyncRule::Ignored } else { SyncRule::EightBytesAtEight },
        pointer_bytes: size_of::<usize>(),
        index_bytes: 4,
        float_format: if little { FloatFormat::IeeeLittle } else { FloatFormat::IeeeBig },
        ..*dialect
    }
}

/// Reports fields that a program of GnuCOBOL would store differently from how the service reads them. `build` makes the layout by a
/// dialect.
pub(super) fn check(
    file: &mut UserFile,
    wire: &wire::File,
    layout: &Layout,
    build: impl Fn(&Dialect) -> Result<Layout, Findings>,
) {
    let dialect = layout.dialect;
    let hint = "`kind = \"program\"` runs GnuCOBOL on this machine: remove `dialect` and this setting, for the default `gnucobol`";
    if let Some(what) = difference(layout, build(&realised(&dialect))) {
        let message = format!("{what}, as GnuCOBOL stores it");
        return place(file, wire, message, hint);
    }
    if let Some(name) = slack_in_table(layout) {
        let message = format!(
            "{name} is SYNCHRONIZED in a table, where GnuCOBOL puts slack bytes at other places than the service"
        );
        let hint = "remove SYNCHRONIZED in the table, or add FILLER items that align its fields, so that no slack bytes are needed";
        return place(file, wire, message, hint);
    }
    if let Some((table, group)) = varying_in_group(layout) {
        let message = format!(
            "what follows {group} moves with the count of {table} in a program of GnuCOBOL, but not by the dialect"
        );
        let hint = "write `dialect-settings = { odo-slide = \"yes\" }`, so that what follows a table moves with its count for both, as on z/OS";
        return place(file, wire, message, hint);
    }
    if let Some((table, name)) = before_varying(layout) {
        let message = format!(
            "GnuCOBOL computes wrong places for what follows {table}, whose count varies, since {name} before it is a redefinition or needs slack bytes"
        );
        let hint = "let nothing follow the table's group but one item, or write it without DEPENDING ON and name its counter in `[[counter]]`";
        return place(file, wire, message, hint);
    }
    if let Some((first, table)) = varying_after_varying(layout) {
        let message = format!(
            "GnuCOBOL computes wrong places for what follows {table}, whose count varies, since that of {first} before its group varies too"
        );
        let hint = "make the table the last item of the record, or write one of the two without DEPENDING ON and name its counter in `[[counter]]`";
        return place(file, wire, message, hint);
    }
    let says = |setting: &str| wire.dialect_settings.keys().any(|key| key.get_ref() == setting);
    if wire.provider.get_ref().source.is_some() {
        return;
    }
    // Quayline did not compile the module, so options other than the compiler's defaults are unknown.
    if dialect.overpunch == OverpunchVariant::Ebcdic
        && !says("overpunch")
        && let Some(name) = signed_by_overpunch(layout)
    {
        let message = format!(
            "{name} has its sign in a digit, which GnuCOBOL writes in ASCII form unless a module is compiled with `-fsign=EBCDIC`"
        );
        let hint = "name the `source`, so that Quayline compiles the module; or remove `dialect`; or, where the module was compiled with `-fsign=EBCDIC`, write `dialect-settings = { overpunch = \"ebcdic\" }`";
        return place(file, wire, message, hint);
    }
    let varying = layout.iter().find(|(_, field)| field.occurs.is_some_and(|occurs| occurs.depending_on.is_some()));
    if dialect.odo_slide
        && !says("odo-slide")
        && let Some((index, _)) = varying
    {
        let message = format!(
            "what follows {} moves with its count by the dialect, but not in a program of GnuCOBOL unless its module is compiled with `-fodoslide`",
            layout.path(index)
        );
        let hint = "name the `source`, so that Quayline compiles the module; or remove `dialect`; or, where the module was compiled with `-fodoslide`, write `dialect-settings = { odo-slide = \"yes\" }`";
        return place(file, wire, message, hint);
    }
    let said = wire.dialect.is_some() || says("binary-sizes");
    let of_ibm = Dialect { binary_sizes: BinarySizes::TwoFourEight, ..dialect };
    if !said && let Some(what) = difference(layout, build(&of_ibm)) {
        let message = format!("how the module was compiled decides where the fields are: {what} with `-std=ibm`");
        let hint = "name the `source`, so that Quayline compiles the module; or write `dialect = \"gnucobol\"` for the compiler's default; or `dialect-settings = { binary-sizes = \"2-4-8\" }` for a module compiled with `-std=ibm`";
        place(file, wire, message, hint);
    }
}

/// Finds a code page that a program of GnuCOBOL does not have.
pub(super) fn check_encoding(file: &mut UserFile, wire: &wire::File, charset: Charset) {
    if charset.code_page().is_some_and(|page| page.is_ebcdic()) {
        let message = format!(
            "`{}` is an EBCDIC page, but a program of GnuCOBOL on this machine has its text and digits in ASCII",
            wire.encoding.get_ref()
        );
        let hint =
            "write `encoding = \"ascii\"`; a provider for records of z/OS is `http`, or `records` with a file of them";
        file.find(codes::COMPILER, message, &wire.encoding, hint);
    }
}

fn place(file: &mut UserFile, wire: &wire::File, message: String, hint: &str) {
    match (&wire.dialect, wire.dialect_settings.keys().next()) {
        (Some(at), _) | (None, Some(at)) => file.find(codes::COMPILER, message, at, hint),
        (None, None) => file.find(codes::COMPILER, message, &wire.provider.get_ref().kind, hint),
    }
}

/// Describes the first field that two layouts of one record store differently.
fn difference(layout: &Layout, other: Result<Layout, Findings>) -> Option<String> {
    let other = other.ok()?;
    layout.iter().zip(other.iter()).find_map(|((index, one), (_, other))| {
        let name = || {
            let path = layout.path(index);
            if one.description.is_empty() { path } else { format!("{path} ({})", one.description) }
        };
        match (&one.kind, &other.kind) {
            (FieldKind::Item(_), FieldKind::Item(_)) if one.size != other.size => {
                Some(format!("{} has {} bytes by the service's dialect and {}", name(), one.size, other.size))
            }
            (FieldKind::Item(a), FieldKind::Item(b)) if a != b => {
                Some(format!("{} is {} by the service's dialect and {}", name(), stored(a), stored(b)))
            }
            _ if one.offset != other.offset => Some(format!(
                "{} is at position {} by the service's dialect and at {}",
                name(),
                one.offset + 1,
                other.offset + 1
            )),
            _ => None,
        }
    })
}

fn stored(encoding: &Encoding) -> &'static str {
    match encoding {
        Encoding::Binary { order: ByteOrder::Big, .. } => "stored high byte first",
        Encoding::Binary { order: ByteOrder::Little, .. } => "stored low byte first",
        Encoding::Float32(FloatFormat::Hexadecimal) | Encoding::Float64(FloatFormat::Hexadecimal) => {
            "a hexadecimal floating-point number"
        }
        Encoding::Float32(_) | Encoding::Float64(_) => "an IEEE 754 number",
        _ => "stored in another form",
    }
}

/// Returns the first field in a table, or table, with slack bytes before or after it.
fn slack_in_table(layout: &Layout) -> Option<String> {
    layout.iter().find_map(|(index, field)| {
        let mut at = Some(index);
        let mut in_table = false;
        while let Some(index) = at {
            in_table |= layout.field(index).occurs.is_some();
            at = layout.field(index).parent;
        }
        let slack = field.slack_before > 0 || field.occurs.is_some() && field.stride != field.size;
        (in_table && slack).then(|| layout.path(index))
    })
}

/// Returns a table whose count varies, in a group that something follows: without `-fodoslide`, GnuCOBOL leaves fields after the
/// table in its group in place, but not those after the group.
fn varying_in_group(layout: &Layout) -> Option<(String, String)> {
    if layout.dialect.odo_slide {
        return None;
    }
    let varying = |field: &Field| field.occurs.is_some_and(|occurs| occurs.depending_on.is_some());
    layout.iter().filter(|(_, field)| varying(field)).find_map(|(table, field)| {
        let mut at = field.parent;
        while let Some(group) = at.filter(|group| *group != FieldIndex::RECORD) {
            if layout.field(group).subtree_end.index() < layout.fields.len() {
                return Some((layout.path(table), layout.path(group)));
            }
            at = layout.field(group).parent;
        }
        None
    })
}

/// Returns a table whose count varies and that something follows, and a preceding field that GnuCOBOL 3.1.2 counts wrongly when it
/// adds up lengths: slack bytes not at all, redefinitions twice. It adds up the fields at the level of the table and of the groups
/// around it, and with `-fodoslide` all fields.
fn before_varying(layout: &Layout) -> Option<(String, String)> {
    let end = layout.fields.len();
    let varying = |field: &Field| field.occurs.is_some_and(|occurs| occurs.depending_on.is_some());
    layout.iter().filter(|(_, field)| varying(field) && field.subtree_end.index() < end).find_map(|(table, _)| {
        let around = |parent: Option<FieldIndex>| {
            let mut at = layout.field(table).parent;
            while let Some(group) = at {
                if Some(group) == parent {
                    return true;
                }
                at = layout.field(group).parent;
            }
            false
        };
        let miscounted = |field: &Field| {
            field.slack_before > 0 || field.redefines.is_some() && (layout.dialect.odo_slide || around(field.parent))
        };
        let found = layout.iter().take_while(|(index, _)| *index <= table).find(|(_, field)| miscounted(field));
        found.map(|(index, _)| (layout.path(table), layout.path(index)))
    })
}

/// Returns a table whose count varies, inside of a group, and such a table before that group, if something follows for which GnuCOBOL 3.1.2 computes a
/// wrong place. With `-fodoslide`, it then leaves out fixed fields, except for items that follow the table in its own group, and one item right
/// after that group. Two tables in one group are right.
fn varying_after_varying(layout: &Layout) -> Option<(String, String)> {
    if !layout.dialect.odo_slide {
        return None;
    }
    let varying = |field: &Field| field.occurs.is_some_and(|occurs| occurs.depending_on.is_some());
    let first = layout.iter().find(|(_, field)| varying(field))?.0;
    let found = layout.iter().find(|(_, field)| {
        let own_group = field.parent.filter(|group| *group != FieldIndex::RECORD && first < *group);
        let is_right = |after: &Field| after.parent == field.parent && matches!(after.kind, FieldKind::Item(_));
        let Some(group) = own_group.filter(|_| varying(field)) else { return false };
        let mut after =
            layout.fields[field.subtree_end.index()..].iter().skip_while(|after| is_right(after)).peekable();
        let around = layout.field(group).parent;
        let _ = after.next_if(|next| next.parent == around && matches!(next.kind, FieldKind::Item(_)));
        after.next().is_some()
    });
    found.map(|(table, _)| (layout.path(first), layout.path(table)))
}

fn signed_by_overpunch(layout: &Layout) -> Option<String> {
    layout.iter().find_map(|(index, field)| match &field.kind {
        FieldKind::Item(Encoding::Zoned {
            sign: ZonedSign::TrailingOverpunch | ZonedSign::LeadingOverpunch, ..
        }) => Some(format!("{} ({})", layout.path(index), field.description)),
        _ => None,
    })
}
