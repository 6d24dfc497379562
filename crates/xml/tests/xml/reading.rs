//! Reading elements, and documents that are refused.

use expect_test::{Expect, expect};
use quayline_core::{Limits, Occurs, Scalar, Shape};
use quayline_xml::{RawRecord, TextPosition, XmlReader, XmlStyle};

use crate::documents::{Events, shape};
use crate::laws::all_ways;

fn check(data: &str, expect: Expect) {
    check_with(&XmlStyle::default(), &Limits::default(), data.as_bytes(), expect);
}

fn check_with(style: &XmlStyle, limits: &Limits, data: &[u8], expect: Expect) {
    expect.assert_eq(&read_with(style, limits, data));
}

/// Reads documents, and returns their events and faults.
pub(crate) fn read(data: &str) -> String {
    read_with(&XmlStyle::default(), &Limits::default(), data.as_bytes())
}

fn read_with(style: &XmlStyle, limits: &Limits, data: &[u8]) -> String {
    let mut text = String::new();
    let mut reader = XmlReader::new(&shape(), style, limits).unwrap();
    let (records, end) = all_ways(style, limits, data);
    for (raw, at) in &records {
        let mut events = Events::default();
        match reader.record(RawRecord { raw, at: *at }, &mut events) {
            Ok(()) => text.push_str(&events.text),
            Err(faults) => text.push_str(&format!("{faults}\n")),
        }
    }
    if end != "done" {
        text.push_str(&format!("{end}\n"));
    }
    text
}

