//! EDI guides.

use std::path::PathBuf;
use std::sync::Arc;

use quayline_core::Findings;

use crate::Schema;
use crate::guides::read_guide_documents_and_files;
use crate::shape::reference::Reference;
use crate::shape::shape_file::{Form, ShapeFile, ShapeOptions};

pub(crate) fn load(reference: &Reference, options: &ShapeOptions) -> Result<ShapeFile, Findings> {
    let paths = std::slice::from_ref(&reference.path);
    let cache = options.cache.as_deref();
    let (documents, read) = read_guide_documents_and_files(paths, &options.limits, options.names, cache)?;
    let documents = Arc::new(documents);
    Ok(ShapeFile {
        path: reference.path.clone(),
        schema: Arc::new(Schema::edi_by_guide(&documents)),
        form: Form::Guide(documents),
        findings: Vec::new(),
        files: files(&reference.path, read),
    })
}

/// Lists the files that were read from anywhere, and all guides in the folder of this one, which it may include after a change.
fn files(path: &std::path::Path, read: Vec<PathBuf>) -> Vec<PathBuf> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|file| file.extension().is_some_and(|extension| extension == "guide")).collect();
    files.extend(read.into_iter().filter(|file| file.exists()));
    files.sort();
    files.dedup();
    files
}
