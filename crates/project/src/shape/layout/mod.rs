//! Layouts: descriptions of files of rows or records, in TOML. `docs/reference/layouts.md` describes every key.

mod columns;
mod families;
mod fixed;
mod wire;

use std::path::Path;
use std::sync::Arc;

use quayline_charset::Charset;
use quayline_cobol::layout::Dialect;
use quayline_core::{Finding, Findings, Named};
use quayline_flat::{CsvStyle, Header, LineEnd, Quotes};
use toml::Spanned;

use crate::shape::codes;
use crate::shape::records::{RecordSpec, read_copybook};
use crate::shape::reference::Reference;
use crate::shape::shape_file::{Form, ShapeFile, ShapeOptions};
use crate::shape::source_file::SourceFile;
use crate::{InterfaceFile, Schema};

/// Keys that name policies for the values of records, after the options of `quayline convert`.
const POLICIES: &[&str] = &["short", "long", "blank", "low-values", "invalid"];

/// The keys of a layout file, for the documentation's test.
pub const LAYOUT_KEYS: &[&str] = wire::KEYS;

pub(crate) fn load(reference: &Reference, options: &ShapeOptions) -> Result<ShapeFile, Findings> {
    let file = SourceFile::read(&reference.path)?;
    let layout: wire::Layout = toml::from_str(&file.text.text).map_err(|error| syntax(&file, &error))?;
    let loader = Loader { reference, options, file: &file };
    match layout.layout.get_ref() {
        wire::Kind::Csv => loader.csv(&layout),
        wire::Kind::Parquet => loader.table(&layout, Form::Parquet),
        wire::Kind::Arrow => loader.table(&layout, Form::Arrow),
        wire::Kind::Fixed => loader.fixed(&layout),
        wire::Kind::Record => loader.records(&layout),
    }
}

fn syntax(file: &SourceFile, error: &toml::de::Error) -> Finding {
    let at = error.span().unwrap_or(0..0);
    let message = quayline_core::plain_expectation(&error.message().trim().replace('\n', ", "));
    let finding = Finding::error(codes::LAYOUT, quayline_core::Fault::Config, message).at(file.text.place(&at));
    finding.hint("docs/reference/layouts.md has every key of a layout file")
}

pub(crate) struct Loader<'l> {
    pub(crate) reference: &'l Reference,
    pub(crate) options: &'l ShapeOptions,
    pub(crate) file: &'l SourceFile,
}

