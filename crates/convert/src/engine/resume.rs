//! Resuming from a checkpoint: checks that it belongs to this source and these settings, and that its files exist.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use quayline_core::{ByteOffset, Checkpoint, Fault, Finding, Place, SourceDigest};
use quayline_pipeline::Position;

use crate::checkpoint_file::DONE;
use crate::codes;
use crate::destination::{partial_path, real_path};
use crate::engine::partial::PartialFile;
use crate::engine::writer::sync_step;
use crate::error::ConvertError;
use crate::sync::{SyncHook, SyncPoint};

/// Action according to a checkpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Resume {
    /// Continue after the checkpoint.
    GoOn,
    /// Everything is converted; files may still have to be renamed.
    Done,
}

/// Holds a checkpoint against the source and settings of this run.
pub(crate) fn check(checkpoint: &Checkpoint, digest: SourceDigest, path: &Path) -> Result<Resume, ConvertError> {
    let refused = |code, message: String, hint: &str| -> ConvertError {
        let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
        Finding::error(code, Fault::Caller, message).at(place).hint(hint).into()
    };
    let (then, now) = (checkpoint.digest, digest);
    if then.source_bytes != now.source_bytes {
        let message =
            format!("the source had {} bytes when the run began, now it has {}", then.source_bytes, now.source_bytes);
        return Err(refused(
            codes::OTHER_SOURCE,
            message,
            "resume with the source of that run, or run again without --resume",
        ));
    }
    if then.source_hash != now.source_hash {
        let message = "the source has other bytes than when the run began".to_owned();
        return Err(refused(
            codes::OTHER_SOURCE,
            message,
            "resume with the source of that run, or run again without --resume",
        ));
    }
    if then.plan_hash != now.plan_hash {
        let message = "the run began with another copybook, interface file or other settings".to_owned();
        return Err(refused(
            codes::OTHER_PLAN,
            message,
            "resume with the settings of that run, or run again without --resume",
        ));
    }
    Ok(if checkpoint.decoder == DONE { Resume::Done } else { Resume::GoOn })
}

/// Returns a warning if the source was written after the checkpoint: the digest covers the ends of the source only.
pub(crate) fn changed_since(source: &File, source_path: &Path, checkpoint: &Path) -> io::Result<Option<Finding>> {
    let (source, checkpoint) = (source.metadata()?.modified()?, fs::metadata(checkpoint)?.modified()?);
    Ok((source > checkpoint).then(|| {
        let message = "the source was written after the run stopped, and Quayline compared only its length and ends";
        let place = Place { file: Some(source_path.display().to_string().into()), ..Place::default() };
        Finding::warning(codes::CHANGED_SOURCE, Fault::Caller, message)
            .at(place)
            .hint("if its content changed, run again without --resume")
    }))
}

/// Returns the position of the source.
pub(crate) fn position(checkpoint: &Checkpoint) -> Position {
    Position::at(ByteOffset(checkpoint.offset.0), checkpoint.next, checkpoint.decoder)
}

/// Opens a partial file and truncates it to the length that was durable at the checkpoint.
pub(crate) fn reopen(path: &Path, len: u64) -> Result<PartialFile, ConvertError> {
    let partial = partial_path(path);
    match PartialFile::resume(path, len).map_err(ConvertError::io("open", &partial))? {
        Ok(file) => Ok(file),
        Err(found) => {
            let message = format!("the checkpoint needs {len} bytes of it, but it has {found}");
            let place = Place { file: Some(partial.display().to_string().into()), ..Place::default() };
            let finding = Finding::error(codes::PARTIAL_SHORT, Fault::Environment, message).at(place);
            Err(finding.hint("it was changed after the run stopped; convert again").into())
        }
    }
}

/// Renames a complete file to its final name, if that was not done before. `len` is its required length.
pub(crate) fn take_name(
    hook: Option<&dyn SyncHook>,
    point: SyncPoint,
    path: &Path,
    len: Option<u64>,
) -> Result<(), ConvertError> {
    let partial = partial_path(path);
    if partial.exists() {
        // The lock is kept until the file has its name: no other run writes the file meanwhile.
        let _locked = len.map(|len| reopen(path, len)).transpose()?;
        return sync_step(hook, point, "rename", &partial, || std::fs::rename(&partial, real_path(path)));
    }
    let found = std::fs::metadata(path).map_err(ConvertError::io("open", path))?.len();
    match len {
        Some(len) if len != found => {
            let message = format!("the stopped run wrote {len} bytes, but the file has {found}");
            let place = Place { file: Some(path.display().to_string().into()), ..Place::default() };
            let finding = Finding::error(codes::PARTIAL_SHORT, Fault::Environment, message).at(place);
            Err(finding.hint("it was changed after the run stopped; convert again").into())
        }
        _ => Ok(()),
    }
}
