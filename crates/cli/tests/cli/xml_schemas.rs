//! XML output of maps is valid by its schema, with any namespaces: an independent reader confirms it.

use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};

use crate::world::World;

/// Writes one document by a schema, and has it validated by Java's own reader.
fn check(files: &[(&str, &str)], map: &str, expected: Expect) {
    let world = World::new();
    world.write("in.shape", "in\n  id text(9)\n  amount decimal(9,2)\n  lines*\n    sku text(9)\n");
    for (name, text) in files {
        world.write(name, *text);
    }
    let map = format!("source \"in.shape\"\ntarget order \"order.xsd\"\n{map}");
    world.write("order.qmap", map);
    let input = br#"{"id":"A1","amount":12.5,"lines":[{"sku":"x"},{"sku":"y"}]}"#;
    let ran = world.run_with("translate --map order.qmap - -o order.xml --quiet", input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr.escape_ascii());
    expected.assert_eq(&String::from_utf8(world.read("order.xml")).expect("UTF-8"));
    let validator = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/ValidateXml.java");
    let java = Command::new("java").arg(validator).arg(world.path("order.xsd")).arg(world.path("order.xml")).output();
    match java {
        Ok(done) => assert!(done.status.success(), "{}", done.stderr.escape_ascii()),
        Err(error) => eprintln!("skipped: xml_schemas: java: {error}"),
    }
}

const PARTS: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:parts" xmlns:p="urn:parts" elementFormDefault="FORM">
  <xs:attribute name="unit" type="xs:string"/>
  <xs:element name="amount"><xs:complexType><xs:simpleContent><xs:extension base="p:money"><xs:attribute ref="p:unit"/><xs:attribute name="kind" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>
  <xs:simpleType name="money"><xs:restriction base="xs:decimal"><xs:totalDigits value="9"/><xs:fractionDigits value="2"/></xs:restriction></xs:simpleType>
  <xs:complexType name="line"><xs:sequence><xs:element name="sku" type="xs:string"/></xs:sequence></xs:complexType>
  <xs:simpleType name="string"><xs:restriction base="xs:string"><xs:maxLength value="2"/></xs:restriction></xs:simpleType>
</xs:schema>"#;

const ORDER: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:q="urn:parts" xmlns:o="urn:order" targetNamespace="urn:order" elementFormDefault="FORM">
  <xs:import namespace="urn:parts" schemaLocation="parts.xsd"/>
  <xs:element name="order"><xs:complexType><xs:sequence>
    <xs:element name="id" type="xs:string"/>
    <xs:element ref="q:amount"/>
    <xs:element name="line" type="q:line" maxOccurs="unbounded"/>
  </xs:sequence><xs:attribute name="version" type="xs:string"/></xs:complexType></xs:element>
</xs:schema>"#;

const MAP: &str = "@version = \"1\"\nid = id\namount.$text = amount\namount.'@unit' = \"EUR\"\namount.'@kind' = \"net\"\nfor lines make line { sku = sku }\n";

fn of(form: &str, text: &str) -> String {
    text.replace("FORM", form)
}

#[test]
fn all_elements_are_in_namespaces() {
    check(
        &[("parts.xsd", &of("qualified", PARTS)), ("order.xsd", &of("qualified", ORDER))],
        MAP,
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <order xmlns="urn:order" xmlns:ns2="urn:parts" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="1"><id>A1</id><ns2:amount ns2:unit="EUR" kind="net">12.5</ns2:amount><line><ns2:sku>x</ns2:sku></line><line><ns2:sku>y</ns2:sku></line></order>
    "#]],
    );
}

#[test]
fn elements_are_in_none_where_they_are_local() {
    check(
        &[("parts.xsd", &of("unqualified", PARTS)), ("order.xsd", &of("unqualified", ORDER))],
        MAP,
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <ns:order xmlns:ns="urn:order" xmlns:ns2="urn:parts" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="1"><id>A1</id><ns2:amount ns2:unit="EUR" kind="net">12.5</ns2:amount><line><sku>x</sku></line><line><sku>y</sku></line></ns:order>
    "#]],
    );
    check(
        &[("parts.xsd", &of("qualified", PARTS)), ("order.xsd", &of("unqualified", ORDER))],
        MAP,
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <ns:order xmlns:ns="urn:order" xmlns:ns2="urn:parts" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="1"><id>A1</id><ns2:amount ns2:unit="EUR" kind="net">12.5</ns2:amount><line><ns2:sku>x</ns2:sku></line><line><ns2:sku>y</ns2:sku></line></ns:order>
    "#]],
    );
}

