//! Bytes of interchanges that documents cannot hold: invalid UTF-8, release characters, tags.

use crate::world::{Ran, World};

/// An interchange in this character set, with the text in the first of two messages.
fn interchange(set: &str, text: &[u8]) -> Vec<u8> {
    let header = format!("UNB+{set}:4+S+R+20260401:1200+1'UNH+1+ORDERS:D:96A:UN'BGM+220+");
    [header.as_bytes(), text, b"+9'UNT+3+1'UNH+2+ORDERS:D:96A:UN'BGM+220+A+9'UNT+3+2'UNZ+2+1'"].concat()
}

/// Translates the example of orders in this character set, with the first `from` replaced.
fn map_of_orders(world: &World, set: &str, from: &[u8], to: &[u8]) -> Ran {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi");
    let orders = std::fs::read_to_string(format!("{examples}/orders.edi")).expect("the example").replace("UNOC", set);
    let at = orders.as_bytes().windows(from.len()).position(|bytes| bytes == from).expect("it is there");
    let orders = orders.as_bytes();
    world.write("orders.edi", [&orders[..at], to, &orders[at + from.len()..]].concat());
    world.write("o.shape", "o\n  number text\n");
    world.write("m.qmap", format!("source \"{examples}/orders.guide\"\ntarget o \"o.shape\"\nnumber = BGM.BGM02\n"));
    world.run("translate -m m.qmap orders.edi -o m.jsonl --rejects rejected-maps")
}

/// Regression: the bytes came back as the UTF-8 of other letters, with exit code 0.
#[test]
fn invalid_utf_8_is_rejected_and_its_bytes_go_to_the_rejects() {
    let bad = interchange("UNOW", b"\xc3\xa9\xff");
    let world = World::with([("u.edi", &bad[..])]);
    let ran = world.run("convert u.edi -o u.jsonl --rejects rejected");
    let told = ran.err();
    assert!(ran.code(1).err().contains("error[EDI-027]: the text has bytes that are not valid UTF-8"), "{told}");
    assert!(told.contains("hint: name the actual character set with `--encoding`"), "{told}");
    assert_eq!(world.read("u.jsonl").iter().filter(|byte| **byte == b'\n').count(), 1);
    let rejects = world.files().into_iter().find(|name| name.starts_with("rejected") && name != "rejected.jsonl");
    let rejects = world.read(&rejects.expect("the rejected bytes"));
    assert!(rejects.windows(3).any(|bytes| bytes == b"\xc3\xa9\xff"));
    let ran = world.run("convert u.edi -o u.csv --rejects rejected-rows");
    assert!(ran.code(1).err().contains("error[EDI-027]"), "{}", ran.err());
    assert_eq!(world.read("u.csv").iter().filter(|byte| **byte == b'\n').count(), 4, "a head and three segments");
    world.run("convert u.edi -o latin.jsonl --encoding iso-8859-1").code(0);
    world.run("convert latin.jsonl -o latin.edi --encoding iso-8859-1").code(0);
    assert_eq!(world.read("latin.edi"), bad);

    let ran = map_of_orders(&world, "UNOW", b"PO7001", b"PO\xc3\xa9\xff");
    assert!(ran.code(1).err().contains("error[EDI-027]"), "{}", ran.err());
    assert_eq!(world.read("m.jsonl"), b"{\"number\":\"PO7002\"}\n");

    let ran = world.run("validate u.edi --ack contrl");
    let told = ran.out() + &ran.err();
    assert!(told.contains("error[EDI-027]") && told.contains("UCM+1+ORDERS:D:96A:UN+4"), "{told}");
    assert!(told.contains("UCI+1+S+R+7") && !told.contains("UCM+2"), "only one message is rejected: {told}");
    ran.code(1);
}

