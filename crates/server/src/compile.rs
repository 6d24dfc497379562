//! Compiles the programs of services that name a source (`quayline_program::ModuleSource`).

use std::path::PathBuf;

use quayline_gateway::{Definitions, ProgramSource, ProgramSpec, ProviderSpec};
use quayline_program::ModuleSource;

/// Results of compiling the modules of all services.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Modules that differ from their source, and the reason why they could not be compiled.
    pub(crate) stale: Vec<(PathBuf, String)>,
    /// Sources and copybooks that modules are made of.
    pub(crate) files: Vec<PathBuf>,
}

/// Returns the source of a service's program.
pub(crate) fn source_of(spec: &ProgramSpec, source: &ProgramSource) -> ModuleSource {
    let ProgramSource { file, options, root } = source.clone();
    ModuleSource { program: spec.program.clone(), file, options, root }
}

/// Compiles the modules that need it. Failures are reported to `log` with the command.
pub(crate) fn compile_programs(definitions: &Definitions, log: &dyn Fn(&str)) -> Made {
    let mut made = Made::default();
    let mut done: Vec<PathBuf> = Vec::new();
    for service in &definitions.services {
        let ProviderSpec::Program(spec) = &service.provider else { continue };
        let (Some(source), Some(module)) = (&spec.source, spec.made_module()) else { continue };
        if done.contains(&module) {
            continue;
        }
        let source = source_of(spec, source);
        let name = source.file.display();
        match source.bring_up_to_date(&module) {
            Ok(compiled) => {
                if compiled.is_new {
                    log(&format!("{name} is compiled to {}", module.display()));
                }
                made.files.extend(compiled.files);
            }
            Err(why) => {
                log(&format!("{name} is not compiled: {why}; to compile it by hand: {}", source.by_hand(&module)));
                made.files.extend(source.recorded_files(&module));
                made.stale.push((module.clone(), format!("{name} is not compiled: {why}")));
            }
        }
        done.push(module);
    }
    made
}
