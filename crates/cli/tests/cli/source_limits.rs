//! Documents of a source are checked against the limits of their JSON Schema, XML schema or outline.

use crate::world::World;

/// Translates documents with a map that reads little of them. Returns the output and the findings on standard error.
fn translate(files: &[(&str, &str)], source: &str, input: &str, code: i32) -> (String, String) {
    let world = World::new();
    for (name, text) in files {
        world.write(name, *text);
    }
    world.write("out.shape", "row\n  id? text(99)\n");
    world.write("m.qmap", format!("source \"{source}\"\ntarget row \"out.shape\"\n\nid = id\n"));
    world.write("in", input);
    let ran = world.run("translate in --map m.qmap --to jsonl -o out.jsonl --rejects in.rejects");
    let err = ran.code(code).err().to_owned();
    (String::from_utf8(world.read("out.jsonl")).expect("UTF-8"), err)
}

/// Checks that standard error has these findings, each `CODE: message` with its place, and no more.
fn check(err: &str, findings: &[(&str, &str)]) {
    for (finding, place) in findings {
        assert!(err.contains(&format!("error[{finding}\n  at {place}")), "{finding} at {place}: {err}");
    }
    assert_eq!(err.matches("error[").count(), findings.len(), "{err}");
}

const SCHEMA: &str = r#"{"type": "object", "required": ["id", "qty", "ship"], "properties": {
  "id": {"type": "string", "maxLength": 3},
  "qty": {"type": ["integer", "null"], "minimum": 0, "maximum": 99},
  "price": {"type": "number", "multipleOf": 0.01, "exclusiveMinimum": 0},
  "kind": {"enum": ["A", "BB"]},
  "ship": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "maxLength": 2}}},
  "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "maxLength": 4}}}}"#;

/// `required`, `maxLength`, bounds and `maxItems` had no effect on the documents of a source.
#[test]
fn json_documents_have_what_their_schema_requires() {
    let good = "{\"ship\":{\"city\":\"Ü€\"},\"qty\":9.9e1,\"id\":\"\\u00e4bc\",\"kind\":\"CCC\"}\n\
                {\"id\":\"\",\"qty\":null,\"price\":0.0100,\"ship\":{\"city\":\"\"},\"tags\":[\"\",\"1234\"]}\n\
                {\"id\":\"b\",\"qty\":-0,\"price\":1e30,\"ship\":{\"city\":\"\"},\"tags\":null}\n";
    let bad = "{\"qty\":12345}\n{\"id\":\"abcd\",\"qty\":1e2,\"price\":0,\"ship\":{},\"tags\":[]}\n";
    let (out, err) = translate(&[("s.json", SCHEMA)], "s.json", &format!("{good}{bad}"), 1);
    assert_eq!(out, "{\"id\":\"äbc\"}\n{\"id\":\"\"}\n{\"id\":\"b\"}\n", "{err}");
    check(
        &err,
        &[
            ("JSON-016]: a mandatory member is missing", "in:4:1, record 4, byte 205, $.id"),
            ("JSON-016]: a mandatory member is missing", "in:4:1, record 4, byte 205, $.ship"),
            ("JSON-018]: the number is greater than 99 (1 more like this one)", "in:4:8, record 4, byte 212, $.qty"),
            ("JSON-017]: the text has more than 3 characters", "in:5:7, record 5, byte 225, $.id"),
            ("JSON-018]: the number is not greater than 0", "in:5:32, record 5, byte 250, $.price"),
            ("JSON-016]: a mandatory member is missing", "in:5:41, record 5, byte 259, $.ship.city"),
            ("JSON-019]: the list has fewer than 1 occurrence", "in:5:51, record 5, byte 269, $.tags"),
        ],
    );
    let bad = "[{\"id\":null,\n \"qty\":1.5,\"price\":0.001,\"ship\":{\"city\":\"abc\"},\n \"tags\":[\"a\",\"b\",\"12345\"]}]\n";
    let (_, more) = translate(&[("s.json", SCHEMA)], "s.json", bad, 1);
    check(
        &more,
        &[
            ("JSON-016]: a mandatory value is null", "in:1:8, record 1, byte 7, $.id"),
            ("JSON-018]: the number is not an integer", "in:2:8, record 1, byte 20, $.qty"),
            ("JSON-018]: the number has more than 2 digits after the point", "in:2:20, record 1, byte 32, $.price"),
            ("JSON-017]: the text has more than 2 characters", "in:2:41, record 1, byte 53, $.ship.city"),
            ("JSON-019]: the list has more than 2 occurrences", "in:3:9, record 1, byte 69, $.tags"),
            ("JSON-017]: the text has more than 4 characters", "in:3:18, record 1, byte 78, $.tags[2]"),
        ],
    );
    for hint in ["remove it from `required` if documents may omit it", "raise `maxLength` in the schema"] {
        assert!(err.contains(hint), "{hint}: {err}");
    }
    for value in ["abcd", "12345", "0.001"] {
        assert!(!err.contains(value) && !more.contains(value), "a finding shows a value: {err}{more}");
    }
}

