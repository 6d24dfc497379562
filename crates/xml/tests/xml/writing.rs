//! Form of written elements.

use expect_test::{Expect, expect};
use quayline_core::{Limits, NodeId, Occurs, Scalar, Shape, Sink, Value};
use quayline_xml::{Spacing, XmlReader, XmlStyle, XmlWriter};

const TEXT: Scalar = Scalar::Text { chars_max: None };

fn write(style: XmlStyle, expect: Expect) {
    let mut b = Shape::builder("R");
    let id = b.scalar("ID", TEXT, Occurs::Once);
    let group = b.open("1ST", Occurs::Many { min: 0, max: Some(2) });
    let tag = b.scalar("TAG", TEXT, Occurs::Many { min: 0, max: Some(2) });
    let mut writer = XmlWriter::new(&b.finish(), style).unwrap();
    writer.begin();
    writer.enter(NodeId::ROOT);
    writer.value(id, Value::Int(-5, 2));
    writer.open_list(group);
    writer.enter(group);
    writer.open_list(tag);
    writer.value(tag, Value::Text("a<\r\u{0}\\"[..].as_bytes().into()));
    writer.value(tag, Value::Null);
    writer.value(tag, Value::Ascii(b"a<&>\"'"[..].into()));
    writer.value(tag, Value::Ascii(b""[..].into()));
    writer.close_list(tag);
    writer.leave(group);
    writer.enter(group);
    writer.leave(group);
    writer.close_list(group);
    writer.leave(NodeId::ROOT);
    writer.enter(NodeId::ROOT);
    writer.value(id, Value::Bool(true));
    writer.discard();
    writer.enter(NodeId::ROOT);
    writer.value(id, Value::Raw(b"\x40\xff"));
    writer.leave(NodeId::ROOT);
    writer.end();
    expect.assert_eq(std::str::from_utf8(writer.bytes()).unwrap());
}

