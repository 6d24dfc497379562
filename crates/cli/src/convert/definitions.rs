//! Definitions of the records: copybook, interface file, code page, policies.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_charset::{Charset, CodePage};
use quayline_cobol::layout::Layout;
use quayline_cobol::{BadValue, Policies, Preserve};
use quayline_convert::{Checkpoints, definition_digest};
use quayline_core::Limits;
use quayline_edi::{GuideDocuments, NodeNames, OutboundOptions, Rules, ValidationLevel, guide};
use quayline_frame::FramingSpec;
use quayline_project::csv::{CsvStyle, EmptyCell, Header};
use quayline_project::xml::XmlStyle;
use quayline_project::{
    InterfaceFile, JsonNumbers, Otherwise, RecordRules, Schema, TypeUse, read_guide_documents_and_files,
};

use super::jobs::Job;
use super::unused;
use crate::args::{ConvertArgs, FromFormat, LimitArg, NamesArg, NumbersArg, OutputLevel, ToFormat, UnknownArg};
use crate::cache::cache;
use crate::console::{Console, shown};
use crate::copybook::{self, unreadable};
use crate::exit::{Stop, argument};
use crate::named::{charset_named, edi_charset_named, framing_named};

/// Definitions of the records, for all jobs of a run.
pub(crate) struct Definitions {
    /// Shape of the documents and the underlying plans.
    pub(crate) schema: Arc<Schema>,
    /// The schema in the code page of the target, if that differs.
    pub(crate) target_schema: Option<Arc<Schema>>,
    /// Numbers in JSON.
    pub(crate) numbers: JsonNumbers,
    /// True if unknown members are ignored.
    pub(crate) ignore_unknown: bool,
    delimiter: Option<u8>,
    header: Header,
    /// Meaning of an empty CSV cell: null if blank numbers are read as null or a value for null is configured.
    empty: EmptyCell,
    xml: XmlStyle,
    /// The layouts in use.
    pub(crate) layouts: Vec<Layout>,
    /// Code page of the source's records, if there are any.
    pub(crate) charset: Charset,
    /// Bytes of the longest record.
    record_length: usize,
    format: Option<String>,
    to_framing: Option<String>,
    /// For interchanges: size of a page in bytes, the default character set, and whether leniencies are errors.
    pub(crate) page_bytes: usize,
    pub(crate) edi_charset: Option<Charset>,
    pub(crate) strict: bool,
    /// Guides of documents, and the extent of the validation.
    pub(crate) guides: Option<Arc<GuideDocuments>>,
    pub(crate) level: ValidationLevel,
    /// Checks of written EDI.
    pub(crate) output_check: Option<OutboundOptions>,
    /// Files that were read besides those that the arguments name: COPY members, guides of folders, included dictionaries.
    pub(crate) files: Vec<PathBuf>,
    digest: u64,
}

/// Bytes of a transaction above which it has pages.
const PAGE_BYTES: usize = 512 << 10;