/// Regression: the character disappeared, and `validate --strict` had no findings.
#[test]
fn a_needless_release_character_is_a_warning() {
    let world = World::with([("r.edi", &interchange("UNOC", b"WHY? NOW")[..])]);
    let told = "[EDI-028]: a release character precedes a character that needs none";
    assert!(world.run("convert r.edi -o r.jsonl").code(0).err().contains(&format!("warning{told}")));
    assert!(world.run("validate r.edi").code(0).out().contains(&format!("warning{told}")));
    assert!(world.run("validate r.edi --strict").code(1).out().contains(&format!("error{told}")));
    let ran = map_of_orders(&world, "UNOC", b"PO7001", b"PO? 7001");
    assert!(ran.code(0).err().contains(&format!("warning{told}")), "{}", ran.err());
}

/// Regression: documents held tags that writing refuses.
#[test]
fn tags_that_cannot_be_written_are_refused_on_reading() {
    let world = World::new();
    for tag in ["N?", "S+R", "N M"] {
        let text = format!(
            "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*T*:~\
             GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~{tag}*A~SE*3*0001~GE*1*1~IEA*1*000000001~"
        );
        world.write("t.x12", text);
        let ran = world.run("validate t.x12 --level envelope");
        assert!(ran.code(1).out().contains("error[EDI-019]"), "{tag}: {}", ran.out());
    }
}

const ENCODED_GUIDE: &str = "guide T \"t\"\nstandard EDIFACT\nversion D:96A:UN\ntransaction ORDERS\nelement 1001 an..3 \"a\"\n\
    segment BGM\n  1001 M\nsegment FTX\n  1001 O\nstructure\n  segment BGM M 1\n  segment FTX O 5\n";

/// `convert` and `translate` counted the characters of the set in UNB, so they refused documents that `validate` accepts, and the other way round.
#[test]
fn lengths_count_the_characters_of_the_named_set() {
    let orders =
        |text: &str| format!("UNB+UNOC:3+A+B+260401:1200+1'UNH+1+ORDERS:D:96A:UN'BGM+22'FTX+{text}'UNT+4+1'UNZ+1+1'");
    let world = World::new();
    world
        .write("g.guide", ENCODED_GUIDE)
        .write("two.guide", ENCODED_GUIDE.replace("an..3", "an2"))
        .write("x.edi", orders("日本"))
        .write("one.edi", orders("é"))
        .write("o.shape", "o\n  t? text\n")
        .write("m.qmap", "source \"g.guide\"\ntarget o \"o.shape\"\nt = FTX[0].FTX01\n");
    world.run("validate x.edi -g g.guide -e utf-8").code(0);
    let ran = world.run("convert x.edi -g g.guide -e utf-8 -o x.jsonl");
    assert!(ran.code(0).err().is_empty(), "{}", ran.err());
    world.run("convert x.jsonl -g g.guide -e utf-8 -o again.edi").code(0);
    assert_eq!(world.read("again.edi"), world.read("x.edi"));
    let ran = world.run("translate -m m.qmap x.edi --from-encoding utf-8 --to jsonl");
    assert_eq!(core::str::from_utf8(&ran.code(0).stdout).expect("UTF-8"), "{\"t\":\"日本\"}\n");
    for command in ["validate one.edi -g two.guide -e utf-8", "convert one.edi -g two.guide -e utf-8 --to jsonl"] {
        let ran = world.run(command);
        let out = core::str::from_utf8(&ran.code(1).stdout).expect("UTF-8");
        assert!(format!("{out}{}", ran.err()).contains("EDI-112"), "{command}");
    }
}

/// Delimiters are bytes of ASCII, and so were all texts of ASCII; only other bytes were in the named page.
#[test]
fn edi_in_ebcdic_or_utf_16_is_refused() {
    let world = World::with([("x.edi", &interchange("UNOC", b"caf\xe9")[..])]);
    world
        .write("m.qmap", "source \"g.guide\"\ntarget o \"o.shape\"\nt = FTX[0].FTX01\n")
        .write("g.guide", ENCODED_GUIDE)
        .write("o.shape", "o\n  t? text\n");
    for page in ["cp037", "utf-16le", "ibm1047"] {
        for command in
            ["convert x.edi --to jsonl -e", "validate x.edi -e", "translate -m m.qmap x.edi --to jsonl --from-encoding"]
        {
            let ran = world.run(&format!("{command} {page}"));
            assert!(
                ran.code(2).err().contains("error[CLI-003]: Quayline does not read or write EDI in "),
                "{}",
                ran.err()
            );
        }
    }
    world.run("convert x.edi --to jsonl -e windows-1252").code(0);
}

