use expect_test::{Expect, expect};
use quayline_dictionary::{SourceText, xsd};

fn check(schema: &str, expected: Expect) {
    let seen = match xsd::import(SourceText::new("mine.xsd", schema)) {
        Err(findings) => findings.to_string(),
        Ok(imported) => {
            let head = |guide: &quayline_edi::guide::Guide| {
                format!("{} {} {} {:?}\n", guide.name, guide.version, guide.transaction, guide.title)
            };
            let mut text: String = imported.guides.iter().map(|guide| head(guide) + &crate::body(guide)).collect();
            for finding in imported.findings {
                text += &format!("{}: {}\n", finding.code, finding.message);
            }
            text
        }
    };
    expected.assert_eq(&seen);
}

const ORDER: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:annotation><xs:appinfo><guide standard="X12" version="005010" transaction="850" group="PO"/></xs:appinfo></xs:annotation>
  <xs:element name="Order"><xs:annotation><xs:documentation>Our   order</xs:documentation></xs:annotation>
    <xs:complexType><xs:sequence>
      <xs:element name="BEG" type="Begin"/>
      <xs:element name="Parties" minOccurs="0" maxOccurs="unbounded"><xs:complexType><xs:sequence>
        <xs:element name="N1_Buyer"><xs:complexType><xs:sequence>
          <xs:element name="N101" fixed="BY" type="xs:string"/><xs:element name="Name" type="Text60" minOccurs="0"/>
        </xs:sequence></xs:complexType></xs:element>
        <xs:element ref="REF" minOccurs="0" maxOccurs="3"/>
      </xs:sequence></xs:complexType></xs:element>
      <xs:choice>
        <xs:element name="N1_Seller"><xs:complexType><xs:sequence>
          <xs:element name="N101" fixed="SE" type="xs:string"/><xs:element name="Name" type="Text60"/>
        </xs:sequence></xs:complexType></xs:element>
        <xs:element ref="REF"/>
      </xs:choice>
    </xs:sequence></xs:complexType>
  </xs:element>
  <xs:element name="REF"><xs:complexType><xs:sequence>
    <xs:element name="E128"><xs:simpleType><xs:restriction base="xs:string"><xs:length value="2"/>
      <xs:enumeration value="PO"/><xs:enumeration value="VN"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="Reference" minOccurs="0"><xs:complexType><xs:sequence>
      <xs:element name="Part" type="xs:integer"/><xs:element name="Other" type="Text60" minOccurs="0"/>
    </xs:sequence></xs:complexType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
  <xs:complexType name="Begin"><xs:sequence>
    <xs:element name="Amount"><xs:simpleType><xs:restriction base="xs:decimal"><xs:totalDigits value="9"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="Day" type="xs:date"/>
  </xs:sequence></xs:complexType>
  <xs:simpleType name="Text60"><xs:restriction base="xs:string"><xs:maxLength value="60"/></xs:restriction></xs:simpleType>
</xs:schema>"#;

