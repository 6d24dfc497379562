//! Places with the same tag: the conditions that distinguish them, and the warning `GDE-110` if none does.

use expect_test::{Expect, expect};
use quayline_core::Limits;
use quayline_edi::ValidatorOptions;
use quayline_edi::guide::{CompiledGuide, MemoryGuides, parse_guide};

use crate::validate::check_with;

/// Builds a guide with this structure over a few segments.
fn guide(structure: &str) -> String {
    format!(
        "guide TEST\nstandard X12\nversion 005010\ntransaction 999 group ZZ\n\
         element 1 AN 1..5 \"Text\"\nelement 2 ID 2..3 \"Code\" codes C\n\
         codes C\n  AB\n  AD\n  BM\n  EL\n  CT\n  ER\n  HC\n\
         segment AAA\n  1 M\nsegment LX\n  1 M\nsegment HCP\n  1 M\n  2 O\nsegment PWK\n  2 M\n  2 O\n  1 O\n\
         segment N1\n  1 M\n  1 O\n  2 O\nstructure\n{structure}"
    )
}

/// Checks the findings of some bodies, each on a separate line after the body.
#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(structure: &str, bodies: &[&str], expected: Expect) {
    let guide = guide(structure);
    let of = |body: &&str| format!("{body}\n{}", check_with(&guide, body, &ValidatorOptions::default()));
    expected.assert_eq(&bodies.iter().map(of).collect::<String>());
}

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn warnings(structure: &str, expected: Expect) {
    let guide = parse_guide("test.guide", &guide(structure), &MemoryGuides::default(), &Limits::default())
        .unwrap_or_else(|findings| panic!("{findings}"));
    let compiled = CompiledGuide::new(&guide).unwrap_or_else(|findings| panic!("{findings}"));
    let all: Vec<String> = compiled.warnings().iter().map(|finding| format!("{}\n", finding.message)).collect();
    expected.assert_eq(&all.concat());
}

/// Regression: a condition used an optional element whose codes differ, so a valid segment without it had no place.
#[test]
fn an_element_that_may_be_absent_turns_nothing_away() {
    let structure = "
  segment AAA M 1
  segment HCP O 1
    02 N
  loop LX O 9
    segment LX M 1
    segment HCP O 1
      02 codes ER HC
";
    warnings(structure, expect![[""]]);
    check(
        structure,
        &[
            "AAA*1~LX*1~HCP*1~",
            "AAA*1~LX*1~HCP*1*ER~",
            "AAA*1~HCP*1~LX*1~HCP*1*HC~LX*2~HCP*1~",
            "AAA*1~HCP*1*ER~",
            "AAA*1~LX*1~HCP*1*AB~",
        ],
        expect![[r#"
            AAA*1~LX*1~HCP*1~
            AAA*1~LX*1~HCP*1*ER~
            AAA*1~HCP*1~LX*1~HCP*1*HC~LX*2~HCP*1~
            AAA*1~HCP*1*ER~
            EDI-119 3.2 8/I10 15: HCP02 (Code) is present, but not used by the guide
            AAA*1~LX*1~HCP*1*AB~
            EDI-114 4.2 8/I6 12: HCP02 (Code) in loop LX is a code that the guide does not allow here
        "#]],
    );
}

/// Regression: two segments with the same qualifier were not distinguished, although the codes of their second elements are disjoint.
#[test]
fn all_closed_codes_decide() {
    let structure = "
  segment AAA M 1
  segment PWK O 2
    01 codes CT
    02 codes BM EL
  segment PWK O 1
    01 codes CT
    02 M codes AB AD
";
    warnings(structure, expect![[""]]);
    check(
        structure,
        &[
            "AAA*1~PWK*CT*AD~",
            "AAA*1~PWK*CT~PWK*CT*EL~PWK*CT*AB~",
            "AAA*1~PWK*CT*AD~PWK*CT*BM~",
            "AAA*1~PWK*CT*ER~",
            "AAA*1~PWK*CT*AD~PWK*CT*AD~",
        ],
        expect![[r#"
            AAA*1~PWK*CT*AD~
            AAA*1~PWK*CT~PWK*CT*EL~PWK*CT*AB~
            AAA*1~PWK*CT*AD~PWK*CT*BM~
            EDI-104 4 7/- 15: PWK is in the wrong order
            AAA*1~PWK*CT*ER~
            EDI-114 3.2 8/I6 12: PWK02 (Code) is a code that the guide does not allow here
            AAA*1~PWK*CT*AD~PWK*CT*AD~
            EDI-105 4 5/- 35: PWK is here more than 1 time
        "#]],
    );
}

/// The presence of a value decides if one place requires it and the other forbids it.
#[test]
fn presence_decides_for_loops_too() {
    let structure = "
  segment AAA M 1
  loop A O 2
    segment N1 M 1
      02 N
    segment HCP O 1
  loop B O 2
    segment N1 M 1
      02 M
    segment PWK O 1
";
    warnings(structure, expect![[""]]);
    check(
        structure,
        &["AAA*1~N1*X*1~PWK*CT~", "AAA*1~N1*X~HCP*1~N1*Y~N1*X*2~PWK*CT~", "AAA*1~N1*X*1~PWK*CT~N1*X~"],
        expect![[r#"
            AAA*1~N1*X*1~PWK*CT~
            AAA*1~N1*X~HCP*1~N1*Y~N1*X*2~PWK*CT~
            AAA*1~N1*X*1~PWK*CT~N1*X~
            EDI-111 5.2 8/1 13: N102 (Text) in loop B is missing
        "#]],
    );
}

/// The message named the same path twice, and took the codes of the wrong one.
#[test]
fn places_that_cannot_be_told_apart_have_two_names() {
    warnings(
        "
  segment AAA M 1
  segment PWK O 2 \"Paperwork\"
    01 codes CT
    02 codes BM AD
  segment PWK O 1 \"Necessity\"
    01 codes CT
    02 M codes AB AD
",
        expect![[r#"
            PWK[2] (Necessity) cannot be distinguished from PWK[1] (Paperwork): PWK02 may be AD in both; in `AAA PWK*CT*AD` the last PWK*CT*AD counts as the latter
        "#]],
    );
    warnings(
        "
  segment AAA M 1
  loop LX O 9
    segment LX M 1
    segment HCP O 1
      02 codes ER HC
  segment HCP O 1
    02 N
",
        expect![[r#"
            HCP cannot be distinguished from LX/HCP: HCP02 may be left out in both; in `AAA LX HCP` the last HCP counts as the latter
        "#]],
    );
}
