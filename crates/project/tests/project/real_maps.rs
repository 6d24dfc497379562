//! The law of maps over real shapes: between all guides, copybooks, layouts and schemas that are there, maps that are proposed or made at random
//! and compile give, on generated documents, valid documents or findings.

use std::path::{Path, PathBuf};

use quayline_core::{NodeId, Occurs, Scalar, Shape};
use quayline_dictionary::import_all;
use quayline_edi::guide::write_guide;
use quayline_map::{Absent, Ends, MapSpec, Mapper, NoFiles, One, Options, Output, StillHost, compile, propose};
use quayline_project::{Form, MapTarget, ShapeFile, ShapeOptions, ShapeRules};

use crate::law::{Author, Dice, shown, valid};
use crate::support::{Json, Writer};

/// Returns the shapes of all descriptions in the examples and the corpus.
fn shapes() -> Vec<(String, ShapeFile)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = std::env::var_os("QUAYLINE_CORPUS").map_or_else(|| root.join("../shared"), PathBuf::from);
    let imported = imported(&root.join("target/dictionaries"));
    let mut shapes = Vec::new();
    let folders = [
        root.join("examples/maps/shapes"),
        root.join("examples/edi"),
        corpus.join("data/carddemo"),
        imported.path().into(),
    ];
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            eprintln!("skipped in part: real_maps: {} is not there", folder.display());
            continue;
        };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let options = ShapeOptions::default();
            if let Ok(shape) = ShapeFile::load(Path::new(""), &file.display().to_string(), &options) {
                shapes.push((name, shape));
            }
        }
    }
    shapes
}

/// Whole implementation guides and messages of the dictionaries that `scripts/dictionaries.sh` fetches, as files.
fn imported(dictionaries: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (dictionary, inside, wanted) in [
        ("pyx12", "pyx12/map", &["837-005010X222A1", "835-005010X221A1", "834-005010X220A1"][..]),
        ("smooks", "", &["INVOIC", "ORDERS"]),
    ] {
        let entries = std::fs::read_dir(dictionaries).into_iter().flatten().flatten().map(|entry| entry.path());
        let named =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(dictionary));
        let Some(source) = entries.filter(|path| path.is_dir()).find(named) else {
            eprintln!("skipped in part: real_maps: {dictionary} is not fetched, see scripts/dictionaries.sh");
            continue;
        };
        let imported = import_all(&[source.join(inside)]).unwrap_or_else(|findings| panic!("{findings}"));
        let mut count = 0;
        for guide in imported.guides.iter().filter(|guide| wanted.iter().any(|name| guide.name.contains(name))) {
            count += 1;
            let file = format!("{dictionary}-{count}.guide");
            std::fs::write(folder.path().join(file), write_guide(guide)).expect("a file");
        }
        let names: Vec<&str> = imported.guides.iter().map(|guide| guide.name.as_str()).collect();
        assert!(count >= wanted.len(), "{wanted:?} among {names:?}");
    }
    folder
}

/// A valid document: of a large shape, a small one.
fn document(dice: &mut Dice, shape: &Shape, group: NodeId, depth: usize) -> Json {
    let mut members = Vec::new();
    let spare = if shape.len() > 200 { 80 } else { 40 };
    for child in shape.children(group) {
        let node = shape.node(child);
        let name = node.name.clone();
        match node.occurs {
            _ if matches!(node.scalar(), Some(Scalar::Bytes { .. })) => {}
            Occurs::Optional if dice.chance(spare) => {}
            Occurs::Many { min: 0, .. } if dice.chance(spare / 2) => {}
            Occurs::Many { min, max } => {
                let most = if depth > 3 { 2 } else { 3 };
                let count = (min as usize).max(dice.roll(most + 1)).min(max.map_or(usize::MAX, |max| max as usize));
                members.push((name, Json::Array((0..count).map(|_| one(dice, shape, child, depth)).collect())));
            }
            _ => members.push((name, one(dice, shape, child, depth))),
        }
    }
    Json::Object(members)
}

fn one(dice: &mut Dice, shape: &Shape, node: NodeId, depth: usize) -> Json {
    match shape.node(node).scalar() {
        None => document(dice, shape, node, depth + 1),
        Some(Scalar::Text { chars_max }) => {
            let text =
                *dice.of(&["a", "bb", "20260401", "é", "Q", "12.5", "", "a long one that fills the field to its end"]);
            Json::Text(text.chars().take(chars_max.map_or(usize::MAX, |max| max as usize)).collect())
        }
        Some(Scalar::Decimal { digits, scale, signed }) => {
            let decimals = usize::try_from(*scale).unwrap_or(0);
            let whole = usize::from(*digits).saturating_sub(decimals);
            let whole = if whole == 0 { String::new() } else { "9".repeat(dice.roll(whole) + 1) };
            let sign = if *signed && dice.chance(30) { "-" } else { "" };
            let behind = dice.roll(decimals + 1);
            let point = if behind > 0 { format!(".{}", "7".repeat(behind)) } else { String::new() };
            let whole = if whole.is_empty() || (whole.len() > 1 && dice.chance(20)) { "0".to_owned() } else { whole };
            // What a scale below zero cannot hold is not a value of the field.
            Json::Number(if *scale < 0 { "0".to_owned() } else { format!("{sign}{whole}{point}") })
        }
        Some(Scalar::Bool) => Json::Bool(dice.chance(50)),
        Some(_) => Json::Number((*dice.of(&["0", "1.5", "-2e3"])).to_owned()),
    }
}

