//! Interchanges: the same bytes, order and findings for any number of lanes and any pages; rejects that are interchanges; stops anywhere.

use std::fs;
use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;
use quayline_convert::Rejects;
use quayline_edi::EdiWriterOptions;
use quayline_project::csv::CsvStyle;
use quayline_project::xml::XmlStyle;
use quayline_project::{EdiDocuments, EdiRead, JsonWrite, ParquetWrite, Schema, SourceFormat, TargetFormat};

use crate::crash::{Unsynced, check};
use crate::kit::*;

const ISA: &str =
    "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~";

/// An X12 interchange of two groups, words of a mail, and an EDIFACT interchange with UNA on lines; every `bad`th transaction counts wrong.
fn interchanges(n: usize, bad: usize) -> Vec<u8> {
    let wrong = |i: usize| i % bad == bad / 2;
    let mut text = ISA.to_owned();
    for group in 1..=2 {
        text.push_str(&format!("GS*PO*S*R*20260401*1200*{group}*X*005010~"));
        for i in 1..=n {
            let lines = i % 7;
            text.push_str(&format!("ST*850*{i:04}~BEG*00*SA*PO{i}**20260401~"));
            (1..=lines).for_each(|line| text.push_str(&format!("PO1*{line}*{}*EA*9.5**VN*A{i}:B~", i * line)));
            text.push_str(&format!("SE*{}*{i:04}~", lines + 3 + usize::from(wrong(i))));
        }
        text.push_str(&format!("GE*{n}*{group}~"));
    }
    text.push_str("IEA*2*000000001~\r\n-- the next one --\r\n");
    text.push_str("UNA:+,? '\r\nUNB+UNOC:3+S:14+R?+:14+260401:1200+7'\r\n");
    let mut bytes = text.into_bytes();
    for i in 1..=n {
        let count = 4 + usize::from(wrong(i));
        let text = format!("UNH+{i}+ORDERS:D:96A:UN'\r\nBGM+220+{i}'\r\nFTX+ZZZ+++DON?'T {i} K");
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(b"\xf6ln'\r\n");
        bytes.extend_from_slice(format!("UNT+{count}+{i}'\r\n").as_bytes());
    }
    bytes.extend_from_slice(format!("UNZ+{n}+7'\r\n").as_bytes());
    bytes
}

/// Bytes as the characters of ISO-8859-1.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn read(documents: EdiDocuments, page_bytes: usize) -> SourceFormat {
    SourceFormat::Edi(EdiRead { documents, page_bytes, ..EdiRead::default() })
}

fn edi() -> SourceFormat {
    read(EdiDocuments::Transactions, 1 << 20)
}

fn to_edi() -> TargetFormat {
    TargetFormat::Edi(EdiWriterOptions::default())
}

fn kit_of(data: &[u8], from: SourceFormat, to: TargetFormat, lanes: usize) -> Kit {
    let rows = matches!(from, SourceFormat::Edi(EdiRead { documents: EdiDocuments::Rows, .. }));
    let mut kit = Kit::new(Arc::new(if rows { Schema::edi_rows() } else { Schema::edi() }), data, from, to);
    kit.lanes = lanes;
    kit
}

/// Returns the same data as documents of another format, including bad ones.
fn as_text(n: usize, bad: usize, to: TargetFormat) -> Vec<u8> {
    let kit = kit_of(&interchanges(n, usize::MAX), edi(), to, 1);
    kit.ok();
    let text = kit.text("out");
    let mut i = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        i += 1;
        // The tag is none: what no lane but the writer sees.
        if i % bad == 1 && i > 1 { line.replace("BEG", "beg").replace("BGM", "bgm") } else { line.to_owned() }
    });
    lines.collect::<String>().into_bytes()
}

const FILES: [&str; 3] = ["out", "rejects", "rejects.findings.jsonl"];

