//! `quayline validate`: any number of threads, what was checked, acknowledgments that are whole or not there.

use crate::edi::{examples, po};
use crate::world::World;

/// The claims of the examples with what stands between CLM and SE `times` times in each of `transactions` transactions; every `every`th of
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

/// Some bytes of it changed.
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
    // Many small transactions; some of a block and more; one that no block holds, which goes on from lane to lane.
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
        ("--ack 999 --ack-time 202604011200 -o ack.x12", "--guide 837p.guide"),
        ("", "--guide 837p.guide --json"),
        ("", "--level envelope"),
    ] {
        let run = |jobs: usize| {
            let ran =
                world.run(&format!("validate {} {more} {which} --max-findings 100000 --jobs {jobs}", files.join(" ")));
            assert_eq!(ran.code, Some(1), "{}", ran.err());
            let ack = if which.is_empty() { Vec::new() } else { world.read("ack.x12") };
            let ack = String::from_utf8_lossy(&ack).replace('~', "~\n");
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
    world.run("validate claims.x12 --ack 999 -o answer.x12").code(0);
    // Acknowledgments have guides of ours.
    world.write("both.x12", [world.read("answer.x12"), world.read("claims.x12")].concat());
    let said = |arguments: &str| world.run(arguments).err().lines().last().unwrap_or_default().to_owned();
    expect_test::expect![[r#"
        claims.x12: 1 transaction in 1 interchange, envelopes checked: nothing is wrong
        answer.x12: 1 transaction in 1 interchange, checked by guide: nothing is wrong
        both.x12: 2 transactions in 2 interchanges, 1 checked by guide, 1 by envelope only: nothing is wrong
        both.x12: 2 transactions in 2 interchanges, envelopes checked: nothing is wrong
        both.x12: 2 transactions in 2 interchanges, checked by guide without rules: nothing is wrong"#]]
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
        error[GDE-008]: the guide does not say that it is one
          at 837p.guide:0:1
          |
        0 | # A small guide of professional health care claims: enough for common claims, written from the standard's facts.
          | ^

        hint: begin it with `guide NAME`; a file that begins with `dictionary` is for includes

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
        error: invalid value 'segments=1' for '--limit <NAME=N>': known are record-bytes, line-bytes, segment-bytes, segment-elements, depth, fields, columns, findings, copy-depth, copybook-bytes, guide-bytes

        For more information, try '--help'.
    "#]]);
    world.run("validate claims.x12 --limit depth=0").check(expect_test::expect![[r#"
        exit 2
        --- stderr
        error: invalid value 'depth=0' for '--limit <NAME=N>': N is a number from 1 to 2G, which may end in K, M or G

        For more information, try '--help'.
    "#]]);
}
