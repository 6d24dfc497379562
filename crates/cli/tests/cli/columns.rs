//! Parquet and Arrow as inputs, and gzip and Zstandard around inputs and outputs.

use crate::world::World;

const COPYBOOK: &str = "\
       01  ORDER-RECORD.
           05  ORDER-ID        PIC 9(5).
           05  CUSTOMER        PIC X(6).
           05  AMOUNT          PIC S9(7)V99 COMP-3.
           05  KIND            PIC X.
           05  DETAIL          PIC X(4).
           05  DETAIL-NUMBER REDEFINES DETAIL PIC S9(9) COMP.
           05  LINE-COUNT      PIC 9.
           05  LINES-OF OCCURS 0 TO 3 DEPENDING ON LINE-COUNT.
               10  SKU         PIC X(3).
               10  QUANTITY    PIC S9(4) COMP.
";

const DOCUMENTS: &str = r#"{"ORDER-ID":1,"CUSTOMER":"ANNA","AMOUNT":-12.34,"KIND":"A","DETAIL":"ABCD","LINE-COUNT":2,"LINES-OF":[{"SKU":"X","QUANTITY":-5},{"SKU":"Y","QUANTITY":6}]}
{"ORDER-ID":2,"CUSTOMER":"","AMOUNT":0.00,"KIND":"B","DETAIL":"","LINE-COUNT":0,"LINES-OF":[]}
{"ORDER-ID":3,"CUSTOMER":"BÖB","AMOUNT":9999999.99,"KIND":"A","DETAIL":"Z","LINE-COUNT":1,"LINES-OF":[{"SKU":"ZZ","QUANTITY":9999}]}
"#;

const RECORDS: &str = "-c order.cpy -e cp037 -f rdw";

/// Creates a world with a copybook, an interface and records in `order.dat`.
fn world() -> World {
    let world = World::with([("order.cpy", COPYBOOK.as_bytes()), ("order.jsonl", DOCUMENTS.as_bytes())]);
    world.write("order.toml", "redefines = \"original\"\n");
    world.run(&format!("convert order.jsonl {RECORDS} -i order.toml -o order.dat")).code(0);
    world
}

#[test]
fn records_come_back_from_columns_byte_for_byte() {
    let world = world();
    for name in ["order.parquet", "order.arrow", "order.arrows"] {
        world.run(&format!("convert order.dat {RECORDS} -i order.toml -o {name}")).code(0);
        for jobs in [1, 3] {
            world.run(&format!("convert {name} {RECORDS} -i order.toml -j {jobs} -o back.dat")).code(0);
            assert!(world.read("back.dat") == world.read("order.dat"), "{name} by {jobs}");
        }
        // Through standard input, which is not read in places.
        let ran = world.run_with(&format!("convert - {RECORDS} -i order.toml --to record"), &world.read(name));
        assert!(ran.code(0).stdout == world.read("order.dat"), "{name} by standard input");
        // With the shape of the copybook and with the shape of the columns, the documents are equal to the documents of the records.
        for shape in ["-c order.cpy -i order.toml --to jsonl", ""] {
            assert_eq!(world.run(&format!("convert {name} {shape}")).code(0).out(), DOCUMENTS, "{name} {shape}");
        }
    }
    // With every view of redefined storage and the non-canonical bytes.
    world.run(&format!("convert order.dat {RECORDS} --preserve --invalid raw -o all.parquet")).code(0);
    world.run(&format!("convert all.parquet {RECORDS} --preserve --invalid raw -o back.dat")).code(0);
    assert!(world.read("back.dat") == world.read("order.dat"));
}

/// What `--preserve` kept, without the option on the way back.
#[test]
fn preserved_bytes_need_the_option_in_both_directions() {
    let world = World::new();
    world.write("r.cpy", "       01  R.\n           05  NAME PIC X(3).\n           05  FILLER PIC X(2).\n");
    world.write("r.dat", "ADAxyBOBzz");
    let records = "-c r.cpy --encoding ascii";
    for file in ["r.jsonl", "r.csv", "r.xml", "r.parquet"] {
        world.run(&format!("convert r.dat {records} --preserve -o {file}")).code(0);
        let refused = world.run(&format!("convert {file} {records} -o back.dat"));
        assert!(refused.err().contains("hint: add `--preserve` to this command, too"), "{file}: {}", refused.err());
        world.run(&format!("convert {file} {records} --preserve -o back.dat")).code(0);
        assert_eq!(world.read("back.dat"), b"ADAxyBOBzz", "{file}");
    }
}

