//! One check: a file as text becomes an outline with its findings.

use std::path::Path;

use quayline_project::{Form, ShapeFile, ShapeOptions, outline_of};

/// Writes files into a folder of their own and loads the first.
pub(crate) fn load(reference: &str, files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    shown(folder.path(), reference)
}

fn shown(folder: &Path, reference: &str) -> String {
    let mut out = String::new();
    let findings = match ShapeFile::load(folder, reference, &ShapeOptions::default()) {
        Ok(loaded) => {
            out.push_str(&outline_of(loaded.shape()));
            match loaded.form() {
                Form::Json { array: true } => out.push_str("in an array\n"),
                Form::Records { framing, encoding } => out.push_str(&format!("{framing:?} {}\n", encoding.is_some())),
                Form::Csv(style) => out.push_str(&format!("{style:?}\n")),
                _ => {}
            }
            loaded.findings().to_vec()
        }
        Err(findings) => findings.0,
    };
    for finding in findings {
        let place = finding.place.to_string();
        let place = place.replace(&format!("{}/", folder.display()), "");
        out.push_str(&format!("{:?} {} {}: {}", finding.severity, finding.code, place, finding.message));
        if let Some(hint) = &finding.hint {
            out.push_str(&format!(" ({hint})"));
        }
        out.push('\n');
    }
    out
}
