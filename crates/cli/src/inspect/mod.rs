//! `quayline inspect`: shows the content of a copybook, or proposes the format of a file.

mod answers;
mod columns;
mod data;
mod edi;
mod fit;
mod looks;
mod sample;

use std::path::Path;

use quayline_convert::ColumnsSurvey;
use quayline_infer::has_data_descriptions;
use serde::Serialize;

use crate::args::{As, FromFormat, InspectArgs};
use crate::console::{Console, shown, write_stdout};
use crate::convert::{foreign, source_format};
use crate::copybook::{self, Described};
use crate::exit::{Exit, Stop, argument};
use crate::input::HEAD_BYTES;
use crate::input::uncompressed_name;
use crate::render::{LayoutWire, layout_tree};

use sample::Sample;

/// Shows a copybook's layouts, or proposes the format of a data file.
pub(crate) fn run(args: &InspectArgs, console: &Console) -> Result<Exit, Stop> {
    let sample = Sample::read(&args.file)?;
    if let (None, Some(finding)) = (args.is, foreign(&args.file, &sample.bytes, "inspect")) {
        return Err(finding.into());
    }
    if args.is.is_none() && ColumnsSurvey::recognizes(&sample.bytes) {
        return columns::show(sample, args, console);
    }
    let is =
        args.is.unwrap_or_else(|| if args.copybook.is_some() { As::Data } else { what_it_is(&args.file, &sample) });
    match is {
        As::Copybook => {
            if args.copybook.is_some() || args.encoding.is_some() || args.framing.is_some() {
                let finding =
                    argument("--copybook, --encoding and --framing are for data files, and this is a copybook");
                return Err(finding.hint("add `--as data` if it is data").into());
            }
            let described = copybook::describe(&args.file, sample.into_text(&args.file)?, &args.reading.source)?;
            show_layouts(&described, args, console)
        }
        As::Edi => edi::survey(sample, args, console),
        As::Data => data::propose(&sample, args, console),
    }
}

fn show_layouts(described: &Described, args: &InspectArgs, console: &Console) -> Result<Exit, Stop> {
    let built = described.all(args.reading.record.as_deref())?;
    console.findings(&built.findings);
    let layouts = &built.layouts;
    if console.json() {
        let records = layouts.iter().map(LayoutWire::of).collect();
        print_json(&LayoutsWire { schema: "quayline.layout/1", file: shown(&args.file), records })?;
    } else {
        let trees: Vec<String> = layouts.iter().map(|layout| layout_tree(layout, console.color_stdout())).collect();
        write_stdout(trees.join("\n").as_bytes())?;
    }
    Ok(Exit::of_findings(&built.findings))
}

/// The layouts of a copybook, `quayline.layout/1` in docs/reference/json.md.
#[derive(Serialize)]
struct LayoutsWire<'a> {
    schema: &'static str,
    file: String,
    records: Vec<LayoutWire<'a>>,
}

/// Prints a JSON object for programs, indented so that people can read it too.
fn print_json(answer: &impl Serialize) -> Result<(), Stop> {
    let mut text = serde_json::to_string_pretty(answer).expect("an answer has string keys and plain values");
    text.push('\n');
    write_stdout(text.as_bytes())?;
    Ok(())
}

/// Detects EDI by its name or its first bytes; COBOL source by its name if it is text, or by its words; all other input is data.
fn what_it_is(path: &Path, sample: &Sample) -> As {
    let path = &uncompressed_name(path, sample.compression);
    if source_format(path, &sample.bytes[..sample.bytes.len().min(HEAD_BYTES)]) == FromFormat::Edi {
        return As::Edi;
    }
    let Some(text) = sample.text() else { return As::Data };
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let named = matches!(extension.as_deref(), Some("cpy" | "cbl" | "cob" | "cobol" | "copy" | "pco" | "cpb"));
    if named || has_data_descriptions(text) { As::Copybook } else { As::Data }
}