#[test]
fn a_schema_without_a_namespace_imports_one_and_is_included_in_one() {
    let bare = ORDER.replace(" xmlns:o=\"urn:order\" targetNamespace=\"urn:order\"", "");
    check(
        &[("parts.xsd", &of("qualified", PARTS)), ("order.xsd", &of("qualified", &bare))],
        MAP,
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <order xmlns:ns="urn:parts" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="1"><id>A1</id><ns:amount ns:unit="EUR" kind="net">12.5</ns:amount><line><ns:sku>x</ns:sku></line><line><ns:sku>y</ns:sku></line></order>
    "#]],
    );
    let around = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:o" targetNamespace="urn:o" elementFormDefault="qualified">
      <xs:include schemaLocation="types.xsd"/>
      <xs:import namespace="http://www.w3.org/XML/1998/namespace" schemaLocation="xml.xsd"/>
      <xs:element name="order"><xs:complexType><xs:sequence><xs:element name="id" type="id"/><xs:element name="open" form="unqualified" type="xs:decimal"/></xs:sequence><xs:attribute ref="xml:lang"/></xs:complexType></xs:element>
    </xs:schema>"#;
    let types = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:simpleType name="id"><xs:restriction base="xs:string"><xs:maxLength value="9"/></xs:restriction></xs:simpleType></xs:schema>"#;
    let xml = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://www.w3.org/XML/1998/namespace"><xs:attribute name="lang" type="xs:language"/></xs:schema>"#;
    let map = "@lang = \"de\"\nid = id\nopen = amount\n";
    check(
        &[("types.xsd", types), ("xml.xsd", xml), ("order.xsd", around)],
        map,
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <ns:order xmlns:ns="urn:o" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xml:lang="de"><ns:id>A1</ns:id><open>12.5</open></ns:order>
    "#]],
    );
}

