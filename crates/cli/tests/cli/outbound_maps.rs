//! Law of written interchanges, for generated maps: output of a random map to the shape of a guide without a finding is accepted by `validate` at
//! the same level. For the guides of the examples, and for all imported ones.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use quayline_dictionary::import_all;
use quayline_edi::Standard;
use quayline_edi::guide::{
    Guide, GuideResolver, GuideText, Item, ItemId, Requirement, ResolveError, parse_guide, write_guide,
};
use serde_json::Value;

use crate::outbound_law::{Dice, LEVELS, VALUES, transactions};
use crate::world::World;

#[path = "../../../dictionary/tests/dictionary/maker.rs"]
mod maker;

use maker::{FILLS, Maker};

const SOURCE: &str = "in\n  a? text(80)\n  b? text(6)\n  n? decimal(9,2)\n  d? text(8)\n";

/// Documents of the source for each map.
const ROWS: usize = 12;

/// Results for the maps of some guides.
#[derive(Debug, Default)]
struct Tally {
    guides: u32,
    /// Number of guides whose sample was refused, so that no map could be generated.
    without_sample: u32,
    /// Maps that the compiler refused.
    refused: u32,
    maps: u32,
    written: usize,
    rejected: usize,
}

/// Collects the places of a structure, each with its enclosing loops, itself last.
fn places(items: &[Item], around: &mut Vec<ItemId>, next: &mut u32, out: &mut Vec<Vec<ItemId>>) {
    for item in items {
        around.push(ItemId(*next));
        *next += 1;
        let unused = |requirement, max| requirement == Requirement::NotUsed || max == Some(0);
        match item {
            Item::Segment(segment) if unused(segment.requirement, segment.max) => {}
            Item::Segment(_) => out.push(around.clone()),
            Item::Loop(inner) if unused(inner.requirement, inner.repeat) => {
                places(&inner.items, around, next, &mut Vec::new());
            }
            Item::Loop(inner) => places(&inner.items, around, next, out),
        }
        around.pop();
    }
}

/// Generates an interchange with one transaction that leads to a random place of a guide.
fn sample(guide: &Guide, dice: &mut Dice) -> String {
    let mut all = Vec::new();
    places(&guide.structure, &mut Vec::new(), &mut 1, &mut all);
    let target = all[dice.throw(all.len())].clone();
    let mut maker = Maker::new(guide, target, FILLS[dice.throw(FILLS.len())]);
    maker.make();
    let body: Vec<String> = maker.made.into_iter().map(|(_, segment)| segment).collect();
    let count = body.len() + 2;
    let (version, set) = (&guide.version, &guide.transaction);
    if guide.standard == Standard::X12 {
        let functional = guide.functional_group.as_deref().unwrap_or("PO");
        let release = version.get(..6).map_or("00501", |release| &release[..5]);
        let implementation =
            if version.len() > 6 && release == "00501" { format!("*{version}") } else { String::new() };
        return format!(
            "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*{}*{release}*000000001*0*T*:~\
             GS*{functional}*S*R*20260401*1200*1*X*{version}~ST*{set}*0001{implementation}~{}~SE*{count}*0001~GE*1*1~IEA*1*000000001~",
            if release < "00402" { "U" } else { "^" },
            body.join("~"),
        );
    }
    format!("UNB+UNOC:3+S+R+260401:1200+1'UNH+1+{set}:{version}'{}'UNT+{count}+1'UNZ+1+1'", body.join("'"))
}

/// Writes the statements of a document, some with other values, some left out.
struct Writer<'d> {
    dice: &'d mut Dice,
    out: String,
    /// Percentage of values that differ from those of the sample.
    changes: usize,
}

