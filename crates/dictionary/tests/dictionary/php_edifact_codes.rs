use expect_test::expect;
use quayline_dictionary::php_edifact::CodeLists;
use quayline_dictionary::{SourceText, json};

const CODES: &str = r#"<data_elements>
  <data_element id="1001"><code id="220" desc="Order"/><code id="221" desc="Blanket order"/><code id="221" desc="again"/></data_element>
  <data_element id="3035"><code id="BY" desc="Buyer"/></data_element>
  <data_element id="9999"><code id="1" desc="not in the guide"/></data_element>
</data_elements>"#;

const GUIDE: &str = r#"{ "name": "ORDERS", "standard": "EDIFACT", "version": "D:96A:UN", "transaction": "ORDERS",
  "elements": { "1001": { "type": "an", "min": 1, "max": 3, "codes": "1001" }, "3035": { "type": "an", "min": 1, "max": 3 } },
  "codes": { "1001": { "codes": [ "220", "380" ] } },
  "segments": { "BGM": { "elements": [ { "element": "1001" }, { "element": "3035" } ] } },
  "structure": [ { "segment": "BGM" } ] }"#;

#[test]
fn lists_are_merged_into_a_guide() {
    let lists = CodeLists::read(SourceText::new("codes.xml", CODES)).expect("readable");
    let mut guide = json::read_guides(SourceText::new("", GUIDE)).expect("a guide").guides.remove(0);
    assert_eq!(lists.merge_into(&mut guide), 1);
    expect![[r#"
        element 1001 an..3 codes 1001
        element 3035 an..3 codes 3035

        segment BGM
          1001 O
          3035 O

        codes 1001
          220 "Order"
          380
          221 "Blanket order"

        codes 3035
          BY "Buyer"

        structure
          segment BGM O 1
    "#]]
    .assert_eq(&crate::body(&guide));
}

#[test]
fn other_files_are_refused() {
    for text in ["<x/>", "<data_elements><data_element/></data_elements>"] {
        assert!(CodeLists::read(SourceText::new("codes.xml", text)).is_err());
    }
}