/// Regression: a minus sign of a zero was lost silently through columns, even with `--preserve`: integer columns have no
/// negative zero, and the canonical bytes that `--preserve` compares with had the sign. Now the comparison ignores it.
#[test]
fn the_sign_of_a_zero_survives_columns_or_is_counted() {
    let world = World::new();
    let fields = ["05 P PIC S9(3)V99 COMP-3.", "05 Z PIC S9(3) OCCURS 2.", "05 L PIC S9(2) SIGN LEADING SEPARATE."];
    world.write("z.cpy", format!("       01 R.\n           {}\n", fields.join("\n           ")));
    let zero = b"\x00\x00\x0d\xf0\xf0\xd0\xf0\xf0\xc0\x60\xf0\xf0";
    let plain = b"\x00\x00\x0c\xf0\xf0\xc0\xf0\xf0\xc0\x4e\xf0\xf0";
    let one = b"\x00\x10\x0d\xf0\xf0\xd1\xf0\xf0\xf0\x60\xf0\xf1";
    world.write("z.dat", [&zero[..], one, plain, zero].concat());
    for name in ["z.parquet", "z.arrow"] {
        let ran = world.run(&format!("convert z.dat -c z.cpy -e cp037 -o {name}"));
        let said = ran.code(0).err();
        assert_eq!(said.matches("warning[REC-044]: 2 values of ").count(), 3, "{said}");
        assert!(said.contains("2 values of P (PIC S9(3)V99 COMP-3) lost the minus sign of a zero"), "{said}");
        let ran = world.run(&format!("convert z.dat -c z.cpy -e cp037 --preserve -o {name}"));
        assert!(!ran.code(0).err().contains("REC-044"), "{}", ran.err());
        world.run(&format!("convert {name} -c z.cpy -e cp037 --preserve -o back.dat")).code(0);
        assert!(world.read("back.dat") == world.read("z.dat"), "{name}");
    }
    // Text has the sign, so nothing is lost there.
    let ran = world.run("convert z.dat -c z.cpy -e cp037 --to jsonl");
    assert!(ran.code(0).out().starts_with("{\"P\":-0.00,\"Z\":[-0,0],\"L\":-0}\n"), "{}", ran.out());
    assert!(!ran.err().contains("REC-044"), "{}", ran.err());
}

#[test]
fn columns_become_every_text_and_columns_again() {
    let world = world();
    world.run(&format!("convert order.dat {RECORDS} -i order.toml -o order.parquet")).code(0);
    for (name, of_records) in [("a.csv", "b.csv"), ("a.xml", "b.xml"), ("a.json", "b.json")] {
        world.run(&format!("convert order.parquet -c order.cpy -i order.toml -o {name}")).code(0);
        world.run(&format!("convert order.dat {RECORDS} -i order.toml -o {of_records}")).code(0);
        assert!(world.read(name) == world.read(of_records), "{name}");
    }
    world.run("convert order.parquet -o again.parquet").code(0);
    assert_eq!(world.run("convert again.parquet").code(0).out(), DOCUMENTS);
    let shown = world.run("inspect order.parquet").code(0).out();
    assert!(shown.starts_with("order.parquet  Parquet file, 3 rows, 7 columns\n"), "{shown}");
    assert!(shown.contains("AMOUNT") && shown.contains("Decimal128(9, 2)"), "{shown}");
    assert!(shown.ends_with("next: quayline convert order.parquet --to jsonl\n"), "{shown}");
}

