use expect_test::{Expect, expect};
use quayline_dictionary::{SourceText, json};
use quayline_edi::Standard;
use quayline_edi::guide::{
    CodeEntry, CodeList, Codes, CompositeDef, DataType, Dictionary, ElementChange, ElementDef, ElementOf, ElementUse,
    Guide, HlLevel, Item, LoopUse, NoteKind, Qualifier, Requirement, Rule, SegmentDef, SegmentUse, SyntaxNote,
};

fn check(text: &str, expected: Expect) {
    let read = json::read_guides(SourceText::new("mine.json", text));
    let seen = match read {
        Err(findings) => findings.to_string(),
        Ok(imported) => imported.guides.iter().map(json::write_guide).collect(),
    };
    expected.assert_eq(&seen);
}

const WHOLE: &str = r#"{
  "name": "ORDERS-MINE", "title": "Orders", "standard": "EDIFACT", "version": "D:96A:UN", "transaction": "ORDERS",
  "elements": { "1001": { "type": "an", "min": 1, "max": 3, "codes": "1001" }, "1004": { "type": "an", "min": 1, "max": 35 } },
  "composites": { "C002": { "components": [ { "element": "1001", "requirement": "mandatory" } ], "notes": ["D0102", "N0102"] } },
  "segments": { "BGM": { "elements": [ { "composite": "C002" }, { "element": "1004", "repeat": "*" } ] } },
  "codes": { "1001": { "open": true, "codes": [ "220", { "value": "221", "name": "Blanket", "from": 20200101 } ] } },
  "structure": [
    { "segment": "BGM", "requirement": "mandatory", "where": { "element": 1, "component": 1, "values": ["220"] },
      "changes": [ { "element": 1, "component": 1, "codes": ["220"] }, { "element": 2, "codes": "*", "type": "n" } ] },
    { "loop": "SG1", "max": 99, "items": [ { "segment": "BGM" } ],
      "levels": [ { "code": "S", "top": true }, { "code": "O", "in": ["S"] } ] }
  ],
  "rules": [ { "name": "r", "expression": "BGM02 = BGM02" } ]
}"#;

