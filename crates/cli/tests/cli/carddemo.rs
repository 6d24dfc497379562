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
        let ascii = decode(&folder, copybook, ascii, &["--encoding", "ascii", "--format", "lines:strip-cr"]);
        ebcdic.code(0);
        ascii.code(0);
        assert!(!ebcdic.stdout.is_empty(), "{copybook}");
        assert_eq!(ebcdic.out(), ascii.out(), "{copybook}");
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

fn decode(folder: &Path, copybook: &str, file: &str, more: &[&str]) -> Ran {
    let world = World::new();
    let mut command = world.command(["convert"]);
    command.arg(folder.join(file)).arg("--copybook").arg(folder.join(copybook)).args(more);
    Ran::of(command.output().expect("the command runs"))
}