impl Definitions {
    /// Reads the definitions that the arguments name.
    pub(crate) fn read(
        args: &ConvertArgs,
        jobs: &[Job],
        only: Option<&OnlyType>,
        console: &Console,
    ) -> Result<Self, Stop> {
        if jobs.iter().any(Job::is_edi) {
            return Definitions::edi(args, jobs);
        }
        if !args.guide.is_empty() {
            let finding = argument("--guide is for interchanges, and neither end is any");
            return Err(finding.hint("leave it out, or name the format with --from edi or --to edi").into());
        }
        let from_records = jobs.iter().any(|job| job.from == FromFormat::Record);
        let to_records = jobs.iter().any(|job| job.to == ToFormat::Record);
        let charset = charset(args, from_records || to_records)?;
        if let (None, Some(schema)) = (args.copybook.first(), jobs.iter().find_map(|job| job.schema.as_ref()))
            && jobs.iter().all(|job| job.schema.is_some())
        {
            return Definitions::columns(args, schema);
        }
        if args.copybook.is_empty() {
            let finding = argument("no copybook is named, so the records have no description");
            let hint = if from_records || to_records {
                "name it with --copybook FILE".to_owned()
            } else {
                "name the copybook that the documents follow with --copybook FILE; it gives them their order and types"
                    .to_owned()
            };
            return Err(finding.hint(hint).into());
        };
        let described = copybook::read_all(&args.copybook, &args.reading.source)?;
        let (mut interface, interface_text) = interface(args)?;
        apply(args, &mut interface);
        let (layouts, warnings) = match (&interface.records, args.reading.record.as_deref()) {
            (Some(rules), None) => {
                let built = described.all_with(&records_of(rules))?;
                (built.layouts, built.findings)
            }
            (_, record) => {
                let (layout, warnings) = described.one(record)?;
                (vec![layout], warnings)
            }
        };
        console.findings(&warnings);
        unused::refuse_parent_number(args, &interface)?;
        let policies = policies(args);
        if let Some(only) = only {
            // Faults of the interface are those of all types.
            Schema::compile(&layouts, &interface, &policies, charset)?;
            keep_type(&mut interface, only, &layouts);
        }
        let schema = Arc::new(Schema::compile(&layouts, &interface, &policies, charset)?);
        let record_length = schema.record_bytes_max().unwrap_or(0);
        let target_schema = match &args.to_encoding {
            Some(name) => Some(Arc::new(Schema::compile(&layouts, &interface, &policies, charset_named(name)?)?)),
            None => None,
        };
        // All settings that affect the output, except the formats, which the engine adds. The layouts represent the copybook with all
        // its COPY members.
        let copybook = format!("{layouts:?}");
        let settings =
            format!("{:?} {policies:?} {} {:?} {:?}", args.reading, charset.name(), args.to_encoding, args.numbers);
        let overrides = format!(
            "{:?} {:?} {:?} {:?} {:?}",
            args.key_style, args.fillers, args.redefines, interface.interface.origin, interface.skip_bytes
        );
        let digest = definition_digest([
            copybook.as_bytes(),
            interface_text.as_bytes(),
            settings.as_bytes(),
            overrides.as_bytes(),
        ]);
        Ok(Definitions {
            schema,
            target_schema,
            numbers: numbers(args.numbers),
            delimiter: args.delimiter,
            header: header(args),
            empty: empty_cell(args),
            xml: xml(args),
            ignore_unknown: args.unknown == Some(UnknownArg::Ignore),
            record_length,
            layouts,
            charset,
            format: args.framing.clone(),
            to_framing: args.to_framing.clone(),
            page_bytes: args.page.unwrap_or(PAGE_BYTES),
            edi_charset: None,
            strict: args.strict,
            guides: None,
            level: ValidationLevel::default(),
            output_check: None,
            files: described.members,
            digest,
        })
    }

    /// Creates definitions for self-describing columns.
    fn columns(args: &ConvertArgs, schema: &Arc<Schema>) -> Result<Self, Stop> {
        let given = [(args.interface.is_some(), "--interface"), (args.encoding.is_some(), "--encoding")];
        if let Some((_, name)) = given.iter().find(|(given, _)| *given) {
            let finding = argument(format!("{name} needs a copybook, and none is named"));
            return Err(finding.hint("name one with --copybook FILE, or leave it out").into());
        }
        Ok(Definitions {
            schema: Arc::clone(schema),
            target_schema: None,
            numbers: numbers(args.numbers),
            delimiter: args.delimiter,
            header: header(args),
            empty: empty_cell(args),
            xml: xml(args),
            ignore_unknown: args.unknown == Some(UnknownArg::Ignore),
            record_length: 0,
            layouts: Vec::new(),
            charset: Charset::SingleByte(CodePage::LATIN1),
            format: None,
            to_framing: None,
            page_bytes: args.page.unwrap_or(PAGE_BYTES),
            edi_charset: None,
            strict: args.strict,
            guides: None,
            level: ValidationLevel::default(),
            output_check: None,
            files: Vec::new(),
            digest: 0,
        })
    }