#[test]
fn attributes_stand_in_the_tag_whenever_they_come() {
    let mut b = Shape::builder("R");
    let id = b.scalar("@id", TEXT, Occurs::Once);
    let money = b.open("money", Occurs::Many { min: 0, max: None });
    let currency = b.scalar("@currency", TEXT, Occurs::Once);
    let kind = b.scalar("@kind", TEXT, Occurs::Optional);
    let text = b.scalar("$text", TEXT, Occurs::Once);
    b.close();
    let note = b.scalar("note", TEXT, Occurs::Optional);
    let shape = b.finish();
    for spacing in [Spacing::Compact, Spacing::Pretty] {
        let style = XmlStyle { root: None, record: "order".into(), spacing, ..XmlStyle::default() };
        let mut writer = XmlWriter::new(&shape, style).unwrap();
        writer.enter(NodeId::ROOT);
        writer.open_list(money);
        writer.enter(money);
        writer.value(currency, Value::Ascii(b"a\"<&\t\n"[..].into()));
        writer.value(text, Value::Int(150, 2));
        writer.value(kind, Value::Null);
        writer.leave(money);
        writer.enter(money);
        writer.value(text, Value::Text("\u{0}"[..].as_bytes().into()));
        writer.value(kind, Value::Text("\u{1}"[..].as_bytes().into()));
        writer.value(currency, Value::Ascii(b"EUR"[..].into()));
        writer.leave(money);
        writer.close_list(money);
        writer.value(note, Value::Ascii(b"n"[..].into()));
        writer.value(id, Value::Ascii(b"1"[..].into()));
        writer.leave(NodeId::ROOT);
        let written = std::str::from_utf8(writer.bytes()).unwrap();
        match spacing {
            Spacing::Compact => expect![[r#"
                <order xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" id="1"><money currency="a&quot;&lt;&amp;&#9;&#10;">1.50</money><money escaped="true" kind.escaped="true" kind="\u0001" currency="EUR">\u0000</money><note>n</note></order>
            "#]].assert_eq(written),
            Spacing::Pretty => expect![[r#"
                <order xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" id="1">
                  <money currency="a&quot;&lt;&amp;&#9;&#10;">1.50</money>
                  <money escaped="true" kind.escaped="true" kind="\u0001" currency="EUR">\u0000</money>
                  <note>n</note>
                </order>
            "#]].assert_eq(written),
        }
    }
}

#[test]
fn a_record_a_line() {
    write(
        XmlStyle::default(),
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <records xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
        <record><ID>-0.05</ID><_1ST><TAG escaped="true">a&lt;&#13;\u0000\\</TAG><TAG xsi:nil="true"/><TAG>a&lt;&amp;&gt;"'</TAG><TAG></TAG></_1ST><_1ST></_1ST></record>
        <record><ID>0x40ff</ID></record>
        </records>
    "#]],
    );
}

#[test]
fn an_element_a_line() {
    write(
        XmlStyle { spacing: Spacing::Pretty, ..XmlStyle::default() },
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <records xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
          <record>
            <ID>-0.05</ID>
            <_1ST>
              <TAG escaped="true">a&lt;&#13;\u0000\\</TAG>
              <TAG xsi:nil="true"/>
              <TAG>a&lt;&amp;&gt;"'</TAG>
              <TAG></TAG>
            </_1ST>
            <_1ST>
            </_1ST>
          </record>
          <record>
            <ID>0x40ff</ID>
          </record>
        </records>
    "#]],
    );
}

#[test]
fn records_without_a_root() {
    write(
        XmlStyle { root: None, record: "CUST".into(), ..XmlStyle::default() },
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <CUST xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><ID>-0.05</ID><_1ST><TAG escaped="true">a&lt;&#13;\u0000\\</TAG><TAG xsi:nil="true"/><TAG>a&lt;&amp;&gt;"'</TAG><TAG></TAG></_1ST><_1ST></_1ST></CUST>
        <CUST xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><ID>0x40ff</ID></CUST>
    "#]],
    );
}

#[test]
fn names_that_fall_together_or_are_none_are_refused() {
    let mut b = Shape::builder("R");
    b.open("G", Occurs::Once);
    b.scalar("_1", TEXT, Occurs::Once);
    b.scalar("1", TEXT, Occurs::Once);
    let shape = b.finish();
    let refused = |style| XmlWriter::new(&shape, style).map(|_| ()).unwrap_err().to_string();
    expect![[r#"
        error[XML-001]: G._1 and G.1 would both be the element _1

        hint: rename one of them in the interface"#]]
    .assert_eq(&refused(XmlStyle::default()));
    expect![[r#"
        error[XML-002]: `my record` is not an XML element name

        hint: write for example `my_x0020_record`"#]]
    .assert_eq(&refused(XmlStyle { record: "my record".into(), ..XmlStyle::default() }));
}

/// A mark says that another attribute, or the text, is escaped. A reader would mistake an attribute with the same name for the mark.
#[test]
fn attributes_that_would_be_marks_are_refused() {
    let errors = |names: &[&str]| {
        let mut b = Shape::builder("R");
        b.open("G", Occurs::Once);
        names.iter().for_each(|name| _ = b.scalar(*name, TEXT, Occurs::Optional));
        let shape = b.finish();
        let written = XmlWriter::new(&shape, XmlStyle::default()).err();
        let read = XmlReader::new(&shape, &XmlStyle::default(), &Limits::default()).err();
        assert_eq!(written.is_some(), read.is_some(), "{names:?}");
        written.map_or_else(String::new, |findings| findings.to_string().lines().next().unwrap_or_default().to_owned())
    };
    let marks =
        |name: &str| format!("error[XML-001]: G.@{name}: the attribute {name} marks another attribute or the text");
    assert_eq!(errors(&["@a", "@a.escaped"]), marks("a.escaped"));
    // Two names become one mark, because the writer first replaces characters that XML does not allow in names.
    assert_eq!(
        errors(&["@a b", "@a_x0020_b.escaped"]),
        "error[XML-001]: G.@a_x0020_b.escaped: the attribute a_x0020_b.escaped marks another attribute or the text"
    );
    assert_eq!(errors(&["@1", "@_1"]), "error[XML-001]: G.@1 and G.@_1 would both be the attribute _1");
    assert_eq!(errors(&["@escaped", "@text.escaped", "$text"]), marks("text.escaped"));
    assert_eq!(errors(&["@text", "@text.escaped"]), marks("text.escaped"));
    for allowed in
        [&["@escaped", "$text"][..], &["@text.escaped", "$text"], &["@a", "a.escaped"], &["@b.escaped", "@a"]]
    {
        assert_eq!(errors(allowed), "", "{allowed:?}");
    }
}
