//! Record files in practice: bytes around the records, several copybooks, one file for each type, origins of records.

use crate::world::World;

const CUSTOMER: &str = "       01 CUSTOMER.\n          05 KIND PIC X.\n          05 NAME PIC X(5).\n";
const ORDER: &str =
    "       01 ORDER-LINE.\n          05 KIND PIC X.\n          05 SKU PIC X(3).\n          05 QTY PIC 99.\n";
const TYPES: &str = "
[[field]]
name = \"SKU\"
rename = \"item\"
[records]
by = { offset = 0, length = 1 }
[[records.type]]
record = \"CUSTOMER\"
value = \"C\"
[[records.type]]
record = \"ORDER-LINE\"
value = \"O\"
";

fn world(types: &str) -> World {
    let world = World::new();
    world.write("customer.cpy", CUSTOMER).write("order.cpy", ORDER).write("types.toml", types);
    world.write("in.dat", "CANNA OAAA01OBBB02CBERT OCCC03");
    world
}

const BOTH: &str = "-c customer.cpy -c order.cpy -i types.toml -e ascii -f fixed";

#[test]
fn each_record_type_becomes_a_file_of_its_own() {
    let world = world(TYPES);
    std::fs::create_dir(world.path("out")).expect("a folder");
    world.run(&format!("convert in.dat {BOTH} --record-number no -o out --to jsonl --by-type")).code(0);
    let text = |name: &str| String::from_utf8(world.read(name)).expect("text");
    assert_eq!(
        text("out/in-CUSTOMER.jsonl"),
        "{\"CUSTOMER\":{\"KIND\":\"C\",\"NAME\":\"ANNA\",\"no\":1}}\n{\"CUSTOMER\":{\"KIND\":\"C\",\"NAME\":\"BERT\",\"no\":4}}\n"
    );
    assert_eq!(text("out/in-ORDER-LINE.jsonl").lines().count(), 3);
    assert!(text("out/in-ORDER-LINE.jsonl").contains("{\"KIND\":\"O\",\"item\":\"CCC\",\"QTY\":3,\"no\":5}"));
    // A record of no type is rejected once, and a copybook that describes a record again is refused.
    world.write("odd.dat", "CANNA X99999OAAA01");
    std::fs::create_dir(world.path("bad")).expect("a folder");
    let ran = world.run(&format!("convert odd.dat {BOTH} -o out --to csv --by-type --rejects bad"));
    assert!(ran.code(1).err().contains("1 of 3 records rejected"), "{}", ran.err());
    assert_eq!(world.read("bad/odd-CUSTOMER.dat"), b"X99999");
    assert_eq!(text("out/odd-ORDER-LINE.csv").lines().count(), 2);
    let ran = world.run(&format!("convert in.dat -c order.cpy {BOTH} -o out --to csv --by-type"));
    assert!(
        ran.code(2).err().contains("order.cpy and a copybook before it describe a record ORDER-LINE"),
        "{}",
        ran.err()
    );
    let ran = world.run(&format!("convert in.dat {BOTH} -o in.csv --by-type"));
    assert!(ran.code(2).err().contains("in.csv is not a folder"), "{}", ran.err());
    // Faults of the interface file are reported, and nested types stay with their parents.
    world.write("types.toml", format!("{TYPES}parent = \"CUSTOMER\"\n"));
    world.run(&format!("convert in.dat {BOTH} --parent-number of -o out --to jsonl --by-type")).code(0);
    assert!(
        text("out/in-CUSTOMER.jsonl")
            .lines()
            .nth(1)
            .expect("two")
            .contains("{\"KIND\":\"O\",\"item\":\"CCC\",\"QTY\":3,\"of\":4}")
    );
    world.write("types.toml", TYPES.replace("SKU", "SKUU"));
    let ran = world.run(&format!("convert in.dat {BOTH} -o out --to csv --by-type"));
    assert!(ran.code(2).err().contains("no record type has a field `SKUU`"), "{}", ran.err());
}

