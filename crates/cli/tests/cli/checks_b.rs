//! Defects that an independent check of EDI and maps found, with one test for each: the smallest input, through the command.
//!
//! | defect | test |
//! |---|---|
//! | B1 what is written is not checked | `outbound.rs` |
//! | B2 a gap without end | `b2_a_gap_of_blanks_is_no_work` |
//! | B3 places told apart by what may be absent | `places.rs` of `edi` and of `dictionary` |
//! | B4 binary data through XML | `b4_binary_data_comes_back_from_xml` |
//! | B5 accepted in silence | `b5_headers_and_blanks_are_checked`, `validate.rs` for characters |
//! | B6 a wrong GS01 | `validate::a_wrong_functional_group_is_named` |
//! | B7 no IK3 for a tag that is none | `b7_a_tag_that_is_none_has_its_segment_in_the_answer` |
//! | B8 unknown envelope values, control numbers | `outbound.rs` |
//! | B9 which guide judged | `b9_the_guide_is_named` |
//! | B10 one fault, one finding | `mutants.rs` of `edi`, `held_out.rs` of `dictionary` |
//! | B12 a segment that only this guide lacks | `b12_a_segment_of_another_guide_is_not_unknown_to_the_standard` |
//! | B11 no guide, told for each transaction | `b11_that_no_guide_is_there_is_told_once_a_group` |
//! | B13 memory with transactions that are not closed | `b13_transactions_without_their_end_take_no_memory` |
//! | B14 other syntaxes | `b14_other_syntaxes_are_named` |
//! | B14 `.6` by guide, UNA, terminators of several bytes | `b14_small_values_come_back`, `splitter.rs` and `generic.rs` of `edi` |

use crate::edi::{examples, po};
use crate::world::World;

/// A purchase order by the guide of the examples but for what is replaced.
fn order(from: &str, to: &str) -> String {
    let world = examples();
    let text = String::from_utf8(world.read("850.x12")).expect("ASCII");
    assert!(text.contains(from), "{text}");
    text.replacen(from, to, 1)
}

#[test]
fn b2_a_gap_of_blanks_is_no_work() {
    let world = examples();
    let claims = String::from_utf8(world.read("claims.x12")).expect("ASCII");
    let at = claims.find("CLM*").expect("a claim");
    world.write("gap.x12", format!("{}{}{}", &claims[..at], "\n".repeat(3 << 20), &claims[at..]));
    let begun = std::time::Instant::now();
    world.run("convert gap.x12 -o gap.jsonl").code(0);
    world.run("convert claims.x12 -o claims.jsonl").code(0);
    // The gap divides the transaction into pages; written back, they are one again.
    world.run("convert gap.jsonl -o gap-back.x12").code(0);
    world.run("convert claims.jsonl -o claims-back.x12").code(0);
    assert_eq!(world.read("gap-back.x12"), world.read("claims-back.x12"));
    // Regression: this test never ended. It usually takes a second.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn b4_binary_data_comes_back_from_xml() {
    let world = examples();
    let text = po().replacen("SE*3", "BIN*3*abc~SE*4", 1).replacen("SE*4*0002", "SE*3*0002", 1);
    world.write("in.x12", &text);
    world.run("convert in.x12 -o out.xml").code(0);
    world.run("convert out.xml -o back.x12").code(0);
    assert!(String::from_utf8(world.read("back.x12")).expect("ASCII").contains("~BIN*3*abc~"));
}

