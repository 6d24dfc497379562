//! Imports dictionaries into a folder as JSON, and says how long each step takes: `import OUT SOURCE...`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use quayline_dictionary::{SourceText, import, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let out = arguments.next().ok_or("usage: import OUT SOURCE...")?;
    std::fs::create_dir_all(&out)?;
    for source in arguments {
        let start = Instant::now();
        let imported = import(&source).map_err(|findings| findings.to_string())?;
        let taken = start.elapsed();
        eprintln!("{}: {} guides in {taken:.1?}", source.display(), imported.guides.len());
        for finding in &imported.findings {
            eprintln!("{finding}\n");
        }
        for guide in &imported.guides {
            let text = json::write_guide(guide);
            let start = Instant::now();
            let again = json::read_guides(SourceText::new("", &text)).map_err(|findings| findings.to_string())?;
            let taken = start.elapsed();
            if again.guides.as_slice() != std::slice::from_ref(guide) {
                return Err(format!("{} is not the same when read again", guide.name).into());
            }
            eprintln!("  {}: {} bytes, read in {taken:.1?}", guide.name, text.len());
            std::fs::write(Path::new(&out).join(format!("{}.json", guide.name)), text)?;
        }
    }
    Ok(())
}
