//! Destinations of the documents of a map's targets.

use std::fs::File;
use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use quayline_convert::{Compression, Destination, Output, Target};
use quayline_edi::{EdiWriterOptions, OutboundOptions};
use quayline_project::csv::CsvStyle;
use quayline_project::xml::XmlStyle;
use quayline_project::{Form, JsonNumbers, JsonWrite, MapFile, ParquetWrite, TargetFormat};

use crate::args::{LimitArg, NumbersArg, ToFormat, TranslateArgs, format_named};
use crate::console::shown;
use crate::convert::{check_compression, extension_of, no_folder, output_check, target_format};
use crate::exit::{Stop, argument};
use crate::input::uncompressed_name;
use crate::named::{charset_named, edi_charset_named};
use crate::store::{Ends, record_file, record_file_framing};

/// Options of the arguments for each target.
pub(super) struct Wanted {
    targets: Vec<WantedTarget>,
    numbers: JsonNumbers,
    charset: Option<quayline_charset::Charset>,
    check: Option<OutboundOptions>,
}

struct WantedTarget {
    name: String,
    form: Form,
    /// Default format of its documents.
    native: TargetFormat,
    output: Option<PathBuf>,
    split: Option<PathBuf>,
    to: Option<ToFormat>,
}

impl Wanted {
    pub(super) fn read(args: &TranslateArgs, map: &MapFile) -> Result<Wanted, Stop> {
        let names: Vec<&str> = map.targets.iter().map(|target| target.name.as_str()).collect();
        let outputs = by_target(&args.output, &names, "--output")?;
        let splits = by_target(&args.split, &names, "--split")?;
        let formats = by_target(&args.to, &names, "--to")?;
        let mut targets = Vec::new();
        for (((target, output), split), to) in map.targets.iter().zip(outputs).zip(splits).zip(formats) {
            if output.is_some() && split.is_some() {
                return Err(argument("--output and --split contradict each other for one target")
                    .hint("leave one of them out")
                    .into());
            }
            if let Some(folder) = split.as_deref().map(Path::new).filter(|folder| !folder.is_dir()) {
                return Err(no_folder(folder).into());
            }
            let to = match &to {
                None => None,
                Some(word) => Some(format_named(word).ok_or_else(|| {
                    argument(format!("there is no format `{word}`"))
                        .hint("there are jsonl, json, csv, xml, parquet, arrow and arrow-stream")
                })?),
            };
            targets.push(WantedTarget {
                name: target.name.clone(),
                form: target.shape.form().clone(),
                native: target.shape.target()?,
                output: output.filter(|path| path != "-").map(PathBuf::from),
                split: split.map(PathBuf::from),
                to,
            });
        }
        let numbers = match args.numbers {
            None | Some(NumbersArg::Exact) => JsonNumbers::Exact,
            Some(NumbersArg::Safe) => JsonNumbers::SafeStrings,
            Some(NumbersArg::String) => JsonNumbers::Strings,
        };
        let is_edi = targets.iter().any(|target| matches!(target.native, TargetFormat::Edi(_)));
        let named = if is_edi { edi_charset_named } else { charset_named };
        let charset = args.to_encoding.as_deref().map(named).transpose()?;
        let check = output_check(args.output_level, args.strict, LimitArg::limits(&args.limit));
        let wanted = Wanted { targets, numbers, charset, check };
        wanted.check_streams()?;
        Ok(wanted)
    }

    /// Checks that at most one target goes to standard output.
    fn check_streams(&self) -> Result<(), Stop> {
        let streams: Vec<&str> = self
            .targets
            .iter()
            .filter(|target| target.output.is_none() && target.split.is_none())
            .map(|target| target.name.as_str())
            .collect();
        if streams.len() > 1 {
            let finding = argument(format!(
                "the map has several targets, and {} would all go to standard output",
                streams.join(", ")
            ));
            return Err(finding
                .hint(format!("name a file for each: --output {}=FILE", streams[streams.len() - 1]))
                .into());
        }
        Ok(())
    }
}

/// Parses arguments `[TARGET=]VALUE` by target.
fn by_target(given: &[String], names: &[&str], argument_name: &str) -> Result<Vec<Option<String>>, Stop> {
    let mut values: Vec<Option<String>> = vec![None; names.len()];
    for text in given {
        let named = text
            .split_once('=')
            .and_then(|(name, value)| names.iter().position(|known| *known == name).map(|number| (number, value)));
        if let (None, Some((name, _))) = (named, text.split_once('='))
            && !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        {
            let finding = argument(format!("the map has no target `{name}`"));
            let hint = format!("it has {}; a file of that name is written as ./{text}", names.join(", "));
            return Err(finding.hint(hint).into());
        }
        let (number, value) = named.unwrap_or((0, text.as_str()));
        if let Some(slot) = values.get_mut(number)
            && slot.replace(value.to_owned()).is_some()
        {
            let finding = argument(format!("{argument_name} is given twice for the target `{}`", names[number]));
            let hint = match names {
                [_] => "leave one of the two out".to_owned(),
                _ if named.is_some() => "leave one of the two out, or name another target in it".to_owned(),
                [.., last] => format!("write the target's name in front: {argument_name} {last}={value}"),
                [] => String::new(),
            };
            return Err(finding.hint(hint).into());
        }
    }
    Ok(values)
}

