//! The crates' edges against the table in `ARCHITECTURE.md`.

use std::collections::BTreeMap;

use quayline_tidy::{EdgeKind, Packages, Table, root, tables, tracked_files};

struct Declared {
    layer: u32,
    edges: Vec<String>,
    test_edges: Vec<String>,
    has_unsafe: bool,
}

#[test]
fn every_arrow_is_declared_and_every_declared_arrow_exists() {
    let declared = declared();
    let packages = Packages::read(&root().join("Cargo.toml"));
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for package in packages.0.iter().filter(|package| package.member) {
        let name = short(&package.name);
        seen.push(name);
        let Some(entry) = declared.get(name) else {
            wrong.push(format!("{name} is not in the table of ARCHITECTURE.md"));
            continue;
        };
        let ours = |kind: EdgeKind| {
            let edges = package.edges.iter().filter(move |edge| edge.kind == kind);
            edges.map(|edge| edge.to.as_str()).filter(|to| to.starts_with("quayline-")).map(short)
        };
        for to in ours(EdgeKind::Normal) {
            if !entry.edges.iter().any(|edge| edge == to) {
                wrong.push(format!("{name} depends on {to}: not declared"));
            }
        }
        for to in ours(EdgeKind::Test) {
            if !entry.edges.iter().chain(&entry.test_edges).any(|edge| edge == to) {
                wrong.push(format!("tests of {name} use {to}: not declared"));
            }
        }
        for to in &entry.edges {
            if !ours(EdgeKind::Normal).any(|edge| edge == to) {
                wrong.push(format!("{name} is declared to depend on {to} and does not"));
            }
        }
    }
    for name in declared.keys().filter(|name| !seen.contains(&name.as_str())) {
        wrong.push(format!("{name} is in the table, but not a crate"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn arrows_point_to_lower_layers() {
    let declared = declared();
    for (name, entry) in &declared {
        for to in &entry.edges {
            let target = declared.get(to).unwrap_or_else(|| panic!("{name} -> {to}: {to} is not in the table"));
            assert!(target.layer < entry.layer, "{name} (layer {}) -> {to} (layer {})", entry.layer, target.layer);
        }
    }
}

#[test]
fn every_manifest_takes_the_workspace_lints_and_versions() {
    for file in
        tracked_files().iter().filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"))
    {
        assert!(file.text.contains("[lints]\nworkspace = true"), "{}: [lints] workspace = true is missing", file.path);
        let dependencies = file.text.split_once("dependencies]").map_or("", |(_, rest)| rest);
        for line in dependencies.lines().filter(|line| line.contains('=')) {
            assert!(line.contains("workspace = true"), "{}: `{line}`: versions stand in the root manifest", file.path);
        }
    }
}

#[test]
fn unsafe_stands_only_where_the_table_names_it() {
    let declared = declared();
    for file in tracked_files().iter().filter(|file| file.path.ends_with(".rs")) {
        let name = file.path.split('/').nth(1).unwrap_or_default();
        let allowed = file.path.starts_with("crates/") && declared.get(name).is_some_and(|entry| entry.has_unsafe);
        if allowed {
            continue;
        }
        for (number, line) in (1..).zip(file.text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for form in [
                concat!("un", "safe {"),
                concat!("un", "safe fn"),
                concat!("un", "safe impl"),
                concat!("allow(un", "safe_code"),
            ] {
                assert!(
                    !code.contains(form),
                    "{}:{number}: `{form}` in a crate that ARCHITECTURE.md does not name",
                    file.path
                );
            }
        }
    }
}

fn declared() -> BTreeMap<String, Declared> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let table: Table = tables(&text)
        .into_iter()
        .find(|table| table.header == ["layer", "crate", "depends on", "tests also use", "unsafe"])
        .expect("ARCHITECTURE.md has the table of layers");
    let names =
        |cell: &str| cell.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    table
        .rows
        .iter()
        .map(|row| {
            let entry = Declared {
                layer: row[0].parse().expect("a layer is a number"),
                edges: names(&row[2]),
                test_edges: names(&row[3]),
                has_unsafe: row[4] != "no",
            };
            (row[1].clone(), entry)
        })
        .collect()
}

fn short(package: &str) -> &str {
    package.strip_prefix("quayline-").unwrap_or(package)
}
