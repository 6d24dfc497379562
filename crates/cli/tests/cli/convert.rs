//! `quayline convert` on good input.

use expect_test::expect;

use crate::world::{World, ebcdic};

pub(crate) const ITEMS: &str = "       01  ITEM.
           05  SKU           PIC X(4).
           05  QUANTITY      PIC S9(3) COMP-3.
           05  PRICE         PIC 9(3)V99.
           05  FILLER        PIC X(3).
";

/// Returns one record of [`ITEMS`]: 14 bytes.
pub(crate) fn item(sku: &str, quantity: [u8; 2], price: &str) -> Vec<u8> {
    let mut record = ebcdic(&format!("{sku:<4}"));
    record.extend(quantity);
    record.extend(ebcdic(&format!("{price}   ")));
    record
}

pub(crate) fn items() -> Vec<u8> {
    [item("A1", [0x12, 0x3c], "00150"), item("B22", [0x00, 0x7d], "99999"), item("C", [0x00, 0x0c], "00000")].concat()
}

pub(crate) fn world() -> World {
    World::with([("items.cpy", ITEMS.as_bytes()), ("items.dat", items().as_slice())])
}

#[test]
fn records_become_json_lines_and_come_back() {
    let world = world();
    world.run("convert items.dat --copybook items.cpy --encoding cp037").check(expect![[r#"
        exit 0
        --- stdout
        {"SKU":"A1","QUANTITY":123,"PRICE":1.50}
        {"SKU":"B22","QUANTITY":-7,"PRICE":999.99}
        {"SKU":"C","QUANTITY":0,"PRICE":0.00}
    "#]]);
    world.run("convert items.dat --copybook items.cpy --encoding cp037 -o items.jsonl").check(expect![[r#"
        exit 0
    "#]]);
    world.run("convert items.jsonl --copybook items.cpy --encoding cp037 -o back.dat").check(expect![[r#"
        exit 0
    "#]]);
    assert!(world.read("back.dat") == items());
    assert_eq!(world.files(), ["back.dat", "items.cpy", "items.dat", "items.jsonl"]);
}

#[test]
fn every_target_is_written_by_its_name() {
    let world = world();
    for name in ["out.jsonl", "out.json", "out.csv", "out.xml"] {
        world.run(&format!("convert items.dat -c items.cpy -e cp037 -o {name}")).code(0);
    }
    let text = |name| String::from_utf8(world.read(name)).expect("UTF-8");
    expect![[r#"
        [
        {"SKU":"A1","QUANTITY":123,"PRICE":1.50},
        {"SKU":"B22","QUANTITY":-7,"PRICE":999.99},
        {"SKU":"C","QUANTITY":0,"PRICE":0.00}
        ]
    "#]]
    .assert_eq(&text("out.json"));
    expect![[r#"
        SKU,QUANTITY,PRICE
        A1,123,1.50
        B22,-7,999.99
        C,0,0.00
    "#]]
    .assert_eq(&text("out.csv"));
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <records xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
        <record><SKU>A1</SKU><QUANTITY>123</QUANTITY><PRICE>1.50</PRICE></record>
        <record><SKU>B22</SKU><QUANTITY>-7</QUANTITY><PRICE>999.99</PRICE></record>
        <record><SKU>C</SKU><QUANTITY>0</QUANTITY><PRICE>0.00</PRICE></record>
        </records>
    "#]]
    .assert_eq(&text("out.xml"));
    for (name, magic) in [("out.parquet", &b"PAR1"[..]), ("out.arrow", b"ARROW1"), ("out.arrows", b"\xff\xff\xff\xff")]
    {
        world.run(&format!("convert items.dat -c items.cpy -e cp037 -o {name}")).code(0);
        assert!(world.read(name).starts_with(magic), "{name}");
    }
    for name in ["out.json", "out.csv", "out.xml"] {
        world.run(&format!("convert {name} -c items.cpy -e cp037 -o back.dat")).code(0);
        assert!(world.read("back.dat") == items(), "{name}");
    }
}

#[test]
fn csv_and_xml_have_their_own_words() {
    let world = world();
    world.run("convert items.dat -c items.cpy -e cp037 --to csv --delimiter ; --no-header").check(expect![[r#"
        exit 0
        --- stdout
        A1;123;1.50
        B22;-7;999.99
        C;0;0.00
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -o out.tsv").code(0);
    expect![[r#"
        SKU	QUANTITY	PRICE
        A1	123	1.50
        B22	-7	999.99
        C	0	0.00
    "#]]
    .assert_eq(&String::from_utf8(world.read("out.tsv")).expect("UTF-8"));
    world.run("convert out.tsv -c items.cpy -e cp037 -o back.dat").code(0);
    assert!(world.read("back.dat") == items());
    world.run("convert items.dat -c items.cpy -e cp037 --to xml --xml-root items --xml-record item").check(expect![[
        r#"
        exit 0
        --- stdout
        <?xml version="1.0" encoding="UTF-8"?>
        <items xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
        <item><SKU>A1</SKU><QUANTITY>123</QUANTITY><PRICE>1.50</PRICE></item>
        <item><SKU>B22</SKU><QUANTITY>-7</QUANTITY><PRICE>999.99</PRICE></item>
        <item><SKU>C</SKU><QUANTITY>0</QUANTITY><PRICE>0.00</PRICE></item>
        </items>
    "#
    ]]);
    world.run("convert items.dat -c items.cpy -e cp037 --to xml --xml-root <a>").check(expect![[r#"
        exit 2
        --- stderr
        error[XML-002]: `<a>` is not an XML element name

        hint: write for example `_x003C_a_x003E_`
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 --to csv --delimiter ab").check(expect![[r#"
        exit 2
        --- stderr
        error: invalid value 'ab' for '--delimiter <CHAR>': expected one ASCII character that is not a letter, digit, quote or line end, or the word `tab`

        For more information, try '--help'.
    "#]]);
}

#[test]
fn documents_become_documents_without_a_code_page() {
    let world = world();
    world.write("items.jsonl", "{\"SKU\":\"A1\",\"QUANTITY\":12,\"PRICE\":1.5}\n");
    world.run("convert items.jsonl -c items.cpy --to csv").check(expect![[r#"
        exit 0
        --- stdout
        SKU,QUANTITY,PRICE
        A1,12,1.5
    "#]]);
    world.run("convert items.jsonl --to csv").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: no copybook is named, so the records have no description

        hint: name the copybook that the documents follow with --copybook FILE; it gives them their order and types
    "#]]);
}

#[test]
fn an_output_whose_name_says_nothing_needs_a_format() {
    let world = world();
    world.run("convert items.dat -c items.cpy -e cp037 -o items.out").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the name items.out does not say which format to write

        hint: known are .jsonl, .json, .csv, .tsv, .xml, .parquet, .arrow, .arrows, .edi, .x12, .edifact and .dat; or add `--to`, such as `--to record`
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -o items.out --to jsonl").code(0);
}

#[test]
fn standard_input_and_output_are_streams() {
    let world = world();
    world.run_with("convert - -c items.cpy -e cp037", &items()[..14]).check(expect![[r#"
        exit 0
        --- stdout
        {"SKU":"A1","QUANTITY":123,"PRICE":1.50}
    "#]]);
    let lines = world.run("convert items.dat -c items.cpy -e cp037");
    let back = world.run_with("convert - -c items.cpy -e cp037", &lines.stdout);
    assert!(back.code(0).stdout == items());
}

#[test]
fn odd_file_names_are_fine() {
    let world =
        World::with([("it's a \"copy\" book.cpy", ITEMS.as_bytes()), ("ümlaut \u{7} bell.dat", items().as_slice())]);
    let arguments = [
        "convert",
        "ümlaut \u{7} bell.dat",
        "-c",
        "it's a \"copy\" book.cpy",
        "-e",
        "cp037",
        "-o",
        "öut put.jsonl",
        "--stats",
    ];
    let output = world.command(arguments).output().expect("the command runs");
    assert!(output.status.success());
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(stderr.starts_with("source    ümlaut \\u{7} bell.dat\n"), "{stderr}");
    assert_eq!(world.read("öut put.jsonl").iter().filter(|byte| **byte == b'\n').count(), 3);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_name_that_is_no_text_is_fine() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let world = world();
    let name = OsStr::from_bytes(b"data\xff.dat");
    std::fs::write(world.path(".").join(name), items()).expect("the file can be written");
    let mut command = world.command(["convert", "-c", "items.cpy", "-e", "cp037"]);
    let output = command.arg(name).output().expect("the command runs");
    assert!(output.status.success());
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 3);
}

#[test]
fn several_inputs_go_to_a_folder_or_one_stream() {
    let world = world();
    world.write("more.dat", &items()[..14]);
    std::fs::create_dir(world.path("out")).expect("a folder");
    world.run("convert items.dat more.dat -c items.cpy -e cp037 -o out --to csv").code(0);
    assert!(world.path("out/items.csv").exists() && world.path("out/more.csv").exists());
    let ran = world.run("convert items.dat more.dat -c items.cpy -e cp037");
    assert_eq!(ran.code(0).out().lines().count(), 4);
    world.run("convert items.dat more.dat -c items.cpy -e cp037 -o missing").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: 2 inputs need a folder, and missing is not a folder

        hint: make the folder and name it with -o
    "#]]);
    world.run("convert items.dat more.dat -c items.cpy -e cp037 --to csv").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: several inputs cannot share one output of this format

        hint: name a folder with -o, or write JSON lines
    "#]]);
    world.run("convert items.dat more.dat -c items.cpy -e cp037 --rejects bad.dat").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the rejects of 2 inputs need a folder, and bad.dat is not a folder

        hint: make the folder and name it with --rejects
    "#]]);
    world.run("convert - - -c items.cpy -e cp037").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: standard input can be read once only

        hint: name `-` once
    "#]]);
}

#[test]
fn rejects_of_several_inputs_go_to_a_folder() {
    let world = world();
    let mut records = items();
    records.extend(item("BAD", [0x12, 0x34], "00100"));
    world.write("more.dat", &records).write("other/more.dat", &records);
    std::fs::create_dir(world.path("out")).expect("a folder");
    std::fs::create_dir(world.path("bad")).expect("a folder");
    world.run("convert items.dat more.dat -c items.cpy -e cp037 -o out --rejects bad.dat").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the rejects of 2 inputs need a folder, and bad.dat is not a folder

        hint: make the folder and name it with --rejects
    "#]]);
    world.run("convert more.dat other/more.dat -c items.cpy -e cp037 -o out --rejects bad").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the outputs of more.dat and other/more.dat would be one file, out/more.jsonl

        hint: convert them one at a time, to files of different names
    "#]]);
    world.run("convert items.dat more.dat -c items.cpy -e cp037 -o out --rejects bad").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-002]: sign is 0x4, expected 0xa to 0xf
          at more.dat, record 4, byte 46, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        1 of 4 records rejected: bad/more.dat contains the rejected ones, bad/more.dat.findings.jsonl the reasons
    "#]]);
    assert_eq!(world.read("bad/more.dat"), records[records.len() - 14..]);
    assert_eq!(world.read("bad/items.dat"), b"");
    // One input may name the folder, too.
    world.run("convert other/more.dat -c items.cpy -e cp037 -o out/one.jsonl --rejects bad").code(1);
    world.run_with("convert - -c items.cpy -e cp037 -o out/one.jsonl --rejects bad", &records).check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: standard input has no name for its rejects

        hint: name a file with --rejects, not a folder
    "#]]);
}

#[test]
fn another_code_page_and_framing_are_records_to_records() {
    let world = world();
    world.run("convert items.dat -c items.cpy -e cp037 -o items.bin --to-encoding latin1 --to-framing rdw").code(0);
    let back =
        world.run("convert items.bin -c items.cpy -e latin1 -f rdw -o back.dat --to-encoding cp037 --to-framing fixed");
    back.code(0);
    assert!(world.read("back.dat") == items());
}

#[test]
fn what_the_command_line_says_goes_before_the_interface_file() {
    let world = world();
    world.write("items.toml", "key-style = \"snake\"\nexclude = [\"PRICE\"]\n");
    world.run("convert items.dat -c items.cpy -e cp037 -i items.toml").check(expect![[r#"
        exit 0
        --- stdout
        {"sku":"A1","quantity":123}
        {"sku":"B22","quantity":-7}
        {"sku":"C","quantity":0}
    "#]]);
    let ran = world.run("convert items.dat -c items.cpy -e cp037 -i items.toml --key-style camel --fillers keep");
    ran.check(expect![[r#"
        exit 0
        --- stdout
        {"sku":"A1","quantity":123,"fill0":""}
        {"sku":"B22","quantity":-7,"fill0":""}
        {"sku":"C","quantity":0,"fill0":""}
    "#]]);
    world.write("items.toml", "key-stile = \"snake\"\nexclude = [\"PRIZE\"]\n");
    world.run("convert items.dat -c items.cpy -e cp037 -i items.toml").check(expect![[r#"
        exit 2
        --- stderr
        error[PRJ-001]: unknown field `key-stile`, expected one of `wrapper`, `key-style`, `prefix`, `fillers`, `redefines`, `include`, `exclude`, `rename`, `default`, `field`, `choose`, `records`, `skip-bytes-first`, `skip-bytes-last`, `record-number`, `parent-number`, `source-file`
          at items.toml:1:1
          |
        1 | key-stile = "snake"
          | ^^^^^^^^^

        hint: docs/reference/interface.md shows every key of an interface file
    "#]]);
    world.write("items.toml", "exclude = [\"PRIZE\"]\n");
    world.run("convert items.dat -c items.cpy -e cp037 -i items.toml").check(expect![[r#"
        exit 2
        --- stderr
        error[PLN-001]: interface rule names `PRIZE`, which the record ITEM does not have
          at items.toml:1:12
          |
        1 | exclude = ["PRIZE"]
          |            ^^^^^^^

        hint: did you mean `PRICE`?
    "#]]);
}

const FAMILY: &str = "       01  CUSTOMER.
           05  KIND          PIC X.
           05  CUSTOMER-NAME PIC X(5).
       01  PURCHASE.
           05  KIND          PIC X.
           05  AMOUNT        PIC 9(3)V99.
";

#[test]
fn records_of_several_types_stand_in_their_parents() {
    let rules = "[records]\nby = \"KIND\"\nskip-first = 1\n\
        [[records.type]]\nrecord = \"CUSTOMER\"\nvalue = \"C\"\n\
        [[records.type]]\nrecord = \"PURCHASE\"\nvalue = \"P\"\nparent = \"CUSTOMER\"\n";
    let records = ebcdic("HEADERCADA  P00150P00299CBOB  ");
    let world = World::with([
        ("family.cpy", FAMILY.as_bytes()),
        ("family.toml", rules.as_bytes()),
        ("family.dat", records.as_slice()),
    ]);
    world.run("convert family.dat -c family.cpy -e cp037 -i family.toml").check(expect![[r#"
        exit 0
        --- stdout
        {"CUSTOMER":{"KIND":"C","CUSTOMER-NAME":"ADA","PURCHASE":[{"KIND":"P","AMOUNT":1.50},{"KIND":"P","AMOUNT":2.99}]}}
        {"CUSTOMER":{"KIND":"C","CUSTOMER-NAME":"BOB"}}
    "#]]);
    world.run("convert family.dat -c family.cpy -e cp037").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the copybook describes 2 records and one is needed

        hint: name one with --record: CUSTOMER, PURCHASE
    "#]]);
    world.run("convert family.dat -c family.cpy -e cp037 --record PURCHASE --rejects rest.dat").code(1);
    let lines = world.run("convert family.dat -c family.cpy -e cp037 -i family.toml -o family.jsonl --stats");
    assert!(lines.code(0).err().contains("records   5 read = 4 written + 0 rejected + 1 skipped"), "{}", lines.err());
}

#[test]
fn numbers_may_be_strings() {
    world().run("convert items.dat -c items.cpy -e cp037 --numbers string").check(expect![[r#"
        exit 0
        --- stdout
        {"SKU":"A1","QUANTITY":"123","PRICE":"1.50"}
        {"SKU":"B22","QUANTITY":"-7","PRICE":"999.99"}
        {"SKU":"C","QUANTITY":"0","PRICE":"0.00"}
    "#]]);
}

#[test]
fn threads_change_nothing() {
    let world = world();
    let records: Vec<u8> = items().iter().copied().cycle().take(14 * 60_000).collect();
    world.write("many.dat", &records);
    world.run("convert many.dat -c items.cpy -e cp037 -o one.jsonl").code(0);
    world.run("convert many.dat -c items.cpy -e cp037 -o four.jsonl -j 4").code(0);
    assert!(world.read("one.jsonl") == world.read("four.jsonl"));
}

#[test]
fn statistics_add_up() {
    let world = world();
    let mut records = items();
    records.extend(item("BAD", [0x12, 0x34], "00100"));
    world.write("items.dat", &records);
    let ran = world.run("convert items.dat -c items.cpy -e cp037 -o out.jsonl --rejects bad.dat --stats");
    let err = ran.code(1).err();
    let line = |start: &str| {
        err.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in {err}")).to_owned()
    };
    assert_eq!(line("records"), "records   4 read = 3 written + 1 rejected + 0 skipped");
    assert!(line("bytes").starts_with("bytes     56 in, "), "{err}");
    assert!(line("rate").contains("MB/s") && line("rate").contains("µs CPU a record"), "{err}");
    assert!(line("phases").contains(" s of 1 thread = ") && line("phases").ends_with(" unaccounted"), "{err}");
    assert!(line("waits").contains(" on a processor + "), "{err}");
    assert!(line("cpu").contains(" decode") && line("cpu").contains(", by "), "{err}");
    assert!(
        line("overhead").contains(" % of the time for measuring, ")
            && line("overhead").ends_with(" readings of the clock"),
        "{err}"
    );
    assert!(line("memory").ends_with(" MB at most"), "{err}");

    let ran = world.run("convert items.dat -c items.cpy -e cp037 -o out.jsonl --rejects bad.dat --stats --json");
    let err = ran.code(1).err();
    let lines: Vec<serde_json::Value> =
        err.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert_eq!(lines[0]["schema"], "quayline.finding/1");
    let stats = &lines[1];
    assert_eq!(stats["schema"], "quayline.stats/1");
    assert_eq!(stats["adds_up"], true);
    assert_eq!((stats["records_in"].as_u64(), stats["records_rejected"].as_u64()), (Some(4), Some(1)));
    let sum: f64 = stats["phases_s"].as_object().expect("phases").values().filter_map(serde_json::Value::as_f64).sum();
    let total = stats["thread_s"].as_f64().expect("a number");
    assert!((sum + stats["unaccounted_s"].as_f64().expect("a number") - total).abs() < 1e-6, "{stats}");
    // The sum of the waits is the same time. CPU time is read from another clock, so it may slightly exceed the wall time of a phase.
    let waits: f64 = stats["waits"].as_object().expect("waits").values().filter_map(serde_json::Value::as_f64).sum();
    assert!((waits - sum).abs() < 1e-3, "{stats}");
    assert!(stats["measuring_s"].as_f64().is_some_and(|time| time > 0.0 && time < total), "{stats}");
    assert!(stats["trustworthy"].is_boolean(), "{stats}");
    assert!(stats["phases_s"]["commit"].as_f64().is_some_and(|commit| commit > 0.0), "{stats}");
    // One thread does it all, from opening the files to making them durable: its time is the wall time. A busy machine may stop the process
    // while the thread begins or ends, so of several runs one has to show it.
    let shown = (0..10).any(|_| {
        let ran = world.run("convert items.dat -c items.cpy -e cp037 -o out.jsonl --rejects bad.dat --stats --json");
        let err = ran.code(1).err();
        let stats: serde_json::Value =
            serde_json::from_str(err.lines().last().expect("statistics")).expect("a line of JSON");
        let (wall, total) = (stats["wall_s"].as_f64(), stats["thread_s"].as_f64());
        let (wall, total) = (wall.expect("a number"), total.expect("a number"));
        (wall - total).abs() < 0.02 * wall + 0.002
    });
    assert!(shown, "in none of ten runs the thread's time was the wall time");
}

/// A program that quotes every cell writes absent numbers as `""`. Records refused such cells, and JSON received empty texts.
#[test]
fn cells_in_quotes_come_back() {
    let world = World::with([(
        "r.cpy",
        b"       01 R.\n          05 N PIC S9(5)V99.\n          05 T PIC X(3).\n          05 F COMP-2.\n".as_slice(),
    )]);
    world.write("quoted.csv", "N,T,F\n\"\",\"\",\"\"\n\"1.50\",\"a\",\"2\"\n");
    world.write("plain.csv", "N,T,F\n,\"\",\n1.50,a,2\n");
    let options = "-c r.cpy -e cp037 --blank null --null zeros";
    for name in ["quoted", "plain"] {
        world.run(&format!("convert {name}.csv {options} -o {name}.dat")).code(0);
        world.run(&format!("convert {name}.csv {options} -o {name}.jsonl")).code(0);
    }
    assert_eq!(world.read("quoted.dat"), world.read("plain.dat"));
    assert_eq!(world.read("quoted.jsonl"), b"{\"N\":null,\"T\":\"\",\"F\":null}\n{\"N\":1.50,\"T\":\"a\",\"F\":2.0}\n");
}
