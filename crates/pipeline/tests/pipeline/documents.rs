//! Documents one by one, and places between them.

use std::io::Cursor;
use std::sync::Arc;

use quayline_core::Limits;
use quayline_pipeline::{DocumentsPlace, Next, Pipeline};
use quayline_project::{EdiRead, Schema, SourceFormat, csv, xml};

use crate::support::{JSON, PERSON, jsonl, person, pipeline, records, run, schema, shown};

const COUNT: usize = 30_000;

fn source(format: SourceFormat, schema: &Arc<Schema>) -> Pipeline {
    Pipeline::of_source(format, Arc::clone(schema), Limits::default()).unwrap_or_else(|findings| panic!("{findings}"))
}

/// Reads the documents of a source from a position on, and the position after each.
fn rest(pipeline: &Pipeline, data: &[u8], from: &DocumentsPlace) -> (Vec<Vec<u8>>, Vec<DocumentsPlace>) {
    let name = Arc::from("data");
    let opened = pipeline.documents(Box::new(Cursor::new(data.to_vec())), &name, from);
    let mut documents = opened.unwrap_or_else(|findings| panic!("{findings}"));
    let (mut found, mut places) = (Vec::new(), Vec::new());
    loop {
        let mut document = Vec::new();
        match documents.next(&mut document) {
            Next::Document(_) => {
                found.push(document);
                let place = documents.place();
                assert_eq!(DocumentsPlace::from_bytes(&place.to_bytes()).as_ref(), Some(&place));
                places.push(place);
            }
            Next::End => return (found, places),
            Next::Wrong(_, findings) | Next::Lost(findings) => panic!("{findings}"),
        }
    }
}

/// Checks that each document alone has the same result as in the file, and that a reader that continues at any position returns the rest.
fn check(format: SourceFormat, schema: &Arc<Schema>, data: &[u8], count: usize) {
    let whole = source(format.clone(), schema);
    let convert = pipeline(format, schema, jsonl());
    let (report, expected) = run(&convert, data);
    assert!(report.is_good(), "{}", shown(&report));
    let (documents, places) = rest(&whole, data, &DocumentsPlace::START);
    assert_eq!(documents.len(), count);
    let mut apart = Vec::new();
    for document in &documents {
        let (report, mut outputs) = run(&convert, document);
        assert!(report.is_good() && report.tally.records_in == 1, "{}", shown(&report));
        apart.append(&mut outputs[0]);
    }
    assert!(without_positions(&apart) == without_positions(&expected[0]), "documents alone give something else");
    for at in (0..count).step_by(count / 7 + 1).chain([count - 2, count - 1]) {
        let (after, _) = rest(&whole, data, &places[at]);
        assert!(after == documents[at + 1..], "after document {at} of {count}");
    }
}