#[test]
fn segments_loops_composites_and_facets() {
    check(
        ORDER,
        expect![[r#"
            850-005010 005010 850 Some("Our order")
            element 128 ID 2
            element BEG01 R 1..9 "Amount"
            element BEG02 DT 8 "Day"
            element N101 ID 1..2
            element N102 AN 1..60 "Name"
            element REF02-1 N0 1..18 "Part"
            element REF02-2 AN 1..60 "Other"

            composite REF02 "Reference"
              REF02-1 M
              REF02-2 O

            segment BEG
              BEG01 M
              BEG02 M

            segment N1
              N101 M
              N102 O

            segment REF
              128 M
              composite REF02 O

            structure
              segment BEG M 1 position 10
              loop Parties O * position 20
                segment N1 M 1 position 10 where 01 = BY
                  01 codes BY
                segment REF O 3 position 20
                  01 codes PO VN
              segment N1 O 1 position 30 where 01 = SE
                01 codes SE
                02 M
              segment REF O 1 position 30
                01 codes PO VN
        "#]],
    );
}

#[test]
fn what_a_schema_must_have_is_told() {
    check(
        &ORDER.replace("<guide standard=\"X12\"", "<other"),
        expect![[r#"
        error[DIC-010]: the schema does not name its message: expected <guide standard="X12" version="…" transaction="…"/> in an appinfo
          at mine.xsd:3:3
          |
        3 |   <xs:element name="Order"><xs:annotation><xs:documentation>Our   order</xs:documentation></xs:annotation>
          |   ^"#]],
    );
    check(
        &ORDER.replace("type=\"Begin\"", "type=\"Text99\""),
        expect![[r#"
            error[DIC-011]: simpleType Text99 is not defined in the schema
              at mine.xsd:5:7
              |
            5 |       <xs:element name="BEG" type="Text99"/>
              |       ^"#]],
    );
    check(
        &ORDER.replace("ref=\"REF\"", "ref=\"RFX\""),
        expect![[r#"
        error[DIC-011]: element RFX is not defined in the schema
          at mine.xsd:16:9
           |
        16 |         <xs:element ref="RFX"/>
           |         ^"#]],
    );
}

/// Returns the structure of a schema whose root element has this content, and the findings of its import.
fn structure(content: &str, more: &str) -> String {
    let segment = |tag: &str| {
        format!(
            r#"<xs:element name="{tag}"><xs:complexType><xs:sequence><xs:element name="{tag}01" type="xs:string"/></xs:sequence></xs:complexType></xs:element>"#
        )
    };
    let text = format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:annotation><xs:appinfo><guide standard="X12" version="005010" transaction="850"/></xs:appinfo></xs:annotation>
  <xs:element name="Order"><xs:complexType>{content}</xs:complexType></xs:element>{}{}{}{more}</xs:schema>"#,
        segment("BEG"),
        segment("REF"),
        segment("DTM")
    );
    let imported = match xsd::import(SourceText::new("mine.xsd", &text)) {
        Ok(imported) => imported,
        Err(findings) => return findings.to_string(),
    };
    let body = crate::body(&imported.guides[0]);
    let lines = body.lines().skip_while(|line| *line != "structure").skip(1).map(str::trim);
    let mut seen: Vec<String> = lines.map(str::to_owned).collect();
    seen.extend(imported.findings.iter().map(|finding| format!("{}: {}", finding.code, finding.message)));
    seen.join("\n")
}

/// Regression: the counts of groups were ignored, so that each alternative of a repeated choice was allowed once.
#[test]
fn groups_have_counts_too() {
    let structure = |content: &str| structure(content, "");
    let (begin, reference, date) =
        (r#"<xs:element ref="BEG"/>"#, r#"<xs:element ref="REF"/>"#, r#"<xs:element ref="DTM" maxOccurs="3"/>"#);
    assert_eq!(
        structure(&format!(
            r#"<xs:sequence>{begin}<xs:choice minOccurs="0" maxOccurs="unbounded">{reference}{date}</xs:choice></xs:sequence>"#
        )),
        "segment BEG M 1 position 10\nsegment REF O * position 20\nsegment DTM O * position 20"
    );
    assert_eq!(
        structure(&format!(
            r#"<xs:sequence>{begin}<xs:choice maxOccurs="2">{reference}{date}</xs:choice></xs:sequence>"#
        )),
        "segment BEG M 1 position 10\nsegment REF O 2 position 20\nsegment DTM O 6 position 20"
    );
    // The order within a repetition of the sequence is lost, which the import reports. One element has none.
    assert_eq!(
        structure(&format!(
            r#"<xs:sequence>{begin}<xs:sequence maxOccurs="2">{reference}{date}</xs:sequence></xs:sequence>"#
        )),
        "segment BEG M 1 position 10\nsegment REF M 2 position 20\nsegment DTM M 6 position 20\nDIC-020: Order repeats a sequence of several elements; the guide allows them in any order"
    );
    assert_eq!(
        structure(&format!(
            r#"<xs:sequence>{begin}<xs:sequence minOccurs="0" maxOccurs="5">{reference}</xs:sequence>{date}</xs:sequence>"#
        )),
        "segment BEG M 1 position 10\nsegment REF O 5 position 20\nsegment DTM M 3 position 30"
    );
    assert_eq!(
        structure(&format!(
            r#"<xs:sequence minOccurs="0">{begin}<xs:all maxOccurs="0">{reference}</xs:all>{date}</xs:sequence>"#
        )),
        "segment BEG O 1 position 10\nsegment DTM O 3 position 20"
    );
}

/// Regression: the import left out references to groups without a finding.
#[test]
fn a_reference_to_a_group_is_its_content() {
    let (begin, reference, date) =
        (r#"<xs:element ref="BEG"/>"#, r#"<xs:element ref="REF"/>"#, r#"<xs:element ref="DTM" maxOccurs="3"/>"#);
    for kind in ["sequence", "choice", "all"] {
        for counts in [
            "",
            r#" minOccurs="0""#,
            r#" maxOccurs="2""#,
            r#" minOccurs="0" maxOccurs="unbounded""#,
            r#" maxOccurs="0""#,
        ] {
            for (start, end) in [("<xs:sequence>", "</xs:sequence>"), (r#"<xs:choice maxOccurs="2">"#, "</xs:choice>")]
            {
                let content = format!("{reference}{date}");
                let written = format!("{start}{begin}<xs:{kind}{counts}>{content}</xs:{kind}>{begin}{end}");
                let named =
                    format!(r#"<xs:group name="Head"><xs:annotation/><xs:{kind}>{content}</xs:{kind}></xs:group>"#);
                let referred = format!(r#"{start}{begin}<xs:group ref="Head"{counts}/>{begin}{end}"#);
                let expected = structure(&written, "");
                assert!(expected.contains("segment BEG") && !expected.contains("error"), "{expected}");
                assert_eq!(structure(&referred, &named), expected, "{referred} {named}");
            }
        }
    }
    // A group can be all of the content, and contain groups.
    let groups = format!(
        r#"<xs:group name="A"><xs:sequence>{begin}<xs:group ref="x:B" maxOccurs="4"/></xs:sequence></xs:group><xs:group name="B"><xs:choice>{date}</xs:choice></xs:group>"#
    );
    assert_eq!(
        structure(r#"<xs:group ref="A"/>"#, &groups),
        "segment BEG M 1 position 10\nsegment DTM O 12 position 20"
    );
    let itself = r#"<xs:group name="A"><xs:sequence><xs:group ref="A"/><xs:group ref="A"/></xs:sequence></xs:group>"#;
    assert!(structure(r#"<xs:group ref="A"/>"#, itself).contains("a group must not contain itself"));
    assert!(structure(r#"<xs:group ref="C"/>"#, &groups).contains("error[DIC-011]: group C is not defined"));
    assert_eq!(
        structure(&format!("<xs:sequence><xs:annotation/>{begin}<xs:any/></xs:sequence>"), ""),
        "segment BEG M 1 position 10\nDIC-020: the importer leaves out `any`, which has no form in a guide"
    );
}

/// Regression: a data element with an attribute (`simpleContent`) lost its type.
#[test]
fn simple_content_has_the_type_of_its_base() {
    let plain = ORDER;
    let attribute = r#"<xs:attribute name="note" type="xs:string"/>"#;
    let inline = ORDER.replace(
        r#"<xs:element name="Day" type="xs:date"/>"#,
        &format!(
            r#"<xs:element name="Day"><xs:complexType><xs:simpleContent><xs:extension base="xs:date">{attribute}</xs:extension></xs:simpleContent></xs:complexType></xs:element>"#
        ),
    );
    let named = ORDER.replace(r#"type="Text60""#, r#"type="Noted""#).replace(
        "</xs:schema>",
        &format!(
            r#"<xs:complexType name="Noted"><xs:simpleContent><xs:restriction base="Longer"><xs:maxLength value="60"/></xs:restriction></xs:simpleContent></xs:complexType><xs:complexType name="Longer"><xs:simpleContent><xs:extension base="Text60">{attribute}</xs:extension></xs:simpleContent></xs:complexType></xs:schema>"#
        ),
    );
    let body = |text: &str| {
        let imported = xsd::import(SourceText::new("mine.xsd", text)).unwrap_or_else(|findings| panic!("{findings}"));
        crate::body(&imported.guides[0])
    };
    for schema in [inline, named] {
        assert_ne!(schema, plain);
        assert_eq!(body(&schema), body(plain), "{schema}");
    }
}

#[test]
fn a_cut_off_schema_is_refused() {
    for end in 0..ORDER.trim_end().len() {
        assert!(xsd::import(SourceText::new("mine.xsd", &ORDER[..end])).is_err(), "{end}");
    }
}

/// The search for the facets of a union had no end, and types that lead to others twice multiplied.
#[test]
fn types_without_a_restriction_are_texts_and_multiplied_ones_are_refused() {
    let schema = |types: &str, first: &str| {
        format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:annotation><xs:appinfo><guide standard="X12" version="005010" transaction="850"/></xs:appinfo></xs:annotation>
  <xs:element name="Order"><xs:complexType><xs:sequence>{first}</xs:sequence></xs:complexType></xs:element>{types}</xs:schema>"#
        )
    };
    let segment = r#"<xs:element name="N1"><xs:complexType><xs:sequence><xs:element name="N101" type="U"/></xs:sequence></xs:complexType></xs:element>"#;
    for of in [r#"<xs:union memberTypes="xs:string xs:int"/>"#, r#"<xs:list itemType="xs:int"/>"#] {
        let text = schema(&format!(r#"<xs:simpleType name="U">{of}</xs:simpleType>"#), segment);
        let imported = xsd::import(SourceText::new("mine.xsd", &text)).expect("imported");
        assert!(crate::body(&imported.guides[0]).contains("N101"), "{of}");
    }
    let level = |number: usize| {
        let inner = |name: &str| format!(r#"<xs:element name="{name}{number}" type="T{}"/>"#, number + 1);
        format!(
            r#"<xs:complexType name="T{number}"><xs:sequence>{}{}</xs:sequence></xs:complexType>"#,
            inner("A"),
            inner("B")
        )
    };
    let last = format!(
        r#"<xs:complexType name="T30"><xs:sequence>{}</xs:sequence></xs:complexType>"#,
        segment.replace("U", "xs:string")
    );
    let types: String = (0..30).map(level).collect();
    let text = schema(&format!("{types}{last}"), r#"<xs:element name="Root" type="T0"/>"#);
    let began = std::time::Instant::now();
    let refused = xsd::import(SourceText::new("mine.xsd", &text)).expect_err("too many");
    assert!(refused.to_string().contains("more than 100000 segments and loops"), "{refused}");
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

/// Returns the guide of a schema with one segment N1 of this content, and the findings of its import.
fn segment(elements: &str, types: &str) -> String {
    let text = format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:my="urn:mine">
  <xs:annotation><xs:appinfo><guide standard="X12" version="005010" transaction="850"/></xs:appinfo></xs:annotation>
  <xs:element name="Order"><xs:complexType><xs:sequence><xs:element name="N1"><xs:complexType><xs:sequence>{elements}</xs:sequence></xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element>{types}</xs:schema>"#
    );
    let imported = xsd::import(SourceText::new("mine.xsd", &text)).unwrap_or_else(|findings| panic!("{findings}"));
    let mut seen = crate::body(&imported.guides[0]);
    for finding in imported.findings {
        seen += &format!("{}: {}\n", finding.code, finding.message);
    }
    seen
}

/// Regression: elements after one that the schema leaves out had the place before theirs.
#[test]
fn elements_named_by_their_places_have_these_places() {
    let element = |name: &str| format!(r#"<xs:element name="{name}" type="xs:string"/>"#);
    let elements: String = ["N101", "N104", "N104", "E98"].into_iter().map(element).collect();
    expect![[r#"
        element 98 AN 1..4096
        element N101 AN 1..4096
        element N102 AN 1..4096
        element N103 AN 1..4096
        element N104 AN 1..4096
        element N105 AN 1..4096

        segment N1
          N101 M
          N102 N
          N103 N
          N104 M
          N105 M
          98 M

        structure
          segment N1 M 1 position 10
        DIC-012: N104 follows element 4 of its segment, so it becomes N105
    "#]]
    .assert_eq(&segment(&elements, ""));
}

/// Regression: types of the schema with the name of a built-in type had that type, and facets without a form in a guide had no finding.
#[test]
fn own_types_are_not_the_built_in_ones_and_lost_facets_are_named() {
    let elements = r#"<xs:element name="N101" type="my:date"/><xs:element name="N102" type="xs:date"/>
<xs:element name="N103" minOccurs="2" maxOccurs="3" type="Price"/>"#;
    let types = r#"<xs:simpleType name="date"><xs:restriction base="xs:string"><xs:maxLength value="20"/><xs:pattern value="[0-9]+"/></xs:restriction></xs:simpleType>
<xs:simpleType name="Price"><xs:restriction base="xs:decimal"><xs:minInclusive value="0"/><xs:fractionDigits value="2"/><xs:totalDigits value="7"/></xs:restriction></xs:simpleType>"#;
    expect![[r#"
        element N101 AN 1..20
        element N102 DT 8
        element N103 R 1..7

        segment N1
          N101 M
          N102 M
          N103 M repeat 3

        structure
          segment N1 M 1 position 10
        DIC-020: N103 has minOccurs 2; a guide can require it once only
        DIC-020: the importer leaves out `pattern`, which has no form in a guide
        DIC-020: the importer leaves out `minInclusive`, which has no form in a guide
        DIC-020: the importer leaves out `fractionDigits`, which has no form in a guide
    "#]]
    .assert_eq(&segment(elements, types));
}

/// Regression: each finding counted the lines and columns before it, so the time grew with the square of their number.
#[test]
fn the_time_of_many_findings_grows_with_their_number() {
    let import = |count: usize, end: &str| {
        let many: String = (1..=count).map(|n| format!("<xs:any id=\"a{n}\"/>{end}")).collect();
        let text = format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:annotation><xs:appinfo><guide standard="X12" version="005010" transaction="850"/></xs:appinfo></xs:annotation>{end}<xs:element name="Order"><xs:complexType><xs:sequence><xs:element name="N1"><xs:complexType><xs:sequence><xs:element name="N101" type="xs:string"/></xs:sequence></xs:complexType></xs:element>{end}{many}</xs:sequence></xs:complexType></xs:element></xs:schema>"#
        );
        let began = std::time::Instant::now();
        let imported = xsd::import(SourceText::new("mine.xsd", &text)).expect("imported");
        let time = began.elapsed();
        assert_eq!(imported.findings.len(), count);
        let last = imported.findings.last().and_then(|finding| finding.place.line).expect("a line");
        assert_eq!(last as usize, if end.is_empty() { 1 } else { count + 2 });
        time
    };
    for end in ["\n", ""] {
        let small = (0..3).map(|_| import(2_000, end)).min().expect("three");
        let large = import(32_000, end);
        let allowed = small * 16 * 4 + std::time::Duration::from_millis(250);
        assert!(large < allowed, "{small:?} for 2,000 and {large:?} for 32,000");
    }
}
