//! Transactions larger than a page are written completely or not at all, for all outputs, pages and lanes.

use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use quayline_convert::{Output, Rejects};
use quayline_edi::EdiWriterOptions;
use quayline_project::csv::CsvStyle;
use quayline_project::xml::XmlStyle;
use quayline_project::{EdiDocuments, EdiRead, JsonWrite, ParquetWrite, Schema, SourceFormat, TargetFormat};

use crate::crash::{Unsynced, check};
use crate::kit::*;

/// A page that no transaction here fills.
const WHOLE: usize = 1 << 20;

/// Orders of up to 600 bytes in X12 and EDIFACT: good ones, and some with an error in their first, middle or last page.
fn orders() -> Vec<u8> {
    let mut text =
        "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~"
            .to_owned();
    text.push_str("GS*PO*S*R*20260401*1200*1*X*005010~");
    for i in 1..=40 {
        let lines = i * 7 % 23;
        text.push_str(&format!("ST*850*{i:04}~"));
        text.push_str(if i % 9 == 4 { "*00*SA*no tag~" } else { "BEG*00*SA*PO**20260401~" });
        for line in 1..=lines {
            let tag = if i % 11 == 6 && line == lines / 2 { "" } else { "PO1" };
            text.push_str(&format!("{tag}*{line}*{}*EA*9.5**VN*A{i}:B~", i * line));
        }
        text.push_str(&format!("SE*{}*{i:04}~", lines + 3 + usize::from(i % 13 == 2)));
    }
    text.push_str("GE*40*1~IEA*1*000000001~\r\nUNA:+,? '\r\nUNB+UNOC:3+S:14+R:14+260401:1200+7'\r\n");
    for i in 1..=20 {
        let lines = i * 5 % 17;
        text.push_str(&format!("UNH+{i}+ORDERS:D:96A:UN'\r\nBGM+220+{i}'\r\n"));
        (1..=lines).for_each(|line| text.push_str(&format!("LIN+{line}++A{i}?+B:SA'\r\n")));
        text.push_str(&format!("UNT+{}+{i}'\r\n", lines + 3 + usize::from(i % 7 == 3)));
    }
    text.push_str("UNZ+20+7'\r\n");
    text.into_bytes()
}

fn kit(documents: EdiDocuments, page_bytes: usize, to: TargetFormat, lanes: usize) -> Kit {
    let schema = Arc::new(if documents == EdiDocuments::Rows { Schema::edi_rows() } else { Schema::edi() });
    let from = SourceFormat::Edi(EdiRead { documents, page_bytes, ..EdiRead::default() });
    let mut kit = Kit::new(schema, &orders(), from, to);
    kit.lanes = lanes;
    kit
}

fn to_edi() -> TargetFormat {
    TargetFormat::Edi(EdiWriterOptions::default())
}

/// The interchanges that JSON lines are.
fn back(lines: &[u8]) -> Vec<u8> {
    let kit = Kit::new(Arc::new(Schema::edi()), lines, JSON, to_edi());
    kit.ok();
    kit.bytes("out")
}

const PAGES: [usize; 4] = [20, 64, 150, 400];

/// A bad page was rejected alone, so a part of a transaction was in the output, and the rejects lacked its beginning or end.
#[test]
fn a_bad_transaction_in_pages_is_rejected_whole() {
    let whole = kit(EdiDocuments::Transactions, WHOLE, to_edi(), 1);
    let tally = whole.ok().tally;
    assert!(tally.records_rejected > 8 && tally.records_out > 30, "{tally:?}");
    let rows = kit(EdiDocuments::Rows, WHOLE, TargetFormat::Csv(CsvStyle::default()), 1);
    rows.ok();
    for page in PAGES {
        for lanes in [1, 3] {
            let of = |documents, to, from: &Kit| {
                let kit = kit(documents, page, to, lanes);
                let paged = kit.ok().tally;
                // A good transaction counted as many times as it has pages.
                assert_eq!(paged, tally, "pages of {page}, {:?}", kit.to);
                assert!(kit.bytes("rejects") == from.bytes("rejects"), "pages of {page}: other rejects, {:?}", kit.to);
                kit.bytes("out")
            };
            let good = whole.bytes("out");
            assert!(of(EdiDocuments::Transactions, to_edi(), &whole) == good, "pages of {page}: other interchanges");
            let json = of(EdiDocuments::Transactions, jsonl(), &whole);
            assert!(back(&json) == good, "pages of {page}: other documents");
            let array = of(EdiDocuments::Transactions, TargetFormat::JsonArray(JsonWrite::default()), &whole);
            assert!(back(&array) == good, "pages of {page}: other documents in an array");
            let xml = of(EdiDocuments::Transactions, TargetFormat::Xml(XmlStyle::default()), &whole);
            let xml = Kit::new(Arc::new(Schema::edi()), &xml, SourceFormat::Xml(XmlStyle::default()), to_edi());
            xml.ok();
            assert!(xml.bytes("out") == good, "pages of {page}: other elements");
            let csv = of(EdiDocuments::Rows, TargetFormat::Csv(CsvStyle::default()), &rows);
            assert!(csv == rows.bytes("out"), "pages of {page}: other rows");
        }
    }
}

