//! `quayline map new`.

use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use quayline_edi::NodeNames;
use quayline_edi::guide::BUILT_IN;
use quayline_map::{Ends, format_map, propose};
use quayline_project::{Form, MapTarget, ShapeFile, ShapeOptions, ShapeRules};

use crate::args::MapNewArgs;
use crate::cache::cache;
use crate::console::Console;
use crate::exit::{Exit, Stop};
use crate::new_text::write_new;
use crate::render::count_of;

/// Proposes the map, and prints on standard error the number of fields left open.
pub(crate) fn run(args: &MapNewArgs, console: &Console) -> Result<Exit, Stop> {
    let here = Path::new("");
    let plain = ShapeOptions { cache: cache(), ..ShapeOptions::default() };
    let source = ShapeFile::load(here, &args.from, &plain)?;
    let target = ShapeFile::load(here, &args.to, &plain)?;
    console.findings(source.findings());
    console.findings(target.findings());
    let (source_words, target_words) = (words(&source, &args.from)?, words(&target, &args.to)?);
    let folder = args.output.as_deref().and_then(Path::parent).unwrap_or(here);
    let (source_file, target_file) = (seen_from(folder, &args.from), seen_from(folder, &args.to));
    let name = args.name.clone().unwrap_or_else(|| stem(&args.to));
    let meanings = |of: &ShapeFile| {
        if matches!(of.form(), Form::Guide(_)) { quayline_infer::meanings(of.shape()) } else { Vec::new() }
    };
    let (source_meanings, target_meanings) = (meanings(&source), meanings(&target));
    let targets = [MapTarget { name: name.clone(), shape: target }];
    let target = &targets[0].shape;
    let proposed = propose(&Ends {
        rules: &ShapeRules { source: &source, targets: &targets },
        source_meanings: &source_meanings,
        target_meanings: &target_meanings,
        source_file: &source_file,
        source: source.shape(),
        source_words: source_words.as_ref().map(ShapeFile::shape),
        source_aside: if matches!(source.form(), Form::Guide(_)) { ENVELOPE } else { &[] },
        target_name: &name,
        target_file: &target_file,
        target: target.shape(),
        target_words: target_words.as_ref().map(ShapeFile::shape),
        target_aside: if matches!(target.form(), Form::Guide(_)) { ENVELOPE } else { &[] },
    });
    // Names may need quotes, which the formatter adds.
    let text = format_map("the proposed map", &proposed.text).unwrap_or(proposed.text);
    write_new(args.output.as_deref(), &text)?;
    let count = |number: usize, what: &str| count_of(number as u64, what);
    let mut told = format!("{} set by name, {} guessed", count(proposed.sure, "field"), proposed.guessed);
    if proposed.cuts > 0 {
        told.push_str(&format!("; {} marked `# cuts` may lose characters or decimals", proposed.cuts));
    }
    let open = proposed.mandatory_open + proposed.optional_open;
    if open > 0 {
        told.push_str(&format!("; {open} left open, {} of them mandatory", proposed.mandatory_open));
    }
    let _ = std::io::stderr().write_all(format!("{told}\n").as_bytes());
    Ok(Exit::Done)
}

/// Groups of documents by guide that precede the transaction's own segments.
pub(crate) const ENVELOPE: &[&str] = &["standard", "delimiters", "interchange", "group", "transaction"];

/// Returns the same shape under the descriptive names of its guide.
fn words(of: &ShapeFile, reference: &str) -> Result<Option<ShapeFile>, Stop> {
    if !matches!(of.form(), Form::Guide(_)) {
        return Ok(None);
    }
    let options = ShapeOptions { names: NodeNames::Words, cache: cache(), ..ShapeOptions::default() };
    Ok(Some(ShapeFile::load(Path::new(""), reference, &options)?))
}

/// Returns the file's name without folder and extensions, as a name in a map.
fn stem(reference: &str) -> String {
    let file = reference.split('#').next_back().unwrap_or(reference);
    let name = Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or("target");
    let stem = name.split('.').next().unwrap_or_default();
    let name: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(char::is_alphabetic) { name } else { "target".to_owned() }
}

/// Converts a path for a map in `folder`; both are relative to the working directory.
fn seen_from(folder: &Path, path: &str) -> String {
    if path.starts_with(BUILT_IN) {
        return path.to_owned();
    }
    if Path::new(path).is_absolute() || folder.is_absolute() {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        return relative(&absolute(folder), &absolute(Path::new(path)));
    }
    relative(folder, Path::new(path))
}

fn relative(folder: &Path, path: &Path) -> String {
    let parts = |path: &Path| {
        let mut parts: Vec<String> = Vec::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir if parts.last().is_some_and(|last| last != "..") => {
                    parts.pop();
                }
                part => parts.push(part.as_os_str().to_string_lossy().into_owned()),
            }
        }
        parts
    };
    let (from, to) = (parts(folder), parts(path));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if from[common..].iter().any(|part| part == "..") {
        // The name of the parent of the working directory is unknown, so use absolute paths.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        return absolute.to_string_lossy().into_owned();
    }
    let up = from[common..].iter().map(|_| "..".to_owned());
    up.chain(to[common..].iter().cloned()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_named_as_seen_from_the_map() {
        assert_eq!(seen_from(Path::new(""), "a/b.guide"), "a/b.guide");
        assert_eq!(seen_from(Path::new("maps"), "guides/b.guide#X"), "../guides/b.guide#X");
        assert_eq!(seen_from(Path::new("./maps/deep"), "./maps/b.json"), "../b.json");
        assert_eq!(seen_from(Path::new("maps"), "../b.json"), "../../b.json");
        assert_eq!(seen_from(Path::new("/a/maps"), "/a/b.json"), "../b.json");
    }

    #[test]
    fn targets_are_called_like_their_files() {
        assert_eq!(stem("shapes/order-record.toml"), "order_record");
        assert_eq!(stem("order.schema.json"), "order");
        assert_eq!(stem("850.guide"), "target");
        assert_eq!(stem("x.xsd#order"), "order");
    }
}