#[test]
fn a_row_that_is_no_record_goes_to_the_rejects_and_converts_again() {
    let world = world();
    world.write("bad.jsonl", DOCUMENTS.replace("\"ANNA\"", "\"ANNABELLE\""));
    world.write("wide.cpy", COPYBOOK.replace("X(6)", "X(20)"));
    world.run("convert bad.jsonl -c wide.cpy -i order.toml -o bad.parquet").code(0);
    let ran = world.run(&format!("convert bad.parquet {RECORDS} -i order.toml -o good.dat --rejects bad.rejects"));
    ran.code(1);
    let rejects = String::from_utf8(world.read("bad.rejects")).expect("text");
    assert_eq!(rejects, format!("{}\n", DOCUMENTS.lines().next().expect("a line").replace("ANNA", "ANNABELLE")));
    let why = String::from_utf8(world.read("bad.rejects.findings.jsonl")).expect("text");
    assert!(why.contains("\"record\":1") && !why.contains("\"byte\""), "{why}");
    world.run(&format!("convert bad.rejects --from json {RECORDS} -i order.toml -o more.dat")).code(1);
    // Without a file for rejects, the run stops at the first rejected document.
    world.run(&format!("convert bad.parquet {RECORDS} -i order.toml -o good.dat")).code(1);
}

#[test]
fn files_that_are_no_columns_are_told() {
    let world = world();
    world.run(&format!("convert order.dat {RECORDS} -i order.toml -o order.parquet")).code(0);
    let whole = world.read("order.parquet");
    world.write("cut.parquet", &whole[..whole.len() - 20]);
    let ran = world.run("convert cut.parquet");
    assert!(ran.code(1).err().starts_with("error[COL-033]: the Parquet file cannot be decoded: "), "{}", ran.err());
    assert!(ran.err().contains("\n  at cut.parquet\n"), "{}", ran.err());
    let ran = world.run("convert order.dat --from parquet");
    assert!(ran.code(1).err().starts_with("error[COL-031]: found neither Parquet nor Arrow IPC"), "{}", ran.err());
    let ran = world.run(&format!("convert order.parquet {RECORDS} -i order.toml -o x.jsonl --resume"));
    assert!(ran.code(2).err().contains("can be resumed"), "{}", ran.err());
    // Another name for a field, and one field that is missing.
    world.write("other.cpy", COPYBOOK.replace("CUSTOMER ", "CUSTOMERS"));
    let ran = world.run("convert order.parquet -c other.cpy -i order.toml --to jsonl");
    assert!(ran.code(2).err().contains("error[COL-037]: the column is not a field of the record"), "{}", ran.err());
    assert!(ran.err().contains("hint: the nearest field is CUSTOMERS"), "{}", ran.err());
    let ran = world.run("convert order.parquet -c other.cpy -i order.toml --to jsonl --unknown ignore");
    assert!(ran.code(0).err().contains("warning[COL-039]: the file has no column for CUSTOMERS"), "{}", ran.err());
}

#[test]
fn compressed_files_are_read_and_written_by_their_names() {
    let world = world();
    for (compressed, how) in [("order.jsonl.gz", "gzip"), ("order.jsonl.zst", "zstd")] {
        world.run(&format!("convert order.dat {RECORDS} -i order.toml -o {compressed}")).code(0);
        // `inspect` names this command.
        let shape = world.run(&format!("infer {compressed}")).code(0).out();
        world.write("plain.jsonl", DOCUMENTS);
        let fields = |shape: &str| shape.lines().filter(|line| line.starts_with(' ')).collect::<Vec<_>>().join("\n");
        let plain = world.run("infer plain.jsonl").code(0).out();
        assert!(fields(&shape).contains(' ') && fields(&shape) == fields(&plain), "{shape}");
        assert!(world.read(compressed).len() < DOCUMENTS.len());
        world.run(&format!("convert {compressed} {RECORDS} -i order.toml -o back.dat")).code(0);
        assert!(world.read("back.dat") == world.read("order.dat"), "{compressed}");
        // Pipes have no name, so an option sets the compression of the output.
        let ran = world.run(&format!("convert order.dat {RECORDS} -i order.toml --compress {how}"));
        assert!(ran.code(0).stdout == world.read(compressed), "{how}");
        let ran = world.run_with(&format!("convert - {RECORDS} -i order.toml --from json --to record"), &ran.stdout);
        assert!(ran.code(0).stdout == world.read("order.dat"), "{how}");
        // A stream that is cut is an error, and nothing takes the output's name.
        let whole = world.read(compressed);
        world.write("cut.jsonl", &whole[..whole.len() - 6]);
        let ran = world.run(&format!("convert cut.jsonl --from json {RECORDS} -i order.toml -o never.dat"));
        assert_ne!(ran.code, Some(0), "{how}");
        assert!(ran.err().contains("is cut or damaged"), "{}", ran.err());
        assert!(!world.files().contains(&"never.dat".to_owned()));
    }
    // Records too, by the extension in front.
    world.run(&format!("convert order.dat {RECORDS} -i order.toml -o order.dat.zst --to record")).code(0);
    let ran = world.run(&format!("convert order.dat.zst {RECORDS} -i order.toml"));
    assert_eq!(ran.code(0).out(), DOCUMENTS);
    // With `--decompress none`, the compressed bytes are read as they are, and they are not a record of the framing.
    let ran = world.run(&format!("convert order.dat.zst {RECORDS} --from record --decompress none"));
    assert_ne!(ran.code, Some(0), "{}", ran.err());
    let ran = world.run(&format!("convert order.dat {RECORDS} -o x.parquet --compress gzip"));
    assert!(ran.code(2).err().contains("are not compressed as a whole"), "{}", ran.err());
}

