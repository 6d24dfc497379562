//! A shape from a file, with how its documents are read and written.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_cache::Cache;
use quayline_charset::Charset;
use quayline_cobol::Policies;
use quayline_core::{Fault, Finding, Findings, Limits, NodeId, NodeKind, Occurs, Place, Severity, Shape};
use quayline_edi::guide::BUILT_IN;
use quayline_edi::{EdiWriterOptions, OutboundOptions};
use quayline_edi::{GuideDocuments, NodeNames};
use quayline_flat::CsvStyle;
use quayline_frame::FramingSpec;
use quayline_map::{Absent, SourceOrder};
use quayline_xml::XmlStyle;

use crate::shape::reference::Reference;
use crate::shape::{codes, guide, json_schema, layout, outline, records, xsd};
use crate::{ColumnsRead, EdiRead, JsonRead, JsonWrite, ParquetWrite, Schema, SourceFormat, TargetFormat};

/// Options of a run for properties that a shape's file does not specify.
#[derive(Clone, Debug, Default)]
pub struct ShapeOptions {
    /// Code page of records whose description names none.
    pub encoding: Option<Charset>,
    /// Framing of the records, in the syntax of `quayline convert --framing`, if their description has none.
    pub framing: Option<String>,
    /// Policies for reading and writing the values of records.
    pub policies: Policies,
    /// Naming of the members of guides.
    pub names: NodeNames,
    /// Limits for reading input.
    pub limits: Limits,
    /// Cache of compiled guides and maps.
    pub cache: Option<Arc<Cache>>,
}

/// Form of the documents that a shape file describes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Form {
    /// Transactions by guide.
    Guide(Arc<GuideDocuments>),
    /// Records. Without a code page they can be mapped on paper, but neither read nor written.
    Records {
        /// Framing of the records.
        framing: FramingSpec,
        /// The code page, if it is known.
        encoding: Option<Charset>,
    },
    /// JSON documents.
    Json {
        /// True if the schema describes an array of documents.
        array: bool,
    },
    /// XML documents.
    Xml(XmlStyle),
    /// Rows of CSV.
    Csv(CsvStyle),
    /// Rows of a Parquet file.
    Parquet,
    /// Rows of an Arrow file.
    Arrow,
    /// Documents without their own format: JSON by default.
    Outline,
}

/// A shape from a file.
#[derive(Clone, Debug)]
pub struct ShapeFile {
    pub(crate) path: PathBuf,
    pub(crate) form: Form,
    pub(crate) schema: Arc<Schema>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) files: Vec<PathBuf>,
}

impl ShapeFile {
    /// Reads the file that `reference` names relative to `folder`, which is usually the folder of a map.
    ///
    /// # Errors
    /// Every error in the file. [`ShapeFile::findings`] has the warnings.
    pub fn load(folder: &Path, reference: &str, options: &ShapeOptions) -> Result<ShapeFile, Findings> {
        let is_built_in = reference.starts_with(BUILT_IN);
        let reference = if is_built_in {
            Reference { path: PathBuf::from(reference), part: None }
        } else {
            Reference::new(folder, reference)
        };
        let loaded = match reference.extension().as_str() {
            _ if is_built_in => guide::load(&reference, options),
            "guide" => guide::load(&reference, options),
            "" if reference.path.is_dir() => guide::load(&reference, options),
            "cpy" | "cbl" | "cob" | "copy" => records::load_copybook(&reference, options),
            "toml" => layout::load(&reference, options),
            "json" => json_schema::load(&reference, options),
            "xsd" => xsd::load(&reference, options),
            "shape" | "outline" => outline::load(&reference, options),
            _ => Err(unknown(&reference).into()),
        }?;
        let (errors, _): (Vec<Finding>, Vec<Finding>) =
            loaded.findings.iter().cloned().partition(|finding| finding.severity == Severity::Error);
        if errors.is_empty() { Ok(loaded) } else { Err(Findings(loaded.findings)) }
    }

    /// Creates a shape without a file.
    #[must_use]
    pub fn of_shape(shape: Shape, form: Form) -> ShapeFile {
        let schema = Arc::new(Schema::of_shape(shape));
        ShapeFile { path: PathBuf::new(), form, schema, findings: Vec::new(), files: Vec::new() }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.schema.shape()
    }

