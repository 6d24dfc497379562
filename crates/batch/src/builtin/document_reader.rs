//! `quayline.documentReader`: the documents of a file, as a map or a shape describes it, one item each.
//!
//! The checkpoint has 8 bytes for the length of the file, a fingerprint of what was read, and then the place ([`DocumentsPlace::to_bytes`]). A restart seeks to the block that
//! has the next document.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quayline_cache::{Lease, Pool};
use quayline_core::{Finding, Findings, Limits, Severity};
use quayline_pipeline::{Documents, DocumentsPlace, Next, Pipeline};
use quayline_project::{MapFile, ShapeFile, ShapeOptions};

use super::file_reader::{damaged, io, note, of_findings};
use super::fingerprint::{self, FINGERPRINT_BYTES};
use super::limits::limits;
use super::parquet_reader::shape_file;
use crate::artifact::{Answer, Injected, Item, ItemPlace, Lent, Reader};
use crate::context::StepContext;
use crate::error::{Kind, Thrown};
use crate::work::Work;

/// The file that describes documents, and the property `limit`.
type Key = (PathBuf, String);

/// Bit of the length of a file in a checkpoint: a fingerprint follows.
const HAS_FINGERPRINT: u64 = 1 << 63;

static SOURCES: Pool<Key, Pipeline> = Pool::new();

impl DocumentReader {
    pub(super) fn new(with: &Injected) -> Answer<DocumentReader> {
        let limits = limits(with)?;
        let (is_map, path) = match (with.property("map"), with.property("shape")) {
            (Some(_), None) => (true, with.path("map")?),
            (None, Some(_)) => (false, with.path("shape")?),
            _ => {
                let remedy = "name the map that the items go through, or a file that describes them, but not both";
                return Err(Thrown::property(&with.name, "map", "or `shape` must say what a document is", remedy));
            }
        };
        let key = (path.clone(), with.property("limit").unwrap_or_default().to_owned());
        let source = SOURCES.lease(key, || {
            let made = if is_map { of_map(&path, limits) } else { of_shape(shape_file(&path, &limits)?, limits) };
            made.map_err(|findings| of_findings(&findings))
        })?;
        Ok(DocumentReader {
            path: with.path("file")?,
            step: with.step.clone(),
            documents: None,
            length: 0,
            file: None,
            place: ItemPlace::default(),
            refused: None,
            is_again: false,
            source,
        })
    }
}

pub(super) struct DocumentReader {
    path: PathBuf,
    step: Option<Arc<StepContext>>,
    documents: Option<Documents<'static>>,
    length: u64,
    /// The file once more, for fingerprints.
    file: Option<File>,
    place: ItemPlace,
    /// Reason for refusing the last document, for a retry with the same bytes.
    refused: Option<Thrown>,
    is_again: bool,
    source: Lease<Key, Pipeline>,
}

impl DocumentReader {
    fn note(&self, finding: &Finding) {
        if let Some(step) = &self.step
            && finding.severity == Severity::Warning
        {
            note(step, &self.path, finding);
        }
    }
}

/// Opens the source of a map.
fn of_map(path: &Path, limits: Limits) -> Result<(Pipeline, Vec<PathBuf>), Findings> {
    let options = ShapeOptions { limits: limits.clone(), ..ShapeOptions::default() };
    let map = MapFile::open(path, &options, &options)?;
    let pipeline = Pipeline::of_source(map.source.source()?, Arc::clone(map.source.schema()), limits)?;
    Ok((pipeline, map.files))
}

/// Opens a shape as a source.
fn of_shape(shape: ShapeFile, limits: Limits) -> Result<(Pipeline, Vec<PathBuf>), Findings> {
    let pipeline = Pipeline::of_source(shape.source()?, Arc::clone(shape.schema()), limits)?;
    Ok((pipeline, shape.files().to_vec()))
}

impl Reader for DocumentReader {
    fn open(&mut self, checkpoint: Option<&[u8]>, _work: &mut dyn Work) -> Answer<()> {
        let file = File::open(&self.path).map_err(|error| io(&self.path, "opened", &error))?;
        self.length = file.metadata().map_err(|error| io(&self.path, "read", &error))?.len();
        let place = match checkpoint {
            None => DocumentsPlace::START,
            Some(bytes) => {
                let (length, place) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
                let length = u64::from_le_bytes(*length);
                // Checkpoints of earlier versions have no fingerprint.
                let print_bytes = if length & HAS_FINGERPRINT != 0 { FINGERPRINT_BYTES } else { 0 };
                let (print, place) = place.split_at_checked(print_bytes).ok_or_else(damaged)?;
                let length = length & !HAS_FINGERPRINT;
                if length != self.length {
                    let (path, now) = (self.path.display(), self.length);
                    let message = format!("{path} has {now} bytes, but had {length} at the checkpoint");
                    return Err(Thrown::of(&["quayline.Environment"], message)
                        .hint("restore the file that the job began with, or start a new instance of the job"));
                }
                let place = DocumentsPlace::from_bytes(place).ok_or_else(damaged)?;
                if !print.is_empty() {
                    fingerprint::check(&file, &self.path, place.offset(), print)?;
                }
                place
            }
        };
        self.file = Some(file.try_clone().map_err(|error| io(&self.path, "opened", &error))?);
        let name = Arc::from(self.path.display().to_string());
        let documents = self.source.value.documents(Box::new(file), &name, &place);
        let documents = documents.map_err(|findings| of_findings(&findings))?;
        if checkpoint.is_none() {
            documents.warnings().iter().for_each(|finding| self.note(finding));
        }
        self.documents = Some(documents);
        Ok(())
    }

    fn read(&mut self, _work: &mut dyn Work) -> Answer<Option<Item>> {
        let refused = self.refused.take();
        if std::mem::take(&mut self.is_again)
            && let Some(thrown) = refused
        {
            return Err(self.refused.insert(thrown).clone());
        }
        let Some(documents) = &mut self.documents else { return Ok(None) };
        let mut document = Vec::new();
        match documents.next(&mut document) {
            Next::Document(place) => {
                self.place = ItemPlace { record: Some(place.number.0), byte: Some(place.offset.0) };
                Ok(Some(document))
            }
            Next::Wrong(place, findings) => {
                self.place = ItemPlace { record: Some(place.number.0), byte: Some(place.offset.0) };
                Err(self.refused.insert(of_findings(&findings)).clone())
            }
            // A skip here would lose the rest of the file, so it is not allowed.
            Next::Lost(findings) => Err(Thrown { kind: Kind::Fatal, ..of_findings(&findings) }),
            Next::End => Ok(None),
        }
    }

    fn again(&mut self) -> Answer<()> {
        self.is_again = true;
        Ok(())
    }

    fn place(&self) -> ItemPlace {
        self.place
    }

    fn checkpoint(&mut self) -> Answer<Option<Lent<'_>>> {
        let place = self.documents.as_ref().map_or(DocumentsPlace::START, Documents::place);
        let print =
            self.file.as_ref().map_or([0; FINGERPRINT_BYTES], |file| fingerprint::fingerprint(file, place.offset()));
        let length = (self.length | HAS_FINGERPRINT).to_le_bytes();
        Ok(Some([&length[..], &print, &place.to_bytes()].concat().into()))
    }

    fn left(&self) -> Option<u64> {
        let offset = self.documents.as_ref().map_or(0, |documents| documents.place().offset());
        Some(self.length.saturating_sub(offset))
    }

    fn close(&mut self) -> Answer<()> {
        (self.documents, self.file) = (None, None);
        Ok(())
    }
}
