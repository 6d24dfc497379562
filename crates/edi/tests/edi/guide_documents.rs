//! Documents by guide: as JSON, in pages, for any chunking, and back to the same bytes.

use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;
use quayline_core::Sink;
use quayline_edi::guide::{Guide, GuideSet, NoGuides};
use quayline_edi::{
    DocumentReader, DocumentStep, EdiWriter, EdiWriterOptions, EndOfInput, GenericOptions, ValidatorOptions,
};
use quayline_edi::{GuideDocuments, NodeNames};
use quayline_json::{JsonReader, JsonStyle, JsonWriter, ReaderOptions};

use crate::contract::Contract;
use crate::guide_text::example;

pub(crate) fn documents_of(guides: Vec<Guide>, names: NodeNames) -> Arc<GuideDocuments> {
    let set = GuideSet::new(guides).unwrap_or_else(|findings| panic!("{findings}"));
    Arc::new(GuideDocuments::new(set, names))
}

pub(crate) fn claims() -> Arc<GuideDocuments> {
    documents_of(vec![example("837p.guide")], NodeNames::References)
}

fn orders() -> Arc<GuideDocuments> {
    documents_of(vec![example("orders.guide")], NodeNames::References)
}

/// Returns the codes of faults, with the input available up to each of `ends` in turn.
pub(crate) fn read(
    documents: &Arc<GuideDocuments>,
    page_bytes: Option<u64>,
    text: &[u8],
    ends: impl IntoIterator<Item = usize>,
    sink: &mut impl Sink,
) -> Vec<String> {
    let options = GenericOptions { guides: Some(Arc::clone(documents)), page_bytes, ..GenericOptions::default() };
    read_with(&options, text, ends, sink)
}

pub(crate) fn read_with(
    options: &GenericOptions,
    text: &[u8],
    ends: impl IntoIterator<Item = usize>,
    sink: &mut impl Sink,
) -> Vec<String> {
    let mut reader = DocumentReader::new(options);
    let (mut from, mut faults) = (0, Vec::new());
    for known in ends.into_iter().chain([text.len()]) {
        let end = if known == text.len() { EndOfInput::Yes } else { EndOfInput::No };
        let mut pass = reader.over(&text[from..known], end);
        loop {
            let step = pass.read(sink);
            faults.extend(pass.take_faults().map(|fault| {
                format!("{} at segment {}, element {}", fault.error.code(), fault.at.segment, fault.at.element)
            }));
            match step {
                DocumentStep::Document { .. } => {}
                DocumentStep::NeedMore => break,
                DocumentStep::Done => return faults,
            }
        }
        from += pass.finish();
    }
    panic!("the source has ended")
}

pub(crate) fn json(documents: &Arc<GuideDocuments>, page_bytes: Option<u64>, text: &[u8]) -> String {
    let mut writer = JsonWriter::new(documents.shape(), JsonStyle::default());
    let faults = read(documents, page_bytes, text, [], &mut writer);
    assert_eq!(faults, [""; 0]);
    String::from_utf8(writer.bytes().to_vec()).expect("text")
}

const CLAIM: &str = "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260401*1200*^*00501*000000001*0*T*:~GS*HC*S*R*20260401*1200*1*X*005010X222A1~ST*837*0001*005010X222A1~\
BHT*0019*00*1*20260401*1200*CH~NM1*41*2*HOUSE*****46*S1~PER*IC*DESK*TE*5550100~NM1*40*2*MUTUAL*****46*N1~HL*1**20*1~NM1*85*2*GROUP*****XX*1234567893~N3*1 MAIN ST~N4*SALEM*OR*97301~REF*EI*123456789~\
HL*2*1*22*0~SBR*P*18*******CI~NM1*IL*1*ALDER*ANNA****MI*W1~NM1*PR*2*MUTUAL*****PI*N1~CLM*A1*100.5***11:B:1*Y*A*Y*Y~REF*D9*1~REF*EA*2~HI*ABK:J0190*ABF:I10~LX*1~SV1*HC:99213:25*60.5*UN*1***1:2~DTP*472*D8*20260401~LX*2~SV1*HC:93000*40*UN*2***1~DTP*472*D8*20260401~\
SE*25*0001~GE*1*1~IEA*1*000000001~";

