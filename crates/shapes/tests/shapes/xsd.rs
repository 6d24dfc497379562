use expect_test::{Expect, expect};

use crate::support::load;

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place")]
fn check(body: &str, expect: Expect) {
    let schema = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"urn:o\" targetNamespace=\"urn:o\" elementFormDefault=\"qualified\">\n{body}\n</xs:schema>"
    );
    expect.assert_eq(&load("order.xsd", &[("order.xsd", &schema), ("types.xsd", TYPES)]));
}

const TYPES: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
<xs:simpleType name="Code"><xs:restriction base="xs:string"><xs:enumeration value="A"/><xs:enumeration value="BCD"/></xs:restriction></xs:simpleType>
<xs:complexType name="Party"><xs:sequence><xs:element name="Name" type="xs:string"/></xs:sequence><xs:attribute name="id" type="xs:int" use="required"/></xs:complexType>
</xs:schema>"#;

#[test]
fn elements_types_and_attributes() {
    check(
        r#"<xs:include schemaLocation="types.xsd"/>
<xs:element name="Order">
 <xs:complexType>
  <xs:sequence>
   <xs:element name="Number" type="xs:string"/>
   <xs:element name="Code" type="Code" minOccurs="0"/>
   <xs:choice>
     <xs:element name="Date" type="xs:date"/>
     <xs:element name="Week" type="xs:unsignedByte"/>
   </xs:choice>
   <xs:element name="Buyer" type="Party"/>
   <xs:element ref="Line" maxOccurs="unbounded"/>
   <xs:element name="Note" type="xs:string" minOccurs="0" maxOccurs="5"/>
  </xs:sequence>
  <xs:attribute name="version" type="xs:string"/>
 </xs:complexType>
</xs:element>
<xs:element name="Line">
 <xs:complexType>
  <xs:complexContent><xs:extension base="Base">
   <xs:sequence>
    <xs:element name="Price">
     <xs:complexType><xs:simpleContent><xs:extension base="Amount"><xs:attribute name="currency" type="xs:string" use="required"/></xs:extension></xs:simpleContent></xs:complexType>
    </xs:element>
    <xs:element name="Text" nillable="true"><xs:complexType mixed="true"><xs:sequence><xs:element name="Bold" type="xs:string" minOccurs="0"/></xs:sequence><xs:attribute ref="xml:lang"/></xs:complexType></xs:element>
   </xs:sequence></xs:extension></xs:complexContent>
 </xs:complexType>
</xs:element>
<xs:complexType name="Base"><xs:sequence><xs:element name="Item" type="xs:token"/></xs:sequence><xs:attribute name="line" type="xs:positiveInteger" use="required"/></xs:complexType>
<xs:simpleType name="Amount"><xs:restriction base="xs:decimal"><xs:totalDigits value="11"/><xs:fractionDigits value="2"/></xs:restriction></xs:simpleType>"#,
        expect![[""]],
    );
}

#[test]
fn groups_circles_and_what_is_missing() {
    check(
        r#"<xs:element name="Tree"><xs:complexType><xs:sequence>
 <xs:element name="Name" type="xs:string"><xs:annotation/></xs:element>
 <xs:element ref="Tree" minOccurs="0"/>
 <xs:group ref="Pair" maxOccurs="3"/>
 <xs:any minOccurs="0"/>
</xs:sequence><xs:attributeGroup ref="Ids"/><xs:anyAttribute/></xs:complexType></xs:element>
<xs:group name="Pair"><xs:sequence><xs:element name="Key" type="xs:string"/><xs:element name="Value" type="xs:double"/></xs:sequence></xs:group>
<xs:attributeGroup name="Ids"><xs:attribute name="id" type="xs:ID"/></xs:attributeGroup>"#,
        expect![[""]],
    );
    check(
        r#"<xs:element name="A"><xs:complexType><xs:sequence><xs:element name="B" type="Gone"/><xs:element ref="C"/><xs:element name="D" type="xs:string"/><xs:element name="D" type="xs:int"/></xs:sequence></xs:complexType></xs:element>"#,
        expect![[""]],
    );
    check("<xs:element name=\"A\" type=\"xs:string\"/><xs:element name=\"B\" type=\"xs:string\"/>", expect![[""]]);
    expect![[""]].assert_eq(&load("x.xsd", &[("x.xsd", "<schema><element")]));
    expect![[""]].assert_eq(&load("x.xsd", &[("x.xsd", "<html/>")]));
}
