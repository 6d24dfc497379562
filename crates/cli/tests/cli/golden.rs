//! Golden cases: folders of `tests/golden/AREA/CASE`, each a small conversion whose complete output is stored.
//!
//! `command.txt` has one step on each line: arguments of the command, or `same A B`, which compares two files byte for byte. The steps
//! run in a separate folder that has the case's copybook, interface file and input. Every file that they leave as `output.X` must equal the
//! case's `expected.X`; their messages and failing exit codes must equal `expected.log`. `UPDATE_EXPECT=1` rewrites both.
//! `ORIGIN.md` describes the purpose of the case and the source of its input.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::world::World;

#[test]
fn golden_cases_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let cases: Vec<PathBuf> = folders(&root).iter().flat_map(|area| folders(area)).collect();
    assert!(cases.len() >= 15, "only {} cases under {}", cases.len(), root.display());
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let wrong: Vec<String> = cases.iter().flat_map(|case| check(case, update)).collect();
    assert!(wrong.is_empty(), "UPDATE_EXPECT=1 writes them anew:\n{}", wrong.join("\n"));
}

/// Runs a case. Returns the differences, one on each line.
fn check(case: &Path, update: bool) -> Vec<String> {
    let name = case.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>();
    let name = format!("{}/{}", name[1], name[0]);
    let mut wrong = Vec::new();
    let mut expected = BTreeMap::new();
    let world = World::new();
    let mut steps = String::new();
    let mut told = false;
    for (file, bytes) in files(case) {
        match file.as_str() {
            "command.txt" => steps = String::from_utf8(bytes).expect("command.txt is UTF-8"),
            "ORIGIN.md" => told = true,
            _ => match file.strip_prefix("expected.") {
                Some(rest) => {
                    expected.insert(rest.to_owned(), bytes);
                }
                None => {
                    world.write(&file, bytes);
                }
            },
        }
    }
    if !told {
        wrong.push(format!("{name} has no ORIGIN.md"));
    }
    let given = world.files();
    let log = run(&world, &steps);
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    if !log.is_empty() {
        found.insert("log".to_owned(), log.into_bytes());
    }
    for file in world.files().into_iter().filter(|file| !given.contains(file)) {
        match file.strip_prefix("output.") {
            Some(rest) => {
                found.insert(rest.to_owned(), world.read(&file));
            }
            None => wrong.push(format!("{name} leaves {file}, which is no output.X")),
        }
    }
    if update {
        for rest in expected.keys().filter(|rest| !found.contains_key(*rest)) {
            fs::remove_file(case.join(format!("expected.{rest}"))).expect("an expected file can be removed");
        }
        for (rest, bytes) in found.iter().filter(|(rest, bytes)| expected.get(*rest) != Some(bytes)) {
            fs::write(case.join(format!("expected.{rest}")), bytes).expect("an expected file can be written");
        }
        return wrong;
    }
    for rest in found.keys().chain(expected.keys().filter(|rest| !found.contains_key(*rest))) {
        match (found.get(rest), expected.get(rest)) {
            (Some(found), Some(expected)) if found == expected => {}
            (Some(found), Some(expected)) => {
                wrong.push(format!("{name}: expected.{rest} differs {}", where_from(found, expected)))
            }
            (Some(_), None) => wrong.push(format!("{name}: there is no expected.{rest}")),
            (None, _) => wrong.push(format!("{name}: nothing made output.{rest}")),
        }
    }
    wrong
}

/// Runs the steps. Returns their messages and failures.
fn run(world: &World, steps: &str) -> String {
    let mut log = String::new();
    for (number, step) in (1..).zip(steps.lines()) {
        if let Some(files) = step.strip_prefix("same ") {
            let (a, b) = files.split_once(' ').expect("`same` has two files");
            match (fs::read(world.path(a)), fs::read(world.path(b))) {
                (Ok(left), Ok(right)) if left == right => {}
                (Ok(left), Ok(right)) => {
                    log.push_str(&format!("step {number}: {a} and {b} differ {}\n", where_from(&left, &right)));
                }
                _ => log.push_str(&format!("step {number}: {a} or {b} is not there\n")),
            }
            continue;
        }
        let ran = world.run(step);
        if ran.code != Some(0) {
            log.push_str(&format!("step {number}: exit {}\n", ran.code.map_or(-1, i64::from)));
        }
        log.push_str(&ran.out());
        log.push_str(&ran.err());
    }
    log
}

/// Describes the first difference between two files.
fn where_from(a: &[u8], b: &[u8]) -> String {
    let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let line = a[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    format!("from byte {at} on, line {line} ({} and {} bytes)", a.len(), b.len())
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = entries(of).into_iter().filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn files(of: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8").to_owned();
        (name, fs::read(path).expect("a file of a case can be read"))
    };
    entries(of).iter().filter(|path| path.is_file()).map(read).collect()
}

fn entries(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap_or_else(|error| panic!("{}: {error}", of.display()));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}