/// Lanes change nothing.
fn any_lanes(data: &[u8], from: &SourceFormat, to: &TargetFormat) {
    let whole = kit_of(data, from.clone(), to.clone(), 1);
    let report = whole.ok();
    assert!(report.tally.records_rejected > 3, "{to:?}: {:?}", report.tally);
    for lanes in [2, 5] {
        let kit = kit_of(data, from.clone(), to.clone(), lanes);
        assert_eq!(kit.ok().tally, report.tally, "{to:?}");
        for name in FILES {
            assert!(kit.bytes(name) == whole.bytes(name), "{lanes} lanes: {name} differs, {to:?}");
        }
    }
}

#[test]
fn any_number_of_lanes_gives_the_same_bytes() {
    let data = interchanges(3_000, 500);
    let json = JsonWrite::default();
    for to in [
        TargetFormat::JsonLines(json),
        TargetFormat::JsonArray(json),
        TargetFormat::Xml(XmlStyle::default()),
        TargetFormat::Parquet(ParquetWrite::default()),
        to_edi(),
    ] {
        any_lanes(&data, &edi(), &to);
    }
    for to in [TargetFormat::Csv(CsvStyle::default()), TargetFormat::ArrowStream, TargetFormat::JsonLines(json)] {
        any_lanes(&data, &read(EdiDocuments::Rows, 1 << 20), &to);
    }
    any_lanes(&as_text(1_500, 300, TargetFormat::JsonLines(json)), &JSON, &to_edi());
    let xml = XmlStyle::default();
    any_lanes(&as_text(1_500, 300, TargetFormat::Xml(xml.clone())), &SourceFormat::Xml(xml), &to_edi());
}

/// Pages change documents, not what they hold.
#[test]
fn any_pages_give_the_same_rows_and_the_same_interchanges() {
    let data = interchanges(40, usize::MAX);
    let rows = |page: usize| {
        let kit = kit_of(&data, read(EdiDocuments::Rows, page), TargetFormat::Csv(CsvStyle::default()), 2);
        kit.ok();
        kit.bytes("out")
    };
    let whole = rows(1 << 20);
    for page in [1, 30, 64, 100, 1_000] {
        assert!(rows(page) == whole, "pages of {page}: other rows");
        let kit = kit_of(&data, read(EdiDocuments::Transactions, page), jsonl(), 2);
        kit.ok();
        let pages = kit.text("out");
        assert_eq!(pages.contains("\"page\":2"), page < 200, "pages of {page}");
        let back = kit_of(pages.as_bytes(), JSON, to_edi(), 2);
        back.ok();
        // The words of the mail are no part of an interchange.
        let written = back.bytes("out");
        let noise = b"\r\n-- the next one --\r\n";
        let at = data.windows(noise.len()).position(|window| window == noise).expect("it is there");
        assert!(written == [&data[..at], &data[at + noise.len()..]].concat(), "pages of {page}: other bytes");
    }
}

