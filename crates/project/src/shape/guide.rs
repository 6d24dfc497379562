//! EDI guides.

use std::path::PathBuf;
use std::sync::Arc;

use quayline_core::Findings;

use crate::shape::reference::Reference;
use crate::shape::shape_file::{Form, ShapeFile, ShapeOptions};
use crate::{Schema, read_guide_documents};

pub(crate) fn load(reference: &Reference, options: &ShapeOptions) -> Result<ShapeFile, Findings> {
    let paths = std::slice::from_ref(&reference.path);
    let documents = Arc::new(read_guide_documents(paths, &options.limits, options.names, options.cache.as_deref())?);
    Ok(ShapeFile {
        path: reference.path.clone(),
        schema: Arc::new(Schema::edi_by_guide(&documents)),
        form: Form::Guide(documents),
        findings: Vec::new(),
        files: files(&reference.path),
    })
}

/// Lists the guide and all files in its folder, which it may include.
fn files(path: &std::path::Path) -> Vec<PathBuf> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|file| file.extension().is_some_and(|extension| extension == "guide")).collect();
    files.sort();
    files
}