#[test]
fn elements_come_in_any_order_and_repeat_as_lists() {
    check(
        "\u{feff}<?xml version='1.0' encoding='utf-8'?>\n<!-- c --><records xmlns:xsi='x'>\n<record>\n <LAST>1</LAST><TAG>a</TAG><TAG xsi:nil='true'/>\
         <!-- c --><TAG/><ADDR><CITY> x </CITY></ADDR></record>\n<record/></records>\n<!-- end -->\n",
        expect![[r#"
            0 {
             12 "1"
             6 [
              6 "a"
              6 null
              6 ""
             ]
             3 {
              4 " x "
             }
             7 [
             ]
            }
            0 {
             6 [
             ]
             7 [
             ]
            }
        "#]],
    );
}

#[test]
fn text_is_put_together_from_its_parts() {
    check(
        "<records><record><_1ST_x0020_NOTE>a&lt;&#x41;<![CDATA[<b>&amp;]]><!-- c -->\r\nd&#13;</_1ST_x0020_NOTE><ID escaped='true'>\\u0000\\\\</ID></record></records>",
        expect![[r#"
            0 {
             2 "a<A<b>&amp;\nd\r"
             1 "\0\\"
             6 [
             ]
             7 [
             ]
            }
        "#]],
    );
}

#[test]
fn attributes_and_the_text_beside_them_are_fields() {
    check(
        "<records><record seq='7' xml:lang='de'><WEIGHT unit=\"a&lt;&#10;&quot;\"> 1<!-- c -->.<![CDATA[5]]> </WEIGHT></record>\n\
         <record seq=''><WEIGHT escaped='true'>\\u0000</WEIGHT></record><record><WEIGHT unit='&b;' colour='red'/></record></records>",
        expect![[r#"
            0 {
             16 "7"
             13 {
              14 "a<\n\""
              15 "1.5"
             }
             6 [
             ]
             7 [
             ]
            }
            0 {
             16 ""
             13 {
              15 "\0"
             }
             6 [
             ]
             7 [
             ]
            }
            error[XML-025]: a reference to an entity that is not lt, gt, amp, apos or quot
              at line 2, column 71, WEIGHT.@unit

            hint: write the character itself, or a reference such as &#233;

            error[XML-024]: the attribute colour is not known here
              at line 2, column 71, WEIGHT

            hint: put the value into an element, or describe the attribute
        "#]],
    );
}

#[test]
fn an_attribute_has_its_name_without_a_prefix_and_once() {
    check(
        "<records><record q:seq='a' q:seq.escaped='true'/><record a:seq='1' b:seq='2'/><record><MARKED escaped='x' nil='true' \
         text.escaped='1'>\\u0001</MARKED></record></records>",
        expect![[r#"
            0 {
             16 "a"
             6 [
             ]
             7 [
             ]
            }
            error[XML-024]: the attribute b:seq is not known here
              at line 1, column 50

            hint: put the value into an element, or describe the attribute
            0 {
             17 {
              18 "x"
              19 "true"
              20 "\u{1}"
             }
             6 [
             ]
             7 [
             ]
            }
        "#]],
    );
}

#[test]
fn a_document_type_that_only_names_a_file_is_passed_over() {
    let style = XmlStyle { root: None, record: "CUST".into(), ..XmlStyle::default() };
    check_with(
        &style,
        &Limits::default(),
        b"<?xml version='1.0'?>\n<!DOCTYPE CUST SYSTEM \"http://x.example/a>b.dtd\">\n<CUST seq='1'/>",
        expect![[r#"
            0 {
             16 "1"
             6 [
             ]
             7 [
             ]
            }
        "#]],
    );
    check(
        "<!DOCTYPE records PUBLIC '-//a//b' 'c'><records><record seq='2'/></records>",
        expect![[r#"
        0 {
         16 "2"
         6 [
         ]
         7 [
         ]
        }
    "#]],
    );
    check(
        "<!DOCTYPE records [ <!ENTITY a 'b'> ]><records/>",
        expect![[r#"
            error[XML-011]: the file has a document type definition with declarations
              at line 1, column 1

            hint: remove the <!DOCTYPE …>: definitions are not read, so that entities cannot expand without end
        "#]],
    );
    check(
        "<records><!DOCTYPE records></records>",
        expect![[r#"
            error[XML-011]: the file has a document type definition with declarations
              at line 1, column 10

            hint: remove the <!DOCTYPE …>: definitions are not read, so that entities cannot expand without end
        "#]],
    );
}

#[test]
fn prefixes_are_cut() {
    check(
        "<q:records xmlns:q='u'><q:record><q:ID>1</q:ID></q:record></q:records>",
        expect![[r#"
        0 {
         1 "1"
         6 [
         ]
         7 [
         ]
        }
    "#]],
    );
}

#[test]
fn a_file_may_have_no_root() {
    let style = XmlStyle { root: None, record: "CUST".into(), ..XmlStyle::default() };
    check_with(
        &style,
        &Limits::default(),
        b"<CUST><ID>1</ID></CUST>\n<CUST/>",
        expect![[r#"
        0 {
         1 "1"
         6 [
         ]
         7 [
         ]
        }
        0 {
         6 [
         ]
         7 [
         ]
        }
    "#]],
    );
}

#[test]
fn what_does_not_fit_the_shape_is_told_with_its_place() {
    check(
        "<records>\n<record><ID>1</ID>\n  <id>2</id><CAR><MAKE>a</MAKE></CAR><CAR>x<COLOUR><A>b</A></COLOUR></CAR><ID>3</ID>\n<CAR/><LAST unit='EUR'>1<B/></LAST></record>\n<other><ID/></other></records>",
        expect![[r#"
            error[XML-020]: the element id is not known here
              at line 3, column 3

            hint: `ID` is expected

            error[XML-023]: text appears where only elements are expected
              at line 3, column 43, CAR[1]

            hint: put the text into an element of the group

            error[XML-020]: the element COLOUR is not known here
              at line 3, column 44, CAR[1]

            hint: remove the element or correct its name

            error[XML-021]: the element occurs here a second time
              at line 3, column 75, ID

            hint: keep one of the elements; only fields with OCCURS repeat

            error[XML-022]: the list continues after other elements
              at line 4, column 1, CAR

            hint: put the elements of the list next to each other

            error[XML-024]: the attribute unit is not known here
              at line 4, column 7, LAST

            hint: put the value into an element, or describe the attribute

            error[XML-020]: the element B is not known here
              at line 4, column 25, LAST

            hint: remove the element or correct its name
            error[XML-020]: the element other is not known here
              at line 5, column 1

            hint: `record` is expected
        "#]],
    );
}

#[test]
fn bad_references_escapes_and_nulls_are_told() {
    check(
        "<records><record><ID>&nbsp;</ID><TAG>&#0;</TAG><TAG escaped='true'>\\x</TAG><LAST xsi:nil='1'>2</LAST></record></records>",
        expect![[r#"
            error[XML-025]: a reference to an entity that is not lt, gt, amp, apos or quot
              at line 1, column 22, ID

            hint: write the character itself, or a reference such as &#233;

            error[XML-010]: a character that XML 1.0 does not allow
              at line 1, column 38, TAG[0]

            hint: the program that wrote the file must escape `<` and `&` and leave out control characters

            error[XML-026]: a backslash begins neither \\ nor \uHHHH
              at line 1, column 48, TAG[1]

            hint: double each backslash, or leave out the attribute `escaped`

            error[XML-027]: the element is null (nil) and has content
              at line 1, column 76, LAST

            hint: leave out the attribute `nil` or the content
        "#]],
    );
}

#[test]
fn what_is_not_well_formed_is_refused() {
    check(
        "<records><record><ID>1</LAST></record></records>",
        expect![[r#"
        error[XML-010]: an end tag that does not close the element that is open
          at line 1, column 23

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records><record><ID>a & b</ID></record></records>",
        expect![[r#"
        error[XML-010]: `&` begins no reference
          at line 1, column 24

        hint: the program that wrote the file must escape `<` and `&` and leave out control characters
    "#]],
    );
    check(
        "<records><record><ID>\u{1}</ID></record></records>",
        expect![[r#"
        error[XML-010]: a character that XML 1.0 does not allow
          at line 1, column 22

        hint: the program that wrote the file must escape `<` and `&` and leave out control characters
    "#]],
    );
    check(
        "<records><record><ID>1<!-- a -- b --></ID></record></records>",
        expect![[r#"
        error[XML-010]: `--` in a comment, which only ends it, as `-->`
          at line 1, column 30

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records><!-- a ---><record/></records>",
        expect![[r#"
        error[XML-010]: `--` in a comment, which only ends it, as `-->`
          at line 1, column 17

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records a='1' b='2' a='3'><record/></records>",
        expect![[r#"
        error[XML-010]: an attribute is not of the form name="value", or occurs twice
          at line 1, column 1

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records a=1><record/></records>",
        expect![[r#"
        error[XML-010]: an attribute is not of the form name="value", or occurs twice
          at line 1, column 1

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records><record a=b a=c/></records>",
        expect![[r#"
        error[XML-010]: an attribute is not of the form name="value", or occurs twice
          at line 1, column 10

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records>text<record/></records>",
        expect![[r#"
        error[XML-010]: text outside of any element
          at line 1, column 10

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records/><records/>",
        expect![[r#"
        error[XML-010]: a file has exactly one outermost element
          at line 1, column 11

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records><record/></other>",
        expect![[r#"
        0 {
         6 [
         ]
         7 [
         ]
        }
        error[XML-010]: an end tag that does not close the element that is open
          at line 1, column 19

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "<records><record><!x></record></records>",
        expect![[r#"
        error[XML-010]: `<` begins no markup
          at line 1, column 18

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
    check(
        "",
        expect![[r#"
        error[XML-010]: a file has exactly one outermost element
          at line 1, column 1

        hint: correct the file with the program that wrote it: it is not well-formed XML
    "#]],
    );
}

#[test]
fn a_document_type_definition_is_refused() {
    check(
        "<!DOCTYPE lolz [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;\">]><records><record><ID>&lol2;</ID></record></records>",
        expect![[r#"
            error[XML-011]: the file has a document type definition with declarations
              at line 1, column 1

            hint: remove the <!DOCTYPE …>: definitions are not read, so that entities cannot expand without end
        "#]],
    );
}

#[test]
fn other_encodings_are_refused() {
    check(
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><records/>",
        expect![[r#"
        error[XML-012]: the XML declaration names the encoding ISO-8859-1, and only UTF-8 is read
          at line 1, column 1

        hint: if the file is in UTF-8, change the declaration to encoding="UTF-8"; otherwise convert the file too, for example with `iconv -f NAME -t UTF-8`
    "#]],
    );
    check_with(
        &XmlStyle::default(),
        &Limits::default(),
        b"\xff\xfe<\0r\0",
        expect![[r#"
        error[XML-012]: the file is not in UTF-8
          at line 1, column 1

        hint: convert the file to UTF-8, for example with `iconv -t UTF-8`
    "#]],
    );
    check_with(
        &XmlStyle::default(),
        &Limits::default(),
        b"<records><record><ID>\xe4</ID></record></records>",
        expect![[r#"
            error[XML-012]: the file is not in UTF-8
              at line 1, column 22

            hint: convert the file to UTF-8, for example with `iconv -t UTF-8`
        "#]],
    );
}

#[test]
fn the_end_inside_an_element_is_a_truncation() {
    check(
        "<records>\n<record/>\n<record><ID>1",
        expect![[r#"
        0 {
         6 [
         ]
         7 [
         ]
        }
        error[XML-013]: the file ends inside an element
          at line 3, column 14

        hint: the transfer stopped early: compare the file's size with the sender's
    "#]],
    );
    check(
        "<records><record/>",
        expect![[r#"
        0 {
         6 [
         ]
         7 [
         ]
        }
        error[XML-013]: the file ends inside an element
          at line 1, column 19

        hint: the transfer stopped early: compare the file's size with the sender's
    "#]],
    );
}

#[test]
fn limits_hold() {
    let limits = Limits { record_bytes_max: 40, depth_max: 3, ..Limits::default() };
    let style = XmlStyle::default();
    check_with(
        &style,
        &limits,
        b"<records><record><A><B><C/></B></A></record></records>",
        expect![[r#"
        error[XML-020]: the element A is not known here
          at line 1, column 18

        hint: remove the element or correct its name
    "#]],
    );
    check_with(
        &style,
        &limits,
        b"<records><record><A><B><C></C></B></A></record></records>",
        expect![[r#"
            error[XML-015]: elements are nested deeper than 3
              at line 1, column 24

            hint: look for an element nested by mistake or one that is not closed, or allow more with `--limit depth=N`
        "#]],
    );
    check_with(
        &style,
        &limits,
        b"<records><record><ID>12345678901234567890</ID></record></records>",
        expect![[r#"
            error[XML-014]: an element is longer than 40 bytes
              at line 1, column 10

            hint: look for an element that is not closed, or allow more with `--limit record-bytes=N`
        "#]],
    );
}

/// A truth value came as text, so conditions of maps on it were always false.
#[test]
fn truth_values_have_four_forms_and_others_are_refused() {
    let mut shape = quayline_core::Shape::builder("record");
    shape.scalar("b", quayline_core::Scalar::Bool, quayline_core::Occurs::Optional);
    let mut reader = XmlReader::new(&shape.finish(), &XmlStyle::default(), &Limits::default()).unwrap();
    for (word, expected) in
        [("true", "true"), (" 1\n", "true"), ("false", "false"), ("0", "false"), ("TRUE", ""), ("xyz", ""), ("", "")]
    {
        let raw = format!("<record><b>{word}</b></record>");
        let mut events = Sent(String::new());
        let said = match reader
            .record(RawRecord { raw: raw.as_bytes(), at: quayline_xml::TextPosition::START }, &mut events)
        {
            Ok(()) => events.0,
            Err(faults) => {
                assert_eq!(faults.faults[0].code().0, "XML-029");
                String::new()
            }
        };
        let expected = if expected.is_empty() { String::new() } else { format!("Bool({expected})") };
        assert_eq!(said, expected, "{word:?}");
    }
}

struct Sent(String);

impl quayline_core::Sink for Sent {
    fn enter(&mut self, _: quayline_core::NodeId) {}
    fn leave(&mut self, _: quayline_core::NodeId) {}
    fn open_list(&mut self, _: quayline_core::NodeId) {}
    fn close_list(&mut self, _: quayline_core::NodeId) {}
    fn value(&mut self, _: quayline_core::NodeId, value: quayline_core::Value<'_>) {
        self.0 = format!("{value:?}");
    }
    fn discard(&mut self) {}
}

/// The prefix of `xsi:type` applied to the whole record, and could be empty. Quayline ignored attributes with other names.
#[test]
fn a_prefix_of_xsi_type_means_that_within_its_element_only() {
    const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";
    let of = |record: &str| format!("<records>{}</records>", record.replace("{}", INSTANCE));
    // A declaration without a prefix is not one.
    check(
        &of("<record xmlns:='{}' qty='5'/>"),
        expect![[r#"
        error[XML-024]: the attribute qty is not known here
          at line 1, column 10

        hint: put the value into an element, or describe the attribute
    "#]],
    );
    // A sibling with the prefix of another namespace, and a child of the element itself.
    check(
        &of(
            "<record xmlns:a='urn:app'><ADDR xmlns:a='{}' a:type='x'><CITY a:type='x'>c</CITY></ADDR><LAST a:qty='5'>1</LAST></record>",
        ),
        expect![[r#"
            error[XML-024]: the attribute a:qty is not known here
              at line 1, column 137, LAST

            hint: put the value into an element, or describe the attribute
        "#]],
    );
    check(
        &of("<record xmlns:a='{}'><ADDR xmlns:a='urn:app' a:qty='5'/><LAST a:qty='5'>1</LAST></record>"),
        expect![[r#"
            error[XML-024]: the attribute qty is not known here
              at line 1, column 70, ADDR

            hint: put the value into an element, or describe the attribute
        "#]],
    );
    // Another prefix in a nested element.
    check(
        &of(
            "<record xmlns:i='{}' i:x='1'><ADDR xmlns:j='{}' j:x='1' i:x='1'/><LAST i:type='t'>1</LAST><TAG j:x='1'/></record>",
        ),
        expect![[r#"
            error[XML-024]: the attribute j:x is not known here
              at line 1, column 178, TAG[0]

            hint: put the value into an element, or describe the attribute
        "#]],
    );
}

/// Each element was compared with every prefix that the record declares: a document of a few megabytes took minutes.
#[test]
fn very_many_prefixes_cost_no_more_than_their_declaration() {
    const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";
    let declared: String = (0..20_000).map(|n| format!(" xmlns:a{n}='{INSTANCE}'")).collect();
    let elements = "<TAG a9:x='1'/>".repeat(100_000);
    let raw = format!("<record{declared}>{elements}<LAST a900:x='1'>1</LAST></record>");
    let mut reader = XmlReader::new(&shape(), &XmlStyle::default(), &Limits::default()).unwrap();
    let begin = std::time::Instant::now();
    let faults =
        reader.record(RawRecord { raw: raw.as_bytes(), at: quayline_xml::TextPosition::START }, &mut Events::default());
    assert!(begin.elapsed() < std::time::Duration::from_secs(30), "{:?}", begin.elapsed());
    // A prefix beyond the limit is unknown.
    let faults = faults.unwrap_err().to_string();
    assert!(faults.contains("the attribute a900:x is not known here") && !faults.contains("a9:x"), "{faults}");
}

/// A reference to a character that XML does not allow was a fault in text, but not in an attribute.
#[test]
fn attributes_hold_no_forbidden_characters() {
    for (ignore_unknown, record) in [
        (false, "<record seq='a&#1;'><ID>1</ID></record>"),
        (false, "<record><WEIGHT unit='&#x8;'>1</WEIGHT></record>"),
        (true, "<record more='&#xFFFE;'><ID>1</ID></record>"),
    ] {
        let style = XmlStyle { ignore_unknown, ..XmlStyle::default() };
        let mut reader = XmlReader::new(&shape(), &style, &Limits::default()).unwrap();
        let raw = RawRecord { raw: record.as_bytes(), at: quayline_xml::TextPosition::START };
        let faults = reader.record(raw, &mut Events::default()).unwrap_err().to_string();
        assert!(faults.starts_with("error[XML-010]: a character that XML 1.0 does not allow"), "{record}: {faults}");
        let good = record.replace("#1;", "#9;").replace("#x8;", "#xa;").replace("#xFFFE;", "#xE9;");
        let raw = RawRecord { raw: good.as_bytes(), at: quayline_xml::TextPosition::START };
        assert!(reader.record(raw, &mut Events::default()).is_ok(), "{good}");
    }
}

/// A reference to an undeclared entity in ignored content passed without a finding, although such a document is not well-formed.
#[test]
fn ignored_content_is_well_formed() {
    let style = XmlStyle { ignore_unknown: true, ..XmlStyle::default() };
    let told = |record: &str| {
        let raw = format!("<record {record}</record>");
        let mut reader = XmlReader::new(&shape(), &style, &Limits::default()).unwrap();
        let at = quayline_xml::TextPosition::START;
        match reader.record(RawRecord { raw: raw.as_bytes(), at }, &mut Events::default()) {
            Ok(()) => "read".to_owned(),
            Err(faults) => faults.to_string().lines().take(2).collect::<Vec<_>>().join("\n"),
        }
    };
    assert_eq!(told("more='&amp;&#233;'><ID>1</ID><X a='&lt;'>&gt;<Y/>&#65;</X>"), "read");
    for (record, column) in [
        ("more='&bad;'><ID>1</ID>", 1),
        ("xml:lang='&bad;'><ID>1</ID>", 1),
        ("xsi:schemaLocation='&bad;'><ID>1</ID>", 1),
        ("xsi:type='&bad;'><ID>1</ID>", 1),
        ("xmlns='urn:x&bad;'><ID>1</ID>", 1),
        ("xmlns:b='&bad;'><ID>1</ID>", 1),
        ("><ID xml:lang='&bad;'>1</ID>", 10),
        ("><ID more='&bad;'>1</ID>", 10),
        ("><ID>1</ID><X a='&bad;'/>", 20),
        ("><ID>1</ID><X>1&bad;</X>", 24),
        ("><ID>1</ID><X><Y><Z a='1' b='&bad;'/></Y></X>", 26),
        ("><ID>1</ID><X><Y b='&bad;'></Y></X>", 23),
    ] {
        let expected = format!(
            "error[XML-025]: a reference to an entity that is not lt, gt, amp, apos or quot\n  at line 1, column {column}"
        );
        assert_eq!(told(record), expected, "{record}");
    }
    assert!(told("><ID>1</ID><X><Y></X></Y>").contains("an end tag that does not close the element"));
}

/// `xsi:nil` made a value null without a finding although `xsi` was the prefix of another namespace, or of none.
#[test]
fn in_documents_of_a_schema_xsi_is_what_it_is_declared_for() {
    const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";
    let style = XmlStyle { root: None, is_described: true, ..XmlStyle::default() };
    for (record, expected) in [
        ("<record xmlns:xsi='{}'><LAST xsi:nil='true'/></record>", None),
        ("<record xmlns:i='{}'><LAST i:nil='true'/></record>", None),
        ("<record xmlns:xsi='urn:other'><LAST xmlns:xsi='{}' xsi:nil='true'/></record>", None),
        (
            "<record xmlns:p='urn:p'><LAST xsi:nil='true'/></record>",
            Some("the prefix of the attribute xsi:nil is not declared"),
        ),
        (
            "<record xmlns:xsi='urn:other'><LAST xsi:nil='true'/></record>",
            Some("the attribute xsi:nil is not known here"),
        ),
        (
            "<record xmlns:xsi='{}'><LAST xmlns:xsi='urn:other' xsi:nil='true'/></record>",
            Some("the attribute xsi:nil is not known here"),
        ),
        (
            "<record><ADDR xmlns:xsi='{}'/><LAST xsi:nil='true'/></record>",
            Some("the prefix of the attribute xsi:nil is not declared"),
        ),
        ("<record xsi:schemaLocation='a b'/>", Some("the prefix of the attribute xsi:schemaLocation is not declared")),
        ("<record><LAST p:qty='5'>1</LAST></record>", Some("the prefix of the attribute p:qty is not declared")),
        ("<record xml:lang='de'/>", None),
    ] {
        let raw = record.replace("{}", INSTANCE);
        let mut reader = XmlReader::new(&shape(), &style, &Limits::default()).unwrap();
        let at = quayline_xml::TextPosition::START;
        let read = reader.record(RawRecord { raw: raw.as_bytes(), at }, &mut Events::default());
        let found = read.err().map(|faults| faults.faults.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(found, expected.map(|message| vec![message.to_owned()]), "{record}");
    }
}

/// `xsi:nil` with white space, or with another word than the four, was passed over, so the element had content. The element around the records may
/// not have an undeclared entity either.
#[test]
fn nil_is_a_truth_value() {
    let told = |data: &str| {
        let mut text = String::new();
        let (records, end) = all_ways(&XmlStyle::default(), &Limits::default(), data.as_bytes());
        let mut reader = XmlReader::new(&shape(), &XmlStyle::default(), &Limits::default()).unwrap();
        for (raw, at) in &records {
            let mut events = Sent(String::new());
            match reader.record(RawRecord { raw, at: *at }, &mut events) {
                Ok(()) => text.push_str(&events.0),
                Err(faults) => text.push_str(faults.to_string().lines().next().unwrap_or_default()),
            }
        }
        if end == "done" { text } else { end }
    };
    let last =
        |attribute: &str, content: &str| told(&format!("<r><record><LAST {attribute}>{content}</LAST></record></r>"));
    for word in ["true", " true\n", "1", "&#49;", "\t1 "] {
        assert_eq!(last(&format!("xsi:nil='{word}'"), ""), "Null", "{word:?}");
    }
    for word in ["false", " 0"] {
        assert_eq!(last(&format!("xsi:nil='{word}'"), "1"), last("", "1"), "{word:?}");
    }
    for word in ["yes", "TRUE", "", "t rue"] {
        let expected = "error[XML-029]: xsi:nil is not a truth value: expected true, false, 1 or 0";
        assert_eq!(last(&format!("xsi:nil='{word}'"), "1"), expected, "{word:?}");
    }
    let entity = "error[XML-025]: a reference to an entity that is not lt, gt, amp, apos or quot";
    assert_eq!(last("xsi:nil='&bad;'", "1"), entity);
    assert!(told("<r a='&bad;'><record/></r>").contains(entity));
    assert!(told("<r xmlns='&bad;'><record/></r>").contains(entity));
}

/// Two attributes with one local name in different namespaces are well-formed: the one without a prefix is the field.
#[test]
fn an_attribute_without_a_prefix_goes_before_one_with_a_prefix() {
    for ignore_unknown in [false, true] {
        let style = XmlStyle { ignore_unknown, ..XmlStyle::default() };
        let mut reader = XmlReader::new(&shape(), &style, &Limits::default()).unwrap();
        for tag in ["z:seq='2' seq='1'", "seq='1' z:seq='2'"] {
            let raw = format!("<record xmlns:z='urn:z' {tag}/>");
            let mut events = Events::default();
            let at = quayline_xml::TextPosition::START;
            let read = reader.record(RawRecord { raw: raw.as_bytes(), at }, &mut events);
            match read {
                Ok(()) => assert!(ignore_unknown && events.text.contains("16 \"1\""), "{tag}: {}", events.text),
                Err(faults) => {
                    assert!(!ignore_unknown, "{faults}");
                    assert_eq!(faults.faults[0].to_string(), "the attribute z:seq is not known here");
                }
            }
        }
    }
}

/// An attribute of another namespace was read as the attribute of the schema.
#[test]
fn attributes_of_other_namespaces_are_not_those_of_the_schema() {
    let style = XmlStyle { root: None, is_described: true, ..XmlStyle::default() };
    let found = |style: &XmlStyle, tag: &str| {
        let mut reader = XmlReader::new(&shape(), style, &Limits::default()).unwrap();
        let raw = format!("<record xmlns:q='urn:q' {tag}/>");
        let mut events = Events::default();
        let at = quayline_xml::TextPosition::START;
        let read = reader.record(RawRecord { raw: raw.as_bytes(), at }, &mut events);
        read.map_or_else(|faults| faults.faults[0].to_string(), |()| events.text.contains("16 \"7\"").to_string())
    };
    assert_eq!(found(&style, "seq='7'"), "true");
    assert_eq!(found(&style, "q:seq='7'"), "the attribute q:seq is not known here");
    assert_eq!(found(&style, "seq='7' xml:space='preserve'"), "true");
    assert_eq!(
        found(&XmlStyle { ignore_unknown: true, ..style.clone() }, "seq='7' xml:space='preserve' q:x=''"),
        "true"
    );
    let mut of_node = vec![1; shape().len()];
    of_node[0] = 1;
    let namespaces = Some(quayline_xml::Namespaces { uris: vec!["urn:q".to_owned()], of_node });
    assert_eq!(found(&XmlStyle { namespaces, ..style }, "q:seq='7'"), "true");
}

/// Each attribute with a prefix was compared with all others, which were copied for it.
#[test]
fn many_attributes_with_prefixes_take_a_time_that_grows_with_their_number() {
    const COUNT: usize = 40_000;
    let mut reader = XmlReader::new(&shape(), &XmlStyle::default(), &Limits::default()).unwrap();
    let prefixed: String = (0..COUNT).map(|number| format!(r#" p{number}:seq="""#)).collect();
    let raw = format!(r#"<record{prefixed} seq="x"/>"#);
    let record = RawRecord { raw: raw.as_bytes(), at: TextPosition { line: 1, column: 1 } };
    let mut events = Events::default();
    let began = std::time::Instant::now();
    let faults = reader.record(record, &mut events).unwrap_err();
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(faults.to_string().contains("the attribute p0:seq is not known here"), "{faults}");
}

/// A null element with a text of its own and elements was read with its elements, and the null was lost.
#[test]
fn a_null_element_with_mixed_content_has_a_null_text_and_no_elements() {
    let text = || Scalar::Text { chars_max: None };
    let mut b = Shape::builder("R");
    b.open("p", Occurs::Optional);
    b.scalar("@k", text(), Occurs::Optional);
    b.scalar("b", text(), Occurs::Optional);
    b.scalar("$text", text(), Occurs::Optional);
    b.close();
    let style = XmlStyle { root: None, record: "R".into(), ..XmlStyle::default() };
    let mut reader = XmlReader::new(&b.finish(), &style, &Limits::default()).unwrap();
    let mut read = |content: &str| {
        let raw = format!("<R>{content}</R>");
        let mut events = Events::default();
        let record = RawRecord { raw: raw.as_bytes(), at: TextPosition::START };
        match reader.record(record, &mut events) {
            Ok(()) => events.text.split_whitespace().collect::<Vec<_>>().join(" "),
            Err(faults) => faults.faults.iter().map(|fault| format!("{} {}", fault.code(), fault.path)).collect(),
        }
    };
    assert_eq!(read("<p xsi:nil='true'/>"), "0 { 1 { 4 null } }");
    assert_eq!(read("<p xsi:nil='true' k='1'>\n</p>"), "0 { 1 { 2 \"1\" 4 null } }");
    assert_eq!(read("<p xsi:nil='true' k='1'><b>1</b></p>"), "XML-027 p");
    assert_eq!(read("<p xsi:nil='true'><b/></p>"), "XML-027 p");
    assert_eq!(read("<p xsi:nil='true'>x</p>"), "XML-027 p.$text");
    assert_eq!(read("<p xsi:nil='false'><b>1</b></p>"), "0 { 1 { 3 \"1\" } }");
}