#[test]
fn a_bad_transaction_lands_whole_in_the_rejects() {
    let kit = kit_of(&interchanges(3, 3), edi(), jsonl(), 1);
    let report = kit.ok();
    assert_eq!((report.tally.records_out, report.tally.records_rejected, report.errors), (6, 3, 0));
    expect![[r#"
        ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~BEG*00*SA*PO1**20260401~PO1*1*1*EA*9.5**VN*A1:B~SE*5*0001~GE*1*1~GS*PO*S*R*20260401*1200*2*X*005010~ST*850*0001~BEG*00*SA*PO1**20260401~PO1*1*1*EA*9.5**VN*A1:B~SE*5*0001~GE*1*2~IEA*2*000000001~UNA:+,? '\r\nUNB+UNOC:3+S:14+R?+:14+260401:1200+7'\r\nUNH+1+ORDERS:D:96A:UN'\r\nBGM+220+1'\r\nFTX+ZZZ+++DON?'T 1 K\xf6ln'\r\nUNT+5+1'\r\nUNZ+1+7'\r\n
    "#]]
    .assert_eq(&format!("{}\n", latin1(&kit.bytes("rejects")).replace('\u{f6}', "\\xf6").replace("\r\n", "\\r\\n")));
    expect![[r#"
        {"record":1,"byte":201,"code":"EDI-033","severity":"error","message":"SE01 declares 5 segments, counted 4","place":{"interchange":1,"group":1,"transaction":1,"segment":4,"element":1},"path":"interchange 1, group 1, transaction 1, segment 4, element 1","detail":"X12.5 and X12.6, control segments","hint":"write 4, or look for what is missing or superfluous"}
        {"record":4,"byte":525,"code":"EDI-033","severity":"error","message":"SE01 declares 5 segments, counted 4","place":{"interchange":1,"group":2,"transaction":1,"segment":4,"element":1},"path":"interchange 1, group 2, transaction 1, segment 4, element 1","detail":"X12.5 and X12.6, control segments","hint":"write 4, or look for what is missing or superfluous"}
        {"record":7,"byte":772,"code":"EDI-001","severity":"warning","message":"20 bytes here are neither white space nor part of an interchange","hint":"remove what is not EDI, such as mail headers, if it should not be there"}
        {"record":7,"byte":904,"code":"EDI-033","severity":"error","message":"UNT 0074 declares 5 segments, counted 4","place":{"interchange":2,"transaction":1,"segment":4,"element":1},"path":"interchange 2, transaction 1, segment 4, element 1","detail":"ISO 9735-1, service segments","hint":"write 4, or look for what is missing or superfluous"}
    "#]]
    .assert_eq(&kit.text("rejects.findings.jsonl"));
    // They can be converted again, with the same findings.
    let again = kit_of(&kit.bytes("rejects"), edi(), jsonl(), 1);
    let report = again.ok();
    assert_eq!((report.tally.records_out, report.tally.records_rejected, report.errors), (0, 3, 0));
    assert!(again.bytes("rejects") == kit.bytes("rejects"));
}

/// A file that ended inside UNB ended the program: an interchange without transactions had a range beyond the end of the file.
#[test]
fn a_file_that_is_cut_off_anywhere_is_told() {
    let data = interchanges(2, 9);
    let edifact = data.windows(4).position(|window| window == b"UNA:").expect("one is there");
    let cuts = |piece: &[u8]| {
        // The terminator of the last segment may be missing.
        for end in (4..piece.len() - 3).step_by(5) {
            let report = checked(kit_of(&piece[..end], edi(), jsonl(), 1).conversion().run());
            match report {
                Ok(report) => assert!(report.errors + report.tally.records_rejected > 0, "no findings at {end}"),
                Err(error) => panic!("at {end}: {error}"),
            }
        }
    };
    cuts(&data[..edifact - 20]);
    cuts(&data[edifact..]);
}

#[test]
fn without_rejects_the_first_bad_transaction_ends_the_run() {
    let mut kit = kit_of(&interchanges(3, 3), edi(), jsonl(), 2);
    kit.rejects = false;
    let error = kit.run().expect_err("a transaction is bad");
    assert!(said(&kit, &error).starts_with("error[EDI-033]: SE01 declares 5 segments, counted 4\n"), "{error}");
    assert_eq!(kit.names(), ["in.dat", "out.partial"]);
}

#[test]
fn what_is_wrong_with_an_envelope_rejects_nothing_and_is_told() {
    let text = latin1(&interchanges(2, usize::MAX)).replace("GE*2*1", "GE*3*1").into_bytes();
    let report = kit_of(&text, edi(), jsonl(), 1).ok();
    assert_eq!((report.tally.records_out, report.tally.records_rejected, report.errors), (6, 0, 1));
    let codes: Vec<&str> = report.findings_by_code.iter().map(|(code, _)| code.0).collect();
    assert!(codes.contains(&"EDI-033") && codes.contains(&"EDI-001"), "{codes:?}");
}

#[test]
fn characters_beyond_the_set_are_told_once_an_interchange() {
    let text = latin1(&interchanges(6_000, usize::MAX)).replace("UNOC", "UNOA");
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).expect("ISO-8859-1")).collect();
    for lanes in [1, 3] {
        let report = kit_of(&latin, edi(), jsonl(), lanes).ok();
        let told: Vec<_> = report.findings_by_code.iter().map(|(code, count)| (code.0, *count)).collect();
        assert_eq!(told, [("EDI-001", 1), ("EDI-041", 1)], "{lanes} lanes");
    }
}

#[test]
fn each_transaction_goes_to_a_file_of_its_own() {
    let data = interchanges(3, 3);
    for (to, extension) in [(jsonl(), "json"), (TargetFormat::Xml(XmlStyle::default()), "xml"), (to_edi(), "edi")] {
        let kit = kit_of(&data, edi(), to, 2);
        fs::create_dir(kit.path("out")).expect("made");
        let mut conversion = kit.conversion();
        conversion.target.output = quayline_convert::Output::Folder { path: kit.path("out"), extension };
        let report = checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(report.tally.records_out, 6);
        let mut names: Vec<String> = fs::read_dir(kit.path("out"))
            .expect("readable")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("ASCII"))
            .collect();
        names.sort();
        let of = |n: &str| format!("{n}.{extension}");
        let expected = [
            "000001-850-0002",
            "000002-850-0003",
            "000003-850-0002",
            "000004-850-0003",
            "000005-ORDERS-2",
            "000006-ORDERS-3",
        ];
        assert_eq!(names, expected.map(of));
        if extension == "edi" {
            let one = String::from_utf8(kit.bytes("out/000002-850-0003.edi")).expect("ASCII");
            assert!(one.starts_with(ISA) && one.ends_with("SE*6*0003~GE*1*1~IEA*1*000000001~"), "{one}");
        }
    }
}

/// Regression: a document replaced the source, the rejects or a document of another output.
#[test]
fn documents_of_a_folder_replace_no_file_of_the_run() {
    let mut kit = kit_of(&interchanges(3, 3), edi(), to_edi(), 1);
    fs::create_dir(kit.path("out")).expect("made");
    let path = kit.path("out/.");
    let folder = || quayline_convert::Output::Folder { path: path.clone(), extension: "edi" };
    let mut conversion = kit.conversion();
    conversion.target.output = folder();
    conversion.rejects = Rejects::File { path: kit.path("out/000001-850-0002.edi"), max: None };
    let said = conversion.run().expect_err("the rejects are in the folder").to_string();
    assert!(said.starts_with("error[CNV-012]: the rejects file has the name of a document"), "{said}");
    kit.rejects = false;
    for name in ["000001.edi", "1234567-x.edi", "000001.edi.partial"] {
        let source = kit.path("out").join(name);
        fs::copy(kit.path("in.dat"), &source).expect("copied");
        let mut conversion = kit.conversion();
        conversion.source.input = quayline_convert::Input::File(source.clone());
        conversion.target.output = folder();
        let said = conversion.run().expect_err("the source is in the folder").to_string();
        assert!(said.starts_with("error[CNV-012]: the source has the name of a document"), "{said}");
        assert_eq!(fs::read(&source).expect("still there"), kit.bytes("in.dat"));
        fs::remove_file(source).expect("removed");
    }
    // A link in the folder leads to the source.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(kit.path("in.dat"), kit.path("out/000001-850-0002.edi")).expect("a link");
        let mut conversion = kit.conversion();
        conversion.target.output = folder();
        conversion.run().expect_err("a document is the source");
        fs::remove_file(kit.path("out/000001-850-0002.edi")).expect("removed");
    }
    for name in ["00001.edi", "000001.x12", "a-000001.edi"] {
        let source = kit.path("out").join(name);
        fs::copy(kit.path("in.dat"), &source).expect("copied");
        let mut conversion = kit.conversion();
        conversion.source.input = quayline_convert::Input::File(source);
        conversion.target.output = folder();
        conversion.run().expect_err("a transaction is bad, and no name is taken");
    }
}

