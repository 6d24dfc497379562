//! EDI on the command line: inspect, convert, validate, acknowledge.

use std::path::Path;

use expect_test::expect;

use crate::world::World;

const ISA: &str =
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~";

/// Returns two purchase orders; the second has a wrong segment count.
pub(crate) fn po() -> String {
    format!(
        "{ISA}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*00*SA*P1**20260401~SE*3*0001~ST*850*0002~BEG*00*SA*P2**20260401~SE*4*0002~GE*2*1~IEA*1*000000001~"
    )
}

/// Creates a world with the examples of the repository.
pub(crate) fn examples() -> World {
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
    examples().run("inspect claims.x12").check(expect![[r#"
        exit 0
        --- stdout
        claims.x12  1,107 bytes of EDI

          1 interchange, 1 functional group, 1 transaction, 44 segments

        transactions
                  1  X12 837 005010X222A1 in HC: 40 segments

        partners
                  1  from HARBOURHOUSE (ZZ) to MUTUALCARE (ZZ): 1 transaction

        interchanges
          byte 0: X12 00501, control number 000000101, of 260401 1200, marked as a test
            1 group, 1 transaction; elements * components : segments ~ repetitions ^, on lines
    "#]]);
    examples().run("inspect orders.edi").check(expect![[r#"
        exit 0
        --- stdout
        orders.edi  692 bytes of EDI

          1 interchange, 0 functional groups, 2 transactions, 32 segments

        transactions
                  2  EDIFACT ORDERS D:96A:UN: 30 segments, the longest 17

        partners
                  1  from 5412345000013 (14) to 4012345500004 (14): 2 transactions

        interchanges
          byte 0: EDIFACT UNOC syntax 3 (ISO 8859-1), control number 26, of 260401 1200
            0 groups, 2 transactions; elements + components : segments ' release ?, on lines
    "#]]);
    let both = [po().as_bytes(), b"\n-- mail --\n", b"UNB+UNOA:1+A+B+260401:1200+1'UNZ+0+1'"].concat();
    World::with([("both", both.as_slice())]).run("inspect both --as edi").check(expect![[r#"
        exit 1
        --- stdout
        both  303 bytes of EDI

          2 interchanges, 1 functional group, 2 transactions, 12 segments

        transactions
                  2  X12 850 005010 in PO: 6 segments, the longest 3

        partners
                  1  from SENDER (ZZ) to RECEIVER (ZZ): 2 transactions
                  1  from A to B: 0 transactions

        interchanges
          byte 0: X12 00501, control number 000000001, of 260401 1200, marked as a test
            1 group, 2 transactions; elements * components : segments ~ repetitions ^
          byte 266: EDIFACT UNOA syntax 1 (ASCII), control number 1, of 260401 1200
            0 groups, 0 transactions; elements + components : segments ' release ?
        --- stderr
        error[EDI-033]: SE01 declares 4 segments, counted 3
          at both, byte 221, interchange 1, group 1, transaction 2, segment 3, element 1 (X12.5 and X12.6, control segments)

        hint: write 3, or look for what is missing or superfluous

        warning[EDI-001]: 11 bytes here are neither white space nor part of an interchange
          at both, byte 255

        hint: remove what is not EDI, such as mail headers, if it should not be there
    "#]]);
}

#[test]
fn a_bad_transaction_stops_a_conversion_or_goes_to_the_rejects() {
    let world = World::with([("po.x12", po().as_bytes())]);
    world.run("convert po.x12 -o po.jsonl").check(expect![[r#"
        exit 1
        --- stderr
        error[EDI-033]: SE01 declares 4 segments, counted 3
          at po.x12, byte 221, interchange 1, group 1, transaction 2, segment 3, element 1 (X12.5 and X12.6, control segments)

        hint: write 3, or look for what is missing or superfluous

        note[CLI-004]: the output is not complete: po.jsonl.partial is still empty

        hint: to continue past records that do not convert, run again with --rejects FILE, without --resume
    "#]]);
    world.run("convert po.x12 -o po.jsonl --rejects bad.x12 --stats").code(1);
    assert_eq!(world.files(), ["bad.x12", "bad.x12.findings.jsonl", "po.jsonl", "po.x12"]);
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
fn transactions_go_to_files_of_their_own() {
    let world = examples();
    world.write("parts/.keep", "");
    assert_eq!(world.run("convert orders.edi --split parts").code(0).err().matches("CNV-043").count(), 0);
    assert_eq!(world.run("convert orders.edi --split parts --to edi").code(0).err().matches("CNV-043").count(), 0);
    let again = world.run("convert orders.edi --split parts").code(0).err();
    assert!(
        again.contains("warning[CNV-043]: parts has 2 files, such as 000001-ORDERS-1.json, of an earlier run"),
        "{again}"
    );
    for name in ["000001-ORDERS-1.json", "000002-ORDERS-2.json", "000001-ORDERS-1.edi", "000002-ORDERS-2.edi"] {
        assert!(world.path("parts").join(name).is_file(), "{name}");
    }
    world.run("validate parts/000002-ORDERS-2.edi --guide orders.guide").code(0);
    world.run("convert orders.edi --split none").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: none is not a folder

        hint: make it first
    "#]]);
    world.run("convert orders.edi --split parts --to csv").code(2);
}

/// Regression: the summary of a resumed run knew only the errors of its own part, and without rejects its exit code was 0.
#[test]
fn a_resumed_run_counts_the_errors_before_its_checkpoint() {
    let world = World::new();
    let interchange = |n: usize| {
        let (groups, segments) = (if n == 1 { 2 } else { 1 }, if n == 3_000 { 4 } else { 3 });
        let isa = ISA.replace("000000001", &format!("{n:09}"));
        format!(
            "{isa}GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*00*SA*P1**20260401~SE*{segments}*0001~GE*1*1~IEA*{groups}*{n:09}~"
        )
    };
    world.write("in.x12", (1..=4_000).map(interchange).collect::<String>());
    let line = "convert in.x12 -o out.jsonl --rejects bad.x12 --checkpoint state";
    let whole = world.run(line);
    let error = "1 error outside of transactions rejects none of them, but something is wrong";
    assert!(whole.code(1).err().contains(&format!("{error}\n")), "{}", whole.err());
    world.run(&format!("{line} --max-rejects 0")).code(1);
    let resumed = world.run(&format!("{line} --max-rejects 5 --resume"));
    let before = format!("{error}; 1 error precedes the checkpoint from which this run resumed\n");
    assert!(resumed.code(1).err().contains(&before), "{}", resumed.err());
}

#[test]
fn a_data_file_in_the_copybooks_place_is_not_shown() {
    let world = World::with([("items.dat", &b"SMITH JOHN 0012345678 SALEM OR\nDOE JANE 0012345679 SALEM OR\n"[..])]);
    world.run("convert items.dat -c items.dat -e cp037").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-007]: the file is not a copybook: no line describes a data item
          at items.dat

        hint: name the copybook with --copybook, and the data file as INPUT
    "#]]);
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
    world.run("validate claims.x12 orders.edi --guide 837p.guide --guide orders.guide").check(expect![[r#"
        exit 0
        --- stderr
        claims.x12: 1 transaction in 1 interchange, checked by guide 837P: no findings

        orders.edi: 2 transactions in 1 interchange, checked by guide ORDERS-D96A: no findings
    "#]]);
    world
        .run("validate claims-with-faults.x12 --guide 837p.guide --ack 999 --ack-time 202604011300 --ack-control 77 --ack-output answer.x12")
        .check(expect![[r#"
            exit 1
            --- stdout
            error[EDI-117]: DMG02 (Date time period) in loop 2000A/2000B/2010BA is not a date, expected CCYYMMDD
              at claims-with-faults.x12, byte 902, interchange 1, group 1, transaction 1, segment 32, element 2 (X12.6, data element types and lengths)

            hint: write CCYYMMDD

            error[EDI-130]: the claim's amount is not the sum of its lines (line-total) in loop 2000A/2000B/2300
              at claims-with-faults.x12, byte 955, interchange 1, group 1, transaction 1, segment 34, element 2 (the implementation guide)

            hint: the rule is in the guide's `rules`
            --- stderr
            claims-with-faults.x12: 1 transaction in 1 interchange, checked by guide 837P: 2 errors, 0 warnings, 1 of the transactions with errors
              EDI-117 1
              EDI-130 1

            1 transaction acknowledged in answer.x12: 0 accepted, 1 rejected, 1 group rejected
        "#]]);
    expect![[r#"
        ISA*00*          *00*          *ZZ*MUTUALCARE     *ZZ*HARBOURHOUSE   *260401*1300*^*00501*000000077*0*T*:~
        GS*FA*MUTUALCARE*HARBOURHOUSE*20260401*1300*77*X*005010X231A1~
        ST*999*0001*005010X231A1~
        AK1*HC*1*005010X222A1~
        AK2*837*0001*005010X222A1~
        IK3*DMG*32*2010*8~
        IK4*2*1251*8*19751331~
        IK3*CLM*34*2300*8~
        CTX*CLM01:QG1002~
        IK4*2*782*I12*86~
        IK5*R*5*I5~
        AK9*R*1*1*0~
        SE*11*0001~
        GE*1*77~
        IEA*1*000000077~
    "#]]
    .assert_eq(&String::from_utf8(world.read("answer.x12")).expect("ASCII").replace("\r", ""));
    world.run("validate claims-with-faults.x12 --level envelope").code(0);
    world.run("validate claims-with-faults.x12 --guide 837p.guide --level notes --max-findings 0").check(expect![[r#"
        exit 1
        --- stderr
        claims-with-faults.x12: 1 transaction in 1 interchange, checked by guide 837P without rules: 1 error, 0 warnings, 1 of the transactions with errors
        not shown: 1 finding more than --max-findings 0
    "#]]);
    // A conversion by guide rejects the same transactions as validation.
    world.run("convert claims-with-faults.x12 --guide 837p.guide --rejects bad.x12 -o out.jsonl").code(1);
    assert!(world.read("bad.x12") == world.read("claims-with-faults.x12"));
}

#[test]
fn acknowledgments_go_to_standard_output_too() {
    let world = World::with([("po.x12", po().as_bytes())]);
    world.run("validate po.x12 --ack 997 --ack-time 202604011300").check(expect![[r#"
        exit 1
        --- stdout
        ISA*00*          *00*          *ZZ*RECEIVER       *ZZ*SENDER         *260401*1300*^*00501*000000001*0*T*:~GS*FA*R*S*20260401*1300*1*X*005010~ST*997*0001~AK1*PO*1*005010~AK2*850*0001~AK5*A~AK2*850*0002~AK5*R*4~AK9*P*2*2*1~SE*8*0001~GE*1*1~IEA*1*000000001~<no newline>
        --- stderr
        error[EDI-033]: SE01 declares 4 segments, counted 3
          at po.x12, byte 221, interchange 1, group 1, transaction 2, segment 3, element 1 (X12.5 and X12.6, control segments)

        hint: write 3, or look for what is missing or superfluous

        po.x12: 2 transactions in 1 interchange, envelopes checked: 1 error, 0 warnings, 1 of the transactions with errors

        2 transactions acknowledged: 1 accepted, 1 rejected
    "#]]);
    let ran = world.run("validate po.x12 --ack ta1 --ack-time 202604011300 --json");
    assert!(ran.code(1).out().contains("TA1*000000001*260401*1200*A*000~"), "{}", ran.out());
    let schemas: Vec<String> =
        ran.err().lines().map(|line| line.split('"').nth(3).unwrap_or_default().to_owned()).collect();
    assert_eq!(schemas, ["quayline.finding/1", "quayline.validation/1", "quayline.acknowledgment/1"]);
    let orders = "UNB+UNOA:3+A+B+260401:1200+1'UNH+1+ORDERS:D:96A:UN'UNT+3+1'UNZ+1+1'";
    world.run_with("validate - --ack contrl --ack-time 202604011300", orders.as_bytes()).check(expect![[r#"
        exit 1
        --- stdout
        UNB+UNOA:3+B+A+260401:1300+1'UNH+1+CONTRL:D:3:UN'UCI+1+A+B+7'UCM+1+ORDERS:D:96A:UN+4+29+UNT+2'UNT+4+1'UNZ+1+1'<no newline>
        --- stderr
        error[EDI-033]: UNT 0074 declares 3 segments, counted 2
          at <stdin>, byte 51, interchange 1, transaction 1, segment 2, element 1 (ISO 9735-1, service segments)

        hint: write 2, or look for what is missing or superfluous

        <stdin>: 1 transaction in 1 interchange, envelopes checked: 1 error, 0 warnings, 1 of the transactions with errors

        1 transaction acknowledged: 0 accepted, 1 rejected
    "#]]);
}

#[test]
fn wrong_arguments_and_files_are_told() {
    let world = World::with([("po.x12", po().as_bytes()), ("packed.x12", &b"BZh91AY"[..]), ("empty.edi", b"")]);
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
        "validate po.x12 --ack 997 --ack-output po.x12",
        "validate po.x12 --ack 997 --ack-time 20261301",
        "validate missing.x12",
        "convert po.x12 --page 0",
    ] {
        let ran = world.run(line);
        assert!(matches!(ran.code, Some(1 | 2)), "{line}: {ran:?}");
        assert!(ran.err().contains("error") || ran.out().contains("error"), "{line}: {}", ran.err());
    }
    world.run("convert packed.x12").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: packed.x12 is compressed (bzip2)

        hint: `bzip2 -dc packed.x12 | quayline convert - …` reads what is in it
    "#]]);
    world.run("convert po.x12 --to record").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: po.x12: interchanges do not become records of a copybook

        hint: name another format with --to
    "#]]);
    world.run("validate po.x12 --guide none").check(expect![[r#"
        exit 2
        --- stderr
        error[CNV-013]: the folder has no guide
          at none

        hint: guides are files whose name ends in .guide
    "#]]);
}

#[test]
fn the_answers_have_the_members_that_are_documented() {
    let world = World::new();
    let orders = "UNA:+.? '\r\nUNB+UNOA:3+A+B+260401:1200+1'\r\nUNH+1+ORDERS:D:96A:UN'\r\nUNT+3+1'\r\nUNZ+1+1'\r\n";
    world.write("orders.edi", orders);
    world.write("both.edi", format!("{}\n{orders}", po()));
    let ran = world.run("inspect both.edi --json");
    crate::json_docs::documented("quayline.interchanges/1", &ran.stdout, &["findings[]"]);
    let ran = world.run("validate orders.edi --ack contrl --ack-output answer.edi --json");
    let lines: Vec<&[u8]> = ran.stdout.split(|byte| *byte == b'\n').collect();
    let line = |schema: &str| {
        *lines.iter().find(|line| line.windows(schema.len()).any(|part| part == schema.as_bytes())).expect("a line")
    };
    crate::json_docs::documented(
        "quayline.validation/1",
        line("quayline.validation/1"),
        &["findings_by_code", "guides"],
    );
    crate::json_docs::documented("quayline.acknowledgment/1", line("quayline.acknowledgment/1"), &[]);
}
