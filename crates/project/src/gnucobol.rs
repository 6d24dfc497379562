//! Options of the GnuCOBOL compiler by the dialect of a record.

use quayline_cobol::layout::{BinarySizes, ByteOrder, Dialect, OverpunchVariant, SyncRule};

/// Returns the options with which GnuCOBOL 3 compiles a program for the dialect. They come after the options of the user, so they override `-std`.
#[must_use]
pub fn gnucobol_options(dialect: &Dialect) -> Vec<String> {
    let choose = |yes: bool, a: &str, b: &str| if yes { a.to_owned() } else { b.to_owned() };
    let sizes = match dialect.binary_sizes {
        BinarySizes::TwoFourEight => "2-4-8",
        BinarySizes::OneTwoFourEight => "1-2-4-8",
        BinarySizes::OneToEight => "1--8",
    };
    vec![
        format!("-fbinary-size={sizes}"),
        choose(dialect.binary_order == ByteOrder::Big, "-fbinary-byteorder=big-endian", "-fbinary-byteorder=native"),
        choose(dialect.binary_truncate, "-fbinary-truncate", "-fno-binary-truncate"),
        choose(dialect.odo_slide, "-fodoslide", "-fno-odoslide"),
        choose(dialect.overpunch == OverpunchVariant::Ascii, "-fsign=ASCII", "-fsign=EBCDIC"),
        choose(dialect.sync == SyncRule::Ignored, "-fsynchronized-clause=ignore", "-fsynchronized-clause=ok"),
    ]
}

/// Options of the compiler that change how data is stored, and the equivalent dialect settings.
const STORAGE: [(&str, &str); 11] = [
    ("-fbinary-size", "binary-sizes"),
    ("-fbinary-byteorder", "binary-order"),
    ("-fbinary-truncate", "truncate"),
    ("-fno-binary-truncate", "truncate"),
    ("-fnotrunc", "truncate"),
    ("-fodoslide", "odo-slide"),
    ("-fno-odoslide", "odo-slide"),
    ("-fsign", "overpunch"),
    ("-fsynchronized-clause", "sync"),
    ("-fbinary-comp-1", "float"),
    ("-fno-synchronized-clause", "sync"),
];

/// Returns whether an option selects the type or file of the compiler output. Users cannot select them, because Quayline loads the module.
#[must_use]
pub fn is_gnucobol_output(option: &str) -> bool {
    // The compiler takes long options with one dash too.
    let long = option.trim_start_matches('-');
    let is_long =
        ["save-temps", "fsyntax-only", "version", "help", "info", "list-"].iter().any(|name| long.starts_with(name));
    // A value may follow directly, as in `-oNAME`.
    let with_value = ["-o", "-t", "-T", "-P"].iter().any(|name| option.starts_with(name));
    is_long || with_value || ["-x", "-b", "-c", "-C", "-S", "-E", "-j", "-V", "-h", "-i"].contains(&option)
}

/// Returns the dialect setting that an option of the user contradicts, if there is one.
#[must_use]
pub fn gnucobol_contradiction(option: &str, dialect: &Dialect) -> Option<&'static str> {
    let name = option.split('=').next().unwrap_or(option);
    let (_, setting) = STORAGE.iter().find(|(known, _)| *known == name)?;
    let same = if option == "-fnotrunc" { "-fno-binary-truncate" } else { option };
    let agrees = gnucobol_options(dialect).iter().any(|known| known == same);
    (!agrees).then_some(*setting)
}