    /// Returns the shape as maps write it: values that a writer of interchanges computes need not be set. Node ids are unchanged.
    #[must_use]
    pub fn target_shape(&self) -> Cow<'_, Shape> {
        match &self.form {
            Form::Guide(_) => Cow::Owned(relaxed(self.shape(), &["standard", "interchange"])),
            _ => Cow::Borrowed(self.shape()),
        }
    }

    /// Returns the shape with its record plans.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the form of the documents.
    #[must_use]
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Warnings and notes.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the files that the shape depends on, to detect changes.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the order in which a source of this shape sends the children of a group.
    #[must_use]
    pub fn order(&self) -> SourceOrder {
        match &self.form {
            Form::Guide(_) | Form::Records { .. } | Form::Csv(_) => SourceOrder::AsShape,
            Form::Json { .. } | Form::Xml(_) | Form::Parquet | Form::Arrow | Form::Outline => SourceOrder::Any,
        }
    }

    /// Returns the treatment of mandatory fields without a value in a target.
    #[must_use]
    pub fn absent(&self) -> Absent {
        match &self.form {
            Form::Records { .. } => Absent::Filled,
            _ => Absent::Refused,
        }
    }

    /// Returns the format for reading such documents.
    ///
    /// # Errors
    /// The file does not specify everything that reading needs.
    pub fn source(&self) -> Result<SourceFormat, Findings> {
        Ok(match &self.form {
            Form::Guide(documents) => {
                SourceFormat::Edi(EdiRead { guides: Some(Arc::clone(documents)), ..EdiRead::default() })
            }
            Form::Records { encoding: None, .. } => return Err(self.no_code_page().into()),
            Form::Records { framing, .. } => SourceFormat::Records(*framing),
            Form::Json { .. } | Form::Outline => SourceFormat::Json(JsonRead::default()),
            Form::Xml(style) => SourceFormat::Xml(style.clone()),
            Form::Csv(style) => SourceFormat::Csv(*style),
            Form::Parquet | Form::Arrow => SourceFormat::Columns(ColumnsRead::default()),
        })
    }

    /// Returns the format for writing such documents.
    ///
    /// # Errors
    /// The file does not specify everything that writing needs.
    pub fn target(&self) -> Result<TargetFormat, Findings> {
        Ok(match &self.form {
            Form::Guide(documents) => TargetFormat::Edi(EdiWriterOptions {
                guides: Some(Arc::clone(documents)),
                check: Some(OutboundOptions::default()),
                ..EdiWriterOptions::default()
            }),
            Form::Records { encoding: None, .. } => return Err(self.no_code_page().into()),
            Form::Records { framing, .. } => TargetFormat::Records(*framing),
            Form::Json { array: true } => TargetFormat::JsonArray(JsonWrite::default()),
            Form::Json { array: false } | Form::Outline => TargetFormat::JsonLines(JsonWrite::default()),
            Form::Xml(style) => TargetFormat::Xml(style.clone()),
            Form::Csv(style) => TargetFormat::Csv(*style),
            Form::Parquet => TargetFormat::Parquet(ParquetWrite::default()),
            Form::Arrow => TargetFormat::ArrowFile,
        })
    }

    pub(crate) fn place(&self) -> Place {
        Place { file: Some(self.path.display().to_string().into()), ..Place::default() }
    }

    fn no_code_page(&self) -> Finding {
        let message = "the code page of the records is not named, and it is never guessed";
        Finding::error(codes::NO_CODE_PAGE, Fault::Config, message)
            .at(self.place())
            .hint("name it with --from-encoding or --to-encoding, or in a layout file: encoding = \"cp037\"")
    }
}

/// Returns a copy of a shape in which some nodes below the root are optional.
fn relaxed(shape: &Shape, names: &[&str]) -> Shape {
    let mut builder = Shape::builder(shape.node(NodeId::ROOT).name.clone());
    let mut open = vec![shape.node(NodeId::ROOT).subtree_end];
    for (id, node) in shape.iter().skip(1) {
        while open.last().is_some_and(|end| *end <= id) {
            builder.close();
            open.pop();
        }
        let relaxed = node.parent == Some(NodeId::ROOT) && names.contains(&node.name.as_str());
        let occurs = if relaxed { Occurs::Optional } else { node.occurs };
        match &node.kind {
            NodeKind::Group => {
                builder.open(node.name.clone(), occurs);
                open.push(node.subtree_end);
            }
            NodeKind::Scalar(scalar) => {
                builder.scalar(node.name.clone(), scalar.clone(), occurs);
            }
        }
    }
    builder.finish()
}

fn unknown(reference: &Reference) -> Finding {
    let place = Place { file: Some(reference.path.display().to_string().into()), ..Place::default() };
    let finding = Finding::error(codes::UNKNOWN_FORM, Fault::Config, "the name does not say what describes the shape");
    finding
        .at(place)
        .hint("it ends in .guide, .cpy, .toml (a layout), .json (JSON Schema), .xsd or .shape (an outline), or is a built-in guide: builtin:NAME")
}