/// Regression: a document whose end was before the block that showed it ended the run with an internal error, and its rejects had the white space behind it
/// with one thread only.
#[test]
fn white_space_and_long_segments_behind_a_document_end_no_run() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi/850.guide");
    let isa =
        "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*P*:~";
    let open = format!("{isa}GS*PO*A*B*20260401*1200*1*X*005010~ST*850*0001~BEG*00*SA*X**20260401~");
    let close = "GE*1*1~IEA*1*000000001~";
    let world = World::new();
    for (name, text, codes) in [
        ("header.x12", isa.to_owned() + &"\n".repeat(300_000), &["EDI-030"][..]),
        ("blank.x12", format!("{open}{}{close}", "\n".repeat(300_000)), &["EDI-030"]),
        ("long.x12", format!("{open}{}~{close}", "X".repeat(1_500_000)), &["EDI-010", "EDI-030"]),
        ("next.x12", format!("{open}{}ST*850*0002~SE*2*0002~{close}", " \r\n".repeat(100_000)), &["EDI-030"]),
    ] {
        world.write(name, text);
        let mut rejects = Vec::new();
        for options in ["-j 1", "-j 2", &format!("-g {guide} -j 1"), &format!("-g {guide} -j 2"), "--page 1K"] {
            let ran = world.run(&format!("convert {name} --to jsonl --rejects r {options} -o out"));
            for code in codes {
                assert!(ran.code(1).err().contains(code), "{name} {options}: {}", ran.err());
            }
            rejects.push((options.to_owned(), world.read("r")));
        }
        for two in [&rejects[..2], &rejects[2..4]] {
            assert!(two[0].1 == two[1].1, "{name}: {} and {} reject other bytes", two[0].0, two[1].0);
        }
        assert!(rejects[0].1.len() < 1_000, "{name}");
    }
}

/// Regression: `convert` reported what follows from a missing terminator, with a remedy that made the count wrong, and no segment without elements.
#[test]
fn convert_and_validate_find_the_same() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi");
    let world = World::new();
    let codes = |text: &str| {
        let mut codes: Vec<String> =
            text.match_indices("[EDI-").map(|(at, _)| text[at + 1..at + 8].to_owned()).collect();
        codes.sort();
        codes
    };
    let x12 = std::fs::read_to_string(format!("{examples}/850.x12")).expect("the example");
    let joined = x12.replacen("FOB*PP~\n", "FOB*PP", 1);
    assert_ne!(joined, x12);
    world.write("joined.x12", joined);
    let bare = "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000001*0*P*:~GS*PO*A*B*20260401*1200*1*X*005010~ST*850*0001~REF~N1~N2**~SE*5*0001~GE*1*1~IEA*1*000000001~";
    world.write("bare.x12", bare);
    let guide = format!("joined.x12 -g {examples}/850.guide");
    for (file, expected, exit) in [
        (guide.as_str(), &["EDI-022"][..], 1),
        ("bare.x12", &["EDI-026"; 3], 0),
        ("bare.x12 --strict", &["EDI-026"; 3], 1),
    ] {
        let validated = world.run(&format!("validate {file}"));
        let out = validated.code(exit).out() + &validated.err();
        assert_eq!(codes(&out), expected, "{out}");
        for options in ["-j 1", "-j 2", "--page 1K"] {
            let ran = world.run(&format!("convert {file} --to jsonl {options} --rejects r -o out"));
            assert_eq!(codes(&ran.code(exit).err()), expected, "{file} {options}: {}", ran.err());
        }
    }
    let rows = world.run("convert bare.x12 --strict --rows --to csv --rejects r -o out");
    assert_eq!(codes(&rows.code(1).err()), ["EDI-026"; 3], "{}", rows.err());
}
