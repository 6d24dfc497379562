//! Real EBCDIC files of the corpus against their ASCII twins, and back to the same bytes.

use std::fs;
use std::path::Path;

use crate::world::{Ran, World, corpus};

/// Copybook, EBCDIC file, ASCII twin.
const FILES: [(&str, &str, &str); 4] = [
    ("CVACT01Y.cpy", "ACCTDATA.ebcdic", "acctdata.ascii.txt"),
    ("CVACT02Y.cpy", "CARDDATA.ebcdic", "carddata.ascii.txt"),
    ("CVCUS01Y.cpy", "CUSTDATA.ebcdic", "custdata.ascii.txt"),
    ("CVTRA03Y.cpy", "TRANTYPE.ebcdic", "trantype.ascii.txt"),
];

#[test]
fn ebcdic_files_decode_to_their_ascii_twins() {
    let Some(folder) = corpus("data/carddemo") else { return };
    for (copybook, ebcdic, ascii) in FILES {
        let ebcdic = decode(&folder, copybook, ebcdic, &["--encoding", "cp037"]);
        let ascii = decode(&folder, copybook, ascii, &["--encoding", "ascii", "--framing", "lines:strip-cr"]);
        ebcdic.code(0);
        ascii.code(0);
        let (ebcdic, ascii) = (ebcdic.out(), ascii.out());
        assert_eq!(ebcdic.lines().count(), ascii.lines().count(), "{copybook}");
        let differ = (1..).zip(ebcdic.lines().zip(ascii.lines())).filter(|(_, (a, b))| a != b);
        let differ: Vec<(usize, String)> = differ.map(|(record, (a, b))| (record, members_that_differ(a, b))).collect();
        // The files themselves differ in one field: the EBCDIC one was edited by hand.
        let known = if copybook == "CVACT01Y.cpy" { vec![(49, "ACCT-ADDR-ZIP".to_owned())] } else { vec![] };
        assert_eq!(differ, known, "{copybook}");
    }
}

#[test]
fn ebcdic_files_come_back_byte_for_byte() {
    let Some(folder) = corpus("data/carddemo") else { return };
    for (copybook, ebcdic, _) in FILES {
        let decoded = decode(&folder, copybook, ebcdic, &["--encoding", "cp037", "--preserve"]);
        decoded.code(0);
        let world = World::with([("in.jsonl", decoded.stdout.as_slice())]);
        let copybook = folder.join(copybook);
        let arguments = ["convert", "in.jsonl", "--encoding", "cp037", "--preserve", "-o", "out.dat", "--copybook"];
        let mut command = world.command(arguments);
        Ran::of(command.arg(copybook).output().expect("the command runs")).code(0);
        assert!(world.read("out.dat") == fs::read(folder.join(ebcdic)).expect("the file is there"), "{ebcdic} differs");
    }
}

/// Names of the members that differ, joined by a blank.
fn members_that_differ(a: &str, b: &str) -> String {
    let [a, b]: [serde_json::Map<String, serde_json::Value>; 2] =
        [a, b].map(|line| serde_json::from_str(line).expect("a line is an object"));
    a.iter()
        .filter(|(name, value)| b.get(*name) != Some(value))
        .map(|(name, _)| name.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

fn decode(folder: &Path, copybook: &str, file: &str, more: &[&str]) -> Ran {
    let world = World::new();
    let mut command = world.command(["convert"]);
    command.arg(folder.join(file)).arg("--copybook").arg(folder.join(copybook)).args(more);
    Ran::of(command.output().expect("the command runs"))
}