#[test]
fn b5_headers_and_blanks_are_checked() {
    let world = examples();
    let gs = order("*X*005010", "*Q*005010");
    let isa = order("*ZZ*", "*QQ*");
    let version = order("*00501*", "*99999*");
    let blanks = {
        let text = order("~", "~");
        let at = text.find("BEG*").expect("BEG");
        let fields: Vec<&str> = text[at..].split('*').collect();
        text.replacen(&format!("*{}*{}*", fields[2], fields[3]), &format!("*{}*   *", fields[2]), 1)
    };
    for (text, code, words) in [
        (gs, "EDI-038", "GS07 is not T or X"),
        (isa, "EDI-038", "ISA05 is not a code"),
        (version, "EDI-038", "ISA12 is not a version"),
        (blanks, "EDI-131", "BEG03 (Order number) holds blanks only"),
    ] {
        world.write("in.x12", text);
        let ran = world.run("validate in.x12 --guide 850.guide");
        assert!(ran.code(1).out().contains(&format!("error[{code}]: {words}")), "{words}: {}", ran.out());
    }
    world.write(
        "in.x12",
        po().replacen("ST*850*0001", "ST*850*0001*005010X999", 1).replace("*X*005010~", "*X*005010X222A1~"),
    );
    let ran = world.run("validate in.x12");
    assert!(ran.code(1).out().contains("error[EDI-047]: ST03 names another implementation guide"), "{}", ran.out());
}

#[test]
fn b7_a_tag_that_is_none_has_its_segment_in_the_answer() {
    let world = examples();
    for tag in ["abcde", "n3", "ABCDE"] {
        world.write("in.x12", po().replacen("SE*3", &format!("{tag}*1~SE*4"), 1));
        world.run("validate in.x12 --ack 999 --ack-output out.x12").code(1);
        let answer = String::from_utf8(world.read("out.x12")).expect("ASCII");
        assert!(answer.contains("IK3*") && answer.contains("*3**1~"), "{tag}: {answer}");
    }
}

#[test]
fn b9_the_guide_is_named() {
    let world = examples();
    let ran = world.run("validate 850.x12 --guide 850.guide");
    assert!(ran.code(0).err().contains("checked by guide 850"), "{}", ran.err());
    // Both directions, with statistics and with rejects.
    let ran = world.run("convert 850.x12 --guide 850.guide --stats -o good.jsonl");
    assert!(ran.code(0).err().lines().any(|line| line == "guides    850"), "{}", ran.err());
    let ran = world.run("convert good.jsonl --guide 850.guide --stats --json -o back.x12");
    assert!(ran.code(0).err().contains("\"guides\":[\"850\"]"), "{}", ran.err());
    world.write("bad.x12", order("BEG*00*", "BEG*0099*"));
    let ran = world.run("convert bad.x12 --guide 850.guide --rejects rejects.x12 -o out.jsonl");
    assert!(ran.code(1).err().contains("rejected, checked by guide 850: rejects.x12"), "{}", ran.err());
}

/// The dictionary of a whole standard has AK103 in an older form and took the place of the guide that comes with Quayline.
#[test]
fn b9_an_imported_dictionary_does_not_judge_acknowledgments() {
    let world = World::new();
    world.write(
        "ack.x12",
        "ISA*00*          *00*          *ZZ*A              *ZZ*B              *260101*0101*^*00501*000000001*0*P*:~\
         GS*FA*A*B*20260101*0101*1*X*005010~ST*997*0001~AK1*PO*1*005010~AK9*A*1*1*1~SE*4*0001~GE*1*1~IEA*1*000000001~",
    );
    let guide = |source: &str| {
        format!(
            "guide IMPORTED \"Acknowledgment\"\nstandard X12\nversion 005010\ntransaction 997 group FA\n{source}element 28 N0 1..9 \"Number\"\n\
             element 479 ID 2 \"Group\"\nelement 715 ID 1 \"Outcome\"\nelement 97 N0 1..6 \"Sets\"\n\
             segment AK1 \"Group\"\n  479 M\n  28 M\nsegment AK9 \"Outcome\"\n  715 M\n  97 M\n  97 M\n  97 M\n\
             structure\n  segment AK1 M 1\n  segment AK9 M 1\n"
        )
    };
    for (source, code) in [("source \"x12-types 0.12.0, MIT OR Apache-2.0\"\n", 0), ("", 1)] {
        world.write("imported.guide", guide(source));
        for guides in ["imported.guide", "imported.guide --guide builtin:"] {
            world.run(&format!("validate ack.x12 --guide {guides}")).code(code);
        }
    }
}

