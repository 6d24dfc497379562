//! Options without an effect for the formats of a run.

use super::jobs::Job;
use crate::args::{ConvertArgs, FromFormat, ToFormat};
use crate::exit::{Stop, argument};

/// Refuses options that change nothing for the formats that are read and written: most often, one of the formats is not the one that was meant.
pub(super) fn refuse(args: &ConvertArgs, jobs: &[Job]) -> Result<(), Stop> {
    let from = |format: FromFormat| jobs.iter().any(|job| job.from == format);
    let to = |format: ToFormat| jobs.iter().any(|job| job.to == format);
    let edi = from(FromFormat::Edi) || to(ToFormat::Edi);
    let from_records = from(FromFormat::Record);
    let to_records = to(ToFormat::Record);
    let records = from_records || to_records;
    let csv = from(FromFormat::Csv) || to(ToFormat::Csv);
    let xml = from(FromFormat::Xml) || to(ToFormat::Xml);
    let (reads, writes, both) = ("is for records that are read", "is for records that are written", "is for records");
    let options = [
        (!args.copybook.is_empty(), "--copybook", !edi, both),
        (args.interface.is_some(), "--interface", !edi, both),
        (args.short.is_some(), "--short", from_records, reads),
        (args.long.is_some(), "--long", from_records, reads),
        (args.absent.is_some(), "--absent", to_records, writes),
        (args.to_encoding.is_some(), "--to-encoding", to_records, writes),
        (args.to_framing.is_some(), "--to-framing", to_records, writes),
        (
            args.null.is_some(),
            "--null",
            to_records || from(FromFormat::Csv),
            "is for records or CSV cells without a value",
        ),
        (args.framing.is_some(), "--framing", records, both),
        (args.preserve, "--preserve", records, both),
        (args.skip_bytes_first.is_some(), "--skip-bytes-first", from_records, reads),
        (args.skip_bytes_last.is_some(), "--skip-bytes-last", from_records, reads),
        (args.delimiter.is_some(), "--delimiter", csv, "is for CSV"),
        (args.no_header, "--no-header", csv, "is for CSV"),
        (args.xml_root.is_some(), "--xml-root", xml, "is for XML"),
        (args.xml_record.is_some(), "--xml-record", xml, "is for XML"),
        (args.output_level.is_some(), "--output-level", to(ToFormat::Edi), "is for interchanges that are written"),
        (args.rows, "--rows", edi, "is for interchanges"),
        (args.key_style.is_some(), "--key-style", !edi, "is for documents of a copybook"),
        (args.fillers.is_some(), "--fillers", !edi, "is for documents of a copybook"),
        (args.redefines.is_some(), "--redefines", !edi, "is for documents of a copybook"),
        (args.record_number.is_some(), "--record-number", !edi, both),
        (args.parent_number.is_some(), "--parent-number", !edi, both),
        (args.source_file.is_some(), "--source-file", !edi, both),
    ];
    let found = options.iter().find(|(given, _, has_effect, _)| *given && !has_effect);
    found.map_or(Ok(()), |(_, name, _, what)| {
        let finding = argument(format!("{name} {what}, and this run has none"));
        Err(finding.hint("leave it out, or name the formats with --from and --to").into())
    })
}
