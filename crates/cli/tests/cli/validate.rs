//! `quayline validate`: any number of threads, described checks, acknowledgments that are complete or absent.

use crate::edi::{examples, po};
use crate::world::World;

/// Returns the claims of the examples with the segments between CLM and SE repeated `times` times in each of `transactions` transactions; every
/// `every`th of
/// these has a fault.
fn claims(world: &World, transactions: usize, times: usize, every: usize) -> Vec<u8> {
    let text = String::from_utf8(world.read("claims.x12")).expect("ASCII").replace('\n', "");
    let segments: Vec<&str> = text.split_terminator('~').collect();
    let at = |tag: &str| segments.iter().position(|segment| segment.starts_with(tag)).expect("it is there");
    let (st, clm, se) = (at("ST*"), at("CLM*"), at("SE*"));
    let mut out: String = segments[..st].join("~") + "~";
    let mut n = 0;
    for transaction in 1..=transactions {
        out.push_str(&format!("ST*837*{transaction:04}*005010X222A1~"));
        out.push_str(&(segments[st + 1..clm].join("~") + "~"));
        for _ in 0..times {
            n += 1;
            let body = segments[clm..se].join("~") + "~";
            out.push_str(&match n % (7 * every) {
                0 => body.replacen("CLM*", "CLM**", 1),
                r if r % every == 0 => body.replacen("LX*1", "LX*1~ZZZ*1", 1),
                _ => body,
            });
        }
        let count = (clm - st) + times * (se - clm) + 1;
        out.push_str(&format!("SE*{count}*{transaction:04}~"));
    }
    out.push_str(&format!("GE*{transactions}*{}~", segments[at("GS*")].split('*').nth(6).expect("GS06")));
    out.push_str(segments[at("IEA*")]);
    out.push('~');
    out.into_bytes()
}

/// Changes some bytes.
fn damaged(mut bytes: Vec<u8>, seed: u64, times: usize) -> Vec<u8> {
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    for _ in 0..times {
        let at = random(bytes.len());
        bytes[at] = b"*~:A0 \n'"[random(8)];
    }
    bytes
}

#[test]
fn findings_and_acknowledgments_are_the_same_for_any_number_of_threads() {
    let world = examples();
    // Many small transactions; some larger than a block; one that no block can contain, which continues from lane to lane.
    world.write("small.x12", claims(&world, 3_000, 1, 100));
    world.write("middle.x12", claims(&world, 6, 900, 301));
    world.write("large.x12", claims(&world, 2, 17_000, 1_001));
    for (name, seed) in [("small", 1), ("middle", 2), ("large", 3)] {
        let bytes = world.read(&format!("{name}.x12"));
        world.write(&format!("{name}-damaged.x12"), damaged(bytes, seed, 60));
    }
    world.write(
        "several",
        [world.read("small.x12"), world.read("orders.edi"), b"\nnoise\n".to_vec(), world.read("claims.x12")].concat(),
    );
    assert!(world.read("large.x12").len() > 12 << 20, "{}", world.read("large.x12").len());
    let files = [
        "small.x12",
        "middle.x12",
        "large.x12",
        "small-damaged.x12",
        "middle-damaged.x12",
        "large-damaged.x12",
        "several",
    ];
    for (which, more) in [
        ("--ack auto --ack-time 202604011200 --ack-output ack.x12", "--guide 837p.guide"),
        ("", "--guide 837p.guide --json"),
        ("", "--level envelope"),
    ] {
        let run = |jobs: usize| {
            let ran =
                world.run(&format!("validate {} {more} {which} --max-findings 100000 --jobs {jobs}", files.join(" ")));
            assert_eq!(ran.code, Some(1), "{}", ran.err());
            let ack = if which.is_empty() { Vec::new() } else { world.read("ack.x12") };
            let ack = ack.iter().map(|byte| char::from(*byte)).collect::<String>().replace('~', "~\n");
            (without_times(&ran.stdout), without_times(&ran.stderr), ack)
        };
        let one = run(1);
        assert!(one.0.len() > 1_000);
        for jobs in [2, 4] {
            let other = run(jobs);
            for (part, (one, other)) in
                [(&one.0, &other.0), (&one.1, &other.1), (&one.2, &other.2)].into_iter().enumerate()
            {
                let differ = one.lines().zip(other.lines()).find(|(one, other)| one != other);
                assert_eq!(differ, None, "part {part}, {more} {which} with {jobs} threads");
                assert_eq!(one.len(), other.len(), "part {part}, {more} {which} with {jobs} threads");
            }
        }
    }
}