/// Rows of a Parquet file or of Arrow batches as CSV would have them, less its quoting.
fn cells(bytes: Vec<u8>, is_parquet: bool) -> Vec<String> {
    let batches: Vec<arrow_array::RecordBatch> = if is_parquet {
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes));
        reader.expect("Parquet").build().expect("Parquet").map(|batch| batch.expect("rows")).collect()
    } else {
        let reader = arrow_ipc::reader::StreamReader::try_new(io::Cursor::new(bytes), None);
        reader.expect("Arrow").map(|batch| batch.expect("rows")).collect()
    };
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cell = |column: &Arc<dyn arrow_array::Array>| {
                use arrow_array::cast::AsArray;
                use arrow_array::types::Int64Type;
                match (column.is_null(row), column.as_string_opt::<i32>(), column.as_primitive_opt::<Int64Type>()) {
                    (true, ..) => String::new(),
                    (_, Some(texts), _) => texts.value(row).to_owned(),
                    (_, _, Some(numbers)) => numbers.value(row).to_string(),
                    _ => format!("{:?}", column.data_type()),
                }
            };
            rows.push(batch.columns().iter().map(cell).collect::<Vec<_>>().join(","));
        }
    }
    rows
}

#[test]
fn tables_have_no_row_of_a_bad_transaction_in_pages() {
    for (to, is_parquet) in [(TargetFormat::Parquet(ParquetWrite::default()), true), (TargetFormat::ArrowStream, false)]
    {
        let rows = |page: usize, lanes: usize| {
            let kit = kit(EdiDocuments::Rows, page, to.clone(), lanes);
            kit.ok();
            (cells(kit.bytes("out"), is_parquet), kit.bytes("rejects"))
        };
        let whole = rows(WHOLE, 1);
        assert!(whole.0.len() > 200, "{} rows", whole.0.len());
        for page in PAGES {
            for lanes in [1, 3] {
                let paged = rows(page, lanes);
                assert_eq!(paged.0, whole.0, "pages of {page}, {to:?}");
                assert!(paged.1 == whole.1, "pages of {page}, {to:?}: other rejects");
            }
        }
    }
}