/// Null items of a list were accepted and lost, although the schema of the items does not allow null.
#[test]
fn items_of_json_lists_are_null_only_if_the_schema_allows_it() {
    let schema = r#"{"type": "object", "properties": {"id": {"type": "string"},
      "tags": {"type": "array", "minItems": 2, "items": {"type": "string"}},
      "open": {"type": "array", "items": {"type": ["integer", "null"]}},
      "old": {"type": "array", "items": {"type": "integer", "nullable": true}}}}"#;
    let input = "{\"id\":\"1\",\"tags\":[\"a\",\"b\"],\"open\":[1,null],\"old\":[null]}\n{\"id\":\"2\",\"tags\":[\"a\",null,\"b\"]}\n";
    let (out, err) = translate(&[("s.json", schema)], "s.json", input, 1);
    assert_eq!(out, "{\"id\":\"1\"}\n", "{err}");
    check(&err, &[("JSON-016]: a mandatory value is null", "in:2:23, record 2, byte 79, $.tags[1]")]);
    // An outline cannot say whether items are null: an empty repetition of EDIFACT is null.
    let outline = "order\n  id text\n  tags* text\n";
    let (out, err) = translate(&[("s.shape", outline)], "s.shape", "{\"id\":\"2\",\"tags\":[\"a\",null]}\n", 0);
    assert_eq!(out, "{\"id\":\"2\"}\n", "{err}");
}

/// Parts of `allOf` and keywords next to `$ref` narrow the limits, and alternatives widen them.
#[test]
fn combined_schemas_combine_their_limits() {
    let schema = r##"{"type": "object", "required": ["id"], "properties": {
      "id": {"$ref": "#/$defs/id", "maxLength": 5},
      "n": {"allOf": [{"$ref": "#/$defs/n"}, {"maximum": 50}, {"exclusiveMinimum": 1}]},
      "wide": {"oneOf": [{"type": "integer", "maximum": 5}, {"type": "number", "maximum": 7.5, "minimum": 0}]},
      "list": {"$ref": "#/$defs/list", "minItems": 2},
      "old": {"type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
      "great": {"type": "number", "maximum": 99999999999999999999999999999999999999}},
      "$defs": {"id": {"type": "string", "maxLength": 9}, "n": {"type": "integer", "minimum": 0, "maximum": 99},
        "list": {"type": "array", "maxItems": 3, "items": {"type": "integer"}}}}"##;
    let good = "{\"id\":\"12345\",\"n\":2,\"wide\":7.5,\"list\":[1,2],\"old\":2}\n\
                {\"id\":\"1\",\"n\":50,\"wide\":-1000,\"list\":[1,2,3],\"old\":9,\"great\":99999999999999999999999999999999999999}\n";
    let bad = "{\"id\":\"123456\",\"n\":1,\"wide\":7.50000000000000000000000000001,\"list\":[1],\"old\":1}\n\
               {\"id\":\"1\",\"n\":51,\"great\":99999999999999999999999999999999999999.1}\n";
    let (out, err) = translate(&[("s.json", schema)], "s.json", &format!("{good}{bad}"), 1);
    assert_eq!(out.lines().count(), 2, "{err}");
    for finding in [
        "JSON-017]: the text has more than 5 characters\n  at in:3:",
        "JSON-018]: the number is not greater than 1\n  at in:3:",
        "JSON-018]: the number is greater than 7.5\n  at in:3:",
        "JSON-019]: the list has fewer than 2 occurrences\n  at in:3:",
        "JSON-018]: the number is greater than 50\n  at in:4:",
        "JSON-018]: the number is greater than 99999999999999999999999999999999999999\n  at in:4:",
    ] {
        assert!(err.contains(finding), "{finding}: {err}");
    }
    assert_eq!(err.matches("error[").count(), 7, "{err}");
}