#[test]
fn a_source_without_interchanges_is_refused() {
    for data in [&b""[..], b"Dear Sir or Madam", &[0x1f, 0x8b, 8, 0, 0, 0]] {
        let error = kit_of(data, edi(), jsonl(), 1).run().expect_err("nothing is EDI");
        assert!(error.to_string().starts_with("error[EDI-002]: no interchange found"), "{error}");
    }
}

#[test]
fn a_large_transaction_takes_little_memory() {
    let mut text = ISA.as_bytes().to_vec();
    text.extend_from_slice(b"GS*PO*S*R*20260401*1200*1*X*005010~ST*850*0001~");
    let lines = 150_000u32;
    (0..lines).for_each(|line| text.extend_from_slice(format!("PO1*{line}*1*EA*9.5**VN*AAAAAA~").as_bytes()));
    text.extend_from_slice(format!("SE*{}*0001~GE*1*1~IEA*1*000000001~", lines + 2).as_bytes());
    let kit = kit_of(&text, edi(), to_edi(), 2);
    let report = kit.ok();
    assert!(
        report.tally.records_out == 1 && report.documents > 3,
        "{:?}, {} documents",
        report.tally,
        report.documents
    );
    assert!(kit.bytes("out") == text);
}

#[test]
fn interchanges_resume_at_every_step() {
    let data = interchanges(3_000, 700);
    check(&kit_of(&data, edi(), jsonl(), 1), Unsynced::Kept);
    check(&kit_of(&data, edi(), to_edi(), 2), Unsynced::Garbage);
}

