//! Bytes from the standard's tables of encodings, and their values.

use quayline_amqp::{
    Array, BodyKind, DecodeError, DeliveryState, Disposition, Frame, FrameType, Performative, Properties, Reader, Role,
    Sections, Value, writer,
};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn decoded(hex: &str) -> Result<Value, DecodeError> {
    let bytes = bytes(hex);
    let mut reader = Reader::new(&bytes);
    let value = reader.value()?;
    assert!(reader.is_at_end(), "{hex}");
    let mut skipped = Reader::new(&bytes);
    assert_eq!(skipped.skip().unwrap(), bytes, "skipping ends where decoding ends: {hex}");
    Ok(value)
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// Each encoding of section 1.6 of the standard; those that are not the shortest come back shorter.
#[test]
fn every_encoding_of_the_standard_is_read_and_written() {
    let array = |code, items| Value::Array(Array { code, descriptors: Vec::new(), items });
    let vectors = [
        ("40", Value::Null, "40"),
        ("56 01", Value::Boolean(true), "41"),
        ("56 00", Value::Boolean(false), "42"),
        ("41", Value::Boolean(true), "41"),
        ("50 ff", Value::Ubyte(255), "50 ff"),
        ("60 0102", Value::Ushort(258), "60 0102"),
        ("70 00000001", Value::Uint(1), "52 01"),
        ("70 80000000", Value::Uint(1 << 31), "70 80000000"),
        ("52 ff", Value::Uint(255), "52 ff"),
        ("43", Value::Uint(0), "43"),
        ("80 0000000000000100", Value::Ulong(256), "80 0000000000000100"),
        ("53 10", Value::Ulong(16), "53 10"),
        ("44", Value::Ulong(0), "44"),
        ("51 80", Value::Byte(-128), "51 80"),
        ("61 8000", Value::Short(-32768), "61 8000"),
        ("71 ffffffff", Value::Int(-1), "54 ff"),
        ("71 00000080", Value::Int(128), "71 00000080"),
        ("54 80", Value::Int(-128), "54 80"),
        ("81 ffffffffffffffff", Value::Long(-1), "55 ff"),
        ("55 7f", Value::Long(127), "55 7f"),
        ("72 3f800000", Value::Float(1f32.to_bits()), "72 3f800000"),
        ("82 3ff0000000000000", Value::Double(1f64.to_bits()), "82 3ff0000000000000"),
        ("74 22500001", Value::Decimal32([0x22, 0x50, 0, 1]), "74 22500001"),
        ("84 2238000000000001", Value::Decimal64([0x22, 0x38, 0, 0, 0, 0, 0, 1]), "84 2238000000000001"),
        ("73 0001f600", Value::Char('\u{1f600}'), "73 0001f600"),
        ("83 0000000000000001", Value::Timestamp(1), "83 0000000000000001"),
        (
            "98 000102030405060708090a0b0c0d0e0f",
            Value::Uuid([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
            "98 000102030405060708090a0b0c0d0e0f",
        ),
        ("a0 02 0001", Value::Binary(vec![0, 1]), "a0 02 0001"),
        ("b0 00000002 0001", Value::Binary(vec![0, 1]), "a0 02 0001"),
        ("a1 03 c3a461", text("\u{e4}a"), "a1 03 c3a461"),
        ("b1 00000001 61", text("a"), "a1 01 61"),
        ("a3 01 61", Value::Symbol("a".to_owned()), "a3 01 61"),
        ("b3 00000001 61", Value::Symbol("a".to_owned()), "a3 01 61"),
        ("45", Value::List(vec![]), "45"),
        ("c0 01 00", Value::List(vec![]), "45"),
        ("d0 00000005 00000001 40", Value::List(vec![Value::Null]), "c0 02 01 40"),
        ("c1 01 00", Value::Map(vec![]), "c1 01 00"),
        ("d1 00000008 00000002 a1 01 61 43", Value::Map(vec![(text("a"), Value::Uint(0))]), "c1 05 02 a1 01 61 43"),
        ("e0 05 03 52 010203", array(0x52, vec![Value::Uint(1), Value::Uint(2), Value::Uint(3)]), "e0 05 03 52 010203"),
        (
            "f0 00000008 00000003 50 010203",
            array(0x50, vec![Value::Ubyte(1), Value::Ubyte(2), Value::Ubyte(3)]),
            "e0 05 03 50 010203",
        ),
        ("e0 02 00 a3", array(0xa3, vec![]), "e0 02 00 a3"),
        ("00 a1 03 55524c a1 01 61", Value::Described(Box::new((text("URL"), text("a")))), "00 a1 03 55524c a1 01 61"),
    ];
    for (hex, value, shortest) in vectors {
        assert_eq!(decoded(hex).unwrap(), value, "{hex}");
        let mut out = Vec::new();
        writer::value(&mut out, &value);
        assert_eq!(out, bytes(shortest), "{hex}");
    }
}

/// Figure 1.1 of the standard: a described list of two strings and an array of described symbols.
#[test]
fn the_example_of_a_book_is_read() {
    let mut book = bytes("00 a3 11");
    book.extend_from_slice(b"example:book:list");
    book.extend_from_slice(&bytes("c0 40 03 a1 15"));
    book.extend_from_slice(b"AMQP for & by Dummies");
    book.extend_from_slice(&bytes("e0 25 02 a1 0e"));
    book.extend_from_slice(b"Rob J. Godfrey");
    book.push(0x13);
    book.extend_from_slice(b"Rafael H. Schloming");
    book.push(0x40);
    let Value::Described(found) = Reader::new(&book).value().unwrap() else { panic!("it is described") };
    let Value::List(fields) = found.1 else { panic!("it is a list") };
    assert_eq!(fields[0].text(), Some("AMQP for & by Dummies"));
    let Value::Array(authors) = &fields[1] else { panic!("it has authors") };
    assert_eq!(authors.items, [text("Rob J. Godfrey"), text("Rafael H. Schloming")]);
}

#[test]
fn bytes_that_are_no_values_are_named_with_their_place() {
    let check = |hex: &str, expected: &str| assert_eq!(decoded(hex).unwrap_err().to_string(), expected, "{hex}");
    check("", "the bytes end at 0, inside a value");
    check("70 0000", "the bytes end at 3, inside a value");
    check("a1 05 6162", "the bytes end at 4, inside a value");
    check("46", "byte 0 is 0x46, which is not a constructor of a type");
    check("56 02", "the size or count at byte 1 contradicts what follows");
    check("a1 01 ff", "the text at byte 2 is not UTF-8");
    check("a3 02 c3a4", "the text at byte 2 is not ASCII");
    check("73 0000d800", "the text at byte 1 is not a Unicode character");
    // A list of 200 elements in one byte, a map of three, and content that is left over.
    check("c0 02 c8 40", "the size or count at byte 3 contradicts what follows");
    check("c1 04 03 404040", "the size or count at byte 3 contradicts what follows");
    check("c0 03 01 4040", "the size or count at byte 3 contradicts what follows");
    // Four thousand million nulls in ten bytes.
    check("f0 00000005 ffffffff 40", "the size or count at byte 9 contradicts what follows");
    check(&"00".repeat(40), "byte 32 begins a value nested deeper than 32");
    check(&format!("{}40", "c0ff01".repeat(3)), "the bytes end at 10, inside a value");
}

#[test]
fn frames_end_where_their_header_says() {
    let mut out = Vec::new();
    Frame::write(&mut out, FrameType::Amqp, 7, |out| {
        Performative::Disposition(Disposition {
            role: Role::Receiver,
            first: 3,
            last: Some(9),
            settled: true,
            state: Some(DeliveryState::Accepted),
            batchable: false,
        })
        .write(out);
    });
    assert_eq!(out, bytes("00000018 02 00 0007 00 53 15 c0 0b 05 41 52 03 52 09 41 00 53 24 45"));
    for length in 0..out.len() {
        assert_eq!(Frame::split(&out[..length], 512), Ok(None), "{length}");
    }
    let (frame, size) = Frame::split(&out, 512).unwrap().unwrap();
    assert_eq!((frame.channel, frame.kind, size), (7, FrameType::Amqp, out.len()));
    assert!(matches!(Performative::read(&mut Reader::new(frame.body)), Ok(Performative::Disposition(_))));
    for (hex, part) in [
        ("00000201 02000000", "a frame of 513 bytes, at most 512"),
        ("00000004 02000000", "body begins at byte 8"),
        ("00000010 01000000", "body begins at byte 4"),
        ("00000010 02050000", "a frame of type 5"),
    ] {
        let error = Frame::split(&bytes(hex), 512).unwrap_err();
        assert!(error.description.contains(part), "{error}");
        assert_eq!(error.condition, "amqp:connection:framing-error");
    }
}

#[test]
fn symbolic_descriptors_are_those_of_the_standard() {
    let mut close = bytes("00 a3 0f");
    close.extend_from_slice(b"amqp:close:list");
    close.push(0x45);
    assert_eq!(Performative::read(&mut Reader::new(&close)), Ok(Performative::Close(None)));
    let unknown = bytes("00 53 1f 45");
    assert!(matches!(Performative::read(&mut Reader::new(&unknown)), Err(DecodeError::Descriptor { at: 0 })));
}

/// Sections keep their bytes in any encoding.
#[test]
fn sections_of_a_message_are_found_and_kept() {
    let header = "00 53 70 c0 09 03 41 50 07 70 00000064";
    let annotations = "00 53 72 c1 01 00";
    let properties = "00 53 73 d0 00000009 00000001 b1 00000000";
    let application = "00 53 74 c1 05 02 a1 01 6b 43";
    let footer = "00 53 78 c1 01 00";
    for (body, kind, content) in [
        ("", BodyKind::Missing, ""),
        ("00 53 75 a0 02 0102", BodyKind::Data, "0102"),
        ("00 53 75 b0 00000002 0102", BodyKind::Data, "0102"),
        ("00 53 77 a1 01 61", BodyKind::Text, "61"),
        ("00 53 77 a0 01 61", BodyKind::Binary, "61"),
        ("00 53 77 43", BodyKind::Sections, "00 53 77 43"),
        ("00 53 75 a0 01 01 00 53 75 a0 01 02", BodyKind::Sections, "00 53 75 a0 01 01 00 53 75 a0 01 02"),
        ("00 53 76 45 00 53 76 45 00 53 76 45", BodyKind::Sections, "00 53 76 45 00 53 76 45 00 53 76 45"),
    ] {
        let message = bytes(&[header, annotations, properties, application, body, footer].concat());
        let sections = Sections::split(&message).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!((sections.body.kind, sections.body.content), (kind, bytes(content).as_slice()), "{body}");
        assert_eq!(sections.annotations, Some(bytes(annotations).as_slice()));
        assert_eq!(sections.properties, Some(bytes(properties).as_slice()));
        assert_eq!(sections.application_properties, Some(bytes(application).as_slice()));
        assert_eq!(sections.footer, Some(bytes(footer).as_slice()));
        assert_eq!(
            (sections.header.durable, sections.header.priority, sections.header.ttl),
            (true, Some(7), Some(100))
        );
        let whole = [sections.body.prefix, sections.body.content].concat();
        assert_eq!(whole, bytes(body));
    }
    for (hex, part) in [
        ("00 53 75 a0 00 00 53 74 c1 01 00", "comes after a section"),
        ("00 53 75 a0 00 00 53 77 40", "comes after a section"),
        ("00 53 77 40 00 53 77 40", "comes after a section"),
        ("00 53 75 a1 00", "expected a binary"),
        ("00 53 24 45", "not expected here"),
        ("40", "expected a described type"),
    ] {
        let error = Sections::split(&bytes(hex)).unwrap_err().to_string();
        assert!(error.contains(part), "{hex}: {error}");
    }
}

#[test]
fn ids_of_messages_have_four_types() {
    for id in [Value::Ulong(7), Value::Uuid([1; 16]), Value::Binary(vec![1]), text("ID:1")] {
        let properties = Properties { message_id: Some(id), ..Properties::default() };
        let mut out = Vec::new();
        properties.write(&mut out);
        assert_eq!(Properties::read(&out), Ok(properties));
    }
    assert!(Properties::read(&bytes("00 53 73 c0 03 01 52 01")).is_err());
}

#[test]
fn descriptors_side_by_side_are_not_nested() {
    // 127 described values, none deeper than seven: skipping and reading end at one place.
    let mut bytes = vec![0x40];
    for _ in 0..7 {
        bytes = [&[0x00][..], &bytes, &bytes].concat();
    }
    let mut skipped = Reader::new(&bytes);
    assert_eq!(skipped.skip().map(<[u8]>::len), Ok(bytes.len()));
    let mut read = Reader::new(&bytes);
    read.value().expect("a value");
    assert!(read.is_at_end());

    // One in the other, 32 are allowed and 33 are not, for both and at the same byte.
    let nested = |count: usize| [vec![0x00; count], vec![0x40; count + 1]].concat();
    assert_eq!(Reader::new(&nested(32)).skip().map(<[u8]>::len), Ok(65));
    Reader::new(&nested(32)).value().expect("a value");
    assert_eq!(Reader::new(&nested(33)).skip(), Err(DecodeError::Depth { at: 32 }));
    assert_eq!(Reader::new(&nested(33)).value(), Err(DecodeError::Depth { at: 32 }));
}
