//! Randomly damaged descriptions give findings or a consistent shape, and never a panic.
//!
//! `QUAYLINE_MUTANTS=200000 cargo test -p quayline-project mutants` tries more of them than a test run has time for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use quayline_project::{ShapeFile, ShapeOptions, outline_of, parse_outline};

/// A small random number generator with a seed, so that a run can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).expect("44 bits") % sides.max(1)
    }
}

/// Pieces to insert: keywords and signs, numbers that are too large, characters of several bytes.
const PIECES: &[&str] = &[
    "",
    " ",
    "\n",
    "\t",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "/>",
    "=",
    ":",
    ",",
    ".",
    "#",
    "*",
    "?",
    "..",
    "0",
    "-1",
    "999999999999",
    "18446744073709551616",
    "é",
    "\u{1f600}",
    "\u{0}",
    "  ",
    "null",
    "true",
    "1e9",
    "text",
    "text(0)",
    "decimal(99,-9)",
    "decimal(2,5)",
    "unsigned(0)",
    "*5..2",
    "*..",
    "[[record]]\n",
    "[[field]]\n",
    "length = 0\n",
    "start = 0\n",
    "decimals = 40\n",
    "parent = \"head\"\n",
    "\"$ref\": \"#\"",
    "\"$ref\": \"a.json#/x\"",
    "\"type\": [\"null\"]",
    "\"allOf\": [{}]",
    "\"enum\": []",
    "\"multipleOf\": 0",
    "\"maxLength\": -1",
    "\"items\": true",
    "\"properties\": 1",
    "\"maximum\": 1e400",
    "minOccurs=\"0\"",
    "maxOccurs=\"unbounded\"",
    "maxOccurs=\"99999999999\"",
    "type=\"xs:nothing\"",
    "ref=\"x:y\"",
    "name=\"\"",
    "name=\"a b\"",
    "<xs:element ref=\"a\"/>",
    "<xs:totalDigits value=\"0\"/>",
    "<xs:any/>",
    "mixed=\"true\"",
    "base=\"b\"",
    "OCCURS 0 TIMES",
    "OCCURS 1 TO 99999 DEPENDING ON A",
    "REDEFINES A",
    "PIC X(99999999)",
    "PIC S9(40)V9(40)",
    "PIC 9V9V9",
    "COMP-3",
    "COMP-1",
    "01 A.",
    "88 B VALUE 1.",
    "COPY A.",
    "REPLACING",
    "RENAMES",
    "66 R RENAMES A THRU B.",
    "VALUE",
    "SIGN SEPARATE",
    "SYNC",
    "BLANK WHEN ZERO",
    ".",
];

/// Returns all descriptions of the repository.
fn seeds() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seeds = Vec::new();
    for folder in ["examples/maps/shapes", "examples/edi", "examples"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_owned();
            let known = ["cpy", "toml", "json", "xsd", "guide"].contains(&extension.as_str());
            if known
                && let Ok(text) = std::fs::read_to_string(&file)
                && text.len() < 8_000
            {
                seeds.push((extension, text));
            }
        }
    }
    seeds.push((
        "shape".to_owned(),
        "order\n  number text(22)\n  lines*1..1000\n    quantity decimal(9,3)\n    notes* text(80)\n  'ship to'?\n    name text\n".to_owned(),
    ));
    seeds.push((
        "json".to_owned(),
        r##"{"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/c"}}},"c":{"type":["string","null"],"enum":["x"]}},"type":"array","items":{"allOf":[{"$ref":"#/$defs/a"},{"type":"object","required":["d"],"properties":{"d":{"type":"array","items":{"oneOf":[{"type":"integer","minimum":0},{"type":"number","multipleOf":0.01}]}}}}]}}"##.to_owned(),
    ));
    seeds.push((
        "xsd".to_owned(),
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"><xs:complexType mixed="true"><xs:choice maxOccurs="2"><xs:element name="b" type="t" minOccurs="0"/><xs:group ref="g"/></xs:choice><xs:attributeGroup ref="h"/></xs:complexType></xs:element><xs:complexType name="t"><xs:complexContent><xs:extension base="u"><xs:sequence><xs:element name="c" type="xs:date"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType><xs:complexType name="u"><xs:all><xs:element ref="a" minOccurs="0"/></xs:all></xs:complexType><xs:group name="g"><xs:sequence><xs:element name="d" type="s"/></xs:sequence></xs:group><xs:attributeGroup name="h"><xs:attribute name="i" use="required"/></xs:attributeGroup><xs:simpleType name="s"><xs:restriction base="xs:decimal"><xs:totalDigits value="5"/><xs:fractionDigits value="2"/></xs:restriction></xs:simpleType></xs:schema>"#.to_owned(),
    ));
    seeds
}

