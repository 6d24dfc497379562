//! Failures around EDI are reported with their cause and a remedy, unaffected by the files of an earlier run.

use expect_test::expect;

use crate::edi::{examples, po};
use crate::world::World;

/// `inspect` called 560 bytes of gzip "560 bytes of EDI", and the hint of the others was to inspect.
#[test]
fn what_is_no_readable_edi_is_named() {
    let text = po();
    let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let ebcdic = crate::world::ebcdic(&text);
    let world = World::with([("wide.x12", &utf_16[..]), ("host.x12", &ebcdic[..]), ("none.x12", b"Dear Sir")]);
    world.write("packed.x12", b"BZh91AY");
    for command in ["inspect", "validate", "convert"] {
        for (file, what) in [
            (
                "wide.x12",
                "is in UTF-16, which is not read as EDI\n\nhint: `iconv -f UTF-16LE -t UTF-8 wide.x12 | quayline",
            ),
            (
                "host.x12",
                "is in EBCDIC, which is not read as EDI\n\nhint: `iconv -f IBM037 -t ISO-8859-1 host.x12 | quayline",
            ),
            ("packed.x12", "is compressed (bzip2)\n\nhint: `bzip2 -dc packed.x12 | quayline"),
        ] {
            let ran = world.run(&format!("{command} {file}"));
            assert!(ran.err().contains(&format!("{file} {what} {command} -")), "{command} {file}: {}", ran.err());
            ran.code(2);
        }
    }
    world.run("inspect none.x12").check(expect![[r#"
        exit 1
        --- stdout
        none.x12  8 bytes, no EDI

          0 interchanges, 0 functional groups, 0 transactions, 0 segments
        --- stderr
        error[EDI-002]: no interchange found: nothing begins with ISA, UNA or UNB
          at none.x12, byte 0

        hint: TRADACOMS (STX) and interactive EDIFACT (UIB) are not supported; `quayline inspect --as data` proposes what else the file may be
    "#]]);
}

/// The system ends a process that writes beyond the limit, unless the process asks for an error.
#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_is_told() {
    let world = World::new();
    let many: String = (0..400).map(|_| po()).collect();
    world.write("many.x12", many.replace("SE*4*0002", "SE*3*0002"));
    let ran = world.shell("ulimit -f 20; \"$Q\" convert many.x12 -o many.jsonl");
    let told = ran.err();
    assert!(told.starts_with("error[CNV-001]: cannot write: file too large\n  at many.jsonl.partial"), "{told}");
    assert!(told.contains("hint: the shell (`ulimit -f`) or the file system allows no larger file"), "{told}");
    assert!(ran.code != Some(0) && ran.code.is_some(), "{ran:?}");
}

#[test]
fn what_an_earlier_run_left_is_not_claimed() {
    let world = examples();
    world.write("out.jsonl.partial", "of another run");
    let ran = world.run("convert claims.x12 -o out.jsonl --rejects out.jsonl");
    assert!(!ran.err().contains("CLI-004"), "{}", ran.err());
    assert_eq!(world.read("out.jsonl.partial"), b"of another run");
    // Ends that do not fit together leave nothing.
    let ran = world.run("convert claims.x12 --guide 837p.guide -o out.csv");
    assert!(ran.err().contains("FLAT-002") && !ran.err().contains("CLI-004"), "{}", ran.err());
    assert!(!world.files().contains(&"out.csv.partial".to_owned()), "{:?}", world.files());
}

/// Regression: the output was "envelopes checked: no findings", without a note that the level had no effect.
#[test]
fn a_level_without_a_guide_is_told() {
    examples().run("validate claims.x12 --level rules").check(expect![[r#"
        exit 0
        --- stderr
        claims.x12: 1 transaction in 1 interchange, envelopes checked: no findings
        --level rules looks at guides, and none is given: name one with --guide
    "#]]);
}

/// Regression: the output was "1 transaction acknowledged" for one that was not acknowledged, and later an empty file.
#[test]
fn an_answer_that_is_none_is_told() {
    let world = examples();
    world.run("validate claims.x12 --ack contrl").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: `--ack contrl` acknowledges EDIFACT, and the interchange is X12
          at claims.x12, byte 0

        hint: write --ack auto, which answers both standards, or --ack 999 or --ack 997
    "#]]);
    for command in ["validate claims.x12", "validate claims.x12 -j 2"] {
        let ran = world.run(&format!("{command} --ack contrl --ack-output out.contrl"));
        assert!(ran.err().contains("`--ack contrl` acknowledges EDIFACT"), "{command}: {}", ran.err());
        ran.code(2);
    }
    for kind in ["997", "999", "ta1"] {
        let ran = world.run(&format!("validate orders.edi --ack {kind} --ack-output out.{kind}"));
        let expected = format!("`--ack {kind}` acknowledges X12, and the interchange is EDIFACT");
        assert!(
            ran.err().contains(&expected)
                && ran.err().contains("hint: write --ack auto, which answers both standards, or --ack contrl"),
            "{}",
            ran.err()
        );
        ran.code(2);
    }
    let left = world.files();
    assert!(!left.iter().any(|file| file.starts_with("out.")), "{left:?}");
    for arguments in
        ["claims.x12 --ack 997", "claims.x12 --ack auto", "orders.edi --ack contrl", "orders.edi --ack auto"]
    {
        assert_ne!(world.run(&format!("validate {arguments}")).out(), "", "{arguments}");
    }
}

#[test]
fn a_folder_is_no_file() {
    let world = World::new();
    world.write("folder/x", "");
    for command in ["validate", "inspect", "convert"] {
        let ran = world.run(&format!("{command} folder"));
        assert!(ran.err().contains("is a directory\n  at folder\n\nhint: name a file, not a folder"), "{}", ran.err());
        ran.code(2);
    }
}

/// Every limit is reported with the option that changes it, and the option changes it.
#[test]
fn limits_are_told_with_their_option() {
    let world = World::new();
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    world.write("deep.json", deep);
    world.write("po.x12", po());
    for (line, limit) in [
        ("convert deep.json --from json --to edi -o out.x12", "--limit depth=N"),
        ("validate po.x12 --limit segment-bytes=10", "--limit segment-bytes=N"),
        ("validate po.x12 --limit segment-elements=3", "--limit segment-elements=N"),
    ] {
        let ran = world.run(line);
        let told = ran.out() + &ran.err();
        assert!(told.contains(limit), "{line}: {told}");
    }
    world.run("validate po.x12 --limit nonsense=3").code(2);
}