/// Regression: threads kept each fault of a block until its turn, 1.5 GB of them for a block in which every segment is faulty.
#[test]
fn threads_keep_few_faults_of_a_block() {
    let world = examples();
    let text = String::from_utf8(world.read("claims.x12")).expect("ASCII").replace('\n', "");
    let (head, rest) = text.split_once("CLM*").expect("a claim");
    let rest = rest.split_once("SE*").expect("a trailer").1;
    // One transaction of several blocks, and many small ones: each segment is faulty, and then one in a thousand.
    let of = |body: &str| format!("{head}{body}SE*{rest}");
    let (isa, transaction) = text.split_once("ST*").expect("a transaction");
    let (transaction, trailers) = transaction.split_once("GE*").expect("a trailer");
    let small = transaction.replacen("CLM*", &("a~".repeat(300) + "CLM*"), 1);
    world.write("large.x12", of(&"a~".repeat(3_000_000)));
    world.write("mixed.x12", of(&("a~".repeat(9_000) + &"REF*D9*1~".repeat(700_000) + &"a~".repeat(5_000))));
    world.write("small.x12", format!("{isa}{}GE*{trailers}", format!("ST*{small}").repeat(500)));
    for (which, more) in [("--guide 837p.guide --ack 999", "--max-findings 1"), ("", "--max-findings 100000")] {
        let run = |jobs: usize| {
            let ack = if which.is_empty() { "" } else { "--ack-time 202604011200 --ack-output ack.x12" };
            let line = format!(
                "ulimit -v 600000; $Q validate large.x12 mixed.x12 small.x12 {which} {ack} {more} --jobs {jobs}"
            );
            let ran = world.shell(&line);
            assert_eq!(ran.code, Some(1), "{}", ran.err());
            let ack = if which.is_empty() { Vec::new() } else { world.read("ack.x12") };
            (without_times(&ran.stdout), without_times(&ran.stderr), ack)
        };
        let one = run(1);
        for jobs in [2, 3] {
            assert!(one == run(jobs), "{which} {more} with {jobs} threads: {} and {}", one.1, run(jobs).1);
        }
    }
}