#[test]
fn documents_become_interchanges_and_resume_at_every_step() {
    let json = JsonWrite::default();
    check(&kit_of(&as_text(500, 150, TargetFormat::JsonLines(json)), JSON, to_edi(), 2), Unsynced::Garbage);
    let xml = XmlStyle::default();
    let data = as_text(350, 120, TargetFormat::Xml(xml.clone()));
    check(&kit_of(&data, SourceFormat::Xml(xml), to_edi(), 1), Unsynced::Kept);
}

/// Environment variable that passes the folder of the run to the child process of the next test.
const FOLDER: &str = "QUAYLINE_EDI_CRASH_FOLDER";

/// Not a separate test: the child process of the next test runs it.
#[test]
fn child_process_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = std::path::Path::new(&folder);
    let kit = kit_of(b"", edi(), to_edi(), 2);
    let mut conversion = kit.conversion();
    conversion.source.input = quayline_convert::Input::File(folder.join("in.dat"));
    conversion.target.output = quayline_convert::Output::File(folder.join("out"));
    conversion.rejects = Rejects::File { path: folder.join("rejects"), max: None };
    let path = folder.join("out.checkpoint");
    let start = if path.exists() { quayline_convert::Start::Resume } else { quayline_convert::Start::Anew };
    conversion.checkpoints = Some(quayline_convert::Checkpoints { path, ..kit.checkpoints(start) });
    checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
}

