use expect_test::{Expect, expect};
use quayline_dictionary::{SourceText, json};

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
    { "loop": "SG1", "max": 99, "items": [ { "segment": "BGM" } ] }
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

#[test]
fn all_faults_of_a_description_are_told_at_once() {
    check(
        r#"{ "name": "x", "standard": "X12", "version": "005010", "transaction": "850",
          "elements": { "1": { "type": "Q", "min": 3, "max": 2 } },
          "segments": { "N1": { "elements": [ {} ], "notes": ["P01"] } },
          "structure": [ { "segment": "N1", "items": [ { "segment": "N1" } ] }, { "loop": "N1" }, { } ] }"#,
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

            error[DIC-010]: the first of a loop's `items` is not a segment: expected the one that begins it
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
