//! Law of written interchanges: output of `convert` and `translate` without a finding is accepted by `validate` at the same level.

use std::path::{Path, PathBuf};

use crate::edi::examples;
use crate::outbound::{TRANSLATE, invoices};
use crate::world::World;

pub(crate) const LEVELS: [&str; 4] = ["envelope", "guide", "notes", "rules"];

/// Throws dice that fall the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

pub(crate) const VALUES: [&str; 14] = [
    "",
    "ZZ",
    "A*B",
    "A~B:C",
    "x\\ny",
    "20261301",
    "04152026",
    "12345678901234567890123456789012345678901234567890",
    "-5",
    "a",
    "\\u0007",
    "é",
    "00",
    " ",
];

/// Returns a document with one or more leaves changed or omitted, as text: a value is a text after a colon.
fn changed(document: &str, dice: &mut Dice) -> String {
    let mut text = document.to_owned();
    for _ in 0..=dice.throw(3) {
        let places: Vec<usize> = text.match_indices("\":\"").map(|(at, _)| at + 3).collect();
        let Some(&from) = places.get(dice.throw(places.len().max(1))) else { return text };
        let to = from + text[from..].find('"').expect("a text ends");
        let key = text[..from - 3].rfind('"').expect("a key begins");
        if dice.throw(4) > 0 {
            text.replace_range(from..to, VALUES[dice.throw(VALUES.len())]);
        } else if text[to + 1..].starts_with(',') {
            text.replace_range(key..to + 2, "");
        } else if text[..key].ends_with(',') {
            text.replace_range(key - 1..to + 1, "");
        }
    }
    text
}

/// Converts changed documents at each level: all output is accepted, and nothing is lost. Returns the numbers of written and rejected documents.
fn holds(world: &World, guide: &str, documents: &[String], dice: &mut Dice) -> (usize, usize) {
    let (mut written, mut rejected) = (0, 0);
    for level in LEVELS {
        let mut data: Vec<String> = documents.iter().take(20).cloned().collect();
        data.extend((0..100).map(|_| changed(&documents[dice.throw(documents.len())], dice)));
        world.write("law.jsonl", data.join("\n") + "\n");
        let line = format!("convert law.jsonl -g {guide} --output-level {level} --rejects law.bad -o law.edi");
        let ran = world.run(&line);
        assert!(matches!(ran.code, Some(0 | 1)), "{line}: {ran:?}");
        let validated = world.run(&format!("validate law.edi -g {guide} --level {level}"));
        let envelope_only = level == "envelope" && validated.code == Some(2);
        let validated = if envelope_only { world.run(&format!("validate law.edi --level {level}")) } else { validated };
        let headers = transactions(world);
        let bad = world.read("law.bad").iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(headers + bad, data.len(), "{line}: each document is in the output or in the rejects");
        if headers > 0 {
            assert_eq!(validated.code, Some(0), "{line}: {validated:?}");
        }
        (written, rejected) = (written + headers, rejected + bad);
    }
    (written, rejected)
}

/// Returns the number of transactions in the output.
pub(crate) fn transactions(world: &World) -> usize {
    let ran = world.run("validate law.edi --level envelope --json");
    let text = String::from_utf8([ran.stdout, ran.stderr].concat()).expect("UTF-8");
    let Some((_, count)) = text.split_once("\"transactions\":") else { return 0 };
    count.split(|char: char| !char.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).expect("a count")
}

