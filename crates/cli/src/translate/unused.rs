//! Options without an effect on a map's source and targets.

use quayline_edi::ValidationLevel;
use quayline_project::{Form, MapFile};

use super::Job;
use crate::args::{FromFormat, ToFormat, TranslateArgs};
use crate::exit::{Stop, argument};

/// Refuses options that change nothing for the source and targets of the map: most often, the map is not the one that was meant.
pub(super) fn refuse(args: &TranslateArgs, map: &MapFile, jobs: &[Job]) -> Result<(), Stop> {
    let source = map.source.form();
    let (records, edi) = (matches!(source, Form::Records { .. }), matches!(source, Form::Guide(_)));
    let columns =
        matches!(args.from, Some(FromFormat::Parquet | FromFormat::Arrow)) || jobs.iter().any(|job| job.columns);
    let writes = |is: fn(&Form) -> bool| map.targets.iter().any(|target| is(target.shape.form()));
    let to_edi = writes(|form| matches!(form, Form::Guide(_)));
    let json = jobs.iter().any(|job| job.outputs.formats().any(|to| matches!(to, ToFormat::Jsonl | ToFormat::Json)));
    let options = [
        (args.from_framing.is_some(), "--from-framing", records, "records that the map reads"),
        (
            args.to_framing.is_some(),
            "--to-framing",
            writes(|form| matches!(form, Form::Records { .. })),
            "records that the map writes",
        ),
        (
            args.to_encoding.is_some(),
            "--to-encoding",
            to_edi || writes(|form| matches!(form, Form::Records { .. })),
            "records or EDI that the map writes",
        ),
        (
            args.output_level.0 != Some(ValidationLevel::default()),
            "--output-level",
            to_edi,
            "interchanges that the map writes",
        ),
        (
            args.function_timeout != quayline_batch::FUNCTION_TIME.as_secs(),
            "--function-timeout",
            !args.function.is_empty(),
            "functions of --function",
        ),
        (args.from_encoding.is_some(), "--from-encoding", records || edi, "records or EDI that the map reads"),
        (args.strict, "--strict", edi || to_edi, "EDI"),
        (args.level != ValidationLevel::default(), "--level", edi, "EDI that the map reads"),
        (args.numbers.is_some(), "--numbers", json, "JSON that the map writes"),
        (
            args.unknown.is_some(),
            "--unknown",
            columns || !(records || edi),
            "JSON, XML, CSV and columns that the map reads",
        ),
    ];
    let found = options.iter().find(|(given, _, has_effect, _)| *given && !has_effect);
    found.map_or(Ok(()), |(_, name, _, what)| {
        let finding = argument(format!("{name} has no effect on this run, because it applies to {what}"));
        Err(finding.hint("remove the option, or correct the source and targets of the map").into())
    })
}
