//! XML that maps write is right by its schema, whichever namespaces that has: another reader says so too.

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
        order.qmap: 1 error; it cannot run
        --- stderr
        error[SHP-005]: `amount` occurs in two namespaces
          at order.xsd:5:5
          |
        5 |     <xs:element ref="q:amount"/>
          |     ^

        hint: give both different names
    "#]]);
}
