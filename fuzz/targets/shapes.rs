//! Any text as a description of each kind: findings, or a shape that holds together and is the same when its outline is read again.

use std::path::PathBuf;
use std::sync::OnceLock;

use quayline_core::Limits;
use quayline_project::{ShapeFile, ShapeOptions, outline_of, parse_outline};

/// The first byte chooses one.
const KINDS: [&str; 6] = ["shape", "json", "xsd", "toml", "cpy", "guide"];

/// Runs one input; a panic is a finding.
pub(crate) fn fuzz(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else { return };
    let name = format!("a.{}", KINDS[usize::from(*kind) % KINDS.len()]);
    // Descriptions are files, and may name others beside them, or themselves.
    std::fs::write(folder().join(&name), text).expect("the folder is ours");
    let limits = Limits { guide_bytes_max: 1 << 20, ..Limits::default() };
    match ShapeFile::load(folder(), &name, &ShapeOptions { limits, ..ShapeOptions::default() }) {
        Ok(loaded) => {
            let outline = outline_of(loaded.shape());
            let again = parse_outline("a.shape", &outline).unwrap_or_else(|findings| panic!("{findings}\n{outline}"));
            assert_eq!(outline_of(&again), outline);
            let _ = (loaded.source().is_ok(), loaded.target().is_ok(), loaded.target_shape().len());
        }
        Err(findings) => assert!(!findings.0.is_empty() && !findings.to_string().is_empty(), "refused without a word"),
    }
}

/// A folder of this process.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let scratch = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/fuzz-scratch");
        let folder = PathBuf::from(scratch).join(std::process::id().to_string());
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    })
}
