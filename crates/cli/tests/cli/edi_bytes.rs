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
