//! `quayline translate`: files and folders through maps.

use expect_test::expect;

use crate::edi::examples;
use crate::world::World;

const CLAIMS: &str = r#"map "claims"
source "837p-acme.guide"
target claim "claim.shape"

for 2000A.2000B.2300 make claim {
  number = left(CLM.CLM01, 38)
  amount = fit(round(CLM.CLM02, 2), 16, 2)
  lines = count(2400)
  at = envelope.desk
}
"#;

const CLAIM: &str = "claim\n  number text(38)\n  amount decimal(18,2)\n  lines decimal(6)\n  at? text\n";

fn claims() -> World {
    let world = examples();
    world.write("claims.qmap", CLAIMS).write("claim.shape", CLAIM);
    world
}

/// Orders as rows to messages.
fn orders() -> World {
    let world = examples();
    world.write("orders.csv", "number,buyer,item,quantity\nP1,B7,0012345,5\nP2,B9,0012346,2.5\nP3,,0012347,1\n");
    world.write(
        "orders.toml",
        "layout = \"csv\"\n[[field]]\nname = \"number\"\nlength = 20\nrequired = true\n[[field]]\nname = \"buyer\"\nlength = 17\n[[field]]\nname = \"item\"\nlength = 20\n[[field]]\nname = \"quantity\"\ntype = \"decimal\"\ndigits = 9\ndecimals = 2\n",
    );
    world.write(
        "order.json",
        r##"{"type": "object", "required": ["number", "buyer"], "properties": {"number": {"type": "string"}, "buyer": {"type": "string", "maxLength": 17}, "quantity": {"type": "number"}, "name": {"type": "string"}}}"##,
    );
    world.write(
        "orders.qmap",
        "source \"orders.toml\"\ntarget order \"order.json\"\ntarget log \"log.toml\"\nlookup buyers(id: text) -> (name: text(30))\n\nmake order {\n  number = number\n  buyer = buyer ?? \"\"\n  if not present(buyer) { error \"no buyer\" code \"R-1\" }\n  quantity = quantity\n  name = buyers(buyer).name\n}\nmake log {\n  order = number\n  at = format(now(), \"CCYY-MM-DD HH:MM\")\n}\n",
    );
    world.write("log.toml", "layout = \"csv\"\n[[field]]\nname = \"order\"\nlength = 20\n[[field]]\nname = \"at\"\n");
    world.write("buyers.csv", "id,name\nB7,Miller\n");
    world
}

