//! Imports dictionaries into a folder as guide files, compiles them, and says how long each step takes: `import OUT SOURCE...`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use quayline_core::Limits;
use quayline_dictionary::import;
use quayline_edi::guide::{CompiledGuide, NoGuides, parse_guide, write_guide};

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
            let text = write_guide(guide);
            let start = Instant::now();
            let again = parse_guide(&guide.name, &text, &NoGuides, &Limits::default()).map_err(|e| e.to_string())?;
            let read = start.elapsed();
            if again != *guide {
                return Err(format!("{} is not the same when read again", guide.name).into());
            }
            let start = Instant::now();
            let compiled = CompiledGuide::new(guide).map_err(|findings| format!("{}: {findings}", guide.name))?;
            let compile = start.elapsed();
            eprintln!("  {}: {} bytes, read in {read:.1?}, compiled in {compile:.1?}", guide.name, text.len());
            for finding in compiled.warnings() {
                eprintln!("    {}", finding.to_string().replace('\n', "\n    "));
            }
            std::fs::write(Path::new(&out).join(format!("{}.guide", guide.name)), text)?;
        }
    }
    Ok(())
}