#[test]
fn every_key_is_read_and_written() {
    check(
        WHOLE,
        expect![[r#"
        {
          "name": "ORDERS-MINE",
          "title": "Orders",
          "standard": "EDIFACT",
          "version": "D:96A:UN",
          "transaction": "ORDERS",
          "elements": {
            "1001": {
              "type": "an",
              "min": 1,
              "max": 3,
              "codes": "1001"
            },
            "1004": {
              "type": "an",
              "min": 1,
              "max": 35
            }
          },
          "composites": {
            "C002": {
              "components": [
                {
                  "element": "1001",
                  "requirement": "mandatory"
                }
              ],
              "notes": [
                "D0102",
                "N0102"
              ]
            }
          },
          "segments": {
            "BGM": {
              "elements": [
                {
                  "composite": "C002"
                },
                {
                  "element": "1004",
                  "repeat": "*"
                }
              ]
            }
          },
          "codes": {
            "1001": {
              "open": true,
              "codes": [
                "220",
                {
                  "value": "221",
                  "name": "Blanket",
                  "from": 20200101
                }
              ]
            }
          },
          "structure": [
            {
              "segment": "BGM",
              "requirement": "mandatory",
              "where": {
                "element": 1,
                "component": 1,
                "values": [
                  "220"
                ]
              },
              "changes": [
                {
                  "element": 1,
                  "component": 1,
                  "codes": [
                    "220"
                  ]
                },
                {
                  "element": 2,
                  "type": "n",
                  "codes": "*"
                }
              ]
            },
            {
              "loop": "SG1",
              "max": 99,
              "levels": [
                {
                  "code": "S",
                  "top": true
                },
                {
                  "code": "O",
                  "in": [
                    "S"
                  ]
                }
              ],
              "items": [
                {
                  "segment": "BGM"
                }
              ]
            }
          ],
          "rules": [
            {
              "name": "r",
              "at": "",
              "expression": "BGM02 = BGM02"
            }
          ]
        }
    "#]],
    );
}

#[test]
fn a_written_guide_reads_as_the_same() {
    let read = |text: &str| json::read_guides(SourceText::new("", text)).expect("a guide").guides;
    let guides = read(WHOLE);
    assert_eq!(read(&json::write_guide(&guides[0])), guides);
    assert_eq!(read(&format!("[{WHOLE},{WHOLE}]")).len(), 2);
}

/// Regression: the JSON form had no levels of HL segments. Each field differs here from its default, so that a lost one shows.
#[test]
fn no_field_of_a_guide_is_lost() {
    let text = || Some("text".to_owned());
    let notes = || vec![SyntaxNote { kind: NoteKind::OneOrMore, elements: vec![1, 2] }];
    let usage = |of| ElementUse { of, name: text(), requirement: Requirement::Mandatory, repeat: None };
    let change = |codes| ElementChange {
        element: 1,
        component: 2,
        name: text(),
        requirement: Some(Requirement::NotUsed),
        min: Some(2),
        max: Some(3),
        repeat: Some(4),
        codes: Some(codes),
        data_type: Some(DataType::Date),
    };
    let codes = vec![CodeEntry { value: "A".into(), name: text(), from: Some(20_200_101), until: Some(20_300_101) }];
    let segment = SegmentUse {
        tag: "HL".into(),
        id: text(),
        name: text(),
        requirement: Requirement::Mandatory,
        max: None,
        position: 10,
        qualifier: Some(Qualifier { element: 3, component: 1, values: vec!["S".into()] }),
        changes: vec![change(Codes::Any), change(Codes::List("x".into())), change(Codes::These(vec!["A".into()]))],
        notes: Some(notes()),
    };
    let guide = Guide {
        name: "n".into(),
        title: text(),
        standard: Standard::X12,
        version: "005010".into(),
        transaction: "856".into(),
        functional_group: text(),
        source: text(),
        dictionary: Dictionary {
            elements: [(
                "1".to_owned(),
                ElementDef { name: text(), data_type: DataType::Implied(2), min: 2, max: 3, codes: text() },
            )]
            .into(),
            composites: [(
                "C001".to_owned(),
                CompositeDef { name: text(), components: vec![usage(ElementOf::Element("1".into()))], notes: notes() },
            )]
            .into(),
            segments: [(
                "HL".to_owned(),
                SegmentDef { name: text(), elements: vec![usage(ElementOf::Composite("C001".into()))], notes: notes() },
            )]
            .into(),
            codes: [("x".to_owned(), CodeList { name: text(), codes, open: true })].into(),
        },
        structure: vec![Item::Loop(LoopUse {
            id: "HL".into(),
            name: text(),
            requirement: Requirement::Mandatory,
            repeat: Some(7),
            position: 20,
            levels: vec![HlLevel { code: "O".into(), top: true, within: vec!["S".into()] }],
            items: vec![Item::Segment(segment)],
        })],
        rules: vec![Rule {
            name: "r".into(),
            at: "HL".into(),
            expression: "1 = 1".into(),
            message: text(),
            warning: true,
        }],
    };
    let read = json::read_guides(SourceText::new("", &json::write_guide(&guide))).expect("a guide").guides;
    assert_eq!(read, [guide]);
}

#[test]
fn all_faults_of_a_description_are_told_at_once() {
    check(
        r#"{ "name": "x", "standard": "X12", "version": "005010", "transaction": "850",
          "elements": { "1": { "type": "Q", "min": 3, "max": 2 } },
          "segments": { "N1": { "elements": [ {} ], "notes": ["P01"] } },
          "structure": [ { "segment": "N1", "items": [ { "segment": "N1" } ], "levels": [ { "code": "S", "top": true } ] },
            { "loop": "N1", "levels": [ { "code": "S" } ] }, { } ] }"#,
        expect![[r#"
            error[DIC-010]: `type` is not one of AN, ID, N0 to N9, R, DT, TM, B, a, an, n
              at mine.json, elements.1

            error[DIC-010]: min is 3, more than max, 2
              at mine.json, elements.1

            error[DIC-010]: expected either `element` or `composite`
              at mine.json, segments.N1.elements[0]

            error[DIC-010]: not a syntax note: expected one of the letters P, R, E, C, L, D, N and two or more numbers of two digits
              at mine.json, segments.N1

            error[DIC-010]: a segment has `items`, which only loops have
              at mine.json, structure[0]

            error[DIC-010]: a segment has `levels`, which only loops have
              at mine.json, structure[0]

            error[DIC-010]: the first of a loop's `items` is not a segment: expected the one that begins it
              at mine.json, structure[1]

            error[DIC-010]: level S has neither `top` nor `in`, its parent levels
              at mine.json, structure[1]

            error[DIC-010]: expected either `segment` or `loop`
              at mine.json, structure[2]"#]],
    );
}

#[test]
fn unknown_keys_are_refused_at_their_place() {
    check(
        r#"{ "name": "x", "standart": "X12" }"#,
        expect![[r#"
        error[DIC-002]: not a guide in JSON: unknown field `standart`, expected one of `name`, `title`, `standard`, `version`, `transaction`, `group`, `source`, `elements`, `composites`, `segments`, `codes`, `structure`, `rules`
          at mine.json:1:25
          |
        1 | { "name": "x", "standart": "X12" }
          |                         ^"#]],
    );
    check(
        r#"{ "name": "x", "standard": "X13" }"#,
        expect![[r#"
        error[DIC-002]: not a guide in JSON: unknown variant `X13`, expected `X12` or `EDIFACT`
          at mine.json:1:32
          |
        1 | { "name": "x", "standard": "X13" }
          |                                ^"#]],
    );
    check(
        "{",
        expect![[r#"
        error[DIC-002]: not a guide in JSON: EOF while parsing an object
          at mine.json:1:1
          |
        1 | {
          | ^"#]],
    );
}