#[test]
fn interchanges_are_read_compressed_by_every_command() {
    let world = crate::edi::examples();
    world.run("convert claims.x12 --to edi -o claims.x12.gz").code(0);
    let plain = world.run("validate claims.x12").code(0).out();
    assert_eq!(world.run("validate claims.x12.gz").code(0).out(), plain.replace("claims.x12", "claims.x12.gz"));
    let shown = world.run("inspect claims.x12.gz").code(0).out();
    assert!(shown.contains("1 interchange, 1 functional group, 1 transaction, 44 segments"), "{shown}");
    let documents = world.run("convert claims.x12").code(0).out();
    assert_eq!(world.run("convert claims.x12.gz").code(0).out(), documents);
}

#[test]
fn a_map_takes_its_source_from_columns() {
    let world = world();
    world.run(&format!("convert order.dat {RECORDS} -i order.toml -o order.parquet")).code(0);
    let field = |name: &str, of_type: &str| {
        format!("[[field]]\nname = \"{name}\"\ntype = \"{of_type}\"\ndigits = 9\nrequired = true\n")
    };
    let fields = [field("ORDER-ID", "integer"), field("AMOUNT", "decimal")].concat() + "decimals = 2\n";
    world.write("in.toml", format!("layout = \"parquet\"\n{fields}"));
    world.write("out.shape", "order\n  id decimal(9)\n  amount decimal(9,2)\n");
    world.write(
        "sum.qmap",
        "map \"orders\"\nsource \"in.toml\"\ntarget out \"out.shape\"\nid = ORDER-ID\namount = AMOUNT\n",
    );
    let ran = world.run("translate --map sum.qmap order.parquet --unknown ignore");
    let wanted = "{\"id\":1,\"amount\":-12.34}\n{\"id\":2,\"amount\":0.00}\n{\"id\":3,\"amount\":9999999.99}\n";
    assert_eq!(ran.code(0).out(), wanted, "{}", ran.err());
    // Columns that the shape does not have are not passed over without a word.
    let ran = world.run("translate --map sum.qmap order.parquet");
    assert!(ran.code(2).err().contains("error[COL-037]"), "{}", ran.err());
}

/// Quayline checked `required` only when it wrote columns.
#[test]
fn a_row_of_columns_without_a_required_value_is_refused() {
    let world = World::new();
    let fields = |required: &str| {
        let field = |name: &str, more: &str| format!("[[field]]\nname = \"{name}\"\nlength = 5\n{more}");
        field("a", required) + &field("b", "")
    };
    for form in ["parquet", "arrow"] {
        world.write("free.toml", format!("layout = \"{form}\"\n{}", fields("")));
        world.write("strict.toml", format!("layout = \"{form}\"\n{}", fields("required = true\n")));
        world.write("in.shape", "in\n  a? text(5)\n  b? text(5)\n");
        world.write("make.qmap", "source \"in.shape\"\ntarget t \"free.toml\"\na = a\nb = b\n");
        for name in ["free", "strict"] {
            let map = format!("source \"{name}.toml\"\ntarget t \"in.shape\"\na = a\nb = b\n");
            world.write(&format!("{name}.qmap"), map);
        }
        world.write("in.jsonl", "{\"a\":\"1\"}\n{\"b\":\"2\"}\n{\"a\":\"3\",\"b\":\"4\"}\n");
        world.run(&format!("translate -m make.qmap in.jsonl -o rows.{form}")).code(0);
        let run = |name: &str| {
            world.run(&format!("translate -m {name}.qmap rows.{form} -o {name}.jsonl --rejects bad.jsonl --quiet"))
        };
        run("free").code(0);
        assert_eq!(world.read("free.jsonl"), world.read("in.jsonl"), "{form}");
        let ran = run("strict");
        assert!(ran.code(1).err().contains("error[COL-044]: the column has no value"), "{}", ran.err());
        assert_eq!(world.read("strict.jsonl"), b"{\"a\":\"1\"}\n{\"a\":\"3\",\"b\":\"4\"}\n", "{form}");
    }
}