#[test]
fn b12_a_segment_of_another_guide_is_not_unknown_to_the_standard() {
    let world = examples();
    world.write("in.x12", po().replacen("~BEG", "~SDP*A~BEG", 1));
    let ran = world.run("validate in.x12 --guide 850.guide");
    assert!(ran.code(1).out().contains("error[EDI-101]: SDP is not in the guide"), "{}", ran.out());
}

#[test]
fn b14_other_syntaxes_are_named() {
    let world = examples();
    for text in ["STX=ANA:1+5:A+5:B+990802:1557+1'MHD=1+ORDHDR:8'MTR=2'END=1'", "UIB+UNOA:0++1'UIH+SCRIPT:008:001+1'"] {
        world.write("in.edi", text);
        let ran = world.run("validate in.edi");
        assert!(
            ran.code(1).out().contains("TRADACOMS (STX) and interactive EDIFACT (UIB) are not supported"),
            "{}",
            ran.out()
        );
    }
}

#[test]
fn b10_a_missing_terminator_is_one_finding() {
    let world = examples();
    let text = String::from_utf8(world.read("850.x12")).expect("ASCII");
    for (from, to, tag) in [
        ("~\nCUR*", "CUR*", "CUR"),
        ("~\nN4*SALEM", "\nN4*SALEM", "N4"),
        ("~\nAMT*TT", "AMT*TT", "AMT"),
        ("~\nSE*33", "SE*33", "SE"),
    ] {
        world.write("in.x12", text.replacen(from, to, 1));
        for jobs in ["", " -j 3"] {
            let ran = world.run(&format!(
                "validate in.x12 --guide 850.guide --ack 999 --ack-output out{}.x12 --ack-time 202604011200{jobs}",
                jobs.len()
            ));
            let told = ran.code(1).out();
            assert_eq!(told.matches("[EDI-").count(), 1, "{tag}: {told}");
            assert!(
                told.contains(&format!("error[EDI-022]: the segment terminator before {tag} is missing")),
                "{told}"
            );
        }
        let answer = String::from_utf8(world.read("out0.x12")).expect("ASCII");
        assert!(answer.contains("IK3*") && answer.contains("*8~\nIK4*") && answer.contains("**3~"), "{answer}");
        assert_eq!(answer, String::from_utf8(world.read("out5.x12")).expect("ASCII"));
    }
}

#[test]
fn b11_that_no_guide_is_there_is_told_once_a_group() {
    let world = examples();
    world.write("in.x12", order("*X*005010~", "*X*004010~"));
    for jobs in ["", " -j 3"] {
        let ran = world.run(&format!("validate in.x12 --guide 850.guide{jobs}"));
        let told = ran.code(1).out();
        assert_eq!(told.matches("error[EDI-044]").count(), 1, "{told}");
        assert!(told.contains("none of the guides is for 850 004010, so the transaction cannot be read or checked by one; so are 2 more in the group"), "{told}");
        assert!(ran.err().contains("1 error, 0 warnings, 3 of the transactions with errors"), "{}", ran.err());
    }
}

/// N104 without N103 breaks P0304, and R0203 without a name too: N103 alone mends both.
#[test]
fn b10_one_absent_element_breaks_one_note() {
    let world = examples();
    let text = order("N1*BY*ALDER TRADING CO*92*10042", "N1*BY***10042");
    world.write("in.x12", text);
    let told = world.run("validate in.x12 --guide 850.guide").code(1).out();
    assert!(told.contains("P0304") && !told.contains("R0203"), "{told}");
}

