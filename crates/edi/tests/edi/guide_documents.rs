//! Documents by guide: as JSON, in pages, for any chunking, and back to the same bytes.

use std::sync::Arc;

use expect_test::expect;
use quayline_core::Sink;
use quayline_edi::guide::{Guide, GuideDocuments, GuideSet, NodeNames};
use quayline_edi::{DocumentReader, DocumentStep, EndOfInput, GenericOptions};
use quayline_json::{JsonStyle, JsonWriter};

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

/// What is wrong, by code, when the bytes are known up to each of `ends` in turn.
pub(crate) fn read(
    documents: &Arc<GuideDocuments>,
    page_bytes: Option<u64>,
    text: &[u8],
    ends: impl IntoIterator<Item = usize>,
    sink: &mut impl Sink,
) -> Vec<String> {
    let options = GenericOptions { guides: Some(Arc::clone(documents)), page_bytes, ..GenericOptions::default() };
    let mut reader = DocumentReader::new(&options);
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