impl Loader<'_> {
    pub(crate) fn wrong(&self, at: &core::ops::Range<usize>, message: impl Into<String>, hint: &str) -> Finding {
        let finding = Finding::error(codes::LAYOUT, quayline_core::Fault::Config, message.into());
        finding.at(self.file.text.place(at)).hint(hint)
    }

    fn csv(&self, layout: &wire::Layout) -> Result<ShapeFile, Findings> {
        let mut style = CsvStyle::default();
        if let Some(delimiter) = &layout.delimiter {
            style.delimiter = match delimiter.get_ref().as_bytes() {
                b"tab" | b"\t" => b'\t',
                [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(byte) => *byte,
                _ => {
                    let hint =
                        "it is one character that is not a letter, digit, quote or line end, or the word \"tab\"";
                    return Err(self.wrong(&delimiter.span(), "no separator of cells", hint).into());
                }
            };
        }
        if layout.header == Some(false) {
            style.header = Header::Absent;
        }
        if layout.line_end == Some(wire::LineEndName::Crlf) {
            style.line_end = LineEnd::CrLf;
        }
        if layout.quotes == Some(wire::QuotesName::Text) {
            style.quotes = Quotes::Text;
        }
        self.unused(layout, &["copybook", "record-name", "interface", "framing", "dialect"])?;
        self.unused(layout, POLICIES)?;
        let name = layout.name.clone().unwrap_or_else(|| self.reference.stem());
        let schema = match (&layout.group_by, layout.record.is_empty()) {
            (None, true) => {
                self.unused(layout, &["key", "key-order"])?;
                return self.of_columns(layout, Form::Csv(style));
            }
            (Some(keys), true) => {
                self.unused(layout, &["key"])?;
                families::keyed(self, &name, layout, keys)?
            }
            (_, false) => {
                self.unused(layout, &["group-by", "key-order"])?;
                style.header = Header::Absent;
                families::kinds(self, &name, layout)?
            }
        };
        Ok(self.of_schema(schema, Form::Csv(style)))
    }

    fn table(&self, layout: &wire::Layout, form: Form) -> Result<ShapeFile, Findings> {
        let foreign = ["delimiter", "header", "line-end", "quotes"];
        self.unused(layout, &foreign)?;
        self.unused(layout, &["copybook", "record-name", "interface", "framing", "dialect", "key", "record"])?;
        self.unused(layout, POLICIES)?;
        self.unused(layout, &["group-by", "key-order"])?;
        self.of_columns(layout, form)
    }

    fn of_columns(&self, layout: &wire::Layout, form: Form) -> Result<ShapeFile, Findings> {
        let name = layout.name.clone().unwrap_or_else(|| self.reference.stem());
        let (shape, moments) = columns::shape(self, &name, &layout.field)?;
        Ok(self.of_schema(Schema::of_shape(shape).with_moments(moments).with_required(), form))
    }

    fn of_schema(&self, schema: Schema, form: Form) -> ShapeFile {
        ShapeFile {
            path: self.reference.path.clone(),
            form,
            schema: Arc::new(schema),
            findings: Vec::new(),
            files: vec![self.reference.path.clone()],
        }
    }

    fn fixed(&self, layout: &wire::Layout) -> Result<ShapeFile, Findings> {
        self.unused(layout, &["group-by", "key-order"])?;
        self.unused(
            layout,
            &["copybook", "record-name", "interface", "dialect", "delimiter", "header", "line-end", "quotes"],
        )?;
        let written = fixed::as_copybook(self, layout)?;
        let encoding = self.encoding(layout)?;
        if let Some(wide @ (Charset::Utf8 | Charset::Utf16(_))) = encoding {
            let at = layout.encoding.as_ref().map_or_else(|| layout.layout.span(), toml::Spanned::span);
            let message = format!("a fixed layout counts bytes, and a character of {} may have several", wide.name());
            let hint =
                "name a code page with one byte for each character, such as iso8859-1; convert the file to it first";
            return Err(self.wrong(&at, message, hint).into());
        }
        let spec = RecordSpec {
            path: &self.reference.path,
            text: written.copybook.clone(),
            record: None,
            interface: InterfaceFile::parse(&self.file.text.name, &written.interface)?,
            dialect: Dialect::default(),
            encoding,
            framing: Some(
                layout
                    .framing
                    .clone()
                    .or_else(|| self.options.framing.clone())
                    .unwrap_or_else(|| "lines:strip-cr".to_owned()),
            ),
            names: Some(written.names.clone()),
        };
        let mut options = self.options_with_policies(layout)?;
        if spec.framing.as_deref().is_some_and(|framing| framing.starts_with("lines")) {
            // Editors remove blanks at the end of a line.
            options.policies.short = options.policies.short.or(Some(quayline_cobol::ShortRecord::Null));
        }
        let in_layout = |findings: Vec<Finding>| -> Vec<Finding> {
            findings.into_iter().map(|finding| written.in_layout(finding, self)).collect()
        };
        match spec.compile(&options, vec![self.reference.path.clone()]) {
            Ok(mut loaded) => {
                loaded.findings = in_layout(loaded.findings);
                Ok(loaded)
            }
            Err(Findings(findings)) => Err(Findings(in_layout(findings))),
        }
    }

    fn records(&self, layout: &wire::Layout) -> Result<ShapeFile, Findings> {
        self.unused(
            layout,
            &["delimiter", "header", "line-end", "quotes", "field", "key", "record", "group-by", "key-order"],
        )?;
        let Some(copybook) = &layout.copybook else {
            let hint = "name it relative to this file: copybook = \"orders.cpy\"";
            return Err(self.wrong(&layout.layout.span(), "a layout of records needs a copybook", hint).into());
        };
        let folder = self.reference.path.parent().unwrap_or(Path::new(""));
        let path = folder.join(copybook.get_ref());
        let text = read_copybook(&path)?;
        let mut files = vec![self.reference.path.clone(), path.clone()];
        let interface = match &layout.interface {
            Some(interface) => {
                let path = folder.join(interface.get_ref());
                let read = InterfaceFile::read(&path)?;
                files.push(path);
                read
            }
            None => InterfaceFile::default(),
        };
        if interface.records.is_some() {
            self.only_interface(layout)?;
        }
        let spec = RecordSpec {
            path: &path,
            text,
            record: self.reference.part.as_deref().or(layout.record_name.as_deref()),
            interface,
            dialect: self.dialect(layout)?,
            encoding: self.encoding(layout)?,
            framing: layout.framing.clone().or_else(|| self.options.framing.clone()),
            names: None,
        };
        let mut loaded = spec.compile(&self.options_with_policies(layout)?, files)?;
        loaded.path.clone_from(&self.reference.path);
        Ok(loaded)
    }

    /// Refuses the name of a record if the interface file says which records there are.
    fn only_interface(&self, layout: &wire::Layout) -> Result<(), Findings> {
        let named = match (&self.reference.part, &layout.record_name) {
            (Some(part), _) => format!("`#{part}` names a record"),
            (None, Some(name)) => format!("`record-name` names the record {name}"),
            (None, None) => return Ok(()),
        };
        let message = format!("{named}, and [records] of the interface file names all records");
        let at = layout.interface.as_ref().map_or_else(|| layout.layout.span(), Spanned::span);
        let hint = "leave out the name of the record, or name an interface file without [records]";
        Err(self.wrong(&at, message, hint).into())
    }

    /// Returns the options of the run with the policies that the layout names.
    fn options_with_policies(&self, layout: &wire::Layout) -> Result<ShapeOptions, Findings> {
        let mut options = self.options.clone();
        let policies = &mut options.policies;
        if let Some(short) = self.policy("short", layout.short.as_ref())? {
            policies.short = Some(short);
        }
        policies.long = self.policy("long", layout.long.as_ref())?.unwrap_or(policies.long);
        policies.blank = self.policy("blank", layout.blank.as_ref())?.unwrap_or(policies.blank);
        policies.low_values = self.policy("low-values", layout.low_values.as_ref())?.unwrap_or(policies.low_values);
        policies.invalid = self.policy("invalid", layout.invalid.as_ref())?.unwrap_or(policies.invalid);
        Ok(options)
    }

    fn policy<T: Named>(&self, key: &str, name: Option<&Spanned<String>>) -> Result<Option<T>, Findings> {
        let Some(name) = name else { return Ok(None) };
        let policy = T::by_name(name.get_ref());
        policy.map(Some).ok_or_else(|| {
            let message = format!("`{}` is not a policy of `{key}`", name.get_ref());
            self.wrong(&name.span(), message, &format!("choose one of {}", T::NAMES.join(", "))).into()
        })
    }

    fn dialect(&self, layout: &wire::Layout) -> Result<Dialect, Findings> {
        let Some(name) = &layout.dialect else { return Ok(Dialect::default()) };
        Dialect::preset(name.get_ref()).map_err(|error| {
            self.wrong(&name.span(), error.to_string(), "`quayline convert --help` names the dialects").into()
        })
    }

    fn encoding(&self, layout: &wire::Layout) -> Result<Option<Charset>, Findings> {
        let Some(name) = &layout.encoding else { return Ok(self.options.encoding) };
        match Charset::by_name(name.get_ref()) {
            Ok(charset) => Ok(Some(charset)),
            Err(unknown) => Err(self.wrong(&name.span(), unknown.to_string(), &unknown.hint()).into()),
        }
    }

    /// Refuses keys that belong to layouts of another kind, so that none is ignored.
    fn unused(&self, layout: &wire::Layout, keys: &[&str]) -> Result<(), Findings> {
        let kind = layout.layout.get_ref().name();
        for key in keys {
            if layout.has(key) {
                let message = format!("`{key}` says nothing of a layout of kind {kind}");
                return Err(self.wrong(&layout.layout.span(), message, "leave it out, or name another kind").into());
            }
        }
        Ok(())
    }
}

/// Returns the text of a spanned value with its place.
pub(crate) fn text(value: &Spanned<String>) -> (&str, core::ops::Range<usize>) {
    (value.get_ref().as_str(), value.span())
}