/// Fills in the open places of a proposal with constants.
fn filled(proposed: &str) -> String {
    let line = |line: &str| {
        let start = line.trim_start();
        let pad = &line[..line.len() - start.len()];
        match start.strip_prefix("# ").and_then(|open| open.split_once(" = …  # mandatory, ")) {
            Some((field, what)) if what.contains("number") => format!("{pad}{field} = 1"),
            Some((field, what)) if what.contains("true") => format!("{pad}{field} = true"),
            Some((field, _)) => format!("{pad}{field} = \"x\""),
            None => line.to_owned(),
        }
    };
    proposed.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Compiles the map and sends documents through it. Whether it compiled.
fn check(dice: &mut Dice, map: &str, from: &(String, ShapeFile), to: &(String, ShapeFile)) -> bool {
    let target = to.1.target_shape();
    let outputs = [Output { name: "t", shape: &target, absent: to.1.absent() }];
    let spec = MapSpec::parse("t.qmap", map);
    let source = from.1.shape();
    let Ok(compiled) = compile(&spec, source, &outputs, Options { order: from.1.order() }, &NoFiles) else {
        return false;
    };
    let mut mapper = Mapper::new(&compiled.plan, One(Writer::new(&target)), StillHost::default());
    for _ in 0..3 {
        let document = document(dice, source, NodeId::ROOT, 0);
        let world = || format!("{} to {}\n{map}\n{}", from.0, to.0, shown(&document));
        let before = mapper.outputs().0.text().len();
        document.drive(source, &mut mapper);
        let outcome = mapper.outcome();
        let written = mapper.outputs().0.text()[before..].to_owned();
        for line in written.lines().filter(|line| !line.contains('\\')) {
            match valid(&target, NodeId::ROOT, &Json::parse(line)) {
                Err(reason) if !(to.1.absent() == Absent::Filled && reason.ends_with("is missing")) => {
                    panic!("{reason}: {line}\n{}", world());
                }
                _ => {}
            }
        }
        let told = !outcome.findings.is_empty() || outcome.refused + outcome.dropped > 0;
        let no_document = map.contains("make t") || compiled.plan.output(0).is_none();
        assert!(told || no_document || !written.is_empty(), "nothing written, nothing told: {}", world());
    }
    true
}

#[test]
fn maps_between_real_shapes_give_valid_documents_or_findings() {
    let shapes = shapes();
    assert!(shapes.len() > 12, "{}", shapes.len());
    let rounds = std::env::var("QUAYLINE_MAPS").ok().and_then(|count| count.parse().ok()).unwrap_or(3usize);
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut proposed, mut random, mut all) = (0, 0, 0);
    for from in shapes.iter().filter(|(_, shape)| !matches!(shape.form(), Form::Parquet | Form::Arrow)) {
        for to in &shapes {
            // Two whole guides take seconds, and hold nothing that a guide and a smaller shape do not.
            if from.1.shape().len().min(to.1.shape().len()) > 400 {
                continue;
            }
            all += 1;
            let target = to.1.target_shape();
            let targets = [MapTarget { name: "t".to_owned(), shape: to.1.clone() }];
            let ends = Ends {
                rules: &ShapeRules { source: &from.1, targets: &targets },
                source_file: "s",
                source: from.1.shape(),
                source_words: None,
                source_meanings: &[],
                target_meanings: &[],
                source_aside: &[],
                target_name: "t",
                target_file: "t",
                target: &target,
                target_words: None,
                target_aside: &[],
            };
            proposed += usize::from(check(&mut dice, &filled(&propose(&ends).text), from, to));
            for _ in 0..rounds {
                let mut author = Author::new(from.1.shape(), &target, if target.len() > 60 { 90 } else { 30 });
                author.body(&mut dice, NodeId::ROOT, 0);
                random += usize::from(check(&mut dice, &author.text, from, to));
            }
        }
    }
    eprintln!("{} shapes, {all} pairs: {proposed} proposals and {random} random maps compiled", shapes.len());
    assert!(proposed * 5 > all, "{proposed} proposals of {all} compile");
    assert!(random * 20 > all, "{random} random maps of {all} pairs compile");
}
