//! JSON Schema, drafts 4 to 2020-12: the keywords that determine the structure of documents.

mod limits;
mod read;
mod tree;
mod types;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_core::{
    Definition, DistinctFindings, Finding, Findings, NodeLimits, Occurs, Scalar, Shape, ShapeBuilder, SourceLimits,
};

use crate::Schema;
use crate::shape::codes;
use crate::shape::reference::Reference;
use crate::shape::shape_file::{Form, ShapeFile, ShapeOptions};
use crate::shape::source_file::SourceFile;
use read::{Documents, Kind, Model, Reader};

/// Nodes of a shape; a schema that refers to itself in many ways multiplies.
const NODES_MAX: usize = 100_000;

pub(crate) fn load(reference: &Reference, _: &ShapeOptions) -> Result<ShapeFile, Findings> {
    let file = SourceFile::read(&reference.path)?;
    let documents = Documents::new(&reference.path, file.clone())?;
    let mut reader = Reader::new(&documents);
    let root = reader.root(reference.part.as_deref());
    if let Some(root) = &root {
        reader.check_required(root);
        if let Kind::Array { min, max, .. } = root.kind {
            reader.check_root(root.at, min, max);
        }
    }
    let mut findings = reader.findings();
    let Some(root) = root else { return Err(Findings(findings)) };
    let title = reference.part.clone().unwrap_or_else(|| reference.stem());
    let (array, model) = match root.kind {
        Kind::Array { items, .. } => (true, *items),
        _ => (false, root),
    };
    let Kind::Object(members) = model.kind else {
        let finding = file.error(codes::NOT_HELD, model.at, "documents are not objects");
        return Err(finding.hint("a document is an object with members; give the schema properties").into());
    };
    let mut builder = Builder {
        file: &file,
        shape: Shape::builder(title),
        limits: vec![NodeLimits::default()],
        nodes: 0,
        findings: Vec::new(),
    };
    builder.members(members, model.unlimited);
    let limits = SourceLimits::new(Definition::JsonSchema, builder.limits);
    findings.extend(builder.findings);
    Ok(ShapeFile {
        path: reference.path.clone(),
        form: Form::Json { array },
        schema: Arc::new(Schema::of_shape(builder.shape.finish()).with_source_limits(limits)),
        findings,
        files: documents.files(),
    })
}

/// Reads each definition of a schema that has nothing else, and returns what is found; `None` for other schemas.
///
/// # Errors
/// The schema or one that it refers to cannot be read.
pub(crate) fn definitions(path: &Path) -> Result<Option<Vec<Finding>>, Findings> {
    let documents = Documents::new(path, SourceFile::read(path)?)?;
    let Some(names) = Reader::new(&documents).definitions() else { return Ok(None) };
    let mut findings = DistinctFindings::default();
    let mut parts = 0;
    for name in names.iter().filter(|name| !name.starts_with('/')) {
        let mut reader = Reader::new(&documents);
        if let Some(model) = reader.root(Some(name)) {
            reader.check_required(&model);
        }
        parts += reader.parts();
        // A check of a schema has an end, even if each definition refers to all others.
        if parts > PARTS_MAX {
            break;
        }
        reader.findings().into_iter().for_each(|finding| findings.push(finding));
    }
    Ok(Some(findings.into_vec()))
}

/// Parts of all definitions of a schema that a check reads.
const PARTS_MAX: usize = 5_000_000;

struct Builder<'f> {
    file: &'f SourceFile,
    shape: ShapeBuilder,
    /// Limits of each node so far.
    limits: Vec<NodeLimits>,
    nodes: usize,
    findings: Vec<Finding>,
}

impl Builder<'_> {
    /// Adds members. `unlimited` is true if no limits apply to them.
    fn members(&mut self, members: Vec<read::Member>, unlimited: bool) {
        for mut member in members {
            member.model.unlimited |= unlimited;
            let occurs = if member.required && !member.model.nullable { Occurs::Once } else { Occurs::Optional };
            let required = member.required && !unlimited;
            let limits = NodeLimits { required, nullable: member.model.nullable, ..NodeLimits::default() };
            self.node(member.name, member.model, occurs, limits);
        }
    }

    fn node(&mut self, name: String, model: Model, occurs: Occurs, limits: NodeLimits) {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            if self.nodes == NODES_MAX + 1 {
                let message = format!("the schema has more than {NODES_MAX} members");
                self.findings.push(
                    self.file
                        .error(codes::NOT_HELD, model.at, message)
                        .hint("name the definition that you need: \"x.json#Name\""),
                );
            }
            return;
        }
        match model.kind {
            Kind::Object(members) => {
                self.limits.push(limits);
                self.shape.open(name, occurs);
                self.members(members, model.unlimited);
                self.shape.close();
            }
            Kind::Scalar(scalar, value) => {
                let value = value.boxed().filter(|_| !model.unlimited);
                self.limits.push(NodeLimits { value, ..limits });
                self.shape.scalar(name, scalar, occurs);
            }
            Kind::Array { mut items, min, max } => {
                if matches!(occurs, Occurs::Many { .. }) {
                    let finding = self.file.error(codes::NOT_HELD, model.at, format!("`{name}` is a list of lists"));
                    self.findings
                        .push(finding.hint("a list holds values or objects; put the inner list into an object"));
                    return;
                }
                let no_null_items = !items.nullable;
                let limits = match model.unlimited {
                    true => limits,
                    false => NodeLimits { min, max, no_null_items, ..limits },
                };
                items.unlimited |= model.unlimited;
                // An absent list and an empty one are told apart by whoever reads; a mandatory one has at least its own minimum.
                let min = if occurs == Occurs::Once { min } else { 0 };
                self.node(name, *items, Occurs::Many { min, max }, limits);
            }
        }
    }
}

/// Returns the path of a file that `from` refers to.
pub(crate) fn beside(from: &Path, name: &str) -> PathBuf {
    from.parent().unwrap_or_else(|| Path::new("")).join(name)
}

/// Text without a maximum length.
pub(crate) const TEXT: Scalar = Scalar::Text { chars_max: None };