fn documents(world: &World, file: &str, guide: &str) -> Vec<String> {
    let ran = world.run(&format!("convert {file} -g {guide} --to jsonl --rejects law.first"));
    let text = String::from_utf8(ran.stdout.clone()).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn what_convert_writes_without_a_finding_is_accepted() {
    let world = examples();
    let mut dice = Dice(17);
    for (file, guide) in [
        ("claims.x12", "837p-acme.guide"),
        ("850.x12", "850.guide"),
        ("835.x12", "835.guide"),
        ("orders-many.edi", "orders.guide"),
    ] {
        let documents = documents(&world, file, guide);
        assert!(!documents.is_empty(), "{file}");
        let (written, rejected) = holds(&world, guide, &documents, &mut dice);
        assert!(written > 0 && rejected > 100, "{file}: {written} written, {rejected} rejected");
    }
}

#[test]
fn what_translate_writes_without_a_finding_is_accepted() {
    let mut dice = Dice(3);
    let mut rows = String::new();
    let dates = ["20260415", "04152026", "260415", "2026041", "20260230"];
    let kinds = ["DI", "CR", "ZZ", "D", "", "di"];
    let names = ["ACME", "A*B", "\"A\nB\"", "é", "", "A~B", "\u{7}"];
    for number in 0..400 {
        let (date, kind, name) = (dates[dice.throw(5)], kinds[dice.throw(6)], names[dice.throw(7)]);
        let (number, quantity) =
            (if number % 11 == 0 { "" } else { "N" }.to_owned() + &number.to_string(), dice.throw(5));
        rows.push_str(&format!("{number},{date},{kind},{name},{quantity},{}\n", 1 + dice.throw(20) / 19));
    }
    let world = invoices(&rows);
    for level in LEVELS {
        let ran = world.run(&format!("{TRANSLATE} --output-level {level} --rejects law.bad -o law.x12"));
        ran.code(1);
        world
            .run(&format!(
                "validate law.x12 -g 810.guide --level {}",
                if level == "envelope" { "guide" } else { level }
            ))
            .code(i32::from(level == "envelope"));
        world.run("validate law.x12 --level envelope").code(0);
    }
}

/// Guides of the dictionaries that `scripts/dictionaries.sh` fetches, and documents of a corpus.
#[test]
fn the_law_holds_of_imported_guides() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = std::env::var_os("QUAYLINE_CORPUS").map_or_else(|| root.join("../shared"), PathBuf::from);
    let fetched =
        std::env::var_os("QUAYLINE_DICTIONARIES").map_or_else(|| root.join("target/dictionaries"), PathBuf::from);
    let entries = std::fs::read_dir(fetched).into_iter().flatten().flatten();
    let pyx12 = entries.map(|entry| entry.path()).find(|path| {
        path.is_dir() && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pyx12-"))
    });
    let files: Vec<PathBuf> =
        std::fs::read_dir(corpus.join("data/x12")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let (Some(pyx12), false) = (pyx12, files.is_empty()) else {
        eprintln!("skipped: the_law_holds_of_imported_guides: pyx12 is not fetched, or there is no corpus");
        return;
    };
    let world = World::new();
    std::fs::create_dir(world.path("guides")).expect("made");
    let folder = pyx12.join("pyx12/map");
    world.command(["guide", "import", &folder.display().to_string(), "-o", "guides"]).output().expect("it runs");
    let mut dice = Dice(5);
    let mut tried = 0;
    for (name, part) in
        [("837-005010X222A1", "X222A1_"), ("835-005010X221A1", "X221A1_"), ("834-005010X220A1", "X220A1_")]
    {
        let guide = format!("guides/{name}.guide");
        if !world.path(&guide).exists() {
            eprintln!("skipped in part: the_law_holds_of_imported_guides: {guide} was not imported");
            continue;
        }
        let of_guide = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(part) && name.contains("~pass~")
        };
        let mut all = Vec::new();
        for (number, file) in files.iter().filter(of_guide).enumerate() {
            let name = format!("in{number}.x12");
            world.write(&name, std::fs::read(file).expect("readable"));
            all.extend(documents(&world, &name, &guide));
        }
        if all.is_empty() {
            eprintln!(
                "skipped in part: the_law_holds_of_imported_guides: no document of the corpus is good by {guide}"
            );
            continue;
        }
        holds(&world, &guide, &all, &mut dice);
        tried += 1;
    }
    eprintln!("the law was tried of {tried} imported guides");
}