fn mutant(dice: &mut Dice, seeds: &[(String, String)], of: usize) -> String {
    let mut text: Vec<char> = seeds[of].1.chars().collect();
    let edits = if dice.roll(3) == 0 { 4 } else { 1 };
    for _ in 0..edits {
        let at = dice.roll(text.len() + 1);
        let to = (at + dice.roll(40)).min(text.len());
        match dice.roll(6) {
            0 => drop(text.drain(at..to)),
            1 => {
                let piece: Vec<char> = text[at..to].to_vec();
                let into = dice.roll(text.len() + 1);
                text.splice(into..into, piece);
            }
            2 => text.truncate(at.max(1)),
            3 => {
                // A piece of another description.
                let other: Vec<char> = seeds[dice.roll(seeds.len())].1.chars().collect();
                let from = dice.roll(other.len());
                let until = (from + dice.roll(80)).min(other.len());
                text.splice(at..at, other[from..until].iter().copied());
            }
            4 => {
                let piece = PIECES[dice.roll(PIECES.len())];
                text.splice(at..to, piece.chars());
            }
            _ => {
                let piece = PIECES[dice.roll(PIECES.len())];
                text.splice(at..at, piece.chars());
            }
        }
    }
    text.into_iter().collect()
}

#[test]
fn mutants_are_refused_or_hold_together() {
    let seeds = seeds();
    assert!(seeds.len() > 15, "{}", seeds.len());
    let count = std::env::var("QUAYLINE_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(1_500usize);
    let folder = tempfile::tempdir().expect("a folder");
    for (extension, text) in &seeds {
        std::fs::write(folder.path().join(format!("a.{extension}")), text).expect("a file");
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 | 1);
    let (mut loaded, mut forms) = (0usize, BTreeSet::new());
    for number in 0..count {
        let of = number % seeds.len();
        let extension = &seeds[of].0;
        let text = mutant(&mut dice, &seeds, of);
        let name = format!("mutant.{extension}");
        std::fs::write(folder.path().join(&name), &text).expect("a file");
        let done = std::panic::catch_unwind(|| ShapeFile::load(folder.path(), &name, &ShapeOptions::default()));
        let Ok(done) = done else { panic!("{extension} {number}: a panic of\n{text}") };
        match done {
            Ok(shape) => {
                loaded += 1;
                forms.insert(extension.clone());
                let outline = outline_of(shape.shape());
                let again = parse_outline("again.shape", &outline);
                let again = again.unwrap_or_else(|findings| panic!("{findings}\n{outline}\nof {extension}\n{text}"));
                assert_eq!(outline_of(&again), outline, "{text}");
                let _ = (shape.source().is_ok(), shape.target().is_ok(), shape.target_shape().len());
            }
            Err(findings) => {
                assert!(!findings.0.is_empty(), "refused without a word: {text}");
                assert!(!findings.to_string().is_empty());
            }
        }
    }
    assert!(loaded * 50 > count, "{loaded} of {count} are shapes");
    assert!(forms.len() >= 4, "{forms:?}");
}