/// The output of one input replaced that of another if the name of a type ends the name of a file.
#[test]
fn files_of_two_types_never_have_one_name() {
    let types = TYPES.replace("record = \"CUSTOMER\"", "record = \"CUSTOMER\"\nrename = \"CUST\"");
    let types = types.replace("record = \"ORDER-LINE\"", "record = \"ORDER-LINE\"\nrename = \"OLD-CUST\"");
    let world = world(&types);
    world.write("in-OLD.dat", world.read("in.dat"));
    std::fs::create_dir(world.path("out")).expect("a folder");
    let ran = world.run(&format!("convert in.dat in-OLD.dat {BOTH} -o out --to jsonl --by-type"));
    assert!(ran.code(2).err().contains("in-OLD-CUST.jsonl would be written twice"), "{}", ran.err());
    assert_eq!(std::fs::read_dir(world.path("out")).expect("the folder").count(), 0);
}

#[test]
fn a_record_carries_its_number_and_file_in_every_format_and_back() {
    let world = world("record-number = \"no\"\nsource-file = \"from\"\n");
    world.write("a.dat", "CANNA CBERT ");
    let of = "-c customer.cpy -i types.toml -e ascii";
    let ran = world.run(&format!("convert a.dat {of} --to jsonl"));
    let lines = "{\"KIND\":\"C\",\"NAME\":\"ANNA\",\"no\":1,\"from\":\"a.dat\"}\n{\"KIND\":\"C\",\"NAME\":\"BERT\",\"no\":2,\"from\":\"a.dat\"}\n";
    assert_eq!(ran.code(0).out(), lines);
    for name in ["a.jsonl", "a.csv", "a.xml", "a.parquet", "a.arrow"] {
        world.run(&format!("convert a.dat {of} -o {name}")).code(0);
        assert_eq!(world.run(&format!("convert {name} {of} --to jsonl")).code(0).out(), lines, "{name}");
        world.run(&format!("convert {name} {of} -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), world.read("a.dat"), "{name}");
    }
    // The number is that of the file, for any number of threads and with headers.
    let many: String = (0..90_000).map(|n| format!("C{n:05}")).collect();
    world.write("many.dat", many);
    world.run(&format!("convert many.dat {of} -j 3 -o many.csv")).code(0);
    let text = String::from_utf8(world.read("many.csv")).expect("text");
    assert!(text.lines().skip(1).enumerate().all(|(n, line)| line == format!("C,{n:05},{},many.dat", n + 1)));
}

/// A header of bytes shifted every record, and no option passed over it: users cut files with `tail` and `head`.
#[test]
fn bytes_around_the_records_are_passed_over() {
    let world = world("skip-bytes-first = 10\nskip-bytes-last = 7\n");
    let of = "-c customer.cpy -i types.toml -e ascii";
    for records in [0, 1, 2, 60_000] {
        let body: String = (0..records).map(|n| format!("C{n:05}")).collect();
        world.write("framed.dat", format!("HEADER....{body}TRAILER"));
        for jobs in [1, 3] {
            world.run(&format!("convert framed.dat {of} -j {jobs} -o out.csv")).code(0);
            let text = String::from_utf8(world.read("out.csv")).expect("text");
            assert!(text.lines().skip(1).map(str::to_owned).eq((0..records).map(|n| format!("C,{n:05}"))), "{records}");
        }
        let ran = world.run_with(&format!("convert - --from record {of} -o out.csv"), &world.read("framed.dat"));
        ran.code(0);
        assert_eq!(String::from_utf8(world.read("out.csv")).expect("text").lines().count(), records + 1);
    }
    // A file of these bytes alone was called empty.
    world.write("framed.dat", "HEADER....TRAILER");
    let err = world.run(&format!("convert framed.dat {of} -o out.csv")).code(0).err();
    assert!(
        err.contains("warning[FRM-007]: the settings leave out all 17 bytes of the source, 10 first and 7 last: 0 records\n  at framed.dat\n")
            && err.contains("hint: if records were expected, correct `skip-bytes-first` and `skip-bytes-last`"),
        "{err}"
    );
    // Positions count from the start of the file; a file that ends too early is an error, and so is an incomplete record.
    world.write("n.cpy", "       01 R.\n          05 N PIC 9(3).\n");
    world.write("n.dat", "HEADER....1232X3TRAILER");
    let ran = world.run("convert n.dat -c n.cpy -i types.toml -e ascii");
    assert!(ran.code(1).err().contains("at n.dat, record 2, byte 13, "), "{}", ran.err());
    world.write("n.dat", "HEADER....12312TRAILER");
    let ran = world.run("convert n.dat -c n.cpy -i types.toml -e ascii --rejects rest.dat -o n.csv");
    ran.code(1);
    // Between fillers, so that the same settings read it.
    assert_eq!(world.read("rest.dat"), b"          12       ");
    for short in ["HEADER", "HEADER....TRAIL"] {
        world.write("n.dat", short);
        let ran = world.run("convert n.dat -c n.cpy -i types.toml -e ascii");
        assert!(
            ran.code(2).err().starts_with("error[CNV-029]: the file ends within the bytes to skip"),
            "{}",
            ran.err()
        );
    }
    world.write("n.dat", "xx123yy");
    let ran = world.run("convert n.dat -c n.cpy -e ascii --skip-bytes-first 2 --skip-bytes-last 2");
    assert_eq!(ran.code(0).out(), "{\"N\":123}\n");
    world.write("types.toml", "skip-bytes-last = 70000\n");
    let ran = world.run("convert n.dat -c n.cpy -i types.toml -e ascii");
    assert!(ran.code(2).err().contains("`skip-bytes-last` is 70000, more than 65536"), "{}", ran.err());
}

/// Fillers for what is skipped were made for any number, and before they were needed: a number of ten digits ended the process.
#[test]
fn what_may_be_skipped_has_limits_that_are_findings() {
    let world = world("");
    world.write("n.dat", "C00001");
    let types = |first: u64, last: u64| {
        format!(
            "[records]\nby = \"KIND\"\nskip-first = {first}\nskip-last = {last}\n[[records.type]]\nrecord = \"CUSTOMER\"\nvalue = \"C\"\n"
        )
    };
    let of = "-c customer.cpy -i types.toml -e ascii";
    world.write("types.toml", types(4_000_000_000, 18_446_744_073_709_551));
    let ran = world.run(&format!("convert n.dat {of}"));
    let err = ran.code(2).err();
    assert!(err.contains("error[PRJ-011]: `skip-first` is 4000000000, more than 10000"), "{err}");
    assert!(err.contains("`skip-last` is 18446744073709551, more than 1000"), "{err}");
    world.write("types.toml", types(10_000, 1_000));
    for rejects in ["", " --rejects r.dat"] {
        let ran = world.run(&format!("convert n.dat {of}{rejects}"));
        assert!(ran.code(0).err().contains("warning[CNV-036]"), "{}", ran.err());
    }
    let ran = world.run("convert n.dat -c customer.cpy -e ascii --skip-bytes-first 18446744073709551615");
    assert!(ran.code(2).err().contains("expected a number of bytes from 0 to 16777216"), "{}", ran.err());
}

/// They became files named `-`.
#[test]
fn files_beside_the_output_are_no_streams() {
    let world = world("");
    world.write("n.dat", "C00001");
    let ran = world.run("convert n.dat -c customer.cpy -e ascii --rejects -");
    assert!(ran.code(2).err().contains("write `/dev/stdout` for standard output"), "{}", ran.err());
    for option in ["--rejects -", "--profile -", "--ack 997 --ack-output -"] {
        let ran = world.run(&format!("translate --map m.qmap n.dat -o out {option}"));
        assert!(ran.code(2).err().contains("write `/dev/stdout` for standard output"), "{option}: {}", ran.err());
    }
    assert!(!world.path("-").exists());
    // Names that are not UTF-8 stay names.
    world.shell("\"$Q\" convert n.dat -c customer.cpy -e ascii --rejects \"$(printf 'r\\377')\" -o out.jsonl").code(0);
}

#[test]
fn dates_of_records_are_dates_in_every_format_and_come_back() {
    let world = World::new();
    let lines = ["01 R.", "   05 ID PIC 9.", "   05 DUE PIC 9(8).", "   05 PAID PIC X(10) OCCURS 2."];
    world.write("r.cpy", lines.map(|line| format!("       {line}\n")).concat());
    let paid = "[[field]]\nname = \"PAID\"\ndate = \"MM/dd/yyyy\"\nnull = \"spaces\"\n";
    let dates = format!("[[field]]\nname = \"DUE\"\ndate = \"yyyyMMdd\"\n{paid}");
    world.write("r.toml", &dates);
    world.write("r.dat", "12026112702/29/2024          20001010101/01/195012/31/2049");
    let of = "-c r.cpy -i r.toml -e ascii -f fixed";
    let documents = "\
{\"ID\":1,\"DUE\":\"2026-11-27\",\"PAID\":[\"2024-02-29\",null]}
{\"ID\":2,\"DUE\":\"0001-01-01\",\"PAID\":[\"1950-01-01\",\"2049-12-31\"]}
";
    assert_eq!(world.run(&format!("convert r.dat {of} --to jsonl")).code(0).out(), documents);
    for name in ["r.jsonl", "r.csv", "r.xml", "r.parquet", "r.arrow"] {
        world.run(&format!("convert r.dat {of} -o {name}")).code(0);
        world.run(&format!("convert {name} {of} -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), world.read("r.dat"), "{name}");
    }
    let csv = String::from_utf8(world.read("r.csv")).expect("text");
    assert!(csv.contains("1,2026-11-27,2024-02-29,\n"), "{csv}");
    let ran = world.run("inspect r.parquet");
    assert!(ran.code(0).out().contains("Date32"), "{}", ran.out());
    // What is not a date is refused, or null, or kept, as `--invalid` says; never null without a word.
    world.write("bad.dat", "10000000002/29/2024          ");
    let ran = world.run(&format!("convert bad.dat {of} --to jsonl"));
    ran.code(1).err();
    assert!(ran.err().starts_with("error[REC-038]: value is not a date of the field's pattern"), "{}", ran.err());
    assert!(
        ran.err().contains("DUE") && ran.err().contains("record 1") && ran.err().contains("hint: "),
        "{}",
        ran.err()
    );
    let ran = world.run(&format!("convert bad.dat {of} --invalid null --to jsonl"));
    assert_eq!(ran.code(0).out(), "{\"ID\":1,\"DUE\":null,\"PAID\":[\"2024-02-29\",null]}\n");
    assert!(ran.err().contains("REC-041"), "{}", ran.err());
    for name in ["raw.jsonl", "raw.csv", "raw.xml"] {
        world.run(&format!("convert bad.dat {of} --invalid raw -o {name}")).code(0);
        world.run(&format!("convert {name} {of} --invalid raw -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), world.read("bad.dat"), "{name}");
    }
    world.write("wrong.jsonl", "{\"ID\":1,\"DUE\":\"2026-11-31\",\"PAID\":[]}\n");
    let ran = world.run(&format!("convert wrong.jsonl {of} -o back.dat"));
    assert!(ran.code(1).err().contains("error[REC-038]") && ran.err().contains("$.DUE"), "{}", ran.err());
    for (pattern, said) in [
        (
            "yyyy-MM-dd",
            "error[PLN-008]: `DUE` has the date `yyyy-MM-dd`, which has separators, and the field is a number\n  at wrong.toml:2:8",
        ),
        (
            "yyyyMMd",
            "error[PRJ-013]: `yyyyMMd` is not a date: `d` is not one of yyyy, yy, MM, dd, DDD, HH, mm, ss\n  at wrong.toml:3:8",
        ),
    ] {
        world.write("wrong.toml", format!("[[field]]\nname = \"DUE\"\ndate = \"{pattern}\"\n"));
        let ran = world.run("convert r.dat -c r.cpy -i wrong.toml -e ascii -f fixed --to jsonl");
        assert!(ran.code(2).err().starts_with(said) && ran.err().contains("hint: "), "{}", ran.err());
    }
}

#[test]
fn level_88_names_stand_for_their_values_in_both_directions() {
    let world = World::new();
    let lines = [
        "01 R.",
        "   05 STATUS PIC X.",
        "      88 ACTIVE VALUE 'A'.",
        "      88 LIVE VALUE 'A' 'B'.",
        "      88 CLOSED VALUE 'C'.",
        "   05 CODES PIC S9(3) COMP-3 OCCURS 2.",
        "      88 NOTHING VALUE ZERO.",
        "      88 MINUS-ONE VALUE -1.",
        "   05 PLACE PIC X(5).",
        "      88 FIRST VALUE 'F'.",
    ];
    world.write("r.cpy", lines.map(|line| format!("       {line}\n")).concat());
    world.write(
        "r.toml",
        "[[field]]\nname = \"R\"\nvalues = \"names\"\n[[field]]\nname = \"STATUS\"\nrename = \"status\"\n",
    );
    let records = [
        &b"\xc1\x00\x0c\x00\x1d\xc6\x40\x40\x40\x40"[..],
        b"\xc2\x12\x3c\x00\x0d\xd3\xc1\xe2\xe3\x40",
        b"\xc3\x00\x1d\x00\x0c\x40\x40\x40\x40\x40",
    ];
    world.write("r.dat", records.concat());
    let of = "-c r.cpy -i r.toml -e cp037 -f fixed";
    let documents = "\
{\"status\":\"ACTIVE\",\"CODES\":[\"NOTHING\",\"MINUS-ONE\"],\"PLACE\":\"FIRST\"}
{\"status\":\"B\",\"CODES\":[\"123\",\"-0\"],\"PLACE\":\"LAST\"}
{\"status\":\"CLOSED\",\"CODES\":[\"MINUS-ONE\",\"NOTHING\"],\"PLACE\":\"\"}
";
    assert_eq!(world.run(&format!("convert r.dat {of} --to jsonl")).code(0).out(), documents);
    for name in ["r.jsonl", "r.csv", "r.xml", "r.parquet", "r.arrow"] {
        world.run(&format!("convert r.dat {of} -o {name}")).code(0);
        world.run(&format!("convert {name} {of} -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), world.read("r.dat"), "{name}");
    }
    // A text that is the name of another value would come back as that value.
    world.write("bad.dat", b"\xc1\x00\x0c\x00\x1d\xc6\xc9\xd9\xe2\xe3");
    let ran = world.run(&format!("convert bad.dat {of} --to jsonl"));
    assert!(ran.code(1).err().starts_with("error[REC-036]: "), "{}", ran.err());
    let ran = world.run("convert r.dat -c r.cpy -e cp037 --to jsonl");
    assert!(ran.code(0).out().starts_with("{\"STATUS\":\"A\",\"CODES\":[0,-1],\"PLACE\":\"F\"}"), "{}", ran.out());
}

/// `16777217` became 16777216 in COMP-1, and `0.12345675` the nearest hexadecimal float, without a word.
#[test]
fn numbers_that_a_float_rounds_are_counted() {
    let world = World::new();
    world.write("r.cpy", "       01 R.\n          05 A COMP-1.\n          05 B COMP-2.\n");
    let kept = "{\"A\":0.1,\"B\":9007199254740992}\n";
    let both = "{\"A\":16777217,\"B\":9007199254740993}\n";
    world.write("in.jsonl", format!("{both}{{\"A\":\"16777217\",\"B\":1}}\n{kept}"));
    world.write("in.csv", "A,B\n16777217,9007199254740993\n16777217,1\n0.1,9007199254740992\n");
    let record = |a: &str, b: &str| format!("<record><A>{a}</A><B>{b}</B></record>");
    world.write(
        "in.xml",
        format!(
            "<rows>{}{}{}</rows>",
            record("16777217", "9007199254740993"),
            record("16777217", "1"),
            record("0.1", "9007199254740992")
        ),
    );
    for input in ["in.jsonl", "in.csv", "in.xml"] {
        for target in ["record", "jsonl", "parquet"] {
            let ran = world.run(&format!("convert {input} -c r.cpy -e ascii --dialect gnucobol --to {target} -o out"));
            let said = ran.code(0).err();
            for noted in [
                "2 documents have a number with more digits than the float A keeps",
                "1 document has a number with more digits than the float B keeps",
            ] {
                assert!(said.contains(&format!("warning[CNV-042]: {noted}")), "{input} to {target}: {said}");
            }
            assert_eq!(said.matches("CNV-042").count(), 2, "{input} to {target}: {said}");
        }
    }
    // A document that is rejected is not in the output, and neither is its number.
    world.write("bad.jsonl", "{\"A\":16777217,\"B\":\"x\"}\n");
    world.write("bad.csv", "A,B\n16777217,x\n");
    world.write("bad.xml", format!("<rows>{}</rows>", record("16777217", "x")));
    for input in ["bad.jsonl", "bad.csv", "bad.xml"] {
        let ran = world
            .run(&format!("convert {input} -c r.cpy -e ascii --dialect gnucobol --to record --rejects bad -o out"));
        let said = ran.code(1).err();
        assert!(said.contains("1 of 1") && !said.contains("CNV-042"), "{input}: {said}");
    }
    world.write("hex.jsonl", "{\"A\":0.12345675,\"B\":0.1}\n{\"A\":0.123456,\"B\":0.1}\n");
    let said = world.run("convert hex.jsonl -c r.cpy -e cp037 --dialect ibm --to record -o out").code(0).err();
    assert!(said.contains("warning[REC-049]: 1 value of A (COMP-1) with more digits than the float keeps"), "{said}");
}

/// A map rounded into 32-bit floats without a word, of every kind of target.
#[test]
fn floats_that_a_map_rounds_are_counted() {
    let world = World::new();
    world.write("r.cpy", "       01 R.\n          05 F COMP-1.\n          05 D COMP-2.\n");
    world.write("hex.toml", "layout = \"record\"\ncopybook = \"r.cpy\"\nencoding = \"cp037\"\n");
    world.write(
        "ieee.toml",
        "layout = \"record\"\ncopybook = \"r.cpy\"\nencoding = \"cp037\"\ndialect = \"gnucobol\"\n",
    );
    world.write("out.shape", "r\n  F float32\n  D float\n");
    world.write("in.shape", "doc\n  D float\n");
    world.write("exact.shape", "doc\n  D decimal(20,3)\n");
    let map = |source: &str, target: &str, own: &str| {
        format!("source \"{source}.shape\"\ntarget r \"{target}\"\n\nF = D\nD = {own}\n")
    };
    world.write("in.jsonl", "{\"D\":0.123456789012}\n{\"D\":0.1}\n{\"D\":16777217}\n{\"D\":16777216}\n{\"D\":-0.5}\n");
    let outline = "warning[MAP-225]: 2 documents have a float with more digits than the 32-bit float F keeps";
    let hex = "warning[REC-049]: 2 values of F (COMP-1) with more digits than the float keeps";
    for (target, noted) in [("out.shape", outline), ("ieee.toml", outline), ("hex.toml", hex)] {
        world.write("m.qmap", map("in", target, "D"));
        for more in ["-o out", "-o out -j 3", "-o out --trace t.jsonl"] {
            let said = world.run(&format!("translate -m m.qmap in.jsonl {more}")).code(0).err();
            assert!(said.contains(noted), "{target} {more}: {said}");
            assert!(said.contains("in.jsonl:1"), "{target} {more}: {said}");
            assert_eq!(said.matches("[").count(), 1, "{target} {more}: {said}");
        }
    }
    // Documents that are left out or refused have no notes.
    world.write("m.qmap", map("in", "hex.toml", "D") + "if D = 16777217 { error \"no\" }\nif D < 0.5 { drop }\n");
    let said = world.run("translate -m m.qmap in.jsonl -o out --max-rejects 9 --rejects rej").err();
    assert!(!said.contains("REC-049"), "{said}");
    world.write("exact.jsonl", "{\"D\":16777217}\n{\"D\":0.1}\n{\"D\":1234567.891}\n");
    world.write("e.qmap", map("exact", "hex.toml", "0"));
    let said = world.run("translate -m e.qmap exact.jsonl -o out").code(0).err();
    assert!(said.contains(hex), "{said}");
    let told = "warning[MAP-052]: `F` is a float, which keeps 6 digits, and this number has up to 20";
    let said = world.run("map check e.qmap");
    assert!(said.err().contains(told) || said.out().contains(told), "{}{}", said.out(), said.err());
}

/// Binary zeros came back as spaces without a word if blanks were null too.
#[test]
fn two_forms_of_null_are_counted() {
    let world = World::new();
    world.write("r.cpy", "       01 R.\n          05 N PIC 9(3).\n          05 T PIC X(3).\n");
    world.write("in.dat", "   abc\0\0\0abc001abc\0\0\0abc");
    let both = "convert in.dat -c r.cpy -e ascii --blank null --low-values null";
    for (more, noted) in [
        (
            "--to record -o out",
            Some("2 values of N (PIC 9(3)): binary zeros that became null, which is written as spaces"),
        ),
        (
            "--to record -o out --null low-values",
            Some("1 value of N (PIC 9(3)): spaces that became null, which is written as binary zeros"),
        ),
        ("--to jsonl --preserve", None),
    ] {
        let said = world.run(&format!("{both} {more}")).code(0).err();
        assert_eq!(said.contains("warning[REC-050]"), noted.is_some(), "{more}: {said}");
        assert!(said.contains(noted.unwrap_or_default()), "{more}: {said}");
    }
    for one in ["--blank null --low-values raw", "--blank raw --low-values null"] {
        let said = world.run(&format!("convert in.dat -c r.cpy -e ascii --to record -o out {one}")).code(0).err();
        assert!(!said.contains("REC-050"), "{one}: {said}");
    }
}

/// Regression: `-` was the name of a file for some commands and standard input for others, and counts said "1 records".
#[test]
fn a_hyphen_is_standard_input_and_output() {
    let world = World::new();
    for name in ["A", "B"] {
        world.run(&format!("file define {name} --record 4 --key 0:2")).code(0);
    }
    world.run_with("file put A -", b"aa11").code(0);
    let unloaded = world.run("file unload A -o -").code(0).stdout.clone();
    assert_eq!(unloaded, b"aa11");
    assert_eq!(world.run_with("file load B -", &unloaded).code(0).err(), "1 record loaded\n");
    let again = world.run_with("file load B -", &unloaded).code(1).err();
    assert!(again.contains("record 1 of the input was not loaded"), "{again}");
    assert_eq!(world.run("file unload B -o b").code(0).err(), "1 record unloaded\n");
    world.run("queue define Q").code(0);
    world.run_with("queue put Q -", b"from a pipe").code(0);
    assert_eq!(world.run("queue get Q").code(0).out(), "from a pipe");
    assert!(!world.files().iter().any(|name| name == "-"), "{:?}", world.files());
    world.run_with("queue put Q - --expiry 0", b"").code(2);
    world.run_with("queue put Q - --group 01 --sequence 0", b"").code(2);
}

/// Regression: records did not get the bytes of their type. `map check` said to leave the field out, and then Quayline refused each document with the
/// hint to leave the field out.
#[test]
fn a_type_sets_its_bytes() {
    let world = world(TYPES);
    let written = "convert in.jsonl -c customer.cpy -c order.cpy -i types.toml -e ascii --from json --to record --to-framing lines";
    world.write("in.jsonl", "{\"CUSTOMER\":{\"NAME\":\"ANNA\"}}\n{\"ORDER-LINE\":{\"item\":\"AAA\",\"QTY\":1}}\n");
    assert_eq!(world.run(written).code(0).out(), "CANNA \nOAAA01\n");
    world.write("in.jsonl", "{\"CUSTOMER\":{\"KIND\":\"O\",\"NAME\":\"ANNA\"}}\n");
    let ran = world.run(written).code(1).err();
    assert!(ran.contains("contradicts CUSTOMER") && ran.contains("leave the field out of the document"), "{ran}");
    // Two fields, or a part of one: documents must give the bytes.
    world.write("types.toml", TYPES.replace("length = 1", "length = 2").replace("\"O\"", "\"OA\""));
    world.write("in.jsonl", "{\"ORDER-LINE\":{\"KIND\":\"O\",\"item\":\"BAA\",\"QTY\":1}}\n");
    let ran = world.run(written).code(1).err();
    let hint = "hint: set the fields of these bytes: the 2 bytes from byte 0 on must be `OA`";
    assert!(ran.contains("the bytes that say the type contradict ORDER-LINE") && ran.contains(hint), "{ran}");

    let field = |name: &str, length: u8| format!("[[record.field]]\nname = \"{name}\"\nlength = {length}\n");
    let layout = format!(
        "layout = \"fixed\"\nencoding = \"ascii\"\nkey = {{ start = 1, length = 1 }}\n[[record]]\nname = \"head\"\nvalue = \"H\"\n{}{}\
         [[record]]\nname = \"lines\"\nvalue = \"L\"\nparent = \"head\"\n{}{}",
        field("kind", 1),
        field("order no", 4),
        field("kind", 1),
        field("sku", 3)
    );
    world
        .write("fixed.toml", layout)
        .write("in.shape", "in\n  no text(4)\n  kind? text(1)\n  rows*\n    sku text(3)\n");
    let map =
        "source \"in.shape\"\ntarget o \"fixed.toml\"\nhead.'order no' = no\nfor rows make head.lines { sku = sku }\n";
    world.write("fixed.qmap", map).write("in.jsonl", "{\"no\":\"1\",\"rows\":[{\"sku\":\"a\"},{\"sku\":\"b\"}]}\n");
    let checked = world.run("map check fixed.qmap");
    assert_eq!(checked.code, Some(0), "{}", checked.err());
    assert!(!format!("{}{}", checked.out(), checked.err()).contains("kind"), "{}{}", checked.out(), checked.err());
    assert_eq!(world.run("translate in.jsonl -m fixed.qmap --quiet").code(0).out(), "H1   \nLa  \nLb  \n");
    world.write("fixed.qmap", map.replace("head.'order no'", "head.kind = kind\nhead.'order no'"));
    world.write("in.jsonl", "{\"no\":\"1\",\"kind\":\"L\",\"rows\":[]}\n");
    let ran = world.run("translate in.jsonl -m fixed.qmap --quiet").code(1).err();
    assert!(ran.contains("contradicts head: the record would be read as lines"), "{ran}");
}

/// Regression: `--key` was UTF-8 although the command named the code page, so `browse` found another record of an EBCDIC file.
#[test]
fn a_key_is_text_in_the_code_page_of_the_records() {
    let world = World::new();
    world.write("c.cpy", "       01 C.\n          05 ID PIC X(3).\n          05 NAME PIC X(4).\n");
    // `A01ANNA` and `B02BERT` in code page 037.
    let records = [[0xc1, 0xf0, 0xf1, 0xc1, 0xd5, 0xd5, 0xc1], [0xc2, 0xf0, 0xf2, 0xc2, 0xc5, 0xd9, 0xe3]].concat();
    world.write("in.dat", records);
    world.run("file define C -c c.cpy --key ID").code(0);
    world.run("file load C in.dat").code(0);
    let described = "-c c.cpy -e cp037";
    for command in ["get C --key B02", "get C --key B", "browse C --key B", "browse C --key B02 -n 1"] {
        let ran = world.run(&format!("file {command} {described}"));
        assert_eq!(ran.code(0).out(), "{\"ID\":\"B02\",\"NAME\":\"BERT\"}\n", "{command}: {}", ran.err());
    }
    world.run("file delete C --key B02").code(7);
    world.run("file delete C --key B02 -e cp037").code(0);
    world.run(&format!("file get C --key B02 {described}")).code(7);
    let wrong = world.run(&format!("file get C --key ₤ {described}"));
    assert!(wrong.code(2).err().contains("--key-hex"), "{}", wrong.err());
}
