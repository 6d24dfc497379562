//! Framings proposed for generated and real files.

use std::fmt::Write as _;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use quayline_core::{Limits, RecordNumber};
use quayline_frame::{Framer, FramerOptions, FramingInUse, FramingSpec, detect, explain_misfit};

/// Generates records like master data in EBCDIC: an ascending key, a name with trailing blanks, a packed amount.
fn bodies(n: usize, vary: usize) -> Vec<Vec<u8>> {
    (0..n)
        .map(|i| {
            let mut body: Vec<u8> =
                format!("{:07}", 1_000_003 * (i + 1) % 9_999_991).bytes().map(|b| b + 0xc0).collect();
            let name = 5 + i * 7 % 11;
            body.extend((0..name).map(|k| 0xc1 + byte((i * 31 + k * 17) % 9)));
            body.resize(28, 0x40);
            body.extend([byte(i * 53 % 90), byte(i * 17 % 250), byte(i * 91 % 16 * 16) | 0x0c]);
            body.resize(31 + if vary == 0 { 0 } else { i * 13 % vary }, 0x40);
            body
        })
        .collect()
}

fn byte(n: usize) -> u8 {
    u8::try_from(n).unwrap()
}

fn file(spec: &str, bodies: &[Vec<u8>], block_bytes: u32) -> Vec<u8> {
    let options = FramerOptions { block_bytes, record_bytes_max: Some(200), ..FramerOptions::default() };
    let mut framer = Framer::new(&FramingSpec::parse(spec).unwrap(), options, &Limits::default()).unwrap();
    let mut out = Vec::new();
    bodies.iter().for_each(|body| framer.frame(body, &mut out).unwrap());
    framer.finish(&mut out);
    out
}

fn show(data: &[u8], file_len: Option<u64>, record_length: Option<usize>) -> String {
    let mut text = String::new();
    for c in detect(data, file_len, record_length).iter().take(3) {
        let junk = c.first_junk_record.map_or(String::new(), |n| format!(", junk from record {n}"));
        writeln!(text, "{} {:.2} ({} records{junk})", c.spec, c.score, c.records_checked).unwrap();
        c.evidence.iter().for_each(|line| writeln!(text, "  {line}").unwrap());
    }
    text
}

fn check(data: &[u8], record_length: Option<usize>, expect: Expect) {
    expect.assert_eq(&show(data, Some(data.len() as u64), record_length));
}

#[test]
fn every_framing_is_found_first_in_its_own_file() {
    let bodies = bodies(60, 20);
    for spec in [
        "rdw",
        "rdw:le",
        "rdw:00ll,le",
        "rdw:body,max=65535",
        "rdw:ll,body,max=65535",
        "rdw:ll,le,body,max=65535",
        "rdw:le,body,max=65535",
        "gnucobol:1",
        "vb",
        "vbs",
        "vbs:no-bdw",
        "d",
        "mf",
    ] {
        let spec = FramingSpec::parse(spec).unwrap();
        // Small enough blocks that `vbs` has segments to show.
        let data = file(&spec.to_string(), &bodies, if spec.to_string() == "vbs:no-bdw" { 40 } else { 300 });
        let whole = detect(&data, Some(data.len() as u64), None);
        assert_eq!(whole.first().map(|c| c.spec), Some(spec), "{}", show(&data, Some(data.len() as u64), None));
        assert!(whole[0].score > 0.8 && whole[0].first_junk_record.is_none());
        assert_eq!(whole[0].records_checked, 60);
        // A sample that ends inside a record, of a file whose length is not known.
        let part = detect(&data[..data.len() * 2 / 3], None, None);
        assert_eq!(part.first().map(|c| c.spec), Some(spec), "part: {}", show(&data[..data.len() * 2 / 3], None, None));
        assert!(part[0].score > 0.8, "part: {}", show(&data[..data.len() * 2 / 3], None, None));
    }
}

