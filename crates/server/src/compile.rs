//! Programs whose source a service names are compiled by GnuCOBOL where their module is not there or older.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use quayline_gateway::{Definitions, ProgramSource, ProgramSpec, ProviderSpec};

/// Compiles what has to be; what cannot be is told to `log`, with the command that does it, and the service is not ready.
pub(crate) fn compile_programs(definitions: &Definitions, log: &dyn Fn(&str)) {
    let mut done: Vec<PathBuf> = Vec::new();
    for service in &definitions.services {
        let ProviderSpec::Program(spec) = &service.provider else { continue };
        let (Some(source), Some(folder)) = (&spec.source, spec.modules.first()) else { continue };
        let module = folder.join(format!("{}.so", spec.program));
        if done.contains(&module) || is_fresh(&module, &source.file) {
            continue;
        }
        match compile(spec, source, &module) {
            Ok(()) => log(&format!("{} is compiled to {}", source.file.display(), module.display())),
            Err(why) => log(&format!(
                "{} is not compiled: {why}; to compile it by hand: cd {} && mkdir -p {} && {}",
                source.file.display(),
                source.root.display(),
                folder.display(),
                shown(&command(source, &module))
            )),
        }
        done.push(module);
    }
}

/// Whether the module is there and not older than its source.
fn is_fresh(module: &Path, source: &Path) -> bool {
    let time = |path: &Path| -> Option<SystemTime> { std::fs::metadata(path).ok()?.modified().ok() };
    match (time(module), time(source)) {
        (Some(module), Some(source)) => module >= source,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn command(source: &ProgramSource, module: &Path) -> Command {
    let mut command = Command::new("cobc");
    command.arg("-m").args(&source.options);
    for folder in [source.root.clone(), source.root.join("copybooks")] {
        if folder.is_dir() {
            command.arg("-I").arg(folder);
        }
    }
    command.arg("-o").arg(module).arg(&source.file).current_dir(&source.root);
    command
}

/// Beside the module first, so that nobody loads half of it.
fn compile(spec: &ProgramSpec, source: &ProgramSource, module: &Path) -> Result<(), String> {
    let folder = module.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {}", folder.display(), error.kind()))?;
    let beside = tempdir_in(folder).map_err(|error| format!("{}: {}", folder.display(), error.kind()))?;
    let made = beside.join(format!("{}.so", spec.program));
    let done = command(source, &made).output();
    let result = match done {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err("GnuCOBOL's cobc is not installed (on Debian: apt-get install gnucobol3)".to_owned())
        }
        Err(error) => Err(format!("cobc: {}", error.kind())),
        Ok(done) if !done.status.success() => {
            let said: String = String::from_utf8(done.stderr).unwrap_or_default();
            Err(format!("cobc says\n{}", said.trim_end()))
        }
        Ok(_) => std::fs::rename(&made, module).map_err(|error| format!("{}: {}", module.display(), error.kind())),
    };
    let _ = std::fs::remove_dir_all(&beside);
    result
}

/// A folder of this process's own.
fn tempdir_in(folder: &Path) -> std::io::Result<PathBuf> {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = folder.join(format!(".compile-{}-{number}", std::process::id()));
    std::fs::create_dir(&path)?;
    Ok(path)
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let words = core::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