#[test]
fn one_name_in_two_namespaces_is_refused() {
    let world = World::new();
    world.write("parts.xsd", of("qualified", PARTS));
    world.write("order.xsd", of("qualified", ORDER).replace("name=\"id\"", "name=\"amount\""));
    world.write("in.shape", "in\n  id text(9)\n");
    world.write("order.qmap", "source \"in.shape\"\ntarget order \"order.xsd\"\n");
    world.run("map check order.qmap").check(expect![[r#"
        exit 2
        --- stdout
        order.qmap: 1 error, 1 note; it cannot run
        --- stderr
        error[SHP-005]: `amount` occurs in two namespaces
          at order.xsd:5:5
          |
        5 |     <xs:element ref="q:amount"/>
          |     ^

        hint: give both different names

        note[SHP-006]: `totalDigits of numbers with decimals` is not checked in documents that are written
          at parts.xsd:4:65
          |
        4 |   <xs:simpleType name="money"><xs:restriction base="xs:decimal"><xs:totalDigits value="9"/><xs:fractionDigits value="2"/></xs:restriction></xs:simpleType>
          |                                                                 ^
    "#]]);
}

/// Reads documents by a schema: each as JSON, or the first line of its findings.
fn read(body: &str, out: &str, map: &str, documents: &[&str]) -> String {
    let world = World::new();
    let schema = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:xml=\"http://www.w3.org/XML/1998/namespace\">{body}</xs:schema>"
    );
    world.write("in.xsd", schema);
    world.write("out.shape", out);
    world.write("in.qmap", format!("source \"in.xsd#doc\"\ntarget out \"out.shape\"\n{map}"));
    let mut all = String::new();
    for document in documents {
        let ran = world.run_with("translate --map in.qmap - --quiet", document.as_bytes());
        let text = String::from_utf8(if ran.code == Some(0) { ran.stdout } else { ran.stderr }).expect("UTF-8");
        let is_shown = |line: &&str| line.starts_with('{') || line.starts_with("error");
        all.push_str(text.lines().find(is_shown).unwrap_or_default());
        all.push('\n');
    }
    all
}

/// `xml:lang` was a field of the shape and never had a value.
#[test]
fn attributes_of_xml_are_read_where_the_schema_has_them() {
    let body = r#"<xs:element name="doc"><xs:complexType><xs:sequence><xs:element name="a" minOccurs="0"><xs:complexType><xs:simpleContent><xs:extension base="xs:string"><xs:attribute ref="xml:lang"/></xs:extension></xs:simpleContent></xs:complexType></xs:element></xs:sequence><xs:attribute name="lang" type="xs:string"/></xs:complexType></xs:element>"#;
    let out = "out\n  doc? text\n  lang? text\n  a? text\n";
    let map = "doc = @lang\nlang = a.@lang\na = a.$text\n";
    expect![[r#"
        {"lang":"de","a":"x"}
        {"doc":"en","a":"x"}
        {"doc":"en","lang":"de","a":"x"}
        {}
    "#]]
    .assert_eq(&read(
        body,
        out,
        map,
        &[
            "<doc><a xml:lang='de'>x</a></doc>",
            "<doc lang='en'><a xml:space='preserve'>x</a></doc>",
            "<doc xml:lang='fr' lang='en'><a xml:lang='de'>x</a></doc>",
            "<doc xml:base='http://x'/>",
        ],
    ));
}

/// A group that is null lost its attributes, and its content without a finding.
#[test]
fn a_group_that_is_null_has_attributes_and_no_content() {
    let body = r#"<xs:element name="doc"><xs:complexType><xs:sequence><xs:element name="g" nillable="true"><xs:complexType><xs:sequence><xs:element name="x" type="xs:string"/></xs:sequence><xs:attribute name="why" type="xs:string"/></xs:complexType></xs:element><xs:element name="z" type="xs:string"/></xs:sequence></xs:complexType></xs:element>"#;
    let out = "out\n  why? text\n  x? text\n  z? text\n";
    let map = "why = g.@why\nx = g.x\nz = z\n";
    let of = |g: &str| format!("<doc xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'>{g}<z>1</z></doc>");
    let documents = [
        "<g xsi:nil='true'/>",
        "<g xsi:nil='true' why='lost'> <!-- nothing --> </g>",
        "<g xsi:nil='true'><x>1</x></g>",
        "<g xsi:nil='true'><x/></g>",
        "<g xsi:nil='true' why='lost'>text</g>",
        "<g xsi:nil='false'><x>1</x></g>",
    ]
    .map(of);
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    expect![[r#"
        {"z":"1"}
        {"why":"lost","z":"1"}
        error[XML-027]: the element is null (nil) and has content
        error[XML-027]: the element is null (nil) and has content
        error[XML-027]: the element is null (nil) and has content
        {"x":"1","z":"1"}
    "#]]
    .assert_eq(&read(body, out, map, &documents));
}

/// Regression: default values of a schema were ignored.
#[test]
fn defaults_of_schemas_are_values() {
    let body = r#"<xs:element name="doc"><xs:complexType><xs:sequence><xs:element name="a" type="xs:int" default="7" minOccurs="0"/><xs:element name="b" default="kg"><xs:complexType><xs:simpleContent><xs:extension base="xs:string"><xs:attribute name="unit" type="xs:string" fixed="SI"/></xs:extension></xs:simpleContent></xs:complexType></xs:element></xs:sequence><xs:attribute name="v" type="xs:decimal" default="1.0"/></xs:complexType></xs:element>"#;
    let out = "out\n  a? decimal(9)\n  b? text\n  unit? text\n  v? decimal(9,2)\n";
    let map = "a = a\nb = b.$text\nunit = b.@unit\nv = fit(@v, 9, 2)\n";
    expect![[r#"
        {"a":7,"b":"kg","unit":"SI","v":1.0}
        {"b":"g","unit":"","v":2}
        {"a":3,"b":"g","unit":"SI","v":1.0}
    "#]]
    .assert_eq(&read(
        body,
        out,
        map,
        &["<doc><a/><b/></doc>", "<doc v='2'><b unit=''>g</b></doc>", "<doc><a>3</a><b>g</b></doc>"],
    ));
}

/// Regression: white space around a code was part of the code, although the schema collapses it.
#[test]
fn white_space_is_what_the_type_says() {
    let body = r#"<xs:element name="doc"><xs:complexType><xs:sequence><xs:element name="t" type="xs:token"/><xs:element name="n" type="xs:normalizedString"/><xs:element name="s" type="xs:string"/><xs:element name="d" type="xs:date"/><xs:element name="c" type="code"/></xs:sequence><xs:attribute name="i" type="xs:NMTOKEN"/></xs:complexType></xs:element>
      <xs:simpleType name="code"><xs:restriction base="xs:string"><xs:whiteSpace value="collapse"/><xs:maxLength value="3"/></xs:restriction></xs:simpleType>"#;
    let out = "out\n  t text\n  n text\n  s text\n  d text\n  c text\n  i text\n";
    let map = "t = t\nn = n\ns = s\nd = format(date(d, \"CCYY-MM-DD\"), \"CCYYMMDD\")\nc = c\ni = @i\n";
    expect![[r#"
        {"t":"A b c","n":" A  b ","s":" A\tb ","d":"20260131","c":"K 9","i":"x"}
    "#]]
    .assert_eq(&read(
        body,
        out,
        map,
        &["<doc i=' x '><t> A b\n\t c </t><n>\tA\n\nb </n><s> A\tb </s><d> 2026-01-31\n</d><c> K \n 9 </c></doc>"],
    ));
}

/// Numbers that a schema allows were refused.
#[test]
fn numbers_are_as_wide_as_their_schema_says() {
    let body = r#"<xs:element name="doc"><xs:complexType><xs:sequence><xs:element name="n" type="iso" maxOccurs="9"/><xs:element name="t" type="total"/><xs:element name="b" type="bounds" maxOccurs="9"/><xs:element name="h" type="hex"/></xs:sequence></xs:complexType></xs:element>
      <xs:simpleType name="iso"><xs:restriction base="xs:decimal"><xs:totalDigits value="18"/><xs:fractionDigits value="17"/></xs:restriction></xs:simpleType>
      <xs:simpleType name="total"><xs:restriction base="xs:decimal"><xs:totalDigits value="9"/></xs:restriction></xs:simpleType>
      <xs:simpleType name="bounds"><xs:restriction base="xs:integer"><xs:minInclusive value="-999"/><xs:maxInclusive value="9"/></xs:restriction></xs:simpleType>
      <xs:simpleType name="hex"><xs:restriction base="xs:hexBinary"><xs:length value="2"/></xs:restriction></xs:simpleType>"#;
    let out = "out\n  n* decimal(38,17)\n  t decimal(38,12)\n  b* decimal(9)\n  h text\n";
    let map = "for n make n = it\nt = t\nfor b make b = it\nh = h\n";
    expect![[r#"
        {"n":[12345.67,0.12345678901234567,210],"t":12345.67,"b":[-999,9],"h":"00fF"}
    "#]]
    .assert_eq(&read(
        body,
        out,
        map,
        &["<doc><n>12345.67</n><n>0.12345678901234567</n><n>210.</n><t>12345.67</t><b>-999</b><b>9</b><h>00fF</h></doc>"],
    ));
}

/// An element of a substitution group was not known in the place of its head.
#[test]
fn members_of_substitution_groups_come_in_the_place_of_their_head() {
    let body = r#"<xs:element name="doc"><xs:complexType><xs:sequence><xs:element ref="payment"/></xs:sequence></xs:complexType></xs:element>
      <xs:element name="payment" type="xs:string" abstract="true"/>
      <xs:element name="card" type="xs:string" substitutionGroup="payment"/>
      <xs:element name="visa" type="xs:string" substitutionGroup="card"/>"#;
    let out = "out\n  card? text\n  visa? text\n";
    expect![[r#"
        {"card":"1"}
        {"visa":"2"}
        error[XML-020]: the element payment is not known here
    "#]]
    .assert_eq(&read(
        body,
        out,
        "card = card\nvisa = visa\n",
        &["<doc><card>1</card></doc>", "<doc><visa>2</visa></doc>", "<doc><payment>3</payment></doc>"],
    ));
}

/// Regression: `xsi:type` was ignored. The content of a derived type was read only as far as its base declares it, and the type itself was lost.
#[test]
fn a_derived_type_is_read_where_its_base_has_all_of_it() {
    let body = r#"<xs:element name="doc"><xs:complexType><xs:sequence><xs:element name="shape" type="Shape" maxOccurs="9"/><xs:element name="n" type="xs:decimal" minOccurs="0"/></xs:sequence></xs:complexType></xs:element>
      <xs:complexType name="Shape"><xs:sequence><xs:element name="name" type="xs:string" minOccurs="0"/></xs:sequence></xs:complexType>
      <xs:complexType name="Named"><xs:complexContent><xs:restriction base="Shape"><xs:sequence><xs:element name="name" type="xs:string"/></xs:sequence></xs:restriction></xs:complexContent></xs:complexType>
      <xs:complexType name="Short"><xs:complexContent><xs:restriction base="Named"><xs:sequence><xs:element name="name" type="xs:token"/></xs:sequence></xs:restriction></xs:complexContent></xs:complexType>
      <xs:complexType name="Circle"><xs:complexContent><xs:extension base="Shape"><xs:sequence><xs:element name="radius" type="xs:decimal" minOccurs="0"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>
      <xs:complexType name="Money"><xs:simpleContent><xs:extension base="xs:decimal"><xs:attribute name="currency" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType>"#;
    let out = "out\n  names* text\n  n? decimal(9,2)\n";
    let map = "for shape make names = name\nn = n\n";
    let of = |body: &str| {
        format!(
            "<doc xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xmlns:i='http://www.w3.org/2001/XMLSchema-instance'>{body}</doc>"
        )
    };
    let documents = [
        of(
            "<shape xsi:type='Shape'><name>a</name></shape><shape i:type=' q:Named '><name>b</name></shape><shape i:type='Short'><name>c</name></shape><n i:type='xs:int'>7</n>",
        ),
        of("<shape i:type='Circle'><name>a</name></shape>"),
        of("<shape xsi:type='Circle'><name>a</name><radius>1</radius></shape>"),
        of("<shape><name>a</name></shape><n i:type='Money'>7</n>"),
        of("<shape i:nil='true'/>"),
        of("<shape i:nil='true'><name>a</name></shape>"),
    ];
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    expect![[r#"
        {"names":["a","b","c"],"n":7}
        error[XML-030]: the element has the type Circle (xsi:type), which the shape does not allow here
        error[XML-030]: the element has the type Circle (xsi:type), which the shape does not allow here
        error[XML-030]: the element has the type Money (xsi:type), which the shape does not allow here
        error[XML-031]: a group in a list, or the record, is null (xsi:nil)
        error[XML-031]: a group in a list, or the record, is null (xsi:nil)
    "#]]
    .assert_eq(&read(body, out, map, &documents));
}

/// `--unknown ignore` had an effect on JSON and columns only.
#[test]
fn unknown_elements_attributes_and_columns_are_ignored_on_request() {
    let world = World::new();
    world
        .write("s.xsd", "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"r\"><xs:complexType><xs:sequence><xs:element name=\"a\" type=\"xs:string\"/></xs:sequence></xs:complexType></xs:element></xs:schema>")
        .write("t.shape", "t\n  a? text(9)\n")
        .write("x.qmap", "source \"s.xsd\"\ntarget t \"t.shape\"\na = a\n")
        .write("c.qmap", "source \"s.shape\"\ntarget t \"t.shape\"\na = a\n")
        .write("s.shape", "s\n  a? text(9)\n")
        .write("in.xml", "<r zz=\"1\"><q><a>n</a></q><a zz=\"2\">x</a><q/></r>")
        .write("in.csv", "zz,a\n1,x\n");
    for line in ["translate in.xml -m x.qmap --to jsonl", "translate in.csv -m c.qmap --from csv --to jsonl"] {
        world.run(line).code(1);
        let ran = world.run(&format!("{line} --unknown ignore"));
        assert_eq!(ran.code(0).stdout, b"{\"a\":\"x\"}\n", "{line}");
        let said = ran.err();
        let of_csv = said.contains("note[FLAT-005]: 1 column of the header is left out");
        assert!(of_csv || said.contains("note[CNV-040]: 1 document has parts"), "{line}: {said}");
    }
    world.write("r.cpy", "       01 R.\n          05 A PIC X(3).\n");
    world.write("rows.xml", "<rows><record zz=\"1\"><A>x</A><ZZ>1</ZZ></record></rows>");
    let line = "convert rows.xml -c r.cpy -e ascii --to jsonl";
    world.run(line).code(1);
    assert_eq!(world.run(&format!("{line} --unknown ignore")).code(0).stdout, b"{\"A\":\"x\"}\n");
    world.write("rows.jsonl", "{\"A\":\"x\",\"ZZ\":{\"A\":1}}\n{\"A\":\"y\"}\n{\"B\":[1],\"C\":2}\n");
    let ran = world.run("convert rows.jsonl -c r.cpy -e ascii --to csv --unknown ignore");
    assert!(ran.code(0).err().contains("note[CNV-040]: 2 documents have parts"), "{}", ran.err());
}

const MARKS: &str = r#"<xs:element name="doc"><xs:complexType><xs:sequence>
    <xs:element name="t"><xs:complexType><xs:simpleContent><xs:extension base="xs:string"><xs:attribute name="escaped" type="xs:string"/><xs:attribute name="nil" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>
    <xs:element name="u" type="xs:string" minOccurs="0" nillable="true"/>
  </xs:sequence><xs:attribute name="a" type="xs:string"/></xs:complexType></xs:element>"#;

/// Documents of a schema had the marks of documents that Quayline writes itself: values changed or disappeared without a finding.
#[test]
fn documents_of_a_schema_have_no_marks_of_quayline() {
    let out = "out\n  t? text(20)\n  e? text(20)\n  n? text(20)\n  u? text(20)\n  a? text(20)\n";
    let map = "t = t.'$text'\ne = t.@escaped\nn = t.@nil\nu = u\na = @a\n";
    let of = |attribute: &str, t: &str, u: &str| {
        format!("<doc xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' {attribute}><t {t}>x</t><u {u}</doc>")
    };
    let documents = [
        of(
            "a='1'",
            "escaped='true' nil='true'",
            "xml:lang='de' xml:id='q' xml:space='preserve' xml:base='b' xsi:type='xs:string'>v</u>",
        ),
        of("xsi:schemaLocation='a b'", "", "xsi:nil='true'/>"),
        of("", "", "nil='5'>v</u>"),
        of("", "", "nil='true'/>"),
        of("", "", "xmlns:p='urn:p' p:nil='true'/>"),
        of("", "", "escaped='true'>C:\\u0041</u>"),
        of("a='\\u0041' a.escaped='true'", "", "></u>"),
        of("", "text.escaped='true'", "></u>"),
        of("nil='true' escaped='false'", "", "></u>"),
    ];
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    expect![[r#"
        {"t":"x","e":"true","n":"true","u":"v","a":"1"}
        {"t":"x"}
        error[XML-024]: the attribute nil is not known here
        error[XML-024]: the attribute nil is not known here
        error[XML-024]: the attribute p:nil is not known here
        error[XML-024]: the attribute escaped is not known here
        error[XML-024]: the attribute a.escaped is not known here
        error[XML-024]: the attribute text.escaped is not known here
        error[XML-024]: the attribute nil is not known here
    "#]]
    .assert_eq(&read(MARKS, out, map, &documents));
}

/// A document that says `escaped="true"` is not valid by its schema, and its readers take `\u0000` for the text.
#[test]
fn text_that_a_schema_has_no_form_for_is_refused() {
    let world = World::new();
    let schema = format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{MARKS}</xs:schema>");
    world
        .write("o.xsd", schema)
        .write("in.shape", "in\n  t text(9)\n  u? text(9)\n  a? text(9)\n")
        .write("o.shape", "o\n  u? text(9)\n")
        .write("o.qmap", "source \"in.shape\"\ntarget o \"o.xsd\"\nt.'$text' = t\nu = u\n@a = a\n")
        .write("p.qmap", "source \"in.shape\"\ntarget o \"o.shape\"\nu = u\n")
        .write("in.jsonl", "{\"t\":\"a\\u0001\"}\n{\"t\":\"b\",\"u\":\"c\\\\\"}\n{\"t\":\"d\",\"u\":\"\\u0002\"}\n{\"t\":\"e\",\"a\":\"\\uffff\\u0002\"}\n");
    let ran = world.run("translate in.jsonl -m o.qmap -o out.xml --rejects rejects.jsonl --quiet");
    let written = String::from_utf8(world.read("out.xml")).expect("UTF-8");
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <doc xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><t>b</t><u>c\</u></doc>
        error[XML-037]: the text has the character U+0001, which XML 1.0 does not allow
          at in.jsonl:1, record 1, byte 0, t.$text

        hint: correct the source, or let the map remove or replace the character

        error[XML-037]: the text has the character U+0002, which XML 1.0 does not allow
          at in.jsonl:3, record 3, byte 36, u

        hint: correct the source, or let the map remove or replace the character

        error[XML-037]: the text has the character U+FFFF, which XML 1.0 does not allow
          at in.jsonl:4, record 4, byte 59, @a

        hint: correct the source, or let the map remove or replace the character

        3 of 4 documents rejected: rejects.jsonl contains the rejected ones, rejects.jsonl.findings.jsonl the reasons
    "#]]
    .assert_eq(&format!("{written}{}", ran.code(1).err()));
    // Documents without a schema are marked, and read back.
    world.run("translate in.jsonl -m p.qmap --to xml -o plain.xml --quiet").code(0);
    let plain = String::from_utf8(world.read("plain.xml")).expect("UTF-8");
    assert!(plain.contains(r#"<u escaped="true">\u0002</u>"#), "{plain}");
    world.write("q.qmap", "source \"o.shape\"\ntarget o \"o.shape\"\nu = u\n");
    let ran = world.run("translate plain.xml -m q.qmap --from xml --to jsonl");
    assert!(ran.code(0).out().contains(r#"{"u":"\u0002"}"#), "{}", ran.out());
}

/// A finding of a map about a document of XML had no line, while one of the reader had.
#[test]
fn a_finding_of_a_map_names_the_line_of_its_document() {
    let world = World::new();
    world.write("in.shape", "in\n  id text(9)\n");
    world.write("out.shape", "out\n  id text(9)\n");
    world.write(
        "in.qmap",
        "source \"in.shape\"\ntarget \"out.shape\"\ntable ids { \"A\" => \"1\" }\nid = translate(id, ids)\n",
    );
    world.write("in.xml", "<all>\n  <record><id>A</id></record>\n  <record>\n    <id>B</id>\n  </record>\n</all>\n");
    world.run("translate --map in.qmap in.xml --from xml --quiet").check(expect![[r#"
        exit 1
        --- stderr
        error[MAP-209]: the code is not in `ids`
          at in.xml:3, record 2, byte 38 (in.qmap:4, from id)

        hint: add it, or a row for all others: else "…"; `… in ids` tests it first
    "#]]);
}

/// Regression: an empty text was written as an empty element, and its readers took the default of the schema for its text.
#[test]
fn an_empty_text_is_not_written_where_the_schema_has_a_default() {
    let world = World::new();
    let element =
        |name: &str, more: &str| format!("<xs:element name=\"{name}\" type=\"xs:string\" minOccurs=\"0\" {more}/>");
    let amount = "<xs:element name=\"m\" default=\"EUR\" minOccurs=\"0\"><xs:complexType><xs:simpleContent><xs:extension base=\"xs:string\">\
        <xs:attribute name=\"k\" type=\"xs:string\" default=\"v\"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>";
    let members =
        [element("s", "default=\"NEW\""), element("f", "fixed=\"X\""), element("t", ""), amount.to_owned()].concat();
    let schema = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"doc\"><xs:complexType><xs:sequence>{members}</xs:sequence></xs:complexType></xs:element></xs:schema>"
    );
    world
        .write("o.xsd", schema)
        .write("in.shape", "in\n  s? text(9)\n  f? text(9)\n  t? text(9)\n  m? text(9)\n  k? text(9)\n")
        .write("o.qmap", "source \"in.shape\"\ntarget o \"o.xsd\"\ns = s\nf = f\nt = t\nm.'$text' = m\nm.'@k' = k\n");
    for (document, written) in [
        (r#"{"s":"a","t":"","m":"b","k":""}"#, Ok(r#"<s>a</s><t></t><m k="">b</m>"#)),
        (r#"{"t":"c"}"#, Ok("<t>c</t>")),
        (r#"{"s":""}"#, Err("s")),
        (r#"{"f":""}"#, Err("f")),
        (r#"{"m":"","k":"1"}"#, Err("m.$text")),
    ] {
        let ran = world.run_with("translate - -m o.qmap --quiet", document.as_bytes());
        match written {
            Ok(written) => {
                assert!(ran.code(0).out().contains(&format!(">{written}</doc>")), "{document}: {}", ran.out())
            }
            Err(path) => {
                let (out, error) = (ran.out(), ran.code(1).err());
                assert!(error.contains("error[XML-038]") && error.contains(&format!(", {path}\n")), "{error}");
                assert!(!out.contains("<doc"), "{document}: {out}");
            }
        }
    }
}
