//! Vectors of guides that do not compile, or that are ambiguous.

use expect_test::{Expect, expect};

use super::CompiledGuide;
use crate::guide::model::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, ElementChange, ElementDef, ElementOf, ElementUse, Guide, Item,
    NoteKind, Requirement, SegmentUse, SyntaxNote,
};
use crate::guide::walk::tests::{CLAIM, structure};

#[expect(clippy::needless_pass_by_value, reason = "expect! is written in place")]
fn check(guide: Guide, expected: Expect) {
    let text = match CompiledGuide::new(&guide) {
        Ok(compiled) => compiled.warnings().iter().map(|finding| format!("{finding}\n")).collect::<String>(),
        Err(findings) => findings.0.iter().map(|finding| format!("{finding}\n")).collect(),
    };
    expected.assert_eq(&text);
}

fn segment(guide: &mut Guide, index: usize) -> &mut SegmentUse {
    match &mut guide.structure[index] {
        Item::Segment(segment) => segment,
        Item::Loop(_) => panic!("a segment"),
    }
}

#[test]
fn qualified_loops_are_not_ambiguous() {
    check(structure(CLAIM), expect![[""]]);
}

#[test]
fn siblings_that_begin_alike() {
    check(
        structure(
            "
BEG M 1
loop N1 O 200
  N1 M 1
  N2 O 2
loop N1B O 1
  N1 M 1
CTT O 1
",
        ),
        expect![[r#"
            warning[GDE-110]: N1B/N1 cannot be distinguished from N1/N1: neither N1 has a qualifier or codes that the other does not have; in `BEG N1` the last N1 counts as the latter
              at N1B/N1

            hint: give each a qualifier that the other does not have (`where 01 = …`)
        "#]],
    );
    check(
        structure(
            "
BEG M 1
loop A O 1
  N1 M 1 01=BY|ST
loop B O 1
  N1 M 1 01=ST|SE
loop C O 1
  N1 M 1 02=X
",
        ),
        expect![[r#"
            warning[GDE-110]: B/N1 cannot be distinguished from A/N1: N101 may be ST in both; in `BEG N1*ST` the last N1*ST counts as the latter
              at B/N1

            hint: give each a qualifier that the other does not have (`where 01 = …`)
            warning[GDE-110]: C/N1 cannot be distinguished from A/N1: different elements distinguish them, N101 and N102; in `BEG N1*BY*X` the last N1*BY*X counts as the latter
              at C/N1

            hint: give each a qualifier that the other does not have (`where 01 = …`)
            warning[GDE-110]: C/N1 cannot be distinguished from B/N1: different elements distinguish them, N101 and N102; in `BEG N1*SE*X` the last N1*SE*X counts as the latter
              at C/N1

            hint: give each a qualifier that the other does not have (`where 01 = …`)
        "#]],
    );
}

#[test]
fn an_inner_segment_takes_what_an_outer_one_could_have() {
    check(
        structure(
            "
BGM M 1
loop SG1 O 9
  RFF M 1
  DTM O 5
loop SG2 O 9
  NAD M 1
DTM O 1
",
        ),
        expect![[r#"
            warning[GDE-110]: DTM cannot be distinguished from SG1/DTM: neither DTM has a qualifier or codes that the other does not have; in `BGM RFF DTM` the last DTM counts as the latter
              at DTM

            hint: give each a qualifier that the other does not have (`where 01 = …`)
        "#]],
    );
    // A mandatory segment between them distinguishes them.
    check(
        structure(
            "
BGM M 1
loop SG1 O 9
  RFF M 1
  DTM O 5
UNS M 1
DTM O 1
",
        ),
        expect![[r#""#]],
    );
}

#[test]
fn all_findings_at_once() {
    let mut guide = structure("BEG M 1 09=X\nREF O 1\nN1 O 0\nloop L O 1\n  PO1 M 1\nloop L O 1\n  PO2 M 1\nST M 1");
    let element =
        |min, max| ElementDef { name: None, data_type: DataType::Date, min, max, codes: Some("none".to_owned()) };
    guide.dictionary.elements.insert("373".to_owned(), element(9, 8));
    guide.dictionary.elements.insert("374".to_owned(), element(1, 3));
    let used = |of: &str| ElementUse {
        of: ElementOf::Composite(of.to_owned()),
        name: None,
        requirement: Requirement::NotUsed,
        repeat: Some(1),
    };
    let composite = CompositeDef { components: vec![used("C1")], ..CompositeDef::default() };
    guide.dictionary.composites.insert("C1".to_owned(), composite);
    guide.dictionary.composites.insert("C2".to_owned(), CompositeDef::default());
    let day = |value: &str, from, until| CodeEntry { value: value.to_owned(), name: None, from, until };
    let codes =
        vec![day("A", Some(20_240_101), Some(20_230_101)), day("A", Some(20_241_301), None), day("", None, None)];
    guide.dictionary.codes.insert("98".to_owned(), CodeList { name: None, codes, open: false });
    if let Some(def) = guide.dictionary.segments.get_mut("BEG") {
        def.elements[8].requirement = Requirement::NotUsed;
        def.elements[7] = used("C9");
        def.notes = vec![
            SyntaxNote { kind: NoteKind::AllOrNone, elements: vec![1, 10] },
            SyntaxNote { kind: NoteKind::OneOrMore, elements: vec![2] },
        ];
    }
    guide.dictionary.segments.remove("REF");
    let change = |element, component| ElementChange { element, component, ..ElementChange::default() };
    segment(&mut guide, 0).changes = vec![
        change(10, 0),
        change(1, 1),
        change(2, 0),
        ElementChange { codes: Some(Codes::List("gone".to_owned())), ..change(2, 0) },
        ElementChange { min: Some(99), codes: Some(Codes::These(vec![])), ..change(3, 0) },
    ];
    check(
        guide,
        expect![[r#"
        error[GDE-103]: at least 9 characters and at most 8 is not a length
          at element 373
        error[GDE-102]: the code list `none` is not defined
          at element 373
        error[GDE-103]: a date has 6 or 8 digits, not 1 to 3
          at element 374
        error[GDE-102]: the code list `none` is not defined
          at element 374
        error[GDE-102]: component 1 is composite C1; composites have simple elements only
          at composite C1
        error[GDE-102]: the composite has no components
          at composite C2
        error[GDE-102]: BEG08 is composite C9, which is not defined
          at segment BEG
        error[GDE-108]: the note P0110 names element 10, but there are 9
          at segment BEG
        error[GDE-108]: the note R02 names fewer than two elements
          at segment BEG
        error[GDE-112]: code A is never valid: it begins on 20240101 and ends on 20230101
          at codes 98
        error[GDE-112]: the day 20241301 of code A is not YYYYMMDD
          at codes 98
        error[GDE-112]: a code is empty
          at codes 98
        error[GDE-112]: code A is listed twice
          at codes 98
        error[GDE-107]: at most 0 occurrences are allowed, but it is not marked as not used
          at N1
        error[GDE-106]: two items here have the id `L`, so documents cannot name them
          at loop L
        error[GDE-111]: segments of the envelope are not part of a guide's structure
          at ST

        hint: remove it; the envelope is checked automatically
        error[GDE-109]: BEG10 is changed, but there is no such element
          at BEG
        error[GDE-109]: BEG01-1 is changed, but there is no such element
          at BEG
        error[GDE-109]: BEG02 is changed twice
          at BEG
        error[GDE-102]: the code list `gone` of BEG02 is not defined
          at BEG
        error[GDE-112]: BEG03 has an empty list of codes, so nothing is valid
          at BEG
        error[GDE-103]: at least 99 characters and at most 80 is not a length
          at BEG, BEG03
        error[GDE-101]: the segment REF is not defined
          at REF

        hint: include a dictionary that has it, or define it
    "#]],
    );
}

#[test]
fn a_qualifier_that_never_matches() {
    let mut guide = structure("BEG M 1\nREF O 1 01=TOOLONGBYFAR\nREF O 1 01=ZZ\nREF O 1 12=A");
    let codes = vec![CodeEntry { value: "DP".to_owned(), name: None, from: None, until: None }];
    guide.dictionary.codes.insert("128".to_owned(), CodeList { name: None, codes, open: false });
    let element =
        ElementDef { name: None, data_type: DataType::Identifier, min: 2, max: 3, codes: Some("128".to_owned()) };
    guide.dictionary.elements.insert("128".to_owned(), element);
    if let Some(def) = guide.dictionary.segments.get_mut("REF") {
        def.elements[0].of = ElementOf::Element("128".to_owned());
    }
    check(
        guide,
        expect![[r#"
        error[GDE-104]: the qualifier REF01 = TOOLONGBYFAR never matches: its length is not 2 to 3
          at REF
        error[GDE-104]: the qualifier REF01 = ZZ never matches: it is not in the code list 128
          at REF
        error[GDE-104]: the qualifier REF12 is not an element of REF
          at REF
    "#]],
    );
}