/// Documents of interchanges have the number of their interchange in the file, which is 1 for each alone.
fn without_positions(json: &[u8]) -> String {
    let text = crate::support::text(json);
    let mut parts = text.split("\"position\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn people(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| person(&format!("{:04}", n % 10_000), &format!("P{n}"))).collect()
}

#[test]
fn records_are_given_one_by_one() {
    let schema = schema(PERSON, "");
    let fixed: Vec<u8> = people(COUNT).concat();
    check(SourceFormat::Records(records("fixed:14")), &schema, &fixed, COUNT);
    let with_length: Vec<u8> = people(COUNT).into_iter().flat_map(|body| [vec![0, 18, 0, 0], body].concat()).collect();
    check(SourceFormat::Records(records("rdw")), &schema, &with_length, COUNT);
}

#[test]
fn documents_of_texts_are_given_one_by_one() {
    let schema = schema(PERSON, "");
    let line = |n: usize| format!("{{\"ID\":{},\"NAME\":\"P{n}\",\"BALANCE\":2.50}}", n % 10_000);
    let lines: String = (0..COUNT).map(|n| line(n) + "\n").collect();
    check(JSON, &schema, lines.as_bytes(), COUNT);
    let array = format!("[\n{}\n]\n", (0..COUNT).map(line).collect::<Vec<_>>().join(",\n"));
    check(JSON, &schema, array.as_bytes(), COUNT);
    // Quoted cells may hold line ends: a row is not a line.
    let row = |n: usize| format!("\"P\n{}\",{},2.50\r\n", n % 1_000, n % 10_000);
    let rows: String = (0..COUNT).map(row).collect();
    check(SourceFormat::Csv(csv::CsvStyle::default()), &schema, format!("NAME,ID,BALANCE\r\n{rows}").as_bytes(), COUNT);
    let element =
        |n: usize| format!("<record><ID>{}</ID><NAME>P{n}</NAME><BALANCE>2.50</BALANCE></record>\n", n % 10_000);
    let elements: String = (0..COUNT).map(element).collect();
    let document = format!("<?xml version=\"1.0\"?>\n<records>\n{elements}</records>\n");
    check(SourceFormat::Xml(xml::XmlStyle::default()), &schema, document.as_bytes(), COUNT);
}

/// Regression: an array in an array, which a conversion refuses, was given alone and therefore read as the documents in it.
#[test]
fn an_array_in_an_array_is_one_document_that_is_refused() {
    let schema = schema(PERSON, "");
    let text = b"[ [{\"ID\":1,\"NAME\":\"P\",\"BALANCE\":2.50}], {\"ID\":2,\"NAME\":\"Q\",\"BALANCE\":2.50},[] ]";
    let (documents, _) = rest(&source(JSON, &schema), text, &DocumentsPlace::START);
    let convert = pipeline(JSON, &schema, jsonl());
    let refused = documents.iter().map(|document| {
        let (report, _) = run(&convert, document);
        (report.tally.records_in, shown(&report).contains("JSON-012"))
    });
    assert_eq!(refused.collect::<Vec<_>>(), [(1, true), (1, false), (1, true)]);
    let (report, _) = run(&convert, text);
    assert_eq!((report.tally.records_in, shown(&report).matches("JSON-012").count()), (3, 2), "{}", shown(&report));
}

/// Builds two interchanges of two groups; one transaction is larger than the read buffer.
fn interchanges(count: usize) -> String {
    let transaction = |n: usize| {
        let lines = if n == count / 2 { 20_000 } else { 2 };
        let po1: String = (0..lines).map(|line| format!("PO1*{line}*{n}*EA*9.25**VP*A-{line}~\n")).collect();
        format!("ST*850*{n:04}~\nBEG*00*SA*{n}**20260101~\n{po1}SE*{}*{n:04}~\n", lines + 3)
    };
    let group = |number: usize| {
        let all: String = (0..count).map(transaction).collect();
        format!("GS*PO*A*B*20260101*1200*{number}*X*005010~\n{all}GE*{count}*{number}~\n")
    };
    let interchange = |number: usize| {
        format!(
            "ISA*00*          *00*          *ZZ*A              *ZZ*B              *260101*1200*^*00501*{number:09}*0*P*:~\n{}{}IEA*2*{number:09}~\n",
            group(2 * number),
            group(2 * number + 1)
        )
    };
    interchange(1) + &interchange(2)
}

#[test]
fn transactions_are_given_in_interchanges_of_their_own() {
    check(SourceFormat::Edi(EdiRead::default()), &Arc::new(Schema::edi()), interchanges(600).as_bytes(), 2_400);
}

/// A fault between two documents is reported, and not attributed to a document.
#[test]
fn a_wrong_count_is_told_between_two_documents() {
    let pipeline = source(SourceFormat::Edi(EdiRead::default()), &Arc::new(Schema::edi()));
    let data = interchanges(3).replacen("GE*3*2~", "GE*4*2~", 1);
    let opened =
        pipeline.documents(Box::new(Cursor::new(data.into_bytes())), &Arc::from("data"), &DocumentsPlace::START);
    let mut documents = opened.unwrap_or_else(|findings| panic!("{findings}"));
    let mut found = String::new();
    let mut document = Vec::new();
    loop {
        match documents.next(&mut document) {
            Next::Document(place) => found.push_str(&format!("{} ", place.number)),
            Next::Wrong(_, findings) => found.push_str(&format!("{} ", findings.0[0].code)),
            Next::Lost(findings) => panic!("{findings}"),
            Next::End => break,
        }
    }
    assert_eq!(found, "1 2 3 EDI-033 4 5 6 7 8 9 10 11 12 ");
}

/// A source that cannot be read on is not at its end, however often it is asked.
#[test]
fn what_cannot_be_read_is_not_the_end() {
    let schema = schema(PERSON, "");
    let pipeline = source(SourceFormat::Records(records("rdw")), &schema);
    let framed = |id: &str| [vec![0, 18, 0, 0], person(id, "ADA")].concat();
    // A length that no record has.
    let data = [framed("0001"), vec![0, 2, 0, 0], framed("0003")].concat();
    let opened = pipeline.documents(Box::new(Cursor::new(data)), &Arc::from("data"), &DocumentsPlace::START);
    let mut documents = opened.unwrap_or_else(|findings| panic!("{findings}"));
    let mut given = 0;
    let mut document = Vec::new();
    loop {
        match documents.next(&mut document) {
            Next::Document(_) => given += 1,
            Next::Lost(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(given >= 1);
    assert!(matches!(documents.next(&mut document), Next::Lost(_)));
}

/// A position of another source is refused.
#[test]
fn a_place_of_another_source_is_refused() {
    let schema = schema(PERSON, "");
    let pipeline = source(JSON, &schema);
    let line = b"{\"ID\":1,\"NAME\":\"A\",\"BALANCE\":1}\n";
    let (_, places) = rest(&pipeline, &line.repeat(5), &DocumentsPlace::START);
    let refused = pipeline.documents(Box::new(Cursor::new(line.to_vec())), &Arc::from("data"), &places[4]);
    assert!(refused.is_err_and(|findings| findings.0[0].code.0 == "CNV-033"));
    assert!(DocumentsPlace::from_bytes(b"").is_none() && DocumentsPlace::from_bytes(&[9; 40]).is_none());
}

/// Results of a reader from a position on: the document, or the codes of its findings; and the position after each.
fn course(
    pipeline: &Pipeline,
    data: &[u8],
    from: &DocumentsPlace,
) -> (Vec<Result<Vec<u8>, String>>, Vec<DocumentsPlace>) {
    let opened = pipeline.documents(Box::new(Cursor::new(data.to_vec())), &Arc::from("data"), from);
    let mut documents = opened.unwrap_or_else(|findings| panic!("{findings}"));
    let (mut found, mut places) = (Vec::new(), Vec::new());
    loop {
        let mut document = Vec::new();
        found.push(match documents.next(&mut document) {
            Next::Document(_) => Ok(document),
            Next::Wrong(place, findings) => {
                let codes: Vec<&str> = findings.0.iter().map(|finding| finding.code.0).collect();
                Err(format!("{} {}", place.number, codes.join(" ")))
            }
            Next::End => return (found, places),
            Next::Lost(findings) => panic!("{findings}"),
        });
        places.push(documents.place());
    }
}

/// Regression: a faulty transaction over the end of a read was reported, then returned as good, and a restart after it lost a later transaction.
#[test]
fn a_faulty_transaction_over_the_end_of_a_read_is_one_result() {
    let pipeline = source(SourceFormat::Edi(EdiRead::default()), &Arc::new(Schema::edi()));
    let transaction = |n: usize| {
        let po1: String = (0..4_000).map(|line| format!("PO1*{line}*{n}*EA*9.25**VP*A-{line}~\n")).collect();
        // Every other transaction repeats the number of the first.
        let number = if n.is_multiple_of(2) { n + 1 } else { 1 };
        format!("ST*850*{number:04}~\nBEG*00*SA*{n}**20260101~\n{po1}SE*4003*{number:04}~\n")
    };
    let group = |number: usize| {
        let all: String = (0..12).map(transaction).collect();
        // A wrong count is a fault between two documents.
        format!("GS*PO*A*B*20260101*1200*{number}*X*005010~\n{all}GE*13*{number}~\n")
    };
    let data = format!(
        "ISA*00*          *00*          *ZZ*A              *ZZ*B              *260101*1200*^*00501*000000001*0*P*:~\n{}{}{}IEA*3*000000001~\n",
        group(1),
        group(2),
        group(3)
    );
    for shift in [0, 40_000, 90_000] {
        // Other lengths of a group before move the ends of reads.
        let filler: String = (0..shift / 100).map(|n| format!("ST*850*{:04}~\nSE*2*{0:04}~\n", n + 2_000)).collect();
        let first = format!("GS*PO*A*B*20260101*1200*9*X*005010~\n{filler}GE*{}*9~\n", shift / 100);
        let data =
            if shift == 0 { data.clone() } else { data.replacen("GS*", &(first + "GS*"), 1).replace("IEA*3", "IEA*4") };
        let (found, places) = course(&pipeline, data.as_bytes(), &DocumentsPlace::START);
        let good = found.iter().filter(|found| found.is_ok()).count();
        let wrong: Vec<&str> = found.iter().filter_map(|found| found.as_ref().err().map(String::as_str)).collect();
        let of = |code: &str| wrong.iter().filter(|found| found.contains(code)).count();
        assert_eq!((good, wrong.len(), of("EDI-033")), (18 + shift / 100, 21, 3), "{shift}: {wrong:?}");
        let step = places.len() / 25 + 1;
        for at in (0..places.len()).step_by(step).chain(places.len() - 8..places.len()) {
            let (rest, _) = course(&pipeline, data.as_bytes(), &places[at]);
            assert!(rest == found[at + 1..], "{shift}: after result {at} of {}", found.len());
        }
    }
}
