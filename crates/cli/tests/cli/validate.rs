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
