//! `quayline service`.

use std::io::Write as _;

use quayline_charset::CodePage;
use quayline_cobol::layout::Dialect;
use quayline_gateway::{ProgramRecords, Proposal, Proposed, service_table};

use crate::args::{LimitArg, ServiceArgs, ServiceCommand};
use crate::console::{Console, write_stdout};
use crate::exit::{Exit, Stop, argument};
use crate::new_text::{file_of, write_new};

/// Returns the given dialect, or that of the compiler that matches a code page.
pub(crate) fn dialect_of<'a>(given: Option<&'a str>, encoding: &str) -> Result<(&'a str, Dialect), Stop> {
    let is_ebcdic = CodePage::by_name(encoding).is_ok_and(|page| page.is_ebcdic());
    let name = given.unwrap_or(if is_ebcdic { "ibm" } else { "gnucobol" });
    Ok((name, Dialect::preset(name).map_err(|error| argument(error.to_string()))?))
}

/// Proposes a service for a copybook: the file, and on standard error the table of its fields.
pub(crate) fn run(args: &ServiceArgs, _console: &Console) -> Result<Exit, Stop> {
    let ServiceCommand::New(args) = &args.what;
    let (name, dialect) = dialect_of(args.dialect.as_deref(), &args.encoding)?;
    let records = ProgramRecords::of(&args.copybook, None, args.record.as_deref(), &args.parameters)?;
    let layout = records.layout(&args.copybook, &[], &dialect, &LimitArg::limits(&args.limit))?;
    let copybook = args.copybook.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let from = Proposed {
        copybook: &copybook,
        record: records.record.as_deref(),
        encoding: &args.encoding,
        dialect: name,
        parameters: &records.parameters,
        program: records.program.as_deref(),
        source: None,
        is_free: records.is_free,
    };
    let Proposal { file: text, rows } = Proposal::new(&layout, from)?;
    let table = service_table(&rows);
    // The table is for people; the file is the data.
    let file = file_of(args.output.as_deref());
    if file.is_none() {
        let _ = std::io::stderr().write_all(table.as_bytes());
    }
    write_new(file, &text)?;
    if file.is_some() {
        write_stdout(table.as_bytes())?;
    }
    Ok(Exit::Done)
}