const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:simpleType name="id"><xs:restriction base="xs:token"><xs:maxLength value="3"/></xs:restriction></xs:simpleType>
  <xs:simpleType name="money"><xs:restriction base="xs:decimal">
    <xs:totalDigits value="5"/><xs:fractionDigits value="2"/><xs:minExclusive value="-10"/></xs:restriction></xs:simpleType>
  <xs:element name="order"><xs:complexType><xs:sequence>
    <xs:element name="id" type="id"/>
    <xs:element name="qty" type="xs:unsignedByte" nillable="true"/>
    <xs:element name="price" minOccurs="0"><xs:complexType><xs:simpleContent><xs:extension base="money">
      <xs:attribute name="currency" use="required"><xs:simpleType><xs:restriction base="xs:string"><xs:length value="3"/></xs:restriction></xs:simpleType></xs:attribute>
    </xs:extension></xs:simpleContent></xs:complexType></xs:element>
    <xs:element name="tag" type="xs:string" minOccurs="2" maxOccurs="3"/>
    <xs:choice><xs:element name="a" type="xs:int"/><xs:element name="b" type="xs:positiveInteger"/></xs:choice>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>"#;

#[test]
fn xml_records_have_what_their_schema_requires() {
    let run = |record: &str, code| translate(&[("s.xsd", XSD)], "s.xsd", &format!("<order>{record}</order>\n"), code);
    let good = "<id> a\n b </id><qty>255</qty><price currency=\"EUR\">0999.990</price><tag/><tag>x</tag><b>1</b>";
    assert_eq!(run(good, 0).0, "{\"id\":\"a b\"}\n");
    let nil = "<id>ä&#223;&lt;</id><qty xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"true\"/><tag/><tag/><tag/><a>-2147483648</a>";
    assert_eq!(run(nil, 0).0, "{\"id\":\"äß<\"}\n");
    let (out, err) = run("<id>abcd</id><price>10</price><tag>1</tag><a>2147483648</a>", 1);
    assert_eq!(out, "");
    check(
        &err,
        &[
            ("XML-032]: a mandatory element or attribute is missing", "in:1:1, record 1, byte 0, qty"),
            ("XML-033]: the text has more than 3 characters", "in:1:8, record 1, byte 0, id"),
            ("XML-032]: a mandatory element or attribute is missing", "in:1:21, record 1, byte 0, price.@currency"),
            ("XML-035]: the list has fewer than 2 occurrences", "in:1:38, record 1, byte 0, tag"),
            ("XML-034]: the number is greater than 2147483647", "in:1:50, record 1, byte 0, a"),
        ],
    );
    let (_, err) = run(
        "<id xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"true\"/>\n<qty>256</qty>\n<price currency=\"EURO\">-10</price><tag/><tag/><tag/><tag/><b>0</b>",
        1,
    );
    check(
        &err,
        &[
            ("XML-032]: a mandatory value is null", "in:1:8, record 1, byte 0, id"),
            ("XML-034]: the number is greater than 255", "in:2:1, record 1, byte 0, qty"),
            ("XML-033]: the text has more than 3 characters", "in:3:1, record 1, byte 0, price.@currency"),
            ("XML-034]: the number is not greater than -10", "in:3:1, record 1, byte 0, price.$text"),
            ("XML-035]: the list has more than 3 occurrences", "in:3:35, record 1, byte 0, tag"),
            ("XML-034]: the number is less than 1", "in:3:59, record 1, byte 0, b"),
        ],
    );
    for (price, message) in
        [("100.001", "2 digits after the point"), ("1000.01", "5 digits"), ("0.001", "2 digits after")]
    {
        let record = format!("<id/><qty>1</qty><price currency=\"EUR\">{price}</price><tag/><tag/><a>1</a>");
        let (_, err) = run(&record, 1);
        assert!(err.contains(&format!("XML-034]: the number has more than {message}")), "{price}: {err}");
    }
    let (_, err) = run("<id/><qty>1</qty><a>1</a>", 1);
    check(&err, &[("XML-032]: a mandatory element or attribute is missing", "in:1:1, record 1, byte 0, tag")]);
}

const OUTLINE: &str = "order\n  id text(3)\n  plain decimal\n  total? decimal(5,2)\n  count? unsigned\n  key? bytes(2)\n  lines*1..2\n    sku text\n";

