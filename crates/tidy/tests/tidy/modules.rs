//! Circles of modules inside of crates.

use std::collections::{BTreeMap, BTreeSet};

use quayline_tidy::{tables, tracked_files};

/// Names of all crates.
fn crates() -> BTreeSet<String> {
    let name = |path: &str| Some(path.strip_prefix("crates/")?.split_once("/src/")?.0.to_owned());
    tracked_files().iter().filter_map(|file| name(&file.path)).collect()
}

/// The modules that each module of a crate names by `crate::`; a module is a file or folder directly below `src`.
fn arrows(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let below = format!("crates/{name}/src/");
    let files = tracked_files();
    let sources = files.iter().filter_map(|file| Some((file.path.strip_prefix(&below)?, file.text.as_str())));
    let sources: Vec<(&str, &str)> = sources.filter(|(path, _)| path.ends_with(".rs")).collect();
    let module = |path: &str| path.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
    let modules: BTreeSet<String> = sources.iter().map(|(path, _)| module(path)).collect();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in
        sources.iter().filter(|(path, _)| !path.contains("tests") && !["lib.rs", "main.rs"].contains(path))
    {
        let own = module(path);
        let lines = text.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]");
        let code: String = lines.filter(|line| !line.starts_with("//")).map(|line| format!("{line}\n")).collect();
        let used = arrows.entry(own.clone()).or_default();
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + "crate::".len()..];
            let word = |text: &str| -> String {
                text.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
            };
            // `crate::{a::b, c}`: each part of the group begins with a module or a name of the crate.
            let names: Vec<String> = match rest.strip_prefix('{') {
                Some(group) => parts(group).into_iter().map(word).collect(),
                None => vec![word(rest)],
            };
            used.extend(names.into_iter().filter(|name| *name != own && modules.contains(name)));
        }
    }
    arrows
}

/// The parts of a group of imports at its outer level, up to its end.
fn parts(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&group[start..at]);
                return parts;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

/// Sets of modules each of which reaches all others of its set.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(module) = next.pop() {
            next.extend(arrows.get(module).into_iter().flatten().filter(|to| seen.insert((*to).clone())));
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<String>> = arrows.keys().map(|module| (module, reached(module))).collect();
    let circle = |module: &String| -> Vec<&str> {
        let back = |other: &&String| all.get(*other).is_some_and(|reached| reached.contains(module));
        all[module].iter().filter(back).map(String::as_str).collect()
    };
    arrows.keys().map(circle).filter(|circle| circle.len() > 1).map(|circle| circle.join(", ")).collect()
}

#[test]
fn modules_form_no_circle_without_an_argument() {
    let files = tracked_files();
    let architecture = files.iter().find(|file| file.path == "ARCHITECTURE.md").expect("ARCHITECTURE.md");
    let all = tables(&architecture.text);
    let argued = all.iter().find(|table| table.header.get(1).is_some_and(|name| name == "modules in a circle"));
    let argued: BTreeSet<(String, String)> =
        argued.expect("a table of circles").rows.iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let all = crates();
    assert!(all.len() > 30, "{all:?}");
    let of =
        |name: &String| circles(&arrows(name)).into_iter().map(|circle| (name.clone(), circle)).collect::<Vec<_>>();
    let found: BTreeSet<(String, String)> = all.iter().flat_map(of).collect();
    let new: Vec<_> = found.difference(&argued).collect();
    assert!(new.is_empty(), "{new:?} use each other: move what both need below them, or argue in ARCHITECTURE.md");
    let gone: Vec<_> = argued.difference(&found).collect();
    assert!(gone.is_empty(), "{gone:?} are not the circles that there are: correct the rows in ARCHITECTURE.md");
}

#[test]
fn groups_of_imports_are_parts() {
    assert_eq!(parts("a::{b, c}, d, E}; use x"), ["a::{b, c}", " d", " E"]);
}