    /// Creates definitions for interchanges as source or target, whose documents have a separate shape.
    fn edi(args: &ConvertArgs, jobs: &[Job]) -> Result<Self, Stop> {
        if let Some(job) = jobs.iter().find(|job| !job.is_edi()) {
            let finding = argument(format!("{} is not EDI, and other inputs are", shown(&job.input)));
            return Err(finding.hint("convert interchanges and other files in runs of their own").into());
        }
        if jobs.iter().any(|job| job.rows != jobs[0].rows) {
            let finding = argument("some inputs would become rows and others transactions");
            return Err(finding.hint("convert them in runs of their own").into());
        }
        let charset = args.encoding.as_deref().map(edi_charset_named).transpose()?;
        let (guides, files) = guides(args)?;
        let schema = match &guides {
            _ if jobs[0].rows => Schema::edi_rows(),
            Some(documents) => Schema::edi_by_guide(documents),
            None => Schema::edi(),
        };
        let mut settings = vec![format!("{:?} {:?} {:?}", args.encoding, args.numbers, args.names)];
        if let (Some(documents), true) = (&guides, jobs.iter().any(|job| job.checkpoint.is_some())) {
            let set = documents.guides();
            settings.extend((0..set.len()).map(|number| guide::write_guide(set.guide(number))));
        }
        Ok(Definitions {
            schema: Arc::new(schema),
            target_schema: None,
            numbers: numbers(args.numbers),
            delimiter: args.delimiter,
            header: header(args),
            empty: empty_cell(args),
            xml: xml(args),
            ignore_unknown: args.unknown == Some(UnknownArg::Ignore),
            record_length: 0,
            layouts: Vec::new(),
            charset: charset.unwrap_or(Charset::SingleByte(CodePage::LATIN1)),
            format: None,
            to_framing: None,
            page_bytes: args.page.unwrap_or(PAGE_BYTES),
            edi_charset: charset,
            strict: args.strict,
            output_check: output_check(
                args.output_level.unwrap_or(OutputLevel(match &guides {
                    Some(_) => Some(ValidationLevel::Rules),
                    None => args.strict.then_some(ValidationLevel::Envelope),
                })),
                args.strict,
                LimitArg::limits(&args.reading.source.limit),
            ),
            guides,
            level: args.level,
            files,
            digest: definition_digest(settings.iter().map(String::as_bytes)),
        })
    }

    /// Returns the framing of the source.
    pub(crate) fn source_framing(&self) -> Result<FramingSpec, Stop> {
        framing_named(self.format.as_deref().unwrap_or("fixed"), Some(self.record_length))
    }

    /// Returns the framing of the target; by default, that of the source.
    pub(crate) fn target_framing(&self) -> Result<FramingSpec, Stop> {
        let named = self.to_framing.as_deref().or(self.format.as_deref());
        framing_named(named.unwrap_or("fixed"), Some(self.record_length))
    }

    /// Returns the CSV style for a file name.
    pub(crate) fn csv(&self, name: Option<&Path>) -> CsvStyle {
        let tabs = name.and_then(Path::extension).is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
        let delimiter = self.delimiter.unwrap_or(if tabs { b'\t' } else { b',' });
        CsvStyle { delimiter, header: self.header, empty: self.empty, ..CsvStyle::default() }
    }

    /// Returns the XML style.
    pub(crate) fn xml(&self) -> XmlStyle {
        self.xml.clone()
    }

    /// Checkpoints at this path.
    pub(crate) fn checkpoints(&self, path: PathBuf) -> Checkpoints {
        Checkpoints::new(path, self.digest)
    }
}

