use expect_test::{Expect, expect};
use quayline_dictionary::x12_types::{X12Types, complete};
use quayline_dictionary::{SourceText, json};

const ELEMENTS: &str = r#"
crate::code_enum!(
    /// **98** Entity Identifier Code
    ///
    /// - Data element: 98
    /// - Type: Identifier (ID)
    /// - Length: min 2, max 3
    ///
    /// Common codes named below.
    E98 { /// Buyer
        "BY" => By, "SE" => Se, }
);
crate::code_enum!(
    /// **248** Indicator
    ///
    /// - Data element: 248
    /// - Type: Identifier (ID)
    /// - Length: min 1, max 1
    ///
    /// Indicator. Code values verified against a reference.
    E248 { "A" => A }
);
"#;

const SEGMENTS: &str = r#"
/// N1 - Name
///
/// REF | ID | NAME | REPEAT | REQ | TYPE | MIN/MAX
/// ----|----|------|--------|-----|------|--------
/// 01 | 98 | Entity Identifier Code | 1 | M | ID | 2/3
/// 02 | 93 | Name | >1 | X | AN | 1/60
/// 03 | 98 | Another thing under a wrong number | 1 | O | AN | 1/5
/// 04 | C001 | Composite Unit of Measure | 1 | O | | 1/1
pub struct N1 {
    #[serde(rename = "01")]
    pub _01: crate::v005010::element::E98,
    pub _02: Option<String>, pub _03: Option<String>, pub _04: Option<String>,
}
/// SAC - Service
pub struct SAC {
    /// 248 - Indicator
    pub _01: crate::v005010::element::E248,
    pub _02: Option<String>,
}
pub struct ST { pub _01: String } pub struct SE { pub _01: String }
"#;

fn import(set: &str) -> Result<quayline_dictionary::Imported, quayline_core::Findings> {
    let files = [ELEMENTS, SEGMENTS, set].map(|text| SourceText::new("file.rs", text));
    X12Types::new("005010", &files, None)?.import()
}

fn check(set: &str, expected: Expect) {
    let seen = match import(set) {
        Err(findings) => findings.to_string(),
        Ok(imported) => {
            let guide = |guide: &quayline_edi::guide::Guide| {
                format!("{} {:?} {:?}\n{}", guide.name, guide.title, guide.functional_group, crate::body(guide))
            };
            imported.guides.iter().map(guide).collect()
        }
    };
    expected.assert_eq(&seen);
}

const SET: &str = "
    /// 850 - Purchase Order
    pub struct _850 { pub st: ST, pub n1: N1, pub loop_sac: Vec<_850LoopSac>, pub se: SE }
    pub struct _850LoopSac { pub sac: SAC, pub n1: Option<N1> }";

#[test]
fn sets_loops_tables_and_typed_fields() {
    check(
        SET,
        expect![[r#"
            850-005010 Some("Purchase Order") Some("PO")
            element 1018 R 1..15
            element 248 ID 1 "Indicator" codes 248
            element 355 ID 2
            element 649 R 1..10
            element 93 AN 1..60 "Name"
            element 98 ID 2..3 "Entity Identifier Code" codes 98
            element N103 AN 1..5 "Another thing under a wrong number"
            element SAC02 AN 1..4096

            composite C001
              355 M
              1018 O
              649 O
              355 O
              1018 O
              649 O
              355 O
              1018 O
              649 O
              355 O
              1018 O
              649 O
              355 O
              1018 O
              649 O

            segment N1 "Name"
              98 M
              93 O repeat *
              N103 O
              C001 O

            segment SAC "Service"
              248 M
              SAC02 O repeat *

            codes 248 "Indicator"
              A

            codes 98 "Entity Identifier Code" open
              BY "Buyer"
              SE

            structure
              segment N1 M 1 position 20
              loop SAC O * position 30
                segment SAC M 1 position 10
                segment N1 O 1 position 20
        "#]],
    );
}

#[test]
fn what_is_not_told_is_taken_from_guides_of_the_version() {
    let other = r#"{ "name": "o", "standard": "X12", "version": "005010X1", "transaction": "850",
      "elements": { "248": { "type": "ID", "min": 1, "max": 1 }, "1300": { "type": "ID", "min": 4, "max": 4 } },
      "segments": { "SAC": { "elements": [ { "element": "248" }, { "element": "1300" } ], "notes": ["P0102", "R0203"] } },
      "structure": [ { "segment": "SAC" } ] }"#;
    let others = json::read_guides(SourceText::new("", other)).expect("a guide").guides;
    let mut guides = import(SET).expect("readable").guides;
    complete(&mut guides, &others);
    let body = crate::body(&guides[0]);
    let lines: String = body.lines().filter(|line| line.contains("1300") || line.contains("P0102")).collect();
    assert_eq!(lines, "element 1300 ID 4  1300 O repeat *  notes P0102");
    assert!(!body.contains("SAC02"));
}

#[test]
fn a_segment_that_is_not_defined_is_told() {
    check(
        "pub struct _850 { pub st: ST, pub zzz: Option<ZZZ> }",
        expect![[r#"
        error[DIC-011]: _850: neither a segment nor a loop is named ZZZ
          at file.rs:1:5
          |
        1 | pub struct _850 { pub st: ST, pub zzz: Option<ZZZ> }
          |     ^"#]],
    );
}

#[test]
fn a_cut_off_source_does_no_harm() {
    for text in [ELEMENTS, SEGMENTS, SET] {
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let files = [SourceText::new("file.rs", &text[..end])];
            let _ = X12Types::new("005010", &files, None).and_then(|types| types.import());
        }
    }
}
