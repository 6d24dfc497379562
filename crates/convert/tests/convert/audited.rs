//! Faults that a reader of the sources found in files of records, each as its smallest file.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use quayline_convert::Compression;
use quayline_project::{ShapeFile, ShapeOptions};

use crate::kit::*;

const TYPES: &str = "
       01 HEAD.
          05 KIND PIC 9.
          05 NAME PIC X(3).
       01 LINE.
          05 KIND PIC 9.
          05 ITEM PIC 9(3).
";

const NESTED: &str = "[records]\nby = \"KIND\"\n[[records.type]]\nrecord = \"HEAD\"\nvalue = \"1\"\n[[records.type]]\nrecord = \"LINE\"\n\
                      value = \"2\"\nparent = \"HEAD\"\n";

fn lines(records: &[&str]) -> Vec<u8> {
    records.iter().flat_map(|record| [ebcdic(record), vec![0x25]].concat()).collect()
}

/// A record of no known type may be the parent of those after it, which were nested in the record before it.
#[test]
fn children_do_not_cross_a_record_of_unknown_type() {
    let kit = Kit::new(
        schema(TYPES, NESTED),
        &lines(&["1ANN", "2001", "XBOB", "2002", "1CYD", "2003"]),
        records("lines:lf25"),
        jsonl(),
    );
    let report = kit.ok();
    // The record before it may lack a part, so it is rejected too.
    assert_eq!((report.tally.records_out, report.tally.records_rejected), (2, 4));
    assert_eq!(kit.text("out"), "{\"HEAD\":{\"KIND\":1,\"NAME\":\"CYD\",\"LINE\":[{\"KIND\":2,\"ITEM\":3}]}}\n");
    assert_eq!(kit.bytes("rejects"), lines(&["1ANN", "2001", "XBOB", "2002"]));
}

/// The nibbles alone selected the type: a blank was the number 0, and `A` in ASCII the number 1.
#[test]
fn a_numeric_type_is_told_by_the_value_that_the_decoder_reads() {
    let interface = NESTED.replace("value = \"1\"", "value = \"0\"");
    for (kind, is_known) in [(0xf0u8, true), (0xc0, true), (0x40, false), (0x00, false), (0xd0, false), (0xfa, false)] {
        let record = [&[kind][..], &ebcdic("ANN")].concat();
        let kit = Kit::new(schema(TYPES, &interface), &record, records("fixed:4"), jsonl());
        let report = kit.ok();
        assert_eq!(report.tally.records_out == 1, is_known, "{kind:02x} {:?}", report.findings);
    }
    // The nibble before an even number of packed digits is not a digit, and a negative number is another one.
    let copybook = "\n       01 R.\n          05 KIND PIC S9(2) COMP-3.\n";
    let interface = "[records]\nby = \"KIND\"\n[[records.type]]\nrecord = \"R\"\nvalue = \"7\"\n";
    for (bytes, is_known) in [([0x00, 0x7c], true), ([0xf0, 0x7f], true), ([0x00, 0x7d], false), ([0x10, 0x7c], true)] {
        let kit = Kit::new(schema(copybook, interface), &bytes, records("fixed:2"), jsonl());
        assert_eq!(kit.ok().tally.records_out == 1, is_known, "{bytes:02x?}");
    }
}

/// Types in UTF-16 were compared bytewise without the first byte of a blank, which may be a part of any character.
#[test]
fn types_of_utf_16_records_are_told() {
    let copybook = "\n       01 R.\n          05 KIND PIC X(4).\n          05 A PIC X(2).\n";
    let interface = "[records]\nby = \"KIND\"\n[[records.type]]\nrecord = \"R\"\nvalue = \"A\"\n";
    let file = quayline_project::InterfaceFile::parse("test.toml", interface).expect("an interface");
    for page in ["utf-16be", "utf-16le"] {
        let charset = quayline_charset::Charset::by_name(page).expect("known");
        let schema = quayline_project::Schema::compile(&layouts(copybook), &file, &Default::default(), charset);
        let mut data = Vec::new();
        charset.encode_into("A B", &mut data).expect("text");
        let kit = Kit::new(Arc::new(schema.expect("a schema")), &data, records("fixed:6"), jsonl());
        assert_eq!(kit.ok().tally.records_out, 1, "{page}");
    }
}

