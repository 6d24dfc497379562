//! `quayline service`.

use std::io::Write as _;
use std::path::Path;

use quayline_charset::CodePage;
use quayline_cobol::layout::Dialect;
use quayline_convert::{Destination, write_whole};
use quayline_gateway::{ProgramHead, Proposal, Proposed, layout_of, layout_of_parameters, service_table};

use crate::args::{LimitArg, ServiceArgs, ServiceCommand};
use crate::console::Console;
use crate::exit::{Exit, Stop, argument};

/// Returns the given dialect, or that of the compiler that matches a code page.
pub(crate) fn dialect_name<'a>(given: Option<&'a str>, encoding: &str) -> &'a str {
    let is_ebcdic = CodePage::by_name(encoding).is_ok_and(|page| page.is_ebcdic());
    given.unwrap_or(if is_ebcdic { "ibm" } else { "gnucobol" })
}

/// Records that a program works with.
pub(crate) struct Records {
    /// Records of its parameters, if it has several.
    pub(crate) parameters: Vec<String>,
    /// The one record, if it is chosen.
    pub(crate) record: Option<String>,
    /// PROGRAM-ID of a source.
    pub(crate) program: Option<String>,
}

impl Records {
    /// Those that are given. Otherwise the source of a program names them. A file that cannot be read is found when its records are.
    pub(crate) fn of(path: &Path, record: Option<&str>, parameters: &[String]) -> Result<Records, Stop> {
        let head = quayline_project::read_source(path).map_or_else(|_| ProgramHead::default(), |t| ProgramHead::of(&t));
        if let (Some(name), None, []) = (&head.by_value, record, parameters) {
            let finding = argument(format!("the parameter {name} is passed BY VALUE, which no service can do"));
            return Err(finding.hint("name the records with --parameter or --record, or pass it by reference").into());
        }
        let (parameters, record) = match (parameters, record, head.using) {
            ([], None, Some(using)) if using.len() == 1 => (Vec::new(), using.into_iter().next()),
            ([], None, Some(using)) => (using, None),
            (given, record, _) => (given.to_vec(), record.map(str::to_owned)),
        };
        Ok(Records { parameters, record, program: head.program })
    }
}

/// Proposes a service for a copybook: the file, and on standard error the table of its fields.
pub(crate) fn run(args: &ServiceArgs, _console: &Console) -> Result<Exit, Stop> {
    let ServiceCommand::New(args) = &args.what;
    let name = dialect_name(args.dialect.as_deref(), &args.encoding);
    let dialect = Dialect::preset(name).map_err(|error| argument(error.to_string()))?;
    let limits = LimitArg::limits(&args.limit);
    let Records { parameters, record, program } =
        Records::of(&args.copybook, args.record.as_deref(), &args.parameters)?;
    let layout = match parameters.as_slice() {
        [] => layout_of(&args.copybook, record.as_deref(), &dialect, &limits)?,
        all => layout_of_parameters(&args.copybook, all, &dialect, &limits)?,
    };
    let copybook = args.copybook.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let from = Proposed {
        copybook: &copybook,
        record: record.as_deref(),
        encoding: &args.encoding,
        dialect: name,
        parameters: &parameters,
        program: program.as_deref(),
        source: None,
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
            return Err(argument(format!("{} is there already", path.display()))
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
