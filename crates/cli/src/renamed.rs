//! Spellings that earlier builds had: each is refused, and the answer names the new one.

use std::ffi::OsString;

/// A spelling that is no longer known.
struct Renamed {
    /// Command.
    command: &'static str,
    /// Old spelling.
    old: &'static str,
    /// New spelling.
    new: &'static str,
}

const fn renamed(command: &'static str, old: &'static str, new: &'static str) -> Renamed {
    Renamed { command, old, new }
}

const RENAMED: &[Renamed] = &[
    renamed("convert", "--format", "--framing"),
    renamed("inspect", "--format", "--framing"),
    renamed("transaction", "--format", "--csv"),
    renamed("convert", "--to-format", "--to-framing"),
    renamed("translate", "--from-format", "--from-framing"),
    renamed("translate", "--ack", "--ack KIND --ack-output FILE"),
    renamed("validate", "--output", "--ack-output"),
    renamed("validate", "-o", "--ack-output"),
    renamed("test", "test", "quayline map test"),
    renamed("fmt", "fmt", "quayline map fmt"),
];

/// Kinds after `--ack`, which once had the name of a file.
const ACK_KINDS: [&str; 5] = ["ta1", "997", "999", "contrl", "auto"];

/// Returns a hint for arguments that the parser refused, if one of them has an old spelling.
pub(crate) fn hint(arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let command = words.iter().find(|word| !word.starts_with('-'))?;
    let found = RENAMED.iter().find(|renamed| {
        let same = |word: &&str| {
            *word == renamed.old || word.strip_prefix(renamed.old).is_some_and(|rest| rest.starts_with('='))
        };
        // `--ack KIND` is the new spelling, which lacks only the file.
        let is_new = words
            .iter()
            .position(same)
            .is_some_and(|at| renamed.old == "--ack" && words.get(at + 1).is_some_and(|next| ACK_KINDS.contains(next)));
        renamed.command == *command && words.iter().any(same) && !is_new
    })?;
    Some(format!("`{}` is now `{}`", found.old, found.new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_spelling_names_the_new_one() {
        let hint = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            hint(&words)
        };
        assert_eq!(hint("quayline convert x --format=rdw").as_deref(), Some("`--format` is now `--framing`"));
        assert_eq!(hint("quayline validate x --ack 997 -o y").as_deref(), Some("`-o` is now `--ack-output`"));
        assert_eq!(hint("quayline transaction export --format csv").as_deref(), Some("`--format` is now `--csv`"));
        assert_eq!(hint("quayline translate x --ack 997"), None);
        let both = "`--ack` is now `--ack KIND --ack-output FILE`";
        assert_eq!(hint("quayline translate x --ack x.999").as_deref(), Some(both));
        assert_eq!(hint("quayline test maps").as_deref(), Some("`test` is now `quayline map test`"));
        assert_eq!(hint("quayline convert x -o y --unheard-of"), None);
    }
}