/// Each of these also had the finding that no guide was found.
#[test]
fn b10_a_group_without_a_version_and_none_at_all_are_one_finding() {
    let world = examples();
    let orders = String::from_utf8(world.read("850.x12")).expect("ASCII");
    let without = |tag: &str| {
        let lines = orders.lines().filter(|line| !tag.split(' ').any(|tag| line.starts_with(tag)));
        lines.collect::<Vec<_>>().join("\n")
    };
    for (text, code) in [(order("*X*005010~", "*X*~"), "EDI-037"), (without("GS* GE*"), "EDI-040")] {
        world.write("in.x12", text);
        for jobs in ["", " -j 3"] {
            let ran = world.run(&format!("validate in.x12 --guide 850.guide{jobs}"));
            let told = ran.code(1).out();
            assert_eq!(told.matches("error[").count(), 1, "{told}");
            assert!(told.starts_with(&format!("error[{code}]")), "{told}");
        }
    }
}

/// A block ended only where nothing was open, and a transaction that the next one ends never is: all of the interchange was one block.
#[test]
fn b13_transactions_without_their_end_take_no_memory() {
    let world = World::new();
    let isa =
        "ISA*00*          *00*          *ZZ*A              *ZZ*B              *260101*0101*^*00501*000000001*0*P*:~";
    let gs = "GS*PO*A*B*20260101*0101*1*X*005010~";
    let header = |kind: &str, number: usize| match kind {
        // Faults in the bytes of a header are reported once, even if a block ends before the header.
        "ST" if number.is_multiple_of(7) => format!("ST*850*{number}\u{7}~"),
        "ST" => format!("ST*850*{number}~REF*CT*{number}~"),
        "GS" => format!("GS*PO*A*B*20260101*0101*{number}*X*005010~ST*850*{number}~GE*1*{number}~"),
        _ => format!("{}{gs}ST*850*{number}~", isa.replace("000000001", &format!("{number:09}"))),
    };
    let peak = |kind: &str, count: usize, options: &str| {
        let body: String = (1..=count).map(|number| header(kind, number)).collect();
        let head = if kind == "ISA" { String::new() } else { [isa, gs].concat() };
        world.write("in.x12", format!("{head}{body}GE*1*1~IEA*1*000000001~"));
        let ran = world.run(&format!("convert in.x12 -o out.jsonl --rejects bad.x12 --stats {options}"));
        let told = ran.code(1).err();
        let line = told.lines().find(|line| line.starts_with("memory")).unwrap_or_else(|| panic!("{told}"));
        let megabytes: f64 = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number");
        let files = ["out.jsonl", "bad.x12", "bad.x12.findings.jsonl"].map(|name| {
            let bytes = std::fs::read(world.path(name)).unwrap_or_default();
            let _ = std::fs::remove_file(world.path(name));
            bytes
        });
        (megabytes, files)
    };
    for (kind, count) in [("ST", 150_000), ("GS", 60_000), ("ISA", 25_000)] {
        let small = peak(kind, count / 100, "").0;
        let (large, alone) = peak(kind, count, "");
        assert!(large < small + 16.0, "{kind}: {small} MB, then {large} MB");
        let (_, several) = peak(kind, count, "-j 3");
        assert!(alone == several, "{kind}: the results depend on the number of threads");
        let findings = String::from_utf8(alone[2].clone()).expect("UTF-8");
        assert!(findings.lines().count() >= count, "{kind}: {} of {count}", findings.lines().count());
    }
}

#[test]
fn b14_small_values_come_back() {
    let world = examples();
    for value in [".6", "-.05", "12.50", "0", "0.00"] {
        let text = order("AMT*TT*151.25", &format!("AMT*TT*{value}"));
        world.write("in.x12", &text);
        world.run("convert in.x12 --guide 850.guide -o out.jsonl").code(0);
        world.run("convert out.jsonl --guide 850.guide -o back.x12").code(0);
        assert!(
            String::from_utf8(world.read("back.x12")).expect("ASCII").contains(&format!("AMT*TT*{value}~")),
            "{value}"
        );
    }
}
