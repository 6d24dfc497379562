//! Passes the commit to the compiler, for `--version`.
//!
//! A debug build says so instead of naming a commit: tests and editors build it many times between two commits, and each new commit
//! would otherwise compile the command again. `QUAYLINE_COMMIT` replaces what git says, for builds from an archive without a repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=QUAYLINE_COMMIT");
    let commit = std::env::var("QUAYLINE_COMMIT").ok().filter(|given| !given.is_empty()).or_else(|| {
        if std::env::var("PROFILE").as_deref() == Ok("debug") {
            return Some("none, a development build".to_owned());
        }
        git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
    });
    if std::env::var("PROFILE").as_deref() != Ok("debug") {
        follow_head();
    }
    println!("cargo:rustc-env=QUAYLINE_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo:rustc-env=QUAYLINE_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}

/// The output of git, if git is installed and there is a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Makes cargo run this script again after a checkout or a commit. In a linked worktree, `HEAD` and the branch are in different folders.
fn follow_head() {
    let own = git(&["rev-parse", "--absolute-git-dir"]);
    let common = git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let head = own.map(|folder| Path::new(&folder).join("HEAD"));
    let tip = common.zip(branch).map(|(folder, branch)| Path::new(&folder).join(branch));
    for path in [head, tip].into_iter().flatten().filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}
