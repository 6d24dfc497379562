//! `quayline service`.

use std::io::Write as _;

use quayline_charset::CodePage;
use quayline_cobol::layout::Dialect;
use quayline_convert::{Destination, write_whole};
use quayline_gateway::{ProgramRecords, Proposal, Proposed, service_table};

use crate::args::{LimitArg, ServiceArgs, ServiceCommand};
use crate::console::Console;
use crate::exit::{Exit, Stop, argument};

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
    match &args.output {
        None => {
            // The table is for people; the file is the data.
            let _ = std::io::stderr().write_all(table.as_bytes());
            crate::console::write_stdout(text.as_bytes())?;
        }
        Some(path)
            if path.exists() && Destination::of(path).map_err(|error| error.findings())? != Destination::Stream =>
        {
            return Err(argument(format!("{} already exists", path.display()))
                .hint("name another file, or remove it")
                .into());
        }
        Some(path) => {
            write_whole(path, text.as_bytes()).map_err(|error| error.findings())?;
            crate::console::write_stdout(table.as_bytes())?;
        }
    }
    Ok(Exit::Done)
}