/// The rejects of a file with a header began with a record that the same settings skip: the second run lost it.
#[test]
fn rejects_convert_with_the_settings_that_skip_records_and_bytes() {
    let interface = NESTED.replace("[records]\n", "[records]\nskip-first = 1\nskip-last = 1\n");
    let bad = ["1AN", "2X01", "XBOB"];
    for spec in ["lines:lf25", "rdw", "vb", "mf"] {
        let mut framer =
            quayline_frame::Framer::new(&framing(spec), Default::default(), &Default::default()).expect("a framing");
        let mut data = Vec::new();
        for record in ["HEADER", "1OK ", "2X01", "XBOB", "1CYD", "TRAILER"] {
            framer.frame(&ebcdic(record), &mut data).expect("fits");
        }
        framer.finish(&mut data);
        let kit = Kit::new(schema(TYPES, &interface), &data, records(spec), jsonl());
        let first = kit.ok();
        assert_eq!((first.tally.records_rejected, first.tally.records_out), (3, 1), "{spec} {:?}", first.findings);
        let again = Kit::new(schema(TYPES, &interface), &kit.bytes("rejects"), records(spec), jsonl());
        let second = again.ok();
        assert_eq!((second.tally.records_rejected, second.tally.records_skipped), (3, 2), "{spec} {bad:?}");
        assert_eq!(again.bytes("rejects"), kit.bytes("rejects"), "{spec}");
    }
    let bytes = "skip-bytes-first = 3\nskip-bytes-last = 2\n";
    let kit = Kit::new(
        schema(PERSON, bytes),
        &[&b"ABC"[..], &bad_person(1), &person(2), b"ZZ"].concat(),
        records("fixed:14"),
        jsonl(),
    );
    assert_eq!(kit.ok().tally.records_rejected, 1);
    let again = Kit::new(schema(PERSON, bytes), &kit.bytes("rejects"), records("fixed:14"), jsonl());
    let second = again.ok();
    assert_eq!((second.tally.records_in, second.tally.records_rejected), (1, 1), "{:?}", second.findings);
}

/// Beyond 10,000 findings of a block, rejected records had no reason in the file of reasons.
#[test]
fn each_rejected_record_has_its_reason() {
    let data: Vec<u8> = (0..20_000).flat_map(bad_person).collect();
    let kit = Kit::persons(&data);
    let report = kit.ok();
    assert_eq!(report.tally.records_rejected, 20_000);
    let reasons = kit.text("rejects.findings.jsonl");
    let numbers: Vec<u64> = reasons
        .lines()
        .map(|line| line["{\"record\":".len()..].split(',').next().and_then(|n| n.parse().ok()).expect("a number"))
        .collect();
    assert_eq!(numbers, (1..=20_000).collect::<Vec<u64>>());
}

fn decompressed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let compression = Compression::of_head(&bytes[..Compression::HEAD_BYTES]).expect("recognized");
    let mut content = Vec::new();
    compression.reader(Box::new(std::io::Cursor::new(bytes.to_vec())))?.read_to_end(&mut content)?;
    Ok(content)
}

/// Zeros after a gzip member, as tapes have them, ended the run in an error; `gzip` ignores them.
#[test]
fn zeros_after_a_gzip_member_are_its_padding() {
    let compress = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    };
    let (first, second) = (compress(&person(1)), compress(&person(2)));
    for (data, records) in [
        ([&first[..], &second].concat(), Some(2)),
        ([&first[..], &second, &[0; 900]].concat(), Some(2)),
        ([&first[..], &[0; 100_000]].concat(), Some(1)),
        ([&first[..], &[0; 10], &second].concat(), None),
        ([&first[..], b"x"].concat(), None),
        ([&first[..], &second[..second.len() - 3]].concat(), None),
    ] {
        let found = decompressed(&data);
        assert_eq!(found.as_ref().ok().map(|bytes| bytes.len() / 14), records, "{found:?}");
    }
}

