//! Bad input: each case names the place and the remedy, has its exit code, and loses nothing.

use expect_test::expect;

use crate::convert::{ITEMS, item, items, world};
use crate::world::{World, ebcdic};

#[test]
fn a_truncated_last_record() {
    let world = world();
    let mut records = items();
    records.truncate(14 * 2 + 9);
    world.write("cut.dat", &records);
    world.run("convert cut.dat -c items.cpy -e cp037 -o cut.jsonl").check(expect![[r#"
        exit 1
        --- stderr
        error[FRM-001]: the source ends inside a record: 5 of 14 bytes are missing
          at cut.dat, record 3, byte 28

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing

        note[CLI-004]: the output is not complete: cut.jsonl.partial is still empty
    "#]]);
    assert_eq!(world.files(), ["cut.dat", "cut.jsonl.checkpoint", "cut.jsonl.partial", "items.cpy", "items.dat"]);
    world.run("convert cut.dat -c items.cpy -e cp037").check(expect![[r#"
        exit 1
        --- stderr
        error[FRM-001]: the source ends inside a record: 5 of 14 bytes are missing
          at cut.dat, record 3, byte 28

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing
    "#]]);
    world.run("convert cut.dat -c items.cpy -e cp037 -f rdw").check(expect![[r#"
        exit 1
        --- stderr
        error[FRM-003]: the RDW is not a length of at most 32760; the bytes are EBCDIC text
          at cut.dat, record 1, byte 0

        hint: data is in the place of a length: the file has no such header (the transfer removed it) or another framing; `inspect` on the file proposes one

        error[FRM-040]: junk from the first record on: `rdw` does not hold there, and no other framing is evident in the first 37 bytes
          at cut.dat, record 1

        hint: the file may be damaged or cut, or have an unknown framing: compare its size with the sender's, and ask the sender about RECFM, LRECL and a binary transfer
    "#]]);
}

fn with_rdw(records: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for record in records {
        let length = u16::try_from(record.len() + 4).expect("a short record");
        file.extend(length.to_be_bytes());
        file.extend([0, 0]);
        file.extend(record);
    }
    file
}

#[test]
fn an_rdw_below_4_or_above_the_limit() {
    let world = world();
    let good = with_rdw(&[item("A1", [0x12, 0x3c], "00150")]);
    let below = [good.as_slice(), &[0, 3, 0, 0], &items()[..14]].concat();
    let above = [good.as_slice(), &[0xff, 0xff, 0, 0], &items()[..14]].concat();
    world.write("below.dat", below).write("above.dat", above);
    world.run("convert below.dat -c items.cpy -e cp037 -f rdw").check(expect![[r#"
        exit 1
        --- stdout
        {"SKU":"A1","QUANTITY":123,"PRICE":1.50}
        --- stderr
        error[FRM-002]: the RDW says 3, expected at least 4
          at below.dat, record 2, byte 18

        hint: if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing

        error[FRM-040]: junk after record 1: `rdw` does not hold there, and no other framing is evident in the first 36 bytes
          at below.dat, record 2

        hint: the file may be damaged or cut, or have an unknown framing: compare its size with the sender's, and ask the sender about RECFM, LRECL and a binary transfer
    "#]]);
    world.run("convert above.dat -c items.cpy -e cp037 -f rdw").check(expect![[r#"
        exit 1
        --- stdout
        {"SKU":"A1","QUANTITY":123,"PRICE":1.50}
        --- stderr
        error[FRM-003]: the RDW says 65535, expected at most 32760
          at above.dat, record 2, byte 18

        hint: if the length does not count its own header, say `body`, as in `rdw:body`; `inspect` on the file proposes a framing

        error[FRM-040]: junk after record 1: `rdw` does not hold there, and no other framing is evident in the first 36 bytes
          at above.dat, record 2

        hint: the file may be damaged or cut, or have an unknown framing: compare its size with the sender's, and ask the sender about RECFM, LRECL and a binary transfer
    "#]]);
}

const TABLE: &str = "       01  R.
           05  N             PIC 9(2).
           05  T             OCCURS 1 TO 5 TIMES DEPENDING N PIC X(2).
           05  Z             PIC X.
";

#[test]
fn a_table_count_out_of_range_or_not_numeric() {
    let record = |count: &str| ebcdic(&format!("{count:<2}AABBCCDDEEZ"));
    let records = [record("05"), record("06"), record("X1"), record("00")].concat();
    let world = World::with([("table.cpy", TABLE.as_bytes()), ("table.dat", records.as_slice())]);
    world.run("convert table.dat -c table.cpy -e cp037 --rejects bad.dat").check(expect![[r#"
        exit 1
        --- stdout
        {"N":5,"T":["AA","BB","CC","DD","EE"],"Z":"Z"}
        --- stderr
        error[REC-009]: counter is too large, expected 0 to 5
          at table.dat, record 2, byte 13, N (offset 0 in the record, 2 bytes, PIC 9(2))

        hint: check that the file was written with this copybook: the counter determines the place of every later field

        error[REC-001]: digit 1 is 0xe7, expected a digit character
          at table.dat, record 3, byte 26, N (offset 0 in the record, 2 bytes, PIC 9(2))

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        error[REC-010]: counter is not a number: digit 1 is 0xe7, expected a digit character
          at table.dat, record 3, byte 26, N (offset 0 in the record, 2 bytes, PIC 9(2))

        hint: check that the file was written with this copybook: the counter determines the place of every later field

        error[REC-015]: 10 bytes follow the last field of the record, expected none or padding (spaces or low-values)
          at table.dat, record 4, byte 42

        hint: if records follow each other and end where their counters say, convert with `--framing layout`; to keep these bytes, `--preserve`; to ignore and count them, `--long accept`

        warning[CNV-030]: 3 of the first 4 records were rejected
          at table.dat

        hint: no other framing fits better; check that code page and copybook belong to this file: `quayline inspect` with both shows how they read it

        3 of 4 records rejected: bad.dat contains the rejected ones, bad.dat.findings.jsonl the reasons
    "#]]);
    assert!(world.read("bad.dat") == [record("06"), record("X1"), record("00")].concat());
    let findings = String::from_utf8(world.read("bad.dat.findings.jsonl")).expect("UTF-8");
    assert_eq!(findings.lines().count(), 4, "{findings}");
}

#[test]
fn a_wrong_code_page() {
    world().run("convert items.dat -c items.cpy -e ascii").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-006]: byte 0xc1 at position 1 is not a character of US-ASCII
          at items.dat, record 1, byte 0, SKU (offset 0 in the record, 4 bytes, PIC X(4))

        error[REC-001]: digit 1 is 0xf0, expected a digit character
          at items.dat, record 1, byte 6, PRICE (offset 6 in the record, 5 bytes, PIC 9(3)V99)

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        warning[CNV-030]: the first record was rejected
          at items.dat

        hint: no other framing fits better; check that code page and copybook belong to this file: `quayline inspect` with both shows how they read it
    "#]]);
    world().run("convert items.dat -c items.cpy -e cp38").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: code page 'cp38' is not known

        hint: did you mean IBM037? known: IBM037, IBM273, IBM277, IBM278, IBM280, IBM284, IBM285, IBM297, IBM500, IBM870, IBM871, IBM875, IBM1025, IBM1026, IBM1047, IBM1112, IBM1122, IBM1123, IBM1140, IBM1141, IBM1142, IBM1143, IBM1144, IBM1145, IBM1146, IBM1147, IBM1148, IBM1149, IBM1153, IBM1154, IBM1155, IBM1156, IBM1157, IBM1158, US-ASCII, ISO-8859-1, ISO-8859-2, ISO-8859-3, ISO-8859-4, ISO-8859-5, ISO-8859-6, ISO-8859-7, ISO-8859-8, ISO-8859-9, ISO-8859-15, windows-1252, windows-1250, windows-1251, windows-1253, windows-1254, windows-1255, windows-1257, IBM437, IBM850, IBM852, IBM855, IBM858, IBM866, KOI8-R, UTF-8, UTF-16BE, UTF-16LE; `inspect` proposes one from the data
    "#]]);
    world().run("convert items.dat -c items.cpy -e utf-16").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-001]: digit 1 is 0xf0, expected a digit character
          at items.dat, record 1, byte 6, PRICE (offset 6 in the record, 5 bytes, PIC 9(3)V99)

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        warning[CNV-030]: the first record was rejected
          at items.dat

        hint: no other framing fits better; check that code page and copybook belong to this file: `quayline inspect` with both shows how they read it
    "#]]);
}

#[test]
fn no_code_page_or_copybook() {
    world().run("convert items.dat -c items.cpy").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the code page of the records is not named, and it is never guessed

        hint: `quayline inspect items.dat` proposes one with its evidence; then add, say, --encoding cp037
    "#]]);
    world().run("convert items.dat -e cp037").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: no copybook is named, so the records have no description

        hint: name it with --copybook FILE
    "#]]);
    world().run("convert items.dat -e cp037 --json").check(expect![[r#"
        exit 2
        --- stderr
        {"schema":"quayline.finding/1","code":"CLI-003","severity":"error","fault":"caller","message":"no copybook is named, so the records have no description","hint":"name it with --copybook FILE"}
    "#]]);
}

#[test]
fn a_copybook_that_does_not_fit_the_file() {
    let world = World::new();
    let skus = ["PUMP", "BOLT", "GEAR", "NUTS", "CAMS", "RODS", "PINS"];
    let many: Vec<u8> = (0..700usize)
        .flat_map(|i| item(skus[i * i / 3 % 7], [0x12, 0x3c], &format!("{:05}", (i * 7919) % 100_000)))
        .collect();
    world.write("items.dat", many).write("items.cpy", ITEMS.replace("X(3)", "X(5)"));
    world.run("convert items.dat -c items.cpy -e cp037 -o items.jsonl").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-001]: digit 1 is 0xf, expected 0 to 9
          at items.dat, record 2, byte 20, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        error[REC-001]: digit 4 is 0x40, expected a digit character
          at items.dat, record 2, byte 22, PRICE (offset 6 in the record, 5 bytes, PIC 9(3)V99)

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        error[FRM-001]: the source ends inside a record: 8 of 16 bytes are missing
          at items.dat, record 613, byte 9792

        hint: the transfer stopped early or the framing is wrong: compare the file's size with the sender's; `inspect` on the file proposes a framing

        error[FRM-040]: junk after record 1: the framing `fixed:16` does not fit this file
          at items.dat, record 2

        hint: `fixed:14` fits all 700 records in the first 9800 bytes (bytes repeat at a distance of 14: 35 % more than at its neighbours; blanks change to letters at offset 0 in 700 of 700 records; the file's 9800 bytes are 700 records exactly), but the description has records of 16 bytes: check that it belongs to this file

        note[CLI-004]: the output is not complete: items.jsonl.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -o items.jsonl --rejects bad.dat --max-rejects 10").check(expect![[r#"
        exit 1
        --- stderr
        error[CNV-004]: 525 records rejected, more than the 10 allowed

        hint: bad.dat.partial has the records, bad.dat.findings.jsonl.partial says what is wrong with each

        error[FRM-040]: junk after record 1: the framing `fixed:16` does not fit this file
          at items.dat, record 2

        hint: `fixed:14` fits all 700 records in the first 9800 bytes (bytes repeat at a distance of 14: 35 % more than at its neighbours; blanks change to letters at offset 0 in 700 of 700 records; the file's 9800 bytes are 700 records exactly), but the description has records of 16 bytes: check that it belongs to this file

        note[CLI-004]: the output is not complete: items.jsonl.partial holds what was done
    "#]]);
    let said =
        world.run("convert items.dat -c items.cpy -e cp037 -o items.parquet --rejects bad.dat --max-rejects 10").err();
    assert!(said.contains("items.parquet.partial lacks the footer of Parquet, so readers refuse it"), "{said}");
}

fn inspect(copybook: &str) -> crate::world::Ran {
    World::with([("bad.cpy", copybook.as_bytes())]).run("inspect bad.cpy")
}

#[test]
fn duplicate_names() {
    inspect("       01  R.\n           05  A PIC X.\n           05  B PIC X.\n           05  A PIC 9.\n").check(
        expect![[r#"
        exit 0
        --- stdout
        R  3 bytes, bad.cpy:1

          from 0   from 1   length  level and name  type
               0        1        3  01 R            group
               0        1        1    05 A          PIC X
               1        2        1    05 B          PIC X
               2        3        1    05 A          PIC 9

        3 items in 1 group
        --- stderr
        warning[COB-092]: A is the name of two fields of one group, the other is in line 2
          at bad.cpy:4:16
          |
        4 |            05  A PIC 9.
          |                ^

        hint: rename one of them: a reference to either is ambiguous
    "#]],
    );
}

#[test]
fn a_circular_redefines() {
    inspect("       01  R.\n           05  A REDEFINES B PIC X.\n           05  B REDEFINES A PIC X.\n").check(
        expect![[r#"
            exit 2
            --- stderr
            error[COB-061]: A redefines B, which follows it
              at bad.cpy:2:18
              |
            2 |            05  A REDEFINES B PIC X.
              |                  ^^^^^^^^^^^

            hint: put REDEFINES directly after the field it names, with the same level number, in the same group
        "#]],
    );
    inspect("       01  R.\n           05  A REDEFINES A PIC X.\n").check(expect![[r#"
        exit 2
        --- stderr
        error[COB-061]: A redefines itself
          at bad.cpy:2:18
          |
        2 |            05  A REDEFINES A PIC X.
          |                  ^^^^^^^^^^^

        hint: put REDEFINES directly after the field it names, with the same level number, in the same group
    "#]]);
}

#[test]
fn an_unknown_copy_member() {
    inspect("       01  R.\n           COPY NOWHERE.\n           05  A PIC X.\n").check(expect![[r#"
        exit 2
        --- stderr
        error[COB-010]: COPY member NOWHERE is not in the library
          at bad.cpy:2:12
          |
        2 |            COPY NOWHERE.
          |            ^^^^^^^^^^^^

        hint: looked for ./NOWHERE.cpy (or .cbl, .cob, .copy, .inc, .txt, none); name the folder that holds it with `-I`
    "#]]);
}

#[test]
fn a_copybook_that_copies_itself() {
    let world = World::with([("loop.cpy", &b"       01  R.\n           COPY LOOP.\n"[..])]);
    world.run("inspect loop.cpy").check(expect![[r#"
        exit 2
        --- stderr
        error[COB-011]: ./loop.cpy copies itself: loop.cpy → ./loop.cpy → ./loop.cpy
          at ./loop.cpy:2:12 (copied at loop.cpy:2)
          |
        2 |            COPY LOOP.
          |            ^^^^^^^^^

        hint: remove the COPY that closes the circle
    "#]]);
}

/// A compressed file that is damaged was called `<input>`.
#[test]
fn a_compressed_input_that_breaks_has_its_name() {
    let world = world();
    world.write("digits.cpy", "       01 R PIC 9(6).\n");
    let text: String = (0..5_000u32).map(|i| format!("{:06}", i * 7_919 % 999_983)).collect();
    world.write("digits.dat", text);
    world.run("convert digits.dat -c digits.cpy -e ascii -o digits.jsonl.gz").code(0);
    let packed = world.read("digits.jsonl.gz");
    world.write("cut.gz", &packed[..packed.len() / 2]);
    for framing in ["fixed", "layout", "rdw", "lines"] {
        let ran =
            world.run(&format!("convert cut.gz --from record -c digits.cpy -e ascii -f {framing} --rejects r.dat"));
        let err = ran.err();
        assert!(!err.contains("<input>"), "{framing}: {err}");
        assert!(err.contains("at cut.gz"), "{framing}: {err}");
    }
    let ran = world.run("convert cut.gz --from json -c digits.cpy -e ascii --to record -o out.dat");
    assert!(ran.err().contains("CNV-001") && ran.err().contains("at cut.gz"), "{}", ran.err());
}

#[test]
fn an_endless_line() {
    let world = world();
    world.write("endless.dat", vec![0xc1; (16 << 20) + 100]);
    world.run("convert endless.dat -c items.cpy -e cp037 -f lines:nl").check(expect![[r#"
        exit 1
        --- stderr
        error[FRM-006]: no line end within 16777216 bytes
          at endless.dat, record 1, byte 0

        hint: the file has no lines, or other line ends: `inspect` on the file proposes a framing; or allow more with `--limit line-bytes=N`

        error[FRM-040]: junk from the first record on: `lines:nl` does not hold there, and no other framing is evident in the first 16777316 bytes
          at endless.dat, record 1

        hint: the file may be damaged or cut, or have an unknown framing: compare its size with the sender's, and ask the sender about RECFM, LRECL and a binary transfer
    "#]]);
    let mut json = b"{\"SKU\":\"".to_vec();
    json.resize((16 << 20) + 100, b'A');
    world.write("endless.jsonl", json);
    world.run("convert endless.jsonl -c items.cpy -e cp037 -o out.dat").check(expect![[r#"
        exit 1
        --- stderr
        error[JSON-020]: the document is longer than 16777216 bytes
          at endless.jsonl:1:16777217, record 1, byte 16777216

        hint: look for a brace or quote that is not closed, or allow more with `--limit record-bytes=N`

        note[CLI-004]: the output is not complete: out.dat.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    assert!(!world.path("out.dat").exists());
}

#[test]
fn an_empty_file_is_no_record() {
    let world = world();
    world.write("empty.dat", b"").write("empty.jsonl", b"");
    world.run("convert empty.dat -c items.cpy -e cp037").check(expect![[r#"
        exit 0
        --- stderr
        warning[FRM-007]: the source is empty: 0 records
          at empty.dat

        hint: if records were expected, ask the sender; a transfer that failed at once leaves such a file
    "#]]);
    // Regression: these were silent.
    world.write("empty.csv", b"").write("empty.json", b"").write("list.json", b"[]\n");
    for file in ["empty.jsonl", "empty.json", "empty.csv"] {
        let ran = world.run(&format!("convert {file} -c items.cpy -e cp037"));
        let told = format!("warning[FRM-007]: the source is empty: 0 records\n  at {file}\n");
        assert!(ran.code(0).err().contains(&told), "{}", ran.err());
    }
    assert_eq!(world.run("convert list.json -c items.cpy -e cp037").code(0).err(), "");
}

#[test]
fn documents_that_do_not_fit_the_copybook() {
    let world = world();
    for (name, line) in [
        ("long", r#"{"SKU":"TOO LONG","QUANTITY":1,"PRICE":1}"#),
        ("digits", r#"{"SKU":"A","QUANTITY":12345,"PRICE":1}"#),
        ("decimals", r#"{"SKU":"A","QUANTITY":1,"PRICE":1.999}"#),
        ("character", "{\"SKU\":\"\u{20ac}\",\"QUANTITY\":1,\"PRICE\":1}"),
        ("unknown", r#"{"SKU":"A","QUANTITY":1,"PRIZE":1}"#),
        ("kind", r#"{"SKU":"A","QUANTITY":[1],"PRICE":1}"#),
        ("syntax", r#"{"SKU":"A","QUANTITY":1"#),
    ] {
        world.write(&format!("{name}.jsonl"), format!("{{\"SKU\":\"OK\"}}\n{line}\n"));
    }
    world.run("convert long.jsonl -c items.cpy -e cp037 -o out.dat").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-021]: text has 8 characters, field holds 4
          at long.jsonl:2, record 2, byte 13, $.SKU (4 bytes, PIC X(4))

        hint: shorten the text: none of it is cut off silently

        note[CLI-004]: the output is not complete: out.dat.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert digits.jsonl -c items.cpy -e cp037 -o out.dat").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-023]: number has 5 digits before the point, field holds 3
          at digits.jsonl:2, record 2, byte 13, $.QUANTITY (2 bytes, PIC S9(3) COMP-3)

        hint: send a number that fits the picture; a binary field (COMP) whose program uses the full range of its bytes takes it with `--set truncate=no`, and what `--preserve` decoded comes back whole

        note[CLI-004]: the output is not complete: out.dat.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert decimals.jsonl -c items.cpy -e cp037 -o out.dat").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-024]: number has more than 2 decimals
          at decimals.jsonl:2, record 2, byte 13, $.PRICE (5 bytes, PIC 9(3)V99)

        hint: round the number to the digits of the field: none is cut off silently

        note[CLI-004]: the output is not complete: out.dat.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert character.jsonl -c items.cpy -e cp037 -o out.dat").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-022]: the character at position 1 is not in IBM037
          at character.jsonl:2, record 2, byte 13, $.SKU (4 bytes, PIC X(4))

        hint: replace the character, or write to a code page that has it, with `--encoding` or `--to-encoding`

        note[CLI-004]: the output is not complete: out.dat.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert unknown.jsonl -c items.cpy -e cp037 -o out.dat").check(expect![[r#"
        exit 1
        --- stderr
        error[JSON-011]: the layout has no such member
          at unknown.jsonl:2:25, record 2, byte 37, $.PRIZE

        hint: did you mean `PRICE`?

        note[CLI-004]: the output is not complete: out.dat.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert unknown.jsonl -c items.cpy -e cp037 -o out.dat --unknown ignore").code(0);
    world.run("convert kind.jsonl -c items.cpy -e cp037 -o out.dat").check(expect![[r#"
        exit 1
        --- stderr
        error[JSON-012]: expected a number, found an array
          at kind.jsonl:2:23, record 2, byte 35, $.QUANTITY

        hint: write a value of the expected kind; the copybook or shape says what the member holds

        note[CLI-004]: the output is not complete: out.dat.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert syntax.jsonl -c items.cpy -e cp037 -o out.dat").check(expect![[r#"
        exit 1
        --- stderr
        error[JSON-002]: the document ends where `,` or `}` is expected
          at syntax.jsonl:3:1, record 2, byte 37, $

        hint: the text may have been truncated in transfer; send it again whole

        note[CLI-004]: the output is not complete: out.dat.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
}

#[test]
fn bad_values_by_policy() {
    let world = world();
    let records =
        [item("OK", [0x12, 0x3c], "00150"), item("SPAC", [0x40, 0x40], "     "), item("ZERO", [0, 0], "00000")];
    let records = records.concat();
    world.write("items.dat", records);
    world.run("convert items.dat -c items.cpy -e cp037").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-004]: field holds only spaces
          at items.dat, record 2, byte 18, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if that means "no value": `--blank null` (in a layout: `blank = "null"`)

        error[REC-004]: field holds only spaces
          at items.dat, record 2, byte 20, PRICE (offset 6 in the record, 5 bytes, PIC 9(3)V99)

        hint: if that means "no value": `--blank null` (in a layout: `blank = "null"`)
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 --blank null").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-005]: field holds only low-values (0x00)
          at items.dat, record 3, byte 32, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if that means "no value": `--low-values null` (in a layout: `low-values = "null"`)
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 --blank raw").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-005]: field holds only low-values (0x00)
          at items.dat, record 3, byte 32, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if that means "no value": `--low-values null` (in a layout: `low-values = "null"`)
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 --blank null --low-values null").check(expect![[r#"
        exit 0
        --- stdout
        {"SKU":"OK","QUANTITY":123,"PRICE":1.50}
        {"SKU":"SPAC","QUANTITY":null,"PRICE":null}
        {"SKU":"ZERO","QUANTITY":null,"PRICE":0.00}
        --- stderr
        warning[REC-050]: 1 value of QUANTITY (PIC S9(3) COMP-3): binary zeros that became null, which is written as spaces
          at items.dat, record 3, byte 32, QUANTITY

        hint: `quayline convert --preserve` keeps these bytes; with one of the two policies alone, null has one form
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 --blank raw --low-values raw").check(expect![[r#"
        exit 0
        --- stdout
        {"SKU":"OK","QUANTITY":123,"PRICE":1.50}
        {"SKU":"SPAC","QUANTITY":"0x4040","PRICE":"0x4040404040"}
        {"SKU":"ZERO","QUANTITY":"0x0000","PRICE":0.00}
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 --rejects bad.dat").check(expect![[r#"
        exit 1
        --- stdout
        {"SKU":"OK","QUANTITY":123,"PRICE":1.50}
        --- stderr
        error[REC-004]: field holds only spaces
          at items.dat, record 2, byte 18, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if that means "no value": `--blank null` (in a layout: `blank = "null"`)

        error[REC-004]: field holds only spaces
          at items.dat, record 2, byte 20, PRICE (offset 6 in the record, 5 bytes, PIC 9(3)V99)

        hint: if that means "no value": `--blank null` (in a layout: `blank = "null"`)

        error[REC-005]: field holds only low-values (0x00)
          at items.dat, record 3, byte 32, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if that means "no value": `--low-values null` (in a layout: `low-values = "null"`)

        warning[CNV-030]: 2 of the first 3 records were rejected
          at items.dat

        hint: no other framing fits better; check that code page and copybook belong to this file: `quayline inspect` with both shows how they read it

        2 of 3 records rejected: bad.dat contains the rejected ones, bad.dat.findings.jsonl the reasons
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 --rejects bad.dat --max-rejects 0").check(expect![[r#"
        exit 1
        --- stdout
        {"SKU":"OK","QUANTITY":123,"PRICE":1.50}
        --- stderr
        error[CNV-004]: 2 records rejected, more than the 0 allowed

        hint: bad.dat.partial has the records, bad.dat.findings.jsonl.partial says what is wrong with each

        warning[CNV-030]: 2 of the first 3 records were rejected
          at items.dat

        hint: no other framing fits better; check that code page and copybook belong to this file: `quayline inspect` with both shows how they read it
    "#]]);
}

#[test]
fn data_are_shown_on_request_only() {
    let world = world();
    let mut records = items();
    records.extend(item("BAD", [0x12, 0x34], "00100"));
    world.write("items.dat", &records);
    world.run("convert items.dat -c items.cpy -e cp037 -o out.jsonl").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-002]: sign is 0x4, expected 0xa to 0xf
          at items.dat, record 4, byte 46, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        note[CLI-004]: the output is not complete: out.jsonl.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -o out.jsonl --show-data").check(expect![[r#"
        exit 1
        --- stderr
        error[REC-002]: sign is 0x4, expected 0xa to 0xf
            the bytes: 12 34
            as text:   ..
          at items.dat, record 4, byte 46, QUANTITY (offset 4 in the record, 2 bytes, PIC S9(3) COMP-3)

        hint: if whole records look shifted, check code page, framing and copybook with `quayline inspect`; to keep such bytes, `quayline convert --invalid raw`

        note[CLI-004]: the output is not complete: out.jsonl.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
}

#[test]
fn framings_that_cannot_be() {
    let world = world();
    world.run("convert items.dat -c items.cpy -e cp037 -f fixed:0").check(expect![[r#"
        exit 2
        --- stderr
        error[FRM-030]: a fixed record length of 0 never ends the first record

        hint: give the length of a record in bytes, as in `fixed:200`
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -f rwd").check(expect![[r#"
        exit 2
        --- stderr
        error[FRM-031]: `rwd` is not a framing; expected fixed, rdw, vb, vbs, lines, length, layout, d, gnucobol or mf

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -f rdw:adjust=x").check(expect![[r#"
        exit 2
        --- stderr
        error[FRM-031]: `adjust` needs a number that fits, found `x`

        hint: for example `fixed:200`, `rdw`, `rdw:le,body`, `vb`, `lines:crlf`, `length:offset=0,size=2,body`
    "#]]);
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let world = world();
    world.run("convert item.dat -c items.cpy -e cp037").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: cannot be read: no such file or directory
          at item.dat

        hint: did you mean items.dat?
    "#]]);
    world.run("convert items.dat -c item.cpy -e cp037").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: cannot be read: no such file or directory
          at item.cpy

        hint: did you mean items.cpy?
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -i item.toml").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: cannot be read: no such file or directory
          at item.toml

        hint: check the path
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -o no/such/folder.jsonl").check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-001]: cannot create: no such file or directory
          at no/such/folder.jsonl.partial

        hint: the folder no/such does not exist: make it first, or name another
    "#]]);
    world.run("convert items.dat items.csv -c items.cpy -e cp037").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the input items.csv does not exist

        hint: to write that file, name it as the output: -o items.csv
    "#]]);
    world.run("convert items.dat -c items.cpy -e cp037 -o items.dat").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: items.dat is both read and written

        hint: name another file or folder
    "#]]);
    let interface = "fillers = \"drop\"\n";
    world.write("items.toml", interface);
    let copybook = world.read("items.cpy");
    std::os::unix::fs::symlink("items.dat", world.path("link.jsonl")).unwrap();
    for (options, read) in [
        ("-o items.cpy --to jsonl", "items.cpy"),
        ("-o items.toml --to jsonl", "items.toml"),
        ("-o out.jsonl --rejects items.cpy", "items.cpy"),
        ("-o out.jsonl --rejects items.toml", "items.toml"),
        ("-o out.jsonl --checkpoint items.cpy", "items.cpy"),
        ("-o out.jsonl --checkpoint items.toml", "items.toml"),
        ("-o out.jsonl --profile items.dat", "items.dat"),
        ("-o out.jsonl --profile items.toml", "items.toml"),
        ("-o link.jsonl", "link.jsonl"),
    ] {
        let done = world.run(&format!("convert items.dat -c items.cpy -i items.toml -e cp037 {options}"));
        assert!(done.err().contains(&format!("{read} is both read and written")), "{options}: {}", done.err());
        done.code(2);
    }
    let done = world.run("convert items.dat -c items.cpy -e cp037 -o out.jsonl --profile out.jsonl");
    assert!(done.err().contains("out.jsonl would be written twice"), "{}", done.err());
    // Of several inputs, none may be where another one's output goes.
    world.write("two.dat", items());
    std::fs::create_dir(world.path("out")).unwrap();
    std::os::unix::fs::symlink("../items.dat", world.path("out/two.jsonl")).unwrap();
    let done = world.run("convert items.dat two.dat -c items.cpy -e cp037 --to jsonl -o out");
    assert!(done.err().contains("both read and written"), "{}", done.err());
    assert!(world.read("items.cpy") == copybook && world.read("items.toml") == interface.as_bytes());
    assert!(world.read("items.dat") == items(), "the input is as it was");
}

/// Only files that the arguments name were apart from outputs: an output replaced a COPY member, or a guide of a folder.
#[test]
fn files_that_definitions_read_are_never_written() {
    let member = "          05 B PIC X(2).\n";
    let world = World::with([
        ("r.cpy", &b"       01 R.\n          05 A PIC X(2).\n          COPY PART.\n          COPY MORE.\n"[..]),
        ("PART.cpy", member.as_bytes()),
        ("lib/more.cpy", b"          05 C PIC X.\n"),
        ("in.dat", b"aabbc"),
    ]);
    let convert = "convert in.dat -c r.cpy -I lib -e ascii --to jsonl";
    for (more, read) in [
        ("-o PART.cpy", "PART.cpy"),
        ("-o lib/more.cpy", "lib/more.cpy"),
        ("-o out.jsonl --rejects ./PART.cpy", "./PART.cpy"),
        ("-o out.jsonl --profile lib/more.cpy", "lib/more.cpy"),
    ] {
        let told = world.run(&format!("{convert} {more}")).code(2).err().to_owned();
        assert!(told.contains(&format!("{read} is both read and written")), "{more}: {told}");
    }
    // A file that would be a member of this name is none yet.
    world.run(&format!("{convert} -o MORE.cpy")).code(0);
    let examples = crate::edi::examples();
    for name in ["837p.guide", "x12-claims.guide"] {
        examples.write(&format!("guides/{name}"), examples.read(name));
    }
    for (command, read) in [
        ("validate claims.x12 --guide guides --ack 999 --ack-time 202604011200 --ack-output", "guides/837p.guide"),
        ("convert claims.x12 --guide guides --to jsonl -o", "guides/837p.guide"),
        ("convert claims.x12 --guide guides/837p.guide --to jsonl -o", "guides/x12-claims.guide"),
    ] {
        let kept = examples.read(read);
        // The second time, the guides come from the cache.
        for _ in 0..2 {
            let told = examples.run(&format!("{command} {read}")).code(2).err().to_owned();
            assert!(told.contains(&format!("{read} is both read and written")), "{command}: {told}");
            assert!(examples.read(read) == kept, "{command}");
        }
    }
    assert!(world.read("PART.cpy") == member.as_bytes());
}

/// Regression: data that was named as a copybook, an interface file or a guide was read whole before it was refused.
#[test]
fn data_in_the_place_of_a_description_does_not_fill_the_memory() {
    let world = world();
    for command in [
        "convert items.dat -c /dev/zero -e cp037",
        "convert items.dat -c items.cpy -e cp037 --interface /dev/zero",
        "guide check /dev/zero",
    ] {
        let run = world.run(command);
        assert!(run.err().contains("cannot be read: it has more than 64 MiB"), "{command}: {}", run.err());
        assert_eq!(run.code, Some(2), "{command}");
    }
}

/// Regression: XML without `--from` was invalid JSON, and the hint was about commas.
#[test]
fn xml_in_the_place_of_json_has_a_hint() {
    let world = World::with([
        ("s.shape", b"thing\n  a decimal(5,0)\n" as &[u8]),
        ("m.qmap", b"map \"m\"\nsource \"s.shape\"\ntarget s \"s.shape\"\n\na = a\n"),
        ("in.dat", b"<things><record><a>1</a></record></things>"),
    ]);
    let run = world.run("translate -m m.qmap in.dat");
    assert!(run.code(1).err().contains("hint: if the file is XML, add `--from xml`"), "{}", run.err());
    world.run("translate -m m.qmap --from xml in.dat").code(0);
    let run = world.run("translate -m m.qmap --from xml in.dat -o s=a.json -o s=b.json");
    assert!(run.code(2).err().contains("hint: leave one of the two out"), "{}", run.err());
}