/// Reads the guides that the arguments name. Returns them with their files.
fn guides(args: &ConvertArgs) -> Result<(Option<Arc<GuideDocuments>>, Vec<PathBuf>), Stop> {
    if args.guide.is_empty() {
        return Ok((None, Vec::new()));
    }
    let names = match args.names {
        None | Some(NamesArg::Reference) => NodeNames::References,
        Some(NamesArg::Name) => NodeNames::Words,
    };
    let limits = LimitArg::limits(&args.reading.source.limit);
    let (documents, files) = read_guide_documents_and_files(&args.guide, &limits, names, cache().as_deref())?;
    Ok((Some(Arc::new(documents)), files))
}

/// Returns the checks of written EDI.
pub(crate) fn output_check(level: OutputLevel, strict: bool, limits: Limits) -> Option<OutboundOptions> {
    let level = level.0?;
    let rules = if strict { Rules::Strict } else { Rules::Lenient };
    Some(OutboundOptions { level, rules, limits })
}

/// A record type with the types nested in it, the only one of a run.
pub(crate) struct OnlyType {
    /// Name for files.
    pub(crate) name: String,
    index: usize,
    /// True if this run treats records without a type as the interface specifies; later runs skip them.
    is_first: bool,
}

/// Returns the record types that are not nested in another.
pub(crate) fn types(args: &ConvertArgs) -> Result<Vec<OnlyType>, Stop> {
    let rules = interface(args)?.0.records;
    let mut types: Vec<OnlyType> = Vec::new();
    for (index, of_type) in rules.iter().flat_map(|rules| &rules.types).enumerate() {
        let TypeUse::Record { record, view, rename, parent: None } = &of_type.uses else { continue };
        let name = rename.as_ref().or(view.as_ref()).unwrap_or(record).clone();
        if types.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
            let finding = argument(format!("two record types would be written to one file: both are named {name}"));
            return Err(finding.hint("give one of them a `rename` of its own in the interface file").into());
        }
        types.push(OnlyType { name, index, is_first: types.is_empty() });
    }
    if types.is_empty() {
        let finding = argument("--by-type needs the record types of an interface file");
        return Err(finding.hint("list them in [records] of the file of --interface").into());
    }
    Ok(types)
}

/// Skips all types but one and those nested in it, with the rules for fields that only the others have.
fn keep_type(file: &mut InterfaceFile, only: &OnlyType, layouts: &[Layout]) {
    let Some(rules) = &mut file.records else { return };
    let mut kept = vec![false; rules.types.len()];
    for (index, of_type) in rules.types.iter_mut().enumerate() {
        let parent = match &of_type.uses {
            TypeUse::Record { parent, .. } => *parent,
            TypeUse::Skip => None,
        };
        // Parents are before their children.
        kept[index] = index == only.index || parent.is_some_and(|parent| kept[parent]);
        if !kept[index] {
            of_type.uses = TypeUse::Skip;
        }
    }
    rules.otherwise = match rules.otherwise {
        Otherwise::Type(index) if kept[index] => Otherwise::Type(index),
        Otherwise::Reject if only.is_first => Otherwise::Reject,
        Otherwise::Type(_) | Otherwise::Reject | Otherwise::Skip => Otherwise::Skip,
    };
    let records = records_of(rules);
    let used: Vec<&Layout> = layouts
        .iter()
        .filter(|layout| records.iter().any(|record| record.eq_ignore_ascii_case(copybook::name(layout))))
        .collect();
    let is_used = |name: &str| used.iter().any(|layout| !layout.named(name).is_empty());
    file.interface.fields.retain(|rule| is_used(&rule.field));
    file.interface.choices.retain(|choice| is_used(&choice.storage));
}

/// Returns the record descriptions that the record types use.
fn records_of(rules: &RecordRules) -> Vec<&str> {
    let mut names = Vec::new();
    for of_type in &rules.types {
        if let TypeUse::Record { record, .. } = &of_type.uses {
            names.push(record.as_str());
        }
    }
    names
}