/// A skippable frame before the data, as pzstd writes it, hid that the file is compressed.
#[test]
fn a_skippable_frame_of_zstandard_is_recognized() {
    let frame = zstd::stream::encode_all(&person(1)[..], 1).expect("memory");
    let skippable =
        [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0][..], &u32::try_from(frame.len()).expect("small").to_le_bytes()].concat();
    assert_eq!(decompressed(&[&skippable[..], &frame].concat()).expect("zstd"), person(1));
}

fn fixed(layout: &str) -> Result<ShapeFile, String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("orders.toml"), layout).expect("written");
    ShapeFile::load(folder.path(), "orders.toml", &ShapeOptions::default()).map_err(|findings| findings.to_string())
}

const FIXED: &str = "layout = \"fixed\"\nencoding = \"ascii\"\n[[field]]\nname = \"a\"\nlength = 4\n[[field]]\nname = \"n\"\nlength = 3\n\
                     type = \"integer\"\n";

/// Quayline read a CR at the end of a line as part of the last field. Editors also remove blanks at the end of lines, so the last field is short.
#[test]
fn lines_of_a_fixed_layout_may_end_in_cr_lf_and_early() {
    let file = fixed(FIXED).expect("a layout");
    let from = file.source().expect("a source");
    let kit = Kit::new(Arc::clone(file.schema()), b"ab  012\r\ncd  013\nef\r\n", from, jsonl());
    let report = kit.ok();
    assert_eq!(kit.text("out"), "{\"a\":\"ab\",\"n\":12}\n{\"a\":\"cd\",\"n\":13}\n{\"a\":\"ef\",\"n\":null}\n");
    assert_eq!(report.tally.records_rejected, 0);
    let file = fixed(&FIXED.replace("encoding", "framing = \"rdw\"\nencoding")).expect("a layout");
    let from = file.source().expect("a source");
    let kit = Kit::new(Arc::clone(file.schema()), b"\0\x06\0\0ef", from, jsonl());
    assert_eq!(kit.ok().tally.records_rejected, 1);
}

/// Lines of CR LF read as lines of LF had a CR in their last text, without a word.
#[test]
fn a_carriage_return_that_becomes_data_is_a_warning() {
    for (spec, warns, text) in [("lines", true, "AB\\r"), ("lines:strip-cr", false, "AB"), ("lines:crlf", false, "AB")]
    {
        let schema = {
            let file = quayline_project::InterfaceFile::parse("test.toml", "").expect("an interface");
            let charset = quayline_charset::Charset::by_name("ascii").expect("known");
            let layouts = layouts("\n       01 R.\n          05 A PIC X(8).\n");
            Arc::new(
                quayline_project::Schema::compile(&layouts, &file, &Default::default(), charset).expect("a schema"),
            )
        };
        let kit = Kit::new(schema, b"AB\r\nAB\r\n", records(spec), jsonl());
        let report = kit.ok();
        let line = format!("{{\"A\":\"{text}\"}}\n");
        assert_eq!(kit.text("out"), line.repeat(2), "{spec}");
        let said: Vec<String> = report.repeated.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), usize::from(warns), "{said:?}");
        assert!(said.iter().all(|said| said.contains("CNV-035") && said.contains("2 lines end in CR")), "{said:?}");
    }
}

/// A record that begins a document of nested types was counted twice, as the end of the document before it too.
#[test]
fn records_of_nested_types_are_counted_once() {
    let copybook = "\n       01 HEAD.\n          05 KIND PIC X.\n          05 ID PIC X(8).\n       01 LINE.\n          05 KIND PIC X.\n          05 A PIC X(8).\n";
    let interface = "exclude = [\"KIND\"]\n[records]\nby = \"KIND\"\n[[records.type]]\nrecord = \"HEAD\"\nvalue = \"H\"\n[[records.type]]\nrecord = \"LINE\"\nrename = \"lines\"\nvalue = \"L\"\nparent = \"HEAD\"\n";
    let file = quayline_project::InterfaceFile::parse("test.toml", interface).expect("an interface");
    let charset = quayline_charset::Charset::by_name("ascii").expect("known");
    let schema = quayline_project::Schema::compile(&layouts(copybook), &file, &Default::default(), charset);
    let kit =
        Kit::new(Arc::new(schema.expect("a schema")), b"H1\r\nLa\r\nH2\r\nLb\r\nH3\r\n", records("lines"), jsonl());
    let report = kit.ok();
    let said: Vec<String> = report.repeated.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains("5 lines end in CR"), "{said:?}");
}