/// Destinations of the documents of one input.
pub(super) struct Outputs {
    places: Vec<Place>,
}

struct Place {
    to: ToFormat,
    file: Option<PathBuf>,
    /// Compression by the name of the file.
    compression: Option<Compression>,
}

impl Place {
    /// Returns the folder of a target's documents and the extension of their names, if each goes to a file.
    fn folder<'w>(&self, target: &'w WantedTarget) -> Option<(&'w Path, &'static str)> {
        let extension = extension_of(if self.to == ToFormat::Jsonl { ToFormat::Json } else { self.to });
        target.split.as_deref().map(|folder| (folder, extension))
    }
}

impl Outputs {
    pub(super) fn of(input: &Path, wanted: &Wanted, several: bool) -> Result<Outputs, Stop> {
        let mut places = Vec::new();
        for target in &wanted.targets {
            let folder = target.output.as_deref().filter(|path| several || path.is_dir());
            if let Some(path) = folder.filter(|path| !path.is_dir()) {
                let finding = argument(format!("several inputs need a folder, and {} is not a folder", shown(path)));
                return Err(finding.hint("make the folder and name it with -o").into());
            }
            if several && target.split.is_some() {
                let finding = argument("--split is for one input: its files are named by the numbers of the documents");
                return Err(finding.hint("translate inputs one at a time, each to a folder of its own").into());
            }
            let to = format_of(target, folder.is_none().then_some(target.output.as_deref()).flatten())?;
            let file = match folder {
                Some(folder) => {
                    let stem = input.file_stem().filter(|_| input != Path::new("-")).ok_or_else(|| {
                        argument("standard input has no name for its output").hint("name a file with -o, not a folder")
                    })?;
                    let mut name = stem.to_owned();
                    if wanted.targets.len() > 1 {
                        name.push(format!(".{}", target.name));
                    }
                    name.push(".");
                    name.push(extension_of(to));
                    Some(folder.join(name))
                }
                None => target.output.clone(),
            };
            if file.as_deref().is_some_and(|file| file == input) {
                let finding = argument(format!("{} is both read and written", shown(input)));
                return Err(finding.hint("name another file or folder").into());
            }
            let binary = matches!(to, ToFormat::Parquet | ToFormat::Arrow | ToFormat::ArrowStream | ToFormat::Record);
            if file.is_none() && target.split.is_none() && binary && std::io::stdout().is_terminal() {
                let finding = argument("this format is bytes that no terminal can show");
                return Err(finding.hint("name a file with -o, or send standard output elsewhere").into());
            }
            let compression = file.as_deref().and_then(Compression::of_name);
            check_compression(to, compression)?;
            places.push(Place { to, file, compression });
        }
        Ok(Outputs { places })
    }

    /// Returns true if every target goes to a regular file.
    pub(super) fn are_files(&self) -> bool {
        self.places.iter().all(|place| {
            place.file.as_deref().is_some_and(|file| record_file(file).is_none() && Destination::is_file(file))
        })
    }

    /// Returns true if output in all formats can be resumed.
    pub(super) fn can_resume(&self) -> bool {
        !self.places.iter().any(|place| {
            place.compression.is_some()
                || matches!(place.to, ToFormat::Parquet | ToFormat::Arrow | ToFormat::ArrowStream)
        })
    }

    /// Returns true if documents of an XML schema go to one file.
    pub(super) fn has_bare_xml(&self, wanted: &Wanted) -> bool {
        self.places.iter().zip(&wanted.targets).any(|(place, target)| {
            place.to == ToFormat::Xml && target.split.is_none() && xml_of(&target.form).root.is_none()
        })
    }

    /// Returns the formats to write, one for each target.
    pub(super) fn formats(&self) -> impl Iterator<Item = ToFormat> {
        self.places.iter().map(|place| place.to)
    }