/// Costs are in the summary of `--json`.
fn without_times(text: &[u8]) -> String {
    let text = String::from_utf8(text.to_vec()).expect("UTF-8");
    text.lines().map(|line| line.split(",\"wall_s\"").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn more_threads_than_transactions_change_nothing() {
    let world = World::with([("po.x12", po().as_bytes())]);
    let one = world.run("validate po.x12 -j 1");
    let four = world.run("validate po.x12 -j 4");
    assert_eq!((one.code, one.stdout, one.stderr), (four.code, four.stdout, four.stderr));
    world.run("validate empty -j 2").code(2);
    world.write("empty", "");
    let (one, two) = (world.run("validate empty -j 1"), world.run("validate empty -j 2"));
    assert_eq!((one.code, one.stdout, one.stderr), (two.code, two.stdout, two.stderr));
}

#[test]
fn the_summary_says_what_was_checked_by_a_guide_and_what_was_not() {
    let world = examples();
    world.run("validate claims.x12 --ack 999 --ack-output answer.x12").code(0);
    // Quayline has built-in guides for acknowledgments.
    world.write("both.x12", [world.read("answer.x12"), world.read("claims.x12")].concat());
    let said = |arguments: &str| world.run(arguments).err().lines().last().unwrap_or_default().to_owned();
    expect_test::expect![[r#"
        claims.x12: 1 transaction in 1 interchange, envelopes checked: no findings
        answer.x12: 1 transaction in 1 interchange, checked by guide 999-X231A1: no findings
        both.x12: 2 transactions in 2 interchanges, 1 checked by guide 999-X231A1, 1 by envelope only: no findings
        both.x12: 2 transactions in 2 interchanges, envelopes checked: no findings
        both.x12: 2 transactions in 2 interchanges, checked by guides 837P, 999-X231A1 without rules: no findings"#]]
    .assert_eq(
        &[
            "validate claims.x12",
            "validate answer.x12",
            "validate both.x12",
            "validate both.x12 --level envelope",
            "validate both.x12 --level notes --guide 837p.guide",
        ]
        .map(said)
        .join("\n"),
    );
}

#[test]
fn every_bound_that_a_finding_names_can_be_changed() {
    let world = examples();
    let long = po().replace("BEG*00", &format!("N9*L1*{}~BEG*00", "x".repeat(2_000)));
    world.write("long.x12", &long);
    world.run("validate long.x12 --limit segment-bytes=1K").check(expect_test::expect![[r#"
        exit 1
        --- stdout
        error[EDI-010]: the segment is longer than 1024 bytes
          at long.x12, byte 153, interchange 1, group 1, transaction 1, segment 2

        hint: look for a missing segment terminator, or allow more with `--limit segment-bytes=N`

        error[EDI-033]: SE01 declares 3 segments, counted 4
          at long.x12, byte 2183, interchange 1, group 1, transaction 1, segment 4, element 1 (X12.5 and X12.6, control segments)

        hint: write 4, or look for what is missing or superfluous

        error[EDI-010]: the segment is longer than 1024 bytes
          at long.x12, byte 2205, interchange 1, group 1, transaction 2, segment 2

        hint: look for a missing segment terminator, or allow more with `--limit segment-bytes=N`
        --- stderr
        long.x12: 2 transactions in 1 interchange, envelopes checked: 3 errors, 0 warnings, 2 of the transactions with errors
          EDI-010 2
          EDI-033 1
    "#]]);
    let ran = world.run("validate long.x12 --limit segment-bytes=2100");
    assert!(!ran.out().contains("EDI-010"), "{}", ran.out());
    world.run("inspect claims.x12 --limit segment-elements=3").code(1);
    world.run("convert claims.x12 --limit segment-elements=3").code(1);
    world.run("convert claims.x12 --guide 837p.guide --limit guide-bytes=1K").check(expect_test::expect![[r#"
        exit 2
        --- stderr
        error[GDE-014]: the guide and its includes are longer than 1024 bytes
          at 837p.guide:1:1
          |
        1 | # A small guide of professional health care claims: enough for common claims, written from the standard's facts.
          | ^

        hint: allow more with `--limit guide-bytes=N`
    "#]]);
    world.run("validate claims.x12 --limit segments=1").check(expect_test::expect![[r#"
        exit 2
        --- stderr
        error: invalid value 'segments=1' for '--limit <NAME=N>': the limits are record-bytes, line-bytes, segment-bytes, segment-elements, depth, fields, columns, findings, copy-depth, copybook-bytes, guide-bytes, groups, map-text-bytes

        For more information, try '--help'.
    "#]]);
    world.run("validate claims.x12 --limit depth=0").check(expect_test::expect![[r#"
        exit 2
        --- stderr
        error: invalid value 'depth=0' for '--limit <NAME=N>': expected N from 1 to 2G, which may end in K, M or G

        For more information, try '--help'.
    "#]]);
}

#[test]
fn a_received_acknowledgment_is_told_in_words() {
    let world = examples();
    let bad = String::from_utf8(world.read("claims.x12")).expect("ASCII").replacen("LX*1", "ZZZ*1~LX*1", 1);
    let bad = bad.replacen("SE*40", "SE*41", 1).replacen("HI*ABK:", "HI*ABK:A:B:C:D:E:F:G:H:I:J:K:", 1);
    world.write("bad.x12", bad);
    let orders = String::from_utf8(world.read("orders.edi")).expect("ASCII");
    world.write("bad.edi", orders.replacen("UNT+15", "UNT+16", 1));
    let stamp = "--ack-time 202604011200";
    for (input, which) in [
        ("claims.x12 --guide 837p.guide", "999"),
        ("bad.x12 --guide 837p.guide", "999"),
        ("bad.x12 --guide 837p.guide", "997"),
        ("bad.x12", "ta1"),
        ("bad.edi", "contrl"),
    ] {
        let file = format!("{which}-{}", input.split(' ').next().unwrap_or_default());
        world.run(&format!("validate {input} --ack {which} {stamp} --ack-output {file}"));
    }
    world.run("inspect 999-claims.x12").check(expect_test::expect![[r#"
        exit 0
        --- stdout
        999-claims.x12  301 bytes of EDI

          1 interchange, 1 functional group, 1 transaction, 10 segments

        transactions
                  1  X12 999 005010X231A1 in FA: 6 segments

        partners
                  1  from MUTUALCARE (ZZ) to HARBOURHOUSE (ZZ): 1 transaction

        answers to what was sent
          group HC 1: accepted, 1 of 1 transactions accepted
            transaction 837 0001: accepted

        interchanges
          byte 0: X12 00501, control number 000000001, of 260401 1200, marked as a test
            1 group, 1 transaction; elements * components : segments ~ repetitions ^, on lines
    "#]]);
    world.run("inspect 999-bad.x12").check(expect_test::expect![[r#"
        exit 0
        --- stdout
        999-bad.x12  445 bytes of EDI

          1 interchange, 1 functional group, 1 transaction, 18 segments

        transactions
                  1  X12 999 005010X231A1 in FA: 14 segments

        partners
                  1  from MUTUALCARE (ZZ) to HARBOURHOUSE (ZZ): 1 transaction

        answers to what was sent
          group HC 1: rejected, 0 of 1 transactions accepted
            transaction 837 0001: rejected: one or more segments are wrong
              segment 20 HI in loop 2300: data elements of the segment are wrong
                element 1, component 10: the data element has too many components
                element 1, component 3 (data element 1250): the data element is too short
                element 1, component 5 (data element 782): a character is not allowed in the data element
                element 1, component 6 (data element 380): a character is not allowed in the data element
              segment 21 ZZZ in loop 2300: the segment is not known

        interchanges
          byte 0: X12 00501, control number 000000001, of 260401 1200, marked as a test
            1 group, 1 transaction; elements * components : segments ~ repetitions ^, on lines
    "#]]);
    world.run("inspect 997-bad.x12").check(expect_test::expect![[r#"
        exit 0
        --- stdout
        997-bad.x12  390 bytes of EDI

          1 interchange, 1 functional group, 1 transaction, 16 segments

        transactions
                  1  X12 997 005010 in FA: 12 segments

        partners
                  1  from MUTUALCARE (ZZ) to HARBOURHOUSE (ZZ): 1 transaction

        answers to what was sent
          group HC 1: rejected, 0 of 1 transactions accepted
            transaction 837 0001: rejected: one or more segments are wrong
              segment 20 HI in loop 2300: data elements of the segment are wrong
                element 1, component 10: the data element has too many components
                element 1, component 3 (data element 1250): the data element is too short
                element 1, component 5 (data element 782): a character is not allowed in the data element
                element 1, component 6 (data element 380): a character is not allowed in the data element
              segment 21 ZZZ in loop 2300: the segment is not known

        interchanges
          byte 0: X12 00501, control number 000000001, of 260401 1200, marked as a test
            1 group, 1 transaction; elements * components : segments ~ repetitions ^, on lines
    "#]]);
    world.run("inspect ta1-bad.x12").check(expect_test::expect![[r#"
        exit 0
        --- stdout
        ta1-bad.x12  157 bytes of EDI

          1 interchange, 0 functional groups, 0 transactions, 3 segments

        partners
                  1  from MUTUALCARE (ZZ) to HARBOURHOUSE (ZZ): 0 transactions

        answers to what was sent
          interchange 000000101: accepted

        interchanges
          byte 0: X12 00501, control number 000000001, of 260401 1200, marked as a test
            0 groups, 0 transactions; elements * components : segments ~ repetitions ^, on lines
    "#]]);
    world.run("inspect contrl-bad.edi").check(expect_test::expect![[r#"
        exit 0
        --- stdout
        contrl-bad.edi  143 bytes of EDI

          1 interchange, 0 functional groups, 1 transaction, 5 segments

        transactions
                  1  EDIFACT CONTRL D:3:UN: 3 segments

        partners
                  1  from 4012345500004 (14) to 5412345000013 (14): 1 transaction

        answers to what was sent
          interchange 26: accepted

        interchanges
          byte 0: EDIFACT UNOC syntax 3 (ISO 8859-1), control number 1, of 260401 1200
            0 groups, 1 transaction; elements + components : segments ' release ?, on lines
    "#]]);
    // Counts that contradict the verdict.
    let wrong =
        String::from_utf8(world.read("999-claims.x12")).expect("ASCII").replacen("AK9*A*1*1*1", "AK9*A*2*2*1", 1);
    world.write("wrong.x12", wrong);
    let text = world.run("inspect wrong.x12").out();
    assert!(text.contains("but the number of transaction sets received differs from those reported"), "{text}");
    // No data, although the acknowledgment repeats values.
    let mut answers = Vec::new();
    for file in ["999-bad.x12", "ta1-bad.x12", "contrl-bad.edi", "wrong.x12"] {
        let json: serde_json::Value =
            serde_json::from_slice(&world.run(&format!("inspect {file} --json")).stdout).expect("JSON");
        answers.extend(json["answers"].as_array().expect("a list").clone());
    }
    let json = serde_json::json!({ "answers": answers }).to_string();
    assert!(json.contains("\"outcome\":\"rejected\"") && !json.contains("A:B:C"), "{json}");
    let seldom = ["interchange", "more", "service.tag", "service.element", "service.component"]
        .map(|name| format!("answers[].{name}"));
    let seldom: Vec<&str> = seldom.iter().map(String::as_str).collect();
    crate::json_docs::documented("Members of answers", json.as_bytes(), &seldom);
}

/// An acknowledgment has no checkpoint: validation is fast, and a partial reply is useless. A killed process leaves the old file, complete, and the
/// new part under its partial name; the next run is not affected.
#[test]
fn a_killed_run_leaves_the_old_acknowledgment_or_none() {
    use std::io::Write as _;
    let world = examples();
    let many = world.read("claims.x12").repeat(500);
    world.write("many.x12", &many);
    // Control numbers repeat.
    let run = "validate many.x12 --ack 999 --ack-time 202604011200 --ack-output want";
    world.run(run).code(1);
    world.shell("mkfifo pipe").code(0);
    for old in [None, Some("an older answer")] {
        if let Some(old) = old {
            world.write("ack", old);
        }
        let mut command = world.command("validate pipe --ack 999 --ack-time 202604011200 --ack-output ack".split(' '));
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().expect("it starts");
        // Opening waits for the reader. The input is more than a read and less than the file, so the reader then waits for the rest.
        let mut pipe = std::fs::OpenOptions::new().write(true).open(world.path("pipe")).expect("it opens");
        pipe.write_all(&many[..many.len() - 10]).expect("it is read");
        let begun = std::time::Instant::now();
        while std::fs::metadata(world.path("ack.partial")).map_or(0, |partial| partial.len()) == 0 {
            assert!(begun.elapsed().as_secs() < 60, "nothing was written");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert_eq!(std::fs::read_to_string(world.path("ack")).ok().as_deref(), old);
        assert!(world.read("ack.partial").len() < world.read("want").len());
    }
    world.run(&run.replace("want", "ack")).code(1);
    assert_eq!(world.read("ack"), world.read("want"));
    assert!(!world.files().contains(&"ack.partial".to_owned()));
}

/// Regression: characters were not checked, and no option named the character set.
#[test]
fn characters_are_checked_against_the_set_that_is_named() {
    let text = b"UNB+UNOA:3+A+B+990802:1557+1'UNH+1+ORDERS:D:96A:UN'FTX+AAI+++\xdc'UNT+3+1'UNZ+1+1'";
    let world = World::with([("unoa.edi", &text[..])]);
    let ran = world.run("validate unoa.edi");
    assert!(ran.code(0).out().contains("warning[EDI-041]"), "{}", ran.out());
    let ran = world.run("validate unoa.edi --strict --ack contrl");
    assert!(ran.code(1).out().contains("UCM+1+ORDERS:D:96A:UN+4"), "{}", ran.out());
    let ran = world.run("validate unoa.edi --strict --encoding iso-8859-1");
    assert_eq!(ran.code(0).out(), "");
    let ran = world.run("validate unoa.edi --encoding nonsense");
    assert!(ran.code(2).err().contains("nonsense"), "{}", ran.err());
}

/// A wrong GS01 was "none of the guides is for 850", and the guides that it named were for 850.
#[test]
fn a_wrong_functional_group_is_named() {
    let world = World::new();
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi/850.x12")).expect("readable");
    world.write("in.x12", text.replacen("GS*PO*", "GS*IN*", 1));
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi/850.guide");
    let ran = world.run(&format!("validate in.x12 --guide {guide} --ack 997 --ack-output out.x12"));
    assert!(ran.code(1).out().contains("error[EDI-049]: GS01 is not PO"), "{}", ran.out());
    assert!(!ran.out().contains("EDI-044"), "{}", ran.out());
    assert!(String::from_utf8(world.read("out.x12")).expect("text").contains("AK5*R*18"), "the code says which");
}

/// Place of service 77, a date in the future and a mistyped NPI passed: no guide had external codes or check digits.
#[test]
fn the_example_of_snip_levels_finds_codes_and_identifiers() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/edi");
    let world = World::new();
    let claims = std::fs::read_to_string(format!("{examples}/claims.x12")).expect("the example");
    let validate = |text: &str| {
        world.write("claims.x12", text);
        world.run(&format!("validate claims.x12 -g {examples}-snip/837p-snip.guide"))
    };
    assert!(validate(&claims).code(0).err().contains("checked by guide 837P-SNIP: no findings"));
    for (from, to, code, told) in [
        ("***11:B:1*", "***77:B:1*", "EDI-114", "CLM05-1"),
        ("XX*1234567893", "XX*1234567894", "EDI-130", "the billing provider's NPI has a wrong check digit"),
        ("XX*1234567893", "XX*9234567893", "EDI-130", "the billing provider's NPI has a wrong check digit"),
        ("*472*D8*20260331", "*472*D8*20270331", "EDI-130", "the service ends after the day of the interchange"),
        ("SV1*HC:99213*60.5*", "SV1*HC:99213*60.4*", "EDI-130", "the claim's amount is not the sum of its lines"),
    ] {
        let text = claims.replacen(from, to, 1);
        assert_ne!(text, claims, "{from}");
        let ran = validate(&text);
        let said = ran.code(1).out();
        assert!(
            said.matches("error[").count() == 1 && said.contains(&format!("error[{code}]")) && said.contains(told),
            "{said}"
        );
    }
}

/// Only `convert` found these; `validate` and its acknowledgments said nothing.
#[test]
fn headers_and_trailers_are_checked_like_what_is_between_them() {
    let world = examples();
    let claims = String::from_utf8(world.read("claims.x12")).expect("ASCII");
    let orders = String::from_utf8(world.read("orders.edi")).expect("ASCII");
    let (surplus, foreign, level) = ("EDI-042", "EDI-041", "EDI-048");
    let told = |command: &str| {
        let ran = world.run(command);
        ran.out() + &ran.err()
    };
    for (text, from, to, code) in [
        (&claims, "SE*40*0001", "SE*40*0001*X", surplus),
        (&claims, "GE*1*1", "GE*1*1*X", surplus),
        (&claims, "IEA*1*000000101", "IEA*1*000000101*X", surplus),
        (&claims, "ST*837*", "ST*837:7*", surplus),
        (&claims, "*005010X222A1~\nST*", "*005010X222A1*A~\nST*", surplus),
        (&claims, "GS*HC*", "GS*HC^T*", surplus),
        (&claims, "HARBOURHOUSE   ", "HARBOURHOUS\u{c9}   ", foreign),
        (&claims, "GS*HC*HARBOURHOUSE", "GS*HC*HARBOURHOUS\u{c9}", foreign),
        (&orders, "UNOC:3+", "UNOC:3:A:14:X+", surplus),
        (&orders, "260401:1200+", "260401:1200:5+", surplus),
        // Separators without data after them are another finding.
        (&orders, "+26'", "+26++++++'", ""),
        (&orders, "UNOC:3+5412345000013:14", "UNOA:3+Alder:14", level),
        (&orders, "UNOC:3+5412345000013:14", "UNOA:3+\u{e9}:14", foreign),
    ] {
        assert_eq!(text.matches(from).count().min(1), 1, "{from}");
        world.write("in.edi", text.replacen(from, to, 1));
        let seen = told("validate in.edi");
        let seen_by_convert = told("convert in.edi --to jsonl -o /dev/null");
        if code.is_empty() {
            assert!(!seen.contains(surplus), "{to}: {seen}");
            continue;
        }
        assert!(seen.contains(&format!("warning[{code}]")), "{to}: {seen}");
        // What follows from the level is for `validate` only.
        assert!(code == level || seen_by_convert.contains(&format!("warning[{code}]")), "{to}: {seen_by_convert}");
        assert_eq!(world.run("validate --strict in.edi").code, Some(1), "{to}");
    }
    // What is written is checked by the same steps.
    let documents = world.run("convert claims.x12 --to jsonl").out();
    world.write("in.jsonl", documents.replacen("\"HARBOURHOUSE\"", "\"HARBOURHOUS\u{c9}\"", 1));
    for options in ["", " --output-level envelope", " --output-level none"] {
        let seen = world.run(&format!("convert in.jsonl -o out.x12{options}")).err();
        assert!(seen.contains(&format!("warning[{foreign}]")), "{options}: {seen}");
    }
    let refused = world.run("convert in.jsonl -o out.x12 --strict --rejects out.rejects");
    assert_eq!(refused.code, Some(1), "{}", refused.err());
}

/// A blank after a qualifier hid its segment from the guide, and one after a format qualifier turned the check of the date off.
#[test]
fn blanks_after_a_qualifier_change_nothing() {
    let world = examples();
    let claims = String::from_utf8(world.read("claims.x12")).expect("ASCII");
    let check = |text: String| {
        world.write("in.x12", text);
        let ran = world.run("validate in.x12 -g 837p.guide");
        ran.out() + &ran.err()
    };
    for qualifier in ["NM1*85*", "NM1*41*", "DTP*472*", "REF*EI*", "HL*1**20*"] {
        let blank = format!("{} *", qualifier.trim_end_matches('*'));
        assert!(claims.contains(qualifier), "{qualifier}");
        let told = check(claims.replace(qualifier, &blank));
        assert!(!told.contains("EDI-110"), "{qualifier}: {told}");
    }
    let at = claims.find("*D8*").expect("a date") + 4;
    let date = &claims[at..at + 8];
    for form in ["D8", "D8 "] {
        let told = check(claims.replace(&format!("*D8*{date}"), &format!("*{form}*20260231")));
        assert!(told.contains("20260231") || told.contains("EDI-117"), "{form}: {told}");
    }
}

/// A sender writes UTF-8 and names ISO 8859-1: each byte is a character, as `convert` shows them.
#[test]
fn lengths_are_those_of_the_named_character_set() {
    let world = examples();
    let orders = String::from_utf8(world.read("orders.edi")).expect("ASCII");
    let buyer = "NAD+BY+5412345000013::9++ALDER HANDEL";
    assert!(orders.contains(buyer));
    for (set, is_found) in [("UNOC", true), ("UNOY", false)] {
        let text = orders.replacen("UNOC", set, 1);
        world.write("in.edi", text.replacen(buyer, &format!("{buyer}+++++\u{c4}\u{c4}\u{c4}"), 1));
        let ran = world.run("validate in.edi -g orders.guide");
        assert_eq!(ran.out().contains("has 6 characters, expected at most 3"), is_found, "{set}: {}", ran.out());
    }
}

/// The refusal of a guide without effect did not say what each of its two remedies checks.
#[test]
fn a_guide_without_effect_is_refused_with_remedies_that_work() {
    let world = examples();
    world.run("validate claims.x12 --guide 837p.guide --level envelope").check(expect_test::expect![[r#"
        exit 2
        --- stderr
        error[CLI-003]: --guide has no effect with --level envelope, which checks only envelopes

        hint: omit --guide to check only envelopes, or omit --level to check by the guide
    "#]]);
    world.run("validate claims.x12 --level envelope").code(0);
    world.run("validate claims.x12 --guide 837p.guide").code(0);
}

/// The position of a segment that a rule asks for was that of the segment before its group.
#[test]
fn contrl_names_the_group_that_lacks_what_a_rule_asks_for() {
    let world = examples();
    let overlay = "guide MINE\noverlay of orders.guide\nrules\n  rule price at SG25\n    present(PIA)\n";
    world.write("mine.guide", overlay);
    let ran = world.run("validate orders.edi --guide mine.guide --ack contrl");
    let answer = ran.code(1).out();
    // LIN is segment 7 of the message, and its successor segment 11.
    assert!(answer.contains("UCS+7+13'") && answer.contains("UCS+11+13'"), "{answer}{}", ran.err());
}