#[test]
fn text_lines_are_found() {
    let text: Vec<u8> =
        (0..40).flat_map(|i| format!("{i},name {},{}\n", i * 7919, "x".repeat(i % 13)).into_bytes()).collect();
    check(
        &text,
        None,
        expect![[r#"
            lines 0.94 (40 records)
              40 line ends, 100 % of the bytes are text
            fixed:286 0.25 (2 records, junk from record 3)
              bytes repeat at a distance of 286: 30 % more than at its neighbours
              the file's 846 bytes are 2 records and 274 bytes more
        "#]],
    );
    let crlf: Vec<u8> = text.iter().flat_map(|b| if *b == b'\n' { vec![b'\r', b'\n'] } else { vec![*b] }).collect();
    check(
        &crlf,
        None,
        expect![[r#"
            lines:crlf 0.94 (40 records)
              40 line ends, 100 % of the bytes are text
            fixed:299 0.25 (2 records, junk from record 3)
              bytes repeat at a distance of 299: 31 % more than at its neighbours
              the file's 886 bytes are 2 records and 288 bytes more
        "#]],
    );
    let mut ebcdic = Vec::new();
    bodies(40, 0).iter().for_each(|b| {
        ebcdic.extend_from_slice(&b[..28]);
        ebcdic.push(0x15);
    });
    check(
        &ebcdic,
        Some(28),
        expect![[r#"
            lines:nl 0.97 (40 records)
              40 line ends, 100 % of the bytes are text
              every line has 28 bytes
            fixed:29 0.90 (40 records)
              bytes repeat at a distance of 29: 17 % more than at its neighbours
              blanks change to controls at offset 28 in 40 of 40 records
              the file's 1160 bytes are 40 records exactly
            fixed:28 0.12 (41 records, junk from record 42)
              the layout has 28 bytes
              the file's 1160 bytes are 41 records and 12 bytes more
        "#]],
    );
}

/// `lines:crlf` was proposed for a file with line ends of both kinds, and joined the lines that end in LF.
#[test]
fn lines_with_both_line_ends_are_not_joined() {
    let first = |data: &[u8]| detect(data, Some(data.len() as u64), None).first().map(|c| c.spec.to_string());
    check(
        b"ONE\nTWO\r\nTHREE\r\n",
        None,
        expect![[r#"
        lines:strip-cr 0.94 (3 records)
          3 line ends, 100 % of the bytes are text
          a CR precedes 2 of them
    "#]],
    );
    let lines = |lf: usize| -> Vec<u8> {
        (0..200).flat_map(|i| format!("{i:05}{}", if i % 50 < lf { "\n" } else { "\r\n" }).into_bytes()).collect()
    };
    for (lf, spec) in [(0, "lines:crlf"), (1, "lines:strip-cr"), (49, "lines:strip-cr"), (50, "lines")] {
        assert_eq!(first(&lines(lf)).as_deref(), Some(spec), "{lf} of 50");
    }
    // Records of one length with binary data: 0x0a and 0x0d are data there.
    let binary = |end: &str, inside: u8| -> Vec<u8> {
        let record = |i: u8| [&[i, 0x80, 0xff, if i % 9 == 4 { inside } else { 0x91 }], end.as_bytes()].concat();
        (100..200).flat_map(record).collect()
    };
    assert_eq!(first(&binary("\r\n", b'\n')).as_deref(), Some("lines:crlf"));
    assert_eq!(first(&binary("\n", b'\r')).as_deref(), Some("lines"));
}

#[test]
fn fixed_records_are_found_by_repetition() {
    let data = file("fixed:31", &bodies(200, 0), 0);
    check(
        &data,
        None,
        expect![[r#"
            fixed:31 0.90 (200 records)
              bytes repeat at a distance of 31: 12 % more than at its neighbours
              digits change to letters at offset 7 in 200 of 200 records
              the file's 6200 bytes are 200 records exactly
            lines:nl 0.29 (4 records)
              3 line ends, 96 % of the bytes are text
            lines:lf25 0.29 (4 records)
              3 line ends, 96 % of the bytes are text
        "#]],
    );
    check(
        &data,
        Some(31),
        expect![[r#"
            fixed:31 0.90 (200 records)
              the layout has 31 bytes
              bytes repeat at a distance of 31: 12 % more than at its neighbours
              digits change to letters at offset 7 in 200 of 200 records
              the file's 6200 bytes are 200 records exactly
            lines:nl 0.29 (4 records)
              3 line ends, 96 % of the bytes are text
            lines:lf25 0.29 (4 records)
              3 line ends, 96 % of the bytes are text
        "#]],
    );
}

#[test]
fn a_wrong_layout_length_is_told_by_the_file() {
    let data = file("fixed:35", &bodies(200, 0), 0);
    check(
        &data,
        Some(31),
        expect![[r#"
            fixed:35 0.90 (200 records)
              bytes repeat at a distance of 35: 16 % more than at its neighbours
              blanks change to digits at offset 0 in 200 of 200 records
              the file's 7000 bytes are 200 records exactly
            lines:nl 0.29 (4 records)
              3 line ends, 97 % of the bytes are text
            lines:lf25 0.29 (4 records)
              3 line ends, 97 % of the bytes are text
        "#]],
    );
}

#[test]
fn noise_has_no_framing() {
    let mut x = 88_172_645_463_325_252u64;
    let noise: Vec<u8> = (0..20_000)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x.to_be_bytes()[3]
        })
        .collect();
    for (len, record) in [(None, None), (Some(noise.len() as u64), Some(37))] {
        assert!(detect(&noise, len, record).iter().all(|c| c.score < 0.5), "{}", show(&noise, len, record));
    }
    assert!(detect(&[], Some(0), Some(10)).is_empty());
}

fn misfit(data: &[u8], used: &str, record_length: Option<usize>, junk: Option<u64>, expect: Expect) {
    let used = FramingSpec::parse(used).unwrap();
    let used = FramingInUse { spec: used, junk: junk.map(RecordNumber), breaks: None, lengths: None };
    let finding = explain_misfit(data, Some(data.len() as u64), record_length, &used);
    expect.assert_eq(&finding.map_or("fits".into(), |finding| finding.to_string()));
}

#[test]
fn junk_after_a_record_is_recognised_as_wrong_framing() {
    let vb = file("vb", &bodies(60, 20), 300);
    // The decoder, told `fixed`, made sense of nothing behind record 4.
    misfit(
        &vb,
        "fixed:31",
        Some(31),
        Some(5),
        expect![[r#"
        error[FRM-040]: junk after record 4: the framing `fixed:31` does not fit this file
          at record 5

        hint: `vb` fits all 60 records in the first 2710 bytes (60 lengths in a row lead from one to the next, records are 31 to 50 bytes long; the last record ends with the file): use it instead"#]],
    );
    misfit(
        &vb,
        "rdw",
        Some(31),
        Some(1),
        expect![[r#"
        error[FRM-040]: junk from the first record on: the framing `rdw` does not fit this file
          at record 1

        hint: `vb` fits all 60 records in the first 2710 bytes (60 lengths in a row lead from one to the next, records are 31 to 50 bytes long; the last record ends with the file): use it instead"#]],
    );
    misfit(&vb, "vb", None, Some(5), expect!["fits"]);
    // A line end of another kind shows in a single line.
    for (data, used) in [("1234\r\n5678\r\n", "lines"), ("1234\r\n5678\n", "lines:crlf"), ("12\n34\n", "lines:crlf")] {
        let spec = FramingSpec::parse(used).unwrap();
        let used = FramingInUse { spec, junk: Some(RecordNumber(1)), breaks: None, lengths: Some(4..=4) };
        let found = explain_misfit(data.as_bytes(), Some(data.len() as u64), Some(4), &used);
        let found = found.map(|finding| finding.to_string()).unwrap_or_default();
        assert!(found.contains("hint: `lines"), "{data:?}: {found}");
    }
    misfit(b"1234\n5678\n", "lines", Some(6), Some(1), expect!["fits"]);
    // `lines` was advised for the records that `lines:strip-cr`, the framing of fixed layouts, had found.
    misfit(b"AB123\nCDx23\nEFx99\n", "lines:strip-cr", Some(5), Some(2), expect!["fits"]);
    misfit(b"AB123\r\nCDx23\r\nEFx99\r\n", "lines:strip-cr", Some(5), Some(2), expect!["fits"]);
    // Nor is it advised beside a description with records of another length.
    let spec = FramingSpec::parse("lines:strip-cr").unwrap();
    let used = FramingInUse { spec, junk: Some(RecordNumber(1)), breaks: None, lengths: Some(2..=2) };
    let lines = "one\ntwo more\nthree\nfour of them\nfive\nsixth line\nsevens\n";
    assert_eq!(explain_misfit(lines.as_bytes(), Some(lines.len() as u64), Some(2), &used), None);
    let mut rdw = file("rdw", &bodies(4, 0), 0);
    rdw.extend_from_slice(&file("fixed:31", &bodies(30, 0), 0));
    misfit(
        &rdw,
        "rdw",
        None,
        None,
        expect![[r#"
            error[FRM-040]: junk after record 4: `rdw` does not hold there, and no other framing is evident in the first 1070 bytes
              at record 5

            hint: the file may be damaged or cut, or have an unknown framing: compare its size with the sender's, and ask the sender about RECFM, LRECL and a binary transfer"#]],
    );
}

#[test]
fn removed_length_headers_are_recognised() {
    let data = file("fixed:31", &bodies(60, 0), 0);
    misfit(
        &data,
        "rdw",
        Some(31),
        None,
        expect![[r#"
            error[FRM-040]: junk from the first record on: the framing `rdw` does not fit this file
              at record 1

            hint: `fixed:31` fits all 60 records in the first 1860 bytes (the layout has 31 bytes; bytes repeat at a distance of 31: 11 % more than at its neighbours; digits change to letters at offset 7 in 60 of 60 records; the file's 1860 bytes are 60 records exactly): use it instead"#]],
    );
}

/// FRM-040 said "use it instead" of records of two bytes, where the layout has twenty.
#[test]
fn a_framing_of_other_records_than_the_layouts_is_not_proposed() {
    let hint = |data: &[u8], used: &str, lengths: core::ops::RangeInclusive<usize>, breaks: Option<u64>| {
        let spec = FramingSpec::parse(used).unwrap();
        let fixed = (lengths.start() == lengths.end()).then_some(*lengths.end());
        let used = FramingInUse { spec, junk: None, breaks: breaks.map(RecordNumber), lengths: Some(lengths) };
        explain_misfit(data, Some(data.len() as u64), fixed, &used).map_or("fits".into(), |found| found.to_string())
    };
    let other_evident = |said: &str| said.contains("use it instead") || said.contains("belongs to this file");
    let twos = b"AB".repeat(10);
    assert!(hint(&twos, "rdw", 20..=20, None).contains("no other framing is evident"));
    assert!(hint(&twos, "rdw", 2..=2, None).contains("`fixed:2` fits all 10 records"));
    // Bytes after the last record.
    let mut junk = file("rdw", &[b"\xf0\xf0\xf0\xf0\xf0\xf1".to_vec(), b"\xf0\xf0\xf0\xf0\xf0\xf2".to_vec()], 0);
    junk.extend_from_slice(&b"AB".repeat(6));
    let said = hint(&junk, "rdw", 6..=6, None);
    assert!(!other_evident(&said) && said.contains("junk after record 2"), "{said}");
    // Long evidence for records that the layout does not have says that it is another file's.
    let other = file("fixed:35", &bodies(200, 0), 0);
    let said = hint(&other, "rdw", 31..=31, None);
    assert!(said.contains("`fixed:35` fits") && said.contains("but the description has records of 31 bytes"), "{said}");
    assert!(!said.contains("use it instead"), "{said}");
    let vb = file("vb", &bodies(60, 20), 300);
    let said = hint(&vb, "rdw", 20..=20, None);
    assert!(said.contains("`vb` fits") && !said.contains("use it instead"), "{said}");
    // Only the description knows where records of `layout` end.
    let counted = hint(b"2AB1C3DEF9", "layout", 1..=6, Some(4));
    assert!(counted.contains("junk after record 3") && !other_evident(&counted), "{counted}");
}

/// The real files of the corpus, with their record lengths.
#[test]
fn real_ebcdic_files_are_fixed() {
    let corpus = std::env::var_os("QUAYLINE_CORPUS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    for (name, length) in [("ACCTDATA", 300), ("CARDDATA", 150), ("CUSTDATA", 500), ("TRANTYPE", 60)] {
        let path = corpus.join(format!("data/carddemo/{name}.ebcdic"));
        let Ok(data) = std::fs::read(&path) else {
            eprintln!(
                "skipped in part: real_ebcdic_files_are_fixed: {name}.ebcdic is not in the corpus (QUAYLINE_CORPUS)"
            );
            continue;
        };
        for record_length in [None, Some(length)] {
            let found = detect(&data, Some(data.len() as u64), record_length);
            assert_eq!(
                found.first().map(|c| c.spec),
                Some(FramingSpec::Fixed { length }),
                "{name}: {}",
                show(&data, Some(data.len() as u64), record_length)
            );
        }
    }
}