    /// Files that documents go to.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().filter_map(|place| place.file.as_deref())
    }

    /// Returns the folders of documents, with the extension of their names.
    pub(super) fn folders<'w>(&self, wanted: &'w Wanted) -> impl Iterator<Item = (&'w Path, &'static str)> {
        self.places.iter().zip(&wanted.targets).filter_map(|(place, target)| place.folder(target))
    }

    pub(super) fn first_file(&self) -> Option<&Path> {
        self.places.iter().find_map(|place| place.file.as_deref())
    }

    /// Returns the folder of the first file, so that spooled data is on the disk that is written anyway.
    pub(super) fn spool_folder(&self) -> PathBuf {
        let beside = self.first_file().filter(|file| Destination::is_file(file)).and_then(Path::parent);
        match beside {
            Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
            Some(folder) => folder.to_owned(),
            None => std::env::temp_dir(),
        }
    }

    pub(super) fn targets(&self, wanted: &Wanted, ends: &Ends<'_>) -> Result<Vec<Target>, Stop> {
        let target = |(place, target): (&Place, &WantedTarget)| {
            let format = written(place.to, target, wanted);
            if let Some((folder, extension)) = place.folder(target) {
                let format = match format {
                    TargetFormat::JsonArray(write) => TargetFormat::JsonLines(write),
                    format => format,
                };
                return Ok(Target { output: Output::Folder { path: folder.to_owned(), extension }, format });
            }
            if let Some(name) = place.file.as_deref().and_then(record_file) {
                if place.to != ToFormat::Record {
                    let finding = argument(format!(
                        "the target `{}` is not records, and a record file holds records",
                        target.name
                    ));
                    return Err(finding.hint("name a file for it").into());
                }
                let format = TargetFormat::Records(record_file_framing());
                return Ok(Target { output: Output::Stream(ends.writer(name)?), format });
            }
            let output = match &place.file {
                Some(path) => Output::File(path.clone()),
                None => Output::Stream(Box::new(File::from(
                    std::io::stdout().as_fd().try_clone_to_owned().map_err(Stop::from)?,
                ))),
            };
            let output = match place.compression {
                Some(compression) => Output::Compressed(Box::new(output), compression),
                None => output,
            };
            Ok(Target { output, format })
        };
        self.places.iter().zip(&wanted.targets).map(target).collect()
    }
}

/// Returns the format of a target: that of --to, otherwise its own, unless the file's name decides between alternatives.
fn format_of(target: &WantedTarget, file: Option<&Path>) -> Result<ToFormat, Stop> {
    let native = match &target.native {
        TargetFormat::JsonLines(_) => ToFormat::Jsonl,
        TargetFormat::JsonArray(_) => ToFormat::Json,
        TargetFormat::Csv(_) => ToFormat::Csv,
        TargetFormat::Xml(_) => ToFormat::Xml,
        TargetFormat::Records(_) => ToFormat::Record,
        TargetFormat::Parquet(_) => ToFormat::Parquet,
        TargetFormat::ArrowFile => ToFormat::Arrow,
        TargetFormat::Edi(_) => ToFormat::Edi,
        _ => ToFormat::ArrowStream,
    };
    let fixed = matches!(native, ToFormat::Record | ToFormat::Edi);
    match target.to {
        Some(to) if fixed == matches!(to, ToFormat::Record | ToFormat::Edi) && (!fixed || to == native) => Ok(to),
        Some(_) => {
            let finding = argument(format!("the target `{}` has another format than --to", target.name));
            Err(finding
                .hint("records and EDI follow from the copybook or guide of the target; others have none")
                .into())
        }
        None if fixed => Ok(native),
        None => {
            let name = file.map(|file| uncompressed_name(file, Compression::of_name(file)));
            let named =
                name.as_deref().and_then(target_format).filter(|to| !matches!(to, ToFormat::Record | ToFormat::Edi));
            // A name that ends in .json may contain lines or an array: the shape decides.
            Ok(match (native, named) {
                (ToFormat::Jsonl, Some(ToFormat::Json)) => ToFormat::Jsonl,
                (native, named) => named.unwrap_or(native),
            })
        }
    }
}

fn written(to: ToFormat, target: &WantedTarget, wanted: &Wanted) -> TargetFormat {
    let json = JsonWrite { numbers: wanted.numbers };
    match to {
        ToFormat::Jsonl => TargetFormat::JsonLines(json),
        ToFormat::Json => TargetFormat::JsonArray(json),
        ToFormat::Csv => match &target.native {
            TargetFormat::Csv(style) => TargetFormat::Csv(*style),
            _ => TargetFormat::Csv(CsvStyle::default()),
        },
        ToFormat::Xml => TargetFormat::Xml(xml_of(&target.form)),
        ToFormat::Parquet => TargetFormat::Parquet(ParquetWrite::default()),
        ToFormat::Arrow => TargetFormat::ArrowFile,
        ToFormat::ArrowStream => TargetFormat::ArrowStream,
        ToFormat::Record => target.native.clone(),
        ToFormat::Edi => match &target.native {
            TargetFormat::Edi(options) => TargetFormat::Edi(EdiWriterOptions {
                charset: wanted.charset,
                check: wanted.check.clone(),
                ..options.clone()
            }),
            other => other.clone(),
        },
    }
}

/// Returns the layout of XML for a shape.
pub(super) fn xml_of(form: &Form) -> XmlStyle {
    match form {
        Form::Xml(style) => style.clone(),
        _ => XmlStyle::default(),
    }
}
