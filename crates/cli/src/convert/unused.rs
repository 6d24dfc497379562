//! Options without an effect for the formats of a run.

use std::path::Path;

use quayline_project::{InterfaceFile, TypeUse};

use super::jobs::Job;
use crate::args::{ConvertArgs, CopybookArgs, DialectName, FromFormat, SourceFormatArg, ToFormat};
use crate::exit::{Stop, argument};
use crate::store::record_file;

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
    let json = to(ToFormat::Jsonl) || to(ToFormat::Json);
    let is_stored = |path: &Path| record_file(path).is_some();
    let stored = jobs.iter().any(|job| is_stored(&job.input) || job.output.as_deref().is_some_and(is_stored));
    let (reads, writes, both) = ("records that it reads", "records that it writes", "records");
    let CopybookArgs { record, source, .. } = &args.reading;
    let described = !args.copybook.is_empty() || stored;
    let options = [
        (record.is_some(), "--record", described, "copybooks"),
        (source.dialect != DialectName::default(), "--dialect", described, "copybooks"),
        (!source.set.is_empty(), "--set", described, "copybooks"),
        (!source.replacing.is_empty(), "--replacing", described, "copybooks"),
        (!source.include.is_empty(), "--include", described, "copybooks"),
        (source.source_format != SourceFormatArg::default(), "--source-format", described, "copybooks"),
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
            "records that it writes or CSV that it reads",
        ),
        (args.framing.is_some(), "--framing", records, both),
        (args.invalid.is_some(), "--invalid", records, both),
        (args.blank.is_some(), "--blank", records || from(FromFormat::Csv), "records or CSV that it reads"),
        (args.low_values.is_some(), "--low-values", records || from(FromFormat::Csv), "records or CSV that it reads"),
        (args.trim.is_some(), "--trim", records, both),
        (
            args.unknown.is_some(),
            "--unknown",
            jobs.iter().any(|job| !matches!(job.from, FromFormat::Record | FromFormat::Edi)),
            "JSON, XML, CSV and columns that it reads",
        ),
        (args.preserve, "--preserve", records, both),
        (args.skip_bytes_first.is_some(), "--skip-bytes-first", from_records, reads),
        (args.skip_bytes_last.is_some(), "--skip-bytes-last", from_records, reads),
        (args.delimiter.is_some(), "--delimiter", csv, "CSV"),
        (args.no_header, "--no-header", csv, "CSV"),
        (args.xml_root.is_some(), "--xml-root", xml, "XML"),
        (args.xml_record.is_some(), "--xml-record", xml, "XML"),
        (args.output_level.is_some(), "--output-level", to(ToFormat::Edi), "interchanges that it writes"),
        (args.rows, "--rows", edi, "interchanges"),
        (args.strict, "--strict", edi, "interchanges"),
        (args.page.is_some(), "--page", from(FromFormat::Edi), "interchanges that it reads"),
        (args.numbers.is_some(), "--numbers", json, "JSON that it writes"),
        (args.store.folder != Path::new("data"), "--store", stored, "record files of a store"),
        (args.store.durability.when.is_some(), "--durability", stored, "record files of a store"),
        (args.key_style.is_some(), "--key-style", !edi, "documents of a copybook"),
        (args.fillers.is_some(), "--fillers", !edi, "documents of a copybook"),
        (args.redefines.is_some(), "--redefines", !edi, "documents of a copybook"),
        (args.record_number.is_some(), "--record-number", !edi, both),
        (args.parent_number.is_some(), "--parent-number", !edi, both),
        (args.source_file.is_some(), "--source-file", !edi, both),
    ];
    if args.rows && edi && !args.guide.is_empty() {
        let finding = argument("--guide has no effect with --rows, because no guide checks or names segments in rows");
        let hint =
            "`quayline validate` checks by guide: leave out --guide, --level and --names here, or leave out --rows";
        return Err(finding.hint(hint).into());
    }
    let found = options.iter().find(|(given, _, has_effect, _)| *given && !has_effect);
    found.map_or(Ok(()), |(_, name, _, what)| {
        let finding = argument(format!("{name} has no effect on this run, because it applies to {what}"));
        Err(finding.hint("remove the option, or correct the formats with --from and --to").into())
    })
}

/// Refuses `--parent-number` for records without parents, which the interface file would name.
pub(super) fn refuse_parent_number(args: &ConvertArgs, interface: &InterfaceFile) -> Result<(), Stop> {
    let has_parents = interface
        .records
        .as_ref()
        .is_some_and(|rules| rules.types.iter().any(|of| matches!(of.uses, TypeUse::Record { parent: Some(_), .. })));
    if args.parent_number.is_none() || has_parents {
        return Ok(());
    }
    let finding = argument("--parent-number has no effect on this run, because it applies to records with a parent");
    Err(finding.hint("remove the option, or name the `parent` of record types in the interface file").into())
}