#[test]
fn a_transaction_becomes_documents() {
    claims().run("translate --map claims.qmap claims.x12 --envelope desk=7").check(expect![[r#"
        exit 0
        --- stdout
        {"number":"QG1001","amount":100.5,"lines":2,"at":"7"}
        {"number":"QG1002","amount":85,"lines":1,"at":"7"}
    "#]]);
    claims().run_with("translate -m claims.qmap - --to csv", &claims().read("claims.x12")).check(expect![[r#"
        exit 0
        --- stdout
        number,amount,lines,at
        QG1001,100.5,2,
        QG1002,85,1,
    "#]]);
}

#[test]
fn the_plan_is_explained() {
    claims().run("translate --map claims.qmap --explain").check(expect![[r#"
        exit 0
        --- stdout
        map "claims"
        source edi: the map reads 2 of 1186 fields
          list 2000A: mapped while read, 1 value kept
          list 2000A.2000B: mapped while read, 1 value kept
          list 2000A.2000B.2300: mapped while read, 4 values kept
          list 2000A.2000B.2300.2400: read for its values, 0 values kept; 1 fold
        memory: one occurrence of each loop at a time, however long the document is
        steps
          line 5: each 2000A, while it is read
            line 5: each 2000A.2000B, while it is read
              line 5: each 2000A.2000B.2300, while it is read
                document claim
                  after 2000A.2000B.2300.CLM.CLM01
                  line 6: set number from 2000A.2000B.2300.CLM.CLM01
                  after 2000A.2000B.2300.CLM.CLM02
                  line 7: set amount from 2000A.2000B.2300.CLM.CLM02
                  after 2000A.2000B.2300.2400
                  line 8: set lines
                  line 9: set at
    "#]]);
}

/// `--ack contrl` wrote an empty file for X12.
#[test]
fn an_acknowledgment_of_the_other_standard_is_refused() {
    let world = claims();
    let ran = world.run("translate --map claims.qmap claims.x12 -o claims.jsonl --ack contrl --ack-output answer.edi");
    let err = ran.err();
    assert!(err.contains("`--ack contrl` acknowledges EDIFACT, and the interchange is X12"), "{err}");
    assert!(err.contains("hint: write --ack auto, which answers both standards, or --ack 999"), "{err}");
    ran.code(2);
    let left = world.files();
    assert!(!left.iter().any(|file| file.starts_with("claims.jsonl") || file.starts_with("answer")), "{left:?}");
}

#[test]
fn acknowledgment_rejects_and_trace_stand_beside() {
    let world = claims();
    let good = String::from_utf8(world.read("claims.x12")).expect("UTF-8");
    let bad = good.replace("*000000101", "*000000102").replace("HI*ABK:J0190~", "HI*ABK:J0190~ZZZ*1~");
    world.write("two.x12", format!("{good}{bad}"));
    world
        .run("translate --map claims.qmap two.x12 -o claims.jsonl --rejects bad.x12 --ack auto --ack-output claims.999 --trace trace.jsonl")
        .check(expect![[r#"
            exit 1
            --- stderr
            error[EDI-101]: ZZZ in loop 2000A/2000B/2300 is not in the guide
              at two.x12, record 2, byte 1795, interchange 2, group 1, transaction 1, segment 21 (X12.6, transaction set structure)

            hint: check the tag; if the standard has this segment, use a guide that has it, since one made from a company's subset may not

            error[EDI-101]: ZZZ in loop 2000A/2000B/2300 is not in the guide
              at two.x12, record 2, byte 2129, interchange 2, group 1, transaction 1, segment 38 (X12.6, transaction set structure)

            hint: check the tag; if the standard has this segment, use a guide that has it, since one made from a company's subset may not

            error[EDI-033]: SE01 declares 40 segments, counted 42
              at two.x12, record 2, byte 2189, interchange 2, group 1, transaction 1, segment 42, element 1 (X12.5 and X12.6, control segments)

            hint: write 42, or look for what is missing or superfluous

            1 of 2 documents rejected, checked by guide 837P-ACME: bad.x12 contains the rejected ones, bad.x12.findings.jsonl the reasons
        "#]]);
    world.shell("cat claims.jsonl; grep -c . bad.x12; cat bad.x12.findings.jsonl; grep -o 'IK5.[A-Z]' claims.999; cat trace.jsonl").check(expect![[r#"
        exit 0
        --- stdout
        {"number":"QG1001","amount":100.5,"lines":2}
        {"number":"QG1002","amount":85,"lines":1}
        44
        {"record":2,"byte":1795,"code":"EDI-101","severity":"error","message":"ZZZ in loop 2000A/2000B/2300 is not in the guide","place":{"interchange":2,"group":1,"transaction":1,"segment":21,"loops":"2000A/2000B/2300","reference":"ZZZ"},"path":"interchange 2, group 1, transaction 1, segment 21","detail":"X12.6, transaction set structure","hint":"check the tag; if the standard has this segment, use a guide that has it, since one made from a company's subset may not"}
        {"record":2,"byte":2129,"code":"EDI-101","severity":"error","message":"ZZZ in loop 2000A/2000B/2300 is not in the guide","place":{"interchange":2,"group":1,"transaction":1,"segment":38,"loops":"2000A/2000B/2300","reference":"ZZZ"},"path":"interchange 2, group 1, transaction 1, segment 38","detail":"X12.6, transaction set structure","hint":"check the tag; if the standard has this segment, use a guide that has it, since one made from a company's subset may not"}
        {"record":2,"byte":2189,"code":"EDI-033","severity":"error","message":"SE01 declares 40 segments, counted 42","place":{"interchange":2,"group":1,"transaction":1,"segment":42,"element":1},"path":"interchange 2, group 1, transaction 1, segment 42, element 1","detail":"X12.5 and X12.6, control segments","hint":"write 42, or look for what is missing or superfluous"}
        IK5*A
        IK5*R
        {"output":"claim","document":1,"path":"number","begin":0,"end":18,"map":"claims.qmap","line":6,"statement":"number = left(CLM.CLM01, 38)","from":[{"path":"2000A.2000B.2300.CLM.CLM01","byte":628}]}
        {"output":"claim","document":1,"path":"amount","begin":18,"end":33,"map":"claims.qmap","line":7,"statement":"amount = fit(round(CLM.CLM02, 2), 16, 2)","from":[{"path":"2000A.2000B.2300.CLM.CLM02","byte":628}]}
        {"output":"claim","document":1,"path":"lines","begin":33,"end":43,"map":"claims.qmap","line":8,"statement":"lines = count(2400)","from":[]}
        {"output":"claim","document":2,"path":"number","begin":45,"end":63,"map":"claims.qmap","line":6,"statement":"number = left(CLM.CLM01, 38)","from":[{"path":"2000A.2000B.2300.CLM.CLM01","byte":959}]}
        {"output":"claim","document":2,"path":"amount","begin":63,"end":75,"map":"claims.qmap","line":7,"statement":"amount = fit(round(CLM.CLM02, 2), 16, 2)","from":[{"path":"2000A.2000B.2300.CLM.CLM02","byte":966}]}
        {"output":"claim","document":2,"path":"lines","begin":75,"end":85,"map":"claims.qmap","line":8,"statement":"lines = count(2400)","from":[]}
    "#]]);
    world.run("translate --map claims.qmap two.x12 -o out.jsonl").check(expect![[r#"
        exit 1
        --- stderr
        error[EDI-101]: ZZZ in loop 2000A/2000B/2300 is not in the guide
          at two.x12, record 2, byte 1795, interchange 2, group 1, transaction 1, segment 21 (X12.6, transaction set structure)

        hint: check the tag; if the standard has this segment, use a guide that has it, since one made from a company's subset may not

        error[EDI-101]: ZZZ in loop 2000A/2000B/2300 is not in the guide
          at two.x12, record 2, byte 2129, interchange 2, group 1, transaction 1, segment 38 (X12.6, transaction set structure)

        hint: check the tag; if the standard has this segment, use a guide that has it, since one made from a company's subset may not

        error[EDI-033]: SE01 declares 40 segments, counted 42
          at two.x12, record 2, byte 2189, interchange 2, group 1, transaction 1, segment 42, element 1 (X12.5 and X12.6, control segments)

        hint: write 42, or look for what is missing or superfluous

        note[CLI-004]: the output is not complete: out.jsonl.partial is still empty

        hint: if the error is in one document, run again with --rejects FILE and without --resume to continue past such documents
    "#]]);
    // Another treatment of rejects is another run: the hints say what works.
    let ran = world.run("translate --map claims.qmap two.x12 -o out.jsonl --rejects bad.x12 --resume");
    assert!(ran.code(2).err().contains("hint: resume with the settings of that run, or run again without --resume"));
    world.run("translate --map claims.qmap two.x12 -o out.jsonl --rejects bad.x12").code(1);
    assert!(world.path("out.jsonl").exists() && world.path("bad.x12").exists());
}

#[test]
fn several_targets_and_a_lookup() {
    let world = orders();
    let line = "translate -m orders.qmap orders.csv -o order=o.jsonl -o log=log.csv --rejects bad.csv --lookup buyers=buyers.csv --now 2026-01-31T12:05:00";
    world.run(line).check(expect![[r#"
        exit 1
        --- stderr
        error[MAP-200]: R-1: no buyer
          at orders.csv, record 3, byte 61 (orders.qmap:9)

        1 of 3 documents rejected: bad.csv contains the rejected ones, bad.csv.findings.jsonl the reasons
    "#]]);
    world.shell("cat o.jsonl log.csv bad.csv bad.csv.findings.jsonl").check(expect![[r#"
        exit 0
        --- stdout
        {"number":"P1","buyer":"B7","quantity":5,"name":"Miller"}
        {"number":"P2","buyer":"B9","quantity":2.5}
        order,at
        P1,2026-01-31 12:05
        P2,2026-01-31 12:05
        number,buyer,item,quantity
        P3,,0012347,1
        {"record":3,"byte":61,"code":"MAP-200","severity":"error","message":"R-1: no buyer","detail":"orders.qmap:9"}
    "#]]);
    world.run("translate -m orders.qmap orders.csv").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the map has several targets, and order, log would all go to standard output

        hint: name a file for each: --output log=FILE
    "#]]);
    world.run("translate -m orders.qmap orders.csv -o order=o.jsonl -o log=log.csv").check(expect![[r#"
        exit 2
        --- stderr
        error[PRJ-012]: the map looks up `buyers`, and no table has that name

        hint: name its file in `--lookup` (in a test of a map, in `[lookup]` of case.toml): buyers=FILE.csv
    "#]]);
    let line = "translate -m orders.qmap orders.csv -o order=o.jsonl -o log=log.csv --lookup buyers=twice.csv --lookup other=buyers.csv";
    world.shell("cat buyers.csv buyers.csv > twice.csv").code(0);
    world.run(line).check(expect![[r#"
        exit 2
        --- stderr
        error[PRJ-012]: this row has the same keys as line 2
          at twice.csv:4

        hint: keep one of the rows: a map sees one row for its keys

        error[PRJ-012]: the map does not look up `other`

        hint: remove the table from `--lookup` (in a test of a map, in `[lookup]` of case.toml)
    "#]]);
}

#[test]
fn folders_are_translated_file_by_file() {
    let world = claims();
    world.shell("mkdir in out rejected && cp claims.x12 in/a.x12 && cp claims.x12 in/b.x12").code(0);
    world.run("translate -q -m claims.qmap in -o out --to csv --rejects rejected -j 2").check(expect![[r#"
        exit 0
    "#]]);
    world.shell("ls out rejected; cmp out/a.csv out/b.csv && cat out/a.csv").check(expect![[r#"
        exit 0
        --- stdout
        out:
        a.csv
        b.csv

        rejected:
        a.x12
        a.x12.findings.jsonl
        b.x12
        b.x12.findings.jsonl
        number,amount,lines,at
        QG1001,100.5,2,
        QG1002,85,1,
    "#]]);
    world.run("translate -m claims.qmap in -o nowhere").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: several inputs need a folder, and nowhere is not a folder

        hint: make the folder and name it with -o
    "#]]);
    world.shell("mkdir apart").code(0);
    world.run("translate -q -m claims.qmap claims.x12 --split apart").check(expect![[r#"
        exit 0
    "#]]);
    world.shell("ls apart; cat apart/000002.json").check(expect![[r#"
        exit 0
        --- stdout
        000001.json
        000002.json
        {"number":"QG1002","amount":85,"lines":1}
    "#]]);
}

#[test]
fn an_interchange_is_written_with_its_envelope() {
    let world = orders();
    world.write(
        "out.qmap",
        "source \"orders.toml\"\ntarget message \"orders.guide\"\nomit SG25\n\nBGM.BGM02 = number\nUNS.UNS01 = \"S\"\nmake DTM {\n  'DTM01'.'DTM01-1' = \"137\"\n}\nenvelope.test = \"1\"\n",
    );
    world.run("translate -q -m out.qmap orders.csv --sender 14:ACME --receiver OTHER --now 2026-01-31T12:05:00 --control-number 77").check(expect![[r#"
        exit 0
        --- stdout
        UNB+UNOC:3+ACME:14+OTHER+260131:1205+77++++++1'UNH+1+ORDERS:D:96A:UN'BGM++P1'DTM+137'UNS+S'UNT+5+1'UNH+2+ORDERS:D:96A:UN'BGM++P2'DTM+137'UNS+S'UNT+5+2'UNH+3+ORDERS:D:96A:UN'BGM++P3'DTM+137'UNS+S'UNT+5+3'UNZ+3+77'<no newline>
    "#]]);
    let long = "S".repeat(36);
    for (options, code, found) in [
        (format!("--sender 14:{long}"), 2, "UNB S002 0004: it is not at most 35 characters"),
        ("--sender 99999:ACME".to_owned(), 1, "UNB S002 0007 is not at most 4 characters"),
    ] {
        let ran = world.run(&format!("translate -q -m out.qmap orders.csv --receiver OTHER {options}"));
        ran.code(code);
        assert!(ran.err().contains(found), "{}", ran.err());
    }
    world.run("translate -q -m out.qmap orders.csv --sender 14:ACME").check(expect![[r#"
        exit 1
        --- stderr
        error[EDI-052]: `interchange.receiver` is missing (UNB S003 0010)
          at orders.csv, record 1, byte 27

        hint: set it in the map, or name it with --sender, --receiver or --envelope NAME=VALUE
    "#]]);
}

#[test]
fn records_need_a_code_page() {
    let world = claims();
    world.write(
        "claim.cpy",
        "       01 CLAIM.\n          05 NUMBER PIC X(20).\n          05 AMOUNT PIC S9(7)V99 COMP-3.\n",
    );
    world.write(
        "records.qmap",
        "source \"837p-acme.guide\"\ntarget claim \"claim.cpy\"\n\nfor 2000A.2000B.2300 make claim {\n  NUMBER = left(CLM.CLM01, 20)\n  AMOUNT = fit(round(CLM.CLM02, 2), 7, 2)\n}\n",
    );
    world.run("translate -m records.qmap claims.x12 -o claims.dat").check(expect![[r#"
        exit 2
        --- stderr
        error[SHP-010]: the code page of the records is not named, and it is never guessed
          at claim.cpy

        hint: name it with --from-encoding or --to-encoding, or in a layout file: encoding = "cp037"
    "#]]);
    world.run("translate -m records.qmap claims.x12 -o claims.dat --to-encoding cp037").check(expect![[r#"
        exit 0
    "#]]);
    world.shell("od -An -tx1 claims.dat").check(expect![[r#"
        exit 0
        --- stdout
         d8 c7 f1 f0 f0 f1 40 40 40 40 40 40 40 40 40 40
         40 40 40 40 00 00 10 05 0c d8 c7 f1 f0 f0 f2 40
         40 40 40 40 40 40 40 40 40 40 40 40 40 00 00 08
         50 0c
    "#]]);
}

#[test]
fn what_does_not_go_together_is_said() {
    let world = claims();
    world.run("translate --map gone.qmap claims.x12").check(expect![[r#"
        exit 2
        --- stderr
        error[SHP-001]: cannot be read: no such file or directory
          at gone.qmap

        hint: check the path; paths in a map are relative to the map's folder
    "#]]);
    world.run("translate --map claims.qmap gone.x12").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-002]: cannot be read: no such file or directory
          at gone.x12

        hint: check the path
    "#]]);
    world.run("translate --map claims.qmap claims.x12 --to record").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the target `claim` has another format than --to

        hint: records and EDI follow from the copybook or guide of the target; others have none
    "#]]);
    world.run("translate --map claims.qmap claims.x12 --from json").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the map's source has another format than --from

        hint: leave --from out; records and EDI follow from the copybook or guide of the source
    "#]]);
    world.run("translate --map claims.qmap claims.x12 -o o.parquet --resume").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: only a translation from one file to files of lines or records can be resumed

        hint: leave --checkpoint and --resume out
    "#]]);
    world.run("translate --map claims.qmap claims.x12 -o o.jsonl --resume --lookup t=/dev/null").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: a table of --lookup is not a regular file, so a later run cannot compare it

        hint: write the table to a file, or leave --checkpoint and --resume out
    "#]]);
    world.run("translate --map claims.qmap claims.x12 --now yesterday").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: `yesterday` is not a date and time

        hint: write it so: 2026-01-31T12:00:00
    "#]]);
    world.run("translate --map claims.qmap claims.x12 -o claims.x12").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: claims.x12 is both read and written

        hint: name another file or folder
    "#]]);
    world.write("bad.qmap", "source \"837p-acme.guide\"\ntarget claim \"claim.xls\"\n\nnumber = NOTHING\n");
    world.run("translate --map bad.qmap claims.x12").check(expect![[r#"
        exit 2
        --- stderr
        error[SHP-002]: the name does not say what describes the shape
          at claim.xls

        hint: it ends in .guide, .cpy, .toml (a layout), .json (JSON Schema), .xsd or .shape (an outline), or is a built-in guide: builtin:NAME
    "#]]);
    world.write("bare.qmap", "number = NOTHING\n");
    world.run("translate --map bare.qmap claims.x12").check(expect![[r#"
        exit 2
        --- stderr
        error[SHP-012]: the map does not say what its source is
          at bare.qmap

        hint: begin it with: source "orders.guide"

        error[SHP-012]: the map does not say what its target is
          at bare.qmap

        hint: write: target order "order.json"
    "#]]);
}

/// Kills runs at any moment with a signal that no program can handle; the resumed run has the output of an uninterrupted one.
#[test]
fn a_run_that_was_killed_goes_on_without_loss_or_double() {
    let world = claims();
    let one = String::from_utf8(world.read("claims.x12")).expect("UTF-8");
    let mut many = String::new();
    for n in 0..6_000 {
        many.push_str(&one.replace("000000101", &format!("{n:09}")));
    }
    world.write("many.x12", many);
    world.run("translate -q -m claims.qmap many.x12 -o whole.jsonl").code(0);
    let whole = world.read("whole.jsonl");
    for wait in [40, 120, 250, 400] {
        let line = "translate -q -m claims.qmap many.x12 -o out.jsonl --checkpoint-every 256K -j 2";
        let mut child = world.command(line.split(' ')).spawn().expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        // A run that was killed between the last rename and the removal of its checkpoint leaves both.
        if !world.path("out.jsonl").exists() || world.path("out.jsonl.checkpoint").exists() {
            world.run(&format!("{line} --resume")).code(0);
        }
        assert!(world.read("out.jsonl") == whole, "killed after {wait} ms");
        assert!(!world.path("out.jsonl.partial").exists() && !world.path("out.jsonl.checkpoint").exists());
        std::fs::remove_file(world.path("out.jsonl")).expect("removed");
    }
}

#[test]
fn a_run_that_goes_on_has_the_ids_and_the_time_of_its_beginning() {
    let world = claims();
    let one = String::from_utf8(world.read("claims.x12")).expect("UTF-8");
    let many: String = (0..3_000).map(|n| one.replace("000000101", &format!("{n:09}"))).collect();
    world.write("many.x12", many);
    let map = CLAIMS.replace("  at = envelope.desk\n", "  at = new-id() & format(now(), \"CCYYMMDDHHMMSS\")\n");
    world.write("ids.qmap", map);
    let line = "translate -q -m ids.qmap many.x12 -o out.jsonl --checkpoint-every 64K";
    let now = "--now 2026-02-03T04:05:06";
    world.run(&format!("{line} {now} --ack auto --ack-output whole.999")).code(0);
    let whole = world.read("out.jsonl");
    let acknowledged = world.read("whole.999");
    std::fs::remove_file(world.path("out.jsonl")).expect("removed");
    let mut resumed = false;
    for wait in [30, 60, 120, 250] {
        let arguments = format!("{line} {now} --ack auto --ack-output out.999");
        let mut child = world.command(arguments.split(' ')).spawn().expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        if world.path("out.jsonl.checkpoint").exists() {
            resumed = true;
            let other = world.run(&format!("{line} --resume --now 2026-02-03T04:05:07"));
            assert_eq!(other.code, Some(2));
            assert!(String::from_utf8(other.stderr).expect("UTF-8").contains("started with another time"));
            world.run(&format!("{line} --resume --ack auto --ack-output out.999")).code(0);
            assert!(world.read("out.jsonl") == whole, "killed after {wait} ms");
            assert!(world.read("out.999") == acknowledged, "killed after {wait} ms");
        }
        for name in ["out.jsonl", "out.jsonl.partial", "out.jsonl.checkpoint", "out.999"] {
            let _ = std::fs::remove_file(world.path(name));
        }
    }
    if !resumed {
        eprintln!(
            "skipped: a_run_that_goes_on_has_the_ids_and_the_time_of_its_beginning: every run was too fast or too slow to be stopped"
        );
    }
}

#[test]
fn bounds_are_changed_by_option() {
    let world = claims();
    let ran = world.run("translate -q -m claims.qmap claims.x12 --limit segment-bytes=20");
    assert_eq!(ran.code, Some(1));
    assert!(String::from_utf8(ran.stderr).expect("UTF-8").contains("--limit segment-bytes="));
    world.run("translate -q -m claims.qmap claims.x12 --limit guide-bytes=100").code(2);
    world.run("translate -q -m claims.qmap claims.x12 --limit claims=1").code(2);
    world.write("a.cpy", "       01 A.\n          05 B PIC X.\n          05 C PIC X.\n");
    world.run("service new a.cpy").code(0);
    let ran = world.run("service new a.cpy --limit fields=2");
    assert_eq!(ran.code, Some(2));
    assert!(String::from_utf8(ran.stderr).expect("UTF-8").contains("fields"));
}

#[test]
fn names_that_mean_nothing_are_told() {
    let world = claims();
    world.run("translate -q -m claims.qmap claims.x12 -o wrong=x.jsonl").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: the map has no target `wrong`

        hint: it has claim; a file of that name is written as ./wrong=x.jsonl
    "#]]);
    world.run("translate -q -m claims.qmap claims.x12 --trace -").check(expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: - is not a regular file

        hint: a trace goes to a file
    "#]]);
    world.run("translate -q -m claims.qmap claims.x12 -o claim=x.jsonl").code(0);
    world.run("translate -q -m claims.qmap claims.x12 -o ./a=x.jsonl").code(0);
    assert!(world.path("x.jsonl").exists() && world.path("a=x.jsonl").exists());
}

/// The examples' map of claims keeps nothing, however long a transaction is.
#[test]
fn claims_are_mapped_one_by_one() {
    let map = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/maps/maps/claims.qmap");
    let ran = World::new().run(&format!("translate --map {map} --explain"));
    let plan = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(plan.contains("memory: one occurrence of each loop at a time"), "{plan}");
}

/// A command is refused if an input would lose its content: a trace truncates its file, and an acknowledgment and an output replace theirs.
#[test]
fn what_is_read_is_never_written() {
    let world = claims();
    let kept = ["claims.x12", "claims.qmap"].map(|name| (name, world.read(name)));
    for (more, told) in [
        ("-o out.jsonl --trace claims.x12", "claims.x12 is both read and written"),
        ("-o out.jsonl --trace ./claims.qmap", "./claims.qmap is both read and written"),
        ("-o out.jsonl --ack auto --ack-output claims.x12", "claims.x12 is both read and written"),
        ("-o claims.qmap", "claims.qmap is both read and written"),
        ("-o out.jsonl --ack auto --ack-output out.jsonl", "out.jsonl would be written twice"),
        ("-o out.jsonl --trace ./out.jsonl", "./out.jsonl would be written twice"),
        ("-o out.jsonl --ack auto --ack-output a.999 --rejects a.999 --trace t.jsonl", "a.999 would be written twice"),
    ] {
        let ran = world.run(&format!("translate -m claims.qmap claims.x12 {more}"));
        assert_eq!(ran.code, Some(2), "{more}");
        let err = String::from_utf8(ran.stderr).expect("UTF-8");
        assert!(err.contains(told), "{more}: {err}");
        for (name, bytes) in &kept {
            assert!(world.read(name) == *bytes, "{name} after {more}");
        }
        assert!(!world.path("out.jsonl").exists() && !world.path("t.jsonl").exists(), "{more}");
    }
    world.shell("mkdir -p in out && cp claims.x12 in/a.x12 && cp claims.x12 in/a.edi");
    let ran = world.run("translate -m claims.qmap in -o out");
    assert_eq!(ran.code, Some(2));
    assert!(String::from_utf8(ran.stderr).expect("UTF-8").contains("out/a.jsonl would be written twice"));
}

/// Rejects of several inputs went to one file, or to the input itself.
#[test]
fn rejects_of_several_inputs_are_apart_from_each_other_and_from_the_inputs() {
    let world = World::new();
    world.write("in.shape", "in\n  id text(2)\n").write("out.shape", "out\n  id text(1)\n");
    world.write("t.qmap", "source \"in.shape\"\ntarget out \"out.shape\"\nid = id\n");
    let rows = "{\"id\":\"a\"}\n{\"id\":\"bb\"}\n";
    for file in ["one/a.jsonl", "two/a.jsonl", "bad/.keep", "out/.keep", "one/b.jsonl"] {
        world.write(file, rows);
    }
    let refused = |line: &str, message: &str| {
        let ran = world.run(line);
        assert!(ran.code(2).err().contains(message), "{line}: {}", ran.err());
        for file in ["one/a.jsonl", "two/a.jsonl", "one/b.jsonl"] {
            assert_eq!(world.read(file), rows.as_bytes(), "{line}: {file}");
        }
    };
    refused("translate -m t.qmap one/a.jsonl two/a.jsonl --rejects bad", "bad/a.jsonl would be written twice");
    refused("translate -m t.qmap one/a.jsonl one/b.jsonl -o out --rejects one", "one/a.jsonl is both read and written");
    refused(
        "translate -m t.qmap one/a.jsonl -o out.jsonl --rejects one/a.jsonl",
        "one/a.jsonl is both read and written",
    );
    world.write("one/b.jsonl.findings.jsonl", rows);
    refused(
        "translate -m t.qmap one/b.jsonl one/b.jsonl.findings.jsonl -o out --rejects one",
        "is both read and written",
    );
    world.run("translate -m t.qmap one/a.jsonl one/b.jsonl -o out --rejects bad --quiet").code(1);
    assert_eq!(world.read("bad/b.jsonl"), b"{\"id\":\"bb\"}\n");
}

/// CPU time of a translation by phase. Where the system reports interruptions of threads, it has the map and the completion of the output apart.
#[test]
fn statistics_have_the_cpu_time_of_the_map() {
    let world = World::new();
    world.write(
        "a.toml",
        "layout = \"csv\"\n[[field]]\nname = \"id\"\nlength = 10\n[[field]]\nname = \"text\"\nlength = 40\n",
    );
    world.write("b.shape", "b\n  id text(10)\n  text text(40)\n");
    world.write("a.qmap", "source \"a.toml\"\ntarget b \"b.shape\"\n\nmake b {\n  id = id\n  text = upper(text)\n}\n");
    let rows: String = (0..40_000).map(|row| format!("{row},some text of the row {row}\n")).collect();
    world.write("a.csv", format!("id,text\n{rows}"));
    let ran = world.run("translate --map a.qmap a.csv -o b.jsonl --stats --json --profile costs.json");
    let stats: serde_json::Value =
        serde_json::from_str(ran.code(0).err().lines().last().expect("statistics")).expect("a line of JSON");
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{value} of {stats}"));
    let cpu = &stats["cpu"];
    let phases = cpu["phases_s"].as_object().expect("phases");
    let sum: f64 = phases.values().map(&number).sum();
    // The phases have the CPU time of the threads, which is that of the process up to its begin and end.
    assert!(sum > 0.0 && sum <= number(&stats["cpu_s"]) * 1.05 + 0.005, "{stats}");
    assert!(number(&stats["measuring_s"]) < 0.05 * number(&stats["thread_s"]), "{stats}");
    let (segments, interrupted) = (number(&cpu["segments"]), number(&cpu["interrupted"]));
    let profile: serde_json::Value = serde_json::from_slice(&world.read("costs.json")).expect("JSON");
    let source = &profile["classes"][0]["cpu_by"];
    assert_eq!((&source["method"], &source["segments"]), (&cpu["method"], &cpu["segments"]), "{profile}");
    let shown = world.run("profile show costs.json");
    assert!(shown.out().contains("CPU of phases by "), "{}", shown.out());
    match cpu["method"].as_str() {
        Some("rseq and TSC") => {
            assert!(segments > 100.0 && interrupted < segments / 2.0, "{stats}");
            let share = |phase: &str| phases.get(phase).map_or(0.0, &number) / sum;
            assert!(share("decode") > 0.02 && share("map") > 0.02 && share("encode") > 0.001, "{stats}");
            assert!(number(&cpu["estimated_s"]) <= sum, "{stats}");
        }
        Some("thread clock") => assert!(segments == 0.0 && !phases.contains_key("map"), "{stats}"),
        other => panic!("{other:?}: {stats}"),
    }
}

/// A document that a map drops vanished: no finding counted it.
#[test]
fn documents_that_a_map_drops_are_counted() {
    let world = World::with([
        ("in.shape", &b"row\n  id text\n"[..]),
        ("m.qmap", b"source \"in.shape\"\ntarget row \"in.shape\"\n\nid = id\nif id = \"x\" {\n  drop\n}\n"),
        ("in.jsonl", b"{\"id\":\"a\"}\n{\"id\":\"x\"}\n{\"id\":\"x\"}\n"),
        ("clean.jsonl", b"{\"id\":\"a\"}\n"),
    ]);
    let ran = world.run("translate -m m.qmap in.jsonl");
    assert_eq!(ran.code(0).out(), "{\"id\":\"a\"}\n");
    let told = "note[CNV-041]: 2 documents are left out by `drop` in the map; the first is here\n  at in.jsonl:2";
    assert!(ran.err().contains(told), "{}", ran.err());
    assert!(!world.run("translate -m m.qmap clean.jsonl").code(0).err().contains("CNV-041"));
    // The statistics counted such documents as written.
    let stats = world.run("translate -m m.qmap in.jsonl -o out.jsonl --stats").code(0).err();
    assert!(stats.contains("3 read = 1 written + 0 rejected + 2 skipped"), "{stats}");
    // Documents of interchanges were not counted at all.
    let world = claims();
    world.write("drop.qmap", CLAIMS.replace("  at = ", "  if CLM.CLM02 < 1000 {\n    drop\n  }\n  at = "));
    let ran = world.run("translate -m drop.qmap claims.x12 -o out.jsonl --stats").code(0).err();
    assert!(ran.contains("note[CNV-041]: 2 documents are left out by `drop` in the map"), "{ran}");
    assert!(ran.contains("1 read = 0 written + 0 rejected + 1 skipped"), "{ran}");
}

/// With several targets, `drop` left out the document that was written last.
#[test]
fn a_drop_omits_the_document_of_its_target() {
    let world = World::with([
        ("s.shape", &b"order\n  id text\n"[..]),
        ("own.qmap", b"source \"s.shape\"\ntarget o \"s.shape\"\ntarget l \"s.shape\"\nmake o {\n  if id = \"D\" { drop }\n  id = id\n}\nmake l { id = id }\n"),
        ("all.qmap", b"source \"s.shape\"\ntarget o \"s.shape\"\ntarget l \"s.shape\"\nmake o { id = id }\nif id = \"D\" { drop }\nmake l { id = id }\n"),
        ("in.jsonl", b"{\"id\":\"A\"}\n{\"id\":\"D\"}\n"),
    ]);
    for (map, dropped, l) in
        [("own", "1 document is", "{\"id\":\"A\"}\n{\"id\":\"D\"}\n"), ("all", "2 documents are", "{\"id\":\"A\"}\n")]
    {
        for threads in [1, 3] {
            let ran = world.run(&format!("translate -m {map}.qmap in.jsonl -o o=o.jsonl -o l=l.jsonl -j {threads}"));
            let told = format!("note[CNV-041]: {dropped} left out by `drop` in the map");
            assert!(ran.code(0).err().contains(&told), "{}", ran.err());
            assert_eq!(
                (world.read("o.jsonl"), world.read("l.jsonl")),
                (b"{\"id\":\"A\"}\n".to_vec(), l.as_bytes().to_vec()),
                "{map}"
            );
        }
    }
    let plan = world.run("translate -m own.qmap --explain").code(0).out();
    let steps: Vec<&str> = plan.lines().map(str::trim).collect();
    let at = |text: &str| steps.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {plan}"));
    assert!(at("document o") < at("drop the document") && at("drop the document") < at("document l"), "{plan}");
}

/// The remedies for short records and blank numbers were options that only `convert` has.
#[test]
fn layouts_name_policies_for_values() {
    let world = World::new();
    let field = |name: &str, rest: &str| format!("[[field]]\nname = \"{name}\"\nlength = 3\n{rest}");
    let layout = |policies: &str| {
        let fields = [field("a", ""), field("n", "type = \"decimal\"\n"), field("z", "")].concat();
        format!("layout = \"fixed\"\nencoding = \"ascii\"\nframing = \"rdw\"\n{policies}\n{fields}")
    };
    world
        .write("r.cpy", "       01 R.\n          05 A PIC X(3).\n          05 N PIC 9(3).\n          05 Z PIC X(3).\n")
        .write("out.shape", "t\n  a? text(9)\n  n? decimal(3)\n  z? text(9)\n")
        .write("fixed.qmap", "source \"l.toml\"\ntarget t \"out.shape\"\na = a\nn = n\nz = z\n")
        .write("record.qmap", "source \"r.toml\"\ntarget t \"out.shape\"\na = A\nn = N\nz = Z\n")
        .write("in.dat", "\0\x0d\0\0abc   xyz\0\x0a\0\0abc001\0\x0f\0\0abc001xyzuv");
    let record = |policies: &str| {
        format!("layout = \"record\"\ncopybook = \"r.cpy\"\nencoding = \"ascii\"\nframing = \"rdw\"\n{policies}\n")
    };
    let run = |policies: &str, code| {
        world.write("l.toml", layout(policies)).write("r.toml", record(policies));
        let both = ["fixed", "record"].map(|map| {
            let ran = world.run(&format!("translate in.dat -m {map}.qmap --to jsonl --rejects bad"));
            (ran.code(code).out(), ran.err())
        });
        assert_eq!(both[0].0, both[1].0, "{policies}: {} {}", both[0].1, both[1].1);
        both[0].clone()
    };
    let (out, err) = run("", 1);
    assert_eq!(out, "", "{err}");
    for (code, remedy) in [("REC-011", "short = \"pad\""), ("REC-", "blank = \"null\"")] {
        assert!(err.contains(code) && err.contains(remedy), "{err}");
    }
    let (out, err) = run("short = \"null\"\nblank = \"null\"\nlong = \"accept\"", 0);
    let rows = ["{\"a\":\"abc\",\"z\":\"xyz\"}", "{\"a\":\"abc\",\"n\":1}", "{\"a\":\"abc\",\"n\":1,\"z\":\"xyz\"}"];
    assert_eq!(out.lines().collect::<Vec<_>>(), rows, "{err}");
    assert!(err.contains("REC-048") && err.contains("REC-042"), "{err}");
    world.write("l.toml", layout("blank = \"nothing\""));
    let err = world.run("translate in.dat -m fixed.qmap --to jsonl").code(2).err();
    assert!(err.contains("`nothing` is not a policy of `blank`") && err.contains("error, null, raw"), "{err}");
    world.write("l.toml", "layout = \"csv\"\nshort = \"pad\"\n[[field]]\nname = \"a\"\n");
    let err = world.run("translate in.dat -m fixed.qmap --to jsonl").code(2).err();
    assert!(err.contains("`short` says nothing of a layout of kind csv"), "{err}");
}

/// Options that do not apply to the map's source or targets were ignored.
#[test]
fn options_without_an_effect_are_refused() {
    let world = orders();
    world.write("claims.qmap", CLAIMS).write("claim.shape", CLAIM);
    let rows =
        "translate -m orders.qmap orders.csv --output order=o.jsonl --output log=log.csv --lookup buyers=buyers.csv";
    let edi = "translate -m claims.qmap claims.x12 --to csv";
    for (run, options) in [
        (
            rows,
            &["--from-framing rdw", "--to-framing rdw", "--from-encoding cp037", "--strict", "--level envelope"][..],
        ),
        (edi, &["--from-framing rdw", "--to-framing rdw", "--numbers string", "--unknown ignore"]),
    ] {
        for option in options {
            let ran = world.run(&format!("{run} {option}"));
            let name = option.split(' ').next().expect("a name");
            let said = format!("error[CLI-003]: {name} has no effect on this run, because it applies to ");
            assert!(ran.code(2).err().contains(&said), "{run} {option}: {}", ran.err());
        }
    }
    world.run(&format!("{rows} --numbers string --unknown ignore --rejects r")).code(1);
    world.run(&format!("{edi} --level guide --envelope desk=7")).code(0);
}

/// The same documents in two inputs had the same ids.
#[test]
fn ids_differ_between_the_inputs_of_a_run() {
    let world = claims();
    let map = CLAIMS.replace("  at = envelope.desk\n", "  at = new-id()\n");
    world.write("claims.qmap", map).write("again.x12", world.read("claims.x12"));
    let run = "translate -m claims.qmap claims.x12 again.x12 --to csv --now 2026-01-31";
    let first = world.run(run);
    let out = first.code(0).out();
    let ids: std::collections::BTreeSet<&str> =
        out.lines().filter_map(|line| line.rsplit(',').next()).filter(|id| id.len() == 36).collect();
    assert_eq!(ids.len(), 4, "{out}");
    assert_eq!(world.run(run).code(0).out(), out, "a fixed time gives the same ids");
    // One input has the ids that it had before.
    let alone = world.run("translate -m claims.qmap claims.x12 --to csv --now 2026-01-31");
    assert!(out.starts_with(&alone.code(0).out()), "{out}");
}

/// Regression: warnings filled the limit on findings, so the error after them was lost. The run ended with exit code 0 and without output.
#[test]
fn warnings_do_not_hide_the_error_that_ends_a_run() {
    let map = "map \"m\"\nsource \"s.shape\"\ntarget o \"o.shape\"\nfor L { warning \"not good\" }\nif a = \"bad\" { error \"refused\" }\nx = a\n";
    let warnings = |count: usize| format!("{{\"L\":[{}],\"a\":\"ok\"}}\n", vec![r#"{"k":"x"}"#; count].join(","));
    let bad = "{\"L\":[],\"a\":\"bad\"}\n";
    let both = bad.replace("[]", r#"[{"k":"x"},{"k":"x"}]"#);
    for (text, limit, message) in [
        (warnings(1) + bad, " --limit findings=1", "refused"),
        (both, " --limit findings=1", "refused (2 more findings in this document)"),
        (warnings(600) + &warnings(600) + bad, "", "refused"),
        (warnings(1_200) + "{\"a\":\n", "", "JSON-002"),
    ] {
        let world = World::with([
            ("m.qmap", map.as_bytes()),
            ("s.shape", b"s\n  L*\n    k? text(3)\n  a? text(5)\n"),
            ("o.shape", b"o\n  x? text\n"),
            ("in.jsonl", text.as_bytes()),
        ]);
        for more in ["", " -o out.jsonl", " -j 2", " --rejects rejects.jsonl -o other.jsonl"] {
            let ran = world.run(&format!("translate -m m.qmap in.jsonl{more}{limit}"));
            let err = ran.code(1).err();
            assert!(err.contains(message), "{more}{limit}: {err}");
            assert!(err.matches("warning[MAP-200]").count() <= 2, "equal warnings are one with a count: {err}");
        }
    }
}
