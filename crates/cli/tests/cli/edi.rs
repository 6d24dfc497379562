//! EDI on the command line: inspect, convert, validate, acknowledge.

use std::path::Path;

use expect_test::expect;

use crate::world::World;

const ISA: &str =
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~";

/// Two purchase orders; the second counts its segments wrong.
fn po() -> String {
    format!(
        "{ISA}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*00*SA*P1**20260401~SE*3*0001~ST*850*0002~BEG*00*SA*P2**20260401~SE*4*0002~GE*2*1~IEA*1*000000001~"
    )
}

/// The examples of the repository.
fn examples() -> World {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/edi");
    let world = World::new();
    for entry in std::fs::read_dir(folder).expect("the examples are there") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        world.write(name, std::fs::read(&path).expect("readable"));
    }
    world
}

#[test]
fn inspect_shows_what_is_in_it() {
    examples().run("inspect claims.x12").check(expect![[""]]);
    examples().run("inspect orders.edi").check(expect![[""]]);
    let both = [po().as_bytes(), b"\n-- mail --\n", b"UNB+UNOA:1+A+B+260401:1200+1'UNZ+0+1'"].concat();
    World::with([("both", both.as_slice())]).run("inspect both --as edi").check(expect![[""]]);
}

#[test]
fn a_bad_transaction_stops_a_conversion_or_goes_to_the_rejects() {
    let world = World::with([("po.x12", po().as_bytes())]);
    world.run("convert po.x12 -o po.jsonl").check(expect![[""]]);
    world.run("convert po.x12 -o po.jsonl --rejects bad.x12 --stats").code(1);
    assert_eq!(world.files(), ["bad.x12", "bad.x12.findings.jsonl", "po.jsonl", "po.jsonl.partial", "po.x12"]);
    let bad = String::from_utf8(world.read("bad.x12")).expect("ASCII");
    assert!(bad.ends_with("ST*850*0002~BEG*00*SA*P2**20260401~SE*4*0002~GE*1*1~IEA*1*000000001~"), "{bad}");
}

#[test]
fn conversions_go_both_ways() {
    let world = examples();
    for (file, guide) in [("claims.x12", "837p.guide"), ("orders.edi", "orders.guide")] {
        for way in [String::new(), format!(" --guide {guide}"), format!(" --guide {guide} --names name")] {
            for format in ["jsonl", "json", "xml"] {
                world.run(&format!("convert {file}{way} -o out.{format} -j 2")).code(0);
                world.run(&format!("convert out.{format}{way} --to edi -o back -j 2")).code(0);
                assert!(world.read("back") == world.read(file), "{file} by {format}{way}");
            }
        }
        world.run(&format!("convert {file} -o out.csv")).code(0);
        world.run(&format!("convert {file} -o out.parquet")).code(0);
        world.run(&format!("convert {file} --guide {guide} -o out.parquet")).code(0);
    }
}

#[test]
fn streams_are_read_and_written() {
    let world = examples();
    let ran =
        world.shell("cat claims.x12 orders.edi | \"$Q\" convert - --from edi | \"$Q\" convert - --from json --to edi");
    let both = [world.read("claims.x12"), world.read("orders.edi")].concat();
    assert!(ran.code(0).stdout == both);
}

#[test]
fn validation_by_guide_tells_what_is_wrong() {
    let world = examples();
    world.run("validate claims.x12 orders.edi --guide 837p.guide --guide orders.guide").check(expect![[""]]);
    world
        .run("validate claims-with-faults.x12 --guide 837p.guide --ack 999 --ack-time 202604011300 --ack-control 77 -o answer.x12")
        .check(expect![[""]]);
    expect![[""]].assert_eq(&String::from_utf8(world.read("answer.x12")).expect("ASCII").replace("\r", ""));
    world.run("validate claims-with-faults.x12 --level envelope").code(0);
    world.run("validate claims-with-faults.x12 --guide 837p.guide --level notes --max-findings 0").check(expect![[""]]);
    // What a conversion by guide rejects is what validation finds.
    world.run("convert claims-with-faults.x12 --guide 837p.guide --rejects bad.x12 -o out.jsonl").code(1);
    assert!(world.read("bad.x12") == world.read("claims-with-faults.x12"));
}

#[test]
fn acknowledgments_go_to_standard_output_too() {
    let world = World::with([("po.x12", po().as_bytes())]);
    world.run("validate po.x12 --ack 997 --ack-time 202604011300").check(expect![[""]]);
    world.run("validate po.x12 --ack ta1 --ack-time 202604011300 --json").check(expect![[""]]);
    let orders = "UNB+UNOA:3+A+B+260401:1200+1'UNH+1+ORDERS:D:96A:UN'UNT+3+1'UNZ+1+1'";
    world.run_with("validate - --ack contrl --ack-time 202604011300", orders.as_bytes()).check(expect![[""]]);
}

#[test]
fn wrong_arguments_and_files_are_told() {
    let world =
        World::with([("po.x12", po().as_bytes()), ("packed.x12", &b"\x1f\x8b\x08\0\0\0"[..]), ("empty.edi", b"")]);
    world.write("none/readme", "no guide");
    for line in [
        "convert packed.x12",
        "validate packed.x12",
        "convert empty.edi",
        "validate empty.edi",
        "convert po.x12 --to record",
        "convert po.x12 -c po.cpy",
        "validate po.x12 --guide none",
        "validate po.x12 --guide missing.guide",
        "validate po.x12 --ack 997 -o po.x12",
        "validate po.x12 --ack 997 --ack-time 20261301",
        "validate missing.x12",
        "convert po.x12 --page 0",
    ] {
        let ran = world.run(line);
        assert!(matches!(ran.code, Some(1 | 2)), "{line}: {ran:?}");
        assert!(ran.err().contains("error") || ran.out().contains("error"), "{line}: {}", ran.err());
    }
    world.run("convert packed.x12").check(expect![[""]]);
    world.run("convert po.x12 --to record").check(expect![[""]]);
    world.run("validate po.x12 --guide none").check(expect![[""]]);
}

#[test]
fn the_answers_have_the_members_that_are_documented() {
    let world = World::new();
    let orders = "UNA:+.? '\r\nUNB+UNOA:3+A+B+260401:1200+1'\r\nUNH+1+ORDERS:D:96A:UN'\r\nUNT+3+1'\r\nUNZ+1+1'\r\n";
    world.write("orders.edi", orders);
    world.write("both.edi", format!("{}\n{orders}", po()));
    let ran = world.run("inspect both.edi --json");
    crate::json_docs::documented("quayline.interchanges/1", &ran.stdout, &["findings[]"]);
    let ran = world.run("validate orders.edi --ack contrl -o answer.edi --json");
    let lines: Vec<&[u8]> = ran.stdout.split(|byte| *byte == b'\n').collect();
    let line = |schema: &str| {
        *lines.iter().find(|line| line.windows(schema.len()).any(|part| part == schema.as_bytes())).expect("a line")
    };
    crate::json_docs::documented("quayline.validation/1", line("quayline.validation/1"), &["findings_by_code"]);
    crate::json_docs::documented("quayline.acknowledgment/1", line("quayline.acknowledgment/1"), &[]);
}