/// A misspelt field of a layout was absent in each document, without a word.
#[test]
fn fields_of_a_layout_without_a_column_are_named() {
    let world = World::new();
    world
        .write("a.shape", "t\n  A text(9)\n  N decimal(5)\n")
        .write("a.qmap", "source \"a.shape\"\ntarget t \"w.toml\"\nA = A\nN = N\n")
        .write("w.toml", "layout = \"parquet\"\n[[field]]\nname = \"A\"\n[[field]]\nname = \"N\"\ntype = \"decimal\"\ndigits = 5\n")
        .write("r.toml", "layout = \"parquet\"\n[[field]]\nname = \"A\"\n[[field]]\nname = \"q\"\n[[field]]\nname = \"N\"\ntype = \"decimal\"\ndigits = 5\n")
        .write("r.qmap", "source \"r.toml\"\ntarget t \"a.shape\"\nA = A ?? \"-\"\nN = N ?? 0\n")
        .write("in.jsonl", "{\"A\":\"x\",\"N\":1}\n");
    world.run("translate in.jsonl -m a.qmap -o an.parquet").code(0);
    let ran = world.run("translate an.parquet -m r.qmap --to jsonl");
    assert!(ran.code(0).err().contains("warning[COL-039]: the file has no column for q"), "{}", ran.err());
}

/// Regression: a map dropped the sign without a message.
#[test]
fn the_sign_of_a_zero_that_a_map_drops_is_counted() {
    let world = World::new();
    world.write("n.cpy", "       01 R.\n           05 N PIC S9(3)V99.\n");
    world.write("n.dat", "0000}0000{0000}").write("n.jsonl", "{\"N\":-0.00}\n{\"N\":0.00}\n{\"N\":-0.00}\n");
    world.write("in.shape", "r\n  N decimal(5,2)\n");
    let field = "[[field]]\nname = \"n\"\ntype = \"decimal\"\ndigits = 5\ndecimals = 2\n";
    for layout in ["parquet", "arrow"] {
        world.write("out.toml", format!("layout = \"{layout}\"\n{field}"));
        for (source, run) in [("n.cpy", "n.dat --from-encoding ascii"), ("in.shape", "n.jsonl")] {
            world.write("m.qmap", format!("map \"m\"\nsource \"{source}\"\ntarget out \"out.toml\"\nn = N\n"));
            let ran = world.run(&format!("translate --map m.qmap {run} -o n.{layout}"));
            let told = "warning[REC-044]: 2 values of n lost the minus sign of a zero";
            assert!(ran.code(0).err().contains(told), "{layout} {source}: {}", ran.err());
        }
    }
}

/// Regression: columns and CSV had dates of the year 0, on which readers of Parquet fail. Maps refuse them.
#[test]
fn dates_of_the_year_zero_are_refused() {
    let world = World::new();
    world.write("d.cpy", "       01 R.\n           05 D PIC 9(8).\n").write("d.dat", "0000010120260131");
    world.write("d.toml", "[[field]]\nname = \"D\"\ndate = \"yyyyMMdd\"\n");
    for to in ["d.jsonl", "d.parquet"] {
        let ran = world.run(&format!("convert d.dat -c d.cpy -e ascii -i d.toml -o {to} --rejects bad"));
        assert!(ran.code(1).err().contains("error[REC-038]"), "{to}: {}", ran.err());
    }
    assert_eq!(world.read("d.jsonl"), b"{\"D\":\"2026-01-31\"}\n");
}
