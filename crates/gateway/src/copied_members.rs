//! COPY members in the folder of a source, which a project needs with the source.

use std::io;
use std::path::{Path, PathBuf};

use quayline_project::{CopyFolders, read_source};

use crate::program_head::words;

/// Returns the COPY members that a source and its members name and that are in the folder of the source, as paths relative to this folder. This
/// includes those of the procedure division, which the compiler needs.
///
/// # Errors
/// A source, member or folder that cannot be read.
pub fn members_beside(source: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = source.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = CopyFolders::new(vec![folder.to_owned()]);
    let mut members: Vec<PathBuf> = Vec::new();
    let mut texts = vec![read_source(source)?];
    while let Some(text) = texts.pop() {
        for (member, library) in copied(&text) {
            let Some(found) = beside.find(&member, library.as_deref())? else { continue };
            let Ok(path) = found.path.strip_prefix(folder) else { continue };
            if !members.iter().any(|known| known == path) {
                members.push(path.to_owned());
                texts.push(found.text);
            }
        }
    }
    members.sort();
    Ok(members)
}

/// Returns the members and libraries that a text names.
fn copied(text: &str) -> Vec<(String, Option<String>)> {
    let words = words(text);
    let name = |at: usize| words.get(at).map(|word| word.trim_matches(['"', '\'']).to_owned());
    let statements = words.iter().enumerate().filter(|(_, word)| *word == "COPY");
    let named = statements.filter_map(|(at, _)| {
        let has_library = words.get(at + 2).is_some_and(|word| word == "OF" || word == "IN");
        Some((name(at + 1)?, if has_library { name(at + 3) } else { None }))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_members_and_of_the_procedure_division_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let source = "       PROGRAM-ID. P.\n       LINKAGE SECTION.\n       COPY \"quote.cpy\".\n      * COPY UNUSED.\n       PROCEDURE DIVISION USING A.\n           COPY STEPS OF LIB.\n           COPY NOWHERE.\n";
        write("P.cbl", source);
        write("quote.cpy", "       01 A.\n       COPY INNER REPLACING ==X== BY ==Y==.\n");
        write("inner.cpy", "           05 B PIC X.\n       COPY QUOTE.\n");
        write("LIB/STEPS.cpy", "           GOBACK.\n");
        write("unused.cpy", "");
        let found = members_beside(&folder.path().join("P.cbl")).unwrap();
        assert_eq!(found, ["LIB/STEPS.cpy", "inner.cpy", "quote.cpy"].map(PathBuf::from));
    }
}
