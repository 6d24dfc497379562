//! A shape from a file, with how its documents are read and written.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_cache::Cache;
use quayline_charset::Charset;
use quayline_cobol::Policies;
use quayline_core::{Fault, Finding, Findings, Limits, NodeId, NodeKind, Occurs, Place, Severity, Shape};
use quayline_edi::guide::{GuideDocuments, NodeNames};
use quayline_edi::{EdiWriterOptions, OutboundOptions};
use quayline_flat::CsvStyle;
use quayline_frame::FramingSpec;
use quayline_map::{Absent, SourceOrder};
use quayline_xml::XmlStyle;

use crate::shape::reference::Reference;
use crate::shape::{codes, guide, json_schema, layout, outline, records, xsd};
use crate::{ColumnsRead, EdiRead, JsonRead, JsonWrite, ParquetWrite, Schema, SourceFormat, TargetFormat};

/// What a run says of shapes whose files leave it open.
#[derive(Clone, Debug, Default)]
pub struct ShapeOptions {
    /// Code page of records whose description names none.
    pub encoding: Option<Charset>,
    /// How records stand in the file, as `quayline convert --framing` takes it, where their description does not say it.
    pub framing: Option<String>,
    /// How values of records are read and written.
    pub policies: Policies,
    /// How the members of guides are called.
    pub names: NodeNames,
    /// Bounds of what is read.
    pub limits: Limits,
    /// Where compiled guides and maps are kept from one run to the next.
    pub cache: Option<Arc<Cache>>,
}

/// What a shape file describes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Form {
    /// Transactions by guide.
    Guide(Arc<GuideDocuments>),
    /// Records. Without a code page they can be mapped on paper, but neither read nor written.
    Records {
        /// How they stand in a file.
        framing: FramingSpec,
        /// Whether the code page is known.
        encoding: Option<Charset>,
    },
    /// JSON documents.
    Json {
        /// Whether the schema describes an array of documents.
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
    /// Documents of no format of their own: JSON where nothing else is said.
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
    /// Reads the file that `reference` names as seen from `folder`, usually a map's.
    ///
    /// # Errors
    /// Everything that is wrong with it. What is merely odd is told by [`ShapeFile::findings`].
    pub fn load(folder: &Path, reference: &str, options: &ShapeOptions) -> Result<ShapeFile, Findings> {
        let reference = Reference::new(folder, reference);
        let loaded = match reference.extension().as_str() {
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

    /// A shape that stands in no file.
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

    /// The shape as maps write it: what a writer of interchanges knows by itself need not be set. Nodes are the same.
    #[must_use]
    pub fn target_shape(&self) -> Cow<'_, Shape> {
        match &self.form {
            Form::Guide(_) => Cow::Owned(relaxed(self.shape(), &["standard", "interchange"])),
            _ => Cow::Borrowed(self.shape()),
        }
    }

    /// The shape with the record plans behind it.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// What it describes.
    #[must_use]
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Warnings and notes.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The files that it was made of, to tell whether anything changed.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// In which order a source of it sends the children of a group.
    #[must_use]
    pub fn order(&self) -> SourceOrder {
        match &self.form {
            Form::Guide(_) | Form::Records { .. } | Form::Csv(_) => SourceOrder::AsShape,
            Form::Json { .. } | Form::Xml(_) | Form::Parquet | Form::Arrow | Form::Outline => SourceOrder::Any,
        }
    }

    /// What a target of it does with mandatory fields that get no value.
    #[must_use]
    pub fn absent(&self) -> Absent {
        match &self.form {
            Form::Records { .. } => Absent::Filled,
            _ => Absent::Refused,
        }
    }

    /// How documents of it are read.
    ///
    /// # Errors
    /// Where the file does not say all that is needed.
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

    /// How documents of it are written.
    ///
    /// # Errors
    /// Where the file does not say all that is needed.
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

/// A shape of which some nodes below the root are optional.
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
        .hint("it ends in .guide, .cpy, .toml (a layout), .json (JSON Schema), .xsd or .shape (an outline)")
}