/// Returns the code page, which is mandatory if there are records.
fn charset(args: &ConvertArgs, records: bool) -> Result<Charset, Stop> {
    match &args.encoding {
        Some(name) => charset_named(name),
        // Documents to documents: bytes of records are never decoded.
        None if !records => Ok(Charset::SingleByte(CodePage::LATIN1)),
        None => {
            let input = args.inputs.first().map(|path| shown(path)).unwrap_or_default();
            let finding = argument("the code page of the records is not named, and it is never guessed");
            let hint = if args.from.is_none() && args.inputs.iter().any(|path| path == Path::new("-")) {
                "add, say, --encoding cp037; if standard input holds no records, name its format with --from, as in --from csv"
                    .to_owned()
            } else {
                format!("`quayline inspect {input}` proposes one with its evidence; then add, say, --encoding cp037")
            };
            Err(finding.hint(hint).into())
        }
    }
}

fn interface(args: &ConvertArgs) -> Result<(InterfaceFile, String), Stop> {
    let Some(path) = &args.interface else { return Ok((InterfaceFile::default(), String::new())) };
    let read = quayline_project::read_definition(path);
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(|_| io::Error::other("the file is not UTF-8")));
    let text = text.map_err(|error| unreadable(path, &error))?;
    Ok((InterfaceFile::parse(&shown(path), &text)?, text))
}

/// Applies the command line, which overrides the interface file.
fn apply(args: &ConvertArgs, file: &mut InterfaceFile) {
    let interface = &mut file.interface;
    interface.key_style = args.key_style.unwrap_or(interface.key_style);
    interface.fillers = args.fillers.unwrap_or(interface.fillers);
    interface.redefines = args.redefines.unwrap_or(interface.redefines);
    let origin = &mut interface.origin;
    let members = [
        (&mut origin.number, &args.record_number),
        (&mut origin.parent, &args.parent_number),
        (&mut origin.file, &args.source_file),
    ];
    for (member, name) in members {
        if name.is_some() {
            member.clone_from(name);
        }
    }
    file.skip_bytes.first = args.skip_bytes_first.unwrap_or(file.skip_bytes.first);
    file.skip_bytes.last = args.skip_bytes_last.unwrap_or(file.skip_bytes.last);
}

fn header(args: &ConvertArgs) -> Header {
    match args.unknown {
        _ if args.no_header => Header::Absent,
        Some(UnknownArg::Ignore) => Header::Open,
        _ => Header::Present,
    }
}

fn empty_cell(args: &ConvertArgs) -> EmptyCell {
    let is_null = [args.blank, args.low_values].contains(&Some(BadValue::Null)) || args.null.is_some();
    if is_null { EmptyCell::Null } else { EmptyCell::default() }
}

fn xml(args: &ConvertArgs) -> XmlStyle {
    let mut style = XmlStyle { ignore_unknown: args.unknown == Some(UnknownArg::Ignore), ..XmlStyle::default() };
    if let Some(root) = &args.xml_root {
        style.root = Some(root.clone());
    }
    if let Some(record) = &args.xml_record {
        style.record.clone_from(record);
    }
    style
}

fn policies(args: &ConvertArgs) -> Policies {
    Policies {
        invalid: args.invalid.unwrap_or_default(),
        blank: args.blank.unwrap_or_default(),
        low_values: args.low_values.unwrap_or_default(),
        trim: args.trim.unwrap_or_default(),
        absent: args.absent.unwrap_or_default(),
        null: args.null,
        short: args.short,
        long: args.long.unwrap_or_default(),
        preserve: if args.preserve { Preserve::Yes } else { Preserve::No },
    }
}

fn numbers(numbers: Option<NumbersArg>) -> JsonNumbers {
    match numbers {
        None => JsonNumbers::default(),
        Some(NumbersArg::Exact) => JsonNumbers::Exact,
        Some(NumbersArg::Safe) => JsonNumbers::SafeStrings,
        Some(NumbersArg::String) => JsonNumbers::Strings,
    }
}