#[test]
fn a_claim() {
    let line = json(&claims(), None, CLAIM.as_bytes());
    expect![[r#"
        {"standard":"X12","delimiters":{"element":"*","component":":","repetition":"^","terminator":"~","decimal_mark":"."},"interchange":{"position":1,"authorization_qualifier":"00","security_qualifier":"00","sender_qualifier":"ZZ","sender":"SENDER","receiver_qualifier":"ZZ","receiver":"RECEIVER","date":"260401","time":"1200","version":"00501","control_number":"000000001","acknowledgment_requested":"0","test":"T"},"group":{"position":1,"functional_id":"HC","sender":"S","receiver":"R","date":"20260401","time":"1200","control_number":"1","agency":"X","version":"005010X222A1"},"transaction":{"position":1,"type":"837","control_number":"0001","implementation":"005010X222A1"},"BHT":{"BHT01":"0019","BHT02":"00","BHT03":"1","BHT04":"20260401","BHT05":"1200","BHT06":"CH"},"1000A":{"NM1":{"NM101":"41","NM102":"2","NM103":"HOUSE","NM108":"46","NM109":"S1"},"PER":[{"PER01":"IC","PER02":"DESK","PER03":"TE","PER04":"5550100"}]},"1000B":{"NM1":{"NM101":"40","NM102":"2","NM103":"MUTUAL","NM108":"46","NM109":"N1"}},"2000A":[{"HL":{"HL01":"1","HL03":"20","HL04":"1"},"2010AA":{"NM1":{"NM101":"85","NM102":"2","NM103":"GROUP","NM108":"XX","NM109":"1234567893"},"N3":{"N301":"1 MAIN ST"},"N4":{"N401":"SALEM","N402":"OR","N403":"97301"},"REF_EI":{"REF01":"EI","REF02":"123456789"}},"2000B":[{"HL":{"HL01":"2","HL02":"1","HL03":"22","HL04":"0"},"SBR":{"SBR01":"P","SBR02":"18","SBR09":"CI"},"2010BA":{"NM1":{"NM101":"IL","NM102":"1","NM103":"ALDER","NM104":"ANNA","NM108":"MI","NM109":"W1"}},"2010BB":{"NM1":{"NM101":"PR","NM102":"2","NM103":"MUTUAL","NM108":"PI","NM109":"N1"}},"2300":[{"CLM":{"CLM01":"A1","CLM02":100.5,"CLM05":{"CLM05-1":"11","CLM05-2":"B","CLM05-3":"1"},"CLM06":"Y","CLM07":"A","CLM08":"Y","CLM09":"Y"},"REF_D9":{"REF01":"D9","REF02":"1"},"REF_EA":{"REF01":"EA","REF02":"2"},"HI":{"HI01":{"HI01-1":"ABK","HI01-2":"J0190"},"HI02":{"HI02-1":"ABF","HI02-2":"I10"}},"2400":[{"LX":{"LX01":1},"SV1":{"SV101":{"SV101-1":"HC","SV101-2":"99213","SV101-3":"25"},"SV102":60.5,"SV103":"UN","SV104":1,"SV107":{"SV107-1":1,"SV107-2":2}},"DTP_472":{"DTP01":"472","DTP02":"D8","DTP03":"20260401"}},{"LX":{"LX01":2},"SV1":{"SV101":{"SV101-1":"HC","SV101-2":"93000"},"SV102":40,"SV103":"UN","SV104":2,"SV107":{"SV107-1":1}},"DTP_472":{"DTP01":"472","DTP02":"D8","DTP03":"20260401"}}]}]}]}]}
    "#]].assert_eq(&line);
}

#[test]
fn an_order() {
    let text = "UNB+UNOC:3+S+R+260401:1200+1'UNH+1+ORDERS:D:96A:UN'BGM+220+OR1+9'DTM+137:20260401:102'FTX+ZZZ+++AT GATE 4?: BELL'\
NAD+BY+541::9++ALDER HANDEL'LIN+1++1234:EN'IMD+F++:::KAPOK'QTY+21:12.5'QTY+12:3'PRI+AAA:10,25'UNS+S'CNT+2:1'UNT+13+1'UNZ+1+1'";
    let line = json(&orders(), None, text.as_bytes());
    let body = line.split_once("\"BGM\"").map(|(_, body)| body);
    expect![[r#"
        :{"BGM01":{"BGM01-1":"220"},"BGM02":"OR1","BGM03":"9"},"DTM":[{"DTM01":{"DTM01-1":"137","DTM01-2":"20260401","DTM01-3":"102"}}],"FTX":[{"FTX01":"ZZZ","FTX04":{"FTX04-1":"AT GATE 4: BELL"}}],"SG2":[{"NAD":{"NAD01":"BY","NAD02":{"NAD02-1":"541","NAD02-3":"9"},"NAD04":{"NAD04-1":"ALDER HANDEL"}}}],"SG25":[{"LIN":{"LIN01":1,"LIN03":{"LIN03-1":"1234","LIN03-2":"EN"}},"IMD":[{"IMD01":"F","IMD03":{"IMD03-4":"KAPOK"}}],"QTY":[{"QTY01":{"QTY01-1":"21","QTY01-2":12.5}},{"QTY01":{"QTY01-1":"12","QTY01-2":3}}],"SG28":[{"PRI":{"PRI01":{"PRI01-1":"AAA","PRI01-2":10.25}}}]}],"UNS":{"UNS01":"S"},"CNT":[{"CNT01":{"CNT01-1":"2","CNT01-2":1}}]}
    "#]].assert_eq(body.expect("there"));
}

#[test]
fn a_transaction_without_a_guide_is_told_and_read_as_without_one() {
    let text = CLAIM.replace("837*0001*005010X222A1", "850*0001");
    let mut writer = JsonWriter::new(claims().shape(), JsonStyle::default());
    let faults = read(&claims(), None, text.as_bytes(), [], &mut writer);
    assert_eq!(faults, ["EDI-044 at segment 1, element 0"]);
    assert!(core::str::from_utf8(writer.bytes()).expect("text").contains(r#""segments":[{"tag":"BHT""#));
}

/// Writes the documents back to interchanges.
pub(crate) fn rewrite(documents: &Arc<GuideDocuments>, page_bytes: Option<u64>, text: &[u8]) -> String {
    let mut writer =
        EdiWriter::new(EdiWriterOptions { guides: Some(Arc::clone(documents)), ..EdiWriterOptions::default() });
    let faults = read(documents, page_bytes, text, [], &mut writer);
    assert_eq!(faults, [""; 0]);
    assert_eq!(writer.take_errors(), []);
    writer.finish();
    latin(writer.bytes())
}

/// Bytes in ISO 8859-1.
pub(crate) fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Reads JSON lines and writes them.
pub(crate) fn write_json(documents: &Arc<GuideDocuments>, lines: &str) -> Result<String, String> {
    let mut reader = JsonReader::new(documents.shape(), ReaderOptions::default());
    let mut writer =
        EdiWriter::new(EdiWriterOptions { guides: Some(Arc::clone(documents)), ..EdiWriterOptions::default() });
    for line in lines.lines() {
        reader.read(line.as_bytes(), &mut writer).map_err(|fault| fault.to_string())?;
        if let Some(error) = writer.take_errors().first() {
            return Err(format!("{}: {error}", error.code()));
        }
    }
    writer.finish();
    Ok(latin(writer.bytes()))
}

const ORDER: &str = "UNB+UNOC:3+S+R+260401:1200+1'UNH+1+ORDERS:D:96A:UN'BGM+220+OR1+9'DTM+137:20260401:102'FTX+ZZZ+++AT GATE 4?: BELL'\
NAD+BY+541::9++ALDER HANDEL'LIN+1++1234:EN'IMD+F++:::KAPOK'QTY+21:12.5'QTY+12:3'PRI+AAA:.25'UNS+S'CNT+2:1'UNT+13+1'UNZ+1+1'";

#[test]
fn read_and_written_is_the_same() {
    assert_eq!(rewrite(&claims(), None, CLAIM.as_bytes()), CLAIM);
    assert_eq!(rewrite(&orders(), None, ORDER.as_bytes()), ORDER);
    assert_eq!(write_json(&claims(), &json(&claims(), None, CLAIM.as_bytes())).as_deref(), Ok(CLAIM));
    // JSON has no numbers that begin with a point. X12 has no zero before the point, even if JSON has one; EDIFACT may have it.
    let claim = CLAIM.replace("*100.5*", "*.5*");
    assert_eq!(write_json(&claims(), &json(&claims(), None, claim.as_bytes())).as_deref(), Ok(&*claim));
    let order = ORDER.replace(":.25", ":0.25");
    assert_eq!(write_json(&orders(), &json(&orders(), None, ORDER.as_bytes())).as_deref(), Ok(&*order));
}

#[test]
fn a_document_of_ones_own_may_leave_out_much() {
    let line = r#"{"interchange":{"sender_qualifier":"ZZ","sender":"A","receiver_qualifier":"ZZ","receiver":"B*C","date":"260401","time":"1200","version":"00501"},
        "group":{"sender":"A","receiver":"B","date":"20260401","time":"1200"},
        "2000A":[{"2010AA":{"N4":{"N402":"OR","N401":"SALEM"},"NM1":{"NM102":"2","NM103":"A~B"}},"HL":{"HL03":"20"},
            "2000B":[{"HL":{},"SBR":{"SBR01":"P","SBR02":""},"2000C":[{"HL":{"HL03":"23"}}]},{"HL":{"HL03":"22"},"2300":[{"CLM":{"CLM01":"C","CLM02":12,"CLM05":{"CLM05-3":"1"}}}]}]}],
        "BHT":{"BHT01":"0019"}}"#;
    expect![[r#"ISA|00|          |00|          |ZZ|A              |ZZ|B*C            |260401|1200|^|00501|000000001|0|P|:\nGS|HC|A|B|20260401|1200|1|X|005010X222A1\nST|837|0001\nBHT|0019\nHL|1||20|1\nNM1|85|2|A~B\nN4|SALEM|OR\nHL|2|1|22|1\nSBR|P\nHL|3|2|23|0\nHL|4|1|22|0\nCLM|C|12|||::1\nSE|11|0001\nGE|1|1\nIEA|1|000000001\n"#]].assert_eq(&write_json(&claims(), &line.replace('\n', " ")).expect("written").replace('\n', "\\n"));
}

#[test]
fn implied_places_repetitions_and_composites() {
    let guide = r#"guide G
standard X12
version 005010
transaction 810 group IN
element 1 N2 1..10
element 2 AN 1..10
element 3 N0 3..5
element 4 R 1..10
composite C001
  1 M
  2 O
  2 O
segment TDS
  1 M
  2 O repeat 5
  C001 O repeat 5
  3 O
  4 O
structure
  segment TDS M *
"#;
    let guide =
        quayline_edi::guide::parse_guide("g", guide, &NoGuides, &quayline_core::Limits::default()).expect("right");
    let documents = documents_of(vec![guide], NodeNames::References);
    let body = "TDS*1234*A^^B*5::C^7*012*1.50~TDS*-5~TDS*100***000~";
    let isa = CLAIM.split("ST*").next().expect("there").replace("GS*HC", "GS*IN");
    let text = format!("{isa}ST*810*0001~{body}SE*5*0001~GE*1*1~IEA*1*000000001~");
    let line = json(&documents, None, text.as_bytes());
    expect![[r#"
        "TDS":[{"TDS01":12.34,"TDS02":["A",null,"B"],"TDS03":[{"TDS03-1":0.05,"TDS03-3":"C"},{"TDS03-1":0.07}],"TDS04":12,"TDS05":1.50},{"TDS01":-0.05},{"TDS01":1.00,"TDS04":0}]}
    "#]].assert_eq(&line[line.find("\"TDS\"").expect("there")..]);
    assert_eq!(rewrite(&documents, None, text.as_bytes()), text);
    assert_eq!(write_json(&documents, &line), Ok(text));
    let more = line.replace("12.34", "12.345");
    expect!["EDI-061: `TDS.TDS01` has more decimal places than the 2 of its element"]
        .assert_eq(&write_json(&documents, &more).expect_err("places"));
    let fewer = write_json(&documents, &line.replace("12.34", "12.3000")).expect("written");
    assert!(fewer.contains("TDS*1230*"), "{fewer}");
}

#[test]
fn binary_data() {
    let guide = r#"guide G
standard X12
version 005010
transaction 275 group PI
element 784 N0 1..15
element 785 B 1..99999
segment BIN
  784 M
  785 M
structure
  segment BIN M *
"#;
    let guide =
        quayline_edi::guide::parse_guide("g", guide, &NoGuides, &quayline_core::Limits::default()).expect("right");
    let documents = documents_of(vec![guide], NodeNames::References);
    let isa = CLAIM.split("ST*").next().expect("there").replace("GS*HC", "GS*PI");
    let text = format!("{isa}ST*275*0001~BIN*7*a~b*c:^~BIN*1*x~SE*4*0001~GE*1*1~IEA*1*000000001~");
    let line = json(&documents, None, text.as_bytes());
    assert!(line.contains(r#""BIN":[{"BIN01":7,"BIN02":"617e622a633a5e"},{"BIN01":1,"BIN02":"78"}]"#), "{line}");
    assert_eq!(rewrite(&documents, None, text.as_bytes()), text);
    assert_eq!(write_json(&documents, &line), Ok(text));
}

/// The writer left out the separator before a component of binary data, so `100:7e` became `1007e`.
#[test]
fn binary_components() {
    let guide = r#"guide G
standard X12
version 005010
transaction 275 group PI
element 1 AN 1..9
element 2 B 1..9
composite C001
  1 M
  2 O
  2 O
segment OOI
  C001 M repeat 3
  2 O
structure
  segment OOI M *
"#;
    let guide =
        quayline_edi::guide::parse_guide("g", guide, &NoGuides, &quayline_core::Limits::default()).expect("right");
    let documents = documents_of(vec![guide], NodeNames::References);
    let isa = CLAIM.split("ST*").next().expect("there").replace("GS*HC", "GS*PI");
    let body = "OOI*100:7e^a::b^c:d*e~OOI*:x~OOI**y~";
    let text = format!("{isa}ST*275*0001~{body}SE*5*0001~GE*1*1~IEA*1*000000001~");
    let line = json(&documents, None, text.as_bytes());
    assert_eq!(rewrite(&documents, None, text.as_bytes()), text);
    assert_eq!(write_json(&documents, &line), Ok(text));
}

#[test]
fn siblings_in_any_order_are_put_together() {
    let repeated = CLAIM.replace("REF*D9*1~REF*EA*2~", "DTP*454*D8*20260401~DTP*431*D8*20260402~REF*EA*2~REF*D9*1~");
    let repeated = repeated.replace("SE*25", "SE*27");
    let line = json(&claims(), None, repeated.as_bytes());
    assert!(line.contains(r#""DTP_454":{"DTP01":"454","DTP02":"D8","DTP03":"20260401"},"DTP_431""#), "{line}");
    // Siblings in any order keep their order.
    assert_eq!(rewrite(&claims(), None, repeated.as_bytes()), repeated);
    assert_eq!(write_json(&claims(), &line), Ok(repeated));
    // G1 may come five times, 6R once: if they are mixed, the document groups them.
    let mixed = CLAIM
        .replace("DTP*472*D8*20260401~LX*2", "DTP*472*D8*20260401~REF*G1*A~REF*6R*B~REF*G1*C~LX*2")
        .replace("SE*25", "SE*28");
    let line = json(&claims(), None, mixed.as_bytes());
    assert!(
        line.contains(
            r#""REF_G1":[{"REF01":"G1","REF02":"A"},{"REF01":"G1","REF02":"C"}],"REF_6R":{"REF01":"6R","REF02":"B"}"#
        ),
        "{line}"
    );
}

/// A guide with two repeatable segments in any order before a repeatable loop.
fn alternating() -> Arc<GuideDocuments> {
    let guide = r#"guide G
standard X12
version 005010
transaction 850 group PO
element 1 AN 1..9
segment BEG
  1 M
segment REF
  1 M
  1 O
segment PO1
  1 M
structure
  segment BEG M 1
  segment REF O * where 01 = DP position 50
  segment REF O * where 01 = IA position 50
  loop PO1 O *
    segment PO1 M 1
"#;
    let guide =
        quayline_edi::guide::parse_guide("g", guide, &NoGuides, &quayline_core::Limits::default()).expect("right");
    documents_of(vec![guide], NodeNames::References)
}

/// The count of repeated segments was that of the source, also if documents had fewer of them, so the way back left out the first segments of a page.
#[test]
fn pages_repeat_alternating_segments_by_kind() {
    let isa = CLAIM.split("ST*").next().expect("there").replace("GS*HC", "GS*PO");
    let lines: String = (0..40).map(|number| format!("PO1*{number}~")).collect();
    let order = |refs: &str, count: usize| {
        format!("{isa}ST*850*0001~BEG*1~{refs}{lines}SE*{count}*0001~GE*1*1~IEA*1*000000001~")
    };
    let text = order("REF*DP*1~REF*IA*2~REF*DP*3~", 46);
    let pages = json(&alternating(), Some(120), text.as_bytes());
    assert!(pages.lines().count() > 2, "{pages}");
    for page in pages.lines() {
        assert!(page.contains(r#"{"REF01":"DP","REF02":"1"},{"REF01":"DP","REF02":"3"}]"#), "{page}");
    }
    // Documents have the segments of a kind together, and everything else as it was.
    assert_eq!(write_json(&alternating(), &pages), Ok(order("REF*DP*1~REF*DP*3~REF*IA*2~", 46)));
}

/// Segments that alternate for more than 1 MiB were left out without a finding, if the guide was checked too.
#[test]
fn segments_that_alternate_for_too_long_are_told() {
    let isa = CLAIM.split("ST*").next().expect("there").replace("GS*HC", "GS*PO");
    let refs: String = (0..9_000).map(|number| format!("REF*DP*{number}~REF*IA*{number}~")).collect();
    let text = format!("{isa}ST*850*0001~BEG*1~{refs}SE*18003*0001~GE*1*1~IEA*1*000000001~");
    for validation in [None, Some(ValidatorOptions::default())] {
        let options = GenericOptions { guides: Some(alternating()), validation, ..GenericOptions::default() };
        let mut writer = JsonWriter::new(alternating().shape(), JsonStyle::default());
        let faults = read_with(&options, text.as_bytes(), [], &mut writer);
        let kept = core::str::from_utf8(writer.bytes()).expect("text").matches("REF02").count();
        let told = faults.iter().filter(|fault| fault.starts_with("EDI-045")).count();
        // The first thousand findings are kept.
        assert!(told == 1_000 && kept < 17_000, "{kept} segments, {told} findings");
    }
}

#[test]
fn what_has_no_place_is_told() {
    let text = CLAIM.replace("REF*D9*1~", "REF*D9*1*X*Y:Z*TOO*MANY~").replace("N3*1 MAIN ST", "N3*1 MAIN ST:X");
    let mut writer = JsonWriter::new(claims().shape(), JsonStyle::default());
    let faults = read(&claims(), None, text.as_bytes(), [], &mut writer);
    assert_eq!(faults, ["EDI-045 at segment 16, element 6"]);
    // Also of segments that are put together before they are sent.
    let text = CLAIM.replace("DTP*472*D8*20260401~LX*2", "DTP*472*D8*20260401~REF*G1*A~REF*6R*B***X~LX*2");
    let mut writer = JsonWriter::new(claims().shape(), JsonStyle::default());
    let faults = read(&claims(), None, text.as_bytes(), [], &mut writer);
    assert_eq!(faults, ["EDI-045 at segment 23, element 5", "EDI-033 at segment 27, element 1"]);
}

/// Regression: without a check of the guide, `12.5` in an element N2 came back as `1250` without a finding.
#[test]
fn a_decimal_mark_in_a_number_with_implied_decimals_is_reported() {
    let guide = "guide G\nstandard X12\nversion 005010\ntransaction 810 group IN\nelement 1 N2 1..9\nelement 2 N0 1..9\n\
                 composite C\n  1 O\n  2 O\nsegment TDS\n  1 O\n  1 O repeat *\n  composite C O\nstructure\n  segment TDS M 1\n";
    let guide =
        quayline_edi::guide::parse_guide("g", guide, &NoGuides, &quayline_core::Limits::default()).expect("right");
    let documents = documents_of(vec![guide], NodeNames::References);
    let isa = CLAIM.split("ST*").next().expect("there").replace("GS*HC", "GS*IN");
    for (data, element) in [
        ("1250*5^7*1:2", 0),
        // Text that is not a number comes back as it is.
        ("ABC*5^x*1:y", 0),
        ("12.5", 1),
        ("-.5*5", 1),
        ("1E1", 1),
        ("1*5^7.5", 2),
        ("1*5*1:2.0", 3),
        ("1.5*5*1:2.5", 3),
    ] {
        let text = format!("{isa}ST*810*0001~TDS*{data}~SE*3*0001~GE*1*1~IEA*1*000000001~");
        let mut writer = JsonWriter::new(documents.shape(), JsonStyle::default());
        let faults = read(&documents, None, text.as_bytes(), [], &mut writer);
        let expected = (element > 0).then(|| format!("EDI-132 at segment 2, element {element}"));
        assert_eq!(faults, expected.into_iter().collect::<Vec<_>>(), "{data}");
        // The check of the guide has a fault of its own.
        let validation = Some(ValidatorOptions::default());
        let options = GenericOptions { guides: Some(Arc::clone(&documents)), validation, ..GenericOptions::default() };
        let faults = read_with(&options, text.as_bytes(), [], &mut writer);
        assert!(!faults.iter().any(|fault| fault.starts_with("EDI-132")), "{data}: {faults:?}");
        if element == 0 {
            let document = json(&documents, None, text.as_bytes());
            assert_eq!(write_json(&documents, &document), Ok(text), "{data}");
        }
    }
}

/// An occurrence without its first segment went to the occurrence before, and a segment with the code of another place to that place.
#[test]
fn data_is_written_at_the_place_that_its_document_says() {
    let order =
        ORDER.replace(":.25", ":0.25").replace("UNS+S", "LIN+2++99:EN'QTY+21:5'UNS+S").replace("UNT+13", "UNT+15");
    let line = json(&orders(), None, order.as_bytes());
    assert_eq!(write_json(&orders(), &line), Ok(order));
    let (before, rest) = line.split_once(r#"{"LIN":{"LIN01":2,"#).expect("the second line");
    let (_, rest) = rest.split_once("\"QTY\"").expect("its quantity");
    let headless = format!("{before}{{\"QTY\"{rest}");
    let told = write_json(&orders(), &headless).expect_err("line 2 has no LIN");
    assert!(told.starts_with("EDI-066: `") && told.contains("LIN` is missing"), "{told}");
    // An empty occurrence has nothing to write.
    let empty = line.replacen(r#"{"LIN":{"LIN01":2,"#, r#"{},{"LIN":{"LIN01":2,"#, 1);
    assert!(write_json(&orders(), &empty).is_ok());

    let line = json(&claims(), None, CLAIM.as_bytes());
    let other = line.replacen(r#""REF_D9":{"REF01":"D9""#, r#""REF_D9":{"REF01":"EA""#, 1);
    assert_ne!(line, other);
    let told = write_json(&claims(), &other).expect_err("EA is the code of another REF");
    assert!(told.starts_with("EDI-067: `") && told.contains("REF_EA"), "{told}");
}

#[test]
fn several_guides_have_groups_of_their_own() {
    let both = documents_of(vec![example("837p.guide"), example("orders.guide")], NodeNames::References);
    let line = json(&both, None, CLAIM.as_bytes());
    assert!(line.contains(r#""837P":{"BHT":{"#), "{line}");
    assert_eq!(rewrite(&both, None, CLAIM.as_bytes()), CLAIM);
    assert_eq!(rewrite(&both, None, ORDER.as_bytes()), ORDER);
    let mixed = format!("{CLAIM}{ORDER}");
    assert_eq!(rewrite(&both, None, mixed.as_bytes()), mixed);
}

#[test]
fn names_in_words() {
    let documents = documents_of(vec![example("837p.guide")], NodeNames::Words);
    let line = json(&documents, None, CLAIM.as_bytes());
    expect![[r#""subscriber_level":[{"hierarchical_level":{"hierarchical_id_number":"2","hierarchical_parent_id_number":"1","hierarchical_level_code":"22","hierarchical_child_code":"0"},"subscriber_information":{"payer_responsibility_sequence_number_code":"P","individual_relationship_code":"18","claim_filing_indicator_code":"CI"},"subscriber":{"individual_or_organizational_name":{"entity_identifier_code":"IL","entity_type_qualifier":"1","name_last_or_organization_name":"ALDER","name_first":"ANNA","identification_code_qualifier":"MI","identification_code":"W1"}},"payer":{"individual_or_organizational_name":{"entity_identifier_code":"PR","entity_type_qualifier":"2","name_last_or_organization_name":"MUTUAL","i"#]].assert_eq(&line[line.find("\"subscriber_level\"").expect("there")..][..700]);
    assert_eq!(rewrite(&documents, None, CLAIM.as_bytes()), CLAIM);
}

/// Builds a transaction with many subscribers, each with a claim.
fn many_claims(subscribers: usize) -> String {
    let (head, rest) = CLAIM.split_once("HL*2*1*22*0~").expect("there");
    let (body, tail) = rest.split_once("SE*25*0001~").expect("there");
    let levels: String = (0..subscribers).map(|n| format!("HL*{}*1*22*0~{body}", n + 2)).collect();
    format!("{head}{levels}SE*{}*0001~{tail}", 11 + 14 * subscribers)
}

#[test]
fn pages_end_before_loops_and_repeat_their_heads() {
    let text = many_claims(12);
    let lines = json(&claims(), Some(1000), text.as_bytes());
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    for (line, page) in lines.iter().zip(1..) {
        assert_eq!(line.contains(&format!("\"page\":{page},")), page > 1, "{line}");
        assert_eq!(line.contains("\"repeated\":2,"), page > 1, "{line}");
        assert!(line.contains(r#""BHT":{"BHT01":"0019""#), "{line}");
        assert!(line.contains(r#""2000A":[{"HL":{"HL01":"1""#), "{line}");
        assert_eq!(line.contains(r#""2010AA""#), page == 1, "{line}");
    }
    assert_eq!(rewrite(&claims(), Some(1000), text.as_bytes()), text);
    assert_eq!(write_json(&claims(), &lines.join("\n")), Ok(text.clone()));
    // Pages that the caller ends anywhere.
    let options = GenericOptions { guides: Some(claims()), ..GenericOptions::default() };
    for size in [300, 777] {
        let mut reader = DocumentReader::new(&options);
        let mut skipper = DocumentReader::new(&options);
        let mut writer = EdiWriter::new(EdiWriterOptions { guides: Some(claims()), ..EdiWriterOptions::default() });
        let (mut from, mut to) = (0, 0);
        'all: loop {
            to = (to + size).min(text.len());
            let end = if to == text.len() { EndOfInput::Yes } else { EndOfInput::No };
            let mut pass = reader.over(&text.as_bytes()[from..to], end);
            let mut skip = skipper.over(&text.as_bytes()[from..to], end);
            loop {
                let step = pass.read(&mut writer);
                assert_eq!(step, skip.skip());
                match step {
                    DocumentStep::Document { errors, .. } => assert_eq!(errors, 0),
                    DocumentStep::NeedMore => break,
                    DocumentStep::Done => break 'all,
                }
            }
            assert_eq!(pass.break_page(&mut writer), skip.skip_page());
            let done = pass.finish();
            assert_eq!(done, skip.finish());
            from += done;
            // Another reader may continue from there.
            let mut other = DocumentReader::new(&options);
            other.go_to(&skipper.snapshot());
            reader = other;
        }
        assert_eq!(writer.take_errors(), []);
        writer.finish();
        assert_eq!(core::str::from_utf8(writer.bytes()), Ok(&*text), "{size}");
    }
}

#[test]
fn what_is_checked_is_checked_in_the_same_pass() {
    let options = GenericOptions {
        guides: Some(claims()),
        validation: Some(ValidatorOptions::default()),
        page_bytes: Some(500),
        ..GenericOptions::default()
    };
    let mut writer = JsonWriter::new(claims().shape(), JsonStyle::default());
    let text = many_claims(5);
    assert_eq!(read_with(&options, text.as_bytes(), [], &mut writer), [""; 0]);
    // A wrong code in the second claim, a segment that does not belong there in the fourth, a missing one in the last.
    let mut claims: Vec<String> = text.split("CLM*").map(str::to_owned).collect();
    claims[2] = claims[2].replacen("*Y*A*Y*Y~", "*Y*A*Q*Y~", 1);
    claims[4] = claims[4].replacen("HI*", "K3*X~HI*", 1);
    claims[5] = claims[5].replacen("HI*ABK:J0190*ABF:I10~", "", 1);
    let wrong = claims.join("CLM*");
    let found = read_with(&options, wrong.as_bytes(), [], &mut writer);
    expect![[r#"
        [
            "EDI-114 at segment 29, element 8",
            "EDI-101 at segment 60, element 0",
            "EDI-108 at segment 75, element 0",
        ]
    "#]]
    .assert_debug_eq(&found);
    let whole = GenericOptions { page_bytes: None, ..options };
    assert_eq!(read_with(&whole, wrong.as_bytes(), [100, 900, 1500], &mut writer), found);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_documents(mut ends in proptest::collection::vec(0..many_claims(3).len(), 0..6), page in proptest::option::of(100u64..3000)) {
        ends.sort_unstable();
        let text = many_claims(3);
        let mut writer = JsonWriter::new(claims().shape(), JsonStyle::default());
        let faults = read(&claims(), page, text.as_bytes(), ends, &mut writer);
        prop_assert_eq!(faults, [""; 0]);
        let whole = json(&claims(), page, text.as_bytes());
        prop_assert_eq!(core::str::from_utf8(writer.bytes()), Ok(&*whole));
        prop_assert_eq!(write_json(&claims(), &whole), Ok(text));
    }

    /// For any edit of the segments: the sink's contract holds, skipping finds the same documents, and a document without an error is complete.
    #[test]
    fn nothing_is_lost_without_an_error(
        edits in proptest::collection::vec((0u8..5, 0usize..60, 0usize..60), 0..6),
        page in proptest::option::of(100u64..2000),
        checked in any::<bool>(),
    ) {
        let text = many_claims(2).replace("DTP*472*D8*20260401~LX*2", "DTP*472*D8*20260401~REF*G1*A~REF*6R*B~REF*G1*C~LX*2");
        let body = text.find("BHT").expect("there")..text.find("SE*").expect("there");
        let mut segments: Vec<&str> = text[body.clone()].split_terminator('~').collect();
        for (kind, at, to) in edits {
            let (at, to) = (at % segments.len(), to % segments.len());
            match kind {
                0 => drop(segments.remove(at)),
                1 => segments.swap(at, to),
                2 => segments.insert(to, segments[at]),
                3 => segments.insert(to, "REF*G1*X"),
                _ => segments.insert(to, "K3*X*Y:Z^W"),
            }
            if segments.is_empty() {
                segments.push("BHT*0019*00*1*20260401*1200*CH");
            }
        }
        let body_text: String = segments.iter().map(|segment| format!("{segment}~")).collect();
        let text = format!("{}{body_text}SE*{}*0001~GE*1*1~IEA*1*000000001~", &text[..body.start], segments.len() + 2);
        let guides = claims();
        let options = GenericOptions {
            guides: Some(Arc::clone(&guides)),
            validation: checked.then(ValidatorOptions::default),
            page_bytes: page,
            ..GenericOptions::default()
        };
        let mut contract = Contract::new(guides.shape());
        let faults = read_with(&options, text.as_bytes(), [], &mut contract);
        let mut reader = DocumentReader::new(&options);
        let mut pass = reader.over(text.as_bytes(), EndOfInput::Yes);
        let mut skipped = 0;
        while let DocumentStep::Document { .. } = pass.skip() {
            skipped += 1;
        }
        prop_assert_eq!(skipped, contract.documents);
        if faults.is_empty() {
            let written = rewrite(&guides, page, text.as_bytes());
            let sorted = |text: &str| {
                let mut segments: Vec<String> = text.split('~').map(str::to_owned).collect();
                segments.sort_unstable();
                segments
            };
            prop_assert_eq!(sorted(&written), sorted(&text));
        }
    }
}

/// Loops at one position, of which two are repeated, alternate: A B A. Documents keep their order in one list.
#[test]
fn loops_that_come_in_turns_stay_as_they_come() {
    let guide = r#"guide G
standard X12
version 005010
transaction 999 group ZZ
element 1 AN 1..9
segment AAA
  1 M
segment BBB
  1 M
segment CCC
  1 O
segment DDD
  1 O
structure
  segment AAA M 1
  loop 2000 O *
    segment BBB M 1 where 01 = X
    segment DDD O *
    loop LA O * position 5
      segment CCC M 1 where 01 = A
      segment DDD O 1
    loop LB O * position 5
      segment CCC M 1 where 01 = B
      loop IN O *
        segment AAA M 1
    loop LC O 1 position 5
      segment CCC M 1 where 01 = C
"#;
    let guide = quayline_edi::guide::parse_guide("g.guide", guide, &NoGuides, &quayline_core::Limits::default());
    let documents = documents_of(vec![guide.unwrap_or_else(|findings| panic!("{findings}"))], NodeNames::References);
    let body = "AAA*1~BBB*X~DDD*2~CCC*A~DDD*3~CCC*B~AAA*4~AAA*5~CCC*A~CCC*C~CCC*B~BBB*X~CCC*B~CCC*B~BBB*X~CCC*A~";
    let text = format!(
        "ISA*00*          *00*          *ZZ*A              *ZZ*B              *260401*1200*^*00501*000000001*0*P*:~GS*ZZ*A*B*20260401*1200*1*X*005010~ST*999*0001~{body}SE*18*0001~GE*1*1~IEA*1*000000001~"
    );
    let line = json(&documents, None, text.as_bytes());
    let at = line.find("\"AAA\"").expect("the body");
    expect![[r#"
        "AAA":{"AAA01":"1"},"2000":[{"BBB":{"BBB01":"X"},"DDD":[{"DDD01":"2"}],"L":[{"LA":{"CCC":{"CCC01":"A"},"DDD":{"DDD01":"3"}}},{"LB":{"CCC":{"CCC01":"B"},"IN":[{"AAA":{"AAA01":"4"}},{"AAA":{"AAA01":"5"}}]}},{"LA":{"CCC":{"CCC01":"A"}}},{"LC":{"CCC":{"CCC01":"C"}}},{"LB":{"CCC":{"CCC01":"B"}}}]},{"BBB":{"BBB01":"X"},"L":[{"LB":{"CCC":{"CCC01":"B"}}},{"LB":{"CCC":{"CCC01":"B"}}}]},{"BBB":{"BBB01":"X"},"L":[{"LA":{"CCC":{"CCC01":"A"}}}]}]}
    "#]]
    .assert_eq(&line[at..]);
    assert_eq!(rewrite(&documents, None, text.as_bytes()), text);
    assert_eq!(write_json(&documents, &line), Ok(text.clone()));
    for page in [1, 8, 20] {
        assert_eq!(rewrite(&documents, Some(page), text.as_bytes()), text, "pages of {page}");
        assert_eq!(write_json(&documents, &json(&documents, Some(page), text.as_bytes())), Ok(text.clone()));
    }
    for cut in 0..text.len() {
        let mut contract = Contract::new(documents.shape());
        assert_eq!(read(&documents, Some(8), text.as_bytes(), [cut], &mut contract), [""; 0]);
    }
}