/// A stream whose content a test can read.
#[derive(Clone, Default)]
struct Stream(Arc<Mutex<Vec<u8>>>);

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_of_a_bad_transaction_goes_down_a_stream() {
    let rows = |to: &TargetFormat| matches!(to, TargetFormat::Parquet(_) | TargetFormat::ArrowStream);
    for to in [jsonl(), to_edi(), TargetFormat::Parquet(ParquetWrite::default()), TargetFormat::ArrowStream] {
        let documents = if rows(&to) { EdiDocuments::Rows } else { EdiDocuments::Transactions };
        let kit = kit(documents, 64, to.clone(), 2);
        kit.ok();
        let stream = Stream::default();
        let mut conversion = kit.conversion();
        conversion.target.output = Output::Stream(Box::new(stream.clone()));
        checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
        assert!(*stream.0.lock().expect("done") == kit.bytes("out"), "{to:?}");
    }
    // Without rejects the run ends, before the first line of the first bad transaction.
    let mut kit = kit(EdiDocuments::Transactions, 64, jsonl(), 2);
    kit.rejects = false;
    let stream = Stream::default();
    let mut conversion = kit.conversion();
    conversion.target.output = Output::Stream(Box::new(stream.clone()));
    conversion.run().expect_err("a transaction is bad");
    let text = String::from_utf8(stream.0.lock().expect("done").clone()).expect("UTF-8");
    assert!(text.contains(r#""control_number":"0001""#), "{text}");
    assert!(!text.contains(r#""control_number":"0002""#), "{text}");
}

#[test]
fn files_of_a_bad_transaction_in_pages_are_gone() {
    let kit = kit(EdiDocuments::Transactions, 64, jsonl(), 2);
    let whole = {
        kit.ok();
        kit.text("out")
    };
    fs::remove_file(kit.path("out")).expect("removed");
    fs::create_dir(kit.path("out")).expect("made");
    let mut conversion = kit.conversion();
    conversion.target.output = Output::Folder { path: kit.path("out"), extension: "json" };
    checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
    let mut names: Vec<String> = fs::read_dir(kit.path("out"))
        .expect("readable")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("ASCII"))
        .collect();
    names.sort();
    assert_eq!(names.len(), whole.lines().count());
    let together: String = names.iter().map(|name| kit.text(&format!("out/{name}"))).collect();
    assert_eq!(together, whole);
    for (name, n) in names.iter().zip(1..) {
        assert!(name.starts_with(&format!("{n:06}-")), "{name} is number {n}");
    }
}

#[test]
fn pages_resume_at_every_step() {
    check(&kit(EdiDocuments::Transactions, 500, jsonl(), 1), Unsynced::Kept);
    check(&kit(EdiDocuments::Transactions, 400, to_edi(), 2), Unsynced::Garbage);
}

/// The limit of rejects is checked at each page, since a transaction counts as one record.
#[test]
fn a_bad_transaction_in_pages_is_one_reject() {
    let kit = kit(EdiDocuments::Transactions, 64, jsonl(), 1);
    let bad = kit.ok().tally.records_rejected;
    let with = |max: u64| {
        let mut conversion = kit.conversion();
        conversion.rejects = Rejects::File { path: kit.path("rejects"), max: Some(max) };
        conversion.run()
    };
    assert!(with(bad).is_ok());
    let error = with(bad - 1).expect_err("one too many");
    assert!(
        error.to_string().contains(&format!("{bad} records rejected, more than the {} allowed", bad - 1)),
        "{error}"
    );
}

/// Environment variable that passes the folder of the run to the child process of the next test.
const FOLDER: &str = "QUAYLINE_SPLIT_CRASH_FOLDER";

fn split(folder: &std::path::Path) {
    let kit = kit(EdiDocuments::Transactions, 150, jsonl(), 2);
    let mut conversion = kit.conversion();
    conversion.target.output = Output::Folder { path: folder.to_owned(), extension: "json" };
    checked(conversion.run()).unwrap_or_else(|error| panic!("{error}"));
}

/// Not a separate test: the child process of the next test runs it.
#[test]
fn child_process_that_splits() {
    if let Ok(folder) = std::env::var(FOLDER) {
        split(folder.as_ref());
    }
}

/// SIGKILL at any time, and the run again as the documents say: nothing is lost, nothing occurs twice, no half of a file has a name.
#[test]
fn a_killed_split_is_run_again() {
    let files = |folder: &std::path::Path| -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(folder)
            .expect("readable")
            .map(|entry| entry.expect("an entry").path())
            .map(|path| {
                (path.file_name().expect("a name").to_string_lossy().into_owned(), fs::read(path).expect("readable"))
            })
            .collect();
        files.sort();
        files
    };
    let whole = tempfile::tempdir().expect("a folder");
    split(whole.path());
    let whole = files(whole.path());
    assert!(whole.len() > 60, "{} files", whole.len());
    let (folder, scratch) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let this = std::env::current_exe().expect("this test has a path");
    let mut killed = 0;
    for round in 1..=25 {
        let mut child = std::process::Command::new(&this)
            .args(["--exact", "pages::child_process_that_splits"])
            .env("TMPDIR", scratch.path())
            .env(FOLDER, folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("starts");
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < round * 4 && child.try_wait().expect("a child").is_none() {
            std::thread::yield_now();
        }
        if child.try_wait().expect("a child").is_none() {
            child.kill().expect("killed");
            killed += 1;
        }
        child.wait().expect("a child");
        for (name, bytes) in files(folder.path()).iter().filter(|(name, _)| !name.ends_with(".partial")) {
            let known = whole.iter().find(|(known, _)| known == name);
            assert!(known.is_some_and(|(_, whole)| whole == bytes), "round {round}: {name} is not whole");
        }
    }
    assert!(killed > 0, "no round was short enough");
    split(folder.path());
    assert!(
        files(folder.path()) == whole,
        "{:?}",
        files(folder.path()).iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
}
