//! One check: a file as text becomes an outline with its findings.

use std::path::Path;

use quayline_core::{Bound, NodeLimits};
use quayline_project::{Form, ShapeFile, ShapeOptions, outline_of};

/// Writes files into a folder of their own and loads the first.
pub(crate) fn load(reference: &str, files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    shown(folder.path(), reference)
}

/// Writes files into a folder of their own and lists the limits of the first, by name of the node.
pub(crate) fn limits(reference: &str, files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let loaded = ShapeFile::load(folder.path(), reference, &ShapeOptions::default()).expect("a shape");
    let limits = loaded.schema().source_limits().expect("limits");
    let mut out = String::new();
    for (id, node) in loaded.shape().iter() {
        let Some(of) = limits.node(id).filter(|of| **of != NodeLimits::default()) else { continue };
        out.push_str(&node.name);
        for (is_set, word) in
            [(of.required, "required"), (of.nullable, "nullable"), (of.no_null_items, "no null items")]
        {
            out.push_str(&if is_set { format!(", {word}") } else { String::new() });
        }
        if (of.min, of.max) != (0, None) {
            out.push_str(&format!(", {}..{}", of.min, of.max.map_or_else(String::new, |max| max.to_string())));
        }
        if let Some(value) = &of.value {
            let bound = |bound: &Option<Bound>| bound.is_some();
            let (low, high) = (bound(&value.low), bound(&value.high));
            out.push_str(&format!(
                ", length {:?}, decimals {:?}, low {low}, high {high}",
                value.length_max, value.decimals_max
            ));
        }
        out.push('\n');
    }
    out
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
