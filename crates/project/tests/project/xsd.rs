use expect_test::{Expect, expect};

use crate::loading::{limits, load};

fn check(body: &str, expect: Expect) {
    check_of("order.xsd", body, expect);
}

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place")]
fn check_of(reference: &str, body: &str, expect: Expect) {
    let schema = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"urn:o\" targetNamespace=\"urn:o\" elementFormDefault=\"qualified\">\n{body}\n</xs:schema>"
    );
    expect.assert_eq(&load(reference, &[("order.xsd", &schema), ("types.xsd", TYPES)]));
}

const TYPES: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
<xs:simpleType name="Code"><xs:restriction base="xs:string"><xs:enumeration value="A"/><xs:enumeration value="BCD"/></xs:restriction></xs:simpleType>
<xs:complexType name="Party"><xs:sequence><xs:element name="Name" type="xs:string"/></xs:sequence><xs:attribute name="id" type="xs:int" use="required"/></xs:complexType>
</xs:schema>"#;

#[test]
fn elements_types_and_attributes() {
    check_of(
        "order.xsd#Order",
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
        expect![[r#"
            Order
              @version? text
              Number text
              Code? text(3)
              Date? text(16)
              Week? unsigned(3)
              Buyer
                @id decimal(10)
                Name text
              Line*1..
                @line unsigned(19)
                Item text
                Price
                  @currency text
                  $text? decimal(13,2)
                Text?
                  @lang? text
                  Bold? text
                  $text? text
              Note*0..5 text
            Note SHP-006 order.xsd:31:64: `totalDigits of numbers with decimals` is not checked in documents that are written
            Note SHP-006 types.xsd:2:61: `enumeration` is not checked
        "#]],
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
        expect![[r#"
            Tree
              @id? text
              Name text
              Tree?
                @id? text
                Name text
                Key*1.. text
                Value*1.. float
              Key*1.. text
              Value*1.. float
            Warning SHP-007 order.xsd:4:2: `Tree` contains itself; Quayline leaves it out here (a shape is finite: a document that has it is refused when it is read; write down as many levels as documents have)
            Warning SHP-005 order.xsd:5:2: elements that repeat together become separate lists: Key, Value (a document in which they alternate is refused when it is read (XML-022), and one that is written has all of one name together; put them into an element that repeats)
            Note SHP-006 order.xsd:7:45: `anyAttribute` is not checked
            Note SHP-006 order.xsd:6:2: `any` is not checked
        "#]],
    );
    check(
        r#"<xs:element name="A"><xs:complexType><xs:sequence><xs:element name="B" type="Gone"/><xs:element ref="C"/><xs:element name="D" type="xs:string"/><xs:element name="D" type="xs:int"/></xs:sequence></xs:complexType></xs:element>"#,
        expect![[r#"
            Error SHP-004 order.xsd:2:51: there is no type `Gone` (define it, or include the schema that does from a file next to this one)
            Error SHP-004 order.xsd:2:85: the schema does not define the element `C` (define it, or include or import its schema from a file next to this one)
            Error SHP-005 order.xsd:2:145: `D` has two types (give both the same type, or different names)
        "#]],
    );
    check(
        "<xs:element name=\"A\" type=\"xs:string\"/><xs:element name=\"B\" type=\"xs:string\"/>",
        expect![[r#"
        Error SHP-004 order.xsd:1:1: the schema has 2 elements, and one is the document's: name it after the file, "x.xsd#name" (it has A, B)
    "#]],
    );
    expect![[r#"
        Error SHP-003 x.xsd:1:9: not well-formed XML: syntax error: tag not closed: `>` not found before end of input
    "#]]
    .assert_eq(&load("x.xsd", &[("x.xsd", "<schema><element")]));
    expect![[r#"
        Error SHP-003 x.xsd:1:1: no XML schema: its outermost element is not `schema` (a schema begins with <xs:schema …>)
    "#]].assert_eq(&load("x.xsd", &[("x.xsd", "<html/>")]));
}

/// Regression: nothing refused a second root element or text after the first one.
#[test]
fn a_file_has_one_root_element() {
    let root = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"a\"/></xs:schema>";
    let around = |before: &str, after: &str| load("x.xsd", &[("x.xsd", &format!("{before}{root}{after}"))]);
    assert!(!around("<?xml version=\"1.0\"?>\n<!-- a -->\n", "\n<!-- b --><?c?>\n").contains("Error"));
    for after in [root, "<a/>", "\n&amp;", "<![CDATA[]]>", " x"] {
        let found = around("", after);
        assert!(
            found.contains("Error SHP-003 x.xsd:") && found.contains("follows the root element"),
            "{after}: {found}"
        );
    }
    assert!(around("x", "").contains("Error SHP-003 x.xsd:1:1: text or an element precedes the root element"));
    let empty = load("x.xsd", &[("x.xsd", "<!-- a -->")]);
    assert!(empty.contains("the file has no element"), "{empty}");
}

/// Groups that hold themselves ended the process: the stack overflowed.
#[test]
fn groups_that_hold_themselves() {
    check(
        r#"<xs:element name="A"><xs:complexType><xs:sequence><xs:element name="B" type="xs:string"/><xs:group ref="G" minOccurs="0"/></xs:sequence><xs:attributeGroup ref="H"/></xs:complexType></xs:element>
<xs:group name="G"><xs:sequence><xs:element name="C" type="xs:string"/><xs:group ref="I" minOccurs="0"/></xs:sequence></xs:group>
<xs:group name="I"><xs:choice><xs:group ref="G"/></xs:choice></xs:group>
<xs:attributeGroup name="H"><xs:attribute name="h" type="xs:string"/><xs:attributeGroup ref="H"/></xs:attributeGroup>"#,
        expect![[r#"
            Error SHP-007 order.xsd:5:70: the group `H` contains itself (a shape is finite: end the circle)
            Error SHP-007 order.xsd:4:31: the group `G` contains itself (a shape is finite: end the circle)
        "#]],
    );
}

/// A group that one of its elements refers to again is recursion of elements, not of groups.
#[test]
fn a_group_in_an_element_of_itself_is_left_out_there() {
    check_of(
        "order.xsd#A",
        r#"<xs:element name="A"><xs:complexType><xs:group ref="G" minOccurs="0"/></xs:complexType></xs:element>
<xs:group name="G"><xs:choice><xs:element ref="em"/><xs:element name="b" type="xs:string"/></xs:choice></xs:group>
<xs:element name="em"><xs:complexType><xs:group ref="G"/></xs:complexType></xs:element>"#,
        expect![[r#"
            A
              em?
                b? text
              b? text
            Warning SHP-007 order.xsd:3:31: `em` contains itself; Quayline leaves it out here (a shape is finite: a document that has it is refused when it is read; write down as many levels as documents have)
        "#]],
    );
}

/// Quayline unrolled an element that is declared in a group and refers to the group, up to the limit on depth. Two such elements doubled at each
/// level up to the limit on nodes, and the remedy in that finding did not help.
#[test]
fn an_element_declared_in_the_group_that_it_refers_to_is_left_out_there() {
    const GROUP: &str = r#"<xs:group name="G"><xs:sequence>
<xs:element name="x" minOccurs="0"><xs:complexType><xs:group ref="G"/></xs:complexType></xs:element>
<xs:element name="y" minOccurs="0"><xs:complexType><xs:sequence><xs:element name="y" type="xs:int"/><xs:group ref="G"/></xs:sequence></xs:complexType></xs:element>
</xs:sequence></xs:group>"#;
    let anonymous =
        r#"<xs:element name="A"><xs:complexType><xs:group ref="G" minOccurs="0"/></xs:complexType></xs:element>"#;
    let named =
        r#"<xs:element name="A" type="T"/><xs:complexType name="T"><xs:group ref="G" minOccurs="0"/></xs:complexType>"#;
    let loaded = |root: &str| {
        let schema = format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">\n{root}\n{GROUP}</xs:schema>");
        load("order.xsd", &[("order.xsd", &schema)])
    };
    expect![[r#"
        A
          x?
            y?
              y decimal(10)
          y?
            y decimal(10)
            x?
        Warning SHP-007 order.xsd:4:1: `x` contains itself; Quayline leaves it out here (a shape is finite: a document that has it is refused when it is read; write down as many levels as documents have)
        Warning SHP-007 order.xsd:5:1: `y` contains itself; Quayline leaves it out here (a shape is finite: a document that has it is refused when it is read; write down as many levels as documents have)
    "#]].assert_eq(&loaded(anonymous));
    assert_eq!(loaded(named), loaded(anonymous));
    let must = GROUP.replace(" minOccurs=\"0\"", "");
    check(
        &format!("{}\n{must}", anonymous.replace(" minOccurs=\"0\"", "")),
        expect![[r#"
            Error SHP-007 order.xsd:4:1: `x` contains itself; Quayline leaves it out here (a shape is finite: a document that has it is refused when it is read; write down as many levels as documents have)
            Error SHP-007 order.xsd:5:1: `y` contains itself; Quayline leaves it out here (a shape is finite: a document that has it is refused when it is read; write down as many levels as documents have)
        "#]],
    );
}

/// The finding about local elements nested too deeply said that they contain themselves.
#[test]
fn elements_nested_too_deep_are_left_out() {
    let group = |n: usize| {
        let inner = format!(r#"<xs:complexType><xs:group ref="g{}"/></xs:complexType>"#, n + 1);
        format!(
            r#"<xs:group name="g{n}"><xs:sequence><xs:element name="e{n}" minOccurs="0">{inner}</xs:element></xs:sequence></xs:group>"#
        )
    };
    let groups: String = (0..40).map(group).collect();
    let root = r#"<xs:element name="A"><xs:complexType><xs:group ref="g0"/></xs:complexType></xs:element>"#;
    let last = r#"<xs:group name="g40"><xs:sequence/></xs:group>"#;
    let schema = format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{root}{groups}{last}</xs:schema>");
    let loaded = load("order.xsd", &[("order.xsd", &schema)]);
    let said: Vec<&str> = loaded.lines().filter(|line| line.contains("SHP-")).collect();
    assert!(
        said.len() == 1 && said[0].contains("is nested more than 64 deep; Quayline leaves it out here"),
        "{said:?}"
    );
}

/// Quayline dropped the first of two attributes with the same name without a finding.
#[test]
fn attributes_of_one_name_in_two_namespaces() {
    check(
        r#"<xs:element name="A"><xs:complexType><xs:sequence/><xs:attribute name="lang" type="xs:int"/><xs:attribute ref="xml:lang"/></xs:complexType></xs:element>"#,
        expect![[r#"
            A
              @lang? text
            Warning SHP-005 order.xsd:2:93: attributes `@lang` of two namespaces: Quayline reads only the one that is declared here (a shape has one attribute of each name: remove the other from documents, or rename it in a copy of the schema)
        "#]],
    );
}

/// Documents of an abstract type name another type, whose content the shape does not have.
#[test]
fn abstract_types_are_told() {
    check(
        r#"<xs:element name="A"><xs:complexType><xs:sequence><xs:element name="s" type="Shape" maxOccurs="2"/></xs:sequence></xs:complexType></xs:element>
<xs:complexType name="Shape" abstract="true"><xs:sequence><xs:element name="n" type="xs:string"/></xs:sequence></xs:complexType>"#,
        expect![[r#"
            A
              s*1..2
                n text
            Warning SHP-005 order.xsd:2:51: `Shape` is abstract: documents name a derived type with xsi:type, which a shape cannot express (in a copy of the schema, give the element the derived type that documents have)
        "#]],
    );
}

/// A restriction lost the attributes of its base, an element twice in an optional sequence became one, and elements that repeat together
/// became lists without a word.
#[test]
fn restrictions_repetitions_and_what_repeats_together() {
    check(
        r#"<xs:element name="A"><xs:complexType><xs:complexContent><xs:restriction base="Base"><xs:sequence>
 <xs:sequence minOccurs="0"><xs:element name="X" type="xs:string"/><xs:element name="Y" type="xs:string"/><xs:element name="X" type="xs:string"/></xs:sequence>
 <xs:choice><xs:element name="P" type="xs:string"/><xs:sequence><xs:element name="Q" type="xs:string"/><xs:element name="P" type="xs:string"/></xs:sequence></xs:choice>
 <xs:sequence maxOccurs="unbounded"><xs:element name="K" type="xs:string"/><xs:element name="V" type="xs:string"/></xs:sequence>
 <xs:choice maxOccurs="9"><xs:element name="only" type="xs:string"/></xs:choice>
</xs:sequence><xs:attribute name="gone" use="prohibited"/><xs:attribute name="more" type="xs:int"/></xs:restriction></xs:complexContent></xs:complexType></xs:element>
<xs:complexType name="Base"><xs:sequence><xs:element name="X" type="xs:string"/></xs:sequence><xs:attribute name="kept" type="xs:string" use="required"/><xs:attribute name="gone" type="xs:string"/></xs:complexType>"#,
        expect![[r#"
            A
              @kept text
              @more? decimal(10)
              X* text
              Y? text
              P? text
              Q? text
              K*1.. text
              V*1.. text
              only* text
            Warning SHP-005 order.xsd:3:107: `X` occurs again after other elements, and all its occurrences become one list (a document with other elements between them is refused when it is read (XML-022); in the schema and in documents, give them different names, or put one of them into an element of its own)
            Warning SHP-005 order.xsd:5:2: elements that repeat together become separate lists: K, V (a document in which they alternate is refused when it is read (XML-022), and one that is written has all of one name together; put them into an element that repeats)
        "#]],
    );
}

/// Lengths of binary data and of lists were read as numbers of characters.
#[test]
fn lengths_count_bytes_and_items() {
    check(
        r#"<xs:element name="A"><xs:complexType><xs:sequence>
 <xs:element name="H"><xs:simpleType><xs:restriction base="xs:hexBinary"><xs:maxLength value="4"/></xs:restriction></xs:simpleType></xs:element>
 <xs:element name="B"><xs:simpleType><xs:restriction base="xs:base64Binary"><xs:length value="4"/></xs:restriction></xs:simpleType></xs:element>
 <xs:element name="L"><xs:simpleType><xs:restriction base="Codes"><xs:maxLength value="4"/></xs:restriction></xs:simpleType></xs:element>
 <xs:element name="N"><xs:simpleType><xs:restriction base="xs:NMTOKENS"><xs:maxLength value="4"/></xs:restriction></xs:simpleType></xs:element>
 <xs:element name="T"><xs:simpleType><xs:restriction base="xs:token"><xs:maxLength value="4"/></xs:restriction></xs:simpleType></xs:element>
</xs:sequence></xs:complexType></xs:element>
<xs:simpleType name="Codes"><xs:list itemType="xs:token"/></xs:simpleType>"#,
        expect![[r#"
            A
              H text(8)
              B text
              L text
              N text
              T text(4)
            Note SHP-006 order.xsd:4:77: `length` is not checked
            Note SHP-006 order.xsd:5:67: `maxLength` is not checked, here and at 1 other place
        "#]],
    );
}

/// Regression: nothing said that the bound 0 of a float is not checked, because that of a decimal needs no check.
#[test]
fn bounds_of_floats_are_not_checked() {
    let notes = |base: &str, bound: &str| {
        let of_type = format!(
            "<xs:simpleType><xs:restriction base=\"xs:{base}\"><xs:minInclusive value=\"{bound}\"/></xs:restriction></xs:simpleType>"
        );
        let body = format!(
            "<xs:element name=\"o\"><xs:complexType><xs:sequence><xs:element name=\"n\">{of_type}</xs:element></xs:sequence></xs:complexType></xs:element>"
        );
        let schema = format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{body}</xs:schema>");
        load("o.xsd", &[("o.xsd", &schema)]).matches("SHP-006").count()
    };
    for (base, bound, expected) in [("double", "0", 1), ("float", "0", 1), ("double", "1", 1), ("decimal", "0", 0)] {
        assert_eq!(notes(base, bound), expected, "{base} {bound}");
    }
}

/// Quayline compared each member with all earlier ones, and each repetition of an element added its types again. Attributes had no limit. A schema of
/// a few megabytes took minutes and gigabytes.
#[test]
fn large_schemas_take_time_by_their_size() {
    for count in [15_000, 30_000, 60_000] {
        large_schema(count);
    }
}

fn large_schema(count: usize) {
    let each = |of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<String>();
    let attributes = each(&|n| format!("<xs:attribute name=\"a{n}\" type=\"xs:int\"/>"));
    let elements = each(&|n| format!("<xs:element name=\"e{n}\" type=\"xs:int\"/>"));
    let of = |content: &str| format!("<xs:element name=\"R\"><xs:complexType>{content}</xs:complexType></xs:element>");
    for content in [attributes.clone(), format!("<xs:sequence>{elements}</xs:sequence>")] {
        let body = of(&content);
        let lines = large(&body).lines().count();
        assert!(lines > count, "{lines}");
    }
    // One element in each branch of a choice, with two lists of types.
    let types = "<xs:complexType name=\"A\"><xs:sequence><xs:element name=\"n\" type=\"xs:int\"/></xs:sequence></xs:complexType>\
                 <xs:complexType name=\"B\"><xs:sequence><xs:element name=\"n\" type=\"xs:int\"/></xs:sequence></xs:complexType>";
    let branches =
        (0..count / 2).map(|n| format!("<xs:element name=\"e\" type=\"{}\"/>", ["A", "B"][n % 2])).collect::<String>();
    let loaded = large(&format!("{types}{}", of(&format!("<xs:choice>{branches}</xs:choice>"))));
    assert!(loaded.contains("e?"), "{loaded}");
    // More attributes than a shape may have.
    let group = format!("<xs:attributeGroup name=\"G\">{attributes}</xs:attributeGroup>");
    let tens = (0..10)
        .map(|n| {
            format!(
                "<xs:element name=\"e{n}\"><xs:complexType><xs:attributeGroup ref=\"G\"/></xs:complexType></xs:element>"
            )
        })
        .collect::<String>();
    let is_too_large = 10 * count > 500_000;
    let loaded = large(&format!("{group}{}", of(&format!("<xs:sequence>{tens}</xs:sequence>"))));
    assert!(
        loaded.contains("the schema has more than 500000 attributes") == is_too_large,
        "{}",
        &loaded[loaded.len().saturating_sub(500)..]
    );
}

fn large(body: &str) -> String {
    let schema = format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{body}</xs:schema>");
    let begin = std::time::Instant::now();
    let loaded = load("large.xsd#R", &[("large.xsd", &schema)]);
    // The squares of these numbers took minutes.
    assert!(begin.elapsed() < std::time::Duration::from_secs(60), "{} bytes in {:?}", schema.len(), begin.elapsed());
    loaded
}

/// Limits of occurrences were lost for elements in groups that repeat and for elements that occur several times.
#[test]
fn occurrences_of_elements_in_groups() {
    let body = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="A"><xs:complexType><xs:complexContent><xs:extension base="Base"><xs:sequence>
 <xs:sequence minOccurs="2" maxOccurs="3"><xs:element name="product" type="xs:string" minOccurs="2" maxOccurs="5"/></xs:sequence>
 <xs:group ref="G" minOccurs="0" maxOccurs="4"/>
 <xs:choice><xs:element name="widest" type="xs:string" maxOccurs="2"/><xs:element name="widest" type="xs:string" minOccurs="3" maxOccurs="7"/></xs:choice>
 <xs:choice><xs:annotation/><xs:element name="one" type="xs:string" maxOccurs="2"/><xs:any/></xs:choice>
 <xs:element name="sum" type="xs:string" minOccurs="0"/><xs:element name="sum" type="xs:string" minOccurs="0" maxOccurs="2"/>
 <xs:element name="two" type="xs:string"/><xs:element name="two" type="xs:string"/>
 <xs:element ref="head" minOccurs="2" maxOccurs="3"/>
 <xs:sequence maxOccurs="unbounded"><xs:element name="free" type="xs:string" maxOccurs="5"/></xs:sequence>
 <xs:element name="large" type="xs:string" minOccurs="0" maxOccurs="99999999999"/>
 <xs:element name="base" type="xs:string" minOccurs="0"/>
</xs:sequence></xs:extension></xs:complexContent></xs:complexType></xs:element>
<xs:complexType name="Base"><xs:sequence><xs:element name="base" type="xs:string" maxOccurs="2"/></xs:sequence></xs:complexType>
<xs:group name="G"><xs:sequence><xs:element name="g" type="xs:string" minOccurs="2" maxOccurs="2"/></xs:sequence></xs:group>
<xs:element name="head" type="xs:string"/><xs:element name="other" type="xs:string" substitutionGroup="head"/></xs:schema>"#;
    expect![[r#"
        base, required, 1..3
        product, required, 4..15
        g, 2..8
        widest, required, 1..7
        one, 0..2
        sum, 0..3
        two, required, 2..2
        head, 0..3
        other, 0..3
        free, required, 1..
    "#]]
    .assert_eq(&limits("s.xsd#A", &[("s.xsd", body)]));
}

/// Quayline refused documents with other elements between two occurrences, without a warning about the schema.
#[test]
fn elements_that_occur_again_after_others() {
    check_of(
        "order.xsd#A",
        r#"<xs:element name="A"><xs:complexType><xs:sequence>
 <xs:element name="a" type="xs:string"/><xs:element name="b" type="xs:string" minOccurs="0"/><xs:element name="a" type="xs:string"/>
 <xs:choice><xs:element name="c" type="xs:string"/><xs:element name="d" type="xs:string"/></xs:choice><xs:element name="c" type="xs:string"/>
 <xs:choice><xs:sequence><xs:element name="e" type="xs:string"/><xs:element name="f" type="xs:string"/></xs:sequence><xs:element name="g" type="xs:string"/></xs:choice>
 <xs:choice><xs:element name="e" type="xs:string"/><xs:element name="h" type="xs:string"/></xs:choice>
</xs:sequence></xs:complexType></xs:element>"#,
        expect![[r#"
            A
              a* text
              b? text
              c* text
              d? text
              e* text
              f? text
              g? text
              h? text
            Warning SHP-005 order.xsd:3:94: `a` occurs again after other elements, and all its occurrences become one list (a document with other elements between them is refused when it is read (XML-022); in the schema and in documents, give them different names, or put one of them into an element of its own)
            Warning SHP-005 order.xsd:6:13: `e` occurs again after other elements, and all its occurrences become one list (a document with other elements between them is refused when it is read (XML-022); in the schema and in documents, give them different names, or put one of them into an element of its own)
        "#]],
    );
}

/// A text may be shorter than its `length`.
#[test]
fn the_length_of_a_text_is_only_its_maximum() {
    check(
        r#"<xs:element name="A"><xs:complexType><xs:sequence>
 <xs:element name="T"><xs:simpleType><xs:restriction base="xs:token"><xs:length value="4"/></xs:restriction></xs:simpleType></xs:element>
</xs:sequence></xs:complexType></xs:element>"#,
        expect![[r#"
            A
              T text(4)
            Note SHP-006 order.xsd:3:70: `length` is checked only as a maximum
        "#]],
    );
}

/// Regression: schemas that include each other across folders were more and more schemas: `sub/../a.xsd`, `sub/../sub/b.xsd` and so on.
#[test]
fn schemas_in_several_folders_include_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("sub")).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    let schema = |name: &str, body: &str| {
        write(name, &format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{body}</xs:schema>"));
    };
    schema(
        "a.xsd",
        r#"<xs:include schemaLocation="sub/b.xsd"/><xs:element name="o" type="B"/><xs:simpleType name="A"><xs:restriction base="xs:string"/></xs:simpleType>"#,
    );
    schema(
        "sub/b.xsd",
        r#"<xs:include schemaLocation="../a.xsd"/><xs:complexType name="B"><xs:sequence><xs:element name="x" type="A"/></xs:sequence></xs:complexType>"#,
    );
    let shape = |name: &str| {
        let loaded = quayline_project::ShapeFile::load(folder.path(), name, &quayline_project::ShapeOptions::default());
        let loaded = loaded.unwrap_or_else(|findings| panic!("{findings}"));
        (quayline_project::outline_of(loaded.shape()), loaded.files().len())
    };
    assert_eq!(shape("a.xsd"), ("o\n  x text\n".to_owned(), 2));
    write("a.json", r#"{"type":"object","properties":{"b":{"$ref":"sub/b.json"}},"$defs":{"T":{"type":"string"}}}"#);
    write("sub/b.json", r#"{"type":"object","properties":{"t":{"$ref":"../a.json#/$defs/T"}}}"#);
    assert_eq!(shape("a.json"), ("a\n  b?\n    t? text\n".to_owned(), 2));
}

/// Regression: decimals of a number took the places of its digits before the point.
#[test]
fn more_decimals_leave_the_digits_before_the_point() {
    let number = |facets: &str| {
        let facet = |facet: &str| {
            let (name, value) = facet.split_once('=').expect("a value");
            format!("<xs:{name} value=\"{value}\"/>")
        };
        let facets: String = facets.split_whitespace().map(facet).collect();
        let of_type =
            format!("<xs:simpleType><xs:restriction base=\"xs:decimal\">{facets}</xs:restriction></xs:simpleType>");
        let body = format!(
            "<xs:element name=\"o\"><xs:complexType><xs:sequence><xs:element name=\"n\">{of_type}</xs:element></xs:sequence></xs:complexType></xs:element>"
        );
        let schema = format!("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{body}</xs:schema>");
        let shown = load("o.xsd", &[("o.xsd", &schema)]);
        shown.lines().nth(1).expect("a field").trim().to_owned()
    };
    for (facets, expected) in [
        ("fractionDigits=2", "n decimal(26,2)"),
        ("fractionDigits=12", "n decimal(36,12)"),
        ("fractionDigits=13", "n decimal(37,13)"),
        ("fractionDigits=14", "n decimal(38,14)"),
        ("fractionDigits=15", "n decimal(38,15)"),
        ("fractionDigits=20", "n decimal(38,20)"),
        ("fractionDigits=25", "n decimal(38,20)"),
        ("totalDigits=11 fractionDigits=2", "n decimal(13,2)"),
        ("totalDigits=30 fractionDigits=20", "n decimal(38,20)"),
        ("totalDigits=36 fractionDigits=18", "n decimal(38,18)"),
        ("totalDigits=20 fractionDigits=20", "n decimal(38,20)"),
        ("fractionDigits=3 minInclusive=-10 maxInclusive=10", "n decimal(5,3)"),
    ] {
        assert_eq!(number(facets), expected, "{facets}");
    }
}

/// Regression: a restriction that prohibits an attribute by reference left the attribute in.
#[test]
fn an_attribute_that_is_prohibited_by_reference_is_left_out() {
    let body = r#"<xs:attribute name="g" type="xs:string"/><xs:attribute name="h" type="xs:string"/>
<xs:element name="o"><xs:complexType><xs:complexContent><xs:restriction base="B"><xs:attribute ref="g" use="prohibited"/></xs:restriction></xs:complexContent></xs:complexType></xs:element>
<xs:complexType name="B"><xs:attribute ref="g"/><xs:attribute ref="h"/></xs:complexType>"#;
    check(
        body,
        expect![[r#"
            o
              @h? text
        "#]],
    );
}