/// Lines of LF only were joined to the next one in a file of CR LF, and nothing said that there were fewer records.
#[test]
fn a_line_feed_that_becomes_data_is_a_warning() {
    let compiled = |interface: &str| {
        let file = quayline_project::InterfaceFile::parse("test.toml", interface).expect("an interface");
        let charset = quayline_charset::Charset::by_name("ascii").expect("known");
        let layouts = layouts("\n       01 R.\n          05 A PIC X(8).\n");
        Arc::new(quayline_project::Schema::compile(&layouts, &file, &Default::default(), charset).expect("a schema"))
    };
    let typed = "[records]\nby = \"A\"\notherwise = \"skip\"\n[[records.type]]\nrecord = \"R\"\nvalues = [\"AB\", \"AB\\nCD\"]\n";
    for (interface, data, spec, said) in [
        ("", "AB\nCD\r\nEF\nGH\r\n", "lines:crlf", Some("2 records contain an LF")),
        ("", "AB\r\nCD\nEF\r\n", "lines:crlf", Some("1 record contains an LF")),
        ("", "AB\nCD\r\nEF\r\n", "lines:strip-cr", None),
        ("", "AB\r\nCD\r\nEF\r\n", "lines:crlf", None),
        (
            "[records]\nskip-first = 1\n[[records.type]]\nrecord = \"R\"\n",
            "AB\nCD\r\nEF\r\n",
            "lines:crlf",
            Some("settings skip contains an LF"),
        ),
        ("[records]\nskip-first = 1\n[[records.type]]\nrecord = \"R\"\n", "AB\r\nCD\r\nEF\r\n", "lines:crlf", None),
        (
            "[records]\nskip-last = 1\n[[records.type]]\nrecord = \"R\"\n",
            "AB\r\nCD\nEF\r\n",
            "lines:crlf",
            Some("settings skip contains an LF"),
        ),
        (
            "[records]\nskip-last = 2\n[[records.type]]\nrecord = \"R\"\n",
            "AB\nCD\r\nEF\r\n",
            "lines:crlf",
            Some("settings skip contains an LF"),
        ),
        ("[records]\nskip-last = 1\n[[records.type]]\nrecord = \"R\"\n", "AB\r\nCD\r\nEF", "lines:crlf", None),
        (typed, "AB\nCD\r\nEF\r\n", "lines:crlf", Some("1 record contains an LF")),
    ] {
        let kit = Kit::new(compiled(interface), data.as_bytes(), records(spec), jsonl());
        let report = kit.ok();
        let found: Vec<String> = report.repeated.iter().chain(&report.findings).map(ToString::to_string).collect();
        // The second record of the last file is of no type.
        let found: Vec<&String> = found.iter().filter(|finding| !finding.contains("CNV-039")).collect();
        assert_eq!(found.len(), usize::from(said.is_some()), "{interface} {data:?} {spec}: {found:?}");
        for line in &found {
            assert!(
                line.contains("CNV-038") && line.contains(said.unwrap_or_default()),
                "{interface} {data:?}: {line}"
            );
            assert!(line.contains("byte 2") || line.contains("byte 6"), "the first place: {line}");
            assert!(line.contains("lines:strip-cr"), "{line}");
        }
    }
}

#[test]
fn a_fixed_layout_refuses_what_it_would_ignore() {
    for (old, new, said) in [
        ("type = \"integer\"", "type = \"integer\"\ndecimals = 2", "is an integer and has decimals"),
        ("type = \"integer\"", "type = \"decimal\"\ndecimals = -2", "negative number of decimals"),
        ("\"ascii\"", "\"utf-8\"", "counts bytes"),
        ("\"ascii\"", "\"utf-16be\"", "counts bytes"),
    ] {
        let told = fixed(&FIXED.replace(old, new)).map(|_| ()).expect_err(said);
        assert!(told.contains(said), "{told}");
    }
}