impl Writer<'_> {
    fn object(&mut self, members: &serde_json::Map<String, Value>, depth: usize) {
        let aside = ["standard", "delimiters", "interchange", "group", "transaction"];
        for (name, value) in members.iter().filter(|(name, _)| depth > 0 || !aside.contains(&name.as_str())) {
            let name = format!("'{name}'");
            match value {
                Value::Object(members) => {
                    self.line(depth, &format!("make {name} {{"));
                    self.object(members, depth + 1);
                    self.line(depth, "}");
                }
                Value::Array(all) if all.iter().all(Value::is_object) => {
                    for one in all.iter().filter_map(Value::as_object) {
                        self.line(depth, &format!("make {name} {{"));
                        self.object(one, depth + 1);
                        self.line(depth, "}");
                    }
                }
                Value::Array(all) => {
                    let values: Vec<String> = all.iter().map(|value| self.value(value)).collect();
                    self.line(depth, &format!("{name} = [{}]", values.join(", ")));
                }
                value => {
                    let text = self.value(value);
                    self.line(depth, &format!("{name} = {text}"));
                }
            }
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", depth * 2);
    }

    fn value(&mut self, value: &Value) -> String {
        let literal = match value {
            Value::String(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            value => value.to_string(),
        };
        if self.dice.throw(100) >= self.changes {
            return literal;
        }
        let is_text = value.is_string();
        let width = value.as_str().map_or(1, |text| text.chars().count().max(1)) + self.dice.throw(2);
        match (is_text, self.dice.throw(6)) {
            (true, 0) => format!("left(a, {width}) ?? {literal}"),
            (true, 1) => format!("left(b, {width})"),
            (true, 2) => format!("pad-left(left(b, {width}), {width}, \"0\")"),
            (true, 3) => format!("left(d, {width}) ?? \"\""),
            (true, 4) => format!("if n > 5 then left(a, {width}) else {literal}"),
            (true, _) => format!("left(joined(\" \", a, b), {width})"),
            (false, 0) => "n".to_owned(),
            (false, 1) => "fit(round(n, 0), 5, 0)".to_owned(),
            (false, 2) => format!("unsigned(fit(round(n, 0), 1, 0)) ?? {literal}"),
            (false, 3) => format!("if n > 5 then {literal}"),
            (false, _) => "0".to_owned(),
        }
    }
}

/// Generates maps to a guide that `sample` matches, and runs each at a level.
fn holds(world: &World, guide: &str, sample: &str, maps: usize, dice: &mut Dice, tally: &mut Tally) {
    world.write("sample.edi", sample);
    let ran = world.run(&format!("convert sample.edi -g {guide} --to jsonl --rejects sample.bad"));
    let document = ran.out().lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
    tally.guides += 1;
    let Some(Value::Object(document)) = document else {
        tally.without_sample += 1;
        return;
    };
    for _ in 0..maps {
        let changes = [0, 8, 25, 60][dice.throw(4)];
        let mut writer = Writer { dice, out: String::new(), changes };
        writer.object(&document, 0);
        let map = format!("source \"in.shape\"\ntarget out \"{guide}\"\n\nomit standard\n{}", writer.out);
        world.write("law.qmap", map);
        let rows: Vec<String> = (0..ROWS).map(|_| row(dice)).collect();
        world.write("law.jsonl", rows.join("\n") + "\n");
        let level = LEVELS[dice.throw(LEVELS.len())];
        let ran = world.run(&format!(
            "translate --map law.qmap law.jsonl -o law.edi --sender ZZ:S --receiver ZZ:R --output-level {level} --rejects law.bad --no-progress"
        ));
        tally.maps += 1;
        if ran.code == Some(2) {
            assert!(ran.err().contains("error["), "{guide}: {ran:?}");
            tally.refused += 1;
            continue;
        }
        assert!(matches!(ran.code, Some(0 | 1)), "{guide}: {ran:?}");
        let written = transactions(world);
        let rejected = world.read("law.bad").iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(written + rejected, ROWS, "{guide}: each document is in the output or in the rejects: {ran:?}");
        if written > 0 {
            let by = if level == "envelope" { String::new() } else { format!("-g {guide}") };
            let validated = world.run(&format!("validate law.edi {by} --level {level}"));
            let text = || String::from_utf8(world.read("law.qmap")).expect("UTF-8");
            assert_eq!(validated.code, Some(0), "{guide}, {level}: {}\n{}", validated.err(), text());
        }
        (tally.written, tally.rejected) = (tally.written + written, tally.rejected + rejected);
    }
}

fn row(dice: &mut Dice) -> String {
    let text = |dice: &mut Dice, max: usize| {
        let value = VALUES[dice.throw(VALUES.len())];
        if value.len() > max { "1" } else { value }
    };
    let (a, b, d) = (text(dice, 80), text(dice, 6), text(dice, 8));
    let n = ["0", "7", "-3", "12.5", "1234567.89"][dice.throw(5)];
    let members = [format!("\"a\":\"{a}\""), format!("\"b\":\"{b}\""), format!("\"n\":{n}"), format!("\"d\":\"{d}\"")];
    let kept: Vec<String> = members.into_iter().filter(|_| dice.throw(8) > 0).collect();
    format!("{{{}}}", kept.join(","))
}

fn world() -> World {
    let world = World::with([("in.shape", SOURCE.as_bytes())]);
    std::fs::create_dir(world.path("guides")).expect("made");
    world
}

/// The folder of the example guides.
struct Examples(PathBuf);

impl GuideResolver for Examples {
    fn read(&self, name: &str, _from: &str) -> Result<GuideText, ResolveError> {
        let path = self.0.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(GuideText { name: name.to_owned(), text }),
            Err(_) => Err(ResolveError::NotFound { tried: vec![path.display().to_string()] }),
        }
    }
}