#[test]
fn documents_have_what_their_outline_states() {
    let good = "{\"id\":\"äöü\",\"plain\":12345678901234567890.12345,\"total\":-999.990,\"count\":-0,\"key\":\"00ff\",\"lines\":[{\"sku\":\"x\"}]}\n";
    let bad = "{\"id\":\"abcd\",\"total\":1000,\"count\":-1,\"key\":\"00ff00\",\"lines\":[{},{\"sku\":null},{\"sku\":\"\"}]}\n\
               {\"id\":\"a\",\"plain\":1,\"total\":1e-3}\n";
    let (out, err) = translate(&[("s.shape", OUTLINE)], "s.shape", &format!("{good}{bad}"), 1);
    assert_eq!(out, "{\"id\":\"äöü\"}\n", "{err}");
    check(
        &err,
        &[
            ("JSON-016]: a mandatory member is missing", "in:2:1, record 2, byte 114, $.plain"),
            ("JSON-017]: the text has more than 3 characters", "in:2:7, record 2, byte 120, $.id"),
            ("JSON-018]: the number has more than 3 digits before the point", "in:2:22, record 2, byte 135, $.total"),
            ("JSON-018]: the number is less than 0", "in:2:35, record 2, byte 148, $.count"),
            ("JSON-017]: the value has more than 2 bytes", "in:2:44, record 2, byte 157, $.key"),
            ("JSON-019]: the list has more than 2 occurrences", "in:2:61, record 2, byte 174, $.lines"),
            ("JSON-016]: a mandatory member is missing", "in:2:62, record 2, byte 175, $.lines[0].sku"),
            ("JSON-016]: a mandatory value is null", "in:2:72, record 2, byte 185, $.lines[1].sku"),
            ("JSON-016]: a mandatory member is missing", "in:3:1, record 3, byte 204, $.lines"),
            ("JSON-018]: the number has more than 2 digits after the point", "in:3:29, record 3, byte 232, $.total"),
        ],
    );
    assert!(err.contains("write `?` or `*` after its name"), "{err}");
}

/// Regression: a negative scale refused the largest values of its type, and more decimals than digits were not checked.
#[test]
fn scales_beyond_the_digits_have_their_values() {
    let outline = "order\n  id text\n  a? decimal(3,-2)\n  b? unsigned(4,-1)\n  c? decimal(2,5)\n";
    let good =
        "{\"id\":\"1\",\"a\":99900,\"b\":99990,\"c\":0.00099}\n{\"id\":\"2\",\"a\":-1200,\"b\":0,\"c\":-0.00001}\n";
    let bad = "{\"id\":\"3\",\"a\":100000,\"b\":100000,\"c\":0.001}\n{\"id\":\"4\",\"a\":0.1,\"b\":-10,\"c\":-0.001}\n";
    let (out, err) = translate(&[("s.shape", outline)], "s.shape", &format!("{good}{bad}"), 1);
    assert_eq!(out, "{\"id\":\"1\"}\n{\"id\":\"2\"}\n", "{err}");
    for told in ["more than 5 digits before the point", "$.c", "not an integer", "less than 0"] {
        assert!(err.contains(told), "{told}: {err}");
    }
    assert_eq!(err.matches("error[JSON-018]").count(), 6, "{err}");
}

/// Occurrences in a group that repeats had no limit.
#[test]
fn xml_elements_occur_as_often_as_their_groups_allow() {
    let schema = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r"><xs:complexType><xs:sequence>
      <xs:element name="id" type="xs:string"/>
      <xs:sequence minOccurs="0" maxOccurs="2"><xs:element name="a" type="xs:string" maxOccurs="2"/></xs:sequence>
      <xs:element name="b" type="xs:string" minOccurs="0"/><xs:element name="b" type="xs:string" minOccurs="0"/>
    </xs:sequence></xs:complexType></xs:element></xs:schema>"#;
    let input = "<r><id>1</id></r>\n<r><id>2</id><a/><a/><a/><a/><b/><b/></r>\n<r><id>3</id><a/><a/><a/><a/><a/><b/><b/><b/></r>\n";
    let (out, err) = translate(&[("s.xsd", schema)], "s.xsd", input, 1);
    assert_eq!(out, "{\"id\":\"1\"}\n{\"id\":\"2\"}\n", "{err}");
    for message in ["XML-035]: the list has more than 4 occurrences", "XML-035]: the list has more than 2 occurrences"]
    {
        assert!(err.contains(message), "{message}: {err}");
    }
    assert_eq!(err.matches("error[").count(), 2, "{err}");
}
