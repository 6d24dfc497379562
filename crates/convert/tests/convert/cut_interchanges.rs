//! Interchanges without an end, because another one begins: they keep their own delimiters and layout.

use std::sync::Arc;

use quayline_project::csv::CsvStyle;
use quayline_project::{EdiDocuments, EdiRead, Schema, SourceFormat, TargetFormat};

use crate::crash::{Unsynced, check};
use crate::kit::*;

const UNB: &str = "UNB+UNOC:3+S:14+R:14+260401:1200+26'";

fn isa(separators: &str) -> String {
    let [element, component, terminator] = separators.as_bytes() else { panic!("three separators") };
    let text =
        "ISA*00*          *00*          *ZZ*S              *ZZ*R              *260401*1200*^*00501*000000002*0*T*:~";
    let other = text.bytes().map(|byte| match byte {
        b'*' => *element,
        b':' => *component,
        b'~' => *terminator,
        byte => byte,
    });
    String::from_utf8(other.collect()).expect("ASCII")
}

fn good() -> String {
    isa("*:~")
        + "GS*PO*S*R*20260401*1200*2*X*005010~ST*850*0001~BEG*00*NE*PO3**20260401~SE*3*0001~GE*1*2~IEA*1*000000002~"
}

/// Interchanges whose only transaction has no end, with the trailers that the file lacks.
fn cut() -> Vec<(String, &'static str)> {
    let order = "UNH+1+ORDERS:D:96A:UN'BGM+220+PO1+9'FTX+AAI+++5!+5 WHY? NOW'";
    let x12 = |separators: &str| {
        let [element, terminator] = [0, 2].map(|at| char::from(separators.as_bytes()[at]).to_string());
        let body = "GS*PO*S*R*20260401*1200*2*X*005010~ST*850*0001~BEG*00*NE*PO2**20260401~";
        isa(separators) + &body.replace('*', &element).replace('~', &terminator)
    };
    vec![
        (format!("UNA:+,! '{UNB}{order}"), "UNZ+1+26'"),
        (format!("{UNB}UNG+ORDERS+S+R+260401:1200+3+UN+D:96A'{order}"), "UNE+1+3'UNZ+1+26'"),
        (x12("*:~"), "GE*1*2~IEA*1*000000002~"),
        (x12("|>="), "GE|1|2=IEA|1|000000002="),
        (x12("*:~").replace('~', "~\n"), "GE*1*2~\nIEA*1*000000002~\n"),
        (format!("UNA:+.? '\r\n{}", format!("{UNB}{order}").replace('\'', "'\r\n")), "UNZ+1+26'\r\n"),
        (format!("{UNB}{order}"), "UNZ+1+26'"),
    ]
}

fn kit(data: &str, documents: EdiDocuments, page_bytes: usize, lanes: usize) -> Kit {
    let (schema, to) = match documents {
        EdiDocuments::Rows => (Schema::edi_rows(), TargetFormat::Csv(CsvStyle::default())),
        EdiDocuments::Transactions => (Schema::edi(), jsonl()),
    };
    let from = SourceFormat::Edi(EdiRead { documents, page_bytes, ..EdiRead::default() });
    Kit { lanes, ..Kit::new(Arc::new(schema), data.as_bytes(), from, to) }
}

/// Returns a file in which each kind of [`cut`] precedes each kind `times` times, its rejects, and their number.
fn each_before_each(times: usize) -> (String, String, usize) {
    let (mut data, mut rejects) = (String::new(), String::new());
    let cut = cut();
    let kinds = cut.len();
    let number = times * kinds * kinds;
    for at in 0..number {
        let (text, trailers) = &cut[if at % 2 == 0 { at / 2 / kinds % kinds } else { at / 2 % kinds }];
        data.push_str(text);
        rejects.push_str(&format!("{text}{trailers}"));
    }
    (data + &good(), rejects, number)
}

/// The state of a checkpoint has the delimiters of the interchange that another cuts off. The findings of a header were lost if the run stopped
/// between it and its first transaction.
#[test]
fn a_run_resumes_inside_an_interchange_that_another_cuts_off() {
    let (data, rejects, _) = each_before_each(72);
    let whole = kit(&data, EdiDocuments::Transactions, 1 << 20, 2);
    check(&whole, Unsynced::Garbage);
    assert!(whole.text("rejects") == rejects);
    // The last interchange has no end.
    let cut = data.strip_suffix("GE*1*2~IEA*1*000000002~").expect("trailers");
    check(&kit(cut, EdiDocuments::Transactions, 1 << 20, 1), Unsynced::Garbage);
    check(&kit(cut, EdiDocuments::Rows, 1 << 20, 2), Unsynced::Garbage);
}

/// The rejects had the trailers of the next interchange, and a UNA only if that one had it. Without its own UNA, `5!+5` is two elements.
#[test]
fn rejects_of_an_interchange_that_another_cuts_off_keep_its_delimiters() {
    let (data, rejects, number) = each_before_each(72);
    assert!(data.len() > 200 << 10, "several blocks");
    for documents in [EdiDocuments::Transactions, EdiDocuments::Rows] {
        for (page_bytes, lanes) in [(1 << 20, 1), (1 << 20, 2), (1 << 20, 5), (30, 1), (30, 2)] {
            let kit = kit(&data, documents, page_bytes, lanes);
            let report = kit.ok();
            assert_eq!(report.tally.records_rejected, number as u64, "{documents:?}");
            let found = kit.text("rejects");
            let at = found.bytes().zip(rejects.bytes()).take_while(|(found, wanted)| found == wanted).count();
            assert!(
                found == rejects,
                "{documents:?}, pages of {page_bytes}, {lanes} lanes: {:?} instead of {:?}",
                &found[at.saturating_sub(100)..found.len().min(at + 50)],
                &rejects[at.saturating_sub(100)..rejects.len().min(at + 50)]
            );
        }
    }
}

/// The last segment of a transaction in pages got no terminator, so the first trailer became its data.
#[test]
fn a_cut_segment_has_a_terminator_in_the_rejects_of_pages() {
    for (text, trailers) in cut() {
        let text = text.trim_end();
        let text = &text[..text.len() - 2];
        let end = &trailers[trailers.trim_end().len() - 1..];
        for (page_bytes, lanes) in [(1 << 20, 1), (30, 1), (30, 2), (70, 1), (70, 2)] {
            let kit = kit(text, EdiDocuments::Transactions, page_bytes, lanes);
            kit.ok();
            let wanted = format!("{text}{end}{trailers}");
            assert_eq!(kit.text("rejects"), wanted, "pages of {page_bytes}, {lanes} lanes");
        }
    }
}

/// An interchange without a transaction is a document of its header. It had the delimiters of the next interchange.
#[test]
fn the_document_of_an_empty_interchange_that_another_cuts_off_has_its_delimiters() {
    let kit = kit(&format!("UNA:+,! '{UNB}{}", good()), EdiDocuments::Transactions, 1 << 20, 1);
    kit.ok();
    let own = r#"{"standard":"EDIFACT","delimiters":{"element":"+","component":":","release":"!","terminator":"'","decimal_mark":",","una":true}"#;
    assert!(kit.text("out").starts_with(own), "{}", kit.text("out"));
}