#[test]
fn what_generated_maps_write_is_accepted() {
    let world = world();
    let examples = Examples(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/edi"));
    for entry in examples.0.read_dir().expect("the folder is there").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "guide") {
            world.write(&entry.file_name().to_string_lossy(), std::fs::read(entry.path()).expect("readable"));
        }
    }
    let (mut dice, mut tally) = (Dice(11), Tally::default());
    for name in ["850.guide", "810.guide", "835.guide", "837p.guide", "orders.guide", "invoic.guide"] {
        let text = examples.read(name, "").expect("the guide is there").text;
        let guide = parse_guide(name, &text, &examples, &quayline_core::Limits::default()).expect("it is good");
        for _ in 0..4 {
            let sample = sample(&guide, &mut dice);
            holds(&world, name, &sample, 4, &mut dice, &mut tally);
        }
    }
    assert!(tally.written > 200 && tally.rejected > 100, "{tally:?}");
    assert!(tally.refused * 2 < tally.maps && tally.without_sample * 2 < tally.guides, "{tally:?}");
}

/// Each run tests every eighth imported guide. `QUAYLINE_LAW_GUIDES=1` tests every guide, which takes minutes.
const ONE_OF: usize = 8;

/// Tests guides of the dictionaries that `scripts/dictionaries.sh` fetches.
#[test]
fn what_generated_maps_write_is_accepted_by_imported_guides() {
    let asked = std::env::var("QUAYLINE_LAW_GUIDES").ok();
    let one_of = asked.map_or(ONE_OF, |one_of| one_of.parse().expect("QUAYLINE_LAW_GUIDES is a number"));
    let root = std::env::var_os("QUAYLINE_DICTIONARIES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/dictionaries"), PathBuf::from);
    let folders: Vec<PathBuf> =
        std::fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let world = world();
    let (mut dice, mut tally) = (Dice(23), Tally::default());
    for name in ["pyx12", "x12-types", "smooks"] {
        let is = |path: &&PathBuf| {
            path.is_dir() && path.file_name().is_some_and(|of| of.to_string_lossy().starts_with(&format!("{name}-")))
        };
        let Some(folder) = folders.iter().find(is) else {
            eprintln!("skipped: what_generated_maps_write_is_accepted_by_imported_guides: {name} is not fetched");
            continue;
        };
        let folder = if name == "pyx12" { folder.join("pyx12/map") } else { folder.clone() };
        let imported = import_all(&[folder]).unwrap_or_else(|findings| panic!("{findings}"));
        for guide in imported.guides.iter().step_by(one_of) {
            world.write("g.guide", write_guide(guide));
            let sample = sample(guide, &mut dice);
            holds(&world, "g.guide", &sample, 1, &mut dice, &mut tally);
        }
    }
    eprintln!("{tally:?}");
    if tally.guides > 0 {
        assert!(tally.without_sample * 2 < tally.guides && tally.written > 200, "{tally:?}");
    }
}
