use expect_test::{Expect, expect};
use quayline_dictionary::{SourceText, smooks};

const SEGMENTS: &str = r#"<xsd:schema xmlns:xsd="x" targetNamespace="y/D96A">
  <xsd:complexType name="BGM-BeginningOfMessage"><xsd:sequence>
    <xsd:element minOccurs="0" name="C002" type="D:C002-DocumentName"/><xsd:element minOccurs="1" name="E1004" type="D:E1004-Number"/>
  </xsd:sequence></xsd:complexType>
  <xsd:complexType name="ALI-AdditionalInformation"><xsd:sequence><xsd:sequence>
    <xsd:element minOccurs="0" maxOccurs="3" name="E4183" type="D:E4183-Special"/>
  </xsd:sequence></xsd:sequence></xsd:complexType>
  <xsd:complexType name="C002-DocumentName"><xsd:sequence>
    <xsd:element minOccurs="1" maxOccurs="1" name="E1001a" type="D:E1001-Name"/><xsd:element minOccurs="1" maxOccurs="2" name="E6060" type="D:E6060-Quantity"/>
  </xsd:sequence></xsd:complexType>
  <xsd:simpleType name="E1001-Name"><xsd:restriction base="D:alpha0-3">
    <xsd:enumeration value="220"/><xsd:enumeration value="220"/><xsd:enumeration value="221"/>
  </xsd:restriction></xsd:simpleType>
  <xsd:simpleType name="E1004-Number"><xsd:restriction base="D:alpha4-4"/></xsd:simpleType>
  <xsd:simpleType name="E4183-Special"><xsd:restriction base="D:numeric3"/></xsd:simpleType>
  <xsd:simpleType name="E6060-Quantity"><xsd:restriction base="D:numeric1-15"/></xsd:simpleType>
  <xsd:simpleType name="alpha0-3"><xsd:restriction base="xsd:string"/></xsd:simpleType>
</xsd:schema>"#;

fn check(message: &str, expected: Expect) {
    let messages = format!(
        r#"<xsd:schema xmlns:xsd="x" targetNamespace="http://x/D96A"><xsd:element name="ORDERS"/>{message}</xsd:schema>"#
    );
    let read = smooks::import(SourceText::new("messages", &messages), SourceText::new("segments", SEGMENTS), None);
    let seen = match read {
        Err(findings) => findings.to_string(),
        Ok(imported) => imported
            .guides
            .iter()
            .map(|guide| format!("{} {} {}\n{}", guide.name, guide.version, guide.transaction, crate::body(guide)))
            .collect(),
    };
    expected.assert_eq(&seen);
}

#[test]
fn groups_repeats_representations_and_service_segments() {
    check(
        r#"<xsd:complexType name="ORDERS"><xsd:sequence><xsd:sequence>
             <xsd:element maxOccurs="1" minOccurs="1" name="BGM"/>
             <xsd:element maxOccurs="5" minOccurs="0" name="ALI"/></xsd:sequence>
             <xsd:element maxOccurs="unbounded" minOccurs="0" name="SegGrp-1"><xsd:complexType><xsd:sequence>
               <xsd:element name="ALI"/></xsd:sequence></xsd:complexType></xsd:element>
             <xsd:element maxOccurs="1" minOccurs="1" name="UNS"/>
           </xsd:sequence></xsd:complexType><xsd:complexType name="Interchange"/>"#,
        expect![[r#"
            ORDERS-D96A D:96A:UN ORDERS
            element 0081 a..1 codes 0081
            element 1001 an..3 "Name" codes 1001
            element 1004 an4 "Number"
            element 4183 n3 "Special"
            element 6060 n..15 "Quantity"

            composite C002 "Document name"
              1001 M
              6060 M
              6060 O

            segment ALI "Additional information"
              4183 O repeat 3
              4183 O
              4183 O

            segment BGM "Beginning of message"
              C002 O
              1004 M

            segment UNS "Section control"
              0081 M

            codes 0081
              D S

            codes 1001 "Name"
              220 221

            structure
              segment BGM M 1 position 10
              segment ALI O 5 position 20
              loop SG1 O * position 30
                segment ALI M 1 position 10
              segment UNS M 1 position 40
        "#]],
    );
}

#[test]
fn what_is_missing_is_told() {
    check(
        "",
        expect![[r#"
        error[DIC-010]: the schema has no message
          at messages:1:1
          |
        1 | <xsd:schema xmlns:xsd="x" targetNamespace="http://x/D96A"><xsd:element name="ORDERS"/></xsd:schema>
          | ^"#]],
    );
    check(
        r#"<xsd:complexType name="ORDERS"><xsd:sequence><xsd:element name="XYZ"/></xsd:sequence></xsd:complexType>"#,
        expect![[r#"
            error[DIC-011]: segment XYZ is not defined in the schema of segments
              at messages:1:132"#]],
    );
    check(
        r#"<xsd:complexType name="ORDERS"/>"#,
        expect![[r#"
        error[DIC-010]: the type has no sequence in it
          at messages:1:87
          |
        1 | <xsd:schema xmlns:xsd="x" targetNamespace="http://x/D96A"><xsd:element name="ORDERS"/><xsd:complexType name="ORDERS"/></xsd:schema>
          |                                                                                       ^"#]],
    );
}

#[test]
fn a_cut_off_schema_is_refused() {
    for end in 0..SEGMENTS.len() {
        let cut = SourceText::new("segments", &SEGMENTS[..end]);
        assert!(smooks::import(SourceText::new("messages", SEGMENTS), cut, None).is_err(), "{end}");
    }
}