/// SIGKILL at any time, repeatedly: the last, uninterrupted run completes the same interchanges.
#[test]
fn a_killed_process_resumes() {
    let kit = kit_of(&interchanges(20_000, 700), edi(), to_edi(), 2);
    kit.ok();
    let whole: Vec<Vec<u8>> = FILES.iter().map(|name| kit.bytes(name)).collect();
    FILES.iter().for_each(|name| fs::remove_file(kit.path(name)).expect("removed"));
    // A child that is killed cannot remove its temporary files.
    let scratch = tempfile::tempdir().expect("a folder");
    let this = std::env::current_exe().expect("this test has a path");
    let child = || {
        std::process::Command::new(&this)
            .args(["--exact", "edi::child_process_that_is_killed"])
            .env("TMPDIR", scratch.path())
            .env(FOLDER, kit.folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("starts")
    };
    let mut killed = 0;
    for round in 1..=30 {
        let mut running = child();
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < round * 3 && running.try_wait().expect("a child").is_none() {
            std::thread::yield_now();
        }
        if running.try_wait().expect("a child").is_none() {
            running.kill().expect("killed");
            killed += 1;
        }
        let status = running.wait().expect("a child");
        assert!(status.success() || status.code().is_none(), "{status}");
        if kit.path("out").exists() {
            break;
        }
    }
    assert!(killed > 0, "no round was short enough");
    if !kit.path("out").exists() {
        assert!(child().wait().expect("a child").success());
    }
    for (name, whole) in FILES.iter().zip(&whole) {
        assert!(kit.bytes(name) == *whole, "{name} differs");
    }
}

/// Fault of a transaction.
#[derive(Clone, Copy, Debug)]
enum Harm {
    None,
    Count,
    Control,
    /// It has no trailer: the next header ends it, or that of another group or interchange.
    Unclosed,
    Tag,
    /// A control character in its header.
    Header,
}

fn harm() -> impl Strategy<Value = (Harm, usize)> {
    let kind = prop_oneof![
        2 => Just(Harm::None),
        1 => Just(Harm::Count),
        1 => Just(Harm::Control),
        4 => Just(Harm::Unclosed),
        1 => Just(Harm::Tag),
        1 => Just(Harm::Header),
    ];
    (kind, 0usize..1_400)
}

fn transaction(number: usize, (harm, filler): (Harm, usize)) -> String {
    let control = format!("{number:06}");
    let header = if let Harm::Header = harm { format!("ST*850*{control}\u{7}~") } else { format!("ST*850*{control}~") };
    let tag = if let Harm::Tag = harm { "abcde*1~" } else { "" };
    let body = format!("{header}REF*CT*{control}{}~{tag}", "X".repeat(filler));
    match harm {
        Harm::Unclosed => body,
        Harm::Count => format!("{body}SE*9*{control}~"),
        Harm::Control => format!("{body}SE*3*{control}9~"),
        _ => format!("{body}SE*{}*{control}~", 3 + usize::from(!tag.is_empty())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]
    /// Whatever is wrong with transactions, each is in the output or in the rejects, whole and once.
    #[test]
    fn no_transaction_is_missing(
        harms in prop::collection::vec(harm(), 1..500),
        lanes in 1usize..4,
        of_group in 1usize..200,
        closes in any::<bool>(),
    ) {
        let texts: Vec<String> = harms.iter().enumerate().map(|(number, harm)| transaction(number, *harm)).collect();
        let mut data = ISA.to_owned();
        for (number, group) in texts.chunks(of_group).enumerate() {
            data.push_str(&format!("GS*PO*S*R*20260401*1200*{}*X*005010~{}", number + 1, group.concat()));
            if closes {
                data.push_str(&format!("GE*{}*{}~", group.len(), number + 1));
            }
        }
        data.push_str(&format!("IEA*{}*000000001~", texts.chunks(of_group).count()));
        let kit = kit_of(data.as_bytes(), edi(), to_edi(), lanes);
        let report = kit.ok();
        let (out, rejects) = (kit.text("out"), kit.text("rejects"));
        for (text, (harm, _)) in texts.iter().zip(&harms) {
            let wanted = if let Harm::None = harm { (1, 0) } else { (0, 1) };
            prop_assert_eq!((out.matches(&**text).count(), rejects.matches(&**text).count()), wanted, "{:?}", harm);
        }
        let bad = harms.iter().filter(|(harm, _)| !matches!(harm, Harm::None)).count();
        prop_assert_eq!(report.tally.records_rejected, bad as u64);
        prop_assert!(bad == 0 || kit.text("rejects.findings.jsonl").lines().count() >= bad);
    }
}
